//! `column.WRITE(expression, offset, length)` in UPDATE: replaces part of a long value (sql-docs, UPDATE, ".WRITE").
//!
//! ```text
//! offset NULL        expression is appended
//! expression NULL    the value ends at the offset
//! length NULL        the value ends at the offset, and expression follows
//! else               expression replaces `length` units; units beyond the end do not count
//! ```
//! Units are bytes of varchar and varbinary, byte pairs of nvarchar; offsets begin at 0.

use engine::error::Result;
use engine::types::{Collation, HeldForm, Joined, Length, SqlType, Text, Value, string_room};

use crate::messages;
use crate::plan::{Call, Expr, ExprKind, Implementation};
use crate::scalar::convert::Units;

/// The new value of a column of which a part is written.
///
/// # Errors
/// 258 for a column of any other type than those of `max` length; 206 and 257 for arguments of types that need a CAST.
pub(super) fn written(column: (&str, Expr), expression: Expr, offset: Expr, length: Expr) -> Result<Expr> {
    let (name, own) = column;
    let (SqlType::VarChar(Length::Max) | SqlType::NVarChar(Length::Max) | SqlType::VarBinary(Length::Max)) =
        own.sql_type
    else {
        return Err(messages::no_methods(own.sql_type.name()));
    };
    part_replaced(("write", write), (name, own), expression, (offset, length))
}

/// The call of a function that makes a column's value of it, of a part for it, and of the offset and the length of what the part replaces.
///
/// # Errors
/// 206 and 257 for arguments of types that need a CAST.
pub(super) fn part_replaced(
    (function, implementation): (&'static str, Implementation),
    (name, own): (&str, Expr),
    expression: Expr,
    (offset, length): (Expr, Expr),
) -> Result<Expr> {
    let (sql_type, nullable, label) = (own.sql_type, own.nullable, own.label);
    let arguments = vec![
        super::implicit(expression, sql_type)?,
        super::implicit(offset, SqlType::BigInt)?,
        super::implicit(length, SqlType::BigInt)?,
        Expr::constant(Value::text(name), SqlType::SYSNAME),
        own,
    ];
    let kind = ExprKind::Function {
        name: function,
        implementation,
        arguments,
    };
    Ok(Expr {
        kind,
        sql_type,
        nullable,
        label,
    })
}

/// What stays of a value of so many units: the units before what is written, and the first behind it; `None` when nothing changes.
pub(super) type Kept = fn(&Call<'_>, usize) -> Result<Option<(usize, usize)>>;

/// # Errors
/// 5302 for a value that is NULL; 7116 and 7135 for an offset and a length that are out of range; 701, 7119.
fn write(call: &Call<'_>) -> Result<Value> {
    replace_part(call, kept)
}

/// The value at argument 4 with argument 0 in place of what is not kept.
///
/// # Errors
/// Those of `kept`; 5302 for a value that is NULL; 701, 7119.
pub(super) fn replace_part(call: &Call<'_>, kept: Kept) -> Result<Value> {
    match (call.value(4), call.value(0)) {
        (own, part) if !own.is_null() && [own, part].iter().any(|value| matches!(value, Value::Held(_))) => {
            replace_held_part(call, (own, part), kept)
        }
        (Value::Text(text), part) => {
            let units = Units::of(call.argument_type(4), text.collation());
            let Some((head, tail)) = kept(call, units.count(text))? else {
                return Ok(Value::Text(text.clone()));
            };
            let head = units.cut(text, head);
            let tail = text.get(units.cut(text, tail).len()..).unwrap_or_default();
            let parts = [head, part.as_str().unwrap_or_default(), tail];
            let charge = string_room(parts.iter().map(|part| part.len()).sum())?;
            Ok(Value::Text(
                Text::charged(parts.concat(), charge).collated(text.collation()),
            ))
        }
        (Value::Binary(bytes), part) => {
            let Some((head, tail)) = kept(call, bytes.len())? else {
                return Ok(Value::Binary(bytes.clone()));
            };
            let part = match part {
                Value::Binary(part) => part,
                _ => &[][..],
            };
            let parts = [bytes.get(..head), Some(part), bytes.get(tail..)].map(Option::unwrap_or_default);
            let _room = string_room(parts.iter().map(|part| part.len()).sum())?;
            Ok(Value::binary(parts.concat()))
        }
        _ => Err(messages::mutator_of_null("WRITE()", call.text(3).unwrap_or_default())),
    }
}

/// As [`replace_part`], where a value is held: none is read whole if both have the bytes of the column's type.
fn replace_held_part(call: &Call<'_>, (own, part): (&Value, &Value), kept: Kept) -> Result<Value> {
    let sql_type = call.argument_type(4);
    let collation = match own {
        Value::Held(held) => held.collation(),
        Value::Text(text) => text.collation(),
        _ => Collation::default(),
    };
    let form = HeldForm::of(sql_type, collation);
    let is_of_form = |value: &Value| !matches!(value, Value::Held(held) if Some(held.form()) != form);
    let Some(form) = form.filter(|_| is_of_form(own) && is_of_form(part)) else {
        let mut values = call.values.to_vec();
        for place in [0, 4] {
            values[place] = std::mem::replace(&mut values[place], Value::Null).whole()?;
        }
        let whole = Call {
            context: call.context,
            values: &values,
            expressions: call.expressions,
            result: call.result,
        };
        return replace_part(&whole, kept);
    };
    let unit = form.unit_bytes();
    let length = match own {
        Value::Held(held) => held.bytes() / unit,
        Value::Text(text) => Units::of(sql_type, collation).count(text) as u64,
        Value::Binary(bytes) => bytes.len() as u64,
        _ => 0,
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let Some((head, tail)) = kept(call, length)? else {
        return Ok(own.clone());
    };
    let mut joined = Joined::default();
    joined.push(own, form, 0, head as u64 * unit)?;
    if !part.is_null() {
        joined.push(part, form, 0, u64::MAX)?;
    }
    joined.push(own, form, tail as u64 * unit, u64::MAX)?;
    joined.value(form, collation)
}

/// Units that stay before what is written, and the first that stays behind it, of `length` units; `None` when nothing changes.
fn kept(call: &Call<'_>, length: usize) -> Result<Option<(usize, usize)>> {
    let (has_part, count) = (!call.value(0).is_null(), call.integer(2));
    let Some(offset) = call.integer(1) else {
        return Ok(has_part.then_some((length, length)));
    };
    let start = usize::try_from(offset).ok().filter(|start| *start <= length);
    let start = start.ok_or_else(|| messages::lob_offset(offset))?;
    let Some(count) = count.filter(|_| has_part) else {
        return Ok(Some((start, length)));
    };
    let count = usize::try_from(count).map_err(|_| messages::lob_deletion_length(count))?;
    Ok(Some((start, start.saturating_add(count).min(length))))
}
