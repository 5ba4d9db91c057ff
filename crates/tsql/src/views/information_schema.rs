//! INFORMATION_SCHEMA: the standard's view of tables, columns and constraints.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ForeignKey, ObjectDefinition, ReferentialAction, TableDefinition};
use engine::types::{Length, SqlType, Value};

use super::columns::shown_default;
use super::objects::{ObjectRow, columns_of, objects, schema_names, table_of, tables, with_columns};
use super::{INT, NAME, Rows, SMALLINT, SystemView, TINYINT, all, nvarchar, system_row, varchar, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<TableRow>("INFORMATION_SCHEMA", "TABLES", |context, _| {
        let rows = objects(context)
            .into_iter()
            .filter(|row| matches!(row.kind.0, "U" | "V"));
        let database = context.database.name();
        all(rows.map(|row| TableRow(database.clone(), row)))
    }),
    view::<ColumnRow>("INFORMATION_SCHEMA", "COLUMNS", columns),
    view::<SchemaRow>("INFORMATION_SCHEMA", "SCHEMATA", |context, _| {
        let database = context.database.name();
        all(schema_names(context)
            .into_iter()
            .map(|(name, owner)| SchemaRow(database.clone(), name, owner)))
    }),
    view::<ConstraintRow>("INFORMATION_SCHEMA", "TABLE_CONSTRAINTS", |context, _| {
        all(constraints(context))
    }),
    view::<KeyColumnRow>("INFORMATION_SCHEMA", "KEY_COLUMN_USAGE", key_columns),
    view::<ReferentialRow>("INFORMATION_SCHEMA", "REFERENTIAL_CONSTRAINTS", referential_constraints),
    view::<RoutineRow>("INFORMATION_SCHEMA", "ROUTINES", routines),
];

struct TableRow(String, ObjectRow);

system_row!(TableRow {
    "TABLE_CATALOG" NAME => |row| row.0.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.1.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.1.name.as_str().into();
    "TABLE_TYPE" varchar(10) => |row| if row.1.kind.0 == "U" { "BASE TABLE" } else { "VIEW" }.into();
});

struct ColumnRow {
    database: String,
    owner: ObjectRow,
    object: Arc<CatalogObject>,
    place: usize,
    default: Option<String>,
}

impl ColumnRow {
    fn column(&self) -> Option<&engine::catalog::ColumnDefinition> {
        columns_of(&self.object).get(self.place)
    }

    fn sql_type(&self) -> SqlType {
        self.column().map_or(SqlType::Int, |column| column.sql_type)
    }

    /// Length in characters or bytes; -1 for max.
    fn length(&self, unit: i32) -> Value {
        let sql_type = self.sql_type();
        if sql_type == SqlType::Json || sql_type.is_spatial() {
            return (-1).into();
        }
        if !sql_type.is_character() && !sql_type.is_binary() || sql_type == SqlType::RowVersion {
            return Value::Null;
        }
        match i32::from(sql_type.max_length()) {
            // Figures of sql-docs, "ntext, text, and image".
            _ if sql_type.is_large_object() && sql_type.is_unicode() => (0x7FFF_FFFE / unit).into(),
            _ if sql_type.is_large_object() => i32::MAX.into(),
            -1 => (-1).into(),
            bytes => (bytes / unit).into(),
        }
    }

    fn collation(&self) -> Value {
        let column = self.column().filter(|column| column.sql_type.is_character());
        column.map(|column| column.collation.name()).into()
    }

    /// Whether it has a precision: a bit has none (sql-docs, "INFORMATION_SCHEMA.COLUMNS": "Otherwise, NULL is returned").
    fn is_number(&self) -> bool {
        self.sql_type().is_numeric() && self.sql_type() != SqlType::Bit
    }

    fn characters(&self) -> Value {
        self.length(if self.sql_type().is_unicode() { 2 } else { 1 })
    }
}

system_row!(ColumnRow {
    "TABLE_CATALOG" NAME => |row| row.database.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.owner.name.as_str().into();
    "COLUMN_NAME" NAME => |row| row.column().map(|column| column.name.as_str()).into();
    "ORDINAL_POSITION" INT => |row| (row.place as i32 + 1).into();
    "COLUMN_DEFAULT" nvarchar(4000) => |row| row.default.clone().into();
    "IS_NULLABLE" varchar(3) => |row| {
        if row.column().is_some_and(|column| column.nullable) { "YES" } else { "NO" }.into()
    };
    "DATA_TYPE" NAME => |row| row.column().map(|column| column.type_name()).into();
    "CHARACTER_MAXIMUM_LENGTH" INT => |row| row.characters();
    "CHARACTER_OCTET_LENGTH" INT => |row| row.length(1);
    "NUMERIC_PRECISION" TINYINT => |row| {
        if row.is_number() { Value::TinyInt(row.sql_type().precision()) } else { Value::Null }
    };
    "NUMERIC_PRECISION_RADIX" SMALLINT => |row| match row.sql_type() {
        SqlType::Float | SqlType::Real => Value::SmallInt(2),
        _ if row.is_number() => Value::SmallInt(10),
        _ => Value::Null,
    };
    "NUMERIC_SCALE" INT => |row| {
        let is_float = matches!(row.sql_type(), SqlType::Float | SqlType::Real);
        if row.is_number() && !is_float { i32::from(row.sql_type().scale()).into() } else { Value::Null }
    };
    "DATETIME_PRECISION" SMALLINT => |row| {
        if row.sql_type().is_temporal() { Value::SmallInt(i16::from(row.sql_type().scale())) } else { Value::Null }
    };
    "CHARACTER_SET_CATALOG" NAME => |_| Value::Null;
    "CHARACTER_SET_SCHEMA" NAME => |_| Value::Null;
    "CHARACTER_SET_NAME" NAME => |row| match row.sql_type() {
        sql_type if sql_type.is_unicode() => "UNICODE".into(),
        sql_type if sql_type.is_character() => match row.column() {
            Some(column) if column.collation.is_utf8() => "utf8".into(),
            _ => "iso_1".into(),
        },
        _ => Value::Null,
    };
    "COLLATION_CATALOG" NAME => |_| Value::Null;
    "COLLATION_SCHEMA" NAME => |_| Value::Null;
    "COLLATION_NAME" NAME => |row| row.collation();
    "DOMAIN_CATALOG" NAME => |_| Value::Null;
    "DOMAIN_SCHEMA" NAME => |_| Value::Null;
    "DOMAIN_NAME" NAME => |_| Value::Null;
});

fn columns(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let database = context.database.name();
    let mut rows = Vec::new();
    let relations = with_columns(context).into_iter();
    for (owner, object) in relations.filter(|(owner, _)| matches!(owner.kind.0, "U" | "V")) {
        rows.extend(columns_of(&object).iter().enumerate().map(|(place, column)| ColumnRow {
            database: database.clone(),
            owner: owner.clone(),
            object: object.clone(),
            place,
            default: shown_default(context, column),
        }));
    }
    all(rows)
}

/// A database, a schema of it, and the schema's owner.
struct SchemaRow(String, String, String);

system_row!(SchemaRow {
    "CATALOG_NAME" NAME => |row| row.0.as_str().into();
    "SCHEMA_NAME" NAME => |row| row.1.as_str().into();
    "SCHEMA_OWNER" NAME => |row| row.2.as_str().into();
    "DEFAULT_CHARACTER_SET_CATALOG" NAME => |_| Value::Null;
    "DEFAULT_CHARACTER_SET_SCHEMA" NAME => |_| Value::Null;
    "DEFAULT_CHARACTER_SET_NAME" NAME => |_| "iso_1".into();
});

struct ConstraintRow {
    database: String,
    constraint: ObjectRow,
    table: String,
}

fn constraints(context: &SystemContext<'_>) -> Vec<ConstraintRow> {
    let database = context.database.name();
    let objects = objects(context);
    let table = |id: i32| {
        objects
            .iter()
            .find(|row| row.object_id == id)
            .map(|row| row.name.clone())
    };
    let constraints = objects
        .iter()
        .filter(|row| matches!(row.kind.0, "PK" | "UQ" | "C" | "F"));
    let rows = constraints.map(|row| ConstraintRow {
        database: database.clone(),
        table: table(row.parent).unwrap_or_default(),
        constraint: row.clone(),
    });
    rows.collect()
}

system_row!(ConstraintRow {
    "CONSTRAINT_CATALOG" NAME => |row| row.database.as_str().into();
    "CONSTRAINT_SCHEMA" NAME => |row| row.constraint.schema.as_str().into();
    "CONSTRAINT_NAME" NAME => |row| row.constraint.name.as_str().into();
    "TABLE_CATALOG" NAME => |row| row.database.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.constraint.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.table.as_str().into();
    "CONSTRAINT_TYPE" varchar(11) => |row| match row.constraint.kind.0 {
        "PK" => "PRIMARY KEY",
        "UQ" => "UNIQUE",
        "F" => "FOREIGN KEY",
        _ => "CHECK",
    }.into();
    "IS_DEFERRABLE" varchar(2) => |_| "NO".into();
    "INITIALLY_DEFERRED" varchar(2) => |_| "NO".into();
});

struct KeyColumnRow {
    database: String,
    owner: ObjectRow,
    constraint: String,
    column: String,
    place: i32,
}

system_row!(KeyColumnRow {
    "CONSTRAINT_CATALOG" NAME => |row| row.database.as_str().into();
    "CONSTRAINT_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "CONSTRAINT_NAME" NAME => |row| row.constraint.as_str().into();
    "TABLE_CATALOG" NAME => |row| row.database.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.owner.name.as_str().into();
    "COLUMN_NAME" NAME => |row| row.column.as_str().into();
    "ORDINAL_POSITION" INT => |row| row.place.into();
});

fn key_columns(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let database = context.database.name();
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let Some(table) = table_of(&object) else { continue };
        let unique = table.every_index().filter(|index| index.is_constraint());
        let unique = unique.map(|index| (&index.name, index.keys.iter().map(|(column, _)| *column).collect()));
        let foreign = table.foreign_keys.iter().map(|key| (&key.name, key.columns.clone()));
        for (constraint, columns) in unique.chain(foreign) {
            let columns: Vec<usize> = columns;
            let columns = columns.into_iter().filter_map(|column| table.columns.get(column));
            rows.extend(columns.enumerate().map(|(place, column)| KeyColumnRow {
                database: database.clone(),
                owner: owner.clone(),
                constraint: constraint.clone(),
                column: column.name.clone(),
                place: place as i32 + 1,
            }));
        }
    }
    all(rows)
}

/// An action in the words of the standard.
fn rule(action: ReferentialAction) -> String {
    action.name().replace('_', " ")
}

struct ReferentialRow {
    database: String,
    /// On delete and on update.
    actions: (ReferentialAction, ReferentialAction),
    owner: ObjectRow,
    constraint: String,
    unique: (String, String),
}

system_row!(ReferentialRow {
    "CONSTRAINT_CATALOG" NAME => |row| row.database.as_str().into();
    "CONSTRAINT_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "CONSTRAINT_NAME" NAME => |row| row.constraint.as_str().into();
    "UNIQUE_CONSTRAINT_CATALOG" NAME => |row| row.database.as_str().into();
    "UNIQUE_CONSTRAINT_SCHEMA" NAME => |row| row.unique.0.as_str().into();
    "UNIQUE_CONSTRAINT_NAME" NAME => |row| row.unique.1.as_str().into();
    "MATCH_OPTION" varchar(7) => |_| "SIMPLE".into();
    "UPDATE_RULE" varchar(11) => |row| rule(row.actions.1).into();
    "DELETE_RULE" varchar(11) => |row| rule(row.actions.0).into();
});

fn referential_constraints(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        for key in table_of(&object).into_iter().flat_map(|table| &table.foreign_keys) {
            let Some((referenced, index)) = referenced_key(context, key) else {
                continue;
            };
            rows.push(ReferentialRow {
                database: context.database.name(),
                actions: (key.on_delete, key.on_update),
                owner: owner.clone(),
                constraint: key.name.clone(),
                unique: (referenced.schema, index),
            });
        }
    }
    all(rows)
}

/// The table that a foreign key refers to, and the name of the unique index there.
pub(crate) fn referenced_key(context: &SystemContext<'_>, key: &ForeignKey) -> Option<(TableDefinition, String)> {
    let catalog = &context.database.catalog;
    let object = catalog.by_id(key.referenced_object, context.session_id)?;
    let table = table_of(&object)?;
    let index = table.indexes.get(table.unique_index_of(&key.referenced_columns)?)?;
    Some((table.clone(), index.name.clone()))
}

struct RoutineRow {
    database: String,
    object: ObjectRow,
    text: String,
}

// The first three are the next three: there is one routine of a name (sql-docs, "ROUTINES").
system_row!(RoutineRow {
    "SPECIFIC_CATALOG" NAME => |row| row.database.as_str().into();
    "SPECIFIC_SCHEMA" NAME => |row| row.object.schema.as_str().into();
    "SPECIFIC_NAME" NAME => |row| row.object.name.as_str().into();
    "ROUTINE_CATALOG" NAME => |row| row.database.as_str().into();
    "ROUTINE_SCHEMA" NAME => |row| row.object.schema.as_str().into();
    "ROUTINE_NAME" NAME => |row| row.object.name.as_str().into();
    "ROUTINE_TYPE" nvarchar(20) => |row| if row.object.kind.0 == "P" { "PROCEDURE" } else { "FUNCTION" }.into();
    "ROUTINE_DEFINITION" SqlType::NVarChar(Length::Limited(4000)) => |row| {
        row.text.chars().take(4000).collect::<String>().into()
    };
});

fn routines(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let database = context.database.name();
    let rows = objects(context)
        .into_iter()
        .filter(|row| matches!(row.kind.0, "P" | "FN" | "IF" | "TF"));
    all(rows.filter_map(|object| {
        let found = context
            .database
            .catalog
            .by_id(object.object_id as u32, context.session_id)?;
        let ObjectDefinition::Module(module) = &found.definition else {
            return None;
        };
        Some(RoutineRow {
            database: database.clone(),
            text: module.text.clone(),
            object,
        })
    }))
}
