//! INSERT BULK and its rows, without a protocol: each option, constraints, announced types, all or nothing.
//!
//! Sources: sql-docs, BULK INSERT and the errors from 4800 on; states of 4816 as captured from SQL Server by the msduck project.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{Answers, error, rows, run};
use engine::error::Result;
use engine::types::{Decimal, Length, SqlType, Value};
use transcript::{instance, session};
use tsql::session::{ClientColumn, ClientRows, Session};

/// Rows that a client sends.
struct Sent {
    columns: Vec<ClientColumn>,
    rows: std::vec::IntoIter<Vec<Value>>,
}

impl ClientRows for Sent {
    fn columns(&self) -> &[ClientColumn] {
        &self.columns
    }

    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        let next = self.rows.next();
        let is_row = next.is_some();
        *row = next.unwrap_or_default();
        Ok(is_row)
    }
}

const TEXT: SqlType = SqlType::VarChar(Length::Limited(20));

fn column(sql_type: SqlType, nullable: bool) -> ClientColumn {
    ClientColumn {
        name: String::new(),
        sql_type,
        nullable,
        is_default: false,
    }
}

/// Loads rows of an int that is not NULL and a text; the number of the error, or 0.
fn load(session: &mut Session, announced: &str, sent: &[(i32, Option<&str>)]) -> i32 {
    let text = |text: &Option<&str>| text.map_or(Value::Null, Value::from);
    let sent = sent.iter().map(|(id, word)| vec![Value::Int(*id), text(word)]);
    load_typed(
        session,
        announced,
        &[column(SqlType::Int, false), column(TEXT, true)],
        sent.collect(),
    )
}

fn load_typed(session: &mut Session, announced: &str, columns: &[ClientColumn], sent: Vec<Vec<Value>>) -> i32 {
    run(session, &[announced]);
    let mut answers = Answers::default();
    let mut sent = Sent {
        columns: columns.to_vec(),
        rows: sent.into_iter(),
    };
    assert!(session.bulk_load(&mut sent, &mut answers).is_some(), "{announced}");
    answers.errors.first().map_or(0, |error| error.0)
}

const TABLE: &str =
    "create table t (id int not null primary key, word varchar(20) default 'none', n int identity(100, 10))";

#[test]
fn rows_go_in_as_one_statement_or_not_at_all() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &[TABLE]);
    let plain = "insert bulk t (id int, word varchar(20))";
    assert_eq!(load(&mut one, plain, &[(3, Some("c")), (1, Some("a"))]), 0);
    assert_eq!(rows(&mut one, "select @@rowcount select * from t"), "2|1 a 110|3 c 100");
    assert_eq!(load(&mut one, plain, &[(5, None), (3, None)]), 2627);
    assert_eq!(
        rows(&mut one, "select @@error select @@trancount select count(*) from t"),
        "2627|0|2"
    );
    // Within a transaction of the client it is a part of that.
    run(&mut one, &["begin tran"]);
    assert_eq!(load(&mut one, plain, &[(7, None)]), 0);
    run(&mut one, &["rollback"]);
    assert_eq!(rows(&mut one, "select count(*) from t"), "2");
    let many: Vec<(i32, Option<&str>)> = (1000..6000).map(|id| (id, Some("many"))).collect();
    assert_eq!(load(&mut one, plain, &many), 0);
    assert_eq!(
        rows(&mut one, "select count(*), min(id), max(id), count(distinct n) from t"),
        "5002 1 5999 5002"
    );
    // What is announced is for the next request alone.
    run(&mut one, &[plain, "select 1"]);
    let mut sent = Sent {
        columns: Vec::new(),
        rows: Vec::new().into_iter(),
    };
    assert!(one.bulk_load(&mut sent, &mut Answers::default()).is_none());
}

#[test]
fn a_null_becomes_the_default_of_its_column_unless_nulls_are_kept() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &[TABLE]);
    let sent = |id| [(id, None), (id + 1, Some("w"))];
    assert_eq!(load(&mut one, "insert bulk t (id int, word varchar(20))", &sent(1)), 0);
    assert_eq!(
        load(
            &mut one,
            "insert bulk t (id int, word varchar(20)) with (keep_nulls)",
            &sent(3)
        ),
        0
    );
    assert_eq!(
        rows(&mut one, "select id, word from t order by id"),
        "1 none|2 w|3 NULL|4 w"
    );
}

/// "If FIRE_TRIGGERS isn't specified, no insert triggers execute" (sql-docs, BULK INSERT).
#[test]
fn triggers_fire_for_all_rows_at_once_if_asked_for() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            TABLE,
            "create table seen (n int)",
            "create trigger tr on t after insert as insert seen select count(*) from inserted",
        ],
    );
    let sent = |id| [(id, None), (id + 1, Some("w"))];
    assert_eq!(load(&mut one, "insert bulk t (id int, word varchar(20))", &sent(1)), 0);
    assert_eq!(rows(&mut one, "select count(*) from seen"), "0");
    let firing = "insert bulk t (id int, word varchar(20)) with (fire_triggers, tablock)";
    assert_eq!(load(&mut one, firing, &sent(3)), 0);
    assert_eq!(rows(&mut one, "select n from seen"), "2");
}

#[test]
fn values_of_an_identity_column_that_is_listed_are_kept() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &[TABLE]);
    let columns = [column(SqlType::Int, false), column(SqlType::Int, false)];
    let sent = vec![vec![Value::Int(1), Value::Int(500)], vec![Value::Int(2), Value::Int(7)]];
    assert_eq!(load_typed(&mut one, "insert bulk t (id int, n int)", &columns, sent), 0);
    assert_eq!(
        load(&mut one, "insert bulk t (id int, word varchar(20))", &[(3, None)]),
        0
    );
    assert_eq!(rows(&mut one, "select id, n from t order by id"), "1 500|2 7|3 510");
}

#[test]
fn constraints_are_judged_if_asked_for_and_else_no_longer_trusted() {
    let instance = instance();
    let mut one = session(&instance);
    let trusted = "select name, is_not_trusted from (select name, is_not_trusted, parent_object_id p from sys.check_constraints union all \
                   select name, is_not_trusted, parent_object_id from sys.foreign_keys) k where p = object_id('c') order by name";
    run(
        &mut one,
        &[
            "create table p (id int primary key) insert p values (1)",
            "create table c (id int not null constraint ck check (id > 0), word varchar(20), ref int constraint fk references p)",
        ],
    );
    let checked = "insert bulk c (id int, word varchar(20)) with (check_constraints)";
    assert_eq!(load(&mut one, checked, &[(1, None), (-1, None)]), 547);
    assert_eq!(load(&mut one, checked, &[(1, None)]), 0);
    assert_eq!(rows(&mut one, trusted), "ck 0|fk 0");
    let ref_columns = [column(SqlType::Int, false), column(SqlType::Int, true)];
    let orphan = || vec![vec![Value::Int(2), Value::Int(9)]];
    let with_ref = "insert bulk c (id int, ref int)";
    let announced = format!("{with_ref} with (check_constraints)");
    assert_eq!(load_typed(&mut one, &announced, &ref_columns, orphan()), 547);
    assert_eq!(load_typed(&mut one, with_ref, &ref_columns, orphan()), 0);
    assert_eq!(
        load(&mut one, "insert bulk c (id int, word varchar(20))", &[(-1, None)]),
        0
    );
    // Plans rely on trusted constraints: the row that breaks one is found.
    assert_eq!(rows(&mut one, trusted), "ck 1|fk 1");
    assert_eq!(
        rows(&mut one, "select count(*) from c where id < 0 select count(*) from c"),
        "1|3"
    );
}

#[test]
fn rows_that_do_not_come_in_the_order_they_are_said_to_are_refused() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &[TABLE]);
    let announced = |order: &str| format!("insert bulk t (id int, word varchar(20)) with (order ({order}))");
    assert_eq!(
        load(&mut one, &announced("id asc"), &[(1, None), (3, None), (2, None)]),
        4819
    );
    assert_eq!(load(&mut one, &announced("ID"), &[(1, None), (2, None)]), 0);
    // Not the order of the clustered key: nothing depends on it.
    assert_eq!(
        load(&mut one, &announced("id desc"), &[(3, None), (5, None), (4, None)]),
        0
    );
    assert_eq!(load(&mut one, &announced("word"), &[(6, Some("b")), (7, Some("a"))]), 0);
    // Nor in the order of another type than the key's: strings of one length may be sorted otherwise than of another.
    run(
        &mut one,
        &["create table word (id int not null, word varchar(20) null) create unique clustered index k on word (word)"],
    );
    for (declared, expected) in [("varchar(20)", 4819), ("varchar(30)", 0)] {
        let announced = format!("insert bulk word (id int, word {declared}) with (order (word asc))");
        assert_eq!(
            load(&mut one, &announced, &[(8, Some("b")), (9, Some("a"))]),
            expected,
            "{declared}"
        );
    }
    assert_eq!(error(&mut one, &announced("absent")), 4817);
    assert_eq!(error(&mut one, &announced("id, id desc")), 4818);
}

#[test]
fn the_table_is_locked_whole_if_asked_for() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &[TABLE]);
    let modes = "select distinct request_mode from sys.dm_tran_locks where resource_type = 'OBJECT' and \
                 resource_associated_entity_id = object_id('t') order by request_mode";
    for (options, expected) in [("", "IX"), ("with (tablock)", "X")] {
        run(&mut one, &["begin tran"]);
        assert_eq!(
            load(
                &mut one,
                &format!("insert bulk t (id int, word varchar(20)) {options}"),
                &[(1, None)]
            ),
            0
        );
        assert_eq!(rows(&mut one, modes), expected, "{options}");
        run(&mut one, &["rollback"]);
    }
}

#[test]
fn what_cannot_be_announced_is_refused_by_its_number() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            TABLE,
            "create table m (d decimal(5, 2), w varchar(max), v sql_variant, s varchar(3))",
        ],
    );
    for (batch, number) in [
        ("insert bulk absent (a int)", 208),
        ("insert bulk t (absent int)", 207),
        ("insert bulk t (id int, ID int)", 264),
        ("insert bulk t (id nowhere)", 2715),
        ("insert bulk t (id int default 1)", 102),
        ("insert bulk t (id int) with (absent)", 102),
        ("insert bulk t (id int) with (tablock = 1)", 102),
        ("insert bulk t (id int) with (order)", 102),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
}

/// Loads one value for each case, what is announced, sent, and answered.
fn load_each(cases: Vec<(&str, ClientColumn, Value, i32)>, expected_rows: &str) {
    let instance = instance();
    let mut one = session(&instance);
    let other = "create table m (d decimal(5, 2), w varchar(max), v sql_variant, s varchar(3))";
    run(&mut one, &[TABLE, other]);
    for (announced, sent, value, expected) in cases {
        let found = load_typed(&mut one, announced, std::slice::from_ref(&sent), vec![vec![value]]);
        assert_eq!(found, expected, "{announced} {sent:?}");
    }
    assert_eq!(load_typed(&mut one, "insert bulk t (id int)", &[], Vec::new()), 4804);
    assert_eq!(
        rows(&mut one, "select count(*) from t select count(*) from m"),
        expected_rows
    );
}

fn limited(length: u16) -> SqlType {
    SqlType::VarChar(Length::Limited(length))
}

#[test]
fn a_column_that_is_sent_as_another_type_than_announced_is_refused() {
    let (text, max) = (Value::from("a"), SqlType::VarChar(Length::Max));
    let (id, word) = ("insert bulk t (id int)", "insert bulk t (word varchar(20))");
    load_each(
        vec![
            (id, column(SqlType::BigInt, false), Value::BigInt(1), 4816),
            (id, column(SqlType::Int, true), Value::Int(1), 4816),
            (word, column(TEXT, false), text.clone(), 4816),
            (word, column(SqlType::NVarChar(Length::Max), true), text.clone(), 4816),
            (
                "insert bulk m (w varchar(9))",
                column(limited(9), true),
                text.clone(),
                4816,
            ),
            ("insert bulk m (w varchar(max))", column(max, true), text, 0),
        ],
        "0|1",
    );
}

#[test]
fn a_value_is_converted_from_its_announced_type_or_refused() {
    let number = SqlType::Decimal { precision: 9, scale: 3 };
    let decimal = |units| Value::Decimal(Decimal::new(units, 9, 3));
    let text = |text: &str| Value::from(text);
    let (as_number, as_text) = ("insert bulk m (d decimal(9, 3))", "insert bulk m (d varchar(9))");
    let wide = column(SqlType::NVarChar(Length::Limited(5)), true);
    load_each(
        vec![
            (
                "insert bulk m (s varchar(2))",
                column(limited(9), true),
                text("abc"),
                4815,
            ),
            (
                "insert bulk m (s varchar(5))",
                column(limited(9), true),
                text("abcd"),
                2628,
            ),
            ("insert bulk m (s nvarchar(5))", wide, text("abc"), 0),
            (as_number, column(number, true), decimal(1_255), 0),
            (as_number, column(number, true), decimal(12_345_678), 8115),
            (as_text, column(limited(9), true), text("1.5"), 0),
            (as_text, column(limited(9), true), text("x"), 8114),
            ("insert bulk t (id int)", column(SqlType::Int, false), Value::Null, 515),
        ],
        "0|3",
    );
}

#[test]
fn rows_for_a_table_that_is_another_one_since_are_refused() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &[TABLE]);
    // The table that was announced is gone, and another one has its name.
    let mut two = session(&instance);
    run(&mut one, &["insert bulk t (id int, word varchar(20))"]);
    run(&mut two, &["drop table t", TABLE]);
    let mut answers = Answers::default();
    let mut sent = Sent {
        columns: vec![column(SqlType::Int, false), column(TEXT, true)],
        rows: vec![vec![Value::Int(1), Value::Null]].into_iter(),
    };
    assert!(one.bulk_load(&mut sent, &mut answers).is_some());
    assert_eq!(answers.errors.first().map(|error| error.0), Some(4891));
}

/// Columns of json and xml come as strings ([MS-TDS]: "XMLTYPE is to be sent as NVARCHAR"); 4816 came for json.
#[test]
fn columns_of_json_and_xml_come_as_strings() {
    let long = SqlType::NVarChar(Length::Max);
    let mut one = session(&crate::transcript::instance_of(vlf::ServerVersion::V2025));
    run(&mut one, &["create table d (j json, x xml)"]);
    let announced = "insert bulk d (j json, x xml)";
    let columns = [column(long, true), column(long, true)];
    let row = |j: &str, x: &str| vec![vec![Value::from(j), Value::from(x)]];
    assert_eq!(
        load_typed(&mut one, announced, &columns, row("{ \"a\": [1] }", "<a/>")),
        0
    );
    assert_eq!(
        rows(&mut one, "select cast(j as varchar(99)), cast(x as varchar(99)) from d"),
        "{\"a\":[1]} <a/>"
    );
    assert_eq!(load_typed(&mut one, announced, &columns, row("{", "<a/>")), 13609);
    assert_eq!(load_typed(&mut one, announced, &columns, row("{}", "<a>")), 9400);
    let of_xml = [column(long, true), column(SqlType::XML, true)];
    assert_eq!(load_typed(&mut one, announced, &of_xml, row("{}", "<a/>")), 4816);
    let number = [column(SqlType::Int, true), column(long, true)];
    assert_eq!(
        load_typed(
            &mut one,
            announced,
            &number,
            vec![vec![Value::Int(1), Value::from("<a/>")]]
        ),
        4816
    );
    assert_eq!(rows(&mut one, "select count(*) from d"), "1");
}
