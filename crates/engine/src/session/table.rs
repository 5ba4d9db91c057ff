//! A session's access to a table: rows in a heap or a clustered tree, and the indexes on them.
//!
//! ```text
//! clustered tree:      key = key columns [+ uniquifier]       row = all columns
//! nonclustered index:  key = key columns [+ locator]          row = locator (heap: RID, clustered: its key) [+ carried columns]
//! ```
//! The key parts in brackets exist if the index is not unique. Keys are order-preserving bytes (see `types`). `index_scan` shows the other
//! parts of an entry.
//!
//! Invariant: a row and its entries in every index change in one transaction, the row first.

use super::Session;
use super::index_scan::{carried_layout, encode_carried};
use super::key_length::of_index;
use super::large::{Built, LargeColumns, Places, is_too_long, left_and_kept};
use super::table_scan::TableScan;
use crate::catalog::{CatalogObject, IndexDefinition, LockEscalation, TableDefinition};
use crate::database::{Database, Modifications, object_root};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource};
use crate::store::{
    BuiltRow, Heap, HeapFill, Placement, ReadMode, Rid, RowBatch, RowLocator, StoreContext, Tree, TreeBatch, TreeFill,
};
use crate::types::{EncodedRows, KeyDirection, RowLayout, Value, encode_stored_key_part, key_text};
pub use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A range of encoded keys.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A nonclustered index, open.
struct Nonclustered {
    /// Its place in the definition.
    place: usize,
    tree: Tree,
    /// Of the columns that its entries carry, if they do.
    carried: Option<RowLayout>,
    /// Whether a row's key may be too long for it.
    may_exceed: bool,
}

pub(super) enum Rows {
    Heap(Heap),
    Tree(Tree),
}

/// A table, open in its database.
pub struct Table {
    database: Arc<Database>,
    object: Arc<CatalogObject>,
    layout: RowLayout,
    rows: Rows,
    /// Set when rows may have columns outside of them.
    large: Option<LargeColumns>,
    /// The nonclustered indexes, in the order of their places in the definition.
    indexes: Vec<Nonclustered>,
    /// Whether a row's key may be too long for the clustered index.
    may_exceed: bool,
    modifications: Arc<Modifications>,
}

/// Tells apart rows with one key that one transaction inserts.
static UNIQUIFIER: AtomicU32 = AtomicU32::new(1);

impl Table {
    /// Opens a table.
    ///
    /// # Errors
    /// 208 when the object is not a table; 823 and 824 when its extent lists cannot be read; 8655 when an index is ordered as this
    /// version does not order.
    pub fn open(database: &Arc<Database>, object: &Arc<CatalogObject>) -> Result<Table> {
        let Some(definition) = object.definition.table() else {
            return Err(Error::invalid_object("(not a table)"));
        };
        let (storage, space, id) = (&database.storage, &database.space, definition.object_id);
        if let Some(index) = definition.index_of_unknown_order() {
            return Err(Error::index_is_disabled(&index.name, &definition.name));
        }
        let open_tree = |index: &IndexDefinition| Tree::open(storage, space, object_root(&index.storage), id);
        let rows = match (&definition.heap, definition.clustered()) {
            (_, Some(clustered)) => Rows::Tree(open_tree(clustered)?),
            (Some(heap), None) => Rows::Heap(Heap::open(storage, space, object_root(heap), id)?),
            // The rows of a view go when its clustered index is switched off.
            (None, None) => {
                return Err(match definition.disabled_indexes.first() {
                    Some(index) => Error::index_is_disabled(&index.name, &definition.name),
                    None => Error::assertion("a table has neither heap nor clustered index"),
                });
            }
        };
        let nonclustered = definition
            .indexes
            .iter()
            .enumerate()
            .filter(|(_, index)| index.index_id != 1);
        let indexes = nonclustered
            .map(|(place, index)| {
                Ok(Nonclustered {
                    place,
                    tree: open_tree(index)?,
                    carried: carried_layout(definition, index),
                    may_exceed: Table::may_exceed(definition, index),
                })
            })
            .collect::<Result<_>>()?;
        database.space.keep_reserve_for(definition.indexes.len() + 1);
        let escalates = definition.lock_escalation != LockEscalation::Disable;
        database.lock_manager().set_escalation(database.id, id, escalates);
        let root = match &rows {
            Rows::Heap(heap) => heap.root(),
            Rows::Tree(tree) => tree.root(),
        };
        let (layout, large) = LargeColumns::open(database, definition, root, definition.layout())?;
        let modifications = database.modifications(definition);
        let may_exceed = definition
            .clustered()
            .is_some_and(|index| Table::may_exceed(definition, index));
        Ok(Table {
            database: database.clone(),
            object: object.clone(),
            layout,
            rows,
            large,
            indexes,
            may_exceed,
            modifications,
        })
    }

    pub fn definition(&self) -> &TableDefinition {
        match self.object.definition.table() {
            Some(definition) => definition,
            None => unreachable!("open() takes what has rows"),
        }
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Whether the catalog still has the definition that it was opened by, as a session sees it ([`Catalog::is_current`]).
    ///
    /// [`Catalog::is_current`]: crate::catalog::Catalog::is_current
    pub fn is_current(&self, session: u16) -> bool {
        self.database.catalog.is_current(&self.object, session)
    }

    /// Whether rows may have columns outside of them, which are read apart.
    pub fn may_have_large_values(&self) -> bool {
        self.large.is_some()
    }

    pub(super) fn large(&self) -> Option<&LargeColumns> {
        self.large.as_ref()
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The tree of a nonclustered index, by its place in the definition.
    pub(super) fn nonclustered(&self, place: usize) -> Option<&Tree> {
        self.opened(place).map(|index| &index.tree)
    }

    fn opened(&self, place: usize) -> Option<&Nonclustered> {
        self.indexes.iter().find(|index| index.place == place)
    }

    fn defined(&self, opened: &Nonclustered) -> &IndexDefinition {
        &self.definition().indexes[opened.place]
    }

    /// How much of it was changed.
    pub fn modifications(&self) -> &Arc<Modifications> {
        &self.modifications
    }

    pub fn object(&self) -> &Arc<CatalogObject> {
        &self.object
    }

    /// How its rows are laid out.
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    pub fn lock(&self, locks: &LockOwner, mode: Mode) -> Result<()> {
        locks.lock(Resource::Object(self.database.id, self.definition().object_id), mode)
    }

    /// As [`Table::lock`], without waiting: false where others have it.
    pub fn try_lock(&self, locks: &LockOwner, mode: Mode) -> bool {
        locks.try_lock(Resource::Object(self.database.id, self.definition().object_id), mode)
    }

    /// Readers that wait for row locks also declare themselves on the table: a writer whose row locks have become one table
    /// lock is seen only there. All of them keep the database from being dropped.
    pub(super) fn declare_reader(&self, locks: &LockOwner, mode: ReadMode) -> Result<()> {
        locks.lock(Resource::Database(self.database.id), Mode::S)?;
        self.database.check_open()?;
        if self.large.is_some() {
            LargeColumns::declare_reader(&self.database, locks);
        }
        match mode {
            ReadMode::Committed | ReadMode::CommittedPast => self.lock(locks, Mode::IS),
            // Versions of what a crash has left to be undone there are none.
            ReadMode::Versioned(_) | ReadMode::LockedAt(..) if self.database.has_guarded_transactions() => {
                self.database.wait_for_recovery()
            }
            ReadMode::Versioned(_) | ReadMode::LockedAt(..) => Ok(()),
            ReadMode::Uncommitted | ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::Ranges(_) => Ok(()),
        }
    }

    /// Inserts a row; `placement` says whether a scan under way may meet it.
    ///
    /// # Errors
    /// 511, 2601, 2627, 1101, 1105, 9002 and those of waiting for locks.
    pub fn insert(&self, session: &mut Session, values: &[Value], placement: Placement) -> Result<()> {
        match self.insert_or_meet(session, values, placement)? {
            None => Ok(()),
            Some(index) => Err(self.duplicate(index, values)),
        }
    }

    /// Inserts a row unless an index that ignores duplicates has its key. False when the row is left out, and nothing of it is there.
    ///
    /// # Errors
    /// As for [`Table::insert`].
    pub fn insert_unless_ignored(&self, session: &mut Session, values: &[Value], placement: Placement) -> Result<bool> {
        let mark = session.mark();
        match self.insert_or_meet(session, values, placement)? {
            None => Ok(true),
            Some(index) if index.options.ignores_duplicates => session.roll_back_to(&mark).map(|()| false),
            Some(index) => Err(self.duplicate(index, values)),
        }
    }

    /// Whether INSERT leaves out rows whose keys are there already.
    pub fn ignores_duplicates(&self) -> bool {
        let mut indexes = self.definition().indexes.iter();
        indexes.any(|index| index.options.ignores_duplicates)
    }

    /// Inserts a row, and answers the index that has its key already. The row is written in part then.
    pub(super) fn insert_or_meet(
        &self,
        session: &mut Session,
        values: &[Value],
        placement: Placement,
    ) -> Result<Option<&IndexDefinition>> {
        self.check_rows_filegroup()?;
        let in_row = self.encoded_in_row(values)?;
        session.write(&self.database, |ctx| {
            let (locator, places) = match &self.rows {
                Rows::Heap(heap) => {
                    let built = self.built(ctx, in_row, values, 0)?;
                    (RowLocator::Rid(heap.insert(ctx, &built.row, placement)?), built.places)
                }
                Rows::Tree(tree) => match self.insert_clustered(ctx, tree, values, in_row)? {
                    Some(inserted) => inserted,
                    None => return self.clustered_index().map(Some),
                },
            };
            self.modifications.note_rows(1);
            for index in &self.indexes {
                if !self.index_insert_one(ctx, index, values, &locator, &places)? {
                    return Ok(Some(self.defined(index)));
                }
            }
            Ok(None)
        })
    }

    /// The row's place, if its key is not there already.
    fn insert_clustered(
        &self,
        ctx: &mut StoreContext<'_>,
        tree: &Tree,
        values: &[Value],
        in_row: Option<BuiltRow>,
    ) -> Result<Option<(RowLocator, Places)>> {
        let index = self.clustered_index()?;
        if self.may_exceed {
            self.check_key_length(index, values)?;
        }
        let key = self.key_of(index, values, &uniquifier(ctx))?;
        self.claim_key(ctx, tree, &key)?;
        let Built { row, places } = self.built(ctx, in_row, values, key.len())?;
        let is_inserted = tree.insert(ctx, &key, &row).map_err(|error| of_index(error, index))?;
        Ok(is_inserted.then(|| (RowLocator::Key(key.into()), places)))
    }

    /// Replaces a row. False when it is not there any more.
    ///
    /// # Errors
    /// As for [`Table::insert`].
    pub fn update(&self, session: &mut Session, locator: &RowLocator, old: &[Value], new: &[Value]) -> Result<bool> {
        session.write(&self.database, |ctx| {
            let is_there = self.leave(ctx, locator, old, new)?;
            if is_there {
                self.enter(ctx, locator, old, new)?;
            }
            Ok(is_there)
        })
    }

    /// The first half of [`Table::update`], for rows that may take keys from each other: the row gets its values if it keeps its place, and
    /// gives up the keys that it does not keep. Until [`Table::enter_keys`] it has none instead. False when it is not there any more.
    ///
    /// # Errors
    /// As for [`Table::insert`].
    pub fn leave_keys(
        &self,
        session: &mut Session,
        locator: &RowLocator,
        old: &[Value],
        new: &[Value],
    ) -> Result<bool> {
        session.write(&self.database, |ctx| self.leave(ctx, locator, old, new))
    }

    /// The second half of [`Table::update`]: the row enters its new place and takes its new keys.
    ///
    /// # Errors
    /// As for [`Table::insert`].
    pub fn enter_keys(&self, session: &mut Session, locator: &RowLocator, old: &[Value], new: &[Value]) -> Result<()> {
        session.write(&self.database, |ctx| self.enter(ctx, locator, old, new))
    }

    fn leave(&self, ctx: &mut StoreContext<'_>, locator: &RowLocator, old: &[Value], new: &[Value]) -> Result<bool> {
        self.check_rows_filegroup()?;
        let keeps_place = self.keeps_place(old, new);
        self.database.note_deletions()?;
        self.claim(ctx, locator)?;
        let places = self.places_of_row(ctx, locator)?;
        let (is_there, left) = match (&self.rows, locator) {
            (Rows::Heap(heap), RowLocator::Rid(rid)) => {
                let (left, kept) = left_and_kept(places, old, new);
                let built = self.built_keeping(ctx, new, 0, kept)?;
                (heap.update(ctx, *rid, &built.row)?, left)
            }
            (Rows::Tree(tree), RowLocator::Key(key)) if keeps_place => {
                let (left, kept) = left_and_kept(places, old, new);
                let built = self.built_keeping(ctx, new, key.len(), kept)?;
                (tree.update(ctx, key, &built.row)?, left)
            }
            (Rows::Tree(tree), RowLocator::Key(key)) => (tree.delete(ctx, key)?, places),
            _ => return Err(Error::assertion("a locator of another kind of table")),
        };
        if is_there {
            self.modifications.note_update(old, new);
            for index in self.indexes_left(keeps_place, old, new) {
                self.index_delete_one(ctx, index?, old, locator)?;
            }
            self.give_up(ctx, &left)?;
        }
        Ok(is_there)
    }

    fn enter(&self, ctx: &mut StoreContext<'_>, locator: &RowLocator, old: &[Value], new: &[Value]) -> Result<()> {
        let keeps_place = self.keeps_place(old, new);
        let moved = match &self.rows {
            Rows::Tree(tree) if !keeps_place => {
                let in_row = self.encoded_in_row(new)?;
                match self.insert_clustered(ctx, tree, new, in_row)? {
                    None => return Err(self.duplicate(self.clustered_index()?, new)),
                    inserted => inserted,
                }
            }
            _ => None,
        };
        let mut entered = self.indexes_left(keeps_place, old, new).peekable();
        let (locator, places) = match moved {
            Some((locator, places)) => (locator, places),
            None if entered.peek().is_none() => return Ok(()),
            None => (locator.clone(), self.places_of_row(ctx, locator)?),
        };
        entered.try_for_each(|index| self.enter_index(ctx, index?, new, &locator, &places))
    }

    /// Under SNAPSHOT: locks a row for its change, which must be the one that the snapshot sees.
    ///
    /// # Errors
    /// 3960 when it is not; those of waiting.
    pub(super) fn claim(&self, ctx: &StoreContext<'_>, locator: &RowLocator) -> Result<()> {
        let Some(snapshot) = ctx.versions.snapshot else {
            return Ok(());
        };
        let is_changed = match (&self.rows, locator) {
            (Rows::Heap(heap), RowLocator::Rid(rid)) => heap.lock_and_compare(ctx, snapshot, *rid)?,
            (Rows::Tree(tree), RowLocator::Key(key)) => tree.lock_and_compare(ctx, snapshot, key)?,
            _ => return Err(Error::assertion("a locator of another kind of table")),
        };
        match is_changed {
            true => Err(self.update_conflict()),
            false => Ok(()),
        }
    }

    /// The same for a key that is to be taken: one that was given up since is another's. Whose row is there now is a duplicate.
    fn claim_key(&self, ctx: &StoreContext<'_>, tree: &Tree, key: &[u8]) -> Result<()> {
        let Some(snapshot) = ctx.versions.snapshot else {
            return Ok(());
        };
        let is_changed = tree.lock_and_compare(ctx, snapshot, key)?;
        let is_taken = || tree.fetch(ctx.storage, ctx.locks, ReadMode::Uncommitted, key, &mut Vec::new());
        match is_changed && !is_taken()? {
            true => Err(self.update_conflict()),
            false => Ok(()),
        }
    }

    fn update_conflict(&self) -> Error {
        let definition = self.definition();
        let table = format!("{}.{}", definition.schema, definition.name);
        Error::update_conflict(&table, &self.database.name())
    }

    /// Whether a row stays where it is: in a heap always, in a tree with its key.
    fn keeps_place(&self, old: &[Value], new: &[Value]) -> bool {
        let clustered = self.definition().clustered();
        clustered.is_none_or(|index| keeps_key(index, old, new))
    }

    /// Whether a row has an entry in an index.
    fn has_entry(&self, opened: &Nonclustered, values: &[Value]) -> Result<bool> {
        let filter = self.defined(opened).filter.as_ref();
        filter.map_or(Ok(true), |filter| filter.holds(values, &self.layout))
    }

    /// The nonclustered indexes in which a row gets another entry: another key, another place of the row, another value to carry; or in which
    /// it has none before or after.
    fn indexes_left<'t>(
        &'t self,
        keeps_place: bool,
        old: &'t [Value],
        new: &'t [Value],
    ) -> impl Iterator<Item = Result<&'t Nonclustered>> {
        let leaves = move |opened: &Nonclustered| {
            let index = self.defined(opened);
            let enters = index.filter.is_some() && self.has_entry(opened, old)? != self.has_entry(opened, new)?;
            Ok(enters || !(keeps_place && keeps_key(index, old, new) && keeps_carried(opened, index, old, new)))
        };
        let indexes = self.indexes.iter();
        indexes.filter_map(move |opened| leaves(opened).map(|leaves| leaves.then_some(opened)).transpose())
    }

    /// Gives some columns of a row other values, columns that are in no index. False when the row is not there any more.
    ///
    /// # Errors
    /// As for [`Table::insert`].
    pub fn change(
        &self,
        session: &mut Session,
        locator: &RowLocator,
        columns: &[usize],
        values: &[Value],
    ) -> Result<bool> {
        columns
            .iter()
            .for_each(|&column| self.modifications.note_column(column));
        self.check_rows_filegroup()?;
        let (Rows::Tree(tree), RowLocator::Key(key)) = (&self.rows, locator) else {
            return self.change_outside(session, locator, columns, values);
        };
        let changed = session.write(&self.database, |ctx| {
            self.claim(ctx, locator)?;
            tree.change(ctx, key, |old, row| self.layout.push_changed(old, columns, values, row))
        });
        match changed {
            Err(error) if is_too_long(&error) && self.large.is_some() => {
                self.change_outside(session, locator, columns, values)
            }
            outcome => outcome,
        }
    }

    /// Deletes a row. False when it is not there any more.
    pub fn delete(&self, session: &mut Session, locator: &RowLocator, old: &[Value]) -> Result<bool> {
        self.check_rows_filegroup()?;
        self.database.note_deletions()?;
        session.write(&self.database, |ctx| {
            self.claim(ctx, locator)?;
            let places = self.places_of_row(ctx, locator)?;
            let was_there = match (&self.rows, locator) {
                (Rows::Heap(heap), RowLocator::Rid(rid)) => heap.delete(ctx, *rid)?,
                (Rows::Tree(tree), RowLocator::Key(key)) => tree.delete(ctx, key)?,
                _ => return Err(Error::assertion("a locator of another kind of table")),
            };
            if was_there {
                self.modifications.note_rows(1);
                for index in &self.indexes {
                    self.index_delete_one(ctx, index, old, locator)?;
                }
                self.give_up(ctx, &places)?;
            }
            Ok(was_there)
        })
    }

    /// Reads one row's bytes. False when it is not there.
    pub fn fetch(&self, locks: &LockOwner, mode: ReadMode, locator: &RowLocator, row: &mut Vec<u8>) -> Result<bool> {
        self.declare_reader(locks, mode)?;
        self.fetch_declared(locks, mode, locator, row)
    }

    /// The locator that a row with these values has: its key in a unique clustered index. `None` for rows that are not found by their values
    /// alone.
    ///
    /// # Errors
    /// 1946 when the key is too long.
    pub fn locator_by_values(&self, values: &[Value]) -> Result<Option<RowLocator>> {
        match self.definition().clustered() {
            Some(index) if index.unique => {
                let key = self.key_of(index, values, &[])?;
                Ok(Some(RowLocator::Key(key.into())))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Where a row is stored at this moment; `None` when it is not there. Of a row that has moved it is where the row is known by.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn place_of(&self, locator: &RowLocator) -> Result<Option<Rid>> {
        match (&self.rows, locator) {
            (Rows::Heap(_), RowLocator::Rid(rid)) => Ok(Some(*rid)),
            (Rows::Tree(tree), RowLocator::Key(key)) => tree.place_of(&self.database.storage, key),
            _ => Err(Error::assertion("a locator of another kind of table")),
        }
    }

    /// As [`Table::fetch`], for a declared reader.
    pub(super) fn fetch_declared(
        &self,
        locks: &LockOwner,
        mode: ReadMode,
        locator: &RowLocator,
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        let storage = &self.database.storage;
        let found = match (&self.rows, locator) {
            (Rows::Heap(heap), RowLocator::Rid(rid)) => heap.fetch(storage, locks, mode, *rid, row),
            (Rows::Tree(tree), RowLocator::Key(key)) => tree.fetch(storage, locks, mode, key, row),
            _ => Err(Error::assertion("a locator of another kind of table")),
        }?;
        storage.log.check_intact().map(|()| found)
    }

    /// As [`Table::fetch_declared`], by the bytes that an entry of an index has of the locator: a key needs no memory of its own.
    pub(super) fn fetch_by_entry(
        &self,
        locks: &LockOwner,
        mode: ReadMode,
        locator: &[u8],
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        let Rows::Tree(tree) = &self.rows else {
            return self.fetch_declared(locks, mode, &self.decode_locator(locator)?, row);
        };
        let storage = &self.database.storage;
        let found = tree.fetch(storage, locks, mode, locator, row)?;
        storage.log.check_intact().map(|()| found)
    }

    /// Scans all rows there are now; rows inserted later behind the end are not met.
    pub fn scan<'s>(&'s self, locks: &'s LockOwner, mode: ReadMode) -> Result<TableScan<'s>> {
        self.declare_reader(locks, mode)?;
        let storage = &self.database.storage;
        Ok(match &self.rows {
            Rows::Heap(heap) => TableScan::Heap(heap.scan(storage, locks, mode)?, RowBatch::new()),
            Rows::Tree(tree) => {
                let mut scan = tree.scan(storage, locks, mode, (Bound::Unbounded, Bound::Unbounded), false);
                scan.stop_at_current_end()?;
                TableScan::Tree(scan, TreeBatch::new())
            }
        })
    }

    /// Scans a range of keys of the clustered index, in key order or backward.
    ///
    /// # Errors
    /// 3624 when the table has none.
    pub fn seek<'s>(
        &'s self,
        locks: &'s LockOwner,
        mode: ReadMode,
        range: KeyRange,
        backward: bool,
    ) -> Result<TableScan<'s>> {
        let Rows::Tree(tree) = &self.rows else {
            return Err(Error::assertion("a seek in a table without a clustered index"));
        };
        self.declare_reader(locks, mode)?;
        Ok(TableScan::Tree(
            tree.scan(&self.database.storage, locks, mode, range, backward),
            TreeBatch::new(),
        ))
    }

    /// Whether many rows may be appended a page at a time, one log record for each page. Never where an index follows the rows. Else the
    /// log policy decides; `has_table_lock` says that the statement asked for the whole table (TABLOCK), or that nobody else can see it.
    ///
    /// ```text
    /// volume=native (changed bytes)    always
    /// volume=classic (row images)      with the table's lock, under SIMPLE and BULK_LOGGED, into a heap or an empty clustered index
    /// ```
    /// (sql-docs, "Prerequisites for minimal logging in bulk import" and INSERT, "Best practices": TABLOCK, and a target that is a heap or an
    /// empty clustered index; under FULL "all row-insert operations are fully logged".) SQL Server then logs which pages were
    /// allocated; here their contents are logged too, since a commit writes no data pages.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn may_fill(&self, has_table_lock: bool) -> Result<bool> {
        if !self.indexes.is_empty() || self.may_exceed || self.ignores_duplicates() {
            return Ok(false);
        }
        if !self.database.storage.log_whole_rows() {
            return Ok(true);
        }
        if !has_table_lock || self.database.is_fully_logged() {
            return Ok(false);
        }
        match &self.rows {
            Rows::Heap(_) => Ok(true),
            Rows::Tree(tree) => Ok(tree.last_key(&self.database.storage)?.is_none()),
        }
    }

    /// Begins to append many rows to a table that [`Table::may_fill`]. The caller holds it exclusively.
    ///
    /// # Errors
    /// 3624 when an index follows the rows.
    pub fn fill(&self) -> Result<TableFill<'_>> {
        self.check_rows_filegroup()?;
        if !self.indexes.is_empty() || self.may_exceed {
            return Err(Error::assertion("pages are filled past an index"));
        }
        let target = match &self.rows {
            Rows::Heap(heap) => FillTarget::Heap(HeapFill::new(heap)),
            Rows::Tree(tree) => FillTarget::Tree(tree, Some(TreeFill::new(tree))),
        };
        let index = self.definition().clustered();
        let directions = index.map(IndexDefinition::directions).unwrap_or_default();
        let columns = index.map_or(&[][..], |index| &index.keys[..]);
        Ok(TableFill {
            table: self,
            target,
            row: Vec::new(),
            key: Vec::new(),
            key_columns: columns.iter().map(|&(column, _)| column).zip(directions).collect(),
            is_unique: index.is_none_or(|index| index.unique),
        })
    }

    pub(super) fn clustered_index(&self) -> Result<&IndexDefinition> {
        self.definition()
            .clustered()
            .ok_or_else(|| Error::assertion("a tree without a clustered index"))
    }

    /// The key of a row in an index; 3624 for a held value: columns of `max` types are no keys.
    pub(super) fn key_of(&self, index: &IndexDefinition, values: &[Value], suffix: &[u8]) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(16);
        for (&(column, _), direction) in index.keys.iter().zip(index.directions()) {
            if matches!(values[column], Value::Held(_)) {
                return Err(Error::assertion("a held value in the key of a row"));
            }
            encode_stored_key_part(
                &values[column],
                self.layout.column_collation(column),
                direction,
                &mut key,
            );
        }
        if !index.unique {
            key.extend_from_slice(suffix);
        }
        Ok(key)
    }

    /// The heap of a table that has no clustered index.
    pub(super) fn heap(&self) -> Option<&Heap> {
        match &self.rows {
            Rows::Heap(heap) => Some(heap),
            Rows::Tree(_) => None,
        }
    }

    /// A row has another place: its entries in every index follow. The caller holds the table for himself.
    pub(super) fn follow_row(
        &self,
        ctx: &mut StoreContext<'_>,
        stored: &[u8],
        former: &RowLocator,
        now: &RowLocator,
    ) -> Result<()> {
        if self.indexes.is_empty() {
            return Ok(());
        }
        let mut values = vec![Value::Null; self.layout.column_count()];
        self.layout.decode_in_row_into(stored, &mut values)?;
        let places = self.layout.places(stored)?;
        for opened in &self.indexes {
            let defined = self.defined(opened);
            let terms = defined.filter.iter().flat_map(|filter| &filter.terms);
            let keys = defined.keys.iter().map(|&(column, _)| column);
            for column in keys.chain(terms.map(|term| term.column)) {
                values[column] = self.layout.column(stored, column)?;
            }
            self.index_delete_one(ctx, opened, &values, former)?;
            self.enter_index(ctx, opened, &values, now, &places)?;
        }
        Ok(())
    }

    /// The entry of a row in an index, whose key must not be there.
    fn enter_index(
        &self,
        ctx: &mut StoreContext<'_>,
        opened: &Nonclustered,
        values: &[Value],
        locator: &RowLocator,
        places: &Places,
    ) -> Result<()> {
        match self.index_insert_one(ctx, opened, values, locator, places)? {
            true => Ok(()),
            false => Err(self.duplicate(self.defined(opened), values)),
        }
    }

    /// False when the key is there already.
    fn index_insert_one(
        &self,
        ctx: &mut StoreContext<'_>,
        opened: &Nonclustered,
        values: &[Value],
        locator: &RowLocator,
        places: &Places,
    ) -> Result<bool> {
        let (index, bytes) = (self.defined(opened), locator_bytes(locator));
        if !self.has_entry(opened, values)? {
            return Ok(true);
        }
        self.check_index_filegroup(index, &opened.tree)?;
        if opened.may_exceed {
            self.check_key_length(index, values)?;
        }
        let key = self.key_of(index, values, &bytes)?;
        let payload = self.entry_payload(index, values, &bytes, opened.carried.as_ref(), places)?;
        self.claim_key(ctx, &opened.tree, &key)?;
        let inserted = opened.tree.insert(ctx, &key, &payload);
        inserted.map_err(|error| of_index(error, index))
    }

    fn index_delete_one(
        &self,
        ctx: &mut StoreContext<'_>,
        opened: &Nonclustered,
        values: &[Value],
        locator: &RowLocator,
    ) -> Result<()> {
        if !self.has_entry(opened, values)? {
            return Ok(());
        }
        self.check_index_filegroup(self.defined(opened), &opened.tree)?;
        let key = self.key_of(self.defined(opened), values, &locator_bytes(locator))?;
        match opened.tree.delete(ctx, &key)? {
            true => Ok(()),
            false => Err(Error::assertion("a row has no entry in one of its indexes")),
        }
    }

    /// Fills a new index with an entry for every row. The caller holds the table exclusively.
    pub fn build_index(&self, session: &mut Session, place: usize) -> Result<()> {
        let locks = session.locks().clone();
        let Some(index) = self.opened(place) else {
            return Ok(());
        };
        let mut scan = self.scan(&locks, ReadMode::Uncommitted)?;
        let mut values = vec![Value::Null; self.layout.column_count()];
        let defined = self.defined(index);
        let keys = defined.keys.iter().map(|&(column, _)| column);
        let terms = defined.filter.iter().flat_map(|filter| &filter.terms);
        let keys = keys.chain(terms.map(|term| term.column));
        let mut places = Places::new();
        while scan.next_batch()? {
            session.check_cancelled()?;
            for row in 0..scan.len() {
                let stored = scan.row(row).unwrap_or_default();
                self.layout.decode_in_row_into(stored, &mut values)?;
                for column in keys.clone() {
                    values[column] = self.layout.column(stored, column)?;
                }
                if self.large.is_some() {
                    places = self.layout.places(stored)?;
                }
                let locator = scan
                    .locator(row)
                    .ok_or_else(|| Error::assertion("a row without a place"))?;
                session.write(&self.database, |ctx| {
                    self.enter_index(ctx, index, &values, &locator, &places)
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn duplicate(&self, index: &IndexDefinition, values: &[Value]) -> Error {
        let definition = self.definition();
        let table = format!("{}.{}", definition.schema, definition.name);
        let columns = index.keys.iter().map(|&(column, _)| column);
        let key = key_text(columns.map(|column| (&values[column], definition.columns[column].sql_type)));
        Error::duplicate_key(index.primary_key, index.unique_constraint, &index.name, &table, &key)
    }
}

/// Whether two rows have one key in an index, its suffix aside.
fn keeps_key(index: &IndexDefinition, old: &[Value], new: &[Value]) -> bool {
    index.keys.iter().all(|&(column, _)| old[column] == new[column])
}

/// Whether the entries of two rows carry the same, to the byte: values that are equal need not be.
fn keeps_carried(opened: &Nonclustered, index: &IndexDefinition, old: &[Value], new: &[Value]) -> bool {
    let Some(layout) = &opened.carried else { return true };
    let encoded = [old, new].map(|values| encode_carried(layout, index, values, &[]));
    match encoded {
        [Ok(before), Ok(after)] => before == after,
        [Err(_), Err(_)] => Table::carries_equal(index, old, new),
        _ => false,
    }
}

fn uniquifier(ctx: &StoreContext<'_>) -> [u8; 12] {
    let mut bytes = [0u8; 12];
    bytes[..8].copy_from_slice(&ctx.chain.id.0.to_be_bytes());
    bytes[8..].copy_from_slice(&UNIQUIFIER.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    bytes
}

fn locator_bytes(locator: &RowLocator) -> Vec<u8> {
    match locator {
        RowLocator::Rid(rid) => rid.to_bytes().to_vec(),
        RowLocator::Key(key) => key.to_vec(),
    }
}

enum FillTarget<'t> {
    Heap(HeapFill),
    Tree(&'t Tree, Option<TreeFill>),
}

/// Appends many rows, a page of them to a log record. See [`Table::fill`].
pub struct TableFill<'t> {
    table: &'t Table,
    target: FillTarget<'t>,
    row: Vec<u8>,
    key: Vec<u8>,
    key_columns: Vec<(usize, KeyDirection)>,
    is_unique: bool,
}

impl TableFill<'_> {
    /// Adds a row. It exists once [`TableFill::finish`] has returned.
    pub fn push(&mut self, session: &mut Session, values: &[Value]) -> Result<()> {
        let mut row = std::mem::take(&mut self.row);
        let encoded = self.table.layout.encode(values, &mut row);
        let outcome = encoded.and_then(|()| session.write(&self.table.database, |ctx| self.push_row(ctx, &row)));
        self.row = row;
        match outcome {
            Err(error) if is_too_long(&error) && self.table.large.is_some() => {
                session.write(&self.table.database, |ctx| self.push_outside(ctx, values))
            }
            outcome => outcome,
        }
    }

    /// Adds a row whose columns have to move.
    #[cold]
    fn push_outside(&mut self, ctx: &mut StoreContext<'_>, values: &[Value]) -> Result<()> {
        let table = self.table;
        let key_bytes = match table.definition().clustered() {
            Some(index) => table.key_of(index, values, &uniquifier(ctx))?.len(),
            None => 0,
        };
        let built = table.built(ctx, None, values, key_bytes)?;
        self.push_row(ctx, &built.row)
    }

    /// Adds encoded rows of the table's layout, in their order.
    ///
    /// # Errors
    /// As for [`Table::insert`].
    pub fn push_rows(&mut self, session: &mut Session, rows: &EncodedRows) -> Result<()> {
        let table = self.table;
        session.write(&table.database, |ctx| {
            for index in 0..rows.len() {
                let row = rows.get(index).unwrap_or_default();
                if let Some(values) = rows.values_apart(&table.layout, index)? {
                    self.push_outside(ctx, &values)?;
                    continue;
                }
                match self.push_row(ctx, row) {
                    Err(error) if is_too_long(&error) && table.large.is_some() => {
                        let mut values = Vec::new();
                        table.layout.decode_into(row, &mut values)?;
                        self.push_outside(ctx, &values)?;
                    }
                    outcome => outcome?,
                }
            }
            Ok(())
        })
    }

    fn push_row(&mut self, ctx: &mut StoreContext<'_>, row: &[u8]) -> Result<()> {
        let fill = match &mut self.target {
            FillTarget::Heap(fill) => {
                fill.push(ctx, row)?;
                self.table.modifications.note_rows(1);
                return Ok(());
            }
            FillTarget::Tree(_, fill) => fill,
        };
        self.key.clear();
        for &(column, direction) in &self.key_columns {
            self.table.layout.push_key_part(row, column, direction, &mut self.key)?;
        }
        if !self.is_unique {
            self.key.extend_from_slice(&uniquifier(ctx));
        }
        if let Some(filling) = fill {
            if filling.push(ctx, &self.key, row)? {
                self.table.modifications.note_rows(1);
                return Ok(());
            }
            // Keys that do not rise go in one by one from here on.
            if let Some(filling) = fill.take() {
                filling.finish(ctx)?;
            }
        }
        let FillTarget::Tree(tree, _) = &self.target else {
            return Ok(());
        };
        if tree.insert(ctx, &self.key, row)? {
            self.table.modifications.note_rows(1);
            return Ok(());
        }
        let mut values = Vec::new();
        self.table.layout.decode_into(row, &mut values)?;
        Err(self.table.duplicate(self.table.clustered_index()?, &values))
    }

    /// Writes what is not written yet.
    pub fn finish(self, session: &mut Session) -> Result<()> {
        let target = self.target;
        session.write(&self.table.database, |ctx| match target {
            FillTarget::Heap(fill) => fill.finish(ctx),
            FillTarget::Tree(_, Some(fill)) => fill.finish(ctx),
            FillTarget::Tree(_, None) => Ok(()),
        })
    }
}
