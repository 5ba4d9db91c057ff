//! Indexed views that a change of rows keeps right, as the plan of the change carries them.

use std::sync::Arc;

use super::{BoundTable, QueryPlan};
use crate::modules::TableVariableShape;

/// An indexed view that reads the target of a change. A target that no such view reads has none of them, and pays nothing.
///
/// Invariant: it is as current as the target's definition, which names the views that read it; whatever makes or drops the clustered index of
/// a view changes that.
#[derive(Clone, Debug)]
pub struct KeptView {
    /// The rows that the view's indexes hold.
    pub rows: Arc<BoundTable>,
    /// The view's query with the changed rows, the first table variable, in place of the target, and before its rows are grouped: its columns
    /// are those of the view, with what is summed in place of a sum.
    pub parts: Arc<QueryPlan>,
    /// What the changed rows look like: all columns of the target.
    pub changed: Arc<TableVariableShape>,
    /// What each column of the view is.
    pub columns: Vec<KeptColumn>,
}

/// A column of an indexed view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptColumn {
    /// As its query computes it from one row of the tables; a column of the group where rows are grouped.
    Value,
    /// `COUNT_BIG(*)`
    Count,
    /// `SUM` of what is never NULL.
    Sum,
}

impl KeptView {
    /// Whether rows of the tables are grouped to rows of the view.
    pub fn is_grouped(&self) -> bool {
        self.columns.contains(&KeptColumn::Count)
    }
}
