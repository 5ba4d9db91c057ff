//! BACKUP statements of a session, and RESTORE statements that only describe media files.

use super::intents::Proof;
use super::paths::{Admission, Claim, Purpose, Verdict};
use super::{Instance, MASTER, Operation, TEMPDB, Work};
use crate::backup::{
    BackupEvent, BackupKind, BackupRequest, BackupSummary, LogTail, MadeSet, MediaLabel, MediaPlace, MediaReader,
    MediaSet, Progress, Report, SetDescription, SetLog, is_null_device,
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
        let devices: Vec<String> = made.devices.iter().map(|device| self.device_path(device)).collect();
        if let Err(untold) = self.note_backup(&made, &devices) {
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
        let target = self.take_targets(request, set_guid)?;
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

    /// What BACKUP writes to; new files are intended before they are made.
    fn take_targets(&self, request: &BackupRequest, set_guid: [u8; 16]) -> Result<BackupTarget> {
        let mut target = BackupTarget {
            media: Vec::new(),
            intent: None,
            _claims: Vec::new(),
        };
        if request.paths().any(|device| !is_null_device(device)) {
            self.sweep_left_behind();
        }
        for device in request.paths() {
            let (place, claim) = self.take_target(device, request, set_guid)?;
            target.media.push((device.clone(), place));
            target._claims.extend(claim);
        }
        let new = target.media.iter().filter_map(|(_, place)| match place {
            MediaPlace::New { temporary, path, .. } => Some((temporary.clone(), path.display().to_string())),
            MediaPlace::Null | MediaPlace::Existing(_) => None,
        });
        let (temporaries, paths): (Vec<_>, Vec<_>) = new.unzip();
        if !temporaries.is_empty() {
            let statement = format!("BACKUP to '{}'", paths.join("', '"));
            let mut intent = self.new_intent(&statement, set_guid, temporaries)?;
            intent.files.iter_mut().for_each(|file| file.by_name = true);
            self.begin_intent(&intent)?;
            target.intent = Some(intent);
        }
        Ok(target)
    }

    /// Where the part of the set goes that one device gets.
    fn take_target(
        &self,
        device: &str,
        request: &BackupRequest,
        set_guid: [u8; 16],
    ) -> Result<(MediaPlace, Option<Claim>)> {
        if is_null_device(device) {
            return Ok((MediaPlace::Null, None));
        }
        let purpose = match request.format {
            true => Purpose::FormattedBackup,
            false => Purpose::Backup,
        };
        let admission = self.admit(device, purpose, None);
        let Admission {
            path,
            verdict,
            file,
            claim,
        } = admission.map_err(|refused| refused.for_device())?;
        if let (Verdict::Use, false, Some(file)) = (verdict, request.init, &file) {
            return Ok((MediaPlace::Existing(file.clone()), Some(claim)));
        }
        let cannot_open = |error: disk::DiskError| Error::cannot_open_device(device, &Error::cause(&error));
        if let Some(folder) = path.parent() {
            self.env.disk.create_directories(folder).map_err(cannot_open)?;
        }
        let place = MediaPlace::New {
            temporary: disk::temporary_path(&path, &set_guid),
            path,
            former: file,
        };
        Ok((place, Some(claim)))
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

    /// The sets of media files: RESTORE HEADERONLY. Some files of a media set are enough.
    pub fn backup_headers(&self, paths: &[String]) -> std::result::Result<Vec<SetDescription>, Failed> {
        let read = || -> Result<Vec<SetDescription>> {
            let media = self.open_some_media(paths)?;
            (1..=media.set_count())
                .map(|position| media.description(position))
                .collect()
        };
        read().map_err(|error| ended("RESTORE HEADERONLY", vec![error]))
    }

    /// A set, whose files, filegroups and base RESTORE FILELISTONLY shows. Some files of its media set are enough.
    pub fn backup_file_list(&self, paths: &[String], file: Option<u32>) -> std::result::Result<SetDescription, Failed> {
        let read = || self.open_some_media(paths)?.description(file.unwrap_or(1));
        read().map_err(|error| ended("RESTORE FILELIST", vec![error]))
    }

    /// What media files say of themselves: RESTORE LABELONLY.
    pub fn backup_labels(&self, paths: &[String]) -> std::result::Result<Vec<MediaLabel>, Failed> {
        let read = || Ok(self.open_some_media(paths)?.labels());
        read().map_err(|error: Error| ended("RESTORE LABELONLY", vec![error]))
    }

    /// The log of a set on a media file, counted from 1. Nobody writes to the file meanwhile.
    ///
    /// # Errors
    /// As RESTORE's, for the device and for a set that is not there.
    pub fn log_of_backup(&self, path: &str, position: u32) -> Result<BackupLog> {
        let media = self.open_media(&[path.to_owned()])?;
        let (set, _) = media.set(position)?;
        Ok(BackupLog {
            log: SetLog::new(set),
            _media: media,
        })
    }

    /// Reads and checks every byte of a set: RESTORE VERIFYONLY. Success is message 3262.
    pub fn verify_backup(
        &self,
        paths: &[String],
        file: Option<u32>,
        report: &mut Report<'_>,
    ) -> std::result::Result<(), Failed> {
        let position = file.unwrap_or(1).max(1);
        let verified = self.read_whole_set(paths, position, report);
        let verified = verified.and_then(|()| report(BackupEvent::Message(Error::set_is_valid(position))));
        verified.map_err(|error| ended("VERIFY DATABASE", vec![error]))
    }

    pub(super) fn read_whole_set(&self, paths: &[String], position: u32, report: &mut Report<'_>) -> Result<()> {
        let media = self.open_media(paths)?;
        let (mut set, _) = media.set(position)?;
        let mut progress = Progress::new(report, Some(100), set.set_bytes());
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
        let is_old = |position| media.set(position, 1).is_ok_and(|(_, set)| set.finished < before);
        let sets = u32::try_from(media.sets().len()).unwrap_or(u32::MAX);
        if sets == 0 || !(1..=sets).all(is_old) {
            return Ok(false);
        }
        drop(media);
        let deleted = self.env.disk.delete(&admission.path);
        deleted.map_err(|error| Error::cannot_open_device(device, &Error::cause(&error)))?;
        Ok(true)
    }

    /// All files of a media set.
    ///
    /// # Errors
    /// 3254 for the null device, and those of [`MediaReader::open`] and [`MediaSet::whole`].
    pub(super) fn open_media(&self, devices: &[String]) -> Result<OpenMedia> {
        let (media, _claims) = self.open_media_files(devices)?;
        let media = MediaSet::whole(media)?;
        Ok(OpenMedia { media, _claims })
    }

    /// Some files of a media set.
    fn open_some_media(&self, devices: &[String]) -> Result<OpenMedia> {
        let (media, _claims) = self.open_media_files(devices)?;
        let media = MediaSet::some(media)?;
        Ok(OpenMedia { media, _claims })
    }

    fn open_media_files(&self, devices: &[String]) -> Result<(Vec<MediaReader>, Vec<Claim>)> {
        let (mut media, mut claims) = (Vec::new(), Vec::new());
        for device in devices {
            if is_null_device(device) {
                return Err(Error::empty_device(device));
            }
            let admission = self.admit(device, Purpose::ReadBackup, None);
            let admission = admission.map_err(|refused| refused.for_device())?;
            let missing = || Error::empty_device(device);
            let file = admission.file.ok_or_else(missing)?;
            media.push(MediaReader::open(&self.env, device, file)?);
            claims.push(admission.claim);
        }
        Ok((media, claims))
    }
}

/// What a backup writes to; held while it does.
struct BackupTarget {
    media: Vec<(String, MediaPlace)>,
    intent: Option<FileIntent>,
    _claims: Vec<Claim>,
}

/// The log of a backup, being read.
pub struct BackupLog {
    pub log: SetLog,
    _media: OpenMedia,
}

/// Media files that are read; nobody writes them meanwhile.
pub(super) struct OpenMedia {
    media: MediaSet,
    _claims: Vec<Claim>,
}

impl Deref for OpenMedia {
    type Target = MediaSet;

    fn deref(&self) -> &MediaSet {
        &self.media
    }
}
