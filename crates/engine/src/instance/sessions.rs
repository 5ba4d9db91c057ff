//! The sessions of an instance: their properties, their current requests, and how they are stopped.
//!
//! A session updates its description whenever a request begins or ends; the views of sessions and requests read it. Each description has a
//! separate mutex, so that short requests of many sessions do not contend here.

use super::Instance;
use crate::buffer::PageUse;
use crate::seams::DateTimeTicks;
use crate::types::Text;
use crate::waits::WaitStatistics;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A session as others see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionInformation {
    /// `session_id`
    pub id: u16,
    /// The id of its lock owner, by which locks are listed.
    pub lock_owner: u64,
    /// Whose context it works in: its own login's, or the one that EXECUTE AS names.
    pub login: String,
    /// The login that it was opened by.
    pub original_login: String,
    /// From which machine.
    pub host: String,
    /// With which program.
    pub application: String,
    /// How it is connected; nothing of a session within the process.
    pub connection: ClientConnection,
    pub login_time: DateTimeTicks,
    pub database_id: u16,
    /// Whether a request is under way.
    pub running: bool,
    /// The kind of statement under way, as `SELECT` or `BACKUP DATABASE`.
    pub command: String,
    /// The text of the batch under way, or of the last one.
    pub text: Text,
    /// The procedure under way, by its database's and its own id; `None` in the batch itself.
    pub module: Option<(u16, u32)>,
    /// When the request under way, or the last one, began.
    pub request_started: DateTimeTicks,
    /// The same on the monotonic clock, in microseconds.
    pub request_started_micros: u64,
    /// When the last request ended.
    pub request_ended: DateTimeTicks,
    /// `@@TRANCOUNT`
    pub open_transactions: u32,
    /// 1 READ UNCOMMITTED to 4 SERIALIZABLE.
    pub isolation_level: u8,
    /// SET options that others can see, as they were when the last request ended.
    pub options: SessionOptions,
    /// Rows of its last statement.
    pub row_count: i64,
    /// Pages that its requests have fixed, up to the end of the last one.
    pub pages: PageUse,
}

/// A client's connection, as its login said and was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientConnection {
    /// The version of TDS spoken, in the form of LOGINACK: 0x74000004 for 7.4.
    pub protocol_version: u32,
    /// The packet size agreed, in bytes.
    pub packet_bytes: u32,
    /// All that travels is encrypted, not the login alone.
    pub encrypted: bool,
    /// The client's network address.
    pub address: String,
    /// Its port there.
    pub port: u16,
    /// The server's own address and port, as the client reached it.
    pub local: (String, u16),
    /// The client library, as it calls itself.
    pub library: String,
    /// The client's process id on its own machine.
    pub process_id: u32,
}

/// SET options of a session that `sys.dm_exec_sessions` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own in T-SQL")]
pub struct SessionOptions {
    /// TEXTSIZE in bytes.
    pub text_size_bytes: i32,
    pub language: &'static str,
    /// DATEFORMAT
    pub date_format: &'static str,
    /// DATEFIRST: 1 (Monday) to 7.
    pub date_first: u8,
    /// LOCK_TIMEOUT in milliseconds; -1 waits forever.
    pub lock_timeout_ms: i32,
    /// DEADLOCK_PRIORITY, from -10 to 10.
    pub deadlock_priority: i8,
    pub quoted_identifier: bool,
    pub arithabort: bool,
    pub ansi_null_dflt_on: bool,
    /// All that SET ANSI_DEFAULTS sets.
    pub ansi_defaults: bool,
    pub ansi_warnings: bool,
    pub ansi_padding: bool,
    pub ansi_nulls: bool,
    pub concat_null_yields_null: bool,
}

impl Default for SessionOptions {
    fn default() -> SessionOptions {
        SessionOptions {
            text_size_bytes: i32::MAX,
            language: "us_english",
            date_format: "mdy",
            date_first: 7,
            lock_timeout_ms: -1,
            deadlock_priority: 0,
            quoted_identifier: true,
            arithabort: true,
            ansi_null_dflt_on: true,
            ansi_defaults: false,
            ansi_warnings: true,
            ansi_padding: true,
            ansi_nulls: true,
            concat_null_yields_null: true,
        }
    }
}

/// What a session tells of itself, shared with those who list sessions.
#[derive(Clone)]
pub struct SessionDescription {
    information: Arc<Mutex<SessionInformation>>,
    waits: Arc<WaitStatistics>,
}

impl SessionDescription {
    /// Tells what the session is doing now.
    pub fn tell(&self, describe: impl FnOnce(&mut SessionInformation)) {
        describe(&mut self.information.lock());
    }

    /// What the session has waited for since it began or was reset.
    pub fn waits(&self) -> &Arc<WaitStatistics> {
        &self.waits
    }
}

/// A session's entry.
pub(super) struct OpenSession {
    pub(super) cancel: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    on_end: Option<Arc<SessionEndHook>>,
    description: SessionDescription,
}

/// Called when another session ends a session.
type SessionEndHook = dyn Fn() + Send + Sync;

impl OpenSession {
    pub(super) fn new(id: u16, lock_owner: u64, cancel: Arc<AtomicBool>, login_time: DateTimeTicks) -> OpenSession {
        let information = SessionInformation {
            id,
            lock_owner,
            login_time,
            request_started: login_time,
            request_ended: login_time,
            isolation_level: 2,
            ..SessionInformation::default()
        };
        OpenSession {
            cancel,
            ended: Arc::default(),
            on_end: None,
            description: SessionDescription {
                information: Arc::new(Mutex::new(information)),
                waits: Arc::default(),
            },
        }
    }
}

impl Instance {
    /// Every session in the order of their numbers.
    pub fn sessions(&self) -> Vec<SessionInformation> {
        self.sessions
            .lock()
            .values()
            .map(|session| session.description.information.lock().clone())
            .collect()
    }

    /// Where a session describes what it is doing; `None` when there is no such session.
    pub fn session_description(&self, id: u16) -> Option<SessionDescription> {
        let sessions = self.sessions.lock();
        sessions.get(&id).map(|session| session.description.clone())
    }

    /// Ends a session for good (KILL, ROLLBACK IMMEDIATE): what it is doing is cancelled, and it must close its connection.
    /// False when there is no such session.
    pub fn end_session(&self, id: u16) -> bool {
        let hook = {
            let sessions = self.sessions.lock();
            let Some(session) = sessions.get(&id) else { return false };
            session.ended.store(true, Ordering::Relaxed);
            session.cancel.store(true, Ordering::Relaxed);
            session.on_end.clone()
        };
        if let Some(hook) = hook {
            hook();
        }
        true
    }

    /// Whether a session was ended by another one and is still there.
    pub fn has_ended(&self, id: u16) -> bool {
        self.ended_flag(id).load(Ordering::Relaxed)
    }

    /// `hook` is called when another session ends this one, so that its connection can be closed while it is idle.
    pub fn on_session_end(&self, id: u16, hook: Box<dyn Fn() + Send + Sync>) {
        if let Some(session) = self.sessions.lock().get_mut(&id) {
            session.on_end = Some(Arc::from(hook));
        }
    }

    /// The flag that is set once a session has been ended by another one.
    pub fn ended_flag(&self, id: u16) -> Arc<AtomicBool> {
        let sessions = self.sessions.lock();
        sessions
            .get(&id)
            .map(|session| session.ended.clone())
            .unwrap_or_default()
    }
}
