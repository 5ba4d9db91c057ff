//! Database snapshots of an instance: CREATE DATABASE ... AS SNAPSHOT OF, opening them at startup, and the statements that they prevent.
//!
//! | on a database with snapshots or copies | |
//! |---|---|
//! | DROP | 3709 |
//! | OFFLINE, REMOVE FILE, RESTORE | 5094 |
//! | everything else, including BACKUP | as usual |
//!
//! | on a snapshot | |
//! |---|---|
//! | a change | 3906 |
//! | BACKUP, RESTORE | 3002 |
//! | ALTER DATABASE | 5093 |
//! | a snapshot of it | 1821 |
//! | DROP | deletes its files |
//!
//! **Startup** opens the files of snapshots before their bases, because a base's recovery may write pages. A snapshot that cannot be opened
//! then, or that is marked as lost, is SUSPECT for good: master records this first, and then the base goes on without it.
//!
//! Sources: sql-docs, "Database snapshots (SQL Server)", limitations; "Database Engine events and errors" for the numbers and words.

use super::intents::MasterChange;
use super::paths::{Admission, Purpose};
use super::registry::{DatabaseSlot, DatabaseState};
use super::{Instance, MSDB, Operation, Work};
use crate::buffer::{SnapshotFiles, SparseBase, SparseKind};
use crate::catalog::{DatabaseEntry, FileEntry, FileIntent, GrowthEntry, ObjectDefinition, SnapshotBase};
use crate::database::{CreateFile, Database, DatabaseFiles, Opened};
use crate::error::{Error, NotStored, Result};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// `CREATE DATABASE name ON (NAME = logical, FILENAME = path), ... AS SNAPSHOT OF base`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateSnapshot {
    pub name: String,
    pub base: String,
    /// The logical name of each data file of the base, with the path of the sparse file.
    pub files: Vec<(String, String)>,
}

/// A snapshot to be made; its paths are held.
struct Planned {
    files: DatabaseFiles,
    /// Where its log is while it is made.
    log: PathBuf,
    _held: Vec<Admission>,
}

fn is_named(file: &FileEntry, name: &str) -> bool {
    file.name.to_lowercase() == name.to_lowercase()
}

/// The files that a statement names, with their paths, are among these files of the base, each once.
///
/// # Errors
/// 5014 and 1828.
pub(super) fn check_named(named: &[(String, String)], files: &[&FileEntry], base: &str) -> Result<()> {
    let mut seen = HashSet::new();
    for (name, _) in named {
        if !files.iter().any(|file| is_named(file, name)) {
            return Err(Error::no_file_of_base(name, base));
        }
        if !seen.insert(name.to_lowercase()) {
            return Err(Error::duplicate_file_name(name));
        }
    }
    Ok(())
}

/// The path that a statement gives for a file of the base.
pub(super) fn given_path<'n>(named: &'n [(String, String)], file: &FileEntry) -> Option<&'n str> {
    let found = named.iter().find(|(name, _)| is_named(file, name));
    found.map(|(_, path)| path.as_str())
}

impl Instance {
    /// Makes a snapshot of a database, and opens it. On failure nothing of it is left.
    ///
    /// # Errors
    /// 911 when there is no base, 1816, 1821 and 1822 when it can have none, 1801 for a name taken, 5014 and 5127 for files that are not
    /// those of the base, those of paths, and those of a recovery.
    pub fn create_snapshot(&self, statement: &CreateSnapshot) -> Result<Arc<Database>> {
        let (operation, base) = self.sparse_base(&statement.base, SparseKind::Snapshot)?;
        let base_entry = operation.entry();
        let _one_at_a_time = self.registry.creating()?;
        self.sweep_left_behind();
        if self.registry.find(&statement.name).is_some() {
            return Err(Error::database_exists(&statement.name));
        }
        let planned = self.plan_snapshot(statement, &base_entry)?;
        let entry = planned.files.entry.clone();
        let text = format!("CREATE DATABASE '{}' AS SNAPSHOT OF '{}'", entry.name, base_entry.name);
        let paths = planned.files.files.iter().map(|file| file.path.clone());
        let intent = self.new_intent(&text, entry.guid, paths.chain([planned.log.clone()]))?;
        self.make_over(&base, &entry, &intent, || self.make_snapshot(&base, &planned, &intent))
    }

    /// The database that a snapshot or a copy is to be made of, which stays open and as it is meanwhile.
    ///
    /// # Errors
    /// 911 when there is none; 1816, 1821 and 1822 when it can have none.
    pub(super) fn sparse_base(&self, name: &str, kind: SparseKind) -> Result<(Operation, Arc<Database>)> {
        let operation = self.operate(name, Work::Alter)?;
        let operation = operation.ok_or_else(|| Error::no_such_database(name))?;
        let entry = operation.entry();
        if entry.database_id <= MSDB {
            return Err(match kind {
                SparseKind::Snapshot => Error::no_snapshot_of_system_database(&entry.name),
                SparseKind::Copy => Error::no_copy_of_system_database(&entry.name),
            });
        }
        match (entry.snapshot_of, entry.copy_of, kind) {
            (None, None, _) => {}
            (Some(_), _, SparseKind::Snapshot) => return Err(Error::no_snapshot_of_snapshot()),
            _ => return Err(Error::no_copy_of_copy()),
        }
        let needs_online = || match kind {
            SparseKind::Snapshot => Error::snapshot_needs_online(),
            SparseKind::Copy => Error::copy_needs_online(),
        };
        // What an import is making is not a database yet.
        if entry.creating {
            return Err(needs_online());
        }
        let base = operation.database().map_err(|_| needs_online())?;
        base.wait_for_recovery()?;
        match base.is_standby() || base.is_emergency() {
            true => Err(needs_online()),
            false => Ok((operation, base)),
        }
    }

    /// Has a snapshot or a copy of `base` made, and puts it among the databases. On failure nothing of it is left.
    pub(super) fn make_over(
        &self,
        base: &Database,
        entry: &DatabaseEntry,
        intent: &FileIntent,
        make: impl FnOnce() -> std::result::Result<Arc<Database>, NotStored>,
    ) -> Result<Arc<Database>> {
        let begun = self
            .registry
            .insert_begun(entry.clone(), DatabaseState::RecoveryPending, Work::Create)?;
        make()
            .inspect(|made| begun.set_state(DatabaseState::Online(made.clone())))
            .map_err(|failed| {
                // What master may name after all goes on to be kept.
                if !failed.is_unknown {
                    self.snapshots.remove(entry.guid);
                    base.end_snapshot(entry.guid);
                }
                self.forget(&begun);
                self.locks.forget_database(entry.database_id);
                self.abandon(intent, failed)
            })
    }

    /// The entry of a snapshot or a copy of `base`, but for what it says of that.
    ///
    /// # Errors
    /// Those of master, which gives it its number.
    pub(super) fn entry_over(&self, base: &DatabaseEntry, name: &str, files: Vec<FileEntry>) -> Result<DatabaseEntry> {
        let now = self.env.clock.wall_ticks();
        Ok(DatabaseEntry {
            object_id: self.master()?.new_object_id()?,
            guid: self.new_guid(name),
            database_id: self.registry.free_id(),
            name: name.to_owned(),
            files,
            reverting: None,
            created: (now.days, now.ticks),
            ..base.clone()
        })
    }

    fn make_snapshot(
        &self,
        base: &Arc<Database>,
        planned: &Planned,
        intent: &FileIntent,
    ) -> std::result::Result<Arc<Database>, NotStored> {
        self.begin_intent(intent)?;
        self.make_folders(&planned.files.files)?;
        let snapshot = base.make_snapshot(&self.opening(), &planned.files, &planned.log)?;
        self.delete_database_file(&planned.log)?;
        let opened = Database::open_snapshot(&self.opening(), &planned.files, &snapshot)?;
        let change = MasterChange {
            end: Some(intent),
            entry: Some(&planned.files.entry),
            ..MasterChange::default()
        };
        self.change_rows(&change)?;
        self.snapshots.add(snapshot);
        Ok(Arc::new(opened))
    }

    fn plan_snapshot(&self, statement: &CreateSnapshot, base: &DatabaseEntry) -> Result<Planned> {
        let data: Vec<&FileEntry> = base.files.iter().filter(|file| !file.log).collect();
        check_named(&statement.files, &data, &base.name)?;
        let (mut entries, mut files, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for file in data {
            let given = given_path(&statement.files, file);
            let path = given.ok_or_else(|| Error::missing_snapshot_file(&file.name))?;
            let admission = self.admit_new(path)?;
            files.push(CreateFile {
                path: admission.path.clone(),
                bytes: 0,
            });
            held.push(admission);
            entries.push(FileEntry {
                physical_name: path.to_owned(),
                max_bytes: None,
                growth: GrowthEntry::Fixed,
                ..file.clone()
            });
        }
        let first = entries.first().map_or("", |entry| entry.physical_name.as_str());
        let log = self.admit_new(&format!("{first}.undo"))?;
        let entry = DatabaseEntry {
            snapshot_of: Some(SnapshotBase {
                database_id: base.database_id,
                guid: base.guid,
                is_lost: false,
            }),
            ..self.entry_over(base, &statement.name, entries)?
        };
        let log_path = log.path.clone();
        held.push(log);
        Ok(Planned {
            files: DatabaseFiles { entry, files },
            log: log_path,
            _held: held,
        })
    }

    pub(super) fn admit_new(&self, path: &str) -> Result<Admission> {
        let admission = self.admit(path, Purpose::NewFile, None);
        admission.map_err(|refused| refused.for_file())
    }

    /// The snapshots and copies of a database.
    pub fn snapshots_of(&self, base: u16) -> Vec<Arc<DatabaseSlot>> {
        let of_base = |slot: &Arc<DatabaseSlot>| slot.entry().base().is_some_and(|of| of.database_id == base);
        self.slots().into_iter().filter(of_base).collect()
    }

    /// For what would take from snapshots and copies what they are of.
    ///
    /// # Errors
    /// 5094 when the database has one.
    pub fn check_no_snapshots(&self, base: u16) -> Result<()> {
        match self.snapshots_of(base).first().map(|slot| slot.entry().copy_of) {
            None => Ok(()),
            Some(None) => Err(Error::not_beside_snapshots()),
            Some(Some(_)) => Err(Error::not_beside_copies()),
        }
    }

    /// For DROP DATABASE.
    ///
    /// # Errors
    /// 3709 when the database has snapshots or copies.
    pub(super) fn check_droppable(&self, base: u16) -> Result<()> {
        let Some(slot) = self.snapshots_of(base).into_iter().next() else {
            return Ok(());
        };
        let entry = slot.entry();
        Err(match entry.copy_of {
            None => Error::has_snapshot("drop", &entry.name),
            Some(_) => Error::has_copy("drop", &entry.name),
        })
    }

    /// Whether a database may be overwritten by RESTORE.
    ///
    /// # Errors
    /// 3002 for a snapshot, 5093 for a copy, 5094 for a database that has one.
    pub(super) fn check_restorable(&self, entry: &DatabaseEntry) -> Result<()> {
        if entry.snapshot_of.is_some() {
            return Err(Error::no_backup_of_snapshot());
        }
        if entry.copy_of.is_some() {
            return Err(Error::not_on_a_copy());
        }
        self.check_no_snapshots(entry.database_id)
    }

    /// Whether a database has become this snapshot in part: without the snapshot it could be neither.
    pub(super) fn is_being_reverted_to(&self, entry: &DatabaseEntry) -> bool {
        let base = entry.snapshot_of.and_then(|of| self.registry.by_id(of.database_id));
        let reverting = base.and_then(|base| base.entry().reverting);
        reverting.is_some_and(|reverting| reverting.snapshot == entry.guid)
    }

    /// A snapshot or a copy is dropped: its base keeps nothing for it any more.
    pub(super) fn end_snapshot(&self, entry: &DatabaseEntry) {
        let Some(of) = entry.base() else { return };
        self.snapshots.remove(entry.guid);
        let Some(base) = self.registry.by_id(of.database_id) else {
            return;
        };
        let open = match base.state() {
            DatabaseState::Online(database) => Some(database),
            _ => base.broken(),
        };
        if let Some(database) = open {
            database.end_snapshot(entry.guid);
        }
    }

    /// At a start, before any base is opened: opens the sparse files of every snapshot and copy.
    ///
    /// # Errors
    /// Those of master, where it has to say that one is lost.
    pub(super) fn open_snapshot_files(&self) -> Result<()> {
        for object in self.master()?.catalog.objects(0) {
            let ObjectDefinition::Database(entry) = &object.definition else {
                continue;
            };
            let Some(of) = entry.base() else { continue };
            let slot = DatabaseSlot::new(entry.clone(), DatabaseState::Suspect);
            let slot = self.registry.insert(slot);
            if of.is_lost {
                continue;
            }
            match self.open_sparse_files(entry, of) {
                Ok(files) => {
                    self.snapshots.add(Arc::new(files));
                    slot.set_state(match entry.offline {
                        true => DatabaseState::Offline,
                        false => DatabaseState::RecoveryPending,
                    });
                }
                Err(error) => {
                    let source = format!("spid{}s", 8 + entry.database_id);
                    self.env.errorlog.write_error(&source, &error);
                    let operation = Operation::begin(&slot, Work::Alter)?;
                    self.update_entry(&operation, |entry| {
                        let bases = entry.snapshot_of.iter_mut();
                        let bases = bases.chain(entry.copy_of.iter_mut().map(|copy| &mut copy.of));
                        bases.for_each(|base| base.is_lost = true);
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }

    fn open_sparse_files(&self, entry: &DatabaseEntry, of: SnapshotBase) -> Result<SnapshotFiles> {
        let files = self.files_of(entry)?;
        let base = SparseBase {
            kind: match entry.copy_of {
                Some(_) => SparseKind::Copy,
                None => SparseKind::Snapshot,
            },
            database_id: of.database_id,
            guid: of.guid,
            bytes_max: entry.copy_of.and_then(|copy| copy.bytes_max),
        };
        SnapshotFiles::open(&self.env, &files.identity(), base, &files.data_specifications())
    }

    /// Opens the snapshots and copies of bases that are open now.
    pub(super) fn open_snapshots_of(&self, is_meant: impl Fn(u16) -> bool) {
        for slot in self.slots() {
            let entry = slot.entry();
            let is_closed = matches!(slot.state(), DatabaseState::RecoveryPending);
            let Some(of) = entry.base().filter(|of| is_closed && is_meant(of.database_id)) else {
                continue;
            };
            let Some(files) = self.snapshots.find(entry.guid).filter(|files| files.has_base()) else {
                continue;
            };
            // One of a base that was not opened reads what its recovery would have written.
            if self.database_by_id(of.database_id).is_some() {
                let opened = match entry.copy_of {
                    Some(_) => self.open_files(&entry),
                    None => self.open_one_snapshot(&entry, &files),
                };
                slot.set_state(self.state_after(&entry, opened));
            }
        }
    }

    fn open_one_snapshot(&self, entry: &DatabaseEntry, snapshot: &Arc<SnapshotFiles>) -> Result<Opened> {
        let files = self.files_of(entry)?;
        let opened = Database::open_snapshot(&self.opening(), &files, snapshot)?;
        Ok(Opened::Online(Arc::new(opened)))
    }
}
