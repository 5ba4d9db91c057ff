//! The password file of `sa`: one file in the instance folder, which holds only its record.
//!
//! ```text
//! <folder>/sa.password    $argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>
//! ```
//! Invariant: the file is replaced by a durable rename, so a power cut leaves the old record or the new one.

use std::path::Path;

use disk::{Access, Disk};

use crate::credentials::{CredentialError, PasswordChecker, random_password};

const FILE_NAME: &str = engine::instance::PASSWORD_FILE;
const NEW_FILE_NAME: &str = "sa.password.new";

/// A record is about 100 bytes; a much longer file is not one.
const RECORD_BYTES_MAX: u64 = 1024;

/// The password of `sa` for a server about to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaPassword {
    /// What logins are checked against.
    record: String,
    /// A password that was made up just now, to be shown once, before [`SaPassword::store`].
    pub made_up: Option<String>,
    /// What the folder had.
    found: Option<String>,
}

impl SaPassword {
    /// Stores what is not stored yet, durably, and answers the record. Until then a password given or made up counts for nothing.
    ///
    /// # Errors
    /// The file cannot be written, or another server has changed it since it was read.
    pub fn store(self, disk: &dyn Disk, folder: &Path) -> Result<String, CredentialError> {
        if load(disk, folder)? != self.found {
            let path = folder.join(FILE_NAME);
            let reason = format!("another server has changed {} meanwhile", path.display());
            return Err(CredentialError::new(reason));
        }
        if self.found.as_ref() != Some(&self.record) {
            store(disk, folder, &self.record)?;
        }
        Ok(self.record)
    }
}

/// Why there is no password for a server to start with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleError {
    /// The folder has another password than the one given.
    Different,
    /// The folder's password is the empty one, and none is given.
    Empty,
    /// The file, or a hash.
    Failed(CredentialError),
}

impl From<CredentialError> for SettleError {
    fn from(error: CredentialError) -> Self {
        Self::Failed(error)
    }
}

/// Settles the password of `sa`. Nothing is written; see [`SaPassword::store`]. `passwords` is what will check the server's logins: it
/// then knows the password that was given or made up.
///
/// | `given` | the folder has | `replaces` | |
/// |---|---|---|---|
/// | none | none | | one is made up |
/// | none | one | | it counts |
/// | none | the empty one | | [`SettleError::Empty`] |
/// | none | one | yes | one is made up |
/// | one | none, the same | | it counts |
/// | one | another | | [`SettleError::Different`] |
/// | one | another | yes | the given one counts |
///
/// # Errors
/// Those of the table; the file cannot be read, or holds no record; there is no randomness.
pub fn settle(
    disk: &dyn Disk,
    folder: &Path,
    given: Option<&str>,
    replaces: bool,
    passwords: &PasswordChecker,
) -> Result<SaPassword, SettleError> {
    let found = load(disk, folder)?;
    let (password, made_up) = match (given, &found) {
        (None, Some(record)) if !replaces => {
            return match passwords.verify(Some(record), "") {
                true => Err(SettleError::Empty),
                false => Ok(stored(record)),
            };
        }
        (Some(given), Some(record)) if passwords.verify(Some(record), given) => return Ok(stored(record)),
        (Some(_), Some(_)) if !replaces => return Err(SettleError::Different),
        (Some(given), _) => (given.to_owned(), None),
        (None, _) => {
            let password = random_password()?;
            (password.clone(), Some(password))
        }
    };
    Ok(SaPassword {
        record: passwords.hash(&password)?,
        made_up,
        found,
    })
}

fn stored(record: &str) -> SaPassword {
    SaPassword {
        record: record.to_owned(),
        made_up: None,
        found: Some(record.to_owned()),
    }
}

fn load(disk: &dyn Disk, folder: &Path) -> Result<Option<String>, CredentialError> {
    let path = folder.join(FILE_NAME);
    let Some(bytes) = disk.len(&path)? else {
        return Ok(None);
    };
    let damaged = || CredentialError::new(format!("{} holds no password record", path.display()));
    if bytes > RECORD_BYTES_MAX {
        return Err(damaged());
    }
    let mut record = vec![0; usize::try_from(bytes).unwrap_or_default()];
    disk.open(&path, Access::Buffered)?.read_at(0, &mut record)?;
    match String::from_utf8(record) {
        Ok(text) if text.starts_with("$argon2") => Ok(Some(text.trim_end().to_owned())),
        _ => Err(damaged()),
    }
}

fn store(disk: &dyn Disk, folder: &Path, record: &str) -> Result<(), CredentialError> {
    let new = folder.join(NEW_FILE_NAME);
    if disk.len(&new)?.is_some() {
        // Left behind by a power cut between the two steps below.
        disk.delete(&new)?;
    }
    let file = disk.create(&new, Access::Buffered)?;
    file.write_at(0, record.as_bytes())?;
    file.sync()?;
    disk.rename(&new, &folder.join(FILE_NAME))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::credentials::{hash_password, verify_password};

    fn in_an_empty_folder(work: impl FnOnce(&disk::sim::SimDisk, &Path)) {
        let disk = disk::sim::SimDisk::new(7);
        let folder = Path::new("/instance");
        disk.create_directories(folder).unwrap();
        work(&disk, folder);
    }

    #[test]
    fn the_password_is_made_up_once_and_kept() {
        in_an_empty_folder(|disk, folder| {
            let settled = |given| settle(disk, folder, given, false, &PasswordChecker::default()).unwrap();
            let lost = settled(None);
            assert!(lost.made_up.is_some(), "and not stored, for nobody was told");
            let first = settled(None);
            let password = first.made_up.clone().unwrap();
            assert_ne!(Some(&password), lost.made_up.as_ref());
            let record = first.store(disk, folder).unwrap();
            assert!(verify_password(Some(&record), &password));
            let second = settled(None);
            assert!(second.made_up.is_none());
            assert_eq!(second.store(disk, folder).unwrap(), record);
            assert_eq!(settled(Some(&password)).record, record, "the same one is kept");
            let late = lost.store(disk, folder).unwrap_err().to_string();
            assert!(late.contains("another server"), "{late}");
        });
    }

    /// A variable left over in a shell, or set to nothing, replaced the password of a folder without a word.
    #[test]
    fn the_password_of_a_folder_is_replaced_on_demand_alone() {
        in_an_empty_folder(|disk, folder| {
            let settled = |given, replaces| settle(disk, folder, given, replaces, &PasswordChecker::default());
            let first = settled(Some("F1rst one"), false).unwrap().store(disk, folder).unwrap();
            for other in ["", "N3w one"] {
                assert_eq!(settled(Some(other), false), Err(SettleError::Different));
            }
            assert_eq!(settled(None, false).unwrap().record, first);
            let same = settled(Some("F1rst one"), true).unwrap().store(disk, folder).unwrap();
            assert_eq!(same, first);
            let given = settled(Some("N3w one"), true).unwrap();
            assert_eq!(settled(None, false).unwrap().record, first, "not before it is stored");
            let given = given.store(disk, folder).unwrap();
            assert!(verify_password(Some(&given), "N3w one"));
            let made_up = settled(None, true).unwrap();
            let password = made_up.made_up.clone().unwrap();
            let record = made_up.store(disk, folder).unwrap();
            assert!(verify_password(Some(&record), &password));
            store(disk, folder, &hash_password("").unwrap()).unwrap();
            assert_eq!(settled(None, false), Err(SettleError::Empty));
            assert!(settled(Some("N3w one"), true).is_ok());
        });
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let disk = disk::sim::SimDisk::new(7);
        let folder = Path::new("/instance");
        disk.create_directories(folder).unwrap();
        disk.create(&folder.join(FILE_NAME), Access::Buffered)
            .unwrap()
            .write_at(0, b"secret")
            .unwrap();
        let Err(SettleError::Failed(error)) = settle(&disk, folder, None, false, &PasswordChecker::default()) else {
            panic!("a damaged file is taken for a record")
        };
        assert!(error.to_string().contains("sa.password"));
    }
}
