//! The answer as CSV (RFC 4180): a row a line or effect, inert in a spreadsheet.

use super::{Coverage, Sort};
use crate::app::export::defuse;
use crate::storage::StoreError;
use serde_json::Value;
use std::fmt::Display;

const COLUMNS: [&str; 13] = [
    "list",
    "line",
    "reference",
    "listed",
    "listed_currency",
    "allowed",
    "allowed_currency",
    "at",
    "intent",
    "status",
    "detail",
    "effect",
    "receipt",
];

/// The whole answer, differences first; what is counted but not named is said in a last row of its sort.
///
/// # Errors
/// [`StoreError::Failed`] if a row cannot be written.
pub fn table(found: &Coverage) -> Result<Vec<u8>, StoreError> {
    let failed = |error: &dyn Display| StoreError::Failed(format!("a table cannot be written: {error}"));
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(|error| failed(&error))?;
    for (sort, named) in found.sorts() {
        for item in &named.items {
            writer.write_record(cells(sort, item)).map_err(|error| failed(&error))?;
        }
        let more = named.more();
        if more > 0 {
            let item = serde_json::json!({"detail": format!("and {more} more, which are not named here")});
            writer.write_record(cells(sort, &item)).map_err(|error| failed(&error))?;
        }
    }
    writer.into_inner().map_err(|error| failed(&error))
}

fn cells(sort: Sort, item: &Value) -> [String; 13] {
    let text = |name: &str| plain(item.get(name));
    // Where nothing was allowed, the amount is the list's.
    let (listed, allowed) = match (item.get("listed"), item.get("effect")) {
        (Some(listed), _) => (Some(listed), item.get("amount")),
        (None, Some(_)) => (None, item.get("amount")),
        (None, None) => (item.get("amount"), None),
    };
    let part = |amount: Option<&Value>, name: &str| plain(amount.and_then(|amount| amount.get(name)));
    let repeats = item.get("first").map(|first| format!("repeats line {first}"));
    [
        sort.as_str().to_owned(),
        text("line"),
        text("reference"),
        part(listed, "value"),
        part(listed, "currency"),
        part(allowed, "value"),
        part(allowed, "currency"),
        item.get("claimed_at").map_or_else(|| text("at"), |at| plain(Some(at))),
        text("intent"),
        text("status"),
        repeats.unwrap_or_else(|| text("detail")),
        text("effect"),
        text("receipt"),
    ]
    .map(defuse)
}

fn plain(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_sort_has_its_rows_and_no_cell_is_a_formula() {
        let mut found = Coverage::default();
        found.missing.count = 3;
        found.missing.items = vec![json!({
            "line": 4, "reference": "=HYPERLINK(\"x\")", "amount": {"value": "9.00", "currency": "EUR"}, "at": null,
        })];
        found.differing.count = 1;
        found.differing.items = vec![json!({
            "line": 2, "reference": "ch_2", "listed": {"value": "5.01", "currency": "EUR"},
            "amount": {"value": "5.00", "currency": "EUR"}, "claimed_at": "2026-11-01T10:00:00.000Z",
            "intent": "payments.charge", "status": "done", "effect": "eff_1", "receipt": "rcpt_1",
            "detail": "5.01 EUR is listed, 5.00 EUR was allowed",
        })];
        found.duplicates.count = 1;
        found.duplicates.items = vec![json!({"line": 5, "reference": "ch_1", "first": 2})];
        let table = String::from_utf8(table(&found).unwrap()).unwrap();
        let lines: Vec<&str> = table.split("\r\n").collect();
        assert_eq!(
            lines[1..],
            [
                "missing_receipt,4,\"'=HYPERLINK(\"\"x\"\")\",9.00,EUR,,,,,,,,",
                "missing_receipt,,,,,,,,,,\"and 2 more, which are not named here\",,",
                "amounts_differ,2,ch_2,5.01,EUR,5.00,EUR,2026-11-01T10:00:00.000Z,payments.charge,done,\"5.01 EUR is \
                 listed, 5.00 EUR was allowed\",eff_1,rcpt_1",
                "duplicates,5,ch_1,,,,,,,,repeats line 2,,",
                "",
            ]
        );
    }
}
