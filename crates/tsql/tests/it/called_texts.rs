//! What a text leaves in the session: USE in one that the client itself calls by sp_executesql lasts, and in one that EXECUTE runs ends
//! with it.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::seams::ManualClock;
use engine::types::{Length, SqlType, Value};
use transcript::{Transcript, instance_with, session};
use tsql::session::{Parameter, Session};

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

fn called(session: &mut Session, text: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute_with_parameters(text, "", &[], &mut transcript);
    transcript.text
}

fn text(value: &str) -> Parameter {
    Parameter {
        name: String::new(),
        sql_type: SqlType::NVarChar(Length::Max),
        value: Value::from(value.to_owned()),
        output: false,
        is_default: false,
        table: None,
    }
}

#[test]
fn use_lasts_in_a_text_that_the_client_calls() {
    let instance = instance_with(Arc::new(ManualClock::starting_at(1_700_000_000_000_000)));
    let mut one = session(&instance);
    run(&mut one, "create database a create database b");
    let here = "select db_name()";
    for (text, expected) in [
        ("use a", "a"),
        ("exec ('use b')", "a"),
        ("exec sp_executesql N'use b'", "a"),
        ("use b exec ('use a')", "b"),
        ("use a select 1 / 0", "a"),
        ("use b use nowhere", "b"),
        ("use a begin transaction use b", "b"),
    ] {
        called(&mut one, text);
        let told = run(&mut one, here);
        assert!(told.contains(&format!("\n  {expected}\n")), "{text}: {told}");
    }
    // Three requests, as TypeORM makes them within a transaction.
    for text in ["use a", "exec ('create schema made')", "use b"] {
        let told = called(&mut one, text);
        assert!(!told.contains("Level 16"), "{text}: {told}");
    }
    let told = run(
        &mut one,
        "create table a.made.t (i int) commit select object_id('a.made.t')",
    );
    assert!(!told.contains("Level 16") && !told.contains("NULL"), "{told}");
    // The database that was left is not kept.
    let told = run(&mut session(&instance), "drop database a");
    assert!(!told.contains("Level 16"), "{told}");
}

#[test]
fn use_ends_in_a_procedure_that_the_client_calls() {
    let instance = instance_with(Arc::new(ManualClock::starting_at(1_700_000_000_000_000)));
    let mut one = session(&instance);
    run(&mut one, "create database a");
    one.execute_procedure("sp_executesql", &[text("use a")], &mut Transcript::default());
    assert!(run(&mut one, "select db_name()").contains("\n  a\n"));
    run(&mut one, "use master");
    run(&mut one, "create procedure p as exec ('use a')");
    one.execute_procedure("p", &[], &mut Transcript::default());
    assert!(run(&mut one, "select db_name()").contains("\n  master\n"));
}

/// A plan is made for the values of the first call, which come under the server's collation. The histogram has that of the column.
#[test]
fn values_are_estimated_under_the_collation_that_they_are_compared_in() {
    let instance = instance_with(Arc::new(ManualClock::starting_at(1_700_000_000_000_000)));
    let mut one = session(&instance);
    for batch in [
        "create database c collate SQL_Latin1_General_CP1_CS_AS",
        "use c",
        "create table j (id int primary key, name varchar(20)) create table p (id int primary key, j int)",
        "insert j values (1, 'Earth'), (2, 'earth'), (3, 'Moon') insert p values (1, 1), (2, 2), (3, 3)",
    ] {
        run(&mut one, batch);
    }
    let sql = "select p.id from p join j on j.id = p.j where j.name = @name";
    for (name, expected) in [("Earth", "1"), ("earth", "2")] {
        let value = Parameter {
            name: "@name".to_owned(),
            ..text(name)
        };
        let mut transcript = Transcript::default();
        one.execute_with_parameters(sql, "@name nvarchar(4000)", &[value], &mut transcript);
        assert!(
            transcript.text.contains(&format!("\n  {expected}\n  (1 rows")),
            "{}",
            transcript.text
        );
    }
}

/// TypeORM names the database of every table, while another is the current one.
#[test]
fn foreign_keys_stay_in_the_database_of_their_table() {
    let instance = instance_with(Arc::new(ManualClock::starting_at(1_700_000_000_000_000)));
    let mut one = session(&instance);
    run(&mut one, "create database a create database b");
    run(&mut one, "use a");
    for (batch, told) in [
        ("create table b.dbo.p (id int primary key)", ""),
        (
            "create table b.dbo.c (id int primary key, pid int constraint f references b.dbo.p)",
            "",
        ),
        (
            "create table b.dbo.d (id int primary key, pid int, cid int references c)",
            "",
        ),
        (
            "alter table b.dbo.d add constraint g foreign key (pid) references b..p (id)",
            "",
        ),
        (
            "create table b.dbo.s (id int primary key, pid int references b.dbo.s, qid int references s)",
            "",
        ),
        ("insert b.dbo.c values (1, 7)", "Msg 547"),
        (
            "insert b.dbo.p values (7) insert b.dbo.c values (1, 7) insert b.dbo.d values (1, 7, 1)",
            "",
        ),
        ("delete b.dbo.p", "Msg 547"),
        ("insert b.dbo.d values (2, 7, 2)", "Msg 547"),
        ("create table dbo.p (id int primary key)", ""),
        ("create table b.dbo.e (pid int references a.dbo.p)", "Msg 1763"),
        ("create table e (pid int references b.dbo.p)", "Msg 1763"),
        ("create table b.dbo.e (pid int references a.dbo.e)", "Msg 1767"),
        ("create table b.dbo.e (pid int references nothing)", "Msg 1767"),
    ] {
        let answer = run(&mut one, batch);
        match told {
            "" => assert!(!answer.contains("Level 16"), "{batch}: {answer}"),
            told => assert!(answer.contains(told), "{batch}: {answer}"),
        }
    }
}

/// Migrations of Sequelize say of a column with a foreign key again what it is, or that it may be NULL. The column stays the key's.
#[test]
fn a_column_of_a_foreign_key_may_become_nullable_and_stay_what_it_is() {
    let instance = instance_with(Arc::new(ManualClock::starting_at(1_700_000_000_000_000)));
    let mut one = session(&instance);
    run(&mut one, "create database a");
    run(&mut one, "use a");
    run(
        &mut one,
        "create table p (id int primary key, name varchar(9) unique) insert p values (1, 'a')",
    );
    run(
        &mut one,
        "create table c (pid int not null constraint f references p, name varchar(9) constraint g references p (name),
         nid int constraint h references p on delete set null) insert c values (1, 'a', null)",
    );
    for (batch, told) in [
        ("alter table c alter column pid int null", ""),
        ("alter table c alter column pid int null", ""),
        ("insert c values (null, null, null), (1, null, null)", ""),
        ("insert c values (2, null, null)", "Msg 547"),
        ("alter table c alter column pid int not null", "Msg 515"),
        (
            "delete c where pid is null alter table c alter column pid int not null",
            "",
        ),
        ("insert c values (null, null, null)", "Msg 515"),
        ("insert c values (2, null, null)", "Msg 547"),
        ("alter table c alter column pid bigint", "Msg 5074"),
        ("alter table c alter column name varchar(9) null", ""),
        ("alter table c alter column name varchar(20)", "Msg 5074"),
        (
            "alter table c alter column name varchar(9) collate Latin1_General_BIN2",
            "Msg 5074",
        ),
        ("alter table c alter column nid int not null", "Msg 5074"),
        (
            "create table e (did int constraint k references p on delete set default)",
            "",
        ),
        ("alter table e alter column did int not null", "Msg 5074"),
        ("alter table p alter column id int not null", "Msg 5074"),
    ] {
        let answer = run(&mut one, batch);
        match told {
            "" => assert!(!answer.contains("Level 16"), "{batch}: {answer}"),
            told => assert!(answer.contains(told), "{batch}: {answer}"),
        }
    }
}
