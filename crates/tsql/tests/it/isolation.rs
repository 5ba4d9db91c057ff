//! Random transactions of four sessions at READ UNCOMMITTED, READ COMMITTED, REPEATABLE READ, SERIALIZABLE, SNAPSHOT and mixed levels, by locks and by
//! versions, on few rows. What they saw is judged by the graph of their dependencies (Adya, "Weak Consistency: A Generalized Theory and Optimistic
//! Implementations for Distributed Transactions", 1999). With mixed levels a dependency counts if the level of the
//! transaction that suffers by it rules it out.
//!
//! ```text
//! kept        id, list                 an UPDATE appends a number of its own to the list: a list shows all versions before it
//! registers   id, value                an UPDATE writes a number of its own, and its OUTPUT tells the one that it replaces: the chain back from the
//!                                      last one is every version, in order
//! members     id, team, ...            an INSERT adds a number of its own to a team; a query for a team is a read of a predicate
//!
//! ww    the next version of a row is another's          wr    what one wrote, another reads
//! rw    what one has read, another gives its next version, or adds to (rw of a predicate)
//!
//! G0    a circle of ww, or a write over   all levels        G1a   a read of what was rolled back           READ COMMITTED
//!       what was not committed
//! G1c   a circle of ww and wr             READ COMMITTED    G1b   a read of what its writer wrote over     READ COMMITTED
//! G2-item  a circle with rw of rows: lost updates, reads that do not repeat     REPEATABLE READ
//! G2       a circle with rw of predicates: phantoms, write skew                 SERIALIZABLE
//! G-single a circle with one rw, of rows or predicates: lost updates, reads of different states      SNAPSHOT
//! ```
//! SNAPSHOT, and READ COMMITTED by versions, run in a database that keeps versions of rows, alone and mixed with levels that go by locks.
//! Some histories go on over power cuts: what was answered as committed is there, and what was under way shows nothing that its level excludes.
//!
//! Depth: 40 transactions a session at each level; 20 histories of levels that go by locks, 12 of those that go by versions, 8 over three power
//! cuts each; deep: 400 by locks, 400 by versions, 1,000 over power cuts. Forty times that depth is 5,000 histories of each level over power cuts.
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
const REGISTERS: u32 = 3;

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
    /// A register, the number written, and the one it replaces; 0 is what a register has at first.
    Write(u32, u32, u32),
    ReadRegister(u32, u32),
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
            Act::Append(_, number) | Act::Add(number) | Act::Write(_, number, _) => Some(*number),
            Act::Read(..) | Act::ReadTeam(..) | Act::ReadRegister(..) => None,
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
    match random.below(8) {
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
        5 => {
            let replaced = ask(
                session,
                &format!(
                    "update registers set value = {number} output cast(deleted.value as varchar(9)) where id = {row}"
                ),
            )?;
            let replaced = replaced.first().ok_or(NO_ANSWER)?;
            Ok(Act::Write(row, number, replaced.parse().unwrap()))
        }
        6 => {
            let values = ask(
                session,
                &format!("select cast(value as varchar(9)) from registers where id = {row}"),
            )?;
            Ok(Act::ReadRegister(
                row,
                values.first().ok_or(NO_ANSWER)?.parse().unwrap(),
            ))
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
    /// All versions of each register that lead to its last one, in order, without the first.
    registers: Vec<Vec<u32>>,
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
         create table registers (id int not null primary key, value int not null)
         create table members {members}
         insert kept values (0, ''), (1, ''), (2, '') insert registers values (0, 0), (1, 0), (2, 0)"
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
    let last = (0..REGISTERS).map(|row| {
        let value = read(format!(
            "select cast(value as varchar(9)) from registers where id = {row}"
        ));
        value[0].parse().unwrap()
    });
    let last: Vec<u32> = last.collect();
    let registers: Vec<Vec<u32>> = last.into_iter().map(|last| chain_to(last, &transactions)).collect();
    let is_there = |number: u32| {
        let ordered = lists.iter().chain(&registers);
        ordered
            .flatten()
            .chain(teams.iter().flatten())
            .any(|each| *each == number)
    };
    for transaction in &mut transactions {
        transaction.is_committed |= transaction.is_unanswered && transaction.written().any(is_there);
    }
    History {
        transactions,
        lists,
        teams,
        registers,
    }
}

/// The versions of a register up to its last one: each tells which it replaced. A number that nobody wrote down ends the chain.
fn chain_to(last: u32, transactions: &[Transaction]) -> Vec<u32> {
    let acts = transactions.iter().flat_map(|transaction| &transaction.acts);
    let replaced: BTreeMap<u32, u32> = acts
        .filter_map(|act| match act {
            Act::Write(_, number, replaced) => Some((*number, *replaced)),
            _ => None,
        })
        .collect();
    let back = std::iter::successors(Some(last), |number| replaced.get(number).copied());
    let mut chain: Vec<u32> = back.take_while(|number| *number != 0).collect();
    chain.reverse();
    chain
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
    /// The last number that a transaction appended to a row, or wrote to a register, which are counted behind the rows.
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
            if let Act::Append(_, number) | Act::Add(number) | Act::Write(_, number, _) = act {
                judge.writers.insert(*number, place);
            }
            match act {
                Act::Append(row, number) => drop(judge.last.insert((place, *row), *number)),
                Act::Write(row, number, _) => drop(judge.last.insert((place, ROWS + *row), *number)),
                Act::Add(_) | Act::Read(..) | Act::ReadTeam(..) | Act::ReadRegister(..) => {}
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
    if judge.is_behind_what_it_has_not_seen() {
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
        for list in history.lists.iter().chain(&history.registers) {
            for pair in list.windows(2) {
                if let [Some(from), Some(to)] = [self.writers.get(&pair[0]), self.writers.get(&pair[1])] {
                    self.edge(*from, *to, Edge::WriteWrite);
                }
            }
        }
        self.judge_replaced();
        let ordered = history.lists.iter().chain(&history.registers);
        let there = ordered.flatten().chain(history.teams.iter().flatten());
        let there: BTreeSet<u32> = there.copied().collect();
        let committed = self.writers.iter().filter(|(_, writer)| self.is_committed(**writer));
        let committed: BTreeSet<u32> = committed.map(|(number, _)| *number).collect();
        if there != committed {
            self.found.insert("lost or undead writes");
        }
    }

    /// What is committed was written over its transaction's own, or over what was committed.
    fn judge_replaced(&mut self) {
        let history = self.history;
        let transactions = history.transactions.iter().enumerate();
        for (place, transaction) in transactions.filter(|(_, transaction)| transaction.is_committed) {
            for act in &transaction.acts {
                let Act::Write(_, _, replaced) = act else { continue };
                let is_known = |writer: &usize| *writer == place || self.is_committed(*writer);
                if *replaced != 0 && !self.writers.get(replaced).is_some_and(is_known) {
                    self.found.insert("G0");
                }
            }
        }
    }

    /// READ UNCOMMITTED promises nothing of what is read.
    fn judge_reads(&mut self, place: usize) {
        let history = self.history;
        let transaction = &history.transactions[place];
        if !transaction.is_committed || transaction.level == Level::Uncommitted {
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
                Act::ReadRegister(row, value) => self.judge_register(place, *row, *value),
                Act::Append(..) | Act::Add(..) | Act::Write(..) => {}
            }
        }
    }

    fn judge_register(&mut self, place: usize, row: u32, value: u32) {
        if value != 0 {
            self.judge_seen(place, value);
        }
        let writer = self.writers.get(&value).copied();
        if let Some(writer) = writer
            && writer != place
            && self.last.get(&(writer, ROWS + row)) != Some(&value)
        {
            self.found.insert("G1b");
        }
        let history = self.history;
        let chain = &history.registers[row as usize];
        let next = match value {
            0 => chain.first(),
            _ => match chain.iter().position(|number| *number == value) {
                Some(position) => chain.get(position + 1),
                None => {
                    // Only a read of what was rolled back explains it, or a version that went.
                    self.found.insert("G1a");
                    None
                }
            },
        };
        if let Some(next) = next {
            self.judge_next(place, *next);
        }
    }

    /// What was read has this next version.
    fn judge_next(&mut self, place: usize, next: u32) {
        let Some(writer) = self.writers.get(&next).copied() else {
            return;
        };
        match self.history.transactions[place].level {
            Level::Snapshot => self.not_seen(place, writer),
            level if level >= Level::Repeatable => self.edge(place, writer, Edge::ReadWrite),
            _ => {}
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
        if let Some(next) = all.get(others.len()) {
            self.judge_next(place, *next);
        }
    }

    fn not_seen(&mut self, reader: usize, writer: usize) {
        if reader != writer && self.is_committed(writer) {
            self.unseen.insert((reader, writer));
        }
    }

    /// Whether a transaction that was not seen leads, by ww and wr, to one that has not seen it.
    fn is_behind_what_it_has_not_seen(&self) -> bool {
        let count = self.history.transactions.len();
        let (mut next, mut readers) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (from, to, _) in self.edges.iter().filter(|(_, _, edge)| *edge <= Edge::WriteRead) {
            next[*from].push(*to);
        }
        for (reader, writer) in &self.unseen {
            readers[*writer].push(*reader);
        }
        // One walk for all that have not seen the same one: most transactions are reached from most.
        (0..count).filter(|writer| !readers[*writer].is_empty()).any(|writer| {
            let (mut is_reached, mut open) = (vec![false; count], vec![writer]);
            while let Some(place) = open.pop() {
                if !std::mem::replace(&mut is_reached[place], true) {
                    open.extend(&next[place]);
                }
            }
            readers[writer].iter().any(|reader| is_reached[*reader])
        })
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

const UNCOMMITTED: Mixture = &[(Level::Uncommitted, Level::Uncommitted)];
const COMMITTED: Mixture = &[(Level::Committed, Level::Committed)];
const REPEATABLE: Mixture = &[(Level::Repeatable, Level::Repeatable)];
const SERIALIZABLE: Mixture = &[(Level::Serializable, Level::Serializable)];
const SNAPSHOT: Mixture = &[(Level::Snapshot, Level::Snapshot)];
const MIXED_BY_LOCKS: Mixture = &[
    (Level::Uncommitted, Level::Uncommitted),
    (Level::Committed, Level::Committed),
    (Level::Repeatable, Level::Repeatable),
    (Level::Serializable, Level::Serializable),
];
const MIXED: Mixture = &[
    (Level::Snapshot, Level::Snapshot),
    (Level::Committed, Level::Committed),
    (Level::Uncommitted, Level::Uncommitted),
    (Level::Repeatable, Level::Repeatable),
    (Level::Serializable, Level::Serializable),
];

/// What histories had in them, all together.
#[derive(Default)]
struct Tally {
    committed: u64,
    unanswered: u64,
    versions: u64,
    /// Versions of registers among them.
    values: u64,
}

impl Tally {
    /// Judges a history and counts it.
    fn take(&mut self, history: &History, seed: u64, levels: Mixture) {
        let found = judge(history);
        assert!(
            found.is_empty(),
            "{found:?} in history {seed} of {levels:?}: {:?} {:?} {:?}",
            history.transactions,
            history.lists,
            history.registers
        );
        let count = |is: fn(&Transaction) -> bool| history.transactions.iter().filter(|each| is(each)).count() as u64;
        self.committed += count(|transaction| transaction.is_committed);
        self.unanswered += count(|transaction| transaction.is_unanswered);
        let versions = |all: &[Vec<u32>]| all.iter().map(Vec::len).sum::<usize>() as u64;
        self.values += versions(&history.registers);
        self.versions += versions(&history.lists) + versions(&history.registers);
    }
}

/// The mixtures go round with the seeds, which start at 1.
fn of_its_turn<T: Copy>(mixtures: &[T], seed: u64) -> T {
    mixtures[(seed - 1) as usize % mixtures.len()]
}

#[test]
fn no_history_shows_what_its_levels_exclude() {
    let runs = [UNCOMMITTED, COMMITTED, REPEATABLE, SERIALIZABLE, MIXED_BY_LOCKS];
    let mut tally = Tally::default();
    let depth = workbench::depth("histories by locks", 20, 400);
    for seed in depth.seeds() {
        let levels = of_its_turn(&runs, seed);
        tally.take(&run(seed, seed % 4 < 2, levels), seed, levels);
    }
    assert!(
        tally.committed > 60 * depth.units && tally.versions > 30 * depth.units && tally.values > 8 * depth.units,
        "{} transactions, {} versions, {} of registers",
        tally.committed,
        tally.versions,
        tally.values
    );
    depth.count();
}

#[test]
fn no_history_by_versions_shows_what_its_levels_exclude() {
    const TWO: Mixture = MIXED.split_at(2).0;
    let depth = workbench::depth("histories by versions", 12, 400);
    let runs = [SNAPSHOT, COMMITTED, TWO, MIXED];
    let mut tally = Tally::default();
    for seed in depth.seeds() {
        let levels = of_its_turn(&runs, seed);
        let history = run_in(seed, seed % 8 < 4, levels, BY_VERSIONS);
        tally.take(&history, seed, levels);
    }
    assert!(
        tally.committed > 50 * depth.units && tally.versions > 10 * depth.units && tally.values > depth.units,
        "{} transactions, {} versions, {} of registers",
        tally.committed,
        tally.versions,
        tally.values
    );
    depth.count();
}

/// What a crash takes from a history is what was not answered yet, whole transactions of it, at every level.
#[test]
fn no_history_over_power_cuts_shows_what_its_levels_exclude() {
    let runs = [
        ("READ UNCOMMITTED", UNCOMMITTED, ""),
        ("READ COMMITTED by locks", COMMITTED, ""),
        ("READ COMMITTED by versions", COMMITTED, BY_VERSIONS),
        ("REPEATABLE READ", REPEATABLE, ""),
        ("SERIALIZABLE", SERIALIZABLE, ""),
        ("SNAPSHOT", SNAPSHOT, BY_VERSIONS),
        ("mixed, by locks", MIXED_BY_LOCKS, ""),
        ("mixed, by versions", MIXED, BY_VERSIONS),
    ];
    let depth = workbench::depth("histories over power cuts", 8, 1_000);
    let mut tallies: [(u64, Tally); 8] = Default::default();
    for seed in depth.seeds() {
        let (_, levels, options) = of_its_turn(&runs, seed);
        let (histories, tally) = &mut tallies[(seed - 1) as usize % runs.len()];
        let history = run_over_cuts(seed, seed % 16 < 8, levels, options, 3);
        tally.take(&history, seed, levels);
        *histories += 1;
    }
    for ((name, ..), (histories, tally)) in runs.iter().zip(&tallies) {
        println!(
            "{name}: {histories} histories over 3 power cuts each, {} transactions committed, {} unanswered, {} versions, {} of them of registers",
            tally.committed, tally.unanswered, tally.versions, tally.values
        );
    }
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(|(_, tally)| of(tally)).sum::<u64>();
    let (committed, unanswered) = (sum(|tally| tally.committed), sum(|tally| tally.unanswered));
    assert!(
        committed > 30 * depth.units && unanswered > depth.units && sum(|tally| tally.values) > depth.units,
        "{committed} transactions, {unanswered} unanswered"
    );
    depth.count();
}

/// The judge is strict: transactions that run at a level and are judged by the next one are found out, by each anomaly that the level allows.
#[test]
fn what_a_level_allows_is_found_when_it_is_judged_by_the_next() {
    use Level::{Committed, Repeatable, Serializable, Snapshot, Uncommitted};
    let expected: [(Mixture, &[&str], &str); 5] = [
        (&[(Uncommitted, Committed)], &["G1a", "G1b", "G1c"], ""),
        (&[(Committed, Repeatable)], &["G2-item"], ""),
        (&[(Repeatable, Serializable)], &["G2"], ""),
        (&[(Committed, Snapshot)], &["G-single"], BY_VERSIONS),
        (&[(Snapshot, Serializable)], &["G2-item", "G2"], BY_VERSIONS),
    ];
    for (levels, names, options) in expected {
        let mut missing: BTreeSet<&str> = names.iter().copied().collect();
        for seed in 1..200 {
            let found = judge(&run_in(seed, false, levels, options));
            for name in found.iter().filter(|name| missing.remove(**name)) {
                println!("{levels:?}: {name} in history {seed}");
            }
            if missing.is_empty() {
                break;
            }
        }
        assert!(missing.is_empty(), "{levels:?} show no {missing:?}");
    }
}

/// A write over what another transaction takes back is found out, and one that is gone, though it was committed.
#[test]
fn a_dirty_write_is_found_in_a_register() {
    let transaction = |is_committed, acts| Transaction {
        level: Level::Uncommitted,
        is_committed,
        is_unanswered: false,
        acts,
    };
    let history = |is_first_committed, replaced: u32, last: u32| {
        let transactions = vec![
            transaction(is_first_committed, vec![Act::Write(0, 1, 0)]),
            transaction(true, vec![Act::Write(0, 2, replaced)]),
        ];
        let registers = vec![chain_to(last, &transactions), Vec::new(), Vec::new()];
        History {
            transactions,
            lists: vec![Vec::new(); ROWS as usize],
            teams: vec![BTreeSet::new(); TEAMS as usize],
            registers,
        }
    };
    assert_eq!(judge(&history(true, 1, 2)), BTreeSet::new());
    assert_eq!(judge(&history(false, 0, 2)), BTreeSet::new());
    assert!(judge(&history(false, 1, 2)).contains("G0"));
    assert!(judge(&history(true, 0, 2)).contains("lost or undead writes"));
    assert!(judge(&history(true, 1, 1)).contains("lost or undead writes"));
}
