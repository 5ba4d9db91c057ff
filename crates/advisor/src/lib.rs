//! A DBA's questions about a log, answered without a server: plans, layouts, scripts, and files read from disk. Pure: no I/O of its own, no
//! clock.
//!
//! - [`plan`], [`warning`]: simulate a growth plan, on every version at once
//! - [`planning`]: a question about a plan, with everything that the answer has
//! - [`search`](mod@search), [`script`]: find the steps to a requested layout, and the T-SQL for them
//! - [`price`]: the cost of a layout on a disk, in seconds
//! - [`pasted`]: an existing layout from `DBCC LOGINFO`, `sys.dm_db_log_info` or JSON
//! - [`inspection`]: a log file read through [`vlf::ReadAt`], past damage
//! - [`database`]: data files and backups of SQL Server, read through [`genuine::PageSource`]
//! - [`snapshot`], [`advice`]: the state of a server's logs, and advice about it
//! - [`history`]: the history of passes over an estate, and its trends
//! - [`apply`]: rebuilding a log step by step, as far as it can be decided without a server
//! - [`live`]: live monitoring of logs: drawing, streaming, recording
//! - [`map`], [`render`], [`html`]: for the terminal, for programs, for the browser
//!
//! Rules and bytes are [`vlf`]'s; this crate counts, compares and explains.

pub mod advice;
pub mod apply;
pub mod database;
pub mod history;
pub mod html;
pub mod inspection;
pub mod live;
pub mod map;
pub mod pasted;
pub mod plan;
pub mod planning;
pub mod price;
pub mod record_kind;
pub mod render;
pub mod script;
pub mod search;
pub mod size;
pub mod snapshot;
pub mod warning;

pub use inspection::{Depth, Inspection, inspect, inspect_with};
pub use plan::{Plan, PlanError, PlanRequest, Start};
pub use render::Format;
pub use search::{Found, SearchRequest, search};
