//! The protocol: packets, messages, calls with parameters of every type, and whole conversations with a listening server.

use super::listening::{Listening, PASSWORD, converse, holds_row, select_1, told};
use super::{Reached, Target};
use crate::{catalog, mutate, wire};
use ::tds::{
    BulkLoad, Column, Login, PacketReader, Payload, PreLogin, RpcBatch, RpcRequest, Spooled, SqlBatch, TdsVersion,
    TokenWriter, TransactionRequest, Value,
};
use engine::instance::Instance;
use outside::random::Random;
use server::backend::ParameterizedSql;
use server::encryption::Encryption;
use server::sql::{Announced, Returned, SqlBackend, SqlSession};
use server::{Backend, BackendSession, SessionRequest};
use std::sync::Arc;
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};

/// Messages above this are refused by the reader under test.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
const VERSIONS: [TdsVersion; 3] = [TdsVersion::V7_1, TdsVersion::V7_2, TdsVersion::V7_4];

/// Packets cut anywhere.
pub fn packets() -> Box<dyn Target> {
    Box::new(Packets)
}

/// Payloads of messages.
pub fn messages() -> Box<dyn Target> {
    Box::new(Messages)
}

/// Calls that are decoded and executed.
pub fn calls() -> Box<dyn Target> {
    Box::new(Calls { world: None })
}

/// Rows that INSERT BULK announces and that are loaded.
pub fn bulk() -> Box<dyn Target> {
    Box::new(Bulk { world: None })
}

/// Connections to a server of its own.
pub fn conversation() -> Box<dyn Target> {
    Box::new(Conversation { server: None })
}

struct Packets;

impl Target for Packets {
    /// Some messages in packets, with ATTENTIONs between packets, and changed; the first byte says how the stream is cut.
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let mut stream = Vec::new();
        for _ in 0..1 + random.below(4) {
            let (kind, payload) = wire::message(random);
            stream.extend(in_packets(kind, &payload, random));
        }
        if random.below(4) > 0 {
            mutate::change_bytes(&mut stream, random);
        }
        stream.insert(0, random.draw() as u8);
        stream
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let Some((piece, stream)) = input.split_first() else {
            return Reached::Refused;
        };
        let mut reader = PacketReader::new(MESSAGE_BYTES_MAX);
        let mut reached = Reached::Refused;
        for piece in stream.chunks(1 + usize::from(*piece)) {
            let mut rest = piece;
            while !rest.is_empty() {
                let before = rest.len();
                match reader.next(&mut rest) {
                    Ok(Some(message)) => {
                        assert!(
                            message.payload.len() <= MESSAGE_BYTES_MAX,
                            "{} bytes",
                            message.payload.len()
                        );
                        decode(message.kind.to_byte(), &message.payload);
                        reader.recycle(message.payload);
                        reached = Reached::Taken;
                    }
                    Ok(None) => assert!(rest.is_empty(), "the reader stopped before the end"),
                    Err(_) => return reached,
                }
                assert!(rest.len() < before, "nothing was consumed");
                assert!(
                    reader.partial_bytes() <= 2 * MESSAGE_BYTES_MAX + input.len(),
                    "{} bytes",
                    reader.partial_bytes()
                );
            }
        }
        reached
    }
}

/// Packets of a drawn size; at times an ATTENTION stands between two.
fn in_packets(kind: u8, payload: &[u8], random: &mut Random) -> Vec<u8> {
    let bytes = *random.choose(&[16_usize, 100, 504, 4088]);
    let packets = wire::packets(kind, payload, bytes);
    if random.below(5) > 0 || payload.len() <= bytes {
        return packets;
    }
    let place = (1 + random.below((payload.len() / bytes) as u64) as usize) * (bytes + 8);
    let place = place.min(packets.len());
    [
        &packets[..place],
        &wire::packets(wire::ATTENTION, &[], 8),
        &packets[place..],
    ]
    .concat()
}

struct Messages;

/// Decodes a payload as the server does, in every version. True when it is a message of the kind.
pub(super) fn decode(kind: u8, payload: &[u8]) -> bool {
    let mut is_right = false;
    for version in VERSIONS {
        is_right |= match kind {
            0x01 => SqlBatch::parse(payload, version).is_ok(),
            0x03 => {
                reads_alike_elsewhere(payload, version);
                requests(payload, version).is_ok_and(|requests| !requests.is_empty())
            }
            0x07 => rows(payload, version),
            0x0E => TransactionRequest::parse(payload, version).is_ok(),
            0x10 => Login::parse(payload).is_ok(),
            0x12 => PreLogin::parse(payload).is_ok(),
            _ => false,
        };
    }
    is_right
}

/// A message that does not lie in memory.
#[derive(Debug)]
struct Elsewhere(Vec<u8>);

impl Spooled for Elsewhere {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ::tds::DecodeError> {
        let part = self.0.get(at as usize..at as usize + into.len());
        into.copy_from_slice(part.ok_or(::tds::DecodeError::Truncated("message"))?);
        Ok(())
    }

    fn require(&self, _: usize) -> Result<(), ::tds::DecodeError> {
        Ok(())
    }
}

/// The calls of a message that lies elsewhere are those of the same in memory.
fn reads_alike_elsewhere(payload: &[u8], version: TdsVersion) {
    let all = |payload: Payload<'_>| -> (Vec<String>, bool) {
        let Ok(mut batch) = RpcBatch::parse(payload, version) else {
            return (Vec::new(), false);
        };
        let mut calls = Vec::new();
        loop {
            match batch.next_request() {
                Ok(Some(call)) if calls.len() < 100 => calls.push(format!("{call:?}")),
                Ok(_) => return (calls, true),
                Err(_) => return (calls, false),
            }
        }
    };
    let elsewhere = Payload::Spool(Arc::new(Elsewhere(payload.to_vec())));
    assert_eq!(all(Payload::from(payload)), all(elsewhere));
}

fn requests(payload: &[u8], version: TdsVersion) -> Result<Vec<RpcRequest>, ::tds::DecodeError> {
    let mut batch = RpcBatch::parse(payload, version)?;
    let mut requests = Vec::new();
    while let Some(request) = batch.next_request()? {
        // What the server makes of parameters is done with all of them.
        for parameter in &request.parameters {
            let _ = server::sql::parameter(parameter);
            if let Some(table) = &parameter.table {
                let (mut rows, mut row) = (table.rows(), Vec::new());
                while rows.next_row(&mut row)? {
                    assert_eq!(row.len(), table.columns.len());
                }
            }
        }
        // A message of very many calls is served one at a time.
        if requests.len() < 100 {
            requests.push(request);
        }
    }
    Ok(requests)
}

fn rows(payload: &[u8], version: TdsVersion) -> bool {
    let Ok(mut load) = BulkLoad::parse(payload, version) else {
        return false;
    };
    let mut row = Vec::new();
    while let Ok(true) = load.next_row(&mut row) {
        assert_eq!(row.len(), load.columns().len());
        // Rows without columns never end a message of row tokens early.
    }
    true
}

impl Target for Messages {
    /// The type, then the payload.
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let (kind, mut payload) = wire::message(random);
        if random.below(4) > 0 {
            mutate::change_bytes(&mut payload, random);
        }
        payload.insert(0, kind);
        payload
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        match input.split_first() {
            Some((kind, payload)) if decode(*kind, payload) => Reached::Taken,
            _ => Reached::Refused,
        }
    }
}

/// Takes answers as the server's own results do, and keeps none.
struct Answers {
    tokens: TokenWriter,
    announced: Announced,
    returned: Returned,
    errors: usize,
}

impl ResultSink for Answers {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.tokens.columns(self.announced.wire(columns));
        Ok(())
    }

    fn row(&mut self, row: &[engine::types::Value]) -> Result<(), SinkClosed> {
        let mut writer = self.tokens.row();
        self.announced.write_row(&mut writer, row);
        writer
            .finish()
            .unwrap_or_else(|error| panic!("a row does not fit its columns: {error:?}"));
        self.end()
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        self.end()
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        self.errors += usize::from(message.severity > 10);
        self.end()
    }

    fn output_parameter(&mut self, output: tsql::sink::OutputParameter<'_>) {
        self.returned.add(output);
    }
}

impl Answers {
    fn new() -> Answers {
        Answers {
            tokens: TokenWriter::new(TdsVersion::V7_4),
            announced: Announced::default(),
            returned: Returned::default(),
            errors: 0,
        }
    }

    fn end(&mut self) -> Result<(), SinkClosed> {
        self.tokens.finish(&mut std::io::sink()).map_err(|_| SinkClosed)
    }
}

struct World {
    session: SqlSession,
    _instance: Arc<Instance>,
}

impl World {
    fn new() -> World {
        let (instance, _) = catalog::filled();
        let backend = SqlBackend::new(instance.clone(), String::new(), Arc::new(|_| {}));
        let request = SessionRequest {
            login: "sa".into(),
            host: "HOST".into(),
            application: "fuzz".into(),
            library: "fuzz".into(),
            client_pid: 1,
            address: "here".into(),
            port: 1,
            local: ("there".into(), 2),
            protocol_version: 0x7400_0004,
            database: "fuzz".into(),
            packet_bytes: 4096,
            encrypted: false,
        };
        let session = backend
            .open_session(request)
            .unwrap_or_else(|notice| panic!("no session: {notice:?}"));
        World {
            session,
            _instance: instance,
        }
    }
}

struct Calls {
    world: Option<World>,
}

fn text_of(value: Option<&::tds::RpcParameter>) -> String {
    value.and_then(|parameter| parameter.value.text()).unwrap_or_default()
}

impl Target for Calls {
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let mut payload = wire::calls(random);
        if random.below(3) == 0 {
            mutate::change_bytes(&mut payload, random);
        }
        payload
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let Ok(requests) = requests(input, TdsVersion::V7_4) else {
            return Reached::Refused;
        };
        let world = self.world.get_or_insert_with(World::new);
        let mut answers = Answers::new();
        for request in &requests {
            let arguments = request.parameters.as_slice();
            let called_with = match request.procedure {
                ::tds::Procedure::ExecuteSql => {
                    let (text, declarations) = (text_of(arguments.first()), text_of(arguments.get(1)));
                    let values = arguments.get(2..).unwrap_or_default();
                    let sql = ParameterizedSql {
                        text: &text,
                        declarations: &declarations,
                        arguments: values,
                    };
                    world.session.run_parameterized(sql, &mut answers);
                    values
                }
                _ => {
                    world.session.call(request.procedure.name(), arguments, &mut answers);
                    arguments
                }
            };
            for output in std::mem::take(&mut answers.returned).for_arguments(called_with) {
                assert!(output.place < called_with.len(), "an output without a parameter");
                match output.value {
                    Ok(value) => write_back(&mut answers.tokens, &called_with[output.place], &value),
                    Err(_) => answers.errors += 1,
                }
            }
        }
        if world.session.has_ended() {
            self.world = None;
        }
        if answers.errors == 0 {
            Reached::Taken
        } else {
            Reached::Refused
        }
    }
}

/// What announces rows; the places of these are the first byte of an input.
const ANNOUNCED: &[&str] = &[
    "insert bulk fuzz..t1 (i int, b bigint, s varchar(40))",
    "insert bulk fuzz..t2 (i int, n decimal(18, 4)) with (check_constraints)",
    "insert bulk fuzz..t3 (i int, a sql_variant, v varbinary(30)) with (keep_nulls, tablock)",
    "insert bulk fuzz..t4 (w varchar(max), x char(10), z varchar(30))",
    "insert bulk fuzz.other.t5 (i int, r real, s nvarchar(max)) with (order (r))",
    "insert bulk fuzz..t1",
    "select 1",
];

struct Bulk {
    world: Option<World>,
}

impl Target for Bulk {
    /// Any rows for any of the tables, or rows that the first one takes; and some of both changed.
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let (announced, mut payload) = match random.below(2) {
            0 => (0, wire::fitting_bulk(random)),
            _ => (random.below(ANNOUNCED.len() as u64), wire::bulk(random)),
        };
        if random.below(3) == 0 {
            mutate::change_bytes(&mut payload, random);
        }
        payload.insert(0, announced as u8);
        payload
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let Some((announced, payload)) = input.split_first() else {
            return Reached::Refused;
        };
        let Ok(mut load) = BulkLoad::parse(payload, TdsVersion::V7_4) else {
            return Reached::Refused;
        };
        let world = self.world.get_or_insert_with(World::new);
        let mut answers = Answers::new();
        let announced = ANNOUNCED[usize::from(*announced) % ANNOUNCED.len()];
        world.session.run_batch(announced, &mut answers);
        world.session.bulk_load(&mut load, &mut answers);
        if world.session.has_ended() {
            self.world = None;
        }
        if answers.errors == 0 {
            Reached::Taken
        } else {
            Reached::Refused
        }
    }
}

/// Writes an output parameter in the type that the client declared.
fn write_back(tokens: &mut TokenWriter, parameter: &::tds::RpcParameter, value: &Value) {
    let column = Column::new("x", parameter.column_type);
    tokens.columns(std::slice::from_ref(&column));
    let mut row = tokens.row();
    row.value(value);
    // A value may not fit the client's type; the server then sends an error in its place.
    let _ = row.finish();
    let _ = tokens.finish(&mut std::io::sink());
}

struct Conversation {
    server: Option<Listening>,
}

/// What a client says that must be served.
fn right_conversation() -> Vec<u8> {
    let mut right = wire::packets(0x12, &wire::prelogin_wishing(2), 4088);
    right.extend(wire::packets(
        0x10,
        &wire::login(&mut Random::new(1), "sa", PASSWORD),
        4088,
    ));
    right.extend(select_1());
    right
}

impl Target for Conversation {
    /// All that a client sends: mostly a right login, and then messages that are right, wrong, cut off by ATTENTIONs, or noise.
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let mut prelogin = wire::packets(0x12, &wire::prelogin(random), 4088);
        // Encryption that is asked for would end the conversation before it begins.
        if random.below(10) == 0 {
            mutate::change_bytes(&mut prelogin, random);
        }
        let mut login = wire::packets(0x10, &wire::login(random, "sa", PASSWORD), 4088);
        if random.below(10) == 0 {
            mutate::change_bytes(&mut login, random);
        }
        let mut stream = prelogin;
        stream.extend(login);
        for _ in 0..random.below(6) {
            let (kind, mut payload) = wire::message(random);
            if random.below(2) == 0 {
                mutate::change_bytes(&mut payload, random);
            }
            let mut packets = in_packets(kind, &payload, random);
            if random.below(8) == 0 {
                mutate::change_bytes(&mut packets, random);
            }
            stream.extend(packets);
            if random.below(4) == 0 {
                stream.extend(wire::packets(wire::ATTENTION, &[], 8));
            }
        }
        stream
    }

    /// The first login takes the memory of the password's hash.
    fn prepare(&mut self) {
        if self.server.is_none() {
            let listening = Listening::start(&[Encryption::off()]);
            converse(listening.address(0), &right_conversation(), Some(holds_row));
            self.server = Some(listening);
        }
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let Some(listening) = &self.server else {
            return Reached::Refused;
        };
        let answered = converse(listening.address(0), input, None);
        // Whatever one client did, the next one is served.
        let others = converse(listening.address(0), &right_conversation(), Some(holds_row));
        assert!(holds_row(&others), "{}", told(&others));
        if answered.len() > 100 {
            Reached::Taken
        } else {
            Reached::Refused
        }
    }
}
