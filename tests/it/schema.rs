//! The migrations of both databases make the same tables, columns, keys and indexes.

use crate::database::Db;
use crate::server::{Server, TENANT};
use std::collections::BTreeSet;

/// Each fact about the tables as one line, in the same words on both databases.
const SQLITE: &str = r#"
SELECT m.name || '.' || c.name || ' ' || c.type || CASE WHEN c."notnull" THEN ' required' ELSE '' END
    || CASE WHEN c.pk > 0 THEN ' key ' || c.pk ELSE '' END AS text
FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
UNION ALL
SELECT m.name || ' -> ' || f."table" || ': ' || group_concat(f."from" || '=' || f."to", ', ' ORDER BY f.seq)
FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' GROUP BY m.name, f.id, f."table"
UNION ALL
SELECT m.name || ' unique: ' || (SELECT group_concat(i.name, ', ' ORDER BY i.seqno) FROM pragma_index_info(l.name) i)
FROM sqlite_master m JOIN pragma_index_list(m.name) l WHERE m.type = 'table' AND l.origin = 'u'
UNION ALL
SELECT m.name || ' index ' || l.name || CASE WHEN l."unique" THEN ' unique' ELSE '' END
    || CASE WHEN l.partial THEN ' partial' ELSE '' END || ': '
    || (SELECT group_concat(i.name, ', ' ORDER BY i.seqno) FROM pragma_index_info(l.name) i)
FROM sqlite_master m JOIN pragma_index_list(m.name) l WHERE m.type = 'table' AND l.origin = 'c'
"#;

const POSTGRES: &str = r"
SELECT c.relname || '.' || a.attname || ' '
    || CASE format_type(a.atttypid, a.atttypmod)
        WHEN 'text' THEN 'TEXT' WHEN 'bigint' THEN 'INTEGER' WHEN 'bytea' THEN 'BLOB'
        ELSE format_type(a.atttypid, a.atttypmod) END
    || CASE WHEN a.attnotnull THEN ' required' ELSE '' END
    || COALESCE(' key ' || (SELECT k.place FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
        WHERE i.indrelid = c.oid AND i.indisprimary AND k.attnum = a.attnum), '') AS text
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT c.relname || ' -> ' || t.relname || ': ' || (SELECT string_agg(f.attname || '=' || g.attname, ', ' ORDER BY k.place)
    FROM unnest(o.conkey, o.confkey) WITH ORDINALITY AS k(here, there, place)
    JOIN pg_attribute f ON f.attrelid = c.oid AND f.attnum = k.here
    JOIN pg_attribute g ON g.attrelid = t.oid AND g.attnum = k.there)
FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_class t ON t.oid = o.confrelid
WHERE o.contype = 'f' AND c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT c.relname || ' unique: ' || (SELECT string_agg(a.attname, ', ' ORDER BY k.place)
    FROM unnest(o.conkey) WITH ORDINALITY AS k(attnum, place)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum)
FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
WHERE o.contype = 'u' AND c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT c.relname || ' index ' || x.relname || CASE WHEN i.indisunique THEN ' unique' ELSE '' END
    || CASE WHEN i.indpred IS NOT NULL THEN ' partial' ELSE '' END || ': '
    || (SELECT string_agg(a.attname, ', ' ORDER BY k.place)
        FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
WHERE c.relnamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT 1 FROM pg_constraint o WHERE o.conindid = x.oid AND o.contype IN ('p', 'u'))
";

/// Text is compared byte by byte on both databases, so that `café` in two spellings is two names on both.
const OTHER_COLLATIONS: &str = r#"
SELECT c.relname || '.' || a.attname AS text
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname NOT LIKE '\_\_diesel%'
    AND a.attcollation NOT IN (0, '"C"'::regcollation)
"#;

/// The facts, without those about the migrations' own table and SQLite's.
fn facts(db: Db, sql: &str) -> BTreeSet<String> {
    let server = Server::set_up(db, &[TENANT]);
    let all = server.database().connect().texts(sql);
    all.into_iter().filter(|fact| !fact.starts_with("__diesel") && !fact.starts_with("sqlite_")).collect()
}

#[test]
fn both_databases_have_the_same_tables_columns_and_keys() {
    let (sqlite, postgres) = (facts(Db::Sqlite, SQLITE), facts(Db::Postgres, POSTGRES));
    for needed in ["receipts.log_index INTEGER required key 2", "trails.run INTEGER required key 3"] {
        assert!(sqlite.contains(needed), "the comparison does not see `{needed}`: {sqlite:#?}");
    }
    let only: Vec<_> = sqlite.symmetric_difference(&postgres).collect();
    assert!(only.is_empty(), "on one of the two alone: {only:#?}");
}

#[test]
fn text_is_compared_byte_by_byte() {
    let other = facts(Db::Postgres, OTHER_COLLATIONS);
    assert!(other.is_empty(), "compared by a language's rules: {other:?}");
}
