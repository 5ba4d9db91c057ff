//! Functions about the kind of a value: ISNUMERIC, CHECKSUM, GREATEST and LEAST.

use std::hash::Hasher;

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Parameter::Any;
use super::{Answer, Call, INT, Signature, signature, variadic};
use crate::scalar::compare::hash_value;
use crate::scalar::number::is_numeric_text;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("isnumeric", 1, &[Any], INT, isnumeric)
        .told("value: 1 if a text is a number or an amount of money, or the value is a number"),
    variadic("checksum", 1, &[Any], INT, checksum)
        .told("value: a number made of the values; equal values have equal ones"),
    variadic("binary_checksum", 1, &[Any], INT, checksum)
        .told("value: the number that CHECKSUM makes; SQL Server's function tells capital and small letters apart"),
    variadic("greatest", 1, &[Any], Answer::Computed(extreme_type), greatest)
        .told("value: the greatest of the values; NULLs are passed over"),
    variadic("least", 1, &[Any], Answer::Computed(extreme_type), least)
        .told("value: the least of the values; NULLs are passed over"),
];

fn isnumeric(call: &Call<'_>) -> Result<Value> {
    let numeric = match call.value(0) {
        Value::Text(text) => is_numeric_text(text),
        Value::Null => false,
        Value::Variant(variant) => match &variant.value {
            Value::Text(text) => is_numeric_text(text),
            _ => variant.sql_type.is_numeric(),
        },
        _ => call.argument_type(0).is_numeric(),
    };
    Ok(Value::Int(i32::from(numeric)))
}

/// FNV-1a: equal values have equal checksums, which is all that is promised of CHECKSUM.
#[derive(Default)]
struct Checksum(u32);

impl Hasher for Checksum {
    fn finish(&self) -> u64 {
        u64::from(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}

fn checksum(call: &Call<'_>) -> Result<Value> {
    let mut hasher = Checksum(0x811C_9DC5);
    for value in call.values {
        hash_value(value, &mut hasher);
    }
    Ok(Value::Int(hasher.0 as i32))
}

fn extreme_type(arguments: &[crate::plan::Expr]) -> Result<SqlType> {
    let types = arguments
        .iter()
        .filter(|argument| !argument.is_null_constant())
        .map(|argument| argument.sql_type);
    Ok(types
        .reduce(crate::scalar::data_type::common_type)
        .unwrap_or(SqlType::Int))
}

/// The greatest or least argument; NULLs are passed over (SQL Server docs, "GREATEST").
fn extreme(call: &Call<'_>, wanted: std::cmp::Ordering) -> Result<Value> {
    let mut found = Value::Null;
    for (index, value) in call.values.iter().enumerate() {
        let value = crate::scalar::convert::convert(value, call.argument_type(index), call.result, None)?;
        if !value.is_null() && (found.is_null() || crate::scalar::compare::order(&value, &found) == wanted) {
            found = value;
        }
    }
    Ok(found)
}

fn greatest(call: &Call<'_>) -> Result<Value> {
    extreme(call, std::cmp::Ordering::Greater)
}

fn least(call: &Call<'_>) -> Result<Value> {
    extreme(call, std::cmp::Ordering::Less)
}
