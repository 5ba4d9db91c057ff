//! DBCC SHOW_STATISTICS (sql-docs, its page: columns and their types).

use engine::catalog::{StatisticsDefinition, TableDefinition};
use engine::error::Result;
use engine::session::all_statistics;
use engine::statistics::Content;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, Table};
use super::Command;
use super::check::find_table;
use crate::modules::filter_text;
use crate::scalar::convert::convert;

const PARTS: [&str; 3] = ["STAT_HEADER", "DENSITY_VECTOR", "HISTOGRAM"];

const fn nvarchar(length: u16) -> SqlType {
    SqlType::NVarChar(Length::Limited(length))
}

/// `DBCC SHOW_STATISTICS (table, name) [WITH STAT_HEADER, DENSITY_VECTOR, HISTOGRAM]`. A column's name means the statistics that the server made
/// of it.
pub(super) fn show(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    if command.arguments.len() != 2 {
        return Err(crate::messages::dbcc_argument_count());
    }
    let written = command.text(0).unwrap_or_default();
    let wanted = command.text(1).unwrap_or_default();
    let (database, object) = find_table(command, &written)?;
    let Some(table) = object.definition.table() else {
        return Ok(());
    };
    let all = all_statistics(&database, table, command.context.session_id);
    let by_name = || all.iter().find(|known| known.name.eq_ignore_ascii_case(&wanted));
    let by_column = || {
        let column = table.column(&wanted)?;
        all.iter()
            .find(|known| known.auto_created && known.columns.first() == Some(&column))
    };
    let found = by_name().or_else(by_column);
    let found = found.ok_or_else(|| crate::messages::no_such_statistics(&wanted))?;
    let asks = |part: &str| command.statement.options.iter().any(|option| option.name == part);
    let shows = |part: &str| asks(part) || !PARTS.into_iter().any(asks);
    if shows("STAT_HEADER") {
        header(found).send(host)?;
    }
    if shows("DENSITY_VECTOR") {
        densities(table, found).send(host)?;
    }
    if shows("HISTOGRAM") {
        histogram(found).send(host)?;
    }
    Ok(())
}

/// Of values that are no step's end: 1 / how many there are.
fn density_between_steps(content: &Content) -> f64 {
    let between: f64 = content.steps.iter().map(|step| step.distinct_range_rows).sum();
    if between > 0.0 { 1.0 / between } else { 0.0 }
}

fn header(statistics: &StatisticsDefinition) -> Table {
    let mut table = Table::new(&[
        ("Name", SqlType::SYSNAME),
        ("Updated", nvarchar(20)),
        ("Rows", SqlType::BigInt),
        ("Rows Sampled", SqlType::BigInt),
        ("Steps", SqlType::SmallInt),
        ("Density", SqlType::Real),
        ("Average key length", SqlType::Real),
        ("String Index", SqlType::NChar(3)),
        ("Filter Expression", SqlType::NVarChar(Length::Max)),
        ("Unfiltered Rows", SqlType::BigInt),
        ("Persisted Sample Percent", SqlType::Float),
    ]);
    let count = |count: u64| Value::BigInt(i64::try_from(count).unwrap_or(i64::MAX));
    let name = Value::from(statistics.name.as_str());
    let Some(content) = statistics.content.as_deref() else {
        let mut row = vec![name];
        row.resize(11, Value::Null);
        table.push(row);
        return table;
    };
    let (days, ticks) = content.updated;
    let updated = Value::DateTime { days, ticks };
    let updated = convert(&updated, SqlType::DateTime, nvarchar(20), Some(0)).unwrap_or(Value::Null);
    let length = content.average_lengths.last().copied().unwrap_or_default();
    table.push(vec![
        name,
        updated,
        count(content.rows),
        count(content.rows_sampled),
        Value::SmallInt(content.steps.len() as i16),
        Value::Real(density_between_steps(content) as f32),
        Value::Real(length as f32),
        "NO ".into(),
        statistics
            .filter
            .as_ref()
            .map(|filter| filter_text(&filter.text))
            .into(),
        count(content.unfiltered_rows),
        Value::Float(0.0),
    ]);
    table
}

fn densities(table: &TableDefinition, statistics: &StatisticsDefinition) -> Table {
    let mut answer = Table::new(&[
        ("All density", SqlType::Real),
        ("Average Length", SqlType::Real),
        ("Columns", SqlType::NVarChar(Length::Limited(4000))),
    ]);
    let Some(content) = statistics.content.as_deref() else {
        return answer;
    };
    let mut names = String::new();
    let numbers = content.densities.iter().zip(&content.average_lengths);
    for (column, (density, length)) in statistics.columns.iter().zip(numbers) {
        if !names.is_empty() {
            names.push_str(", ");
        }
        names.push_str(table.columns.get(*column).map_or("", |column| column.name.as_str()));
        answer.push(vec![
            Value::Real(*density as f32),
            Value::Real(*length as f32),
            names.as_str().into(),
        ]);
    }
    answer
}

fn histogram(statistics: &StatisticsDefinition) -> Table {
    let mut answer = Table::new(&[
        ("RANGE_HI_KEY", statistics.leading.0),
        ("RANGE_ROWS", SqlType::Real),
        ("EQ_ROWS", SqlType::Real),
        ("DISTINCT_RANGE_ROWS", SqlType::BigInt),
        ("AVG_RANGE_ROWS", SqlType::Real),
    ]);
    for step in statistics.content.iter().flat_map(|content| &content.steps) {
        answer.push(vec![
            step.high.clone(),
            Value::Real(step.range_rows as f32),
            Value::Real(step.equal_rows as f32),
            Value::BigInt(step.distinct_range_rows as i64),
            Value::Real(step.average_range_rows() as f32),
        ]);
    }
    answer
}
