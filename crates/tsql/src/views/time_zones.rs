//! `sys.time_zone_info` (SQL Server docs, the page of the view).

use engine::types::{SqlType, Value};

use super::{BIT, NAME, Rows, SystemContext, SystemView, all, nvarchar, system_row, view};
use crate::scalar::moment::Moment;
use crate::scalar::time_zone::{names, offset_at, zone};

pub(super) const VIEWS: &[SystemView] = &[view::<ZoneRow>("sys", "time_zone_info", zones)];

const OFFSET: SqlType = nvarchar(6);

struct ZoneRow {
    name: &'static str,
    offset_minutes: i16,
    is_set_forward: bool,
}

system_row!(ZoneRow {
    "name" NAME => |row| row.name.into();
    "current_utc_offset" OFFSET => |row| {
        let (sign, minutes) = (if row.offset_minutes < 0 { '-' } else { '+' }, row.offset_minutes.abs());
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60).into()
    };
    "is_currently_dst" BIT => |row| row.is_set_forward.into();
});

fn zones(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let now = {
        let wall = context.instance.env.clock.wall_ticks();
        Moment::from_value(&Value::DateTime {
            days: wall.days,
            ticks: wall.ticks,
        })
    };
    all(names().filter_map(move |name| {
        let (offset_minutes, is_set_forward) = offset_at(&zone(name)?, now?)?;
        Some(ZoneRow {
            name,
            offset_minutes,
            is_set_forward,
        })
    }))
}
