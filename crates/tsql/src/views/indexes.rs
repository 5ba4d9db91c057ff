//! Indexes and the storage of tables: `sys.indexes`, `sys.partitions`, `sys.allocation_units`.

use std::collections::{BTreeSet, HashMap};

use engine::buffer::DatabaseStorage;
use engine::cancel;
use engine::catalog::{CatalogObject, IndexDefinition, IndexOptions, ObjectDefinition, StorageRoot, TableDefinition};
use engine::database::{Database, object_root};
use engine::error::Result;
use engine::lock::{LockOwner, LockRow, Resource};
use engine::store::{Heap, LargeKind, LargeSpace, ObjectRoot, ReadMode, SpaceUsage, Tree};
use engine::types::{SqlType, Value};

use super::objects::{ObjectRow, table_of, with_columns, with_indexes};
use super::values::big;
use super::{BIGINT, BIT, INT, NAME, Rows, SMALLINT, SystemView, TINYINT, all, nvarchar, system_row, view};
use crate::modules::filter_text;
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<IndexRow>("sys", "indexes", |context, _| all(every_index(context))),
    view::<KeyColumnRow>("sys", "index_columns", index_columns),
    view::<OldIndex>("sys", "sysindexes", old_indexes),
    view::<PartitionRow>("sys", "partitions", partitions),
    view::<AllocationUnit>("sys", "allocation_units", allocation_units),
    view::<PartitionStatistics>("sys", "dm_db_partition_stats", partition_statistics),
];

/// An index, or the heap of a table that has no clustered one; or a partition of it.
#[derive(Clone)]
struct IndexRow {
    owner: ObjectRow,
    index: Option<IndexDefinition>,
    root: StorageRoot,
    /// Of a heap: `data_space_id` of its table.
    heap_space: u32,
    /// The roots of the partitions behind the first one.
    other_roots: Vec<StorageRoot>,
    /// The number of the partition that `root` is of.
    partition: i32,
}

impl IndexRow {
    fn id(&self) -> i32 {
        self.index.as_ref().map_or(0, |index| index.index_id as i32)
    }

    fn kind(&self) -> (u8, &'static str) {
        match self.id() {
            0 => (0, "HEAP"),
            1 => (1, "CLUSTERED"),
            _ => (2, "NONCLUSTERED"),
        }
    }

    fn is(&self, test: fn(&IndexDefinition) -> bool) -> Value {
        self.index.as_ref().is_some_and(test).into()
    }

    /// Those of a heap are the defaults.
    fn options(&self) -> IndexOptions {
        self.index.as_ref().map(|index| index.options).unwrap_or_default()
    }

    /// `data_space_id`
    fn data_space(&self) -> i32 {
        let space = self.index.as_ref().map_or(self.heap_space, |index| index.data_space);
        i32::try_from(space).unwrap_or(i32::MAX)
    }

    fn hobt_id(&self) -> i64 {
        hobt_id(self.root)
    }
}

/// The partition and its allocation unit share the unit's number.
pub(crate) fn hobt_id(root: StorageRoot) -> i64 {
    engine::session::rowset_id(root.unit)
}

/// A heap or index, as views of locks name it.
#[derive(Clone, Copy)]
pub(crate) struct RowHolder {
    pub(crate) object_id: u32,
    /// 0 for a heap, whose rows are locked by their places; rows of indexes are locked by their keys.
    pub(crate) index_id: u32,
    pub(crate) hobt_id: i64,
}

/// The heaps and indexes of databases, by the database and the number that their rows are locked under.
#[derive(Default)]
pub(crate) struct RowHolders(HashMap<(u16, u32), RowHolder>);

impl RowHolders {
    /// Those of the databases in which rows are locked, as far as the session sees their tables.
    pub(crate) fn of(context: &SystemContext<'_>, rows: &[LockRow]) -> RowHolders {
        let locked = rows.iter().filter_map(|row| match row.resource {
            Resource::Row(database, ..) => Some(database),
            _ => None,
        });
        let mut holders = RowHolders::default();
        for database_id in locked.collect::<BTreeSet<u16>>() {
            let slot = context.slot_by_id(i64::from(database_id));
            if let Some(Ok(database)) = slot.map(|slot| slot.database()) {
                let objects = database.catalog.objects(context.session_id);
                let tables = objects.iter().filter_map(|object| table_of(object));
                tables.for_each(|table| holders.add(database_id, table));
            }
        }
        holders
    }

    fn add(&mut self, database_id: u16, table: &TableDefinition) {
        for (index, _, root) in table.partition_roots() {
            let index_id = index.map_or(0, |index| index.index_id);
            let holder = RowHolder {
                object_id: table.object_id,
                index_id,
                hobt_id: hobt_id(root),
            };
            self.0.insert((database_id, object_root(&root).object.0), holder);
        }
    }

    /// What holds a row; none of another resource, and where the session sees no such table.
    pub(crate) fn holder(&self, resource: &Resource) -> Option<RowHolder> {
        match *resource {
            Resource::Row(database, storage, _) => self.0.get(&(database, storage)).copied(),
            _ => None,
        }
    }
}

/// Whether an index is switched off: a nonclustered one has no storage then.
fn is_disabled(index: &IndexDefinition) -> bool {
    index.is_disabled
}

/// The id of a clustered index.
const CLUSTERED: u32 = 1;
/// Of what a table type says its variables have.
const NO_STORAGE: StorageRoot = StorageRoot {
    unit: 0,
    first_iam: (0, 0),
};

/// Heaps and indexes of tables and views.
fn indexes(context: &SystemContext<'_>) -> Vec<IndexRow> {
    let mut rows = Vec::new();
    for (owner, object) in with_indexes(context) {
        let Some(table) = table_of(&object) else { continue };
        rows.extend(indexes_of(owner, table));
    }
    rows
}

fn indexes_of(owner: ObjectRow, table: &TableDefinition) -> impl Iterator<Item = IndexRow> {
    let heap = table.heap.map(|root| (root, None, table.other_partitions.clone()));
    // A row for each partition has a copy of the index: the roots of all partitions are not among its parts.
    let without_roots = |index: &IndexDefinition| IndexDefinition {
        other_partitions: Vec::new(),
        ..index.clone()
    };
    let indexes = table.every_index().map(move |index| {
        (
            index.storage,
            Some(without_roots(index)),
            index.other_partitions.clone(),
        )
    });
    heap.into_iter()
        .chain(indexes)
        .map(move |(root, index, other_roots)| IndexRow {
            owner: owner.clone(),
            index,
            root,
            heap_space: table.data_space,
            other_roots,
            partition: 1,
        })
}

/// These, and the indexes that variables of a table type have, under the `type_table_object_id` of the type.
fn every_index(context: &SystemContext<'_>) -> Vec<IndexRow> {
    let mut rows = indexes(context);
    for (owner, object) in with_columns(context) {
        let ObjectDefinition::TableType(own) = &object.definition else {
            continue;
        };
        if own.table.every_index().all(|index| index.index_id != CLUSTERED) {
            rows.push(IndexRow {
                owner: owner.clone(),
                index: None,
                root: NO_STORAGE,
                heap_space: own.table.data_space,
                other_roots: Vec::new(),
                partition: 1,
            });
        }
        rows.extend(indexes_of(owner, &own.table));
    }
    rows
}

system_row!(IndexRow {
    "object_id" INT => |row| row.owner.object_id.into();
    "name" NAME => |row| row.index.as_ref().map(|index| index.name.as_str()).into();
    "index_id" INT => |row| row.id().into();
    "type" TINYINT => |row| Value::TinyInt(row.kind().0);
    "type_desc" nvarchar(60) => |row| row.kind().1.into();
    "is_unique" BIT => |row| row.is(|index| index.unique);
    "data_space_id" INT => |row| row.data_space().into();
    "ignore_dup_key" BIT => |row| row.options().ignores_duplicates.into();
    "is_primary_key" BIT => |row| row.is(|index| index.primary_key);
    "is_unique_constraint" BIT => |row| row.is(|index| index.unique_constraint);
    "fill_factor" TINYINT => |row| Value::TinyInt(row.options().fill_factor_percent);
    "is_padded" BIT => |row| row.options().is_padded.into();
    "is_disabled" BIT => |row| row.index.as_ref().is_some_and(is_disabled).into();
    "is_hypothetical" BIT => |_| false.into();
    "is_ignored_in_optimization" BIT => |_| false.into();
    "allow_row_locks" BIT => |row| row.options().allows_row_locks.into();
    "allow_page_locks" BIT => |row| row.options().allows_page_locks.into();
    "has_filter" BIT => |row| row.is(|index| index.filter.is_some());
    "filter_definition" nvarchar(4000) => |row| {
        let filter = row.index.as_ref().and_then(|index| index.filter.as_ref());
        filter.map(|filter| filter_text(&filter.text)).into()
    };
    "compression_delay" INT => |_| Value::Null;
    "suppress_dup_key_messages" BIT => |_| false.into();
    "auto_created" BIT => |_| false.into();
    "optimize_for_sequential_key" BIT => |row| row.options().is_optimized_for_sequential_key.into();
});

struct KeyColumnRow {
    object_id: i32,
    index_id: i32,
    place: i32,
    column: usize,
    descending: bool,
    included: bool,
}

system_row!(KeyColumnRow {
    "object_id" INT => |row| row.object_id.into();
    "index_id" INT => |row| row.index_id.into();
    "index_column_id" INT => |row| row.place.into();
    "column_id" INT => |row| (row.column as i32 + 1).into();
    "key_ordinal" TINYINT => |row| Value::TinyInt(if row.included { 0 } else { row.place as u8 });
    "partition_ordinal" TINYINT => |_| Value::TinyInt(0);
    "is_descending_key" BIT => |row| row.descending.into();
    "is_included_column" BIT => |row| row.included.into();
    "column_store_order_ordinal" TINYINT => |_| Value::TinyInt(0);
});

fn index_columns(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for row in every_index(context) {
        let Some(index) = &row.index else { continue };
        let keys = index
            .keys
            .iter()
            .map(|&(column, descending)| (column, descending, false));
        let included = index.included.iter().map(|&column| (column, false, true));
        for (place, (column, descending, included)) in keys.chain(included).enumerate() {
            let place = place as i32 + 1;
            rows.push(KeyColumnRow {
                object_id: row.owner.object_id,
                index_id: row.id(),
                place,
                column,
                descending,
                included,
            });
        }
    }
    all(rows)
}

/// Rows and pages of one heap or index.
pub(crate) struct Storage {
    /// Rows; those not yet committed too.
    pub(crate) rows: u64,
    /// Pages.
    pub(crate) usage: SpaceUsage,
    /// Pages of values outside of the rows.
    pub(crate) large: Vec<LargeSpace>,
}

impl Storage {
    /// Pages of large values in use, and of their extents.
    fn large_pages(&self, kind: LargeKind) -> (u64, u64) {
        let unit = self.large.iter().find(|unit| unit.kind == kind);
        unit.map_or((0, 0), |unit| (unit.pages.in_use(), unit.pages.reserved))
    }

    /// Pages of all large values in use, and of their extents.
    pub(crate) fn all_large_pages(&self) -> (u64, u64) {
        let (lob, overflow) = (
            self.large_pages(LargeKind::Lob),
            self.large_pages(LargeKind::RowOverflow),
        );
        (lob.0 + overflow.0, lob.1 + overflow.1)
    }

    /// Pages in use, and of all extents.
    fn pages(&self) -> (u64, u64) {
        let (used, reserved) = self.all_large_pages();
        (
            self.usage.data_pages + self.usage.index_pages + used,
            self.usage.reserved_pages + reserved,
        )
    }
}

/// Space and, where wanted, rows of a heap or index. Rows are counted once; from then on their number is kept.
pub(crate) fn storage_of(
    context: &SystemContext<'_>,
    table: &TableDefinition,
    index: Option<&IndexDefinition>,
    root: StorageRoot,
    counts_rows: bool,
) -> Result<Storage> {
    let database = &context.database;
    let (storage, space) = (&database.storage, &database.space);
    let root = object_root(&root);
    let known = if counts_rows {
        storage.row_counts.get(root.object)
    } else {
        Some(0)
    };
    let locks = context.engine.borrow().locks().clone();
    let (rows, usage) = match index {
        None => {
            let heap = Heap::open(storage, space, root, table.object_id)?;
            let rows = known.map_or_else(|| count_heap(storage, &locks, &heap), Ok)?;
            (rows, heap.space_usage())
        }
        Some(_) => {
            let tree = Tree::open(storage, space, root, table.object_id)?;
            let rows = known.map_or_else(|| count_tree(storage, &locks, &tree), Ok)?;
            (rows, tree.space_usage(storage)?)
        }
    };
    if known.is_none() {
        storage.row_counts.set(root.object, rows);
    }
    let large = space.large_space(storage, root)?;
    Ok(Storage { rows, usage, large })
}

/// The rows of a table: as known, or counted.
pub(crate) fn rows_of_table(database: &Database, locks: &LockOwner, object: &CatalogObject) -> Result<u64> {
    let Some(table) = table_of(object) else { return Ok(0) };
    let (storage, space) = (&database.storage, &database.space);
    let roots = table.partition_roots().into_iter();
    let of_rows = roots.filter(|(index, ..)| index.is_none_or(|index| index.index_id == CLUSTERED));
    let mut sum = 0;
    for (index, _, root) in of_rows {
        let root = object_root(&root);
        if let Some(rows) = storage.row_counts.get(root.object) {
            // A count that is kept is not set: that would take back what others add to it meanwhile.
            sum += rows;
            continue;
        }
        let rows = match index {
            None => count_heap(storage, locks, &Heap::open(storage, space, root, table.object_id)?)?,
            Some(_) => count_tree(storage, locks, &Tree::open(storage, space, root, table.object_id)?)?,
        };
        storage.row_counts.set(root.object, rows);
        sum += rows;
    }
    Ok(sum)
}

fn count_heap(storage: &DatabaseStorage, locks: &LockOwner, heap: &Heap) -> Result<u64> {
    let mut rows = 0;
    let mut scan = heap.scan(storage, locks, ReadMode::Uncommitted)?;
    let mut batch = engine::store::RowBatch::default();
    while scan.next_page(&mut batch)? {
        rows += batch.len() as u64;
    }
    Ok(rows)
}

fn count_tree(storage: &DatabaseStorage, locks: &LockOwner, tree: &Tree) -> Result<u64> {
    let mut rows = 0;
    let everything = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    let mut scan = tree.scan(storage, locks, ReadMode::Uncommitted, everything, false);
    let mut batch = engine::store::TreeBatch::default();
    while scan.next_page(&mut batch)? {
        rows += batch.len() as u64;
    }
    Ok(rows)
}

struct PartitionRow {
    index: IndexRow,
    rows: u64,
}

system_row!(PartitionRow {
    "partition_id" BIGINT => |row| row.index.hobt_id().into();
    "object_id" INT => |row| row.index.owner.object_id.into();
    "index_id" INT => |row| row.index.id().into();
    "partition_number" INT => |row| row.index.partition.into();
    "hobt_id" BIGINT => |row| row.index.hobt_id().into();
    "rows" BIGINT => |row| big(row.rows);
    "filestream_filegroup_id" SMALLINT => |_| Value::SmallInt(0);
    "data_compression" TINYINT => |_| Value::TinyInt(0);
    "data_compression_desc" nvarchar(60) => |_| "NONE".into();
});

/// Heaps and indexes that have pages: a nonclustered index that is switched off has none (SQL Server docs, "Disable indexes and constraints":
/// its data are deleted, those of a table's clustered one are kept).
fn stored(context: &SystemContext<'_>) -> impl Iterator<Item = IndexRow> {
    let stored = indexes(context).into_iter().filter(|row| {
        let index = row.index.as_ref();
        index.is_none_or(|index| !is_disabled(index) || index.index_id == CLUSTERED && row.root != NO_STORAGE)
    });
    stored.flat_map(|mut row| {
        let others = std::mem::take(&mut row.other_roots);
        let first = row.clone();
        let others = (2..).zip(others).map(move |(partition, root)| IndexRow {
            root,
            partition,
            ..first.clone()
        });
        std::iter::once(row).chain(others)
    })
}

/// Every index that has pages with its storage. All indexes of a table have as many rows as the table: they are counted once.
fn counted(context: &SystemContext<'_>) -> Result<Vec<(IndexRow, Storage)>> {
    let mut rows: Vec<(IndexRow, Storage)> = Vec::new();
    // Of each partition of the table under way.
    let mut counts: HashMap<i32, u64> = HashMap::new();
    for row in stored(context) {
        cancel::spend(1)?;
        let is_another = rows
            .last()
            .is_some_and(|(last, _)| last.owner.object_id != row.owner.object_id);
        if is_another {
            counts.clear();
        }
        let object = context
            .database
            .catalog
            .by_id(row.owner.object_id as u32, context.session_id);
        let Some(table) = object.as_deref().and_then(table_of) else {
            continue;
        };
        let known = counts.get(&row.partition).copied();
        let mut storage = storage_of(context, table, row.index.as_ref(), row.root, known.is_none())?;
        storage.rows = known.unwrap_or(storage.rows);
        counts.insert(row.partition, storage.rows);
        rows.push((row, storage));
    }
    Ok(rows)
}

fn partitions(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    all(counted(context)?.into_iter().map(|(index, storage)| PartitionRow {
        index,
        rows: storage.rows,
    }))
}

/// Rows and pages of data of each index of a table; of its heap under 0.
pub(crate) fn sizes_of(context: &SystemContext<'_>, object_id: i32) -> Result<Vec<(u32, u64, u64)>> {
    let counted = counted(context)?.into_iter();
    let own = counted.filter(|(index, _)| index.owner.object_id == object_id);
    let mut sizes: Vec<(u32, u64, u64)> = Vec::new();
    for (index, storage) in own {
        let id = index.id() as u32;
        match sizes.last_mut().filter(|(last, ..)| *last == id) {
            Some((_, rows, pages)) => (*rows, *pages) = (*rows + storage.rows, *pages + storage.usage.data_pages),
            None => sizes.push((id, storage.rows, storage.usage.data_pages)),
        }
    }
    Ok(sizes)
}

struct AllocationUnit {
    unit: u32,
    kind: (u8, &'static str),
    container: i64,
    /// Of the first file that it was allocated in.
    data_space: i32,
    total_pages: u64,
    used_pages: u64,
    /// Pages of rows: large values have none (sql-docs, "sys.allocation_units": `data_pages` of LOB data is 0).
    data_pages: u64,
}

system_row!(AllocationUnit {
    "allocation_unit_id" BIGINT => |row| i64::from(row.unit).into();
    "type" TINYINT => |row| Value::TinyInt(row.kind.0);
    "type_desc" nvarchar(60) => |row| row.kind.1.into();
    "container_id" BIGINT => |row| row.container.into();
    "data_space_id" INT => |row| row.data_space.into();
    "total_pages" BIGINT => |row| big(row.total_pages);
    "used_pages" BIGINT => |row| big(row.used_pages);
    "data_pages" BIGINT => |row| big(row.data_pages);
});

fn allocation_units(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    let files = &context.database.storage.files;
    let space_of = |root: ObjectRoot| i32::from(files.filegroup_of(root.first_iam.file));
    for row in stored(context) {
        let object = context
            .database
            .catalog
            .by_id(row.owner.object_id as u32, context.session_id);
        let Some(table) = object.as_deref().and_then(table_of) else {
            continue;
        };
        let Storage { usage, large, .. } = storage_of(context, table, row.index.as_ref(), row.root, false)?;
        rows.push(AllocationUnit {
            unit: row.root.unit,
            kind: (1, "IN_ROW_DATA"),
            container: row.hobt_id(),
            data_space: space_of(object_root(&row.root)),
            total_pages: usage.reserved_pages,
            used_pages: usage.data_pages + usage.index_pages,
            data_pages: usage.data_pages,
        });
        rows.extend(large.into_iter().map(|unit| AllocationUnit {
            unit: unit.root.object.0,
            kind: (unit.kind as u8, unit.kind.name()),
            container: row.hobt_id(),
            data_space: space_of(unit.root),
            total_pages: unit.pages.reserved,
            used_pages: unit.pages.in_use(),
            data_pages: 0,
        }));
    }
    all(rows)
}

struct PartitionStatistics(IndexRow, Storage);

system_row!(PartitionStatistics {
    "partition_id" BIGINT => |row| row.0.hobt_id().into();
    "object_id" INT => |row| row.0.owner.object_id.into();
    "index_id" INT => |row| row.0.id().into();
    "partition_number" INT => |row| row.0.partition.into();
    "in_row_data_page_count" BIGINT => |row| big(row.1.usage.data_pages);
    "in_row_used_page_count" BIGINT => |row| big(row.1.usage.data_pages + row.1.usage.index_pages);
    "in_row_reserved_page_count" BIGINT => |row| big(row.1.usage.reserved_pages);
    "lob_used_page_count" BIGINT => |row| big(row.1.large_pages(LargeKind::Lob).0);
    "lob_reserved_page_count" BIGINT => |row| big(row.1.large_pages(LargeKind::Lob).1);
    "row_overflow_used_page_count" BIGINT => |row| big(row.1.large_pages(LargeKind::RowOverflow).0);
    "row_overflow_reserved_page_count" BIGINT => |row| big(row.1.large_pages(LargeKind::RowOverflow).1);
    "used_page_count" BIGINT => |row| big(row.1.pages().0);
    "reserved_page_count" BIGINT => |row| big(row.1.pages().1);
    "row_count" BIGINT => |row| big(row.1.rows);
});

fn partition_statistics(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    all(counted(context)?
        .into_iter()
        .map(|(index, storage)| PartitionStatistics(index, storage)))
}

struct OldIndex(IndexRow, Storage);

system_row!(OldIndex {
    "id" INT => |row| row.0.owner.object_id.into();
    "status" INT => |row| (2 * i32::from(row.0.index.as_ref().is_some_and(|index| index.unique))).into();
    "indid" SMALLINT => |row| Value::SmallInt(row.0.id() as i16);
    "dpages" INT => |row| (row.1.usage.data_pages as i32).into();
    "reserved" INT => |row| (row.1.pages().1 as i32).into();
    "used" INT => |row| (row.1.pages().0 as i32).into();
    "rowcnt" BIGINT => |row| big(row.1.rows);
    "rows" INT => |row| i32::try_from(row.1.rows).unwrap_or(i32::MAX).into();
    "name" SqlType::SYSNAME => |row| row.0.index.as_ref().map(|index| index.name.as_str()).into();
});

fn old_indexes(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    all(counted(context)?
        .into_iter()
        .map(|(index, storage)| OldIndex(index, storage)))
}
