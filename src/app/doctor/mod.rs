//! Looks everything over and says of each thing, in one sentence, whether it is well and what to do if it is not.

mod documents;
mod keys;
mod logs;
mod machine;
mod tables;

use super::MailTransport;
use crate::committer::clock;
use crate::storage::{self, AnyConnection, Database, StoreError};
use std::path::PathBuf;

/// What is looked over.
#[derive(Debug)]
pub struct Patient {
    /// Where the keys lie, if that was said.
    pub data_dir: Option<PathBuf>,
    /// Where the tables are.
    pub database: Database,
    /// How mail leaves, if that was said.
    pub mail: Option<MailTransport>,
}

/// How well something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// As it should be.
    Ok,
    /// Worth a look.
    Warn,
    /// Wrong: something does not work, or cannot be trusted.
    Fail,
}

impl Health {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How well it is.
    pub health: Health,
    /// What it is.
    pub name: &'static str,
    /// What is so, and what to do if it is not well.
    pub says: String,
}

impl Finding {
    /// As it should be.
    pub fn ok(name: &'static str, says: impl Into<String>) -> Self {
        Self { health: Health::Ok, name, says: says.into() }
    }

    /// Worth a look.
    pub fn warn(name: &'static str, says: impl Into<String>) -> Self {
        Self { health: Health::Warn, name, says: says.into() }
    }

    /// Wrong.
    pub fn fail(name: &'static str, says: impl Into<String>) -> Self {
        Self { health: Health::Fail, name, says: says.into() }
    }
}

/// Looks everything over; `found` hears of each thing as it is known, `advance` of receipts as they are read.
pub fn look_over(patient: &Patient, found: &mut dyn FnMut(Finding), advance: &dyn Fn(u64)) {
    let opened = patient.database.open_readers().and_then(|readers| readers.get());
    match opened {
        Err(error) => found(Finding::fail("database", advice_on_opening(&patient.database, &error))),
        Ok(mut connection) => {
            if let Err(error) = within(patient, &mut connection, found, advance) {
                let says = format!("{error}: the rest of the database was not looked at");
                found(Finding::fail("database", says));
            }
        }
    }
    machine::look_over(patient, found);
}

fn advice_on_opening(database: &Database, error: &StoreError) -> String {
    match database {
        Database::Sqlite(file) => {
            format!("`{}` cannot be opened: {error}: keep it, and restore the last backup", file.display())
        }
        Database::Postgres(_) => {
            format!(
                "{database} cannot be reached: {error}: see whether PostgreSQL runs, and that the address is right"
            )
        }
    }
}

fn within(
    patient: &Patient,
    connection: &mut AnyConnection,
    found: &mut dyn FnMut(Finding),
    advance: &dyn Fn(u64),
) -> Result<(), StoreError> {
    tables::look_over(patient, connection, found)?;
    let tenants = storage::tenant::all(connection)?;
    if tenants.is_empty() {
        found(Finding::warn("tenants", "none is set up: `procura setup` makes one"));
    }
    let master = keys::master(patient, found);
    let now = clock::now();
    for tenant in &tenants {
        keys::look_over(connection, tenant, master.as_ref(), found)?;
        logs::look_over(connection, tenant, master.as_ref(), found, advance)?;
        machine::clock(connection, tenant, now, found)?;
        documents::look_over(connection, tenant, now, found)?;
        tables::waiting(connection, tenant, now, found)?;
    }
    tables::mail(connection, found)
}
