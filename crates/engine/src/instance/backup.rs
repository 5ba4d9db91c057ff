//! BACKUP as a session asks for it, and what RESTORE shows of media files.

use super::{Instance, TEMPDB};
use crate::backup::{
    BackupEvent, BackupFile, BackupKind, BackupRequest, BackupSummary, LogTail, MediaLabel, MediaReader, Progress,
    Report, SetDescription, is_null_device,
};
use crate::database::{BackupPlace, Database};
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};
use crate::session::Session;
use std::path::Path;
use std::sync::Arc;

/// Every error of a failed BACKUP or RESTORE, in the order in which they are told.
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
    /// Errors: 911 and its kin for the database, 3147 for tempdb, 3101 for NORECOVERY while the database is in use, and those
    /// of [`Database::back_up`]; 3013 is last.
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
        outcome.map_err(|error| ended(statement, vec![error]))
    }

    fn backup_planned(
        &self,
        name: &str,
        request: &BackupRequest,
        session: &Session,
        report: &mut Report<'_>,
    ) -> Result<BackupSummary> {
        let database = self.database(name)?;
        if database.id == TEMPDB {
            return Err(Error::no_backup_of_tempdb());
        }
        let path = match is_null_device(&request.path) {
            true => None,
            false => Some(self.resolve(&request.path)?),
        };
        let cannot_open = |error: disk::DiskError| Error::cannot_open_device(&request.path, &Error::cause(&error));
        if let Some(folder) = path.as_deref().and_then(Path::parent) {
            self.env.disk.create_directories(folder).map_err(cannot_open)?;
        }
        let place = BackupPlace {
            path: path.as_deref(),
            server_name: &self.options.server_name,
            software_version: self.options.version.product_version(),
            set_guid: self.new_guid(&request.path),
        };
        match request.tail {
            LogTail::NoRecovery if request.kind == BackupKind::Log => {
                self.backup_tail(&database, request, &place, session, report)
            }
            _ => database.back_up(request, &place, report),
        }
    }

    /// NORECOVERY: nobody may write behind the backup, so the database is taken out of use first.
    fn backup_tail(
        &self,
        database: &Arc<Database>,
        request: &BackupRequest,
        place: &BackupPlace<'_>,
        session: &Session,
        report: &mut Report<'_>,
    ) -> Result<BackupSummary> {
        let resource = Resource::Database(database.id);
        database.wait_for_recovery()?;
        if session.locks().mode_of(&resource).is_some() || !session.locks().try_lock(resource, Mode::X) {
            return Err(Error::no_exclusive_access());
        }
        let outcome = database.back_up(request, place, report);
        let outcome = outcome.and_then(|summary| self.leave_restoring(database).map(|()| summary));
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

    /// The files of a set's database: RESTORE FILELISTONLY.
    pub fn backup_file_list(&self, path: &str, file: Option<u32>) -> std::result::Result<Vec<BackupFile>, Failed> {
        let read = || Ok(self.open_media(path)?.set(file.unwrap_or(1))?.1.files);
        read().map_err(|error| ended("RESTORE FILELIST", vec![error]))
    }

    /// What a media file says of itself: RESTORE LABELONLY.
    pub fn backup_label(&self, path: &str) -> std::result::Result<MediaLabel, Failed> {
        let read = || Ok(self.open_media(path)?.label().clone());
        read().map_err(|error: Error| ended("RESTORE LABELONLY", vec![error]))
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
            // The percentage is told by events alone.
            progress.add_quietly(chunk.stored_bytes)?;
        }
        Ok(())
    }

    /// Errors: 3254 for the null device, and those of [`MediaReader::open`].
    pub(super) fn open_media(&self, device: &str) -> Result<MediaReader> {
        if is_null_device(device) {
            return Err(Error::empty_device(device));
        }
        let path = self.resolve(device)?;
        MediaReader::open(&self.env, device, &path)
    }
}
