//! Packet framing: a message is one or more packets, the last marked end-of-message.
//!
//! ```text
//! 0 type | 1 status | 2 length, big-endian, header included | 4 spid, big-endian | 6 packet id | 7 window (0)
//! status bits: 01 end of message, 02 ignore this message, 08 reset connection, 10 reset but keep the transaction
//! ```
//!
//! Invariants: the reader holds no more than the bytes it was fed, and never more than its maximum
//! message size; the writer cuts its token stream into packets of the negotiated size only when it
//! hands bytes out, so a token under construction can still be patched or withdrawn.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use crate::smp::SmpError;

/// Bytes of a packet header.
pub const HEADER_BYTES: usize = 8;
/// The packet size before LOGIN7 settles another one.
pub const PACKET_BYTES_DEFAULT: usize = 4096;
/// The smallest packet size a client may ask for (SQL Server docs: network packet size).
pub const PACKET_BYTES_MIN: usize = 512;
/// The largest one.
pub const PACKET_BYTES_MAX: usize = 32_767;
/// The largest message accepted by default.
pub const MESSAGE_BYTES_MAX_DEFAULT: usize = 256 << 20;

/// Bytes framed and written at a time.
const PIECE_BYTES: usize = 256 << 10;
/// A buffer larger than this is not kept.
const KEPT_BYTES_MAX: usize = 1 << 20;

const END_OF_MESSAGE: u8 = 0x01;
const IGNORE: u8 = 0x02;
const RESET_CONNECTION: u8 = 0x08;
const RESET_KEEP_TRANSACTION: u8 = 0x10;

/// What a message is, from its packets' first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketType {
    /// SQL text.
    SqlBatch,
    Rpc,
    /// The server's answer to anything.
    TabularResult,
    /// The client gives up on the running request.
    Attention,
    /// Rows of INSERT BULK.
    BulkLoad,
    /// Begin, commit, roll back.
    TransactionManager,
    Login7,
    /// Negotiation before the login, and the wrapper of TLS handshakes.
    PreLogin,
}

impl PacketType {
    /// From the wire; None for types that no client of TDS 7.1 to 7.4 may send here.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0x01 => Self::SqlBatch,
            0x03 => Self::Rpc,
            0x04 => Self::TabularResult,
            0x06 => Self::Attention,
            0x07 => Self::BulkLoad,
            0x0E => Self::TransactionManager,
            0x10 => Self::Login7,
            0x12 => Self::PreLogin,
            _ => return None,
        })
    }

    pub fn to_byte(self) -> u8 {
        match self {
            Self::SqlBatch => 0x01,
            Self::Rpc => 0x03,
            Self::TabularResult => 0x04,
            Self::Attention => 0x06,
            Self::BulkLoad => 0x07,
            Self::TransactionManager => 0x0E,
            Self::Login7 => 0x10,
            Self::PreLogin => 0x12,
        }
    }
}

/// Why a byte stream is not TDS. The connection is of no further use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PacketError {
    /// No such packet type.
    UnknownType(u8),
    /// Shorter than its header or longer than any packet may be.
    BadLength(u16),
    /// A packet of another type before the message was complete.
    Interleaved(PacketType, PacketType),
    /// The message passed the reader's maximum, in bytes.
    TooLarge(usize),
    /// What carries the packets of several sessions is broken.
    Smp(SmpError),
}

impl From<SmpError> for PacketError {
    fn from(error: SmpError) -> Self {
        Self::Smp(error)
    }
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownType(byte) => write!(f, "unknown packet type {byte:#04x}"),
            Self::BadLength(length) => write!(f, "packet length {length} is out of range"),
            Self::Interleaved(first, second) => {
                write!(f, "a {second:?} packet inside a {first:?} message")
            }
            Self::TooLarge(maximum) => {
                write!(f, "the message is larger than the maximum of {maximum} bytes")
            }
            Self::Smp(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PacketError {}

/// A whole message, joined from its packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub kind: PacketType,
    /// The session is to be reset before this message is served.
    pub reset_connection: bool,
    /// With the reset: keep the open transaction.
    pub keep_transaction: bool,
    /// The packets' contents without headers.
    pub payload: Vec<u8>,
    /// There was no memory for it: the payload is empty, whatever was sent.
    pub discarded: bool,
    /// The client cancelled it before it was whole: the payload is empty, and a DONE with the error bit answers it (MS-TDS 2.2.1.7).
    pub ignored: bool,
}

#[derive(Debug)]
struct Partial {
    kind: PacketType,
    status: u8,
    payload: Vec<u8>,
    discarded: bool,
}

/// Joins packets into messages; fed bytes in pieces of any size.
#[derive(Debug)]
pub struct PacketReader {
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    body_left: usize,
    status: u8,
    partial: Option<Partial>,
    spare: Vec<u8>,
    message_bytes_max: usize,
}

impl Default for PacketReader {
    fn default() -> Self {
        Self::new(MESSAGE_BYTES_MAX_DEFAULT)
    }
}

impl PacketReader {
    /// A reader that refuses messages above `message_bytes_max`.
    pub fn new(message_bytes_max: usize) -> Self {
        Self {
            header: [0; HEADER_BYTES],
            header_filled: 0,
            body_left: 0,
            status: 0,
            partial: None,
            spare: Vec::new(),
            message_bytes_max,
        }
    }

    /// Changes the maximum; before the login a small one keeps strangers cheap.
    pub fn set_message_bytes_max(&mut self, bytes: usize) {
        self.message_bytes_max = bytes;
    }

    /// True between messages: a stream that ends here ended in good order.
    pub fn is_idle(&self) -> bool {
        self.partial.is_none() && self.header_filled == 0
    }

    /// Gives a served message's buffer back for the next one.
    pub fn recycle(&mut self, mut payload: Vec<u8>) {
        if payload.capacity() <= 1 << 20 {
            payload.clear();
            self.spare = payload;
        }
    }

    /// Consumes from the front of `input` until it is used up or one message is whole; removes
    /// what was consumed from `input`. Call again while `input` is not empty.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Message>, PacketError> {
        loop {
            if self.header_filled < HEADER_BYTES {
                if input.is_empty() {
                    return Ok(None);
                }
                let (front, rest) = input.split_at((HEADER_BYTES - self.header_filled).min(input.len()));
                let end = self.header_filled + front.len();
                self.header[self.header_filled..end].copy_from_slice(front);
                self.header_filled = end;
                *input = rest;
                // The type is judged on the first byte, so garbage is refused at once.
                let Some(kind) = PacketType::from_byte(self.header[0]) else {
                    return Err(PacketError::UnknownType(self.header[0]));
                };
                if self.header_filled < HEADER_BYTES {
                    return Ok(None);
                }
                self.open_packet(kind)?;
            }
            let (front, rest) = input.split_at(self.body_left.min(input.len()));
            if let Some(partial) = self.partial.as_mut().filter(|partial| !partial.discarded) {
                partial.payload.extend_from_slice(front);
            }
            self.body_left -= front.len();
            *input = rest;
            if self.body_left > 0 {
                return Ok(None);
            }
            self.header_filled = 0;
            if let Some(message) = self.close_packet() {
                return Ok(Some(message));
            }
        }
    }

    /// What the message being received takes.
    pub fn partial_bytes(&self) -> usize {
        self.partial.as_ref().map_or(0, |partial| partial.payload.capacity())
    }

    /// The kind of the message under way, and what was received of it that was not taken yet.
    pub fn partial(&self) -> Option<(PacketType, usize)> {
        self.partial
            .as_ref()
            .filter(|partial| !partial.discarded)
            .map(|partial| (partial.kind, partial.payload.len()))
    }

    /// Takes what was received of the message under way, to keep it elsewhere: the rest of the message comes without it, and the maximum is for
    /// what is left here.
    pub fn take_partial(&mut self) -> Vec<u8> {
        let partial = self.partial.as_mut();
        partial.map_or_else(Vec::new, |partial| std::mem::take(&mut partial.payload))
    }

    /// Forgets what was received of the message under way, and what is still to come of it.
    pub fn discard(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.payload = Vec::new();
            partial.discarded = true;
        }
    }

    fn open_packet(&mut self, kind: PacketType) -> Result<(), PacketError> {
        let length = u16::from_be_bytes([self.header[2], self.header[3]]);
        let bytes = usize::from(length);
        if !(HEADER_BYTES..=PACKET_BYTES_MAX).contains(&bytes) {
            return Err(PacketError::BadLength(length));
        }
        self.body_left = bytes - HEADER_BYTES;
        self.status = self.header[1];
        if kind == PacketType::Attention {
            // The request being sent is abandoned with it.
            self.partial = None;
        }
        let spare = &mut self.spare;
        let partial = self.partial.get_or_insert_with(|| Partial {
            kind,
            status: self.status,
            payload: std::mem::take(spare),
            discarded: false,
        });
        if partial.kind != kind {
            return Err(PacketError::Interleaved(partial.kind, kind));
        }
        if partial.payload.len() + self.body_left > self.message_bytes_max {
            return Err(PacketError::TooLarge(self.message_bytes_max));
        }
        Ok(())
    }

    fn close_packet(&mut self) -> Option<Message> {
        if self.status & END_OF_MESSAGE == 0 {
            return None;
        }
        let partial = self.partial.take()?;
        let ignored = self.status & IGNORE != 0 && partial.kind != PacketType::Attention;
        let mut payload = partial.payload;
        if ignored {
            payload.clear();
        }
        let first = partial.status;
        Some(Message {
            kind: partial.kind,
            reset_connection: !ignored && first & (RESET_CONNECTION | RESET_KEEP_TRANSACTION) != 0,
            keep_transaction: first & RESET_KEEP_TRANSACTION != 0,
            payload,
            discarded: partial.discarded,
            ignored,
        })
    }
}

/// Collects a token stream and hands it out as packets.
#[derive(Debug)]
pub struct PacketWriter {
    kind: PacketType,
    payload: Vec<u8>,
    wire: Vec<u8>,
    packet_bytes: usize,
    packet_id: u8,
    spid: u16,
}

impl Default for PacketWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl PacketWriter {
    /// A writer of [`PACKET_BYTES_DEFAULT`] packets.
    pub fn new() -> Self {
        Self {
            kind: PacketType::TabularResult,
            payload: Vec::with_capacity(PACKET_BYTES_DEFAULT),
            wire: Vec::new(),
            packet_bytes: PACKET_BYTES_DEFAULT,
            packet_id: 1,
            spid: 0,
        }
    }

    /// Sets the packet size, kept within what the protocol allows.
    pub fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes.clamp(PACKET_BYTES_MIN, PACKET_BYTES_MAX);
    }

    /// The packet size in use.
    pub fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    /// The session id that packet headers carry.
    pub fn set_spid(&mut self, spid: u16) {
        self.spid = spid;
    }

    /// Bytes not handed out yet.
    pub fn pending(&self) -> usize {
        self.payload.len()
    }

    /// The collected bytes; tokens are written straight into it.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.payload
    }

    /// Hands whole packets to `sink` and keeps the rest, at least one byte, for what follows.
    pub fn write_full(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        let body = self.packet_bytes - HEADER_BYTES;
        let whole = self.payload.len().saturating_sub(1) / body * body;
        if whole == 0 {
            return Ok(());
        }
        let piece = (PIECE_BYTES / body).max(1) * body;
        let mut written = Ok(());
        for start in (0..whole).step_by(piece) {
            self.frame(start..whole.min(start + piece), false);
            written = written.and_then(|()| sink.write_all(&self.wire));
        }
        // The tail is shorter than a packet: moving it to the front costs little.
        self.payload.copy_within(whole.., 0);
        self.payload.truncate(self.payload.len() - whole);
        // What one long value needed is not kept for the short ones after it.
        if self.payload.capacity() > KEPT_BYTES_MAX {
            self.payload.shrink_to(PACKET_BYTES_DEFAULT);
        }
        written
    }

    /// Hands everything to `sink` in a short packet and leaves the message open; what ends it must still follow.
    pub fn flush_partial(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        if self.payload.is_empty() {
            return Ok(());
        }
        self.frame(0..self.payload.len(), false);
        self.payload.clear();
        sink.write_all(&self.wire)?;
        sink.flush()
    }

    /// Hands everything to `sink`, the last packet marked end-of-message.
    pub fn finish(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        self.frame(0..self.payload.len(), true);
        self.payload.clear();
        self.packet_id = 1;
        sink.write_all(&self.wire)?;
        sink.flush()
    }

    /// Hands everything to `sink` as a message of the TLS handshake, which travels in packets of type PRELOGIN (MS-TDS 2.2.6.5).
    pub fn finish_handshake(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        self.kind = PacketType::PreLogin;
        let finished = self.finish(sink);
        self.kind = PacketType::TabularResult;
        finished
    }

    fn frame(&mut self, range: Range<usize>, last: bool) {
        self.wire.clear();
        let body = self.packet_bytes - HEADER_BYTES;
        let mut left = self.payload.get(range).unwrap_or_default();
        loop {
            let (chunk, rest) = left.split_at(body.min(left.len()));
            let end = last && rest.is_empty();
            let length = u16::try_from(chunk.len() + HEADER_BYTES).unwrap_or(u16::MAX);
            self.wire.push(self.kind.to_byte());
            self.wire.push(if end { END_OF_MESSAGE } else { 0 });
            self.wire.extend_from_slice(&length.to_be_bytes());
            self.wire.extend_from_slice(&self.spid.to_be_bytes());
            self.wire.push(self.packet_id);
            self.wire.push(0);
            self.wire.extend_from_slice(chunk);
            self.packet_id = self.packet_id.wrapping_add(1);
            left = rest;
            if left.is_empty() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn packet(kind: u8, status: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len() + HEADER_BYTES).unwrap();
        let mut bytes = vec![kind, status];
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&[0, 0, 1, 0]);
        bytes.extend_from_slice(body);
        bytes
    }

    fn read_all(bytes: &[u8], piece: usize) -> Result<Vec<Message>, PacketError> {
        let mut reader = PacketReader::default();
        let mut messages = Vec::new();
        for mut chunk in bytes.chunks(piece) {
            while !chunk.is_empty() {
                messages.extend(reader.next(&mut chunk)?);
            }
        }
        Ok(messages)
    }

    #[test]
    fn messages_are_joined_however_the_bytes_arrive() {
        let mut bytes = packet(1, 0x08, b"one ");
        bytes.extend(packet(1, 0x01, b"two"));
        bytes.extend(packet(6, 0x01, b""));
        for piece in [1, 2, 3, 7, 8, 9, 1000] {
            let messages = read_all(&bytes, piece).unwrap();
            assert_eq!(messages.len(), 2);
            assert_eq!(messages[0].payload, b"one two");
            assert!(messages[0].reset_connection && !messages[0].keep_transaction);
            assert_eq!(messages[1].kind, PacketType::Attention);
        }
    }

    #[test]
    fn a_payload_given_back_shows_nothing_of_itself_in_the_next_message() {
        let mut reader = PacketReader::default();
        let first = reader.next(&mut &packet(1, 1, b"a secret")[..]).unwrap().unwrap();
        let memory = first.payload.as_ptr();
        reader.recycle(first.payload);
        let second = reader.next(&mut &packet(1, 1, b"short")[..]).unwrap().unwrap();
        assert_eq!((second.payload.as_ptr(), &second.payload[..]), (memory, &b"short"[..]));
    }

    #[test]
    fn an_abandoned_message_is_told_without_what_it_said() {
        let mut bytes = packet(1, 0x08, b"half");
        bytes.extend(packet(1, 0x03, b"and more"));
        bytes.extend(packet(3, 0, b"half"));
        bytes.extend(packet(6, 0x01, b""));
        let messages = read_all(&bytes, 1000).unwrap();
        let kinds: Vec<PacketType> = messages.iter().map(|message| message.kind).collect();
        // The second request is abandoned with the ATTENTION, which is answered in its place.
        assert_eq!(kinds, [PacketType::SqlBatch, PacketType::Attention]);
        assert!(messages[0].ignored && messages[0].payload.is_empty() && !messages[0].reset_connection);
        assert!(!messages[1].ignored);
    }

    #[test]
    fn what_is_not_tds_is_refused() {
        assert_eq!(read_all(b"GET / HTTP/1.1\r\n", 1), Err(PacketError::UnknownType(b'G')));
        assert_eq!(read_all(&[1, 1, 0, 7, 0, 0, 0, 0], 100), Err(PacketError::BadLength(7)));
        let mut bytes = packet(1, 0, b"x");
        bytes.extend(packet(3, 1, b"y"));
        assert_eq!(
            read_all(&bytes, 100),
            Err(PacketError::Interleaved(PacketType::SqlBatch, PacketType::Rpc))
        );
    }

    #[test]
    fn a_discarded_message_takes_nothing_and_says_so_and_the_next_one_is_whole() {
        let mut reader = PacketReader::default();
        assert_eq!(reader.next(&mut &packet(1, 0, &[7; 3000])[..]), Ok(None));
        assert!(reader.partial_bytes() >= 3000);
        reader.discard();
        assert_eq!(reader.partial_bytes(), 0);
        let refused = reader.next(&mut &packet(1, 1, &[7; 300])[..]).unwrap().unwrap();
        assert!(refused.discarded && refused.payload.is_empty());
        let next = reader.next(&mut &packet(1, 1, b"next")[..]).unwrap().unwrap();
        assert!(!next.discarded && next.payload == b"next");
    }

    #[test]
    fn the_maximum_is_enforced_while_streaming() {
        let mut reader = PacketReader::new(1000);
        let chunk = packet(1, 0, &[7; 300]);
        let mut accepted = 0;
        let refused = loop {
            match reader.next(&mut chunk.as_slice()) {
                Ok(_) => accepted += 1,
                Err(error) => break error,
            }
        };
        assert_eq!((accepted, refused), (3, PacketError::TooLarge(1000)));
    }

    #[test]
    fn the_writer_cuts_at_the_negotiated_size() {
        for count in [0, 1, 503, 504, 505, 1008, 5000] {
            let mut writer = PacketWriter::new();
            writer.set_packet_bytes(512);
            let mut wire = Vec::new();
            for byte in 0..count {
                writer.payload().push(byte as u8);
                writer.write_full(&mut wire).unwrap();
                assert!(writer.pending() <= 504);
            }
            writer.finish(&mut wire).unwrap();
            let messages = read_all(&wire, 100).unwrap();
            assert_eq!(messages.len(), 1);
            let expected: Vec<u8> = (0..count).map(|byte| byte as u8).collect();
            assert_eq!(messages[0].payload, expected);
        }
    }
}
