//! Columns as `sp_columns` describes them to clients of ODBC 2, the default unless `@ODBCVer` asks for 3.
//!
//! ODBC 2 lacks later types: dates, times, `datetime2` and `datetimeoffset` are Unicode strings, `max` types are the old large types.
//! Figures are captures of SQL Server 2025 (github.com/mirek/bitsql, `sp-columns`):
//!
//! ```text
//! column          DATA_TYPE  TYPE_NAME  PRECISION   LENGTH      SCALE  RADIX  SS_DATA_TYPE
//! nvarchar(max)   -10        ntext      1073741823  2147483646
//! datetime2(3)    -9         datetime2  23          46                        0
//! date            -9         date       10          20                        0
//! time(7)         -9         time       16          32                        0
//! datetime        11         datetime   23          16          3             111
//! float           6          float      15          8                  10     109
//! char(2)         1          char       2           2                         39
//! ```

use engine::catalog::ColumnDefinition;
use engine::types::{SqlType, Value};

use super::catalog::small;

/// Places of a row of `sp_columns`.
const DATA_TYPE: usize = 4;
const TYPE_NAME: usize = 5;
const PRECISION: usize = 6;
const LENGTH: usize = 7;
const SCALE: usize = 8;
const RADIX: usize = 9;
const SQL_DATA_TYPE: usize = 13;
const SQL_DATETIME_SUB: usize = 14;
const CHAR_OCTET_LENGTH: usize = 15;
const SS_DATA_TYPE: usize = 18;

const WIDE_TEXT: i16 = -9;

/// A row of `sp_columns` for ODBC 2.
pub(super) fn of_version_2(column: &ColumnDefinition, mut row: Vec<Value>) -> Vec<Value> {
    let mut set = |place: usize, value: Value| {
        if let Some(cell) = row.get_mut(place) {
            *cell = value;
        }
    };
    match column.sql_type {
        SqlType::Date | SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. } => {
            let characters = characters_of(column.sql_type);
            set(DATA_TYPE, small(WIDE_TEXT));
            set(SQL_DATA_TYPE, small(WIDE_TEXT));
            set(PRECISION, characters.into());
            set(LENGTH, (2 * characters).into());
            for place in [SCALE, RADIX, SQL_DATETIME_SUB] {
                set(place, Value::Null);
            }
            set(CHAR_OCTET_LENGTH, Value::Null);
            set(SS_DATA_TYPE, Value::TinyInt(0));
        }
        SqlType::DateTime | SqlType::SmallDateTime => set(DATA_TYPE, small(11)),
        SqlType::Float | SqlType::Real => {
            let digits = if column.sql_type == SqlType::Float { 15 } else { 7 };
            set(PRECISION, digits.into());
            set(RADIX, small(10));
        }
        SqlType::NVarChar(_) if column.sql_type.is_max() => {
            set(TYPE_NAME, "ntext".into());
            set(PRECISION, (i32::MAX / 2).into());
            set(LENGTH, (i32::MAX - 1).into());
            set(CHAR_OCTET_LENGTH, (i32::MAX - 1).into());
        }
        SqlType::VarChar(_) if column.sql_type.is_max() => set(TYPE_NAME, "text".into()),
        SqlType::VarBinary(_) if column.sql_type.is_max() => set(TYPE_NAME, "image".into()),
        SqlType::Char(_) | SqlType::NChar(_) if column.nullable => set(SS_DATA_TYPE, Value::TinyInt(39)),
        SqlType::Binary(_) if column.nullable => set(SS_DATA_TYPE, Value::TinyInt(37)),
        _ => {}
    }
    row
}

/// The characters of a date or time as a string.
fn characters_of(sql_type: SqlType) -> i32 {
    let with_fraction = |whole: i32| match i32::from(sql_type.scale()) {
        0 => whole,
        digits => whole + 1 + digits,
    };
    match sql_type {
        SqlType::Date => 10,
        SqlType::Time { .. } => with_fraction(8),
        SqlType::DateTimeOffset { .. } => with_fraction(19) + 7,
        _ => with_fraction(19),
    }
}
