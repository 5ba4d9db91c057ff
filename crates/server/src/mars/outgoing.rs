//! The sending side of a multiplexed connection: each packet of an answer in an SMP packet, up to the client's window.
//!
//! | the served session's window is closed, and | |
//! |---|---|
//! | no other session waits | the request waits for the client: ASYNC_NETWORK_IO |
//! | another message has arrived, or this one is cancelled | the rest of the answer goes to a [`Spool`], so that the request ends |
//!
//! A spool is drained whenever the connection's thread sends, waits or is idle.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use super::sessions::Passage;
use super::spool::{MakeFile, Spool, packet_bytes};
use crate::inbox::{Inbox, Signals};
use crate::to_client::ToClient;

/// How long a client may take to read what its connection ends with.
const LAST_ANSWER_MAX: Duration = Duration::from_millis(100);

/// The sending half of a multiplexed connection; used by its thread alone.
pub(crate) struct Outgoing<'a> {
    client: RefCell<ToClient<'a>>,
    inbox: &'a Inbox,
    signals: &'a Signals,
    /// Called with the microseconds of each wait for the client.
    waited: &'a dyn Fn(u64),
    make_file: MakeFile<'a>,
    spools: RefCell<BTreeMap<u16, Spool>>,
    /// Sessions that were closed.
    closed: RefCell<Vec<u16>>,
    /// Whose answer is written.
    current: Cell<u16>,
}

impl<'a> Outgoing<'a> {
    pub(crate) fn new(
        client: ToClient<'a>,
        inbox: &'a Inbox,
        signals: &'a Signals,
        waited: &'a dyn Fn(u64),
        make_file: MakeFile<'a>,
    ) -> Outgoing<'a> {
        Outgoing {
            client: RefCell::new(client),
            inbox,
            signals,
            waited,
            make_file,
            spools: RefCell::default(),
            closed: RefCell::default(),
            current: Cell::new(0),
        }
    }

    /// From now on what is written is this session's.
    pub(super) fn set_current(&self, session: u16) {
        self.current.set(session);
    }

    /// The sessions that were closed since this was asked last.
    pub(super) fn take_closed(&self) -> Vec<u16> {
        self.closed.take()
    }

    /// Sends what is owed, and of the spools what there is room for.
    pub(super) fn pump(&self) -> io::Result<()> {
        let mut owed = Vec::new();
        let closed = self.inbox.of_sessions(|sessions| sessions.write_owed(&mut owed));
        if !owed.is_empty() {
            self.client.borrow_mut().write_all(&owed)?;
        }
        let mut spools = self.spools.borrow_mut();
        for session in closed {
            spools.remove(&session);
            self.closed.borrow_mut().push(session);
        }
        for (session, spool) in spools.iter_mut() {
            while let Some(packet) = spool.front()? {
                match self
                    .inbox
                    .of_sessions(|sessions| sessions.claim(*session, packet.len()))
                {
                    Passage::Open(header) => self.send_behind(&header, packet)?,
                    Passage::Gone => {}
                    Passage::Full => break,
                }
                spool.pop();
            }
        }
        spools.retain(|_, spool| !spool.is_empty());
        Ok(())
    }

    fn send_behind(&self, header: &tds::smp::Header, packet: &[u8]) -> io::Result<()> {
        let mut framed = Vec::with_capacity(tds::smp::HEADER_BYTES + packet.len());
        header.write(&mut framed);
        framed.extend_from_slice(packet);
        self.client.borrow_mut().write_all(&framed)
    }

    /// Sends a packet of the answer, or keeps it.
    fn send(&self, packet: &[u8]) -> io::Result<()> {
        let session = self.current.get();
        if !self.spools.borrow().is_empty() {
            self.pump()?;
        }
        while !self.spools.borrow().contains_key(&session) {
            match self.inbox.of_sessions(|sessions| sessions.claim(session, packet.len())) {
                Passage::Open(header) => return self.send_behind(&header, packet),
                Passage::Gone => return Ok(()),
                Passage::Full if self.wait_for_window(session)? => {}
                Passage::Full => drop(self.spools.borrow_mut().insert(session, Spool::default())),
            }
        }
        let mut spools = self.spools.borrow_mut();
        spools.entry(session).or_default().push(packet, self.make_file)
    }

    /// Waits until the client's window opens; false when the request is not to wait for it.
    fn wait_for_window(&self, session: u16) -> io::Result<bool> {
        let begun = Instant::now();
        let has_room = loop {
            if self.signals.is_abandoned() {
                break Err(ErrorKind::BrokenPipe.into());
            }
            if let Err(error) = self.pump() {
                break Err(error);
            }
            let (has_room, is_wanted) = self
                .inbox
                .of_sessions(|sessions| (sessions.has_room(session), sessions.has_ready()));
            if has_room {
                break Ok(true);
            }
            if is_wanted || self.signals.should_stop() {
                break Ok(false);
            }
            self.inbox.look_soon();
        };
        (self.waited)(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
        has_room
    }

    /// The connection ends: gives the client a moment to take what is there.
    pub(super) fn end(&self) {
        let deadline = Instant::now() + LAST_ANSWER_MAX;
        while self.pump().is_ok() && !self.spools.borrow().is_empty() && !self.signals.is_abandoned() {
            if Instant::now() >= deadline {
                return;
            }
            self.inbox.look_soon();
        }
    }
}

/// The answer of the session that is served. What is written are whole TDS packets.
pub(crate) struct Answer<'a>(pub(crate) &'a Outgoing<'a>);

impl Write for Answer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return self.0.client.borrow_mut().write(bytes);
        }
        let length = packet_bytes(bytes).unwrap_or(bytes.len()).clamp(1, bytes.len());
        let (packet, _) = bytes.split_at(length);
        self.0.send(packet)?;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
