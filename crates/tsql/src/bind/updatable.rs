//! Derived tables, common table expressions and views as targets of INSERT, UPDATE and DELETE.
//!
//! Such a statement changes the rows of one table below the query. The query is bound with additional columns: after its own come all
//! columns of that table and the row's locator. So whatever the query does with the rows (TOP, ROW_NUMBER, joins), the remaining ones can
//! be found again.
//!
//! ```text
//! wide row of the statement   | shown columns | columns of the table | locator |
//! ```
//! The table (sql-docs, "CREATE VIEW", updatable views) is, for DELETE, the only source. For UPDATE and INSERT it is the table to which all
//! set columns belong; an INSERT without a column list sets all. Each row of the query must correspond to one row of the table: no
//! DISTINCT, GROUP BY, aggregates or set operators. An INSERT does not run the query: it only takes the table and the visible columns from
//! it.
//!
//! WITH CHECK OPTION "makes sure the data remains visible through the view after the modification" (sql-docs, "CREATE VIEW"): the new row
//! must satisfy the conditions of the view and of all views below it, expressed over the columns of the table. So each query on the way
//! passes up its conditions ([`Visible`]) in terms of the table. A condition that refers to another source of FROM is refused.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType};

use super::from::{FromBuilder, FromClause, StoredSource};
use super::{Binder, not_supported};
use crate::ast::{
    CreateView, ExpressionKind, Identifier, Query, QueryBody, Select, SelectItem, SetOperator, TableSource,
};
use crate::messages;
use crate::plan::{Condition, Expr, ExprKind, Target};
use crate::sink::ResultColumn;

/// The source of FROM that is to be changed, if it is not a table itself.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// What the statement calls it.
    pub(super) name: String,
    /// Whether it names a schema as well: then it is a view, and no alias.
    pub(super) is_qualified: bool,
    pub(super) columns: Asked,
}

/// The columns that are to be changed.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// None: rows go as a whole (DELETE).
    Rows,
    /// Those that UPDATE sets, or INSERT lists.
    These(Vec<String>),
    /// All that are shown: an INSERT without a list.
    All,
}

/// What kind of query a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryKind {
    Derived,
    CommonTable,
    View,
}

/// Asks the SELECT that is bound next for the rows of a table below it.
#[derive(Debug)]
pub(super) struct Request {
    wanted: Wanted,
    /// Names given to the columns from outside; empty when they have their own.
    names: Vec<String>,
    is_derived: bool,
}

/// What such a SELECT answers.
pub(super) struct Inside {
    /// The source, as it is to be found in the statement's FROM.
    source: StoredSource,
    target: Target,
    /// For each shown column: the table's column that it is.
    shown: Vec<Option<usize>>,
    /// Columns behind those shown, the locator not counted.
    width: usize,
    /// No row is to be made: DELETE.
    is_delete: bool,
    visible: Visible,
}

/// What makes a row of the table one of a query's, over the columns of the table.
#[derive(Clone, Default)]
pub(super) struct Visible {
    /// What each shown column is; `None` for one that is not computed from the table's row alone.
    shown: Vec<Option<Expr>>,
    /// What the queries so far ask of a row; `None` when that cannot be said of the table's row alone.
    asked: Option<Vec<Condition>>,
    /// TOP or OFFSET stands in one of the queries.
    is_limited: bool,
    /// The table is read more than once by them.
    is_repeated: bool,
    /// What views WITH CHECK OPTION ask of a new row.
    checked: Vec<Condition>,
}

/// A stored source below a query.
#[derive(Clone)]
pub(super) struct Below {
    pub(super) target: Target,
    /// The shown columns: name, and the table's column.
    pub(super) shown: Vec<(String, Option<usize>)>,
    pub(super) offset: usize,
    visible: Visible,
}

impl Below {
    /// What views WITH CHECK OPTION ask of a new row of the table.
    pub(super) fn checked(&self) -> &[Condition] {
        &self.visible.checked
    }
}

impl StoredSource {
    /// What an expression over the wide row is over the table's row; `None` when it reads anything else of the wide row.
    fn over_table(&self, mut expression: Expr) -> Option<Expr> {
        self.put_over_table(&mut expression).ok()?;
        Some(expression)
    }

    fn condition_over_table(&self, mut condition: Condition) -> Option<Condition> {
        let changed = condition.change_expressions(&mut |expression| self.put_over_table(expression));
        changed.ok().map(|()| condition)
    }

    fn put_over_table(&self, expression: &mut Expr) -> std::result::Result<(), OtherSource> {
        let ExprKind::Column(index) = expression.kind else {
            let is_query = matches!(expression.kind, ExprKind::Aggregate(_) | ExprKind::Window(_));
            return match is_query {
                true => Err(OtherSource),
                false => expression.change_children(&mut |child| self.put_over_table(child)),
            };
        };
        if (self.offset..self.locator).contains(&index) {
            expression.kind = ExprKind::Column(index - self.offset);
            return Ok(());
        }
        let below = self.below.as_ref().ok_or(OtherSource)?;
        let shown = index
            .checked_sub(below.offset)
            .and_then(|position| below.visible.shown.get(position)?.clone());
        *expression = shown.ok_or(OtherSource)?;
        Ok(())
    }

    /// The table's column at a place of the wide row.
    fn column_at(&self, index: usize) -> Option<usize> {
        match &self.below {
            None => (self.offset..self.locator)
                .contains(&index)
                .then(|| index - self.offset),
            Some(below) => index
                .checked_sub(below.offset)
                .and_then(|position| below.shown.get(position)?.1),
        }
    }

    fn shows(&self, index: usize) -> bool {
        let (first, count) = match &self.below {
            None => (self.offset, self.locator - self.offset),
            Some(below) => (below.offset, below.shown.len()),
        };
        (first..first + count).contains(&index)
    }
}

/// An expression reads another source than the table.
struct OtherSource;

impl Binder<'_> {
    /// Notes, before the query of a source is bound, that its rows are to be changed.
    ///
    /// # Errors
    /// 4416, 4417, 4426 for a query of set operators.
    pub(super) fn ask_inside(
        &mut self,
        (exposed, own_name): (&str, &str),
        names: &[Identifier],
        body: &QueryBody,
        kind: QueryKind,
        from: &FromBuilder,
    ) -> Result<()> {
        let Some(wanted) = &from.wanted else { return Ok(()) };
        let is_it = match wanted.is_qualified {
            true => kind == QueryKind::View && own_name.eq_ignore_ascii_case(&wanted.name),
            false => [exposed, own_name]
                .iter()
                .any(|name| name.eq_ignore_ascii_case(&wanted.name)),
        };
        if !is_it {
            return Ok(());
        }
        let is_derived = kind == QueryKind::Derived;
        if let QueryBody::SetOperations { others, .. } = body {
            let is_union_all = others.iter().all(|(operator, _)| *operator == SetOperator::UnionAll);
            return Err(match (is_derived, is_union_all) {
                (true, _) => messages::derived_table_of_union(&wanted.name),
                (false, true) => messages::view_of_union_all(&wanted.name),
                (false, false) => messages::view_of_union(&wanted.name),
            });
        }
        self.request = Some(Request {
            wanted: wanted.clone(),
            names: names.iter().map(|name| name.text.clone()).collect(),
            is_derived,
        });
        Ok(())
    }

    /// The places of FROM for a SELECT that was asked. A single source may itself be a query: then it is asked in turn.
    pub(super) fn builder_for(&self, request: &Request, select: &Select) -> FromBuilder {
        let mut builder = FromBuilder::with_locators();
        let name = match select.from.as_slice() {
            [TableSource::Table(reference)] => match &reference.alias {
                Some(alias) => Some(alias.text.clone()),
                None => Some(reference.name.object().to_owned()),
            },
            [TableSource::Derived { alias, .. }] => Some(alias.text.clone()),
            _ => None,
        };
        builder.wanted = name.map(|name| Wanted {
            name,
            is_qualified: false,
            columns: request.wanted.columns.inside(&request.names, select),
        });
        builder
    }

    /// Chooses the table and adds its columns and locator to what a SELECT answers.
    ///
    /// # Errors
    /// 4403, 4405, 4406 and their like for derived tables, when it does not come down to one table.
    pub(super) fn answer_inside(
        &mut self,
        request: &Request,
        builder: &mut FromBuilder,
        clause: &mut FromClause,
        items: &mut Vec<(Expr, ResultColumn)>,
        asked: &Restriction<'_>,
    ) -> Result<()> {
        if asked.is_grouped {
            return Err(request.error(Refusal::Grouped));
        }
        let stored = builder.stored.take().unwrap_or_default();
        let source = request.choose(stored, clause, items)?;
        let visible = self.visible(&source, clause, items, asked);
        let shown = items
            .iter()
            .map(|(item, _)| match item.kind {
                ExprKind::Column(index) => source.column_at(index),
                _ => None,
            })
            .collect();
        let (target, _) = super::target::claim(clause, &source, &[], &request.wanted.name, self)?;
        let columns = self.target_columns(&target)?;
        for (position, column) in columns.columns.iter().enumerate() {
            items.push(hidden(source.offset + position, column.sql_type, column.nullable));
        }
        items.push(hidden(source.locator, SqlType::VarBinary(Length::Max), true));
        self.inside = Some(Inside {
            width: columns.columns.len(),
            source,
            target,
            shown,
            is_delete: matches!(request.wanted.columns, Asked::Rows),
            visible,
        });
        Ok(())
    }

    /// What makes a row of the chosen source a row of the SELECT.
    fn visible(
        &self,
        source: &StoredSource,
        clause: &FromClause,
        items: &[(Expr, ResultColumn)],
        asked: &Restriction<'_>,
    ) -> Visible {
        let below = source.below.as_ref().map(|below| &below.visible);
        let of_below = below.map_or(Some(Vec::new()), |below| below.asked.clone());
        let own = clause.conjuncts.iter().chain(asked.filter).cloned();
        let own = own.map(|condition| source.condition_over_table(condition));
        // Joined to nothing that could leave it out, the table's row is there for what it is.
        let own = own.collect::<Option<Vec<_>>>().filter(|_| clause.names.len() == 1);
        Visible {
            shown: items.iter().map(|(item, _)| source.over_table(item.clone())).collect(),
            asked: of_below.zip(own).map(|(mut all, own)| {
                all.extend(own);
                all
            }),
            is_limited: asked.is_limited || below.is_some_and(|below| below.is_limited),
            is_repeated: self.sources.iter().filter(|other| **other == source.stored).count() > 1,
            checked: below.map_or_else(Vec::new, |below| below.checked.clone()),
        }
    }

    /// Notes OFFSET of a query that was bound to have its rows changed.
    pub(super) fn note_offset(&mut self, query: &Query) {
        if let Some(inside) = &mut self.inside {
            inside.visible.is_limited |= query.offset.is_some();
        }
    }

    /// Has new rows of a view's table checked, if the view is WITH CHECK OPTION and rows are to be made through it.
    ///
    /// # Errors
    /// 4415, 4427; 40517 for a view of several sources.
    pub(super) fn check_inside(&mut self, view: &CreateView, name: &str) -> Result<()> {
        let Some(inside) = self
            .inside
            .as_mut()
            .filter(|inside| view.check_option && !inside.is_delete)
        else {
            return Ok(());
        };
        let visible = &mut inside.visible;
        if visible.is_limited {
            return Err(messages::checked_view_is_limited(name));
        }
        if visible.is_repeated {
            return Err(messages::checked_view_repeats_target(name));
        }
        let asked = visible.asked.clone();
        visible.checked = asked.ok_or_else(|| not_supported("WITH CHECK OPTION of a view of several tables"))?;
        Ok(())
    }

    /// Gives a source of FROM the table below it; `offset` is where its shown columns begin.
    pub(super) fn stored_below(
        &self,
        inside: Inside,
        exposed: &str,
        names: Vec<String>,
        offset: usize,
    ) -> StoredSource {
        let first = offset + names.len();
        StoredSource {
            stored: inside.source.stored,
            exposed: exposed.to_owned(),
            has_alias: true,
            offset: first,
            locator: first + inside.width,
            below: Some(Below {
                target: inside.target,
                shown: names.into_iter().zip(inside.shown).collect(),
                offset,
                visible: inside.visible,
            }),
        }
    }
}

impl Inside {
    /// How many columns stand behind those that the source shows.
    pub(super) fn hidden_count(&self) -> usize {
        self.width + 1
    }
}

/// What a SELECT does with the rows of its FROM.
pub(super) struct Restriction<'s> {
    pub(super) filter: Option<&'s Condition>,
    /// Its rows are groups, or not all of them.
    pub(super) is_grouped: bool,
    pub(super) is_limited: bool,
}

impl Asked {
    /// The same of the only source of a SELECT, which shows its columns under `names`, or under their own.
    fn inside(&self, names: &[String], select: &Select) -> Asked {
        match self {
            Asked::Rows => Asked::Rows,
            Asked::These(columns) => {
                let inner = columns.iter().filter_map(|column| inner_name(column, names, select));
                Asked::These(inner.collect())
            }
            Asked::All
                if select
                    .items
                    .iter()
                    .any(|item| matches!(item, SelectItem::Wildcard { .. })) =>
            {
                Asked::All
            }
            Asked::All => {
                let own = select.items.iter().filter_map(|item| match item {
                    SelectItem::Expression { expression, .. } => match &expression.kind {
                        ExpressionKind::Column(name) => Some(name.object().to_owned()),
                        _ => None,
                    },
                    _ => None,
                });
                Asked::These(own.collect())
            }
        }
    }
}

/// A column that only the statement around knows of.
pub(super) fn hidden(index: usize, sql_type: SqlType, nullable: bool) -> (Expr, ResultColumn) {
    let column = ResultColumn {
        nullable,
        ..ResultColumn::new("", sql_type)
    };
    (Expr::column(index, sql_type, nullable), column)
}

/// Why a query cannot be changed through.
enum Refusal {
    Grouped,
    SeveralTables,
    NoColumn,
}

impl Request {
    fn error(&self, refusal: Refusal) -> Error {
        let name = &self.wanted.name;
        match (refusal, self.is_derived) {
            (Refusal::Grouped, false) => messages::view_is_grouped(name),
            (Refusal::Grouped, true) => messages::derived_table_is_grouped(name),
            (Refusal::SeveralTables, false) => messages::view_of_several_tables(name),
            (Refusal::SeveralTables, true) => messages::derived_table_of_several_tables(name),
            (Refusal::NoColumn, false) => messages::view_column_is_derived(name),
            (Refusal::NoColumn, true) => messages::derived_table_column_is_derived(name),
        }
    }

    /// The source that all columns set belong to; for DELETE the only one.
    fn choose(
        &self,
        mut stored: Vec<StoredSource>,
        clause: &FromClause,
        items: &[(Expr, ResultColumn)],
    ) -> Result<StoredSource> {
        let positions: Vec<usize> = match &self.wanted.columns {
            Asked::Rows => {
                return match (stored.pop(), clause.names.len()) {
                    (Some(source), 1) => Ok(source),
                    (_, count) if count > 1 => Err(self.error(Refusal::SeveralTables)),
                    _ => Err(self.error(Refusal::NoColumn)),
                };
            }
            Asked::These(columns) => {
                let known = columns.iter().filter_map(|column| self.position_of(column, items));
                known.collect()
            }
            Asked::All => (0..items.len()).collect(),
        };
        let mut chosen: Option<usize> = None;
        for position in positions {
            let place = match items.get(position).map(|(item, _)| &item.kind) {
                Some(ExprKind::Column(index)) => stored.iter().position(|source| source.shows(*index)),
                _ => None,
            };
            let place = place.ok_or_else(|| self.error(Refusal::NoColumn))?;
            if chosen.is_some_and(|chosen| chosen != place) {
                return Err(self.error(Refusal::SeveralTables));
            }
            chosen = Some(place);
        }
        match chosen {
            Some(place) => Ok(stored.swap_remove(place)),
            // The binding of SET reports columns that do not exist; any table will do until then.
            None => stored.pop().ok_or_else(|| self.error(Refusal::NoColumn)),
        }
    }

    fn position_of(&self, column: &str, items: &[(Expr, ResultColumn)]) -> Option<usize> {
        if self.names.is_empty() {
            return items
                .iter()
                .position(|(_, item)| item.name.eq_ignore_ascii_case(column));
        }
        self.names.iter().position(|name| name.eq_ignore_ascii_case(column))
    }
}

/// What the only source of a SELECT calls the column that the SELECT shows under a name.
fn inner_name(shown: &str, names: &[String], select: &Select) -> Option<String> {
    let given = names.iter().position(|name| name.eq_ignore_ascii_case(shown));
    let mut has_wildcard = false;
    for (position, item) in select.items.iter().enumerate() {
        match item {
            SelectItem::Wildcard { .. } => has_wildcard = true,
            SelectItem::Expression { expression, alias } => {
                let own = match &expression.kind {
                    ExpressionKind::Column(name) => Some(name.object()),
                    _ => None,
                };
                let name = alias.as_ref().map(|alias| alias.text.as_str()).or(own);
                let is_it = match given {
                    Some(given) => given == position && !has_wildcard,
                    None => name.is_some_and(|name| name.eq_ignore_ascii_case(shown)),
                };
                if is_it {
                    return own.map(str::to_owned);
                }
            }
            SelectItem::Assignment { .. } => {}
        }
    }
    has_wildcard.then(|| shown.to_owned())
}
