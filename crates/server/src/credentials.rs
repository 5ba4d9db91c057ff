//! Passwords: hashed with Argon2id under a random salt, compared in constant time, made up when nobody gave one.
//!
//! A record is a PHC string (`$argon2id$v=19$m=19456,t=2,p=1$salt$hash`), so that parameters can change without a new
//! format. The parameters are those OWASP recommends, 19 MiB and two passes.

use std::sync::OnceLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use parking_lot::Mutex;

/// Characters of a random password: no two look alike.
const ALPHABET: &[u8; 56] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Length of a random password; 24 characters of 56 are 139 bits.
const RANDOM_PASSWORD_CHARACTERS: usize = 24;

/// Why a password could not be prepared: no random bytes, no memory, or a disk that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialError(String);

impl std::fmt::Display for CredentialError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the password could not be prepared: {}", self.0)
    }
}

impl std::error::Error for CredentialError {}

impl CredentialError {
    pub(crate) fn new(reason: String) -> Self {
        Self(reason)
    }
}

impl From<disk::DiskError> for CredentialError {
    fn from(error: disk::DiskError) -> Self {
        Self(error.to_string())
    }
}

/// The record to store for `password`.
pub fn hash_password(password: &str) -> Result<String, CredentialError> {
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|error| CredentialError(error.to_string()))
}

/// True when `password` is the one `record` was made from. Without a record the same work is done in vain, so that a
/// stranger cannot tell by the time whether a login exists.
pub fn verify_password(record: Option<&str>, password: &str) -> bool {
    // One check at a time bounds the memory strangers can make the server use.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    static NOBODY: OnceLock<String> = OnceLock::new();
    let _turn = ONE_AT_A_TIME.lock();
    let nobody = || NOBODY.get_or_init(|| hash_password("nobody's").unwrap_or_default());
    let (stored, exists) = match record {
        Some(record) => (record, true),
        None => (nobody().as_str(), false),
    };
    let Ok(parsed) = PasswordHash::new(stored) else {
        return false;
    };
    let matches = Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok();
    matches && exists
}

/// A new random password, fit to be printed once and typed by hand.
pub fn random_password() -> Result<String, CredentialError> {
    let mut password = String::with_capacity(RANDOM_PASSWORD_CHARACTERS);
    let mut bytes = [0; 64];
    while password.len() < RANDOM_PASSWORD_CHARACTERS {
        getrandom::fill(&mut bytes).map_err(|error| CredentialError(error.to_string()))?;
        // Bytes beyond the last whole multiple of the alphabet would favour its front.
        let fair = bytes
            .iter()
            .filter(|&&byte| usize::from(byte) < 256 / ALPHABET.len() * ALPHABET.len());
        for byte in fair.take(RANDOM_PASSWORD_CHARACTERS - password.len()) {
            password.push(char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]));
        }
    }
    Ok(password)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_right_password_passes() {
        let record = hash_password("S3cret \u{E4}").unwrap();
        assert!(record.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(verify_password(Some(&record), "S3cret \u{E4}"));
        assert!(!verify_password(Some(&record), "S3cret"));
        assert!(!verify_password(Some("damaged"), "S3cret"));
        assert!(!verify_password(None, "nobody's"));
        assert_ne!(record, hash_password("S3cret \u{E4}").unwrap(), "salted");
    }

    #[test]
    fn random_passwords_differ() {
        let (one, two) = (random_password().unwrap(), random_password().unwrap());
        assert_eq!(one.len(), RANDOM_PASSWORD_CHARACTERS);
        assert!(one.bytes().all(|byte| ALPHABET.contains(&byte)));
        assert_ne!(one, two);
    }
}
