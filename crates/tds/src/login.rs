//! LOGIN7: who the client is and what it wants.
//!
//! ```text
//!  0 length | 4 TDS version | 8 packet size | 12 client version | 16 pid | 20 connection id
//! 24 flags1 flags2 type_flags flags3 | 28 time zone | 32 LCID
//! 36 (offset u16, count u16) of host, user, password, application, server, extension, library, language, database
//! 72 client id (6) | 78 SSPI | 82 attach file | 86 new password | 90 long SSPI length; then the texts, UTF-16
//! ```
//!
//! Offsets count from the start of the record. A 7.1 client ends the fixed part after the attach file.
//!
//! The sender is not authenticated yet, so the kept data are bounded: "MUST specify at most 128 characters" holds for each of its texts
//! ([MS-TDS] 2.2.6.4, the rules that login data is validated by), and a feature's id is a byte. Unsupported parts (integrated
//! authentication, a file to attach, a new password) are not read.

use crate::cursor::{Cursor, DecodeError, utf16_text};
use crate::version::TdsVersion;

/// One feature the client offers in its LOGIN7 extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureRequest {
    /// The feature's id, e.g. 0x0A for UTF8_SUPPORT.
    pub id: u8,
    pub data: Vec<u8>,
}

/// The longest name, and password, in UTF-16 units.
pub const NAME_UNITS_MAX: u16 = 128;

/// The id of UTF8_SUPPORT.
pub const FEATURE_UTF8_SUPPORT: u8 = 0x0A;

/// A parsed LOGIN7 record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The version to speak, not above what the client asked for.
    pub version: TdsVersion,
    /// The value it asked with.
    pub requested_version: u32,
    /// The packet size it wants, in bytes; 0 leaves it to the server.
    pub packet_bytes: u32,
    /// The client's process id.
    pub client_pid: u32,
    /// The flag bytes: flags 1, flags 2, type flags, flags 3.
    pub flags: [u8; 4],
    /// Windows locale id.
    pub lcid: u32,
    pub host: String,
    pub user: String,
    /// The password, de-obfuscated.
    pub password: String,
    pub application: String,
    /// The server as the client names it.
    pub server: String,
    pub library: String,
    /// The language it wants, empty for the default.
    pub language: String,
    /// The database it wants, empty for the default.
    pub database: String,
    /// It wants integrated (Windows) authentication.
    pub integrated: bool,
    /// What it offers; empty when it sent no extension.
    pub features: Vec<FeatureRequest>,
    /// It sent a feature extension, so FEATUREEXTACK is due.
    pub has_features: bool,
}

impl Login {
    /// Parses the payload of a LOGIN7 message.
    pub fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut fixed = Cursor::new(payload);
        let length = fixed.u32("LOGIN7 length")?;
        let length_usize = usize::try_from(length).unwrap_or(usize::MAX);
        let record = payload
            .get(..length_usize)
            .ok_or(DecodeError::Truncated("LOGIN7 record"))?;
        let requested_version = fixed.u32("LOGIN7 version")?;
        let version = TdsVersion::from_login(requested_version)
            .ok_or(DecodeError::Unsupported("TDS version", u64::from(requested_version)))?;
        let packet_bytes = fixed.u32("LOGIN7 packet size")?;
        fixed.u32("LOGIN7 client version")?;
        let client_pid = fixed.u32("LOGIN7 process id")?;
        fixed.u32("LOGIN7 connection id")?;
        let flags: [u8; 4] = fixed.array("LOGIN7 flags")?;
        fixed.u32("LOGIN7 time zone")?;
        let lcid = fixed.u32("LOGIN7 locale")?;
        let mut text = |what| text_field(record, &mut fixed, what);
        let host = text("LOGIN7 host")?;
        let user = text("LOGIN7 user")?;
        let password = reveal(text_slot(record, &mut fixed, "LOGIN7 password")?);
        let mut text = |what| text_field(record, &mut fixed, what);
        let application = text("LOGIN7 application")?;
        let server = text("LOGIN7 server")?;
        // The slot of the extension is "unused" for older clients, who may leave anything there.
        let has_features = version >= TdsVersion::V7_4 && flags[3] & 0x10 != 0;
        let extension = fixed.array::<4>("LOGIN7 extension")?;
        let mut text = |what| text_field(record, &mut fixed, what);
        let library = text("LOGIN7 library")?;
        let language = text("LOGIN7 language")?;
        let database = text("LOGIN7 database")?;
        let features = if has_features {
            features(record, extension)?
        } else {
            Vec::new()
        };
        Ok(Self {
            version,
            requested_version,
            packet_bytes,
            client_pid,
            flags,
            lcid,
            host,
            user,
            password,
            application,
            server,
            library,
            language,
            database,
            integrated: flags[1] & 0x80 != 0,
            features,
            has_features,
        })
    }

    /// The client offers feature `id`.
    pub fn offers(&self, id: u8) -> bool {
        self.features.iter().any(|feature| feature.id == id)
    }
}

/// The bytes an (offset, count of UTF-16 units) pair points at.
fn text_slot<'a>(record: &'a [u8], fixed: &mut Cursor<'_>, what: &'static str) -> Result<&'a [u8], DecodeError> {
    let start = usize::from(fixed.u16(what)?);
    let units = fixed.u16(what)?;
    if units == 0 {
        return Ok(&[]);
    }
    if units > NAME_UNITS_MAX {
        return Err(DecodeError::TooLong(what, u64::from(units)));
    }
    record
        .get(start..start + usize::from(units) * 2)
        .ok_or(DecodeError::Truncated(what))
}

fn text_field(record: &[u8], fixed: &mut Cursor<'_>, what: &'static str) -> Result<String, DecodeError> {
    text_slot(record, fixed, what).map(utf16_text)
}

/// Undoes the client's obfuscation: it swaps each byte's nibbles and inverts bits with A5.
fn reveal(obfuscated: &[u8]) -> String {
    let plain: Vec<u8> = obfuscated.iter().map(|byte| (byte ^ 0xA5).rotate_left(4)).collect();
    utf16_text(&plain)
}

/// The extension slot points at a u32, and that at `id u8 | length u32 | data` entries up to FF.
fn features(record: &[u8], extension: [u8; 4]) -> Result<Vec<FeatureRequest>, DecodeError> {
    const WHAT: &str = "LOGIN7 feature extension";
    let pointer = usize::from(u16::from_le_bytes([extension[0], extension[1]]));
    let at = record
        .get(pointer..)
        .ok_or(DecodeError::Truncated(WHAT))
        .and_then(|bytes| Cursor::new(bytes).u32(WHAT))?;
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let block = record.get(start..).ok_or(DecodeError::Truncated(WHAT))?;
    let mut cursor = Cursor::new(block);
    let mut found = Vec::new();
    loop {
        let id = cursor.u8(WHAT)?;
        if id == 0xFF {
            return Ok(found);
        }
        let length = usize::try_from(cursor.u32(WHAT)?).unwrap_or(usize::MAX);
        let data = cursor.bytes(length, WHAT)?.to_vec();
        if found.len() == usize::from(u8::MAX) {
            // There are no more ids: it only repeats itself.
            return Err(DecodeError::TooLong(WHAT, found.len() as u64 + 1));
        }
        found.push(FeatureRequest { id, data });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tds_protocol::{FeatureExtension, FeatureId, Login7};

    fn sample() -> Vec<u8> {
        Login7::new()
            .with_sql_auth("sa", "P\u{E4}ss w\u{F6}rd1")
            .with_database("vlf")
            .with_hostname("box")
            .with_app_name("probe")
            .with_server_name("here")
            .with_language("us_english")
            .with_packet_size(8000)
            .with_feature(FeatureExtension {
                feature_id: FeatureId::Utf8Support,
                data: Default::default(),
            })
            .encode()
            .to_vec()
    }

    #[test]
    fn a_drivers_login_is_understood() {
        let login = Login::parse(&sample()).unwrap();
        assert_eq!(login.version, TdsVersion::V7_4);
        assert_eq!(login.user, "sa");
        assert_eq!(login.password, "P\u{E4}ss w\u{F6}rd1");
        assert_eq!(login.database, "vlf");
        assert_eq!((login.host.as_str(), login.application.as_str()), ("box", "probe"));
        assert_eq!(login.packet_bytes, 8000);
        assert!(login.has_features && login.offers(FEATURE_UTF8_SUPPORT));
        assert!(!login.integrated);
    }

    /// Names had no limit but the message's 128 KB: every refused login left its user name, whole, in the error log that memory keeps.
    #[test]
    fn a_text_longer_than_128_characters_makes_a_login_invalid() {
        type With = fn(Login7, String) -> Login7;
        let texts: [(&str, With); 7] = [
            ("LOGIN7 host", |login, text| login.with_hostname(text)),
            ("LOGIN7 user", |login, text| login.with_sql_auth(text, "x")),
            ("LOGIN7 password", |login, text| login.with_sql_auth("x", text)),
            ("LOGIN7 application", |login, text| login.with_app_name(text)),
            ("LOGIN7 server", |login, text| login.with_server_name(text)),
            ("LOGIN7 language", |login, text| login.with_language(text)),
            ("LOGIN7 database", |login, text| login.with_database(text)),
        ];
        for (what, with) in texts {
            let parsed = |units: usize| Login::parse(&with(Login7::new(), "a".repeat(units)).encode());
            assert!(parsed(128).is_ok(), "{what}");
            for units in [129, 32_000] {
                assert_eq!(parsed(units), Err(DecodeError::TooLong(what, units as u64)));
            }
        }
    }

    /// Five bytes on the wire are six times that in memory, and 128 KB hold 26,000 of them.
    #[test]
    fn features_that_repeat_themselves_make_a_login_invalid() {
        let with_features = |count: usize| {
            let feature = || FeatureExtension {
                feature_id: FeatureId::Utf8Support,
                data: Default::default(),
            };
            let login = (0..count).fold(Login7::new(), |login, _| login.with_feature(feature()));
            Login::parse(&login.encode())
        };
        assert_eq!(with_features(255).unwrap().features.len(), 255);
        assert_eq!(
            with_features(256),
            Err(DecodeError::TooLong("LOGIN7 feature extension", 256))
        );
    }

    #[test]
    fn every_cut_of_a_login_is_refused() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            assert!(Login::parse(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
