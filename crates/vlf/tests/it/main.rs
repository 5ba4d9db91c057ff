//! The tests of `vlf` from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod blocks;
mod golden_layouts;
mod real_files;
mod support;
mod walk;
