//! One connection's TLS: bytes of the socket in, bytes of TDS out, and back.
//!
//! The reading half and the sending half share it, so it has a lock. Neither holds the lock while it waits for the client: the reader
//! passes in bytes that it has read, the sender sends what the operating system accepts at once.
//!
//! A write becomes as few records as possible (of at most 16 KB), sealed and sent in place.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::{ServerConfig, ServerConnection};

/// Why TLS ended.
#[derive(Debug)]
pub(crate) struct ChannelError(String);

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<rustls::Error> for ChannelError {
    fn from(error: rustls::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<io::Error> for ChannelError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

pub(crate) struct Channel {
    connection: Mutex<ServerConnection>,
}

impl Channel {
    pub(super) fn new(configuration: Arc<ServerConfig>) -> Result<Self, ChannelError> {
        Ok(Self {
            connection: Mutex::new(ServerConnection::new(configuration)?),
        })
    }

    /// The handshake is not over yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.connection.lock().is_handshaking()
    }

    /// Takes what came from the client and appends to `plain` what that says. False when the client has said its last.
    pub(crate) fn receive(&self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let mut connection = self.connection.lock();
        while !bytes.is_empty() {
            connection.read_tls(&mut bytes)?;
            let state = connection.process_new_packets()?;
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                let mut reader = connection.reader();
                let part = reader.fill_buf()?;
                let length = part.len();
                plain.extend_from_slice(part);
                reader.consume(length);
                left = left.saturating_sub(length.max(1));
            }
            if state.peer_has_closed() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Seals the beginning of `bytes` and keeps it for [`Channel::send`]; tells how much it was.
    pub(crate) fn seal(&self, bytes: &[u8]) -> io::Result<usize> {
        self.connection.lock().writer().write(bytes)
    }

    /// Hands sealed bytes to `sink`, as many as one call takes.
    pub(crate) fn send(&self, sink: &mut dyn Write) -> io::Result<usize> {
        self.connection.lock().write_tls(sink)
    }

    /// There are sealed bytes, or an answer of the handshake, to be sent.
    pub(crate) fn has_to_send(&self) -> bool {
        self.connection.lock().wants_write()
    }
}
