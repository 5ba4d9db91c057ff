//! T-SQL: lexer, parser, binder, executor.
