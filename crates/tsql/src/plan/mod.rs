//! Bound queries: every name resolved, every type known, every conversion explicit.
//!
//! A plan is immutable, shared between executions and free of references to a session. Rows of one SELECT are in one *wide row*: every
//! source of FROM owns a range of it and writes its columns there in place, so that a join copies nothing. Aggregation and projection begin
//! a new row.
//!
//! Invariant: the operands of an [`ExprKind::Arithmetic`] and of a [`Condition::Compare`] already have the types the
//! operation works on; evaluation never converts on its own.

mod calls;
mod columns;
mod common;
mod computed;
mod condition;
mod expression;
mod failing;
mod firing;
mod function;
mod held;
mod hints;
mod join;
mod kept_view;
mod label;
mod list;
mod locking;
mod node;
mod origin;
mod parts;
mod pointed;
mod rows;
mod seek;
mod serialized;
mod shape;
mod source;
mod target;

pub use crate::scalar::{Conflict, Label};
pub use common::{CommonTable, CommonUse};
pub use computed::{ComputedTarget, VirtualColumn};
pub use condition::{Condition, Quantifier};
pub use expression::{Expr, ExprKind, Subquery};
pub(crate) use failing::is_widening;
pub use firing::{ChangedRows, Fired, FiredEvent, Firing};
pub use function::{Call, FunctionRows, Implementation, RowCall, RowFunction, RowSource};
pub use held::{arguments_in_parts, hold_long_columns, hold_long_columns_of_update};
pub use hints::{Access, Aging, GroupMethod, JoinMethods};
pub use join::{FromNode, FromUnit, JoinKind, JoinMethod, JoinNode, OuterJoin, Ranges};
pub use kept_view::{KeptColumn, KeptView};
pub use label::{label_of, unified};
pub use list::{ListedValues, Searched};
pub use locking::{Locking, SnapshotOf, TableLocks};
pub use node::{Node, QueryPlan};
pub use origin::Origin;
pub use parts::{Part, PartMut};
pub use pointed::find_pointed;
pub use rows::{
    AggregateCall, AggregateFunction, AggregateNode, AppendNode, ArrangeNode, DistinctNode, FilterNode, ProjectNode,
    SetKind, SetOperationNode, SliceNode, SortKey, SortNode, TopCount, TopNode, WindowArrival, WindowBound, WindowCall,
    WindowFrame, WindowFunction, WindowNode,
};
pub use seek::{IndexSeek, SeekEnd, SeekKey, SeekRange};
pub use serialized::{
    ExplicitForm, ExplicitItem, ExplicitTag, JsonContent, JsonForm, JsonLevel, JsonMember, SerializeNode,
    SerializedForm, WrittenColumn, XmlForm, XmlItem, XmlLevel,
};
pub use shape::{Below, OwnPlaces, Shape};
pub use source::{
    BoundTable, CursorScan, DerivedNode, FunctionNode, ModuleNode, RecursiveNode, RoundNode, SampleSize, SampledPages,
    ScanNode, TextRow, ValuesNode, VariableNode, ViewNode,
};
pub use target::{
    Assignment, BoundOutput, Cascade, CascadeAction, Check, OutputTarget, PeriodTarget, Reference, RowAction, Target,
    TargetColumn, TargetColumns, ViewTarget,
};
