//! Where the service's data are: the data directory and the database.

use super::arguments;
use super::config::{Origin, Sources, wrong};
use super::output::Failure;
use super::values;
use crate::storage::{DataDirectory, Database};
use std::path::PathBuf;

/// A data directory and its database.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Where the keys and, embedded, the database lie.
    pub(super) data_dir: PathBuf,
    /// Where the tables are.
    pub(super) database: Database,
}

impl Place {
    /// A directory, and the database that is named or lies in it.
    pub(super) fn new(data_dir: PathBuf, database: Option<Database>) -> Self {
        let database = database.unwrap_or_else(|| Database::Sqlite(DataDirectory::database_file(&data_dir)));
        Self { data_dir, database }
    }

    /// Reads both options; the directory need not be there.
    pub(super) fn read(sources: &Sources, options: &arguments::Place) -> Result<Self, Failure> {
        let data_dir = sources.required("data-dir", options.data_dir.as_deref(), directory)?;
        let database = sources.parse("database", options.database.as_deref(), values::database)?;
        Ok(Self::new(data_dir, database))
    }

    /// Reads both options; the directory must be there.
    pub(super) fn existing(sources: &Sources, options: &arguments::Place) -> Result<Self, Failure> {
        Self::expecting(sources, options, "a new service is made by `procura setup`")
    }

    /// The same; `advice` says what to do where there is no directory.
    pub(super) fn expecting(
        sources: &Sources,
        options: &arguments::Place,
        advice: &str,
    ) -> Result<Self, Failure> {
        let place = Self::read(sources, options)?;
        if place.data_dir.is_dir() {
            return Ok(place);
        }
        let origin = sources
            .value("data-dir", options.data_dir.as_deref())?
            .map_or(Origin::Typed, |given| given.origin);
        let why = format!("`{}` is not a directory: {advice}", place.data_dir.display());
        Err(wrong("data-dir", &origin, &why))
    }

    /// The database alone, for commands that only read; it must be there.
    pub(super) fn database(sources: &Sources, options: &arguments::Place) -> Result<Database, Failure> {
        let named = sources.parse("database", options.database.as_deref(), values::database)?;
        let database = match named {
            Some(database) => database,
            None => Self::existing(sources, options)?.database,
        };
        match &database {
            Database::Sqlite(file) if !file.is_file() => Err(Failure::failed(format!(
                "there is no database `{}`: a new one is made by `procura setup`, one that was lost is brought back by \
                 `procura restore FILE`",
                file.display()
            ))),
            Database::Sqlite(_) | Database::Postgres(_) => Ok(database),
        }
    }
}

/// A directory, there or not.
pub(super) fn directory(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("`` is not a directory".into()) } else { Ok(text.into()) }
}
