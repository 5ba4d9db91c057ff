//! `sys.dm_db_database_page_allocations`: every page of heaps and indexes, undocumented. Its columns and parameters are those of a published
//! definition of the function ("dm_db_database_page_allocations", sqlserverscience.com; sqlity.net, "The sys.dm_db_database_page_allocations
//! DMF"); both say what LIMITED leaves out.
//!
//! It lists pages in use: those in extents of a unit that hold nothing are left out, so `is_allocated` is always 1. There are no pages of free
//! space (PFS), so `page_free_space_percent` is NULL, and no clones. Pages are read one by one, so memory does not grow with a table.

use std::sync::Arc;

use engine::catalog::{CatalogObject, StorageRoot};
use engine::database::{Database, object_root};
use engine::error::Result;
use engine::page::{EXTENT_PAGES, PageBytes, PageId, PageKind, PageRef};
use engine::session::InUse;
use engine::store::{LargeKind, UnitPages};
use engine::types::{SqlType, Value};

use super::page_info::type_words;
use super::physical::incorrect_parameter;
use super::units::{Unit, page_type, roots};
use super::{BIGINT, BIT, INT, RowStream, SMALLINT, Source, SystemRow, SystemView, TINYINT, nvarchar, system_row};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "dm_db_database_page_allocations",
    columns: AllocatedPage::COLUMNS,
    is_function: true,
    parameters: &[SMALLINT, INT, INT, BIGINT, WORDS],
    required: 5,
    rows: Source::Streamed(open),
}];

const WORDS: SqlType = nvarchar(64);

struct AllocatedPage {
    database_id: u16,
    unit: Unit,
    large: Option<LargeKind>,
    id: PageId,
    /// The list that names its extent; none of a list.
    list: PageId,
    bytes: Box<PageBytes>,
    is_detailed: bool,
}

impl AllocatedPage {
    fn view(&self) -> PageRef<'_> {
        PageRef::new(&self.bytes)
    }

    fn page_type(&self) -> u8 {
        page_type(self.view().kind(), Some(self.unit.kind))
    }

    /// What LIMITED leaves out.
    fn detail(&self, value: impl Into<Value>) -> Value {
        match self.is_detailed {
            true => value.into(),
            false => Value::Null,
        }
    }

    fn neighbour(&self, page: PageId, part: impl Fn(PageId) -> Value) -> Value {
        // The link of a list to the one before it leads to another unit.
        match self.is_detailed && !self.list.is_none() {
            true => unless_none(page, part),
            false => Value::Null,
        }
    }
}

fn file(page: PageId) -> Value {
    Value::SmallInt(i16::try_from(page.file).unwrap_or(i16::MAX))
}

fn number(page: PageId) -> Value {
    whole(page.page)
}

fn whole(number: u32) -> Value {
    i32::try_from(number).unwrap_or(i32::MAX).into()
}

fn unless_none(page: PageId, part: impl Fn(PageId) -> Value) -> Value {
    match page.is_none() {
        true => Value::Null,
        false => part(page),
    }
}

fn unit_kind(large: Option<LargeKind>) -> (u8, &'static str) {
    match large {
        None => (1, "IN_ROW_DATA"),
        Some(LargeKind::Lob) => (2, "LOB_DATA"),
        Some(LargeKind::RowOverflow) => (3, "ROW_OVERFLOW_DATA"),
    }
}

system_row!(AllocatedPage {
    "database_id" SMALLINT => |row| Value::SmallInt(row.database_id as i16);
    "object_id" INT => |row| whole(row.unit.object_id());
    "index_id" INT => |row| whole(row.unit.index_id);
    "partition_id" INT => |_| 1.into();
    "rowset_id" BIGINT => |row| row.unit.partition.into();
    "allocation_unit_id" BIGINT => |row| i64::from(row.view().object().0).into();
    "allocation_unit_type" TINYINT => |row| Value::TinyInt(unit_kind(row.large).0);
    "allocation_unit_type_desc" nvarchar(60) => |row| unit_kind(row.large).1.into();
    "data_clone_id" INT => |_| Value::Null;
    "clone_state" TINYINT => |_| Value::Null;
    "clone_state_desc" nvarchar(60) => |_| Value::Null;
    "extent_file_id" SMALLINT => |row| file(row.id);
    "extent_page_id" INT => |row| whole(row.id.page - row.id.page % EXTENT_PAGES);
    "allocated_page_iam_file_id" SMALLINT => |row| unless_none(row.list, file);
    "allocated_page_iam_page_id" INT => |row| unless_none(row.list, number);
    "allocated_page_file_id" SMALLINT => |row| file(row.id);
    "allocated_page_page_id" INT => |row| number(row.id);
    "is_allocated" BIT => |_| true.into();
    "is_iam_page" BIT => |row| row.list.is_none().into();
    "is_mixed_page_allocation" BIT => |_| false.into();
    "page_free_space_percent" INT => |_| Value::Null;
    "page_type" INT => |row| row.detail(i32::from(row.page_type()));
    "page_type_desc" WORDS => |row| type_words(row.page_type()).map_or(Value::Null, |words| row.detail(words));
    "page_level" INT => |row| row.detail(if row.list.is_none() { 0 } else { i32::from(row.view().level()) });
    "next_page_file_id" SMALLINT => |row| row.neighbour(row.view().next(), file);
    "next_page_page_id" INT => |row| row.neighbour(row.view().next(), number);
    "previous_page_file_id" SMALLINT => |row| row.neighbour(row.view().previous(), file);
    "previous_page_page_id" INT => |row| row.neighbour(row.view().previous(), number);
    "is_page_compressed" BIT => |row| row.detail(false);
    "has_ghost_records" BIT => |row| row.detail(row.view().ghost_count() > 0);
});

/// # Errors
/// 2561 for an argument that is missing or means nothing; those of the database (927 and its like).
fn open(context: &SystemContext<'_>, arguments: &[Value]) -> Result<Box<dyn RowStream>> {
    let number = |place: usize| arguments.get(place).and_then(Value::as_i64);
    let wanted_id = number(0).ok_or_else(|| incorrect_parameter(1))?;
    let slot = context.slot_by_id(wanted_id).ok_or_else(|| incorrect_parameter(1))?;
    let database = slot.database()?;
    let mode = arguments.get(4).and_then(Value::as_str).unwrap_or_default();
    let is_detailed = match mode.trim_end().to_ascii_uppercase().as_str() {
        "" | "DEFAULT" | "LIMITED" => false,
        "DETAILED" => true,
        _ => return Err(incorrect_parameter(5)),
    };
    let is_wanted = |(_, unit): &(StorageRoot, Unit)| {
        let has_index = number(1).is_none() || number(2).is_none_or(|index| index == i64::from(unit.index_id));
        has_index && number(3).is_none_or(|partition| partition == 1)
    };
    let objects: Vec<Arc<CatalogObject>> = match number(1) {
        None => database.catalog.objects(context.session_id),
        Some(id) => u32::try_from(id)
            .ok()
            .and_then(|id| database.catalog.by_id(id, context.session_id))
            .into_iter()
            .collect(),
    };
    let units: Vec<(StorageRoot, Unit)> = objects.iter().flat_map(roots).filter(is_wanted).collect();
    let hold = context.engine.borrow().hold(&database)?;
    Ok(Box::new(Allocations {
        database,
        is_detailed,
        roots: units.into_iter(),
        parts: Vec::new().into_iter(),
        listing: None,
        _in_use: hold,
    }))
}

/// The pages to come.
struct Allocations {
    database: Arc<Database>,
    is_detailed: bool,
    roots: std::vec::IntoIter<(StorageRoot, Unit)>,
    parts: std::vec::IntoIter<(UnitPages, Unit)>,
    listing: Option<Listing>,
    /// The database is not closed meanwhile.
    _in_use: InUse,
}

/// A unit being listed: its lists, then its pages, each with the list that names its extent.
struct Listing {
    unit: Unit,
    large: Option<LargeKind>,
    pages: std::vec::IntoIter<(PageId, PageId)>,
}

impl RowStream for Allocations {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        loop {
            engine::cancel::spend(1)?;
            let Some(listing) = &mut self.listing else {
                if !self.next_unit()? {
                    return Ok(None);
                }
                continue;
            };
            let Some((id, list)) = listing.pages.next() else {
                self.listing = None;
                continue;
            };
            let (unit, large) = (listing.unit.clone(), listing.large);
            let storage = &self.database.storage;
            let bytes = Box::new(*storage.pool.read(storage.id, id)?.view().bytes());
            // It was given up since the unit was looked through.
            if PageRef::new(&bytes).kind() == Some(PageKind::Free) {
                continue;
            }
            let page = AllocatedPage {
                database_id: self.database.id,
                unit,
                large,
                id,
                list,
                bytes,
                is_detailed: self.is_detailed,
            };
            return Ok(Some(page.values()));
        }
    }
}

impl Allocations {
    /// False behind the last unit.
    fn next_unit(&mut self) -> Result<bool> {
        loop {
            if let Some((mut part, unit)) = self.parts.next() {
                let lists = std::mem::take(&mut part.lists).into_iter();
                let mut pages: Vec<(PageId, PageId)> = lists.map(|list| (list, PageId::NONE)).collect();
                pages.append(&mut part.pages);
                self.listing = Some(Listing {
                    unit,
                    large: part.large,
                    pages: pages.into_iter(),
                });
                return Ok(true);
            }
            let Some((root, unit)) = self.roots.next() else {
                return Ok(false);
            };
            let (storage, space) = (&self.database.storage, &self.database.space);
            let parts = space.pages_of_units(storage, object_root(&root))?;
            let parts: Vec<(UnitPages, Unit)> = parts.into_iter().map(|part| (part, unit.clone())).collect();
            self.parts = parts.into_iter();
        }
    }
}
