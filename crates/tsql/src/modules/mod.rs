//! Compiled modules: procedures, views, functions and triggers, parsed once for the instance and shared by its sessions.
//!
//! ```text
//! catalog:   name -> CatalogObject (immutable, with the text)          found again at every use, so it is the one that counts
//! instance:  CatalogObject -> Module: tree, parameters, variables      ModuleCache, here; ages by bytes
//! instance:  Module -> plans of its statements, by node number         plan_cache; a plan knows what it was bound against
//! ```
//! A module is found by the *identity* of its definition in the catalog. ALTER, a rollback, RESTORE and opening a database make
//! other definitions, so a module is never out of date: what is kept of a former definition is found by nobody, and ages out. The
//! cache holds the definition, so its address is not given to another one meanwhile.
//!
//! Trees are shared, and so are plans ([`crate::plan_cache`]), but for those that depend on what one session sees: uncommitted changes of
//! its own, its temporary tables. Nodes have numbers ([`crate::ast::NodeNumber`]), and plans are found by them.
//!
//! Execution calls modules through [`crate::state::ModuleCaller`], a trait that `statements` implements and hands to the session's
//! state: a bound call holds the module it calls. So operators and expressions run functions of the user without knowing what a
//! statement is.
//!
//! ```text
//! bind   --makes-->  ModuleCall { module, database }           in an expression, or as a source of FROM
//! exec   --calls-->  ModuleCaller::scalar | rows               the trait
//! statements         runs the module's statements              the implementation
//! ```
//! Invariant: this room imports neither session, binder, operators nor statements.
//!
//! Views and inline functions are bound when they are created, so the names in them exist. Procedures resolve names when they
//! run. The catalog keeps the columns that a view or table-valued function had then for `sys.columns` alone; queries bind the
//! text.
//!
//! Invariant: a module is read and bound under the ANSI_NULLS and QUOTED_IDENTIFIER of its creation, for every caller.

mod aging;
mod cache;
mod call;
mod compile;
mod dependents;
mod names;
mod regenerate;
mod rules;
mod user_types;
mod variables;

pub(crate) use aging::{AgingCache, Footprint};
pub(crate) use cache::ModuleCache;
pub use call::ModuleCall;
pub use compile::{Code, Module, ModuleBody, ModuleParameter, ModuleSettings};
pub(crate) use compile::{check_returned, declared, declared_of_function};
pub(crate) use dependents::{
    ColumnChange, computed_of_column, dependent_on_column, dependent_on_object, object_of_schema,
};
pub(crate) use names::{function_kind, has_word, names_in, one_part_source};
pub(crate) use regenerate::{condition_text, default_text, filter_text};
pub(crate) use rules::check_function;
pub(crate) use user_types::UserTypes;
pub(crate) use variables::{TABLE_COLUMNS_MAX, ignores_duplicates};
pub use variables::{TableTypeId, TableVariableShape, VariableColumn, VariableScope};
