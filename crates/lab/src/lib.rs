//! The lab: runs experiments (which are data) on a server that it fills, kills and restarts; measurements, results and the report.
//!
//! ```text
//! experiments/*.toml -> experiment -> plan -> driver -> results.json -> report.html
//!                                              |  client: the server's own protocol, decoded by an independent library
//!                                              |  server_process: a child process, never left behind
//! ```
//! - [`catalogue`], [`experiment`], [`plan`]: the experiments; [`template`]: one to start from
//! - [`disks`]: modelled disks as files
//! - [`driver`], [`server_process`], [`client`], [`error_log`]: running it
//! - [`target`]: running it on an existing server
//! - [`lesson`]: lessons as data, run by `vlflab lesson`
//! - [`collect`]: a server's logs read over [`client`], for `advisor`
//! - [`sweep`]: many configurations, planned, distributed, collected
//! - [`environment`], [`statistics`], [`results`], [`slope`], [`threshold`], [`report`], [`compare`]: the results

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
