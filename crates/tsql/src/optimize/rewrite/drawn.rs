//! Derives a condition on one source from an OR over several sources, if it filters rows before the join.
//!
//! ```text
//! from n, m where (n.a = 1 and m.a = 2) or (n.a = 2 and m.a = 1)      and (n.a = 1 or n.a = 2) and (m.a = 2 or m.a = 1)
//! ```
//! `optimize/alternatives.rs` derives the conditions. This rule applies only to sources that are not on the right side of an outer join;
//! for those, the condition would be tested above the join, like the OR. Captures of a subquery do not allow a search, so no condition is
//! derived from them.

use engine::error::Result;

use super::captured;
use super::places::Places;
use crate::optimize::alternatives;
use crate::plan::{Condition, FromNode, JoinKind, Node};

/// Adds to the conditions of a FROM, and of those in parentheses below it, what they say of single sources.
///
/// # Errors
/// 8631 and 3617.
pub(super) fn from_alternatives(from: &mut FromNode) -> Result<()> {
    crate::stack::require()?;
    for unit in &mut from.units {
        below(&mut unit.node)?;
    }
    if !from.conjuncts.iter().any(|one| matches!(one, Condition::Or(_))) {
        return Ok(());
    }
    let mut sources = Vec::new();
    from.units.iter().for_each(|unit| kept(&unit.node, &mut sources));
    let mut added: Vec<Condition> = Vec::new();
    for condition in &from.conjuncts {
        if !matches!(condition, Condition::Or(_)) {
            continue;
        }
        for source in &sources {
            if !source.meet_condition(condition) || source.are_all_of(condition) {
                continue;
            }
            let is_own = |one: &Condition| source.are_all_of(one) && !captured::reads_captured(one);
            if let Some(own) = alternatives::drawn(condition, &is_own)?
                && !from.conjuncts.iter().chain(&added).any(|other| other.same_as(&own))
            {
                added.push(own);
            }
        }
    }
    from.conjuncts.append(&mut added);
    Ok(())
}

fn below(node: &mut Node) -> Result<()> {
    if let Node::From(from) = node
        && !from.is_forced
    {
        return from_alternatives(from);
    }
    if let Node::Outer(outer) = node
        && outer.kind == JoinKind::Left
    {
        crate::stack::require()?;
        below(&mut outer.left)?;
        below(&mut outer.right)?;
    }
    Ok(())
}

/// The places of each source whose rows are all kept.
fn kept(node: &Node, sources: &mut Vec<Places>) {
    if let Node::From(from) = node {
        from.units.iter().for_each(|unit| kept(&unit.node, sources));
    } else if let Node::Outer(outer) = node {
        if outer.kind == JoinKind::Left {
            kept(&outer.left, sources);
        }
    } else {
        sources.push(Places::of(node));
    }
}
