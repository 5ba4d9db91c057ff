//! Types: parsing their written form, and the common type of two types.

use engine::error::Result;
use engine::types::{Length, SqlType};
use vlf::ServerVersion;

use crate::ast::{DataType, TypeArgument};
use crate::messages;

/// Where a type is written decides the length of `char` and its kin when none is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypePlace {
    /// A column or a variable: 1.
    Declaration,
    /// CAST and CONVERT: 30.
    Conversion,
}

/// The length that no type exceeds: one beyond it is 131, one beyond its own type's limit 2717.
const LENGTH_MAX: u32 = 8_000;

/// The type that a written type names in a version. `ordinal` is the number of the column or variable, for the error.
///
/// # Errors
/// 2715 for an unknown name (243 of CAST and CONVERT), 131, 1001, 2716, 2717, 2750, 2751 for arguments it does not take.
pub fn resolve(data_type: &DataType, place: TypePlace, ordinal: usize, version: ServerVersion) -> Result<SqlType> {
    let name = data_type.name.object().to_ascii_lowercase();
    let arguments = data_type.arguments.as_slice();
    if let Some(plain) = plain_type(&name).filter(|plain| is_known(*plain, version)) {
        return match arguments {
            [] => Ok(plain),
            // Who knows the database finds the collection.
            [TypeArgument::Collection { .. }] => Err(messages::not_supported("xml with a schema collection")),
            _ => Err(messages::type_takes_no_length(ordinal, &name)),
        };
    }
    let default_length = if place == TypePlace::Declaration { 1 } else { 30 };
    let length = |limit: u32| string_length(arguments, default_length, limit, &name, ordinal);
    let fixed = |limit: u32| match length(limit)? {
        Length::Limited(units) => Ok(units),
        Length::Max | Length::LargeObject | Length::Xml => Err(messages::type_takes_no_length(ordinal, &name)),
    };
    match name.as_str() {
        "decimal" | "numeric" | "dec" => decimal(arguments, ordinal),
        "float" => match first_number(arguments) {
            Some(1..=24) => Ok(SqlType::Real),
            None | Some(25..=53) => Ok(SqlType::Float),
            Some(other) => Err(messages::precision_too_large(ordinal, other, 53)),
        },
        "time" => Ok(SqlType::Time {
            scale: fraction(arguments, ordinal)?,
        }),
        "datetime2" => Ok(SqlType::DateTime2 {
            scale: fraction(arguments, ordinal)?,
        }),
        "datetimeoffset" => Ok(SqlType::DateTimeOffset {
            scale: fraction(arguments, ordinal)?,
        }),
        "char" | "character" => Ok(SqlType::Char(fixed(8000)?)),
        "varchar" => Ok(SqlType::VarChar(length(8000)?)),
        "nchar" => Ok(SqlType::NChar(fixed(4000)?)),
        "nvarchar" => Ok(SqlType::NVarChar(length(4000)?)),
        "binary" => Ok(SqlType::Binary(fixed(8000)?)),
        "varbinary" => Ok(SqlType::VarBinary(length(8000)?)),
        _ if place == TypePlace::Conversion => Err(messages::undefined_type(data_type.name.object())),
        _ => Err(messages::unknown_type(ordinal, data_type.name.object())),
    }
}

/// Whether a version of SQL Server has the type: `json` came with 2025 (sql-docs, "JSON data type").
pub fn is_known(sql_type: SqlType, version: ServerVersion) -> bool {
    sql_type != SqlType::Json || version >= ServerVersion::V2025
}

/// Types without arguments.
fn plain_type(name: &str) -> Option<SqlType> {
    Some(match name {
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" | "integer" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "money" => SqlType::Money,
        "smallmoney" => SqlType::SmallMoney,
        "real" => SqlType::Real,
        "date" => SqlType::Date,
        "datetime" => SqlType::DateTime,
        "smalldatetime" => SqlType::SmallDateTime,
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "sysname" => SqlType::SYSNAME,
        "text" => SqlType::VarChar(Length::LargeObject),
        "ntext" => SqlType::NVarChar(Length::LargeObject),
        "xml" => SqlType::XML,
        "image" => SqlType::VarBinary(Length::LargeObject),
        "timestamp" | "rowversion" => SqlType::RowVersion,
        "sql_variant" => SqlType::SqlVariant,
        "hierarchyid" => SqlType::HierarchyId,
        "json" => SqlType::Json,
        "geometry" => SqlType::Geometry,
        "geography" => SqlType::Geography,
        _ => return None,
    })
}

/// What a column of a type of the system is when nothing is said about NULL, and `unsaid` is what the session has for that: a
/// `sysname` is NOT NULL (sql-docs, "nchar and nvarchar").
pub fn is_nullable_unsaid(data_type: &DataType, unsaid: bool) -> bool {
    unsaid && !data_type.name.object().eq_ignore_ascii_case("sysname")
}

fn first_number(arguments: &[TypeArgument]) -> Option<u32> {
    match arguments.first() {
        Some(TypeArgument::Number(number)) => Some(*number),
        _ => None,
    }
}

fn string_length(arguments: &[TypeArgument], default: u16, limit: u32, name: &str, ordinal: usize) -> Result<Length> {
    match arguments {
        [] => Ok(Length::Limited(default)),
        [TypeArgument::Max] => Ok(Length::Max),
        [TypeArgument::Collection { .. }] => Err(messages::type_takes_no_length(ordinal, name)),
        [TypeArgument::Number(number)] if (1..=limit).contains(number) => Ok(Length::Limited(*number as u16)),
        [TypeArgument::Number(0)] => Err(messages::length_of_nothing()),
        [TypeArgument::Number(number)] if *number > LENGTH_MAX => Err(messages::length_too_large(*number, name)),
        [TypeArgument::Number(number)] => Err(messages::type_length_too_large(*number, name, limit)),
        _ => Err(messages::type_takes_no_length(ordinal, name)),
    }
}

fn decimal(arguments: &[TypeArgument], ordinal: usize) -> Result<SqlType> {
    let precision = first_number(arguments).unwrap_or(18);
    if !(1..=38).contains(&precision) {
        return Err(messages::precision_too_large(ordinal, precision, 38));
    }
    let scale = first_number(arguments.get(1..).unwrap_or_default()).unwrap_or(0);
    if scale > precision {
        return Err(messages::scale_too_large(ordinal, scale, precision));
    }
    Ok(SqlType::Decimal {
        precision: precision as u8,
        scale: scale as u8,
    })
}

fn fraction(arguments: &[TypeArgument], ordinal: usize) -> Result<u8> {
    match first_number(arguments) {
        None => Ok(7),
        Some(scale @ 0..=7) => Ok(scale as u8),
        Some(scale) => Err(messages::scale_too_large(ordinal, scale, 7)),
    }
}

/// Rank in SQL Server's data type precedence (SQL Server docs); the higher type wins.
pub fn precedence(sql_type: SqlType) -> u8 {
    match sql_type {
        // User-defined types are above all others (sql-docs, "Data type precedence").
        SqlType::Geography => 30,
        SqlType::Geometry => 29,
        SqlType::Json => 28,
        SqlType::HierarchyId => 27,
        SqlType::SqlVariant => 26,
        SqlType::DateTimeOffset { .. } => 25,
        SqlType::DateTime2 { .. } => 24,
        SqlType::DateTime => 23,
        SqlType::SmallDateTime => 22,
        SqlType::Date => 21,
        SqlType::Time { .. } => 20,
        SqlType::Float => 19,
        SqlType::Real => 18,
        SqlType::Decimal { .. } => 17,
        SqlType::Money => 16,
        SqlType::SmallMoney => 15,
        SqlType::BigInt => 14,
        SqlType::Int => 13,
        SqlType::SmallInt => 12,
        SqlType::TinyInt => 11,
        SqlType::Bit => 10,
        SqlType::RowVersion => 9,
        SqlType::UniqueIdentifier => 8,
        SqlType::NVarChar(_) => 7,
        SqlType::NChar(_) => 6,
        SqlType::VarChar(_) => 5,
        SqlType::Char(_) => 4,
        SqlType::VarBinary(_) => 3,
        SqlType::Binary(_) => 2,
    }
}

/// The digits of an exact number; `None` for what is none.
pub fn exact_digits(sql_type: SqlType) -> Option<(u8, u8)> {
    Some(match sql_type {
        SqlType::Decimal { precision, scale } => (precision, scale),
        SqlType::Bit => (1, 0),
        SqlType::TinyInt => (3, 0),
        SqlType::SmallInt => (5, 0),
        SqlType::Int => (10, 0),
        SqlType::BigInt => (19, 0),
        SqlType::Money => (19, 4),
        SqlType::SmallMoney => (10, 4),
        _ => return None,
    })
}

/// A decimal type with precision and scale cut to what exists, keeping whole digits before fraction digits.
pub fn decimal_type(precision: u32, scale: u32) -> SqlType {
    let whole = precision.saturating_sub(scale);
    let scale = if precision > 38 {
        scale.min(38u32.saturating_sub(whole))
    } else {
        scale
    };
    SqlType::Decimal {
        precision: precision.clamp(1, 38) as u8,
        scale: scale.min(38) as u8,
    }
}

/// The type two values meet in: CASE, UNION, comparison, COALESCE.
pub fn common_type(left: SqlType, right: SqlType) -> SqlType {
    if left == right {
        return left;
    }
    let (high, low) = if precedence(left) >= precedence(right) {
        (left, right)
    } else {
        (right, left)
    };
    match (high, low) {
        (SqlType::Decimal { precision, scale }, _) => match exact_digits(low) {
            Some((other_precision, other_scale)) => {
                let scale_max = u32::from(scale.max(other_scale));
                let whole = u32::from((precision - scale).max(other_precision - other_scale));
                decimal_type(whole + scale_max, scale_max)
            }
            None => high,
        },
        (SqlType::Time { scale: a }, SqlType::Time { scale: b }) => SqlType::Time { scale: a.max(b) },
        (SqlType::DateTime2 { scale }, _) => SqlType::DateTime2 {
            scale: scale.max(temporal_scale(low)),
        },
        (SqlType::DateTimeOffset { scale }, _) => SqlType::DateTimeOffset {
            scale: scale.max(temporal_scale(low)),
        },
        _ if high.is_character() && low.is_character() => common_string(high, low),
        _ if high.is_binary() && low.is_binary() => match (high, low) {
            (SqlType::RowVersion, _) => SqlType::RowVersion,
            (SqlType::Binary(a), SqlType::Binary(b)) => SqlType::Binary(a.max(b)),
            _ => SqlType::VarBinary(byte_length(high).max(byte_length(low))),
        },
        _ => high,
    }
}

fn temporal_scale(sql_type: SqlType) -> u8 {
    if sql_type.is_temporal() { sql_type.scale() } else { 0 }
}

/// Declared length in characters or bytes.
pub fn byte_length(sql_type: SqlType) -> Length {
    match sql_type {
        SqlType::Char(units) | SqlType::NChar(units) | SqlType::Binary(units) => Length::Limited(units),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => length,
        SqlType::RowVersion => Length::Limited(8),
        _ => Length::Limited(0),
    }
}

fn common_string(high: SqlType, low: SqlType) -> SqlType {
    let length = byte_length(high).max(byte_length(low));
    match (high, low, length) {
        (_, _, Length::Xml) => SqlType::XML,
        (SqlType::Char(_), SqlType::Char(_), Length::Limited(units)) => SqlType::Char(units),
        (SqlType::NChar(_), SqlType::NChar(_) | SqlType::Char(_), Length::Limited(units)) => {
            SqlType::NChar(units.min(4000))
        }
        _ => string_type(high.is_unicode() || low.is_unicode(), length),
    }
}

/// A variable string type; a double-byte length beyond 4000 is cut to 4000.
pub fn string_type(unicode: bool, length: Length) -> SqlType {
    match (unicode, length) {
        (true, Length::Limited(units)) => SqlType::NVarChar(Length::Limited(units.clamp(1, 4000))),
        (true, Length::Max | Length::LargeObject) => SqlType::NVarChar(length),
        (true, Length::Xml) => SqlType::NVarChar(Length::Max),
        (false, Length::Xml) => SqlType::VarChar(Length::Max),
        (false, Length::Limited(units)) => SqlType::VarChar(Length::Limited(units.clamp(1, 8000))),
        (false, Length::Max | Length::LargeObject) => SqlType::VarChar(length),
    }
}

/// The number of characters a value of the type may take as text.
pub fn text_units(sql_type: SqlType) -> Length {
    match sql_type {
        _ if sql_type.is_character() || sql_type.is_binary() => byte_length(sql_type),
        SqlType::Bit => Length::Limited(1),
        SqlType::TinyInt => Length::Limited(4),
        SqlType::SmallInt => Length::Limited(7),
        SqlType::Int => Length::Limited(12),
        SqlType::BigInt => Length::Limited(24),
        SqlType::UniqueIdentifier => Length::Limited(36),
        SqlType::Decimal { .. } => Length::Limited(41),
        // What ToString gives (sql-docs, "ToString (Database Engine)").
        SqlType::HierarchyId => Length::Limited(4_000),
        SqlType::Json | SqlType::Geometry | SqlType::Geography => Length::Max,
        _ => Length::Limited(53),
    }
}

/// Whether `text`, `ntext` or `image` on either side converts: text with strings, image with binary strings and from single-byte strings
/// (sql-docs, "CAST and CONVERT", chart).
fn converts_large_object(from: SqlType, to: SqlType) -> bool {
    if from.is_character() {
        to.is_character() || to.is_binary() && to.is_large_object() && !from.is_unicode() && !from.is_large_object()
    } else {
        from.is_binary() && to.is_binary()
    }
}

/// Whether xml comes from the other type, or goes out to it: strings and bytes. `None` for types that nothing but CAST would bring together.
fn converts_xml(from: SqlType, to: SqlType, explicit: bool) -> Option<bool> {
    let other = if from == SqlType::XML { to } else { from };
    let is_string = (other.is_character() || other.is_binary()) && other != SqlType::RowVersion;
    match (is_string, explicit) {
        (true, _) => Some(to == SqlType::XML || explicit && !to.is_large_object()),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

/// Whether `geometry` or `geography` comes from the other type, or goes out to it.
fn converts_spatial(from: SqlType, to: SqlType) -> bool {
    let other = if to.is_spatial() { from } else { to };
    let is_string = other.is_character() || other.is_binary();
    is_string && !other.is_large_object() && other != SqlType::RowVersion
}

/// Whether a value converts to another type without being asked for.
///
/// # Errors
/// 206, 257 or 529 when it does not (SQL Server docs, conversion chart).
pub fn check_conversion(from: SqlType, to: SqlType, explicit: bool) -> Result<()> {
    let clash = || messages::operand_type_clash(from.name(), to.name());
    let denied = || {
        if explicit {
            messages::explicit_conversion(from.name(), to.name())
        } else {
            messages::implicit_conversion(from.name(), to.name())
        }
    };
    let day_only = |sql_type: SqlType| {
        matches!(
            sql_type,
            SqlType::Date | SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. }
        )
    };
    let allowed = match (from, to) {
        _ if from == to => true,
        // Strings come in by themselves, and it goes out to these when it is asked to (sql-docs, "JSON data type").
        (SqlType::Json, _) | (_, SqlType::Json) => {
            let other = if from == SqlType::Json { to } else { from };
            match (other.is_character() && !other.is_large_object(), explicit) {
                (true, _) => explicit || to == SqlType::Json,
                (false, true) => false,
                (false, false) => return Err(clash()),
            }
        }
        // Likewise, bytes too; text, ntext and image come in alone (sql-docs, "CAST and CONVERT", chart).
        (SqlType::XML, _) | (_, SqlType::XML) => converts_xml(from, to, explicit).ok_or_else(clash)?,
        // Strings and bytes come in by themselves, and they go out to these when they are asked to (sql-docs, "CAST and CONVERT", chart).
        _ if from.is_spatial() || to.is_spatial() => match (converts_spatial(from, to), explicit) {
            (true, _) => explicit || to.is_spatial(),
            (false, true) => false,
            (false, false) => return Err(clash()),
        },
        _ if from.is_large_object() || to.is_large_object() => match (converts_large_object(from, to), explicit) {
            (true, _) => true,
            (false, true) => false,
            (false, false) => return Err(clash()),
        },
        // Likewise.
        (_, SqlType::HierarchyId) if from.is_character() || from.is_binary() => from != SqlType::RowVersion,
        (SqlType::HierarchyId, _) if to.is_character() || to.is_binary() => explicit && to != SqlType::RowVersion,
        (_, SqlType::HierarchyId) | (SqlType::HierarchyId, _) => match explicit {
            true => false,
            false => return Err(clash()),
        },
        // A variant holds anything but the max types and rowversion, and comes out by CAST alone (sql-docs, "sql_variant").
        (SqlType::RowVersion, SqlType::SqlVariant) => return Err(clash()),
        (_, SqlType::SqlVariant) => match byte_length(from) {
            Length::Max | Length::LargeObject | Length::Xml => return Err(clash()),
            Length::Limited(_) => true,
        },
        (SqlType::SqlVariant, _) => explicit,
        (SqlType::UniqueIdentifier, _) => to.is_character() || to.is_binary() || to == SqlType::UniqueIdentifier,
        (_, SqlType::UniqueIdentifier) => from.is_character() || from.is_binary(),
        (SqlType::Date, SqlType::Time { .. }) | (SqlType::Time { .. }, SqlType::Date) => return Err(clash()),
        _ if from.is_numeric() && day_only(to) || day_only(from) && to.is_numeric() => {
            return Err(if explicit { denied() } else { clash() });
        }
        _ if matches!(from, SqlType::DateTime | SqlType::SmallDateTime) && to.is_numeric() => explicit,
        (SqlType::Real | SqlType::Float, _) if to.is_binary() => explicit,
        _ if from.is_binary() && matches!(to, SqlType::Real | SqlType::Float) => false,
        _ if from.is_character() && to.is_binary() => explicit,
        _ => true,
    };
    if allowed { Ok(()) } else { Err(denied()) }
}
