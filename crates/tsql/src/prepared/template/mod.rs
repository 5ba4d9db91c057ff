//! Statements of a batch with parameters in place of their constants, so that statements which differ in these alone share a plan.
//!
//! ```text
//! select c from t where a = 3  \                                                        plan_cache: one entry
//! SELECT c FROM t WHERE a = 4   > (@1 tinyint)SELECT [c] FROM [t] WHERE [a]=@1  ------>  with the plan, shared
//! ```
//! Each batch keeps a copy of its statement with variables in place of constants, and their values; the plan belongs to the cache entry.
//! `literals` selects the constants. With PARAMETERIZATION FORCED this applies to all statements except those listed below, otherwise to
//! those of `simple`. `text` has the text that SQL Server shows.
//!
//! Not parameterized: statements of modules and of texts with parameters; statements with variables, RECOMPILE, INSERT ... EXECUTE, WHERE
//! CURRENT OF, or more than [`PARAMETERS_MAX`] constants ("Forced Parameterization"); all statements while ANSI_NULLS is OFF. With SIMPLE,
//! also the text given to EXECUTE.
//!
//! Invariant: parameterization does not change results. Number parameters have their constant's own type (the text names the smallest one),
//! string parameters the longest, and only where no result type depends on them.

mod literals;
mod simple;
mod text;

use std::rc::Rc;
use std::sync::Arc;

use engine::catalog::ObjectDefinition;
use engine::memory::Charge;
use engine::types::Value;

use super::batch::CompiledBatch;
use crate::ast::{InsertSource, NodeNumber, QueryHint, Statement, StatementKind};
use crate::modules::{Code, UserTypes, VariableScope};
use crate::parser::ParsedBatch;
use crate::plan_cache::{CachedPlan, PlanCache, PlanKey};
use crate::state::SessionState;
use literals::Literals;
use simple::SimpleForm;
use text::Tokens;

/// Constants of a statement ("Forced Parameterization"; the other way stops at 1,000).
const PARAMETERS_MAX: usize = 2_097;
const SIMPLE_PARAMETERS_MAX: usize = 1_000;
/// A statement whose text is longer is not likely to be sent again with other constants.
const STATEMENT_BYTES_MAX: u32 = 64 << 10;
/// What a byte of text takes as a tree, about.
const TREE_BYTES_PER_TEXT_BYTE: u64 = 24;

/// A statement with parameters in place of its constants.
pub(crate) struct Template {
    pub(crate) batch: Rc<CompiledBatch>,
    pub(crate) values: Vec<Value>,
}

/// What a template was made under. Another one may have another template, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    database: u16,
    is_forced: bool,
    /// In a text that another one executes.
    is_nested: bool,
    ansi_nulls: bool,
    /// Of the database's catalog.
    version: u64,
}

impl Setting {
    pub(super) fn of(session: &SessionState) -> Setting {
        let database = session.database();
        Setting {
            database: database.id,
            is_forced: database.is_parameterization_forced(),
            is_nested: session.nest_level() > 0,
            ansi_nulls: session.options().ansi_nulls,
            version: database.catalog.version(),
        }
    }
}

/// The template of a statement of a text, if it has one under this setting.
pub(super) fn template(
    session: &SessionState,
    setting: Setting,
    (text, quoted_identifier): (&str, bool),
    statement: &Statement,
    cache: &Arc<PlanCache>,
) -> Option<Template> {
    let (start, end) = statement.span;
    if !setting.ansi_nulls || end.saturating_sub(start) > STATEMENT_BYTES_MAX || !is_considered(&statement.kind) {
        return None;
    }
    let form = SimpleForm::of(&statement.kind);
    if !setting.is_forced && (form.is_none() || setting.is_nested) {
        return None;
    }
    let tokens = Tokens::of(text, statement.span, quoted_identifier)?;
    if !setting.is_forced && (tokens.has_twice("SELECT") || !has_one_way(session, &form?, &tokens)) {
        return None;
    }
    let mut made = statement.clone();
    let (first, most) = match setting.is_forced {
        true => (0, PARAMETERS_MAX),
        false => (1, SIMPLE_PARAMETERS_MAX),
    };
    let mut literals = Literals::numbered_from(first, session.database_collation());
    literals.statement(&mut made.kind);
    let replaced = literals.replaced;
    if replaced.is_empty() || replaced.len() > most {
        return None;
    }
    let (declarations, written) = match setting.is_forced {
        true => tokens.forced(&replaced),
        false => tokens.simple(&replaced),
    };
    number_one(&mut made.kind);
    let mut scope = VariableScope::default();
    for (one, number) in replaced.iter().zip(first..) {
        scope.declare(&format!("@{number}"), one.sql_type).ok()?;
    }
    let mut charge = Charge::default();
    let bytes = u64::from(end - start) * TREE_BYTES_PER_TEXT_BYTE;
    charge.grow_to(bytes).ok()?;
    let parsed = ParsedBatch {
        statements: vec![made],
        bytes,
        charge,
        text: Arc::default(),
    };
    let code = Arc::new(Code::new(parsed, scope, UserTypes::none()).ok()?);
    let key = PlanKey::Template {
        database: setting.database,
        quoted_identifier,
        declarations: declarations.into(),
        text: written.into(),
    };
    let entry = cache.enter(&key, |number| CachedPlan::of_text(number, key.clone(), code.clone()));
    Some(Template {
        batch: Rc::new(CompiledBatch::of_text(code).entered(cache, entry)),
        values: replaced.into_iter().map(|one| one.value).collect(),
    })
}

/// The number of a statement that may have a template.
pub(super) fn number_of(kind: &StatementKind) -> Option<NodeNumber> {
    match kind {
        StatementKind::Select(query) => Some(query.number),
        StatementKind::Insert(insert) => Some(insert.number),
        StatementKind::Update(update) => Some(update.number),
        StatementKind::Delete(delete) => Some(delete.number),
        _ => None,
    }
}

/// Gives a statement the number that it has in all batches: plans are found by it.
fn number_one(kind: &mut StatementKind) {
    let one = NodeNumber::new(1);
    match kind {
        StatementKind::Select(query) => query.number = one,
        StatementKind::Insert(insert) => {
            insert.number = one;
        }
        StatementKind::Update(update) => update.number = one,
        StatementKind::Delete(delete) => delete.number = one,
        _ => {}
    }
}

/// Whether constants of it may be made parameters at all.
fn is_considered(kind: &StatementKind) -> bool {
    let recompiles = |hints: &[QueryHint]| hints.iter().any(|hint| hint.name == "RECOMPILE");
    match kind {
        StatementKind::Select(query) => !recompiles(&query.hints),
        StatementKind::Insert(insert) => match &insert.source {
            InsertSource::Values(_) => !recompiles(&insert.query_hints),
            InsertSource::Query(query) => !recompiles(&insert.query_hints) && !recompiles(&query.hints),
            InsertSource::Execute(_) | InsertSource::DefaultValues => false,
        },
        StatementKind::Update(update) => update.current_of.is_none() && !recompiles(&update.query_hints),
        StatementKind::Delete(delete) => delete.current_of.is_none() && !recompiles(&delete.query_hints),
        _ => false,
    }
}

/// Whether the table of a simple form leaves one way to its rows.
fn has_one_way(session: &SessionState, form: &SimpleForm<'_>, tokens: &Tokens<'_>) -> bool {
    let found = session.find_object(form.table);
    // Nothing is bound yet: what was asked for here is asked again then.
    session.take_dependencies();
    let Ok(Some((_, object))) = found else { return false };
    match &object.definition {
        ObjectDefinition::Table(table) => form.has_one_way(table, &tokens.names()),
        _ => false,
    }
}
