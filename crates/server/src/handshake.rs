//! From the first byte to the session: PRELOGIN, TLS, LOGIN7, the password, and the answer a driver expects.
//!
//! ```text
//! TDS 7    PRELOGIN -> <- reply | TLS handshake in packets of PRELOGIN, if both have it | LOGIN7 -> (encrypted)
//! TDS 8    TLS handshake | PRELOGIN -> <- reply | LOGIN7 ->                              (all of it within TLS)
//! ```
//!
//! All of this happens before the client is authenticated, so messages are small and time is limited: a client that stalls, even in the
//! middle of a TLS record, has until the deadline, and at most one record and one message of it are kept.

use std::io;
use std::time::{Duration, Instant};

use engine::error::Error;
use engine::errorlog::ErrorNumbers;
use tds::packet::{PACKET_BYTES_DEFAULT, PACKET_BYTES_MAX, PACKET_BYTES_MIN, PacketWriter};
use tds::prelogin::{Scope, ServerEncryption};
use tds::token::{Done, DoneKind, EnvironmentChange, TokenWriter};
use tds::{
    Collation, DecodeError, Login, Message, PacketError, PacketReader, PacketType, PreLogin, PreLoginReply, TdsVersion,
};
use tsql::session::Message as Told;

use crate::backend::Identity;
use crate::door::Line;
use crate::encryption::{Channel, ChannelError, Encryption};
use crate::notices;
use crate::results::write_message;

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
    Network(io::Error),
    /// Not TDS at all, or broken TDS.
    Packet(PacketError),
    /// A message that cannot be understood.
    Message(DecodeError),
    /// A message out of turn.
    OutOfTurn(PacketType),
    /// TLS failed.
    Tls(ChannelError),
    /// The client cannot encrypt, and has to.
    NotEncrypted,
}

impl From<ChannelError> for HandshakeError {
    fn from(error: ChannelError) -> Self {
        Self::Tls(error)
    }
}

impl HandshakeError {
    /// What the error log says: numbers and a sentence; None when there is nothing to report.
    pub(crate) fn errorlog(&self) -> Option<(ErrorNumbers, String)> {
        let structure = "The login packet used to open the connection is structurally invalid; the connection has been \
                         closed. Please contact the vendor of the client library";
        let (number, state, sentence) = match self {
            Self::Left => return None,
            Self::TimedOut => (
                17830,
                11,
                "Network error occurred while establishing a connection; the connection has been closed. This may have \
                 been caused by client or server login timeout expiration"
                    .to_owned(),
            ),
            Self::Network(error) => (17830, 11, network_sentence(error)),
            Self::Tls(error) => (17830, 11, network_sentence(error)),
            Self::NotEncrypted => (
                17835,
                1,
                "Encryption is required to connect to this server but the client library does not support encryption; the \
                 connection has been closed. Please upgrade your client library"
                    .to_owned(),
            ),
            Self::Packet(error) => (17836, 17, packet_sentence(error)),
            Self::Message(error) => (17832, 18, format!("{structure} ({error})")),
            Self::OutOfTurn(kind) => (17832, 18, format!("{structure} (a {kind:?} message before the login)")),
        };
        let numbers = ErrorNumbers {
            number,
            severity: 20,
            state,
        };
        Some((numbers, sentence))
    }
}

/// 17830's sentence.
fn network_sentence(error: &dyn std::fmt::Display) -> String {
    format!("Network error occurred while establishing a connection; the connection has been closed ({error})")
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
    /// Decrypted, if there is a channel.
    pub(crate) pending: Vec<u8>,
    /// What encrypts all that follows.
    pub(crate) channel: Option<Channel>,
    /// TLS came first, as of TDS 8.0.
    pub(crate) is_strict: bool,
    /// It has several sessions on its connection: what follows is multiplexed.
    pub(crate) is_multiplexed: bool,
}

/// Bytes of a TLS record's header, and the kinds of record (RFC 8446, 5.1).
const RECORD_HEADER_BYTES: usize = 5;
const RECORD_KINDS: std::ops::RangeInclusive<u8> = 20..=23;
const RECORD_OF_HANDSHAKE: u8 = 22;

/// Talks with a stranger until the deadline.
struct Intake<'a> {
    line: &'a dyn Line,
    packets: PacketReader,
    /// What was read off the line and not looked at.
    raw: Vec<u8>,
    /// TDS bytes received that do not make a whole message yet.
    pending: Vec<u8>,
    channel: Option<Channel>,
    deadline: Instant,
}

impl Intake<'_> {
    /// Reads until a message is whole.
    fn message(&mut self) -> Result<Message, HandshakeError> {
        loop {
            let mut rest = self.pending.as_slice();
            let found = self.packets.next(&mut rest).map_err(HandshakeError::Packet)?;
            let consumed = self.pending.len() - rest.len();
            self.pending.drain(..consumed);
            match found {
                Some(message) if !message.ignored => return Ok(message),
                Some(_) => continue,
                None => {}
            }
            if self.pending.is_empty() && !self.open_record()? {
                self.read()?;
            }
        }
    }

    /// Makes of what was read what it says: of TLS one record, and not the beginning of the next, which may be none. False when
    /// there is too little of it.
    fn open_record(&mut self) -> Result<bool, HandshakeError> {
        let Some(channel) = &self.channel else {
            self.pending.append(&mut self.raw);
            return Ok(!self.pending.is_empty());
        };
        let Some(bytes) = record_bytes(&self.raw)? else {
            return Ok(false);
        };
        let record: Vec<u8> = self.raw.drain(..bytes).collect();
        let received = channel.receive(&record, &mut self.pending);
        if received.is_err() {
            // The reason, for a client that reads on.
            self.send_of_channel()?;
        }
        match received? {
            true => Ok(true),
            false => Err(HandshakeError::Left),
        }
    }

    fn read(&mut self) -> Result<(), HandshakeError> {
        let mut buffer = [0; 4096];
        match self.line.read(&mut buffer, self.time_left()?) {
            Ok(0) => Err(HandshakeError::Left),
            Ok(count) => {
                self.raw.extend_from_slice(buffer.get(..count).unwrap_or_default());
                Ok(())
            }
            Err(error) => failed_io(error),
        }
    }

    fn time_left(&self) -> Result<Duration, HandshakeError> {
        match self.deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(HandshakeError::TimedOut),
            left => Ok(left),
        }
    }

    fn send(&self, bytes: &[u8]) -> Result<(), HandshakeError> {
        self.line.write_all(bytes, self.time_left()?).or_else(failed_io)
    }

    /// Answers PRELOGIN, through the channel if there is one.
    fn reply(&mut self, reply: &PreLoginReply) -> Result<(), HandshakeError> {
        let (mut writer, mut bytes) = (PacketWriter::new(), Vec::new());
        reply.write(writer.payload());
        writer.finish(&mut bytes).map_err(HandshakeError::Network)?;
        match &self.channel {
            None => self.send(&bytes),
            Some(channel) => {
                // A reply is far smaller than what a channel keeps.
                channel.seal(&bytes).map_err(HandshakeError::Network)?;
                self.send_of_channel()
            }
        }
    }

    /// What the channel has to say.
    fn of_channel(&self) -> Result<Vec<u8>, HandshakeError> {
        let mut bytes = Vec::new();
        if let Some(channel) = &self.channel {
            while channel.has_to_send() {
                channel.send(&mut bytes).map_err(HandshakeError::Network)?;
            }
        }
        Ok(bytes)
    }

    fn send_of_channel(&self) -> Result<(), HandshakeError> {
        let bytes = self.of_channel()?;
        self.send(&bytes)
    }

    /// The handshake of a client that begins with it.
    fn handshake_first(&mut self, channel: Channel) -> Result<(), HandshakeError> {
        self.channel = Some(channel);
        while self.channel.as_ref().is_some_and(Channel::is_handshaking) {
            match self.open_record()? {
                true => self.send_of_channel()?,
                false => self.read()?,
            }
        }
        Ok(())
    }

    /// The handshake within packets of PRELOGIN. What it is of stands in the channel only after it: until then messages come bare.
    fn handshake_in_packets(&mut self, channel: Channel) -> Result<(), HandshakeError> {
        let mut refused = Ok(true);
        while channel.is_handshaking() && refused.is_ok() {
            let message = self.message()?;
            if message.kind != PacketType::PreLogin {
                return Err(HandshakeError::OutOfTurn(message.kind));
            }
            // Of a handshake, nothing is left over for TDS.
            refused = channel.receive(&message.payload, &mut self.pending);
            let (mut writer, mut bytes) = (PacketWriter::new(), Vec::new());
            while channel.has_to_send() {
                channel.send(writer.payload()).map_err(HandshakeError::Network)?;
            }
            if writer.pending() > 0 {
                writer.finish_handshake(&mut bytes).map_err(HandshakeError::Network)?;
                self.send(&bytes)?;
            }
            if matches!(refused, Ok(false)) {
                return Err(HandshakeError::Left);
            }
        }
        refused?;
        // What came with the handshake's last packet is TLS.
        self.raw = [std::mem::take(&mut self.pending), std::mem::take(&mut self.raw)].concat();
        self.channel = Some(channel);
        Ok(())
    }

    /// The record of a client and all it sent with it, once `scope` says what of it was to be encrypted.
    fn introduced(
        mut self,
        message: &Message,
        scope: Scope,
        (is_strict, is_multiplexed): (bool, bool),
    ) -> Result<Introduced, HandshakeError> {
        let login = Login::parse(&message.payload).map_err(HandshakeError::Message)?;
        if scope == Scope::Login {
            self.channel = None;
        }
        if let Some(channel) = &self.channel {
            channel.receive(&self.raw, &mut self.pending)?;
        } else {
            self.pending.append(&mut self.raw);
        }
        self.line.be_patient().map_err(HandshakeError::Network)?;
        Ok(Introduced {
            login,
            packets: self.packets,
            pending: self.pending,
            channel: self.channel,
            is_strict,
            is_multiplexed,
        })
    }
}

fn failed_io(error: io::Error) -> Result<(), HandshakeError> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Err(HandshakeError::TimedOut),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Err(HandshakeError::Left),
        _ => Err(HandshakeError::Network(error)),
    }
}

/// The bytes of the TLS record at the front; None when it is not whole.
fn record_bytes(raw: &[u8]) -> Result<Option<usize>, HandshakeError> {
    if raw.first().is_some_and(|kind| !RECORD_KINDS.contains(kind)) {
        return Err(HandshakeError::NotEncrypted);
    }
    let &[_, _, _, high, low, ..] = raw else {
        return Ok(None);
    };
    let bytes = RECORD_HEADER_BYTES + usize::from(u16::from_be_bytes([high, low]));
    Ok(Some(bytes).filter(|bytes| raw.len() >= *bytes))
}

/// Negotiates up to and including LOGIN7.
pub(crate) fn introduce(
    line: &dyn Line,
    identity: &Identity,
    encryption: &Encryption,
    timeout: Duration,
) -> Result<Introduced, HandshakeError> {
    let mut intake = Intake {
        line,
        packets: PacketReader::new(LOGIN_BYTES_MAX),
        raw: Vec::new(),
        pending: Vec::new(),
        channel: None,
        deadline: Instant::now() + timeout,
    };
    intake.read()?;
    let mut is_strict = false;
    if intake.raw.first() == Some(&RECORD_OF_HANDSHAKE)
        && let Some(channel) = encryption.channel_of_tds_8()
    {
        intake.handshake_first(channel?)?;
        is_strict = true;
    }
    let mut message = intake.message()?;
    // A client of TDS 7.1 may do without PRELOGIN, and then knows no encryption (MS-TDS 3.2.5.1).
    let mut scope = match (is_strict, encryption.demand()) {
        (true, _) => Scope::Everything,
        (false, ServerEncryption::Off | ServerEncryption::On) => Scope::Nothing,
        (false, ServerEncryption::Required | ServerEncryption::Strict) => Scope::Refused,
    };
    let mut is_multiplexed = false;
    if message.kind == PacketType::PreLogin {
        let asked = PreLogin::parse(&message.payload).map_err(HandshakeError::Message)?;
        // Within TLS, what is said of encryption means nothing.
        let (answer, negotiated) = match is_strict {
            true => (asked.encryption, Scope::Everything),
            false => asked.encryption.negotiate(encryption.demand()),
        };
        scope = negotiated;
        intake.reply(&PreLoginReply {
            server_version: identity.version,
            encryption: answer,
            mars: asked.mars,
        })?;
        is_multiplexed = asked.mars;
        if !is_strict
            && matches!(scope, Scope::Login | Scope::Everything)
            && let Some(channel) = encryption.channel_of_tds_7()
        {
            intake.handshake_in_packets(channel?)?;
        }
        if scope != Scope::Refused {
            message = intake.message()?;
        }
    }
    match (scope, message.kind) {
        (Scope::Refused, _) => Err(HandshakeError::NotEncrypted),
        (_, PacketType::Login7) => intake.introduced(&message, scope, (is_strict, is_multiplexed)),
        (_, other) => Err(HandshakeError::OutOfTurn(other)),
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
    write_message(tokens, name, &Told::new(&notices::database_context(database), 1, ""));
    tokens.environment(EnvironmentChange::Collation(Collation::default()));
    tokens.environment(EnvironmentChange::Language(LANGUAGE, ""));
    write_message(tokens, name, &Told::new(&notices::language_setting(LANGUAGE), 1, ""));
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
    errors: &[Error],
) -> io::Result<()> {
    let mut tokens = TokenWriter::new(version);
    for error in errors {
        write_message(&mut tokens, &identity.server_name, &Told::new(error, 1, ""));
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
