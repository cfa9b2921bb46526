//! Commits that come late or not at all: nobody is told what the log does not hold, and what came late is taken back.

use crate::agent::Agent;
use crate::database::{Db, Store, both};
use crate::documents::{ACTING_SCOPES, refund, small_refunds, with};
use crate::log::{check_verifies, check_whole, export};
use crate::outage::{check_refused, recorded_gap};
use crate::server::{Folder, Server, TENANT, eventually};
use serde_json::json;
use std::time::Instant;

both!(
    an_answer_that_came_too_late_is_withdrawn,
    an_answer_whose_commit_fails_is_not_given,
    a_decision_whose_mail_cannot_be_written_is_not_opened,
);

/// Statements that lay a trap in the database, and those that take it away.
struct Trap {
    lay: String,
    clear: &'static str,
}

/// Counts up to a number, which takes SQLite a while.
fn counting(count: i64) -> String {
    format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {count}) SELECT MAX(i) AS i FROM n"
    )
}

/// How far SQLite counts in five seconds on this machine, as busy as it is.
fn five_seconds(store: &Store) -> i64 {
    const SAMPLE: i64 = 1_000_000;
    let began = Instant::now();
    assert_eq!(store.connect().number(&counting(SAMPLE)), SAMPLE);
    SAMPLE * 5000 / i64::try_from(began.elapsed().as_millis()).unwrap().max(1)
}

/// Writing down the key `slow` takes longer than the gate's window, and succeeds.
fn slow_key(store: &Store) -> Trap {
    match store {
        Store::Sqlite(_) => Trap {
            lay: format!(
                "CREATE VIEW slow AS {};
                 CREATE TRIGGER slow_key AFTER INSERT ON idempotency_keys WHEN NEW.key = 'slow'
                     BEGIN SELECT i FROM slow; END;",
                counting(five_seconds(store))
            ),
            clear: "DROP TRIGGER slow_key; DROP VIEW slow;",
        },
        Store::Postgres { .. } => Trap {
            lay: "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
                      $$ BEGIN PERFORM pg_sleep(2.6); RETURN NEW; END $$;
                  CREATE TRIGGER slow_key AFTER INSERT ON idempotency_keys FOR EACH ROW WHEN (NEW.key = 'slow')
                      EXECUTE FUNCTION slow();".into(),
            clear: "DROP TRIGGER slow_key ON idempotency_keys; DROP FUNCTION slow;",
        },
    }
}

/// Whatever holds an answer of the gate fails when it is committed, and not before.
fn failing_commit(store: &Store) -> Trap {
    match store {
        Store::Sqlite(_) => Trap {
            lay: "CREATE TABLE absent (id INTEGER PRIMARY KEY);
                  CREATE TABLE trap (id INTEGER REFERENCES absent (id) DEFERRABLE INITIALLY DEFERRED);
                  CREATE TRIGGER trap_answers AFTER INSERT ON receipts WHEN NEW.kind = 'gate.evaluate'
                      BEGIN INSERT INTO trap VALUES (1); END;".into(),
            clear: "DROP TRIGGER trap_answers; DROP TABLE trap; DROP TABLE absent;",
        },
        Store::Postgres { .. } => Trap {
            lay: "CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS
                      $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
                  CREATE CONSTRAINT TRIGGER trap_answers AFTER INSERT ON receipts DEFERRABLE INITIALLY DEFERRED
                      FOR EACH ROW WHEN (NEW.kind = 'gate.evaluate') EXECUTE FUNCTION trap();".into(),
            clear: "DROP TRIGGER trap_answers ON receipts; DROP FUNCTION trap;",
        },
    }
}

/// No mail can be written down.
fn failing_outbox(store: &Store) -> Trap {
    match store {
        Store::Sqlite(_) => Trap {
            lay: "CREATE TRIGGER no_mail BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'no room'); END;"
                .into(),
            clear: "DROP TRIGGER no_mail;",
        },
        Store::Postgres { .. } => Trap {
            lay: "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
                      $$ BEGIN RAISE EXCEPTION 'no room'; END $$;
                  CREATE TRIGGER no_mail BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION no_room();"
                .into(),
            clear: "DROP TRIGGER no_mail ON outbox; DROP FUNCTION no_room;",
        },
    }
}

/// What happens while a trap lies.
fn trapped<T>(store: &Store, trap: &Trap, during: impl FnOnce() -> T) -> T {
    store.connect().execute(&trap.lay);
    let result = during();
    store.connect().execute(trap.clear);
    result
}

fn recorded(server: &Server, kind: &str) -> i64 {
    let sql = format!("SELECT COUNT(*) FROM receipts WHERE tenant = '{TENANT}' AND kind = '{kind}'");
    server.database().connect().number(&sql)
}

fn an_answer_that_came_too_late_is_withdrawn(db: Db) {
    let server = Server::start(db);
    let entry = json!({"title": "pay", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/pay.out", &[], &entry).expect(200);
    let member = server.member_with("m@example.test", &json!({"scopes": ACTING_SCOPES, "clauses": []}));
    let agent = Agent::new(&member, "runner");
    let action = json!({"intent": "pay.out", "arguments": {}});
    let asked = agent.evaluate(&action).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    let action = with(&action, "decision", decision);
    trapped(server.database(), &slow_key(server.database()), || {
        check_refused(&agent.evaluate_once("slow", &action));
        eventually("the late answer is withdrawn", || recorded(&server, "gate.withdrawn") == 1);
    });
    let mut connection = server.database().connect();
    assert_eq!(connection.texts("SELECT status AS text FROM effects"), ["failed"], "nothing may happen");
    assert_eq!(connection.number("SELECT COUNT(*) FROM idempotency_keys"), 0, "the key is free");
    let path = format!("/v1/decisions/{decision}");
    assert_eq!(member.get(&path).expect(200)["status"], "approved", "the yes was not used");
    eventually("the refused call is counted", || recorded_gap(server.database()) == 1);
    let again = agent.evaluate_once("slow", &action);
    again.expect_outcome("allow");
    assert_eq!(again.header("idempotency-replayed"), None);
    assert_eq!(member.get(&path).expect(200)["status"], "used");
    assert_eq!((recorded(&server, "gate.withdrawn"), recorded_gap(server.database())), (1, 1));
    check_verifies(&export(&member, &agent.credential));
    check_whole(server.database());
}

fn an_answer_whose_commit_fails_is_not_given(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    trapped(server.database(), &failing_commit(server.database()), || {
        check_refused(&agent.evaluate_once("k-1", &refund("1.00")));
    });
    eventually("the gate answers again", || server.client().get("/readyz").status == 200);
    assert_eq!(recorded(&server, "gate.evaluate"), 0);
    let again = agent.evaluate_once("k-1", &refund("1.00"));
    again.expect_outcome("allow");
    assert_eq!(again.header("idempotency-replayed"), None);
    eventually("the refused call is counted", || recorded_gap(server.database()) == 1);
    check_whole(server.database());
}

fn a_decision_whose_mail_cannot_be_written_is_not_opened(db: Db) {
    let outbox = Folder::new();
    let mut server = Server::set_up(db, &[TENANT]).option("--mail-folder", &outbox.display().to_string());
    server.serve();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    trapped(server.database(), &failing_outbox(server.database()), || {
        check_refused(&agent.evaluate(&refund("5000.00")));
    });
    eventually("the gate answers again", || server.client().get("/readyz").status == 200);
    assert!(member.all("/v1/decisions?status=open").is_empty(), "what nobody is told of waits for nobody");
    assert_eq!(recorded(&server, "gate.evaluate"), 0);
    agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    assert_eq!(server.database().connect().number("SELECT COUNT(*) FROM outbox"), 1);
}
