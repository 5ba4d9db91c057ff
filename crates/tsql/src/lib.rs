//! T-SQL over the engine: binder, operators, functions, statements, system views, DBCC. The syntax has a crate of its own.
//!
//! ```text
//! text -> syntax -> bind -> optimize -> plan -> exec / modify -> ResultSink
//!                   statements: control of flow, definitions, BACKUP, DBCC ...
//! ```
//! - [`session`]: where a program begins, see the example
//! - [`statements`]: a file for each statement; [`bind`], [`optimize`], [`plan`], [`exec`]: the way of a query; [`modify`]: of a change
//! - [`functions`], [`views`], [`system`]: tables of what has a name: functions, system views, system procedures
//! - [`messages`]: every error by its number; [`failure`]: what an error ends
//!
//! # The engine within a program
//!
//! An instance, a session, a statement; and what a power cut leaves. The disk is one in memory here, which loses its power on demand;
//! `disk::OsDisk` is that of the machine. The whole is `examples/embedded.rs` of this crate.
//!
//! ```
#![doc = include_str!("../examples/embedded.rs")]
//! ```

pub mod bind;
pub mod context;
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
pub mod session;
pub mod showplan;
pub mod sink;
pub mod stack;
pub mod state;
pub mod statements;
pub mod system;
pub mod views;

pub use syntax::{ast, batches, error, grammar, keywords};
