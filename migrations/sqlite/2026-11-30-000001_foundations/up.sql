-- Every key starts with the tenant's slug. Times are milliseconds since 1970 in UTC.

CREATE TABLE tenants (
    slug TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    zone TEXT NOT NULL,
    origin TEXT NOT NULL UNIQUE,
    issuer TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- The signed head of each tenant's log; the one row a batch locks first.
CREATE TABLE heads (
    tenant TEXT NOT NULL PRIMARY KEY REFERENCES tenants (slug),
    size INTEGER NOT NULL,
    frontier BLOB NOT NULL,
    checkpoint TEXT NOT NULL,
    last_at INTEGER NOT NULL,
    authority_epoch INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    public BLOB,
    wrapped BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    retired_at INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE TABLE principals (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    id TEXT NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    roles TEXT NOT NULL,
    password TEXT,
    password_set_by TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, email)
) STRICT;

CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    digest BLOB NOT NULL,
    principal TEXT NOT NULL,
    signed_in_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    PRIMARY KEY (digest)
) STRICT;

CREATE TABLE agents (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    principal TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    retired_at INTEGER,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, principal) REFERENCES principals (tenant, id)
) STRICT;
CREATE INDEX agents_by_principal ON agents (tenant, principal, id);

CREATE TABLE credentials (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    principal TEXT NOT NULL,
    parent TEXT,
    depth INTEGER NOT NULL,
    label TEXT NOT NULL,
    scopes TEXT NOT NULL,
    clauses TEXT,
    country TEXT,
    purpose TEXT,
    secret_digest BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    revoked_by TEXT,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, agent) REFERENCES agents (tenant, id),
    FOREIGN KEY (tenant, parent) REFERENCES credentials (tenant, id)
) STRICT;
CREATE UNIQUE INDEX credentials_by_id ON credentials (id);
CREATE INDEX credentials_by_agent ON credentials (tenant, agent, id);
CREATE INDEX credentials_by_principal ON credentials (tenant, principal, id);
CREATE INDEX credentials_by_parent ON credentials (tenant, parent);

-- Append-only; the live version is the highest.
CREATE TABLE mandates (
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    version INTEGER NOT NULL,
    id TEXT NOT NULL,
    document TEXT NOT NULL,
    change TEXT NOT NULL,
    live_since INTEGER NOT NULL,
    author TEXT NOT NULL,
    PRIMARY KEY (tenant, principal, version),
    FOREIGN KEY (tenant, principal) REFERENCES principals (tenant, id)
) STRICT;

CREATE TABLE policies (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    version INTEGER NOT NULL,
    document TEXT NOT NULL,
    change TEXT NOT NULL,
    live_since INTEGER NOT NULL,
    author TEXT NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT;

-- One row a change; the live entry of an intent is its highest version.
CREATE TABLE catalogue (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    version INTEGER NOT NULL,
    intent TEXT NOT NULL,
    document TEXT NOT NULL,
    live_since INTEGER NOT NULL,
    author TEXT NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT;
CREATE INDEX catalogue_by_intent ON catalogue (tenant, intent, version);

-- The leaves of the log, in order. Hashes of the documents are not stored: they are computed again.
CREATE TABLE receipts (
    tenant TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    outcome TEXT,
    intent TEXT,
    principal TEXT,
    agent TEXT,
    credential TEXT,
    chain TEXT NOT NULL,
    seq INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    auth BLOB NOT NULL,
    auth_key TEXT NOT NULL,
    mandate_version INTEGER,
    policy_version INTEGER,
    catalogue_version INTEGER,
    engine_version TEXT NOT NULL,
    facts_from TEXT,
    input TEXT NOT NULL,
    output TEXT NOT NULL,
    content TEXT,
    PRIMARY KEY (tenant, log_index),
    UNIQUE (tenant, chain, seq)
) STRICT;
CREATE INDEX receipts_by_principal ON receipts (tenant, principal, log_index);

-- Full tiles of the log's tree, 256 hashes each (C2SP tlog-tiles); the right edge is computed from receipts.
CREATE TABLE tiles (
    tenant TEXT NOT NULL,
    level INTEGER NOT NULL,
    tile INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (tenant, level, tile)
) STRICT;

-- Calls without a leaf of their own: reads, refusals at the door. One leaf a chain and minute commits to them.
CREATE TABLE accesses (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    chain TEXT NOT NULL,
    principal TEXT,
    agent TEXT,
    credential TEXT,
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    status INTEGER NOT NULL,
    detail TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX accesses_by_chain ON accesses (tenant, chain, id);
CREATE INDEX accesses_by_principal ON accesses (tenant, principal, id);

CREATE TABLE access_minutes (
    tenant TEXT NOT NULL,
    chain TEXT NOT NULL,
    minute INTEGER NOT NULL,
    principal TEXT,
    agent TEXT,
    credential TEXT,
    count INTEGER NOT NULL,
    listed INTEGER NOT NULL,
    counts TEXT NOT NULL,
    log_index INTEGER,
    PRIMARY KEY (tenant, chain, minute)
) STRICT;
CREATE INDEX access_minutes_open ON access_minutes (tenant, minute) WHERE log_index IS NULL;

CREATE TABLE decisions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    principal TEXT NOT NULL,
    agent TEXT NOT NULL,
    credential TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    intent TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    input_hash BLOB NOT NULL,
    request_hash BLOB,
    effect TEXT,
    opened_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    due_at INTEGER,
    decided_at INTEGER,
    decided_by TEXT,
    approved_until INTEGER,
    reason TEXT,
    used_index INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX decisions_by_principal ON decisions (tenant, principal, status, id);
CREATE INDEX decisions_by_agent ON decisions (tenant, agent, id);
CREATE INDEX decisions_by_use ON decisions (tenant, used_index) WHERE used_index IS NOT NULL;
CREATE INDEX decisions_due ON decisions (due_at) WHERE due_at IS NOT NULL;

-- Grows by a person's act alone.
CREATE TABLE known_counterparties (
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    name TEXT NOT NULL,
    decision TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (tenant, principal, name)
) STRICT;

CREATE TABLE effects (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    principal TEXT NOT NULL,
    agent TEXT NOT NULL,
    credential TEXT NOT NULL,
    intent TEXT NOT NULL,
    status TEXT NOT NULL,
    attested INTEGER NOT NULL,
    log_index INTEGER NOT NULL,
    idempotency_key TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    report_by INTEGER NOT NULL,
    due_at INTEGER,
    ended_at INTEGER,
    reported TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX effects_by_place ON effects (tenant, log_index);
CREATE INDEX effects_due ON effects (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE idempotency_keys (
    tenant TEXT NOT NULL,
    credential TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    log_index INTEGER NOT NULL,
    effect TEXT,
    answered_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, credential, key)
) STRICT;
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- Mail to send, written in the transaction that gave the reason for it.
CREATE TABLE outbox (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    subject TEXT NOT NULL,
    text_body TEXT NOT NULL,
    html_body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER,
    sent_at INTEGER,
    failure TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX outbox_due ON outbox (due_at) WHERE due_at IS NOT NULL;
