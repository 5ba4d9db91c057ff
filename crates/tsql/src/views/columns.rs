//! Columns: `sys.columns` and what belongs to single columns.

use engine::catalog::{Bindings, BoundExpression, ColumnDefinition, Identity, ObjectDefinition};
use engine::types::{Collation, Decimal, Length, SqlType, Value};

use super::objects::{ObjectRow, columns_of, system_object_id, table_of, tables, with_columns};
use super::periods::generated_type;
use super::types::user_type_id_of;
use super::values::stored_datetime;
use super::{
    BIT, DATETIME, INT, NAME, Rows, SMALLINT, SystemView, TINYINT, Withheld, all, every, nvarchar, system_row, view,
};
use crate::modules::default_text;
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<ColumnRow>("sys", "columns", |context, _| all(columns(context))),
    view::<ColumnRow>("sys", "all_columns", |context, _| {
        all(columns(context).into_iter().chain(system_columns(context)))
    }),
    view::<ColumnRow>("sys", "system_columns", |context, _| all(system_columns(context))),
    view::<MaskedRow>("sys", "masked_columns", |context, _| {
        let masked = columns(context).into_iter().filter(|row| row.column.mask.is_some());
        all(masked.map(MaskedRow))
    }),
    view::<IdentityRow>("sys", "identity_columns", identities),
    view::<DefaultRow>("sys", "default_constraints", defaults),
    view::<ComputedRow>("sys", "computed_columns", computed),
];

/// One column of a table, view or table-valued function.
pub(super) struct ColumnRow {
    pub(super) object_id: i32,
    pub(super) column_id: i32,
    pub(super) column: ColumnDefinition,
    default_id: i32,
}

/// The id of what is bound; 0 for nothing.
pub(super) fn id_of_bound(bound: Option<&BoundExpression>) -> i32 {
    bound.map_or(0, |bound| bound.object_id as i32)
}

/// The default of a column as the catalog shows it: the expression of its constraint, or the text of the default that is bound to it.
pub(crate) fn shown_default(context: &SystemContext<'_>, column: &ColumnDefinition) -> Option<String> {
    if let Some(constraint) = &column.default {
        return Some(default_text(&constraint.text));
    }
    let bound = column.bound.default.as_ref()?;
    let bound = context.database.catalog.by_id(bound.object_id, context.session_id)?;
    match &bound.definition {
        ObjectDefinition::Standalone(own) => Some(own.text.clone()),
        _ => None,
    }
}

/// Every column of every object that has columns.
pub(super) fn columns(context: &SystemContext<'_>) -> Vec<ColumnRow> {
    let mut rows = Vec::new();
    for (owner, object) in with_columns(context) {
        rows.extend(columns_of(&object).iter().enumerate().map(|(place, column)| ColumnRow {
            object_id: owner.object_id,
            column_id: place as i32 + 1,
            default_id: match (&column.default, &column.bound.default) {
                (Some(constraint), _) => constraint.object_id as i32,
                (None, bound) => id_of_bound(bound.as_ref()),
            },
            column: column.clone(),
        }));
    }
    rows
}

/// Those of what the instance does not keep back.
fn system_columns(context: &SystemContext<'_>) -> impl Iterator<Item = ColumnRow> {
    let shown = every()
        .enumerate()
        .filter(|(_, view)| !Withheld::hides(context.instance, view.name));
    shown.flat_map(|(view_place, view)| {
        view.columns
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| !Withheld::hides_column(context.instance, view.name, name))
            .map(move |(place, &(name, sql_type))| ColumnRow {
                object_id: system_object_id(view_place),
                column_id: place as i32 + 1,
                default_id: 0,
                column: ColumnDefinition {
                    name: name.to_owned(),
                    sql_type,
                    collation: Collation::default(),
                    alias_type: None,
                    nullable: true,
                    identity: None,
                    default: None,
                    is_row_guid: false,
                    computed: None,
                    generated: None,
                    mask: None,
                    bound: Bindings::default(),
                },
            })
    })
}

fn collation(column: &ColumnDefinition) -> Value {
    let is_character = column.sql_type.is_character() && !column.is_xml();
    is_character.then_some(column.collation.name()).into()
}

system_row!(ColumnRow {
    "object_id" INT => |row| row.object_id.into();
    "name" NAME => |row| row.column.name.as_str().into();
    "column_id" INT => |row| row.column_id.into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.column.system_type_id());
    "user_type_id" INT => |row| user_type_id_of(&row.column).into();
    "max_length" SMALLINT => |row| Value::SmallInt(row.column.sql_type.max_length());
    "precision" TINYINT => |row| Value::TinyInt(row.column.sql_type.precision());
    "scale" TINYINT => |row| Value::TinyInt(row.column.sql_type.scale());
    "collation_name" NAME => |row| collation(&row.column);
    "is_nullable" BIT => |row| row.column.nullable.into();
    "is_ansi_padded" BIT => |row| (row.column.sql_type.is_character() || row.column.sql_type.is_binary()).into();
    "is_rowguidcol" BIT => |row| row.column.is_row_guid.into();
    "is_identity" BIT => |row| row.column.identity.is_some().into();
    "is_computed" BIT => |row| row.column.computed.is_some().into();
    "is_filestream" BIT => |_| false.into();
    "is_replicated" BIT => |_| false.into();
    "is_non_sql_subscribed" BIT => |_| false.into();
    "is_merge_published" BIT => |_| false.into();
    "is_dts_replicated" BIT => |_| false.into();
    "is_xml_document" BIT => |_| false.into();
    "xml_collection_id" INT => |row| row.column.xml_collection().map_or(0, |id| id as i32).into();
    "default_object_id" INT => |row| row.default_id.into();
    "rule_object_id" INT => |row| id_of_bound(row.column.bound.rule.as_ref()).into();
    "is_sparse" BIT => |_| false.into();
    "is_column_set" BIT => |_| false.into();
    "generated_always_type" TINYINT => |row| Value::TinyInt(generated_type(row.column.generated).0);
    "generated_always_type_desc" nvarchar(60) => |row| generated_type(row.column.generated).1.into();
    "encryption_type" INT => |_| Value::Null;
    "encryption_type_desc" nvarchar(64) => |_| Value::Null;
    "encryption_algorithm_name" NAME => |_| Value::Null;
    "column_encryption_key_id" INT => |_| Value::Null;
    "column_encryption_key_database_name" NAME => |_| Value::Null;
    "is_hidden" BIT => |row| row.column.is_hidden().into();
    "is_masked" BIT => |row| row.column.mask.is_some().into();
});

/// A masked column of a table or table type (sql-docs, "sys.masked_columns").
struct MaskedRow(ColumnRow);

system_row!(MaskedRow {
    "object_id" INT => |row| row.0.object_id.into();
    "name" NAME => |row| row.0.column.name.as_str().into();
    "column_id" INT => |row| row.0.column_id.into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.0.column.system_type_id());
    "user_type_id" INT => |row| user_type_id_of(&row.0.column).into();
    "max_length" SMALLINT => |row| Value::SmallInt(row.0.column.sql_type.max_length());
    "precision" TINYINT => |row| Value::TinyInt(row.0.column.sql_type.precision());
    "scale" TINYINT => |row| Value::TinyInt(row.0.column.sql_type.scale());
    "collation_name" NAME => |row| collation(&row.0.column);
    "is_nullable" BIT => |row| row.0.column.nullable.into();
    "is_ansi_padded" BIT => |row| (row.0.column.sql_type.is_character() || row.0.column.sql_type.is_binary()).into();
    "is_rowguidcol" BIT => |row| row.0.column.is_row_guid.into();
    "is_identity" BIT => |row| row.0.column.identity.is_some().into();
    "is_computed" BIT => |row| row.0.column.computed.is_some().into();
    "is_filestream" BIT => |_| false.into();
    "is_replicated" BIT => |_| false.into();
    "is_non_sql_subscribed" BIT => |_| false.into();
    "is_merge_published" BIT => |_| false.into();
    "is_dts_replicated" BIT => |_| false.into();
    "is_xml_document" BIT => |_| false.into();
    "xml_collection_id" INT => |row| row.0.column.xml_collection().map_or(0, |id| id as i32).into();
    "default_object_id" INT => |row| row.0.default_id.into();
    "rule_object_id" INT => |row| id_of_bound(row.0.column.bound.rule.as_ref()).into();
    "is_sparse" BIT => |_| false.into();
    "is_column_set" BIT => |_| false.into();
    "generated_always_type" TINYINT => |row| Value::TinyInt(generated_type(row.0.column.generated).0);
    "generated_always_type_desc" nvarchar(60) => |row| generated_type(row.0.column.generated).1.into();
    "encryption_type" INT => |_| Value::Null;
    "encryption_type_desc" nvarchar(64) => |_| Value::Null;
    "encryption_algorithm_name" NAME => |_| Value::Null;
    "column_encryption_key_id" INT => |_| Value::Null;
    "column_encryption_key_database_name" NAME => |_| Value::Null;
    "is_hidden" BIT => |row| row.0.column.is_hidden().into();
    "is_masked" BIT => |_| true.into();
    "masking_function" nvarchar(4000) => |row| row.0.column.mask.as_deref().into();
});

struct IdentityRow {
    column: ColumnRow,
    identity: Identity,
    last: Option<i64>,
}

/// SQL Server's type here is sql_variant.
const IDENTITY_VALUE: SqlType = SqlType::Decimal {
    precision: 38,
    scale: 0,
};

fn identity_value(number: i64) -> Value {
    Value::Decimal(Decimal::new(i128::from(number), 38, 0))
}

system_row!(IdentityRow {
    "object_id" INT => |row| row.column.object_id.into();
    "name" NAME => |row| row.column.column.name.as_str().into();
    "column_id" INT => |row| row.column.column_id.into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.column.column.system_type_id());
    "user_type_id" INT => |row| user_type_id_of(&row.column.column).into();
    "max_length" SMALLINT => |row| Value::SmallInt(row.column.column.sql_type.max_length());
    "precision" TINYINT => |row| Value::TinyInt(row.column.column.sql_type.precision());
    "scale" TINYINT => |row| Value::TinyInt(row.column.column.sql_type.scale());
    "is_nullable" BIT => |_| false.into();
    "is_identity" BIT => |_| true.into();
    "seed_value" IDENTITY_VALUE => |row| identity_value(row.identity.seed);
    "increment_value" IDENTITY_VALUE => |row| identity_value(row.identity.increment);
    "last_value" IDENTITY_VALUE => |row| row.last.map_or(Value::Null, identity_value);
    "is_not_for_replication" BIT => |_| false.into();
});

fn identities(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let rows = columns(context).into_iter().filter_map(|column| {
        let identity = column.column.identity?;
        let object = context
            .database
            .catalog
            .by_id(column.object_id as u32, context.session_id)?;
        let ObjectDefinition::Table(table) = &object.definition else {
            return None;
        };
        let last = context.database.identity_current(table, identity);
        Some(IdentityRow { column, identity, last })
    });
    all(rows)
}

struct DefaultRow {
    owner: ObjectRow,
    column_id: i32,
    object_id: i32,
    name: String,
    text: String,
    is_system_named: bool,
}

system_row!(DefaultRow {
    "name" NAME => |row| row.name.as_str().into();
    "object_id" INT => |row| row.object_id.into();
    "principal_id" INT => |_| Value::Null;
    "schema_id" INT => |row| row.owner.schema_id.into();
    "parent_object_id" INT => |row| row.owner.object_id.into();
    "type" SqlType::Char(2) => |_| "D ".into();
    "type_desc" nvarchar(60) => |_| "DEFAULT_CONSTRAINT".into();
    "create_date" DATETIME => |row| stored_datetime(row.owner.created);
    "modify_date" DATETIME => |row| stored_datetime(row.owner.created);
    "is_ms_shipped" BIT => |_| false.into();
    "is_published" BIT => |_| false.into();
    "is_schema_published" BIT => |_| false.into();
    "parent_column_id" INT => |row| row.column_id.into();
    "definition" SqlType::NVarChar(Length::Max) => |row| default_text(&row.text).into();
    "is_system_named" BIT => |row| row.is_system_named.into();
});

fn defaults(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let Some(table) = table_of(&object) else { continue };
        for (place, column) in table.columns.iter().enumerate() {
            let Some(default) = &column.default else { continue };
            rows.push(DefaultRow {
                owner: owner.clone(),
                column_id: place as i32 + 1,
                object_id: default.object_id as i32,
                name: default.name.clone(),
                text: default.text.clone(),
                is_system_named: default.is_system_named,
            });
        }
    }
    all(rows)
}

struct ComputedRow(ColumnRow);

system_row!(ComputedRow {
    "object_id" INT => |row| row.0.object_id.into();
    "name" NAME => |row| row.0.column.name.as_str().into();
    "column_id" INT => |row| row.0.column_id.into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.0.column.system_type_id());
    "user_type_id" INT => |row| user_type_id_of(&row.0.column).into();
    "max_length" SMALLINT => |row| Value::SmallInt(row.0.column.sql_type.max_length());
    "precision" TINYINT => |row| Value::TinyInt(row.0.column.sql_type.precision());
    "scale" TINYINT => |row| Value::TinyInt(row.0.column.sql_type.scale());
    "collation_name" NAME => |row| collation(&row.0.column);
    "is_nullable" BIT => |row| row.0.column.nullable.into();
    "is_ansi_padded" BIT => |row| (row.0.column.sql_type.is_character() || row.0.column.sql_type.is_binary()).into();
    "is_rowguidcol" BIT => |_| false.into();
    "is_identity" BIT => |_| false.into();
    "is_filestream" BIT => |_| false.into();
    "is_replicated" BIT => |_| false.into();
    "is_non_sql_subscribed" BIT => |_| false.into();
    "is_merge_published" BIT => |_| false.into();
    "is_dts_replicated" BIT => |_| false.into();
    "is_xml_document" BIT => |_| false.into();
    "xml_collection_id" INT => |row| row.0.column.xml_collection().map_or(0, |id| id as i32).into();
    "default_object_id" INT => |_| 0.into();
    "rule_object_id" INT => |_| 0.into();
    "definition" SqlType::NVarChar(Length::Max) => |row| {
        row.0.column.computed.as_ref().map(|computed| default_text(&computed.text)).into()
    };
    // A computed column that has a collation got it when it was made (sql-docs, the page of the view).
    "uses_database_collation" BIT => |row| (!collation(&row.0.column).is_null()).into();
    "is_persisted" BIT => |row| row.0.column.computed.as_ref().is_some_and(|computed| computed.is_persisted).into();
    "is_computed" BIT => |_| true.into();
    "is_sparse" BIT => |_| false.into();
    "is_column_set" BIT => |_| false.into();
    "generated_always_type" TINYINT => |_| Value::TinyInt(0);
    "generated_always_type_desc" nvarchar(60) => |_| "NOT_APPLICABLE".into();
    "is_hidden" BIT => |_| false.into();
    "is_masked" BIT => |_| false.into();
});

fn computed(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    all(columns(context)
        .into_iter()
        .filter(|row| row.column.computed.is_some())
        .map(ComputedRow))
}
