//! INSERT ... SELECT from whole tables, on one thread and on several, against row by row: the same rows; errors and
//! cancellation leave nothing behind; power cuts; locks; waits are CXPACKET.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use disk::sim::{CutPolicy, SimDisk};
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::waits::{WaitStatistics, WaitType};
use transcript::{Transcript, session};
use tsql::session::{BatchOutcome, Session};
use vlf::ServerVersion;

/// An instance with background threads, where every scan is worth several threads.
fn start(disk: &SimDisk) -> Arc<Instance> {
    let clock = Arc::new(SystemClock::new());
    let env = Environment {
        disk: Arc::new(disk.clone()),
        clock: clock.clone(),
        background: Background::Threads,
        waits: Arc::new(WaitStatistics::new()),
        errorlog: Arc::new(ErrorLog::new(clock)),
        activity: Arc::default(),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "VLFLAB".to_owned(),
        version: ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 64 << 20,
        instant_file_initialization: true,
    };
    Instance::start(options, env).unwrap()
}

fn run(session: &mut Session, batch: &str) -> (String, BatchOutcome) {
    let mut transcript = Transcript::default();
    let outcome = session.execute(batch, &mut transcript);
    (transcript.text, outcome)
}

/// Runs a batch that must complete without an error.
fn must(session: &mut Session, batch: &str) -> String {
    let (text, outcome) = run(session, batch);
    let has_failed = text
        .lines()
        .any(|line| line.contains("Msg ") && !line.contains("Level 10"));
    assert!(outcome == BatchOutcome::Completed && !has_failed, "{batch}: {text}");
    text
}

/// The one number that a query answers.
fn number(session: &mut Session, query: &str) -> i64 {
    let text = must(session, &format!("set nocount on {query}"));
    let line = text.lines().nth(1).unwrap_or_else(|| panic!("{query}: {text}"));
    line.trim().parse().unwrap()
}

fn parallel_instance() -> (Arc<Instance>, Session) {
    let instance = start(&SimDisk::new(11));
    let mut session = session(&instance);
    must(&mut session, "sp_configure 'show advanced options', 1 reconfigure");
    must(
        &mut session,
        "sp_configure 'cost threshold for parallelism', 0 reconfigure",
    );
    must(&mut session, "create database b");
    (instance, session)
}

/// 3,000 rows of many types, with NULLs in every column that takes them, in a heap and in a tree.
fn with_source(session: &mut Session) {
    for (name, key) in [("heap", ""), ("tree", "primary key")] {
        must(
            session,
            &format!(
                "use b set nocount on create table {name} (k int identity(1,1) not null {key}, i int not null, b bigint null,
                   s smallint null, bt bit null, m money null, n decimal(12,3) null, f float null, c char(5) null,
                   v varchar(40) null, nv nvarchar(20) null, d date null, dt datetime not null, d2 datetime2(3) null,
                   vb varbinary(10) null, g uniqueidentifier null)
                 declare @i int = 0
                 begin tran
                 while @i < 3000 begin
                   set @i += 1
                   insert {name} (i, b, s, bt, m, n, f, c, v, nv, d, dt, d2, vb, g) values (@i,
                     nullif(@i % 7, 0), nullif(@i % 11, 0), nullif(@i % 3, 2), case when @i % 5 > 0 then @i * 1.5 end,
                     case when @i % 6 > 0 then @i / 8.0 end, case when @i % 9 > 0 then @i / 3e0 end,
                     case when @i % 4 > 0 then 'c' + left(@i, 2) end, case when @i % 10 > 0 then replicate('v', @i % 40) end,
                     case when @i % 13 > 0 then N'nv' + nchar(937) end, case when @i % 17 > 0 then '2001-02-03' end,
                     dateadd(minute, @i, '1999-12-31'), case when @i % 19 > 0 then '2020-01-01 10:11:12.345' end,
                     case when @i % 23 > 0 then 0x0102 end,
                     case when @i % 29 > 0 then '6F9619FF-8B86-D011-B42D-00C04FC964FF' end)
                 end
                 commit"
            ),
        );
    }
}

/// Select lists with the columns of the table they fill; the last column takes no part in comparisons when it is an identity.
const SHAPES: &[(&str, &str, &str)] = &[
    (
        "i int not null, b bigint null, s smallint null, bt bit null, m money null, n decimal(12,3) null, f float null,
         c char(5) null, v varchar(40) null, nv nvarchar(20) null, d date null, dt datetime not null, d2 datetime2(3) null,
         vb varbinary(10) null, g uniqueidentifier null",
        "i, b, s, bt, m, n, f, c, v, nv, d, dt, d2, vb, g",
        "",
    ),
    (
        "dt datetime not null, v varchar(40) null, i int not null, c char(5) null",
        "dt + @days, v, i * 2 + 1, c",
        "where i % 3 = 1 and m is not null",
    ),
    (
        "a bigint not null, b varchar(60) null, c decimal(20,5) null, d nvarchar(50) null, e int null, f varchar(9) null",
        "i, v, n, nv, null, 'constant'",
        "where v like 'vvv%' or b in (1, 2)",
    ),
    (
        "a int null, b money null, c varchar(40) null, d datetime null",
        "coalesce(s, i), case when m > 1000 then -m else m end, upper(v), dt",
        "where dt > '2000-01-01'",
    ),
    ("a int not null, b varchar(40) null", "i, v", "where 1 = 0"),
];

#[test]
fn every_shape_fills_the_same_rows_serial_parallel_and_row_by_row() {
    let (_instance, mut session) = parallel_instance();
    with_source(&mut session);
    for source in ["heap", "tree"] {
        for (place, (columns, list, condition)) in SHAPES.iter().enumerate() {
            let targets = [
                ("rows", ", check (1 = 1)", ""),
                ("serial", "", "option (maxdop 1)"),
                ("threads", "", ""),
                ("keyed", ", id int identity(5, 5) primary key", ""),
            ];
            for (name, more, hint) in targets {
                must(&mut session, &format!("use b create table {name} ({columns}{more})"));
                let words = columns.split(',').filter_map(|column| column.split_whitespace().next());
                let names: Vec<&str> = words.filter(|word| word.starts_with(char::is_alphabetic)).collect();
                let names = names.join(", ");
                must(
                    &mut session,
                    &format!(
                        "declare @days int = 30 insert {name} ({names}) select {list} from {source} {condition} {hint}"
                    ),
                );
                let count = number(&mut session, "select count(*) from rows");
                assert_eq!(number(&mut session, &format!("select count(*) from {name}")), count);
                for (left, right) in [("rows", name), (name, "rows")] {
                    let query = format!(
                        "select count(*) from (select {names} from {left} except select {names} from {right}) x"
                    );
                    assert_eq!(
                        number(&mut session, &query),
                        0,
                        "{source}, shape {place}: {left} but not {right}"
                    );
                }
            }
            let query = "select count(*) - case when max(id) = 5 * count(*) or count(*) = 0 then count(*) else 0 end from keyed";
            assert_eq!(number(&mut session, query), 0, "identity values are those that follow");
            must(
                &mut session,
                "drop table rows drop table serial drop table threads drop table keyed",
            );
        }
    }
    assert!(must(&mut session, "dbcc checkdb (b)").contains("0 allocation errors and 0 consistency errors"));
}

#[test]
fn an_error_in_the_middle_takes_the_whole_statement_back() {
    let (_instance, mut session) = parallel_instance();
    with_source(&mut session);
    must(
        &mut session,
        "use b create table t (id int identity primary key, i int not null, v varchar(45) null)
         insert t (i, v) values (0, 'kept')",
    );
    let statements = [
        ("select 10 / (i - 2500), v from heap", 8134),
        ("select b, v from tree", 515),
        ("select i, v + 'and more' from heap where i > 100", 2628),
        ("select i, v from tree where 1 / (i - 2999) < 5", 8134),
    ];
    for hint in ["option (maxdop 1)", ""] {
        for (select, expected) in statements {
            let (text, _) = run(&mut session, &format!("insert t (i, v) {select} {hint}"));
            assert!(text.contains(&format!("Msg {expected},")), "{select} {hint}: {text}");
            assert_eq!(number(&mut session, "select count(*) from t"), 1, "{select} {hint}");
        }
    }
    must(&mut session, "insert t (i, v) select i, v from tree");
    assert_eq!(number(&mut session, "select count(*) from t"), 3001);
    assert!(must(&mut session, "dbcc checkdb (b)").contains("0 allocation errors and 0 consistency errors"));
}

#[test]
fn a_table_that_doubles_itself_reads_no_row_twice() {
    let (_instance, mut session) = parallel_instance();
    with_source(&mut session);
    for source in ["heap", "tree"] {
        let mut expected = 3000;
        for hint in ["", "option (maxdop 1)", ""] {
            must(
                &mut session,
                &format!("insert {source} (i, v, dt) select i, v, dt + 30 from {source} {hint}"),
            );
            expected *= 2;
            assert_eq!(
                number(&mut session, &format!("select count(*) from {source}")),
                expected
            );
        }
        must(
            &mut session,
            &format!(
                "begin tran insert {source} (i, dt) select i, dt from {source} insert {source} (i, dt) select i, dt from {source}"
            ),
        );
        assert_eq!(
            number(&mut session, &format!("select count(*) from {source}")),
            4 * expected
        );
        must(&mut session, "rollback");
        assert_eq!(
            number(&mut session, &format!("select count(*) from {source}")),
            expected
        );
        let query = format!("select count(*) from {source} where i not between 1 and 3000");
        assert_eq!(number(&mut session, &query), 0);
    }
    must(
        &mut session,
        "create table few (i int) insert top (700) few select i from tree",
    );
    assert_eq!(number(&mut session, "select count(*) from few"), 700);
    must(
        &mut session,
        "set rowcount 900 insert few select i from heap set rowcount 0",
    );
    assert_eq!(number(&mut session, "select count(*) from few"), 1600);
    assert!(must(&mut session, "dbcc checkdb (b)").contains("0 allocation errors and 0 consistency errors"));
}

/// A session of another thread that runs one batch, then another on a signal.
fn beside<T>(instance: &Arc<Instance>, first: &str, second: &str, work: impl FnOnce(&mpsc::Sender<()>) -> T) -> T {
    let (go_on, told) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let mut session = session(instance);
            must(&mut session, first);
            begun.send(()).unwrap();
            told.recv().unwrap();
            std::thread::sleep(Duration::from_millis(50));
            must(&mut session, second);
        });
        has_begun.recv().unwrap();
        work(&go_on)
    })
}

#[test]
fn rows_under_change_are_waited_for_and_read_as_they_become() {
    let (instance, mut session) = parallel_instance();
    with_source(&mut session);
    for source in ["heap", "tree"] {
        must(&mut session, "create table t (i int not null)");
        let change = format!("use b begin tran update {source} set i = -1 where i = 1500");
        let insert = format!("insert t select i from {source}");
        beside(&instance, &change, "commit", |go_on| {
            let (text, _) = run(&mut session, &format!("set lock_timeout 50 {insert}"));
            assert!(text.contains("Msg 1222,"), "{text}");
            assert_eq!(number(&mut session, "select count(*) from t"), 0);
            go_on.send(()).unwrap();
            must(&mut session, &format!("set lock_timeout -1 {insert}"));
        });
        assert_eq!(number(&mut session, "select count(*) from t where i = -1"), 1);
        assert_eq!(number(&mut session, "select count(distinct i) from t"), 3000);
        must(&mut session, "drop table t");
    }
}

#[test]
fn a_cancelled_fill_leaves_nothing_behind() {
    let (instance, mut session) = parallel_instance();
    with_source(&mut session);
    must(&mut session, "create table t (i int not null)");
    let cancel = session.cancel_flag();
    let change = "use b begin tran update tree set b = -1 where i = 1500";
    beside(&instance, change, "commit", |go_on| {
        let outcome = std::thread::scope(|threads| {
            threads.spawn(|| {
                std::thread::sleep(Duration::from_millis(80));
                cancel.store(true, Ordering::Relaxed);
            });
            run(&mut session, "insert t select i from tree").1
        });
        assert_eq!(outcome, BatchOutcome::Cancelled);
        cancel.store(false, Ordering::Relaxed);
        go_on.send(()).unwrap();
    });
    assert_eq!(number(&mut session, "select count(*) from t"), 0);
    must(&mut session, "insert t select i from tree");
    assert_eq!(number(&mut session, "select count(*) from t"), 3000);
}

fn exchange_waits(instance: &Instance) -> u64 {
    let rows = instance.env.waits.rows();
    let row = rows.iter().find(|row| row.wait_type == WaitType::CxPacket);
    row.unwrap().waiting_tasks
}

#[test]
fn only_parallel_plans_wait_at_an_exchange() {
    let (instance, mut session) = parallel_instance();
    with_source(&mut session);
    must(&mut session, "create table t (i int not null)");
    must(&mut session, "insert t select i from heap option (maxdop 1)");
    must(&mut session, "insert t select i from tree option (maxdop 1)");
    must(&mut session, "sp_configure 'max degree of parallelism', 1 reconfigure");
    must(&mut session, "insert t select i from heap");
    must(&mut session, "sp_configure 'max degree of parallelism', 0 reconfigure");
    must(
        &mut session,
        "sp_configure 'cost threshold for parallelism', 5 reconfigure",
    );
    must(&mut session, "insert t select i from heap");
    assert_eq!(exchange_waits(&instance), 0);
    must(
        &mut session,
        "sp_configure 'cost threshold for parallelism', 0 reconfigure",
    );
    if std::thread::available_parallelism().unwrap().get() > 1 {
        let begin = Instant::now();
        while exchange_waits(&instance) == 0 {
            must(&mut session, "insert t select i from heap option (maxdop 2)");
            assert!(begin.elapsed() < Duration::from_secs(20), "no wait in all that time");
        }
    }
}

/// Under ANSI_WARNINGS OFF a string that is too long for its column is cut (SQL Server docs, SET ANSI_WARNINGS). Threads that did not know
/// the option refused it by 2628, so that one statement succeeded or failed by the number of its threads.
#[test]
fn a_copy_by_several_threads_cuts_what_one_thread_cuts() {
    let (_instance, mut session) = parallel_instance();
    with_source(&mut session);
    must(&mut session, "create table narrow (v varchar(3) null)");
    must(&mut session, "set ansi_warnings off set arithabort on");
    for hint in ["option (maxdop 1)", "option (maxdop 2)"] {
        must(&mut session, "truncate table narrow");
        must(&mut session, &format!("insert narrow select v from heap {hint}"));
        for figure in ["count(*)", "count(v)", "sum(len(v))"] {
            let kept = number(&mut session, &format!("select {figure} from narrow"));
            let wanted = number(
                &mut session,
                &format!("select {} from heap", figure.replace("len(v)", "len(left(v, 3))")),
            );
            assert_eq!(kept, wanted, "{hint}: {figure}");
        }
    }
}

#[test]
fn what_was_filled_and_committed_survives_a_power_cut_and_nothing_else_does() {
    for cut in 0..12 {
        let disk = SimDisk::new(cut);
        {
            let instance = start(&disk);
            let mut session = session(&instance);
            must(&mut session, "sp_configure 'show advanced options', 1 reconfigure");
            must(
                &mut session,
                "sp_configure 'cost threshold for parallelism', 0 reconfigure",
            );
            must(&mut session, "create database b");
            must(
                &mut session,
                "use b create table s (k int identity primary key, v varchar(50) not null, d datetime not null)",
            );
            must(&mut session, "insert s values ('a row of the source', '1999-01-02')");
            for _ in 0..11 {
                must(&mut session, "insert s select v, d + 1 from s");
            }
            must(
                &mut session,
                "checkpoint create table t (k int identity primary key, d datetime not null, v varchar(50) not null)",
            );
            must(&mut session, "insert t select d, v from s");
            disk.power_cut_at(disk.operation_count() + 1 + cut * 3);
            let (_, outcome) = run(
                &mut session,
                "insert t select d, v from t insert t select d, v from t insert t select d, v from t checkpoint",
            );
            assert!(disk.power_is_cut() || outcome == BatchOutcome::Completed);
        }
        let policy = if cut % 2 == 0 {
            CutPolicy::AllLost
        } else {
            CutPolicy::AllKept
        };
        let instance = start(&disk.after_power_cut(policy, cut));
        let mut session = session(&instance);
        must(&mut session, "use b");
        let count = number(&mut session, "select count(*) from t");
        assert!(
            [2048, 4096, 8192, 16384].contains(&count),
            "{count} rows after cut {cut}"
        );
        assert_eq!(
            number(&mut session, "select count(*) from t where v = 'a row of the source'"),
            count
        );
        assert_eq!(number(&mut session, "select count(distinct k) from t"), count);
        assert!(must(&mut session, "dbcc checkdb (b)").contains("0 allocation errors and 0 consistency errors"));
    }
}
