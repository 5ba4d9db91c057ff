//! System-versioned temporal tables: which versions FOR SYSTEM_TIME shows, what writes history, what the pair of tables refuses, what the
//! catalog says. Expected answers and numbers are those of SQL Server's documentation ("Temporal tables" and the pages below it, "FROM",
//! "CREATE TABLE", "ALTER TABLE", "Database Engine events and errors (13000 to 13999)").
#![allow(clippy::unwrap_used)]

use crate::answers::{error, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

use std::sync::Arc;

use engine::seams::ManualClock;
use tsql::session::Session;

/// 2027-01-15 08:00:00, in microseconds.
const BEGUN: u64 = 1_800_000_000_000_000;
const SECOND: u64 = 1_000_000;

const CREATE: &str = "create table dbo.t (id int not null primary key, a int, \
     f datetime2(0) generated always as row start not null, u datetime2(0) generated always as row end not null, \
     period for system_time (f, u)) with (system_versioning = on (history_table = dbo.h))";

/// A session with the table, and the clock that it lives by: ten seconds behind the start.
fn begun() -> (Session, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::starting_at(BEGUN));
    let mut session = transcript::session(&transcript::instance_with(clock.clone()));
    run(&mut session, &[CREATE]);
    clock.advance(10 * SECOND);
    (session, clock)
}

/// Row 1 is 10 from second 10 on, 11 from second 20 on, and gone from second 30 on; row 2 is 20 from second 10 on, 21 from second 30 on.
fn with_history() -> (Session, Arc<ManualClock>) {
    let (mut session, clock) = begun();
    run(&mut session, &["insert t (id, a) values (1, 10), (2, 20)"]);
    clock.advance(10 * SECOND);
    run(&mut session, &["update t set a = 11 where id = 1"]);
    clock.advance(10 * SECOND);
    run(
        &mut session,
        &["begin tran delete t where id = 1 update t set a = 21 where id = 2 commit"],
    );
    clock.advance(10 * SECOND);
    (session, clock)
}

/// A moment so many seconds behind the start.
fn at(second: u64) -> String {
    format!("'2027-01-15 08:00:{second:02}'")
}

#[test]
fn changes_leave_the_rows_as_they_were() {
    let (mut session, _) = with_history();
    assert_eq!(rows(&mut session, "select id, a from t"), "2 21");
    let history = "select id, a, datediff(second, '2027-01-15 08:00:00', f), datediff(second, '2027-01-15 08:00:00', u) \
         from h order by id, f";
    assert_eq!(rows(&mut session, history), "1 10 10 20|1 11 20 30|2 20 10 30");
    let current = "select datediff(second, '2027-01-15 08:00:00', f), convert(varchar(30), u) from t";
    assert_eq!(rows(&mut session, current), "30 9999-12-31 23:59:59");
}

/// Each sub-clause at moments before, at, between and behind the ends of periods.
#[test]
fn every_clause_shows_the_versions_of_its_time() {
    let (mut session, _) = with_history();
    let shown = |session: &mut Session, clause: &str| {
        rows(
            session,
            &format!("select id, a from t for system_time {clause} order by id, a"),
        )
    };
    for (clause, expected) in [
        (format!("as of {}", at(9)), ""),
        (format!("as of {}", at(10)), "1 10|2 20"),
        (format!("as of {}", at(19)), "1 10|2 20"),
        (format!("as of {}", at(20)), "1 11|2 20"),
        (format!("as of {}", at(29)), "1 11|2 20"),
        (format!("as of {}", at(30)), "2 21"),
        (format!("as of {}", at(59)), "2 21"),
        (format!("from {} to {}", at(9), at(10)), ""),
        (format!("between {} and {}", at(9), at(10)), "1 10|2 20"),
        (format!("from {} to {}", at(19), at(21)), "1 10|1 11|2 20"),
        (format!("from {} to {}", at(20), at(30)), "1 11|2 20"),
        (format!("between {} and {}", at(20), at(30)), "1 11|2 20|2 21"),
        (format!("contained in ({}, {})", at(10), at(20)), "1 10"),
        (format!("contained in ({}, {})", at(10), at(30)), "1 10|1 11|2 20"),
        (format!("contained in ({}, {})", at(11), at(30)), "1 11"),
        ("all".to_owned(), "1 10|1 11|2 20|2 21"),
        ("as of null_is_no_moment".to_owned(), "102"),
    ] {
        if expected == "102" {
            let text = format!("select id from t for system_time {clause}");
            assert_eq!(error(&mut session, &text), 102, "{clause}");
            continue;
        }
        assert_eq!(shown(&mut session, &clause), expected, "{clause}");
    }
}

/// A variable, NULL in one, a parameter, an alias, a join of two times, a view, a function, INSERT and a subquery.
#[test]
fn the_clause_stands_wherever_a_table_does() {
    let (mut session, _) = with_history();
    run(
        &mut session,
        &[
            "create view v as select id, a from t",
            "create view w as select id, a from t for system_time all",
            "create view plain as select 1 as a",
            "create function g (@m datetime2) returns table as return select id, a from t for system_time as of @m",
        ],
    );
    for (query, expected) in [
        (
            "declare @m datetime2 = '2027-01-15 08:00:20' select a from t for system_time as of @m order by 1",
            "11|20",
        ),
        ("declare @m datetime2 select a from t for system_time as of @m", ""),
        (
            "declare @m datetimeoffset = '2027-01-15 10:00:20 +02:00' select a from t for system_time as of @m where id = 1",
            "11",
        ),
        (
            "exec sp_executesql N'select a from t for system_time as of @m where id = 1', N'@m datetime2', '2027-01-15 08:00:10'",
            "10",
        ),
        (
            "select x.id, y.a, x.a from t for system_time as of '2027-01-15 08:00:40' as x join t for system_time as of '2027-01-15 08:00:10' y on y.id = x.id",
            "2 20 21",
        ),
        (
            "select dbo.t.id from dbo.t for system_time as of '2027-01-15 08:00:10' where t.a = 10",
            "1",
        ),
        (
            "select id, a from v for system_time as of '2027-01-15 08:00:10' order by id",
            "1 10|2 20",
        ),
        ("select count(*) from w", "4"),
        ("select id, a from g('2027-01-15 08:00:20') order by id", "1 11|2 20"),
        (
            "select id from t where exists (select * from t for system_time all o where o.id = t.id and o.a = 20)",
            "2",
        ),
        (
            "select * from (select id from t for system_time contained in ('2027-01-15 08:00:10', '2027-01-15 08:00:30')) q order by id",
            "1|1|2",
        ),
        (
            "with c as (select id, a from t for system_time as of '2027-01-15 08:00:10') select a from c where id = 1",
            "10",
        ),
    ] {
        assert_eq!(rows(&mut session, query), expected, "{query}");
    }
    for (query, number) in [
        ("select * from w for system_time all", 13590),
        ("select * from plain for system_time all", 13544),
        ("select * from h for system_time all", 13544),
        (
            "with c as (select id from t) select * from c for system_time all",
            13544,
        ),
        ("select * from sys.tables for system_time all", 13544),
        ("select * from t for system_time as of getdate()", 102),
    ] {
        assert_eq!(error(&mut session, query), number, "{query}");
    }
}

/// Every way in which a row is changed or goes, and what each leaves in history.
#[test]
fn every_change_writes_history() {
    for (change, current, history) in [
        ("insert t (id, a) values (3, 30)", "1 10|2 20|3 30", ""),
        ("update t set a = a + 1", "1 11|2 21", "1 10|2 20"),
        ("update t set a = 10 where id = 1", "1 10|2 20", "1 10"),
        ("update t set id = id + 1", "2 10|3 20", "1 10|2 20"),
        (
            "update x set a = 5 from t x join (values (2)) v (n) on v.n = x.id",
            "1 10|2 5",
            "2 20",
        ),
        ("delete t where a = 20", "1 10", "2 20"),
        ("delete t", "", "1 10|2 20"),
        (
            "merge t using (values (2, 22), (3, 33)) s (id, a) on t.id = s.id when matched then update set a = s.a \
             when not matched then insert (id, a) values (s.id, s.a) when not matched by source then delete;",
            "2 22|3 33",
            "1 10|2 20",
        ),
        (
            "declare @o table (id int, a int) delete t output deleted.id, deleted.a into @o where id = 1 \
             insert t (id, a) select id, a + 1 from @o",
            "1 11|2 20",
            "1 10",
        ),
        ("update t set a = 1 where id = 7", "1 10|2 20", ""),
        ("begin tran update t set a = 1 delete t rollback", "1 10|2 20", ""),
        (
            "begin tran save tran s delete t rollback tran s update t set a = 3 where id = 2 commit",
            "1 10|2 3",
            "2 20",
        ),
        (
            "begin tran update t set a = 1 where id = 1 update t set a = 2 where id = 1 commit",
            "1 2|2 20",
            "1 10|1 1",
        ),
    ] {
        let (mut session, clock) = begun();
        run(&mut session, &["insert t (id, a) values (1, 10), (2, 20)"]);
        clock.advance(10 * SECOND);
        run(&mut session, &[change]);
        assert_eq!(
            rows(&mut session, "select id, a from t order by id"),
            current,
            "{change}"
        );
        let kept = rows(&mut session, "select id, a from h order by id, a desc");
        assert_eq!(kept, history, "{change}");
    }
}

/// A statement that fails leaves no history; a transaction older than the row that it changes cannot change it.
#[test]
fn what_fails_leaves_no_history() {
    let (mut session, clock) = begun();
    run(
        &mut session,
        &[
            "insert t (id, a) values (1, 10), (2, 20)",
            "alter table t add constraint k check (a < 100)",
        ],
    );
    clock.advance(10 * SECOND);
    assert_eq!(error(&mut session, "update t set a = a * 9"), 547);
    assert_eq!(rows(&mut session, "select count(*) from h"), "0");
    run(&mut session, &["begin tran"]);
    clock.advance(10 * SECOND);
    run(&mut session, &["commit", "update t set a = 11 where id = 1"]);
    let instance = transcript::instance_with(clock.clone());
    let (mut one, mut other) = (transcript::session(&instance), transcript::session(&instance));
    run(
        &mut one,
        &[
            CREATE,
            "insert t (id, a) values (1, 10)",
            "begin tran select 1 as begun",
        ],
    );
    clock.advance(10 * SECOND);
    run(&mut other, &["update t set a = 11"]);
    assert_eq!(error(&mut one, "update t set a = 12"), 13535);
    run(&mut one, &["if @@trancount > 0 rollback"]);
    assert_eq!(
        rows(&mut one, "select a from t for system_time all order by a"),
        "10|11"
    );
}

/// Triggers see the change, actions of foreign keys write history, computed columns are kept as they were.
#[test]
fn other_features_go_on_beside_it() {
    let (mut session, clock) = begun();
    run(
        &mut session,
        &[
            "create table seen (what varchar(10), n int)",
            "create trigger r on t after update, delete as insert seen select 'gone', count(*) from deleted",
            "create table p (id int primary key)",
            "insert p values (1), (2)",
            "create table c (id int primary key, p int references p on delete cascade, x as id * 2, y as id * 3 persisted, \
             n int identity, r rowversion, \
             f datetime2(0) generated always as row start, u datetime2(0) generated always as row end, period for system_time (f, u)) \
             with (system_versioning = on (history_table = dbo.c_history))",
            "insert c (id, p) values (1, 1), (2, 2)",
            "insert t (id, a) values (1, 10), (2, 20)",
        ],
    );
    clock.advance(10 * SECOND);
    run(
        &mut session,
        &["delete p where id = 1", "update t set a = 0", "delete t"],
    );
    assert_eq!(rows(&mut session, "select * from seen"), "gone 2|gone 2");
    assert_eq!(rows(&mut session, "select id, x, y, n from c_history"), "1 2 3 1");
    let types = "select c.name, type_name(c.system_type_id), c.is_computed, c.is_identity from sys.columns c \
         where object_id = object_id('c_history') and c.name in ('x', 'n', 'r') order by c.name";
    assert_eq!(rows(&mut session, types), "n int 0 0|r binary 0 0|x int 0 0");
    assert_eq!(
        rows(&mut session, "select id from c for system_time all order by id"),
        "1|2"
    );
}

/// ALTER TABLE ADD PERIOD over columns that it adds or that are there, SYSTEM_VERSIONING ON and OFF, and back to an ordinary table.
#[test]
fn a_table_that_is_there_becomes_a_temporal_one() {
    let clock = Arc::new(ManualClock::starting_at(BEGUN));
    let mut session = transcript::session(&transcript::instance_with(clock.clone()));
    run(
        &mut session,
        &[
            "create table p (id int primary key, a int) insert p values (1, 10)",
            "alter table p add f datetime2(3) generated always as row start hidden constraint df default '2026-01-01', \
             u datetime2(3) generated always as row end hidden constraint du default '9999-12-31 23:59:59.999', \
             period for system_time (f, u)",
            "alter table p set (system_versioning = on)",
        ],
    );
    let name = "select 'MSSQL_TemporalHistoryFor_' + cast(object_id('p') as varchar(12))";
    let history = "select object_name(history_table_id) from sys.tables where name = 'p'";
    let expected = rows(&mut session, name);
    assert_eq!(rows(&mut session, history), expected);
    clock.advance(10 * SECOND);
    run(&mut session, &["update p set a = 11", "insert p values (2, 20)"]);
    assert_eq!(rows(&mut session, "select * from p order by id"), "1 11|2 20");
    assert_eq!(
        rows(&mut session, "select * from p for system_time as of '2026-06-01'"),
        "1 10"
    );
    assert_eq!(
        rows(
            &mut session,
            "select p.*, datepart(year, f) from p for system_time all p order by a"
        ),
        "1 10 2026|1 11 2027|2 20 2027"
    );
    clock.advance(10 * SECOND);
    columns_come_and_go(&mut session, &expected);
}

/// ALTER TABLE of the table above, whose history has this name, and its way back to an ordinary one.
fn columns_come_and_go(session: &mut Session, expected: &str) {
    run(
        session,
        &[
            "alter table p add b int not null constraint db default 7",
            "alter table p add c varchar(10)",
            "alter table p alter column c varchar(20) null",
            "update p set b = 8, c = 'x' where id = 1",
        ],
    );
    assert_eq!(
        rows(session, "select * from p for system_time all order by id, f, a"),
        "1 10 7 NULL|1 11 7 NULL|1 11 8 x|2 20 7 NULL"
    );
    run(
        session,
        &[
            "alter table p drop constraint db",
            "alter table p drop column b",
            "exec sp_rename 'p.c', 'd', 'column'",
        ],
    );
    let columns =
        format!("select name, max_length from sys.columns where object_id = object_id('{expected}') and name > 'a'");
    assert_eq!(rows(session, &columns), "id 4|f 7|u 7|d 20");
    run(
        session,
        &[
            "alter table p alter column f drop hidden",
            "alter table p set (system_versioning = off)",
            &format!("delete {expected}"),
            &format!(
                "alter table p set (system_versioning = on (history_table = dbo.{expected}, data_consistency_check = on))"
            ),
            "alter table p set (system_versioning = off)",
            "alter table p drop period for system_time",
            "update p set f = '2020-01-01' where id = 1",
            "drop table p",
            &format!("drop table {expected}"),
        ],
    );
}

/// Histories with the numbers of their refusals, 0 for one that fits; `{columns}` are those of a history that fits.
const HISTORIES: &[(&str, i32)] = &[
    ("create table h ({columns})", 0),
    ("create table h ({columns}) create clustered index i on h (u, f)", 0),
    ("create view h as select 1 as a", 13511),
    ("create table h ({columns}, primary key (id, f))", 13515),
    (
        "create table k (id int primary key) create table h ({columns}, foreign key (id) references k)",
        13516,
    ),
    ("create table h ({columns}, check (a > 0))", 13517),
    (
        "create table h (id int identity not null, a int, f datetime2(0) not null, u datetime2(0) not null)",
        13518,
    ),
    (
        "create table h (id int not null, a as id, f datetime2(0) not null, u datetime2(0) not null)",
        13519,
    ),
    (
        "create table h (id int not null, f datetime2(0) not null, u datetime2(0) not null)",
        13523,
    ),
    (
        "create table h (id int not null, b int, f datetime2(0) not null, u datetime2(0) not null)",
        13524,
    ),
    (
        "create table h (id int not null, a bigint, f datetime2(0) not null, u datetime2(0) not null)",
        13525,
    ),
    (
        "create table h (id int not null, a int, f datetime2(0), u datetime2(0) not null)",
        13530,
    ),
    (
        "create table h (id int not null, a int not null, f datetime2(0) not null, u datetime2(0) not null)",
        13531,
    ),
    (
        "create table h ({columns}) insert h values (1, 1, '2020-01-02', '2020-01-01')",
        13541,
    ),
    (
        "create table h ({columns}) insert h values (1, 1, '2020-01-02', '2099-01-01')",
        13543,
    ),
    (
        "create table h ({columns}) insert h values (1, 1, '2020-01-01', '2020-01-03'), (1, 2, '2020-01-02', '2020-01-04')",
        13573,
    ),
    (
        "create table h ({columns}) insert h values (1, 1, '2020-01-01', '2020-01-03'), (2, 2, '2020-01-02', '2020-01-04')",
        0,
    ),
];

/// What a history table must be, and what the rows in it, before it becomes one.
#[test]
fn history_that_is_there_is_looked_at() {
    let columns = "id int not null, a int, f datetime2(0) not null, u datetime2(0) not null";
    for &(history, number) in HISTORIES {
        let history = history.replace("{columns}", columns);
        let mut session = transcript::session(&transcript::instance_with(Arc::new(ManualClock::starting_at(BEGUN))));
        run(&mut session, &[&history]);
        match number {
            0 => run(&mut session, &[CREATE]),
            number => {
                assert_eq!(error(&mut session, CREATE), number, "{history}");
                assert_eq!(
                    rows(&mut session, "select count(*) from sys.tables where name = 't'"),
                    "0",
                    "{history}"
                );
            }
        }
        if matches!(number, 13541 | 13543 | 13573) {
            run(
                &mut session,
                &[&CREATE.replace("dbo.h)", "dbo.h, data_consistency_check = off)")],
            );
        }
    }
}

/// HISTORY_RETENTION_PERIOD: what is over is not shown, and goes when it is cleaned up.
#[test]
fn history_is_shown_as_long_as_it_is_retained() {
    let (mut session, clock) = with_history();
    let all = "select id, a from t for system_time all order by id, a";
    assert_eq!(rows(&mut session, all), "1 10|1 11|2 20|2 21");
    assert_eq!(
        error(&mut session, "exec sys.sp_cleanup_temporal_history 'dbo', 't'"),
        13747
    );
    assert_eq!(
        error(
            &mut session,
            "alter table t set (system_versioning = on (history_retention_period = 0 days))"
        ),
        13743
    );
    assert_eq!(
        error(
            &mut session,
            "alter table t set (system_versioning = on (history_retention_period = 1 hour))"
        ),
        13744
    );
    run(
        &mut session,
        &["alter table t set (system_versioning = on (history_retention_period = 2 days))"],
    );
    let kept = "select history_retention_period, history_retention_period_unit, history_retention_period_unit_desc \
         from sys.tables where name = 't'";
    assert_eq!(rows(&mut session, kept), "2 3 DAY");
    assert_eq!(rows(&mut session, all), "1 10|1 11|2 20|2 21");
    clock.advance(2 * 24 * 3600 * SECOND - 15 * SECOND);
    assert_eq!(rows(&mut session, all), "1 11|2 20|2 21");
    assert_eq!(rows(&mut session, "select count(*) from h"), "3");
    let cleaned = "declare @n int exec sys.sp_cleanup_temporal_history 'dbo', 't', @n output select @n";
    assert_eq!(rows(&mut session, cleaned), "1");
    assert_eq!(rows(&mut session, "select id, a from h order by id"), "1 11|2 20");
    assert_eq!(error(&mut session, "drop index ix_h on h"), 13766);
    run(
        &mut session,
        &[
            "alter table t set (system_versioning = on (history_retention_period = infinite))",
            "drop index ix_h on h",
        ],
    );
    assert_eq!(
        error(
            &mut session,
            "alter table t set (system_versioning = on (history_retention_period = 1 week))"
        ),
        13765
    );
    assert_eq!(
        error(&mut session, "exec sys.sp_cleanup_temporal_history 'dbo', 'h'"),
        13746
    );
    assert_eq!(rows(&mut session, all), "1 11|2 20|2 21");
}

/// Batches with the numbers of their refusals; `{start}` and `{end}` are the columns of a period.
const REFUSED: &[(&str, i32)] = &[
    ("insert h values (1, 1, '2020-01-01', '2020-01-02')", 13559),
    ("insert v values (1, 1, '2020-01-01', '2020-01-02')", 13559),
    (
        "delete t output deleted.id, deleted.a, deleted.f, deleted.u into h",
        13559,
    ),
    ("delete h", 13560),
    ("update h set a = 1", 13561),
    ("merge h using o on o.id = h.id when matched then delete;", 13562),
    ("insert t values (2, 20)", 213),
    ("insert t values (2, 20, '2020-01-01', '2021-01-01')", 13536),
    ("insert t (id, f) values (2, getdate())", 13536),
    ("insert t (id, u) select 2, getdate()", 13536),
    ("update t set f = getdate()", 13537),
    (
        "merge t using o on o.id = t.id when not matched by source then update set u = f;",
        13537,
    ),
    ("truncate table t", 13545),
    ("truncate table h", 13545),
    ("drop table t", 13552),
    ("drop table h", 13552),
    ("alter table h add x int", 13550),
    ("alter table h drop column a", 13551),
    ("alter table h alter column a bigint", 13548),
    ("alter table h add primary key (id, f)", 13558),
    ("alter table h add unique (id, f)", 13583),
    ("alter table h add check (a > 0)", 13564),
    ("alter table h add foreign key (id) references o", 13565),
    ("create unique index i on h (id, f)", 13741),
    ("alter table h add period for system_time (f, u)", 13598),
    ("create trigger r on h after insert as return", 13569),
    ("create trigger r on t instead of insert as return", 13569),
    ("exec sp_rename 'h.a', 'b', 'column'", 13759),
    ("alter table t alter column f datetime2(3)", 13599),
    ("alter table t drop column f", 13588),
    ("alter table t alter column a add hidden", 13735),
    ("alter table t drop period for system_time", 13592),
    ("alter table t add period for system_time (f, u)", 13597),
    ("alter table t add x as a + 1", 13724),
    ("alter table t set (system_versioning = on)", 13596),
    (
        "alter table t set (system_versioning = on (history_table = dbo.o))",
        13757,
    ),
    ("alter table o set (system_versioning = off)", 13591),
    ("alter table o set (system_versioning = on)", 13510),
    ("alter table o drop period for system_time", 13593),
    (
        "create table x (id int primary key, {start}, {end}, period for system_time (f, u)) with (system_versioning = on (history_table = h))",
        13539,
    ),
    (
        "create table x (id int primary key, {start}, {end}, period for system_time (f, u)) with (system_versioning = on (history_table = dbo.h))",
        13514,
    ),
    (
        "create table x (id int primary key, {start}, {end}, period for system_time (f, u)) with (system_versioning = on (history_table = dbo.t))",
        13566,
    ),
    (
        "create table x (id int, {start}, {end}, period for system_time (f, u)) with (system_versioning = on)",
        13553,
    ),
    (
        "create table #x (id int primary key, {start}, {end}, period for system_time (f, u)) with (system_versioning = on)",
        13568,
    ),
    (
        "create table x (id int primary key, {start}, {end}) with (system_versioning = on)",
        13509,
    ),
    (
        "create table x (id int primary key, {start}, {end}, period for system_time (u, f))",
        13506,
    ),
    (
        "create table x (id int primary key, {start}, {end}, period for system_time (f, f))",
        13507,
    ),
    (
        "create table x (id int primary key, {start}, u datetime2, period for system_time (f, u))",
        13505,
    ),
    (
        "create table x (id int primary key, f datetime2, {end}, period for system_time (f, u))",
        13504,
    ),
    (
        "create table x (id int primary key, {start}, {end}, period for system_time (f, u), period for system_time (f, u))",
        13508,
    ),
    (
        "create table x (id int primary key, {start}, g{start}, {end}, period for system_time (f, u))",
        13502,
    ),
    (
        "create table x (id int primary key, {start}, {end}, g{end}, period for system_time (f, u))",
        13503,
    ),
    (
        "create table x (id int primary key, {start} null, {end}, period for system_time (f, u))",
        13587,
    ),
    (
        "create table x (id int primary key, f datetime generated always as row start, {end}, period for system_time (f, u))",
        13501,
    ),
    (
        "create table x (id int primary key, f datetime2(3) generated always as row start, {end}, period for system_time (f, u))",
        13513,
    ),
    (
        "declare @x table (id int primary key, {start}, {end}, period for system_time (f, u))",
        13572,
    ),
    ("alter table o add {start}, {end}", 13509),
    (
        "insert n values (1, '2020-01-01', '2021-01-01') alter table n add period for system_time (f, u)",
        13575,
    ),
    (
        "update n set f = '2099-01-01', u = '9999-12-31 23:59:59.9999999' alter table n add period for system_time (f, u)",
        13542,
    ),
    (
        "alter table t set (system_versioning = on, system_versioning = off)",
        13512,
    ),
    ("alter table t set (system_versioning = perhaps)", 102),
    (
        "create table x (a int, b int generated always as transaction_id start)",
        40517,
    ),
];

/// Each thing that SQL Server refuses to do with the two tables, by its number.
#[test]
fn what_the_two_tables_refuse() {
    let (mut session, _) = begun();
    run(
        &mut session,
        &[
            "insert t (id, a) values (1, 10)",
            "create table o (id int primary key)",
            "create table n (id int not null, f datetime2 not null, u datetime2 not null)",
            "create view v as select * from h",
        ],
    );
    let start = "f datetime2 generated always as row start";
    let end = "u datetime2 generated always as row end";
    for &(batch, number) in REFUSED {
        let batch = batch.replace("{start}", start).replace("{end}", end);
        assert_eq!(error(&mut session, &batch), number, "{batch}");
    }
    let key = rows(
        &mut session,
        "select name from sys.key_constraints where parent_object_id = object_id('t')",
    );
    assert_eq!(
        error(&mut session, &format!("alter table t drop constraint {key}")),
        13557
    );
    run(
        &mut session,
        &[
            "insert t values (2, 20, default, default)",
            "insert t (id, a, f) values (3, 30, default)",
        ],
    );
    assert_eq!(rows(&mut session, "select id, a from t order by id"), "1 10|2 20|3 30");
}

/// The views and functions of the catalog.
#[test]
fn the_catalog_tells_temporal_tables() {
    let (mut session, _) = begun();
    for (query, expected) in [
        (
            "select name, temporal_type, temporal_type_desc, object_name(history_table_id) from sys.tables order by name",
            "h 1 HISTORY_TABLE NULL|t 2 SYSTEM_VERSIONED_TEMPORAL_TABLE h",
        ),
        (
            "select name, period_type, period_type_desc, object_name(object_id), start_column_id, end_column_id from sys.periods",
            "SYSTEM_TIME 1 SYSTEM_TIME_PERIOD t 3 4",
        ),
        (
            "select name, generated_always_type, generated_always_type_desc, is_hidden, is_nullable from sys.columns \
             where object_id = object_id('t')",
            "id 0 NOT_APPLICABLE 0 0|a 0 NOT_APPLICABLE 0 1|f 1 AS_ROW_START 0 0|u 2 AS_ROW_END 0 0",
        ),
        (
            "select objectproperty(object_id('t'), 'TableTemporalType'), objectproperty(object_id('h'), 'TableTemporalType')",
            "2 1",
        ),
        (
            "select i.name, i.type_desc, c.name, ic.key_ordinal from sys.indexes i join sys.index_columns ic \
             on ic.object_id = i.object_id and ic.index_id = i.index_id join sys.columns c on c.object_id = i.object_id \
             and c.column_id = ic.column_id where i.object_id = object_id('h') order by 4",
            "ix_h CLUSTERED u 1|ix_h CLUSTERED f 2",
        ),
    ] {
        assert_eq!(rows(&mut session, query), expected, "{query}");
    }
}

/// A CREATE that is rolled back leaves nothing; history outlives restarts as its changes do, and goes with those that were not committed.
#[test]
fn history_is_as_durable_as_the_changes() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "begin tran",
            CREATE,
            "insert t (id) values (1)",
            "update t set a = 1",
            "rollback",
        ],
    );
    assert_eq!(rows(&mut session, "select count(*) from sys.tables"), "0");
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run(&format!("use d {CREATE} insert t (id, a) values (1, 10)"));
        story.clock.advance(10 * SECOND);
        story.run("update t set a = 11");
        story.clock.advance(10 * SECOND);
        let mut other = story.beside();
        run(&mut other, &["use d begin tran update t set a = 12"]);
        if again == Again::OfflineOnline {
            run(&mut other, &["rollback use master"]);
        }
        story.again(again, "d");
        story.run("use d");
        assert_eq!(
            story.rows("select a from t for system_time all order by a"),
            ["10", "11"],
            "{again:?}"
        );
        story.run("update t set a = 13");
        assert_eq!(story.rows("select a from h order by a"), ["10", "11"], "{again:?}");
        story.is_sound("d");
    }
}

/// A retention that leads past the begin of the calendar was subtracted from today all the same, and every question over the table ended with 517.
#[test]
fn a_retention_beyond_the_calendar_keeps_everything() {
    let (mut session, _) = with_history();
    for retention in ["3000 years", "30000 months", "200000 weeks", "800000 days"] {
        let set = format!("alter table t set (system_versioning = on (history_retention_period = {retention}))");
        run(&mut session, &[&set]);
        let all = "select id, a from t for system_time all order by id, a";
        assert_eq!(rows(&mut session, all), "1 10|1 11|2 20|2 21", "{retention}");
        let cleaned = "declare @n int exec sys.sp_cleanup_temporal_history 'dbo', 't', @n output select @n";
        assert_eq!(rows(&mut session, cleaned), "0", "{retention}");
    }
    // Nothing removes history by itself, so nothing says that it does.
    assert_eq!(
        error(&mut session, "alter database current set temporal_history_retention on"),
        40517
    );
    run(
        &mut session,
        &["alter database current set temporal_history_retention off"],
    );
}

/// A moment below the scale of the columns was rounded: rows began up to half a second after their transaction, so that a question about now did not
/// see them, and versioning could not be switched on again.
#[test]
fn no_row_begins_after_its_transaction() {
    let (mut session, clock) = begun();
    clock.advance(600_000);
    run(&mut session, &["insert t (id, a) values (1, 10)"]);
    let now = "declare @now datetime2 = sysutcdatetime() select a from t for system_time as of @now";
    assert_eq!(rows(&mut session, now), "10");
    run(
        &mut session,
        &[
            "alter table t set (system_versioning = off)",
            "alter table t set (system_versioning = on (history_table = dbo.h))",
        ],
    );
    assert_eq!(rows(&mut session, now), "10");
}

/// History is cleaned by several statements, and all of it goes, whatever ROWCOUNT says.
#[test]
fn all_of_the_aged_history_goes() {
    let (mut session, clock) = begun();
    run(
        &mut session,
        &[
            "insert t (id, a) select value, 0 from generate_series(1, 4500)",
            "alter table t set (system_versioning = on (history_retention_period = 1 day))",
        ],
    );
    clock.advance(10 * SECOND);
    run(&mut session, &["update t set a = 1"]);
    clock.advance(2 * 24 * 3600 * SECOND);
    let cleaned = "set rowcount 0 declare @n int exec sys.sp_cleanup_temporal_history 'dbo', 't', @n output select @n";
    assert_eq!(rows(&mut session, cleaned), "4500");
    run(&mut session, &["update t set a = 2 where id <= 30"]);
    clock.advance(2 * 24 * 3600 * SECOND);
    assert_eq!(rows(&mut session, &cleaned.replace("rowcount 0", "rowcount 10")), "30");
    assert_eq!(rows(&mut session, "set rowcount 0 select count(*) from h"), "0");
}

/// HIDDEN columns come by their names alone: not by `*` of `deleted` in a trigger, nor as groups of PIVOT.
#[test]
fn hidden_columns_come_by_name_alone() {
    let (mut session, clock) = begun();
    run(
        &mut session,
        &[
            "alter table t alter column f add hidden alter table t alter column u add hidden",
            "create table audit (id int, a int)",
        ],
    );
    run(
        &mut session,
        &[
            "create trigger g on t after update as insert audit select * from deleted update audit set a = a + 100 \
           where exists (select * from inserted where f > '2027-01-01')",
        ],
    );
    run(&mut session, &["insert t (id, a) values (1, 10)"]);
    clock.advance(10 * SECOND);
    run(
        &mut session,
        &["insert t (id, a) values (2, 10) update t set a = 11 where id = 1"],
    );
    assert_eq!(rows(&mut session, "select * from audit"), "1 110");
    let pivot = "select * from t pivot (count(id) for a in ([10], [11])) p";
    assert_eq!(rows(&mut session, pivot), "1 1");
    let told = "select columnproperty(object_id('t'), 'f', 'GeneratedAlwaysType'), \
                columnproperty(object_id('t'), 'u', 'GeneratedAlwaysType'), columnproperty(object_id('t'), 'u', 'IsHidden'), \
                columnproperty(object_id('t'), 'a', 'IsHidden'), columnproperty(object_id('t'), 'a', 'GeneratedAlwaysType')";
    assert_eq!(rows(&mut session, told), "1 2 1 0 0");
}

/// What changes a temporal table keeps the two tables alike, and what would not is refused.
#[test]
fn the_two_tables_stay_alike() {
    let (mut session, _) = with_history();
    // A default of its own fills both, as one in the column's definition does.
    run(
        &mut session,
        &[
            "alter table t add c int null constraint dc default 5 with values",
            "alter table t add d int null, constraint dd default 6 for d with values",
        ],
    );
    assert_eq!(
        rows(&mut session, "select distinct c, d from t for system_time all"),
        "5 6"
    );
    run(
        &mut session,
        &["create view w with schemabinding as select a from dbo.h"],
    );
    assert_eq!(error(&mut session, "exec sp_rename 'dbo.t.a', 'b', 'column'"), 15336);
    run(
        &mut session,
        &[
            "create table k (id int not null constraint pk primary key nonclustered, \
             f datetime2 generated always as row start not null, u datetime2 generated always as row end not null, \
             period for system_time (f, u)) with (system_versioning = on)",
            "alter index pk on k disable",
        ],
    );
    assert_eq!(error(&mut session, "alter table k drop constraint pk"), 13557);
    run(
        &mut session,
        &[
            "create table m (id int primary key, d datetime2 not null, e datetime2 not null, x as dateadd(day, 1, d) persisted not null)",
        ],
    );
    assert_eq!(
        error(&mut session, "alter table m add period for system_time (x, e)"),
        13501
    );
}

/// Rows as they were, brought back by an UPDATE from the table at a moment (sql-docs, "Temporal table usage scenarios"), and a view asked at a moment
/// that is a function's parameter, which may be of no use in a subquery of the view.
#[test]
fn former_rows_are_joined_to_current_ones() {
    let (mut session, _) = with_history();
    let back = format!(
        "update t set a = x.a from t join t for system_time as of {} as x on x.id = t.id where t.id = 2",
        at(15)
    );
    run(&mut session, &[&back]);
    assert_eq!(rows(&mut session, "select id, a from t"), "2 20");
    run(&mut session, &["create table d (id int)"]);
    run(
        &mut session,
        &["create view v as select d.id from d where exists (select * from t where t.id = d.id)"],
    );
    let made = "create function fv (@m datetime2) returns table as return select id from v for system_time as of @m";
    assert_eq!(error(&mut session, made), 40517);
}
