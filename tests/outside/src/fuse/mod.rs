//! The kernel's FUSE protocol without a library: the bytes of requests and answers, and a mount that serves them from a
//! [`crate::volume::Volume`].

mod mount;
mod serve;
pub mod wire;

pub use mount::{Mounted, Trap};
