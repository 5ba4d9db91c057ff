//! INSERT ... SELECT from one table, row to row: unchanged columns move as bytes, the rest is computed, and pages
//! are filled with the result.
//!
//! ```text
//! scan -> WHERE -> RowTransfer -> [packets of encoded rows] -> Pipeline: identity values -> TableFill
//! |--- on one thread or several (see exec::gather) ------|    |--- the session's thread ---|
//! ```
//! This path requires a target whose rows need no row path and whose pages may be filled, and a source that is one table read whole.
//! Everything else goes row by row. The first rows go row by row here too, so that small inserts do not lock the table.

use engine::error::Result;
use engine::types::{Collation, ColumnSource, EncodedRows, RowLayout, RowTransfer, SqlType, Value};

use super::executor::Executor;
use crate::bind::BoundInsert;
use crate::context::Context;
use crate::exec::gather::{Producer, degree, gather, gather_here};
use crate::exec::settle::{RowAlone, condition_is_of_row_alone, is_of_row_alone, settle, settle_condition};
use crate::exec::{Surroundings, evaluate_or_held, holds};
use crate::messages;
use crate::modify::Pipeline;
use crate::plan::{
    Assignment, Condition, Expr, ExprKind, FilterNode, Node, ProjectNode, QueryPlan, RowAction, ScanNode, Target,
    TargetColumns,
};

/// Rows of a query that are inserted one by one before pages are filled.
pub(super) const ROWS_BEFORE_FILL: u64 = 64;
/// Bytes of rows in a packet: about eight pages.
const PACKET_BYTES: usize = 64 * 1024;

/// How rows of a table become rows of the target.
pub(super) struct RowCopy<'p> {
    scan: &'p ScanNode,
    columns: &'p TargetColumns,
    condition: Condition,
    computed: Vec<(Expr, usize)>,
    /// Columns of the source that conditions and computed columns read.
    decoded: Vec<usize>,
    transfer: RowTransfer,
    is_of_row_alone: bool,
}

/// The scan below a query that reads one table and nothing else, with the conditions and the select list above it.
fn parts_of(plan: &QueryPlan) -> Option<(&ScanNode, Vec<&Condition>, &[Expr])> {
    let Node::Project(ProjectNode { input, expressions, .. }) = &plan.root else {
        return None;
    };
    let mut conditions = Vec::new();
    let mut node = &**input;
    while let Node::Filter(FilterNode { input, condition }) = node {
        conditions.push(condition);
        node = input;
    }
    let Node::Scan(scan) = node else { return None };
    let is_read_whole = scan.virtual_columns.is_empty()
        && scan.seek.is_none()
        && !scan.shows_rows()
        && !scan.locking.is_for_update()
        && !scan.locking.read_past;
    is_read_whole.then_some((scan, conditions, expressions))
}

impl<'p> RowCopy<'p> {
    /// Prepares the copy; `None` when the statement is none that goes this way.
    pub(super) fn prepare(
        bound: &'p BoundInsert,
        plan: &'p QueryPlan,
        context: &Context<'_>,
    ) -> Result<Option<RowCopy<'p>>> {
        let Target::Table(target) = &bound.target else {
            return Ok(None);
        };
        let needs_rows = bound.columns.needs_row_path(RowAction::Insert, bound.output.is_some()) || bound.sets_identity;
        let Some((scan, conditions, expressions)) = parts_of(plan).filter(|_| !needs_rows) else {
            return Ok(None);
        };
        if !target.table.may_fill(bound.locking.whole_table == Some(true))? {
            return Ok(None);
        }
        let source = scan.table.table.layout();
        let mut computed = Vec::new();
        let mut sources = Vec::with_capacity(bound.assignments.len());
        for (position, assignment) in bound.assignments.iter().enumerate() {
            let column = &bound.columns.columns[position];
            let given = match assignment {
                Assignment::Identity => {
                    sources.push(ColumnSource::Later);
                    continue;
                }
                Assignment::Source(index) => expressions.get(*index),
                Assignment::Default => column.default.as_ref(),
            };
            let given = given.map_or_else(
                || Expr::constant(Value::Null, column.sql_type),
                |given| settle(given, context),
            );
            if given.calls_module() {
                // Its statements run between rows, not in the middle of a page.
                return Ok(None);
            }
            sources.push(
                match source_column(&given, scan, source, (column.sql_type, column.collation)) {
                    Some(column) => ColumnSource::Same(column),
                    None => {
                        computed.push((given, position));
                        ColumnSource::Computed(computed.len() - 1)
                    }
                },
            );
        }
        let conditions = conditions
            .into_iter()
            .map(|condition| settle_condition(condition, context));
        let condition = Condition::all(conditions.collect());
        let required = bound.columns.columns.iter().map(|column| !column.nullable).collect();
        let transfer = RowTransfer::new(source, target.table.layout(), sources, required)?;
        let is_of_row_alone =
            condition_is_of_row_alone(&condition) && computed.iter().all(|(expression, _)| is_of_row_alone(expression));
        Ok(Some(RowCopy {
            scan,
            columns: &bound.columns,
            decoded: decoded_columns(scan, source, &condition, &computed),
            condition,
            computed,
            transfer,
            is_of_row_alone,
        }))
    }
}

/// The column that an expression hands through as it is stored.
fn source_column(
    expression: &Expr,
    scan: &ScanNode,
    source: &RowLayout,
    (to, collation): (SqlType, Collation),
) -> Option<usize> {
    let ExprKind::Column(index) = expression.kind else {
        return None;
    };
    let column = index.checked_sub(scan.offset)?;
    let is_same_page = source.column_collation(column).code_page() == collation.code_page();
    (expression.sql_type == to && source.column_type(column) == Some(to) && is_same_page).then_some(column)
}

fn decoded_columns(
    scan: &ScanNode,
    source: &RowLayout,
    condition: &Condition,
    computed: &[(Expr, usize)],
) -> Vec<usize> {
    let mut used = vec![false; scan.offset + source.column_count()];
    condition.mark_columns(&mut used);
    for (expression, _) in computed {
        expression.mark_columns(&mut used);
    }
    let columns = used.iter().skip(scan.offset).enumerate();
    columns.filter(|(_, used)| **used).map(|(column, _)| column).collect()
}

/// Turns source rows into packets of target rows.
struct CopyProducer<'c, 's, S> {
    copy: &'c RowCopy<'c>,
    surroundings: &'s S,
    row: Vec<Value>,
    values: Vec<Value>,
    rows: EncodedRows,
}

impl<'c, 's, S: Surroundings> CopyProducer<'c, 's, S> {
    fn new(copy: &'c RowCopy<'c>, surroundings: &'s S) -> CopyProducer<'c, 's, S> {
        let width = copy.scan.offset + copy.scan.table.table.layout().column_count();
        CopyProducer {
            copy,
            surroundings,
            row: vec![Value::Null; width],
            values: vec![Value::Null; copy.computed.len()],
            rows: EncodedRows::new(),
        }
    }
}

impl<S: Surroundings> Producer for CopyProducer<'_, '_, S> {
    type Packet = EncodedRows;

    fn take(&mut self, stored: &[u8]) -> Result<()> {
        let copy = self.copy;
        let layout = copy.scan.table.table.layout();
        for &column in &copy.decoded {
            self.row[copy.scan.offset + column] = layout.column(stored, column)?;
        }
        if !matches!(copy.condition, Condition::Constant(Some(true)))
            && !holds(&copy.condition, &self.row, self.surroundings)?
        {
            return Ok(());
        }
        for (value, (expression, position)) in self.values.iter_mut().zip(&copy.computed) {
            let column = &copy.columns.columns[*position];
            let given = evaluate_or_held(expression, &self.row, self.surroundings)?;
            *value = match expression.sql_type == column.sql_type {
                true => given.into_owned(),
                false => column.store(given.into_owned(), expression.sql_type, &copy.columns.table_name)?,
            };
        }
        match copy.transfer.append(stored, &self.values, &mut self.rows)? {
            None => Ok(()),
            Some(column) => {
                let name = copy.columns.columns.get(column).map_or("", |column| &*column.name);
                Err(messages::null_not_allowed(name, &copy.columns.table_name, "INSERT"))
            }
        }
    }

    fn full(&mut self) -> Option<EncodedRows> {
        (self.rows.byte_count() >= PACKET_BYTES).then(|| {
            let empty = EncodedRows::with_capacity(PACKET_BYTES + PACKET_BYTES / 4);
            std::mem::replace(&mut self.rows, empty)
        })
    }

    fn rest(&mut self) -> Option<EncodedRows> {
        (!self.rows.is_empty()).then(|| std::mem::take(&mut self.rows))
    }
}

impl Executor<'_> {
    /// Runs a prepared copy.
    pub(super) fn copy_rows(
        &self,
        copy: &RowCopy<'_>,
        bound: &BoundInsert,
        pipeline: &mut Pipeline<'_>,
        context: &Context<'_>,
    ) -> Result<()> {
        let limit = self.top_limit(bound.top.as_ref())?;
        if limit == 0 {
            return Ok(());
        }
        // Inserts a packet's rows; false when no more are wanted.
        let mut consume = |mut rows: EncodedRows| {
            rows.truncate(usize::try_from(limit - pipeline.count()).unwrap_or(usize::MAX));
            if !rows.is_empty() {
                pipeline.insert_encoded(rows, &bound.assignments)?;
            }
            Ok(pipeline.count() < limit)
        };
        if copy.is_of_row_alone {
            let make = || CopyProducer::new(copy, &RowAlone);
            gather(copy.scan, context, degree(copy.scan, context), &make, &mut consume)
        } else {
            gather_here(copy.scan, context, CopyProducer::new(copy, context), &mut consume)
        }
    }
}
