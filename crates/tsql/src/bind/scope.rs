//! Levels of names, and the search for a column in them.

use std::sync::Arc;

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::Binder;
use crate::ast::Name;
use crate::messages;
use crate::plan::{AggregateCall, Expr, ExprKind, Label, WindowCall};
use crate::scalar::row_place;
use crate::sink::{ResultColumn, XmlCollectionName};
use syntax::lexer::ROW_PLACE;

/// A column that can be named.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    /// The alias or name of its source.
    pub qualifier: String,
    /// Schema and database of its source when it is a table named without alias.
    pub path: Option<(String, String)>,
    pub name: String,
    pub sql_type: SqlType,
    /// The collation of its strings.
    pub label: Label,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Its place in the row.
    pub index: usize,
    /// Whether it is an identity column.
    pub identity: bool,
    /// Whether it is `$ROWGUID`.
    pub row_guid: bool,
    /// Whether it is a table's column.
    pub from_table: bool,
    /// Whether it is a node that `nodes()` found: then the document and the node's place in it follow in the row.
    pub with_document: bool,
    /// The schema collection of typed xml.
    pub(super) xml_collection: Option<Arc<XmlCollectionName>>,
    /// Whether each of its values is the word NULL: it is shown as an int, and taken as any type.
    pub(super) is_untyped_null: bool,
    /// Where in the row is said which row of its table it is, if the table shows it.
    pub(super) row_places: Option<RowPlaces>,
    /// Whether `*` leaves it out.
    pub(super) is_hidden: bool,
}

/// Where the row says which row of a table it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPlaces {
    /// Where the row's place in the files is.
    pub(super) place: usize,
    /// Where the row's locator is.
    pub(super) locator: usize,
    pub(super) object_id: u32,
    /// Where the table's columns begin.
    pub(super) offset: usize,
}

impl ScopeColumn {
    /// A column without a name, of which nothing is said: where a kind of source differs, it says so.
    pub(super) fn plain() -> ScopeColumn {
        ScopeColumn {
            qualifier: String::new(),
            path: None,
            name: String::new(),
            sql_type: SqlType::Int,
            label: Label::default(),
            nullable: true,
            index: 0,
            identity: false,
            row_guid: false,
            from_table: false,
            with_document: false,
            xml_collection: None,
            is_untyped_null: false,
            row_places: None,
            is_hidden: false,
        }
    }

    /// The column as an expression over the row.
    pub(super) fn expression(&self) -> Expr {
        Expr::column(self.index, self.sql_type, self.nullable).labelled(self.label)
    }

    /// The column as a result shows it.
    pub(super) fn result(&self) -> ResultColumn {
        ResultColumn {
            name: self.name.clone(),
            sql_type: self.sql_type,
            label: self.label,
            nullable: self.nullable,
            identity: self.identity,
            from_table: self.from_table,
            xml_collection: self.xml_collection.clone(),
        }
    }
}

/// What a SELECT makes visible, and what it collects while its expressions are bound.
#[derive(Default)]
pub(super) struct SelectLevel {
    pub(super) columns: Vec<ScopeColumn>,
    /// Aggregates are collected here; `None` where they may not stand.
    pub(super) aggregates: Option<Vec<AggregateCall>>,
    /// Window functions are collected here; `None` where they may not stand.
    pub(super) windows: Option<Vec<WindowCall>>,
    /// GROUP BY, for GROUPING().
    pub(super) group_keys: Vec<Expr>,
    /// Where `$action` is, in the OUTPUT of MERGE.
    pub(super) action: Option<usize>,
    /// What is bound: it says why something may not stand there.
    pub(super) place: Place,
}

/// A place in a SELECT that is narrower than others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    #[default]
    Elsewhere,
    /// What an aggregate is over.
    Aggregate,
    /// The arguments and the OVER of a window function.
    Window,
    Group,
    /// The right side of an APPLY, to which the level is the left one.
    Applied,
}

/// One level of names.
pub(super) enum Level {
    /// The columns of a SELECT.
    Select(SelectLevel),
    /// A subquery begins: what it uses from below is captured here.
    Boundary(Vec<Expr>),
    /// Nothing below can be seen: a view or a common table expression begins.
    Opaque,
}

impl Binder<'_> {
    /// The SELECT being bound.
    pub(super) fn select_level(&mut self) -> Option<&mut SelectLevel> {
        match self.levels.last_mut() {
            Some(Level::Select(level)) => Some(level),
            _ => None,
        }
    }

    /// A value that is given to something of another type, or compared with it: a column that is nothing but the word NULL is that word.
    pub(super) fn untyped_null(&self, value: Expr) -> Expr {
        let (ExprKind::Column(index), Some(Level::Select(level))) = (&value.kind, self.levels.last()) else {
            return value;
        };
        let mut columns = level.columns.iter();
        match columns.any(|column| column.index == *index && column.is_untyped_null) {
            true => Expr::constant(Value::Null, value.sql_type).labelled(value.label),
            false => value,
        }
    }

    /// Binds what stands in a narrower place of the SELECT.
    pub(super) fn in_place<T>(&mut self, place: Place, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let around = self
            .select_level()
            .map(|level| std::mem::replace(&mut level.place, place));
        let result = work(self);
        if let (Some(around), Some(level)) = (around, self.select_level()) {
            level.place = around;
        }
        result
    }

    /// Why an aggregate may not stand here.
    pub(super) fn aggregate_refused(&mut self) -> Error {
        refused_in(self.select_level().map_or(Place::Elsewhere, |level| level.place))
    }

    /// Why a window function may not stand here.
    pub(super) fn window_refused(&mut self) -> Error {
        match self.select_level().map(|level| level.place) {
            Some(Place::Aggregate | Place::Window) => messages::window_in_window(),
            _ => messages::windowed_function_misplaced(),
        }
    }

    /// Whether a subquery may stand here.
    ///
    /// # Errors
    /// 130 in an aggregate, 144 in GROUP BY, 1046 where only values of their own may stand.
    pub(super) fn check_subquery(&mut self) -> Result<()> {
        if self.is_without_subqueries {
            return Err(messages::subqueries_not_allowed());
        }
        match self.select_level().map(|level| level.place) {
            Some(Place::Aggregate) => Err(messages::aggregate_of_aggregate()),
            Some(Place::Group) => Err(messages::aggregate_in_group_by()),
            _ => Ok(()),
        }
    }

    /// Binds a column's name. A qualifier means the nearest source that answers to it, whether that has the column or not.
    ///
    /// # Errors
    /// 207 for a column that its source has not, 4104 for a qualifier that no source answers to.
    pub(super) fn column(&mut self, name: &Name) -> Result<Expr> {
        let found = self.column_as(name, |column| Some(column.expression()))?;
        found.ok_or_else(|| messages::invalid_column_name(name.object()))
    }

    /// What is made of a column, as seen from the current level; `None` if nothing is.
    ///
    /// # Errors
    /// As [`Binder::column`].
    pub(super) fn column_as(
        &mut self,
        name: &Name,
        made: impl Fn(&ScopeColumn) -> Option<Expr>,
    ) -> Result<Option<Expr>> {
        let mut boundaries = Vec::new();
        for position in (0..self.levels.len()).rev() {
            match &self.levels[position] {
                Level::Opaque => break,
                Level::Boundary(_) => boundaries.push(position),
                Level::Select(level) => {
                    if let Some(column) = find_column(&level.columns, name)? {
                        let found = made(column);
                        return Ok(found.map(|found| self.captured(found, &boundaries)));
                    }
                    if let Some(place) = find_row_place(&level.columns, name)? {
                        return Ok(Some(self.captured(place, &boundaries)));
                    }
                    let is_known = |column: &ScopeColumn| answers_to(column, name);
                    if name.parts.len() > 1 && level.columns.iter().any(is_known) {
                        return Err(messages::invalid_column_name(name.object()));
                    }
                }
            }
        }
        Err(if self.is_without_columns {
            messages::column_in_default(&name.to_string())
        } else if name.parts.len() > 1 {
            messages::multi_part_identifier(&name.to_string())
        } else {
            messages::invalid_column_name(name.object())
        })
    }

    /// Hands a column up through the boundaries between its level and the current one.
    pub(super) fn captured(&mut self, mut found: Expr, boundaries: &[usize]) -> Expr {
        for &boundary in boundaries.iter().rev() {
            let Some(Level::Boundary(captures)) = self.levels.get_mut(boundary) else {
                continue;
            };
            let (sql_type, nullable, label) = (found.sql_type, found.nullable, found.label);
            let known = captures.iter().position(|capture| capture.same_as(&found));
            let index = known.unwrap_or(captures.len());
            if known.is_none() {
                captures.push(found);
            }
            found = Expr {
                kind: ExprKind::Parameter(index),
                sql_type,
                nullable,
                label,
            };
        }
        found
    }

    /// Binds with one more level on the stack, which is taken off again whatever happens.
    pub(super) fn within<T>(&mut self, level: Level, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, Level)> {
        let depth = self.levels.len();
        self.levels.push(level);
        let result = work(self);
        let popped = self.levels.drain(depth..).next().unwrap_or(Level::Opaque);
        result.map(|value| (value, popped))
    }
}

/// Why an aggregate may not stand in a place.
pub(super) fn refused_in(place: Place) -> Error {
    match place {
        Place::Aggregate => messages::aggregate_of_aggregate(),
        Place::Group => messages::aggregate_in_group_by(),
        Place::Applied => messages::aggregate_in_apply(),
        Place::Elsewhere | Place::Window => messages::aggregate_in_where(),
    }
}

/// The column of that name among visible ones.
pub(super) fn find_column<'c>(columns: &'c [ScopeColumn], name: &Name) -> Result<Option<&'c ScopeColumn>> {
    let wanted = name.object();
    let mut found = None;
    for column in columns {
        if column.name.eq_ignore_ascii_case(wanted) && answers_to(column, name) {
            if found.is_some() {
                return Err(messages::ambiguous_column_name(wanted));
            }
            found = Some(column);
        }
    }
    if found.is_none() && !wanted.is_ascii() {
        let folded = wanted.to_lowercase();
        return Ok(columns
            .iter()
            .find(|column| column.name.to_lowercase() == folded && answers_to(column, name)));
    }
    Ok(found)
}

/// `%%physloc%%` of the one table among the sources that it can be of: eight bytes, NULL where an outer join has found no row.
///
/// # Errors
/// 209 when it can be of several.
fn find_row_place(columns: &[ScopeColumn], name: &Name) -> Result<Option<Expr>> {
    let is_asked = name
        .parts
        .last()
        .is_some_and(|part| !part.quoted && part.text.eq_ignore_ascii_case(ROW_PLACE));
    if !is_asked {
        return Ok(None);
    }
    let answering = columns.iter().filter(|column| answers_to(column, name));
    let mut places = answering.filter_map(|column| column.row_places.map(|places| places.place));
    let Some(place) = places.next() else { return Ok(None) };
    if places.any(|other| other != place) {
        return Err(messages::ambiguous_column_name(name.object()));
    }
    Ok(Some(Expr::column(place, row_place::ROW_PLACE, true)))
}

/// Whether a column's source answers to the qualifier written before the column.
pub(super) fn answers_to(column: &ScopeColumn, name: &Name) -> bool {
    let same = |left: &str, right: &str| left.to_lowercase() == right.to_lowercase();
    let Some(qualifier) = name.part_from_right(1) else {
        return true;
    };
    if !same(&column.qualifier, &qualifier.text) {
        return false;
    }
    let (Some(schema), Some((own_schema, own_database))) = (name.part_from_right(2), &column.path) else {
        return name.part_from_right(2).is_none() || column.path.is_some();
    };
    same(own_schema, &schema.text)
        && name
            .part_from_right(3)
            .is_none_or(|database| same(own_database, &database.text))
}

/// The columns of one source, for `t.*`.
pub(super) fn columns_of<'c>(columns: &'c [ScopeColumn], qualifier: &Name) -> Vec<&'c ScopeColumn> {
    let wanted = qualifier.object().to_lowercase();
    columns
        .iter()
        .filter(|column| !column.name.is_empty() && !column.is_hidden && column.qualifier.to_lowercase() == wanted)
        .collect()
}
