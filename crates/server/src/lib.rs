//! The listener, the login and the session loop: where TDS meets T-SQL.
//!
//! ```text
//! Server (accept thread) -> connection thread: handshake -> login -> session loop -> Backend
//!                             watcher thread:  ATTENTION while a request runs -> cancel flag
//! ```
//!
//! The traits [`Backend`] and [`BackendSession`] hide the execution of requests, so this crate knows the protocol but not storage.
//!
//! Invariants: whatever a client sends, the server stays up; a client that violates the protocol loses its connection and leaves a line in
//! the error log; a panic while serving a request ends only that session; results are sent while they are produced, so memory does not grow
//! with a result's size.

pub mod backend;
pub mod credentials;
pub mod door;
pub mod encryption;
pub mod listener;
pub mod password_file;
pub mod sql;

mod connection;
mod handshake;
mod inbox;
mod mars;
mod notices;
mod procedures;
mod receiving;
mod results;
mod session;
mod throttle;
mod to_client;
mod watcher;

pub use backend::{Backend, BackendSession, Identity, SessionRequest};
pub use listener::{Server, ServerOptions};
