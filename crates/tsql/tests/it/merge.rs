//! MERGE: which rows each clause is for, what it does to them, and what it answers. Expected answers are those of SQL Server's documentation
//! ("MERGE", "OUTPUT clause"), whose examples some of them are.
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, error, rows, run};
use crate::transcript;

use std::sync::Arc;

use engine::seams::ManualClock;
use tsql::session::Session;

/// A session in an instance of its own with a target and a source.
fn begun() -> Session {
    let clock = Arc::new(ManualClock::starting_at(1_800_000_000_000_000));
    let mut session = transcript::session(&transcript::instance_with(clock));
    run(
        &mut session,
        &[
            "create table t (id int not null primary key, a int, b varchar(10) default 'none')",
            "create table s (id int, a int)",
            "insert t values (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z')",
            "insert s values (2, 200), (3, 300), (4, 400), (null, 0)",
        ],
    );
    session
}

fn all(session: &mut Session) -> String {
    rows(session, "select id, a, b from t order by id")
}

/// Every clause, with conditions: the first that holds acts, rows that none is for stay.
#[test]
fn each_row_goes_to_the_first_clause_whose_condition_holds() {
    let mut session = begun();
    let merged = rows(
        &mut session,
        "merge into t with (holdlock) as target using s as source on target.id = source.id \
         when matched and source.a > 250 then delete \
         when matched then update set a = target.a + source.a, b = upper(b) \
         when not matched by target and source.id is not null then insert (id, a) values (source.id, source.a) \
         when not matched by source and target.id > 100 then delete \
         when not matched by source then update set b = 'alone' \
         output $action, deleted.id, inserted.id, source.a, inserted.b; select @@rowcount",
    );
    let mut merged: Vec<&str> = merged.split('|').collect();
    merged.sort_unstable();
    assert_eq!(
        merged,
        [
            "4",
            "DELETE 3 NULL 300 NULL",
            "INSERT NULL 4 400 none",
            "UPDATE 1 1 NULL alone",
            "UPDATE 2 2 200 Y"
        ]
    );
    assert_eq!(all(&mut session), "1 10 alone|2 220 Y|4 400 none");
}

/// Without clauses for rows of the target alone these are left, whatever ON says; with them an empty source leaves all rows unmatched.
#[test]
fn rows_of_the_target_alone_are_told_from_matched_ones() {
    let mut session = begun();
    run(
        &mut session,
        &["merge t using s on t.id = s.id when matched then update set b = 'm';"],
    );
    assert_eq!(all(&mut session), "1 10 x|2 20 m|3 30 m");
    let empty = "merge t using (select * from s where 1 = 0) e on 1 = 1 when matched then delete \
                 when not matched by source then update set b = 'alone';";
    run(&mut session, &[empty]);
    assert_eq!(all(&mut session), "1 10 alone|2 20 alone|3 30 alone");
    // NULL = NULL is not true: the row is inserted each time, which its key does not take.
    let with_null = "merge t using s on t.id = s.id when not matched then insert values (s.id, s.a, 'n');";
    assert_eq!(error(&mut session, with_null), 515);
    assert_eq!(all(&mut session), "1 10 alone|2 20 alone|3 30 alone");
}

/// The source may be a query, VALUES, a common table expression, a table variable, a join, the target itself.
#[test]
fn sources_and_targets_of_every_kind() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "merge t using (values (1, 11), (9, 99)) as v (id, a) on t.id = v.id when matched then update set a = v.a \
             when not matched then insert (id, a) values (v.id, v.a);",
            "with c as (select id, a from s where id = 4) merge into t using c on c.id = t.id when not matched then insert (id) values (c.id);",
            "declare @v table (id int primary key, n int) insert @v values (1, 1) \
             merge @v as d using (s join t on s.id = t.id) on d.id = t.id when not matched then insert values (t.id, s.a) \
             when not matched by source then delete; insert t (id, a) select id + 20, n from @v",
            "merge top (1) t as d using t as u on d.id = u.id + 100 when not matched then insert (id) values (u.id + 100);",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id, a from t where id < 100 order by id"),
        "1 11|2 20|3 30|4 NULL|9 99|22 200|23 300|24 400"
    );
    assert_eq!(rows(&mut session, "select count(*) from t where id > 100"), "1");
    run(&mut session, &["create view w as select id, a from t where a > 0"]);
    run(
        &mut session,
        &[
            "merge w using s on w.id = s.id + 20 when matched then update set a = -1 when not matched and s.a = 0 then insert (id, a) values (77, 7);",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id, a from t where a in (-1, 7) order by id"),
        "22 -1|23 -1|24 -1|77 7"
    );
    run(
        &mut session,
        &[
            "with c as (select * from t where id in (22, 77)) merge c using s on c.id = s.id when not matched by source then delete;",
        ],
    );
    assert_eq!(rows(&mut session, "select count(*) from t where id in (22, 77)"), "0");
}

/// 8672: a row that is changed twice; not one that is matched twice and changed once.
#[test]
fn a_row_is_changed_once() {
    let mut session = begun();
    run(&mut session, &["insert s values (2, 201)"]);
    assert_eq!(
        error(
            &mut session,
            "merge t using s on t.id = s.id when matched then update set a = s.a;"
        ),
        8672
    );
    assert_eq!(all(&mut session), "1 10 x|2 20 y|3 30 z");
    run(
        &mut session,
        &["merge t using s on t.id = s.id when matched and s.a <> 200 then update set a = s.a;"],
    );
    assert_eq!(all(&mut session), "1 10 x|2 201 y|3 300 z");
}

/// Keys may go from one row to another within the statement; duplicates of the result are refused.
#[test]
fn unique_keys_are_judged_by_the_result() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "merge t using (values (1, 2), (2, 3), (3, 1)) v (id, other) on t.id = v.id when matched then update set id = v.other;",
        ],
    );
    assert_eq!(rows(&mut session, "select b from t order by id"), "z|x|y");
    let twice =
        "merge t using (values (8), (8)) v (id) on t.id = v.id when not matched then insert (id) values (v.id);";
    assert_eq!(error(&mut session, twice), 2627);
}

/// A delete frees keys for an update, the update's for an insert, whatever the order they come in; `$action` tells them apart. What two rows
/// would have in the end is a duplicate, and nothing stays of the statement.
#[test]
fn rows_with_an_action_each_take_keys_from_one_another() {
    for shape in [
        "create table x (k int not null primary key, u int not null unique)",
        "create table x (k int not null primary key nonclustered, u int not null unique)",
        "create table x (k int not null unique, u int not null primary key)",
    ] {
        for (order, join) in [
            ("(9, 3, 20), (3, 2, 10), (2, 1, 30), (1, null, null)", "loop"),
            ("(1, null, null), (2, 1, 30), (3, 2, 10), (9, 3, 20)", "hash"),
            ("(2, 1, 30), (1, null, null), (9, 3, 20), (3, 2, 10)", "merge"),
        ] {
            let mut session = begun();
            run(&mut session, &[shape, "insert x values (1, 10), (2, 20), (3, 30)"]);
            let merge = |changes: &str| {
                format!(
                    "merge x using (values {changes}) v (old, k, u) on x.k = v.old when matched and v.k is null then delete \
                     when matched then update set k = v.k, u = v.u when not matched then insert values (v.k, v.u) \
                     output $action, deleted.k, inserted.k option ({join} join);"
                )
            };
            let output = rows(&mut session, &merge(order));
            let mut merged: Vec<&str> = output.split('|').collect();
            merged.sort_unstable();
            assert_eq!(
                merged,
                ["DELETE 1 NULL", "INSERT NULL 3", "UPDATE 2 1", "UPDATE 3 2"],
                "{shape}"
            );
            assert_eq!(
                error(&mut session, &merge("(1, null, null), (2, 3, 99)")),
                2627,
                "{shape}"
            );
            let left = rows(&mut session, "select k, u from x order by k");
            assert_eq!(left, "1 30|2 10|3 20", "{shape}");
        }
    }
}

/// Identity values are made in the target, given ones are refused (544) or taken; OUTPUT INTO keeps which source row each new row came from.
#[test]
fn identity_and_output_into() {
    let mut session = begun();
    run(
        &mut session,
        &["create table i (k int identity (10, 5) primary key, v int)"],
    );
    let kept = rows(
        &mut session,
        "declare @o table (act nvarchar(10), k int, was int, source int) \
         merge i using s on 1 = 0 when not matched then insert (v) values (s.a) output $action, inserted.k, deleted.k, s.id into @o; \
         select act, source, v, was from @o o join i on i.k = o.k where source is not null order by source select scope_identity()",
    );
    assert_eq!(kept, "INSERT 2 200 NULL|INSERT 3 300 NULL|INSERT 4 400 NULL|25");
    let given = "merge i using s on i.k = s.id when not matched and s.id = 4 then insert (k, v) values (s.id, 0);";
    assert_eq!(error(&mut session, given), 544);
    run(
        &mut session,
        &[&format!("set identity_insert i on {given} set identity_insert i off")],
    );
    assert_eq!(rows(&mut session, "select count(*) from i where k = 4"), "1");
}

/// Triggers fire for each action that the statement has, once, and see the rows of theirs ("MERGE", "Trigger implementation").
#[test]
fn triggers_fire_for_each_action() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table notes (n int identity, note varchar(100))",
            "create trigger ti on t after insert as insert notes select concat('i ', @@rowcount, ' ', count(*)) from inserted",
            "create trigger tu on t after update as insert notes select concat('u ', count(*), ' ', sum(d.a)) from deleted d",
            "create trigger td on t after delete as insert notes select concat('d ', count(*)) from deleted",
            "merge t using s on t.id = s.id when matched then update set a = s.a when not matched and s.id > 0 then insert (id, a) \
             values (s.id, s.a) when not matched by source and t.id > 50 then delete;",
        ],
    );
    assert_eq!(
        rows(&mut session, "select note from notes order by n"),
        "i 3 1|u 2 50|d 0"
    );
    assert_eq!(
        error(
            &mut session,
            "merge t using s on t.id = s.id when matched then delete output deleted.id;"
        ),
        334
    );
    run(
        &mut session,
        &["create trigger ii on t instead of insert as insert notes values ('instead')"],
    );
    let both =
        "merge t using s on t.id = s.id when matched then delete when not matched then insert (id) values (s.id);";
    assert_eq!(error(&mut session, both), 5316);
    run(
        &mut session,
        &[
            "delete notes",
            "merge t using s on t.id = s.id when not matched then insert (id) values (s.id);",
        ],
    );
    assert_eq!(rows(&mut session, "select note from notes"), "instead");
}

/// Each trigger has the rows of its action: those changed, before and after, and for actions without rows none.
#[test]
fn triggers_get_the_rows_of_each_action() {
    let mut session = begun();
    run(
        &mut session,
        &["create table notes (n int identity, note varchar(100)) create table x (a int not null primary key, b int)"],
    );
    for action in ["update", "delete", "insert"] {
        let trigger = format!(
            "create trigger x_{action} on x after {action} as insert notes select concat('{action}', \
             (select concat(' -', a, b) from deleted for xml path('')), (select concat(' +', a, b) from inserted for xml path('')))"
        );
        run(&mut session, &[&trigger]);
    }
    run(
        &mut session,
        &[
            "insert x values (1, 1), (2, 2)",
            "delete notes",
            "merge x using (values (1, null), (2, 22)) v (a, b) on x.a = v.a when matched and v.b is null then delete \
             when matched then update set b = v.b when not matched then insert values (v.a, v.b);",
        ],
    );
    assert_eq!(
        rows(&mut session, "select note from notes order by n"),
        "insert|update -22 +222|delete -11"
    );
}

/// Foreign keys that act on one of the actions and refuse the other.
#[test]
fn foreign_keys_act_and_refuse_by_action() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table c (t int references t (id) on update cascade)",
            "insert c values (1), (2)",
        ],
    );
    let refused = "merge t using s on t.id = s.id when matched then update set id = t.id + 100 when not matched by source then delete;";
    assert_eq!(error(&mut session, refused), 547);
    run(&mut session, &["delete c where t = 1", refused]);
    assert_eq!(rows(&mut session, "select t from c"), "102");
    assert_eq!(rows(&mut session, "select id from t order by id"), "102|103");
    run(
        &mut session,
        &[
            "create table d (t int references t (id) on delete cascade)",
            "insert d values (102), (103)",
            "delete c",
        ],
    );
    let moved = "merge t using (values (102, 1), (103, 0)) v (id, gone) on t.id = v.id when matched and gone = 1 then delete \
                 when matched then update set id = 500;";
    assert_eq!(error(&mut session, moved), 547);
    run(&mut session, &["delete d where t = 103", moved]);
    assert_eq!(rows(&mut session, "select count(*) from d"), "0");
}

/// What is wrong with a MERGE, by number.
#[test]
fn errors_of_merge() {
    let mut session = begun();
    for (batch, number) in [
        ("merge t using s on t.id = s.id when matched then delete", 10713),
        (
            "merge t using s on t.id = s.id when matched then insert (id) values (1);",
            10711,
        ),
        ("merge t using s on t.id = s.id when not matched then delete;", 10711),
        (
            "merge t using s on t.id = s.id when matched then delete when matched then update set a = 1;",
            5324,
        ),
        (
            "merge t using s on t.id = s.id when matched and s.a = 1 then delete when matched then delete;",
            10714,
        ),
        (
            "merge t using s on t.id = s.id when not matched then insert (id) values (1) when not matched then insert (id) values (2);",
            10714,
        ),
        (
            "merge t using s on t.id = s.id when not matched and t.a = 1 then insert (id) values (1);",
            5333,
        ),
        (
            "merge t using s on t.id = s.id when not matched by source and s.a = 1 then delete;",
            5334,
        ),
        (
            "merge t using s on t.id = s.id when not matched by source then update set a = s.a;",
            5334,
        ),
        (
            "merge t using s on t.id = s.id when matched then update set nothing = 1;",
            207,
        ),
        (
            "merge t as x using s as x on x.id = x.id when matched then delete;",
            5318,
        ),
        (
            "merge t using s on t.id = s.id when not matched then insert (id, a) values (1);",
            109,
        ),
        ("merge nothing using s on 1 = 1 when matched then delete;", 208),
        ("merge t using s on t.id = s.id;", 102),
    ] {
        assert_eq!(error(&mut session, batch), number, "{batch}");
    }
    assert_eq!(all(&mut session), "1 10 x|2 20 y|3 30 z");
    let answered = answers(
        &mut session,
        "create procedure p as merge t using s on t.id = s.id when matched then update set a = s.a; exec p",
    );
    assert!(answered.errors.is_empty());
}

/// TypeORM's upsert gives NULL to a column of `date` so.
#[test]
fn a_source_column_that_is_nothing_but_null_is_taken_as_any_type() {
    let mut session = begun();
    run(
        &mut session,
        &["create table d (id int primary key, day date, x xml, u uniqueidentifier)"],
    );
    for source in [
        "(values (1, null, null, null)) as s (id, day, x, u)",
        "(select 1 as id, null as day, null as x, null as u) as s",
        "(select 1, null, null, null union all select 2, null, null, null) as s (id, day, x, u)",
    ] {
        let merge = format!(
            "merge d using {source} on d.id = s.id and (d.day = s.day or s.day is null)
             when matched then update set day = s.day, x = s.x, u = s.u
             when not matched then insert (id, day, x, u) values (s.id, s.day, s.x, s.u);"
        );
        run(&mut session, &[&merge, "update d set day = '2020-01-02'"]);
        let cleared = format!("update d set day = s.day from d join {source} on s.id = d.id");
        run(&mut session, &[&cleared]);
        assert_eq!(
            rows(&mut session, "select count(day) from d where id = 1"),
            "0",
            "{source}"
        );
    }
    // What is an int by more than NULL stays one.
    let mixed = "merge d using (values (1, null), (2, 3)) as s (id, day) on d.id = s.id when matched then update set day = s.day;";
    assert_eq!(error(&mut session, mixed), 206);
}
