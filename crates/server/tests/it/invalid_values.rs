//! Values that do not fit their type, and output parameters of another type than declared, as bytes on the wire.
//!
//! 8023, 8043: "Database Engine events and errors" (SQL Server docs); 7339 is what users see of bulk copies with such values.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, row_count, start_sql as start};
use tds_protocol::Token;

const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn short_text(text: &str) -> Vec<u8> {
    let units = utf16(text);
    [&[(units.len() / 2) as u8][..], &units].concat()
}

/// A parameter: its name, its status, and its type and value as bytes.
fn parameter(name: &str, status: u8, type_and_value: &[u8]) -> Vec<u8> {
    [&short_text(name)[..], &[status], type_and_value].concat()
}

fn nvarchar(text: &str) -> Vec<u8> {
    let units = utf16(text);
    let mut bytes = vec![0xE7, 0x40, 0x1F, 9, 4, 0xD0, 0, 0x34];
    bytes.extend((units.len() as u16).to_le_bytes());
    bytes.extend(units);
    bytes
}

/// sp_executesql of a text with one parameter, @p.
fn call(text: &str, declaration: &str, status: u8, type_and_value: &[u8]) -> Vec<u8> {
    let mut bytes = HEADERS.to_vec();
    bytes.extend([0xFF, 0xFF, 10, 0, 0, 0]);
    bytes.extend(parameter("", 0, &nvarchar(text)));
    bytes.extend(parameter("", 0, &nvarchar(declaration)));
    bytes.extend(parameter("@p", status, type_and_value));
    bytes
}

/// Type, declaration, bytes of a value that is one, bytes of values that are none.
type Kind = (&'static str, &'static [u8], Vec<u8>, Vec<Vec<u8>>);

fn kinds() -> Vec<Kind> {
    let float = |value: f64| [&[8][..], &value.to_le_bytes()].concat();
    let real = |value: f32| [&[4][..], &value.to_le_bytes()].concat();
    let datetime = |days: i32, ticks: u32| [&[8][..], &days.to_le_bytes(), &ticks.to_le_bytes()].concat();
    vec![
        (
            "float",
            &[0x6D, 8],
            float(f64::MAX),
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(float).to_vec(),
        ),
        (
            "real",
            &[0x6D, 4],
            real(f32::MIN),
            [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(real).to_vec(),
        ),
        // Three digits, and a number of four.
        (
            "decimal(3,1)",
            &[0x6A, 5, 3, 1],
            vec![5, 1, 0xE7, 3, 0, 0],
            vec![vec![5, 1, 0xE8, 3, 0, 0]],
        ),
        (
            "datetime",
            &[0x6F, 8],
            datetime(-53_690, 25_919_999),
            vec![datetime(-53_691, 0), datetime(2_958_464, 0), datetime(0, 25_920_000)],
        ),
        (
            "smalldatetime",
            &[0x6F, 4],
            vec![4, 0xFF, 0xFF, 0x9F, 5],
            vec![vec![4, 0, 0, 0xA0, 5]],
        ),
        // 86,399 and 86,400 seconds.
        (
            "time(0)",
            &[0x29, 0],
            vec![3, 0x7F, 0x51, 1],
            vec![vec![3, 0x80, 0x51, 1]],
        ),
        (
            "datetimeoffset(0)",
            &[0x2B, 0],
            vec![8, 0, 0, 0, 1, 0, 0, 0x48, 3],
            vec![vec![8, 0, 0, 0, 1, 0, 0, 0x49, 3]],
        ),
    ]
}

#[test]
fn a_parameter_that_is_no_value_is_refused_before_anything_runs() {
    let server = start();
    let mut client = Client::sa(&server);
    for (name, info, valid, invalid) in kinds() {
        client.batch(&format!("drop table if exists ##v create table ##v (v {name})"));
        let insert = |value: &[u8]| {
            call(
                "insert ##v values (@p)",
                &format!("@p {name}"),
                0,
                &[info, value].concat(),
            )
        };
        client.send(3, 1, &insert(&valid));
        assert_eq!(errors(&client.tokens()), Vec::<i32>::new(), "{name}");
        for value in invalid {
            client.send(3, 1, &insert(&value));
            let tokens = client.tokens();
            assert_eq!(errors(&tokens), [8023], "{name} {value:02X?}");
            let text = tokens.iter().find_map(|token| match token {
                Token::Error(error) => Some(error.message.clone()),
                _ => None,
            });
            let own = name.split('(').next().unwrap();
            let expected =
                format!("Parameter 3 (\"@p\"): The supplied value is not a valid instance of data type {own}.");
            assert!(text.unwrap().contains(&expected), "{name}");
        }
        assert_eq!(row_count(&client.batch("select v from ##v")), 1, "{name}");
    }
}

#[test]
fn a_table_and_a_bulk_load_with_such_a_value_are_refused_whole() {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in [
        "create type floats as table (v float)",
        "create procedure takes @r floats readonly as select v from @r",
        "create table ##f (v float null)",
    ] {
        assert!(errors(&client.batch(batch)).is_empty(), "{batch}");
    }
    for (values, expected) in [
        ([1.5, f64::MAX], None),
        ([1.5, f64::NAN], Some(8043)),
        ([f64::INFINITY, 1.0], Some(8043)),
    ] {
        let mut bytes = HEADERS.to_vec();
        bytes.extend([5, 0]);
        bytes.extend(utf16("takes"));
        bytes.extend([0, 0]);
        bytes.extend(parameter("@r", 0, &[0xF3, 0]));
        bytes.extend(short_text("dbo"));
        bytes.extend(short_text("floats"));
        bytes.extend([1, 0, 0, 0, 0, 0, 1, 0, 0x6D, 8, 0, 0]);
        for value in values {
            bytes.extend([1, 8]);
            bytes.extend(value.to_le_bytes());
        }
        bytes.push(0);
        client.send(3, 1, &bytes);
        let tokens = client.tokens();
        assert_eq!(errors(&tokens), expected.into_iter().collect::<Vec<_>>(), "{values:?}");
        assert_eq!(row_count(&tokens), if expected.is_none() { 2 } else { 0 });

        let mut bulk = vec![0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x6D, 8];
        bulk.extend(short_text("v"));
        for value in values {
            bulk.extend([0xD1, 8]);
            bulk.extend(value.to_le_bytes());
        }
        assert!(errors(&client.batch("insert bulk ##f (v float)")).is_empty());
        client.send(7, 1, &bulk);
        let expected = expected.map(|_| 7339);
        assert_eq!(
            errors(&client.tokens()),
            expected.into_iter().collect::<Vec<_>>(),
            "{values:?}"
        );
    }
    assert_eq!(row_count(&client.batch("select v from ##f")), 2);
}

/// The values returned, as the bytes behind their names.
fn returned(tokens: &[Token]) -> Vec<(u8, Vec<u8>)> {
    let value = |token: &Token| match token {
        Token::ReturnValue(value) => Some((value.col_type, value.value.to_vec())),
        _ => None,
    };
    tokens.iter().filter_map(value).collect()
}

#[test]
fn an_output_parameter_comes_back_in_the_type_it_was_sent_in() {
    let server = start();
    let mut client = Client::sa(&server);
    let null_nvarchar = [0xE7, 0x40, 0x1F, 9, 4, 0xD0, 0, 0x34, 0xFF, 0xFF];
    let text = |text: &str| {
        let units = utf16(text);
        [&(units.len() as u16).to_le_bytes()[..], &units].concat()
    };
    let decimal = |magnitude: u128| [&[17, 1][..], &magnitude.to_le_bytes()].concat();
    let cases: [(&str, &str, &[u8], Vec<u8>); 8] = [
        ("set @p = 41 + 1", "@p int output", &null_nvarchar, text("42")),
        (
            "set @p = '2024-02-29'",
            "@p date output",
            &null_nvarchar,
            text("2024-02-29"),
        ),
        ("set @p = 1.50", "@p decimal(9,2) output", &null_nvarchar, text("1.50")),
        (
            "set @p = 7",
            "@p int output",
            &[0x26, 8, 0],
            [&[8][..], &7_i64.to_le_bytes()].concat(),
        ),
        (
            "set @p = '12'",
            "@p varchar(9) output",
            &[0x26, 4, 0],
            [&[4][..], &12_i32.to_le_bytes()].concat(),
        ),
        ("set @p = null", "@p int output", &null_nvarchar, vec![0xFF, 0xFF]),
        // A decimal has the scale that was sent, and loses nothing by it.
        (
            "set @p = 6.234",
            "@p decimal(6,5) output",
            &[0x6A, 17, 33, 7, 0],
            decimal(62_340_000),
        ),
        (
            "set @p = 6.234",
            "@p decimal(6,5) output",
            &[0x6A, 17, 33, 1, 0],
            decimal(623_400),
        ),
    ];
    for (statement, declaration, sent, expected) in cases {
        client.send(3, 1, &call(statement, declaration, 1, sent));
        let tokens = client.tokens();
        assert_eq!(errors(&tokens), Vec::<i32>::new(), "{statement}");
        let values = returned(&tokens);
        assert_eq!(values.len(), 1, "{statement}");
        assert_eq!(values[0], (sent[0], expected), "{statement} as {:02X}", sent[0]);
    }
    // A value that does not convert is an error, and is not returned.
    client.send(3, 1, &call("set @p = 'x'", "@p varchar(9) output", 1, &[0x26, 4, 0]));
    let tokens = client.tokens();
    assert_eq!(errors(&tokens), [245]);
    assert!(returned(&tokens).is_empty());
}
