//! What a session remembers between statements. All of it is reachable through a shared reference: statements, functions
//! and operators of one batch run on one thread and take turns.

use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::catalog::{CatalogObject, ObjectDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::{Instance, SessionDescription, SessionInformation, TEMPDB};
use engine::lock::{LockOwner, Mode, Resource};
use engine::seams::DateTimeTicks;
use engine::types::Collation;

use super::cache::StatementCache;
use super::definitions::{Dependencies, StatementLock};
use super::options::SetOptions;
use super::random::RandomNumbers;
use super::{Login, Message};
use crate::ast::{Identifier, Name};
use crate::messages;
use crate::modules::{Module, ModuleCache, ModuleCaller};
use crate::scalar::moment::Moment;
use crate::statements::{Cursor, FunctionRunner};

/// A session's memory.
pub struct SessionState {
    /// The instance.
    pub instance: Arc<Instance>,
    /// Who logged in from where.
    pub login: Login,
    /// `@@SPID`
    pub id: u16,
    /// The engine's session: locks and transaction.
    pub engine: RefCell<engine::session::Session>,
    /// Where it tells others what it is doing.
    pub(super) description: Option<SessionDescription>,
    /// The session's locks, which scans hold on to.
    pub locks: Arc<LockOwner>,
    cancel: Arc<AtomicBool>,
    database: RefCell<Arc<Database>>,
    options: RefCell<SetOptions>,
    row_count: Cell<i64>,
    error_number: Cell<i32>,
    transaction_count: Cell<u32>,
    descriptor: Cell<u64>,
    doomed: Cell<bool>,
    identity: Cell<Option<i64>>,
    scope_identity: Cell<Option<i64>>,
    fetch_status: Cell<i32>,
    nest_level: Cell<u32>,
    /// RAND and NEWID.
    pub random: RandomNumbers,
    now_unix_micros: Cell<u64>,
    caught: RefCell<Vec<Message>>,
    /// Savepoints of the transaction with their names, oldest first.
    pub savepoints: RefCell<Vec<(String, engine::session::Mark)>>,
    /// The outermost transaction's name; empty when it has none.
    pub transaction_name: RefCell<String>,
    /// What the statement under way has locked for no longer than itself.
    pub statement_locks: RefCell<Vec<StatementLock>>,
    /// Inside of INSERT ... EXECUTE: `@@TRANCOUNT` when it began.
    pub insert_execute_count: Cell<Option<u32>>,
    /// Names of temporary tables and procedures in lower case, and what they are called in tempdb.
    pub temporary_tables: RefCell<HashMap<String, String>>,
    /// What binding has depended on since it was last asked.
    pub(super) dependencies: RefCell<Dependencies>,
    /// The schemas of the modules under way, the innermost last.
    module_schemas: RefCell<Vec<Option<String>>>,
    /// The texts it has sent and the modules it has called, with their plans.
    pub(crate) statements: RefCell<StatementCache>,
    /// The instance's modules.
    modules: Arc<ModuleCache>,
    caller: &'static dyn ModuleCaller,
    function_depth: Cell<u32>,
    in_unit: Cell<bool>,
    /// Cursors by name in lower case.
    pub cursors: RefCell<HashMap<String, Cursor>>,
}

impl SessionState {
    /// The memory of a new session.
    pub(super) fn new(
        instance: Arc<Instance>,
        login: Login,
        engine: engine::session::Session,
        database: Arc<Database>,
    ) -> SessionState {
        let clock = instance.env.clock.clone();
        let modules = ModuleCache::of(&instance);
        SessionState {
            id: engine.id,
            description: instance.session_description(engine.id),
            locks: engine.locks().clone(),
            cancel: engine.cancel_flag(),
            engine: RefCell::new(engine),
            instance,
            login,
            database: RefCell::new(database),
            options: RefCell::default(),
            row_count: Cell::new(0),
            error_number: Cell::new(0),
            transaction_count: Cell::new(0),
            descriptor: Cell::new(0),
            doomed: Cell::new(false),
            identity: Cell::new(None),
            scope_identity: Cell::new(None),
            fetch_status: Cell::new(0),
            nest_level: Cell::new(0),
            random: RandomNumbers::new(clock.unix_micros() ^ 0x9E37_79B9_7F4A_7C15),
            now_unix_micros: Cell::new(clock.unix_micros()),
            caught: RefCell::default(),
            savepoints: RefCell::default(),
            transaction_name: RefCell::default(),
            statement_locks: RefCell::default(),
            insert_execute_count: Cell::new(None),
            temporary_tables: RefCell::default(),
            dependencies: RefCell::default(),
            module_schemas: RefCell::default(),
            statements: RefCell::default(),
            modules,
            caller: &FunctionRunner,
            function_depth: Cell::new(0),
            in_unit: Cell::new(false),
            cursors: RefCell::default(),
        }
    }

    /// The current database.
    pub fn database(&self) -> Arc<Database> {
        self.database.borrow().clone()
    }

    /// The current database's id.
    pub(crate) fn database_id(&self) -> u16 {
        self.database.borrow().id
    }

    /// The collation of constants, variables and new columns in the current database.
    pub(crate) fn database_collation(&self) -> Collation {
        self.database.borrow().collation()
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
        Arc::ptr_eq(database, &self.database.borrow())
    }

    /// Whether the current database may be looked at: a statement whose plan reads no page of it may know of its objects.
    ///
    /// # Errors
    /// 9001 when its log has failed.
    pub(crate) fn check_intact(&self) -> Result<()> {
        self.database.borrow().storage.log.check_intact()
    }

    /// Makes a database the current one.
    ///
    /// # Errors
    /// 911 and others when it cannot be used.
    pub fn use_database(&self, name: &str) -> Result<()> {
        let database = self.open_database(name)?;
        crate::system::administration::admit(&self.instance, self.id, &database)?;
        self.engine.borrow_mut().use_database(&database)?;
        *self.database.borrow_mut() = database;
        Ok(())
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

    /// What a table is called in its catalog: temporary ones have a name of their own.
    pub fn stored_name(&self, name: &str) -> String {
        if !name.starts_with('#') {
            return name.to_owned();
        }
        let temporary = self.temporary_tables.borrow();
        temporary
            .get(&name.to_lowercase())
            .cloned()
            .unwrap_or_else(|| name.to_owned())
    }

    /// What an object of the session that is created now is called in its catalog: private ones get a name that no other session
    /// gives.
    pub(crate) fn name_to_store(&self, name: &str) -> String {
        if name.starts_with('#') && !name.starts_with("##") {
            format!("{name}____{:012}", self.id)
        } else {
            name.to_owned()
        }
    }

    /// Notes a temporary object that the session has made: it goes when the session ends.
    pub(crate) fn note_temporary(&self, name: &str, stored: String) {
        if name.starts_with('#') {
            self.temporary_tables.borrow_mut().insert(name.to_lowercase(), stored);
        }
    }

    /// An object by its name of one to four parts; the schema is dbo when none is written.
    ///
    /// # Errors
    /// When the database cannot be used. No such object is `None`.
    pub fn find_object(&self, name: &Name) -> Result<Option<(Arc<Database>, Arc<CatalogObject>)>> {
        let database = self.database_of(name)?;
        let schema = name.schema().unwrap_or("dbo");
        let stored = self.stored_name(name.object());
        self.dependencies.borrow_mut().looks_into(&database);
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
        let schema = self.module_schemas.borrow().last().cloned().flatten();
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

    /// Works inside of a module of a schema, or with `None` inside of a text that is no module.
    pub fn within_schema<T>(&self, schema: Option<&str>, work: impl FnOnce() -> T) -> T {
        let schema = schema.filter(|schema| !schema.eq_ignore_ascii_case("dbo"));
        self.module_schemas.borrow_mut().push(schema.map(str::to_owned));
        let result = work();
        self.module_schemas.borrow_mut().pop();
        result
    }

    /// Waits until the transaction that has created, altered or dropped a module is over: it may take that back.
    fn wait_for_definition(&self, database: &Database, object: &CatalogObject) -> Result<()> {
        let resource = Resource::Object(database.id, object.definition.object_id());
        self.locks.lock(resource, Mode::SchS)?;
        self.locks.unlock(resource);
        Ok(())
    }

    /// A module of the catalog, parsed for all sessions.
    ///
    /// # Errors
    /// Those of a text that does not parse; 701 when there is no memory for its tree.
    pub fn module(&self, object: &Arc<CatalogObject>) -> Result<Arc<Module>> {
        self.modules.module(object)
    }

    /// Who runs functions for the plans that call them.
    pub(crate) fn module_caller(&self) -> &'static dyn ModuleCaller {
        self.caller
    }

    /// Works in a database: names without one are looked up there.
    pub(crate) fn within_database<T>(&self, database: &Arc<Database>, work: impl FnOnce() -> T) -> T {
        if self.is_in(database) {
            return work();
        }
        let outer = self.database.replace(database.clone());
        let result = work();
        self.database.replace(outer);
        result
    }

    /// Whether a function of the user runs.
    pub(crate) fn is_in_function(&self) -> bool {
        self.function_depth.get() > 0
    }

    /// Enters a function, or leaves it.
    pub(crate) fn change_function_depth(&self, change: i32) {
        self.function_depth
            .set(self.function_depth.get().saturating_add_signed(change));
    }

    /// Notes whether a statement that is one unit of work is under way; answers what was so before.
    pub(crate) fn replace_in_unit(&self, in_unit: bool) -> bool {
        self.in_unit.replace(in_unit)
    }

    /// Whether a statement that is one unit of work is under way.
    pub(crate) fn is_in_unit(&self) -> bool {
        self.in_unit.get()
    }

    /// An object by its name as a string, such as `N'dbo.charge'`.
    pub fn find_object_by_text(&self, text: &str) -> Option<(Arc<Database>, Arc<CatalogObject>)> {
        self.find_object(&parse_name(text)?).ok().flatten()
    }

    /// Tells others what the session is doing.
    pub(super) fn describe(&self, describe: impl FnOnce(&mut SessionInformation)) {
        if let Some(description) = &self.description {
            description.tell(describe);
        }
    }

    /// The session's SET options.
    pub fn options(&self) -> Ref<'_, SetOptions> {
        self.options.borrow()
    }

    /// Changes the SET options.
    pub fn change_options(&self, change: impl FnOnce(&mut SetOptions)) {
        change(&mut self.options.borrow_mut());
    }

    /// Puts the SET options back to what they were when a module or a text began: none of its own outlives it (SQL Server docs,
    /// "SET statements"). CONTEXT_INFO is no option of the module but a value of the session, and stays.
    pub fn restore_options(&self, former: SetOptions) {
        self.locks.set_timeout_ms(i64::from(former.lock_timeout_ms));
        self.locks.set_priority(former.deadlock_priority);
        self.engine.borrow_mut().set_isolation(former.isolation);
        let mut options = self.options.borrow_mut();
        let context_info = options.context_info.take();
        *options = SetOptions { context_info, ..former };
    }

    /// CURSOR_CLOSE_ON_COMMIT: the end of a transaction closes every cursor.
    pub(crate) fn close_cursors_at_end(&self) {
        if self.options().cursor_close_on_commit {
            self.cursors.borrow_mut().values_mut().for_each(Cursor::close);
        }
    }

    /// `@@ROWCOUNT`
    pub fn row_count(&self) -> i64 {
        self.row_count.get()
    }

    /// Sets `@@ROWCOUNT`.
    pub fn set_row_count(&self, count: i64) {
        self.row_count.set(count);
    }

    /// `@@ERROR`
    pub fn error_number(&self) -> i32 {
        self.error_number.get()
    }

    /// Sets `@@ERROR`.
    pub fn set_error_number(&self, number: i32) {
        self.error_number.set(number);
    }

    /// `@@TRANCOUNT`
    pub fn transaction_count(&self) -> u32 {
        self.transaction_count.get()
    }

    /// Sets `@@TRANCOUNT`; the transaction's descriptor follows.
    pub fn set_transaction_count(&self, count: u32) {
        let before = self.transaction_count.replace(count);
        if before == 0 && count > 0 {
            static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
            self.descriptor
                .set((u64::from(self.id) << 40) | NEXT.fetch_add(1, Ordering::Relaxed));
        }
        if count == 0 {
            self.doomed.set(false);
            self.savepoints.borrow_mut().clear();
            self.transaction_name.borrow_mut().clear();
        }
    }

    /// The number by which TDS knows the transaction; 0 outside of one.
    pub fn transaction_descriptor(&self) -> u64 {
        if self.transaction_count.get() == 0 {
            0
        } else {
            self.descriptor.get()
        }
    }

    /// The descriptor of the transaction under way or last ended.
    pub(crate) fn last_descriptor(&self) -> u64 {
        self.descriptor.get()
    }

    /// Whether the transaction can only be rolled back.
    pub fn is_doomed(&self) -> bool {
        self.doomed.get()
    }

    /// Leaves the transaction only the way back.
    pub fn doom(&self) {
        self.doomed.set(self.transaction_count.get() > 0);
    }

    /// `@@IDENTITY`
    pub fn identity(&self) -> Option<i64> {
        self.identity.get()
    }

    /// `SCOPE_IDENTITY()`
    pub fn scope_identity(&self) -> Option<i64> {
        self.scope_identity.get()
    }

    /// Remembers an identity value just inserted.
    pub fn set_identity(&self, value: i64) {
        self.identity.set(Some(value));
        self.scope_identity.set(Some(value));
    }

    /// Replaces the scope's identity, when a procedure begins or ends; answers the former one.
    pub fn replace_scope_identity(&self, value: Option<i64>) -> Option<i64> {
        self.scope_identity.replace(value)
    }

    /// `@@FETCH_STATUS`
    pub fn fetch_status(&self) -> i32 {
        self.fetch_status.get()
    }

    /// Sets `@@FETCH_STATUS`.
    pub fn set_fetch_status(&self, status: i32) {
        self.fetch_status.set(status);
    }

    /// What a cursor of the module or batch that runs is kept under: no name has a zero in it.
    pub(crate) fn local_cursor(&self, name: &str) -> String {
        format!("{name}\0{}", self.nest_level.get())
    }

    /// Drops the cursors of the module or batch that ends.
    pub(crate) fn drop_local_cursors(&self) {
        let suffix = self.local_cursor("");
        let mut cursors = self.cursors.borrow_mut();
        if !cursors.is_empty() {
            cursors.retain(|name, _| !name.ends_with(&suffix));
        }
    }

    /// `CURSOR_STATUS`: 1 open, -1 closed, -3 no such cursor.
    pub fn cursor_status(&self, scope: &str, name: &str) -> i16 {
        let name = name.to_lowercase();
        let key = if scope.eq_ignore_ascii_case("global") {
            name
        } else {
            self.local_cursor(&name)
        };
        match self.cursors.borrow().get(&key) {
            Some(cursor) if cursor.is_open() => 1,
            Some(_) => -1,
            None => -3,
        }
    }

    /// `@@NESTLEVEL`
    pub fn nest_level(&self) -> u32 {
        self.nest_level.get()
    }

    /// Enters (+1) or leaves (-1) a procedure.
    ///
    /// # Errors
    /// 217 beyond 32 levels.
    pub fn enter_level(&self) -> Result<()> {
        if self.nest_level.get() >= 32 {
            return Err(messages::nesting_level_exceeded());
        }
        self.nest_level.set(self.nest_level.get() + 1);
        Ok(())
    }

    /// Leaves a procedure.
    pub fn leave_level(&self) {
        self.nest_level.set(self.nest_level.get().saturating_sub(1));
    }

    /// The error of the innermost CATCH block under way.
    pub fn caught(&self) -> Option<Message> {
        self.caught.borrow().last().cloned()
    }

    /// Enters a CATCH block.
    pub fn push_caught(&self, message: Message) {
        self.caught.borrow_mut().push(message);
    }

    /// Leaves a CATCH block.
    pub fn pop_caught(&self) {
        self.caught.borrow_mut().pop();
    }

    /// Fixes the time that GETDATE and its kin answer until the next statement.
    pub fn take_time(&self) {
        // A function is part of the statement that calls it.
        if self.is_in_function() {
            return;
        }
        self.now_unix_micros.set(self.instance.env.clock.unix_micros());
        self.random.begin_statement();
    }

    /// The statement's time.
    pub fn now(&self) -> Moment {
        let micros = self.now_unix_micros.get();
        // 1970-01-01 is day 719,162 from 0001-01-01.
        let days = 719_162 + i32::try_from(micros / 86_400_000_000).unwrap_or(0);
        Moment::new(days, micros % 86_400_000_000 * 10)
    }

    /// The statement's time in ticks of 1/300 second.
    pub fn now_ticks(&self) -> DateTimeTicks {
        DateTimeTicks::from_unix_micros(self.now_unix_micros.get())
    }

    /// Rolls back what is under way.
    ///
    /// # Errors
    /// When the rollback fails.
    pub(super) fn reset_transaction(&self) -> Result<()> {
        let result = self.engine.borrow_mut().roll_back();
        self.set_transaction_count(0);
        result
    }

    /// Makes the session as it was after login.
    ///
    /// # Errors
    /// When the rollback fails, or the first database can no longer be used.
    pub(super) fn reset(&self) -> Result<()> {
        self.reset_transaction()?;
        crate::statements::Executor::drop_temporary_tables(self)?;
        self.cursors.borrow_mut().clear();
        self.change_options(|options| options.context_info = None);
        self.restore_options(SetOptions::default());
        self.identity.set(None);
        self.scope_identity.set(None);
        self.use_database(self.login.database.as_deref().unwrap_or("master"))
    }

    /// The flag that ends the running batch.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel.clone()
    }
}

/// A name of several parts out of a string: brackets and double quotes are undone.
pub(crate) fn parse_name(text: &str) -> Option<Name> {
    let mut parts = Vec::new();
    let mut characters = text.trim().chars().peekable();
    loop {
        let mut part = String::new();
        let close = match characters.peek() {
            Some('[') => Some(']'),
            Some('"') => Some('"'),
            _ => None,
        };
        if let Some(close) = close {
            characters.next();
            while let Some(character) = characters.next() {
                if character != close {
                    part.push(character);
                } else if characters.peek() == Some(&close) {
                    characters.next();
                    part.push(close);
                } else {
                    break;
                }
            }
        } else {
            while let Some(&character) = characters.peek() {
                if character == '.' {
                    break;
                }
                part.push(character);
                characters.next();
            }
        }
        parts.push(Identifier {
            text: part.trim().to_owned(),
            quoted: close.is_some(),
        });
        match characters.next() {
            Some('.') => {}
            _ => break,
        }
    }
    let is_valid = parts.len() <= 4 && parts.last().is_some_and(|part| !part.text.is_empty());
    is_valid.then_some(Name { parts })
}
