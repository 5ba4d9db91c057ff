//! Several sessions on one connection (MARS), packet by packet: answers read in any order, windows, what they share,
//! ATTENTION, FIN, broken framing.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::{Client, PASSWORD, errors, parse, row_count, start_sql};
use server::Server;
use tds::smp::{HEADER_BYTES, Header, Kind, Piece, SmpReader, WINDOW};
use tds::{PacketReader, PacketType};
use tds_protocol::token::DoneStatus;
use tds_protocol::{Login7, PreLogin, Token};

/// Rows of 2 KB, several megabytes of them.
const MANY: &str = "select top 3000 replicate('m', 2000) from sys.all_columns a cross join sys.all_columns b";
const ROWS: usize = 3000;

/// The client's side of one session.
struct Session {
    packets: PacketReader,
    /// Payloads of messages.
    messages: Vec<Vec<u8>>,
    sent: u32,
    received: u32,
    /// The last DATA that the server may send.
    window: u32,
    is_closed: bool,
}

/// The client's side of the connection.
struct Mars {
    stream: TcpStream,
    pieces: SmpReader,
    pending: Vec<u8>,
    sessions: BTreeMap<u16, Session>,
}

impl Mars {
    fn log_in(server: &Server) -> Mars {
        let mut client = Client::connect(server);
        client.send(0x12, 1, &PreLogin::new().with_mars(true).encode());
        assert!(PreLogin::decode(client.payload().unwrap().as_slice()).unwrap().mars);
        client.send(0x10, 1, &Login7::new().with_sql_auth("sa", PASSWORD).encode());
        assert!(errors(&client.tokens()).is_empty());
        Mars {
            stream: client.stream,
            pieces: SmpReader::default(),
            pending: Vec::new(),
            sessions: BTreeMap::new(),
        }
    }

    fn write(&mut self, kind: Kind, session: u16, data: &[u8]) {
        let own = &self.sessions[&session];
        let mut bytes = Vec::new();
        Header {
            kind,
            session,
            data_bytes: data.len() as u32,
            sequence: own.sent,
            window: own.window,
        }
        .write(&mut bytes);
        bytes.extend_from_slice(data);
        self.stream.write_all(&bytes).unwrap();
    }

    fn open(&mut self, session: u16) {
        let own = Session {
            packets: PacketReader::default(),
            messages: Vec::new(),
            sent: 0,
            received: 0,
            window: WINDOW,
            is_closed: false,
        };
        self.sessions.insert(session, own);
        self.write(Kind::Syn, session, &[]);
    }

    fn send(&mut self, session: u16, kind: PacketType, payload: &[u8]) {
        let length = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
        let header = [kind.to_byte(), 1, length[0], length[1], 0, 0, 1, 0];
        self.sessions.get_mut(&session).unwrap().sent += 1;
        self.write(Kind::Data, session, &[&header, payload].concat());
    }

    fn send_batch(&mut self, session: u16, text: &str) {
        self.send(
            session,
            PacketType::SqlBatch,
            &tds_protocol::SqlBatch::new(text).encode(),
        );
    }

    /// Takes what the server sends next; false at its end. It keeps to the window of each session.
    fn receive(&mut self) -> bool {
        let mut buffer = [0; 8192];
        let count = self.stream.read(&mut buffer).unwrap_or(0);
        self.pending.extend_from_slice(&buffer[..count]);
        let bytes = std::mem::take(&mut self.pending);
        let mut input = bytes.as_slice();
        while let Some(piece) = self.pieces.next(&mut input).unwrap() {
            match piece {
                Piece::Header(header) => {
                    let own = self.sessions.get_mut(&header.session).unwrap();
                    own.is_closed |= header.kind == Kind::Fin;
                    if header.kind == Kind::Data {
                        own.received += 1;
                        assert_eq!(header.sequence, own.received);
                        assert!(header.sequence <= own.window, "the window is overrun");
                        assert!(
                            header.data_bytes as usize <= 4096,
                            "one packet, and {HEADER_BYTES} bytes more"
                        );
                    }
                }
                Piece::Data(session, mut data) => {
                    let own = self.sessions.get_mut(&session).unwrap();
                    while let Some(message) = own.packets.next(&mut data).unwrap() {
                        own.messages.push(message.payload);
                    }
                }
            }
        }
        count > 0
    }

    /// Lets the server send as much as it likes in one session, until it has sent a whole message.
    fn answer(&mut self, session: u16) -> Vec<Token> {
        loop {
            let own = self.sessions.get_mut(&session).unwrap();
            if !own.messages.is_empty() {
                return parse(own.messages.remove(0));
            }
            if own.received + 2 >= own.window {
                own.window = own.received + WINDOW;
                self.write(Kind::Ack, session, &[]);
            }
            assert!(self.receive(), "the server hangs up");
        }
    }

    fn batch(&mut self, session: u16, text: &str) -> Vec<Token> {
        self.send_batch(session, text);
        self.answer(session)
    }

    /// Waits until the server has filled a session's window.
    fn fill(&mut self, session: u16) {
        while self.sessions[&session].received < self.sessions[&session].window {
            assert!(self.receive(), "the server hangs up");
        }
    }
}

/// The first column of the only row, a number.
fn number(tokens: &[Token]) -> i32 {
    let row = tokens.iter().find_map(|token| match token {
        Token::Row(row) => Some(row.data.clone()),
        _ => None,
    });
    let row = row.unwrap_or_else(|| panic!("no row: {tokens:?}"));
    // intn: a byte of length, then the value.
    let at = usize::from(row.len() == 5);
    i32::from_le_bytes(row[at..at + 4].try_into().unwrap())
}

fn last_done(tokens: &[Token]) -> DoneStatus {
    match tokens.last() {
        Some(Token::Done(done)) => done.status,
        other => panic!("no DONE at the end: {other:?}"),
    }
}

/// ODBC with MARS_Connection=yes had no connection: the answer to PRELOGIN said that MARS is not supported.
#[test]
fn a_request_is_served_while_the_answer_to_another_is_unread() {
    let server = start_sql();
    let mut client = Mars::log_in(&server);
    for session in [0, 1, 2] {
        client.open(session);
    }
    client.send_batch(0, MANY);
    client.fill(0);
    // Both answers are larger than what is kept in memory. A third is short.
    client.send_batch(1, MANY);
    client.fill(1);
    assert_eq!(number(&client.batch(2, "select 42")), 42);
    assert_eq!(
        client.sessions[&0].received, WINDOW,
        "nothing more came than was asked for"
    );
    assert_eq!(row_count(&client.answer(1)), ROWS);
    assert_eq!(number(&client.batch(2, "select 43")), 43);
    assert_eq!(row_count(&client.answer(0)), ROWS);
    assert_eq!(number(&client.batch(0, "select 44")), 44);
}

#[test]
fn the_sessions_share_transaction_settings_and_temporary_tables() {
    let server = start_sql();
    let mut client = Mars::log_in(&server);
    client.open(0);
    client.open(9);
    client.batch(
        0,
        "create table #t (n int) set lock_timeout 1234 begin transaction insert #t values (5)",
    );
    assert_eq!(number(&client.batch(9, "select @@trancount")), 1);
    assert_eq!(number(&client.batch(9, "select n from #t")), 5);
    assert_eq!(number(&client.batch(9, "select @@lock_timeout")), 1234);
    client.batch(9, "rollback");
    assert_eq!(number(&client.batch(0, "select @@trancount")), 0);
    let [one, other] = [0, 9].map(|session| number(&client.batch(session, "select cast(@@spid as int)")));
    assert_eq!(one, other);
}

#[test]
fn an_attention_ends_the_request_of_its_session() {
    let server = start_sql();
    let mut client = Mars::log_in(&server);
    client.open(0);
    client.open(1);
    let endless = "select a.name from sys.all_columns a cross join sys.all_columns b cross join sys.all_columns c";
    client.send_batch(0, endless);
    client.fill(0);
    client.send(0, PacketType::Attention, &[]);
    let answer = client.answer(0);
    assert!(last_done(&answer).error, "{:?}", answer.last());
    assert!(last_done(&client.answer(0)).attn);
    // One whose answer was put aside is over; its client has all of it, and the acknowledgement behind it.
    client.send_batch(0, MANY);
    client.fill(0);
    assert_eq!(number(&client.batch(1, "select 42")), 42);
    client.send(0, PacketType::Attention, &[]);
    assert_eq!(row_count(&client.answer(0)), ROWS);
    assert!(last_done(&client.answer(0)).attn);
    assert_eq!(number(&client.batch(0, "select 43")), 43);
}

#[test]
fn a_session_that_is_closed_ends_its_request_and_no_other() {
    let server = start_sql();
    let mut client = Mars::log_in(&server);
    client.open(0);
    client.open(1);
    let endless = "select a.name from sys.all_columns a cross join sys.all_columns b cross join sys.all_columns c";
    client.send_batch(1, endless);
    client.fill(1);
    client.write(Kind::Fin, 1, &[]);
    while !client.sessions[&1].is_closed {
        assert!(client.receive(), "the server hangs up");
    }
    assert_eq!(number(&client.batch(0, "select 42")), 42);
    client.open(1);
    assert_eq!(number(&client.batch(1, "select 43")), 43);
}

#[test]
fn who_breaks_the_protocol_loses_the_connection() {
    let server = start_sql();
    let mut client = Mars::log_in(&server);
    client.open(0);
    client.sessions.get_mut(&0).unwrap().sent = 7;
    client.send_batch(0, "select 1");
    assert!(!client.receive(), "a number was left out");
    let mut client = Mars::log_in(&server);
    client.stream.write_all(b"\x01\x01\x00\x08\x00\x00\x00\x00").unwrap();
    assert!(!client.receive(), "TDS without SMP");
    assert_eq!(number(&Client::sa(&server).batch("select 42")), 42, "others are served");
}
