//! The engine's instance and T-SQL's sessions as the server's backend.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::error::Error;
use engine::errorlog::ErrorNumbers;
use engine::instance::{ClientConnection, Instance};
use engine::memory::Accountant;
use engine::waits::WaitType;
use engine::workspace::{SpillFile, SpillKind, Spilling};
use tds::bulk::BulkLoad;
use tds::request::NewTransaction;
use tds::{IsolationLevel, RpcParameter, TransactionRequest};
use tsql::session::{BatchOutcome, Login, Message, Parameter, Reset, ResultSink, Session};

use super::parameter;
use super::rows::BulkRows;
use crate::backend::{Backend, BackendSession, Identity, ParameterizedSql, SessionRequest};
use crate::notices;
use crate::receiving::MakeSpool;

/// As a spool of SQL Server's, it is a worktable.
const SPOOL: Spilling = Spilling {
    kind: SpillKind::Worktable,
    level: 1,
    granted_bytes: 0,
    used_bytes: 0,
};

/// Called when a session executed SHUTDOWN; true with NOWAIT. Must return at once: the session still answers its client.
pub type ShutdownHook = Arc<dyn Fn(bool) + Send + Sync>;

/// The instance as the server sees it.
pub struct SqlBackend {
    instance: Arc<Instance>,
    password_record: String,
    on_shutdown: ShutdownHook,
}

impl SqlBackend {
    /// A backend whose only login is `sa`, with its record from [`crate::password_file::settle`].
    pub fn new(instance: Arc<Instance>, password_record: String, on_shutdown: ShutdownHook) -> Self {
        Self {
            instance,
            password_record,
            on_shutdown,
        }
    }
}

impl Backend for SqlBackend {
    type Session = SqlSession;

    fn identity(&self) -> Identity {
        // What `@@VERSION` says, too.
        let version = self.instance.options.version;
        let (major, minor) = version.product_version();
        Identity {
            server_name: self.instance.options.server_name.clone(),
            version: (major, minor, version.build()),
        }
    }

    fn password_record(&self, login: &str) -> Option<String> {
        login.eq_ignore_ascii_case("sa").then(|| self.password_record.clone())
    }

    fn open_session(&self, request: SessionRequest) -> Result<SqlSession, Error> {
        let login = Login {
            login: request.login,
            host: request.host,
            application: request.application,
            connection: ClientConnection {
                protocol_version: request.protocol_version,
                packet_bytes: u32::try_from(request.packet_bytes).unwrap_or(u32::MAX),
                encrypted: request.encrypted,
                address: request.address,
                port: request.port,
                local: request.local,
                library: request.library,
                process_id: request.client_pid,
            },
            database: Some(request.database).filter(|name| !name.is_empty()),
        };
        let session = Session::new(Arc::clone(&self.instance), login)?;
        Ok(SqlSession {
            session,
            on_shutdown: Arc::clone(&self.on_shutdown),
            ended: false,
        })
    }

    fn network_wait(&self, micros: u64) {
        self.instance.env.waits.record(WaitType::AsyncNetworkIo, micros, 0);
    }

    fn accountant(&self) -> Option<Arc<dyn Accountant>> {
        Some(self.instance.workspace.clone())
    }

    fn message_spool(&self) -> Option<MakeSpool> {
        let instance = self.instance.clone();
        Some(Arc::new(move || instance.workspace.spill_file(SPOOL)))
    }

    fn spool_file(&self) -> Result<SpillFile, Error> {
        self.instance.workspace.spill_file(SPOOL)
    }

    fn write_errorlog(&self, source: &str, text: &str) {
        self.instance.env.errorlog.write(source, text);
    }

    fn write_error(&self, source: &str, numbers: ErrorNumbers, sentence: &str) {
        self.instance.env.errorlog.write_repeatable(source, numbers, sentence);
    }
}

/// A T-SQL session behind the protocol.
pub struct SqlSession {
    session: Session,
    on_shutdown: ShutdownHook,
    ended: bool,
}

impl SqlSession {
    fn after(&mut self, outcome: BatchOutcome) {
        match outcome {
            BatchOutcome::Completed | BatchOutcome::Failed | BatchOutcome::Cancelled => {}
            BatchOutcome::Disconnected => self.ended = true,
            BatchOutcome::Shutdown(nowait) => {
                self.ended = true;
                (self.on_shutdown)(nowait);
            }
        }
    }

    fn begin(&mut self, new: &NewTransaction, sink: &mut dyn ResultSink) {
        if let Some(statement) = isolation_statement(new.isolation) {
            self.run_batch(statement, sink);
        }
        let outcome = self.session.begin(&new.name, sink);
        self.after(outcome);
    }
}

/// The arguments of a call as T-SQL takes them; `None`, with the client told, when one cannot be taken.
fn parameters(arguments: &[RpcParameter], sink: &mut dyn ResultSink) -> Option<Vec<Parameter>> {
    let parameters: Result<Vec<Parameter>, Error> = arguments.iter().map(parameter).collect();
    match parameters {
        Ok(parameters) => Some(parameters),
        Err(error) => {
            sink.return_status(error.number);
            // Whether the client still listens does not matter.
            let _ = sink.message(&Message::new(&error, 1, ""));
            None
        }
    }
}

/// The statement that sets an isolation level: the level stays with the session, as if it had been set by SQL.
fn isolation_statement(level: IsolationLevel) -> Option<&'static str> {
    Some(match level {
        IsolationLevel::Unchanged => return None,
        IsolationLevel::ReadUncommitted => "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        IsolationLevel::ReadCommitted => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        IsolationLevel::RepeatableRead => "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        IsolationLevel::Serializable => "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        IsolationLevel::Snapshot => "SET TRANSACTION ISOLATION LEVEL SNAPSHOT",
    })
}

impl BackendSession for SqlSession {
    fn id(&self) -> u16 {
        self.session.id()
    }

    fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.session.cancel_flag()
    }

    fn database(&self) -> String {
        self.session.database()
    }

    fn has_ended(&self) -> bool {
        self.ended || self.session.has_ended()
    }

    fn on_end(&self, hook: Box<dyn Fn() + Send + Sync>) {
        self.session.on_end(hook);
    }

    fn run_batch(&mut self, text: &str, sink: &mut dyn ResultSink) {
        let outcome = self.session.execute(text, sink);
        self.after(outcome);
    }

    fn run_parameterized(&mut self, sql: ParameterizedSql<'_>, sink: &mut dyn ResultSink) {
        let Some(parameters) = parameters(sql.arguments, sink) else {
            return;
        };
        let outcome = self
            .session
            .execute_with_parameters(sql.text, sql.declarations, &parameters, sink);
        self.after(outcome);
    }

    fn call(&mut self, procedure: &str, arguments: &[RpcParameter], sink: &mut dyn ResultSink) {
        let Some(parameters) = parameters(arguments, sink) else {
            return;
        };
        let outcome = self.session.execute_procedure(procedure, &parameters, sink);
        self.after(outcome);
    }

    fn transaction(&mut self, request: &TransactionRequest, sink: &mut dyn ResultSink) {
        let (outcome, next) = match request {
            TransactionRequest::Begin(new) => return self.begin(new, sink),
            TransactionRequest::Commit { then_begin, .. } => (self.session.commit(sink), then_begin.as_ref()),
            TransactionRequest::Rollback { name, then_begin } => {
                (self.session.rollback(name, sink), then_begin.as_ref())
            }
            TransactionRequest::Save { name } => (self.session.save(name, sink), None),
        };
        self.after(outcome);
        if let Some(new) = next
            && outcome == BatchOutcome::Completed
        {
            self.begin(new, sink);
        }
    }

    fn bulk_load(&mut self, load: &mut BulkLoad<'_>, sink: &mut dyn ResultSink) {
        let mut rows = BulkRows::new(load);
        let loaded = self.session.bulk_load(&mut rows, sink);
        match loaded {
            Some(outcome) => self.after(outcome),
            // A client that sends rows though INSERT BULK has failed gets this answer. Whether it still listens does not matter.
            None => {
                let refused = notices::request_not_served("no INSERT BULK announced these rows");
                let _ = sink.message(&Message::new(&refused, 1, ""));
            }
        }
    }

    fn forget_bulk_load(&mut self) {
        self.session.forget_bulk_load();
    }

    fn reset(&mut self, keep_transaction: bool, keep_isolation: bool) -> Option<u64> {
        let before = self.session.transaction_descriptor();
        let outcome = self.session.reset(Reset {
            keeps_transaction: keep_transaction,
            keeps_isolation: keep_isolation,
        });
        self.after(outcome);
        Some(before).filter(|id| *id != 0 && self.session.transaction_descriptor() == 0)
    }
}
