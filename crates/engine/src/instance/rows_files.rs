//! Files of rows, which BULK INSERT and OPENROWSET(BULK ...) read, with the file for rows that have errors.
//!
//! A path is judged as that of every other statement is (`instance/paths/admission.rs`), and held while the file is open.

use super::Instance;
use super::paths::{Claim, Purpose};
use crate::error::{Error, Result};
use disk::{Access, File};
use std::fmt;
use std::sync::Arc;

/// A file of rows, or of their format, open for reading.
pub struct RowsFile {
    name: String,
    file: Arc<dyn File>,
    bytes: u64,
    _claim: Claim,
}

impl fmt::Debug for RowsFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RowsFile({}, {} bytes)", self.name, self.bytes)
    }
}

/// A new file that rows with errors are copied to, or what is said of them.
pub struct FaultyRowsFile {
    name: String,
    file: Arc<dyn File>,
    bytes: u64,
    _claim: Claim,
}

impl Instance {
    /// Opens a file of rows.
    ///
    /// # Errors
    /// 4860 when it is not there, or outside the folders that may be read; 4861 when it cannot be opened, or is a file of a database; 4862.
    pub fn open_rows_file(&self, name: &str) -> Result<RowsFile> {
        let admission = self.admit(name, Purpose::ReadRows, None);
        let admission = admission.map_err(|refused| refused.for_rows())?;
        let file = admission.file.ok_or_else(|| Error::no_file_of_rows(name))?;
        let bytes = file.len();
        let bytes = bytes.map_err(|error| Error::cannot_read_file_of_rows(name, &Error::cause(&error)))?;
        Ok(RowsFile {
            name: name.to_owned(),
            file,
            bytes,
            _claim: admission.claim,
        })
    }

    /// Makes a file for rows with errors. There must be none of its name.
    ///
    /// # Errors
    /// 4860 and 4861.
    pub fn create_faulty_rows_file(&self, name: &str) -> Result<FaultyRowsFile> {
        let admission = self.admit(name, Purpose::NewFile, None);
        let admission = admission.map_err(|refused| refused.for_rows())?;
        let file = self.env.disk.create(&admission.path, Access::Buffered);
        let file = file.map_err(|error| Error::cannot_open_file_of_rows(name, &Error::cause(&error)))?;
        Ok(FaultyRowsFile {
            name: name.to_owned(),
            file,
            bytes: 0,
            _claim: admission.claim,
        })
    }
}

impl Instance {
    /// Takes away what [`Instance::create_faulty_rows_file`] has just made. A file that cannot be deleted stays.
    pub fn remove_faulty_rows_file(&self, file: FaultyRowsFile) {
        let _stays = self.env.disk.delete(file.file.path());
    }
}

impl RowsFile {
    /// As the statement has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Length in bytes, as of when it was opened.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Fills the whole buffer from `at`.
    ///
    /// # Errors
    /// 4862, also when the file has become shorter.
    pub fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        let read = self.file.read_at(at, buffer);
        read.map_err(|error| Error::cannot_read_file_of_rows(&self.name, &Error::cause(&error)))
    }
}

impl FaultyRowsFile {
    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes behind what is there.
    ///
    /// # Errors
    /// 4870.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_at(self.bytes, bytes);
        written.map_err(|error| Error::cannot_write_faulty_rows(&self.name, &Error::cause(&error)))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}
