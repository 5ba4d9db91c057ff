//! Rows of FORMAT = 'CSV': fields that may stand in quotes (RFC 4180; sql-docs, BULK INSERT).
//!
//! ```text
//! field    bytes without a terminator            empty: NULL
//!          " bytes, with "" for each quote "      terminators inside are characters; empty: the empty string
//! row      field , field , field row-terminator  as many fields as the table has columns (4879)
//! ```

use engine::error::{Error, Result};

use super::layout::{Field, Terminator, encoded};
use super::options::Mark;
use super::reader::{Reader, Span, ends_load, strip_return};
use super::source::{FileBytes, Found, Keep};
use crate::messages;

/// What stands behind a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Field,
    Row,
}

impl<F: FileBytes> Reader<F> {
    /// Reads the fields of a row; false at the end of the file. A row that is passed over may have any number of fields.
    pub(super) fn read_quoted(&mut self, keep: bool) -> Result<bool> {
        if self.source.is_at_end()? || self.fields.is_empty() {
            return Ok(false);
        }
        let mut place = 0;
        loop {
            let own = place.min(self.fields.len() - 1);
            let kept = keep && self.fields[own].to.is_some();
            let (span, behind) = self.read_quoted_field(own, kept)?;
            self.spans.push(span);
            place += 1;
            match behind {
                Behind::Row if keep && place < self.fields.len() => return Err(self.invalid(place)),
                Behind::Row => return Ok(true),
                Behind::Field if keep && place == self.fields.len() => return Err(self.invalid(place)),
                Behind::Field => {}
            }
            if !keep {
                self.spans.clear();
                self.bytes.clear();
            }
        }
    }

    fn invalid(&self, place: usize) -> Error {
        ends_load(messages::csv_value_invalid(
            self.source.file().name(),
            self.row + 1,
            place + 1,
        ))
    }

    /// The terminators of a field and of a row, and the quote, as they are in the file.
    fn marks(&self, place: usize) -> (Vec<u8>, Terminator, Vec<u8>) {
        let host = self.fields[place].host;
        let page = self.options.code_page;
        let field = encoded(&self.options.field_terminator(), host, page);
        let row = self.fields.last().map(|field: &Field| field.terminator.clone());
        let quote = self.options.quote.map(|quote| Mark::Text(quote.to_string()));
        let quote = quote.map(|quote| encoded(&quote, host, page));
        (field, row.unwrap_or_default(), quote.unwrap_or_default())
    }

    fn read_quoted_field(&mut self, place: usize, keep: bool) -> Result<(Span, Behind)> {
        let (field, row, quote) = self.marks(place);
        let host = self.fields[place].host;
        let start = self.bytes.len();
        let kept = if keep {
            Keep::UpTo(self.bytes_max(place))
        } else {
            Keep::Nothing
        };
        if self.source.is_at(&quote)? {
            self.source.pass(quote.len());
            self.read_inside(place, &quote, kept)?;
            let end = self.bytes.len();
            let behind = self.read_behind(&field, &row)?.ok_or_else(|| self.invalid(place))?;
            return Ok((span(keep, start..end, false), behind));
        }
        let terminators: [&[u8]; 2] = [&field, &row.bytes];
        let found = self
            .source
            .until(&terminators, host.unit_bytes(), kept, &mut self.bytes, &mut self.charge)?;
        let behind = match found {
            Found::TooLong => return Err(self.too_long(place)),
            Found::Terminator(0) => Behind::Field,
            Found::Terminator(_) | Found::End => Behind::Row,
        };
        if behind == Behind::Row && row.with_return {
            strip_return(&mut self.bytes, start, host);
        }
        let end = self.bytes.len();
        Ok((span(keep, start..end, true), behind))
    }

    /// The rest of a field behind its first quote.
    fn read_inside(&mut self, place: usize, quote: &[u8], keep: Keep) -> Result<()> {
        let unit_bytes = self.fields[place].host.unit_bytes();
        let start = self.bytes.len();
        loop {
            let found = self
                .source
                .until(&[quote], unit_bytes, keep, &mut self.bytes, &mut self.charge)?;
            match found {
                Found::Terminator(_) => {}
                Found::TooLong => return Err(self.too_long(place)),
                Found::End => return Err(self.invalid(place)),
            }
            if !self.source.is_at(quote)? {
                return Ok(());
            }
            self.source.pass(quote.len());
            match keep {
                Keep::UpTo(most) if (self.bytes.len() - start) as u64 > most => return Err(self.too_long(place)),
                Keep::UpTo(_) => self.bytes.extend_from_slice(quote),
                Keep::Nothing => self.bytes.truncate(start),
            }
        }
    }

    /// What stands behind the last quote of a field; `None` for what may not.
    fn read_behind(&mut self, field: &[u8], row: &Terminator) -> Result<Option<Behind>> {
        if self.source.is_at(field)? {
            self.source.pass(field.len());
            return Ok(Some(Behind::Field));
        }
        if self.source.is_at_end()? {
            return Ok(Some(Behind::Row));
        }
        let mut with_return = if row.bytes.len() == 2 {
            vec![b'\r', 0]
        } else {
            vec![b'\r']
        };
        with_return.extend_from_slice(&row.bytes);
        for bytes in [&row.bytes, &with_return] {
            let is_other = bytes.len() > row.bytes.len();
            if (!is_other || row.with_return) && self.source.is_at(bytes)? {
                self.source.pass(bytes.len());
                return Ok(Some(Behind::Row));
            }
        }
        Ok(None)
    }
}

fn span(keep: bool, bytes: std::ops::Range<usize>, is_null_if_empty: bool) -> Span {
    match keep {
        false => Span::Passed,
        true if is_null_if_empty && bytes.is_empty() => Span::Null,
        true => Span::Bytes(bytes),
    }
}
