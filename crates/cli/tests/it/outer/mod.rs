//! The program from outside: the real binary as a separate process, driven over TCP, killed, and given damaged files.
//!
//! Every test asserts two things: that its fault really happened, and the server's reaction.
#![allow(clippy::unwrap_used)]

mod damage;
mod failed_log;
mod full_disk;
mod kill;
mod limits;
mod logins;
mod lost_files;
mod memory;
mod network;
mod start;
mod stop;
mod support;
mod threads;
