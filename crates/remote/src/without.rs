//! A build without Parquet: every call fails and says how to get a build with it.

use std::path::Path;

use crate::RowsKind;
use advisor::history::{Cell, Column, FindingRow, LogRow};

const REFUSED: &str = "this build writes no Parquet files: build it with --features history (packages have it)";

/// # Errors
/// Always.
pub fn append(_: &Path, _: &str, _: &[LogRow], _: &[FindingRow]) -> Result<(), String> {
    Err(REFUSED.to_owned())
}

/// # Errors
/// Always.
pub fn logs(_: &Path) -> Result<Vec<LogRow>, String> {
    Err(REFUSED.to_owned())
}

/// # Errors
/// Always.
pub fn table(_: &Path, _: &[Column], _: &mut dyn Iterator<Item = Vec<Cell>>) -> Result<(), String> {
    Err(REFUSED.to_owned())
}

/// A file of rows that cannot be.
pub enum RowsFile {}

impl RowsFile {
    /// # Errors
    /// Always.
    pub fn create(_: &Path, _: &[(&str, RowsKind)]) -> Result<RowsFile, String> {
        Err(REFUSED.to_owned())
    }

    /// # Errors
    /// There is none that it could be called on.
    pub fn row(&mut self, _: &[Option<String>]) -> Result<(), String> {
        match *self {}
    }

    /// # Errors
    /// There is none that it could be called on.
    pub fn finish(self) -> Result<(), String> {
        match self {}
    }
}
