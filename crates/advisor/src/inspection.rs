//! A log file read without a server: layout, history, content and damage.
//!
//! [`inspect`] walks the VLF headers, then the log blocks of every used VLF in the order of their sequence numbers, and keeps counts.
//! Memory grows with the number of VLFs (about 100 bytes each), not with the file: blocks are read through a window and discarded. Damage
//! is listed with its offset, at most [`DAMAGE_MAX`] entries, and reading continues after it. No input makes this code panic or loop
//! forever.
//!
//! Two questions about a used VLF have two answers here. *Linked* are the VLFs whose sequence numbers run up to the highest one without a
//! gap: their blocks can still be read without a gap, needed or not. *Active* are those from the last complete checkpoint on: recovery
//! needs these at least. `DBCC LOGINFO` (status 2) also counts what an older transaction, a log backup to come or a replica needs; that is
//! not in the log file.
//!
//! Where a block is missing, the table of `vlf::tail` decides: in the VLF with the highest sequence, bytes that do not
//! continue the log end it; in all others an unfilled rest is normal (the next VLF's first block must name the last one's
//! length), torn or altered blocks are damage.

use std::borrow::Cow;
use std::collections::BTreeMap;

use vlf::{
    BlockFault, BlockHeader, FileCut, FileHeader, FileHeaderFault, FileSurvey, FormatVersion, Lsn, ReadAt, ReadFault,
    ServerVersion, TailVerdict, VlfBlocks, VlfHeader, VlfSpan, WalkStep, survey,
};

use crate::record_kind;
use crate::size::group_digits;

mod history;

/// Damage entries kept; more are only counted.
pub const DAMAGE_MAX: usize = 1_000;

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Page 0 and the VLF headers.
    Headers,
    /// Every log block and record too.
    Blocks,
}

/// What a VLF's blocks are to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VlfState {
    /// Never used.
    Unused,
    /// Used, but its sequence is not connected with the end of the log any more.
    Old,
    /// Connected with the end of the log, and older than its last complete checkpoint, or no checkpoint was looked for.
    Linked,
    /// Recovery needs it: the last complete checkpoint began in it or in one before it.
    Active,
    /// The log ends here.
    Tail,
}

impl VlfState {
    /// As shown in tables.
    pub fn word(self) -> &'static str {
        match self {
            VlfState::Unused => "unused",
            VlfState::Old => "old",
            VlfState::Linked => "linked",
            VlfState::Active => "active",
            VlfState::Tail => "tail",
        }
    }
}

/// A VLF and what its blocks hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InspectedVlf {
    pub header: VlfHeader,
    /// LSN of the growth that made it, [`Lsn::ZERO`] for the creation of its file. `None` = not known: it was never entered, so it has no
    /// header, and page 0 has forgotten its growth.
    pub create_lsn: Option<Lsn>,
    /// Which of [`Inspection::growths`] made it.
    pub growth: u32,
    /// What it is to the log.
    pub state: VlfState,
    /// Log blocks of its current use.
    pub blocks: u64,
    pub records: u64,
    /// Bytes of those blocks.
    pub block_bytes: u64,
    /// Damage was found in it.
    pub damaged: bool,
}

/// What page 0 says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageZero {
    /// SQL Server's file header page.
    SqlServer,
    Vlflab(FileHeader),
    /// Neither.
    Damaged(FileHeaderFault),
}

/// VLFs made together: by the file's creation or by one growth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthEvent {
    /// LSN of the growth; zero for the creation of the file, `None` where it is not known.
    pub create_lsn: Option<Lsn>,
    /// Size of the file before it; 0 for the creation.
    pub file_bytes_before: u64,
    /// Size of the file behind its last VLF.
    pub file_bytes_after: u64,
    /// VLFs it made that are still there.
    pub vlf_count: usize,
    /// Versions whose rules make exactly these VLFs. Empty when a shrink has cut the growth, or neighbours share an LSN.
    pub versions: Vec<ServerVersion>,
}

impl GrowthEvent {
    /// Bytes it added.
    pub fn growth_bytes(&self) -> u64 {
        self.file_bytes_after - self.file_bytes_before
    }
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins in the file.
    pub offset: u64,
    /// Bytes that could not be read because of it; 0 when everything was.
    pub bytes: u64,
    pub what: String,
}

/// Counts over all blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCensus {
    pub total: u64,
    /// Blocks without a record: they end a VLF.
    pub fillers: u64,
    /// Blocks whose checksum was there and right.
    pub with_checksum: u64,
    /// Sectors whose stamps were right.
    pub sectors: u64,
    /// Bytes of all blocks.
    pub bytes: u64,
    /// The smallest block.
    pub block_bytes_min: u64,
    /// The largest block.
    pub block_bytes_max: u64,
}

/// Records of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordCount {
    /// `LOP_...`, as `fn_dblog` names it.
    pub operation: String,
    pub count: u64,
    /// Bytes of all of them, padding included.
    pub bytes: u64,
}

/// Where the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// The next block would be written here in the file.
    pub offset: u64,
    /// LSN of the last block's first record.
    pub last_block: Lsn,
    pub last_record: Lsn,
}

/// The blocks that can be read without a break up to the end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkedSpan {
    /// LSN of the first record.
    pub first: Lsn,
    /// LSN of the last record.
    pub last: Lsn,
    /// VLFs it runs through.
    pub vlf_count: usize,
    pub block_bytes: u64,
}

/// Everything found in a log file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Size of the file.
    pub file_bytes: u64,
    /// Page 0.
    pub page_zero: PageZero,
    /// Format of the header of the VLF with the highest sequence, or of the first; `None` without any VLF.
    pub format: Option<FormatVersion>,
    /// How much was read.
    pub depth: Depth,
    /// Every VLF, in file order.
    pub vlfs: Vec<InspectedVlf>,
    /// How the file came to its size, oldest first.
    pub growths: Vec<GrowthEvent>,
    /// Counts over all blocks.
    pub blocks: BlockCensus,
    /// The numbers of the blocks' formats, each with how many blocks have it: who has written the log.
    pub block_formats: Vec<(u16, u64)>,
    /// Records in all blocks.
    pub records: u64,
    /// Records by kind, the most frequent first.
    pub records_by_kind: Vec<RecordCount>,
    /// Where the log ends; `None` when no block was found.
    pub log_end: Option<LogEnd>,
    /// What can be read without a break.
    pub linked: Option<LinkedSpan>,
    /// First record of the last complete checkpoint that was found.
    pub last_checkpoint: Option<Lsn>,
    /// Damage by offset.
    pub damage: Vec<Damage>,
    /// All damage, also what was not kept.
    pub damage_count: u64,
}

/// Reads a log file.
///
/// # Errors
/// Only when the source itself fails; damage is part of the answer.
pub fn inspect<S: ReadAt + ?Sized>(source: &S, depth: Depth) -> Result<Inspection, ReadFault> {
    inspect_with(source, depth, &BTreeMap::new())
}

/// Reads a log file; `recorded` has create LSNs by the offset of their VLFs, for those whose own the file does not know.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_with<S: ReadAt + ?Sized>(
    source: &S,
    depth: Depth,
    recorded: &BTreeMap<u64, Lsn>,
) -> Result<Inspection, ReadFault> {
    let found = survey(source)?;
    let mut damage = DamageList::default();
    let page_zero = match found.file_header.clone() {
        Ok(header) => PageZero::Vlflab(header),
        Err(FileHeaderFault::Foreign) => PageZero::SqlServer,
        Err(fault) => {
            damage.add(0, found.file_bytes.min(vlf::PAGE_BYTES), fault.to_string());
            PageZero::Damaged(fault)
        }
    };
    for gap in &found.gaps {
        damage.add(gap.offset, gap.bytes, gap.fault.to_string());
    }
    if let Some(cut) = found.cut {
        let missing_bytes = cut.whole_bytes.saturating_sub(found.file_bytes);
        damage.add(found.file_bytes, missing_bytes, cut_text(cut, &found));
    } else {
        compare_layout(&page_zero, &found.vlfs, &mut damage);
    }
    let (vlfs, growths) = history::of_vlfs(&found, &page_zero, recorded);
    let mut reader = Reader {
        source,
        file_bytes: found.file_bytes,
        vlfs,
        census: BlockCensus::default(),
        kinds: BTreeMap::new(),
        block_formats: BTreeMap::new(),
        checkpoint_begin: None,
        last_checkpoint: None,
        damage,
        previous: None,
        end: None,
        linked_first: None,
    };
    let order = reader.in_sequence();
    reader.find_states(&order);
    if depth == Depth::Blocks {
        reader.read_blocks(&order)?;
        reader.find_active();
    }
    Ok(reader.into_inspection(page_zero, depth, growths))
}

/// Our page 0 names the first VLFs, or all of them: the VLF headers must agree with it.
fn compare_layout(page_zero: &PageZero, vlfs: &[VlfHeader], damage: &mut DamageList) {
    let PageZero::Vlflab(header) = page_zero else { return };
    let agrees = header.named().is_some_and(|named| {
        let first = vlfs.iter().take_while(|vlf| vlf.start_offset < named.file_bytes());
        let all_named = header.steps().is_none() || named.vlf_count() == vlfs.len() as u64;
        all_named && named.spans().eq(first.map(VlfHeader::span))
    });
    if !agrees {
        let what = "the layout in the file header page does not agree with the VLF headers";
        damage.add(0, 0, what.to_owned());
    }
}

/// What is missing of a file that was cut.
fn cut_text(cut: FileCut, found: &FileSurvey) -> String {
    let missing = group_digits(cut.whole_bytes.saturating_sub(found.file_bytes));
    let cut_off = found.vlfs.last().filter(|vlf| vlf.span().end() > found.file_bytes);
    let place = cut_off.map_or_else(String::new, |vlf| {
        format!(", in the VLF that begins at offset {}", vlf.start_offset)
    });
    let bytes = group_digits(found.file_bytes);
    let whole = group_digits(cut.whole_bytes);
    match cut.is_exact {
        true => format!("the file ends here{place}: it has {bytes} of {whole} bytes, {missing} are missing"),
        false => format!(
            "the file ends here{place}: it has {bytes} of at least {whole} bytes, {missing} or more are missing"
        ),
    }
}

#[derive(Default)]
struct DamageList {
    kept: Vec<Damage>,
    count: u64,
}

impl DamageList {
    fn add(&mut self, offset: u64, bytes: u64, what: String) {
        self.count += 1;
        if self.kept.len() < DAMAGE_MAX {
            self.kept.push(Damage { offset, bytes, what });
        }
    }
}

/// The state of a walk over all blocks.
struct Reader<'s, S: ?Sized> {
    source: &'s S,
    file_bytes: u64,
    vlfs: Vec<InspectedVlf>,
    census: BlockCensus,
    /// Counts and bytes by name. There are as many names as numbers, some hundreds.
    kinds: BTreeMap<Cow<'static, str>, (u64, u64)>,
    /// Blocks by the number of their format.
    block_formats: BTreeMap<u16, u64>,
    checkpoint_begin: Option<Lsn>,
    last_checkpoint: Option<Lsn>,
    damage: DamageList,
    /// The last block read, which the next VLF's first block has to follow.
    previous: Option<BlockHeader>,
    end: Option<LogEnd>,
    linked_first: Option<Lsn>,
}

impl<S: ReadAt + ?Sized> Reader<'_, S> {
    /// Indices of the used VLFs in the order the log ran through them.
    fn in_sequence(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.vlfs.len())
            .filter(|index| self.vlfs[*index].state != VlfState::Unused)
            .collect();
        order.sort_by_key(|index| self.vlfs[*index].header.sequence);
        order
    }

    /// Marks the VLFs whose sequences run up to the highest without a gap, and reports sequences that appear twice.
    fn find_states(&mut self, order: &[usize]) {
        let mut connected = true;
        let mut above: Option<u32> = None;
        for index in order.iter().rev() {
            let vlf = &mut self.vlfs[*index];
            let sequence = vlf.header.sequence.0;
            if above == Some(sequence) {
                vlf.damaged = true;
                let what = format!("VLF sequence {sequence} appears twice");
                self.damage.add(vlf.header.start_offset, 0, what);
            }
            connected =
                connected && above.is_none_or(|above| above == sequence || above.checked_sub(1) == Some(sequence));
            if connected {
                vlf.state = if above.is_none() {
                    VlfState::Tail
                } else {
                    VlfState::Linked
                };
            }
            above = Some(sequence);
        }
    }

    /// Marks what recovery needs, once the last complete checkpoint is known.
    fn find_active(&mut self) {
        let Some(checkpoint) = self.last_checkpoint else { return };
        for vlf in &mut self.vlfs {
            if vlf.state == VlfState::Linked && vlf.header.sequence.0 >= checkpoint.vlf {
                vlf.state = VlfState::Active;
            }
        }
    }

    fn read_blocks(&mut self, order: &[usize]) -> Result<(), ReadFault> {
        for index in order {
            self.read_vlf(*index)?;
        }
        Ok(())
    }

    /// Walks one VLF's blocks.
    fn read_vlf(&mut self, index: usize) -> Result<(), ReadFault> {
        let source = self.source;
        let Some(InspectedVlf { header, state, .. }) = self.vlfs.get(index).copied() else {
            return Ok(());
        };
        let mut walk = VlfBlocks::new(source, &header);
        let linked = self
            .previous
            .filter(|last| last.lsn.vlf.checked_add(1) == Some(header.sequence.0));
        if let Some(last) = linked {
            walk = walk.following(&last);
        }
        let tail = state == VlfState::Tail;
        let mut began = false;
        loop {
            match walk.next_step()? {
                WalkStep::Block(block) => {
                    let block_header = *block.header();
                    self.count_block(index, &block_header);
                    for (lsn, record) in block.records() {
                        self.count_record(index, lsn, record, &block_header);
                    }
                    self.previous = Some(block_header);
                    began = true;
                }
                // What follows was written before a crash that ended the log here. (The tail's first block is not such
                // a leftover: the VLF was entered for it.)
                WalkStep::Gap { fault, .. } if tail && began && fault.is_link_fault() => return Ok(()),
                WalkStep::Gap { offset, bytes, fault } => {
                    self.damage_in(index, offset, bytes, describe(fault, bytes));
                }
                // Of a VLF that is cut off, the end of the file is the damage.
                WalkStep::End { .. } if header.span().end() > self.file_bytes => return Ok(()),
                WalkStep::End { offset, fault } => {
                    if let Some(what) = fault.and_then(|fault| end_damage(fault, tail)) {
                        self.damage_in(index, offset, 0, what);
                    }
                    return Ok(());
                }
            }
        }
    }

    fn damage_in(&mut self, index: usize, offset: u64, bytes: u64, what: String) {
        self.damage.add(offset, bytes, what);
        if let Some(vlf) = self.vlfs.get_mut(index) {
            vlf.damaged = true;
        }
    }

    fn count_block(&mut self, index: usize, block: &BlockHeader) {
        let bytes = u64::from(block.block_bytes);
        *self.block_formats.entry(block.format_number).or_default() += 1;
        let census = &mut self.census;
        census.total += 1;
        census.fillers += u64::from(block.slot_count == 0);
        census.with_checksum += u64::from(block.flags & vlf::block::FLAG_CHECKSUM != 0);
        census.sectors += bytes / vlf::SECTOR_BYTES as u64;
        census.bytes += bytes;
        census.block_bytes_max = census.block_bytes_max.max(bytes);
        census.block_bytes_min = if census.total == 1 {
            bytes
        } else {
            census.block_bytes_min.min(bytes)
        };
        let Some(vlf) = self.vlfs.get_mut(index) else { return };
        vlf.blocks += 1;
        vlf.records += u64::from(block.slot_count);
        vlf.block_bytes += bytes;
        if vlf.state >= VlfState::Linked && self.linked_first.is_none() {
            self.linked_first = Some(block.lsn);
        }
        self.end = Some(LogEnd {
            offset: vlf.header.start_offset + block.lsn.offset_in_vlf() + bytes,
            last_block: block.lsn,
            last_record: block.lsn.with_slot(block.slot_count),
        });
    }

    fn count_record(&mut self, index: usize, lsn: Lsn, record: &[u8], block: &BlockHeader) {
        let format = block.format;
        let number = record_kind::number_of(format, record);
        let Some((number, name)) = number.zip(record_kind::name_of(format, record)) else {
            let offset = self.vlfs.get(index).map_or(0, |vlf| vlf.header.start_offset) + block.lsn.offset_in_vlf();
            self.damage_in(
                index,
                offset,
                0,
                format!("the record at {lsn} in a sound block cannot be read"),
            );
            return;
        };
        let (count, bytes) = self.kinds.entry(name).or_default();
        *count += 1;
        *bytes += record.len() as u64;
        match number {
            record_kind::BEGIN_CHECKPOINT => self.checkpoint_begin = Some(lsn),
            record_kind::END_CHECKPOINT => self.last_checkpoint = self.checkpoint_begin,
            _ => {}
        }
    }

    fn into_inspection(self, page_zero: PageZero, depth: Depth, growths: Vec<GrowthEvent>) -> Inspection {
        let kinds = self.kinds.into_iter();
        let mut records_by_kind: Vec<RecordCount> = kinds
            .map(|(operation, (count, bytes))| RecordCount {
                operation: operation.into_owned(),
                count,
                bytes,
            })
            .collect();
        records_by_kind.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.operation.cmp(&b.operation)));
        let is_linked = |vlf: &&InspectedVlf| vlf.state >= VlfState::Linked;
        let linked = self.linked_first.zip(self.end).map(|(first, end)| LinkedSpan {
            first,
            last: end.last_record,
            vlf_count: self.vlfs.iter().filter(is_linked).count(),
            block_bytes: self.vlfs.iter().filter(is_linked).map(|vlf| vlf.block_bytes).sum(),
        });
        let mut damage = self.damage.kept;
        damage.sort_by_key(|damage| damage.offset);
        let tail = self.vlfs.iter().find(|vlf| vlf.state == VlfState::Tail);
        let format = tail.or(self.vlfs.first()).map(|vlf| vlf.header.format);
        Inspection {
            file_bytes: self.file_bytes,
            page_zero,
            format,
            depth,
            records: self.vlfs.iter().map(|vlf| vlf.records).sum(),
            vlfs: self.vlfs,
            growths,
            blocks: self.census,
            block_formats: self.block_formats.into_iter().collect(),
            records_by_kind,
            log_end: self.end,
            linked,
            last_checkpoint: self.last_checkpoint,
            damage,
            damage_count: self.damage.count,
        }
    }
}

fn describe(fault: BlockFault, bytes: u64) -> String {
    if bytes == 0 {
        format!("{fault}; the block is read all the same")
    } else {
        format!("{fault}; {bytes} bytes skipped up to the next block")
    }
}

/// What the bytes behind a VLF's last block mean, if they are no normal end.
fn end_damage(fault: BlockFault, tail: bool) -> Option<String> {
    match fault.verdict(false) {
        TailVerdict::EndOfLog => None,
        TailVerdict::TornTail if tail => Some(format!("the last write did not finish: {fault}")),
        TailVerdict::TornTail | TailVerdict::Damage | TailVerdict::ReadMore => Some(fault.to_string()),
    }
}

impl Inspection {
    /// The layout by offset, size and growth, for [`crate::pasted::layout_of_vlfs`].
    pub fn spans(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        self.vlfs.iter().map(|vlf| {
            let VlfSpan { offset, bytes } = vlf.header.span();
            (offset, bytes, vlf.growth)
        })
    }

    /// Nothing of a log was found: neither a file header page nor a VLF.
    pub fn is_no_log(&self) -> bool {
        matches!(self.page_zero, PageZero::Damaged(_)) && self.vlfs.is_empty()
    }

    /// The VLF with the highest sequence: where the log ends.
    pub fn tail(&self) -> Option<&InspectedVlf> {
        self.vlfs.iter().find(|vlf| vlf.state == VlfState::Tail)
    }
}
