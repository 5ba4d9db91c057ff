//! Where a value of a wider type lies among those of a narrower one: an index on a `tinyint` column is searched for an `int`.
//!
//! In a comparison the side with the lower type is converted, and that is often the column: `flags = 3` becomes
//! `CONVERT_IMPLICIT(int, flags) = 3`, or a client compares a `datetime2` with a `datetime` column. If the conversion is one-to-one and
//! preserves the order, the column itself can be searched:
//!
//! ```text
//! int column         1         2         3
//! decimal value      |  1.5    |         |        above 1: equals nothing; >= and > begin behind 1; < and <= end with 1
//!                    1.5
//! ```
//! SQL Server does the same: it searches with the value as it is within a family, and by a range computed at run time over families
//! (`GetRangeWithMismatchedTypes` in its plans).

use std::cmp::Ordering;

use engine::error::Result;
use engine::types::{Decimal, SqlType, Value};

use super::compare::compare;
use super::convert::convert;

/// Where a value lies among the values of a narrower type.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// It is one of them.
    At(Value),
    /// It lies before this one, and behind all that come before this one.
    Before(Value),
    /// It lies behind this one, and before all that follow.
    Behind(Value),
    BeforeAll,
    BehindAll,
}

/// Whether values of `narrow` become values of `wide` one to one and in their order. Dates before 1753, and after 2079, that
/// `datetime` and `smalldatetime` lack are not looked at: a search does not meet them, where a scan would end with 242.
pub fn widens(narrow: SqlType, wide: SqlType) -> bool {
    use SqlType::{BigInt, Bit, Date, DateTime, DateTime2, DateTimeOffset, Decimal, Float, Int, Money, Real};
    use SqlType::{SmallDateTime, SmallInt, SmallMoney, TinyInt};
    match (narrow, wide) {
        (same, other) if same == other => false,
        (Bit, TinyInt) | (Bit | TinyInt, SmallInt) | (Bit | TinyInt | SmallInt, Int) => true,
        (Bit | TinyInt | SmallInt | Int, BigInt | Float | Money) => true,
        (Bit | TinyInt | SmallInt, SmallMoney | Real) | (SmallMoney, Money) | (Real, Float) => true,
        (_, Decimal { precision, scale }) => {
            decimal_digits(narrow).is_some_and(|(digits, fraction)| fraction <= scale && digits + scale <= precision)
        }
        (Date, DateTime | SmallDateTime | DateTime2 { .. }) => true,
        (SmallDateTime, DateTime | DateTime2 { .. }) => true,
        // A 300th of a second has to stay one.
        (DateTime, DateTime2 { scale }) => scale >= 3,
        (DateTime2 { scale: from }, DateTime2 { scale: to })
        | (DateTimeOffset { scale: from }, DateTimeOffset { scale: to }) => from < to,
        _ => false,
    }
}

/// Digits before and behind the point that values of a type have at most.
fn decimal_digits(sql_type: SqlType) -> Option<(u8, u8)> {
    Some(match sql_type {
        SqlType::Bit => (1, 0),
        SqlType::TinyInt => (3, 0),
        SqlType::SmallInt => (5, 0),
        SqlType::Int => (10, 0),
        SqlType::BigInt => (19, 0),
        SqlType::SmallMoney => (6, 4),
        SqlType::Money => (15, 4),
        SqlType::Decimal { precision, scale } => (precision - scale, scale),
        _ => return None,
    })
}

/// Where `value`, of the type `wide`, lies among the values of `narrow`, which it [widens]; `None` for NULL.
///
/// # Errors
/// Those of a conversion to the wider type, of which there are none.
pub fn place(value: &Value, wide: SqlType, narrow: SqlType) -> Result<Option<Place>> {
    if value.is_null() {
        return Ok(None);
    }
    // Everything but 0 is 1 as a bit, however far away.
    let is_bit = narrow == SqlType::Bit;
    let nearest = match convert(value, wide, narrow, None) {
        Ok(nearest) if !is_bit => nearest,
        // Too far away to be one of them: on the side that one in their middle shows.
        _ => {
            let middle = middle_of(narrow);
            return Ok(match compare(value, &convert(&middle, narrow, wide, None)?) {
                Some(Ordering::Less) => Some(Place::BeforeAll),
                Some(Ordering::Greater) if is_bit => Some(place_of_bit(value, wide)?),
                Some(Ordering::Greater) => Some(Place::BehindAll),
                Some(Ordering::Equal) => Some(Place::At(middle)),
                None => None,
            });
        }
    };
    let ordering = compare(value, &convert(&nearest, narrow, wide, None)?);
    Ok(ordering.map(|ordering| match ordering {
        Ordering::Less => Place::Before(nearest),
        Ordering::Equal => Place::At(nearest),
        Ordering::Greater => Place::Behind(nearest),
    }))
}

/// The place of a value above 0.
fn place_of_bit(value: &Value, wide: SqlType) -> Result<Place> {
    let one = Value::Bit(true);
    Ok(match compare(value, &convert(&one, SqlType::Bit, wide, None)?) {
        Some(Ordering::Less) => Place::Before(one),
        Some(Ordering::Equal) => Place::At(one),
        _ => Place::BehindAll,
    })
}

/// A value that every wider type has too: zero, or the beginning of the year 2000.
fn middle_of(narrow: SqlType) -> Value {
    // Days from 1900 and from the year 1.
    const FROM_1900: u16 = 36_524;
    const FROM_1: i32 = 730_119;
    match narrow {
        SqlType::Bit => Value::Bit(false),
        SqlType::TinyInt => Value::TinyInt(0),
        SqlType::SmallInt => Value::SmallInt(0),
        SqlType::BigInt => Value::BigInt(0),
        SqlType::Money => Value::Money(0),
        SqlType::SmallMoney => Value::SmallMoney(0),
        SqlType::Decimal { precision, scale } => Value::Decimal(Decimal::new(0, precision, scale)),
        SqlType::Real => Value::Real(0.0),
        SqlType::Date => Value::Date(FROM_1),
        SqlType::SmallDateTime => Value::SmallDateTime {
            days: FROM_1900,
            minutes: 0,
        },
        SqlType::DateTime => Value::DateTime {
            days: FROM_1900.into(),
            ticks: 0,
        },
        SqlType::DateTime2 { .. } => Value::DateTime2 { days: FROM_1, ticks: 0 },
        SqlType::DateTimeOffset { .. } => Value::DateTimeOffset {
            days: FROM_1,
            ticks: 0,
            offset_minutes: 0,
        },
        _ => Value::Int(0),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use engine::types::Text;

    fn of(text: &str, sql_type: SqlType) -> Option<Value> {
        let written = SqlType::VarChar(engine::types::Length::Limited(60));
        convert(&Value::Text(Text::from(text)), written, sql_type, None).ok()
    }

    const NUMBERS: [&str; 27] = [
        "-9223372036854775808",
        "-2147483649",
        "-2147483648",
        "-214748.3649",
        "-40000",
        "-32769",
        "-32768",
        "-256",
        "-2",
        "-1.5",
        "-1",
        "-0.5",
        "-0.01",
        "0",
        "0.004",
        "0.5",
        "1",
        "1.0001",
        "1.5",
        "2",
        "254.9999",
        "255",
        "256",
        "32767.5",
        "2147483647.4",
        "2147483648",
        "9223372036854775807",
    ];
    const MOMENTS: [&str; 16] = [
        "0001-01-01",
        "1752-12-31 23:59:59",
        "1753-01-01",
        "1899-12-31 23:59:00",
        "1900-01-01",
        "1999-12-31 23:59:59.997",
        "2000-01-01",
        "2000-01-01 00:00:00.0000001",
        "2000-01-01 00:00:00.0033333",
        "2000-01-01 00:00:00.005",
        "2000-01-01 00:00:29.999",
        "2000-01-01 00:00:30",
        "2000-01-01 00:00:59.9999999",
        "2079-06-06 23:59:00",
        "2079-06-07",
        "9999-12-31 23:59:59.9999999",
    ];

    fn types() -> Vec<(SqlType, &'static [&'static str])> {
        use SqlType::*;
        let decimals = [(1, 0), (5, 2), (10, 0), (10, 2), (19, 0), (19, 4), (38, 10)];
        let decimals = decimals.map(|(precision, scale)| Decimal { precision, scale });
        let numbers = [Bit, TinyInt, SmallInt, Int, BigInt, SmallMoney, Money, Real, Float];
        let moments = [
            Date,
            SmallDateTime,
            DateTime,
            DateTime2 { scale: 0 },
            DateTime2 { scale: 3 },
            DateTime2 { scale: 7 },
        ];
        let numbers = numbers.into_iter().chain(decimals).map(|one| (one, NUMBERS.as_slice()));
        numbers.chain(moments.map(|one| (one, MOMENTS.as_slice()))).collect()
    }

    /// What a place says of a value of the narrower type has to be what the comparison of both as the wider type says.
    #[test]
    fn a_place_orders_values_as_their_comparison_does() {
        let mut pairs = 0;
        for (narrow, texts) in types() {
            for (wide, others) in types() {
                if !widens(narrow, wide) || texts != others {
                    continue;
                }
                pairs += 1;
                let values = texts.iter().filter_map(|text| of(text, narrow));
                // A date that the wider type lacks is not met.
                let values = values.filter_map(|value| Some((convert(&value, narrow, wide, None).ok()?, value)));
                let values: Vec<(Value, Value)> = values.collect();
                for searched in texts.iter().filter_map(|text| of(text, wide)) {
                    let found = place(&searched, wide, narrow).unwrap().unwrap();
                    for (as_wide, value) in &values {
                        let compared = compare(as_wide, &searched).unwrap();
                        let told = match &found {
                            Place::At(at) => compare(value, at).unwrap(),
                            Place::Before(next) => match compare(value, next).unwrap() {
                                Ordering::Less => Ordering::Less,
                                _ => Ordering::Greater,
                            },
                            Place::Behind(last) => match compare(value, last).unwrap() {
                                Ordering::Greater => Ordering::Greater,
                                _ => Ordering::Less,
                            },
                            Place::BeforeAll => Ordering::Greater,
                            Place::BehindAll => Ordering::Less,
                        };
                        assert_eq!(told, compared, "{value:?} {narrow:?}, {searched:?} {wide:?}: {found:?}");
                    }
                }
            }
        }
        assert!(pairs > 80, "{pairs}");
    }

    #[test]
    fn what_loses_values_or_their_order_does_not_widen() {
        use SqlType::*;
        for (narrow, wide) in [
            (Int, TinyInt),
            (Int, Real),
            (BigInt, Float),
            (Int, Decimal { precision: 9, scale: 0 }),
            (
                Money,
                Decimal {
                    precision: 19,
                    scale: 2,
                },
            ),
            (Decimal { precision: 5, scale: 2 }, Float),
            (DateTime, DateTime2 { scale: 2 }),
            (DateTime2 { scale: 7 }, DateTimeOffset { scale: 7 }),
            (Int, Int),
            (UniqueIdentifier, VarChar(engine::types::Length::Max)),
        ] {
            assert!(!widens(narrow, wide), "{narrow:?} {wide:?}");
        }
    }
}
