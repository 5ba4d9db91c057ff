//! MARS: several sessions of a client on one connection, which share one session of the instance: its transaction, its settings, its
//! temporary tables ([MS-TDS] 2.2.6.5, option MARS; the framing is [`tds::smp`]).
//!
//! Requests are served one after another, in order of arrival. A client need not read one answer before it sends the next request: if it
//! stops reading and another request has arrived, the rest of the answer is buffered on disk and sent on demand (`outgoing`). SQL Server
//! interleaves statements where they send rows; here the request with the buffered answer first runs to its end.
//!
//! Invariant: memory is bounded by windows in both directions (`sessions`, `spool`).

mod outgoing;
mod sessions;
mod spool;

use std::collections::BTreeMap;

use tds::token::TokenWriter;

use crate::backend::Backend;
use crate::inbox::{Inbound, Inbox};
use crate::session::Session;

pub(crate) use outgoing::{Answer, Outgoing};
pub(crate) use sessions::Sessions;

/// What a session keeps of its own between two requests.
struct Aside {
    tokens: TokenWriter,
    acknowledged: u64,
    attention_messages: u64,
}

impl<B: Backend> Session<'_, B> {
    /// Serves the requests of all sessions until the client leaves, breaks the protocol, or an error ends the connection.
    pub(crate) fn run_multiplexed(mut self, inbox: &Inbox, outgoing: &Outgoing<'_>) {
        let mut aside: BTreeMap<u16, Aside> = BTreeMap::new();
        loop {
            if outgoing.pump().is_err() {
                break;
            }
            outgoing
                .take_closed()
                .iter()
                .for_each(|session| drop(aside.remove(session)));
            let Some(next) = inbox.next_of_sessions() else { break };
            let Some((number, inbound)) = next else { continue };
            outgoing.set_current(number);
            let mut own = aside.remove(&number).unwrap_or_else(|| self.new_aside());
            self.exchange(&mut own);
            let served = self.take_turn(inbox, inbound);
            self.exchange(&mut own);
            aside.insert(number, own);
            match served {
                Some(payload) => inbox.of_sessions(|sessions| sessions.served(payload)),
                None => break,
            }
        }
        outgoing.end();
        self.close();
    }

    /// Serves a message; its memory afterwards, or None when the connection ends.
    fn take_turn(&mut self, inbox: &Inbox, inbound: Inbound) -> Option<Vec<u8>> {
        let (goes_on, payload) = self.serve_inbound(inbox, inbound);
        goes_on.then_some(payload)
    }

    /// The beginning of a session: it speaks as the connection does.
    fn new_aside(&mut self) -> Aside {
        let mut tokens = TokenWriter::new(self.tokens.version());
        tokens.packets().set_spid(self.spid);
        let bytes = self.tokens.packets().packet_bytes();
        tokens.packets().set_packet_bytes(bytes);
        Aside {
            tokens,
            acknowledged: 0,
            attention_messages: 0,
        }
    }

    fn exchange(&mut self, own: &mut Aside) {
        std::mem::swap(&mut self.tokens, &mut own.tokens);
        std::mem::swap(&mut self.acknowledged, &mut own.acknowledged);
        std::mem::swap(&mut self.attention_messages, &mut own.attention_messages);
    }
}
