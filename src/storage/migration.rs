//! Brings a database to the tables this version knows.

use super::{AnyConnection, StoreError};
use diesel::migration::{Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel::{QueryableByName, RunQueryDsl, sql_query};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Runs the migrations that have not run yet.
pub fn migrate(connection: &mut AnyConnection) -> Result<(), StoreError> {
    let ran = match connection {
        AnyConnection::Postgres(postgres) => postgres.run_pending_migrations(POSTGRES).map(|_| ()),
        AnyConnection::Sqlite(sqlite) => sqlite.run_pending_migrations(SQLITE).map(|_| ()),
    };
    ran.map_err(|error| StoreError::Failed(format!("the tables could not be brought up to date: {error}")))
}

/// How a database's tables differ from those this version knows, by the versions of migrations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differs {
    /// Known here, not run there yet.
    pub pending: Vec<String>,
    /// Run there, not known here: a newer version was.
    pub unknown: Vec<String>,
}

/// Compares without changing anything; all are pending where the tables are not there.
pub fn differs(connection: &mut AnyConnection) -> Result<Differs, StoreError> {
    #[derive(QueryableByName)]
    struct Ran {
        #[diesel(sql_type = diesel::sql_types::Text)]
        version: String,
    }
    let query =
        sql_query("SELECT CAST(version AS TEXT) AS version FROM __diesel_schema_migrations ORDER BY 1");
    let (known, ran): (Vec<String>, Vec<Ran>) = match connection {
        AnyConnection::Postgres(postgres) => {
            (versions(&MigrationSource::<Pg>::migrations(&POSTGRES).map_err(failed)?), query.load(postgres)?)
        }
        AnyConnection::Sqlite(sqlite) => {
            (versions(&MigrationSource::<Sqlite>::migrations(&SQLITE).map_err(failed)?), query.load(sqlite)?)
        }
    };
    let ran: Vec<String> = ran.into_iter().map(|ran| ran.version).collect();
    Ok(Differs {
        pending: known.iter().filter(|version| !ran.contains(version)).cloned().collect(),
        unknown: ran.into_iter().filter(|version| !known.contains(version)).collect(),
    })
}

fn versions<D: diesel::backend::Backend>(migrations: &[Box<dyn Migration<D>>]) -> Vec<String> {
    migrations.iter().map(|migration| migration.name().version().to_string()).collect()
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("the migrations cannot be read: {error}"))
}
