//! Long-term data for other programs: the history of an estate's logs, and the results of sweeps, as Parquet files. Sweeps can also keep
//! their results in S3 buckets.
//!
//! [`advisor::history`] defines rows and columns; this crate writes and reads the files. The Parquet library is large, so it is behind the
//! feature `parquet`, and access to buckets is behind `s3`; without them every call returns an error that says so.

#[cfg(feature = "s3")]
mod bucket;
#[cfg(not(feature = "s3"))]
#[path = "without_buckets.rs"]
mod bucket;
#[cfg(feature = "parquet")]
mod parquet_files;
#[cfg(feature = "parquet")]
mod rows_file;
#[cfg(not(feature = "parquet"))]
mod without;

pub use bucket::Bucket;
#[cfg(feature = "parquet")]
pub use parquet_files::{append, logs, table};
#[cfg(feature = "parquet")]
pub use rows_file::RowsFile;
#[cfg(not(feature = "parquet"))]
pub use without::{RowsFile, append, logs, table};

/// What the column of a [`RowsFile`] holds; values are taken as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsKind {
    /// 0 or 1.
    Bit,
    /// Up to 64 bits.
    Whole,
    /// Up to 38 digits, `scale` of them behind the point.
    Decimal {
        precision: u8,
        scale: u8,
    },
    Real,
    /// `2026-11-27`.
    Date,
    /// `23:59:59.1234567`; up to 7 digits of a second.
    Time {
        scale: u8,
    },
    /// A date, `T` or a space, and a time.
    Moment {
        scale: u8,
    },
    Text,
    /// `0x` and hexadecimal digits.
    Bytes,
}

/// Whether this build writes Parquet files.
pub const HAS_PARQUET: bool = cfg!(feature = "parquet");

/// Whether a text names a bucket and not a folder.
pub fn is_bucket(text: &str) -> bool {
    text.starts_with("s3://")
}
