//! A backend that obeys a few words, and a client built on an independent codec.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use disk::sim::SimDisk;
use engine::error::Error;
use engine::errorlog::{ErrorLog, ErrorNumbers};
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::types::{Length, SqlType, Value};
use engine::waits::WaitStatistics;
use server::backend::ParameterizedSql;
use server::sql::SqlBackend;
use server::{Backend, BackendSession, Identity, Server, ServerOptions, SessionRequest};
use tds::bulk::BulkLoad;
use tds::{PacketReader, RpcParameter, TransactionRequest};
use tds_protocol::{Login7, PreLogin, Token, TokenParser};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed, TransactionEvent};
use tsql::sink::OutputParameter;
use vlf::ServerVersion;

pub const PASSWORD: &str = "P\u{E4}ssword 1";
/// Its record, by the least work that Argon2 can do: one as a server makes it is hashed twice for each test, 20 ms each.
const RECORD: &str = "$argon2id$v=19$m=8,t=1,p=1$O1CO9G6Hgcpkj0xx3ldoMQ$8kno14e3MLkO4xEJVczZtAnROS/3WudiadtyACUUlX8";

/// The instance: one login, the databases master and vlf, and its error log in memory.
pub struct Words {
    record: String,
    pub log: Mutex<Vec<String>>,
}

impl Backend for Words {
    type Session = WordSession;

    fn identity(&self) -> Identity {
        Identity {
            server_name: "WORDS".to_owned(),
            version: (16, 0, 1000),
        }
    }

    fn password_record(&self, login: &str) -> Option<String> {
        login.eq_ignore_ascii_case("sa").then(|| self.record.clone())
    }

    fn open_session(&self, request: SessionRequest) -> Result<WordSession, Error> {
        let database = match request.database.as_str() {
            "" => "master",
            known @ ("master" | "vlf") => known,
            unknown => {
                let text = format!("Cannot open database \"{unknown}\" requested by the login. The login failed.");
                return Err(Error::new(4060, 11, 1, text));
            }
        };
        Ok(WordSession {
            database: database.to_owned(),
            cancel: Arc::default(),
            transaction: 0,
            ended: false,
        })
    }

    fn write_errorlog(&self, source: &str, text: &str) {
        self.log.lock().unwrap().push(format!("{source}: {text}"));
    }

    fn write_error(&self, source: &str, numbers: ErrorNumbers, sentence: &str) {
        let ErrorNumbers {
            number,
            severity,
            state,
        } = numbers;
        let first = format!("{source}: Error: {number}, Severity: {severity}, State: {state}.");
        self.log
            .lock()
            .unwrap()
            .extend([first, format!("{source}: {sentence}")]);
    }
}

impl Words {
    pub fn logged(&self, part: &str) -> bool {
        self.log.lock().unwrap().iter().any(|line| line.contains(part))
    }
}

pub struct WordSession {
    database: String,
    cancel: Arc<AtomicBool>,
    transaction: u64,
    ended: bool,
}

impl WordSession {
    fn rows(&self, count: i32, sink: &mut dyn ResultSink) -> Result<(), SinkClosed> {
        sink.columns(&[
            ResultColumn::new("n", SqlType::Int),
            ResultColumn::new("text", SqlType::NVarChar(Length::Limited(50))),
        ])?;
        for n in 0..count {
            sink.row(&[Value::Int(n), Value::text("some text in the row")])?;
        }
        sink.done(Some(u64::from(count.unsigned_abs())), DoneKind::Select)
    }

    /// Until cancelled, or ten seconds.
    fn wait(&self) {
        let start = Instant::now();
        while !self.cancel.load(Ordering::Relaxed) && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn obey(&mut self, text: &str, sink: &mut dyn ResultSink) -> Result<(), SinkClosed> {
        match text.split_once(' ').unwrap_or((text, "")) {
            ("rows", count) => self.rows(count.parse().unwrap(), sink),
            ("update", count) => sink.done(count.parse().ok(), DoneKind::Update),
            ("fail", number) => {
                let error = Error::new(number.parse().unwrap(), 16, 0, "failed");
                sink.message(&Message::new(&error, 3, ""))
            }
            ("use", database) => {
                let old = std::mem::replace(&mut self.database, database.to_owned());
                sink.database_changed(&old, database);
                let text = format!("Changed database context to '{database}'.");
                sink.message(&Message::new(&Error::new(5701, 10, 1, text), 1, ""))
            }
            ("misfit", _) => {
                sink.columns(&[ResultColumn::new("n", SqlType::TinyInt)])?;
                sink.row(&[Value::Int(1000)])
            }
            ("print", text) => {
                sink.message(&Message::new(&Error::new(0, 0, 0, text), 0, ""))?;
                sink.flush()?;
                self.wait();
                sink.done(None, DoneKind::Other)
            }
            ("wait", _) => {
                self.wait();
                sink.done(None, DoneKind::Other)
            }
            ("sleep", ms) => {
                std::thread::sleep(Duration::from_millis(ms.parse().unwrap()));
                sink.done(Some(1), DoneKind::Other)
            }
            ("kill", _) => {
                self.ended = true;
                Ok(())
            }
            ("forever", _) => self.rows(i32::MAX, sink),
            ("panic", _) => {
                sink.columns(&[ResultColumn::new("n", SqlType::Int)])?;
                panic!("the word was panic");
            }
            _ => Ok(()),
        }
    }
}

impl BackendSession for WordSession {
    fn id(&self) -> u16 {
        51
    }

    fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }

    fn has_ended(&self) -> bool {
        self.ended
    }

    fn database(&self) -> String {
        self.database.clone()
    }

    fn run_batch(&mut self, text: &str, sink: &mut dyn ResultSink) {
        for line in text.lines() {
            if self.obey(line, sink).is_err() {
                return;
            }
        }
    }

    fn run_parameterized(&mut self, sql: ParameterizedSql<'_>, sink: &mut dyn ResultSink) {
        self.run_batch(sql.text, sink);
        for argument in sql.arguments.iter().filter(|argument| argument.output) {
            let doubled = argument.value.integer().unwrap_or(0) as i32 * 2;
            sink.output_parameter(OutputParameter::new(&argument.name, SqlType::Int, &Value::Int(doubled)));
        }
    }

    fn call(&mut self, procedure: &str, _: &[RpcParameter], sink: &mut dyn ResultSink) {
        let text = format!("Could not find stored procedure '{procedure}'.");
        let _ = sink.message(&Message::new(&Error::new(2812, 16, 62, text), 0, ""));
        sink.return_status(2812);
    }

    fn transaction(&mut self, request: &TransactionRequest, sink: &mut dyn ResultSink) {
        let event = match request {
            TransactionRequest::Begin(_) => {
                self.transaction += 1;
                TransactionEvent::Begun(self.transaction)
            }
            TransactionRequest::Commit { .. } => TransactionEvent::Committed(self.transaction),
            _ => TransactionEvent::RolledBack(self.transaction),
        };
        sink.transaction_changed(event);
    }

    fn bulk_load(&mut self, load: &mut BulkLoad<'_>, sink: &mut dyn ResultSink) {
        let mut row = Vec::new();
        let mut count = 0;
        while let Ok(true) = load.next_row(&mut row) {
            count += 1;
        }
        let _ = sink.done(Some(count), DoneKind::Insert);
    }

    fn reset(&mut self, _: bool, _: bool) -> Option<u64> {
        self.database = "master".to_owned();
        None
    }
}

/// A server that speaks T-SQL, on a simulated disk.
pub fn start_sql() -> Server {
    start_sql_with(64 << 20).0
}

/// The same with so much memory, and its instance.
pub fn start_sql_with(max_server_memory_bytes: u64) -> (Server, Arc<Instance>) {
    let clock = Arc::new(SystemClock::default());
    let env = Environment {
        disk: Arc::new(SimDisk::new(7)),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "VLFLAB".to_owned(),
        version: ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes,
        instant_file_initialization: true,
    };
    let instance = Instance::start(options, env).unwrap();
    let backend = SqlBackend::new(instance.clone(), RECORD.to_owned(), Arc::new(|_| {}));
    let options = ServerOptions::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    (Server::start(options, Arc::new(backend)).unwrap(), instance)
}

/// Starts a server on a free port of the loopback interface.
pub fn start(adjust: impl FnOnce(&mut ServerOptions)) -> (Server, Arc<Words>) {
    let words = Arc::new(Words {
        record: RECORD.to_owned(),
        log: Mutex::new(Vec::new()),
    });
    let mut options = ServerOptions::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    adjust(&mut options);
    (Server::start(options, Arc::clone(&words)).unwrap(), words)
}

/// Waits for something another thread brings about.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "never happened: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub struct Client {
    pub stream: TcpStream,
    packets: PacketReader,
    pending: Vec<u8>,
}

impl Client {
    /// Connects without a word.
    pub fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.local_address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self {
            stream,
            packets: PacketReader::default(),
            pending: Vec::new(),
        }
    }

    /// Connects and logs in; the tokens are the answer to the login.
    pub fn log_in(server: &Server, user: &str, password: &str, database: &str) -> (Self, Vec<Token>) {
        let mut client = Self::connect(server);
        client.send(0x12, 1, &PreLogin::new().encode());
        assert!(PreLogin::decode(client.payload().unwrap().as_slice()).is_ok());
        let login = Login7::new()
            .with_sql_auth(user, password)
            .with_database(database)
            .encode();
        client.send(0x10, 1, &login);
        let tokens = client.tokens();
        (client, tokens)
    }

    pub fn sa(server: &Server) -> Self {
        Self::log_in(server, "sa", PASSWORD, "").0
    }

    /// Sends a message in packets of 4096 bytes, the first with `status`.
    pub fn send(&mut self, kind: u8, status: u8, payload: &[u8]) {
        let mut wire = Vec::new();
        let count = payload.len().div_ceil(4088).max(1);
        for at in 0..count {
            let chunk = &payload[at * 4088..payload.len().min((at + 1) * 4088)];
            let last = u8::from(at + 1 == count);
            let first = if at == 0 { status & 0xFE } else { 0 };
            let length = u16::try_from(chunk.len() + 8).unwrap().to_be_bytes();
            wire.extend_from_slice(&[kind, first | last, length[0], length[1], 0, 0, 1, 0]);
            wire.extend_from_slice(chunk);
        }
        self.stream.write_all(&wire).unwrap();
    }

    pub fn send_batch(&mut self, text: &str) {
        self.send(1, 1, &tds_protocol::SqlBatch::new(text).encode());
    }

    pub fn batch(&mut self, text: &str) -> Vec<Token> {
        self.send_batch(text);
        self.tokens()
    }

    pub fn rpc(&mut self, request: &tds_protocol::RpcRequest) -> Vec<Token> {
        self.send(3, 1, &request.encode());
        self.tokens()
    }

    /// The payload of the next message; None when the server closed the connection.
    pub fn payload(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 8192];
        loop {
            let mut rest = self.pending.as_slice();
            let message = self.packets.next(&mut rest).unwrap();
            let consumed = self.pending.len() - rest.len();
            self.pending.drain(..consumed);
            if let Some(message) = message {
                return Some(message.payload);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.pending.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// Waits until something of the next message is there.
    pub fn read_some(&mut self) {
        let mut buffer = [0; 8192];
        let count = self.stream.read(&mut buffer).unwrap();
        self.pending.extend_from_slice(&buffer[..count]);
    }

    /// The tokens of the next message; none when the server closed the connection.
    pub fn tokens(&mut self) -> Vec<Token> {
        self.payload().map(parse).unwrap_or_default()
    }
}

pub fn parse(payload: Vec<u8>) -> Vec<Token> {
    let mut parser = TokenParser::new(payload.into());
    let mut columns = None;
    let mut tokens = Vec::new();
    while let Some(token) = parser.next_token_with_metadata(columns.as_ref()).unwrap() {
        if let Token::ColMetaData(found) = &token {
            columns = Some(found.clone());
        }
        tokens.push(token);
    }
    tokens
}

/// The numbers of all errors among the tokens.
pub fn errors(tokens: &[Token]) -> Vec<i32> {
    let number = |token: &Token| match token {
        Token::Error(error) => Some(error.number),
        _ => None,
    };
    tokens.iter().filter_map(number).collect()
}

/// How many rows there are.
pub fn row_count(tokens: &[Token]) -> usize {
    tokens.iter().filter(|token| matches!(token, Token::Row(_))).count()
}
