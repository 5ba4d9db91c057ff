//! Files of another server, opened read-only: RESTORE and FOR ATTACH read them if they are not in our own format.

use super::Instance;
use super::paths::{Claim, Purpose};
use crate::backup::is_null_device;
use crate::error::{Error, Result};
use disk::File;
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
