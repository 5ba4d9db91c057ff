//! An INSERT of the OUTPUT rows of another change: every kind of change, the supported SELECT, and SQL Server's error numbers for
//! everything else (sql-docs, "INSERT", "OUTPUT clause"; sys.messages).
#![allow(clippy::unwrap_used)]

use tsql::session::Session;

use crate::answers::{error, rows, run};
use crate::transcript;

fn begun() -> Session {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table t (id int primary key, a int, b varchar(10))",
            "create table log (n int identity, what varchar(10), id int null, old int null, new int null)",
            "insert t values (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z')",
        ],
    );
    session
}

fn logged(session: &mut Session) -> String {
    rows(session, "select what, id, old, new from log order by id, what")
}

/// The rows of OUTPUT, those that WHERE lets pass, and what the select list makes of them; @@ROWCOUNT is the INSERT's.
#[test]
fn every_change_is_a_source() {
    let mut session = begun();
    run(
        &mut session,
        &["insert log (what, id, old, new) select 'update', d.id, d.old, new + 1 \
           from (update t set a = a * 2 output deleted.id, deleted.a, inserted.a where id < 3) as d (id, old, new) where d.old > 10"],
    );
    assert_eq!(rows(&mut session, "select @@rowcount"), "1");
    assert_eq!(logged(&mut session), "update 2 20 41");
    assert_eq!(rows(&mut session, "select a from t order by id"), "20|40|30");
    run(
        &mut session,
        &[
            "delete log",
            "insert log (what, id) select b, id from (delete from t output deleted.* where id = 3) d",
            "insert into log (what, id, new) select * from (insert t output 'insert' as w, inserted.id, inserted.a values (4, 40, ''), (5, 50, '')) as d",
            "insert log (what, id, old, new) select act, coalesce(n, o), o, n from (merge t using (values (1), (6)) s (id) on t.id = s.id \
             when matched then update set a = 0 when not matched then insert (id, a) values (s.id, 60) \
             output $action, deleted.id, inserted.id) as m (act, o, n) where act <> 'DELETE'",
        ],
    );
    assert_eq!(
        logged(&mut session),
        "UPDATE 1 1 1|z 3 NULL NULL|insert 4 NULL 40|insert 5 NULL 50|INSERT 6 NULL 6"
    );
    assert_eq!(
        rows(&mut session, "select id, a from t order by id"),
        "1 0|2 40|4 40|5 50|6 60"
    );
}

/// The table that is changed may be the one that takes the rows: what the change reads is read before the first row goes in.
#[test]
fn a_change_and_its_insert_may_share_a_table() {
    let mut session = begun();
    run(
        &mut session,
        &["insert t select id + 10, a, b from (update t set a = a + 1 output inserted.id, deleted.a, inserted.b) d"],
    );
    assert_eq!(
        rows(&mut session, "select id, a from t order by id"),
        "1 11|2 21|3 31|11 10|12 20|13 30"
    );
    // Rows move from one table to another in one statement, variables and a table variable among them.
    run(
        &mut session,
        &["declare @kept table (id int, b varchar(10)) declare @least int = 11 \
           insert @kept select id, b from (delete t output deleted.id, deleted.b where id >= @least) d where id <> @least + 1 \
           insert log (id, what) output inserted.id select id, b from @kept"],
    );
    assert_eq!(rows(&mut session, "select id, what from log order by id"), "11 x|13 z");
    assert_eq!(rows(&mut session, "select count(*) from t"), "3");
}

/// An error in either undoes both; inside a transaction it goes on.
#[test]
fn both_changes_are_one_statement() {
    let mut session = begun();
    run(&mut session, &["create table narrow (a int check (a < 25))"]);
    assert_eq!(
        error(
            &mut session,
            "insert narrow select a from (delete t output deleted.a) d"
        ),
        547
    );
    assert_eq!(
        rows(&mut session, "select count(*) from t select count(*) from narrow"),
        "3|0"
    );
    assert_eq!(
        error(
            &mut session,
            "begin tran insert log (id) select id from (update t set id = 1 output inserted.id) d"
        ),
        2627
    );
    assert_eq!(
        rows(&mut session, "select @@trancount select count(*) from log commit"),
        "1|0"
    );
}

/// What a plan is made of changes: it is made again.
#[test]
fn a_kept_plan_follows_its_tables() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create procedure p as insert log (id, old) select id, a from (update t set b = 'q' output inserted.id, inserted.a) d",
            "exec p",
            "alter table t alter column a bigint",
            "create index i on t (a)",
            "exec p",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id, old from log order by n"),
        "1 10|2 20|3 30|1 10|2 20|3 30"
    );
}

/// Every restriction, with its number. TAKEN is a change whose rows are taken.
const REFUSED: [(&str, i32); 36] = [
    ("select * from (delete t output deleted.id) d", 10730),
    (
        "insert log (id) select id from (select id from (delete t output deleted.id) d) e",
        10730,
    ),
    (
        "insert log (id) values ((select id from (delete t output deleted.id) d))",
        10730,
    ),
    ("select id into x from (delete t output deleted.id) d", 10730),
    ("update t set a = 1 from (delete t output deleted.id) d", 10731),
    ("delete t from (delete t output deleted.id) d", 10731),
    (
        "merge t using (delete t output deleted.id) d on 1 = 1 when matched then delete;",
        10734,
    ),
    (
        "insert log (id) select id from (insert t (id) output inserted.id select id from (delete t output deleted.id) d) e",
        10732,
    ),
    (
        "insert log (id) select id from (delete t output deleted.id) d union all select 1",
        10733,
    ),
    (
        "insert log (id) select d.id from (delete t output deleted.id) d join t on t.id = d.id",
        10728,
    ),
    (
        "insert log (id) select d.id from (delete t output deleted.id) d, t",
        10728,
    ),
    (
        "insert log (id) select d.id from t cross apply (delete t output deleted.id) d",
        10728,
    ),
    ("insert log (id) select id from (delete t) d", 10717),
    (
        "insert log (id) select id from (delete t output deleted.id into fired) d",
        10721,
    ),
    (
        "insert log (id) select id from (delete t output deleted.id option (maxdop 1)) d",
        10719,
    ),
    (
        "insert log (id) select id from (insert t output inserted.id exec p) d",
        483,
    ),
    ("insert log (id) select distinct id from TAKEN", 10723),
    ("insert log (id) select top 1 id from TAKEN", 10718),
    ("insert top (1) log (id) select id from TAKEN", 10718),
    ("insert log (id) select id from TAKEN group by id", 10718),
    ("insert log (id) select id from TAKEN order by id", 10718),
    (
        "insert log (id) output inserted.id into plain select id from TAKEN",
        10718,
    ),
    ("insert log (id) select count(*) from TAKEN", 5322),
    (
        "insert log (id) select row_number() over (order by id) from TAKEN",
        5321,
    ),
    ("insert log (id) select (select 1) from TAKEN", 5323),
    ("insert log (id) select id from TAKEN where id in (select 1)", 5323),
    ("insert log (id, old) select id from TAKEN", 120),
    ("insert v select id from TAKEN", 354),
    ("insert fired select id from TAKEN", 355),
    ("insert log (id) select id from (delete fired output deleted.id) d", 334),
    ("insert child select id from TAKEN", 356),
    ("insert parent select id from TAKEN", 356),
    (
        "insert log (id) select id from (delete t output deleted.id) d (id, x)",
        8158,
    ),
    (
        "insert log (id) select id from (delete t output deleted.id, deleted.a) d (id)",
        8159,
    ),
    ("insert log (id) select id from (delete t output deleted.id, 1) d", 8155),
    (
        "insert log (id) select nothing from (delete t output deleted.id) d",
        207,
    ),
];

#[test]
fn what_may_not_stand_beside_a_change_is_refused_by_its_number() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table parent (id int primary key) create table child (id int references parent)",
            "create table fired (id int) create table plain (id int)",
            "exec ('create trigger tr on fired for insert, delete as return')",
            "exec ('create view v as select id from t')",
        ],
    );
    let taken = "(delete t output deleted.id) d";
    for (batch, number) in REFUSED {
        let batch = &batch.replace("TAKEN", taken);
        let found = error(&mut session, batch);
        let is_other_list = [8158, 8159].contains(&number) && [8158, 8159].contains(&found);
        assert!(found == number || is_other_list, "{batch}: {found}");
    }
    assert_eq!(
        rows(&mut session, "select count(*) from t select count(*) from log"),
        "3|0"
    );
}
