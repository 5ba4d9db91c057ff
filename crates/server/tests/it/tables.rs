//! Table-valued parameters and bulk loads from the wire to T-SQL: rows as clients send them, refused rows, and a bulk load truncated after
//! every byte.
//!
//! MS-TDS 2.2.5.5.5; 500, 1077, 2715, 206 as SQL Server answers them, and 8061 behind the error of a row.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, row_count, start_sql as start};
use tds_protocol::Token;

const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];

fn short_text(text: &str) -> Vec<u8> {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    [&[(units.len() / 2) as u8][..], &units].concat()
}

/// A call of a procedure with one table: its type's name, its columns (default or not, all int), its rows.
fn call(procedure: &str, type_name: &str, columns: &[bool], rows: &[&[i32]]) -> Vec<u8> {
    let mut bytes = HEADERS.to_vec();
    let name: Vec<u8> = procedure.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.extend(((name.len() / 2) as u16).to_le_bytes());
    bytes.extend(name);
    bytes.extend([0, 0]);
    bytes.extend(short_text("@r"));
    bytes.extend([0, 0xF3, 0]);
    bytes.extend(short_text("dbo"));
    bytes.extend(short_text(type_name));
    bytes.extend((columns.len() as u16).to_le_bytes());
    for &is_default in columns {
        bytes.extend([0, 0, 0, 0, 1, if is_default { 2 } else { 0 }, 0x26, 4, 0]);
    }
    bytes.push(0);
    for row in rows {
        bytes.push(1);
        for value in *row {
            bytes.push(4);
            bytes.extend(value.to_le_bytes());
        }
    }
    bytes.push(0);
    bytes
}

/// A procedure, the type that is named, which columns are left to their defaults, the rows sent; the errors and the number of rows answered.
type Case = (
    &'static str,
    &'static str,
    &'static [bool],
    &'static [&'static [i32]],
    &'static [i32],
    usize,
);

#[test]
fn a_table_goes_to_its_procedure_and_what_does_not_fit_its_type_is_refused() {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in [
        "create type dbo.T as table (n int identity(5, 5), id int not null primary key, v int default 7 check (v > 0))",
        "create type dbo.Other as table (a int, b int, c int)",
        "create procedure p @r T readonly as select n, id, v from @r order by id",
        "create procedure q @r int as select @r",
    ] {
        assert!(errors(&client.batch(batch)).is_empty(), "{batch}");
    }
    let table: [Case; 12] = [
        ("p", "T", &[true, false, false], &[&[1, 2], &[2, 3]], &[], 2),
        ("p", "T", &[true, false, true], &[&[1], &[2], &[3]], &[], 3),
        ("p", "T", &[true, false, true], &[], &[], 0),
        ("p", "", &[true, false, true], &[&[1]], &[], 1),
        ("p", "T", &[true, false, true], &[&[1], &[1]], &[2627, 8061], 0),
        ("p", "T", &[true, false, false], &[&[1, -1]], &[547, 8061], 0),
        ("p", "T", &[true, true, true], &[&[]], &[515, 8061], 0),
        ("p", "T", &[false, false, false], &[&[1, 2, 3]], &[1077, 8061], 0),
        ("p", "T", &[true, false], &[&[1]], &[500, 8061], 0),
        ("p", "Missing", &[true, false, true], &[], &[2715], 0),
        ("p", "Other", &[false, false, false], &[&[1, 2, 3]], &[206], 0),
        ("q", "T", &[true, false, true], &[&[1]], &[206], 0),
    ];
    for (procedure, name, columns, rows, refused, count) in table {
        client.send(3, 1, &call(procedure, name, columns, rows));
        let tokens = client.tokens();
        assert_eq!(errors(&tokens), refused, "{procedure} {name} {columns:?} {rows:?}");
        assert_eq!(row_count(&tokens), count, "{procedure} {name} {columns:?} {rows:?}");
        assert!(matches!(tokens.last(), Some(Token::DoneProc(_))), "{tokens:?}");
    }
    assert_eq!(row_count(&client.batch("select 1")), 1);
}

/// A bulk load of one int column, cut after every byte, is loaded whole or not at all, and the client goes on or has lost its connection.
#[test]
fn a_bulk_load_that_is_cut_anywhere_loads_nothing() {
    let server = start();
    let mut client = Client::sa(&server);
    client.batch("create table ##t (id int null)");
    let mut whole = vec![0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 4];
    whole.extend(short_text("id"));
    for value in 1..=3_i32 {
        whole.extend([0xD1, 4]);
        whole.extend(value.to_le_bytes());
    }
    // At a border of rows the load ends in good order, with or without DONE.
    let borders: Vec<usize> = (0..=3).map(|rows| whole.len() - rows * 6).collect();
    for cut in 0..=whole.len() {
        let mut other = Client::sa(&server);
        assert!(errors(&other.batch("insert bulk ##t (id int)")).is_empty());
        other.send(7, 1, &whole[..cut]);
        let tokens = other.tokens();
        let count = client.batch("select id from ##t");
        let expected = borders
            .iter()
            .position(|border| *border == cut)
            .map_or(0, |missing| 3 - missing);
        assert_eq!(row_count(&count), expected, "{cut}: {tokens:?}");
        assert_eq!(errors(&tokens).is_empty(), borders.contains(&cut), "{cut}: {tokens:?}");
        client.batch("delete ##t");
    }
    // Rows that nobody has announced.
    client.send(7, 1, &whole);
    assert_eq!(errors(&client.tokens()).len(), 1);
    assert_eq!(row_count(&client.batch("select 1")), 1);
}
