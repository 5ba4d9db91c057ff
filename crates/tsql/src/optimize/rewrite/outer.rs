//! Outer joins that can be simplified.
//!
//! ```text
//! a left join b on p where b.x = 1           a, b where p and b.x = 1
//! a full join b on p where a.x = 1           a left join b on p where a.x = 1
//! a left join b on false                     a, with NULL for the columns of b
//! a left join b on b.key = a.x, b not read   a
//! ```
//!
//! A join stays unchanged if a condition that may fail would otherwise be tested for additional rows.

use std::collections::BTreeMap;

use engine::cancel;
use engine::error::Result;
use engine::types::{SqlType, Value};

use super::change::{Change, Uses};
use super::nulls;
use super::places::Places;
use crate::plan::{Condition, Expr, ExprKind, FromNode, FromUnit, JoinKind, JoinMethods, Locking, Node, OuterJoin};

/// Makes inner joins of outer ones whose rows without partner are left out.
///
/// # Errors
/// 8631 and 3617.
pub(super) fn to_inner(from: &mut FromNode) -> Result<()> {
    from_to_inner(from, &[])
}

fn from_to_inner(from: &mut FromNode, around: &[Condition]) -> Result<()> {
    crate::stack::require()?;
    if from.is_forced
        || !from
            .units
            .iter()
            .any(|unit| matches!(unit.node, Node::Outer(_) | Node::From(_)))
    {
        return Ok(());
    }
    let mut position = 0;
    while let Some(unit) = from.units.get_mut(position) {
        cancel::spend(1)?;
        if let Node::Outer(outer) = &mut unit.node {
            let conditions: Vec<Condition> = around.iter().chain(&from.conjuncts).cloned().collect();
            simplify(outer, &conditions);
            if outer.kind == JoinKind::Inner {
                let Node::Outer(outer) = std::mem::replace(&mut unit.node, Node::Single) else {
                    return Ok(());
                };
                dissolve(from, position, *outer);
                // What ON says may decide about joins that stand before it.
                position = 0;
                continue;
            }
            below(outer, &conditions)?;
        } else if let Node::From(inner) = &mut unit.node
            && !inner.is_forced
        {
            let inner = std::mem::take(&mut **inner);
            from.conjuncts.extend(inner.conjuncts);
            from.units.splice(position..=position, inner.units);
            continue;
        }
        position += 1;
    }
    Ok(())
}

fn below(outer: &mut OuterJoin, conditions: &[Condition]) -> Result<()> {
    let (left, right): (&[Condition], &[Condition]) = match outer.kind {
        JoinKind::Left => (conditions, &outer.conjuncts),
        _ => (&[], &[]),
    };
    if let Node::From(inner) = &mut outer.left {
        from_to_inner(inner, left)?;
    }
    if let Node::From(inner) = &mut outer.right {
        from_to_inner(inner, right)?;
    }
    Ok(())
}

/// Gives a join the kind that the conditions above it leave.
fn simplify(outer: &mut OuterJoin, conditions: &[Condition]) {
    let is_plain =
        matches!(outer.kind, JoinKind::Left | JoinKind::Full) && !outer.conjuncts.iter().any(Condition::can_fail);
    if !is_plain || outer.methods != JoinMethods::ANY {
        return;
    }
    let needs = |side: &Node| {
        let places = Places::of(side);
        let is_risky = |one: &Condition| one.can_fail() && places.meet_condition(one);
        let mut all = conditions.iter();
        !conditions.iter().any(is_risky) && all.any(|one| nulls::rejects(one, &|place| places.contains(place)))
    };
    let needs_right = needs(&outer.right);
    let needs_left = outer.kind == JoinKind::Full && needs(&outer.left);
    outer.kind = match (outer.kind, needs_left, needs_right) {
        (JoinKind::Left, _, true) | (JoinKind::Full, true, true) => JoinKind::Inner,
        (JoinKind::Full, true, false) => JoinKind::Left,
        (JoinKind::Full, false, true) => {
            std::mem::swap(&mut outer.left, &mut outer.right);
            JoinKind::Left
        }
        (kind, ..) => kind,
    };
}

/// Puts the sides of an inner join among the units of FROM.
fn dissolve(from: &mut FromNode, position: usize, outer: OuterJoin) {
    let mut units = Vec::new();
    for (mut side, lateral) in [(outer.left, false), (outer.right, outer.lateral)] {
        if matches!(&side, Node::From(inner) if inner.is_forced) {
            units.push(unit_of(side, lateral));
            continue;
        }
        match side.take_from() {
            Some(inner) => {
                units.extend(inner.units);
                from.conjuncts.extend(inner.conjuncts);
            }
            None => units.push(unit_of(side, lateral)),
        }
    }
    from.conjuncts.extend(outer.conjuncts);
    from.units.splice(position..=position, units);
}

fn unit_of(node: Node, lateral: bool) -> FromUnit {
    FromUnit {
        node,
        lateral,
        methods: JoinMethods::ANY,
    }
}

/// Joins whose right side never has a partner: its columns are NULL.
///
/// # Errors
/// 8631 and 3617.
pub(super) fn without_partner(from: &mut FromNode) -> Result<Option<Change>> {
    let mut replaced = BTreeMap::new();
    for unit in &mut from.units {
        drop_empty(&mut unit.node, &mut replaced)?;
    }
    if replaced.is_empty() {
        return Ok(None);
    }
    let change = Change::new(replaced, from.width);
    from.units.iter_mut().try_for_each(|unit| change.tree(&mut unit.node))?;
    from.conjuncts.iter_mut().try_for_each(|one| change.condition(one))?;
    Ok(Some(change))
}

fn is_false(conditions: &[Condition]) -> bool {
    let mut all = conditions.iter();
    all.any(|one| matches!(one, Condition::Constant(truth) if *truth != Some(true)))
}

fn drop_empty(node: &mut Node, replaced: &mut BTreeMap<usize, Expr>) -> Result<()> {
    crate::stack::require()?;
    if let Node::From(from) = node {
        let mut units = from.units.iter_mut();
        return units.try_for_each(|unit| drop_empty(&mut unit.node, replaced));
    }
    let Node::Outer(outer) = node else { return Ok(()) };
    if outer.kind != JoinKind::Left {
        return Ok(());
    }
    let is_empty =
        is_false(&outer.conjuncts) || matches!(&outer.right, Node::From(right) if is_false(&right.conjuncts));
    if !is_empty {
        drop_empty(&mut outer.left, replaced)?;
        return drop_empty(&mut outer.right, replaced);
    }
    let null = || Expr::constant(Value::Null, SqlType::Int);
    replaced.extend(Places::of(&outer.right).iter().map(|place| (place, null())));
    *node = std::mem::replace(&mut outer.left, Node::Single);
    drop_empty(node, replaced)
}

/// Leaves out joins that nothing is read of and that find at most one row: those by a unique key.
///
/// # Errors
/// 8631.
pub(super) fn drop_unread(from: &mut FromNode, above: &Uses) -> Result<()> {
    if !from.units.iter().any(|unit| matches!(unit.node, Node::Outer(_))) {
        return Ok(());
    }
    let mut uses = above.clone();
    for unit in &from.units {
        uses.add_tree(&unit.node)?;
    }
    from.conjuncts.iter().for_each(|one| uses.add_condition(one, 1));
    from.units
        .iter_mut()
        .try_for_each(|unit| drop_below(&mut unit.node, &mut uses))
}

fn drop_below(node: &mut Node, uses: &mut Uses) -> Result<()> {
    crate::stack::require()?;
    if let Node::From(from) = node {
        let mut units = from.units.iter_mut();
        return match from.is_forced {
            true => Ok(()),
            false => units.try_for_each(|unit| drop_below(&mut unit.node, uses)),
        };
    }
    let Node::Outer(outer) = node else { return Ok(()) };
    if outer.kind != JoinKind::Left {
        return Ok(());
    }
    if !is_unread(outer, uses) {
        return drop_below(&mut outer.left, uses);
    }
    outer.conjuncts.iter().for_each(|one| uses.remove_condition(one));
    *node = std::mem::replace(&mut outer.left, Node::Single);
    drop_below(node, uses)
}

/// Whether a join answers every left row once, and nothing but itself reads the right side.
fn is_unread(outer: &OuterJoin, uses: &Uses) -> bool {
    let Node::From(right) = &outer.right else { return false };
    let [
        FromUnit {
            node: Node::Scan(scan), ..
        },
    ] = right.units.as_slice()
    else {
        return false;
    };
    let conditions = || outer.conjuncts.iter().chain(&right.conjuncts);
    if scan.locking != Locking::default() || conditions().any(Condition::can_fail) {
        return false;
    }
    let places = Places::of(&outer.right);
    let mut own = Uses::default();
    conditions().for_each(|one| own.add_condition(one, 1));
    if places.iter().any(|place| uses.of(place) > own.of(place)) {
        return false;
    }
    let keys: Vec<usize> = conditions().filter_map(|one| given_place(one, &places)).collect();
    let mut indexes = scan.table.table.definition().indexes.iter();
    indexes.any(|index| {
        index.is_unique_of_all()
            && index
                .keys
                .iter()
                .all(|(column, _)| keys.contains(&(scan.offset + column)))
    })
}

/// The place of a column that a condition sets equal to what does not depend on its table.
fn given_place(condition: &Condition, places: &Places) -> Option<usize> {
    let (left, right) = condition.equal_sides()?;
    let of = |own: &Expr, other: &Expr| match own.kind {
        ExprKind::Column(place) if places.contains(place) && !places.meet(other) => Some(place),
        _ => None,
    };
    of(left, right).or_else(|| of(right, left))
}
