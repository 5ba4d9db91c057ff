//! Station 6: rows of OUTPUT, computed as rows change and kept until the statement has succeeded.

use engine::error::Result;
use engine::types::Value;

use super::Pipeline;
use crate::exec::evaluate;
use crate::plan::{BoundOutput, RowAction};

impl Pipeline<'_> {
    /// Computes a row of OUTPUT from the row as it was and as it is; NULLs stand for one that is not.
    pub(super) fn output_row(
        &mut self,
        output: &BoundOutput,
        action: RowAction,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<()> {
        let width = self.columns.columns.len();
        let mut both = Vec::with_capacity(2 * width + 1);
        for row in [old, new] {
            match row {
                Some(row) => both.extend_from_slice(row),
                None => both.resize(both.len() + width, Value::Null),
            }
        }
        both.push(name_of(action).into());
        both.extend_from_slice(&self.beside);
        let values = output
            .expressions
            .iter()
            .map(|expression| Ok(evaluate(expression, &both, self.context)?.into_owned()));
        let values = values.collect::<Result<_>>()?;
        self.kept.push(values, &self.context.session.instance.workspace)
    }
}

/// What `$action` is for a row.
fn name_of(action: RowAction) -> &'static str {
    match action {
        RowAction::Insert => "INSERT",
        RowAction::Update => "UPDATE",
        RowAction::Delete => "DELETE",
    }
}
