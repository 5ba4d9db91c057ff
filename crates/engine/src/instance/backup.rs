//! BACKUP statements of a session, and RESTORE statements that only describe media files.

use super::intents::Proof;
use super::paths::{Admission, Claim, Purpose, Verdict};
use super::{Instance, MASTER, Operation, TEMPDB, Work};
use crate::backup::{
    BackupEvent, BackupKind, BackupRequest, BackupSummary, LogTail, MadeSet, MediaLabel, MediaPlace, MediaReader,
    Progress, Report, SetDescription, SetLog, is_null_device,
};
use crate::catalog::FileIntent;
use crate::database::{BackupPlace, Database};
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};
use crate::seams::DateTimeTicks;
use crate::session::Session;
use std::ops::Deref;
use std::sync::Arc;

/// Every error of a failed BACKUP or RESTORE, in the order in which they are reported.
pub type Failed = Vec<Error>;

/// Appends 3013.
pub(super) fn ended(statement: &str, errors: Vec<Error>) -> Failed {
    let mut errors = errors;
    errors.push(Error::terminating_abnormally(statement));
    errors
}

impl Instance {
    /// BACKUP DATABASE and BACKUP LOG.
    ///
    /// # Errors
    /// 911 and its kin for the database, 3147 for tempdb, 3101 for NORECOVERY while the database is in use, and those of
    /// [`Database::back_up`]; 3013 is last.
    pub fn backup(
        &self,
        database: &str,
        request: &BackupRequest,
        session: &Session,
        report: &mut Report<'_>,
    ) -> std::result::Result<BackupSummary, Failed> {
        let statement = match request.kind {
            BackupKind::Database => "BACKUP DATABASE",
            BackupKind::Log => "BACKUP LOG",
        };
        let outcome = self.backup_planned(database, request, session, report);
        if let Err(error) = &outcome {
            let text = format!(
                "{statement} failed to complete the command for database '{database}': {}",
                error.message
            );
            self.env.errorlog.write("Backup", text);
        }
        let (summary, made) = outcome.map_err(|error| ended(statement, vec![error]))?;
        let device = self.device_path(&request.path);
        if let Err(untold) = self.note_backup(&made, &device) {
            // A listener that refuses the message gets the same backup.
            let _ = report(BackupEvent::Message(untold));
        }
        Ok(summary)
    }

    /// A device as history has it: the file's whole path on this machine, or NUL.
    pub fn device_path(&self, device: &str) -> String {
        match is_null_device(device) {
            true => "NUL".to_string(),
            false => self
                .resolve(device)
                .map_or_else(|_| device.to_string(), |path| path.display().to_string()),
        }
    }

    fn backup_planned(
        &self,
        name: &str,
        request: &BackupRequest,
        session: &Session,
        report: &mut Report<'_>,
    ) -> Result<(BackupSummary, MadeSet)> {
        let is_tail = request.kind == BackupKind::Log && request.tail == LogTail::NoRecovery;
        let work = if is_tail { Work::Tail } else { Work::Backup };
        let operation = self.operate(name, work)?;
        let operation = operation.ok_or_else(|| Error::no_such_database(name))?;
        if operation.entry().snapshot_of.is_some() {
            return Err(Error::no_backup_of_snapshot());
        }
        let database = operation.database()?;
        if database.id == TEMPDB {
            return Err(Error::no_backup_of_tempdb());
        }
        if is_tail {
            self.check_no_snapshots(database.id)?;
            // What the tail leaves waits for a RESTORE, of which there is none over a copy.
            if operation.entry().copy_of.is_some() {
                return Err(Error::not_on_a_copy());
            }
        }
        if database.id == MASTER && request.differential {
            return Err(Error::master_is_backed_up_in_full());
        }
        // It is not dropped, replaced or closed meanwhile. A tail-log backup has the database to itself.
        let _in_use = (!is_tail).then(|| session.hold(&database)).transpose()?;
        let set_guid = self.new_guid(&request.path);
        let target = self.take_target(request, set_guid)?;
        let place = BackupPlace {
            media: target.media,
            server_name: &self.options.server_name,
            software_version: self.options.version.product_version(),
            set_guid,
        };
        let outcome = match is_tail {
            true => self.backup_tail(&operation, &database, request, place, session, report),
            false => database.back_up(request, place, report),
        };
        if let Some(intent) = &target.intent {
            // The file has its name, or is not wanted: none of the name it had meanwhile stays.
            self.sweep(intent, Proof::Contents);
        }
        outcome
    }

    /// What BACKUP writes to; a new file is intended before it is made.
    fn take_target(&self, request: &BackupRequest, set_guid: [u8; 16]) -> Result<BackupTarget> {
        if is_null_device(&request.path) {
            return Ok(BackupTarget {
                media: MediaPlace::Null,
                intent: None,
                _claim: None,
            });
        }
        self.sweep_left_behind();
        let purpose = match request.format {
            true => Purpose::FormattedBackup,
            false => Purpose::Backup,
        };
        let admission = self.admit(&request.path, purpose, None);
        let Admission {
            path,
            verdict,
            file,
            claim,
        } = admission.map_err(|refused| refused.for_device())?;
        let _claim = Some(claim);
        if let (Verdict::Use, false, Some(file)) = (verdict, request.init, &file) {
            return Ok(BackupTarget {
                media: MediaPlace::Existing(file.clone()),
                intent: None,
                _claim,
            });
        }
        let cannot_open = |error: disk::DiskError| Error::cannot_open_device(&request.path, &Error::cause(&error));
        if let Some(folder) = path.parent() {
            self.env.disk.create_directories(folder).map_err(cannot_open)?;
        }
        let temporary = disk::temporary_path(&path, &set_guid);
        let statement = format!("BACKUP to '{}'", path.display());
        let mut intent = self.new_intent(&statement, set_guid, [temporary.clone()])?;
        intent.files.iter_mut().for_each(|file| file.by_name = true);
        self.begin_intent(&intent)?;
        Ok(BackupTarget {
            media: MediaPlace::New {
                temporary,
                path,
                former: file,
            },
            intent: Some(intent),
            _claim,
        })
    }

    /// NORECOVERY: nobody may write behind the backup, so the database is taken out of use first.
    fn backup_tail(
        &self,
        operation: &Operation,
        database: &Arc<Database>,
        request: &BackupRequest,
        place: BackupPlace<'_>,
        session: &Session,
        report: &mut Report<'_>,
    ) -> Result<(BackupSummary, MadeSet)> {
        let resource = Resource::Database(database.id);
        database.wait_for_recovery()?;
        if session.locks().mode_of(&resource).is_some() || !session.locks().try_lock(resource, Mode::X) {
            return Err(Error::no_exclusive_access());
        }
        let outcome = database.back_up(request, place, report);
        let outcome = outcome.and_then(|made| self.leave_restoring(operation, database).map(|()| made));
        session.locks().unlock(resource);
        outcome
    }

    /// The sets of a media file: RESTORE HEADERONLY.
    pub fn backup_headers(&self, path: &str) -> std::result::Result<Vec<SetDescription>, Failed> {
        let read = || -> Result<Vec<SetDescription>> {
            let media = self.open_media(path)?;
            let positions = 1..=media.sets().len() as u32;
            positions.map(|position| Ok(media.set(position)?.1)).collect()
        };
        read().map_err(|error| ended("RESTORE HEADERONLY", vec![error]))
    }

    /// A set, whose files, filegroups and base RESTORE FILELISTONLY shows.
    pub fn backup_file_list(&self, path: &str, file: Option<u32>) -> std::result::Result<SetDescription, Failed> {
        let read = || Ok(self.open_media(path)?.set(file.unwrap_or(1))?.1);
        read().map_err(|error| ended("RESTORE FILELIST", vec![error]))
    }

    /// What a media file says of itself: RESTORE LABELONLY.
    pub fn backup_label(&self, path: &str) -> std::result::Result<MediaLabel, Failed> {
        let read = || Ok(self.open_media(path)?.label().clone());
        read().map_err(|error: Error| ended("RESTORE LABELONLY", vec![error]))
    }

    /// The log of a set on a media file, counted from 1. Nobody writes to the file meanwhile.
    ///
    /// # Errors
    /// As RESTORE's, for the device and for a set that is not there.
    pub fn log_of_backup(&self, path: &str, position: u32) -> Result<BackupLog> {
        let media = self.open_media(path)?;
        let (set, _) = media.set(position)?;
        Ok(BackupLog {
            log: SetLog::new(set),
            _media: media,
        })
    }

    /// Reads and checks every byte of a set: RESTORE VERIFYONLY. Success is message 3262.
    pub fn verify_backup(
        &self,
        path: &str,
        file: Option<u32>,
        report: &mut Report<'_>,
    ) -> std::result::Result<(), Failed> {
        let position = file.unwrap_or(1).max(1);
        let verified = self.read_whole_set(path, position, report);
        let verified = verified.and_then(|()| report(BackupEvent::Message(Error::set_is_valid(position))));
        verified.map_err(|error| ended("VERIFY DATABASE", vec![error]))
    }

    pub(super) fn read_whole_set(&self, path: &str, position: u32, report: &mut Report<'_>) -> Result<()> {
        let media = self.open_media(path)?;
        let (mut set, _) = media.set(position)?;
        let mut progress = Progress::new(report, Some(100), set.header().set_bytes);
        while let Some(chunk) = set.next_chunk()? {
            // The percentage is reported by events alone.
            progress.add_quietly(chunk.stored_bytes)?;
        }
        Ok(())
    }

    /// Deletes a backup file of which every set ended before a moment. Answers whether it did: anything else stays, files that are no backups
    /// and those that a statement uses among them.
    ///
    /// # Errors
    /// 3201 when the file cannot be deleted.
    pub fn delete_backup(&self, device: &str, before: DateTimeTicks) -> Result<bool> {
        let Ok(admission) = self.admit(device, Purpose::Backup, None) else {
            return Ok(false);
        };
        let media = admission
            .file
            .and_then(|file| MediaReader::open(&self.env, device, file).ok());
        let Some(media) = media else { return Ok(false) };
        let is_old = |position| media.set(position).is_ok_and(|(_, set)| set.finished < before);
        let sets = u32::try_from(media.sets().len()).unwrap_or(u32::MAX);
        if sets == 0 || !(1..=sets).all(is_old) {
            return Ok(false);
        }
        drop(media);
        let deleted = self.env.disk.delete(&admission.path);
        deleted.map_err(|error| Error::cannot_open_device(device, &Error::cause(&error)))?;
        Ok(true)
    }

    /// # Errors
    /// 3254 for the null device, and those of [`MediaReader::open`].
    pub(super) fn open_media(&self, device: &str) -> Result<OpenMedia> {
        if is_null_device(device) {
            return Err(Error::empty_device(device));
        }
        let admission = self.admit(device, Purpose::ReadBackup, None);
        let admission = admission.map_err(|refused| refused.for_device())?;
        let missing = || Error::empty_device(device);
        let media = MediaReader::open(&self.env, device, admission.file.ok_or_else(missing)?)?;
        Ok(OpenMedia {
            media,
            _claim: admission.claim,
        })
    }
}

/// What a backup writes to; held while it does.
struct BackupTarget {
    media: MediaPlace,
    intent: Option<FileIntent>,
    _claim: Option<Claim>,
}

/// The log of a backup, being read.
pub struct BackupLog {
    pub log: SetLog,
    _media: OpenMedia,
}

/// A media file that is read; nobody writes it meanwhile.
pub(super) struct OpenMedia {
    media: MediaReader,
    _claim: Claim,
}

impl Deref for OpenMedia {
    type Target = MediaReader;

    fn deref(&self) -> &MediaReader {
        &self.media
    }
}
