//! Parquet: a table of typed columns for analysts, in groups of rows that bound how much waits in memory.

use super::ExportError;
use super::form::{Count, Facts, Form};
use crate::evidence::export::Header;
use crate::evidence::receipt::Body;
use crate::storage::AnyConnection;
use crate::storage::receipt::StoredReceipt;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// How many rows are gathered before their columns are written.
const GROUP: usize = 8192;

/// The columns in order. Times are milliseconds in UTC, sums whole minor units of their currency.
const SCHEMA: &str = "message calls {
    REQUIRED INT64 at (TIMESTAMP(MILLIS,true));
    REQUIRED BYTE_ARRAY receipt (STRING);
    REQUIRED BYTE_ARRAY kind (STRING);
    OPTIONAL BYTE_ARRAY outcome (STRING);
    OPTIONAL BYTE_ARRAY intent (STRING);
    OPTIONAL INT64 amount_minor_units;
    OPTIONAL BYTE_ARRAY currency (STRING);
    OPTIONAL BYTE_ARRAY reason (STRING);
    OPTIONAL BYTE_ARRAY clauses (STRING);
    OPTIONAL INT64 mandate_version;
    OPTIONAL INT64 policy_version;
    OPTIONAL BYTE_ARRAY principal (STRING);
    OPTIONAL BYTE_ARRAY agent (STRING);
    OPTIONAL BYTE_ARRAY credential (STRING);
    REQUIRED INT64 seq;
    REQUIRED INT64 log_index;
    REQUIRED BYTE_ARRAY hash (STRING);
}";

impl From<ParquetError> for ExportError {
    fn from(error: ParquetError) -> Self {
        Self::Unwritten(error.to_string())
    }
}

/// What is written and was not taken yet, shared with the writer of the file.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<Vec<u8>>>);

impl io::Write for Waiting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A row of the table.
struct Row {
    body: Body,
    intent: Option<String>,
    log_index: u64,
    hash: String,
    facts: Facts,
}

/// An export as typed columns.
pub(super) struct Columns {
    header: Header,
    count: Count,
    rows: Vec<Row>,
    writer: SerializedFileWriter<Waiting>,
    waiting: Waiting,
}

impl Columns {
    pub(super) fn begin(header: &Header) -> Result<Self, ExportError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("procura ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let waiting = Waiting::default();
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let mut writer = SerializedFileWriter::new(waiting.clone(), schema, Arc::new(properties))?;
        let stated = header.to_json().to_string();
        for (name, value) in [("procura.export", header.export.to_string()), ("procura.header", stated)] {
            writer.append_key_value_metadata(KeyValue::new(name.to_owned(), value));
        }
        let (header, count) = (header.clone(), Count::default());
        Ok(Self { header, count, rows: Vec::new(), writer, waiting })
    }

    /// Writes the rows that were gathered, column after column.
    fn write_group(&mut self) -> Result<(), ExportError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let mut group = Group { rows: &rows, writer: self.writer.next_row_group()? };
        group.numbers(|row| Some(row.body.at.unix_milliseconds()), Needed::Always)?;
        group.texts(|row| Some(row.body.id.to_string()), Needed::Always)?;
        group.texts(|row| Some(row.body.kind.as_str().to_owned()), Needed::Always)?;
        group.texts(|row| row.body.outcome.map(|outcome| outcome.as_str().to_owned()), Needed::Maybe)?;
        group.texts(|row| row.intent.clone(), Needed::Maybe)?;
        group.numbers(|row| row.facts.amount.map(|amount| amount.minor_units()), Needed::Maybe)?;
        group.texts(|row| row.facts.amount.map(|amount| amount.currency().to_string()), Needed::Maybe)?;
        group.texts(|row| row.facts.reason.clone(), Needed::Maybe)?;
        group.texts(|row| row.facts.clauses.clone(), Needed::Maybe)?;
        group.numbers(|row| row.body.mandate_version.map(whole), Needed::Maybe)?;
        group.numbers(|row| row.body.policy_version.map(whole), Needed::Maybe)?;
        group.texts(|row| row.body.principal.map(|id| id.to_string()), Needed::Maybe)?;
        group.texts(|row| row.body.agent.map(|id| id.to_string()), Needed::Maybe)?;
        group.texts(|row| row.body.credential.map(|id| id.to_string()), Needed::Maybe)?;
        group.numbers(|row| Some(whole(row.body.seq)), Needed::Always)?;
        group.numbers(|row| Some(whole(row.log_index)), Needed::Always)?;
        group.texts(|row| Some(row.hash.clone()), Needed::Always)?;
        group.writer.close()?;
        Ok(())
    }
}

/// A count as a column holds it; larger ones do not occur and saturate.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Whether a column has a value in every row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Always,
    Maybe,
}

/// A group of rows whose columns are being written.
struct Group<'a, 'b> {
    rows: &'a [Row],
    writer: SerializedRowGroupWriter<'b, Waiting>,
}

impl Group<'_, '_> {
    fn texts(&mut self, of: impl Fn(&Row) -> Option<String>, needed: Needed) -> Result<(), ExportError> {
        self.column::<ByteArrayType>(|row| of(row).map(|text| ByteArray::from(text.into_bytes())), needed)
    }

    fn numbers(&mut self, of: impl Fn(&Row) -> Option<i64>, needed: Needed) -> Result<(), ExportError> {
        self.column::<Int64Type>(of, needed)
    }

    fn column<T: DataType>(
        &mut self,
        of: impl Fn(&Row) -> Option<T::T>,
        needed: Needed,
    ) -> Result<(), ExportError> {
        let missing = || ExportError::Unwritten("the table has more columns than its schema".into());
        let mut column = self.writer.next_column()?.ok_or_else(missing)?;
        let cells: Vec<Option<T::T>> = self.rows.iter().map(of).collect();
        let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<T::T> = cells.into_iter().flatten().collect();
        let levels = (needed == Needed::Maybe).then_some(&*levels);
        column.typed::<T>().write_batch(&values, levels, None)?;
        column.close()?;
        Ok(())
    }
}

impl Form for Columns {
    fn row(&mut self, _: &mut AnyConnection, stored: &StoredReceipt) -> Result<(), ExportError> {
        self.rows.push(Row {
            body: stored.body.clone(),
            intent: stored.intent.as_ref().map(ToString::to_string),
            log_index: stored.log_index,
            hash: stored.hash.to_string(),
            facts: Facts::of(stored)?,
        });
        self.count.add(&stored.body, stored.hash);
        if self.rows.len() >= GROUP { self.write_group() } else { Ok(()) }
    }

    /// Without a digest: a file that was cut has no footer and is not read by anything.
    fn manifest(&self) -> Value {
        self.count.manifest(&self.header, None)
    }

    fn end(&mut self, manifest: &StoredReceipt, _: Option<&str>) -> Result<(), ExportError> {
        self.write_group()?;
        let id = manifest.body.id.to_string();
        self.writer.append_key_value_metadata(KeyValue::new("procura.manifest".to_owned(), id));
        self.writer.append_key_value_metadata(KeyValue::new(
            "procura.manifest_output".to_owned(),
            manifest.output.clone(),
        ));
        self.writer.finish()?;
        Ok(())
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut *self.waiting.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
