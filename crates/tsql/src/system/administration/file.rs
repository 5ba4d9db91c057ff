//! Files as statements declare them, in the engine's form.

use engine::catalog::GrowthEntry;
use engine::error::{Error, Result};
use engine::instance::{FileSpec, Size};

use crate::ast::{FileGrowth, FileSize, FileSizeMax, FileSpecification, SizeUnit};

/// A file of CREATE DATABASE or ADD FILE.
///
/// # Errors
/// 1842 and 5174 for sizes beyond what can be.
pub(super) fn file_of(specification: &FileSpecification) -> Result<FileSpec> {
    Ok(FileSpec {
        name: Some(specification.name.clone()).filter(|name| !name.is_empty()),
        filename: specification.file_name.clone(),
        size_bytes: specification.size.map(bytes).transpose()?,
        maximum: specification.size_max.map(maximum).transpose()?,
        growth: specification.growth.map(growth).transpose()?,
        filegroup: None,
    })
}

/// A size in bytes.
///
/// # Errors
/// 1842 when it has more than 64 bits or is more than any file may have: 2^31 - 1 pages.
pub(super) fn bytes(size: FileSize) -> Result<u64> {
    let bytes = size.bytes().filter(|bytes| *bytes <= 8192 * (i32::MAX as u64));
    bytes.ok_or_else(|| Error::new(1842, 16, 1, "The file size, max size cannot be greater than 2147483647 in units of a page size. The file growth cannot be greater than 2147483647 in units of both page size and percentage."))
}

/// MAXSIZE.
///
/// # Errors
/// 1842 as for sizes.
pub(super) fn maximum(maximum: FileSizeMax) -> Result<Size> {
    Ok(match maximum {
        FileSizeMax::Unlimited => Size::Unlimited,
        FileSizeMax::Size(FileSize { count: 0, .. }) => Size::Unlimited,
        FileSizeMax::Size(size) => Size::Bytes(bytes(size)?),
    })
}

/// FILEGROWTH. Growth in bytes is rounded up to 64 KB (sql-docs, ALTER DATABASE file options).
///
/// # Errors
/// 1842 as for sizes.
pub(super) fn growth(growth: FileGrowth) -> Result<GrowthEntry> {
    Ok(match growth {
        FileGrowth::Size(size) => match bytes(size)? {
            0 => GrowthEntry::Fixed,
            bytes => GrowthEntry::Bytes(bytes.next_multiple_of(64 * SizeUnit::Kilobytes.bytes())),
        },
        FileGrowth::Percent(0) => GrowthEntry::Fixed,
        FileGrowth::Percent(percent) => GrowthEntry::Percent(u32::try_from(percent).unwrap_or(u32::MAX)),
    })
}
