//! NEWID, NEWSEQUENTIALID and MIN_ACTIVE_ROWVERSION.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Answer::Fixed;
use super::{Call, Signature, signature};

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("min_active_rowversion", 0, &[], Fixed(SqlType::Binary(8)), |call| {
        let lowest = call.context.session.database().min_active_row_version();
        Ok(Value::binary(lowest.to_be_bytes()))
    })
    .told(": lowest rowversion value of a transaction under way, else the next one"),
    signature("newid", 0, &[], Fixed(SqlType::UniqueIdentifier), newid).told(": a random identifier"),
    signature("newsequentialid", 0, &[], Fixed(SqlType::UniqueIdentifier), newid)
        .told(": an identifier greater than those before"),
];

/// A random (version 4) identifier.
fn newid(call: &Call<'_>) -> Result<Value> {
    let mut bytes = [0u8; 16];
    for chunk in bytes.chunks_exact_mut(8) {
        chunk.copy_from_slice(&call.context.session.random.next_bits().to_le_bytes());
    }
    // The third group is stored little-endian: its high byte, with the version, comes second.
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Ok(Value::UniqueIdentifier(bytes))
}
