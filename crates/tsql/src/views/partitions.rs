//! Partition functions and schemes: `sys.partition_functions`, their parameters and boundaries, `sys.partition_schemes`,
//! `sys.destination_data_spaces`.

use engine::catalog::{PartitionFunction, PartitionScheme};
use engine::types::{SqlType, Value};

use super::values::stored_datetime;
use super::{
    BIT, DATETIME, INT, NAME, Rows, SMALLINT, SystemContext, SystemView, TINYINT, all, nvarchar, system_row, view,
};
use crate::scalar::convert::convert;

pub(super) const VIEWS: &[SystemView] = &[
    view::<PartitionFunction>("sys", "partition_functions", |context, _| all(functions(context))),
    view::<Parameter>("sys", "partition_parameters", |context, _| {
        all(functions(context).into_iter().map(Parameter))
    }),
    view::<RangeValue>("sys", "partition_range_values", range_values),
    view::<Scheme>("sys", "partition_schemes", |context, _| {
        all(schemes(context).into_iter().map(Scheme))
    }),
    view::<Destination>("sys", "destination_data_spaces", destinations),
];

fn functions(context: &SystemContext<'_>) -> Vec<PartitionFunction> {
    let objects = context.database.catalog.objects(context.session_id);
    let functions = objects
        .iter()
        .filter_map(|object| object.definition.partition_function());
    let mut found: Vec<PartitionFunction> = functions.cloned().collect();
    found.sort_by_key(|function| function.function_id);
    found
}

/// The partition schemes of the database, by their numbers.
pub(super) fn schemes(context: &SystemContext<'_>) -> Vec<PartitionScheme> {
    let objects = context.database.catalog.objects(context.session_id);
    let schemes = objects.iter().filter_map(|object| object.definition.partition_scheme());
    let mut found: Vec<PartitionScheme> = schemes.cloned().collect();
    found.sort_by_key(|scheme| scheme.data_space);
    found
}

fn id(number: u32) -> Value {
    Value::Int(i32::try_from(number).unwrap_or(i32::MAX))
}

system_row!(PartitionFunction {
    "name" NAME => |row| row.name.as_str().into();
    "function_id" INT => |row| id(row.function_id);
    "type" SqlType::Char(2) => |_| "R ".into();
    "type_desc" nvarchar(60) => |_| "RANGE".into();
    "fanout" INT => |row| (row.boundaries.len() as i32 + 1).into();
    "boundary_value_on_right" BIT => |row| row.is_right.into();
    "is_system" BIT => |_| false.into();
    "create_date" DATETIME => |row| stored_datetime(row.created);
    "modify_date" DATETIME => |row| stored_datetime(row.modified);
});

struct Parameter(PartitionFunction);

system_row!(Parameter {
    "function_id" INT => |row| id(row.0.function_id);
    "parameter_id" INT => |_| 1.into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.0.sql_type.system_type_id());
    "max_length" SMALLINT => |row| Value::SmallInt(row.0.sql_type.max_length());
    "precision" TINYINT => |row| Value::TinyInt(row.0.sql_type.precision());
    "scale" TINYINT => |row| Value::TinyInt(row.0.sql_type.scale());
    "collation_name" NAME => |row| row.0.sql_type.is_character().then(|| row.0.collation.name()).into();
    "user_type_id" INT => |row| i32::from(row.0.sql_type.system_type_id()).into();
});

struct RangeValue {
    function: u32,
    boundary: i32,
    value: Value,
}

system_row!(RangeValue {
    "function_id" INT => |row| id(row.function);
    "boundary_id" INT => |row| row.boundary.into();
    "parameter_id" INT => |_| 1.into();
    "value" SqlType::SqlVariant => |row| row.value.clone();
});

fn range_values(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for function in functions(context) {
        for (boundary, value) in (1..).zip(&function.boundaries) {
            rows.push(RangeValue {
                function: function.function_id,
                boundary,
                value: convert(value, function.sql_type, SqlType::SqlVariant, None)?,
            });
        }
    }
    all(rows)
}

struct Scheme(PartitionScheme);

system_row!(Scheme {
    "name" NAME => |row| row.0.name.as_str().into();
    "data_space_id" INT => |row| id(row.0.data_space);
    "type" SqlType::Char(2) => |_| "PS".into();
    "type_desc" nvarchar(60) => |_| "PARTITION_SCHEME".into();
    "is_default" BIT => |_| false.into();
    "is_system" BIT => |_| false.into();
    "function_id" INT => |row| id(row.0.function);
});

struct Destination {
    scheme: u32,
    number: i32,
    filegroup: u16,
}

system_row!(Destination {
    "partition_scheme_id" INT => |row| id(row.scheme);
    "destination_id" INT => |row| row.number.into();
    "data_space_id" INT => |row| i32::from(row.filegroup).into();
});

/// The filegroup NEXT USED has the number behind the last partition's (sql-docs, "sys.destination_data_spaces").
fn destinations(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let rows = schemes(context).into_iter().flat_map(|scheme| {
        let filegroups = scheme.filegroups.into_iter().chain(scheme.next_used);
        let numbered: Vec<(i32, u16)> = (1..).zip(filegroups).collect();
        numbered.into_iter().map(move |(number, filegroup)| Destination {
            scheme: scheme.data_space,
            number,
            filegroup,
        })
    });
    all(rows.collect::<Vec<Destination>>())
}
