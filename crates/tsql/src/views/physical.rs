//! How tables lie in their pages, and which pages are in memory: `sys.dm_db_index_physical_stats`, `sys.dm_os_buffer_descriptors`.

use std::collections::HashMap;
use std::sync::Arc;

use engine::buffer::{HeldHeader, HeldPage};
use engine::cancel;
use engine::catalog::{ModuleKind, ObjectDefinition, StorageRoot, TableDefinition};
use engine::database::{AccessMode, Database, object_root};
use engine::error::{Error, Result};
use engine::lock::{LockOwner, Mode, Resource};
use engine::memory;
use engine::page::PageKind;
use engine::store::{Heap, PageContents, Physical, PhysicalLevel, PhysicalMode, Tree};
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
    root: StorageRoot,
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

    /// What only pages that were read tell.
    fn content(&self, value: impl Fn(&PageContents) -> Value) -> Value {
        self.level.contents.as_ref().map_or(Value::Null, value)
    }

    /// "NULL for nonleaf levels of an index" (sql-docs); and where it is not known.
    fn fragments(&self, value: impl Fn(u64) -> Value) -> Value {
        let known = self.level.fragments.filter(|_| self.level.level == 0);
        known.map_or(Value::Null, value)
    }

    fn average_row_bytes(contents: &PageContents) -> Value {
        Value::Float(contents.row_bytes as f64 / contents.rows.max(1) as f64)
    }
}

system_row!(LevelRow {
    "database_id" SMALLINT => |row| Value::SmallInt(i16::try_from(row.database_id).unwrap_or(i16::MAX));
    "object_id" INT => |row| (row.table as i32).into();
    "index_id" INT => |row| (row.index_id as i32).into();
    "partition_number" INT => |_| 1.into();
    "index_type_desc" DESCRIPTION => |row| row.kind().into();
    "alloc_unit_type_desc" DESCRIPTION => |_| "IN_ROW_DATA".into();
    "index_depth" TINYINT => |row| Value::TinyInt(row.depth);
    "index_level" TINYINT => |row| Value::TinyInt(row.level.level);
    "avg_fragmentation_in_percent" FLOAT => |row| {
        row.level.out_of_order.map_or(Value::Null, |share| Value::Float(share * 100.0))
    };
    "fragment_count" BIGINT => |row| row.fragments(big);
    "avg_fragment_size_in_pages" FLOAT => |row| {
        row.fragments(|fragments| Value::Float(row.level.pages as f64 / fragments.max(1) as f64))
    };
    "page_count" BIGINT => |row| big(row.level.pages);
    "avg_page_space_used_in_percent" FLOAT => |row| row.content(|contents| Value::Float(contents.used_share * 100.0));
    "record_count" BIGINT => |row| row.content(|contents| big(contents.rows));
    "ghost_record_count" BIGINT => |row| row.content(|contents| big(contents.ghosts));
    // There are no versions of rows.
    "version_ghost_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
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
    "version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "inrow_version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "inrow_diff_version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "total_inrow_version_payload_size_in_bytes" BIGINT => |row| row.content(|_| 0_i64.into());
    "offrow_regular_version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
    "offrow_long_term_version_record_count" BIGINT => |row| row.content(|_| 0_i64.into());
});

/// What the arguments choose: NULL and 0 are all, of indexes NULL and -1 are.
struct Chosen {
    database: Option<i64>,
    object: Option<i64>,
    index: Option<i64>,
    mode: PhysicalMode,
}

impl Chosen {
    /// # Errors
    /// 2561 for a mode that does not exist, and for what is chosen within something that is not: "If you specify NULL for index_id, you
    /// must also specify NULL for partition_number" (sql-docs), and so on upward. Which parameter is named is inferred: the missing one.
    fn of(arguments: &[Value]) -> Result<Option<Chosen>> {
        let number = |place: usize| arguments.get(place).and_then(Value::as_i64);
        let mode = match arguments.get(4).and_then(Value::as_str) {
            None | Some("") => PhysicalMode::Limited,
            Some(word) => mode_of(word).ok_or_else(|| incorrect_parameter(5))?,
        };
        let chosen = Chosen {
            database: number(0).filter(|id| *id != 0),
            object: number(1).filter(|id| *id != 0),
            index: number(2).filter(|id| *id != -1),
            mode,
        };
        let partition = number(3).filter(|number| *number != 0);
        let chain = [chosen.database, chosen.object, chosen.index, partition];
        if let Some(missing) = (1..chain.len()).find(|place| chain[place - 1].is_none() && chain[*place].is_some()) {
            return Err(incorrect_parameter(missing));
        }
        // There is one partition of everything.
        Ok(matches!(partition, None | Some(1)).then_some(chosen))
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
fn incorrect_parameter(number: usize) -> Error {
    let text = format!("Parameter {number} is incorrect for this statement.");
    Error::new(2561, 16, 1, text)
}

/// Errors: those of the arguments; 2521, 2573 and 2591 for a database, an object and an index that do not exist; those of reading pages.
fn physical_statistics(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some(chosen) = Chosen::of(arguments)? else {
        return all(Vec::<LevelRow>::new());
    };
    let locks = context.engine.borrow().locks().clone();
    let mut rows = Vec::new();
    for database in databases_of(context, &chosen)? {
        let (resource, is_one_of_all) = (Resource::Database(database.id), chosen.database.is_none());
        // Of all databases, those that others have for themselves, or that close meanwhile, are left out.
        let open = match is_one_of_all {
            true => Held::try_take(&locks, resource),
            false => Some(Held::take(&locks, resource, Mode::S)?),
        };
        let Some(_open) = open else { continue };
        match database.check_open() {
            Err(_) if is_one_of_all => continue,
            checked => checked?,
        }
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

    /// A shared lock, if it can be had without waiting.
    fn try_take(locks: &'l LockOwner, resource: Resource) -> Option<Held<'l>> {
        let before = locks.mode_of(&resource);
        locks.try_lock(resource, Mode::S).then_some(Held {
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

fn databases_of(context: &SystemContext<'_>, chosen: &Chosen) -> Result<Vec<Arc<Database>>> {
    match chosen.database {
        None => Ok(ListedDatabase::every(context)
            .into_iter()
            .filter_map(|listed| listed.database)
            .filter(|database| !is_anothers(context, database))
            .collect()),
        Some(id) => {
            let slot = context.slot_by_id(id).ok_or_else(|| {
                let text = format!(
                    "Could not find database ID {id}. The database ID either does not exist, or the database was dropped before a \
                     statement tried to use it. Verify if the database ID exists by querying the sys.databases catalog view."
                );
                Error::new(2521, 16, 1, text)
            })?;
            Ok(vec![slot.database()?])
        }
    }
}

/// Whether another session has the database for itself (SINGLE_USER) and is in it.
fn is_anothers(context: &SystemContext<'_>, database: &Database) -> bool {
    let session = context.session_id;
    matches!(database.access(), AccessMode::Single(owner) if owner != session)
        && !context.instance.users_of(database.id, session).is_empty()
}

fn tables_of(context: &SystemContext<'_>, database: &Database, chosen: &Chosen) -> Result<Vec<u32>> {
    let (catalog, session) = (&database.catalog, context.session_id);
    let Some(id) = chosen.object else {
        let objects = catalog.objects(session);
        let tables = objects.iter().filter_map(|object| table_of(object));
        return Ok(tables.map(|table| table.object_id).collect());
    };
    let object = u32::try_from(id).ok().and_then(|id| catalog.by_id(id, session));
    match object.as_deref().map(|object| &object.definition) {
        Some(ObjectDefinition::Table(table)) => Ok(vec![table.object_id]),
        // A view may have indexes; none of these has one.
        Some(ObjectDefinition::Module(module)) if module.kind == ModuleKind::View => Ok(Vec::new()),
        _ => {
            let text = format!("Could not find table or object ID {id}. Check system catalog.");
            Err(Error::new(2573, 16, 1, text))
        }
    }
}

/// The levels of a table's heap and indexes, as far as they are chosen.
fn add_levels(database: &Database, table: &TableDefinition, chosen: &Chosen, rows: &mut Vec<LevelRow>) -> Result<()> {
    let heap = table.heap.map(|root| (0, root));
    let indexes = table.indexes.iter().map(|index| (index.index_id, index.storage));
    let has = |wanted: i64| {
        heap.iter()
            .map(|(id, _)| *id)
            .chain(table.indexes.iter().map(|index| index.index_id))
            .any(|id| i64::from(id) == wanted)
    };
    if let Some(missing) = chosen.index.filter(|wanted| !has(*wanted)) {
        let name = &table.name;
        let text = format!("Cannot find a row in the system catalog with the index ID {missing} for table \"{name}\".");
        return Err(Error::new(2591, 16, 1, text));
    }
    for (index_id, root) in heap.into_iter().chain(indexes) {
        if chosen.index.is_some_and(|wanted| wanted != i64::from(index_id)) {
            continue;
        }
        let Physical { depth, levels } = physical_of(database, table, index_id, root, chosen.mode)?;
        rows.extend(levels.into_iter().map(|level| LevelRow {
            database_id: database.id,
            table: table.object_id,
            index_id,
            root,
            depth,
            level,
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
    unit: Option<Unit>,
}

/// The allocation unit of a heap or an index.
#[derive(Clone, Copy)]
struct Unit {
    id: u32,
    /// Whether its rows are the table's: those of a heap or a clustered index.
    has_table_rows: bool,
}

impl HeldRow {
    fn header(&self, value: impl Fn(&HeldHeader) -> Value) -> Value {
        self.page.header.as_ref().map_or(Value::Null, value)
    }
}

/// The words of SQL Server for what its pages are for; extent lists do what its allocation maps of objects do. Leaves of nonclustered
/// indexes are index pages; whether a leaf is one is known where its unit is.
fn page_type(header: &HeldHeader, unit: Option<Unit>) -> Value {
    match header.kind {
        Some(PageKind::Heap) => "DATA_PAGE".into(),
        Some(PageKind::TreeLeaf) => match unit.map(|unit| unit.has_table_rows) {
            Some(true) => "DATA_PAGE".into(),
            Some(false) => "INDEX_PAGE".into(),
            None => Value::Null,
        },
        Some(PageKind::TreeBranch) => "INDEX_PAGE".into(),
        Some(PageKind::SpaceMap) => "GAM_PAGE".into(),
        Some(PageKind::ExtentList) => "IAM_PAGE".into(),
        Some(PageKind::Boot) => "BOOT_PAGE".into(),
        Some(PageKind::FileHeader) => "FILEHEADER_PAGE".into(),
        None => Value::Null,
    }
}

system_row!(HeldRow {
    "database_id" INT => |row| i32::from(row.page.database.0).into();
    "file_id" INT => |row| i32::from(row.page.page.file).into();
    "page_id" INT => |row| i32::try_from(row.page.page.page).unwrap_or(i32::MAX).into();
    "page_level" INT => |row| row.header(|header| i32::from(header.level).into());
    "allocation_unit_id" BIGINT => |row| row.unit.map_or(Value::Null, |unit| i64::from(unit.id).into());
    "page_type" DESCRIPTION => |row| row.header(|header| page_type(header, row.unit));
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
        let belongs = |kind: PageKind| kind.has_rows() || kind == PageKind::ExtentList;
        let object = page.header.filter(|header| header.kind.is_some_and(belongs));
        let unit = object.and_then(|header| units.get(&(page.database.0, header.object.0)).copied());
        rows.push(HeldRow { page, unit });
        Ok::<(), Error>(())
    })?;
    all(rows)
}

/// The allocation units of all heaps and indexes that the session sees, by their database and the number in the headers of their pages.
fn units(context: &SystemContext<'_>) -> HashMap<(u16, u32), Unit> {
    let mut units = HashMap::new();
    for database in ListedDatabase::every(context)
        .into_iter()
        .filter_map(|listed| listed.database)
    {
        for object in database.catalog.objects(context.session_id) {
            let Some(table) = table_of(&object) else { continue };
            let indexes = table.indexes.iter().map(|index| (index.storage, index.index_id == 1));
            for (root, has_table_rows) in indexes.chain(table.heap.map(|root| (root, true))) {
                let unit = Unit {
                    id: root.unit,
                    has_table_rows,
                };
                units.insert((database.id, object_root(&root).object.0), unit);
            }
        }
    }
    units
}
