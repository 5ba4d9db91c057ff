//! The database engine: a transaction log in virtual log files, pages, a buffer pool, transactions, recovery, backup.
//!
//! ```text
//! instance -> database -> session          who uses it
//!   catalog  txn  recovery  backup         what it keeps
//!   store -> buffer -> log                 rows, pages, and the log before them
//!   seams: files, time, background work
//! ```
//! Begin with [`instance`], then [`database`]; the way of a change is [`session`], [`store`], [`page`], [`buffer`], [`log`]. A program that has
//! the engine within it: the example of the crate `vlflab-tsql`.
//!
//! Rooms import downward only. ARCHITECTURE.md holds the table, and a test holds the code to it.

pub mod activity;
pub mod backup;
pub mod buffer;
pub mod cancel;
pub mod catalog;
pub mod clock;
pub mod database;
pub mod error;
pub mod errorlog;
pub mod instance;
pub mod lock;
pub mod log;
pub mod memory;
pub mod ordered;
pub mod page;
pub mod recovery;
pub mod seams;
pub mod session;
pub mod statistics;
pub mod store;
pub mod txn;
pub mod types;
pub mod versions;
pub mod waits;
pub mod workspace;
