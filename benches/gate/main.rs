//! How fast the gate answers, beside a handler that does the same without writing anything down.
//!
//! Both are served by one process and called in turn, so that a slow moment of the machine falls on both. The
//! bare handler (`POST /v1/bench/bare`) reads the same JSON, checks the same token and answers as many bytes.

#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![expect(clippy::print_stderr, reason = "progress goes to standard error")]

mod export;
mod goal;
mod large;
mod load;
mod nodes;
mod peers;
mod question;
mod report;
mod server;

use clap::Parser;
use export::Exported;
use load::{Load, Stop, Target};
use nodes::Nodes;
use peers::Peers;
use report::{Report, Round, Series};
use server::{Server, Start};
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// What goes wrong, in words.
type Failure = Box<dyn std::error::Error>;

const MILLION: u64 = 1_000_000;

// Procura's allocator, so that it is no difference to what is served here.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Calls the gate as fast as it answers and reports how fast that is.
#[derive(Debug, Parser)]
#[command(name = "ops/bench gate", bin_name = "ops/bench gate", args_override_self = true)]
#[expect(clippy::struct_excessive_bools, reason = "one a switch of the command line")]
struct Options {
    /// Connections kept open, each with one call under way
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Distinct tokens, each of a credential of its own
    #[arg(long, default_value_t = 64)]
    tokens: usize,
    /// Seconds a round lasts
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Rounds of each kind
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// sqlite:PATH or postgres://…; the embedded database if left out
    #[arg(long)]
    database: Option<String>,
    /// Where the server's data lies; a folder of the build if left out, which is on a disk
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// The server to start; the one just built if left out
    #[arg(long, env = "PROCURA_BENCH_BINARY", default_value = env!("CARGO_BIN_EXE_procura"))]
    binary: PathBuf,
    /// Goes on until the gate has answered a million calls, and reports the memory then
    #[arg(long)]
    million: bool,
    /// Measures an export of so many calls and its verification instead
    #[arg(long, value_name = "CALLS")]
    export: Option<u64>,
    /// Measures two nodes on the database that is given, beside one
    #[arg(long)]
    nodes: bool,
    /// Samples the server with `perf` while the gate is called, into a file, and measures nothing
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Measures the servers whose programs lie in a folder too, as `ops/bench peers` does
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// Verifies the signature of every call's token, in both handlers
    #[arg(long)]
    verify: bool,
    /// Calls the gate over so many connections too, in the same rounds
    #[arg(long, value_name = "CONNECTIONS")]
    crowd: Option<usize>,
    /// Reports as JSON
    #[arg(long)]
    json: bool,
    /// Writes the report as JSON to a file, whatever it prints
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Serves what asks `cedar-policy` and nothing else
    #[arg(long, hide = true)]
    serve_cedar: Option<SocketAddr>,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let measured = match std::env::args_os().nth(1) {
        Some(first) if first == "large" => large::run(),
        Some(_) | None => measure(&Options::parse()),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The median time of writing 4 KiB to the end of a file and making it durable, in microseconds.
fn fdatasync(folder: &Path) -> Result<u32, Failure> {
    const WRITES: usize = 200;
    let path = folder.join("fdatasync");
    let mut file = File::create(&path)?;
    let mut times = Vec::with_capacity(WRITES);
    for _ in 0..WRITES {
        let began = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(u32::try_from(began.elapsed().as_micros())?);
    }
    std::fs::remove_file(path)?;
    times.sort_unstable();
    Ok(report::percentile(&times, 50))
}

/// Lets `perf` look at the server for as long as a round lasts, with the gate under load.
fn sample(server: &Server, load: &Load, length: Duration, file: &Path) -> Result<(), Failure> {
    let mut perf = Command::new("perf");
    perf.args(["record", "--quiet", "--freq", "499", "--call-graph", "dwarf,16384", "--output"]).arg(file);
    perf.args(["--pid", &server.id().to_string(), "--", "sleep", &length.as_secs().to_string()]);
    let mut perf = perf.spawn().map_err(|error| format!("`perf` cannot be run: {error}"))?;
    let done = load.run(Target::Gate, Stop::After(length + Duration::from_secs(1)));
    let status = perf.wait()?;
    eprintln!("{:.0} calls a second while it was sampled", done?.rate());
    if status.success() { Ok(()) } else { Err(format!("`perf record` ended with {status}").into()) }
}

/// Prints what was measured in the form that was asked for, and writes it down where a file was named.
fn say(
    (as_json, file): (bool, Option<&Path>),
    text: &dyn Display,
    json: &serde_json::Value,
) -> Result<(), Failure> {
    if as_json {
        println!("{json:#}");
    } else {
        print!("{text}");
    }
    if let Some(file) = file {
        std::fs::write(file, format!("{json:#}\n"))?;
    }
    Ok(())
}

fn measure(options: &Options) -> Result<(), Failure> {
    if let Some(address) = options.serve_cedar {
        return peers::serve_cedar(address);
    }
    if options.connections == 0 || options.tokens == 0 || options.rounds == 0 || options.seconds == 0 {
        return Err("connections, tokens, rounds and seconds are at least 1".into());
    }
    let start = Start {
        binary: &options.binary,
        folder: options.data_dir.as_deref(),
        database: options.database.as_deref(),
        verify: options.verify,
    };
    let form = (options.json, options.write.as_deref());
    let sizes = (options.connections, options.tokens);
    let times = (options.rounds, Duration::from_secs(options.seconds));
    if options.nodes {
        let measured = Nodes::measure(&start, sizes, times)?;
        return say(form, &measured, &measured.to_json());
    }
    if let Some(tools) = &options.peers {
        let measured = Peers::measure(&start, sizes, times, tools)?;
        return say(form, &measured, &measured.to_json());
    }
    let mut server = Server::start(&start)?;
    eprintln!("making {} tokens at {}", options.tokens, server.address());
    let tokens = server.tokens(options.tokens)?;
    let load = Load::new(server.address(), &tokens, options.connections);
    if let Some(calls) = options.export {
        eprintln!("asking the gate {calls} times");
        load.run(Target::Gate, Stop::Calls(calls))?;
        let exported = Exported::measure(&mut server, &options.binary)?;
        return say(form, &exported, &exported.to_json());
    }
    for target in Target::BOTH {
        load.run(target, Stop::After(Duration::from_secs(1)))?;
    }
    if let Some(file) = &options.samples {
        sample(&server, &load, times.1, file)?;
        return server.stop();
    }
    let memory_before = server.memory()?;
    let crowded = options.crowd.map(|connections| Load::new(server.address(), &tokens, connections));
    let mut crowd = crowded.as_ref().map(|_| Series::new("crowd"));
    let mut rounds = Vec::new();
    let mut asked = 0;
    for number in 1..=options.rounds {
        if let (Some(load), Some(crowd)) = (&crowded, &mut crowd) {
            let done = load.run(Target::Gate, Stop::After(times.1))?;
            asked += done.calls();
            crowd.add(vec![done]);
        }
        for target in Target::BOTH {
            let cpu_before = server.cpu()?;
            let done = load.run(target, Stop::After(Duration::from_secs(options.seconds)))?;
            eprintln!("round {number} of {}: {target}: {:.0} a second", options.rounds, done.rate());
            if target == Target::Gate {
                asked += done.calls();
            }
            rounds.push(Round { target, done, server_cpu: server.cpu()?.saturating_sub(cpu_before) });
        }
    }
    let memory_after = server.memory()?;
    let memory_after_million = if options.million {
        eprintln!("going on to a million calls");
        load.run(Target::Gate, Stop::Calls(MILLION.saturating_sub(asked)))?;
        Some(server.memory()?)
    } else {
        None
    };
    let report = Report {
        connections: options.connections,
        tokens: options.tokens,
        data: server.describe(),
        rounds,
        crowd: options.crowd.zip(crowd),
        is_verified: options.verify,
        is_embedded: options.database.is_none(),
        fdatasync: fdatasync(server.folder())?,
        memory_before,
        memory_after,
        memory_after_million,
    };
    say(form, &report, &report.to_json())?;
    server.stop()
}
