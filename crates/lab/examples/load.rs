//! Several clients of the server at once, each executing one prepared statement over and over with keys drawn at random:
//!
//! ```text
//! load PORT DATABASE CLIENTS REPEATS KEYS "update account set amount = amount + 1 where id = @key"
//! ```
//! `REPEATS` is per client; the password of sa comes from `MSSQL_SA_PASSWORD`. Every answer is read whole and must end
//! without an error. Prints one JSON object: seconds from the moment all clients are connected and prepared, and latencies.
//!
//! The load generators of other engines (pgbench, sysbench) are small C programs; this one does as little as they do, so
//! that what is compared on a machine with few cores is the servers.

use bytes::{Bytes, BytesMut};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::time::Instant;
use tds_protocol::rpc::{ProcId, RpcParam, RpcRequest, TypeInfo};
use tds_protocol::{EncryptionLevel, Login7, PacketType, PreLogin, Token, TokenParser};

const HEADER_BYTES: usize = 8;
/// The DONEPROC token that ends the answer to a procedure call: its type, status, command, row count.
const DONE_PROC: u8 = 0xFE;
const DONE_BYTES: usize = 13;
const DONE_ERROR: u16 = 0x0002;
/// Statements with longer answers are not for this program.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What to do, from the command line.
struct Load {
    port: u16,
    database: String,
    clients: usize,
    repeats: usize,
    keys: u32,
    statement: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, database, clients, repeats, keys, statement] = arguments.as_slice() else {
        eprintln!("usage: load PORT DATABASE CLIENTS REPEATS KEYS STATEMENT");
        std::process::exit(2);
    };
    let load = Load {
        port: port.parse().expect("PORT is a number"),
        database: database.clone(),
        clients: clients.parse().expect("CLIENTS is a number"),
        repeats: repeats.parse().expect("REPEATS is a number"),
        keys: keys.parse().expect("KEYS is a number"),
        statement: statement.clone(),
    };
    let (seconds, mut latencies) = run(&load);
    latencies.sort_unstable();
    let percentile = |share: f64| {
        let at = ((latencies.len() - 1) as f64 * share).round() as usize;
        f64::from(latencies[at]) / 1000.0
    };
    println!(
        "{{\"seconds\": {seconds:.6}, \"count\": {}, \"p50_us\": {:.1}, \"p99_us\": {:.1}, \"p999_us\": {:.1}, \"max_us\": {:.1}}}",
        latencies.len(),
        percentile(0.5),
        percentile(0.99),
        percentile(0.999),
        percentile(1.0),
    );
}

/// Seconds from the common start to the last answer, and every latency in nanoseconds.
fn run(load: &Load) -> (f64, Vec<u32>) {
    let ready = Barrier::new(load.clients + 1);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.clients)
            .map(|number| {
                let ready = &ready;
                scope.spawn(move || {
                    let mut client = Client::connect(load);
                    ready.wait();
                    client.work(load, number as u64)
                })
            })
            .collect();
        ready.wait();
        let start = Instant::now();
        let latencies: Vec<u32> = clients
            .into_iter()
            .flat_map(|client| client.join().expect("a client fails with its own message"))
            .collect();
        (start.elapsed().as_secs_f64(), latencies)
    })
}

/// One connection with its prepared statement.
struct Client {
    stream: TcpStream,
    /// The bytes of `sp_execute handle, @key`; the key is the last four.
    request: Vec<u8>,
    answer: Vec<u8>,
    unread: Box<[u8; ANSWER_BYTES_MAX]>,
}

impl Client {
    fn connect(load: &Load) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", load.port)).expect("the server listens");
        stream.set_nodelay(true).expect("a connected socket takes the option");
        let mut client = Client {
            stream,
            request: Vec::new(),
            answer: Vec::new(),
            unread: Box::new([0; ANSWER_BYTES_MAX]),
        };
        let hello = PreLogin::new().with_encryption(EncryptionLevel::NotSupported);
        client.exchange(PacketType::PreLogin, &hello.encode());
        let password = std::env::var("MSSQL_SA_PASSWORD").expect("MSSQL_SA_PASSWORD is set");
        let login = Login7::new()
            .with_sql_auth("sa", &password)
            .with_database(&load.database);
        client.exchange(PacketType::Tds7Login, &login.encode());
        let handle = client.prepare(&load.statement);
        let execute = RpcRequest::by_id(ProcId::Execute)
            .param(RpcParam::int("", handle))
            .param(RpcParam::int("@key", 0));
        client.request = packet(PacketType::Rpc, &execute.encode());
        client
    }

    fn prepare(&mut self, statement: &str) -> i32 {
        let handle = RpcParam::null("@handle", TypeInfo::int()).as_output();
        let prepare = RpcRequest::by_id(ProcId::Prepare)
            .param(handle)
            .param(RpcParam::nvarchar("", "@key int"))
            .param(RpcParam::nvarchar("", statement))
            .param(RpcParam::int("", 1));
        self.exchange(PacketType::Rpc, &prepare.encode());
        let mut tokens = TokenParser::new(Bytes::copy_from_slice(&self.answer));
        while let Some(token) = tokens.next_token_with_metadata(None).expect("the answer can be read") {
            match token {
                Token::ReturnValue(value) => {
                    let bytes = value.value.get(1..5).expect("a handle of four bytes");
                    return i32::from_le_bytes(bytes.try_into().expect("four bytes"));
                }
                Token::Error(error) => panic!("{}", error.message),
                _ => {}
            }
        }
        panic!("the server gave no handle");
    }

    /// Executes the statement again and again; the latency of each.
    fn work(&mut self, load: &Load, seed: u64) -> Vec<u32> {
        let mut latencies = Vec::with_capacity(load.repeats);
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for _ in 0..load.repeats {
            // xorshift64: keys only have to be spread.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let key = 1 + (state >> 33) as u32 % load.keys;
            let at = self.request.len() - 4;
            self.request[at..].copy_from_slice(&key.to_le_bytes());
            let start = Instant::now();
            self.stream
                .write_all(&self.request)
                .expect("the server takes the request");
            self.receive();
            latencies.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
            self.check();
        }
        latencies
    }

    fn check(&self) {
        let done = &self.answer[self.answer.len() - DONE_BYTES..];
        let status = u16::from_le_bytes([done[1], done[2]]);
        assert!(
            done[0] == DONE_PROC && status & DONE_ERROR == 0,
            "the server answered with an error"
        );
    }

    fn exchange(&mut self, kind: PacketType, payload: &[u8]) {
        self.stream
            .write_all(&packet(kind, payload))
            .expect("the server takes the request");
        self.receive();
    }

    /// Reads packets to the end of the message into `answer`. Nothing follows before the next request.
    fn receive(&mut self) {
        self.answer.clear();
        let (mut from, mut to) = (0, 0);
        loop {
            let read = self.stream.read(&mut self.unread[to..]).expect("the server answers");
            assert!(read > 0, "the server closed the connection");
            to += read;
            while let Some(header) = self.unread[from..to].first_chunk::<HEADER_BYTES>() {
                let end = from + usize::from(u16::from_be_bytes([header[2], header[3]]));
                if end > to {
                    break;
                }
                self.answer.extend_from_slice(&self.unread[from + HEADER_BYTES..end]);
                if header[1] & 1 == 1 {
                    return;
                }
                from = end;
            }
        }
    }
}

/// A message that fits into one packet.
fn packet(kind: PacketType, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + HEADER_BYTES).expect("short requests");
    let mut bytes = BytesMut::with_capacity(usize::from(length));
    bytes.extend_from_slice(&[kind as u8, 1]);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 1, 0]);
    bytes.extend_from_slice(payload);
    bytes.to_vec()
}
