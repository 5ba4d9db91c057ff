//! `sp_describe_first_result_set` over the wire (sql-docs, the page of this name).
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, row_count, start_sql as start};
use tds_protocol::Token;

/// What is described of each column: type, length, precision, scale, whether it may be NULL.
fn expect(client: &mut Client, batch: &str, columns: &[&str]) {
    let escaped = batch.replace('\'', "''");
    let tokens = client.batch(&format!("exec sp_describe_first_result_set N'{escaped}'"));
    assert_eq!(errors(&tokens), Vec::<i32>::new(), "{batch}");
    let rows = tokens.iter().filter_map(|token| match token {
        Token::Row(row) => Some(row.data.to_vec()),
        Token::NbcRow(row) => Some(row.data.to_vec()),
        _ => None,
    });
    let rows: Vec<Vec<u8>> = rows.collect();
    assert_eq!(rows.len(), columns.len(), "{batch}");
    for (row, expected) in rows.iter().zip(columns) {
        let units: Vec<u8> = expected.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = u16::try_from(units.len()).unwrap().to_le_bytes();
        let text = [&length[..], &units].concat();
        assert!(
            row.windows(text.len()).any(|part| part == text),
            "{batch}: no {expected} in {row:02X?}"
        );
    }
}

fn failing(client: &mut Client, batch: &str) -> Vec<i32> {
    errors(&client.batch(&format!("exec sp_describe_first_result_set N'{batch}'")))
}

#[test]
fn columns_are_told_by_their_types() {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in [
        "create table t (i int identity, d decimal(9, 2), v varchar(30), m nvarchar(max), w datetime2(3), u uniqueidentifier, x sql_variant)",
        "create procedure p @a int as if @a > 1 select v from t else select 1",
        "create procedure q as insert t (v) values ('changed') select v as told from t",
    ] {
        assert_eq!(errors(&client.batch(batch)), Vec::<i32>::new(), "{batch}");
    }
    let types = [
        "int",
        "decimal(9,2)",
        "varchar(30)",
        "nvarchar(max)",
        "datetime2(3)",
        "uniqueidentifier",
        "sql_variant",
    ];
    expect(&mut client, "select * from t", &types);
    expect(&mut client, "select i as own_name from t select 1", &["own_name"]);
    expect(
        &mut client,
        "declare @a int = 3 set @a = 4 if @a = 5 select 1 as one else select 2",
        &["one"],
    );
    expect(&mut client, "exec p 1", &["varchar(30)"]);
    expect(&mut client, "exec q", &["told"]);
    expect(&mut client, "insert t (v) values ('x')", &[]);
    expect(
        &mut client,
        "select cast(1 as numeric(5, 1)) a, N'abc', 'abc'",
        &["decimal(5,1)", "nvarchar(3)", "varchar(3)"],
    );
    // Nothing was executed, and the options are as they were.
    assert_eq!(row_count(&client.batch("select * from t")), 0);
    assert_eq!(row_count(&client.batch("select 1")), 1);
}

#[test]
fn parameters_are_declared_and_failures_are_told() {
    let server = start();
    let mut client = Client::sa(&server);
    let tokens = client.batch("exec sp_describe_first_result_set @tsql = N'select @a as a', @params = N'@a money'");
    let rows = tokens.iter().filter(|token| matches!(token, Token::NbcRow(_)));
    assert_eq!((errors(&tokens), rows.count()), (Vec::new(), 1));
    for (batch, numbers) in [
        ("select @a", &[11506][..]),
        ("select", &[102, 11501]),
        ("select a from missing", &[208, 11529]),
        ("exec missing", &[2812, 11529]),
    ] {
        assert_eq!(failing(&mut client, batch), numbers, "{batch}");
    }
    // What fails here leaves a transaction as it is.
    client.batch("begin transaction");
    assert_eq!(failing(&mut client, "select a from missing"), [208, 11529]);
    assert_eq!(failing(&mut client, "select"), [102, 11501]);
    assert_eq!(row_count(&client.batch("select 1 where @@trancount = 1 rollback")), 1);
    assert_eq!(
        errors(&client.batch("exec sp_describe_first_result_set N'select 1', null, 2")),
        [40517]
    );
    assert_eq!(errors(&client.batch("exec sp_describe_first_result_set")), [201]);
}
