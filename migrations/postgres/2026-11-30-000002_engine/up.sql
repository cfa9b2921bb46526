-- What the whole engine keeps: what limits have used, whose yes a decision has, and who may state facts.

-- One row a book and call: what it counts for, and the running total of its book, so that the use of any window is
-- the difference of two rows. A release keeps its row and is taken off by the rows that say so, but
-- for the last rows of a book, on which no total rests: those are deleted.
CREATE TABLE books (
    tenant TEXT COLLATE "C" NOT NULL,
    book TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    log_index BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    total BIGINT NOT NULL,
    released_at BIGINT,
    PRIMARY KEY (tenant, book, at, log_index)
);
CREATE INDEX books_by_call ON books (tenant, log_index);
CREATE INDEX books_released ON books (tenant, book, at) WHERE released_at IS NOT NULL;

-- How often the same was asked while it waited, and whose yes it needs (absent: its principal's).
ALTER TABLE decisions ADD COLUMN asks BIGINT NOT NULL DEFAULT 1;
ALTER TABLE decisions ADD COLUMN approvals TEXT COLLATE "C";
CREATE INDEX decisions_shared ON decisions (tenant, id) WHERE approvals IS NOT NULL;
CREATE INDEX decisions_undecided ON decisions (tenant, agent, id) WHERE due_at IS NOT NULL;

CREATE TABLE decision_approvals (
    tenant TEXT COLLATE "C" NOT NULL,
    decision TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    roles TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (tenant, decision, principal),
    FOREIGN KEY (tenant, decision) REFERENCES decisions (tenant, id)
);

CREATE TABLE enforcement_points (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    secret_digest BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    revoked_at BIGINT,
    revoked_by TEXT COLLATE "C",
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX enforcement_points_by_id ON enforcement_points (id);

ALTER TABLE effects ADD COLUMN enforcement_point TEXT COLLATE "C";
