-- Where in the log the receipts of one chain, person, agent, intent, kind or outcome stand: their places in a run of 1,024,
-- written with the receipt that makes the run whole. An index on what comes in random order writes a page a
-- receipt; this writes a few rows a thousand. What stands behind the last whole run is looked through.
CREATE TABLE trails (
    tenant TEXT NOT NULL,
    trail TEXT NOT NULL,
    run INTEGER NOT NULL,
    places BLOB NOT NULL,
    PRIMARY KEY (tenant, trail, run)
) STRICT, WITHOUT ROWID;

-- How many receipts stand on trails: whole runs from the first on.
ALTER TABLE heads ADD COLUMN trailed INTEGER NOT NULL DEFAULT 0;

-- SQLite takes a UNIQUE away with the table alone.
CREATE TABLE receipts_new (
    tenant TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    outcome TEXT,
    intent TEXT,
    principal TEXT,
    agent TEXT,
    credential TEXT,
    chain TEXT NOT NULL,
    seq INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    auth BLOB NOT NULL,
    auth_key TEXT NOT NULL,
    mandate_version INTEGER,
    policy_version INTEGER,
    catalogue_version INTEGER,
    engine_version TEXT NOT NULL,
    facts_from TEXT,
    input TEXT NOT NULL,
    output TEXT NOT NULL,
    content TEXT,
    erased_by INTEGER,
    PRIMARY KEY (tenant, log_index)
) STRICT;
INSERT INTO receipts_new SELECT * FROM receipts ORDER BY tenant, log_index;
DROP TABLE receipts;
ALTER TABLE receipts_new RENAME TO receipts;
CREATE INDEX receipts_kept ON receipts (tenant, intent, at) WHERE content IS NOT NULL AND intent IS NOT NULL;
