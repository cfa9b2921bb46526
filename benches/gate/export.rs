//! An export of everything the gate answered, its verification and its replay: how fast, and in how much memory.

use crate::Failure;
use crate::goal::Goal;
use crate::server::Server;
use serde_json::{Value, json};
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a program that runs is asked for its memory.
const PAUSE: Duration = Duration::from_millis(10);

/// One program's run.
#[derive(Debug)]
struct Run {
    what: &'static str,
    rows: u64,
    bytes: u64,
    took: Duration,
    /// The most resident memory, in KiB.
    memory: u64,
}

impl Run {
    fn rate(&self) -> f64 {
        let rows = u32::try_from(self.rows).map_or(f64::INFINITY, f64::from);
        rows / self.took.as_secs_f64()
    }
}

/// What was measured.
#[derive(Debug)]
pub(crate) struct Exported(Vec<Run>);

impl Exported {
    /// Ends the server, exports its log in every form, verifies the one that can be, and replays the log.
    pub(crate) fn measure(server: &mut Server, binary: &Path) -> Result<Self, Failure> {
        server.halt()?;
        let mut runs = Vec::new();
        let file = |format: &str| server.folder().join(format!("log.{format}"));
        for (format, what) in [("jsonl", "JSONL with paths"), ("csv", "CSV"), ("parquet", "Parquet")] {
            let mut export = Command::new(binary);
            export.args(["export", "--json", "--tenant", server.tenant(), "--format", format, "--out"]);
            export.arg(file(format));
            server.place(&mut export);
            let (said, took, memory) = watched(&mut export)?;
            let rows = said.get("lines").and_then(Value::as_u64).ok_or("the export says no lines")?;
            let bytes = fs::metadata(file(format))?.len();
            runs.push(Run { what, rows, bytes, took, memory });
        }
        let mut verify = Command::new(binary);
        verify.args(["verify", "--json"]).arg(file("jsonl"));
        let (said, took, memory) = watched(&mut verify)?;
        let rows = said.get("receipts").and_then(Value::as_u64).ok_or("verify says no receipts")?;
        let bytes = fs::metadata(file("jsonl"))?.len();
        runs.push(Run { what: "verify of the JSONL", rows, bytes, took, memory });
        let mut replay = Command::new(binary);
        replay.args(["replay", "--json", "--tenant", server.tenant()]);
        server.place(&mut replay);
        let (said, took, memory) = watched(&mut replay)?;
        let decided = said.pointer("/tenants/0/decided").and_then(Value::as_u64);
        let rows = decided.ok_or("replay says nothing it decided")?;
        runs.push(Run { what: "replay", rows, bytes: 0, took, memory });
        Ok(Self(runs))
    }

    /// The first run exports with paths, the last two verify and replay.
    fn goals(&self) -> Vec<Goal> {
        let [export, .., verify, replay] = self.0.as_slice() else { return Vec::new() };
        vec![
            Goal::at_least("rows of JSONL a second", 20_000.0, export.rate()),
            Goal::at_least("verify ÷ export", 0.5, verify.rate() / export.rate()),
            Goal::at_least("replay ÷ export", 0.5, replay.rate() / export.rate()),
        ]
    }

    /// The figures as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let run = |run: &Run| {
            json!({"what": run.what, "rows": run.rows, "bytes": run.bytes, "seconds": run.took.as_secs_f64(),
                "rows_a_second": run.rate(), "most_memory_kib": run.memory})
        };
        let runs: Value = self.0.iter().map(run).collect();
        json!({"runs": runs, "goals": Goal::to_json(&self.goals())})
    }
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for run in &self.0 {
            let (mib, memory) = (run.bytes >> 20, run.memory >> 10);
            writeln!(
                f,
                "{:<20} {} rows, {mib} MiB in {:.1} s: {:.0} rows a second, at most {memory} MiB of memory",
                run.what,
                run.rows,
                run.took.as_secs_f64(),
                run.rate()
            )?;
        }
        self.goals().iter().try_for_each(|goal| writeln!(f, "{goal}"))
    }
}

/// Runs a program to its end: what it says as JSON, how long it took, and the most memory it had.
fn watched(command: &mut Command) -> Result<(Value, Duration, u64), Failure> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut memory = 0;
    while child.try_wait()?.is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let figure = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok());
        memory = figure.map_or(memory, |kib: u64| memory.max(kib));
        std::thread::sleep(PAUSE);
    }
    let took = begun.elapsed();
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok((serde_json::from_slice(&output.stdout)?, took, memory))
}
