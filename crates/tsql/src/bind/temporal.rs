//! Temporal tables: FOR SYSTEM_TIME, the period of a target, the history table that a change writes to.
//!
//! ```text
//! FOR SYSTEM_TIME         versions of rows whose period is [start, end)
//! AS OF m                 start <= m and end > m
//! FROM a TO b             start < b and end > a
//! BETWEEN a AND b         start <= b and end > a
//! CONTAINED IN (a, b)     start >= a and end <= b
//! ALL                     every one
//! ```
//! (sql-docs, "FROM clause plus JOIN, APPLY, PIVOT", and "Temporal tables".) The rows are those of the table and of its history table, one
//! behind the other, as of a derived table. Of history, versions without duration are left out ("FOR SYSTEM_TIME filters out rows that have a
//! period of validity with zero duration"), and those whose retention is over ("all queries on the temporal table automatically filter out
//! historical rows matching finite retention policy", "Manage retention of historical data"). At a view the clause stands for every temporal
//! table in it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::SqlType;

use super::deduce::Asked;
use super::from::FromBuilder;
use super::query::appended;
use super::select::BoundRows;
use super::source::BoundSource;
use super::{Binder, ScopeColumn};
use crate::ast::{ComparisonOperator, Expression, SystemTime, TableReference};
use crate::messages;
use crate::plan::{Condition, Expr, ExprKind, FromUnit, JoinMethods, PeriodTarget, QueryPlan, RowAction, Target};
use crate::state::Reading;
use crate::views::retention_limit;

/// What a constant or an untyped parameter of FOR SYSTEM_TIME is read as.
const MOMENT: SqlType = SqlType::DateTime2 { scale: 7 };

/// FOR SYSTEM_TIME with its moments bound.
#[derive(Clone)]
pub(super) enum BoundSystemTime {
    AsOf(Expr),
    FromTo(Expr, Expr),
    Between(Expr, Expr),
    ContainedIn(Expr, Expr),
    All,
}

impl BoundSystemTime {
    /// Whether a moment depends on a parameter of a function.
    fn has_parameter(&self) -> bool {
        fn of(moment: &Expr) -> bool {
            let mut found = matches!(moment.kind, ExprKind::Parameter(_));
            moment.for_each_child(&mut |part| found |= of(part));
            found
        }
        match self {
            BoundSystemTime::All => false,
            BoundSystemTime::AsOf(moment) => of(moment),
            BoundSystemTime::FromTo(first, last)
            | BoundSystemTime::Between(first, last)
            | BoundSystemTime::ContainedIn(first, last) => of(first) || of(last),
        }
    }
}

/// FOR SYSTEM_TIME behind the name of a view.
pub(super) struct ViewTime {
    time: BoundSystemTime,
    /// Whether the view has a temporal table.
    is_used: Cell<bool>,
}

/// The period of a table, without its history.
pub(super) fn period_of(definition: &TableDefinition) -> Option<PeriodTarget> {
    definition.period().map(|(start, end)| PeriodTarget {
        start,
        end,
        history: None,
    })
}

/// `database.schema.table`
fn full_name(database: &Database, definition: &TableDefinition) -> String {
    format!("{}.{}.{}", database.name(), definition.schema, definition.name)
}

impl<'a> Binder<'a> {
    /// Binds FOR SYSTEM_TIME.
    ///
    /// # Errors
    /// Those of its variables.
    pub(super) fn system_time(&mut self, written: &'a SystemTime) -> Result<BoundSystemTime> {
        Ok(match written {
            SystemTime::AsOf(moment) => BoundSystemTime::AsOf(self.moment(moment)?),
            SystemTime::FromTo(first, last) => BoundSystemTime::FromTo(self.moment(first)?, self.moment(last)?),
            SystemTime::Between(first, last) => BoundSystemTime::Between(self.moment(first)?, self.moment(last)?),
            SystemTime::ContainedIn(first, last) => {
                BoundSystemTime::ContainedIn(self.moment(first)?, self.moment(last)?)
            }
            SystemTime::All => BoundSystemTime::All,
        })
    }

    fn moment(&mut self, written: &'a Expression) -> Result<Expr> {
        self.deduce(written, Asked::Assigned(MOMENT))?;
        self.expression(written)
    }

    /// Binds a view under the FOR SYSTEM_TIME behind its name, which stands for each temporal table in it.
    ///
    /// # Errors
    /// 13544 for a view of none; 13590 for a view in a view that has the clause, too; those of `work`.
    pub(super) fn under_system_time<T>(
        &mut self,
        written: Option<&'a SystemTime>,
        view: &str,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(written) = written else { return work(self) };
        if self.view_time.is_some() {
            return Err(messages::several_system_times(view));
        }
        let time = self.system_time(written)?;
        // A parameter is found from where it is written, and a table of the view may be in a subquery of its own.
        if time.has_parameter() {
            return Err(messages::not_supported(
                "FOR SYSTEM_TIME of a view at a moment that is a parameter of a function",
            ));
        }
        let time = Rc::new(ViewTime {
            time,
            is_used: Cell::new(false),
        });
        self.view_time = Some(time.clone());
        let result = work(self);
        self.view_time = None;
        match time.is_used.get() || result.is_err() {
            true => result,
            false => Err(messages::not_system_versioned(view)),
        }
    }

    /// The FOR SYSTEM_TIME of a table in FROM: its own, or that of the view around.
    ///
    /// # Errors
    /// 13544 for its own at a table that has no history; 13590 for both.
    pub(super) fn system_time_of(
        &mut self,
        reference: &'a TableReference,
        database: &Database,
        definition: &TableDefinition,
    ) -> Result<Option<BoundSystemTime>> {
        let is_versioned = definition.versioning.is_some();
        match (reference.system_time.as_deref(), &self.view_time) {
            (Some(_), _) if !is_versioned => Err(messages::not_system_versioned(&full_name(database, definition))),
            (Some(_), Some(_)) => Err(messages::several_system_times(&full_name(database, definition))),
            (Some(written), None) => self.system_time(written).map(Some),
            (None, Some(of_view)) if is_versioned => {
                of_view.is_used.set(true);
                Ok(Some(of_view.time.clone()))
            }
            (None, _) => Ok(None),
        }
    }

    /// The versions of a temporal table's rows.
    pub(super) fn versions(
        &mut self,
        (database, object): (&Arc<Database>, &Arc<CatalogObject>),
        time: &BoundSystemTime,
        reference: &TableReference,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let ObjectDefinition::Table(definition) = &object.definition else {
            return Err(Error::assertion("versions of something other than a table"));
        };
        let (Some(versioning), Some(period)) = (definition.versioning, definition.period()) else {
            return Err(Error::assertion("versions of a table without a period"));
        };
        let history = database.catalog.by_id(versioning.history, self.session.id);
        let history = history.ok_or_else(|| Error::assertion("a temporal table without its history"))?;
        let plain = TableReference {
            system_time: None,
            shows_row_places: false,
            ..reference.clone()
        };
        let current = self.version_rows((database, object), &plain, period, |binder, start, end| {
            binder.in_time(time, start, end)
        })?;
        let former = self.version_rows((database, &history), &plain, period, |binder, start, end| {
            let mut conditions = binder.in_time(time, start, end)?;
            conditions.push(binder.comparison(ComparisonOperator::NotEqual, start.clone(), end.clone())?);
            if let Some(retention) = versioning.retention {
                let limit = crate::parser::parse_expression(&retention_limit(retention)).map_err(messages::syntax)?;
                let limit = Binder::new(binder.session, binder.variables).expression(&limit)?;
                conditions.push(binder.comparison(ComparisonOperator::Greater, end.clone(), limit)?);
            }
            Ok(conditions)
        })?;
        let rows = appended(vec![current, former], false)?;
        let plan = QueryPlan {
            root: rows.node,
            width: rows.width,
            columns: rows.columns,
        };
        let path = (definition.schema.clone(), database.name());
        let mut source = self.derived_columns(plan, &[], &definition.name, exposed, from)?;
        for (column, own) in source.columns.iter_mut().zip(&definition.columns) {
            column.is_hidden = own.is_hidden();
            column.row_guid = own.is_row_guid;
            column.path = reference.alias.is_none().then(|| path.clone());
        }
        Ok(source)
    }

    /// The rows of one of the two tables that conditions over its period let through.
    fn version_rows(
        &mut self,
        (database, object): (&Arc<Database>, &Arc<CatalogObject>),
        reference: &TableReference,
        (start, end): (usize, usize),
        conditions: impl FnOnce(&Self, &Expr, &Expr) -> Result<Vec<Condition>>,
    ) -> Result<BoundRows> {
        let mut from = FromBuilder::default();
        let name = object
            .definition
            .qualified_name()
            .map_or("", |(_, name)| name)
            .to_owned();
        let source = self.base_table(database.clone(), object, reference, name, &mut from)?;
        let column = |place: usize| source.columns.get(place).map(ScopeColumn::expression);
        let (Some(start), Some(end)) = (column(start), column(end)) else {
            return Err(Error::assertion("a period without its columns"));
        };
        let conjuncts = conditions(self, &start, &end)?;
        let columns = source.columns.iter().map(ScopeColumn::result).collect();
        let unit = FromUnit {
            node: source.node,
            lateral: false,
            methods: JoinMethods::ANY,
        };
        Ok(BoundRows {
            node: self.logical_from(vec![unit], conjuncts, from.width, false),
            width: from.width,
            columns,
        })
    }

    /// The conditions of FOR SYSTEM_TIME over a period.
    fn in_time(&self, time: &BoundSystemTime, start: &Expr, end: &Expr) -> Result<Vec<Condition>> {
        use ComparisonOperator::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let (of_start, of_end) = match time {
            BoundSystemTime::All => return Ok(Vec::new()),
            BoundSystemTime::AsOf(moment) => ((LessOrEqual, moment), (Greater, moment)),
            BoundSystemTime::FromTo(first, last) => ((Less, last), (Greater, first)),
            BoundSystemTime::Between(first, last) => ((LessOrEqual, last), (Greater, first)),
            BoundSystemTime::ContainedIn(first, last) => ((GreaterOrEqual, first), (LessOrEqual, last)),
        };
        let over = |column: &Expr, (operator, moment): (ComparisonOperator, &Expr)| {
            self.comparison(operator, column.clone(), moment.clone())
        };
        Ok(vec![over(start, of_start)?, over(end, of_end)?])
    }

    /// The period of a target with the table that its former rows go to.
    ///
    /// # Errors
    /// Those of opening that table.
    pub(super) fn with_history(&self, target: &Target) -> Result<Option<PeriodTarget>> {
        let Target::Table(table) = target else { return Ok(None) };
        let definition = table.table.definition();
        let (Some(period), Some(versioning)) = (period_of(definition), definition.versioning) else {
            return Ok(None);
        };
        let database = table.table.database();
        let history = database.catalog.by_id(versioning.history, self.session.id);
        let history = history.ok_or_else(|| Error::assertion("a temporal table without its history"))?;
        Ok(Some(PeriodTarget {
            history: Some(Target::Table(self.bound_table(
                database,
                &history,
                Reading::default(),
            )?)),
            ..period
        }))
    }

    /// Rows of a history table are changed by its temporal table alone.
    ///
    /// # Errors
    /// 13559 to 13562.
    pub(super) fn require_no_history(&self, target: &Target, action: RowAction) -> Result<()> {
        let Target::Table(table) = target else { return Ok(()) };
        if table.table.definition().history_of.is_none() || self.session.cleans_history() {
            return Ok(());
        }
        let name = &table.full_name;
        Err(match action {
            _ if self.is_merge => messages::merge_into_history(name),
            RowAction::Insert => messages::insert_into_history(name),
            RowAction::Update => messages::update_of_history(name),
            RowAction::Delete => messages::delete_from_history(name),
        })
    }
}
