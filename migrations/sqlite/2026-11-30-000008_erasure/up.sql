-- Which receipt says when and why the content of another was erased, and what is erased by itself at which age.
ALTER TABLE receipts ADD COLUMN erased_by INTEGER;
CREATE INDEX receipts_kept ON receipts (tenant, intent, at) WHERE content IS NOT NULL AND intent IS NOT NULL;

-- Append-only; the live version is the highest.
CREATE TABLE retention (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    version INTEGER NOT NULL,
    document TEXT NOT NULL,
    live_since INTEGER NOT NULL,
    author TEXT NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT;
