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
    pub record: String,
    /// A password that was made up just now, to be shown once.
    pub made_up: Option<String>,
}

/// Settles the password of `sa`: `given` replaces what is stored, else what is stored counts, else one is made up.
///
/// Errors: the file cannot be read or written, or holds no record, or there is no randomness.
pub fn settle(disk: &dyn Disk, folder: &Path, given: Option<&str>) -> Result<SaPassword, CredentialError> {
    let stored = load(disk, folder)?;
    let (password, made_up) = match (given, stored) {
        (None, Some(record)) => return Ok(SaPassword { record, made_up: None }),
        (Some(given), Some(record)) if verify_password(Some(&record), given) => {
            return Ok(SaPassword { record, made_up: None });
        }
        (Some(given), _) => (given.to_owned(), None),
        (None, None) => {
            let password = random_password()?;
            (password.clone(), Some(password))
        }
    };
    let record = hash_password(&password)?;
    store(disk, folder, &record)?;
    Ok(SaPassword { record, made_up })
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
        let first = settle(&disk, folder, None).unwrap();
        let password = first.made_up.unwrap();
        assert!(verify_password(Some(&first.record), &password));
        let second = settle(&disk, folder, None).unwrap();
        assert_eq!(
            second,
            SaPassword {
                record: first.record.clone(),
                made_up: None
            }
        );
        assert_eq!(
            settle(&disk, folder, Some(&password)).unwrap().record,
            first.record,
            "the same one is kept"
        );
        let given = settle(&disk, folder, Some("N3w one")).unwrap();
        assert!(verify_password(Some(&given.record), "N3w one") && given.made_up.is_none());
        assert_eq!(settle(&disk, folder, None).unwrap(), given);
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
