//! Mathematical functions.

use engine::error::{Error, Result};
use engine::types::{Decimal, Length, POWERS_OF_TEN, SqlType, Value};

use super::Answer::{Computed, Fixed};
use super::Parameter::{Any, Float, Int, Number};
use super::{Call, Signature, signature};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::convert::{as_float, convert};

const FLOAT: super::Answer = Fixed(SqlType::Float);

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("abs", 1, &[Number], Computed(widened), abs).told("number: without its sign"),
    signature("acos", 1, &[Float], FLOAT, acos).told("number: arc cosine"),
    signature("asin", 1, &[Float], FLOAT, asin).told("number: arc sine"),
    signature("atan", 1, &[Float], FLOAT, atan).told("number: arc tangent"),
    signature("atn2", 2, &[Float, Float], FLOAT, atn2).told("y, x: angle of a point"),
    signature("ceiling", 1, &[Number], Computed(whole), ceiling).told("number: least whole number that is not less"),
    signature("cos", 1, &[Float], FLOAT, cos).told("angle: cosine"),
    signature("cot", 1, &[Float], FLOAT, cot).told("angle: cotangent"),
    signature("degrees", 1, &[Number], Computed(angle), degrees).told("angle: radians as degrees"),
    signature("exp", 1, &[Float], FLOAT, exp).told("number: e to the power of the number"),
    signature("floor", 1, &[Number], Computed(whole), floor).told("number: greatest whole number that is not greater"),
    signature("log", 1, &[Float, Float], FLOAT, log).told("number, base: logarithm, natural without a base"),
    signature("log10", 1, &[Float], FLOAT, log10).told("number: logarithm to base 10"),
    signature("pi", 0, &[], FLOAT, pi).told(": 3.14159265358979"),
    signature("power", 2, &[Number, Float], Computed(powered), power).told("number, exponent: a power"),
    signature("radians", 1, &[Number], Computed(angle), radians).told("angle: degrees as radians"),
    signature("rand", 0, &[Int], FLOAT, rand).told("seed: a number from 0 to 1, the same within a statement"),
    signature("round", 2, &[Number, Int, Int], Computed(widened), round)
        .told("number, digits, cut: rounded half away from zero, or cut off"),
    signature("sign", 1, &[Number], Computed(widened), sign).told("number: -1, 0 or 1"),
    signature("sin", 1, &[Float], FLOAT, sin).told("angle: sine"),
    signature("sqrt", 1, &[Float], FLOAT, sqrt).told("number: square root"),
    signature("square", 1, &[Float], FLOAT, square).told("number: the number times itself"),
    signature("tan", 1, &[Float], FLOAT, tan).told("angle: tangent"),
    signature("bit_count", 1, &[Any], Computed(bits_counted), bit_count)
        .told("value: bits that are 1 in a whole number or binary string"),
    signature("get_bit", 2, &[Any, Any], Computed(bit_got), get_bit)
        .told("value, place: a bit of a whole number or binary string; 0 is the least significant"),
    signature("set_bit", 2, &[Any, Any, Any], Computed(bit_set), set_bit)
        .told("value, place, bit: the value with a bit set to 1, or to the bit"),
    signature("left_shift", 2, &[Any, Any], Computed(shifted_left), left_shift)
        .told("value, amount: bits of a whole number or binary string shifted to the left, with 0 behind them"),
    signature("right_shift", 2, &[Any, Any], Computed(shifted_right), right_shift)
        .told("value, amount: bits shifted to the right, with 0 before them; the sign is shifted like any other bit"),
];

/// Small whole numbers become int, smallmoney money, real float (SQL Server docs, "ROUND").
fn widened(arguments: &[Expr]) -> Result<SqlType> {
    Ok(
        match arguments.first().map_or(SqlType::Float, |argument| argument.sql_type) {
            SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt => SqlType::Int,
            SqlType::SmallMoney => SqlType::Money,
            SqlType::Real => SqlType::Float,
            other => other,
        },
    )
}

/// As [`widened`]; decimals lose their fraction.
fn whole(arguments: &[Expr]) -> Result<SqlType> {
    Ok(match widened(arguments)? {
        SqlType::Decimal { precision, .. } => SqlType::Decimal { precision, scale: 0 },
        other => other,
    })
}

/// DEGREES and RADIANS answer in the type of their argument (sql-docs: "Returns a value whose data type matches the data type
/// of the input argument"), so that RADIANS(1) is 0; exact numbers get 18 digits behind the point.
fn angle(arguments: &[Expr]) -> Result<SqlType> {
    Ok(match widened(arguments)? {
        SqlType::Decimal { .. } => SqlType::Decimal {
            precision: 38,
            scale: 18,
        },
        other => other,
    })
}

fn on_angle(call: &Call<'_>, compute: impl FnOnce(f64) -> f64) -> Result<Value> {
    let Some(number) = as_float(call.value(0)) else {
        return Ok(Value::Null);
    };
    convert(&finite(compute(number))?, SqlType::Float, call.result, None)
        .map_err(|_| messages::expression_overflow(call.result))
}

fn powered(arguments: &[Expr]) -> Result<SqlType> {
    Ok(match widened(arguments)? {
        SqlType::Decimal { scale, .. } => SqlType::Decimal { precision: 38, scale },
        other => other,
    })
}

/// A floating point function: NULL in, NULL out; a domain error if the result is not a number.
fn on_float(call: &Call<'_>, compute: impl FnOnce(f64) -> f64) -> Result<Value> {
    let Value::Float(number) = *call.value(0) else {
        return Ok(Value::Null);
    };
    finite(compute(number))
}

fn finite(number: f64) -> Result<Value> {
    if number.is_nan() {
        return Err(Error::new(3623, 16, 1, "An invalid floating point operation occurred."));
    }
    if number.is_infinite() {
        return Err(messages::overflow_converting("expression", "float"));
    }
    Ok(Value::Float(number))
}

fn acos(call: &Call<'_>) -> Result<Value> {
    on_float(call, f64::acos)
}
fn asin(call: &Call<'_>) -> Result<Value> {
    on_float(call, f64::asin)
}
fn atan(call: &Call<'_>) -> Result<Value> {
    on_float(call, f64::atan)
}
fn cos(call: &Call<'_>) -> Result<Value> {
    on_float(call, f64::cos)
}
fn cot(call: &Call<'_>) -> Result<Value> {
    on_float(call, |number| 1.0 / number.tan())
}
fn degrees(call: &Call<'_>) -> Result<Value> {
    on_angle(call, f64::to_degrees)
}
fn exp(call: &Call<'_>) -> Result<Value> {
    on_float(call, f64::exp)
}
fn radians(call: &Call<'_>) -> Result<Value> {
    on_angle(call, f64::to_radians)
}
fn sin(call: &Call<'_>) -> Result<Value> {
    on_float(call, f64::sin)
}
fn square(call: &Call<'_>) -> Result<Value> {
    on_float(call, |number| number * number)
}
fn tan(call: &Call<'_>) -> Result<Value> {
    on_float(call, f64::tan)
}
fn sqrt(call: &Call<'_>) -> Result<Value> {
    on_float(call, f64::sqrt)
}

fn log10(call: &Call<'_>) -> Result<Value> {
    on_float(call, |number| if number > 0.0 { number.log10() } else { f64::NAN })
}

fn atn2(call: &Call<'_>) -> Result<Value> {
    match (call.value(0), call.value(1)) {
        (Value::Float(y), Value::Float(x)) => finite(y.atan2(*x)),
        _ => Ok(Value::Null),
    }
}

fn log(call: &Call<'_>) -> Result<Value> {
    let base = match (call.values.len(), call.value(1)) {
        (1, _) => None,
        (_, Value::Float(base)) => Some(*base),
        _ => return Ok(Value::Null),
    };
    on_float(call, |number| match (number > 0.0, base) {
        (false, _) => f64::NAN,
        (true, None) => number.ln(),
        (true, Some(base)) => number.ln() / base.ln(),
    })
}

fn pi(_call: &Call<'_>) -> Result<Value> {
    Ok(Value::Float(std::f64::consts::PI))
}

/// `RAND(seed)`; binding adds the place of a call without seed as a bigint.
fn rand(call: &Call<'_>) -> Result<Value> {
    let random = &call.context.session.random;
    Ok(Value::Float(match (call.values.first(), call.argument_type(0)) {
        (None, _) => random.next(None),
        (Some(place), SqlType::BigInt) => random.next(place.as_i64()),
        (Some(seed), _) => random.seeded(seed.as_i64().and_then(|seed| i32::try_from(seed).ok()).unwrap_or(0)),
    }))
}

/// The argument in the result's type.
fn widened_argument(call: &Call<'_>) -> Result<Value> {
    let own = call.argument_type(0);
    if matches!(call.result, SqlType::Decimal { .. }) {
        return Ok(call.value(0).clone());
    }
    convert(call.value(0), own, call.result, None)
}

fn abs(call: &Call<'_>) -> Result<Value> {
    let overflow = || messages::expression_overflow(call.result);
    Ok(match widened_argument(call)? {
        Value::Int(number) => Value::Int(number.checked_abs().ok_or_else(overflow)?),
        Value::BigInt(number) => Value::BigInt(number.checked_abs().ok_or_else(overflow)?),
        Value::Money(number) => Value::Money(number.checked_abs().ok_or_else(overflow)?),
        Value::Decimal(number) => {
            Value::Decimal(Decimal::new(number.coefficient().abs(), number.precision, number.scale))
        }
        Value::Float(number) => Value::Float(number.abs()),
        other => other,
    })
}

fn sign(call: &Call<'_>) -> Result<Value> {
    Ok(match widened_argument(call)? {
        Value::Int(number) => Value::Int(number.signum()),
        Value::BigInt(number) => Value::BigInt(number.signum()),
        Value::Money(number) => Value::Money(number.signum() * 10_000),
        // f64::signum has no zero.
        Value::Float(0.0) => Value::Float(0.0),
        Value::Float(number) => Value::Float(number.signum()),
        Value::Decimal(number) => {
            let sign = number.coefficient().signum() * POWERS_OF_TEN[usize::from(number.scale)];
            if !Decimal::fits(sign, number.precision) {
                // decimal(38, 38) has no digit before the point.
                return Err(messages::overflow_converting("numeric", "numeric"));
            }
            Value::Decimal(Decimal::new(sign, number.precision, number.scale))
        }
        other => other,
    })
}

/// CEILING and FLOOR: `up` moves a remainder away from zero in the positive direction.
fn to_whole(call: &Call<'_>, up: bool) -> Result<Value> {
    let step = |quotient: i128, remainder: i128| match (up, remainder.signum()) {
        (true, 1) => quotient + 1,
        (false, -1) => quotient - 1,
        _ => quotient,
    };
    Ok(match widened_argument(call)? {
        Value::Float(number) => Value::Float(if up { number.ceil() } else { number.floor() }),
        Value::Money(number) => {
            let number = i128::from(number);
            let whole = step(number / 10_000, number % 10_000) * 10_000;
            Value::Money(i64::try_from(whole).map_err(|_| messages::expression_overflow(call.result))?)
        }
        Value::Decimal(number) => {
            let unit = POWERS_OF_TEN[usize::from(number.scale.min(38))];
            let whole = step(number.coefficient() / unit, number.coefficient() % unit);
            Value::Decimal(Decimal::new(whole, number.precision, 0))
        }
        other => other,
    })
}

fn ceiling(call: &Call<'_>) -> Result<Value> {
    to_whole(call, true)
}

fn floor(call: &Call<'_>) -> Result<Value> {
    to_whole(call, false)
}

fn power(call: &Call<'_>) -> Result<Value> {
    let Value::Float(exponent) = *call.value(1) else {
        return Ok(Value::Null);
    };
    let Some(base) = as_float(call.value(0)) else {
        return Ok(Value::Null);
    };
    let number = finite(base.powf(exponent))?;
    convert(&number, SqlType::Float, call.result, None).map_err(|_| messages::expression_overflow(call.result))
}

/// `ROUND(number, digits, cut)`: half away from zero, or cut when the third argument is not 0.
fn round(call: &Call<'_>) -> Result<Value> {
    if call.any_null() {
        return Ok(Value::Null);
    }
    let digits = call.integer(1).unwrap_or(0).clamp(-40, 40) as i32;
    let cut = call.integer(2).unwrap_or(0) != 0;
    let overflow = || messages::expression_overflow(call.result);
    Ok(match widened_argument(call)? {
        Value::Float(number) => {
            let factor = 10f64.powi(digits);
            let scaled = number * factor;
            let rounded = if cut { scaled.trunc() } else { scaled.round() };
            Value::Float(if scaled.is_finite() { rounded / factor } else { number })
        }
        Value::Decimal(number) => {
            let rounded = round_exact(number.coefficient(), i32::from(number.scale) - digits, cut);
            if !Decimal::fits(rounded, number.precision) {
                return Err(overflow());
            }
            Value::Decimal(Decimal::new(rounded, number.precision, number.scale))
        }
        Value::Money(number) => {
            Value::Money(i64::try_from(round_exact(i128::from(number), 4 - digits, cut)).map_err(|_| overflow())?)
        }
        Value::Int(number) => {
            Value::Int(i32::try_from(round_exact(i128::from(number), -digits, cut)).map_err(|_| overflow())?)
        }
        Value::BigInt(number) => {
            Value::BigInt(i64::try_from(round_exact(i128::from(number), -digits, cut)).map_err(|_| overflow())?)
        }
        other => other,
    })
}

/// Makes the last `places` digits zero.
fn round_exact(number: i128, places: i32, cut: bool) -> i128 {
    let Ok(places) = usize::try_from(places) else {
        return number;
    };
    let Some(&unit) = POWERS_OF_TEN.get(places) else {
        return 0;
    };
    let (quotient, remainder) = (number / unit, number % unit);
    let up = !cut && remainder.unsigned_abs() * 2 >= unit.unsigned_abs() && unit > 1;
    (quotient + if up { number.signum() } else { 0 }) * unit
}

/// "returns the number of bits set to 1 in that parameter as a bigint type" (SQL Server docs, "BIT_COUNT").
fn bits_counted(arguments: &[Expr]) -> Result<SqlType> {
    bits_of(arguments, "bit_count").map(|_| SqlType::BigInt)
}

/// The type of the first argument, if it has bits: "any integer or binary expression that isn't a large object" (SQL Server docs,
/// "BIT_COUNT", "LEFT_SHIFT").
fn bits_of(arguments: &[Expr], function: &str) -> Result<SqlType> {
    match arguments.first().map_or(SqlType::Int, |argument| argument.sql_type) {
        limited @ (SqlType::Binary(_) | SqlType::VarBinary(Length::Limited(_))) => Ok(limited),
        integer if is_integer(integer) => Ok(integer),
        other => Err(messages::invalid_argument_type(other.name(), 1, function)),
    }
}

fn is_integer(sql_type: SqlType) -> bool {
    use SqlType::{BigInt, Bit, Int, SmallInt, TinyInt};
    matches!(sql_type, Bit | TinyInt | SmallInt | Int | BigInt)
}

/// Without a cast: -1 has 16 bits as a smallint and 32 as an int.
fn bit_count(call: &Call<'_>) -> Result<Value> {
    let bits = match call.value(0) {
        Value::Null => return Ok(Value::Null),
        Value::SmallInt(number) => number.count_ones(),
        Value::Int(number) => number.count_ones(),
        Value::Binary(bytes) => bytes.iter().map(|byte| byte.count_ones()).sum(),
        _ => call.integer(0).unwrap_or(0).count_ones(),
    };
    Ok(Value::BigInt(i64::from(bits)))
}

/// "GET_BIT returns a value of type bit" (SQL Server docs, "GET_BIT").
fn bit_got(arguments: &[Expr]) -> Result<SqlType> {
    placed_bit(arguments, "get_bit").map(|_| SqlType::Bit)
}

/// "Returns the same type as expression_value" (SQL Server docs, "SET_BIT").
fn bit_set(arguments: &[Expr]) -> Result<SqlType> {
    placed_bit(arguments, "set_bit")
}

/// The type of the value, where all that stands behind it are whole numbers.
fn placed_bit(arguments: &[Expr], function: &str) -> Result<SqlType> {
    for (place, argument) in arguments.iter().enumerate().skip(1) {
        if !is_integer(argument.sql_type) {
            return Err(messages::invalid_argument_type(
                argument.sql_type.name(),
                place + 1,
                function,
            ));
        }
    }
    bits_of(arguments, function)
}

/// The bytes of a value with bits, the most significant first.
fn bytes_of(value: &Value) -> Vec<u8> {
    match value {
        Value::Bit(bit) => vec![u8::from(*bit)],
        Value::TinyInt(number) => number.to_be_bytes().to_vec(),
        Value::SmallInt(number) => number.to_be_bytes().to_vec(),
        Value::Int(number) => number.to_be_bytes().to_vec(),
        Value::BigInt(number) => number.to_be_bytes().to_vec(),
        Value::Binary(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    }
}

/// The place of the byte that a bit is in, and the bit alone in it.
///
/// # Errors
/// 4199 for a place that the value does not have: "bit_offset is negative or greater than the last bit in the data type" (SQL Server docs,
/// "GET_BIT").
fn bit_place(call: &Call<'_>, bytes: &[u8], function: &str) -> Result<(usize, u8)> {
    let place = call.integer(1).unwrap_or(-1);
    let bits = match call.value(0) {
        Value::Bit(_) => 1,
        _ => bytes.len() as u64 * 8,
    };
    let bit = u64::try_from(place).ok().filter(|bit| *bit < bits);
    let bit = bit.ok_or_else(|| messages::argument_value_invalid(&place.to_string(), 2, function))?;
    let from_end = usize::try_from(bit / 8).unwrap_or(0);
    Ok((bytes.len() - 1 - from_end, 1 << (bit % 8)))
}

fn get_bit(call: &Call<'_>) -> Result<Value> {
    if call.any_null() {
        return Ok(Value::Null);
    }
    let bytes = bytes_of(call.value(0));
    let (place, bit) = bit_place(call, &bytes, "get_bit")?;
    Ok(Value::Bit(bytes[place] & bit != 0))
}

fn set_bit(call: &Call<'_>) -> Result<Value> {
    if call.any_null() {
        return Ok(Value::Null);
    }
    let mut bytes = bytes_of(call.value(0));
    let (place, bit) = bit_place(call, &bytes, "set_bit")?;
    let wanted = if call.values.len() > 2 {
        call.integer(2)
    } else {
        Some(1)
    };
    match wanted {
        Some(1) => bytes[place] |= bit,
        Some(0) => bytes[place] &= !bit,
        other => {
            let shown = other.map_or_else(String::new, |number| number.to_string());
            return Err(messages::argument_value_invalid(&shown, 3, "set_bit"));
        }
    }
    let whole = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(match call.value(0) {
        Value::Bit(_) => Value::Bit(bytes[0] != 0),
        Value::TinyInt(_) => Value::TinyInt(bytes[0]),
        Value::SmallInt(_) => Value::SmallInt(whole(&bytes) as i16),
        Value::Int(_) => Value::Int(whole(&bytes) as i32),
        Value::BigInt(_) => Value::BigInt(whole(&bytes) as i64),
        _ => Value::binary(bytes),
    })
}

/// "Returns the same type as expression_value"; "shift_amount must be an integer type" (SQL Server docs, "LEFT_SHIFT").
fn shifted(arguments: &[Expr], function: &str) -> Result<SqlType> {
    match arguments.get(1).map_or(SqlType::BigInt, |amount| amount.sql_type) {
        amount if is_integer(amount) => bits_of(arguments, function),
        other => Err(messages::invalid_argument_type(other.name(), 2, function)),
    }
}

fn shifted_left(arguments: &[Expr]) -> Result<SqlType> {
    shifted(arguments, "left_shift")
}

fn shifted_right(arguments: &[Expr]) -> Result<SqlType> {
    shifted(arguments, "right_shift")
}

fn left_shift(call: &Call<'_>) -> Result<Value> {
    Ok(call
        .integer(1)
        .map_or(Value::Null, |amount| shift(call.value(0), amount)))
}

/// "LEFT_SHIFT (expr, -1) is the same as RIGHT_SHIFT (expr, 1)".
fn right_shift(call: &Call<'_>) -> Result<Value> {
    Ok(call
        .integer(1)
        .map_or(Value::Null, |amount| shift(call.value(0), amount.saturating_neg())))
}

/// The value's bits, `amount` places to the left, or to the right when it is negative. Vacant places are 0, whatever the sign was.
fn shift(value: &Value, amount: i64) -> Value {
    match value {
        Value::Bit(bit) => Value::Bit(*bit && amount == 0),
        Value::TinyInt(number) => Value::TinyInt(u8::from_be_bytes(shift_bytes(number.to_be_bytes(), amount))),
        Value::SmallInt(number) => Value::SmallInt(i16::from_be_bytes(shift_bytes(number.to_be_bytes(), amount))),
        Value::Int(number) => Value::Int(i32::from_be_bytes(shift_bytes(number.to_be_bytes(), amount))),
        Value::BigInt(number) => Value::BigInt(i64::from_be_bytes(shift_bytes(number.to_be_bytes(), amount))),
        Value::Binary(bytes) => Value::Binary(shift_bytes(bytes.to_vec(), amount).into()),
        _ => Value::Null,
    }
}

/// Shifts one string of bits, the most significant first. Each byte of the answer comes of two neighbours.
fn shift_bytes<B: AsMut<[u8]>>(mut bytes: B, amount: i64) -> B {
    let string = bytes.as_mut();
    let distance = usize::try_from(amount.unsigned_abs()).unwrap_or(usize::MAX);
    let (whole, rest) = (distance / 8, distance % 8);
    let at = |string: &[u8], index: Option<usize>| index.and_then(|index| string.get(index)).copied().unwrap_or(0);
    for index in 0..string.len() {
        if amount >= 0 {
            let from = index.checked_add(whole);
            let pair = [at(string, from), at(string, from.and_then(|from| from.checked_add(1)))];
            string[index] = (u16::from_be_bytes(pair) << rest).to_be_bytes()[0];
        } else {
            // From the end, so that what is read has not been written.
            let index = string.len() - 1 - index;
            let from = index.checked_sub(whole);
            let pair = [at(string, from.and_then(|from| from.checked_sub(1))), at(string, from)];
            string[index] = (u16::from_be_bytes(pair) >> rest).to_be_bytes()[1];
        }
    }
    bytes
}
