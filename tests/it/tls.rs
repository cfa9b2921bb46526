//! PostgreSQL over TLS: the server's name and its authority are checked, and what does not fit is said.

use crate::agent::Agent;
use crate::documents::{refund, small_refunds};
use crate::server::{Folder, Server, TENANT, ended, free_port, procura, said};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A PostgreSQL on a loopback port, with a certificate for `localhost` by an authority of its own.
struct Cluster {
    programs: PathBuf,
    folder: Folder,
    port: u16,
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    output
}

/// Where `initdb` and `pg_ctl` are.
fn programs() -> PathBuf {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let folders = installed.map(|entry| entry.unwrap().path().join("bin"));
    let search = std::env::var_os("PATH").unwrap_or_default();
    let newest =
        folders.chain(std::env::split_paths(&search)).filter(|folder| folder.join("initdb").exists()).max();
    newest.expect("no PostgreSQL is installed: run the tests through `ops/test`")
}

/// PostgreSQL refuses to run as root, so root runs it as the user that its package made.
fn as_postgres(program: &Path) -> Command {
    let id = run(Command::new("id").arg("-u")).stdout;
    if id.trim_ascii() == b"0" {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// An authority with the certificate and the key that it gave a host.
fn authority(folder: &Path, name: &str, host: &str) -> PathBuf {
    let path = |file: &str| folder.join(format!("{name}-{file}"));
    let (key, certificate) = (path("ca.key"), path("ca.pem"));
    let openssl = |arguments: &[&str]| {
        let mut command = Command::new("openssl");
        command.args(arguments);
        command
    };
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    run(openssl(&["req", "-x509"])
        .args(curve)
        .args(["-subj", &format!("/CN={name} authority"), "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate));
    run(openssl(&["req", "-x509"])
        .args(curve)
        .args(["-subj", &format!("/CN={host}"), "-addext", &format!("subjectAltName=DNS:{host}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-CA"])
        .arg(&certificate)
        .arg("-CAkey")
        .arg(&key)
        .arg("-keyout")
        .arg(path("server.key"))
        .arg("-out")
        .arg(path("server.pem")));
    certificate
}

impl Cluster {
    fn start() -> Self {
        let cluster = Self { programs: programs(), folder: Folder::new(), port: free_port() };
        let (folder, data) = (&*cluster.folder, cluster.folder.join("data"));
        authority(folder, "ours", "localhost");
        let is_root = run(Command::new("id").arg("-u")).stdout.trim_ascii() == b"0";
        if is_root {
            run(Command::new("chown").args(["-R", "postgres"]).arg(folder));
        }
        run(as_postgres(&cluster.programs.join("initdb"))
            .args(["--username=procura", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data));
        let shown = folder.display();
        let port = cluster.port;
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\nfsync = off\nssl = on\n\
             ssl_cert_file = '{shown}/ours-server.pem'\nssl_key_file = '{shown}/ours-server.key'\n"
        );
        std::fs::write(data.join("postgresql.auto.conf"), settings).unwrap();
        // Whoever comes without TLS is turned away.
        std::fs::write(data.join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 trust\n").unwrap();
        run(cluster.control(&["-w", "-t", "30", "-l"]).arg(folder.join("log")).arg("start"));
        cluster
    }

    fn control(&self, arguments: &[&str]) -> Command {
        let mut command = as_postgres(&self.programs.join("pg_ctl"));
        command.arg("-D").arg(self.folder.join("data")).args(arguments).stdout(std::process::Stdio::null());
        command
    }

    fn address(&self, host: &str, parameters: &str) -> String {
        format!("postgres://procura@{host}:{}/postgres?{parameters}", self.port)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.control(&["-m", "immediate", "stop"]).output();
    }
}

#[test]
fn tls_to_postgres_is_verified_to_the_host_name() {
    let cluster = Cluster::start();
    let others = Folder::new();
    let (ours, other) = (cluster.folder.join("ours-ca.pem"), authority(&others, "other", "localhost"));
    let full = |authority: &Path| format!("sslmode=verify-full&sslrootcert={}", authority.display());
    let good = cluster.address("localhost", &full(&ours));
    let mut server = Server::on(&good);
    let setup = server.set_up_tenant(TENANT);
    assert!(setup.status.success(), "{}", said(&setup));
    server.serve();
    let agent = Agent::new(&server.member_with("m@example.test", &small_refunds()), "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    assert!(server.terminate().success());

    for (how, address, named) in [
        ("another authority", cluster.address("localhost", &full(&other)), "certificate verify failed"),
        ("another name", cluster.address("127.0.0.1", &full(&ours)), "does not match host name"),
        ("no TLS", cluster.address("localhost", "sslmode=disable"), "no encryption"),
    ] {
        let folder = server.folder().display().to_string();
        let mut serve = procura(&["serve", "--listen", "127.0.0.1:0", "--data-dir", &folder]);
        serve.args(["--database", &address]);
        for output in [ended(serve), Server::on(&address).set_up_tenant("quay")] {
            assert!(!output.status.success(), "{how} was taken");
            assert!(said(&output).contains(named), "{how}: {}", said(&output));
        }
    }
}
