//! Brings a database to the tables this version knows.

use super::{AnyConnection, StoreError};
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
