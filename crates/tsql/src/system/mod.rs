//! Monitoring and administration of the server: system views, DBCC, administration, system procedures.
//!
//! ```text
//! dbcc             DBCC commands
//! administration   CREATE, ALTER, DROP DATABASE, BACKUP, RESTORE, CHECKPOINT, SHUTDOWN, KILL, RECONFIGURE
//! procedures       sp_* and xp_*
//! ```
//! This code does not know how a batch runs: it reads a [`SystemContext`] and answers through a [`Host`].

mod administration;
pub mod dbcc;
mod output;
pub mod procedures;

pub use administration::{
    alter_database, announce_shutdown, backup, checkpoint, create_database, drop_databases, kill, reconfigure, restore,
};
pub use output::{Table, text_of};

use engine::error::{Error, Result};
use engine::types::Value;

use crate::ast::Expression;
use crate::sink::{ClientRows, ResultColumn};
use crate::state::{Rule, RulesOff};
use crate::views::RowStream;
pub use crate::views::SystemContext;

/// The batch in which a system statement or procedure runs.
pub trait Host {
    /// The value of a constant or variable.
    ///
    /// # Errors
    /// 137 for a variable not declared.
    fn evaluate(&mut self, expression: &Expression) -> Result<Value>;
    /// The value of an expression that is given as text, which may contain a query.
    ///
    /// # Errors
    /// Those of parsing, binding and evaluating it.
    fn value_of(&mut self, text: &str) -> Result<Value>;
    /// Sends a whole result set.
    ///
    /// # Errors
    /// When the client is gone.
    fn result_set(&mut self, columns: &[ResultColumn], rows: &[Vec<Value>]) -> Result<()>;
    /// Sends a result set row by row, as they are made.
    ///
    /// # Errors
    /// Those of making rows; when the client is gone.
    fn stream(&mut self, columns: &[ResultColumn], rows: &mut dyn RowStream) -> Result<()>;
    /// Sends a message; above severity 10 it is an error that another one will follow.
    ///
    /// # Errors
    /// When the client is gone.
    fn message(&mut self, message: &Error) -> Result<()>;
    /// An error after which the procedure goes on, to return a status that says so.
    ///
    /// # Errors
    /// The error itself, where a TRY block is around; when the client is gone.
    fn raise(&mut self, error: Error) -> Result<()>;
    /// Runs a batch in the session.
    ///
    /// # Errors
    /// The last error of the batch.
    fn execute(&mut self, batch: &str) -> Result<()>;
    /// Runs a batch that deletes rows of a history table; answers how many.
    ///
    /// # Errors
    /// The last error of the batch.
    fn clean_history(&mut self, batch: &str) -> Result<i64>;
    /// Loads rows into a table of the current database, as INSERT BULK and its rows do. Nothing is sent of it.
    ///
    /// # Errors
    /// Those of INSERT BULK and of the rows.
    fn load(&mut self, announcement: &str, rows: &mut dyn ClientRows) -> Result<()>;
    /// The session's SET options as DBCC USEROPTIONS lists them.
    fn user_options(&self) -> Vec<(String, String)>;
    /// The optimizer's rules that the session has switched off.
    fn rules_off(&self) -> RulesOff;
    /// Switches rules of the optimizer on or off for the session.
    fn switch_rules(&mut self, rules: &[Rule], on: bool);
    /// Sets a key that the session remembers.
    ///
    /// # Errors
    /// 15664 and 15665.
    fn set_session_context(&mut self, key: &str, value: Value, read_only: bool) -> Result<()>;
    /// Keeps a document for OPENXML, with the prefixes that the outermost element of another text declares; answers its handle.
    ///
    /// # Errors
    /// 6602 for texts that are not well formed, 701.
    fn prepare_xml_document(&mut self, text: &str, prefixes: &str) -> Result<i32>;
    /// Forgets a document.
    ///
    /// # Errors
    /// 8179 for a handle that the session does not have.
    fn remove_xml_document(&mut self, handle: i32) -> Result<()>;
    /// `@@TRANCOUNT`
    fn transaction_count(&self) -> u32;
    /// Finds again which columns a view or inline function has, for the catalog to show.
    ///
    /// # Errors
    /// 15165 when there is no such module; those of binding its query.
    fn refresh_module(&mut self, name: &str) -> Result<()>;
    /// Whether the procedure that runs was given a parameter, by its place.
    fn is_given(&self, parameter: usize) -> bool;
    /// The value of an OUTPUT parameter of the procedure that runs, by its place.
    fn output(&mut self, parameter: usize, value: Value);
    /// USE.
    ///
    /// # Errors
    /// As USE's.
    fn change_database(&mut self, name: &str) -> Result<()>;
}
