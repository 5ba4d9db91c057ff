//! The algebra of plans: one enum of operators, a named struct for each.
//!
//! ```text
//! source.rs   rows of its own                Single Empty Scan View Module Function Values Variable Derived Recursive Round
//! join.rs     rows of several put together   From Outer (logical), Join
//! rows.rs     rows made of others            Arrange Filter Aggregate Window Project Distinct Sort Top Slice Append SetOperation
//! serialized.rs   rows as one text                 Serialize
//! ```
//! An operator's inputs are named fields of its struct: `left`, `right`, `input`. Code that walks plans independently of the operators uses
//! [`Node::parts`] and [`Node::shape`].

use super::join::{FromNode, JoinNode, OuterJoin};
use super::rows::{
    AggregateNode, AppendNode, ArrangeNode, DistinctNode, FilterNode, ProjectNode, SetOperationNode, SliceNode,
    SortNode, TopNode, WindowNode,
};
use super::serialized::SerializeNode;
use super::source::{
    DerivedNode, FunctionNode, ModuleNode, RecursiveNode, RoundNode, ScanNode, ValuesNode, VariableNode, ViewNode,
};
use crate::sink::ResultColumn;

/// A query with its result columns.
#[derive(Clone, Debug)]
pub struct QueryPlan {
    /// Produces rows whose first columns are the result; further ones are sort keys.
    pub root: Node,
    /// Width of the rows of `root`.
    pub width: usize,
    pub columns: Vec<ResultColumn>,
}

/// An operator. Those of FROM write into ranges of the wide row; the others say what row they produce.
#[derive(Clone, Debug)]
pub enum Node {
    /// One row, without columns: SELECT without FROM.
    Single,
    /// No row at all: a condition that is never true.
    Empty,
    Scan(Box<ScanNode>),
    View(ViewNode),
    Module(ModuleNode),
    Function(FunctionNode),
    Values(ValuesNode),
    Variable(VariableNode),
    Derived(DerivedNode),
    Recursive(RecursiveNode),
    Round(RoundNode),
    /// FROM and WHERE of one SELECT. Logical: the optimizer puts operators in its place.
    From(Box<FromNode>),
    /// An outer join. Logical as well.
    Outer(Box<OuterJoin>),
    Join(Box<JoinNode>),
    Arrange(ArrangeNode),
    Filter(FilterNode),
    Aggregate(AggregateNode),
    Window(WindowNode),
    Project(ProjectNode),
    Distinct(DistinctNode),
    Sort(SortNode),
    Top(TopNode),
    Slice(SliceNode),
    Append(AppendNode),
    Serialize(Box<SerializeNode>),
    SetOperation(SetOperationNode),
}

impl Node {
    /// Takes out the FROM that it is, if it is one. An empty one stays.
    pub fn take_from(&mut self) -> Option<FromNode> {
        let Node::From(from) = self else { return None };
        Some(std::mem::take(&mut **from))
    }
}
