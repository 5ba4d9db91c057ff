//! A database comes to be: created with empty files, or opened from the files of before, and recovered.
//!
//! Start-up, each step timed and told in SQL Server's words:
//! 1. data files and log file headers are opened, torn pages mended from the double-write file;
//! 2. every VLF is discovered;
//! 3. analysis, from the boot record's checkpoint to the end of the log; the log can be written from here on;
//! 4. redo; 5. the space maps are read; 6. undo; 7. the catalog is read;
//! 8. a checkpoint is written, and extents that nobody owns are freed.

use super::identity::Identities;
use super::truncation::BackupHolds;
use super::{AccessMode, Database, ReuseWait, object_root};
use crate::buffer::{
    AtomicLsn, BufferPool, DataFileSpecification, DataFiles, DatabaseId, DatabaseIdentity, DatabaseStorage, FileGrowth,
    FileOptions,
};
use crate::catalog::{CATALOG_UNIT, Catalog, DatabaseEntry, FileEntry, GrowthEntry};
use crate::error::Result;
use crate::lock::{LockManager, LockOwner};
use crate::log::{self, LogFileSpec, LogManager, LogPolicy, TransactionChain, TransactionId};
use crate::page::ObjectId;
use crate::recovery::{self, Analysis, BootRecord, Purpose, RecoveryModel};
use crate::seams::{DateTimeTicks, Environment, WorkKind, WorkUnderWay};
use crate::store::{BootPage, Heap, ObjectRoot, SpaceMap};
use crate::txn::TransactionTable;
use parking_lot::{Mutex, RwLock};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use vlf::{Lsn, ServerVersion};

/// Seconds between two progress lines of one phase.
const PROGRESS_EVERY_MICROS: u64 = 20_000_000;

/// What databases of an instance share.
pub struct OpenContext {
    /// Files, time, background work.
    pub env: Environment,
    /// Pages in memory.
    pub pool: Arc<BufferPool>,
    /// Locks.
    pub locks: Arc<LockManager>,
    /// Layout rules.
    pub version: ServerVersion,
    /// How the log works.
    pub policy: LogPolicy,
    /// New data file space is reserved rather than zeroed.
    pub instant_file_initialization: bool,
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

/// What start-up did, in milliseconds where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// VLFs found.
    pub vlf_count: usize,
    /// Finding them.
    pub discovery_ms: u64,
    /// Analysis.
    pub analysis_ms: u64,
    /// Redo.
    pub redo_ms: u64,
    /// Undo.
    pub undo_ms: u64,
    /// All of it.
    pub total_ms: u64,
    /// Transactions rolled forward.
    pub rolled_forward: u64,
    /// Transactions rolled back.
    pub rolled_back: u64,
    /// Bytes of log that redo read.
    pub redo_log_bytes: u64,
}

/// What opening came to.
pub enum Opened {
    /// The database is usable.
    Online(Arc<Database>),
    /// A restore is unfinished; nothing was recovered.
    Restoring,
}

impl DatabaseFiles {
    pub(super) fn data_specifications(&self) -> Vec<DataFileSpecification> {
        let files = self.entry.files.iter().zip(&self.files).filter(|(entry, _)| !entry.log);
        files
            .map(|(entry, file)| DataFileSpecification {
                id: entry.file_id,
                path: file.path.clone(),
                logical_name: entry.name.clone(),
                bytes: file.bytes,
                bytes_max: entry.max_bytes,
                growth: data_growth(entry),
            })
            .collect()
    }

    fn log_specifications(&self) -> Vec<LogFileSpec> {
        let files = self.entry.files.iter().zip(&self.files).filter(|(entry, _)| entry.log);
        files
            .map(|(entry, file)| LogFileSpec {
                file_id: entry.file_id,
                path: file.path.clone(),
                logical_name: entry.name.clone(),
                bytes: file.bytes,
                max_bytes: entry.max_bytes.unwrap_or(u64::MAX),
                growth: log_growth(entry),
            })
            .collect()
    }

    fn identity(&self) -> DatabaseIdentity {
        DatabaseIdentity {
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

/// FILEGROWTH as the log takes it.
pub fn log_growth(entry: &FileEntry) -> log::FileGrowth {
    match entry.growth {
        GrowthEntry::Fixed => log::FileGrowth::Bytes(0),
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
    /// Errors: 5123, 5170 and others of file creation. Files made before the error are deleted by the caller.
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
        let mut chain = transactions.begin(&storage, 0, "CREATE DATABASE")?;
        let mut store = crate::store::StoreContext {
            storage: &storage,
            space: &space,
            chain: &mut chain,
            locks: &locks,
        };
        let root = Heap::create(&mut store, ObjectId(CATALOG_UNIT))?;
        transactions.commit(&storage, &mut chain)?;
        let boot = BootRecord {
            guid: files.entry.guid,
            created: context.env.clock.wall_ticks(),
            recovery_model: model,
            clean: false,
            restoring: false,
            compatibility_level,
            checkpoint: Lsn::ZERO,
            redo_start: Lsn::ZERO,
            log_backup_start: Lsn::ZERO,
            full_backup: Lsn::ZERO,
            full_backup_time: DateTimeTicks::default(),
            log_backup_time: DateTimeTicks::default(),
            catalog_root: root.first_iam,
            catalog_object: CATALOG_UNIT,
            next_transaction: 1,
            restored_to: Lsn::ZERO,
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

    /// Opens and recovers. See the module's steps.
    ///
    /// Errors: 5120, 5173, 824, 9003, 9004 and others by what the files hold.
    pub fn open(context: &OpenContext, files: &DatabaseFiles) -> Result<Opened> {
        let data = OpenedData::open(context, files)?;
        if data.boot.restoring {
            return Ok(Opened::Restoring);
        }
        let mut recovering = Recovering::begin(context, files, data)?;
        let analysis = recovering.analyse()?;
        recovering.redo(&analysis, Lsn::MAX)?;
        Ok(Opened::Online(Arc::new(recovering.finish(&analysis)?)))
    }

    /// The internal lock owner: for work that no session asked for.
    pub fn internal_locks(&self) -> &LockOwner {
        &self.internal_locks
    }
}

impl OpenContext {
    fn internal_locks(&self) -> LockOwner {
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
    let data = Arc::new(data);
    context.pool.attach(id, data.clone(), log.clone());
    Arc::new(DatabaseStorage {
        id,
        name: files.entry.name.clone(),
        log,
        pool: context.pool.clone(),
        files: data,
        env: context.env.clone(),
        oldest_active: AtomicLsn::new(Lsn::ZERO),
        row_counts: Default::default(),
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
    fn assemble(self, context: &OpenContext, files: &DatabaseFiles) -> Result<Database> {
        let internal_locks = context.internal_locks();
        let root = ObjectRoot {
            object: ObjectId(self.boot.catalog_object),
            first_iam: self.boot.catalog_root,
        };
        let heap = Heap::open(&self.storage, &self.space, root, self.boot.catalog_object)?;
        let catalog = Catalog::load(&self.storage, heap, &internal_locks)?;
        Ok(Database {
            id: files.entry.database_id,
            storage: self.storage,
            space: self.space,
            catalog,
            transactions: self.transactions,
            recovery: self.report,
            entry: RwLock::new(files.entry.clone()),
            boot: Mutex::new(self.boot),
            boot_page: self.boot_page,
            checkpointing: Mutex::new(()),
            flushed_at_checkpoint: AtomicU64::new(0),
            flushed_at_any_checkpoint: AtomicU64::new(0),
            any_checkpoint_micros: AtomicU64::new(context.env.clock.now_micros()),
            checkpoint_failing: AtomicBool::new(false),
            identities: Identities::default(),
            internal_locks,
            holds: BackupHolds::default(),
            backing_up_log: Mutex::new(()),
            reuse_wait: AtomicU8::new(ReuseWait::Nothing as u8),
            access: RwLock::new(AccessMode::Multiple),
        })
    }
}

/// The data files of a database, open, and what its boot record says: what is known before the log is looked at.
pub struct OpenedData {
    pub(super) files: DataFiles,
    pub(super) boot_page: BootPage,
    pub(super) boot: BootRecord,
    started_micros: u64,
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
        let data = DataFiles::open(env, files.identity(), &files.data_specifications(), options)?;
        let torn = data.recover_torn()?;
        for page in &torn.pages_restored {
            env.errorlog.write(
                &source(files),
                format!("Page {page} of database '{name}' was torn and has been restored from its double-write copy."),
            );
        }
        let (boot_page, bytes) = BootPage::open(&data)?;
        let boot = BootRecord::decode(&bytes, name)?;
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
    /// Step 2, and what is left of step 1: opens the log files and discovers the VLFs.
    pub fn begin(context: &'c OpenContext, files: &'c DatabaseFiles, data: OpenedData) -> Result<Recovering<'c>> {
        let env = &context.env;
        let name = &files.entry.name;
        let (log, discovery) =
            LogManager::open(env, name, &files.log_specifications(), context.version, context.policy)?;
        let storage = attach(context, files, data.files, log);
        let report = RecoveryReport {
            vlf_count: discovery.vlf_count,
            discovery_ms: discovery.ms,
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

    /// Step 3.
    pub fn analyse(&mut self) -> Result<Analysis> {
        let started = self.now();
        let mut progress = self.progress(Phase::Analysis, self.boot.checkpoint);
        let analysis = recovery::analyse(&self.storage, self.boot.checkpoint, &mut |position| {
            progress.report(position)
        })?;
        // Undo needs free VLFs, and which ones are free is known from here on.
        self.storage.log.truncate(self.log_needed_from(&analysis));
        self.storage.log.resume(analysis.end)?;
        self.report.analysis_ms = (self.now() - started) / 1_000;
        self.warn_of_many_vlfs();
        Ok(analysis)
    }

    fn log_needed_from(&self, analysis: &Analysis) -> Lsn {
        let losers = analysis.losers.iter().map(|loser| loser.first);
        let backup = (self.boot.log_backup_start != Lsn::ZERO).then_some(self.boot.log_backup_start);
        losers
            .chain(backup)
            .fold(self.boot.redo_start.min(self.boot.checkpoint), Lsn::min)
    }

    /// Step 4, up to and including the record at `until`.
    pub fn redo(&mut self, analysis: &Analysis, until: Lsn) -> Result<()> {
        let started = self.now();
        let log_bytes = self.storage.log.used_since(self.boot.redo_start);
        let needs_redo = analysis.records > 0 && !self.boot.clean;
        let mut progress = self.progress(Phase::Redo, self.boot.redo_start);
        recovery::redo(&self.storage, self.boot.redo_start, until, &mut |position| {
            progress.report(position)
        })?;
        self.report.redo_ms = (self.now() - started) / 1_000;
        self.report.redo_log_bytes = log_bytes;
        self.report.rolled_forward = analysis.committed;
        if needs_redo {
            let text = format!(
                "{} transactions rolled forward in database '{}' ({}:0). This is an informational message only. No user action is required.",
                analysis.committed, self.storage.name, self.storage.id
            );
            self.say(text);
        }
        Ok(())
    }

    /// Steps 5 to 8.
    pub fn finish(mut self, analysis: &Analysis) -> Result<Database> {
        let space = SpaceMap::open(&self.storage)?;
        let next = self.boot.next_transaction.max(analysis.transaction_max + 1);
        let transactions = TransactionTable::new(next);
        self.undo(analysis, &space, &transactions)?;
        let (context, files) = (self.context, self.files);
        let was_clean = self.boot.clean;
        let started_micros = self.started_micros;
        self.report.total_ms = (self.now() - started_micros) / 1_000;
        let report = self.report;
        let (storage, say_as) = (self.storage.clone(), source(files));
        let parts = Parts {
            storage: self.storage,
            space,
            transactions,
            boot: self.boot,
            boot_page: self.boot_page,
            report,
        };
        let mut database = parts.assemble(context, files)?;
        if !was_clean {
            let text = format!(
                "Recovery is writing a checkpoint in database '{}' ({}). This is an informational message only. No user action is required.",
                storage.name, storage.id
            );
            context.env.errorlog.write(&say_as, text);
        }
        // The checkpoint comes first: after a crash with a full log it is what makes room for everything else.
        database.checkpoint_locked(false, Purpose::EndOfRecovery)?;
        if !was_clean {
            database.free_orphans()?;
        }
        database.recovery.total_ms = (context.env.clock.now_micros() - started_micros) / 1_000;
        report_end(context, &say_as, &database, was_clean);
        Ok(database)
    }

    fn undo(&mut self, analysis: &Analysis, space: &SpaceMap, transactions: &TransactionTable) -> Result<()> {
        let started = self.now();
        let mut chains: Vec<TransactionChain> = analysis
            .losers
            .iter()
            .map(|loser| TransactionChain::recovered(TransactionId(loser.id), loser.first, loser.last))
            .collect();
        for chain in &mut chains {
            transactions.adopt(&self.storage, chain);
        }
        if !chains.is_empty() {
            let text = format!(
                "Recovery of database '{}' ({}) is 99% complete (approximately 0 seconds remain). Phase 3 of 3. This is an informational message only. No user action is required.",
                self.storage.name, self.storage.id
            );
            self.say(text);
        }
        for chain in &mut chains {
            transactions.roll_back(&self.storage, space, chain)?;
        }
        self.report.undo_ms = (self.now() - started) / 1_000;
        self.report.rolled_back = chains.len() as u64;
        if !chains.is_empty() {
            let text = format!(
                "{} transactions rolled back in database '{}' ({}:0). This is an informational message only. No user action is required.",
                chains.len(),
                self.storage.name,
                self.storage.id
            );
            self.say(text);
        }
        Ok(())
    }

    fn progress(&self, phase: Phase, from: Lsn) -> Progress<'_> {
        let bytes_expected = self.storage.log.used_since(from).max(1);
        Progress {
            recovering: self,
            phase,
            bytes_expected,
            started: self.now(),
            last_said: None,
            work: self
                .context
                .env
                .begin_work(WorkKind::Recovery, &self.storage.name, bytes_expected),
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
}

impl Database {
    /// Frees extents that a crash left without an owner. With a full log they stay for the next start.
    fn free_orphans(&self) -> Result<()> {
        match self.space.reconcile(&self.storage, &self.owned_roots()) {
            Err(error) if !error.is_log_full() => Err(error),
            _ => Ok(()),
        }
    }

    /// Every object's storage, the catalog's own included: what the space maps may call owned.
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

fn report_end(context: &OpenContext, source: &str, database: &Database, was_clean: bool) {
    let report = &database.recovery;
    if was_clean {
        return;
    }
    // Discovery is named apart: SQL Server is silent about it, which is the pause of the published experiment.
    let text = format!(
        "Recovery completed for database {} (database ID {}) in {} second(s) (discovery {} ms of {} VLFs, analysis {} ms, redo {} ms, undo {} ms.) This is an informational message only. No user action is required.",
        database.storage.name,
        database.id,
        report.total_ms.div_ceil(1_000),
        report.discovery_ms,
        report.vlf_count,
        report.analysis_ms,
        report.redo_ms,
        report.undo_ms
    );
    context.env.errorlog.write(source, text);
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
