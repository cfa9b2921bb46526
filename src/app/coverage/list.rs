//! A provider's own list of effects, read line by line: CSV with a heading, or one JSON object a line. A line that cannot
//! be read is named by its number and stops no other.

use crate::domain::{Amount, Currency, Timestamp};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// The most lines a list may have.
pub const MOST_LINES: u64 = 1_000_000;
/// The most bytes one line may have.
const LONGEST_LINE: u64 = 64 << 10;
/// The most bytes a reference or key may have.
const LONGEST_TEXT: usize = 1024;

/// Which column, or member, holds what; a name that was not given is looked for and may be missing.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// The provider's reference (`reference`, unless said).
    pub reference: Option<String>,
    /// The amount in major units (`amount`, unless said).
    pub amount: Option<String>,
    /// The amount's currency (`currency`, unless said).
    pub currency: Option<String>,
    /// When it happened, with an offset (`time`, unless said).
    pub time: Option<String>,
    /// The idempotency key that the provider was handed, where it gives it back.
    pub key: Option<String>,
}

/// One effect as the provider lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The line, from 1; a CSV's heading counts.
    pub line: u64,
    /// The provider's reference.
    pub reference: String,
    /// The amount as it is written, and its currency, where one is named.
    pub amount: Option<(String, Option<Currency>)>,
    /// When it happened.
    pub at: Option<Timestamp>,
    /// The idempotency key.
    pub key: Option<String>,
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub detail: String,
}

/// Reads a list and hands on each line, read or not.
///
/// # Errors
/// The whole cannot be read: no heading, a column that is not there, too many lines, or no text.
pub(super) fn read(
    mut from: impl BufRead,
    columns: &Columns,
    mut each: impl FnMut(Result<Listed, Malformed>),
) -> Result<u64, String> {
    let first = from.fill_buf().map_err(|error| error.to_string())?;
    let first = first.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(first);
    let is_json = first.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if is_json { json_lines(from, columns, &mut each) } else { table(from, columns, &mut each) }
}

type Each<'a> = &'a mut dyn FnMut(Result<Listed, Malformed>);

fn json_lines(mut from: impl BufRead, columns: &Columns, each: Each<'_>) -> Result<u64, String> {
    let (mut number, mut lines) = (0u64, 0u64);
    loop {
        let mut line = Vec::new();
        let read = from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if read.map_err(|error| error.to_string())? == 0 {
            return Ok(lines);
        }
        number = number.saturating_add(1);
        if !line.ends_with(b"\n") && u64::try_from(line.len()).is_ok_and(|length| length == LONGEST_LINE) {
            return Err(format!("line {number} has more than {LONGEST_LINE} bytes"));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        lines = counted(lines)?;
        let value: Result<Value, _> = serde_json::from_slice(&line);
        each(match value {
            Ok(Value::Object(members)) => {
                entry(number, columns, |name| Ok(members.get(name).map(text_of).transpose()?.flatten()))
            }
            Ok(_) => Err(Malformed { line: number, detail: "it is no JSON object".into() }),
            Err(error) => Err(Malformed { line: number, detail: not_json(&error) }),
        });
    }
}

/// Why a line is not JSON, and at which of its characters: what the parser calls its line is always the first.
fn not_json(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let why = said.rsplit_once(" at line ").map_or(said.as_str(), |(why, _)| why);
    format!("it is not JSON: {why}, at its column {}", error.column())
}

/// Text, or a number in the digits it is written with; null is none.
fn text_of(value: &Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err("neither text nor a number".into()),
    }
}

fn table(from: impl BufRead, columns: &Columns, each: Each<'_>) -> Result<u64, String> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(OneBreak::of(from));
    let heading = reader.headers().map_err(|error| format!("its heading cannot be read: {error}"))?.clone();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, name) in heading.iter().enumerate() {
        if places.insert(name.trim_start_matches('\u{FEFF}'), place).is_some() {
            return Err(format!("two columns are called `{}`", shown(name)));
        }
    }
    let given = [&columns.amount, &columns.currency, &columns.time, &columns.key];
    let given = given.into_iter().flatten().map(String::as_str);
    let needed = std::iter::once(columns.reference.as_deref().unwrap_or("reference")).chain(given);
    for name in needed {
        if !places.contains_key(name) {
            let found: Vec<String> = heading.iter().map(shown).collect();
            return Err(format!("there is no column `{}`: {} found", shown(name), found.join(", ")));
        }
    }
    let (mut record, mut lines) = (csv::StringRecord::new(), 0u64);
    loop {
        let read = reader.read_record(&mut record);
        // Where a record ends in a fault, the next one is read after it.
        let number = record.position().map_or_else(|| reader.position().line(), csv::Position::line);
        match read {
            Ok(false) => return Ok(lines),
            Ok(true) if record.len() != heading.len() => {
                lines = counted(lines)?;
                let detail = unlike_heading(record.len(), &heading);
                each(Err(Malformed { line: number, detail }));
            }
            Ok(true) => {
                lines = counted(lines)?;
                let cell = |name: &str| {
                    let cell = places.get(name).and_then(|place| record.get(*place));
                    Ok(cell.filter(|cell| !cell.is_empty()).map(str::to_owned))
                };
                each(entry(number, columns, cell));
            }
            Err(error) if error.is_io_error() => return Err(error.to_string()),
            Err(error) => {
                lines = counted(lines)?;
                each(Err(Malformed { line: number, detail: not_a_record(&error, &heading) }));
            }
        }
    }
}

/// A text with `\n` where lines end with `\r\n`: the reader of records counts a line from the first of the two, and
/// would call every line by the number of the one before.
struct OneBreak<R> {
    from: R,
    /// A `\r` that was taken, before it is known what follows.
    held: bool,
}

impl<R> OneBreak<R> {
    const fn of(from: R) -> Self {
        Self { from, held: false }
    }
}

impl<R: BufRead> Read for OneBreak<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let mut written = 0usize;
        let mut room = out.iter_mut();
        let mut put = |byte: u8| room.next().map(|place| *place = byte).inspect(|()| written += 1).is_some();
        loop {
            let there = self.from.fill_buf()?;
            if there.is_empty() {
                self.held = self.held && !put(b'\r');
                return Ok(written);
            }
            let (mut taken, mut is_full) = (0usize, false);
            for byte in there {
                // A break's first half is left out, any other `\r` is late by one.
                is_full = self.held && *byte != b'\n' && !put(b'\r');
                if is_full {
                    break;
                }
                self.held = *byte == b'\r';
                is_full = !self.held && !put(*byte);
                if is_full {
                    break;
                }
                taken = taken.saturating_add(1);
            }
            self.from.consume(taken);
            if is_full {
                return Ok(written);
            }
        }
    }
}

/// What a record has too few or too many of.
fn unlike_heading(cells: usize, heading: &csv::StringRecord) -> String {
    let counts = format!("it has {cells} cells, the heading {}", heading.len());
    match heading.get(cells) {
        Some(name) => format!("{counts}: `{}` is the first that is missing", shown(name)),
        None => format!("{counts}: column {} is the first without a name", heading.len().saturating_add(1)),
    }
}

/// Why a record cannot be read, and in which column.
fn not_a_record(error: &csv::Error, heading: &csv::StringRecord) -> String {
    let csv::ErrorKind::Utf8 { err, .. } = error.kind() else { return error.to_string() };
    let byte = err.valid_up_to().saturating_add(1);
    match heading.get(err.field()) {
        Some(name) => in_column(name, &format!("its byte {byte} is not UTF-8")),
        None => format!("column {} is not UTF-8", err.field().saturating_add(1)),
    }
}

fn counted(lines: u64) -> Result<u64, String> {
    if lines < MOST_LINES {
        Ok(lines.saturating_add(1))
    } else {
        Err(format!("it has more than {MOST_LINES} lines: divide it by time"))
    }
}

/// Reads one line's cells.
fn entry(
    line: u64,
    columns: &Columns,
    cell: impl Fn(&str) -> Result<Option<String>, String>,
) -> Result<Listed, Malformed> {
    let column = |name: &Option<String>, usual: &str| name.as_deref().unwrap_or(usual).to_owned();
    let read = || {
        let [reference, amount, currency, time] = [
            column(&columns.reference, "reference"),
            column(&columns.amount, "amount"),
            column(&columns.currency, "currency"),
            column(&columns.time, "time"),
        ];
        let named = |name: &str| cell(name).and_then(bounded).map_err(|why| in_column(name, &why));
        let listed = named(&reference)?.ok_or_else(|| in_column(&reference, "there is none"))?;
        let code = named(&currency)?.map(|code| code.parse::<Currency>());
        let code = code.transpose().map_err(|why| in_column(&currency, &why))?;
        let value = named(&amount)?;
        if let (Some(value), Some(code)) = (&value, code) {
            Amount::parse(value, code).map_err(|why| in_column(&amount, &why))?;
        }
        let at = named(&time)?.map(|at| at.parse()).transpose();
        let at = at.map_err(|why: String| in_column(&time, &why))?;
        let key = columns.key.as_deref().map(named).transpose()?.flatten();
        Ok(Listed { line, reference: listed, amount: value.map(|value| (value, code)), at, key })
    };
    read().map_err(|detail: String| Malformed { line, detail })
}

fn in_column(name: &str, why: &str) -> String {
    format!("`{}`: {why}", shown(name))
}

fn bounded(found: Option<String>) -> Result<Option<String>, String> {
    match found {
        Some(text) if text.len() > LONGEST_TEXT => {
            Err(format!("{} bytes, {LONGEST_TEXT} are allowed", text.len()))
        }
        other => Ok(other),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, columns: &Columns) -> Result<Vec<Result<Listed, Malformed>>, String> {
        let mut found = Vec::new();
        read(text.as_bytes(), columns, |line| found.push(line)).map(|_| found)
    }

    fn columns(reference: &str) -> Columns {
        Columns { reference: Some(reference.into()), ..Columns::default() }
    }

    #[test]
    fn a_table_and_json_lines_say_the_same() {
        let table = "id,amount,currency,time\nre_1,24.00,EUR,2026-11-01T01:00:00+01:00\n";
        let json =
            "{\"id\":\"re_1\",\"amount\":\"24.00\",\"currency\":\"EUR\",\"time\":\"2026-11-01T00:00:00Z\"}\n";
        let (table, json) = (lines(table, &columns("id")).unwrap(), lines(json, &columns("id")).unwrap());
        let only = |lines: &[Result<Listed, Malformed>]| Listed { line: 0, ..lines[0].clone().unwrap() };
        assert_eq!(only(&table), only(&json));
        assert_eq!((table[0].as_ref().unwrap().line, json[0].as_ref().unwrap().line), (2, 1));
    }

    #[test]
    fn lines_are_counted_alike_however_they_end() {
        let text = "reference,amount\nch_1\n\"a\nb\",1\nch_\rx,2\nch_2\n";
        let said = |text: &str, size| -> Vec<u64> {
            let mut found = Vec::new();
            let reader = std::io::BufReader::with_capacity(size, text.as_bytes());
            read(reader, &Columns::default(), |line| {
                found.extend(line.err().map(|malformed| malformed.line));
            })
            .unwrap();
            found
        };
        for size in [1, 2, 3, 7, 4096] {
            assert_eq!(said(text, size), said(&text.replace('\n', "\r\n"), size), "{size}");
            assert_eq!(said(&text.replace('\r', ""), size), [2, 6]);
        }
    }

    #[test]
    fn a_malformed_line_is_named_and_stops_no_other() {
        let table = "reference,amount,currency,time\nre_1,24.001,EUR,\nre_2,1.00,EUR,2026-11-01\n,1.00,EUR,\nre_4,1.00\nre_5,5,JPY,\nre_6,5.0,JPY,\n\"a\nb\",1.00,EUR,\nre_8,1.00,XYZ,\n";
        let found = lines(table, &Columns::default()).unwrap();
        let said: Vec<(u64, bool)> = found
            .iter()
            .map(|line| match line {
                Ok(listed) => (listed.line, true),
                Err(malformed) => (malformed.line, false),
            })
            .collect();
        let expected =
            [(2, false), (3, false), (4, false), (5, false), (6, true), (7, false), (8, true), (10, false)];
        assert_eq!(said, expected, "{found:#?}");
        let json = "{\"reference\":\"a\"}\nnot json\n[1]\n{\"reference\":{}}\n{\"reference\":7}\n";
        let found = lines(json, &Columns::default()).unwrap();
        assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, false, true]);
    }

    #[test]
    fn a_column_that_was_named_must_be_there_and_stand_once() {
        let said = lines("ref,amount\na,1\n", &Columns::default()).unwrap_err();
        assert_eq!(said, "there is no column `reference`: ref, amount found");
        let named = Columns { time: Some("when".into()), ..Columns::default() };
        assert!(lines("reference\na\n", &named).is_err());
        assert!(lines("reference,reference\na,b\n", &Columns::default()).is_err());
        assert_eq!(lines("reference\na\n", &Columns::default()).unwrap().len(), 1);
    }
}
