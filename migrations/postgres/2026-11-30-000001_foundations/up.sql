-- Every key starts with the tenant's slug. Times are milliseconds since 1970 in UTC.

CREATE TABLE tenants (
    slug TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    zone TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL UNIQUE,
    issuer TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

-- The signed head of each tenant's log; the one row a batch locks first.
CREATE TABLE heads (
    tenant TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tenants (slug),
    size BIGINT NOT NULL,
    frontier BYTEA NOT NULL,
    checkpoint TEXT COLLATE "C" NOT NULL,
    last_at BIGINT NOT NULL,
    authority_epoch BIGINT NOT NULL
);

CREATE TABLE keys (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    id TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    public BYTEA,
    wrapped BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    retired_at BIGINT,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE principals (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    id TEXT COLLATE "C" NOT NULL,
    email TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    roles TEXT COLLATE "C" NOT NULL,
    password TEXT COLLATE "C",
    password_set_by TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, email)
);

CREATE TABLE sessions (
    tenant TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    signed_in_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    PRIMARY KEY (digest)
);

CREATE TABLE agents (
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    retired_at BIGINT,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, principal) REFERENCES principals (tenant, id)
);
CREATE INDEX agents_by_principal ON agents (tenant, principal, id);

CREATE TABLE credentials (
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    parent TEXT COLLATE "C",
    depth BIGINT NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    scopes TEXT COLLATE "C" NOT NULL,
    clauses TEXT COLLATE "C",
    country TEXT COLLATE "C",
    purpose TEXT COLLATE "C",
    secret_digest BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT,
    revoked_by TEXT COLLATE "C",
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, agent) REFERENCES agents (tenant, id),
    FOREIGN KEY (tenant, parent) REFERENCES credentials (tenant, id)
);
CREATE UNIQUE INDEX credentials_by_id ON credentials (id);
CREATE INDEX credentials_by_agent ON credentials (tenant, agent, id);
CREATE INDEX credentials_by_principal ON credentials (tenant, principal, id);
CREATE INDEX credentials_by_parent ON credentials (tenant, parent);

-- Append-only; the live version is the highest.
CREATE TABLE mandates (
    tenant TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    document TEXT COLLATE "C" NOT NULL,
    change TEXT COLLATE "C" NOT NULL,
    live_since BIGINT NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, principal, version),
    FOREIGN KEY (tenant, principal) REFERENCES principals (tenant, id)
);

CREATE TABLE policies (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    version BIGINT NOT NULL,
    document TEXT COLLATE "C" NOT NULL,
    change TEXT COLLATE "C" NOT NULL,
    live_since BIGINT NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, version)
);

-- One row a change; the live entry of an intent is its highest version.
CREATE TABLE catalogue (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    version BIGINT NOT NULL,
    intent TEXT COLLATE "C" NOT NULL,
    document TEXT COLLATE "C" NOT NULL,
    live_since BIGINT NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, version)
);
CREATE INDEX catalogue_by_intent ON catalogue (tenant, intent, version);

-- The leaves of the log, in order. Hashes of the documents are not stored: they are computed again.
CREATE TABLE receipts (
    tenant TEXT COLLATE "C" NOT NULL,
    log_index BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C",
    intent TEXT COLLATE "C",
    principal TEXT COLLATE "C",
    agent TEXT COLLATE "C",
    credential TEXT COLLATE "C",
    chain TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    prev BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    auth BYTEA NOT NULL,
    auth_key TEXT COLLATE "C" NOT NULL,
    mandate_version BIGINT,
    policy_version BIGINT,
    catalogue_version BIGINT,
    engine_version TEXT COLLATE "C" NOT NULL,
    facts_from TEXT COLLATE "C",
    input TEXT COLLATE "C" NOT NULL,
    output TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C",
    PRIMARY KEY (tenant, log_index),
    UNIQUE (tenant, chain, seq)
);
CREATE INDEX receipts_by_principal ON receipts (tenant, principal, log_index);

-- Full tiles of the log's tree, 256 hashes each (C2SP tlog-tiles); the right edge is computed from receipts.
CREATE TABLE tiles (
    tenant TEXT COLLATE "C" NOT NULL,
    level BIGINT NOT NULL,
    tile BIGINT NOT NULL,
    hashes BYTEA NOT NULL,
    PRIMARY KEY (tenant, level, tile)
);

-- Calls without a leaf of their own: reads, refusals at the door. One leaf a chain and minute commits to them.
CREATE TABLE accesses (
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C",
    agent TEXT COLLATE "C",
    credential TEXT COLLATE "C",
    method TEXT COLLATE "C" NOT NULL,
    route TEXT COLLATE "C" NOT NULL,
    status BIGINT NOT NULL,
    detail TEXT COLLATE "C",
    PRIMARY KEY (tenant, id)
);
CREATE INDEX accesses_by_chain ON accesses (tenant, chain, id);
CREATE INDEX accesses_by_principal ON accesses (tenant, principal, id);

CREATE TABLE access_minutes (
    tenant TEXT COLLATE "C" NOT NULL,
    chain TEXT COLLATE "C" NOT NULL,
    minute BIGINT NOT NULL,
    principal TEXT COLLATE "C",
    agent TEXT COLLATE "C",
    credential TEXT COLLATE "C",
    count BIGINT NOT NULL,
    listed BIGINT NOT NULL,
    counts TEXT COLLATE "C" NOT NULL,
    log_index BIGINT,
    PRIMARY KEY (tenant, chain, minute)
);
CREATE INDEX access_minutes_open ON access_minutes (tenant, minute) WHERE log_index IS NULL;

CREATE TABLE decisions (
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    credential TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    intent TEXT COLLATE "C" NOT NULL,
    log_index BIGINT NOT NULL,
    input_hash BYTEA NOT NULL,
    request_hash BYTEA,
    effect TEXT COLLATE "C",
    opened_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    due_at BIGINT,
    decided_at BIGINT,
    decided_by TEXT COLLATE "C",
    approved_until BIGINT,
    reason TEXT COLLATE "C",
    used_index BIGINT,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX decisions_by_principal ON decisions (tenant, principal, status, id);
CREATE INDEX decisions_by_agent ON decisions (tenant, agent, id);
CREATE INDEX decisions_by_use ON decisions (tenant, used_index) WHERE used_index IS NOT NULL;
CREATE INDEX decisions_due ON decisions (due_at) WHERE due_at IS NOT NULL;

-- Grows by a person's act alone.
CREATE TABLE known_counterparties (
    tenant TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    decision TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (tenant, principal, name)
);

CREATE TABLE effects (
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    credential TEXT COLLATE "C" NOT NULL,
    intent TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    attested BIGINT NOT NULL,
    log_index BIGINT NOT NULL,
    idempotency_key TEXT COLLATE "C" NOT NULL,
    claimed_at BIGINT NOT NULL,
    report_by BIGINT NOT NULL,
    due_at BIGINT,
    ended_at BIGINT,
    reported TEXT COLLATE "C",
    PRIMARY KEY (tenant, id)
);
CREATE INDEX effects_by_place ON effects (tenant, log_index);
CREATE INDEX effects_due ON effects (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE idempotency_keys (
    tenant TEXT COLLATE "C" NOT NULL,
    credential TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    request_hash BYTEA NOT NULL,
    log_index BIGINT NOT NULL,
    effect TEXT COLLATE "C",
    answered_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, credential, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- Mail to send, written in the transaction that gave the reason for it.
CREATE TABLE outbox (
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    recipient TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    text_body TEXT COLLATE "C" NOT NULL,
    html_body TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    due_at BIGINT,
    sent_at BIGINT,
    failure TEXT COLLATE "C",
    PRIMARY KEY (tenant, id)
);
CREATE INDEX outbox_due ON outbox (due_at) WHERE due_at IS NOT NULL;
