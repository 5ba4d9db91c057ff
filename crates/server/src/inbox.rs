//! The reading half of a connection: its own thread, so that ATTENTION and a vanished client are noticed while a request
//! runs.
//!
//! Invariant: an ATTENTION is counted and the cancel flag set before its message enters the channel. The session clears
//! the flag before a request and only then looks at the count, so no ATTENTION is lost and none hits the wrong request.

use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use tds::{Message, PacketError, PacketReader, PacketType};

/// Messages read ahead of the session at most; a client without MARS has one request and its ATTENTION under way.
const MESSAGES_AHEAD_MAX: usize = 4;

/// Bytes read from the socket at once.
const READ_BYTES: usize = 16 * 1024;

/// What the reader, the session and the listener tell each other.
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

    fn attention(&self) {
        self.attentions.fetch_add(1, Ordering::SeqCst);
        self.set_cancel(true);
    }

    fn end_of_stream(&self) {
        if !self.closing.load(Ordering::SeqCst) {
            self.abandon();
        }
    }
}

/// What the reader hands to the session. After `Broken` nothing follows.
pub(crate) enum Inbound {
    Message(Message),
    Broken(PacketError),
}

/// Starts the reader. `pending` are bytes that came in one piece with the login.
pub(crate) fn start(
    stream: TcpStream,
    mut packets: PacketReader,
    pending: Vec<u8>,
    signals: Arc<Signals>,
    name: String,
) -> std::io::Result<Receiver<Inbound>> {
    let (sender, receiver) = sync_channel(MESSAGES_AHEAD_MAX);
    thread::Builder::new().name(name).spawn(move || {
        if deliver(&mut packets, &pending, &signals, &sender) {
            read_loop(stream, packets, &signals, &sender);
        }
        signals.end_of_stream();
    })?;
    Ok(receiver)
}

fn read_loop(mut stream: TcpStream, mut packets: PacketReader, signals: &Signals, sender: &SyncSender<Inbound>) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                if !deliver(&mut packets, buffer.get(..count).unwrap_or_default(), signals, sender) {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Passes on every message `input` completes; false when there is no point in reading further.
fn deliver(packets: &mut PacketReader, mut input: &[u8], signals: &Signals, sender: &SyncSender<Inbound>) -> bool {
    while !input.is_empty() {
        let inbound = match packets.next(&mut input) {
            Ok(None) => continue,
            Ok(Some(message)) => {
                if message.kind == PacketType::Attention {
                    signals.attention();
                }
                Inbound::Message(message)
            }
            Err(error) => {
                signals.abandon();
                // A session that already ended does not listen; there is nobody else to tell.
                let _ = sender.send(Inbound::Broken(error));
                return false;
            }
        };
        if sender.send(inbound).is_err() {
            return false;
        }
    }
    true
}
