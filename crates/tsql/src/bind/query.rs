//! Whole queries: common table expressions, set operations, ORDER BY, OFFSET.

use std::collections::HashSet;
use std::sync::Arc;

use engine::catalog::Identity;
use engine::error::Result;
use engine::types::SqlType;

use super::assigned_rows::lift_values;
use super::cursor::CursorForm;
use super::select::{BoundRows, only_position, order_position};
use super::serialized::Place;
use super::{Binder, VisibleCte, implicit};
use crate::ast::{
    Expression, ExpressionKind, ForClause, Identifier, Name, OrderItem, Query, QueryBody, Select, SelectItem,
    SetOperator, TableSource,
};
use crate::messages;
use crate::plan::{
    AppendNode, DistinctNode, Expr, Label, Node, ProjectNode, QueryPlan, SetKind, SetOperationNode, Shape, SliceNode,
    SortKey, SortNode, label_of,
};
use crate::scalar::data_type::common_type;
use crate::sink::ResultColumn;

/// A SELECT statement.
pub struct BoundQuery {
    pub plan: QueryPlan,
    /// `SELECT @v = ...`: slots of variables, each with its value, which is computed from a row of the plan. They are set in turn: a
    /// value may depend on those before it, and on those of the row before.
    pub assignments: Option<Vec<(usize, Expr)>>,
    pub into: Option<Name>,
    /// `ON filegroup` of INTO.
    pub into_filegroup: Option<Identifier>,
    /// `IDENTITY(...)` of the table that INTO makes: the place of its column.
    pub identity: Option<(usize, Identity)>,
    /// Whether it reads a table or view: then it begins an implicit transaction.
    pub reads_tables: bool,
}

impl<'a> Binder<'a> {
    /// Binds a SELECT statement.
    ///
    /// # Errors
    /// Those of binding; 194, 196 and 10734 for INTO and variables where they may not stand.
    pub fn statement_query(&mut self, query: &'a Query) -> Result<BoundQuery> {
        let into = into_of(&query.body)?;
        let slots = self.assigned_slots(&query.body)?;
        if slots.is_some() && into.is_some() {
            return Err(messages::assignment_with_into());
        }
        if let (Some(clause), true) = (&query.for_clause, slots.is_some() || into.is_some()) {
            let statement = if into.is_some() { "SELECT INTO" } else { "ASSIGNMENT" };
            return Err(match clause {
                ForClause::Json(_) => messages::for_json_not_allowed(statement),
                _ => messages::for_xml_not_allowed(statement),
            });
        }
        self.makes_table = into.is_some();
        let mut plan = self.whole_query(query, Place::Statement)?;
        if self.makes_table && is_joined(&query.body) {
            plan.columns.iter_mut().for_each(|column| column.identity = false);
        }
        let identity = self.made_identity(&query.body, &mut plan)?;
        let assignments = slots.map(|slots| slots.into_iter().zip(lift_values(&mut plan)).collect());
        Ok(BoundQuery {
            plan,
            assignments,
            into: into.map(|(name, _)| name.clone()),
            into_filegroup: into.and_then(|(_, filegroup)| filegroup.cloned()),
            identity,
            reads_tables: self.reads_tables,
        })
    }

    /// The column of a SELECT INTO that is `IDENTITY(...)`.
    ///
    /// # Errors
    /// 177 where such a call stands elsewhere; 8108 for a second identity column, 2749.
    fn made_identity(&self, body: &QueryBody, plan: &mut QueryPlan) -> Result<Option<(usize, Identity)>> {
        if self.identity_columns == 0 {
            return Ok(None);
        }
        let QueryBody::Select(select) = body else {
            return Err(messages::identity_function_without_into());
        };
        let mut calls = select.items.iter().filter_map(|item| match item {
            SelectItem::Expression { expression, alias } => match &expression.kind {
                ExpressionKind::Identity(identity) => Some((identity, alias.as_ref())),
                _ => None,
            },
            _ => None,
        });
        let Some((written, alias)) = calls.next() else {
            return Err(messages::identity_function_without_into());
        };
        let others = calls.count();
        if self.identity_columns as usize != others + 1 {
            return Err(messages::identity_function_without_into());
        }
        let name = alias.map_or("", |alias| alias.text.as_str());
        let place = plan.columns.iter().position(|column| column.name == name).unwrap_or(0);
        let table = select.into.as_ref().map_or(String::new(), |into| into.to_string());
        let inherited = plan
            .columns
            .iter()
            .find(|column| column.identity)
            .map(|column| column.name.as_str());
        if let Some(other) = inherited.or((others > 0).then_some(name)) {
            return Err(messages::second_identity_of_rows(&table, other));
        }
        let Some(column) = plan.columns.get_mut(place) else {
            return Ok(None);
        };
        column.nullable = false;
        let is_whole = column.sql_type.is_integer() || matches!(column.sql_type, SqlType::Decimal { scale: 0, .. });
        let number = |number: i128| i64::try_from(number).map_err(|_| messages::identity_type(name));
        if !is_whole || written.increment == 0 {
            return Err(messages::identity_type(name));
        }
        let identity = Identity {
            seed: number(written.seed)?,
            increment: number(written.increment)?,
        };
        Ok(Some((place, identity)))
    }

    /// The slots that `SELECT @v = ...` fills.
    fn assigned_slots(&self, body: &QueryBody) -> Result<Option<Vec<usize>>> {
        if !assigns(body) {
            return Ok(None);
        }
        let QueryBody::Select(select) = body else {
            return Err(messages::assignment_in_set_operation());
        };
        let mut slots = Vec::with_capacity(select.items.len());
        for item in &select.items {
            let SelectItem::Assignment { variable, .. } = item else {
                return Err(messages::assignment_with_retrieval());
            };
            slots.extend(self.variables.scalar(variable).map(|(slot, _)| slot));
        }
        Ok(Some(slots))
    }

    /// Binds a query inside a statement.
    pub(super) fn nested_query(&mut self, query: &'a Query) -> Result<QueryPlan> {
        check_nested(query)?;
        self.whole_query(query, Place::Nested)
    }

    /// Binds a query that answers rows to the statement around it, with the common table expressions it defines.
    ///
    /// # Errors
    /// Those of binding; 156 for INTO.
    pub(super) fn query(&mut self, query: &'a Query) -> Result<QueryPlan> {
        refuse_into(&query.body)?;
        self.whole_query(query, Place::Insert)
    }

    fn whole_query(&mut self, query: &'a Query, place: Place) -> Result<QueryPlan> {
        self.obey_query_hints(&query.hints)?;
        self.describes_items = query.for_clause.is_some() && matches!(query.body, QueryBody::Select(_));
        let plan = self.with_ctes(&query.common_table_expressions, |binder| binder.query_body(query))?;
        match &query.for_clause {
            Some(clause) => self.serialized(plan, clause, place),
            None => Ok(plan),
        }
    }

    /// Makes common table expressions visible for a statement.
    ///
    /// # Errors
    /// 239 for two of one name; those of `work`.
    pub(super) fn with_ctes<T>(
        &mut self,
        definitions: &'a [crate::ast::CommonTableExpression],
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let visible = self.ctes.len();
        let mut names = HashSet::with_capacity(definitions.len());
        let mut twice = definitions.iter().map(|definition| &definition.name.text);
        if let Some(name) = twice.find(|name| !names.insert(name.to_lowercase())) {
            return Err(messages::duplicate_common_table_expression(name));
        }
        for definition in definitions {
            let sees = self.ctes.len();
            self.ctes.push(VisibleCte {
                definition,
                sees,
                common: Arc::default(),
                round: None,
            });
        }
        let result = work(self);
        self.ctes.truncate(visible);
        result
    }

    fn query_body(&mut self, query: &'a Query) -> Result<QueryPlan> {
        // Of the one row of a cursor nothing is left out.
        let is_row = matches!(self.cursor, Some(CursorForm::Row(_)));
        let mut rows = match &query.body {
            QueryBody::Select(select) => self.select(select, &query.order_by)?,
            set_operation => {
                let rows = self.body(set_operation)?;
                order_set(rows, &query.order_by, first_select(set_operation))?
            }
        };
        if let (Some(offset), false) = (&query.offset, is_row) {
            let offset = self.scalar_as(offset, SqlType::BigInt)?;
            let fetch = match &query.fetch {
                Some(fetch) => Some(self.scalar_as(fetch, SqlType::BigInt)?),
                None => None,
            };
            rows.node = Node::Slice(SliceNode {
                input: Box::new(rows.node),
                offset,
                fetch,
            });
        }
        Ok(QueryPlan {
            root: rows.node,
            width: rows.width,
            columns: rows.columns,
        })
    }

    pub(super) fn body(&mut self, body: &'a QueryBody) -> Result<BoundRows> {
        match body {
            QueryBody::Select(select) => self.select(select, &[]),
            QueryBody::Ordered(query) => {
                check_nested(query)?;
                let plan = self.query_body(query)?;
                Ok(BoundRows {
                    node: plan.root,
                    width: plan.width,
                    columns: plan.columns,
                })
            }
            QueryBody::SetOperations { first, others } => self.set_operations(first, others),
        }
    }

    /// Binds queries joined by set operators, from left to right. Neighbours under UNION and UNION ALL become one list.
    pub(super) fn set_operations(
        &mut self,
        first: &'a QueryBody,
        others: &'a [(SetOperator, QueryBody)],
    ) -> Result<BoundRows> {
        let is_link = |(operator, _): &&(SetOperator, QueryBody)| {
            matches!(operator, SetOperator::Except | SetOperator::Intersect)
        };
        let links = others.iter().filter(is_link).count();
        let outer = std::mem::replace(&mut self.next_value_place.is_set_operation, true);
        let result = self.in_chain(links, |binder| binder.set_operations_in_turn(first, others));
        self.next_value_place.is_set_operation = outer;
        result
    }

    fn set_operations_in_turn(
        &mut self,
        first: &'a QueryBody,
        others: &'a [(SetOperator, QueryBody)],
    ) -> Result<BoundRows> {
        let mut list = vec![self.body(first)?];
        let mut is_distinct = false;
        for (operator, right) in others {
            let right = self.body(right)?;
            if list
                .last()
                .is_some_and(|left| left.columns.len() != right.columns.len())
            {
                return Err(messages::set_operation_lengths());
            }
            let kind = match operator {
                SetOperator::Union => {
                    is_distinct = true;
                    list.push(right);
                    continue;
                }
                SetOperator::UnionAll => {
                    if is_distinct {
                        list = vec![appended(list, std::mem::take(&mut is_distinct))?];
                    }
                    list.push(right);
                    continue;
                }
                SetOperator::Except => SetKind::Except,
                SetOperator::Intersect => SetKind::Intersect,
            };
            let left = appended(list, std::mem::take(&mut is_distinct))?;
            list = vec![set_operation(kind, left, right)?];
        }
        appended(list, is_distinct)
    }
}

/// Every SELECT of a query body, from left to right.
fn for_each_select<'q>(body: &'q QueryBody, visit: &mut dyn FnMut(&'q Select)) {
    match body {
        QueryBody::Select(select) => visit(select),
        QueryBody::Ordered(query) => for_each_select(&query.body, visit),
        QueryBody::SetOperations { first, others } => {
            for_each_select(first, visit);
            others.iter().for_each(|(_, body)| for_each_select(body, visit));
        }
    }
}

/// INTO of a statement, which its first SELECT may have.
///
/// # Errors
/// 196 for INTO of any other.
fn into_of(body: &QueryBody) -> Result<Option<(&Name, Option<&Identifier>)>> {
    let mut selects = Vec::new();
    for_each_select(body, &mut |select| selects.push(select));
    match selects.split_first() {
        Some((_, others)) if others.iter().any(|select| select.into.is_some()) => Err(messages::into_not_first()),
        Some((first, _)) => Ok(first.into.as_ref().map(|into| (into, first.into_filegroup.as_ref()))),
        None => Ok(None),
    }
}

/// Whether a query joins, as it is written: its columns are then no identity columns of the table that INTO makes (sql-docs, SELECT INTO),
/// also where the plan needs no join, as that of `LEFT JOIN t ON 0 = 1`.
fn is_joined(body: &QueryBody) -> bool {
    let mut joins = false;
    for_each_select(body, &mut |select| {
        joins |= select.from.len() > 1 || matches!(select.from.as_slice(), [TableSource::Join(_)]);
    });
    joins
}

/// 156 for INTO of a query inside a statement.
fn refuse_into(body: &QueryBody) -> Result<()> {
    let mut has_into = false;
    for_each_select(body, &mut |select| has_into |= select.into.is_some());
    if has_into {
        return Err(messages::incorrect_syntax_near_keyword("INTO"));
    }
    Ok(())
}

/// Whether a SELECT of a body assigns to a variable.
pub(super) fn assigns(body: &QueryBody) -> bool {
    let mut assigns = false;
    for_each_select(body, &mut |select| {
        let is_assignment = |item: &SelectItem| matches!(item, SelectItem::Assignment { .. });
        assigns |= select.items.iter().any(is_assignment);
    });
    assigns
}

/// The SELECT that an ORDER BY follows: the last one of a set operation.
fn last_select(body: &QueryBody) -> Option<&Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::Ordered(_) => None,
        QueryBody::SetOperations { first, others } => last_select(others.last().map_or(first, |(_, last)| last)),
    }
}

/// What no query inside a statement may have.
///
/// # Errors
/// 1033 for an order that decides nothing, 141 for variables, 156 for INTO.
pub(super) fn check_nested(query: &Query) -> Result<()> {
    let has_top = last_select(&query.body).is_some_and(|select| select.top.is_some());
    let decides = has_top || query.offset.is_some() || query.for_clause.is_some();
    if !query.order_by.is_empty() && !decides {
        return Err(messages::order_by_invalid());
    }
    if assigns(&query.body) {
        return Err(messages::assignment_with_retrieval());
    }
    refuse_into(&query.body)
}

/// The columns that several queries meet in: names of the first, types that all convert to.
fn meeting_columns(list: &[BoundRows], operator: &'static str) -> Result<Vec<ResultColumn>> {
    let mut columns = list.first().map(|rows| rows.columns.clone()).unwrap_or_default();
    for (index, column) in columns.iter_mut().enumerate() {
        let typed = list.iter().filter(|rows| !is_null_column(&rows.node, index));
        let collections = typed
            .clone()
            .filter_map(|rows| Some(rows.columns.get(index)?.xml_collection.as_ref()));
        // Typed xml meets xml of another type as xml.
        let mut collections = collections.collect::<Vec<_>>();
        collections.dedup();
        column.xml_collection = match collections.as_slice() {
            [one] => one.cloned(),
            _ => None,
        };
        let types = typed.filter_map(|rows| rows.columns.get(index).map(|column| column.sql_type));
        column.sql_type = types.reduce(common_type).unwrap_or(column.sql_type);
        column.label = meeting_label(list, index, operator)?;
        column.nullable = list
            .iter()
            .any(|rows| rows.columns.get(index).is_some_and(|column| column.nullable));
    }
    Ok(columns)
}

/// The label of a column that several queries meet in.
///
/// # Errors
/// 451 when there is no collation for all of them.
fn meeting_label(list: &[BoundRows], index: usize, operator: &'static str) -> Result<Label> {
    let columns = list.iter().filter_map(|rows| rows.columns.get(index));
    let columns: Vec<Expr> = columns.map(|column| column.expression(index)).collect();
    let label = label_of(&columns, operator)?;
    let whole = columns.into_iter().find(|column| column.sql_type.is_character());
    match whole {
        Some(column) => Ok(column.labelled(label).with_collation_for("SELECT", index + 1)?.label),
        None => Ok(label),
    }
}

/// # Errors
/// 5335 for a column that cannot be compared with another.
fn check_comparable(sides: &[BoundRows]) -> Result<()> {
    let mut columns = sides.iter().flat_map(|rows| rows.columns.iter());
    match columns.find(|column| column.sql_type.is_incomparable()) {
        Some(column) => Err(messages::set_operand_not_comparable(column.sql_type.name())),
        None => Ok(()),
    }
}

/// UNION ALL of a list, or UNION.
pub(super) fn appended(mut list: Vec<BoundRows>, is_distinct: bool) -> Result<BoundRows> {
    if list.len() == 1
        && let Some(alone) = list.pop()
    {
        return Ok(alone);
    }
    if is_distinct {
        check_comparable(&list)?;
    }
    let columns = meeting_columns(&list, if is_distinct { "UNION" } else { "UNION ALL" })?;
    let width = columns.len();
    let inputs = list.into_iter().map(|rows| converted(rows, &columns));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let mut node = Node::Append(AppendNode { inputs, width });
    if is_distinct {
        node = Node::Distinct(DistinctNode {
            input: Box::new(node),
            columns: width,
            width,
            is_stream: false,
        });
    }
    Ok(BoundRows { node, width, columns })
}

/// EXCEPT and INTERSECT.
fn set_operation(kind: SetKind, left: BoundRows, right: BoundRows) -> Result<BoundRows> {
    let sides = [left, right];
    let operator = match kind {
        SetKind::Except => "EXCEPT",
        SetKind::Intersect => "INTERSECT",
    };
    check_comparable(&sides)?;
    let columns = meeting_columns(&sides, operator)?;
    let width = columns.len();
    let [left, right] = sides.map(|rows| converted(rows, &columns).map(Box::new));
    let node = Node::SetOperation(SetOperationNode {
        kind,
        left: left?,
        right: right?,
        width,
    });
    Ok(BoundRows { node, width, columns })
}

/// Whether a column of a SELECT is the word NULL, which takes the other side's type.
pub(super) fn is_null_column(node: &Node, index: usize) -> bool {
    if let Shape::Passed(input) = node.shape() {
        return is_null_column(input, index);
    }
    let Node::Project(project) = node else { return false };
    project.expressions.get(index).is_some_and(super::select::untyped)
}

/// The rows with every column in the type of the set operation.
fn converted(rows: BoundRows, columns: &[ResultColumn]) -> Result<Node> {
    if rows.width == columns.len()
        && rows
            .columns
            .iter()
            .zip(columns)
            .all(|(own, target)| own.is_like(target))
    {
        return Ok(rows.node);
    }
    let mut expressions = Vec::with_capacity(columns.len());
    for (index, (own, target)) in rows.columns.iter().zip(columns).enumerate() {
        let column = own.expression(index);
        let column = if is_null_column(&rows.node, index) {
            column.converted(target.sql_type)
        } else {
            implicit(column, target.sql_type)?
        };
        expressions.push(column.collated(target.label));
    }
    Ok(Node::Project(ProjectNode {
        input: Box::new(rows.node),
        input_width: rows.width,
        expressions,
    }))
}

/// The SELECT that names the columns of a set operation.
fn first_select(body: &QueryBody) -> Option<&Select> {
    let mut body = body;
    loop {
        body = match body {
            QueryBody::Select(select) => return Some(select),
            QueryBody::SetOperations { first, .. } => first,
            QueryBody::Ordered(query) => &query.body,
        };
    }
}

/// The place of what a select list has as an expression of the same words.
fn written_position(select: Option<&Select>, wanted: &Expression) -> Option<usize> {
    let items = &select?.items;
    // A star moves the places of all that follow it.
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard { .. });
    let position = items.iter().position(|item| match item {
        SelectItem::Expression { expression, .. } => super::same::is_same(expression, wanted),
        _ => false,
    })?;
    (!items.iter().take(position).any(is_star)).then_some(position)
}

/// ORDER BY of a set operation: positions, names of the result, and expressions of the first select list.
fn order_set(rows: BoundRows, order_by: &[OrderItem], first: Option<&Select>) -> Result<BoundRows> {
    if order_by.is_empty() {
        return Ok(rows);
    }
    let mut keys = Vec::with_capacity(order_by.len());
    for item in order_by {
        let position = match (order_position(item, rows.columns.len())?, &item.expression.kind) {
            (Some(position), _) => Some(position),
            (None, ExpressionKind::Column(name)) => match name.parts.last() {
                Some(name) => only_position(name, rows.columns.iter())?,
                None => None,
            },
            (None, _) => written_position(first, &item.expression),
        };
        let Some(column) = position else {
            let text = "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator.";
            return Err(engine::error::Error::new(104, 16, 1, text));
        };
        super::select::check_sortable(rows.columns[column].sql_type)?;
        keys.push(SortKey {
            column,
            descending: item.descending,
        });
    }
    let width = rows.width;
    Ok(BoundRows {
        node: Node::Sort(SortNode {
            input: Box::new(rows.node),
            width,
            keys,
            presorted: 0,
        }),
        ..rows
    })
}

/// A plan whose first column is converted.
pub(super) fn convert_first_column(plan: QueryPlan, target: SqlType, label: Label) -> QueryPlan {
    let QueryPlan {
        root,
        width,
        mut columns,
    } = plan;
    let Some(first) = columns.first_mut() else {
        return QueryPlan { root, width, columns };
    };
    let column = first.expression(0).converted(target).collated(label);
    (first.sql_type, first.label) = (target, label);
    let node = Node::Project(ProjectNode {
        input: Box::new(root),
        input_width: width,
        expressions: vec![column],
    });
    QueryPlan {
        root: node,
        width: 1,
        columns,
    }
}
