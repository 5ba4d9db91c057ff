//! Several clients of the server at once, each executing one prepared statement over and over with keys drawn at random:
//!
//! ```text
//! load [--encrypt off|login|on|strict] PORT DATABASE CLIENTS REPEATS KEYS "update account set amount = amount + 1 where id = @key"
//! ```
//! `REPEATS` is per client; the password of sa comes from `MSSQL_SA_PASSWORD`. Every answer is read whole and must end
//! without an error. Prints one JSON object: seconds from the moment all clients are connected and prepared, and latencies
//! from sending a request to having read its answer. Nothing is encrypted unless it is asked for, by the levels of `support`.
//!
//! The load generators of other engines (pgbench, sysbench) are small C programs; this one does as little as they do, so
//! that what is compared on a machine with few cores is the servers. As in `pgbench -j 2`, two threads serve all clients:
//! each waits for whichever of its clients is answered next. A thread with one client waits in the read itself.

mod support;

use bytes::{Bytes, BytesMut};
use rustix::event::epoll;
use std::io::ErrorKind;
use std::sync::Barrier;
use std::time::Instant;
use support::{Line, Server};
use tds_protocol::rpc::{ProcId, RpcParam, RpcRequest, TypeInfo};
use tds_protocol::{PacketType, Token, TokenParser};

/// Threads that serve the clients, at most.
const THREADS_MAX: usize = 2;

/// Answered clients that one wait tells of, at most.
const EVENTS_MAX: usize = 64;

const HEADER_BYTES: usize = 8;
/// The DONEPROC token that ends the answer to a procedure call: its type, status, command, row count.
const DONE_PROC: u8 = 0xFE;
const DONE_BYTES: usize = 13;
const DONE_ERROR: u16 = 0x0002;
/// Statements with longer answers are not for this program.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What to do, from the command line.
struct Load {
    server: Server,
    clients: usize,
    repeats: usize,
    keys: u32,
    statement: String,
}

fn main() {
    let (encrypt, arguments) = support::arguments();
    let [port, database, clients, repeats, keys, statement] = arguments.as_slice() else {
        eprintln!("usage: load [--encrypt off|login|on|strict] PORT DATABASE CLIENTS REPEATS KEYS STATEMENT");
        std::process::exit(2);
    };
    let load = Load {
        server: Server {
            port: port.parse().expect("PORT is a number"),
            database: database.clone(),
            encrypt,
        },
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
    let threads = load.clients.clamp(1, THREADS_MAX);
    let ready = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let ready = &ready;
                scope.spawn(move || {
                    let mut clients: Vec<Client> = (number..load.clients)
                        .step_by(threads)
                        .map(|client| Client::connect(load, client as u64))
                        .collect();
                    ready.wait();
                    match clients.as_mut_slice() {
                        [only] => only.work(load),
                        several => serve(load, several),
                    }
                    clients.into_iter().flat_map(|client| client.latencies)
                })
            })
            .collect();
        ready.wait();
        let start = Instant::now();
        let latencies: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().expect("a client fails with its own message"))
            .collect();
        let seconds = start.elapsed().as_secs_f64();
        (seconds, latencies.into_iter().flatten().collect())
    })
}

/// Keeps one request of every client under way until each has had all its answers.
fn serve(load: &Load, clients: &mut [Client]) {
    let waiting = epoll::create(epoll::CreateFlags::CLOEXEC).expect("the system has epoll");
    for (client, number) in clients.iter_mut().zip(0..) {
        let stream = client.line.stream();
        stream
            .set_nonblocking(true)
            .expect("a connected socket takes the option");
        epoll::add(
            &waiting,
            stream,
            epoll::EventData::new_u64(number),
            epoll::EventFlags::IN,
        )
        .expect("a socket can be waited for");
        client.send(load);
    }
    let mut answered = Vec::with_capacity(EVENTS_MAX);
    let mut left = clients.len() * load.repeats;
    while left > 0 {
        answered.clear();
        epoll::wait(&waiting, rustix::buffer::spare_capacity(&mut answered), None)
            .expect("the wait ends with an answer");
        for event in &answered {
            let number = usize::try_from(event.data.u64()).expect("a number given above");
            let client = &mut clients[number];
            if client.receive_ready() {
                client.answered();
                left -= 1;
                client.send(load);
            }
        }
    }
}

/// One connection with its prepared statement.
struct Client {
    line: Line,
    /// The bytes of `sp_execute handle, @key`; the key is the last four.
    request: Vec<u8>,
    answer: Vec<u8>,
    unread: Box<[u8; ANSWER_BYTES_MAX]>,
    /// The unread bytes received, and how many of them were taken into `answer`.
    received_bytes: usize,
    taken_bytes: usize,
    random: u64,
    sent: Instant,
    latencies: Vec<u32>,
}

impl Client {
    fn connect(load: &Load, seed: u64) -> Client {
        let mut client = Client {
            line: load.server.connect(support::PACKET_BYTES_DEFAULT),
            request: Vec::new(),
            answer: Vec::new(),
            unread: Box::new([0; ANSWER_BYTES_MAX]),
            received_bytes: 0,
            taken_bytes: 0,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            sent: Instant::now(),
            latencies: Vec::with_capacity(load.repeats),
        };
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

    /// Executes the statement again and again.
    fn work(&mut self, load: &Load) {
        self.send(load);
        for _ in 0..load.repeats {
            self.receive();
            self.answered();
            self.send(load);
        }
    }

    /// Sends the next request; none when all are sent.
    fn send(&mut self, load: &Load) {
        if self.latencies.len() == load.repeats {
            return;
        }
        // xorshift64: keys only have to be spread.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let key = 1 + (self.random >> 33) as u32 % load.keys;
        let at = self.request.len() - 4;
        self.request[at..].copy_from_slice(&key.to_le_bytes());
        self.begin_answer();
        self.sent = Instant::now();
        // The answer before was read, so the request finds the socket's buffer empty.
        self.line.write(&self.request);
    }

    /// The answer is here.
    fn answered(&mut self) {
        let nanoseconds = self.sent.elapsed().as_nanos();
        self.latencies.push(u32::try_from(nanoseconds).unwrap_or(u32::MAX));
        self.check();
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
        self.begin_answer();
        self.line.write(&packet(kind, payload));
        self.receive();
    }

    fn begin_answer(&mut self) {
        self.answer.clear();
        (self.received_bytes, self.taken_bytes) = (0, 0);
    }

    /// Reads packets to the end of the message into `answer`. Nothing follows before the next request.
    fn receive(&mut self) {
        while !self.receive_ready() {}
    }

    /// Reads once; true when the message is whole.
    fn receive_ready(&mut self) -> bool {
        match self.line.read(&mut self.unread[self.received_bytes..]) {
            Ok(0) => panic!("the server closed the connection"),
            Ok(bytes) => self.received_bytes += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) => panic!("the server answers: {error}"),
        }
        loop {
            let unread = &self.unread[self.taken_bytes..self.received_bytes];
            let Some(header) = unread.first_chunk::<HEADER_BYTES>() else {
                return false;
            };
            let packet_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let Some(content) = unread.get(HEADER_BYTES..packet_bytes) else {
                return false;
            };
            self.answer.extend_from_slice(content);
            self.taken_bytes += packet_bytes;
            if header[1] & 1 == 1 {
                return true;
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
