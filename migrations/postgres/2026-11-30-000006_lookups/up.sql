-- Where in the log a hash, a reference or a request stands: sorted prefixes of 1,024 receipts at a time, in sixteen parts,
-- written once, behind the log's end. Rows come in the order of the log, never of what they hold: nothing random is
-- written. What is found is always checked against the receipt itself.
CREATE TABLE lookups (
    tenant TEXT COLLATE "C" NOT NULL,
    part BIGINT NOT NULL,
    run BIGINT NOT NULL,
    entries BYTEA NOT NULL,
    PRIMARY KEY (tenant, part, run)
);
