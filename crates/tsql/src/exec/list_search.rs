//! The search in a long IN of variables and parameters, whose values are the same for every row of an execution.
//!
//! ```text
//! rows 1 to 8     compared item by item: a statement that finds one row by its key sorts nothing
//! row 9           the items are evaluated and sorted
//! rows 9 ...      searched
//! ```
//! Item by item again, from then on, where
//! - an item cannot be evaluated: which row fails, and whether one does, is decided by the comparisons;
//! - the strings take more than [`SEARCHED_BYTES_MAX`];
//! - the query's memory has no room for the values: they are charged to a grant of the list's own;
//! - a variable is set while the statement runs (`SELECT @v = ...`, `UPDATE ... SET @v = ...`).

use std::cmp::Ordering;
use std::rc::Rc;

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::evaluate::evaluate;
use super::merge_sort;
use super::settle::{RowAlone, is_of_row_alone, settle};
use crate::context::{Context, KeptList, KnownValues};
use crate::grant::stored_bytes;
use crate::plan::ListedValues;
use crate::scalar::compare::compare;

/// Rows that are compared with the items one by one before these are sorted, which takes about as long as that.
const ROWS_WALKED: u32 = 8;
/// Bytes of strings that are kept beside the variables.
const SEARCHED_BYTES_MAX: usize = 1 << 20;
/// What the place of a value in the order takes.
const PLACE_BYTES: u64 = size_of::<u32>() as u64;

/// Whether a value that is not NULL is in a list; nothing where the items are to be compared one by one.
///
/// # Errors
/// 3617 when the statement is to stop.
pub(super) fn search(
    (list, number): (&ListedValues, u64),
    value: &Value,
    context: &Context<'_>,
) -> Result<Option<Option<bool>>> {
    let Some(known) = known_values((list, number), context)? else {
        return Ok(None);
    };
    let is_found = known
        .order
        .binary_search_by(|&place| order(&known.values[place as usize], value))
        .is_ok();
    Ok(Some(match (is_found, known.has_null) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    }))
}

fn order(one: &Value, other: &Value) -> Ordering {
    compare(one, other).unwrap_or(Ordering::Equal)
}

/// The values of a list, once it has been compared with some rows.
fn known_values((list, number): (&ListedValues, u64), context: &Context<'_>) -> Result<Option<Rc<KnownValues>>> {
    let kept = context.kept().lists.borrow().get(&number).cloned();
    let (now, known) = match kept.unwrap_or(KeptList::Walked(0)) {
        KeptList::Known { changes, values } if changes == context.variable_changes() => return Ok(Some(values)),
        KeptList::Left => return Ok(None),
        KeptList::Walked(rows) if rows < ROWS_WALKED => (KeptList::Walked(rows + 1), None),
        KeptList::Known { .. } => (KeptList::Left, None),
        KeptList::Walked(_) => match evaluated(list, context)?.map(Rc::new) {
            Some(values) => {
                let changes = context.variable_changes();
                let known = values.clone();
                (KeptList::Known { changes, values }, Some(known))
            }
            None => (KeptList::Left, None),
        },
    };
    context.kept().lists.borrow_mut().insert(number, now);
    Ok(known)
}

/// The values of all items, where each can be evaluated and there is room for all.
fn evaluated(list: &ListedValues, context: &Context<'_>) -> Result<Option<KnownValues>> {
    let mut grant = context.grant();
    if !grant.has_room(list.len() as u64 * (size_of::<Value>() as u64 + PLACE_BYTES)) {
        return Ok(None);
    }
    let mut values = Vec::with_capacity(list.len());
    let mut bytes = 0;
    for item in list {
        cancel::spend(1)?;
        // A held value stays a variable: it is too long to be kept here.
        let item = settle(item, context);
        if !is_of_row_alone(&item) {
            return Ok(None);
        }
        let Ok(value) = evaluate(&item, &[], &RowAlone) else {
            return Ok(None);
        };
        bytes += match &*value {
            Value::Null => continue,
            Value::Held(_) => return Ok(None),
            Value::Text(text) => text.len(),
            Value::Binary(own) => own.len(),
            _ => 0,
        };
        let beside = stored_bytes(std::slice::from_ref(&*value)) - size_of::<Value>() as u64;
        if bytes > SEARCHED_BYTES_MAX || !grant.has_room(beside) {
            return Ok(None);
        }
        values.push(value.into_owned());
    }
    let has_null = values.len() < list.len();
    Ok(Some(KnownValues {
        order: in_order(&values)?,
        values,
        has_null,
        grant,
    }))
}

/// The places of the values, in ascending order of these.
fn in_order(values: &[Value]) -> Result<Vec<u32>> {
    let mut places: Vec<u32> = (0..).zip(values).map(|(place, _)| place).collect();
    merge_sort::sort(&mut places, |&one, &other| {
        order(&values[one as usize], &values[other as usize])
    })?;
    Ok(places)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering as AtomicOrdering};

    #[test]
    fn sorting_a_list_stops_with_its_statement() {
        let values: Vec<Value> = (0..50).map(|number| Value::Int(number * 37 % 50)).collect();
        let places = in_order(&values).unwrap();
        assert!(
            places
                .iter()
                .zip(0..)
                .all(|(&place, number)| values[place as usize] == Value::Int(number))
        );
        let flag = Arc::new(AtomicBool::new(false));
        let _serving = cancel::serve(Some(flag.clone()));
        assert!(in_order(&values).is_ok());
        flag.store(true, AtomicOrdering::Relaxed);
        assert_eq!(in_order(&values).unwrap_err().number, 3617);
    }
}
