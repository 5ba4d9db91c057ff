//! The physical layout of tables, and the pages in memory: `sys.dm_db_index_physical_stats`, `sys.dm_os_buffer_descriptors`.

use std::collections::HashMap;
use std::sync::Arc;

use engine::buffer::{HeldHeader, HeldPage};
use engine::cancel;
use engine::catalog::{StorageRoot, TableDefinition};
use engine::database::{Database, object_root};
use engine::error::{Error, Result};
use engine::lock::{LockOwner, Mode, Resource};
use engine::memory;
use engine::page::PageKind;
use engine::store::{Heap, LargeKind, PageContents, Physical, PhysicalLevel, PhysicalMode, Tree};
use engine::types::{SqlType, Value};

use super::indexes::hobt_id;
use super::listed::ListedDatabase;
use super::objects::table_of;
use super::values::big;
use super::{BIGINT, BIT, FLOAT, INT, Rows, SMALLINT, SystemView, TINYINT, all, function, nvarchar, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    function::<LevelRow>(
        "dm_db_index_physical_stats",
        &[SMALLINT, INT, INT, INT, nvarchar(20)],
        5,
        physical_statistics,
    ),
    view::<HeldRow>("sys", "dm_os_buffer_descriptors", |context, _| held_pages(context)),
];

const DESCRIPTION: SqlType = nvarchar(60);

/// A level of an index, or a heap.
struct LevelRow {
    database_id: u16,
    table: u32,
    index_id: u32,
    partition: i32,
    root: StorageRoot,
    /// The unit of large values that it is about; `None` for the rows' own.
    large: Option<LargeKind>,
    depth: u8,
    level: PhysicalLevel,
}

impl LevelRow {
    fn kind(&self) -> &'static str {
        match self.index_id {
            0 => "HEAP",
            1 => "CLUSTERED INDEX",
            _ => "NONCLUSTERED INDEX",
        }
    }

    /// What only the unit of the rows has.
    fn of_rows(&self, value: Value) -> Value {
        match self.large {
            None => value,
            Some(_) => Value::Null,
        }
    }

    /// What only pages that were read tell.
    fn content(&self, value: impl Fn(&PageContents) -> Value) -> Value {
        self.level.contents.as_ref().map_or(Value::Null, value)
    }

    fn average_row_bytes(contents: &PageContents) -> Value {
        Value::Float(contents.row_bytes as f64 / contents.rows.max(1) as f64)
    }
}

system_row!(LevelRow {
    "database_id" SMALLINT => |row| Value::SmallInt(i16::try_from(row.database_id).unwrap_or(i16::MAX));
    "object_id" INT => |row| (row.table as i32).into();
    "index_id" INT => |row| (row.index_id as i32).into();
    "partition_number" INT => |row| row.partition.into();
    "index_type_desc" DESCRIPTION => |row| row.kind().into();
    "alloc_unit_type_desc" DESCRIPTION => |row| row.large.map_or("IN_ROW_DATA", LargeKind::name).into();
    "index_depth" TINYINT => |row| Value::TinyInt(row.depth);
    "index_level" TINYINT => |row| Value::TinyInt(row.level.level);
    "avg_fragmentation_in_percent" FLOAT => |row| Value::Float(row.level.out_of_order * 100.0);
    // "NULL for nonleaf levels of an index, and LOB_DATA or ROW_OVERFLOW_DATA allocation units" (sql-docs).
    "fragment_count" BIGINT => |row| row.of_rows(big(row.level.fragments));
    "avg_fragment_size_in_pages" FLOAT => |row| {
        row.of_rows(Value::Float(row.level.pages as f64 / row.level.fragments.max(1) as f64))
    };
    "page_count" BIGINT => |row| big(row.level.pages);
    "avg_page_space_used_in_percent" FLOAT => |row| row.content(|contents| Value::Float(contents.used_share * 100.0));
    "record_count" BIGINT => |row| row.content(|contents| big(contents.rows));
    "ghost_record_count" BIGINT => |row| row.content(|contents| big(contents.ghosts));
    "version_ghost_record_count" BIGINT => |row| row.content(|contents| big(contents.version_ghosts));
    "min_record_size_in_bytes" INT => |row| row.content(|contents| (contents.row_bytes_min as i32).into());
    "max_record_size_in_bytes" INT => |row| row.content(|contents| (contents.row_bytes_max as i32).into());
    "avg_record_size_in_bytes" FLOAT => |row| row.content(LevelRow::average_row_bytes);
    "forwarded_record_count" BIGINT => |row| match row.index_id {
        0 => row.content(|contents| big(contents.forwarded)),
        _ => Value::Null,
    };
    "compressed_page_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "hobt_id" BIGINT => |row| hobt_id(row.root).into();
    "columnstore_delete_buffer_state" TINYINT => |_| Value::TinyInt(0);
    "columnstore_delete_buffer_state_desc" DESCRIPTION => |_| "NOT VALID".into();
    // Rows have no versions on pages.
    "version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "inrow_version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "inrow_diff_version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "total_inrow_version_payload_size_in_bytes" BIGINT => |row| row.content(|_| 0_i64.into());
    "offrow_regular_version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "offrow_long_term_version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
});

/// What the arguments choose: NULL and 0 are all, of indexes NULL and -1 are.
pub(super) struct Chosen {
    database: Option<i64>,
    object: Option<i64>,
    index: Option<i64>,
    partition: Option<i64>,
    mode: PhysicalMode,
}

impl Chosen {
    /// # Errors
    /// 2561 for a mode or partition that does not exist, and for an object without its database.
    pub(super) fn of(arguments: &[Value]) -> Result<Option<Chosen>> {
        let number = |place: usize| arguments.get(place).and_then(Value::as_i64);
        let mode = match arguments.get(4).and_then(Value::as_str) {
            None | Some("") => PhysicalMode::Limited,
            Some(word) => mode_of(word).ok_or_else(|| incorrect_parameter(5))?,
        };
        let chosen = Chosen {
            database: number(0).filter(|id| *id != 0),
            object: number(1).filter(|id| *id != 0),
            index: number(2).filter(|id| *id != -1),
            partition: number(3).filter(|number| *number != 0),
            mode,
        };
        if chosen.database.is_none() && chosen.object.is_some() {
            return Err(incorrect_parameter(1));
        }
        Ok(Some(chosen))
    }
}

fn mode_of(word: &str) -> Option<PhysicalMode> {
    Some(match word.trim_end().to_ascii_uppercase().as_str() {
        "DEFAULT" | "LIMITED" => PhysicalMode::Limited,
        "SAMPLED" => PhysicalMode::Sampled,
        "DETAILED" => PhysicalMode::Detailed,
        _ => return None,
    })
}

/// 2561
pub(super) fn incorrect_parameter(number: usize) -> Error {
    let text = format!("Parameter {number} is incorrect for this statement.");
    Error::new(2561, 16, 1, text)
}

/// # Errors
/// Those of the arguments; 2520 and 2573 for a database and an object that do not exist; those of reading pages.
fn physical_statistics(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some(chosen) = Chosen::of(arguments)? else {
        return all(Vec::<LevelRow>::new());
    };
    let locks = context.engine.borrow().locks().clone();
    let mut rows = Vec::new();
    for database in databases_of(context, &chosen)? {
        let _open = Held::take(&locks, Resource::Database(database.id), Mode::S)?;
        database.check_open()?;
        for id in tables_of(context, &database, &chosen)? {
            // "Requires only an Intent-Shared (IS) table lock, regardless of the mode" (sql-docs).
            let _kept = Held::take(&locks, Resource::Object(database.id, id), Mode::IS)?;
            let object = database.catalog.by_id(id, context.session_id);
            // One that was dropped while its lock was waited for has no rows.
            if let Some(table) = object.as_deref().and_then(table_of) {
                add_levels(&database, table, &chosen, &mut rows)?;
            }
        }
    }
    all(rows)
}

/// A lock that is given back when this is dropped, down to what the session had before.
struct Held<'l> {
    locks: &'l LockOwner,
    resource: Resource,
    before: Option<Mode>,
}

impl<'l> Held<'l> {
    fn take(locks: &'l LockOwner, resource: Resource, mode: Mode) -> Result<Held<'l>> {
        let before = locks.mode_of(&resource);
        locks.lock(resource, mode)?;
        Ok(Held {
            locks,
            resource,
            before,
        })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let now = self.locks.mode_of(&self.resource);
        if let Some(taken) = now.filter(|_| now != self.before) {
            self.locks.end_of_statement(self.resource, taken, self.before);
        }
    }
}

pub(super) fn databases_of(context: &SystemContext<'_>, chosen: &Chosen) -> Result<Vec<Arc<Database>>> {
    match chosen.database {
        None => Ok(ListedDatabase::every(context)
            .into_iter()
            .filter_map(|listed| listed.database)
            .collect()),
        Some(id) => {
            let slot = context.slot_by_id(id).ok_or_else(|| {
                let text = format!(
                    "Could not find database ID {id}. The database ID either does not exist, or the database was dropped before a \
                     statement tried to use it. Verify if the database ID exists by querying the sys.databases catalog view."
                );
                Error::new(2520, 16, 9, text)
            })?;
            Ok(vec![slot.database()?])
        }
    }
}

pub(super) fn tables_of(context: &SystemContext<'_>, database: &Database, chosen: &Chosen) -> Result<Vec<u32>> {
    let (catalog, session) = (&database.catalog, context.session_id);
    let Some(id) = chosen.object else {
        let objects = catalog.objects(session);
        let tables = objects.iter().filter_map(|object| table_of(object));
        return Ok(tables.map(|table| table.object_id).collect());
    };
    let object = u32::try_from(id).ok().and_then(|id| catalog.by_id(id, session));
    let table = object.as_deref().and_then(table_of).map(|table| table.object_id);
    let missing = || {
        let text = format!("Could not find table or object ID {id}. Check system catalog.");
        Error::new(2573, 16, 1, text)
    };
    Ok(vec![table.ok_or_else(missing)?])
}

/// A table's heap and indexes, as far as they are chosen.
pub(super) fn roots_of<'t>(
    table: &'t TableDefinition,
    chosen: &'t Chosen,
) -> impl Iterator<Item = (u32, i32, StorageRoot)> + 't {
    let every = table.partition_roots().into_iter();
    let every = every.map(|(index, number, root)| (index.map_or(0, |index| index.index_id), number as i32, root));
    every.filter(|(index_id, number, _)| {
        chosen.index.is_none_or(|wanted| wanted == i64::from(*index_id))
            && chosen.partition.is_none_or(|wanted| wanted == i64::from(*number))
    })
}

/// The levels of a table's heap and indexes, as far as they are chosen.
fn add_levels(database: &Database, table: &TableDefinition, chosen: &Chosen, rows: &mut Vec<LevelRow>) -> Result<()> {
    for (index_id, partition, root) in roots_of(table, chosen) {
        let Physical { depth, levels } = physical_of(database, table, index_id, root, chosen.mode)?;
        rows.extend(levels.into_iter().map(|level| LevelRow {
            database_id: database.id,
            table: table.object_id,
            index_id,
            partition,
            root,
            large: None,
            depth,
            level,
        }));
        let beside = database.space.large_space(&database.storage, object_root(&root))?;
        rows.extend(beside.into_iter().map(|unit| LevelRow {
            database_id: database.id,
            table: table.object_id,
            index_id,
            partition,
            root,
            large: Some(unit.kind),
            depth: 1,
            level: PhysicalLevel {
                level: 0,
                pages: unit.pages.used + unit.pages.given_up,
                fragments: 0,
                out_of_order: 0.0,
                contents: None,
            },
        }));
    }
    Ok(())
}

fn physical_of(
    database: &Database,
    table: &TableDefinition,
    index_id: u32,
    root: StorageRoot,
    mode: PhysicalMode,
) -> Result<Physical> {
    let (storage, space, root) = (&database.storage, &database.space, object_root(&root));
    match index_id {
        0 => Heap::open(storage, space, root, table.object_id)?.physical(storage, mode),
        _ => Tree::open(storage, space, root, table.object_id)?.physical(storage, mode),
    }
}

/// A page in memory, and the unit that it belongs to, where the session sees the table.
struct HeldRow {
    page: HeldPage,
    unit: Option<u32>,
}

impl HeldRow {
    fn header(&self, value: impl Fn(&HeldHeader) -> Value) -> Value {
        self.page.header.as_ref().map_or(Value::Null, value)
    }
}

/// The words of SQL Server for what its pages are for; extent lists do what its allocation maps of objects do.
fn page_type(header: &HeldHeader) -> Value {
    match header.kind {
        Some(PageKind::Heap | PageKind::TreeLeaf) => "DATA_PAGE".into(),
        Some(PageKind::TreeBranch) => "INDEX_PAGE".into(),
        Some(PageKind::LargeData) => "TEXT_MIX_PAGE".into(),
        Some(PageKind::LargeBranch) => "TEXT_TREE_PAGE".into(),
        Some(PageKind::SpaceMap) => "GAM_PAGE".into(),
        Some(PageKind::ExtentList) => "IAM_PAGE".into(),
        Some(PageKind::Boot) => "BOOT_PAGE".into(),
        Some(PageKind::FileHeader) => "FILEHEADER_PAGE".into(),
        Some(PageKind::ChangeMap) => "DIFF_MAP_PAGE".into(),
        Some(PageKind::Free) | None => Value::Null,
    }
}

system_row!(HeldRow {
    "database_id" INT => |row| i32::from(row.page.database.0).into();
    "file_id" INT => |row| i32::from(row.page.page.file).into();
    "page_id" INT => |row| i32::try_from(row.page.page.page).unwrap_or(i32::MAX).into();
    "page_level" INT => |row| row.header(|header| i32::from(header.level).into());
    "allocation_unit_id" BIGINT => |row| row.unit.map_or(Value::Null, |unit| i64::from(unit).into());
    "page_type" DESCRIPTION => |row| row.header(page_type);
    "row_count" INT => |row| row.header(|header| i32::from(header.rows).into());
    "free_space_in_bytes" INT => |row| row.header(|header| (header.free_bytes as i32).into());
    "is_modified" BIT => |row| row.page.is_dirty.into();
    "numa_node" INT => |_| 0.into();
    "read_microsec" BIGINT => |_| Value::Null;
    "is_in_bpool_extension" BIT => |_| false.into();
    "error_code" INT => |_| 0.into();
    "op_history" BIGINT => |_| Value::Null;
});

/// What a row of the answer takes at least, in bytes.
const HELD_ROW_BYTES: usize = size_of::<HeldRow>() + HELD_COLUMNS * size_of::<Value>();
const HELD_COLUMNS: usize = 14;

fn held_pages(context: &SystemContext<'_>) -> Rows {
    let pool = &context.instance.pool;
    let _charge = memory::require(pool.counters().frames_used * HELD_ROW_BYTES)?;
    let units = units(context);
    let mut rows = Vec::new();
    pool.for_each_held(|page| {
        cancel::spend(1)?;
        let object = page.header.filter(|header| header.kind.is_some_and(PageKind::has_rows));
        let unit = object.and_then(|header| units.get(&(page.database.0, header.object.0)).copied());
        rows.push(HeldRow { page, unit });
        Ok::<(), Error>(())
    })?;
    all(rows)
}

/// The allocation units of all heaps and indexes that the session sees, by their database and the number in the headers of their pages.
fn units(context: &SystemContext<'_>) -> HashMap<(u16, u32), u32> {
    let mut units = HashMap::new();
    for database in ListedDatabase::every(context)
        .into_iter()
        .filter_map(|listed| listed.database)
    {
        for object in database.catalog.objects(context.session_id) {
            let Some(table) = table_of(&object) else { continue };
            let roots = table.storage_roots();
            units.extend(roots.map(|root| ((database.id, object_root(&root).object.0), root.unit)));
        }
    }
    units
}
