//! Places in packed bytes.
//!
//! - `sys.fn_PhysLocCracker`: file, page and slot of a row, from its `%%physloc%%` (Paul Randal, "SQL Server 2008: New (undocumented)
//!   physical row locator function"; undocumented).
//! - `sys.fn_PageResCracker`: database, file and page from `page_resource` of a request (sql-docs, "sys.fn_PageResCracker"; John Morehouse,
//!   "Function Fn_PageResCracker Internals"): the page in the first four bytes, the file in two, the database in two, each the lowest byte
//!   first.

use engine::store::Rid;
use engine::types::{SqlType, Value};
use vlf::ServerVersion;

use super::{INT, Rows, SystemView, all, function, system_row};
use crate::messages;
use crate::scalar::row_place::{ROW_PLACE, place_of};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    function::<Place>("fn_PhysLocCracker", &[ROW_PLACE], 1, crack),
    function::<PagePlace>("fn_PageResCracker", &[SqlType::Binary(8)], 1, crack_page),
];

struct PagePlace([u8; 8]);

impl PagePlace {
    fn pair(&self, at: usize) -> Value {
        i32::from(u16::from_le_bytes([self.0[at], self.0[at + 1]])).into()
    }
}

system_row!(PagePlace {
    "db_id" INT => |row| row.pair(6);
    "file_id" INT => |row| row.pair(4);
    "page_id" INT => |row| i32::from_le_bytes([row.0[0], row.0[1], row.0[2], row.0[3]]).into();
});

/// One row; none for NULL.
///
/// # Errors
/// 208 before SQL Server 2019, which is the first to have it.
fn crack_page(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    if context.instance.options.version < ServerVersion::V2019 {
        return Err(messages::invalid_object_name("sys.fn_PageResCracker"));
    }
    let bytes = arguments.first().and_then(|argument| match argument {
        Value::Binary(bytes) => <[u8; 8]>::try_from(&bytes[..]).ok(),
        _ => None,
    });
    all(bytes.map(PagePlace))
}

struct Place(Rid);

system_row!(Place {
    "file_id" INT => |row| i32::from(row.0.page.file).into();
    "page_id" INT => |row| (row.0.page.page as i32).into();
    "slot_id" INT => |row| i32::from(row.0.slot).into();
});

/// One row; none for NULL.
fn crack(_: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    match arguments.first() {
        Some(Value::Binary(bytes)) => all([Place(place_of(bytes))]),
        _ => all(Vec::<Place>::new()),
    }
}
