//! Witnesses sign the log's checkpoints, what they sign is served, and what they did not sign is not.

use crate::agent::Agent;
use crate::client::Reply;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::server::{Server, TENANT, eventually};
use crate::witness::{Mood, Witness};
use serde_json::Value;
use signed_note::{Note, StandardVerifier, VerifierList};

both!(
    a_checkpoint_is_cosigned_by_its_witnesses_and_served_with_their_word,
    a_witness_is_shown_the_way_from_where_it_has_seen_the_log,
    what_a_witness_did_not_sign_is_not_served,
    a_log_that_lost_its_end_is_told_of_where_its_witness_has_seen_more,
    what_a_witness_signed_may_be_handed_in_by_anyone,
    what_was_signed_of_another_course_of_the_log_is_not_served_with_this_one,
    an_older_cosignature_handed_in_again_leaves_the_newer_one,
    handing_in_is_limited_by_rate,
);

#[test]
fn a_witness_is_spoken_to_over_tls_or_not_at_all() {
    let witness = Witness::new("witness.example", Mood::Honest);
    let mut server = Server::set_up(Db::Sqlite, &[TENANT]).option("--witness-every", "1");
    witness.know(&log_key(&server));
    // It listens there, but speaks no TLS.
    server = server.option("--witness", &witness.option().replace(" http://", " https://"));
    server.serve();
    eventually("it is said", || server.log_tail().contains("it cannot be reached"));
    assert!(witness.asked().is_empty());
}

/// The key of the first tenant's log.
fn log_key(server: &Server) -> String {
    let output = server.run(&["keys", "list", "--json"]);
    let keys: Value = serde_json::from_slice(&output.stdout).unwrap();
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["purpose"] == "log").unwrap();
    key["public"].as_str().unwrap().to_owned()
}

/// A server that asks these witnesses every second, and has answered an agent of a member.
fn server(db: Db, witnesses: &[&Witness]) -> (Server, String, Agent) {
    let mut server = Server::set_up(db, &[TENANT]).option("--witness-every", "1");
    let key = log_key(&server);
    for witness in witnesses {
        witness.know(&key);
        server = server.option("--witness", &witness.option());
    }
    server.serve();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    (server, key, agent)
}

fn get(server: &Server, what: &str) -> Reply {
    server.client().get(&format!("/log/{TENANT}/{what}"))
}

/// How many of these signed the note, besides the log: as an outside reader finds it.
#[track_caller]
fn signers(note: &str, key: &str, witnesses: &[&Witness]) -> usize {
    let mut verifiers: Vec<Box<dyn signed_note::Verifier>> =
        vec![Box::new(StandardVerifier::new(key).unwrap())];
    for witness in witnesses {
        verifiers.push(Box::new(witness.verifier()));
    }
    let note = Note::from_bytes(note.as_bytes()).unwrap_or_else(|error| panic!("{error:?}: {note}"));
    let (verified, unknown) = note.verify(&VerifierList::new(verifiers)).unwrap();
    assert!(unknown.is_empty(), "{unknown:?}");
    verified.len() - 1
}

fn a_checkpoint_is_cosigned_by_its_witnesses_and_served_with_their_word(db: Db) {
    let (first, second) =
        (Witness::new("first.example", Mood::Honest), Witness::new("second.example/w", Mood::Honest));
    let (server, key, agent) = server(db, &[&first, &second]);
    let both = [&first, &second];
    eventually("both witnesses sign the newest checkpoint", || {
        signers(&get(&server, "checkpoint").text, &key, &both) == 2
    });
    let witnessed = get(&server, "witnessed");
    assert_eq!(witnessed.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(signers(&witnessed.text, &key, &both), 2);
    let before = crate::log::size(&server);
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    let newest = get(&server, "checkpoint").text;
    assert!(signers(&newest, &key, &both) <= 2, "what is newest is served with what there is");
    eventually("the grown log is cosigned too", || {
        let witnessed = get(&server, "witnessed").text;
        let size: u64 = witnessed.lines().nth(1).unwrap().parse().unwrap();
        size > before && signers(&witnessed, &key, &both) == 2
    });
    let shown: Vec<_> = first.asked().into_iter().filter(|asked| asked.old > 0).collect();
    assert!(!shown.is_empty() && shown.iter().all(|asked| asked.status == 200), "{shown:?}");
}

fn a_witness_is_shown_the_way_from_where_it_has_seen_the_log(db: Db) {
    let witness = Witness::new("witness.example", Mood::Honest);
    let (mut server, key, agent) = server(db, &[&witness]);
    eventually("it signs", || get(&server, "witnessed").status == 200);
    assert!(server.terminate().success());
    // Whoever restores an older copy has forgotten what was signed since.
    let mut connection = server.database().connect();
    connection.execute("DELETE FROM cosignatures");
    connection.execute("DELETE FROM witnessed_checkpoints");
    connection.execute("DELETE FROM rounds");
    let before = witness.asked().len();
    server.serve();
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    eventually("it signs again", || get(&server, "witnessed").status == 200);
    let since = &witness.asked()[before..];
    assert_eq!((since[0].old, since[0].status), (0, 409), "{since:?}");
    assert!(since[1].old > 0 && since[1].status == 200, "it is shown the way from there at once: {since:?}");
    assert_eq!(signers(&get(&server, "witnessed").text, &key, &[&witness]), 1);
}

fn what_a_witness_did_not_sign_is_not_served(db: Db) {
    let careless = Witness::new("careless.example", Mood::Careless);
    let silent = Witness::new("silent.example", Mood::Silent);
    let honest = Witness::new("honest.example", Mood::Honest);
    let (server, key, agent) = server(db, &[&careless, &silent, &honest]);
    eventually("the careless one has answered", || careless.asked().iter().any(|asked| asked.status == 200));
    eventually("it is said", || server.log_tail().contains("does not fit"));
    // One that never answers holds up neither the gate nor the others.
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    eventually("the honest one's word is served", || {
        let witnessed = get(&server, "witnessed");
        witnessed.status == 200 && signers(&witnessed.text, &key, &[&honest]) == 1
    });
}

fn a_log_that_lost_its_end_is_told_of_where_its_witness_has_seen_more(db: Db) {
    let witness = Witness::new("witness.example", Mood::Honest);
    let (server, key, agent) = server(db, &[&witness]);
    eventually("it signs", || get(&server, "witnessed").status == 200);
    witness.has_seen(&key, 5000);
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    eventually("the operator is told", || {
        let said = std::fs::read_to_string(server.log_file()).unwrap();
        said.contains("has seen more of this log than there is") && said.contains("5000")
    });
    let metrics = server.client().get("/metrics").text;
    assert!(metrics.contains("procura_witness_alarms_total"), "{metrics}");
}

fn what_a_witness_signed_may_be_handed_in_by_anyone(db: Db) {
    // It is known by its key, and listens where nobody asks it.
    let witness = Witness::new("witness.example", Mood::Honest);
    let stranger = Witness::new("stranger.example", Mood::Honest);
    let known = format!("{} http://127.0.0.1:9", witness.key());
    let mut server = Server::set_up(db, &[TENANT, "quay"]).option("--witness", &known);
    server.serve();
    let key = log_key(&server);
    let note = get(&server, "checkpoint").text;
    let text = format!("{}\n", note.split("\n\n").next().unwrap());
    let hand_in = |tenant: &str, body: &str| {
        let kind = [("content-type", "text/plain; charset=utf-8")];
        server.client().send("POST", &format!("/log/{tenant}/cosignature"), &kind, Some(body.as_bytes()))
    };
    let line = witness.cosign(&text);
    let other_root = note.replacen("\n1\n", "\n2\n", 1);
    for (wrong, why) in [
        (note.clone(), "no signature on it is from a witness"),
        (format!("{note}{}", stranger.cosign(&text)), "no signature on it is from a witness"),
        (format!("{note}{}", witness.cosign(&format!("{text}more\n"))), "does not fit"),
        (format!("{other_root}{}", witness.cosign(&other_root)), "does not fit"),
        (format!("{text}\n{line}"), "no signature is from the key of"),
        (line.clone(), "empty line"),
        (String::new(), "empty line"),
    ] {
        let detail = hand_in(TENANT, &wrong).expect_problem(422)["detail"].to_string();
        assert!(detail.contains(why), "{detail} for {wrong}");
    }
    assert_eq!(hand_in("quay", &format!("{note}{line}")).status, 422, "another log's");
    assert_eq!(hand_in("nobody", &format!("{note}{line}")).status, 404);
    let json = server.client().post(&format!("/log/{TENANT}/cosignature"), &Value::Null);
    assert_eq!(json.status, 415);
    assert_eq!(get(&server, "witnessed").status, 404, "none of it was taken");

    // Lines in the log's name that it never made are left behind.
    let forged = format!("\u{2014} {} AAAAAAAA\n", key.split('+').next().unwrap());
    let signatures = note.strip_prefix(&format!("{text}\n")).unwrap();
    let taken = hand_in(TENANT, &format!("{text}\n{forged}{signatures}{line}"));
    assert_eq!(taken.status, 200, "{}", taken.text);
    for served in [taken.text, get(&server, "witnessed").text, get(&server, "checkpoint").text] {
        assert_eq!(served, format!("{note}{line}"));
        assert_eq!(signers(&served, &key, &[&witness]), 1);
    }
}

fn what_was_signed_of_another_course_of_the_log_is_not_served_with_this_one(db: Db) {
    let witness = Witness::new("witness.example", Mood::Honest);
    let known = format!("{} http://127.0.0.1:9", witness.key());
    let mut server = Server::set_up(db, &[TENANT]).option("--witness", &known);
    server.serve();
    // As after a copy of earlier data was put back, and the log went on from there to the same size.
    let (note, size) = (get(&server, "checkpoint").text, crate::log::size(&server));
    let text = format!("{}\n", note.split("\n\n").next().unwrap());
    let other = witness.cosign(&format!("{text}other\n"));
    let mut connection = server.database().connect();
    connection.execute(&format!(
        "INSERT INTO witnessed_checkpoints (tenant, size, checkpoint) VALUES ('{TENANT}', {size}, 'another'); \
         INSERT INTO cosignatures (tenant, size, witness, at, line) VALUES ('{TENANT}', {size}, 'w', 0, '{}')",
        other.trim_end()
    ));
    assert_eq!(get(&server, "checkpoint").text, note);
    let body = format!("{note}{}", witness.cosign(&text));
    let path = format!("/log/{TENANT}/cosignature");
    let taken = server.client().send("POST", &path, &[("content-type", "text/plain")], Some(body.as_bytes()));
    assert_eq!(taken.text, body, "what is signed of this one takes its place");
    assert_eq!(get(&server, "checkpoint").text, body);
}

/// A server that knows a witness which nobody asks, and how a checkpoint is handed in.
fn unasked(db: Db, witness: &Witness) -> (Server, impl Fn(&Server, &str) -> Reply) {
    let known = format!("{} http://127.0.0.1:9", witness.key());
    let mut server = Server::set_up(db, &[TENANT, "quay"]).option("--witness", &known);
    server.serve();
    let hand_in = |server: &Server, body: &str| {
        let path = format!("/log/{TENANT}/cosignature");
        server.client().send("POST", &path, &[("content-type", "text/plain")], Some(body.as_bytes()))
    };
    (server, hand_in)
}

fn an_older_cosignature_handed_in_again_leaves_the_newer_one(db: Db) {
    let witness = Witness::new("witness.example", Mood::Honest);
    let (server, hand_in) = unasked(db, &witness);
    let note = get(&server, "checkpoint").text;
    let text = format!("{}\n", note.split("\n\n").next().unwrap());
    let signed = |at: u64| format!("{note}{}", witness.cosign_at(at, &text));
    let (older, newer, newest) = (signed(1_800_000_000), signed(1_800_000_060), signed(1_800_000_061));
    for (handed_in, kept) in
        [(&newer, &newer), (&older, &newer), (&newer, &newer), (&newest, &newest), (&older, &newest)]
    {
        let taken = hand_in(&server, handed_in);
        assert_eq!((taken.status, &taken.text), (200, kept));
        assert_eq!(&get(&server, "witnessed").text, kept);
    }
}

fn handing_in_is_limited_by_rate(db: Db) {
    let witness = Witness::new("witness.example", Mood::Honest);
    let (server, hand_in) = unasked(db, &witness);
    let note = get(&server, "checkpoint").text;
    let text = format!("{}\n", note.split("\n\n").next().unwrap());
    let cosigned = format!("{note}{}", witness.cosign(&text));
    // What nobody signed takes nothing of it.
    for _ in 0..130 {
        assert_eq!(hand_in(&server, "x").status, 422);
    }
    assert_eq!(hand_in(&server, &cosigned).status, 200);
    let refused = (0..1000).map(|_| hand_in(&server, &cosigned)).find(|reply| reply.status != 200);
    let refused = refused.expect("some are too many");
    let problem = refused.expect_problem(429);
    assert!(problem["type"].as_str().unwrap().ends_with("/too-many"), "{problem}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let elsewhere = server.client().send(
        "POST",
        "/log/quay/cosignature",
        &[("content-type", "text/plain")],
        Some(cosigned.as_bytes()),
    );
    assert_eq!(elsewhere.status, 422, "another tenant's log still looks at what is handed in");
    assert_eq!(get(&server, "checkpoint").text, cosigned, "and what was taken is served");
}
