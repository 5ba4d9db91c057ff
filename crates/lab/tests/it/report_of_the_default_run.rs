//! The report of `vlflab run` on made-up figures: measured and modelled figures stay apart, single runs claim nothing, and
//! published figures of another size are marked.
#![allow(clippy::unwrap_used)]

use lab::plan::{Disks, Setup, on_disks, setups};
use lab::results::{ConfigurationResults, Results, RunFile};
use lab::{catalogue, report};

/// Of a log that grew by 1 MB.
const VLF_BYTES: f64 = 262_144.0;
/// Runs on this machine's disk; on a modelled one there is one.
const RUNS: usize = 3;

fn found(setup: &Setup, measures: &[String]) -> ConfigurationResults {
    let mut found = ConfigurationResults {
        name: setup.name.clone(),
        base: setup.base.clone(),
        title: setup.title.clone(),
        settings: setup.settings(),
        ..ConfigurationResults::default()
    };
    let times = if setup.log_policy == "classic" { 10.0 } else { 1.0 };
    let times = if setup.base.ends_with("many") || setup.base == "slow" {
        times * 4.0
    } else {
        times
    };
    for measure in measures.iter().filter(|name| name.ends_with("_s")) {
        match &setup.disk {
            Some(_) => found.measure_with_device(measure, times * 1.1, Some(times)),
            None => (0..RUNS).for_each(|run| found.measure(measure, times * 0.1 + run as f64 * 0.001)),
        }
    }
    found.measure("vlf_count", setup.vlf_count_predicted as f64);
    found.measure("log_bytes", setup.vlf_count_predicted as f64 * VLF_BYTES);
    found
}

fn experiment(name: &str) -> Results {
    let experiment = catalogue::load(name).unwrap();
    let planned = setups(&experiment, &experiment.scale["quick"]).unwrap();
    let placed = on_disks(planned, Disks::AsWritten).unwrap();
    let measures = experiment.measurement_names();
    Results {
        experiment: name.into(),
        title: experiment.title.clone(),
        scale: "quick".into(),
        complete: true,
        toml: experiment.text.clone(),
        scripts: experiment.script_texts(),
        configurations: placed.iter().map(|setup| found(setup, &measures)).collect(),
        ..Results::default()
    }
}

fn default_run() -> RunFile {
    RunFile {
        scale: "quick".into(),
        complete: true,
        experiments: catalogue::default_run("quick")
            .iter()
            .map(|name| experiment(name))
            .collect(),
        ..RunFile::default()
    }
}

/// Every text between two marks.
fn between<'a>(html: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    html.split(begin)
        .skip(1)
        .map(|rest| rest.split(end).next().unwrap())
        .collect()
}

/// What a reader sees first is what one would say, and a picture; then what the words mean that the tables need.
#[test]
fn a_sentence_and_the_map_come_first_and_words_before_tables() {
    let html = report::render(&default_run());
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("default-run.html"), &html).unwrap();
    std::fs::write(folder.join("default-run-short.html"), report::short(&default_run())).unwrap();
    let place = |part: &str| html.find(part).unwrap_or_else(|| panic!("no {part}"));
    let order = [
        "<p class=\"lead\">Startup with 20,480 VLFs took 106 s in 2008. Our model of such a disk (hdd-7200-2006) gives 44.0 s. On your disk it takes 4.00 s.",
        "Where VLFs begin to hurt",
        "Finding the VLFs when the server starts</figcaption><svg",
        ">your disk</text>",
        "What came out",
        "<dt>classic</dt>",
        "<table",
        "id=\"experiment-published\"",
        "id=\"disks\"",
        "id=\"machine\"",
        "id=\"raw\"",
    ];
    let places = order.map(place);
    assert!(places.is_sorted(), "{places:?}");
    for term in ["native", "modelled", "measured"] {
        assert!(place(&format!("<dt>{term}</dt>")) < place("<table"), "{term}");
    }
}

/// The bar of a longer time is longer, whether it was published, modelled or measured.
#[test]
fn panels_of_a_measurement_share_their_axis() {
    let html = report::render(&default_run());
    let chart = between(&html, "<h3>Finding the VLFs at startup</h3>", "</details>")[0];
    let width = |panel: &str| -> f64 {
        let panel = chart
            .split_once(&format!("<figcaption>{panel}</figcaption>"))
            .unwrap()
            .1;
        let bar = between(panel, "<rect class=\"area", "/rect>")[0];
        between(bar, "width=\"", "\"")[0].parse().unwrap()
    };
    let (published, modelled, measured) = (width("published"), width("modelled"), width("measured here"));
    // 106.31 s, 44 s and 4 s.
    assert!(
        (published / modelled - 106.31 / 44.0).abs() < 0.05,
        "{published} {modelled}"
    );
    assert!((modelled / measured - 11.0).abs() < 0.3, "{modelled} {measured}");
    // Five times as many rows were published: they are no yardstick for ours.
    let rows = between(&html, "id=\"experiment-dml\"", "</section>")[0];
    assert!(rows.contains("Published figures are of another size and have an axis of their own."));
}

/// Columns are under a head that says which kind they are; a modelled figure says what of it the device took.
#[test]
fn measured_and_modelled_seconds_have_columns_of_their_own() {
    let html = report::render(&default_run());
    let table = between(&html, "Published, modelled and measured seconds</caption>", "</table>")[0];
    for group in ["modelled", "measured here"] {
        let head = format!("<th scope=\"colgroup\" class=\"group first\" colspan=\"2\">{group}</th>");
        assert!(table.contains(&head), "{group}: {table}");
    }
    let kent = between(
        table,
        "grown by 1 MB; modelled on hdd-7200-2006",
        "tr class=\"heading\"",
    )[0];
    let discovery = between(kent, ">discovery</th>", "</tr>")[0];
    let cells: Vec<&str> = between(discovery, "<td", "</td>");
    assert_eq!(cells.len(), 6, "{discovery}");
    for (cell, part) in cells.iter().zip([
        "20,480",
        "106 s",
        "44.0 s<br><span class=\"range\">device 40.0 s, processor 4.00 s",
        "4.40 s<br><span class=\"range\">device 4.00 s",
        "4.00 s<br><span class=\"range\">4.00–4.00",
        "401 ms",
    ]) {
        assert!(cell.contains(part), "{part} in {cell}");
    }
    let chart = between(&html, "<figcaption>", "</figcaption>");
    assert!(chart.contains(&"modelled") && chart.contains(&"measured here") && chart.contains(&"published"));
}

/// Of single runs both figures stand in large type and no ratio; so do published ones, which are of single runs, too.
#[test]
fn no_ratio_of_single_runs_stands_in_large_type() {
    let html = report::render(&default_run());
    let cards = between(&html, "<p class=\"variant\">", "</div>");
    assert!(cards.len() > 10, "{}", cards.len());
    for card in cards {
        let figure = between(card, "<p class=\"figure", "</p>")[0];
        let is_single = card.contains("one run each") || card.starts_with("published");
        assert!(!(is_single && figure.contains('×')), "{card}");
    }
    assert!(html.contains("<p class=\"figure two\">44.0 s instead of 11.0 s</p>"));
    // Three runs each, which differ by less than they are apart.
    assert!(html.contains("<p class=\"figure\">4.0×</p>"));
}

#[test]
fn published_figures_of_another_size_are_marked() {
    let html = report::render(&default_run());
    let (published, rows) = html.split_once("id=\"experiment-dml\"").unwrap();
    assert!(!published.contains("published at another size<"), "nothing to mark");
    assert!(rows.contains("<p class=\"variant\">published at another size</p>"));
    assert!(rows.contains(">published at another size</th>"));
}

#[test]
fn the_terminal_is_told_published_modelled_and_measured_in_one_sentence() {
    let results = experiment("published");
    let lines = report::summary(&results.experiment().unwrap(), &results);
    let first = &lines[0].1;
    assert_eq!(
        first,
        "Startup with 20,480 VLFs took 106 s in 2008. Our model of such a disk (hdd-7200-2006) gives 44.0 s. On your disk it takes 4.00 s. This engine's own log (native) takes 4.40 s on that model and 401 ms on your disk."
    );
    assert!(
        lines
            .iter()
            .any(|(_, text)| text
                .contains("Our model of such a disk (ssd-sata-2012), fitted to that figure, gives 44.0 s.")),
        "{lines:?}"
    );
}

/// An experiment that compares nothing but asks for slopes has its result on the terminal as well.
#[test]
fn curve_tells_the_terminal_what_a_thousand_vlfs_cost() {
    let mut results = experiment("curve");
    let curve = results.experiment().unwrap();
    results.slopes = lab::slope::slopes(&curve, &results);
    let lines = report::summary(&curve, &results);
    assert!(
        lines
            .iter()
            .any(|(mark, text)| mark == "result" && text.starts_with("Startup, finding the VLFs")),
        "{lines:?}"
    );
}

/// The picture has a bar for the published figure and one for each of ours.
#[test]
fn the_picture_shows_the_first_finding() {
    let svg = report::picture(&default_run()).unwrap();
    std::fs::write(
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("default-run.svg"),
        &svg,
    )
    .unwrap();
    for part in [
        "published",
        "modelled classic",
        "modelled native",
        "measured classic",
        "106 s",
        "44.0 s",
    ] {
        assert!(svg.contains(part), "{part} in {svg}");
    }
    assert!(svg.len() < 8_000, "{}", svg.len());
    let mut other_size = default_run();
    other_size.experiments.remove(0);
    assert_eq!(report::picture(&other_size), None);
}

/// The maps of modelled disks are there where something was modelled, and only there.
#[test]
fn the_maps_belong_to_modelled_figures() {
    let mut file = default_run();
    assert!(report::render(&file).contains("Where VLFs begin to hurt"));
    for results in &mut file.experiments {
        results.configurations.retain(|each| each.modelled_disk().is_none());
    }
    let html = report::render(&file);
    assert!(!html.contains("Where VLFs begin to hurt") && !html.contains("<dt>modelled</dt>"));
}
