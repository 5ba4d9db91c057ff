//! TLS: the server's certificate, what it demands, and the channel that encrypts.
//!
//! | the client | what travels first | TLS |
//! |---|---|---|
//! | of TDS 7 | PRELOGIN, in which both say what they want (`tds::prelogin`); the handshake in packets of PRELOGIN | 1.2 |
//! | of TDS 8.0 ("strict") | the handshake, with ALPN `tds/8.0`; then PRELOGIN and all else within | 1.3 or 1.2 |
//!
//! SQL Server speaks TLS 1.3 under TDS 8.0 only (its documentation, "TLS 1.3 support"), and so do drivers.
//!
//! TLS sessions are never resumed: the server keeps nothing from an ended connection.
//!
//! TLS is rustls with ring. Our own code is the framing (a handshake within packets of PRELOGIN), the decisions and the certificate: the
//! administrator's, or a self-signed one made at the first start and kept, so that a client can pin it. Behind [`channel`] the session
//! loop, ATTENTION and the watcher know nothing of TLS. The other end is a `Line` (`door.rs`): a socket, or in fuzzing a client in memory.
//!
//! Invariant: no thread holds the lock of a connection's TLS while it waits for the other side. Invariant: before the login, a
//! connection costs at most one TLS record, one message of 128 KB, and the time until its deadline. TLS is opened a record at a
//! time until then, so what follows a login that alone is encrypted is not taken for TLS.

mod certificate;
mod channel;
mod self_signed;

use std::fmt;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, SupportedProtocolVersion};

pub use certificate::{Certificate, FILE_BYTES_MAX, pem, settle};
pub(crate) use channel::{Channel, ChannelError};
pub use self_signed::SelfSigned;
pub use tds::prelogin::ServerEncryption;

/// What a client of TDS 8.0 names in its first message.
const ALPN_TDS_8: &[u8] = b"tds/8.0";

const TLS_OF_TDS_7: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
const TLS_OF_TDS_8: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];

/// Why nothing can be encrypted: a certificate or key that cannot be used, or a disk that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionError(String);

impl EncryptionError {
    pub(crate) fn new(reason: String) -> Self {
        Self(reason)
    }
}

impl fmt::Display for EncryptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EncryptionError {}

impl From<disk::DiskError> for EncryptionError {
    fn from(error: disk::DiskError) -> Self {
        Self(error.to_string())
    }
}

/// What a server demands, and what it encrypts by.
#[derive(Clone)]
pub struct Encryption {
    demand: ServerEncryption,
    by: Option<Configurations>,
}

#[derive(Clone)]
struct Configurations {
    tds_7: Arc<ServerConfig>,
    tds_8: Arc<ServerConfig>,
}

impl fmt::Debug for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encryption({:?})", self.demand)
    }
}

impl Encryption {
    /// None at all.
    pub fn off() -> Self {
        Self {
            demand: ServerEncryption::Off,
            by: None,
        }
    }

    /// By a certificate.
    ///
    /// # Errors
    /// The key is not the certificate's, or of a kind that is not known.
    pub fn new(demand: ServerEncryption, certificate: &Certificate) -> Result<Self, EncryptionError> {
        let by = Configurations {
            tds_7: server_configuration(certificate, TLS_OF_TDS_7, &[])?,
            tds_8: server_configuration(certificate, TLS_OF_TDS_8, &[ALPN_TDS_8])?,
        };
        Ok(Self { demand, by: Some(by) })
    }

    /// What is demanded of clients.
    pub(crate) fn demand(&self) -> ServerEncryption {
        self.demand
    }

    /// A channel for a client that has said PRELOGIN; None when there is no encryption.
    pub(crate) fn channel_of_tds_7(&self) -> Option<Result<Channel, ChannelError>> {
        self.by.as_ref().map(|by| Channel::new(Arc::clone(&by.tds_7)))
    }

    /// A channel for a client that begins with TLS; None when there is no encryption.
    pub(crate) fn channel_of_tds_8(&self) -> Option<Result<Channel, ChannelError>> {
        self.by.as_ref().map(|by| Channel::new(Arc::clone(&by.tds_8)))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn server_configuration(
    certificate: &Certificate,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&[u8]],
) -> Result<Arc<ServerConfig>, EncryptionError> {
    let refused = |error: rustls::Error| EncryptionError::new(error.to_string());
    let mut configuration = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)
        .map_err(refused)?
        .with_no_client_auth()
        .with_single_cert(certificate.chain.clone(), certificate.key.clone_key())
        .map_err(refused)?;
    configuration.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    configuration.session_storage = Arc::new(NoServerSessionStorage {});
    configuration.send_tls13_tickets = 0;
    Ok(Arc::new(configuration))
}
