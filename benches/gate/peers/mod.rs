//! Procura beside other servers that answer the same question: may this refund be paid, by a mandate of twenty clauses?
//!
//! All run at once and are called in turn, so that a slow moment of the machine falls on each. A peer is asked only what
//! its policies look at, trusts whoever calls it and logs no request, which is to its advantage. Before a peer is
//! measured it has to say yes to the refund, and no to four that leave the mandate at one place each.

mod cedar;
mod kind;
mod table;

pub(crate) use cedar::serve as serve_cedar;

use crate::Failure;
use crate::load::{Calls, Load, Stop, Target, post};
use crate::question::Refund;
use crate::report::Series;
use crate::server::{Server, Start};
use kind::Kind;
use serde_json::Value;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
pub(crate) use table::Peers;
use table::{Outcome, Row};

/// How often a peer that starts is looked at, and how many times.
const PAUSE: Duration = Duration::from_millis(50);
const LOOKS: usize = 600;

/// A peer that runs, killed when dropped.
struct Peer {
    child: Child,
    calls: Calls,
}

impl Peer {
    /// Starts it and sees that it answers as the mandate says.
    fn start(kind: Kind, program: &Path, folder: &Path, connections: usize) -> Result<Self, Failure> {
        fs::create_dir_all(folder)?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let log_path = folder.join("server.log");
        let log = fs::File::create(&log_path)?;
        let mut command = kind.command(program, folder, address)?;
        command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let request = post(address, kind.path(), None, &kind.question(&Refund::ALLOWED));
        let child = command.spawn()?;
        let mut peer = Self { child, calls: Calls::new(address, connections, vec![request]) };
        peer.wait_until_it_listens(address, &log_path)?;
        holds_to_the_mandate(|refund| {
            let answer = ask(address, kind.path(), None, &kind.question(refund))?;
            kind.allows(&answer).ok_or_else(|| format!("it answers {answer}").into())
        })?;
        Ok(peer)
    }

    fn wait_until_it_listens(&mut self, address: SocketAddr, log: &Path) -> Result<(), Failure> {
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait()? {
                let said = fs::read_to_string(log).unwrap_or_default();
                return Err(format!("it ended with {status}: {}", said.trim()).into());
            }
            if std::net::TcpStream::connect(address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err("it never listened".into())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Both fail where it has ended already, which is what is wanted.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Peers {
    /// Measures in turn: the gate, the bare handler, and each peer that starts from a folder of programs.
    pub(crate) fn measure(
        start: &Start<'_>,
        (connections, tokens): (usize, usize),
        (rounds, length): (usize, Duration),
        tools: &Path,
    ) -> Result<Self, Failure> {
        let server = Server::start(start)?;
        let tokens = server.tokens(tokens)?;
        holds_to_the_mandate(|refund| {
            let token = tokens.first().map(String::as_str);
            let answer = ask(server.address(), Target::Gate.path(), token, &refund.to_evaluate())?;
            Ok(answer.get("outcome").and_then(Value::as_str) == Some("allow"))
        })?;
        let load = Load::new(server.address(), &tokens, connections);
        let mut gate = Series::new("Procura, the gate");
        let mut bare = Series::new("Procura, the bare handler");
        let folder = server.folder().join("peers");
        let mut rows: Vec<(Row, Option<Peer>)> =
            Kind::ALL.into_iter().map(|kind| opened(kind, tools, &folder, connections)).collect();
        for number in 0..=rounds {
            // The first round warms up and is not counted.
            let stop = Stop::After(if number == 0 { Duration::from_secs(1) } else { length });
            for (target, series) in [(Target::Gate, &mut gate), (Target::Bare, &mut bare)] {
                let done = load.run(target, stop)?;
                if number > 0 {
                    eprintln!("round {number} of {rounds}: {}: {:.0} a second", series.what, done.rate());
                    series.add(vec![done]);
                }
            }
            for (row, running) in &mut rows {
                let (Some(peer), Outcome::Measured(series)) = (&*running, &mut row.outcome) else { continue };
                match peer.calls.run(stop) {
                    Ok(done) if number > 0 => {
                        eprintln!("round {number} of {rounds}: {}: {:.0} a second", row.name, done.rate());
                        series.add(vec![done]);
                    }
                    Ok(_) => {}
                    Err(failure) => {
                        row.outcome = Outcome::NotRun(format!("ended in round {number}: {failure}"));
                        *running = None;
                    }
                }
            }
        }
        let version = kind::version(start.binary)?;
        let mut all = vec![Row::procura(gate, &version, true), Row::procura(bare, &version, false)];
        all.extend(rows.into_iter().map(|(row, _)| row));
        all.push(Row::opa());
        let data = server.describe();
        drop(fs::remove_dir_all(&folder));
        server.stop()?;
        Ok(Self::new(connections, data, all))
    }
}

/// A peer's row, and the peer where it could be started.
fn opened(kind: Kind, tools: &Path, folder: &Path, connections: usize) -> (Row, Option<Peer>) {
    let opened = kind.program(tools).and_then(|program| {
        let version = kind.version(&program)?;
        let peer = Peer::start(kind, &program, &folder.join(kind.name().replace(' ', "-")), connections)?;
        Ok((version, peer))
    });
    match opened {
        Ok((version, peer)) => {
            (Row::peer(kind, Some(version), Outcome::Measured(Series::new(kind.name()))), Some(peer))
        }
        Err(failure) => (Row::peer(kind, None, Outcome::NotRun(failure.to_string())), None),
    }
}

/// Whether the refund is allowed, and none of those beyond the mandate.
fn holds_to_the_mandate(allows: impl Fn(&Refund) -> Result<bool, Failure>) -> Result<(), Failure> {
    if !allows(&Refund::ALLOWED)? {
        return Err("it does not allow the refund".into());
    }
    for refund in &Refund::BEYOND {
        if allows(refund)? {
            return Err(format!("it allows {refund:?}, which the mandate does not").into());
        }
    }
    Ok(())
}

/// One request, and its answer.
fn ask(address: SocketAddr, path: &str, token: Option<&str>, body: &Value) -> Result<Value, Failure> {
    let mut request = ureq::post(format!("http://{address}{path}"));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    Ok(request.send_json(body)?.body_mut().read_json()?)
}
