//! Buffers the packets of an unread answer while other sessions of its connection are served: the first ones in memory, the others in a
//! file of the instance.
//!
//! Invariant: packets leave in the order in which they came. What is in memory is older than what is in the file.
//! Invariant: memory holds [`MEMORY_BYTES_MAX`] and one packet at most, and the file [`FILE_BYTES_MAX`]. A longer answer that its client
//! leaves unread while it asks for more ends the connection.

use std::collections::VecDeque;
use std::io;

use engine::error::Error;
use engine::workspace::{SpillFile, SpillUses, replace_spill_uses};

/// Bytes of packets in memory, and read from the file at once.
const MEMORY_BYTES_MAX: usize = 64 << 10;

/// Bytes of the file at most.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Where a packet's length stands in its header.
const LENGTH: std::ops::Range<usize> = 2..4;

/// The length of the TDS packet that `bytes` begin with; None when they are too few to tell.
pub(super) fn packet_bytes(bytes: &[u8]) -> Option<usize> {
    let length: [u8; 2] = bytes.get(LENGTH)?.try_into().ok()?;
    Some(usize::from(u16::from_be_bytes(length)))
}

pub(super) type MakeFile<'a> = &'a dyn Fn() -> Result<SpillFile, Error>;

#[derive(Default)]
pub(super) struct Spool {
    memory: VecDeque<Vec<u8>>,
    memory_bytes: usize,
    file: Option<SpillFile>,
    /// The part of the file that has not left.
    begin: u64,
    end: u64,
}

impl Spool {
    pub(super) fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.begin == self.end
    }

    pub(super) fn push(&mut self, packet: &[u8], make_file: MakeFile<'_>) -> io::Result<()> {
        if self.begin == self.end && self.memory_bytes + packet.len() <= MEMORY_BYTES_MAX {
            self.keep(packet);
            return Ok(());
        }
        if self.end + packet.len() as u64 > FILE_BYTES_MAX {
            let text = "an answer that its client does not read, while it asks for more on the same connection, takes more than 1 GB";
            return Err(io::Error::other(text));
        }
        let file = &mut self.file;
        aside(|| match file {
            Some(file) => file.append(packet),
            None => file.insert(make_file()?).append(packet),
        })?;
        self.end += packet.len() as u64;
        Ok(())
    }

    fn keep(&mut self, packet: &[u8]) {
        self.memory_bytes += packet.len();
        self.memory.push_back(packet.to_vec());
    }

    /// The packet that leaves next.
    pub(super) fn front(&mut self) -> io::Result<Option<&[u8]>> {
        if self.memory.is_empty() && self.begin < self.end {
            self.refill()?;
        }
        Ok(self.memory.front().map(Vec::as_slice))
    }

    pub(super) fn pop(&mut self) {
        self.memory_bytes -= self.memory.pop_front().map_or(0, |packet| packet.len());
        if self.is_empty() {
            *self = Spool::default();
        }
    }

    /// Reads the next packets of the file.
    fn refill(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let left = usize::try_from(self.end - self.begin).unwrap_or(usize::MAX);
        let mut bytes = vec![0; left.min(MEMORY_BYTES_MAX)];
        aside(|| file.read(self.begin, &mut bytes))?;
        let mut rest = bytes.as_slice();
        // The last one may be cut off; it is read again.
        while let Some(packet) = packet_bytes(rest).and_then(|length| rest.get(..length))
            && !packet.is_empty()
        {
            self.keep(packet);
            self.begin += packet.len() as u64;
            rest = &rest[packet.len()..];
        }
        Ok(())
    }
}

/// Does something with the file that no operator of the request under way is charged for.
fn aside<T>(work: impl FnOnce() -> Result<T, Error>) -> io::Result<T> {
    let own = replace_spill_uses(SpillUses::default());
    let outcome = work();
    replace_spill_uses(own);
    outcome.map_err(|error| io::Error::other(error.message))
}
