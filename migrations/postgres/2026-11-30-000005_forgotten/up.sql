-- What no look counts any more, kept for the case that it is taken again: an effect that was said to have failed may
-- turn out to have happened.
CREATE TABLE books_forgotten (
    tenant TEXT COLLATE "C" NOT NULL,
    log_index BIGINT NOT NULL,
    book TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (tenant, log_index, book)
);
