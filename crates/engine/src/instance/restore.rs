//! RESTORE: recreates a database from backup sets.
//!
//! | there is a database of that name | RESTORE of a full set | of a log set |
//! |---|---|---|
//! | no | creates it | 3118 |
//! | RESTORING, from the same family | replaces it | continues |
//! | RESTORING, its files removed by an interrupted RESTORE | replaces it | 4319 |
//! | usable, from the same family, log not kept | replaces it | 3117 |
//! | usable, from the same family, log kept | 3159 without REPLACE | 3117 |
//! | from another family | 3154 without REPLACE | 3154 |
//! | RESTORING from backups of another server | 3154 without REPLACE | 3154 |
//! | in use | 3101, 3102 | 3117 |
//!
//! A differential set is treated like a log set, provided that its base was restored (3136).
//!
//! The whole set is read and checked before an existing database is touched.
//!
//! A RESTORE holds the database's operation from its first check of the database to the end of its recovery ([`super::operation`]).
//!
//! Invariant: while files are being created, there is an intent ([`super::intents`]). A crash then leaves no database, never half of one;
//! if a database was being replaced, it leaves that database RESTORING.

use super::backup::{Failed, ended};
use super::create::paths_of;
use super::filegroups::filegroups_after;
use super::intents::{MasterChange, proof_of};
use super::msdb::{HistorySet, RestoredSet};
use super::paths::{Admission, Purpose, Verdict};
use super::registry::DatabaseState;
use super::{Instance, MASTER, MSDB, Operation, TEMPDB, Work};
use crate::backup::{
    AfterRestore, BackupFile, BackupSummary, MediaSet, Progress, Report, RestoreRequest, SetDescription, SetKind,
    SetReader,
};
use crate::buffer::DatabaseId;
use crate::catalog::{DatabaseEntry, FileEntry};
use crate::database::{
    CreateFile, Database, DatabaseFiles, Opened, RestoreSource, Restored, check_differential, check_follows,
};
use crate::error::{Error, NotStored, Result};
use crate::lock::{Mode, Resource};
use crate::page::PAGE_BYTES;
use crate::seams::TRACE_FILE_WORK;
use crate::session::Session;

/// Errors of one step, in the order in which they are reported.
type Steps<T> = std::result::Result<T, Vec<Error>>;

fn one(error: Error) -> Vec<Error> {
    vec![error]
}

impl Instance {
    /// RESTORE DATABASE and RESTORE LOG: what the set is decides.
    ///
    /// # Errors
    /// See the table of the module; 3201 to 3287 for the media, 3234, 3156, 1834, 5133 for files (then 3119), 4305, 4319,
    /// 4326 and 4330 for the chain, 4335 and 4338 for the point in time; 3013 is last.
    pub fn restore(
        &self,
        database: &str,
        request: &RestoreRequest,
        session: &Session,
        report: &mut Report<'_>,
    ) -> std::result::Result<BackupSummary, Failed> {
        let statement = match request.kind {
            crate::backup::RestoreKind::Database => "RESTORE DATABASE",
            crate::backup::RestoreKind::Log => "RESTORE LOG",
        };
        let outcome = match &request.path {
            Some(path) => {
                let devices: Vec<String> = std::iter::once(path).chain(&request.further_paths).cloned().collect();
                self.restore_from(database, &devices, request, session, report)
            }
            None => self.recover_only(database, request, session, report),
        };
        outcome.map_err(|errors| ended(statement, errors))
    }

    fn restore_from(
        &self,
        name: &str,
        devices: &[String],
        request: &RestoreRequest,
        session: &Session,
        report: &mut Report<'_>,
    ) -> Steps<BackupSummary> {
        let started_micros = self.env.clock.now_micros();
        let tell = |text: &str| self.env.trace(TRACE_FILE_WORK, || format!("{text}{name}"));
        tell(match request.kind {
            crate::backup::RestoreKind::Database => "RestoreDatabase: Database ",
            crate::backup::RestoreKind::Log => "RestoreLog: Database ",
        });
        let media = self.open_media(devices).map_err(one)?;
        let (mut set, description) = media.set(request.file).map_err(one)?;
        if request.checksum && !description.checksum {
            let text = "RESTORE WITH CHECKSUM cannot be specified because the backup set does not contain checksum information.";
            return Err(one(Error::new(3187, 16, 1, text)));
        }
        self.env
            .trace(TRACE_FILE_WORK, || "Restore: Backup set is open".to_string());
        let mut progress = Progress::new(report, request.stats_percent, set.set_bytes());
        let work = RestoreWork {
            name,
            request,
            session,
            media: &media,
            description: &description,
        };
        tell("Restore: Transferring data to ");
        let outcome = match description.kind {
            SetKind::Database => self.restore_full(&work, &mut set, &mut progress)?,
            SetKind::Differential | SetKind::Log => self.restore_on_top(&work, &mut set, &mut progress)?,
        };
        tell("Restore: Data transfer complete on ");
        let (operation, restored) = outcome;
        let finished = self.after_restore(&operation, &work, restored, &mut progress);
        drop(operation);
        finished.map_err(one)?;
        tell("Restore is complete on database ");
        self.note_restored(&work, &mut progress);
        let pages = description.log_pages
            + description.files.iter().map(|file| file.backup_bytes).sum::<u64>() / PAGE_BYTES as u64;
        let summary = BackupSummary {
            pages,
            micros: self.env.clock.now_micros().saturating_sub(started_micros),
            position: description.position,
            stored_bytes: set.set_bytes(),
        };
        let statement = format!("RESTORE {}", description.kind.restore_noun());
        let last = Error::successfully_processed(&statement, pages, summary.micros);
        progress.message(last).map_err(one)?;
        Ok(summary)
    }

    /// History cannot undo what was restored: a failure to write it is reported, no more.
    fn note_restored(&self, work: &RestoreWork<'_>, progress: &mut Progress<'_, '_>) {
        let devices = work.media.devices();
        let devices: Vec<String> = devices.iter().map(|device| self.device_path(device)).collect();
        let entry = self.registry.find(work.name).map(|slot| slot.entry());
        let files: Vec<(u16, String)> = entry.map_or_else(Vec::new, |entry| {
            let files = entry.files.into_iter();
            files.map(|file| (file.file_id, file.physical_name)).collect()
        });
        let noted = self.note_restore(&RestoredSet {
            database: work.name,
            request: work.request,
            set: &HistorySet::of(work.description, work.media.label(), &devices),
            finished: self.env.clock.wall_ticks(),
            files: &files,
        });
        if let Err(untold) = noted {
            let _ = progress.message(untold);
        }
    }

    fn after_restore(
        &self,
        operation: &Operation,
        work: &RestoreWork<'_>,
        restored: Restored,
        progress: &mut Progress<'_, '_>,
    ) -> Result<()> {
        progress.finish()?;
        let first_log = work
            .description
            .files
            .iter()
            .find(|file| file.file.log)
            .map(|file| file.file.file_id);
        for file in &work.description.files {
            let pages = match file.file.log {
                true if Some(file.file.file_id) == first_log => work.description.log_pages,
                true => continue,
                false => file.backup_bytes / PAGE_BYTES as u64,
            };
            let position = work.description.position;
            progress.message(Error::pages_processed(pages, work.name, &file.file.name, position))?;
        }
        let mut after = work.request.after;
        if !restored.stop_point_reached && after == AfterRestore::Recovery {
            if let Some(stop) = &work.request.stop_at {
                progress.message(stop.not_reached())?;
            }
            after = AfterRestore::NoRecovery;
        }
        self.roll_forward(operation, after)?;
        match &work.request.standby {
            Some(undo_file) => self.enter_standby(operation, undo_file),
            None => Ok(()),
        }
    }

    fn roll_forward(&self, operation: &Operation, after: AfterRestore) -> Result<()> {
        let files = self.files_of(&operation.entry())?;
        let name = &files.entry.name;
        let tell = |text: &str| self.env.trace(TRACE_FILE_WORK, || format!("{text} on database {name}"));
        tell("Restore-Redo begins");
        if let Opened::Online(database) = Database::roll_forward(&self.opening(), &files, after)? {
            operation.set_state(DatabaseState::Online(database));
        }
        tell("Rollforward complete");
        Ok(())
    }

    /// RESTORE DATABASE x WITH RECOVERY, or with STANDBY; with NORECOVERY alone it goes on waiting, a standby database too.
    fn recover_only(
        &self,
        name: &str,
        request: &RestoreRequest,
        session: &Session,
        report: &mut Report<'_>,
    ) -> Steps<BackupSummary> {
        let started_micros = self.env.clock.now_micros();
        let operation = self.begin_roll_forward(name).map_err(one)?;
        let is_recovered = request.standby.is_none() && request.after == AfterRestore::Recovery;
        let is_online = is_recovered && self.recover_standby(&operation, session).map_err(one)?;
        if !is_online {
            self.leave_standby(&operation, session).map_err(one)?;
            check_restoring(&operation).map_err(one)?;
            let brought_up = match &request.standby {
                Some(undo_file) => self.enter_standby(&operation, undo_file),
                None if !is_recovered => Ok(()),
                None => self.roll_forward(&operation, AfterRestore::Recovery),
            };
            brought_up.map_err(one)?;
        }
        drop(operation);
        let micros = self.env.clock.now_micros().saturating_sub(started_micros);
        let last = Error::successfully_processed("RESTORE DATABASE", 0, micros);
        report(crate::backup::BackupEvent::Message(last)).map_err(one)?;
        Ok(BackupSummary {
            micros,
            ..BackupSummary::default()
        })
    }

    fn begin_roll_forward(&self, name: &str) -> Result<Operation> {
        let operation = self.operate(name, Work::Restore)?;
        let operation = operation.ok_or_else(|| Error::no_database_to_restore(name))?;
        self.check_restorable(&operation.entry())?;
        Ok(operation)
    }

    pub(super) fn files_of(&self, entry: &DatabaseEntry) -> Result<DatabaseFiles> {
        let paths = paths_of(self, entry)?.into_iter();
        Ok(DatabaseFiles {
            entry: entry.clone(),
            files: paths.map(|path| CreateFile { path, bytes: 0 }).collect(),
        })
    }

    /// A log or differential set.
    fn restore_on_top(
        &self,
        work: &RestoreWork<'_>,
        set: &mut SetReader,
        progress: &mut Progress<'_, '_>,
    ) -> Steps<(Operation, Restored)> {
        let operation = self.begin_roll_forward(work.name).map_err(one)?;
        match operation.state() {
            // What does not follow leaves a standby database as it is.
            DatabaseState::Online(database) if database.is_standby() => {
                let (boot, stop_at) = (database.boot(), work.request.stop_at.as_ref());
                let checked = match work.description.kind {
                    SetKind::Differential => check_differential(&boot, &database.name(), work.description),
                    _ => check_follows(&boot, &database.name(), work.description, stop_at),
                };
                checked.map_err(one)?;
            }
            _ => check_restoring(&operation).map_err(one)?,
        }
        self.check_whole_set(work).map_err(one)?;
        self.leave_standby(&operation, work.session).map_err(one)?;
        let entry = self.take_new_files(&operation, work)?;
        let files = self.files_of(&entry).map_err(one)?;
        let mut source = work.source(set);
        let restored = match work.description.kind {
            SetKind::Differential => Database::restore_differential(&self.opening(), &files, &mut source, progress),
            _ => Database::restore_log(&self.opening(), &files, &mut source, progress),
        };
        let restored = restored.map_err(one)?;
        Ok((operation, restored))
    }

    /// Files that the database got since the set before become part of its entry.
    fn take_new_files(&self, operation: &Operation, work: &RestoreWork<'_>) -> Steps<DatabaseEntry> {
        let mut entry = operation.entry();
        let is_new = |file: &&BackupFile| entry.files.iter().all(|known| known.file_id != file.file.file_id);
        let new: Vec<FileEntry> = work
            .description
            .files
            .iter()
            .filter(is_new)
            .map(|file| file.file.clone())
            .collect();
        let filegroups = filegroups_after(&entry, &work.description.filegroups);
        let has_other_filegroups = entry.filegroups != filegroups;
        if new.is_empty() && !has_other_filegroups {
            return Ok(entry);
        }
        // A set that does not follow changes nothing.
        let files = self.files_of(&entry).map_err(one)?;
        let follows = Database::check_set(&self.opening(), &files, work.description, work.request.stop_at.as_ref());
        follows.map_err(one)?;
        entry.filegroups = filegroups;
        if new.is_empty() {
            let stored = self.change_entry(operation, entry.clone(), None, None);
            stored.map_err(|failed| one(failed.error))?;
            return Ok(entry);
        }
        let moved = self.move_files(work, new)?;
        let mut files = self.files_of(&entry).map_err(one)?;
        let mut held = Vec::new();
        for file in &moved {
            let admission = self.check_target(file, None, work.request.replace)?;
            let in_set = work
                .description
                .files
                .iter()
                .find(|other| other.file.file_id == file.file_id);
            files.entry.files.push(file.clone());
            files.files.push(CreateFile {
                path: admission.path.clone(),
                bytes: in_set.map_or(0, |file| file.bytes),
            });
            held.push(admission);
        }
        let statement = format!("RESTORE LOG '{}'", entry.name);
        let paths = held.iter().map(|admission| admission.path.clone());
        let intent = self.new_intent(&statement, entry.guid, paths).map_err(one)?;
        let known = entry.files.len();
        entry = files.entry.clone();
        let mut make = || -> std::result::Result<(), NotStored> {
            self.begin_intent(&intent)?;
            let in_the_way = |admission: &&mut Admission| admission.verdict == Verdict::Replace;
            for admission in held.iter_mut().filter(in_the_way) {
                self.delete_replaced(admission)?;
                admission.file = None;
            }
            self.make_folders(&files.files)?;
            Database::create_new_files(&self.opening(), &files, known)?;
            self.change_entry(operation, entry.clone(), Some(&intent), None)
        };
        make().map_err(|failed| one(self.abandon(&intent, failed)))?;
        Ok(entry)
    }

    /// Reads every byte before anything is changed.
    fn check_whole_set(&self, work: &RestoreWork<'_>) -> Result<()> {
        let (mut set, _) = work.media.set(work.request.file)?;
        while set.next_chunk()?.is_some() {
            work.session.check_cancelled()?;
        }
        Ok(())
    }

    fn restore_full(
        &self,
        work: &RestoreWork<'_>,
        set: &mut SetReader,
        progress: &mut Progress<'_, '_>,
    ) -> Steps<(Operation, Restored)> {
        let description = work.description;
        if let Some(stop) = &work.request.stop_at {
            let checked = stop.check_data_set(description.last_lsn, description.log_end);
            checked.map_err(one)?;
        }
        let Some(existing) = self.operate(work.name, Work::Restore).map_err(one)? else {
            return self.restore_new(work, set, progress);
        };
        let newcomer = Newcomer {
            is_of_family: existing.entry().guid == work.description.family_guid,
            replace: work.request.replace,
            stops: work.request.stop_at.is_some(),
            session: work.session,
        };
        let held = self.take_for_restore(&existing, &newcomer).map_err(one)?;
        let replaced = self.replace(&existing, work, set, progress);
        work.session.locks().unlock(held);
        replaced.map(|restored| (existing, restored))
    }

    /// Whether the database may be replaced, by the table of the module. Answers the lock taken.
    pub(super) fn take_for_restore(&self, operation: &Operation, newcomer: &Newcomer<'_>) -> Result<Resource> {
        let entry = operation.entry();
        match entry.database_id {
            MASTER => return Err(Error::system_database_not_restored()),
            TEMPDB => return Err(Error::no_backup_of_tempdb()),
            id if id <= MSDB => return Err(Error::no_exclusive_access()),
            _ => {}
        }
        self.check_restorable(&entry)?;
        if !newcomer.is_of_family && !newcomer.replace {
            return Err(Error::set_of_another_database(&entry.name));
        }
        let resource = Resource::Database(entry.database_id);
        let locks = newcomer.session.locks();
        if locks.mode_of(&resource).is_some() {
            return Err(Error::in_use_by_this_session("RESTORE", &entry.name));
        }
        let open = match operation.state() {
            DatabaseState::Online(database) => Some(database),
            _ => operation.broken(),
        };
        if let Some(database) = open {
            let keeps_log =
                database.keeps_log_for_backup() && !database.is_standby() && !newcomer.replace && !newcomer.stops;
            if keeps_log {
                return Err(Error::tail_not_backed_up(&entry.name));
            }
        }
        self.let_go_of_broken(operation, newcomer.session.id)?;
        operation.wait_for_recovery()?;
        if !locks.try_lock(resource, Mode::X) {
            return Err(Error::no_exclusive_access());
        }
        Ok(resource)
    }

    fn replace(
        &self,
        operation: &Operation,
        work: &RestoreWork<'_>,
        set: &mut SetReader,
        progress: &mut Progress<'_, '_>,
    ) -> Steps<Restored> {
        let creating = self.registry.creating().map_err(one)?;
        self.sweep_left_behind();
        let mut planned = self.plan_restore(work, Some(&operation.entry()))?;
        drop(creating);
        let statement = restoring(&planned);
        self.check_whole_set(work).map_err(one)?;
        let meanwhile = DatabaseEntry {
            being_replaced: true,
            ..planned.entry.clone()
        };
        self.dismantle(operation, meanwhile, &statement).map_err(one)?;
        let made = self.make_restored(operation, &mut planned, &statement, work, set, progress);
        made.map_err(|error| {
            // Its files are not open any more.
            self.pool.forget_database(DatabaseId(planned.entry.database_id));
            self.locks.admit(planned.entry.database_id);
            one(error)
        })
    }

    fn restore_new(
        &self,
        work: &RestoreWork<'_>,
        set: &mut SetReader,
        progress: &mut Progress<'_, '_>,
    ) -> Steps<(Operation, Restored)> {
        let creating = self.registry.creating().map_err(one)?;
        if self.registry.find(work.name).is_some() {
            return Err(one(Error::no_exclusive_access()));
        }
        self.sweep_left_behind();
        let mut planned = self.plan_restore(work, None)?;
        let operation = self
            .registry
            .insert_begun(planned.entry.clone(), DatabaseState::Restoring, Work::Restore);
        let operation = operation.map_err(one)?;
        drop(creating);
        let statement = restoring(&planned);
        match self.make_restored(&operation, &mut planned, &statement, work, set, progress) {
            Ok(restored) => Ok((operation, restored)),
            Err(error) => {
                self.forget(&operation);
                self.locks.forget_database(planned.entry.database_id);
                Err(one(error))
            }
        }
    }

    /// Takes a database that is about to be replaced out of use and deletes its files. From then on it is RESTORING, with this entry, until
    /// a RESTORE has made it again.
    pub(super) fn dismantle(&self, operation: &Operation, entry: DatabaseEntry, statement: &str) -> Result<()> {
        let former = operation.entry();
        let intent = self.intent_of_files(&former, statement)?;
        let _held = self.hold_files(&intent);
        let change = MasterChange {
            begin: Some(&intent),
            former: &[former.database_id],
            entry: Some(&entry),
            ..MasterChange::default()
        };
        let stored = self.change_rows(&change);
        self.close_if_changed(operation, &stored, DatabaseState::Restoring);
        stored?;
        self.pool.forget_database(DatabaseId(former.database_id));
        operation.set_entry(entry);
        self.sweep(&intent, proof_of(&former));
        Ok(())
    }

    /// Makes the files under an intent. After a failure those it made are gone, or will be.
    fn make_restored(
        &self,
        operation: &Operation,
        planned: &mut PlannedRestore,
        statement: &str,
        work: &RestoreWork<'_>,
        set: &mut SetReader,
        progress: &mut Progress<'_, '_>,
    ) -> Result<Restored> {
        let paths = planned.files.iter().map(|file| file.path.clone());
        let intent = self.new_intent(statement, planned.entry.guid, paths)?;
        let mut make = || -> std::result::Result<Restored, NotStored> {
            self.begin_intent(&intent)?;
            for admission in &mut planned.admissions {
                // Files of the former database are gone by now; others lie in the way of REPLACE.
                if admission.verdict == Verdict::Replace {
                    self.delete_replaced(admission)?;
                    // What is deleted takes its room for as long as it is open, and the new file needs that.
                    admission.file = None;
                }
            }
            let files = DatabaseFiles {
                entry: planned.entry.clone(),
                files: planned.files.clone(),
            };
            let restored = Database::restore_full(&self.opening(), &files, &mut work.source(set), progress)?;
            self.change_entry(operation, planned.entry.clone(), Some(&intent), None)?;
            Ok(restored)
        };
        make().map_err(|failed| self.abandon(&intent, failed))
    }

    /// The entry and the files that the set will become.
    fn plan_restore(&self, work: &RestoreWork<'_>, former: Option<&DatabaseEntry>) -> Steps<PlannedRestore> {
        let description = work.description;
        let planned = |error: Error| vec![error, Error::restore_planning_failed()];
        let in_set = description.files.iter().map(|file| file.file.clone()).collect();
        let entries = self.move_files(work, in_set)?;
        let (mut files, mut admissions) = (Vec::new(), Vec::new());
        let mut needed_bytes = 0;
        for (entry, in_set) in entries.iter().zip(&description.files) {
            let admission = self.check_target(entry, former, work.request.replace)?;
            needed_bytes += in_set.bytes;
            files.push(CreateFile {
                path: admission.path.clone(),
                bytes: in_set.bytes,
            });
            admissions.push(admission);
        }
        for file in &files {
            if let Some(folder) = file.path.parent() {
                let made = self.env.disk.create_directories(folder);
                made.map_err(|error| {
                    planned(Error::directory_lookup_failed(
                        &folder.display().to_string(),
                        &Error::cause(&error),
                    ))
                })?;
            }
        }
        self.check_space(&files, needed_bytes, former).map_err(planned)?;
        let now = self.env.clock.wall_ticks();
        let entry = DatabaseEntry {
            object_id: match former {
                Some(former) => former.object_id,
                None => self.master().map_err(one)?.new_object_id().map_err(one)?,
            },
            guid: description.family_guid,
            database_id: former.map_or_else(|| self.registry.free_id(), |former| former.database_id),
            name: former.map_or_else(|| work.name.to_string(), |former| former.name.clone()),
            files: entries,
            filegroups: description.filegroups.clone(),
            creating: false,
            being_replaced: false,
            offline: false,
            standby: None,
            emergency: false,
            foreign: None,
            snapshot_of: None,
            copy_of: None,
            reverting: None,
            created: (now.days, now.ticks),
        };
        Ok(PlannedRestore {
            entry,
            files,
            admissions,
        })
    }

    /// MOVE.
    ///
    /// # Errors
    /// 3234 for a name that no file has, then 3119.
    fn move_files(&self, work: &RestoreWork<'_>, mut files: Vec<FileEntry>) -> Steps<Vec<FileEntry>> {
        for (name, path) in &work.request.moves {
            let same = |file: &&mut FileEntry| file.name.to_lowercase() == name.to_lowercase();
            let is_in_set = work
                .description
                .files
                .iter()
                .any(|file| file.file.name.to_lowercase() == name.to_lowercase());
            if !is_in_set {
                let unknown = Error::no_such_logical_file(name, work.name);
                return Err(vec![unknown, Error::restore_planning_failed()]);
            }
            if let Some(file) = files.iter_mut().find(same) {
                file.physical_name = path.clone();
            }
        }
        Ok(files)
    }

    /// Whether a file may be made there.
    fn check_target(&self, file: &FileEntry, former: Option<&DatabaseEntry>, replace: bool) -> Steps<Admission> {
        let purpose = Purpose::RestoredFile { replace };
        let admission = self.admit(&file.physical_name, purpose, former.map(|former| former.database_id));
        admission.map_err(|refused| {
            let cannot = Error::file_cannot_be_restored(&file.name, &file.physical_name);
            let why = refused.for_restored_file().into_iter();
            why.chain([cannot, Error::restore_planning_failed()]).collect()
        })
    }

    fn check_space(&self, files: &[CreateFile], needed_bytes: u64, former: Option<&DatabaseEntry>) -> Result<()> {
        let Some(folder) = files.first().and_then(|file| file.path.parent()) else {
            return Ok(());
        };
        let Ok(available) = self.env.disk.available_bytes(folder) else {
            return Ok(());
        };
        let mut freed = 0;
        for path in former.map_or_else(|| Ok(Vec::new()), |former| paths_of(self, former))? {
            freed += self.env.disk.len(&path).ok().flatten().unwrap_or(0);
        }
        match needed_bytes > available.saturating_add(freed) {
            true => Err(Error::no_space_to_restore(
                &folder.display().to_string(),
                needed_bytes,
                available,
            )),
            false => Ok(()),
        }
    }

    /// Takes an open database out of use and leaves it waiting for log. Nobody else may use it.
    pub(super) fn leave_restoring(&self, operation: &Operation, database: &Database) -> Result<()> {
        database.leave_restoring()?;
        operation.set_state(DatabaseState::Restoring);
        self.pool.forget_database(DatabaseId(database.id));
        Ok(())
    }
}

/// Whether the database waits for log or for its recovery.
///
/// # Errors
/// 3117 when it does not; 3154 when it waits for another server's; 4319 when it has no files to recover.
fn check_restoring(operation: &Operation) -> Result<()> {
    let entry = operation.entry();
    match operation.state() {
        DatabaseState::Restoring if entry.being_replaced || entry.reverting.is_some() => {
            let file = entry.files.first().map_or("", |file| file.name.as_str());
            Err(Error::restore_was_interrupted(file))
        }
        DatabaseState::Restoring if entry.foreign.is_some() => Err(Error::set_of_another_database(&entry.name)),
        DatabaseState::Restoring => Ok(()),
        _ => Err(Error::nothing_to_roll_forward()),
    }
}

/// The statement as its intent has it.
fn restoring(planned: &PlannedRestore) -> String {
    format!("RESTORE DATABASE '{}'", planned.entry.name)
}

/// A database as a set will make it; its paths are held.
struct PlannedRestore {
    entry: DatabaseEntry,
    files: Vec<CreateFile>,
    admissions: Vec<Admission>,
}

/// What comes in place of a database.
pub(super) struct Newcomer<'w> {
    /// Its backups are of the same family.
    pub is_of_family: bool,
    /// Whatever database has the name goes.
    pub replace: bool,
    /// WITH STOPAT, STOPATMARK or STOPBEFOREMARK.
    pub stops: bool,
    pub session: &'w Session,
}

/// What one RESTORE is about.
struct RestoreWork<'w> {
    name: &'w str,
    request: &'w RestoreRequest,
    session: &'w Session,
    media: &'w MediaSet,
    description: &'w SetDescription,
}

impl RestoreWork<'_> {
    fn source<'a>(&'a self, set: &'a mut SetReader) -> RestoreSource<'a> {
        RestoreSource {
            set,
            description: self.description,
            stop_at: self.request.stop_at.as_ref(),
        }
    }
}
