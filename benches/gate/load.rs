//! Many connections that each send one prepared request after the other; as little work a call as can be.

use crate::Failure;
use crate::question::Refund;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime;

/// More than any answer holds.
const LARGEST_ANSWER: usize = 64 * 1024;

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The gate.
    Gate,
    /// The handler that writes nothing down.
    Bare,
}

impl Target {
    /// In the order of a round.
    pub(crate) const BOTH: [Self; 2] = [Self::Gate, Self::Bare];

    /// Where it is called.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Gate => "/v1/gate/evaluate",
            Self::Bare => "/v1/bench/bare",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gate => "gate",
            Self::Bare => "bare",
        })
    }
}

/// When a run ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stop {
    /// After a time.
    After(Duration),
    /// After so many calls.
    Calls(u64),
}

/// What a run came to.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// How long each call took, in microseconds.
    pub(crate) microseconds: Vec<u32>,
    /// How many calls were answered with something other than 200, by status.
    pub(crate) errors: BTreeMap<u16, u64>,
    /// How long the run took.
    pub(crate) elapsed: Duration,
}

impl Done {
    /// All calls.
    pub(crate) fn calls(&self) -> u64 {
        u64::try_from(self.microseconds.len()).unwrap_or(u64::MAX)
    }

    /// Calls a second.
    pub(crate) fn rate(&self) -> f64 {
        f64::from(u32::try_from(self.microseconds.len()).unwrap_or(u32::MAX)) / self.elapsed.as_secs_f64()
    }
}

/// Prepared requests and where they go.
#[derive(Debug)]
pub(crate) struct Calls {
    address: SocketAddr,
    connections: usize,
    requests: Arc<Vec<Vec<u8>>>,
}

impl Calls {
    /// Sends these to one address.
    pub(crate) fn new(address: SocketAddr, connections: usize, requests: Vec<Vec<u8>>) -> Self {
        Self { address, connections, requests: Arc::new(requests) }
    }

    /// Calls until told to stop.
    pub(crate) fn run(&self, stop: Stop) -> Result<Done, Failure> {
        let budget = Arc::new(Budget::new(stop));
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let began = Instant::now();
            let connections: Vec<_> = (0..self.connections)
                .map(|first| {
                    let place = Place { first, step: self.connections };
                    tokio::spawn(connection(self.address, self.requests.clone(), place, budget.clone()))
                })
                .collect();
            let mut done = Done::default();
            for connection in connections {
                let mut part = connection.await?.map_err(|failure| failure.to_string())?;
                done.microseconds.append(&mut part.microseconds);
                for (status, count) in part.errors {
                    *done.errors.entry(status).or_default() += count;
                }
            }
            done.elapsed = began.elapsed();
            Ok(done)
        })
    }
}

/// The calls of Procura's two handlers.
#[derive(Debug)]
pub(crate) struct Load {
    gate: Calls,
    bare: Calls,
}

impl Load {
    /// Prepares one request a token and target.
    pub(crate) fn new(address: SocketAddr, tokens: &[String], connections: usize) -> Self {
        let body = Refund::ALLOWED.to_evaluate();
        let calls = |target: Target| {
            let request = |token: &String| post(address, target.path(), Some(token), &body);
            Calls::new(address, connections, tokens.iter().map(request).collect())
        };
        Self { gate: calls(Target::Gate), bare: calls(Target::Bare) }
    }

    /// Calls until told to stop.
    pub(crate) fn run(&self, target: Target, stop: Stop) -> Result<Done, Failure> {
        match target {
            Target::Gate => self.gate.run(stop),
            Target::Bare => self.bare.run(stop),
        }
    }
}

/// How much is left to do, shared by all connections.
#[derive(Debug)]
struct Budget {
    until: Option<Instant>,
    calls: AtomicU64,
}

impl Budget {
    fn new(stop: Stop) -> Self {
        match stop {
            Stop::After(time) => Self { until: Some(Instant::now() + time), calls: AtomicU64::new(u64::MAX) },
            Stop::Calls(calls) => Self { until: None, calls: AtomicU64::new(calls) },
        }
    }

    fn take(&self, now: Instant) -> bool {
        match self.until {
            Some(until) => now < until,
            None => self
                .calls
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                .is_ok(),
        }
    }
}

/// Which requests a connection sends: from one on, every so many.
#[derive(Debug, Clone, Copy)]
struct Place {
    first: usize,
    step: usize,
}

/// One connection's calls, one after the other.
async fn connection(
    address: SocketAddr,
    requests: Arc<Vec<Vec<u8>>>,
    place: Place,
    budget: Arc<Budget>,
) -> std::io::Result<Done> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut done = Done::default();
    let mut buffer = vec![0; LARGEST_ANSWER];
    let mut next = place.first;
    let mut now = Instant::now();
    while budget.take(now) {
        let request = requests.get(next % requests.len()).map(Vec::as_slice).unwrap_or_default();
        next = next.wrapping_add(place.step);
        let asked = now;
        send(&stream, request).await?;
        let status = receive(&stream, &mut buffer).await?;
        now = Instant::now();
        done.microseconds.push(u32::try_from((now - asked).as_micros()).unwrap_or(u32::MAX));
        if status != 200 {
            *done.errors.entry(status).or_default() += 1;
        }
    }
    Ok(done)
}

async fn send(stream: &TcpStream, mut rest: &[u8]) -> std::io::Result<()> {
    while !rest.is_empty() {
        match stream.try_write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads one whole answer and gives its status.
async fn receive(stream: &TcpStream, buffer: &mut [u8]) -> std::io::Result<u16> {
    let mut filled = 0;
    loop {
        stream.readable().await?;
        let room = buffer.get_mut(filled..).unwrap_or_default();
        match stream.try_read(room) {
            Ok(0) => {
                return Err(std::io::Error::new(ErrorKind::UnexpectedEof, "the server closed a connection"));
            }
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        if let Some(status) = whole(buffer.get(..filled).unwrap_or_default())? {
            return Ok(status);
        }
    }
}

/// The status of an answer that is there as a whole; `None` while more is to come.
fn whole(answer: &[u8]) -> std::io::Result<Option<u16>> {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = answer.get(..end).and_then(|head| std::str::from_utf8(head).ok());
    let parsed = head.and_then(|head| {
        let status: u16 = head.get(9..12)?.parse().ok()?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        })?;
        Some((status, length))
    });
    let (status, length) = parsed
        .ok_or_else(|| std::io::Error::new(ErrorKind::InvalidData, "an answer without a content length"))?;
    Ok((answer.len() >= end + 4 + length).then_some(status))
}

/// The bytes of one request.
pub(crate) fn post(address: SocketAddr, path: &str, token: Option<&str>, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\n{authorization}content-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
