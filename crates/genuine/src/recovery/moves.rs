//! Where the row of a slot is after later records of its page: rows that are inserted or taken away before it shift it.

use crate::log::record::{Change, PageChange};
use vlf::Lsn;

/// What a record did to the slots behind its own.
#[derive(Clone, Copy, Debug)]
enum Shift {
    Inserted(usize),
    Removed,
    /// The rows from the slot on have gone to another page, or all of them.
    Cut,
}

/// Behind every record.
const NEWEST: Lsn = Lsn::new(u32::MAX, u32::MAX, u16::MAX);

/// The shifts of one page, in the order in which they came about.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves(Vec<(Lsn, usize, Shift)>);

impl Moves {
    /// Notes what `change` shifts.
    pub fn note(&mut self, change: &PageChange<'_>) {
        self.add(change, usize::from(change.slot), false);
    }

    /// Notes what taking `change` back shifts, whose row is in `slot`. It is the newest of all.
    pub fn note_undone(&mut self, change: &PageChange<'_>, slot: usize) {
        self.add(change, slot, true);
    }

    fn add(&mut self, change: &PageChange<'_>, slot: usize, is_undone: bool) {
        let rows = match &change.change {
            Change::Insert {
                rows,
                over_ghost: false,
            } => rows.len(),
            Change::Delete { is_ghost: false, .. } | Change::Expunge => 1,
            Change::Split => 0,
            _ => return,
        };
        // The list is in the order of time: what is undone comes behind the whole log.
        let lsn = if is_undone { NEWEST } else { change.lsn };
        let inserts = matches!(change.change, Change::Insert { .. }) != is_undone;
        match inserts {
            _ if change.change == Change::Split => self.0.push((lsn, slot, Shift::Cut)),
            _ if change.keeps_slots() => {}
            true => self.0.push((lsn, slot, Shift::Inserted(rows))),
            false => self.0.extend((0..rows).map(|_| (lsn, slot, Shift::Removed))),
        }
    }

    /// The page has nothing any more.
    pub fn clear(&mut self, lsn: Lsn) {
        self.0.push((lsn, 0, Shift::Cut));
    }

    /// Where the row is that the record at `lsn` had in `slot`, or `None` if it left the page.
    ///
    /// `is_gone`: that record took the row away, so its place is wanted and no row that is in it.
    pub fn place(&self, lsn: Lsn, slot: usize, is_gone: bool) -> Option<usize> {
        let first = self.0.partition_point(|(noted, ..)| *noted <= lsn);
        let mut place = slot;
        for (_, at, shift) in &self.0[first..] {
            match shift {
                Shift::Inserted(rows) if *at <= place => place += rows,
                Shift::Removed if *at < place => place -= 1,
                Shift::Removed if *at == place && !is_gone => return None,
                Shift::Cut if *at <= place => return None,
                _ => {}
            }
        }
        Some(place)
    }
}
