//! Starting an instance: folder, error log, system databases, then user databases.

use super::create::paths_of;
use super::errorlog_files::ErrorLogFiles;
use super::lost::FolderPlace;
use super::operation::{Operation, Work};
use super::registry::{DatabaseSlot, DatabaseState, Registry};
use super::{Configuration, Instance, InstanceOptions, MASTER, MODEL, MSDB, TEMPDB, worker};
use crate::buffer::BufferPool;
use crate::catalog::{DatabaseEntry, FileEntry, GrowthEntry, ObjectDefinition};
use crate::database::{CreateFile, Database, DatabaseFiles, OpenContext, Opened};
use crate::error::{Error, Result};
use crate::lock::LockManager;
use crate::log::Opening;
use crate::recovery::RecoveryModel;
use crate::seams::Environment;
use crate::versions::VersionStore;
use crate::workspace::Workspace;
use disk::{Access, DeferredSyncs, Disk, DiskErrorKind};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const MB: u64 = 1 << 20;
/// The file that is there while the system databases are made for the first time.
const FIRST_START: &str = ".first-start";
/// The folder of spill files, beside tempdb's own.
pub(super) const SPILL_FOLDER: &str = "spill";

/// A system database: its id, name, logical file names and file names.
struct SystemDatabase {
    id: u16,
    name: &'static str,
    data: (&'static str, &'static str),
    log: (&'static str, &'static str),
    log_bytes: u64,
    model: RecoveryModel,
}

const SYSTEM_DATABASES: [SystemDatabase; 4] = [
    SystemDatabase {
        id: MASTER,
        name: "master",
        data: ("master", "master.mdf"),
        log: ("mastlog", "mastlog.ldf"),
        log_bytes: 2 * MB,
        model: RecoveryModel::Simple,
    },
    SystemDatabase {
        id: TEMPDB,
        name: "tempdb",
        data: ("tempdev", "tempdb.mdf"),
        log: ("templog", "templog.ldf"),
        log_bytes: 8 * MB,
        model: RecoveryModel::Simple,
    },
    SystemDatabase {
        id: MODEL,
        name: "model",
        data: ("modeldev", "model.mdf"),
        log: ("modellog", "modellog.ldf"),
        log_bytes: MB,
        model: RecoveryModel::Full,
    },
    SystemDatabase {
        id: MSDB,
        name: "msdb",
        data: ("MSDBData", "MSDBData.mdf"),
        log: ("MSDBLog", "MSDBLog.ldf"),
        log_bytes: MB,
        model: RecoveryModel::Simple,
    },
];

/// Makes durable what was put off, if anything was.
fn finish_syncs(deferred: Option<Box<dyn DeferredSyncs>>) -> Result<()> {
    let finished = deferred.map_or(Ok(()), |deferred| deferred.finish());
    finished.map_err(|error| {
        let text = format!("syncing '{}'", error.path.display());
        Error::operating_system(&text, &Error::cause(&error))
    })
}

impl SystemDatabase {
    fn entry(&self, instance: &Instance) -> DatabaseEntry {
        let folder = instance.folder().join(super::paths::DEFAULT_FOLDER);
        let file = |file_id, log, (name, file): (&str, &str)| FileEntry {
            file_id,
            log,
            name: name.to_string(),
            physical_name: folder.join(file).display().to_string(),
            max_bytes: None,
            growth: GrowthEntry::Bytes(16 * MB),
            filegroup: crate::buffer::PRIMARY_FILEGROUP,
        };
        let mut guid = *b"vlflab system db";
        guid[15] = self.id as u8;
        DatabaseEntry {
            object_id: u32::from(self.id),
            guid,
            database_id: self.id,
            name: self.name.to_string(),
            files: vec![file(1, false, self.data), file(2, true, self.log)],
            filegroups: Vec::new(),
            creating: false,
            being_replaced: false,
            offline: false,
            standby: None,
            emergency: false,
            foreign: None,
            snapshot_of: None,
            copy_of: None,
            reverting: None,
            created: (instance.started.days, instance.started.ticks),
        }
    }
}

impl Instance {
    /// Starts an instance in its folder, which is made when it does not exist.
    ///
    /// # Errors
    /// 5120 when the folder is in use or not writable; whatever keeps master from being opened.
    pub fn start(options: InstanceOptions, env: Environment) -> Result<Arc<Instance>> {
        let instance = Instance::open(options, env)?;
        instance.begin_background()?;
        Ok(instance)
    }

    /// As [`Instance::start`], without anything in the background: databases that are open before their recovery is over stay
    /// so until [`Instance::finish_recoveries`].
    pub fn open(options: InstanceOptions, env: Environment) -> Result<Arc<Instance>> {
        let folder_lock = take_folder(env.disk.as_ref(), &options.folder)?;
        require_free_master(env.disk.as_ref(), &options.folder)?;
        let place = FolderPlace::of(env.disk.as_ref(), &options.folder);
        let errorlog_files = ErrorLogFiles::begin(&env, &options)?;
        env.errorlog.write("Server", banner(&options));
        let pool = Arc::new(BufferPool::new(env.clone(), options.max_server_memory_bytes));
        let spill = options.folder.join(super::paths::DEFAULT_FOLDER).join(SPILL_FOLDER);
        let workspace = Workspace::new(env.clone(), spill, pool.clone(), options.max_server_memory_bytes);
        let policy = options.policy;
        let versions = VersionStore::new(env.errorlog.clone(), options.max_server_memory_bytes);
        let versions = Arc::new(versions);
        let mut instance = Instance {
            started: env.clock.wall_ticks(),
            options,
            env,
            pool,
            workspace: Arc::new(workspace),
            locks: Arc::new(LockManager::new()),
            versions,
            configuration: Configuration::new(&[]),
            registry: Registry::default(),
            sessions: Mutex::new(BTreeMap::new()),
            stopping: AtomicBool::new(false),
            shut_down: AtomicBool::new(false),
            worker: Mutex::new(None),
            checkpoint_bell: Arc::default(),
            checkpoints_looked_micros: AtomicU64::new(0),
            finisher: Mutex::new(None),
            aside: Mutex::new(None),
            names_aside: Arc::default(),
            policy: RwLock::new(policy),
            fatal: Arc::default(),
            claims: super::paths::Claims::default(),
            left_behind: Mutex::default(),
            decisions: Arc::default(),
            snapshots: Arc::default(),
            above: Mutex::default(),
            errorlog_files,
            place,
            _folder_lock: folder_lock,
        };
        instance.open_system_databases()?;
        instance.make_msdb_tables();
        instance.remember()?;
        instance.configuration = Configuration::new(&instance.stored_settings()?);
        instance.apply_server_memory();
        instance.open_user_databases()?;
        instance.look_through_decisions();
        Ok(Arc::new(instance))
    }

    /// Called between two statements. In the time of a modelled disk no thread looks regularly whether a checkpoint is due, so
    /// this does, as often as that thread would.
    pub fn look_for_checkpoints(&self) {
        let clock = &*self.env.clock;
        if clock.device_micros().is_none() {
            return;
        }
        let now = clock.now_micros();
        let before = self.checkpoints_looked_micros.load(Ordering::Relaxed);
        if now.saturating_sub(before) >= worker::LOOK_EVERY.as_micros() as u64 {
            self.checkpoints_looked_micros.store(now, Ordering::Relaxed);
            worker::run_due_checkpoints(self);
        }
    }

    /// Checkpoints every database where one is due: for instances without background threads.
    pub fn run_due_checkpoints(&self) {
        worker::run_due_checkpoints(self);
    }

    pub(super) fn opening(&self) -> OpenContext {
        OpenContext {
            env: self.env.clone(),
            pool: self.pool.clone(),
            locks: self.locks.clone(),
            versions: self.versions.clone(),
            log_failed: self.log_failure(),
            log_nearly_full: self.checkpoint_alarm(),
            version: self.options.version,
            policy: self.policy(),
            instant_file_initialization: self.options.instant_file_initialization,
            opening: Opening::AfterUndo,
            decisions: self.decisions.clone(),
            snapshots: self.snapshots.clone(),
        }
    }

    /// The compatibility level that is the version's own.
    pub fn default_compatibility_level(&self) -> u16 {
        u16::from(self.options.version.product_version().0) * 10
    }

    fn open_system_databases(&mut self) -> Result<()> {
        // What a first start makes is worth nothing before its end, and is synced there once; some hundred syncs would take most of its time.
        let deferred = match self.forget_first_start()? {
            true => self.env.disk.defer_syncs(),
            false => None,
        };
        for system in &SYSTEM_DATABASES {
            let entry = system.entry(self);
            let tempdb = match system.id {
                TEMPDB => self.env.disk.defer_syncs(),
                _ => None,
            };
            if system.id == TEMPDB {
                self.delete_files(&entry)?;
            }
            let exists = self.file_exists(&entry.files[0])?;
            let slot = self
                .registry
                .insert(DatabaseSlot::new(entry.clone(), DatabaseState::RecoveryPending));
            let database = if exists {
                self.open_one(&entry)?
            } else {
                self.create_system(system, &entry)?
            };
            if system.id == MASTER {
                self.decisions.load(&database);
            }
            slot.set_state(DatabaseState::Online(database));
            if system.id == MASTER {
                self.sweep_all()?;
            }
            finish_syncs(tempdb)?;
        }
        finish_syncs(deferred)?;
        self.end_first_start()
    }

    /// Where a file says that the system databases are being made for the first time: none of them is worth anything then.
    fn first_start_path(&self) -> PathBuf {
        self.folder().join(super::paths::DEFAULT_FOLDER).join(FIRST_START)
    }

    /// Begins the first start; one that was cut off is begun again, and what it made is deleted. False for a later start.
    fn forget_first_start(&self) -> Result<bool> {
        let marker = self.first_start_path();
        let disk = self.env.disk.as_ref();
        let failed =
            |error: disk::DiskError| Error::cannot_create_file(&marker.display().to_string(), &Error::cause(&error));
        let master = SYSTEM_DATABASES[0].entry(self);
        if disk.look(&marker).map_err(failed)?.is_some() {
            for system in &SYSTEM_DATABASES {
                self.delete_files(&system.entry(self))?;
            }
        } else if !self.file_exists(&master.files[0])? {
            disk.create(&marker, Access::Buffered).map_err(failed)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn end_first_start(&self) -> Result<()> {
        let marker = self.first_start_path();
        match self.env.disk.delete(&marker) {
            Err(error) if error.kind != DiskErrorKind::NotFound => {
                let text = format!("deleting the file '{}'", marker.display());
                Err(Error::operating_system(&text, &Error::cause(&error)))
            }
            _ => Ok(()),
        }
    }

    fn create_system(&self, system: &SystemDatabase, entry: &DatabaseEntry) -> Result<Arc<Database>> {
        let sizes = [4 * MB, system.log_bytes];
        let paths = paths_of(self, entry)?;
        let files: Vec<CreateFile> = paths
            .into_iter()
            .zip(sizes)
            .map(|(path, bytes)| CreateFile { path, bytes })
            .collect();
        self.make_folders(&files)?;
        let files = DatabaseFiles {
            entry: entry.clone(),
            files,
        };
        let level = self.default_compatibility_level();
        Ok(Arc::new(Database::create(
            &self.opening(),
            &files,
            20 + u32::from(system.id),
            system.model,
            level,
        )?))
    }

    fn file_exists(&self, file: &FileEntry) -> Result<bool> {
        let path = self.resolve(&file.physical_name)?;
        let len = self.env.disk.len(&path);
        let len = len.map_err(|error| Error::cannot_open_file(&file.physical_name, &Error::cause(&error)))?;
        Ok(len.is_some())
    }

    fn open_one(&self, entry: &DatabaseEntry) -> Result<Arc<Database>> {
        match self.open_files(entry)? {
            Opened::Online(database) => Ok(database),
            Opened::Restoring => Err(Error::restoring(&entry.name)),
        }
    }

    /// Opens a database's files and recovers it.
    pub(super) fn open_files(&self, entry: &DatabaseEntry) -> Result<Opened> {
        self.open_files_in(&self.opening(), entry)
    }

    fn open_files_in(&self, context: &OpenContext, entry: &DatabaseEntry) -> Result<Opened> {
        self.require_source(entry)?;
        let paths = paths_of(self, entry)?;
        let files = paths.into_iter().map(|path| CreateFile { path, bytes: 0 }).collect();
        Database::open(
            context,
            &DatabaseFiles {
                entry: entry.clone(),
                files,
            },
        )
    }

    fn stored_settings(&self) -> Result<Vec<(String, i64)>> {
        let objects = self.master()?.catalog.objects(0);
        let setting = |definition: &ObjectDefinition| match definition {
            ObjectDefinition::Setting { name, value, .. } => Some((name.clone(), *value)),
            _ => None,
        };
        Ok(objects
            .iter()
            .filter_map(|object| setting(&object.definition))
            .collect())
    }

    fn open_user_databases(&self) -> Result<()> {
        let objects = self.master()?.catalog.objects(0);
        let context = OpenContext {
            opening: self.policy().opening,
            ..self.opening()
        };
        self.open_snapshot_files()?;
        for object in objects {
            let ObjectDefinition::Database(entry) = &object.definition else {
                continue;
            };
            if entry.base().is_some() {
                continue;
            }
            if entry.creating {
                let text = format!(
                    "Creation of database '{}' was not finished; what was left of it is being removed.",
                    entry.name
                );
                self.env.errorlog.write("spid8s", text);
                if let Err(error) = self.forget_unfinished(entry) {
                    self.env.errorlog.write_error("spid8s", &error);
                }
                continue;
            }
            let slot = self
                .registry
                .insert(DatabaseSlot::new(entry.clone(), DatabaseState::Offline));
            if entry.reverting.is_some() {
                slot.set_state(DatabaseState::Restoring);
                let operation = Operation::begin(&slot, Work::Restore)?;
                if let Err(error) = self.go_on_reverting(&operation) {
                    self.env.errorlog.write_error("spid8s", &error);
                }
            } else if entry.being_replaced || entry.foreign.is_some() {
                slot.set_state(DatabaseState::Restoring);
            } else if !entry.offline {
                slot.set_state(self.state_after(entry, self.open_files_in(&context, entry)));
            }
        }
        self.open_snapshots_of(|_| true);
        Ok(())
    }

    /// Every database that could be opened has the Commits that were decided.
    fn look_through_decisions(&self) {
        let waiting: Vec<[u8; 16]> = self
            .registry
            .all()
            .iter()
            .filter(|slot| !matches!(slot.state(), DatabaseState::Online(_)))
            .map(|slot| slot.entry().guid)
            .collect();
        self.decisions.look_through(|guid| waiting.contains(guid));
    }

    /// Opens a database, recovered; what keeps it from opening goes into the error log and becomes its state.
    pub(super) fn open_user_database(&self, entry: &DatabaseEntry) -> DatabaseState {
        self.state_after(entry, self.open_files(entry))
    }

    pub(super) fn state_after(&self, entry: &DatabaseEntry, opened: Result<Opened>) -> DatabaseState {
        match opened {
            Ok(Opened::Online(database)) => DatabaseState::Online(database),
            Ok(Opened::Restoring) => DatabaseState::Restoring,
            Err(error) => {
                let source = format!("spid{}s", 8 + entry.database_id);
                self.pool.forget_database(crate::buffer::DatabaseId(entry.database_id));
                self.locks.admit(entry.database_id);
                self.env.errorlog.write_error(&source, &error);
                let is_pending = matches!(
                    error.number,
                    1101 | 1105 | 5105 | 5120 | 5123 | 5133 | 9001 | 9002 | 17053 | 17204 | 17207
                );
                let state = if is_pending {
                    DatabaseState::RecoveryPending
                } else {
                    DatabaseState::Suspect
                };
                if !is_pending {
                    let failed = Error::recovery_failed(&entry.name, entry.database_id);
                    self.env.errorlog.write_error(&source, &failed);
                }
                state
            }
        }
    }

    /// A new database's guid: no two are equal on one machine, and one history always makes the same ones.
    pub(super) fn new_guid(&self, name: &str) -> [u8; 16] {
        let now = self.env.clock.unix_micros();
        let low = u64::from(crc32c::crc32c(name.as_bytes())) << 32 | u64::from(crc32c::crc32c(&now.to_le_bytes()));
        let mut guid = [0u8; 16];
        guid[..8].copy_from_slice(&now.to_le_bytes());
        guid[8..].copy_from_slice(&low.to_le_bytes());
        guid
    }
}

/// The first line of an error log.
pub(super) fn banner(options: &InstanceOptions) -> String {
    let (major, minor) = options.version.product_version();
    format!(
        "vlflab {} speaking as Microsoft SQL Server {} - {major}.{minor}, in folder '{}'",
        env!("CARGO_PKG_VERSION"),
        options.version.name(),
        options.folder.display()
    )
}

fn take_folder(disk: &dyn Disk, folder: &Path) -> Result<Box<dyn Send + Sync>> {
    let text = folder.display().to_string();
    for folder in [folder.to_path_buf(), folder.join("data"), folder.join("log")] {
        let made = disk.create_directories(&folder);
        made.map_err(|error| Error::cannot_create_file(&folder.display().to_string(), &Error::cause(&error)))?;
    }
    let lock = disk.lock_exclusive(&folder.join(".lock"));
    lock.map_err(|error| match error.kind {
        DiskErrorKind::InUse => {
            let cause = "32(The folder is in use by another running instance. Stop it, or choose another folder.)";
            Error::cannot_open_file(&text, cause)
        }
        _ => Error::cannot_open_file(&text, &Error::cause(&error)),
    })
}

/// Another server may have these files open although the folder's own lock was to be had: the lock's file may have been deleted, or
/// master reached by another path. Asked before anything in the folder is changed, the error log included.
///
/// # Errors
/// 17113 when master's file is in use, or cannot be opened.
fn require_free_master(disk: &dyn Disk, folder: &Path) -> Result<()> {
    let path = folder
        .join(super::paths::DEFAULT_FOLDER)
        .join(SYSTEM_DATABASES[0].data.1);
    match disk.open(&path, Access::Buffered).and_then(|file| file.lock()) {
        Err(error) if error.kind != DiskErrorKind::NotFound => Err(Error::master_not_usable(
            &path.display().to_string(),
            &Error::cause(&error),
        )),
        _ => Ok(()),
    }
}
