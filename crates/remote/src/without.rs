//! A build without Parquet: every call is refused with the way to one that has it.

use std::path::Path;

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
