//! The state of a session between statements. It is accessible through a shared reference, because statements, functions and operators of
//! one batch run in turn on one thread.
//!
//! ```text
//! options       SET options                                       lookup      name lookup: database, temporary objects, schemas
//! transaction   counts, names and marks of the transaction        cursor      cursors by name; api_cursor those by handle
//! random        RAND and NEWID                                    caller      runs user-defined functions, passed in from above
//! admission     access checks for databases                       definitions objects to which a statement is bound, and their locks
//! bulk          the bulk load announced by INSERT BULK            session_context keys and values of SESSION_CONTEXT
//! temporary     the meaning of #name at each level of nesting     rules       optimizer rules that are switched off
//! trigger       the running triggers                              sequence    values of NEXT VALUE FOR for the current row
//! xml_documents documents for OPENXML, by their handles
//! ```
//! Invariant: it knows neither plans nor statements. Prepared batches are in [`crate::prepared`].

mod admission;
mod api_cursor;
mod bulk;
mod caller;
mod cursor;
mod cursor_row;
mod definitions;
mod frame;
mod impersonation;
mod lookup;
mod options;
mod random;
mod rules;
mod sequence;
mod session_context;
mod temporary;
mod transaction;
mod trees;
mod trigger;
mod xml_documents;

pub(crate) use admission::admit;
pub(crate) use api_cursor::{ApiCursor, ApiCursors, PreparedCursor};
pub(crate) use bulk::BulkTarget;
pub(crate) use caller::{ModuleCaller, TableLender};
pub use cursor::Cursor;
pub(crate) use cursor::{
    CursorConcurrency, CursorDeclaration, CursorModel, CursorOperation, SharedCursor, declared_bytes, opened_bytes,
};
pub(crate) use cursor_row::{CurrentRow, CursorPlace, CursorReading, CursorWay, TableRow};
pub use definitions::StatementLock;
pub(crate) use definitions::{Dependencies, Reading};
pub(crate) use frame::{FunctionFrame, LevelFrame, ModuleFrame, UnitFrame};
pub(crate) use impersonation::{ContextFrame, Ending, Impersonations, OWNER_LOGIN};
pub use lookup::Lookup;
pub(crate) use lookup::{Found, Through, is_source};
pub use options::{
    Execution, PlanOptions, SetOptions, StatisticsOptions, TEXT_SIZE_BYTES_DEFAULT, TEXT_SIZE_BYTES_MAX,
};
pub use rules::{Rule, RulesOff};
pub use sequence::RowValues;
pub(crate) use temporary::{TemporaryObject, is_private, schema_of};
pub use transaction::Transaction;
pub(crate) use trees::{Trees, TreesWanted};
pub(crate) use trigger::{RunningTrigger, TriggerEventData, TriggerFrame};

use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::{ClientConnection, Instance, SessionDescription, SessionInformation};
use engine::lock::LockOwner;
use engine::seams::DateTimeTicks;
use engine::waits::WaitStatistics;

use crate::grant::Tally;
use crate::measure::Measures;
use crate::modules::ModuleCache;
use crate::scalar::moment::Moment;
use crate::scalar::served::{self, Conversions};
use crate::sink::Message;
use random::RandomNumbers;

/// The login, the client it comes from, and the database it goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The login's name.
    pub login: String,
    /// The client's machine.
    pub host: String,
    /// The client's program.
    pub application: String,
    /// How the client is connected.
    pub connection: ClientConnection,
    /// The database to begin in; master when none is given.
    pub database: Option<String>,
}

/// A session's memory.
pub struct SessionState {
    pub instance: Arc<Instance>,
    /// The login, and the client it came from.
    pub login: Login,
    /// `@@SPID`
    pub id: u16,
    /// The engine's session: locks and transaction.
    pub engine: RefCell<engine::session::Session>,
    /// Where it tells others what it is doing.
    description: Option<SessionDescription>,
    /// The session's locks, which scans hold on to.
    pub locks: Arc<LockOwner>,
    cancel: Arc<AtomicBool>,
    options: RefCell<SetOptions>,
    /// Arithmetic errors of the statement under way that were passed over.
    warned: Cell<Warnings>,
    /// Where names are looked up.
    pub lookup: Lookup,
    /// The transaction's counts, names and marks.
    pub transaction: Transaction,
    row_count: Cell<i64>,
    /// Most threads that have read a table since an execution began that is counted; 1 without others than the session's.
    degree: Cell<u64>,
    error_number: Cell<i32>,
    identity: Cell<Option<i64>>,
    scope_identity: Cell<Option<i64>>,
    fetch_status: Cell<i32>,
    nest_level: Cell<u32>,
    /// The database that the module or text under way was called in; none in a batch.
    called_in_database: Cell<Option<u16>>,
    /// The object id of the module under way, 0 in batches and texts.
    module_id: Cell<u32>,
    /// RAND and NEWID.
    pub random: RandomNumbers,
    /// NEXT VALUE FOR.
    pub sequences: RowValues,
    now_unix_micros: Cell<u64>,
    caught: RefCell<Vec<Message>>,
    /// Cursors by name in lower case.
    pub(crate) cursors: RefCell<HashMap<String, SharedCursor>>,
    /// What these take.
    pub(crate) cursor_tally: Rc<Tally>,
    /// Cursors that the client has opened by handle.
    pub(crate) api_cursors: RefCell<ApiCursors>,
    /// The cursor opened last.
    last_cursor: RefCell<Weak<RefCell<Cursor>>>,
    caller: Box<dyn ModuleCaller>,
    function_depth: Cell<u32>,
    /// The triggers under way, the innermost last.
    triggers: RefCell<Vec<RunningTrigger>>,
    measures: RefCell<Option<Rc<Measures>>>,
    /// Trace of how plans come about.
    pub(crate) trees: Trees,
    /// The bulk load that is expected.
    bulk: bulk::AnnouncedBulk,
    session_context: session_context::SessionContext,
    xml_documents: xml_documents::XmlDocuments,
    /// The contexts of EXECUTE AS.
    pub(crate) impersonations: Impersonations,
}

/// Arithmetic errors that were passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Warnings {
    /// 3606
    pub(crate) overflow: bool,
    /// 3607
    pub(crate) division: bool,
    /// 3604
    pub(crate) duplicate: bool,
}

/// Overflow, division by zero and domain errors: what ARITHABORT is about.
pub(crate) fn is_arithmetic(number: i32) -> bool {
    matches!(number, 220 | 232 | 237 | 3623 | 8115 | 8134)
}

impl SessionState {
    /// The state of a new session; `caller` runs functions of the user for it.
    pub(crate) fn new(
        instance: Arc<Instance>,
        login: Login,
        engine: engine::session::Session,
        database: Arc<Database>,
        caller: Box<dyn ModuleCaller>,
    ) -> SessionState {
        let clock = instance.env.clock.clone();
        let modules = ModuleCache::of(&instance);
        let options = SetOptions::configured(&instance.configuration);
        SessionState {
            id: engine.id,
            description: instance.session_description(engine.id),
            locks: engine.locks().clone(),
            cancel: engine.cancel_flag(),
            engine: RefCell::new(engine),
            instance,
            login,
            options: RefCell::new(options),
            warned: Cell::default(),
            lookup: Lookup::new(database, modules),
            transaction: Transaction::default(),
            row_count: Cell::new(0),
            degree: Cell::new(1),
            error_number: Cell::new(0),
            identity: Cell::new(None),
            scope_identity: Cell::new(None),
            fetch_status: Cell::new(0),
            nest_level: Cell::new(0),
            called_in_database: Cell::new(None),
            module_id: Cell::new(0),
            random: RandomNumbers::new(clock.unix_micros() ^ 0x9E37_79B9_7F4A_7C15),
            sequences: RowValues::default(),
            now_unix_micros: Cell::new(clock.unix_micros()),
            caught: RefCell::default(),
            cursors: RefCell::default(),
            cursor_tally: Rc::default(),
            api_cursors: RefCell::default(),
            last_cursor: RefCell::default(),
            caller,
            function_depth: Cell::new(0),
            triggers: RefCell::default(),
            measures: RefCell::default(),
            trees: Trees::default(),
            bulk: bulk::AnnouncedBulk::default(),
            session_context: session_context::SessionContext::default(),
            xml_documents: xml_documents::XmlDocuments::default(),
            impersonations: Impersonations::default(),
        }
    }

    /// What runs functions for the plans that call them.
    pub(crate) fn module_caller(&self) -> &dyn ModuleCaller {
        &*self.caller
    }

    /// Whether a function of the user runs.
    pub(crate) fn is_in_function(&self) -> bool {
        self.function_depth.get() > 0
    }

    /// Where operators count what they do, if figures are wanted.
    pub(crate) fn measures(&self) -> Option<Rc<Measures>> {
        self.measures.borrow().clone()
    }

    /// Whether operators count what they do.
    pub(crate) fn is_measured(&self) -> bool {
        self.measures.borrow().is_some()
    }

    /// Whether they count their rows.
    pub(crate) fn counts_rows(&self) -> bool {
        self.measures
            .borrow()
            .as_ref()
            .is_some_and(|measures| measures.counts_rows)
    }

    /// Counts by these from here on; answers the former ones.
    pub(crate) fn replace_measures(&self, measures: Option<Rc<Measures>>) -> Option<Rc<Measures>> {
        self.measures.replace(measures)
    }

    /// Tells others what the session is doing.
    pub(crate) fn describe(&self, describe: impl FnOnce(&mut SessionInformation)) {
        if let Some(description) = &self.description {
            description.tell(describe);
        }
    }

    /// Where the session's waits are counted.
    pub(crate) fn waits(&self) -> Option<Arc<WaitStatistics>> {
        self.description.as_ref().map(|description| description.waits().clone())
    }

    /// The version of SQL Server whose features there are.
    pub fn version(&self) -> vlf::ServerVersion {
        self.instance.options.version
    }

    /// The session's SET options.
    pub fn options(&self) -> Ref<'_, SetOptions> {
        self.options.borrow()
    }

    /// 1934 for a statement under settings by which an index would not stay right.
    pub(crate) fn require_index_settings(&self, statement: &str) -> Result<()> {
        match self.options().wrong_for_indexes().as_slice() {
            [] => Ok(()),
            wrong => Err(crate::messages::wrong_settings(statement, &wrong.join(", "))),
        }
    }

    /// Changes the SET options.
    pub fn change_options(&self, change: impl FnOnce(&mut SetOptions)) {
        change(&mut self.options.borrow_mut());
        self.serve_options();
    }

    /// Has the thread convert values as the session's options say.
    pub(crate) fn serve_options(&self) {
        let options = self.options.borrow();
        served::serve(Conversions {
            dates: options.dates,
            cuts_silently: !options.ansi_warnings,
            keeps_digits: options.numeric_roundabort,
        });
    }

    /// What becomes of an arithmetic error: nothing under ANSI_WARNINGS OFF and ARITHABORT OFF, where the value is NULL, and the statement
    /// ends with 3606 or 3607 unless ARITHIGNORE is ON (SQL Server docs, SET ARITHABORT, SET ARITHIGNORE).
    ///
    /// # Errors
    /// The error itself under other options, and any other error.
    pub(crate) fn forgive(&self, error: Error) -> Result<()> {
        let options = self.options.borrow();
        if !is_arithmetic(error.number) || options.ansi_warnings || options.arithabort {
            return Err(error);
        }
        if !options.arithignore {
            let warned = match error.number {
                8134 => Warnings {
                    division: true,
                    ..self.warned.get()
                },
                _ => Warnings {
                    overflow: true,
                    ..self.warned.get()
                },
            };
            self.warned.set(warned);
        }
        Ok(())
    }

    /// Remembers that a row was left out because its key was there already.
    pub(crate) fn warn_of_ignored_duplicate(&self) {
        self.warned.set(Warnings {
            duplicate: true,
            ..self.warned.get()
        });
    }

    /// What statements are to be warned of since the last time this was asked.
    pub(crate) fn take_warnings(&self) -> Warnings {
        self.warned.take()
    }

    /// Puts the SET options back to what they were when a module or a text began: none of its own outlives it (SQL Server docs,
    /// "SET statements"). CONTEXT_INFO is a value of the session, not an option, and stays.
    pub fn restore_options(&self, former: SetOptions) {
        self.locks.set_timeout_ms(i64::from(former.lock_timeout_ms));
        self.locks.set_priority(former.deadlock_priority);
        self.engine.borrow_mut().set_isolation(former.isolation);
        let mut options = self.options.borrow_mut();
        let context_info = options.context_info.take();
        *options = SetOptions { context_info, ..former };
        drop(options);
        self.serve_options();
    }

    /// `@@ROWCOUNT`
    pub fn row_count(&self) -> i64 {
        self.row_count.get()
    }

    /// Sets `@@ROWCOUNT`.
    pub fn set_row_count(&self, count: i64) {
        self.row_count.set(count);
    }

    /// Notes that so many threads read a table.
    pub(crate) fn note_degree(&self, threads: u64) {
        self.degree.set(self.degree.get().max(threads));
    }

    /// Sets the most threads that have read a table; returns what it was.
    pub(crate) fn replace_degree(&self, threads: u64) -> u64 {
        self.degree.replace(threads)
    }

    /// `@@ERROR`
    pub fn error_number(&self) -> i32 {
        self.error_number.get()
    }

    /// Sets `@@ERROR`.
    pub fn set_error_number(&self, number: i32) {
        self.error_number.set(number);
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

    /// `@@FETCH_STATUS`
    pub fn fetch_status(&self) -> i32 {
        self.fetch_status.get()
    }

    /// Sets `@@FETCH_STATUS`.
    pub fn set_fetch_status(&self, status: i32) {
        self.fetch_status.set(status);
    }

    /// `@@NESTLEVEL`
    pub fn nest_level(&self) -> u32 {
        self.nest_level.get()
    }

    /// `@@PROCID`
    pub fn module_id(&self) -> u32 {
        self.module_id.get()
    }

    /// Works as the module of this id; 0 for a text, which is none.
    pub(crate) fn within_module<T>(&self, id: u32, work: impl FnOnce() -> T) -> T {
        let caller = self.module_id.replace(id);
        let result = work();
        self.module_id.set(caller);
        result
    }

    /// Tells others that a procedure is under way, by its database's and its own id.
    pub(crate) fn telling_module<T>(&self, module: (u16, u32), work: impl FnOnce() -> T) -> T {
        let mut outer = None;
        self.describe(|session| outer = session.module.replace(module));
        let result = work();
        self.describe(|session| session.module = outer);
        result
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
        self.sequences.clear();
    }

    /// The statement's time.
    pub fn now(&self) -> Moment {
        Moment::from_unix_micros(self.now_unix_micros.get())
    }

    /// The statement's time in microseconds since 1970.
    pub(crate) fn now_unix_micros(&self) -> u64 {
        self.now_unix_micros.get()
    }

    /// The statement's time in ticks of 1/300 second.
    pub fn now_ticks(&self) -> DateTimeTicks {
        DateTimeTicks::from_unix_micros(self.now_unix_micros.get())
    }

    /// Rolls back what is under way.
    ///
    /// # Errors
    /// When the rollback fails.
    pub(crate) fn reset_transaction(&self) -> Result<()> {
        let result = self.engine.borrow_mut().roll_back();
        self.set_transaction_count(0);
        result
    }

    /// Makes the session as it was after login, but for its transaction; in its isolation level where that is kept.
    ///
    /// # Errors
    /// When the first database can no longer be used.
    pub(crate) fn reset(&self, keeps_isolation: bool) -> Result<()> {
        self.cursors.borrow_mut().clear();
        self.api_cursors.borrow_mut().clear();
        self.forget_opened();
        let isolation = self.options().isolation;
        self.change_options(|options| options.context_info = None);
        let mut first = SetOptions::configured(&self.instance.configuration);
        if keeps_isolation {
            first.isolation = isolation;
        }
        self.restore_options(first);
        self.clear_session_context();
        self.clear_xml_documents();
        self.impersonations.clear();
        self.tell_login();
        self.locks.unlock_session_applications();
        self.instance.env.activity.forget_session(self.id);
        if let Some(description) = &self.description {
            description.waits().clear();
        }
        self.identity.set(None);
        self.scope_identity.set(None);
        self.row_count.set(0);
        self.error_number.set(0);
        self.fetch_status.set(0);
        self.use_database(self.login.database.as_deref().unwrap_or("master"))
    }

    /// The text of the request under way, as others see it.
    pub(crate) fn request_text(&self) -> Option<String> {
        let mut text = None;
        self.describe(|session| text = Some(session.text.to_string()));
        text.filter(|text| !text.is_empty())
    }

    /// The flag that ends the running batch.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel.clone()
    }
}
