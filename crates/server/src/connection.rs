//! One connection from accept to close: handshake, login, session.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use engine::errorlog::{ErrorNumbers, one_line};
use engine::memory;
use tds::packet::MESSAGE_BYTES_MAX_DEFAULT;
use tds::prelogin::ServerEncryption;
use tds::token::TokenWriter;

use crate::backend::{Backend, BackendSession, Identity, Notice, SessionRequest};
use crate::credentials::PasswordChecker;
use crate::encryption::Encryption;
use crate::handshake::{self, Introduced};
use crate::inbox::{Inbox, Signals};
use crate::notices;
use crate::procedures::PreparedStatements;
use crate::session::Session;
use crate::to_client::ToClient;
use crate::watcher::Watcher;

/// What the listener knows of a new connection.
pub(crate) struct Connection<'a, B: Backend> {
    pub(crate) backend: &'a B,
    pub(crate) stream: TcpStream,
    pub(crate) address: String,
    pub(crate) signals: Arc<Signals>,
    pub(crate) watcher: &'a Watcher,
    pub(crate) passwords: &'a PasswordChecker,
    pub(crate) encryption: &'a Encryption,
    pub(crate) login_timeout: Duration,
    /// Set when there are too many connections already: the limit to name in the refusal.
    pub(crate) over_limit: Option<usize>,
}

/// Why a login is refused: what the client is told, and what the error log adds.
struct Refusal {
    notices: Vec<Notice>,
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
        let failed = || notices::login_failed(&login.user);
        if let Some(maximum) = self.over_limit {
            return Err(Refusal {
                notices: vec![notices::connection_limit(maximum)],
                state: 1,
                reason: "The maximum number of user connections has been reached.".to_owned(),
            });
        }
        if self.encryption.demand() == ServerEncryption::Strict && !introduced.is_strict {
            return Err(Refusal {
                notices: vec![notices::encryption_required()],
                state: 1,
                reason: "Strict encryption is required.".to_owned(),
            });
        }
        if login.integrated {
            return Err(Refusal {
                notices: vec![notices::untrusted_domain()],
                state: 1,
                reason: "Integrated authentication is not available.".to_owned(),
            });
        }
        let record = self.backend.password_record(&login.user);
        if !self.passwords.verify(record.as_deref(), &login.password) {
            let (state, reason) = match record {
                None => (5, "Could not find a login matching the name provided."),
                Some(_) => (8, "Password did not match that for the login provided."),
            };
            return Err(Refusal {
                notices: vec![failed()],
                state,
                reason: reason.to_owned(),
            });
        }
        self.backend
            .open_session(self.request(introduced))
            .map_err(|notice| Refusal {
                state: 38,
                reason: format!("Failed to open the explicitly specified database '{}'.", login.database),
                notices: vec![notice, failed()],
            })
    }

    fn request(&self, introduced: &Introduced) -> SessionRequest {
        let login = &introduced.login;
        SessionRequest {
            login: login.user.clone(),
            host: login.host.clone(),
            application: login.application.clone(),
            library: login.library.clone(),
            client_pid: login.client_pid,
            address: self.address.clone(),
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
        let last = refusal.notices.last();
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
        let _ = handshake::refuse(login.version, &mut stream, identity, &refusal.notices);
    }

    fn converse(self, inner: B::Session, introduced: Introduced, identity: Identity) {
        let Introduced {
            login,
            mut packets,
            pending,
            channel,
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
        let reading = accepted.and_then(|()| self.stream.try_clone());
        let inbox = match reading {
            Ok(reading) => {
                let (signals, accountant) = (Arc::clone(&self.signals), self.backend.accountant());
                Arc::new(Inbox::new(
                    reading,
                    channel.clone(),
                    packets,
                    &pending,
                    signals,
                    accountant,
                ))
            }
            Err(error) => {
                self.backend.write_errorlog(
                    "Logon",
                    &format!(
                        "The connection failed after the login: {error}. [CLIENT: {}]",
                        self.address
                    ),
                );
                return;
            }
        };
        let _watching = self.watcher.watch(&inbox);
        let _working = self.backend.accountant().map(memory::enter);
        Session {
            backend: self.backend,
            inner,
            server_name: identity.server_name,
            spid,
            address: self.address,
            tokens,
            stream: &mut stream,
            signals: self.signals,
            prepared: PreparedStatements::default(),
            acknowledged: 0,
            attention_messages: 0,
        }
        .run(&inbox);
    }
}
