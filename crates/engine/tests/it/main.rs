//! The tests of `engine` from outside: one program, so that the crate is linked once. Each file says at its head what it holds.
#![allow(clippy::unwrap_used)]

mod background_undo;
mod backup;
mod backup_replaces;
mod checkpoint_time;
mod clones;
mod collations;
mod copies;
mod differential;
mod estimates;
mod failed_log;
mod file_statements;
mod instance;
mod large_values;
mod lock_information;
mod log_room;
mod lost_files;
mod one_at_a_time;
mod pages;
mod paths;
mod power_cut;
mod restart;
mod restore_vlfs;
mod several_databases;
mod snapshots;
mod support;
