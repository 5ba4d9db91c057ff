//! The catalog procedures about modules and keys: `sp_stored_procedures`, `sp_sproc_columns`, `sp_special_columns` (sql-docs, "Catalog
//! stored procedures").

use std::sync::Arc;

use engine::catalog::{CatalogObject, ColumnDefinition, IndexDefinition, TableDefinition};
use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::catalog::{fits, nullable_token, odbc, optional, small, uses_patterns, varchar};
use super::{INT, NAME, Parameter, SystemProcedure, text};
use crate::modules::{Module, ModuleCache};
use crate::views::{ObjectRow, object_rows, table_of, tables};

const PROCEDURE_COLUMNS: &[Parameter] = &[
    ("@procedure_name", NAME, false),
    ("@procedure_owner", NAME, false),
    ("@procedure_qualifier", NAME, false),
    ("@column_name", NAME, false),
    ("@ODBCVer", INT, false),
    ("@fUsePattern", SqlType::Bit, false),
];

const SPECIAL_COLUMNS: &[Parameter] = &[
    ("@table_name", NAME, true),
    ("@table_owner", NAME, false),
    ("@table_qualifier", NAME, false),
    ("@col_type", SqlType::Char(1), false),
    ("@scope", SqlType::Char(1), false),
    ("@nullable", SqlType::Char(1), false),
    ("@ODBCVer", INT, false),
];

const fn procedure(
    name: &'static str,
    parameters: &'static [Parameter],
    run: fn(&SystemContext<'_>, &mut dyn Host, &[Value]) -> Result<i32>,
) -> SystemProcedure {
    SystemProcedure { name, parameters, run }
}

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    procedure(
        "sp_stored_procedures",
        &[
            ("@sp_name", NAME, false),
            ("@sp_owner", NAME, false),
            ("@sp_qualifier", NAME, false),
            ("@fUsePattern", SqlType::Bit, false),
        ],
        list_procedures,
    ),
    procedure("sp_sproc_columns", PROCEDURE_COLUMNS, list_parameters),
    procedure("sp_sproc_columns_90", PROCEDURE_COLUMNS, list_parameters),
    procedure("sp_sproc_columns_100", PROCEDURE_COLUMNS, list_parameters),
    procedure("sp_special_columns", SPECIAL_COLUMNS, special_columns),
    procedure("sp_special_columns_90", SPECIAL_COLUMNS, special_columns),
    procedure("sp_special_columns_100", SPECIAL_COLUMNS, special_columns),
];

const SYSNAME: SqlType = SqlType::SYSNAME;
const SMALLINT: SqlType = SqlType::SmallInt;
/// A name with the number of its group behind it.
const NUMBERED_NAME: SqlType = SqlType::NVarChar(Length::Limited(134));

/// Procedures and functions whose names fit.
fn modules(context: &SystemContext<'_>, arguments: &[Value], patterns: bool) -> Vec<ObjectRow> {
    let mut rows = object_rows(context);
    rows.retain(|row| {
        matches!(row.kind.0, "P" | "FN" | "IF" | "TF")
            && fits(&row.name, text(arguments, 0), patterns)
            && fits(&row.schema, text(arguments, 1), patterns)
    });
    rows.sort_by(|left, right| (&left.schema, &left.name).cmp(&(&right.schema, &right.name)));
    rows
}

/// `;1` behind a procedure, `;0` behind a function.
fn numbered(row: &ObjectRow) -> Value {
    let number = i32::from(row.kind.0 == "P");
    format!("{};{number}", row.name).into()
}

fn list_procedures(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut answer = Table::new(&[
        ("PROCEDURE_QUALIFIER", SYSNAME),
        ("PROCEDURE_OWNER", SYSNAME),
        ("PROCEDURE_NAME", NUMBERED_NAME),
        ("NUM_INPUT_PARAMS", INT),
        ("NUM_OUTPUT_PARAMS", INT),
        ("NUM_RESULT_SETS", INT),
        ("REMARKS", varchar(254)),
        ("PROCEDURE_TYPE", SMALLINT),
    ]);
    for row in modules(context, arguments, uses_patterns(arguments, 3)) {
        answer.push(vec![
            context.database.name().into(),
            row.schema.as_str().into(),
            numbered(&row),
            // sql-docs: the counts are reserved, and -1.
            (-1).into(),
            (-1).into(),
            (-1).into(),
            Value::Null,
            small(2),
        ]);
    }
    answer.send(host).map(|()| 0)
}

/// What a parameter is to a caller, by ODBC's numbers (`sql.h`).
#[derive(Clone, Copy)]
enum Role {
    Input = 1,
    InputOutput = 2,
    ReturnValue = 5,
}

fn list_parameters(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut answer = Table::new(&[
        ("PROCEDURE_QUALIFIER", SYSNAME),
        ("PROCEDURE_OWNER", SYSNAME),
        ("PROCEDURE_NAME", NUMBERED_NAME),
        ("COLUMN_NAME", SYSNAME),
        ("COLUMN_TYPE", SMALLINT),
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
        ("SS_DATA_TYPE", SqlType::TinyInt),
    ]);
    let patterns = uses_patterns(arguments, 5);
    for row in modules(context, arguments, patterns) {
        let Some(module) = module_of(context, &row)? else {
            continue;
        };
        let returns = match &module.body {
            crate::modules::ModuleBody::Scalar { returns, .. } => *returns,
            _ => SqlType::Int,
        };
        let returned = ("@RETURN_VALUE", returns, Role::ReturnValue);
        let parameters = module.parameters.iter().map(|parameter| {
            let role = if parameter.output {
                Role::InputOutput
            } else {
                Role::Input
            };
            (parameter.name.as_str(), parameter.sql_type, role)
        });
        let named = [returned].into_iter().chain(parameters).enumerate();
        let meant = named.filter(|(_, (name, ..))| fits(name, text(arguments, 3), patterns));
        for (place, (name, sql_type, role)) in meant {
            answer.push(parameter_row(context, &row, place as i32, (name, sql_type, role)));
        }
    }
    answer.send(host).map(|()| 0)
}

fn module_of(context: &SystemContext<'_>, row: &ObjectRow) -> Result<Option<Arc<Module>>> {
    let object: Option<Arc<CatalogObject>> = context.database.catalog.by_id(row.object_id as u32, context.session_id);
    let module = object.map(|object| ModuleCache::of(context.instance).module(&object, context.user_types()));
    module.transpose()
}

fn parameter_row(
    context: &SystemContext<'_>,
    row: &ObjectRow,
    place: i32,
    (name, sql_type, role): (&str, SqlType, Role),
) -> Vec<Value> {
    let odbc = odbc(sql_type);
    let is_text = sql_type.is_character() || sql_type.is_binary();
    let nullable = !matches!(role, Role::ReturnValue);
    vec![
        context.database.name().into(),
        row.schema.as_str().into(),
        numbered(row),
        name.into(),
        small(role as i16),
        small(odbc.code),
        sql_type.name().into(),
        odbc.precision.into(),
        odbc.length.into(),
        optional(odbc.scale),
        optional(odbc.radix),
        small(i16::from(nullable)),
        Value::Null,
        Value::Null,
        small(odbc.verbose),
        optional(odbc.sub),
        if is_text { odbc.length.into() } else { Value::Null },
        place.into(),
        if nullable { "YES" } else { "NO" }.into(),
        Value::TinyInt(if nullable {
            nullable_token(odbc.token)
        } else {
            odbc.token
        }),
    ]
}

/// The columns that tell a row of a table from all others: those of its primary key, or of a unique index. With `@col_type = 'V'`, the column
/// that changes whenever the row does: of type rowversion.
fn special_columns(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut answer = Table::new(&[
        ("SCOPE", SMALLINT),
        ("COLUMN_NAME", SYSNAME),
        ("DATA_TYPE", SMALLINT),
        ("TYPE_NAME", SYSNAME),
        ("PRECISION", INT),
        ("LENGTH", INT),
        ("SCALE", SMALLINT),
        ("PSEUDO_COLUMN", SMALLINT),
    ]);
    let of_row = !text(arguments, 3).is_some_and(|kind| kind.eq_ignore_ascii_case("V"));
    // For as long as the transaction lasts, or the row is looked at. The documentation of the result says "always 0"; that of `@scope` says
    // what 'T', the default, and 'C' are for, and answers of SQL Server follow it.
    let scope = match text(arguments, 4).is_some_and(|scope| scope.eq_ignore_ascii_case("C")) {
        _ if !of_row => Value::Null,
        true => small(0),
        false => small(1),
    };
    let without_null = text(arguments, 5).is_some_and(|nullable| nullable.eq_ignore_ascii_case("O"));
    for (owner, object) in tables(context) {
        let is_meant = fits(&owner.name, text(arguments, 0), false) && fits(&owner.schema, text(arguments, 1), false);
        let Some(table) = table_of(&object).filter(|_| is_meant) else {
            continue;
        };
        let columns = match of_row {
            true => key_of_rows(table, without_null),
            false => table
                .columns
                .iter()
                .filter(|column| column.sql_type == SqlType::RowVersion)
                .collect(),
        };
        for column in columns {
            let odbc = odbc(column.sql_type);
            let identity = if column.identity.is_some() { " identity" } else { "" };
            answer.push(vec![
                scope.clone(),
                column.name.as_str().into(),
                small(odbc.code),
                format!("{}{identity}", column.type_name()).into(),
                odbc.precision.into(),
                odbc.length.into(),
                optional(odbc.scale),
                small(1),
            ]);
        }
    }
    answer.send(host).map(|()| 0)
}

/// The columns of the primary key, else of the first unique index; of one without NULL if that is asked for.
fn key_of_rows(table: &TableDefinition, without_null: bool) -> Vec<&ColumnDefinition> {
    let columns_of = |key: &IndexDefinition| -> Vec<&ColumnDefinition> {
        let keys = key.keys.iter();
        keys.filter_map(|(column, _)| table.columns.get(*column)).collect()
    };
    let keys = table.indexes.iter().filter(|index| index.unique);
    let usable = keys.filter(|key| !without_null || columns_of(key).iter().all(|column| !column.nullable));
    let key = usable.min_by_key(|key| (!key.primary_key, key.index_id));
    key.map(columns_of).unwrap_or_default()
}
