//! Files of another server, opened read-only: RESTORE and FOR ATTACH read them if they are not in our own format. Before anything is made of them,
//! the sizes that they say are held against what the disks have left.

use super::Instance;
use super::create::CreateDatabase;
use super::paths::{Claim, Purpose};
use crate::backup::is_null_device;
use crate::error::{Error, Result};
use disk::File;
use std::path::Path;
use std::sync::Arc;
use vlf::{ReadAt, ReadFault};

/// An open file in a foreign format. It is not written while this lives.
pub struct ForeignFile {
    file: Arc<dyn File>,
    bytes: u64,
    _claim: Claim,
}

impl Instance {
    /// Opens a file that no format of ours fits.
    ///
    /// # Errors
    /// 3201 and 3254 when it cannot be opened; 3241 when it is empty, or a file of ours.
    pub fn open_foreign(&self, path: &str) -> Result<ForeignFile> {
        if is_null_device(path) {
            return Err(Error::empty_device(path));
        }
        let admission = self.admit(path, Purpose::ReadForeign, None);
        let admission = admission.map_err(|refused| refused.for_device())?;
        let file = admission.file.ok_or_else(|| Error::empty_device(path))?;
        let bytes = file.len();
        let bytes = bytes.map_err(|error| Error::cannot_open_device(path, &Error::cause(&error)))?;
        Ok(ForeignFile {
            file,
            bytes,
            _claim: admission.claim,
        })
    }

    /// Whether the disks have room for the files of a new database, at the sizes that `statement` names. A file without a size, or at a place
    /// where none can be made, is left to the making of it. Folders with equally much room are taken for folders of one disk.
    ///
    /// # Errors
    /// 3257 for the first disk that has too little.
    pub fn check_room_for(&self, statement: &CreateDatabase) -> Result<()> {
        struct Volume {
            folder: String,
            available_bytes: u64,
            needed_bytes: u64,
        }
        let mut volumes: Vec<Volume> = Vec::new();
        for spec in statement.data.iter().chain(&statement.log) {
            let (Some(name), Some(bytes)) = (&spec.filename, spec.size_bytes) else {
                continue;
            };
            let Ok(path) = self.resolve(name) else { continue };
            let folder = path.parent().unwrap_or(&path);
            let Some(available) = self.available_bytes(folder) else {
                continue;
            };
            match volumes.iter_mut().find(|volume| volume.available_bytes == available) {
                Some(volume) => volume.needed_bytes = volume.needed_bytes.saturating_add(bytes),
                None => volumes.push(Volume {
                    folder: folder.display().to_string(),
                    available_bytes: available,
                    needed_bytes: bytes,
                }),
            }
        }
        match volumes
            .iter()
            .find(|volume| volume.needed_bytes > volume.available_bytes)
        {
            Some(volume) => Err(Error::no_space_to_restore(
                &volume.folder,
                volume.needed_bytes,
                volume.available_bytes,
            )),
            None => Ok(()),
        }
    }

    /// What is left where `folder` is, or will be.
    fn available_bytes(&self, folder: &Path) -> Option<u64> {
        let mut folders = folder.ancestors();
        folders.find_map(|folder| self.env.disk.available_bytes(folder).ok())
    }
}

impl ReadAt for ForeignFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), ReadFault> {
        self.file.read_at(offset, buffer).map_err(|error| ReadFault {
            offset,
            reason: Error::cause(&error),
        })
    }

    fn len(&self) -> u64 {
        self.bytes
    }
}
