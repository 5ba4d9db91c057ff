//! Log files as a whole: created, opened, listed, added, removed.

use super::LogManager;
use super::grow::initialize_vlfs;
use super::hold::Held;
use super::policy::{Initialization, LogPolicy, VlfHeaders};
use super::table::{FileGrowth, LogFile, unused_vlfs};
use crate::error::{Error, NotStored, Result};
use crate::seams::Environment;
use disk::{Access, AlignedBuffer, Disk, DiskError, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vlf::file_header::COPY_BYTES;
use vlf::growth::FILE_BYTES_MIN;
use vlf::{FIRST_VLF_OFFSET, FileHeader, LayoutSteps, LogLayout, Lsn, PAGE_BYTES, RuleError, ServerVersion, VlfHeader};

/// A log file as a database's catalog describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFileSpec {
    /// Its number in the database; 2 for the first log file.
    pub file_id: u16,
    /// The guid of its database, as page 0 has it.
    pub database_guid: [u8; 16],
    pub path: PathBuf,
    /// `NAME = ` of `CREATE DATABASE`.
    pub logical_name: String,
    /// Size at creation in bytes; rounded up to whole pages. Opening does not look at it.
    pub bytes: u64,
    /// `MAXSIZE` in bytes; `u64::MAX` = as far as the disk goes, 2 TB at most.
    pub max_bytes: u64,
    /// `FILEGROWTH`.
    pub growth: FileGrowth,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFileInfo {
    /// Its number in the database.
    pub file_id: u16,
    pub path: PathBuf,
    pub logical_name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// `MAXSIZE` in bytes.
    pub max_bytes: u64,
    /// `FILEGROWTH`.
    pub growth: FileGrowth,
    pub vlf_count: usize,
}

/// A log file's header page and VLF headers: what a backup keeps of its layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFileImage {
    /// Page 0.
    pub page: FileHeader,
    /// Every VLF in the order of the file; one that was never entered need not have this header on disk.
    pub headers: Vec<VlfHeader>,
}

/// Creates a log file with every VLF unused.
pub(super) fn create_file(
    env: &Environment,
    database: &str,
    spec: &LogFileSpec,
    version: ServerVersion,
    policy: LogPolicy,
    create_lsn: Lsn,
) -> Result<LogFile> {
    let bytes = spec.bytes.next_multiple_of(PAGE_BYTES);
    let layout = LogLayout::create(version, bytes).map_err(|error| refused_size(&error))?;
    let path = spec.path.display().to_string();
    let fault = |error: DiskError| Error::cannot_create_file(&path, &Error::cause(&error));
    let mut page = FileHeader {
        file_id: spec.file_id,
        database_id: spec.database_guid,
        created_ticks: env.clock.unix_micros(),
        server_version: version,
        sector_bytes: 4096,
        generation: 1,
        file_bytes: 0,
        headers_when_entered: policy.vlf_headers == VlfHeaders::WhenEntered,
        runs: Vec::new(),
        growths: Vec::new(),
    };
    let handle = create_owned(&*env.disk, &spec.path, Access::Direct, &page).map_err(fault)?;
    if handle.sector_bytes() < 4096 {
        page.sector_bytes = 512;
    }
    let layout = LayoutSteps::of(&layout);
    page.set_layout(&layout);
    if create_lsn != Lsn::ZERO {
        page.remember_growth(FIRST_VLF_OFFSET, create_lsn);
    }
    let zeroed = policy.initialization == Initialization::Zeroed;
    let vlfs = unused_vlfs(layout.spans(), create_lsn, zeroed, policy.vlf_headers);
    let written = initialize_vlfs(env, database, &*handle, 0..bytes, &vlfs, (zeroed, policy.vlf_headers))
        .and_then(|()| write_page(&*handle, &page));
    if let Err(error) = written {
        // A file that could not be made is not left behind; if that fails as well, its name tells what it was.
        let _ = env.disk.delete(&spec.path);
        return Err(fault(error));
    }
    Ok(LogFile {
        path: spec.path.clone(),
        logical_name: spec.logical_name.clone(),
        handle,
        max_bytes: spec.max_bytes,
        growth: spec.growth,
        page,
        layout,
        vlfs,
    })
}

/// Creates a file that says from its first moment whose log it is: with page 0, but for the layout.
pub(crate) fn create_owned(
    disk: &dyn Disk,
    path: &Path,
    access: Access,
    page: &FileHeader,
) -> std::result::Result<Arc<dyn File>, DiskError> {
    let page = FileHeader {
        generation: 0,
        file_bytes: PAGE_BYTES,
        runs: Vec::new(),
        growths: Vec::new(),
        ..page.clone()
    };
    let mut first = page.encode_copy();
    first.resize(PAGE_BYTES as usize, 0);
    let created = disk.create_holding(path, access, &first, &page.database_id)?;
    // While it is open, another server that is started on it is refused.
    created.lock().map(|()| created)
}

/// Creates a log file that a restore will fill: it says whose it is, and has no VLF yet.
///
/// # Errors
/// 5123 when the file cannot be made.
pub fn create_restored(env: &Environment, file_id: u16, database_guid: [u8; 16], path: &Path) -> Result<()> {
    let page = FileHeader {
        file_id,
        database_id: database_guid,
        created_ticks: env.clock.unix_micros(),
        server_version: ServerVersion::V2022,
        sector_bytes: 4096,
        generation: 0,
        file_bytes: PAGE_BYTES,
        headers_when_entered: false,
        runs: Vec::new(),
        growths: Vec::new(),
    };
    let created = create_owned(&*env.disk, path, Access::Buffered, &page);
    created
        .map(|_| ())
        .map_err(|error| Error::cannot_create_file(&path.display().to_string(), &Error::cause(&error)))
}

fn refused_size(error: &RuleError) -> Error {
    match error {
        RuleError::TooLarge { .. } => Error::log_file_too_large(),
        _ => Error::log_file_too_small(FILE_BYTES_MIN / 1024),
    }
}

/// Writes page 0: the first copy durably, then the second. A power cut leaves one of them sound, and the second is durable with
/// the next sync of the file, which every rewrite has before it.
pub(crate) fn write_page(file: &dyn File, page: &FileHeader) -> std::result::Result<(), DiskError> {
    let mut copy = AlignedBuffer::with_len(COPY_BYTES);
    copy.copy_from_slice(&page.encode_copy());
    file.write_durable_at(0, &copy)?;
    file.write_at(COPY_BYTES as u64, &copy)
}

impl LogManager {
    /// Every log file, by file id.
    pub fn files(&self) -> Vec<LogFileInfo> {
        let state = self.hold();
        let info = |(&file_id, file): (&u16, &LogFile)| LogFileInfo {
            file_id,
            path: file.path.clone(),
            logical_name: file.logical_name.clone(),
            bytes: file.bytes(),
            max_bytes: file.max_bytes,
            growth: file.growth,
            vlf_count: file.vlfs.len(),
        };
        state.table.files.iter().map(info).collect()
    }

    pub fn open_files(&self) -> Vec<Arc<dyn File>> {
        let state = self.hold();
        state.table.files.values().map(|file| file.handle.clone()).collect()
    }

    /// The layout of every log file at this moment, by file id.
    pub fn images(&self) -> Vec<LogFileImage> {
        let state = self.hold();
        let image = |file: &LogFile| LogFileImage {
            page: file.page.clone(),
            headers: file.vlfs.iter().map(|vlf| vlf.header).collect(),
        };
        state.table.files.values().map(image).collect()
    }

    /// Creates one more log file; the log moves into it after the last VLF of the files before it, once `store` has made durable
    /// that it is the database's. When that fails the file is left and belongs to no database.
    ///
    /// # Errors
    /// 5123 when the file cannot be created, 5150 and 5174 for its size; those of `store`.
    pub fn add_file(
        &self,
        spec: &LogFileSpec,
        store: &mut dyn FnMut() -> std::result::Result<(), NotStored>,
    ) -> std::result::Result<(), NotStored> {
        let mut state = self.hold();
        self.wait_until_resizable(&mut state)?;
        let (version, policy) = (state.version, state.policy);
        let create_lsn = state.tail.as_ref().map_or(Lsn::ZERO, |tail| tail.next_lsn());
        state.resizing = true;
        let created = Held::unlocked(&mut state, || {
            let created = create_file(&self.env, &self.database, spec, version, policy, create_lsn)?;
            store().map(|()| created)
        });
        state.resizing = false;
        self.room.notify_all();
        state.table.add_file(spec.file_id, created?);
        Ok(())
    }

    /// Takes an empty log file out of the log, and has `store` make durable that it is the database's no more. When that fails for
    /// certain the file is part of the log again.
    ///
    /// # Errors
    /// 5020 for the first log file, 5042 while the file holds log still needed or space a rollback may need; those of `store`.
    pub fn remove_file(
        &self,
        file_id: u16,
        store: &mut dyn FnMut() -> std::result::Result<(), NotStored>,
    ) -> std::result::Result<(), NotStored> {
        let mut state = self.hold();
        self.wait_until_resizable(&mut state)?;
        let file = state
            .table
            .files
            .get(&file_id)
            .ok_or_else(|| Error::no_such_log_file(file_id))?;
        if state.table.files.keys().next() == Some(&file_id) {
            return Err(Error::primary_file_stays().into());
        }
        let (count, name) = (file.vlfs.len(), file.logical_name.clone());
        let body_bytes = file.vlfs.iter().map(|vlf| vlf.header.body_bytes()).sum();
        if state.table.free_at_end(file_id) < count || !state.can_spare(count, body_bytes) {
            return Err(Error::file_is_not_empty(&name).into());
        }
        let file = state.table.remove_file(file_id);
        state.resizing = true;
        let stored = Held::unlocked(&mut state, store);
        state.resizing = false;
        self.room.notify_all();
        match (&stored, file) {
            (Err(failed), Some(file)) if !failed.is_unknown => state.table.add_file(file_id, file),
            _ => {}
        }
        stored
    }

    /// Changes a file's name in SQL, for messages.
    ///
    /// # Errors
    /// 5020 for an unknown file.
    pub fn rename_file(&self, file_id: u16, logical_name: &str) -> Result<()> {
        let mut state = self.hold();
        let file = state.table.files.get_mut(&file_id);
        let file = file.ok_or_else(|| Error::no_such_log_file(file_id))?;
        file.logical_name = logical_name.to_string();
        Ok(())
    }

    /// Changes `MAXSIZE` and `FILEGROWTH`; a byte growth is rounded up to 64 KB.
    ///
    /// # Errors
    /// 5020 for an unknown file.
    pub fn set_file_limits(&self, file_id: u16, max_bytes: u64, growth: FileGrowth) -> Result<()> {
        let mut state = self.hold();
        let file = state
            .table
            .files
            .get_mut(&file_id)
            .ok_or_else(|| Error::no_such_log_file(file_id))?;
        file.max_bytes = max_bytes;
        file.growth = match growth {
            FileGrowth::Bytes(0) => FileGrowth::None,
            FileGrowth::Bytes(bytes) => FileGrowth::Bytes(bytes.next_multiple_of(vlf::growth::ROUNDING_BYTES)),
            other => other,
        };
        Ok(())
    }
}
