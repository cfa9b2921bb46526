//! What is changed, by what it must be named, and what is no evidence.

/// Some rows of a table, and the word by which each is named where something of it is found.
#[derive(Debug)]
pub(super) struct Rows {
    /// The table.
    pub(super) table: &'static str,
    /// What names a row, as SQL over the table as `t`.
    pub(super) named: &'static str,
    /// Which rows are changed, the first of each.
    pub(super) each: &'static [&'static str],
}

/// The receipt at the place that a row names.
const RECEIPT: &str = "(SELECT id FROM receipts r WHERE r.tenant = t.tenant AND r.log_index = t.log_index)";

/// The tables whose rows are held against something.
pub(super) const ROWS: [Rows; 25] = [
    Rows { table: "tenants", named: "'tenants'", each: &["slug = 'harbour'"] },
    Rows { table: "heads", named: "tenant", each: &["tenant = 'harbour'"] },
    Rows {
        table: "keys",
        named: "id",
        each: &[
            "tenant = 'harbour' AND purpose = 'log'",
            "tenant = 'harbour' AND purpose = 'lookup'",
            "tenant = 'harbour' AND purpose = 'token' AND retired_at IS NULL",
            "tenant = 'harbour' AND purpose = 'token' AND retired_at IS NOT NULL",
            "tenant = 'harbour' AND purpose = 'auth' AND retired_at IS NULL",
            "tenant = 'harbour' AND purpose = 'auth' AND retired_at IS NOT NULL",
        ],
    },
    Rows {
        table: "principals",
        named: "id",
        each: &[
            "tenant = 'harbour' AND email = 'op@example.test'",
            "email = 'm@example.test'",
            "email = 'n@example.test'",
        ],
    },
    Rows { table: "agents", named: "id", each: &["name = 'runner'", "name = 'retired'"] },
    Rows {
        table: "credentials",
        named: "id",
        each: &[
            "label = 'first' AND revoked_at IS NULL",
            "label = 'narrow'",
            "label = 'child'",
            "revoked_at IS NOT NULL",
        ],
    },
    Rows {
        table: "mandates",
        named: "'version ' || version || ' of the mandate of ' || principal",
        each: &["version = 2", "version = 1 AND tenant = 'harbour'"],
    },
    Rows {
        table: "policies",
        named: "'version ' || version || ' of the policy'",
        each: &["version = 1 AND tenant = 'harbour'", "version = 2", "version = 3"],
    },
    Rows {
        table: "catalogue",
        named: "'version ' || version || ' of the catalogue'",
        each: &["version = 1", "version = 2"],
    },
    Rows {
        table: "retention",
        named: "'version ' || version || ' of the rules of retention'",
        each: &["version = 1", "version = 2"],
    },
    Rows {
        table: "reply_rules",
        named: "'version ' || version || ' of the reply rules'",
        each: &["version = 1", "version = 2"],
    },
    Rows {
        table: "receipts",
        named: "'index ' || log_index || ':'",
        each: &[
            "kind = 'gate.evaluate' AND outcome = 'allow' AND content LIKE '%a-key%'",
            "kind = 'gate.evaluate' AND outcome = 'escalate' AND content IS NULL",
            "kind = 'gate.replay'",
            "kind = 'mandate.put'",
            "kind = 'effect.outcome'",
        ],
    },
    Rows {
        table: "accesses",
        named: "id",
        each: &[
            "credential IS NOT NULL AND status = 200 AND (chain, at / 60000) IN (SELECT chain, minute FROM access_minutes WHERE log_index > 0)",
            "credential IS NOT NULL AND status = 404 AND (chain, at / 60000) IN (SELECT chain, minute FROM access_minutes WHERE log_index > 0)",
        ],
    },
    Rows {
        table: "access_minutes",
        named: RECEIPT,
        each: &["credential IS NOT NULL AND log_index IS NOT NULL"],
    },
    Rows {
        table: "decisions",
        named: "id",
        each: &[
            "kind = 'action' AND status = 'open' AND approvals IS NULL AND asks > 1",
            "kind = 'action' AND status = 'open' AND approvals IS NOT NULL",
            "kind = 'effect' AND status = 'open'",
            "kind = 'attention'",
            "status = 'approved'",
            "status = 'used'",
            "status = 'expired'",
            "status = 'declined'",
            "status = 'withdrawn' AND request_hash IS NOT NULL",
            "status = 'withdrawn' AND request_hash IS NULL",
            "status = 'resolved'",
        ],
    },
    Rows {
        table: "decision_approvals",
        named: "decision",
        each: &[
            "decision IN (SELECT id FROM decisions WHERE status = 'open')",
            "decision IN (SELECT id FROM decisions WHERE status = 'approved')",
            "decision IN (SELECT id FROM decisions WHERE status = 'used')",
        ],
    },
    Rows { table: "known_counterparties", named: "principal", each: &["since > 0"] },
    Rows {
        table: "effects",
        named: "id",
        each: &[
            "status = 'claimed'",
            "status = 'failed'",
            "status = 'unknown'",
            "status = 'done' AND enforcement_point IS NOT NULL",
            "status = 'done' AND enforcement_point IS NULL",
        ],
    },
    Rows {
        table: "idempotency_keys",
        named: RECEIPT,
        each: &["key = 'other-key'", "key = 'pay-done'", "key = 'gift'"],
    },
    Rows { table: "books", named: RECEIPT, each: &["released_at IS NULL", "released_at IS NOT NULL"] },
    Rows { table: "books_forgotten", named: RECEIPT, each: &["amount > 0"] },
    Rows {
        table: "enforcement_points",
        named: "id",
        each: &["revoked_at IS NULL", "revoked_at IS NOT NULL"],
    },
    Rows { table: "exports", named: "id", each: &["log_index IS NOT NULL"] },
    Rows { table: "witnessed_checkpoints", named: OF_SIZE, each: &["size > 0"] },
    Rows { table: "cosignatures", named: OF_SIZE, each: &["size > 0"] },
];

/// A checkpoint, by its size.
const OF_SIZE: &str = "'checkpoint of ' || size || ' receipts'";

/// The tables that only a log of some length fills.
pub(super) const ROWS_OF_LONG_LOGS: [Rows; 3] = [
    Rows { table: "tiles", named: "'tile ' || level || '/' || tile", each: &["tile = 0", "tile = 2"] },
    Rows {
        table: "trails",
        named: "'of run ' || run",
        each: &["trail LIKE 'chain crd%'", "trail LIKE 'kind gate%'", "trail LIKE 'principal%'"],
    },
    Rows { table: "lookups", named: "'of run ' || run", each: &["part = 0", "part = 7", "part = 15"] },
];

/// Why a key is not held any more once what it was used for is erased.
const KEY_OF_ERASED: &str =
    "which key it was is erased with the content of the call, and the row answers nothing any more";

/// Columns that may hold nothing yet where they could hold something, and why that shows nothing.
pub(super) const MAY_HOLD_NOTHING: [(&str, &str); 1] =
    [("exports.last_line", "kept when it is handed out, and made again whenever it is not there")];

/// Of some rows, a column that is no evidence though it is of others: which, and why.
pub(super) const NOT_OF: [(&str, &str, &str); 8] = [
    (
        "decisions.asks",
        "kind = 'attention'",
        "counts refusals since it was opened: each of them is a receipt",
    ),
    ("decisions.id", "kind = 'attention'", "no receipt names an item that says that an agent asks too much"),
    ("decisions.why", "request_hash IS NULL AND kind = 'action'", "what it was made of was erased"),
    ("idempotency_keys.tenant", "key = 'gift'", KEY_OF_ERASED),
    ("idempotency_keys.key", "key = 'gift'", KEY_OF_ERASED),
    ("idempotency_keys.log_index", "key = 'gift'", KEY_OF_ERASED),
    ("credentials.revoked_by", "revoked_at IS NULL", "nothing is read of it without `revoked_at`"),
    ("enforcement_points.revoked_by", "revoked_at IS NULL", "nothing is read of it without `revoked_at`"),
];

/// What stands in a column instead, where another text or number of its type would be no value of it.
pub(super) const OTHERWISE: [(&str, &str); 35] = [
    ("tenants.zone", "'Asia/Tokyo'"),
    ("keys.purpose", "CASE purpose WHEN 'token' THEN 'log' ELSE 'token' END"),
    ("principals.roles", "CASE roles WHEN 'operator' THEN 'member' ELSE 'operator' END"),
    ("principals.password_set_by", "CASE password_set_by WHEN 'person' THEN 'operator' ELSE 'person' END"),
    ("agents.kind", "'answering'"),
    ("credentials.scopes", "'question:answer'"),
    ("credentials.country", "'DE'"),
    ("credentials.clauses", "REPLACE(clauses, '5', '50')"),
    (
        "mandates.document",
        "'{\"scopes\":[],\"clauses\":[{\"id\":\"X-1\",\"intent\":\"a.b\",\"effect\":\"refuse\"}]}'",
    ),
    ("mandates.change", "CASE change WHEN 'narrowed' THEN 'widened' ELSE 'narrowed' END"),
    ("policies.document", "'{\"clauses\":[{\"id\":\"X-1\",\"intent\":\"a.b\",\"effect\":\"refuse\"}]}'"),
    ("policies.change", "CASE change WHEN 'narrowed' THEN 'widened' ELSE 'narrowed' END"),
    ("catalogue.document", "REPLACE(document, '\"effect\":true', '\"effect\":false')"),
    ("retention.document", "REPLACE(document, '00 days', '50 days')"),
    ("reply_rules.document", "REPLACE(document, 'withhold', 'allow')"),
    ("receipts.kind", "CASE kind WHEN 'gate.replay' THEN 'mandate.put' ELSE 'gate.replay' END"),
    ("receipts.outcome", "CASE outcome WHEN 'allow' THEN 'refuse' ELSE 'allow' END"),
    ("receipts.facts_from", "CASE facts_from WHEN 'derived' THEN 'described' ELSE 'derived' END"),
    ("receipts.input", "REPLACE(input, '\"tenant\":\"harbour\"', '\"tenant\":\"quay\"')"),
    ("receipts.output", "'{}'"),
    ("receipts.content", "REPLACE(content, '\"salt\":\"', '\"salt\":\"0')"),
    ("access_minutes.counts", "'[]'"),
    ("accesses.method", "'PUT'"),
    ("decisions.kind", "CASE kind WHEN 'action' THEN 'attention' ELSE 'action' END"),
    (
        "decisions.status",
        "CASE status WHEN 'approved' THEN 'used' WHEN 'used' THEN 'approved' WHEN 'open' THEN 'approved' ELSE 'open' END",
    ),
    ("decisions.approvals", "'[{\"count\":1,\"roles\":[\"member\"]}]'"),
    ("decisions.why", "REPLACE(why, '\"sentences\":[', '\"sentences\":[\"so it is\",')"),
    ("decision_approvals.roles", "CASE roles WHEN 'member' THEN 'operator' ELSE 'member' END"),
    ("effects.status", "CASE status WHEN 'done' THEN 'failed' WHEN 'unknown' THEN 'failed' ELSE 'done' END"),
    ("effects.attested", "1 - attested"),
    ("effects.reported", "REPLACE(reported, 'd', 'e')"),
    ("exports.format", "'csv'"),
    ("exports.header", "REPLACE(header, '\"size\":', '\"size\":1')"),
    ("cosignatures.witness", "REPLACE(witness, 'example', 'other')"),
    ("exports.last_line", "REPLACE(last_line, 'export', 'import')"),
];

/// Columns, and whole tables, that are no evidence, and why.
pub(super) const NO_EVIDENCE: [(&str, &str); 8] = [
    ("reply_counts", "how often screening did something: figures that nothing is decided by"),
    (
        "__diesel_schema_migrations",
        "which migrations ran: the doctor holds the names against those of the program",
    ),
    ("sessions", "who is signed in, for hours at most: what is done with a session is a receipt of its own"),
    ("outbox", "mail to send: what it tells of is decided and recorded before"),
    ("rounds", "when something that happens every so often was done last: it is done again"),
    (
        "heads.authority_epoch",
        "tells nodes to read again what they keep in memory: another number makes them read it",
    ),
    (
        "decisions.due_at",
        "when the service looks again: what is over is over by `expires_at` and `approved_until`",
    ),
    ("effects.due_at", "when the service looks again: what is overdue is so by `report_by`"),
];
