//! Common table expressions: bound anew at every reference; recursive ones as rounds.

use std::sync::Arc;

use engine::error::{Error, Result};

use super::from::FromBuilder;
use super::scope::Level;
use super::source::BoundSource;
use super::updatable::QueryKind;
use super::{Binder, ScopeColumn, implicit};
use crate::ast::{CommonTableExpression, Join, QueryBody, SetOperator, TableSource};
use crate::messages;
use crate::plan::{Node, QueryPlan};
use crate::sink::ResultColumn;

impl<'a> Binder<'a> {
    /// Binds a reference to a visible common table expression.
    pub(super) fn cte(&mut self, position: usize, exposed: String, from: &mut FromBuilder) -> Result<BoundSource> {
        let (definition, sees) = (self.ctes[position].definition, self.ctes[position].sees);
        if let Some((id, columns)) = self.ctes[position].round.clone() {
            return Ok(round_source(id, &columns, exposed, from));
        }
        if let QueryBody::SetOperations { first, others } = &definition.query.body
            && let [anchors @ .., (SetOperator::UnionAll, step)] = others.as_slice()
            && mentions(step, &definition.name.text)
        {
            return self.recursive(position, (first, anchors), step, exposed, from);
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
        self.derived_columns(plan, &definition.columns, &definition.name.text, exposed, from)
    }

    fn recursive(
        &mut self,
        position: usize,
        anchor: (&'a QueryBody, &'a [(SetOperator, QueryBody)]),
        step: &'a QueryBody,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let (definition, sees) = (self.ctes[position].definition, self.ctes[position].sees);
        let hidden = self.ctes.split_off(sees);
        let bound = self.within(Level::Opaque, |binder| binder.rounds(definition, anchor, step));
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
        let (anchor, step) = (Arc::new(anchor), Box::new(step));
        source.node = Node::Recursive {
            anchor,
            step,
            width,
            id,
            offset,
            rounds_max,
        };
        Ok(source)
    }

    /// Binds the anchor, then the recursive part against the anchor's columns.
    fn rounds(
        &mut self,
        definition: &'a CommonTableExpression,
        (first, others): (&'a QueryBody, &'a [(SetOperator, QueryBody)]),
        step: &'a QueryBody,
    ) -> Result<(QueryPlan, Node, usize)> {
        let anchor = self.set_operations(first, others)?;
        self.recursions += 1;
        let id = self.recursions;
        let mut columns = anchor.columns.clone();
        for (column, name) in columns.iter_mut().zip(&definition.columns) {
            column.name.clone_from(&name.text);
        }
        let sees = self.ctes.len();
        self.ctes.push(super::VisibleCte {
            definition,
            sees,
            round: Some((id, columns.clone())),
        });
        let step = self.body(step);
        self.ctes.truncate(sees);
        let step = step?;
        if step.columns.len() != columns.len() {
            return Err(messages::set_operation_lengths());
        }
        let mut expressions = Vec::with_capacity(columns.len());
        for (index, (column, target)) in step.columns.iter().zip(&columns).enumerate() {
            let expression = implicit(column.expression(index), target.sql_type).map_err(|_| {
                let (name, query) = (&target.name, &definition.name);
                let text = format!("Types don't match between the anchor and the recursive part in column \"{name}\" of recursive query \"{query}\".");
                Error::new(240, 16, 1, text)
            })?;
            let label = target.label.of_column().meet(expression.label, "UNION ALL")?;
            expressions.push(
                expression
                    .collated(label.for_operation("UNION ALL")?)
                    .collated(target.label),
            );
        }
        let step = Node::Project {
            input: Box::new(step.node),
            input_width: step.width,
            expressions,
        };
        Ok((
            QueryPlan {
                root: anchor.node,
                width: anchor.width,
                columns: anchor.columns,
            },
            step,
            id,
        ))
    }
}

/// The rows of the round before, as a source.
fn round_source(id: usize, columns: &[ResultColumn], exposed: String, from: &mut FromBuilder) -> BoundSource {
    let offset = from.take(columns.len());
    let columns = columns.iter().enumerate().map(|(index, column)| ScopeColumn {
        qualifier: exposed.clone(),
        path: None,
        name: column.name.clone(),
        sql_type: column.sql_type,
        label: column.label.of_column(),
        nullable: true,
        index: offset + index,
        identity: false,
        from_table: false,
    });
    BoundSource {
        node: Node::Round { id, offset },
        columns: columns.collect(),
        name: exposed,
    }
}

/// Whether a query body names a source in its FROM.
fn mentions(body: &QueryBody, name: &str) -> bool {
    match body {
        QueryBody::Select(select) => select.from.iter().any(|source| source_mentions(source, name)),
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
        _ => false,
    }
}
