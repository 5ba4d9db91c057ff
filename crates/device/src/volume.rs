//! Where files lie on a device, and the metadata writes that a change of a file's length causes.
//!
//! ```text
//! 0      1.2 %        12 %                24 %                                   capacity
//! +------+------------+-------------------+---------------------------------------+
//! |      | file table |  journal, 64 MB,  |  data: files in extents, one after    |
//! |      | bitmap     |  written in turns |  the other as they grow, then wrapped |
//! +------+------------+-------------------+---------------------------------------+
//! ```
//! This models the parts of NTFS that cost time: a journal, a table of files and a bitmap, each in its own place. Their exact places are
//! assumed. The assumption matters: on a disk of 2006 it changes the time of a growth by 1 MB by a quarter. The next sync of a file writes
//! its changed length: a record in the journal, then the table, then the bitmap; the device's `metadata_blocks` says how many of the three.
//! New space is allocated after the last allocation (next fit), so files that grow in turn become fragmented.
//!
//! Invariant: no byte belongs to two extents, and every byte that is not in an extent is in the list of free space.

use std::collections::BTreeMap;

const FILE_TABLE_SHARE: f64 = 0.012;
const JOURNAL_SHARE: f64 = 0.12;
const DATA_SHARE: f64 = 0.24;
const JOURNAL_BYTES_MAX: u64 = 64 << 20;
const JOURNAL_RECORD_BYTES: u64 = 8192;
const BLOCK_BYTES: u64 = 4096;
/// The bitmap lies this part of the way from the file table to the journal.
const BITMAP_PART: u64 = 32;
/// Space is given in clusters.
pub const CLUSTER_BYTES: u64 = 4096;

/// Where the head is on its way from the first file to what a change of length writes, the nearest first, and back: places in bytes.
pub(crate) fn metadata_route(capacity_bytes: f64, metadata_blocks: usize) -> Vec<f64> {
    let (data, journal) = (capacity_bytes * DATA_SHARE, capacity_bytes * JOURNAL_SHARE);
    let table = capacity_bytes * FILE_TABLE_SHARE;
    let bitmap = table + (journal - table) / BITMAP_PART as f64;
    let written: &[f64] = match metadata_blocks {
        0 => return Vec::new(),
        1 => &[journal],
        2 => &[journal, table],
        _ => &[journal, bitmap, table],
    };
    [&[data], written, &[data]].concat()
}

/// A run of bytes on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First byte on the device.
    pub place: u64,
    pub bytes: u64,
}

/// There is not as much free space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeFull;

/// The places of one file's bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSpace {
    /// In the order of the file; all but the last are whole.
    extents: Vec<Extent>,
    /// The length or the extents changed since the last sync.
    pub is_length_dirty: bool,
}

impl FileSpace {
    /// A file that lies at these places.
    pub fn at(extents: Vec<Extent>) -> FileSpace {
        FileSpace {
            extents,
            is_length_dirty: false,
        }
    }

    /// Bytes that have a place.
    pub fn bytes(&self) -> u64 {
        self.extents.iter().map(|extent| extent.bytes).sum()
    }

    /// Its extents, in the order of the file.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// The places of `bytes` from `offset` on; fewer when the file has no more.
    pub fn places(&self, offset: u64, bytes: u64) -> Vec<Extent> {
        let (mut skip, mut left) = (offset, bytes);
        let mut places = Vec::new();
        for extent in &self.extents {
            if left == 0 {
                break;
            }
            if skip >= extent.bytes {
                skip -= extent.bytes;
                continue;
            }
            let part = (extent.bytes - skip).min(left);
            places.push(Extent {
                place: extent.place + skip,
                bytes: part,
            });
            (skip, left) = (0, left - part);
        }
        places
    }
}

/// The free space of a device, and where its metadata lies.
#[derive(Debug, Clone)]
pub struct Volume {
    /// Free runs, by their first byte.
    free: BTreeMap<u64, u64>,
    /// Where the last space was given.
    next: u64,
    file_table: u64,
    journal: Extent,
    journal_used: u64,
    metadata_blocks: usize,
}

impl Volume {
    /// An empty volume. `metadata_blocks`: how many of journal, table and bitmap a change of a length writes.
    pub fn new(capacity_bytes: u64, metadata_blocks: usize) -> Volume {
        let at = |share: f64| (capacity_bytes as f64 * share) as u64 / CLUSTER_BYTES * CLUSTER_BYTES;
        let data = at(DATA_SHARE);
        let journal_bytes = JOURNAL_BYTES_MAX.min(data - at(JOURNAL_SHARE));
        let end = capacity_bytes / CLUSTER_BYTES * CLUSTER_BYTES;
        Volume {
            free: BTreeMap::from([(data, end.saturating_sub(data))]),
            next: data,
            file_table: at(FILE_TABLE_SHARE),
            journal: Extent {
                place: at(JOURNAL_SHARE),
                bytes: journal_bytes.max(JOURNAL_RECORD_BYTES),
            },
            journal_used: 0,
            metadata_blocks,
        }
    }

    /// Bytes that no file has.
    pub fn free_bytes(&self) -> u64 {
        self.free.values().sum()
    }

    /// Takes out of the free space what a file has already: for files that were there before.
    pub fn claim(&mut self, extents: &[Extent]) {
        for extent in extents {
            let end = extent.place + extent.bytes;
            let before = self.free.range(..=extent.place).next_back();
            let Some((&start, &bytes)) = before else { continue };
            if start + bytes < end {
                continue;
            }
            self.free.remove(&start);
            self.put_back(start, extent.place - start);
            self.put_back(end, start + bytes - end);
            self.next = self.next.max(end);
        }
    }

    /// Gives a file space for `bytes` in all.
    ///
    /// # Errors
    /// There is not as much; the file is as it was.
    pub fn grow(&mut self, file: &mut FileSpace, bytes: u64) -> Result<(), VolumeFull> {
        let wanted = bytes.div_ceil(CLUSTER_BYTES).saturating_mul(CLUSTER_BYTES);
        let mut missing = wanted.saturating_sub(file.bytes());
        if missing > self.free_bytes() {
            return Err(VolumeFull);
        }
        while missing > 0 {
            let Some(given) = self.take(missing) else {
                return Err(VolumeFull);
            };
            missing -= given.bytes;
            match file.extents.last_mut() {
                Some(last) if last.place + last.bytes == given.place => last.bytes += given.bytes,
                _ => file.extents.push(given),
            }
            file.is_length_dirty = true;
        }
        Ok(())
    }

    /// Undoes what a file has beyond `bytes`.
    pub fn shrink(&mut self, file: &mut FileSpace, bytes: u64) {
        let mut keep = bytes.div_ceil(CLUSTER_BYTES) * CLUSTER_BYTES;
        let mut kept = Vec::new();
        for extent in std::mem::take(&mut file.extents) {
            let stays = extent.bytes.min(keep);
            keep -= stays;
            if stays > 0 {
                kept.push(Extent {
                    place: extent.place,
                    bytes: stays,
                });
            }
            if stays < extent.bytes {
                self.give_back(extent.place + stays, extent.bytes - stays);
                file.is_length_dirty = true;
            }
        }
        file.extents = kept;
    }

    /// What has to be written to the device for a change of length, in this order, each before a flush.
    pub fn metadata_writes(&mut self) -> Vec<Extent> {
        let record = Extent {
            place: self.journal.place + self.journal_used,
            bytes: JOURNAL_RECORD_BYTES,
        };
        self.journal_used += JOURNAL_RECORD_BYTES;
        if self.journal_used + JOURNAL_RECORD_BYTES > self.journal.bytes {
            self.journal_used = 0;
        }
        let block = |place| Extent {
            place,
            bytes: BLOCK_BYTES,
        };
        let bitmap = self.file_table + (self.journal.place - self.file_table) / BITMAP_PART;
        let mut writes = vec![record, block(self.file_table), block(bitmap)];
        writes.truncate(self.metadata_blocks);
        writes
    }

    /// The next free run, at most `bytes` of it.
    fn take(&mut self, bytes: u64) -> Option<Extent> {
        let within = self.free.range(..=self.next).next_back();
        let within = within.filter(|(start, length)| **start + **length > self.next);
        let found = within.map(|(start, length)| (*start, *length, self.next)).or_else(|| {
            let behind = self.free.range(self.next..).next();
            let found = behind.or_else(|| self.free.iter().next());
            found.map(|(start, length)| (*start, *length, *start))
        });
        let (start, length, from) = found?;
        let given = bytes.min(start + length - from);
        self.free.remove(&start);
        self.put_back(start, from - start);
        self.put_back(from + given, start + length - from - given);
        self.next = from + given;
        Some(Extent {
            place: from,
            bytes: given,
        })
    }

    /// Enters a free run that touches no other.
    fn put_back(&mut self, start: u64, bytes: u64) {
        if bytes > 0 {
            self.free.insert(start, bytes);
        }
    }

    /// Frees a run and joins it with its neighbours.
    fn give_back(&mut self, place: u64, bytes: u64) {
        let (mut start, mut end) = (place, place + bytes);
        if let Some((&before, &length)) = self.free.range(..place).next_back()
            && before + length == place
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(length) = self.free.remove(&end) {
            end += length;
        }
        self.put_back(start, end - start);
    }
}
