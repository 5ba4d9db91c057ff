//! Every built-in experiment runs to its end at its smallest scale, every check in it holds, and its results fit the
//! published schema.
#![allow(clippy::unwrap_used)]

use crate::schema;

use advisor::live::EventKind;
use advisor::live::recording::{RECORDING_BYTES_MAX, Recording};
use lab::results::RunFile;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs these configurations of it, all when none is named, and answers what it measured.
fn tiny(experiment: &str, only: &[&str]) -> RunFile {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tiny-{experiment}-{}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_vlflab"))
        .args(["run", experiment, "--scale", "tiny", "--out"])
        .arg(&out)
        .args(only.iter().flat_map(|name| ["--only", name]))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let file = RunFile::load(&out.join("results.json")).unwrap_or_else(|error| panic!("{error}: {said}"));
    let checks = file
        .experiments
        .iter()
        .flat_map(|each| &each.configurations)
        .flat_map(|each| &each.checks);
    let failed: Vec<_> = checks.filter(|check| check.failed > 0).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(output.status.success() && file.complete, "{said}");
    let json = serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    assert_eq!(schema::faults(&json), Vec::<String>::new(), "docs/results.schema.json");
    fs::remove_dir_all(&out).unwrap();
    file
}

/// A measurement of the only run of a configuration.
fn measured(file: &RunFile, configuration: &str, measure: &str) -> f64 {
    let mut all = file.experiments[0].configurations.iter();
    let found = all.find(|each| each.name == configuration).unwrap();
    found
        .measurement(measure)
        .unwrap_or_else(|| panic!("{configuration} has no {measure}"))
        .median
}

/// What `vlflab run` does first: each number of VLFs on the modelled disks that the experiment names, and on this machine's.
#[test]
fn published() {
    let file = tiny("published", &["classic"]);
    let configurations = &file.experiments[0].configurations;
    let names: Vec<&str> = configurations.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "kent_many-classic@hdd-7200-2006",
            "kent_many-classic",
            "kent_few-classic@hdd-7200-2006",
            "kent_few-classic",
            "berry_many-classic@ssd-sata-2012",
            "berry_few-classic@ssd-sata-2012",
            "ezequiel_many-classic@hdd-7200-2010",
            "ezequiel_few-classic@hdd-7200-2010",
        ]
    );
    for each in configurations {
        let growth = each.measurement("growth_s");
        let is_modelled = each.modelled_disk().is_some();
        assert_eq!(growth.is_some(), each.base != "kent_few", "{}", each.name);
        assert!(
            growth.is_none_or(|growth| growth.device_s.is_some() == is_modelled),
            "{}",
            each.name
        );
        assert!(each.measurement("discovery_s").is_some(), "{}", each.name);
    }
    assert_eq!(measured(&file, "kent_many-classic", "vlf_count"), 16.0);
    // Three growths by 1 MB on such a disk.
    let growth_s = measured(&file, "kent_many-classic@hdd-7200-2006", "growth_s");
    assert!((0.15..0.8).contains(&growth_s), "{growth_s}");
    assert!(measured(&file, "ezequiel_many-classic@hdd-7200-2010", "write_through_s") > 0.0);
}

#[test]
fn dml() {
    let file = tiny("dml", &[]);
    assert_eq!(measured(&file, "slow-classic", "vlf_count_before"), 20.0);
    assert_eq!(measured(&file, "fast-native", "vlf_count_before"), 4.0);
    assert!(measured(&file, "slow-native", "statements_s") > 0.0);
}

#[test]
fn growth() {
    let configurations = [
        "test1-classic",
        "test2-native",
        "test3-native",
        "test6-native",
        "percent-classic",
    ];
    let file = tiny("growth", &configurations);
    // 768 KB make 3 VLFs, growing to 1 MB one, to 2 MB four; then two growths by 1 MB, or one by 2 MB, of four VLFs each.
    for (configuration, vlf_count) in [("test1-classic", 16.0), ("test2-native", 16.0), ("test3-native", 12.0)] {
        assert_eq!(
            measured(&file, configuration, "vlf_count"),
            vlf_count,
            "{configuration}"
        );
    }
    assert!(measured(&file, "percent-classic", "elapsed_s") > 0.0);
}

#[test]
fn backup() {
    let file = tiny("backup", &["classic", "high_auto-native", "low-native"]);
    assert_eq!(measured(&file, "high-classic", "vlf_count"), 16.0);
    assert_eq!(measured(&file, "low-native", "vlf_count"), 12.0);
    assert!(measured(&file, "high_auto-native", "log_backup_pages") > 50.0);
}

#[test]
fn oltp() {
    let file = tiny("oltp", &["many"]);
    assert_eq!(measured(&file, "many-native", "journal_count"), 80.0);
    let latencies = &file.experiments[0].configurations[0].latencies["transfer"];
    assert_eq!(latencies.count, 40);
    assert!(latencies.p50_us > 0.0 && latencies.p50_us <= latencies.max_us);
}

#[test]
fn curve() {
    let file = tiny("curve", &["native", "native,discovery=classic", "classic"]);
    assert_eq!(measured(&file, "v16-native,discovery=classic", "vlf_count"), 16.0);
    let slopes = &file.experiments[0].slopes;
    assert!(
        slopes
            .iter()
            .any(|slope| slope.variant == "classic" && slope.measure == "discovery_s")
    );
    assert!(slopes.iter().all(|slope| slope.points.len() == 2));
}

/// A field that the schema does not know, one that is missing, one of another kind, at the root and far below.
#[test]
fn the_schema_refuses_what_is_no_result() {
    let mut file = RunFile {
        schema_version: lab::results::SCHEMA_VERSION,
        ..RunFile::default()
    };
    file.experiments.push(lab::results::Results {
        configurations: vec![lab::results::ConfigurationResults::default()],
        ..lab::results::Results::default()
    });
    file.experiments[0].configurations[0].measure("fill_s", 1.5);
    let sound = serde_json::from_str::<serde_json::Value>(&file.to_json()).unwrap();
    assert_eq!(schema::faults(&sound), Vec::<String>::new());
    let measurement = "/experiments/0/configurations/0/measurements/fill_s";
    for place in [
        "",
        "/environment",
        "/experiments/0",
        "/experiments/0/configurations/0",
        measurement,
    ] {
        let change = |change: &dyn Fn(&mut serde_json::Map<String, serde_json::Value>)| {
            let mut other = sound.clone();
            change(other.pointer_mut(place).unwrap().as_object_mut().unwrap());
            schema::faults(&other).len()
        };
        assert_eq!(
            change(&|fields| drop(fields.insert("new".into(), 1.into()))),
            1,
            "{place}"
        );
        let first = sound
            .pointer(place)
            .unwrap()
            .as_object()
            .unwrap()
            .keys()
            .next()
            .unwrap();
        assert_eq!(
            change(&|fields| drop(fields.remove(first))),
            1,
            "{place} without {first}"
        );
        assert!(
            change(&|fields| drop(fields.insert(first.clone(), serde_json::Value::Null))) > 0,
            "{place}: {first}"
        );
    }
}

/// `--record`: the first run's log in a file that plays by itself, through a kill and the recovery behind it; the report links to it.
#[test]
fn a_recorded_run_can_be_played() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("recorded-{}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_vlflab"))
        .args([
            "run",
            "recovery",
            "--scale",
            "tiny",
            "--only",
            "bad-native",
            "--record",
            "--out",
        ])
        .arg(&out)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json = serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    assert_eq!(schema::faults(&json), Vec::<String>::new(), "docs/results.schema.json");
    let file = RunFile::load(&out.join("results.json")).unwrap();
    let name = file.experiments[0].configurations[0].recording.clone().unwrap();
    assert_eq!(name, "recording-recovery-bad-native.html");
    assert!(
        fs::read_to_string(out.join("report.html"))
            .unwrap()
            .contains(&format!("href=\"{name}\""))
    );
    let html = fs::read_to_string(out.join(&name)).unwrap();
    assert!(html.len() < RECORDING_BYTES_MAX, "{}", html.len());
    let recording = Recording::from_html(&html).unwrap();
    let mut stand = recording.first.clone();
    recording.frames.iter().for_each(|frame| stand.take(frame));
    let events = || recording.frames.iter().flat_map(|frame| &frame.events);
    let of = |kind: EventKind| events().filter(move |event| event.kind == kind).count();
    assert!(of(EventKind::Step) >= 5 && of(EventKind::Switch) >= 3 && of(EventKind::Growth) >= 1);
    // What the server that was killed told, and what the next one told of its recovery, with the part of the log that was read.
    let recovered: Vec<_> = events()
        .filter(|event| event.kind == EventKind::Recovery && event.database == "vlf")
        .collect();
    assert!(
        recovered
            .iter()
            .any(|event| event.text.starts_with("Redo went") && event.span.is_some())
    );
    let taken_back = recovered
        .iter()
        .find(|event| event.text.contains("took back transaction"))
        .unwrap();
    let (last, first) = taken_back.span.unwrap();
    assert!(last > first, "undo reads backwards: {taken_back:?}");
    assert!(stand.heads.iter().any(|head| head.database == "vlf"));
    fs::remove_dir_all(&out).unwrap();
}
