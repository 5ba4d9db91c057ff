//! What the server tells of itself and lets be done to itself: system views, DBCC, administration, system procedures.
//!
//! ```text
//! views            row sources: sys.*, INFORMATION_SCHEMA.*, the old names of SQL Server 2000, msdb's history
//! dbcc             DBCC commands
//! administration   CREATE, ALTER, DROP DATABASE, BACKUP, RESTORE, CHECKPOINT, SHUTDOWN, KILL, RECONFIGURE
//! procedures       sp_* and xp_*
//! ```
//! None of it knows how a batch runs: it reads a [`SystemContext`] and answers through a [`Host`].

pub mod administration;
pub mod dbcc;
mod names;
mod output;
pub mod procedures;
pub mod views;

pub use output::{Table, text_of};

use std::cell::RefCell;
use std::sync::Arc;

use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::{DatabaseSlot, Instance};
use engine::types::Value;

use crate::ast::{Expression, StatementKind};
use crate::session::ResultColumn;

/// Who asks, and where.
pub struct SystemContext<'a> {
    /// The instance.
    pub instance: &'a Arc<Instance>,
    /// The session's locks and transaction.
    pub engine: &'a RefCell<engine::session::Session>,
    /// `@@SPID`
    pub session_id: u16,
    /// Who logged in.
    pub login: &'a str,
    /// From which machine.
    pub host: &'a str,
    /// With which program.
    pub application: &'a str,
    /// The database asked: the current one, or the one that a view's name begins with.
    pub database: Arc<Database>,
}

impl SystemContext<'_> {
    /// The database of that name, usable or not.
    pub fn slot(&self, name: &str) -> Option<Arc<DatabaseSlot>> {
        let folded = name.to_lowercase();
        let slots = self.instance.slots();
        slots
            .into_iter()
            .find(|slot| slot.entry().name.to_lowercase() == folded)
    }

    /// The database of that id, usable or not.
    pub fn slot_by_id(&self, id: i64) -> Option<Arc<DatabaseSlot>> {
        let slots = self.instance.slots();
        slots.into_iter().find(|slot| i64::from(slot.entry().database_id) == id)
    }
}

/// The batch in which a system statement or procedure runs.
pub trait Host {
    /// The value of a constant or variable.
    ///
    /// # Errors
    /// 137 for a variable not declared.
    fn evaluate(&mut self, expression: &Expression) -> Result<Value>;
    /// Sends a whole result set.
    ///
    /// # Errors
    /// When the client is gone.
    fn result_set(&mut self, columns: &[ResultColumn], rows: &[Vec<Value>]) -> Result<()>;
    /// Sends a message; above severity 10 it is an error that another one will follow.
    ///
    /// # Errors
    /// When the client is gone.
    fn message(&mut self, message: &Error) -> Result<()>;
    /// Runs a batch in the session.
    ///
    /// # Errors
    /// The last error of the batch.
    fn execute(&mut self, batch: &str) -> Result<()>;
    /// The session's SET options as DBCC USEROPTIONS lists them.
    fn user_options(&self) -> Vec<(String, String)>;
    /// `@@TRANCOUNT`
    fn transaction_count(&self) -> u32;
    /// USE.
    ///
    /// # Errors
    /// As USE's.
    fn change_database(&mut self, name: &str) -> Result<()>;
}

/// How a system statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It is done.
    Done,
    /// The server is to end.
    Shutdown {
        /// Without checkpoints.
        no_wait: bool,
    },
}

/// Runs a statement; `None` when it is not one of the system's.
pub fn execute(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    statement: &StatementKind,
) -> Option<Result<Completion>> {
    if let StatementKind::Dbcc(statement) = statement {
        return Some(dbcc::execute(context, host, statement).map(|()| Completion::Done));
    }
    administration::execute(context, host, statement)
}
