//! The machine around: its clock, its disk, the note of outages, and the way mail takes.

use super::super::MailTransport;
use super::{Finding, Patient};
use crate::committer::{clock as now_by, entropy};
use crate::domain::{Duration, Timestamp};
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, DataDirectory, StoreError};
use lettre::transport::smtp::SmtpTransport;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::process::Command;

/// Under this much free space, in KiB, a look is worth it: 1 GiB.
const LITTLE_SPACE: u64 = 1024 * 1024;
/// Under this much free space, in KiB, the log is about to stop: 100 MiB.
const NO_SPACE: u64 = 100 * 1024;
/// How far two clocks may differ without a word.
const DRIFT: Duration = Duration::seconds(5);
/// How far a clock may be behind the log before it is wrong.
const BEHIND: Duration = Duration::minutes(1);
/// How long a mail server may take.
const SMTP_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// The most of an outage's note that is read, in bytes.
const LARGEST_NOTE: u64 = 64 * 1024;

/// Disk, note of outages and mail.
pub(super) fn look_over(patient: &Patient, found: &mut dyn FnMut(Finding)) {
    if let Some(directory) = &patient.data_dir {
        found(disk(directory));
        found(outage(directory));
    }
    found(mail(patient.mail.as_ref()));
}

/// This machine's clock against the newest receipt, and against the database's where it has one.
pub(super) fn clock(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    now: Timestamp,
    found: &mut dyn FnMut(Finding),
) -> Result<(), StoreError> {
    let slug = &tenant.slug;
    let Some(head) = storage::head::find(connection, slug)? else { return Ok(()) };
    let database = storage::head::database_time(connection)?;
    let counts = database.unwrap_or_else(now_by::now);
    let behind = head.last_at.since(counts);
    if behind > BEHIND {
        found(Finding::fail(
            "clock",
            format!(
                "{slug}: the newest receipt is of {}, {} s ahead of the clock that counts: until the clock gets there \
                 every receipt bears that time; set the clock right",
                head.last_at,
                behind.whole_seconds()
            ),
        ));
        return Ok(());
    }
    let apart = database.map(|database| database.since(now).whole_milliseconds().unsigned_abs());
    found(match apart.filter(|apart| *apart > DRIFT.whole_milliseconds().unsigned_abs()) {
        Some(apart) => Finding::warn(
            "clock",
            format!(
                "{slug}: the database's clock, which counts, and this machine's are {apart} ms apart: run NTP on both"
            ),
        ),
        None => Finding::ok("clock", format!("{slug}: not behind the newest receipt, of {}", head.last_at)),
    });
    Ok(())
}

fn disk(directory: &Path) -> Finding {
    let shown = directory.display();
    // POSIX prints one line of sizes in KiB under its headings.
    let asked = Command::new("df").arg("-Pk").arg(directory).output();
    let text = match &asked {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(_) => String::new(),
    };
    let free = text.lines().nth(1).and_then(|line| line.split_whitespace().rev().nth(2)?.parse::<u64>().ok());
    let Some(free) = free else {
        return Finding::warn(
            "disk",
            format!("`{shown}`: how much is free is not known: `df -Pk` gave no answer"),
        );
    };
    let mebibytes = free / 1024;
    if free < NO_SPACE {
        let says = format!(
            "`{shown}`: {mebibytes} MiB are free: the log is about to stop, and with it every answer: make room now"
        );
        return Finding::fail("disk", says);
    }
    if free < LITTLE_SPACE {
        return Finding::warn("disk", format!("`{shown}`: {mebibytes} MiB are free: make room"));
    }
    Finding::ok("disk", format!("`{shown}`: {mebibytes} MiB are free"))
}

fn outage(directory: &Path) -> Finding {
    let file = DataDirectory::outage_file(directory);
    let shown = file.display();
    if !file.exists() {
        return Finding::ok("outage", "no note: no server has run here yet");
    }
    if let Err(error) = OpenOptions::new().write(true).open(&file) {
        return Finding::fail(
            "outage",
            format!(
                "`{shown}` cannot be written: {error}: calls without a record could not be counted; mend its mode"
            ),
        );
    }
    let mut text = String::new();
    let read = File::open(&file).and_then(|file| file.take(LARGEST_NOTE).read_to_string(&mut text));
    match read {
        Err(error) => Finding::fail("outage", format!("`{shown}` cannot be read: {error}")),
        Ok(_) if text.trim().is_empty() => Finding::ok("outage", "nothing waits to be recorded"),
        Ok(_) => Finding::warn(
            "outage",
            format!(
                "`{shown}` notes calls that got no record yet: the server records them once the log can be written; if \
                 none runs, start it"
            ),
        ),
    }
}

fn mail(transport: Option<&MailTransport>) -> Finding {
    match transport {
        None => Finding::ok(
            "mail",
            "not looked at: give `--mail-folder` or `--smtp-url` as `serve` has it, or the same `--config`",
        ),
        Some(MailTransport::Folder(folder)) => {
            let shown = folder.display();
            let probe = folder.join(format!(".procura-{}", hex::encode(entropy::bytes::<8>())));
            let tried = File::create_new(&probe).and_then(|_| fs::remove_file(&probe));
            match tried {
                Ok(()) => Finding::ok("mail", format!("`{shown}` can be written")),
                Err(error) => {
                    Finding::fail("mail", format!("`{shown}` cannot be written: {error}: no mail leaves"))
                }
            }
        }
        Some(MailTransport::Smtp(url)) => match SmtpTransport::from_url(url) {
            Err(error) => Finding::fail("mail", format!("the mail server's address does not do: {error}")),
            Ok(builder) => match builder.timeout(Some(SMTP_PATIENCE)).build().test_connection() {
                Ok(true) => Finding::ok("mail", "the mail server answers"),
                Ok(false) => {
                    Finding::fail("mail", "the mail server does not take the connection: no mail leaves")
                }
                Err(error) => Finding::fail("mail", format!("the mail server: {error}: no mail leaves")),
            },
        },
    }
}
