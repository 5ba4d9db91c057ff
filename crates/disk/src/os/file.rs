//! One open file of the operating system, with up to three descriptors of the same file.
//!
//! ```text
//!   buffered   O_RDWR                     lengths, growth, sync, and every write that is not aligned
//!   direct     O_RDWR|O_DIRECT            aligned reads and writes, bounced when the memory is not aligned
//!   durable    O_RDWR|O_DIRECT|O_DSYNC    aligned durable writes: one system call, one device write, one flush
//! ```
//!
//! `direct` and `durable` exist only for [`Access::Direct`] and only where the file system has direct I/O, found out at
//! open: by O_DIRECT being accepted and by the alignment that `statx` reports. Everything falls back to `buffered`.
//!
//! Coherence of the mixture:
//!
//! * A read that is not aligned goes through an aligned bounce buffer and the direct descriptor, never through the page
//!   cache, so it leaves no stale cached page behind.
//! * A write that is not aligned goes through the page cache. Linux serializes it with direct writes of the same file under the inode lock,
//!   and a direct read or write first writes back and drops cached pages of its range. So a later aligned read sees it, and no neighbouring
//!   byte is rewritten with old content by this process. This path is slower. The engine's page and log block writes are aligned, so only
//!   rare cases take it.

use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::fs::{AtFlags, FallocateFlags, FlockOperation, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use super::deferral::Deferral;
use super::uninterrupted;
use super::walk::{Entry, identity_of};
use crate::{Access, AlignedBuffer, BUFFER_ALIGNMENT_BYTES, DiskError, DiskErrorKind, File, FileIdentity};

/// The most a single bounce buffer holds.
const BOUNCE_BYTES_MAX: usize = 1 << 20;
/// The most parts one vectored write takes (IOV_MAX of Linux).
const PARTS_MAX: usize = 1024;
/// `sync_failed` while no sync has failed; no error number of Linux is 0.
const NO_ERROR: i32 = 0;

/// The descriptors and alignments of direct I/O.
#[derive(Debug)]
struct Direct {
    plain: OwnedFd,
    durable: OwnedFd,
    /// Alignment in bytes that offsets and lengths need.
    offset_alignment: usize,
    /// Alignment in bytes that memory needs.
    memory_alignment: usize,
}

/// One open file of the operating system.
#[derive(Debug)]
pub(super) struct OsFile {
    path: PathBuf,
    buffered: OwnedFd,
    direct: Option<Direct>,
    /// What can put its syncs off.
    deferral: Option<Arc<Deferral>>,
    /// Error number of the first failed sync; from then on durability is unknown, so every later sync repeats it.
    sync_failed: AtomicI32,
}

impl Direct {
    /// Opens the direct descriptors, `None` where the file system has no direct I/O of at most 4096 bytes alignment.
    /// Both are the file of `buffered`, or there are none: the name may lead elsewhere by now.
    fn open(entry: &Entry, buffered: &OwnedFd) -> Option<Direct> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let again = |flags| {
            let descriptor = uninterrupted(|| entry.open(flags, Mode::empty())).ok()?;
            (identity_of(&descriptor).ok()? == identity_of(buffered).ok()?).then_some(descriptor)
        };
        let plain = again(flags)?;
        let durable = again(flags | OFlags::DSYNC)?;
        let status = rustix::fs::statx(&plain, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
        let (offset_alignment, memory_alignment) = match status {
            Ok(status) if status.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
                (status.stx_dio_offset_align as usize, status.stx_dio_mem_align as usize)
            }
            // Kernels before 6.1 do not tell; the buffer's alignment satisfies every common device.
            _ => (BUFFER_ALIGNMENT_BYTES, BUFFER_ALIGNMENT_BYTES),
        };
        let usable = |alignment: usize| alignment.is_power_of_two() && alignment <= BUFFER_ALIGNMENT_BYTES;
        (usable(offset_alignment) && usable(memory_alignment)).then_some(Direct {
            plain,
            durable,
            offset_alignment,
            memory_alignment,
        })
    }

    fn accepts_range(&self, offset: u64, len: usize) -> bool {
        len > 0 && offset.is_multiple_of(self.offset_alignment as u64) && len.is_multiple_of(self.offset_alignment)
    }

    fn accepts_memory(&self, memory: &[u8]) -> bool {
        memory.as_ptr().addr().is_multiple_of(self.memory_alignment)
    }
}

/// What a read ended with.
enum ReadOutcome {
    Filled,
    EndOfFile,
}

/// Reads until `needed` bytes of `buffer` are filled or the file ends.
fn read_until(
    descriptor: &OwnedFd,
    buffer: &mut [u8],
    needed: usize,
    offset: u64,
    alignment: usize,
) -> Result<ReadOutcome, Errno> {
    let mut done = 0;
    while done < needed {
        let read = uninterrupted(|| rustix::io::pread(descriptor, &mut buffer[done..], offset + done as u64))?;
        done += read;
        // A direct read ends between boundaries only at the end of the file.
        let at_end = read == 0 || !read.is_multiple_of(alignment);
        if at_end && done < needed {
            return Ok(ReadOutcome::EndOfFile);
        }
    }
    Ok(ReadOutcome::Filled)
}

/// Writes all bytes. A short direct write is continued from the last boundary it reached.
fn write_all(descriptor: &OwnedFd, bytes: &[u8], offset: u64, alignment: usize) -> Result<(), Errno> {
    let mut done = 0;
    while done < bytes.len() {
        let written = uninterrupted(|| rustix::io::pwrite(descriptor, &bytes[done..], offset + done as u64))?;
        let kept = written - written % alignment;
        if kept == 0 && written < bytes.len() - done {
            return Err(Errno::IO);
        }
        done += if written == bytes.len() - done { written } else { kept };
    }
    Ok(())
}

/// Writes all parts, `PARTS_MAX` at a time, continuing short writes at any byte (so for the page cache, or for direct
/// I/O whose short writes end on boundaries).
fn write_all_parts(descriptor: &OwnedFd, parts: &[&[u8]], mut offset: u64) -> Result<(), Errno> {
    let mut slices: Vec<IoSlice<'_>> = parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| IoSlice::new(part))
        .collect();
    let mut rest = slices.as_mut_slice();
    while !rest.is_empty() {
        let batch = &rest[..rest.len().min(PARTS_MAX)];
        let written = uninterrupted(|| rustix::io::pwritev(descriptor, batch, offset))?;
        if written == 0 {
            return Err(Errno::IO);
        }
        offset += written as u64;
        IoSlice::advance_slices(&mut rest, written);
    }
    Ok(())
}

impl OsFile {
    /// Wraps an open descriptor and, for direct access, opens the direct ones beside it.
    pub(super) fn new(
        path: &Path,
        entry: &Entry,
        buffered: OwnedFd,
        access: Access,
        deferral: Option<Arc<Deferral>>,
    ) -> Result<OsFile, DiskError> {
        let direct = match access {
            Access::Direct => Direct::open(entry, &buffered),
            Access::Buffered => None,
        };
        Ok(OsFile {
            path: path.to_path_buf(),
            buffered,
            direct,
            deferral,
            sync_failed: AtomicI32::new(NO_ERROR),
        })
    }

    fn failed(&self, errno: Errno, operation: &'static str, offset: u64) -> DiskError {
        DiskError::from_errno(errno, operation, &self.path).at(offset)
    }

    fn ended(&self, offset: u64) -> DiskError {
        DiskError::new(DiskErrorKind::UnexpectedEnd, "read", &self.path).at(offset)
    }

    fn check_durability_is_known(&self) -> Result<(), DiskError> {
        match self.sync_failed.load(Ordering::Acquire) {
            NO_ERROR => Ok(()),
            number => Err(DiskError::from_errno(
                Errno::from_raw_os_error(number),
                "sync",
                &self.path,
            )),
        }
    }

    /// Whether what has just been made durable can be found again. One look at the open file, which walks no path. It asks for the number
    /// of names alone: a look at the times, as `fstat` takes, makes Linux (6.13 and later) give the next write a time of its own, and that
    /// changes the file's metadata with every write.
    fn check_has_name(&self, operation: &'static str) -> Result<(), DiskError> {
        let status = uninterrupted(|| {
            rustix::fs::statx(
                &self.buffered,
                c"",
                rustix::fs::AtFlags::EMPTY_PATH,
                rustix::fs::StatxFlags::NLINK,
            )
        })
        .map_err(|errno| DiskError::from_errno(errno, "measure", &self.path))?;
        match status.stx_nlink {
            0 => Err(DiskError::new(DiskErrorKind::Deleted, operation, &self.path)),
            _ => Ok(()),
        }
    }

    /// Whether its sync is put off.
    fn is_put_off(&self) -> bool {
        self.deferral
            .as_ref()
            .is_some_and(|deferral| deferral.puts_off(&self.path))
    }

    fn note_sync_failure(&self, errno: Errno) {
        self.sync_failed.store(errno.raw_os_error(), Ordering::Release);
    }

    fn read_bounced(&self, direct: &Direct, offset: u64, buffer: &mut [u8]) -> Result<(), DiskError> {
        let alignment = direct.offset_alignment;
        let mut at = offset;
        for chunk in buffer.chunks_mut(BOUNCE_BYTES_MAX) {
            let skipped = (at % alignment as u64) as usize;
            let needed = skipped + chunk.len();
            let mut bounce = AlignedBuffer::with_len(needed.next_multiple_of(alignment));
            let start = at - skipped as u64;
            match read_until(&direct.plain, &mut bounce, needed, start, alignment) {
                Ok(ReadOutcome::Filled) => chunk.copy_from_slice(&bounce[skipped..needed]),
                Ok(ReadOutcome::EndOfFile) => return Err(self.ended(offset)),
                Err(errno) => return Err(self.failed(errno, "read", offset)),
            }
            at += chunk.len() as u64;
        }
        Ok(())
    }

    /// Writes through a direct descriptor, by way of an aligned copy when the memory is not aligned.
    fn write_direct(&self, descriptor: &OwnedFd, direct: &Direct, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let alignment = direct.offset_alignment;
        if direct.accepts_memory(bytes) {
            return write_all(descriptor, bytes, offset, alignment);
        }
        let mut bounce = AlignedBuffer::with_len(bytes.len().min(BOUNCE_BYTES_MAX));
        let mut at = offset;
        for chunk in bytes.chunks(BOUNCE_BYTES_MAX) {
            let copy = &mut bounce[..chunk.len()];
            copy.copy_from_slice(chunk);
            write_all(descriptor, copy, at, alignment)?;
            at += chunk.len() as u64;
        }
        Ok(())
    }

    /// Reserves space by writing zeros, for file systems without fallocate.
    fn write_zeros(&self, from: u64, to: u64) -> Result<(), Errno> {
        let zeros = AlignedBuffer::with_len(BOUNCE_BYTES_MAX);
        let mut at = from;
        while at < to {
            let len = (to - at).min(zeros.len() as u64) as usize;
            write_all(&self.buffered, &zeros[..len], at, 1)?;
            at += len as u64;
        }
        Ok(())
    }
}

impl File for OsFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn identity(&self) -> Result<FileIdentity, DiskError> {
        identity_of(&self.buffered).map_err(|errno| DiskError::from_errno(errno, "measure", &self.path))
    }

    fn lock(&self) -> Result<(), DiskError> {
        uninterrupted(|| rustix::fs::flock(&self.buffered, FlockOperation::NonBlockingLockExclusive))
            .map_err(|errno| DiskError::from_errno(errno, "lock", &self.path))
    }

    fn unlock(&self) {
        // What cannot be unlocked stays locked until the file is closed.
        let _ = uninterrupted(|| rustix::fs::flock(&self.buffered, FlockOperation::Unlock));
    }

    fn len(&self) -> Result<u64, DiskError> {
        let status = uninterrupted(|| rustix::fs::fstat(&self.buffered))
            .map_err(|errno| DiskError::from_errno(errno, "measure", &self.path))?;
        Ok(u64::try_from(status.st_size).unwrap_or(0))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskError> {
        let needed = buffer.len();
        let outcome = match &self.direct {
            Some(direct) if direct.accepts_range(offset, needed) && direct.accepts_memory(buffer) => {
                let alignment = direct.offset_alignment;
                read_until(&direct.plain, buffer, needed, offset, alignment)
            }
            Some(direct) => return self.read_bounced(direct, offset, buffer),
            None => read_until(&self.buffered, buffer, needed, offset, 1),
        };
        match outcome {
            Ok(ReadOutcome::Filled) => Ok(()),
            Ok(ReadOutcome::EndOfFile) => Err(self.ended(offset)),
            Err(errno) => Err(self.failed(errno, "read", offset)),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        match &self.direct {
            Some(direct) if direct.accepts_range(offset, bytes.len()) => {
                self.write_direct(&direct.plain, direct, offset, bytes)
            }
            _ => write_all(&self.buffered, bytes, offset, 1),
        }
        .map_err(|errno| self.failed(errno, "write", offset))
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.check_durability_is_known()?;
        if self.is_put_off() {
            self.write_at(offset, bytes)?;
            return self.check_has_name("write");
        }
        match &self.direct {
            Some(direct) if direct.accepts_range(offset, bytes.len()) => self
                .write_direct(&direct.durable, direct, offset, bytes)
                .map_err(|errno| {
                    let error = self.failed(errno, "write", offset);
                    if error.kind != DiskErrorKind::DiskFull {
                        self.note_sync_failure(errno);
                    }
                    error
                })
                .and_then(|()| self.check_has_name("write")),
            _ => {
                write_all(&self.buffered, bytes, offset, 1).map_err(|errno| self.failed(errno, "write", offset))?;
                self.sync()
            }
        }
    }

    fn write_vectored_at(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        match &self.direct {
            Some(direct) if direct.accepts_range(offset, total) => {
                let every_part_fits = parts
                    .iter()
                    .all(|part| direct.accepts_range(0, part.len()) && direct.accepts_memory(part));
                if every_part_fits {
                    write_all_parts(&direct.plain, parts, offset)
                } else {
                    let mut gathered = AlignedBuffer::with_len(total);
                    let mut at = 0;
                    for part in parts {
                        gathered[at..at + part.len()].copy_from_slice(part);
                        at += part.len();
                    }
                    self.write_direct(&direct.plain, direct, offset, &gathered)
                }
            }
            _ => write_all_parts(&self.buffered, parts, offset),
        }
        .map_err(|errno| self.failed(errno, "write", offset))
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.check_durability_is_known()?;
        if !self.is_put_off() {
            uninterrupted(|| rustix::fs::fdatasync(&self.buffered)).map_err(|errno| {
                self.note_sync_failure(errno);
                DiskError::from_errno(errno, "sync", &self.path)
            })?;
        }
        self.check_has_name("sync")
    }

    fn grow_reserved(&self, new_len: u64) -> Result<(), DiskError> {
        let old_len = self.len()?;
        if new_len <= old_len {
            return Ok(());
        }
        let reserve = || rustix::fs::fallocate(&self.buffered, FallocateFlags::empty(), old_len, new_len - old_len);
        let grown = match uninterrupted(reserve) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.write_zeros(old_len, new_len),
            result => result,
        };
        grown.map_err(|errno| {
            // A failed reservation may have grown the file part of the way; the caller is promised the old length.
            // Should cutting fail as well, the first error is the one that tells what went wrong.
            let _ = uninterrupted(|| rustix::fs::ftruncate(&self.buffered, old_len));
            self.failed(errno, "grow", old_len)
        })
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        uninterrupted(|| rustix::fs::ftruncate(&self.buffered, len))
            .map_err(|errno| self.failed(errno, "set the length of", len))
    }

    fn sector_bytes(&self) -> u32 {
        // A multiple of every alignment accepted at open, and the physical block of today's devices.
        BUFFER_ALIGNMENT_BYTES as u32
    }
}
