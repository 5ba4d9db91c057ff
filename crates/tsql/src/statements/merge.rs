//! MERGE.
//!
//! All rows of the join are found and matched to clauses before the first row is changed, so a clause never sees the changes of another.
//! Then all changes pass the stations together: a row may take the key that another row gave up.

use std::collections::HashSet;

use engine::error::{Error, Result};
use engine::store::RowLocator;
use engine::types::{SqlType, Value};

use super::change::goes_to_client;
use super::executor::Executor;
use crate::ast::{Merge, MergeWhen};
use crate::bind::{BoundMerge, BoundMergeAction, BoundMergeClause};
use crate::context::Context;
use crate::exec::{evaluate, locator_of, open, test};
use crate::grant::row_bytes;
use crate::messages;
use crate::modify::{Changed, Pipeline, RowChange};
use crate::plan::Expr;
use crate::prepared::Bound;
use crate::sink::DoneKind;

impl Executor<'_> {
    pub(super) fn merge(&mut self, merge: &Merge, _line: u32) -> Result<()> {
        let bound = self.plan(merge, |binder, merge| Ok(Bound::Merge(Box::new(binder.merge(merge)?))))?;
        let Bound::Merge(bound) = &*bound else {
            return Err(Error::assertion("a MERGE bound to something else"));
        };
        let search = &bound.search;
        let count = self.atomically(true, |executor| {
            executor.within_no_wait(search.no_wait, |executor| {
                let changed = executor.merge_rows(bound)?;
                executor.finish_output(search.output.as_ref(), changed)
            })
        })?;
        self.changed(count, DoneKind::Merge, goes_to_client(search.output.as_ref()))
    }

    pub(super) fn merge_rows(&self, bound: &BoundMerge) -> Result<Changed> {
        let search = &bound.search;
        let limit = self.top_limit(search.top.as_ref())?;
        let context = Context::new(self.session, &self.variables);
        let mut operator = open(&search.node, context.locks(), &context)?;
        let mut pipeline = Pipeline::new(
            &context,
            &search.target,
            &search.columns,
            "MERGE",
            search.output.as_ref(),
        )?;
        let mut row = vec![Value::Null; search.width];
        let mut grant = context.grant();
        let (mut changes, mut beside) = (Vec::new(), Vec::new());
        let mut met: HashSet<RowLocator> = HashSet::new();
        while (changes.len() as u64) < limit && operator.next(&context, &mut row)? {
            let Some(clause) = clause_for(bound, &row, &context)? else {
                continue;
            };
            let change = change_of(bound, clause, &row, &pipeline, &context)?;
            if let RowChange::Update { locator, .. } | RowChange::Delete { locator, .. } = &change
                && !met.insert(locator_of(locator)?)
            {
                return Err(messages::merge_changes_row_twice());
            }
            grant.require(bytes_of(&change))?;
            changes.push(change);
            if search.output.is_some() {
                grant.require(row_bytes(&row))?;
                beside.push(row.clone());
            }
        }
        drop(operator);
        pipeline.change_beside(changes, beside, bound.sets_identity)?;
        pipeline.finish()
    }
}

/// The first clause for a row of the join whose condition holds.
fn clause_for<'b>(bound: &'b BoundMerge, row: &[Value], context: &Context<'_>) -> Result<Option<&'b BoundMergeClause>> {
    let has_target = !bound.search.locator_of(row).is_null();
    let has_source = bound
        .mark
        .is_none_or(|mark| row.get(mark).is_some_and(|mark| !mark.is_null()));
    let when = match (has_source, has_target) {
        (true, true) => MergeWhen::Matched,
        (true, false) => MergeWhen::NotMatched,
        (false, _) => MergeWhen::NotMatchedBySource,
    };
    for clause in bound.clauses.iter().filter(|clause| clause.when == when) {
        let holds = match &clause.condition {
            Some(condition) => test(condition, row, context)? == Some(true),
            None => true,
        };
        if holds {
            return Ok(Some(clause));
        }
    }
    Ok(None)
}

/// What a clause makes of a row of the join.
fn change_of(
    bound: &BoundMerge,
    clause: &BoundMergeClause,
    row: &[Value],
    pipeline: &Pipeline<'_>,
    context: &Context<'_>,
) -> Result<RowChange> {
    let search = &bound.search;
    let locator = search.locator_of(row).clone();
    let old = search.old_row(row).to_vec();
    match &clause.action {
        BoundMergeAction::Delete => Ok(RowChange::Delete { locator, old }),
        BoundMergeAction::Update { assignments, variables } => {
            let mut new = old.clone();
            for (column, expression) in assignments {
                let Some(target) = search.columns.columns.get(*column) else {
                    continue;
                };
                let value = evaluate(expression, row, context)?.into_owned();
                new[*column] = target.store(value, expression.sql_type, &search.columns.table_name)?;
            }
            for (slot, expression) in variables {
                context.set_variable(*slot, evaluate(expression, row, context)?.into_owned())?;
            }
            Ok(RowChange::Update { locator, old, new })
        }
        BoundMergeAction::Insert {
            values, assignments, ..
        } => {
            let value = |expression: &Expr| -> Result<(Value, SqlType)> {
                Ok((evaluate(expression, row, context)?.into_owned(), expression.sql_type))
            };
            let given = values.iter().map(|one| one.as_ref().map(value).transpose());
            let given = given.collect::<Result<Vec<_>>>()?;
            let new = pipeline.new_row(assignments, &|position| given.get(position).cloned().flatten())?;
            Ok(RowChange::Insert(new))
        }
    }
}

/// What a change that waits takes.
fn bytes_of(change: &RowChange) -> u64 {
    match change {
        RowChange::Insert(row) => row_bytes(row),
        RowChange::Update { locator, old, new } => {
            row_bytes(old) + row_bytes(new) + row_bytes(std::slice::from_ref(locator))
        }
        RowChange::Delete { locator, old } => row_bytes(old) + row_bytes(std::slice::from_ref(locator)),
    }
}
