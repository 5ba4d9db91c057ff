//! Creating a database with empty files, and opening one from existing files, with recovery.
//!
//! Startup, each step timed and logged in SQL Server's words:
//! 1. data files and log file headers are opened, torn pages are repaired from the double-write file;
//! 2. every VLF is discovered;
//! 3. analysis, from the boot record's checkpoint to the end of the log; the log can be written from here on;
//! 4. redo, in one pass with analysis if the log is read in large pieces;
//! 5. the space maps are read;
//! 6. undo;
//! 7. the catalog is read;
//! 8. a checkpoint is written, and extents without an owner are freed.
//!
//! If the policy opens databases after redo, step 6 undoes only changes of the catalog. The rest of undo follows after the opening, in the
//! background with the checkpoint: see [`super::unfinished`].
//!
//! Three mechanisms of the native policy shorten startup. Classic has none of them; with `recovery interval` configured the
//! first is off.
//!
//! | mechanism | what it does |
//! |---|---|
//! | indirect checkpoints | by log volume, by time, and when a log backup waits for one (`instance/worker.rs`). Analysis starts at the last one, redo at the one before |
//! | one pass | redo does not need the results of analysis, so both read the log together, once, with read-ahead threads |
//! | opening after redo | users can connect before undo. A checkpoint lists each open transaction's locks for writing; its own records since then give the rest (`recovery/losers.rs`). A transaction to be undone takes these locks again and is undone in the background. One that changed definitions is undone before the opening |

use super::decisions::Decisions;
use super::identity::Identities;
use super::ids::Ids;
use super::sequence::Sequences;
use super::truncation::HeldPositions;
use super::unfinished::{Undoing, Unfinished};
use super::{AccessMode, Database, ReuseWait, object_root};
use crate::buffer::{
    AtomicLsn, BeforeImages, BufferPool, DamagedPages, DataFileSpecification, DataFiles, DatabaseId, DatabaseIdentity,
    DatabaseStorage, FileGrowth, FileOptions, Filegroup, OpenSnapshots,
};
use crate::cancel;
use crate::catalog::{CATALOG_UNIT, Catalog, DatabaseEntry, DecidedPart, FileEntry, GrowthEntry};
use crate::error::{Error, Result};
use crate::lock::{LockManager, LockOwner};
use crate::log::Undoing as UndoingOf;
use crate::log::{self, LogFileSpec, LogManager, LogPolicy, Opening, ScanMode, TransactionChain, TransactionId};
use crate::marked::Marked;
use crate::page::ObjectId;
use crate::recovery::{self, Analysis, BootRecord, Loser, Purpose, RecoveryModel};
use crate::seams::{Environment, LogEventKind, RecoveryPhase, WorkKind, WorkUnderWay};
use crate::store::{BootPage, Heap, ObjectRoot, SpaceMap, Versioning};
use crate::txn::TransactionTable;
use crate::versions::{DatabaseVersions, VersionStore};
use parking_lot::{Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
use vlf::{Lsn, ServerVersion};

/// Seconds between two progress lines of one phase.
const PROGRESS_EVERY_MICROS: u64 = 20_000_000;

/// What databases of an instance share.
pub struct OpenContext {
    /// Called with the database's id when its log fails; must neither wait nor use the log.
    pub log_failed: Arc<dyn Fn(u16) + Send + Sync>,
    /// Called when a database's log is nearly full; must not wait.
    pub log_nearly_full: Arc<dyn Fn() + Send + Sync>,
    /// Files, time, background work.
    pub env: Environment,
    /// Pages in memory.
    pub pool: Arc<BufferPool>,
    pub locks: Arc<LockManager>,
    /// Versions of rows.
    pub versions: Arc<VersionStore>,
    /// Layout rules.
    pub version: ServerVersion,
    /// How the log works.
    pub policy: LogPolicy,
    /// New data file space is reserved rather than zeroed.
    pub instant_file_initialization: bool,
    /// When a database that has to be recovered is opened. After redo, the caller sees to [`Database::finish_recovery`].
    pub opening: Opening,
    /// Which transactions have committed in several databases.
    pub decisions: Arc<Decisions>,
    /// Whose pages are kept before they are overwritten.
    pub snapshots: Arc<OpenSnapshots>,
}

/// A file to be created or opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateFile {
    /// Where it is on this machine.
    pub path: PathBuf,
    /// Its size at creation in bytes; not looked at when opening.
    pub bytes: u64,
}

/// A database's entry with the place of each of its files.
pub struct DatabaseFiles {
    /// Its entry in master.
    pub entry: DatabaseEntry,
    /// One for each of the entry's files, in the same order.
    pub files: Vec<CreateFile>,
}

/// What startup did, in milliseconds where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// VLFs found.
    pub vlf_count: usize,
    /// Finding them.
    pub discovery_ms: u64,
    /// Analysis; 0 when it was one pass with redo.
    pub analysis_ms: u64,
    /// Redo, or analysis and redo in one pass.
    pub redo_ms: u64,
    /// From the beginning until users could get in.
    pub open_ms: u64,
    pub undo_ms: u64,
    pub total_ms: u64,
    /// Transactions rolled forward.
    pub rolled_forward: u64,
    /// Transactions rolled back.
    pub rolled_back: u64,
    /// Bytes of log that redo read.
    pub redo_log_bytes: u64,
    /// What of it a modelled device took; `None` where devices are what they are.
    pub device: Option<DeviceTimes>,
}

/// The part of a recovery's times that a modelled device took, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceTimes {
    /// Finding the VLFs.
    pub discovery_us: u64,
    /// Analysis; 0 when it was one pass with redo.
    pub analysis_us: u64,
    /// Redo, or analysis and redo in one pass.
    pub redo_us: u64,
    pub undo_us: u64,
}

/// What opening came to.
pub enum Opened {
    /// The database is usable.
    Online(Arc<Database>),
    /// A restore is unfinished; nothing was recovered.
    Restoring,
}

impl DatabaseFiles {
    pub(crate) fn data_specifications(&self) -> Vec<DataFileSpecification> {
        let files = self.entry.files.iter().zip(&self.files).filter(|(entry, _)| !entry.log);
        files
            .map(|(entry, file)| DataFileSpecification {
                id: entry.file_id,
                path: file.path.clone(),
                logical_name: entry.name.clone(),
                bytes: file.bytes,
                bytes_max: entry.max_bytes,
                growth: data_growth(entry),
                filegroup: entry.filegroup,
            })
            .collect()
    }

    /// The same without the files behind the first ones.
    pub(super) fn without_files_from(&self, first: usize) -> DatabaseFiles {
        let mut entry = self.entry.clone();
        entry.files.truncate(first);
        DatabaseFiles {
            entry,
            files: self.files.iter().take(first).cloned().collect(),
        }
    }

    pub(super) fn log_specifications(&self) -> Vec<LogFileSpec> {
        let files = self.entry.files.iter().zip(&self.files).filter(|(entry, _)| entry.log);
        files
            .map(|(entry, file)| LogFileSpec {
                file_id: entry.file_id,
                database_guid: self.entry.guid,
                path: file.path.clone(),
                logical_name: entry.name.clone(),
                bytes: file.bytes,
                max_bytes: entry.max_bytes.unwrap_or(u64::MAX),
                growth: log_growth(entry),
            })
            .collect()
    }

    /// What its files are tied to.
    pub(crate) fn identity(&self) -> DatabaseIdentity {
        DatabaseIdentity {
            id: self.entry.database_id,
            name: self.entry.name.clone(),
            guid: self.entry.guid,
        }
    }
}

/// FILEGROWTH as the buffer room takes it.
pub fn data_growth(entry: &FileEntry) -> FileGrowth {
    match entry.growth {
        GrowthEntry::Fixed => FileGrowth::Bytes(0),
        GrowthEntry::Bytes(bytes) => FileGrowth::Bytes(bytes),
        GrowthEntry::Percent(percent) => FileGrowth::Percent(percent),
    }
}

/// The filegroups of a database as its files need them.
pub(super) fn filegroups_of(entry: &DatabaseEntry) -> Vec<Filegroup> {
    let filegroups = entry.filegroups.iter();
    filegroups
        .map(|one| Filegroup {
            id: one.id,
            name: one.name.clone(),
            is_read_only: one.is_read_only,
            grows_all_files: one.grows_all_files,
        })
        .collect()
}

/// FILEGROWTH as the log takes it.
pub fn log_growth(entry: &FileEntry) -> log::FileGrowth {
    match entry.growth {
        GrowthEntry::Fixed => log::FileGrowth::None,
        GrowthEntry::Bytes(bytes) => log::FileGrowth::Bytes(bytes),
        GrowthEntry::Percent(percent) => log::FileGrowth::Percent(percent),
    }
}

fn file_options(context: &OpenContext, entry: &DatabaseEntry) -> FileOptions {
    FileOptions {
        instant_initialization: context.instant_file_initialization,
        double_write: entry.database_id != crate::catalog::TEMPDB,
    }
}

impl Database {
    /// Creates the files and everything a database has from its first moment. `boot` says what it begins as.
    ///
    /// # Errors
    /// 5123, 5170 and others of file creation. Files made before the error are deleted by the caller.
    pub fn create(
        context: &OpenContext,
        files: &DatabaseFiles,
        first_sequence: u32,
        model: RecoveryModel,
        compatibility_level: u16,
    ) -> Result<Database> {
        let data = DataFiles::create(
            &context.env,
            files.identity(),
            &files.data_specifications(),
            file_options(context, &files.entry),
        )?;
        let log = LogManager::create(
            &context.env,
            &files.entry.name,
            &files.log_specifications(),
            context.version,
            context.policy,
            first_sequence,
        )?;
        let storage = attach(context, files, data, log);
        let space = SpaceMap::open(&storage)?;
        let transactions = TransactionTable::new(1);
        let locks = context.internal_locks();
        let mut chain = transactions.begin(&storage, 0, "CREATE DATABASE", None)?;
        let mut store = crate::store::StoreContext {
            storage: &storage,
            space: &space,
            chain: &mut chain,
            locks: &locks,
            versions: Versioning::default(),
        };
        let root = Heap::create(&mut store, ObjectId(CATALOG_UNIT))?;
        transactions.commit(&storage, &mut chain)?;
        let boot = BootRecord {
            recovery_model: model,
            compatibility_level,
            catalog_root: root.first_iam,
            catalog_object: CATALOG_UNIT,
            ..BootRecord::of_new_database(files.entry.guid, context.env.clock.wall_ticks())
        };
        let boot_page = BootPage::create(&storage.files, &boot.encode())?;
        let parts = Parts {
            storage,
            space,
            transactions,
            boot,
            boot_page,
            report: RecoveryReport::default(),
        };
        let database = parts.assemble(context, files)?;
        database.checkpoint()?;
        Ok(database)
    }

    /// Opens and recovers. See the module's steps. Requests to stop do not end it: a recovery cut off in the middle would be
    /// taken for a damaged database.
    ///
    /// # Errors
    /// 5120, 5173, 824, 9003, 9004 and others by what the files hold.
    pub fn open(context: &OpenContext, files: &DatabaseFiles) -> Result<Opened> {
        cancel::shield(|| Database::open_shielded(context, files))
    }

    fn open_shielded(context: &OpenContext, files: &DatabaseFiles) -> Result<Opened> {
        let data = OpenedData::open(context, files)?;
        if data.boot.restoring {
            return Ok(Opened::Restoring);
        }
        let mut recovering = Recovering::begin(context, files, data)?;
        let analysis = match context.policy.scan {
            ScanMode::LargeReads if !recovering.boot.clean => recovering.analyse_and_redo()?,
            _ => {
                let analysis = recovering.analyse()?;
                recovering.redo(&analysis, Lsn::MAX)?;
                analysis
            }
        };
        let database = recovering.finish(&analysis, context.opening)?;
        Ok(Opened::Online(Arc::new(database)))
    }

    /// The internal lock owner: for work that no session asked for.
    pub fn internal_locks(&self) -> &LockOwner {
        &self.internal_locks
    }
}

impl OpenContext {
    pub(super) fn internal_locks(&self) -> LockOwner {
        LockOwner::new(
            self.locks.clone(),
            self.env.clock.clone(),
            self.env.waits.clone(),
            0,
            Arc::default(),
        )
    }
}

fn attach(context: &OpenContext, files: &DatabaseFiles, data: DataFiles, log: Arc<LogManager>) -> Arc<DatabaseStorage> {
    let id = DatabaseId(files.entry.database_id);
    data.set_filegroups(filegroups_of(&files.entry));
    let data = Arc::new(data);
    context.pool.attach(id, data.clone(), log.clone());
    context.locks.admit(id.0);
    let (locks, failed) = (context.locks.clone(), context.log_failed.clone());
    let refusal = crate::error::Error::log_not_available(&files.entry.name);
    log.on_failure(move || {
        locks.refuse(id.0, refusal.clone());
        failed(id.0);
    });
    let nearly_full = context.log_nearly_full.clone();
    log.on_nearly_full(move || nearly_full());
    Arc::new(DatabaseStorage {
        id,
        name: files.entry.name.clone(),
        log,
        pool: context.pool.clone(),
        files: data,
        env: context.env.clone(),
        oldest_active: AtomicLsn::new(Lsn::ZERO),
        versions: DatabaseVersions::open(&context.versions, id.0),
        row_counts: Default::default(),
        marked: Default::default(),
        links_changes: Default::default(),
        may_log_locks: Default::default(),
        may_free_pages: Default::default(),
        may_free_large_extents: Default::default(),
    })
}

/// Everything a database is made of, before it is one.
struct Parts {
    storage: Arc<DatabaseStorage>,
    space: SpaceMap,
    transactions: TransactionTable,
    boot: BootRecord,
    boot_page: BootPage,
    report: RecoveryReport,
}

impl Parts {
    fn assemble(mut self, context: &OpenContext, files: &DatabaseFiles) -> Result<Database> {
        // A snapshot that the database was reverted to may be of a time without them.
        self.boot.further.has_data_spaces |= files.entry.has_filegroups();
        let internal_locks = context.internal_locks();
        let root = ObjectRoot {
            object: ObjectId(self.boot.catalog_object),
            first_iam: self.boot.catalog_root,
        };
        let heap = Heap::open(&self.storage, &self.space, root, self.boot.catalog_object)?;
        heap.use_reserve();
        let catalog = Catalog::load(&self.storage, heap, &internal_locks)?;
        super::versions::begin(&self.storage, &self.boot);
        // One that was made READ_WRITE has rows of its own.
        if self.boot.is_clone && self.boot.is_read_only {
            super::clone::believe(&self.storage, &catalog);
        }
        Ok(Database {
            id: files.entry.database_id,
            ids: Ids::after(self.boot.ids),
            storage: self.storage,
            space: self.space,
            catalog,
            transactions: self.transactions,
            recovery: Mutex::new(self.report),
            recovering: AtomicBool::new(false),
            has_guarded: AtomicBool::new(false),
            unfinished: Mutex::new(None),
            entry: RwLock::new(files.entry.clone()),
            collation: AtomicU8::new(self.boot.collation),
            is_parameterization_forced: AtomicBool::new(self.boot.is_parameterization_forced),
            has_recursive_triggers: AtomicBool::new(self.boot.has_recursive_triggers),
            is_recovery_accelerated: AtomicBool::new(self.boot.is_recovery_accelerated),
            read_only: AtomicBool::new(self.boot.is_read_only),
            boot: Mutex::new(self.boot),
            boot_page: self.boot_page,
            checkpointing: Mutex::new(()),
            room_tried_at: AtomicU32::new(0),
            flushed_at_checkpoint: AtomicU64::new(0),
            flushed_at_any_checkpoint: AtomicU64::new(0),
            any_checkpoint_micros: AtomicU64::new(context.env.clock.now_micros()),
            end_after_any_checkpoint: AtomicLsn::new(Lsn::ZERO),
            checkpoint_wanted: AtomicBool::new(false),
            checkpoint_failing: AtomicBool::new(false),
            cleaning_failing: AtomicBool::new(false),
            identities: Identities::default(),
            sequences: Sequences::default(),
            modifications: Default::default(),
            index_uses: Default::default(),
            internal_locks,
            left_locked: Mutex::default(),
            holds: HeldPositions::default(),
            scans: HeldPositions::default(),
            decisions: context.decisions.clone(),
            backing_up_log: Mutex::new(()),
            reuse_wait: AtomicU8::new(ReuseWait::Nothing as u8),
            growths_explained: AtomicU64::new(0),
            access: RwLock::new(AccessMode::Multiple),
            retired: AtomicBool::new(false),
            standby: AtomicBool::new(files.entry.standby.is_some()),
            emergency: AtomicBool::new(files.entry.emergency),
            snapshots_being_made: HeldPositions::default(),
            is_snapshot: files.entry.snapshot_of.is_some(),
        })
    }
}

/// The open data files of a database and its boot record: the state known before the log is read.
pub struct OpenedData {
    pub(super) files: DataFiles,
    pub(super) boot_page: BootPage,
    pub(super) boot: BootRecord,
    pub(super) started_micros: u64,
}

impl OpenedData {
    /// Step 1 without the log: opens the data files and mends torn pages.
    pub(super) fn open(context: &OpenContext, files: &DatabaseFiles) -> Result<OpenedData> {
        let env = &context.env;
        let started_micros = env.clock.now_micros();
        let name = &files.entry.name;
        env.errorlog
            .write(&source(files), format!("Starting up database '{name}'."));
        let options = file_options(context, &files.entry);
        let specifications = files.data_specifications();
        let data = match files.entry.copy_of {
            Some(_) => {
                let copy = context.files_of_copy(files)?;
                DataFiles::of_copy(env, files.identity(), &specifications, (&copy, false), options)?
            }
            None => DataFiles::open(env, files.identity(), &specifications, options)?,
        };
        for snapshot in context.snapshots.of((files.entry.database_id, files.entry.guid)) {
            data.add_snapshot(&snapshot, || ());
        }
        let torn = data.recover_torn()?;
        for page in &torn.pages_restored {
            env.errorlog.write(
                &source(files),
                format!("Page {page} of database '{name}' was torn and has been restored from its double-write copy."),
            );
        }
        let (boot_page, bytes) = BootPage::open(&data)?;
        let boot = BootRecord::decode(&bytes, name)?;
        if boot.change_base != [0; 16] {
            data.load_changes(boot.change_base, boot.change_generation);
        }
        if let Some(undo_file) = &files.entry.standby {
            let images = BeforeImages::open(env.disk.as_ref(), Path::new(undo_file), files.entry.guid);
            let id = files.entry.database_id;
            let images = images.map_err(|error| match error.number {
                5173 => Error::not_an_undo_file(name, id, undo_file),
                _ => Error::standby_file_inaccessible(name, id, undo_file, &error),
            })?;
            data.set_before_images(Some(Arc::new(images)));
        }
        Ok(OpenedData {
            files: data,
            boot_page,
            boot,
            started_micros,
        })
    }

    /// Creates the data files of a database that is restored.
    pub(super) fn create(context: &OpenContext, files: &DatabaseFiles, boot: &BootRecord) -> Result<OpenedData> {
        let options = file_options(context, &files.entry);
        let data = DataFiles::create(&context.env, files.identity(), &files.data_specifications(), options)?;
        let boot_page = BootPage::create(&data, &boot.encode())?;
        Ok(OpenedData {
            files: data,
            boot_page,
            boot: boot.clone(),
            started_micros: context.env.clock.now_micros(),
        })
    }
}

/// A database between its files and its recovery.
pub struct Recovering<'c> {
    context: &'c OpenContext,
    files: &'c DatabaseFiles,
    pub(super) storage: Arc<DatabaseStorage>,
    pub(super) boot_page: BootPage,
    /// What the boot record says.
    pub boot: BootRecord,
    report: RecoveryReport,
    started_micros: u64,
}

impl<'c> Recovering<'c> {
    /// Step 2 and the rest of step 1: opens the log files and discovers the VLFs.
    pub fn begin(context: &'c OpenContext, files: &'c DatabaseFiles, data: OpenedData) -> Result<Recovering<'c>> {
        let env = &context.env;
        let name = &files.entry.name;
        // A snapshot holds on to the data files: what is opened again must find them unlocked.
        let (log, discovery) =
            LogManager::open(env, name, &files.log_specifications(), context.version, context.policy)
                .inspect_err(|_| data.files.unlock())?;
        let storage = attach(context, files, data.files, log);
        storage.link_changes(&data.boot);
        let count = discovery.vlf_count as u64;
        tell_phase(
            &storage,
            RecoveryPhase::Discovery,
            (Lsn::ZERO, Lsn::ZERO),
            count,
            discovery.micros,
        );
        let report = RecoveryReport {
            vlf_count: discovery.vlf_count,
            discovery_ms: discovery.ms,
            device: discovery.device_micros.map(|discovery_us| DeviceTimes {
                discovery_us,
                ..DeviceTimes::default()
            }),
            ..RecoveryReport::default()
        };
        Ok(Recovering {
            context,
            files,
            storage,
            boot_page: data.boot_page,
            boot: data.boot,
            report,
            started_micros: data.started_micros,
        })
    }

    /// Of a database snapshot: its log begins with it, and has nothing in it.
    pub(super) fn with_new_log(
        context: &'c OpenContext,
        files: &'c DatabaseFiles,
        data: OpenedData,
        log: Arc<LogManager>,
    ) -> Recovering<'c> {
        Recovering {
            context,
            files,
            storage: attach(context, files, data.files, log),
            boot_page: data.boot_page,
            boot: data.boot,
            report: RecoveryReport::default(),
            started_micros: data.started_micros,
        }
    }

    /// Step 3.
    pub fn analyse(&mut self) -> Result<Analysis> {
        let (started, device) = (self.now(), self.device_now());
        self.storage.log.require(self.boot.checkpoint)?;
        let mut progress = self.progress(Phase::Analysis, self.boot.checkpoint);
        let analysis = recovery::analyse(&self.storage, self.boot.checkpoint, &mut |position| {
            progress.report(position)
        })?;
        self.resume_log(&analysis)?;
        let micros = self.now() - started;
        self.report.analysis_ms = micros / 1_000;
        let read = (self.boot.checkpoint, analysis.end.next);
        tell_phase(&self.storage, RecoveryPhase::Analysis, read, analysis.records, micros);
        self.note_device(device, |times, micros| times.analysis_us = micros);
        self.warn_of_many_vlfs();
        Ok(analysis)
    }

    /// Steps 3 and 4 in one.
    fn analyse_and_redo(&mut self) -> Result<Analysis> {
        let (analysis, damaged) = self.analyse_and_redo_noting_damage()?;
        damaged.into_result()?;
        self.report_redo(&analysis);
        Ok(analysis)
    }

    /// The same, but leaves it to the caller which damaged pages matter.
    pub(super) fn analyse_and_redo_noting_damage(&mut self) -> Result<(Analysis, DamagedPages)> {
        let (started, device) = (self.now(), self.device_now());
        let (redo_start, checkpoint) = (self.boot.redo_start, self.boot.checkpoint);
        self.storage.log.require(redo_start.min(checkpoint))?;
        let mut progress = self.progress(Phase::Redo, redo_start.min(checkpoint));
        let (analysis, _, damaged) =
            recovery::analyse_and_redo(&self.storage, redo_start, checkpoint, &mut |position| {
                progress.report(position);
            })?;
        self.resume_log(&analysis)?;
        let micros = self.now() - started;
        self.report.redo_ms = micros / 1_000;
        let read = (redo_start.min(checkpoint), analysis.end.next);
        tell_phase(&self.storage, RecoveryPhase::Redo, read, analysis.committed, micros);
        self.note_device(device, |times, micros| times.redo_us = micros);
        self.warn_of_many_vlfs();
        Ok((analysis, damaged))
    }

    fn resume_log(&self, analysis: &Analysis) -> Result<()> {
        let needed = self.log_needed_from(analysis);
        if !self.boot.restoring {
            // Where log backups go on may lie behind the end: a restore can have cut the log there.
            self.storage.log.require(needed.min(analysis.end.next))?;
        }
        // Undo needs free VLFs, and which ones are free is known from here on.
        self.storage.log.truncate(needed);
        self.storage.log.resume(analysis.end)
    }

    fn log_needed_from(&self, analysis: &Analysis) -> Lsn {
        let losers = analysis.losers.iter().map(|loser| loser.needed_from);
        let backup = (self.boot.log_backup_start != Lsn::ZERO).then_some(self.boot.log_backup_start);
        losers
            .chain(backup)
            .fold(self.boot.redo_start.min(self.boot.checkpoint), Lsn::min)
    }

    /// Step 4, up to and including the record at `until`.
    pub fn redo(&mut self, analysis: &Analysis, until: Lsn) -> Result<()> {
        let (started, device) = (self.now(), self.device_now());
        let mut progress = self.progress(Phase::Redo, self.boot.redo_start);
        recovery::redo(&self.storage, self.boot.redo_start, until, &mut |position| {
            progress.report(position)
        })?;
        let micros = self.now() - started;
        self.report.redo_ms = micros / 1_000;
        let read = (self.boot.redo_start, until);
        tell_phase(&self.storage, RecoveryPhase::Redo, read, analysis.committed, micros);
        self.note_device(device, |times, micros| times.redo_us = micros);
        self.report_redo(analysis);
        Ok(())
    }

    fn report_redo(&mut self, analysis: &Analysis) {
        self.report.redo_log_bytes = self.storage.log.used_since(self.boot.redo_start);
        self.report.rolled_forward = analysis.committed;
        if analysis.records > 0 && !self.boot.clean {
            let text = format!(
                "{} transactions rolled forward in database '{}' ({}:0). This is an informational message only. No user action is required.",
                analysis.committed, self.storage.name, self.storage.id
            );
            self.say(text);
        }
    }

    /// Steps 5 to 8. When the database is to be opened before undo is over, the caller of [`Database::open`] sees to the rest.
    pub fn finish(mut self, analysis: &Analysis, opening: Opening) -> Result<Database> {
        let space = SpaceMap::open(&self.storage)?;
        let next = self.boot.next_transaction.max(analysis.transaction_max + 1);
        let transactions = TransactionTable::new(next);
        let was_clean = self.boot.clean;
        let is_early = opening == Opening::AfterRedo && !was_clean;
        let mut analysis = analysis.clone();
        self.commit_decided(&mut analysis, &transactions)?;
        let analysis = &analysis;
        self.storage.link_changes(&self.boot);
        let losers = self.survey(analysis, is_early, &transactions)?;
        transactions.publish(&self.storage);
        self.boot.ids = self.boot.ids.max(analysis.ids);
        let (marked, losers) = self.mark(losers, is_early, &space, &transactions);
        let (guarded, unguarded): (Vec<Undoing>, Vec<Undoing>) =
            losers.into_iter().partition(|one| one.loser.guard.is_some());
        let rolled_back = unguarded.len() as u64;
        self.undo(unguarded, &space, &transactions)?;
        let (context, files, started_micros) = (self.context, self.files, self.started_micros);
        let parts = Parts {
            storage: self.storage,
            space,
            transactions,
            boot: self.boot,
            boot_page: self.boot_page,
            report: self.report,
        };
        let database = parts.assemble(context, files)?;
        let passed_ms = || (context.env.clock.now_micros() - started_micros) / 1_000;
        if was_clean {
            database.checkpoint_locked(false, Purpose::EndOfRecovery)?;
            database.recovery.lock().total_ms = passed_ms();
        } else {
            let unfinished = Unfinished::new(context, rolled_back, !is_early, started_micros, source(files));
            database.leave_unfinished(guarded, marked, unfinished)?;
            match is_early {
                // Before users get in: what they create must not be taken for lost.
                true => database.free_orphans()?,
                false => database.finish_recovery(&|| true).map(|_| ())?,
            }
        }
        database.upgrade()?;
        database.recovery.lock().open_ms = passed_ms();
        Ok(database)
    }

    /// Commits the transactions that have committed in several databases and were cut off before their Commit was written here.
    fn commit_decided(&mut self, analysis: &mut Analysis, transactions: &TransactionTable) -> Result<()> {
        // What a RESTORE finds without an end is of the fork that the recovery leaves.
        let path = &self.boot.path;
        let fork_of = |first: Lsn| match path.origin {
            Some(origin) if first < origin.point => origin.parent,
            _ => path.fork,
        };
        let decided = |entry: &recovery::ActiveEntry| DecidedPart {
            database_guid: self.boot.guid,
            fork: fork_of(entry.first).0,
            transaction: entry.id,
            first: entry.first.to_bytes(),
        };
        let decisions = &self.context.decisions;
        let mut committed = Vec::new();
        analysis
            .losers
            .retain(|entry| match decisions.committed_mark(&decided(entry)) {
                Some(mark) => {
                    let chain = TransactionChain::recovered(TransactionId(entry.id), entry.first, entry.last);
                    committed.push((chain, mark));
                    false
                }
                None => true,
            });
        for (mut chain, mark) in committed {
            transactions.commit_marked(&self.storage, &mut chain, &mark)?;
            self.report.rolled_forward += 1;
            let text = format!(
                "A transaction in several databases that had committed was rolled forward in database '{}' ({}:0). This is an informational message only. No user action is required.",
                self.storage.name, self.storage.id
            );
            self.say(text);
        }
        Ok(())
    }

    /// The transactions to be undone, entered among those under way. Guards are made only where they will be needed.
    fn survey(&self, analysis: &Analysis, is_early: bool, transactions: &TransactionTable) -> Result<Vec<Undoing>> {
        let catalog = ObjectId(self.boot.catalog_object);
        let mut losers = recovery::survey(&self.storage, analysis, self.boot.checkpoint, catalog, is_early)?;
        let undoing = losers.drain(..).map(|loser| {
            let locks = self.context.lock_owner();
            transactions.adopt(&self.storage, &loser.chain, &locks);
            Undoing { loser, locks }
        });
        Ok(undoing.collect())
    }

    /// Marks those that can be undone page by page, if the database is to be opened before that. Answers them, and the others.
    fn mark(
        &self,
        losers: Vec<Undoing>,
        is_early: bool,
        space: &SpaceMap,
        transactions: &TransactionTable,
    ) -> (Vec<Arc<Marked>>, Vec<Undoing>) {
        let (mut marked, mut others) = (Vec::new(), Vec::new());
        for mut one in losers {
            let Loser {
                chain, reserve_bytes, ..
            } = &mut one.loser;
            let is_marked = match chain.undoing {
                UndoingOf::InOrder => false,
                UndoingOf::ByPage | UndoingOf::PartlyByPage => is_early,
                UndoingOf::Marked => true,
            };
            if is_marked {
                self.storage.log.restore_reserve(chain, *reserve_bytes);
            }
            match is_marked && transactions.mark_recovered((&self.storage, space), chain) {
                true => marked.push(self.storage.marked.find(chain)),
                false => others.push(one),
            }
        }
        (marked, others)
    }

    fn undo(&mut self, unguarded: Vec<Undoing>, space: &SpaceMap, transactions: &TransactionTable) -> Result<()> {
        let (started, device) = (self.now(), self.device_now());
        if !unguarded.is_empty() {
            self.say(undo_progress_text(&self.storage, 99, 0));
        }
        let count = unguarded.len() as u64;
        let mut read = (Lsn::ZERO, Lsn::MAX);
        for (index, Undoing { loser, .. }) in unguarded.into_iter().enumerate() {
            let Loser { mut chain, .. } = loser;
            let last = chain.last;
            read = (read.0.max(last), read.1.min(chain.first));
            transactions.roll_back(&self.storage, space, &mut chain)?;
            tell_taken_back(&self.storage, &chain, last, index as u64);
        }
        let micros = self.now() - started;
        self.report.undo_ms = micros / 1_000;
        if count > 0 {
            tell_phase(&self.storage, RecoveryPhase::Undo, read, count, micros);
        }
        self.note_device(device, |times, micros| times.undo_us = micros);
        Ok(())
    }

    fn progress(&self, phase: Phase, from: Lsn) -> Progress<'_> {
        let bytes_expected = self.storage.log.used_since(from).max(1);
        let kind = match phase {
            Phase::Analysis => WorkKind::Analysis,
            Phase::Redo => WorkKind::Redo,
        };
        Progress {
            recovering: self,
            phase,
            bytes_expected,
            started: self.now(),
            last_said: None,
            work: self.context.env.begin_work(kind, &self.storage.name, bytes_expected),
        }
    }

    fn warn_of_many_vlfs(&self) {
        // Microsoft's documentation of error 9017: more than 1,000 in 2008 R2, more than 10,000 since 2012.
        let limit = if self.context.version <= ServerVersion::V2008R2 {
            1_000
        } else {
            10_000
        };
        if self.report.vlf_count > limit {
            let text = format!(
                "Database {} has more than {limit} virtual log files which is excessive. Too many virtual log files can cause long startup and backup times. Consider shrinking the log and using a different growth increment to reduce the number of virtual log files.",
                self.storage.name
            );
            self.say(text);
        }
    }

    fn say(&self, text: String) {
        self.context.env.errorlog.write(&source(self.files), text);
    }

    fn now(&self) -> u64 {
        self.context.env.clock.now_micros()
    }

    fn device_now(&self) -> Option<u64> {
        self.context.env.clock.device_micros()
    }

    /// Notes what a modelled device took since it said `started`.
    fn note_device(&mut self, started: Option<u64>, note: impl FnOnce(&mut DeviceTimes, u64)) {
        if let (Some(started), Some(now), Some(times)) = (started, self.device_now(), &mut self.report.device) {
            note(times, now - started);
        }
    }
}

impl Database {
    /// Every object's storage, the catalog's own included: what the space maps may call owned, but for the units of large values.
    pub fn owned_roots(&self) -> Vec<ObjectRoot> {
        let boot = self.boot();
        let catalog = ObjectRoot {
            object: ObjectId(boot.catalog_object),
            first_iam: boot.catalog_root,
        };
        let objects = self.catalog.storage_roots();
        std::iter::once(catalog)
            .chain(objects.iter().map(object_root))
            .collect()
    }
}

/// Tells that a phase is over, and which part of the log it read.
pub(super) fn tell_phase(
    storage: &DatabaseStorage,
    phase: RecoveryPhase,
    (from, to): (Lsn, Lsn),
    count: u64,
    micros: u64,
) {
    storage.log.tell(LogEventKind::Recovered {
        phase,
        from,
        to,
        count,
        micros,
    });
}

/// Transactions of one recovery that have an event each.
const TAKEN_BACK_TOLD_MAX: u64 = 100;

/// Tells that recovery has taken back a transaction, whose last record was `last`; `before` others were before it.
pub(super) fn tell_taken_back(storage: &DatabaseStorage, chain: &TransactionChain, last: Lsn, before: u64) {
    if before < TAKEN_BACK_TOLD_MAX {
        storage.log.tell(LogEventKind::TookBack {
            transaction: chain.id.0,
            last,
            first: chain.first,
        });
    }
}

/// The error log's line on the progress of undo.
pub(super) fn undo_progress_text(storage: &DatabaseStorage, percent: u64, seconds: u64) -> String {
    format!(
        "Recovery of database '{}' ({}) is {percent}% complete (approximately {seconds} seconds remain). Phase 3 of 3. This is an informational message only. No user action is required.",
        storage.name, storage.id
    )
}

/// SQL Server recovers each database in a system session of its own.
fn source(files: &DatabaseFiles) -> String {
    format!("spid{}s", 8 + files.entry.database_id)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Analysis,
    Redo,
}

/// Says how far a phase is: once it is known how fast it goes, then every twenty seconds.
struct Progress<'r> {
    recovering: &'r Recovering<'r>,
    phase: Phase,
    bytes_expected: u64,
    started: u64,
    last_said: Option<u64>,
    work: WorkUnderWay,
}

impl Progress<'_> {
    fn report(&mut self, position: Lsn) {
        let now = self.recovering.now();
        let left = self.recovering.storage.log.used_since(position);
        let bytes = self.bytes_expected.saturating_sub(left).max(1);
        self.work.set_done(bytes);
        if self.last_said.is_some_and(|last| now - last < PROGRESS_EVERY_MICROS) {
            return;
        }
        self.last_said = Some(now);
        let percent = (bytes * 100 / self.bytes_expected).min(99);
        let elapsed = now - self.started;
        let seconds = (u128::from(elapsed) * u128::from(left) / u128::from(bytes) / 1_000_000) as u64;
        let storage = &self.recovering.storage;
        let (what, phase) = match self.phase {
            Phase::Analysis => ("Analysis", "Phase 1 of 3. "),
            Phase::Redo => ("Recovery", "Phase 2 of 3. "),
        };
        let text = format!(
            "{what} of database '{}' ({}) is {percent}% complete (approximately {seconds} seconds remain). {phase}This is an informational message only. No user action is required.",
            storage.name, storage.id
        );
        self.recovering.say(text);
    }
}
