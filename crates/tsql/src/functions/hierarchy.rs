//! The methods of `hierarchyid` (sql-docs, "hierarchyid data type method reference"). The first argument is the node; of NULL they are NULL.

use engine::error::Result;
use engine::types::Value;

use super::Call;
use crate::scalar::hierarchy::{Hierarchy, Method, negative_ancestor};

fn node(call: &Call<'_>, index: usize) -> Result<Option<Hierarchy>> {
    Hierarchy::of(call.value(index))
}

fn value_of(path: Option<Hierarchy>, method: Method) -> Result<Value> {
    path.map_or(Ok(Value::Null), |path| path.to_value(method))
}

/// Levels below the root, as smallint.
pub(crate) fn level(call: &Call<'_>) -> Result<Value> {
    let level = node(call, 0)?.map(|node| i16::try_from(node.level()).unwrap_or(i16::MAX));
    Ok(level.map_or(Value::Null, Value::SmallInt))
}

/// The node so many levels above; NULL above the root.
///
/// # Errors
/// 6522 with 24011 for fewer than none.
pub(crate) fn ancestor(call: &Call<'_>) -> Result<Value> {
    let (Some(node), Value::Int(levels)) = (node(call, 0)?, call.value(1)) else {
        return Ok(Value::Null);
    };
    let levels = usize::try_from(*levels).map_err(|_| negative_ancestor())?;
    value_of(node.ancestor(levels), Method::GetAncestor)
}

/// A child between two, either of which may be NULL.
pub(crate) fn descendant(call: &Call<'_>) -> Result<Value> {
    let Some(parent) = node(call, 0)? else {
        return Ok(Value::Null);
    };
    let (child1, child2) = (node(call, 1)?, node(call, 2)?);
    let found = parent.descendant(child1.as_ref(), child2.as_ref())?;
    value_of(Some(found), Method::GetDescendant)
}

/// Whether the argument is this node or above it.
pub(crate) fn is_descendant_of(call: &Call<'_>) -> Result<Value> {
    Ok(match (node(call, 0)?, node(call, 1)?) {
        (Some(node), Some(ancestor)) => Value::Bit(node.is_descendant_of(&ancestor)),
        _ => Value::Null,
    })
}

/// The node with another way from the root.
pub(crate) fn reparented(call: &Call<'_>) -> Result<Value> {
    let (Some(node), Some(old), Some(new)) = (node(call, 0)?, node(call, 1)?, node(call, 2)?) else {
        return Ok(Value::Null);
    };
    value_of(Some(node.reparented(&old, &new)?), Method::GetReparentedValue)
}
