//! T-SQL: lexer, parser, binder, executor.

pub mod ast;
pub mod batches;
pub mod error;
pub mod keywords;
pub mod lexer;
pub mod messages;
pub mod parser;
pub mod scalar;
pub mod session;
pub mod system;

pub use system::views;
