//! The parts of an operator: the only walk that knows every operator, read-only ([`Node::parts`]) and mutable ([`Node::parts_mut`]). All
//! other code that walks plans uses it.
//!
//! Both are generated from one definition, so neither can visit a part that the other misses. Expressions and conditions come before the
//! operators below.

use std::sync::Arc;

use super::{
    AggregateCall, AggregateNode, AppendNode, ArrangeNode, Condition, DerivedNode, DistinctNode, Expr, FilterNode,
    FunctionNode, IndexSeek, ModuleNode, Node, ProjectNode, QueryPlan, RecursiveNode, SeekEnd, SeekKey, SeekRange,
    SetOperationNode, SliceNode, SortNode, TopNode, ValuesNode, ViewNode, WindowNode,
};
use super::{WindowCall, WindowFunction};

/// A part directly inside an operator.
#[derive(Clone, Copy, Debug)]
pub enum Part<'n> {
    /// An operator below, over the same row or another.
    Node(&'n Node),
    /// An operator below whose rows are its own, as those of a query are.
    Apart(&'n Node),
    /// A query below, whose rows are its own.
    Plan(&'n Arc<QueryPlan>),
    /// An expression over the rows that the operator reads.
    Expression(&'n Expr),
    /// A condition, likewise.
    Condition(&'n Condition),
    /// The condition that a semi or anti join stands for, and which may be asked in its place.
    Written(&'n Condition),
}

/// A part directly inside an operator, to be changed.
#[derive(Debug)]
pub enum PartMut<'n> {
    /// As [`Part::Node`].
    Node(&'n mut Node),
    /// As [`Part::Apart`].
    Apart(&'n mut Node),
    /// As [`Part::Plan`].
    Plan(&'n mut Arc<QueryPlan>),
    /// As [`Part::Expression`].
    Expression(&'n mut Expr),
    /// As [`Part::Condition`].
    Condition(&'n mut Condition),
    /// As [`Part::Written`].
    Written(&'n mut Condition),
}

/// Makes a walk over borrowed parts, or, with `mut`, over parts to be changed.
macro_rules! walk {
    ($walk:ident, $walk_seek:ident, $walk_range:ident, $walk_aggregate:ident, $walk_window:ident, $part:ident, $($m:tt)?) => {
        fn $walk<'n, E>(
            node: &'n $($m)? Node,
            visit: &mut dyn FnMut($part<'n>) -> Result<(), E>,
        ) -> Result<(), E> {
            match node {
                Node::Single | Node::Empty | Node::Variable(_) | Node::Round(_) => {}
                Node::Values(ValuesNode { rows, .. }) => {
                    for row in rows {
                        for value in row {
                            visit($part::Expression(value))?;
                        }
                    }
                }
                Node::View(ViewNode { arguments, .. })
                | Node::Module(ModuleNode { arguments, .. })
                | Node::Function(FunctionNode { arguments, .. }) => {
                    for argument in arguments {
                        visit($part::Expression(argument))?;
                    }
                }
                Node::Scan(scan) => {
                    if let Some(row) = & $($m)? scan.text_row {
                        visit($part::Expression(& $($m)? row.pointer))?;
                    }
                    if let Some(seek) = & $($m)? scan.seek {
                        $walk_seek(seek, &mut |value| visit($part::Expression(value)))?;
                    }
                }
                Node::Derived(DerivedNode { plan, captures, .. }) => {
                    for capture in captures {
                        visit($part::Expression(capture))?;
                    }
                    visit($part::Plan(plan))?;
                }
                Node::Recursive(RecursiveNode { anchor, step, .. }) => {
                    visit($part::Plan(anchor))?;
                    visit($part::Apart(step))?;
                }
                Node::From(from) => {
                    for conjunct in & $($m)? from.conjuncts {
                        visit($part::Condition(conjunct))?;
                    }
                    for unit in & $($m)? from.units {
                        visit($part::Node(& $($m)? unit.node))?;
                    }
                }
                Node::Outer(join) => {
                    for conjunct in & $($m)? join.conjuncts {
                        visit($part::Condition(conjunct))?;
                    }
                    if let Some(written) = & $($m)? join.written {
                        visit($part::Written(written))?;
                    }
                    visit($part::Node(& $($m)? join.left))?;
                    visit($part::Node(& $($m)? join.right))?;
                }
                Node::Join(join) => {
                    for (left, right) in & $($m)? join.keys {
                        visit($part::Expression(left))?;
                        visit($part::Expression(right))?;
                    }
                    visit($part::Condition(& $($m)? join.residual))?;
                    visit($part::Node(& $($m)? join.left))?;
                    visit($part::Node(& $($m)? join.right))?;
                }
                Node::SetOperation(SetOperationNode { left, right, .. }) => {
                    visit($part::Node(left))?;
                    visit($part::Node(right))?;
                }
                Node::Append(AppendNode { inputs, .. }) => {
                    for input in inputs {
                        visit($part::Node(input))?;
                    }
                }
                Node::Arrange(ArrangeNode { input, keys, .. }) => {
                    for key in keys {
                        visit($part::Expression(key))?;
                    }
                    visit($part::Node(input))?;
                }
                Node::Aggregate(AggregateNode { input, keys, aggregates, .. }) => {
                    for key in keys {
                        visit($part::Expression(key))?;
                    }
                    for call in aggregates {
                        $walk_aggregate(call, visit)?;
                    }
                    visit($part::Node(input))?;
                }
                Node::Window(WindowNode { input, calls, arrival, .. }) => {
                    for call in calls {
                        $walk_window(call, visit)?;
                    }
                    if let Some(arrival) = arrival {
                        for key in & $($m)? arrival.together {
                            visit($part::Expression(key))?;
                        }
                    }
                    visit($part::Node(input))?;
                }
                Node::Filter(FilterNode { input, condition }) => {
                    visit($part::Condition(condition))?;
                    visit($part::Node(input))?;
                }
                Node::Project(ProjectNode { input, expressions, .. }) => {
                    for expression in expressions {
                        visit($part::Expression(expression))?;
                    }
                    visit($part::Node(input))?;
                }
                Node::Top(TopNode { input, top, .. }) => {
                    visit($part::Expression(& $($m)? top.count))?;
                    visit($part::Node(input))?;
                }
                Node::Slice(SliceNode { input, offset, fetch }) => {
                    visit($part::Expression(offset))?;
                    if let Some(fetch) = fetch {
                        visit($part::Expression(fetch))?;
                    }
                    visit($part::Node(input))?;
                }
                Node::Serialize(serialize) => visit($part::Node(& $($m)? serialize.input))?,
                Node::Distinct(DistinctNode { input, .. }) | Node::Sort(SortNode { input, .. }) => visit($part::Node(input))?,
            }
            Ok(())
        }

        fn $walk_seek<'n, E>(
            seek: &'n $($m)? IndexSeek,
            visit: &mut dyn FnMut(&'n $($m)? Expr) -> Result<(), E>,
        ) -> Result<(), E> {
            for range in & $($m)? seek.ranges {
                $walk_range(range, visit)?;
            }
            for other in & $($m)? seek.union {
                $walk_seek(other, visit)?;
            }
            Ok(())
        }

        fn $walk_range<'n, E>(
            range: &'n $($m)? SeekRange,
            visit: &mut dyn FnMut(&'n $($m)? Expr) -> Result<(), E>,
        ) -> Result<(), E> {
            for key in & $($m)? range.equal {
                match key {
                    SeekKey::Value(value) => visit(value)?,
                    SeekKey::Null => {}
                }
            }
            match & $($m)? range.end {
                SeekEnd::All | SeekEnd::NotNull => {}
                SeekEnd::Between { low, high } => {
                    for (bound, _) in [low, high].into_iter().flatten() {
                        visit(bound)?;
                    }
                }
                SeekEnd::Prefix { pattern, escape } => {
                    visit(pattern)?;
                    if let Some(escape) = escape {
                        visit(escape)?;
                    }
                }
            }
            Ok(())
        }

        fn $walk_aggregate<'n, E>(
            call: &'n $($m)? AggregateCall,
            visit: &mut dyn FnMut($part<'n>) -> Result<(), E>,
        ) -> Result<(), E> {
            if let Some(value) = & $($m)? call.argument {
                visit($part::Expression(value))?;
            }
            if let Some(separator) = & $($m)? call.separator {
                visit($part::Expression(separator))?;
            }
            for (key, _) in & $($m)? call.order {
                visit($part::Expression(key))?;
            }
            Ok(())
        }

        fn $walk_window<'n, E>(
            call: &'n $($m)? WindowCall,
            visit: &mut dyn FnMut($part<'n>) -> Result<(), E>,
        ) -> Result<(), E> {
            match & $($m)? call.function {
                WindowFunction::Tile(value) | WindowFunction::First(value) | WindowFunction::Last(value) => {
                    visit($part::Expression(value))?;
                }
                WindowFunction::Percentile { fraction, value, .. } => {
                    visit($part::Expression(fraction))?;
                    visit($part::Expression(value))?;
                }
                WindowFunction::Neighbour { value, offset, default, .. } => {
                    visit($part::Expression(value))?;
                    visit($part::Expression(offset))?;
                    if let Some(default) = default {
                        visit($part::Expression(default))?;
                    }
                }
                WindowFunction::Aggregate(call) => $walk_aggregate(call, visit)?,
                WindowFunction::RowNumber
                | WindowFunction::Rank
                | WindowFunction::DenseRank
                | WindowFunction::PercentRank
                | WindowFunction::CumulativeDistribution => {}
            }
            for key in & $($m)? call.partition {
                visit($part::Expression(key))?;
            }
            for (key, _) in & $($m)? call.order {
                visit($part::Expression(key))?;
            }
            Ok(())
        }
    };
}

walk!(walk, walk_seek, walk_range, walk_aggregate, walk_window, Part,);
walk!(
    walk_mut,
    walk_seek_mut,
    walk_range_mut,
    walk_aggregate_mut,
    walk_window_mut,
    PartMut,
    mut
);

impl Node {
    /// Calls `visit` for everything directly inside, expressions and conditions before the operators below.
    ///
    /// # Errors
    /// The first error of `visit`.
    pub fn parts<'n, E>(&'n self, visit: &mut dyn FnMut(Part<'n>) -> Result<(), E>) -> Result<(), E> {
        walk(self, visit)
    }

    /// As [`Node::parts`], for changing them in place.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn parts_mut<'n, E>(&'n mut self, change: &mut dyn FnMut(PartMut<'n>) -> Result<(), E>) -> Result<(), E> {
        walk_mut(self, change)
    }

    /// Whether something holds of a part directly inside. Nothing is asked of those behind the first that it holds of.
    pub fn has_part(&self, is: &mut dyn FnMut(Part<'_>) -> bool) -> bool {
        let all_are_other = self.parts(&mut |part| match is(part) {
            true => Err(()),
            false => Ok(()),
        });
        all_are_other.is_err()
    }

    /// As [`Node::has_part`], of what may fail to answer.
    ///
    /// # Errors
    /// The first error of `is`.
    pub fn has_part_that<E>(&self, is: &mut dyn FnMut(Part<'_>) -> Result<bool, E>) -> Result<bool, E> {
        let mut found = false;
        self.parts(&mut |part| {
            found = found || is(part)?;
            Ok(())
        })?;
        Ok(found)
    }

    /// The operators directly below, roots of queries among them.
    pub fn inputs(&self) -> Vec<&Node> {
        let mut inputs = Vec::new();
        let Ok(()) = self.parts::<std::convert::Infallible>(&mut |part| {
            match part {
                Part::Node(below) | Part::Apart(below) => inputs.push(below),
                Part::Plan(plan) => inputs.push(&plan.root),
                Part::Expression(_) | Part::Condition(_) | Part::Written(_) => {}
            }
            Ok(())
        });
        inputs
    }
}

impl IndexSeek {
    /// Calls `visit` for every expression in it.
    pub fn for_each_expression<'s>(&'s self, visit: &mut dyn FnMut(&'s Expr)) {
        let Ok(()) = walk_seek::<std::convert::Infallible>(self, &mut |value| {
            visit(value);
            Ok(())
        });
    }
}
