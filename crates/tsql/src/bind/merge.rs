//! MERGE: one join of the source and the target, and clauses with the action for its rows.
//!
//! ```text
//! clause                     rows of the join                      columns it may use
//! WHEN MATCHED               source and target                     of both
//! WHEN NOT MATCHED           no target: the locator is NULL        of the source (5333)
//! ... BY SOURCE              no source: its mark is NULL           of the target (5334)
//! ```
//! For each row, the first clause whose condition holds takes effect (sql-docs, "MERGE"). All rows are found before the first one is
//! changed.

use std::sync::Arc;

use engine::error::{Error, Result};

use super::manipulation::{
    RowSearch, check_count, listed_columns, names_set, require_nothing_made, short_name, shown_columns,
};
use super::scope::{Level, SelectLevel};
use super::target::Found;
use super::updatable::Asked;
use super::{Binder, InsertRows, ScopeColumn, not_supported};
use crate::ast::{Expression, Identifier, MERGE_MARK, Merge, MergeAction, MergeClause, MergeWhen};
use crate::messages;
use crate::plan::{Assignment, Condition, Expr, RowAction, Target, TargetColumns};

pub struct BoundMerge {
    /// Finds the rows of the join.
    pub search: RowSearch,
    /// Where the source's side says that it is there; `None` where every row has a source.
    pub mark: Option<usize>,
    pub clauses: Vec<BoundMergeClause>,
    /// Whether a value is given for the identity column.
    pub sets_identity: bool,
}

pub struct BoundMergeClause {
    pub when: MergeWhen,
    pub condition: Option<Condition>,
    pub action: BoundMergeAction,
}

pub enum BoundMergeAction {
    Update {
        /// Columns set, with their values.
        assignments: Vec<(usize, Expr)>,
        /// Variables set: slot, and the value computed from the row.
        variables: Vec<(usize, Expr)>,
    },
    Delete,
    Insert {
        /// What is given; `None` is the word DEFAULT.
        values: Vec<Option<Expr>>,
        /// For every column of the target; sources are places among the values.
        assignments: Vec<Assignment>,
        sets_identity: bool,
    },
}

impl BoundMergeAction {
    fn row_action(&self) -> RowAction {
        match self {
            BoundMergeAction::Update { .. } => RowAction::Update,
            BoundMergeAction::Delete => RowAction::Delete,
            BoundMergeAction::Insert { .. } => RowAction::Insert,
        }
    }

    /// What it computes from a row of the join.
    pub(crate) fn values(&self) -> Vec<&Expr> {
        match self {
            BoundMergeAction::Update { assignments, variables } => {
                assignments.iter().chain(variables).map(|(_, value)| value).collect()
            }
            BoundMergeAction::Delete => Vec::new(),
            BoundMergeAction::Insert { values, .. } => values.iter().flatten().collect(),
        }
    }

    /// The same, to be changed.
    pub(crate) fn values_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            BoundMergeAction::Update { assignments, variables } => assignments
                .iter_mut()
                .chain(variables)
                .map(|(_, value)| value)
                .collect(),
            BoundMergeAction::Delete => Vec::new(),
            BoundMergeAction::Insert { values, .. } => values.iter_mut().flatten().collect(),
        }
    }
}

/// The columns of the join, as clauses see them.
struct Sides {
    source: Vec<ScopeColumn>,
    target: Vec<ScopeColumn>,
    mark: Option<usize>,
}

impl<'a> Binder<'a> {
    /// Binds a MERGE.
    ///
    /// # Errors
    /// Those of binding.
    pub fn merge(&mut self, merge: &'a Merge) -> Result<BoundMerge> {
        self.is_merge = true;
        let bound = self.with_ctes(&merge.common_table_expressions, |binder| binder.merge_body(merge));
        self.is_merge = false;
        bound
    }

    fn merge_body(&mut self, merge: &'a Merge) -> Result<BoundMerge> {
        self.obey_query_hints(&merge.query_hints)?;
        let found = self.find_target(&merge.target, &merge.hints, &merge.from, asked(merge));
        let mut found = found.map_err(|error| match error.number {
            1011..=1013 => messages::merge_of_one_name(),
            _ => error,
        })?;
        if let Target::View(_) = found.target {
            return Err(not_supported("MERGE into a view with INSTEAD OF triggers"));
        }
        let top = match &merge.top {
            // A share of the rows that an action is for, which is not known before all of them are done.
            Some(top) if top.percent => return Err(not_supported("TOP PERCENT of MERGE")),
            Some(top) => Some(self.top(top)?),
            None => None,
        };
        let sides = sides_of(&found);
        let mut clauses = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            clauses.push(self.merge_clause(clause, &found, &sides, merge)?);
        }
        let columns = self.merge_columns(&found, &clauses)?;
        let shown = found.shown.take();
        let mut search = self.row_search(found, None, columns, top);
        let beside = sides.source.clone();
        search.output = self.output_beside(merge.output.as_ref(), &search.columns, shown.as_deref(), beside)?;
        self.require_no_triggers(&search.columns, search.output.as_ref())?;
        for clause in &clauses {
            clause
                .action
                .values()
                .into_iter()
                .for_each(|value| value.mark_columns(&mut search.used));
            clause
                .condition
                .iter()
                .for_each(|condition| condition.mark_columns(&mut search.used));
        }
        if search.output.is_some() {
            sides.source.iter().for_each(|column| search.use_column(column.index));
        }
        sides.mark.into_iter().for_each(|mark| search.use_column(mark));
        search.use_whole_row();
        let gives_identity = |clause: &BoundMergeClause| {
            matches!(
                clause.action,
                BoundMergeAction::Insert {
                    sets_identity: true,
                    ..
                }
            )
        };
        Ok(BoundMerge {
            sets_identity: clauses.iter().any(gives_identity),
            search,
            mark: sides.mark,
            clauses,
        })
    }

    /// The target's columns with what all actions of the clauses may break and fire.
    fn merge_columns(&self, found: &Found, clauses: &[BoundMergeClause]) -> Result<Arc<TargetColumns>> {
        let mut set: Vec<usize> = Vec::new();
        for clause in clauses {
            if let BoundMergeAction::Update { assignments, .. } = &clause.action {
                set.extend(assignments.iter().map(|(column, _)| *column));
            }
        }
        let has = |action| clauses.iter().any(|clause| clause.action.row_action() == action);
        let all = [RowAction::Insert, RowAction::Update, RowAction::Delete];
        let actions: Vec<(RowAction, &[usize])> = all
            .into_iter()
            .filter(|action| has(*action))
            .map(|action| (action, set.as_slice()))
            .collect();
        let columns = self.with_references_of(&found.target, found.columns.clone(), &actions)?;
        if let Some(firing) = &columns.firing {
            let instead_of = firing.events.iter().filter(|event| event.instead_of.is_some()).count();
            if instead_of > 0 && instead_of < actions.len() {
                return Err(messages::merge_with_some_instead_of(short_name(&columns.table_name)));
            }
        }
        Ok(columns)
    }

    fn merge_clause(
        &mut self,
        clause: &'a MergeClause,
        found: &Found,
        sides: &Sides,
        merge: &'a Merge,
    ) -> Result<BoundMergeClause> {
        self.line = clause.line;
        let both = || sides.target.iter().chain(&sides.source).cloned().collect();
        let visible = match clause.when {
            MergeWhen::Matched => both(),
            MergeWhen::NotMatched => sides.source.clone(),
            MergeWhen::NotMatchedBySource => sides.target.clone(),
        };
        let bound = self.clause_over(clause, found, visible, merge);
        let Err(error) = bound else { return bound };
        let is_unknown = matches!(error.number, 207 | 4104) && clause.when != MergeWhen::Matched;
        // A name of the other side is there, but not for this clause.
        if is_unknown && self.clause_over(clause, found, both(), merge).is_ok() {
            let name = name_in(&error);
            return Err(match clause.when {
                MergeWhen::NotMatched => messages::merge_without_target(&name),
                MergeWhen::Matched | MergeWhen::NotMatchedBySource => messages::merge_without_source(&name),
            });
        }
        Err(error)
    }

    fn clause_over(
        &mut self,
        clause: &'a MergeClause,
        found: &Found,
        columns: Vec<ScopeColumn>,
        merge: &'a Merge,
    ) -> Result<BoundMergeClause> {
        let level = Level::Select(SelectLevel {
            columns,
            ..SelectLevel::default()
        });
        let (bound, _) = self.within(level, |binder| {
            let condition = match &clause.condition {
                Some(condition) => Some(binder.search_condition(condition)?),
                None => None,
            };
            let action = match &clause.action {
                MergeAction::Delete => BoundMergeAction::Delete,
                MergeAction::Update(written) => {
                    let (assignments, variables) =
                        binder.one_expression(|binder| binder.assignments(written, found))?;
                    BoundMergeAction::Update { assignments, variables }
                }
                MergeAction::Insert { columns, values } => {
                    binder.merge_insert(found, merge, columns, values.as_deref())?
                }
            };
            Ok(BoundMergeClause {
                when: clause.when,
                condition,
                action,
            })
        })?;
        Ok(bound)
    }

    fn merge_insert(
        &mut self,
        found: &Found,
        merge: &Merge,
        listed: &[Identifier],
        given: Option<&'a [Expression]>,
    ) -> Result<BoundMergeAction> {
        let columns = &found.columns;
        let identity_on = self.takes_identity(&found.target);
        let is_all = listed.is_empty();
        let listed = match (given, &found.shown) {
            (None, _) => Vec::new(),
            (_, None) => listed_columns(columns, listed, identity_on)?,
            (_, Some(shown)) => shown_columns(columns, shown, (&merge.target, listed), identity_on)?,
        };
        let given = given.unwrap_or_default();
        check_count(given.len(), listed.len(), is_all)?;
        let values = self.one_expression(|binder| {
            let pairs = given.iter().zip(&listed);
            pairs
                .map(|(value, &column)| binder.insert_value(value, columns, column))
                .collect::<Result<Vec<_>>>()
        })?;
        let rows = InsertRows::Values(vec![values]);
        require_nothing_made(columns, &listed, Some(&rows))?;
        let InsertRows::Values(mut rows) = rows else {
            return Err(Error::assertion("rows that were made as values"));
        };
        let identity = columns.columns.iter().position(|column| column.identity);
        let sets_identity = identity.is_some_and(|identity| listed.contains(&identity));
        if sets_identity && !identity_on {
            return Err(messages::identity_insert_off(short_name(&columns.table_name)));
        }
        let assignment = |column: usize| match listed.iter().position(|&other| other == column) {
            Some(position) => Assignment::Source(position),
            None if Some(column) == identity => Assignment::Identity,
            None => Assignment::Default,
        };
        Ok(BoundMergeAction::Insert {
            values: rows.pop().unwrap_or_default(),
            assignments: (0..columns.columns.len()).map(assignment).collect(),
            sets_identity,
        })
    }
}

/// The columns that a target which is a query is asked for.
fn asked(merge: &Merge) -> Asked {
    let mut names = Vec::new();
    let mut has_rows_alone = true;
    for clause in &merge.clauses {
        match &clause.action {
            MergeAction::Delete => {}
            MergeAction::Update(written) => {
                has_rows_alone = false;
                names.extend(names_set(written));
            }
            MergeAction::Insert { columns, .. } if columns.is_empty() => return Asked::All,
            MergeAction::Insert { columns, .. } => {
                has_rows_alone = false;
                names.extend(columns.iter().map(|column| column.text.clone()));
            }
        }
    }
    match has_rows_alone {
        true => Asked::Rows,
        false => Asked::These(names),
    }
}

fn sides_of(found: &Found) -> Sides {
    let is_mark = |column: &ScopeColumn| column.qualifier == MERGE_MARK;
    let is_target = |column: &ScopeColumn| column.qualifier.eq_ignore_ascii_case(&found.names[0]);
    let mark = found.clause.columns.iter().find(|column| is_mark(column));
    let own = found.clause.columns.iter().filter(|column| !is_mark(column)).cloned();
    let (target, source) = own.partition(is_target);
    Sides {
        source,
        target,
        mark: mark.map(|column| column.index),
    }
}

/// The name that an error says is not there.
fn name_in(error: &Error) -> String {
    let quote = |letter: char| letter == '\'' || letter == '"';
    error.message.split(quote).nth(1).unwrap_or_default().to_owned()
}
