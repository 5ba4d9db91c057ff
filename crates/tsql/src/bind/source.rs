//! One source of FROM: a table, a view, a common table expression, a table variable, a function, a query, VALUES.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use engine::catalog::{CatalogObject, ColumnDefinition, ModuleKind, ObjectDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::Table;
use engine::types::{Collation, SqlType};

use super::from::{FromBuilder, Stored};
use super::hints::{Place, access, add_locking};
use super::kept_views::CHANGED_ROWS;
use super::sample::refuse_sample;
use super::scope::{self, Level, RowPlaces, SelectLevel};
use super::updatable::QueryKind;
use super::{Binder, ScopeColumn, implicit, updatable};
use crate::ast::{self, Expression, FunctionCall, Identifier, Name, SchemaColumn, TableReference};
use crate::functions;
use crate::messages;
use crate::modules::{ModuleBody, TableVariableShape, VariableScope};
use crate::plan::{
    Access, BoundTable, DerivedNode, Expr, ExprKind, Label, Locking, Node, QueryPlan, ScanNode, Shape, ValuesNode,
    VariableNode, ViewNode, label_of,
};
use crate::sink::{ResultColumn, XmlCollectionName};
use crate::state::{Found, Reading, Through, is_source};
use crate::views::{self, SystemView};

/// A source with the columns it adds to the wide row.
pub(super) struct BoundSource {
    pub(super) node: Node,
    pub(super) columns: Vec<ScopeColumn>,
    /// The exposed name: an alias, or the table's own name.
    pub(super) name: String,
}

impl BoundSource {
    /// The source with the path by which its columns can be named in full, unless it has an alias: then they cannot.
    fn called(mut self, reference: &TableReference, path: (String, String)) -> Self {
        if reference.alias.is_none() {
            for column in &mut self.columns {
                column.path = Some(path.clone());
            }
        }
        self
    }
}

impl Binder<'_> {
    /// A table as plans refer to it, whose definition is held until the end of the statement.
    ///
    /// # Errors
    /// 2801 when there is another one by now; those of waiting for it and of opening the table.
    pub(super) fn bound_table(
        &self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        reading: Reading,
    ) -> Result<Arc<BoundTable>> {
        // Before that its pages may be anybody's.
        self.session.hold(database, object, reading)?;
        let table = Table::open(database, object)?;
        let definition = table.definition();
        if let Some(index) = definition.disabled_clustered() {
            return Err(messages::index_is_disabled(&index.name, &definition.name));
        }
        let full_name = format!("{}.{}.{}", database.name(), definition.schema, definition.name);
        Ok(Arc::new(BoundTable { table, full_name }))
    }
}

/// State of 313 for a function in FROM.
const FUNCTION_STATE: u8 = 3;

impl<'a> Binder<'a> {
    /// Binds a table, view or common table expression by its name.
    pub(super) fn table(&mut self, reference: &'a TableReference, from: &mut FromBuilder) -> Result<BoundSource> {
        self.line = reference.line;
        self.read_by_pointer(reference.text_row.as_deref());
        let exposed = reference
            .alias
            .as_ref()
            .map_or_else(|| reference.name.object().to_owned(), |alias| alias.text.clone());
        if reference.name.parts.len() == 1
            && let Some(position) = self
                .ctes
                .iter()
                .rposition(|cte| cte.definition.name.is(reference.name.object()))
        {
            refuse_sample(reference)?;
            if reference.system_time.is_some() {
                return Err(messages::not_system_versioned(reference.name.object()));
            }
            let bound = self.with_hints(reference, |binder| binder.cte(position, exposed, from));
            return bound;
        }
        if let ([name], true) = (reference.name.parts.as_slice(), self.variables.has_trigger_tables())
            && let Some(slot) = self.variables.trigger_table(&name.text)
        {
            if self.text_row.is_some() {
                return Err(messages::read_text_of_trigger_table());
            }
            refuse_sample(reference)?;
            if reference.system_time.is_some() {
                return Err(messages::not_system_versioned(reference.name.object()));
            }
            let shape = self.session.trigger_shape();
            let shape = shape.ok_or_else(|| messages::invalid_object_name(&name.text))?;
            return Ok(self.variable_source(slot, &shape, (exposed, reference.alias.is_some()), from));
        }
        self.reads_tables = true;
        if self.is_schema_bound && reference.name.parts.len() != 2 {
            // The caller knows what the module is called.
            return Err(messages::cannot_schema_bind("", "", &reference.name.to_string()));
        }
        if let Some(view) = views::find_in(&reference.name, &self.session.database().name()) {
            self.require_table_of_pointer()?;
            refuse_sample(reference)?;
            let schema = reference.name.schema().unwrap_or(view.schema).to_owned();
            let database = reference.name.database().map(str::to_owned);
            let database = database.unwrap_or_else(|| self.session.database().name());
            if reference.system_time.is_some() {
                return Err(messages::not_system_versioned(&reference.name.to_string()));
            }
            let source = self.system_view(view, &reference.name, Vec::new(), exposed, from)?;
            return Ok(source.called(reference, (schema, database)));
        }
        match self.session.find_through_synonym(&reference.name)? {
            Through::Direct(found) => self.stored_source(found, reference, exposed, from),
            Through::Synonym(base, found) => self.synonym(&base, found, reference, exposed, from),
        }
    }

    /// A table or view that is stored.
    fn stored_source(
        &mut self,
        found: Option<Found>,
        reference: &'a TableReference,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let (database, object) = found.ok_or_else(|| messages::invalid_object_name(&reference.name.to_string()))?;
        match &object.definition {
            ObjectDefinition::Table(definition)
                if self
                    .changed_table
                    .as_ref()
                    .is_some_and(|changed| changed.is(&database, definition)) =>
            {
                let path = (definition.schema.clone(), database.name());
                let shape = self.changed_table.as_ref().map(|changed| changed.shape.clone());
                let exposed = (exposed, reference.alias.is_some());
                let mut source = self.variable_source(CHANGED_ROWS, &shape.unwrap_or_default(), exposed, from);
                // What `$ROWGUID` and `$IDENTITY` mean.
                for (column, own) in source.columns.iter_mut().zip(&definition.columns) {
                    (column.row_guid, column.identity) = (own.is_row_guid, own.identity.is_some());
                }
                Ok(source.called(reference, path))
            }
            ObjectDefinition::Table(definition) => match self.system_time_of(reference, &database, definition)? {
                Some(time) => self.versions((&database, &object), &time, reference, exposed, from),
                None => self.base_table(database, &object, reference, exposed, from),
            },
            ObjectDefinition::Module(module) if module.kind == ModuleKind::View && is_unexpanded(reference) => {
                if !object.definition.is_indexed_view() {
                    return Err(messages::invalid_hint("noexpand", &reference.name.to_string()));
                }
                if reference.system_time.is_some() {
                    return Err(messages::not_system_versioned(&reference.name.to_string()));
                }
                self.base_table(database, &object, &without_noexpand(reference), exposed, from)
            }
            ObjectDefinition::Module(module) if module.kind == ModuleKind::View => {
                self.require_table_of_pointer()?;
                refuse_sample(reference)?;
                let name = format!("{}.{}.{}", database.name(), module.schema, module.name);
                let schema = object.definition.qualified_name().map(|(schema, _)| schema.to_owned());
                let path = (schema.unwrap_or_default(), database.name());
                let bound = self.under_system_time(reference.system_time.as_deref(), &name, |binder| {
                    binder.with_hints(reference, |binder| binder.user_view(&database, &object, exposed, from))
                });
                Ok(bound?.called(reference, path))
            }
            _ => Err(messages::invalid_object_name(&reference.name.to_string())),
        }
    }

    /// What a synonym stands for, under the synonym's name.
    ///
    /// # Errors
    /// 5313 when that is neither a table nor a view; 2788 in what is bound to its schema.
    fn synonym(
        &mut self,
        base: &Name,
        found: Option<Found>,
        reference: &'a TableReference,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        if self.is_schema_bound {
            return Err(messages::synonym_in_schema_bound());
        }
        let schema = reference.name.schema().unwrap_or("dbo").to_owned();
        let database = reference.name.database().map(str::to_owned);
        let path = (schema, database.unwrap_or_else(|| self.session.database().name()));
        let source = match (found, views::find(base)) {
            (Some(found), _) if is_source(&found.1.definition) => {
                self.stored_source(Some(found), reference, exposed, from)?
            }
            (None, Some(_)) if reference.system_time.is_some() => {
                return Err(messages::not_system_versioned(&reference.name.to_string()));
            }
            (None, Some(view)) => self.system_view(view, base, Vec::new(), exposed, from)?,
            _ => return Err(messages::invalid_synonym(&reference.name.to_string())),
        };
        Ok(source.called(reference, path))
    }

    /// Binds what stands for other tables: hints at it are hints at each of them (sql-docs, "Table hints").
    pub(super) fn with_hints<T>(
        &mut self,
        reference: &TableReference,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let outer = self.inherited_hints.len();
        self.inherited_hints.extend_from_slice(&reference.hints);
        let result = work(self);
        self.inherited_hints.truncate(outer);
        result
    }

    pub(super) fn base_table(
        &mut self,
        database: Arc<Database>,
        object: &Arc<CatalogObject>,
        reference: &TableReference,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let Some(definition) = object.definition.table() else {
            return Err(messages::invalid_object_name(&reference.name.to_string()));
        };
        let path = reference
            .alias
            .is_none()
            .then(|| (definition.schema.clone(), database.name()));
        let stored = Stored::Table(database.id, definition.object_id);
        self.sources.push(stored);
        let has_alias = reference.alias.is_some();
        let offset = from.take_stored(stored, &exposed, has_alias, definition.columns.len());
        let row_places = reference.shows_row_places.then(|| RowPlaces {
            place: from.take(1),
            locator: match from.has_locators() {
                true => offset + definition.columns.len(),
                false => from.take(1),
            },
            object_id: definition.object_id,
            offset,
        });
        let mut columns = table_columns(definition, &exposed, path, offset);
        columns.iter_mut().for_each(|column| column.row_places = row_places);
        name_collections(&mut columns, definition, &database, self.session.id);
        let mut locking = Locking::default();
        for hints in [&self.inherited_hints, &reference.hints] {
            add_locking(&mut locking, hints, Place::Source, &definition.name)?;
        }
        let mut access = access(definition, &reference.hints)?;
        let sample = self.sampled(reference, definition)?;
        if sample.is_some() {
            // An index has other pages than the table.
            let index_asked_for = !matches!(access, Access::Any | Access::Scan);
            if index_asked_for {
                return Err(messages::no_plan_for_hints());
            }
            access = Access::Scan;
        }
        let node = Node::Scan(Box::new(ScanNode {
            table: self.bound_table(&database, object, Reading::from(locking))?,
            offset,
            columns: Vec::new(),
            held: Vec::new(),
            text_row: self.text_row(definition)?.map(Box::new),
            cursor: None,
            locator: row_places.map(|places| places.locator),
            row_place: row_places.map(|places| places.place),
            seek: None,
            access,
            sample,
            locking,
            degree_max: self.degree_max,
            virtual_columns: self.virtual_columns(definition)?,
            computed: Vec::new(),
            bitmaps: Vec::new(),
        }));
        Ok(BoundSource {
            node,
            columns,
            name: exposed,
        })
    }

    /// # Errors
    /// 313 for too few arguments, 8144 for too many.
    pub(super) fn system_view(
        &mut self,
        view: &'static SystemView,
        name: &Name,
        arguments: Vec<crate::plan::Expr>,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let database = match name.database() {
            Some(database) => self.session.open_database(database)?,
            None => self.session.database(),
        };
        match arguments.len().cmp(&view.parameters.len()) {
            Ordering::Equal => {}
            Ordering::Less => return Err(messages::insufficient_arguments(view.name, FUNCTION_STATE)),
            Ordering::Greater => return Err(messages::too_many_arguments(view.name)),
        }
        let arguments = arguments.into_iter().zip(view.parameters);
        let arguments = arguments
            .map(|(argument, sql_type)| implicit(argument, *sql_type))
            .collect::<Result<Vec<_>>>()?;
        // What a function makes of its arguments takes the collation of whatever it is compared with.
        let label = match view.is_function {
            true => Label::default(),
            false => Label::Implicit(Collation::default()),
        };
        let offset = from.take(view.columns.len());
        let columns = view
            .columns
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| !views::Withheld::hides_column(&self.session.instance, view.name, name))
            .map(|(index, &(name, sql_type))| ScopeColumn {
                qualifier: exposed.clone(),
                name: name.to_owned(),
                sql_type,
                label,
                index: offset + index,
                from_table: true,
                ..ScopeColumn::plain()
            });
        let columns = columns.collect();
        let node = Node::View(ViewNode {
            view,
            database_id: database.id,
            arguments,
            offset,
        });
        Ok(BoundSource {
            node,
            columns,
            name: exposed,
        })
    }

    /// A view in FROM, in place of which its query stands.
    ///
    /// # Errors
    /// Those of binding its query, each with 4413 behind it.
    pub(super) fn user_view(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let bound = self.view_in_from(database, object, exposed, from);
        let name = object.definition.qualified_name().map_or("", |(_, name)| name);
        bound.map_err(|error| messages::while_reading_view(error, name))
    }

    fn view_in_from(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        self.session.hold(database, object, Reading::default())?;
        let module = self.session.module(database, object)?;
        let ModuleBody::View(view) = &module.body else {
            return Err(messages::invalid_object_name(&exposed));
        };
        let names = (exposed.as_str(), view.name.object());
        let columns = names_of_columns(view, object);
        self.ask_inside(names, &columns, &view.query.body, QueryKind::View, from)?;
        let scope = VariableScope::default();
        let schema = object.definition.qualified_name().map(|(schema, _)| schema);
        let session = self.session;
        let plan = session.within_schema(schema, || {
            session.under_settings(module.settings, || {
                self.within_module(database, &scope, |binder| binder.nested_query(&view.query))
            })
        })?;
        self.note_offset(&view.query);
        self.check_inside(view, view.name.object())?;
        self.derived_columns(plan, &columns, &view.name.to_string(), exposed, from)
    }

    /// Binds a piece of a module, which sees its own database and variables and nothing that is around here; what it takes counts
    /// for the statement.
    ///
    /// # Errors
    /// 217 beyond 32 modules in one another; those of `work`.
    pub(super) fn within_module<'m, T>(
        &mut self,
        database: &Arc<Database>,
        variables: &'m VariableScope,
        work: impl FnOnce(&mut Binder<'m>) -> Result<T>,
    ) -> Result<T>
    where
        'a: 'm,
    {
        if self.view_depth >= 32 {
            return Err(messages::nesting_level_exceeded());
        }
        let mut binder = Binder::new(self.session, variables);
        binder.collation = database.collation();
        (binder.view_depth, binder.links) = (self.view_depth + 1, self.links);
        (binder.is_order_forced, binder.join_methods) = (self.is_order_forced, self.join_methods);
        binder.inherited_hints.clone_from(&self.inherited_hints);
        binder.view_time.clone_from(&self.view_time);
        binder.request = self.request.take();
        std::mem::swap(&mut binder.size, &mut self.size);
        std::mem::swap(&mut binder.sources, &mut self.sources);
        let result = self.session.within_database(database, || work(&mut binder));
        std::mem::swap(&mut binder.size, &mut self.size);
        std::mem::swap(&mut binder.sources, &mut self.sources);
        self.inside = binder.inside.take();
        result
    }

    /// A query in FROM; `captured` lets it use columns of the sources before it (APPLY).
    pub(super) fn derived(
        &mut self,
        query: &'a ast::Query,
        columns: &[Identifier],
        alias: &Identifier,
        captured: Option<Vec<ScopeColumn>>,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let Some(visible) = captured else {
            self.ask_inside(
                (&alias.text, &alias.text),
                columns,
                &query.body,
                QueryKind::Derived,
                from,
            )?;
            let plan = self.nested_query(query)?;
            self.note_offset(query);
            return self.derived_columns(plan, columns, &alias.text, alias.text.clone(), from);
        };
        let (subquery, _) = self.within(applied(visible), |binder| binder.subquery(query))?;
        let plan = Arc::try_unwrap(subquery.plan).map_err(|_| messages::nesting_level_exceeded())?;
        let mut source = self.derived_columns(plan, columns, &alias.text, alias.text.clone(), from)?;
        if let Node::Derived(DerivedNode { captures, .. }) = &mut source.node {
            *captures = subquery.captures;
        }
        Ok(source)
    }

    pub(super) fn derived_columns(
        &mut self,
        plan: QueryPlan,
        names: &[Identifier],
        own_name: &str,
        exposed: String,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let inside = self.inside.take();
        let shown = plan.columns.len() - inside.as_ref().map_or(0, updatable::Inside::hidden_count);
        if !names.is_empty() && names.len() != shown {
            return Err(column_list_mismatch(own_name, names.len(), shown));
        }
        let offset = from.take(plan.columns.len());
        let mut columns: Vec<ScopeColumn> = Vec::with_capacity(shown);
        for (index, column) in plan.columns.iter().take(shown).enumerate() {
            let name = names.get(index).map_or(column.name.as_str(), |name| name.text.as_str());
            if name.is_empty() {
                return Err(messages::column_without_name(index + 1, own_name));
            }
            if columns.iter().any(|other| other.name.eq_ignore_ascii_case(name)) {
                return Err(messages::duplicate_column(name, own_name));
            }
            columns.push(ScopeColumn {
                qualifier: exposed.clone(),
                name: name.to_owned(),
                sql_type: column.sql_type,
                label: column.label.of_column(),
                nullable: column.nullable,
                index: offset + index,
                identity: column.identity,
                from_table: column.from_table,
                xml_collection: column.xml_collection.clone(),
                is_untyped_null: is_null_of(&plan.root, index),
                ..ScopeColumn::plain()
            });
        }
        if let Some(inside) = inside {
            let names = columns.iter().map(|column| column.name.clone()).collect();
            let source = self.stored_below(inside, &exposed, names, offset);
            from.stored.get_or_insert_default().push(source);
        }
        let node = Node::Derived(DerivedNode {
            plan: Arc::new(plan),
            captures: Vec::new(),
            offset,
            common: None,
        });
        Ok(BoundSource {
            node,
            columns,
            name: exposed,
        })
    }

    /// VALUES on the right side of an APPLY, with the columns of the left side.
    pub(super) fn applied_values(
        &mut self,
        rows: &'a [Vec<Expression>],
        columns: &[Identifier],
        alias: &Identifier,
        visible: Vec<ScopeColumn>,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let ((source, boundary), _) = self.within(applied(visible), |binder| {
            binder.within(Level::Boundary(Vec::new()), |binder| {
                binder.values(rows, columns, alias, &mut FromBuilder::default())
            })
        })?;
        let Level::Boundary(captures) = boundary else {
            return Err(Error::assertion("VALUES of an APPLY left its level"));
        };
        let columns: Vec<ResultColumn> = source.columns.iter().map(ScopeColumn::result).collect();
        let plan = QueryPlan {
            root: source.node,
            width: columns.len(),
            columns,
        };
        let mut source = self.derived_columns(plan, &[], &alias.text, alias.text.clone(), from)?;
        if let Node::Derived(DerivedNode { captures: own, .. }) = &mut source.node {
            *own = captures;
        }
        Ok(source)
    }

    pub(super) fn values(
        &mut self,
        rows: &'a [Vec<Expression>],
        columns: &[Identifier],
        alias: &Identifier,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            bound.push(self.one_expression(|binder| binder.expressions(row))?);
        }
        let width = columns.len();
        if let Some(row) = bound.iter().find(|row| row.len() != width) {
            return Err(column_list_mismatch(&alias.text, width, row.len()));
        }
        let types: Vec<SqlType> = (0..width)
            .map(|column| super::case::meeting_type(bound.iter().map(|row| &row[column])))
            .collect();
        let labels = (0..width).map(|column| {
            let values = bound.iter().map(|row| &row[column]);
            label_of(values, "VALUES")?.for_operation("VALUES")
        });
        let labels = labels.collect::<Result<Vec<_>>>()?;
        let convert = |row: Vec<crate::plan::Expr>| {
            let columns = types.iter().zip(&labels);
            row.into_iter()
                .zip(columns)
                .map(|(value, (sql_type, label))| Ok(implicit(value, *sql_type)?.collated(*label)))
                .collect::<Result<Vec<_>>>()
        };
        let rows = bound.into_iter().map(convert).collect::<Result<Vec<_>>>()?;
        let offset = from.take(width);
        let columns =
            columns
                .iter()
                .zip(types.iter().zip(&labels))
                .enumerate()
                .map(|(index, (name, (&sql_type, label)))| ScopeColumn {
                    qualifier: alias.text.clone(),
                    name: name.text.clone(),
                    sql_type,
                    label: label.of_column(),
                    index: offset + index,
                    is_untyped_null: rows
                        .iter()
                        .all(|row| row.get(index).is_some_and(Expr::is_null_constant)),
                    ..ScopeColumn::plain()
                });
        let columns = columns.collect();
        Ok(BoundSource {
            node: Node::Values(ValuesNode { rows, offset }),
            columns,
            name: alias.text.clone(),
        })
    }

    pub(super) fn table_variable(
        &mut self,
        name: &str,
        alias: Option<&Identifier>,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let (slot, shape) = self
            .variables
            .table(name)
            .ok_or_else(|| messages::table_variable_not_declared(name))?;
        let shape = self.settled_shape(shape)?;
        let exposed = alias.map_or(name, |alias| alias.text.as_str()).to_owned();
        // A parameter that was given no table is empty: no variable has this slot.
        let lent = self.lent_tables.get(slot).map(|lent| lent.unwrap_or(usize::MAX));
        let mut source = self.variable_source(lent.unwrap_or(slot), &shape, (exposed, alias.is_some()), from);
        // What is lent cannot be changed.
        if lent.is_some() {
            source.columns.iter_mut().for_each(|column| column.from_table = false);
        }
        Ok(source)
    }

    /// The rows of a table variable of a shape, under an alias or its own name.
    fn variable_source(
        &mut self,
        slot: usize,
        shape: &TableVariableShape,
        (exposed, has_alias): (String, bool),
        from: &mut FromBuilder,
    ) -> BoundSource {
        self.sources.push(Stored::Variable(slot));
        let offset = from.take_stored(Stored::Variable(slot), &exposed, has_alias, shape.columns.len());
        let columns = shape.columns.iter().enumerate().map(|(index, column)| ScopeColumn {
            qualifier: exposed.clone(),
            name: column.name.clone(),
            sql_type: column.sql_type,
            label: Label::Implicit(column.collation.unwrap_or(self.collation)),
            nullable: column.nullable,
            index: offset + index,
            identity: column.identity.is_some(),
            from_table: true,
            is_hidden: column.is_hidden,
            ..ScopeColumn::plain()
        });
        let columns: Vec<ScopeColumn> = columns.collect();
        let node = Node::Variable(VariableNode {
            slot,
            width: columns.len(),
            offset,
            locator: None,
        });
        BoundSource {
            node,
            columns,
            name: exposed,
        }
    }

    /// A table-valued function of the system, with arguments that may use the sources before it.
    pub(super) fn table_function(
        &mut self,
        call: &'a FunctionCall,
        schema: &[SchemaColumn],
        alias: Option<&Identifier>,
        names: &[Identifier],
        visible: Vec<ScopeColumn>,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let exposed = alias.map_or_else(|| call.name.object().to_owned(), |alias| alias.text.clone());
        if call.name.parts.len() == 1
            && let Some(function) = functions::table_function(call.name.object())
        {
            let visible = applied(visible);
            return match schema {
                [] => self.called_rows(function, call, names, exposed, visible, from),
                schema => self.json_rows(call, schema, names, exposed, visible, from),
            };
        }
        if call.is_method {
            let method = self.method_in_from(call, super::not_supported(&format!("method {}", call.name.object())))?;
            return self.xml_nodes(method, names, exposed, applied(visible), from);
        }
        let Some(view) = views::find_function(&call.name) else {
            let nodes = visible.clone();
            let alias = exposed.clone();
            let found = self.user_table_function(call, exposed, names, visible, from);
            let found =
                found.and_then(|found| found.ok_or_else(|| messages::invalid_object_name(&call.name.to_string())));
            return match found {
                Ok(found) => Ok(found),
                Err(error) => {
                    let method = self.method_in_from(call, error);
                    let method = method.map_err(|error| super::function::method_of(&call.name, error))?;
                    self.xml_nodes(method, names, alias, applied(nodes), from)
                }
            };
        };
        let level = Level::Select(SelectLevel {
            columns: visible,
            ..SelectLevel::default()
        });
        let (mut arguments, _) = self.within(level, |binder| binder.function_arguments(&call.arguments))?;
        // What a function leaves out at its end is NULL.
        while arguments.len() < view.parameters.len() && arguments.len() >= view.required {
            let sql_type = view.parameters[arguments.len()];
            arguments.push(crate::plan::Expr::constant(engine::types::Value::Null, sql_type));
        }
        let mut source = self.system_view(view, &call.name, arguments, exposed, from)?;
        for (column, name) in source.columns.iter_mut().zip(names) {
            column.name.clone_from(&name.text);
        }
        Ok(source)
    }

    /// The word DEFAULT as an argument is NULL; bare words of system functions are text.
    fn function_arguments(&mut self, arguments: &'a [Expression]) -> Result<Vec<crate::plan::Expr>> {
        self.expressions(arguments)
    }
}

/// Whether an indexed view is read by the rows that its indexes hold, rather than by its query.
fn is_unexpanded(reference: &TableReference) -> bool {
    reference.hints.iter().any(|hint| hint.name == "NOEXPAND")
}

/// The same reference with the other hints alone.
fn without_noexpand(reference: &TableReference) -> TableReference {
    let mut other = reference.clone();
    other.hints.retain(|hint| hint.name != "NOEXPAND");
    other
}

/// The left side of an APPLY, as its right side sees it.
fn applied(visible: Vec<ScopeColumn>) -> Level {
    Level::Select(SelectLevel {
        columns: visible,
        place: scope::Place::Applied,
        ..SelectLevel::default()
    })
}

/// Whether a column of a query, as it is bound, is the word NULL in every row.
pub(super) fn is_null_of(node: &Node, column: usize) -> bool {
    match node.shape() {
        Shape::Source(own) => {
            let own_column = column.checked_sub(own.offset).filter(|column| *column < own.width);
            own_column.is_some_and(|column| {
                if let Node::Derived(derived) = node {
                    return is_null_of(&derived.plan.root, column);
                }
                let is_null = |row: &Vec<Expr>| row.get(column).is_some_and(Expr::is_null_constant);
                matches!(node, Node::Values(values) if values.rows.iter().all(is_null))
            })
        }
        Shape::Passed(input) => is_null_of(input, column),
        Shape::Extended(below) => column < below.width && is_null_of(below.input, column),
        Shape::Joined => {
            let mut is_null = false;
            node.for_each_in_row(&mut |below| is_null |= is_null_of(below, column));
            is_null
        }
        Shape::Computed(below) => {
            let Node::Project(project) = node else { return false };
            project.expressions.get(column).is_some_and(|value| match value.kind {
                ExprKind::Column(index) => is_null_of(below.input, index),
                _ => value.is_null_constant(),
            })
        }
        Shape::United => {
            matches!(node, Node::Append(append) if append.inputs.iter().all(|input| is_null_of(input, column)))
        }
    }
}

/// Notes the schema collections of a table's columns of typed xml.
fn name_collections(columns: &mut [ScopeColumn], definition: &TableDefinition, database: &Database, session: u16) {
    for (column, own) in columns.iter_mut().zip(&definition.columns) {
        column.xml_collection = collection_name(database, own, session);
    }
}

/// The schema collection that a column is declared with.
fn collection_name(database: &Database, column: &ColumnDefinition, session: u16) -> Option<Arc<XmlCollectionName>> {
    let id = column.xml_collection()?;
    let found = database.catalog.objects(session).into_iter().find_map(|object| {
        let ObjectDefinition::XmlSchemaCollection(own) = &object.definition else {
            return None;
        };
        (own.collection_id == id).then(|| XmlCollectionName {
            database: database.name(),
            schema: own.schema.clone(),
            name: own.name.clone(),
        })
    });
    found.map(Arc::new)
}

/// The columns of a table as names.
pub(super) fn table_columns(
    definition: &TableDefinition,
    qualifier: &str,
    path: Option<(String, String)>,
    offset: usize,
) -> Vec<ScopeColumn> {
    let columns = definition
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| ScopeColumn {
            qualifier: qualifier.to_owned(),
            path: path.clone(),
            name: column.name.clone(),
            sql_type: column.sql_type,
            label: Label::Implicit(column.collation),
            nullable: column.nullable,
            index: offset + index,
            identity: column.identity.is_some(),
            row_guid: column.is_row_guid,
            from_table: true,
            is_hidden: column.is_hidden(),
            ..ScopeColumn::plain()
        });
    columns.collect()
}

/// 8158 or 8159: a list of `listed` names for what has `columns` columns.
pub(crate) fn column_list_mismatch(table: &str, listed: usize, columns: usize) -> Error {
    if listed > columns {
        messages::column_list_too_long(table)
    } else {
        messages::column_list_too_short(table)
    }
}

/// The names of a view's columns: those that the catalog has for them, which `sp_rename` changes. Of a query with `*`, whose columns its sources
/// decide, they are the query's own.
fn names_of_columns<'v>(view: &'v ast::CreateView, object: &CatalogObject) -> Cow<'v, [Identifier]> {
    match &object.definition {
        ObjectDefinition::Module(module) if !module.columns.is_empty() && !view.query.body.has_star() => {
            let names = module.columns.iter().map(|column| Identifier::new(&column.name));
            Cow::Owned(names.collect())
        }
        _ => Cow::Borrowed(&view.columns),
    }
}
