//! Rows with NULLs of every type, as NBCROW and as ROW, read by an independent decoder and by the test itself.
//!
//! NBCROW is for clients of TDS 7.3B and later ([MS-TDS] 2.2.7.14). When a server sends it is the server's choice: here for results of eight
//! columns and more.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, PASSWORD, errors, start_sql as start};
use tds_protocol::{Login7, PreLogin, TdsVersion, Token};

/// How a value says how long it is.
#[derive(Clone, Copy)]
enum Framing {
    Byte,
    Short,
    Chunks,
    Variant,
}

/// Every type, with a value.
const TYPES: &[(&str, &str, Framing)] = &[
    ("bit", "1", Framing::Byte),
    ("tinyint", "200", Framing::Byte),
    ("smallint", "-3", Framing::Byte),
    ("int", "70000", Framing::Byte),
    ("bigint", "5000000000", Framing::Byte),
    ("real", "1.5", Framing::Byte),
    ("float", "2.5", Framing::Byte),
    ("smallmoney", "1.25", Framing::Byte),
    ("money", "-1.25", Framing::Byte),
    ("decimal(9,2)", "12.34", Framing::Byte),
    ("decimal(38,0)", "99999999999999999999999999999999999999", Framing::Byte),
    ("date", "'2024-02-29'", Framing::Byte),
    ("time(3)", "'12:34:56.789'", Framing::Byte),
    ("smalldatetime", "'2024-02-29 12:34'", Framing::Byte),
    ("datetime", "'2024-02-29 12:34:56.789'", Framing::Byte),
    ("datetime2(7)", "'2024-02-29 12:34:56.7891234'", Framing::Byte),
    ("datetimeoffset(0)", "'2024-02-29 12:34:56 +02:00'", Framing::Byte),
    (
        "uniqueidentifier",
        "'6F9619FF-8B86-D011-B42D-00C04FC964FF'",
        Framing::Byte,
    ),
    ("char(3)", "'ab'", Framing::Short),
    ("varchar(9)", "''", Framing::Short),
    ("nchar(3)", "N'ab'", Framing::Short),
    ("nvarchar(9)", "N'añ'", Framing::Short),
    ("binary(2)", "0x0102", Framing::Short),
    ("varbinary(9)", "0x", Framing::Short),
    ("varchar(max)", "'long'", Framing::Chunks),
    ("nvarchar(max)", "N''", Framing::Chunks),
    ("varbinary(max)", "0x0102", Framing::Chunks),
    ("sql_variant", "cast(5 as int)", Framing::Variant),
];

/// The bytes of a value at the front, with those that say how long it is.
fn length_of(bytes: &[u8], framing: Framing) -> usize {
    let number = |count: usize| {
        bytes[..count]
            .iter()
            .rev()
            .fold(0, |sum, byte| sum * 256 + usize::from(*byte))
    };
    match framing {
        Framing::Byte => 1 + number(1),
        Framing::Short if number(2) == 0xFFFF => 2,
        Framing::Short => 2 + number(2),
        Framing::Variant => 4 + number(4),
        Framing::Chunks if bytes[..8] == [0xFF; 8] => 8,
        Framing::Chunks => {
            let mut at = 8;
            loop {
                let chunk = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
                at += 4 + chunk;
                if chunk == 0 {
                    return at;
                }
            }
        }
    }
}

/// What NULL is in a ROW.
fn null_of(framing: Framing) -> &'static [u8] {
    match framing {
        Framing::Byte => &[0],
        Framing::Short => &[0xFF; 2],
        Framing::Chunks => &[0xFF; 8],
        Framing::Variant => &[0; 4],
    }
}

fn type_of(column: usize) -> (&'static str, &'static str, Framing) {
    TYPES[column % TYPES.len()]
}

/// Whether a column of a row is NULL: none, all, every other, all but one, and patterns that go over the borders of bytes.
fn is_null(row: usize, column: usize) -> bool {
    match row {
        0 => false,
        1 => true,
        2 => column.is_multiple_of(2),
        3 => column != 5,
        _ => (column * 7 + row * 3) % 5 < 2,
    }
}

const ROWS: usize = 8;

/// Each row's values, NULL as `None`, and whether it came as an NBCROW.
fn rows(client: &mut Client, columns: usize) -> Vec<(bool, Vec<Option<Vec<u8>>>)> {
    let row = |row: usize| {
        let column = |column: usize| {
            let (name, value, _) = type_of(column);
            let value = if is_null(row, column) { "null" } else { value };
            format!("cast({value} as {name}) c{column}")
        };
        (0..columns).map(column).collect::<Vec<_>>().join(",")
    };
    let batch = (0..ROWS)
        .map(|number| format!("select {}", row(number)))
        .collect::<Vec<_>>();
    let tokens = client.batch(&batch.join(" union all "));
    assert_eq!(errors(&tokens), Vec::<i32>::new(), "{columns}");
    let read = |token: &Token| match token {
        Token::Row(row) => {
            let (mut at, mut values) = (0, Vec::new());
            for column in 0..columns {
                let framing = type_of(column).2;
                let length = length_of(&row.data[at..], framing);
                let value = row.data[at..at + length].to_vec();
                values.push(Some(value).filter(|value| value != null_of(framing)));
                at += length;
            }
            assert_eq!(at, row.data.len());
            Some((false, values))
        }
        Token::NbcRow(row) => {
            assert_eq!(row.null_bitmap.len(), columns.div_ceil(8));
            let spare = (columns..row.null_bitmap.len() * 8).map(|bit| row.null_bitmap[bit / 8] >> (bit % 8) & 1);
            assert_eq!(spare.sum::<u8>(), 0, "bits behind the last column");
            let (mut at, mut values) = (0, Vec::new());
            for column in 0..columns {
                if row.is_null(column) {
                    values.push(None);
                    continue;
                }
                let length = length_of(&row.data[at..], type_of(column).2);
                values.push(Some(row.data[at..at + length].to_vec()));
                at += length;
            }
            assert_eq!(at, row.data.len());
            Some((true, values))
        }
        _ => None,
    };
    tokens.iter().filter_map(read).collect()
}

#[test]
fn nulls_of_every_type_come_as_nulls_and_all_else_as_it_is() {
    let server = start();
    let mut client = Client::sa(&server);
    let mut old = Client::connect(&server);
    old.send(0x12, 1, &PreLogin::new().encode());
    old.payload().unwrap();
    let login = Login7::new().with_tds_version(TdsVersion::V7_3A);
    old.send(0x10, 1, &login.with_sql_auth("sa", PASSWORD).encode());
    assert_eq!(errors(&old.tokens()), Vec::<i32>::new());
    // A value of each type, as it comes alone.
    let alone: Vec<Vec<u8>> = (0..TYPES.len())
        .map(|column| {
            let (name, value, _) = type_of(column);
            let tokens = client.batch(&format!("select cast({value} as {name}) v union all select null"));
            let row = tokens.iter().find_map(|token| match token {
                Token::Row(row) => Some(row.data.to_vec()),
                _ => None,
            });
            row.unwrap()
        })
        .collect();
    for columns in [1, 7, 8, 9, TYPES.len(), 1_024] {
        for (client, has_bitmaps) in [(&mut client, columns >= 8), (&mut old, false)] {
            let found = rows(client, columns);
            assert_eq!(found.len(), ROWS, "{columns}");
            for (number, (bitmap, values)) in found.iter().enumerate() {
                assert_eq!(*bitmap, has_bitmaps, "{columns} columns, row {number}");
                for (column, value) in values.iter().enumerate() {
                    let expected = (!is_null(number, column)).then(|| alone[column % TYPES.len()].clone());
                    assert_eq!(
                        *value,
                        expected,
                        "row {number}, column {column} of {columns}, {}",
                        type_of(column).0
                    );
                }
            }
        }
    }
}
