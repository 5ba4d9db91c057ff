//! FROM: sources and joins, flattened into unordered units.

use engine::error::Result;

use super::scope::{Level, SelectLevel};
use super::source::BoundSource;
use super::updatable::{Below, Wanted};
use super::{Binder, ScopeColumn};
use crate::ast::{Expression, Join, JoinKind as Kind, TableSource};
use crate::messages;
use crate::plan::{Condition, FromNode, FromUnit, JoinKind, JoinMethods, Node, OuterJoin, Target};

/// Hands out places in the wide row.
#[derive(Default)]
pub(super) struct FromBuilder {
    pub(super) width: usize,
    /// In UPDATE and DELETE: the stored sources, one of which is the target. Each has a place for its row's locator right behind
    /// its columns, so that the locator goes wherever a join carries the columns.
    pub(super) stored: Option<Vec<StoredSource>>,
    /// The source that is to be changed although it is a query.
    pub(super) wanted: Option<Wanted>,
}

/// What a source of FROM stores its rows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// A table, by database and object id.
    Table(u16, u32),
    /// A table variable, by slot.
    Variable(usize),
}

impl Stored {
    /// What a target stores its rows in.
    pub(super) fn of(target: &Target) -> Stored {
        match target {
            Target::Table(table) => Stored::Table(table.table.database().id, table.table.definition().object_id),
            Target::Variable(slot, _) => Stored::Variable(*slot),
            Target::View(view) => Stored::Table(view.database_id, view.object_id),
        }
    }
}

/// A source of FROM that UPDATE or DELETE could change.
pub(super) struct StoredSource {
    pub(super) stored: Stored,
    /// Its alias, or its own name.
    pub(super) exposed: String,
    pub(super) has_alias: bool,
    /// Where its columns begin.
    pub(super) offset: usize,
    /// Where its row's locator is.
    pub(super) locator: usize,
    /// When the table lies below a query: `offset` and `locator` are of the columns behind those that the query shows.
    pub(super) below: Option<Below>,
}

impl FromBuilder {
    /// Takes so many places; answers the first.
    pub(super) fn take(&mut self, count: usize) -> usize {
        let first = self.width;
        self.width += count;
        first
    }

    /// A builder for UPDATE and DELETE.
    pub(super) fn with_locators() -> FromBuilder {
        FromBuilder {
            width: 0,
            stored: Some(Vec::new()),
            wanted: None,
        }
    }

    /// Whether each stored source has a place for its row's locator behind its columns.
    pub(super) fn has_locators(&self) -> bool {
        self.stored.is_some()
    }

    /// Takes the places of a stored source's columns; answers the first.
    pub(super) fn take_stored(&mut self, stored: Stored, exposed: &str, has_alias: bool, columns: usize) -> usize {
        let offset = self.take(columns);
        if self.stored.is_some() {
            let locator = self.take(1);
            let source = StoredSource {
                stored,
                exposed: exposed.to_owned(),
                has_alias,
                offset,
                locator,
                below: None,
            };
            self.stored.get_or_insert_default().push(source);
        }
        offset
    }
}

/// FROM, bound.
#[derive(Default)]
pub(super) struct FromClause {
    pub(super) units: Vec<FromUnit>,
    /// What ON of inner joins demands.
    pub(super) conjuncts: Vec<Condition>,
    pub(super) columns: Vec<ScopeColumn>,
    /// The exposed names of all sources.
    pub(super) names: Vec<Exposed>,
    /// Whether joins are done as they are written.
    pub(super) is_forced: bool,
}

/// A name that distinguishes the columns of a source from those of others.
#[derive(Clone)]
pub(super) struct Exposed {
    /// The alias, or the last part of the source's name.
    pub(super) name: String,
    /// The source's name as it is written, where it has no alias.
    written: Option<String>,
}

impl Exposed {
    fn of(source: &TableSource, name: String) -> Exposed {
        let written = match source {
            TableSource::Table(reference) if reference.alias.is_none() => Some(reference.name.to_string()),
            TableSource::Variable { name, alias: None, .. } => Some(name.clone()),
            TableSource::Function { call, alias: None, .. } => Some(call.name.to_string()),
            _ => None,
        };
        Exposed { name, written }
    }

    /// Tables of several schemas or databases have one exposed name: "The objects "db1.dbo.t" and "db2.dbo.t" in the FROM clause have
    /// the same exposed names" is what SQL Server answers. The later one is named first.
    fn conflict(&self, earlier: &Exposed) -> engine::error::Error {
        match (&self.written, &earlier.written) {
            (Some(later), Some(earlier)) => messages::same_exposed_names(later, earlier),
            (None, None) => messages::duplicate_correlation_name(&self.name),
            (None, Some(table)) => messages::alias_is_table_name(&self.name, table),
            (Some(table), None) => messages::alias_is_table_name(&earlier.name, table),
        }
    }
}

impl FromClause {
    fn add(&mut self, source: BoundSource, written: &TableSource, lateral: bool) -> Result<()> {
        self.expose(Exposed::of(written, source.name.clone()))?;
        self.add_unit(source, lateral);
        Ok(())
    }

    /// Adds the target of a statement that its FROM does not name.
    pub(super) fn add_target(&mut self, source: BoundSource) -> Result<()> {
        self.expose(Exposed {
            name: source.name.clone(),
            written: Some(source.name.clone()),
        })?;
        self.add_unit(source, false);
        Ok(())
    }

    fn add_unit(&mut self, source: BoundSource, lateral: bool) {
        self.columns.extend(source.columns);
        self.units.push(FromUnit {
            node: source.node,
            lateral,
            methods: JoinMethods::ANY,
        });
    }

    fn expose(&mut self, name: Exposed) -> Result<()> {
        let mut others = self.names.iter();
        if let Some(other) = others.find(|other| other.name.eq_ignore_ascii_case(&name.name)) {
            return Err(name.conflict(other));
        }
        self.names.push(name);
        Ok(())
    }
}

impl<'a> Binder<'a> {
    /// The operator for a FROM, in a wide row of that width.
    pub(super) fn logical_from(
        &self,
        units: Vec<FromUnit>,
        conjuncts: Vec<Condition>,
        width: usize,
        is_forced: bool,
    ) -> Node {
        Node::From(Box::new(FromNode {
            units,
            conjuncts,
            width,
            is_forced,
            methods: self.join_methods,
        }))
    }

    /// Binds the sources of FROM.
    pub(super) fn sources(&mut self, sources: &'a [TableSource], builder: &mut FromBuilder) -> Result<FromClause> {
        let around = self.is_order_forced;
        let has_join_hint = super::hints::has_join_hint(sources);
        self.is_order_forced |= has_join_hint;
        self.advice.has_join_hint |= has_join_hint;
        let mut clause = FromClause {
            is_forced: self.is_order_forced,
            ..FromClause::default()
        };
        let mut each = sources.iter();
        let bound = each.try_for_each(|source| self.flatten(source, builder, &mut clause));
        self.is_order_forced = around;
        bound.map(|()| clause)
    }

    fn flatten(&mut self, source: &'a TableSource, builder: &mut FromBuilder, clause: &mut FromClause) -> Result<()> {
        self.deeper(size_of::<Node>())?;
        let start = builder.width;
        let (bound, lateral) = match source {
            TableSource::Table(reference) => (self.table(reference, builder)?, false),
            TableSource::Variable { name, alias, line } => {
                self.line = *line;
                (self.table_variable(name, alias.as_ref(), builder)?, false)
            }
            TableSource::Function {
                call,
                schema,
                alias,
                columns,
                line,
            } => {
                self.line = *line;
                let visible = clause.columns.clone();
                (
                    self.table_function(call, schema, alias.as_ref(), columns, visible, builder)?,
                    true,
                )
            }
            TableSource::OpenXml(open) => (self.open_xml(open, builder)?, false),
            TableSource::OpenRowset(open) => (self.open_rowset(open, builder)?, false),
            TableSource::Derived {
                query, alias, columns, ..
            } => (self.derived(query, columns, alias, None, builder)?, false),
            TableSource::Values {
                rows, alias, columns, ..
            } => (self.values(rows, columns, alias, builder)?, false),
            // The binding of INSERT takes those that may stand somewhere.
            TableSource::Change { .. } => return Err(super::not_supported("FROM (change OUTPUT ...)")),
            TableSource::Join(join) => return self.join(join, builder, clause),
            TableSource::Pivot(pivot) => (self.pivot(pivot, builder)?, false),
            TableSource::Unpivot(unpivot) => (self.unpivot(unpivot, builder)?, false),
        };
        self.count_source(builder.width - start)?;
        clause.add(bound, source, lateral)
    }

    fn join(&mut self, join: &'a Join, builder: &mut FromBuilder, clause: &mut FromClause) -> Result<()> {
        self.line = join.line;
        let first_column = clause.columns.len();
        match join.kind {
            Kind::Inner | Kind::Cross => {
                self.flatten(&join.left, builder, clause)?;
                let right = clause.units.len();
                self.right_of_inner(&join.right, builder, clause)?;
                if let Some(unit) = clause.units.get_mut(right) {
                    unit.methods = super::hints::methods(join)?;
                }
                if let Some(on) = &join.on {
                    let visible = clause.columns[first_column..].to_vec();
                    let condition = self.on_condition(on, visible)?;
                    clause.conjuncts.extend(condition.into_conjuncts());
                }
                Ok(())
            }
            Kind::CrossApply => {
                self.flatten(&join.left, builder, clause)?;
                self.apply(&join.right, builder, clause)
            }
            Kind::OuterApply => self.outer_apply(join, builder, clause),
            Kind::Left | Kind::Right | Kind::Full => self.outer_join(join, builder, clause),
        }
    }

    /// The right side of an inner join. Where the order is kept, joins in parentheses are done first.
    fn right_of_inner(
        &mut self,
        right: &'a TableSource,
        builder: &mut FromBuilder,
        clause: &mut FromClause,
    ) -> Result<()> {
        if !self.is_order_forced || !matches!(right, TableSource::Join(_)) {
            return self.flatten(right, builder, clause);
        }
        let (node, columns) = self.side(right, builder, clause)?;
        clause.columns.extend(columns);
        clause.units.push(FromUnit {
            node,
            lateral: false,
            methods: JoinMethods::ANY,
        });
        Ok(())
    }

    /// The right side of CROSS APPLY, which sees the sources before it.
    fn apply(&mut self, right: &'a TableSource, builder: &mut FromBuilder, clause: &mut FromClause) -> Result<()> {
        let start = builder.width;
        let visible = clause.columns.clone();
        let bound = match right {
            TableSource::Derived {
                query, alias, columns, ..
            } => self.derived(query, columns, alias, Some(visible), builder)?,
            TableSource::Values {
                rows, alias, columns, ..
            } => self.applied_values(rows, columns, alias, visible, builder)?,
            _ => return self.flatten(right, builder, clause),
        };
        self.count_source(builder.width - start)?;
        clause.add(bound, right, true)
    }

    fn on_condition(&mut self, on: &'a Expression, visible: Vec<ScopeColumn>) -> Result<Condition> {
        let level = Level::Select(SelectLevel {
            columns: visible,
            ..SelectLevel::default()
        });
        let (condition, _) = self.within(level, |binder| binder.search_condition(on))?;
        Ok(super::fold::filter(condition))
    }

    /// One side of an outer join, put together for itself.
    fn side(
        &mut self,
        source: &'a TableSource,
        builder: &mut FromBuilder,
        clause: &mut FromClause,
    ) -> Result<(Node, Vec<ScopeColumn>)> {
        let mut side = FromClause::default();
        self.flatten(source, builder, &mut side)?;
        for name in side.names {
            clause.expose(name)?;
        }
        let node = self.logical_from(side.units, side.conjuncts, builder.width, self.is_order_forced);
        Ok((node, side.columns))
    }

    fn outer_join(&mut self, join: &'a Join, builder: &mut FromBuilder, clause: &mut FromClause) -> Result<()> {
        let (left, mut left_columns) = self.side(&join.left, builder, clause)?;
        let (right, mut right_columns) = self.side(&join.right, builder, clause)?;
        let visible = left_columns.iter().chain(&right_columns).cloned().collect();
        let condition = match &join.on {
            Some(on) => self.on_condition(on, visible)?,
            None => Condition::Constant(Some(true)),
        };
        let optional = |columns: &mut Vec<ScopeColumn>| columns.iter_mut().for_each(|column| column.nullable = true);
        let (left, right, kind) = match join.kind {
            Kind::Right => (right, left, JoinKind::Left),
            Kind::Full => (left, right, JoinKind::Full),
            _ => (left, right, JoinKind::Left),
        };
        if join.kind != Kind::Left {
            optional(&mut left_columns);
        }
        if join.kind != Kind::Right {
            optional(&mut right_columns);
        }
        let node = Node::Outer(Box::new(OuterJoin {
            left,
            right,
            kind,
            conjuncts: condition.into_conjuncts(),
            lateral: false,
            methods: self.join_methods.at_join(super::hints::methods(join)?),
            written: None,
        }));
        clause.columns.extend(left_columns.into_iter().chain(right_columns));
        clause.units.push(FromUnit {
            node,
            lateral: false,
            methods: JoinMethods::ANY,
        });
        Ok(())
    }

    fn outer_apply(&mut self, join: &'a Join, builder: &mut FromBuilder, clause: &mut FromClause) -> Result<()> {
        let (left, left_columns) = self.side(&join.left, builder, clause)?;
        let mut right = FromClause {
            columns: left_columns.clone(),
            ..FromClause::default()
        };
        self.apply(&join.right, builder, &mut right)?;
        let mut right_columns = right.columns.split_off(left_columns.len());
        right_columns.iter_mut().for_each(|column| column.nullable = true);
        for name in right.names {
            clause.expose(name)?;
        }
        let is_one = right.units.len() == 1 && right.conjuncts.is_empty();
        // A join that asks for each row of the left side would have to be done again for it.
        if !is_one && right.units.iter().any(|unit| unit.lateral) {
            return Err(super::not_supported("OUTER APPLY of a join that uses the left side"));
        }
        // Else it is a left join, on what the joins to the right ask, which may name columns of the left side.
        let right_node = match (is_one, right.units.pop()) {
            (true, Some(unit)) => unit.node,
            (_, last) => {
                right.units.extend(last);
                self.logical_from(right.units, Vec::new(), builder.width, self.is_order_forced)
            }
        };
        let node = Node::Outer(Box::new(OuterJoin {
            left,
            right: right_node,
            kind: JoinKind::Left,
            conjuncts: right.conjuncts,
            lateral: is_one,
            methods: self.join_methods,
            written: None,
        }));
        clause.columns.extend(left_columns.into_iter().chain(right_columns));
        clause.units.push(FromUnit {
            node,
            lateral: false,
            methods: JoinMethods::ANY,
        });
        Ok(())
    }
}
