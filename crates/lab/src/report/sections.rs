//! The report's sections, in its order.

use super::chart::{self, Bar};
use super::format::{escape, label, range, ratio, thousands, value};
use super::verdict;
use crate::environment::Environment;
use crate::experiment::{Chart, ChartKind, Experiment, Step};
use crate::results::{ConfigurationResults, Results, RunFile};
use crate::statistics::Measurement;
use std::collections::BTreeMap;

pub(super) fn verdict(experiment: &Experiment, results: &Results) -> String {
    let mut html = String::from("<section>\n<h2>What came out</h2>\n");
    for finding in &experiment.finding {
        html.push_str(&format!("<h3>{}</h3>\n", escape(&finding.what)));
        if !finding.note.is_empty() {
            html.push_str(&format!("<p class=\"small\">{}</p>\n", escape(&finding.note)));
        }
        html.push_str("<div class=\"cards\">\n");
        for compared in verdict::compare(finding, results) {
            html.push_str(&card("", &compared.variant, &compared.figure, &compared.sentence));
        }
        if let (Some(times), Some(published)) = (verdict::published_ratio(finding, experiment), &experiment.published) {
            let sentence = verdict::published_sentence(finding, experiment, &published.short);
            html.push_str(&card(
                " published",
                "published",
                &format!("{}×", ratio(times)),
                &sentence,
            ));
        }
        html.push_str("</div>\n");
    }
    if let Some((held, text)) = verdict::safety(results) {
        let class = if held { "held" } else { "warning" };
        html.push_str(&format!("<p class=\"{class}\">{}</p>\n", escape(&text)));
    }
    html + "</section>\n"
}

fn card(class: &str, variant: &str, figure: &str, sentence: &str) -> String {
    format!(
        "<div class=\"card{class}\"><p class=\"variant\">{}</p><p class=\"figure\">{}</p><p>{}</p></div>\n",
        escape(variant),
        escape(figure),
        escape(sentence)
    )
}

pub(super) fn charts(experiment: &Experiment, results: &Results) -> String {
    let drawn: String = experiment
        .chart
        .iter()
        .map(|each| chart_section(experiment, results, each))
        .collect();
    format!("<section>\n{drawn}</section>\n")
}

fn chart_section(experiment: &Experiment, results: &Results, chart: &Chart) -> String {
    let measured = results.configurations.iter().filter_map(|each| our_bar(each, chart));
    let ours: Vec<Bar> = measured.collect();
    let published: Vec<Bar> = experiment
        .published
        .iter()
        .flat_map(|published| &published.configuration)
        .filter_map(|each| published_bar(&each.name, &each.measurements, chart))
        .collect();
    let mut html = format!(
        "<div class=\"chart\">\n<h2>{}</h2>\n<p>{}</p>\n",
        escape(&chart.title),
        escape(&chart.caption)
    );
    if chart.kind == ChartKind::Stack {
        html.push_str(&chart::legend(&chart.measures));
    }
    for (title, bars) in [("measured here", ours), ("published", published)] {
        if !bars.is_empty() {
            let description = format!("{}, {title}", chart.title);
            html.push_str(&format!(
                "<figure><figcaption>{title}</figcaption>{}</figure>\n",
                chart::panel(&description, &bars)
            ));
        }
    }
    html + "</div>\n"
}

fn our_bar(configuration: &ConfigurationResults, chart: &Chart) -> Option<Bar> {
    let median = |name: &String| configuration.measurement(name).map(|each| each.median);
    let parts = parts(chart, median)?;
    let only = chart.measures.first().and_then(|name| configuration.measurement(name));
    let range = only
        .filter(|each| chart.kind == ChartKind::Bars && each.runs > 1)
        .map(|each| (each.min, each.max));
    let vlfs = configuration.measurement("vlf_count").map(|count| count.median);
    Some(Bar {
        name: configuration.name.clone(),
        detail: vlf_text(vlfs),
        parts,
        range,
    })
}

fn published_bar(name: &str, figures: &BTreeMap<String, f64>, chart: &Chart) -> Option<Bar> {
    let parts = parts(chart, |measure: &String| figures.get(measure).copied())?;
    Some(Bar {
        name: name.into(),
        detail: vlf_text(figures.get("vlf_count").copied()),
        parts,
        range: None,
    })
}

/// The chart's measures as parts of one bar; `None` when none of them is there.
fn parts(chart: &Chart, find: impl Fn(&String) -> Option<f64>) -> Option<Vec<(usize, String, f64)>> {
    let found = chart
        .measures
        .iter()
        .enumerate()
        .filter_map(|(class, name)| Some((class, name.clone(), find(name)?)));
    let parts: Vec<_> = found.collect();
    (!parts.is_empty()).then_some(parts)
}

fn vlf_text(count: Option<f64>) -> String {
    count
        .map(|count| format!("{} VLFs", thousands(count)))
        .unwrap_or_default()
}

/// One column of the table: what it is called, and each measurement's median.
struct Column<'a> {
    group: String,
    name: &'a str,
    find: Find<'a>,
}

/// Finds a measurement by its name.
type Find<'a> = Box<dyn Fn(&str) -> Option<Measurement> + 'a>;

pub(super) fn comparison(experiment: &Experiment, results: &Results) -> String {
    let bases: Vec<&str> = experiment.configuration.iter().map(|each| each.name.as_str()).collect();
    let mut columns = Vec::new();
    if experiment.published.is_some() {
        columns.extend(bases.iter().map(|base| published_column(experiment, base)));
    }
    for variant in results.variants() {
        columns.extend(bases.iter().map(|base| our_column(results, base, variant)));
    }
    let mut html = String::from("<section>\n<h2>Published and measured</h2>\n<div class=\"wide\"><table>\n");
    html.push_str(&table_head(&columns, bases.len()));
    for measure in experiment.measurement_names() {
        html.push_str(&table_row(&measure, &columns, bases.len()));
    }
    html.push_str("</table></div>\n<p class=\"small\">Medians; below them, where runs were repeated, the smallest and the largest value. Ratios are of the first configuration to the second.</p>\n");
    if let Some(published) = &experiment.published {
        html.push_str(&format!(
            "<p class=\"small\">Published: {}. {} {}</p>\n",
            escape(&published.source),
            escape(&published.machine),
            escape(&published.note)
        ));
    }
    html + "</section>\n"
}

fn published_column<'a>(experiment: &'a Experiment, base: &'a str) -> Column<'a> {
    let find = move |name: &str| {
        let figure = experiment.published_for(base)?.get(name)?;
        Some(Measurement::of(vec![*figure]))
    };
    Column {
        group: "published".into(),
        name: base,
        find: Box::new(find),
    }
}

fn our_column<'a>(results: &'a Results, base: &'a str, variant: &'a str) -> Column<'a> {
    let find = move |name: &str| results.find(base, variant)?.measurement(name).cloned();
    let group = if variant.is_empty() {
        "measured".into()
    } else {
        format!("measured, {variant}")
    };
    Column {
        group,
        name: base,
        find: Box::new(find),
    }
}

/// Columns come in groups of `per_group`; a group of two gets a third column with the ratio.
fn table_head(columns: &[Column<'_>], per_group: usize) -> String {
    let ratio_column = usize::from(per_group == 2);
    let mut groups = String::from("<tr><th></th>");
    let mut names = String::from("<tr><th></th>");
    for group in columns.chunks(per_group.max(1)) {
        let title = group.first().map_or("", |column| column.group.as_str());
        groups.push_str(&format!(
            "<th class=\"group\" colspan=\"{}\">{}</th>",
            group.len() + ratio_column,
            escape(title)
        ));
        for (index, column) in group.iter().enumerate() {
            let class = if index == 0 { " class=\"first\"" } else { "" };
            names.push_str(&format!("<th{class}>{}</th>", escape(column.name)));
        }
        if ratio_column == 1 {
            names.push_str("<th>ratio</th>");
        }
    }
    format!("<thead>{groups}</tr>\n{names}</tr></thead>\n")
}

fn table_row(measure: &str, columns: &[Column<'_>], per_group: usize) -> String {
    let mut html = format!("<tr><th scope=\"row\">{}</th>", escape(&label(measure)));
    for group in columns.chunks(per_group.max(1)) {
        let found: Vec<Option<Measurement>> = group.iter().map(|column| (column.find)(measure)).collect();
        for (index, each) in found.iter().enumerate() {
            let class = if index == 0 { " class=\"first\"" } else { "" };
            html.push_str(&format!("<td{class}>{}</td>", cell(measure, each.as_ref())));
        }
        if let [Some(first), Some(second)] = found.as_slice() {
            let times = (second.median > 0.0).then(|| format!("{}×", ratio(first.median / second.median)));
            html.push_str(&format!(
                "<td class=\"ratio\">{}</td>",
                times.unwrap_or_else(|| "–".into())
            ));
        } else if per_group == 2 {
            html.push_str("<td class=\"ratio\">–</td>");
        }
    }
    html + "</tr>\n"
}

fn cell(measure: &str, found: Option<&Measurement>) -> String {
    let Some(found) = found else { return "–".into() };
    let median = value(measure, found.median);
    if found.runs < 2 || found.min == found.max {
        return median;
    }
    format!(
        "{median}<br><span class=\"range\">{}</span>",
        range(measure, found.min, found.max)
    )
}

pub(super) fn doubts(experiment: &Experiment) -> String {
    let Some(published) = &experiment.published else {
        return String::new();
    };
    if published.doubt.is_empty() {
        return String::new();
    }
    let items = published
        .doubt
        .iter()
        .map(|doubt| format!("<li>{}</li>\n", escape(&doubt.text)));
    format!(
        "<section>\n<h2>Where the published figures do not add up</h2>\n<ul>\n{}</ul>\n</section>\n",
        items.collect::<String>()
    )
}

pub(super) fn checks(results: &Results) -> String {
    let mut html =
        String::from("<section>\n<h2>What was verified</h2>\n<div class=\"wide\"><table class=\"checks\">\n");
    html.push_str(
        "<thead><tr><th>configuration</th><th>check</th><th>held</th><th>seen in the last run</th></tr></thead>\n",
    );
    for configuration in &results.configurations {
        for (index, check) in configuration.checks.iter().enumerate() {
            let name = if index == 0 {
                escape(&configuration.name)
            } else {
                String::new()
            };
            let class = if check.failed == 0 { "held" } else { "failed" };
            html.push_str(&format!(
                "<tr><td>{name}</td><td>{}</td><td class=\"{class}\">{} of {}</td><td>{}</td></tr>\n",
                escape(&check.name),
                check.passed,
                check.passed + check.failed,
                escape(&check.detail)
            ));
        }
    }
    html + "</table></div>\n</section>\n"
}

pub(super) fn method(experiment: &Experiment, results: &Results) -> String {
    let mut html = String::from(
        "<section>\n<h2>Method</h2>\n<p>Each run of each configuration gets a fresh server process with an empty instance folder, driven over its own network protocol. Runs alternate between the configurations. Phases of recovery are read from the server's error log.</p>\n<ol>\n",
    );
    for step in &experiment.step {
        html.push_str(&step_item(experiment, step));
    }
    html.push_str("</ol>\n<div class=\"wide\"><table class=\"settings\">\n<thead><tr><th>configuration</th><th>what</th><th>settings</th></tr></thead>\n");
    for configuration in &results.configurations {
        let settings = configuration
            .settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        html.push_str(&format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&configuration.name),
            escape(&configuration.title),
            escape(&settings.collect::<Vec<_>>().join(", "))
        ));
    }
    html.push_str("</table></div>\n");
    for configuration in results.configurations.iter().filter(|each| !each.error_log.is_empty()) {
        html.push_str(&format!(
            "<details><summary>Error log of the last recovery, {}</summary><pre>{}</pre></details>\n",
            escape(&configuration.name),
            escape(&configuration.error_log.join("\n"))
        ));
    }
    html + "</section>\n"
}

fn step_item(experiment: &Experiment, step: &Step) -> String {
    let (text, sql) = match step {
        Step::Sql {
            label,
            file,
            connection,
            until_error,
            ..
        } => {
            let mut text = label.clone();
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

pub(super) fn machine(machine: &Environment) -> String {
    let rows = [
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
        ("vlflab", machine.vlflab_version.clone()),
    ];
    let rows = rows
        .iter()
        .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", escape(value)));
    format!(
        "<section>\n<h2>Machine</h2>\n<table class=\"machine\">\n{}</table>\n</section>\n",
        rows.collect::<String>()
    )
}

pub(super) fn raw(file: &RunFile) -> String {
    format!(
        "<section>\n<h2>Raw results</h2>\n<details><summary>results.json</summary><pre id=\"results-json\">{}</pre></details>\n</section>\n",
        escape(&file.to_json())
    )
}
