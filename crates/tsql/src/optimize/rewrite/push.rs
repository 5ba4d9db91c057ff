//! Conditions are pushed down to reduce rows early.
//!
//! ```text
//! a left join (b, c) on p(a, b) and q(b, c)     q is tested on (b, c)
//! (select k, sum(x) from t group by k) where k = 5      on t
//! (select ... union all select ...) where x > 1         on both
//! (select distinct ...), (... except ...)               on their inputs
//! (... row_number() over (partition by k ...)) where k = 5   on the numbered rows: whole partitions are dropped
//! ```
//! Conditions are not pushed below TOP and OFFSET, and a condition that may fail is not pushed at all, because it would be tested for other
//! rows.
//!
//! Rows of a group, or duplicates under DISTINCT, have equal keys but need not be identical (`'a'` and `'A'`). So only comparisons of such
//! columns are pushed down, because they cannot distinguish equal values.

use std::sync::Arc;

use engine::cancel;
use engine::error::Result;

use super::captured;
use super::change::{Replacing, is_repeatable, size};
use super::places::Places;
use crate::plan::{
    AggregateNode, Condition, DerivedNode, Expr, ExprKind, FilterNode, FromNode, JoinKind, Node, OuterJoin, SortNode,
    WindowCall,
};

/// Nodes of the expressions that take the places of columns in a condition: it may be pushed through many queries.
const NODES_MAX: usize = 100;

/// Pushes what can be into the queries of a FROM and the right sides of its outer joins.
///
/// # Errors
/// 8631 and 3617.
pub(super) fn into_queries(from: &mut FromNode) -> Result<()> {
    crate::stack::require()?;
    for unit in &mut from.units {
        below(&mut unit.node)?;
    }
    if !from.units.iter().any(|unit| keeps_query(&unit.node)) {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(from.conjuncts.len());
    for condition in std::mem::take(&mut from.conjuncts) {
        cancel::spend(1)?;
        let mut is_pushed = false;
        if !condition.can_fail() {
            for unit in &mut from.units {
                is_pushed = is_pushed || into_kept(&mut unit.node, &condition)?;
            }
        }
        if !is_pushed {
            kept.push(condition);
        }
    }
    from.conjuncts = kept;
    Ok(())
}

/// Whether a query is among the sources whose rows a tree of FROM all keeps.
fn keeps_query(node: &Node) -> bool {
    if let Node::From(from) = node {
        return from.units.iter().any(|unit| keeps_query(&unit.node));
    }
    if let Node::Outer(outer) = node {
        return outer.kind == JoinKind::Left && keeps_query(&outer.left);
    }
    matches!(node, Node::Derived(_))
}

fn below(node: &mut Node) -> Result<()> {
    crate::stack::require()?;
    if let Node::From(from) = node {
        return into_queries(from);
    }
    let Node::Outer(outer) = node else { return Ok(()) };
    if outer.kind == JoinKind::Left {
        into_right(outer);
    }
    below(&mut outer.left)?;
    below(&mut outer.right)
}

/// What ON says of the right side alone decides which rows that has.
fn into_right(outer: &mut OuterJoin) {
    let right_places = Places::of(&outer.right);
    let Node::From(right) = &mut outer.right else { return };
    if right.is_forced {
        return;
    }
    let of_right = |one: &Condition| right_places.are_all_of(one) && !one.can_fail();
    let (own, on) = std::mem::take(&mut outer.conjuncts).into_iter().partition(of_right);
    outer.conjuncts = on;
    right.conjuncts.extend(Vec::<Condition>::from_iter(own));
}

/// Asks a condition of the query that all its columns are of. True if that was possible.
fn into_kept(node: &mut Node, condition: &Condition) -> Result<bool> {
    crate::stack::require()?;
    if let Node::Derived(derived) = node {
        return into_query(derived, condition);
    }
    if let Node::Outer(outer) = node {
        return Ok(outer.kind == JoinKind::Left && into_kept(&mut outer.left, condition)?);
    }
    let Node::From(from) = node else { return Ok(false) };
    let mut is_pushed = false;
    for unit in &mut from.units {
        is_pushed = is_pushed || !from.is_forced && into_kept(&mut unit.node, condition)?;
    }
    Ok(is_pushed)
}

/// The same of one query in FROM.
fn into_query(derived: &mut DerivedNode, condition: &Condition) -> Result<bool> {
    let DerivedNode {
        plan,
        captures,
        offset,
        common,
    } = derived;
    // What is captured around this FROM is not what the query captures.
    if !captures.is_empty() && captured::reads_captured(condition) {
        return Ok(false);
    }
    let (first, width) = (*offset, plan.columns.len());
    let mut own = Places::default();
    (first..first + width).for_each(|place| own.insert(place));
    if !own.are_all_of(condition) {
        return Ok(false);
    }
    let mut condition = condition.clone();
    let replacing = Replacing {
        column: &|place, column| {
            Some(Expr {
                kind: ExprKind::Column(place - first),
                ..column.clone()
            })
        },
        parameter: &|_| None,
    };
    replacing.condition(&mut condition)?;
    let is_asked = asked(&mut Arc::make_mut(plan).root, &condition)?;
    if is_asked {
        // Its rows are other rows than those of other references.
        *common = None;
    }
    Ok(is_asked)
}

/// Asks a condition on an operator's rows below it. True if that was possible.
fn asked(node: &mut Node, condition: &Condition) -> Result<bool> {
    crate::stack::require()?;
    cancel::spend(1)?;
    if let Node::From(from) = node {
        from.conjuncts.push(condition.clone());
        return Ok(true);
    }
    if let Node::Project(project) = node {
        let below = over(condition, &project.expressions)?;
        return below.map_or(Ok(false), |below| asked(&mut project.input, &below));
    }
    if let Node::Sort(SortNode { input, .. }) | Node::Filter(FilterNode { input, .. }) = node {
        return asked(input, condition);
    }
    if let Node::Append(append) = node {
        let mut inputs = append.inputs.iter_mut();
        inputs.try_for_each(|input| asked_or_filtered(input, condition))?;
        return Ok(true);
    }
    if !tells_no_equals_apart(condition) {
        return Ok(false);
    }
    if let Node::Distinct(distinct) = node {
        let is_decided = reads_only(condition, &|place| place < distinct.columns);
        return Ok(is_decided && asked(&mut distinct.input, condition)?);
    }
    if let Node::Window(window) = node {
        let is_key = |place: usize| window.calls.iter().all(|call| divides_by(call, place));
        return Ok(reads_only(condition, &is_key) && asked(&mut window.input, condition)?);
    }
    if let Node::SetOperation(operation) = node {
        asked_or_filtered(&mut operation.left, condition)?;
        asked_or_filtered(&mut operation.right, condition)?;
        return Ok(true);
    }
    let Node::Aggregate(AggregateNode { input, keys, sets, .. }) = node else {
        return Ok(false);
    };
    // Without keys there is a row even of nothing.
    let below = match !keys.is_empty() && sets.is_empty() {
        true => over(condition, keys)?,
        false => None,
    };
    below.map_or(Ok(false), |below| asked(input, &below))
}

fn asked_or_filtered(node: &mut Node, condition: &Condition) -> Result<()> {
    if asked(node, condition)? {
        return Ok(());
    }
    let input = Box::new(std::mem::replace(node, Node::Empty));
    *node = Node::Filter(FilterNode {
        input,
        condition: condition.clone(),
    });
    Ok(())
}

/// A condition with expressions in place of the columns that it reads; none if one is missing, may fail or differ, or is large.
fn over(condition: &Condition, expressions: &[Expr]) -> Result<Option<Condition>> {
    let is_fit = |place: usize| {
        expressions
            .get(place)
            .is_some_and(|one| !one.can_fail() && is_repeatable(one))
    };
    let mut nodes = 0;
    condition.for_each_column(&mut |place| nodes += expressions.get(place).map_or(0, |one| size(one, NODES_MAX)));
    if nodes > NODES_MAX || !reads_only(condition, &is_fit) {
        return Ok(None);
    }
    let mut condition = condition.clone();
    let replacing = Replacing {
        column: &|place, _| expressions.get(place).cloned(),
        parameter: &|_| None,
    };
    replacing.condition(&mut condition)?;
    Ok(Some(condition))
}

fn reads_only(condition: &Condition, is_in: &dyn Fn(usize) -> bool) -> bool {
    let mut only = true;
    condition.for_each_column(&mut |place| only = only && is_in(place));
    only
}

/// Whether a window function takes rows together only if they have one value at a place.
fn divides_by(call: &WindowCall, place: usize) -> bool {
    let mut keys = call.partition.iter();
    keys.any(|key| matches!(key.kind, ExprKind::Column(other) if other == place))
}

/// Whether a condition comes out the same for rows whose columns compare as equal.
fn tells_no_equals_apart(condition: &Condition) -> bool {
    match condition {
        Condition::Constant(_) => true,
        Condition::And(parts) | Condition::Or(parts) => parts.iter().all(tells_no_equals_apart),
        Condition::Not(inner) => tells_no_equals_apart(inner),
        Condition::Compare { left, right, .. } | Condition::IsDistinct(left, right) => {
            [left, right].into_iter().all(is_decided_by_value)
        }
        Condition::In { operand, list } => is_decided_by_value(operand) && list.iter().all(is_decided_by_value),
        Condition::IsNull(operand) => is_decided_by_value(operand),
        _ => false,
    }
}

/// Whether an expression is a column, or computed from columns whose equal values are the same.
fn is_decided_by_value(expression: &Expr) -> bool {
    matches!(expression.kind, ExprKind::Column(_)) || !reads_strings(expression)
}

fn reads_strings(expression: &Expr) -> bool {
    let mut reads = matches!(expression.kind, ExprKind::Column(_))
        && (expression.sql_type.is_character() || expression.sql_type.is_binary());
    expression.for_each_child(&mut |child| reads = reads || reads_strings(child));
    reads
}

#[cfg(test)]
mod tests {
    use engine::types::{Length, SqlType, Value};

    use super::*;
    use crate::ast::ComparisonOperator;

    #[test]
    fn what_tells_equal_strings_apart_does_not_go_below_groups() {
        let name = || Expr::column(0, SqlType::VarChar(Length::Limited(10)), true);
        let text = |text: &str| Expr::constant(Value::from(text), SqlType::VarChar(Length::Limited(10)));
        let equal = |left: Expr, right: Expr| Condition::Compare {
            operator: ComparisonOperator::Equal,
            left,
            right,
        };
        let like = Condition::Like {
            operand: name(),
            pattern: text("a%"),
            escape: None,
        };
        let other_collation = Expr::new(
            ExprKind::Collate(Box::new(name())),
            SqlType::VarChar(Length::Limited(10)),
        );
        assert!(tells_no_equals_apart(&equal(name(), text("a"))));
        assert!(!tells_no_equals_apart(&like));
        assert!(!tells_no_equals_apart(&equal(other_collation, text("a"))));
    }
}
