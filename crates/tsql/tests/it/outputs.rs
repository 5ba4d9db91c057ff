//! OUTPUT INTO with a second OUTPUT behind it, in every statement that has OUTPUT, and TOP PERCENT of changes.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use story::Story;

fn begin() -> Story {
    let mut story = Story::on(SimDisk::new(7), LogPolicy::native());
    story.run("create database d");
    story.run("use d");
    story.run(
        "create table t (id int primary key, v int) insert t select value, value * 10 from generate_series(1, 10)",
    );
    story.run("create table log (id int, v int, what varchar(9) default 'none')");
    story
}

/// The one goes to the table, the other to the client, each with items of its own.
#[test]
fn output_goes_to_a_table_and_to_the_client() {
    let mut story = begin();
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "insert t output inserted.id, inserted.v into log (id, v) output inserted.v + 1 values (11, 110), (12, 120)",
            &["111", "121"],
            &["11 110 none", "12 120 none"],
        ),
        (
            "update t set v = v + 1 output deleted.id, inserted.v, 'new' into log output inserted.id, deleted.v where id < 3",
            &["1 10", "2 20"],
            &["1 11 new", "2 21 new"],
        ),
        (
            "delete t output deleted.id into log (id) output deleted.* where id = 3",
            &["3 30"],
            &["3 NULL none"],
        ),
        (
            "merge t using (values (4), (20)) s (id) on t.id = s.id when matched then delete when not matched then insert values (s.id, 0) \
             output s.id, null, $action into log output $action, s.id;",
            &["DELETE 4", "INSERT 20"],
            &["20 NULL INSERT", "4 NULL DELETE"],
        ),
    ];
    for (batch, shown, stored) in cases {
        story.run("delete log");
        let mut rows = story.rows(batch);
        rows.sort();
        assert_eq!(rows, *shown, "{batch}");
        let mut rows = story.rows("select id, v, what from log");
        rows.sort();
        assert_eq!(rows, *stored, "{batch}");
    }
    story.run("create trigger tr on t after insert, update, delete as return");
    assert_eq!(
        story.errors("delete t output deleted.id into log (id) output deleted.id"),
        [334]
    );
    assert_eq!(
        story.errors("delete t output deleted.id into log (id) output deleted.id into log (id)"),
        [156]
    );
}

/// A share of the rows, rounded up.
#[test]
fn top_percent_changes_a_share_of_the_rows() {
    let mut story = begin();
    let cases: &[(&str, &str)] = &[
        ("insert top (50) percent t select id + 100, v from t where id <= 5", "3"),
        ("insert top (34) percent t values (21, 1), (22, 1), (23, 1)", "2"),
        (
            "declare @p float = 10 update top (@p) percent t set v = 0 where id <= 10",
            "1",
        ),
        (
            "update top (25) percent t set v = 1 from t join (values (1), (2), (3), (4), (5)) x (id) on x.id = t.id",
            "2",
        ),
        ("delete top (20) percent t where id <= 10", "2"),
        ("delete top (0) percent t", "0"),
        (
            "insert top (50) percent t exec ('select 31, 1 union all select 32, 1')",
            "1",
        ),
        ("insert top (1) t exec ('select 41, 1 union all select 42, 1')", "1"),
    ];
    for (batch, count) in cases {
        assert_eq!(story.rows(&format!("{batch} select @@rowcount")), [*count], "{batch}");
    }
    assert_eq!(story.errors("delete top (101) percent t"), [1031]);
    assert_eq!(story.errors("insert top (-1) percent t values (51, 1)"), [1031]);
    let merge = "merge top (50) percent t using (select 1 as id) s on t.id = s.id when matched then delete;";
    assert_eq!(story.errors(merge), [40517]);
}

/// "from_table_name: Is a column prefix that specifies a table included in the FROM clause of a DELETE, UPDATE, or MERGE statement"
/// (sql-docs, "OUTPUT clause"). The target's own columns are those of inserted and deleted. SQLAlchemy writes UPDATE ... FROM so.
#[test]
fn output_shows_the_other_columns_of_from() {
    let mut story = begin();
    story.run("create table s (id int, n varchar(9), long varchar(max)) insert s values (1, 'one', replicate(cast('x' as varchar(max)), 9000)), (2, 'two', 'y'), (3, 'three', null)");
    let cases: &[(&str, &[&str])] = &[
        (
            "update t set v = v + 1 output s.n, deleted.v, inserted.v, len(s.long) from t join s on s.id = t.id where s.id < 3",
            &["one 10 11 9000", "two 20 21 1"],
        ),
        (
            "update x set v = y.v output inserted.id, y.id, y.v from t x join t y on y.id = x.id + 5",
            &["1 6 60", "2 7 70", "3 8 80", "4 9 90", "5 10 100"],
        ),
        (
            "update x set v = 5 output y.* from t x join (select 3 as i, 'in' as w) y on y.i = x.id",
            &["3 in"],
        ),
        (
            "update t set id = t.id + 100 output inserted.id, s.n from t, s where s.id = t.id",
            &["101 one", "102 two", "103 three"],
        ),
        (
            "update t set v = 0 output isnull(s.n, 'none') from t left join s on s.id + 100 = t.id where t.id in (4, 102)",
            &["none", "two"],
        ),
        (
            "delete t output deleted.id, s.n + '!' into log (id, what) output s.id from t join s on t.id = s.id + 100 where s.id > 1",
            &["2", "3"],
        ),
        ("select id, what from log", &["102 two!", "103 three!"]),
        (
            "delete top (1) t output x.one from t cross join (select 1 as one) x",
            &["1"],
        ),
    ];
    for (batch, shown) in cases {
        let (mut rows, mut expected) = (story.rows(batch), shown.to_vec());
        rows.sort();
        expected.sort_unstable();
        assert_eq!(rows, expected, "{batch}");
    }
    for (batch, error) in [
        ("update t set v = 1 output t.v from t join s on s.id = t.id", 4104),
        ("update x set v = 1 output x.v from t x join s on s.id = x.id", 4104),
        ("delete t output nothing.id from t join s on s.id = t.id", 4104),
        ("delete t output s.id", 4104),
        ("insert t output s.id select id + 1000, 1 from s", 4104),
    ] {
        assert_eq!(story.errors(batch), [error], "{batch}");
    }
}

/// A row that an INSTEAD OF trigger takes, and one of a view, come from FROM too.
#[test]
fn output_through_a_view_shows_the_other_columns_of_from() {
    let mut story = begin();
    story.run("create view w as select id as number, v from t where id < 4");
    let update =
        "update w set v = 9 output inserted.number, o.n from w join (values (2, 'two')) o (id, n) on o.id = w.number";
    assert_eq!(story.rows(update), ["2 two"]);
    assert_eq!(
        story.errors("update w set v = 9 output w.number from w join (values (2)) o (id) on o.id = w.number"),
        [4104]
    );
}
