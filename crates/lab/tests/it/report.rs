//! The contract of the results file, and the report made from it, on made-up figures.
#![allow(clippy::unwrap_used)]

use lab::environment::Environment;
use lab::results::{ConfigurationResults, Results, RunFile};
use lab::{catalogue, plan, report};

/// Figures of a full-scale run as it might come out: name, then `fill`, discovery, analysis, redo, undo of each run.
const FIGURES: [(&str, &[[f64; 5]]); 4] = [
    (
        "bad-classic",
        &[
            [61.2, 3.9, 0.8, 9.6, 0.012],
            [64.0, 4.2, 0.7, 9.9, 0.011],
            [60.1, 4.0, 0.9, 9.7, 0.013],
        ],
    ),
    (
        "bad-native",
        &[
            [44.9, 0.41, 0.7, 9.5, 0.010],
            [45.8, 0.39, 0.8, 9.4, 0.012],
            [45.1, 0.40, 0.7, 9.6, 0.011],
        ],
    ),
    (
        "good-classic",
        &[
            [43.9, 0.004, 0.6, 9.5, 0.010],
            [44.3, 0.005, 0.7, 9.3, 0.010],
            [44.0, 0.004, 0.6, 9.4, 0.010],
        ],
    ),
    (
        "good-native",
        &[
            [43.0, 0.003, 0.6, 9.3, 0.010],
            [45.5, 0.003, 0.6, 9.2, 0.009],
            [44.1, 0.004, 0.6, 9.3, 0.010],
        ],
    ),
];

fn results() -> RunFile {
    let experiment = catalogue::load("recovery").unwrap();
    let setups = plan::setups(&experiment, &experiment.scale["full"]).unwrap();
    let configurations = setups.iter().map(|setup| {
        let mut found = ConfigurationResults {
            name: setup.name.clone(),
            base: setup.base.clone(),
            title: setup.title.clone(),
            settings: setup.settings(),
            ..ConfigurationResults::default()
        };
        let (_, runs) = FIGURES.iter().find(|(name, _)| *name == setup.name).unwrap();
        for [fill, discovery, analysis, redo, undo] in *runs {
            for (name, value) in [
                ("vlf_count", setup.vlf_count_predicted as f64),
                ("fill_s", *fill),
                ("transactions", 327_400.0),
                ("discovery_s", *discovery),
                ("analysis_s", *analysis),
                ("redo_s", *redo),
                ("undo_s", *undo),
                ("recovery_s", discovery + analysis + redo + undo),
                ("restart_s", discovery + analysis + redo + undo + 0.05),
            ] {
                found.measure(name, value);
            }
            found.check(
                "every committed update is there",
                true,
                "expected 327400, found 327400".into(),
            );
        }
        found.error_log = vec!["2026-11-20 21:00:00.02 spid18s     Starting up database 'vlf'.".into()];
        found
    });
    let recovery = Results {
        experiment: "recovery".into(),
        title: experiment.title.clone(),
        scale: "full".into(),
        started: "2026-11-20T21:00:00Z".into(),
        complete: true,
        toml: experiment.text.clone(),
        scripts: experiment.script_texts(),
        configurations: configurations.collect(),
        ..Results::default()
    };
    RunFile {
        product_version: "0.1.0".into(),
        started: "2026-11-20T21:00:00Z".into(),
        complete: true,
        scale: "full".into(),
        environment: Environment {
            cpu: "A <fast> processor & more".into(),
            optimized_build: true,
            ..Environment::default()
        },
        experiments: vec![recovery],
        ..RunFile::default()
    }
}

#[test]
fn the_results_file_keeps_its_contract() {
    let json: serde_json::Value = serde_json::from_str(&results().to_json()).unwrap();
    assert_eq!(json["experiments"][0]["experiment"], "recovery");
    assert_eq!(json["scale"], "full");
    assert!(json["environment"]["cpu"].is_string());
    let bad = &json["experiments"][0]["configurations"][0];
    assert_eq!(bad["name"], "bad-classic");
    assert_eq!(bad["settings"]["log_policy"], "classic");
    assert_eq!(bad["settings"]["sql_version"], "2005");
    for name in [
        "vlf_count",
        "fill_s",
        "discovery_s",
        "analysis_s",
        "redo_s",
        "undo_s",
        "recovery_s",
        "transactions",
    ] {
        let measurement = &bad["measurements"][name];
        assert_eq!(measurement["runs"], 3, "{name}");
        for part in ["median", "min", "max"] {
            assert!(measurement[part].is_number(), "{name} {part}");
        }
    }
    assert_eq!(bad["measurements"]["vlf_count"]["median"], 20_480.0);
    assert_eq!(bad["measurements"]["fill_s"]["median"], 61.2);
}

#[test]
fn results_survive_the_file() {
    let folder = std::env::temp_dir().join(format!("vlflab-results-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("results.json");
    results().save(&path).unwrap();
    let read = RunFile::load(&path).unwrap();
    assert_eq!(read, results());
    assert_eq!(
        std::fs::read_dir(&folder).unwrap().count(),
        1,
        "the new file took the old one's place"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_report_says_what_was_measured() {
    let html = report::render(&results());
    for part in [
        "The silent wait before recovery begins took 1,000 times as long (780–1,050 by single runs)",
        "Filling the log took 1.39 times as long (1.36–1.46 by single runs): 61.2 s with 20,480 VLFs against 44.0 s with 16 VLFs, medians of 3 runs.",
        "took about the same time",
        "All 12 checks held over 12 crashes",
        "Graham Kent",
        "17×",
        "26,533",
        "A &lt;fast&gt; processor &amp; more",
        "prefers-color-scheme: dark",
        "\"vlf_count\"",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(
        html.find("What came out") < html.find("Method"),
        "the verdict comes first"
    );
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("report.html");
    std::fs::write(path, html).unwrap();
}

#[test]
fn a_run_that_was_cut_short_says_so() {
    let mut file = results();
    let results = &mut file.experiments[0];
    results.stopped = Some("interrupted".into());
    results
        .configurations
        .iter_mut()
        .for_each(|each| each.measurements.clear());
    let html = report::render(&file);
    assert!(html.contains("stopped early (interrupted)"));
    assert!(html.contains("was not measured for both logs"));
}
