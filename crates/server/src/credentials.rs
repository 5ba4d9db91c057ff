//! Passwords: judged by SQL Server's policy, hashed with Argon2id under a random salt, compared in constant time, generated when none
//! was given.
//!
//! A record is a PHC string (`$argon2id$v=19$m=19456,t=2,p=1$salt$hash`), so that parameters can change without a new
//! format. The parameters are those OWASP recommends, 19 MiB and two passes.
//!
//! A hash costs these 19 MiB and about 20 ms of processor time. That is meant to slow down attackers, not a client that logs in a hundred
//! times, nor the first one behind a start that was given the password. So [`PasswordChecker`] recognizes a known password by a digest:
//!
//! | record, password | checked by |
//! |---|---|
//! | the last pair that it verified or hashed | BLAKE2b of both, keyed with random bytes of this process |
//! | any other, no record at all | Argon2, one at a time, in one block of memory that is used again |
//!
//! Invariant: failures are not remembered, and a record that was replaced matches nothing: the record is in the digest.

use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::{Output, PasswordHash};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use blake2::Blake2bMac512;
use blake2::digest::{KeyInit, Mac};
use parking_lot::Mutex;
use std::sync::OnceLock;

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

/// Characters of a password (SQL Server docs, "Password policy": at least eight, at most 128).
const CHARACTERS_MIN: usize = 8;
const CHARACTERS_MAX: usize = 128;

/// Sets of characters of which a password has some.
const SETS_MIN: usize = 3;

/// Why a password is refused, in the words that SQL Server on Linux has for the one given to it at its first start (its container's log,
/// microsoft/mssql-docker issues 155, 465 and 776).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakPassword {
    /// Fewer than eight characters.
    TooShort,
    /// More than 128 characters.
    TooLong,
    /// Characters of fewer than three sets.
    NotComplexEnough,
}

impl std::fmt::Display for WeakPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (fault, rule) = match self {
            Self::TooShort => ("too short", "be at least 8 characters"),
            Self::TooLong => ("too long", "be at most 128 characters"),
            Self::NotComplexEnough => (
                "not complex enough",
                "be at least 8 characters long and contain characters from three of the following four sets: Uppercase letters, \
                 Lowercase letters, Base 10 digits, and Symbols",
            ),
        };
        write!(
            f,
            "Password validation failed. The password does not meet SQL Server password policy requirements because it is {fault}. \
             The password must {rule}."
        )
    }
}

/// Judges a password that is to be stored. That it must not contain the login's name is a rule for names of three characters and more
/// (Windows docs, "Password must meet complexity requirements"), so not for `sa`. A letter without a case counts as a symbol.
///
/// # Errors
/// It is too short, too long, or of too few sets of characters.
pub fn check_policy(password: &str) -> Result<(), WeakPassword> {
    let characters = password.chars().count();
    if characters < CHARACTERS_MIN {
        return Err(WeakPassword::TooShort);
    }
    if characters > CHARACTERS_MAX {
        return Err(WeakPassword::TooLong);
    }
    let is_symbol =
        |character: char| !(character.is_uppercase() || character.is_lowercase() || character.is_ascii_digit());
    let sets = [
        password.chars().any(char::is_uppercase),
        password.chars().any(char::is_lowercase),
        password.chars().any(|character| character.is_ascii_digit()),
        password.chars().any(is_symbol),
    ];
    match sets.iter().filter(|has_some| **has_some).count() >= SETS_MIN {
        true => Ok(()),
        false => Err(WeakPassword::NotComplexEnough),
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
    PasswordChecker::default().verify(record, password)
}

/// Bytes of the key and of a digest.
const DIGEST_BYTES: usize = 64;

/// Checks the passwords of one server's logins.
#[derive(Default)]
pub struct PasswordChecker {
    /// The memory of the hash. One check at a time bounds what strangers can make the server use.
    blocks: Mutex<Vec<Block>>,
    /// Key of the digests; `None` when there is no randomness, and so no digest.
    key: OnceLock<Option<[u8; DIGEST_BYTES]>>,
    /// Digest of the record and password that were verified or hashed last.
    known: Mutex<Option<[u8; DIGEST_BYTES]>>,
}

/// Shows nothing of what it knows.
impl std::fmt::Debug for PasswordChecker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordChecker").finish_non_exhaustive()
    }
}

impl PasswordChecker {
    /// True when `password` is the one `record` was made from; see the module.
    pub fn verify(&self, record: Option<&str>, password: &str) -> bool {
        let digest = record.and_then(|record| self.digest(record, password));
        if let Some(digest) = &digest
            && let Some(known) = &*self.known.lock()
            && digest.clone().verify_slice(known).is_ok()
        {
            return true;
        }
        let matches = self.verify_by_hash(record, password);
        if matches && let Some(digest) = digest {
            self.know(digest);
        }
        matches
    }

    /// The record to store for `password`, as [`hash_password`] makes it; a login with both costs no second hash.
    ///
    /// # Errors
    /// There are no random bytes, or no memory.
    pub fn hash(&self, password: &str) -> Result<String, CredentialError> {
        let record = hash_password(password)?;
        if let Some(digest) = self.digest(&record, password) {
            self.know(digest);
        }
        Ok(record)
    }

    fn know(&self, digest: Blake2bMac512) {
        *self.known.lock() = Some(digest.finalize().into_bytes().into());
    }

    /// What stands for a record and a password in this process.
    fn digest(&self, record: &str, password: &str) -> Option<Blake2bMac512> {
        let make_key = || {
            let mut key = [0; DIGEST_BYTES];
            getrandom::fill(&mut key).ok().map(|()| key)
        };
        let key = self.key.get_or_init(make_key).as_ref()?;
        let mut digest = Blake2bMac512::new_from_slice(key).ok()?;
        digest.update(&(record.len() as u64).to_le_bytes());
        digest.update(record.as_bytes());
        digest.update(password.as_bytes());
        Some(digest)
    }

    fn verify_by_hash(&self, record: Option<&str>, password: &str) -> bool {
        static NOBODY: OnceLock<String> = OnceLock::new();
        let mut blocks = self.blocks.lock();
        let nobody = || NOBODY.get_or_init(|| hash_password("nobody's").unwrap_or_default());
        let (stored, exists) = match record {
            Some(record) => (record, true),
            None => (nobody().as_str(), false),
        };
        let matches = PasswordHash::new(stored).is_ok_and(|stored| is_hash_of(&stored, password, &mut blocks));
        matches && exists
    }
}

/// Whether a record is of a password. `blocks` is the memory to work in, larger afterwards if it was too small.
fn is_hash_of(record: &PasswordHash, password: &str, blocks: &mut Vec<Block>) -> bool {
    let version = record.version.unwrap_or(Version::default().into());
    let (Ok(algorithm), Ok(version), Ok(params)) = (
        Algorithm::try_from(record.algorithm.as_str()),
        Version::try_from(version),
        Params::try_from(record),
    ) else {
        return false;
    };
    let (Some(salt), Some(expected)) = (&record.salt, &record.hash) else {
        return false;
    };
    if blocks.len() < params.block_count() {
        blocks.resize(params.block_count(), Block::default());
    }
    let used = blocks.len().min(params.block_count());
    let mut found = vec![0; expected.len()];
    let hashed = Argon2::new(algorithm, version, params).hash_password_into_with_memory(
        password.as_bytes(),
        salt.as_ref(),
        &mut found,
        &mut blocks[..used],
    );
    // The comparison takes the same time whatever differs (`phc::Output`).
    hashed.is_ok() && Output::new(&found).is_ok_and(|found| found == *expected)
}

/// A new random password, fit to be printed once and typed by hand. It meets the policy.
pub fn random_password() -> Result<String, CredentialError> {
    loop {
        // One in forty has no digit.
        let password = random_characters()?;
        if check_policy(&password).is_ok() {
            return Ok(password);
        }
    }
}

fn random_characters() -> Result<String, CredentialError> {
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

    /// The digest stands for what has verified and for nothing else: not for a failure, another password, another record of the
    /// same password, or a process's other checker.
    #[test]
    fn only_what_has_verified_is_known_again() {
        let (record, replaced) = (hash_password("one").unwrap(), hash_password("two").unwrap());
        let checker = PasswordChecker::default();
        let known = |checker: &PasswordChecker, record: &str, password: &str| {
            let digest = checker.digest(record, password).unwrap();
            checker
                .known
                .lock()
                .is_some_and(|known| digest.verify_slice(&known).is_ok())
        };
        for _ in 0..2 {
            assert!(!checker.verify(Some(&record), "two"));
            assert!(!checker.verify(None, "nobody's"));
            assert!(checker.known.lock().is_none(), "a failure is remembered");
        }
        for _ in 0..3 {
            assert!(checker.verify(Some(&record), "one"));
            assert!(known(&checker, &record, "one"));
            assert!(!checker.verify(Some(&record), "two") && !checker.verify(Some(&record), ""));
            assert!(known(&checker, &record, "one"), "a failure makes nothing forgotten");
        }
        assert!(!known(&checker, &replaced, "one") && !checker.verify(Some(&replaced), "one"));
        assert!(checker.verify(Some(&replaced), "two"));
        assert!(!known(&checker, &record, "one"), "the former password is known no more");
        let other = PasswordChecker::default();
        assert!(other.verify(Some(&replaced), "two"));
        assert_ne!(*other.known.lock(), *checker.known.lock(), "one key for all");
    }

    /// A server that was started with a password hashed it twice: for its record, and for the first login.
    #[test]
    fn what_was_hashed_is_known_and_costs_its_login_no_memory() {
        let checker = PasswordChecker::default();
        let record = checker.hash("one").unwrap();
        assert!(checker.verify(Some(&record), "one"));
        assert!(checker.blocks.lock().is_empty(), "the login hashed");
        assert!(!checker.verify(Some(&record), "two"));
        assert!(
            verify_password(Some(&record), "one"),
            "another process checks it by the record"
        );
    }

    #[test]
    fn hashes_of_many_checks_share_one_block_of_memory() {
        let record = hash_password("one").unwrap();
        let checker = PasswordChecker::default();
        assert!(!checker.verify(Some(&record), "two"));
        let place = checker.blocks.lock().as_ptr();
        for password in ["three", "four", "one"] {
            assert_eq!(checker.verify(Some(&record), password), password == "one");
        }
        let blocks = checker.blocks.lock();
        assert_eq!((blocks.as_ptr(), blocks.len()), (place, 19_456));
    }

    /// An empty password was taken for sa, on an address that everybody reaches.
    #[test]
    fn a_password_has_eight_characters_of_three_sets() {
        use WeakPassword::{NotComplexEnough, TooLong, TooShort};
        for (password, judged) in [
            ("", Err(TooShort)),
            ("Aa1!", Err(TooShort)),
            ("Aa1!567", Err(TooShort)),
            ("Aa1!5678", Ok(())),
            ("\u{C4}\u{E4}1!567", Err(TooShort)),
            ("\u{C4}\u{E4}1!5678", Ok(())),
            ("password", Err(NotComplexEnough)),
            ("password1", Err(NotComplexEnough)),
            ("PASSWORD1", Err(NotComplexEnough)),
            ("a password of yours", Err(NotComplexEnough)),
            ("Password", Err(NotComplexEnough)),
            ("12345678!", Err(NotComplexEnough)),
            ("Password1", Ok(())),
            ("password 1", Ok(())),
            ("PASSWORD-1", Ok(())),
            ("Pass word", Ok(())),
            ("salt 1 sa", Ok(())),
        ] {
            assert_eq!(check_policy(password), judged, "{password}");
        }
        let long = |characters: usize| "Aa1!".repeat(characters / 4);
        assert_eq!(
            (check_policy(&long(128)), check_policy(&long(132))),
            (Ok(()), Err(TooLong))
        );
        assert!(
            TooShort
                .to_string()
                .ends_with("because it is too short. The password must be at least 8 characters.")
        );
    }

    #[test]
    fn random_passwords_differ() {
        let (one, two) = (random_password().unwrap(), random_password().unwrap());
        assert_eq!(one.len(), RANDOM_PASSWORD_CHARACTERS);
        assert!(one.bytes().all(|byte| ALPHABET.contains(&byte)));
        assert_ne!(one, two);
        for _ in 0..1000 {
            assert_eq!(check_policy(&random_password().unwrap()), Ok(()));
        }
    }
}
