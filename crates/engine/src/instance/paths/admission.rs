//! The permitted uses of a path: one decision for every statement with a path.
//!
//! | where | who holds it | what is there | new file | restored file | restored, REPLACE | backup | backup, FORMAT | read | undo file | foreign | rows |
//! |---|---|---|---|---|---|---|---|---|---|---|---|
//! | outside | any | any | outside | outside | outside | outside | outside | outside | outside | outside | outside |
//! | allowed | the system | any | system | system | system | system | system | system | system | system | system |
//! | allowed | any but the system | no file | no file | no file | no file | no file | no file | no file | no file | no file | no file |
//! | allowed | another database | any | in use | in use | in use | in use | in use | in use | in use | in use | in use |
//! | allowed | the database being restored | nothing | in use | make | make | in use | in use | in use | in use | in use | in use |
//! | allowed | the database being restored | a file | in use | replace | replace | in use | in use | in use | in use | in use | in use |
//! | allowed | a statement that writes it | any | in use | in use | in use | in use | in use | in use | in use | in use | in use |
//! | allowed | statements that read it | any | in use | in use | in use | in use | in use | as nobody | in use | as nobody | as nobody |
//! | allowed | nobody | nothing | make | make | make | make | make | missing | make | missing | missing |
//! | allowed | nobody | an empty file | exists | exists | exists | not ours | replace | not ours | exists | not ours | use |
//! | allowed | nobody | a backup | exists | exists | exists | use | replace | use | exists | not ours | use |
//! | allowed | nobody | a database's file | exists | exists | replace | not ours | exists | not ours | exists | not ours | not ours |
//! | allowed | nobody | an undo file | exists | exists | exists | not ours | exists | not ours | replace | not ours | not ours |
//! | allowed | nobody | another file | exists | exists | exists | not ours | exists | not ours | exists | use | use |
//!
//! "Allowed" is the instance folder and the folders of `--allow-path`. "No file" is a directory, device, FIFO, socket or symbolic link.
//! "The system" holds the lock, the password, the error logs, the spill folder, and every name with one of [`OWN_SUFFIXES`].
//!
//! SQL Server's FORMAT overwrites any file, and so does its REPLACE ("for example, a mistake could allow overwriting files of the wrong
//! type, such as .xls files": sql-docs, RESTORE statements, arguments). Here each overwrites only its own kind: FORMAT a backup or an empty
//! file, REPLACE a file of a database that is not in use. A file of rows (BULK INSERT) is any file but one of a database.
//!
//! The file is opened first, and the open file is checked: kind, contents and identity are those of the open file, so two spellings, two
//! links or two routes to a folder are one file. Reads and appends use that handle. While a statement runs, its paths are held
//! ([`Claims`]).

use super::super::{Instance, registry::DatabaseSlot};
use super::{DEFAULT_FOLDER, Named, resolve};
use crate::backup::is_media;
use crate::buffer::{data_file_owner, undo_file_owner};
use crate::catalog::FileIntent;
use crate::error::Error;
use disk::{Access, DiskError, DiskErrorKind, File, FileIdentity, FileKind};
use parking_lot::Mutex;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vlf::FileHeader;

/// What a statement wants with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// CREATE DATABASE, ADD FILE, and the new place of MODIFY FILE.
    NewFile,
    /// RESTORE makes a file of a database.
    RestoredFile { replace: bool },
    /// BACKUP, appending or INIT.
    Backup,
    /// BACKUP WITH FORMAT.
    FormattedBackup,
    /// RESTORE reads a backup.
    ReadBackup,
    /// RESTORE WITH STANDBY makes an undo file.
    UndoFile,
    /// RESTORE, or FOR ATTACH, reads a file of another server.
    ReadForeign,
    /// BULK INSERT, or OPENROWSET(BULK ...), reads a file of rows, or the format of one.
    ReadRows,
}

impl Purpose {
    /// The file stays as it is, so others may read it, too.
    fn reads(self) -> bool {
        matches!(self, Purpose::ReadBackup | Purpose::ReadForeign | Purpose::ReadRows)
    }
}

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Into the instance folder.
    Instance,
    /// Into another folder that was allowed.
    Allowed,
    Outside,
}

/// What has the file, or the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holder {
    Nobody,
    System,
    /// A database that the statement is not about.
    Database,
    /// The database that is being restored.
    RestoredDatabase,
    /// A statement that writes it.
    Writer,
    /// Statements that read it.
    Readers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    Nothing,
    /// A directory, device, FIFO, socket or symbolic link.
    NoFile,
    /// A file without a byte.
    Empty,
    /// A media file of ours.
    Backup,
    /// A data or log file of ours.
    DatabaseFile,
    /// An undo file of ours.
    UndoFile,
    Other,
}

/// Why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It can be no file's path.
    Invalid,
    /// It leads out of the folders that may be used.
    Outside,
    /// It is the instance's own.
    System,
    /// What is there is not a file.
    NoFile,
    /// It is in use.
    InUse,
    /// A file is there that may not be overwritten.
    Exists,
    /// A file is there that is not what was asked for.
    NotOurs,
    Missing,
    /// The disk would not say.
    Failed,
}

/// What may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Make the file; nothing is there.
    Make,
    /// Use the file that is there.
    Use,
    /// Make a new file in the place of the one that is there.
    Replace,
    Refuse(Refusal),
}

/// How names end that only the instance itself gives: companions of database files, and files being made.
pub const OWN_SUFFIXES: [&str; 4] = ["dwb", "vlfs", "writing", disk::TEMPORARY_SUFFIX];

/// The table of the module.
pub fn decide(purpose: Purpose, place: Place, holder: Holder, presence: Presence) -> Verdict {
    use Presence::{Backup, DatabaseFile, Empty, NoFile, Nothing, UndoFile};
    use Verdict::{Make, Refuse, Replace, Use};
    let is_restored = matches!(purpose, Purpose::RestoredFile { .. });
    match (place, holder, presence) {
        (Place::Outside, _, _) => return Refuse(Refusal::Outside),
        (_, Holder::System, _) => return Refuse(Refusal::System),
        (_, _, NoFile) => return Refuse(Refusal::NoFile),
        (_, Holder::RestoredDatabase, Nothing) if is_restored => return Make,
        (_, Holder::RestoredDatabase, _) if is_restored => return Replace,
        (_, Holder::Nobody, _) => {}
        (_, Holder::Readers, _) if purpose.reads() => {}
        _ => return Refuse(Refusal::InUse),
    }
    match (purpose, presence) {
        (Purpose::ReadBackup | Purpose::ReadForeign | Purpose::ReadRows, Nothing) => Refuse(Refusal::Missing),
        (_, Nothing) => Make,
        (Purpose::Backup | Purpose::ReadBackup, Backup) => Use,
        (Purpose::ReadForeign, Presence::Other) => Use,
        (Purpose::ReadRows, Empty | Backup | Presence::Other) => Use,
        (Purpose::Backup | Purpose::ReadBackup | Purpose::ReadForeign | Purpose::ReadRows, _) => {
            Refuse(Refusal::NotOurs)
        }
        (Purpose::FormattedBackup, Backup | Empty) => Replace,
        (Purpose::RestoredFile { replace: true }, DatabaseFile) => Replace,
        (Purpose::UndoFile, UndoFile) => Replace,
        _ => Refuse(Refusal::Exists),
    }
}

/// A path that a statement may use, held until this is dropped.
pub struct Admission {
    pub path: PathBuf,
    /// What may be done: make, use or replace.
    pub verdict: Verdict,
    /// What is there, open.
    pub file: Option<Arc<dyn File>>,
    pub claim: Claim,
}

/// A path that a statement may not use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// As the statement has it.
    pub name: String,
    pub reason: Refusal,
    /// The operating system's words, where it was asked.
    cause: Option<String>,
    /// The database that uses it.
    database: Option<String>,
}

impl Refused {
    fn new(name: &str, reason: Refusal) -> Refused {
        Refused {
            name: name.to_string(),
            reason,
            cause: None,
            database: None,
        }
    }

    fn failed(name: &str, error: &DiskError) -> Refused {
        let reason = match error.kind {
            DiskErrorKind::Outside => Refusal::Outside,
            DiskErrorKind::NotAFile => Refusal::NoFile,
            _ => Refusal::Failed,
        };
        Refused {
            cause: Some(Error::cause(error)),
            ..Refused::new(name, reason)
        }
    }

    /// The operating system's number and words for it, as SQL Server quotes them.
    fn cause(&self) -> String {
        let kind = match self.reason {
            Refusal::Outside => DiskErrorKind::Outside,
            Refusal::NoFile => DiskErrorKind::NotAFile,
            Refusal::InUse => DiskErrorKind::InUse,
            Refusal::Missing => DiskErrorKind::NotFound,
            Refusal::Exists | Refusal::NotOurs => DiskErrorKind::AlreadyExists,
            Refusal::System | Refusal::Invalid | Refusal::Failed => DiskErrorKind::PermissionDenied,
        };
        let said = || Error::cause(&DiskError::new(kind, "open", Path::new(&self.name)));
        self.cause.clone().unwrap_or_else(said)
    }

    /// For a file of a database: 5105, 5133 outside, 5170 where something is, 5123.
    pub fn for_file(&self) -> Error {
        match self.reason {
            Refusal::Invalid => Error::file_activation(&self.name),
            Refusal::Outside => Error::directory_lookup_failed(&self.name, &self.cause()),
            Refusal::Exists | Refusal::NotOurs | Refusal::InUse => Error::file_exists(&self.name),
            _ => Error::cannot_create_file(&self.name, &self.cause()),
        }
    }

    /// For a file that RESTORE makes, before 3156: 1834 for a file of a database; none where 3156 says it all.
    pub fn for_restored_file(&self) -> Option<Error> {
        match (self.reason, &self.database) {
            (Refusal::InUse, Some(database)) => Some(Error::file_in_use_by_database(&self.name, database)),
            (Refusal::InUse, None) => Some(Error::cannot_create_file(&self.name, &self.cause())),
            (Refusal::Exists, _) => None,
            _ => Some(self.for_file()),
        }
    }

    /// For an undo file: 1834 for a file of a database, else as for a file.
    pub fn for_undo_file(&self) -> Error {
        self.for_restored_file().unwrap_or_else(|| self.for_file())
    }

    /// For a file of rows: 4860 when it is not there, or may not be read; 4861.
    pub fn for_rows(&self) -> Error {
        match self.reason {
            Refusal::Missing | Refusal::Outside | Refusal::System => Error::no_file_of_rows(&self.name),
            Refusal::Invalid => {
                let cause = "123(The filename, directory name, or volume label syntax is incorrect.)";
                Error::cannot_open_file_of_rows(&self.name, cause)
            }
            Refusal::NotOurs => {
                let cause = "32(The process cannot access the file because it is being used by another process.)";
                Error::cannot_open_file_of_rows(&self.name, cause)
            }
            Refusal::NoFile | Refusal::InUse | Refusal::Exists | Refusal::Failed => {
                Error::cannot_open_file_of_rows(&self.name, &self.cause())
            }
        }
    }

    /// For a backup device: 3201, or 3241 when the file is not a backup.
    pub fn for_device(&self) -> Error {
        match self.reason {
            Refusal::NotOurs => Error::incorrect_media(&self.name),
            Refusal::Exists => {
                let cause = "80(The file exists and is not a backup. FORMAT overwrites backups and empty files.)";
                Error::cannot_open_device(&self.name, cause)
            }
            Refusal::Invalid => {
                let cause = "123(The filename, directory name, or volume label syntax is incorrect.)";
                Error::cannot_open_device(&self.name, cause)
            }
            _ => Error::cannot_open_device(&self.name, &self.cause()),
        }
    }
}

/// What is known of a path: enough to see that two are one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    path: PathBuf,
    /// The file there, if one is.
    file: Option<FileIdentity>,
    /// Its folder and name there: the same for a file that is not yet made.
    entry: Option<(FileIdentity, OsString)>,
}

impl Site {
    fn is(&self, other: &Site) -> bool {
        self.path == other.path
            || self.file.is_some() && self.file == other.file
            || self.entry.is_some() && self.entry == other.entry
    }
}

struct Held {
    number: u64,
    site: Site,
    writes: bool,
}

/// The paths that statements under way have.
#[derive(Default)]
pub struct Claims(Arc<Mutex<Vec<Held>>>);

/// Holds a path until it is dropped.
pub struct Claim {
    number: u64,
    all: Arc<Mutex<Vec<Held>>>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.all.lock().retain(|held| held.number != self.number);
    }
}

impl Claims {
    /// Takes a path, unless `decide`, given its holder, refuses.
    fn take(
        &self,
        site: Site,
        writes: bool,
        decide: impl FnOnce(Holder) -> Verdict,
    ) -> Result<(Verdict, Claim), Refusal> {
        let mut all = self.0.lock();
        let others: Vec<bool> = all
            .iter()
            .filter(|held| held.site.is(&site))
            .map(|held| held.writes)
            .collect();
        let holder = match others.as_slice() {
            [] => Holder::Nobody,
            others if others.contains(&true) => Holder::Writer,
            _ => Holder::Readers,
        };
        let verdict = decide(holder);
        if let Verdict::Refuse(reason) = verdict {
            return Err(reason);
        }
        let number = push(&mut all, site, writes);
        let all = self.0.clone();
        Ok((verdict, Claim { number, all }))
    }

    /// Holds a path even if something else has it: for the statement that takes a file away from its database.
    fn hold(&self, site: Site) -> Claim {
        let number = push(&mut self.0.lock(), site, true);
        let all = self.0.clone();
        Claim { number, all }
    }
}

fn push(all: &mut Vec<Held>, site: Site, writes: bool) -> u64 {
    let number = all.iter().map(|held| held.number).max().unwrap_or(0) + 1;
    all.push(Held { number, site, writes });
    number
}

impl Instance {
    /// Whether a statement may use a path for this purpose. `restored` is the database that RESTORE makes again.
    pub(in crate::instance) fn admit(
        &self,
        name: &str,
        purpose: Purpose,
        restored: Option<u16>,
    ) -> Result<Admission, Refused> {
        self.require_folder().map_err(|error| Refused::failed(name, &error))?;
        let disk = self.env.disk.as_ref();
        let resolved =
            resolve(disk, self.folder(), name, Named::File).ok_or_else(|| Refused::new(name, Refusal::Invalid))?;
        let refused = |reason| Refused::new(name, reason);
        if resolved.place == Place::Outside {
            return Err(refused(Refusal::Outside));
        }
        let (presence, file) = self.open_there(name, &resolved.path)?;
        let identity = file.as_ref().map(|file| file.identity()).transpose();
        let identity = identity.map_err(|error| Refused::failed(name, &error))?;
        let site = self.site(&resolved.path, identity);
        let owner = self.owner(&site, restored);
        if let (Owner::Nobody, Presence::DatabaseFile, Some(file)) = (&owner, presence, &file) {
            // Another server may have it open; who reads a backup does not come here.
            file.lock().map_err(|error| Refused::failed(name, &error))?;
        }
        let verdict = |claimed| {
            let holder = match owner {
                Owner::Nobody => claimed,
                Owner::System => Holder::System,
                Owner::Restored => match claimed {
                    Holder::Nobody => Holder::RestoredDatabase,
                    claimed => claimed,
                },
                Owner::Database(_) => Holder::Database,
            };
            decide(purpose, resolved.place, holder, presence)
        };
        let taken = self.claims.take(site, !purpose.reads(), verdict);
        let (verdict, claim) = taken.map_err(|reason| Refused {
            database: match &owner {
                Owner::Database(name) => Some(name.clone()),
                _ => None,
            },
            ..refused(reason)
        })?;
        Ok(Admission {
            path: resolved.path,
            verdict,
            file,
            claim,
        })
    }

    /// Holds the files of an intent that is to remove them: until they are gone nobody makes others of their names.
    pub(in crate::instance) fn hold_files(&self, intent: &FileIntent) -> Vec<Claim> {
        let paths = intent.files.iter().map(|file| Path::new(&file.path));
        paths.map(|path| self.claims.hold(self.site_of_known(path))).collect()
    }

    /// Opens what is there and looks at how it begins.
    fn open_there(&self, name: &str, path: &Path) -> Result<(Presence, Option<Arc<dyn File>>), Refused> {
        let disk = self.env.disk.as_ref();
        let failed = |error: DiskError| Refused::failed(name, &error);
        match disk.look(path).map_err(failed)? {
            None => return Ok((Presence::Nothing, None)),
            Some(found) if found.kind != FileKind::Regular => return Ok((Presence::NoFile, None)),
            Some(_) => {}
        }
        match disk.open(path, Access::Direct) {
            Ok(file) => {
                let presence = presence_of(file.as_ref()).map_err(failed)?;
                Ok((presence, Some(file)))
            }
            Err(error) if error.kind == DiskErrorKind::NotFound => Ok((Presence::Nothing, None)),
            Err(error) => Err(failed(error)),
        }
    }

    fn site(&self, path: &Path, file: Option<FileIdentity>) -> Site {
        let folder = path
            .parent()
            .and_then(|folder| self.env.disk.look(folder).ok().flatten());
        let entry = folder.and_then(|folder| Some((folder.identity, path.file_name()?.to_os_string())));
        Site {
            path: path.to_path_buf(),
            file,
            entry,
        }
    }

    fn site_of_known(&self, path: &Path) -> Site {
        let found = self.env.disk.look(path).ok().flatten();
        self.site(path, found.map(|found| found.identity))
    }

    /// What has the file for longer than a statement.
    fn owner(&self, site: &Site, restored: Option<u16>) -> Owner {
        if self.is_own_name(&site.path) || self.own_files().any(|own| self.site_of_known(&own).is(site)) {
            return Owner::System;
        }
        let databases = self.registry.all();
        let found = databases.iter().find(|slot| self.has_file(slot, site));
        match found.map(|slot| slot.entry()) {
            None => Owner::Nobody,
            Some(entry) if Some(entry.database_id) == restored => Owner::Restored,
            Some(entry) => Owner::Database(entry.name),
        }
    }

    fn has_file(&self, slot: &DatabaseSlot, site: &Site) -> bool {
        let entry = slot.entry();
        let names = entry.files.iter().map(|file| &file.physical_name).chain(&entry.standby);
        let disk = self.env.disk.as_ref();
        let mut paths = names.filter_map(|name| resolve(disk, self.folder(), name, Named::File));
        paths.any(|resolved| self.site_of_known(&resolved.path).is(site))
    }

    /// Whether only the instance itself gives such names.
    fn is_own_name(&self, path: &Path) -> bool {
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase());
        if extension.is_some_and(|extension| OWN_SUFFIXES.contains(&extension.as_str())) {
            return true;
        }
        let Ok(rest) = path.strip_prefix(self.folder()) else {
            return false;
        };
        let parts: Vec<String> = rest.iter().map(|part| part.to_string_lossy().to_lowercase()).collect();
        match parts.as_slice() {
            [name] => name.starts_with('.') || SECRETS.iter().any(|file| name.starts_with(file)),
            [folder, name] if folder == "log" => name.starts_with("errorlog"),
            [folder, spill, ..] => folder == DEFAULT_FOLDER && spill == super::super::start::SPILL_FOLDER,
            [] => true,
        }
    }

    /// The instance's own files, which another name may lead to.
    fn own_files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let folder = self.folder();
        let log = self.env.disk.list(&folder.join("log")).unwrap_or_default();
        let names = SECRETS.iter().chain([&".lock"]).map(|name| folder.join(name));
        names.chain(log.into_iter().filter(|path| self.is_own_name(path)))
    }
}

/// The file in the instance folder that holds the password of `sa`.
pub const PASSWORD_FILE: &str = "sa.password";
/// The files in the instance folder that hold the certificate the server made for itself, and its key.
pub const CERTIFICATE_FILE: &str = "server.certificate.pem";
pub const KEY_FILE: &str = "server.key.pem";
/// What the server shows and proves itself by. Files that begin with these names are successors on their way.
const SECRETS: [&str; 3] = [PASSWORD_FILE, CERTIFICATE_FILE, KEY_FILE];

enum Owner {
    Nobody,
    System,
    Restored,
    Database(String),
}

/// The first bytes of a file, as many as say what it is.
const BEGIN_BYTES: u64 = 512;

/// What an open file is.
fn presence_of(file: &dyn File) -> Result<Presence, DiskError> {
    let begin = begin_of(file)?;
    Ok(match begin.as_slice() {
        [] => Presence::Empty,
        begin if is_media(begin) => Presence::Backup,
        begin if data_file_owner(begin).or(FileHeader::owner(begin)).is_some() => Presence::DatabaseFile,
        begin if undo_file_owner(begin).is_some() => Presence::UndoFile,
        _ => Presence::Other,
    })
}

/// Which database a data, log or undo file says it is of.
pub fn owner_of(file: &dyn File) -> Result<Option<[u8; 16]>, DiskError> {
    let begin = begin_of(file)?;
    let of_files = data_file_owner(&begin).or_else(|| FileHeader::owner(&begin));
    Ok(of_files.or_else(|| undo_file_owner(&begin)))
}

fn begin_of(file: &dyn File) -> Result<Vec<u8>, DiskError> {
    let mut begin = vec![0; file.len()?.min(BEGIN_BYTES) as usize];
    file.read_at(0, &mut begin)?;
    Ok(begin)
}
