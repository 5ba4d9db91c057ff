//! The tests of the house rules from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod clients;
mod commands;
mod prose;
mod severities;
mod testing;
mod tidy;
