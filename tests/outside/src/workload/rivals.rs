//! Administrators that work on the same database names at once, each as if it were alone.
//!
//! | what | on which database | what must hold after every end |
//! |---|---|---|
//! | CREATE, DROP, RESTORE, recovery, OFFLINE, ONLINE, ADD FILE, MODIFY FILE, rows | two names that all share | no damage; per recovery fork every row and file that was acknowledged |
//! | CREATE, rows, DROP | one that is its own | it is there exactly from CREATE to DROP, with its rows |
//!
//! The second to come may be refused, so nearly every error is allowed on shared names; on its own names an administrator gets
//! none. A recovery fork names one life of a database: CREATE and RESTORE begin another.

use super::ledger::Ledger;
use crate::client::{Answer, ask, rows};
use crate::random::Random;
use lab::client::{Connection, Target};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many administrators there are.
pub const RIVALS: usize = 4;
const SHARED: [&str; 2] = ["shared_1", "shared_2"];
const MEDIA: &str = "origin.bak";
/// Errors that no statement may get, whichever came first: damage, files that are not there, assertions, names that are nobody
/// else's.
const NEVER: [i32; 11] = [823, 824, 825, 945, 1828, 3624, 5120, 8630, 9003, 9004, 9001];
/// What WITH RECOVERY answers for a database that a RESTORE has taken apart and not made again, and nothing else does.
const RESTORE_INTERRUPTED: i32 = 4319;
/// What a RESTORE answers that has touched nothing: the database is in use, or another statement is at work.
const NO_EXCLUSIVE_ACCESS: i32 = 3101;

/// What was acknowledged on the shared names in one life of a database.
#[derive(Debug, Default)]
struct Life {
    rows: BTreeSet<u64>,
    files: BTreeSet<String>,
}

/// One administrator's own database.
#[derive(Debug, Clone, Default)]
struct Own {
    /// Rows that were acknowledged, if it is there.
    rows: Option<BTreeSet<u64>>,
    /// What is under way: CREATE, DROP, or a row.
    under_way: Option<UnderWay>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnderWay {
    Create,
    Drop,
    Row(u64),
}

/// What all of them were promised.
#[derive(Default)]
pub struct Promises {
    lives: Mutex<BTreeMap<String, Life>>,
    own: [Mutex<Own>; RIVALS],
    next: AtomicU64,
    /// For each shared name, how many RESTOREs from the media were sent whose end is not known to have left the database whole.
    open_restores: [AtomicU64; SHARED.len()],
}

/// Makes what the workload restores from.
///
/// # Errors
/// What the server says.
pub fn prepare(connection: &mut Connection) -> Result<(), String> {
    for batch in [
        "create database origin on (name = o, filename = 'origin.mdf', size = 2MB) \
         log on (name = o_log, filename = 'origin.ldf', size = 1MB)",
        "use origin create table r (v bigint not null)",
        "use master backup database origin to disk = 'origin.bak' with init",
        "drop database origin",
    ] {
        rows(connection, batch)?;
    }
    Ok(())
}

/// One administrator at work.
struct Rival<'a> {
    who: String,
    index: usize,
    ledger: &'a Ledger,
    promises: &'a Promises,
    target: &'a Target,
    random: Random,
    /// For the shared names: taking one of them offline ends it.
    shared: Option<Connection>,
}

/// Runs statements until the server is gone or the ledger closes.
pub fn run(ledger: &Ledger, promises: &Promises, index: usize, target: &Target, random: Random) {
    let Ok(mut own) = Connection::open(target) else { return };
    let mut rival = Rival {
        who: format!("rival {index}"),
        index,
        ledger,
        promises,
        target,
        random,
        shared: None,
    };
    while !ledger.is_closing() {
        let goes_on = match rival.random.percent(25) {
            true => rival.work_on_own(&mut own),
            false => rival.work_on_shared(),
        };
        if !goes_on {
            return;
        }
    }
}

/// The rows and the recovery fork of the current database.
const FORK: &str =
    "select cast(recovery_fork_guid as varchar(36)) from sys.database_recovery_status where database_id = db_id()";

impl Rival<'_> {
    /// False when the server is gone.
    fn work_on_own(&mut self, connection: &mut Connection) -> bool {
        let name = format!("own_{}", self.index);
        let own = &self.promises.own[self.index];
        let exists = own.lock().rows.is_some();
        let v = self.promises.next.fetch_add(1, Ordering::Relaxed);
        let (under_way, batch) = match (exists, self.random.percent(70)) {
            (false, _) => (
                UnderWay::Create,
                format!(
                    "create database {name} on (name = d, filename = '{name}.mdf', size = 2MB) \
                     log on (name = l, filename = '{name}.ldf', size = 1MB) \
                     exec('use {name} create table r (v bigint not null)')"
                ),
            ),
            (true, true) => (UnderWay::Row(v), format!("insert {name}.dbo.r values ({v})")),
            (true, false) => (UnderWay::Drop, format!("drop database {name}")),
        };
        own.lock().under_way = Some(under_way);
        self.ledger.note(&self.who, &batch);
        let answer = ask(connection, &batch);
        if answer.lost.is_some() {
            return false;
        }
        if !answer.is_good() {
            self.ledger.fail(format!("{}: {batch}: {}", self.who, answer.failure()));
            return false;
        }
        self.ledger.acknowledge(&self.who);
        let mut own = own.lock();
        own.under_way = None;
        match under_way {
            UnderWay::Create => own.rows = Some(BTreeSet::new()),
            UnderWay::Drop => own.rows = None,
            UnderWay::Row(v) => own.rows.iter_mut().for_each(|rows| {
                rows.insert(v);
            }),
        }
        true
    }

    /// False when the server is gone.
    fn work_on_shared(&mut self) -> bool {
        if self.shared.is_none() {
            self.shared = Connection::open(self.target).ok();
        }
        let Some(connection) = &mut self.shared else {
            return false;
        };
        let shared = self.random.below(SHARED.len() as u64) as usize;
        let name = SHARED[shared];
        let n = self.promises.next.fetch_add(1, Ordering::Relaxed);
        let (batch, kind) = draw_batch(&mut self.random, name, n);
        let open_restores = &self.promises.open_restores[shared];
        if kind == Kind::Restore {
            open_restores.fetch_add(1, Ordering::Relaxed);
        }
        self.ledger.note(&self.who, &batch);
        let answer = ask(connection, &batch);
        let numbers = answer.numbers();
        let may_be_interrupted = kind == Kind::Recover && open_restores.load(Ordering::Relaxed) > 0;
        let is_wrong =
            |number: &&i32| NEVER.contains(number) || (**number == RESTORE_INTERRUPTED && !may_be_interrupted);
        if let Some(wrong) = numbers.iter().find(is_wrong) {
            self.ledger
                .fail(format!("{}: {batch}: {wrong}: {}", self.who, answer.failure()));
            return false;
        }
        if kind == Kind::Restore && (answer.is_good() || numbers.first() == Some(&NO_EXCLUSIVE_ACCESS)) {
            open_restores.fetch_sub(1, Ordering::Relaxed);
        }
        if !answer.is_good() {
            self.ledger.note(&self.who, &format!("refused: {}", answer.failure()));
        }
        if answer.lost.is_some() {
            self.shared = None;
            return true;
        }
        if answer.is_good() {
            self.ledger.acknowledge(&self.who);
            self.keep(&answer, n, kind);
        }
        true
    }

    fn keep(&self, answer: &Answer, n: u64, kind: Kind) {
        let Some(fork) = fork_of(&answer.rows) else { return };
        let mut lives = self.promises.lives.lock();
        let life = lives.entry(fork).or_default();
        match kind {
            Kind::AddFile => drop(life.files.insert(file_name(n))),
            Kind::Row => drop(life.rows.insert(n)),
            _ => {}
        }
    }
}

/// What a batch on a shared name is about, as far as its answer is judged by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// RESTORE from the media.
    Restore,
    /// RESTORE WITH RECOVERY alone.
    Recover,
    AddFile,
    Row,
    Other,
}

/// The `n`-th file that is added.
fn file_name(n: u64) -> String {
    format!("f{n}")
}

/// Draws a batch on a shared name.
fn draw_batch(random: &mut Random, name: &str, n: u64) -> (String, Kind) {
    let restore = format!(
        "use master restore database {name} from disk = '{MEDIA}' with replace, move 'o' to '{name}.mdf', move 'o_log' to '{name}.ldf'"
    );
    match random.below(16) {
        0 => (format!("use master drop database {name}"), Kind::Other),
        1 => {
            let create = format!(
                "use master create database {name} on (name = o, filename = '{name}.mdf', size = 2MB) \
                 log on (name = o_log, filename = '{name}.ldf', size = 1MB) exec('use {name} create table r (v bigint not null)')"
            );
            (create, Kind::Other)
        }
        2 => (restore, Kind::Restore),
        3 => (format!("{restore}, norecovery"), Kind::Restore),
        4 => (
            format!("use master restore database {name} with recovery"),
            Kind::Recover,
        ),
        5 | 6 => {
            let offline = format!("use master alter database {name} set offline with rollback immediate");
            (offline, Kind::Other)
        }
        7..=9 => (format!("use master alter database {name} set online"), Kind::Other),
        10 => {
            let modify = format!(
                "use master alter database {name} modify file (name = o, maxsize = {}MB)",
                20 + n % 50
            );
            (modify, Kind::Other)
        }
        11 | 12 => {
            let file = file_name(n);
            let add = format!(
                "use {name} alter database {name} add file (name = {file}, filename = '{name}_{file}.ndf', size = 512KB) {FORK}"
            );
            (add, Kind::AddFile)
        }
        _ => (format!("use {name} insert r values ({n}) {FORK}"), Kind::Row),
    }
}

fn fork_of(rows: &[Vec<Option<String>>]) -> Option<String> {
    rows.first()?.first()?.clone()
}

/// Compares everything and settles what was under way.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(
    promises: &Promises,
    states: &BTreeMap<String, String>,
    connection: &mut Connection,
) -> Result<(), String> {
    for (index, own) in promises.own.iter().enumerate() {
        check_own(&format!("own_{index}"), &mut own.lock(), states, connection)?;
    }
    let mut alive = BTreeMap::new();
    for name in SHARED {
        match states.get(name).map(String::as_str) {
            None => continue,
            Some("ONLINE") => {}
            Some("OFFLINE") => {
                rows(connection, &format!("alter database {name} set online"))?;
            }
            Some("RESTORING") => {
                rows(connection, &format!("drop database {name}"))?;
                continue;
            }
            Some(state) => return Err(format!("{name} is {state}")),
        }
        let fork = fork_of(&rows(connection, &format!("use {name} {FORK}"))?).ok_or("a database without a fork")?;
        let mut lives = promises.lives.lock();
        let life = lives.remove(&fork).unwrap_or_default();
        let files: BTreeSet<String> = texts(connection, "select name from sys.database_files")?;
        if !life.files.is_subset(&files) {
            return Err(format!("{name}: files {:?} are gone", life.files.difference(&files)));
        }
        if !life.rows.is_empty() {
            let found = numbers(connection, "select v from r")?;
            if !life.rows.is_subset(&found) {
                return Err(format!("{name}: rows {:?} are gone", life.rows.difference(&found)));
            }
        }
        rows(
            connection,
            &format!("use master dbcc checkdb ('{name}') with no_infomsgs"),
        )?;
        alive.insert(fork, life);
    }
    *promises.lives.lock() = alive;
    Ok(())
}

fn check_own(
    name: &str,
    own: &mut Own,
    states: &BTreeMap<String, String>,
    connection: &mut Connection,
) -> Result<(), String> {
    let under_way = own.under_way.take();
    let settled = own.rows.take();
    match (states.get(name).map(String::as_str), &settled, under_way) {
        (None, None, _) | (None, Some(_), Some(UnderWay::Drop)) => return Ok(()),
        (Some("ONLINE"), Some(_), _) => {}
        (Some("ONLINE"), None, Some(UnderWay::Create)) => {
            // Its table may not have been made.
            return rows(connection, &format!("use master drop database {name}")).map(|_| ());
        }
        (state, settled, under_way) => {
            return Err(format!(
                "{name} is {state:?}; acknowledged: {settled:?}, under way: {under_way:?}"
            ));
        }
    }
    let settled = settled.unwrap_or_default();
    let found = numbers(connection, &format!("use {name} select v from r"))?;
    rows(connection, "use master")?;
    let may_be = |v: &u64| under_way == Some(UnderWay::Row(*v));
    let wrong: Vec<&u64> = settled.symmetric_difference(&found).filter(|v| !may_be(v)).collect();
    if !wrong.is_empty() {
        return Err(format!("{name}: rows {wrong:?} of {settled:?} are gone or too many"));
    }
    own.rows = Some(found);
    Ok(())
}

fn texts(connection: &mut Connection, query: &str) -> Result<BTreeSet<String>, String> {
    let rows = rows(connection, query)?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

fn numbers(connection: &mut Connection, query: &str) -> Result<BTreeSet<u64>, String> {
    let texts = texts(connection, query)?.into_iter();
    texts
        .map(|text| text.parse().map_err(|_| format!("{text:?} is no number")))
        .collect()
}
