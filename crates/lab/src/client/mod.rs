//! A client of SQL Server's protocol TDS 7.4: connects, logs in, runs batches, passes on results as they arrive.
//!
//! The independent library `tds-protocol` encodes and decodes the bytes, so every run verifies our server's answers with foreign code.
//! Connections are blocking; `security` handles encryption.

mod browser;
mod bulk;
mod connection;
mod gssapi;
mod kerberos;
mod security;
mod value;
mod wire;

pub use browser::{BROWSER_PORT, instance_port};
pub use bulk::{BulkMessage, WireRow};
pub use connection::{Attention, Connection, Identity, LOGIN_TIMEOUT, SessionInfo, Target};
pub use kerberos::Kerberos;
pub use security::{Encrypt, Security, Trust, is_tls_too_old};
pub use value::{Alignment, ColumnKind, Heading};
pub(crate) use value::{date_text, scaled, time_text};

use std::fmt;

/// An error or a message of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerMessage {
    /// `@@ERROR`'s number.
    pub number: i32,
    /// Severity: up to 10 a message, above an error.
    pub severity: u8,
    pub state: u8,
    /// Line of the batch, from 1.
    pub line: i32,
    /// Name of the server.
    pub server: String,
    /// Name of the stored procedure, or empty.
    pub procedure: String,
    /// What it says.
    pub text: String,
}

impl fmt::Display for ServerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}: {}",
            self.number, self.severity, self.state, self.text
        )
    }
}

/// What comes back from a batch, in order.
#[derive(Debug)]
pub enum Event<'a> {
    /// A result set begins.
    Columns(&'a [Heading]),
    /// One row of it; `None` is NULL.
    Row(&'a [Option<String>]),
    /// One row in the bytes it travels in, in place of [`Event::Row`]: [`Connection::wire_rows`].
    WireRow(WireRow<'a>),
    /// A statement is over; with its count of rows if it has one.
    Done {
        /// Rows returned or changed.
        rows: Option<u64>,
    },
    /// A message below severity 11, such as a PRINT.
    Information(&'a ServerMessage),
    /// An error; later statements may still follow.
    Error(&'a ServerMessage),
}

/// Why a batch could not be run to its end, or at all.
#[derive(Debug)]
pub enum ClientError {
    /// The server does not answer.
    Unreachable {
        /// Host and port.
        address: String,
        reason: String,
    },
    /// The server refused the login.
    LoginFailed(ServerMessage),
    /// The connection broke, or the server's answer made no sense.
    Lost(String),
    /// The server answered with an error where none was expected.
    Server(ServerMessage),
    /// The caller wished to stop.
    Interrupted,
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Unreachable { address, reason } => write!(f, "cannot connect to {address}: {reason}"),
            ClientError::LoginFailed(message) => write!(f, "the server refused the login: {message}"),
            ClientError::Lost(reason) => write!(f, "the connection broke: {reason}"),
            ClientError::Server(message) => write!(f, "{message}"),
            ClientError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for ClientError {}

fn lost(reason: &str) -> ClientError {
    ClientError::Lost(reason.to_string())
}
