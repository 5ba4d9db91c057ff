//! Rows as they were: a page's records applied forward from an empty page, or undone backward from the page in the data file.
//!
//! ```text
//!   LOP_FORMAT_PAGE --> record --> record --> record --> record          forward: the page was empty here
//!                                  record <-- record <-- page in the file  backward: the LSN in its header is that of this record
//!                                                        page in the file --> record   forward: not yet written when the file was copied
//! ```
//!
//! Every record of a page names the LSN that the page had before: where that is not the record before it in the log, records are missing (the
//! log was reused, or work was minimally logged), and nothing is carried across. An image that is not what the replay has ends it too. So
//! what is answered was seen to fit from end to end, or is not answered.

use super::record::{Change, PageChange, Piece};
use crate::page::{HEADER_BYTES, PAGE_BYTES, Page, PageBytes};
use crate::row::record_bytes;
use vlf::Lsn;

/// A slot of a page during the replay.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Slot {
    Row(Vec<u8>),
    /// A heap keeps the slot of a deleted row.
    Empty,
    /// A row is there, and what is in it is not known.
    Unknown,
}

/// The rows of a page at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageState {
    slots: Vec<Slot>,
}

/// A row before and after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Both {
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

/// The bits of a record's first byte that say what kind of record it is, and those of ghosts.
const KIND_BITS: u8 = 0x0E;
const GHOST_INDEX: u8 = 0x0A;
const GHOST_DATA: u8 = 0x0C;
const INDEX: u8 = 0x06;

impl PageState {
    /// The rows of `page`. A row's bytes reach to the next row's, so there can be some behind its end.
    pub fn of(page: &Page) -> PageState {
        let bytes = page.bytes();
        let count = usize::from(page.slot_count());
        let place = |slot: usize| {
            let at = bytes.len().checked_sub(2 * (slot + 1))?;
            Some(usize::from(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])))
        };
        let mut places: Vec<usize> = (0..count).filter_map(place).collect();
        places.push(bytes.len().saturating_sub(2 * count));
        places.sort_unstable();
        let slots = (0..count).map(|slot| match place(slot) {
            Some(0) | None => Slot::Empty,
            Some(start) => {
                let end = places[places.partition_point(|place| *place <= start)..].first();
                let row = end.and_then(|end| bytes.get(start..*end));
                row.map_or(Slot::Unknown, |row| Slot::Row(row.to_vec()))
            }
        });
        PageState { slots: slots.collect() }
    }

    /// Puts the rows on `page` in place of those that are there: slots, records one behind the other, and what the header says of them. A row that
    /// has bytes behind its end is cut if there is no room for them. `None` if a row is not known, or the rows do not fit.
    pub(crate) fn put_on(&self, page: &mut PageBytes) -> Option<()> {
        let first = first_record(page);
        let room = PAGE_BYTES.checked_sub(first + 2 * self.slots.len())?;
        let mut rows = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            rows.push(match slot {
                Slot::Row(row) => Some(row.as_slice()),
                Slot::Empty => None,
                Slot::Unknown => return None,
            });
        }
        if rows.iter().flatten().map(|row| row.len()).sum::<usize>() > room {
            for row in rows.iter_mut().flatten() {
                *row = &row[..record_bytes(row).unwrap_or(row.len()).min(row.len())];
            }
        }
        (rows.iter().flatten().map(|row| row.len()).sum::<usize>() <= room).then_some(())?;
        let mut place = first;
        for (slot, row) in rows.iter().enumerate() {
            let row = row.unwrap_or(&[]);
            let start = if row.is_empty() { 0 } else { place as u16 };
            page[place..place + row.len()].copy_from_slice(row);
            place += row.len();
            let at = PAGE_BYTES - 2 * (slot + 1);
            page[at..at + 2].copy_from_slice(&start.to_le_bytes());
        }
        page[22..24].copy_from_slice(&(rows.len() as u16).to_le_bytes());
        page[30..32].copy_from_slice(&(place as u16).to_le_bytes());
        Some(())
    }

    /// The rows, by slot; `None` for slots without a row, or whose row is not known.
    pub fn rows(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.slots.iter().map(|slot| match slot {
            Slot::Row(row) => Some(row.as_slice()),
            Slot::Empty | Slot::Unknown => None,
        })
    }

    /// Applies `change`: the row of a modification before and after it. `None` if it does not fit this page.
    pub fn apply(&mut self, change: &PageChange<'_>) -> Option<Both> {
        let slot = usize::from(change.slot);
        match &change.change {
            Change::Format => self.slots.clear(),
            Change::Insert { rows, over_ghost: true } => self.put_over_ghost(slot, rows)?,
            Change::Insert { rows, .. } => self.put_rows(slot, rows, change.keeps_slots())?,
            Change::Delete { row, is_ghost } => {
                self.check_row(slot, row)?;
                match (is_ghost, change.keeps_slots()) {
                    (true, _) => self.slots[slot] = Slot::Row(ghost_of(row)),
                    (false, true) => self.slots[slot] = Slot::Empty,
                    (false, false) => {
                        self.slots.remove(slot);
                    }
                }
            }
            Change::Modify(pieces) => {
                let both = self.modify(slot, pieces, Direction::Forward);
                return self.with_length(change, slot, Direction::Forward).and(both);
            }
            Change::Split => {
                (slot <= self.slots.len()).then_some(())?;
                self.slots.truncate(slot);
            }
            Change::Expunge => self.take_row(slot, change.keeps_slots())?,
            Change::Nothing => {}
            Change::Unknown => return None,
        }
        Some(Both::default())
    }

    /// Undoes `change`: the row of a modification before and after it. `None` if it does not fit this page, or cannot be undone.
    pub fn undo(&mut self, change: &PageChange<'_>) -> Option<Both> {
        let slot = usize::from(change.slot);
        match &change.change {
            Change::Insert { rows, over_ghost: true } => {
                self.check_row(slot, rows.first()?)?;
                self.slots[slot] = Slot::Unknown;
            }
            Change::Insert { rows, .. } => {
                for (at, row) in (slot..slot + rows.len()).zip(rows).rev() {
                    self.check_row(at, row)?;
                    self.take_row(at, change.keeps_slots())?;
                }
            }
            Change::Delete { row, is_ghost: true } => *self.slots.get_mut(slot)? = Slot::Row(row.to_vec()),
            Change::Delete { row, is_ghost: false } => self.put_rows(slot, &[row], change.keeps_slots())?,
            Change::Modify(pieces) => return self.modify(slot, pieces, Direction::Backward),
            Change::Expunge => {
                (slot <= self.slots.len()).then_some(())?;
                match change.keeps_slots() {
                    true => *self.slots.get_mut(slot)? = Slot::Unknown,
                    false => self.slots.insert(slot, Slot::Unknown),
                }
            }
            Change::Nothing => {}
            Change::Format | Change::Split | Change::Unknown => return None,
        }
        Some(Both::default())
    }

    /// Takes back `change`, whose row is in `slot` by now: what rolling its transaction back does. A row that replaced a ghost becomes one.
    /// `None` if it does not fit this page, or cannot be taken back.
    pub(crate) fn take_back(&mut self, change: &PageChange<'_>, slot: usize) -> Option<()> {
        match &change.change {
            Change::Insert { rows, over_ghost: true } => {
                let [row] = rows[..] else { return None };
                self.check_row(slot, row)?;
                self.slots[slot] = Slot::Row(ghost_of(row));
            }
            Change::Insert { rows, .. } => {
                for (at, row) in (slot..slot + rows.len()).zip(rows).rev() {
                    self.check_row(at, row)?;
                    self.take_row(at, change.keeps_slots())?;
                }
            }
            Change::Delete { row, is_ghost: true } => {
                self.check_row(slot, row)?;
                self.slots[slot] = Slot::Row(row.to_vec());
            }
            Change::Delete { row, is_ghost: false } => {
                let slot = slot.min(self.slots.len());
                self.put_rows(slot, &[row], change.keeps_slots())?;
            }
            Change::Modify(pieces) => {
                self.modify(slot, pieces, Direction::Backward)?;
                self.with_length(change, slot, Direction::Backward)?;
            }
            Change::Nothing => {}
            Change::Format | Change::Split | Change::Expunge | Change::Unknown => return None,
        }
        Some(())
    }

    fn put_rows(&mut self, slot: usize, rows: &[&[u8]], keeps_slots: bool) -> Option<()> {
        for (at, row) in (slot..).zip(rows) {
            let row = Slot::Row(row.to_vec());
            match (keeps_slots, self.slots.get(at)) {
                (true, Some(Slot::Empty)) => self.slots[at] = row,
                (true, Some(_)) => return None,
                (true, None) => {
                    // A page has 8,192 bytes, so it has at most as many slots.
                    (at < PAGE_BYTES).then_some(())?;
                    self.slots.resize(at, Slot::Empty);
                    self.slots.push(row);
                }
                (false, _) if at <= self.slots.len() => self.slots.insert(at, row),
                (false, _) => return None,
            }
        }
        Some(())
    }

    fn put_over_ghost(&mut self, slot: usize, rows: &[&[u8]]) -> Option<()> {
        let held = self.slots.get_mut(slot)?;
        let is_ghost = match held {
            Slot::Row(row) => matches!(row.first()? & KIND_BITS, GHOST_DATA | GHOST_INDEX),
            Slot::Unknown => true,
            Slot::Empty => false,
        };
        let [row] = rows else { return None };
        *held = Slot::Row(row.to_vec());
        is_ghost.then_some(())
    }

    fn take_row(&mut self, slot: usize, keeps_slots: bool) -> Option<()> {
        (slot < self.slots.len()).then_some(())?;
        match keeps_slots {
            true => self.slots[slot] = Slot::Empty,
            false => {
                self.slots.remove(slot);
            }
        }
        Some(())
    }

    /// That the row in `slot` is `row`, except whether it is a ghost.
    fn check_row(&self, slot: usize, row: &[u8]) -> Option<()> {
        match self.slots.get(slot)? {
            Slot::Row(held) => (same_but_kind(held, row)).then_some(()),
            Slot::Unknown => Some(()),
            Slot::Empty => None,
        }
    }

    /// A piece of a large value has its length in its header, and a change that makes it another one does not say so.
    fn with_length(&mut self, change: &PageChange<'_>, slot: usize, direction: Direction) -> Option<()> {
        let (true, Change::Modify(pieces), Some(Slot::Row(row))) =
            (change.is_of_large_value(), &change.change, self.slots.get_mut(slot))
        else {
            return Some(());
        };
        let longer = |piece: &Piece<'_>| piece.after.len() as isize - piece.before.len() as isize;
        let longer: isize = pieces.iter().map(longer).sum();
        let longer = match direction {
            Direction::Forward => longer,
            Direction::Backward => -longer,
        };
        let field = row.get_mut(2..4)?;
        let length = usize::from(u16::from_le_bytes([field[0], field[1]])).checked_add_signed(longer)?;
        field.copy_from_slice(&u16::try_from(length).ok()?.to_le_bytes());
        Some(())
    }

    fn modify(&mut self, slot: usize, pieces: &[Piece<'_>], direction: Direction) -> Option<Both> {
        let held = match self.slots.get(slot)? {
            Slot::Row(held) => held.clone(),
            Slot::Unknown => return Some(Both::default()),
            Slot::Empty => return None,
        };
        let changed = replaced(&held, pieces, direction)?;
        self.slots[slot] = Slot::Row(changed.clone());
        let (before, after) = match direction {
            Direction::Forward => (held, changed),
            Direction::Backward => (changed, held),
        };
        Some(Both {
            before: Some(before),
            after: Some(after),
        })
    }
}

/// Where records may begin: behind the header, and behind what a compressed page has before them.
fn first_record(page: &PageBytes) -> usize {
    /// A flag of the page's kind: it has an anchor and a dictionary.
    const IS_COMPRESSED: u8 = 0x80;
    let slots = usize::from(u16::from_le_bytes([page[22], page[23]])).min(PAGE_BYTES / 2);
    let places = (0..slots).map(|slot| {
        let at = PAGE_BYTES - 2 * (slot + 1);
        usize::from(u16::from_le_bytes([page[at], page[at + 1]]))
    });
    let first = places.filter(|place| *place >= HEADER_BYTES).min();
    match page[2] & IS_COMPRESSED != 0 {
        true => first.unwrap_or(HEADER_BYTES),
        false => HEADER_BYTES,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// `row` with every piece replaced; `None` if a piece is not what the row has.
fn replaced(row: &[u8], pieces: &[Piece<'_>], direction: Direction) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(row.len());
    let mut done = 0;
    // How far a piece lies behind its place before the change, because of the pieces before it.
    let mut shift = 0isize;
    for piece in pieces {
        let (old, new) = match direction {
            Direction::Forward => (piece.before, piece.after),
            Direction::Backward => (piece.after, piece.before),
        };
        let start = match direction {
            Direction::Forward => piece.offset,
            Direction::Backward => piece.offset.checked_add_signed(shift)?,
        };
        shift += piece.after.len() as isize - piece.before.len() as isize;
        let end = start + old.len();
        (row.get(start..end)? == old).then_some(())?;
        out.extend_from_slice(row.get(done..start)?);
        out.extend_from_slice(new);
        done = end;
    }
    out.extend_from_slice(row.get(done..)?);
    Some(out)
}

/// Whether `held`, which can have bytes behind its end, is `row` apart from the bits that say what kind of record it is.
fn same_but_kind(held: &[u8], row: &[u8]) -> bool {
    match (held.split_first(), row.split_first()) {
        (Some((held_first, held)), Some((row_first, row))) => {
            (held_first ^ row_first) & !KIND_BITS == 0 && held.starts_with(row)
        }
        _ => row.is_empty(),
    }
}

/// `row` marked as a ghost.
fn ghost_of(row: &[u8]) -> Vec<u8> {
    let mut ghost = row.to_vec();
    if let Some(first) = ghost.first_mut() {
        let kind = if *first & KIND_BITS == INDEX {
            GHOST_INDEX
        } else {
            GHOST_DATA
        };
        *first = *first & !KIND_BITS | kind;
    }
    ghost
}

/// The rows before and after each modification of one page, as far as replay reaches them. `changes` are all records of the page by ascending
/// LSN; `page` is the page in the data file.
pub fn whole_rows(changes: &[PageChange<'_>], page: Option<&Page>) -> Vec<Both> {
    let mut found = vec![Both::default(); changes.len()];
    forward(changes, 0, None, &mut found);
    let Some(page) = page else { return found };
    let known = changes.partition_point(|change| change.lsn <= page.lsn());
    let follows = known == 0 || changes[known - 1].lsn == page.lsn();
    if follows {
        backward(&changes[..known], PageState::of(page), &mut found);
        forward(changes, known, Some((PageState::of(page), page.lsn())), &mut found);
    }
    found
}

/// Applies the records from `first` on to `state`, which the page had at an LSN, and begins anew with every LOP_FORMAT_PAGE.
fn forward(changes: &[PageChange<'_>], first: usize, state: Option<(PageState, Lsn)>, found: &mut [Both]) {
    let mut state = state;
    for (change, found) in changes.iter().zip(found).skip(first) {
        if change.change == Change::Format {
            state = Some((PageState::default(), change.lsn));
            continue;
        }
        state = state
            .filter(|(_, lsn)| *lsn == change.page_lsn_before)
            .and_then(|(mut page, _)| {
                let both = page.apply(change)?;
                if both.before.is_some() {
                    *found = both;
                }
                Some((page, change.lsn))
            });
    }
}

/// Undoes `changes` from the last on, which made `state`.
fn backward(changes: &[PageChange<'_>], mut state: PageState, found: &mut [Both]) {
    for at in (0..changes.len()).rev() {
        let change = &changes[at];
        let Some(both) = state.undo(change) else { return };
        if both.before.is_some() {
            found[at] = both;
        }
        let precedes = at > 0 && changes[at - 1].lsn == change.page_lsn_before;
        if !precedes {
            return;
        }
    }
}

/// The page after the last of `changes`, replayed from the last LOP_FORMAT_PAGE on; `None` if there is none, or the chain breaks.
pub fn rebuilt(changes: &[PageChange<'_>]) -> Option<PageState> {
    let first = changes.iter().rposition(|change| change.change == Change::Format)?;
    let mut state = PageState::default();
    let mut lsn = changes[first].lsn;
    for change in &changes[first + 1..] {
        (change.page_lsn_before == lsn).then_some(())?;
        state.apply(change)?;
        lsn = change.lsn;
    }
    Some(state)
}
