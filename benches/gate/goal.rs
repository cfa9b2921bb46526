//! What a figure is wanted to be, and whether it is.

use serde_json::{Value, json};
use std::fmt;

/// One target, with what was measured.
#[derive(Debug)]
pub(crate) struct Goal {
    what: &'static str,
    wanted: f64,
    measured: f64,
    is_floor: bool,
}

impl Goal {
    /// Met by this much or more.
    pub(crate) fn at_least(what: &'static str, wanted: f64, measured: f64) -> Self {
        Self { what, wanted, measured, is_floor: true }
    }

    /// Met by this much or less.
    pub(crate) fn at_most(what: &'static str, wanted: f64, measured: f64) -> Self {
        Self { what, wanted, measured, is_floor: false }
    }

    /// What is no number meets nothing.
    fn is_met(&self) -> bool {
        if self.is_floor { self.measured >= self.wanted } else { self.measured <= self.wanted }
    }

    /// All of them as JSON.
    pub(crate) fn to_json(goals: &[Self]) -> Value {
        let goal = |goal: &Self| {
            let bound = if goal.is_floor { "at_least" } else { "at_most" };
            json!({"what": goal.what, bound: goal.wanted, "measured": goal.measured, "met": goal.is_met()})
        };
        goals.iter().map(goal).collect()
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.is_floor { "at least" } else { "at most" };
        let verdict = if self.is_met() { "met" } else { "missed" };
        let digits = if self.wanted < 100.0 { 2 } else { 0 };
        let (what, wanted, measured) = (self.what, self.wanted, self.measured);
        write!(f, "target: {what} {bound} {wanted}: {verdict} ({measured:.digits$})")
    }
}
