//! Bound statements as the input of the optimizer.

use std::sync::Arc;

use engine::error::Result;

use super::estimate::{Estimator, Expectations};
use super::trees::Stage;
use super::{Optimizer, columns, rewrite, unnest};
use crate::bind::{
    BoundCursor, BoundDelete, BoundInsert, BoundMerge, BoundQuery, BoundUpdate, ChangedRows, InsertRows, Nested,
    RowSearch,
};
use crate::plan::{BoundOutput, Condition, Expr, Node, OutputTarget, QueryPlan, TargetColumns, TopCount};

/// What was bound, and has to be made physical before it runs.
pub trait Logical {
    /// Plans all queries in it.
    ///
    /// # Errors
    /// Those of [`Optimizer::query`].
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()>;

    /// What is expected of its operators, once it is planned; nothing of what is never shown.
    fn expected(&self, _estimator: &Estimator<'_>) -> Expectations {
        Expectations::default()
    }
}

impl Logical for Expr {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        optimizer.expression(self)
    }
}

impl Logical for Condition {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        optimizer.condition(self)
    }
}

impl Logical for QueryPlan {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        optimizer.query(self)
    }
}

impl<T: Logical> Logical for Vec<T> {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        self.iter_mut().try_for_each(|one| one.optimize(optimizer))
    }
}

impl<T: Logical> Logical for Option<T> {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        self.iter_mut().try_for_each(|one| one.optimize(optimizer))
    }
}

impl Logical for TopCount {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        optimizer.expression(&mut self.count)
    }
}

impl Logical for BoundOutput {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        if let OutputTarget::Into(_, columns, _) = &mut self.target {
            queries_of_target(columns, optimizer)?;
        }
        self.expressions.optimize(optimizer)
    }
}

impl Logical for BoundQuery {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        optimizer.assigns_variables = self.assignments.is_some();
        optimizer.statement_query(&mut self.plan)?;
        let mut values = self.assignments.iter_mut().flatten();
        values.try_for_each(|(_, value)| optimizer.expression(value))
    }
}

impl Logical for BoundCursor {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        self.query.optimize(optimizer)
    }
}

impl Logical for BoundInsert {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        match &mut self.rows {
            InsertRows::Values(rows) => rows.optimize(optimizer)?,
            InsertRows::Query(plan) => optimizer.query(plan)?,
            InsertRows::Change(rows) => rows.optimize(optimizer)?,
            InsertRows::Execute => {}
        }
        queries_of_target(&mut self.columns, optimizer)?;
        self.top.optimize(optimizer)?;
        self.output.optimize(optimizer)
    }
}

impl Logical for ChangedRows {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        match &mut self.change {
            Nested::Insert(insert) => insert.optimize(optimizer)?,
            Nested::Update(update) => update.optimize(optimizer)?,
            Nested::Delete(delete) => delete.optimize(optimizer)?,
            Nested::Merge(merge) => merge.optimize(optimizer)?,
        }
        self.condition.optimize(optimizer)?;
        let mut items = self.items.iter_mut();
        items.try_for_each(|(item, _)| optimizer.expression(item))
    }
}

impl Logical for BoundUpdate {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        optimizer.assigns_variables = !self.variables.is_empty();
        let values = self.assignments.iter_mut().chain(&mut self.variables);
        for (_, value) in values {
            optimizer.expression(value)?;
        }
        self.search.optimize(optimizer)?;
        self.search.streams = self.search.streams && !searches_by(&self.search.node, &self.assignments);
        Ok(())
    }
}

impl Logical for BoundDelete {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        self.search.optimize(optimizer)
    }
}

impl Logical for BoundMerge {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        for clause in &mut self.clauses {
            clause.condition.optimize(optimizer)?;
            let mut values = clause.action.values_mut().into_iter();
            values.try_for_each(|value| optimizer.expression(value))?;
        }
        self.search.optimize(optimizer)
    }
}

impl Logical for RowSearch {
    fn optimize(&mut self, optimizer: &mut Optimizer<'_>) -> Result<()> {
        self.top.optimize(optimizer)?;
        self.output.optimize(optimizer)?;
        queries_of_target(&mut self.columns, optimizer)?;
        optimizer.draw(Stage::Bound, &self.node);
        rewrite::keeping_places(&mut self.node, optimizer.estimator.rules())?;
        optimizer.draw(Stage::Rewritten, &self.node);
        unnest::target(&mut self.node, &mut self.width, optimizer.estimator())?;
        optimizer.draw(Stage::Unnested, &self.node);
        self.used.resize(self.used.len().max(self.width), false);
        columns::decode(&mut self.node, self.used.clone());
        optimizer.inside(|optimizer| optimizer.node(&mut self.node))?;
        columns::decode(&mut self.node, with_locator(&self.used, self.locator));
        optimizer.draw(Stage::Physical, &self.node);
        self.streams = self.streams && is_plain_search(&self.node);
        Ok(())
    }
}

/// Plans the queries in what views ask of a new row, and those of the indexed views that follow changes of the target and of the tables that
/// its foreign keys change.
fn queries_of_target(columns: &mut Arc<TargetColumns>, optimizer: &mut Optimizer<'_>) -> Result<()> {
    if !has_queries(columns) {
        return Ok(());
    }
    let columns = Arc::make_mut(columns);
    columns.view_conditions.optimize(optimizer)?;
    for view in &mut columns.views {
        optimizer.inside(|optimizer| optimizer.query(Arc::make_mut(&mut view.parts)))?;
    }
    let mut cascades = columns.cascades.iter_mut();
    cascades.try_for_each(|cascade| queries_of_target(&mut cascade.columns, optimizer))
}

fn has_queries(columns: &TargetColumns) -> bool {
    let mut cascades = columns.cascades.iter();
    !columns.view_conditions.is_empty()
        || !columns.views.is_empty()
        || cascades.any(|cascade| has_queries(&cascade.columns))
}

/// What a change reads of the row that is found: also where the row is.
fn with_locator(used: &[bool], locator: usize) -> Vec<bool> {
    let mut used = used.to_vec();
    used.resize(used.len().max(locator + 1), false);
    if let Some(flag) = used.get_mut(locator) {
        *flag = true;
    }
    used
}

/// Whether rows are found by an index whose key has a column that is set: a row with another value may be found there again.
fn searches_by(node: &Node, assignments: &[(usize, Expr)]) -> bool {
    let Some(scan) = node.filtered_scan() else { return false };
    scan.seek.as_ref().is_some_and(|seek| {
        let definition = scan.table.table.definition();
        let mut set = assignments.iter();
        set.any(|(column, _)| seek.reads_key_of(definition, *column))
    })
}

/// A scan, perhaps filtered, with nothing else that could read the target.
fn is_plain_search(node: &Node) -> bool {
    if let Node::Filter(filter) = node {
        return !filter.condition.contains_query() && is_plain_search(&filter.input);
    }
    matches!(node, Node::Scan(_))
}
