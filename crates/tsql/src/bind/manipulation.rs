//! INSERT, UPDATE and DELETE.

use std::sync::Arc;

use engine::catalog::{IndexDefinition, ObjectDefinition, TableDefinition};
use engine::error::Result;
use engine::types::{SqlType, Value};

use super::changed_rows::{ChangedRows, change_in};
use super::deduce::Asked;
use super::from::Stored;
use super::hints::{Place, add_locking};
use super::json_change::json_change;
use super::output::columns_beside;
use super::query::assigns;
use super::scope::{Level, SelectLevel, answers_to};
use super::source::is_null_of;
use super::target::{Filled, Found};
use super::updatable::Asked as Columns;
use super::{Binder, implicit};
use crate::ast::{
    self, AssignmentOperator, Delete, Expression, ExpressionKind, Identifier, Insert, InsertSource, Literal, Name,
    Update,
};
use crate::messages;
use crate::plan::{
    Assignment, BoundOutput, Condition, Expr, Label, Locking, Node, QueryPlan, RowAction, Target, TargetColumn,
    TargetColumns, TopCount, TopNode, hold_long_columns, hold_long_columns_of_update,
};
use crate::scalar::data_type::check_conversion;
use crate::state::Reading;

/// Whether a SELECT has as many columns as its INSERT lists.
fn check_select_list(count: usize, listed: usize, is_unlisted: bool) -> Result<()> {
    match count.cmp(&listed) {
        std::cmp::Ordering::Equal => Ok(()),
        _ if is_unlisted => Err(messages::column_count_mismatch()),
        std::cmp::Ordering::Less => Err(messages::select_list_too_short()),
        std::cmp::Ordering::Greater => Err(messages::select_list_too_long()),
    }
}

pub enum InsertRows {
    /// VALUES; `None` is the word DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    Query(Box<QueryPlan>),
    /// What another change puts out.
    Change(Box<ChangedRows>),
    /// EXECUTE: runs, and its result sets are inserted.
    Execute,
}

pub struct BoundInsert {
    pub target: Target,
    /// How the target is locked.
    pub locking: Locking,
    pub columns: Arc<TargetColumns>,
    /// For every column of the target.
    pub assignments: Vec<Assignment>,
    pub rows: InsertRows,
    /// How often the rows' query reads the target, in its subqueries too.
    pub target_reads: usize,
    pub top: Option<TopCount>,
    pub output: Option<BoundOutput>,
    /// Whether a value is given for the identity column.
    pub sets_identity: bool,
}

/// The rows of a target that UPDATE or DELETE changes, and how they are found.
pub struct RowSearch {
    pub target: Target,
    /// NOWAIT at the target.
    pub no_wait: bool,
    pub columns: Arc<TargetColumns>,
    /// Finds the rows.
    pub node: Node,
    /// Width of the wide row.
    pub width: usize,
    /// The places of the wide row that the change itself reads.
    pub used: Vec<bool>,
    /// Where the target's columns begin in it.
    pub offset: usize,
    /// Where the row's locator is.
    pub locator: usize,
    /// Whether rows can be changed while they are searched: what the statement says of it, then also what the search is.
    pub streams: bool,
    pub top: Option<TopCount>,
    pub output: Option<BoundOutput>,
    /// Whether OUTPUT reads columns of FROM that are not the target's: the row of FROM is kept beside the change.
    pub shows_source: bool,
}

impl RowSearch {
    /// Where the row is that was found, as the target knows it.
    pub fn locator_of<'r>(&self, row: &'r [Value]) -> &'r Value {
        row.get(self.locator).unwrap_or(&Value::Null)
    }

    /// The target's columns of a row that was found.
    pub fn old_row<'r>(&self, row: &'r [Value]) -> &'r [Value] {
        let columns = self.offset..self.offset + self.columns.columns.len();
        row.get(columns).unwrap_or_default()
    }

    /// Has the search read a place of the wide row.
    pub(super) fn use_column(&mut self, place: usize) {
        if let Some(flag) = self.used.get_mut(place) {
            *flag = true;
        }
    }

    /// Has the search read all columns of the target.
    pub(super) fn use_whole_row(&mut self) {
        let own = self.used.iter_mut().skip(self.offset).zip(&self.columns.columns);
        // What rows have nothing of is computed by who shows it.
        let is_read = |column: &TargetColumn| column.computed.as_ref().is_none_or(|computed| computed.is_stored);
        own.filter(|(_, column)| is_read(column))
            .for_each(|(flag, _)| *flag = true);
    }
}

pub struct BoundUpdate {
    pub search: RowSearch,
    /// Columns set, with their values.
    pub assignments: Vec<(usize, Expr)>,
    /// Variables set: slot, and the value computed from the row.
    pub variables: Vec<(usize, Expr)>,
    /// Whether rows may take unique keys from each other: these are judged when all rows have given up theirs.
    pub moves_unique_keys: bool,
    /// The columns set, when nothing but their new values is needed to change a row: the other columns are not even read.
    pub changes_apart: Option<Vec<usize>>,
}

pub struct BoundDelete {
    pub search: RowSearch,
}

impl BoundInsert {
    /// Has long values of the query handed on unread, if no station looks at them.
    pub fn hold_long_columns(&mut self) {
        let looks =
            self.columns.needs_row_path(RowAction::Insert, self.output.is_some()) || self.target.compares_long_values();
        if let (InsertRows::Query(plan), Target::Table(_), false) = (&mut self.rows, &self.target, looks) {
            hold_long_columns(plan);
        }
    }
}

impl BoundUpdate {
    /// Has long values of the rows handed on unread, if no station looks at them.
    pub fn hold_long_columns(&mut self) {
        let search = &mut self.search;
        let looks = search
            .columns
            .needs_row_path(RowAction::Update, search.output.is_some())
            || search.target.compares_long_values();
        if let (Target::Table(_), true, false) = (&search.target, self.variables.is_empty(), looks) {
            hold_long_columns_of_update(&mut search.node, search.width, &self.assignments);
        }
    }
}

/// The types of a query whose rows are inserted into columns, also where it has no row.
///
/// # Errors
/// 206, 257
fn check_given<'c>(plan: &QueryPlan, targets: impl Iterator<Item = &'c TargetColumn>) -> Result<()> {
    for (place, (own, target)) in plan.columns.iter().zip(targets).enumerate() {
        if !is_null_of(&plan.root, place) {
            check_conversion(own.sql_type, target.sql_type, false)?;
        }
    }
    Ok(())
}

impl<'a> Binder<'a> {
    /// Binds an INSERT.
    ///
    /// # Errors
    /// Those of binding.
    pub fn insert(&mut self, insert: &'a Insert) -> Result<BoundInsert> {
        self.with_ctes(&insert.common_table_expressions, |binder| binder.insert_body(insert))
    }

    fn insert_body(&mut self, insert: &'a Insert) -> Result<BoundInsert> {
        self.obey_query_hints(&insert.query_hints)?;
        let Filled { target, columns, shown } = self.insert_target(&insert.target, &insert.columns)?;
        let columns = Arc::new(columns);
        let mut locking = Locking::default();
        add_locking(
            &mut locking,
            &insert.hints,
            Place::Insert,
            short_name(&columns.table_name),
        )?;
        let top = match &insert.top {
            Some(top) => Some(self.top(top)?),
            None => None,
        };
        let identity_on = self.takes_identity(&target);
        let listed = match &shown {
            None => listed_columns(&columns, &insert.columns, identity_on)?,
            Some(shown) => shown_columns(&columns, shown, (&insert.target, &insert.columns), identity_on)?,
        };
        let mut rows = self.insert_rows(insert, &columns, &listed)?;
        let top = limited(&mut rows, top);
        require_nothing_made(&columns, &listed, Some(&rows))?;
        let stored = Stored::of(&target);
        let target_reads = self.sources.iter().filter(|source| **source == stored).count();
        let identity = columns.columns.iter().position(|column| column.identity);
        let is_defaults = matches!(insert.source, InsertSource::DefaultValues);
        let sets_identity = !is_defaults && identity.is_some_and(|identity| listed.contains(&identity));
        if sets_identity && !identity_on {
            return Err(messages::identity_insert_off(short_name(&columns.table_name)));
        }
        let assignments =
            (0..columns.columns.len()).map(|column| match listed.iter().position(|&other| other == column) {
                Some(position) if !is_defaults => Assignment::Source(position),
                _ if Some(column) == identity => Assignment::Identity,
                _ => Assignment::Default,
            });
        let assignments = assignments.collect();
        let output = self.output(insert.output.as_ref(), &columns, shown.as_deref())?;
        let columns = self.with_references(&target, columns, RowAction::Insert, &[])?;
        self.require_no_triggers(&columns, output.as_ref())?;
        if matches!(rows, InsertRows::Change(_)) {
            self.require_taker(insert, &target, &columns, shown.is_some())?;
        }
        Ok(BoundInsert {
            target,
            locking,
            columns,
            assignments,
            rows,
            target_reads,
            top,
            output,
            sets_identity,
        })
    }

    fn insert_rows(&mut self, insert: &'a Insert, columns: &TargetColumns, listed: &[usize]) -> Result<InsertRows> {
        match &insert.source {
            InsertSource::DefaultValues => Ok(InsertRows::Values(vec![Vec::new()])),
            InsertSource::Values(rows) => {
                let mut bound = Vec::with_capacity(rows.len());
                for row in rows {
                    check_count(row.len(), listed.len(), insert.columns.is_empty())?;
                    let values = self.one_expression(|binder| {
                        let pairs = row.iter().zip(listed);
                        pairs
                            .map(|(value, &column)| binder.insert_value(value, columns, column))
                            .collect::<Result<Vec<_>>>()
                    })?;
                    bound.push(values);
                }
                Ok(InsertRows::Values(bound))
            }
            InsertSource::Query(query) if change_in(query).is_some() => {
                let rows = self.rows_of_change(query)?;
                check_select_list(rows.items.len(), listed.len(), insert.columns.is_empty())?;
                Ok(InsertRows::Change(Box::new(rows)))
            }
            InsertSource::Query(query) => {
                if assigns(&query.body) {
                    return Err(messages::assignment_in_insert());
                }
                let plan = self.query(query)?;
                check_select_list(plan.columns.len(), listed.len(), insert.columns.is_empty())?;
                check_given(&plan, listed.iter().filter_map(|&target| columns.columns.get(target)))?;
                Ok(InsertRows::Query(Box::new(plan)))
            }
            InsertSource::Execute(_) => Ok(InsertRows::Execute),
        }
    }

    pub(super) fn insert_value(
        &mut self,
        value: &'a Expression,
        columns: &TargetColumns,
        column: usize,
    ) -> Result<Option<Expr>> {
        if let ExpressionKind::Literal(Literal::Default) = value.kind {
            return Ok(None);
        }
        let wanted = columns.columns.get(column).map(|column| column.sql_type);
        if let Some(wanted) = wanted {
            self.deduce(value, Asked::Assigned(wanted))?;
        }
        let bound = self.with_next_value(|binder| binder.expression(value))?.assignable()?;
        let bound = self.untyped_null(bound);
        let target = wanted.unwrap_or(bound.sql_type);
        if !bound.is_null_constant() {
            check_conversion(bound.sql_type, target, false)?;
        }
        Ok(Some(bound))
    }

    /// Whether IDENTITY_INSERT is on for a target.
    pub(super) fn takes_identity(&self, target: &Target) -> bool {
        let Target::Table(table) = target else { return false };
        let own = (table.table.database().id, table.table.definition().object_id);
        self.session.options().identity_insert == Some(own)
    }

    /// Binds an UPDATE.
    ///
    /// # Errors
    /// Those of binding.
    pub fn update(&mut self, update: &'a Update) -> Result<BoundUpdate> {
        self.shows_row_places = update.shows_row_places;
        self.with_ctes(&update.common_table_expressions, |binder| binder.update_body(update))
    }

    fn update_body(&mut self, update: &'a Update) -> Result<BoundUpdate> {
        self.obey_query_hints(&update.query_hints)?;
        let set = Columns::These(names_set(&update.assignments));
        self.read_by_pointer(update.text_row.as_deref());
        let mut found = self.find_target(&update.target, &update.hints, &update.from, set)?;
        let is_at_cursor = update.current_of.is_some();
        if is_at_cursor {
            found.read_at_cursor()?;
        }
        if update.text_row.is_some() {
            Arc::make_mut(&mut found.columns).is_text_write = true;
        }
        let top = match &update.top {
            Some(top) => Some(self.top(top)?),
            None => None,
        };
        let level = Level::Select(SelectLevel {
            columns: found.clause.columns.clone(),
            ..SelectLevel::default()
        });
        let ((filter, assignments, variables), _) = self.within(level, |binder| {
            let filter = match &update.selection {
                Some(selection) => Some(binder.search_condition(selection)?),
                None => None,
            };
            let (assignments, variables) =
                binder.one_expression(|binder| binder.assignments(&update.assignments, &found))?;
            Ok((filter, assignments, variables))
        })?;
        let has_subquery = assignments
            .iter()
            .chain(&variables)
            .any(|(_, value)| value.contains_query());
        let changes_key = changes_clustered_key(&found.target, &assignments);
        let moves_unique_keys = changes_unique_key(&found.target, &assignments);
        let set: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let columns = self.with_references(&found.target, found.columns.clone(), RowAction::Update, &set)?;
        let (shown, beside) = (found.shown.take(), columns_beside(&found));
        let is_single = found.is_single;
        let mut search = self.row_search(found, filter, columns, top);
        search.output = self.output_beside(update.output.as_ref(), &search.columns, shown.as_deref(), beside)?;
        search.use_source();
        self.require_no_triggers(&search.columns, search.output.as_ref())?;
        let is_whole = !is_at_cursor && !is_percent(update.top.as_ref());
        search.streams = is_single && is_whole && !has_subquery && !changes_key && !moves_unique_keys;
        let values = assignments.iter().chain(&variables);
        values.for_each(|(_, value)| value.mark_columns(&mut search.used));
        let needs_row_path = search
            .columns
            .needs_row_path(RowAction::Update, search.output.is_some());
        let changes_apart = (!needs_row_path)
            .then(|| columns_in_no_index(&search.target, &assignments))
            .flatten();
        if changes_apart.is_none() {
            // The whole old row is needed: for what is not set, for indexes, and for the stations of the row path.
            search.use_whole_row();
        }
        Ok(BoundUpdate {
            search,
            assignments,
            variables,
            moves_unique_keys,
            changes_apart,
        })
    }

    #[allow(clippy::type_complexity, reason = "two lists of one shape")]
    pub(super) fn assignments(
        &mut self,
        written: &'a [ast::UpdateAssignment],
        found: &Found,
    ) -> Result<(Vec<(usize, Expr)>, Vec<(usize, Expr)>)> {
        let (mut assignments, mut variables) = (Vec::<(usize, Expr)>::new(), Vec::new());
        for assignment in written {
            self.line = assignment.line;
            let column = match &assignment.column {
                Some(name) => Some(self.set_column(name, found)?),
                None => None,
            };
            let own = match (&assignment.variable, column) {
                (_, Some(column)) => {
                    let target = &found.columns.columns[column];
                    let own = Expr::column(found.offset + column, target.sql_type, target.nullable);
                    own.labelled(Label::Implicit(target.collation))
                }
                (Some(variable), None) => {
                    self.deduce_assigned(variable, &assignment.value)?;
                    self.variable(variable)?
                }
                (None, None) => return Err(messages::column_count_mismatch()),
            };
            let value = match (&assignment.value.kind, column) {
                (ExpressionKind::Literal(Literal::Default), Some(column)) => {
                    let target = &found.columns.columns[column];
                    target
                        .default
                        .clone()
                        .unwrap_or_else(|| Expr::constant(Value::Null, target.sql_type))
                }
                _ if json_change(&assignment.value).is_some() => Expr::constant(Value::Null, own.sql_type),
                _ => {
                    self.deduce(&assignment.value, Asked::Assigned(own.sql_type))?;
                    self.with_next_value(|binder| binder.expression(&assignment.value))?
                }
            };
            let name = column.map(|column| &*found.columns.columns[column].name);
            let value = self.operated(assignment, (name, own.clone()), value)?;
            let value = self.untyped_null(value.assignable()?);
            if !value.is_null_constant() {
                check_conversion(value.sql_type, own.sql_type, false)?;
            }
            if let Some(variable) = &assignment.variable {
                if column.is_some() {
                    self.deduce_assigned(variable, &assignment.value)?;
                }
                let declared = self.variables.scalar(variable);
                let (slot, sql_type) = declared
                    .or_else(|| self.deduced_variable(variable))
                    .ok_or_else(|| messages::variable_not_declared(variable))?;
                variables.push((slot, implicit(value.clone(), sql_type)?));
            }
            if let Some(column) = column {
                if assignments.iter().any(|(other, _)| *other == column) {
                    return Err(messages::column_set_twice(&found.columns.columns[column].name));
                }
                assignments.push((column, value));
            }
        }
        if let (Some(column), false) = (found.columns.row_version(), assignments.is_empty()) {
            // Every UPDATE sets it, with what its indexes and keys owe then. Station 1 of `modify` knows the value.
            assignments.push((column, Expr::constant(Value::Null, SqlType::RowVersion)));
        }
        found.columns.set_period(&mut assignments);
        found.columns.set_computed(&mut assignments);
        Ok((assignments, variables))
    }

    /// What an assignment makes of what is set, with the value written: that value, the result of an operator, or the former value with a
    /// part of it replaced by WRITE.
    fn operated(
        &mut self,
        assignment: &'a ast::UpdateAssignment,
        (name, own): (Option<&str>, Expr),
        value: Expr,
    ) -> Result<Expr> {
        let mutator = match (assignment.operator, assignment.mutator.as_deref()) {
            (AssignmentOperator::Compound(operator), _) => return self.binary(operator, own, value),
            (AssignmentOperator::Assign, None) => return Ok(value),
            (AssignmentOperator::Assign, Some(mutator)) => mutator,
        };
        let name = name.unwrap_or_default();
        let (offset, length) = match mutator {
            ast::Mutator::Modify { namespaces } => return self.modified((name, own), &assignment.value, namespaces),
            ast::Mutator::Write { offset, length } | ast::Mutator::UpdateText { offset, length } => (offset, length),
        };
        let mut number = |written| {
            self.deduce(written, Asked::Assigned(SqlType::BigInt))?;
            self.expression(written)
        };
        let (offset, length) = (number(offset)?, number(length)?);
        if let ast::Mutator::UpdateText { .. } = mutator {
            return self.text_updated((name, own), value, offset, length);
        }
        super::write_clause::written((name, own), value, offset, length)
    }

    fn set_column(&self, name: &Name, found: &Found) -> Result<usize> {
        if let Some(qualifier) = name.schema()
            && !found.is_called(qualifier)
        {
            return Err(super::spatial::unknown_target(name, qualifier, &found.columns.columns));
        }
        let wanted = name.object().to_lowercase();
        let position = match &found.shown {
            None => {
                let mut columns = found.columns.columns.iter();
                columns.position(|column| column.name.to_lowercase() == wanted)
            }
            Some(shown) => {
                let mut columns = shown.iter().filter(|(shown, _)| shown.to_lowercase() == wanted);
                let column = columns.next().map(|(_, column)| *column);
                column
                    .map(|column| column.ok_or_else(|| found.derived_column()))
                    .transpose()?
            }
        };
        let position = position.ok_or_else(|| messages::invalid_column_name(name.object()))?;
        let mut own = found.clause.columns.iter();
        if name.part_from_right(2).is_some() && !own.any(|column| answers_to(column, name)) {
            return Err(messages::multi_part_identifier(&name.to_string()));
        }
        Self::refuse_computed(&found.columns.columns[position])?;
        if found.columns.columns[position].identity {
            return Err(messages::identity_update(&found.columns.columns[position].name));
        }
        if found.columns.row_version() == Some(position) {
            return Err(messages::row_version_update());
        }
        if found.columns.columns[position].is_generated {
            return Err(messages::generated_update(&found.columns.table_name));
        }
        Ok(position)
    }

    /// Binds a DELETE.
    ///
    /// # Errors
    /// Those of binding.
    pub fn delete(&mut self, delete: &'a Delete) -> Result<BoundDelete> {
        self.shows_row_places = delete.shows_row_places;
        self.with_ctes(&delete.common_table_expressions, |binder| binder.delete_body(delete))
    }

    fn delete_body(&mut self, delete: &'a Delete) -> Result<BoundDelete> {
        self.obey_query_hints(&delete.query_hints)?;
        let mut found = self.find_target(&delete.target, &delete.hints, &delete.from, Columns::Rows)?;
        if delete.current_of.is_some() {
            found.read_at_cursor()?;
        }
        let top = match &delete.top {
            Some(top) => Some(self.top(top)?),
            None => None,
        };
        let level = Level::Select(SelectLevel {
            columns: found.clause.columns.clone(),
            ..SelectLevel::default()
        });
        let (filter, _) = self.within(level, |binder| match &delete.selection {
            Some(selection) => Ok(Some(binder.search_condition(selection)?)),
            None => Ok(None),
        })?;
        let columns = self.with_references(&found.target, found.columns.clone(), RowAction::Delete, &[])?;
        let (shown, beside) = (found.shown.take(), columns_beside(&found));
        let is_single = found.is_single;
        let mut search = self.row_search(found, filter, columns, top);
        let needs_row_path = search
            .columns
            .needs_row_path(RowAction::Delete, delete.output.is_some());
        match &search.target {
            _ if needs_row_path => search.use_whole_row(),
            Target::Variable(..) | Target::View(_) => search.use_whole_row(),
            Target::Table(target) => {
                // The keys of its entries are all that is needed of a row; its long values are not read.
                let indexes = target.table.definition().indexes.iter();
                let needed = indexes.flat_map(|index| {
                    let terms = index.filter.iter().flat_map(|filter| &filter.terms);
                    let keys = index.keys.iter().map(|(column, _)| *column);
                    keys.chain(terms.map(|term| term.column))
                });
                needed.map(|column| search.offset + column).for_each(|place| {
                    if let Some(flag) = search.used.get_mut(place) {
                        *flag = true;
                    }
                });
            }
        }
        search.output = self.output_beside(delete.output.as_ref(), &search.columns, shown.as_deref(), beside)?;
        search.use_source();
        self.require_no_triggers(&search.columns, search.output.as_ref())?;
        search.streams = is_single && !is_percent(delete.top.as_ref());
        Ok(BoundDelete { search })
    }

    /// The search for the rows of a target; of the row nothing is used so far, and no OUTPUT is bound.
    pub(super) fn row_search(
        &mut self,
        found: Found,
        filter: Option<Condition>,
        columns: Arc<TargetColumns>,
        top: Option<TopCount>,
    ) -> RowSearch {
        let Found {
            mut clause,
            target,
            no_wait,
            offset,
            locator,
            width,
            ..
        } = found;
        if let Some(filter) = filter {
            clause.conjuncts.extend(super::fold::filter(filter).into_conjuncts());
        }
        let mut node = self.logical_from(clause.units, clause.conjuncts, width, clause.is_forced);
        let top = match top {
            // How many rows that is, is known when all are found.
            Some(top) if top.percent => {
                let input = Box::new(node);
                node = Node::Top(TopNode { input, top, width });
                None
            }
            other => other,
        };
        RowSearch {
            target,
            no_wait,
            columns,
            node,
            width,
            used: vec![false; width],
            offset,
            locator,
            streams: false,
            top,
            output: None,
            shows_source: false,
        }
    }

    /// The target of INSERT, or of a statement whose FROM does not have it.
    pub(super) fn target(&mut self, target: &ast::Target) -> Result<Target> {
        match target {
            ast::Target::Variable(name) => {
                let found = self
                    .variables
                    .table(name)
                    .ok_or_else(|| messages::table_variable_not_declared(name))?;
                if found.1.is_read_only {
                    return Err(messages::table_parameter_is_read_only(name));
                }
                Ok(Target::Variable(found.0, self.settled_shape(found.1)?))
            }
            ast::Target::Table(name) => {
                let (database, object) = self
                    .session
                    .find_source(name)?
                    .ok_or_else(|| messages::invalid_object_name(&name.to_string()))?;
                match &object.definition {
                    ObjectDefinition::Table(_) => Ok(Target::Table(self.bound_table(
                        &database,
                        &object,
                        Reading::default(),
                    )?)),
                    _ => Err(super::not_supported("INSERT, UPDATE or DELETE of a view")),
                }
            }
        }
    }

    /// The columns of a target with their defaults and checks bound.
    ///
    /// # Errors
    /// Those of binding a stored default or check.
    pub fn target_columns(&self, target: &Target) -> Result<TargetColumns> {
        match target {
            Target::Table(table) => {
                let definition = table.table.definition();
                let mut columns = Vec::with_capacity(definition.columns.len());
                for column in &definition.columns {
                    columns.push(TargetColumn {
                        name: column.name.clone(),
                        sql_type: column.sql_type,
                        collation: column.collation,
                        // Of what rows have nothing of, nothing is judged.
                        nullable: column.nullable || column.is_virtual(),
                        identity: column.identity.is_some(),
                        default: self.stored_default(column.default_expression())?,
                        computed: self.computed_target(definition, column)?,
                        is_generated: column.generated.is_some(),
                        is_hidden: column.is_hidden(),
                    });
                }
                Ok(TargetColumns {
                    columns,
                    checks: self.conditions_of(definition)?,
                    table_name: table.full_name.clone(),
                    needs_settings: definition.indexes.iter().any(|index| needs_settings(definition, index)),
                    ignores_duplicates: table.table.ignores_duplicates(),
                    period: super::temporal::period_of(definition),
                    ..TargetColumns::default()
                })
            }
            // Who binds a view knows its columns.
            Target::View(view) => Err(messages::invalid_object_name(&view.name)),
            Target::Variable(_, shape) => {
                let mut columns = Vec::with_capacity(shape.columns.len());
                let has_computed = shape.columns.iter().any(|column| column.computed.is_some());
                let table = has_computed.then(|| shape.as_table(self.collation));
                for (place, column) in shape.columns.iter().enumerate() {
                    let computed = match &table {
                        Some(table) => self.computed_target(table, &table.columns[place])?,
                        None => None,
                    };
                    columns.push(TargetColumn {
                        name: column.name.clone(),
                        sql_type: column.sql_type,
                        collation: column.collation.unwrap_or(self.collation),
                        nullable: column.nullable,
                        identity: column.identity.is_some(),
                        default: self.stored_default(column.default.as_deref())?,
                        computed,
                        is_generated: false,
                        is_hidden: false,
                    });
                }
                let checks = match shape.checks.is_empty() {
                    true => Vec::new(),
                    false => self.checks_of(&shape.as_table(self.collation), &|_| true)?,
                };
                Ok(TargetColumns {
                    columns,
                    checks,
                    table_name: shape.name.clone(),
                    ignores_duplicates: shape.keys.iter().any(|key| key.ignores_duplicates),
                    ..TargetColumns::default()
                })
            }
        }
    }
}

/// Has a query answer the share of its rows that TOP asks for; answers a TOP that is left to do.
fn limited(rows: &mut InsertRows, top: Option<TopCount>) -> Option<TopCount> {
    match (rows, top) {
        (InsertRows::Query(plan), Some(top)) if top.percent => {
            let input = Box::new(std::mem::replace(&mut plan.root, Node::Empty));
            plan.root = Node::Top(TopNode {
                input,
                top,
                width: plan.width,
            });
            None
        }
        (_, top) => top,
    }
}

/// Whether TOP is a share of the rows.
fn is_percent(top: Option<&ast::Top>) -> bool {
    top.is_some_and(|top| top.percent)
}

/// The table's own name out of `database.schema.table`.
pub(super) fn short_name(full_name: &str) -> &str {
    full_name.rsplit('.').next().unwrap_or(full_name)
}

/// The columns an INSERT fills, by number: those it lists, or all but the identity column.
pub(super) fn listed_columns(
    columns: &TargetColumns,
    listed: &[Identifier],
    with_identity: bool,
) -> Result<Vec<usize>> {
    if listed.is_empty() {
        if with_identity && columns.columns.iter().any(|column| column.identity) {
            return Err(messages::identity_needs_column_list(short_name(&columns.table_name)));
        }
        let all = columns
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.identity && column.computed.is_none() && !column.is_hidden);
        return Ok(all.map(|(index, _)| index).collect());
    }
    let mut found = Vec::with_capacity(listed.len());
    for name in listed {
        let position = columns
            .columns
            .iter()
            .position(|column| column.name.to_lowercase() == name.text.to_lowercase());
        let position = position.ok_or_else(|| messages::invalid_column_name(&name.text))?;
        Binder::refuse_computed(&columns.columns[position])?;
        if found.contains(&position) {
            return Err(messages::column_set_twice(&name.text));
        }
        found.push(position);
    }
    Ok(found)
}

/// The same for an INSERT through a query: the table's columns, by those that the query shows.
pub(super) fn shown_columns(
    columns: &TargetColumns,
    shown: &[(String, Option<usize>)],
    (target, listed): (&ast::Target, &[Identifier]),
    with_identity: bool,
) -> Result<Vec<usize>> {
    let own_name = match target {
        ast::Target::Table(name) => name.object(),
        ast::Target::Variable(name) => name,
    };
    let is_identity = |column: &usize| columns.columns.get(*column).is_some_and(|column| column.identity);
    let own = |column: &Option<usize>| column.ok_or_else(|| messages::view_column_is_derived(own_name));
    if listed.is_empty() {
        let all = shown
            .iter()
            .map(|(_, column)| own(column))
            .collect::<Result<Vec<_>>>()?;
        if with_identity && all.iter().any(is_identity) {
            return Err(messages::identity_needs_column_list(own_name));
        }
        let is_given = |column: &usize| {
            let is_computed = columns
                .columns
                .get(*column)
                .is_some_and(|column| column.computed.is_some());
            !is_identity(column) && !is_computed
        };
        return Ok(all.into_iter().filter(is_given).collect());
    }
    let mut found = Vec::with_capacity(listed.len());
    for name in listed {
        let column = shown.iter().find(|(shown, _)| name.is(shown));
        let (_, column) = column.ok_or_else(|| messages::invalid_column_name(&name.text))?;
        let column = own(column)?;
        Binder::refuse_computed(&columns.columns[column])?;
        if found.contains(&column) {
            return Err(messages::column_set_twice(&name.text));
        }
        found.push(column);
    }
    Ok(found)
}

/// 273 when a rowversion column among those listed is given anything but DEFAULT, 13536 when a column of a period is. Without `rows`, every
/// column is given a value.
pub(super) fn require_nothing_made(columns: &TargetColumns, listed: &[usize], rows: Option<&InsertRows>) -> Result<()> {
    let row_version = columns.row_version();
    for (place, column) in listed.iter().enumerate() {
        let is_generated = columns.columns.get(*column).is_some_and(|column| column.is_generated);
        let is_default = match rows {
            Some(InsertRows::Values(rows)) => rows.iter().all(|row| row.get(place).is_none_or(Option::is_none)),
            _ => false,
        };
        match is_default {
            true => {}
            false if is_generated => return Err(messages::generated_insert(&columns.table_name)),
            false if row_version == Some(*column) => return Err(messages::row_version_insert()),
            false => {}
        }
    }
    Ok(())
}

pub(super) fn check_count(values: usize, columns: usize, all_columns: bool) -> Result<()> {
    match values.cmp(&columns) {
        std::cmp::Ordering::Equal => Ok(()),
        _ if all_columns => Err(messages::column_count_mismatch()),
        std::cmp::Ordering::Less => Err(messages::more_columns_than_values()),
        std::cmp::Ordering::Greater => Err(messages::fewer_columns_than_values()),
    }
}

/// The columns that an UPDATE sets, as it names them.
pub(super) fn names_set(written: &[ast::UpdateAssignment]) -> Vec<String> {
    let columns = written.iter().filter_map(|assignment| assignment.column.as_ref());
    columns.map(|column| column.object().to_owned()).collect()
}

/// The columns set, if none of them is part of an index, and the table has a clustered index, or rows whose long values need not be read then.
fn columns_in_no_index(target: &Target, assignments: &[(usize, Expr)]) -> Option<Vec<usize>> {
    let Target::Table(table) = target else { return None };
    let indexes = &table.table.definition().indexes;
    let parts = table.table.definition().partitioning.as_ref();
    let is_indexed = |column: usize| {
        let mut of_indexes = indexes.iter();
        of_indexes.any(|index| index.depends_on(column)) || parts.is_some_and(|parts| parts.column == column)
    };
    let columns: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
    let is_changed_apart = table.table.definition().clustered().is_some() || table.table.may_have_large_values();
    (is_changed_apart && !columns.iter().copied().any(is_indexed)).then_some(columns)
}

/// Whether an index is right under some settings of a session alone: it has a filter, or computed columns.
pub(crate) fn needs_settings(table: &TableDefinition, index: &IndexDefinition) -> bool {
    let mut keys = index.keys.iter().filter_map(|(column, _)| table.columns.get(*column));
    index.filter.is_some() || keys.any(|column| column.computed.is_some())
}

fn changes_clustered_key(target: &Target, assignments: &[(usize, Expr)]) -> bool {
    let Target::Table(table) = target else { return false };
    let definition = table.table.definition();
    let keys = definition.clustered().map_or(&[][..], |clustered| &clustered.keys);
    // A row whose partition changes is in another place, too.
    let parts = definition.partitioning.iter().map(|partitioning| partitioning.column);
    let mut columns = keys.iter().map(|(column, _)| *column).chain(parts);
    columns.any(|column| assignments.iter().any(|(set, _)| *set == column))
}

/// Whether an update of some columns may give a row the unique key that another had.
fn changes_unique_key(target: &Target, assignments: &[(usize, Expr)]) -> bool {
    let is_set = |column: &usize| assignments.iter().any(|(set, _)| set == column);
    match target {
        Target::Table(table) => {
            let indexes = &table.table.definition().indexes;
            let mut unique = indexes.iter().filter(|index| index.unique);
            unique.any(|index| {
                index.keys.iter().any(|(column, _)| is_set(column))
                    || index
                        .filter
                        .as_ref()
                        .is_some_and(|filter| filter.terms.iter().any(|term| is_set(&term.column)))
            })
        }
        Target::Variable(_, shape) => shape.keys.iter().any(|key| key.columns.iter().any(is_set)),
        Target::View(_) => false,
    }
}
