//! Comparison of two values of one type, with three-valued logic for NULL.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use engine::types::{KeyDirection, Text, Value, Variant, encode_key_part};

use crate::ast::ComparisonOperator;

/// Compares two values of the same type; `None` when either is NULL. Values of different types compare by their keys, which
/// binding makes sure never happens.
pub fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    Some(match (left, right) {
        (Value::Null, _) | (_, Value::Null) => return None,
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::BigInt(left), Value::BigInt(right)) | (Value::Money(left), Value::Money(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => compare_texts(left, right),
        (Value::Decimal(left), Value::Decimal(right)) => left.compare(*right),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right).unwrap_or(Ordering::Equal),
        (Value::Binary(left), Value::Binary(right)) => compare_binary(left, right),
        _ => match (moment(left), moment(right)) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => compare_others(left, right),
        },
    })
}

/// A date or a time as numbers that order as it does: the day, and what stands behind it. Two offsets of one moment are equal.
#[inline]
fn moment(value: &Value) -> Option<(i32, u64)> {
    Some(match *value {
        Value::Date(days) => (days, 0),
        Value::Time(ticks) => (0, ticks),
        Value::DateTime { days, ticks } => (days, u64::from(ticks)),
        Value::SmallDateTime { days, minutes } => (i32::from(days), u64::from(minutes)),
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => (days, ticks),
        _ => return None,
    })
}

/// Compares small whole numbers as such, and what is left by its keys.
fn compare_others(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bit(left), Value::Bit(right)) => left.cmp(right),
        (Value::TinyInt(left), Value::TinyInt(right)) => left.cmp(right),
        (Value::SmallInt(left), Value::SmallInt(right)) => left.cmp(right),
        (Value::SmallMoney(left), Value::SmallMoney(right)) => left.cmp(right),
        _ => key(left).cmp(&key(right)),
    }
}

/// Whether an order satisfies a comparison.
pub fn satisfies(operator: ComparisonOperator, order: Ordering) -> bool {
    match operator {
        ComparisonOperator::Equal => order == Ordering::Equal,
        ComparisonOperator::NotEqual => order != Ordering::Equal,
        ComparisonOperator::Less => order == Ordering::Less,
        ComparisonOperator::LessOrEqual => order != Ordering::Greater,
        ComparisonOperator::Greater => order == Ordering::Greater,
        ComparisonOperator::GreaterOrEqual => order != Ordering::Less,
    }
}

/// Compares two strings by the collation they carry: binding has given both the same.
fn compare_texts(left: &Text, right: &Text) -> Ordering {
    debug_assert_eq!(left.collation(), right.collation(), "{left:?} meets {right:?}");
    left.collation().compare(left, right)
}

/// Orders values for ORDER BY and MIN: NULL first.
pub fn order(left: &Value, right: &Value) -> Ordering {
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => compare(left, right).unwrap_or(Ordering::Equal),
    }
}

/// Whether two values count as one in DISTINCT, GROUP BY and set operations: NULL equals NULL.
pub fn same(left: &Value, right: &Value) -> bool {
    order(left, right) == Ordering::Equal
}

/// Feeds a hasher so that values which are the same hash alike.
pub fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Int(number) => number.hash(hasher),
        Value::BigInt(number) | Value::Money(number) => number.hash(hasher),
        Value::Text(text) => text.collation().hash(text, hasher),
        Value::Binary(bytes) => trim_zeros(bytes).hash(hasher),
        // Scales may differ within one column of a set operation only before conversion, never after.
        other => hasher.write(&key(other)),
    }
}

fn key(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(20);
    push_order_key(value, KeyDirection::Ascending, &mut bytes);
    bytes
}

/// Binary strings compare as if the shorter were padded with zeros.
fn compare_binary(left: &[u8], right: &[u8]) -> Ordering {
    trim_zeros(left).cmp(trim_zeros(right))
}

fn trim_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

/// Appends the key of values as one in DISTINCT, GROUP BY and equality: the bytes are equal for values that are the same, and none
/// are the beginning of others. Two lists of one length and of the same types are meant.
pub fn push_group_key(values: &[Value], key: &mut Vec<u8>) {
    for value in values {
        push_order_key(value, KeyDirection::Ascending, key);
    }
}

/// Appends the key of a value, as [`order`] orders values.
pub fn push_order_key(value: &Value, direction: KeyDirection, key: &mut Vec<u8>) {
    match value {
        // Zeros at the end do not count, but the key of an index has them.
        Value::Binary(bytes) if bytes.last() == Some(&0) => {
            encode_key_part(&Value::binary(trim_zeros(bytes)), direction, key);
        }
        Value::Variant(variant) => encode_key_part(&without_zeros(variant), direction, key),
        _ => encode_key_part(value, direction, key),
    }
}

/// A variant; zeros at the end of a binary one count no more than those of a binary string do.
fn without_zeros(variant: &Arc<Variant>) -> Value {
    match &variant.value {
        Value::Binary(bytes) if bytes.last() == Some(&0) => Value::Variant(Arc::new(Variant {
            sql_type: variant.sql_type,
            value: Value::binary(trim_zeros(bytes)),
        })),
        _ => Value::Variant(variant.clone()),
    }
}

/// A list of values that hashes and compares as GROUP BY wants it.
#[derive(Clone, Debug)]
pub struct GroupKey(pub Vec<Value>);

impl PartialEq for GroupKey {
    fn eq(&self, other: &GroupKey) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(left, right)| same(left, right))
    }
}

impl Eq for GroupKey {}

impl Hash for GroupKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for value in &self.0 {
            hash_value(value, hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn moments_and_small_numbers_compare_as_their_keys_do() {
        let moment = |days, ticks| Value::DateTime2 { days, ticks };
        let offset = |ticks, offset_minutes| Value::DateTimeOffset {
            days: 3,
            ticks,
            offset_minutes,
        };
        let old = |days, ticks| Value::DateTime { days, ticks };
        let small = |days, minutes| Value::SmallDateTime { days, minutes };
        for values in [
            vec![Value::Date(-4), Value::Date(0), Value::Date(730_000)],
            vec![Value::Time(0), Value::Time(863_999_999_999)],
            vec![moment(-1, 7), moment(2, 0), moment(2, 9), moment(3, 1)],
            vec![offset(1, 60), offset(1, -60), offset(2, -840)],
            vec![old(-9, 299), old(5, 1), old(5, 2)],
            vec![small(1, 1_439), small(2, 0)],
            vec![Value::Bit(false), Value::Bit(true)],
            vec![Value::TinyInt(1), Value::TinyInt(200)],
            vec![Value::SmallInt(-300), Value::SmallInt(1)],
            vec![Value::SmallMoney(-1), Value::SmallMoney(1)],
        ] {
            for (left, right) in values
                .iter()
                .flat_map(|left| values.iter().map(move |right| (left, right)))
            {
                assert_eq!(
                    compare(left, right),
                    Some(key(left).cmp(&key(right))),
                    "{left:?} {right:?}"
                );
            }
        }
    }

    #[test]
    fn null_is_unknown_in_comparison_and_first_in_order() {
        assert_eq!(compare(&Value::Null, &Value::Int(1)), None);
        assert_eq!(order(&Value::Null, &Value::Int(i32::MIN)), Ordering::Less);
        assert!(same(&Value::Null, &Value::Null));
        assert!(same(&"abc".into(), &"ABC  ".into()));
        assert!(same(&Value::binary(&[1, 0][..]), &Value::binary(&[1][..])));
        assert_eq!(
            GroupKey(vec!["a".into(), Value::Null]),
            GroupKey(vec!["A ".into(), Value::Null])
        );
        let key = |values: &[Value]| {
            let mut key = Vec::new();
            push_group_key(values, &mut key);
            key
        };
        assert_eq!(
            key(&["a".into(), Value::binary(&[1, 0][..]), Value::Null]),
            key(&["A ".into(), Value::binary(&[1][..]), Value::Null])
        );
        assert_ne!(key(&[Value::binary(&[0, 1][..])]), key(&[Value::binary(&[1][..])]));
        // Binary strings in variants, too.
        let variant = |bytes: &[u8]| {
            let sql_type = engine::types::SqlType::VarBinary(engine::types::Length::Limited(9));
            let value = Value::binary(bytes);
            Value::Variant(Arc::new(Variant { sql_type, value }))
        };
        assert_eq!(compare(&variant(&[1]), &variant(&[1, 0])), Some(Ordering::Equal));
        assert_eq!(compare(&variant(&[1]), &variant(&[1, 1])), Some(Ordering::Less));
        assert_eq!(key(&[variant(&[1, 0, 0])]), key(&[variant(&[1])]));
    }
}
