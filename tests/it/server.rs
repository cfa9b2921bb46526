//! Starts, kills and restarts the built binary, and makes the people and agents that tests need.

use crate::client::Client;
use crate::database::{Db, Store};
use serde_json::{Value, json};
use std::fs::File;
use std::net::TcpListener;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Everybody's password.
pub(crate) const PASSWORD: &str = "Zk4-harbour-quill-93-ember";
/// The tenant of most tests.
pub(crate) const TENANT: &str = "harbour";
/// The operator whom `setup` makes.
pub(crate) const OPERATOR: &str = "op@example.test";
/// How long a server may take to become ready or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A temporary folder, removed when dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new, empty folder.
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("procura-it-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file into it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Deref for Folder {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A data directory, its database, and the server on it when it runs.
#[derive(Debug)]
pub(crate) struct Server {
    // Declared in this order so that the process ends before its database is dropped.
    process: Running,
    database: Option<Store>,
    url: Option<String>,
    folder: Folder,
    port: u16,
    options: Vec<String>,
}

/// The process, killed when dropped.
#[derive(Debug, Default)]
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Server {
    /// A server that runs, with one tenant and its operator.
    #[track_caller]
    pub(crate) fn start(db: Db) -> Self {
        let mut server = Self::set_up(db, &[TENANT]);
        server.serve();
        server
    }

    /// A data directory with tenants in it, whose server does not run yet.
    #[track_caller]
    pub(crate) fn set_up(db: Db, tenants: &[&str]) -> Self {
        let folder = Folder::new();
        let database = Store::fresh(db, &folder);
        let url = database.url();
        let process = Running::default();
        let server =
            Self { process, database: Some(database), url, folder, port: free_port(), options: Vec::new() };
        for tenant in tenants {
            let output = server.set_up_tenant(tenant);
            assert!(output.status.success(), "setup failed: {}", said(&output));
        }
        server
    }

    /// An empty data directory for a database that the test itself made; nothing is set up yet.
    pub(crate) fn on(url: &str) -> Self {
        let (process, folder) = (Running::default(), Folder::new());
        Self {
            process,
            database: None,
            url: Some(url.to_owned()),
            folder,
            port: free_port(),
            options: Vec::new(),
        }
    }

    /// Runs `setup` for one tenant.
    pub(crate) fn set_up_tenant(&self, tenant: &str) -> Output {
        let password = self.folder.write("password", &format!("{PASSWORD}\n"));
        let mut setup = procura(&["setup", "--tenant", tenant, "--operator", OPERATOR]);
        setup.arg("--password-file").arg(password).arg("--data-dir").arg(&*self.folder);
        if let Some(url) = &self.url {
            setup.args(["--database", url]);
        }
        setup.output().unwrap()
    }

    /// Another node: its own data directory with the same master key, on the same PostgreSQL database.
    #[track_caller]
    pub(crate) fn another_node(&self) -> Self {
        let folder = Folder::new();
        std::fs::copy(self.folder.join("master.key"), folder.join("master.key")).unwrap();
        let url = Some(self.url.clone().expect("several nodes need PostgreSQL"));
        let process = Running::default();
        let mut node =
            Self { process, database: None, url, folder, port: free_port(), options: self.options.clone() };
        node.serve();
        node
    }

    /// Adds an option to `serve`, for the next start.
    #[must_use]
    pub(crate) fn option(mut self, name: &str, value: &str) -> Self {
        self.options.extend([name.to_owned(), value.to_owned()]);
        self
    }

    /// Starts the server and waits until it is ready.
    #[track_caller]
    pub(crate) fn serve(&mut self) {
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        let mut serve = self.serve_command();
        let child = serve.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        self.process.0 = Some(child);
        let asker = self.client();
        let since = Instant::now();
        loop {
            let ended = self.process.0.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "the server ended ({}): {}", ended.unwrap(), self.log_tail());
            if asker.try_send("GET", "/readyz", &[], None).is_ok_and(|reply| reply.status == 200) {
                return;
            }
            assert!(since.elapsed() < PATIENCE, "the server never became ready: {}", self.log_tail());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The `serve` command as it would be started.
    pub(crate) fn serve_command(&self) -> Command {
        self.serve_command_at(self.port)
    }

    /// The `serve` command on another port; 0 is any.
    pub(crate) fn serve_command_at(&self, port: u16) -> Command {
        let mut serve = procura(&["serve", "--listen", &format!("127.0.0.1:{port}")]);
        serve.arg("--data-dir").arg(&*self.folder).args(&self.options);
        if let Some(url) = &self.url {
            serve.args(["--database", url]);
        }
        serve
    }

    /// Ends the server at once, as a power cut would.
    pub(crate) fn kill(&mut self) {
        let mut child = self.process.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Asks the server to end, and says how it did.
    #[track_caller]
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.signal_terminate();
        self.wait()
    }

    /// Sends SIGTERM and does not wait.
    pub(crate) fn signal_terminate(&self) {
        let id = self.process.0.as_ref().unwrap().id();
        let sent = Command::new("kill").args(["-TERM", &id.to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until the server has ended.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut child = self.process.0.take().unwrap();
        let since = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            if since.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("the server did not end within {PATIENCE:?}: {}", self.log_tail());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a command of the binary on this server's data.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = procura(arguments);
        command.arg("--data-dir").arg(&*self.folder);
        if let Some(url) = &self.url {
            command.args(["--database", url]);
        }
        command.output().unwrap()
    }

    /// The data directory.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The database, to look into it.
    pub(crate) fn database(&self) -> &Store {
        self.database.as_ref().unwrap()
    }

    /// The address.
    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A caller without a token.
    pub(crate) fn client(&self) -> Client {
        Client::new(&self.base())
    }

    /// Signs the operator in.
    #[track_caller]
    pub(crate) fn operator(&self) -> Client {
        self.sign_in(TENANT, OPERATOR)
    }

    /// Signs a person in.
    #[track_caller]
    pub(crate) fn sign_in(&self, tenant: &str, email: &str) -> Client {
        let client = self.client();
        let body = json!({"tenant": tenant, "email": email, "password": PASSWORD});
        let session = client.post("/v1/session", &body).expect(200);
        client.with_token(session["token"].as_str().unwrap())
    }

    /// Makes a member of the first tenant and signs them in.
    #[track_caller]
    pub(crate) fn member(&self, email: &str) -> Client {
        self.person(TENANT, email, &["member"])
    }

    /// Makes a person and signs them in.
    #[track_caller]
    pub(crate) fn person(&self, tenant: &str, email: &str, roles: &[&str]) -> Client {
        let name = email.split('@').next().unwrap();
        let body = json!({"email": email, "name": name, "roles": roles, "password": PASSWORD});
        self.sign_in(tenant, OPERATOR).post("/v1/principals", &body).expect(201);
        self.sign_in(tenant, email)
    }

    /// A member whose mandate is live.
    #[track_caller]
    pub(crate) fn member_with(&self, email: &str, mandate: &Value) -> Client {
        let member = self.member(email);
        member.put_mandate(mandate);
        member
    }

    /// The last of what the server wrote.
    pub(crate) fn log_tail(&self) -> String {
        let text = std::fs::read_to_string(self.log_file()).unwrap_or_default();
        let start = text.char_indices().rev().nth(1500).map_or(0, |(index, _)| index);
        text[start..].to_owned()
    }

    /// Where the server's own output goes.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.folder.join("server.log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the server wrote: {}", self.log_tail());
        }
    }
}

/// The built binary with arguments; what the tests' own environment sets does not reach it.
pub(crate) fn procura(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_procura"));
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PROCURA_")) {
        command.env_remove(name);
    }
    command
}

/// How a command ended that is to end by itself; one that goes on serving is a failure.
#[track_caller]
pub(crate) fn ended(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("it still runs: {command:?}: {}", said(&child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// What a command wrote, both ways.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Waits until something holds, asking again every so often.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "never so: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A port that nothing listens on, below those that outgoing connections take: a server that is killed and
/// started again finds it free.
pub(crate) fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    loop {
        let tried = std::process::id().wrapping_mul(37).wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + u16::try_from(tried % 12_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
