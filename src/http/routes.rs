//! Every route once: from this table come the server's routing, the OpenAPI document and the tests that walk it.

use super::{
    Problem, agents, calls, coverage, decisions, enforcement_points, erasure, explain, exports, gate, health,
    log, oauth, openapi, people, preview, questions, terms, who,
};
use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, web};

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Anyone.
    Anyone,
    /// A signed-in person.
    Person,
    /// A person who holds the role operator.
    Operator,
    /// An agent.
    Agent,
    /// An agent or an enforcement point.
    Program,
    /// A person or an agent.
    Either,
}

/// What the table says of a route.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) who: Who,
    pub(super) status: u16,
    pub(super) summary: &'static str,
    /// The name of the body's schema, if it has a body.
    pub(super) body: Option<&'static str>,
    pub(super) query: &'static [&'static str],
}

macro_rules! routes {
    ($($method:ident $path:literal $who:ident $status:literal $handler:path, $summary:literal
       $(, body $body:literal)? $(, query [$($query:literal),*])?;)*) => {
        /// All routes of the API.
        pub(super) const ROUTES: &[Route] = &[$(
            Route {
                method: stringify!($method),
                path: $path,
                who: Who::$who,
                status: $status,
                summary: $summary,
                body: routes!(@optional $($body)?),
                query: &[$($($query),*)?],
            },
        )*];

        fn register(config: &mut web::ServiceConfig) {
            $(config.route($path, web::$method().to($handler));)*
        }
    };
    (@optional $body:literal) => { Some($body) };
    (@optional) => { None };
}

routes! {
    post "/v1/session" Anyone 200 people::sign_in, "Sign a person in", body "SignIn";
    delete "/v1/session" Person 204 people::sign_out, "Sign out";
    put "/v1/session/password" Person 200 people::change_password, "Change one's own password", body "ChangePassword";
    post "/v1/principals" Operator 201 people::create, "Register a person", body "NewPrincipal";
    get "/v1/principals" Operator 200 people::list, "List the tenant's people", query ["limit", "cursor"];
    get "/v1/mandate" Either 200 terms::get_mandate, "The live mandate";
    put "/v1/mandate" Person 200 terms::put_mandate, "Put a version of the mandate live", body "Mandate";
    get "/v1/mandate/versions" Either 200 terms::mandate_versions, "Versions of the mandate, newest first", query ["limit", "cursor"];
    get "/v1/mandate/versions/{version}" Either 200 terms::mandate_version, "One version of the mandate";
    post "/v1/mandate/preview" Person 200 preview::mandate, "What a draft of the mandate would have answered to past calls", body "MandatePreview";
    get "/v1/policy" Person 200 terms::get_policy, "The live policy";
    put "/v1/policy" Operator 200 terms::put_policy, "Put a version of the policy live", body "Policy";
    get "/v1/policy/versions" Person 200 terms::policy_versions, "Versions of the policy, newest first", query ["limit", "cursor"];
    get "/v1/policy/versions/{version}" Person 200 terms::policy_version, "One version of the policy";
    post "/v1/policy/preview" Operator 200 preview::policy, "What a draft of the policy would have answered to past calls", body "PolicyPreview";
    get "/v1/catalogue" Either 200 terms::get_catalogue, "The catalogue of intents";
    get "/v1/catalogue/{intent}" Either 200 terms::get_entry, "What the catalogue says of one intent";
    put "/v1/catalogue/{intent}" Operator 200 terms::put_entry, "Register an intent", body "CatalogueEntry";
    post "/v1/agents" Person 201 agents::create, "Register an agent", body "NewAgent";
    get "/v1/agents" Person 200 agents::list, "List one's agents", query ["limit", "cursor"];
    delete "/v1/agents/{agent}" Person 200 agents::retire, "Retire an agent and its credentials";
    post "/v1/agents/{agent}/credentials" Person 201 agents::give, "Give an agent a credential", body "NewCredential";
    post "/v1/credentials/derive" Agent 201 agents::derive, "Derive a narrower credential", body "DerivedCredential";
    get "/v1/credentials" Person 200 agents::list_credentials, "List one's credentials", query ["limit", "cursor"];
    delete "/v1/credentials/{credential}" Person 200 agents::revoke, "Revoke a credential and its children";
    post "/v1/enforcement-points" Operator 201 enforcement_points::create, "Register an enforcement point", body "NewEnforcementPoint";
    get "/v1/enforcement-points" Operator 200 enforcement_points::list, "List the tenant's enforcement points", query ["limit", "cursor"];
    delete "/v1/enforcement-points/{point}" Operator 200 enforcement_points::revoke, "Revoke an enforcement point";
    post "/oauth/token" Anyone 200 oauth::token, "Renew an agent's or enforcement point's token (RFC 6749 section 4.4)", body "TokenRequest";
    post "/v1/gate/evaluate" Program 200 gate::evaluate, "Put an action to the gate", body "Evaluate";
    post "/v1/effects/{effect}/outcome" Program 200 decisions::outcome, "Report what became of an effect", body "EffectReport";
    post "/v1/questions" Agent 200 questions::ask, "Ask another member's agent", body "Ask";
    get "/v1/questions" Either 200 questions::list, "Questions that were asked, or that wait for an answer, newest first", query ["box", "status", "wait", "limit", "cursor"];
    get "/v1/questions/{question}" Either 200 questions::get, "A question, with its answer once there is one", query ["wait"];
    delete "/v1/questions/{question}" Either 200 questions::withdraw, "Take a question back";
    post "/v1/questions/{question}/answer" Agent 200 questions::answer, "Answer a question", body "Answer";
    get "/v1/decisions" Either 200 decisions::list, "List decisions", query ["status", "limit", "cursor"];
    get "/v1/decisions/{decision}" Either 200 decisions::get, "One decision; waits for a change", query ["wait"];
    post "/v1/decisions/{decision}/approve" Person 200 decisions::approve, "Say yes once to what was shown", body "Approve";
    post "/v1/decisions/{decision}/decline" Person 200 decisions::decline, "Say no, and narrow the mandate if wanted", body "Decline";
    post "/v1/decisions/{decision}/resolve" Person 200 decisions::resolve, "Say how an unknown effect ended", body "Resolve";
    get "/v1/calls" Either 200 calls::list, "The call log", query ["credential", "agent", "principal", "kind", "outcome", "intent", "from", "until", "limit", "cursor"];
    get "/v1/credentials/{credential}/calls" Either 200 calls::of_credential, "The calls of one credential", query ["kind", "outcome", "intent", "from", "until", "limit", "cursor"];
    get "/v1/calls/export" Person 200 exports::of_tenant, "A copy of the tenant's whole log, for the role compliance", query ["format", "from", "until", "export", "after"];
    get "/v1/credentials/{credential}/calls/export" Person 200 exports::of_credential, "A copy of one credential's log", query ["format", "from", "until", "export", "after"];
    get "/v1/agents/{agent}/calls/export" Person 200 exports::of_agent, "A copy of what concerns one agent", query ["format", "from", "until", "export", "after"];
    get "/v1/principals/{principal}/calls/export" Person 200 exports::of_principal, "A copy of what concerns one person, or was done by them", query ["format", "from", "until", "export", "after"];
    get "/v1/receipts/{receipt}" Either 200 calls::receipt, "A receipt with its documents and a fresh path";
    get "/v1/receipts/{receipt}/explain" Either 200 explain::receipt, "Why a recorded call was answered as it was, decided again";
    post "/v1/receipts/{receipt}/erase" Operator 200 erasure::erase, "Erase the content of the request that a receipt is of; receipts, chains and proofs stay", body "Erase";
    get "/v1/retention" Person 200 erasure::get_retention, "What is erased by itself, of which intents and at which age";
    put "/v1/retention" Operator 200 erasure::put_retention, "Say what is erased by itself, of which intents and at which age", body "Retention";
    post "/v1/coverage" Person 200 coverage::compare, "A provider's own list of effects (CSV or JSON lines) held against the ledger", body "ProviderList", query ["intent", "from", "until", "reference", "amount", "currency", "time", "key"];
    post "/v1/who" Either 200 who::ask, "Who allowed this: a receipt, hash, reference or request, in one sentence", body "WhoAsked";
    get "/v1/who/{receipt}/file" Either 200 who::file, "The receipts behind one, as lines for `procura verify`";
    get "/log/{tenant}/checkpoint" Anyone 200 log::checkpoint, "The signed head of a tenant's log, with what witnesses signed of it so far (C2SP tlog-checkpoint)";
    get "/log/{tenant}/witnessed" Anyone 200 log::witnessed, "The newest signed head that an outside witness has cosigned (C2SP tlog-cosignature)";
    post "/log/{tenant}/cosignature" Anyone 200 log::cosign, "Hand in a signed head of the log with the cosignatures of witnesses that the service knows", body "CosignedCheckpoint";
    get "/log/{tenant}/tile/{tile:.+}" Anyone 200 log::tile, "256 hashes, or entries, of the log (C2SP tlog-tiles): `{level}/{index}[.p/{width}]` or `entries/{index}[.p/{width}]`";
    get "/log/{tenant}/consistency" Anyone 200 log::consistency, "What shows that the log of `from` leaves is the beginning of the log of `to` leaves (RFC 9162 section 2.1.4)", query ["from", "to"];
    get "/log/{tenant}/proof" Anyone 200 log::proof, "What shows that a leaf is in the log (C2SP tlog-proof)", query ["index"];
    get "/healthz" Anyone 200 health::alive, "The process runs";
    get "/readyz" Anyone 200 health::ready, "The log can be written and read";
    get "/metrics" Anyone 200 health::metrics, "Figures for Prometheus";
    get "/openapi.json" Anyone 200 openapi::serve, "This document";
    get "/.well-known/jwks.json" Anyone 200 health::jwks, "The keys that verify tokens (RFC 7517)";
    get "/problems/{kind}" Anyone 200 openapi::problem, "What a kind of problem means";
}

/// Registers every route, and the benchmark's where it was asked for.
pub(super) fn configure(config: &mut web::ServiceConfig, bench_bare: bool) {
    // Routes are tried in their order: the one that is called most comes before those whose paths are patterns.
    if bench_bare {
        config.route("/v1/bench/bare", web::post().to(gate::bare));
    }
    config.route("/v1/gate/evaluate", web::post().to(gate::evaluate));
    register(config);
}

/// Whatever no route answers: 405 where another method would do, otherwise 404.
pub(crate) async fn nothing_here(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let allowed: Vec<String> = ROUTES
        .iter()
        .filter(|route| actix_web::dev::ResourceDef::new(route.path).is_match(request.path()))
        .map(|route| route.method.to_uppercase())
        .collect();
    if allowed.is_empty() || allowed.iter().any(|method| method == Method::as_str(request.method())) {
        return Err(Problem::not_found("resource"));
    }
    let allowed = allowed.join(", ");
    let detail = format!("{} is not taken here, {allowed} is", request.method());
    Err(Problem::method_not_allowed(detail, allowed))
}
