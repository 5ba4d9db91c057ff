//! What an operator consists of, for whoever changes plans in place: one walk that knows every operator.

use std::sync::Arc;

use super::{AggregateCall, Condition, Expr, IndexSeek, Node, QueryPlan, WindowCall, WindowFunction};

/// A part directly inside an operator.
pub enum Part<'n> {
    /// An operator below, over the same row or another.
    Node(&'n mut Node),
    /// A query below, whose rows are its own.
    Plan(&'n mut Arc<QueryPlan>),
    /// An expression over the rows that the operator reads.
    Expression(&'n mut Expr),
    /// A condition, likewise.
    Condition(&'n mut Condition),
}

type Change<'c, E> = dyn FnMut(Part<'_>) -> Result<(), E> + 'c;

fn expressions<'e, E>(all: impl IntoIterator<Item = &'e mut Expr>, change: &mut Change<'_, E>) -> Result<(), E> {
    all.into_iter().try_for_each(|one| change(Part::Expression(one)))
}

fn conditions<'e, E>(all: impl IntoIterator<Item = &'e mut Condition>, change: &mut Change<'_, E>) -> Result<(), E> {
    all.into_iter().try_for_each(|one| change(Part::Condition(one)))
}

impl Node {
    /// Calls `change` for everything directly inside, expressions and conditions before the operators below.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn change_parts<E>(&mut self, change: &mut Change<'_, E>) -> Result<(), E> {
        match self {
            Node::Single | Node::Empty | Node::Variable { .. } | Node::Round { .. } => Ok(()),
            Node::Values { rows, .. } => expressions(rows.iter_mut().flatten(), change),
            Node::View { arguments, .. } | Node::Module { arguments, .. } => expressions(arguments, change),
            Node::Scan(scan) => match &mut scan.seek {
                Some(seek) => seek.change_expressions(change),
                None => Ok(()),
            },
            Node::Derived { plan, captures, .. } => {
                expressions(captures, change)?;
                change(Part::Plan(plan))
            }
            Node::Recursive { anchor, step, .. } => {
                change(Part::Plan(anchor))?;
                change(Part::Node(step))
            }
            Node::From(_) | Node::Outer(_) | Node::Loop { .. } | Node::Hash { .. } | Node::Merge { .. } => {
                self.change_join_parts(change)
            }
            Node::Arrange { input, keys, .. } => {
                expressions(keys, change)?;
                change(Part::Node(input))
            }
            Node::SetOperation { left, right, .. } => {
                change(Part::Node(left))?;
                change(Part::Node(right))
            }
            Node::Append { inputs, .. } => inputs.iter_mut().try_for_each(|input| change(Part::Node(input))),
            Node::Aggregate {
                input,
                keys,
                aggregates,
                ..
            } => {
                expressions(keys, change)?;
                aggregates
                    .iter_mut()
                    .try_for_each(|call| call.change_expressions(change))?;
                change(Part::Node(input))
            }
            Node::Window { .. } => self.change_window_parts(change),
            Node::Filter { input, condition } => {
                change(Part::Condition(condition))?;
                change(Part::Node(input))
            }
            Node::Project {
                input,
                expressions: all,
                ..
            } => {
                expressions(all, change)?;
                change(Part::Node(input))
            }
            Node::Top { input, top, .. } => {
                change(Part::Expression(&mut top.count))?;
                change(Part::Node(input))
            }
            Node::Slice { input, offset, fetch } => {
                change(Part::Expression(offset))?;
                expressions(fetch, change)?;
                change(Part::Node(input))
            }
            Node::Distinct { input, .. } | Node::Sort { input, .. } => change(Part::Node(input)),
        }
    }

    fn change_window_parts<E>(&mut self, change: &mut Change<'_, E>) -> Result<(), E> {
        let Node::Window {
            input, calls, arrival, ..
        } = self
        else {
            return Ok(());
        };
        calls.iter_mut().try_for_each(|call| call.change_expressions(change))?;
        expressions(arrival.iter_mut().flat_map(|arrival| &mut arrival.together), change)?;
        change(Part::Node(input))
    }

    fn change_join_parts<E>(&mut self, change: &mut Change<'_, E>) -> Result<(), E> {
        match self {
            Node::From(from) => {
                conditions(&mut from.conjuncts, change)?;
                let mut units = from.units.iter_mut();
                units.try_for_each(|unit| change(Part::Node(&mut unit.node)))
            }
            Node::Outer(join) => {
                conditions(join.conjuncts.iter_mut().chain(&mut join.written), change)?;
                change(Part::Node(&mut join.left))?;
                change(Part::Node(&mut join.right))
            }
            Node::Loop {
                left, right, condition, ..
            } => {
                change(Part::Condition(condition))?;
                change(Part::Node(left))?;
                change(Part::Node(right))
            }
            Node::Hash {
                left,
                right,
                keys,
                residual,
                ..
            }
            | Node::Merge {
                left,
                right,
                keys,
                residual,
                ..
            } => {
                for (left, right) in keys {
                    change(Part::Expression(left))?;
                    change(Part::Expression(right))?;
                }
                change(Part::Condition(residual))?;
                change(Part::Node(left))?;
                change(Part::Node(right))
            }
            _ => Ok(()),
        }
    }
}

impl IndexSeek {
    fn change_expressions<E>(&mut self, change: &mut Change<'_, E>) -> Result<(), E> {
        self.change_values(&mut |value| change(Part::Expression(value)))
    }
}

impl AggregateCall {
    fn change_expressions<E>(&mut self, change: &mut Change<'_, E>) -> Result<(), E> {
        expressions(&mut self.argument, change)?;
        expressions(&mut self.separator, change)?;
        expressions(self.order.iter_mut().map(|(key, _)| key), change)
    }
}

impl WindowCall {
    fn change_expressions<E>(&mut self, change: &mut Change<'_, E>) -> Result<(), E> {
        match &mut self.function {
            WindowFunction::Tile(value) | WindowFunction::First(value) | WindowFunction::Last(value) => {
                change(Part::Expression(value))?;
            }
            WindowFunction::Neighbour {
                value, offset, default, ..
            } => {
                change(Part::Expression(value))?;
                change(Part::Expression(offset))?;
                expressions(default, change)?;
            }
            WindowFunction::Aggregate(call) => call.change_expressions(change)?,
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumulativeDistribution => {}
        }
        expressions(&mut self.partition, change)?;
        expressions(self.order.iter_mut().map(|(key, _)| key), change)
    }
}
