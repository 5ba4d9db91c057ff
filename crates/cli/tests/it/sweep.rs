//! `vlflab sweep` and its report: shards that are killed and run again give the bytes of one machine; exit codes; measured figures stay with
//! their machine; the queries of docs/sweeps.md in DuckDB; published costs of disks repeat to the nanosecond.
#![allow(clippy::unwrap_used)]

use lab::statistics::Measurement;
use lab::sweep::plan::{self, Labels};
use lab::sweep::rows::{self, Found};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const REPORTS: [&str; 3] = ["report.html", "report.md", "results.csv"];
const GUIDE: &str = include_str!("../../../../docs/sweeps.md");

/// A folder that is removed when the test is over.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sweep-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn join(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A log that is created, written to and counted: the least there is to run.
const EXPERIMENT: &str = include_str!("../../../../tests/sweeps/small.toml");
const CREATE: &str = include_str!("../../../../tests/sweeps/create.sql");
const WRITE: &str = include_str!("../../../../tests/sweeps/write.sql");

/// The experiment, its scripts and a sweep of it in a folder; answers the sweep's file.
pub fn sweep_file(folder: &Folder, more: &str) -> String {
    folder.write("small.toml", EXPERIMENT);
    folder.write("create.sql", CREATE);
    folder.write("write.sql", WRITE);
    let head = "name = 'small'\ntitle = 'A small log, <on> disks'\nexperiments = ['small.toml']\n";
    folder
        .write("sweep.toml", &format!("{head}{more}"))
        .to_str()
        .unwrap()
        .to_owned()
}

/// Four configurations for each size.
pub const SMALL_DISKS: &str =
    "disks = ['nvme-plp', 'hdd-7200-2006']\nlog_policies = ['native', 'classic']\n[variables]\n";

/// So many sizes, as a list of TOML.
pub fn rows_of(sizes: u64) -> String {
    let rows: Vec<String> = (1..=sizes).map(|rows| format!("'{rows}'")).collect();
    rows.join(", ")
}

/// Variables of schedulers that this test may itself run under are not for its children.
const SCHEDULERS: [&str; 7] = [
    "VLFLAB_SHARDS",
    "JOB_COMPLETION_INDEX",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_MAX",
    "AWS_BATCH_JOB_ARRAY_INDEX",
    "AWS_BATCH_JOB_ARRAY_SIZE",
];

pub fn vlflab(arguments: &[&str]) -> Command {
    let mut command = Command::new(workbench::program(env!("CARGO_BIN_EXE_vlflab")));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in SCHEDULERS {
        command.env_remove(name);
    }
    command
}

pub fn said(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs it and answers what it said.
pub fn run(arguments: &[&str], code: i32) -> String {
    let output = vlflab(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
    said(&output)
}

/// Files of results in a folder; those of a server of buckets that are being written have other names.
pub fn results_in(folder: &Path) -> usize {
    let names = fs::read_dir(folder).into_iter().flatten();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.ends_with(".jsonl") && !name.starts_with('.'))
        .count()
}

/// A shard that is killed once there are so many results.
pub struct Doomed<'s> {
    pub shard: &'s mut Child,
    pub results: PathBuf,
    pub enough: usize,
}

/// Kills each at its moment; answers how many had not ended by then.
pub fn kill_each(mut doomed: Vec<Doomed<'_>>) -> usize {
    let (patience, mut killed) = (Instant::now() + Duration::from_secs(1800), 0);
    while !doomed.is_empty() {
        assert!(Instant::now() < patience, "shards that get no further");
        doomed.retain_mut(|one| {
            let is_early = results_in(&one.results) < one.enough && one.shard.try_wait().unwrap().is_none();
            if !is_early {
                let _ = one.shard.kill();
                killed += usize::from(one.shard.wait().unwrap().signal() == Some(9));
            }
            is_early
        });
        std::thread::sleep(Duration::from_millis(1));
    }
    killed
}

/// Numbers that are the same in every run, and differ enough.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// So many different numbers below the limit, in their order.
    pub fn some_below(&mut self, count: usize, limit: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..limit).collect();
        while all.len() > count {
            let out = self.below(all.len());
            all.remove(out);
        }
        all
    }
}

/// The reports of two folders have the same bytes.
pub fn assert_same_reports(one: &str, other: &str) {
    for name in REPORTS {
        let [of_one, of_other] = [one, other].map(|folder| fs::read(Path::new(folder).join(name)).unwrap());
        assert!(of_one == of_other, "{name} differs");
    }
}

fn assert_no_databases_are_left(folder: &Path) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<String> = entries
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.contains("vlflab-sweep-"))
        .collect();
    assert!(left.is_empty(), "databases of killed shards are left: {left:?}");
}

/// Shards of one sweep, all at once, each in a folder of its own; some are killed when they have some of their results, run again, and are
/// killed again.
#[test]
fn shards_that_were_killed_and_run_again_give_the_bytes_of_one_machine() {
    let depth = workbench::depth("configurations of a sweep in shards that are killed", 16, 2000);
    let (shards, kills) = if depth.is_deep { (8, 3) } else { (4, 2) };
    let folder = Folder::new("kills");
    let file = sweep_file(
        &folder,
        &format!("{SMALL_DISKS}rows = [{}]\n", rows_of(depth.units / 4)),
    );
    let one = folder.join("one");
    let told = run(&["sweep", &file, "--out", &one, "--jobs", "2"], 0);
    assert!(
        told.contains(&format!("{} configurations: 0 were there", depth.units)),
        "{told}"
    );
    let folders: Vec<String> = (1..=shards)
        .map(|shard| folder.join(&format!("shard-{shard}")))
        .collect();
    let begin = |shard: usize| {
        let part = format!("{}/{shards}", shard + 1);
        vlflab(&["sweep", &file, "--out", &folders[shard], "--shard", &part])
            .spawn()
            .unwrap()
    };
    let (mut dice, mut killed, mut round) = (Dice(depth.units), 0, 0);
    let each = depth.units as usize / shards;
    let some = dice.some_below(kills, shards);
    let mut running: Vec<Child> = (0..shards).map(begin).collect();
    while round < 2 || killed == 0 {
        assert!(round < 100, "every shard had ended when it was to be killed");
        let mut doomed = Vec::new();
        for (shard, child) in running.iter_mut().enumerate().filter(|(shard, _)| some.contains(shard)) {
            let results = PathBuf::from(&folders[shard]);
            if round >= 2 {
                // All of them have ended before their moment, as they may beside busy processors: they begin with nothing.
                fs::remove_dir_all(&results).unwrap();
            }
            if round > 0 {
                *child = begin(shard);
            }
            let there = results_in(&results);
            let enough = there + 1 + dice.below((each.saturating_sub(there) / 2).max(1));
            doomed.push(Doomed {
                shard: child,
                results,
                enough,
            });
        }
        killed += kill_each(doomed);
        round += 1;
    }
    println!("shards killed: {killed} of {}", round * kills);
    for &shard in &some {
        running[shard] = begin(shard);
    }
    for (child, folder) in running.into_iter().zip(&folders) {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert_eq!(results_in(Path::new(folder)), each);
        assert_no_databases_are_left(Path::new(folder));
    }
    assert_merged_reports_are_of_one(&one, &folders, &folder.join("merged"));
    let html = fs::read_to_string(Path::new(&one).join("report.html")).unwrap();
    assert!(html.contains("A small log, &lt;on&gt; disks") && html.contains("What differs beyond spread"));
    depth.count();
}

/// What is reported of the folders of all shards, whatever their order, is what is reported of one machine's.
fn assert_merged_reports_are_of_one(one: &str, folders: &[String], merged: &str) {
    let mut arguments = vec!["report"];
    arguments.extend(folders.iter().rev().map(String::as_str));
    // The same folder twice counts once.
    arguments.extend([folders[0].as_str(), "--out", merged]);
    run(&arguments, 0);
    run(&["report", one], 0);
    assert_same_reports(one, merged);
    let parquet = [one, merged].map(|folder| fs::read(Path::new(folder).join("results.parquet")).ok());
    assert!(parquet[0] == parquet[1], "results.parquet differs");
}

/// The path of the databases is text in their catalogs, and so is an amount of log.
#[test]
fn results_do_not_depend_on_where_the_databases_lie() {
    let folder = Folder::new("where");
    let file = sweep_file(&folder, "disks = ['hdd-7200-2006']\nlog_policies = ['classic']\n");
    let (out, deep) = (folder.join("out"), folder.join("a-folder-with-a-longer-name"));
    run(&["sweep", &file, "--out", &out], 0);
    let other = folder.join("o");
    run(&["sweep", &file, "--out", &other, "--data", &deep], 0);
    let text = |folder: &str| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let path = entries
            .into_iter()
            .find(|path| path.extension().is_some_and(|kind| kind == "jsonl"))
            .unwrap();
        fs::read_to_string(path).unwrap()
    };
    assert_eq!(text(&out), text(&other));
    let told = run(&["sweep", &file, "--out", &out], 0);
    assert!(told.contains("1 were there, 0 run"), "{told}");
}

/// `docs/results/disk-costs.csv` says of a disk what this build computes on this machine.
#[test]
fn the_published_costs_of_a_disk_repeat() {
    const PUBLISHED: &str = include_str!("../../../../docs/results/disk-costs.csv");
    const SWEEP: &str = include_str!("../../../../docs/results/disk-costs.toml");
    /// Of the same growths.
    const VLFS_OF_2022: &str = "7";
    let folder = Folder::new("published");
    let all_disks = "disks = [\"modelled\"]";
    assert!(SWEEP.contains(all_disks), "{SWEEP}");
    let one = SWEEP.replace(all_disks, "disks = ['nvme-plp']\nonly = ['v16']");
    let file = folder.write("disk-costs.toml", &one);
    let out = folder.join("out");
    run(&["sweep", file.to_str().unwrap(), "--out", &out], 0);
    run(&["report", &out], 0);
    let computed = fs::read_to_string(Path::new(&out).join("results.csv")).unwrap();
    let computed = table(&computed);
    let mut compared = 0;
    for row in table(PUBLISHED) {
        let is_of_layout = ["16", VLFS_OF_2022].contains(&row["vlfs"]);
        if row["disk"] != "nvme-plp" || !is_of_layout {
            continue;
        }
        for (name, value) in row.iter().filter(|(name, _)| name.ends_with("_s")) {
            let is_same = |other: &&BTreeMap<&str, &str>| {
                other["name"] == *name && ["sql_version", "log_policy"].iter().all(|key| other[key] == row[key])
            };
            let other = computed.iter().find(is_same).unwrap();
            assert_eq!(other["value"], *value, "{row:?}: {name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 36, "two versions, two mechanisms, nine times each");
}

/// Rows of a CSV file whose values hold no commas, but for quoted ones, which are left out.
fn table(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows = lines.filter(|line| !line.contains('"'));
    rows.map(|line| names.iter().copied().zip(line.split(',')).collect())
        .collect()
}

#[test]
fn a_dry_run_counts_and_prices_and_writes_nothing() {
    let folder = Folder::new("dry");
    let more = "disks = ['modelled', 'own']\nlog_policies = ['native', 'classic']\nsql_versions = ['2008', '2022']\n\
        [[layout]]\nname = 'a'\nlog = { start = '1MB', growth = '1MB' }\n[[layout]]\nname = 'b'\nlog = { start = '64MB', growth = '1MB' }\n\
        [cost]\nseconds_per_configuration = 36.0\nprice_per_hour = 0.5\ncurrency = 'EUR'\n";
    let file = sweep_file(&folder, more);
    let out = folder.join("out");
    let told = run(&["sweep", &file, "--out", &out, "--dry-run", "--shard", "3/8"], 0);
    for part in [
        "120 configurations, 8 of them measured",
        "1.20 hours",
        "0.15 hours with 8 shards",
        "3/8 has 15",
        "0.60 EUR",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(!Path::new(&out).exists());
}

#[test]
fn what_is_useless_to_run_again_has_its_own_exit_code() {
    let folder = Folder::new("useless");
    let out = folder.join("out");
    let file = sweep_file(
        &folder,
        "disks = ['hdd-7200-2007', 'nvme-plp']\nonly = ['two']\nsql_versions = ['2007']\n",
    );
    let told = run(&["sweep", &file, "--out", &out], 8);
    assert!(
        told.contains("hdd-7200-2006") && told.contains("no configuration \"two\""),
        "{told}"
    );
    let file = sweep_file(&folder, "disks = ['nvme-plp']\nlog_policies = ['clasic']\n");
    assert!(run(&["sweep", &file, "--out", &out], 8).contains("clasic"));
    assert!(run(&["sweep", "no-such-file.toml", "--out", &out], 8).contains("no-such-file.toml"));
    // A scheduler's index without the number of shards.
    let file = sweep_file(&folder, "disks = ['nvme-plp']\n");
    let output = vlflab(&["sweep", &file, "--out", &out])
        .env("JOB_COMPLETION_INDEX", "1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(8), "{}", said(&output));
    let long = format!("{}/{}", folder.join("d"), "x".repeat(150));
    assert!(run(&["sweep", &file, "--out", &out, "--data", &long], 8).contains("--data"));
    // A statement that is refused is refused again; its configuration has no results, and the report says which.
    folder.write("write.sql", "select * from nowhere");
    let told = run(&["sweep", &file, "--out", &out], 8);
    assert!(told.contains("208") && results_in(Path::new(&out)) == 0, "{told}");
    run(&["report", &out], 0);
    let report = fs::read_to_string(Path::new(&out).join("report.md")).unwrap();
    assert!(
        report.contains("1 that was planned is missing") && report.contains("nvme-plp"),
        "{report}"
    );
    // No folder can be made below a file: another machine may have a better one.
    let told = run(&["sweep", &file, "--out", &folder.join("write.sql")], 1);
    assert!(told.contains("write.sql"), "{told}");
}

/// An index of a scheduler is a shard; each run says that a check did not hold, also when its results are there already.
#[test]
fn a_check_that_does_not_hold_is_told_every_time() {
    let folder = Folder::new("checks");
    let out = folder.join("out");
    let file = sweep_file(&folder, "disks = ['nvme-plp', 'hdd-7200-2006']\n");
    folder.write("write.sql", "insert small.dbo.t values (1)");
    for _ in 0..2 {
        let mut command = vlflab(&["sweep", &file, "--out", &out, "--shards", "2"]);
        let output = command.env("JOB_COMPLETION_INDEX", "1").output().unwrap();
        assert_eq!(output.status.code(), Some(8), "{}", said(&output));
        assert!(said(&output).contains("a check that did not hold"), "{}", said(&output));
    }
    assert_eq!(results_in(Path::new(&out)), 1);
    run(&["report", &out], 0);
    let report = fs::read_to_string(Path::new(&out).join("report.md")).unwrap();
    assert!(report.contains("every row is there: expected 3, found 1"), "{report}");
}

#[test]
fn measured_figures_stay_with_their_machine_and_damage_is_named() {
    let folder = Folder::new("measured");
    let out = folder.join("out");
    let file = sweep_file(&folder, "disks = ['own', 'nvme-plp']\nruns = 2\n");
    let told = run(&["sweep", &file, "--out", &out, "--jobs", "2"], 8);
    assert!(told.contains("--jobs"), "{told}");
    run(&["sweep", &file, "--out", &out], 0);
    run(&["report", &out], 0);
    let report = fs::read_to_string(Path::new(&out).join("report.md")).unwrap();
    assert!(
        report.contains("## Modelled, not measured") && report.contains("## Measured on "),
        "{report}"
    );
    let paths: Vec<PathBuf> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    let found = |path: &Path| Found::parse(&fs::read_to_string(path).unwrap()).unwrap();
    let results: Vec<&PathBuf> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "jsonl"))
        .collect();
    let measured = results.iter().find(|path| found(path).machine.is_some()).unwrap();
    assert!(
        measured.file_stem().unwrap().to_str().unwrap().len() == 49,
        "{measured:?}"
    );
    assert_eq!(found(measured).measurements["write_s"].runs, 2);
    // The same configuration on a machine of the same class: its runs are added. A modelled one has one result.
    let modelled = results.iter().find(|path| found(path).machine.is_none()).unwrap();
    let other = folder.join("other");
    fs::create_dir_all(&other).unwrap();
    let copy = |path: &Path, of: &str, to: &str| {
        let text = fs::read_to_string(path).unwrap().replace(of, to);
        fs::write(Path::new(&other).join(path.file_name().unwrap()), text).unwrap();
    };
    copy(
        measured,
        "\"name\":\"write_s\",\"run\":1,\"value\":",
        "\"name\":\"write_s\",\"run\":1,\"value\":1",
    );
    let both = folder.join("both");
    run(&["report", &out, &other, "--out", &both], 0);
    let csv = fs::read_to_string(Path::new(&both).join("results.csv")).unwrap();
    assert_eq!(
        csv.lines()
            .filter(|line| line.contains(",write_s,") && line.contains(",own,"))
            .count(),
        4
    );
    copy(
        modelled,
        "\"name\":\"write_s\",\"run\":1,\"value\":",
        "\"name\":\"write_s\",\"run\":1,\"value\":1",
    );
    assert!(run(&["report", &out, &other, "--out", &both], 4).contains("different results"));
    // Half of a file, as a copy that broke off leaves it.
    let text = fs::read_to_string(modelled).unwrap();
    fs::write(modelled, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let told = run(&["report", &out, "--overwrite"], 4);
    assert!(told.contains("1 of its") && told.contains("damaged"), "{told}");
    assert!(run(&["sweep", &file, "--out", &out], 4).contains("1 of its"));
    assert!(run(&["report", &folder.join("nowhere"), &out], 2).contains("is not a folder"));
}

/// Results of two disks, mechanisms and versions in each of so many sizes: twice the time for the slow disk, ten times for classic, a half more
/// under 2012.
fn made_up(sizes: u64) -> Vec<Found> {
    (0..sizes).flat_map(|size| of_size(&format!("rows={size}"))).collect()
}

fn of_size(size: &str) -> Vec<Found> {
    let mut all = Vec::new();
    for (disk, of_disk) in [("nvme-plp", 1.0), ("hdd-7200-2006", 2.0)] {
        for (log_policy, of_policy) in [("native", 1.0), ("classic", 10.0)] {
            for (sql_version, of_version) in [("2022", 1.0), ("2012", 1.5)] {
                let labels = Labels {
                    experiment: "small".into(),
                    scale: "quick".into(),
                    size: size.to_owned(),
                    layout: "one".into(),
                    sql_version: sql_version.into(),
                    log_policy: log_policy.into(),
                    disk: disk.into(),
                };
                let time = Measurement::of(vec![of_disk * of_policy * of_version]);
                all.push(Found {
                    configuration: plan::digest(&[format!("{labels:?}")]),
                    program: "0.1.0".into(),
                    labels,
                    machine: None,
                    vlfs: 100,
                    measurements: BTreeMap::from([("discovery_s".to_owned(), time)]),
                    checks: Vec::new(),
                });
            }
        }
    }
    all
}

/// By the Python package, where it is installed; on the folder's own files where this build writes no Parquet.
#[test]
fn the_documented_queries_run_in_duckdb() {
    let of_test = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.clients/venv/bin/python");
    let has_duckdb = |python: &&str| {
        let output = Command::new(python).args(["-c", "import duckdb"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let Some(python) = ["python3", of_test].into_iter().find(has_duckdb) else {
        println!("skipped: the Python package duckdb is not installed");
        return;
    };
    let depth = workbench::depth("results that the documented queries are asked about", 8, 100_000);
    let folder = Folder::new("duckdb");
    let out = folder.join("out");
    fs::create_dir_all(&out).unwrap();
    for found in made_up(depth.units / 8) {
        let name = rows::file_name(&found.configuration, None);
        fs::write(Path::new(&out).join(name), found.text()).unwrap();
    }
    run(&["report", &out], 0);
    let queries: Vec<&str> = GUIDE
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(queries.len(), 3);
    let has_parquet = Path::new(&out).join("results.parquet").exists();
    let expected = [
        "(100, 'classic', 25.0)\n(100, 'native', 2.5)\n",
        "('hdd-7200-2006', 'classic', 'discovery_s', 10.0)\n",
        "('small', 'one', 'classic', 'hdd-7200-2006', 'discovery_s', 1.5, '2022', '2012')\n",
    ];
    for (query, expected) in queries.iter().zip(expected) {
        let query = match has_parquet {
            true => (*query).to_owned(),
            false => query.replace("'results.parquet'", "read_json_auto('*.jsonl')"),
        };
        let script = "import duckdb, sys, time\nbegin = time.perf_counter()\nrows = duckdb.sql(sys.argv[1]).fetchall()\n\
            print(f'{len(rows)} rows in {time.perf_counter() - begin:.3f} s', file=sys.stderr)\nfor row in rows: print(row)";
        let output = Command::new(python)
            .args(["-c", script, &query])
            .current_dir(&out)
            .output()
            .unwrap();
        assert!(output.status.success(), "{query}: {}", said(&output));
        assert!(said(&output).contains(expected), "{query}: {}", said(&output));
        println!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    depth.count();
}
