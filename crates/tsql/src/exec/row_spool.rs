//! Rows buffered for repeated reading, in the order of their arrival: in memory up to the grant, the rest in a spill file.
//!
//! ```text
//! | row 0 | .. | row m |  memory        then  | length u32, row m+1 | length u32, row m+2 | ..  file, read from its start each time
//! ```

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::Value;
use engine::workspace::{Extent, SpillFile, SpillKind};

use super::row_bytes::{push_row, read_row};
use super::row_store::RowStore;
use crate::grant::{Grant, stored_bytes};

/// Bytes written to or read from the file at a time, but for a longer row.
const BUFFER_BYTES: usize = 64 << 10;

pub(super) struct RowSpool {
    grant: Grant,
    width: usize,
    rows: RowStore,
    spilled: Option<Spilled>,
    /// The number of the next row to be read.
    next: usize,
}

/// The rows behind those in memory.
struct Spilled {
    file: SpillFile,
    extents: Vec<Extent>,
    /// What is not yet written; while rows are read, the extent under way.
    buffer: Vec<u8>,
    count: usize,
    /// Extents read so far, and bytes read of the buffer.
    extents_read: usize,
    position: usize,
}

impl RowSpool {
    pub(super) fn new(width: usize, grant: Grant) -> RowSpool {
        RowSpool {
            grant,
            width,
            rows: RowStore::new(width),
            spilled: None,
            next: 0,
        }
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.spilled = None;
        self.next = 0;
        self.grant.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len() + self.spilled.as_ref().map_or(0, |spilled| spilled.count)
    }

    /// Keeps a row; `overhead` is what its owner keeps of it besides, in bytes.
    ///
    /// # Errors
    /// Those of writing; 701 when not even `overhead` has room.
    pub(super) fn push(&mut self, values: impl Iterator<Item = Value>, overhead: u64) -> Result<()> {
        let values: Vec<Value> = values.collect();
        if self.spilled.is_none() {
            if self.grant.has_room(stored_bytes(&values) + overhead) {
                self.rows.push(values);
                return Ok(());
            }
            self.spilled = Some(Spilled::new(self.grant.spill_file(SpillKind::Worktable, 1)?));
        }
        self.grant.require(overhead)?;
        match &mut self.spilled {
            Some(spilled) => spilled.push(&values),
            None => Ok(()),
        }
    }

    /// Goes back to before the first row.
    ///
    /// # Errors
    /// Those of writing what was not yet written.
    pub(super) fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        self.spilled.as_mut().map_or(Ok(()), Spilled::rewind)
    }

    /// The next row's number, its values handed to `take`; `None` behind the last one.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn next(&mut self, take: impl FnOnce(&[Value])) -> Result<Option<usize>> {
        cancel::spend(1)?;
        let number = self.next;
        if number < self.rows.len() {
            take(self.rows.row(number));
        } else {
            let Some(spilled) = &mut self.spilled else {
                return Ok(None);
            };
            let mut values = vec![Value::Null; self.width];
            if !spilled.next(&mut values)? {
                return Ok(None);
            }
            take(&values);
        }
        self.next += 1;
        Ok(Some(number))
    }
}

impl Spilled {
    fn new(file: SpillFile) -> Spilled {
        Spilled {
            file,
            extents: Vec::new(),
            buffer: Vec::new(),
            count: 0,
            extents_read: 0,
            position: 0,
        }
    }

    fn push(&mut self, values: &[Value]) -> Result<()> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        push_row(values, &mut self.buffer);
        let length = u32::try_from(self.buffer.len() - start - 4).map_err(|_| Error::insufficient_memory())?;
        if let Some(place) = self.buffer.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        self.count += 1;
        match self.buffer.len() >= BUFFER_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<()> {
        self.extents.push(self.file.append(&self.buffer)?);
        self.buffer.clear();
        Ok(())
    }

    fn rewind(&mut self) -> Result<()> {
        let is_written = self.extents_read > 0 || self.buffer.is_empty();
        if !is_written {
            self.write()?;
        }
        (self.extents_read, self.position) = (0, 0);
        self.buffer.clear();
        self.file.note_scan();
        Ok(())
    }

    fn next(&mut self, values: &mut [Value]) -> Result<bool> {
        if self.position >= self.buffer.len() {
            let Some(extent) = self.extents.get(self.extents_read) else {
                return Ok(false);
            };
            self.buffer.resize(extent.bytes as usize, 0);
            self.file.read(extent.offset, &mut self.buffer)?;
            (self.extents_read, self.position) = (self.extents_read + 1, 0);
        }
        let ends_early = || Error::assertion("a spool ends inside a row");
        let rest = self.buffer.get(self.position..).unwrap_or_default();
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(ends_early)?;
        let length = u32::from_le_bytes(*length) as usize;
        read_row(rest.get(..length).ok_or_else(ends_early)?, values)?;
        self.position += 4 + length;
        Ok(true)
    }
}
