//! Several sessions on one connection: the session multiplexing protocol ([MC-SMP]), which MARS is made of. It begins behind the answer to
//! LOGIN7.
//!
//! ```text
//! 0 53 | 1 flags | 2 session u16 | 4 bytes u32, header included | 8 sequence u32 | 12 window u32      (all little-endian)
//! flags: 01 SYN opens a session, 02 ACK tells a new window, 04 FIN closes it, 08 DATA carries bytes
//! ```
//! DATA is numbered from 1. `window` is the highest number that the other side may send, so each side limits its buffers.

use std::fmt;

use crate::packet::PACKET_BYTES_MAX;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// DATA that each side may send before it hears of another window ([MC-SMP] 2.2.3 has it so).
pub const WINDOW: u32 = 4;

const MARK: u8 = 0x53;

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Syn,
    /// Tells a window.
    Ack,
    /// Closes a session: nothing follows from this side.
    Fin,
    /// Bytes of the session.
    Data,
}

impl Kind {
    fn to_byte(self) -> u8 {
        match self {
            Self::Syn => 0x01,
            Self::Ack => 0x02,
            Self::Fin => 0x04,
            Self::Data => 0x08,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Syn, Self::Ack, Self::Fin, Self::Data]
            .into_iter()
            .find(|kind| kind.to_byte() == byte)
    }
}

/// Why a byte stream is not SMP. The connection is of no further use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmpError {
    /// The first byte is another.
    NoSmp(u8),
    /// Flags that are none, or several.
    Flags(u8),
    /// A length that no packet of its kind has.
    Length(u32),
    /// SYN for a session that is open, or one too many.
    Opened(u16),
    /// A packet for a session that is not open.
    NotOpen(u16),
    /// DATA whose number does not follow, or that the window has no room for.
    Sequence(u32),
}

impl fmt::Display for SmpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSmp(byte) => write!(f, "an SMP packet begins with {byte:#04x}"),
            Self::Flags(flags) => write!(f, "unknown SMP flags {flags:#04x}"),
            Self::Length(bytes) => write!(f, "SMP packet length {bytes} is out of range"),
            Self::Opened(session) => write!(f, "SMP session {session} cannot be opened"),
            Self::NotOpen(session) => write!(f, "SMP session {session} is not open"),
            Self::Sequence(number) => write!(f, "SMP sequence number {number} is out of turn"),
        }
    }
}

impl std::error::Error for SmpError {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    /// Whose packet it is.
    pub session: u16,
    /// Bytes behind the header.
    pub data_bytes: u32,
    /// Of DATA its number; of the others that of the last DATA.
    pub sequence: u32,
    /// The highest number that the other side may send.
    pub window: u32,
}

impl Header {
    /// Appends the header to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let bytes = self.data_bytes.saturating_add(HEADER_BYTES as u32);
        out.extend_from_slice(&[MARK, self.kind.to_byte()]);
        out.extend_from_slice(&self.session.to_le_bytes());
        for number in [bytes, self.sequence, self.window] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, SmpError> {
        let &[mark, flags, s0, s1, l0, l1, l2, l3, n0, n1, n2, n3, w0, w1, w2, w3] = bytes;
        if mark != MARK {
            return Err(SmpError::NoSmp(mark));
        }
        let kind = Kind::from_byte(flags).ok_or(SmpError::Flags(flags))?;
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        // DATA carries one TDS packet at most.
        let longest = match kind {
            Kind::Data => (HEADER_BYTES + PACKET_BYTES_MAX) as u32,
            Kind::Syn | Kind::Ack | Kind::Fin => HEADER_BYTES as u32,
        };
        let data_bytes = length
            .checked_sub(HEADER_BYTES as u32)
            .filter(|_| length <= longest)
            .ok_or(SmpError::Length(length))?;
        Ok(Self {
            kind,
            session: u16::from_le_bytes([s0, s1]),
            data_bytes,
            sequence: u32::from_le_bytes([n0, n1, n2, n3]),
            window: u32::from_le_bytes([w0, w1, w2, w3]),
        })
    }
}

/// A piece of a stream of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Header(Header),
    /// Bytes of the session whose DATA began last.
    Data(u16, &'a [u8]),
}

/// Cuts a stream into packets; fed bytes in pieces of any size. Invariant: it keeps no more than a header.
#[derive(Debug, Default)]
pub struct SmpReader {
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    session: u16,
    data_left: usize,
}

impl SmpReader {
    /// Takes a piece from the front of `input`; None when `input` is used up.
    ///
    /// # Errors
    /// The stream is not SMP.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Piece<'a>>, SmpError> {
        if input.is_empty() {
            return Ok(None);
        }
        if self.data_left > 0 {
            let (data, rest) = input.split_at(self.data_left.min(input.len()));
            self.data_left -= data.len();
            *input = rest;
            return Ok(Some(Piece::Data(self.session, data)));
        }
        let (front, rest) = input.split_at((HEADER_BYTES - self.header_filled).min(input.len()));
        let end = self.header_filled + front.len();
        self.header[self.header_filled..end].copy_from_slice(front);
        self.header_filled = end;
        *input = rest;
        // Garbage is refused at its first byte.
        if self.header[0] != MARK {
            return Err(SmpError::NoSmp(self.header[0]));
        }
        if end < HEADER_BYTES {
            return Ok(None);
        }
        self.header_filled = 0;
        let header = Header::parse(&self.header)?;
        (self.session, self.data_left) = (header.session, header.data_bytes as usize);
        Ok(Some(Piece::Header(header)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn packet(kind: Kind, session: u16, sequence: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Header {
            kind,
            session,
            data_bytes: data.len() as u32,
            sequence,
            window: 4,
        }
        .write(&mut bytes);
        bytes.extend_from_slice(data);
        bytes
    }

    /// [MC-SMP] 2.2.1: every field is little-endian, and the length counts the header.
    #[test]
    fn headers_are_the_bytes_of_the_specification() {
        let syn = [0x53, 0x01, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0];
        assert_eq!(packet(Kind::Syn, 0, 0, &[]), syn);
        let data = packet(Kind::Data, 0x0102, 7, b"ab");
        assert_eq!(data[..8], [0x53, 0x08, 0x02, 0x01, 0x12, 0, 0, 0]);
        assert_eq!(data[8..], [7, 0, 0, 0, 4, 0, 0, 0, b'a', b'b']);
    }

    /// The pieces of a stream that comes in pieces of `size`, its data joined.
    fn pieces(stream: &[u8], size: usize) -> Result<Vec<(Header, Vec<u8>)>, SmpError> {
        let mut reader = SmpReader::default();
        let mut found: Vec<(Header, Vec<u8>)> = Vec::new();
        for mut input in stream.chunks(size) {
            while let Some(piece) = reader.next(&mut input)? {
                match piece {
                    Piece::Header(header) => found.push((header, Vec::new())),
                    Piece::Data(session, data) => {
                        let last = found.last_mut().unwrap();
                        assert_eq!(last.0.session, session);
                        last.1.extend_from_slice(data);
                    }
                }
            }
        }
        Ok(found)
    }

    #[test]
    fn packets_are_found_however_they_are_cut() {
        let stream = [
            packet(Kind::Syn, 3, 0, &[]),
            packet(Kind::Data, 3, 1, b"first"),
            packet(Kind::Data, 4, 9, &[0x53; 40]),
            packet(Kind::Data, 4, 10, b""),
            packet(Kind::Fin, 3, 1, &[]),
        ]
        .concat();
        let whole = pieces(&stream, stream.len()).unwrap();
        let told: Vec<_> = whole
            .iter()
            .map(|(header, data)| (header.kind, header.session, header.sequence, data.len()))
            .collect();
        assert_eq!(
            told,
            [
                (Kind::Syn, 3, 0, 0),
                (Kind::Data, 3, 1, 5),
                (Kind::Data, 4, 9, 40),
                (Kind::Data, 4, 10, 0),
                (Kind::Fin, 3, 1, 0)
            ]
        );
        for size in 1..stream.len() {
            assert_eq!(pieces(&stream, size).unwrap(), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let spoilt = |place: usize, byte: u8| {
            let mut bytes = packet(Kind::Data, 0, 1, b"x");
            bytes[place] = byte;
            pieces(&bytes, 100).unwrap_err()
        };
        assert_eq!(spoilt(0, 0x01), SmpError::NoSmp(1));
        assert_eq!(spoilt(1, 0x03), SmpError::Flags(3));
        assert_eq!(spoilt(1, 0x00), SmpError::Flags(0));
        assert_eq!(spoilt(1, 0x02), SmpError::Length(17), "an ACK with data");
        assert_eq!(spoilt(4, 0x0F), SmpError::Length(15));
        assert_eq!(spoilt(6, 0x01), SmpError::Length(0x1_0011));
        assert_eq!(
            pieces(&[0x12], 1).unwrap_err(),
            SmpError::NoSmp(0x12),
            "at the first byte"
        );
    }
}
