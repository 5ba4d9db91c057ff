//! OUTPUT: the old and the new row, `$action`, and the columns of FROM or of MERGE's source beside them.

use std::sync::Arc;

use engine::error::Result;

use super::manipulation::{RowSearch, check_count, listed_columns, require_nothing_made};
use super::scope::{Level, SelectLevel};
use super::target::Found;
use super::{Binder, ScopeColumn};
use crate::ast;
use crate::plan::{Assignment, BoundOutput, Label, OutputTarget, RowAction, TargetColumns};

impl<'a> Binder<'a> {
    /// Binds OUTPUT over a row of deleted columns, then inserted columns.
    pub(super) fn output(
        &mut self,
        output: Option<&'a ast::Output>,
        columns: &TargetColumns,
        shown: Option<&[(String, Option<usize>)]>,
    ) -> Result<Option<BoundOutput>> {
        self.output_beside(output, columns, shown, Vec::new())
    }

    /// The same with columns beside those, whose places count from behind `$action`.
    pub(super) fn output_beside(
        &mut self,
        output: Option<&'a ast::Output>,
        columns: &TargetColumns,
        shown: Option<&[(String, Option<usize>)]>,
        beside: Vec<ScopeColumn>,
    ) -> Result<Option<BoundOutput>> {
        let Some(output) = output else { return Ok(None) };
        let own_names = columns.columns.iter().enumerate();
        let names: Vec<(String, usize)> = match shown {
            None => own_names.map(|(index, column)| (column.name.clone(), index)).collect(),
            // Of a query, only what it shows of the table.
            Some(shown) => shown
                .iter()
                .filter_map(|(name, column)| Some((name.clone(), (*column)?)))
                .collect(),
        };
        let width = columns.columns.len();
        let mut visible = Vec::with_capacity(names.len() * 2);
        for (qualifier, offset) in [("deleted", 0), ("inserted", width)] {
            for (name, index) in &names {
                let column = &columns.columns[*index];
                visible.push(ScopeColumn {
                    qualifier: qualifier.to_owned(),
                    name: name.clone(),
                    sql_type: column.sql_type,
                    label: Label::Implicit(column.collation),
                    index: offset + index,
                    identity: column.identity,
                    from_table: true,
                    is_hidden: column.is_hidden,
                    ..ScopeColumn::plain()
                });
            }
        }
        visible.extend(beside.into_iter().map(|column| ScopeColumn {
            index: 2 * width + 1 + column.index,
            nullable: true,
            // Only the columns are handed on to OUTPUT.
            row_places: None,
            is_hidden: false,
            ..column
        }));
        let level = Level::Select(SelectLevel {
            columns: visible,
            action: self.is_merge.then_some(2 * width),
            ..SelectLevel::default()
        });
        let ((items, beside), _) = self.within(level, |binder| {
            Ok((binder.output_items(&output.items)?, binder.output_items(&output.shown)?))
        })?;
        let (mut expressions, columns): (Vec<_>, Vec<_>) = items.into_iter().unzip();
        let target = match &output.into {
            None => OutputTarget::Client,
            Some(into) => self.output_into(into, output, expressions.len())?,
        };
        let (others, shown): (Vec<_>, Vec<_>) = beside.into_iter().unzip();
        expressions.extend(others);
        Ok(Some(BoundOutput {
            expressions,
            columns,
            target,
            shown,
        }))
    }

    /// The target of OUTPUT INTO, for so many columns.
    fn output_into(&mut self, into: &ast::Target, output: &'a ast::Output, count: usize) -> Result<OutputTarget> {
        let target = self.output_target(into)?;
        let columns = Arc::new(self.target_columns(&target)?);
        let columns = self.with_views(&target, columns, &[(RowAction::Insert, &[])])?;
        let listed = listed_columns(&columns, &output.columns, false)?;
        check_count(count, listed.len(), output.columns.is_empty())?;
        require_nothing_made(&columns, &listed, None)?;
        let assignments =
            (0..columns.columns.len()).map(|column| match listed.iter().position(|&other| other == column) {
                Some(position) => Assignment::Source(position),
                None if columns.columns[column].identity => Assignment::Identity,
                None => Assignment::Default,
            });
        let assignments = assignments.collect();
        self.refuse_references(&target)?;
        self.require_no_enabled_triggers(&target)?;
        Ok(OutputTarget::Into(target, columns, assignments))
    }
}

impl RowSearch {
    /// Has the search read the columns of FROM that OUTPUT shows beside those of the target.
    pub(super) fn use_source(&mut self) {
        let first = 2 * self.columns.columns.len() + 1;
        let mut places = Vec::new();
        for expression in self.output.iter().flat_map(|output| &output.expressions) {
            expression.for_each_column(&mut |place| places.extend(place.checked_sub(first)));
        }
        self.shows_source = !places.is_empty();
        places.into_iter().for_each(|place| self.use_column(place));
    }
}

/// The columns of FROM that OUTPUT may show: all but the target's own, which are `inserted` and `deleted` there (sql-docs, "OUTPUT clause",
/// `from_table_name`).
pub(super) fn columns_beside(found: &Found) -> Vec<ScopeColumn> {
    let own = found.offset..found.offset + found.columns.columns.len();
    let all = found.clause.columns.iter();
    let is_targets = |column: &&ScopeColumn| {
        let is_named = |name: &String| column.qualifier.eq_ignore_ascii_case(name);
        own.contains(&column.index) || column.index == found.locator || found.names.iter().any(is_named)
    };
    all.filter(|column| !is_targets(column)).cloned().collect()
}
