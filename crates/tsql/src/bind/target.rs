//! The target of UPDATE and DELETE, as a source of FROM, and the target of INSERT, which may be a query.
//!
//! ```text
//! named as              in FROM                                  target
//! an alias              one source has the alias                 that source
//! a table or @table     the table once, with or without alias    that source
//!                       several times, once without alias        the one without alias
//!                       several times, each with an alias        8154
//!                       not at all                               a separate source, joined to all of FROM
//! ```
//! (sql-docs, UPDATE: "If the object being updated appears more than one time in the FROM clause, one, and only one, reference to
//! the object must not specify a table alias.") An alias comes first: `DELETE t FROM u t, t x` deletes from `u`.
//!
//! Invariant: a row of FROM whose target columns come from an outer join without a partner has the locator NULL.

use std::sync::Arc;

use engine::catalog::{ModuleKind, ObjectDefinition};
use engine::error::Result;

use super::from::{FromBuilder, FromClause, Stored, StoredSource};
use super::hints::{Place, add_locking};
use super::source::BoundSource;
use super::updatable::{Asked, Wanted};
use super::{Binder, not_supported};
use crate::ast::{self, Identifier, Name, TableHint, TableReference, TableSource};
use crate::messages;
use crate::plan::{Access, CursorScan, Locking, Node, RowAction, Shape, Target, TargetColumns, VariableNode};
use crate::state::Reading;

/// The target of UPDATE or DELETE within its FROM.
pub(super) struct Found {
    pub(super) clause: FromClause,
    pub(super) target: Target,
    pub(super) columns: Arc<TargetColumns>,
    /// Where the target's columns begin in the wide row.
    pub(super) offset: usize,
    /// Where the row's locator is; NULL when an outer join found no row of the target.
    pub(super) locator: usize,
    pub(super) width: usize,
    /// Whether the target is all there is in FROM.
    pub(super) is_single: bool,
    /// NOWAIT at the target.
    pub(super) no_wait: bool,
    /// When the target is a query: the columns it shows, and which of the table's they are.
    pub(super) shown: Option<Vec<(String, Option<usize>)>>,
    /// What SET may call the target: its exposed name, and what the statement calls it.
    pub(super) names: [String; 2],
}

impl Found {
    /// The error for SET of a column that the query computes.
    pub(super) fn derived_column(&self) -> engine::error::Error {
        messages::view_column_is_derived(&self.names[0])
    }

    /// Has the target read at the row of a cursor alone: WHERE CURRENT OF.
    ///
    /// # Errors
    /// 40517 for a view, and beside other sources of FROM.
    pub(super) fn read_at_cursor(&mut self) -> Result<()> {
        if self.shown.is_some() || matches!(self.target, Target::View(_)) {
            return Err(not_supported("WHERE CURRENT OF through a view"));
        }
        if !self.is_single {
            return Err(not_supported("WHERE CURRENT OF beside a join"));
        }
        let mut units = self.clause.units.iter_mut();
        let node = units.find_map(|unit| source_at(&mut unit.node, self.offset));
        if let Some(Node::Scan(scan)) = node {
            scan.cursor = Some(CursorScan::Row(0));
            scan.access = Access::Any;
        }
        Ok(())
    }

    /// Whether a qualifier of SET means the target.
    pub(super) fn is_called(&self, qualifier: &str) -> bool {
        self.names.iter().any(|name| name.eq_ignore_ascii_case(qualifier))
    }
}

/// What an INSERT fills.
pub(super) struct Filled {
    pub(super) target: Target,
    pub(super) columns: TargetColumns,
    /// When it is named by a query: the columns that this shows, and which of the table's they are.
    pub(super) shown: Option<Vec<(String, Option<usize>)>>,
}

/// Places for the sources of a statement, one of which is to be changed.
fn builder_of(target: &ast::Target, columns: Asked) -> FromBuilder {
    let mut builder = FromBuilder::with_locators();
    if let ast::Target::Table(name) = target {
        builder.wanted = Some(Wanted {
            name: name.object().to_owned(),
            is_qualified: name.parts.len() > 1,
            columns,
        });
    }
    builder
}

fn name_of(target: &ast::Target) -> &str {
    match target {
        ast::Target::Table(name) => name.object(),
        ast::Target::Variable(name) => name,
    }
}

impl<'a> Binder<'a> {
    /// Finds the target among the sources of FROM, or adds it to them.
    ///
    /// # Errors
    /// 208, 8154; 40517 when it is not a table; those of binding FROM.
    pub(super) fn find_target(
        &mut self,
        target: &ast::Target,
        hints: &[TableHint],
        from: &'a [TableSource],
        asked: Asked,
    ) -> Result<Found> {
        let action = match &asked {
            Asked::Rows => RowAction::Delete,
            Asked::These(_) | Asked::All => RowAction::Update,
        };
        self.require_no_trigger_table(target)?;
        if let Some(view) = self.instead_view(target, from, action)? {
            return self.find_view(target, hints, from, view);
        }
        let mut builder = builder_of(target, asked);
        let links = from.iter().map(super::select::links_of).sum();
        let mut clause = self.in_chain(links, |binder| binder.sources(from, &mut builder))?;
        let place = match self.place_in_from(target, &builder, &clause)? {
            Some(place) => place,
            None => {
                self.own_source(target, hints, &mut builder, &mut clause)?;
                builder.stored.as_ref().map_or(0, Vec::len).saturating_sub(1)
            }
        };
        let Some(source) = builder.stored.unwrap_or_default().into_iter().nth(place) else {
            return Err(not_supported("INSERT, UPDATE or DELETE of a view"));
        };
        let own_name = name_of(target).to_owned();
        let (target, no_wait) = claim(&mut clause, &source, hints, &own_name, self)?;
        self.require_no_history(&target, action)?;
        let mut columns = self.target_columns(&target)?;
        if let Some(below) = &source.below {
            columns.view_conditions = below.checked().to_vec();
        }
        let columns = Arc::new(columns);
        let is_single = clause.names.len() == 1;
        Ok(Found {
            clause,
            target,
            columns,
            offset: source.offset,
            locator: source.locator,
            width: builder.width,
            is_single,
            no_wait,
            shown: source.below.map(|below| below.shown),
            names: [source.exposed, own_name],
        })
    }

    /// The place of the target among the stored sources; `None` when FROM does not have it.
    fn place_in_from(
        &mut self,
        target: &ast::Target,
        builder: &FromBuilder,
        clause: &FromClause,
    ) -> Result<Option<usize>> {
        let stored = builder.stored.as_deref().unwrap_or_default();
        let wanted = name_of(target);
        let is_alias = match target {
            ast::Target::Table(name) => name.parts.len() == 1,
            ast::Target::Variable(_) => false,
        };
        let aliased = stored
            .iter()
            .position(|source| source.has_alias && source.exposed.eq_ignore_ascii_case(wanted));
        if is_alias && aliased.is_some() {
            return Ok(aliased);
        }
        let is_own_name = stored.iter().any(|source| source.exposed.eq_ignore_ascii_case(wanted));
        if is_alias && !is_own_name && clause.names.iter().any(|other| other.name.eq_ignore_ascii_case(wanted)) {
            // VALUES, or a function.
            return Err(messages::view_column_is_derived(wanted));
        }
        let below = stored.iter().position(|source| source.below.is_some());
        if below.is_some() || self.is_query(target)? {
            return Ok(below);
        }
        let own = self.stored_of(target)?;
        let mut places = stored.iter().enumerate().filter(|(_, source)| source.stored == own);
        let (Some(first), second) = (places.next(), places.next()) else {
            return Ok(None);
        };
        if second.is_none() {
            return Ok(Some(first.0));
        }
        let without_alias = stored
            .iter()
            .position(|source| source.stored == own && !source.has_alias);
        without_alias.map(Some).ok_or_else(|| messages::ambiguous_table(wanted))
    }

    /// Whether a target is a common table expression or a view.
    fn is_query(&self, target: &ast::Target) -> Result<bool> {
        let ast::Target::Table(name) = target else {
            return Ok(false);
        };
        if name.parts.len() == 1 && self.ctes.iter().any(|cte| cte.definition.name.is(name.object())) {
            return Ok(true);
        }
        let found = self.session.find_source(name)?;
        Ok(found.is_some_and(|(_, object)| matches!(&object.definition, ObjectDefinition::Module(_))))
    }

    /// What an INSERT fills: a table, or the one below a view or common table expression, which is bound for that and not run.
    ///
    /// # Errors
    /// 208; those of `updatable` when it is not a single table.
    pub(super) fn insert_target(&mut self, target: &ast::Target, listed: &[Identifier]) -> Result<Filled> {
        self.require_no_trigger_table(target)?;
        if let Some(view) = self.instead_view(target, &[], RowAction::Insert)? {
            let (target, columns) = self.insert_into_view(target, view)?;
            return Ok(Filled {
                target,
                columns,
                shown: None,
            });
        }
        if !self.is_query(target)? {
            let target = self.target(target)?;
            self.require_no_history(&target, RowAction::Insert)?;
            let columns = self.target_columns(&target)?;
            return Ok(Filled {
                target,
                columns,
                shown: None,
            });
        }
        let asked = match listed {
            [] => Asked::All,
            listed => Asked::These(listed.iter().map(|column| column.text.clone()).collect()),
        };
        let mut builder = builder_of(target, asked);
        let mut clause = FromClause::default();
        // The query is not read from.
        let sources = self.sources.len();
        self.own_source(target, &[], &mut builder, &mut clause)?;
        self.sources.truncate(sources);
        let below = builder.stored.into_iter().flatten().find_map(|source| source.below);
        let Some(below) = below else {
            return Err(messages::view_column_is_derived(name_of(target)));
        };
        self.require_no_history(&below.target, RowAction::Insert)?;
        let mut columns = self.target_columns(&below.target)?;
        columns.view_conditions = below.checked().to_vec();
        Ok(Filled {
            target: below.target,
            columns,
            shown: Some(below.shown),
        })
    }

    /// 286 for `inserted` and `deleted` of a trigger as targets.
    fn require_no_trigger_table(&self, target: &ast::Target) -> Result<()> {
        match target {
            ast::Target::Table(name)
                if name.parts.len() == 1 && self.variables.trigger_table(name.object()).is_some() =>
            {
                Err(messages::trigger_tables_not_updatable())
            }
            _ => Ok(()),
        }
    }

    /// 330 for a query as the target of OUTPUT INTO.
    pub(super) fn output_target(&mut self, target: &ast::Target) -> Result<Target> {
        self.require_no_trigger_table(target)?;
        match self.is_query(target)? {
            true => Err(messages::output_into_view(name_of(target))),
            false => {
                let target = self.target(target)?;
                self.require_no_history(&target, RowAction::Insert)?;
                Ok(target)
            }
        }
    }

    fn stored_of(&mut self, target: &ast::Target) -> Result<Stored> {
        Ok(Stored::of(&self.target(target)?))
    }

    /// A target that FROM does not name is one more source.
    pub(super) fn own_source(
        &mut self,
        target: &ast::Target,
        hints: &[TableHint],
        builder: &mut FromBuilder,
        clause: &mut FromClause,
    ) -> Result<()> {
        let source = match target {
            ast::Target::Table(name) => self.named_source(name, hints, builder)?,
            ast::Target::Variable(name) => self.table_variable(name, None, builder)?,
        };
        clause.add_target(source)
    }

    fn named_source(&mut self, name: &Name, hints: &[TableHint], builder: &mut FromBuilder) -> Result<BoundSource> {
        let exposed = name.object().to_owned();
        let visible = self.ctes.iter().rposition(|cte| cte.definition.name.is(name.object()));
        let mut reference = TableReference {
            line: self.line,
            name: name.clone(),
            alias: None,
            hints: Vec::new(),
            system_time: None,
            sample: None,
            shows_row_places: self.shows_row_places,
            text_row: None,
        };
        if let (1, Some(position)) = (name.parts.len(), visible) {
            reference.hints = hints.to_vec();
            return self.with_hints(&reference, |binder| binder.cte(position, exposed, builder));
        }
        let found = self.session.find_source(name)?;
        let (database, object) = found.ok_or_else(|| messages::invalid_object_name(&name.to_string()))?;
        match &object.definition {
            ObjectDefinition::Table(_) => self.base_table(database, &object, &reference, exposed, builder),
            ObjectDefinition::Module(module) if module.kind == ModuleKind::View => {
                self.require_table_of_pointer()?;
                reference.hints = hints.to_vec();
                self.with_hints(&reference, |binder| {
                    binder.user_view(&database, &object, exposed, builder)
                })
            }
            _ => Err(messages::invalid_object_name(&name.to_string())),
        }
    }
}

/// Marks the scan of a stored source as the one whose rows are changed; answers what it scans, and whether it waits for locks.
pub(super) fn claim(
    clause: &mut FromClause,
    source: &StoredSource,
    hints: &[TableHint],
    own_name: &str,
    binder: &Binder<'_>,
) -> Result<(Target, bool)> {
    if let Some(below) = &source.below {
        return Ok((below.target.clone(), false));
    }
    let mut units = clause.units.iter_mut();
    let node = units.find_map(|unit| source_at(&mut unit.node, source.offset));
    if let Some(Node::Scan(scan)) = node {
        scan.locator = Some(source.locator);
        scan.locking.is_target = true;
        let definition = scan.table.table.definition();
        // The rows of an indexed view are those of its tables: nobody else changes them.
        if !matches!(scan.table.table.object().definition, ObjectDefinition::Table(_)) {
            return Err(messages::invalid_hint("noexpand", &definition.name));
        }
        add_locking(&mut scan.locking, hints, Place::Target, &definition.name)?;
        let database = scan.table.table.database().id;
        let reading = Reading::from(scan.locking);
        binder.session.note_target(database, definition.object_id, reading);
        return Ok((Target::Table(scan.table.clone()), scan.locking.no_wait));
    }
    if let Some(Node::Variable(VariableNode { slot, locator, .. })) = node {
        // Nobody else sees its rows: whatever lock a hint asks for, it is as good as held.
        add_locking(&mut Locking::default(), hints, Place::Target, own_name)?;
        *locator = Some(source.locator);
        let shape = binder.settled_shape(&binder.variables.shapes().get(*slot).cloned().unwrap_or_default())?;
        if shape.is_of_trigger {
            return Err(messages::trigger_tables_not_updatable());
        }
        return Ok((Target::Variable(*slot, shape), false));
    }
    Err(messages::invalid_object_name(own_name))
}

/// The scan whose columns begin at an offset.
pub(super) fn source_at(node: &mut Node, offset: usize) -> Option<&mut Node> {
    let is_stored = matches!(node, Node::Scan(_) | Node::Variable(_));
    if is_stored && matches!(node.shape(), Shape::Source(own) if own.offset == offset) {
        return Some(node);
    }
    if let Node::From(from) = node {
        let mut units = from.units.iter_mut();
        return units.find_map(|unit| source_at(&mut unit.node, offset));
    }
    let Node::Outer(join) = node else { return None };
    source_at(&mut join.left, offset).or_else(|| source_at(&mut join.right, offset))
}
