//! Arithmetic and bit operators: the type of their result, and their value.
//!
//! Binding asks [`operation`] once for the types of both operands and of the result; both sides are then converted to their
//! operand type, and [`apply`] only ever sees values of these.

use engine::error::Result;
use engine::types::{Bytes, Decimal, HeldForm, Joined, Length, POWERS_OF_TEN, SqlType, Text, Value, string_room};

use super::convert::Units;
use super::data_type::{byte_length, common_type, decimal_type, exact_digits, precedence, string_type};
use super::moment::{DATETIME_DAYS, Moment};
use super::served::served;
use super::wide::Wide;
use crate::ast::BinaryOperator;
use crate::messages::{self, expression_overflow};

/// The types of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What the left operand is converted to.
    pub left: SqlType,
    /// What the right operand is converted to.
    pub right: SqlType,
    pub result: SqlType,
}

impl Operation {
    fn uniform(sql_type: SqlType) -> Operation {
        Operation {
            left: sql_type,
            right: sql_type,
            result: sql_type,
        }
    }
}

/// The verb that errors call an operator by.
pub fn operator_name(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "add",
        BinaryOperator::Subtract => "subtract",
        BinaryOperator::Multiply => "multiply",
        BinaryOperator::Divide => "divide",
        BinaryOperator::Modulo => "modulo",
        BinaryOperator::BitAnd => "'&'",
        BinaryOperator::BitOr => "'|'",
        BinaryOperator::BitXor => "'^'",
    }
}

/// The types of `left operator right`.
///
/// # Errors
/// 206, 402, 8117 for types the operator does not take.
pub fn operation(operator: BinaryOperator, left: SqlType, right: SqlType) -> Result<Operation> {
    use BinaryOperator as B;
    let name = operator_name(operator);
    match (left, right) {
        (SqlType::HierarchyId, _) | (_, SqlType::HierarchyId) => {
            return Err(messages::no_operator_for_type(name, SqlType::HierarchyId.name()));
        }
        _ if left.is_spatial() => return Err(messages::no_operator_for_type(name, left.name())),
        _ if right.is_spatial() => return Err(messages::no_operator_for_type(name, right.name())),
        (SqlType::SqlVariant, SqlType::SqlVariant) => return Err(messages::invalid_operand_type(left.name(), name)),
        (SqlType::SqlVariant, _) | (_, SqlType::SqlVariant) => {
            return Err(messages::incompatible_operands(left.name(), right.name(), name));
        }
        (SqlType::Json, SqlType::Json) | (SqlType::XML, SqlType::XML) => {
            return Err(messages::invalid_operand_type(left.name(), name));
        }
        _ if left.is_incomparable() || right.is_incomparable() => {
            return Err(messages::incompatible_operands(left.name(), right.name(), name));
        }
        _ => {}
    }
    if left.is_character() && right.is_character() {
        return match operator {
            B::Add => Ok(concatenation(left, right)),
            _ => Err(messages::invalid_operand_type(left.name(), name)),
        };
    }
    if left.is_binary() && right.is_binary() {
        return match operator {
            B::Add => Ok(binary_concatenation(left, right)),
            _ => Err(messages::incompatible_operands(left.name(), right.name(), name)),
        };
    }
    if left.is_temporal() || right.is_temporal() {
        return temporal(operator, left, right);
    }
    if left == SqlType::UniqueIdentifier || right == SqlType::UniqueIdentifier {
        return Err(messages::invalid_operand_type("uniqueidentifier", name));
    }
    // Text and binary strings take the type of the number beside them.
    let numeric = |own: SqlType, other: SqlType| if own.is_numeric() { own } else { other };
    let (left, right) = (numeric(left, right), numeric(right, left));
    let high = if precedence(left) >= precedence(right) {
        left
    } else {
        right
    };
    if matches!(operator, B::BitAnd | B::BitOr | B::BitXor) {
        return match high {
            _ if high.is_integer() || high == SqlType::Bit => Ok(Operation::uniform(high)),
            _ => Err(messages::incompatible_operands(left.name(), right.name(), name)),
        };
    }
    match high {
        SqlType::Bit => Err(messages::invalid_operand_type("bit", name)),
        SqlType::Float | SqlType::Real if operator == B::Modulo => {
            Err(messages::incompatible_operands(left.name(), right.name(), name))
        }
        SqlType::Float | SqlType::Real => Ok(Operation::uniform(high)),
        SqlType::Decimal { .. } => Ok(decimal_operation(operator, left, right)),
        _ => Ok(Operation::uniform(high)),
    }
}

fn concatenation(left: SqlType, right: SqlType) -> Operation {
    let unicode = left.is_unicode() || right.is_unicode();
    let length = match (byte_length(left), byte_length(right)) {
        (Length::Limited(left), Length::Limited(right)) => Length::Limited(left.saturating_add(right)),
        _ => Length::Max,
    };
    let result = string_type(unicode, length);
    let operand = |own: SqlType| match own {
        SqlType::Char(units) if unicode => SqlType::NChar(units.min(4000)),
        SqlType::VarChar(length) if unicode => string_type(true, length),
        other => other,
    };
    Operation {
        left: operand(left),
        right: operand(right),
        result,
    }
}

fn binary_concatenation(left: SqlType, right: SqlType) -> Operation {
    let length = match (byte_length(left), byte_length(right)) {
        (Length::Limited(left), Length::Limited(right)) => Length::Limited(left.saturating_add(right).min(8000)),
        _ => Length::Max,
    };
    Operation {
        left,
        right,
        result: SqlType::VarBinary(length),
    }
}

/// datetime and smalldatetime add and subtract as numbers of days; the newer types do not (SQL Server docs).
fn temporal(operator: BinaryOperator, left: SqlType, right: SqlType) -> Result<Operation> {
    let name = operator_name(operator);
    let old = |sql_type: SqlType| matches!(sql_type, SqlType::DateTime | SqlType::SmallDateTime);
    if !matches!(operator, BinaryOperator::Add | BinaryOperator::Subtract) {
        let offending = if left.is_temporal() { left } else { right };
        return Err(messages::invalid_operand_type(offending.name(), name));
    }
    if left.is_temporal() && !old(left) || right.is_temporal() && !old(right) {
        if left.is_numeric() || right.is_numeric() {
            return Err(messages::operand_type_clash(left.name(), right.name()));
        }
        return Err(messages::incompatible_operands(left.name(), right.name(), name));
    }
    let result = if left == SqlType::SmallDateTime && right != SqlType::DateTime && !right.is_character() {
        SqlType::SmallDateTime
    } else {
        SqlType::DateTime
    };
    Ok(Operation {
        left: SqlType::DateTime,
        right: SqlType::DateTime,
        result,
    })
}

/// Precision and scale of decimal results (SQL Server docs, "Precision, scale, and length").
fn decimal_operation(operator: BinaryOperator, left: SqlType, right: SqlType) -> Operation {
    let digits = |sql_type| exact_digits(sql_type).map_or((18, 0), |(p, s)| (u32::from(p), u32::from(s)));
    let ((p1, s1), (p2, s2)) = (digits(left), digits(right));
    let whole_max = (p1 - s1).max(p2 - s2);
    let (precision, scale) = match operator {
        BinaryOperator::Add | BinaryOperator::Subtract => {
            let scale = s1.max(s2);
            (scale + whole_max + 1, scale)
        }
        BinaryOperator::Multiply => (p1 + p2 + 1, s1 + s2),
        BinaryOperator::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            (p1 - s1 + s2 + scale, scale)
        }
        _ => {
            let scale = s1.max(s2);
            ((p1 - s1).min(p2 - s2) + scale, scale)
        }
    };
    let reduced = match operator {
        _ if precision <= 38 => scale,
        // The whole digits of the operands are kept; the one a carry may need is not counted.
        BinaryOperator::Add | BinaryOperator::Subtract => scale.min(38 - whole_max),
        // The whole digits are kept, but at least six of the fraction's.
        BinaryOperator::Multiply | BinaryOperator::Divide => {
            let whole = precision - scale;
            if whole < 32 {
                scale.min(38 - whole)
            } else {
                scale.min(6)
            }
        }
        _ => scale,
    };
    let result = SqlType::Decimal {
        precision: precision.clamp(1, 38) as u8,
        scale: reduced.min(38) as u8,
    };
    let exact = |(precision, scale): (u32, u32)| decimal_type(precision, scale);
    Operation {
        left: exact((p1, s1)),
        right: exact((p2, s2)),
        result,
    }
}

/// The value of an operation whose operands have been converted to its operand types.
///
/// # Errors
/// 8115 on overflow, 8134 for division by zero.
pub fn apply(operator: BinaryOperator, left: &Value, right: &Value, result: SqlType) -> Result<Value> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(left), Value::Int(right)) => int(operator, *left, *right),
        (Value::Float(left), Value::Float(right)) => float(operator, *left, *right).map(Value::Float),
        (Value::Real(left), Value::Real(right)) => {
            let wide = float(operator, f64::from(*left), f64::from(*right))?;
            if (wide as f32).is_finite() {
                Ok(Value::Real(wide as f32))
            } else {
                Err(expression_overflow(result))
            }
        }
        (Value::Decimal(left), Value::Decimal(right)) => decimal(operator, *left, *right, result),
        (Value::Money(left), Value::Money(right)) => money(operator, *left, *right, result).map(Value::Money),
        (Value::SmallMoney(left), Value::SmallMoney(right)) => {
            let wide = money(operator, i64::from(*left), i64::from(*right), result)?;
            i32::try_from(wide)
                .map(Value::SmallMoney)
                .map_err(|_| expression_overflow(result))
        }
        (Value::Text(left), Value::Text(right)) => concatenate(left, right, result),
        (Value::Binary(left), Value::Binary(right)) => {
            let charge = string_room(left.len() + right.len())?;
            let joined = [&left[..], &right[..]].concat();
            Ok(Value::Binary(Bytes::charged(joined, charge)))
        }
        (Value::DateTime { .. }, Value::DateTime { .. }) => datetime(operator, left, right, result),
        _ => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => whole(operator, i128::from(left), i128::from(right), result),
            _ => Err(messages::invalid_operand_type(result.name(), operator_name(operator))),
        },
    }
}

/// `left + right` of strings of a `max` type, either of which may be held; so may the result.
///
/// # Errors
/// Those of [`apply`]; 701 when there is no memory for what has to be read.
pub fn append(left: &Value, right: &Value, result: SqlType) -> Result<Value> {
    let collation = [left, right].into_iter().find_map(|value| match value {
        Value::Held(held) => Some(held.collation()),
        _ => None,
    });
    let Some(collation) = collation.filter(|_| !left.is_null() && !right.is_null()) else {
        return apply(BinaryOperator::Add, left, right, result);
    };
    let collation = match (left, right) {
        (Value::Text(text), _) | (_, Value::Text(text)) => text.collation(),
        _ => collation,
    };
    let form = HeldForm::of(result, collation);
    let is_one_form = |value: &Value| !matches!(value, Value::Held(held) if Some(held.form()) != form);
    let Some(form) = form.filter(|_| is_one_form(left) && is_one_form(right)) else {
        return apply(
            BinaryOperator::Add,
            &left.clone().whole()?,
            &right.clone().whole()?,
            result,
        );
    };
    let mut joined = Joined::default();
    joined.push(left, form, 0, u64::MAX)?;
    joined.push(right, form, 0, u64::MAX)?;
    joined.value(form, collation)
}

/// The common case on its own, without going through wider numbers.
fn int(operator: BinaryOperator, left: i32, right: i32) -> Result<Value> {
    let result = match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        _ => return whole(operator, i128::from(left), i128::from(right), SqlType::Int),
    };
    result.map(Value::Int).ok_or_else(|| expression_overflow(SqlType::Int))
}

fn whole(operator: BinaryOperator, left: i128, right: i128, result: SqlType) -> Result<Value> {
    let number = match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide | BinaryOperator::Modulo if right == 0 => return Err(messages::divide_by_zero()),
        BinaryOperator::Divide => left / right,
        BinaryOperator::Modulo => left % right,
        BinaryOperator::BitAnd => left & right,
        BinaryOperator::BitOr => left | right,
        BinaryOperator::BitXor => left ^ right,
    };
    super::convert::integer(number, result).ok_or_else(|| expression_overflow(result))
}

fn float(operator: BinaryOperator, left: f64, right: f64) -> Result<f64> {
    let number = match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        _ if right == 0.0 => return Err(messages::divide_by_zero()),
        _ => left / right,
    };
    if number.is_finite() {
        Ok(number)
    } else {
        Err(expression_overflow(SqlType::Float))
    }
}

fn money(operator: BinaryOperator, left: i64, right: i64, result: SqlType) -> Result<i64> {
    let (left, right) = (i128::from(left), i128::from(right));
    let number = match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => {
            let product = left * right;
            (product + 5_000 * product.signum()) / 10_000
        }
        _ if right == 0 => return Err(messages::divide_by_zero()),
        BinaryOperator::Modulo => left % right,
        _ => left * 10_000 / right,
    };
    i64::try_from(number).map_err(|_| expression_overflow(result))
}

fn decimal(operator: BinaryOperator, left: Decimal, right: Decimal, result: SqlType) -> Result<Value> {
    let overflow = || messages::overflow_converting("expression", "numeric");
    let SqlType::Decimal { precision, scale } = result else {
        return Err(overflow());
    };
    if operator == BinaryOperator::Divide {
        return divide(left, right, precision, scale);
    }
    if let Some(number) = short_decimal(operator, left, right, (precision, scale)) {
        return Ok(Value::Decimal(number));
    }
    let (left_coefficient, right_coefficient) = (left.coefficient(), right.coefficient());
    let scale_max = left.scale.max(right.scale);
    let in_scale = |number: Decimal| number.rescaled(38, scale_max).map(Decimal::coefficient);
    // Nearly all results have fewer than 38 digits before they are rounded; the others take the long way.
    let narrow = match operator {
        BinaryOperator::Modulo if right_coefficient == 0 => return Err(messages::divide_by_zero()),
        BinaryOperator::Multiply if left.scale + right.scale <= 38 => left_coefficient
            .checked_mul(right_coefficient)
            .map(|product| Decimal::new(product, 38, left.scale + right.scale)),
        BinaryOperator::Multiply => None,
        _ => in_scale(left).zip(in_scale(right)).and_then(|(left, right)| {
            let number = match operator {
                BinaryOperator::Add => left.checked_add(right),
                BinaryOperator::Subtract => left.checked_sub(right),
                _ => left.checked_rem(right),
            };
            number.map(|number| Decimal::new(number, 38, scale_max))
        }),
    };
    let coefficient = match narrow {
        Some(exact) => {
            require_digits(|| exact.keeps_digits(scale))?;
            exact.rescaled(precision, scale).map(Decimal::coefficient)
        }
        None => wide_decimal(operator, left, right, scale)?.filter(|&number| Decimal::fits(number, precision)),
    };
    coefficient
        .map(|coefficient| Value::Decimal(Decimal::new(coefficient, precision, scale)))
        .ok_or_else(overflow)
}

/// The common case on its own: numbers of 64 bits whose result is exact at its scale; `None` for all others.
fn short_decimal(
    operator: BinaryOperator,
    left: Decimal,
    right: Decimal,
    (precision, scale): (u8, u8),
) -> Option<Decimal> {
    let short = |number: Decimal| i64::try_from(number.coefficient()).ok().map(i128::from);
    let (left_short, right_short) = (short(left)?, short(right)?);
    // 63 bits times 10^18, which has 60, stay within 127; and so does the sum of two such.
    let at_scale = |number: i128, own: u8| match scale.checked_sub(own)? {
        0 => Some(number),
        digits @ 1..=18 => Some(number * POWERS_OF_TEN.get(usize::from(digits))?),
        _ => None,
    };
    let exact = match operator {
        BinaryOperator::Multiply if left.scale + right.scale == scale => left_short * right_short,
        BinaryOperator::Add => at_scale(left_short, left.scale)? + at_scale(right_short, right.scale)?,
        BinaryOperator::Subtract => at_scale(left_short, left.scale)? - at_scale(right_short, right.scale)?,
        _ => return None,
    };
    Decimal::fits(exact, precision).then(|| Decimal::new(exact, precision, scale))
}

/// 8115 where NUMERIC_ROUNDABORT is on and a result loses digits.
pub(super) fn require_digits(are_kept: impl FnOnce() -> bool) -> Result<()> {
    match served().keeps_digits && !are_kept() {
        true => Err(messages::digits_lost()),
        false => Ok(()),
    }
}

/// The exact result: its magnitude, whether it is negative, its scale. `None` beyond 256 bits.
fn exact(operator: BinaryOperator, left: Decimal, right: Decimal) -> Option<(Wide, bool, u8)> {
    let (magnitude, other) = (left.coefficient().unsigned_abs(), right.coefficient().unsigned_abs());
    let (negative, other_negative) = (left.coefficient() < 0, right.coefficient() < 0);
    if operator == BinaryOperator::Multiply {
        let product = Wide::product(magnitude, other);
        return Some((product, negative != other_negative, left.scale + right.scale));
    }
    let scale_max = left.scale.max(right.scale);
    let in_scale = |magnitude: u128, own: u8| {
        let power = POWERS_OF_TEN.get(usize::from(scale_max - own))?;
        Some(Wide::product(magnitude, power.unsigned_abs()))
    };
    let (left, right) = (in_scale(magnitude, left.scale)?, in_scale(other, right.scale)?);
    let other_negative = other_negative != (operator == BinaryOperator::Subtract);
    let (exact, negative) = match operator {
        BinaryOperator::Modulo => (left.remainder(right), negative),
        _ if negative == other_negative => (left.plus(right), negative),
        _ if left >= right => (left.minus(right), negative),
        _ => (right.minus(left), other_negative),
    };
    Some((exact, negative, scale_max))
}

/// The result's coefficient at a scale, rounded once from all digits of the exact result; `None` beyond 128 bits.
///
/// # Errors
/// 8115 where NUMERIC_ROUNDABORT is on and rounding would lose digits.
fn wide_decimal(operator: BinaryOperator, left: Decimal, right: Decimal, scale: u8) -> Result<Option<i128>> {
    let Some((exact, negative, exact_scale)) = exact(operator, left, right) else {
        return Ok(None);
    };
    let lost = exact_scale.saturating_sub(scale);
    require_digits(|| {
        let power = |digits: u8| {
            POWERS_OF_TEN
                .get(usize::from(digits))
                .map_or(1, |power| power.unsigned_abs())
        };
        let unit = Wide::product(power(lost.min(38)), power(lost.saturating_sub(38)));
        exact.remainder(unit) == Wide::ZERO
    })?;
    Ok(exact.without_digits(u32::from(lost)).signed(negative))
}

/// Long division, digit by digit behind the point, cut (not rounded) at the result's scale as SQL Server does.
fn divide(left: Decimal, right: Decimal, precision: u8, scale: u8) -> Result<Value> {
    let overflow = || messages::overflow_converting("expression", "numeric");
    let divisor = right.coefficient();
    if divisor == 0 {
        return Err(messages::divide_by_zero());
    }
    let negative = (left.coefficient() < 0) != (divisor < 0);
    let divisor = divisor.unsigned_abs();
    let dividend = left.coefficient().unsigned_abs();
    let (mut quotient, mut remainder) = (dividend / divisor, dividend % divisor);
    let mut digits = i32::from(left.scale) - i32::from(right.scale);
    while digits < i32::from(scale) {
        // Ten times the remainder may need more than 128 bits; added up and reduced, it never does.
        let (mut digit, mut sum) = (0, 0);
        for _ in 0..10 {
            sum += remainder;
            if sum >= divisor {
                sum -= divisor;
                digit += 1;
            }
        }
        let tens = quotient.checked_mul(10).ok_or_else(overflow)?;
        quotient = tens.checked_add(digit).ok_or_else(overflow)?;
        remainder = sum;
        digits += 1;
    }
    let excess = usize::try_from(digits - i32::from(scale)).unwrap_or(0);
    let power = POWERS_OF_TEN.get(excess).copied().unwrap_or(1).unsigned_abs();
    require_digits(|| remainder == 0 && quotient % power == 0)?;
    let quotient = i128::try_from(quotient / power).map_err(|_| overflow())?;
    let quotient = if negative { -quotient } else { quotient };
    if Decimal::fits(quotient, precision) {
        Ok(Value::Decimal(Decimal::new(quotient, precision, scale)))
    } else {
        Err(overflow())
    }
}

/// Joins two strings, cut to what the result's type holds.
fn concatenate(left: &Text, right: &Text, result: SqlType) -> Result<Value> {
    let charge = string_room(left.len() + right.len())?;
    let mut text = String::with_capacity(left.len() + right.len());
    text.push_str(left);
    text.push_str(right);
    let limit = byte_length(result).units_max();
    let kept = Units::of(result, left.collation()).cut(&text, limit).len();
    text.truncate(kept);
    Ok(Value::Text(Text::charged(text, charge).collated(left.collation())))
}

fn datetime(operator: BinaryOperator, left: &Value, right: &Value, result: SqlType) -> Result<Value> {
    let overflow = || messages::overflow_converting("expression", result.name());
    let ticks = |value: &Value| match *value {
        Value::DateTime { days, ticks } => i64::from(days) * 25_920_000 + i64::from(ticks),
        _ => 0,
    };
    let total = match operator {
        BinaryOperator::Add => ticks(left) + ticks(right),
        _ => ticks(left) - ticks(right),
    };
    let days = i32::try_from(total.div_euclid(25_920_000)).map_err(|_| overflow())?;
    let value = Value::DateTime {
        days,
        ticks: total.rem_euclid(25_920_000) as u32,
    };
    if result == SqlType::DateTime {
        return if DATETIME_DAYS.contains(&days) {
            Ok(value)
        } else {
            Err(overflow())
        };
    }
    Moment::from_value(&value)
        .filter(|moment| (0..=engine::types::calendar::DAY_MAX).contains(&moment.days))
        .and_then(|moment| moment.to_value(result))
        .ok_or_else(overflow)
}

/// `-value`.
///
/// # Errors
/// 8115 for the smallest number of a type, 8117 for anything but a number.
pub fn negate(value: &Value, sql_type: SqlType) -> Result<Value> {
    let overflow = || expression_overflow(sql_type);
    Ok(match value {
        Value::Null => Value::Null,
        Value::Decimal(number) => Value::Decimal(Decimal::new(-number.coefficient(), number.precision, number.scale)),
        Value::Money(number) => Value::Money(number.checked_neg().ok_or_else(overflow)?),
        Value::SmallMoney(number) => Value::SmallMoney(number.checked_neg().ok_or_else(overflow)?),
        Value::Real(number) => Value::Real(-number),
        Value::Float(number) => Value::Float(-number),
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => {
            let number = i128::from(value.as_i64().unwrap_or(0));
            super::convert::integer(-number, sql_type).ok_or_else(overflow)?
        }
        _ => return Err(messages::invalid_operand_type(sql_type.name(), "minus")),
    })
}

/// `~value`.
///
/// # Errors
/// 8117 for anything but a whole number.
pub fn bit_not(value: &Value) -> Result<Value> {
    Ok(match value {
        Value::Null => Value::Null,
        Value::Bit(bit) => Value::Bit(!bit),
        Value::TinyInt(number) => Value::TinyInt(!number),
        Value::SmallInt(number) => Value::SmallInt(!number),
        Value::Int(number) => Value::Int(!number),
        Value::BigInt(number) => Value::BigInt(!number),
        _ => return Err(messages::invalid_operand_type("numeric", "'~'")),
    })
}

/// The type two operands of a comparison are converted to.
///
/// # Errors
/// 206, 402 for types that do not compare.
pub fn comparison_type(left: SqlType, right: SqlType, operator: &str) -> Result<SqlType> {
    if (left, right) == (SqlType::Json, SqlType::Json) {
        return Err(messages::json_not_comparable());
    }
    if (left, right) == (SqlType::XML, SqlType::XML) {
        return Err(messages::xml_not_comparable());
    }
    if left.is_spatial() || right.is_spatial() {
        let (spatial, other) = if left.is_spatial() {
            (left, right)
        } else {
            (right, left)
        };
        super::data_type::check_conversion(other, spatial, false)?;
        return Err(messages::no_operator_for_type(operator, spatial.name()));
    }
    if left.is_incomparable() || right.is_incomparable() {
        return Err(messages::incompatible_operands(left.name(), right.name(), operator));
    }
    let target = common_type(left, right);
    for own in [left, right] {
        if super::data_type::check_conversion(own, target, false).is_err() {
            let is_clr = [left, right].contains(&SqlType::HierarchyId);
            if is_clr || left.is_numeric() && right.is_temporal() || left.is_temporal() && right.is_numeric() {
                return Err(messages::operand_type_clash(left.name(), right.name()));
            }
            return Err(messages::incompatible_operands(left.name(), right.name(), operator));
        }
    }
    // Padding does not count in a comparison, so strings meet in a variable type and need no copy.
    Ok(if target.is_character() {
        string_type(target.is_unicode(), Length::Max)
    } else {
        target
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::scalar::convert::convert;
    use BinaryOperator as B;

    fn run(operator: B, left: (&Value, SqlType), right: (&Value, SqlType)) -> Result<(Value, SqlType)> {
        let types = operation(operator, left.1, right.1)?;
        let left = convert(left.0, left.1, types.left, None)?;
        let right = convert(right.0, right.1, types.right, None)?;
        Ok((apply(operator, &left, &right, types.result)?, types.result))
    }

    fn decimal(coefficient: i128, precision: u8, scale: u8) -> (Value, SqlType) {
        (
            Value::Decimal(Decimal::new(coefficient, precision, scale)),
            SqlType::Decimal { precision, scale },
        )
    }

    #[test]
    fn short_decimals_are_what_the_long_way_makes_of_them() {
        let numbers = [
            0,
            1,
            -1,
            99,
            -12_345,
            i128::from(i64::MAX),
            i128::from(i64::MIN),
            1 << 63,
        ];
        for (operator, scale) in [(B::Add, 4), (B::Subtract, 4), (B::Multiply, 6)] {
            for (left, right) in numbers.iter().flat_map(|left| numbers.map(|right| (*left, right))) {
                let (left, right) = (Decimal::new(left, 38, 2), Decimal::new(right, 38, 4));
                let long = wide_decimal(operator, left, right, scale)
                    .unwrap()
                    .filter(|&number| Decimal::fits(number, 38));
                if let Some(short) = short_decimal(operator, left, right, (38, scale)) {
                    assert_eq!(Some(short.coefficient()), long, "{left:?} {operator:?} {right:?}");
                }
            }
        }
        let one = Decimal::new(1, 15, 2);
        let sum = short_decimal(B::Add, one, Decimal::new(9, 1, 0), (16, 2));
        assert_eq!(sum, Some(Decimal::new(901, 16, 2)));
        assert_eq!(short_decimal(B::Add, one, Decimal::new(99, 4, 2), (2, 2)), None);
    }

    #[test]
    fn decimals_have_sql_servers_precision_and_scale() {
        let cases = [
            (B::Add, decimal(150, 5, 2), decimal(1, 3, 1), "1.60", (6, 2)),
            (B::Multiply, decimal(150, 5, 2), decimal(15, 3, 1), "2.250", (9, 3)),
            (B::Divide, decimal(10, 2, 0), decimal(3, 1, 0), "3.333333", (8, 6)),
            (B::Modulo, decimal(10, 2, 0), decimal(3, 1, 0), "1", (1, 0)),
            (B::Divide, decimal(1, 38, 0), decimal(3, 38, 0), "0.333333", (38, 6)),
            (
                B::Divide,
                decimal(10_000_000_000, 38, 10),
                decimal(3, 10, 2),
                "33.33333333",
                (38, 8),
            ),
        ];
        for (operator, left, right, text, (precision, scale)) in cases {
            let (value, sql_type) = run(operator, (&left.0, left.1), (&right.0, right.1)).unwrap();
            assert_eq!(sql_type, SqlType::Decimal { precision, scale }, "{operator:?}");
            let Value::Decimal(number) = value else {
                panic!("no decimal")
            };
            assert_eq!(number.to_string(), text, "{operator:?}");
        }
    }

    #[test]
    fn results_take_the_higher_type() {
        let int = |number| (Value::Int(number), SqlType::Int);
        let cases = [
            (B::Divide, int(7), int(2), Value::Int(3), SqlType::Int),
            (B::Modulo, int(-7), int(2), Value::Int(-1), SqlType::Int),
            (
                B::Add,
                int(1),
                (Value::BigInt(2), SqlType::BigInt),
                Value::BigInt(3),
                SqlType::BigInt,
            ),
            (
                B::Add,
                int(1),
                ("2".into(), SqlType::VarChar(Length::Limited(1))),
                Value::Int(3),
                SqlType::Int,
            ),
            (
                B::Multiply,
                int(2),
                (Value::Float(1.5), SqlType::Float),
                Value::Float(3.0),
                SqlType::Float,
            ),
            (
                B::Divide,
                (Value::Money(10_000), SqlType::Money),
                int(3),
                Value::Money(3_333),
                SqlType::Money,
            ),
            (
                B::Add,
                (Value::DateTime { days: 1, ticks: 5 }, SqlType::DateTime),
                int(30),
                Value::DateTime { days: 31, ticks: 5 },
                SqlType::DateTime,
            ),
            (B::BitXor, int(6), int(3), Value::Int(5), SqlType::Int),
            (B::Add, int(1), (Value::Null, SqlType::Int), Value::Null, SqlType::Int),
        ];
        for (operator, left, right, value, sql_type) in cases {
            let found = run(operator, (&left.0, left.1), (&right.0, right.1)).unwrap();
            assert_eq!(found, (value, sql_type), "{left:?} {operator:?} {right:?}");
        }
        let joined = run(
            B::Add,
            (&"a".into(), SqlType::Char(1)),
            (&"b".into(), SqlType::NVarChar(Length::Limited(5))),
        )
        .unwrap();
        assert_eq!(joined, ("ab".into(), SqlType::NVarChar(Length::Limited(6))));
    }

    #[test]
    fn failures_have_sql_servers_numbers() {
        let (one, zero) = ((&Value::Int(1), SqlType::Int), (&Value::Int(0), SqlType::Int));
        let cases = [
            (B::Divide, one, zero, 8134),
            (B::Modulo, one, zero, 8134),
            (B::Add, (&Value::Int(i32::MAX), SqlType::Int), one, 8115),
            (B::Divide, (&Value::Float(1.0), SqlType::Float), zero, 8134),
            (B::Add, (&Value::Date(1), SqlType::Date), one, 206),
            (
                B::Multiply,
                (&Value::DateTime { days: 0, ticks: 0 }, SqlType::DateTime),
                one,
                8117,
            ),
            (
                B::Subtract,
                (&Value::from("a"), SqlType::Char(1)),
                (&Value::from("b"), SqlType::Char(1)),
                8117,
            ),
            (B::Add, (&Value::from("a"), SqlType::Char(1)), one, 245),
            (
                B::Add,
                (&Value::TinyInt(255), SqlType::TinyInt),
                (&Value::TinyInt(1), SqlType::TinyInt),
                8115,
            ),
        ];
        for (operator, left, right, number) in cases {
            assert_eq!(
                run(operator, left, right).unwrap_err().number,
                number,
                "{left:?} {operator:?} {right:?}"
            );
        }
    }
}
