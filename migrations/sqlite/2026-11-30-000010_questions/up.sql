-- Questions between members' agents: where each stands. What was asked and answered is content of receipts.
CREATE TABLE questions (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    id TEXT NOT NULL,
    asker TEXT NOT NULL,
    agent TEXT NOT NULL,
    credential TEXT NOT NULL,
    receiver TEXT NOT NULL,
    answerer TEXT,
    status TEXT NOT NULL,
    ask_index INTEGER NOT NULL,
    receive_index INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at INTEGER,
    answer_index INTEGER,
    due_at INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX questions_asked ON questions (tenant, asker, id);
CREATE INDEX questions_received ON questions (tenant, receiver, id);
CREATE INDEX questions_due ON questions (due_at) WHERE due_at IS NOT NULL;

-- Which credential fetched which answer: what it asks of the gate from then on counts as untrusted.
CREATE TABLE fetched_answers (
    tenant TEXT NOT NULL REFERENCES tenants (slug),
    credential TEXT NOT NULL,
    question TEXT NOT NULL,
    log_index INTEGER NOT NULL,
    PRIMARY KEY (tenant, credential, question)
) STRICT;
