//! Rows of a foreign table in the form that a client would send, and their values in our types.

use engine::error::{Error, Result};
use engine::types::{Decimal, Length, SqlType, Value, Variant};
use genuine::PageSource;
use genuine::catalog::Table;
use genuine::catalog::objects::{Column, quoted};
use genuine::scan::Rows;
use genuine::schema::{clr_name, held_column};
use genuine::types::{ColumnType, SystemType, Value as Foreign};
use std::sync::Arc;

use super::sums::Sum;
use crate::sink::{ClientColumn, ClientRows};

/// A column's values are sent: the others are computed, or made by the server.
pub(super) fn is_sent(column: &Column) -> bool {
    column.computed.is_none() && column.kind.system != SystemType::Timestamp
}

/// Our type for values of a foreign one.
pub(super) fn sql_type(kind: &ColumnType) -> SqlType {
    // The length of a `max` type is -1.
    let length = |unit: u16| match u16::try_from(kind.length_bytes) {
        Ok(bytes) => Length::Limited((bytes / unit).max(1)),
        Err(_) => Length::Max,
    };
    let fixed = |unit: i16| u16::try_from(kind.length_bytes / unit).unwrap_or(1).max(1);
    match kind.system {
        SystemType::Bit => SqlType::Bit,
        SystemType::TinyInt => SqlType::TinyInt,
        SystemType::SmallInt => SqlType::SmallInt,
        SystemType::Int => SqlType::Int,
        SystemType::BigInt => SqlType::BigInt,
        SystemType::Decimal | SystemType::Numeric => SqlType::Decimal {
            precision: kind.precision.max(1),
            scale: kind.scale,
        },
        SystemType::Money => SqlType::Money,
        SystemType::SmallMoney => SqlType::SmallMoney,
        SystemType::Real => SqlType::Real,
        SystemType::Float => SqlType::Float,
        SystemType::Date => SqlType::Date,
        SystemType::Time => SqlType::Time { scale: kind.scale },
        SystemType::DateTime => SqlType::DateTime,
        SystemType::SmallDateTime => SqlType::SmallDateTime,
        SystemType::DateTime2 => SqlType::DateTime2 { scale: kind.scale },
        SystemType::DateTimeOffset => SqlType::DateTimeOffset { scale: kind.scale },
        SystemType::Char => SqlType::Char(fixed(1)),
        SystemType::VarChar => SqlType::VarChar(length(1)),
        SystemType::Text => SqlType::VarChar(Length::LargeObject),
        SystemType::NChar => SqlType::NChar(fixed(2)),
        SystemType::NVarChar => SqlType::NVarChar(length(2)),
        SystemType::NText => SqlType::NVarChar(Length::LargeObject),
        SystemType::Binary => SqlType::Binary(fixed(1)),
        SystemType::VarBinary => SqlType::VarBinary(length(1)),
        SystemType::Image => SqlType::VarBinary(Length::LargeObject),
        SystemType::UniqueIdentifier => SqlType::UniqueIdentifier,
        SystemType::SqlVariant => SqlType::SqlVariant,
        SystemType::Timestamp => SqlType::RowVersion,
        // The only CLR type that is not held as bytes and has a limit; see [`held_sql_type`].
        SystemType::Clr => SqlType::HierarchyId,
        SystemType::Xml | SystemType::Json | SystemType::Unknown(_) => SqlType::VarBinary(Length::Max),
    }
}

/// Our type for a column's values.
fn held_sql_type(column: &Column) -> SqlType {
    match clr_name(column) {
        Some("geometry") => SqlType::Geometry,
        Some("geography") => SqlType::Geography,
        _ => sql_type(&held_column(column)),
    }
}

/// The rows of a table, one after another.
pub(super) struct TableRows<'s> {
    source: &'s dyn PageSource,
    table: &'s Table,
    columns: Vec<ClientColumn>,
    /// Which of the stored values are sent.
    sent: Vec<bool>,
    kinds: Vec<ColumnType>,
    partition: usize,
    rows: Option<Rows<'s>>,
    pub count: u64,
    /// Of the values that are sent.
    sums: Vec<Sum>,
    path: &'s str,
}

impl<'s> TableRows<'s> {
    pub fn new(source: &'s dyn PageSource, table: &'s Table, path: &'s str) -> TableRows<'s> {
        let stored: Vec<&Column> = table.stored_columns().collect();
        let columns = stored
            .iter()
            .filter(|column| is_sent(column))
            .map(|column| ClientColumn::of_column(&column.name, held_sql_type(column), column.is_nullable));
        TableRows {
            source,
            table,
            columns: columns.collect(),
            sent: stored.iter().map(|column| is_sent(column)).collect(),
            kinds: stored.iter().map(|column| column.kind).collect(),
            partition: 0,
            rows: None,
            count: 0,
            sums: vec![Sum::default(); stored.len()],
            path,
        }
    }

    /// The sum of each column that was sent: `; [id] 12; [name] 31 characters`.
    pub fn sums(&self) -> String {
        let named = self.columns.iter().zip(&self.sums);
        named
            .map(|(column, sum)| format!("; {} {sum}", quoted(&column.name)))
            .collect()
    }

    fn next_row(&mut self) -> Option<genuine::fault::Result<Vec<Foreign>>> {
        loop {
            if self.rows.is_none() {
                let rowset = self.table.rowsets.get(self.partition)?;
                self.rows = Some(Rows::new(self.source, rowset));
            }
            match self.rows.as_mut().and_then(Iterator::next) {
                Some(row) => return Some(row),
                None => {
                    self.rows = None;
                    self.partition += 1;
                }
            }
        }
    }
}

impl ClientRows for TableRows<'_> {
    fn columns(&self) -> &[ClientColumn] {
        &self.columns
    }

    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        let Some(next) = self.next_row() else {
            return Ok(false);
        };
        let values = next.map_err(|mut fault| {
            fault.reason = format!("table {}: {}", self.table.name, fault.reason);
            super::damaged(self.path, &fault)
        })?;
        row.clear();
        for ((value, kind), is_sent) in values.into_iter().zip(&self.kinds).zip(&self.sent) {
            if *is_sent {
                self.sums[row.len()].add(&value);
                row.push(ours(value, kind)?);
            }
        }
        self.count += 1;
        Ok(true)
    }
}

/// Ticks of 100 ns.
fn ticks(units: u64, scale: u8) -> u64 {
    units.saturating_mul(10u64.pow(u32::from(7 - scale.min(7))))
}

fn days(days: u32) -> i32 {
    i32::try_from(days).unwrap_or(i32::MAX)
}

fn ours(value: Foreign, kind: &ColumnType) -> Result<Value> {
    let out_of_range = || Error::assertion("a value was read as one of its type");
    Ok(match value {
        Foreign::Null => Value::Null,
        Foreign::Bit(bit) => Value::Bit(bit),
        Foreign::Integer(number) => match kind.system {
            SystemType::TinyInt => Value::TinyInt(u8::try_from(number).map_err(|_| out_of_range())?),
            SystemType::SmallInt => Value::SmallInt(i16::try_from(number).map_err(|_| out_of_range())?),
            SystemType::Int => Value::Int(i32::try_from(number).map_err(|_| out_of_range())?),
            _ => Value::BigInt(number),
        },
        Foreign::Decimal {
            is_negative,
            digits,
            scale,
        } => {
            let digits = i128::try_from(digits).map_err(|_| out_of_range())?;
            let signed = if is_negative { -digits } else { digits };
            Value::Decimal(Decimal::new(signed, kind.precision.max(1), scale))
        }
        Foreign::Money(number) if kind.system == SystemType::SmallMoney => {
            Value::SmallMoney(i32::try_from(number).map_err(|_| out_of_range())?)
        }
        Foreign::Money(number) => Value::Money(number),
        Foreign::Real(number) => Value::Real(number),
        Foreign::Float(number) => Value::Float(number),
        Foreign::DateTime { days_since_1900, ticks } => Value::DateTime {
            days: days_since_1900,
            ticks,
        },
        Foreign::SmallDateTime {
            days_since_1900,
            minutes,
        } => Value::SmallDateTime {
            days: days_since_1900,
            minutes,
        },
        Foreign::Date(number) => Value::Date(days(number)),
        Foreign::Time { units, scale } => Value::Time(ticks(units, scale)),
        Foreign::DateTime2 {
            days: number,
            units,
            scale,
        } => Value::DateTime2 {
            days: days(number),
            ticks: ticks(units, scale),
        },
        Foreign::DateTimeOffset {
            days: number,
            units,
            scale,
            offset_minutes,
        } => Value::DateTimeOffset {
            days: days(number),
            ticks: ticks(units, scale),
            offset_minutes,
        },
        Foreign::Text(text) => Value::text(text),
        Foreign::Bytes(bytes) => Value::binary(bytes),
        Foreign::UniqueIdentifier(bytes) => Value::UniqueIdentifier(bytes),
        Foreign::Variant(inner, value) => match *value {
            Foreign::Null => Value::Null,
            value => Value::Variant(Arc::new(Variant {
                sql_type: sql_type(&inner),
                value: ours(value, &inner)?,
            })),
        },
    })
}
