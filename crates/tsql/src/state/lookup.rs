//! Name lookup of a session: the current database, its temporary objects, the schemas of the running modules.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use engine::catalog::{CatalogObject, ModuleKind, ObjectDefinition, SynonymDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::TEMPDB;
use engine::lock::{Mode, Resource};
use engine::types::Collation;

use super::SessionState;
use super::admission::admit;
use super::definitions::{Dependencies, Reading};
use super::temporary::{TemporaryObjects, schema_of};
use crate::ast::{Identifier, Name};
use crate::messages;
use crate::modules::{Module, ModuleCache, ModuleSettings, UserTypes};

/// The number of [`messages::database_not_found`].
const DATABASE_NOT_FOUND: i32 = 911;

/// What names mean to a session.
pub struct Lookup {
    /// The current database.
    database: RefCell<Arc<Database>>,
    /// Temporary tables and procedures, and what they are called in tempdb.
    pub(crate) temporary: RefCell<TemporaryObjects>,
    pub(super) hidden_temporary_tables: Cell<u64>,
    /// What binding has depended on since it was last asked.
    pub(super) dependencies: RefCell<Dependencies>,
    /// The schemas of the modules under way, the innermost last.
    module_schemas: RefCell<Vec<Option<String>>>,
    /// The instance's modules.
    modules: Arc<ModuleCache>,
}

impl Lookup {
    /// In a database, with nothing of the session's own.
    pub(super) fn new(database: Arc<Database>, modules: Arc<ModuleCache>) -> Lookup {
        Lookup {
            database: RefCell::new(database),
            temporary: RefCell::default(),
            hidden_temporary_tables: Cell::new(0),
            dependencies: RefCell::default(),
            module_schemas: RefCell::default(),
            modules,
        }
    }
}

/// An object, and the database that it is in.
pub(crate) type Found = (Arc<Database>, Arc<CatalogObject>);

/// What a name stands for.
pub(crate) enum Through {
    /// What has that name, itself.
    Direct(Option<Found>),
    /// The name that a synonym stands for, and what has it.
    Synonym(Name, Option<Found>),
}

/// Whether rows can be read of it: a table or a view.
pub(crate) fn is_source(definition: &ObjectDefinition) -> bool {
    match definition {
        ObjectDefinition::Table(_) => true,
        ObjectDefinition::Module(module) => module.kind == ModuleKind::View,
        _ => false,
    }
}

/// The name that a synonym stands for, with a database: without one it means that of the synonym.
fn base_name(synonym: &SynonymDefinition, database: &Database) -> Option<Name> {
    let mut name = Name::parse(&synonym.base)?;
    if name.database().is_none() && name.server().is_none() {
        let schema = Identifier::new(schema_of(&name));
        let object = name.parts.pop()?;
        name.parts = vec![Identifier::new(database.name()), schema, object];
    }
    Some(name)
}

/// The name that a synonym stands for, as it was written.
fn written_base(synonym: &SynonymDefinition) -> String {
    Name::parse(&synonym.base).map_or_else(String::new, |name| name.to_string())
}

impl SessionState {
    /// The current database.
    pub fn database(&self) -> Arc<Database> {
        self.lookup.database.borrow().clone()
    }

    /// The current database's id.
    pub(crate) fn database_id(&self) -> u16 {
        self.lookup.database.borrow().id
    }

    /// The collation of constants, variables and new columns in the current database.
    pub(crate) fn database_collation(&self) -> Collation {
        self.lookup.database.borrow().collation()
    }

    /// The collation of a name written after COLLATE.
    ///
    /// # Errors
    /// 448 when there is none of that name.
    pub(crate) fn collation(&self, name: &str) -> Result<Collation> {
        match name.to_ascii_lowercase().as_str() {
            "database_default" => Ok(self.database_collation()),
            "catalog_default" => Ok(Collation::default()),
            _ => Collation::from_name(name).ok_or_else(|| messages::invalid_collation(name)),
        }
    }

    /// Whether a database is the current one.
    pub(crate) fn is_in(&self, database: &Arc<Database>) -> bool {
        Arc::ptr_eq(database, &self.lookup.database.borrow())
    }

    /// Whether the current database may be looked at: a statement whose plan reads no page of it may know of its objects.
    ///
    /// # Errors
    /// 9001 when its log has failed.
    pub(crate) fn check_intact(&self) -> Result<()> {
        self.lookup.database.borrow().storage.log.check_intact()
    }

    /// Makes a database the current one.
    ///
    /// # Errors
    /// 911 and others when it cannot be used.
    pub fn use_database(&self, name: &str) -> Result<()> {
        let database = self.open_database(name)?;
        admit(&self.instance, self.id, &database)?;
        self.engine.borrow_mut().use_database(&database)?;
        *self.lookup.database.borrow_mut() = database;
        Ok(())
    }

    /// USE: within a module or a text the database that it was called in stays locked, since it comes back there.
    ///
    /// # Errors
    /// Those of [`SessionState::use_database`].
    pub(crate) fn use_inside(&self, name: &str) -> Result<()> {
        let is_called_here = self.called_in_database.get() == Some(self.database().id);
        match is_called_here {
            true => self.enter_database(self.open_database(name)?),
            false => self.use_database(name),
        }
    }

    /// Goes on in another database until [`SessionState::leave_database`]; the one that it was called in stays locked.
    ///
    /// # Errors
    /// Those of [`SessionState::use_database`].
    pub(crate) fn enter_database(&self, database: Arc<Database>) -> Result<()> {
        admit(&self.instance, self.id, &database)?;
        self.engine.borrow_mut().enter_database(&database)?;
        *self.lookup.database.borrow_mut() = database;
        Ok(())
    }

    /// Comes back to the database that others were entered from since there were `depth` to come back to; to master, where what was called has closed it.
    ///
    /// # Errors
    /// Why it cannot be used any more.
    pub(crate) fn leave_database(&self, database: Arc<Database>, depth: usize) -> Result<()> {
        let left = self.engine.borrow_mut().leave_database(&database, depth);
        match left {
            Ok(()) => {
                *self.lookup.database.borrow_mut() = database;
                Ok(())
            }
            Err(closed) => {
                self.use_database("master")?;
                Err(self.open_database(&database.name()).err().unwrap_or(closed))
            }
        }
    }

    /// A database by its name.
    ///
    /// # Errors
    /// 911 when there is none, others when it is not usable.
    pub fn open_database(&self, name: &str) -> Result<Arc<Database>> {
        self.instance.database(name)
    }

    /// The database that a name of several parts lies in.
    ///
    /// # Errors
    /// 911 and others; 7202 for a linked server.
    pub fn database_of(&self, name: &Name) -> Result<Arc<Database>> {
        if let Some(server) = name.server() {
            let text = format!(
                "Could not find server '{server}' in sys.servers. Verify that the correct server name was specified. If \
                 necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers."
            );
            return Err(Error::new(7202, 11, 2, text));
        }
        if name.object().starts_with('#') {
            return self
                .instance
                .database_by_id(TEMPDB)
                .ok_or_else(|| messages::database_not_found("tempdb"));
        }
        match name.database() {
            Some(database) => self.open_database(database),
            None => Ok(self.database()),
        }
    }

    /// An object by its name of one to four parts; the schema is dbo when none is written.
    ///
    /// # Errors
    /// When the database cannot be used. No such object is `None`.
    pub fn find_object(&self, name: &Name) -> Result<Option<(Arc<Database>, Arc<CatalogObject>)>> {
        let database = self.database_of(name)?;
        let schema = schema_of(name);
        let stored = self.stored_name(name.object());
        self.lookup.dependencies.borrow_mut().looks_into(&database);
        let mut found = database.catalog.find(schema, &stored, self.id);
        while let Some(object) = &found
            && matches!(object.definition, ObjectDefinition::Module(_))
            && database.catalog.is_pending_for(object, self.id)
        {
            self.wait_for_definition(&database, object)?;
            found = database.catalog.find(schema, &stored, self.id);
        }
        Ok(found.map(|object| (database, object)))
    }

    /// An object by the name that a statement of a module uses: a name without schema is looked for in the module's own first
    /// (sql-docs, "CREATE PROCEDURE": names that are not schema-qualified "default to the schema of the stored procedure").
    ///
    /// # Errors
    /// As [`SessionState::find_object`].
    pub fn find_in_module(&self, name: &Name) -> Result<Option<(Arc<Database>, Arc<CatalogObject>)>> {
        let schema = self.lookup.module_schemas.borrow().last().cloned().flatten();
        if let ([object], Some(schema)) = (name.parts.as_slice(), schema)
            && !object.text.starts_with('#')
        {
            let parts = vec![Identifier::new(&schema), object.clone()];
            let found = self.find_object(&Name { parts })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        self.find_object(name)
    }

    /// What a name stands for that may be a synonym, each time by name. The synonym is held to the end of the statement.
    ///
    /// # Errors
    /// 470 for a synonym of a synonym; those of [`SessionState::find_object`] for what the synonym stands for.
    pub(crate) fn through_synonym(&self, name: &Name, found: Option<Found>) -> Result<Through> {
        let Some((database, object)) = found else {
            return Ok(Through::Direct(None));
        };
        let ObjectDefinition::Synonym(synonym) = &object.definition else {
            return Ok(Through::Direct(Some((database, object))));
        };
        self.hold(&database, &object, Reading::default())?;
        let base = base_name(synonym, &database).ok_or_else(|| messages::invalid_synonym(&name.to_string()))?;
        let behind = match self.find_object(&base) {
            Err(error) if error.number == DATABASE_NOT_FOUND => None,
            found => found?,
        };
        match behind {
            Some((_, object)) if matches!(object.definition, ObjectDefinition::Synonym(_)) => {
                Err(messages::synonym_of_synonym(&name.to_string(), &written_base(synonym)))
            }
            behind => Ok(Through::Synonym(base, behind)),
        }
    }

    /// The same for the name that a query or a change uses: a database that is not there has no objects.
    ///
    /// # Errors
    /// As [`SessionState::through_synonym`].
    pub(crate) fn find_through_synonym(&self, name: &Name) -> Result<Through> {
        let found = match self.find_in_module(name) {
            Err(error) if error.number == DATABASE_NOT_FOUND => None,
            found => found?,
        };
        self.through_synonym(name, found)
    }

    /// A table or view by the name that a query or a change uses. In a database that is not there it is as unknown as one that is
    /// not there itself (go-mssqldb tests, "TestBulkcopyDestinationIsASingleObject": 208).
    ///
    /// # Errors
    /// As [`SessionState::find_object`], but for 911; 5313 when the name is a synonym of anything else, 470.
    pub fn find_source(&self, name: &Name) -> Result<Option<Found>> {
        match self.find_through_synonym(name)? {
            Through::Direct(found) => Ok(found),
            Through::Synonym(_, Some(found)) if is_source(&found.1.definition) => Ok(Some(found)),
            Through::Synonym(..) => Err(messages::invalid_synonym(&name.to_string())),
        }
    }

    /// Works inside of a module of a schema, or with `None` inside a text outside any module.
    pub fn within_schema<T>(&self, schema: Option<&str>, work: impl FnOnce() -> T) -> T {
        let schema = schema.filter(|schema| !schema.eq_ignore_ascii_case("dbo"));
        self.lookup.module_schemas.borrow_mut().push(schema.map(str::to_owned));
        let result = work();
        self.lookup.module_schemas.borrow_mut().pop();
        result
    }

    /// Works under the settings of a module.
    pub(crate) fn under_settings<T>(&self, settings: ModuleSettings, work: impl FnOnce() -> T) -> T {
        let own = self.replace_settings(settings);
        let result = work();
        self.replace_settings(own);
        result
    }

    fn replace_settings(&self, settings: ModuleSettings) -> ModuleSettings {
        let mut own = settings;
        self.change_options(|options| {
            own = ModuleSettings {
                ansi_nulls: std::mem::replace(&mut options.ansi_nulls, settings.ansi_nulls),
                quoted_identifier: std::mem::replace(&mut options.quoted_identifier, settings.quoted_identifier),
            };
        });
        own
    }

    /// Waits until the transaction that has created, altered or dropped a module is over: it may roll back.
    fn wait_for_definition(&self, database: &Database, object: &CatalogObject) -> Result<()> {
        let resource = Resource::Object(database.id, object.definition.object_id());
        self.locks.lock(resource, Mode::SchS)?;
        self.locks.unlock(resource);
        Ok(())
    }

    /// A module of a database, parsed for all sessions.
    ///
    /// # Errors
    /// Those of a text that does not parse; 701 when there is no memory for its tree.
    pub fn module(&self, database: &Database, object: &Arc<CatalogObject>) -> Result<Arc<Module>> {
        let current = self.database();
        // A temporary procedure lives in tempdb, and means the types of where it was made.
        let is_temporary = object
            .definition
            .qualified_name()
            .is_some_and(|(_, name)| name.starts_with('#'));
        let place = if is_temporary { &*current } else { database };
        self.lookup
            .modules
            .module(object, UserTypes::of(place, self.id, self.version()))
    }

    /// Works in a database: names without one are looked up there.
    pub(crate) fn within_database<T>(&self, database: &Arc<Database>, work: impl FnOnce() -> T) -> T {
        if self.is_in(database) {
            return work();
        }
        let outer = self.lookup.database.replace(database.clone());
        let result = work();
        self.lookup.database.replace(outer);
        result
    }

    /// Where something of this name would be: its database, schema and own name.
    pub fn place_of_text(&self, text: &str) -> Option<(Arc<Database>, String, String)> {
        let name = Name::parse(text)?;
        let database = self.database_of(&name).ok()?;
        Some((database, schema_of(&name).to_owned(), name.object().to_owned()))
    }

    /// An object by its name as a string, such as `N'dbo.charge'`.
    pub fn find_object_by_text(&self, text: &str) -> Option<(Arc<Database>, Arc<CatalogObject>)> {
        self.find_object(&Name::parse(text)?).ok().flatten()
    }
}
