//! The server under load: started, given a tenant, a member with a mandate of twenty clauses, and tokens.

use crate::Failure;
use serde_json::{Value, json};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Everybody's password.
pub(crate) const PASSWORD: &str = "Zk4-harbour-quill-93-ember";
/// The first operator.
pub(crate) const OPERATOR: &str = "op@example.test";
/// How often a server that starts or ends is looked at, and how many times.
const PAUSE: Duration = Duration::from_millis(5);
const LOOKS: usize = 6000;
/// Linux counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// A server that runs, killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    tenant: String,
    folder: PathBuf,
    is_ours: bool,
    database: Option<String>,
}

/// Which server is started, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    /// The program.
    pub(crate) binary: &'a Path,
    /// Where the data lies; a folder of the build if left out.
    pub(crate) folder: Option<&'a Path>,
    /// Which database; the embedded one if left out.
    pub(crate) database: Option<&'a str>,
    /// Whether every call verifies its token's signature.
    pub(crate) verify: bool,
}

impl Start<'_> {
    fn place(&self, folder: &Path, command: &mut Command) {
        command.arg("--data-dir").arg(folder).stdin(Stdio::null());
        if let Some(database) = self.database {
            command.args(["--database", database]);
        }
    }

    /// Sets a tenant up from a data directory.
    pub(crate) fn set_up(&self, folder: &Path, tenant: &str) -> Result<(), Failure> {
        let password = folder.join("password");
        fs::write(&password, PASSWORD)?;
        let mut setup = Command::new(self.binary);
        setup.args(["setup", "--tenant", tenant, "--operator", OPERATOR, "--password-file"]).arg(&password);
        self.place(folder, &mut setup);
        let output = setup.output()?;
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("setup failed: {}", String::from_utf8_lossy(&output.stderr)).into())
        }
    }

    /// Serves from a data directory.
    fn serve(&self, folder: &Path) -> Result<(Child, SocketAddr), Failure> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let log = fs::File::create(folder.join("server.log"))?;
        let mut serve = Command::new(self.binary);
        serve.args(["serve", "--bench-bare", "--listen", &address.to_string()]);
        if self.verify {
            serve.arg("--bench-verify");
        }
        self.place(folder, &mut serve);
        Ok((serve.stdout(log.try_clone()?).stderr(log).spawn()?, address))
    }
}

impl Server {
    /// Sets a tenant up and starts the server.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self, Failure> {
        let tenant = format!("bench-{}", std::process::id());
        let folder = match start.folder {
            Some(folder) => folder.to_owned(),
            None => Path::new(env!("CARGO_TARGET_TMPDIR")).join(&tenant),
        };
        fs::create_dir_all(&folder)?;
        start.set_up(&folder, &tenant)?;
        let mut server = Self::on(start, folder, tenant)?;
        server.is_ours = start.folder.is_none();
        Ok(server)
    }

    /// Starts the server on a directory that is set up, and leaves it there when it stops.
    pub(crate) fn on(start: &Start<'_>, folder: PathBuf, tenant: String) -> Result<Self, Failure> {
        let (child, address) = start.serve(&folder)?;
        let database = start.database.map(str::to_owned);
        let mut server = Self { child, address, tenant, folder, is_ours: false, database };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// A second node on the same database, with a tenant of its own beside the first one's.
    pub(crate) fn second(&self, start: &Start<'_>) -> Result<Self, Failure> {
        let mut folder = self.folder.clone().into_os_string();
        folder.push("-second");
        let folder = PathBuf::from(folder);
        fs::create_dir_all(&folder)?;
        fs::copy(self.folder.join("master.key"), folder.join("master.key"))?;
        let tenant = format!("{}-second", self.tenant);
        start.set_up(&folder, &tenant)?;
        let (child, address) = start.serve(&folder)?;
        let mut server =
            Self { child, address, tenant, folder, is_ours: self.is_ours, database: self.database.clone() };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait()? {
                let said = fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
                return Err(format!("the server ended with {status}: {said}").into());
            }
            if ureq::get(format!("http://{}/readyz", self.address)).call().is_ok() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err("the server never became ready".into())
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Which database, where; never a password that may stand in its address.
    pub(crate) fn describe(&self) -> String {
        match &self.database {
            None => format!("sqlite in {}", self.folder.display()),
            Some(url) => {
                url.rsplit_once('@').map_or(url.clone(), |(_, place)| format!("database at {place}"))
            }
        }
    }

    /// Makes a member with a mandate and an agent with so many credentials; their tokens.
    pub(crate) fn tokens(&self, count: usize) -> Result<Vec<String>, Failure> {
        let operator = self.sign_in(OPERATOR)?;
        let member =
            json!({"email": "m@example.test", "name": "m", "roles": ["member"], "password": PASSWORD});
        self.call("POST", "/v1/principals", Some(&operator), None, &member)?;
        let member = self.sign_in("m@example.test")?;
        self.call("PUT", "/v1/mandate", Some(&member), Some("\"1\""), &mandate())?;
        let agent = json!({"name": "runner", "kind": "acting"});
        let agent = text(&self.call("POST", "/v1/agents", Some(&member), None, &agent)?, "id")?;
        let path = format!("/v1/agents/{agent}/credentials");
        (0..count)
            .map(|number| {
                let wish =
                    json!({"label": format!("load {number}"), "scopes": ["action:request", "decision:read"]});
                text(&self.call("POST", &path, Some(&member), None, &wish)?, "token")
            })
            .collect()
    }

    /// Signs a person in; the session's token.
    pub(crate) fn sign_in(&self, email: &str) -> Result<String, Failure> {
        let body = json!({"tenant": self.tenant, "email": email, "password": PASSWORD});
        text(&self.call("POST", "/v1/session", None, None, &body)?, "token")
    }

    fn call(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        live: Option<&str>,
        body: &Value,
    ) -> Result<Value, Failure> {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(live) = live {
            request = request.header("if-match", live);
        }
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let mut reply = config.new_agent().run(request.body(body.to_string())?)?;
        let text = reply.body_mut().read_to_string()?;
        if reply.status().is_success() {
            Ok(serde_json::from_str(&text)?)
        } else {
            Err(format!("{method} {path} was answered {}: {text}", reply.status()).into())
        }
    }

    /// Resident memory in KiB.
    pub(crate) fn memory(&self) -> Result<u64, Failure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let figure = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS in /proc")?;
        Ok(figure.parse()?)
    }

    /// Processor time used so far, in user and kernel together (proc(5), fields 14 and 15).
    pub(crate) fn cpu(&self) -> Result<Duration, Failure> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(')').ok_or("no name in /proc")?;
        let mut ticks: u32 = 0;
        for field in fields.split_whitespace().skip(11).take(2) {
            ticks = ticks.saturating_add(field.parse()?);
        }
        Ok(TICK * ticks)
    }

    /// Where its data lies.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The tenant.
    pub(crate) fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Tells a command of the console where the data and the database are.
    pub(crate) fn place(&self, command: &mut Command) {
        command.arg("--data-dir").arg(&self.folder);
        if let Some(database) = &self.database {
            command.args(["--database", database]);
        }
    }

    /// Asks the server to end, waits until it has, and leaves nothing behind.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        self.halt()
    }

    /// Asks the server to end and waits until it has; its data stays.
    pub(crate) fn halt(&mut self) -> Result<(), Failure> {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait()? {
                return if status.success() {
                    Ok(())
                } else {
                    Err(format!("the server ended with {status}").into())
                };
            }
            std::thread::sleep(PAUSE);
        }
        Err("the server did not end".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail where the server has ended already, which is what is wanted.
        drop(self.child.kill());
        drop(self.child.wait());
        if self.is_ours {
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

fn text(answer: &Value, member: &str) -> Result<String, Failure> {
    let text = answer.get(member).and_then(Value::as_str);
    Ok(text.ok_or_else(|| format!("no `{member}` in {answer}"))?.to_owned())
}

/// Twenty clauses: the one that allows the call comes late, and others look at the same intent.
pub(crate) fn mandate() -> Value {
    let ceiling = |euros: &str| json!({"amount": {"at_most": {"value": euros, "currency": "EUR"}}});
    let mut clauses = vec![
        json!({"id": "M-001", "intent": "account.*", "effect": "refuse"}),
        json!({"id": "M-002", "intent": "payments.payout", "effect": "refuse"}),
        json!({"id": "M-003", "intent": "payments.*", "effect": "refuse", "when": {"country": {"in": ["KP", "IR"]}}}),
        json!({"id": "M-004", "intent": "payments.*", "effect": "escalate", "when": {"resource": {"prefix": "legacy:"}}}),
    ];
    for number in 5..20 {
        let intent = format!("desk{number}.task");
        clauses.push(json!({"id": format!("M-{number:03}"), "intent": intent, "effect": "allow", "when": ceiling("10.00")}));
    }
    let mut when = ceiling("100.00");
    if let Some(members) = when.as_object_mut() {
        members.insert("country".into(), json!({"in": ["DE", "NL", "AT"]}));
        members.insert("resource".into(), json!({"prefix": "order:"}));
        members.insert("untrusted".into(), json!(false));
    }
    clauses.push(json!({"id": "M-020", "intent": "payments.refund", "effect": "allow", "when": when}));
    json!({"scopes": ["action:request", "decision:read"], "unlisted": "escalate", "clauses": clauses})
}
