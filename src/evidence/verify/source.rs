//! A file taken apart: JSON Lines, one JSON value over several lines, or a signed note.

use super::report::{Fault, Site};
use crate::domain::json;
use serde_json::Value;
use std::io::{self, BufRead, Read};

/// The longest line, or whole value, that is read.
pub(super) const LARGEST_LINE_BYTES: usize = 16 * 1024 * 1024;
/// What is said of a file that is nothing that can be verified.
pub(super) const NEITHER: &str = "neither JSON nor a signed note, and not named as a tile is: \
    tile/<level>/<number>[.p/<width>] or tile/entries/…, the number in groups of three digits such as x001/234";
/// A line holds whole request bodies a few levels down.
const DEEPEST_LINE: usize = json::DEEPEST + 8;

/// What stands next in a file.
pub(super) enum Item {
    /// A JSON value.
    Json(Value),
    /// The whole file: not JSON, perhaps a signed note.
    Text(String),
}

/// A file read line by line.
pub(super) struct Source<R> {
    reader: R,
    line: u64,
    started: bool,
}

impl<R: BufRead> Source<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: 0, started: false }
    }

    /// Where the last item starts: the file as a whole before its first line.
    pub(super) fn site(&self, file: &Site) -> Site {
        Site { line: Some(self.line).filter(|line| *line > 0), ..file.clone() }
    }

    /// The next item, `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Item>, Fault> {
        let Some(bytes) = self.next_line()? else { return Ok(None) };
        if std::mem::replace(&mut self.started, true) {
            let value = parse(&bytes).map_err(|detail| Fault::new("", detail))?;
            return Ok(Some(Item::Json(value)));
        }
        self.first(bytes).map(Some)
    }

    /// The first line tells what the file is.
    fn first(&mut self, bytes: Vec<u8>) -> Result<Item, Fault> {
        if !bytes.trim_ascii_start().starts_with(b"{") {
            let whole = self.rest(bytes)?;
            let text = String::from_utf8(whole).map_err(|_| Fault::unreadable(NEITHER))?;
            return Ok(Item::Text(text));
        }
        let start = self.line;
        let wrong = match parse(&bytes) {
            Ok(value) => return Ok(Item::Json(value)),
            Err(wrong) => wrong,
        };
        // Either one value over several lines, or JSON Lines whose first line was damaged.
        let Some(second) = self.next_line()? else { return Err(Fault::unreadable(wrong)) };
        if parse(&second).is_ok_and(|value| value.is_object()) {
            self.line = start;
            return Err(Fault::new("", wrong));
        }
        let whole = self.rest([bytes, second].concat())?;
        self.line = start;
        parse(&whole).map(Item::Json).map_err(Fault::unreadable)
    }

    fn next_line(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        loop {
            let mut bytes = Vec::new();
            let read = self.limited(|reader| reader.read_until(b'\n', &mut bytes))?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            if bytes.len() > LARGEST_LINE_BYTES {
                return Err(Fault::unreadable(format!("a line is longer than {LARGEST_LINE_BYTES} bytes")));
            }
            if !bytes.trim_ascii().is_empty() {
                return Ok(Some(bytes));
            }
        }
    }

    fn rest(&mut self, mut bytes: Vec<u8>) -> Result<Vec<u8>, Fault> {
        self.limited(|reader| reader.read_to_end(&mut bytes))?;
        if bytes.len() > LARGEST_LINE_BYTES {
            return Err(Fault::unreadable(format!("one value is longer than {LARGEST_LINE_BYTES} bytes")));
        }
        Ok(bytes)
    }

    fn limited(
        &mut self,
        read: impl FnOnce(&mut io::Take<&mut R>) -> io::Result<usize>,
    ) -> Result<usize, Fault> {
        let limit = u64::try_from(LARGEST_LINE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        read(&mut self.reader.by_ref().take(limit))
            .map_err(|error| Fault::unreadable(format!("cannot be read: {error}")))
    }
}

fn parse(bytes: &[u8]) -> Result<Value, String> {
    json::parse_within(bytes, LARGEST_LINE_BYTES, DEEPEST_LINE).map_err(|fault| fault.to_string())
}
