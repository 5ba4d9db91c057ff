//! The program from outside: the real binary as a process of its own, driven over TCP, killed, and fed damaged files.
//!
//! Every test asserts two things: that its fault really happened, and what the server made of it.
#![allow(clippy::unwrap_used, missing_docs)]

mod damage;
mod full_disk;
mod kill;
mod limits;
mod memory;
mod network;
mod support;
