//! Log records as bytes, and a transaction as the log knows it.
//!
//! ```text
//! 0    u16  length of the whole record
//! 2    u8   kind
//! 3    u8   what follows the payload: 1 = lock information, 2 = links of pages, 3 = both, in this order
//! 4    u64  transaction, 0 = the system's own
//! 12   LSN  (10 bytes) of the transaction's record before this one; zero in its first
//! 22   LSN  compensation only: the record that undo continues with
//! 22 / 32   payload | lock information | links
//! ```
//! Lock information and links end with their own length (2 bytes). Links, which a database with ACCELERATED_DATABASE_RECOVERY writes:
//!
//! ```text
//! LSN  (10 bytes) compensation only: the change undone | for each page of the payload the LSN (10) of its change before this one | u16 length
//! ```
//! Little-endian throughout. A record never spans log blocks, so [`PAYLOAD_BYTES_MAX`] bounds its payload.

use super::runs::Runs;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vlf::block::{RECORD_BYTES_MAX, SLOT_BYTES};
use vlf::{Lsn, own_record};

/// Bytes of a record's header; a compensation record has ten more.
pub const RECORD_HEADER_BYTES: usize = 22;
pub const COMPENSATION_HEADER_BYTES: usize = RECORD_HEADER_BYTES + Lsn::BYTES;
/// The largest payload of a record: a 60 KB block less its header, sector stamps, one slot and the longer record header.
pub const PAYLOAD_BYTES_MAX: usize = RECORD_BYTES_MAX - COMPENSATION_HEADER_BYTES;
/// Log space to set aside for a compensation record with so many bytes of payload, its slot included; 0 for a change that is never
/// undone.
pub(crate) fn undo_reserve_bytes(payload_bytes: u32) -> u64 {
    match payload_bytes {
        0 => 0,
        payload_bytes => u64::from(payload_bytes) + (COMPENSATION_HEADER_BYTES + SLOT_BYTES) as u64,
    }
}

/// Names a transaction for as long as its records are in the log. 0 is the system itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransactionId(pub u64);

impl TransactionId {
    /// Writer of records that belong to no transaction, such as checkpoints.
    pub const SYSTEM: TransactionId = TransactionId(0);
}

impl std::fmt::Display for TransactionId {
    /// As `fn_dblog` shows it: `0000:000002f1`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:04x}:{:08x}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

/// What a record says. Where SQL Server has an operation of the same meaning, the number is its own (`LOP_BEGIN_XACT` 128,
/// `LOP_COMMIT_XACT` 129, `LOP_ABORT_XACT` 130, `LOP_BEGIN_CKPT` 150, `LOP_XACT_CKPT` 152, `LOP_END_CKPT` 153, `LOP_SHRINK_NOOP` 211; public
/// parsers of .ldf files list them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// Pages changed; undone logically when its transaction does not commit.
    Change = own_record::CHANGE,
    /// Undo of one change; itself never undone.
    Compensation = own_record::COMPENSATION,
    /// A transaction begins.
    Begin = 128,
    /// It commits: durable once this record is.
    Commit = 129,
    /// It has been rolled back completely.
    Abort = 130,
    CheckpointBegin = 150,
    /// Transactions and dirty pages alive at a checkpoint.
    CheckpointActive = 152,
    /// The checkpoint is complete.
    CheckpointEnd = 153,
    /// Nothing: fills a VLF that the log is to leave, so that the file can be shrunk.
    ShrinkNoop = 211,
    /// What a transaction alive at a checkpoint has locked for writing; ours. Earlier releases wrote 160.
    CheckpointLocks = own_record::CHECKPOINT_LOCKS,
    /// Ids below these may be in use from here on; ours. Earlier releases wrote 161.
    IdRange = own_record::ID_RANGE,
    /// A change of an open transaction once more, for its rollback alone: `lsn of the change (10) | its payload`; ours.
    Carried = own_record::CARRIED,
    /// A transaction's rollback goes on here instead of at the record named: `lsn of that record (10) | lsn of the first Carried (10), zero when
    /// there is none`; ours.
    CarriedEnd = own_record::CARRIED_END,
    /// From where on transactions alive at a checkpoint need the log: for each `u64 id | lsn (10)`; ours.
    CheckpointCarried = own_record::CHECKPOINT_CARRIED,
    /// Its transaction is rolled back: from here on its changes are taken back page by page (`crate::marked`); ours.
    Marked = own_record::MARKED,
    /// How transactions alive at a checkpoint can be undone: for each `u64 id | u8 1 = page by page, 2 = it is marked`; or for one of them `u64 id |
    /// u8 3 = page by page behind the undo of these changes | lsn (10) of each`; ours.
    CheckpointMarked = own_record::CHECKPOINT_MARKED,
}

impl RecordKind {
    pub const ALL: [RecordKind; 16] = [
        RecordKind::Change,
        RecordKind::Compensation,
        RecordKind::Begin,
        RecordKind::Commit,
        RecordKind::Abort,
        RecordKind::CheckpointBegin,
        RecordKind::CheckpointActive,
        RecordKind::CheckpointEnd,
        RecordKind::CheckpointLocks,
        RecordKind::IdRange,
        RecordKind::ShrinkNoop,
        RecordKind::Carried,
        RecordKind::CarriedEnd,
        RecordKind::CheckpointCarried,
        RecordKind::Marked,
        RecordKind::CheckpointMarked,
    ];

    /// The kind of a stored number.
    pub fn from_number(number: u8) -> Option<RecordKind> {
        let number = own_record::kind_of(number);
        RecordKind::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// SQL Server's name of the operation; ours where it has none. A record that changes pages has another, by what it does
    /// ([`own_record::operation_name`]).
    pub fn operation_name(self) -> &'static str {
        own_record::kind_name(self as u8).unwrap_or("LOP_VLFLAB_UNKNOWN")
    }

    pub fn ends_transaction(self) -> bool {
        matches!(self, RecordKind::Commit | RecordKind::Abort)
    }

    /// Bytes of the header of a record of this kind.
    pub fn header_bytes(self) -> usize {
        match self {
            RecordKind::Compensation => COMPENSATION_HEADER_BYTES,
            _ => RECORD_HEADER_BYTES,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// What the record says.
    pub kind: RecordKind,
    /// The transaction that wrote it.
    pub transaction: TransactionId,
    /// The transaction's record before this one; [`Lsn::ZERO`] in its first.
    pub previous: Lsn,
    /// Compensation only: the record undo continues with ([`Lsn::ZERO`]: none, all is undone). Zero in all other kinds.
    pub undo_next: Lsn,
    /// Bytes of lock information behind the payload; `store` says what they tell.
    pub lock_bytes: u16,
    /// Bytes of links behind that.
    pub link_bytes: u16,
}

/// What follows a record's payload: lock information and links, as they are stored.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trailer<'a> {
    pub bytes: &'a [u8],
    /// Of `bytes`, those of lock information.
    pub lock_bytes: usize,
}

impl Trailer<'_> {
    /// Nothing follows.
    pub const NONE: Trailer<'static> = Trailer {
        bytes: &[],
        lock_bytes: 0,
    };
}

impl RecordHeader {
    /// A header of a record with this tail.
    pub(crate) fn with(self, tail: Trailer<'_>) -> RecordHeader {
        RecordHeader {
            lock_bytes: tail.lock_bytes as u16,                      // some dozens
            link_bytes: (tail.bytes.len() - tail.lock_bytes) as u16, // a dozen LSNs
            ..self
        }
    }

    /// Bytes of a record with this header and `payload_bytes` of payload.
    pub(crate) fn record_bytes(&self, payload_bytes: usize) -> usize {
        self.kind.header_bytes() + payload_bytes + usize::from(self.lock_bytes) + usize::from(self.link_bytes)
    }

    /// Writes header, payload, and lock information and links as they are in `tail`, over `place`, which has exactly
    /// [`RecordHeader::record_bytes`] bytes.
    pub(crate) fn encode(&self, place: &mut [u8], payload: &[&[u8]], tail: &[u8]) {
        let mut rest = place;
        let length = rest.len() as u16; // records are shorter than 60 KB
        let mut put = |bytes: &[u8]| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            head.copy_from_slice(bytes);
            rest = tail;
        };
        put(&length.to_le_bytes());
        put(&[self.kind as u8, self.tail_flags()]);
        put(&self.transaction.0.to_le_bytes());
        put(&self.previous.to_bytes());
        if self.kind == RecordKind::Compensation {
            put(&self.undo_next.to_bytes());
        }
        payload.iter().for_each(|part| put(part));
        put(tail);
    }

    fn tail_flags(&self) -> u8 {
        let flag = |bytes: u16, flag: u8| if bytes > 0 { flag } else { 0 };
        flag(self.lock_bytes, own_record::HAS_LOCKS) | flag(self.link_bytes, own_record::HAS_LINKS)
    }
}

/// A record read from the log; borrows the reader's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// Its place in the log.
    pub lsn: Lsn,
    pub header: RecordHeader,
    /// What follows the header.
    pub payload: &'a [u8],
    /// The whole record as it is stored.
    pub bytes: &'a [u8],
}

impl<'a> LogRecord<'a> {
    /// Reads the record stored as `bytes`; `None` when they contradict themselves.
    pub fn decode(lsn: Lsn, bytes: &'a [u8]) -> Option<LogRecord<'a>> {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let ([kind, tail], rest) = rest.split_first_chunk::<2>()?;
        let (transaction, rest) = rest.split_first_chunk::<8>()?;
        let (previous, mut payload) = rest.split_first_chunk::<{ Lsn::BYTES }>()?;
        let kind = RecordKind::from_number(*kind)?;
        let mut undo_next = Lsn::ZERO;
        if kind == RecordKind::Compensation {
            let (bytes, rest) = payload.split_first_chunk::<{ Lsn::BYTES }>()?;
            undo_next = Lsn::from_bytes(*bytes);
            payload = rest;
        }
        let mut cut = |flag: u8| -> Option<u16> {
            if tail & flag == 0 {
                return Some(0);
            }
            let part_bytes = u16::from_le_bytes(*payload.last_chunk()?);
            payload = payload.get(..payload.len().checked_sub(usize::from(part_bytes))?)?;
            Some(part_bytes)
        };
        let link_bytes = cut(own_record::HAS_LINKS)?;
        let lock_bytes = cut(own_record::HAS_LOCKS)?;
        let header = RecordHeader {
            kind,
            transaction: TransactionId(u64::from_le_bytes(*transaction)),
            previous: Lsn::from_bytes(*previous),
            undo_next,
            lock_bytes,
            link_bytes,
        };
        let sound = usize::from(u16::from_le_bytes(*length)) == bytes.len() && *tail == header.tail_flags();
        sound.then_some(LogRecord {
            lsn,
            header,
            payload,
            bytes,
        })
    }

    /// The lock information behind the payload; empty in a record without.
    pub fn locks(&self) -> &'a [u8] {
        let end = self.bytes.len().saturating_sub(usize::from(self.header.link_bytes));
        let start = end.saturating_sub(usize::from(self.header.lock_bytes));
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The links of its pages; empty in a record without.
    pub fn links(&self) -> Links<'a> {
        let start = self.bytes.len().saturating_sub(usize::from(self.header.link_bytes));
        Links::of(self.header.kind, self.bytes.get(start..).unwrap_or_default())
    }

    /// Of a Carried or CarriedEnd, the record that it stands for.
    pub fn stands_for(&self) -> Option<Lsn> {
        stands_for(&self.header, self.payload)
    }

    /// A copy that owns its payload.
    pub fn to_owned(&self) -> OwnedRecord {
        OwnedRecord {
            lsn: self.lsn,
            header: self.header,
            payload: self.payload.to_vec(),
            links: self.links().bytes().to_vec(),
        }
    }
}

/// A record with its own copy of the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedRecord {
    /// Its place in the log.
    pub lsn: Lsn,
    pub header: RecordHeader,
    /// What follows the header.
    pub payload: Vec<u8>,
    /// Links of its pages, as stored; empty in a record without.
    pub(crate) links: Vec<u8>,
}

/// The links of a record: where the changes before it are of the pages that it changes. See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Links<'a> {
    undone: Lsn,
    bytes: &'a [u8],
    pages: &'a [u8],
}

impl<'a> Links<'a> {
    /// Bytes behind the LSNs: their length.
    const LENGTH_BYTES: usize = 2;
    /// Bytes of the links of a compensation that changes one page.
    pub(crate) const OF_COMPENSATION_BYTES: usize = 2 * Lsn::BYTES + Links::LENGTH_BYTES;

    fn of(kind: RecordKind, bytes: &'a [u8]) -> Links<'a> {
        let lsns = bytes
            .get(..bytes.len().saturating_sub(Links::LENGTH_BYTES))
            .unwrap_or_default();
        let head_bytes = if kind == RecordKind::Compensation {
            Lsn::BYTES
        } else {
            0
        };
        Links {
            undone: Lsn::read(lsns, 0).filter(|_| head_bytes > 0).unwrap_or(Lsn::ZERO),
            bytes,
            pages: lsns.get(head_bytes..).unwrap_or_default(),
        }
    }

    /// Appends links to `out`. `undone` is the change that a compensation undoes; `pages` are the changes before this one of its pages, in order.
    pub(crate) fn encode(undone: Option<Lsn>, pages: impl Iterator<Item = Lsn>, out: &mut Vec<u8>) {
        let start = out.len();
        undone
            .into_iter()
            .chain(pages)
            .for_each(|lsn| out.extend_from_slice(&lsn.to_bytes()));
        let length = out.len() - start + Links::LENGTH_BYTES;
        out.extend_from_slice(&(length as u16).to_le_bytes()); // a change has a dozen pages
    }

    fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the record has none: its database did not write them.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The change that a compensation undoes; [`Lsn::ZERO`] in other records.
    pub fn undone(&self) -> Lsn {
        self.undone
    }

    /// The change of the payload's page number `index` before this one; [`Lsn::ZERO`] for a page that was none before.
    pub fn before(&self, index: usize) -> Lsn {
        Lsn::read(self.pages, index * Lsn::BYTES).unwrap_or(Lsn::ZERO)
    }
}

impl OwnedRecord {
    /// The links of its pages; empty in a record without.
    pub fn links(&self) -> Links<'_> {
        Links::of(self.header.kind, &self.links)
    }

    /// Of a Carried or CarriedEnd, the record that it stands for.
    pub fn stands_for(&self) -> Option<Lsn> {
        stands_for(&self.header, &self.payload)
    }

    /// The record of the same transaction that undo looks at next.
    pub fn before_in_chain(&self) -> Lsn {
        match self.header.kind {
            RecordKind::Compensation => self.header.undo_next,
            RecordKind::Begin => Lsn::ZERO,
            _ => self.header.previous,
        }
    }

    /// A Carried becomes the change that it carries, in its own place of the chain. `None` when it is none.
    pub fn into_carried_change(mut self) -> Option<OwnedRecord> {
        if self.header.kind != RecordKind::Carried || self.payload.len() < Lsn::BYTES {
            return None;
        }
        self.payload.drain(..Lsn::BYTES);
        self.header.kind = RecordKind::Change;
        Some(self)
    }
}

fn stands_for(header: &RecordHeader, payload: &[u8]) -> Option<Lsn> {
    match header.kind {
        RecordKind::Carried | RecordKind::CarriedEnd => Lsn::read(payload, 0),
        _ => None,
    }
}

/// A transaction as the log knows it: its chain of records, and the log space set aside for rolling it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionChain {
    pub id: TransactionId,
    /// Its first record; [`Lsn::ZERO`] before it has one.
    pub first: Lsn,
    /// Its last record: where undo begins.
    pub last: Lsn,
    /// The one before its last; [`Lsn::ZERO`] when there is none, or it is not known.
    pub before_last: Lsn,
    /// Log space set aside for its compensation records and its end, in bytes. Kept by the log; given back when the
    /// transaction ends.
    pub reserved_bytes: u64,
    /// Of `reserved_bytes`, what its rollback does not need: see [`super::LogManager::set_aside`].
    pub surplus_bytes: u64,
    /// Log that its own records take, in bytes. Of a transaction found in the log after a restart, those since then.
    pub logged_bytes: u64,
    /// Those records' number.
    pub logged_records: u64,
    /// Where others can see its ends: a checkpoint writes them down while the transaction goes on.
    pub end: ChainEnd,
    /// Allocation units, by number, in which it changed or deleted rows. Not known of a transaction found in the log.
    pub rows_changed_in: BTreeSet<u32>,
    /// Its records about one unit alone. Not known of a transaction found in the log.
    pub runs: Runs,
    /// How it can be undone.
    pub undoing: Undoing,
    /// What its next record has to do with changes that its rollback undoes before it marks the transaction.
    pub(crate) undone_first: UndoneFirst,
}

/// What a record has to do with changes that a rollback undoes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum UndoneFirst {
    #[default]
    No,
    /// It is such a change itself.
    Changed,
    /// It undoes this change, and what is newer is undone.
    Undone(Lsn),
}

/// Changes that a rollback undoes before it marks its transaction: with more it does not. A megabyte of memory.
pub const UNDONE_FIRST_MAX: usize = 65_536;

/// How a transaction can be undone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Undoing {
    /// From its newest change back to its first.
    #[default]
    InOrder,
    /// Page by page, too: all changes since its first have links, and none is one of a definition.
    ByPage,
    /// Page by page behind the undo of a few changes, which its [`ChainEnd`] knows.
    PartlyByPage,
    /// Page by page: it is rolled back, and others may have changed what was taken back.
    Marked,
}

impl Undoing {
    /// How a transaction can be undone behind another change: `is_undone_first` if that is one which a rollback undoes before the mark.
    pub(crate) fn behind(self, has_links: bool, is_undone_first: bool) -> Undoing {
        match self {
            Undoing::ByPage | Undoing::PartlyByPage if !has_links => Undoing::InOrder,
            Undoing::ByPage if is_undone_first => Undoing::PartlyByPage,
            Undoing::InOrder | Undoing::ByPage | Undoing::PartlyByPage | Undoing::Marked => self,
        }
    }

    /// Whether its rollback may mark it.
    pub fn is_by_page(self) -> bool {
        matches!(self, Undoing::ByPage | Undoing::PartlyByPage)
    }

    /// As CheckpointMarked has it; `None` where it lists nothing.
    pub(crate) fn number(self) -> Option<u8> {
        match self {
            Undoing::InOrder => None,
            Undoing::ByPage => Some(1),
            Undoing::Marked => Some(2),
            Undoing::PartlyByPage => Some(3),
        }
    }

    /// What a number in CheckpointMarked says; an unknown one is a release's that knew more.
    pub(crate) fn from_number(number: u8) -> Undoing {
        match number {
            1 => Undoing::ByPage,
            2 => Undoing::Marked,
            3 => Undoing::PartlyByPage,
            _ => Undoing::InOrder,
        }
    }
}

/// Where a transaction stands, shared with the list of transactions under way. Changed under the log's mutex, so that a
/// checkpoint sees every record before its own begin.
///
/// A checkpoint may move the end of a chain to a copy of it ([`ChainEnd::move_to`]). The transaction takes notice of that with its next
/// record, or when it begins to roll back; while it rolls back its chain stays where it is.
#[derive(Debug, Clone, Default)]
pub struct ChainEnd(Arc<Shared>);

/// What a checkpoint looks at before it carries a transaction's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToCarry {
    /// Its newest record.
    pub last: Lsn,
    /// Log that its own records take, in bytes.
    pub logged_bytes: u64,
    /// Those records' number.
    pub logged_records: u64,
    /// Log that it has to hold, in bytes, since an attempt came to nothing.
    pub put_off_bytes: u64,
}

#[derive(Debug, Default)]
struct Shared {
    standing: Mutex<Standing>,
    /// The end was moved, or how it can be undone has changed, and the transaction has not taken notice. Changed under the mutex.
    is_moved: AtomicBool,
    /// Of [`Undoing::PartlyByPage`]: changes that its rollback undoes before it marks the transaction, in the order of the log.
    undone_first: Mutex<Vec<Lsn>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Standing {
    first: Lsn,
    last: Lsn,
    reserved_bytes: u64,
    logged_bytes: u64,
    logged_records: u64,
    /// From where on the log is needed; zero: from its first record on.
    needed_from: Lsn,
    /// Log that it has to hold before its changes are carried, in bytes.
    put_off_bytes: u64,
    is_over: bool,
    /// Recovery found it, and undoes it.
    is_recovered: bool,
    is_rolling_back: bool,
    undoing: Undoing,
}

impl ChainEnd {
    fn at(first: Lsn, last: Lsn) -> ChainEnd {
        let standing = Standing {
            first,
            last,
            is_recovered: last != Lsn::ZERO,
            ..Standing::default()
        };
        ChainEnd(Arc::new(Shared {
            standing: Mutex::new(standing),
            is_moved: AtomicBool::new(false),
            undone_first: Mutex::default(),
        }))
    }

    /// The first record; `None` before there is one.
    pub fn first(&self) -> Option<Lsn> {
        let first = self.0.standing.lock().first;
        (first != Lsn::ZERO).then_some(first)
    }

    /// The newest record; `None` once that is the transaction's Commit or Abort.
    pub fn under_way(&self) -> Option<Lsn> {
        let standing = *self.0.standing.lock();
        (!standing.is_over).then_some(standing.last)
    }

    /// Log space set aside for rolling it back, in bytes, as of its newest record.
    pub fn reserved_bytes(&self) -> u64 {
        self.0.standing.lock().reserved_bytes
    }

    /// Log that its own records take, in bytes.
    pub fn logged_bytes(&self) -> u64 {
        self.0.standing.lock().logged_bytes
    }

    /// Those records' number.
    pub fn logged_records(&self) -> u64 {
        self.0.standing.lock().logged_records
    }

    /// How it can be undone, as of its newest record.
    pub fn undoing(&self) -> Undoing {
        self.0.standing.lock().undoing
    }

    /// How it can be undone, and of [`Undoing::PartlyByPage`] the changes that its rollback undoes before it marks the transaction, in the order of the log.
    pub fn undoing_with_first(&self) -> (Undoing, Vec<Lsn>) {
        let undone_first = self.0.undone_first.lock();
        let undoing = self.undoing();
        match undoing {
            Undoing::PartlyByPage => (undoing, undone_first.clone()),
            Undoing::InOrder | Undoing::ByPage | Undoing::Marked => (undoing, Vec::new()),
        }
    }

    /// The same of a transaction that recovery has found.
    pub(crate) fn set_undone_first(&self, undone_first: Vec<Lsn>) {
        *self.0.undone_first.lock() = undone_first;
    }

    /// From where on its rollback needs the log, if that is not its first record.
    pub fn needed_from(&self) -> Option<Lsn> {
        let needed_from = self.0.standing.lock().needed_from;
        (needed_from != Lsn::ZERO).then_some(needed_from)
    }

    /// The log before `lsn` is not needed for its rollback.
    pub fn set_needed_from(&self, lsn: Lsn) {
        let mut standing = self.0.standing.lock();
        standing.needed_from = lsn;
        standing.put_off_bytes = 0;
    }

    /// It can be undone in order only, from its next record or its rollback on: not all of its changes will have links.
    pub fn loses_links(&self) {
        let mut standing = self.0.standing.lock();
        if standing.undoing != Undoing::Marked {
            standing.undoing = Undoing::InOrder;
            self.0.is_moved.store(true, Ordering::Relaxed);
        }
    }

    /// Its changes are not to be carried before it holds so many bytes of log.
    pub fn put_off(&self, held_bytes: u64) {
        self.0.standing.lock().put_off_bytes = held_bytes;
    }

    /// What there is to know before its changes are carried; `None` when they cannot be, as it is over, rolls back, or was found by recovery.
    pub fn to_carry(&self) -> Option<ToCarry> {
        let standing = *self.0.standing.lock();
        let is_rolled_back = standing.is_rolling_back || standing.undoing == Undoing::Marked;
        let is_fit = !standing.is_over && !is_rolled_back && !standing.is_recovered;
        is_fit.then_some(ToCarry {
            last: standing.last,
            logged_bytes: standing.logged_bytes,
            logged_records: standing.logged_records,
            put_off_bytes: standing.put_off_bytes,
        })
    }

    /// Its chain goes on behind the record that `append` writes, if nothing has happened since its newest record was at `last`. The caller
    /// holds the log's mutex.
    pub(crate) fn move_to<E>(
        &self,
        last: Lsn,
        append: impl FnOnce() -> std::result::Result<Lsn, E>,
    ) -> std::result::Result<Option<Lsn>, E> {
        let mut standing = self.0.standing.lock();
        if !standing.stands_at(last) {
            return Ok(None);
        }
        standing.last = append()?;
        // Links lead to the records that were carried, which may be gone.
        standing.undoing = Undoing::InOrder;
        self.0.is_moved.store(true, Ordering::Relaxed);
        Ok(Some(standing.last))
    }
}

impl PartialEq for ChainEnd {
    fn eq(&self, other: &ChainEnd) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        let mine = *self.0.standing.lock();
        mine == *other.0.standing.lock()
    }
}

impl Eq for ChainEnd {}

impl Standing {
    fn stands_at(&self, last: Lsn) -> bool {
        self.last == last && !self.is_over && !self.is_rolling_back && self.undoing != Undoing::Marked
    }
}

/// A rollback under way: until it is dropped the chain of its transaction stays where it is.
pub(crate) struct RollingBack(ChainEnd);

impl Drop for RollingBack {
    fn drop(&mut self) {
        self.0.0.standing.lock().is_rolling_back = false;
    }
}

impl TransactionChain {
    /// A transaction without records.
    pub fn new(id: TransactionId) -> TransactionChain {
        TransactionChain::recovered(id, Lsn::ZERO, Lsn::ZERO)
    }

    /// A transaction found in the log after a restart. Its reserve is not known here; see `LogManager::restore_reserve`.
    pub fn recovered(id: TransactionId, first: Lsn, last: Lsn) -> TransactionChain {
        TransactionChain {
            id,
            first,
            last,
            before_last: Lsn::ZERO,
            reserved_bytes: 0,
            surplus_bytes: 0,
            logged_bytes: 0,
            logged_records: 0,
            end: ChainEnd::at(first, last),
            rows_changed_in: BTreeSet::new(),
            runs: Runs::default(),
            undoing: Undoing::InOrder,
            undone_first: UndoneFirst::No,
        }
    }

    /// The newest of the changes that its rollback undoes before it marks the transaction.
    pub(crate) fn last_undone_first(&self) -> Option<Lsn> {
        self.end.0.undone_first.lock().last().copied()
    }

    /// Shows others the reserve as it is now.
    pub(crate) fn show_reserve(&self) {
        self.end.0.standing.lock().reserved_bytes = self.reserved_bytes;
    }

    /// Takes notice of it if its end was moved. The caller holds the log's mutex, or is about to roll back.
    pub(crate) fn follow_end(&mut self) {
        if !self.end.0.is_moved.load(Ordering::Relaxed) {
            return;
        }
        let standing = self.end.0.standing.lock();
        self.end.0.is_moved.store(false, Ordering::Relaxed);
        self.last = standing.last;
        self.undoing = standing.undoing;
        // They name records that may be gone.
        self.runs = Runs::default();
    }

    /// Says how it can be undone, and shows it to others.
    pub(crate) fn set_undoing(&mut self, undoing: Undoing) {
        self.undoing = undoing;
        self.end.0.standing.lock().undoing = undoing;
    }

    /// Begins to roll back: the chain stays where it is until the answer is dropped.
    pub(crate) fn begin_rollback(&mut self) -> RollingBack {
        self.end.0.standing.lock().is_rolling_back = true;
        self.follow_end();
        RollingBack(self.end.clone())
    }

    /// Continues the chain with a record of so many bytes, just appended. The caller holds the log's mutex.
    pub(crate) fn extend(&mut self, kind: RecordKind, lsn: Lsn, record_bytes: usize) {
        self.logged_bytes += (record_bytes + SLOT_BYTES) as u64;
        self.logged_records += 1;
        if self.first == Lsn::ZERO {
            self.first = lsn;
        }
        self.before_last = std::mem::replace(&mut self.last, lsn);
        let mut standing = self.end.0.standing.lock();
        standing.first = self.first;
        standing.last = lsn;
        standing.reserved_bytes = self.reserved_bytes;
        standing.logged_bytes = self.logged_bytes;
        standing.logged_records = self.logged_records;
        standing.is_over = kind.ends_transaction();
        if !self.end.0.is_moved.load(Ordering::Relaxed) {
            standing.undoing = self.undoing;
        }
        drop(standing);
        self.keep_undone_first(lsn);
    }

    /// Whether its newest record is, or undoes, a change that its rollback undoes first. The caller holds the log's mutex: a checkpoint that begins behind
    /// the record sees this.
    fn keep_undone_first(&mut self, lsn: Lsn) {
        let step = std::mem::take(&mut self.undone_first);
        if step == UndoneFirst::No {
            return;
        }
        let end = self.end.clone();
        let mut list = end.0.undone_first.lock();
        match step {
            UndoneFirst::No => {}
            UndoneFirst::Changed if list.len() < UNDONE_FIRST_MAX => list.push(lsn),
            UndoneFirst::Changed => {
                self.set_undoing(Undoing::InOrder);
                list.clear();
            }
            UndoneFirst::Undone(change) => {
                let kept = list.partition_point(|lsn| *lsn < change);
                list.truncate(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_kind_round_trips_and_every_cut_is_refused() {
        let locks: [&[u8]; 2] = [b"", &[9, 9, 9, 9, 6, 0]];
        for (kind, locks) in RecordKind::ALL
            .into_iter()
            .flat_map(|kind| locks.map(|locks| (kind, locks)))
        {
            let undo_next = if kind == RecordKind::Compensation {
                Lsn::new(7, 16, 3)
            } else {
                Lsn::ZERO
            };
            let header = RecordHeader {
                kind,
                transaction: TransactionId(0x0102_0304_0506_0708),
                previous: Lsn::new(7, 24, 2),
                undo_next,
                lock_bytes: locks.len() as u16,
                link_bytes: 0,
            };
            let mut bytes = vec![0xEE; header.record_bytes(5)];
            header.encode(&mut bytes, &[b"he", b"", b"llo"], locks);
            let record = LogRecord::decode(Lsn::new(7, 32, 1), &bytes).unwrap();
            assert_eq!((record.header, record.payload), (header, &b"hello"[..]));
            for length in 0..bytes.len() {
                assert_eq!(
                    LogRecord::decode(Lsn::ZERO, &bytes[..length]),
                    None,
                    "{kind:?} cut to {length}"
                );
            }
            bytes.push(0);
            assert_eq!(
                LogRecord::decode(Lsn::ZERO, &bytes),
                None,
                "{kind:?} with a byte too many"
            );
        }
    }

    /// How a transaction can be undone behind each kind of change, from each way that it could be.
    #[test]
    fn how_a_transaction_can_be_undone_follows_from_its_changes() {
        use Undoing::{ByPage, InOrder, Marked, PartlyByPage};
        // (could be, behind a change with links, behind one that is undone first, behind one without links)
        let cases = [
            (InOrder, InOrder, InOrder, InOrder),
            (ByPage, ByPage, PartlyByPage, InOrder),
            (PartlyByPage, PartlyByPage, PartlyByPage, InOrder),
            (Marked, Marked, Marked, Marked),
        ];
        for (undoing, by_page, undone_first, without_links) in cases {
            assert_eq!(undoing.behind(true, false), by_page, "{undoing:?}");
            assert_eq!(undoing.behind(true, true), undone_first, "{undoing:?}");
            assert_eq!(undoing.behind(false, false), without_links, "{undoing:?}");
            assert_eq!(undoing.behind(false, true), without_links, "{undoing:?}");
            assert_eq!(undoing.number().map_or(InOrder, Undoing::from_number), undoing);
        }
    }

    /// A chain's end is moved only where it is known to stand, and the transaction goes on from there.
    #[test]
    fn the_end_of_a_chain_moves_only_from_where_it_stands() {
        let at = |block: u32| Lsn::new(7, block, 1);
        let moved = |chain: &TransactionChain, from: u32| {
            let moved = chain.end.move_to(at(from), || Ok::<_, ()>(at(99)));
            moved.unwrap().is_some()
        };
        let begun = || {
            let mut chain = TransactionChain::new(TransactionId(1));
            chain.extend(RecordKind::Begin, at(16), 30);
            chain.extend(RecordKind::Change, at(17), 30);
            chain
        };
        let mut chain = begun();
        assert!(!moved(&chain, 16), "it has gone on since");
        assert!(moved(&chain, 17));
        assert_eq!((chain.end.under_way(), chain.last), (Some(at(99)), at(17)));
        assert!(moved(&chain, 99), "it may be carried once more before it goes on");
        chain.follow_end();
        assert_eq!(chain.last, at(99));
        chain.extend(RecordKind::Change, at(101), 30);
        assert_eq!((chain.first, chain.before_last, chain.last), (at(16), at(99), at(101)));
        let mut chain = begun();
        let rollback = chain.begin_rollback();
        assert!(!moved(&chain, 17), "it is rolling back");
        drop(rollback);
        assert!(moved(&chain, 17));
        let mut chain = begun();
        chain.extend(RecordKind::Commit, at(18), 30);
        assert!(!moved(&chain, 18), "it is over");
    }

    #[test]
    fn unknown_kinds_are_refused() {
        let header = RecordHeader {
            kind: RecordKind::Begin,
            transaction: TransactionId(1),
            previous: Lsn::ZERO,
            undo_next: Lsn::ZERO,
            lock_bytes: 0,
            link_bytes: 0,
        };
        let mut bytes = vec![0; header.record_bytes(0)];
        header.encode(&mut bytes, &[], &[]);
        for number in 0..=u8::MAX {
            bytes[2] = number;
            let known = RecordKind::from_number(number).is_some_and(|kind| kind != RecordKind::Compensation);
            assert_eq!(LogRecord::decode(Lsn::ZERO, &bytes).is_some(), known, "kind {number}");
        }
    }
}
