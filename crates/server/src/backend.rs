//! The interface between the protocol and the execution of requests.
//!
//! A [`Backend`] is the instance, a [`BackendSession`] one client's session in it, used by one thread. Results flow the
//! other way through T-SQL's [`ResultSink`], while the request runs.

use engine::error::Error;
use engine::errorlog::ErrorNumbers;
use engine::memory::Accountant;
use engine::workspace::SpillFile;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tds::bulk::BulkLoad;
use tds::{RpcParameter, TransactionRequest};
use tsql::session::ResultSink;

use crate::receiving::MakeSpool;

/// How the server introduces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `@@SERVERNAME`; also in every error message.
    pub server_name: String,
    /// The version clients see: major, minor, build, e.g. (16, 0, 1000) for SQL Server 2022.
    pub version: (u8, u8, u16),
}

/// A request for a session, once the password has been verified.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    /// The login's name.
    pub login: String,
    /// The client's machine, program and library, as it calls them.
    pub host: String,
    /// The program's name.
    pub application: String,
    /// The client library's name.
    pub library: String,
    /// Its process id on its own machine.
    pub client_pid: u32,
    /// Its network address.
    pub address: String,
    /// Its port there.
    pub port: u16,
    /// The server's own address and port, as the client reached it.
    pub local: (String, u16),
    /// The version of TDS spoken, as LOGINACK has it.
    pub protocol_version: u32,
    /// The database asked for; empty for the login's default.
    pub database: String,
    /// The packet size agreed, in bytes.
    pub packet_bytes: usize,
    /// All that travels is encrypted, not the login alone.
    pub encrypted: bool,
}

/// Parameterised SQL: sp_executesql and its prepared relatives.
#[derive(Debug, Clone, Copy)]
pub struct ParameterizedSql<'a> {
    /// The statements.
    pub text: &'a str,
    /// The parameters' declarations, as in `@a int, @b nvarchar(20) output`; empty without any.
    pub declarations: &'a str,
    /// The arguments, named or by position.
    pub arguments: &'a [RpcParameter],
}

/// One client's session. Errors of SQL go to the sink; a panic ends the session. Dropping it rolls back what is open.
pub trait BackendSession {
    /// The session id, from 51 up.
    fn id(&self) -> u16;

    /// The flag that tells the running request to stop: the server sets it on ATTENTION, disconnection and shutdown, and
    /// clears it before each request. The session itself must not clear it: an ATTENTION could be lost that way.
    fn cancel_flag(&self) -> Arc<AtomicBool>;

    /// The current database's name.
    fn database(&self) -> String;

    /// True once the session must not go on: KILL, or SHUTDOWN. The connection is closed after the running request.
    fn has_ended(&self) -> bool;

    /// Keeps `hook`, to be called on any thread once something else ends the session (KILL), so that an idle connection is
    /// closed. Sessions that nothing else ends have no use for it.
    fn on_end(&self, hook: Box<dyn Fn() + Send + Sync>) {
        drop(hook);
    }

    fn run_batch(&mut self, text: &str, sink: &mut dyn ResultSink);

    /// Runs parameterised SQL.
    fn run_parameterized(&mut self, sql: ParameterizedSql<'_>, sink: &mut dyn ResultSink);

    /// Calls a procedure by name; 2812 goes to the sink when there is none.
    fn call(&mut self, procedure: &str, arguments: &[RpcParameter], sink: &mut dyn ResultSink);

    /// Begins, commits or rolls back.
    fn transaction(&mut self, request: &TransactionRequest, sink: &mut dyn ResultSink);

    /// The message of announced rows has come, and is not served: the next one is not for the same target.
    fn forget_bulk_load(&mut self) {}

    /// Takes the rows announced by the INSERT BULK batch before.
    fn bulk_load(&mut self, load: &mut BulkLoad<'_>, sink: &mut dyn ResultSink);

    /// Puts the session back to how it was after the login, for the next user of a pooled connection; an open transaction
    /// is rolled back and the isolation level set back unless they are to be kept. Answers the id of the transaction that was rolled
    /// back, for the client's driver to know.
    fn reset(&mut self, keep_transaction: bool, keep_isolation: bool) -> Option<u64>;
}

/// The instance.
pub trait Backend: Send + Sync + 'static {
    type Session: BackendSession;

    /// Its name and version.
    fn identity(&self) -> Identity;

    /// The stored password record of a login (see [`crate::credentials::hash_password`]); None when there is no such
    /// login. Names compare as the instance's collation says.
    fn password_record(&self, login: &str) -> Option<String>;

    /// Opens a session. An error, such as 4060 for a database that does not exist, is sent to the client before 18456.
    ///
    /// # Errors
    /// 4060, 18456 and the like.
    fn open_session(&self, request: SessionRequest) -> Result<Self::Session, Error>;

    /// A session waited so long for its client to take results. Backends without wait statistics have no use for it.
    fn network_wait(&self, micros: u64) {
        let _ = micros;
    }

    /// What grants the memory of messages. Backends without one take what comes.
    fn accountant(&self) -> Option<Arc<dyn Accountant>> {
        None
    }

    /// What makes files for long messages. Backends without files have them in memory.
    fn message_spool(&self) -> Option<MakeSpool> {
        None
    }

    /// A file for answers that a client of several sessions reads later. Backends without files cannot put much aside.
    ///
    /// # Errors
    /// It cannot be made.
    fn spool_file(&self) -> Result<SpillFile, Error> {
        Err(Error::new(
            1105,
            17,
            2,
            "There is no file for answers that are read later.",
        ))
    }

    /// Writes a line to the error log; `source` is e.g. `Logon` or `spid51`.
    fn write_errorlog(&self, source: &str, text: &str);

    /// Writes an error that a client caused to the error log: a line with its number, severity and state, and a line with its sentence.
    /// Clients cause them as often as they like, so the log may count what comes again.
    fn write_error(&self, source: &str, numbers: ErrorNumbers, sentence: &str);
}
