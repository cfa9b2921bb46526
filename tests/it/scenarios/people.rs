//! The people of a company, and what only they may put live.

use crate::client::Client;
use crate::server::{OPERATOR, PASSWORD, Server};
use serde_json::{Value, json};

/// Puts a catalogue entry live.
pub(crate) fn put_entry(operator: &Client, intent: &str, entry: &Value) {
    operator.put(&format!("/v1/catalogue/{intent}"), &[], entry).expect(200);
}

/// Makes a person and signs them in; their id too.
pub(crate) fn person(operator: &Client, tenant: &str, email: &str, roles: &[String]) -> (Client, String) {
    let name = email.split('@').next().unwrap();
    let body = json!({"email": email, "name": name, "roles": roles, "password": PASSWORD});
    operator.post("/v1/principals", &body).expect(201);
    sign_in(&Client::new(operator.base()), tenant, email)
}

/// Signs the operator of a company in.
pub(crate) fn operator(server: &Server, tenant: &str) -> Client {
    sign_in(&server.client(), tenant, OPERATOR).0
}

fn sign_in(client: &Client, tenant: &str, email: &str) -> (Client, String) {
    let body = json!({"tenant": tenant, "email": email, "password": PASSWORD});
    let session = client.post("/v1/session", &body).expect(200);
    let id = session["principal"]["id"].as_str().unwrap().to_owned();
    (client.with_token(session["token"].as_str().unwrap()), id)
}

/// Makes an enforcement point; calls go out with its token.
pub(crate) fn point(operator: &Client, name: &str) -> Client {
    let made = operator.post("/v1/enforcement-points", &json!({"name": name})).expect(201);
    operator.with_token(made["token"].as_str().unwrap())
}
