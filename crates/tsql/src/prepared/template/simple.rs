//! The statements that PARAMETERIZATION SIMPLE parameterizes: those whose plan does not depend on their constants.
//!
//! There are two requirements. The statement has a simple form (Microsoft, "Batch Compilation, Recompilation, and Plan Caching Issues in
//! SQL Server 2005", appendix A, lists what SQL Server does not parameterise): one table and no hints; no subquery, IN, OR, comparison `<>`
//! with a constant, common table expression, DISTINCT, TOP, INTO, GROUP BY, HAVING, set operation, OUTPUT, OFFSET. And the table leaves no
//! choice to the constants (SQL Server requires a trivial plan: Paul White, "Simple Parameterization and Trivial Plans", 2022): a unique
//! index finds one row at most, or no nonclustered index begins with a column that the statement names.

use engine::catalog::TableDefinition;

use crate::ast::{
    ComparisonOperator, Expression, ExpressionKind, InsertSource, Name, Query, QueryBody, StatementKind,
    TableReference, TableSource, Target,
};

/// What a statement of simple form says.
pub(super) struct SimpleForm<'s> {
    pub(super) table: &'s Name,
    /// Columns that equal a constant each.
    equal: Vec<&'s str>,
    /// Whether rows are looked for.
    searches: bool,
}

impl<'s> SimpleForm<'s> {
    /// What a statement says, if it is of simple form.
    pub(super) fn of(kind: &'s StatementKind) -> Option<SimpleForm<'s>> {
        let (table, selection, searches) = match kind {
            StatementKind::Select(query) => {
                let (table, selection) = source_of(query)?;
                (table, selection, true)
            }
            StatementKind::Insert(insert) => {
                let is_plain = insert.common_table_expressions.is_empty()
                    && insert.top.is_none()
                    && insert.hints.is_empty()
                    && insert.output.is_none()
                    && insert.query_hints.is_empty()
                    && matches!(&insert.source, InsertSource::Values(rows) if rows.len() == 1);
                (is_plain.then(|| named(&insert.target))??, None, false)
            }
            StatementKind::Update(update) => {
                let is_plain = update.common_table_expressions.is_empty()
                    && update.top.is_none()
                    && update.hints.is_empty()
                    && update.output.is_none()
                    && update.from.is_empty()
                    && update.current_of.is_none()
                    && update.query_hints.is_empty();
                (
                    is_plain.then(|| named(&update.target))??,
                    update.selection.as_ref(),
                    true,
                )
            }
            StatementKind::Delete(delete) => {
                let is_plain = delete.common_table_expressions.is_empty()
                    && delete.top.is_none()
                    && delete.hints.is_empty()
                    && delete.output.is_none()
                    && delete.from.is_empty()
                    && delete.current_of.is_none()
                    && delete.query_hints.is_empty();
                (
                    is_plain.then(|| named(&delete.target))??,
                    delete.selection.as_ref(),
                    true,
                )
            }
            _ => return None,
        };
        let mut form = SimpleForm {
            table,
            equal: Vec::new(),
            searches,
        };
        let is_simple = selection.is_none_or(|condition| form.take(condition));
        // What lies in another database, or is the session's own, is not asked for here.
        (is_simple && table.parts.len() <= 2 && !table.object().starts_with('#')).then_some(form)
    }

    /// Takes a condition up; false if it is none of a simple form.
    fn take(&mut self, condition: &'s Expression) -> bool {
        match &condition.kind {
            ExpressionKind::And(parts) => parts.iter().all(|part| self.take(part)),
            ExpressionKind::Comparison { left, operator, right } => {
                let constant = |side: &Expression| matches!(side.kind, ExpressionKind::Literal(_));
                match (&left.kind, operator) {
                    (_, ComparisonOperator::NotEqual) if constant(left) || constant(right) => return false,
                    (ExpressionKind::Column(name), ComparisonOperator::Equal) if constant(right) => {
                        self.equal.push(name.object());
                    }
                    _ => {}
                }
                true
            }
            ExpressionKind::Between(_) | ExpressionKind::Like(_) | ExpressionKind::IsNull { .. } => true,
            _ => false,
        }
    }

    /// Whether a table leaves one way to do it, whatever the constants are; `names` are all that the statement has.
    pub(super) fn has_one_way(&self, table: &TableDefinition, names: &[&str]) -> bool {
        let is_among = |names: &[&str], column: usize| {
            let column = table.columns.get(column);
            column.is_some_and(|column| names.iter().any(|name| name.eq_ignore_ascii_case(&column.name)))
        };
        let mut unique = table.indexes.iter().filter(|index| index.is_unique_of_all());
        let mut others = table.indexes.iter().filter(|index| index.index_id != 1);
        // Whether an index with a filter can be searched hangs on the constants.
        let has_filter = table.indexes.iter().any(|index| index.filter.is_some());
        !self.searches
            || !has_filter && unique.any(|index| index.keys.iter().all(|&(column, _)| is_among(&self.equal, column)))
            || !has_filter
                && !others.any(|index| index.keys.first().is_some_and(|&(column, _)| is_among(names, column)))
    }
}

/// The table and the condition of a query of one table.
fn source_of(query: &Query) -> Option<(&Name, Option<&Expression>)> {
    let QueryBody::Select(select) = &query.body else {
        return None;
    };
    let is_plain = query.common_table_expressions.is_empty()
        && query.hints.is_empty()
        && query.for_clause.is_none()
        && query.offset.is_none()
        && query.fetch.is_none()
        && !select.distinct
        && select.top.is_none()
        && select.into.is_none()
        && select.group_by.is_empty()
        && select.having.is_none();
    match select.from.as_slice() {
        [
            TableSource::Table(TableReference {
                name,
                hints,
                sample,
                system_time,
                ..
            }),
        ] if is_plain && hints.is_empty() && sample.is_none() && system_time.is_none() => {
            Some((name, select.selection.as_ref()))
        }
        _ => None,
    }
}

fn named(target: &Target) -> Option<&Name> {
    match target {
        Target::Table(name) => Some(name),
        Target::Variable(_) => None,
    }
}
