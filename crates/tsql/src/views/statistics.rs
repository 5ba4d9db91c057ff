//! Statistics: `sys.stats`, `sys.stats_columns`, `sys.dm_db_stats_properties`, `sys.dm_db_stats_histogram`.

use std::sync::Arc;

use engine::catalog::StatisticsDefinition;
use engine::session::all_statistics;
use engine::statistics::Content;
use engine::types::{HIERARCHY_BYTES_MAX, Length, SqlType, Value, Variant};

use super::objects::{table_of, with_indexes};
use super::values::{big, stored_datetime};
use super::{BIGINT, BIT, FLOAT, INT, NAME, REAL, Rows, SystemView, all, function, nvarchar, system_row, view};
use crate::modules::filter_text;
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<StatisticsRow>("sys", "stats", statistics),
    view::<StatisticsColumn>("sys", "stats_columns", statistics_columns),
    function::<Properties>("dm_db_stats_properties", &[INT, INT], 2, properties),
    function::<HistogramStep>("dm_db_stats_histogram", &[INT, INT], 2, histogram),
];

/// `datetime2(7)`.
const UPDATED: SqlType = SqlType::DateTime2 { scale: 7 };

struct StatisticsRow(StatisticsDefinition);

system_row!(StatisticsRow {
    "object_id" INT => |row| (row.0.table as i32).into();
    "name" NAME => |row| row.0.name.as_str().into();
    "stats_id" INT => |row| (row.0.stats_id as i32).into();
    "auto_created" BIT => |row| row.0.auto_created.into();
    "user_created" BIT => |row| (!row.0.auto_created && !row.0.of_index).into();
    "no_recompute" BIT => |row| row.0.no_recompute.into();
    "has_filter" BIT => |row| row.0.filter.is_some().into();
    "filter_definition" nvarchar(4000) => |row| row.0.filter.as_ref().map(|filter| filter_text(&filter.text)).into();
    "is_temporary" BIT => |_| false.into();
    "is_incremental" BIT => |_| false.into();
    "has_persisted_sample" BIT => |_| false.into();
    "stats_generation_method" INT => |_| 0.into();
    "stats_generation_method_desc" nvarchar(80) => |_| "Sort based statistics".into();
    "auto_drop" BIT => |_| false.into();
});

fn statistics(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (_, object) in with_indexes(context) {
        let Some(table) = table_of(&object) else { continue };
        rows.extend(all_statistics(&context.database, table, context.session_id));
    }
    all(rows.into_iter().map(StatisticsRow))
}

struct StatisticsColumn {
    table: u32,
    stats_id: u32,
    place: usize,
    column: usize,
}

system_row!(StatisticsColumn {
    "object_id" INT => |row| (row.table as i32).into();
    "stats_id" INT => |row| (row.stats_id as i32).into();
    "stats_column_id" INT => |row| (row.place as i32 + 1).into();
    "column_id" INT => |row| (row.column as i32 + 1).into();
});

fn statistics_columns(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (_, object) in with_indexes(context) {
        let Some(table) = table_of(&object) else { continue };
        for known in all_statistics(&context.database, table, context.session_id) {
            let columns = known.columns.iter().enumerate();
            rows.extend(columns.map(|(place, column)| StatisticsColumn {
                table: known.table,
                stats_id: known.stats_id,
                place,
                column: *column,
            }));
        }
    }
    all(rows)
}

/// Statistics of a table by their numbers, with how much was changed since they were counted.
fn statistics_by_id(context: &SystemContext<'_>, table: i64, stats_id: i64) -> Option<(StatisticsDefinition, u64)> {
    let object = context
        .database
        .catalog
        .by_id(u32::try_from(table).ok()?, context.session_id)?;
    let table = table_of(&object)?;
    let all = all_statistics(&context.database, table, context.session_id);
    let found = all.into_iter().find(|known| i64::from(known.stats_id) == stats_id)?;
    let modified = context.database.modifications(table).since_counted(&found);
    Some((found, modified))
}

fn asked(context: &SystemContext<'_>, arguments: &[Value]) -> Option<(StatisticsDefinition, u64)> {
    let number = |place: usize| arguments.get(place).and_then(Value::as_i64);
    statistics_by_id(context, number(0)?, number(1)?)
}

struct Properties {
    statistics: StatisticsDefinition,
    modified: u64,
}

impl Properties {
    fn of(&self, value: impl FnOnce(&Content) -> Value) -> Value {
        self.statistics.content.as_deref().map_or(Value::Null, value)
    }
}

system_row!(Properties {
    "object_id" INT => |row| (row.statistics.table as i32).into();
    "stats_id" INT => |row| (row.statistics.stats_id as i32).into();
    "last_updated" UPDATED => |row| row.of(|content| {
        let updated = stored_datetime(content.updated);
        crate::scalar::convert::convert(&updated, SqlType::DateTime, UPDATED, None).unwrap_or(Value::Null)
    });
    "rows" BIGINT => |row| row.of(|content| big(content.rows));
    "rows_sampled" BIGINT => |row| row.of(|content| big(content.rows_sampled));
    "steps" INT => |row| row.of(|content| (content.steps.len() as i32).into());
    "unfiltered_rows" BIGINT => |row| row.of(|content| big(content.unfiltered_rows));
    "modification_counter" BIGINT => |row| row.of(|_| big(row.modified));
    "persisted_sample_percent" FLOAT => |row| row.of(|_| Value::Float(0.0));
});

fn properties(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let found = asked(context, arguments);
    all(found.map(|(statistics, modified)| Properties { statistics, modified }))
}

struct HistogramStep {
    table: u32,
    stats_id: u32,
    number: usize,
    high: Value,
    numbers: [f64; 4],
}

system_row!(HistogramStep {
    "object_id" INT => |row| (row.table as i32).into();
    "stats_id" INT => |row| (row.stats_id as i32).into();
    "step_number" INT => |row| (row.number as i32).into();
    "range_high_key" SqlType::SqlVariant => |row| row.high.clone();
    "range_rows" REAL => |row| Value::Real(row.numbers[0] as f32);
    "equal_rows" REAL => |row| Value::Real(row.numbers[1] as f32);
    "distinct_range_rows" BIGINT => |row| big(row.numbers[2] as u64);
    "average_range_rows" REAL => |row| Value::Real(row.numbers[3] as f32);
});

fn histogram(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some((statistics, _)) = asked(context, arguments) else {
        return Ok(Vec::new());
    };
    let steps = statistics.content.iter().flat_map(|content| content.steps.iter());
    all(steps.enumerate().map(|(place, step)| HistogramStep {
        table: statistics.table,
        stats_id: statistics.stats_id,
        number: place + 1,
        high: variant(&step.high, statistics.leading.0),
        numbers: [
            step.range_rows,
            step.equal_rows,
            step.distinct_range_rows,
            step.average_range_rows(),
        ],
    }))
}

fn variant(value: &Value, sql_type: SqlType) -> Value {
    match value {
        Value::Null | Value::Variant(_) => value.clone(),
        _ => Value::Variant(Arc::new(Variant {
            // A variant holds no type of the common language runtime: its bytes stand for it.
            sql_type: match sql_type {
                SqlType::HierarchyId => SqlType::VarBinary(Length::Limited(HIERARCHY_BYTES_MAX as u16)),
                SqlType::Geometry | SqlType::Geography => SqlType::VarBinary(Length::Max),
                // Nor does it hold json, whose text stands for it.
                SqlType::Json => SqlType::NVarChar(Length::Max),
                other => other,
            },
            value: value.clone(),
        })),
    }
}
