//! The figures of a large log as a table and as JSON.

use super::build::Sizes;
use super::pages::Page;
use crate::goal::Goal;
use crate::report::Series;
use serde_json::{Value, json};
use std::fmt;
use std::time::Duration;

/// How long a page may take, in milliseconds.
const PAGE: f64 = 50.0;

/// What was measured.
#[derive(Debug)]
pub(crate) struct Large {
    /// Receipts in the log at the end.
    pub(crate) receipts: u64,
    /// Who is there.
    pub(crate) sizes: Sizes,
    /// What its files hold.
    pub(crate) bytes: u64,
    /// How long it took to build what was not there.
    pub(crate) built: Duration,
    /// The gate on the empty log.
    pub(crate) empty: Series,
    /// The gate on the large one.
    pub(crate) full: Series,
    /// From the start until it is ready.
    pub(crate) started: Duration,
    /// Resident memory after the rounds and the pages, in KiB.
    pub(crate) memory: u64,
    /// Resident memory when it was ready, in KiB.
    pub(crate) memory_started: u64,
    /// After the log was built, until nothing was left to do.
    pub(crate) caught_up: Option<Duration>,
    /// Processor time of a stretch without calls after that, and the stretch.
    pub(crate) idle: (Duration, Duration),
    /// The pages.
    pub(crate) pages: Vec<Page>,
}

impl Large {
    fn idle_percent(&self) -> f64 {
        let (used, stretch) = self.idle;
        100.0 * used.as_secs_f64() / stretch.as_secs_f64()
    }

    fn ratio(&self) -> f64 {
        self.full.median() / self.empty.median()
    }

    fn goals(&self) -> Vec<Goal> {
        let errors = self.full.failed() + self.empty.failed();
        let mut goals = vec![
            Goal::at_least("gate on the large log ÷ on an empty one", 0.9, self.ratio()),
            Goal::at_most(
                "answers other than 200",
                0.0,
                f64::from(u32::try_from(errors).unwrap_or(u32::MAX)),
            ),
            Goal::at_most("start until ready in s", 2.0, self.started.as_secs_f64()),
            Goal::at_most("resident memory in MiB", 200.0, mebibytes(self.memory)),
            Goal::at_most("idle, % of a core", 1.0, self.idle_percent()),
        ];
        goals.extend(self.pages.iter().map(|page| Goal::at_most(page.what(), PAGE, page.milliseconds(99))));
        goals
    }

    /// The machine form.
    pub(crate) fn to_json(&self) -> Value {
        let gate = [&self.empty, &self.full].map(|series| {
            json!({"what": series.what, "requests_a_second": series.median(), "rounds": series.rates(),
                "p50_microseconds": series.percentile(50), "p99_microseconds": series.percentile(99),
                "errors": series.failed()})
        });
        json!({
            "receipts": self.receipts,
            "principals": self.sizes.principals,
            "credentials": self.sizes.credentials,
            "bytes": self.bytes,
            "built_seconds": self.built.as_secs_f64(),
            "gate": gate,
            "ratio": self.ratio(),
            "start_seconds": self.started.as_secs_f64(),
            "memory_kib": {"most": self.memory, "started": self.memory_started},
            "caught_up_seconds": self.caught_up.map(|time| time.as_secs_f64()),
            "idle_percent": self.idle_percent(),
            "pages": self.pages.iter().map(Page::to_json).collect::<Vec<_>>(),
            "goals": Goal::to_json(&self.goals()),
        })
    }
}

impl fmt::Display for Large {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (receipts, Sizes { principals, credentials, .. }) = (self.receipts, self.sizes);
        let gibibytes = mebibytes(self.bytes >> 10) / 1024.0;
        writeln!(
            f,
            "{receipts} receipts, {principals} people, {credentials} credentials, {gibibytes:.2} GiB, built in {:.0} s",
            self.built.as_secs_f64()
        )?;
        writeln!(
            f,
            "{:<26}{:>12}{:>8}{:>10}{:>10}{:>8}",
            "", "requests/s", "ratio", "p50 ms", "p99 ms", "errors"
        )?;
        for series in [&self.empty, &self.full] {
            writeln!(
                f,
                "{:<26}{:>12.0}{:>8.2}{:>10.2}{:>10.2}{:>8}",
                series.what,
                series.median(),
                series.median() / self.empty.median(),
                f64::from(series.percentile(50)) / 1e3,
                f64::from(series.percentile(99)) / 1e3,
                series.failed()
            )?;
        }
        for page in &self.pages {
            let (p50, p99) = (page.milliseconds(50), page.milliseconds(99));
            writeln!(f, "{:<46}{p50:>10.2}{p99:>10.2}", page.what())?;
        }
        writeln!(
            f,
            "ready {:.2} s after its start with {:.0} MiB of memory; at most {:.0} MiB",
            self.started.as_secs_f64(),
            mebibytes(self.memory_started),
            mebibytes(self.memory)
        )?;
        match self.caught_up {
            Some(time) => writeln!(f, "caught up {:.0} s after it was built", time.as_secs_f64())?,
            None => writeln!(f, "not caught up with what was built when it was waited no longer")?,
        }
        writeln!(f, "idle at {:.1} % of a core", self.idle_percent())?;
        self.goals().iter().try_for_each(|goal| writeln!(f, "{goal}"))
    }
}

fn mebibytes(kibibytes: u64) -> f64 {
    f64::from(u32::try_from(kibibytes).unwrap_or(u32::MAX)) / 1024.0
}
