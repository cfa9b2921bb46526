//! A database with something in every table, all of it written by the service in the course of its work.

use crate::agent::Agent;
use crate::client::{Client, in_parallel};
use crate::database::Db;
use crate::documents::{ACTING_SCOPES, refund, with};
use crate::enforcement::{Point, effect};
use crate::four_eyes::{asking_for, two};
use crate::hours::{move_back, recorded};
use crate::server::{Folder, OPERATOR, PASSWORD, Server, TENANT, eventually, said};
use crate::witness::{Mood, Witness};
use serde_json::{Value, json};

/// The other tenant, which has no more than it was set up with.
pub(super) const OTHER: &str = "quay";
/// How long one minute is, in milliseconds.
const MINUTE: i64 = 60_000;

/// A server that has worked a while and has ended.
pub(super) fn filled() -> Server {
    let witness = Witness::new("witness.example", Mood::Honest);
    let outbox = Folder::new();
    let mut server = Server::set_up(Db::Sqlite, &[TENANT, OTHER])
        .option("--witness-every", "1")
        .option("--mail-folder", &outbox.display().to_string());
    witness.know(&log_key(&server));
    server = server.option("--witness", &witness.option());
    server.serve();
    let scene = Scene::new(&server);
    scene.say_what_is_live();
    scene.ask();
    scene.decide();
    scene.report();
    scene.erase();
    scene.revoke();
    scene.read();
    let count = |table: &str| server.database().connect().number(&format!("SELECT COUNT(*) FROM {table}"));
    eventually("a witness signs", || count("cosignatures") > 0);
    eventually("a yes is over", || recorded(&server, "decision.expire") > 0);
    assert!(server.terminate().success());
    for purpose in ["token", "auth"] {
        let rotated = server.run(&["keys", "rotate", "--tenant", TENANT, "--purpose", purpose]);
        assert!(rotated.status.success(), "{}", said(&rotated));
    }
    server
}

/// A server whose log is long enough for full tiles, and for receipts to be written down where they are found.
pub(super) fn long() -> Server {
    let mut server = Server::start(Db::Sqlite);
    let member = server.member_with("m@example.test", &mandate());
    let agent = Agent::new(&member, "runner");
    in_parallel(8, |_| {
        for _ in 0..128 {
            agent.evaluate(&json!({"intent": "account.close"})).expect_outcome("refuse");
        }
    });
    let count = |table: &str| server.database().connect().number(&format!("SELECT COUNT(*) FROM {table}"));
    eventually("a run is written", || count("lookups") > 0);
    assert!(server.terminate().success());
    server
}

/// The key of the first tenant's log.
fn log_key(server: &Server) -> String {
    let output = server.run(&["keys", "list", "--json"]);
    let keys: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let key = keys["keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["purpose"] == "log" && key["tenant"] == TENANT)
        .unwrap();
    key["public"].as_str().unwrap().to_owned()
}

/// What agents may do by themselves, in which bounds.
fn mandate() -> Value {
    let hundred = json!({"value": "100.00", "currency": "EUR"});
    let thousand = json!({"value": "1000.00", "currency": "EUR"});
    json!({
        "scopes": ["action:request", "mandate:read", "decision:read", "call:read", "question:ask"],
        "unlisted": "escalate",
        "clauses": [
            {"id": "M-001", "intent": "payments.refund", "effect": "allow", "when": {"amount": {"at_most": hundred}},
             "limits": [{"total": thousand, "per": "day"}, {"count": 50, "per": "hour"}]},
            {"id": "M-002", "intent": "account.*", "effect": "refuse"},
            {"id": "M-003", "intent": "pay.out", "effect": "allow", "limits": [{"count": 20, "per": "day"}]},
        ],
    })
}

/// Whoever takes part.
struct Scene<'a> {
    server: &'a Server,
    operator: Client,
    member: Client,
    cleo: Client,
    runner: Agent,
    flooding: Agent,
    point: Point,
}

impl<'a> Scene<'a> {
    fn new(server: &'a Server) -> Self {
        let operator = server.operator();
        let member = server.member_with("m@example.test", &mandate());
        let cleo = server.person(TENANT, "cleo@example.test", &["compliance"]);
        let runner = Agent::new(&member, "runner");
        let flooding = Agent::new(&member, "flooding");
        let point = Point::new(&operator, "till");
        Self { server, operator, member, cleo, runner, flooding, point }
    }

    /// Policy, catalogue and rules of retention, each more than once.
    fn say_what_is_live(&self) {
        let entry = |outcome: &str| {
            json!({"title": "pay", "effect": true, "outcome": outcome,
                "arguments": {"type": "object", "properties": {}}})
        };
        for outcome in ["agent", "attested"] {
            self.operator.put("/v1/catalogue/pay.out", &[], &entry(outcome)).expect(200);
        }
        self.operator.put_over("/v1/policy", &asking_for(&two()));
        let mut asking = asking_for(&two());
        asking["clauses"][0]["intent"] = json!("vault.open");
        self.operator.put_over("/v1/policy", &asking);
        for days in ["400 days", "300 days"] {
            let rules = json!({"rules": [{"intent": "stale.*", "after": days}]});
            let live = self.operator.get("/v1/retention");
            let seen = live.header("etag").unwrap().to_owned();
            self.operator.put("/v1/retention", &[("if-match", &seen)], &rules).expect(200);
        }
        for phrase in ["no risk", "never fails"] {
            let rules = json!({"personal_data": {"card": "withhold"}, "never_say": [phrase]});
            let live = self.operator.get("/v1/reply-rules");
            let seen = live.header("etag").unwrap().to_owned();
            self.operator.put("/v1/reply-rules", &[("if-match", &seen)], &rules).expect(200);
        }
        let old = Point::new(&self.operator, "old till");
        self.operator.delete(&format!("/v1/enforcement-points/{}", old.id)).expect(200);
        let password = json!({"old": PASSWORD, "new": "Hq7-lantern-osier-51-brine"});
        let other = self.server.member("n@example.test");
        other.put("/v1/session/password", &[], &password).expect(200);
    }

    /// Calls: under keys and without, derived and narrowed, and one that floods the queue.
    fn ask(&self) {
        let action = with(&refund("20.00"), "counterparty", "acct:cus_91");
        self.runner.evaluate(&action).expect_outcome("allow");
        for _ in 0..2 {
            self.runner.evaluate_once("a-key", &action).expect_outcome("allow");
        }
        self.runner.evaluate_once("other-key", &refund("5.00")).expect_outcome("allow");
        self.runner.evaluate(&json!({"intent": "account.close"})).expect_outcome("refuse");
        let clauses = json!([{"id": "C-001", "intent": "payments.refund", "effect": "allow",
            "limits": [{"count": 5, "per": "day"}]}]);
        let narrow = json!({"label": "narrow", "scopes": ACTING_SCOPES, "clauses": clauses, "country": "NL",
            "purpose": "pay the May invoices"});
        let narrow = Agent::with_credential(&self.member, &self.runner.id, &narrow);
        let child = narrow.derive(&json!({"label": "child", "scopes": ["action:request"]}));
        child.evaluate(&refund("3.00")).expect_outcome("allow");
        for number in 0..21 {
            self.flooding.evaluate(&json!({"intent": "unheard.of", "resource": format!("order:{number}")}));
        }
    }

    /// Asks what a person has to decide; the decision's id.
    #[track_caller]
    fn put_to_a_person(&self, action: &Value) -> String {
        let answer = self.runner.evaluate(action).expect_outcome("escalate");
        answer["decision"]["id"].as_str().unwrap().to_owned()
    }

    /// Decisions of every ending.
    fn decide(&self) {
        let large = |number: u8| with(&refund("5000.00"), "resource", format!("order:{number}"));
        let known = with(&large(1), "counterparty", "acct:cus_91");
        let used = self.put_to_a_person(&known);
        self.member.approve(&used).expect(200);
        self.runner.evaluate(&with(&known, "decision", &*used)).expect_outcome("allow");
        let yes = |number: u8, seconds: u32| {
            let decision = self.put_to_a_person(&large(number));
            let path = format!("/v1/decisions/{decision}");
            let shown = self.member.get(&path).expect(200)["input_hash"].clone();
            let body = json!({"input_hash": shown, "valid_for": seconds});
            self.member.post(&format!("{path}/approve"), &body).expect(200);
        };
        yes(2, 1);
        yes(3, 86_400);
        let declined = self.put_to_a_person(&large(4));
        let no = json!({"reason": "not to them"});
        self.member.post(&format!("/v1/decisions/{declined}/decline"), &no).expect(200);
        for _ in 0..3 {
            self.put_to_a_person(&large(5));
        }
        let vault = json!({"intent": "vault.open", "resource": "order:9"});
        let half = self.put_to_a_person(&vault);
        self.cleo.approve(&half).expect(200);
    }

    /// Effects of every ending, and what they gave back.
    fn report(&self) {
        let pay = json!({"intent": "pay.out", "arguments": {}});
        let claim = |key: &str| effect(&self.runner.evaluate_once(key, &pay));
        claim("pay-claimed");
        let failed = claim("pay-failed");
        let done = claim("pay-done");
        self.point.report(&failed, &json!({"status": "failed", "reference": "re_1"})).expect(200);
        self.point.report(&done, &json!({"status": "done"})).expect(200);
        for key in ["pay-unknown", "pay-resolved"] {
            let path = format!("/v1/effects/{}/outcome", claim(key));
            self.runner.post(&path, &json!({"status": "failed"})).expect(200);
        }
        let open = self.member.all("/v1/decisions?status=open");
        let asked = open.iter().find(|one| one["kind"] == "effect").unwrap();
        let path = format!("/v1/decisions/{}/resolve", asked["id"].as_str().unwrap());
        self.member.post(&path, &json!({"status": "done", "reference": "seen on the statement"})).expect(200);
        // The last of its book: what was given back is moved aside.
        let last = claim("pay-last");
        self.point.report(&last, &json!({"status": "failed"})).expect(200);
    }

    /// One request whose content is gone.
    fn erase(&self) {
        let gift = json!({"intent": "gifts.send", "resource": "order:7"});
        let asked = self.runner.evaluate_once("gift", &gift).expect_outcome("escalate");
        let path = format!("/v1/receipts/{}/erase", asked["receipt"]["id"].as_str().unwrap());
        self.operator.post(&path, &json!({"reason": "the person asked for it"})).expect(200);
    }

    /// Credentials and agents that are no more, with what they had asked.
    fn revoke(&self) {
        let gone = Agent::new(&self.member, "gone");
        gone.evaluate(&refund("600.00")).expect_outcome("escalate");
        self.member.delete(&format!("/v1/credentials/{}", gone.credential)).expect(200);
        let retired = Agent::new(&self.member, "retired");
        self.member.delete(&format!("/v1/agents/{}", retired.id)).expect(200);
    }

    /// Calls without a leaf of their own, whose minute is closed, and a copy that was taken.
    fn read(&self) {
        self.runner.get("/v1/mandate").expect(200);
        self.runner.get("/v1/decisions/dec_01j00000000000000000000000").expect(404);
        let count =
            |what: &str| self.server.database().connect().number(&format!("SELECT COUNT(*) FROM {what}"));
        let ours = format!("credential = '{}'", self.runner.credential);
        eventually("reads are listed", || count(&format!("accesses WHERE {ours}")) >= 2);
        move_back(self.server, "accesses", &["at"], MINUTE, &ours);
        move_back(self.server, "access_minutes", &["minute"], 1, &format!("log_index IS NULL AND {ours}"));
        eventually("their minute is closed", || count("access_minutes WHERE log_index IS NOT NULL") > 0);
        assert_eq!(self.cleo.get("/v1/calls/export?format=jsonl").status, 200);
        assert_eq!(self.server.sign_in(OTHER, OPERATOR).get("/v1/mandate").status, 200);
    }
}
