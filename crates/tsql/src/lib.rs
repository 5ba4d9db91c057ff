//! T-SQL over the engine: binder, operators, functions, statements, system views, DBCC. The syntax is in the crate `syntax`.
//!
//! ```text
//! text -> syntax -> bind -> optimize -> plan -> exec / modify -> ResultSink
//!                   statements: control of flow, definitions, BACKUP, DBCC ...
//! ```
//! - [`session`]: the starting point for a program, see the example
//! - [`statements`]: a file for each statement; [`bind`], [`optimize`], [`plan`], [`exec`]: the path of a query; [`modify`]: the path of a
//!   change
//! - [`functions`], [`views`], [`system`]: tables of named things: functions, system views, system procedures
//! - [`messages`]: every error by its number; [`failure`]: how far an error reaches
//!
//! # Embedding the engine in a program
//!
//! An instance, a session, a statement, and the state after a power cut. The disk in this example is in memory and loses power on demand;
//! `disk::OsDisk` is the machine's. The complete program is `examples/embedded.rs` of this crate.
//!
//! ```
#![doc = include_str!("../examples/embedded.rs")]
//! ```

pub mod bind;
pub mod context;
pub mod data_file;
pub mod exec;
pub mod failure;
pub mod functions;
pub mod grant;
pub mod measure;
pub mod messages;
pub mod modify;
pub mod modules;
pub mod optimize;
pub mod parser;
pub mod plan;
pub mod plan_cache;
pub mod prepared;
pub mod scalar;
mod security;
pub mod session;
pub mod showplan;
pub mod sink;
pub mod stack;
pub mod state;
pub mod statements;
pub mod system;
pub mod views;

pub use syntax::{ast, batches, error, grammar, keywords};
