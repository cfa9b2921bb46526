//! Copies of the whole database: taken beside whoever writes, into one SQLite file, from either database.
//!
//! SQLite copies itself. From PostgreSQL each table is read in one snapshot, row by row as JSON, and so written back:
//! the file is the same whichever database it was taken from, and is checked by the same code.

use super::{AnyConnection, Database, StoreError, differs, migrate};
use diesel::connection::{Connection, SimpleConnection};
use diesel::sql_types::{BigInt, Text};
use diesel::{PgConnection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use std::path::Path;
use std::time::Duration;

/// How many rows of a table are carried at once.
const PAGE: usize = 500;
/// How often it is looked whether others are connected, and how long in between.
const LOOKS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(100);
/// How many faults of a file are named.
const MOST_NAMED: usize = 20;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

#[derive(QueryableByName)]
struct Placed {
    #[diesel(sql_type = BigInt)]
    place: i64,
    #[diesel(sql_type = Text)]
    line: String,
}

/// A table as the file has it.
struct Table {
    name: String,
    columns: Vec<Column>,
}

#[derive(QueryableByName)]
struct Column {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    kind: String,
    /// Its place in the primary key, from 1; 0 where it is not of it.
    #[diesel(sql_type = BigInt)]
    key: i64,
}

impl Column {
    fn is_bytes(&self) -> bool {
        self.kind.eq_ignore_ascii_case("BLOB")
    }
}

/// Copies all tables, as they stand at one instant, into the file at `to`, which is empty or not there.
///
/// # Errors
/// The source cannot be read, or the file not written.
pub fn copy(from: &Database, to: &Path) -> Result<(), StoreError> {
    match from {
        Database::Sqlite(_) => {
            let AnyConnection::Sqlite(mut sqlite) = from.open_writer()? else { return Ok(()) };
            sql_query("VACUUM INTO ?").bind::<Text, _>(to.to_string_lossy()).execute(&mut sqlite)?;
            Ok(())
        }
        Database::Postgres(_) => {
            let AnyConnection::Postgres(mut postgres) = from.open_writer()? else { return Ok(()) };
            let file = Database::Sqlite(to.to_owned());
            let mut writer = file.open_writer()?;
            migrate(&mut writer)?;
            let AnyConnection::Sqlite(mut sqlite) = writer else { return Ok(()) };
            unload(&mut postgres, &mut sqlite)?;
            drop(sqlite);
            settle(to)
        }
    }
}

/// Makes one file of a SQLite database: nothing of it is left in a write-ahead log beside it.
pub fn settle(file: &Path) -> Result<(), StoreError> {
    let mut sqlite = SqliteConnection::establish(&file.to_string_lossy())?;
    sqlite.batch_execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE")?;
    Ok(())
}

/// Opens a file to look into it: it is not written, and nothing is laid down beside it.
pub fn open_file(file: &Path) -> Result<AnyConnection, StoreError> {
    // What a URI gives a meaning to, and what is not ASCII, is escaped (RFC 3986 §2.1).
    let escaped = |byte: u8| match byte {
        b'%' | b'?' | b'#' | 0x80.. => format!("%{byte:02x}"),
        plain => char::from(plain).to_string(),
    };
    let path: String = file.to_string_lossy().bytes().map(escaped).collect();
    let mut sqlite = SqliteConnection::establish(&format!("file:{path}?mode=ro&immutable=1"))?;
    sqlite.batch_execute("PRAGMA trusted_schema=OFF; PRAGMA cache_size=-8192; PRAGMA temp_store=MEMORY")?;
    Ok(AnyConnection::Sqlite(sqlite))
}

/// What SQLite's own checks find wrong with a database and its references; nothing on PostgreSQL, which keeps its own.
pub fn damage(connection: &mut AnyConnection) -> Result<Vec<String>, StoreError> {
    let AnyConnection::Sqlite(sqlite) = connection else { return Ok(Vec::new()) };
    let checks = [
        "SELECT integrity_check AS line FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
        "SELECT 'row ' || coalesce(rowid, '?') || ' of ' || \"table\" || ' refers to a row of ' || parent || \
         ' that is not there' AS line FROM pragma_foreign_key_check",
    ];
    let mut found = Vec::new();
    for check in checks {
        let lines: Vec<Line> = sql_query(check).load(sqlite)?;
        found.extend(lines.into_iter().map(|line| line.line));
    }
    found.truncate(MOST_NAMED);
    Ok(found)
}

/// Something in a database that this version does not make, or makes otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// What it is.
    pub what: String,
    /// Whether it could change what is written or read.
    pub acts: bool,
}

#[derive(QueryableByName, PartialEq, Eq, Hash)]
struct Made {
    #[diesel(sql_type = Text)]
    sort: String,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    of: String,
    #[diesel(sql_type = Text)]
    sql: String,
}

/// What stands in a database beside Procura's tables and indexes, and how those differ from what this version makes.
/// Tables of an older version are held only against triggers and views, of which no version makes any.
pub fn foreign(connection: &mut AnyConnection) -> Result<Vec<Foreign>, StoreError> {
    let is_older = !differs(connection)?.pending.is_empty();
    match connection {
        AnyConnection::Postgres(postgres) => foreign_to_postgres(postgres),
        AnyConnection::Sqlite(sqlite) => {
            let there = made(sqlite)?;
            let mut foreign: Vec<Foreign> = acting(&there);
            if is_older {
                return Ok(foreign);
            }
            let mut fresh = AnyConnection::Sqlite(SqliteConnection::establish(":memory:")?);
            migrate(&mut fresh)?;
            let AnyConnection::Sqlite(mut fresh) = fresh else { return Ok(foreign) };
            let expected = made(&mut fresh)?;
            let is_named = |one: &Made, other: &Made| one.sort == other.sort && one.name == other.name;
            for one in there.iter().filter(|one| !is_acting(one) && !expected.contains(*one)) {
                let is_changed = expected.iter().any(|other| is_named(one, other));
                let why = if is_changed { "is not as this version makes it" } else { "is none of Procura's" };
                let what = format!("the {} `{}` {why}", one.sort, one.name);
                foreign.push(Foreign { what, acts: is_changed });
            }
            for one in expected.iter().filter(|one| !there.iter().any(|other| is_named(one, other))) {
                let what = format!("the {} `{}` is missing", one.sort, one.name);
                foreign.push(Foreign { what, acts: true });
            }
            Ok(foreign)
        }
    }
}

/// Triggers and views of a file, whatever version its tables are of.
pub fn acting_in(file: &Path) -> Result<Vec<Foreign>, StoreError> {
    let AnyConnection::Sqlite(mut sqlite) = open_file(file)? else { return Ok(Vec::new()) };
    Ok(acting(&made(&mut sqlite)?))
}

fn is_acting(one: &Made) -> bool {
    one.sort == "trigger" || one.sort == "view"
}

fn acting(there: &[Made]) -> Vec<Foreign> {
    let acting = there.iter().filter(|one| is_acting(one));
    acting
        .map(|one| Foreign {
            what: format!("the {} `{}` on `{}` is none of Procura's", one.sort, one.name, one.of),
            acts: true,
        })
        .collect()
}

/// Everything a file defines, but for what SQLite counts for its planner.
fn made(sqlite: &mut SqliteConnection) -> Result<Vec<Made>, StoreError> {
    Ok(sql_query(
        "SELECT type AS sort, name, tbl_name AS of, coalesce(sql, '') AS sql FROM sqlite_master \
         WHERE NOT (type = 'table' AND name LIKE 'sqlite\\_stat_' ESCAPE '\\') ORDER BY type, name",
    )
    .load(sqlite)?)
}

fn foreign_to_postgres(postgres: &mut PgConnection) -> Result<Vec<Foreign>, StoreError> {
    let lines: Vec<Line> = sql_query(
        "SELECT 'the trigger `' || t.tgname || '` on `' || c.relname || '`' AS line FROM pg_trigger t \
         JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE NOT t.tgisinternal AND n.nspname = current_schema() \
         UNION ALL SELECT 'the rule `' || rulename || '` on `' || tablename || '`' FROM pg_rules \
         WHERE schemaname = current_schema() \
         UNION ALL SELECT 'the view `' || viewname || '`' FROM pg_views WHERE schemaname = current_schema() \
         ORDER BY 1",
    )
    .load(postgres)?;
    let named = |Line { line }| Foreign { what: format!("{line} is none of Procura's"), acts: true };
    Ok(lines.into_iter().map(named).collect())
}

/// Whether a database holds Procura's tables.
pub fn has_tables(connection: &mut AnyConnection) -> Result<bool, StoreError> {
    let lines: Vec<Line> = match connection {
        AnyConnection::Sqlite(sqlite) => {
            sql_query("SELECT name AS line FROM sqlite_master WHERE type = 'table' AND name = 'heads'")
                .load(sqlite)?
        }
        AnyConnection::Postgres(postgres) => {
            sql_query("SELECT 'heads' AS line WHERE to_regclass('heads') IS NOT NULL").load(postgres)?
        }
    };
    Ok(!lines.is_empty())
}

/// Other connections of Procura to the same PostgreSQL database that stay, each as it says who it is: one that has just
/// ended is still listed for a moment.
pub fn others_connected(connection: &mut AnyConnection) -> Result<Vec<String>, StoreError> {
    let AnyConnection::Postgres(postgres) = connection else { return Ok(Vec::new()) };
    let mut others = Vec::new();
    for _ in 0..LOOKS {
        let lines: Vec<Line> = sql_query(
            "SELECT coalesce(host(client_addr), 'this machine') || ' (process ' || pid || ')' AS line \
             FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'procura' \
             AND pid <> pg_backend_pid() ORDER BY 1 LIMIT 20",
        )
        .load(postgres)?;
        others = lines.into_iter().map(|line| line.line).collect();
        if others.is_empty() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(others)
}

/// The tables of a file, those first that others refer to: in the order in which they were made.
fn tables(sqlite: &mut SqliteConnection) -> Result<Vec<Table>, StoreError> {
    let names: Vec<Line> = sql_query(
        "SELECT name AS line FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
         AND name <> '__diesel_schema_migrations' ORDER BY rowid",
    )
    .load(sqlite)?;
    names
        .into_iter()
        .map(|Line { line: name }| {
            let columns =
                sql_query("SELECT name, type AS kind, pk AS key FROM pragma_table_info(?) ORDER BY cid")
                    .bind::<Text, _>(&name)
                    .load(sqlite)?;
            Ok(Table { name, columns })
        })
        .collect()
}

/// From PostgreSQL, at one instant, into the empty tables of a file.
fn unload(postgres: &mut PgConnection, sqlite: &mut SqliteConnection) -> Result<(), StoreError> {
    postgres.batch_execute(
        "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; \
         BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    )?;
    sqlite.batch_execute("PRAGMA foreign_keys=OFF; BEGIN IMMEDIATE")?;
    for table in tables(sqlite)? {
        let (name, insert) = (&table.name, insert_into_file(&table));
        let mut key: Vec<&Column> = table.columns.iter().filter(|column| column.key > 0).collect();
        key.sort_by_key(|column| column.key);
        let order = key.iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>().join(", ");
        // In the order of the key, in which a credential comes after the one that it was derived from.
        postgres.batch_execute(&format!(
            "DECLARE carried NO SCROLL CURSOR FOR SELECT row_to_json(t)::text AS line FROM \"{name}\" t ORDER BY {order}"
        ))?;
        loop {
            let rows: Vec<Line> = sql_query(format!("FETCH FORWARD {PAGE} FROM carried")).load(postgres)?;
            if rows.is_empty() {
                break;
            }
            sql_query(&insert).bind::<Text, _>(array(rows.iter().map(|row| &*row.line))).execute(sqlite)?;
        }
        postgres.batch_execute("CLOSE carried")?;
    }
    sqlite.batch_execute("COMMIT")?;
    postgres.batch_execute("COMMIT")?;
    Ok(())
}

/// The rows of a JSON array as rows of a table.
fn insert_into_file(table: &Table) -> String {
    let names = table.columns.iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>();
    let values = table.columns.iter().map(|column| {
        let value = format!("json_extract(value, '$.\"{}\"')", column.name);
        // PostgreSQL writes bytes as hexadecimal behind `\x`.
        if column.is_bytes() { format!("unhex(substr({value}, 3))") } else { value }
    });
    format!(
        "INSERT INTO \"{}\" ({}) SELECT {} FROM json_each(?)",
        table.name,
        names.join(", "),
        values.collect::<Vec<_>>().join(", ")
    )
}

/// Puts the tables of a file in the place of those of a PostgreSQL database, in one transaction. Those that are there
/// are moved to the schema `aside`, not deleted; `check` looks at what was loaded before it counts.
///
/// # Errors
/// Nothing is changed then.
pub fn load(
    file: &Path,
    to: &Database,
    aside: &str,
    check: impl FnOnce(&mut AnyConnection) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let AnyConnection::Sqlite(mut sqlite) = open_file(file)? else { return Ok(()) };
    let mut connection = to.open_writer()?;
    connection.transaction(|connection| -> Result<(), StoreError> {
        let AnyConnection::Postgres(postgres) = connection else {
            return Err(StoreError::Failed(format!("{to} is not PostgreSQL")));
        };
        postgres.batch_execute(
            "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0",
        )?;
        move_aside(postgres, aside)?;
        migrate(connection)?;
        let AnyConnection::Postgres(postgres) = connection else { return Ok(()) };
        for table in tables(&mut sqlite)? {
            carry(&mut sqlite, postgres, &table)?;
        }
        check(connection)
    })
}

fn move_aside(postgres: &mut PgConnection, aside: &str) -> Result<(), StoreError> {
    let there: Vec<Line> =
        sql_query("SELECT tablename::text AS line FROM pg_tables WHERE schemaname = current_schema()")
            .load(postgres)?;
    if there.is_empty() {
        return Ok(());
    }
    postgres.batch_execute(&format!("CREATE SCHEMA \"{aside}\""))?;
    for Line { line: name } in there {
        postgres.batch_execute(&format!("ALTER TABLE \"{name}\" SET SCHEMA \"{aside}\""))?;
    }
    Ok(())
}

/// One table's rows, in the order in which they were written.
fn carry(
    sqlite: &mut SqliteConnection,
    postgres: &mut PgConnection,
    table: &Table,
) -> Result<(), StoreError> {
    let members = table.columns.iter().map(|column| {
        let name = &column.name;
        if column.is_bytes() {
            format!("'{name}', CASE WHEN \"{name}\" IS NOT NULL THEN '\\x' || lower(hex(\"{name}\")) END")
        } else {
            format!("'{name}', \"{name}\"")
        }
    });
    let select = format!(
        "SELECT rowid AS place, json_object({}) AS line FROM \"{}\" WHERE rowid > ? ORDER BY rowid LIMIT {PAGE}",
        members.collect::<Vec<_>>().join(", "),
        table.name
    );
    let insert = format!(
        "INSERT INTO \"{0}\" SELECT * FROM json_populate_recordset(NULL::\"{0}\", $1::json)",
        table.name
    );
    let mut after = i64::MIN;
    loop {
        let rows: Vec<Placed> = sql_query(&select).bind::<BigInt, _>(after).load(sqlite)?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.place;
        sql_query(&insert).bind::<Text, _>(array(rows.iter().map(|row| &*row.line))).execute(postgres)?;
    }
}

fn array<'a>(objects: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::from("[");
    for (position, object) in objects.enumerate() {
        if position > 0 {
            text.push(',');
        }
        text.push_str(object);
    }
    text.push(']');
    text
}
