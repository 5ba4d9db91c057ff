//! Receives a message: a short one into memory, a long one directly into a file of the instance.
//!
//! | message | where it is | limit |
//! |---|---|---|
//! | of any kind, up to 4 MB | in memory, charged to the instance | 701 |
//! | a call or a bulk load, longer | a file beside tempdb; its long values are read from there | half of what the disk has free (1105) |
//! | a batch, or anything else | in memory | 256 MB |
//!
//! If memory is short, a call or bulk load goes to a file before it is 4 MB long. If there is no disk space either, the server reads the
//! message to its end, discards it and answers with the error.
//!
//! Invariant: a message in a file uses bounded memory, whatever its length ([`tds::feed`]).

use std::fmt;
use std::sync::{Arc, OnceLock};

use engine::error::Error;
use engine::memory::{Accountant, Charge};
use engine::workspace::{SpillFile, SpillUses, replace_spill_uses};
use parking_lot::Mutex;
use tds::{DecodeError, Message, PacketError, PacketReader, PacketType, Payload, Spooled};

use crate::inbox::Signals;
use crate::notices;

/// Calls and bulk loads that are longer go to a file.
const MEMORY_BYTES_MAX: usize = 4 << 20;

/// Bytes of a message in a file that are written at once.
const PIECE_BYTES: usize = 256 << 10;

/// After so many bytes of a message it is seen whether its disk has as much left as the message has.
const LOOK_EVERY_BYTES: u64 = 16 << 20;

/// Makes the files.
pub type MakeSpool = Arc<dyn Fn() -> Result<SpillFile, Error> + Send + Sync>;

/// Where the messages of a connection go.
#[derive(Clone, Default)]
pub(crate) struct Room {
    pub(crate) accountant: Option<Arc<dyn Accountant>>,
    pub(crate) make_spool: Option<MakeSpool>,
}

impl Room {
    /// An empty charge of the instance, if there is one.
    fn charge(&self) -> Charge {
        self.accountant.clone().map_or_else(Charge::default, Charge::asking)
    }
}

/// A message, its memory, and where it lies if that is a file.
pub(crate) struct Received {
    pub(crate) message: Message,
    /// Why the message was not kept.
    pub(crate) refusal: Option<Error>,
    spool: Option<Arc<MessageSpool>>,
    _charge: Charge,
}

impl Received {
    /// What is to be decoded. A message in a file is read until `signals` say that the request is to stop.
    pub(crate) fn payload(&self, signals: &Arc<Signals>) -> Payload<'_> {
        match &self.spool {
            Some(spool) => {
                spool.signals.get_or_init(|| signals.clone());
                Payload::Spool(spool.clone())
            }
            None => Payload::from(&self.message.payload),
        }
    }
}

/// What is received of one session's messages.
pub(crate) struct Receiving {
    packets: PacketReader,
    room: Room,
    charge: Charge,
    spool: Option<MessageSpool>,
    refusal: Option<Error>,
}

impl Receiving {
    pub(crate) fn new(packets: PacketReader, room: Room) -> Receiving {
        Receiving {
            packets,
            charge: room.charge(),
            room,
            spool: None,
            refusal: None,
        }
    }

    /// Gives a served message's buffer back for the next one.
    pub(crate) fn recycle(&mut self, payload: Vec<u8>) {
        self.packets.recycle(payload);
    }

    /// Takes from the front of `input` until it is used up or one message is whole.
    ///
    /// # Errors
    /// What came is not TDS, or too long.
    pub(crate) fn next(&mut self, input: &mut &[u8]) -> Result<Option<Received>, PacketError> {
        let Some(mut message) = self.packets.next(input)? else {
            self.keep();
            return Ok(None);
        };
        let charge = std::mem::replace(&mut self.charge, self.room.charge());
        let mut refusal = self.refusal.take();
        // An ATTENTION ends the message before it.
        let mut spool = self.spool.take().filter(|spool| spool.kind == message.kind);
        if let Some(spool) = &mut spool {
            let rest = std::mem::take(&mut message.payload);
            refusal = refusal.or(spool.append(&rest).err());
        }
        if message.discarded || message.ignored {
            spool = None;
        }
        if refusal.is_none() && message.discarded {
            refusal = Some(notices::insufficient_memory());
        }
        Ok(Some(Received {
            message,
            refusal,
            spool: spool.map(Arc::new),
            _charge: charge,
        }))
    }

    /// Finds a place for what has come of the message under way.
    fn keep(&mut self) {
        let Some((kind, bytes)) = self.packets.partial() else {
            return;
        };
        if self.spool.as_ref().is_some_and(|spool| spool.kind != kind) {
            self.spool = None;
        }
        let can_spool = matches!(kind, PacketType::Rpc | PacketType::BulkLoad) && self.room.make_spool.is_some();
        let has_room = self.charge.grow_to(self.packets.partial_bytes() as u64).is_ok();
        let kept = match &self.spool {
            Some(_) if bytes < PIECE_BYTES => Ok(()),
            None if has_room && (bytes <= MEMORY_BYTES_MAX || !can_spool) => Ok(()),
            None if !can_spool => Err(notices::insufficient_memory()),
            _ => self.put_aside(kind),
        };
        if let Err(error) = kept {
            self.packets.discard();
            self.spool = None;
            self.charge = self.room.charge();
            self.refusal = Some(error);
        }
    }

    fn put_aside(&mut self, kind: PacketType) -> Result<(), Error> {
        let spool = match &mut self.spool {
            Some(spool) => spool,
            None => {
                let make = self.room.make_spool.as_ref().ok_or_else(notices::insufficient_memory)?;
                let charge = self.room.charge();
                self.spool.insert(MessageSpool {
                    kind,
                    file: make()?,
                    bytes: 0,
                    window: Mutex::new(charge),
                    signals: OnceLock::new(),
                })
            }
        };
        let taken = self.packets.take_partial();
        spool.append(&taken)?;
        drop(taken);
        self.charge = self.room.charge();
        Ok(())
    }
}

/// A message in a file.
struct MessageSpool {
    kind: PacketType,
    file: SpillFile,
    bytes: u64,
    /// Memory of what decodes it.
    window: Mutex<Charge>,
    signals: OnceLock<Arc<Signals>>,
}

impl MessageSpool {
    fn append(&mut self, piece: &[u8]) -> Result<(), Error> {
        let before = self.bytes;
        self.bytes += piece.len() as u64;
        aside(|| self.file.append(piece).map(|_| ()))?;
        match before / LOOK_EVERY_BYTES == self.bytes / LOOK_EVERY_BYTES {
            true => Ok(()),
            false => self.file.require_as_much_left(),
        }
    }
}

impl fmt::Debug for MessageSpool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MessageSpool")
            .field("kind", &self.kind)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Spooled for MessageSpool {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), DecodeError> {
        if self.signals.get().is_some_and(|signals| signals.should_stop()) {
            return Err(DecodeError::Stopped);
        }
        aside(|| self.file.read(at, into)).map_err(|error| DecodeError::Unreadable(error.message))
    }

    fn require(&self, bytes: usize) -> Result<(), DecodeError> {
        let asked = self.window.lock().grow_to(bytes as u64);
        asked.map_err(|_| DecodeError::NoMemory)
    }
}

/// Does something with the file that no operator of a request under way is charged for.
fn aside<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let own = replace_spill_uses(SpillUses::default());
    let outcome = work();
    replace_spill_uses(own);
    outcome
}
