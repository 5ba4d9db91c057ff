//! geometry and geography on the wire, in both directions: as types of the common language runtime, byte by byte ([MS-TDS] 2.2.5.5.2), in parameters,
//! results and bulk loads.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, parse, start_sql as start};

const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
/// TYPE_INFO of nvarchar(max).
const NVARCHAR_MAX: [u8; 8] = [0xE7, 0xFF, 0xFF, 9, 4, 0xD0, 0, 0x34];

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn short_text(text: &str) -> Vec<u8> {
    let units = utf16(text);
    [&[(units.len() / 2) as u8][..], &units].concat()
}

fn chunk(value: &[u8]) -> Vec<u8> {
    let length = (value.len() as u32).to_le_bytes();
    [&(u64::MAX - 1).to_le_bytes()[..], &length, value, &[0; 4]].concat()
}

/// sp_executesql of a text with `@p` of a type, sent as the type of the common language runtime of that name.
fn call(text: &str, own: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = [&HEADERS[..], &[0xFF, 0xFF, 10, 0, 0, 0]].concat();
    for text in [text, &format!("@p {own}")] {
        bytes.extend([0, 0]);
        bytes.extend(NVARCHAR_MAX);
        bytes.extend(chunk(&utf16(text)));
    }
    bytes.extend(short_text("@p"));
    bytes.extend([0, 0xF0, 0, 0]);
    bytes.extend(short_text(own));
    bytes.extend(value);
    bytes
}

fn holds(answer: &[u8], part: &[u8]) -> bool {
    answer.windows(part.len()).any(|window| window == part)
}

/// The bytes of a point with a reference system.
fn point(srid: i32, first: f64, second: f64) -> Vec<u8> {
    [
        &srid.to_le_bytes()[..],
        &[1, 12],
        &first.to_le_bytes(),
        &second.to_le_bytes(),
    ]
    .concat()
}

#[test]
fn parameters_and_results_are_types_of_the_runtime() {
    let server = start();
    let mut client = Client::sa(&server);
    for (own, class, value) in [
        ("geometry", "SqlGeometry", point(7, 1.0, 2.0)),
        ("geography", "SqlGeography", point(4326, 2.0, 1.0)),
    ] {
        client.send(3, 1, &call("select @p as shape, @p.ToString()", own, &chunk(&value)));
        let answer = client.payload().unwrap();
        let assembly = format!(
            "Microsoft.SqlServer.Types.{class}, Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, PublicKeyToken=89845dcd8080cc91"
        );
        let length = (assembly.len() as u16).to_le_bytes();
        let column = [
            &[0xF0, 0xFF, 0xFF, 0][..],
            &short_text("sys"),
            &short_text(own),
            &length,
            &utf16(&assembly),
            &short_text("shape"),
        ];
        assert!(holds(&answer, &column.concat()), "{own}: {answer:?}");
        // A row begins with its values: the shape as it was sent, with its length, and its text.
        let long = |value: &[u8]| {
            let bytes = (value.len() as u64).to_le_bytes();
            [&bytes[..], &chunk(value)[8..]].concat()
        };
        let row = [&[0xD1][..], &long(&value), &long(&utf16("POINT (1 2)"))];
        assert!(holds(&answer, &row.concat()), "{own}: {answer:?}");
    }
}

#[test]
fn null_and_bytes_that_are_none() {
    let server = start();
    let mut client = Client::sa(&server);
    let text = "if @p is null select 1 else select 2";
    for value in [vec![0xFF; 8], chunk(&[0xFF; 4])] {
        client.send(3, 1, &call(text, "geometry", &value));
        let answer = client.payload().unwrap();
        assert!(holds(&answer, &[0xD1, 4, 1, 0, 0, 0]), "{answer:?}");
    }
    let empty = [&(u64::MAX - 1).to_le_bytes()[..], &[0; 4]].concat();
    for value in [empty, chunk(&[0, 0, 0, 0, 1]), chunk(&[0, 0, 0, 0, 1, 12, 0])] {
        client.send(3, 1, &call(text, "geometry", &value));
        assert_eq!(errors(&client.tokens()), [6522]);
    }
    // Another type of the runtime than is declared, and one that is not there.
    let other = point(4326, 2.0, 1.0);
    let sent_as = |own: &str| {
        let call = call(text, "geography", &chunk(&other));
        let wanted = short_text("geography");
        let at = call.windows(wanted.len()).rposition(|window| window == wanted).unwrap();
        [&call[..at], &short_text(own), &call[at + wanted.len()..]].concat()
    };
    client.send(3, 1, &sent_as("geometry"));
    assert_eq!(errors(&client.tokens()), [206]);
    assert_eq!(errors(&client.batch("select 1")), Vec::<i32>::new());
}

/// What bulk copies send for these columns: bytes, which are read, or text.
#[test]
fn bulk_loads_take_bytes() {
    const VARBINARY_MAX: [u8; 3] = [0xA5, 0xFF, 0xFF];
    let server = start();
    let mut client = Client::sa(&server);
    assert_eq!(
        errors(&client.batch("create table shapes (g geometry null)")),
        Vec::<i32>::new()
    );
    let mut load = |value: &[u8]| {
        assert_eq!(
            errors(&client.batch("insert bulk shapes (g varbinary(max))")),
            Vec::<i32>::new()
        );
        let column = [&[0x81, 1, 0, 0, 0, 0, 0, 1, 0][..], &VARBINARY_MAX, &short_text("g")];
        let row = [&[0xD1][..], &chunk(value), &[0xFD, 0, 0, 0, 0], &[0; 8]];
        client.send(7, 1, &[column.concat(), row.concat()].concat());
        let found = errors(&parse(client.payload().unwrap()));
        let text = client.batch("select g.ToString() from shapes");
        (found, support::row_count(&text))
    };
    assert_eq!(load(&[0, 0, 0, 0, 1, 12]), (vec![6522], 0));
    assert_eq!(load(&point(0, 1.0, 2.0)), (vec![], 1));
}
