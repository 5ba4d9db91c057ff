//! What is kept for long and read by other programs: the history of an estate's logs, and the results of sweeps, as Parquet files.
//!
//! Rows and columns are [`advisor::history`]'s; here they become files and come back. The library that does it is the one heavy dependency, so it
//! stands behind the feature `parquet`; without it every call says so.

#[cfg(feature = "parquet")]
mod parquet_files;
#[cfg(not(feature = "parquet"))]
mod without;

#[cfg(feature = "parquet")]
pub use parquet_files::{append, logs, table};
#[cfg(not(feature = "parquet"))]
pub use without::{append, logs, table};

/// Whether this build writes Parquet files.
pub const HAS_PARQUET: bool = cfg!(feature = "parquet");
