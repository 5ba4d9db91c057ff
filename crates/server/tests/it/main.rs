//! The tests of `server` from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod application_locks;
mod conversation;
mod cursors;
mod described;
mod encryption;
mod invalid_values;
mod large_values;
mod mars;
mod null_rows;
mod sent_values;
mod sequences;
mod session_state;
mod shapes;
mod support;
mod tables;
mod variants;
mod xml_values;
