-- Rules for what replies say. Append-only; the live version is the highest.
CREATE TABLE reply_rules (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    version BIGINT NOT NULL,
    document TEXT COLLATE "C" NOT NULL,
    live_since BIGINT NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, version)
);

-- How often each thing happened that screening counts. Numbers alone: no text, no value, no turn.
CREATE TABLE reply_counts (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    name TEXT COLLATE "C" NOT NULL,
    times BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);
