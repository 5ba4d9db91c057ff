//! Connections that are not sockets (fuzzing).
//!
//! Normally a connection's thread serves clients over TCP. Fuzzing uses clients in its own memory: the same code serves them, without
//! threads or a network, so an input has the same effect each time and costs only the server's work.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use tds::packet::MESSAGE_BYTES_MAX_DEFAULT;
use tds::token::TokenWriter;
use tds::{Login, Message, PacketError};

use crate::backend::Identity;
use crate::encryption::{Channel, Encryption};
use crate::handshake;
use crate::inbox::{Inbound, Reading, Signals};
use crate::mars::Sessions;
use crate::receiving::Room;

/// What leads to a client that is not known yet.
pub trait Line {
    /// Reads what is there, and waits for it at most for `wait`; 0 at the end.
    ///
    /// # Errors
    /// The line fails, or nothing comes.
    fn read(&self, buffer: &mut [u8], wait: Duration) -> io::Result<usize>;

    /// Sends all, and waits at most for `wait` for a client that takes nothing.
    ///
    /// # Errors
    /// The line fails, or takes too long.
    fn write_all(&self, bytes: &[u8], wait: Duration) -> io::Result<()>;

    /// From now on the client is known, and may take as long as it likes.
    ///
    /// # Errors
    /// The line fails.
    fn be_patient(&self) -> io::Result<()>;
}

impl Line for TcpStream {
    fn read(&self, buffer: &mut [u8], wait: Duration) -> io::Result<usize> {
        self.set_read_timeout(Some(wait))?;
        (&mut &*self).read(buffer)
    }

    fn write_all(&self, bytes: &[u8], wait: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(wait))?;
        (&mut &*self).write_all(bytes)
    }

    fn be_patient(&self) -> io::Result<()> {
        self.set_read_timeout(None)?;
        self.set_write_timeout(None)
    }
}

/// A client that got as far as its LOGIN7. Its password was not asked for.
pub struct Guest {
    login: Login,
    channel: Option<Arc<Channel>>,
    reading: Reading,
    signals: Signals,
}

/// Lets a client in as a connection's thread does, up to and including LOGIN7; None when it does not get that far.
pub fn let_in(line: &dyn Line, identity: &Identity, encryption: &Encryption, timeout: Duration) -> Option<Guest> {
    let introduced = handshake::introduce(line, identity, encryption, timeout).ok()?;
    let signals = Signals::default();
    let channel = introduced.channel.map(Arc::new);
    let sessions = introduced
        .is_multiplexed
        .then(|| Sessions::new(MESSAGE_BYTES_MAX_DEFAULT, Room::default()));
    let mut reading = Reading::new(channel.clone(), introduced.packets, Room::default(), sessions);
    reading.take(&introduced.pending, &signals);
    Some(Guest {
        login: introduced.login,
        channel,
        reading,
        signals,
    })
}

impl Guest {
    /// What it said of itself.
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// Whether all that follows is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.channel.is_some()
    }

    /// Takes what came from it, and answers with the messages that this completes; the last may be why the rest is not TDS.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Result<Message, PacketError>> {
        if !self.reading.ended {
            self.reading.receive(bytes, &self.signals);
        }
        let ready = self.reading.take_ready(&self.signals);
        let inbound = ready.into_iter().map(|inbound| match inbound {
            Inbound::Message(received) => Ok(received.message),
            Inbound::Broken(error) => Err(error),
        });
        inbound.collect()
    }

    /// It has left, or is read no further.
    pub fn has_ended(&self) -> bool {
        self.reading.ended
    }

    /// The answer to a login that succeeds, as it goes over the line.
    ///
    /// # Errors
    /// It cannot be sealed.
    pub fn welcome(&self, identity: &Identity) -> io::Result<Vec<u8>> {
        let mut tokens = TokenWriter::new(self.login.version);
        let (mut plain, mut sent) = (Vec::new(), Vec::new());
        handshake::accept(&mut tokens, &mut plain, identity, &self.login, "master")?;
        let Some(channel) = &self.channel else {
            return Ok(plain);
        };
        let mut left = plain.as_slice();
        while !left.is_empty() {
            let sealed = channel.seal(left)?;
            left = left.get(sealed..).unwrap_or_default();
            while channel.has_to_send() {
                channel.send(&mut sent)?;
            }
        }
        Ok(sent)
    }
}
