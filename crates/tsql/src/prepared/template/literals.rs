//! Constants that become parameters, and their replacements.
//!
//! | place of the constant | becomes a parameter |
//! |---|---|
//! | compared with a column, or an expression over one, in a comparison, BETWEEN, IN, IS DISTINCT FROM of WHERE or ON | yes |
//! | as a value of VALUES, or alone on the right of SET column = | yes |
//! | in an argument of an operator, a function, CASE, CAST, LIKE | no |
//! | in a select list, GROUP BY, HAVING, ORDER BY, TOP, OFFSET, OUTPUT, hints | no |
//! | compared with constants only (`20 > 5`) | no |
//!
//! The second half is Microsoft's list of places that PARAMETERIZATION FORCED does not change ("Forced Parameterization"), extended by
//! arguments of functions, because some result types depend on them. So the result types of a statement never depend on the types of its
//! constants.

use engine::types::{Collation, SqlType, Value};

use crate::ast::{
    AssignmentOperator, Expression, ExpressionKind, InsertSource, Join, Literal, Mutator, Query, QueryBody, Select,
    StatementKind, TableSource,
};
use crate::bind::parameter;

/// A constant that was replaced.
pub(super) struct Replaced {
    /// Where its first byte stands in the text.
    pub(super) start: usize,
    pub(super) value: Value,
    pub(super) sql_type: SqlType,
}

/// Replaces constants of a statement by variables `@n`, in the order of the text.
pub(super) struct Literals {
    /// The number of the first parameter.
    first: usize,
    /// The collation of the database: constants are strings of it.
    collation: Collation,
    pub(super) replaced: Vec<Replaced>,
}

impl Literals {
    pub(super) fn numbered_from(first: usize, collation: Collation) -> Literals {
        Literals {
            first,
            collation,
            replaced: Vec::new(),
        }
    }

    pub(super) fn statement(&mut self, kind: &mut StatementKind) {
        match kind {
            StatementKind::Select(query) => self.query(query),
            StatementKind::Insert(insert) => {
                let common = &mut insert.common_table_expressions;
                common.iter_mut().for_each(|common| self.query(&mut common.query));
                match &mut insert.source {
                    InsertSource::Values(rows) => rows.iter_mut().flatten().for_each(|value| self.alone(value)),
                    InsertSource::Query(query) => self.query(query),
                    InsertSource::Execute(_) | InsertSource::DefaultValues => {}
                }
            }
            StatementKind::Update(update) => {
                let common = &mut update.common_table_expressions;
                common.iter_mut().for_each(|common| self.query(&mut common.query));
                for assignment in &mut update.assignments {
                    let is_change = matches!(assignment.mutator.as_deref(), Some(Mutator::Modify { .. }));
                    if assignment.operator == AssignmentOperator::Assign && assignment.variable.is_none() && !is_change
                    {
                        self.alone(&mut assignment.value);
                    }
                }
                update.from.iter_mut().for_each(|source| self.source(source));
                update
                    .selection
                    .iter_mut()
                    .for_each(|condition| self.condition(condition));
            }
            StatementKind::Delete(delete) => {
                let common = &mut delete.common_table_expressions;
                common.iter_mut().for_each(|common| self.query(&mut common.query));
                delete.from.iter_mut().for_each(|source| self.source(source));
                delete
                    .selection
                    .iter_mut()
                    .for_each(|condition| self.condition(condition));
            }
            _ => {}
        }
    }

    fn query(&mut self, query: &mut Query) {
        let common = &mut query.common_table_expressions;
        common.iter_mut().for_each(|common| self.query(&mut common.query));
        self.body(&mut query.body);
    }

    fn body(&mut self, body: &mut QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Ordered(query) => self.query(query),
            QueryBody::SetOperations { first, others } => {
                self.body(first);
                others.iter_mut().for_each(|(_, body)| self.body(body));
            }
        }
    }

    fn select(&mut self, select: &mut Select) {
        select.from.iter_mut().for_each(|source| self.source(source));
        select
            .selection
            .iter_mut()
            .for_each(|condition| self.condition(condition));
    }

    fn source(&mut self, source: &mut TableSource) {
        match source {
            TableSource::Derived { query, .. } => self.query(query),
            TableSource::Join(join) => {
                let Join { left, right, on, .. } = &mut **join;
                self.source(left);
                self.source(right);
                on.iter_mut().for_each(|condition| self.condition(condition));
            }
            TableSource::Pivot(pivot) => self.source(&mut pivot.source),
            TableSource::Unpivot(unpivot) => self.source(&mut unpivot.source),
            TableSource::Table(_)
            | TableSource::Change { .. }
            | TableSource::Variable { .. }
            | TableSource::Function { .. }
            | TableSource::OpenXml(_)
            | TableSource::OpenRowset(_)
            | TableSource::Values { .. } => {}
        }
    }

    fn condition(&mut self, condition: &mut Expression) {
        match &mut condition.kind {
            ExpressionKind::And(parts) | ExpressionKind::Or(parts) => {
                parts.iter_mut().for_each(|part| self.condition(part));
            }
            ExpressionKind::Not(inner) => self.condition(inner),
            ExpressionKind::Comparison { left, right, .. } | ExpressionKind::IsDistinct { left, right, .. } => {
                let (beside_left, beside_right) = (has_column(right), has_column(left));
                self.operand(left, beside_left);
                self.operand(right, beside_right);
            }
            ExpressionKind::Between(between) => {
                let is_beside = has_column(&between.operand);
                self.operand(&mut between.low, is_beside);
                self.operand(&mut between.high, is_beside);
            }
            ExpressionKind::InList { operand, list, .. } => {
                let is_beside = has_column(operand);
                list.iter_mut().for_each(|one| self.operand(one, is_beside));
            }
            ExpressionKind::InQuery { query, .. }
            | ExpressionKind::Quantified { query, .. }
            | ExpressionKind::Exists(query) => self.query(query),
            _ => {}
        }
    }

    fn operand(&mut self, operand: &mut Expression, is_beside_column: bool) {
        match &mut operand.kind {
            ExpressionKind::Subquery(query) => self.query(query),
            _ if is_beside_column => self.alone(operand),
            _ => {}
        }
    }

    /// Replaces a constant, perhaps with a sign, that stands for itself.
    fn alone(&mut self, expression: &mut Expression) {
        match &mut expression.kind {
            ExpressionKind::Unary { operand, .. } if is_number(operand) => self.alone(operand),
            ExpressionKind::Literal(literal) => {
                if let Some((value, sql_type)) = parameter(literal, self.collation) {
                    let name = format!("@{}", self.first + self.replaced.len());
                    self.replaced.push(Replaced {
                        start: expression.start as usize,
                        value,
                        sql_type,
                    });
                    expression.kind = ExpressionKind::Variable(name);
                }
            }
            _ => {}
        }
    }
}

fn is_number(expression: &Expression) -> bool {
    matches!(
        expression.kind,
        ExpressionKind::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Money(_))
    )
}

/// Whether a value depends on a column, as far as that is plain.
fn has_column(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Column(_) => true,
        ExpressionKind::Unary { operand, .. } | ExpressionKind::Collate { operand, .. } => has_column(operand),
        ExpressionKind::Binary { left, right, .. } => has_column(left) || has_column(right),
        ExpressionKind::Cast(cast) => has_column(&cast.operand),
        ExpressionKind::Convert(convert) => has_column(&convert.operand),
        ExpressionKind::Function(call) => call.arguments.iter().any(has_column),
        _ => false,
    }
}
