//! The catalog of one database: which objects there are, by id and by name.
//!
//! ```text
//! heap of catalog rows:  u32 object id | u16 part | u16 parts | JSON text ...      (a long definition takes several rows)
//! in memory:             every definition, loaded when the database opens, changed as transactions change it
//! ```
//! Rows are changed like any other rows, in the transaction of the CREATE, ALTER or DROP, so rollback and recovery need no special code. In
//! memory a change is pending until its transaction ends: its session sees it at once; other sessions see the old definition, and wait for
//! the object's lock when they use it.
//!
//! Invariant: after [`Catalog::finish`] the definitions in memory are those of the committed rows. Invariant: a name finds an object only
//! in a version with this name: a renamed object is not found by its old name. Invariant: new statistics increment a version of their
//! table, and everything else increments the catalog's version. So statistics of one table do not invalidate plans that do not use it.

mod alias_type;
mod clone;
mod computed;
mod constraint_names;
mod database_entry;
mod definition;
mod escalation;
mod filter;
mod foreign;
mod indexed_view;
mod intent;
mod options;
mod partitioning;
mod principal;
mod property;
mod sequence;
mod snapshot;
mod standalone;
mod synonym;
mod temporal;
mod trigger;
mod xml_schema;

pub use crate::store::CATALOG_UNIT;
pub use alias_type::AliasType;
pub use database_entry::{DatabaseEntry, FileEntry, FilegroupEntry, GrowthEntry, PRIMARY_FILEGROUP};
pub use definition::{
    CheckConstraint, ColumnDefinition, ForeignKey, Identity, IndexDefinition, ModuleDefinition, ModuleKind,
    NUMERIC_TYPE_ID, NamedText, ObjectDefinition, ReferentialAction, StatisticsDefinition, StorageRoot,
    TableDefinition, TableType, USER_TYPE_ID_FIRST,
};

pub use clone::BelievedCounts;
pub use computed::ComputedColumn;
pub use escalation::LockEscalation;
pub use filter::{FilterKey, FilterOperator, FilterTerm, FilterTest, IndexFilter};
pub use foreign::{ForeignPath, ForeignRestore, ForeignSet, StoredLsn};
pub use intent::{CommitDecision, DecidedPart, FileIntent, IntendedFile};
pub use options::IndexOptions;
pub use partitioning::{
    PARTITION_FUNCTION_ID_FIRST, PARTITION_SCHEME_ID_FIRST, PARTITIONS_MAX, PartitionDefinitions, PartitionFunction,
    PartitionRanges, PartitionScheme, Partitioning,
};
pub use principal::{
    FIXED_ROLE_IDS, OwnerEntry, PRINCIPAL_ID_FIRST, PermissionEntry, PermissionState, PrincipalDefinition,
    PrincipalKind, RoleMembership, Securable,
};
pub use property::{ExtendedProperty, PropertyOwner};
pub use sequence::SequenceDefinition;
pub use snapshot::{CopyBase, Reverting, SnapshotBase};
pub use standalone::{Bindings, BoundExpression, StandaloneDefinition, StandaloneKind};
pub use synonym::SynonymDefinition;
pub use temporal::{GeneratedColumn, PeriodEnd, Retention, RetentionUnit, SystemVersioning};
pub use trigger::{DefinitionTrigger, TriggerAction, TriggerEntry, TriggerEvent, TriggerOrder};
pub use xml_schema::{XML_COLLECTION, XML_COLLECTION_ID_FIRST, XmlSchemaCollection};

use self::constraint_names::ConstraintNames;
use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::lock::LockOwner;
use crate::page::{ObjectId, PageId};
use crate::store::{Heap, Placement, ReadMode, Rid, RowBatch, StoreContext};
use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `database_id` of master.
pub const MASTER: u16 = 1;
/// `database_id` of tempdb.
pub const TEMPDB: u16 = 2;
/// `database_id` of model.
pub const MODEL: u16 = 3;
/// `database_id` of msdb.
pub const MSDB: u16 = 4;
/// The session whose pending changes are those of the system's own work.
const SYSTEM_SESSION: u16 = 0;
/// The object under whose id the system's own work locks the rows of the catalog that it changes. It is not the catalog's own: user
/// transactions hold that one, and others may wait for them there.
pub const SYSTEM_WORK_OBJECT: u32 = 2;
/// JSON bytes in one catalog row.
const PART_BYTES: usize = 7_900;
const PART_HEADER_BYTES: usize = 8;

/// A definition with the rows that hold it.
#[derive(Debug)]
pub struct CatalogObject {
    pub definition: ObjectDefinition,
    rows: Vec<Rid>,
}

impl CatalogObject {
    /// Whether one of the pages has a row of its definition.
    pub fn has_rows_on(&self, pages: &[PageId]) -> bool {
        self.rows.iter().any(|row| pages.contains(&row.page))
    }

    pub fn statistics(&self) -> Option<&StatisticsDefinition> {
        match &self.definition {
            ObjectDefinition::Statistics(statistics) => Some(statistics),
            _ => None,
        }
    }
}

#[derive(Clone)]
struct Entry {
    object: Arc<CatalogObject>,
    /// The session whose transaction created it, until that ends.
    creator: Option<u16>,
    /// The session whose transaction dropped it, until that ends.
    dropper: Option<u16>,
}

#[derive(Default)]
struct State {
    /// Versions of each object, oldest first: more than one only while a change is pending.
    by_id: BTreeMap<u32, Vec<Entry>>,
    by_name: HashMap<(String, String), Vec<u32>>,
    constraints: ConstraintNames,
    /// For tables that foreign keys refer to, or once referred to: the tables that have these keys.
    referencing: HashMap<u32, Vec<u32>>,
    /// For tables that statistics are kept of, or once were: the ids of these.
    statistics: HashMap<u32, Vec<u32>>,
    /// For tables whose statistics plans go by: how often these changed.
    statistics_changes: HashMap<u32, Arc<AtomicU64>>,
    /// What each session's transaction has done, in order.
    pending: HashMap<u16, Vec<Pending>>,
}

#[derive(Clone)]
enum Pending {
    Created(Arc<CatalogObject>),
    Dropped(Arc<CatalogObject>),
}

impl Pending {
    fn object(&self) -> &Arc<CatalogObject> {
        match self {
            Pending::Created(object) | Pending::Dropped(object) => object,
        }
    }
}

/// The statistics of a table at some moment.
#[derive(Debug, Clone)]
pub struct StatisticsSeen {
    changes: Arc<AtomicU64>,
    then: u64,
}

impl StatisticsSeen {
    /// Whether none of them was made, changed or dropped since, pending changes included. One load.
    #[inline]
    pub fn are_current(&self) -> bool {
        self.changes.load(Ordering::Acquire) == self.then
    }
}

/// All objects of one database.
pub struct Catalog {
    heap: Heap,
    /// The same rows, locked under [`SYSTEM_WORK_OBJECT`].
    system_heap: Heap,
    state: RwLock<State>,
    version: AtomicU64,
}

impl Catalog {
    /// Opens the catalog and reads every definition.
    ///
    /// # Errors
    /// 824 when a row is not readable as one.
    pub fn load(storage: &DatabaseStorage, heap: Heap, locks: &LockOwner) -> Result<Catalog> {
        let catalog = Catalog {
            system_heap: heap.locked_under(SYSTEM_WORK_OBJECT),
            heap,
            state: RwLock::new(State::default()),
            version: AtomicU64::new(1),
        };
        let mut parts: BTreeMap<u32, Vec<(u16, Rid, Vec<u8>)>> = BTreeMap::new();
        let mut scan = catalog.heap.scan(storage, locks, ReadMode::Uncommitted)?;
        let mut batch = RowBatch::new();
        while scan.next_page(&mut batch)? {
            for (rid, row) in batch.iter() {
                let (id, part, text) = split_row(storage, row)?;
                parts.entry(id).or_default().push((part, rid, text.to_vec()));
            }
        }
        for mut rows in parts.into_values() {
            rows.sort_by_key(|row| row.0);
            let text: Vec<u8> = rows.iter().flat_map(|row| row.2.iter().copied()).collect();
            let definition = serde_json::from_slice(&text).map_err(|error| damaged(storage, &error.to_string()))?;
            let rows = rows.into_iter().map(|row| row.1).collect();
            catalog.enter(Arc::new(CatalogObject { definition, rows }), None);
        }
        Ok(catalog)
    }

    /// Rises with every change but those of statistics, pending ones included; a plan made under another version may be out of date.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The object of that name as `session` sees it. Names are compared without case.
    pub fn find(&self, schema: &str, name: &str, session: u16) -> Option<Arc<CatalogObject>> {
        let state = self.state.read();
        let key = (schema.to_lowercase(), name.to_lowercase());
        let ids = state.by_name.get(&key)?;
        let visible = ids
            .iter()
            .rev()
            .filter_map(|id| newest_visible(state.by_id.get(id)?, session));
        // A rename that is not committed leaves its object under both names.
        let mut named = visible.filter(|object| name_key(&object.definition).as_ref() == Some(&key));
        named.next()
    }

    /// The table with a constraint of that name, as `session` sees it, and the constraint's id. Names are compared without case.
    pub fn find_constraint(&self, schema: &str, name: &str, session: u16) -> Option<(Arc<CatalogObject>, u32)> {
        let state = self.state.read();
        let tables = state.constraints.tables_with(schema, name);
        let mut visible = tables.filter_map(|id| newest_visible(state.by_id.get(&id)?, session));
        visible.find_map(|object| match &object.definition {
            ObjectDefinition::Table(table) if table.schema.to_lowercase() == schema.to_lowercase() => {
                let id = table.constraint_named(name)?;
                Some((object, id))
            }
            _ => None,
        })
    }

    /// Whether a transaction of another session has made a definition, or replaced or dropped it, and has not ended.
    pub fn is_pending_for(&self, object: &Arc<CatalogObject>, session: u16) -> bool {
        let state = self.state.read();
        let versions = state.by_id.get(&object.definition.object_id());
        let entry = versions.and_then(|versions| versions.iter().find(|entry| Arc::ptr_eq(&entry.object, object)));
        let is_others = |owner: Option<u16>| owner.is_some_and(|owner| owner != session);
        entry.is_some_and(|entry| is_others(entry.creator) || is_others(entry.dropper))
    }

    /// Whether a definition is the one `session` sees. To be asked with the object's lock in hand: who waited for that may find another
    /// definition, with other storage, indexes and constraints, or none.
    pub fn is_current(&self, object: &Arc<CatalogObject>, session: u16) -> bool {
        let now = self.by_id(object.definition.object_id(), session);
        now.is_some_and(|now| Arc::ptr_eq(&now, object))
    }

    /// The object with that id as `session` sees it.
    pub fn by_id(&self, object_id: u32, session: u16) -> Option<Arc<CatalogObject>> {
        newest_visible(self.state.read().by_id.get(&object_id)?, session)
    }

    /// The tables with foreign keys that refer to a table, itself included, as `session` sees them, in the order of ids.
    pub fn referencing(&self, object_id: u32, session: u16) -> Vec<Arc<CatalogObject>> {
        let state = self.state.read();
        let Some(ids) = state.referencing.get(&object_id) else {
            return Vec::new();
        };
        let tables = ids
            .iter()
            .filter_map(|id| newest_visible(state.by_id.get(id)?, session));
        let mut tables: Vec<_> = tables.filter(|table| refers_to(&table.definition, object_id)).collect();
        tables.sort_by_key(|table| table.definition.object_id());
        tables
    }

    /// The statistics kept of a table, as `session` sees them, in the order of their numbers. Those of an index are here once they were
    /// counted.
    pub fn statistics_of(&self, table: u32, session: u16) -> Vec<Arc<CatalogObject>> {
        let state = self.state.read();
        let Some(ids) = state.statistics.get(&table) else {
            return Vec::new();
        };
        let kept = ids
            .iter()
            .filter_map(|id| newest_visible(state.by_id.get(id)?, session));
        let mut kept: Vec<_> = kept.filter(|object| object.statistics().is_some()).collect();
        kept.sort_by_key(|object| object.statistics().map_or(0, |statistics| statistics.stats_id));
        kept
    }

    /// Which statistics a table has, for a caller that is about to read them and keeps what it made of them.
    pub fn see_statistics_of(&self, table: u32) -> StatisticsSeen {
        let known = self.state.read().statistics_changes.get(&table).cloned();
        let changes = known.unwrap_or_else(|| self.state.write().statistics_changes.entry(table).or_default().clone());
        let then = changes.load(Ordering::Acquire);
        StatisticsSeen { changes, then }
    }

    /// Every object `session` sees, in the order of ids.
    pub fn objects(&self, session: u16) -> Vec<Arc<CatalogObject>> {
        let state = self.state.read();
        state
            .by_id
            .values()
            .filter_map(|versions| newest_visible(versions, session))
            .collect()
    }

    /// Every object as the transactions that have ended left it, in the order of ids: all of one moment.
    pub(crate) fn committed(&self) -> Vec<Arc<CatalogObject>> {
        let state = self.state.read();
        let settled = |versions: &Vec<Entry>| versions.iter().rev().find(|entry| entry.creator.is_none()).cloned();
        let objects = state.by_id.values().filter_map(settled);
        objects.map(|entry| entry.object).collect()
    }

    /// The type of a schema and name, ignoring case: an alias type or a table type.
    pub fn user_type(&self, schema: &str, name: &str, session: u16) -> Option<Arc<CatalogObject>> {
        let (schema, name) = (schema.to_lowercase(), name.to_lowercase());
        let is_it = |object: &Arc<CatalogObject>| {
            let named = object.definition.type_name();
            named.is_some_and(|(own_schema, own_name, _)| {
                own_name.to_lowercase() == name && own_schema.to_lowercase() == schema
            })
        };
        self.objects(session).into_iter().find(is_it)
    }

    fn heap_for(&self, session: u16) -> &Heap {
        match session {
            SYSTEM_SESSION => &self.system_heap,
            _ => &self.heap,
        }
    }

    /// Stores a new object in the transaction of `ctx`, which is the session's, or the system's own work (session 0).
    pub fn insert(
        &self,
        ctx: &mut StoreContext<'_>,
        session: u16,
        definition: ObjectDefinition,
    ) -> Result<Arc<CatalogObject>> {
        let text = serde_json::to_vec(&definition).map_err(|error| damaged(ctx.storage, &error.to_string()))?;
        let parts: Vec<&[u8]> = text.chunks(PART_BYTES).collect();
        let mut rows = Vec::with_capacity(parts.len());
        for (part, bytes) in parts.iter().enumerate() {
            let mut row = Vec::with_capacity(PART_HEADER_BYTES + bytes.len());
            row.extend_from_slice(&definition.object_id().to_le_bytes());
            row.extend_from_slice(&(part as u16).to_le_bytes());
            row.extend_from_slice(&(parts.len() as u16).to_le_bytes());
            row.extend_from_slice(bytes);
            rows.push(self.heap_for(session).insert(ctx, &row, Placement::Anywhere)?);
        }
        let object = Arc::new(CatalogObject { definition, rows });
        self.enter(object.clone(), Some(session));
        let mut state = self.state.write();
        state
            .pending
            .entry(session)
            .or_default()
            .push(Pending::Created(object.clone()));
        Ok(object)
    }

    /// Removes an object in the transaction of `ctx`.
    ///
    /// # Errors
    /// 3624 when the object is not the catalog's any more, or its rows are gone: to go on would leave two definitions of one id, which
    /// do not open again.
    pub fn remove(&self, ctx: &mut StoreContext<'_>, session: u16, object: &Arc<CatalogObject>) -> Result<()> {
        let is_there = |entry: &Entry| Arc::ptr_eq(&entry.object, object) && entry.dropper.is_none();
        let id = object.definition.object_id();
        let versions = |state: &State| {
            state
                .by_id
                .get(&id)
                .is_some_and(|versions| versions.iter().any(is_there))
        };
        if !versions(&self.state.read()) {
            return Err(Error::assertion("a definition that is replaced is not the catalog's"));
        }
        for &rid in &object.rows {
            if !self.heap_for(session).delete(ctx, rid)? {
                return Err(Error::assertion("a row of a definition that is replaced is gone"));
            }
        }
        let mut state = self.state.write();
        for_entry(&mut state, object, |entry| entry.dropper = Some(session));
        state
            .pending
            .entry(session)
            .or_default()
            .push(Pending::Dropped(object.clone()));
        self.note_change(&state, object);
        Ok(())
    }

    /// Replaces an object by a new version of itself with the same id.
    pub fn replace(
        &self,
        ctx: &mut StoreContext<'_>,
        session: u16,
        object: &Arc<CatalogObject>,
        definition: ObjectDefinition,
    ) -> Result<Arc<CatalogObject>> {
        self.remove(ctx, session, object)?;
        self.insert(ctx, session, definition)
    }

    /// A place in the session's pending changes to which [`Catalog::take_back`] can return.
    pub fn mark(&self, session: u16) -> usize {
        self.state.read().pending.get(&session).map_or(0, Vec::len)
    }

    /// The tables that the session's transaction has made, changed or dropped.
    pub(crate) fn tables_pending(&self, session: u16) -> Vec<u32> {
        let state = self.state.read();
        let changes = state.pending.get(&session).map(Vec::as_slice).unwrap_or_default();
        let tables = changes.iter().filter_map(|change| change.object().definition.table());
        tables.map(|table| table.object_id).collect()
    }

    /// The allocation units that [`Catalog::take_back`] would return: made by the session's transaction after `mark`.
    pub fn units_made_since(&self, session: u16, mark: usize) -> HashSet<ObjectId> {
        let state = self.state.read();
        let changes = state.pending.get(&session).and_then(|pending| pending.get(mark..));
        let made: HashSet<*const CatalogObject> = changes
            .unwrap_or_default()
            .iter()
            .filter_map(|change| match change {
                Pending::Created(object) => Some(Arc::as_ptr(object)),
                Pending::Dropped(_) => None,
            })
            .collect();
        if made.is_empty() {
            return HashSet::new();
        }
        let entries = state.by_id.values().flatten().map(|entry| &entry.object);
        let (gone, kept): (Vec<_>, Vec<_>) = entries.partition(|object| made.contains(&Arc::as_ptr(object)));
        let units = |objects: Vec<&Arc<CatalogObject>>| -> HashSet<u32> {
            let roots = objects.into_iter().flat_map(|object| roots_of(&object.definition));
            roots.map(|root| root.unit).collect()
        };
        units(gone)
            .difference(&units(kept))
            .map(|&unit| ObjectId(unit))
            .collect()
    }

    /// Undoes, in memory, what the session did after `mark`: its rows have been rolled back. Returns storage to free.
    pub fn take_back(&self, session: u16, mark: usize) -> Vec<StorageRoot> {
        let mut state = self.state.write();
        let Some(pending) = state.pending.get_mut(&session) else {
            return Vec::new();
        };
        let changes = pending.split_off(mark.min(pending.len()));
        if pending.is_empty() {
            state.pending.remove(&session);
        }
        let mut orphans = Vec::new();
        for change in changes.iter().rev() {
            match change {
                Pending::Created(object) => orphans.extend(remove_entry(&mut state, object)),
                Pending::Dropped(object) => for_entry(&mut state, object, |entry| entry.dropper = None),
            }
        }
        changes
            .iter()
            .for_each(|change| self.note_change(&state, change.object()));
        still_unused(&state, orphans)
    }

    /// Ends the session's pending changes: they become everybody's, or are undone. Returns storage to free.
    pub fn finish(&self, session: u16, committed: bool) -> Vec<StorageRoot> {
        if !self.state.read().pending.contains_key(&session) {
            return Vec::new();
        }
        if !committed {
            return self.take_back(session, 0);
        }
        let mut state = self.state.write();
        let changes = state.pending.remove(&session).unwrap_or_default();
        let mut orphans = Vec::new();
        for change in &changes {
            match change {
                Pending::Created(object) => for_entry(&mut state, object, |entry| entry.creator = None),
                Pending::Dropped(object) => orphans.extend(remove_entry(&mut state, object)),
            }
        }
        changes
            .iter()
            .for_each(|change| self.note_change(&state, change.object()));
        still_unused(&state, orphans)
    }

    /// Has plans that were made from an object, or from what is known of a table, be out of date.
    fn note_change(&self, state: &State, object: &CatalogObject) {
        match object.statistics() {
            None => _ = self.version.fetch_add(1, Ordering::Release),
            Some(statistics) => {
                if let Some(changes) = state.statistics_changes.get(&statistics.table) {
                    changes.fetch_add(1, Ordering::Release);
                }
            }
        }
    }

    /// Every allocation unit that an object owns, the catalog's own first.
    pub fn storage_roots(&self) -> Vec<StorageRoot> {
        let state = self.state.read();
        let objects = state.by_id.values().flatten();
        objects.flat_map(|entry| roots_of(&entry.object.definition)).collect()
    }

    fn enter(&self, object: Arc<CatalogObject>, creator: Option<u16>) {
        let id = object.definition.object_id();
        let mut state = self.state.write();
        if let Some(key) = name_key(&object.definition) {
            let ids = state.by_name.entry(key).or_default();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        state.constraints.enter(&object);
        if let ObjectDefinition::Table(table) = &object.definition {
            for key in &table.foreign_keys {
                let referencing = state.referencing.entry(key.referenced_object).or_default();
                if !referencing.contains(&id) {
                    referencing.push(id);
                }
            }
        }
        if let ObjectDefinition::Statistics(statistics) = &object.definition {
            let kept = state.statistics.entry(statistics.table).or_default();
            if !kept.contains(&id) {
                kept.push(id);
            }
        }
        state.by_id.entry(id).or_default().push(Entry {
            object: object.clone(),
            creator,
            dropper: None,
        });
        self.note_change(&state, &object);
    }
}

/// The version `session` works with: its own or the newest committed one; else one that another session is creating, so
/// that others wait for that session's lock instead of failing because there is no such object.
fn newest_visible(versions: &[Entry], session: u16) -> Option<Arc<CatalogObject>> {
    let visible = || versions.iter().rev().filter(|entry| entry.dropper != Some(session));
    let settled = visible().find(|entry| entry.creator.is_none_or(|creator| creator == session));
    settled.or_else(|| visible().next()).map(|entry| entry.object.clone())
}

fn refers_to(definition: &ObjectDefinition, object_id: u32) -> bool {
    match definition {
        ObjectDefinition::Table(table) => table.foreign_keys.iter().any(|key| key.referenced_object == object_id),
        _ => false,
    }
}

fn for_entry(state: &mut State, object: &Arc<CatalogObject>, change: impl Fn(&mut Entry)) {
    if let Some(versions) = state.by_id.get_mut(&object.definition.object_id()) {
        versions
            .iter_mut()
            .filter(|entry| Arc::ptr_eq(&entry.object, object))
            .for_each(change);
    }
}

fn remove_entry(state: &mut State, object: &Arc<CatalogObject>) -> Vec<StorageRoot> {
    let id = object.definition.object_id();
    let key = name_key(&object.definition);
    let mut is_named = false;
    if let Some(versions) = state.by_id.get_mut(&id) {
        let before = versions.len();
        versions.retain(|entry| !Arc::ptr_eq(&entry.object, object));
        if versions.len() < before {
            state.constraints.remove(object);
        }
        is_named = versions.iter().any(|entry| name_key(&entry.object.definition) == key);
        if versions.is_empty() {
            state.by_id.remove(&id);
            state.statistics_changes.remove(&id);
            if let ObjectDefinition::Statistics(statistics) = &object.definition {
                forget_statistics(state, statistics);
            }
        }
    }
    if let Some(key) = key.filter(|_| !is_named)
        && let Some(ids) = state.by_name.get_mut(&key)
    {
        ids.retain(|&other| other != id);
        if ids.is_empty() {
            state.by_name.remove(&key);
        }
    }
    roots_of(&object.definition)
}

fn forget_statistics(state: &mut State, statistics: &StatisticsDefinition) {
    if let Some(kept) = state.statistics.get_mut(&statistics.table) {
        kept.retain(|&id| id != statistics.object_id);
        if kept.is_empty() {
            state.statistics.remove(&statistics.table);
        }
    }
}

/// Under which schema and name an object is found: names are compared without case.
fn name_key(definition: &ObjectDefinition) -> Option<(String, String)> {
    let (schema, name) = definition.qualified_name()?;
    Some((schema.to_lowercase(), name.to_lowercase()))
}

/// Of storage that lost an owner, that which has no other: a new version of a table keeps the old one's.
fn still_unused(state: &State, orphans: Vec<StorageRoot>) -> Vec<StorageRoot> {
    let used: HashSet<u32> = state
        .by_id
        .values()
        .flatten()
        .flat_map(|entry| roots_of(&entry.object.definition))
        .map(|root| root.unit)
        .collect();
    let mut unused: Vec<StorageRoot> = orphans.into_iter().filter(|root| !used.contains(&root.unit)).collect();
    unused.sort_by_key(|root| root.unit);
    unused.dedup_by_key(|root| root.unit);
    unused
}

fn roots_of(definition: &ObjectDefinition) -> Vec<StorageRoot> {
    definition
        .table()
        .map_or_else(Vec::new, |table| table.storage_roots().collect())
}

fn split_row<'r>(storage: &DatabaseStorage, row: &'r [u8]) -> Result<(u32, u16, &'r [u8])> {
    let header: &[u8; PART_HEADER_BYTES] = row
        .first_chunk()
        .ok_or_else(|| damaged(storage, "a catalog row is too short"))?;
    let [a, b, c, d, e, f, ..] = *header;
    Ok((
        u32::from_le_bytes([a, b, c, d]),
        u16::from_le_bytes([e, f]),
        &row[PART_HEADER_BYTES..],
    ))
}

fn damaged(storage: &DatabaseStorage, what: &str) -> Error {
    Error::damaged_content(&format!(
        "the catalog of database '{}' is damaged ({what})",
        storage.name
    ))
}
