//! Whether a view can be indexed.
//!
//! ```text
//! what its text has                              refused by     what its expressions are                     refused by
//! a common table expression                      10137          a subquery                                   10127
//! UNION, EXCEPT, INTERSECT                       10116          a window function                            10143
//! FROM: a view, a derived table, a function      1937 ..        an aggregate within an expression            8668
//!   an outer join, APPLY, PIVOT, a hint          101xx          a column beside the GROUP BY; one left out   8668, 8660
//!   a table twice                                1947           SUM of what may be NULL, of float            8662, 1966
//! DISTINCT, TOP, OFFSET, ROLLUP, HAVING          101xx          not deterministic                            1949, 1956, 1963, 10139
//! AVG, MIN, COUNT, DISTINCT in an aggregate      10125 ..       float in WHERE, ON or GROUP BY               1962, 1964, 1965
//! GROUP BY without COUNT_BIG(*)                  10138          text, ntext, image, xml as a column          1942
//! ```
//! (sql-docs, "Create indexed views"; the numbers are SQL Server 2025's.) The text is judged first, and its common table expressions before
//! all else.
//!
//! A constant of a moment was a string, as T-SQL writes none, and settings of the session say which moment that is: so it is not deterministic.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::SqlType;

use super::aggregate::function_of;
use super::computed::is_deterministic;
use super::from::Stored;
use super::kept_views::kept_aggregate;
use super::{Binder, not_supported};
use crate::ast::{
    CreateView, ExpressionKind, FunctionCall, GroupItem, Join, JoinKind, QueryBody, Select, SelectItem, TableReference,
    TableSource,
};
use crate::messages;
use crate::modules::{ModuleBody, has_word};
use crate::plan::{Condition, Expr, ExprKind, KeptColumn, Node, Part, QueryPlan};

/// A view that can be indexed.
pub(crate) struct IndexableView {
    /// The query of the view, as its text has it.
    pub(crate) plan: QueryPlan,
    /// What each column is.
    pub(crate) columns: Vec<KeptColumn>,
    /// The ids of the tables that it reads.
    pub(crate) tables: Vec<u32>,
}

/// The names that errors have: of the view with its database, of the index.
#[derive(Clone, Copy)]
struct Names<'n> {
    view: &'n str,
    index: &'n str,
}

impl Binder<'_> {
    /// Judges a view, and binds it for its index.
    ///
    /// # Errors
    /// Those of the table at the head of this file; those of binding.
    pub(crate) fn indexable_view(
        &self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        index: &str,
    ) -> Result<IndexableView> {
        let module = self.session.module(database, object)?;
        let ModuleBody::View(view) = &module.body else {
            return Err(messages::invalid_object_name(&module.name));
        };
        let full_name = format!("{}.{}", database.name(), module.name);
        let names = Names {
            view: &full_name,
            index,
        };
        self.judge_text(names, view)?;
        let bound = self.view_parts(database, object, true, |query, binder| {
            let parts = binder.nested_query(query)?;
            Ok((parts, std::mem::take(&mut binder.sources)))
        });
        // Without GROUP BY an aggregate that is left, within an expression, stands beside columns.
        let ((parts, sources), columns) = bound.map_err(|error| match error.number {
            8120 => messages::view_computes_with_groups(names.index, names.view),
            _ => error,
        })?;
        let mut tables = Vec::new();
        for source in sources {
            tables.push(self.judged_table(database, source)?);
        }
        let Node::Project(project) = &parts.root else {
            return Err(Error::assertion("a select list without a projection"));
        };
        let judged = Judged {
            names,
            text: &module.text,
            columns: &columns,
            items: &project.expressions,
            input: &project.input,
        };
        judged.judge()?;
        let plan = self.within_indexed_view(database, &module, &view.query, |query, binder| {
            binder.nested_query(query)
        })?;
        Ok(IndexableView { plan, columns, tables })
    }

    /// What can be seen in the text alone.
    fn judge_text(&self, names: Names<'_>, view: &CreateView) -> Result<()> {
        let query = &view.query;
        if let Some(table) = query.common_table_expressions.first() {
            return Err(messages::view_has_common_table(names.view, &table.name.text));
        }
        if query.for_clause.is_some() {
            return Err(not_supported("FOR in an indexed view"));
        }
        let QueryBody::Select(select) = &query.body else {
            return Err(messages::view_has_set_operator(names.view));
        };
        if select.from.is_empty() {
            return Err(not_supported("an indexed view without a table"));
        }
        let mut read = Vec::new();
        for source in &select.from {
            self.judge_source(names, source, &mut read)?;
        }
        if select.distinct {
            return Err(messages::view_is_distinct(names.view));
        }
        if select.top.is_some() || query.offset.is_some() {
            return Err(messages::view_has_top(names.view));
        }
        judge_groups(names, select)
    }

    fn judge_source(&self, names: Names<'_>, source: &TableSource, read: &mut Vec<u32>) -> Result<()> {
        crate::stack::require()?;
        match source {
            TableSource::Table(reference) => self.judge_reference(names, reference, read),
            TableSource::Join(join) => {
                judge_join(names, join)?;
                self.judge_source(names, &join.left, read)?;
                self.judge_source(names, &join.right, read)
            }
            TableSource::Derived { alias, .. } | TableSource::Values { alias, .. } => {
                Err(messages::view_has_derived_table(names.view, &alias.text))
            }
            TableSource::Function { call, .. } => {
                Err(messages::view_has_table_function(names.view, &call.name.to_string()))
            }
            TableSource::OpenXml(_) => Err(messages::view_has_open_xml(names.view)),
            TableSource::OpenRowset(_) => Err(not_supported("OPENROWSET in an indexed view")),
            TableSource::Pivot(_) => Err(messages::view_has_pivot(names.view)),
            TableSource::Unpivot(_) => Err(messages::view_has_unpivot(names.view)),
            TableSource::Variable { .. } | TableSource::Change { .. } => {
                Err(not_supported("an indexed view without a table"))
            }
        }
    }

    fn judge_reference(&self, names: Names<'_>, reference: &TableReference, read: &mut Vec<u32>) -> Result<()> {
        if !reference.hints.is_empty() {
            return Err(messages::view_has_table_hint(names.view));
        }
        if reference.system_time.is_some() {
            return Err(not_supported("FOR SYSTEM_TIME in an indexed view"));
        }
        let Some((database, object)) = self.session.find_source(&reference.name)? else {
            return Err(not_supported("a system view in an indexed view"));
        };
        let name = object
            .definition
            .qualified_name()
            .map_or_else(String::new, |(schema, name)| {
                format!("{}.{schema}.{name}", database.name())
            });
        if !matches!(object.definition, ObjectDefinition::Table(_)) {
            return Err(messages::view_of_view(names.view, &name));
        }
        match read.contains(&object.definition.object_id()) {
            true => Err(messages::view_with_self_join(names.view, &name)),
            false => {
                read.push(object.definition.object_id());
                Ok(())
            }
        }
    }

    /// The id of a table that a view reads. Rows of history are written beside the changes of their table, which its views would not see.
    fn judged_table(&self, database: &Database, source: Stored) -> Result<u32> {
        let Stored::Table(_, id) = source else {
            return Err(not_supported("an indexed view without a table"));
        };
        let object = database.catalog.by_id(id, self.session.id);
        let object = object.ok_or_else(|| Error::definition_changed(""))?;
        match object
            .definition
            .table()
            .is_some_and(|table| table.history_of.is_some())
        {
            true => Err(not_supported("an indexed view over a history table")),
            false => Ok(id),
        }
    }
}

fn judge_join(names: Names<'_>, join: &Join) -> Result<()> {
    match join.kind {
        JoinKind::Left | JoinKind::Right | JoinKind::Full => Err(messages::view_has_outer_join(names.view)),
        JoinKind::CrossApply => Err(messages::view_has_apply(names.view)),
        JoinKind::OuterApply => Err(messages::view_has_outer_apply(names.view)),
        JoinKind::Inner | JoinKind::Cross if join.algorithm.is_some() => Err(messages::view_has_join_hint(names.view)),
        JoinKind::Inner | JoinKind::Cross => Ok(()),
    }
}

fn judge_groups(names: Names<'_>, select: &Select) -> Result<()> {
    let is_key = |item: &GroupItem| matches!(item, GroupItem::Expression(_));
    if !select.group_by.iter().all(is_key) {
        return Err(messages::view_has_rollup(names.view));
    }
    if select.having.is_some() {
        return Err(messages::view_has_having(names.view));
    }
    let mut counts = false;
    for item in &select.items {
        let SelectItem::Expression { expression, .. } = item else {
            continue;
        };
        if let ExpressionKind::Function(call) = &expression.kind {
            judge_aggregate(names, call)?;
            counts |= kept_aggregate(call) == Some(KeptColumn::Count);
        }
    }
    match select.group_by.is_empty() || counts {
        true => Ok(()),
        false => Err(messages::view_without_count_big(names.view)),
    }
}

/// Judges an item of a select list that may be an aggregate.
fn judge_aggregate(names: Names<'_>, call: &FunctionCall) -> Result<()> {
    let name = call.name.object().to_ascii_lowercase();
    if call.over.is_some() || call.is_method || call.name.parts.len() > 1 || function_of(&name).is_none() {
        return Ok(());
    }
    let shown = name.to_ascii_uppercase();
    match name.as_str() {
        _ if call.distinct => Err(messages::view_has_distinct_aggregate(names.view, &shown)),
        "count" => Err(messages::view_has_count(names.view)),
        // Of a column that may be NULL it is another number.
        "count_big" if !call.star => Err(messages::view_without_count_big(names.view)),
        "count_big" | "sum" => Ok(()),
        _ => Err(messages::view_has_aggregate(names.view, &shown)),
    }
}

/// A view whose text is right, bound before its rows are grouped.
struct Judged<'v> {
    names: Names<'v>,
    text: &'v str,
    columns: &'v [KeptColumn],
    /// The columns, then the keys of GROUP BY.
    items: &'v [Expr],
    input: &'v Node,
}

impl Judged<'_> {
    fn judge(&self) -> Result<()> {
        let view = self.names.view;
        let mut conditions = Vec::new();
        self.judge_node(self.input, &mut conditions)?;
        if self.items.iter().any(has_subquery) || conditions.iter().any(|one| is_over_subquery(one)) {
            return Err(messages::view_has_subquery(view));
        }
        self.items.iter().try_for_each(|item| self.judge_expression(item))?;
        let mut compared = Vec::new();
        for condition in &conditions {
            condition.for_each_expression(&mut |expression| compared.push(expression));
        }
        compared
            .iter()
            .try_for_each(|expression| self.judge_expression(expression))?;
        self.judge_items()?;
        let (_, keys) = self.items.split_at(self.columns.len().min(self.items.len()));
        keys.iter()
            .chain(compared)
            .try_for_each(|expression| self.require_precise(expression))
    }

    /// Judges operators, and finds the conditions in them.
    fn judge_node<'n>(&self, node: &'n Node, conditions: &mut Vec<&'n Condition>) -> Result<()> {
        crate::stack::require()?;
        let Names { view, index } = self.names;
        if matches!(node, Node::Window(_)) {
            return Err(messages::view_has_window(view));
        }
        if matches!(node, Node::Aggregate(_)) {
            return Err(match self.columns.contains(&KeptColumn::Count) {
                true => messages::view_computes_with_groups(index, view),
                // Without GROUP BY no column is a key.
                false => messages::key_not_grouped(index, view),
            });
        }
        if let Node::Scan(scan) = node {
            let named = scan.virtual_columns.iter().filter(|column| {
                let own = scan.table.table.definition().columns.get(column.column);
                own.is_some_and(|own| crate::modules::has_name(self.text, &own.name))
            });
            named
                .map(|column| &column.expression)
                .try_for_each(|one| self.judge_expression(one))?;
        }
        node.parts(&mut |part| match part {
            Part::Node(below) | Part::Apart(below) => self.judge_node(below, conditions),
            Part::Plan(plan) => self.judge_node(&plan.root, conditions),
            Part::Condition(condition) | Part::Written(condition) => {
                conditions.push(condition);
                Ok(())
            }
            Part::Expression(expression) => self.judge_expression(expression),
        })
    }

    /// Judges whether an expression is the same for the same row, in every session.
    fn judge_expression(&self, expression: &Expr) -> Result<()> {
        let view = self.names.view;
        match &expression.kind {
            ExprKind::Constant(value) if expression.sql_type.is_temporal() && !value.is_null() => {
                return Err(self.conversion());
            }
            ExprKind::Function { name, .. } if !is_deterministic(expression) => {
                return Err(messages::view_not_deterministic(view, name));
            }
            ExprKind::Function { name, arguments, .. } if writes_moments(name, expression.sql_type, arguments) => {
                return Err(self.conversion());
            }
            ExprKind::Module { call, .. } if !is_deterministic(expression) || knows_moments(&call.module.text) => {
                return Err(messages::view_of_nondeterministic_function(view, &call.module.name));
            }
            ExprKind::Convert { .. } if !is_deterministic(expression) => {
                return Err(self.conversion());
            }
            _ => {}
        }
        let mut judged = Ok(());
        expression.for_each_child(&mut |child| {
            if judged.is_ok() {
                judged = self.judge_expression(child);
            }
        });
        judged
    }

    /// The error for a conversion that settings of the session decide.
    fn conversion(&self) -> Error {
        let is_written = ["CONVERT", "CAST", "TRY_CONVERT", "TRY_CAST"]
            .iter()
            .any(|word| has_word(self.text, word));
        match is_written {
            true => messages::view_conversion_not_deterministic(self.names.view),
            false => messages::view_converts_implicitly(self.names.view),
        }
    }

    /// Judges the columns of the view.
    fn judge_items(&self) -> Result<()> {
        let Names { view, index } = self.names;
        let (items, keys) = self.items.split_at(self.columns.len().min(self.items.len()));
        let own = || items.iter().zip(self.columns);
        if items.iter().any(|item| item.sql_type.is_incomparable()) {
            return Err(messages::view_with_large_columns(view));
        }
        let is_grouped = self.columns.contains(&KeptColumn::Count);
        let values = || {
            own()
                .filter(|(_, column)| **column == KeptColumn::Value)
                .map(|(item, _)| item)
        };
        if is_grouped && !keys.iter().all(|key| values().any(|item| item.same_as(key))) {
            return Err(messages::grouping_column_not_selected(index, view));
        }
        if is_grouped && !values().all(|item| keys.iter().any(|key| key.same_as(item))) {
            return Err(messages::view_computes_with_groups(index, view));
        }
        for (item, _) in own().filter(|(_, column)| **column == KeptColumn::Sum) {
            if is_float(item.sql_type) {
                return Err(messages::view_aggregate_imprecise(view));
            }
            if item.nullable {
                return Err(messages::view_sums_nullable(index, view));
            }
        }
        Ok(())
    }

    /// Judges an expression of WHERE, ON or GROUP BY.
    fn require_precise(&self, expression: &Expr) -> Result<()> {
        let view = self.names.view;
        if is_float(expression.sql_type) {
            return Err(match &expression.kind {
                ExprKind::Column(place) => {
                    let column = column_at(self.input, *place).unwrap_or_default();
                    messages::view_condition_imprecise(view, &column)
                }
                ExprKind::Constant(_) => messages::view_constant_imprecise(view),
                _ => messages::view_arithmetic_imprecise(view),
            });
        }
        let mut judged = Ok(());
        expression.for_each_child(&mut |child| {
            if judged.is_ok() {
                judged = self.require_precise(child);
            }
        });
        judged
    }
}

/// Whether a query stands in an expression; functions of the user are judged by themselves.
fn has_subquery(expression: &Expr) -> bool {
    let mut found = match &expression.kind {
        ExprKind::Subquery(_) => true,
        ExprKind::Case { branches, .. } => branches.iter().any(|(condition, _)| is_over_subquery(condition)),
        _ => false,
    };
    expression.for_each_child(&mut |child| found = found || has_subquery(child));
    found
}

fn is_over_subquery(condition: &Condition) -> bool {
    match condition {
        Condition::Exists(_) | Condition::Quantified { .. } => true,
        Condition::And(parts) | Condition::Or(parts) => parts.iter().any(is_over_subquery),
        Condition::Not(inner) => is_over_subquery(inner),
        Condition::Constant(_)
        | Condition::Compare { .. }
        | Condition::In { .. }
        | Condition::Like { .. }
        | Condition::IsNull(_)
        | Condition::IsDistinct(..) => {
            let mut found = false;
            condition.for_each_expression(&mut |expression| found = found || has_subquery(expression));
            found
        }
    }
}

/// Whether a function makes a text of a moment, which settings of the session shape.
fn writes_moments(name: &str, result: SqlType, arguments: &[Expr]) -> bool {
    let reads_text = [
        "ascii",
        "charindex",
        "difference",
        "isnumeric",
        "len",
        "patindex",
        "unicode",
    ]
    .contains(&name);
    (result.is_character() || reads_text) && arguments.iter().any(|argument| argument.sql_type.is_temporal())
}

/// Whether the text of a function of the user has to do with moments or with global variables: what it makes of them may depend on settings of
/// the session, which its body is not searched for.
fn knows_moments(text: &str) -> bool {
    let words = [
        "DATE",
        "DATETIME",
        "DATETIME2",
        "DATETIMEOFFSET",
        "SMALLDATETIME",
        "TIME",
        "DATEADD",
        "DATEDIFF",
        "DATEDIFF_BIG",
        "DATEPART",
        "DATETRUNC",
        "DATE_BUCKET",
        "DAY",
        "EOMONTH",
        "ISDATE",
        "MONTH",
        "YEAR",
    ];
    text.contains("@@") || words.iter().any(|word| has_word(text, word))
}

fn is_float(sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::Real | SqlType::Float)
}

/// The column of a table at a place of the wide row: its name.
fn column_at(node: &Node, place: usize) -> Option<String> {
    if let Node::Scan(scan) = node {
        let columns = &scan.table.table.definition().columns;
        let column = columns.get(place.checked_sub(scan.offset)?)?;
        return Some(column.name.clone());
    }
    node.inputs().into_iter().find_map(|below| column_at(below, place))
}
