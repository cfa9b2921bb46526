-- Exports that were begun: what their headers say, so that one that broke off goes on with the same bytes, and where
-- the log says that they were taken whole.
CREATE TABLE exports (
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    taken_by TEXT COLLATE "C",
    format TEXT COLLATE "C" NOT NULL,
    header TEXT COLLATE "C" NOT NULL,
    begun_at BIGINT NOT NULL,
    log_index BIGINT,
    lines BIGINT,
    last_line TEXT COLLATE "C",
    PRIMARY KEY (tenant, id)
);
