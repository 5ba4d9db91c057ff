//! The sending half of a connection.
//!
//! A client that does not read fills the socket's buffers, and the request that sends waits for it: SQL Server's
//! ASYNC_NETWORK_IO. The wait ends early in two cases:
//!
//! | | the bytes at hand | the request |
//! |---|---|---|
//! | ATTENTION | are kept, and sent before anything else when the client reads again | goes on, sees that it is to stop, and ends |
//! | KILL, the client's end, a shutdown | are dropped after a moment, in which the client may take them: the write fails | ends |
//!
//! Invariant: packets reach the client whole and in order, or the connection ends.
//! Invariant: kept are the bytes of one write at most; the next write waits until they are gone.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::backend::Backend;
use crate::inbox::Signals;

/// How long a client that was killed may take to read the reason.
const LAST_MESSAGE_MAX: Duration = Duration::from_millis(100);

/// How long a wait goes on without looking whether it is to end.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// What goes to the client.
pub(crate) struct ToClient<'a, B: Backend> {
    stream: &'a TcpStream,
    backend: &'a B,
    signals: &'a Signals,
    kept: Vec<u8>,
    /// Until then a session that is over waits for its client to take the last message.
    over_at: Option<Instant>,
}

impl<'a, B: Backend> ToClient<'a, B> {
    pub(crate) fn new(stream: &'a TcpStream, backend: &'a B, signals: &'a Signals) -> Self {
        Self {
            stream,
            backend,
            signals,
            kept: Vec::new(),
            over_at: None,
        }
    }

    /// Sends what the operating system has room for; `None` when that is nothing.
    fn try_send(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match send(self.stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(sent) => Ok(Some(sent)),
        }
    }

    /// Waits until there is room again. False when `ends_early` and an ATTENTION came before that.
    fn wait_for_room(&mut self, ends_early: bool) -> io::Result<bool> {
        let begun = Instant::now();
        let has_room = loop {
            if self.signals.is_abandoned() {
                let over_at = *self.over_at.get_or_insert_with(|| Instant::now() + LAST_MESSAGE_MAX);
                if Instant::now() >= over_at {
                    break Err(ErrorKind::BrokenPipe.into());
                }
            }
            if ends_early && self.signals.should_stop() && !self.signals.is_abandoned() {
                break Ok(false);
            }
            let mut sockets = [PollFd::new(self.stream, PollFlags::OUT)];
            match poll(&mut sockets, Some(&LOOK_EVERY)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => break Ok(true),
                Err(error) => break Err(error.into()),
            }
        };
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.backend.network_wait(micros);
        has_room
    }

    /// Sends what was kept, however long the client takes.
    fn send_kept(&mut self) -> io::Result<()> {
        while !self.kept.is_empty() {
            match self.try_send(&self.kept)? {
                Some(sent) => drop(self.kept.drain(..sent)),
                None => drop(self.wait_for_room(false)?),
            }
        }
        Ok(())
    }
}

impl<B: Backend> Write for ToClient<'_, B> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send_kept()?;
        loop {
            // Nearly always the operating system has room and takes all; no clock is read then.
            if let Some(sent) = self.try_send(bytes)? {
                return Ok(sent);
            }
            if !self.wait_for_room(true)? {
                self.kept.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
        }
    }

    /// Nothing lies here that the operating system could take but what was kept, and for that a write waits, be it of nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
