//! Rows of every type: encoded values decode to the same values, and damage is an error.
#![allow(clippy::unwrap_used)]
use super::super::Length;
use super::*;

fn all_types() -> Vec<(SqlType, Value)> {
    vec![
        (SqlType::Bit, Value::Bit(true)),
        (SqlType::TinyInt, Value::TinyInt(200)),
        (SqlType::SmallInt, Value::SmallInt(-5)),
        (SqlType::Int, Value::Int(i32::MIN)),
        (SqlType::BigInt, Value::BigInt(i64::MAX)),
        (SqlType::VarChar(Length::Limited(20)), "häßlich".into()),
        (
            SqlType::Decimal { precision: 9, scale: 2 },
            Value::Decimal(Decimal::new(-12_345, 9, 2)),
        ),
        (
            SqlType::Decimal {
                precision: 38,
                scale: 0,
            },
            Value::Decimal(Decimal::new(10i128.pow(37), 38, 0)),
        ),
        (SqlType::Money, Value::Money(-1)),
        (SqlType::SmallMoney, Value::SmallMoney(19_999)),
        (SqlType::Real, Value::Real(1.5)),
        (SqlType::Float, Value::Float(-2.25)),
        (SqlType::NVarChar(Length::Max), "漢字 😀".into()),
        (SqlType::Date, Value::Date(738_000)),
        (SqlType::Time { scale: 7 }, Value::Time(863_999_999_999)),
        (
            SqlType::DateTime,
            Value::DateTime {
                days: -53_690,
                ticks: 25_919_999,
            },
        ),
        (
            SqlType::SmallDateTime,
            Value::SmallDateTime {
                days: 65_535,
                minutes: 1_439,
            },
        ),
        (
            SqlType::DateTime2 { scale: 3 },
            Value::DateTime2 {
                days: 3_652_058,
                ticks: 1_230_000,
            },
        ),
        (
            SqlType::DateTimeOffset { scale: 0 },
            Value::DateTimeOffset {
                days: 1,
                ticks: 10_000_000,
                offset_minutes: -330,
            },
        ),
        (SqlType::VarBinary(Length::Limited(8)), Value::binary(&[0, 255][..])),
        (SqlType::UniqueIdentifier, Value::UniqueIdentifier([7; 16])),
    ]
}

#[test]
fn every_type_comes_back_equal_and_as_null() {
    let (types, values): (Vec<_>, Vec<_>) = all_types().into_iter().unzip();
    let layout = RowLayout::new(&types);
    let mut row = Vec::new();
    layout.encode(&values, &mut row).unwrap();
    let mut decoded = Vec::new();
    layout.decode_into(&row, &mut decoded).unwrap();
    assert_eq!(decoded, values);
    let nulls = vec![Value::Null; types.len()];
    layout.encode(&nulls, &mut row).unwrap();
    layout.decode_into(&row, &mut decoded).unwrap();
    assert_eq!(decoded, nulls);
}

#[test]
fn fixed_strings_are_padded_and_foreign_characters_replaced() {
    let layout = RowLayout::new(&[SqlType::Char(4), SqlType::NChar(3), SqlType::Binary(3)]);
    let mut row = Vec::new();
    layout
        .encode(&["é漢".into(), "漢".into(), Value::binary(&[1][..])], &mut row)
        .unwrap();
    assert_eq!(layout.column(&row, 0).unwrap(), "é?  ".into());
    assert_eq!(layout.column(&row, 1).unwrap(), "漢  ".into());
    assert_eq!(layout.stored(&row, 2).unwrap(), Stored::InRow(&[1, 0, 0]));
}

#[test]
fn a_row_of_the_seed_fits_and_a_longer_one_is_refused() {
    let layout = RowLayout::new(&[SqlType::Int, SqlType::Char(8000), SqlType::Int]);
    assert!(layout.row_bytes_min() + STATUS_BYTES <= ROW_BYTES_MAX);
    let layout = RowLayout::new(&[SqlType::VarChar(Length::Max)]);
    let mut row = Vec::new();
    let room = ROW_BYTES_MAX - STATUS_BYTES - layout.row_bytes_min();
    layout.encode(&["x".repeat(room).into()], &mut row).unwrap();
    assert_eq!(row.len() + STATUS_BYTES, ROW_BYTES_MAX);
    let error = layout.encode(&["x".repeat(room + 1).into()], &mut row).unwrap_err();
    assert_eq!((error.number, error.message.contains("8061")), (511, true));
}

#[test]
fn columns_added_later_read_as_null() {
    let old = RowLayout::new(&[SqlType::Int, SqlType::VarChar(Length::Limited(5))]);
    let types = [
        SqlType::Int,
        SqlType::VarChar(Length::Limited(5)),
        SqlType::Int,
        SqlType::VarChar(Length::Limited(5)),
    ];
    let new = RowLayout::new(&types);
    let mut row = Vec::new();
    old.encode(&[Value::Int(1), "abc".into()], &mut row).unwrap();
    let mut values = Vec::new();
    new.decode_into(&row, &mut values).unwrap();
    assert_eq!(values, [Value::Int(1), "abc".into(), Value::Null, Value::Null]);
}

/// Every type, set and NULL before, set and NULL after, alone and all at once, in a row of all its columns and in one from
/// before the second half of them was added: the same values as encoding the changed row gives.
#[test]
fn a_changed_row_has_the_values_of_one_made_anew() {
    let (types, values): (Vec<_>, Vec<_>) = all_types().into_iter().unzip();
    let (layout, older) = (RowLayout::new(&types), RowLayout::new(&types[..types.len() / 2]));
    let nulls = vec![Value::Null; types.len()];
    let singles = (0..types.len()).map(|column| vec![column]);
    let sets: Vec<Vec<usize>> = singles.chain([(0..types.len()).collect()]).collect();
    for written in [&layout, &older] {
        for (before, after) in [
            (&values, &values),
            (&values, &nulls),
            (&nulls, &values),
            (&nulls, &nulls),
        ] {
            for columns in &sets {
                let mut old = Vec::new();
                written.encode(before, &mut old).unwrap();
                let mut expected = Vec::new();
                layout.decode_into(&old, &mut expected).unwrap();
                let new: Vec<Value> = columns.iter().map(|&column| after[column].clone()).collect();
                columns
                    .iter()
                    .zip(&new)
                    .for_each(|(&column, value)| expected[column] = value.clone());
                let mut row = b"head".to_vec();
                layout.push_changed(&old, columns, &new, &mut row).unwrap();
                let mut found = Vec::new();
                layout.decode_into(&row[4..], &mut found).unwrap();
                assert_eq!(found, expected, "columns {columns:?}");
            }
        }
    }
}

/// A shorter string in place of a longer one leaves none of it behind.
#[test]
fn a_fixed_column_overwritten_is_padded_again() {
    let layout = RowLayout::new(&[SqlType::Char(6), SqlType::Binary(3)]);
    let (mut old, mut row) = (Vec::new(), Vec::new());
    layout
        .encode(&["secret".into(), Value::binary(&[1, 2, 3][..])], &mut old)
        .unwrap();
    let values = ["no".into(), Value::binary(&[9][..])];
    layout.push_changed(&old, &[0, 1], &values, &mut row).unwrap();
    assert_eq!(layout.column(&row, 0).unwrap(), "no    ".into());
    assert_eq!(layout.stored(&row, 1).unwrap(), Stored::InRow(&[9, 0, 0]));
}

#[test]
fn damaged_rows_are_errors_and_never_panics() {
    let (types, values): (Vec<_>, Vec<_>) = all_types().into_iter().unzip();
    let layout = RowLayout::new(&types);
    let mut row = Vec::new();
    layout.encode(&values, &mut row).unwrap();
    let mut decoded = Vec::new();
    for length in 0..row.len() {
        let result = layout.decode_into(&row[..length], &mut decoded);
        assert_eq!(result.unwrap_err().number, 824, "cut at {length}");
    }
    for position in 0..row.len() {
        for bit in 0..8 {
            let mut damaged = row.clone();
            damaged[position] ^= 1 << bit;
            // Any answer but a panic will do: the page's checksum is what detects flipped bits.
            if let Err(error) = layout.decode_into(&damaged, &mut decoded) {
                assert_eq!(error.number, 824);
            }
        }
    }
}
