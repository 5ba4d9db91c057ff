//! `sys.configurations`.

use engine::instance::ConfiguredOption;

use super::{BIT, INT, SystemView, all, nvarchar, system_row, view};

pub(super) const VIEWS: &[SystemView] = &[view::<ConfiguredOption>("sys", "configurations", |context, _| {
    all(context.instance.configuration.all())
})];

/// SQL Server's type of the values is sql_variant; all of them are whole numbers of 32 bits.
fn number(value: i64) -> engine::types::Value {
    i32::try_from(value).unwrap_or(i32::MAX).into()
}

system_row!(ConfiguredOption {
    "configuration_id" INT => |row| number(i64::from(row.option.id));
    "name" nvarchar(35) => |row| row.option.name.into();
    "value" INT => |row| number(row.configured);
    "minimum" INT => |row| number(row.option.minimum);
    "maximum" INT => |row| number(row.option.maximum);
    "value_in_use" INT => |row| number(row.in_use);
    "description" nvarchar(255) => |row| row.option.name.into();
    "is_dynamic" BIT => |row| row.option.dynamic.into();
    "is_advanced" BIT => |row| row.option.advanced.into();
});
