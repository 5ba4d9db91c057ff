//! Long values over the wire: sent as literals of a batch, stored, and read back in chunks, byte for byte.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, start_sql as start};
use tds_protocol::Token;

const SIZES: [usize; 5] = [1, 8_000, 8_001, 100_000, 5_000_000];

/// The chunks of a value put together ([MS-TDS] 2.2.5.2.3, PLP).
fn joined(data: &[u8]) -> Vec<u8> {
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
    assert_eq!(at, data.len(), "nothing follows the last chunk");
    assert!(length == value.len() as u64 || length == u64::MAX - 1, "said {length}");
    value
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
