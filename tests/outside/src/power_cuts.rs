//! Histories of power cuts and kills under a workload.
//!
//! ```text
//!   history (one seed): a new instance, then again and again
//!     work   clients and administrator, until a drawn change of the volume
//!     end    power cut | kill | clean stop, itself cut off sometimes
//!     start  under a version and log policy drawn again; sometimes cut off during recovery, and again
//!     check  the content against the ledger
//! ```
//!
//! The seed determines every draw. Which change is the n-th one depends on the pace of threads too, so a repeated seed
//! repeats the kind of history and mostly, not always, its outcome.

use crate::check::{check, states_after_recovery};
use crate::client::rows;
use crate::machine::{INSTANCE, Machine, Setting, Site, StartFailure, cut_power};
use crate::random::Random;
use crate::tally::Counted;
use crate::volume::Volume;
use crate::volume::names::NameModel;
use crate::workload::administrator::{self, accelerate_statement, create_statement};
use crate::workload::clients;
use crate::workload::ledger::{CLIENTS, Ledger};
use crate::workload::rivals::{self, Promises, RIVALS};
use lab::client::{Connection, Target};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Work is ended where it stands when the drawn change does not come in this time.
const WORK_TIME_MAX: Duration = Duration::from_secs(20);
/// How far into the work the end may be drawn, as number of changes.
const WORK_CHANGES_MAX: u64 = 6_000;
/// The same for an end during recovery or a clean stop.
const START_CHANGES_MAX: u64 = 150;
/// While the file system hangs, other threads send on what they have: at most this many microseconds.
const HANG_US_MAX: u64 = 4_000;
const CLEAN_STOP_PERCENT: u64 = 12;
/// Kills in a run of power cuts: what was not durable then may still be lost in the next cut.
const KILLS_AMONG_CUTS_PERCENT: u64 = 20;
const RECOVERY_ENDS_PERCENT: u64 = 25;
const POLL: Duration = Duration::from_millis(5);

/// What kinds of ends a run is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    PowerCuts,
    /// The process is killed and the file system stays.
    Kills,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Clients with transactions, and one administrator.
    Clients,
    /// Administrators that share names.
    Rivals,
}

/// What a run of histories is to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Power cuts or kills.
    pub ends: Ends,
    pub workload: Workload,
    /// Cycles of one history.
    pub cycles: u64,
    /// The control run: from the first cycle on every sync does nothing, which must be found.
    pub syncs_do_nothing: bool,
}

/// Counts of one or many histories.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Times the power went or the server was killed, in work, recovery or a clean stop.
    pub ends: u64,
    /// Those of them before the server was ready.
    pub ends_in_recovery: u64,
    /// Those of them during a clean stop.
    pub ends_in_stop: u64,
    /// Clean stops.
    pub stops: u64,
    /// Acknowledged transactions and statements.
    pub acknowledged: u64,
    /// Times everything was compared with the ledger.
    pub checks: u64,
    /// Checkpoints behind which the log had open transactions that were carried.
    #[serde(default)]
    pub carried: u64,
    /// Transactions over two databases that came to an end.
    #[serde(default)]
    pub in_two_databases: u64,
    /// Snapshots, clones and copies that were made, backups restored beside their database, and snapshots that were gone back to.
    #[serde(default)]
    pub derived: u64,
    /// Hostile clients that were borne.
    #[serde(default)]
    pub attacks: u64,
}

impl Counted for Counts {
    fn add(&mut self, other: &Counts) {
        self.ends += other.ends;
        self.ends_in_recovery += other.ends_in_recovery;
        self.ends_in_stop += other.ends_in_stop;
        self.stops += other.stops;
        self.acknowledged += other.acknowledged;
        self.checks += other.checks;
        self.carried += other.carried;
        self.in_two_databases += other.in_two_databases;
        self.derived += other.derived;
        self.attacks += other.attacks;
    }

    fn words(&self) -> String {
        let Counts {
            ends,
            ends_in_recovery,
            ends_in_stop,
            stops,
            acknowledged,
            checks,
            carried,
            in_two_databases,
            derived,
            attacks,
        } = self;
        let what = match attacks {
            0 => format!(
                "{ends} ends ({ends_in_recovery} in recovery, {ends_in_stop} in a clean stop), {stops} clean stops, "
            ),
            _ => format!("{attacks} hostile clients, "),
        };
        let carried = match carried {
            0 => String::new(),
            _ => format!(", {carried} checkpoints with carried transactions"),
        };
        let derived = match (in_two_databases, derived) {
            (0, 0) => String::new(),
            _ => format!(", {in_two_databases} transactions over two databases, {derived} derived databases"),
        };
        format!("{what}{acknowledged} acknowledgements, {checks} comparisons{carried}{derived}")
    }
}

/// What went wrong in a history, with what is known of it.
pub struct Failure {
    pub what: String,
    /// In which cycle, from 0.
    pub cycle: u64,
    /// The volume as the last end left it, before anything was drawn.
    pub before: Option<Volume>,
    /// The volume after the draws, on which the server then started.
    pub after: Option<Volume>,
    /// The server's error log.
    pub error_log: String,
    /// What the server printed.
    pub server_output: String,
    pub ledger: String,
}

/// One history on its way.
struct History<'a> {
    site: &'a Site,
    plan: &'a Plan,
    random: Random,
    ledger: Ledger,
    promises: Promises,
    counts: Counts,
    before: Option<Volume>,
    after: Option<Volume>,
    last_log: String,
}

/// An empty instance whose databases are made, everything of it durable: the begin of every history.
pub struct Base {
    volume: Volume,
}

impl Base {
    /// Makes the instance.
    ///
    /// # Errors
    /// What the server says.
    pub fn new(site: &Site) -> Result<Base, String> {
        let setting = Setting {
            sql_version: "2022",
            log_policy: "native",
            max_server_memory_mb: 64,
        };
        let machine = Machine::start(site, setting, Volume::new(NameModel::Journal), None);
        let machine = machine.map_err(|failure| format!("a new instance does not start: {}", told(&failure)))?;
        let mut connection = machine.server().connect().map_err(|error| error.to_string())?;
        for database in &Ledger::new().databases {
            rows(&mut connection, &create_statement(&database.name))?;
            rows(&mut connection, &accelerate_statement(&database.name))?;
        }
        rivals::prepare(&mut connection)?;
        let (mut volume, _) = machine.stop().map_err(|error| error.to_string())?;
        volume.settle();
        Ok(Base { volume })
    }

    pub fn volume(&self) -> &Volume {
        &self.volume
    }
}

fn told(failure: &StartFailure) -> String {
    match failure {
        StartFailure::Sprung(_) => "the trap sprang".into(),
        StartFailure::Server(said, _) => said.clone(),
        StartFailure::Io(error) => error.to_string(),
    }
}

/// Runs one history; its counts, and what went wrong if anything did.
pub fn run_history(site: &Site, base: &Base, plan: &Plan, seed: u64) -> (Counts, Option<Failure>) {
    let mut history = History {
        site,
        plan,
        random: Random::new(seed),
        ledger: Ledger::new(),
        promises: Promises::default(),
        counts: Counts::default(),
        before: None,
        after: None,
        last_log: String::new(),
    };
    for database in &history.ledger.databases {
        database.standing.lock().exists = true;
    }
    let failure = history.run(base).err();
    history.counts.carried = history.ledger.carried.load(Ordering::Relaxed);
    history.counts.in_two_databases = history.ledger.in_two_databases.load(Ordering::Relaxed);
    history.counts.derived = history.ledger.derived_made.load(Ordering::Relaxed);
    history.counts.acknowledged = history.ledger.acknowledged.load(Ordering::Relaxed);
    let failure = failure.map(|(cycle, what)| Failure {
        what,
        cycle,
        before: history.before.take(),
        after: history.after.take(),
        error_log: std::mem::take(&mut history.last_log),
        server_output: std::fs::read_to_string(site.server_output()).unwrap_or_default(),
        ledger: history.ledger.text(),
    });
    (history.counts, failure)
}

impl History<'_> {
    fn run(&mut self, base: &Base) -> Result<(), (u64, String)> {
        let mut volume = base.volume.clone().after_kill();
        volume.set_syncs_do_nothing(self.plan.syncs_do_nothing);
        let mut machine = self.start(volume).map_err(|what| (0, what))?;
        for cycle in 0..self.plan.cycles {
            self.ledger.note("harness", &format!("cycle {cycle}"));
            machine = self.cycle(machine).map_err(|what| (cycle, what))?;
        }
        machine
            .end_abruptly()
            .map(|_| ())
            .map_err(|error| (self.plan.cycles, error.to_string()))
    }

    /// Work, end, start and check; the machine goes on into the next cycle.
    fn cycle(&mut self, mut machine: Machine) -> Result<Machine, String> {
        let volume = if self.random.percent(CLEAN_STOP_PERCENT) {
            self.work(&mut machine, WorkEnd::Settled)?;
            self.stop(machine)?
        } else {
            self.work(&mut machine, WorkEnd::Abrupt)?;
            let volume = machine.end_abruptly().map_err(|error| error.to_string())?;
            self.end(volume)
        };
        let machine = self.start(volume)?;
        let checked = machine.server().connect().map_err(|error| error.to_string());
        let checked = checked.and_then(|mut connection| self.check(&mut connection));
        self.counts.checks += 1;
        if checked.is_err() {
            self.keep_log(&machine);
        }
        checked.map(|()| machine)
    }

    fn check(&self, connection: &mut Connection) -> Result<(), String> {
        match self.plan.workload {
            Workload::Clients => check(&self.ledger, connection),
            Workload::Rivals => rivals::check(&self.promises, &states_after_recovery(connection)?, connection),
        }
    }

    /// Lets clients and administrator work to a drawn change, and there kills the server or lets them come to an end.
    fn work(&mut self, machine: &mut Machine, end: WorkEnd) -> Result<(), String> {
        let changes_ahead = self.random.of_any_magnitude(WORK_CHANGES_MAX);
        let takes_it = self.random.percent(50);
        let hang = Duration::from_micros(self.random.below(HANG_US_MAX));
        let workers = match self.plan.workload {
            Workload::Clients => CLIENTS + 1,
            Workload::Rivals => RIVALS,
        };
        let seeds: Vec<Random> = (0..workers).map(|_| self.random.fork()).collect();
        let (workload, promises) = (self.plan.workload, &self.promises);
        let target = machine.server().target();
        let ledger = &self.ledger;
        ledger.closing.store(false, Ordering::Relaxed);
        ledger.note("harness", &format!("work for {changes_ahead} changes, then {end:?}"));
        std::thread::scope(|scope| {
            for (worker, random) in seeds.into_iter().enumerate() {
                let target = &target;
                scope.spawn(move || match workload {
                    Workload::Clients => work_as(ledger, worker, target, random),
                    Workload::Rivals => rivals::run(ledger, promises, worker, target, random),
                });
            }
            match end {
                WorkEnd::Abrupt => {
                    machine.disk().set_trap(changes_ahead, takes_it);
                    wait_for(machine, ledger, |machine| machine.disk().wait_until_sprung(POLL));
                    std::thread::sleep(hang);
                    machine.kill();
                }
                WorkEnd::Settled => {
                    let goal = machine.disk().with_volume(|volume| volume.changes()) + changes_ahead;
                    wait_for(machine, ledger, |machine| {
                        std::thread::sleep(POLL);
                        machine.disk().with_volume(|volume| volume.changes()) >= goal
                    });
                }
            }
            ledger.closing.store(true, Ordering::Relaxed);
        });
        let failure = ledger.failures().into_iter().next();
        if failure.is_some() {
            self.keep_log(machine);
        }
        failure.map_or(Ok(()), Err)
    }

    /// A clean stop, sometimes cut off.
    fn stop(&mut self, machine: Machine) -> Result<Volume, String> {
        if self.random.percent(40) {
            let changes_ahead = self.random.of_any_magnitude(START_CHANGES_MAX);
            machine.disk().set_trap(changes_ahead, self.random.percent(50));
        }
        self.ledger.note("harness", "clean stop");
        let (volume, clean) = machine.stop().map_err(|error| error.to_string())?;
        if clean {
            self.counts.stops += 1;
            return Ok(volume);
        }
        self.counts.ends_in_stop += 1;
        Ok(self.end(volume))
    }

    /// What an abrupt end leaves of the volume.
    fn end(&mut self, volume: Volume) -> Volume {
        self.counts.ends += 1;
        let kill = self.plan.ends == Ends::Kills || self.random.percent(KILLS_AMONG_CUTS_PERCENT);
        self.before = Some(volume.clone());
        let left = if kill {
            self.ledger.note("harness", "killed");
            volume.after_kill()
        } else {
            let (left, fate) = cut_power(&volume, &mut self.random);
            self.ledger.note("harness", &format!("power cut, {fate:?}"));
            left
        };
        self.after = Some(left.clone());
        left
    }

    /// Starts the server, with ends during recovery when they are drawn.
    fn start(&mut self, mut volume: Volume) -> Result<Machine, String> {
        loop {
            let setting = Setting::draw(&mut self.random);
            let trap = self.random.percent(RECOVERY_ENDS_PERCENT);
            let trap = trap.then(|| (self.random.of_any_magnitude(START_CHANGES_MAX), self.random.percent(50)));
            self.ledger
                .note("harness", &format!("start as {setting:?}, trap {trap:?}"));
            let sprung = match Machine::start(self.site, setting, volume, trap) {
                Ok(machine) if machine.disk().disarm() => return Ok(machine),
                Ok(machine) => machine.end_abruptly().map_err(|error| error.to_string())?,
                Err(StartFailure::Sprung(volume)) => *volume,
                Err(StartFailure::Server(said, volume)) => {
                    self.last_log = error_log(&volume);
                    return Err(format!("the server does not start: {said}"));
                }
                Err(StartFailure::Io(error)) => return Err(error.to_string()),
            };
            self.counts.ends_in_recovery += 1;
            volume = self.end(sprung);
        }
    }

    fn keep_log(&mut self, machine: &Machine) {
        self.last_log = machine.disk().with_volume(|volume| error_log(volume));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkEnd {
    /// In the middle of everything.
    Abrupt,
    /// Every client has its last answer.
    Settled,
}

fn work_as(ledger: &Ledger, client: usize, target: &Target, random: Random) {
    // A login that the end cuts off did nothing.
    let Ok(mut connection) = Connection::open(target) else {
        return;
    };
    if client < CLIENTS {
        clients::run(ledger, client, &mut connection, random);
    } else {
        administrator::run(ledger, &mut connection, random);
    }
}

/// Waits until `reached`, a failure, or the end of patience.
fn wait_for(machine: &mut Machine, ledger: &Ledger, mut reached: impl FnMut(&Machine) -> bool) {
    let begin = Instant::now();
    while !reached(machine) && begin.elapsed() < WORK_TIME_MAX && !ledger.is_closing() {
        if !machine.server_is_up() {
            ledger.fail("the server ended by itself".into());
        }
    }
}

/// The current error log and the one before it.
pub fn error_log(volume: &Volume) -> String {
    let file = |name: &str| volume.bytes_of(&Path::new(INSTANCE).join("log").join(name));
    let logs = [file("ERRORLOG.1"), file("ERRORLOG")];
    let texts = logs
        .into_iter()
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    texts.collect::<Vec<_>>().join("\n----\n")
}
