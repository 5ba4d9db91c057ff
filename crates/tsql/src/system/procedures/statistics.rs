//! `sp_helpstats`, `sp_updatestats` and `sp_autostats` (sql-docs, their pages).

use engine::catalog::{StatisticsDefinition, TableDefinition};
use engine::error::{Error, Result};
use engine::session::all_statistics;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::help::find;
use super::{NAME, SystemProcedure, text};
use crate::views::{table_of, tables};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_helpstats",
        parameters: &[("@objname", NAME, true), ("@results", NAME, false)],
        run: help_statistics,
    },
    SystemProcedure {
        name: "sp_updatestats",
        parameters: &[("@resample", NAME, false)],
        run: update_statistics,
    },
    SystemProcedure {
        name: "sp_autostats",
        parameters: &[
            ("@tblname", NAME, true),
            ("@flagc", NAME, false),
            ("@indname", NAME, false),
        ],
        run: auto_statistics,
    },
];

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Names and columns; those of indexes only for `ALL`.
fn help_statistics(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let object = find(context, text(arguments, 0).unwrap_or_default())?;
    let Some(table) = table_of(&object) else { return Ok(0) };
    let shows_indexes = text(arguments, 1).is_some_and(|results| results.eq_ignore_ascii_case("ALL"));
    let mut known = all_statistics(&context.database, table, context.session_id);
    known.retain(|known| shows_indexes || !known.of_index);
    if known.is_empty() {
        let told = match shows_indexes {
            true => Error::new(15575, 10, 1, "This object does not have any statistics or indexes."),
            false => Error::new(15574, 10, 1, "This object does not have any statistics."),
        };
        return host.message(&told).map(|()| 0);
    }
    let mut answer = Table::new(&[
        ("statistics_name", SqlType::SYSNAME),
        ("statistics_keys", SqlType::NVarChar(Length::Limited(2078))),
    ]);
    for known in known {
        answer.push(vec![
            known.name.as_str().into(),
            column_names(table, &known).join(", ").into(),
        ]);
    }
    answer.send(host).map(|()| 0)
}

fn column_names(table: &TableDefinition, statistics: &StatisticsDefinition) -> Vec<String> {
    let columns = statistics.columns.iter();
    columns
        .filter_map(|column| Some(table.columns.get(*column)?.name.clone()))
        .collect()
}

/// Updates what was changed since it was counted, or never counted, in every table of the database.
fn update_statistics(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let resample = match text(arguments, 0) {
        Some(word) if word.eq_ignore_ascii_case("resample") => " WITH RESAMPLE",
        Some(word) if !word.eq_ignore_ascii_case("no") => return Err(crate::messages::incorrect_syntax_near(word)),
        _ => "",
    };
    for (owner, object) in tables(context) {
        let Some(table) = table_of(&object) else { continue };
        let full_name = format!("{}.{}", quoted(&owner.schema), quoted(&owner.name));
        host.message(&Error::new(15650, 10, 1, format!("Updating {full_name}")))?;
        let modifications = context.database.modifications(table);
        let (mut updated, mut left) = (0, 0);
        for known in all_statistics(&context.database, table, context.session_id) {
            if known.content.is_some() && modifications.since_counted(&known) == 0 {
                left += 1;
                continue;
            }
            host.execute(&format!(
                "UPDATE STATISTICS {full_name} {}{resample}",
                quoted(&known.name)
            ))?;
            updated += 1;
        }
        let text = format!("    {updated} index(es)/statistic(s) have been updated, {left} did not require update.\n ");
        host.message(&Error::new(15651, 10, 1, text))?;
    }
    host.message(&Error::new(
        15005,
        10,
        1,
        "Statistics for all tables have been updated.",
    ))?;
    Ok(0)
}

/// Whether statistics of a table are updated by themselves, or that they are, or are not, from now on.
fn auto_statistics(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let written = text(arguments, 0).unwrap_or_default();
    let object = find(context, written)?;
    let Some(table) = table_of(&object) else { return Ok(0) };
    let name = text(arguments, 2);
    let mut known = all_statistics(&context.database, table, context.session_id);
    known.retain(|known| name.is_none_or(|name| known.name.eq_ignore_ascii_case(name)));
    if let Some(flag) = text(arguments, 1) {
        let option = match flag.to_ascii_uppercase().as_str() {
            "ON" => "RESAMPLE",
            "OFF" => "RESAMPLE, NORECOMPUTE",
            _ => return Err(crate::messages::incorrect_syntax_near(flag)),
        };
        let full_name = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
        for known in known {
            let own = quoted(&known.name);
            host.execute(&format!("UPDATE STATISTICS {full_name} {own} WITH {option}"))?;
        }
        return Ok(0);
    }
    let mut answer = Table::new(&[
        ("Index Name", SqlType::NVarChar(Length::Limited(130))),
        ("AUTOSTATS", SqlType::VarChar(Length::Limited(3))),
        ("Last Updated", SqlType::DateTime),
    ]);
    for known in known {
        let updated = known.content.as_deref().map(|content| content.updated);
        answer.push(vec![
            quoted(&known.name).into(),
            if known.no_recompute { "OFF" } else { "ON" }.into(),
            updated.map_or(Value::Null, |(days, ticks)| Value::DateTime { days, ticks }),
        ]);
    }
    answer.send(host).map(|()| 0)
}
