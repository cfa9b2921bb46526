//! The database: whether it is whole, set as it must be, and what waits in it.

use super::{Finding, Patient};
use crate::domain::{Duration, TenantSlug, Timestamp};
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, Database, StoreError, backup, condition};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// How long something that happens by itself may be late.
const LATE: Duration = Duration::minutes(10);

/// Whether it is whole and set as it must be.
pub(super) fn look_over(
    patient: &Patient,
    connection: &mut AnyConnection,
    found: &mut dyn FnMut(Finding),
) -> Result<(), StoreError> {
    let version = condition::version(connection)?;
    let damage = backup::damage(connection)?;
    found(match damage.first() {
        Some(first) => Finding::fail(
            "database",
            format!(
                "{version}: {} faults, the first: {first}: stop the server, keep the file, restore the last backup",
                damage.len()
            ),
        ),
        None => Finding::ok("database", format!("{version} at {}, whole", patient.database)),
    });
    if let Database::Sqlite(file) = &patient.database
        && let Ok(about) = fs::metadata(file)
        && about.permissions().mode() & 0o077 != 0
    {
        let mode = about.permissions().mode() & 0o7777;
        let shown = file.display();
        found(Finding::warn("database", format!("`{shown}` has mode {mode:04o}: chmod 600 it")));
    }
    settings(patient, connection, found)?;
    found(tables(connection)?);
    found(foreign(connection)?);
    Ok(())
}

fn settings(
    patient: &Patient,
    connection: &mut AnyConnection,
    found: &mut dyn FnMut(Finding),
) -> Result<(), StoreError> {
    let expected: &[(&'static str, &str, &str)] = match &patient.database {
        Database::Sqlite(_) => &[
            ("journal_mode", "wal", "readers would block the writer"),
            ("synchronous", "2", "a power cut could take answered calls"),
            ("foreign_keys", "1", "rows could refer to nothing"),
        ],
        Database::Postgres(_) => &[
            ("synchronous_commit", "on", "a crash could take answered calls"),
            ("fsync", "on", "a power cut could take the whole database"),
            ("full_page_writes", "on", "a power cut could tear pages"),
        ],
    };
    let mut kept = Vec::new();
    for (name, value, danger) in expected {
        let is = condition::setting(connection, name)?;
        if is == *value {
            kept.push(format!("{name} {is}"));
        } else {
            let says =
                format!("{name} is {is}, {value} is needed: {danger}: set it and start the database again");
            found(Finding::fail("settings", says));
        }
    }
    if kept.len() == expected.len() {
        found(Finding::ok("settings", kept.join(", ")));
    }
    Ok(())
}

fn tables(connection: &mut AnyConnection) -> Result<Finding, StoreError> {
    let storage::Differs { pending, unknown } = storage::differs(connection)?;
    Ok(match (unknown.first(), pending.first()) {
        (Some(newer), _) => Finding::fail(
            "tables",
            format!(
                "a newer version of Procura made them ({newer}): run that one, this one does not know them"
            ),
        ),
        (None, Some(next)) => Finding::warn(
            "tables",
            format!(
                "an older version made them: the next `procura serve` brings them up to date, from {next} on"
            ),
        ),
        (None, None) => Finding::ok("tables", "of this version"),
    })
}

/// Whether the database holds anything that Procura did not make, which could change what it writes.
fn foreign(connection: &mut AnyConnection) -> Result<Finding, StoreError> {
    let foreign = backup::foreign(connection)?;
    let acting = foreign.iter().find(|one| one.acts);
    Ok(match (acting, foreign.first()) {
        (Some(one), _) => Finding::fail(
            "objects",
            format!(
                "{}: it could change what is written: stop the server and find out who made it",
                one.what
            ),
        ),
        (None, Some(one)) => {
            Finding::warn("objects", format!("{}: nothing of Procura needs it so", one.what))
        }
        (None, None) => Finding::ok("objects", "nothing that Procura did not make"),
    })
}

/// What should have happened by itself, and what waits for people.
pub(super) fn waiting(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    now: Timestamp,
    found: &mut dyn FnMut(Finding),
) -> Result<(), StoreError> {
    let slug: &TenantSlug = &tenant.slug;
    let (unknown, oldest) = condition::unknown_effects(connection, slug)?;
    let (claimed, undecided) = condition::overdue(connection, slug, now.minus(LATE))?;
    found(match oldest {
        Some(oldest) => Finding::warn(
            "effects",
            format!(
                "{slug}: of {unknown} nobody knows how they ended, the oldest was to be reported on by {oldest}: they keep \
                 their limits reserved until their people resolve them in the queue"
            ),
        ),
        None => Finding::ok("effects", format!("{slug}: none is unknown")),
    });
    found(if claimed == 0 && undecided == 0 {
        Finding::ok("upkeep", format!("{slug}: what is over was ended"))
    } else {
        Finding::warn(
            "upkeep",
            format!(
                "{slug}: {undecided} decisions and {claimed} effects are over for more than 10 minutes and were not ended: \
                 see whether a server runs; if one does, its log says why"
            ),
        )
    });
    Ok(())
}

/// Mail that did not leave.
pub(super) fn mail(connection: &mut AnyConnection, found: &mut dyn FnMut(Finding)) -> Result<(), StoreError> {
    let (given_up, retried, why) = condition::unsent_mail(connection)?;
    let why = why.map(|why| format!(", the last because: {why}")).unwrap_or_default();
    found(if given_up == 0 && retried == 0 {
        Finding::ok("outbox", "no mail has failed")
    } else {
        Finding::warn(
            "outbox",
            format!(
                "{given_up} mails were given up and {retried} are tried again{why}: people may not know what waits"
            ),
        )
    });
    Ok(())
}
