//! Binding: from syntax to typed plans.
//!
//! Names are resolved against a stack of levels. A SELECT pushes its columns. A subquery first pushes a boundary, and each use of a lower
//! level becomes a *capture*: an expression of the outer row, passed in when the subquery runs. So a plan never refers to anything outside
//! itself.
//!
//! Invariant: binding leaves every stack unchanged.

mod advice;
mod aggregate;
mod assigned_rows;
mod bulk;
mod case;
mod changed_rows;
mod check;
mod computed;
mod condition;
mod constant;
mod cte;
mod cursor;
mod deduce;
mod expression;
mod firing;
mod fold;
mod from;
mod function;
mod grouping;
mod hierarchy;
mod hints;
mod indexable;
mod json_change;
mod kept_views;
mod manipulation;
mod merge;
mod module;
mod open_rowset;
mod open_xml;
mod outer_aggregate;
mod outer_key;
mod output;
mod pivot;
mod query;
mod reference;
mod same;
mod sample;
mod scope;
mod select;
mod sequence;
mod serialized;
mod source;
mod spatial;
mod table_function;
mod target;
mod temporal;
mod terms;
mod text;
mod unused;
mod updatable;
mod window;
mod write_clause;
mod xml;
mod xml_methods;

pub use advice::PlanAdvice;
pub use changed_rows::{ChangedRows, Nested};
pub(crate) use computed::is_deterministic;
pub(crate) use constant::parameter;
pub(crate) use cursor::{BoundCursor, CursorForm, CursorTable};
pub(crate) use deduce::{Deduced, Deduction, not_deducible};
pub(crate) use fold::settled;
pub(crate) use indexable::IndexableView;
pub(crate) use manipulation::needs_settings;
pub use manipulation::{BoundDelete, BoundInsert, BoundUpdate, InsertRows, RowSearch};
pub use merge::{BoundMerge, BoundMergeAction, BoundMergeClause};
pub use query::BoundQuery;
pub use scope::ScopeColumn;
pub(crate) use serialized::XML_COLUMN;
pub(crate) use source::column_list_mismatch;

use std::cell::RefCell;
use std::sync::Arc;

use engine::cancel;
use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{Collation, SqlType};

use crate::ast;
use crate::messages;
pub(crate) use crate::modules::TABLE_COLUMNS_MAX;
pub use crate::modules::{TableVariableShape, VariableColumn, VariableScope};
use crate::plan::{CommonTable, Condition, Expr, JoinMethods};
use crate::sink::ResultColumn;
use crate::state::SessionState;
use aggregate::aggregate_of;
use deduce::Asked;
use scope::Level;
use updatable::hidden as hidden_column;

/// Sources that one statement may have, views and common table expressions counted with all they contain at each reference.
/// SQL Server has no number for it ("limited by available resources") and answers 8623 as well.
const SOURCES_MAX: usize = 16_384;
/// The most links of chains above any part of a plan: each is a level of the tree of operators, which is walked and dropped.
const LINKS_MAX: usize = 2_000;
/// What a source takes beside its columns.
const SOURCE_BYTES: usize = 512;
/// What the two names of a visible column take on average.
const COLUMN_NAME_BYTES: usize = 64;

/// A common table expression that can be seen from where binding is.
struct VisibleCte<'a> {
    definition: &'a ast::CommonTableExpression,
    /// How many others it can see itself: those before it.
    sees: usize,
    /// What its references have in common.
    common: Arc<CommonTable>,
    /// While one of its own recursive members is bound.
    round: Option<Round>,
}

/// The rows of the round before, to which a recursive member refers.
struct Round {
    /// The number of the rounds.
    id: usize,
    columns: Vec<ResultColumn>,
    /// Boundaries of subqueries around the member.
    boundaries: usize,
    /// References of the member so far.
    references: usize,
}

/// Binds the statements of a batch.
pub struct Binder<'a> {
    session: &'a SessionState,
    variables: &'a VariableScope,
    /// That of the current database.
    collation: Collation,
    levels: Vec<Level>,
    ctes: Vec<VisibleCte<'a>>,
    /// Where NEXT VALUE FOR may stand.
    next_value_place: sequence::NextValuePlace,
    /// A MERGE is bound: its OUTPUT knows `$action`.
    is_merge: bool,
    /// Views being expanded, to end those that contain themselves.
    view_depth: usize,
    /// Line of the statement part being bound, for errors.
    line: u32,
    /// Recursive common table expressions bound so far.
    recursions: usize,
    /// MAXRECURSION of the statement.
    rounds_max: u32,
    /// FORCE ORDER of the statement, FORCEPLAN of the session, or a hint at a join of the FROM that is bound.
    is_order_forced: bool,
    /// The methods of joining that OPTION and FORCEPLAN leave.
    join_methods: JoinMethods,
    /// MAXDOP of the statement.
    degree_max: Option<usize>,
    /// What the statement's hints say about its plan.
    advice: PlanAdvice,
    /// What the plan so far takes.
    size: PlanSize,
    /// Links of the chains of joins, EXCEPT and INTERSECT around what is bound: so high is the plan above it, though few levels
    /// of the stack led here.
    links: usize,
    /// The SELECT that is bound next is that of an EXISTS and has no FROM.
    stars_are_ignored: bool,
    /// Identifiers and constants of the clause being bound.
    terms: usize,
    /// Whether a table or view was bound.
    reads_tables: bool,
    /// Whether UPDATE or DELETE may ask where its target's rows are stored.
    shows_row_places: bool,
    /// What points to the one row that is read of the table bound next.
    text_row: Option<&'a ast::TextRow>,
    /// Tables bound as sources, each as often as it is one, in subqueries too.
    sources: Vec<from::Stored>,
    /// In an inline function: the caller's variable that each parameter that is a table is; `None` for an empty one.
    lent_tables: Vec<Option<usize>>,
    /// Whether variables are the parameters of an inline function, which its plan captures.
    parameters_are_captured: bool,
    /// FOR SYSTEM_TIME of the view around.
    view_time: Option<std::rc::Rc<temporal::ViewTime>>,
    /// Hints at the views and common table expressions around.
    inherited_hints: Vec<ast::TableHint>,
    /// The table in whose place the rows stand that a change of it has changed.
    changed_table: Option<kept_views::ChangedTable>,
    /// Whether tables and views have to be named in two parts: WITH SCHEMABINDING.
    is_schema_bound: bool,
    /// Whether no subquery may stand anywhere.
    is_without_subqueries: bool,
    /// Whether no column may: a default is bound.
    is_without_columns: bool,
    /// The WINDOW clause of the SELECT being bound.
    named_windows: &'a [ast::NamedWindow],
    /// Whether FOR asks for the facts of the select list bound next.
    describes_items: bool,
    /// `IDENTITY(...)` that have been bound: only as an item of a SELECT INTO may one stand.
    identity_columns: u32,
    /// The statement is a SELECT INTO.
    makes_table: bool,
    described: Vec<serialized::ItemFacts>,
    /// What the SELECT bound next is asked for.
    request: Option<updatable::Request>,
    inside: Option<updatable::Inside>,
    /// What a cursor wants of the SELECT bound next, and the tables that it finds there.
    cursor: Option<CursorForm>,
    cursor_tables: Vec<CursorTable>,
    /// Where the types of undeclared parameters are found.
    deduction: Option<&'a RefCell<Deduction>>,
}

/// How large the plan of a statement is so far, views and common table expressions in it counted at each reference.
#[derive(Debug, Default)]
struct PlanSize {
    bytes: u64,
    sources: usize,
    charge: Charge,
}

impl<'a> Binder<'a> {
    /// A binder that sees a batch's variables.
    pub fn new(session: &'a SessionState, variables: &'a VariableScope) -> Binder<'a> {
        Binder {
            session,
            variables,
            collation: session.database_collation(),
            levels: Vec::new(),
            sources: Vec::new(),
            lent_tables: Vec::new(),
            ctes: Vec::new(),
            view_depth: 0,
            view_time: None,
            line: 0,
            recursions: 0,
            rounds_max: 100,
            is_order_forced: session.options().force_plan,
            join_methods: match session.options().force_plan {
                true => JoinMethods::LOOPS_IF_POSSIBLE,
                false => JoinMethods::ANY,
            },
            degree_max: None,
            advice: PlanAdvice::default(),
            size: PlanSize::default(),
            links: 0,
            stars_are_ignored: false,
            terms: 0,
            reads_tables: false,
            shows_row_places: false,
            text_row: None,
            cursor: None,
            cursor_tables: Vec::new(),
            parameters_are_captured: false,
            inherited_hints: Vec::new(),
            changed_table: None,
            is_schema_bound: false,
            is_merge: false,
            next_value_place: sequence::NextValuePlace::default(),
            is_without_subqueries: false,
            is_without_columns: false,
            named_windows: &[],
            describes_items: false,
            identity_columns: 0,
            makes_table: false,
            described: Vec::new(),
            request: None,
            inside: None,
            deduction: None,
        }
    }

    /// A binder of a module WITH SCHEMABINDING.
    pub(crate) fn bound_to_schema(self, is_schema_bound: bool) -> Binder<'a> {
        Binder {
            is_schema_bound,
            ..self
        }
    }

    /// Refuses subqueries in what is bound from here on.
    pub(crate) fn forbid_subqueries(&mut self) {
        self.is_without_subqueries = true;
    }

    /// Asks for stack to bind something nested, and for memory of what it is bound to.
    ///
    /// # Errors
    /// 8631 and 701; 3617 when the batch was cancelled.
    fn deeper(&mut self, bytes: usize) -> Result<()> {
        crate::stack::require()?;
        cancel::spend(1)?;
        self.size.bytes += bytes as u64;
        self.size.charge.grow_to(self.size.bytes)
    }

    /// Binds what stands in a chain of so many links.
    ///
    /// # Errors
    /// Those of `work`; 8631 when the plan would be higher than the stack is deep.
    fn in_chain<T>(&mut self, links: usize, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.links += links;
        if self.links > LINKS_MAX {
            return Err(messages::stack_limit());
        }
        let result = work(self);
        self.links -= links;
        result
    }

    /// Counts a source of FROM with its columns.
    ///
    /// # Errors
    /// 8623 when the statement has too many sources.
    fn count_source(&mut self, columns: usize) -> Result<()> {
        self.size.sources += 1;
        if self.size.sources > SOURCES_MAX {
            return Err(messages::plan_too_complex());
        }
        self.deeper(SOURCE_BYTES + columns * (size_of::<ScopeColumn>() + COLUMN_NAME_BYTES))
    }

    /// What the plan takes, in bytes, and what was asked for it: to be kept as long as the plan.
    pub(crate) fn take_size(&mut self) -> (u64, Charge) {
        (self.size.bytes, std::mem::take(&mut self.size.charge))
    }

    /// The line of what was bound last.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Binds a scalar expression that sees no columns.
    ///
    /// # Errors
    /// Those of binding.
    pub fn scalar(&mut self, expression: &'a ast::Expression) -> Result<Expr> {
        self.one_expression(|binder| binder.with_next_value(|binder| binder.expression(expression)))
    }

    /// Binds a scalar expression and converts it to a type.
    ///
    /// # Errors
    /// Those of binding, and of conversions that are not allowed.
    pub fn scalar_as(&mut self, expression: &'a ast::Expression, sql_type: SqlType) -> Result<Expr> {
        self.deduce(expression, Asked::Assigned(sql_type))?;
        let bound = self.scalar(expression)?;
        implicit(bound, sql_type)
    }

    /// Binds what is assigned to a variable, by `=` or a compound operator.
    ///
    /// # Errors
    /// Those of binding, and of conversions that are not allowed.
    pub fn assigned(
        &mut self,
        variable: &str,
        operator: Option<ast::BinaryOperator>,
        value: &'a ast::Expression,
    ) -> Result<Expr> {
        self.deduce_assigned(variable, value)?;
        let target = self.variable(variable)?;
        let sql_type = target.sql_type;
        self.deduce(value, Asked::Assigned(sql_type))?;
        let value = self.scalar(value)?;
        let value = match operator {
            Some(operator) => self.binary(operator, target, value)?,
            None => value,
        };
        implicit(value.assignable()?, sql_type)
    }

    /// Binds a condition that sees no columns.
    ///
    /// # Errors
    /// Those of binding.
    pub fn truth(&mut self, condition: &'a ast::Expression) -> Result<Condition> {
        self.search_condition(condition)
    }
}

/// An expression in another type, if that needs no CAST.
///
/// # Errors
/// 206, 257 when it does.
pub fn implicit(expression: Expr, sql_type: SqlType) -> Result<Expr> {
    if !expression.is_null_constant() {
        crate::scalar::data_type::check_conversion(expression.sql_type, sql_type, false)?;
    }
    Ok(expression.converted(sql_type))
}

/// The error for syntax that is known and not executed.
pub(crate) fn not_supported(what: &str) -> Error {
    crate::messages::not_supported(what)
}
