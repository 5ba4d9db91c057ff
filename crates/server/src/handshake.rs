//! From the first byte to the session: PRELOGIN, LOGIN7, the password, and the answer a driver expects.
//!
//! Everything here happens before the client is known, so messages are small and the time is limited.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tds::packet::{PACKET_BYTES_DEFAULT, PACKET_BYTES_MAX, PACKET_BYTES_MIN, PacketWriter};
use tds::token::{Done, DoneKind, EnvironmentChange, TokenWriter};
use tds::{
    Collation, DecodeError, Login, Message, PacketError, PacketReader, PacketType, PreLogin, PreLoginReply, TdsVersion,
};

use crate::backend::{Identity, Notice};
use crate::notices;
use crate::results::write_notice;

/// The largest message before the login: LOGIN7 may have 128 KB (MS-TDS 2.2.6.4).
const LOGIN_BYTES_MAX: usize = 128 * 1024;

/// The only language there is.
const LANGUAGE: &str = "us_english";

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The client connected and left; port scanners and load balancers do.
    Left,
    /// It was too slow.
    TimedOut,
    /// The network failed.
    Network(io::Error),
    /// Not TDS at all, or broken TDS.
    Packet(PacketError),
    /// A message that cannot be understood.
    Message(DecodeError),
    /// A message out of turn.
    OutOfTurn(PacketType),
}

impl HandshakeError {
    /// The error log's number, severity, state and sentence; None when there is nothing to report.
    pub(crate) fn errorlog(&self) -> Option<(u32, u8, u8, String)> {
        let structure = "The login packet used to open the connection is structurally invalid; the connection has been \
                         closed. Please contact the vendor of the client library";
        match self {
            Self::Left => None,
            Self::TimedOut => Some((
                17830,
                20,
                11,
                "Network error occurred while establishing a connection; the connection has been closed. This may have \
                 been caused by client or server login timeout expiration"
                    .to_owned(),
            )),
            Self::Network(error) => Some((
                17830,
                20,
                11,
                format!("Network error occurred while establishing a connection; the connection has been closed ({error})"),
            )),
            Self::Packet(error) => Some((17836, 20, 17, packet_sentence(error))),
            Self::Message(error) => Some((17832, 20, 18, format!("{structure} ({error})"))),
            Self::OutOfTurn(kind) => Some((17832, 20, 18, format!("{structure} (a {kind:?} message before the login)"))),
        }
    }
}

/// 17836's sentence for a broken packet stream.
pub(crate) fn packet_sentence(error: &PacketError) -> String {
    format!(
        "Length specified in network packet payload did not match number of bytes read; the connection has been closed. \
         Please contact the vendor of the client library ({error})"
    )
}

/// A client that introduced itself, and what it sent ahead.
pub(crate) struct Introduced {
    pub(crate) login: Login,
    pub(crate) packets: PacketReader,
    pub(crate) pending: Vec<u8>,
}

/// Reads messages until the deadline.
struct Intake<'a> {
    stream: &'a TcpStream,
    packets: PacketReader,
    pending: Vec<u8>,
    deadline: Instant,
}

impl Intake<'_> {
    fn message(&mut self) -> Result<Message, HandshakeError> {
        let mut buffer = [0; 4096];
        loop {
            let mut rest = self.pending.as_slice();
            let found = self.packets.next(&mut rest).map_err(HandshakeError::Packet)?;
            let consumed = self.pending.len() - rest.len();
            self.pending.drain(..consumed);
            if let Some(message) = found {
                return Ok(message);
            }
            if !self.pending.is_empty() {
                continue;
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(HandshakeError::TimedOut);
            }
            self.stream
                .set_read_timeout(Some(left))
                .map_err(HandshakeError::Network)?;
            match (&mut &*self.stream).read(&mut buffer) {
                Ok(0) => return Err(HandshakeError::Left),
                Ok(count) => self.pending.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Err(HandshakeError::TimedOut),
                    io::ErrorKind::ConnectionReset => return Err(HandshakeError::Left),
                    _ => return Err(HandshakeError::Network(error)),
                },
            }
        }
    }
}

/// Negotiates up to and including LOGIN7.
pub(crate) fn introduce(
    stream: &TcpStream,
    identity: &Identity,
    timeout: Duration,
) -> Result<Introduced, HandshakeError> {
    let mut intake = Intake {
        stream,
        packets: PacketReader::new(LOGIN_BYTES_MAX),
        pending: Vec::new(),
        deadline: Instant::now() + timeout,
    };
    loop {
        let message = intake.message()?;
        match message.kind {
            PacketType::PreLogin => {
                let asked = PreLogin::parse(&message.payload).map_err(HandshakeError::Message)?;
                let reply = PreLoginReply {
                    server_version: identity.version,
                    encryption: asked.encryption.answer(false),
                };
                let mut writer = PacketWriter::new();
                reply.write(writer.payload());
                writer.finish(&mut &*stream).map_err(HandshakeError::Network)?;
            }
            PacketType::Login7 => {
                let login = Login::parse(&message.payload).map_err(HandshakeError::Message)?;
                stream.set_read_timeout(None).map_err(HandshakeError::Network)?;
                return Ok(Introduced {
                    login,
                    packets: intake.packets,
                    pending: intake.pending,
                });
            }
            other => return Err(HandshakeError::OutOfTurn(other)),
        }
    }
}

/// The packet size for a client that asked for `requested` bytes, 0 meaning "yours".
pub(crate) fn packet_bytes(requested: u32) -> usize {
    match usize::try_from(requested).unwrap_or(PACKET_BYTES_MAX) {
        0 => PACKET_BYTES_DEFAULT,
        bytes => bytes.clamp(PACKET_BYTES_MIN, PACKET_BYTES_MAX),
    }
}

/// The answer to a login that succeeded, in the order SQL Server sends it.
pub(crate) fn accept(
    tokens: &mut TokenWriter,
    stream: &mut dyn io::Write,
    identity: &Identity,
    login: &Login,
    database: &str,
) -> io::Result<()> {
    let name = &identity.server_name;
    tokens.environment(EnvironmentChange::Database(database, "master"));
    write_notice(tokens, name, &notices::database_context(database, 2));
    tokens.environment(EnvironmentChange::Collation(Collation::default()));
    tokens.environment(EnvironmentChange::Language(LANGUAGE, ""));
    write_notice(tokens, name, &notices::language_setting(LANGUAGE));
    tokens.login_ack("Microsoft SQL Server", identity.version);
    let bytes = packet_bytes(login.packet_bytes);
    tokens.environment(EnvironmentChange::PacketBytes(bytes, PACKET_BYTES_DEFAULT));
    if login.has_features {
        tokens.feature_ext_ack(login.offers(tds::login::FEATURE_UTF8_SUPPORT));
    }
    tokens.done(DoneKind::Done, &Done::default());
    tokens.finish(stream)?;
    // The answer still travels in packets of the default size; the new one starts after it.
    tokens.packets().set_packet_bytes(bytes);
    Ok(())
}

/// The answer to one that failed.
pub(crate) fn refuse(
    version: TdsVersion,
    stream: &mut dyn io::Write,
    identity: &Identity,
    notices: &[Notice],
) -> io::Result<()> {
    let mut tokens = TokenWriter::new(version);
    for notice in notices {
        write_notice(&mut tokens, &identity.server_name, notice);
    }
    tokens.done(
        DoneKind::Done,
        &Done {
            error: true,
            ..Done::default()
        },
    );
    tokens.finish(stream)
}
