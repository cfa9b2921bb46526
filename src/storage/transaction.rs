//! A transaction that spans a batch, and savepoints inside it.

use super::{AnyConnection, StoreError};
use diesel::connection::{AnsiTransactionManager, Connection, TransactionManager};

/// An open transaction; the connection it is on must be closed if neither `commit` nor `roll_back` succeeds.
#[derive(Debug)]
pub struct Transaction(());

impl Transaction {
    /// Begins to write: `BEGIN IMMEDIATE` on SQLite, so that it cannot fail later for want of the lock;
    /// `READ COMMITTED` on PostgreSQL, so that statements after the head's lock see what the lock protects.
    pub fn begin(connection: &mut AnyConnection) -> Result<Self, StoreError> {
        match connection {
            AnyConnection::Postgres(postgres) => {
                AnsiTransactionManager::begin_transaction_sql(
                    postgres,
                    "BEGIN ISOLATION LEVEL READ COMMITTED",
                )?;
            }
            AnyConnection::Sqlite(sqlite) => {
                AnsiTransactionManager::begin_transaction_sql(sqlite, "BEGIN IMMEDIATE")?;
            }
        }
        Ok(Self(()))
    }

    /// Commits. An error here means that nobody knows whether the transaction is durable.
    pub fn commit(self, connection: &mut AnyConnection) -> Result<(), StoreError> {
        <AnyConnection as Connection>::TransactionManager::commit_transaction(connection)?;
        Ok(())
    }

    /// Rolls back.
    pub fn roll_back(self, connection: &mut AnyConnection) -> Result<(), StoreError> {
        <AnyConnection as Connection>::TransactionManager::rollback_transaction(connection)?;
        Ok(())
    }
}

/// Runs `action` so that its writes stay only if it succeeds; whatever else the transaction did stays.
pub fn savepoint<T, E: From<StoreError>>(
    connection: &mut AnyConnection,
    action: impl FnOnce(&mut AnyConnection) -> Result<T, E>,
) -> Result<T, E> {
    type Manager = <AnyConnection as Connection>::TransactionManager;
    Manager::begin_transaction(connection).map_err(StoreError::from)?;
    match action(connection) {
        Ok(value) => {
            Manager::commit_transaction(connection).map_err(StoreError::from)?;
            Ok(value)
        }
        Err(error) => {
            Manager::rollback_transaction(connection).map_err(StoreError::from)?;
            Err(error)
        }
    }
}
