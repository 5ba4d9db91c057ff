//! The tests of the program from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod advise;
mod apply;
mod book;
#[cfg(feature = "buckets")]
mod buckets;
mod dba_tools;
mod default_run;
mod encryption;
mod end_to_end;
mod estates;
mod experiments;
mod export;
mod genuine_files;
mod genuine_samples;
mod kerberos;
mod modelled;
mod operations;
mod outer;
mod plan_tree;
mod questions;
mod sample;
mod schema;
mod small_disk;
mod sql_tool;
mod sweep;
mod target;
mod transcript;
