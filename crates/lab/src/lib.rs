//! The lab: experiments as data, run against a server that is filled, killed and started again; measurements, results and
//! the report.
//!
//! ```text
//! experiments/*.toml -> experiment -> plan -> driver -> results.json -> report.html
//!                                              |  client: the server's own protocol, decoded by an independent library
//!                                              |  server_process: a child process, never left behind
//! ```
//! - [`catalogue`], [`experiment`], [`plan`]: what is run; [`template`]: one to begin with
//! - [`disks`]: modelled disks as files
//! - [`driver`], [`server_process`], [`client`], [`error_log`]: running it
//! - [`target`]: running it on a server that is there already
//! - [`lesson`]: lessons as data, run by `vlflab lesson`
//! - [`collect`]: a server's logs read over [`client`], for `advisor`
//! - [`sweep`]: many configurations, planned, shared out, collected
//! - [`environment`], [`statistics`], [`results`], [`slope`], [`threshold`], [`report`], [`compare`]: what comes of it

pub mod catalogue;
pub mod client;
pub mod collect;
pub mod compare;
pub mod disks;
pub mod driver;
pub mod environment;
pub mod error_log;
pub mod experiment;
pub mod export;
pub mod lesson;
pub mod plan;
pub mod recording;
pub mod report;
pub mod results;
pub mod server_process;
pub mod slope;
pub mod statistics;
pub mod sweep;
pub mod target;
pub mod template;
pub mod threshold;
