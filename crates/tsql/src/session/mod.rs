//! A client's session: executes batches, calls and transaction requests, and answers through a [`ResultSink`].
//!
//! Parsed batches and bound statements are cached by their text, so a client that sends the same batch again pays for neither step.

mod call;
mod request;

pub use crate::sink::{
    BatchOutcome, CallEnd, ClientColumn, ClientRows, ClientTable, DoneKind, Message, Parameter, ResultColumn,
    ResultSink, SinkClosed, TransactionEvent, XmlCollectionName,
};
pub use crate::state::{Login, SessionState};

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::buffer::PageUse;
use engine::cancel;
use engine::error::{Error, Result};
use engine::instance::Instance;
use engine::memory;

use crate::failure::{Failure, Reach};
use crate::measure::Start;
use crate::prepared::{CompiledBatch, Prepared};
use crate::state::admit;
use crate::statements::{Executor, Flow, FunctionRunner, tell_compile, transaction};

/// What the reset of a session leaves as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reset {
    /// The transaction, if there is one, with its locks and its isolation level.
    pub keeps_transaction: bool,
    /// The isolation level: SQL Server resets it since 2014, for clients of TDS 7.3 and later (Microsoft support, "SQL Server: Isolation
    /// level leaks across pooled connections").
    pub keeps_isolation: bool,
}

/// A session. One thread at a time uses it.
pub struct Session {
    state: Box<SessionState>,
    /// What is ready to be executed; functions of the user are run out of it, too.
    prepared: Rc<Prepared>,
    /// Set when another session has ended this one.
    ended: Arc<AtomicBool>,
    /// While a request runs, its thread can be stopped by the session's flag.
    serving: Option<cancel::Serving>,
    /// What its thread had fixed when the request under way began.
    pages_before: PageUse,
}

impl Session {
    /// Opens a session.
    ///
    /// # Errors
    /// 4060 when the database cannot be opened; those of too many sessions.
    pub fn new(instance: Arc<Instance>, login: Login) -> Result<Session> {
        let name = login.database.clone().unwrap_or_else(|| "master".to_owned());
        let database = instance.database(&name).map_err(|_| {
            let text = format!("Cannot open database \"{name}\" requested by the login. The login failed.");
            Error::new(4060, 11, 1, text)
        })?;
        let mut engine = instance.open_session()?;
        let admitted = admit(&instance, engine.id, &database);
        if let Err(error) = admitted.and_then(|()| engine.use_database(&database)) {
            let id = engine.id;
            drop(engine);
            instance.close_session(id);
            return Err(error);
        }
        let ended = instance.ended_flag(engine.id);
        let prepared = Rc::new(Prepared::new(&instance));
        let caller = Box::new(FunctionRunner::new(prepared.clone()));
        let state = Box::new(SessionState::new(instance, login, engine, database, caller));
        state.describe(|session| {
            session.login.clone_from(&state.login.login);
            session.original_login.clone_from(&state.login.login);
            session.host.clone_from(&state.login.host);
            session.application.clone_from(&state.login.application);
            session.connection.clone_from(&state.login.connection);
            session.lock_owner = state.locks.id();
            session.database_id = state.database().id;
        });
        Ok(Session {
            state,
            prepared,
            ended,
            serving: None,
            pages_before: PageUse::default(),
        })
    }

    /// While the answer lives, what this thread allocates is charged to the session's instance.
    pub fn enter(&self) -> memory::Working {
        memory::enter(self.state.instance.workspace.clone())
    }

    /// `@@SPID`
    pub fn id(&self) -> u16 {
        self.state.id
    }

    /// Whether another session has ended this one (KILL, ROLLBACK IMMEDIATE): its connection must be closed.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// `hook` is called once another session ends this one, on that one's thread: it must not wait.
    pub fn on_end(&self, hook: Box<dyn Fn() + Send + Sync>) {
        self.state.instance.on_session_end(self.state.id, hook);
    }

    /// The name of the current database.
    pub fn database(&self) -> String {
        self.state.database().name()
    }

    /// Set from another thread, it ends the batch that is running; the next request clears it.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.state.cancel_flag()
    }

    /// The number of the transaction under way; 0 outside of one.
    pub fn transaction_descriptor(&self) -> u64 {
        self.state.transaction_descriptor()
    }

    pub fn execute(&mut self, batch: &str, sink: &mut dyn ResultSink) -> BatchOutcome {
        let _working = self.enter();
        if let Some(outcome) = self.begin_request(batch) {
            return outcome;
        }
        let start = self.compile_start();
        let batch = match self.compiled(batch) {
            Ok(batch) => {
                if let Some(start) = start {
                    let spent = start.spent(&*self.state.instance.env.clock);
                    // A client that is gone is found to be so by the first statement.
                    let _ = tell_compile(sink, spent, 1, "");
                }
                batch
            }
            Err(failure) => {
                if !failure.silent {
                    tell(&self.state, sink, &failure);
                }
                return self.end_request(sink, Err(failure));
            }
        };
        self.describe_command(&batch.statements);
        if let Some(switch) = batch.parseonly {
            self.state.change_options(|options| options.parseonly = switch.at_end);
            if switch.was_on {
                return self.end_request(sink, Ok(Flow::Next));
            }
        }
        let outcome = Executor::new(&self.state, &self.prepared, sink, batch).run();
        self.end_request(sink, outcome)
    }

    /// Now, if the time of parsing is to be reported.
    fn compile_start(&self) -> Option<Start> {
        let is_asked = self.state.options().statistics.time;
        is_asked.then(|| Start::now(&*self.state.instance.env.clock))
    }

    fn compiled(&self, text: &str) -> std::result::Result<Rc<CompiledBatch>, Box<Failure>> {
        Ok(self.prepared.text(&self.state, "", text)?.batch.clone())
    }

    fn transaction_request(
        &mut self,
        sink: &mut dyn ResultSink,
        work: impl FnOnce(&SessionState) -> Result<Option<TransactionEvent>>,
    ) -> BatchOutcome {
        let result = work(&self.state);
        self.describe_end();
        match result {
            Ok(event) => {
                if let Some(event) = event {
                    sink.transaction_changed(event);
                }
                BatchOutcome::Completed
            }
            Err(error) => tell(&self.state, sink, &Failure::new(error, 1, "")),
        }
    }

    /// Begins a transaction for the client's protocol.
    pub fn begin(&mut self, name: &str, sink: &mut dyn ResultSink) -> BatchOutcome {
        if let Some(outcome) = self.begin_request("") {
            return outcome;
        }
        self.transaction_request(sink, |state| Ok(transaction::begin(state, name)))
    }

    /// Commits for the client's protocol.
    pub fn commit(&mut self, sink: &mut dyn ResultSink) -> BatchOutcome {
        if let Some(outcome) = self.begin_request("") {
            return outcome;
        }
        self.transaction_request(sink, transaction::commit)
    }

    /// Rolls back for the client's protocol: to a savepoint, or everything if the name is empty or the transaction's.
    pub fn rollback(&mut self, name: &str, sink: &mut dyn ResultSink) -> BatchOutcome {
        if let Some(outcome) = self.begin_request("") {
            return outcome;
        }
        self.transaction_request(sink, |state| match name {
            "" => transaction::roll_back(state),
            name => transaction::roll_back_named(state, name),
        })
    }

    /// Sets a savepoint for the client's protocol.
    pub fn save(&mut self, name: &str, sink: &mut dyn ResultSink) -> BatchOutcome {
        if let Some(outcome) = self.begin_request("") {
            return outcome;
        }
        let descriptor = self.state.transaction_descriptor();
        let outcome = self.transaction_request(sink, |state| transaction::save_for_client(state, name).map(|()| None));
        if descriptor != 0 && self.state.transaction_count() == 0 {
            sink.transaction_changed(TransactionEvent::RolledBack(descriptor));
        }
        outcome
    }

    /// Makes the session as it was after login: no transaction unless it is to be kept, no temporary tables, default options, its
    /// first database. The session is over when that database can no longer be used.
    pub fn reset(&mut self, reset: Reset) -> BatchOutcome {
        if let Some(outcome) = self.begin_request("") {
            return outcome;
        }
        self.prepared.unprepare_all();
        let keeps_transaction = reset.keeps_transaction && self.state.transaction_count() > 0;
        let result = match keeps_transaction {
            true => {
                self.state.hide_all_temporary_tables();
                Ok(())
            }
            false => self
                .state
                .reset_transaction()
                .and_then(|()| Executor::drop_temporary_tables(&self.state)),
        };
        // The level under which the transaction has read is part of it.
        let keeps_isolation = reset.keeps_isolation || keeps_transaction;
        let result = result.and_then(|()| self.state.reset(keeps_isolation));
        self.describe_end();
        match result {
            Ok(()) => BatchOutcome::Completed,
            Err(_) => BatchOutcome::Disconnected,
        }
    }

    /// What the session remembers.
    pub fn state(&self) -> &SessionState {
        &self.state
    }
}

/// Sends a failure's message.
fn tell(state: &SessionState, sink: &mut dyn ResultSink, failure: &Failure) -> BatchOutcome {
    state.set_error_number(failure.last_message().number);
    match failure.messages().try_for_each(|message| sink.message(message)) {
        _ if failure.reach >= Reach::Session => BatchOutcome::Disconnected,
        Ok(()) => BatchOutcome::Failed,
        // An ATTENTION came before the message. It ends the request, not the session; a client that is gone does that by itself.
        Err(SinkClosed) => BatchOutcome::Cancelled,
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.serving = None;
        // What cannot be undone now, recovery undoes; temporary tables left over go with tempdb at the next start.
        let gone = self
            .state
            .reset_transaction()
            .and_then(|()| Executor::drop_temporary_tables(&self.state));
        if let Err(error) = gone {
            self.state
                .instance
                .env
                .errorlog
                .write_error(&format!("spid{}", self.state.id), &error);
        }
        self.state.instance.close_session(self.state.id);
    }
}
