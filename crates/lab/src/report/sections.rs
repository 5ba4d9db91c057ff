//! The report's sections as HTML, in its order.

use super::chart::bars::{self, Bar};
use super::chart::{Figure, Key, Panel, curve, growth, latency, vlf_map, waits};
use super::format::{escape, label, ratio, thousands, value};
use super::table::{Cell, Column, Look, Row, Table};
use super::verdict::{self, Comparison};
use super::{beside, comparison, heat, method, page};
use crate::experiment::{Chart, ChartKind, Experiment, Finding};
use crate::results::{ConfigurationResults, Results, RunFile};
use std::collections::BTreeMap;

/// More variants than this get a table instead of cards.
const CARDS_MAX: usize = 4;

/// An experiment with what came of it; `None` when its own text is no longer understood.
pub(super) type Told<'a> = (&'a Results, Option<Experiment>);

/// The verdict over all experiments: bad news, what the first finding came to, where VLFs begin to hurt, what came out otherwise.
pub(super) fn overview(file: &RunFile, told: &[Told<'_>]) -> String {
    let mut html = String::from("<section id=\"verdict\">\n");
    html.push_str(&safety(file, false));
    let has_map = super::has_modelled(file);
    let lead = told.iter().find_map(|(results, experiment)| {
        let sentences = headlines(experiment.as_ref()?, results);
        sentences.into_iter().next()
    });
    if let Some(lead) = lead.filter(|_| has_map) {
        html.push_str(&format!("<p class=\"lead\">{}</p>\n", escape(&lead)));
    }
    if has_map {
        html.push_str(&heat::figure(file).html_with(&heat::legend_html()));
        html.push_str("<p class=\"small\">Computed from the figures of each disk, not executed. <a href=\"#disks\">The same in seconds</a>, with the range of each disk.</p>\n");
    }
    html.push_str("<h2>What came out</h2>\n");
    for each in told {
        html.push_str(&outcome(each, told.len() > 1));
    }
    html.push_str("</section>\n<section id=\"figures\">\n<h2>The figures side by side</h2>\n");
    html.push_str(&page::terms_html(file));
    for (results, experiment) in told {
        if let Some(experiment) = experiment
            && let Some(table) = beside::table(experiment, results)
        {
            let note = beside::note(experiment, results);
            html.push_str(&format!("{}<p class=\"small\">{}</p>\n", table.html(), escape(&note)));
        }
    }
    if told.len() > 1
        && let Some(table) = findings_table(told)
    {
        html.push_str(&table.html());
        html.push_str(&format!("<p class=\"small\">{RATIO_KEY}</p>\n"));
    }
    html.push_str(&safety(file, true));
    html + "</section>\n"
}

/// What came out of one experiment, and what that does not show.
fn outcome((results, experiment): &Told<'_>, is_titled: bool) -> String {
    let sentences = experiment.as_ref().map_or_else(
        || vec![not_understood(results)],
        |experiment| headlines(experiment, results),
    );
    let mut html = String::from("<div class=\"verdict\">");
    if is_titled {
        html.push_str(&format!(
            "<h3><a href=\"#{}\">{}</a></h3>\n",
            anchor(results),
            escape(&results.title)
        ));
    }
    for sentence in &sentences {
        html.push_str(&format!("<p>{}</p>\n", escape(sentence)));
    }
    for limit in experiment
        .iter()
        .flat_map(|experiment| verdict::limits(experiment, results))
    {
        html.push_str(&format!("<p class=\"small\">{}</p>\n", escape(&limit)));
    }
    html + "</div>\n"
}

/// The experiment in a few sentences: published beside ours where sizes are the same, else its first finding.
pub(super) fn headlines(experiment: &Experiment, results: &Results) -> Vec<String> {
    let sentences = beside::sentences(experiment, results);
    if sentences.is_empty() {
        vec![verdict::headline(experiment, results)]
    } else {
        sentences
    }
}

/// How the figures of the findings are to be read.
pub(super) const RATIO_KEY: &str = "Ratios are slow over fast, of medians, that of single runs from the smallest to the largest below; “same” is within 5 %, “unclear” is no difference beyond the spread of the runs, “–” is not measured or too little to tell.";

/// How slopes are to be read.
pub(super) const SLOPE_KEY: &str = "The rise of the straight line through the medians of all configurations. Below it, the number of VLFs at which it has cost a second more than native. A rise near zero, of either sign, is noise.";

fn not_understood(results: &Results) -> String {
    match results.experiment() {
        Err(error) => format!("This version cannot read the experiment's text: {error}"),
        Ok(_) => String::new(),
    }
}

fn anchor(results: &Results) -> String {
    let name = results.experiment.chars();
    let safe = name.map(|each| if each.is_ascii_alphanumeric() { each } else { '-' });
    format!("experiment-{}", safe.collect::<String>())
}

/// The checks that held, or those that did not.
fn safety(file: &RunFile, is_good_news: bool) -> String {
    let mut html = String::new();
    for (held, text) in safety_lines(file).into_iter().filter(|(held, _)| *held == is_good_news) {
        let class = if held { "held" } else { "warning" };
        html.push_str(&format!("<p class=\"{class}\">{}</p>\n", escape(&text)));
    }
    html
}

/// Checks and thresholds over all experiments, and whether they are good news.
pub(super) fn safety_lines(file: &RunFile) -> Vec<(bool, String)> {
    let mut lines = Vec::new();
    let many = file.experiments.len() > 1;
    for results in &file.experiments {
        if let Some((held, text)) = verdict::safety(results) {
            let whose = if many {
                format!("{}: ", results.experiment)
            } else {
                String::new()
            };
            lines.push((held, whose + &text));
        }
    }
    let limits: usize = file.experiments.iter().map(|each| each.thresholds.len()).sum();
    let missed = file.missed_thresholds();
    if limits > 0 && missed.is_empty() {
        lines.push((true, format!("All {limits} thresholds were kept.")));
    }
    if !missed.is_empty() {
        lines.push((
            false,
            format!(
                "{} of {limits} thresholds were missed: {}",
                missed.len(),
                missed.join("; ")
            ),
        ));
    }
    lines
}

/// Every finding of every experiment in one table; nothing without findings.
pub(super) fn findings_table(told: &[Told<'_>]) -> Option<Table> {
    let few = |results: &Results| results.variants().len() <= CARDS_MAX;
    let mut variants: Vec<&str> = Vec::new();
    for variant in told
        .iter()
        .filter(|(results, _)| few(results))
        .flat_map(|(results, _)| results.variants())
    {
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    let mut table = Table::plain("Every finding", &["<finding", "published"]);
    table.columns.extend(variants.iter().map(|variant| Column {
        name: verdict::shown_variant(variant),
        ..Column::default()
    }));
    for (results, experiment) in told {
        let Some(experiment) = experiment
            .as_ref()
            .filter(|each| few(results) && !each.finding.is_empty())
        else {
            continue;
        };
        table.rows.push(Row::Heading(results.title.clone()));
        for finding in &experiment.finding {
            let published = verdict::published_ratio(finding, experiment);
            let mut cells = vec![
                Cell::text(&finding.what),
                Cell::figure(published.map_or_else(|| "–".into(), |times| format!("{}×", ratio(times)))),
            ];
            let compared = verdict::compare(finding, results);
            cells.extend(variants.iter().map(|variant| {
                let found = compared.iter().find(|each| each.variant == **variant);
                found.map_or_else(|| Cell::figure("–"), finding_cell)
            }));
            table.push(cells);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn finding_cell(comparison: &Comparison) -> Cell {
    let spread = if comparison.figure == "–" {
        String::new()
    } else {
        comparison.spread.clone()
    };
    Cell {
        below: spread,
        ..Cell::look(&comparison.figure, Look::Ratio)
    }
}

/// Everything about one experiment; one that is alone on the page has its title above already.
pub(super) fn experiment(results: &Results, experiment: &Experiment, alone: bool) -> String {
    let (class, title) = if alone {
        (" alone", "The experiment")
    } else {
        ("", experiment.title.as_str())
    };
    let took = if results.elapsed_s > 0.0 {
        format!(" · took {}", value("took_s", results.elapsed_s))
    } else {
        String::new()
    };
    let mut html = format!(
        "<section class=\"experiment{class}\" id=\"{}\">\n<p class=\"kicker\">experiment {} · scale {} · {}{took}</p>\n<h2>{}</h2>\n<p class=\"question\">{}</p>\n",
        anchor(results),
        escape(&results.experiment),
        escape(&results.scale),
        escape(&results.started),
        escape(title),
        escape(&experiment.question),
    );
    if let Some(reason) = &results.stopped {
        html.push_str(&format!(
            "<p class=\"warning\">This experiment stopped early ({}).</p>\n",
            escape(reason)
        ));
    }
    html.push_str(&findings(experiment, results));
    if let Some(table) = method::slopes(results) {
        html.push_str(&format!(
            "<h3>What a thousand VLFs cost</h3>\n{}<p class=\"small\">{SLOPE_KEY}</p>\n",
            table.html()
        ));
    }
    html.push_str(&figures(experiment, results));
    html.push_str(&published_and_measured(experiment, results));
    html.push_str(&list("Where the published figures do not add up", &doubts(experiment)));
    html.push_str(&list("Done in another way here", &results.notes));
    for (title, table) in [
        ("Thresholds", method::thresholds(results)),
        ("What was verified", method::checks(results)),
    ] {
        if let Some(table) = table {
            html.push_str(&format!("<h3>{title}</h3>\n{}", table.html()));
        }
    }
    html.push_str(&method::html(experiment, results));
    html + "</section>\n"
}

/// Where the source does not add up.
pub(super) fn doubts(experiment: &Experiment) -> Vec<String> {
    let published = experiment.published.iter();
    published
        .flat_map(|each| &each.doubt)
        .map(|doubt| doubt.text.clone())
        .collect()
}

fn list(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items
        .iter()
        .map(|item| format!("<li>{}</li>\n", escape(item)))
        .collect();
    format!("<h3>{title}</h3>\n<ul>\n{items}</ul>\n")
}

fn findings(experiment: &Experiment, results: &Results) -> String {
    let mut html = String::new();
    for finding in &experiment.finding {
        html.push_str(&format!("<div class=\"finding\"><h3>{}</h3>\n", escape(&finding.what)));
        let compared = verdict::compare(finding, results);
        if compared.len() > CARDS_MAX {
            html.push_str(&variants_table(&compared).html());
        } else {
            html.push_str(&cards(finding, experiment, results, &compared));
        }
        if !finding.note.is_empty() {
            html.push_str(&format!("<p class=\"small\">{}</p>\n", escape(&finding.note)));
        }
        html.push_str("</div>\n");
    }
    html
}

fn cards(finding: &Finding, experiment: &Experiment, results: &Results, compared: &[Comparison]) -> String {
    let mut html = String::from("<div class=\"cards\">\n");
    for each in compared {
        let variant = verdict::shown_variant(&each.variant);
        html.push_str(&card("", &variant, &each.figure, &each.sentence));
    }
    if let (Some(pair), Some(published)) = (verdict::published_pair(finding, experiment), &experiment.published) {
        let sentence = verdict::published_sentence(finding, experiment, &published.short);
        let name = published_name(experiment, results);
        html.push_str(&card(" published", &name, &pair, &sentence));
    }
    html + "</div>\n"
}

fn card(class: &str, variant: &str, figure: &str, sentence: &str) -> String {
    let size = if figure.contains(' ') { "figure two" } else { "figure" };
    format!(
        "<div class=\"card{class}\"><p class=\"variant\">{}</p><p class=\"{size}\">{}</p><p>{}</p></div>\n",
        escape(variant),
        escape(figure),
        escape(sentence)
    )
}

fn variants_table(compared: &[Comparison]) -> Table {
    let mut table = Table::plain("The finding under each variant", &["<variant", "ratio", "<in words"]);
    for each in compared {
        table.push(vec![
            Cell::text(&each.variant),
            finding_cell(each),
            Cell::text(&each.sentence),
        ]);
    }
    table
}

fn figures(experiment: &Experiment, results: &Results) -> String {
    let mut html = String::new();
    for chart in &experiment.chart {
        match chart.kind {
            ChartKind::Stack => html.push_str(&stack(experiment, results, chart).html()),
            ChartKind::Bars => html.push_str(&bar_chart(experiment, results, chart).html()),
            ChartKind::Curve => html.push_str(&curve::figure(chart, results).html()),
        }
    }
    for figure in [
        latency::figure(results),
        waits::figure(experiment, results),
        growth::figure(results),
        vlf_map::figure(results),
    ] {
        html.push_str(&figure.html());
    }
    html.push_str(&recordings(results));
    html
}

/// Where the logs of the first runs are played; nothing where they were not recorded.
fn recordings(results: &Results) -> String {
    let links = results.configurations.iter().filter_map(|each| {
        let file = escape(each.recording.as_ref()?);
        Some(format!("<li><a href=\"{file}\">{}</a></li>", escape(&each.name)))
    });
    let links: String = links.collect();
    match links.is_empty() {
        true => links,
        false => format!(
            "<p>The logs of the first runs, recorded; each file beside this one plays by itself:</p><ul>{links}</ul>"
        ),
    }
}

/// Configurations of a variant next to each other, so that what is compared stands together.
fn by_variant(results: &Results) -> Vec<(usize, &ConfigurationResults)> {
    let mut bases: Vec<&str> = Vec::new();
    for each in &results.configurations {
        if !bases.contains(&each.base.as_str()) {
            bases.push(&each.base);
        }
    }
    let mut ordered = Vec::new();
    for variant in results.variants() {
        for (index, base) in bases.iter().enumerate() {
            ordered.extend(results.find(base, variant).map(|found| (index, found)));
        }
    }
    ordered
}

fn stack(experiment: &Experiment, results: &Results, chart: &Chart) -> Figure {
    let parts = |find: &dyn Fn(&str) -> Option<f64>| -> Vec<(usize, String, f64)> {
        let all = chart.measures.iter().enumerate();
        all.filter_map(|(style, name)| Some((style, name.clone(), find(name)?)))
            .collect()
    };
    let bar = |(_, each): (usize, &ConfigurationResults)| Bar {
        name: each.name.clone(),
        detail: detail(
            vlf_text(each.measurement("vlf_count").map(|count| count.median)),
            &each.title,
        ),
        parts: parts(&|name| each.measurement(name).map(|found| found.median)),
        runs: None,
    };
    let mut figure = Figure {
        title: chart.title.clone(),
        caption: caption(experiment, results, chart),
        ..Figure::default()
    };
    let panels = Panels {
        what: String::new(),
        ours: by_kind(results).map(|(kind, all)| (kind, all.into_iter().map(bar).collect())),
        published: (published_name(experiment, results), published_bars(experiment, &parts)),
        is_published_size: experiment.is_of_published_size(&results.scale),
    };
    panels.add_to(&mut figure);
    figure.keys = chart
        .measures
        .iter()
        .enumerate()
        .map(|(style, name)| Key {
            style,
            line: false,
            text: label(name),
        })
        .collect();
    figure.tables.push(chart_table(results, &chart.measures));
    figure
}

fn bar_chart(experiment: &Experiment, results: &Results, chart: &Chart) -> Figure {
    let mut figure = Figure {
        title: chart.title.clone(),
        caption: caption(experiment, results, chart),
        ..Figure::default()
    };
    for measure in &chart.measures {
        let bar = |(style, each): (usize, &ConfigurationResults)| {
            let found = each.measurement(measure)?;
            Some(Bar {
                name: each.name.clone(),
                detail: detail(
                    vlf_text(each.measurement("vlf_count").map(|count| count.median)),
                    &each.title,
                ),
                parts: vec![(style, measure.clone(), found.median)],
                runs: Some(found.clone()),
            })
        };
        let published = published_bars(experiment, &|find| {
            find(measure)
                .map(|figure| (0, measure.clone(), figure))
                .into_iter()
                .collect()
        });
        let what = if chart.measures.len() > 1 {
            label(measure)
        } else {
            String::new()
        };
        let panels = Panels {
            what,
            ours: by_kind(results).map(|(kind, all)| (kind, all.into_iter().filter_map(bar).collect())),
            published: (published_name(experiment, results), recoloured(published, results)),
            is_published_size: experiment.is_of_published_size(&results.scale),
        };
        panels.add_to(&mut figure);
    }
    figure.tables.push(chart_table(results, &chart.measures));
    figure
}

/// The chart's caption, and how its axes are to be read.
fn caption(experiment: &Experiment, results: &Results, chart: &Chart) -> String {
    let axes = match (&experiment.published, experiment.is_of_published_size(&results.scale)) {
        (Some(_), false) => "Published figures are of another size and have an axis of their own.",
        _ => "Panels of the same measurement have the same axis.",
    };
    format!("{} {axes}", chart.caption).trim_start().to_string()
}

/// Colours of the published bars: those of the configurations they stand beside.
fn recoloured(mut bars: Vec<Bar>, results: &Results) -> Vec<Bar> {
    let colours: BTreeMap<String, usize> = by_variant(results)
        .into_iter()
        .map(|(style, each)| (each.base.clone(), style))
        .collect();
    for bar in &mut bars {
        let style = colours.get(&bar.name).copied().unwrap_or_default();
        bar.parts.iter_mut().for_each(|part| part.0 = style);
    }
    bars
}

fn detail(vlfs: String, title: &str) -> String {
    if vlfs.is_empty() {
        title.into()
    } else {
        format!("{vlfs}, {title}")
    }
}

/// Makes a bar's parts from what finds a figure by its name.
type Parts<'a> = &'a dyn Fn(&dyn Fn(&str) -> Option<f64>) -> Vec<(usize, String, f64)>;

fn published_bars(experiment: &Experiment, parts: Parts<'_>) -> Vec<Bar> {
    let published = experiment.published.iter().flat_map(|each| &each.configuration);
    let bars = published.map(|each| Bar {
        name: each.name.clone(),
        detail: vlf_text(each.measurements.get("vlf_count").copied()),
        parts: parts(&|name| each.measurements.get(name).copied()),
        runs: None,
    });
    bars.collect()
}

/// Bars in a panel for each kind of figure. All panels have the same axis, so that a longer time is drawn longer whosever it is;
/// only published figures of another size have their own.
struct Panels {
    /// The measurement, where the figure has several.
    what: String,
    /// What each kind of ours is called, and its bars.
    ours: [(&'static str, Vec<Bar>); 2],
    published: (String, Vec<Bar>),
    /// Whether the published figures are of our size.
    is_published_size: bool,
}

impl Panels {
    fn add_to(self, figure: &mut Figure) {
        let longest = bars::longest(self.ours.iter().flat_map(|(_, bars)| bars));
        let of_published = bars::longest(&self.published.1);
        let (axis, axis_of_published) = match self.is_published_size {
            true => (longest.max(of_published), longest.max(of_published)),
            false => (longest, of_published),
        };
        let ours = self
            .ours
            .into_iter()
            .map(|(kind, bars)| (kind.to_string(), bars, false));
        let (published, bars) = self.published;
        for (kind, mut bars, published) in ours.chain([(published, bars, true)]) {
            bars.retain(|bar| !bar.parts.is_empty());
            if bars.is_empty() {
                continue;
            }
            let caption = match self.what.as_str() {
                "" => kind,
                what => format!("{what}, {kind}"),
            };
            figure.panels.push(Panel {
                svg: bars::panel(
                    &format!("{}: {caption}", figure.title),
                    &bars,
                    if published { axis_of_published } else { axis },
                ),
                caption,
                published,
            });
        }
    }
}

/// A configuration with the number of its colour.
type Coloured<'a> = (usize, &'a ConfigurationResults);

/// What was measured here and what was modelled, apart.
fn by_kind(results: &Results) -> [(&'static str, Vec<Coloured<'_>>); 2] {
    let is_modelled = |(_, each): &Coloured<'_>| each.modelled_disk().is_some();
    let (modelled, measured) = by_variant(results).into_iter().partition(is_modelled);
    [("modelled", modelled), ("measured here", measured)]
}

fn published_name(experiment: &Experiment, results: &Results) -> String {
    format!("published{}", verdict::published_mark(experiment, results))
}

/// Every run of the charted measurements.
fn chart_table(results: &Results, measures: &[String]) -> Table {
    let mut table = Table::plain(
        "Every run",
        &[
            "<configuration",
            "<measurement",
            "<how",
            "median",
            "min",
            "max",
            "<runs",
        ],
    );
    for (_, configuration) in by_variant(results) {
        for measure in measures {
            let Some(found) = configuration.measurement(measure) else {
                continue;
            };
            let runs: Vec<String> = found.values.iter().map(|run| value(measure, *run)).collect();
            table.push(vec![
                Cell::text(&configuration.name),
                Cell::text(label(measure)),
                Cell::text(if configuration.modelled_disk().is_some() {
                    "modelled"
                } else {
                    "measured"
                }),
                Cell::figure(value(measure, found.median)),
                Cell::figure(value(measure, found.min)),
                Cell::figure(value(measure, found.max)),
                Cell::text(runs.join(", ")),
            ]);
        }
    }
    table
}

fn vlf_text(count: Option<f64>) -> String {
    count
        .map(|count| format!("{} VLFs", thousands(count)))
        .unwrap_or_default()
}

fn published_and_measured(experiment: &Experiment, results: &Results) -> String {
    let title = if experiment.published.is_some() {
        "Published and measured"
    } else {
        "Measured"
    };
    let table = comparison::table(experiment, results);
    let mut html = format!("<h3>{title}</h3>\n");
    let all = format!(
        "{}<p class=\"small\">{}</p>\n",
        table.html(),
        escape(&comparison::ratio_note(experiment, results))
    );
    if beside::table(experiment, results).is_some() {
        // What is compared stands side by side above; this has the rest, and many of its cells are empty.
        html.push_str(&format!(
            "<details><summary>Every figure, {} rows</summary>\n{all}</details>\n",
            table.rows.len()
        ));
    } else {
        html.push_str(&all);
    }
    if let Some(published) = &experiment.published {
        html.push_str(&format!(
            "<p class=\"small\">Published: {}. {} {}</p>\n",
            escape(&published.source),
            escape(&published.machine),
            escape(&published.note)
        ));
    }
    html
}
