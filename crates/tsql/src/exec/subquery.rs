//! Subqueries as values and sets. One that captures nothing runs once per statement; its result is kept.

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::evaluate::evaluate;
use super::open;
use crate::ast::ComparisonOperator;
use crate::context::{CachedResult, Context, ValueSet};
use crate::grant::kept_bytes;
use crate::messages;
use crate::plan::{Quantifier, QueryPlan, Subquery};
use crate::scalar::compare::{GroupKey, compare, satisfies};

/// What running a subquery for a row comes to, beside its own rows.
const STEPS_PER_RUN: usize = 4;
/// Values of a set that are compared in the time of a step.
const VALUES_PER_STEP: usize = 16;

/// Runs `work` with the subquery's captures in place, or takes the kept result when there are none.
fn cached(
    subquery: &Subquery,
    row: &[Value],
    context: &Context<'_>,
    work: impl FnOnce(&QueryPlan) -> Result<CachedResult>,
) -> Result<Rc<CachedResult>> {
    if subquery.captures.is_empty() {
        let key = Arc::as_ptr(&subquery.plan) as usize;
        if let Some(kept) = context.kept().results.borrow().get(&key) {
            return Ok(kept.clone());
        }
        let result = Rc::new(context.with_parameters(Rc::default(), || work(&subquery.plan))?);
        context.kept().results.borrow_mut().insert(key, result.clone());
        return Ok(result);
    }
    cancel::spend(STEPS_PER_RUN)?;
    let captures = capture(&subquery.captures, row, context)?;
    context.with_parameters(captures, || work(&subquery.plan)).map(Rc::new)
}

/// The values that a subquery captures from a row.
pub(super) fn capture(captures: &[crate::plan::Expr], row: &[Value], context: &Context<'_>) -> Result<Rc<Vec<Value>>> {
    let values = captures
        .iter()
        .map(|capture| Ok(evaluate(capture, row, context)?.into_owned()));
    Ok(Rc::new(values.collect::<Result<Vec<_>>>()?))
}

/// `(SELECT ...)`: NULL without a row, 512 with several.
pub(super) fn scalar(subquery: &Subquery, row: &[Value], context: &Context<'_>) -> Result<Value> {
    let result = cached(subquery, row, context, |plan| {
        let mut operator = open(&plan.root, context.locks(), context)?;
        let mut buffer = vec![Value::Null; plan.width];
        if !operator.next(context, &mut buffer)? {
            return Ok(CachedResult::Scalar(Value::Null));
        }
        let value = buffer.first().cloned().unwrap_or(Value::Null);
        if operator.next(context, &mut buffer)? {
            return Err(messages::subquery_returned_many());
        }
        Ok(CachedResult::Scalar(value))
    })?;
    match &*result {
        CachedResult::Scalar(value) => Ok(value.clone()),
        _ => Ok(Value::Null),
    }
}

/// `EXISTS (SELECT ...)`
pub(super) fn exists(subquery: &Subquery, row: &[Value], context: &Context<'_>) -> Result<bool> {
    let result = cached(subquery, row, context, |plan| {
        let mut buffer = vec![Value::Null; plan.width];
        Ok(CachedResult::Exists(
            open(&plan.root, context.locks(), context)?.next(context, &mut buffer)?,
        ))
    })?;
    Ok(matches!(*result, CachedResult::Exists(true)))
}

/// `value operator ALL | ANY (SELECT ...)`, `value IN (SELECT ...)`.
pub(super) fn quantified(
    value: &Value,
    operator: ComparisonOperator,
    quantifier: Quantifier,
    subquery: &Subquery,
    row: &[Value],
    context: &Context<'_>,
) -> Result<Option<bool>> {
    let result = cached(subquery, row, context, |plan| {
        let mut set = ValueSet::default();
        let mut grant = context.grant();
        super::run(plan, context, &mut |row| {
            match row.first() {
                None | Some(Value::Null) => set.has_null = true,
                Some(value) => {
                    if set.values.insert(GroupKey(vec![value.clone()])) {
                        grant.require(kept_bytes(std::slice::from_ref(value)))?;
                    }
                }
            }
            Ok(())
        })?;
        set.grant = Some(grant);
        Ok(CachedResult::Set(set))
    })?;
    let CachedResult::Set(set) = &*result else {
        return Ok(None);
    };
    if operator != ComparisonOperator::Equal || quantifier == Quantifier::All {
        cancel::spend(set.values.len() / VALUES_PER_STEP)?;
    }
    Ok(compare_with_set(value, operator, quantifier, set))
}

fn compare_with_set(
    value: &Value,
    operator: ComparisonOperator,
    quantifier: Quantifier,
    set: &ValueSet,
) -> Option<bool> {
    let is_empty = set.values.is_empty() && !set.has_null;
    if is_empty {
        return Some(quantifier == Quantifier::All);
    }
    if value.is_null() {
        return None;
    }
    let unless_null = |truth: bool| if set.has_null { None } else { Some(truth) };
    if quantifier == Quantifier::Any && operator == ComparisonOperator::Equal {
        let found = set.values.contains(&GroupKey(vec![value.clone()]));
        return if found { Some(true) } else { unless_null(false) };
    }
    let satisfied = |key: &GroupKey| {
        let order = key
            .0
            .first()
            .and_then(|other| compare(value, other))
            .unwrap_or(Ordering::Equal);
        satisfies(operator, order)
    };
    match quantifier {
        Quantifier::Any if set.values.iter().any(satisfied) => Some(true),
        Quantifier::Any => unless_null(false),
        Quantifier::All if !set.values.iter().all(satisfied) => Some(false),
        Quantifier::All => unless_null(true),
    }
}
