//! Readers of row versions run concurrently with writers that move keys, delete, insert, roll back, are cancelled and disconnect. By every
//! access path (heap, tree, covering entries, or entries and rows) a reader sees one consistent state, and a snapshot always sees the same
//! one.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use engine::instance::Instance;
use engine::seams::SystemClock;
use engine::types::Value;
use transcript::{instance_with, session};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, Session, SinkClosed};

const WRITERS: u64 = 3;
const READERS: u64 = 2;
const ACCOUNTS: u64 = 40;
const TOTAL: i64 = 4_000;

/// The numbers of the last row, and the first error.
#[derive(Default)]
struct Answer {
    row: Vec<i64>,
    error: Option<i32>,
}

impl ResultSink for Answer {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.row = row.iter().map(|value| value.as_i64().unwrap()).collect();
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

fn ask(session: &mut Session, batch: &str) -> Result<Vec<i64>, i32> {
    let mut answer = Answer::default();
    session.execute(batch, &mut answer);
    answer.error.map_or(Ok(answer.row), Err)
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

const TABLES: &str = "create table accounts (id int primary key, slot int, balance int, text varchar(3000), \
                          index by_slot (slot), index by_slot_covering (slot, id) include (balance)) \
                      create table twin (id int, slot int, balance int, text varchar(3000), \
                          index by_slot (slot), index by_slot_covering (slot, id) include (balance)) \
                      insert accounts select value, value, 100, replicate('x', value) from generate_series(1, 40) \
                      insert twin select * from accounts";

/// Every way to the rows in one statement: sums and counts of each table, whole, by entries, and by entries and rows.
const LOOK: &str = "select (select sum(balance) from accounts), (select sum(balance) from twin), \
    (select sum(balance) from accounts with (index(by_slot_covering)) where slot >= 0), \
    (select sum(balance) from twin with (index(by_slot_covering)) where slot >= 0), \
    (select sum(balance + 0 * len(text)) from accounts with (index(by_slot)) where slot >= 0), \
    (select sum(balance + 0 * len(text)) from twin with (index(by_slot)) where slot >= 0), \
    (select sum(balance) from accounts where id > 0), \
    (select count(*) from accounts), (select count(*) from twin), \
    (select count(*) from twin with (index(by_slot)) where slot >= 0), \
    (select count(*) from accounts a join twin t on t.id = a.id and t.balance = a.balance and t.slot = a.slot)";

fn judge(row: &[i64]) {
    let (sums, counts) = row.split_at(7);
    assert!(sums.iter().all(|sum| *sum == TOTAL), "{row:?}");
    assert!(counts.iter().all(|count| *count == ACCOUNTS as i64), "{row:?}");
}

/// One transaction, the same on both tables; the error that ended it.
fn transaction(session: &mut Session, random: &mut Random) -> Result<(), i32> {
    let level = ["read committed", "snapshot", "repeatable read"][random.below(3) as usize];
    ask(
        session,
        &format!("set transaction isolation level {level} begin transaction"),
    )?;
    for _ in 0..1 + random.below(3) {
        let (from, to) = (1 + random.below(ACCOUNTS), 1 + random.below(ACCOUNTS));
        let (slot, length) = (random.below(1_000), 1 + random.below(2_500));
        for table in ["accounts", "twin"] {
            let batch = match random_kind(from, to) {
                0 => format!(
                    "update {table} set balance = balance - 1 where id = {from} update {table} set balance = balance + 1 where id = {to}"
                ),
                1 => format!("update {table} set slot = {slot} where id = {from}"),
                2 => format!(
                    "update {table} set text = replicate('y', {length}), slot = slot + 1 where id in ({from}, {to})"
                ),
                _ => format!(
                    "declare @b int select @b = balance from {table} with (updlock) where id = {from} delete {table} where id = {from} \
                     insert {table} values ({from}, {slot}, @b, replicate('z', {length}))"
                ),
            };
            ask(session, &batch)?;
        }
    }
    let end = if random.below(5) == 0 { "rollback" } else { "commit" };
    ask(session, end).map(|_| ())
}

/// The same for both tables of one step.
fn random_kind(from: u64, to: u64) -> u64 {
    (from * 7 + to) % 4
}

/// Rolls back what a cancelled request has left open, however often it is cancelled meanwhile.
fn give_up(session: &mut Session) {
    loop {
        session.cancel_flag().store(false, Ordering::SeqCst);
        match ask(session, "if @@trancount > 0 rollback") {
            Err(3617) => {}
            outcome => return drop(outcome.unwrap()),
        }
    }
}

/// By which writers are cancelled in the middle of anything.
type CancelFlags = [Mutex<Option<Arc<AtomicBool>>>];

/// Who fails ends the run for all, so that nobody works on for ever.
struct EndsWithMe<'l>(&'l AtomicU64);

impl Drop for EndsWithMe<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(0, Ordering::SeqCst);
        }
    }
}

fn write(instance: &Arc<Instance>, seed: u64, left: &AtomicU64, flag: &Mutex<Option<Arc<AtomicBool>>>) {
    let _ends_with_me = EndsWithMe(left);
    let mut random = Random(seed);
    let mut own = in_database(instance);
    *flag.lock().unwrap() = Some(own.cancel_flag());
    while left
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
        .is_ok()
    {
        match transaction(&mut own, &mut random) {
            // The victim of a deadlock, a conflict: rolled back. Cancelled: what is open is the session's to roll back.
            Ok(()) | Err(1205 | 3960) => {}
            Err(3617) => give_up(&mut own),
            Err(other) => panic!("a writer met {other}"),
        }
        if random.below(12) == 0 {
            // A session that goes with its transaction open: rolled back like one that is killed.
            let level = "set transaction isolation level read committed begin transaction";
            let _ = ask(
                &mut own,
                &format!("{level} update accounts set balance = 0, slot = 5 where id < 5 delete twin where id < 5"),
            );
            own = in_database(instance);
            *flag.lock().unwrap() = Some(own.cancel_flag());
        }
    }
}

/// Cancels one writer after the other, whatever it is doing.
fn cancel(flags: &CancelFlags, left: &AtomicU64) {
    for flag in flags.iter().cycle() {
        let now = left.load(Ordering::SeqCst);
        if now == 0 {
            return;
        }
        if let Some(flag) = &*flag.lock().unwrap() {
            flag.store(true, Ordering::SeqCst);
        }
        // The next one when some transactions more have begun.
        while left.load(Ordering::SeqCst) > now.saturating_sub(7) && left.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
    }
}

fn in_database(instance: &Arc<Instance>) -> Session {
    let mut own = session(instance);
    ask(&mut own, "use d set nocount on").unwrap();
    own
}

fn read(instance: &Arc<Instance>, left: &AtomicU64, looks: &AtomicU64) {
    let _ends_with_me = EndsWithMe(left);
    let mut own = in_database(instance);
    while left.load(Ordering::SeqCst) > 0 {
        ask(&mut own, "set transaction isolation level read committed").unwrap();
        judge(&ask(&mut own, LOOK).unwrap());
        ask(&mut own, "set transaction isolation level snapshot begin transaction").unwrap();
        let state = "select cast(checksum_agg(checksum(id, slot, balance, text)) as int) from twin";
        let first = ask(&mut own, state).unwrap();
        judge(&ask(&mut own, LOOK).unwrap());
        instance.run_due_checkpoints();
        assert_eq!(ask(&mut own, state).unwrap(), first, "a snapshot stays what it is");
        ask(&mut own, "commit").unwrap();
        looks.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn every_way_to_the_rows_finds_one_state_beside_writers() {
    let depth = workbench::depth("transactions beside readers by versions", 250, 20_000);
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut owner = session(&instance);
    ask(&mut owner, "create database d").unwrap();
    ask(&mut owner, "alter database d set read_committed_snapshot on").unwrap();
    ask(&mut owner, "alter database d set allow_snapshot_isolation on").unwrap();
    ask(&mut owner, &format!("use d {TABLES}")).unwrap();
    let (left, looks) = (AtomicU64::new(depth.units), AtomicU64::new(0));
    let flags: Vec<Mutex<Option<Arc<AtomicBool>>>> = (0..WRITERS).map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        for (seed, flag) in (1..).zip(&flags) {
            let (instance, left) = (&instance, &left);
            scope.spawn(move || write(instance, seed * 7_919, left, flag));
        }
        let (flags, left_now) = (&flags, &left);
        scope.spawn(move || cancel(flags, left_now));
        for _ in 0..READERS {
            let (instance, left, looks) = (&instance, &left, &looks);
            scope.spawn(move || read(instance, left, looks));
        }
    });
    judge(&ask(&mut owner, LOOK).unwrap());
    assert_eq!(ask(&mut owner, "dbcc checkdb (d) with no_infomsgs"), Ok(Vec::new()));
    instance.versions.clean_all();
    assert_eq!(instance.versions.bytes(), 0, "nobody wants a version any more");
    println!("{} transactions, {} looks", depth.units, looks.load(Ordering::SeqCst));
    assert!(looks.load(Ordering::SeqCst) > 0);
    depth.count();
}
