//! A relay between a real client and the server that spoils what the client sends.
//!
//! ```text
//!   client -- packets --> relay -- spoiled: flipped, cut, doubled, mixed with noise, in small pieces --> server
//!   client <------------- relay <------------------------ as it is ----------------------------------- server
//! ```
//! What arrives is therefore close to the protocol, far into a session, which bytes of chance alone never are.

use crate::random::Random;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// A header's bytes: kind, status, length (two, the high one first), session (two), number, window.
const HEADER_BYTES: u64 = 8;
/// What one end waits for the other at most.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// What is done to the next bytes of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoil {
    Pass,
    /// One bit anywhere is flipped.
    Flip,
    /// One byte of the first header is another.
    Header,
    /// A run of bytes is overwritten.
    Overwrite,
    /// What follows is missing.
    Cut,
    /// Everything comes twice.
    Double,
    /// Bytes of chance come in between.
    Noise,
    /// One byte at a time.
    Crumbs,
    /// The line is cut.
    HangUp,
}

const SPOILS: [Spoil; 8] = [
    Spoil::Flip,
    Spoil::Header,
    Spoil::Overwrite,
    Spoil::Cut,
    Spoil::Double,
    Spoil::Noise,
    Spoil::Crumbs,
    Spoil::HangUp,
];

impl Spoil {
    /// Draws one; two in three times nothing, so that sessions come far.
    fn draw(random: &mut Random) -> Spoil {
        match random.below(3) {
            0 => *random.choose(&SPOILS),
            _ => Spoil::Pass,
        }
    }

    /// The bytes as they go on; `None` hangs up.
    fn spoil(self, mut bytes: Vec<u8>, random: &mut Random) -> Option<Vec<u8>> {
        if bytes.is_empty() {
            return Some(bytes);
        }
        let length = bytes.len() as u64;
        let place = random.below(length) as usize;
        match self {
            Spoil::Pass | Spoil::Crumbs => {}
            Spoil::Flip => bytes[place] ^= 1 << random.below(8),
            Spoil::Header => bytes[random.below(HEADER_BYTES.min(length)) as usize] = random.draw() as u8,
            Spoil::Overwrite => {
                let end = bytes.len().min(place + random.of_any_magnitude(64) as usize);
                bytes[place..end].fill_with(|| random.draw() as u8);
            }
            Spoil::Cut => bytes.truncate(place),
            Spoil::Double => bytes.extend_from_within(..),
            Spoil::Noise => {
                let noise: Vec<u8> = (0..random.of_any_magnitude(5_000))
                    .map(|_| random.draw() as u8)
                    .collect();
                bytes.splice(place..place, noise);
            }
            Spoil::HangUp => return None,
        }
        Some(bytes)
    }
}

/// Opens a relay for one client to the server at `port`; the relay's own port. It ends with its client.
///
/// # Errors
/// No port is to be had.
pub fn open(port: u16, random: &mut Random) -> std::io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let own = listener.local_addr()?.port();
    let mut random = random.fork();
    thread::spawn(move || {
        let Ok((client, _)) = listener.accept() else { return };
        let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
            return;
        };
        for end in [&client, &server] {
            // A relay that waits forever would outlive its history; without the limit it is still closed by either end.
            let _ = end.set_read_timeout(Some(SILENCE_MAX));
        }
        let (Ok(from_server), Ok(to_client)) = (server.try_clone(), client.try_clone()) else {
            return;
        };
        thread::scope(|scope| {
            scope.spawn(|| carry(from_server, to_client, |bytes| Some((bytes, false))));
            carry(client, server, |bytes| {
                let spoil = Spoil::draw(&mut random);
                Some((spoil.spoil(bytes, &mut random)?, spoil == Spoil::Crumbs))
            });
        });
    });
    Ok(own)
}

/// Carries bytes from one end to the other, as `change` makes them, until either is silent or gone; then both are closed.
fn carry(mut from: TcpStream, mut to: TcpStream, mut change: impl FnMut(Vec<u8>) -> Option<(Vec<u8>, bool)>) {
    let mut buffer = [0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let Some((bytes, in_crumbs)) = change(buffer[..count].to_vec()) else {
            break;
        };
        let piece = if in_crumbs { 1 } else { bytes.len().max(1) };
        if !bytes.chunks(piece).all(|piece| to.write_all(piece).is_ok()) {
            break;
        }
    }
    for end in [&from, &to] {
        // Closed already when the other direction was first.
        let _ = end.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_spoiling_changes_bytes_and_passing_does_not() {
        let mut random = Random::new(1);
        let sent: Vec<u8> = (0..200).collect();
        assert_eq!(Spoil::Pass.spoil(sent.clone(), &mut random), Some(sent.clone()));
        assert_eq!(Spoil::Crumbs.spoil(sent.clone(), &mut random), Some(sent.clone()));
        assert_eq!(Spoil::HangUp.spoil(sent.clone(), &mut random), None);
        for spoil in [
            Spoil::Flip,
            Spoil::Header,
            Spoil::Overwrite,
            Spoil::Cut,
            Spoil::Double,
            Spoil::Noise,
        ] {
            let changed = (0..10).any(|_| spoil.spoil(sent.clone(), &mut random).is_some_and(|got| got != sent));
            assert!(changed, "{spoil:?}");
        }
        assert_eq!(Spoil::Noise.spoil(Vec::new(), &mut random), Some(Vec::new()));
    }
}
