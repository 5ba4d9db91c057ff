//! The receiving side of a multiplexed connection, and the windows of both sides.
//!
//! Invariant: at most [`WINDOW`] packets that a session sends ahead of its turn are kept: while one of its messages waits to be served, its
//! window is not extended. A message being received is kept as on any connection. Invariant: DATA is sent only up to the client's window.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tds::smp::{Header, Kind, Piece, SmpError, SmpReader, WINDOW};
use tds::{PacketError, PacketReader, PacketType};

use crate::inbox::{Inbound, Signals};
use crate::receiving::{Receiving, Room};

/// Sessions of one connection.
const SESSIONS_MAX: usize = 4096;

/// A window that has grown by so much is announced; less goes with the next DATA.
const WINDOW_GROWTH_TOLD: u32 = 2;

/// One session of a connection.
struct Logical {
    incoming: Receiving,
    /// Messages of it that wait to be served.
    waiting: usize,
    /// The number of the last DATA that came, and the highest that may come.
    received: u32,
    may_come: u32,
    /// The same of what went out.
    sent: u32,
    may_go: u32,
    /// ATTENTIONs received.
    attentions: u64,
    /// The client sends nothing more, and wants nothing more.
    has_finished: bool,
}

impl Logical {
    /// The window as announced from now on.
    fn window(&mut self) -> u32 {
        if self.waiting == 0 {
            self.may_come = self.received.wrapping_add(WINDOW);
        }
        self.may_come
    }

    fn has_room(&self) -> bool {
        is_behind(self.sent, self.may_go)
    }
}

/// Whether one number comes before another, of numbers that begin again at 0.
fn is_behind(number: u32, other: u32) -> bool {
    (1..=u32::MAX / 2).contains(&other.wrapping_sub(number))
}

/// What becomes of a packet that wants to go out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Passage {
    /// It goes, behind this header.
    Open(Header),
    /// The client's window is closed.
    Full,
    /// Nobody wants it.
    #[default]
    Gone,
}

/// The sessions of a connection.
pub(crate) struct Sessions {
    pieces: SmpReader,
    open: BTreeMap<u16, Logical>,
    ready: VecDeque<(u16, Inbound)>,
    /// The session being served.
    running: Option<u16>,
    /// Those to which a control packet may be owed.
    touched: BTreeSet<u16>,
    message_bytes_max: usize,
    room: Room,
}

impl Sessions {
    /// No session yet: the client opens each. Messages above `message_bytes_max` are refused.
    pub(crate) fn new(message_bytes_max: usize, room: Room) -> Sessions {
        Sessions {
            pieces: SmpReader::default(),
            open: BTreeMap::new(),
            ready: VecDeque::new(),
            running: None,
            touched: BTreeSet::new(),
            message_bytes_max,
            room,
        }
    }

    /// Takes what came off the wire.
    ///
    /// # Errors
    /// It is not SMP, or what it carries is not TDS.
    pub(crate) fn take(&mut self, mut input: &[u8], signals: &Signals) -> Result<(), PacketError> {
        while let Some(piece) = self.pieces.next(&mut input)? {
            match piece {
                Piece::Header(header) => self.take_header(&header, signals)?,
                Piece::Data(session, data) => self.take_data(session, data, signals)?,
            }
        }
        Ok(())
    }

    fn take_header(&mut self, header: &Header, signals: &Signals) -> Result<(), SmpError> {
        let session = header.session;
        if header.kind == Kind::Syn {
            return self.begin(header);
        }
        let Some(logical) = self.open.get_mut(&session) else {
            // An ACK may cross the end of its session.
            return match header.kind {
                Kind::Ack => Ok(()),
                _ => Err(SmpError::NotOpen(session)),
            };
        };
        if is_behind(logical.may_go, header.window) {
            logical.may_go = header.window;
        }
        match header.kind {
            Kind::Fin => {
                logical.has_finished = true;
                logical.waiting = 0;
                self.ready.retain(|(other, _)| *other != session);
                self.touched.insert(session);
                if self.running == Some(session) {
                    signals.cancel_request();
                }
            }
            Kind::Data => {
                let follows = header.sequence == logical.received.wrapping_add(1);
                if !follows || is_behind(logical.may_come, header.sequence) || logical.has_finished {
                    return Err(SmpError::Sequence(header.sequence));
                }
                logical.received = header.sequence;
                self.touched.insert(session);
            }
            Kind::Syn | Kind::Ack => {}
        }
        Ok(())
    }

    fn begin(&mut self, header: &Header) -> Result<(), SmpError> {
        if self.open.len() >= SESSIONS_MAX || self.open.contains_key(&header.session) {
            return Err(SmpError::Opened(header.session));
        }
        let logical = Logical {
            incoming: Receiving::new(PacketReader::new(self.message_bytes_max), self.room.clone()),
            waiting: 0,
            received: 0,
            may_come: WINDOW,
            sent: 0,
            may_go: header.window,
            attentions: 0,
            has_finished: false,
        };
        self.open.insert(header.session, logical);
        Ok(())
    }

    fn take_data(&mut self, session: u16, mut data: &[u8], signals: &Signals) -> Result<(), PacketError> {
        let Some(logical) = self.open.get_mut(&session) else {
            return Err(SmpError::NotOpen(session).into());
        };
        while !data.is_empty() {
            let Some(received) = logical.incoming.next(&mut data)? else {
                continue;
            };
            if received.message.kind == PacketType::Attention {
                logical.attentions += 1;
                if self.running == Some(session) {
                    signals.attention();
                }
            }
            logical.waiting += 1;
            self.ready.push_back((session, Inbound::Message(Box::new(received))));
        }
        Ok(())
    }

    /// Nothing is understood any more: the last that is taken says so.
    pub(crate) fn break_off(&mut self, error: PacketError) {
        self.ready.push_back((0, Inbound::Broken(error)));
    }

    /// Whether a session waits to be served.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next message, whose session is served from now on: `signals` tell of it alone.
    pub(crate) fn serve_next(&mut self, signals: &Signals) -> Option<(u16, Inbound)> {
        let (session, inbound) = self.ready.pop_front()?;
        self.running = Some(session);
        if let Some(logical) = self.open.get_mut(&session) {
            logical.waiting = logical.waiting.saturating_sub(1);
            signals.set_attentions(logical.attentions);
            self.touched.insert(session);
        }
        Some((session, inbound))
    }

    /// The session that was served is so no more. `payload` is memory that its next message may use.
    pub(crate) fn served(&mut self, payload: Vec<u8>) {
        if let Some(session) = self.running.take() {
            self.touched.insert(session);
            if let Some(logical) = self.open.get_mut(&session) {
                logical.incoming.recycle(payload);
            }
        }
    }

    /// Whether DATA of a session could go out, or be dropped.
    pub(super) fn has_room(&self, session: u16) -> bool {
        self.open
            .get(&session)
            .is_none_or(|logical| logical.has_finished || logical.has_room())
    }

    /// Claims a place for a packet of `bytes`.
    pub(super) fn claim(&mut self, session: u16, bytes: usize) -> Passage {
        let Some(logical) = self.open.get_mut(&session).filter(|logical| !logical.has_finished) else {
            return Passage::Gone;
        };
        if !logical.has_room() {
            return Passage::Full;
        }
        logical.sent = logical.sent.wrapping_add(1);
        Passage::Open(Header {
            kind: Kind::Data,
            session,
            data_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            sequence: logical.sent,
            window: logical.window(),
        })
    }

    /// Appends the control packets that are owed, and answers which sessions are closed by them.
    pub(super) fn write_owed(&mut self, out: &mut Vec<u8>) -> Vec<u16> {
        let mut closed = Vec::new();
        for session in std::mem::take(&mut self.touched) {
            let Some(logical) = self.open.get_mut(&session) else {
                continue;
            };
            let told = logical.may_come;
            let mut control = |kind, window| {
                Header {
                    kind,
                    session,
                    data_bytes: 0,
                    sequence: logical.sent,
                    window,
                }
                .write(out);
            };
            if logical.has_finished {
                if self.running != Some(session) {
                    control(Kind::Fin, told);
                    closed.push(session);
                }
                continue;
            }
            let grown = logical.received.wrapping_add(WINDOW);
            if logical.waiting == 0 && grown.wrapping_sub(told) >= WINDOW_GROWTH_TOLD {
                control(Kind::Ack, grown);
                logical.may_come = grown;
            }
        }
        closed.iter().for_each(|session| drop(self.open.remove(session)));
        closed
    }
}

#[cfg(test)]
mod tests;
