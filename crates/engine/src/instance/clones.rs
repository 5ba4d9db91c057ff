//! DBCC CLONEDATABASE: a READ_ONLY database with the schema and the statistics of another, and none of its rows.
//!
//! ```text
//! definitions of one moment | an unfinished database, filled | its name
//!                           +--- a crash here: the next startup removes it ---+
//! ```
//! SQL Server copies from an internal snapshot of the source. Here the definitions are in memory, all from one moment and committed, so no
//! session waits and nothing is kept in the meantime.
//!
//! Sources: sql-docs, "DBCC CLONEDATABASE (Transact-SQL)": validations, names of files, what is cloned; "Database Engine events and errors"
//! for the numbers and words.

use super::{CreateDatabase, FileSpec, Instance, MSDB};
use crate::buffer::PRIMARY_FILEGROUP;
use crate::catalog::{DatabaseEntry, FileEntry, FilegroupEntry};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};
use crate::session::Session;
use std::sync::Arc;

/// The longest path of a file, in characters: what `sys.master_files` shows of one.
const PATH_CHARACTERS_MAX: usize = 260;
/// The longest name of a clone, in characters.
const NAME_CHARACTERS_MAX: usize = 123;

/// `DBCC CLONEDATABASE (source, target)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneDatabase {
    pub source: String,
    pub target: String,
    /// Whether statistics, and the rows and pages of tables, are cloned.
    pub has_statistics: bool,
}

impl Instance {
    /// Makes a clone. The session is in no transaction. On failure nothing of the clone is left.
    ///
    /// # Errors
    /// 911 when there is no source, 12603 for a system database, 12605 for a database snapshot, 12604 for a database that is not open, 12607 and
    /// 12608 for the name, 12619 for paths that become too long; those of [`Instance::create_database`].
    pub fn clone_database(&self, statement: &CloneDatabase, session: &mut Session) -> Result<Arc<Database>> {
        let source = self.source_of_clone(&statement.source)?;
        let target = &statement.target;
        if target.chars().count() > NAME_CHARACTERS_MAX {
            let text = format!("Specified clone database name '{target}' is too long.");
            return Err(Error::new(12607, 16, 1, text));
        }
        if self.registry.find(target).is_some() {
            return Err(name_taken(target));
        }
        let resource = Resource::Database(source.id);
        let before = session.locks().mode_of(&resource);
        session.locks().lock(resource, Mode::S)?;
        let schema = source
            .check_open()
            .and_then(|()| session.schema_of(&source, statement.has_statistics));
        session.locks().end_of_statement(resource, Mode::S, before);
        let schema = schema?;
        let create = self.files_of_clone(&source.entry(), target)?;
        let clone = self.create_unfinished_database(&create);
        let clone = clone.map_err(|error| match error.number {
            1801 => name_taken(target),
            _ => error,
        })?;
        let filled = session.fill_clone(&clone, schema);
        let made = filled.and_then(|()| self.publish_database(&create.name, target, false, session));
        match made {
            Ok(()) => Ok(clone),
            Err(error) => {
                drop(clone);
                self.drop_partial_clone(&create.name, session);
                Err(match error.number {
                    1801 => name_taken(target),
                    _ => error,
                })
            }
        }
    }

    fn source_of_clone(&self, name: &str) -> Result<Arc<Database>> {
        let slot = self.registry.find(name);
        let slot = slot.ok_or_else(|| Error::no_such_database(name))?;
        let entry = slot.entry();
        if entry.database_id <= MSDB {
            let text = "DBCC CLONEDATABASE does not support cloning system databases.";
            return Err(Error::new(12603, 16, 1, text));
        }
        if entry.snapshot_of.is_some() {
            return Err(Error::new(12605, 16, 1, "Failed to create snapshot database."));
        }
        let text = "Database cannot be read. Check if the database is in offline or suspect mode.";
        let database = slot.database().map_err(|_| Error::new(12604, 16, 1, text))?;
        database.wait_for_recovery()?;
        Ok(database)
    }

    /// The files of a clone: those of the source, with a number behind their names, of the sizes of a new database.
    fn files_of_clone(&self, source: &DatabaseEntry, target: &str) -> Result<CreateDatabase> {
        let guid = self.new_guid(target);
        let number = guid[8..12]
            .iter()
            .fold(0u32, |number, byte| number << 8 | u32::from(*byte));
        let specification = |file: &FileEntry| {
            let path = numbered(&file.physical_name, number);
            if path.chars().count() > PATH_CHARACTERS_MAX {
                let text = "The database has too long file path to create clone.";
                return Err(Error::new(12619, 16, 1, text));
            }
            Ok(FileSpec {
                name: Some(file.name.clone()),
                filename: Some(path),
                filegroup: Some(file.filegroup).filter(|filegroup| !file.log && *filegroup != PRIMARY_FILEGROUP),
                ..FileSpec::default()
            })
        };
        let of_kind = |log: bool| {
            let files = source.files.iter().filter(|file| file.log == log);
            files.map(specification).collect::<Result<Vec<_>>>()
        };
        Ok(CreateDatabase {
            name: format!("{target} (clone)"),
            data: of_kind(false)?,
            log: of_kind(true)?,
            filegroups: source.filegroups.iter().map(writable).collect(),
            ..CreateDatabase::default()
        })
    }

    /// What cannot be removed now goes with the next start.
    fn drop_partial_clone(&self, name: &str, session: &mut Session) {
        let rolled_back = session.roll_back();
        let dropped = rolled_back.and_then(|()| self.drop_database(name, session));
        if let Err(error) = dropped {
            let text = format!(
                "Failed to drop partially created cloned database '{name}': {}",
                error.message
            );
            self.env.errorlog.write("Server", text);
        }
    }
}

/// A filegroup of a clone, which is filled and then READ_ONLY as a whole.
fn writable(filegroup: &FilegroupEntry) -> FilegroupEntry {
    FilegroupEntry {
        is_read_only: false,
        ..filegroup.clone()
    }
}

/// A path with a number behind the name, before the extension.
fn numbered(path: &str, number: u32) -> String {
    let name_at = path.rfind(['\\', '/']).map_or(0, |at| at + 1);
    let extension_at = path[name_at..].rfind('.').filter(|at| *at > 0);
    let (stem, extension) = path.split_at(extension_at.map_or(path.len(), |at| name_at + at));
    format!("{stem}_{number}{extension}")
}

fn name_taken(target: &str) -> Error {
    let text = format!("Specified clone database name '{target}' already exists.");
    Error::new(12608, 16, 1, text)
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn the_number_stands_behind_the_name_of_a_file() {
        let expected = [
            ("c:\\data\\shop.mdf", "c:\\data\\shop_7.mdf"),
            ("/var/a.b/shop", "/var/a.b/shop_7"),
            ("shop.old.ndf", "shop.old_7.ndf"),
            ("/data/.hidden", "/data/.hidden_7"),
        ];
        for (path, with_number) in expected {
            assert_eq!(numbered(path, 7), with_number);
        }
    }
}
