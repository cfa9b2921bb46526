//! How far something is, on a terminal, once it takes longer than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// After how long it is shown.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// What is done, of all where it is known how much there is; disappears when dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    is_terminal: bool,
}

impl Progress {
    /// Starts at none.
    pub(super) fn of_bytes(all: Option<u64>) -> Self {
        let template = match all {
            Some(_) => "{bar:40} {bytes} of {total_bytes}, {eta} left",
            None => "{spinner} {bytes}",
        };
        Self::drawn(all, template)
    }

    /// Starts at none of so many things, named in the plural.
    pub(super) fn of_items(all: u64, noun: &str) -> Self {
        Self::drawn(Some(all), &format!("{{bar:40}} {{human_pos}} of {{human_len}} {noun}, {{eta}} left"))
    }

    /// Starts at none of things that nobody has counted yet, named in the plural.
    pub(super) fn of_unknown(noun: &str) -> Self {
        Self::drawn(None, &format!("{{spinner}} {{human_pos}} {noun}"))
    }

    fn drawn(all: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(all, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, begun: Instant::now(), is_terminal: io::stderr().is_terminal() }
    }

    /// Counts more bytes.
    pub(super) fn advance(&self, bytes: usize) {
        self.count(u64::try_from(bytes).unwrap_or(0));
    }

    /// Counts more things.
    pub(super) fn count(&self, more: u64) {
        self.bar.inc(more);
        if self.is_terminal && self.bar.is_hidden() && self.begun.elapsed() > SHOWN_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Does something that writes lines, with the bar out of the way.
    pub(super) fn hidden(&self, act: impl FnOnce()) {
        self.bar.suspend(act);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
