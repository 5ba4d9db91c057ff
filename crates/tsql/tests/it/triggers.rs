//! DML triggers: when they fire, what they see, what they may do, and what they leave. Expected answers are those of SQL Server's
//! documentation; each test names the page.
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, error, rows, run};
use crate::story::{Again, Story};
use crate::transcript::{self, on_a_sessions_stack};

use std::sync::Arc;

use engine::seams::ManualClock;
use tsql::session::Session;

/// A session in an instance of its own with two tables, `t` and the notes that triggers take.
fn begun() -> Session {
    let clock = Arc::new(ManualClock::starting_at(1_800_000_000_000_000));
    let mut session = transcript::session(&transcript::instance_with(clock));
    run(
        &mut session,
        &[
            "create table t (id int not null primary key, a int, b varchar(10))",
            "create table notes (n int identity, note varchar(200))",
            "insert t values (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z')",
        ],
    );
    session
}

fn notes(session: &mut Session) -> String {
    rows(session, "select note from notes order by n")
}

/// "DML triggers use the deleted and inserted logical tables"; a trigger fires once per statement, "even if no rows are affected"
/// (CREATE TRIGGER, "Use the inserted and deleted tables").
#[test]
fn a_trigger_sees_all_rows_of_its_statement_once() {
    let mut session = begun();
    run(
        &mut session,
        &["create trigger tr on t after insert, update, delete as \
           insert notes select concat(@@rowcount, ' ', (select count(*) from inserted), ' ', (select count(*) from deleted), ' ', \
           (select sum(i.a - d.a) from inserted i join deleted d on i.id = d.id))"],
    );
    run(
        &mut session,
        &[
            "insert t values (4, 40, 'u'), (5, 50, 'v')",
            "update t set a = a + 1 where id > 2",
            "update t set a = 0 where id > 100",
            "delete t where id in (4, 5)",
            "delete i from t i where i.id = 3",
            "insert t select id + 10, a, b from t",
        ],
    );
    assert_eq!(notes(&mut session), "2 2 0 |3 3 3 3|0 0 0 |2 0 2 |1 0 1 |2 2 0 ");
    assert_eq!(rows(&mut session, "select count(*) from t"), "4");
}

/// Several triggers, first and last by sp_settriggerorder, the others between; disabled ones not at all (sp_settriggerorder, DISABLE
/// TRIGGER).
#[test]
fn triggers_fire_in_their_order() {
    let mut session = begun();
    for name in ["c", "a", "b"] {
        run(
            &mut session,
            &[&format!(
                "create trigger {name} on t for insert as insert notes values ('{name}')"
            )],
        );
    }
    run(
        &mut session,
        &[
            "exec sp_settriggerorder 'b', 'First', 'INSERT'",
            "exec sp_settriggerorder 'dbo.c', 'Last', 'INSERT'",
            "insert t values (4, 0, '')",
        ],
    );
    assert_eq!(notes(&mut session), "b|a|c");
    assert_eq!(
        error(&mut session, "exec sp_settriggerorder 'a', 'First', 'INSERT'"),
        15130
    );
    assert_eq!(
        error(&mut session, "exec sp_settriggerorder 'a', 'First', 'UPDATE'"),
        15125
    );
    let shown = "select o.name, e.type_desc, e.is_first, e.is_last from sys.trigger_events e join sys.objects o \
                 on o.object_id = e.object_id order by 1";
    assert_eq!(rows(&mut session, shown), "a INSERT 0 0|b INSERT 1 0|c INSERT 0 1");
    run(
        &mut session,
        &[
            "disable trigger b on t",
            "alter table t disable trigger a",
            "delete notes",
            "insert t values (5, 0, '')",
        ],
    );
    assert_eq!(notes(&mut session), "c");
    run(
        &mut session,
        &["enable trigger all on t", "delete notes", "insert t values (6, 0, '')"],
    );
    assert_eq!(notes(&mut session), "b|a|c");
    // "If an ALTER TRIGGER statement changes a first or last trigger, the first or last attribute ... is dropped" (ALTER TRIGGER).
    run(
        &mut session,
        &[
            "alter trigger b on t for insert as insert notes values ('b2')",
            "delete notes",
            "insert t values (7, 0, '')",
        ],
    );
    assert_eq!(notes(&mut session), "a|b2|c");
    assert_eq!(error(&mut session, "disable trigger nothing on t"), 4902);
}

/// UPDATE() and COLUMNS_UPDATED(): what SET names, whatever the values; all columns of an INSERT (UPDATE(), COLUMNS_UPDATED).
#[test]
fn a_trigger_knows_the_columns_that_are_set() {
    let mut session = begun();
    run(
        &mut session,
        &["create trigger tr on t after insert, update as \
           if update(a) and not update(b) insert notes values ('a alone') \
           else if (update(b)) insert notes select concat('b ', convert(int, columns_updated())) \
           else insert notes select concat('none ', convert(int, columns_updated()))"],
    );
    run(
        &mut session,
        &[
            "update t set a = a",
            "update t set b = 'q', a = 1",
            "update t set id = id where id = 0",
            "insert t (id) values (9)",
        ],
    );
    assert_eq!(notes(&mut session), "a alone|b 6|none 1|b 7");
    assert_eq!(
        error(
            &mut session,
            "create trigger e on t for update as if update(nothing) return"
        ),
        207
    );
}

/// ROLLBACK in a trigger: "all data modifications made to that point ... are undone", the trigger goes on, the batch ends with 3609
/// (ROLLBACK TRANSACTION, "Triggers").
#[test]
fn a_trigger_that_rolls_back_ends_the_batch() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create trigger tr on t after insert as begin if exists (select * from inserted where a < 0) begin \
           raiserror ('no', 16, 1) rollback transaction insert notes values ('kept') end end",
        ],
    );
    let answered = answers(&mut session, "insert t values (4, -1, '') select 'not reached'");
    let numbers: Vec<i32> = answered.errors.iter().map(|error| error.0).collect();
    assert_eq!(numbers, [50000, 3609]);
    assert!(answered.rows.is_empty(), "{:?}", answered.rows);
    assert_eq!(rows(&mut session, "select count(*), @@trancount from t"), "3 0");
    assert_eq!(notes(&mut session), "kept");
    // What the transaction did before goes, too.
    let answered = answers(
        &mut session,
        "begin tran delete t where id = 1 insert t values (4, -1, '') select 'not reached'",
    );
    assert_eq!(answered.errors.last().unwrap().0, 3609);
    assert_eq!(rows(&mut session, "select count(*), @@trancount from t"), "3 0");
    run(&mut session, &["begin tran insert t values (4, 1, '') commit"]);
    assert_eq!(rows(&mut session, "select count(*) from t"), "4");
}

/// "If an error is raised in a trigger, XACT_ABORT is ON by default": the batch ends and the transaction is rolled back; the error has the
/// trigger's name and line (SET XACT_ABORT, "CREATE TRIGGER").
#[test]
fn an_error_in_a_trigger_ends_the_batch_and_the_transaction() {
    let mut session = begun();
    run(
        &mut session,
        &["create trigger tr on t after update as\ninsert notes values ('before')\ninsert t values (1, 0, 'again')"],
    );
    let answered = answers(
        &mut session,
        "begin tran delete t where id = 3 update t set a = 0 select 'not reached'",
    );
    assert_eq!(answered.errors.len(), 1, "{:?}", answered.errors);
    let last = answered.last.unwrap();
    assert_eq!((last.number, last.procedure.as_str(), last.line), (2627, "tr", 3));
    assert!(answered.rows.is_empty());
    assert_eq!(
        rows(&mut session, "select count(*), sum(a), @@trancount from t"),
        "3 60 0"
    );
    assert_eq!(notes(&mut session), "");
    // SET XACT_ABORT OFF in the trigger lets it go on.
    run(
        &mut session,
        &[
            "alter trigger tr on t after update as set xact_abort off begin try insert t values (1, 0, 'again') end try \
           begin catch insert notes values (concat('caught ', error_number(), ' ', error_procedure(), ' ', xact_state())) end catch",
        ],
    );
    run(&mut session, &["update t set a = 0"]);
    assert_eq!(notes(&mut session), "caught 2627 tr 1");
    assert_eq!(rows(&mut session, "select sum(a) from t"), "0");
}

/// A TRY block around the statement catches the error of its trigger; an open transaction can only be rolled back then (TRY...CATCH).
#[test]
fn a_try_block_catches_what_a_trigger_fails_with() {
    let mut session = begun();
    run(
        &mut session,
        &["create trigger tr on t after delete as throw 50001, 'stop', 1"],
    );
    let caught = "begin try delete t end try begin catch select error_number(), error_procedure(), @@trancount, xact_state() end catch";
    assert_eq!(rows(&mut session, caught), "50001 tr 0 0");
    assert_eq!(rows(&mut session, "select count(*) from t"), "3");
    let in_transaction = format!("begin tran update t set a = 5 {caught} rollback select sum(a) from t");
    assert_eq!(rows(&mut session, &in_transaction), "50001 tr 1 -1|60");
}

/// Triggers nest to 32 levels; a trigger fires itself under RECURSIVE_TRIGGERS ON alone, and another one that fires it always ("Create nested
/// triggers").
#[test]
fn triggers_nest_and_recurse_as_the_option_says() {
    on_a_sessions_stack(nested_triggers);
}

fn nested_triggers() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create database d",
            "use d create table r (n int) create table s (n int) insert r values (0)",
            "create trigger rr on r after update as if (select max(n) from inserted) < 5 update r set n = n + 1",
            "update r set n = n + 1",
        ],
    );
    assert_eq!(rows(&mut session, "select n from r"), "2");
    run(
        &mut session,
        &["alter database d set recursive_triggers on", "update r set n = 1"],
    );
    assert_eq!(rows(&mut session, "select n from r"), "5");
    let option = "select is_recursive_triggers_on, convert(int, databasepropertyex('d', 'IsRecursiveTriggersEnabled')) from sys.databases \
                  where name = 'd'";
    assert_eq!(rows(&mut session, option), "1 1");
    run(
        &mut session,
        &["alter trigger rr on r after update as update r set n = trigger_nestlevel()"],
    );
    assert_eq!(error(&mut session, "update r set n = 0"), 217);
    assert_eq!(rows(&mut session, "select n from r"), "5");
    run(
        &mut session,
        &[
            "alter database d set recursive_triggers off",
            "alter trigger rr on r after update as insert s values (trigger_nestlevel())",
            "create trigger ss on s after insert as if (select max(n) from inserted) < 7 update r set n = n",
            "update r set n = 0",
        ],
    );
    assert_eq!(rows(&mut session, "select n from s order by n"), "1|3|5|7");
}

/// @@IDENTITY is the last one of the session, SCOPE_IDENTITY() that of the batch (SCOPE_IDENTITY); @@ROWCOUNT is the statement's again.
#[test]
fn a_trigger_has_a_scope_of_its_own() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table i (id int identity (100, 1), v int)",
            "create trigger tr on i after insert as set nocount on insert notes values (concat('p ', @@nestlevel, ' ', \
             @@trancount, ' ', object_name(@@procid)))",
        ],
    );
    let answered = rows(
        &mut session,
        "insert i values (1), (2) select @@rowcount, scope_identity(), @@identity",
    );
    assert_eq!(answered, "2 101 1");
    assert_eq!(notes(&mut session), "p 1 1 tr");
    // Results of a trigger go to the client (CREATE TRIGGER, "Return results").
    run(
        &mut session,
        &["alter trigger tr on i after insert as select v * 10 from inserted order by v"],
    );
    assert_eq!(
        rows(&mut session, "insert i values (1), (2) select 'next'"),
        "10|20|next"
    );
}

/// INSTEAD OF on a table: nothing happens but what the trigger does, and its own changes are made (CREATE TRIGGER, "INSTEAD OF").
#[test]
fn a_trigger_runs_in_place_of_the_change() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create trigger ins on t instead of insert as insert t select id, coalesce(a, -1), upper(b) from inserted where id > 3",
            "create trigger del on t instead of delete as update t set b = 'gone' from t join deleted d on d.id = t.id",
            "create trigger aft on t after insert as insert notes select concat('after ', id) from inserted",
        ],
    );
    run(
        &mut session,
        &[
            "insert t values (1, 5, 'duplicate'), (4, null, 'q')",
            "delete t where id = 2",
        ],
    );
    assert_eq!(rows(&mut session, "select * from t"), "1 10 x|2 20 gone|3 30 z|4 -1 Q");
    assert_eq!(notes(&mut session), "after 4");
    assert_eq!(
        error(&mut session, "create trigger ins2 on t instead of insert as return"),
        2111
    );
    assert_eq!(
        error(&mut session, "exec sp_settriggerorder 'ins', 'first', 'insert'"),
        15133
    );
}

/// INSTEAD OF on views makes them updatable that are not ("Designing INSTEAD OF triggers"); AFTER triggers of views are 8197.
#[test]
fn views_are_changed_by_their_triggers() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table u (id int primary key, c int)",
            "insert u values (1, 100), (2, 200)",
            "create view v as select t.id, sum(t.a) as total, max(u.c) as c from t join u on u.id = t.id group by t.id",
            "create trigger vi on v instead of insert as begin insert t (id, a) select id, total from inserted insert u select id, c from \
             inserted end",
            "create trigger vu on v instead of update as update u set c = i.c from u join inserted i on i.id = u.id join deleted d \
             on d.id = i.id where i.c > d.c",
            "create trigger vd on v instead of delete as delete u where id in (select id from deleted)",
        ],
    );
    run(
        &mut session,
        &[
            "insert v (id, total, c) values (4, 40, 400), (5, 50, 500)",
            "insert into v select id + 10, total, c from v where id = 1",
            "update v set c = c + 1 where id < 3",
            "update x set c = 0 from v x where x.id = 2",
            "delete v where total = 40",
            "delete x from v x join t on t.id = x.id where t.id = 5",
        ],
    );
    assert_eq!(rows(&mut session, "select * from u order by id"), "1 101|2 201|11 100");
    assert_eq!(rows(&mut session, "select id from t order by id"), "1|2|3|4|5|11");
    assert_eq!(
        error(&mut session, "create trigger va on v after insert as return"),
        8197
    );
    run(&mut session, &["disable trigger vi on v"]);
    assert_eq!(error(&mut session, "insert v (id, total, c) values (6, 1, 1)"), 4403);
    // Of the view's own trigger the change goes to the table below.
    run(
        &mut session,
        &[
            "create view w as select id, c from u",
            "create trigger wi on w instead of insert as insert w select id, c * 2 from inserted",
            "insert w values (20, 7)",
        ],
    );
    assert_eq!(rows(&mut session, "select c from u where id = 20"), "14");
}

/// Cascading actions fire the AFTER triggers of the tables they reach, those of the table reached last first ("Primary and foreign key
/// constraints").
#[test]
fn cascading_foreign_keys_fire_triggers() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table c (id int primary key, t int references t (id) on delete cascade on update cascade)",
            "create table g (c int references c (id) on delete cascade)",
            "insert c values (1, 1), (2, 1), (3, 3)",
            "insert g values (1), (2), (3)",
            "create trigger tt on t after delete, update as insert notes select concat('t ', count(*)) from deleted",
            "create trigger tc on c after delete, update as insert notes select concat('c ', count(*)) from deleted",
            "create trigger tg on g after delete as insert notes select concat('g ', count(*)) from deleted",
            "delete t where id = 1",
            "update t set id = 33 where id = 3",
        ],
    );
    assert_eq!(notes(&mut session), "g 2|c 2|t 1|c 1|t 1");
    assert_eq!(
        error(&mut session, "create trigger ci on c instead of delete as return"),
        2113
    );
    run(
        &mut session,
        &[
            "create table e (t int)",
            "create trigger ei on e instead of delete as return",
        ],
    );
    assert_eq!(
        error(
            &mut session,
            "alter table e add foreign key (t) references t (id) on delete cascade"
        ),
        1787
    );
}

/// 334, 331, 286; OUTPUT INTO reflects the rows before triggers (OUTPUT).
#[test]
fn output_and_triggers() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table log (id int, a int)",
            "create trigger tr on t after update as update t set a = 99 from t join inserted i on i.id = t.id",
        ],
    );
    assert_eq!(error(&mut session, "update t set a = 1 output inserted.a"), 334);
    assert_eq!(rows(&mut session, "delete t output deleted.id where id = 3"), "3");
    run(
        &mut session,
        &["update t set a = 7 output inserted.id, inserted.a into log"],
    );
    assert_eq!(rows(&mut session, "select * from log order by id"), "1 7|2 7");
    assert_eq!(rows(&mut session, "select a from t"), "99|99");
    run(&mut session, &["create trigger tl on log after delete as return"]);
    assert_eq!(
        error(
            &mut session,
            "update t set a = 7 output inserted.id, inserted.a into log"
        ),
        331
    );
    run(&mut session, &["drop trigger tl"]);
    for body in [
        "update inserted set a = 1",
        "delete deleted",
        "delete i from inserted i",
        "insert inserted values (1, 1, '')",
    ] {
        assert_eq!(
            error(&mut session, &format!("create trigger tx on t after insert as {body}")),
            286,
            "{body}"
        );
    }
}

/// What there is of a trigger in the catalog, and what is wrong with one that is made.
#[test]
fn triggers_are_objects_of_their_table() {
    let mut session = begun();
    let text = "create trigger dbo.tr on dbo.t with execute as caller for insert, delete not for replication as return";
    run(&mut session, &[text]);
    assert_eq!(rows(&mut session, "select object_definition(object_id('tr'))"), text);
    assert_eq!(rows(&mut session, "exec sp_helptext 'tr'"), text);
    let shown = "select name, parent_class_desc, object_name(parent_id), type, is_disabled, is_not_for_replication, \
                 is_instead_of_trigger from sys.triggers";
    assert_eq!(rows(&mut session, shown), "tr OBJECT_OR_COLUMN t TR 0 1 0");
    let object = "select type, type_desc, object_name(parent_object_id), objectproperty(object_id, 'ExecIsInsertTrigger'), \
                  objectproperty(object_id, 'ExecIsUpdateTrigger'), objectproperty(object_id, 'IsTrigger') from sys.objects \
                  where name = 'tr'";
    assert_eq!(rows(&mut session, object), "TR SQL_TRIGGER t 1 0 1");
    assert_eq!(rows(&mut session, "exec sp_helptrigger 't'"), "tr dbo 0 1 1 1 0 dbo");
    assert_eq!(rows(&mut session, "exec sp_helptrigger 't', 'UPDATE'"), "");
    for (batch, number) in [
        ("create trigger tr on t for insert as return", 2714),
        ("alter trigger nothing on t for insert as return", 208),
        ("alter trigger tr on notes for insert as return", 2110),
        ("create trigger t2 on nothing for insert as return", 8197),
        ("create trigger s.t2 on t for insert as return", 2103),
        ("create trigger t2 on t for insert, insert as return", 156),
        ("create trigger t2 on t for insert as select nothing from inserted", 207),
        ("create trigger t2 on t for insert as return 1", 178),
        ("select 1 create trigger t2 on t for insert as return", 111),
        ("create trigger t2 on all server for logon as return", 40517),
        ("drop trigger nothing", 3701),
        ("exec tr", 2812),
    ] {
        let found = error(&mut session, batch);
        assert!(found == number || batch == "exec tr", "{batch}: {found}");
    }
    run(
        &mut session,
        &[
            "drop trigger if exists nothing",
            "create or alter trigger tr on t for update as return",
        ],
    );
    assert_eq!(rows(&mut session, "select type_desc from sys.trigger_events"), "UPDATE");
    run(&mut session, &["drop table t"]);
    assert_eq!(rows(&mut session, "select count(*) from sys.triggers"), "0");
    assert_eq!(rows(&mut session, "select object_id('tr')"), "NULL");
}

/// A table that gets another column: `inserted` has it at once.
#[test]
fn a_trigger_follows_its_table() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create trigger tr on t after insert as insert notes select concat(i.id, ' ', (select count(*) from inserted x)) from inserted i",
            "insert t values (4, 4, '')",
            "alter table t add d int",
            "alter trigger tr on t after insert as insert notes select concat('d ', d) from inserted",
            "insert t values (5, 5, '', 55)",
            "alter table t alter column d varchar(5)",
            "insert t values (6, 6, '', 'six')",
        ],
    );
    assert_eq!(notes(&mut session), "4 1|d 55|d six");
}

/// A rolled back CREATE, ALTER and DROP TRIGGER leave everything as it was; committed ones outlive a kill and a restart.
#[test]
fn definitions_of_triggers_are_transactional_and_recovered() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run("use d create table t (id int) create table notes (note int)");
        story.run("begin tran exec ('create trigger tr on t for insert as insert notes select id from inserted') insert t values (1) rollback");
        story.run("insert t values (2)");
        assert_eq!(story.rows("select count(*) from sys.triggers"), ["0"]);
        assert_eq!(story.rows("select count(*) from notes"), ["0"]);
        story.run("exec ('create trigger tr on t for insert as insert notes select id from inserted')");
        story.run("begin tran drop trigger tr insert t values (3) rollback");
        story.again(again, "d");
        story.run("use d insert t values (4)");
        assert_eq!(story.rows("select note from notes"), ["4"], "{again:?}");
        assert_eq!(story.rows("select name from sys.triggers"), ["tr"]);
        story.is_sound("d");
    }
}
