//! Encryption levels and trust of a connection, and a message for each failure.
//!
//! The four levels and the switches are go-sqlcmd's. Unlike there, a certificate is always verified unless `-C` is given:
//!
//! | level | letter | PRELOGIN says | the server says | encrypted |
//! |---|---|---|---|---|
//! | [`Encrypt::Disable`] | `-N disable` | not supported | not supported | nothing; a server that requires encryption is refused |
//! | [`Encrypt::Optional`] | `-N o` | off | not supported, off, on | nothing, the login, everything |
//! | [`Encrypt::Mandatory`] | `-N m` | on | on | everything; a server without encryption is refused |
//! | [`Encrypt::Strict`] | `-N s` | (within TLS) | | everything, TLS first (TDS 8.0) |
//!
//! TLS 1.2 under TDS 7, 1.3 or 1.2 under TDS 8.0: what SQL Server has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ClientError;
use super::connection::Target;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, SupportedProtocolVersion,
};

/// How much of a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encrypt {
    Disable,
    Optional,
    #[default]
    Mandatory,
    Strict,
}

/// Which certificates are believed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    /// Those of the authorities that this machine trusts (`SSL_CERT_FILE`, `SSL_CERT_DIR`), for the server's name.
    #[default]
    Authorities,
    /// The same, for another name.
    AuthoritiesFor(String),
    /// The one in this file, PEM or DER, whatever its name and time.
    Pinned(PathBuf),
    /// Any: who sits in between can read and change everything.
    Anything,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Security {
    pub encrypt: Encrypt,
    pub trust: Trust,
}

impl Security {
    /// For servers on this machine that the caller has started.
    pub fn none() -> Security {
        Security {
            encrypt: Encrypt::Disable,
            trust: Trust::Authorities,
        }
    }

    /// TLS for a server called `host`.
    ///
    /// # Errors
    /// A sentence: no authorities, no certificate in the file, no name that a certificate could have.
    pub(super) fn connection(&self, host: &str) -> Result<ClientConnection, String> {
        let is_strict = self.encrypt == Encrypt::Strict;
        let versions: &[&SupportedProtocolVersion] = match is_strict {
            true => &[&rustls::version::TLS13, &rustls::version::TLS12],
            false => &[&rustls::version::TLS12],
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = self.verifier(&provider)?;
        let mut configuration = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        if is_strict {
            configuration.alpn_protocols = vec![b"tds/8.0".to_vec()];
        }
        let name = match &self.trust {
            Trust::AuthoritiesFor(name) => name.clone(),
            _ => host.to_owned(),
        };
        let server_name = ServerName::try_from(name.clone());
        let server_name =
            server_name.map_err(|_| format!("{name:?} is not a name that a certificate could have (-F)"))?;
        ClientConnection::new(Arc::new(configuration), server_name).map_err(|error| error.to_string())
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, String> {
        let named = |wanted| {
            Ok(Arc::new(Named {
                provider: Arc::clone(provider),
                wanted,
            }) as Arc<dyn ServerCertVerifier>)
        };
        match &self.trust {
            Trust::Anything => named(None),
            Trust::Pinned(path) => named(Some(read_certificate(path)?)),
            Trust::Authorities | Trust::AuthoritiesFor(_) => {
                let mut roots = RootCertStore::empty();
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    // No root certificates: every issuer is unknown, and the error says so.
                    return named(Some(Vec::new().into()));
                }
                let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build();
                verifier
                    .map(|verifier| verifier as Arc<dyn ServerCertVerifier>)
                    .map_err(|error| error.to_string())
            }
        }
    }
}

fn read_certificate(path: &Path) -> Result<CertificateDer<'static>, String> {
    let failed = |reason: &dyn std::fmt::Display| format!("-J {}: {reason}", path.display());
    let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
    // DER begins with a SEQUENCE of a length that takes two bytes.
    if bytes.starts_with(&[0x30, 0x82]) {
        return Ok(bytes.into());
    }
    CertificateDer::from_pem_slice(&bytes).map_err(|_| failed(&"there is no certificate in it, neither PEM nor DER"))
}

/// Believes one certificate, or any; that the server has its key is verified all the same.
#[derive(Debug)]
struct Named {
    provider: Arc<CryptoProvider>,
    /// None believes any.
    wanted: Option<CertificateDer<'static>>,
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.wanted {
            Some(wanted) if wanted.is_empty() => Err(CertificateError::UnknownIssuer.into()),
            Some(wanted) if wanted != certificate => Err(CertificateError::ApplicationVerificationFailure.into()),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The server answered PRELOGIN that it has no encryption.
pub(super) const NO_ENCRYPTION: &str = "the server has no encryption, and it was demanded; where password and data may travel \
     readable, say -N disable";

/// The server demands encryption, and none was wanted.
pub(super) const ENCRYPTION_REQUIRED: &str = "the server requires encryption; say -N m instead of -N disable";

/// The server went away during the handshake, or answered what is none.
pub(super) const HANDSHAKE_BROKEN_OFF: &str = "the server broke off the TLS handshake; one that speaks no TLS 1.2 does so (SQL \
     Server 2005 to 2014 without the updates that bring it): update it, or say -N disable where password and data may travel readable";

/// Whether a server was given up because it has no TLS that this program speaks.
pub fn is_tls_too_old(error: &ClientError) -> bool {
    matches!(error, ClientError::Unreachable { reason, .. }
        if reason.contains(HANDSHAKE_BROKEN_OFF) || reason.contains(NOTHING_IN_COMMON))
}

const NOTHING_IN_COMMON: &str = "the server and this program have no version or cipher of TLS in common";

/// The same, of a server that was greeted with TLS.
pub(super) const STRICT_BROKEN_OFF: &str = "the server does not begin with TLS; TDS 8.0 (-N s) takes SQL Server 2022 or later, \
     others take -N m";

/// Why TLS failed, and what can be done about it.
pub(super) fn sentence(error: &Error, target: &Target) -> String {
    let (security, host) = (&target.security, &target.host);
    let name = match &security.trust {
        Trust::AuthoritiesFor(name) => name,
        _ => host,
    };
    // A strict connection is always verified.
    let any = match security.encrypt {
        Encrypt::Strict => "",
        _ => "; -C trusts any, which does not protect against a man in the middle",
    };
    match error {
        Error::InvalidCertificate(reason) => match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the server's certificate has expired; have it renewed, or pin it with -J FILE{any}")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the server's certificate is not valid yet; see to the clocks, or pin it with -J FILE{any}")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!(
                    "the server's certificate is for another name than {name:?}; give the name it is for with -F NAME{any}"
                )
            }
            CertificateError::ApplicationVerificationFailure => {
                "the server shows another certificate than the one of -J; ask its administrator which is right"
                    .to_owned()
            }
            CertificateError::UnknownIssuer => format!(
                "the server's certificate is of no authority that this machine trusts (a server that was given none makes its own); \
                 pin it with -J FILE, or trust its authority by SSL_CERT_FILE{any}"
            ),
            other => format!("the server's certificate is not accepted ({other}); pin it with -J FILE{any}"),
        },
        Error::PeerIncompatible(_)
        | Error::AlertReceived(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure) => format!(
            "{NOTHING_IN_COMMON} ({error}); TLS 1.2 is needed, which SQL Server \
             2005 to 2014 have with updates only"
        ),
        Error::InvalidMessage(_) if security.encrypt == Encrypt::Strict => STRICT_BROKEN_OFF.to_owned(),
        other => format!("TLS failed: {other}"),
    }
}
