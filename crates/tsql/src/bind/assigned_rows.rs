//! `SELECT @v = ...`: values are computed row by row, after everything that decides the rows and their order.
//!
//! ```text
//! select @s = @s + x from t order by y
//!   Sort(Project(FROM: @s + x, y))     every row would see the initial value of @s
//!   Sort(Project(FROM: *, y))          and @s + x for each of its rows, after the previous row's assignments
//! ```
//! "If a SELECT statement returns more than one row and the variable references a nonscalar expression, the variable is set to the value
//! returned for the expression in the last row of the result set" (sql-docs, SELECT @local_variable). Under DISTINCT the values themselves
//! determine the rows, so they are computed first.

use engine::types::SqlType;

use crate::plan::{Expr, Node, ProjectNode, QueryPlan, SortKey, SortNode, TopNode};

/// What the first columns of a plan hold, as expressions over the rows that the plan produces afterwards.
pub(super) fn lift_values(plan: &mut QueryPlan) -> Vec<Expr> {
    let mut lifted = Lifted {
        count: plan.columns.len(),
        ..Lifted::default()
    };
    if lifted.lift(&mut plan.root) {
        plan.width = lifted.width;
        return lifted.values;
    }
    let columns = plan.columns.iter().enumerate();
    columns.map(|(index, column)| column.expression(index)).collect()
}

#[derive(Default)]
struct Lifted {
    /// How many columns hold values.
    count: usize,
    values: Vec<Expr>,
    /// The columns that the rows are ordered by, each with its place in the row as it becomes.
    keys: Vec<(usize, usize)>,
    /// The width of that row.
    width: usize,
}

impl Lifted {
    /// Makes a projection pass its input on; false for a plan that has none where it could be.
    fn lift(&mut self, node: &mut Node) -> bool {
        if let Node::Slice(slice) = node {
            return self.lift(&mut slice.input);
        }
        if let Node::Sort(SortNode { input, width, keys, .. }) = node {
            return self.lift_below(input, keys, width);
        }
        if let Node::Top(TopNode { input, width, top }) = node {
            return self.lift_below(input, top.ties.as_deref_mut().unwrap_or_default(), width);
        }
        let Node::Project(ProjectNode {
            input_width,
            expressions,
            ..
        }) = node
        else {
            return false;
        };
        let computed = std::mem::take(expressions);
        // The type of a column that is only passed on does not matter.
        let passed_on = |index| Expr::column(index, SqlType::Int, true);
        expressions.extend((0..*input_width).map(passed_on));
        for (column, place) in &mut self.keys {
            *place = expressions.len();
            expressions.extend(computed.get(*column).cloned());
        }
        self.values = computed.into_iter().take(self.count).collect();
        self.width = expressions.len();
        true
    }

    fn lift_below(&mut self, input: &mut Node, keys: &mut [SortKey], width: &mut usize) -> bool {
        self.keys.extend(keys.iter().map(|key| (key.column, key.column)));
        if !self.lift(input) {
            return false;
        }
        *width = self.width;
        for key in keys {
            let place = self.keys.iter().find(|(column, _)| *column == key.column);
            key.column = place.map_or(key.column, |(_, place)| *place);
        }
        true
    }
}
