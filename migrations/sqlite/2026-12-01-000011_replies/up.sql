-- Rules for what replies say. Append-only; the live version is the highest.
CREATE TABLE reply_rules (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    version INTEGER NOT NULL,
    document TEXT NOT NULL,
    live_since INTEGER NOT NULL,
    author TEXT NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT;

-- How often each thing happened that screening counts. Numbers alone: no text, no value, no turn.
CREATE TABLE reply_counts (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    name TEXT NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT;
