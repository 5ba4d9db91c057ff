//! The reading half of a connection.
//!
//! A session reads its own requests: passing them on from another thread would cost every short request two context switches, more than its
//! execution. While a request runs, one watcher for all connections checks the sockets of long-running requests, so that ATTENTION and a
//! disconnect are noticed.
//!
//! A message is charged to the instance's memory from its receipt until it is served, or put into a file (`receiving`).
//!
//! Invariant: the reader holds the lock, and without the session reads only what has arrived.
//! Invariant: an ATTENTION is counted and the cancel flag set before its message can be taken. The session clears the flag
//! before a request and only then looks at the count, so no ATTENTION is lost and none hits the wrong request.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tds::{PacketError, PacketReader, PacketType};

use crate::encryption::Channel;
use crate::mars::Sessions;
use crate::receiving::{Received, Receiving, Room};

/// Messages read ahead of the session at most; a client without MARS has one request and its ATTENTION under way.
const MESSAGES_AHEAD_MAX: usize = 4;

/// How long a pause goes on without looking whether it is to end.
const PAUSE_LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a client of several sessions is waited for at once.
const LOOK_SOON: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Bytes read from the socket at once.
const READ_BYTES: usize = 16 * 1024;

/// What those who read, the session and the listener tell each other.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    cancel: OnceLock<Arc<AtomicBool>>,
    attentions: AtomicU64,
    gone: AtomicBool,
    closing: AtomicBool,
}

impl Signals {
    /// Takes the flag the session's requests watch; before there is a session there is nothing to cancel.
    pub(crate) fn watch(&self, flag: Arc<AtomicBool>) {
        // One connection opens one session, so the flag is set once.
        let _ = self.cancel.set(flag);
        if self.gone.load(Ordering::SeqCst) {
            self.set_cancel(true);
        }
    }

    fn set_cancel(&self, value: bool) {
        if let Some(flag) = self.cancel.get() {
            flag.store(value, Ordering::SeqCst);
        }
    }

    /// The running request should stop.
    pub(crate) fn should_stop(&self) -> bool {
        self.cancel.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The session is over: nobody waits for what is still sent.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Readies the flag for the next request and gives the number of ATTENTIONs received so far.
    pub(crate) fn begin_request(&self) -> u64 {
        self.set_cancel(false);
        if self.gone.load(Ordering::SeqCst) {
            self.set_cancel(true);
        }
        self.attentions()
    }

    /// ATTENTIONs received so far.
    pub(crate) fn attentions(&self) -> u64 {
        self.attentions.load(Ordering::SeqCst)
    }

    /// The server is closing down in good order: the end of the stream must not cancel what runs.
    pub(crate) fn close_after_request(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    /// Stops what runs, for good.
    pub(crate) fn abandon(&self) {
        self.gone.store(true, Ordering::SeqCst);
        self.set_cancel(true);
    }

    /// Lets time go by while the client is there; false when it has gone, or is to go.
    pub(crate) fn pause(&self, stream: &TcpStream, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_abandoned() {
                return left.is_zero();
            }
            let nap = left.min(PAUSE_LOOK_EVERY);
            let nap = Timespec {
                tv_sec: 0,
                tv_nsec: nap.subsec_nanos().into(),
            };
            let mut sockets = [PollFd::new(stream, PollFlags::RDHUP)];
            if poll(&mut sockets, Some(&nap)).is_ok_and(|ready| ready > 0) {
                return false;
            }
        }
    }

    /// What was counted of the session that is served from now on.
    pub(crate) fn set_attentions(&self, count: u64) {
        self.attentions.store(count, Ordering::SeqCst);
    }

    /// Stops the request that runs: nobody wants its answer.
    pub(crate) fn cancel_request(&self) {
        self.set_cancel(true);
    }

    pub(crate) fn attention(&self) {
        self.attentions.fetch_add(1, Ordering::SeqCst);
        self.set_cancel(true);
    }

    fn end_of_stream(&self) {
        if !self.closing.load(Ordering::SeqCst) {
            self.abandon();
        }
    }
}

/// What the session takes. After `Broken` nothing follows.
pub(crate) enum Inbound {
    Message(Box<Received>),
    Broken(PacketError),
}

/// The socket's reading half, and what was read ahead of the session.
pub(crate) struct Inbox {
    stream: TcpStream,
    signals: Arc<Signals>,
    reading: Mutex<Reading>,
    /// Odd while a request runs; another number for each request.
    turn: AtomicU64,
}

/// What is made of a client's bytes.
pub(crate) struct Reading {
    messages: Receiving,
    ready: VecDeque<Inbound>,
    pub(crate) ended: bool,
    buffer: Vec<u8>,
    /// What decrypts, and where to.
    channel: Option<Arc<Channel>>,
    plain: Vec<u8>,
    /// In place of `messages`, of a client with several sessions on its connection.
    sessions: Option<Sessions>,
}

impl Inbox {
    /// `pending` are bytes that came in one piece with the login.
    pub(crate) fn new(stream: TcpStream, mut reading: Reading, pending: &[u8], signals: Arc<Signals>) -> Inbox {
        reading.take(pending, &signals);
        Inbox {
            stream,
            signals,
            reading: Mutex::new(reading),
            turn: AtomicU64::new(0),
        }
    }

    /// The next message; waits for it. None when the client has gone. `served` is the payload of the message before, whose
    /// memory the next one may use.
    pub(crate) fn next(&self, served: Vec<u8>) -> Option<Inbound> {
        let mut reading = self.reading.lock();
        reading.messages.recycle(served);
        loop {
            if let Some(inbound) = reading.ready.pop_front() {
                return Some(inbound);
            }
            if reading.ended {
                return None;
            }
            reading.read(&self.stream, &self.signals);
        }
    }

    /// The next message of any session, which is served from now on; waits until something comes. If that is not a whole message, there may
    /// be something to send: `Some(None)`. None when the client has gone.
    pub(crate) fn next_of_sessions(&self) -> Option<Option<(u16, Inbound)>> {
        let mut reading = self.reading.lock();
        for has_read in [false, true] {
            if let Some(next) = reading.sessions.as_mut()?.serve_next(&self.signals) {
                return Some(Some(next));
            }
            if reading.ended {
                return None;
            }
            if !has_read {
                reading.read(&self.stream, &self.signals);
            }
        }
        Some(None)
    }

    /// Does something with the sessions of a connection that has several.
    pub(crate) fn of_sessions<T: Default>(&self, work: impl FnOnce(&mut Sessions) -> T) -> T {
        let mut reading = self.reading.lock();
        reading.sessions.as_mut().map(work).unwrap_or_default()
    }

    /// Waits a moment for something to come, and reads it.
    pub(crate) fn look_soon(&self) {
        let mut sockets = [PollFd::new(&self.stream, PollFlags::IN | PollFlags::RDHUP)];
        // What ends the wait early ends the look too.
        let _ = poll(&mut sockets, Some(&LOOK_SOON));
        self.look();
    }

    /// A request begins to run, or is over.
    pub(crate) fn turn(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of the request that runs.
    pub(crate) fn running(&self) -> Option<u64> {
        Some(self.turn.load(Ordering::Relaxed)).filter(|turn| turn % 2 == 1)
    }

    /// Reads what is there, without waiting, while a request runs.
    pub(crate) fn look(&self) {
        // The session holds the lock when it reads itself: then its request is over.
        let Some(mut reading) = self.reading.try_lock() else {
            return;
        };
        if reading.ended {
            return;
        }
        // Several sessions are bounded by their windows.
        let has_room = reading.sessions.is_some() || reading.ready.len() < MESSAGES_AHEAD_MAX;
        match state_of(&self.stream) {
            StreamState::Readable if has_room => reading.read(&self.stream, &self.signals),
            // What the client sent before it left is not worth waiting for.
            StreamState::Ended if !has_room => reading.end(&self.signals),
            StreamState::Ended => reading.read(&self.stream, &self.signals),
            StreamState::Readable | StreamState::Quiet => {}
        }
    }
}

impl Reading {
    /// With `sessions`, they take what comes, and `packets` nothing.
    pub(crate) fn new(
        channel: Option<Arc<Channel>>,
        packets: PacketReader,
        room: Room,
        sessions: Option<Sessions>,
    ) -> Reading {
        Reading {
            messages: Receiving::new(packets, room),
            ready: VecDeque::new(),
            ended: false,
            buffer: vec![0; READ_BYTES],
            channel,
            plain: Vec::new(),
            sessions,
        }
    }

    fn read(&mut self, mut stream: &TcpStream, signals: &Signals) {
        match stream.read(&mut self.buffer) {
            Ok(0) => self.end(signals),
            Ok(count) => {
                let buffer = std::mem::take(&mut self.buffer);
                self.receive(buffer.get(..count).unwrap_or_default(), signals);
                self.buffer = buffer;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.end(signals),
        }
    }

    /// Takes all messages that are whole, of whatever session.
    pub(crate) fn take_ready(&mut self, signals: &Signals) -> Vec<Inbound> {
        let mut ready: Vec<Inbound> = self.ready.drain(..).collect();
        if let Some(sessions) = &mut self.sessions {
            while let Some((_, inbound)) = sessions.serve_next(signals) {
                ready.push(inbound);
                sessions.served(Vec::new());
            }
        }
        ready
    }

    /// Takes what came off the wire.
    pub(crate) fn receive(&mut self, bytes: &[u8], signals: &Signals) {
        match self.channel.clone() {
            None => self.take(bytes, signals),
            Some(channel) => self.take_sealed(&channel, bytes, signals),
        }
    }

    /// What is not TLS, or not of this client, ends the connection as a broken network does.
    fn take_sealed(&mut self, channel: &Channel, read: &[u8], signals: &Signals) {
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let goes_on = channel.receive(read, &mut plain).unwrap_or(false);
        self.take(&plain, signals);
        self.plain = plain;
        if !goes_on && !self.ended {
            self.end(signals);
        }
    }

    fn end(&mut self, signals: &Signals) {
        self.ended = true;
        signals.end_of_stream();
    }

    /// Keeps every message that `input` completes.
    pub(crate) fn take(&mut self, mut input: &[u8], signals: &Signals) {
        if let Some(sessions) = &mut self.sessions {
            if let Err(error) = sessions.take(input, signals) {
                signals.abandon();
                sessions.break_off(error);
                self.ended = true;
            }
            return;
        }
        while !input.is_empty() && !self.ended {
            match self.messages.next(&mut input) {
                Ok(None) => {}
                Ok(Some(received)) => {
                    if received.message.kind == PacketType::Attention {
                        signals.attention();
                    }
                    self.ready.push_back(Inbound::Message(Box::new(received)));
                }
                Err(error) => {
                    signals.abandon();
                    self.ready.push_back(Inbound::Broken(error));
                    self.ended = true;
                }
            }
        }
    }
}

/// What a look at a stream shows.
enum StreamState {
    /// Nothing to read.
    Quiet,
    /// There are bytes.
    Readable,
    /// The other side has closed it or is gone; there may be bytes from before.
    Ended,
}

fn state_of(stream: &TcpStream) -> StreamState {
    let mut sockets = [PollFd::new(stream, PollFlags::IN | PollFlags::RDHUP)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if !poll(&mut sockets, Some(&at_once)).is_ok_and(|ready| ready > 0) {
        return StreamState::Quiet;
    }
    let ended = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    match sockets[0].revents().intersects(ended) {
        true => StreamState::Ended,
        false => StreamState::Readable,
    }
}
