//! The database engine: a transaction log in virtual log files, pages, a buffer pool, transactions, recovery, backup.
//!
//! ```text
//! instance -> database -> session          folders, databases, users
//!   catalog  txn  recovery  backup         definitions, transactions, startup, copies
//!   store -> buffer -> log                 rows, pages, and the log before them
//!   seams: files, time, background work
//! ```
//! Begin with [`instance`], then [`database`]; a change goes through [`session`], [`store`], [`page`], [`buffer`], [`log`]. The example of
//! the crate `vlflab-tsql` shows a program with an embedded engine.
//!
//! Rooms import only downward. ARCHITECTURE.md has the table, and a test checks the code against it.

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
pub mod marked;
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
