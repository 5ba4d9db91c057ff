//! The tests of `genuine` from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod added_columns;
mod backups;
mod chains;
mod changes;
mod containers;
mod logs;
mod pages;
mod real_files;
mod recovered_files;
mod recovery;
mod rows;
mod schemas;
mod support;
