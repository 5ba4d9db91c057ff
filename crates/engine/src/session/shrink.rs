//! Moves pages of a data file toward its start, or to other files, so that the file can be truncated (DBCC SHRINKFILE, SHRINKDATABASE).
//!
//! ```text
//! | used | free | used | used | free | used |       extents of the file
//!          ^--------------------------- last        its pages move to pages of their own object before it, or to a free extent
//! | used | used | used | used | free | free |
//! ```
//! It works from the last extent down. The method depends on the extent:
//!
//! | extent of | how its pages move | others meanwhile |
//! |---|---|---|
//! | a tree | page by page, with parent and neighbours (`store::tree::relocate`), in no transaction | work on, latches apart |
//! | a heap | rows are inserted elsewhere, deleted, and their index entries follow: a transaction a page | wait for the table (Sch-M) as long as one page takes |
//! | an object's first extent | list and root are copied, the catalog names the copy: a transaction | wait for the table as long as that takes |
//! | the catalog | its rows are written again: a transaction an object | wait for that object |
//! | large values | stay | work on |
//!
//! SQL Server moves page by page as well, and changes all nonclustered entries of a heap's rows that move (Paul Randal, "Why you should not
//! shrink your data files"). A lock that is not granted at once is requested again. An object that others use for longer stays where it is.
//! The work may stop at any time and start again: moved pages stay moved.

use super::{Session, Table};
use crate::cancel;
use crate::catalog::{CatalogObject, IndexDefinition, ObjectDefinition, StorageRoot, TableDefinition};
use crate::database::{Database, object_root};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource};
use crate::page::PageId;
use crate::store::{Begin, ExtentId, Goal, ObjectRoot, ReadMode, RowLocator, Vacating};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Times that an extent is tried which others use.
const ATTEMPTS_MAX: usize = 40;
/// Between two of them, in microseconds.
const ATTEMPT_MICROS: u64 = 25_000;
/// Pages with deleted rows that are looked at between two of them.
const PAGES_CLEANED: usize = 1_024;
/// Another session's lock was worth more than one of these.
const DEADLOCK: i32 = 1205;
/// The name of its transactions.
const TRANSACTION: &str = "DBCC SHRINKFILE";

/// Which pages of a data file are to move, and where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moving {
    /// What lies behind the first `pages` pages, towards the begin.
    Behind { pages: u32 },
    /// All, to other files.
    Out,
}

/// Why pages have stayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stayed {
    /// There is no free page for them.
    NoRoom,
    /// This one is in use, or is of a kind that does not move.
    InUse(PageId),
}

/// What extents belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Catalog(ObjectRoot),
    /// The heap of a table.
    Heap(u32, ObjectRoot),
    /// The tree of an index of a table.
    Tree(u32, ObjectRoot),
    LargeValues,
}

enum Outcome {
    Moved,
    Stayed(Stayed),
}

/// A heap or tree that its table does not have any more.
struct NotTheirs;

/// A table that cannot be dropped or truncated: Sch-S, by an owner of locks of its own.
struct KeptTable(LockOwner);

impl Drop for KeptTable {
    fn drop(&mut self) {
        self.0.release_all();
    }
}

impl Session {
    /// Moves pages of a data file; answers why some have stayed, if any have. The session is used by nobody else and has no transaction.
    ///
    /// # Errors
    /// 3617 when the request is to stop; 9002 when the log is full; 823 and 824 for pages. What has moved then stays moved.
    pub fn move_pages_of_file(
        &mut self,
        database: &Arc<Database>,
        file: u16,
        moving: Moving,
    ) -> Result<Option<Stayed>> {
        database.note_deletions()?;
        self.locks().set_timeout_ms(database.lock_wait_ms_of_moves());
        let first = match moving {
            Moving::Behind { pages } => pages.div_ceil(crate::store::EXTENT_PAGES),
            Moving::Out => 0,
        };
        let filegroup = database.storage.files.filegroup_of(file);
        let mut owners = self.owners(database, (file, first))?;
        let mut end = u32::MAX;
        while let Some(extent) = database
            .space
            .last_used_below(file, end)
            .filter(|&extent| extent >= first)
        {
            cancel::look()?;
            let extent = ExtentId { file, extent };
            let goal = match moving {
                Moving::Behind { .. } => Goal::Before(extent),
                Moving::Out => Goal::OutOf { file, filegroup },
            };
            if !owners.contains_key(&extent.extent) {
                owners = self.owners(database, (file, first))?;
            }
            if moving != Moving::Out {
                database.space.keep_end_free(file, extent.page(0).page);
            }
            let owner = owners.get(&extent.extent).copied();
            match self.vacate_patiently(database, owner, (extent, goal))? {
                Outcome::Moved => end = extent.extent,
                Outcome::Stayed(why) => return Ok(Some(why)),
            }
        }
        Ok(None)
    }

    /// What owns the extents of a file from `first` on.
    fn owners(&self, database: &Arc<Database>, from: (u16, u32)) -> Result<HashMap<u32, Owner>> {
        let (storage, space) = (&database.storage, &database.space);
        let mut owners = HashMap::new();
        let mut enter = |root: ObjectRoot, owner: Owner| -> Result<()> {
            let rows = space.owners_from(storage, &[root], from)?;
            owners.extend(rows.into_keys().map(|extent| (extent, owner)));
            let all = space.with_units_beside(storage, &[root])?;
            let beside = space.owners_from(storage, all.get(1..).unwrap_or_default(), from)?;
            owners.extend(beside.into_keys().map(|extent| (extent, Owner::LargeValues)));
            Ok(())
        };
        let catalog = database.catalog_root();
        enter(catalog, Owner::Catalog(catalog))?;
        for object in database.catalog.objects(self.id) {
            let Some(table) = object.definition.table() else {
                continue;
            };
            let table_id = table.object_id;
            // Dropped meanwhile, its lists may be anything.
            let resource = Resource::Object(database.id, table_id);
            if self.locks().lock(resource, Mode::SchS).is_err() {
                continue;
            }
            let entered = match database.catalog.is_current(&object, self.id) {
                true => enter_table(table, &mut enter),
                false => Ok(()),
            };
            self.locks().unlock(resource);
            entered?;
        }
        Ok(owners)
    }

    /// Empties an extent, again as long as others use it.
    fn vacate_patiently(
        &mut self,
        database: &Arc<Database>,
        owner: Option<Owner>,
        (extent, goal): (ExtentId, Goal),
    ) -> Result<Outcome> {
        let mut attempts = 0;
        loop {
            let outcome = self.vacate(database, owner, (extent, goal));
            let in_use = Stayed::InUse(extent.page(0));
            let outcome = match outcome {
                Err(error) if is_in_the_way(&error) => {
                    self.roll_back()?;
                    Outcome::Stayed(in_use)
                }
                Err(error) => {
                    self.roll_back()?;
                    return Err(error);
                }
                Ok(outcome) => outcome,
            };
            attempts += 1;
            let may_change = matches!(outcome, Outcome::Stayed(Stayed::InUse(_))) && owner != Some(Owner::LargeValues);
            if !may_change || attempts == ATTEMPTS_MAX {
                return Ok(outcome);
            }
            cancel::look()?;
            // Pages that deleted rows have left, or that a crash has left free, are free when they were looked at.
            database.clean_ghosts(PAGES_CLEANED)?;
            let clock = &database.storage.env.clock;
            clock.pass(ATTEMPT_MICROS, Duration::from_micros(ATTEMPT_MICROS));
        }
    }

    fn vacate(
        &mut self,
        database: &Arc<Database>,
        owner: Option<Owner>,
        (extent, goal): (ExtentId, Goal),
    ) -> Result<Outcome> {
        if !database.space.is_in_use(extent.page(0)) {
            return Ok(Outcome::Moved);
        }
        let root = match owner {
            Some(Owner::Catalog(root) | Owner::Heap(_, root) | Owner::Tree(_, root)) => root,
            None | Some(Owner::LargeValues) => return Ok(Outcome::Stayed(Stayed::InUse(extent.page(0)))),
        };
        let Ok(kept) = self.keep_owner(database, owner)? else {
            return Ok(Outcome::Moved);
        };
        let Some(vacating) = database.space.begin_vacating(&database.storage, root, extent)? else {
            return Ok(Outcome::Moved);
        };
        let (stayed, kept) = match owner {
            Some(Owner::Tree(..)) => (self.move_tree_pages(database, &vacating, goal)?, Ok(kept)),
            Some(Owner::Heap(table, _)) => {
                drop(kept);
                let stayed = self.move_heap_pages(database, (table, root), &vacating, goal)?;
                (stayed, self.keep_owner(database, owner)?)
            }
            _ => (self.move_catalog_pages(database, root, &vacating)?, Ok(kept)),
        };
        let Ok(kept) = kept else { return Ok(Outcome::Moved) };
        if let Some(stayed) = stayed {
            return Ok(Outcome::Stayed(stayed));
        }
        let begins_with = vacating.begin();
        let is_gone = match (begins_with, owner) {
            (Begin::Rows, _) => vacating.give_back(&database.storage, &database.space)?,
            (Begin::List, _) => {
                self.begin_named(TRANSACTION);
                let is_gone = self.write(database, |ctx| vacating.move_list(ctx, goal))?;
                self.commit()?;
                is_gone
            }
            (Begin::FirstList, Some(Owner::Heap(table, _) | Owner::Tree(table, _))) => {
                drop(kept);
                return self.move_first_extent(database, (table, root), &vacating, goal);
            }
            (Begin::FirstList, _) => false,
        };
        Ok(match (is_gone, begins_with) {
            (true, _) => Outcome::Moved,
            (false, Begin::List) => Outcome::Stayed(Stayed::NoRoom),
            (false, _) => Outcome::Stayed(Stayed::InUse(extent.page(0))),
        })
    }

    /// Keeps the table that owns an extent from being dropped or truncated until the answer is dropped; nothing is to be kept of the catalog.
    /// The inner error says that the heap or tree is the table's no more.
    fn keep_owner(
        &self,
        database: &Arc<Database>,
        owner: Option<Owner>,
    ) -> Result<std::result::Result<Option<KeptTable>, NotTheirs>> {
        let Some(Owner::Heap(table, root) | Owner::Tree(table, root)) = owner else {
            return Ok(Ok(None));
        };
        let kept = KeptTable(database.internal_locks().another());
        if !kept.0.try_lock(Resource::Object(database.id, table), Mode::SchS) {
            return Err(Error::lock_timeout());
        }
        let object = database.catalog.by_id(table, self.id);
        let is_theirs = object.is_some_and(|object| with_root(&object, root, root).is_some());
        Ok(match is_theirs {
            true => Ok(Some(kept)),
            false => Err(NotTheirs),
        })
    }

    /// Moves the pages of a tree that lie in an extent, but for the root.
    fn move_tree_pages(&mut self, database: &Arc<Database>, vacating: &Vacating, goal: Goal) -> Result<Option<Stayed>> {
        let root = vacating.root_page();
        let pages = vacating.pages_in_use();
        let pages: Vec<PageId> = pages.into_iter().filter(|page| Some(*page) != root).collect();
        if pages.is_empty() {
            return Ok(None);
        }
        self.begin_named(TRANSACTION);
        let taken = self.write(database, |ctx| {
            let taken = pages.iter().map_while(|_| vacating.take_page(ctx, goal).transpose());
            taken.collect::<Result<Vec<PageId>>>()
        })?;
        self.commit()?;
        let mut stayed = (taken.len() < pages.len()).then_some(Stayed::NoRoom);
        for (from, to) in pages.into_iter().zip(taken) {
            // Each move is a change of the neighbours.
            database.transactions.publish(&database.storage);
            if !vacating.move_tree_page(&database.storage, &database.space, from, to)? {
                stayed = Some(Stayed::InUse(from));
            }
        }
        Ok(stayed)
    }

    /// Moves the rows of a heap that lie in an extent, and those that have only a part of them there.
    fn move_heap_pages(
        &mut self,
        database: &Arc<Database>,
        (table, root): (u32, ObjectRoot),
        vacating: &Vacating,
        goal: Goal,
    ) -> Result<Option<Stayed>> {
        let mut target = None;
        for page in vacating.pages_in_use() {
            cancel::look()?;
            self.begin_named(TRANSACTION);
            let resource = Resource::Object(database.id, table);
            self.locks().lock(resource, Mode::SchM)?;
            let object = database.catalog.by_id(table, self.id);
            let Some(object) = object.filter(|object| with_root(object, root, root).is_some()) else {
                self.roll_back()?;
                return Ok(None);
            };
            let opened = Table::open(database, &object)?;
            let Some(own) = opened.with_rows_at(root) else {
                self.roll_back()?;
                return Ok(None);
            };
            let has_room = self.move_rows_of_page(database, own, (vacating, page), (goal, &mut target))?;
            if !has_room {
                self.roll_back()?;
                return Ok(Some(Stayed::NoRoom));
            }
            self.commit()?;
            vacating.leave_page(page);
            database.transactions.publish(&database.storage);
            database.space.clean_page(&database.storage, root, page)?;
        }
        Ok(vacating.pages_in_use().first().copied().map(Stayed::InUse))
    }

    /// Moves the rows of one page; false when there is no room for them.
    fn move_rows_of_page(
        &mut self,
        database: &Arc<Database>,
        table: &Table,
        (vacating, page): (&Vacating, PageId),
        (goal, target): (Goal, &mut Option<PageId>),
    ) -> Result<bool> {
        let Some(heap) = table.heap() else { return Ok(true) };
        let locks = self.locks().clone();
        let mut row = Vec::new();
        for rid in heap.rows_on(&database.storage, page)? {
            row.clear();
            if !heap.fetch(&database.storage, &locks, ReadMode::Uncommitted, rid, &mut row)? {
                continue;
            }
            let has_room = self.write(database, |ctx| {
                heap.delete(ctx, rid)?;
                loop {
                    let on_target = match *target {
                        Some(target) => heap.insert_on(ctx, target, &row)?,
                        None => None,
                    };
                    if let Some(moved) = on_target {
                        let (former, now) = (RowLocator::Rid(rid), RowLocator::Rid(moved));
                        return table.follow_row(ctx, &row, &former, &now).map(|()| true);
                    }
                    *target = vacating.take_heap_page(ctx, goal)?;
                    if target.is_none() {
                        return Ok(false);
                    }
                }
            })?;
            if !has_room {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the definitions again that have rows in an extent of the catalog.
    fn move_catalog_pages(
        &mut self,
        database: &Arc<Database>,
        root: ObjectRoot,
        vacating: &Vacating,
    ) -> Result<Option<Stayed>> {
        let pages = vacating.pages_in_use();
        for object in database.catalog.objects(self.id) {
            if !object.has_rows_on(&pages) {
                continue;
            }
            cancel::look()?;
            self.begin_named(TRANSACTION);
            if let Some(statistics) = object.statistics() {
                self.lock_statistics(database, statistics.table)?;
                self.lock_catalog(database)?;
            } else {
                self.lock_definition(database, &object)?;
            }
            self.replace_definition(database, &object, object.definition.clone())?;
            self.commit()?;
        }
        database.transactions.publish(&database.storage);
        for page in pages {
            database.space.clean_page(&database.storage, root, page)?;
        }
        Ok(vacating.pages_in_use().first().copied().map(Stayed::InUse))
    }

    fn replace_definition(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: ObjectDefinition,
    ) -> Result<()> {
        let (session, owner) = (self.id, database.clone());
        let replaced = self.write(database, |ctx| owner.catalog.replace(ctx, session, object, definition));
        replaced.map(drop)
    }

    /// Moves the list and the root of a heap or tree, whose first extent holds nothing else any more.
    fn move_first_extent(
        &mut self,
        database: &Arc<Database>,
        (table, root): (u32, ObjectRoot),
        vacating: &Vacating,
        goal: Goal,
    ) -> Result<Outcome> {
        let in_use = Outcome::Stayed(Stayed::InUse(root.first_iam));
        self.begin_named(TRANSACTION);
        let object = database.catalog.by_id(table, self.id);
        let Some(object) = object else {
            self.roll_back()?;
            return Ok(in_use);
        };
        self.lock_definition(database, &object)?;
        let copied = self.write(database, |ctx| vacating.move_first_extent(ctx, goal))?;
        let Some(copy) = copied else {
            self.roll_back()?;
            return Ok(Outcome::Stayed(Stayed::NoRoom));
        };
        let named = match with_root(&object, root, copy.root()) {
            Some(definition) => self
                .replace_definition(database, &object, definition)
                .and_then(|()| self.commit()),
            None => Err(Error::definition_changed("")),
        };
        if named.is_err() {
            self.roll_back()?;
        }
        copy.settle(&database.storage, &database.space, named.is_ok())?;
        named.map(|()| Outcome::Moved)
    }
}

/// Hands every heap and tree of a table to `enter`.
fn enter_table(table: &TableDefinition, enter: &mut impl FnMut(ObjectRoot, Owner) -> Result<()>) -> Result<()> {
    let id = table.object_id;
    for heap in table.heap.iter().chain(&table.other_partitions) {
        let root = object_root(heap);
        enter(root, Owner::Heap(id, root))?;
    }
    for tree in table.indexes.iter().flat_map(IndexDefinition::storage_roots) {
        let root = object_root(&tree);
        enter(root, Owner::Tree(id, root))?;
    }
    Ok(())
}

/// A table's definition with another root of one of its heaps and trees; `None` when it does not have that one.
fn with_root(object: &CatalogObject, former: ObjectRoot, now: ObjectRoot) -> Option<ObjectDefinition> {
    let mut table = object.definition.table()?.clone();
    let roots = table
        .heap
        .iter_mut()
        .chain(&mut table.other_partitions)
        .chain(table.indexes.iter_mut().flat_map(IndexDefinition::storage_roots_mut));
    let root = roots
        .into_iter()
        .find(|root: &&mut StorageRoot| object_root(root) == former)?;
    root.first_iam = (now.first_iam.file, now.first_iam.page);
    Some(object.definition.with_table(table))
}

/// Whether an error says that others use what was wanted.
fn is_in_the_way(error: &Error) -> bool {
    [Error::lock_timeout().number, Error::DEFINITION_CHANGED, DEADLOCK].contains(&error.number)
}
