//! Every column of every table, changed behind the log's back: each change is found and named, or the column is listed
//! as one that is no evidence, with the reason.
//!
//! [`content`] makes a database with something in every table. [`columns`] says how rows are named where something of
//! them is found, which value a column gets where the schema alone does not tell, and what is no evidence. A new column
//! fails here until it is in one or the other. `TAMPERING=words` in the environment tries those columns alone whose names
//! contain one of the words, and says what is found.

mod columns;
mod content;

use crate::database::{Connection, Db, Store};
use crate::server::{Folder, Server, procura, said};
use columns::{MAY_HOLD_NOTHING, NO_EVIDENCE, NOT_OF, OTHERWISE, ROWS, ROWS_OF_LONG_LOGS, Rows};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;
use std::sync::Mutex;

/// How many changes are tried at once.
const AT_ONCE: usize = 3;

/// A column as the schema has it.
#[derive(Debug, Clone, diesel::QueryableByName)]
#[expect(clippy::struct_field_names, reason = "a column of a table of the database")]
struct Column {
    #[diesel(sql_type = diesel::sql_types::Text)]
    table: String,
    #[diesel(sql_type = diesel::sql_types::Text)]
    column: String,
    #[diesel(sql_type = diesel::sql_types::Text)]
    sort: String,
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    required: i64,
}

impl Column {
    fn name(&self) -> String {
        format!("{}.{}", self.table, self.column)
    }

    /// Another value of its type, whatever stands there.
    fn other(&self) -> String {
        let Column { table, column, sort, .. } = self;
        if let Some((_, value)) = OTHERWISE.iter().find(|(name, _)| *name == self.name()) {
            return (*value).to_owned();
        }
        match (column.as_str(), sort.as_str()) {
            ("tenant", _) if table != "tenants" => format!("'{}'", content::OTHER),
            (_, "INTEGER") => format!("{column} + 1000003"),
            (_, "BLOB") => format!("randomblob(length({column}))"),
            // The last character of an id can be either.
            _ => format!(
                "substr({column}, 1, length({column}) - 1) || \
                 CASE substr({column}, -1) WHEN '0' THEN '1' ELSE '0' END"
            ),
        }
    }

    /// What is tried: how it is called, what is set, and of which rows.
    fn changes(&self) -> Vec<(&'static str, String, String)> {
        let Column { table, column, .. } = self;
        let mut changes = vec![("another value", self.other(), format!("{column} IS NOT NULL"))];
        if self.required == 0 {
            let may_hold_nothing = MAY_HOLD_NOTHING.iter().any(|(name, _)| *name == self.name());
            if !may_hold_nothing {
                changes.push(("nothing", "NULL".to_owned(), format!("{column} IS NOT NULL")));
            }
            let one = format!("(SELECT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT 1)");
            changes.push(("something", one, format!("{column} IS NULL")));
        }
        changes
    }
}

/// A change of one column in some rows, each named as it must be found.
#[derive(Debug)]
struct Change {
    column: Column,
    how: &'static str,
    statements: Vec<String>,
    names: Vec<String>,
}

/// All columns of the service's own tables.
fn columns(connection: &mut Connection) -> Vec<Column> {
    connection.load(
        r#"SELECT m.name AS "table", c.name AS "column", c.type AS sort,
            CASE WHEN c."notnull" OR c.pk > 0 THEN 1 ELSE 0 END AS required
        FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY m.name, c.cid"#,
    )
}

/// Whether a column is no evidence, and why.
fn why_no_evidence(column: &Column) -> Option<&'static str> {
    let listed = NO_EVIDENCE.iter().find(|(name, _)| *name == column.table || *name == column.name());
    listed.map(|(_, why)| *why)
}

/// The changes of one column, for every row of its table that is listed.
fn changes(connection: &mut Connection, column: &Column, rows: &Rows) -> Vec<Change> {
    let mut all = Vec::new();
    for (how, value, of) in column.changes() {
        let (mut statements, mut names) = (Vec::new(), Vec::new());
        for row in rows.each {
            let except = NOT_OF.iter().find(|(name, ..)| *name == column.name());
            let except = except.map(|(_, rows, _)| format!(" AND NOT ({rows})")).unwrap_or_default();
            let place = format!("({row}) AND {of}{except}");
            let table = &column.table;
            let found =
                connection.texts(&format!("SELECT {} AS text FROM {table} t WHERE {place}", rows.named));
            let Some(name) = found.into_iter().next() else { continue };
            let one = format!("rowid = (SELECT rowid FROM {table} WHERE {place} LIMIT 1)");
            let rowid =
                connection.texts(&format!("SELECT CAST(rowid AS TEXT) AS text FROM {table} WHERE {one}"));
            statements.push(format!(
                "UPDATE OR REPLACE {table} SET {} = {value} WHERE rowid = {}",
                column.column, rowid[0]
            ));
            names.push(name);
        }
        if !names.is_empty() {
            all.push(Change { column: column.clone(), how, statements, names });
        }
    }
    all
}

/// A copy of the data directory, as little of it as is needed.
fn copy(of: &Path) -> Folder {
    let folder = Folder::new();
    for name in ["procura.db", "master.key"] {
        std::fs::copy(of.join(name), folder.join(name)).unwrap();
    }
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    procura(arguments).arg("--data-dir").arg(folder).output().unwrap()
}

/// Who looks for what was changed, in the order in which they are asked.
const LOOKING: [(&str, &[&str]); 2] =
    [("doctor", &["doctor", "--no-drill", "--json"]), ("replay", &["replay", "--json"])];

/// Each thing that one of them finds wrong, as a sentence.
fn found(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run(folder, arguments);
    let Ok(told) = serde_json::from_slice::<Value>(&output.stdout) else {
        // Where nothing can be read at all, what is said names why.
        return vec![said(&output)];
    };
    let of_doctor = told["findings"].as_array().into_iter().flatten();
    let of_doctor = of_doctor.filter(|one| one["status"] == "fail").map(|one| one["says"].to_string());
    let of_replay = told["tenants"].as_array().into_iter().flatten();
    let of_replay = of_replay.flat_map(|tenant| tenant["findings"].as_array().into_iter().flatten());
    of_doctor.chain(of_replay.map(ToString::to_string)).collect()
}

/// Whether each of the rows that were changed is named by somebody; the names of those that are not, and what is said.
fn try_it(server: &Path, change: &Change) -> Result<(), String> {
    let folder = copy(server);
    let mut connection = Store::Sqlite(folder.join("procura.db")).connect();
    connection.execute("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF");
    for statement in &change.statements {
        connection.execute(statement);
    }
    drop(connection);
    let mut unnamed: Vec<&str> = change.names.iter().map(String::as_str).collect();
    let mut words = format!("{}: {} of {unnamed:?}", change.column.name(), change.how);
    for (who, arguments) in LOOKING {
        let found = found(&folder, arguments);
        unnamed.retain(|name| !found.iter().any(|one| one.contains(name)));
        let _ = write!(words, "\n    {who}: {found:#?}");
        if unnamed.is_empty() {
            break;
        }
    }
    if std::env::var_os("TAMPERING").is_some() {
        println!("{words}");
    }
    if unnamed.is_empty() { Ok(()) } else { Err(format!("not named are {unnamed:?}\n{words}")) }
}

/// Changes each column of these tables on a server's database, and wants each found and named.
fn check_each_is_named(server: &Server, tables: &[Rows]) {
    let mut connection = server.database().connect();
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    for (_, arguments) in LOOKING {
        assert_eq!(found(server.folder(), arguments), Vec::<String>::new(), "nothing was changed yet");
    }
    let only = std::env::var("TAMPERING").unwrap_or_default();
    let (mut tried, mut empty) = (Vec::new(), Vec::new());
    for column in columns(&mut connection) {
        let Some(rows) = tables.iter().find(|rows| rows.table == column.table) else { continue };
        if why_no_evidence(&column).is_some() {
            continue;
        }
        let of_column = changes(&mut connection, &column, rows);
        if !of_column.iter().any(|change| change.how == "another value") {
            empty.push(column.name());
        }
        let is_asked_for = only.is_empty() || only.split(' ').any(|word| column.name().contains(word));
        tried.extend(of_column.into_iter().filter(|_| is_asked_for));
    }
    assert!(empty.is_empty(), "no row that is listed holds anything in {empty:?}");
    drop(connection);
    let waiting = Mutex::new(tried.into_iter());
    let unnamed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(change) = waiting.lock().unwrap().next() else { break };
                    if let Err(words) = try_it(server.folder(), &change) {
                        println!("UNNAMED {words}");
                        unnamed.lock().unwrap().push(words);
                    }
                }
            });
        }
    });
    let unnamed = unnamed.into_inner().unwrap();
    assert!(unnamed.is_empty(), "changed, and not found and named:\n{}", unnamed.join("\n"));
}

#[test]
fn each_changed_column_of_each_table_is_found_and_named() {
    check_each_is_named(&content::filled(), &ROWS);
}

#[test]
fn each_changed_column_of_what_only_a_long_log_has_is_found_and_named() {
    check_each_is_named(&content::long(), &ROWS_OF_LONG_LOGS);
}

#[test]
fn every_column_is_changed_or_said_to_be_no_evidence() {
    let server = Server::set_up(Db::Sqlite, &[crate::server::TENANT]);
    let known: BTreeSet<_> = ROWS.iter().chain(&ROWS_OF_LONG_LOGS).map(|rows| rows.table).collect();
    for column in columns(&mut server.database().connect()) {
        let is_known = known.contains(column.table.as_str()) || why_no_evidence(&column).is_some();
        assert!(is_known, "`{}` is neither changed nor said to be no evidence", column.name());
    }
}

#[test]
fn what_is_said_to_be_no_evidence_is_there_and_says_why() {
    let server = Server::set_up(Db::Sqlite, &[crate::server::TENANT]);
    let columns = columns(&mut server.database().connect());
    for (name, why) in NO_EVIDENCE {
        let is_there = columns.iter().any(|column| column.name() == name || column.table == name);
        assert!(is_there, "`{name}` is listed and does not exist");
        assert!(why.len() > 20, "`{name}` is listed without a reason");
    }
    let known: BTreeSet<_> = ROWS.iter().map(|rows| rows.table).collect();
    for (name, ..) in NOT_OF {
        assert!(columns.iter().any(|column| column.name() == name), "`{name}` is listed and does not exist");
    }
    for (name, _) in OTHERWISE {
        assert!(columns.iter().any(|column| column.name() == name), "`{name}` is changed and does not exist");
        assert!(known.contains(name.split('.').next().unwrap()), "{name}");
    }
}

#[test]
fn both_databases_have_the_columns_that_are_tried() {
    let (sqlite, postgres) = (Server::set_up(Db::Sqlite, &["a"]), Server::set_up(Db::Postgres, &["a"]));
    let there = postgres.database().connect().texts(
        "SELECT table_name || '.' || column_name AS text FROM information_schema.columns WHERE table_schema = 'public'",
    );
    let here = columns(&mut sqlite.database().connect());
    let here: BTreeSet<_> = here.iter().map(Column::name).collect();
    assert_eq!(here, there.into_iter().collect());
}
