//! Sweeps: experiments under every combination of disks, versions, layouts, mechanisms of the log and sizes; shared out among machines,
//! and collected again.
//!
//! ```text
//! FILE.toml -> file -> plan: configurations, each with its name -> shard: those of this process
//!                                                               -> run: driver, one configuration at a time -> NAME.jsonl
//! places of NAME.jsonl -> merge -> report::sweep, Parquet
//! ```
//! It plans and collects; what runs a configuration is [`crate::driver`].
//!
//! - A configuration's name is a digest of all that decides its results, the program's version included ([`plan`]). So the file of that name
//!   is either not there or final: a shard that was killed runs again, does what is missing, and nothing counts twice.
//! - On a modelled disk without processor time a configuration has the same results on every machine, byte for byte. A measured one, or one
//!   with processor time, has its machine's class in its name and its rows, and the two kinds never share a table.
//!
//! Invariant: a file of results appears whole, and is durable before the next configuration begins ([`place`], [`folder`]).

pub mod file;
pub mod folder;
pub mod merge;
pub mod place;
pub mod plan;
pub mod rows;
pub mod run;
pub mod shard;
pub mod table;
