//! The drill: what the gate does when its disk is full, and when its database is locked. It must refuse, answer again
//! afterwards, and record the gap.

use super::super::output::Failure;
use super::scratch::Scratch;
use crate::app::doctor::Finding;
use crate::committer::clock;
use crate::domain::{Duration, Timestamp};
use crate::storage::{StoreError, Transaction};
use serde_json::Value;
use std::process::Command;

/// What no file may grow beyond while the disk is full, in bytes: the note of outages is 16 KiB and must fit.
const FULL: &str = "16384";
/// How many calls are made while nothing can be recorded.
const CALLS: u64 = 2;
/// How long one of them may wait for its refusal: the gate's window is 2 s.
const WINDOW: Duration = Duration::seconds(4);
/// How long the server may take to answer again.
const PATIENCE: Duration = Duration::seconds(20);
/// How often that is tried.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// Holds both drills on a server of their own, and tells how they went.
pub(super) fn hold(found: &mut dyn FnMut(Finding)) {
    let scratch = match Scratch::start() {
        Ok(scratch) => scratch,
        Err(failure) => {
            found(Finding::fail("drill", format!("not held: {}", failure.message())));
            return;
        }
    };
    let before = allowed(&scratch);
    if let Err(why) = before {
        found(Finding::fail("drill", format!("not held: {why}")));
        return;
    }
    found(finding("disk full", disk_full(&scratch)));
    found(finding("locked", locked(&scratch)));
}

/// How a drill ended: what was seen, or what went wrong; `None` where it could not be held here.
type Ended = Result<String, Wrong>;

enum Wrong {
    NotHeld(String),
    Failed(String),
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.message().to_owned())
    }
}

impl From<StoreError> for Wrong {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.to_string())
    }
}

fn finding(what: &str, ended: Ended) -> Finding {
    match ended {
        Ok(seen) => Finding::ok("drill", format!("{what}: {seen}")),
        Err(Wrong::NotHeld(why)) => Finding::warn("drill", format!("{what}: not held: {why}")),
        Err(Wrong::Failed(why)) => Finding::fail(
            "drill",
            format!("{what}: {why}: do not rely on this build to refuse when it cannot record; report it"),
        ),
    }
}

/// No file of the server may grow, as on a disk that is full.
fn disk_full(scratch: &Scratch) -> Ended {
    limit(scratch, FULL)?;
    let refused = refused(scratch);
    limit(scratch, "unlimited")?;
    after(scratch, refused?)
}

/// Somebody else holds the lock that every batch needs.
fn locked(scratch: &Scratch) -> Ended {
    let mut other = scratch.place().database.open_writer()?;
    let transaction = Transaction::begin(&mut other)?;
    let refused = refused(scratch);
    transaction.roll_back(&mut other)?;
    after(scratch, refused?)
}

/// Sets how large the files that the server writes may become.
fn limit(scratch: &Scratch, bytes: &str) -> Result<(), Wrong> {
    let process = scratch.process().to_string();
    let set = Command::new("prlimit").arg("--pid").arg(process).arg(format!("--fsize={bytes}:")).output();
    match set {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(Wrong::NotHeld(format!("`prlimit` says: {said}")))
        }
        Err(error) => Err(Wrong::NotHeld(format!("`prlimit`, of util-linux, cannot be run: {error}"))),
    }
}

/// Calls while nothing can be recorded: each must be refused, in time and in the words for it.
fn refused(scratch: &Scratch) -> Result<u64, Wrong> {
    let gaps = scratch.recorded_gap()?;
    for _ in 0..CALLS {
        let asked = clock::now();
        let answer = scratch.ask()?;
        let waited = clock::now().since(asked);
        let outcome = answer.body.get("outcome").and_then(Value::as_str).unwrap_or("none");
        if answer.status != 503 || outcome != "refuse" {
            let said = format!(
                "the gate answered {} with outcome {outcome} though nothing was recorded",
                answer.status
            );
            return Err(Wrong::Failed(said));
        }
        if waited > WINDOW {
            return Err(Wrong::Failed(format!("the refusal took {} ms", waited.whole_milliseconds())));
        }
    }
    Ok(gaps)
}

/// Afterwards the gate must answer again, and the log say how many calls went without a record.
fn after(scratch: &Scratch, gaps_before: u64) -> Ended {
    let lifted = clock::now();
    until(lifted, || allowed(scratch))?;
    let again = clock::now().since(lifted).whole_milliseconds();
    until(lifted, || match scratch.recorded_gap() {
        Ok(gaps) if gaps.saturating_sub(gaps_before) >= CALLS => Ok(()),
        Ok(gaps) => Err(format!(
            "the log notes {} of {CALLS} calls without a record",
            gaps.saturating_sub(gaps_before)
        )),
        Err(error) => Err(error.to_string()),
    })?;
    Ok(format!("{CALLS} calls refused with 503, answered again {again} ms after, the gap is in the log"))
}

/// Tries again until it holds.
fn until(since: Timestamp, mut holds: impl FnMut() -> Result<(), String>) -> Result<(), Wrong> {
    loop {
        match holds() {
            Ok(()) => return Ok(()),
            Err(why) if clock::now().since(since) > PATIENCE => return Err(Wrong::Failed(why)),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn allowed(scratch: &Scratch) -> Result<(), String> {
    let answer = scratch.ask().map_err(|failure| failure.message().to_owned())?;
    let is_allowed = answer.body.get("outcome").and_then(Value::as_str) == Some("allow");
    if answer.status == 200 && is_allowed {
        return Ok(());
    }
    Err(format!("the gate answered {}: {}", answer.status, answer.text))
}
