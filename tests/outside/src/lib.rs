//! The shipped binary from outside: on a file system that loses power, killed at any moment, against a ledger it cannot see.
//!
//! ```text
//!   power_cuts, steps, hostile    what is done to it, and how often
//!      |         \
//!   workload      check     transactions and administration with their ledger; the content against it afterwards
//!      |         /
//!   machine                 a volume and the server on it
//!    |      \
//!   server   fuse -- volume a file system of our own: what is durable, what a power cut leaves
//! ```
//!
//! Nothing of the server's code is used: the program is started as users start it, spoken to by TDS as another library
//! writes it, and its files are on a mount, because it makes raw system calls that no preloaded library sees.

pub mod check;
pub mod client;
pub mod evidence;
pub mod first_start;
pub mod fuse;
pub mod hostile;
pub mod machine;
pub mod power_cuts;
pub mod random;
pub mod server;
pub mod steps;
pub mod tally;
pub mod volume;
pub mod workload;
