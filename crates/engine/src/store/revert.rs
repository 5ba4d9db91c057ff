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
//! | the page was formatted or filled | the walk ends here: the page was none of this heap or tree, or was empty |
//! | record without links | ACCELERATED_DATABASE_RECOVERY was off meanwhile: the transactions' own chains are read instead, from end to end |
//!
//! Undo works as in [`super::undo`], but for one page whose latch is held.

use super::change::{Author, Planned, UndoStep, foreign, log_and_apply, read};
use super::row::parse_tree_row;
use super::space::SpaceMap;
use super::tree::{child_for, inverse_on_leaf};
use super::undo::compensation;
use crate::buffer::{DatabaseStorage, PageWrite};
use crate::error::{Error, Result};
use crate::log::{OwnedRecord, RecordKind};
use crate::marked::Marked;
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
            self.meet(page, &record)?;
        }
        Ok(true)
    }

    /// The same without links.
    fn along_chains(&mut self, page: &mut PageWrite<'_>) -> Result<()> {
        for marked in self.concerned {
            let mut next = marked.chain().last;
            while next != Lsn::ZERO {
                let record = self.storage.log.read_record(next)?;
                self.meet(page, &record)?;
                next = record.before_in_chain();
            }
        }
        Ok(())
    }

    fn meet(&mut self, page: &mut PageWrite<'_>, record: &OwnedRecord) -> Result<()> {
        let is_writer = |marked: &&Arc<Marked>| marked.id() == record.header.transaction;
        let Some(marked) = self.concerned.iter().find(is_writer) else {
            return Ok(());
        };
        match record.header.kind {
            RecordKind::Compensation => {
                self.undone.insert(record.links().undone());
                Ok(())
            }
            RecordKind::Change if !self.undone.remove(&record.lsn) => self.take_back(page, marked, record),
            _ => Ok(()),
        }
    }

    fn take_back(&self, page: &mut PageWrite<'_>, marked: &Marked, record: &OwnedRecord) -> Result<()> {
        let damage = |found: Damage| self.damage(record.lsn, found);
        let change = Change::decode(&record.payload).map_err(damage)?;
        if !change.undo.is_of_row() || change.object != page.view().object() {
            return Ok(());
        }
        let (id, operation) = match change.entries().next() {
            Some(entry) => entry.map_err(damage)?,
            None => return Err(damage(Damage("a change without pages"))),
        };
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
        let step = UndoStep {
            change: record.lsn,
            has_links: true,
            next: None,
        };
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

    fn damage(&self, place: Lsn, found: Damage) -> Error {
        Error::log_damaged(&self.storage.name, &format!("record {place}: {}", found.0))
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

/// Makes sure that the change of a record of a marked transaction is taken back, wherever its row is.
///
/// # Errors
/// Those of [`revert`].
pub fn visit(storage: &DatabaseStorage, space: &SpaceMap, marked: &Marked, record: &OwnedRecord) -> Result<()> {
    let damage = |found: Damage| Error::log_damaged(&storage.name, &format!("record {}: {}", record.lsn, found.0));
    let change = Change::decode(&record.payload).map_err(damage)?;
    let entry = change.entries().next().transpose().map_err(damage)?;
    let Some((mut id, _)) = entry.filter(|_| change.undo.is_of_row()) else {
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
        _ => id = visit_leaf(storage, &change, id)?,
    }
    if !matches!(change.undo, UndoKind::TreeDelete | UndoKind::TreeUpdate) {
        space.note_reclaimable(storage, change.object, id);
    }
    Ok(())
}

/// Fixes the pages of a tree where the key of a change may be, which takes back what is to be taken back on them: the page of the record, what lies
/// below it if it was the root of a tree of one leaf, and those on the right to which rows were moved. Each is fixed before the one that leads to it is
/// let go. Answers the last one.
fn visit_leaf(storage: &DatabaseStorage, change: &Change<'_>, id: PageId) -> Result<PageId> {
    let mut page = read(storage, id)?;
    loop {
        let view = page.view();
        if view.object() != change.object {
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

/// Whether a page that was not visited has been given back since: its heap or tree was dropped.
fn is_given_back(storage: &DatabaseStorage, space: &SpaceMap, marked: &Marked, id: PageId) -> bool {
    storage.files.page_count(id.file) <= id.page || !marked.has_visited(id) && !space.is_in_use(id)
}
