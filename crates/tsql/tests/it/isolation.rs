//! Random transactions of four sessions at READ COMMITTED, REPEATABLE READ, SERIALIZABLE, SNAPSHOT and mixed levels, by locks and by versions, on
//! few rows. What they saw is judged by the graph of their dependencies (Adya, "Weak Consistency: A Generalized Theory and Optimistic
//! Implementations for Distributed Transactions", 1999). With mixed levels a dependency counts if the level of the
//! transaction that suffers by it rules it out.
//!
//! ```text
//! kept        id, list                 an UPDATE appends a number of its own to the list: a list shows all versions before it
//! members     id, team, ...            an INSERT adds a number of its own to a team; a query for a team is a read of a predicate
//!
//! ww    the next version of a row is another's          wr    what one wrote, another reads
//! rw    what one has read, another gives its next version, or adds to (rw of a predicate)
//!
//! G0    a circle of ww                    all levels        G1a   a read of what was rolled back          all levels
//! G1c   a circle of ww and wr             all levels        G1b   a read of what its writer wrote over     all levels
//! G2-item  a circle with rw of rows: lost updates, reads that do not repeat     REPEATABLE READ
//! G2       a circle with rw of predicates: phantoms, write skew                 SERIALIZABLE
//! G-single a circle with one rw, of rows or predicates: lost updates, reads of different states      SNAPSHOT
//! ```
//! SNAPSHOT, and READ COMMITTED by versions, run in a database that keeps versions of rows, alone and mixed with levels that go by locks.
//! Some histories go on over power cuts: what was answered as committed is there, and what was under way shows nothing that its level excludes.
//!
//! Depth: 40 transactions a session at each level; 18 histories of levels that go by locks, 12 of those that go by versions, 6 over three power
//! cuts each; deep: 400 by locks, 400 by versions, 1,000 over power cuts.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use disk::sim::{CutPolicy, SimDisk};
use engine::seams::SystemClock;
use engine::types::Value;
use transcript::{instance_on, session};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, Session, SinkClosed};

const SESSIONS: u64 = 4;
const TRANSACTIONS_OF_A_SESSION: u32 = 40;
const ROWS: u32 = 3;
const TEAMS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Uncommitted,
    Committed,
    Repeatable,
    Serializable,
    Snapshot,
}

impl Level {
    fn words(self) -> &'static str {
        match self {
            Level::Uncommitted => "read uncommitted",
            Level::Committed => "read committed",
            Level::Repeatable => "repeatable read",
            Level::Serializable => "serializable",
            Level::Snapshot => "snapshot",
        }
    }
}

/// The levels that transactions run at, each with the level they are judged by.
type Mixture = &'static [(Level, Level)];

/// What a transaction did, with what it saw.
#[derive(Debug)]
enum Act {
    Append(u32, u32),
    Read(u32, Vec<u32>),
    Add(u32),
    ReadTeam(u32, BTreeSet<u32>),
}

#[derive(Debug)]
struct Transaction {
    /// What it is to be judged by.
    level: Level,
    is_committed: bool,
    /// The power was cut before its COMMIT was answered: what is there at the end tells whether it was made.
    is_unanswered: bool,
    acts: Vec<Act>,
}

impl Transaction {
    /// The numbers that it wrote.
    fn written(&self) -> impl Iterator<Item = u32> {
        self.acts.iter().filter_map(|act| match act {
            Act::Append(_, number) | Act::Add(number) => Some(*number),
            Act::Read(..) | Act::ReadTeam(..) => None,
        })
    }
}

/// Texts of the first column, and the first error.
#[derive(Default)]
struct Answer {
    texts: Vec<String>,
    error: Option<i32>,
}

impl ResultSink for Answer {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.texts.push(row[0].as_str().unwrap().to_owned());
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            self.error.get_or_insert(message.number);
        }
        Ok(())
    }
}

fn ask(session: &mut Session, batch: &str) -> Result<Vec<String>, i32> {
    let mut answer = Answer::default();
    session.execute(batch, &mut answer);
    answer.error.map_or(Ok(answer.texts), Err)
}

fn numbers(list: &str) -> Vec<u32> {
    let numbers = list.split(',').filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().unwrap()).collect()
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as u32 % limit
    }
}

/// No error, and no row.
const NO_ANSWER: i32 = 0;

/// One act on the server; the number of the error that ended the transaction. READ UNCOMMITTED alone sees members that pass.
fn act(session: &mut Session, runs_at: Level, random: &mut Random, number: u32) -> Result<Act, i32> {
    let (row, team) = (random.below(ROWS), random.below(TEAMS));
    match random.below(6) {
        0 | 1 => {
            ask(
                session,
                &format!("update kept set list = list + ',{number}' where id = {row}"),
            )?;
            Ok(Act::Append(row, number))
        }
        2 | 3 => {
            let lists = ask(session, &format!("select list from kept where id = {row}"))?;
            Ok(Act::Read(row, numbers(lists.first().ok_or(NO_ANSWER)?)))
        }
        4 => {
            // A member that comes and goes leaves what a deletion leaves.
            let passing = match random.below(3) {
                0 => format!("insert members values (-{number}, {team}) delete members where id = -{number}"),
                _ => String::new(),
            };
            ask(session, &format!("{passing} insert members values ({number}, {team})"))?;
            Ok(Act::Add(number))
        }
        _ => {
            let ids = ask(
                session,
                &format!("select cast(id as varchar(9)) from members where team = {team}"),
            )?;
            let is_seen = |id: &&String| runs_at != Level::Uncommitted || !id.starts_with('-');
            let ids = ids.iter().filter(is_seen);
            Ok(Act::ReadTeam(team, ids.map(|id| id.parse().unwrap()).collect()))
        }
    }
}

/// The transactions of one session, until the power is cut.
fn work(session: &mut Session, disk: &SimDisk, seed: u64, next: &AtomicU32, levels: Mixture) -> Vec<Transaction> {
    let mut random = Random(seed);
    let mut transactions = Vec::new();
    for _ in 0..TRANSACTIONS_OF_A_SESSION {
        let (runs_at, level) = levels[random.below(levels.len() as u32) as usize];
        let begin = format!("set transaction isolation level {} begin tran", runs_at.words());
        if let Err(error) = ask(session, &begin) {
            assert!(disk.power_is_cut(), "{error}");
            break;
        }
        let mut transaction = Transaction {
            level,
            is_committed: false,
            is_unanswered: false,
            acts: Vec::new(),
        };
        let mut is_over = false;
        for _ in 0..2 + random.below(3) {
            match act(session, runs_at, &mut random, next.fetch_add(1, Ordering::Relaxed)) {
                Ok(act) => transaction.acts.push(act),
                Err(error) => {
                    assert!(
                        error == 1205 || error == 3960 && runs_at == Level::Snapshot || disk.power_is_cut(),
                        "{error}: nothing but a deadlock, or a conflict under SNAPSHOT, may end a transaction"
                    );
                    is_over = true;
                    break;
                }
            }
            std::thread::yield_now();
        }
        if !is_over {
            let commits = random.below(8) > 0;
            let ended = ask(session, if commits { "commit" } else { "rollback" });
            transaction.is_committed = commits && ended.is_ok();
            transaction.is_unanswered = commits && ended.is_err();
            assert!(ended.is_ok() || disk.power_is_cut(), "{ended:?}");
        }
        transactions.push(transaction);
    }
    transactions
}

/// What a run left: its transactions and the lists and teams at the end.
struct History {
    transactions: Vec<Transaction>,
    lists: Vec<Vec<u32>>,
    teams: Vec<BTreeSet<u32>>,
}

/// Runs sessions at once; each transaction draws at which level it runs, and by which it is judged.
fn run(seed: u64, with_index: bool, levels: Mixture) -> History {
    run_in(seed, with_index, levels, "")
}

const BY_VERSIONS: &str =
    "alter database d set allow_snapshot_isolation on alter database d set read_committed_snapshot on";

/// The same in a database with these options.
fn run_in(seed: u64, with_index: bool, levels: Mixture, options: &str) -> History {
    run_over_cuts(seed, with_index, levels, options, 0)
}

/// The same, over so many power cuts: after each, the sessions of the next start go on with the rows that are there.
fn run_over_cuts(seed: u64, with_index: bool, levels: Mixture, options: &str, cuts: u64) -> History {
    const POLICIES: [CutPolicy; 3] = [CutPolicy::AllLost, CutPolicy::AllKept, CutPolicy::RandomSectors];
    let mut disk = SimDisk::new(7);
    let mut instance = instance_on(&disk, Arc::new(SystemClock::new()));
    make_tables(&mut session(&instance), seed, with_index, options);
    let next = Arc::new(AtomicU32::new(1));
    let mut random = Random(seed ^ 0x005e_ed0f_c075);
    let mut transactions = Vec::new();
    for life in 0..=cuts {
        if life < cuts {
            disk.power_cut_at(disk.operation_count() + 1 + u64::from(random.below(60)));
        }
        let sessions = (0..SESSIONS).map(|number| {
            let (instance, disk, next) = (instance.clone(), disk.clone(), next.clone());
            std::thread::spawn(move || {
                let mut session = session(&instance);
                match ask(&mut session, "use d") {
                    Ok(_) => work(&mut session, &disk, (seed + life) * 1_000 + number + 1, &next, levels),
                    Err(error) => {
                        assert!(disk.power_is_cut(), "{error}");
                        Vec::new()
                    }
                }
            })
        });
        let sessions: Vec<_> = sessions.collect();
        transactions.extend(sessions.into_iter().flat_map(|session| session.join().unwrap()));
        if life < cuts {
            assert!(disk.power_is_cut(), "the sessions outlast the power");
            drop(instance);
            disk = disk.after_power_cut(POLICIES[((seed + life) % 3) as usize], seed + life);
            instance = instance_on(&disk, Arc::new(SystemClock::new()));
        }
    }
    what_is_left(&mut session(&instance), transactions)
}

fn make_tables(first: &mut Session, seed: u64, with_index: bool, options: &str) {
    ask(first, "create database d").unwrap();
    ask(first, options).unwrap();
    ask(first, "use d").unwrap();
    // A heap is locked whole under SERIALIZABLE; of the others, ranges of the keys that are searched.
    let members = match (with_index, seed % 2) {
        (false, 0) => "(id int not null, team int not null)",
        (false, _) => "(id int not null primary key, team int not null)",
        (true, 0) => "(id int not null primary key nonclustered, team int not null, index by_team clustered (team))",
        (true, _) => "(id int not null primary key, team int not null, index by_team (team))",
    };
    let tables = format!(
        "create table kept (id int not null primary key, list varchar(8000) not null)
         create table members {members}
         insert kept values (0, ''), (1, ''), (2, '')"
    );
    ask(first, &tables).unwrap();
}

fn what_is_left(session: &mut Session, mut transactions: Vec<Transaction>) -> History {
    ask(session, "use d").unwrap();
    let mut read = |query: String| ask(session, &query).unwrap();
    let lists = (0..ROWS).map(|row| numbers(&read(format!("select list from kept where id = {row}"))[0]));
    let lists: Vec<Vec<u32>> = lists.collect();
    let teams = (0..TEAMS).map(|team| {
        let ids = read(format!(
            "select cast(id as varchar(9)) from members where team = {team}"
        ));
        ids.iter().map(|id| id.parse().unwrap()).collect()
    });
    let teams: Vec<BTreeSet<u32>> = teams.collect();
    let is_there = |number: u32| {
        lists.iter().any(|list| list.contains(&number)) || teams.iter().any(|team| team.contains(&number))
    };
    for transaction in &mut transactions {
        transaction.is_committed |= transaction.is_unanswered && transaction.written().any(is_there);
    }
    History {
        transactions,
        lists,
        teams,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    WriteWrite,
    WriteRead,
    ReadWrite,
    ReadWriteOfPredicate,
}

/// What a history shows that its levels exclude.
struct Judge<'h> {
    history: &'h History,
    /// The writer of each number, as a version of a row or as a member.
    writers: BTreeMap<u32, usize>,
    /// The last number that a transaction appended to a row.
    last: BTreeMap<(usize, u32), u32>,
    edges: BTreeSet<(usize, usize, Edge)>,
    /// What transactions under SNAPSHOT have not seen: rw, of rows and of predicates.
    unseen: BTreeSet<(usize, usize)>,
    found: BTreeSet<&'static str>,
}

fn judge(history: &History) -> BTreeSet<&'static str> {
    let mut judge = Judge {
        history,
        writers: BTreeMap::new(),
        last: BTreeMap::new(),
        edges: BTreeSet::new(),
        unseen: BTreeSet::new(),
        found: BTreeSet::new(),
    };
    for (place, transaction) in history.transactions.iter().enumerate() {
        for act in &transaction.acts {
            if let Act::Append(_, number) | Act::Add(number) = act {
                judge.writers.insert(*number, place);
            }
            if let Act::Append(row, number) = act {
                judge.last.insert((place, *row), *number);
            }
        }
    }
    judge.judge_writes();
    for place in 0..history.transactions.len() {
        judge.judge_reads(place);
    }
    let circles = [
        ("G0", Edge::WriteWrite),
        ("G1c", Edge::WriteRead),
        ("G2-item", Edge::ReadWrite),
        ("G2", Edge::ReadWriteOfPredicate),
    ];
    if let Some((name, _)) = circles.iter().find(|(_, last)| judge.has_circle(*last)) {
        judge.found.insert(name);
    }
    if judge
        .unseen
        .iter()
        .any(|(reader, writer)| judge.leads(*writer, *reader))
    {
        judge.found.insert("G-single");
    }
    judge.found
}

impl Judge<'_> {
    fn is_committed(&self, place: usize) -> bool {
        self.history.transactions[place].is_committed
    }

    fn edge(&mut self, from: usize, to: usize, edge: Edge) {
        if from != to && self.is_committed(from) && self.is_committed(to) {
            self.edges.insert((from, to, edge));
        }
    }

    /// What is there at the end is what was committed, all of it.
    fn judge_writes(&mut self) {
        let history = self.history;
        for list in &history.lists {
            for pair in list.windows(2) {
                self.edge(self.writers[&pair[0]], self.writers[&pair[1]], Edge::WriteWrite);
            }
        }
        let there = history.lists.iter().flatten().chain(history.teams.iter().flatten());
        let there: BTreeSet<u32> = there.copied().collect();
        let committed = self.writers.iter().filter(|(_, writer)| self.is_committed(**writer));
        let committed: BTreeSet<u32> = committed.map(|(number, _)| *number).collect();
        if there != committed {
            self.found.insert("lost or undead writes");
        }
    }

    fn judge_reads(&mut self, place: usize) {
        let history = self.history;
        let transaction = &history.transactions[place];
        if !transaction.is_committed {
            return;
        }
        for act in &transaction.acts {
            match act {
                Act::Read(row, list) => self.judge_list(place, *row, list),
                Act::ReadTeam(team, seen) => {
                    for number in seen {
                        self.judge_seen(place, *number);
                    }
                    for number in history.teams[*team as usize].difference(seen) {
                        if transaction.level == Level::Snapshot {
                            self.not_seen(place, self.writers[number]);
                        } else if transaction.level >= Level::Serializable {
                            self.edge(place, self.writers[number], Edge::ReadWriteOfPredicate);
                        }
                    }
                }
                Act::Append(..) | Act::Add(..) => {}
            }
        }
    }

    fn judge_seen(&mut self, place: usize, number: u32) {
        let writer = self.writers.get(&number).copied();
        match writer {
            Some(writer) if writer == place || self.is_committed(writer) => self.edge(writer, place, Edge::WriteRead),
            // A victim in the middle of it has written nothing down.
            _ => drop(self.found.insert("G1a")),
        }
    }

    fn judge_list(&mut self, place: usize, row: u32, list: &[u32]) {
        for number in list {
            self.judge_seen(place, *number);
        }
        let is_own = |number: &&u32| self.writers.get(number) == Some(&place);
        let others: Vec<u32> = list.iter().filter(|number| !is_own(number)).copied().collect();
        let all: Vec<u32> = self.history.lists[row as usize].clone();
        let all: Vec<u32> = all.iter().filter(|number| !is_own(number)).copied().collect();
        if let Some(number) = others.last()
            && let Some(writer) = self.writers.get(number)
            && self.last.get(&(*writer, row)) != Some(number)
        {
            self.found.insert("G1b");
        }
        if !all.starts_with(&others) {
            // Only a read of what was rolled back explains it, or a version that went.
            self.found.insert("G1a");
            return;
        }
        let Some(next) = all.get(others.len()) else { return };
        match self.history.transactions[place].level {
            Level::Snapshot => self.not_seen(place, self.writers[next]),
            level if level >= Level::Repeatable => self.edge(place, self.writers[next], Edge::ReadWrite),
            _ => {}
        }
    }

    fn not_seen(&mut self, reader: usize, writer: usize) {
        if reader != writer && self.is_committed(writer) {
            self.unseen.insert((reader, writer));
        }
    }

    /// Whether one transaction leads to another by ww and wr.
    fn leads(&self, from: usize, to: usize) -> bool {
        let (mut open, mut met) = (vec![from], BTreeSet::new());
        while let Some(place) = open.pop() {
            if place == to {
                return true;
            }
            if !met.insert(place) {
                continue;
            }
            let next = self
                .edges
                .range((place, 0, Edge::WriteWrite)..(place + 1, 0, Edge::WriteWrite));
            let next = next.filter(|(_, _, edge)| *edge <= Edge::WriteRead);
            open.extend(next.map(|(_, next, _)| *next));
        }
        false
    }

    /// Whether there is a circle of edges up to this kind.
    fn has_circle(&self, last: Edge) -> bool {
        let count = self.history.transactions.len();
        let (mut next, mut into) = (vec![Vec::new(); count], vec![0; count]);
        for (from, to, _) in self.edges.iter().filter(|(_, _, edge)| *edge <= last) {
            next[*from].push(*to);
            into[*to] += 1;
        }
        // Nodes outside every cycle can be taken away, one after the other.
        let mut free: Vec<usize> = (0..count).filter(|place| into[*place] == 0).collect();
        let mut taken = 0;
        while let Some(place) = free.pop() {
            taken += 1;
            for to in &next[place] {
                into[*to] -= 1;
                if into[*to] == 0 {
                    free.push(*to);
                }
            }
        }
        taken < count
    }
}

#[test]
fn no_history_shows_what_its_levels_exclude() {
    use Level::{Committed, Repeatable, Serializable};
    const MIXED: &[(Level, Level)] = &[
        (Committed, Committed),
        (Repeatable, Repeatable),
        (Serializable, Serializable),
    ];
    const ALONE: [&[(Level, Level)]; 3] = [
        MIXED.split_at(1).0,
        MIXED.split_at(2).0.split_at(1).1,
        MIXED.split_at(2).1,
    ];
    let depth = workbench::depth("histories by locks", 18, 400);
    let (mut committed, mut edges) = (0, 0);
    for (seed, levels) in (1..=depth.units).zip(ALONE.into_iter().chain([MIXED; 3]).cycle()) {
        let history = run(seed, seed % 4 < 2, levels);
        let found = judge(&history);
        assert!(
            found.is_empty(),
            "{found:?} in {levels:?}: {:?} {:?}",
            history.transactions,
            history.lists
        );
        committed += history
            .transactions
            .iter()
            .filter(|transaction| transaction.is_committed)
            .count() as u64;
        edges += history.lists.iter().map(Vec::len).sum::<usize>() as u64;
    }
    assert!(
        committed > 60 * depth.units && edges > 30 * depth.units,
        "{committed} transactions, {edges} versions"
    );
    depth.count();
}

#[test]
fn no_history_by_versions_shows_what_its_levels_exclude() {
    use Level::{Committed, Repeatable, Serializable, Snapshot};
    const MIXED: &[(Level, Level)] = &[
        (Snapshot, Snapshot),
        (Committed, Committed),
        (Repeatable, Repeatable),
        (Serializable, Serializable),
    ];
    const ALONE: [&[(Level, Level)]; 2] = [MIXED.split_at(1).0, MIXED.split_at(2).0.split_at(1).1];
    let depth = workbench::depth("histories by versions", 12, 400);
    let (mut committed, mut edges) = (0, 0);
    let runs = ALONE.into_iter().chain([MIXED.split_at(2).0, MIXED]).cycle();
    for (seed, levels) in (1..=depth.units).zip(runs) {
        let history = run_in(seed, seed % 8 < 4, levels, BY_VERSIONS);
        let found = judge(&history);
        assert!(
            found.is_empty(),
            "{found:?} in {levels:?}: {:?} {:?}",
            history.transactions,
            history.lists
        );
        let transactions = history.transactions.iter();
        committed += transactions.filter(|transaction| transaction.is_committed).count() as u64;
        edges += history.lists.iter().map(Vec::len).sum::<usize>() as u64;
    }
    assert!(
        committed > 50 * depth.units && edges > 10 * depth.units,
        "{committed} transactions, {edges} versions"
    );
    depth.count();
}

/// What a crash takes from a history is what was not answered yet, whole transactions of it, at every level.
#[test]
fn no_history_over_power_cuts_shows_what_its_levels_exclude() {
    use Level::{Committed, Repeatable, Serializable, Snapshot};
    const BY_LOCKS: Mixture = &[
        (Committed, Committed),
        (Repeatable, Repeatable),
        (Serializable, Serializable),
    ];
    const MIXED: Mixture = &[
        (Snapshot, Snapshot),
        (Committed, Committed),
        (Repeatable, Repeatable),
        (Serializable, Serializable),
    ];
    let runs = [
        (BY_LOCKS.split_at(1).0, ""),
        (MIXED.split_at(1).0, BY_VERSIONS),
        (BY_LOCKS.split_at(2).0.split_at(1).1, ""),
        (MIXED.split_at(2).0, BY_VERSIONS),
        (BY_LOCKS.split_at(2).1, ""),
        (MIXED, BY_VERSIONS),
    ];
    let depth = workbench::depth("histories over power cuts", 6, 1_000);
    let (mut committed, mut unanswered) = (0, 0);
    for (seed, (levels, options)) in (1..=depth.units).zip(runs.into_iter().cycle()) {
        let history = run_over_cuts(seed, seed % 4 < 2, levels, options, 3);
        let found = judge(&history);
        assert!(
            found.is_empty(),
            "{found:?} in history {seed} of {levels:?}: {:?} {:?}",
            history.transactions,
            history.lists
        );
        let count = |is: fn(&Transaction) -> bool| history.transactions.iter().filter(|each| is(each)).count() as u64;
        committed += count(|transaction| transaction.is_committed);
        unanswered += count(|transaction| transaction.is_unanswered);
    }
    assert!(
        committed > 30 * depth.units && unanswered > depth.units,
        "{committed} transactions, {unanswered} unanswered"
    );
    depth.count();
}

/// The judge is strict: transactions that run at a level and are judged by the next one are found out.
#[test]
fn what_a_level_allows_is_found_when_it_is_judged_by_the_next() {
    use Level::{Committed, Repeatable, Serializable, Snapshot, Uncommitted};
    let expected: [(Mixture, &[&str]); 3] = [
        (&[(Uncommitted, Committed)], &["G1a", "G1b", "G1c"]),
        (&[(Committed, Repeatable)], &["G2-item"]),
        (&[(Repeatable, Serializable)], &["G2"]),
    ];
    let by_locks = expected.map(|(levels, names)| (levels, names, ""));
    let by_versions: [(Mixture, &[&str], &str); 2] = [
        (&[(Committed, Snapshot)], &["G-single"], BY_VERSIONS),
        (&[(Snapshot, Serializable)], &["G2-item", "G2"], BY_VERSIONS),
    ];
    for (levels, names, options) in by_locks.into_iter().chain(by_versions) {
        let found = (1..200).find_map(|seed| {
            let found = judge(&run_in(seed, false, levels, options));
            names
                .iter()
                .find(|name| found.contains(*name))
                .map(|name| (seed, *name))
        });
        println!("{levels:?}: {found:?}");
        assert!(found.is_some(), "{levels:?}");
    }
}
