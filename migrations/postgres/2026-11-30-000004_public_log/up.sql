-- What outside witnesses signed of each log, and what is done for a tenant every so often.

-- Signed heads that some witness has cosigned; of any size at most one, whose root the cosignatures are of.
CREATE TABLE witnessed_checkpoints (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    size BIGINT NOT NULL,
    checkpoint TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, size)
);

CREATE TABLE cosignatures (
    tenant TEXT COLLATE "C" NOT NULL,
    size BIGINT NOT NULL,
    witness TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, size, witness),
    FOREIGN KEY (tenant, size) REFERENCES witnessed_checkpoints (tenant, size)
);
CREATE INDEX cosignatures_by_witness ON cosignatures (tenant, witness, size);

-- When something was last done for a tenant, and how long its log was then; whichever node comes first does it.
CREATE TABLE rounds (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    name TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE INDEX outbox_sent ON outbox (tenant, sent_at) WHERE sent_at IS NOT NULL;
