-- Which receipt says when and why the content of another was erased, and what is erased by itself at which age.
ALTER TABLE receipts ADD COLUMN erased_by BIGINT;
CREATE INDEX receipts_kept ON receipts (tenant, intent, at) WHERE content IS NOT NULL AND intent IS NOT NULL;

-- Append-only; the live version is the highest.
CREATE TABLE retention (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    version BIGINT NOT NULL,
    document TEXT COLLATE "C" NOT NULL,
    live_since BIGINT NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, version)
);
