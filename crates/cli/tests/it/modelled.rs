//! Runs on modelled disks: without processor time they repeat to the nanosecond, and what virtual time cannot answer is
//! refused.
#![allow(clippy::unwrap_used)]

use crate::schema;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_vlflab");

/// A folder that is removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn begin(arguments: &[&str], out: &Folder) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).args(["--out", out.text(), "--overwrite"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn said(output: &Output) -> String {
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

fn results(output: &Output, out: &Folder) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    let json = serde_json::from_str(&fs::read_to_string(out.0.join("results.json")).unwrap()).unwrap();
    assert_eq!(schema::faults(&json), Vec::<String>::new(), "docs/results.schema.json");
    json
}

/// Every time of every configuration, by configuration and name.
fn times(results: &Value) -> BTreeMap<String, Value> {
    let mut times = BTreeMap::new();
    for configuration in results["experiments"][0]["configurations"].as_array().unwrap() {
        let measurements = configuration["measurements"].as_object().unwrap();
        for (name, time) in measurements.iter().filter(|(name, _)| name.ends_with("_s")) {
            let configuration = configuration["name"].as_str().unwrap();
            times.insert(format!("{configuration} {name}"), time.clone());
        }
    }
    times
}

/// One of a few runs differed by 9 us, which are 512 bytes at 57 MB/s: the catalog of master keeps the identity and the date of a database
/// as text, both came from the machine's clock, and a digit more filled another sector of the log. The runs are made at once, so that
/// threads and processes meet each other in another order each time.
#[test]
fn runs_on_modelled_disks_repeat_to_the_nanosecond_under_load() {
    let folders: Vec<Folder> = (0..3).map(|number| Folder::new(&format!("repeats-{number}"))).collect();
    let arguments =
        "run recovery --scale tiny --only bad-classic --disk hdd-7200-2006,nvme-consumer --without-processor-time";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let running: Vec<Child> = folders.iter().map(|out| begin(&arguments, out)).collect();
    let ended: Vec<Output> = running
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    let all: Vec<Value> = ended
        .iter()
        .zip(&folders)
        .map(|(output, out)| results(output, out))
        .collect();
    let first = times(&all[0]);
    assert!(first.len() >= 12, "{first:?}");
    for other in &all[1..] {
        assert_eq!(times(other), first);
    }
    for (name, time) in &first {
        let part = |which: &str| time[which].as_f64().unwrap();
        let has_device = part("device_s") > 0.0 || name.ends_with("undo_s");
        assert!(has_device, "{name}: {time}");
        assert!(part("processor_s").abs() < 0.001, "{name}: {time}");
    }
    // Three growths by 1 MB, four VLFs each, at 84 ms on such a disk, make up most of it.
    let fill = &first["bad-classic@hdd-7200-2006 fill_s"]["median"];
    assert!((0.2..2.0).contains(&fill.as_f64().unwrap()), "{fill}");
    assert_eq!(all[0]["schema_version"], 1);
    let report = fs::read_to_string(folders[0].0.join("report.html")).unwrap();
    assert!(report.contains("classic, modelled on hdd-7200-2006") && report.contains("Modelled, not measured"));
    assert!(
        text(&ended[0].stdout).contains("modelled  discovery, bad-classic on hdd-7200-2006"),
        "{}",
        said(&ended[0])
    );
}

/// Commits into a log of a few MB on a disk where each takes a tenth of a second, then a crash.
const SLOW_COMMITS: &str = r#"
name = "slow"
title = "Slow commits"
question = "Is the log behind the last checkpoint all that analysis reads?"
database = "slow"

[scale.quick]
description = "700 commits"
runs = 1

[matrix]
log_policy = ["classic,checkpoint=native", "classic"]

[[configuration]]
name = "one"
title = "as it is"
log = { start = "32MB", growth = "1MB" }

[[step]]
do = "sql"
label = "create, back up, commit 700 times"
file = "slow.sql"

[[step]]
do = "kill"

[[step]]
do = "restart"
"#;

const SLOW_COMMITS_SQL: &str = "create database slow
    on (name = slow_data, filename = 'c:\\lab\\slow.mdf')
    log on (name = slow_log, filename = 'c:\\lab\\slow.ldf', size = $(log_start), filegrowth = $(log_growth))
go
use slow
go
create table t (id int not null primary key, payload char(8000) not null)
insert into t values (1, 'a')
backup database slow to disk = 'c:\\lab\\slow.bak'
go
set nocount on
declare @count int = 0
declare @a char(8000) = replicate('a', 8000), @b char(8000) = replicate('b', 8000)
while @count < 700
begin
    update t set payload = case @count % 2 when 0 then @b else @a end
    set @count = @count + 1
end
go
";

/// The file of a disk with one figure made up.
fn slower(disk: &str, figure: &str, value: u64) -> String {
    let (before, after) = disk.split_once(&format!("[figure.{figure}]")).unwrap();
    let (_, after) = after.split_once("[figure.").unwrap();
    format!("{before}[figure.{figure}]\nvalue = {value}\nsource = \"made up\"\n\n[figure.{after}")
}

/// No thread looks for due checkpoints where time is a modelled disk's: statements do, between each other. Half a minute of such time is
/// 300 commits here, so that analysis finds 100 behind the last checkpoint, and all 700 where the policy has no checkpoint so soon.
#[test]
fn analysis_on_a_modelled_disk_begins_at_the_last_automatic_checkpoint() {
    let out = Folder::new("slow-commits");
    let disk = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../disks/nvme-plp.toml")).unwrap();
    let slow = slower(&slower(&disk, "flush_us", 100_000), "read_us", 10_000);
    for (name, text) in [
        ("slow.toml", slow.as_str()),
        ("experiment.toml", SLOW_COMMITS),
        ("slow.sql", SLOW_COMMITS_SQL),
    ] {
        fs::write(out.0.join(name), text).unwrap();
    }
    let (experiment, disk) = (out.0.join("experiment.toml"), out.0.join("slow.toml"));
    let arguments = [
        "run",
        experiment.to_str().unwrap(),
        "--disk",
        disk.to_str().unwrap(),
        "--without-processor-time",
    ];
    let runs = [Folder::new("slow-commits-1"), Folder::new("slow-commits-2")];
    let [one, other] = runs
        .each_ref()
        .map(|out| results(&begin(&arguments, out).wait_with_output().unwrap(), out));
    assert_eq!(times(&one), times(&other));
    let [with, without] = [0, 1].map(|index| one["experiments"][0]["configurations"][index]["measurements"].clone());
    let rolled_forward = |found: &Value| found["rolled_forward"]["median"].as_f64().unwrap();
    let analysis_s = |found: &Value| found["analysis_s"]["device_s"].as_f64().unwrap();
    assert!(
        rolled_forward(&without) >= 700.0 && rolled_forward(&with) < 350.0,
        "{with} {without}"
    );
    assert!(
        analysis_s(&with) > 0.0 && analysis_s(&with) < analysis_s(&without) / 2.0,
        "{with} {without}"
    );
}

#[test]
fn an_experiment_with_several_clients_is_refused_on_a_modelled_disk() {
    let out = Folder::new("modelled-clients");
    let arguments = ["run", "oltp", "--scale", "tiny", "--disk", "nvme-plp"];
    let output = begin(&arguments, &out).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("several clients at once"), "{}", said(&output));
}
