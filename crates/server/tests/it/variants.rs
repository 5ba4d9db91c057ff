//! sql_variant on the wire, in both directions and every position, for each base type, byte by byte ([MS-TDS] 2.2.5.5.4).
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, row_count, start_sql as start};
use tds_protocol::Token;

const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
/// Code page 1252, ignoring case, of SQL_Latin1_General_CP1_CI_AS.
const COLLATION: [u8; 5] = [9, 4, 0xD0, 0, 0x34];
/// TYPE_INFO of sql_variant.
const VARIANT: [u8; 5] = [0x62, 0x49, 0x1F, 0, 0];

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn short_text(text: &str) -> Vec<u8> {
    let units = utf16(text);
    [&[(units.len() / 2) as u8][..], &units].concat()
}

/// sp_executesql of a text with `@p sql_variant`, which is returned.
fn call(text: &str, value: &[u8]) -> Vec<u8> {
    let nvarchar = |text: &str| {
        let units = utf16(text);
        let mut bytes = vec![0, 0, 0xE7, 0x40, 0x1F];
        bytes.extend(COLLATION);
        bytes.extend((units.len() as u16).to_le_bytes());
        bytes.extend(units);
        bytes
    };
    let mut bytes = HEADERS.to_vec();
    bytes.extend([0xFF, 0xFF, 10, 0, 0, 0]);
    bytes.extend(nvarchar(text));
    bytes.extend(nvarchar("@p sql_variant output"));
    bytes.extend(short_text("@p"));
    bytes.push(1);
    bytes.extend(VARIANT);
    bytes.extend(value);
    bytes
}

/// The bytes of a variant.
fn variant(base: u8, properties: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = (2 + properties.len() + payload.len()) as u32;
    [
        &length.to_le_bytes()[..],
        &[base, properties.len() as u8],
        properties,
        payload,
    ]
    .concat()
}

fn string(base: u8, length: u16, payload: &[u8]) -> Vec<u8> {
    variant(base, &[&COLLATION[..], &length.to_le_bytes()].concat(), payload)
}

/// What a value is: its bytes, and what SQL_VARIANT_PROPERTY says: base type, precision, scale, maximum length, and the total bytes.
type Case = (Vec<u8>, &'static str);

fn cases() -> Vec<Case> {
    let date = [0x15, 0x46, 0x0B];
    let time = [0x40, 0xE2, 0x01];
    vec![
        (variant(0x32, &[], &[1]), "bit 1 0 1"),
        (variant(0x30, &[], &[200]), "tinyint 3 0 1"),
        (variant(0x34, &[], &(-5_i16).to_le_bytes()), "smallint 5 0 2"),
        (variant(0x38, &[], &(-7_i32).to_le_bytes()), "int 10 0 4"),
        (variant(0x7F, &[], &(1_i64 << 40).to_le_bytes()), "bigint 19 0 8"),
        (variant(0x3B, &[], &1.5_f32.to_le_bytes()), "real 24 0 4"),
        (variant(0x3E, &[], &(-2.5_f64).to_le_bytes()), "float 53 0 8"),
        (variant(0x7A, &[], &15_000_i32.to_le_bytes()), "smallmoney 10 4 4"),
        (variant(0x3C, &[], &[1, 0, 0, 0, 2, 0, 0, 0]), "money 19 4 8"),
        (variant(0x6A, &[8, 2], &[1, 0x39, 0x30, 0, 0]), "decimal 8 2 5"),
        (
            variant(0x6A, &[18, 0], &[0, 0x39, 0x30, 0, 0, 0, 0, 0, 0]),
            "decimal 18 0 9",
        ),
        (variant(0x3A, &[], &[0x10, 0x27, 0x3C, 0]), "smalldatetime 16 0 4"),
        (variant(0x3D, &[], &[0, 0x80, 0, 0, 0x2C, 1, 0, 0]), "datetime 23 3 8"),
        (variant(0x28, &[], &date), "date 10 0 3"),
        (variant(0x29, &[2], &time), "time 11 2 3"),
        (variant(0x2A, &[2], &[&time[..], &date].concat()), "datetime2 22 2 6"),
        (
            variant(0x2B, &[2], &[&time[..], &date, &[60, 0]].concat()),
            "datetimeoffset 29 2 8",
        ),
        (variant(0x24, &[], &[7; 16]), "uniqueidentifier 0 0 16"),
        (string(0xA7, 9, b"ab\xE9"), "varchar 0 0 9"),
        (string(0xAF, 4, b"abc "), "char 0 0 4"),
        (string(0xE7, 12, &utf16("añ😀")), "nvarchar 0 0 12"),
        (string(0xEF, 6, &utf16("ab ")), "nchar 0 0 6"),
        (variant(0xA5, &[9, 0], &[1, 2, 3]), "varbinary 0 0 9"),
        (variant(0xAD, &[3, 0], &[1, 2, 0]), "binary 0 0 3"),
        (string(0xA7, 8000, &[b'x'; 8000]), "varchar 0 0 8000"),
    ]
}

fn holds(tokens: &[Token], bytes: &[u8]) -> bool {
    tokens.iter().any(|token| match token {
        Token::Row(row) => row.data.windows(bytes.len()).any(|part| part == bytes),
        Token::NbcRow(row) => row.data.windows(bytes.len()).any(|part| part == bytes),
        _ => false,
    })
}

fn returned(tokens: &[Token]) -> Vec<Vec<u8>> {
    let value = |token: &Token| match token {
        Token::ReturnValue(value) => Some(value.value.to_vec()),
        _ => None,
    };
    tokens.iter().filter_map(value).collect()
}

#[test]
fn every_base_type_goes_both_ways_as_it_came() {
    let server = start();
    let mut client = Client::sa(&server);
    client.batch("create table ##v (v sql_variant)");
    let text = "delete ##v insert ##v values (@p) set @p = (select v from ##v) select v from ##v
        select concat(cast(sql_variant_property(v, 'BaseType') as varchar(30)), ' ', cast(sql_variant_property(v, 'Precision') as int), ' ',
          cast(sql_variant_property(v, 'Scale') as int), ' ', cast(sql_variant_property(v, 'MaxLength') as int)) from ##v";
    for (bytes, told) in cases() {
        client.send(3, 1, &call(text, &bytes));
        let tokens = client.tokens();
        assert_eq!(errors(&tokens), Vec::<i32>::new(), "{told}");
        assert!(holds(&tokens, &bytes), "{told}: {bytes:02X?} in {tokens:02X?}");
        let length = (told.len() as u16).to_le_bytes();
        assert!(
            holds(&tokens, &[&length[..], told.as_bytes()].concat()),
            "{told}: {tokens:?}"
        );
        assert_eq!(returned(&tokens), [bytes], "{told}");
    }
    // NULL has no type.
    client.send(3, 1, &call(text, &[0; 4]));
    let tokens = client.tokens();
    assert_eq!(errors(&tokens), Vec::<i32>::new());
    assert_eq!(returned(&tokens), [vec![0; 4]]);
}

#[test]
fn a_bulk_load_brings_every_base_type() {
    let server = start();
    let mut client = Client::sa(&server);
    for (bytes, told) in cases() {
        client.batch("drop table if exists ##b create table ##b (v sql_variant null)");
        let mut load = vec![0x81, 1, 0, 0, 0, 0, 0, 1, 0];
        load.extend(VARIANT);
        load.extend(short_text("v"));
        load.push(0xD1);
        load.extend(&bytes);
        assert!(errors(&client.batch("insert bulk ##b (v sql_variant)")).is_empty());
        client.send(7, 1, &load);
        assert_eq!(errors(&client.tokens()), Vec::<i32>::new(), "{told}");
        assert!(holds(&client.batch("select v from ##b"), &bytes), "{told}");
    }
}

#[test]
fn what_is_no_variant_is_refused() {
    let server = start();
    let mut client = Client::sa(&server);
    let refused = [
        variant(0x3E, &[], &f64::NAN.to_le_bytes()),
        string(0xA7, 2, b"abc"),
        string(0xE7, 2, &utf16("ab")),
        variant(0xA5, &[1, 0], &[1, 2]),
        variant(0x6A, &[3, 1], &[1, 0xE8, 3, 0, 0]),
    ];
    for bytes in refused {
        client.send(3, 1, &call("select @p", &bytes));
        let tokens = client.tokens();
        assert_eq!((errors(&tokens), row_count(&tokens)), (vec![8023], 0), "{bytes:02X?}");
    }
    // Out of a variant nothing comes without a CAST, and nothing of a `max` type goes in.
    for (batch, number) in [
        ("declare @v sql_variant = 1 declare @i int = @v", 257),
        ("declare @v sql_variant = cast('a' as varchar(max))", 206),
        ("declare @v sql_variant = cast(N'a' as nvarchar(max))", 206),
        ("declare @v sql_variant = cast(0x01 as varbinary(max))", 206),
        ("declare @v sql_variant = 1 select @v + 1", 402),
        ("select cast(cast('x' as sql_variant) as int)", 245),
    ] {
        assert_eq!(errors(&client.batch(batch)), [number], "{batch}");
    }
}
