//! `%%physloc%%`: where a row is stored, as eight bytes (Paul Randal, "SQL Server 2008: New (undocumented) physical row locator function").
//!
//! ```text
//! page: 4 bytes | file: 2 bytes | slot: 2 bytes      the lowest byte of each first
//! ```
//! And the locator of a row, by which an index or a plan finds it again, as a value of the wide row.

use engine::error::{Error, Result};
use engine::page::PageId;
use engine::store::{Rid, RowLocator};
use engine::types::{SqlType, Value};

/// The type of the eight bytes.
pub const ROW_PLACE: SqlType = SqlType::Binary(BYTES as u16);

const BYTES: usize = 8;

/// The eight bytes.
pub fn row_place(place: Rid) -> Value {
    let mut bytes = place.page.page.to_le_bytes().to_vec();
    bytes.extend(place.page.file.to_le_bytes());
    bytes.extend(place.slot.to_le_bytes());
    Value::binary(bytes)
}

/// The place that bytes name, cut or filled with zeros to eight as `binary(8)` is.
pub fn place_of(bytes: &[u8]) -> Rid {
    let mut padded = [0; BYTES];
    for (target, byte) in padded.iter_mut().zip(bytes) {
        *target = *byte;
    }
    let [p0, p1, p2, p3, f0, f1, s0, s1] = padded;
    Rid {
        page: PageId {
            file: u16::from_le_bytes([f0, f1]),
            page: u32::from_le_bytes([p0, p1, p2, p3]),
        },
        slot: u16::from_le_bytes([s0, s1]),
    }
}

/// A row's locator as a value of the wide row: a heap's as one number, a tree's as its key.
pub fn locator_value(locator: &RowLocator) -> Value {
    match locator {
        RowLocator::Rid(rid) => {
            let number = u64::from(rid.page.file) << 48 | u64::from(rid.page.page) << 16 | u64::from(rid.slot);
            Value::BigInt(number as i64)
        }
        RowLocator::Key(key) => Value::binary(key.clone()),
    }
}

/// The locator that a value of the wide row stands for.
///
/// # Errors
/// 3624 when it is none.
pub fn locator_of(value: &Value) -> Result<RowLocator> {
    match value {
        Value::BigInt(number) => {
            let number = *number as u64;
            let page = PageId {
                file: (number >> 48) as u16,
                page: (number >> 16) as u32,
            };
            Ok(RowLocator::Rid(Rid {
                page,
                slot: number as u16,
            }))
        }
        Value::Binary(key) => Ok(RowLocator::Key(key.to_arc())),
        _ => Err(Error::assertion("a row without a locator")),
    }
}
