//! The socket, with TLS if it was negotiated.
//!
//! An ATTENTION is sent by a different thread than the one that waits for the answer, so TLS is protected by a lock. No thread holds the
//! lock while it waits for bytes.

use super::connection::{Target, unreachable};
use super::security;
use super::{ClientError, lost};
use bytes::BytesMut;
use rustls::{ClientConnection, ProtocolVersion};
use std::io::{BufRead, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

const READ_BYTES: usize = 64 * 1024;

pub(super) struct Wire {
    stream: TcpStream,
    tls: Mutex<Option<ClientConnection>>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Wire {
        Wire {
            stream,
            tls: Mutex::new(None),
        }
    }

    pub(super) fn into_parts(self) -> (TcpStream, Option<ClientConnection>) {
        let tls = self.tls.into_inner().unwrap_or_else(PoisonError::into_inner);
        (self.stream, tls)
    }

    fn tls(&self) -> MutexGuard<'_, Option<ClientConnection>> {
        // A thread that failed with the lock held has broken the connection, which the next read shows.
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on all is encrypted.
    pub(super) fn encrypt(&self, tls: ClientConnection) {
        *self.tls() = Some(tls);
    }

    /// Version and cipher of TLS, where there is TLS.
    pub(super) fn cipher(&self) -> Option<String> {
        let tls = self.tls();
        let tls = tls.as_ref()?;
        let version = match tls.protocol_version()? {
            ProtocolVersion::TLSv1_3 => "TLS 1.3",
            ProtocolVersion::TLSv1_2 => "TLS 1.2",
            _ => "TLS",
        };
        Some(format!("{version}, {:?}", tls.negotiated_cipher_suite()?.suite()))
    }

    /// From here on nothing is.
    pub(super) fn stop_encrypting(&self) {
        *self.tls() = None;
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), ClientError> {
        let broken = |error: std::io::Error| lost(&error.to_string());
        let mut tls = self.tls();
        let Some(tls) = tls.as_mut() else {
            return (&self.stream).write_all(bytes).map_err(broken);
        };
        let mut left = bytes;
        while !left.is_empty() || tls.wants_write() {
            let taken = tls.writer().write(left).map_err(broken)?;
            left = left.get(taken..).unwrap_or_default();
            tls.write_tls(&mut &self.stream).map_err(broken)?;
        }
        Ok(())
    }

    /// Appends what comes to `unread`: nothing when nothing came for a moment.
    pub(super) fn read(&self, unread: &mut BytesMut) -> Result<(), ClientError> {
        let mut chunk = [0_u8; READ_BYTES];
        let count = match (&self.stream).read(&mut chunk) {
            Ok(0) => return Err(lost("the server closed it")),
            Ok(count) => count,
            Err(error) if is_wait(error.kind()) => return Ok(()),
            Err(error) => return Err(lost(&error.to_string())),
        };
        let mut bytes = chunk.get(..count).unwrap_or_default();
        let mut tls = self.tls();
        let Some(tls) = tls.as_mut() else {
            unread.extend_from_slice(bytes);
            return Ok(());
        };
        let broken = |error: &dyn std::fmt::Display| lost(&format!("TLS failed: {error}"));
        while !bytes.is_empty() {
            tls.read_tls(&mut bytes).map_err(|error| broken(&error))?;
            let state = tls.process_new_packets().map_err(|error| broken(&error))?;
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                let mut reader = tls.reader();
                let part = reader.fill_buf().map_err(|error| broken(&error))?;
                let length = part.len();
                unread.extend_from_slice(part);
                reader.consume(length);
                left = left.saturating_sub(length.max(1));
            }
        }
        Ok(())
    }

    /// The handshake of TDS 8.0, before all else. `goes_on` is asked while nothing comes.
    pub(super) fn handshake_first(
        &self,
        mut tls: ClientConnection,
        target: &Target,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), ClientError> {
        let ended = || unreachable(target, security::STRICT_BROKEN_OFF);
        loop {
            while tls.wants_write() {
                tls.write_tls(&mut &self.stream).map_err(|_| ended())?;
            }
            if !tls.is_handshaking() {
                self.encrypt(tls);
                return Ok(());
            }
            match tls.read_tls(&mut &self.stream) {
                Ok(0) => return Err(ended()),
                Err(error) if is_wait(error.kind()) && goes_on() => continue,
                Err(error) if is_wait(error.kind()) => return Err(ClientError::Interrupted),
                Err(_) => return Err(ended()),
                Ok(_) => {}
            }
            if let Err(error) = tls.process_new_packets() {
                // The server gets the reason; whether it listens does not matter.
                let _ = tls.write_tls(&mut &self.stream);
                return Err(unreachable(target, &security::sentence(&error, target)));
            }
        }
    }

    /// Breaks the connection off.
    pub(super) fn hang_up(&self) {
        // A connection that is broken already needs no breaking.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn is_wait(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
