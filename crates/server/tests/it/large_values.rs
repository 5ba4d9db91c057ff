//! Long values over the wire: sent as literals of a batch, stored, and read back in chunks, byte for byte.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, start_sql as start};
use tds_protocol::Token;

const SIZES: [usize; 5] = [1, 8_000, 8_001, 100_000, 5_000_000];

/// The chunks of a value put together ([MS-TDS] 2.2.5.2.3, PLP).
fn joined(data: &[u8]) -> Vec<u8> {
    let (value, rest) = first_of(data);
    assert!(rest.is_empty(), "nothing follows the last chunk");
    value
}

/// The first value of a row of chunked ones, and what follows it.
fn first_of(data: &[u8]) -> (Vec<u8>, &[u8]) {
    let length = u64::from_le_bytes(data[..8].try_into().unwrap());
    let (mut at, mut value) = (8, Vec::new());
    loop {
        let chunk = u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize;
        at += 4;
        if chunk == 0 {
            break;
        }
        value.extend_from_slice(&data[at..at + chunk]);
        at += chunk;
    }
    assert!(length == value.len() as u64 || length == u64::MAX - 1, "said {length}");
    (value, &data[at..])
}

fn value_of(client: &mut Client, query: &str) -> Vec<u8> {
    let tokens = client.batch(query);
    assert_eq!(errors(&tokens), Vec::<i32>::new(), "{query}");
    let row = tokens.iter().find_map(|token| match token {
        Token::Row(row) => Some(joined(&row.data)),
        _ => None,
    });
    row.unwrap()
}

#[test]
fn long_values_come_back_as_they_were_sent() {
    let server = start();
    let mut client = Client::sa(&server);
    assert_eq!(errors(&client.batch("create database big")), Vec::<i32>::new());
    let tokens =
        client.batch("use big create table big (n int primary key, v varchar(max), w nvarchar(max), b varbinary(max))");
    assert_eq!(errors(&tokens), Vec::<i32>::new());
    for size in SIZES {
        let text: String = ('a'..='z').cycle().take(size).collect();
        let tokens = client.batch(&format!("insert big (n, v) values ({size}, '{text}')"));
        assert_eq!(errors(&tokens), Vec::<i32>::new(), "{size}");
        let copy = format!("update big set w = v, b = convert(varbinary(max), v) where n = {size}");
        assert_eq!(errors(&client.batch(&copy)), Vec::<i32>::new(), "{size}");
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (column, expected) in [("v", text.as_bytes()), ("w", &wide[..]), ("b", text.as_bytes())] {
            let found = value_of(&mut client, &format!("select {column} from big where n = {size}"));
            assert!(found == expected, "{column} of {size}: {} bytes", found.len());
        }
    }
    let tokens = client.batch("dbcc checkdb (big) with no_infomsgs delete big");
    assert_eq!(errors(&tokens), Vec::<i32>::new());
}

/// A table with one row of long values: `v` and `b` 1,000,003 bytes, `w` twice as many, `t` text, each of its own characters.
fn long_row(client: &mut Client) -> String {
    let text: String = ('a'..='z').cycle().take(1_000_003).collect();
    let made = client.batch(&format!(
        "create database big exec ('use big create table one (n int, v varchar(max), w nvarchar(max), b varbinary(max), t text)')
         exec ('use big insert one (n, v) values (7, ''{text}'') update one set w = upper(v), b = cast(reverse(v) as varbinary(max)), t = v')
         use big"
    ));
    assert_eq!(errors(&made), Vec::<i32>::new());
    text
}

#[test]
fn a_row_of_several_long_values_is_whole_whatever_stands_between_them() {
    let server = start();
    let mut client = Client::sa(&server);
    let text = long_row(&mut client);
    let wide: Vec<u8> = text.to_uppercase().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let back: Vec<u8> = text.bytes().rev().collect();
    // A value of no length, of some bytes and NULL between the long ones, and enough columns for a row with a bitmap of NULLs.
    let query = "select v, cast('' as varchar(max)), w, cast(null as varbinary(max)), b, cast('end' as varchar(max)), v, v from one";
    let tokens = client.batch(query);
    assert_eq!(errors(&tokens), Vec::<i32>::new());
    let data = tokens.iter().find_map(|token| match token {
        Token::Row(row) => Some(row.data.to_vec()),
        _ => None,
    });
    let data = data.unwrap();
    let mut rest = &data[..];
    for expected in [
        Some(text.as_bytes()),
        Some(b""),
        Some(&wide[..]),
        None,
        Some(&back[..]),
        Some(b"end"),
    ] {
        let Some(expected) = expected else {
            assert_eq!(rest[..8], [0xFF; 8], "NULL");
            rest = &rest[8..];
            continue;
        };
        let (found, behind) = first_of(rest);
        assert!(found == expected, "{} bytes for {}", found.len(), expected.len());
        rest = behind;
    }
    assert!(first_of(rest).0 == text.as_bytes() && joined(first_of(rest).1) == text.as_bytes());
}

#[test]
fn textsize_cuts_long_values_and_parts_of_them_are_read() {
    let server = start();
    let mut client = Client::sa(&server);
    let text = long_row(&mut client);
    assert_eq!(
        value_of(&mut client, "set textsize 300001 select v from one").len(),
        300_001
    );
    // Half a character is none.
    assert_eq!(value_of(&mut client, "select w from one").len(), 300_000);
    let part = value_of(
        &mut client,
        "set textsize -1 select substring(v, 500000, 7) from one where substring(v, 1, 1) = 'a'",
    );
    assert_eq!(part, text.as_bytes()[499_999..500_006]);
    let back: Vec<u8> = text.bytes().rev().collect();
    assert_eq!(
        value_of(&mut client, "select substring(b, 2, 300000) from one"),
        back[1..300_001]
    );
}

/// The answer to an ATTENTION in the midst of a long value ends where a client can find its end, and the session goes on.
#[test]
fn a_long_value_that_is_cancelled_ends_and_the_session_goes_on() {
    let server = start();
    let mut client = Client::sa(&server);
    let text = long_row(&mut client);
    for _ in 0..4 {
        let doubled = client.batch("update one set v = v + v");
        assert_eq!(errors(&doubled), Vec::<i32>::new());
    }
    client.send_batch("select v, n, w from one");
    client.read_some();
    client.send(6, 1, &[]);
    let answered = client.tokens();
    let row = answered.iter().find_map(|token| match token {
        Token::Row(row) => Some(row.data.to_vec()),
        _ => None,
    });
    let row = row.unwrap();
    let said = u64::from_le_bytes(row[..8].try_into().unwrap());
    assert_eq!(said, 16 * text.len() as u64);
    // What was on its way when the ATTENTION came, NULL for the columns behind it.
    assert!((row.len() as u64) < said, "{} bytes", row.len());
    assert_eq!(
        row[row.len() - 9..],
        [0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
    );
    // The acknowledgement is a message of its own.
    client.tokens();
    assert_eq!(value_of(&mut client, "select cast(n as varchar(max)) from one"), b"7");
}

/// TOP with PERCENT keeps the rows until it knows how many there are; a value that was still to be read came back as NULL, with success.
#[test]
fn a_share_of_the_rows_has_its_long_values() {
    let server = start();
    let mut client = Client::sa(&server);
    let text = long_row(&mut client);
    for share in [50, 100] {
        let found = value_of(&mut client, &format!("select top ({share}) percent v from one"));
        assert!(found == text.as_bytes(), "{share}: {} bytes", found.len());
    }
}

/// SUBSTRING counted units of UTF-16 where the value was read in parts, and characters where it was in memory: what a text was cut into lost
/// each character of two units that stood on a cut.
#[test]
fn parts_of_a_long_text_are_cut_between_characters() {
    let server = start();
    let mut client = Client::sa(&server);
    long_row(&mut client);
    let made = client.batch(
        "update one set w = replicate(cast(N'a' as nvarchar(max)), 32767) + N'\u{1F600}' + replicate(cast(N'b' as nvarchar(max)), 300000) + N'\u{1F600}c'",
    );
    assert_eq!(errors(&made), Vec::<i32>::new());
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    for (start, length, expected) in [
        (32_766, 4, "aa\u{1F600}b"),
        (32_768, 1, "\u{1F600}"),
        (32_769, 2, "bb"),
        (332_768, 9, "b\u{1F600}c"),
        (332_770, 9, "c"),
        (-1, 3, "a"),
    ] {
        // The second has the column in its condition, so its value is in memory.
        for condition in ["", " where w like N'%c'"] {
            let found = value_of(
                &mut client,
                &format!("select substring(w, {start}, {length}) from one{condition}"),
            );
            assert_eq!(found, wide(expected), "{start}, {length}{condition}");
        }
    }
}

/// The page of the first bytes of a value is damaged: the statement fails before anything of its row is sent, and the batch ends there.
#[test]
fn a_damaged_page_at_the_begin_of_a_value_fails_its_statement() {
    let (server, instance) = support::start_sql_with(64 << 20);
    let mut client = Client::sa(&server);
    let made = client.batch(
        "create database big exec ('use big create table one (n int, v varchar(max))
         insert one values (1, ''find me'' + replicate(cast(''.'' as varchar(max)), 600000)), (2, ''short'')') use big",
    );
    assert_eq!(errors(&made), Vec::<i32>::new());
    assert_eq!(
        errors(&client.batch("checkpoint dbcc dropcleanbuffers with no_infomsgs")),
        Vec::<i32>::new()
    );
    let path = instance.database("big").unwrap().storage.files.information()[0]
        .path
        .clone();
    let file = instance.env.disk.open(&path, disk::Access::Buffered).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    let places = bytes.windows(7).enumerate().filter(|(_, part)| *part == b"find me");
    let places: Vec<u64> = places.map(|(place, _)| place as u64).collect();
    assert_eq!(places.len(), 1, "the value begins on one page");
    file.write_at(places[0], b"FIND").unwrap();
    let tokens = client.batch("select v, n from one where n = 1 select 5");
    assert_eq!(errors(&tokens), [824]);
    assert!(
        !tokens.iter().any(|token| matches!(token, Token::Row(_))),
        "no row, and nothing behind the statement"
    );
    // An error of severity 24 ends the connection; the other row can be read by the next one.
    let mut client = Client::sa(&server);
    assert_eq!(value_of(&mut client, "use big select v from one where n = 2"), b"short");
}
