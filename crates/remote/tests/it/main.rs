//! The tests of `remote` from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod history;
mod rows_file;
