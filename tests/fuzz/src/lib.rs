//! Random inputs for everything that reads what a client sends, and files of another server.
//!
//! ```text
//!   runner        one worker after the other, watched; counts and seeds; what was found, made smaller
//!     |   shrink      an input with less in it, tried in a process of its own
//!   worker        a history of one target: makes inputs, gives them, judges
//!     |
//!   target        lexer and parser; binder; execution; functions; TDS messages; TLS; SQL Server's files; conversations with the server
//!     |   |   |   |
//!   grammar  mutate  wire  tls      statements by grammar; bytes of real texts, changed; TDS messages and clients of TLS, right and nearly right
//!     |   |
//!   catalog  corpus            tables, views and modules that statements may name; the texts of this repository
//! ```
//! What is judged of an input: no panic on any thread, no end of the process (an overflowed stack is one), no more memory than
//! [`target::MEMORY_BYTES`] (of TLS, less) and a hundred times its length, an end within [`runner::STUCK_AFTER`]. An input that took a second of
//! processor time is reported and counted, but is not a failure: how long it may take depends on what it asks for.
//!
//! Invariant: an input is made of its target's name, its seed, its number and the texts of this repository alone.

pub mod catalog;
pub mod corpus;
/// Writers of SQL Server's files.
#[allow(dead_code, clippy::unwrap_used)]
#[path = "../../../crates/genuine/tests/it/support/mod.rs"]
mod genuine_files;
pub mod grammar;
pub mod mutate;
pub mod runner;
pub mod shrink;
pub mod target;
pub mod tls;
pub mod wire;
pub mod worker;
