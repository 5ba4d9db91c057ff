//! Table hints and isolation levels: which locks a statement takes, how long it keeps them, and what others may do
//! meanwhile.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::instance::Instance;
use engine::seams::SystemClock;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    let outcome = session.execute(batch, &mut transcript);
    format!("{}{outcome:?}", transcript.text)
}

fn two_sessions() -> (Arc<Instance>, Session, Session) {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut one, mut other) = (session(&instance), session(&instance));
    run(
        &mut one,
        "set nocount on create table t (a int not null primary key, b int) insert t values (1, 10), (2, 20), (3, 30)",
    );
    run(&mut other, "set nocount on set lock_timeout 0");
    (instance, one, other)
}

/// The modes that the first session holds on the table and on rows, as `table/rows`.
fn held(watcher: &mut Session, id: u16) -> String {
    let query = |kind: &str| {
        format!(
            "select max(request_mode) from sys.dm_tran_locks where resource_type in ({kind}) and request_session_id = {id}"
        )
    };
    let mut shown = Vec::new();
    for kind in ["'OBJECT'", "'RID', 'KEY'"] {
        let answer = run(watcher, &query(kind));
        let mode = answer.lines().nth(1).unwrap().trim().to_owned();
        shown.push(if mode == "NULL" { "-".to_owned() } else { mode });
    }
    shown.join("/")
}

/// What another session may still do: read under READ COMMITTED, read a row for update, insert, read without locks.
fn allowed(other: &mut Session) -> String {
    let probes = [
        ("read", "select count(*) from t"),
        (
            "updlock",
            "begin tran select b from t with (updlock) where a = 3 rollback",
        ),
        ("insert", "begin tran insert t values (9, 9) rollback"),
        ("dirty", "select count(*) from t with (nolock)"),
    ];
    let mut can = Vec::new();
    for (name, probe) in probes {
        if !run(other, probe).contains("Msg 1222") {
            can.push(name);
        }
        run(other, "if @@trancount > 0 rollback");
    }
    can.join(" ")
}

/// Hint, locks after SELECT of one row, what others may do then.
const OF_SELECT: [(&str, &str, &str); 22] = [
    // READ COMMITTED keeps nothing behind the statement, not even the intent ("Sams Teach Yourself Transact-SQL", chapter 12: the lock of the
    // database is all that is left).
    ("readcommitted", "-/-", "read updlock insert dirty"),
    ("readcommittedlock", "-/-", "read updlock insert dirty"),
    ("rowlock", "-/-", "read updlock insert dirty"),
    ("nolock", "-/-", "read updlock insert dirty"),
    ("readuncommitted", "-/-", "read updlock insert dirty"),
    ("readpast", "-/-", "read updlock insert dirty"),
    ("nowait", "-/-", "read updlock insert dirty"),
    ("repeatableread", "IS/S", "read updlock insert dirty"),
    ("updlock", "IX/U", "read updlock insert dirty"),
    ("xlock", "IX/X", "updlock insert dirty"),
    ("updlock, readpast, rowlock", "IX/U", "read updlock insert dirty"),
    ("holdlock", "IS/S", "read updlock insert dirty"),
    ("serializable", "IS/S", "read updlock insert dirty"),
    ("updlock, holdlock", "IX/U", "read updlock insert dirty"),
    ("xlock, holdlock", "IX/X", "updlock insert dirty"),
    ("tablock", "-/-", "read updlock insert dirty"),
    ("tablock, repeatableread", "S/-", "read dirty"),
    ("tablock, holdlock", "S/-", "read dirty"),
    ("tablock, updlock", "X/-", "dirty"),
    ("tablock, xlock", "X/-", "dirty"),
    ("tablockx", "X/-", "dirty"),
    ("tablockx, holdlock", "X/-", "dirty"),
];

/// Every hint on a SELECT, an UPDATE and an INSERT: the locks held after the statement, inside of its transaction.
#[test]
fn hints_take_the_locks_they_name_and_keep_them_to_the_end() {
    let (_instance, mut one, mut other) = two_sessions();
    let id = one.id();
    for (hint, locks, others) in OF_SELECT {
        let statement = format!("begin tran select b from t with ({hint}) where a = 1");
        assert!(run(&mut one, &statement).ends_with("Completed"), "{hint}");
        assert_eq!(held(&mut other, id), locks, "{hint}");
        let mut can = allowed(&mut other);
        if hint.starts_with("xlock") {
            // Rows that nobody has changed lately are read without a lock, as by SQL Server.
            can = can.replace("read ", "");
        }
        assert_eq!(can, others, "{hint}");
        run(&mut one, "rollback");
        assert_eq!(held(&mut other, id), "-/-", "{hint} after the end");
    }
    let changes = [
        ("rowlock", "IX/X"),
        ("updlock", "IX/X"),
        ("xlock", "IX/X"),
        ("repeatableread", "IX/X"),
        ("readcommitted", "IX/X"),
        ("readpast", "IX/X"),
        ("nowait", "IX/X"),
        ("holdlock", "IX/X"),
        ("serializable", "IX/X"),
        ("tablock", "X/-"),
        ("tablockx", "X/-"),
    ];
    for (hint, locks) in changes {
        for statement in [
            format!("update t with ({hint}) set b = 11 where a = 1"),
            format!("update x set b = 11 from t x with ({hint}) where a = 1"),
            format!("update t with ({hint}) set b = 11 from t where a = 1"),
            format!("delete t with ({hint}) where a = 1"),
            format!("insert t with ({hint}) values (7, 7)"),
        ] {
            if statement.starts_with("insert") && hint == "readpast" {
                continue;
            }
            assert!(
                run(&mut one, &format!("begin tran {statement}")).ends_with("Completed"),
                "{statement}"
            );
            assert_eq!(held(&mut other, id), locks, "{statement}");
            run(&mut one, "rollback");
        }
    }
}

/// The isolation levels of the session, and hints that stand before them.
#[test]
fn levels_hold_what_they_promise_and_hints_stand_before_them() {
    let (_instance, mut one, mut other) = two_sessions();
    let id = one.id();
    let levels = [
        ("read uncommitted", "", "-/-"),
        ("read committed", "", "-/-"),
        ("repeatable read", "", "IS/S"),
        ("serializable", "", "IS/S"),
        ("serializable", "with (nolock)", "-/-"),
        ("serializable", "with (readcommitted)", "-/-"),
        ("serializable", "with (repeatableread)", "IS/S"),
        ("serializable", "with (updlock)", "IX/U"),
        ("repeatable read", "with (holdlock)", "IS/S"),
        ("repeatable read", "with (tablock)", "S/-"),
        ("read uncommitted", "with (readcommitted)", "-/-"),
        ("read uncommitted", "with (updlock)", "IX/U"),
    ];
    for (level, hint, locks) in levels {
        let batch = format!("set transaction isolation level {level} begin tran select b from t {hint} where a = 1");
        assert!(run(&mut one, &batch).ends_with("Completed"), "{batch}");
        assert_eq!(held(&mut other, id), locks, "{batch}");
        run(&mut one, "rollback");
    }
    // SNAPSHOT: a level that can be set, and a database that does not allow it. master, where all of this is, does.
    run(
        &mut one,
        "create database own use own create table t (a int, b int) insert t values (1, 10), (2, 20), (3, 30)",
    );
    let answer = run(
        &mut one,
        "set transaction isolation level snapshot select 1 select * from t select 2",
    );
    assert!(answer.contains("Msg 3952, Level 16"), "{answer}");
    assert!(!answer.contains("\n  2\n"), "the batch is over: {answer}");
    let writes = [
        "insert t values (8, 8)",
        "delete t",
        "update t set b = 0",
        "select * into u from t",
    ];
    for statement in writes {
        assert!(run(&mut one, statement).contains("Msg 3952"), "{statement}");
    }
    let own = run(
        &mut one,
        "create table #p (a int) insert #p values (5) select a from #p",
    );
    assert!(own.contains("\n  5\n") && own.ends_with("Completed"), "{own}");
    assert!(run(&mut one, "select count(*) from t with (nolock)").contains("\n  3\n"));
}

/// Workers that take one row each from a queue, none twice and none waiting.
#[test]
fn readpast_takes_what_nobody_else_has() {
    let (instance, mut one, mut other) = two_sessions();
    let mut third = session(&instance);
    run(&mut third, "set nocount on set lock_timeout 0");
    for kind in ["", "create index by_b on t (b)"] {
        run(&mut one, kind);
        for (place, worker) in [&mut one, &mut other, &mut third].into_iter().enumerate() {
            let take = "begin tran delete top (1) t with (readpast) output deleted.a where b > 0";
            let answer = run(worker, take);
            assert!(answer.contains(&format!("\n  {}\n", place + 1)), "{place}: {answer}");
        }
        let nothing = run(&mut third, "select a from t with (readpast)");
        assert!(!nothing.contains("  1\n") && !nothing.contains("  2\n"), "{nothing}");
        let blocked = run(&mut third, "select a from t");
        assert!(blocked.contains("Msg 1222"), "{blocked}");
        for worker in [&mut one, &mut other, &mut third] {
            run(worker, "rollback");
        }
        assert!(run(&mut one, "select count(*) from t").contains("\n  3\n"));
    }
    // What others have inserted, changed or locked is passed by; what is one's own is not.
    run(
        &mut one,
        "begin tran insert t values (4, 40) update t set b = 11 where a = 1",
    );
    let seen = run(&mut other, "select a from t with (readpast) order by a");
    assert!(
        seen.contains("  2\n  3\n") && !seen.contains("  1\n") && !seen.contains("  4\n"),
        "{seen}"
    );
    let own = run(&mut one, "select count(*) from t with (readpast)");
    assert!(own.contains("\n  4\n"), "{own}");
    run(&mut one, "rollback");
    let levels = ["read uncommitted", "serializable"];
    for level in levels {
        let batch = format!("set transaction isolation level {level} select * from t with (readpast)");
        assert!(run(&mut other, &batch).contains("Msg 650, Level 16"), "{level}");
    }
}

#[test]
fn nowait_waits_for_nobody_and_for_its_own_table_only() {
    let (_instance, mut one, mut other) = two_sessions();
    run(&mut other, "set lock_timeout -1");
    run(&mut one, "begin tran update t set b = 0 where a = 1");
    for statement in [
        "select * from t with (nowait)",
        "select * from t with (nowait, tablock)",
        "update t with (nowait) set b = 1",
        "delete t with (nowait)",
        "insert t with (nowait, tablockx) values (5, 5)",
    ] {
        assert!(run(&mut other, statement).contains("Msg 1222"), "{statement}");
    }
    assert!(run(&mut other, "select @@lock_timeout").contains("\n  -1\n"));
    run(&mut one, "rollback");
}

/// Hints that contradict each other, stand where they mean nothing, or ask for what there is not.
#[test]
fn what_a_hint_cannot_do_is_refused_by_name() {
    let (_instance, mut one, _other) = two_sessions();
    run(&mut one, "create index by_b on t (b)");
    run(&mut one, "create view v as select a, b from t");
    let refused = [
        ("select * from t with (nolock, holdlock)", "Msg 1047, Level 15"),
        ("select * from t with (nolock, updlock)", "Msg 1047, Level 15"),
        ("select * from t with (readuncommitted, xlock)", "Msg 1047, Level 15"),
        ("select * from t with (nolock, tablockx)", "Msg 1047, Level 15"),
        ("select * from t with (nolock, readpast)", "Msg 1047, Level 15"),
        ("select * from t with (tablock, rowlock)", "Msg 1047, Level 15"),
        (
            "select * from t with (repeatableread, serializable)",
            "Msg 1047, Level 15",
        ),
        ("select * from v with (nolock, holdlock)", "Msg 1047, Level 15"),
        ("update t with (nolock) set b = 1", "Msg 1065, Level 15"),
        ("delete t with (readuncommitted)", "Msg 1065, Level 15"),
        ("insert t with (nolock) values (5, 5)", "Msg 1065, Level 15"),
        ("update t with (index(by_b)) set b = 1", "Msg 1069, Level 16"),
        ("delete t with (forceseek)", "Msg 1069, Level 16"),
        ("insert t with (readpast) values (5, 5)", "Msg 8171, Level 16"),
        ("insert t with (keepidentity) values (5, 5)", "Msg 8171, Level 16"),
        ("select * from t with (noexpand)", "Msg 8171, Level 16"),
        ("select * from t with (index(nope))", "Msg 308, Level 16"),
        ("select * from t with (index(7))", "Msg 307, Level 16"),
        ("select * from t with (forceseek)", "Msg 8622, Level 16"),
        (
            "select * from t with (forceseek, forcescan) where a = 1",
            "Msg 8622, Level 16",
        ),
        ("select * from t with (paglock)", "Msg 40517"),
        ("select * from t with (snapshot)", "Msg 40517"),
        ("select * from t with (fastfirstrow)", "Msg 321, Level 15"),
        ("select * from t option (table hint(t, nolock))", "Msg 40517"),
        ("select * from t option (banana)", "Msg 102, Level 15"),
        ("select * from t option (maxrecursion 40000)", "Msg 310, Level 15"),
        ("update t set b = 1 option (banana)", "Msg 102, Level 15"),
        ("delete t option (banana)", "Msg 102, Level 15"),
        ("insert t values (6, 6) option (banana)", "Msg 102, Level 15"),
    ];
    for (statement, message) in refused {
        let answer = run(&mut one, statement);
        assert!(answer.contains(message), "{statement}: {answer}");
    }
    let same = [
        "select a from t with (index(by_b)) where b = 20",
        "select a from t with (index = by_b) where b > 10 and b < 30",
        "select a from t with (index(1)) where b = 20",
        "select a from t with (index(0)) where a = 2",
        "select a from t with (forceseek) where b > 15 and b < 25",
        "select a from t with (forcescan) where a = 2",
        "select a from v with (tablock) where a = 2",
        "select a from t where a = 2 option (recompile, maxdop 1, loop join, use hint('DISABLE_OPTIMIZED_NESTED_LOOP'))",
    ];
    for statement in same {
        let answer = run(&mut one, statement);
        assert!(
            answer.contains("\n  2\n") && !answer.contains("\n  3\n"),
            "{statement}: {answer}"
        );
    }
    assert!(
        run(&mut one, "select count(*) from t").contains("\n  3\n"),
        "nothing was changed"
    );
}

/// Hints at a view or a common table expression are hints at the tables below.
#[test]
fn hints_reach_through_views_and_common_table_expressions() {
    let (_instance, mut one, mut other) = two_sessions();
    run(&mut one, "create view v as select a, b from t");
    let id = one.id();
    for statement in [
        "select b from v with (holdlock) where a = 9",
        "with c as (select a, b from t) select b from c with (holdlock) where a = 9",
        "with c as (select a, b from v) select b from c with (serializable) where a = 9",
    ] {
        run(&mut one, "begin tran");
        assert!(run(&mut one, statement).ends_with("Completed"), "{statement}");
        assert_eq!(held(&mut other, id), "IS/RangeS-S", "{statement}");
        run(&mut one, "rollback");
    }
}
