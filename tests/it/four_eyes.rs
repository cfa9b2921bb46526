//! The yes of several people: who counts, who sees, and what it takes.

use crate::agent::Agent;
use crate::client::{Client, Reply};
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, refunds_up_to, with};
use crate::server::{Server, TENANT};
use serde_json::{Value, json};

both!(
    two_different_people_with_the_role_are_needed,
    the_principal_counts_where_they_hold_the_role,
    a_yes_counts_only_while_its_giver_holds_the_role,
    only_the_principal_and_those_with_the_role_see_it,
    who_holds_the_role_says_no_but_neither_narrows_nor_resolves,
    every_clause_that_escalates_is_satisfied_at_once,
    impossible_numbers_of_people_are_refused_when_written,
);

/// What the tenant tells whoever decides.
pub(crate) const SENTENCE: &str = "Call the member back on a number you knew before.";

/// A club where refunds are the members' own affair, but the policy wants the yes of others to those of orders.
pub(crate) struct Club {
    pub(crate) server: Server,
    pub(crate) member: Client,
    pub(crate) agent: Agent,
    pub(crate) action: Value,
    /// Compliance, twice.
    pub(crate) cleo: Client,
    pub(crate) carl: Client,
}

/// A policy that asks for these approvals of refunds of orders.
pub(crate) fn asking_for(approvals: &Value) -> Value {
    json!({"clauses": [{
        "id": "P-001", "title": "refunds of orders", "intent": "payments.refund", "effect": "escalate",
        "when": {"resource": {"prefix": "order:"}},
        "approvals": approvals, "obligation": SENTENCE,
    }]})
}

/// Two people of compliance.
pub(crate) fn two() -> Value {
    json!({"count": 2, "roles": ["compliance"]})
}

#[track_caller]
pub(crate) fn club(db: Db, approvals: &Value) -> Club {
    of(Server::start(db), approvals)
}

/// A club on a server that runs.
#[track_caller]
pub(crate) fn of(server: Server, approvals: &Value) -> Club {
    server.operator().put_over("/v1/policy", &asking_for(approvals));
    let member = server.member_with("m@example.test", &refunds_up_to("100000.00"));
    let agent = Agent::new(&member, "runner");
    let cleo = server.person(TENANT, "cleo@example.test", &["compliance"]);
    let carl = server.person(TENANT, "carl@example.test", &["member", "compliance"]);
    Club { server, member, agent, action: refund("5000.00"), cleo, carl }
}

impl Club {
    /// The agent asks; the decision's id.
    #[track_caller]
    pub(crate) fn ask(&self) -> String {
        let answer = self.agent.evaluate(&self.action).expect_outcome("escalate");
        answer["decision"]["id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn use_it(&self, decision: &str) -> Reply {
        self.agent.evaluate(&with(&self.action, "decision", decision))
    }

    #[track_caller]
    pub(crate) fn assert_refused_with(&self, decision: &str, clause: &str) {
        let refused = self.use_it(decision);
        refused.expect_outcome("refuse");
        assert!(refused.names(clause), "{}", refused.text);
    }

    /// The decision as its principal is shown it.
    #[track_caller]
    pub(crate) fn shown(&self, decision: &str) -> Value {
        self.member.get(&format!("/v1/decisions/{decision}")).expect(200)
    }

    /// Takes every role away from a person but that of a member; no command does so yet.
    pub(crate) fn demote(&self, email: &str) {
        let statement = format!("UPDATE principals SET roles = 'member' WHERE email = '{email}'");
        self.server.database().connect().execute(&statement);
    }
}

/// How many more people are needed, as an answer says.
#[track_caller]
pub(crate) fn more(shown: &Value) -> u64 {
    shown["approvals"]["more"].as_u64().unwrap_or_else(|| panic!("no `approvals`: {shown}"))
}

fn two_different_people_with_the_role_are_needed(db: Db) {
    let club = club(db, &two());
    let answer = club.agent.evaluate(&club.action).expect_outcome("escalate");
    assert_eq!(answer["approvals"], json!([{"count": 2, "roles": ["compliance"]}]));
    assert_eq!(answer["obligations"], json!([SENTENCE]));
    let decision = answer["decision"]["id"].as_str().unwrap();
    let shown = club.shown(decision);
    assert_eq!(
        shown["approvals"],
        json!({"asked_for": [{"count": 2, "roles": ["compliance"]}], "given": [], "more": 2}),
        "{shown}"
    );
    assert_eq!(shown["obligations"], json!([SENTENCE]), "{shown}");

    club.member.approve(decision).expect_problem(403);
    let first = club.cleo.approve(decision).expect(200);
    assert_eq!((&first["status"], more(&first)), (&json!("open"), 1), "{first}");
    assert_eq!(first["approvals"]["given"][0]["roles"], json!(["compliance"]), "{first}");
    assert!(first["decision_receipt"]["id"].is_string(), "her yes is an act of authority: {first}");
    let waiting = club.use_it(decision).expect_outcome("escalate");
    assert_eq!(waiting["decision"]["status"], "open", "half of it lets nothing happen: {waiting}");
    let again = club.cleo.approve(decision).expect_problem(409);
    assert!(again["detail"].as_str().unwrap().contains("your yes already"), "{again}");
    assert_eq!(more(&club.shown(decision)), 1, "one person is one yes");

    let second = club.carl.approve(decision).expect(200);
    assert_eq!((&second["status"], more(&second)), (&json!("approved"), 0), "{second}");
    assert_eq!(second["approvals"]["given"].as_array().unwrap().len(), 2, "{second}");
    club.use_it(decision).expect_outcome("allow");
    club.assert_refused_with(decision, "approval.used");
}

fn the_principal_counts_where_they_hold_the_role(db: Db) {
    let club = club(db, &two());
    club.carl.put_mandate(&refunds_up_to("100000.00"));
    let agent = Agent::new(&club.carl, "his own");
    let answer = agent.evaluate(&club.action).expect_outcome("escalate");
    let decision = answer["decision"]["id"].as_str().unwrap();
    let first = club.carl.approve(decision).expect(200);
    assert_eq!((&first["status"], more(&first)), (&json!("open"), 1), "one of the two: {first}");
    club.carl.approve(decision).expect_problem(409);
    assert_eq!(club.cleo.approve(decision).expect(200)["status"], "approved");
    agent.evaluate(&with(&club.action, "decision", decision)).expect_outcome("allow");
}

fn a_yes_counts_only_while_its_giver_holds_the_role(db: Db) {
    let club = club(db, &two());
    let decision = club.ask();
    club.cleo.approve(&decision).expect(200);
    club.demote("cleo@example.test");
    club.cleo.get(&format!("/v1/decisions/{decision}")).expect_problem(404);
    assert_eq!(more(&club.shown(&decision)), 2, "hers no longer counts");
    let second = club.carl.approve(&decision).expect(200);
    assert_eq!((&second["status"], more(&second)), (&json!("open"), 1), "{second}");
    let dora = club.server.person(TENANT, "dora@example.test", &["compliance"]);
    assert_eq!(dora.approve(&decision).expect(200)["status"], "approved");

    // And at its use.
    club.demote("dora@example.test");
    club.assert_refused_with(&decision, "approval.incomplete");
}

fn only_the_principal_and_those_with_the_role_see_it(db: Db) {
    let club = club(db, &two());
    let decision = club.ask();
    let path = format!("/v1/decisions/{decision}");
    let hash = json!({"input_hash": club.shown(&decision)["input_hash"]});
    let neighbour = club.server.member("n@example.test");
    neighbour.get(&path).expect_problem(404);
    neighbour.post(&format!("{path}/approve"), &hash).expect_problem(404);
    neighbour.post(&format!("{path}/decline"), &json!({})).expect_problem(404);
    club.server.operator().post(&format!("{path}/approve"), &hash).expect_problem(404);
    assert!(neighbour.all("/v1/decisions").is_empty());
    for (who, caller) in
        [("its principal", &club.member), ("the role's holder", &club.cleo), ("its agent", &club.agent)]
    {
        let listed = caller.all("/v1/decisions?status=open");
        assert_eq!(listed.len(), 1, "{who}");
        assert_eq!(listed[0], caller.get(&path).expect(200), "{who}");
    }
    // What asks for nobody else stays where it was.
    let own = club.agent.evaluate(&json!({"intent": "unheard.of"})).expect_outcome("escalate");
    let own = format!("/v1/decisions/{}", own["decision"]["id"].as_str().unwrap());
    assert!(club.member.get(&own).expect(200)["approvals"].is_null());
    club.cleo.get(&own).expect_problem(404);
    assert_eq!(club.cleo.all("/v1/decisions").len(), 1);
    // Lists are read to their end, the own and the others' in one order.
    club.carl.put_mandate(&refunds_up_to("1.00"));
    let his = Agent::new(&club.carl, "his own");
    for euros in ["2000.00", "2001.00", "2002.00"] {
        his.evaluate(&refund(euros)).expect_outcome("escalate");
    }
    his.evaluate(&json!({"intent": "unheard.of"})).expect_outcome("escalate");
    club.agent.evaluate(&refund("7000.00")).expect_outcome("escalate");
    let first = club.carl.get("/v1/decisions?limit=3").expect(200);
    let rest =
        club.carl.get(&format!("/v1/decisions?limit=3&cursor={}", first["next_cursor"].as_str().unwrap()));
    let ids = |page: &Value| {
        page["items"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    let read = [ids(&first), ids(&rest.expect(200))].concat();
    let mut sorted = read.clone();
    sorted.sort_by_key(|id| std::cmp::Reverse(id.as_str().unwrap().to_owned()));
    sorted.dedup();
    assert_eq!((read.len(), &read), (6, &sorted), "newest first, none twice, none left out");
}

fn who_holds_the_role_says_no_but_neither_narrows_nor_resolves(db: Db) {
    let club = club(db, &two());
    let decision = club.ask();
    let path = format!("/v1/decisions/{decision}");
    let narrow = json!({"narrow": {"id": "X-1", "intent": "payments.refund", "effect": "refuse"}});
    let problem = club.cleo.post(&format!("{path}/decline"), &narrow).expect_problem(422);
    assert_eq!(problem["errors"][0]["pointer"], "/narrow", "{problem}");
    club.cleo.post(&format!("{path}/resolve"), &json!({"status": "done"})).expect_problem(409);
    assert_eq!(club.shown(&decision)["status"], "open");
    club.carl.approve(&decision).expect(200);
    let declined = club.cleo.post(&format!("{path}/decline"), &json!({"reason": "ask first"})).expect(200);
    assert_eq!(declined["status"], "declined");
    club.assert_refused_with(&decision, "approval.declined");
    club.member.approve(&decision).expect_problem(409);
}

fn every_clause_that_escalates_is_satisfied_at_once(db: Db) {
    let club = club(db, &json!({"roles": ["compliance"]}));
    // The mandate asks for its principal, the policy for somebody of compliance.
    club.member.put_mandate(&refunds_up_to("100.00"));
    let decision = club.ask();
    assert_eq!(club.shown(&decision)["approvals"]["asked_for"].as_array().unwrap().len(), 2);
    let own = club.member.approve(&decision).expect(200);
    assert_eq!((&own["status"], more(&own)), (&json!("open"), 1), "{own}");
    assert_eq!(club.cleo.approve(&decision).expect(200)["status"], "approved");
    club.use_it(&decision).expect_outcome("allow");
}

fn impossible_numbers_of_people_are_refused_when_written(db: Db) {
    let server = Server::start(db);
    let (member, operator) = (server.member("m@example.test"), server.operator());
    let agent = member.post("/v1/agents", &json!({"name": "runner", "kind": "acting"})).expect(201);
    let credentials = format!("/v1/agents/{}/credentials", agent["id"].as_str().unwrap());
    let put = |caller: &Client, path: &str, document: &Value| {
        let tag = caller.get(path).header("etag").unwrap().to_owned();
        caller.put(path, &[("if-match", &tag)], document)
    };
    for (approvals, detail) in [
        (json!({"count": 0}), "1 to 10"),
        (json!({"count": 0, "roles": ["compliance"]}), "1 to 10"),
        (json!({"count": 11, "roles": ["compliance"]}), "1 to 10"),
        (json!({"count": 2}), "no `roles`"),
        (json!({"count": 2, "roles": []}), "entr"),
        (json!({"count": 1, "roles": ["treasurer"]}), "not a role"),
    ] {
        let clauses = json!([{"id": "C-1", "intent": "a.b", "effect": "escalate", "approvals": approvals}]);
        let scopes = json!(ACTING_SCOPES);
        for (what, refused) in [
            ("mandate", put(&member, "/v1/mandate", &json!({"scopes": scopes, "clauses": clauses}))),
            ("policy", put(&operator, "/v1/policy", &json!({"clauses": clauses}))),
            (
                "credential",
                member.post(&credentials, &json!({"label": "1", "scopes": scopes, "clauses": clauses})),
            ),
        ] {
            let problem = refused.expect_problem(422);
            assert!(
                problem["errors"].as_array().unwrap().iter().any(|error| {
                    error["pointer"].as_str().unwrap().contains("/clauses/0/approvals")
                        && error["detail"].as_str().unwrap().contains(detail)
                }),
                "{what} with {approvals}: {problem}"
            );
        }
    }
}
