//! One open file of a modelled disk: its bytes go to the backing file, its time is the model's.

use super::{PAGE_BYTES, Shared, Span, State, add_range};
use crate::{Access, DiskError, File, FileIdentity, ReadUnderWay};
use device::{Durability, Moment};
use std::path::Path;
use std::sync::Arc;

pub(super) struct ModelledFile {
    pub(super) file: Arc<dyn File>,
    pub(super) identity: FileIdentity,
    /// As who opened it asked; the backing file is buffered always.
    pub(super) access: Access,
    pub(super) shared: Arc<Shared>,
}

impl ModelledFile {
    /// Whether a write changes nothing but the length: zeros where nothing but zeros was ever written.
    fn is_hole(&self, offset: u64, parts: &[&[u8]]) -> bool {
        let state = self.shared.state.lock();
        let is_beyond = state
            .files
            .get(&self.identity)
            .is_some_and(|node| offset >= node.written_to);
        is_beyond && parts.iter().all(|part| is_zero(part))
    }

    /// Puts the bytes where they can be read again.
    fn keep(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let end = offset.saturating_add(bytes);
        self.shared.state.lock().reserve(self.identity, end, self.file.path())?;
        if self.is_hole(offset, parts) {
            return match self.file.len()? < end {
                true => self.file.set_len(end),
                false => Ok(()),
            };
        }
        self.file.write_vectored_at(offset, parts)?;
        if let Some(node) = self.shared.state.lock().files.get_mut(&self.identity) {
            node.written_to = node.written_to.max(end);
        }
        Ok(())
    }

    fn write(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        let _span = Span::begin(&self.shared.time);
        self.keep(offset, parts)?;
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        if self.access == Access::Buffered {
            if let Some(node) = self.shared.state.lock().files.get_mut(&self.identity) {
                node.is_warm = true;
                add_range(&mut node.unsynced, offset, bytes);
            }
            return Ok(());
        }
        self.charge_places(offset, bytes, |state, now, places| {
            state.write(now, places, Durability::Cached)
        });
        Ok(())
    }

    fn charge_places(
        &self,
        offset: u64,
        bytes: u64,
        work: impl FnOnce(&mut State, Moment, &[device::volume::Extent]) -> Moment,
    ) {
        let unit = match self.access {
            Access::Direct => u64::from(self.shared.sector_bytes),
            Access::Buffered => PAGE_BYTES,
        };
        self.shared.charge(|state, now| {
            let places = state.places(self.identity, offset, bytes, unit);
            work(state, now, &places)
        });
    }
}

/// Compared by words: log files are zeroed by the megabyte.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|byte| *byte == 0)
}

impl File for ModelledFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn identity(&self) -> Result<FileIdentity, DiskError> {
        Ok(self.identity)
    }

    fn lock(&self) -> Result<(), DiskError> {
        self.file.lock()
    }

    fn unlock(&self) {
        self.file.unlock();
    }

    fn len(&self) -> Result<u64, DiskError> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskError> {
        let _span = Span::begin(&self.shared.time);
        self.file.read_at(offset, buffer)?;
        self.charge_places(offset, buffer.len() as u64, |state, now, places| {
            let node = state.files.get_mut(&self.identity);
            let was_warm = node.map(|node| std::mem::replace(&mut node.is_warm, true));
            match self.access == Access::Buffered && was_warm == Some(true) {
                true => now,
                false => state.read(now, places),
            }
        });
        Ok(())
    }

    fn begin_read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<ReadUnderWay, DiskError> {
        if self.access == Access::Buffered {
            // The page cache keeps what was read, so nothing is under way there.
            return self.read_at(offset, buffer).map(|()| ReadUnderWay::default());
        }
        let _span = Span::begin(&self.shared.time);
        self.file.read_at(offset, buffer)?;
        let mut state = self.shared.state.lock();
        let now = self.shared.time.moment();
        let unit = u64::from(self.shared.sector_bytes);
        let places = state.places(self.identity, offset, buffer.len() as u64, unit);
        Ok(ReadUnderWay(Some(state.read(now, &places))))
    }

    fn finish_read(&self, read: ReadUnderWay) {
        let _span = Span::begin(&self.shared.time);
        if let Some(done) = read.0 {
            self.shared.time.device_works(self.shared.time.moment(), done);
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.write(offset, &[bytes])
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let _span = Span::begin(&self.shared.time);
        self.keep(offset, &[bytes])?;
        self.charge_places(offset, bytes.len() as u64, |state, now, places| {
            let written = state.write(now, places, Durability::Durable);
            let node = state.files.get(&self.identity);
            match node.is_some_and(|node| node.space.is_length_dirty) {
                true => state.sync(written, self.identity),
                false => written,
            }
        });
        Ok(())
    }

    fn write_vectored_at(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        self.write(offset, parts)
    }

    fn sync(&self) -> Result<(), DiskError> {
        let _span = Span::begin(&self.shared.time);
        self.shared.charge(|state, now| state.sync(now, self.identity));
        Ok(())
    }

    fn grow_reserved(&self, new_len: u64) -> Result<(), DiskError> {
        if new_len <= self.file.len()? {
            return Ok(());
        }
        self.set_len(new_len)
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        let _span = Span::begin(&self.shared.time);
        let old = self.file.len()?;
        if len < old {
            self.file.set_len(len)?;
            return self.shared.state.lock().cut(self.identity, len);
        }
        self.shared.state.lock().reserve(self.identity, len, self.file.path())?;
        self.file.set_len(len)
    }

    fn sector_bytes(&self) -> u32 {
        self.shared.sector_bytes
    }
}
