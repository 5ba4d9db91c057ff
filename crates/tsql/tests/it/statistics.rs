//! Statistics are created, updated, dropped and shown by statements, and survive rollbacks, restarts, restores and changes
//! of their tables.
//!
//! Columns, numbers and words are SQL Server's: sql-docs, CREATE, UPDATE and DROP STATISTICS, "DBCC SHOW_STATISTICS", "sys.stats".
#![allow(clippy::unwrap_used)]

use crate::transcript;

use engine::catalog::StatisticsDefinition;
use engine::session::update_statistics_aside;
use engine::types::Value;
use transcript::{Transcript, instance, session};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, Session, SinkClosed};

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The rows of a query, one line each.
fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let answer = run(session, query);
    let lines = answer
        .lines()
        .skip(1)
        .filter(|line| line.starts_with("  ") && !line.starts_with("  ("));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// 1,000 rows: `a` rises, `b` is 7 in 500 rows and one of 0 to 99 in the others, `c` is NULL in 10.
const SETUP: &str = "set nocount on create table t (a int not null primary key, b int not null, c varchar(30) null) \
    declare @i int = 0 while @i < 1000 begin \
    insert t values (@i, case when @i % 2 = 0 then 7 else @i / 10 end, case when @i % 100 = 3 then null else concat('name ', @i % 20) end) \
    set @i += 1 end";

fn started() -> Session {
    let mut one = session(&instance());
    assert_eq!(run(&mut one, SETUP), "");
    one
}

#[test]
fn a_histogram_says_what_is_there() {
    let mut one = started();
    assert_eq!(run(&mut one, "create statistics sb on t (b, c) with fullscan"), "");
    let header = rows(&mut one, "dbcc show_statistics (t, sb) with stat_header, no_infomsgs");
    assert_eq!(header.len(), 1);
    assert!(header[0].starts_with("sb | "), "{header:?}");
    assert!(header[0].contains("| 1000 | 1000 | 100 |"), "{header:?}");
    let densities = rows(
        &mut one,
        "dbcc show_statistics (t, sb) with density_vector, no_infomsgs",
    );
    assert_eq!(densities.len(), 2);
    assert!(
        densities[0].starts_with("0.01 | 4"),
        "a hundred values of b: {densities:?}"
    );
    assert!(
        densities[0].ends_with("| b") && densities[1].ends_with("| b, c"),
        "{densities:?}"
    );
    let histogram = rows(&mut one, "dbcc show_statistics (t, sb) with histogram, no_infomsgs");
    assert_eq!(histogram.len(), 100, "every value is a step");
    assert_eq!(histogram[0], "0 | 0 | 5 | 0 | 1");
    assert_eq!(histogram[7], "7 | 0 | 505 | 0 | 1");
    let steps = "select count(*), sum(range_rows + equal_rows) from sys.stats s cross apply sys.dm_db_stats_histogram(s.object_id, s.stats_id) where s.name = 'sb'";
    assert_eq!(rows(&mut one, steps), ["100 | 1000"]);
    let whole = run(&mut one, "dbcc show_statistics ('dbo.t', 'sb')");
    assert!(whole.contains("DBCC execution completed."), "{whole}");
}

#[test]
fn null_and_many_values_have_their_steps() {
    let mut one = started();
    run(&mut one, "create statistics sc on t (c) create statistics sa on t (a)");
    let histogram = rows(&mut one, "dbcc show_statistics (t, sc) with histogram, no_infomsgs");
    assert!(histogram[0].starts_with("NULL | 0 | 10 |"), "{histogram:?}");
    assert_eq!(histogram.len(), 21, "twenty names and NULL");
    let histogram = rows(&mut one, "dbcc show_statistics (t, sa) with histogram, no_infomsgs");
    assert_eq!(histogram.len(), 200);
    assert_eq!(histogram[0], "0 | 0 | 1 | 0 | 1");
    assert!(histogram[199].starts_with("999 |"), "{histogram:?}");
}

#[test]
fn every_index_has_statistics_and_they_follow_it() {
    let mut one = started();
    run(&mut one, "create index ib on t (b)");
    let known = "select s.stats_id, s.name, s.auto_created, s.user_created, p.rows, p.modification_counter from sys.stats s outer apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p where s.object_id = object_id('t') and s.name not like 'PK%' order by 1";
    assert_eq!(rows(&mut one, known), ["2 | ib | 0 | 0 | 1000 | 0"]);
    run(&mut one, "create statistics sc on t (c)");
    run(
        &mut one,
        "insert t values (1000, 1, null) update t set b = 3 where a < 5 update t set c = 'x' where a < 7 delete t where a = 9",
    );
    assert_eq!(
        rows(&mut one, known),
        ["2 | ib | 0 | 0 | 1000 | 7", "3 | sc | 0 | 1 | 1000 | 9"],
        "each column counts its own changes"
    );
    run(
        &mut one,
        "update statistics t ib update statistics t (sc) with sample 50 percent, norecompute",
    );
    let sampled = "select s.name, p.rows, p.modification_counter, s.no_recompute, case when p.rows_sampled between 300 and 700 then 'half' else 'all' end from sys.stats s outer apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p where s.object_id = object_id('t') and s.name not like 'PK%' order by 1";
    assert_eq!(
        rows(&mut one, sampled),
        ["ib | 1000 | 0 | 0 | all", "sc | 1000 | 0 | 1 | half"]
    );
    run(&mut one, "create index ic on t (c)");
    assert_eq!(
        rows(
            &mut one,
            "select stats_id, name from sys.stats where object_id = object_id('t') and name like 'i_' order by 1"
        ),
        ["2 | ib", "4 | ic"],
        "numbers of indexes and statistics are given once"
    );
    run(&mut one, "drop index t.ib");
    assert_eq!(rows(&mut one, known).len(), 2);
    run(&mut one, "alter index ic on t rebuild");
    assert_eq!(
        rows(&mut one, known),
        ["3 | sc | 0 | 1 | 1000 | 0", "4 | ic | 0 | 0 | 1000 | 0"]
    );
}

#[test]
fn statistics_are_part_of_their_transaction_and_of_their_table() {
    let mut one = started();
    let count = "select count(*) from sys.stats where object_id = object_id('t')";
    run(&mut one, "begin tran create statistics sb on t (b) rollback");
    assert_eq!(rows(&mut one, count), ["1"]);
    run(&mut one, "create statistics sb on t (b) create statistics sc on t (c)");
    run(&mut one, "begin tran drop statistics t.sb, t.sc rollback");
    assert_eq!(rows(&mut one, count), ["3"]);
    run(&mut one, "drop statistics t.sb");
    assert_eq!(rows(&mut one, count), ["2"]);
    // Columns move up; what statistics say of them follows.
    run(&mut one, "alter table t drop column b");
    assert_eq!(
        rows(
            &mut one,
            "select column_id from sys.stats_columns k join sys.stats s on s.object_id = k.object_id and s.stats_id = k.stats_id where s.name = 'sc'"
        ),
        ["2"]
    );
    run(&mut one, "drop table t");
    assert_eq!(
        rows(&mut one, "select count(*) from sys.stats where name = 'sc'"),
        ["0"]
    );
}

#[test]
fn with_says_what_is_counted_and_how() {
    let mut one = started();
    run(
        &mut one,
        "create statistics whole on t (b) with fullscan create statistics part on t (b) with sample 20 percent create statistics few on t (b) with sample 100 rows, norecompute create index ib on t (b)",
    );
    let sampled = |one: &mut Session, name: &str| -> i64 {
        let query = format!(
            "select p.rows_sampled from sys.stats s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p where s.name = '{name}'"
        );
        rows(one, &query)[0].parse().unwrap()
    };
    assert_eq!(sampled(&mut one, "whole"), 1000);
    assert!((100..300).contains(&sampled(&mut one, "part")));
    assert!((50..150).contains(&sampled(&mut one, "few")));
    let kept = "select name from sys.stats where no_recompute = 1";
    assert_eq!(rows(&mut one, kept), ["few"]);
    run(&mut one, "update statistics t with resample, columns");
    assert!((100..300).contains(&sampled(&mut one, "part")), "the share stays");
    assert_eq!(sampled(&mut one, "whole"), 1000);
    run(&mut one, "update statistics t (whole, part) with sample 10 percent");
    assert!(sampled(&mut one, "whole") < 200);
    let changed = |one: &mut Session, name: &str| -> String {
        let query = format!(
            "select p.modification_counter from sys.stats s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p where s.name = '{name}'"
        );
        rows(one, &query)[0].clone()
    };
    run(
        &mut one,
        "update t set b = 1 where a < 10 update statistics t with columns",
    );
    assert_eq!(
        (changed(&mut one, "part").as_str(), changed(&mut one, "ib").as_str()),
        ("0", "10")
    );
    run(
        &mut one,
        "update t set b = 2 where a < 10 update statistics t with index",
    );
    assert_eq!(
        (changed(&mut one, "part").as_str(), changed(&mut one, "ib").as_str()),
        ("10", "0")
    );
    run(&mut one, "update statistics t with all, fullscan");
    assert_eq!(
        (changed(&mut one, "part").as_str(), sampled(&mut one, "part")),
        ("0", 1000)
    );
    assert_eq!(
        rows(&mut one, kept),
        [""; 0],
        "an update without NORECOMPUTE takes it back"
    );
    run(&mut one, "update statistics t part with norecompute");
    assert_eq!(rows(&mut one, kept), ["part"]);
}

#[test]
fn a_database_says_what_is_made_by_itself() {
    let mut one = session(&instance());
    run(&mut one, "create database d");
    let options = "select is_auto_create_stats_on, is_auto_update_stats_on, is_auto_update_stats_async_on from sys.databases where name = 'd'";
    assert_eq!(rows(&mut one, options), ["1 | 1 | 0"]);
    run(
        &mut one,
        "alter database d set auto_create_statistics off, auto_update_statistics_async on",
    );
    assert_eq!(rows(&mut one, options), ["0 | 1 | 1"]);
    run(
        &mut one,
        "alter database d set auto_update_statistics off alter database d set auto_create_statistics on",
    );
    assert_eq!(rows(&mut one, options), ["1 | 0 | 1"]);
    assert_eq!(
        rows(&mut one, "select databasepropertyex('d', 'IsAutoUpdateStatistics')"),
        ["0"]
    );
    run(&mut one, "alter database d set offline alter database d set online");
    assert_eq!(
        rows(&mut one, options),
        ["1 | 0 | 1"],
        "it is the database that remembers"
    );
}

/// A plan that compares columns asks for their statistics; the next one has them. What is out of date is counted again.
#[test]
fn plans_make_and_update_the_statistics_they_want() {
    let mut one = session(&instance());
    run(&mut one, "create database d");
    run(&mut one, "use d");
    run(&mut one, SETUP);
    let made = "select s.name, p.rows, p.modification_counter from sys.stats s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p where s.object_id = object_id('t') and s.auto_created = 1 order by 1";
    run(&mut one, "select count(*) from t where a = 5");
    assert_eq!(
        rows(&mut one, made),
        [""; 0],
        "one row by a unique index asks for nothing"
    );
    run(&mut one, "alter database d set auto_create_statistics off");
    run(&mut one, "select count(*) from t where b = 5");
    assert_eq!(rows(&mut one, made), [""; 0]);
    run(&mut one, "alter database d set auto_create_statistics on");
    run(&mut one, "select count(*) from t where b = 6 and c like 'name 1%'");
    let found = rows(&mut one, made);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("_WA_Sys_00000002_") && found[0].ends_with("| 1000 | 0"),
        "{found:?}"
    );
    run(
        &mut one,
        "alter database d set auto_update_statistics off update t set b = b + 1 where a < 800",
    );
    run(&mut one, "select count(*) from t where b = 7");
    assert!(rows(&mut one, made)[0].ends_with("| 1000 | 800"));
    run(&mut one, "alter database d set auto_update_statistics on");
    // A plan that is there already, for 7 in place of 8, would not ask.
    run(&mut one, "select count(*) from t where b in (8, 9)");
    assert!(
        rows(&mut one, made)[0].ends_with("| 1000 | 0"),
        "500 and a fifth of 1,000 are fewer than 800"
    );
    // Uncommitted tables, and temporary ones, are counted for the moment.
    run(
        &mut one,
        "begin tran select * into u from t select count(*) from u where b = 3",
    );
    assert_eq!(
        rows(
            &mut one,
            "select count(*) from sys.stats where object_id = object_id('u')"
        ),
        ["0"]
    );
    assert_eq!(run(&mut one, "rollback"), "");
    assert_eq!(run(&mut one, "dbcc checkdb with no_infomsgs"), "");
}

const REFUSALS: [(&str, &str); 11] = [
    ("create statistics sb on t (c)", "Msg 1927, Level 16, State 1"),
    ("create statistics x on t (nope)", "Msg 1911, Level 16, State 1"),
    ("create statistics x on t (b, b)", "Msg 1909, Level 16, State 1"),
    (
        "create statistics x on t (b) with fullscan, sample 5 percent",
        "Msg 1052, Level 15, State 1",
    ),
    (
        "create statistics x on t (b) with sample 101 percent",
        "Msg 102, Level 15, State 1",
    ),
    ("create index sb on t (b)", "Msg 1913, Level 16, State 1"),
    ("update statistics t nope", "Msg 2767, Level 16, State 1"),
    ("drop statistics t.nope", "Msg 3701, Level 11"),
    ("drop statistics t.ib", "Msg 3739, Level 11, State 1"),
    ("alter table t drop column b", "Msg 5074, Level 16, State 1"),
    ("dbcc show_statistics (t, nope)", "Msg 2767, Level 16, State 1"),
];

#[test]
fn what_cannot_be_is_refused_by_number() {
    let mut one = started();
    run(&mut one, "create index ib on t (a desc) create statistics sb on t (b)");
    for (statement, expected) in REFUSALS {
        let answer = run(&mut one, statement);
        assert!(answer.contains(expected), "{statement}: {answer}");
    }
}

#[test]
fn procedures_tell_and_update() {
    let mut one = started();
    run(&mut one, "create statistics sb on t (b) create index ic on t (c)");
    assert_eq!(rows(&mut one, "exec sp_helpstats 't'"), ["sb | b"]);
    assert_eq!(rows(&mut one, "exec sp_helpstats 't', 'all'").len(), 3);
    run(&mut one, "update t set b = b + 1");
    let answer = run(&mut one, "exec sp_updatestats");
    assert!(
        answer.contains("2 index(es)/statistic(s) have been updated, 1 did not require update."),
        "{answer}"
    );
    assert!(
        answer.contains("Statistics for all tables have been updated."),
        "{answer}"
    );
    run(&mut one, "exec sp_autostats 't', 'off', 'sb'");
    let answer = rows(&mut one, "exec sp_autostats 't'");
    assert!(answer.iter().any(|line| line.starts_with("[sb] | OFF")), "{answer:?}");
    assert!(answer.iter().any(|line| line.starts_with("[ic] | ON")), "{answer:?}");
    let dated =
        "select case when stats_date(object_id, stats_id) > '2000' then 'yes' end from sys.stats where name = 'sb'";
    assert_eq!(rows(&mut one, dated), ["yes"]);
}

#[test]
fn an_index_may_say_that_its_statistics_stay_as_they_are() {
    let mut one = session(&instance());
    run(&mut one, "create database d");
    run(&mut one, "use d");
    assert_eq!(run(&mut one, SETUP), "");
    let flags =
        "select name, no_recompute from sys.stats where object_id = object_id('t') and name like 'i%' order by name";
    let made = "create index ib on t (b) with (statistics_norecompute = on) create index ic on t (c) with (statistics_norecompute = off)";
    assert_eq!(run(&mut one, made), "");
    assert_eq!(rows(&mut one, flags), ["ib | 1", "ic | 0"]);
    let modified = "select p.modification_counter from sys.stats s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p \
                    where s.object_id = object_id('t') and s.name like 'i%' order by s.name";
    run(&mut one, "update t set b = b + 1, c = 'other' where a < 800");
    run(&mut one, "select count(*) from t where b = 5 and c = 'name 3'");
    assert_eq!(
        rows(&mut one, modified),
        ["800", "0"],
        "the one is left, the other is counted"
    );
    assert_eq!(run(&mut one, "alter index ib on t rebuild"), "");
    assert_eq!(
        rows(&mut one, flags),
        ["ib | 0", "ic | 0"],
        "a rebuild that does not say it ends it"
    );
    assert_eq!(
        run(
            &mut one,
            "alter index ic on t rebuild with (statistics_norecompute = on)"
        ),
        ""
    );
    assert_eq!(rows(&mut one, flags), ["ib | 0", "ic | 1"]);
    assert_eq!(
        run(&mut one, "alter index all on t set (statistics_norecompute = on)"),
        ""
    );
    assert_eq!(rows(&mut one, flags), ["ib | 1", "ic | 1"]);
    let key = "create table n (a int primary key with (statistics_norecompute = on))";
    assert!(run(&mut one, key).contains("Msg 40517,"));
}

/// Rows come by rising `b` from the index, by falling `b` from the table: so the plan is seen.
#[test]
fn a_plan_does_not_wait_for_statistics_that_are_updated_asynchronously() {
    let mut one = session(&instance());
    run(&mut one, "create database d");
    run(&mut one, "use d");
    run(&mut one, "alter database d set auto_update_statistics_async on");
    let setup = "set nocount on create table t (a int not null primary key, b int not null, c varchar(20)) \
        declare @i int = 0 while @i < 1000 begin insert t values (@i, 1000 - @i, 'x') set @i += 1 end create index ib on t (b)";
    assert_eq!(run(&mut one, setup), "");
    let counter = "select p.modification_counter from sys.stats s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p \
                   where s.name = 'ib'";
    // 800 rows come above 2,000, where the histogram has none.
    run(&mut one, "update t set b = 3000 - a where a < 800");
    assert_eq!(rows(&mut one, counter), ["800"]);
    let first = |one: &mut Session, text: &str| rows(one, text).first().cloned();
    let stale = first(&mut one, "select a from t where b > 2000 and c <> 'y'");
    assert_eq!(
        stale.as_deref(),
        Some("799"),
        "by the index: the histogram knows no such rows"
    );
    assert_eq!(rows(&mut one, counter), ["0"], "they were counted meanwhile");
    let current = first(&mut one, "select a from t where b > 2000 and c <> 'z'");
    assert_eq!(
        current.as_deref(),
        Some("0"),
        "from the table: nearly all rows are there"
    );
}

/// A session that had asked for statistics had them counted, though another had done it in between.
#[test]
fn statistics_that_were_counted_meanwhile_are_not_counted_again() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "create database d");
    run(&mut one, "use d");
    assert_eq!(run(&mut one, SETUP), "");
    run(&mut one, "create statistics sb on t (b)");
    let database = instance.database("d").unwrap();
    let object = database.catalog.find("dbo", "t", 0).unwrap();
    let known = || -> Vec<StatisticsDefinition> {
        let kept = database.catalog.statistics_of(object.definition.object_id(), 0);
        let known = kept.iter().filter_map(|object| object.statistics().cloned());
        known.filter(|statistics| statistics.name == "sb").collect()
    };
    let updated = || known()[0].content.as_ref().unwrap().updated;
    let (before, when_asked) = (known(), updated());
    run(&mut one, "waitfor delay '00:00:01' update statistics t sb");
    let current = updated();
    assert_ne!(current, when_asked);
    update_statistics_aside(&database, &object, before, (1, 1));
    assert_eq!(updated(), current);
    update_statistics_aside(&database, &object, known(), (2, 2));
    assert_eq!(updated(), (2, 2), "that they are out of date is for who asks to say");
}

/// ROWCOUNT and PAGECOUNT say how large a table is to be taken for: the optimizer and the views believe it, at once and in plans that are
/// kept; rows that come are counted from there; nothing that a query answers changes.
#[test]
fn a_table_is_taken_for_as_large_as_it_is_said_to_be() {
    let mut one = started();
    let cost = |one: &mut Session| -> (f64, f64) {
        run(one, "set showplan_all on");
        let lines = rows(one, "select c from t where c > 'a'");
        run(one, "set showplan_all off");
        let scan = lines.iter().find(|line| line.contains("Scan")).unwrap();
        let parts: Vec<&str> = scan.split(" | ").collect();
        (parts[8].parse().unwrap(), parts[9].parse().unwrap())
    };
    let before = cost(&mut one);
    let answer = rows(&mut one, "select count(*) from t where c > 'a'");
    assert_eq!(
        run(
            &mut one,
            "update statistics t with rowcount = 5000000, pagecount = 40000"
        ),
        ""
    );
    let after = cost(&mut one);
    assert!(
        after.0 > before.0 * 1000.0 && after.1 > before.1 * 100.0,
        "{before:?} {after:?}"
    );
    assert_eq!(rows(&mut one, "select count(*) from t where c > 'a'"), answer);
    let shown = "select sum(rows) from sys.partitions where object_id = object_id('t')";
    assert_eq!(rows(&mut one, shown), ["5000000"]);
    run(&mut one, "insert t values (-1, 0, null)");
    assert_eq!(rows(&mut one, shown), ["5000001"]);
    // The greatest there is, as scripts give it, and rows on top of it.
    run(
        &mut one,
        "update statistics t with rowcount = 9223372036854775807, pagecount = 9223372036854775807",
    );
    run(&mut one, "insert t values (-2, 0, null)");
    assert_eq!(rows(&mut one, shown), ["9223372036854775807"]);
    assert_eq!(rows(&mut one, "select max(a) from t where b < 5"), ["49"]);
    for refused in [
        "rowcount",
        "rowcount = -1",
        "rowcount = 1.5",
        "rowcount = 'x'",
        "pagecount = 10, fullscan",
    ] {
        let answer = run(&mut one, &format!("update statistics t with {refused}"));
        assert!(answer.contains("Msg "), "{refused}: {answer}");
    }
}

/// Takes the estimate of the first operator of a plan.
#[derive(Default)]
struct FirstEstimate {
    place: Option<usize>,
    rows: Option<f64>,
}

impl ResultSink for FirstEstimate {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.place = columns.iter().position(|column| column.name == "EstimateRows");
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let rows = self.place.and_then(|place| match &row[place] {
            Value::Float(rows) => Some(*rows),
            Value::Real(rows) => Some(f64::from(*rows)),
            _ => None,
        });
        self.rows = self.rows.or(rows);
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        panic!("{message:?}");
    }
}

/// How many rows a query is taken to find.
fn estimated(one: &mut Session, query: &str) -> f64 {
    run(one, "set showplan_all on");
    let mut first = FirstEstimate::default();
    one.execute(query, &mut first);
    run(one, "set showplan_all off");
    first.rows.unwrap_or_else(|| panic!("{query} has no estimate"))
}

/// Of `b = 7` there are the 500 rows in which `a` is even, and five of the others.
#[test]
fn filtered_statistics_are_those_of_their_rows() {
    let mut one = started();
    assert_eq!(
        run(&mut one, "create statistics fa on t (a) where b = 7 with fullscan"),
        ""
    );
    let header = rows(&mut one, "dbcc show_statistics (t, fa) with stat_header, no_infomsgs");
    assert!(header[0].contains("| 505 | 505 | "), "{header:?}");
    assert!(header[0].contains("| ([b]=(7)) | 1000 | "), "{header:?}");
    let steps = rows(&mut one, "dbcc show_statistics (t, fa) with histogram, no_infomsgs");
    assert!(steps[0].starts_with("0 | 0 | 1 |"), "{steps:?}");
    assert_eq!(
        rows(
            &mut one,
            "select has_filter, filter_definition, user_created from sys.stats where name = 'fa'"
        ),
        ["1 | ([b]=(7)) | 1"]
    );
    let counts = "select rows, rows_sampled, unfiltered_rows from sys.dm_db_stats_properties(object_id('t'), \
        (select stats_id from sys.stats where name = 'fa'))";
    assert_eq!(rows(&mut one, counts), ["505 | 505 | 1000"]);
    run(&mut one, "delete t where a < 400");
    assert_eq!(rows(&mut one, counts), ["505 | 505 | 1000"]);
    run(&mut one, "update statistics t fa");
    assert_eq!(rows(&mut one, counts), ["300 | 300 | 600"]);
    run(&mut one, "update statistics t (fa) with sample 50 percent");
    let sampled = rows(&mut one, counts);
    assert!(
        sampled[0].ends_with("| 600") && !sampled[0].starts_with("300 | 300"),
        "{sampled:?}"
    );
    run(
        &mut one,
        "begin tran update t set b = 8 where b = 7 update statistics t fa rollback",
    );
    assert_eq!(
        rows(&mut one, counts),
        sampled,
        "statistics go back with their transaction"
    );
    run(&mut one, "update t set b = 8 where b = 7 update statistics t fa");
    assert_eq!(rows(&mut one, counts), ["0 | 0 | 600"]);
}

/// Where conditions imply the filter, plans go by the rows for which it holds; where they do not, as if there were no such statistics.
#[test]
fn plans_go_by_filtered_statistics_that_are_implied() {
    let mut one = started();
    // Where b is 7, c depends on a: one of ten names is that of 5,000 rows, without b it is that of a twentieth.
    run(
        &mut one,
        "create table r (id int identity primary key, b int not null, c int not null) \
         insert r (b, c) select value % 100, case when value % 100 = 7 then value % 2 else value % 1000 end from generate_series(1, 20000)",
    );
    let query = "select id from r where b = 7 and c = 1";
    let elsewhere = "select id from r where b = 8 and c = 1";
    let (before, other) = (estimated(&mut one, query), estimated(&mut one, elsewhere));
    assert!(before < 50.0, "as if b and c were independent: {before}");
    run(&mut one, "create statistics fc on r (c) where b = 7 with fullscan");
    let after = estimated(&mut one, query);
    assert!(
        (after - 200.0).abs() < 20.0,
        "all 200 rows of b = 7 have an odd number: {after}"
    );
    assert_eq!(estimated(&mut one, elsewhere), other);
    let range = estimated(&mut one, "select id from r where b = 7 and c < 1");
    assert!(range < 5.0, "none of them: {range}");
    let alone = estimated(&mut one, "select id from r where b = 7");
    assert!((alone - 200.0).abs() < 20.0, "{alone}");
    // A plan of it is made again when the statistics are another's.
    run(&mut one, "drop statistics r.fc");
    assert_eq!(estimated(&mut one, query), before);
}

#[test]
fn filters_of_statistics_follow_their_columns_and_are_refused_as_those_of_indexes() {
    let mut one = started();
    run(&mut one, "alter table t add d int null, e as a + 1");
    run(&mut one, "create statistics fa on t (a) where c is not null and d > 3");
    for (batch, number) in [
        ("alter table t drop column d", "5074"),
        ("exec sp_rename 't.d', 'x', 'COLUMN'", "15336"),
        ("create statistics x on t (a) where e = 1", "10609"),
        ("create statistics x on t (a) where b = null", "10620"),
        ("create statistics x on t (a) where b = a", "10735"),
        ("create statistics x on t (a) where b = 'x'", "10612"),
        ("create statistics x on t (a) where nosuch = 1", "207"),
        ("create statistics x on t (a) where b = 1 or b = 2", "156"),
    ] {
        let told = run(&mut one, batch);
        assert!(told.contains(&format!("Msg {number},")), "{batch}: {told}");
        assert!(!told.contains("Filtered index"), "{told}");
    }
    run(
        &mut one,
        "drop statistics t.fa create statistics fa on t (a) where d is null with fullscan",
    );
    run(&mut one, "alter table t drop column c");
    let counts = "select rows, unfiltered_rows from sys.dm_db_stats_properties(object_id('t'), \
        (select stats_id from sys.stats where name = 'fa'))";
    run(
        &mut one,
        "update t set d = 1 where a < 100 update statistics t fa with fullscan",
    );
    assert_eq!(rows(&mut one, counts), ["900 | 1000"]);
}
