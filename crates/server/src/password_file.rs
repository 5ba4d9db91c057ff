//! Where the password of `sa` is kept: one file in the instance folder, holding its record and nothing else.
//!
//! ```text
//! <folder>/sa.password    $argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>
//! ```
//! Invariant: the file is replaced by a durable rename, so a power cut leaves the former record or the new one.

use std::path::Path;

use disk::{Access, Disk};

use crate::credentials::{CredentialError, hash_password, random_password, verify_password};

const FILE_NAME: &str = engine::instance::PASSWORD_FILE;
const NEW_FILE_NAME: &str = "sa.password.new";

/// A record is about 100 bytes; a file much longer is no record.
const RECORD_BYTES_MAX: u64 = 1024;

/// The password of `sa` for a server about to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaPassword {
    /// What logins are checked against.
    record: String,
    /// A password that was made up just now, to be shown once, before [`SaPassword::store`].
    pub made_up: Option<String>,
    is_stored: bool,
}

impl SaPassword {
    /// Stores what is not stored yet, durably, and answers the record. Until then a password given or made up counts for nothing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn store(self, disk: &dyn Disk, folder: &Path) -> Result<String, CredentialError> {
        if !self.is_stored {
            store(disk, folder, &self.record)?;
        }
        Ok(self.record)
    }
}

/// Settles the password of `sa`: `given` replaces what is stored, else what is stored counts, else one is made up. Nothing is
/// written; see [`SaPassword::store`].
///
/// # Errors
/// The file cannot be read, or holds no record, or there is no randomness.
pub fn settle(disk: &dyn Disk, folder: &Path, given: Option<&str>) -> Result<SaPassword, CredentialError> {
    let stored = |record| SaPassword {
        record,
        made_up: None,
        is_stored: true,
    };
    let (password, made_up) = match (given, load(disk, folder)?) {
        (None, Some(record)) => return Ok(stored(record)),
        (Some(given), Some(record)) if verify_password(Some(&record), given) => return Ok(stored(record)),
        (Some(given), _) => (given.to_owned(), None),
        (None, None) => {
            let password = random_password()?;
            (password.clone(), Some(password))
        }
    };
    Ok(SaPassword {
        record: hash_password(&password)?,
        made_up,
        is_stored: false,
    })
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

    #[test]
    fn the_password_is_made_up_once_kept_and_replaced_when_given() {
        let disk = disk::sim::SimDisk::new(7);
        let folder = Path::new("/instance");
        disk.create_directories(folder).unwrap();
        let settled = |given| settle(&disk, folder, given).unwrap();
        let lost = settled(None);
        assert!(lost.made_up.is_some(), "and not stored, for nobody was told");
        let first = settled(None);
        let password = first.made_up.clone().unwrap();
        assert_ne!(Some(&password), lost.made_up.as_ref());
        let record = first.store(&disk, folder).unwrap();
        assert!(verify_password(Some(&record), &password));
        let second = settled(None);
        assert!(second.made_up.is_none());
        assert_eq!(second.store(&disk, folder).unwrap(), record);
        assert_eq!(settled(Some(&password)).record, record, "the same one is kept");
        let given = settled(Some("N3w one"));
        assert_eq!(settled(None).record, record, "not before it is stored");
        let given = given.store(&disk, folder).unwrap();
        assert!(verify_password(Some(&given), "N3w one"));
        assert_eq!(settled(None).store(&disk, folder).unwrap(), given);
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
        assert!(
            settle(&disk, folder, None)
                .unwrap_err()
                .to_string()
                .contains("sa.password")
        );
    }
}
