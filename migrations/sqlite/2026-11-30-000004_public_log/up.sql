-- What outside witnesses signed of each log, and what is done for a tenant every so often.

-- Signed heads that some witness has cosigned; of any size at most one, whose root the cosignatures are of.
CREATE TABLE witnessed_checkpoints (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    size INTEGER NOT NULL,
    checkpoint TEXT NOT NULL,
    PRIMARY KEY (tenant, size)
) STRICT;

CREATE TABLE cosignatures (
    tenant TEXT NOT NULL,
    size INTEGER NOT NULL,
    witness TEXT NOT NULL,
    at INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (tenant, size, witness),
    FOREIGN KEY (tenant, size) REFERENCES witnessed_checkpoints (tenant, size)
) STRICT;
CREATE INDEX cosignatures_by_witness ON cosignatures (tenant, witness, size);

-- When something was last done for a tenant, and how long its log was then; whichever node comes first does it.
CREATE TABLE rounds (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT;

CREATE INDEX outbox_sent ON outbox (tenant, sent_at) WHERE sent_at IS NOT NULL;
