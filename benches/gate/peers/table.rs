//! What was measured, as a table and as JSON, and which targets were met.

use super::kind::Kind;
use crate::report::Series;
use serde_json::{Value, json};
use std::fmt;

/// What came of a server.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Its rounds.
    Measured(Series),
    /// Why there are none.
    NotRun(String),
}

/// One server.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    version: Option<String>,
    /// Whether what it answered is on the disk before it answers.
    is_durable: bool,
    /// How many times as fast the gate is to be.
    target: Option<f64>,
    pub(super) outcome: Outcome,
}

impl Row {
    /// One of Procura's handlers.
    pub(super) fn procura(series: Series, version: &str, is_durable: bool) -> Self {
        let version = Some(version.to_owned());
        Self { name: series.what, version, is_durable, target: None, outcome: Outcome::Measured(series) }
    }

    /// A peer.
    pub(super) fn peer(kind: Kind, version: Option<String>, outcome: Outcome) -> Self {
        Self { name: kind.name(), version, is_durable: kind.is_durable(), target: kind.target(), outcome }
    }

    /// Open Policy Agent, which has a target too.
    pub(super) fn opa() -> Self {
        let why = "package registries carry clients and engines of it, none the server";
        let outcome = Outcome::NotRun(why.to_owned());
        Self { name: "OPA", version: None, is_durable: false, target: Some(3.5), outcome }
    }

    /// Without what stands behind the number.
    fn short_version(&self) -> &str {
        let version = self.version.as_deref().unwrap_or_default();
        version.split_once('-').map_or(version, |(number, _)| number)
    }

    fn durable(&self) -> &'static str {
        if self.is_durable { "yes" } else { "no" }
    }
}

/// What was measured; the gate comes first.
#[derive(Debug)]
pub(crate) struct Peers {
    connections: usize,
    data: String,
    rows: Vec<Row>,
}

impl Peers {
    pub(super) fn new(connections: usize, data: String, rows: Vec<Row>) -> Self {
        Self { connections, data, rows }
    }

    /// How many times as fast the gate was.
    fn ratio(&self, series: &Series) -> f64 {
        match self.rows.first().map(|row| &row.outcome) {
            Some(Outcome::Measured(gate)) => gate.median() / series.median(),
            Some(Outcome::NotRun(_)) | None => f64::NAN,
        }
    }

    /// The machine form.
    pub(crate) fn to_json(&self) -> Value {
        let servers: Value = self.rows.iter().map(|row| self.row_to_json(row)).collect();
        json!({"connections": self.connections, "data": self.data, "servers": servers})
    }

    fn row_to_json(&self, row: &Row) -> Value {
        match &row.outcome {
            Outcome::NotRun(why) => json!({"server": row.name, "not_run": why, "target_ratio": row.target}),
            Outcome::Measured(series) => {
                let ratio = self.ratio(series);
                json!({
                    "server": row.name,
                    "version": row.version,
                    "durable": row.is_durable,
                    "requests_a_second": series.median(),
                    "rounds": series.rates(),
                    "ratio": ratio,
                    "target_ratio": row.target,
                    "target_met": row.target.map(|target| ratio >= target),
                    "p50_microseconds": series.percentile(50),
                    "p99_microseconds": series.percentile(99),
                    "errors": series.failed(),
                })
            }
        }
    }
}

impl fmt::Display for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} connections, {}", self.connections, self.data)?;
        writeln!(
            f,
            "{:<27}{:<10}{:<9}{:>12}{:>10}{:>10}{:>10}{:>8}",
            "", "version", "durable", "requests/s", "gate ÷", "p50 ms", "p99 ms", "errors"
        )?;
        for row in &self.rows {
            match &row.outcome {
                Outcome::NotRun(why) => writeln!(f, "{:<27}not run: {why}", row.name)?,
                Outcome::Measured(series) => writeln!(
                    f,
                    "{:<27}{:<10}{:<9}{:>12.0}{:>10.2}{:>10.2}{:>10.2}{:>8}",
                    row.name,
                    row.short_version(),
                    row.durable(),
                    series.median(),
                    self.ratio(series),
                    f64::from(series.percentile(50)) / 1e3,
                    f64::from(series.percentile(99)) / 1e3,
                    series.failed()
                )?,
            }
        }
        for row in &self.rows {
            let Some(target) = row.target else { continue };
            let verdict = match &row.outcome {
                Outcome::Measured(series) if self.ratio(series) >= target => "met",
                Outcome::Measured(_) => "missed",
                Outcome::NotRun(_) => "could not be run",
            };
            writeln!(f, "target: the gate at least {target} × {}: {verdict}", row.name)?;
        }
        Ok(())
    }
}
