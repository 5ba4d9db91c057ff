//! CREATE and ALTER of procedures, functions and views; references to them.

use std::cell::Cell;
use std::collections::HashSet;

use engine::catalog::{
    Bindings, CatalogObject, ColumnDefinition, Identity, ModuleDefinition, ModuleKind, ObjectDefinition,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::{Collation, SqlType};

use super::body_check::BodyCheck;
use super::bound_parts::PartBinder;
use super::executor::{Executor, Flow, Outcome};
use crate::ast::{
    CreateFunction, CreateProcedure, CreateView, DefinitionKind, FunctionBody, Identifier, Name, Query, StatementKind,
};
use crate::bind::{Binder, column_list_mismatch};
use crate::failure::Failure;
use crate::messages;
use crate::modules::{
    ModuleBody, UserTypes, VariableScope, check_function, check_returned, declared, dependent_on_object,
    one_part_source,
};
use crate::security::check_new_module;
use crate::sink::{DoneKind, ResultColumn};

/// Parameters of a procedure or function (sql-docs, "Maximum capacity specifications").
const MODULE_PARAMETERS_MAX: usize = 2_100;

/// A module that is about to be created or altered.
struct NewModule<'m> {
    statement: &'m StatementKind,
    name: &'m Name,
    kind: ModuleKind,
    how: DefinitionKind,
    text: &'m str,
}

/// The query of a view or inline function, as it is written.
struct ModuleQuery<'m> {
    name: &'m Name,
    /// `view` or `function`, as 4512 has it.
    word: &'static str,
    /// Names of the columns, where they are given apart from the query.
    columns: &'m [Identifier],
    options: &'m [String],
    query: &'m Query,
}

/// 180 for more parameters than a module may have.
fn check_parameters(statement: &str, count: usize) -> Result<()> {
    match count > MODULE_PARAMETERS_MAX {
        true => Err(messages::too_many_module_parameters(statement)),
        false => Ok(()),
    }
}

impl Executor<'_> {
    /// CREATE and ALTER FUNCTION. What is refused in its text has a line of its own.
    pub(super) fn create_function(
        &mut self,
        statement: &StatementKind,
        function: &CreateFunction,
        line: u32,
    ) -> Outcome<Flow> {
        check_function(function).map_err(|(line, error)| {
            let own_name = function.name.object();
            Box::new(Failure::new(error, line, own_name))
        })?;
        let module = NewModule {
            statement,
            name: &function.name,
            kind: ModuleKind::Function,
            how: function.definition,
            text: &function.text,
        };
        self.create_bound(&module, line, |executor, line| {
            executor.columns_of_function(function, line)
        })
    }

    /// CREATE and ALTER VIEW.
    pub(super) fn create_view(&mut self, statement: &StatementKind, view: &CreateView, line: u32) -> Outcome<Flow> {
        let module = NewModule {
            statement,
            name: &view.name,
            kind: ModuleKind::View,
            how: view.definition,
            text: &view.text,
        };
        let scope = VariableScope::default();
        self.create_bound(&module, line, |executor, line| {
            executor.columns_of_query(&ModuleQuery::of_view(view), &scope, line)
        })
    }

    /// Creates a view that is an element of a schema. Its tables are there.
    ///
    /// # Errors
    /// Those of its query, and of a name that is taken.
    pub(super) fn create_view_of_schema(&mut self, statement: &StatementKind, view: &CreateView) -> Result<()> {
        let module = NewModule {
            statement,
            name: &view.name,
            kind: ModuleKind::View,
            how: view.definition,
            text: &view.text,
        };
        let (scope, line) = (VariableScope::default(), Cell::new(1));
        self.store_module(&module, |executor| {
            executor.columns_of_query(&ModuleQuery::of_view(view), &scope, &line)
        })
    }

    /// Creates or alters a module that is bound when it is made. Its errors have the module's name, and the line of what is wrong.
    fn create_bound(
        &mut self,
        module: &NewModule<'_>,
        line: u32,
        columns: impl Fn(&Self, &Cell<u32>) -> Result<Vec<ColumnDefinition>>,
    ) -> Outcome<Flow> {
        let line = Cell::new(line);
        let created = self.redefining_by(module.statement, 0, |executor| {
            executor.store_module(module, |executor| columns(executor, &line))
        });
        let done = created.and_then(|()| {
            self.session.set_row_count(0);
            self.done(None, DoneKind::Other)
        });
        done.map(|()| Flow::Next)
            .map_err(|error| self.failure_of_module(error, line.get(), module.name.object()))
    }

    /// The columns of a function. An inline one is bound: the tables it names must be there, and its columns must have names. The
    /// statements of others are looked at for names alone, and only WITH SCHEMABINDING.
    fn columns_of_function(&self, function: &CreateFunction, line: &Cell<u32>) -> Result<Vec<ColumnDefinition>> {
        check_parameters("CREATE FUNCTION", function.parameters.len())?;
        let database = self.session.database();
        let types = UserTypes::of(&database, self.session.id, self.session.version());
        let (mut scope, _) = declared(function.parameters.clone(), types)?;
        if let FunctionBody::InlineTable(query) = &function.body {
            return self.columns_of_query(&ModuleQuery::of_function(function, query), &scope, line);
        }
        if is_schema_bound(&function.options)
            && let Some(name) = one_part_source(&function.text)
        {
            let own_name = function.name.to_string();
            return Err(messages::cannot_schema_bind("function", &own_name, &name));
        }
        if let FunctionBody::Scalar { returns, .. } = &function.body {
            check_returned(returns, types)?;
        }
        if let FunctionBody::Scalar { statements, .. } | FunctionBody::Table { statements, .. } = &function.body {
            self.check_read_only(statements, &scope)?;
        }
        let FunctionBody::Table { variable, elements, .. } = &function.body else {
            return Ok(Vec::new());
        };
        scope.declare_table(variable, elements, types)?;
        let collation = self.session.database_collation();
        let binder = Binder::new(self.session, &scope);
        // The table that is returned stands behind those that are parameters.
        let shapes = scope.shapes().last().map(|shape| binder.settled_shape(shape));
        let shapes = shapes.into_iter().collect::<Result<Vec<_>>>()?;
        let columns = shapes
            .iter()
            .flat_map(|shape| &shape.columns)
            .map(|column| ColumnDefinition {
                collation: column.collation.unwrap_or(collation),
                ..shown_column(&column.name, column.sql_type, column.nullable)
            });
        Ok(columns.collect())
    }

    /// Binds the query of a view or inline function, as it will be bound where it is used: "SQL Server doesn't support deferred name
    /// resolution for" statements outside procedures (sql-docs, "CREATE VIEW": the objects that a view refers to must exist).
    ///
    /// # Errors
    /// Those of the query; 4511 and 4506 for the names of its columns, 8158 and 8159 for their number, 4429 when it reads itself.
    fn columns_of_query(
        &self,
        module: &ModuleQuery<'_>,
        scope: &VariableScope,
        line: &Cell<u32>,
    ) -> Result<Vec<ColumnDefinition>> {
        let is_bound = is_schema_bound(module.options);
        let session = self.session;
        let database = session.database_of(module.name)?;
        let own = session.find_object(module.name)?;
        session.take_dependencies();
        let mut binder = Binder::new(session, scope).bound_to_schema(is_bound);
        let bound = session.within_schema(Some(crate::state::schema_of(module.name)), || {
            session.within_database(&database, || binder.inline(module.query))
        });
        if binder.line() > 0 {
            line.set(binder.line());
        }
        let (plan, _) = bound.map_err(|error| named(error, module.word, module.name))?;
        if is_bound && module.query.body.has_star() {
            return Err(messages::star_in_schema_bound());
        }
        let reads_itself = own.is_some_and(|(_, own)| {
            let dependencies = session.take_dependencies();
            dependencies.has_object(&database, own.definition.object_id())
        });
        if reads_itself {
            return Err(messages::self_reference(&module.name.to_string()));
        }
        module.shown(&plan.columns)
    }

    /// CREATE and ALTER PROCEDURE. What is wrong in its body has a line of its own.
    pub(super) fn create_procedure(
        &mut self,
        statement: &StatementKind,
        procedure: &CreateProcedure,
        line: u32,
    ) -> Outcome<Flow> {
        let module = NewModule {
            statement,
            name: &procedure.name,
            kind: ModuleKind::Procedure,
            how: procedure.definition,
            text: &procedure.text,
        };
        self.create_bound(&module, line, |executor, line| {
            executor.check_procedure(procedure, line).map(|()| Vec::new())
        })
    }

    fn check_procedure(&self, procedure: &CreateProcedure, line: &Cell<u32>) -> Result<()> {
        check_parameters("CREATE PROCEDURE", procedure.parameters.len())?;
        let database = self.session.database();
        let types = UserTypes::of(&database, self.session.id, self.session.version());
        let (mut scope, _) = declared(procedure.parameters.clone(), types)?;
        scope.collect(&procedure.body, types).map_err(|(_, error)| error)?;
        self.check_read_only(&procedure.body, &scope)?;
        let check = BodyCheck {
            session: self.session,
            scope: &scope,
            line,
        };
        let schema = crate::state::schema_of(&procedure.name);
        self.session
            .within_schema(Some(schema), || check.statements(&procedure.body))
    }

    /// Stores a module with the columns that it is found to have. ALTER makes no object of another kind out of one.
    fn store_module(
        &mut self,
        module: &NewModule<'_>,
        columns: impl FnOnce(&Self) -> Result<Vec<ColumnDefinition>>,
    ) -> Result<()> {
        let &NewModule {
            name, kind, how, text, ..
        } = module;
        let own_name = name.object();
        check_module_name(kind, name)?;
        let database = self.session.database_of(name)?;
        let former = self.session.find_object(name)?;
        let schema = crate::state::schema_of(name);
        self.check_schema(&database, schema)?;
        match (&former, how) {
            (Some(_), DefinitionKind::Create) => return Err(messages::object_exists(own_name)),
            (None, DefinitionKind::Alter) => return Err(messages::invalid_object_name(&name.to_string())),
            _ => {}
        }
        let columns = columns(self)?;
        let former_name = former
            .as_ref()
            .and_then(|(_, object)| object.definition.qualified_name());
        let stored = match former_name {
            Some((_, stored)) => stored.to_owned(),
            None => self.session.name_to_store(&database, own_name)?,
        };
        let created = self.session.now_ticks();
        let object_id = match &former {
            Some((_, object)) => object.definition.object_id(),
            None => database.new_object_id()?,
        };
        let definition = ObjectDefinition::Module(ModuleDefinition {
            object_id,
            schema: schema.to_owned(),
            name: stored,
            kind,
            text: text.to_owned(),
            uses_ansi_nulls: self.session.options().ansi_nulls,
            uses_quoted_identifier: self.session.options().quoted_identifier,
            columns,
            parent: 0,
            triggers: former
                .as_ref()
                .map_or_else(Vec::new, |(_, former)| former.definition.triggers().to_vec()),
            definition_trigger: None,
            // "ALTER VIEW unconditionally drops all indexes on the view" (sql-docs, ALTER VIEW).
            rows: None,
            created: (created.days, created.ticks),
        });
        check_new_module(&database, self.session.id, &definition)?;
        let Some((_, object)) = former else {
            let mut engine = self.session.engine.borrow_mut();
            let object = engine.create_object(&database, definition)?;
            drop(engine);
            self.session.note_temporary(own_name, &object);
            return Ok(());
        };
        if crate::views::type_code(&object.definition) != crate::views::type_code(&definition) {
            return Err(messages::incompatible_object_type(&name.to_string()));
        }
        self.lock_with_tables(&database, &object)?;
        self.check_not_named(&database, &object, "ALTER", &name.to_string())?;
        let mut engine = self.session.engine.borrow_mut();
        engine.replace_object(&database, &object, definition).map(|_| ())
    }

    /// sp_refreshview and sp_refreshsqlmodule: the columns that the catalog shows of a view or inline function are found again. Other
    /// modules have nothing in the catalog that grows old.
    pub(super) fn refresh_module(&mut self, written: &str) -> Result<()> {
        let missing = || messages::object_not_found_to_refresh(written);
        let name = Name::parse(written).ok_or_else(missing)?;
        self.redefining(|executor| {
            let (database, object) = executor.session.find_object(&name)?.ok_or_else(missing)?;
            let ObjectDefinition::Module(former) = &object.definition else {
                return Err(missing());
            };
            let module = executor.session.module(&database, &object)?;
            let line = Cell::new(0);
            let options: &[String] = &[];
            let scope_of_view = VariableScope::default();
            let (columns, scope, query): (&[Identifier], _, _) = match &module.body {
                ModuleBody::View(view) => (&view.columns, &scope_of_view, &view.query),
                ModuleBody::Inline { scope, query } => (&[], &**scope, &**query),
                _ => return Ok(()),
            };
            let text = ModuleQuery {
                name: &name,
                word: "",
                columns,
                options,
                query,
            };
            let columns = executor
                .session
                .under_settings(module.settings, || executor.columns_of_query(&text, scope, &line))?;
            let definition = ObjectDefinition::Module(ModuleDefinition {
                columns,
                ..former.clone()
            });
            executor.session.engine.borrow().lock_definition(&database, &object)?;
            let mut engine = executor.session.engine.borrow_mut();
            engine.replace_object(&database, &object, definition).map(|_| ())
        })
    }

    /// 3729 for a function that a CHECK or DEFAULT calls, and for whatever a schema-bound module names.
    pub(super) fn check_not_named(
        &self,
        database: &Database,
        object: &CatalogObject,
        statement: &str,
        written: &str,
    ) -> Result<()> {
        match dependent_on_object(database, self.session.id, object) {
            Some(by) => Err(messages::referenced_by_object(statement, written, &by)),
            None => Ok(()),
        }
    }
}

/// A module is in the current database, and a view is not temporary.
fn check_module_name(kind: ModuleKind, name: &Name) -> Result<()> {
    match name.object() {
        _ if name.database().is_some() => Err(messages::database_prefix(statement_of(kind))),
        own if own.starts_with('#') && kind == ModuleKind::View => Err(messages::temporary_view(own)),
        _ => Ok(()),
    }
}

fn statement_of(kind: ModuleKind) -> &'static str {
    match kind {
        ModuleKind::View => "CREATE/ALTER VIEW",
        ModuleKind::Procedure => "CREATE/ALTER PROCEDURE",
        ModuleKind::Function => "CREATE/ALTER FUNCTION",
        ModuleKind::Trigger | ModuleKind::DatabaseTrigger => "CREATE/ALTER TRIGGER",
    }
}

impl<'m> ModuleQuery<'m> {
    fn of_view(view: &'m CreateView) -> ModuleQuery<'m> {
        ModuleQuery {
            name: &view.name,
            word: "view",
            columns: &view.columns,
            options: &view.options,
            query: &view.query,
        }
    }

    fn of_function(function: &'m CreateFunction, query: &'m Query) -> ModuleQuery<'m> {
        ModuleQuery {
            name: &function.name,
            word: "function",
            columns: &[],
            options: &function.options,
            query,
        }
    }

    /// The columns of its rows, as the catalog shows them.
    fn shown(&self, columns: &[ResultColumn]) -> Result<Vec<ColumnDefinition>> {
        let own_name = self.name.object();
        if !self.columns.is_empty() && self.columns.len() != columns.len() {
            return Err(column_list_mismatch(own_name, self.columns.len(), columns.len()));
        }
        let mut taken = HashSet::with_capacity(columns.len());
        let mut shown = Vec::with_capacity(columns.len());
        for (place, column) in columns.iter().enumerate() {
            let name = self.columns.get(place).map_or(&column.name, |name| &name.text);
            if name.is_empty() {
                return Err(messages::module_column_without_name(place + 1));
            }
            if !taken.insert(name.to_lowercase()) {
                return Err(messages::duplicate_view_column(name, own_name));
            }
            shown.push(ColumnDefinition {
                collation: column.label.collation(),
                // The property shows through; its values are the table's.
                identity: column.identity.then_some(Identity { seed: 1, increment: 1 }),
                ..shown_column(name, column.sql_type, column.nullable)
            });
        }
        Ok(shown)
    }
}

/// A column that belongs to no table.
fn shown_column(name: &str, sql_type: SqlType, nullable: bool) -> ColumnDefinition {
    ColumnDefinition {
        name: name.to_owned(),
        sql_type,
        collation: Collation::default(),
        alias_type: None,
        nullable,
        identity: None,
        default: None,
        is_row_guid: false,
        computed: None,
        generated: None,
        mask: None,
        bound: Bindings::default(),
    }
}

fn is_schema_bound(options: &[String]) -> bool {
    options.iter().any(|option| option == "SCHEMABINDING")
}

/// 4512 with the name of the module that is bound.
fn named(error: Error, kind: &str, module: &Name) -> Error {
    let nameless = messages::cannot_schema_bind("", "", "");
    if error.number != nameless.number {
        return error;
    }
    let message = error
        .message
        .replacen(" '' because", &format!("{kind} '{module}' because"), 1);
    Error { message, ..error }
}
