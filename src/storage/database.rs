//! Which database holds the tables, and how connections to it are opened.

use super::StoreError;
use diesel::connection::SimpleConnection;
use diesel::r2d2::{self, ManageConnection, Pool, PooledConnection};
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection};
use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

/// How long a statement waits for a lock another process holds before it fails, in milliseconds.
const LOCK_WAIT_MILLISECONDS: u32 = 1000;
/// How long a caller waits for a free reading connection.
const READER_WAIT: Duration = Duration::from_secs(2);
const READERS: u32 = 8;
/// The first SQLite without the WAL-reset fault, as `sqlite3_libversion_number` counts.
const LEAST_SQLITE_VERSION: i32 = 3_051_003;

/// A connection to either database, so that one query serves both.
#[derive(diesel::MultiConnection)]
pub enum AnyConnection {
    /// PostgreSQL.
    Postgres(PgConnection),
    /// SQLite.
    Sqlite(SqliteConnection),
}

/// Where the tables are.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// One file, embedded.
    Sqlite(PathBuf),
    /// A server, by its `postgres://…` address.
    Postgres(String),
}

impl Database {
    /// Opens the connection that writes.
    pub fn open_writer(&self) -> Result<AnyConnection, StoreError> {
        self.open("PRAGMA query_only=OFF")
    }

    /// Opens a pool of connections that only read.
    pub fn open_readers(&self) -> Result<Readers, StoreError> {
        let pool = Pool::builder()
            .max_size(READERS)
            .min_idle(Some(1))
            .connection_timeout(READER_WAIT)
            .test_on_check_out(matches!(self, Self::Postgres(_)))
            .build(Opener(self.clone()))
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Readers(pool))
    }

    fn open(&self, last_pragma: &str) -> Result<AnyConnection, StoreError> {
        match self {
            Self::Sqlite(path) => {
                let mut connection = SqliteConnection::establish(&path.to_string_lossy())?;
                prepare_sqlite(&mut connection, last_pragma)?;
                Ok(AnyConnection::Sqlite(connection))
            }
            Self::Postgres(url) => {
                let mut connection = PgConnection::establish(url)?;
                connection.batch_execute(&format!(
                    "SET application_name = 'procura'; SET timezone = 'UTC'; SET client_min_messages = warning; \
                     SET synchronous_commit = on; SET lock_timeout = {LOCK_WAIT_MILLISECONDS}; SET statement_timeout = 10000; \
                     SET idle_in_transaction_session_timeout = 10000"
                ))?;
                Ok(AnyConnection::Postgres(connection))
            }
        }
    }
}

impl FromStr for Database {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            Ok(Self::Sqlite(path.into()))
        } else if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            Ok(Self::Postgres(text.to_owned()))
        } else {
            Err(format!("`{}` is not a database: sqlite:PATH or postgres://…", text.escape_debug()))
        }
    }
}

impl fmt::Display for Database {
    /// Without a password, which may stand in the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => {
                let place = url.split_once("://").map_or("", |(_, rest)| rest);
                let place = place.rsplit_once('@').map_or(place, |(_, host)| host);
                write!(f, "postgres://{}", place.split('?').next().unwrap_or_default())
            }
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = diesel::sql_types::Text)]
    version: String,
}

/// Settings one statement each, in order, and the ones that matter read back: SQLite ignores what it does
/// not know.
fn prepare_sqlite(connection: &mut SqliteConnection, last_pragma: &str) -> Result<(), StoreError> {
    let version: Version = diesel::sql_query("SELECT sqlite_version() AS version").get_result(connection)?;
    if version_number(&version.version) < LEAST_SQLITE_VERSION {
        return Err(StoreError::Failed(format!(
            "SQLite {} loses committed data under several connections; 3.51.3 or newer is needed",
            version.version
        )));
    }
    for pragma in [
        &*format!("PRAGMA busy_timeout={LOCK_WAIT_MILLISECONDS}"),
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "PRAGMA foreign_keys=ON",
        "PRAGMA trusted_schema=OFF",
        "PRAGMA wal_autocheckpoint=0",
        "PRAGMA cache_size=-8192",
        "PRAGMA temp_store=MEMORY",
        // What is erased is overwritten, not only let go.
        "PRAGMA secure_delete=ON",
        last_pragma,
    ] {
        connection.batch_execute(pragma)?;
    }
    for (pragma, column, expected) in [
        ("journal_mode", "journal_mode", "wal"),
        ("synchronous", "synchronous", "2"),
        ("foreign_keys", "foreign_keys", "1"),
        ("secure_delete", "secure_delete", "1"),
    ] {
        let found: Version =
            diesel::sql_query(format!("SELECT CAST({column} AS TEXT) AS version FROM pragma_{pragma}"))
                .get_result(connection)?;
        if found.version != expected {
            return Err(StoreError::Failed(format!(
                "SQLite kept {pragma} at {}, {expected} is needed",
                found.version
            )));
        }
    }
    Ok(())
}

fn version_number(version: &str) -> i32 {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 1_000_000 + next() * 1000 + next()
}

/// Connections that read, shared by whoever answers questions.
#[derive(Clone)]
pub struct Readers(Pool<Opener>);

impl Readers {
    /// A connection of the pool, within two seconds.
    pub fn get(&self) -> Result<PooledConnection<Opener>, StoreError> {
        self.0.get().map_err(|error| StoreError::Failed(format!("no reading connection: {error}")))
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readers")
    }
}

/// Opens reading connections for the pool.
#[derive(Debug)]
pub struct Opener(Database);

impl ManageConnection for Opener {
    type Connection = AnyConnection;
    type Error = r2d2::Error;

    fn connect(&self) -> Result<AnyConnection, r2d2::Error> {
        self.0.open("PRAGMA query_only=ON").map_err(|error| {
            r2d2::Error::ConnectionError(diesel::ConnectionError::BadConnection(error.to_string()))
        })
    }

    fn is_valid(&self, connection: &mut AnyConnection) -> Result<(), r2d2::Error> {
        connection.batch_execute("SELECT 1").map_err(r2d2::Error::QueryError)
    }

    fn has_broken(&self, connection: &mut AnyConnection) -> bool {
        use diesel::r2d2::R2D2Connection;
        match connection {
            AnyConnection::Postgres(postgres) => postgres.is_broken(),
            AnyConnection::Sqlite(sqlite) => sqlite.is_broken(),
        }
    }
}

/// Moves all of the write-ahead log of SQLite into the database and empties it, so that nothing that was erased stands
/// in it any more; `false` where a reader still held it.
pub fn empty_write_ahead_log(connection: &mut AnyConnection) -> Result<bool, StoreError> {
    #[derive(QueryableByName)]
    struct Emptied {
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        busy: i64,
    }
    let AnyConnection::Sqlite(sqlite) = connection else { return Ok(true) };
    // This waits for readers while holding the writer's lock: briefly, so that no batch gives up meanwhile.
    sqlite.batch_execute("PRAGMA busy_timeout=50")?;
    let emptied: Emptied = diesel::sql_query("PRAGMA wal_checkpoint(TRUNCATE)").get_result(sqlite)?;
    Ok(emptied.busy == 0)
}

/// Moves the write-ahead log of SQLite into the database: what can be moved without holding up the writer first,
/// and where the file has grown long, the rest too, so that it starts over.
pub fn move_write_ahead_log(connection: &mut AnyConnection) -> Result<(), StoreError> {
    /// Pages of 4 KiB after which the file is made to start over: 32 MiB.
    const LONG: i64 = 8192;
    #[derive(QueryableByName)]
    struct Moved {
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        log: i64,
    }
    let AnyConnection::Sqlite(sqlite) = connection else { return Ok(()) };
    let moved: Moved = diesel::sql_query("PRAGMA wal_checkpoint(PASSIVE)").get_result(sqlite)?;
    if moved.log > LONG {
        // This waits for readers while holding the writer's lock: briefly, so that no batch gives up meanwhile.
        sqlite.batch_execute("PRAGMA busy_timeout=50")?;
        let _: Moved = diesel::sql_query("PRAGMA wal_checkpoint(RESTART)").get_result(sqlite)?;
    }
    Ok(())
}
