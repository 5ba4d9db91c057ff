//! T-SQL: lexer, parser, binder, executor.

pub mod ast;
