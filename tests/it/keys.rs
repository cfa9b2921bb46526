//! Keys: a new one takes the place of the old one, and what the old one made stays good.

use crate::agent::Agent;
use crate::credential::renew;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::log::{check_verifies, export};
use crate::server::{Server, TENANT, said};
use serde_json::Value;

both!(a_new_key_takes_the_place_of_the_old_one_and_what_that_made_stays_good,);

/// The keys of a purpose, oldest first.
fn keys(server: &Server, purpose: &str) -> Vec<Value> {
    let output = server.run(&["keys", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    listed["keys"].as_array().unwrap().iter().filter(|key| key["purpose"] == purpose).cloned().collect()
}

fn a_new_key_takes_the_place_of_the_old_one_and_what_that_made_stays_good(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let before = agent.evaluate(&refund("1.00")).expect_outcome("allow")["receipt"].clone();
    let rotate = |server: &Server, purpose: &str| {
        server.run(&["keys", "rotate", "--tenant", TENANT, "--purpose", purpose])
    };
    let running = rotate(&server, "auth");
    assert_eq!(running.status.code(), Some(1), "{}", said(&running));
    assert!(said(&running).contains("in use"), "{}", said(&running));
    assert!(server.terminate().success());
    for purpose in ["token", "auth"] {
        let output = rotate(&server, purpose);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let of_purpose = keys(&server, purpose);
        assert_eq!(of_purpose.len(), 2, "{of_purpose:?}");
        assert!(
            of_purpose[0]["retired_at"].is_string() && of_purpose[1]["retired_at"].is_null(),
            "{of_purpose:?}"
        );
    }
    for (purpose, named) in [("log", "holds the log's key"), ("lookup", "approvals"), ("x", "`x`")] {
        let output = rotate(&server, purpose);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("--purpose") && said(&output).contains(named), "{}", said(&output));
    }
    server.serve();
    // The token that was out is still good; a new one is of the new key, and receipts are too.
    let after = agent.evaluate(&refund("2.00")).expect_outcome("allow")["receipt"].clone();
    assert_eq!(before["auth_key"], keys(&server, "auth")[0]["id"]);
    assert_eq!(after["auth_key"], keys(&server, "auth")[1]["id"]);
    let renewed = renew(&server.client(), &agent.credential, &agent.secret).expect(200);
    let token = renewed["access_token"].as_str().unwrap();
    let head = base64::Engine::decode(
        &base64::engine::general_purpose::URL_SAFE_NO_PAD,
        token.split('.').next().unwrap(),
    );
    let head: Value = serde_json::from_slice(&head.unwrap()).unwrap();
    assert_eq!(head["kid"], keys(&server, "token")[1]["id"]);
    server.client().with_token(token).evaluate(&refund("3.00")).expect_outcome("allow");
    let kinds = format!(
        "SELECT input AS text FROM receipts WHERE tenant = '{TENANT}' AND kind = 'key.rotate' ORDER BY log_index"
    );
    let inputs: Vec<Value> = server
        .database()
        .connect()
        .texts(&kinds)
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect();
    assert_eq!(inputs.len(), 2, "{inputs:?}");
    assert_eq!((&inputs[1]["purpose"], &inputs[1]["retired"]), (&"auth".into(), &before["auth_key"]));
    check_verifies(&export(&member, &agent.credential));
    crate::doctor::check_well(&server, &[]);
}
