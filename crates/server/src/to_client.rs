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
//! With TLS, bytes are sealed first and stay in the channel until they are sent; nothing is copied on the way to the socket.
//!
//! Invariant: packets reach the client complete and in order, or the connection ends. Invariant: at most the bytes of one write are kept;
//! the next write waits until they are sent.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};

use crate::encryption::Channel;
use crate::inbox::Signals;

/// How long a client that was killed may take to read the reason.
const LAST_MESSAGE_MAX: Duration = Duration::from_millis(500);

/// How long a wait goes on without looking whether it is to end.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// What goes to the client.
pub(crate) struct ToClient<'a> {
    stream: &'a TcpStream,
    channel: Option<&'a Channel>,
    /// Called with the microseconds of each wait for the client.
    waited: &'a dyn Fn(u64),
    signals: &'a Signals,
    /// Without a channel, which keeps what it has sealed.
    kept: Vec<u8>,
    /// Until then a session that is over waits for its client to take the last message.
    over_at: Option<Instant>,
}

impl<'a> ToClient<'a> {
    pub(crate) fn new(
        stream: &'a TcpStream,
        channel: Option<&'a Channel>,
        waited: &'a dyn Fn(u64),
        signals: &'a Signals,
    ) -> Self {
        Self {
            stream,
            channel,
            waited,
            signals,
            kept: Vec::new(),
            over_at: None,
        }
    }

    /// Sends what the operating system has room for; `None` when that is nothing.
    fn try_send(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        sent(AtOnce(self.stream).write(bytes))
    }

    /// Sends what was sealed. False when `ends_early` and an ATTENTION came before the end of it.
    fn send_sealed(&mut self, channel: &Channel, ends_early: bool) -> io::Result<bool> {
        while channel.has_to_send() {
            if sent(channel.send(&mut AtOnce(self.stream)))?.is_none() && !self.wait_for_room(ends_early)? {
                return Ok(false);
            }
        }
        Ok(true)
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
        (self.waited)(micros);
        has_room
    }

    /// Sends what was kept, however long the client takes.
    fn send_kept(&mut self) -> io::Result<()> {
        if let Some(channel) = self.channel {
            return self.send_sealed(channel, false).map(drop);
        }
        while !self.kept.is_empty() {
            match self.try_send(&self.kept)? {
                Some(sent) => drop(self.kept.drain(..sent)),
                None => drop(self.wait_for_room(false)?),
            }
        }
        Ok(())
    }
}

/// What the operating system takes at once.
struct AtOnce<'a>(&'a TcpStream);

impl Write for AtOnce<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if let [part] = parts {
            // An answer of one record, as most are: `send` costs less than `sendmsg`.
            return self.write(part);
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(sendmsg(self.0, parts, &mut SendAncillaryBuffer::default(), flags)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `None` when the operating system had no room.
fn sent(sent: io::Result<usize>) -> io::Result<Option<usize>> {
    match sent {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        other => other.map(Some),
    }
}

impl Write for ToClient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send_kept()?;
        if bytes.is_empty() {
            // Sending nothing would still be a system call, at the end of each request.
            return Ok(0);
        }
        if let Some(channel) = self.channel {
            let sealed = channel.seal(bytes)?;
            return self.send_sealed(channel, true).map(|_| sealed);
        }
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

    /// Nothing lies here that the operating system could take but what was kept, and for that a write waits, be it of nothing: one that
    /// finds nothing kept does not ask the operating system.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Shutdown, TcpListener};

    /// Each request ends with a write of nothing, which made a system call after the answer's. On a socket that is shut down every send
    /// fails, so a write that succeeds has not asked the operating system.
    #[test]
    fn a_write_of_nothing_asks_the_operating_system_only_for_what_was_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut theirs = listener.accept().unwrap().0;
        let signals = Signals::default();
        let mut writer = ToClient::new(&ours, None, &|_| {}, &signals);
        writer.kept.extend_from_slice(b"kept");
        assert_eq!(writer.write(&[]).unwrap(), 0);
        let mut read = [0; 4];
        theirs.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"kept");
        ours.shutdown(Shutdown::Write).unwrap();
        assert_eq!(writer.write(&[]).unwrap(), 0);
        assert_eq!(writer.write(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
