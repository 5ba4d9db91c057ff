//! Every statement that touches files, cut off at every change it makes of the volume.
//!
//! ```text
//!   prepared volume --- the statement, uncut ---------------------------> files and answer as they must be
//!          \
//!           +-- cut off at change n: kill or power cut --- start --- every database online, nothing lost
//!                                                                    the statement again: succeeds, or is done
//!                                                                    files and answer as they must be
//! ```
//!
//! One seed is one statement: its changes from the first to the last are tried in turn, and each end is drawn.

use crate::check::states_after_recovery;
use crate::client::{ask, rows};
use crate::machine::{INSTANCE, Machine, Setting, Site, StartFailure, cut_power};
use crate::power_cuts::{Counts, Failure, error_log};
use crate::random::Random;
use crate::tally::Counted;
use crate::volume::Volume;
use crate::volume::names::NameModel;
use lab::client::Connection;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

const STATEMENT_PATIENCE: Duration = Duration::from_secs(30);
/// Power cuts among the ends; the others are kills.
const POWER_CUTS_PERCENT: u64 = 50;
/// Table `kept` of database `victim`, which no statement here may touch.
const KEPT_ROWS: &str = "select count(*), sum(id), min(len(filler)) from victim.dbo.kept";

/// One statement that touches files.
#[derive(Debug)]
pub struct Subject {
    pub name: &'static str,
    /// Batches before it.
    prepare: &'static [&'static str],
    statement: &'static str,
    /// Errors of the statement given again that say it was done.
    done: &'static [i32],
    /// A query whose answer afterwards is the same however often the statement was cut off.
    shows: &'static str,
}

const DATABASES: &str = "select name, state_desc from sys.databases order by name";
const FILES: &str = "select name, type_desc from victim.sys.database_files order by name";
const BACKUP: &str = "backup database victim to disk = 'victim.bak' with init";
const MADE: &str = "create database made on (name = made, filename = 'made.mdf', size = 2MB) \
                    log on (name = made_log, filename = 'made.ldf', size = 1MB)";
const GROWN: &str = "insert victim.dbo.grown select id, replicate('g', 3000) from victim.dbo.kept";
const RESTORE_NEW: &str = "restore database made from disk = 'victim.bak' with replace, \
                           move 'victim' to 'made.mdf', move 'victim_log' to 'made.ldf'";
const RESTORE_BEGUN: &str = "restore database made from disk = 'victim.bak' with norecovery, \
                             move 'victim' to 'made.mdf', move 'victim_log' to 'made.ldf'";

/// Every statement tried.
pub const SUBJECTS: [Subject; 20] = [
    Subject {
        name: "create database",
        prepare: &[],
        statement: MADE,
        done: &[1801],
        shows: DATABASES,
    },
    Subject {
        name: "drop database",
        prepare: &[MADE],
        statement: "drop database made",
        done: &[3701],
        shows: DATABASES,
    },
    Subject {
        name: "add file",
        prepare: &[],
        statement: "alter database victim add file (name = second, filename = 'second.ndf', size = 1MB)",
        done: &[1828],
        shows: FILES,
    },
    Subject {
        name: "remove file",
        prepare: &["alter database victim add file (name = second, filename = 'second.ndf', size = 1MB)"],
        statement: "alter database victim remove file second",
        done: &[5009],
        shows: FILES,
    },
    Subject {
        name: "add log file",
        prepare: &[],
        statement: "alter database victim add log file (name = second, filename = 'second.ldf', size = 1MB)",
        done: &[1828],
        shows: FILES,
    },
    Subject {
        name: "modify file",
        prepare: &[],
        statement: "alter database victim modify file (name = victim, size = 5MB)",
        done: &[5039],
        shows: "select name, size from victim.sys.database_files where type = 0",
    },
    Subject {
        name: "rename database",
        prepare: &[MADE],
        statement: "alter database made modify name = renamed",
        done: &[5011, 911, 5069],
        shows: DATABASES,
    },
    Subject {
        name: "backup database",
        prepare: &[],
        statement: BACKUP,
        done: &[],
        shows: "restore verifyonly from disk = 'victim.bak'",
    },
    Subject {
        name: "backup database over another",
        prepare: &[BACKUP],
        statement: BACKUP,
        done: &[],
        shows: "restore verifyonly from disk = 'victim.bak'",
    },
    Subject {
        name: "backup log",
        prepare: &["backup database victim to disk = 'victim.bak' with init"],
        statement: "backup log victim to disk = 'victim.trn' with init",
        done: &[],
        shows: "restore verifyonly from disk = 'victim.trn'",
    },
    Subject {
        name: "restore as a new database",
        prepare: &[BACKUP],
        statement: RESTORE_NEW,
        done: &[],
        shows: "select count(*), sum(id) from made.dbo.kept",
    },
    Subject {
        name: "restore over a database",
        prepare: &[BACKUP, "insert victim.dbo.kept values (100000, 'later')"],
        statement: "restore database victim from disk = 'victim.bak' with replace",
        done: &[],
        shows: KEPT_ROWS,
    },
    Subject {
        name: "restore log",
        prepare: &[
            BACKUP,
            "insert victim.dbo.kept values (100000, 'later')",
            "backup log victim to disk = 'victim.trn' with init",
            RESTORE_BEGUN,
        ],
        statement: "restore log made from disk = 'victim.trn' with recovery",
        // 3117: the database is recovered. 4326: the log is in it, and what is left is recovery.
        done: &[3117, 4326, 3013],
        shows: "select count(*), sum(id) from made.dbo.kept",
    },
    Subject {
        name: "shrink file",
        prepare: &[GROWN, "truncate table victim.dbo.grown"],
        statement: "use victim dbcc shrinkfile (victim_log, 2) with no_infomsgs use master",
        done: &[],
        shows: FILES,
    },
    Subject {
        name: "checkpoint",
        prepare: &[],
        statement: "use victim insert grown select id, filler from kept checkpoint delete grown use master",
        done: &[],
        shows: DATABASES,
    },
    Subject {
        name: "growth of data and log",
        prepare: &[],
        statement: "use victim begin tran \
                    insert grown select id, replicate('g', 3000) from kept insert grown select id, replicate('h', 3000) from kept \
                    rollback tran use master",
        done: &[],
        shows: "select count(*) from victim.dbo.grown",
    },
    Subject {
        name: "set offline",
        prepare: &[],
        statement: "alter database victim set offline",
        done: &[],
        shows: DATABASES,
    },
    Subject {
        name: "set online",
        prepare: &["alter database victim set offline"],
        statement: "alter database victim set online",
        done: &[],
        shows: DATABASES,
    },
    Subject {
        name: "set recovery model",
        prepare: &[],
        statement: "alter database victim set recovery simple",
        done: &[],
        shows: "select recovery_model_desc from sys.databases where name = 'victim'",
    },
    Subject {
        name: "configure",
        prepare: &[],
        statement: "exec sp_configure 'show advanced options', 1 reconfigure \
                    exec sp_configure 'cost threshold for parallelism', 77 reconfigure",
        done: &[],
        shows: "select value_in_use from sys.configurations where name = 'cost threshold for parallelism'",
    },
];

/// What must be there once the statement is done.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    files: BTreeSet<PathBuf>,
    shown: Vec<Vec<Option<String>>>,
    kept: Vec<Vec<Option<String>>>,
}

/// An instance with the database `victim`.
pub struct Victim {
    volume: Volume,
}

impl Victim {
    /// Makes the instance.
    ///
    /// # Errors
    /// What the server says.
    pub fn new(site: &Site) -> Result<Victim, String> {
        let setup = [
            "create database victim on (name = victim, filename = 'victim.mdf', size = 2MB, filegrowth = 1MB) \
             log on (name = victim_log, filename = 'victim.ldf', size = 1MB, filegrowth = 1MB)",
            "use victim create table kept (id int not null primary key, filler varchar(4000) not null) \
             create table grown (id int not null, filler varchar(4000) not null)",
            "declare @i int = 0 while @i < 300 begin set @i += 1 insert kept values (@i, replicate('k', 500)) end",
        ];
        let volume = prepare(site, Volume::new(NameModel::Journal), &setup)?;
        Ok(Victim { volume })
    }
}

fn setting() -> Setting {
    Setting {
        sql_version: "2022",
        log_policy: "native",
        max_server_memory_mb: 64,
    }
}

/// Runs batches on a volume and stops cleanly.
fn prepare(site: &Site, volume: Volume, batches: &[&str]) -> Result<Volume, String> {
    let machine = start(site, setting(), volume)?;
    let mut connection = machine.server().connect().map_err(|error| error.to_string())?;
    for batch in batches {
        rows(&mut connection, batch)?;
    }
    drop(connection);
    let (mut volume, _) = machine.stop().map_err(|error| error.to_string())?;
    volume.settle();
    Ok(volume)
}

fn start(site: &Site, setting: Setting, volume: Volume) -> Result<Machine, String> {
    Machine::start(site, setting, volume, None).map_err(|failure| match failure {
        StartFailure::Server(said, _) => format!("the server does not start: {said}"),
        StartFailure::Io(error) => error.to_string(),
        StartFailure::Sprung(_) => "a trap that nobody set".into(),
    })
}

/// Files of the instance but for its error logs, whose number grows with every start.
fn files_of(volume: &Volume) -> BTreeSet<PathBuf> {
    let is_log = |path: &PathBuf| path.starts_with(format!("{INSTANCE}/log"));
    volume.files().into_keys().filter(|path| !is_log(path)).collect()
}

/// Shows what the statement left, then stops cleanly.
fn outcome(machine: Machine, mut connection: Connection, subject: &Subject) -> Result<Outcome, String> {
    let shown = rows(&mut connection, subject.shows)?;
    let kept = if subject.name == "set offline" {
        Vec::new()
    } else {
        rows(&mut connection, KEPT_ROWS)?
    };
    for name in online_databases(&mut connection)? {
        rows(&mut connection, &format!("dbcc checkdb ('{name}') with no_infomsgs"))?;
    }
    drop(connection);
    let (volume, _) = machine.stop().map_err(|error| error.to_string())?;
    Ok(Outcome {
        files: files_of(&volume),
        shown,
        kept,
    })
}

fn online_databases(connection: &mut Connection) -> Result<Vec<String>, String> {
    let states = states_after_recovery(connection)?;
    Ok(states
        .into_iter()
        .filter(|(_, state)| state == "ONLINE")
        .map(|(name, _)| name)
        .collect())
}

/// The statement uncut: how many changes it makes, and what it leaves.
fn reference(site: &Site, prepared: &Volume, subject: &Subject) -> Result<(u64, Outcome), String> {
    let machine = start(site, setting(), prepared.clone())?;
    let mut connection = machine.server().connect().map_err(|error| error.to_string())?;
    let changes = |machine: &Machine| machine.disk().with_volume(|volume| volume.changes());
    let before = changes(&machine);
    rows(&mut connection, subject.statement)?;
    let count = changes(&machine) - before;
    Ok((count, outcome(machine, connection, subject)?))
}

/// One point of a statement.
struct Point<'a> {
    site: &'a Site,
    subject: &'a Subject,
    prepared: &'a Volume,
    expected: &'a Outcome,
    random: Random,
    counts: Counts,
    before: Option<Volume>,
    after: Option<Volume>,
    log: String,
}

impl Point<'_> {
    /// Cuts the statement off at that change, starts again and checks.
    fn run(&mut self, change: u64) -> Result<(), String> {
        let left = self.cut_off(change)?;
        // As the reference was started: which policy ends last decides about files such as `<log file>.vlfs`.
        let machine = start(self.site, setting(), left)?;
        let checked = self.check(&machine);
        self.log = machine.disk().with_volume(|volume| error_log(volume));
        let connection = checked?;
        self.counts.checks += 1;
        let outcome = outcome(machine, connection, self.subject)?;
        if outcome == *self.expected {
            return Ok(());
        }
        let left_over: Vec<_> = outcome.files.difference(&self.expected.files).collect();
        let missing: Vec<_> = self.expected.files.difference(&outcome.files).collect();
        Err(format!(
            "files left over: {left_over:?}, files missing: {missing:?}; shows {:?}, not {:?}; kept rows {:?}, not {:?}",
            outcome.shown, self.expected.shown, outcome.kept, self.expected.kept
        ))
    }

    /// The volume as the end leaves it. The statement may be over already when the change does not come this time.
    fn cut_off(&mut self, change: u64) -> Result<Volume, String> {
        let mut machine = start(self.site, Setting::draw(&mut self.random), self.prepared.clone())?;
        let mut connection = machine.server().connect().map_err(|error| error.to_string())?;
        machine.disk().set_trap(change, self.random.percent(50));
        let hang = Duration::from_micros(self.random.below(2_000));
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| ask(&mut connection, self.subject.statement));
            let begin = std::time::Instant::now();
            while !machine.disk().wait_until_sprung(Duration::from_millis(5)) {
                if asked.is_finished() || begin.elapsed() > STATEMENT_PATIENCE {
                    break;
                }
            }
            if machine.disk().wait_until_sprung(Duration::ZERO) {
                std::thread::sleep(hang);
            }
            machine.kill();
        });
        let volume = machine.end_abruptly().map_err(|error| error.to_string())?;
        self.counts.ends += 1;
        self.before = Some(volume.clone());
        let left = if self.random.percent(POWER_CUTS_PERCENT) {
            cut_power(&volume, &mut self.random).0
        } else {
            volume.after_kill()
        };
        self.after = Some(left.clone());
        Ok(left)
    }

    /// Every database is online, and the statement succeeds or says that it is done.
    fn check(&mut self, machine: &Machine) -> Result<Connection, String> {
        let mut connection = machine.server().connect().map_err(|error| error.to_string())?;
        for (name, state) in states_after_recovery(&mut connection)? {
            let may_be = match self.subject.name {
                "set offline" | "set online" => name == "victim" && state == "OFFLINE",
                "restore over a database" => name == "victim" && state == "RESTORING",
                "restore as a new database" | "restore log" => name == "made" && state == "RESTORING",
                _ => false,
            };
            if state != "ONLINE" && !may_be {
                return Err(format!("database {name} is {state}"));
            }
        }
        let answer = ask(&mut connection, self.subject.statement);
        let done = answer.numbers().iter().all(|number| self.subject.done.contains(number));
        if answer.lost.is_some() || !done {
            return Err(format!("the statement given again: {}", answer.failure()));
        }
        if self.subject.name == "restore log" && answer.numbers().contains(&4326) {
            rows(&mut connection, "restore database made with recovery")?;
        }
        Ok(connection)
    }
}

/// The statement of that seed; `None` for the first start of an instance, which takes its turn with them.
pub fn subject_of(seed: u64) -> Option<&'static Subject> {
    SUBJECTS.get((seed % (SUBJECTS.len() as u64 + 1)) as usize)
}

/// Cuts off the statement of that seed at each of its changes, or at `points_max` of them; the first failure with its
/// evidence, and how many there were.
pub fn run_subject(site: &Site, victim: &Victim, seed: u64, points_max: u64) -> (Counts, Option<Failure>) {
    let Some(subject) = subject_of(seed) else {
        return crate::first_start::run(site, seed, points_max);
    };
    let mut counts = Counts::default();
    let mut failures: Vec<Failure> = Vec::new();
    let prepared = prepare(site, victim.volume.clone(), subject.prepare);
    let uncut = prepared.and_then(|prepared| {
        let (count, expected) = reference(site, &prepared, subject)?;
        Ok((prepared, count, expected))
    });
    match uncut {
        Err(what) => failures.push(failure_of(0, format!("{}, uncut: {what}", subject.name), None)),
        Ok((prepared, count, expected)) => {
            let step = count.div_ceil(points_max.max(1)).max(1);
            let mut random = Random::new(seed);
            for change in (1 + random.below(step)..=count).step_by(step as usize) {
                let mut point = Point {
                    site,
                    subject,
                    prepared: &prepared,
                    expected: &expected,
                    random: random.fork(),
                    counts: Counts::default(),
                    before: None,
                    after: None,
                    log: String::new(),
                };
                if let Err(what) = point.run(change) {
                    let what = format!("{}, change {change} of {count}: {what}", subject.name);
                    failures.push(failure_of(change, what, Some(&mut point)));
                }
                counts.add(&point.counts);
            }
        }
    }
    let count = failures.len();
    let first = failures.into_iter().next().map(|mut failure| {
        failure.what = format!("{} ({count} points failed)", failure.what);
        failure
    });
    (counts, first)
}

fn failure_of(change: u64, what: String, point: Option<&mut Point<'_>>) -> Failure {
    let (before, after, error_log, server_output) = match point {
        None => Default::default(),
        Some(point) => (
            point.before.take(),
            point.after.take(),
            std::mem::take(&mut point.log),
            std::fs::read_to_string(point.site.server_output()).unwrap_or_default(),
        ),
    };
    Failure {
        what,
        cycle: change,
        before,
        after,
        error_log,
        server_output,
        ledger: String::new(),
    }
}
