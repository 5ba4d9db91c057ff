//! Copies of an instance's databases: CREATE DATABASE ... AS COPY OF ([`crate::database`], `copy.rs`), and their opening.
//!
//! | on a database with copies | |
//! |---|---|
//! | DROP | 3709 |
//! | OFFLINE, REMOVE FILE, RESTORE, BACKUP LOG WITH NORECOVERY | 5094 |
//! | RESTORE FROM DATABASE_SNAPSHOT | 3137 |
//! | everything else, including BACKUP | as usual |
//!
//! | on a copy | |
//! |---|---|
//! | a copy or a snapshot of it | 1821 |
//! | ADD FILE, REMOVE FILE, another place of a data file; RESTORE over it, BACKUP LOG WITH NORECOVERY | 5093 |
//! | a change of a page for which its MAXSIZE leaves no room | 40544 |
//! | DROP | deletes its files |
//! | everything else, including OFFLINE, BACKUP and restoring that elsewhere | as on any database |
//!
//! **Startup** opens the sparse files of copies before their sources, as those of snapshots, and the copies after them. A copy whose source
//! is not open is RECOVERY_PENDING; SET ONLINE of the source opens it.

use super::Instance;
use super::intents::MasterChange;
use super::paths::{Admission, default_file_name};
use super::registry::DatabaseState;
use super::snapshots::{check_named, given_path};
use crate::buffer::SparseKind;
use crate::catalog::{CopyBase, DatabaseEntry, FileEntry, FileIntent, SnapshotBase};
use crate::database::{CreateFile, Database, DatabaseFiles, Opened};
use crate::error::{Error, NotStored, Result};
use std::sync::Arc;

/// The size of a copy's log, in bytes. It grows as its source's does.
const LOG_BYTES: u64 = 1 << 20;

/// `CREATE DATABASE name [ON (NAME = logical, FILENAME = path), ...] AS COPY OF source [(MAXSIZE = size)]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateCopy {
    pub name: String,
    pub source: String,
    /// Logical names of files of the source, with the path of the copy's file; a file that is not named gets its default place.
    pub files: Vec<(String, String)>,
    /// MAXSIZE: the most bytes of pages that the copy may have of its own.
    pub bytes_max: Option<u64>,
}

/// A copy to be made; its paths are held.
struct Planned {
    files: DatabaseFiles,
    bytes_max: Option<u64>,
    _held: Vec<Admission>,
}

impl Instance {
    /// Makes a copy of a database as it is now, and opens it. On failure nothing of it is left.
    ///
    /// # Errors
    /// 911 when there is no source, 1816, 1821 and 1822 when it can have none, 1801 for a name taken, 5014 and 1828 for files that are not
    /// those of the source, those of paths, and those of a recovery.
    pub fn create_copy(&self, statement: &CreateCopy) -> Result<Arc<Database>> {
        let (operation, source) = self.sparse_base(&statement.source, SparseKind::Copy)?;
        let source_entry = operation.entry();
        let _one_at_a_time = self.registry.creating()?;
        self.sweep_left_behind();
        if self.registry.find(&statement.name).is_some() {
            return Err(Error::database_exists(&statement.name));
        }
        let planned = self.plan_copy(statement, &source_entry)?;
        let entry = planned.files.entry.clone();
        let text = format!("CREATE DATABASE '{}' AS COPY OF '{}'", entry.name, source_entry.name);
        let paths = planned.files.files.iter().map(|file| file.path.clone());
        let intent = self.new_intent(&text, entry.guid, paths)?;
        self.make_over(&source, &entry, &intent, || self.make_copy(&source, &planned, &intent))
    }

    fn make_copy(
        &self,
        source: &Arc<Database>,
        planned: &Planned,
        intent: &FileIntent,
    ) -> std::result::Result<Arc<Database>, NotStored> {
        self.begin_intent(intent)?;
        self.make_folders(&planned.files.files)?;
        let sparse = source.make_copy(&self.opening(), &planned.files, planned.bytes_max)?;
        self.snapshots.add(sparse.clone());
        let opened = match Database::open(&self.opening(), &planned.files)? {
            Opened::Online(copy) => copy,
            Opened::Restoring => return Err(Error::assertion("a copy is made of what is open").into()),
        };
        let change = MasterChange {
            end: Some(intent),
            entry: Some(&planned.files.entry),
            ..MasterChange::default()
        };
        let finished = sparse.finish().map_err(NotStored::from);
        let stored = finished.and_then(|()| self.change_rows(&change));
        stored.inspect_err(|_| opened.storage.log.close())?;
        Ok(opened)
    }

    fn plan_copy(&self, statement: &CreateCopy, source: &DatabaseEntry) -> Result<Planned> {
        // One log file is enough for a log that begins.
        let first_log = source.files.iter().find(|file| file.log);
        let data = source.files.iter().filter(|file| !file.log);
        let copied: Vec<&FileEntry> = data.chain(first_log).collect();
        check_named(&statement.files, &copied, &source.name)?;
        let (mut entries, mut files, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for file in copied {
            let given = given_path(&statement.files, file);
            let path = given.map_or_else(|| self.default_place(&statement.name, file), str::to_owned);
            let admission = self.admit_new(&path)?;
            files.push(CreateFile {
                path: admission.path.clone(),
                bytes: LOG_BYTES.min(file.max_bytes.unwrap_or(u64::MAX)),
            });
            held.push(admission);
            entries.push(FileEntry {
                physical_name: path,
                ..file.clone()
            });
        }
        let entry = DatabaseEntry {
            copy_of: Some(CopyBase {
                of: SnapshotBase {
                    database_id: source.database_id,
                    guid: source.guid,
                    is_lost: false,
                },
                bytes_max: statement.bytes_max,
            }),
            ..self.entry_over(source, &statement.name, entries)?
        };
        Ok(Planned {
            files: DatabaseFiles { entry, files },
            bytes_max: statement.bytes_max,
            _held: held,
        })
    }

    /// Where a file of a copy is when the statement does not say.
    fn default_place(&self, name: &str, file: &FileEntry) -> String {
        let base = default_file_name(name);
        let file = match (file.log, file.file_id) {
            (true, _) => format!("{base}_log.ldf"),
            (false, 1) => format!("{base}.mdf"),
            (false, id) => format!("{base}{id}.ndf"),
        };
        let folder = self.folder().join(super::paths::DEFAULT_FOLDER);
        folder.join(file).display().to_string()
    }

    /// A copy is opened only while its source is open.
    ///
    /// # Errors
    /// 5120 while it is not.
    pub(super) fn require_source(&self, entry: &DatabaseEntry) -> Result<()> {
        let Some(copy) = entry.copy_of else { return Ok(()) };
        let is_open = |slot: Arc<super::DatabaseSlot>| matches!(slot.state(), DatabaseState::Online(_));
        if self.registry.by_id(copy.of.database_id).is_some_and(is_open) {
            return Ok(());
        }
        let path = entry.files.first().map_or("", |file| file.physical_name.as_str());
        Err(Error::cannot_open_file(
            path,
            "21(The source of the database copy is not open.)",
        ))
    }
}
