-- Questions between members' agents: where each stands. What was asked and answered is content of receipts.
CREATE TABLE questions (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    id TEXT COLLATE "C" NOT NULL,
    asker TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    credential TEXT COLLATE "C" NOT NULL,
    receiver TEXT COLLATE "C" NOT NULL,
    answerer TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    ask_index BIGINT NOT NULL,
    receive_index BIGINT NOT NULL,
    asked_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    answer_index BIGINT,
    due_at BIGINT,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX questions_asked ON questions (tenant, asker, id);
CREATE INDEX questions_received ON questions (tenant, receiver, id);
CREATE INDEX questions_due ON questions (due_at) WHERE due_at IS NOT NULL;

-- Which credential fetched which answer: what it asks of the gate from then on counts as untrusted.
CREATE TABLE fetched_answers (
    tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (slug),
    credential TEXT COLLATE "C" NOT NULL,
    question TEXT COLLATE "C" NOT NULL,
    log_index BIGINT NOT NULL,
    PRIMARY KEY (tenant, credential, question)
);
