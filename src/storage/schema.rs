//! The tables as both databases have them; `migrations` makes them, a test compares the two.

diesel::table! {
    tenants (slug) {
        slug -> Text,
        id -> Text,
        zone -> Text,
        origin -> Text,
        issuer -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    heads (tenant) {
        tenant -> Text,
        size -> BigInt,
        frontier -> Binary,
        checkpoint -> Text,
        last_at -> BigInt,
        authority_epoch -> BigInt,
    }
}

diesel::table! {
    keys (tenant, id) {
        tenant -> Text,
        id -> Text,
        purpose -> Text,
        public -> Nullable<Binary>,
        wrapped -> Binary,
        created_at -> BigInt,
        retired_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    principals (tenant, id) {
        tenant -> Text,
        id -> Text,
        email -> Text,
        name -> Text,
        roles -> Text,
        password -> Nullable<Text>,
        password_set_by -> Nullable<Text>,
        created_at -> BigInt,
    }
}

diesel::table! {
    sessions (digest) {
        tenant -> Text,
        digest -> Binary,
        principal -> Text,
        signed_in_at -> BigInt,
        last_used_at -> BigInt,
    }
}

diesel::table! {
    agents (tenant, id) {
        tenant -> Text,
        id -> Text,
        principal -> Text,
        name -> Text,
        kind -> Text,
        created_at -> BigInt,
        retired_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    credentials (tenant, id) {
        tenant -> Text,
        id -> Text,
        agent -> Text,
        principal -> Text,
        parent -> Nullable<Text>,
        depth -> BigInt,
        label -> Text,
        scopes -> Text,
        clauses -> Nullable<Text>,
        country -> Nullable<Text>,
        purpose -> Nullable<Text>,
        secret_digest -> Binary,
        created_at -> BigInt,
        expires_at -> BigInt,
        revoked_at -> Nullable<BigInt>,
        revoked_by -> Nullable<Text>,
    }
}

diesel::table! {
    mandates (tenant, principal, version) {
        tenant -> Text,
        principal -> Text,
        version -> BigInt,
        id -> Text,
        document -> Text,
        change -> Text,
        live_since -> BigInt,
        author -> Text,
    }
}

diesel::table! {
    policies (tenant, version) {
        tenant -> Text,
        version -> BigInt,
        document -> Text,
        change -> Text,
        live_since -> BigInt,
        author -> Text,
    }
}

diesel::table! {
    catalogue (tenant, version) {
        tenant -> Text,
        version -> BigInt,
        intent -> Text,
        document -> Text,
        live_since -> BigInt,
        author -> Text,
    }
}

diesel::table! {
    receipts (tenant, log_index) {
        tenant -> Text,
        log_index -> BigInt,
        id -> Text,
        at -> BigInt,
        kind -> Text,
        outcome -> Nullable<Text>,
        intent -> Nullable<Text>,
        principal -> Nullable<Text>,
        agent -> Nullable<Text>,
        credential -> Nullable<Text>,
        chain -> Text,
        seq -> BigInt,
        prev -> Binary,
        hash -> Binary,
        auth -> Binary,
        auth_key -> Text,
        mandate_version -> Nullable<BigInt>,
        policy_version -> Nullable<BigInt>,
        catalogue_version -> Nullable<BigInt>,
        engine_version -> Text,
        facts_from -> Nullable<Text>,
        input -> Text,
        output -> Text,
        content -> Nullable<Text>,
        erased_by -> Nullable<BigInt>,
    }
}

diesel::table! {
    tiles (tenant, level, tile) {
        tenant -> Text,
        level -> BigInt,
        tile -> BigInt,
        hashes -> Binary,
    }
}

diesel::table! {
    lookups (tenant, part, run) {
        tenant -> Text,
        part -> BigInt,
        run -> BigInt,
        entries -> Binary,
    }
}

diesel::table! {
    accesses (tenant, id) {
        tenant -> Text,
        id -> Text,
        at -> BigInt,
        chain -> Text,
        principal -> Nullable<Text>,
        agent -> Nullable<Text>,
        credential -> Nullable<Text>,
        method -> Text,
        route -> Text,
        status -> BigInt,
        detail -> Nullable<Text>,
    }
}

diesel::table! {
    access_minutes (tenant, chain, minute) {
        tenant -> Text,
        chain -> Text,
        minute -> BigInt,
        principal -> Nullable<Text>,
        agent -> Nullable<Text>,
        credential -> Nullable<Text>,
        count -> BigInt,
        listed -> BigInt,
        counts -> Text,
        log_index -> Nullable<BigInt>,
    }
}

diesel::table! {
    decisions (tenant, id) {
        tenant -> Text,
        id -> Text,
        principal -> Text,
        agent -> Text,
        credential -> Text,
        kind -> Text,
        status -> Text,
        intent -> Text,
        log_index -> BigInt,
        input_hash -> Binary,
        request_hash -> Nullable<Binary>,
        effect -> Nullable<Text>,
        opened_at -> BigInt,
        expires_at -> BigInt,
        due_at -> Nullable<BigInt>,
        decided_at -> Nullable<BigInt>,
        decided_by -> Nullable<Text>,
        approved_until -> Nullable<BigInt>,
        reason -> Nullable<Text>,
        used_index -> Nullable<BigInt>,
        asks -> BigInt,
        approvals -> Nullable<Text>,
        why -> Nullable<Text>,
    }
}

diesel::table! {
    decision_approvals (tenant, decision, principal) {
        tenant -> Text,
        decision -> Text,
        principal -> Text,
        roles -> Text,
        at -> BigInt,
    }
}

diesel::table! {
    books (tenant, book, at, log_index) {
        tenant -> Text,
        book -> Text,
        at -> BigInt,
        log_index -> BigInt,
        amount -> BigInt,
        total -> BigInt,
        released_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    books_forgotten (tenant, log_index, book) {
        tenant -> Text,
        log_index -> BigInt,
        book -> Text,
        at -> BigInt,
        amount -> BigInt,
    }
}

diesel::table! {
    enforcement_points (tenant, id) {
        tenant -> Text,
        id -> Text,
        name -> Text,
        secret_digest -> Binary,
        created_at -> BigInt,
        created_by -> Text,
        revoked_at -> Nullable<BigInt>,
        revoked_by -> Nullable<Text>,
    }
}

diesel::table! {
    known_counterparties (tenant, principal, name) {
        tenant -> Text,
        principal -> Text,
        name -> Text,
        decision -> Text,
        since -> BigInt,
    }
}

diesel::table! {
    effects (tenant, id) {
        tenant -> Text,
        id -> Text,
        principal -> Text,
        agent -> Text,
        credential -> Text,
        intent -> Text,
        status -> Text,
        attested -> BigInt,
        log_index -> BigInt,
        idempotency_key -> Text,
        claimed_at -> BigInt,
        report_by -> BigInt,
        due_at -> Nullable<BigInt>,
        ended_at -> Nullable<BigInt>,
        reported -> Nullable<Text>,
        enforcement_point -> Nullable<Text>,
    }
}

diesel::table! {
    idempotency_keys (tenant, credential, key) {
        tenant -> Text,
        credential -> Text,
        key -> Text,
        request_hash -> Binary,
        log_index -> BigInt,
        effect -> Nullable<Text>,
        answered_at -> BigInt,
        expires_at -> BigInt,
    }
}

diesel::table! {
    outbox (tenant, id) {
        tenant -> Text,
        id -> Text,
        recipient -> Text,
        subject -> Text,
        text_body -> Text,
        html_body -> Text,
        created_at -> BigInt,
        attempts -> BigInt,
        due_at -> Nullable<BigInt>,
        sent_at -> Nullable<BigInt>,
        failure -> Nullable<Text>,
    }
}

diesel::table! {
    witnessed_checkpoints (tenant, size) {
        tenant -> Text,
        size -> BigInt,
        checkpoint -> Text,
    }
}

diesel::table! {
    cosignatures (tenant, size, witness) {
        tenant -> Text,
        size -> BigInt,
        witness -> Text,
        at -> BigInt,
        line -> Text,
    }
}

diesel::table! {
    rounds (tenant, name) {
        tenant -> Text,
        name -> Text,
        at -> BigInt,
        size -> BigInt,
    }
}

diesel::table! {
    exports (tenant, id) {
        tenant -> Text,
        id -> Text,
        taken_by -> Nullable<Text>,
        format -> Text,
        header -> Text,
        begun_at -> BigInt,
        log_index -> Nullable<BigInt>,
        lines -> Nullable<BigInt>,
        last_line -> Nullable<Text>,
    }
}

diesel::table! {
    retention (tenant, version) {
        tenant -> Text,
        version -> BigInt,
        document -> Text,
        live_since -> BigInt,
        author -> Text,
    }
}

diesel::table! {
    questions (tenant, id) {
        tenant -> Text,
        id -> Text,
        asker -> Text,
        agent -> Text,
        credential -> Text,
        receiver -> Text,
        answerer -> Nullable<Text>,
        status -> Text,
        ask_index -> BigInt,
        receive_index -> BigInt,
        asked_at -> BigInt,
        expires_at -> BigInt,
        ended_at -> Nullable<BigInt>,
        answer_index -> Nullable<BigInt>,
        due_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    fetched_answers (tenant, credential, question) {
        tenant -> Text,
        credential -> Text,
        question -> Text,
        log_index -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    tenants,
    heads,
    keys,
    principals,
    sessions,
    agents,
    credentials,
    mandates,
    policies,
    catalogue,
    receipts,
    tiles,
    accesses,
    access_minutes,
    decisions,
    decision_approvals,
    known_counterparties,
    effects,
    idempotency_keys,
    outbox,
    witnessed_checkpoints,
    cosignatures,
    rounds,
    exports,
    retention,
    questions,
    fetched_answers
);
