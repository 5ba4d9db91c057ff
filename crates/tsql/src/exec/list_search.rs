//! The search in a long IN of variables and parameters, whose values are the same for every row of an execution.
//!
//! ```text
//! rows 1 to 8     compared item by item: a statement that finds one row by its key sorts nothing
//! row 9           the items are evaluated and sorted
//! rows 9 ...      searched
//! ```
//! Item by item again, from then on, where
//! - an item cannot be evaluated: which row fails, and whether one does, is decided by the comparisons;
//! - the values take more than [`SEARCHED_BYTES_MAX`];
//! - a variable is set while the statement runs (`SELECT @v = ...`, `UPDATE ... SET @v = ...`).

use std::cmp::Ordering;
use std::rc::Rc;

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::evaluate::{Surroundings, evaluate};
use crate::context::{Context, KeptList, KnownValues};
use crate::modules::ModuleCall;
use crate::plan::{Condition, Expr, Implementation, ListedValues, Subquery};
use crate::scalar::compare::compare;

/// Rows that are compared with the items one by one before these are sorted, which takes about as long as that.
const ROWS_WALKED: u32 = 8;
/// Bytes of strings that are kept beside the variables.
const SEARCHED_BYTES_MAX: usize = 1 << 20;

/// Whether a value that is not NULL is in a list; nothing where the items are to be compared one by one.
pub(super) fn search(
    (list, number): (&ListedValues, u64),
    value: &Value,
    context: &Context<'_>,
) -> Option<Option<bool>> {
    let known = known_values((list, number), context)?;
    let is_found = known.values.binary_search_by(|other| order(other, value)).is_ok();
    Some(match (is_found, known.has_null) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    })
}

fn order(one: &Value, other: &Value) -> Ordering {
    compare(one, other).unwrap_or(Ordering::Equal)
}

/// The values of a list, once it has been compared with some rows.
fn known_values((list, number): (&ListedValues, u64), context: &Context<'_>) -> Option<Rc<KnownValues>> {
    let kept = context.kept().lists.borrow().get(&number).cloned();
    let (now, known) = match kept.unwrap_or(KeptList::Walked(0)) {
        KeptList::Known { changes, values } if changes == context.variable_changes() => return Some(values),
        KeptList::Left => return None,
        KeptList::Walked(rows) if rows < ROWS_WALKED => (KeptList::Walked(rows + 1), None),
        KeptList::Known { .. } => (KeptList::Left, None),
        KeptList::Walked(_) => match evaluated(list, context).map(Rc::new) {
            Some(values) => {
                let changes = context.variable_changes();
                let known = values.clone();
                (KeptList::Known { changes, values }, Some(known))
            }
            None => (KeptList::Left, None),
        },
    };
    context.kept().lists.borrow_mut().insert(number, now);
    known
}

/// The values of all items, where each can be evaluated.
fn evaluated(list: &ListedValues, context: &Context<'_>) -> Option<KnownValues> {
    let mut values = Vec::with_capacity(list.len());
    let mut bytes = 0;
    for item in list {
        let value = evaluate(item, &[], &VariablesAlone(context)).ok()?.into_owned();
        bytes += match &value {
            Value::Null => continue,
            Value::Held(_) => return None,
            Value::Text(text) => text.len(),
            Value::Binary(own) => own.len(),
            _ => 0,
        };
        if bytes > SEARCHED_BYTES_MAX {
            return None;
        }
        values.push(value);
    }
    let has_null = values.len() < list.len();
    values.sort_by(order);
    Some(KnownValues { values, has_null })
}

/// The variables of an execution, of which no error is forgiven.
struct VariablesAlone<'c>(&'c Context<'c>);

fn beyond_variables() -> Error {
    Error::assertion("an item of a list asks for more than variables")
}

impl Surroundings for VariablesAlone<'_> {
    fn variable(&self, slot: usize) -> Value {
        self.0.variable(slot)
    }

    fn variable_in_memory(&self, slot: usize) -> Result<Value> {
        match self.0.variable(slot) {
            // It is too long to be kept here.
            Value::Held(_) => Err(beyond_variables()),
            value => Ok(value),
        }
    }

    fn parameter(&self, _index: usize) -> Value {
        Value::Null
    }

    fn call(&self, _: Implementation, _: (&[Expr], &[usize]), _: SqlType, _: &[Value]) -> Result<Value> {
        Err(beyond_variables())
    }

    fn call_module(&self, _: &ModuleCall, _: &[Expr], _: &[Value]) -> Result<Value> {
        Err(beyond_variables())
    }

    fn scalar(&self, _: &Subquery, _: &[Value]) -> Result<Value> {
        Err(beyond_variables())
    }

    fn test_rows(&self, _: &Condition, _: &[Value]) -> Result<Option<bool>> {
        Err(beyond_variables())
    }
}
