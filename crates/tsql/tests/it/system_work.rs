//! Work of the system inside a user's transaction waits for no transaction: neither for that user's own locks, were they
//! thousands, nor behind a session that waits for them.
//!
//! A transaction of one session made 5,000 changes of the catalog and then inserted a row with an identity value. Its 5,000 row locks became one of
//! the whole catalog; the value was to be promised there by a transaction of the system's, with locks of its own; and the thread that waited was
//! the only one that could have given the lock back. LOCK_TIMEOUT, ATTENTION and KILL did not end it.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use engine::catalog::ObjectDefinition;
use engine::database::SystemWork;
use engine::instance::Instance;
use engine::lock::{ESCALATION_THRESHOLD, LockOwner, Mode, Resource};
use engine::seams::SystemClock;
use transcript::{Transcript, instance_with, session};

/// Far longer than anything here takes on a machine that is busy: who has not come back by then waits forever.
const FOR_EVER: Duration = Duration::from_secs(300);

/// A session with a thread of its own. The thread is left behind when it does not come back.
struct Actor {
    requests: Sender<String>,
    answers: Receiver<String>,
    instance: Arc<Instance>,
    id: u16,
    lock_owner: u64,
    cancel: Arc<AtomicBool>,
}

impl Actor {
    fn new(instance: &Arc<Instance>) -> Actor {
        let (requests, asked) = channel::<String>();
        let (answered, answers) = channel();
        let (told, known) = channel();
        let instance = instance.clone();
        let of_thread = instance.clone();
        std::thread::spawn(move || {
            let mut session = session(&of_thread);
            let sessions = of_thread.sessions();
            let own = sessions.iter().find(|other| other.id == session.id()).unwrap();
            told.send((own.id, own.lock_owner, session.cancel_flag())).unwrap();
            for batch in asked {
                let mut transcript = Transcript::default();
                let outcome = session.execute(&batch, &mut transcript);
                // Nobody listens any more when the test has failed.
                if answered.send(format!("{}{outcome:?}", transcript.text)).is_err() {
                    return;
                }
            }
        });
        let (id, lock_owner, cancel) = known.recv().unwrap();
        Actor {
            requests,
            answers,
            instance,
            id,
            lock_owner,
            cancel,
        }
    }

    fn begin(&self, batch: &str) {
        self.requests.send(batch.to_owned()).unwrap();
    }

    fn answer(&self, batch: &str) -> String {
        let came = self.answers.recv_timeout(FOR_EVER);
        came.unwrap_or_else(|_| panic!("waits without end: {batch}"))
    }

    /// Begins a batch, which waits for a lock when this returns.
    fn waits(&self, batch: &str) {
        self.begin(batch);
        let waits = || {
            let rows = self.instance.locks.rows();
            rows.iter().any(|row| row.owner == self.lock_owner && !row.granted)
        };
        while !waits() {
            assert!(self.answers.try_recv().is_err(), "does not wait: {batch}");
            std::thread::yield_now();
        }
    }

    fn run(&self, batch: &str) -> String {
        self.begin(batch);
        self.answer(batch)
    }

    /// Runs a batch to its end, without an error.
    fn succeeds(&self, batch: &str) {
        let answer = self.run(batch);
        let is_error = |line: &str| line.trim_start().starts_with("Msg ") && !line.contains("Level 10");
        assert!(!answer.lines().any(is_error), "{batch}: {answer}");
        assert!(answer.ends_with("Completed"), "{batch}: {answer}");
    }

    /// The only value of the only row.
    fn value(&self, query: &str) -> String {
        let answer = self.run(query);
        let mut lines = answer.lines().skip_while(|line| !line.starts_with("  ["));
        let line = lines.nth(1).unwrap_or_else(|| panic!("{query}: {answer}"));
        line.trim().to_owned()
    }
}

/// Locks of catalog rows that a session holds in a database.
fn catalog_locks_of(actor: &Actor, database: &str) -> usize {
    let database = actor.instance.database(database).unwrap();
    let catalog = database.catalog_object_id();
    let is_its =
        |resource: &Resource| matches!(resource, Resource::Row(id, unit, _) if *id == database.id && *unit == catalog);
    let rows = actor.instance.locks.rows();
    rows.iter()
        .filter(|row| row.owner == actor.lock_owner && row.granted && is_its(&row.resource))
        .count()
}

/// The table of the story, and two with rows.
const TABLES: &str = "create table shelf (no int identity primary key, width int constraint wide check (width > 0)) \
                      create table source (n int) insert source values (1), (2), (3) \
                      create table few (a int) insert few values (7), (8) \
                      create table plain (a int) declare @i int = 0 while @i < 600 begin insert plain values (@i) set @i += 1 end";

/// 2,500 times NOCHECK and CHECK of a table's constraint: each a new version of its catalog row.
fn many_definitions(table: &str, constraint: &str) -> String {
    let turns = ESCALATION_THRESHOLD / 2;
    format!(
        "declare @turn int = 0 while @turn < {turns} begin alter table {table} nocheck constraint {constraint} \
         alter table {table} with check check constraint {constraint} set @turn += 1 end"
    )
}

/// An instance with database `d`, its tables, and a session that uses it.
fn begun() -> (Arc<Instance>, Actor) {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let owner = Actor::new(&instance);
    owner.succeeds("create database d");
    owner.succeeds(&format!("use d set nocount on {TABLES}"));
    (instance, owner)
}

/// The same, in a transaction that has locked more than 5,000 rows of the catalog.
fn with_many_locks() -> (Arc<Instance>, Actor) {
    let (instance, owner) = begun();
    owner.succeeds(&format!("begin transaction {}", many_definitions("shelf", "wide")));
    assert!(catalog_locks_of(&owner, "d") > ESCALATION_THRESHOLD as usize);
    (instance, owner)
}

/// A lock owner without a session.
fn lock_owner(instance: &Instance) -> LockOwner {
    let env = &instance.env;
    LockOwner::new(
        instance.locks.clone(),
        env.clock.clone(),
        env.waits.clone(),
        0,
        Arc::default(),
    )
}

#[test]
fn a_transaction_with_5000_locks_of_the_catalog_does_not_wait_for_itself() {
    let (instance, owner) = with_many_locks();
    for batch in [
        "insert shelf (width) values (1)",
        "insert shelf (width) select n from source",
        "set identity_insert shelf on insert shelf (no, width) values (5000, 1) set identity_insert shelf off",
        "save transaction s insert shelf (width) values (2) rollback transaction s insert shelf (width) values (3)",
        "dbcc checkident (shelf, reseed, 9000)",
        "dbcc checkident (shelf)",
        "insert shelf (width) values (4)",
        "alter table few add id int identity (5, 5)",
        "insert few (a) values (9)",
        "create table #t (id int identity, a int) insert #t values (1)",
        "select n, count(*) from source cross join plain where n > 1 group by n",
    ] {
        owner.succeeds(batch);
    }
    assert_eq!(owner.value("select max(no) from shelf"), "9001");
    assert_eq!(owner.value("select sum(id) from few"), "30");
    // Others go on beside it, by what is not locked.
    let other = Actor::new(&instance);
    other.succeeds("use d create table beside (id int identity, a int) insert beside values (1) drop table beside");
    assert_eq!(other.value("select cast(ident_current('shelf') as int)"), "9001");
    let column = "select cast(last_value as int) from sys.identity_columns where object_id = object_id('shelf')";
    assert_eq!(other.value(column), "9001");
    owner.succeeds("rollback");
    assert_eq!(owner.value("select count(*) from shelf"), "0");
    assert_eq!(
        owner.value("insert shelf (width) values (1) select cast(scope_identity() as int)"),
        "9002"
    );
    owner.succeeds("dbcc checkdb (d) with no_infomsgs");
}

/// Met by fixtures of applications that make all their tables in one transaction; here more than 5,000 of them, and as many temporary ones: the
/// catalog of tempdb is everybody's.
#[test]
fn a_transaction_that_makes_thousands_of_tables_goes_on_and_keeps_nobody_out() {
    for (database, prefix) in [("d", "t"), ("tempdb", "#t")] {
        let (instance, owner) = begun();
        let tables = ESCALATION_THRESHOLD + 100;
        owner.succeeds(&format!(
            "create table {prefix} (id int identity, a int) begin transaction \
             declare @i int = 0, @text nvarchar(max) while @i < {tables} begin set @text = N'' \
             while len(@text) < 60000 and @i < {tables} begin \
             set @text += N'create table {prefix}' + cast(@i as nvarchar(10)) + N' (id int identity, a int) ' set @i += 1 end \
             exec (@text) end"
        ));
        if database == "d" {
            assert!(catalog_locks_of(&owner, database) > ESCALATION_THRESHOLD as usize);
        }
        owner.succeeds(&format!("insert {prefix} values (1)"));
        let other = Actor::new(&instance);
        other.succeeds(&format!(
            "use d create table {prefix}other (id int identity, a int) insert {prefix}other values (1)"
        ));
        owner.succeeds("rollback");
    }
}

/// A check of the database queued behind a transaction that had changed the catalog, and the promise of that transaction's own insert behind the check.
#[test]
fn a_promise_does_not_queue_behind_a_check_that_waits_for_its_transaction() {
    let (instance, owner) = begun();
    let checker = Actor::new(&instance);
    owner
        .succeeds("begin transaction exec sp_addextendedproperty 'why', 'because', 'SCHEMA', 'dbo', 'TABLE', 'source'");
    let check = "dbcc checkdb (d) with no_infomsgs";
    checker.waits(check);
    for batch in [
        "dbcc checkident (shelf, reseed, 40)",
        "dbcc checkident (shelf)",
        "select count(*) from plain where a > 7",
    ] {
        owner.succeeds(batch);
    }
    // What the optimizer makes by itself is stored too, while the check waits.
    let made = "select count(*) from sys.stats where object_id = object_id('plain')";
    assert_eq!(owner.value(made), "1");
    owner.succeeds("commit");
    assert_eq!(checker.answer(check), "Completed");
    owner.succeeds("insert shelf (width) values (1)");
    assert_eq!(owner.value("select no from shelf"), "40");
}

/// A check that has all its locks keeps promises out, and waits for no one. A session that waits for it gives up as for
/// any lock.
#[test]
fn a_wait_for_a_check_ends_by_time_out_attention_and_kill() {
    let (instance, owner) = begun();
    let check = lock_owner(&instance);
    let database = instance.database("d").unwrap();
    check.lock(database.system_work_lock(), Mode::S).unwrap();
    let insert = "insert shelf (width) values (1)";
    let answer = owner.run(&format!("set lock_timeout 50 {insert}"));
    assert!(answer.contains("Msg 1222"), "{answer}");
    owner.succeeds("set lock_timeout -1");
    let (stopped, killed) = (Actor::new(&instance), Actor::new(&instance));
    for actor in [&stopped, &killed] {
        actor.succeeds("use d");
        actor.waits(insert);
    }
    // It is shown what they wait for; the current value can be asked for meanwhile.
    let waits = "select count(*) from sys.dm_exec_requests where wait_type = 'LCK_M_SIX' and session_id > 50";
    assert_eq!(owner.value(waits), "2");
    assert_eq!(owner.value("select cast(ident_current('shelf') as int)"), "1");
    stopped.cancel.store(true, Ordering::Relaxed);
    let answer = stopped.answer(insert);
    assert!(answer.ends_with("Cancelled"), "{answer}");
    owner.succeeds(&format!("kill {}", killed.id));
    assert!(killed.answer(insert).ends_with("Disconnected"));
    drop(check);
    stopped.cancel.store(false, Ordering::Relaxed);
    stopped.succeeds(insert);
    assert_eq!(owner.value("select count(*) from shelf"), "1");
}

/// Each kind of work of the module's table, done in the middle of a transaction that holds thousands of locks of the catalog, where it is such work,
/// or by others beside that transaction; with and without checks that wait for it.
#[test]
fn every_kind_of_work_is_done_beside_a_transaction_with_many_locks_and_a_check_that_waits() {
    for checked in [&[][..], &["d", "master"]] {
        let (instance, owner) = with_many_locks();
        // Tables of users may be in master, too.
        owner.succeeds(&format!(
            "create table master.dbo.m (a int constraint positive check (a > 0)) {}",
            many_definitions("master.dbo.m", "positive")
        ));
        assert!(catalog_locks_of(&owner, "master") > ESCALATION_THRESHOLD as usize);
        let check = |database: &str| format!("dbcc checkdb ({database}) with no_infomsgs");
        let checkers = checked.iter().map(|database| {
            let checker = Actor::new(&instance);
            checker.waits(&check(database));
            (checker, check(database))
        });
        let checkers: Vec<_> = checkers.collect();
        for work in SystemWork::ALL {
            exercise(work, &owner, &instance);
        }
        owner.succeeds("rollback");
        for (checker, check) in checkers {
            assert_eq!(checker.answer(&check), "Completed");
        }
    }
}

fn exercise(work: SystemWork, owner: &Actor, instance: &Arc<Instance>) {
    match work {
        SystemWork::IdentityPromise => {
            owner.succeeds("insert shelf (width) values (1)");
            assert_eq!(owner.value("select count(*) from shelf"), "1");
        }
        SystemWork::SequencePromise => {
            owner.succeeds("create sequence numbers as int start with 5");
            assert_eq!(owner.value("select next value for numbers"), "5");
        }
        SystemWork::Statistics => {
            owner.succeeds("select count(*) from plain where a > 7");
            let made = "select count(*) from sys.stats where object_id = object_id('plain') and auto_created = 1";
            assert_eq!(owner.value(made), "1");
        }
        // Another database is closed cleanly beside it.
        SystemWork::Modifications => {
            let other = Actor::new(instance);
            for batch in [
                "create database closed",
                "use closed create table t (a int) declare @i int = 0 while @i < 600 begin insert t values (@i) set @i += 1 end",
                "select count(*) from t where a > 1",
                "insert t values (3)",
                "use master alter database closed set offline",
                "alter database closed set online",
                "use closed",
            ] {
                other.succeeds(batch);
            }
            let counted = "select cast(modification_counter as int) from sys.stats s \
                           cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) where s.object_id = object_id('t')";
            assert_eq!(other.value(counted), "1");
            other.succeeds("use master drop database closed");
        }
        SystemWork::ConstraintIds => has_constraints_given_ids(instance),
        SystemWork::MasterRows => {
            let other = Actor::new(instance);
            for batch in [
                "create database beside",
                "alter database beside set offline",
                "drop database beside",
            ] {
                other.succeeds(batch);
            }
        }
        SystemWork::LogGrowth => {
            Actor::new(instance).succeeds("alter database d modify file (name = d_log, size = 200MB)");
        }
    }
}

/// A database is opened that has a constraint without an id, as those of format 2 have.
fn has_constraints_given_ids(instance: &Arc<Instance>) {
    let other = Actor::new(instance);
    other.succeeds("create database older");
    other.succeeds("use older create table t (a int constraint positive check (a > 0))");
    other.succeeds("use master");
    {
        let database = instance.database("older").unwrap();
        let object = database.catalog.find("dbo", "t", 0).unwrap();
        let ObjectDefinition::Table(mut table) = object.definition.clone() else {
            panic!("a table")
        };
        table.constraint_ids_mut().for_each(|id| *id = 0);
        let mut session = instance.open_session().unwrap();
        let (id, owner) = (session.id, database.clone());
        session.begin();
        let without = ObjectDefinition::Table(table);
        session
            .write(&database, |ctx| owner.catalog.replace(ctx, id, &object, without))
            .unwrap();
        session.commit().unwrap();
        drop(session);
        instance.close_session(id);
    }
    other.succeeds("alter database older set offline");
    other.succeeds("alter database older set online");
    let database = instance.database("older").unwrap();
    let object = database.catalog.find("dbo", "t", 0).unwrap();
    let ObjectDefinition::Table(mut table) = object.definition.clone() else {
        panic!("a table")
    };
    assert!(table.constraint_ids_mut().all(|id| *id != 0));
    drop((database, object));
    other.succeeds("drop database older");
}

/// A transaction whose end failed leaves its locks. A clean stop does not wait for them: numbers that were promised are skipped, as after a crash.
#[test]
fn a_clean_stop_does_not_wait_for_locks_that_were_left() {
    for is_turn_left in [false, true] {
        let (instance, owner) = begun();
        owner.succeeds("insert shelf (width) values (1)");
        owner.succeeds("select count(*) from plain where a > 7");
        owner.succeeds("insert plain values (1) use master");
        let database = instance.database("d").unwrap();
        let (id, catalog) = (database.id, database.catalog_object_id());
        let left = lock_owner(&instance);
        left.lock(Resource::Object(id, catalog), Mode::X).unwrap();
        if is_turn_left {
            left.lock(database.system_work_lock(), Mode::X).unwrap();
        }
        // Rows of the catalog, wherever they are.
        for (page, slot) in (0..64u64).flat_map(|page| (0..64u64).map(move |slot| (page, slot))) {
            let row = Resource::Row(id, catalog, 1 << 48 | page << 16 | slot);
            left.lock(row, Mode::X).unwrap();
        }
        drop(database);
        let (ended, end) = channel();
        std::thread::spawn(move || _ = ended.send(instance.shutdown(false)));
        end.recv_timeout(FOR_EVER).expect("the stop waits without end").unwrap();
        drop(left);
    }
}
