//! FOR JSON and FOR XML: reads all rows below and writes one text of them.
//!
//! ```text
//! json.rs   objects in arrays          xml.rs   elements with attributes and text          explicit.rs   elements by tags
//! ```
//! In both, the levels of AUTO work alike: levels that equal those of the previous row stay open; from the first level that differs, the
//! old ones are closed and new ones opened. The innermost is opened for each row.
//!
//! A client gets the text in pieces of 2,033 characters, each a row (sql-docs, "Use FOR JSON output in SQL Server and in client apps").

mod explicit;
mod json;
mod xml;

use engine::error::Result;
use engine::lock::LockOwner;
use engine::memory::Charge;
use engine::types::{Text, Value, string_room};

use super::Operator;
use crate::context::Context;
use crate::plan::{SerializeNode, SerializedForm, WrittenColumn};
use crate::scalar::compare::GroupKey;

/// The characters of a piece, in units of UTF-16.
const PIECE_UNITS: usize = 2_033;
/// A text of this capacity grows by a half, and is charged for it before it does.
const LONG_BYTES: usize = 1 << 20;
/// The room that a row finds in such a text. A row that needs more makes it grow uncharged, to its double at most, until the next row.
const ROW_ROOM_BYTES: usize = 64 << 10;

pub(super) struct Serialize<'p> {
    node: &'p SerializeNode,
    input: Option<Box<dyn Operator + 'p>>,
    /// The text of all rows, once they were read.
    text: String,
    /// Bytes of it that are sent.
    sent: usize,
    charge: Charge,
}

/// The text so far, and how it ends.
trait Writer {
    fn row(&mut self, output: &mut String, row: &[Value]) -> Result<()>;
    /// What follows the last row.
    fn end(&mut self, output: &mut String);
}

impl<'p> Serialize<'p> {
    pub(super) fn open(node: &'p SerializeNode, locks: &'p LockOwner, context: &Context<'_>) -> Result<Serialize<'p>> {
        Ok(Serialize {
            node,
            input: Some(super::open(&node.input, locks, context)?),
            text: String::new(),
            sent: 0,
            charge: Charge::default(),
        })
    }

    /// The text of all rows; `None` if there are none.
    fn read(&mut self, context: &Context<'_>) -> Result<Option<String>> {
        let Some(mut input) = self.input.take() else {
            return Ok(None);
        };
        let mut writer: Box<dyn Writer> = match &self.node.form {
            SerializedForm::Json(form) => Box::new(json::JsonWriter::new(form)),
            SerializedForm::Xml(form) => Box::new(xml::XmlWriter::new(form)),
            SerializedForm::Explicit(form) => Box::new(explicit::ExplicitWriter::new(form)),
        };
        let mut row = vec![Value::Null; self.node.input_width];
        let (mut text, mut has_rows) = (String::new(), false);
        while input.next(context, &mut row)? {
            has_rows = true;
            self.make_room(&mut text)?;
            writer.row(&mut text, &row)?;
        }
        if !has_rows {
            return Ok(None);
        }
        writer.end(&mut text);
        self.charge.grow_to(text.capacity() as u64)?;
        Ok(Some(text))
    }

    /// Makes room for a row in a text that is long. While a text moves, what it had is there beside what it gets.
    fn make_room(&mut self, text: &mut String) -> Result<()> {
        let capacity = text.capacity();
        if capacity < LONG_BYTES || capacity - text.len() >= ROW_ROOM_BYTES {
            return self.charge.grow_to(capacity as u64);
        }
        let wanted = capacity + capacity / 2;
        self.charge.grow_to((capacity + wanted) as u64)?;
        text.reserve_exact(wanted - text.len());
        self.charge.shrink_to(text.capacity() as u64);
        Ok(())
    }
}

impl Operator for Serialize<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let is_first = self.input.is_some();
        if is_first && let Some(text) = self.read(context)? {
            self.text = text;
        }
        let Some(target) = row.first_mut() else {
            return Ok(false);
        };
        if !self.node.is_in_pieces {
            *target = match self.text.is_empty() {
                true => Value::Null,
                false => {
                    let text = std::mem::take(&mut self.text);
                    let charge = string_room(text.len())?;
                    Value::Text(Text::charged(text, charge))
                }
            };
            return Ok(is_first);
        }
        if self.sent == self.text.len() {
            return Ok(false);
        }
        engine::cancel::spend(1)?;
        let rest = self.text.get(self.sent..).unwrap_or_default();
        let length = piece(rest);
        *target = Value::from(rest.get(..length).unwrap_or_default());
        self.sent += length;
        Ok(true)
    }
}

/// The length of the first piece, in bytes.
fn piece(text: &str) -> usize {
    let mut units = 0;
    let end = text.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > PIECE_UNITS
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// The outermost level whose columns differ from those of the row before; the innermost if none does.
fn first_that_differs(levels: &[Vec<WrittenColumn>], before: &[Value], row: &[Value]) -> usize {
    let innermost = levels.len().saturating_sub(1);
    for (index, columns) in levels.iter().take(innermost).enumerate() {
        let value = |row: &[Value], column: &WrittenColumn| row.get(column.place).cloned().unwrap_or(Value::Null);
        let key = |row: &[Value]| GroupKey(columns.iter().map(|column| value(row, column)).collect());
        if key(before) != key(row) {
            return index;
        }
    }
    innermost
}
