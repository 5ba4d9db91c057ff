//! The method of the measurement: checks, limits, steps with their T-SQL, settings, error logs, machine.

use super::format::{escape, label, thousands, value};
use super::table::{Cell, Column, Look, Table};
use super::verdict;
use crate::experiment::{Experiment, Step};
use crate::results::{Results, RunFile, Slope, ThresholdResult};

/// Limits of the experiment's file, kept and missed; nothing without.
pub(super) fn thresholds(results: &Results) -> Option<Table> {
    if results.thresholds.is_empty() {
        return None;
    }
    let mut table = Table::plain(
        "Thresholds",
        &["<configuration", "<measurement", "<limit", "value", "<outcome"],
    );
    for each in &results.thresholds {
        let (text, look) = match (each.missed, each.value) {
            (true, _) => ("missed", Look::Missed),
            (false, None) => ("not measured", Look::Text),
            (false, Some(_)) => ("kept", Look::Held),
        };
        table.push(vec![
            Cell::text(&each.configuration),
            Cell::text(threshold_subject(each)),
            Cell::text(threshold_limit(each)),
            Cell::figure(threshold_value(each, each.value)),
            Cell::look(text, look),
        ]);
    }
    Some(table)
}

fn threshold_subject(each: &ThresholdResult) -> String {
    match &each.ratio_to {
        Some(other) => format!("{}, ratio to {other}", label(&each.measure)),
        None => label(&each.measure),
    }
}

fn threshold_limit(each: &ThresholdResult) -> String {
    let at_least = each
        .min
        .map(|min| format!("at least {}", threshold_value(each, Some(min))));
    let at_most = each
        .max
        .map(|max| format!("at most {}", threshold_value(each, Some(max))));
    let both: Vec<String> = at_least.into_iter().chain(at_most).collect();
    both.join(", ")
}

fn threshold_value(each: &ThresholdResult, figure: Option<f64>) -> String {
    match (figure, &each.ratio_to) {
        (None, _) => "–".into(),
        (Some(figure), Some(_)) => format!("{}×", value("ratio", figure)),
        (Some(figure), None) => value(&each.measure, figure),
    }
}

/// What a thousand VLFs cost under each variant; nothing where no slope was asked for.
pub(super) fn slopes(results: &Results) -> Option<Table> {
    let mut subjects: Vec<&str> = Vec::new();
    for slope in &results.slopes {
        if !subjects.contains(&slope.what.as_str()) {
            subjects.push(&slope.what);
        }
    }
    let mut table = Table::plain("What a thousand VLFs cost", &["<variant"]);
    table.columns.extend(subjects.iter().map(|subject| Column {
        name: format!("{subject}, per 1,000 VLFs"),
        ..Column::default()
    }));
    for variant in results.variants() {
        let mut cells = vec![Cell::text(verdict::shown_variant(variant))];
        cells.extend(subjects.iter().map(|subject| {
            let mut all = results.slopes.iter();
            let found = all.find(|slope| slope.what == **subject && slope.variant == variant);
            found.map_or_else(|| Cell::figure("–"), slope_cell)
        }));
        table.push(cells);
    }
    (!subjects.is_empty()).then_some(table)
}

fn slope_cell(slope: &Slope) -> Cell {
    let below = slope
        .vlfs_for_one_second
        .filter(|count| *count < VLFS_PLAUSIBLE_MAX)
        .map(|count| format!("1 s more at {} VLFs", thousands(count)));
    Cell {
        below: below.unwrap_or_default(),
        ..Cell::figure(format!("{:.2} ms", slope.ms_per_1000_vlfs))
    }
}

/// No log has more VLFs than this: a second that only they would cost is not worth telling.
const VLFS_PLAUSIBLE_MAX: f64 = 1e7;

/// What was verified; nothing without checks.
pub(super) fn checks(results: &Results) -> Option<Table> {
    let mut table = Table::plain(
        "Checks",
        &["<configuration", "<check", "<held", "<seen in the last run"],
    );
    for configuration in &results.configurations {
        for (index, check) in configuration.checks.iter().enumerate() {
            let name = if index == 0 { configuration.name.as_str() } else { "" };
            let look = if check.failed == 0 { Look::Held } else { Look::Missed };
            let held = format!("{} of {}", check.passed, check.passed + check.failed);
            table.push(vec![
                Cell::text(name),
                Cell::text(&check.name),
                Cell::look(held, look),
                Cell::text(&check.detail),
            ]);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The settings of every configuration.
pub(super) fn settings(results: &Results) -> Table {
    let mut table = Table::plain("Settings", &["<configuration", "<what", "<settings"]);
    for configuration in &results.configurations {
        let settings = configuration.settings.iter();
        let settings: Vec<String> = settings.map(|(name, value)| format!("{name} = {value}")).collect();
        table.push(vec![
            Cell::text(&configuration.name),
            Cell::text(&configuration.title),
            Cell::text(settings.join(", ")),
        ]);
    }
    table
}

/// More configurations than this have their settings folded away.
const SETTINGS_SHOWN_MAX: usize = 16;

/// The method as HTML.
pub(super) fn html(experiment: &Experiment, results: &Results) -> String {
    let mut html = String::from(
        "<h3>Method</h3>\n<p>Each run of each configuration begins anew, and runs alternate between the configurations, so that a machine that grows slower or faster meanwhile does so for all of them. Phases of recovery are read from the server's error log. In order:</p>\n<ol>\n",
    );
    for step in &experiment.step {
        html.push_str(&step_item(experiment, step));
    }
    html.push_str("</ol>\n");
    let settings = settings(results);
    if settings.rows.len() > SETTINGS_SHOWN_MAX {
        html.push_str(&format!(
            "<details><summary>Settings of {} configurations</summary>\n{}</details>\n",
            settings.rows.len(),
            settings.html()
        ));
    } else {
        html.push_str(&settings.html());
    }
    for configuration in results.configurations.iter().filter(|each| !each.error_log.is_empty()) {
        html.push_str(&format!(
            "<details><summary>Error log of the last recovery, {}</summary><pre>{}</pre></details>\n",
            escape(&configuration.name),
            escape(&configuration.error_log.join("\n"))
        ));
    }
    html
}

fn step_item(experiment: &Experiment, step: &Step) -> String {
    let (text, sql) = match step {
        Step::Sql {
            label,
            file,
            connection,
            until_error,
            only,
            ..
        } => {
            let mut text = label.clone();
            if !only.is_empty() {
                text.push_str(&format!(" (only {})", only.join(", ")));
            }
            if connection != "main" {
                text.push_str(&format!(" (in a second connection, '{connection}')"));
            }
            if let Some(number) = until_error {
                text.push_str(&format!(" until error {number}"));
            }
            (text, experiment.scripts.read(file).ok())
        }
        Step::Query { label, sql, .. } => (label.clone(), Some(sql.clone())),
        Step::Check { label, sql, .. } => (format!("check: {label}"), Some(sql.clone())),
        Step::Clients { label, connections, .. } => {
            let script = step.file().and_then(|file| experiment.scripts.read(file).ok());
            (format!("{label} (in {connections} connections at once)"), script)
        }
        other => (
            other.label().to_string(),
            other.file().and_then(|file| experiment.scripts.read(file).ok()),
        ),
    };
    let details = sql.map(|sql| {
        format!(
            "<details><summary>T-SQL</summary><pre>{}</pre></details>",
            escape(sql.trim())
        )
    });
    format!("<li>{}{}</li>\n", escape(&text), details.unwrap_or_default())
}

/// The machine and the versions.
pub(super) fn machine(file: &RunFile) -> Table {
    let machine = &file.environment;
    let build = if machine.optimized_build {
        ""
    } else {
        ", built without optimisation"
    };
    let mut rows = vec![
        ("vlflab", format!("{}{build}", file.product_version)),
        ("machine", machine.machine.clone()),
        ("processor", format!("{}, {} in use", machine.cpu, machine.cores)),
        ("memory", format!("{} MB", thousands(machine.memory_mb as f64))),
        (
            "system",
            format!("{}, kernel {}", machine.operating_system, machine.kernel),
        ),
        ("file system", machine.filesystem.clone()),
        (
            "durable write of 8 KB",
            format!(
                "{:.0} µs median, {:.0} µs at the 99th percentile",
                machine.durable_write_us_median, machine.durable_write_us_p99
            ),
        ),
        (
            "one large file",
            format!(
                "written with {} MB/s, read with {} MB/s",
                thousands(machine.sequential_write_mb_per_s),
                thousands(machine.sequential_read_mb_per_s)
            ),
        ),
        (
            "load before the run",
            format!("{:.2} processes wanted a processor on average", machine.load_average),
        ),
        ("started", file.started.clone()),
        ("took", value("took_s", file.elapsed_s)),
    ];
    if let Some(target) = &file.target {
        rows.insert(
            0,
            (
                "server measured",
                format!(
                    "{}: {} {}, VLFs predicted by the rules of {}",
                    target.address, target.product_version, target.edition, target.rules_of
                ),
            ),
        );
    }
    let mut table = Table::plain("Machine and versions", &["<what", "<value"]);
    for (name, value) in rows {
        table.push(vec![Cell::text(name), Cell::text(value)]);
    }
    table
}
