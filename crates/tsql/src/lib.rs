//! T-SQL over the engine: binder, operators, functions, statements, system views, DBCC. The syntax has a crate of its own.

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
