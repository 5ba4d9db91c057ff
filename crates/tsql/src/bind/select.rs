//! One SELECT: from FROM to TOP.
//!
//! ```text
//! FROM, WHERE            the wide row
//!   Aggregate            keys, aggregates
//!     Filter             HAVING
//!       Window           and one column per window function
//!         Project        the select list, then what ORDER BY needs besides
//!           Distinct, Sort, Top
//! ```

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::aggregate::not_in_select_list;
use super::cursor::CursorForm;
use super::deduce::Asked;
use super::from::{FromBuilder, FromClause};
use super::grouping::{Clause, GroupBy, GroupRewriter, for_each_window_expression, place_windows};
use super::scope::{Level, SelectLevel, columns_of};
use super::{Binder, ScopeColumn, implicit};
use crate::ast::{self, ExpressionKind, Literal, OrderItem, Select, SelectItem, Top};
use crate::messages;
use crate::plan::{
    AggregateCall, AggregateNode, Condition, DistinctNode, Expr, ExprKind, FilterNode, Node, ProjectNode, SortKey,
    SortNode, TopCount, TopNode, WindowCall, WindowNode,
};
use crate::sink::ResultColumn;

/// What the plan of a SELECT takes beside its expressions and sources.
const SELECT_PLAN_BYTES: usize = 1_024;

/// Columns of a select list (sql-docs, "Maximum capacity specifications").
const SELECT_COLUMNS_MAX: usize = 4_096;

/// Rows of a query: the first columns are the result.
pub(super) struct BoundRows {
    pub(super) node: Node,
    pub(super) width: usize,
    pub(super) columns: Vec<ResultColumn>,
}

/// The select list: each item with the column of the result that it is.
pub(super) type SelectItems = [(Expr, ResultColumn)];

/// The parts of a SELECT after its names are bound.
struct Parts {
    items: Vec<(Expr, ResultColumn)>,
    order: Vec<(OrderKey, bool)>,
    having: Option<Condition>,
    group: GroupBy,
    aggregates: Vec<AggregateCall>,
    windows: Vec<WindowCall>,
    is_grouped: bool,
}

/// What a key of ORDER BY is.
enum OrderKey {
    /// A column of the select list.
    Item(usize),
    /// An expression of its own.
    Expression(Expr),
}

impl<'a> Binder<'a> {
    /// Binds a SELECT with the ORDER BY of its query.
    pub(super) fn select(&mut self, select: &'a Select, order_by: &'a [OrderItem]) -> Result<BoundRows> {
        let links = select.from.iter().map(links_of).sum();
        self.deeper(SELECT_PLAN_BYTES)?;
        self.in_select((select, order_by), |binder| {
            binder.in_chain(links, |binder| binder.select_in_chain(select, order_by))
        })
    }

    fn select_in_chain(&mut self, select: &'a Select, order_by: &'a [OrderItem]) -> Result<BoundRows> {
        self.line = select.line;
        let request = self.request.take();
        let cursor = self.cursor.take();
        let describes_items = std::mem::take(&mut self.describes_items);
        let mut builder = match (&request, cursor) {
            (Some(request), _) => self.builder_for(request, select),
            (None, Some(_)) => FromBuilder::with_locators(),
            (None, None) => FromBuilder::default(),
        };
        let mut from = self.sources(&select.from, &mut builder)?;
        let level = Level::Select(SelectLevel {
            columns: from.columns.clone(),
            ..SelectLevel::default()
        });
        let ((filter, mut parts), _) = self.within(level, |binder| {
            let filter = match &select.selection {
                Some(selection) => Some(binder.search_condition(selection)?),
                None => None,
            };
            let parts = binder.select_parts(select, order_by)?;
            if describes_items {
                binder.describe_items(&parts.items);
            }
            Ok((filter, parts))
        })?;
        if let Some(request) = &request {
            let asked = super::updatable::Restriction {
                filter: filter.as_ref(),
                is_grouped: parts.is_grouped || select.distinct,
                is_limited: select.top.is_some(),
            };
            self.answer_inside(request, &mut builder, &mut from, &mut parts.items, &asked)?;
        }
        let is_row = self.answer_cursor(cursor, &mut builder, &mut from, &mut parts);
        if let (Some(filter), false) = (filter, is_row) {
            from.conjuncts.extend(super::fold::filter(filter).into_conjuncts());
        }
        let mut node = self.logical_from(from.units, from.conjuncts, builder.width, from.is_forced);
        if request.is_none() {
            let mut used = vec![false; builder.width];
            node.mark_columns(&mut used);
            mark_parts(&parts, &mut used);
            super::unused::leave_out(&mut node, &used);
        }
        let top = match &select.top {
            Some(top) if !is_row => Some(self.top(top)?),
            _ => None,
        };
        finish(node, builder.width, &from.columns, parts, select.distinct, top)
    }

    /// Adds what a cursor finds the rows again by. True if one row alone is to be read, of which nothing else is asked.
    fn answer_cursor(
        &mut self,
        cursor: Option<CursorForm>,
        builder: &mut FromBuilder,
        from: &mut FromClause,
        parts: &mut Parts,
    ) -> bool {
        let Some(form) = cursor.filter(|_| !parts.is_grouped && parts.windows.is_empty()) else {
            return false;
        };
        let Some(hidden) = self.cursor_columns(form, parts.items.len(), builder, from) else {
            return false;
        };
        parts.items.extend(hidden);
        let is_row = matches!(form, CursorForm::Row(_));
        if is_row {
            parts.order.clear();
        }
        is_row
    }

    fn select_parts(&mut self, select: &'a Select, order_by: &'a [OrderItem]) -> Result<Parts> {
        let group = self.one_expression(|binder| binder.group_by(&select.group_by))?;
        if let Some(level) = self.select_level() {
            level.aggregates = Some(Vec::new());
            level.windows = Some(Vec::new());
            level.group_keys.clone_from(&group.keys);
        }
        let around = std::mem::replace(&mut self.named_windows, &select.windows);
        let parts = self.parts_after_groups(select, order_by, group);
        self.named_windows = around;
        parts
    }

    fn parts_after_groups(&mut self, select: &'a Select, order_by: &'a [OrderItem], group: GroupBy) -> Result<Parts> {
        self.check_named_windows()?;
        let items = self.one_expression(|binder| binder.in_select_list(|binder| binder.select_list(select)))?;
        let having = match &select.having {
            Some(having) => Some(self.allowing(true, false, |binder| binder.search_condition(having))?),
            None => None,
        };
        let order = self.one_expression(|binder| {
            let keys = order_by.iter();
            keys.map(|item| Ok((binder.order_key(item, &items)?, item.descending)))
                .collect::<Result<Vec<_>>>()
        })?;
        let level = self.select_level();
        let (aggregates, windows) = level.map_or((None, None), |level| (level.aggregates.take(), level.windows.take()));
        let aggregates = aggregates.unwrap_or_default();
        let is_grouped = !select.group_by.is_empty() || !aggregates.is_empty() || having.is_some();
        Ok(Parts {
            items,
            order,
            having,
            group,
            aggregates,
            windows: windows.unwrap_or_default(),
            is_grouped,
        })
    }

    fn select_list(&mut self, select: &'a Select) -> Result<Vec<(Expr, ResultColumn)>> {
        let mut items = Vec::with_capacity(select.items.len());
        let ignores_star = std::mem::take(&mut self.stars_are_ignored);
        for item in &select.items {
            if ignores_star && matches!(item, SelectItem::Wildcard { qualifier: None, .. }) {
                let one = Expr::constant(Value::Int(1), SqlType::Int);
                items.push((one, ResultColumn::new("", SqlType::Int)));
                continue;
            }
            self.select_item(item, select.from.is_empty(), &mut items)?;
            if items.len() > SELECT_COLUMNS_MAX {
                return Err(messages::too_many_select_columns());
            }
        }
        Ok(items)
    }

    fn select_item(
        &mut self,
        item: &'a SelectItem,
        no_from: bool,
        items: &mut Vec<(Expr, ResultColumn)>,
    ) -> Result<()> {
        match item {
            SelectItem::Wildcard { line, qualifier } => {
                self.line = *line;
                if no_from {
                    return Err(messages::nothing_to_select_from());
                }
                self.wildcard(qualifier.as_ref(), items)
            }
            SelectItem::Expression { expression, alias } => {
                let bound = self
                    .expression(expression)?
                    .with_collation_for("SELECT", items.len() + 1)?;
                let of_variable = match bound.kind {
                    ExprKind::Variable(slot) => self.variables.xml_collection(slot).cloned(),
                    _ => None,
                };
                let source = match (&bound.kind, self.select_level()) {
                    (ExprKind::Column(index), Some(level)) => {
                        level.columns.iter().find(|column| column.index == *index)
                    }
                    _ => None,
                };
                // A column is called as the query spells it, whatever its own spelling.
                let own = match &expression.kind {
                    ExpressionKind::Column(name) => name.object(),
                    ExpressionKind::PseudoColumn(name) => source.map_or(name.as_str(), |source| source.name.as_str()),
                    _ => "",
                };
                let shown = alias.as_ref().map_or(own, |alias| alias.text.as_str());
                let column = ResultColumn {
                    name: shown.to_owned(),
                    sql_type: bound.sql_type,
                    label: bound.label,
                    nullable: bound.nullable,
                    identity: source.is_some_and(|source| source.identity),
                    from_table: source.is_some_and(|source| source.from_table),
                    xml_collection: source.map_or(of_variable, |source| source.xml_collection.clone()),
                };
                items.push((bound, column));
                Ok(())
            }
            SelectItem::Assignment {
                value,
                variable,
                operator,
            } => {
                self.deduce_assigned(variable, value)?;
                let target = self.variable(variable)?;
                self.deduce(value, Asked::Assigned(target.sql_type))?;
                let value = self.expression(value)?;
                let value = match operator {
                    ast::AssignmentOperator::Assign => value,
                    ast::AssignmentOperator::Compound(operator) => self.binary(*operator, target.clone(), value)?,
                };
                let value = implicit(value.assignable()?, target.sql_type)?;
                items.push((value, ResultColumn::new("", target.sql_type)));
                Ok(())
            }
        }
    }

    fn wildcard(&mut self, qualifier: Option<&ast::Name>, items: &mut Vec<(Expr, ResultColumn)>) -> Result<()> {
        let Some(level) = self.select_level() else {
            return Err(messages::nothing_to_select_from());
        };
        let columns: Vec<ScopeColumn> = match qualifier {
            None => level
                .columns
                .iter()
                .filter(|column| !column.name.is_empty() && !column.is_hidden)
                .cloned()
                .collect(),
            Some(qualifier) => columns_of(&level.columns, qualifier).into_iter().cloned().collect(),
        };
        if columns.is_empty() {
            let name = qualifier.map_or_else(String::new, ToString::to_string);
            let text =
                format!("The column prefix '{name}' does not match with a table name or alias name used in the query.");
            return Err(engine::error::Error::new(107, 15, 1, text));
        }
        self.count_terms(columns.len())?;
        for column in columns {
            items.push((column.expression(), column.result()));
        }
        Ok(())
    }

    /// A key of ORDER BY: a position, a name of the select list, or any expression.
    ///
    /// # Errors
    /// 306 for a key that cannot be sorted.
    fn order_key(&mut self, item: &'a OrderItem, items: &[(Expr, ResultColumn)]) -> Result<OrderKey> {
        let key = self.order_key_of_any_type(item, items)?;
        match &key {
            OrderKey::Item(position) => check_sortable(items[*position].0.sql_type)?,
            OrderKey::Expression(expression) => check_sortable(expression.sql_type)?,
        }
        Ok(key)
    }

    fn order_key_of_any_type(&mut self, item: &'a OrderItem, items: &[(Expr, ResultColumn)]) -> Result<OrderKey> {
        if let Some(position) = order_position(item, items.len())? {
            return Ok(OrderKey::Item(position));
        }
        if let ExpressionKind::Column(name) = &item.expression.kind
            && name.parts.len() == 1
            && let Some(position) = only_position(&name.parts[0], items.iter().map(|(_, column)| column))?
        {
            return Ok(OrderKey::Item(position));
        }
        let bound = self.expression(&item.expression)?.with_collation_for("ORDER BY", 1)?;
        match items.iter().position(|(item, _)| item.same_as(&bound)) {
            Some(position) => Ok(OrderKey::Item(position)),
            None => Ok(OrderKey::Expression(bound)),
        }
    }

    /// Binds TOP.
    pub(super) fn top(&mut self, top: &'a Top) -> Result<TopCount> {
        let target = if top.percent { SqlType::Float } else { SqlType::BigInt };
        self.deduce(&top.count, Asked::Assigned(target))?;
        let count = self.scalar(&top.count)?;
        let is_number = count.sql_type.is_integer() || top.percent && count.sql_type.is_numeric();
        if !is_number && !count.is_null_constant() {
            return Err(messages::row_count_not_integer());
        }
        let ties = top.with_ties.then(Vec::new);
        Ok(TopCount {
            count: implicit(count, target)?,
            percent: top.percent,
            ties,
        })
    }
}

/// # Errors
/// 305, 306, 13636, 249 for a type whose values have no order.
pub(super) fn check_sortable(sql_type: SqlType) -> Result<()> {
    if sql_type.is_large_object() {
        return Err(messages::not_comparable());
    }
    if sql_type == SqlType::Json {
        return Err(messages::json_not_sortable());
    }
    if sql_type == SqlType::XML {
        return Err(messages::xml_not_comparable());
    }
    if sql_type.is_spatial() {
        return Err(messages::clause_needs_order(sql_type.name(), "ORDER BY"));
    }
    Ok(())
}

/// The column of a select list that a name in ORDER BY means.
///
/// # Errors
/// 209 when several have the name.
pub(super) fn only_position<'c>(
    name: &ast::Identifier,
    columns: impl Iterator<Item = &'c ResultColumn>,
) -> Result<Option<usize>> {
    let mut positions = columns.enumerate().filter(|(_, column)| name.is(&column.name));
    let first = positions.next().map(|(position, _)| position);
    match positions.next() {
        Some(_) => Err(messages::ambiguous_column_name(&name.text)),
        None => Ok(first),
    }
}

/// A whole number in ORDER BY is a position in the select list.
pub(super) fn order_position(item: &OrderItem, count: usize) -> Result<Option<usize>> {
    let ExpressionKind::Literal(Literal::Integer(position)) = item.expression.kind else {
        return Ok(None);
    };
    match usize::try_from(position)
        .ok()
        .filter(|position| (1..=count).contains(position))
    {
        Some(position) => Ok(Some(position - 1)),
        None => {
            let text = format!(
                "The ORDER BY position number {position} is out of range of the number of items in the select list."
            );
            Err(engine::error::Error::new(108, 16, 1, text))
        }
    }
}

/// How many operators join what a source of FROM names to the rest.
pub(super) fn links_of(source: &ast::TableSource) -> usize {
    match source {
        ast::TableSource::Join(join) => links_of(&join.left) + links_of(&join.right),
        _ => 1,
    }
}

fn mark_parts(parts: &Parts, used: &mut [bool]) {
    parts.items.iter().for_each(|(item, _)| item.mark_columns(used));
    parts.group.keys.iter().for_each(|key| key.mark_columns(used));
    if let Some(having) = &parts.having {
        having.mark_columns(used);
    }
    for (key, _) in &parts.order {
        if let OrderKey::Expression(expression) = key {
            expression.mark_columns(used);
        }
    }
    for aggregate in &parts.aggregates {
        let order = aggregate.order.iter().map(|(expression, _)| expression);
        aggregate
            .argument
            .iter()
            .chain(&aggregate.separator)
            .chain(order)
            .for_each(|argument| argument.mark_columns(used));
    }
    for window in &parts.windows {
        let mut window = window.clone();
        let marked = for_each_window_expression(&mut window, &mut |expression| {
            expression.mark_columns(used);
            Ok(())
        });
        debug_assert!(marked.is_ok());
    }
}

/// Builds the operators above FROM and WHERE.
fn finish(
    mut node: Node,
    mut width: usize,
    columns: &[ScopeColumn],
    mut parts: Parts,
    distinct: bool,
    top: Option<TopCount>,
) -> Result<BoundRows> {
    if parts.is_grouped {
        regroup(&mut parts, columns)?;
        let set_column = usize::from(!parts.group.sets.is_empty());
        let group_width = parts.group.keys.len() + parts.aggregates.len() + set_column;
        node = Node::Aggregate(AggregateNode {
            input: Box::new(node),
            input_width: width,
            keys: parts.group.keys,
            sets: parts.group.sets,
            aggregates: parts.aggregates,
            is_stream: false,
        });
        width = group_width;
        if let Some(condition) = parts.having.take() {
            node = Node::Filter(FilterNode {
                input: Box::new(node),
                condition: super::fold::filter(condition),
            });
        }
    }
    if !parts.windows.is_empty() {
        for (item, _) in &mut parts.items {
            place_windows(item, width)?;
        }
        for (key, _) in &mut parts.order {
            if let OrderKey::Expression(expression) = key {
                place_windows(expression, width)?;
            }
        }
        let added = parts.windows.len();
        node = Node::Window(WindowNode {
            input: Box::new(node),
            input_width: width,
            calls: parts.windows,
            arrival: None,
        });
        width += added;
    }
    project(node, width, parts.items, parts.order, distinct, top)
}

/// Rewrites everything above grouping.
fn regroup(parts: &mut Parts, columns: &[ScopeColumn]) -> Result<()> {
    let keys = parts.group.keys.clone();
    let mut rewriter = GroupRewriter {
        keys: &keys,
        aggregate_count: parts.aggregates.len(),
        columns,
        clause: Clause::SelectList,
    };
    for (item, _) in &mut parts.items {
        rewriter.rewrite(item)?;
    }
    rewriter.clause = Clause::Having;
    if let Some(having) = &mut parts.having {
        rewriter.rewrite_condition(having)?;
    }
    rewriter.clause = Clause::OrderBy;
    for (key, _) in &mut parts.order {
        if let OrderKey::Expression(expression) = key {
            rewriter.rewrite(expression)?;
        }
    }
    rewriter.clause = Clause::SelectList;
    for window in &mut parts.windows {
        rewriter.rewrite_window(window)?;
    }
    Ok(())
}

fn project(
    node: Node,
    input_width: usize,
    items: Vec<(Expr, ResultColumn)>,
    order: Vec<(OrderKey, bool)>,
    distinct: bool,
    mut top: Option<TopCount>,
) -> Result<BoundRows> {
    let (mut expressions, columns): (Vec<Expr>, Vec<ResultColumn>) = items.into_iter().unzip();
    let mut keys = Vec::with_capacity(order.len());
    for (key, descending) in order {
        let column = match key {
            OrderKey::Item(position) => position,
            OrderKey::Expression(_) if distinct => return Err(not_in_select_list()),
            OrderKey::Expression(expression) => {
                expressions.push(expression);
                expressions.len() - 1
            }
        };
        keys.push(SortKey { column, descending });
    }
    let width = expressions.len();
    let mut node = Node::Project(ProjectNode {
        input: Box::new(node),
        input_width,
        expressions,
    });
    if distinct {
        if let Some(column) = columns.iter().find(|column| column.sql_type.is_incomparable()) {
            return Err(messages::not_comparable_as_distinct(column.sql_type.name()));
        }
        node = Node::Distinct(DistinctNode {
            input: Box::new(node),
            columns: columns.len(),
            width,
            is_stream: false,
        });
    }
    if let Some(TopCount { ties: Some(ties), .. }) = &mut top {
        if keys.is_empty() {
            let text = "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.";
            return Err(engine::error::Error::new(1062, 16, 1, text));
        }
        ties.clone_from(&keys);
    }
    if !keys.is_empty() {
        node = Node::Sort(SortNode {
            input: Box::new(node),
            width,
            keys,
            presorted: 0,
        });
    }
    if let Some(top) = top {
        node = Node::Top(TopNode {
            input: Box::new(node),
            top,
            width,
        });
    }
    Ok(BoundRows { node, width, columns })
}

/// NULL constants of a SELECT INTO or UNION have no type of their own.
pub(super) fn untyped(expression: &Expr) -> bool {
    matches!(expression.kind, ExprKind::Constant(Value::Null))
}

impl<'a> Binder<'a> {
    /// Binds the items of OUTPUT.
    pub(super) fn output_items(&mut self, items: &'a [SelectItem]) -> Result<Vec<(Expr, ResultColumn)>> {
        let mut bound = Vec::with_capacity(items.len());
        self.one_expression(|binder| {
            let mut items = items.iter();
            items.try_for_each(|item| binder.select_item(item, false, &mut bound))
        })?;
        Ok(bound)
    }
}
