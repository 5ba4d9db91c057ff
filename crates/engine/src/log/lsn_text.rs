//! An LSN in JSON: its decimal colon form, `20:217:747`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vlf::Lsn;

/// For `#[serde(with)]`.
pub fn serialize<S: Serializer>(lsn: &Lsn, serializer: S) -> Result<S::Ok, S::Error> {
    lsn.to_decimal().serialize(serializer)
}

/// For `#[serde(with)]`.
///
/// # Errors
/// Text that is not an LSN.
pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Lsn, D::Error> {
    let text = String::deserialize(deserializer)?;
    Lsn::parse_decimal(&text).map_err(|_| serde::de::Error::custom("no LSN"))
}
