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
use super::partitioned::{PartitionStorage, Partitions, storages_of};
use super::table_scan::TableScan;
use crate::catalog::{CatalogObject, IndexDefinition, LockEscalation, StorageRoot, TableDefinition};
use crate::database::{Database, Modifications, object_root};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource};
use crate::store::{
    BuiltRow, Heap, ObjectRoot, Placement, ReadMode, Rid, RowBatch, RowLocator, StoreContext, Tree, TreeBatch,
};
use crate::types::{RowLayout, Value, encode_stored_key_part, key_text};
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
    partitions: Option<Partitions>,
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
        if let Some(index) = definition.index_of_unknown_order() {
            return Err(Error::index_is_disabled(&index.name, &definition.name));
        }
        let open = |storage: &PartitionStorage| Table::open_partition(database, object, definition, storage);
        let storages = storages_of(definition)?;
        let first = storages
            .first()
            .ok_or_else(|| Error::assertion("a table without storage"))?;
        let mut table = open(first)?;
        table.partitions = Partitions::open(definition, &storages, open)?;
        if let Some(partitions) = table.partitions.as_ref().filter(|_| table.large.is_some()) {
            table.layout = LargeColumns::layout_over(database, definition.layout(), partitions.tables());
        }
        database
            .space
            .keep_reserve_for((definition.indexes.len() + 1) * storages.len());
        let escalates = definition.lock_escalation != LockEscalation::Disable;
        database
            .lock_manager()
            .set_escalation(database.id, definition.object_id, escalates);
        Ok(table)
    }

    /// Opens one partition of a table as a table.
    fn open_partition(
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &TableDefinition,
        roots: &PartitionStorage,
    ) -> Result<Table> {
        let (storage, space, id) = (&database.storage, &database.space, definition.object_id);
        let open_tree = |root: &StorageRoot| Tree::open(storage, space, object_root(root), id);
        let rows = match (&roots.heap, definition.clustered(), roots.trees.first()) {
            (_, Some(_), Some(clustered)) => Rows::Tree(open_tree(clustered)?),
            (Some(heap), None, _) => Rows::Heap(Heap::open(storage, space, object_root(heap), id)?),
            // The rows of a view go when its clustered index is switched off.
            _ => {
                return Err(match definition.disabled_indexes.first() {
                    Some(index) => Error::index_is_disabled(&index.name, &definition.name),
                    None => Error::assertion("a table has neither heap nor clustered index"),
                });
            }
        };
        let nonclustered = definition
            .indexes
            .iter()
            .zip(&roots.trees)
            .enumerate()
            .filter(|(_, (index, _))| index.index_id != 1);
        let indexes = nonclustered
            .map(|(place, (index, root))| {
                Ok(Nonclustered {
                    place,
                    tree: open_tree(root)?,
                    carried: carried_layout(definition, index),
                    may_exceed: Table::may_exceed_key(definition, index),
                })
            })
            .collect::<Result<_>>()?;
        let root = match &rows {
            Rows::Heap(heap) => heap.root(),
            Rows::Tree(tree) => tree.root(),
        };
        let (layout, large) = LargeColumns::open(database, definition, root, definition.layout())?;
        let modifications = database.modifications(definition);
        let may_exceed = definition
            .clustered()
            .is_some_and(|index| Table::may_exceed_key(definition, index));
        Ok(Table {
            database: database.clone(),
            object: object.clone(),
            layout,
            rows,
            large,
            indexes,
            partitions: None,
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

    /// Its partitions, if it is partitioned. What it has of its own then is that of the first one.
    pub(super) fn partitions(&self) -> Option<&Partitions> {
        self.partitions.as_ref()
    }

    /// Whether it has partitions.
    pub fn is_partitioned(&self) -> bool {
        self.partitions.is_some()
    }

    /// A partition by its number, counted from 0; the table itself, if it is not partitioned.
    ///
    /// # Errors
    /// 3624 for a number that is too high.
    pub fn partition(&self, number: usize) -> Result<&Table> {
        match &self.partitions {
            Some(partitions) => partitions.table(number),
            None if number == 0 => Ok(self),
            None => Err(Error::assertion("a partition of a table without partitions")),
        }
    }

    /// The number of the partition of a row, counted from 0.
    ///
    /// # Errors
    /// Those of reading a value that lies outside of its row.
    pub fn number_of(&self, values: &[Value]) -> Result<usize> {
        let partitions = self.partitions.as_ref();
        partitions.map_or(Ok(0), |partitions| partitions.number_of(values))
    }

    /// The table, or its partition, that has its rows at a root.
    pub(super) fn with_rows_at(&self, root: ObjectRoot) -> Option<&Table> {
        match &self.partitions {
            Some(partitions) => partitions.with_rows_at(root),
            None => Some(self).filter(|table| table.rows_root() == root),
        }
    }

    pub(super) fn has_indexes(&self) -> bool {
        !self.indexes.is_empty()
    }

    pub(super) fn may_exceed(&self) -> bool {
        self.may_exceed
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
        if let Some(partitions) = &self.partitions {
            return partitions.insert_or_meet(session, values, placement);
        }
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
        if self.is_partitioned() {
            let is_there = self.leave_keys(session, locator, old, new)?;
            if is_there {
                self.enter_keys(session, locator, old, new)?;
            }
            return Ok(is_there);
        }
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
        if let Some(partitions) = &self.partitions {
            return partitions.leave(self, session, locator, (old, new));
        }
        session.write(&self.database, |ctx| self.leave(ctx, locator, old, new))
    }

    /// The second half of [`Table::update`]: the row enters its new place and takes its new keys.
    ///
    /// # Errors
    /// As for [`Table::insert`].
    pub fn enter_keys(&self, session: &mut Session, locator: &RowLocator, old: &[Value], new: &[Value]) -> Result<()> {
        if let Some(partitions) = &self.partitions {
            return partitions.enter(self, session, locator, (old, new));
        }
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
        if let Some(partitions) = &self.partitions {
            return partitions.change(self, session, locator, (columns, values));
        }
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
        if let Some(partitions) = &self.partitions {
            return partitions.delete(self, session, locator, old);
        }
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
        if let Some(partitions) = &self.partitions {
            return partitions.locator_by_values(values);
        }
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
        if let Some(partitions) = &self.partitions {
            return partitions.at(self, locator, None, Table::place_of);
        }
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
        if let Some(partitions) = &self.partitions {
            return partitions.at(self, locator, false, |own, locator| {
                own.fetch_declared(locks, mode, locator, row)
            });
        }
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
        if let Some(partitions) = &self.partitions {
            return partitions.scan(locks, mode);
        }
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
        if let Some(partitions) = &self.partitions {
            return partitions.seek(locks, mode, range, backward);
        }
        let Rows::Tree(tree) = &self.rows else {
            return Err(Error::assertion("a seek in a table without a clustered index"));
        };
        self.declare_reader(locks, mode)?;
        Ok(TableScan::Tree(
            tree.scan(&self.database.storage, locks, mode, range, backward),
            TreeBatch::new(),
        ))
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
        if let Some(partitions) = &self.partitions {
            let mut tables = partitions.tables().iter();
            return tables.try_for_each(|table| table.build_index(session, place));
        }
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

pub(super) fn uniquifier(ctx: &StoreContext<'_>) -> [u8; 12] {
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
