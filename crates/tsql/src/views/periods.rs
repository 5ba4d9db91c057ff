//! Temporal tables: `sys.periods`, and what `sys.tables` and `sys.columns` say of them (sql-docs, the pages of the views).

use engine::catalog::{GeneratedColumn, PeriodEnd, Retention, RetentionUnit, TableDefinition};
use engine::types::Value;

use super::objects::{table_of, tables};
use super::{INT, NAME, Rows, SystemContext, SystemView, TINYINT, all, nvarchar, system_row, view};

pub(super) const VIEWS: &[SystemView] = &[view::<PeriodRow>("sys", "periods", periods)];

struct PeriodRow {
    object_id: i32,
    start: i32,
    end: i32,
}

system_row!(PeriodRow {
    "name" NAME => |_| "SYSTEM_TIME".into();
    "period_type" TINYINT => |_| Value::TinyInt(1);
    "period_type_desc" nvarchar(60) => |_| "SYSTEM_TIME_PERIOD".into();
    "object_id" INT => |row| row.object_id.into();
    "start_column_id" INT => |row| row.start.into();
    "end_column_id" INT => |row| row.end.into();
});

fn periods(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let period = table_of(&object).and_then(TableDefinition::period);
        rows.extend(period.map(|(start, end)| PeriodRow {
            object_id: owner.object_id,
            start: start as i32 + 1,
            end: end as i32 + 1,
        }));
    }
    all(rows)
}

/// `temporal_type` and its name.
pub(crate) fn temporal_type(table: &TableDefinition) -> (u8, &'static str) {
    match (table.versioning, table.history_of) {
        (Some(_), _) => (2, "SYSTEM_VERSIONED_TEMPORAL_TABLE"),
        (None, Some(_)) => (1, "HISTORY_TABLE"),
        (None, None) => (0, "NON_TEMPORAL_TABLE"),
    }
}

/// `history_retention_period`, its unit and the unit's name: NULL for a table without history, -1 for INFINITE.
pub(super) fn retention_of(table: &TableDefinition) -> [Value; 3] {
    match table.versioning.map(|versioning| versioning.retention) {
        None => [Value::Null, Value::Null, Value::Null],
        Some(None) => [Value::Int(-1), Value::Int(-1), "INFINITE".into()],
        Some(Some(Retention { count, unit })) => {
            let (number, name) = unit.shown();
            [Value::Int(count as i32), Value::Int(number), name.into()]
        }
    }
}

/// `generated_always_type` and its name.
pub(crate) fn generated_type(generated: Option<GeneratedColumn>) -> (u8, &'static str) {
    match generated.map(|generated| generated.end) {
        None => (0, "NOT_APPLICABLE"),
        Some(PeriodEnd::RowStart) => (1, "AS_ROW_START"),
        Some(PeriodEnd::RowEnd) => (2, "AS_ROW_END"),
    }
}

/// The T-SQL of the moment up to which history is too old to be shown.
pub(crate) fn retention_limit(retention: Retention) -> String {
    // With as many or more nothing is too old: they lead to the begin of the calendar.
    let (unit, count_max) = match retention.unit {
        RetentionUnit::Day => ("day", 730_000),
        RetentionUnit::Week => ("week", 104_000),
        RetentionUnit::Month => ("month", 24_000),
        RetentionUnit::Year => ("year", 2_000),
    };
    match retention.count < count_max {
        true => format!("dateadd({unit}, -{}, sysutcdatetime())", retention.count),
        false => "convert(datetime2, '0001-01-01')".to_owned(),
    }
}
