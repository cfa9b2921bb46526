//! The figures: rates, their ratio, how long calls took, and what the server used.

use crate::goal::Goal;
use crate::load::{Done, Target};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// One round against one target.
#[derive(Debug)]
pub(crate) struct Round {
    /// What was called.
    pub(crate) target: Target,
    /// What came of it.
    pub(crate) done: Done,
    /// Processor time of the server.
    pub(crate) server_cpu: Duration,
}

/// The rounds against one thing that is measured beside others.
#[derive(Debug)]
pub(crate) struct Series {
    /// What it is.
    pub(crate) what: &'static str,
    rates: Vec<f64>,
    microseconds: Vec<u32>,
    failed: u64,
}

impl Series {
    /// Nothing yet.
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, rates: Vec::new(), microseconds: Vec::new(), failed: 0 }
    }

    /// One round, of loads that ran at the same time.
    pub(crate) fn add(&mut self, parts: Vec<Done>) {
        self.rates.push(parts.iter().map(Done::rate).sum());
        for mut part in parts {
            self.microseconds.append(&mut part.microseconds);
            self.failed += part.errors.values().sum::<u64>();
        }
    }

    /// Calls a second, by round.
    pub(crate) fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Calls a second: the median of the rounds.
    pub(crate) fn median(&self) -> f64 {
        let mut rates = self.rates.clone();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or_default()
    }

    /// So many of a hundred calls took no longer, in microseconds.
    pub(crate) fn percentile(&self, percent: usize) -> u32 {
        let mut times = self.microseconds.clone();
        times.sort_unstable();
        percentile(&times, percent)
    }

    /// How many calls were answered with something other than 200.
    pub(crate) fn failed(&self) -> u64 {
        self.failed
    }
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Report {
    /// Connections kept open.
    pub(crate) connections: usize,
    /// Distinct tokens.
    pub(crate) tokens: usize,
    /// Which database, where.
    pub(crate) data: String,
    /// The rounds, in order.
    pub(crate) rounds: Vec<Round>,
    /// The gate over more connections, and how many.
    pub(crate) crowd: Option<(usize, Series)>,
    /// Whether every call verified its token's signature.
    pub(crate) is_verified: bool,
    /// Whether the data lie in the embedded database.
    pub(crate) is_embedded: bool,
    /// How long writing 4 KiB and `fdatasync` take where the data lies, in microseconds: the median.
    pub(crate) fdatasync: u32,
    /// Resident memory after warming up, in KiB.
    pub(crate) memory_before: u64,
    /// Resident memory after the rounds, in KiB.
    pub(crate) memory_after: u64,
    /// Resident memory after a million calls, in KiB.
    pub(crate) memory_after_million: Option<u64>,
}

/// The figures of one target over all rounds.
struct Figures {
    rates: Vec<f64>,
    p50: u32,
    p99: u32,
    largest: u32,
    calls: u64,
    errors: BTreeMap<u16, u64>,
    cpu_microseconds_a_call: f64,
}

impl Figures {
    fn median(&self) -> f64 {
        self.rates.get(self.rates.len() / 2).copied().unwrap_or_default()
    }

    fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    fn to_json(&self) -> Value {
        json!({
            "requests_a_second": self.median(),
            "rounds": self.rates,
            "p50_microseconds": self.p50,
            "p99_microseconds": self.p99,
            "largest_microseconds": self.largest,
            "calls": self.calls,
            "errors": self.errors,
            "server_cpu_microseconds_a_call": self.cpu_microseconds_a_call,
        })
    }
}

impl Report {
    fn figures(&self, target: Target) -> Figures {
        let rounds: Vec<_> = self.rounds.iter().filter(|round| round.target == target).collect();
        let mut rates: Vec<f64> = rounds.iter().map(|round| round.done.rate()).collect();
        rates.sort_by(f64::total_cmp);
        let mut times: Vec<u32> =
            rounds.iter().flat_map(|round| round.done.microseconds.iter().copied()).collect();
        times.sort_unstable();
        let mut errors = BTreeMap::new();
        for (status, count) in rounds.iter().flat_map(|round| &round.done.errors) {
            *errors.entry(*status).or_default() += count;
        }
        let cpu: Duration = rounds.iter().map(|round| round.server_cpu).sum();
        let calls = rounds.iter().map(|round| round.done.calls()).sum();
        let divisor = f64::from(u32::try_from(calls).unwrap_or(u32::MAX).max(1));
        Figures {
            rates,
            p50: percentile(&times, 50),
            p99: percentile(&times, 99),
            largest: times.last().copied().unwrap_or_default(),
            calls,
            errors,
            cpu_microseconds_a_call: cpu.as_secs_f64() * 1e6 / divisor,
        }
    }

    /// How the gate's median time compares with a bare answer and one write to the disk.
    fn over_disk(&self, gate: &Figures, bare: &Figures) -> f64 {
        f64::from(gate.p50) / f64::from(bare.p50.saturating_add(self.fdatasync).max(1))
    }

    /// What is wanted of a run like this one.
    fn goals(&self, gate: &Figures, bare: &Figures) -> Vec<Goal> {
        let (ratio, failed) = (gate.median() / bare.median(), gate.failed());
        let errors = f64::from(u32::try_from(failed).unwrap_or(u32::MAX));
        let mut goals = vec![Goal::at_most("answers other than 200", 0.0, errors)];
        if self.connections == 1 {
            goals.push(Goal::at_most("p50 ÷ (bare p50 + fdatasync)", 1.5, self.over_disk(gate, bare)));
            return goals;
        }
        let wanted = match (self.is_verified, self.is_embedded) {
            (true, _) => 0.8,
            (false, true) => 0.4,
            (false, false) => 0.35,
        };
        goals.push(Goal::at_least("gate ÷ bare handler", wanted, ratio));
        if self.is_embedded && !self.is_verified {
            let (p50, p99) = (f64::from(gate.p50), f64::from(gate.p99));
            goals.push(Goal::at_most("p99 in ms", 15.0, p99 / 1e3));
            goals.push(Goal::at_most("p99 ÷ p50", 4.0, p99 / p50));
        }
        if let Some((_, crowd)) = &self.crowd {
            let errors = f64::from(u32::try_from(crowd.failed()).unwrap_or(u32::MAX));
            goals.push(Goal::at_least("rate of the crowd ÷ rate", 0.9, crowd.median() / gate.median()));
            goals.push(Goal::at_most("answers to the crowd other than 200", 0.0, errors));
        }
        goals
    }

    /// The machine form.
    pub(crate) fn to_json(&self) -> Value {
        let (gate, bare) = (self.figures(Target::Gate), self.figures(Target::Bare));
        let crowd = self.crowd.as_ref().map(|(connections, crowd)| {
            json!({"connections": connections, "requests_a_second": crowd.median(), "rounds": crowd.rates(),
                "ratio_to_gate": crowd.median() / gate.median(), "p50_microseconds": crowd.percentile(50),
                "p99_microseconds": crowd.percentile(99), "errors": crowd.failed()})
        });
        json!({
            "connections": self.connections,
            "tokens": self.tokens,
            "data": self.data,
            "crowd": crowd,
            "goals": Goal::to_json(&self.goals(&gate, &bare)),
            "gate": gate.to_json(),
            "bare": bare.to_json(),
            "ratio": gate.median() / bare.median(),
            "fdatasync_microseconds": self.fdatasync,
            "p50_over_bare_and_fdatasync": self.over_disk(&gate, &bare),
            "memory_kib": {
                "before": self.memory_before,
                "after": self.memory_after,
                "after_million": self.memory_after_million,
            },
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gate, bare) = (self.figures(Target::Gate), self.figures(Target::Bare));
        writeln!(f, "{} connections, {} tokens, {}", self.connections, self.tokens, self.data)?;
        writeln!(
            f,
            "{:<6}{:>12}{:>22}{:>10}{:>10}{:>10}{:>10}{:>8}{:>14}",
            "",
            "requests/s",
            "slowest…fastest",
            "p50 ms",
            "p99 ms",
            "most ms",
            "calls",
            "errors",
            "server µs/call"
        )?;
        for (target, figures) in [(Target::Gate, &gate), (Target::Bare, &bare)] {
            let slowest = figures.rates.first().copied().unwrap_or_default();
            let fastest = figures.rates.last().copied().unwrap_or_default();
            writeln!(
                f,
                "{target:<6}{:>12.0}{:>22}{:>10.2}{:>10.2}{:>10.1}{:>10}{:>8}{:>14.0}",
                figures.median(),
                format!("{slowest:.0}…{fastest:.0}"),
                f64::from(figures.p50) / 1e3,
                f64::from(figures.p99) / 1e3,
                f64::from(figures.largest) / 1e3,
                figures.calls,
                figures.failed(),
                figures.cpu_microseconds_a_call
            )?;
            if !figures.errors.is_empty() {
                writeln!(f, "      errors by status: {:?}", figures.errors)?;
            }
        }
        writeln!(f, "ratio {:.3} of the bare handler", gate.median() / bare.median())?;
        writeln!(
            f,
            "p50 {:.2} × (bare p50 + 4 KiB and fdatasync, {:.2} ms)",
            self.over_disk(&gate, &bare),
            f64::from(self.fdatasync) / 1e3
        )?;
        if let Some((connections, crowd)) = &self.crowd {
            writeln!(
                f,
                "over {connections} connections {:.0} a second, {:.2} of that; p50 {:.2} ms, p99 {:.2} ms, {} errors",
                crowd.median(),
                crowd.median() / gate.median(),
                f64::from(crowd.percentile(50)) / 1e3,
                f64::from(crowd.percentile(99)) / 1e3,
                crowd.failed()
            )?;
        }
        write!(
            f,
            "resident memory {} MiB before, {} MiB after",
            self.memory_before / 1024,
            self.memory_after / 1024
        )?;
        if let Some(memory) = self.memory_after_million {
            write!(f, ", {} MiB after a million calls", memory / 1024)?;
        }
        writeln!(f)?;
        self.goals(&gate, &bare).iter().try_for_each(|goal| writeln!(f, "{goal}"))
    }
}

/// The value that so many of a hundred do not exceed.
pub(crate) fn percentile(sorted: &[u32], percent: usize) -> u32 {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}
