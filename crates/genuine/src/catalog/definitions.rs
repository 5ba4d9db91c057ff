//! Texts of definitions, and the values that identity columns gave last.

use super::objects::Identity;
use crate::types::{ColumnType, SystemType};

/// The text of a definition in sysobjvalues.
///
/// Its number in `value` has bit 2 where the text is in the code page of the database, and else it is UTF-16 (measured on 140 definitions
/// of 2008 to 2014, one of them UTF-16).
pub(super) fn text_of(number: i64, bytes: &[u8], collation: u32) -> String {
    let kind = ColumnType {
        system: match number & 2 {
            0 => SystemType::NVarChar,
            _ => SystemType::VarChar,
        },
        length_bytes: -1,
        precision: 0,
        scale: 0,
        collation,
    };
    match crate::types::decode(&kind, bytes) {
        Ok(crate::types::Value::Text(text)) => text,
        _ => String::new(),
    }
}

/// The state of an identity column.
///
/// ```text
/// +------------------+-----------+------+--------------------------+
/// | last value given | increment | seed | 1 before the first value |
/// +------------------+-----------+------+--------------------------+
/// ```
///
/// Three values of the column's type (measured). Which of the last two is the increment is inferred: where the value given last is not
/// reached from the seed by the increment, they are taken the other way round.
pub(super) fn identity_of(kind: &ColumnType, bytes: &[u8]) -> Option<Identity> {
    let length = bytes.len() / 3;
    let number = |at: usize| {
        let part = bytes.get(at * length..(at + 1) * length)?;
        number_of(kind, part)
    };
    let (last, increment, seed) = (number(0)?, number(1)?, number(2)?);
    let is_unused = bytes.get(3 * length) == Some(&1);
    let leads = |seed: i128, increment: i128| increment != 0 && last.wrapping_sub(seed) % increment == 0;
    let (seed, increment) = match leads(seed, increment) || !leads(increment, seed) {
        true => (seed, increment),
        false => (increment, seed),
    };
    Some(Identity {
        seed,
        increment: if increment == 0 { 1 } else { increment },
        last: (!is_unused).then_some(last),
    })
}

fn number_of(kind: &ColumnType, bytes: &[u8]) -> Option<i128> {
    match kind.system {
        SystemType::Decimal | SystemType::Numeric => {
            let (sign, digits) = bytes.split_first()?;
            let mut all = [0; 16];
            all.get_mut(..digits.len())?.copy_from_slice(digits);
            let digits = i128::try_from(u128::from_le_bytes(all)).ok()?;
            Some(if *sign == 0 { -digits } else { digits })
        }
        SystemType::TinyInt => bytes.first().map(|byte| i128::from(*byte)),
        _ => {
            let mut all = [0; 8];
            all.get_mut(..bytes.len())?.copy_from_slice(bytes);
            let unused = 64 - 8 * u32::try_from(bytes.len()).ok()?;
            match bytes.len() {
                0 => None,
                _ => Some(i128::from(i64::from_le_bytes(all) << unused >> unused)),
            }
        }
    }
}
