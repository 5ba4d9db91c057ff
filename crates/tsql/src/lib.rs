//! T-SQL over the engine: binder, executor, system views, DBCC. The syntax has a crate of its own.

pub mod bind;
pub mod exec;
pub mod functions;
pub mod messages;
pub mod modify;
pub mod modules;
pub mod parser;
pub mod plan;
pub mod scalar;
pub mod session;
pub mod stack;
pub mod statements;
pub mod system;

pub use syntax::{ast, batches, error, grammar};
pub use system::views;
