//! The results of sweeps as one table, for Parquet and spreadsheets: a row for each run's each figure and each check, as in the files
//! ([`super::rows`]), in the order of [`Merged::found`].

use super::merge::Merged;
use super::rows::Found;
use advisor::history::{Cell, Column, Kind};

/// Those of Parquet and CSV, in this order.
pub const COLUMNS: &[Column] = &[
    text("configuration"),
    text("program"),
    text("experiment"),
    text("scale"),
    text("size"),
    text("layout"),
    whole("vlfs"),
    text("sql_version"),
    text("log_policy"),
    text("disk"),
    text("machine"),
    text("kind"),
    text("name"),
    whole("run"),
    real("value"),
    real("device_s"),
    text("detail"),
];

const fn text(name: &'static str) -> Column {
    Column { name, kind: Kind::Text }
}

const fn whole(name: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Whole,
    }
}

const fn real(name: &'static str) -> Column {
    Column { name, kind: Kind::Real }
}

/// The cells, in the order of the columns.
pub fn rows(merged: &Merged) -> impl Iterator<Item = Vec<Cell>> + '_ {
    merged.found.iter().flat_map(rows_of)
}

fn rows_of(found: &Found) -> Vec<Vec<Cell>> {
    let row = |kind: &str, name: &str, run: usize, (value, device_s): (f64, Option<f64>), detail: &str| {
        let labels = &found.labels;
        let text = |text: &str| Cell::Text(text.to_owned());
        let whole = |number: u64| Cell::Whole(i64::try_from(number).unwrap_or(i64::MAX));
        vec![
            text(&found.configuration),
            text(&found.program),
            text(&labels.experiment),
            text(&labels.scale),
            text(&labels.size),
            text(&labels.layout),
            whole(found.vlfs),
            text(&labels.sql_version),
            text(&labels.log_policy),
            text(&labels.disk),
            found.machine.as_deref().map_or(Cell::Null, text),
            text(kind),
            text(name),
            whole(run as u64),
            Cell::Real(value),
            device_s.map_or(Cell::Null, Cell::Real),
            if detail.is_empty() { Cell::Null } else { text(detail) },
        ]
    };
    let mut rows = Vec::new();
    for (name, measurement) in &found.measurements {
        for (index, value) in measurement.values.iter().enumerate() {
            let device_s = measurement.device_values.get(index).copied();
            rows.push(row("measurement", name, index + 1, (*value, device_s), ""));
        }
    }
    for check in &found.checks {
        let runs = check.passed + check.failed;
        rows.push(row(
            "check",
            &check.name,
            runs,
            (check.failed as f64, None),
            &check.detail,
        ));
    }
    rows
}
