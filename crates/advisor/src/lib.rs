//! What a DBA wants to know about a log, without a server: plans, layouts, scripts, and files read from disk. Pure: no I/O
//! of its own, no clock.
//!
//! - [`plan`], [`warning`]: carry a growth plan out on paper, on every version at once
//! - [`search`](mod@search), [`script`]: find the steps to a wished layout, and the T-SQL that takes them
//! - [`price`]: what a layout costs on a disk, in seconds
//! - [`pasted`]: an existing layout from `DBCC LOGINFO`, `sys.dm_db_log_info` or JSON
//! - [`inspection`]: a log file read through [`vlf::ReadAt`], past damage
//! - [`database`]: data files and backups of SQL Server, read through [`genuine::PageSource`]
//! - [`snapshot`], [`advice`]: everything known of a server's logs, and what is to be done about it
//! - [`history`]: what is kept of each pass over an estate, and its trends
//! - [`apply`]: a log rebuilt step by step, as far as it can be decided without a server
//! - [`live`]: logs as they are watched: what is drawn, streamed and recorded
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
