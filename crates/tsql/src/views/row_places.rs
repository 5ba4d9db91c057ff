//! `sys.fn_PhysLocCracker`: file, page and slot of a row, from its `%%physloc%%` (Paul Randal, "SQL Server 2008: New (undocumented)
//! physical row locator function"; undocumented).

use engine::store::Rid;
use engine::types::Value;

use super::{INT, Rows, SystemView, all, function, system_row};
use crate::scalar::row_place::{ROW_PLACE, place_of};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[function::<Place>("fn_PhysLocCracker", &[ROW_PLACE], 1, crack)];

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
