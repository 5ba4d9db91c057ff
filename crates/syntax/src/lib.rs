//! The syntax of T-SQL, pure: text to tokens to trees, and the words of options.
//!
//! ```text
//! batches    a script, cut at GO
//! lexer      text -> tokens, one at a time          keywords   which words are reserved
//! parser     tokens -> trees                        ast        the trees
//! grammar    the treatment of each option word; used by the parser, and once more for a whole batch
//! error      syntax errors, with SQL Server's numbers
//! resources  limits of time, stack and memory while a text is parsed
//! ```
//! Invariant: nothing here reads a clock, a catalog or a session. Memory for a tree is requested from [`resources::Resources`], which the
//! caller passes in.

pub mod ast;
pub mod batches;
pub mod error;
pub mod grammar;
pub mod keywords;
pub mod lexer;
pub mod parser;
pub mod resources;
