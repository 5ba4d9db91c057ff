//! Sequences: which values are given, where NEXT VALUE FOR may stand, what outlives rollbacks and crashes. Expected answers are those of SQL
//! Server's documentation ("CREATE SEQUENCE", "NEXT VALUE FOR", "ALTER SEQUENCE", "sp_sequence_get_range").
#![allow(clippy::unwrap_used)]

use crate::answers::{error, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

use std::sync::Arc;

use engine::seams::ManualClock;
use tsql::session::Session;

fn begun() -> Session {
    let clock = Arc::new(ManualClock::starting_at(1_800_000_000_000_000));
    let mut session = transcript::session(&transcript::instance_with(clock));
    run(
        &mut session,
        &[
            "create sequence s as int start with 1 increment by 1",
            "create table t (a int, b varchar(10))",
        ],
    );
    session
}

/// One value for each row, the same one in all places of a row.
#[test]
fn rows_get_values_and_places_of_a_row_share_one() {
    let mut session = begun();
    assert_eq!(rows(&mut session, "select next value for s"), "1");
    assert_eq!(
        rows(
            &mut session,
            "select next value for dbo.s, next value for s, x from (values (10), (20)) v (x)"
        ),
        "2 2 10|3 3 20"
    );
    run(
        &mut session,
        &[
            "insert t values (next value for s, 'a'), (next value for s, 'b')",
            "insert t select next value for s, b from t",
            "update t set a = next value for s * 10 where b = 'b'",
            "declare @x int = next value for s set @x = next value for s insert t values (@x, 'set')",
        ],
    );
    assert_eq!(
        rows(&mut session, "select a, b from t order by a"),
        "4 a|6 a|11 set|80 b|90 b"
    );
    run(
        &mut session,
        &["create table d (id int default (next value for s), twice int default next value for dbo.s, x int)"],
    );
    run(
        &mut session,
        &[
            "insert d (x) values (1), (2)",
            "insert d (id, x) select x * 100, x from d",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id, twice from d order by twice"),
        "12 12|13 13|100 14|200 15"
    );
    assert_eq!(
        rows(
            &mut session,
            "select definition from sys.default_constraints where parent_column_id = 1"
        ),
        "(NEXT VALUE FOR [s])"
    );
    assert_eq!(error(&mut session, "drop sequence s"), 3729);
    run(
        &mut session,
        &["drop table d", "drop sequence s", "drop sequence if exists s"],
    );
    assert_eq!(error(&mut session, "drop sequence s"), 3701);
    assert_eq!(error(&mut session, "select next value for s"), 208);
}

/// OVER (ORDER BY) says which rows get lower values.
#[test]
fn over_orders_the_values() {
    let mut session = begun();
    run(&mut session, &["insert t values (3, 'c'), (1, 'a'), (2, 'b')"]);
    let ordered = "select next value for s over (order by b desc), b from t order by b";
    assert_eq!(rows(&mut session, ordered), "3 a|2 b|1 c");
    run(&mut session, &["create table u (id int, b varchar(10))"]);
    run(
        &mut session,
        &["insert u select next value for s over (order by a), b from t"],
    );
    assert_eq!(rows(&mut session, "select id, b from u order by id"), "4 a|5 b|6 c");
}

/// Bounds, cycles, steps downward, types.
#[test]
fn values_end_or_begin_again() {
    let mut session = begun();
    run(&mut session, &["create sequence e as tinyint start with 254 no cycle"]);
    assert_eq!(
        rows(&mut session, "select next value for e select next value for e"),
        "254|255"
    );
    assert_eq!(error(&mut session, "select next value for e"), 11728);
    assert_eq!(
        rows(&mut session, "select is_exhausted from sys.sequences where name = 'e'"),
        "1"
    );
    run(&mut session, &["alter sequence e restart with 7"]);
    assert_eq!(rows(&mut session, "select next value for e"), "7");
    run(
        &mut session,
        &["create sequence c start with 2 increment by 2 minvalue 1 maxvalue 5 cycle cache 10"],
    );
    let several = "select next value for c from (values (1), (2), (3), (4), (5)) v (x)";
    assert_eq!(rows(&mut session, several), "2|4|1|3|5");
    run(
        &mut session,
        &["create sequence n as smallint increment by -1 no cache"],
    );
    assert_eq!(
        rows(&mut session, "select next value for n select next value for n"),
        "32767|32766"
    );
    run(
        &mut session,
        &[
            "alter sequence n increment by -10 minvalue 0",
            "alter sequence n restart",
        ],
    );
    assert_eq!(
        rows(&mut session, "select next value for n select next value for n"),
        "32767|32757"
    );
    run(&mut session, &["create sequence d as decimal(5, 0) minvalue 0"]);
    assert_eq!(rows(&mut session, "select next value for d"), "0");
    run(&mut session, &["create sequence b"]);
    assert_eq!(rows(&mut session, "select next value for b"), i64::MIN.to_string());
}

/// What is wrong with a sequence, and with where NEXT VALUE FOR stands, by number.
#[test]
fn errors_of_sequences() {
    let mut session = begun();
    for (batch, number) in [
        ("create sequence s", 2714),
        ("create sequence x increment by 0", 11700),
        ("create sequence x minvalue 1 maxvalue 5 increment by 5", 11701),
        ("create sequence x as varchar(9)", 11702),
        ("create sequence x as decimal(5, 2)", 11702),
        ("create sequence x start with 10 maxvalue 5", 11703),
        ("create sequence x minvalue 5 maxvalue 5", 11705),
        ("create sequence x cache 0", 11706),
        ("create sequence x as tinyint start with 300", 11708),
        ("create sequence x no cache cache", 102),
        ("alter sequence s maxvalue 0", 11704),
        ("alter sequence nothing restart", 208),
        ("alter sequence t restart", 11726),
        ("select next value for t", 11726),
        ("select a from t where a = next value for s", 11720),
        ("select a from t group by a having a > next value for s", 11720),
        ("select (select next value for s)", 11719),
        ("select x from (select next value for s as x) d", 11719),
        ("with c as (select next value for s as x) select x from c", 11719),
        ("create view v as select next value for s as x", 11719),
        ("select distinct next value for s from t", 11721),
        ("select next value for s union all select 1", 11721),
        ("select next value for s from t order by a", 11723),
        ("select top (1) next value for s from t", 11739),
        ("select case when a = 1 then next value for s end from t", 11741),
        ("select isnull(a, next value for s) from t", 11741),
        ("select * from s", 208),
    ] {
        assert_eq!(error(&mut session, batch), number, "{batch}");
    }
    assert_eq!(rows(&mut session, "select next value for s"), "1");
}

/// The catalog's rows, and values taken at once.
#[test]
fn the_catalog_and_ranges() {
    let mut session = begun();
    run(
        &mut session,
        &["create sequence q as int start with 10 increment by 5 minvalue 10 maxvalue 30 cycle cache 20"],
    );
    let shown = "select type, type_desc, convert(int, start_value), convert(int, increment), convert(int, minimum_value), \
                 convert(int, maximum_value), is_cycling, is_cached, cache_size, convert(int, current_value), is_exhausted, \
                 system_type_id from sys.sequences where name = 'q'";
    assert_eq!(
        rows(&mut session, shown),
        "SO SEQUENCE_OBJECT 10 5 10 30 1 1 20 10 0 56"
    );
    assert_eq!(
        rows(
            &mut session,
            "select data_type, cycle_option from information_schema.sequences where sequence_name = 'q'"
        ),
        "int 1"
    );
    assert_eq!(
        rows(
            &mut session,
            "select type from sys.objects where object_id = object_id('q')"
        ),
        "SO"
    );
    let range = "declare @f sql_variant, @l sql_variant, @c int, @i sql_variant exec sp_sequence_get_range @sequence_name = N'dbo.q', \
                 @range_size = 4, @range_first_value = @f output, @range_last_value = @l output, @range_cycle_count = @c output, \
                 @sequence_increment = @i output select convert(int, @f), convert(int, @l), @c, convert(int, @i)";
    assert_eq!(rows(&mut session, range), "10 25 0 5");
    assert_eq!(rows(&mut session, range), "30 20 1 5");
    assert_eq!(rows(&mut session, "select next value for q"), "25");
    run(&mut session, &["alter sequence q no cycle"]);
    assert_eq!(error(&mut session, range), 11732);
    assert_eq!(rows(&mut session, "select next value for q"), "30");
}

/// A rollback returns no value; a rolled back CREATE leaves nothing, a rolled back ALTER the former numbering. After a clean stop numbering goes
/// on where it was, after a kill behind what was cached: no value comes twice.
#[test]
fn values_come_once_whatever_becomes_of_the_server() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story
            .run("use d create sequence s as int start with 1 cache 10 create sequence n as int start with 1 no cache");
        story.run("begin tran create sequence x select next value for x rollback");
        assert_eq!(story.rows("select count(*) from sys.sequences"), ["2"]);
        story.run("begin tran select next value for s rollback");
        story.run("begin tran alter sequence s restart with 500 select next value for s rollback");
        let mut last = 1;
        let mut uncached = 0;
        for _ in 0..3 {
            let value: i64 = story.rows("select next value for s")[0].trim().parse().unwrap();
            assert!(value > last && value < 100, "{again:?}: {value} after {last}");
            let next: i64 = story.rows("select next value for n")[0].trim().parse().unwrap();
            assert_eq!(next, uncached + 1, "{again:?}");
            (last, uncached) = (value, next);
            story.again(again, "d");
            story.run("use d");
        }
        story.run("alter sequence s restart with 7");
        story.again(again, "d");
        story.run("use d");
        assert_eq!(story.rows("select next value for s")[0].trim(), "7", "{again:?}");
        story.is_sound("d");
    }
}

/// "The default minimum value for a new sequence object is the minimum value of the data type of the sequence object": also of a decimal of
/// more digits than 64 bits have.
#[test]
fn a_decimal_sequence_has_the_bounds_of_its_type() {
    let mut story = Story::begin();
    story.run("create database d");
    story
        .run("use d create sequence widest as decimal(38, 0) create sequence narrow as numeric(19, 0) increment by -1");
    let bounds = "select cast(start_value as decimal(38)), cast(minimum_value as decimal(38)), cast(maximum_value as decimal(38)) from sys.sequences order by name";
    let (nine, wide) = ("9".repeat(19), "9".repeat(38));
    assert_eq!(
        story.rows(bounds),
        [format!("{nine} -{nine} {nine}"), format!("-{wide} -{wide} {wide}")]
    );
    assert_eq!(
        story.rows("select next value for widest, next value for narrow"),
        [format!("-{wide} {nine}")]
    );
    // 1 and 38 zeroes is not a value; the last but one and the last are.
    let end = format!("{}8", "9".repeat(37));
    story.run(&format!("alter sequence widest restart with {end}"));
    story.again(Again::Kill, "d");
    story.run("use d");
    assert_eq!(story.rows("select next value for widest"), [end]);
    assert_eq!(story.rows("select next value for widest"), std::slice::from_ref(&wide));
    assert_eq!(story.errors("select next value for widest"), [11728]);
    story.again(Again::StopStart, "d");
    story.run("use d");
    assert_eq!(story.errors("select next value for widest"), [11728]);
    assert_eq!(
        story.errors(&format!("create sequence x as decimal(37, 0) start with {wide}")),
        [11708]
    );
    // The whole range in one step, and around its end.
    let half = format!("5{}", "0".repeat(37));
    story.run(&format!(
        "create sequence leap as decimal(38, 0) increment by {half} cycle no cache"
    ));
    let leaps: Vec<String> = (0..5).flat_map(|_| story.rows("select next value for leap")).collect();
    let (low, high) = (format!("-4{}", "9".repeat(37)), format!("5{}1", "0".repeat(36)));
    let lowest = format!("-{wide}");
    assert_eq!(leaps, [&lowest, &low, "1", &high, &lowest]);
    let batch = "declare @first sql_variant, @last sql_variant, @cycles int
        exec sp_sequence_get_range 'leap', 5, @first output, @last output, @cycles output
        select cast(@first as decimal(38)), cast(@last as decimal(38)), @cycles";
    assert_eq!(story.rows(batch), [format!("{low} {low} 1")]);
    story.is_sound("d");
}
