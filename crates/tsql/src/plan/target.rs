//! The target of a change, with the requirements on its rows: the bound side of a change (`modify` executes it).
//!
//! Invariant: code that skips a station of `modify` first asks [`TargetColumns::needs_row_path`]. A feature that must see each changed row
//! gets a line in the table there, which disables every fast path for it.

use std::sync::{Arc, OnceLock};

use engine::error::Result;
use engine::types::{Collation, HeldForm, HeldValue, SqlType, Value};

use super::{BoundTable, ComputedTarget, Condition, Expr, Firing, KeptView};
use crate::modules::TableVariableShape;
use crate::scalar::convert::{recollated, store};
use crate::sink::ResultColumn;

/// What a statement changes.
#[derive(Clone, Debug)]
pub enum Target {
    Table(Arc<BoundTable>),
    /// A table variable: its slot and its shape.
    Variable(usize, Arc<TableVariableShape>),
    /// A view whose INSTEAD OF trigger runs in place of the change: nothing is written.
    View(Arc<ViewTarget>),
}

/// A view that triggers stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewTarget {
    pub database_id: u16,
    pub object_id: u32,
    /// Its own name.
    pub name: String,
}

impl Target {
    /// Whether writing a row needs long values of it in memory: the filter of an index compares a column of a `max` type.
    pub fn compares_long_values(&self) -> bool {
        let Target::Table(target) = self else { return false };
        let (indexes, layout) = (&target.table.definition().indexes, target.table.layout());
        let mut filters = indexes.iter().filter_map(|index| index.filter.as_ref());
        filters.any(|filter| {
            let is_long = |column: &usize| layout.column_type(*column).is_some_and(|own| own.is_max());
            let columns = filter.terms.iter().map(|term| term.column);
            columns.filter(is_long).any(|column| filter.compares(column))
        })
    }
}

#[derive(Clone, Debug)]
pub struct TargetColumn {
    pub name: String,
    pub sql_type: SqlType,
    /// The collation of its strings.
    pub collation: Collation,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// Whether it is the identity column.
    pub identity: bool,
    pub default: Option<Expr>,
    /// What computes it from the other columns of the row.
    pub computed: Option<ComputedTarget>,
    /// Whether it is a column of the period SYSTEM_TIME, which no statement gives a value.
    pub is_generated: bool,
    /// Whether an INSERT without a list of columns leaves it out, as `*` does.
    pub is_hidden: bool,
}

impl TargetColumn {
    /// Whether the bytes of a held value are those that the column stores.
    fn takes_held(&self, held: &HeldValue) -> bool {
        let form = HeldForm::of(self.sql_type, self.collation);
        self.sql_type != SqlType::XML && self.sql_type.is_max() && form == Some(held.form())
    }

    /// A value as the column keeps it.
    ///
    /// # Errors
    /// Those of [`store`].
    pub(crate) fn store(&self, value: Value, from: SqlType, table_name: &str) -> Result<Value> {
        let value = match &value {
            Value::Held(held) if !self.takes_held(held) => value.whole()?,
            _ => value,
        };
        let value = match self.sql_type.is_character() {
            true => recollated(value, from, self.collation),
            false => value,
        };
        if from == self.sql_type {
            return Ok(value);
        }
        let stored = store(&value, from, self.sql_type, table_name, &self.name)?;
        Ok(stored.collated(self.collation))
    }
}

/// One end of a foreign key: columns of the target, and the table at the other end.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Name of the constraint.
    pub name: String,
    /// Columns of the target, in the order of the constraint.
    pub columns: Vec<usize>,
    /// The table at the other end.
    pub table: Arc<BoundTable>,
    /// Its columns, in the same order.
    pub other_columns: Vec<usize>,
    /// The place of an index of it whose first keys are `other_columns` in some order. `None`: its rows are gone through.
    pub index: Option<usize>,
    /// Whether both ends are the target.
    pub is_own: bool,
    /// When it is referred to: the only action whose old keys are judged. `None`: those of every action.
    pub judged_after: Option<RowAction>,
}

/// What is done to the rows that refer to a row of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CascadeAction {
    /// They go.
    Delete,
    /// They get the new key.
    Follow,
    SetNull,
    SetDefault,
}

/// An action of a foreign key that refers to the target.
#[derive(Clone, Debug)]
pub struct Cascade {
    /// The foreign key, as the target sees it.
    pub reference: Reference,
    /// What has to be done to the target's row: it goes, or gets another key.
    pub follows: RowAction,
    pub action: CascadeAction,
    /// The types of the target's columns, in the order of the constraint.
    pub types: Vec<SqlType>,
    /// The table at the other end, whose rows are changed.
    pub target: Target,
    /// What its rows owe.
    pub columns: Arc<TargetColumns>,
}

/// The period SYSTEM_TIME of a target.
#[derive(Clone, Debug)]
pub struct PeriodTarget {
    /// The column that says since when a row is as it is.
    pub start: usize,
    /// The column that says until when.
    pub end: usize,
    /// Where rows go that the change replaces or takes away, while SYSTEM_VERSIONING is ON.
    pub history: Option<Target>,
}

impl PeriodTarget {
    /// The table of former rows.
    pub fn history_table(&self) -> Option<&Arc<BoundTable>> {
        match &self.history {
            Some(Target::Table(table)) => Some(table),
            _ => None,
        }
    }
}

/// A CHECK over a row of a target.
#[derive(Clone, Debug)]
pub struct Check {
    /// Name of the constraint.
    pub name: String,
    /// What must not be false.
    pub condition: Condition,
    /// The column, when it reads just one.
    pub column: Option<String>,
    /// Whether it calls a function of the user, which may look at the table: it is judged when the row is written.
    pub calls_module: bool,
    /// The place of the column, if it is a rule that is bound to one. An UPDATE of other columns does not judge it.
    pub rule_of: Option<usize>,
}

/// All columns of a target, and what its rows must satisfy.
#[derive(Clone, Debug, Default)]
pub struct TargetColumns {
    pub columns: Vec<TargetColumn>,
    /// CHECK constraints that are on, and the rules of columns.
    pub checks: Vec<Check>,
    /// What a new row must be for the views WITH CHECK OPTION that it goes through: true of all of them.
    pub view_conditions: Vec<Condition>,
    /// Foreign keys of the target that the change may break: a new row must find its key at the other end.
    pub references: Vec<Reference>,
    /// Foreign keys of other tables, and of itself, that refer to the target: a row that goes must not be referred to.
    pub referenced_by: Vec<Reference>,
    /// What foreign keys of other tables do when rows of the target go or get other keys.
    pub cascades: Vec<Cascade>,
    /// The period SYSTEM_TIME, if the target has it.
    pub period: Option<PeriodTarget>,
    /// The indexed views that read the target and that the change may change.
    pub views: Vec<KeptView>,
    /// The triggers that the statement fires, if the target has any for what it does.
    pub firing: Option<Arc<Firing>>,
    /// Whether WRITETEXT or UPDATETEXT changes the target: then no trigger fires, and no row version advances.
    pub is_text_write: bool,
    /// Whether an index of the target asks for settings of the session.
    pub needs_settings: bool,
    /// Whether a key of the target ignores duplicates: an INSERT leaves out rows whose key is there already.
    pub ignores_duplicates: bool,
    /// `database.schema.table`
    pub table_name: String,
    /// What every execution asks of them.
    pub known: Known,
}

/// What a change asks of its target's columns each time it is executed, found once for a plan.
#[derive(Clone, Copy, Debug)]
pub struct TargetFacts {
    /// Whether there are computed columns that rows have.
    pub has_computed: bool,
    /// Whether there are computed columns of which rows have nothing.
    pub has_virtual: bool,
    /// As [`TargetColumns::row_version`].
    pub row_version: Option<usize>,
    /// Whether new rows of an INSERT and of an UPDATE are looked at beside being written ([`TargetColumns::needs_row_path`] without OUTPUT), or
    /// writing them compares long values ([`Target::compares_long_values`]).
    pub looks_at_rows: [bool; 2],
}

/// Facts that are known once they were asked for. A copy knows none: it may be given other columns.
#[derive(Debug, Default)]
pub struct Known(OnceLock<TargetFacts>);

impl Clone for Known {
    fn clone(&self) -> Known {
        Known::default()
    }
}

/// What is done to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowAction {
    /// It is new.
    Insert,
    /// It gets other values.
    Update,
    /// It goes.
    Delete,
}

impl TargetColumns {
    /// The column that gets the database's next row version whenever a row is written, whatever else the row gets; none under WRITETEXT and
    /// UPDATETEXT.
    pub fn row_version(&self) -> Option<usize> {
        let mut columns = self.columns.iter();
        let is_wanted = !self.is_text_write;
        columns.position(|column| is_wanted && column.sql_type == SqlType::RowVersion)
    }

    /// What an execution asks of them; `target` is what they are the columns of. They are complete when they are first asked for.
    pub fn facts(&self, target: &Target) -> &TargetFacts {
        self.known.0.get_or_init(|| TargetFacts {
            has_computed: self.has_computed(true),
            has_virtual: self.has_computed(false),
            row_version: self.row_version(),
            looks_at_rows: [RowAction::Insert, RowAction::Update]
                .map(|action| self.needs_row_path(action, false) || target.compares_long_values()),
        })
    }

    /// Sets the columns of the period, which every UPDATE does. Station 1 of `modify` knows the values.
    pub fn set_period(&self, assignments: &mut Vec<(usize, Expr)>) {
        let Some(period) = self.period.as_ref().filter(|_| !assignments.is_empty()) else {
            return;
        };
        for place in [period.start, period.end] {
            let sql_type = self.columns.get(place).map_or(SqlType::Int, |column| column.sql_type);
            assignments.push((place, Expr::constant(Value::Null, sql_type)));
        }
    }

    /// Sets the computed columns that rows have and that depend on what an UPDATE sets, with what their indexes and keys owe then. Station 1 of
    /// `modify` knows the values.
    pub fn set_computed(&self, assignments: &mut Vec<(usize, Expr)>) {
        for (place, column) in self.columns.iter().enumerate() {
            let Some(computed) = column.computed.as_ref().filter(|computed| computed.is_stored) else {
                continue;
            };
            let mut read = vec![false; self.columns.len()];
            computed.expression.mark_columns(&mut read);
            if assignments.iter().any(|(set, _)| read.get(*set) == Some(&true)) {
                assignments.push((place, Expr::constant(Value::Null, column.sql_type)));
            }
        }
    }

    /// Whether it has computed columns that rows have, or those of which they have nothing.
    pub fn has_computed(&self, stored: bool) -> bool {
        let mut computed = self.columns.iter().filter_map(|column| column.computed.as_ref());
        computed.any(|computed| computed.is_stored == stored)
    }

    /// Whether rows must be built as values, old and new, and go through every station of `modify`, one by one. False: a statement may
    /// move their bytes, or change columns of them without reading the others, as long as NULLs are refused.
    ///
    /// ```text
    /// feature           INSERT     UPDATE                            DELETE
    /// OUTPUT            yes        yes                               yes
    /// triggers          yes        yes                               yes
    /// indexed views     yes        yes                               yes
    /// CHECK             yes        yes                               -
    /// CHECK OPTION      yes        yes                               -
    /// computed columns  yes        yes                               -
    /// rowversion        yes        yes                               -
    /// references        yes        yes                               -
    /// referenced_by     -          yes                               yes
    /// xml               yes        yes                               -
    /// cascades          -          yes                               yes
    /// SYSTEM_TIME       yes        yes                               -
    /// history           -          yes                               yes
    /// IGNORE_DUP_KEY    yes        -                                 -
    /// ```
    /// The binder puts those references here that the action and the columns set can break, so an UPDATE of other columns has none.
    pub fn needs_row_path(&self, action: RowAction, has_output: bool) -> bool {
        let makes_rows = action != RowAction::Delete;
        let takes_rows = action != RowAction::Insert;
        has_output
            || self.firing.is_some()
            || !self.views.is_empty()
            || action == RowAction::Insert && self.ignores_duplicates
            || makes_rows && !self.checks.is_empty()
            || makes_rows && !self.view_conditions.is_empty()
            || makes_rows && (self.has_computed(true) || self.has_computed(false))
            || makes_rows && self.columns.iter().any(|column| column.sql_type == SqlType::XML)
            || makes_rows && self.row_version().is_some()
            || makes_rows && !self.references.is_empty()
            || takes_rows && !self.referenced_by.is_empty()
            || takes_rows && !self.cascades.is_empty()
            || makes_rows && self.period.is_some()
            || takes_rows && self.period.as_ref().is_some_and(|period| period.history.is_some())
    }
}

/// Where a column of a new row comes from.
#[derive(Clone, Debug)]
pub enum Assignment {
    /// A column of the source.
    Source(usize),
    /// The column's default, or NULL.
    Default,
    /// The next identity value.
    Identity,
}

/// Where OUTPUT goes.
pub enum OutputTarget {
    Client,
    /// A table; each of its columns takes an output column or its default.
    Into(Target, Arc<TargetColumns>, Vec<Assignment>),
}

/// OUTPUT: expressions over a row of deleted columns, then inserted columns, then what was done (`$action`: INSERT, UPDATE, DELETE), and in
/// MERGE the row of its join.
pub struct BoundOutput {
    pub expressions: Vec<Expr>,
    /// The names and types of those that go to the target.
    pub columns: Vec<ResultColumn>,
    /// Where they go.
    pub target: OutputTarget,
    /// Those of the others, behind them, which a second OUTPUT shows the client.
    pub shown: Vec<ResultColumn>,
}

impl BoundOutput {
    /// Whether any of it goes to the client.
    pub fn goes_to_client(&self) -> bool {
        matches!(self.target, OutputTarget::Client) || !self.shown.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column() -> TargetColumn {
        TargetColumn {
            name: "a".into(),
            sql_type: SqlType::Int,
            collation: Collation::default(),
            nullable: true,
            identity: false,
            default: None,
            computed: None,
            is_generated: false,
            is_hidden: false,
        }
    }

    fn with_period(columns: &TargetColumns, history: Option<Target>) -> TargetColumns {
        TargetColumns {
            period: Some(PeriodTarget {
                start: 0,
                end: 1,
                history,
            }),
            ..columns.clone()
        }
    }

    /// One feature each, with the actions that it keeps on the row path.
    #[test]
    fn every_feature_keeps_the_actions_it_concerns_on_the_row_path() {
        use RowAction::{Delete, Insert, Update};
        let column = column();
        let plain = TargetColumns {
            columns: vec![column.clone()],
            ..TargetColumns::default()
        };
        // What is known of the plain ones is not known of those that are made from them.
        let variable = Target::Variable(0, Arc::default());
        assert_eq!(plain.facts(&variable).looks_at_rows, [false, false]);
        let check = TargetColumns {
            checks: vec![Check {
                name: "c".into(),
                condition: Condition::Constant(Some(true)),
                column: None,
                calls_module: false,
                rule_of: None,
            }],
            ..plain.clone()
        };
        let viewed = TargetColumns {
            view_conditions: vec![Condition::Constant(Some(true))],
            ..plain.clone()
        };
        let versioned = TargetColumns {
            columns: vec![TargetColumn {
                sql_type: SqlType::RowVersion,
                ..column.clone()
            }],
            ..plain.clone()
        };
        let computed = TargetColumns {
            columns: vec![TargetColumn {
                computed: Some(ComputedTarget {
                    expression: Expr::constant(Value::Int(1), SqlType::Int),
                    is_stored: true,
                }),
                ..column
            }],
            ..plain.clone()
        };
        let ignoring = TargetColumns {
            ignores_duplicates: true,
            ..plain.clone()
        };
        let timed = with_period(&plain, None);
        let kept = with_period(&plain, Some(Target::Variable(0, Arc::default())));
        let table: [(&TargetColumns, bool, [bool; 3]); 9] = [
            (&plain, false, [false, false, false]),
            (&plain, true, [true, true, true]),
            (&check, false, [true, true, false]),
            (&viewed, false, [true, true, false]),
            (&computed, false, [true, true, false]),
            (&versioned, false, [true, true, false]),
            (&ignoring, false, [true, false, false]),
            (&timed, false, [true, true, false]),
            (&kept, false, [true, true, true]),
        ];
        for (columns, has_output, expected) in table {
            let found = [Insert, Update, Delete].map(|action| columns.needs_row_path(action, has_output));
            assert_eq!(found, expected, "{columns:?}");
            let [insert, update, _] = expected;
            let facts = columns.facts(&variable);
            assert!(has_output || facts.looks_at_rows == [insert, update], "{columns:?}");
            assert_eq!(facts.row_version, columns.row_version());
            let computed = [true, false].map(|stored| columns.has_computed(stored));
            assert_eq!([facts.has_computed, facts.has_virtual], computed);
        }
    }
}
