//! How far something is, on a terminal, once it takes longer than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// After how long it is shown.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Bytes done, of all where it is known how many there are; disappears when dropped.
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
        let bar = ProgressBar::with_draw_target(all, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, begun: Instant::now(), is_terminal: io::stderr().is_terminal() }
    }

    /// Counts more.
    pub(super) fn advance(&self, bytes: usize) {
        self.bar.inc(u64::try_from(bytes).unwrap_or(0));
        if self.is_terminal && self.bar.is_hidden() && self.begun.elapsed() > SHOWN_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
