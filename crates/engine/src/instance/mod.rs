//! An instance: a folder with system databases, the databases in it, their sessions and background work.
//!
//! ```text
//! <folder>/.lock            held while the instance runs
//! <folder>/log/ERRORLOG     and ERRORLOG.1 .. ERRORLOG.6 of former runs
//! <folder>/data/master.mdf  mastlog.ldf  model.mdf  modellog.ldf  MSDBData.mdf  MSDBLog.ldf  tempdb.mdf  templog.ldf
//! <folder>/data/spill/      where queries spill when they run out of memory
//! <folder>/c/vlf.mdf        a file that a script calls c:\vlf.mdf
//! ```
//! master's catalog lists every database with its files. Startup recovers master, then model and msdb, recreates tempdb, then recovers the
//! others. A database that cannot be recovered stays SUSPECT or RECOVERY_PENDING and does not stop the rest.
//!
//! Invariant: a file of a database is in master's catalog from before it exists until after it is gone ([`intents`]). Invariant: one
//! statement at a time creates, changes or removes a database ([`operation`]). Invariant: a statement's path is used only after
//! [`Instance::admit`] has allowed it ([`paths`]).

mod aside;
mod backup;
mod broken;
mod clones;
mod configuration;
mod copies;
mod create;
mod errorlog_files;
mod filegroups;
mod files;
mod finishing;
mod foreign;
mod foreign_restore;
mod intents;
mod lost;
mod msdb;
mod offline;
mod operation;
mod paths;
mod registry;
mod remembered;
mod restore;
mod reverting;
mod rows_files;
mod sessions;
mod snapshots;
mod standby;
mod start;
mod stopping;
mod unfinished;
mod worker;

pub use crate::catalog::{MASTER, MODEL, MSDB, TEMPDB};
pub use aside::WorkName;
pub use backup::{BackupLog, Failed};
pub use clones::CloneDatabase;
pub use configuration::{Configuration, ConfigurationOption, ConfiguredOption, OPTIONS};
pub use copies::CreateCopy;
pub use create::{CreateDatabase, FileSpec, Size};
pub use errorlog_files::FORMER_ERRORLOGS_MAX;
pub use files::NewPlace;
pub use foreign::ForeignFile;
pub use lost::LOOK_EVERY_MICROS;
pub use msdb::{HistoryRow, HistorySet, OldHistory, RestoredSet, SETS_KEPT};
pub use operation::{Operation, Work};
use paths::Named;
pub use paths::{
    CERTIFICATE_FILE, Holder, KEY_FILE, PASSWORD_FILE, Place, Presence, Purpose, Refusal, Verdict, decide,
    default_file_name,
};
pub use registry::{DatabaseSlot, DatabaseState};
pub use remembered::Remembered;
pub use rows_files::{FaultyRowsFile, RowsFile};
pub use sessions::{ClientConnection, SessionDescription, SessionInformation, SessionOptions};
pub use snapshots::CreateSnapshot;

use crate::buffer::{BufferPool, OpenSnapshots};
use crate::cancel;
use crate::catalog::{CatalogObject, ObjectDefinition};
use crate::database::{Database, Decisions, SystemTurn, SystemWork};
use crate::error::{Error, Result};
use crate::lock::{LockManager, LockOwner};
use crate::log::LogPolicy;
use crate::memory::Keeper;
use crate::seams::Environment;
use crate::session::{InUse, Session};
use crate::versions::VersionStore;
use crate::workspace::Workspace;
use parking_lot::{Mutex, RwLock};
use registry::Registry;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vlf::ServerVersion;

/// The setting of `sp_configure` for memory, in MB.
const MAX_SERVER_MEMORY: &str = "max server memory (MB)";

/// The first `session_id` of a user.
pub const USER_SESSION_FIRST: u16 = 51;

/// One past the last.
const USER_SESSION_END: u16 = 32_767;

/// How an instance is started.
#[derive(Clone)]
pub struct InstanceOptions {
    /// Its folder; created when it does not exist.
    pub folder: PathBuf,
    /// Name shown by @@SERVERNAME.
    pub server_name: String,
    /// The SQL Server version whose layout rules and defaults apply.
    pub version: ServerVersion,
    /// How the log does its work.
    pub policy: LogPolicy,
    /// Memory for pages and queries, in bytes: what `max server memory` may be set to at most.
    pub max_server_memory_bytes: u64,
    /// New data file space is reserved rather than zeroed (instant file initialization).
    pub instant_file_initialization: bool,
}

pub struct Instance {
    /// How it was started.
    pub options: InstanceOptions,
    /// Files, time, background work.
    pub env: Environment,
    /// Its pages in memory.
    pub pool: Arc<BufferPool>,
    /// Its memory for queries.
    pub workspace: Arc<Workspace>,
    pub locks: Arc<LockManager>,
    /// Versions of rows, of all databases.
    pub versions: Arc<VersionStore>,
    /// Which transactions have committed in several databases.
    pub(crate) decisions: Arc<Decisions>,
    /// Database snapshots whose files are open.
    snapshots: Arc<OpenSnapshots>,
    pub configuration: Configuration,
    /// When it started.
    pub started: crate::seams::DateTimeTicks,
    registry: Registry,
    sessions: Mutex<BTreeMap<u16, sessions::OpenSession>>,
    /// What runs is to stop.
    stopping: AtomicBool,
    /// [`Instance::shutdown`] was called.
    shut_down: AtomicBool,
    worker: Mutex<Option<worker::Worker>>,
    /// Calls the worker before its time.
    checkpoint_bell: Arc<worker::Bell>,
    /// When [`Instance::look_for_checkpoints`] looked last.
    checkpoints_looked_micros: AtomicU64,
    finisher: Mutex<Option<finishing::Finisher>>,
    aside: Mutex<Option<aside::Aside>>,
    /// Of what is left to it, and not done yet.
    names_aside: Arc<aside::Names>,
    policy: RwLock<LogPolicy>,
    fatal: Arc<broken::Fatal>,
    claims: paths::Claims,
    /// Intents whose files could not be deleted.
    left_behind: Mutex<BTreeSet<u32>>,
    /// What the layer above keeps for all sessions, one of a type.
    above: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
    errorlog_files: errorlog_files::ErrorLogFiles,
    place: lost::FolderPlace,
    _folder_lock: Box<dyn Send + Sync>,
}

impl Instance {
    /// What the layer above keeps of a type for all of the instance's sessions, made when it is first asked for. It gives up memory before
    /// anybody is refused.
    pub fn kept_above<T: Any + Keeper>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut above = self.above.lock();
        let kept = above.iter().find_map(|one| one.clone().downcast().ok());
        kept.unwrap_or_else(|| {
            let made = Arc::new(make());
            above.push(made.clone());
            let keeper: Arc<dyn Keeper> = made.clone();
            self.workspace.add_keeper(Arc::downgrade(&keeper));
            made
        })
    }

    /// The database of that name, open and usable.
    ///
    /// # Errors
    /// 911 when there is none; 926, 927, 942 or 945 when it is not usable.
    pub fn database(&self, name: &str) -> Result<Arc<Database>> {
        let slot = self.registry.find(name).ok_or_else(|| Error::no_such_database(name))?;
        slot.database()
    }

    /// The database with that id, open and usable.
    pub fn database_by_id(&self, id: u16) -> Option<Arc<Database>> {
        self.registry.by_id(id)?.database().ok()
    }

    /// Every database in the order of ids, usable or not.
    pub fn slots(&self) -> Vec<Arc<DatabaseSlot>> {
        self.registry.all()
    }

    pub fn master(&self) -> Result<Arc<Database>> {
        self.database_by_id(MASTER).ok_or_else(|| Error::inaccessible("master"))
    }

    /// Where a file of a script lives.
    ///
    /// # Errors
    /// 5105, and 5133 outside the folders that may be used.
    pub fn resolve(&self, name: &str) -> Result<PathBuf> {
        self.resolve_as(name, Named::File)
    }

    /// Where a file or a folder of a script lives.
    ///
    /// # Errors
    /// 5105, and 5133 outside the folders that may be used.
    pub fn resolve_folder(&self, name: &str) -> Result<PathBuf> {
        self.resolve_as(name, Named::FileOrFolder)
    }

    fn resolve_as(&self, name: &str, named: Named) -> Result<PathBuf> {
        let resolved = paths::resolve(self.env.disk.as_ref(), &self.options.folder, name, named);
        let resolved = resolved.ok_or_else(|| Error::file_activation(name))?;
        match resolved.place {
            Place::Outside => {
                let outside = disk::DiskError::new(disk::DiskErrorKind::Outside, "open", &resolved.path);
                Err(Error::directory_lookup_failed(name, &Error::cause(&outside)))
            }
            Place::Instance | Place::Allowed => Ok(resolved.path),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.options.folder
    }

    /// The policy that databases opened from now on follow, and those open now as well.
    pub fn set_policy(&self, policy: LogPolicy) {
        *self.policy.write() = policy;
        self.online()
            .for_each(|database| database.storage.log.set_policy(policy));
    }

    /// The log policy in force.
    pub fn policy(&self) -> LogPolicy {
        *self.policy.read()
    }

    /// A new session with the lowest free number, 51 or above.
    pub fn open_session(&self) -> Result<Session> {
        let cancel = Arc::new(AtomicBool::new(false));
        let mut sessions = self.sessions.lock();
        let free = (USER_SESSION_FIRST..USER_SESSION_END).find(|id| !sessions.contains_key(id));
        let id = free.ok_or_else(|| Error::connection_limit(usize::from(USER_SESSION_END - USER_SESSION_FIRST)))?;
        let locks = Arc::new(self.lock_owner(id, cancel.clone()));
        let now = self.env.clock.wall_ticks();
        sessions.insert(id, sessions::OpenSession::new(id, locks.id(), cancel.clone(), now));
        Ok(Session::new(id, locks, cancel, &self.versions))
    }

    /// Ends a session's entry; the session itself must be dropped first.
    pub fn close_session(&self, id: u16) {
        self.sessions.lock().remove(&id);
        self.env.activity.forget_session(id);
    }

    /// Asks a session to stop what it is doing (KILL, ROLLBACK IMMEDIATE). False when there is no such session.
    pub fn cancel_session(&self, id: u16) -> bool {
        let sessions = self.sessions.lock();
        sessions
            .get(&id)
            .inspect(|session| session.cancel.store(true, Ordering::Relaxed))
            .is_some()
    }

    /// The numbers of all sessions.
    pub fn session_ids(&self) -> Vec<u16> {
        self.sessions.lock().keys().copied().collect()
    }

    /// Keeps a database from being closed, dropped or replaced until the answer is dropped, for a reader without a session; `None` while another session has it
    /// exclusively, or when it is closed.
    pub fn hold(&self, database: &Database) -> Option<InUse> {
        InUse::at_once(self.lock_owner(0, Arc::default()), database)
    }

    fn lock_owner(&self, session: u16, cancel: Arc<AtomicBool>) -> LockOwner {
        LockOwner::new(
            self.locks.clone(),
            self.env.clock.clone(),
            self.env.waits.clone(),
            session,
            cancel,
        )
    }

    /// Databases that are open, master last.
    fn online(&self) -> impl Iterator<Item = Arc<Database>> {
        self.registry
            .all()
            .into_iter()
            .rev()
            .filter_map(|slot| slot.database().ok())
    }

    /// Memory for pages and queries now, in bytes: `max server memory`, but no more than the instance was started with.
    pub fn server_memory_bytes(&self) -> u64 {
        let configured = self.configuration.in_use(MAX_SERVER_MEMORY);
        let configured = u64::try_from(configured).unwrap_or(0) << 20;
        configured.min(self.options.max_server_memory_bytes)
    }

    /// Of this, what pages and queries have taken.
    pub fn server_memory_used_bytes(&self) -> u64 {
        self.pool.memory_bytes() + self.workspace.used_bytes()
    }

    /// Brings the setting `max server memory` into effect. When it was lowered, pages leave memory before this returns; what
    /// queries have taken is theirs until they end.
    pub fn apply_server_memory(&self) {
        let bytes = self.server_memory_bytes();
        self.workspace.resize(bytes);
        self.pool.resize(bytes);
    }

    /// Stores a setting of `sp_configure` in master.
    pub fn store_setting(&self, name: &str, value: i64) -> Result<()> {
        let stored = self.find_in_master(
            |definition| matches!(definition, ObjectDefinition::Setting { name: other, .. } if other == name),
        )?;
        let master = self.master()?;
        let object_id = match &stored {
            Some(object) => object.definition.object_id(),
            None => master.new_object_id()?,
        };
        self.change_master(
            stored,
            Some(ObjectDefinition::Setting {
                object_id,
                name: name.to_string(),
                value,
            }),
        )
    }

    fn find_in_master(&self, test: impl Fn(&ObjectDefinition) -> bool) -> Result<Option<Arc<CatalogObject>>> {
        let objects = self.master()?.catalog.objects(0);
        Ok(objects.into_iter().find(|object| test(&object.definition)))
    }

    /// Removes `old` from master's catalog and adds `new`, durably.
    fn change_master(&self, old: Option<Arc<CatalogObject>>, new: Option<ObjectDefinition>) -> Result<()> {
        let master = self.master()?;
        let turn = self.turn_in(&master)?;
        let changed = master.change_catalog(&turn, SystemWork::MasterRows, |ctx| {
            if let Some(old) = &old {
                master.catalog.remove(ctx, 0, old)?;
            }
            if let Some(new) = new {
                master.catalog.insert(ctx, 0, new)?;
            }
            Ok(())
        });
        Ok(changed?)
    }

    /// Waits for the turn of the system's work in a database, until the request that this thread serves is to stop.
    fn turn_in(&self, database: &Database) -> Result<SystemTurn> {
        let stopped_by = cancel::served().unwrap_or_default();
        database.system_turn(&self.lock_owner(0, stopped_by))
    }
}
