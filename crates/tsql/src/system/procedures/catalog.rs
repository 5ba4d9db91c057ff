//! The ODBC and JDBC catalog procedures: `sp_tables`, `sp_columns`, `sp_pkeys`, `sp_fkeys`, `sp_statistics`, `sp_datatype_info`,
//! `sp_server_info` (sql-docs, "Catalog stored procedures"; type codes: ODBC's `sql.h` and `sqlext.h`).

use engine::catalog::{ColumnDefinition, TableDefinition};
use engine::error::{Error, Result};
use engine::types::{Collation, Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{INT, NAME, SystemProcedure, integer, odbc2, text};
use crate::scalar::like::{Blanks, Pattern};
use crate::views::shown_default;
use crate::views::{
    ObjectRow, columns_of, every, object_rows, referenced_key, sizes_of, table_of, tables, with_columns,
};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_tables",
        parameters: &[
            ("@table_name", NAME, false),
            ("@table_owner", NAME, false),
            ("@table_qualifier", NAME, false),
            ("@table_type", SqlType::VarChar(Length::Limited(100)), false),
            ("@fUsePattern", SqlType::Bit, false),
        ],
        run: list_tables,
    },
    SystemProcedure {
        name: "sp_columns",
        parameters: COLUMN_PARAMETERS,
        run: list_columns,
    },
    SystemProcedure {
        name: "sp_pkeys",
        parameters: TABLE_PARAMETERS,
        run: primary_keys,
    },
    SystemProcedure {
        name: "sp_fkeys",
        parameters: FOREIGN_KEY_PARAMETERS,
        run: foreign_keys,
    },
    SystemProcedure {
        name: "sp_statistics",
        parameters: STATISTICS_PARAMETERS,
        run: statistics,
    },
    SystemProcedure {
        name: "sp_statistics_100",
        parameters: STATISTICS_PARAMETERS,
        run: statistics,
    },
    SystemProcedure {
        name: "sp_datatype_info",
        parameters: TYPE_PARAMETERS,
        run: data_types,
    },
    SystemProcedure {
        name: "sp_datatype_info_90",
        parameters: TYPE_PARAMETERS,
        run: data_types,
    },
    SystemProcedure {
        name: "sp_datatype_info_100",
        parameters: TYPE_PARAMETERS,
        run: data_types,
    },
    SystemProcedure {
        name: "sp_server_info",
        parameters: &[("@attribute_id", INT, false)],
        run: server_information,
    },
];

type Parameters = &'static [super::Parameter];

pub(super) const COLUMN_PARAMETERS: Parameters = &[
    ("@table_name", NAME, true),
    ("@table_owner", NAME, false),
    ("@table_qualifier", NAME, false),
    ("@column_name", NAME, false),
    ("@NameScope", INT, false),
    ("@ODBCVer", INT, false),
    ("@fUsePattern", SqlType::Bit, false),
];
pub(super) const TABLE_PARAMETERS: Parameters = &[
    ("@table_name", NAME, true),
    ("@table_owner", NAME, false),
    ("@table_qualifier", NAME, false),
];
const FOREIGN_KEY_PARAMETERS: Parameters = &[
    ("@pktable_name", NAME, false),
    ("@pktable_owner", NAME, false),
    ("@pktable_qualifier", NAME, false),
    ("@fktable_name", NAME, false),
    ("@fktable_owner", NAME, false),
    ("@fktable_qualifier", NAME, false),
];
const STATISTICS_PARAMETERS: Parameters = &[
    ("@table_name", NAME, true),
    ("@table_owner", NAME, false),
    ("@table_qualifier", NAME, false),
    ("@index_name", NAME, false),
    ("@is_unique", SqlType::Char(1), false),
    ("@accuracy", SqlType::Char(1), false),
];
const TYPE_PARAMETERS: Parameters = &[("@data_type", INT, false), ("@ODBCVer", SqlType::TinyInt, false)];

pub(super) const SYSNAME: SqlType = SqlType::SYSNAME;
pub(super) const SMALLINT: SqlType = SqlType::SmallInt;

pub(super) const fn varchar(length: u16) -> SqlType {
    SqlType::VarChar(Length::Limited(length))
}

pub(super) fn small(number: i16) -> Value {
    Value::SmallInt(number)
}

/// Whether a name fits an argument: a LIKE pattern with `\` as its escape, or the name itself when patterns are off.
pub(super) fn fits(name: &str, wanted: Option<&str>, patterns: bool) -> bool {
    match wanted {
        None => true,
        // A request that is to stop ends at the next row; what fits until then no longer matters.
        Some(wanted) if patterns => Pattern::new(&wanted.to_lowercase(), Some('\\'), Collation::default())
            .matches(&name.to_lowercase(), Blanks::Count)
            .unwrap_or(false),
        Some(wanted) => name.eq_ignore_ascii_case(wanted),
    }
}

pub(super) fn uses_patterns(arguments: &[Value], place: usize) -> bool {
    integer(arguments, place) != Some(0)
}

/// Tables and views, system views too.
fn list_tables(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut table = Table::new(&[
        ("TABLE_QUALIFIER", SYSNAME),
        ("TABLE_OWNER", SYSNAME),
        ("TABLE_NAME", SYSNAME),
        ("TABLE_TYPE", varchar(32)),
        ("REMARKS", varchar(254)),
    ]);
    let patterns = uses_patterns(arguments, 4);
    let types = text(arguments, 3).map(str::to_uppercase);
    let mut rows: Vec<(String, String, &'static str)> = Vec::new();
    for row in object_rows(context) {
        match row.kind.0 {
            "U" => rows.push((row.schema, row.name, "TABLE")),
            "V" => rows.push((row.schema, row.name, "VIEW")),
            _ => {}
        }
    }
    rows.extend(
        every()
            .filter(|view| view.parameters.is_empty())
            .map(|view| (view.schema.to_owned(), view.name.to_owned(), "VIEW")),
    );
    rows.sort_by(|left, right| (left.2, &left.0, &left.1).cmp(&(right.2, &right.0, &right.1)));
    for (schema, name, kind) in rows {
        let is_meant = fits(&name, text(arguments, 0), patterns)
            && fits(&schema, text(arguments, 1), patterns)
            && types.as_ref().is_none_or(|types| types.contains(&format!("'{kind}'")));
        if is_meant {
            table.push(vec![
                context.database.name().into(),
                schema.into(),
                name.into(),
                kind.into(),
                Value::Null,
            ]);
        }
    }
    table.send(host).map(|()| 0)
}

/// A type as ODBC describes it.
pub(super) struct OdbcType {
    /// `SQL_...` of ODBC 3.
    pub(super) code: i16,
    /// `SQL_DATETIME` for dates and times, else the code.
    pub(super) verbose: i16,
    /// The part behind `SQL_DATETIME`.
    pub(super) sub: Option<i16>,
    /// Type token of TDS for `SS_DATA_TYPE`.
    pub(super) token: u8,
    /// Digits or characters.
    pub(super) precision: i32,
    /// Bytes of the C type.
    pub(super) length: i32,
    pub(super) scale: Option<i16>,
    pub(super) radix: Option<i16>,
}

pub(super) fn odbc(sql_type: SqlType) -> OdbcType {
    let bytes = i32::from(sql_type.max_length());
    let is_max = sql_type.is_max();
    let characters = |unit: i32| if is_max { i32::MAX / unit } else { bytes / unit };
    let octets = if is_max { i32::MAX } else { bytes };
    let exact = |code, token, precision, length| (code, code, None, token, precision, length, Some(0), Some(10));
    let decimal_bytes = i32::from(sql_type.precision()) + 2;
    let decimal_scale = Some(i16::from(sql_type.scale()));
    let variable = |code, token, precision, length| (code, code, None, token, precision, length, None, None);
    let (code, verbose, sub, token, precision, length, scale, radix) = match sql_type {
        SqlType::Bit => (-7, -7, None, 50, 1, 1, None, None),
        SqlType::TinyInt => exact(-6, 48, 3, 1),
        SqlType::SmallInt => exact(5, 52, 5, 2),
        SqlType::Int => exact(4, 56, 10, 4),
        SqlType::BigInt => exact(-5, 63, 19, 8),
        SqlType::Decimal { precision, .. } => (
            3,
            3,
            None,
            106,
            i32::from(precision),
            decimal_bytes,
            decimal_scale,
            Some(10),
        ),
        SqlType::Money => (3, 3, None, 60, 19, 21, Some(4), Some(10)),
        SqlType::SmallMoney => (3, 3, None, 122, 10, 12, Some(4), Some(10)),
        SqlType::Real => (7, 7, None, 59, 24, 4, None, Some(2)),
        SqlType::Float => (6, 6, None, 62, 53, 8, None, Some(2)),
        SqlType::Date => (91, 9, Some(1), 40, 10, 6, Some(0), None),
        SqlType::Time { .. } => (-154, -154, None, 41, 16, 12, decimal_scale, None),
        SqlType::DateTime => (93, 9, Some(3), 61, 23, 16, Some(3), None),
        SqlType::SmallDateTime => (93, 9, Some(3), 58, 16, 16, Some(0), None),
        SqlType::DateTime2 { .. } => (93, 9, Some(3), 42, 27, 16, decimal_scale, None),
        SqlType::DateTimeOffset { .. } => (-155, -155, None, 43, 34, 20, decimal_scale, None),
        SqlType::Char(_) => variable(1, 47, characters(1), octets),
        SqlType::VarChar(_) => variable(if is_max { -1 } else { 12 }, 39, characters(1), octets),
        SqlType::NChar(_) => variable(-8, 47, characters(2), octets),
        SqlType::NVarChar(_) => variable(if is_max { -10 } else { -9 }, 39, characters(2), octets),
        SqlType::Binary(_) | SqlType::RowVersion => variable(-2, 45, characters(1), octets),
        SqlType::VarBinary(_) => variable(if is_max { -4 } else { -3 }, 37, characters(1), octets),
        SqlType::UniqueIdentifier => (-11, -11, None, 37, 36, 16, None, None),
        // SQL_SS_UDT of the ODBC driver.
        SqlType::HierarchyId => (-151, -151, None, 37, 892, 892, None, None),
        SqlType::Geometry | SqlType::Geography => (-151, -151, None, 37, 0, 0, None, None),
        // As clients see it: varchar(max).
        SqlType::Json => variable(-1, 39, characters(1), octets),
        SqlType::SqlVariant => (-150, -150, None, 39, 8000, 8000, None, Some(10)),
    };
    OdbcType {
        code,
        verbose,
        sub,
        token,
        precision,
        length,
        scale,
        radix,
    }
}

pub(super) fn optional(number: Option<i16>) -> Value {
    number.map_or(Value::Null, Value::SmallInt)
}

/// What `sp_columns` tells of a column, up to the type token that stands last.
pub(super) const COLUMN_HEAD: [(&str, SqlType); 18] = [
    ("TABLE_QUALIFIER", SYSNAME),
    ("TABLE_OWNER", SYSNAME),
    ("TABLE_NAME", SYSNAME),
    ("COLUMN_NAME", SYSNAME),
    ("DATA_TYPE", SMALLINT),
    ("TYPE_NAME", SYSNAME),
    ("PRECISION", INT),
    ("LENGTH", INT),
    ("SCALE", SMALLINT),
    ("RADIX", SMALLINT),
    ("NULLABLE", SMALLINT),
    ("REMARKS", varchar(254)),
    ("COLUMN_DEF", SqlType::NVarChar(Length::Limited(4000))),
    ("SQL_DATA_TYPE", SMALLINT),
    ("SQL_DATETIME_SUB", SMALLINT),
    ("CHAR_OCTET_LENGTH", INT),
    ("ORDINAL_POSITION", INT),
    ("IS_NULLABLE", varchar(254)),
];
pub(super) const COLUMN_TOKEN: (&str, SqlType) = ("SS_DATA_TYPE", SqlType::TinyInt);

fn list_columns(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let columns = [COLUMN_HEAD.as_slice(), &[COLUMN_TOKEN]].concat();
    let mut answer = Table::new(&columns);
    each_column(context, arguments, |_, row| answer.push(row));
    answer.send(host).map(|()| 0)
}

/// Every column of the tables and views that the arguments of `sp_columns` mean, with its row.
pub(super) fn each_column(
    context: &SystemContext<'_>,
    arguments: &[Value],
    mut work: impl FnMut(&ColumnDefinition, Vec<Value>),
) {
    let patterns = uses_patterns(arguments, 6);
    let version = integer(arguments, 5).unwrap_or(2);
    for (owner, object) in with_columns(context) {
        if !fits(&owner.name, text(arguments, 0), patterns) || !fits(&owner.schema, text(arguments, 1), patterns) {
            continue;
        }
        for (place, column) in columns_of(&object).iter().enumerate() {
            if fits(&column.name, text(arguments, 3), patterns) {
                let row = column_row(context, &owner, column, place);
                let row = match version {
                    2 => odbc2::of_version_2(column, row),
                    _ => row,
                };
                work(column, row);
            }
        }
    }
}

fn column_row(context: &SystemContext<'_>, owner: &ObjectRow, column: &ColumnDefinition, place: usize) -> Vec<Value> {
    let odbc = odbc(column.sql_type);
    let is_text = column.sql_type.is_character() || column.sql_type.is_binary();
    let identity = if column.identity.is_some() { " identity" } else { "" };
    vec![
        context.database.name().into(),
        owner.schema.as_str().into(),
        owner.name.as_str().into(),
        column.name.as_str().into(),
        small(odbc.code),
        format!("{}{identity}", column.type_name()).into(),
        odbc.precision.into(),
        odbc.length.into(),
        optional(odbc.scale),
        optional(odbc.radix),
        small(i16::from(column.nullable)),
        Value::Null,
        shown_default(context, column).into(),
        small(odbc.verbose),
        optional(odbc.sub),
        if is_text { odbc.length.into() } else { Value::Null },
        (place as i32 + 1).into(),
        if column.nullable { "YES" } else { "NO" }.into(),
        // The nullable form of a type has a token of its own.
        Value::TinyInt(if column.nullable {
            nullable_token(odbc.token)
        } else {
            odbc.token
        }),
    ]
}

pub(super) fn nullable_token(token: u8) -> u8 {
    match token {
        48 | 52 | 56 | 63 => 38,
        59 | 62 => 109,
        60 | 122 => 110,
        58 | 61 => 111,
        other => other,
    }
}

fn named_tables(context: &SystemContext<'_>, arguments: &[Value]) -> Vec<(ObjectRow, TableDefinition)> {
    let wanted = |owner: &ObjectRow| {
        fits(&owner.name, text(arguments, 0), false) && fits(&owner.schema, text(arguments, 1), false)
    };
    let tables = tables(context).into_iter().filter(|(owner, _)| wanted(owner));
    tables
        .filter_map(|(owner, object)| Some((owner, table_of(&object)?.clone())))
        .collect()
}

fn primary_keys(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut answer = Table::new(&[
        ("TABLE_QUALIFIER", SYSNAME),
        ("TABLE_OWNER", SYSNAME),
        ("TABLE_NAME", SYSNAME),
        ("COLUMN_NAME", SYSNAME),
        ("KEY_SEQ", SMALLINT),
        ("PK_NAME", SYSNAME),
    ]);
    for (owner, table) in named_tables(context, arguments) {
        let Some(index) = table.every_index().find(|index| index.primary_key) else {
            continue;
        };
        for (place, &(column, _)) in index.keys.iter().enumerate() {
            answer.push(vec![
                context.database.name().into(),
                owner.schema.as_str().into(),
                owner.name.as_str().into(),
                table.columns.get(column).map(|column| column.name.as_str()).into(),
                small(place as i16 + 1),
                index.name.as_str().into(),
            ]);
        }
    }
    answer.send(host).map(|()| 0)
}

/// `UPDATE_RULE` and `DELETE_RULE` of NO ACTION, and `DEFERRABILITY` of what is checked at once (ODBC's `SQL_NO_ACTION` and
/// `SQL_NOT_DEFERRABLE`).
const NO_ACTION: i16 = 1;
const NOT_DEFERRABLE: i16 = 7;

/// Foreign keys by the table they refer to, the one that has them, or both: a row for each column.
fn foreign_keys(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    if text(arguments, 0).is_none() && text(arguments, 3).is_none() {
        let text = "The primary or foreign key table name must be given.";
        return Err(Error::new(15_252, 16, 1, text));
    }
    let name_of = |table: &TableDefinition, column: usize| -> Value {
        table.columns.get(column).map(|column| column.name.as_str()).into()
    };
    let mut rows: Vec<((String, String, String), Vec<Value>)> = Vec::new();
    for (owner, table) in named_tables(context, arguments.get(3..).unwrap_or_default()) {
        for key in &table.foreign_keys {
            let Some((referenced, index)) = referenced_key(context, key) else {
                continue;
            };
            if !fits(&referenced.name, text(arguments, 0), false)
                || !fits(&referenced.schema, text(arguments, 1), false)
            {
                continue;
            }
            // Tables that refer to one, by their names; tables that one refers to, by theirs (sql-docs, sp_fkeys).
            let order = match text(arguments, 0) {
                Some(_) => (owner.schema.clone(), owner.name.clone(), key.name.clone()),
                None => (referenced.schema.clone(), referenced.name.clone(), key.name.clone()),
            };
            for (place, (&own, &other)) in key.columns.iter().zip(&key.referenced_columns).enumerate() {
                let row = vec![
                    context.database.name().into(),
                    referenced.schema.as_str().into(),
                    referenced.name.as_str().into(),
                    name_of(&referenced, other),
                    context.database.name().into(),
                    owner.schema.as_str().into(),
                    owner.name.as_str().into(),
                    name_of(&table, own),
                    small(place as i16 + 1),
                    small(NO_ACTION),
                    small(NO_ACTION),
                    key.name.as_str().into(),
                    index.as_str().into(),
                    small(NOT_DEFERRABLE),
                ];
                rows.push((order.clone(), row));
            }
        }
    }
    rows.sort_by(|left, right| left.0.cmp(&right.0));
    let mut answer = Table::new(&FOREIGN_KEY_COLUMNS);
    rows.into_iter().for_each(|(_, row)| answer.push(row));
    answer.send(host).map(|()| 0)
}

const FOREIGN_KEY_COLUMNS: [(&str, SqlType); 14] = [
    ("PKTABLE_QUALIFIER", SYSNAME),
    ("PKTABLE_OWNER", SYSNAME),
    ("PKTABLE_NAME", SYSNAME),
    ("PKCOLUMN_NAME", SYSNAME),
    ("FKTABLE_QUALIFIER", SYSNAME),
    ("FKTABLE_OWNER", SYSNAME),
    ("FKTABLE_NAME", SYSNAME),
    ("FKCOLUMN_NAME", SYSNAME),
    ("KEY_SEQ", SMALLINT),
    ("UPDATE_RULE", SMALLINT),
    ("DELETE_RULE", SMALLINT),
    ("FK_NAME", SYSNAME),
    ("PK_NAME", SYSNAME),
    ("DEFERRABILITY", SMALLINT),
];

/// A row for the table, then one for each key column of each index.
fn statistics(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut answer = Table::new(&[
        ("TABLE_QUALIFIER", SYSNAME),
        ("TABLE_OWNER", SYSNAME),
        ("TABLE_NAME", SYSNAME),
        ("NON_UNIQUE", SMALLINT),
        ("INDEX_QUALIFIER", SYSNAME),
        ("INDEX_NAME", SYSNAME),
        ("TYPE", SMALLINT),
        ("SEQ_IN_INDEX", SMALLINT),
        ("COLUMN_NAME", SYSNAME),
        ("COLLATION", SqlType::Char(1)),
        ("CARDINALITY", INT),
        ("PAGES", INT),
        ("FILTER_CONDITION", varchar(128)),
    ]);
    let only_unique = text(arguments, 4).is_some_and(|unique| unique.eq_ignore_ascii_case("Y"));
    for (owner, table) in named_tables(context, arguments) {
        let begin = [
            context.database.name().into(),
            owner.schema.as_str().into(),
            owner.name.as_str().into(),
        ];
        let sizes = sizes_of(context, owner.object_id)?;
        let size = |index: u32| {
            let number = |number: u64| Value::Int(i32::try_from(number).unwrap_or(i32::MAX));
            let found = sizes.iter().find(|(own, ..)| *own == index);
            found.map_or([Value::Null, Value::Null], |(_, rows, pages)| {
                [number(*rows), number(*pages)]
            })
        };
        let mut whole = begin.to_vec();
        whole.extend([Value::Null, Value::Null, Value::Null, small(0)]);
        whole.resize(10, Value::Null);
        whole.extend(size(u32::from(table.heap.is_none())));
        whole.push(Value::Null);
        answer.push(whole);
        for index in table.indexes.iter().filter(|index| index.unique || !only_unique) {
            for (place, &(column, descending)) in index.keys.iter().enumerate() {
                let mut row = begin.to_vec();
                row.extend([
                    small(i16::from(!index.unique)),
                    owner.name.as_str().into(),
                    index.name.as_str().into(),
                    small(if index.index_id == 1 { 1 } else { 3 }),
                    small(place as i16 + 1),
                    table.columns.get(column).map(|column| column.name.as_str()).into(),
                    if descending { "D" } else { "A" }.into(),
                ]);
                row.extend(size(index.index_id));
                row.push(Value::Null);
                answer.push(row);
            }
        }
    }
    answer.send(host).map(|()| 0)
}

/// How a type is written: its name, the quotes around a constant, and what stands in parentheses.
struct Spelling(
    &'static str,
    SqlType,
    Option<&'static str>,
    Option<&'static str>,
    Option<&'static str>,
);

/// The quote around constants.
const QUOTE: Option<&str> = Some("'");

/// Every type in the order of their ODBC codes, as `sp_datatype_info` lists them.
const SPELLINGS: [Spelling; 29] = [
    Spelling(
        "datetimeoffset",
        SqlType::DateTimeOffset { scale: 7 },
        QUOTE,
        QUOTE,
        Some("scale"),
    ),
    Spelling("time", SqlType::Time { scale: 7 }, QUOTE, QUOTE, Some("scale")),
    Spelling("uniqueidentifier", SqlType::UniqueIdentifier, QUOTE, QUOTE, None),
    Spelling("ntext", SqlType::NVarChar(Length::LargeObject), Some("N'"), QUOTE, None),
    Spelling(
        "nvarchar",
        SqlType::NVarChar(Length::Limited(4000)),
        Some("N'"),
        QUOTE,
        Some("max length"),
    ),
    Spelling("sysname", SqlType::SYSNAME, Some("N'"), QUOTE, None),
    Spelling("nchar", SqlType::NChar(4000), Some("N'"), QUOTE, Some("length")),
    Spelling("bit", SqlType::Bit, None, None, None),
    Spelling("tinyint", SqlType::TinyInt, None, None, None),
    Spelling("bigint", SqlType::BigInt, None, None, None),
    Spelling("image", SqlType::VarBinary(Length::LargeObject), Some("0x"), None, None),
    Spelling(
        "varbinary",
        SqlType::VarBinary(Length::Limited(8000)),
        Some("0x"),
        None,
        Some("max length"),
    ),
    Spelling("binary", SqlType::Binary(8000), Some("0x"), None, Some("length")),
    Spelling("timestamp", SqlType::RowVersion, Some("0x"), None, None),
    Spelling("text", SqlType::VarChar(Length::LargeObject), QUOTE, QUOTE, None),
    Spelling("char", SqlType::Char(8000), QUOTE, QUOTE, Some("length")),
    Spelling(
        "numeric",
        SqlType::Decimal {
            precision: 38,
            scale: 0,
        },
        None,
        None,
        Some("precision,scale"),
    ),
    Spelling(
        "decimal",
        SqlType::Decimal {
            precision: 38,
            scale: 0,
        },
        None,
        None,
        Some("precision,scale"),
    ),
    Spelling("money", SqlType::Money, Some("$"), None, None),
    Spelling("smallmoney", SqlType::SmallMoney, Some("$"), None, None),
    Spelling("int", SqlType::Int, None, None, None),
    Spelling("smallint", SqlType::SmallInt, None, None, None),
    Spelling("float", SqlType::Float, None, None, None),
    Spelling("real", SqlType::Real, None, None, None),
    Spelling(
        "varchar",
        SqlType::VarChar(Length::Limited(8000)),
        QUOTE,
        QUOTE,
        Some("max length"),
    ),
    Spelling("date", SqlType::Date, QUOTE, QUOTE, None),
    Spelling(
        "datetime2",
        SqlType::DateTime2 { scale: 7 },
        QUOTE,
        QUOTE,
        Some("scale"),
    ),
    Spelling("datetime", SqlType::DateTime, QUOTE, QUOTE, None),
    Spelling("smalldatetime", SqlType::SmallDateTime, QUOTE, QUOTE, None),
];

/// Codes of ODBC 2, which `@ODBCVer = 2` (the default) asks for: dates and times were numbered apart.
fn code_of_version(name: &str, code: i16, version: i64) -> i16 {
    match (code, version) {
        (3, _) if name == "numeric" => 2,
        (93, 2) => 11,
        (91, 2) => -9,
        (-154 | -155, 2) => -9,
        (other, _) => other,
    }
}

fn data_types(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut answer = Table::new(&[
        ("TYPE_NAME", SYSNAME),
        ("DATA_TYPE", SMALLINT),
        ("PRECISION", INT),
        ("LITERAL_PREFIX", varchar(32)),
        ("LITERAL_SUFFIX", varchar(32)),
        ("CREATE_PARAMS", varchar(32)),
        ("NULLABLE", SMALLINT),
        ("CASE_SENSITIVE", SMALLINT),
        ("SEARCHABLE", SMALLINT),
        ("UNSIGNED_ATTRIBUTE", SMALLINT),
        ("MONEY", SMALLINT),
        ("AUTO_INCREMENT", SMALLINT),
        ("LOCAL_TYPE_NAME", SYSNAME),
        ("MINIMUM_SCALE", SMALLINT),
        ("MAXIMUM_SCALE", SMALLINT),
        ("SQL_DATA_TYPE", SMALLINT),
        ("SQL_DATETIME_SUB", SMALLINT),
        ("NUM_PREC_RADIX", INT),
        ("INTERVAL_PRECISION", SMALLINT),
        ("USERTYPE", SMALLINT),
    ]);
    let wanted = integer(arguments, 0).unwrap_or(0);
    let version = integer(arguments, 1).unwrap_or(2);
    for spelling in &SPELLINGS {
        let code = code_of_version(spelling.0, odbc(spelling.1).code, version);
        if wanted == 0 || wanted == i64::from(code) {
            answer.push(type_row(spelling, code));
        }
    }
    answer.send(host).map(|()| 0)
}

fn type_row(Spelling(name, sql_type, prefix, suffix, parameters): &Spelling, code: i16) -> Vec<Value> {
    let odbc = odbc(*sql_type);
    let is_number = sql_type.is_numeric() && *sql_type != SqlType::Bit;
    let is_money = matches!(sql_type, SqlType::Money | SqlType::SmallMoney);
    let of_number = |number: i16| if is_number { small(number) } else { Value::Null };
    let (minimum_scale, maximum_scale) = match sql_type {
        SqlType::Decimal { .. } => (Some(0), Some(38)),
        SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. } => (Some(0), Some(7)),
        _ => (odbc.scale, odbc.scale),
    };
    let searchable = match (sql_type.is_character(), *name) {
        (_, "ntext" | "text") => 1,
        (_, "image") => 0,
        (true, _) => 3,
        (false, _) => 2,
    };
    vec![
        (*name).into(),
        small(code),
        odbc.precision.into(),
        (*prefix).into(),
        (*suffix).into(),
        (*parameters).into(),
        small(i16::from(!matches!(*name, "sysname" | "timestamp"))),
        small(0),
        small(searchable),
        of_number(i16::from(*sql_type == SqlType::TinyInt)),
        small(i16::from(is_money)),
        of_number(0),
        (*name).into(),
        optional(minimum_scale),
        optional(maximum_scale),
        small(if code == 2 { 2 } else { odbc.verbose }),
        optional(odbc.sub),
        odbc.radix.map_or(Value::Null, |radix| i32::from(radix).into()),
        Value::Null,
        small(0),
    ]
}

/// What a driver may want to know of the server (attribute ids and names: sql-docs, sp_server_info).
fn server_information(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let (major, minor) = context.instance.options.version.product_version();
    let version = format!(
        "Microsoft SQL Server {} - {major}.{minor}",
        context.instance.options.version.name()
    );
    let attributes = [
        (1, "DBMS_NAME", "Microsoft SQL Server"),
        (2, "DBMS_VER", version.as_str()),
        (10, "OWNER_TERM", "owner"),
        (11, "TABLE_TERM", "table"),
        (12, "MAX_OWNER_NAME_LENGTH", "128"),
        (13, "TABLE_LENGTH", "128"),
        (14, "MAX_QUAL_LENGTH", "128"),
        (15, "COLUMN_LENGTH", "128"),
        (16, "IDENTIFIER_CASE", "MIXED"),
        (17, "TX_ISOLATION", "2"),
        (
            18,
            "COLLATION_SEQ",
            "charset=iso_1 sort_order=nocase_iso charset_num=1 sort_order_num=52",
        ),
        (19, "SAVEPOINT_SUPPORT", "Y"),
        (20, "MULTI_RESULT_SETS", "Y"),
        (22, "ACCESSIBLE_TABLES", "Y"),
        (100, "USERID_LENGTH", "128"),
        (101, "QUALIFIER_TERM", "database"),
        (102, "NAMED_TRANSACTIONS", "Y"),
        (103, "SPROC_AS_LANGUAGE", "Y"),
        (104, "ACCESSIBLE_SPROC", "Y"),
        (105, "MAX_INDEX_COLS", "16"),
        (106, "RENAME_TABLE", "Y"),
        (107, "RENAME_COLUMN", "Y"),
        (108, "DROP_COLUMN", "Y"),
        (109, "INCREASE_COLUMN_LENGTH", "Y"),
        (110, "DDL_IN_TRANSACTION", "Y"),
        (111, "DESCENDING_INDEXES", "Y"),
        (112, "SP_RENAME", "Y"),
        (113, "REMOTE_SPROC", "Y"),
        (500, "SYS_SPROC_VERSION", version.as_str()),
    ];
    let mut answer = Table::new(&[
        ("attribute_id", INT),
        ("attribute_name", varchar(60)),
        ("attribute_value", varchar(255)),
    ]);
    for (id, name, value) in attributes {
        if integer(arguments, 0).is_none_or(|wanted| wanted == id) {
            answer.push(vec![Value::Int(id as i32), name.into(), value.into()]);
        }
    }
    answer.send(host).map(|()| 0)
}
