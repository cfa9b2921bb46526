-- What no look counts any more, kept for the case that it is taken again: an effect that was said to have failed may
-- turn out to have happened.
CREATE TABLE books_forgotten (
    tenant TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    book TEXT NOT NULL,
    at INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (tenant, log_index, book)
) STRICT;
