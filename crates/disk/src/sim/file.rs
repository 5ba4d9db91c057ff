//! One open file of the simulated disk: passes each operation by the disk's gate, then applies it to its inode.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::inode::{Inode, allocation_for};
use super::{FaultError, Gate, OS_ERROR_NO_SPACE, OperationKind, SECTOR_BYTES, State, identity_of, injected};
use crate::{DiskError, DiskErrorKind, File, FileIdentity};

/// The longest file Linux knows (the largest signed offset).
const FILE_BYTES_MAX: u64 = i64::MAX as u64;

/// One open file. The inode lives as long as it has a name or an open file.
#[derive(Debug)]
pub(super) struct SimFile {
    path: PathBuf,
    inode: u64,
    state: Arc<Mutex<State>>,
    /// A sync failed: durability is unknown, so every later sync of this open file fails as well.
    sync_failed: AtomicBool,
    /// This open file has its inode's lock.
    has_lock: AtomicBool,
}

impl SimFile {
    pub(super) fn new(path: &Path, inode: u64, state: Arc<Mutex<State>>) -> SimFile {
        SimFile {
            path: path.to_path_buf(),
            inode,
            state,
            sync_failed: AtomicBool::new(false),
            has_lock: AtomicBool::new(false),
        }
    }

    /// The disk, for an operation that no test holds any more.
    fn lock_for(&self, kind: OperationKind) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while let Some(hold) = state.take_hold(kind, &self.path) {
            MutexGuard::unlocked(&mut state, || hold.wait());
        }
        state
    }

    fn error(&self, kind: DiskErrorKind, operation: &'static str) -> DiskError {
        DiskError::new(kind, operation, &self.path)
    }

    fn check_durability_is_known(&self) -> Result<(), DiskError> {
        if self.sync_failed.load(Ordering::Acquire) {
            return Err(injected(FaultError::Io, OperationKind::Sync, &self.path));
        }
        Ok(())
    }

    fn check_has_name(&self, state: &State, operation: &'static str) -> Result<(), DiskError> {
        match state.is_named(self.inode) {
            true => Ok(()),
            false => Err(self.error(DiskErrorKind::Deleted, operation)),
        }
    }

    /// The inode of this open file. The disk keeps it while the file is open; were it missing, the operation would
    /// report an I/O error.
    fn inode<'state>(&self, state: &'state mut State, operation: &'static str) -> Result<&'state mut Inode, DiskError> {
        state
            .inodes
            .get_mut(&self.inode)
            .ok_or_else(|| self.error(DiskErrorKind::Io, operation))
    }

    /// Refuses what would take the file beyond the capacity of the disk.
    fn check_capacity(&self, state: &mut State, end: u64, operation: &'static str) -> Result<(), DiskError> {
        let available = state.available_bytes();
        let allocated = self.inode(state, operation)?.allocated_bytes();
        if allocation_for(end).saturating_sub(allocated) > available {
            return Err(self
                .error(DiskErrorKind::DiskFull, operation)
                .with_os_error(OS_ERROR_NO_SPACE));
        }
        Ok(())
    }

    fn write(&self, kind: OperationKind, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let end = offset
            .checked_add(bytes.len() as u64)
            .filter(|end| *end <= FILE_BYTES_MAX)
            .ok_or_else(|| self.error(DiskErrorKind::Io, "write").at(offset))?;
        let mut guard = self.lock_for(kind);
        let state = &mut *guard;
        let durable = kind == OperationKind::WriteDurable;
        let leave_unsynced = |cut: &mut State| {
            let sequence = cut.operation_count;
            let inode = cut.inodes.get_mut(&self.inode);
            inode
                .into_iter()
                .for_each(|inode| inode.write(offset, bytes, sequence, false));
        };
        match state.begin(kind, &self.path, leave_unsynced) {
            Gate::Pass => {
                self.check_capacity(state, end, "write")
                    .map_err(|error| error.at(offset))?;
                let sequence = state.operation_count;
                let is_durable = durable && !state.puts_off(self.inode);
                self.inode(state, "write")?.write(offset, bytes, sequence, is_durable);
                match durable {
                    true => self.check_has_name(state, "write"),
                    false => Ok(()),
                }
            }
            Gate::Fault(error) => {
                if error.kind == DiskErrorKind::Io {
                    let sectors = state.random.up_to(bytes.len() / SECTOR_BYTES);
                    let sequence = state.operation_count;
                    let begun = &bytes[..sectors * SECTOR_BYTES];
                    self.inode(state, "write")?.write(offset, begun, sequence, false);
                    if durable {
                        self.sync_failed.store(true, Ordering::Release);
                    }
                }
                Err(error.at(offset))
            }
            Gate::Dead(error) => Err(error.at(offset)),
        }
    }

    /// Runs a change of the length past the gate; the change in flight when the power goes stays unsynced.
    fn change_length(&self, kind: OperationKind, len: u64, change: impl Fn(&mut Inode, u64)) -> Result<(), DiskError> {
        if len > FILE_BYTES_MAX {
            return Err(self.error(DiskErrorKind::Io, kind.verb()).at(len));
        }
        let mut guard = self.lock_for(kind);
        let state = &mut *guard;
        let leave_unsynced = |cut: &mut State| {
            let sequence = cut.operation_count;
            let inode = cut.inodes.get_mut(&self.inode);
            inode.into_iter().for_each(|inode| change(inode, sequence));
        };
        let gate = state.begin(kind, &self.path, leave_unsynced);
        let sequence = state.operation_count;
        match gate {
            Gate::Pass => {
                if kind == OperationKind::Grow {
                    self.check_capacity(state, len, "grow").map_err(|error| error.at(len))?;
                }
                change(self.inode(state, kind.verb())?, sequence);
                Ok(())
            }
            Gate::Fault(error) | Gate::Dead(error) => Err(error.at(len)),
        }
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.unlock();
        self.state.lock().close(self.inode);
    }
}

impl File for SimFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn identity(&self) -> Result<FileIdentity, DiskError> {
        self.state.lock().check_power("measure", &self.path)?;
        Ok(identity_of(self.inode))
    }

    fn lock(&self) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        state.check_power("lock", &self.path)?;
        if !self.has_lock.load(Ordering::Acquire) {
            if !state.locked_inodes.insert(self.inode) {
                return Err(self.error(DiskErrorKind::InUse, "lock"));
            }
            self.has_lock.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn unlock(&self) {
        let mut state = self.state.lock();
        if self.has_lock.swap(false, Ordering::AcqRel) {
            state.locked_inodes.remove(&self.inode);
        }
    }

    fn len(&self) -> Result<u64, DiskError> {
        let mut state = self.state.lock();
        state.check_power("measure", &self.path)?;
        Ok(self.inode(&mut state, "measure")?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskError> {
        let mut state = self.lock_for(OperationKind::Read);
        match state.begin(OperationKind::Read, &self.path, |_| {}) {
            Gate::Pass => {}
            Gate::Fault(error) | Gate::Dead(error) => return Err(error.at(offset)),
        }
        let inode = self.inode(&mut state, "read")?;
        let end = offset.checked_add(buffer.len() as u64);
        if buffer.is_empty() {
            return Ok(());
        }
        if end.is_none_or(|end| end > inode.len()) {
            return Err(self.error(DiskErrorKind::UnexpectedEnd, "read").at(offset));
        }
        inode.read(offset, buffer);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.write(OperationKind::Write, offset, bytes)
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.check_durability_is_known()?;
        self.write(OperationKind::WriteDurable, offset, bytes)
    }

    fn write_vectored_at(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        self.write(OperationKind::Write, offset, &parts.concat())
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.check_durability_is_known()?;
        let mut guard = self.lock_for(OperationKind::Sync);
        let state = &mut *guard;
        match state.begin(OperationKind::Sync, &self.path, |_| {}) {
            Gate::Pass => {
                if !state.puts_off(self.inode) {
                    self.inode(state, "sync")?.sync();
                }
                self.check_has_name(state, "sync")
            }
            Gate::Fault(error) => {
                self.sync_failed.store(true, Ordering::Release);
                if let Some(inode) = state.inodes.get_mut(&self.inode) {
                    inode.fail_sync(&mut state.random);
                }
                Err(error)
            }
            Gate::Dead(error) => Err(error),
        }
    }

    fn grow_reserved(&self, new_len: u64) -> Result<(), DiskError> {
        if new_len <= self.len()? {
            return Ok(());
        }
        self.change_length(OperationKind::Grow, new_len, |inode, sequence| {
            inode.grow(new_len, sequence);
        })
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        self.change_length(OperationKind::SetLen, len, |inode, sequence| {
            inode.set_len(len, sequence);
        })
    }

    fn sector_bytes(&self) -> u32 {
        4096
    }
}
