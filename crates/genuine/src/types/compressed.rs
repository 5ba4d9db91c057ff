//! Values of compressed rows, made as long as their types say.
//!
//! | type | compressed |
//! |---|---|
//! | whole numbers, money | as few bytes as needed, highest first, with the smallest number of that many bytes taken away |
//! | `tinyint`, `bit` | the byte, or nothing for 0 |
//! | `datetime` | days as a whole number, then 4 bytes of time, highest first; without days the time alone as a whole number |
//! | `float`, `real`, `smalldatetime` | zero bytes at the low end are left out |
//! | `date`, `time`, `datetime2`, `datetimeoffset` | zero bytes at the high end are left out |
//! | `decimal`, `numeric` | a byte of sign (0x80) and exponent (64 more than it is), then groups of three digits as 10 bits each |
//! | `char`, `binary` | blanks, zeros at the end are left out |
//! | `nchar`, `nvarchar` | see [`crate::row::scsu`] |
//!
//! (Microsoft, "Row compression implementation"; the bytes are described in Rasmussen, "OrcaMDF row compression support" (2012), and in public
//! notes on SQL Server 2017 to 2022. Not measured on files here.)

use super::{ColumnType, SystemType, Value, decode};
use crate::row::scsu::compressed_text;

/// The value of type `kind` whose compressed bytes are `bytes`.
///
/// # Errors
/// A clause: the bytes are too many, or no value of the type.
pub fn expand(kind: &ColumnType, bytes: &[u8]) -> Result<Value, String> {
    let length = kind.fixed_bytes().unwrap_or(bytes.len());
    if bytes.len() > length
        && !matches!(
            kind.system,
            SystemType::NChar | SystemType::Decimal | SystemType::Numeric
        )
    {
        return Err(format!("a compressed {kind} has {} bytes", bytes.len()));
    }
    match kind.system {
        SystemType::SmallInt | SystemType::Int | SystemType::BigInt | SystemType::Money | SystemType::SmallMoney => {
            decode(kind, &whole_bytes(bytes)?.to_le_bytes()[..length])
        }
        SystemType::DateTime => {
            let split = bytes.len().saturating_sub(4);
            let (days, time) = match split {
                0 => (0, whole_bytes(bytes)?),
                _ => (whole_bytes(&bytes[..split])?, big_endian(&bytes[split..])),
            };
            let mut all = [0; 8];
            all[..4].copy_from_slice(&time.to_le_bytes()[..4]);
            all[4..].copy_from_slice(&days.to_le_bytes()[..4]);
            decode(kind, &all)
        }
        SystemType::Float | SystemType::Real | SystemType::SmallDateTime => {
            let mut all = vec![0; length];
            all[length - bytes.len()..].copy_from_slice(bytes);
            decode(kind, &all)
        }
        SystemType::Decimal | SystemType::Numeric => vardecimal(kind, bytes),
        SystemType::NChar | SystemType::NVarChar => {
            let mut text = compressed_text(bytes)?;
            if kind.system == SystemType::NChar {
                let units = usize::try_from(kind.length_bytes).unwrap_or(0) / 2;
                let missing = units.saturating_sub(text.encode_utf16().count());
                text.extend(std::iter::repeat_n(' ', missing));
            }
            Ok(Value::Text(text))
        }
        SystemType::Char => {
            let mut all = bytes.to_vec();
            all.resize(length, b' ');
            decode(kind, &all)
        }
        _ => {
            let mut all = bytes.to_vec();
            all.resize(length, 0);
            decode(kind, &all)
        }
    }
}

fn big_endian(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// The smallest number of as many bytes is stored as zeros.
fn whole_bytes(bytes: &[u8]) -> Result<i64, String> {
    match bytes.len() {
        0 => Ok(0),
        length @ 1..=7 => Ok(big_endian(bytes) - (1 << (8 * length - 1))),
        8 => Ok(big_endian(bytes) ^ i64::MIN),
        length => Err(format!("a compressed whole number has {length} bytes")),
    }
}

/// `sign x mantissa x 10^exponent`, the mantissa's point behind its first digit.
fn vardecimal(kind: &ColumnType, bytes: &[u8]) -> Result<Value, String> {
    let scale = kind.scale;
    let Some((first, groups)) = bytes.split_first() else {
        return Ok(Value::Decimal {
            is_negative: false,
            digits: 0,
            scale,
        });
    };
    // 38 digits are 13 groups of three, in 17 bytes.
    if groups.len() > 17 {
        return Err(format!("a compressed {kind} has {} bytes", bytes.len()));
    }
    let exponent = i32::from(first & 0x7F) - 64;
    let bit = |at: usize| groups.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
    let mut mantissa = 0u128;
    for group in 0..(8 * groups.len()).div_ceil(10) {
        let three = (0..10).fold(0, |number, at| number << 1 | u128::from(bit(10 * group + at)));
        if three > 999 {
            return Err(format!("a compressed {kind} has {three} for three digits"));
        }
        // The 14th group can only be what fills the last byte.
        match mantissa.checked_mul(1000).and_then(|number| number.checked_add(three)) {
            Some(number) => mantissa = number,
            None if three == 0 => break,
            None => return Err(format!("a compressed {kind} is out of range")),
        }
    }
    let digits_behind_point = mantissa.checked_ilog10().unwrap_or(0).cast_signed();
    let shift = exponent - digits_behind_point + i32::from(scale);
    let scaled = match shift {
        _ if mantissa == 0 => Some(0),
        0.. => u32::try_from(shift)
            .ok()
            .and_then(|shift| 10u128.checked_pow(shift))
            .and_then(|power| mantissa.checked_mul(power)),
        // What fills the last group are zeros: other digits behind the scale are none of the type's.
        _ => 10u128
            .checked_pow(shift.unsigned_abs())
            .filter(|power| mantissa.is_multiple_of(*power))
            .map(|power| mantissa / power),
    };
    let digits = scaled
        .filter(|digits| *digits < 10u128.pow(38))
        .ok_or_else(|| format!("a compressed {kind} is out of range"))?;
    Ok(Value::Decimal {
        is_negative: first & 0x80 == 0,
        digits,
        scale,
    })
}
