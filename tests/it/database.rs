//! The databases that the tests run on, fresh for each server, and a second connection to look into them.

use diesel::connection::SimpleConnection;
use diesel::query_builder::SqlQuery;
use diesel::query_dsl::methods::LoadQuery;
use diesel::{Connection as _, PgConnection, RunQueryDsl, SqliteConnection};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Names the address of a PostgreSQL server, without a database, that the tests may make databases on.
const ADDRESS: &str = "PROCURA_TEST_POSTGRES";

/// Makes two tests of each function, one a database: `name::sqlite` and `name::postgres`.
macro_rules! both {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[test]
            fn sqlite() {
                super::$name($crate::database::Db::Sqlite);
            }

            #[test]
            fn postgres() {
                super::$name($crate::database::Db::Postgres);
            }
        }
    )+};
}
pub(crate) use both;

/// Which database a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Db {
    /// The embedded one, in the data directory.
    Sqlite,
    /// A database of its own on the server that `PROCURA_TEST_POSTGRES` names.
    Postgres,
}

/// One server's database; dropped with it.
#[derive(Debug)]
pub(crate) enum Store {
    /// A file.
    Sqlite(PathBuf),
    /// A database on a server.
    Postgres {
        /// The server's address.
        address: String,
        /// The database's name.
        name: String,
    },
}

impl Store {
    /// A database that nothing has used yet.
    pub(crate) fn fresh(db: Db, directory: &Path) -> Self {
        match db {
            Db::Sqlite => Self::Sqlite(directory.join("procura.db")),
            Db::Postgres => {
                static MADE: AtomicU32 = AtomicU32::new(0);
                let address = std::env::var(ADDRESS).unwrap_or_else(|_| {
                    panic!(
                        "{ADDRESS} is not set: run the tests through `ops/test`, which brings a PostgreSQL"
                    )
                });
                let name = format!("it_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
                maintain(
                    &address,
                    &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"),
                );
                Self::Postgres { address, name }
            }
        }
    }

    /// The `--database` of the command line; the embedded one is the default and needs none.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres { address, name } => Some(format!("{address}/{name}")),
        }
    }

    /// A connection beside the server's own.
    pub(crate) fn connect(&self) -> Connection {
        match self {
            Self::Sqlite(path) => {
                let mut sqlite = SqliteConnection::establish(&path.to_string_lossy()).unwrap();
                sqlite.batch_execute("PRAGMA busy_timeout=10000").unwrap();
                Connection::Sqlite(sqlite)
            }
            Self::Postgres { address, name } => {
                Connection::Postgres(PgConnection::establish(&format!("{address}/{name}")).unwrap())
            }
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Self::Postgres { address, name } = self {
            maintain(address, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

fn maintain(address: &str, statement: &str) {
    let mut server = PgConnection::establish(&format!("{address}/postgres"))
        .unwrap_or_else(|error| panic!("{ADDRESS} names no PostgreSQL that answers: {error}"));
    server.batch_execute(statement).unwrap();
}

/// A connection beside the server's own.
pub(crate) enum Connection {
    /// To the file.
    Sqlite(SqliteConnection),
    /// To the server.
    Postgres(PgConnection),
}

impl Connection {
    /// The rows of a query that both databases understand.
    pub(crate) fn load<T>(&mut self, sql: &str) -> Vec<T>
    where
        T: 'static,
        SqlQuery: for<'a> LoadQuery<'a, SqliteConnection, T> + for<'a> LoadQuery<'a, PgConnection, T>,
    {
        match self {
            Self::Sqlite(sqlite) => diesel::sql_query(sql).load(sqlite).unwrap(),
            Self::Postgres(postgres) => diesel::sql_query(sql).load(postgres).unwrap(),
        }
    }

    /// Runs a statement.
    pub(crate) fn execute(&mut self, sql: &str) {
        match self {
            Self::Sqlite(sqlite) => sqlite.batch_execute(sql).unwrap(),
            Self::Postgres(postgres) => postgres.batch_execute(sql).unwrap(),
        }
    }

    /// One number.
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        #[derive(diesel::QueryableByName)]
        struct Row {
            #[diesel(sql_type = diesel::sql_types::BigInt)]
            number: i64,
        }
        let rows: Vec<Row> = self.load(&format!("SELECT CAST(({sql}) AS BIGINT) AS number"));
        rows[0].number
    }

    /// One column of text.
    pub(crate) fn texts(&mut self, sql: &str) -> Vec<String> {
        #[derive(diesel::QueryableByName)]
        struct Row {
            #[diesel(sql_type = diesel::sql_types::Text)]
            text: String,
        }
        let rows: Vec<Row> = self.load(sql);
        rows.into_iter().map(|row| row.text).collect()
    }
}
