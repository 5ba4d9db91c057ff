//! The query of a cursor, bound so that the rows of its tables are found again.
//!
//! ```text
//! members    the query as it is written; behind its columns come the locators of its tables' rows, and of each heap the columns of a unique key
//! row        the same columns of the one row whose locators are given: the conditions, the order and the limits of the query are left out
//! ```
//! Only a query of tables, joined in any way but APPLY, can be followed so. What comes of grouping, DISTINCT, window functions and set
//! operators is of no table's row; views, derived tables, common table expressions, functions and the states of temporal tables are not
//! looked into. (SQL Server looks into views and derived tables; what it makes of the rest is the same: learn.microsoft.com, "Using Implicit
//! Cursor Conversions".)

use std::ops::Range;
use std::sync::Arc;

use engine::error::Result;
use engine::lock::Mode;
use engine::session::Isolation;
use engine::types::{Length, SqlType};

use super::from::{FromBuilder, FromClause, Stored};
use super::query::BoundQuery;
use super::target::source_at;
use super::{Binder, hidden_column};
use crate::ast::{JoinKind, Query, QueryBody, TableSource};
use crate::messages;
use crate::plan::{Access, BoundTable, CursorScan, Expr, Node};
use crate::sink::ResultColumn;

/// What is wanted of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorForm {
    Members,
    /// One row; locked for a change, if that is true.
    Row(bool),
}

/// A query of a cursor.
pub struct BoundCursor {
    pub query: BoundQuery,
    /// How many of its columns are shown.
    pub shown: usize,
    /// Its tables in the order of FROM; none where its rows are not to be found again.
    pub tables: Vec<CursorTable>,
    /// TOP or OFFSET chooses among the rows.
    pub is_limited: bool,
}

/// A table whose rows a cursor finds again.
pub struct CursorTable {
    pub table: Arc<BoundTable>,
    /// What the query calls it.
    pub exposed: String,
    /// The place of the locator among the columns of the query.
    pub locator: usize,
    /// The places of the columns of a key beside it: a row identifier alone may become another row's.
    pub key: Range<usize>,
    /// Which columns of the table these are.
    pub key_columns: Vec<usize>,
    /// Whether its rows are told apart by a key.
    pub has_key: bool,
    /// It is read without locks (NOLOCK).
    pub is_uncommitted: bool,
}

impl BoundCursor {
    /// Whether every table has a key by which a row is found again.
    pub fn has_keys(&self) -> bool {
        !self.tables.is_empty() && self.tables.iter().all(|table| table.has_key)
    }
}

impl<'a> Binder<'a> {
    /// Whether a name is that of a cursor variable.
    pub fn is_cursor(&self, name: &str) -> bool {
        self.variables.is_cursor(name)
    }

    /// Binds the query of a cursor; `is_soon` says that its first rows are wanted before the others.
    ///
    /// # Errors
    /// Those of binding; 154 for INTO, 6819 for FOR XML, 13600 and its like for FOR JSON.
    pub fn cursor_query(&mut self, query: &'a Query, form: CursorForm, is_soon: bool) -> Result<BoundCursor> {
        let is_followed = is_followed(query);
        self.cursor = is_followed.then_some(form);
        if is_soon && is_of_one_table(query) {
            self.advice.first_rows = Some(1.0);
        }
        let bound = self.statement_query(query)?;
        self.cursor = None;
        if bound.into.is_some() {
            return Err(messages::into_in_cursor());
        }
        if bound.assignments.is_some() {
            return Err(messages::assignment_with_retrieval());
        }
        let tables = std::mem::take(&mut self.cursor_tables);
        let hidden: usize = tables.iter().map(|table| 1 + table.key.len()).sum();
        let is_limited = match &query.body {
            QueryBody::Select(select) => select.top.is_some() || query.offset.is_some(),
            QueryBody::Ordered(_) | QueryBody::SetOperations { .. } => true,
        };
        Ok(BoundCursor {
            shown: bound.plan.columns.len() - hidden,
            query: bound,
            tables,
            is_limited,
        })
    }

    /// Has the tables of a SELECT tell where their rows are; answers the columns that are to stand behind those shown, of which there are
    /// so many. `None` when one of its sources is something else than a table.
    pub(super) fn cursor_columns(
        &mut self,
        form: CursorForm,
        shown: usize,
        builder: &mut FromBuilder,
        from: &mut FromClause,
    ) -> Option<Vec<(Expr, ResultColumn)>> {
        let stored = builder.stored.take().unwrap_or_default();
        let is_table = |stored: Stored| matches!(stored, Stored::Table(..));
        if stored.len() != from.names.len() || !stored.iter().all(|source| is_table(source.stored)) {
            return None;
        }
        let (mut hidden, mut tables) = (Vec::new(), Vec::new());
        for (place, source) in stored.into_iter().enumerate() {
            let mut units = from.units.iter_mut();
            let node = units.find_map(|unit| source_at(&mut unit.node, source.offset))?;
            let Node::Scan(scan) = node else { return None };
            if scan.sample.is_some() || scan.locking.read_past {
                return None;
            }
            scan.locator = Some(source.locator);
            scan.degree_max = Some(1);
            let isolation = scan.locking.isolation(self.session.options().isolation);
            if let CursorForm::Row(is_locked) = form {
                scan.cursor = Some(CursorScan::Row(place));
                scan.access = Access::Any;
                if is_locked {
                    scan.locking.rows = scan.locking.rows.or(Some(Mode::U));
                }
            }
            let locator = shown + hidden.len();
            hidden.push(hidden_column(source.locator, SqlType::VarBinary(Length::Max), true));
            let definition = scan.table.table.definition();
            let is_clustered = definition.clustered().is_some();
            let unique = definition.indexes.iter().filter(|index| index.is_unique_of_all());
            let key = unique.min_by_key(|index| (!index.primary_key, index.index_id));
            let key_columns: Vec<usize> = match (is_clustered, key) {
                (false, Some(key)) => key.keys.iter().map(|(column, _)| *column).collect(),
                _ => Vec::new(),
            };
            for column in &key_columns {
                let sql_type = definition.columns[*column].sql_type;
                hidden.push(hidden_column(source.offset + column, sql_type, true));
            }
            tables.push(CursorTable {
                table: scan.table.clone(),
                exposed: source.exposed,
                locator,
                key: locator + 1..shown + hidden.len(),
                key_columns,
                has_key: is_clustered || key.is_some(),
                is_uncommitted: isolation == Isolation::ReadUncommitted,
            });
        }
        if let CursorForm::Row(_) = form {
            from.conjuncts.clear();
            from.units
                .iter_mut()
                .for_each(|unit| leave_out_conditions(&mut unit.node));
        }
        self.cursor_tables = tables;
        Some(hidden)
    }
}

/// Whether a query reads one table: a walk through it may answer rows as they are asked for.
fn is_of_one_table(query: &Query) -> bool {
    match &query.body {
        QueryBody::Select(select) => matches!(select.from.as_slice(), [TableSource::Table(_)]) && select.top.is_none(),
        QueryBody::Ordered(_) | QueryBody::SetOperations { .. } => false,
    }
}

/// Whether a query may be one of tables alone.
fn is_followed(query: &Query) -> bool {
    let QueryBody::Select(select) = &query.body else {
        return false;
    };
    query.for_clause.is_none() && !select.distinct && !select.from.is_empty() && select.from.iter().all(is_of_tables)
}

fn is_of_tables(source: &TableSource) -> bool {
    match source {
        TableSource::Table(reference) => reference.system_time.is_none() && reference.sample.is_none(),
        TableSource::Join(join) => {
            let is_apply = matches!(join.kind, JoinKind::CrossApply | JoinKind::OuterApply);
            !is_apply && is_of_tables(&join.left) && is_of_tables(&join.right)
        }
        TableSource::Variable { .. }
        | TableSource::Function { .. }
        | TableSource::OpenXml(_)
        | TableSource::OpenRowset(_)
        | TableSource::Derived { .. }
        | TableSource::Values { .. }
        | TableSource::Change { .. }
        | TableSource::Pivot(_)
        | TableSource::Unpivot(_) => false,
    }
}

/// Leaves out what joins ask of the rows.
fn leave_out_conditions(node: &mut Node) {
    if let Node::From(from) = node {
        from.conjuncts.clear();
        from.units
            .iter_mut()
            .for_each(|unit| leave_out_conditions(&mut unit.node));
        return;
    }
    if let Node::Outer(join) = node {
        join.conjuncts.clear();
        leave_out_conditions(&mut join.left);
        leave_out_conditions(&mut join.right);
    }
}
