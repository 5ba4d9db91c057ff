//! The rows of a file, one after another.
//!
//! ```text
//! next: the fields of a row as bytes -> each field that goes somewhere -> a value of its column
//!                        |                                |
//!                        | 4832, 4866, 4879: the load ends   4863, 4864, 4867, 4869: the row is left out, and counted
//! ```
//! Rows in front of FIRSTROW are read field by field and not looked at (sql-docs, BULK INSERT: FIRSTROW counts row terminators).

use std::ops::Range;

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::Value;

use super::layout::{Destination, FIELD_BYTES_MAX, Field, Host, Layout};
use super::native;
use super::options::{CodePage, DataFileType, Options};
use super::source::{FileBytes, Found, Keep, Source};
use super::value::{Problem, value};
use crate::messages;

/// Most bytes of a field of a `max` column.
const LONG_BYTES_MAX: u64 = i32::MAX as u64;
/// The mark at the begin of a file of UTF-16, little-endian.
const WIDE_MARK: [u8; 2] = [0xFF, 0xFE];
/// The mark of UTF-8.
const UTF8_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// 4864: it is not a value of its column.
    Mismatch,
    /// 4863: it is longer than its column.
    Truncation,
    /// 4867: it is out of the range of its column.
    Overflow,
    /// 4869: it is NULL, and its column takes none.
    Null,
}

/// A row that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The row in the file, from 1.
    pub row: u64,
    /// The field in the row, from 1.
    pub field: usize,
    /// The destination of the field.
    pub to: usize,
    /// Where the row is in the file.
    pub bytes: Range<u64>,
}

/// What a call has found in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// A row: a value for each destination.
    Row,
    Fault(Fault),
    End,
}

/// A field as bytes of the row.
#[derive(Clone, Debug)]
pub(super) enum Span {
    Null,
    /// It goes to no column.
    Passed,
    Bytes(Range<usize>),
    /// Longer than its format says.
    TooLong,
}

pub struct Reader<F> {
    pub(super) source: Source<F>,
    pub(super) fields: Vec<Field>,
    pub(super) destinations: Vec<Destination>,
    pub(super) options: Options,
    /// The rows that were read.
    pub(super) row: u64,
    /// The bytes of the row under way.
    pub(super) bytes: Vec<u8>,
    pub(super) spans: Vec<Span>,
    pub(super) charge: Charge,
    /// What the file has shown of itself: 4830 or 4831.
    notice: Option<Error>,
}

impl<F: FileBytes> Reader<F> {
    /// A reader at the first row of a file.
    ///
    /// # Errors
    /// 4862.
    pub fn new(file: F, mut layout: Layout, destinations: Vec<Destination>, options: Options) -> Result<Reader<F>> {
        let mut source = Source::new(file);
        let mut notice = None;
        let is_wide = source.is_at(&WIDE_MARK)?;
        let mut is_marked = is_wide;
        if options.format_file.is_none() {
            match (options.data_file_type, is_wide) {
                (DataFileType::Char, true) => {
                    layout.widened(&options, true);
                    notice = Some(messages::char_file_is_wide());
                }
                (DataFileType::WideChar, false) if !source.is_at_end()? => {
                    layout.widened(&options, false);
                    notice = Some(messages::wide_file_is_char());
                }
                (DataFileType::Native | DataFileType::WideNative, _) => is_marked = false,
                (DataFileType::Char, false) | (DataFileType::WideChar, _) => {}
            }
        } else {
            let first = layout.fields.first();
            is_marked &= first.is_some_and(|field| field.host == Host::NChar && field.prefix_bytes == 0);
        }
        let is_utf8 = match options.code_page {
            CodePage::Utf8 => true,
            CodePage::Latin => false,
            CodePage::OfColumn => destinations.iter().any(|own| own.collation.is_utf8()),
        };
        let is_text = layout.fields.first().is_some_and(|field| field.host == Host::Char);
        if is_marked {
            source.pass(WIDE_MARK.len());
        } else if is_text && is_utf8 && source.is_at(&UTF8_MARK)? {
            source.pass(UTF8_MARK.len());
        }
        Ok(Reader {
            source,
            fields: layout.fields,
            destinations,
            options,
            row: 0,
            bytes: Vec::new(),
            spans: Vec::new(),
            charge: Charge::default(),
            notice,
        })
    }

    /// What the file has shown of itself, once: 4830, 4831.
    pub fn take_notice(&mut self) -> Option<Error> {
        self.notice.take()
    }

    /// The file that is read.
    pub fn file(&self) -> &F {
        self.source.file()
    }

    /// Reads the next row into `row`.
    ///
    /// # Errors
    /// 4832 where the file ends within a row, 4866 for a field that is too long, 4879 for a quoted field that is none, each with 7399 and 7330
    /// behind it; 4862, 701, 3617.
    pub fn next(&mut self, row: &mut Vec<Value>) -> Result<Read> {
        while self.row + 1 < self.options.first_row {
            if !self.read_fields(false)? {
                return Ok(Read::End);
            }
            self.row += 1;
        }
        if self.options.last_row.is_some_and(|last| self.row >= last) {
            return Ok(Read::End);
        }
        let begin = self.source.position();
        if !self.read_fields(true)? {
            return Ok(Read::End);
        }
        self.row += 1;
        let bytes = begin..self.source.position();
        row.clear();
        row.resize(self.destinations.len(), Value::Null);
        for place in 0..self.fields.len() {
            let Some(to) = self.fields[place].to else { continue };
            let kind = match self.value_of(place, to) {
                Ok(value) => {
                    row[to] = value;
                    continue;
                }
                Err(Problem::Field(kind)) => kind,
                Err(Problem::Statement(error)) => return Err(error),
            };
            let field = place + 1;
            let row = self.row;
            return Ok(Read::Fault(Fault {
                kind,
                row,
                field,
                to,
                bytes,
            }));
        }
        Ok(Read::Row)
    }

    fn value_of(&self, place: usize, to: usize) -> std::result::Result<Value, Problem> {
        let destination = &self.destinations[to];
        match self.spans.get(place) {
            Some(Span::Bytes(range)) => {
                let bytes = self.bytes.get(range.clone()).unwrap_or_default();
                value(bytes, &self.fields[place], destination, self.options.code_page)
            }
            Some(Span::TooLong) => Err(Problem::Field(FaultKind::Truncation)),
            Some(Span::Null | Span::Passed) | None if destination.nullable => Ok(Value::Null),
            Some(Span::Null | Span::Passed) | None => Err(Problem::Field(FaultKind::Null)),
        }
    }

    /// Reads the fields of a row; false at the end of the file.
    fn read_fields(&mut self, keep: bool) -> Result<bool> {
        self.bytes.clear();
        self.spans.clear();
        engine::cancel::spend(1)?;
        if self.options.quote.is_some() {
            return self.read_quoted(keep);
        }
        for place in 0..self.fields.len() {
            if self.source.is_at_end()? {
                let is_whole = self.fields[place].prefix_bytes == 0 && self.has_terminator(place);
                match place {
                    0 => return Ok(false),
                    // The last field is empty, and the last row has no terminator.
                    place if place + 1 == self.fields.len() && is_whole => {
                        self.spans.push(Span::Null);
                        return Ok(true);
                    }
                    _ => return Err(ends_load(messages::file_ends_in_row())),
                }
            }
            let keep = keep && self.fields[place].to.is_some();
            let span = self.read_field(place, keep)?;
            self.spans.push(span);
        }
        // A row of no fields would never end.
        Ok(!self.fields.is_empty())
    }

    fn has_terminator(&self, place: usize) -> bool {
        !self.fields[place].terminator.bytes.is_empty()
    }

    fn read_field(&mut self, place: usize, keep: bool) -> Result<Span> {
        let field = &self.fields[place];
        let prefix_bytes = usize::from(field.prefix_bytes);
        if prefix_bytes == 0 {
            let fixed = match field.host {
                Host::Native(sql_type) => native::fixed_bytes(sql_type),
                Host::Char | Host::NChar | Host::Binary if self.has_terminator(place) => None,
                Host::Char | Host::NChar | Host::Binary => Some(field.bytes_max),
            };
            return match fixed {
                Some(length) => self.read_length(place, length, keep),
                None => self.read_terminated(place, keep),
            };
        }
        let mut prefix = [0; 8];
        let found = self.source.peek(prefix_bytes)?;
        if found.len() < prefix_bytes {
            return Err(ends_load(messages::file_ends_in_row()));
        }
        prefix[..prefix_bytes].copy_from_slice(found);
        self.source.pass(prefix_bytes);
        let is_null = prefix[..prefix_bytes].iter().all(|byte| *byte == 0xFF);
        if is_null {
            self.pass_terminator(place)?;
            return Ok(Span::Null);
        }
        self.read_length(place, u64::from_le_bytes(prefix), keep)
    }

    /// A field of so many bytes.
    fn read_length(&mut self, place: usize, length: u64, keep: bool) -> Result<Span> {
        if keep && length > self.bytes_max(place) {
            return Err(self.too_long(place));
        }
        let start = self.bytes.len();
        let kept = if keep { Keep::UpTo(length) } else { Keep::Nothing };
        let read = self.source.take(length, kept, &mut self.bytes, &mut self.charge)?;
        if read < length {
            return Err(ends_load(messages::file_ends_in_row()));
        }
        self.pass_terminator(place)?;
        let field = &self.fields[place];
        let is_too_long = field.prefix_bytes > 0 && field.bytes_max > 0 && length > field.bytes_max;
        Ok(match keep {
            true if is_too_long => Span::TooLong,
            true => Span::Bytes(start..self.bytes.len()),
            false => Span::Passed,
        })
    }

    /// The terminator behind a field whose length is known.
    fn pass_terminator(&mut self, place: usize) -> Result<()> {
        let terminator = &self.fields[place].terminator;
        let length = terminator.bytes.len();
        if self.source.is_at(&terminator.bytes)? {
            self.source.pass(length);
            return Ok(());
        }
        let is_last = place + 1 == self.fields.len();
        match is_last && self.source.is_at_end()? {
            true => Ok(()),
            false => Err(self.too_long(place)),
        }
    }

    fn read_terminated(&mut self, place: usize, keep: bool) -> Result<Span> {
        let field = &self.fields[place];
        let start = self.bytes.len();
        let kept = if keep {
            Keep::UpTo(self.bytes_max(place))
        } else {
            Keep::Nothing
        };
        let terminators: [&[u8]; 2] = [&field.terminator.bytes, &field.terminator.returned];
        let unit_bytes = field.host.unit_bytes();
        let found = self
            .source
            .until(&terminators, unit_bytes, kept, &mut self.bytes, &mut self.charge)?;
        match found {
            Found::Terminator(_) => {}
            Found::TooLong => return Err(self.too_long(place)),
            Found::End if place + 1 == self.fields.len() => {}
            Found::End => return Err(ends_load(messages::file_ends_in_row())),
        }
        if field.terminator.with_return {
            strip_return(&mut self.bytes, start, field.host);
        }
        if !keep {
            self.bytes.truncate(start);
            return Ok(Span::Passed);
        }
        let length = (self.bytes.len() - start) as u64;
        Ok(match length {
            0 => Span::Null,
            length if field.bytes_max > 0 && length > field.bytes_max => Span::TooLong,
            _ => Span::Bytes(start..self.bytes.len()),
        })
    }

    /// The most bytes that a field may have.
    pub(super) fn bytes_max(&self, place: usize) -> u64 {
        let to = self.fields[place].to.and_then(|to| self.destinations.get(to));
        match to.is_some_and(|to| to.sql_type.is_max() || to.sql_type.is_large_object()) {
            true => LONG_BYTES_MAX,
            false => FIELD_BYTES_MAX,
        }
    }

    /// 4866 for a field of the row under way.
    pub(super) fn too_long(&self, place: usize) -> Error {
        ends_load(messages::bulk_field_too_long(self.row + 1, place + 1))
    }
}

/// Takes a carriage return off the end of a field.
pub(super) fn strip_return(bytes: &mut Vec<u8>, start: usize, host: Host) {
    let mark: &[u8] = match host {
        Host::NChar => &[b'\r', 0],
        Host::Char | Host::Binary | Host::Native(_) => b"\r",
    };
    if bytes[start..].ends_with(mark) {
        bytes.truncate(bytes.len() - mark.len());
    }
}

/// An error that ends a load, with what the reader of rows says behind it.
pub fn ends_load(error: Error) -> Error {
    error
        .followed_by(messages::bulk_provider_error())
        .followed_by(messages::bulk_fetch_failed())
}

/// What is said of a row that is left out.
pub fn fault_error(fault: &Fault, destinations: &[Destination]) -> Error {
    let column = destinations.get(fault.to).map_or("", |own| own.name.as_str());
    let (row, field) = (fault.row, fault.field);
    match fault.kind {
        FaultKind::Mismatch => messages::bulk_mismatch(row, field, column),
        FaultKind::Truncation => messages::bulk_truncation(row, field, column),
        FaultKind::Overflow => messages::bulk_overflow(row, field, column),
        FaultKind::Null => messages::bulk_null(row, field, column),
    }
}
