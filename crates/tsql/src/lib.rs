//! T-SQL: lexer, parser, binder, executor.

pub mod ast;
pub mod batches;
pub mod bind;
pub mod error;
pub mod exec;
pub mod functions;
pub mod grammar;
pub mod keywords;
pub mod lexer;
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

pub use system::views;
