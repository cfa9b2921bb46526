//! Exports that were begun: the head of the log they are of, and where the log says that they were taken whole.

use super::{AnyConnection, StoreError, read, schema::exports};
use crate::domain::{ExportId, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::export::Header;
use diesel::prelude::*;

/// An export as it was begun, and what became of it.
#[derive(Debug, Clone)]
pub struct Export {
    /// What its first line says.
    pub header: Header,
    /// The format's name.
    pub format: String,
    /// The person who takes it; `None` for the console.
    pub taken_by: Option<PrincipalId>,
    /// The place of its manifest in the log, once it was written to its end.
    pub log_index: Option<u64>,
    /// How many receipts it holds, known from then on.
    pub lines: Option<u64>,
    /// The manifest's line as it was handed out: its path leads to one tree, whenever it is asked for again.
    pub last_line: Option<String>,
}

type Row = (String, String, Option<String>, Option<i64>, Option<i64>, Option<String>);

const COLUMNS: (
    exports::header,
    exports::format,
    exports::taken_by,
    exports::log_index,
    exports::lines,
    exports::last_line,
) = (
    exports::header,
    exports::format,
    exports::taken_by,
    exports::log_index,
    exports::lines,
    exports::last_line,
);

fn read_row((header, format, taken_by, log_index, lines, last_line): Row) -> Result<Export, StoreError> {
    Ok(Export {
        header: read::read_document("exports.header", &header, Header::from_json)?,
        format,
        taken_by: read::optional_text("exports.taken_by", taken_by.as_deref())?,
        log_index: read::optional_count("exports.log_index", log_index)?,
        lines: read::optional_count("exports.lines", lines)?,
        last_line,
    })
}

/// Writes down that an export begins.
pub fn insert(connection: &mut AnyConnection, export: &Export) -> Result<(), StoreError> {
    let header = &export.header;
    diesel::insert_into(exports::table)
        .values((
            exports::tenant.eq(header.tenant.as_str()),
            exports::id.eq(header.export.to_string()),
            exports::taken_by.eq(export.taken_by.map(|id| id.to_string())),
            exports::format.eq(&export.format),
            exports::header.eq(header.to_json().to_string()),
            exports::begun_at.eq(header.at.unix_milliseconds()),
        ))
        .execute(connection)?;
    Ok(())
}

/// One export.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: ExportId,
) -> Result<Option<Export>, StoreError> {
    exports::table
        .find((tenant.as_str(), id.to_string()))
        .select(COLUMNS)
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// When one was begun.
pub fn begun_at(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: ExportId,
) -> Result<Option<Timestamp>, StoreError> {
    let at: Option<i64> = exports::table
        .find((tenant.as_str(), id.to_string()))
        .select(exports::begun_at)
        .first(connection)
        .optional()?;
    Ok(read::optional_time(at))
}

/// Exports whose id sorts below `before`, newest first: one person's, or all of the tenant.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    taken_by: Option<PrincipalId>,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Export>, StoreError> {
    let mut query = exports::table
        .filter(exports::tenant.eq(tenant.as_str()))
        .order(exports::id.desc())
        .limit(limit)
        .select(COLUMNS)
        .into_boxed();
    if let Some(person) = taken_by {
        query = query.filter(exports::taken_by.eq(person.to_string()));
    }
    if let Some(before) = before {
        query = query.filter(exports::id.lt(before.to_owned()));
    }
    query.load::<Row>(connection)?.into_iter().map(read_row).collect()
}

/// Says where in the log the manifest stands; `false` where it stood already.
pub fn recorded(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: ExportId,
    log_index: u64,
    lines: u64,
) -> Result<bool, StoreError> {
    let place = exports::table.find((tenant.as_str(), id.to_string())).filter(exports::log_index.is_null());
    let set = (
        exports::log_index.eq(Some(read::stored_count(log_index))),
        exports::lines.eq(Some(read::stored_count(lines))),
    );
    Ok(diesel::update(place).set(set).execute(connection)? == 1)
}

/// Keeps the manifest's line, unless one is kept.
pub fn keep_last_line(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: ExportId,
    line: &str,
) -> Result<(), StoreError> {
    let place = exports::table.find((tenant.as_str(), id.to_string())).filter(exports::last_line.is_null());
    diesel::update(place).set(exports::last_line.eq(Some(line))).execute(connection)?;
    Ok(())
}

/// Forgets exports that were begun before a time and never ended. Those that ended stay: the log names them.
pub fn delete_unfinished_before(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    before: Timestamp,
) -> Result<(), StoreError> {
    let old = exports::table
        .filter(exports::tenant.eq(tenant.as_str()).and(exports::log_index.is_null()))
        .filter(exports::begun_at.lt(before.unix_milliseconds()));
    diesel::delete(old).execute(connection)?;
    Ok(())
}
