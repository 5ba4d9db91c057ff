//! Bytes as base64 text (RFC 4648), for FOR XML, FOR JSON, OPENJSON and BASE64_ENCODE.

use base64ct::{Base64, Base64UrlUnpadded, Encoding};
use engine::error::Result;
use engine::types::{Bytes, Value, string_room};

use crate::messages;

/// The text of bytes, with padding.
pub fn encoded(bytes: &[u8]) -> String {
    Base64::encode_string(bytes)
}

/// The text of bytes in the alphabet of addresses, without padding.
pub fn encoded_for_addresses(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// The bytes of a text in either alphabet, with padding or without; white space does not count.
///
/// # Errors
/// 9803 for a text that is not base64; 701.
pub fn decoded(text: &str) -> Result<Value> {
    let invalid = || messages::invalid_base64();
    let charge = string_room(text.len())?;
    let plain = text.chars().filter(|character| !character.is_ascii_whitespace());
    let plain: String = plain
        .map(|character| match character {
            '+' => '-',
            '/' => '_',
            other => other,
        })
        .collect();
    let bytes = Base64UrlUnpadded::decode_vec(plain.trim_end_matches('=')).map_err(|_| invalid())?;
    Ok(Value::Binary(Bytes::charged(bytes, charge)))
}
