-- Where in the log the receipts of one chain, person, agent, intent, kind or outcome stand: their places in a run of 1,024,
-- written with the receipt that makes the run whole. An index on what comes in random order writes a page a
-- receipt; this writes a few rows a thousand. What stands behind the last whole run is looked through.
CREATE TABLE trails (
    tenant TEXT COLLATE "C" NOT NULL,
    trail TEXT COLLATE "C" NOT NULL,
    run BIGINT NOT NULL,
    places BYTEA NOT NULL,
    PRIMARY KEY (tenant, trail, run)
);

-- How many receipts stand on trails: whole runs from the first on.
ALTER TABLE heads ADD COLUMN trailed BIGINT NOT NULL DEFAULT 0;

ALTER TABLE receipts DROP CONSTRAINT receipts_tenant_chain_seq_key;
DROP INDEX receipts_by_principal;
