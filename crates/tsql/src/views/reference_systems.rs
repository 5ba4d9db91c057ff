//! `sys.spatial_reference_systems` (sql-docs, the page of the view): every reference system that `geography` takes. Text and unit are NULL for those
//! whose rows are not documented publicly.

use engine::types::{SqlType, Value};

use super::{FLOAT, INT, NAME, Rows, SystemContext, SystemView, all, nvarchar, system_row, view};
use crate::scalar::spatial::reference::{Described, UNIT_SPHERE, described, earths};

pub(super) const VIEWS: &[SystemView] = &[view::<ReferenceRow>("sys", "spatial_reference_systems", systems)];

const TEXT: SqlType = nvarchar(4_000);

struct ReferenceRow {
    srid: i32,
    described: Option<&'static Described>,
}

impl ReferenceRow {
    fn is_of_epsg(&self) -> bool {
        self.srid != UNIT_SPHERE
    }

    fn unit(&self) -> Option<(&'static str, f64)> {
        self.described.and_then(|described| described.unit)
    }
}

system_row!(ReferenceRow {
    "spatial_reference_id" INT => |row| Value::Int(row.srid);
    "authority_name" NAME => |row| if row.is_of_epsg() { Value::text("EPSG") } else { Value::Null };
    "authorized_spatial_reference_id" INT => |row| if row.is_of_epsg() { Value::Int(row.srid) } else { Value::Null };
    "well_known_text" TEXT => |row| row.described.map_or(Value::Null, |described| Value::text(described.text));
    "unit_of_measure" NAME => |row| row.unit().map_or(Value::Null, |(name, _)| Value::text(name));
    "unit_conversion_factor" FLOAT => |row| row.unit().map_or(Value::Null, |(_, metres)| Value::Float(metres));
});

fn systems(_context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    all(earths().map(|srid| ReferenceRow {
        srid,
        described: described(srid),
    }))
}
