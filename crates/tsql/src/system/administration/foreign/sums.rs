//! The sum of a column's values, to compare with another server's result for the same table.

use genuine::types::Value;
use std::fmt;

/// The values of one column: how many are not NULL, and what they come to.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    values: u64,
    total: Total,
}

/// What values come to. Those of a column are of one kind.
#[derive(Clone, Copy, Debug, Default)]
enum Total {
    /// Values that are not added up: dates, ids.
    #[default]
    None,
    /// Whole numbers; those of the scale are decimals.
    Number {
        sum: i128,
        scale: u8,
    },
    Float(f64),
    Characters(u64),
    Bytes(u64),
}

impl Sum {
    /// Adds a value of the column; NULL adds nothing.
    pub fn add(&mut self, value: &Value) {
        if value.is_null() {
            return;
        }
        self.values += 1;
        self.total = match (self.total, value) {
            (total, Value::Integer(number)) => total.plus(i128::from(*number), 0),
            (total, Value::Bit(bit)) => total.plus(i128::from(*bit), 0),
            (total, Value::Money(number)) => total.plus(i128::from(*number), 4),
            (
                total,
                Value::Decimal {
                    is_negative,
                    digits,
                    scale,
                },
            ) => {
                let digits = i128::try_from(*digits).unwrap_or(i128::MAX);
                total.plus(if *is_negative { -digits } else { digits }, *scale)
            }
            (total, Value::Real(number)) => total.plus_float(f64::from(*number)),
            (total, Value::Float(number)) => total.plus_float(*number),
            (Total::Characters(sum), Value::Text(text)) => Total::Characters(sum + text.chars().count() as u64),
            (_, Value::Text(text)) => Total::Characters(text.chars().count() as u64),
            (Total::Bytes(sum), Value::Bytes(bytes)) => Total::Bytes(sum + bytes.len() as u64),
            (_, Value::Bytes(bytes)) => Total::Bytes(bytes.len() as u64),
            (total, _) => total,
        };
    }
}

impl Total {
    fn plus(self, number: i128, scale: u8) -> Total {
        match self {
            Total::Number { sum, scale } => Total::Number {
                sum: sum.saturating_add(number),
                scale,
            },
            _ => Total::Number { sum: number, scale },
        }
    }

    fn plus_float(self, number: f64) -> Total {
        match self {
            Total::Float(sum) => Total::Float(sum + number),
            _ => Total::Float(number),
        }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total {
            Total::None => write!(f, "{} values", self.values),
            Total::Number { sum, scale } => {
                let value = Value::Decimal {
                    is_negative: sum < 0,
                    digits: sum.unsigned_abs(),
                    scale,
                };
                write!(f, "{value}")
            }
            Total::Float(sum) => write!(f, "{sum}"),
            Total::Characters(sum) => write!(f, "{sum} characters"),
            Total::Bytes(sum) => write!(f, "{sum} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sum;
    use genuine::types::Value;

    fn said(values: &[Value]) -> String {
        let mut sum = Sum::default();
        values.iter().for_each(|value| sum.add(value));
        sum.to_string()
    }

    #[test]
    fn each_kind_of_value_is_added_up_in_its_own_way() {
        assert_eq!(said(&[Value::Integer(5), Value::Null, Value::Integer(-7)]), "-2");
        assert_eq!(said(&[Value::Money(15_000), Value::Money(2_500)]), "1.7500");
        assert_eq!(
            said(&[Value::Text("ab".to_owned()), Value::Text("\u{e9}".to_owned())]),
            "3 characters"
        );
        assert_eq!(said(&[Value::Bytes(vec![1, 2, 3])]), "3 bytes");
        assert_eq!(said(&[Value::Date(3), Value::Null]), "1 values");
        assert_eq!(said(&[Value::Null]), "0 values");
    }
}
