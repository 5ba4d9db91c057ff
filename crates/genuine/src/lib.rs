//! SQL Server's own database files, read without SQL Server. Pure: no I/O, no clock, and nothing is ever written to a foreign file.
//!
//! A database is pages of 8 KB in one or more data files (`.mdf`, `.ndf`); a backup (`.bak`) holds the same pages in a container. What
//! has pages implements [`PageSource`], and the rest of the crate reads through it:
//!
//! ```text
//!   .mdf + .ndf  --> DataFiles --+
//!                                +--> PageSource --> catalog --> tables --> rows --> values
//!   .bak         --> container --+
//! ```
//!
//! - [`page`]: page header, checksum, torn bits, allocation maps, and the trait of sources of pages
//! - [`catalog`]: tables, columns, keys, indexes, constraints and modules, and how rows lie
//! - [`scan`], [`row`], [`types`]: all rows of a table, what a row consists of, and its values
//! - [`recovery`]: pages brought forward by the log, and changes of transactions that never ended taken back
//! - [`schema`], [`survey`], [`verdicts`]: T-SQL that makes what a catalog has; whether pages, maps and counts agree, each page looked at once
//! - [`container`]: backups: media files, their sets, the pages and the log in them
//! - [`chain`]: a full backup, and the differential and log backups on it, as one database
//! - [`log`]: records, transactions, changes of rows
//! - [`bytes`]: fields read from untrusted bytes
//! - [`fault`]: what is said of bytes that do not fit
//!
//! Contract:
//!
//! - Every length, offset, count and link that is read from a file is checked before it is used. Bytes that do not fit end in one [`Fault`],
//!   never in a panic, and a chain of pages that runs in a circle ends after as many pages as there are.
//! - Memory is bounded: the values of one row at a time, and pages that were read ahead, less than 8 MB, beside what the caller keeps. A catalog is kept whole, and
//!   has a limit of its own.
//! - Microsoft documents the architecture of these files, not their bytes. Each structure says where its fields are from: a published
//!   description, or **measured**, which is: seen to hold in public files of SQL Server 2005 to 2022. What was inferred is marked so.

pub mod bytes;
pub mod catalog;
pub mod chain;
pub mod container;
pub mod fault;
pub mod log;
pub mod page;
pub mod recovery;
pub mod row;
pub mod scan;
pub mod schema;
pub mod survey;
pub mod types;
pub mod verdicts;

pub use fault::{Fault, Place};
pub use page::{DataFiles, PAGE_BYTES, Page, PageId, PageKind, PageSource};
