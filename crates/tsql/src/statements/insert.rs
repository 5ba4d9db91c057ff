//! INSERT.
//!
//! The first rows of a query are inserted one by one. A query with more than [`ROWS_BEFORE_FILL`] rows continues page by page, with one log
//! record per filled page, if the table can be filled that way (`Table::may_fill`).

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::bulk::{ROWS_BEFORE_FILL, RowCopy};
use super::change::goes_to_client;
use super::executor::Executor;
use crate::ast::{Insert, InsertSource};
use crate::bind::{BoundInsert, ChangedRows, InsertRows, Nested};
use crate::context::Context;
use crate::exec::{evaluate, evaluate_or_held, open, share_of, test};
use crate::grant::KeptRows;
use crate::modify::{Changed, Fill, Pipeline, require_current};
use crate::plan::{Assignment, Expr, JoinMethod, Node, QueryPlan, Shape, Target, TopCount};
use crate::prepared::Bound;
use crate::sink::DoneKind;

impl Executor<'_> {
    pub(super) fn insert(&mut self, insert: &Insert, line: u32) -> Result<()> {
        let bound = self.plan(insert, |binder, insert| Ok(Bound::Insert(binder.insert(insert)?)))?;
        let Bound::Insert(bound) = &*bound else {
            return Err(Error::assertion("an INSERT bound to something else"));
        };
        let count = self.atomically(true, |executor| {
            executor.within_no_wait(bound.locking.no_wait, |executor| {
                executor.lock_for_insert(&bound.target, bound.locking.of_insert())?;
                let changed = match &bound.rows {
                    InsertRows::Values(rows) => executor.insert_values(bound, rows)?,
                    InsertRows::Query(plan) => executor.insert_query(bound, plan)?,
                    InsertRows::Change(rows) => executor.insert_changed(bound, rows)?,
                    InsertRows::Execute => executor.insert_execute(bound, insert, line)?,
                };
                executor.finish_output(bound.output.as_ref(), changed)
            })
        })?;
        self.changed(count, DoneKind::Insert, goes_to_client(bound.output.as_ref()))
    }

    /// How many of so many rows TOP lets in.
    fn top_of(&self, top: Option<&TopCount>, row_count: usize) -> Result<usize> {
        let Some(top) = top.filter(|top| top.percent) else {
            let limit = self.top_limit(top)?;
            return Ok(usize::try_from(limit).unwrap_or(usize::MAX).min(row_count));
        };
        let context = Context::new(self.session, &self.variables);
        let Value::Float(percent) = evaluate(&top.count, &[], &context)?.into_owned() else {
            return Err(crate::messages::row_count_not_integer());
        };
        share_of(row_count as u64, percent).map(|count| count as usize)
    }

    /// How many rows TOP lets in that does not ask for a share of them.
    pub(super) fn top_limit(&self, top: Option<&TopCount>) -> Result<u64> {
        match top {
            Some(top) if top.percent => Err(Error::assertion("a share of rows that are not counted")),
            Some(top) => {
                let context = Context::new(self.session, &self.variables);
                let count = evaluate(&top.count, &[], &context)?.as_i64().unwrap_or(0);
                u64::try_from(count).map_err(|_| crate::messages::row_count_not_integer())
            }
            None => Ok(match self.session.options().row_count {
                0 => u64::MAX,
                limit => limit,
            }),
        }
    }

    fn insert_values(&self, bound: &BoundInsert, rows: &[Vec<Option<Expr>>]) -> Result<Changed> {
        let limit = self.top_of(bound.top.as_ref(), rows.len())?;
        let context = Context::new(self.session, &self.variables);
        // All of them before the first one goes in: their subqueries may read the target.
        let given = rows.iter().take(limit).map(|expressions| {
            let value = |expression: &Expr| {
                Ok((
                    evaluate_or_held(expression, &[], &context)?.into_owned(),
                    expression.sql_type,
                ))
            };
            self.session.sequences.end_row();
            let values = expressions.iter().map(|one| one.as_ref().map(value).transpose());
            values.collect::<Result<Vec<_>>>()
        });
        let given = given.collect::<Result<Vec<_>>>()?;
        let mut pipeline = pipeline_of(bound, &context)?;
        pipeline.fill_holes();
        for values in given {
            self.session.sequences.end_row();
            let given = |position: usize| values.get(position).cloned().flatten();
            pipeline.insert(&bound.assignments, bound.sets_identity, &given)?;
        }
        pipeline.finish()
    }

    fn insert_query(&self, bound: &BoundInsert, plan: &QueryPlan) -> Result<Changed> {
        let context = Context::new(self.session, &self.variables);
        let limit = self.top_limit(bound.top.as_ref())?;
        let mut pipeline = pipeline_of(bound, &context)?;
        pipeline.fill(fill_of(bound));
        // A function may read the table: all of its calls see the table as it is.
        let reads_itself = reads_what_it_fills(bound, plan) || plan.root.calls_module();
        if bound.target_reads == 0 || reads_itself {
            pipeline.fill_holes();
        }
        if !reads_itself && let Some(copy) = RowCopy::prepare(bound, plan, &context)? {
            self.copy_rows(&copy, bound, &mut pipeline, &context)?;
            return pipeline.finish();
        }
        let mut kept = KeptRows::default();
        let mut source: Box<dyn Iterator<Item = Result<Vec<Value>>>> = if reads_itself {
            // Keys may fall anywhere among those still to be read, so all rows are read first.
            crate::exec::run(plan, &context, &mut |row| {
                kept.push(row.to_vec(), &self.session.instance.workspace)
            })?;
            Box::new(kept.rows.into_iter().map(Ok))
        } else {
            Box::new(PlanRows {
                operator: open(&plan.root, context.locks(), &context)?,
                context: &context,
                width: plan.width,
            })
        };
        while pipeline.count() < limit {
            let Some(values) = source.next() else { break };
            let values = values?;
            let given = |position: usize| {
                let sql_type = plan
                    .columns
                    .get(position)
                    .map_or(SqlType::Int, |column| column.sql_type);
                Some((values.get(position).cloned().unwrap_or(Value::Null), sql_type))
            };
            pipeline.insert(&bound.assignments, bound.sets_identity, &given)?;
        }
        pipeline.finish()
    }

    /// INSERT of what another change puts out: that change first, whole. Triggers that it fires by the actions of foreign keys run before
    /// those of the INSERT.
    fn insert_changed(&mut self, bound: &BoundInsert, rows: &ChangedRows) -> Result<Changed> {
        let taken = self.nested_change(&rows.change)?;
        let context = Context::new(self.session, &self.variables);
        let limit = self.top_limit(None)?;
        let mut pipeline = pipeline_of(bound, &context)?;
        pipeline.fill_holes();
        for row in &taken.output.rows {
            if pipeline.count() >= limit {
                break;
            }
            if let Some(condition) = &rows.condition
                && test(condition, row, &context)? != Some(true)
            {
                continue;
            }
            self.session.sequences.end_row();
            let value = |(item, _): &(Expr, _)| Ok((evaluate(item, row, &context)?.into_owned(), item.sql_type));
            let values = rows.items.iter().map(value).collect::<Result<Vec<_>>>()?;
            let given = |position: usize| values.get(position).cloned();
            pipeline.insert(&bound.assignments, bound.sets_identity, &given)?;
        }
        let mut changed = pipeline.finish()?;
        let mut fired = taken.fired;
        fired.append(&mut changed.fired);
        changed.fired = fired;
        Ok(changed)
    }

    /// Runs a change whose OUTPUT an INSERT takes.
    fn nested_change(&mut self, change: &Nested) -> Result<Changed> {
        match change {
            Nested::Insert(insert) => self.within_no_wait(insert.locking.no_wait, |executor| {
                executor.lock_for_insert(&insert.target, insert.locking.of_insert())?;
                match &insert.rows {
                    InsertRows::Values(rows) => executor.insert_values(insert, rows),
                    InsertRows::Query(plan) => executor.insert_query(insert, plan),
                    InsertRows::Change(_) | InsertRows::Execute => {
                        Err(Error::assertion("a nested INSERT of rows that it cannot take"))
                    }
                }
            }),
            Nested::Update(update) => {
                self.within_no_wait(update.search.no_wait, |executor| executor.update_rows(update))
            }
            Nested::Delete(delete) => {
                self.within_no_wait(delete.search.no_wait, |executor| executor.delete_rows(&delete.search))
            }
            Nested::Merge(merge) => self.within_no_wait(merge.search.no_wait, |executor| executor.merge_rows(merge)),
        }
    }

    /// INSERT ... EXECUTE: the rows of all result sets.
    fn insert_execute(&mut self, bound: &BoundInsert, insert: &Insert, line: u32) -> Result<Changed> {
        let InsertSource::Execute(execute) = &insert.source else {
            return Err(Error::assertion("an INSERT of another source"));
        };
        // What is executed would be executed twice if this were found out later.
        require_current(self.session, &bound.target, &bound.columns)?;
        let listed = bound
            .assignments
            .iter()
            .filter(|one| matches!(one, Assignment::Source(_)))
            .count();
        let (columns, rows) = self.collect_execute(execute, listed, line)?;
        let context = Context::new(self.session, &self.variables);
        let mut pipeline = pipeline_of(bound, &context)?;
        pipeline.fill_holes();
        let limit = self.top_of(bound.top.as_ref(), rows.rows.len())?;
        for values in rows.rows.iter().take(limit) {
            let given = |position: usize| {
                let sql_type = columns.get(position).copied().unwrap_or(SqlType::Int);
                Some((values.get(position).cloned().unwrap_or(Value::Null), sql_type))
            };
            pipeline.insert(&bound.assignments, bound.sets_identity, &given)?;
        }
        pipeline.finish()
    }
}

fn pipeline_of<'p>(bound: &'p BoundInsert, context: &'p Context<'p>) -> Result<Pipeline<'p>> {
    Pipeline::new(context, &bound.target, &bound.columns, "INSERT", bound.output.as_ref())
}

/// Pages are filled behind the first rows; from the first on when the table is locked anyway.
fn fill_of(bound: &BoundInsert) -> Fill {
    let has_table_lock = bound.locking.whole_table == Some(true);
    Fill {
        after_rows: if has_table_lock { 0 } else { ROWS_BEFORE_FILL },
        has_table_lock,
    }
}

/// Whether a query may meet rows that it has inserted itself. A scan goes up to what was the end at its beginning. So rows are
/// a danger that go between those still to be read, which identity values never do, and all rows are where a scan may begin
/// after the first of them: in a subquery, on the right of a loop, in a later part of a UNION.
fn reads_what_it_fills(bound: &BoundInsert, plan: &QueryPlan) -> bool {
    if bound.target_reads == 0 {
        return false;
    }
    let Target::Table(target) = &bound.target else {
        return true;
    };
    let definition = target.table.definition();
    let grows_at_end = definition.clustered().is_none_or(|clustered| {
        clustered.keys.first().is_some_and(|(column, descending)| {
            let takes_identity = matches!(bound.assignments.get(*column), Some(Assignment::Identity));
            let rises = definition
                .identity()
                .is_some_and(|(_, identity)| (identity.increment > 0) != *descending);
            takes_identity && rises
        })
    });
    !grows_at_end || bound.target_reads > 1 || !begins_with(&plan.root, definition.object_id)
}

/// Whether a plan's scan of this table begins before its first row comes out, and only once.
fn begins_with(node: &Node, object_id: u32) -> bool {
    if let Node::Scan(scan) = node {
        // A search goes on to where its range ends, whatever comes into it meanwhile.
        return scan.seek.is_none() && scan.table.table.definition().object_id == object_id;
    }
    if let Node::Derived(derived) = node {
        return derived.captures.is_empty() && begins_with(&derived.plan.root, object_id);
    }
    if let Node::Join(join) = node {
        // The right side of loops is read again for each left row.
        let reads_right_once = join.method != JoinMethod::Loop;
        return begins_with(&join.left, object_id) || reads_right_once && begins_with(&join.right, object_id);
    }
    match node.shape() {
        Shape::Passed(input) => begins_with(input, object_id),
        Shape::Extended(below) | Shape::Computed(below) => begins_with(below.input, object_id),
        Shape::Source(_) | Shape::Joined | Shape::United => false,
    }
}

/// The rows of a plan, one by one.
struct PlanRows<'p, 'c> {
    operator: Box<dyn crate::exec::Operator + 'p>,
    context: &'c Context<'p>,
    width: usize,
}

impl Iterator for PlanRows<'_, '_> {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Result<Vec<Value>>> {
        let mut row = vec![Value::Null; self.width];
        match self.operator.next(self.context, &mut row) {
            Ok(true) => Some(Ok(row)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
