//! Execution of statements: one file per statement or family of statements.
//!
//! A batch is parsed once and cached. A statement is bound when it first runs, and its plan is kept with the batch as long as the catalogs
//! it was bound against do not change. Errors carry the line of their statement.
//!
//! ```text
//! error in a statement: the statement's changes are undone
//!   inside TRY          -> the CATCH block
//!   severity >= 20      -> the session ends
//!   ends its batch      -> message, the batch ends (and the transaction with it under XACT_ABORT)
//!   otherwise           -> message, the next statement
//! ```

mod alter_index;
mod alter_table;
mod body_check;
mod bound_parts;
mod bulk;
mod bulk_insert;
mod bulk_load;
mod cascades;
mod change;
mod computed_column;
mod constraint;
mod cursor;
mod cursor_change;
mod cursor_procedures;
mod cursor_rows;
mod cursor_told;
mod data_space;
mod database_trigger;
mod definition_event;
mod delete;
mod describe;
mod disabled_index;
mod dispatch;
mod execute;
mod execute_as;
mod executor;
mod fire;
mod fire_definition;
mod flow;
mod foreign_key;
mod function;
mod host;
mod index_filter;
mod index_limits;
mod index_options;
mod insert;
mod mask;
mod measured;
mod merge;
mod module;
mod option;
mod partition;
mod permission;
mod prepared_handles;
mod principal;
mod raise;
mod rebuilt_partition;
mod replaced_index;
mod result_sets;
mod schema_transfer;
mod securable;
mod security_event;
mod select;
mod sequence;
mod showplan;
mod sources;
mod standalone;
mod statistics;
mod switched;
mod synonym;
mod table;
mod table_argument;
mod table_definition;
mod temporary;
mod text;
pub(crate) mod transaction;
mod trigger;
mod undeclared;
mod unexecuted;
mod update;
mod user_type;
mod variable;
mod versioning;
mod view_index;
mod xml_schema;

pub(crate) use execute::{CallResult, given_by_client};
pub(crate) use executor::status_of;
pub use executor::{Executor, Flow};
pub(crate) use function::FunctionRunner;
pub(crate) use measured::tell_compile;
