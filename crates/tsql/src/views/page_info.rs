//! `sys.dm_db_page_info`: the header of a page (sql-docs, "sys.dm_db_page_info").
//!
//! Fields without an equivalent in our pages are NULL: there are no pages of free space (PFS), of mixed extents (SGAM) or of minimal
//! logging, and no header names a transaction. A space map corresponds to SQL Server's GAM. Extents are marked as changed when their pages
//! are written, so `diff_status` is NULL without a full backup, and does not cover pages changed only in memory.

use std::sync::Arc;

use engine::database::Database;
use engine::error::Result;
use engine::page::{PageBytes, PageId, PageKind, PageRef, checksums};
use engine::store::space_map_of;
use engine::types::{SqlType, Value};
use vlf::ServerVersion;

use super::physical::incorrect_parameter;
use super::units::{Unit, Units, page_type};
use super::{BIGINT, BIT, INT, Rows, SMALLINT, SystemView, all, function, nvarchar, system_row};
use crate::messages;
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[function::<PageRow>(
    "dm_db_page_info",
    &[SMALLINT, INT, INT, nvarchar(64)],
    4,
    page_info,
)];

const TEXT: SqlType = nvarchar(64);

/// A page as it was read, and whose it is.
struct PageRow {
    database_id: u16,
    id: PageId,
    bytes: Box<PageBytes>,
    unit: Option<Unit>,
    is_in_use: bool,
    is_changed: Option<bool>,
    is_detailed: bool,
}

impl PageRow {
    fn view(&self) -> PageRef<'_> {
        PageRef::new(&self.bytes)
    }

    fn page_type(&self) -> u8 {
        page_type(self.view().kind(), self.unit.as_ref().map(|unit| unit.kind))
    }

    fn unit(&self, value: impl Fn(&Unit) -> Value) -> Value {
        self.unit.as_ref().map_or(Value::Null, value)
    }

    /// What DETAILED alone shows.
    fn described(&self, words: Option<&str>) -> Value {
        words.filter(|_| self.is_detailed).map_or(Value::Null, Value::from)
    }

    /// What only a page of rows has.
    fn of_rows(&self, value: impl Fn(PageRef<'_>) -> u16) -> Value {
        let view = self.view();
        match view.kind().is_some_and(PageKind::has_rows) {
            true => small(value(view)),
            false => Value::Null,
        }
    }
}

pub(super) fn type_words(page_type: u8) -> Option<&'static str> {
    Some(match page_type {
        1 => "DATA_PAGE",
        2 => "INDEX_PAGE",
        3 => "TEXT_MIX_PAGE",
        4 => "TEXT_TREE_PAGE",
        8 => "GAM_PAGE",
        10 => "IAM_PAGE",
        13 => "BOOT_PAGE",
        15 => "FILEHEADER_PAGE",
        16 => "DIFF_MAP_PAGE",
        _ => return None,
    })
}

fn small(number: u16) -> Value {
    Value::SmallInt(i16::try_from(number).unwrap_or(i16::MAX))
}

fn whole(number: u32) -> Value {
    i32::try_from(number).unwrap_or(i32::MAX).into()
}

system_row!(PageRow {
    "database_id" INT => |row| i32::from(row.database_id).into();
    "file_id" INT => |row| i32::from(row.id.file).into();
    "page_id" INT => |row| whole(row.id.page);
    "page_header_version" INT => |row| i32::from(row.view().version()).into();
    "page_type" INT => |row| i32::from(row.page_type()).into();
    "page_type_desc" TEXT => |row| row.described(type_words(row.page_type()));
    "page_type_flag_bits" TEXT => |_| "0x0".into();
    "page_type_flag_bits_desc" TEXT => |_| Value::Null;
    // Every page has a checksum.
    "page_flag_bits" TEXT => |_| "0x200".into();
    "page_flag_bits_desc" nvarchar(256) => |row| row.described(Some("HAS_CHECKSUM"));
    "page_lsn" TEXT => |row| row.view().lsn().to_string().into();
    "page_level" INT => |row| i32::from(row.view().level()).into();
    "object_id" INT => |row| row.unit(|unit| whole(unit.object_id()));
    "index_id" INT => |row| row.unit(|unit| whole(unit.index_id));
    "partition_id" BIGINT => |row| row.unit(|unit| unit.partition.into());
    "alloc_unit_id" BIGINT => |row| row.unit(|unit| i64::from(unit.id).into());
    "is_encrypted" BIT => |_| false.into();
    "has_checksum" BIT => |_| true.into();
    "checksum" INT => |row| (checksums(&row.bytes).0 as i32).into();
    "is_iam_page" BIT => |row| (row.view().kind() == Some(PageKind::ExtentList)).into();
    "is_mixed_extent" BIT => |_| false.into();
    "has_ghost_records" BIT => |row| (row.view().ghost_count() > 0).into();
    // Versions of rows are in memory.
    "has_version_records" BIT => |_| false.into();
    "has_persisted_version_records" BIT => |_| false.into();
    "pfs_page_id" INT => |_| Value::Null;
    "pfs_is_allocated" BIT => |_| Value::Null;
    "pfs_alloc_percent" INT => |_| Value::Null;
    "pfs_status" TEXT => |_| Value::Null;
    "pfs_status_desc" TEXT => |_| Value::Null;
    "gam_page_id" INT => |row| whole(space_map_of(row.id).page);
    "gam_status" BIT => |row| row.is_in_use.into();
    "gam_status_desc" TEXT => |row| row.described(Some(if row.is_in_use { "ALLOCATED" } else { "NOT ALLOCATED" }));
    "sgam_page_id" INT => |_| Value::Null;
    "sgam_status" BIT => |_| Value::Null;
    "sgam_status_desc" TEXT => |_| Value::Null;
    "diff_map_page_id" INT => |_| Value::Null;
    "diff_status" BIT => |row| row.is_changed.map_or(Value::Null, Value::from);
    "diff_status_desc" TEXT => |row| {
        row.described(row.is_changed.map(|is_changed| if is_changed { "CHANGED" } else { "NOT CHANGED" }))
    };
    "ml_map_page_id" INT => |_| Value::Null;
    "ml_status" BIT => |_| Value::Null;
    "ml_status_desc" TEXT => |_| Value::Null;
    "prev_page_file_id" SMALLINT => |row| small(row.view().previous().file);
    "prev_page_page_id" INT => |row| whole(row.view().previous().page);
    "next_page_file_id" SMALLINT => |row| small(row.view().next().file);
    "next_page_page_id" INT => |row| whole(row.view().next().page);
    "fixed_length" SMALLINT => |_| Value::Null;
    "slot_count" SMALLINT => |row| row.of_rows(|view| view.slot_count());
    "ghost_rec_count" SMALLINT => |row| row.of_rows(|view| view.ghost_count());
    "free_bytes" SMALLINT => |row| {
        row.of_rows(|view| u16::try_from(view.contiguous_free()).unwrap_or(u16::MAX).saturating_add(view.hole_bytes()))
    };
    "free_bytes_offset" INT => |row| i32::from(row.view().free_offset()).into();
    "reserved_bytes" SMALLINT => |row| row.of_rows(|view| view.reserved_bytes());
    "reserved_bytes_by_xdes_id" SMALLINT => |_| Value::Null;
    "xdes_id" TEXT => |_| Value::Null;
});

/// It is there from SQL Server 2019 on (sql-docs, "sys.dm_db_page_info", "Applies to").
///
/// # Errors
/// 208 before that; 2561 for an argument that is missing or means nothing; those of reading the page.
fn page_info(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    if context.instance.options.version < ServerVersion::V2019 {
        return Err(messages::invalid_object_name("sys.dm_db_page_info"));
    }
    let number = |place: usize| {
        let given = arguments.get(place).and_then(Value::as_i64);
        given.ok_or_else(|| incorrect_parameter(place + 1))
    };
    let slot = context.slot_by_id(number(0)?).ok_or_else(|| incorrect_parameter(1))?;
    let database = slot.database()?;
    let file = u16::try_from(number(1)?).map_err(|_| incorrect_parameter(2))?;
    let page = u32::try_from(number(2)?).map_err(|_| incorrect_parameter(3))?;
    let mode = arguments.get(3).and_then(Value::as_str).unwrap_or_default();
    let is_detailed = match mode.trim_end().to_ascii_uppercase().as_str() {
        "" | "DEFAULT" | "LIMITED" => false,
        "DETAILED" => true,
        _ => return Err(incorrect_parameter(4)),
    };
    let _in_use = context.engine.borrow().hold(&database)?;
    let page_count = database.storage.files.page_count(file);
    if page_count == 0 {
        return Err(incorrect_parameter(2));
    } else if page >= page_count {
        return Err(incorrect_parameter(3));
    }
    let id = PageId::new(file, page);
    all([read(context, &database, id, is_detailed)?])
}

fn read(context: &SystemContext<'_>, database: &Arc<Database>, id: PageId, is_detailed: bool) -> Result<PageRow> {
    let storage = &database.storage;
    // A copy: lists of large values may be read next.
    let bytes = Box::new(*storage.pool.read(storage.id, id)?.view().bytes());
    let object = PageRef::new(&bytes).object();
    let unit = Units::only(database, context.session_id, object)?;
    let changed = storage.files.changes().changed();
    Ok(PageRow {
        database_id: database.id,
        id,
        bytes,
        unit,
        is_in_use: database.space.is_in_use(id),
        is_changed: changed.map(|(_, extents)| extents.contains(id)),
        is_detailed,
    })
}
