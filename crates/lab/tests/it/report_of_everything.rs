//! Reports of experiments that use everything a report can show, with names that try to break out of its HTML.
#![allow(clippy::unwrap_used)]

use lab::environment::Environment;
use lab::report;
use lab::results::{
    ConfigurationResults, GrowthEvent, Latencies, Results, RunFile, ThresholdResult, VlfMapFile, VlfRun, Wait,
};

/// Seven configurations, as a growth experiment has them.
const GROWTH: &str = r#"
name = "growth"
title = "Doubling a table while its log grows <b>"
question = "How long does it take to double a table five times?"
database = "Credit"

[scale.quick]
description = "one doubling"
runs = 3

[scale.full]
description = "five doublings"
runs = 1

[matrix]
log_policy = ["classic", "native"]

[[configuration]]
name = "test-1"
title = "no instant initialisation, 1 MB growth"
log = { start = "400MB", growth = "1MB", max = "64GB" }

[[configuration]]
name = "test-2"
title = "1 MB growth"
log = { start = "400MB", growth = "1MB", max = "64GB" }

[[configuration]]
name = "test-3"
title = "1024 MB growth"
log = { start = "400MB", growth = "1024MB", max = "64GB" }

[[configuration]]
name = "test-4"
title = "pre-grown <i>log</i>"
log = { start = "400MB", growth = "1024MB", max = "64GB" }

[[configuration]]
name = "ten-percent"
title = "10 % growth, the setting that readers asked for"
log = { start = "400MB", growth = "40MB", max = "64GB" }

[[step]]
do = "query"
label = "double </script><script>alert('label')</script>"
sql = "select '<script>'"
measure = "elapsed_s"

[[step]]
do = "count_vlfs"

[[finding]]
measure = "elapsed_s"
slow = "test-1"
fast = "test-4"
what = "Doubling the table with small growths"

[[chart]]
kind = "bars"
title = "Elapsed time"
caption = "Median, range and every run."
measures = ["elapsed_s"]

[published]
source = "Glenn Berry, \"Experiments with SQL Server VLFs, Part 1\", 2013"
short = "Glenn Berry, 2013"
machine = "SQL Server 2012 on a desktop with two SSDs."
note = "One run each."

[[published.configuration]]
name = "test-1"
measurements = { elapsed_s = 1074, vlf_count = 126399 }
waits = { CXPACKET = 72.22, PREEMPTIVE_OS_FLUSHFILEBUFFERS = 13.01, PREEMPTIVE_OS_WRITEFILEGATHER = 6.52, WRITELOG = 2.13 }

[[published.configuration]]
name = "test-2"
measurements = { elapsed_s = 1069, vlf_count = 126399 }

[[published.configuration]]
name = "test-3"
measurements = { elapsed_s = 771, vlf_count = 246 }

[[published.configuration]]
name = "test-4"
measurements = { elapsed_s = 711, vlf_count = 127 }
waits = { CXPACKET = 94.74, PREEMPTIVE_OS_WRITEFILEGATHER = 1.57, ASYNC_IO_COMPLETION = 1.13 }

[[published.doubt]]
text = "246 VLFs cannot come about by growths of 4, 8 and 16 VLFs from 15."
"#;

/// Seconds of three runs, VLFs, bytes of a VLF: one row for each configuration of [`GROWTH`].
const GROWTH_FIGURES: [(&str, [f64; 3], u64, u64); 5] = [
    ("test-1", [41.2, 40.1, 43.9], 126_399, 262_144),
    ("test-2", [40.8, 41.0, 39.9], 126_399, 262_144),
    ("test-3", [29.1, 28.4, 30.2], 247, 134_217_728),
    ("test-4", [27.5, 27.9, 29.0], 143, 262_144_000),
    ("ten-percent", [33.0, 31.2, 34.1], 391, 83_886_080),
];

fn growth() -> Results {
    let mut configurations = Vec::new();
    for (policy, factor) in [("classic", 1.0), ("native", 0.8)] {
        for (base, runs, vlf_count, vlf_bytes) in GROWTH_FIGURES {
            let mut found = ConfigurationResults {
                name: format!("{base}-{policy}"),
                base: base.into(),
                title: format!("settings of {base}"),
                settings: [("log_policy".to_string(), policy.to_string())].into(),
                waits: waits(factor),
                vlf_map: vlf_map(vlf_count, vlf_bytes),
                growth_events: growth_events(vlf_count, vlf_bytes, factor * runs[0]),
                ..ConfigurationResults::default()
            };
            for run in runs {
                found.measure("elapsed_s", run * factor);
                found.measure("vlf_count", vlf_count as f64);
            }
            found.check(
                "rows <after> the doublings",
                base != "test-3",
                "expected 51,200,000 & found '<51,200,000>'".into(),
            );
            configurations.push(found);
        }
    }
    Results {
        experiment: "growth".into(),
        title: "Doubling a table while its log grows <b>".into(),
        scale: "quick".into(),
        started: "2026-11-21T00:00:00Z".into(),
        complete: true,
        elapsed_s: 312.0,
        toml: GROWTH.into(),
        notes: vec!["The table's indexes are not known <x>.".into()],
        thresholds: vec![ThresholdResult {
            configuration: "test-1-classic".into(),
            measure: "elapsed_s".into(),
            ratio_to: Some("test-4".into()),
            value: Some(1.5),
            max: Some(1.2),
            missed: true,
            text: "elapsed of test-1-classic is 1.5 times that of test-4, more than 1.2 <t>".into(),
            ..ThresholdResult::default()
        }],
        configurations,
        ..Results::default()
    }
}

fn waits(factor: f64) -> Vec<Wait> {
    let rows = [
        ("PREEMPTIVE_OS_FLUSHFILEBUFFERS", 9_340.0),
        ("PREEMPTIVE_OS_WRITEFILEGATHER", 4_120.0 * factor),
        ("WRITELOG", 2_050.0),
        ("LOGBUFFER", 1_020.0 * factor),
        ("PAGEIOLATCH_EX", 610.0),
        ("IO_<COMPLETION>", 402.0),
        ("WRITE_COMPLETION", 255.0),
        ("LATCH_SH", 12.0),
    ];
    let waits = rows.iter().map(|(name, milliseconds)| Wait {
        wait_type: (*name).into(),
        waiting_tasks_count: 31_596,
        wait_time_ms: *milliseconds as u64,
        max_wait_time_ms: 41,
        signal_wait_time_ms: 3,
    });
    waits.collect()
}

fn vlf_map(vlf_count: u64, vlf_bytes: u64) -> Vec<VlfMapFile> {
    let run = |vlf_count, vlf_bytes, status| VlfRun {
        vlf_count,
        vlf_bytes,
        status,
    };
    let (reusable, active) = (vlf_count / 10, vlf_count / 2);
    vec![VlfMapFile {
        file_id: 2,
        runs: vec![
            run(15, 26_214_400, 1),
            run(reusable, vlf_bytes, 1),
            run(active, vlf_bytes, 2),
            run(vlf_count - 15 - reusable - active, vlf_bytes, 0),
        ],
    }]
}

fn growth_events(vlf_count: u64, vlf_bytes: u64, seconds: f64) -> Vec<GrowthEvent> {
    let events = (0..=3000_u64).map(|index| GrowthEvent {
        at_s: seconds * index as f64 / 3000.0,
        log_bytes: 419_430_400 + vlf_count * vlf_bytes * index / 3000,
        vlf_count: 15 + (vlf_count - 15) * index / 3000,
    });
    events.collect()
}

/// Points of a curve under ten mechanisms, with latencies.
const CURVE: &str = r#"
name = "curve"
title = "What a VLF costs"
question = "What does each mechanism cost for each VLF?"
database = "vlf"

[scale.full]
description = "4 to 126,399 VLFs"
runs = 3

[matrix]
log_policy = ["native", "classic"]

[[configuration]]
name = "v4"
title = "4 VLFs"
log = { start = "1MB", growth = "1MB", max = "1GB" }

[[configuration]]
name = "v126399"
title = "126,399 VLFs"
log = { start = "1MB", growth = "1MB", max = "64GB" }

[[step]]
do = "restart"

[[step]]
do = "count_vlfs"

[[finding]]
measure = "discovery_s"
slow = "v126399"
fast = "v4"
what = "Discovery"

[[chart]]
kind = "curve"
title = "Cost over the number of VLFs"
caption = "Both axes are logarithmic."
measures = ["discovery_s", "restart_s"]
"#;

const MECHANISMS: [&str; 10] = [
    "native",
    "classic",
    "native,growth=classic",
    "native,initialisation=classic",
    "native,switch=classic",
    "native,discovery=classic",
    "native,scan=classic",
    "native,flush=classic",
    "native,volume=classic",
    "classic,discovery=native",
];

fn curve() -> Results {
    let mut configurations = Vec::new();
    for (index, mechanism) in MECHANISMS.iter().enumerate() {
        for vlfs in [4_u32, 16, 100, 1000, 10_000, 20_480, 126_399] {
            let base = format!("v{vlfs}");
            let mut found = ConfigurationResults {
                name: format!("{base}-{mechanism}"),
                base,
                title: format!("{vlfs} VLFs"),
                ..ConfigurationResults::default()
            };
            for run in [1.0, 1.1, 0.95] {
                let cost = if index == 1 || index == 5 { 5e-5 } else { 2e-6 };
                found.measure("discovery_s", (f64::from(vlfs) * cost * run * 1000.0).floor() / 1000.0);
                found.measure("restart_s", 0.02 + f64::from(vlfs) * cost * run + index as f64 * 0.004);
                found.measure("vlf_count", f64::from(vlfs));
            }
            if vlfs == 4 {
                let latencies = Latencies {
                    count: 40_000,
                    p50_us: 140.0,
                    p95_us: 180.0,
                    p99_us: 240.0 + index as f64 * 100.0,
                    p999_us: 900.0 + index as f64 * 500.0,
                    max_us: 12_000.0,
                };
                found.latencies.insert("commit".into(), latencies);
            }
            configurations.push(found);
        }
    }
    Results {
        experiment: "curve".into(),
        title: "What a VLF costs".into(),
        scale: "full".into(),
        complete: true,
        toml: CURVE.into(),
        configurations,
        ..Results::default()
    }
}

fn everything() -> RunFile {
    RunFile {
        product_version: "0.1.0".into(),
        started: "2026-11-21T00:00:00Z".into(),
        complete: true,
        scale: "quick".into(),
        elapsed_s: 612.0,
        environment: Environment {
            cpu: "A <fast> processor & more".into(),
            durable_write_us_median: 92.0,
            optimized_build: true,
            ..Environment::default()
        },
        experiments: vec![growth(), curve()],
        ..RunFile::default()
    }
}

/// The page without the results embedded in it.
fn visible(html: &str) -> (&str, &str) {
    let (before, rest) = html
        .split_once("<script type=\"application/json\" id=\"results-json\">")
        .unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    (before, json)
}

#[test]
fn every_section_is_there_and_bad_news_and_the_verdict_first() {
    let html = report::render(&everything());
    let mut from = 0;
    for part in [
        "growth: 2 of 10 checks failed",
        "1 of 1 thresholds were missed",
        "<h2>What came out</h2>",
        "Doubling the table with small growths",
        "classic 41.2 s against 27.9 s (1.48×, by single runs 1.38–1.60)",
        "published at another size 1,074 s against 711 s",
        "The largest log here had 126,399 VLFs",
        "Every finding",
        "<h3>Elapsed time</h3>",
        "<h3>What the server waited for</h3>",
        "<h3>How the log grew</h3>",
        "<h3>The VLFs of the log, to scale</h3>",
        "<h3>Published and measured</h3>",
        "<h3>Where the published figures do not add up</h3>",
        "<h3>Done in another way here</h3>",
        "<h3>Thresholds</h3>",
        "<h3>What was verified</h3>",
        "<h3>Method</h3>",
        "<h3>Cost over the number of VLFs</h3>",
        "<h3>How long single transactions took</h3>",
        "<h2>Machine and versions</h2>",
        "<h2>Raw results</h2>",
    ] {
        if part.starts_with("The largest") {
            assert!(!html.contains(part), "this run reached the published number of VLFs");
            continue;
        }
        let at = html[from..].find(part);
        assert!(at.is_some(), "{part} is missing or out of order");
        from += at.unwrap();
    }
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("everything.html");
    std::fs::write(path, html).unwrap();
}

#[test]
fn what_comes_from_elsewhere_stays_text() {
    let html = report::render(&everything());
    let (page, json) = visible(&html);
    for raw in [
        "<b>",
        "<i>log",
        "alert('label')",
        "IO_<COMPLETION>",
        "<51,",
        "<fast>",
        "<t>",
        "<x>",
    ] {
        assert!(!page.contains(raw), "{raw}");
    }
    assert!(page.contains("&lt;b&gt;") && page.contains("IO_&lt;COMPLETION&gt;"));
    assert!(!page.contains("<script"), "a script before the page's own");
    assert!(!json.contains('<'));
    let read: RunFile = serde_json::from_str(json).unwrap();
    assert_eq!(read, everything());
    assert_eq!(html.matches("<script").count(), 2);
}

#[test]
fn the_page_loads_nothing_and_is_well_formed() {
    let html = report::render(&everything());
    for outside in [
        "http://", "https://", "src=", "@import", "<link", "url(", "fetch(", "XMLHttp",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("default-src 'none'"));
    let (page, _) = visible(&html);
    for tag in [
        "section", "table", "svg", "figure", "details", "div", "tr", "td", "th", "ul", "ol", "li", "p", "text",
        "title", "desc", "h2", "h3", "tbody",
    ] {
        let (opened, closed) = (
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count(),
            page.matches(&format!("</{tag}>")).count(),
        );
        assert_eq!(opened, closed, "<{tag}>");
    }
    assert!(
        !page.contains("NaN") && !page.contains("inf"),
        "a figure that is no number"
    );
    let drawings = page.matches("<svg viewBox=\"0 0 480").count();
    assert!(drawings > 10, "{drawings}");
    assert_eq!(drawings, page.matches("<desc>").count(), "every drawing is described");
}

#[test]
fn tables_hold_the_figures_of_the_results() {
    let html = report::render(&everything());
    for figure in [
        "41.2 s<br><span class=\"range\">40.1–43.9 s</span>",
        "1,074 s",
        "126,399",
        "<td>9.34</td>",
        "52.4",
        "1.51×",
    ] {
        assert!(html.contains(figure), "{figure}");
    }
    let csv = report::csv(&everything());
    assert!(csv.starts_with("experiment,configuration,variant,measurement,unit,run,value\r\n"));
    assert!(csv.contains("growth,test-1,classic,elapsed_s,s,3,43.9\r\n"));
    assert!(csv.contains("curve,v4,\"native,growth=classic\",vlf_count,count,1,4\r\n"));
    assert!(csv.contains("growth,test-1,classic,wait_time WRITELOG,ms,last,2050\r\n"));
    assert!(csv.contains(",commit p999,us,last,900\r\n"));
    let measured: usize = everything()
        .experiments
        .iter()
        .flat_map(|each| &each.configurations)
        .map(|each| {
            let values: usize = each.measurements.values().map(|found| found.values.len()).sum();
            values + each.waits.len() + 5 * each.latencies.len()
        })
        .sum();
    assert_eq!(csv.lines().count(), measured + 1);
}

#[test]
fn a_page_with_the_largest_logs_stays_small() {
    let html = report::render(&everything());
    let (page, _) = visible(&html);
    assert!(page.len() < 600_000, "{} bytes", page.len());
}

#[test]
fn markdown_says_the_same_in_tables() {
    let text = report::markdown(&everything());
    for part in [
        "## What came out",
        "- **growth**: Doubling the table with small growths",
        "| test-1 | 1,074 s | 1.51× | 41.2 s (40.1–43.9 s) | 1.48× |",
        "## Doubling a table while its log grows \\<b\\>",
        "### Where the published figures do not add up",
        "| test-1-classic | elapsed, ratio to test-4 | at most 1.20× | 1.50× | missed |",
        "## Machine and versions",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("everything.md");
    std::fs::write(path, text).unwrap();
}

#[test]
fn an_experiment_that_cannot_be_read_is_told_with_its_results_kept() {
    let mut file = everything();
    file.experiments[0].toml = "not an experiment".into();
    let html = report::render(&file);
    assert!(html.contains("This version cannot read the experiment&#39;s text"));
    assert!(html.contains("What a VLF costs"));
    assert!(report::markdown(&file).contains("cannot read the experiment's text"));
    let empty = report::render(&RunFile::default());
    assert!(empty.contains("What came out") && empty.contains("</html>"));
}
