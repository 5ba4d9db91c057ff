//! Taking back what marked transactions have changed on one page. [`crate::marked`] says when.
//!
//! The walk goes back along the page's links, newest change first, until it is behind the first record of every transaction concerned:
//!
//! | record on the way | what happens |
//! |---|---|
//! | compensation of one of these transactions | the change that it names is undone already |
//! | change of a row of this page, of one of these transactions, not undone | it is undone now |
//! | change of a row that is not, or no longer, on this page | nothing: the row was moved to a page on the right, and is undone there |
//! | the page becomes an image: it was split off, or lost rows to another | the walk goes on along all pages of which the record makes images: the rows were on one of them |
//! | the page was filled by one of these transactions, not undone | it is emptied; so is one that was split off it |
//! | the page was formatted or filled | the walk ends here: the page was none of this heap or tree, or was empty |
//! | record without links | the transactions' own chains are read instead, from end to end |
//!
//! A transaction has its table for itself while it fills pages, so a filled page and those that are split off it before the rollback have rows of this
//! transaction alone.
//!
//! Undo works as in [`super::undo()`], but for one page whose latch is held.

use super::change::{Author, Planned, Subject, UndoStep, UndoneBy, foreign, live_rows, log_and_apply, read};
use super::large;
use super::row::parse_tree_row;
use super::space::SpaceMap;
use super::tree::{child_for, inverse_on_leaf};
use super::undo::compensation;
use crate::buffer::{DatabaseStorage, PageWrite};
use crate::error::{Error, Result};
use crate::log::{OwnedRecord, RecordKind};
use crate::marked::{Marked, Place};
use crate::page::{Change, Damage, PageId, PageKind, PageOperation, UndoKind};
use std::collections::HashSet;
use std::sync::Arc;
use vlf::Lsn;

/// Takes everything back that marked transactions have changed on a page.
///
/// # Errors
/// 824 when page and log contradict each other, 9004 for records that cannot be read, 9001; never 9002. What was taken back until then stays so.
pub(super) fn revert(storage: &DatabaseStorage, page: &mut PageWrite<'_>) -> Result<()> {
    let concerned = storage.marked.of(page.id(), page.view());
    let mut reverting = Reverting {
        storage,
        concerned: &concerned,
        undone: HashSet::new(),
    };
    let reverted = reverting.along_links(page).and_then(|is_done| match is_done {
        true => Ok(()),
        false => reverting.along_chains(page),
    });
    // Those that have ended meanwhile had nothing left on this page, and the log that the walk needs may be gone with them.
    if reverted.is_err() && storage.marked.of(page.id(), page.view()).is_empty() {
        return Ok(());
    }
    reverted?;
    concerned.iter().for_each(|marked| marked.note_visited(page.id()));
    Ok(())
}

struct Reverting<'a> {
    storage: &'a DatabaseStorage,
    concerned: &'a [Arc<Marked>],
    /// Changes that compensations name.
    undone: HashSet<Lsn>,
}

impl Reverting<'_> {
    /// False when a record has no links.
    fn along_links(&mut self, page: &mut PageWrite<'_>) -> Result<bool> {
        let since = self.concerned.iter().map(|marked| marked.first()).min();
        let mut walk = Walk::new(page.id(), page.last_change(), since.unwrap_or(Lsn::MAX));
        let mut pages = Vec::new();
        while let Some(place) = walk.next(&mut pages) {
            let record = self.storage.log.read_record(place)?;
            if !walk
                .follow(&record, &pages)
                .map_err(|found| self.damage(place, found))?
            {
                return Ok(false);
            }
            self.meet(page, &record, &pages)?;
        }
        Ok(true)
    }

    /// The same without links.
    fn along_chains(&mut self, page: &mut PageWrite<'_>) -> Result<()> {
        for marked in self.concerned {
            let mut next = marked.chain().last;
            while next != Lsn::ZERO {
                let record = self.storage.log.read_record(next)?;
                self.meet(page, &record, &[page.id()])?;
                next = record.before_in_chain();
            }
        }
        Ok(())
    }

    /// The rows of `page` were on `pages` when the record was written.
    fn meet(&mut self, page: &mut PageWrite<'_>, record: &OwnedRecord, pages: &[PageId]) -> Result<()> {
        let is_writer = |marked: &&Arc<Marked>| marked.id() == record.header.transaction;
        let Some(marked) = self.concerned.iter().find(is_writer) else {
            return Ok(());
        };
        match record.header.kind {
            RecordKind::Compensation => {
                self.undone.insert(record.links().undone());
                Ok(())
            }
            RecordKind::Change if !self.undone.remove(&record.lsn) => self.take_back(page, marked, record, pages),
            _ => Ok(()),
        }
    }

    fn take_back(
        &self,
        page: &mut PageWrite<'_>,
        marked: &Marked,
        record: &OwnedRecord,
        pages: &[PageId],
    ) -> Result<()> {
        let damage = |found: Damage| self.damage(record.lsn, found);
        let change = Change::decode(&record.payload).map_err(damage)?;
        if UndoneBy::of(change.object, change.undo) != UndoneBy::Page || change.object != page.view().object() {
            return Ok(());
        }
        let (id, operation) = match change.entries().next() {
            Some(entry) => entry.map_err(damage)?,
            None => return Err(damage(Damage("a change without pages"))),
        };
        match change.undo {
            UndoKind::None => return Ok(()),
            UndoKind::Fill if pages.contains(&id) => return self.empty(page, marked, record, id),
            UndoKind::Fill => return Ok(()),
            _ => {}
        }
        let inverse = match page.view().kind() {
            Some(PageKind::Heap) if id == page.id() => operation.inverse(),
            Some(PageKind::Heap) => return Ok(()),
            Some(PageKind::TreeLeaf) => match inverse_on_leaf(self.storage, page, change.key, &operation)? {
                Some(inverse) => inverse,
                None => return Ok(()),
            },
            _ => {
                return Err(foreign(
                    self.storage,
                    id,
                    page.view(),
                    change.object,
                    "a page with rows",
                ));
            }
        };
        let operation = inverse.ok_or_else(|| damage(Damage("a row's change without its way back")))?;
        let step = step_of(record);
        let mut chain = marked.chain();
        let mut planned = [Planned { page, operation }];
        log_and_apply(
            self.storage,
            Author::Rollback(&mut chain, step),
            compensation(&change),
            &mut planned,
        )
        .map(|_| ())
    }

    /// Empties a page that was filled, or was split off the one that was: for such a one no log space was set aside.
    fn empty(&self, page: &mut PageWrite<'_>, marked: &Marked, record: &OwnedRecord, filled: PageId) -> Result<()> {
        let view = page.view();
        let operation = PageOperation::Format {
            kind: view.kind().unwrap_or(PageKind::Heap),
            level: 0,
            object: view.object(),
            next: view.next(),
            previous: view.previous(),
        };
        let (id, subject, rows) = (page.id(), Subject::structure(view.object()), live_rows(view));
        let mut planned = [Planned { page, operation }];
        if id != filled {
            log_and_apply(self.storage, Author::BesideRollback, subject, &mut planned)?;
            self.storage.row_counts.add(subject.object, -rows);
            return Ok(());
        }
        let author = Author::Rollback(&mut marked.chain(), step_of(record));
        log_and_apply(self.storage, author, subject, &mut planned)?;
        marked.note_emptied(id);
        Ok(())
    }

    fn damage(&self, place: Lsn, found: Damage) -> Error {
        Error::log_damaged(&self.storage.name, &format!("record {place}: {}", found.0))
    }
}

/// The undo of a change of a marked transaction.
fn step_of(record: &OwnedRecord) -> UndoStep {
    UndoStep {
        change: record.lsn,
        has_links: true,
        next: None,
    }
}

/// Remembers what a compensation behind the mark has taken back: a page that was filled is empty, or so many changes of large values are undone.
pub fn note_taken_back(marked: &Marked, place: &mut Place, compensation: &OwnedRecord) {
    let Ok(change) = Change::decode(&compensation.payload) else {
        return;
    };
    match change.entries().next() {
        Some(Ok((page, PageOperation::Format { .. }))) => marked.note_emptied(page),
        Some(Ok((_, PageOperation::SetBytes { .. }))) => {
            place.large_values_from = place.large_values_from.min(compensation.links().undone());
        }
        _ => {}
    }
}

/// Records to be looked at, newest first, each with the pages for whose sake. Mostly there is one.
struct Walk {
    places: Vec<(Lsn, PageId)>,
    since: Lsn,
}

impl Walk {
    fn new(page: PageId, last_change: Lsn, since: Lsn) -> Walk {
        let mut walk = Walk {
            places: Vec::new(),
            since,
        };
        walk.add(page, last_change);
        walk
    }

    fn add(&mut self, page: PageId, place: Lsn) {
        if place >= self.since && !self.places.contains(&(place, page)) {
            self.places.push((place, page));
        }
    }

    /// The newest record, and its pages; they are no longer among the places.
    fn next(&mut self, pages: &mut Vec<PageId>) -> Option<Lsn> {
        let newest = self.places.iter().map(|(place, _)| *place).max()?;
        pages.clear();
        self.places.retain(|(place, page)| {
            if *place == newest {
                pages.push(*page);
            }
            *place != newest
        });
        Some(newest)
    }

    /// Goes on behind a record that changed these pages. False when it has no links.
    fn follow(&mut self, record: &OwnedRecord, pages: &[PageId]) -> std::result::Result<bool, Damage> {
        let links = record.links();
        if links.is_empty() {
            return Ok(false);
        }
        let change = Change::decode(&record.payload)?;
        let mut becomes_image = false;
        for entry in change.entries() {
            let (page, operation) = entry?;
            becomes_image |= matches!(operation, PageOperation::Image { .. }) && pages.contains(&page);
        }
        for (index, entry) in change.entries().enumerate() {
            let (page, operation) = entry?;
            let is_followed = match operation {
                PageOperation::Format { .. } | PageOperation::Fill { .. } => false,
                PageOperation::Image { .. } => becomes_image,
                _ => pages.contains(&page),
            };
            if is_followed {
                self.add(page, links.before(index));
            }
        }
        Ok(true)
    }
}

/// Makes sure that the change of a record of a marked transaction is taken back, wherever its row is. Changes of large values from
/// `large_values_from` on are.
///
/// # Errors
/// Those of [`revert`].
pub fn visit(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    (marked, large_values_from): (&Marked, Lsn),
    record: &OwnedRecord,
) -> Result<()> {
    let damage = |found: Damage| Error::log_damaged(&storage.name, &format!("record {}: {}", record.lsn, found.0));
    let change = Change::decode(&record.payload).map_err(damage)?;
    match UndoneBy::of(change.object, change.undo) {
        UndoneBy::Page => {}
        UndoneBy::Background if record.lsn >= large_values_from => return Ok(()),
        UndoneBy::Background => return large::undo_marked(storage, space, (marked, step_of(record)), &change),
        // The rollback has done it, before it marked the transaction.
        UndoneBy::Rollback => return Ok(()),
    }
    let entry = change.entries().next().transpose().map_err(damage)?;
    let Some((mut id, _)) = entry.filter(|_| change.undo != UndoKind::None) else {
        return Ok(());
    };
    if is_given_back(storage, space, marked, id) {
        return Ok(());
    }
    match change.undo {
        UndoKind::HeapInsert | UndoKind::HeapDelete | UndoKind::HeapUpdate => {
            if !marked.has_visited(id) {
                drop(read(storage, id)?);
            }
        }
        UndoKind::Fill => visit_filled(storage, marked, (&change, id))?,
        _ => id = visit_leaf(storage, marked, &change, id)?,
    }
    if !matches!(change.undo, UndoKind::TreeDelete | UndoKind::TreeUpdate) {
        space.note_reclaimable(storage, change.object, id);
    }
    Ok(())
}

/// Fixes the pages of a tree where the key of a change may be, which takes back what is to be taken back on them: the page of the record, what lies
/// below it if it was the root of a tree of one leaf, and those on the right to which rows were moved. Each is fixed before the one that leads to it is
/// let go. Answers the last one.
///
/// On a page that was emptied it is gone, and what was split off that page is visited with the record by which it was filled.
fn visit_leaf(storage: &DatabaseStorage, marked: &Marked, change: &Change<'_>, id: PageId) -> Result<PageId> {
    let mut page = read(storage, id)?;
    loop {
        let view = page.view();
        if view.object() != change.object || marked.has_emptied(page.id()) {
            return Ok(page.id());
        }
        let next = match view.kind() {
            Some(PageKind::TreeBranch) => child_for(storage, view, page.id(), change.key)?,
            Some(PageKind::TreeLeaf) => {
                let last = view.slot_count().checked_sub(1);
                let last = last.and_then(|slot| view.row(slot)).and_then(parse_tree_row);
                if view.next().is_none() || last.is_some_and(|(key, _)| key >= change.key) {
                    return Ok(page.id());
                }
                view.next()
            }
            _ => return Ok(page.id()),
        };
        page = read(storage, next)?;
    }
}

/// Fixes a page that was filled, and of a tree those on its right up to the next page that was filled and emptied: what was split off lies there. Pages
/// are filled from left to right, so that one has been visited already; it stays in the tree until the transaction is over (`super::ghosts`).
fn visit_filled(storage: &DatabaseStorage, marked: &Marked, (change, id): (&Change<'_>, PageId)) -> Result<()> {
    let mut page = read(storage, id)?;
    while page.view().kind() == Some(PageKind::TreeLeaf) && page.view().object() == change.object {
        let next = page.view().next();
        if next.is_none() || marked.has_emptied(next) {
            break;
        }
        page = read(storage, next)?;
    }
    Ok(())
}

/// Whether a page that was not visited has been given back since: its heap or tree was dropped.
fn is_given_back(storage: &DatabaseStorage, space: &SpaceMap, marked: &Marked, id: PageId) -> bool {
    storage.files.page_count(id.file) <= id.page || !marked.has_visited(id) && !space.is_in_use(id)
}
