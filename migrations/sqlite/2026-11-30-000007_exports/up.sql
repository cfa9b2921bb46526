-- Exports that were begun: what their headers say, so that one that broke off goes on with the same bytes, and where
-- the log says that they were taken whole.
CREATE TABLE exports (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    taken_by TEXT,
    format TEXT NOT NULL,
    header TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    log_index INTEGER,
    lines INTEGER,
    last_line TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;
