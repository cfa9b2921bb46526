//! A log of many receipts beside an empty one: how fast the gate is, how fast the server starts, what it takes to keep.
//!
//! Both directories are made by the service's own acts and by calls of its gate; nothing is written into tables from here.

mod build;
mod pages;
mod state;
mod table;

use crate::load::{Calls, Stop, Target, post};
use crate::question::Refund;
use crate::report::Series;
use crate::server::{Server, Start};
use crate::{Failure, say};
use build::{Sizes, build};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use state::State;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use table::Large;

/// How many calls are made before the bar moves on.
const STRETCH: u64 = 100_000;
/// One of so many calls leaves the mandate where a clause refuses it.
const REFUSED_EVERY: usize = 50;
/// How many questions stand open when pages are measured.
const OPEN: u64 = 200;
/// How long it is watched whether the server is idle.
const IDLE: Duration = Duration::from_secs(10);
/// What it may use of a second to count as having caught up.
const QUIET: Duration = Duration::from_millis(10);

/// Builds a large log and measures the gate on it beside an empty one.
#[derive(Debug, Parser)]
#[command(name = "ops/bench large", bin_name = "ops/bench large", args_override_self = true)]
struct Options {
    /// Receipts in the log, those of people and credentials among them
    #[arg(long, default_value_t = 10_000_000)]
    receipts: u64,
    /// People, each with a live mandate of twenty clauses and an agent
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    principals: u64,
    /// Credentials, spread evenly over the people
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    credentials: u64,
    /// Distinct tokens that call the gate, of as many people
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    tokens: u64,
    /// Connections kept open, each with one call under way
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    connections: u64,
    /// Seconds a round lasts
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Rounds on each log
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Where both logs lie; a folder of the build if left out. What is there of these sizes is gone on with
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Leaves the logs there, to be measured or added to again
    #[arg(long)]
    keep: bool,
    /// Seconds it is waited at most until the server has nothing left to do; ten million receipts take half an hour
    #[arg(long, default_value_t = 3600)]
    patience: u64,
    /// The server to start; the one just built if left out
    #[arg(long, env = "PROCURA_BENCH_BINARY", default_value = env!("CARGO_BIN_EXE_procura"))]
    binary: PathBuf,
    /// Reports as JSON
    #[arg(long)]
    json: bool,
    /// Writes the report as JSON to a file, whatever it prints
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// Builds, measures, reports.
pub(crate) fn run() -> Result<(), Failure> {
    let options = Options::parse_from(std::env::args_os().skip(1));
    if options.credentials < options.tokens {
        return Err("each token is of a credential of its own: fewer tokens, or more credentials".into());
    }
    let folder =
        options.data_dir.clone().unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("large"));
    fs::create_dir_all(&folder)?;
    let measured = measure(&options, &folder);
    if !options.keep {
        for part in ["full", "empty"] {
            drop(fs::remove_dir_all(folder.join(part)));
        }
        // Stays where something else lies in it.
        drop(fs::remove_dir(&folder));
    }
    let measured = measured?;
    say((options.json, options.write.as_deref()), &measured, &measured.to_json())
}

fn measure(options: &Options, folder: &Path) -> Result<Large, Failure> {
    let sizes =
        Sizes { principals: options.principals, credentials: options.credentials, tokens: options.tokens };
    let few = Sizes { principals: options.tokens, credentials: options.tokens, tokens: options.tokens };
    let (folders, begun) = ([folder.join("empty"), folder.join("full")], Instant::now());
    let (empty_state, _) = people(options, &folders[0], few)?;
    let (state, size) = people(options, &folders[1], sizes)?;
    let start =
        |folder| Start { binary: &options.binary, folder: Some(folder), database: None, verify: false };
    let empty = Server::on(&start(&folders[0]), folders[0].clone(), empty_state.tenant.clone())?;
    let mut full = Server::on(&start(&folders[1]), folders[1].clone(), state.tenant.clone())?;
    let connections = usize::try_from(options.connections)?;
    let gate = |server: &Server, state: &State| calls(server, &state.tokens, connections);
    let (on_empty, on_full) = (gate(&empty, &empty_state), gate(&full, &state));
    receipts(&on_full, options.receipts.saturating_sub(size))?;
    let built = begun.elapsed();
    let patience = Duration::from_secs(options.patience);
    // What was left to do of the calls before would slow one of them alone.
    let caught_up = until_quiet(&full, patience)?;
    let stop = Stop::After(Duration::from_secs(options.seconds));
    let [mut at_first, mut at_length] = ["empty log", "large log"].map(Series::new);
    for load in [&on_empty, &on_full] {
        load.run(Stop::After(Duration::from_secs(1)))?;
    }
    for number in 1..=options.rounds {
        for (load, series) in [(&on_empty, &mut at_first), (&on_full, &mut at_length)] {
            let done = load.run(stop)?;
            eprintln!("round {number} of {}: {}: {:.0} a second", options.rounds, series.what, done.rate());
            series.add(vec![done]);
        }
    }
    empty.stop()?;
    let memory = full.memory()?;
    let body = Refund { minor_units: 24_000, ..Refund::ALLOWED }.to_evaluate();
    let token = state.tokens.first().map(String::as_str);
    let question = post(full.address(), Target::Gate.path(), token, &body);
    Calls::new(full.address(), 1, vec![question]).run(Stop::Calls(OPEN))?;
    until_quiet(&full, patience)?;
    let before = full.cpu()?;
    std::thread::sleep(IDLE);
    let idle = full.cpu()?.saturating_sub(before);
    let pages =
        pages::measure(full.address(), &full.sign_in(&state.member)?, &full.sign_in(&state.watcher)?)?;
    let memory = memory.max(full.memory()?);
    full.halt()?;
    drop(full);
    let begun = Instant::now();
    let mut full = Server::on(&start(&folders[1]), folders[1].clone(), state.tenant.clone())?;
    let started = begun.elapsed();
    let memory_started = full.memory()?;
    full.halt()?;
    let (_, size) = people(options, &folders[1], sizes)?;
    Ok(Large {
        receipts: size,
        sizes,
        bytes: bytes_in(&folders[1])?,
        built,
        empty: at_first,
        full: at_length,
        started,
        memory,
        memory_started,
        caught_up,
        idle: (idle, IDLE),
        pages,
    })
}

/// Sets a directory up unless it is, makes its people, and says how many receipts it holds.
fn people(options: &Options, folder: &Path, sizes: Sizes) -> Result<(State, u64), Failure> {
    let mut state = if let Some(state) = State::read(folder, sizes)? {
        state
    } else {
        fs::create_dir_all(folder)?;
        let state = State::new("large".to_owned(), sizes);
        let start = Start { binary: &options.binary, folder: Some(folder), database: None, verify: false };
        start.set_up(folder, &state.tenant)?;
        state.write(folder)?;
        state
    };
    let progress = bar(sizes.principals, "people with their credentials")?;
    progress.inc(state.people);
    let size = build(folder, sizes, &mut state, &progress)?;
    progress.finish_and_clear();
    Ok((state, size))
}

/// The calls that fill the log and measure it: one of fifty is refused.
fn calls(server: &Server, tokens: &[String], connections: usize) -> Calls {
    let allowed = Refund::ALLOWED.to_evaluate();
    let refused = Refund { country: "KP", ..Refund::ALLOWED }.to_evaluate();
    let bodies = std::iter::repeat_n(&allowed, REFUSED_EVERY - 1).chain([&refused]);
    let requests = bodies.flat_map(|body| {
        tokens.iter().map(move |token| post(server.address(), Target::Gate.path(), Some(token), body))
    });
    Calls::new(server.address(), connections, requests.collect())
}

/// Asks the gate so often.
fn receipts(gate: &Calls, count: u64) -> Result<(), Failure> {
    let progress = bar(count, "receipts")?;
    let mut left = count;
    while left > 0 {
        let now = left.min(STRETCH);
        let done = gate.run(Stop::Calls(now))?;
        if !done.errors.is_empty() {
            return Err(format!("the gate answered something other than 200: {:?}", done.errors).into());
        }
        left -= now;
        progress.inc(now);
        if progress.is_hidden() && left.is_multiple_of(10 * STRETCH) {
            eprintln!("{left} receipts left");
        }
    }
    progress.finish_and_clear();
    Ok(())
}

fn bar(all: u64, noun: &str) -> Result<ProgressBar, Failure> {
    let template = format!("{{bar:40}} {{human_pos}} of {{human_len}} {noun}, {{eta}} left");
    Ok(ProgressBar::new(all).with_style(ProgressStyle::with_template(&template)?))
}

/// How long it takes until the server has used next to nothing for three seconds on end; `None` where it never did.
fn until_quiet(server: &Server, patience: Duration) -> Result<Option<Duration>, Failure> {
    let begun = Instant::now();
    let mut quiet = 0;
    while begun.elapsed() < patience {
        let before = server.cpu()?;
        std::thread::sleep(Duration::from_secs(1));
        quiet = if server.cpu()?.saturating_sub(before) <= QUIET { quiet + 1 } else { 0 };
        if quiet == 3 {
            return Ok(Some(begun.elapsed()));
        }
    }
    Ok(None)
}

/// What the files of a folder hold.
fn bytes_in(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
