//! One connection from accept to close: handshake, login, session.

use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::error::Error;
use engine::errorlog::{ErrorNumbers, one_line};
use engine::memory;
use tds::packet::MESSAGE_BYTES_MAX_DEFAULT;
use tds::prelogin::ServerEncryption;
use tds::token::TokenWriter;

use crate::backend::{Backend, BackendSession, Identity, SessionRequest};
use crate::credentials::PasswordChecker;
use crate::encryption::Encryption;
use crate::handshake::{self, Introduced};
use crate::inbox::{Inbox, Reading, Signals};
use crate::mars::{Answer, Outgoing, Sessions};
use crate::notices;
use crate::procedures::PreparedStatements;
use crate::receiving::Room;
use crate::session::Session;
use crate::sql::Announced;
use crate::throttle::{self, Attempt, Throttle};
use crate::to_client::ToClient;
use crate::watcher::Watcher;

/// What the listener knows of a new connection.
pub(crate) struct Connection<'a, B: Backend> {
    pub(crate) backend: &'a B,
    pub(crate) stream: TcpStream,
    pub(crate) address: IpAddr,
    pub(crate) signals: Arc<Signals>,
    pub(crate) watcher: &'a Watcher,
    pub(crate) passwords: &'a PasswordChecker,
    pub(crate) throttle: &'a Throttle,
    pub(crate) encryption: &'a Encryption,
    pub(crate) login_timeout: Duration,
    /// Set when there are too many connections already: the limit to name in the refusal.
    pub(crate) over_limit: Option<usize>,
}

/// Why a login is refused: the client's message, and what the error log adds.
struct Refusal {
    errors: Vec<Error>,
    state: u8,
    reason: String,
}

impl<B: Backend> Connection<'_, B> {
    /// Serves the connection until it ends.
    pub(crate) fn serve(self) {
        let identity = self.backend.identity();
        let introduced = match handshake::introduce(&self.stream, &identity, self.encryption, self.login_timeout) {
            Ok(introduced) => introduced,
            Err(error) => {
                if let Some((numbers, sentence)) = error.errorlog() {
                    self.log(numbers, &format!("{sentence}. [CLIENT: {}]", self.address));
                }
                return;
            }
        };
        match self.log_in(&introduced) {
            Ok(session) => self.converse(session, introduced, identity),
            Err(refusal) => self.refuse(&introduced, &identity, &refusal),
        }
    }

    /// One line, whatever names the client gave itself.
    fn log(&self, numbers: ErrorNumbers, sentence: &str) {
        self.backend.write_error("Logon", numbers, &one_line(sentence));
    }

    fn log_in(&self, introduced: &Introduced) -> Result<B::Session, Refusal> {
        let login = &introduced.login;
        if let Some(maximum) = self.over_limit {
            return Err(Refusal {
                errors: vec![notices::connection_limit(maximum)],
                state: 1,
                reason: "The maximum number of user connections has been reached.".to_owned(),
            });
        }
        if let Some((state, error, reason)) = self.check_login(introduced) {
            return Err(Refusal {
                errors: vec![error],
                state,
                reason: reason.to_owned(),
            });
        }
        self.backend
            .open_session(self.request(introduced))
            .map_err(|error| Refusal {
                state: 38,
                reason: format!("Failed to open the explicitly specified database '{}'.", login.database),
                errors: vec![error, notices::login_failed(&login.user)],
            })
    }

    /// Why the client is not let in, with the state for the error log. Waits when there were too many attempts, whatever they failed of: each
    /// leaves a line in the error log.
    fn check_login(&self, introduced: &Introduced) -> Option<(u8, Error, &'static str)> {
        let login = &introduced.login;
        let record = self.backend.password_record(&login.user);
        let fault = if self.encryption.demand() == ServerEncryption::Strict && !introduced.is_strict {
            (1, notices::encryption_required(), "Strict encryption is required.")
        } else if login.integrated {
            (
                1,
                notices::untrusted_domain(),
                "Integrated authentication is not available.",
            )
        } else if record.is_none() {
            let reason = "Could not find a login matching the name provided.";
            (5, notices::login_failed(&login.user), reason)
        } else {
            let reason = "Password did not match that for the login provided.";
            (8, notices::login_failed(&login.user), reason)
        };
        // A client without a password to check learns what it lacks.
        let verify = || fault.0 != 1 && self.passwords.verify(record.as_deref(), &login.password);
        let give_up_at = Instant::now() + throttle::WAIT_MAX;
        loop {
            match self.throttle.attempt(self.address, &login.user, verify) {
                Attempt::Matched => return None,
                Attempt::Failed => return Some(fault),
                Attempt::Wait(wait) => {
                    let left = give_up_at.saturating_duration_since(Instant::now());
                    if wait > left || !self.signals.pause(&self.stream, wait) {
                        let reason = "There were too many failed attempts; this one was not looked at.";
                        return Some((1, notices::login_failed(&login.user), reason));
                    }
                }
            }
        }
    }

    fn request(&self, introduced: &Introduced) -> SessionRequest {
        let login = &introduced.login;
        SessionRequest {
            login: login.user.clone(),
            host: login.host.clone(),
            application: login.application.clone(),
            library: login.library.clone(),
            client_pid: login.client_pid,
            address: self.address.to_string(),
            port: self.stream.peer_addr().map_or(0, |address| address.port()),
            local: self.stream.local_addr().map_or_else(
                |_| (String::new(), 0),
                |address| (address.ip().to_string(), address.port()),
            ),
            protocol_version: login.version.acknowledged(),
            database: login.database.clone(),
            packet_bytes: handshake::packet_bytes(login.packet_bytes),
            encrypted: introduced.channel.is_some(),
        }
    }

    fn refuse(&self, introduced: &Introduced, identity: &Identity, refusal: &Refusal) {
        let login = &introduced.login;
        let last = refusal.errors.last();
        let (number, severity) = last.map_or((18456, 14), |notice| (notice.number, notice.severity));
        let numbers = ErrorNumbers {
            number,
            severity,
            state: refusal.state,
        };
        let sentence = format!(
            "Login failed for user '{}'. Reason: {} [CLIENT: {}]",
            login.user, refusal.reason, self.address
        );
        self.log(numbers, &sentence);
        // A client that does not wait for the answer has nothing to gain from an error here.
        let channel = introduced.channel.as_ref();
        let waited = |micros| self.backend.network_wait(micros);
        let mut stream = ToClient::new(&self.stream, channel, &waited, &self.signals);
        let _ = handshake::refuse(login.version, &mut stream, identity, &refusal.errors);
    }

    /// Where its messages go.
    fn room(&self) -> Room {
        Room {
            accountant: self.backend.accountant(),
            make_spool: self.backend.message_spool(),
        }
    }

    fn converse(self, inner: B::Session, introduced: Introduced, identity: Identity) {
        let Introduced {
            login,
            mut packets,
            pending,
            channel,
            is_multiplexed,
            ..
        } = introduced;
        let channel = channel.map(Arc::new);
        let mut tokens = TokenWriter::new(login.version);
        let spid = inner.id();
        tokens.packets().set_spid(spid);
        self.signals.watch(inner.cancel_flag());
        if let Ok(socket) = self.stream.try_clone() {
            // The reader then sees the end of the stream and the session leaves, as when the client goes. A socket that is
            // closed already needs nothing more.
            let signals = Arc::clone(&self.signals);
            inner.on_end(Box::new(move || {
                signals.abandon();
                drop(socket.shutdown(std::net::Shutdown::Read));
            }));
        }
        let database = inner.database();
        let signals = Arc::clone(&self.signals);
        let waited = |micros| self.backend.network_wait(micros);
        let mut stream = ToClient::new(&self.stream, channel.as_deref(), &waited, &signals);
        let accepted = handshake::accept(&mut tokens, &mut stream, &identity, &login, &database);
        packets.set_message_bytes_max(MESSAGE_BYTES_MAX_DEFAULT);
        let reading_half = accepted.and_then(|()| self.stream.try_clone());
        let inbox = match reading_half {
            Ok(reading_half) => {
                let (signals, room) = (Arc::clone(&self.signals), self.room());
                let sessions = is_multiplexed.then(|| Sessions::new(MESSAGE_BYTES_MAX_DEFAULT, room.clone()));
                let reading = Reading::new(channel.clone(), packets, room, sessions);
                Arc::new(Inbox::new(reading_half, reading, &pending, signals))
            }
            Err(error) => {
                let text = format!(
                    "The connection failed after the login: {error}. [CLIENT: {}]",
                    self.address
                );
                self.backend.write_errorlog("Logon", &text);
                return;
            }
        };
        let _watching = self.watcher.watch(&inbox);
        let _working = self.backend.accountant().map(memory::enter);
        let session = |stream| Session {
            backend: self.backend,
            inner,
            server_name: identity.server_name,
            spid,
            address: self.address.to_string(),
            tokens,
            stream,
            signals: Arc::clone(&signals),
            prepared: PreparedStatements::default(),
            announced: Announced::default(),
            acknowledged: 0,
            attention_messages: 0,
        };
        if is_multiplexed {
            let make_file = || self.backend.spool_file();
            let outgoing = Outgoing::new(stream, &inbox, &signals, &waited, &make_file);
            session(&mut Answer(&outgoing)).run_multiplexed(&inbox, &outgoing);
        } else {
            session(&mut stream).run(&inbox);
        }
    }
}
