//! What the clients do, and what the databases must hold afterwards.
//!
//! - `model`: tables with their rows, and the statements that change both
//! - `dressing`: computed columns, triggers, views and the like of a table, and what must hold of them
//! - `ledger`: per database and client what is settled and what is under way; what the administrator intends
//! - `clients`: transactions, each in the ledger before it is sent and after it is acknowledged
//! - `administrator`: backups, restores, snapshots, clones, copies, files, settings, databases that come and go
//! - `rivals`: administrators that work on the same databases at once, with a ledger of their own

pub mod administrator;
pub mod clients;
pub mod dressing;
pub mod ledger;
pub mod model;
pub mod rivals;
