//! The VLFs of all log files: which are free, which hold needed log, and which comes next.
//!
//! ```text
//! file 2  [ 41 ][ 42 ][ 43 ][ 36 ][ new ]      active = 40 41 42 43 (by sequence), front first
//! file 4  [ 35 ][ 40 ]                         free   = new 35 36, in the order in which the log enters them
//! ```
//! **Which VLF comes next.** The VLFs are a ring, and the log enters the one that was used longest ago:
//!
//! | a VLF | comes next |
//! |---|---|
//! | active | never |
//! | free, never used | before all used ones; among these, in the order of files and offsets |
//! | free, used | by its last sequence, the lowest first |
//!
//! In a log that never grew in the middle of a round, this is the order of the files and of the VLFs in them (SQL Server docs, transaction
//! log architecture guide). The VLFs of a growth join the ring before the oldest VLF. After that round, the order of use differs from the
//! file order (dba.stackexchange.com 262490, and logs written by SQL Server 2008 to 2016, some of which the tests of this module replay).
//! If a file was created with two VLFs and grew while the log was in the first, the log continues in the second: never-used VLFs keep the
//! file order, however they were created.
//!
//! A VLF's sequence is on disk with its first block, so the order survives a crash. A VLF whose entering was interrupted counts as never
//! used again.
//!
//! Invariants: a VLF is either free or active; active VLFs have sequences without a gap, above those of all free ones; the
//! last is where the log is written.

use super::directory::DirectoryFile;
use super::policy::{VlfHeaders, VlfSwitch};
use disk::File;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use vlf::{LayoutSteps, Lsn, VLF_HEADER_BYTES, VlfHeader, VlfSequence, VlfSpan};

/// A VLF's place. Places order physically: by file, then by position in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VlfPlace {
    pub(crate) file: u16,
    pub(crate) index: usize,
}

/// Where a free VLF stands in the ring: its last sequence, 0 = never used, and its place. The least comes next.
type RingKey = (VlfSequence, VlfPlace);

/// A VLF that was in use before: no part of it needs to be warmed, and none may be.
pub(crate) const WRITTEN_ALL: u64 = u64::MAX;

#[derive(Debug, Clone)]
pub(crate) struct Vlf {
    /// As on disk, or as it will be with the VLF's first block.
    pub(crate) header: VlfHeader,
    /// It holds log that is still needed.
    pub(crate) active: bool,
    /// Bytes from the VLF's start that were written at least once, so that a durable write there changes no metadata of the
    /// file system; [`WRITTEN_ALL`] once the VLF was left.
    pub(crate) written_bytes: u64,
}

impl Vlf {
    /// Its header reached the disk with a write that was interrupted before it: the use counts, so that the next one has
    /// another parity, and the sequence does not.
    fn forget_use(&mut self) {
        self.header.sequence = VlfSequence::UNUSED;
        self.header.durable_before = Lsn::ZERO;
    }
}

/// How a file grows by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileGrowth {
    /// Never (`FILEGROWTH = 0`).
    None,
    /// By so many bytes.
    Bytes(u64),
    /// By a percentage of its size.
    Percent(u32),
}

/// An open log file.
pub(crate) struct LogFile {
    pub(crate) path: PathBuf,
    pub(crate) logical_name: String,
    pub(crate) handle: Arc<dyn File>,
    pub(crate) max_bytes: u64,
    pub(crate) growth: FileGrowth,
    pub(crate) page: vlf::FileHeader,
    pub(crate) layout: LayoutSteps,
    pub(crate) vlfs: Vec<Vlf>,
}

impl LogFile {
    pub(crate) fn bytes(&self) -> u64 {
        self.layout.file_bytes()
    }
}

#[derive(Default)]
pub(crate) struct VlfTable {
    pub(crate) files: BTreeMap<u16, LogFile>,
    /// In the order in which the log enters them.
    free: BTreeSet<RingKey>,
    free_body_bytes: u64,
    active: VecDeque<ActiveVlf>,
    active_bytes: u64,
    first_sequence: u32,
    /// How often VLFs or files came or went.
    pub(super) layout_changes: u64,
    /// Free VLFs whose headers on disk say that they were entered, by a write that was cut off.
    pub(crate) left_over: Vec<VlfPlace>,
}

/// A VLF that holds log still needed.
#[derive(Debug, Clone, Copy)]
struct ActiveVlf {
    place: VlfPlace,
    /// Bytes of all VLFs that were active before it, since the log was opened.
    bytes_before: u64,
}

impl VlfTable {
    /// Takes a file in. Its VLFs are free until [`VlfTable::enter`] says otherwise.
    pub(crate) fn add_file(&mut self, id: u16, file: LogFile) {
        for (index, vlf) in file.vlfs.iter().enumerate() {
            self.free.insert((vlf.header.sequence, VlfPlace { file: id, index }));
            self.free_body_bytes += vlf.header.body_bytes();
        }
        self.files.insert(id, file);
        self.layout_changes += 1;
    }

    /// The files of an existing log. Every used VLF from the sequence `needed` on counts as active, as far back as sequences
    /// run without a gap; recovery then truncates. Fails with the sequence that two VLFs share.
    ///
    /// VLFs behind a gap that the log's last writes have left, by losing the header of one VLF and not of a later one, were not
    /// entered: they are free, as if never used under that sequence. Of two VLFs with one sequence the one was not entered whose
    /// write knew less of the log to be durable: it was cut off, and after the restart another VLF had become free before it.
    pub(crate) fn opened(files: BTreeMap<u16, LogFile>, needed: u32) -> Result<VlfTable, u32> {
        let mut table = VlfTable {
            files,
            ..VlfTable::default()
        };
        let mut used: Vec<(u32, VlfPlace)> = table
            .places_and_vlfs()
            .map(|(place, vlf)| (vlf.header.sequence.0, place))
            .filter(|(sequence, _)| *sequence >= needed.max(1))
            .collect();
        used.sort_unstable();
        let floor = |table: &VlfTable, place| table.vlf(place).map(|vlf| vlf.header.durable_before);
        while let Some(at) = used.windows(2).position(|pair| pair[0].0 == pair[1].0) {
            let (sequence, first) = used[at];
            let left_over = match floor(&table, first).cmp(&floor(&table, used[at + 1].1)) {
                Ordering::Less => at,
                Ordering::Greater => at + 1,
                Ordering::Equal => return Err(sequence),
            };
            let (_, place) = used.remove(left_over);
            table.leave_over(place);
        }
        let gap = |used: &[(u32, VlfPlace)]| used.windows(2).rposition(|pair| pair[0].0 + 1 != pair[1].0);
        while let Some(at) = gap(&used) {
            let behind = used.split_off(at + 1);
            let last = behind.last().and_then(|(_, place)| table.vlf(*place));
            let lost = Lsn::new(used[at].0.saturating_add(1), 0, 1);
            if last.is_none_or(|last| last.header.durable_before > lost) {
                used = behind;
                break;
            }
            behind.into_iter().for_each(|(_, place)| table.leave_over(place));
        }
        table.free_body_bytes = table.vlfs().map(|vlf| vlf.header.body_bytes()).sum();
        for &(sequence, place) in &used {
            table.take_active(place, sequence);
        }
        let free = table.places_and_vlfs().filter(|(_, vlf)| !vlf.active);
        table.free = free.map(|(place, vlf)| (vlf.header.sequence, place)).collect();
        Ok(table)
    }

    /// The header of a VLF was written by a write that was cut off before it: the VLF was not entered.
    fn leave_over(&mut self, place: VlfPlace) {
        self.vlf_mut(place).into_iter().for_each(Vlf::forget_use);
        self.left_over.push(place);
    }

    /// Every VLF in physical order.
    fn places_and_vlfs(&self) -> impl Iterator<Item = (VlfPlace, &Vlf)> {
        self.files.iter().flat_map(|(&file, log_file)| {
            let place = move |(index, vlf)| (VlfPlace { file, index }, vlf);
            log_file.vlfs.iter().enumerate().map(place)
        })
    }

    fn vlfs(&self) -> impl Iterator<Item = &Vlf> {
        self.files.values().flat_map(|file| &file.vlfs)
    }

    /// Path of the file with the lowest id.
    pub(crate) fn first_file_path(&self) -> Option<PathBuf> {
        self.files.values().next().map(|file| file.path.clone())
    }

    /// The files as the directory lists them.
    pub(super) fn directory_files(&self) -> Vec<DirectoryFile> {
        let listed = |(&id, file): (&u16, &LogFile)| DirectoryFile {
            id,
            created: file.page.created_ticks,
            vlf_count: file.vlfs.len() as u32, // a file of 2 TB has room for 8.6 million VLFs
        };
        self.files.iter().map(listed).collect()
    }

    /// The place at an index of the physical order.
    pub(crate) fn place_at(&self, mut index: usize) -> Option<VlfPlace> {
        for (&file, log_file) in &self.files {
            if index < log_file.vlfs.len() {
                return Some(VlfPlace { file, index });
            }
            index -= log_file.vlfs.len();
        }
        None
    }

    /// Bytes of the active VLFs before a sequence, headers included.
    pub(crate) fn bytes_before(&self, sequence: u32) -> u64 {
        let Some(first) = self.active.front() else { return 0 };
        let index = sequence.saturating_sub(self.first_sequence) as usize;
        match self.active.get(index) {
            Some(vlf) => vlf.bytes_before - first.bytes_before,
            None => self.active_bytes,
        }
    }

    fn take_active(&mut self, place: VlfPlace, sequence: u32) {
        if self.active.is_empty() {
            self.first_sequence = sequence;
        }
        let bytes_before = match self.active.back() {
            Some(last) => last.bytes_before + self.vlf(last.place).map_or(0, |vlf| vlf.header.vlf_bytes),
            None => 0,
        };
        self.active.push_back(ActiveVlf { place, bytes_before });
        let header = self.vlf_mut(place).map(|vlf| {
            vlf.active = true;
            vlf.header
        });
        if let Some(header) = header {
            self.free_body_bytes -= header.body_bytes();
            self.active_bytes += header.vlf_bytes;
        }
    }

    /// The log enters a free VLF; answers the header that must be on disk no later than its first block.
    pub(crate) fn enter(&mut self, place: VlfPlace, sequence: u32) -> Option<VlfHeader> {
        let vlf = self.vlf_mut(place)?;
        let former = vlf.header.sequence;
        vlf.header = vlf.header.entered(VlfSequence(sequence));
        let header = vlf.header;
        self.free.remove(&(former, place));
        self.take_active(place, sequence);
        Some(header)
    }

    /// The VLF that the log enters next, by the table of the module.
    pub(crate) fn next_free(&self, how: VlfSwitch) -> Option<VlfPlace> {
        match how {
            VlfSwitch::FreeList => self.ring().next(),
            VlfSwitch::SearchAndFlush => {
                let free = self.places_and_vlfs().filter(|(_, vlf)| !vlf.active);
                free.map(|(place, vlf)| (vlf.header.sequence, place))
                    .min()
                    .map(|(_, place)| place)
            }
        }
    }

    /// The free VLFs in the order in which the log enters them.
    pub(crate) fn ring(&self) -> impl Iterator<Item = VlfPlace> {
        self.free.iter().map(|(_, place)| *place)
    }

    /// Frees every VLF whose sequence is below `sequence`; answers how many there were. The one being written stays.
    pub(crate) fn free_before(&mut self, sequence: u32) -> usize {
        let mut freed = 0;
        while self.active.len() > 1 && self.first_sequence < sequence {
            let Some(ActiveVlf { place, .. }) = self.active.pop_front() else {
                break;
            };
            self.first_sequence += 1;
            let header = self.vlf_mut(place).map(|vlf| {
                vlf.active = false;
                vlf.written_bytes = WRITTEN_ALL;
                vlf.header
            });
            if let Some(header) = header {
                self.active_bytes -= header.vlf_bytes;
                self.free_body_bytes += header.body_bytes();
                self.free.insert((header.sequence, place));
            }
            freed += 1;
        }
        freed
    }

    /// Frees every active VLF whose sequence is above `sequence`: the write that was to enter it was cut off.
    pub(crate) fn take_back_behind(&mut self, sequence: u32) {
        while let Some((_, last)) = self.active_sequences().filter(|(_, last)| *last > sequence)
            && let Some(place) = self.of_sequence(last)
        {
            self.active.pop_back();
            self.leave_over(place);
            let header = self.vlf_mut(place).map(|vlf| {
                vlf.active = false;
                vlf.header
            });
            if let Some(header) = header {
                self.active_bytes -= header.vlf_bytes;
                self.free_body_bytes += header.body_bytes();
                self.free.insert((header.sequence, place));
            }
        }
    }

    /// The active VLF of a sequence.
    pub(crate) fn of_sequence(&self, sequence: u32) -> Option<VlfPlace> {
        let index = sequence.checked_sub(self.first_sequence)?;
        self.active.get(index as usize).map(|vlf| vlf.place)
    }

    /// The free VLF that had a sequence and was not entered since.
    pub(crate) fn free_of_sequence(&self, sequence: u32) -> Option<VlfPlace> {
        let wanted = VlfSequence(sequence);
        let least = VlfPlace { file: 0, index: 0 };
        let (found, place) = self.free.range((wanted, least)..).next()?;
        (*found == wanted && wanted != VlfSequence::UNUSED).then_some(*place)
    }

    /// Sequences of the first and the last active VLF.
    pub(crate) fn active_sequences(&self) -> Option<(u32, u32)> {
        let count = u32::try_from(self.active.len()).ok()?;
        Some((self.first_sequence, self.first_sequence + count.checked_sub(1)?))
    }

    pub(crate) fn active_count(&self) -> usize {
        self.active.len()
    }

    /// Bytes of all active VLFs, headers included.
    pub(crate) fn active_bytes(&self) -> u64 {
        self.active_bytes
    }

    pub(crate) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Bytes that free VLFs have for blocks.
    pub(crate) fn free_body_bytes(&self) -> u64 {
        self.free_body_bytes
    }

    pub(crate) fn vlf(&self, place: VlfPlace) -> Option<&Vlf> {
        self.files.get(&place.file)?.vlfs.get(place.index)
    }

    pub(crate) fn vlf_mut(&mut self, place: VlfPlace) -> Option<&mut Vlf> {
        self.files.get_mut(&place.file)?.vlfs.get_mut(place.index)
    }

    /// Every place in physical order.
    pub(crate) fn places(&self) -> impl Iterator<Item = VlfPlace> {
        let of_file =
            |(&file, log_file): (&u16, &LogFile)| (0..log_file.vlfs.len()).map(move |index| VlfPlace { file, index });
        self.files.iter().flat_map(of_file)
    }

    /// Bytes of all files less their header pages: what `DBCC SQLPERF(LOGSPACE)` calls the log's size.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.files
            .values()
            .map(|file| file.bytes() - vlf::FIRST_VLF_OFFSET)
            .sum()
    }

    /// Takes over the VLFs a growth has added; `layout` is that of the grown file.
    pub(crate) fn grown(&mut self, id: u16, page: vlf::FileHeader, layout: LayoutSteps, added: Vec<Vlf>) {
        let Some(file) = self.files.get_mut(&id) else { return };
        let first = file.vlfs.len();
        for (index, vlf) in (first..).zip(&added) {
            self.free.insert((vlf.header.sequence, VlfPlace { file: id, index }));
            self.free_body_bytes += vlf.header.body_bytes();
        }
        file.page = page;
        file.layout = layout;
        file.vlfs.extend(added);
        self.layout_changes += 1;
    }

    /// VLFs at the end of a file that are all free.
    pub(crate) fn free_at_end(&self, id: u16) -> usize {
        let vlfs = self.files.get(&id).map_or(&[][..], |file| &file.vlfs);
        vlfs.iter().rev().take_while(|vlf| !vlf.active).count()
    }

    /// Drops the VLFs behind the first `keep` of a file, all of them free.
    pub(crate) fn cut(&mut self, id: u16, keep: usize, page: vlf::FileHeader, layout: LayoutSteps) {
        let Some(file) = self.files.get_mut(&id) else { return };
        for (index, vlf) in file.vlfs.iter().enumerate().skip(keep) {
            self.free.remove(&(vlf.header.sequence, VlfPlace { file: id, index }));
            self.free_body_bytes -= vlf.header.body_bytes();
        }
        file.vlfs.truncate(keep);
        file.page = page;
        file.layout = layout;
        self.layout_changes += 1;
    }

    /// Takes a file out, all of whose VLFs are free.
    pub(crate) fn remove_file(&mut self, id: u16) -> Option<LogFile> {
        let file = self.files.remove(&id)?;
        self.layout_changes += 1;
        self.free.retain(|(_, place)| place.file != id);
        self.free_body_bytes -= file.vlfs.iter().map(|vlf| vlf.header.body_bytes()).sum::<u64>();
        Some(file)
    }
}

/// VLFs that were never used, as creation and growth make them: in zeroed space or not, with their headers on disk or not.
pub(crate) fn unused_vlfs(
    spans: impl Iterator<Item = VlfSpan>,
    create_lsn: Lsn,
    zeroed: bool,
    headers: VlfHeaders,
) -> Vec<Vlf> {
    let unused = |span: VlfSpan| Vlf {
        header: VlfHeader::unused(span, create_lsn),
        active: false,
        written_bytes: match headers {
            _ if zeroed => span.bytes,
            VlfHeaders::WhenCreated => VLF_HEADER_BYTES,
            VlfHeaders::WhenEntered => 0,
        },
    };
    spans.map(unused).collect()
}
