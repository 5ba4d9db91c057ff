//! The tests of `advisor` from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod advice;
mod cut;
mod engine;
mod files;
mod paste;
mod plans;
mod prices;
mod servers;
mod support;
