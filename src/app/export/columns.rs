//! Apache Parquet: the table of the CSV with typed columns, and with header and manifest in the file's metadata.
//!
//! ```text
//! PAR1 · row group · row group · … · footer
//! └──────────── digest ───────────┘  └ `procura.header`, `procura.manifest`: the export's header, and the
//!                                    receipt of its manifest, which verifies by itself
//! ```

use super::ExportError;
use super::form::{Count, Facts, Form};
use crate::domain::{Amount, Hash};
use crate::evidence::canonical;
use crate::evidence::export::Header;
use crate::storage::AnyConnection;
use crate::storage::receipt::StoredReceipt;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// How many rows wait in memory before they are written together.
const GROUP: usize = 16_384;
/// Decimal digits after the point of every amount; no currency of ISO 4217 has more.
const SCALE: u32 = 4;

/// The columns. The export's id comes first, so that the beginning of a file tells of which export it is.
const SCHEMA: &str = "message procura_calls {
    REQUIRED BYTE_ARRAY export (STRING);
    REQUIRED INT64 at (TIMESTAMP(MILLIS, true));
    REQUIRED BYTE_ARRAY receipt (STRING);
    REQUIRED BYTE_ARRAY kind (STRING);
    OPTIONAL BYTE_ARRAY outcome (STRING);
    OPTIONAL BYTE_ARRAY intent (STRING);
    OPTIONAL FIXED_LEN_BYTE_ARRAY(16) amount (DECIMAL(38, 4));
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

/// One column's cells of the rows that wait.
enum Column {
    Text(Vec<Option<ByteArray>>),
    Number(Vec<Option<i64>>),
    Decimal(Vec<Option<FixedLenByteArray>>),
}

/// One cell, before it joins its column.
enum Cell {
    Text(Option<String>),
    Number(Option<i64>),
    Decimal(Option<i128>),
}

impl Column {
    /// An empty column for cells of this one's type.
    fn of(cell: &Cell) -> Self {
        match cell {
            Cell::Text(_) => Self::Text(Vec::new()),
            Cell::Number(_) => Self::Number(Vec::new()),
            Cell::Decimal(_) => Self::Decimal(Vec::new()),
        }
    }

    fn push(&mut self, cell: Cell) -> Result<(), ExportError> {
        match (self, cell) {
            (Self::Text(cells), Cell::Text(text)) => {
                cells.push(text.map(|text| ByteArray::from(text.into_bytes())));
            }
            (Self::Number(cells), Cell::Number(number)) => cells.push(number),
            (Self::Decimal(cells), Cell::Decimal(units)) => {
                cells.push(units.map(|units| ByteArray::from(units.to_be_bytes().to_vec()).into()));
            }
            (Self::Text(_) | Self::Number(_) | Self::Decimal(_), _) => {
                return Err(ExportError::Unwritten("a cell of another type than its column".into()));
            }
        }
        Ok(())
    }

    /// Writes the cells and forgets them.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Text(cells) => {
                let (values, levels) = split(std::mem::take(cells));
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Number(cells) => {
                let (values, levels) = split(std::mem::take(cells));
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Decimal(cells) => {
                let (values, levels) = split(std::mem::take(cells));
                writer.typed::<FixedLenByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        Ok(())
    }
}

/// The values that are there, and for each cell whether it is: its definition level. A column that is always there
/// ignores the levels.
fn split<T>(cells: Vec<Option<T>>) -> (Vec<T>, Vec<i16>) {
    let levels = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    (cells.into_iter().flatten().collect(), levels)
}

/// An export as columns.
pub(super) struct Columns {
    header: Header,
    count: Count,
    digest: Sha256,
    writer: SerializedFileWriter<Vec<u8>>,
    /// The group that is not written yet.
    open: Vec<Column>,
    rows: usize,
    waiting: Vec<u8>,
}

impl Columns {
    pub(super) fn begin(header: &Header) -> Result<Self, ExportError> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        // Without an index of pages, the bytes before the footer are those of the rows: what the digest is of.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_column_compression("export".into(), Compression::UNCOMPRESSED)
            .set_offset_index_disabled(true)
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::Chunk)
            .set_created_by(concat!("procura version ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
        let (digest, open, waiting) = (Sha256::new(), Vec::new(), Vec::new());
        let (header, count) = (header.clone(), Count::default());
        let mut begun = Self { header, count, digest, writer, open, rows: 0, waiting };
        begun.collect()?;
        Ok(begun)
    }

    fn cells(&self, stored: &StoredReceipt, facts: Facts) -> Result<[Cell; 18], ExportError> {
        let body = &stored.body;
        let text = |text: &dyn std::fmt::Display| Cell::Text(Some(text.to_string()));
        let maybe = |text: Option<String>| Cell::Text(text);
        let number = |number: Option<u64>| {
            let number = number.map(i64::try_from).transpose();
            number.map(Cell::Number).map_err(|error| ExportError::Unwritten(error.to_string()))
        };
        Ok([
            text(&self.header.export),
            Cell::Number(Some(body.at.unix_milliseconds())),
            text(&body.id),
            text(&body.kind.as_str()),
            maybe(body.outcome.map(|outcome| outcome.as_str().to_owned())),
            maybe(stored.intent.as_ref().map(ToString::to_string)),
            Cell::Decimal(facts.amount.map(scaled)),
            maybe(facts.amount.map(|amount| amount.currency().to_string())),
            maybe(facts.reason),
            maybe(facts.clauses),
            number(body.mandate_version)?,
            number(body.policy_version)?,
            maybe(body.principal.map(|id| id.to_string())),
            maybe(body.agent.map(|id| id.to_string())),
            maybe(body.credential.map(|id| id.to_string())),
            number(Some(body.seq))?,
            number(Some(stored.log_index))?,
            text(&stored.hash),
        ])
    }

    /// Writes the rows that wait as a group.
    fn write_group(&mut self) -> Result<(), ExportError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.open {
            let mut writer = group.next_column()?.ok_or_else(missing)?;
            column.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        self.collect()
    }

    /// Takes what the writer has written so far.
    fn collect(&mut self) -> Result<(), ExportError> {
        self.writer.flush().map_err(|error| ExportError::Unwritten(error.to_string()))?;
        let written = std::mem::take(self.writer.inner_mut());
        self.digest.update(&written);
        self.waiting.extend(written);
        Ok(())
    }
}

fn missing() -> ExportError {
    ExportError::Unwritten("a row with more cells than the schema has columns".into())
}

/// An amount in units of the last of [`SCALE`] digits.
fn scaled(amount: Amount) -> i128 {
    let more = SCALE.saturating_sub(amount.currency().exponent());
    i128::from(amount.minor_units()).saturating_mul(10i128.saturating_pow(more))
}

impl Form for Columns {
    fn row(&mut self, _: &mut AnyConnection, stored: &StoredReceipt) -> Result<(), ExportError> {
        let cells = self.cells(stored, Facts::of(stored)?)?;
        if self.open.is_empty() {
            self.open = cells.iter().map(Column::of).collect();
        }
        for (column, cell) in self.open.iter_mut().zip(cells) {
            column.push(cell)?;
        }
        self.count.add(&stored.body, stored.hash);
        self.rows = self.rows.saturating_add(1);
        if self.rows >= GROUP { self.write_group() } else { Ok(()) }
    }

    /// Its digest is the SHA-256 of every byte before the footer.
    fn manifest(&mut self) -> Result<Value, ExportError> {
        self.write_group()?;
        Ok(self.count.manifest(&self.header, Hash(self.digest.clone().finalize().into())))
    }

    fn end(&mut self, _: &StoredReceipt, line: Option<&str>) -> Result<(), ExportError> {
        // A receipt as it verifies by itself: what names the export is needed among the export's lines alone.
        let unread = |error: serde_json::Error| ExportError::Unwritten(error.to_string());
        let mut manifest: Value = serde_json::from_str(line.unwrap_or_default()).map_err(unread)?;
        manifest.as_object_mut().map(|members| members.remove("export"));
        for (key, value) in [("procura.header", self.header.to_json()), ("procura.manifest", manifest)] {
            let value = String::from_utf8(canonical::to_vec(&value));
            let value = value.map_err(|error| ExportError::Unwritten(error.to_string()))?;
            self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        self.writer.finish()?;
        self.waiting.append(self.writer.inner_mut());
        Ok(())
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.waiting)
    }
}
