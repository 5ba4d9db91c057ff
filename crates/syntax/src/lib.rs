//! The syntax of T-SQL, pure: text to tokens to trees, and the words that options are made of.
//!
//! ```text
//! batches    a script, cut at GO
//! lexer      text -> tokens, one at a time          keywords   which words are reserved
//! parser     tokens -> trees                        ast        the trees
//! grammar    what becomes of each word that stands where options do; asked by the parser, and once more for a whole batch
//! error      why a text is not a batch, by SQL Server's numbers
//! resources  who is asked for time, stack and memory while a text is parsed
//! ```
//! Invariant: nothing here reads a clock, a catalog or a session. What a tree takes is asked of [`resources::Resources`], which the
//! caller hands in.

pub mod ast;
pub mod batches;
pub mod error;
pub mod grammar;
pub mod keywords;
pub mod lexer;
pub mod parser;
pub mod resources;
