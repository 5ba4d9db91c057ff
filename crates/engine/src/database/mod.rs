//! One database: its files, log, catalog and transactions, from creation or startup to shutdown.
//!
//! ```text
//! Database -- storage (log, pages, files) -- space maps -- catalog -- transactions -- boot record
//! ```
//! Invariants:
//! - The boot record on disk points to a finished checkpoint, and the log before its redo start is not needed by pages.
//! - The log is truncated only up to the least of: redo start, oldest transaction, next log backup, running backups.

mod backup;
mod carry;
mod changes;
mod check;
mod check_values;
mod clone;
mod copy;
mod decisions;
mod full_file;
mod identity;
mod ids;
mod index_uses;
mod log_reader;
mod log_room;
mod marked;
mod observe;
mod open;
mod restore;
mod sequence;
mod shrink;
mod snapshot;
mod standby;
mod statistics;
mod system;
mod truncation;
mod unfinished;
mod updateability;
mod upgrade;
mod versions;

pub use crate::txn::Committed;
pub use backup::BackupPlace;
pub use check::{CheckReport, CheckedObject};
pub use decisions::Decisions;
pub use index_uses::{IndexUseKind, IndexUses};
pub use log_reader::{LogExtent, LogReader};
pub use observe::{LogView, OldestTransaction};
pub use open::{CreateFile, DatabaseFiles, OpenContext, Opened, RecoveryReport, data_growth, log_growth};
pub use restore::{RestoreSource, Restored, check_differential, check_follows};
pub use statistics::{Modifications, StatisticsOptions};
pub use system::{SYSTEM_WORK_OBJECT, SystemTurn, SystemWork};
pub use truncation::{LogHold, ReuseWait};
pub use versions::SnapshotWait;

use crate::buffer::{AtomicLsn, DatabaseStorage};
use crate::cancel;
use crate::catalog::{
    Catalog, ColumnDefinition, DatabaseEntry, ForeignKey, ObjectDefinition, StorageRoot, TableDefinition,
};
use crate::error::{Error, NotStored, Result};
use crate::lock::{LockManager, LockOwner};
use crate::log::{CheckpointTiming, TransactionChain};
use crate::page::ObjectId;
use crate::recovery::{self, BootRecord, FurtherFeatures, Purpose, RecoveryModel};
use crate::seams::LogEventKind;
use crate::store::{BootPage, Cleaned, ObjectRoot, SpaceMap, StoreContext, Versioning};
use crate::txn::TransactionTable;
use crate::types::{Collation, SqlType};
pub use identity::FormerIdentity;
use identity::Identities;
use ids::Ids;
use parking_lot::{Mutex, MutexGuard, RwLock};
use sequence::Sequences;
pub use sequence::{SequenceRange, SequenceStand};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use truncation::HeldPositions;
use unfinished::Unfinished;
use vlf::Lsn;

/// A database that is open and usable.
pub struct Database {
    /// `database_id`.
    pub id: u16,
    /// Log, pages and files.
    pub storage: Arc<DatabaseStorage>,
    /// Which extents are whose.
    pub space: SpaceMap,
    /// Which objects there are.
    pub catalog: Catalog,
    /// The transactions that are changing them.
    pub transactions: TransactionTable,
    recovery: Mutex<RecoveryReport>,
    /// Set while `unfinished` is.
    recovering: AtomicBool,
    /// Transactions that recovery undoes in order have locks meanwhile.
    has_guarded: AtomicBool,
    unfinished: Mutex<Option<Unfinished>>,
    entry: RwLock<DatabaseEntry>,
    boot: Mutex<BootRecord>,
    /// The boot record's collation, for readers that must not wait until the record is written.
    collation: AtomicU8,
    is_parameterization_forced: AtomicBool,
    has_recursive_triggers: AtomicBool,
    is_recovery_accelerated: AtomicBool,
    ids: Ids,
    boot_page: BootPage,
    checkpointing: Mutex<()>,
    /// Sequence of the VLF in which a session last tried to make room in the log.
    room_tried_at: AtomicU32,
    /// Log bytes flushed when the last checkpoint began that wrote every page.
    flushed_at_checkpoint: AtomicU64,
    /// Log bytes flushed when the last checkpoint of any kind began, and when that was by the clock.
    flushed_at_any_checkpoint: AtomicU64,
    any_checkpoint_micros: AtomicU64,
    /// Where the log ended after it.
    end_after_any_checkpoint: AtomicLsn,
    /// A checkpoint is wanted: log that is backed up, or not kept, can be reused only after one.
    checkpoint_wanted: AtomicBool,
    /// The last automatic checkpoint failed, and the error log says so.
    pub(crate) checkpoint_failing: AtomicBool,
    /// The last turn of the ghost cleaner failed, and that was said.
    pub(crate) cleaning_failing: AtomicBool,
    identities: Identities,
    sequences: Sequences,
    modifications: statistics::ModificationsByTable,
    index_uses: index_uses::UsesByIndex,
    internal_locks: LockOwner,
    /// Locks of transactions whose end failed: their changes must stay hidden.
    left_locked: Mutex<Vec<Arc<LockOwner>>>,
    holds: HeldPositions,
    /// What readers of the log still want of it.
    scans: HeldPositions,
    /// What database snapshots being made still want of it.
    snapshots_being_made: HeldPositions,
    /// It is a database snapshot.
    is_snapshot: bool,
    /// Of transactions in several databases.
    pub(crate) decisions: Arc<Decisions>,
    backing_up_log: Mutex<()>,
    reuse_wait: AtomicU8,
    /// Growths of the log for want of room that `reuse_wait` knows of.
    growths_explained: AtomicU64,
    access: RwLock<AccessMode>,
    standby: AtomicBool,
    /// READ_ONLY: what the boot record says, and sooner than it while those who still change something are waited for.
    read_only: AtomicBool,
    /// EMERGENCY, as its entry in master says.
    emergency: AtomicBool,
    /// The instance has closed it, or is about to: holders of an `Arc` must not begin to use it.
    retired: AtomicBool,
}

/// Who may use a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// Everybody.
    Multiple,
    /// The one session given (SINGLE_USER).
    Single(u16),
    /// Administrators (RESTRICTED_USER).
    Restricted,
}

impl Database {
    pub fn name(&self) -> String {
        self.entry.read().name.clone()
    }

    /// Its entry in master.
    pub fn entry(&self) -> DatabaseEntry {
        self.entry.read().clone()
    }

    /// Replaces its entry; the caller stores it in master.
    pub fn set_entry(&self, entry: DatabaseEntry) {
        self.storage.files.set_filegroups(open::filegroups_of(&entry));
        *self.entry.write() = entry;
    }

    /// It may not be used by new sessions.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::SeqCst);
    }

    /// Whether it is still the one that the instance has open, for a session that has just locked it.
    ///
    /// # Errors
    /// 952 when it was closed meanwhile: another database may have its id, or it was opened again. 9001 when its log had failed.
    pub fn check_open(&self) -> Result<()> {
        if !self.retired.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.storage.log.check_intact()?;
        Err(Error::in_transition(&self.name()))
    }

    /// A copy of its boot record.
    pub fn boot(&self) -> BootRecord {
        self.boot.lock().clone()
    }

    /// Changes the boot record durably.
    pub fn change_boot(&self, change: impl FnOnce(&mut BootRecord)) -> Result<()> {
        self.replace_boot(&mut self.boot.lock(), change)
    }

    fn replace_boot(&self, boot: &mut BootRecord, change: impl FnOnce(&mut BootRecord)) -> Result<()> {
        let mut next = boot.clone();
        change(&mut next);
        self.boot_page.write(&self.storage.files, &next.encode())?;
        self.collation.store(next.collation, Ordering::Relaxed);
        self.is_parameterization_forced
            .store(next.is_parameterization_forced, Ordering::Relaxed);
        self.has_recursive_triggers
            .store(next.has_recursive_triggers, Ordering::Relaxed);
        self.is_recovery_accelerated
            .store(next.is_recovery_accelerated, Ordering::Relaxed);
        self.storage.link_changes(&next);
        self.read_only.store(next.is_read_only, Ordering::Relaxed);
        *boot = next;
        Ok(())
    }

    /// The collation of new columns, and of what has none of its own in a session that is in this database.
    pub fn collation(&self) -> Collation {
        Collation::from_number(self.collation.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Gives new columns a collation. Those there are keep theirs.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub fn set_collation(&self, collation: Collation) -> Result<()> {
        self.change_boot(|boot| {
            boot.collation = collation as u8;
            boot.has_collations |= collation != Collation::default();
        })
    }

    /// Says in the boot record that a table has collations other than the default one, or entries of indexes with values, or foreign keys that act,
    /// or a row version, json, geometry or geography, or computed columns, or a period, or indexes with filters or switched off, before the catalog does: a version that does not know them must not read it.
    pub(crate) fn note_features(&self, table: &TableDefinition) -> Result<()> {
        let is_other = |column: &ColumnDefinition| column.collation != Collation::default();
        let has_collations = table.columns.iter().any(is_other);
        let has_carried_columns = table.indexes.iter().any(|index| !index.carried.is_empty());
        let has_referential_actions = table.foreign_keys.iter().any(ForeignKey::acts);
        let has_row_versions = table
            .columns
            .iter()
            .any(|column| column.sql_type == SqlType::RowVersion);
        let has_json = table.columns.iter().any(|column| column.sql_type == SqlType::Json);
        let has_computed_columns = table.columns.iter().any(|column| column.computed.is_some());
        let has_filtered_indexes = table.every_index().any(|index| index.filter.is_some());
        let has_disabled_indexes = !table.disabled_indexes.is_empty() || table.disabled_clustered().is_some();
        let has_temporal_tables = table.is_temporal();
        let further = FurtherFeatures {
            has_data_spaces: table.leaves_primary(),
            has_partitions: table.partitioning.is_some(),
            has_standalone_objects: table.columns.iter().any(|column| !column.bound.is_empty()),
            has_spatial_columns: table.columns.iter().any(|column| column.sql_type.is_spatial()),
            has_masked_columns: table.columns.iter().any(|column| column.mask.is_some()),
            ..FurtherFeatures::default()
        };
        let is_known = {
            let boot = self.boot.lock();
            has_collations <= boot.has_collations
                && has_carried_columns <= boot.has_carried_columns
                && has_referential_actions <= boot.has_referential_actions
                && has_row_versions <= boot.has_row_versions
                && has_json <= boot.has_json
                && has_computed_columns <= boot.has_computed_columns
                && has_filtered_indexes <= boot.has_filtered_indexes
                && has_disabled_indexes <= boot.has_disabled_indexes
                && has_temporal_tables <= boot.has_temporal_tables
                && boot.further.with(further) == boot.further
        };
        if is_known {
            return Ok(());
        }
        self.change_boot(|boot| {
            boot.has_collations |= has_collations;
            boot.has_carried_columns |= has_carried_columns;
            boot.has_referential_actions |= has_referential_actions;
            boot.has_row_versions |= has_row_versions;
            boot.has_json |= has_json;
            boot.has_computed_columns |= has_computed_columns;
            boot.further = boot.further.with(further);
            boot.has_filtered_indexes |= has_filtered_indexes;
            boot.has_disabled_indexes |= has_disabled_indexes;
            boot.has_temporal_tables |= has_temporal_tables;
        })
    }

    /// The same for the columns that are noted of a view or function: their types may be another database's.
    pub(crate) fn note_columns(&self, columns: &[ColumnDefinition]) -> Result<()> {
        let has = |own: SqlType| columns.iter().any(|column| column.sql_type == own);
        let (has_row_versions, has_json) = (has(SqlType::RowVersion), has(SqlType::Json));
        let has_spatial_columns = has(SqlType::Geometry) || has(SqlType::Geography);
        let is_known = {
            let boot = self.boot.lock();
            has_row_versions <= boot.has_row_versions
                && has_json <= boot.has_json
                && has_spatial_columns <= boot.further.has_spatial_columns
        };
        if is_known {
            return Ok(());
        }
        self.change_boot(|boot| {
            boot.has_row_versions |= has_row_versions;
            boot.has_json |= has_json;
            boot.further.has_spatial_columns |= has_spatial_columns;
        })
    }

    /// Remembers when a CHECKDB began that has found nothing. What nothing is written to remembers nothing.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub fn note_good_check(&self, begun: crate::seams::DateTimeTicks) -> Result<()> {
        if self.is_read_only() || self.is_standby() {
            return Ok(());
        }
        self.change_boot(|boot| boot.last_good_check = begun)
    }

    /// Says in the boot record that the catalog has triggers, before it does.
    pub(crate) fn note_triggers(&self, definition: &ObjectDefinition) -> Result<()> {
        if definition.triggers().is_empty() || self.boot.lock().has_triggers {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_triggers = true)
    }

    /// Says in the boot record that the catalog has triggers of the database, before it does.
    pub(crate) fn note_database_triggers(&self) -> Result<()> {
        if self.boot.lock().has_database_triggers {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_database_triggers = true)
    }

    /// The triggers of the database that a session sees, in the order of their creation.
    pub fn database_triggers(&self, session: u16) -> Vec<Arc<crate::catalog::CatalogObject>> {
        if !self.boot.lock().has_database_triggers {
            return Vec::new();
        }
        let mut objects = self.catalog.objects(session);
        objects.retain(|object| object.definition.definition_trigger().is_some());
        objects
    }

    /// Says in the boot record that views have rows of their own, before one has.
    pub(crate) fn note_indexed_views(&self, definition: &ObjectDefinition) -> Result<()> {
        let is_one = matches!(definition, ObjectDefinition::Module(module) if module.rows.is_some());
        if !is_one || self.boot.lock().has_indexed_views {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_indexed_views = true)
    }

    /// Says in the boot record that there are filegroups beside PRIMARY, or an entry of master that has them, before there are.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub(crate) fn note_data_spaces(&self) -> Result<()> {
        if self.boot.lock().further.has_data_spaces {
            return Ok(());
        }
        self.change_boot(|boot| boot.further.has_data_spaces = true)
    }

    /// Says in the boot record that the catalog has partition functions, before it does.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub(crate) fn note_partitions(&self) -> Result<()> {
        if self.boot.lock().further.has_partitions {
            return Ok(());
        }
        self.change_boot(|boot| boot.further.has_partitions = true)
    }

    /// Says in the boot record that the catalog has defaults and rules of their own, before it does.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub(crate) fn note_standalone_objects(&self) -> Result<()> {
        if self.boot.lock().further.has_standalone_objects {
            return Ok(());
        }
        self.change_boot(|boot| boot.further.has_standalone_objects = true)
    }

    /// Says in the boot record that the catalog has sequences, before it does.
    pub(crate) fn note_sequences(&self) -> Result<()> {
        if self.boot.lock().has_sequences {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_sequences = true)
    }

    /// Says in the boot record that sequences may have numbers of more than 64 bits, before one has.
    pub(crate) fn note_wide_sequences(&self) -> Result<()> {
        if self.boot.lock().further.has_wide_sequences {
            return Ok(());
        }
        self.change_boot(|boot| boot.further.has_wide_sequences = true)
    }

    /// Says in the boot record that Commit records may have marks, before one has.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub(crate) fn note_marks(&self) -> Result<()> {
        if self.boot.lock().further.has_marks {
            return Ok(());
        }
        self.change_boot(|boot| boot.further.has_marks = true)
    }

    /// Says in the boot record that the catalog has principals, memberships, permissions or owners, before it does.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub(crate) fn note_principals(&self) -> Result<()> {
        match self.has_principals() {
            true => Ok(()),
            false => self.change_boot(|boot| boot.further.has_principals = true),
        }
    }

    /// Whether the catalog has, or had, principals, memberships, permissions or owners.
    pub fn has_principals(&self) -> bool {
        self.boot.lock().further.has_principals
    }

    /// Says in master's boot record that the catalog has decisions, before it does.
    pub(crate) fn note_decisions(&self) -> Result<()> {
        if self.boot.lock().has_decisions {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_decisions = true)
    }

    /// Says in the boot record that the catalog has XML schema collections, before it does.
    pub(crate) fn note_xml_schemas(&self) -> Result<()> {
        if self.boot.lock().has_xml_schemas {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_xml_schemas = true)
    }

    /// Remembers that the catalog has synonyms.
    pub(crate) fn note_synonyms(&self) -> Result<()> {
        if self.boot.lock().has_synonyms {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_synonyms = true)
    }

    /// The XML schema collection of that name, as a session sees it.
    pub fn xml_schema_collection(
        &self,
        schema: &str,
        name: &str,
        session: u16,
    ) -> Option<Arc<crate::catalog::CatalogObject>> {
        let (schema, name) = (schema.to_lowercase(), name.to_lowercase());
        let is_it = |object: &Arc<crate::catalog::CatalogObject>| match &object.definition {
            ObjectDefinition::XmlSchemaCollection(own) => {
                own.name.to_lowercase() == name && own.schema.to_lowercase() == schema
            }
            _ => false,
        };
        self.catalog.objects(session).into_iter().find(is_it)
    }

    /// Says in the boot record that the catalog has table types, before it does.
    pub(crate) fn note_table_types(&self) -> Result<()> {
        if self.boot.lock().has_table_types {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_table_types = true)
    }

    /// Says in the boot record that log records may have lock information, before a transaction under the classic policy begins.
    pub(crate) fn note_lock_information(&self) -> Result<()> {
        match self.storage.log_whole_rows() {
            true => self.note_once(&self.storage.may_log_locks, |boot| &mut boot.has_lock_information),
            false => Ok(()),
        }
    }

    /// Says in the boot record that rows may have columns outside of them, before one has.
    pub(crate) fn note_large_values(&self) -> Result<()> {
        if self.boot.lock().has_large_values {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_large_values = true)
    }

    /// Says in the boot record that heaps and trees may give up pages, before the first row of the database is deleted by this version.
    pub(crate) fn note_deletions(&self) -> Result<()> {
        self.note_once(&self.storage.may_free_pages, |boot| &mut boot.has_freed_pages)
    }

    /// Says in the boot record that units of large values may give extents back, before one does.
    pub(crate) fn note_large_deletions(&self) -> Result<()> {
        self.note_once(&self.storage.may_free_large_extents, |boot| {
            &mut boot.has_freed_large_extents
        })
    }

    /// Says something in the boot record, if it does not say it yet; `is_noted` spares the next one the question.
    fn note_once(&self, is_noted: &AtomicBool, flag: fn(&mut BootRecord) -> &mut bool) -> Result<()> {
        if is_noted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let is_said = *flag(&mut self.boot.lock());
        if !is_said {
            self.change_boot(|boot| *flag(boot) = true)?;
        }
        is_noted.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// One turn of the ghost cleaner: visits up to `pages_max` pages with deleted rows that no transaction can need.
    ///
    /// # Errors
    /// 823 and 824 for pages, 9001. A full log ends the turn.
    pub fn clean_ghosts(&self, pages_max: usize) -> Result<Cleaned> {
        if self.check_writable().is_err() || self.is_recovering() {
            return Ok(Cleaned::default());
        }
        // Without a transaction under way nothing has said since the last one how far the log has come.
        self.transactions.publish(&self.storage);
        if !self.space.has_ghosts_due(&self.storage) {
            return Ok(Cleaned::default());
        }
        self.note_deletions()?;
        let cleaned = self.space.clean(&self.storage, pages_max);
        // Who reads the pages cleaned need not take them for someone's work.
        self.transactions.publish(&self.storage);
        match cleaned {
            Err(error) if error.is_log_full() => Ok(Cleaned::default()),
            cleaned => cleaned,
        }
    }

    /// Says in the boot record that the catalog has extended properties, before it does.
    pub(crate) fn note_extended_properties(&self) -> Result<()> {
        if self.has_extended_properties() {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_extended_properties = true)
    }

    /// Whether the catalog has, or had, extended properties.
    pub(crate) fn has_extended_properties(&self) -> bool {
        self.boot.lock().has_extended_properties
    }

    /// FULL, BULK_LOGGED or SIMPLE.
    pub fn recovery_model(&self) -> RecoveryModel {
        self.boot.lock().recovery_model
    }

    /// Whether the recovery model is FULL, under which nothing is logged minimally.
    pub fn is_fully_logged(&self) -> bool {
        self.recovery_model() == RecoveryModel::Full
    }

    /// Sets the recovery model. Leaving FULL or BULK_LOGGED for SIMPLE breaks the log chain.
    pub fn set_recovery_model(&self, model: RecoveryModel) -> Result<()> {
        self.change_boot(|boot| {
            boot.recovery_model = model;
            if model == RecoveryModel::Simple {
                boot.log_backup_start = Lsn::ZERO;
            }
        })
    }

    /// Whether PARAMETERIZATION is FORCED.
    pub fn is_parameterization_forced(&self) -> bool {
        self.is_parameterization_forced.load(Ordering::Relaxed)
    }

    /// Whether RECURSIVE_TRIGGERS is ON: a trigger fires itself.
    pub fn has_recursive_triggers(&self) -> bool {
        self.has_recursive_triggers.load(Ordering::Relaxed)
    }

    /// Sets RECURSIVE_TRIGGERS.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub fn set_recursive_triggers(&self, is_on: bool) -> Result<()> {
        self.change_boot(|boot| boot.has_recursive_triggers = is_on)
    }

    /// Sets PARAMETERIZATION to FORCED or SIMPLE.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub fn force_parameterization(&self, is_forced: bool) -> Result<()> {
        self.change_boot(|boot| boot.is_parameterization_forced = is_forced)
    }

    /// True when the log is kept for log backups: not SIMPLE, and a full backup has begun the chain. Without one even a
    /// FULL database reuses its log after a checkpoint (Paul Randal: "pseudo-simple").
    pub fn keeps_log_for_backup(&self) -> bool {
        let boot = self.boot.lock();
        boot.recovery_model != RecoveryModel::Simple && boot.log_backup_start != Lsn::ZERO
    }

    /// Who may use it.
    pub fn access(&self) -> AccessMode {
        *self.access.read()
    }

    /// SET SINGLE_USER, RESTRICTED_USER, MULTI_USER.
    pub fn set_access(&self, access: AccessMode) {
        *self.access.write() = access;
    }

    /// Writes a checkpoint, makes the boot record point to it, and reuses what log it can.
    ///
    /// # Errors
    /// 3617 when the request is to stop, 6005 when the instance has no more time for it, 9002 when the log is full, and
    /// whatever keeps pages from being written.
    pub fn checkpoint(&self) -> Result<()> {
        let turn = self.wait_for_checkpoint_turn()?;
        self.checkpoint_in_turn(&turn)
    }

    /// Waits until no other thread writes a checkpoint.
    ///
    /// # Errors
    /// 3617 when the request is to stop.
    fn wait_for_checkpoint_turn(&self) -> Result<MutexGuard<'_, ()>> {
        loop {
            match self.checkpointing.try_lock_for(cancel::LOOK_EVERY) {
                Some(turn) => return Ok(turn),
                None => cancel::look()?,
            }
        }
    }

    /// As [`Database::checkpoint`], by who has the turn.
    fn checkpoint_in_turn(&self, _turn: &MutexGuard<'_, ()>) -> Result<()> {
        self.checkpoint_locked(false, Purpose::Routine)
    }

    /// Writes an indirect checkpoint: analysis will start here, redo at the checkpoint before this one, provided that the pages
    /// changed before that one are not more than `pages_max`. Sessions go on, and few pages are written.
    ///
    /// # Errors
    /// 9002 when the log is full, and whatever keeps pages from being written.
    pub fn indirect_checkpoint(&self, pages_max: usize) -> Result<()> {
        let _one_at_a_time = self.checkpointing.lock();
        let first_change_before = self.boot().checkpoint;
        let purpose = Purpose::Indirect {
            first_change_before,
            pages_max,
        };
        self.checkpoint_locked(false, purpose)
    }

    /// Bytes of log flushed since the last checkpoint began that wrote every page.
    pub fn log_bytes_since_checkpoint(&self) -> u64 {
        let flushed = self.storage.log.counters().bytes_flushed;
        flushed.saturating_sub(self.flushed_at_checkpoint.load(Ordering::Relaxed))
    }

    /// Bytes of log flushed and microseconds passed since the last checkpoint of any kind began: what analysis would have to
    /// read after a crash, about.
    pub fn since_any_checkpoint(&self) -> (u64, u64) {
        let flushed = self.storage.log.counters().bytes_flushed;
        let now = self.storage.env.clock.now_micros();
        (
            flushed.saturating_sub(self.flushed_at_any_checkpoint.load(Ordering::Relaxed)),
            now.saturating_sub(self.any_checkpoint_micros.load(Ordering::Relaxed)),
        )
    }

    /// `target_recovery_time_in_seconds`: how much work redo should have at most; 0 where checkpoints come by the recovery
    /// interval.
    pub fn target_recovery_seconds(&self) -> u64 {
        match self.storage.log.policy().checkpoint {
            CheckpointTiming::LogVolume => 60,
            CheckpointTiming::RecoveryInterval => 0,
        }
    }

    /// Asks the background for a checkpoint soon, if one is all that keeps log from being reused.
    pub(crate) fn ask_for_checkpoint(&self) {
        let is_due = match self.reuse_wait() {
            ReuseWait::Checkpoint => true,
            ReuseWait::ActiveTransaction => self.is_carrying_due(),
            _ => false,
        };
        if is_due {
            self.checkpoint_wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Whether one was asked for since the last began.
    pub fn wants_checkpoint(&self) -> bool {
        self.checkpoint_wanted.load(Ordering::Relaxed)
    }

    /// Whether anything was committed since the last checkpoint of any kind.
    pub fn has_log_since_any_checkpoint(&self) -> bool {
        let end = AtomicLsn::new(self.storage.log.end());
        end.load() != self.end_after_any_checkpoint.load()
    }

    fn checkpoint_locked(&self, clean: bool, purpose: Purpose) -> Result<()> {
        self.checkpoint_wanted.store(false, Ordering::Relaxed);
        let flushed = self.storage.log.counters().bytes_flushed;
        let now = self.storage.env.clock.now_micros();
        self.flushed_at_any_checkpoint.store(flushed, Ordering::Relaxed);
        self.any_checkpoint_micros.store(now, Ordering::Relaxed);
        if !matches!(purpose, Purpose::Indirect { .. }) {
            self.flushed_at_checkpoint.store(flushed, Ordering::Relaxed);
        }
        if !clean {
            self.carry_forward()?;
        }
        let done = recovery::checkpoint(&self.storage, &self.transactions, purpose)?;
        let next_transaction = self.transactions.next_id();
        // Redo marks what it meets; of all before it the map on disk has to know.
        let change_generation = self.storage.files.save_changes(self.boot().change_generation)?;
        self.change_boot(|boot| {
            boot.change_generation = change_generation;
            boot.checkpoint = done.begin;
            boot.redo_start = done.redo_start;
            boot.next_transaction = next_transaction;
            boot.clean = clean;
        })?;
        self.storage.log.tell(LogEventKind::Checkpointed {
            begin: done.begin,
            redo_start: done.redo_start,
            micros: self.storage.env.clock.now_micros().saturating_sub(now),
            indirect: matches!(purpose, Purpose::Indirect { .. }),
        });
        self.truncate_log();
        self.storage.log.save_directory();
        self.storage.log.empty_pool();
        self.end_after_any_checkpoint.store(self.storage.log.end());
        Ok(())
    }

    /// Closes the database so that the next start has nothing to recover. No transaction may be under way.
    pub fn close_cleanly(&self) -> Result<()> {
        if self.is_snapshot {
            self.storage.log.close();
            return Ok(());
        }
        // The database is not in use: if the turn is taken all the same, its transaction did not come to its end.
        if let Some(turn) = self.try_system_turn() {
            self.store_identities(&turn)?;
            self.store_modifications(&turn)?;
        }
        let _one_at_a_time = self.checkpointing.lock();
        let nothing_to_undo = self.transactions.is_empty();
        self.checkpoint_locked(nothing_to_undo, Purpose::Routine)?;
        self.storage.log.close();
        Ok(())
    }

    /// The end of a transaction failed: its commit may be durable or not, or part of its changes could not be undone. Its
    /// locks in this database stay until the database is opened again. Only a stop of the instance lets that be: else they would be waited
    /// for without end, so the log fails, if it has not (`instance/broken.rs`).
    pub(crate) fn leave_locked(&self, chain: &TransactionChain, locks: &LockOwner, failure: &Error) {
        if !failure.is_shutdown_in_progress() {
            self.storage.log.lose_rollback(chain.last, failure);
        }
        let transaction = chain.id;
        let owner = Arc::new(locks.hand_over(self.id));
        self.transactions.set_owner(transaction, &owner);
        self.left_locked.lock().push(owner);
    }

    /// The locks of every session in every database.
    pub(crate) fn lock_manager(&self) -> &LockManager {
        self.internal_locks.manager()
    }

    /// What the store needs to change rows for a transaction.
    pub fn context<'a>(&'a self, chain: &'a mut TransactionChain, locks: &'a LockOwner) -> StoreContext<'a> {
        StoreContext {
            storage: &self.storage,
            space: &self.space,
            chain,
            locks,
            versions: Versioning::default(),
        }
    }

    /// Where the catalog begins.
    pub(crate) fn catalog_root(&self) -> ObjectRoot {
        let boot = self.boot();
        ObjectRoot {
            object: ObjectId(boot.catalog_object),
            first_iam: boot.catalog_root,
        }
    }

    /// Gives back the pages of objects that are gone. What a crash or a full log prevents here, the next start does.
    pub fn free_storage(&self, roots: &[StorageRoot]) -> Result<()> {
        for root in roots {
            match self.space.free_object(&self.storage, object_root(root)) {
                Err(error) if !error.is_log_full() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Frees the pages of large values that their transactions have given up, and that no one can need or read. Extents without pages in use go
    /// back to their files. Answers how many pages.
    ///
    /// # Errors
    /// 823 and 824 when an extent list cannot be read.
    pub fn free_large_values(&self) -> Result<u64> {
        if self.check_writable().is_err() || self.is_recovering() {
            return Ok(0);
        }
        if self.space.large.has_empty_extents() {
            self.note_large_deletions()?;
        }
        let (pages, _) = self.space.free_large_values(&self.storage)?;
        Ok(pages)
    }

    /// Gives up a data file in which no object has pages, and has `store` make durable that it is the database's no more. The
    /// checkpoint puts behind it whatever redo could want there. When storing fails for certain the file is used again.
    ///
    /// # Errors
    /// 5020 for the first file, 5042 while an object has pages in it; those of `store`.
    pub fn remove_data_file(
        &self,
        file_id: u16,
        name: &str,
        store: &mut dyn FnMut() -> std::result::Result<(), NotStored>,
    ) -> std::result::Result<(), NotStored> {
        if file_id == 1 {
            return Err(Error::primary_file_stays().into());
        }
        if !self.space.close_file(file_id) {
            return Err(Error::file_is_not_empty(name).into());
        }
        let is_clear = self.take_back_all_marked().and_then(|()| self.checkpoint());
        let stored = is_clear.map_err(NotStored::from).and_then(|()| store());
        match &stored {
            Ok(()) => {
                self.storage.pool.forget_file(self.storage.id, file_id);
                self.storage.files.detach(file_id);
                self.space.forget_file(file_id);
            }
            Err(failed) if !failed.is_unknown => self.space.open_file(file_id),
            Err(_) => {}
        }
        stored
    }
}

/// The store's form of a catalog root.
pub fn object_root(root: &StorageRoot) -> ObjectRoot {
    ObjectRoot {
        object: ObjectId(root.unit),
        first_iam: root.first_iam_page(),
    }
}
