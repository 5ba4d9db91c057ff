//! What is kept for long and read by other programs: the history of an estate's logs, and the results of sweeps, as Parquet files.
//!
//! Results of sweeps can lie in buckets of S3.
//!
//! Rows and columns are [`advisor::history`]'s; here they become files and come back. The library that does it is heavy, so it
//! stands behind the feature `parquet`, and what reaches buckets behind `s3`; without them every call says so.

#[cfg(feature = "s3")]
mod bucket;
#[cfg(not(feature = "s3"))]
#[path = "without_buckets.rs"]
mod bucket;
#[cfg(feature = "parquet")]
mod parquet_files;
#[cfg(not(feature = "parquet"))]
mod without;

pub use bucket::Bucket;
#[cfg(feature = "parquet")]
pub use parquet_files::{append, logs, table};
#[cfg(not(feature = "parquet"))]
pub use without::{append, logs, table};

/// Whether this build writes Parquet files.
pub const HAS_PARQUET: bool = cfg!(feature = "parquet");

/// Whether this build reaches buckets.
pub const HAS_BUCKETS: bool = cfg!(feature = "s3");

/// Whether a text names a bucket and not a folder.
pub fn is_bucket(text: &str) -> bool {
    text.starts_with("s3://")
}
