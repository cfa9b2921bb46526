//! A server of its own for the drill: a child of this process on a fresh directory, with one agent that asks it.

use super::super::client::{Answer, Call, Client};
use super::super::output::Failure;
use super::super::place::Place;
use super::super::setup::{self, Plan};
use crate::committer::entropy;
use crate::domain::TenantSlug;
use crate::evidence::receipt::Kind;
use crate::storage::receipt::{Filter, page};
use crate::storage::{Readers, StoreError};
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use zeroize::Zeroizing;

/// How long the server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);
/// What its operator signs in with.
const OPERATOR: &str = "drill@localhost.example";
/// Starts a program so that a file that may not grow is an error to it, not its end.
const STARTER: &str = "trap '' XFSZ; exec \"$0\" \"$@\"";

/// The server, its directory and its agent; both are gone when this is.
pub(super) struct Scratch {
    child: Child,
    home: Home,
    client: Client,
    token: Zeroizing<String>,
    tenant: TenantSlug,
    readers: Readers,
}

/// A directory that is removed with this.
struct Home(PathBuf);

impl Drop for Home {
    fn drop(&mut self) {
        // Nothing in it is worth a word.
        drop(fs::remove_dir_all(&self.0));
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Scratch {
    /// Sets up a tenant, serves it, and makes an agent that may do one thing.
    pub(super) fn start() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("procura-drill-{}", hex::encode(entropy::bytes::<8>())));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| Failure::failed(format!("`{}` cannot be made: {error}", path.display())))?;
        let home = Home(path);
        let place = Place::new(home.0.clone(), None);
        let tenant: TenantSlug = "drill".parse().map_err(|why: String| Failure::failed(why))?;
        let password = Zeroizing::new(hex::encode(entropy::bytes::<16>()));
        let plan = Plan {
            tenant: tenant.clone(),
            operator: OPERATOR.to_owned(),
            password: password.clone(),
            zone: chrono_tz::UTC,
            public_url: None,
        };
        setup::make(&place, &plan)?;
        let (child, base) = serve(&home)?;
        let store = |error: StoreError| Failure::failed(error.to_string());
        let readers = place.database.open_readers().map_err(store)?;
        let client = Client::new(&base);
        let mut scratch = Self { child, home, client, token: Zeroizing::default(), tenant, readers };
        scratch.token = scratch.agent(&password)?;
        Ok(scratch)
    }

    /// Makes the agent, and gives its token.
    fn agent(&self, password: &str) -> Result<Zeroizing<String>, Failure> {
        let body = json!({"tenant": self.tenant, "email": OPERATOR, "password": password});
        let person = text(&self.made(&Call::post("/v1/session", &body))?, "token")?;
        let mandate = json!({
            "scopes": ["action:request"],
            "clauses": [{"id": "D-1", "intent": "drill.ping", "effect": "allow"}],
        });
        self.made(&Call::put("/v1/mandate", &mandate).by(&person).if_match("\"1\""))?;
        let body = json!({"name": "drill", "kind": "acting"});
        let agent = text(&self.made(&Call::post("/v1/agents", &body).by(&person))?, "id")?;
        let body = json!({"label": "drill", "scopes": ["action:request"]});
        let path = format!("/v1/agents/{agent}/credentials");
        text(&self.made(&Call::post(&path, &body).by(&person))?, "token").map(Zeroizing::new)
    }

    fn made(&self, call: &Call<'_>) -> Result<Value, Failure> {
        let answer = self.client.call(call)?;
        if matches!(answer.status, 200 | 201) {
            return Ok(answer.body);
        }
        Err(Failure::failed(format!("the scratch server answered {}: {}", answer.status, answer.text)))
    }

    /// Puts the one action to the gate.
    pub(super) fn ask(&self) -> Result<Answer, Failure> {
        let body = json!({"intent": "drill.ping", "untrusted": false});
        self.client.call(&Call::post("/v1/gate/evaluate", &body).by(&self.token))
    }

    /// How many calls the log says went without a record.
    pub(super) fn recorded_gap(&self) -> Result<u64, StoreError> {
        let filter = Filter { kind: Some(Kind::LogGap), ..Filter::default() };
        let receipts = page(&mut *self.readers.get()?, &self.tenant, &filter, None, 100)?;
        let calls = |output: &str| serde_json::from_str::<Value>(output).ok()?.get("calls")?.as_u64();
        Ok(receipts.iter().filter_map(|stored| calls(&stored.output)).sum())
    }

    /// The process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Where the database is.
    pub(super) fn place(&self) -> Place {
        Place::new(self.home.0.clone(), None)
    }
}

/// Starts the server and waits for its address.
fn serve(home: &Home) -> Result<(Child, String), Failure> {
    let failed = |what: &str, error: std::io::Error| Failure::failed(format!("{what}: {error}"));
    let program = std::env::current_exe().map_err(|error| failed("this program cannot be found", error))?;
    let log = File::create(home.0.join("server.log")).map_err(|error| failed("its log", error))?;
    let mut child = Command::new("/bin/sh")
        .arg("-c")
        .arg(STARTER)
        .arg(program)
        .args(["serve", "--listen", "127.0.0.1:0", "--json", "--data-dir"])
        .arg(&home.0)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| failed("the scratch server cannot be started", error))?;
    let output = child.stdout.take();
    let (sender, first_line) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = output.map(|output| BufReader::new(output).read_line(&mut line));
        // Whoever waited has given up where nobody takes it.
        drop(sender.send(read.and_then(Result::ok).map(|_| line)));
    });
    let line = first_line.recv_timeout(PATIENCE).ok().flatten().unwrap_or_default();
    let said: Value = serde_json::from_str(&line).unwrap_or_default();
    if let Some(base) = said.get("listening_on").and_then(Value::as_str) {
        return Ok((child, base.to_owned()));
    }
    drop(child.kill());
    drop(child.wait());
    let log = fs::read_to_string(home.0.join("server.log")).unwrap_or_default();
    let last = log.lines().last().unwrap_or("it said nothing");
    Err(Failure::failed(format!("the scratch server did not start: {last}")))
}

fn text(answer: &Value, member: &str) -> Result<String, Failure> {
    let found = answer.get(member).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| Failure::failed(format!("the scratch server gave no `{member}`: {answer}")))
}
