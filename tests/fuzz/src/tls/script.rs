//! An input: how a client comes, what of it is changed, and what it says inside.
//!
//! ```text
//! 0 way: 2 bits protocol, 2 bits the server's demand, 3 bits the client's wish, 1 bit: goes on in the clear when it is lost
//! 1 suite and protocol name   2 bytes of a packet of the handshake   3 flights of the inside   4 count of edits
//! 5 edits of 8 bytes   then: packets of TDS, LOGIN7 first
//! ```

use super::edits::{Edit, Layer};
use crate::{mutate, wire};
use outside::random::Random;
use server::encryption::ServerEncryption;

/// The login's name; a target that checks passwords knows this one.
pub const USER: &str = "sa";
pub const PASSWORD: &str = "Fuzz 1 fuzz";

const HEAD_BYTES: usize = 5;
/// Wishes of PRELOGIN: off, on, not supported, required, strict; and what is none.
const WISHES: [u8; 8] = [0, 1, 1, 2, 3, 3, 4, 0x21];
const DEMANDS: [ServerEncryption; 4] = [
    ServerEncryption::On,
    ServerEncryption::On,
    ServerEncryption::Required,
    ServerEncryption::Strict,
];

/// How the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TLS 1.2 in packets of PRELOGIN.
    Tds7,
    /// TLS 1.3 from the first byte.
    Tds8,
    /// TLS 1.2 from the first byte.
    Tds8Old,
}

pub struct Script<'a> {
    pub protocol: Protocol,
    /// What the server demands.
    pub demand: ServerEncryption,
    /// What PRELOGIN says of encryption.
    pub wish: u8,
    /// It sends its last error unencrypted when it cannot go on.
    pub says_it_in_the_clear: bool,
    /// Which provider of the three.
    pub suite: usize,
    /// The name of the protocol inside, as of TDS 8.
    pub name: Option<&'static [u8]>,
    /// Contents of packets that wrap the handshake, and what comes of a flight at once.
    pub piece: usize,
    /// Flights of the inside.
    pub parts: usize,
    pub edits: Vec<Edit>,
    /// Packets of TDS.
    pub inside: &'a [u8],
}

impl<'a> Script<'a> {
    /// None when there is too little of it.
    pub fn read(input: &'a [u8]) -> Option<Script<'a>> {
        let (&[way, suite, piece, parts, count], rest) = input.split_first_chunk::<HEAD_BYTES>()?;
        let (edits, inside) = rest.split_at((Edit::BYTES * usize::from(count)).min(rest.len()));
        Some(Script {
            protocol: match way & 3 {
                0 | 1 => Protocol::Tds7,
                2 => Protocol::Tds8,
                _ => Protocol::Tds8Old,
            },
            demand: DEMANDS[usize::from(way >> 2 & 3)],
            wish: WISHES[usize::from(way >> 4 & 7)],
            says_it_in_the_clear: way & 0x80 != 0,
            suite: usize::from(suite % 3),
            name: match suite >> 4 {
                0 => None,
                1 => Some(b"h2"),
                _ => Some(b"tds/8.0"),
            },
            piece: match piece {
                0 => 4_088,
                piece => piece.into(),
            },
            parts: 1 + usize::from(parts % 4),
            edits: edits
                .as_chunks::<{ Edit::BYTES }>()
                .0
                .iter()
                .map(|bytes| Edit::of(*bytes))
                .collect(),
            inside,
        })
    }

    /// Nothing is changed of how the client comes.
    pub fn is_sound(&self) -> bool {
        self.edits.is_empty() && self.name != Some(b"h2")
    }

    /// The edits that change records before they are sealed.
    pub fn unsealed(&self) -> Vec<Edit> {
        let edits = self.edits.iter().copied();
        edits.filter(|edit| edit.layer() == Layer::Unsealed).collect()
    }
}

/// An input of draws: of ten, three are sound outside.
pub fn make(random: &mut Random, messages_max: u64) -> Vec<u8> {
    let count = match random.below(10) {
        0..3 => 0,
        _ => random.of_any_magnitude(5),
    };
    let name = if random.below(20) == 0 {
        16 * random.below(2)
    } else {
        0x20
    };
    let mut input = vec![
        random.draw() as u8,
        (name + random.below(3)) as u8,
        if random.below(3) == 0 { random.draw() as u8 } else { 0 },
        random.draw() as u8,
        count as u8,
    ];
    for _ in 0..count {
        input.extend(Edit::make(random));
    }
    input.extend(inside(random, messages_max));
    input
}

/// LOGIN7 and messages, changed at times.
fn inside(random: &mut Random, messages_max: u64) -> Vec<u8> {
    let mut inside = wire::packets(0x10, &wire::login(random, USER, PASSWORD), 4_088);
    if random.below(6) == 0 {
        mutate::change_bytes(&mut inside, random);
    }
    for _ in 0..random.below(messages_max + 1) {
        let (kind, mut payload) = wire::message(random);
        if random.below(2) == 0 {
            mutate::change_bytes(&mut payload, random);
        }
        let mut packets = wire::packets(kind, &payload, *random.choose(&[16_usize, 504, 4_088]));
        if random.below(8) == 0 {
            mutate::change_bytes(&mut packets, random);
        }
        inside.extend(packets);
    }
    inside
}

/// A client that does all as it should: by `protocol`, with a wish, and `inside`.
pub fn sound(protocol: Protocol, wish: u8, inside: &[u8]) -> Vec<u8> {
    let protocol = match protocol {
        Protocol::Tds7 => 0,
        Protocol::Tds8 => 2,
        Protocol::Tds8Old => 3,
    };
    let wish = WISHES.iter().position(|known| *known == wish).unwrap_or_default() as u8;
    [&[protocol | wish << 4, 0x20, 0, 0, 0][..], inside].concat()
}
