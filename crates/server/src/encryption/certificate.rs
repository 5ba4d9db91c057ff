//! The server's certificate and its key: given by the administrator, or made at the first start and kept in the instance folder.
//!
//! ```text
//! <folder>/server.certificate.pem    the certificate that was made; may be given to clients
//! <folder>/server.key.pem            its key, as PKCS #8; readable by the owner of the folder alone
//! ```
//! Invariant: the certificate is deleted before its key is replaced, and written after it, so a power cut leaves a matching pair or at most
//! one of them. Invariant: an unusable file is an error and is never silently replaced. An expired certificate is replaced.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use base64ct::{Base64, Encoding};
use disk::{Access, Disk};
use engine::instance::{CERTIFICATE_FILE, KEY_FILE};
use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{EncryptionError, SelfSigned};

/// A chain of certificates or a key is a few thousand bytes; a file much longer is neither.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

const SECONDS_PER_DAY: u64 = 86_400;
/// How long a certificate is valid that the server makes, and how much of that must be left at a start.
const VALID_DAYS: u64 = 3650;
const VALID_DAYS_LEFT_MIN: u64 = 30;
/// Clocks of clients may be behind.
const VALID_DAYS_BEFORE: u64 = 2;

/// Certificates, the server's own first, and its key.
pub struct Certificate {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    /// Made at this start, in place of none or of one that expired.
    pub was_made: bool,
}

impl Certificate {
    /// From the contents of two PEM files, which may be the same one.
    ///
    /// # Errors
    /// There is no certificate in the one or no key in the other.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, EncryptionError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.map_err(|error| EncryptionError::new(format!("the certificate is not PEM: {error}")))?;
        if chain.is_empty() {
            let text = "there is no certificate; a PEM file is expected, with a line BEGIN CERTIFICATE";
            return Err(EncryptionError::new(text.to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| EncryptionError::new(format!("there is no private key in PEM, unencrypted: {error}")))?;
        Ok(Self {
            chain,
            key,
            was_made: false,
        })
    }

    /// SHA-256 of the server's own certificate, in hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let own = self.chain.first().map_or(&[][..], |certificate| certificate.as_ref());
        let hash = digest(&SHA256, own);
        hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The certificate kept in the folder, or a new one for a server called `names` at `address`, made and kept now.
/// `now` is in seconds since 1970.
///
/// # Errors
/// The files cannot be read or written, or hold something else; there is no randomness.
pub fn settle(
    disk: &dyn Disk,
    folder: &Path,
    names: &[String],
    address: IpAddr,
    now: u64,
) -> Result<Certificate, EncryptionError> {
    let (chain, key) = (folder.join(CERTIFICATE_FILE), folder.join(KEY_FILE));
    if let (Some(chain), Some(key)) = (load(disk, &chain)?, load(disk, &key)?) {
        let unusable = |error: EncryptionError| {
            EncryptionError::new(format!(
                "{CERTIFICATE_FILE} and {KEY_FILE} in {} cannot be used: {error}; delete both to have new ones made",
                folder.display()
            ))
        };
        let kept = Certificate::from_pem(&chain, &key).map_err(unusable)?;
        super::server_configuration(&kept, super::TLS_OF_TDS_7, &[]).map_err(unusable)?;
        if !expires_soon(&kept, now) {
            return Ok(kept);
        }
    }
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if !address.is_unspecified() && !addresses.contains(&address) {
        addresses.push(address);
    }
    let (certificate, secret) = SelfSigned {
        names: names.to_vec(),
        addresses,
        not_before: now.saturating_sub(VALID_DAYS_BEFORE * SECONDS_PER_DAY),
        not_after: now + VALID_DAYS * SECONDS_PER_DAY,
    }
    .make()?;
    if disk.len(&chain)?.is_some() {
        disk.delete(&chain)?;
    }
    store(disk, &key, &pem("PRIVATE KEY", &secret))?;
    let certificate = pem("CERTIFICATE", &certificate);
    store(disk, &chain, &certificate)?;
    let mut made = Certificate::from_pem(certificate.as_bytes(), pem("PRIVATE KEY", &secret).as_bytes())?;
    made.was_made = true;
    Ok(made)
}

/// Whether clients that look at the time refuse the certificate, or will within weeks. Only the time counts: a verifier that
/// trusts nothing complains of something else, whatever the time.
fn expires_soon(certificate: &Certificate, now: u64) -> bool {
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::{ServerName, UnixTime};
    use std::time::Duration;
    let Some(own) = certificate.chain.first() else {
        return true;
    };
    let mut roots = rustls::RootCertStore::empty();
    if roots.add(own.clone()).is_err() {
        return false;
    }
    let provider = super::provider();
    let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
    let at = UnixTime::since_unix_epoch(Duration::from_secs(now + VALID_DAYS_LEFT_MIN * SECONDS_PER_DAY));
    let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into());
    verifier.is_ok_and(|verifier| {
        use rustls::CertificateError::{Expired, ExpiredContext};
        let verified = verifier.verify_server_cert(own, &[], &name, &[], at);
        matches!(
            verified,
            Err(rustls::Error::InvalidCertificate(Expired | ExpiredContext { .. }))
        )
    })
}

/// DER as PEM, in lines of 64 characters (RFC 7468).
pub fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    // 48 bytes are 64 characters.
    for line in der.chunks(48) {
        text.push_str(&Base64::encode_string(line));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

fn load(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>, EncryptionError> {
    let Some(bytes) = disk.len(path)? else {
        return Ok(None);
    };
    if bytes > FILE_BYTES_MAX {
        let text = format!("{} is longer than a certificate or a key", path.display());
        return Err(EncryptionError::new(text));
    }
    let mut contents = vec![0; usize::try_from(bytes).unwrap_or_default()];
    disk.open(path, Access::Buffered)?.read_at(0, &mut contents)?;
    Ok(Some(contents))
}

fn store(disk: &dyn Disk, path: &Path, text: &str) -> Result<(), EncryptionError> {
    let new = path.with_extension("pem.new");
    if disk.len(&new)?.is_some() {
        // Left behind by a power cut between the two steps below.
        disk.delete(&new)?;
    }
    let file = disk.create(&new, Access::Buffered)?;
    file.write_at(0, text.as_bytes())?;
    file.sync()?;
    disk.rename(&new, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn settled(disk: &dyn Disk, now: u64) -> Result<Certificate, EncryptionError> {
        let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
        settle(disk, Path::new("/instance"), &["host".to_owned()], address, now)
    }

    fn folder() -> disk::sim::SimDisk {
        let disk = disk::sim::SimDisk::new(7);
        disk.create_directories(Path::new("/instance")).unwrap();
        disk
    }

    #[test]
    fn it_is_made_once_kept_and_replaced_when_it_expires() {
        let disk = folder();
        let first = settled(&disk, NOW).unwrap();
        assert!(first.was_made);
        let year = 365 * SECONDS_PER_DAY;
        for later in [0, year, 9 * year] {
            let kept = settled(&disk, NOW + later).unwrap();
            assert_eq!((kept.was_made, kept.fingerprint()), (false, first.fingerprint()));
        }
        let renewed = settled(&disk, NOW + 10 * year).unwrap();
        assert!(renewed.was_made && renewed.fingerprint() != first.fingerprint());
        assert!(!settled(&disk, NOW + 10 * year).unwrap().was_made);
    }

    #[test]
    fn half_a_pair_is_made_anew_and_a_damaged_one_is_an_error() {
        let disk = folder();
        let first = settled(&disk, NOW).unwrap();
        let key = Path::new("/instance").join(KEY_FILE);
        disk.delete(&key).unwrap();
        let second = settled(&disk, NOW).unwrap();
        assert!(second.was_made && second.fingerprint() != first.fingerprint());
        let other = folder();
        settled(&other, NOW).unwrap();
        let stranger = load(&other, &key).unwrap().unwrap();
        for wrong in [&b"secret"[..], &stranger] {
            disk.delete(&key).unwrap();
            disk.create(&key, Access::Buffered).unwrap().write_at(0, wrong).unwrap();
            let error = settled(&disk, NOW).err().unwrap().to_string();
            assert!(error.contains(KEY_FILE) && error.contains("delete both"), "{error}");
        }
    }
}
