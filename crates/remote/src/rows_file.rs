//! Writes the rows of a table to a Parquet file, one by one, from the text of the server's values.
//!
//! | column | in the file |
//! |---|---|
//! | [`RowsKind::Bit`] | BOOLEAN |
//! | [`RowsKind::Whole`] | INT64 |
//! | [`RowsKind::Decimal`] | DECIMAL, in an INT64 up to 18 digits, else in 16 bytes, big-endian |
//! | [`RowsKind::Real`] | DOUBLE |
//! | [`RowsKind::Date`] | DATE |
//! | [`RowsKind::Time`] | TIME, in microseconds up to 6 digits of a second, else in nanoseconds |
//! | [`RowsKind::Moment`] | TIMESTAMP in microseconds up to 6 digits of a second; with 7 the text: no unit of Parquet has both the digits and the years |
//! | [`RowsKind::Text`] | STRING |
//! | [`RowsKind::Bytes`] | BYTE_ARRAY |
//!
//! Invariant: a value that its column cannot hold is an error and never another value.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::RowsKind;

/// A group ends with so many rows, or bytes of text.
const GROUP_ROWS: usize = 65_536;
const GROUP_BYTES: usize = 64 << 20;
/// Digits of a decimal that an INT64 holds.
const DIGITS_OF_LONG: u8 = 18;
const DECIMAL_BYTES: i32 = 16;
/// Digits of a second that microseconds hold.
const DIGITS_OF_MICROSECONDS: u8 = 6;

/// The values of a column in one group.
enum Values {
    Flags(Vec<bool>),
    Days(Vec<i32>),
    Longs(Vec<i64>),
    Reals(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

struct Column {
    name: String,
    kind: RowsKind,
    values: Values,
    /// 1 for a value, 0 for a NULL.
    levels: Vec<i16>,
}

impl Column {
    fn new(name: &str, kind: RowsKind) -> Column {
        let values = match kind {
            RowsKind::Bit => Values::Flags(Vec::new()),
            RowsKind::Date => Values::Days(Vec::new()),
            RowsKind::Real => Values::Reals(Vec::new()),
            RowsKind::Decimal { precision, .. } if precision > DIGITS_OF_LONG => Values::Fixed(Vec::new()),
            RowsKind::Moment { scale } if scale > DIGITS_OF_MICROSECONDS => Values::Bytes(Vec::new()),
            RowsKind::Whole | RowsKind::Decimal { .. } | RowsKind::Time { .. } | RowsKind::Moment { .. } => {
                Values::Longs(Vec::new())
            }
            RowsKind::Text | RowsKind::Bytes => Values::Bytes(Vec::new()),
        };
        Column {
            name: name.to_owned(),
            kind,
            values,
            levels: Vec::new(),
        }
    }

    fn push(&mut self, text: Option<&str>) -> Result<(), String> {
        let Some(text) = text else {
            self.levels.push(0);
            return Ok(());
        };
        let taken = match &mut self.values {
            Values::Flags(values) => flag(text).map(|flag| values.push(flag)),
            Values::Days(values) => days(text).map(|days| values.push(days)),
            Values::Longs(values) => long(self.kind, text).map(|long| values.push(long)),
            Values::Reals(values) => text.parse().ok().map(|real| values.push(real)),
            Values::Bytes(values) => bytes(self.kind, text).map(|bytes| values.push(bytes.into())),
            Values::Fixed(values) => decimal(self.kind, text)
                .map(|number| values.push(ByteArray::from(number.to_be_bytes().to_vec()).into())),
        };
        taken.ok_or_else(|| format!("the column {} cannot hold {text}", self.name))?;
        self.levels.push(1);
        Ok(())
    }

    fn field(&self) -> Result<TypePtr, ParquetError> {
        let decimal = |scale: u8, precision: u8| Some(LogicalType::decimal(scale.into(), precision.into()));
        let time_unit = |scale: u8| match scale > DIGITS_OF_MICROSECONDS {
            true => TimeUnit::NANOS,
            false => TimeUnit::MICROS,
        };
        let is_adjusted_to_u_t_c = false;
        let (physical, logical) = match self.kind {
            RowsKind::Bit => (Physical::BOOLEAN, None),
            RowsKind::Whole => (Physical::INT64, None),
            RowsKind::Decimal { precision, scale } if precision > DIGITS_OF_LONG => {
                (Physical::FIXED_LEN_BYTE_ARRAY, decimal(scale, precision))
            }
            RowsKind::Decimal { precision, scale } => (Physical::INT64, decimal(scale, precision)),
            RowsKind::Real => (Physical::DOUBLE, None),
            RowsKind::Date => (Physical::INT32, Some(LogicalType::Date)),
            RowsKind::Time { scale } => (
                Physical::INT64,
                Some(LogicalType::time(is_adjusted_to_u_t_c, time_unit(scale))),
            ),
            RowsKind::Moment { scale } if scale <= DIGITS_OF_MICROSECONDS => (
                Physical::INT64,
                Some(LogicalType::timestamp(is_adjusted_to_u_t_c, TimeUnit::MICROS)),
            ),
            RowsKind::Text | RowsKind::Moment { .. } => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            RowsKind::Bytes => (Physical::BYTE_ARRAY, None),
        };
        let mut builder = Type::primitive_type_builder(&self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        if let RowsKind::Decimal { precision, scale } = self.kind {
            builder = builder.with_precision(precision.into()).with_scale(scale.into());
        }
        if physical == Physical::FIXED_LEN_BYTE_ARRAY {
            builder = builder.with_length(DECIMAL_BYTES);
        }
        builder.build().map(Arc::new)
    }
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn long(kind: RowsKind, text: &str) -> Option<i64> {
    match kind {
        RowsKind::Decimal { .. } => decimal(kind, text)?.try_into().ok(),
        RowsKind::Time { scale } => time(text, scale),
        RowsKind::Moment { scale } => {
            let (day, of_day) = text.split_once(['T', ' '])?;
            const DAY_MICROSECONDS: i64 = 86_400_000_000;
            Some(i64::from(days(day)?) * DAY_MICROSECONDS + time(of_day, scale)?)
        }
        RowsKind::Bit | RowsKind::Whole | RowsKind::Real | RowsKind::Date | RowsKind::Text | RowsKind::Bytes => {
            text.parse().ok()
        }
    }
}

/// A number in units of its last digit.
fn decimal(kind: RowsKind, text: &str) -> Option<i128> {
    let RowsKind::Decimal { precision, scale } = kind else {
        return None;
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let missing = usize::from(scale).checked_sub(fraction.len())?;
    let digits = format!("{whole}{fraction}{}", "0".repeat(missing));
    let number: i128 = digits.parse().ok()?;
    (number.unsigned_abs() < 10_u128.pow(precision.min(38).into())).then_some(number)
}

/// Units of a day: microseconds up to 6 digits of a second, else nanoseconds.
fn time(text: &str, scale: u8) -> Option<i64> {
    let digits = if scale > DIGITS_OF_MICROSECONDS { 9 } else { 6 };
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let mut part = |limit: i64| {
        let value: i64 = parts.next()?.parse().ok()?;
        (0..limit).contains(&value).then_some(value)
    };
    let (hours, minutes, seconds) = (part(24)?, part(60)?, part(60)?);
    let missing = usize::checked_sub(digits, fraction.len())?;
    let fraction: i64 = format!("{fraction}{}", "0".repeat(missing)).parse().ok()?;
    let unit = 10_i64.pow(digits.try_into().ok()?);
    Some(((hours * 60 + minutes) * 60 + seconds) * unit + fraction)
}

/// Days since 1970-01-01 of a day of the Gregorian calendar, `2026-11-27`.
fn days(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-').map(str::parse::<i32>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is a year's last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    const DAYS_TO_1970: i32 = 719_468;
    Some(
        year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (month * 153 + 2) / 5 + day
            - 1
            - DAYS_TO_1970,
    )
}

fn bytes(kind: RowsKind, text: &str) -> Option<Vec<u8>> {
    if kind != RowsKind::Bytes {
        return Some(text.as_bytes().to_vec());
    }
    let digits = text.strip_prefix("0x")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// A file of rows that is being written. It is at its path once it is finished, and not before.
pub struct RowsFile {
    path: PathBuf,
    beside: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

impl RowsFile {
    /// Begins one.
    ///
    /// # Errors
    /// A sentence: it cannot be written.
    pub fn create(path: &Path, columns: &[(&str, RowsKind)]) -> Result<RowsFile, String> {
        let beside = path.with_extension("new");
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", beside.display());
        let columns: Vec<Column> = columns.iter().map(|(name, kind)| Column::new(name, *kind)).collect();
        let fields: Result<Vec<TypePtr>, ParquetError> = columns.iter().map(Column::field).collect();
        let schema = fields.and_then(|fields| Type::group_type_builder("rows").with_fields(fields).build());
        let schema = schema.map_err(|error| failed(&error))?;
        let file = File::create(&beside).map_err(|error| failed(&error))?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()));
        Ok(RowsFile {
            path: path.to_owned(),
            writer: writer.map_err(|error| failed(&error))?,
            beside,
            columns,
            rows: 0,
            bytes: 0,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A sentence: a value is not of its column's kind, or the file cannot be written.
    pub fn row(&mut self, values: &[Option<String>]) -> Result<(), String> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value.as_deref())?;
            self.bytes += value.as_ref().map_or(0, String::len);
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES {
            self.end_group().map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.beside.display())
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for of in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            let levels = Some(of.levels.as_slice());
            match (column.untyped(), &of.values) {
                (ColumnWriter::BoolColumnWriter(typed), Values::Flags(values)) => {
                    typed.write_batch(values, levels, None)?
                }
                (ColumnWriter::Int32ColumnWriter(typed), Values::Days(values)) => {
                    typed.write_batch(values, levels, None)?
                }
                (ColumnWriter::Int64ColumnWriter(typed), Values::Longs(values)) => {
                    typed.write_batch(values, levels, None)?
                }
                (ColumnWriter::DoubleColumnWriter(typed), Values::Reals(values)) => {
                    typed.write_batch(values, levels, None)?
                }
                (ColumnWriter::ByteArrayColumnWriter(typed), Values::Bytes(values)) => {
                    typed.write_batch(values, levels, None)?
                }
                (ColumnWriter::FixedLenByteArrayColumnWriter(typed), Values::Fixed(values)) => {
                    typed.write_batch(values, levels, None)?
                }
                _ => return Err(ParquetError::General(format!("{} is written as another kind", of.name))),
            };
            column.close()?;
            *of = Column::new(&of.name, of.kind);
        }
        (self.rows, self.bytes) = (0, 0);
        group.close().map(|_| ())
    }

    /// Ends the file; it is whole and durable then.
    ///
    /// # Errors
    /// A sentence: it cannot be written.
    pub fn finish(mut self) -> Result<(), String> {
        if self.rows > 0 {
            self.end_group().map_err(|error| self.failed(&error))?;
        }
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.path.display());
        let file = self.writer.into_inner().map_err(|error| failed(&error))?;
        file.sync_all().map_err(|error| failed(&error))?;
        fs::rename(&self.beside, &self.path).map_err(|error| failed(&error))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_server_become_numbers_or_are_refused() {
        assert_eq!(days("1970-01-01"), Some(0));
        assert_eq!(days("2000-02-29"), Some(11_016));
        assert_eq!(days("0001-01-01"), Some(-719_162));
        assert_eq!(days("9999-12-31"), Some(2_932_896));
        assert_eq!(days("1999-13-01"), None);
        assert_eq!(time("23:59:59.1234567", 7), Some(86_399_123_456_700));
        assert_eq!(time("00:00:01.5", 3), Some(1_500_000));
        assert_eq!(time("24:00:00", 0), None);
        let moment = RowsKind::Moment { scale: 3 };
        assert_eq!(long(moment, "1969-12-31T23:59:59.997"), Some(-3_000));
        let money = RowsKind::Decimal {
            precision: 19,
            scale: 4,
        };
        assert_eq!(decimal(money, "-0.5"), Some(-5_000));
        assert_eq!(decimal(money, "1.23456"), None);
        assert_eq!(decimal(RowsKind::Decimal { precision: 3, scale: 0 }, "1000"), None);
        assert_eq!(bytes(RowsKind::Bytes, "0x00fF"), Some(vec![0, 255]));
        assert_eq!(bytes(RowsKind::Bytes, "0x0"), None);
        assert_eq!(bytes(RowsKind::Text, "0x0"), Some(b"0x0".to_vec()));
    }
}
