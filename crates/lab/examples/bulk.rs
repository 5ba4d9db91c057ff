//! A bulk load as bcp and SqlBulkCopy do it: `INSERT BULK`, then the rows in one message, again and again.
//!
//! ```text
//! bulk [--encrypt off|login|on|strict] PORT DATABASE TABLE ROWS BATCH
//! ```
//! TABLE has the columns `id int not null, amount bigint not null, name varchar(100) not null`. All rows are made before the clock
//! starts. Prints one JSON object: seconds from the first INSERT BULK to the answer to the last rows, and their bytes.

mod support;

use std::time::Instant;
use support::{Line, Server};
use tds_protocol::{PacketType, SqlBatch};

/// What SqlBulkCopy asks for.
const PACKET_BYTES: u16 = 8000;
const HEADER_BYTES: usize = 8;
const NAME_BYTES: usize = 60;

const COLUMN_METADATA: u8 = 0x81;
const ROW: u8 = 0xD1;
const DONE: u8 = 0xFD;
const DONE_BYTES: usize = 13;
const DONE_ERROR: u16 = 0x0002;
const INT4: u8 = 0x38;
const INT8: u8 = 0x7F;
const BIG_VARCHAR: u8 = 0xA7;
/// Latin1_General_CI_AS.
const COLLATION: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 0x34];
const MESSAGE_OF_ROWS: u8 = 7;

fn main() {
    let (encrypt, arguments) = support::arguments();
    let [port, database, table, rows, batch] = arguments.as_slice() else {
        eprintln!("usage: bulk [--encrypt off|login|on|strict] PORT DATABASE TABLE ROWS BATCH");
        std::process::exit(2);
    };
    let server = Server {
        port: port.parse().expect("PORT is a number"),
        database: database.clone(),
        encrypt,
    };
    let rows: u32 = rows.parse().expect("ROWS is a number");
    let batch: u32 = batch.parse().expect("BATCH is a number");
    let announced = packets(
        PacketType::SqlBatch as u8,
        &SqlBatch::new(format!(
            "insert bulk {table} (id int, amount bigint, name varchar(100)) with (tablock)"
        ))
        .encode(),
    );
    let messages: Vec<Vec<u8>> = (0..rows)
        .step_by(batch as usize)
        .map(|first| packets(MESSAGE_OF_ROWS, &message(first, (first + batch).min(rows))))
        .collect();
    let mut line = server.connect(PACKET_BYTES);
    let begin = Instant::now();
    for message in &messages {
        exchange(&mut line, &announced);
        exchange(&mut line, message);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let bytes: usize = messages.iter().map(Vec::len).sum();
    println!("{{\"seconds\": {seconds:.6}, \"bytes\": {bytes}}}");
}

/// The payload with the rows from `first` to before `end`.
fn message(first: u32, end: u32) -> Vec<u8> {
    let mut out = vec![COLUMN_METADATA, 3, 0];
    column(&mut out, &[INT4], "id");
    column(&mut out, &[INT8], "amount");
    let length = 100_u16.to_le_bytes();
    column(
        &mut out,
        &[&[BIG_VARCHAR, length[0], length[1]], COLLATION.as_slice()].concat(),
        "name",
    );
    for id in first..end {
        out.push(ROW);
        out.extend(id.to_le_bytes());
        out.extend((u64::from(id) * 7).to_le_bytes());
        let name = format!("{id:0>width$}", width = NAME_BYTES);
        out.extend((NAME_BYTES as u16).to_le_bytes());
        out.extend(name.as_bytes());
    }
    out.push(DONE);
    out.extend([0; 4]);
    out.extend(u64::from(end - first).to_le_bytes());
    out
}

fn column(out: &mut Vec<u8>, type_info: &[u8], name: &str) {
    // No user type, and the flags of a column that may be written and has no NULL.
    out.extend([0, 0, 0, 0, 0x08, 0]);
    out.extend(type_info);
    out.push(name.len() as u8);
    out.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
}

/// A message in packets.
fn packets(kind: u8, payload: &[u8]) -> Vec<u8> {
    let chunk_bytes = usize::from(PACKET_BYTES) - HEADER_BYTES;
    let count = payload.len().div_ceil(chunk_bytes);
    let mut out = Vec::with_capacity(payload.len() + count * HEADER_BYTES);
    for (number, chunk) in payload.chunks(chunk_bytes).enumerate() {
        let length = (chunk.len() + HEADER_BYTES) as u16;
        out.extend([kind, u8::from(number + 1 == count)]);
        out.extend(length.to_be_bytes());
        out.extend([0, 0, 1, 0]);
        out.extend(chunk);
    }
    out
}

/// Sends a message and reads its answer, which must end without an error.
fn exchange(line: &mut Line, message: &[u8]) {
    line.write(message);
    let mut answer = Vec::new();
    let mut part = [0; 64 * 1024];
    while !is_whole(&answer) {
        match line.read(&mut part) {
            Ok(0) => panic!("the server closed the connection"),
            Ok(count) => answer.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("the server answers: {error}"),
        }
    }
    let done = &answer[answer.len() - DONE_BYTES..];
    let status = u16::from_le_bytes([done[1], done[2]]);
    assert!(
        done[0] == DONE && status & DONE_ERROR == 0,
        "the server answered with an error: {}",
        String::from_utf8_lossy(&answer)
    );
}

/// Whether the last packet of a message is there. Nothing follows it before the next request.
fn is_whole(answer: &[u8]) -> bool {
    let mut rest = answer;
    while let [_, status, high, low, ..] = rest {
        let Some(next) = rest.get(usize::from(u16::from_be_bytes([*high, *low]))..) else {
            return false;
        };
        if status & 1 == 1 {
            return true;
        }
        rest = next;
    }
    false
}
