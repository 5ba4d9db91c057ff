//! Common table expressions: bound again at every reference; recursive ones in rounds.

use std::sync::Arc;

use engine::error::{Error, Result};

use super::from::FromBuilder;
use super::query::{check_nested, is_null_column};
use super::scope::Level;
use super::source::BoundSource;
use super::updatable::QueryKind;
use super::{Binder, ScopeColumn};
use crate::ast::{CommonTableExpression, Join, JoinKind, QueryBody, SetOperator, TableSource};
use crate::messages;
use crate::plan::{AppendNode, CommonUse, DerivedNode, Node, ProjectNode, QueryPlan, RecursiveNode, RoundNode};
use crate::sink::ResultColumn;

impl<'a> Binder<'a> {
    /// Binds a reference to a visible common table expression.
    pub(super) fn cte(&mut self, position: usize, exposed: String, from: &mut FromBuilder) -> Result<BoundSource> {
        let (definition, sees) = (self.ctes[position].definition, self.ctes[position].sees);
        let common = self.ctes[position].common.clone();
        if self.ctes[position].round.is_some() {
            return self.round(position, exposed, from);
        }
        if let Some(members) = members_of(definition)? {
            return self.recursive(position, &members, exposed, from);
        }
        let names = (exposed.as_str(), definition.name.text.as_str());
        self.ask_inside(
            names,
            &definition.columns,
            &definition.query.body,
            QueryKind::CommonTable,
            from,
        )?;
        // The expression sees those before it, and no columns around it.
        let hidden = self.ctes.split_off(sees);
        let bound = self.within(Level::Opaque, |binder| binder.nested_query(&definition.query));
        self.ctes.truncate(sees);
        self.ctes.extend(hidden);
        let (plan, _) = bound?;
        self.note_offset(&definition.query);
        let width = plan.columns.len();
        let mut source = self.derived_columns(plan, &definition.columns, &definition.name.text, exposed, from)?;
        // Hints at one reference are hints at its tables.
        if let Node::Derived(DerivedNode { common: own, .. }) = &mut source.node
            && self.inherited_hints.is_empty()
        {
            *own = Some(CommonUse {
                table: common,
                read: vec![true; width],
            });
        }
        Ok(source)
    }

    /// A reference of a recursive member to its own expression.
    fn round(&mut self, position: usize, exposed: String, from: &mut FromBuilder) -> Result<BoundSource> {
        let boundaries = self.boundaries();
        let visible = &mut self.ctes[position];
        let Some(round) = &mut visible.round else {
            return Err(Error::assertion("a recursive reference outside of its member"));
        };
        if boundaries > round.boundaries {
            return Err(messages::recursion_in_subquery());
        }
        round.references += 1;
        if round.references > 1 {
            return Err(messages::several_recursive_references(&visible.definition.name.text));
        }
        Ok(round_source(round.id, &round.columns, exposed, from))
    }

    /// Subqueries around what is bound, up to the nearest view or common table expression.
    fn boundaries(&self) -> usize {
        let levels = self.levels.iter().rev();
        let own = levels.take_while(|level| !matches!(level, Level::Opaque));
        own.filter(|level| matches!(level, Level::Boundary(_))).count()
    }

    fn recursive(
        &mut self,
        position: usize,
        members: &Members<'a>,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let (definition, sees) = (self.ctes[position].definition, self.ctes[position].sees);
        check_nested(&definition.query)?;
        let hidden = self.ctes.split_off(sees);
        let bound = self.within(Level::Opaque, |binder| binder.rounds(definition, members));
        self.ctes.truncate(sees);
        self.ctes.extend(hidden);
        let ((anchor, step, id), _) = bound?;
        let (width, rounds_max) = (anchor.columns.len(), self.rounds_max);
        // The columns come with the anchor's names and types; only the operator below them is another.
        let columns = QueryPlan {
            root: Node::Empty,
            width,
            columns: anchor.columns.clone(),
        };
        let mut source = self.derived_columns(columns, &definition.columns, &definition.name.text, exposed, from)?;
        let offset = source.columns.first().map_or(0, |column| column.index);
        let one_by_one = step.has_window();
        let (anchor, step) = (Arc::new(anchor), Box::new(step));
        source.node = Node::Recursive(RecursiveNode {
            anchor,
            step,
            one_by_one,
            width,
            id,
            offset,
            rounds_max,
        });
        Ok(source)
    }

    /// Binds the anchor, then the recursive members against the anchor's columns.
    fn rounds(
        &mut self,
        definition: &'a CommonTableExpression,
        members: &Members<'a>,
    ) -> Result<(QueryPlan, Node, usize)> {
        let anchor = self.set_operations(members.first, members.anchors)?;
        self.recursions += 1;
        let id = self.recursions;
        let mut columns = anchor.columns.clone();
        for (column, name) in columns.iter_mut().zip(&definition.columns) {
            column.name.clone_from(&name.text);
        }
        let mut steps = Vec::with_capacity(members.steps.len());
        for (_, step) in members.steps {
            steps.push(self.step(definition, step, id, &columns)?);
        }
        let step = match steps.pop() {
            Some(step) if steps.is_empty() => step,
            last => Node::Append(AppendNode {
                inputs: steps.into_iter().chain(last).collect(),
                width: columns.len(),
            }),
        };
        let anchor = QueryPlan {
            root: anchor.node,
            width: anchor.width,
            columns: anchor.columns,
        };
        Ok((anchor, step, id))
    }

    /// One recursive member. Its columns have the anchor's types, to the letter.
    fn step(
        &mut self,
        definition: &'a CommonTableExpression,
        step: &'a QueryBody,
        id: usize,
        columns: &[ResultColumn],
    ) -> Result<Node> {
        let own_name = &definition.name.text;
        check_step(step, own_name)?;
        let sees = self.ctes.len();
        self.ctes.push(super::VisibleCte {
            definition,
            sees,
            common: Arc::default(),
            round: Some(super::Round {
                id,
                columns: columns.to_vec(),
                boundaries: self.boundaries(),
                references: 0,
            }),
        });
        let bound = self.body(step);
        self.ctes.truncate(sees);
        let bound = bound?;
        if bound.columns.len() != columns.len() {
            return Err(messages::set_operation_lengths());
        }
        if is_grouped(&bound.node) {
            return Err(messages::grouping_in_recursion(own_name));
        }
        let mut expressions = Vec::with_capacity(columns.len());
        for (index, (column, target)) in bound.columns.iter().zip(columns).enumerate() {
            if column.sql_type != target.sql_type && !is_null_column(&bound.node, index) {
                return Err(messages::recursive_types(&target.name, own_name));
            }
            let expression = column.expression(index).converted(target.sql_type);
            let label = target.label.of_column().meet(expression.label, "UNION ALL")?;
            expressions.push(
                expression
                    .collated(label.for_operation("UNION ALL")?)
                    .collated(target.label),
            );
        }
        Ok(Node::Project(ProjectNode {
            input: Box::new(bound.node),
            input_width: bound.width,
            expressions,
        }))
    }
}

/// What a recursive common table expression consists of: `first others... UNION ALL step UNION ALL step ...`.
struct Members<'a> {
    first: &'a QueryBody,
    anchors: &'a [(SetOperator, QueryBody)],
    steps: &'a [(SetOperator, QueryBody)],
}

/// The members of an expression that refers to itself; none for one that does not.
///
/// # Errors
/// 246 without an anchor, 247 for an anchor behind a recursive member, 252 where these are not joined by UNION ALL.
fn members_of(definition: &CommonTableExpression) -> Result<Option<Members<'_>>> {
    let name = &definition.name.text;
    let QueryBody::SetOperations { first, others } = &definition.query.body else {
        return match mentions(&definition.query.body, name) {
            true => Err(messages::recursion_without_union_all(name)),
            false => Ok(None),
        };
    };
    if mentions(first, name) {
        return Err(messages::recursion_without_anchor(name));
    }
    let Some(begin) = others.iter().position(|(_, member)| mentions(member, name)) else {
        return Ok(None);
    };
    let (anchors, steps) = others.split_at(begin);
    if steps.iter().any(|(operator, _)| *operator != SetOperator::UnionAll) {
        return Err(messages::recursion_without_union_all(name));
    }
    if !steps.iter().all(|(_, member)| mentions(member, name)) {
        return Err(messages::anchor_behind_step(name));
    }
    Ok(Some(Members { first, anchors, steps }))
}

/// What a recursive member may not have (sql-docs, WITH common_table_expression).
///
/// # Errors
/// 460, 461, 462, 467.
fn check_step(step: &QueryBody, name: &str) -> Result<()> {
    let select = match step {
        QueryBody::Select(select) => select,
        QueryBody::Ordered(query) => return check_step(&query.body, name),
        QueryBody::SetOperations { first, others } => {
            check_step(first, name)?;
            return others.iter().try_for_each(|(_, body)| check_step(body, name));
        }
    };
    if select.distinct {
        return Err(messages::distinct_in_recursion(name));
    }
    if select.top.is_some() {
        return Err(messages::top_in_recursion(name));
    }
    if !select.group_by.is_empty() || select.having.is_some() {
        return Err(messages::grouping_in_recursion(name));
    }
    select
        .from
        .iter()
        .try_for_each(|source| check_step_source(source, name))
}

fn check_step_source(source: &TableSource, name: &str) -> Result<()> {
    match source {
        TableSource::Derived { query, .. } if mentions(&query.body, name) => check_step(&query.body, name),
        TableSource::Join(join) => {
            if matches!(join.kind, JoinKind::Left | JoinKind::Right | JoinKind::Full) {
                return Err(messages::outer_join_in_recursion(name));
            }
            check_step_source(&join.left, name)?;
            check_step_source(&join.right, name)
        }
        // PIVOT makes groups.
        TableSource::Pivot(pivot) if source_mentions(&pivot.source, name) => Err(messages::grouping_in_recursion(name)),
        TableSource::Unpivot(unpivot) => check_step_source(&unpivot.source, name),
        _ => Ok(()),
    }
}

/// Whether a SELECT has groups.
fn is_grouped(node: &Node) -> bool {
    let goes_on = matches!(node, Node::Project(_) | Node::Filter(_) | Node::Window(_));
    matches!(node, Node::Aggregate(_)) || goes_on && node.inputs().into_iter().any(is_grouped)
}

/// The rows of the round before, as a source.
fn round_source(id: usize, columns: &[ResultColumn], exposed: String, from: &mut FromBuilder) -> BoundSource {
    let width = columns.len();
    let offset = from.take(width);
    let columns = columns.iter().enumerate().map(|(index, column)| ScopeColumn {
        qualifier: exposed.clone(),
        name: column.name.clone(),
        sql_type: column.sql_type,
        label: column.label.of_column(),
        index: offset + index,
        ..ScopeColumn::plain()
    });
    BoundSource {
        node: Node::Round(RoundNode { id, width, offset }),
        columns: columns.collect(),
        name: exposed,
    }
}

/// Whether a query body names a source in its FROM.
fn mentions(body: &QueryBody, name: &str) -> bool {
    match body {
        QueryBody::Select(select) => select.from.iter().any(|source| source_mentions(source, name)),
        QueryBody::Ordered(query) => mentions(&query.body, name),
        QueryBody::SetOperations { first, others } => {
            mentions(first, name) || others.iter().any(|(_, body)| mentions(body, name))
        }
    }
}

fn source_mentions(source: &TableSource, name: &str) -> bool {
    match source {
        TableSource::Table(reference) => {
            reference.name.parts.len() == 1 && reference.name.object().eq_ignore_ascii_case(name)
        }
        TableSource::Derived { query, .. } => mentions(&query.body, name),
        TableSource::Join(join) => {
            let Join { left, right, .. } = &**join;
            source_mentions(left, name) || source_mentions(right, name)
        }
        TableSource::Pivot(pivot) => source_mentions(&pivot.source, name),
        TableSource::Unpivot(unpivot) => source_mentions(&unpivot.source, name),
        _ => false,
    }
}
