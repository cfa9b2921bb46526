-- What the whole engine keeps: what limits have used, whose yes a decision has, and who may state facts.

-- One row a book and call: what it counts for, and the running total of its book, so that the use of any window is
-- the difference of two rows. A release keeps its row and is taken off by the rows that say so, but
-- for the last rows of a book, on which no total rests: those are deleted.
CREATE TABLE books (
    tenant TEXT NOT NULL,
    book TEXT NOT NULL,
    at INTEGER NOT NULL,
    log_index INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    total INTEGER NOT NULL,
    released_at INTEGER,
    PRIMARY KEY (tenant, book, at, log_index)
) STRICT;
CREATE INDEX books_by_call ON books (tenant, log_index);
CREATE INDEX books_released ON books (tenant, book, at) WHERE released_at IS NOT NULL;

-- How often the same was asked while it waited, and whose yes it needs (absent: its principal's).
ALTER TABLE decisions ADD COLUMN asks INTEGER NOT NULL DEFAULT 1;
ALTER TABLE decisions ADD COLUMN approvals TEXT;
CREATE INDEX decisions_shared ON decisions (tenant, id) WHERE approvals IS NOT NULL;
CREATE INDEX decisions_undecided ON decisions (tenant, agent, id) WHERE due_at IS NOT NULL;

CREATE TABLE decision_approvals (
    tenant TEXT NOT NULL,
    decision TEXT NOT NULL,
    principal TEXT NOT NULL,
    roles TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tenant, decision, principal),
    FOREIGN KEY (tenant, decision) REFERENCES decisions (tenant, id)
) STRICT;

CREATE TABLE enforcement_points (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    secret_digest BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    revoked_at INTEGER,
    revoked_by TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE UNIQUE INDEX enforcement_points_by_id ON enforcement_points (id);

ALTER TABLE effects ADD COLUMN enforcement_point TEXT;
