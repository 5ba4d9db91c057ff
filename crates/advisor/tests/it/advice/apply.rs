//! The next step of `--apply`, from the server's state: a simulated log that shrinks and grows, and each reason to stop.

use advisor::apply::{Applying, Refusal, Shape, Step, Task};
use advisor::price::PricedDisk;
use advisor::size::MB;
use advisor::snapshot::{FileGrowth, LogFile, MirroringFacts, Snapshot, Source, VlfFacts};
use vlf::{LogLayout, ServerVersion};

use super::recorded::{Recorded, disk};
use super::rows;

/// A disk so slow that a hundred VLFs are worth a rebuild: 200 ms a read.
fn slow() -> PricedDisk {
    use device::parameter::{Kind, Range, Ranges};
    let ranges = Ranges::collect(Kind::Flash, |name| {
        let value = match name {
            "read_us" | "write_us" => 200_000.0,
            "flush_us" | "iops" | "throughput_mb_s" | "reads_mb_s" => 0.0,
            "read_mb_s" | "write_mb_s" => 1048.576,
            "sector_bytes" => 512.0,
            "metadata_blocks" => 2.0,
            _ => 256.0,
        };
        Some(Range::exactly(value))
    });
    PricedDisk {
        ranges: ranges.unwrap(),
        ..disk()
    }
}

/// Sales of 2012 with a log of 1 GB that grew by 4 MB at a time.
fn many(recovery_model: &str, reuse_wait: &str) -> Snapshot {
    let mut set = Recorded::sales(recovery_model, reuse_wait, 101, 5);
    set.put(
        Source::Server,
        "server_name|product_version|edition|engine_edition|clock|login_name",
        &["DB1|11.0.7001.0|Enterprise Edition (64-bit)|3|2026-11-26 12:00:00.000|reader"],
    );
    set.rows(Source::LogInfoCommand, rows::grown(4, 4, 1024));
    set.snapshot()
}

fn log(snapshot: &mut Snapshot) -> &mut LogFile {
    &mut snapshot.databases[0].log_files[0]
}

/// The log as a layout has it.
fn set_layout(snapshot: &mut Snapshot, layout: &LogLayout) {
    let vlfs = layout.vlfs().iter().map(|laid| VlfFacts {
        offset: laid.span.offset,
        bytes: laid.span.bytes,
        create_lsn: laid.growth_step.to_string(),
        ..VlfFacts::default()
    });
    let vlfs = vlfs.collect();
    let file = log(snapshot);
    file.vlfs = vlfs;
    file.bytes = layout.file_bytes();
}

fn number(statement: &str, word: &str) -> u64 {
    let (_, after) = statement
        .split_once(word)
        .unwrap_or_else(|| panic!("{word}: {statement}"));
    after.split("MB").next().unwrap().trim().parse().unwrap()
}

/// A server on paper: a log that shrinks when it may, and grows as told.
struct Server {
    snapshot: Snapshot,
    layout: LogLayout,
    /// VLFs that a shrink leaves.
    kept: usize,
}

impl Server {
    fn of(mut snapshot: Snapshot) -> Server {
        let layout = log(&mut snapshot).layout(ServerVersion::V2012).unwrap();
        Server {
            snapshot,
            layout,
            kept: 1000,
        }
    }

    fn run(&mut self, statement: &str) {
        if statement.contains("SHRINKFILE") {
            self.layout.truncate(self.kept.min(self.layout.vlf_count()));
        } else if statement.contains("FILEGROWTH") {
            log(&mut self.snapshot).growth = FileGrowth::Bytes(number(statement, "FILEGROWTH = ") * MB);
        } else {
            let to = number(statement, ", SIZE = ") * MB;
            self.layout.grow(to - self.layout.file_bytes()).unwrap();
        }
        let layout = self.layout.clone();
        set_layout(&mut self.snapshot, &layout);
    }
}

#[test]
fn a_log_is_cleared_shrunk_grown_and_given_its_growth() {
    let mut server = Server::of(many("FULL", "LOG_BACKUP"));
    let task = Task::of(&server.snapshot, &slow(), "sales").unwrap();
    assert_eq!(
        task.before,
        Shape {
            file_bytes: 1024 * MB,
            vlf_count: 1024
        }
    );
    assert!(task.target().vlf_count < 32, "{task:?}");
    // The file that keeps it.
    assert_eq!(Task::from_json(&task.to_json()).unwrap(), task);
    for never in [
        "BACKUP LOG",
        "BACKUP DATABASE",
        "SET RECOVERY",
        "NUL",
        "TO DISK",
        "DELETE",
    ] {
        assert!(!task.tsql().to_uppercase().contains(never), "{never}");
    }
    let mut applying = Applying::begin(task.clone());
    let mut backups = 0;
    let shape = loop {
        match applying.next(&server.snapshot, &slow()) {
            Step::Run(statement) => server.run(&statement),
            Step::AwaitLogBackup { .. } => {
                backups += 1;
                server.kept = if backups == 1 { 40 } else { 2 };
            }
            Step::Done(shape) => break shape,
            Step::Stop(why) => panic!("{why}"),
        }
    };
    assert_eq!((backups, shape), (2, task.target()));
}

/// Killed behind any of its statements, it goes on from there: by the task alone, the log's VLFs say where it is.
#[test]
fn a_run_that_broke_off_anywhere_is_taken_up() {
    let task = Task::of(&many("SIMPLE", "NOTHING"), &slow(), "Sales").unwrap();
    let statements = 2 + task.growths.len();
    for killed_behind in 0..=statements {
        let mut server = Server::of(many("SIMPLE", "NOTHING"));
        server.kept = 2;
        let mut ran = 0;
        for most in [killed_behind, usize::MAX] {
            let mut applying = Applying::begin(Task::from_json(&task.to_json()).unwrap());
            let mut in_this_run = 0;
            loop {
                match applying.next(&server.snapshot, &slow()) {
                    Step::Run(_) if in_this_run == most => break,
                    Step::Run(statement) => server.run(&statement),
                    Step::Done(shape) => {
                        assert_eq!(shape, task.target());
                        break;
                    }
                    other => panic!("{killed_behind}: {other:?}"),
                }
                in_this_run += 1;
            }
            ran += in_this_run;
        }
        assert_eq!(ran, statements, "nothing is done twice, killed behind {killed_behind}");
        assert_eq!(server.layout.vlf_count() as u64, task.target().vlf_count);
    }
}

fn stops(snapshot: &Snapshot, words: &str) {
    let task = Task::of(&many("FULL", "LOG_BACKUP"), &slow(), "Sales").unwrap();
    let step = Applying::begin(task).next(snapshot, &slow());
    assert!(
        matches!(&step, Step::Stop(why) if why.contains(words)),
        "{words}: {step:?}"
    );
}

#[test]
fn it_stops_at_a_log_that_something_holds() {
    let mut held = Recorded::sales("FULL", "ACTIVE_TRANSACTION", 101, 5);
    held.rows(Source::LogInfoCommand, rows::grown(4, 4, 1024));
    held.transaction(101, "11:59:00", Some("sleeping"));
    // All VLFs but the last are free in these rows: the last is the oldest that is needed.
    held.transaction(1124, "11:59:00", Some("sleeping"));
    stops(&held.snapshot(), "session 57 (sleeping) of SHOP\\anna");
    for wait in [
        "REPLICATION",
        "AVAILABILITY_REPLICA",
        "OLDEST_PAGE",
        "XTP_CHECKPOINT",
        "LOG_SCAN",
        "OTHER_TRANSIENT",
        "DATABASE_MIRRORING",
        "DATABASE_SNAPSHOT_CREATION",
        "SLOG_SCAN",
        "A REASON OF A LATER VERSION",
    ] {
        stops(&many("FULL", wait), "the log is held: ");
    }
    // A backup of which nothing is seen has ended; one that runs holds it.
    let mut backup = Recorded::sales("FULL", "ACTIVE_BACKUP_OR_RESTORE", 101, 5);
    backup.rows(Source::LogInfoCommand, rows::grown(4, 4, 1024));
    backup.put(
        Source::Requests,
        "session_id|database_id|command|start_time|percent_complete|estimated_completion_time|wait_type|blocking_session_id",
        &["63|5|BACKUP DATABASE|2026-11-26 08:00:00.000|42.5|18000000|BACKUPIO|0"],
    );
    stops(&backup.snapshot(), "the log is held: ");
    // The transaction that held it has ended: nothing holds it now.
    let task = Task::of(&many("FULL", "LOG_BACKUP"), &slow(), "Sales").unwrap();
    let step = Applying::begin(task).next(&many("FULL", "ACTIVE_TRANSACTION"), &slow());
    assert!(
        matches!(&step, Step::Run(statement) if statement.contains("SHRINKFILE")),
        "{step:?}"
    );
    let mut gone = many("FULL", "NOTHING");
    gone.databases.clear();
    stops(&gone, "the database is gone");
    let mut offline = many("FULL", "NOTHING");
    offline.databases[0].state = "RECOVERY_PENDING".to_owned();
    stops(&offline, "RECOVERY_PENDING");
    // A right was taken away, or the database joined a group, between two runs.
    let mut unread = many("FULL", "NOTHING");
    log(&mut unread).vlfs.clear();
    stops(&unread, "cannot be read");
    let mut joined = many("FULL", "NOTHING");
    joined.databases[0].is_in_availability_group = true;
    stops(&joined, "availability group");
}

#[test]
fn a_log_that_does_not_shrink_is_given_up_and_never_grown() {
    let mut server = Server::of(many("SIMPLE", "NOTHING"));
    log(&mut server.snapshot).vlfs[900].status = 2;
    let task = Task::of(&server.snapshot, &slow(), "Sales").unwrap();
    let mut applying = Applying::begin(task);
    let mut shrinks = 0;
    let why = loop {
        match applying.next(&server.snapshot, &slow()) {
            Step::Run(statement) => {
                assert!(statement.contains("SHRINKFILE"), "{statement}");
                shrinks += 1;
            }
            Step::Stop(why) => break why,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(shrinks, 4);
    assert!(why.contains("VLF 1024 of 1024 in the file is still active"), "{why}");
}

#[test]
fn a_growth_that_did_not_come_stops_it() {
    let mut server = Server::of(many("SIMPLE", "NOTHING"));
    let task = Task::of(&server.snapshot, &slow(), "Sales").unwrap();
    server.layout.truncate(2);
    let layout = server.layout.clone();
    set_layout(&mut server.snapshot, &layout);
    let mut applying = Applying::begin(task);
    assert!(matches!(applying.next(&server.snapshot, &slow()), Step::Run(text) if text.contains("SIZE = ")));
    assert!(matches!(applying.next(&server.snapshot, &slow()), Step::Stop(why) if why.contains("after a growth to")));
}

/// What a refusal leaves is said with its remedy; of a log that cannot be seen any more nothing is claimed.
#[test]
fn a_refused_growth_says_how_the_log_stands_and_what_it_asks_for() {
    let mut server = Server::of(many("SIMPLE", "NOTHING"));
    let task = Task::of(&server.snapshot, &slow(), "Sales").unwrap();
    server.layout.truncate(2);
    let layout = server.layout.clone();
    set_layout(&mut server.snapshot, &layout);
    let applying = Applying::begin(task.clone());
    let stands = format!("in 2 VLFs, and is to have {}", task.target());
    for (error, remedy) in [
        (5149, "; make room on its volume first"),
        (5040, "; raise its MAXSIZE first"),
        (5004, ""),
    ] {
        let left = applying.left_by_refusal(&server.snapshot, error);
        assert!(left.ends_with(&format!("{stands}{remedy}")), "{left}");
    }
    log(&mut server.snapshot).vlfs.clear();
    assert_eq!(applying.left_by_refusal(&server.snapshot, 5149), "");
}

#[test]
fn what_reaches_beyond_the_server_is_printed_only() {
    let printed = |snapshot: &Snapshot, words: &str| match Task::of(snapshot, &slow(), "Sales") {
        Err(Refusal::PrintOnly { because, tsql }) => {
            assert!(because.contains(words), "{because}");
            assert!(!tsql.is_empty());
        }
        other => panic!("{words}: {other:?}"),
    };
    let mut group = many("FULL", "NOTHING");
    group.databases[0].is_in_availability_group = true;
    printed(&group, "availability group");
    let mut rds = many("FULL", "NOTHING");
    rds.name = "sales.abc.eu-west-1.rds.amazonaws.com:1433".to_owned();
    printed(&rds, "RDS");
    let mut managed = many("FULL", "NOTHING");
    managed.server.engine_edition = Some(8);
    printed(&managed, "Managed Instance");
    let mut azure = many("FULL", "NOTHING");
    azure.server.engine_edition = Some(5);
    printed(&azure, "Azure SQL Database");
    let mut mirrored = many("FULL", "NOTHING");
    mirrored.databases[0].mirroring = Some(MirroringFacts::default());
    printed(&mirrored, "mirrored");
    // What need not be mended is not.
    let verdict = Task::of(&many("FULL", "NOTHING"), &disk(), "Sales");
    assert!(matches!(verdict, Err(Refusal::NothingToDo(text)) if text.contains("leave it")));
    assert!(matches!(
        Task::of(&many("FULL", "NOTHING"), &slow(), "other"),
        Err(Refusal::NotJudged(_))
    ));
}
