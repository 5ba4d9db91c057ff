//! Rows spilled by the hash of their key, for hash tables that outgrow their memory. All rows of one key are in one partition. A partition
//! is small enough to be processed alone, or is split again by the next four bits of the hash.
//!
//! ```text
//! record   length u32, row         a partition is a list of sections of one file
//! ```

use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::Value;
use engine::workspace::{Extent, SpillFile, SpillKind};

use super::row_bytes::{push_row, read_row};
use crate::grant::Grant;

const BITS: u32 = 4;
/// Partitions at a time: their buffers must fit beside what is in memory.
const COUNT: usize = 1 << BITS;
const BUFFER_BYTES: usize = 16 << 10;
/// Rows parted this often differ in nothing that parts them: a hash has no more to tell.
pub(super) const LEVELS_MAX: u32 = 12;

/// The hash of a row's key, which parts rows.
pub(super) fn hash_of(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(key);
    hasher.finish()
}

#[derive(Default)]
struct Partition {
    buffer: Vec<u8>,
    extents: Vec<Extent>,
}

/// Partitions being filled.
pub(super) struct Partitions {
    file: SpillFile,
    partitions: Vec<Partition>,
    level: u32,
}

impl Partitions {
    /// Empty ones, in a new file; `level` says how often the rows were parted before.
    ///
    /// # Errors
    /// Those of making a file.
    pub(super) fn new(grant: &Grant, level: u32) -> Result<Partitions> {
        Ok(Partitions {
            file: grant.spill_file(SpillKind::Workfile, level + 1)?,
            partitions: (0..COUNT).map(|_| Partition::default()).collect(),
            level,
        })
    }

    /// How often the rows were parted before.
    pub(super) fn level(&self) -> u32 {
        self.level
    }

    /// Puts a row aside.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn push(&mut self, hash: u64, row: &[Value]) -> Result<()> {
        let index = (hash >> (self.level * BITS)) as usize % COUNT;
        let Some(partition) = self.partitions.get_mut(index) else {
            return Ok(());
        };
        let start = partition.buffer.len();
        partition.buffer.extend_from_slice(&[0; 4]);
        push_row(row, &mut partition.buffer);
        let length = u32::try_from(partition.buffer.len() - start - 4).map_err(|_| Error::insufficient_memory())?;
        if let Some(place) = partition.buffer.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        if partition.buffer.len() >= BUFFER_BYTES {
            partition.extents.push(self.file.append(&partition.buffer)?);
            partition.buffer.clear();
        }
        Ok(())
    }

    /// The partitions to be read, empty ones too, in the order of hashes: two sets parted alike pair up.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn finish(mut self) -> Result<Vec<PartitionRows>> {
        for partition in &mut self.partitions {
            if !partition.buffer.is_empty() {
                partition.extents.push(self.file.append(&partition.buffer)?);
            }
        }
        let (file, level) = (Rc::new(self.file), self.level + 1);
        let rows = |partition: Partition| PartitionRows {
            file: file.clone(),
            extents: partition.extents.into_iter(),
            buffer: Vec::new(),
            position: 0,
            is_begun: false,
            level,
        };
        Ok(self.partitions.into_iter().map(rows).collect())
    }
}

/// The rows of one partition.
pub(super) struct PartitionRows {
    file: Rc<SpillFile>,
    extents: std::vec::IntoIter<Extent>,
    buffer: Vec<u8>,
    position: usize,
    is_begun: bool,
    /// How often they were parted.
    pub(super) level: u32,
}

impl PartitionRows {
    /// Whether there is nothing left.
    pub(super) fn is_empty(&self) -> bool {
        self.extents.len() == 0 && self.position >= self.buffer.len()
    }

    /// Writes the next row to the beginning of `row`; false at the end.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn next(&mut self, row: &mut [Value]) -> Result<bool> {
        cancel::spend(1)?;
        if self.position >= self.buffer.len() {
            let Some(extent) = self.extents.next() else {
                return Ok(false);
            };
            if !std::mem::replace(&mut self.is_begun, true) {
                self.file.note_scan();
            }
            self.buffer.resize(extent.bytes as usize, 0);
            self.file.read(extent.offset, &mut self.buffer)?;
            self.position = 0;
        }
        let ends_early = || Error::assertion("a partition ends inside a row");
        let rest = self.buffer.get(self.position..).unwrap_or_default();
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(ends_early)?;
        let length = u32::from_le_bytes(*length) as usize;
        read_row(rest.get(..length).ok_or_else(ends_early)?, row)?;
        self.position += 4 + length;
        Ok(true)
    }
}
