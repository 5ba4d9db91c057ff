//! Objects of a database: `sys.objects` and the views that show one kind of them.

use std::sync::Arc;

use engine::catalog::{
    CatalogObject, CheckConstraint, ColumnDefinition, ForeignKey, ModuleDefinition, ModuleKind, ObjectDefinition,
    Securable, StandaloneKind, TableDefinition,
};
use engine::types::off_row::is_unlimited;
use engine::types::{Length, SqlType, Value};

use super::periods::{retention_of, temporal_type};
use super::values::stored_datetime;
use super::{BIT, DATETIME, INT, NAME, Rows, SystemView, TINYINT, Withheld, all, every, nvarchar, system_row, view};
use crate::modules::{ModuleCache, condition_text, default_text, has_word, names_in};
use crate::security::{Entries, SchemaOwners, principals};
use crate::views::{SystemContext, id_of_schema};

pub(super) const VIEWS: &[SystemView] = &[
    view::<ObjectRow>("sys", "objects", |context, _| all(objects(context))),
    view::<ObjectRow>("sys", "all_objects", |context, _| {
        all(objects(context).into_iter().chain(shown_system_objects(context)))
    }),
    view::<ObjectRow>("sys", "system_objects", |context, _| all(shown_system_objects(context))),
    view::<TableRow>("sys", "tables", |context, _| {
        all(tables(context).into_iter().map(TableRow))
    }),
    view::<ViewRow>("sys", "views", |context, _| all(views(context))),
    view::<ViewRow>("sys", "system_views", |_, _| {
        all(system_objects().map(|row| ViewRow(row, false)))
    }),
    view::<ViewRow>("sys", "all_views", |context, _| {
        all(views(context).chain(system_objects().map(|row| ViewRow(row, false))))
    }),
    view::<ProcedureRow>("sys", "procedures", |context, _| {
        all(of_type(context, "P").map(ProcedureRow))
    }),
    view::<SchemaRow>("sys", "schemas", |context, _| all(schemas(context))),
    view::<ModuleRow>("sys", "sql_modules", modules),
    view::<ModuleRow>("sys", "all_sql_modules", modules),
    // The system brings nothing that is written in T-SQL.
    view::<ModuleRow>("sys", "system_sql_modules", |_, _| Ok(Vec::new())),
    view::<CheckRow>("sys", "check_constraints", checks),
    view::<KeyRow>("sys", "key_constraints", keys),
    view::<ForeignRow>("sys", "foreign_keys", foreign_keys),
    view::<ForeignColumnRow>("sys", "foreign_key_columns", foreign_key_columns),
];

/// `object_id` of the first system view; they count downwards, as SQL Server's ids of system objects are negative.
const SYSTEM_OBJECT_FIRST: i32 = -1_000;

/// One object as `sys.objects` shows it.
#[derive(Clone)]
pub(crate) struct ObjectRow {
    pub(crate) name: String,
    pub(crate) object_id: i32,
    pub(crate) schema: String,
    pub(crate) schema_id: i32,
    pub(crate) parent: i32,
    pub(crate) kind: (&'static str, &'static str),
    pub(crate) created: (i32, u32),
    pub(crate) shipped: bool,
    /// The id of its owner, where that is not its schema's.
    pub(crate) owner: Option<u32>,
}

/// The letters of an object's kind in `sys.objects.type`.
pub(crate) fn type_code(definition: &ObjectDefinition) -> &'static str {
    kind_of(definition).map_or("", |(code, _)| code)
}

/// `type` and `type_desc` of an object.
pub(super) fn kind_of(definition: &ObjectDefinition) -> Option<(&'static str, &'static str)> {
    Some(match definition {
        ObjectDefinition::Table(_) => ("U", "USER_TABLE"),
        ObjectDefinition::TableType(_) => ("TT", "TYPE_TABLE"),
        ObjectDefinition::Sequence(_) => ("SO", "SEQUENCE_OBJECT"),
        ObjectDefinition::Synonym(_) => ("SN", "SYNONYM"),
        ObjectDefinition::Standalone(own) => match own.kind {
            StandaloneKind::Default => ("D", "DEFAULT_CONSTRAINT"),
            StandaloneKind::Rule => ("R", "RULE"),
        },
        ObjectDefinition::Module(module) => match module.kind {
            ModuleKind::View => ("V", "VIEW"),
            ModuleKind::Procedure => ("P", "SQL_STORED_PROCEDURE"),
            ModuleKind::Trigger | ModuleKind::DatabaseTrigger => ("TR", "SQL_TRIGGER"),
            ModuleKind::Function => crate::modules::function_kind(&module.text).codes(),
        },
        _ => return None,
    })
}

fn created_of(definition: &ObjectDefinition) -> (i32, u32) {
    match definition {
        ObjectDefinition::Table(table) => table.created,
        ObjectDefinition::Module(module) => module.created,
        ObjectDefinition::TableType(own) => own.table.created,
        ObjectDefinition::Sequence(sequence) => sequence.created,
        ObjectDefinition::Synonym(synonym) => synonym.created,
        ObjectDefinition::Standalone(own) => own.created,
        _ => (0, 0),
    }
}

/// Every object of the database, constraints included.
pub(crate) fn objects(context: &SystemContext<'_>) -> Vec<ObjectRow> {
    let database = &context.database;
    let entries = Entries::of(database, context.session_id);
    let mut rows = Vec::new();
    for object in database.catalog.objects(context.session_id) {
        if let ObjectDefinition::TableType(own) = &object.definition {
            let row = row_of_table_type(&own.table);
            rows.extend(constraints(&own.table, &row));
            rows.push(row);
        }
        let (Some(kind), Some((schema, name))) = (kind_of(&object.definition), object.definition.qualified_name())
        else {
            continue;
        };
        // They are in no schema, and sys.objects does not show them (sql-docs, "sys.objects").
        if object.definition.definition_trigger().is_some() {
            continue;
        }
        let row = ObjectRow {
            name: name.to_owned(),
            object_id: object.definition.object_id() as i32,
            schema: schema.to_owned(),
            schema_id: id_of_schema(database, context.session_id, schema).unwrap_or(1),
            parent: match &object.definition {
                ObjectDefinition::Module(module) => module.parent as i32,
                _ => 0,
            },
            kind,
            created: created_of(&object.definition),
            shipped: false,
            owner: entries.explicit_owner(Securable::Object(object.definition.object_id())),
        };
        if let ObjectDefinition::Table(table) = &object.definition {
            rows.extend(constraints(table, &row));
        }
        rows.push(row);
    }
    rows
}

/// What a table type looks like is an object of the system, under a name that is made up.
fn row_of_table_type(table: &TableDefinition) -> ObjectRow {
    ObjectRow {
        name: format!("TT_{}_{:08X}", table.name, table.object_id),
        object_id: table.object_id as i32,
        schema: "sys".to_owned(),
        schema_id: 4,
        parent: 0,
        kind: ("TT", "TYPE_TABLE"),
        created: table.created,
        shipped: true,
        owner: None,
    }
}

fn constraints(table: &TableDefinition, owner: &ObjectRow) -> Vec<ObjectRow> {
    let row = |constraint: Constraint<'_>| ObjectRow {
        name: constraint.name.to_owned(),
        object_id: constraint.object_id as i32,
        parent: owner.object_id,
        kind: constraint.kind,
        owner: None,
        ..owner.clone()
    };
    constraints_of(table).map(row).collect()
}

/// A constraint of a table.
#[derive(Clone, Copy)]
pub(crate) struct Constraint<'t> {
    pub(crate) name: &'t str,
    pub(crate) object_id: u32,
    /// `type` and `type_desc`.
    pub(crate) kind: (&'static str, &'static str),
    /// The text of a default or a condition, as it was written.
    pub(crate) text: Option<&'t str>,
}

impl Constraint<'_> {
    /// Its text as the catalog shows it.
    pub(crate) fn definition(&self) -> Option<String> {
        let show = if self.kind.0 == "D" {
            default_text
        } else {
            condition_text
        };
        self.text.map(show)
    }
}

/// All constraints of a table.
pub(crate) fn constraints_of(table: &TableDefinition) -> impl Iterator<Item = Constraint<'_>> {
    let keys = table.every_index().filter_map(|index| {
        let kind = match (index.primary_key, index.unique_constraint) {
            (true, _) => ("PK", "PRIMARY_KEY_CONSTRAINT"),
            (_, true) => ("UQ", "UNIQUE_CONSTRAINT"),
            _ => return None,
        };
        Some((index.name.as_str(), index.constraint_id, kind, None))
    });
    let defaults = table.columns.iter().filter_map(|column| column.default.as_ref());
    let defaults = defaults.map(|default| {
        let kind = ("D", "DEFAULT_CONSTRAINT");
        (
            default.name.as_str(),
            default.object_id,
            kind,
            Some(default.text.as_str()),
        )
    });
    let checks = table.checks.iter().map(|check| {
        let kind = ("C", "CHECK_CONSTRAINT");
        (check.name.as_str(), check.object_id, kind, Some(check.text.as_str()))
    });
    let foreign_keys = table.foreign_keys.iter().map(|key| {
        let kind = ("F", "FOREIGN_KEY_CONSTRAINT");
        (key.name.as_str(), key.object_id, kind, None)
    });
    let all = keys.chain(defaults).chain(checks).chain(foreign_keys);
    all.map(|(name, object_id, kind, text)| Constraint {
        name,
        object_id,
        kind,
        text,
    })
}

/// Whether a module was made WITH SCHEMABINDING.
pub(crate) fn is_schema_bound(module: &ModuleDefinition) -> bool {
    has_word(&module.text, "SCHEMABINDING")
}

/// The id of a system view by its place among all.
pub(crate) fn system_object_id(place: usize) -> i32 {
    SYSTEM_OBJECT_FIRST - place as i32
}

/// A system view by its schema and name.
pub(crate) fn system_object(is_wanted: impl Fn(&ObjectRow) -> bool) -> Option<ObjectRow> {
    system_objects().find(is_wanted)
}

/// Those that the instance does not keep back.
fn shown_system_objects(context: &SystemContext<'_>) -> impl Iterator<Item = ObjectRow> {
    system_objects().filter(|row| !Withheld::hides(context.instance, &row.name))
}

fn system_objects() -> impl Iterator<Item = ObjectRow> {
    every().enumerate().map(|(place, view)| ObjectRow {
        name: view.name.to_owned(),
        object_id: system_object_id(place),
        schema: view.schema.to_owned(),
        schema_id: if view.schema == "INFORMATION_SCHEMA" { 3 } else { 4 },
        parent: 0,
        kind: if view.parameters.is_empty() {
            ("V", "VIEW")
        } else {
            ("IF", "SQL_INLINE_TABLE_VALUED_FUNCTION")
        },
        created: (0, 0),
        shipped: true,
        owner: None,
    })
}

fn of_type(context: &SystemContext<'_>, code: &'static str) -> impl Iterator<Item = ObjectRow> {
    objects(context).into_iter().filter(move |row| row.kind.0 == code)
}

/// Every table with its definition.
pub(crate) fn tables(context: &SystemContext<'_>) -> Vec<(ObjectRow, Arc<CatalogObject>)> {
    let rows = objects(context).into_iter().filter(|row| row.kind.0 == "U");
    let catalog = &context.database.catalog;
    rows.filter_map(|row| Some((row.clone(), catalog.by_id(row.object_id as u32, context.session_id)?)))
        .collect()
}

/// Every table and every view that has indexes, with its definition.
pub(crate) fn with_indexes(context: &SystemContext<'_>) -> Vec<(ObjectRow, Arc<CatalogObject>)> {
    let mut found = with_columns(context);
    found.retain(|(row, object)| matches!(row.kind.0, "U" | "V") && table_of(object).is_some());
    found
}

/// Every object that has columns, with its definition: tables, views, table-valued functions.
pub(crate) fn with_columns(context: &SystemContext<'_>) -> Vec<(ObjectRow, Arc<CatalogObject>)> {
    let kinds = ["U", "V", "IF", "TF", "TT"];
    let rows = objects(context).into_iter().filter(|row| kinds.contains(&row.kind.0));
    let catalog = &context.database.catalog;
    rows.filter_map(|row| Some((row.clone(), catalog.by_id(row.object_id as u32, context.session_id)?)))
        .collect()
}

/// The columns of an object, in order.
pub(crate) fn columns_of(object: &CatalogObject) -> &[ColumnDefinition] {
    match &object.definition {
        ObjectDefinition::Table(table) => &table.columns,
        ObjectDefinition::TableType(own) => &own.table.columns,
        ObjectDefinition::Module(module) => &module.columns,
        _ => &[],
    }
}

/// The definition of a table, or of the rows that a view's indexes hold.
pub(crate) fn table_of(object: &CatalogObject) -> Option<&TableDefinition> {
    object.definition.table()
}

const DESCRIPTION: SqlType = nvarchar(60);
const CODE: SqlType = SqlType::Char(2);

/// `type` is char(2).
fn code(kind: (&'static str, &'static str)) -> Value {
    format!("{:<2}", kind.0).into()
}

system_row!(ObjectRow {
    "name" NAME => |row| row.name.as_str().into();
    "object_id" INT => |row| row.object_id.into();
    "principal_id" INT => |row| owner_id(row.owner);
    "schema_id" INT => |row| row.schema_id.into();
    "parent_object_id" INT => |row| row.parent.into();
    "type" CODE => |row| code(row.kind);
    "type_desc" DESCRIPTION => |row| row.kind.1.into();
    "create_date" DATETIME => |row| stored_datetime(row.created);
    "modify_date" DATETIME => |row| stored_datetime(row.created);
    "is_ms_shipped" BIT => |row| row.shipped.into();
    "is_published" BIT => |_| false.into();
    "is_schema_published" BIT => |_| false.into();
});

struct TableRow((ObjectRow, Arc<CatalogObject>));

/// One of the columns about the retention of history.
fn retention(row: &TableRow, place: usize) -> Value {
    let values = table_of(&row.0.1).map(retention_of);
    values
        .and_then(|values| values.into_iter().nth(place))
        .unwrap_or(Value::Null)
}

fn escalation_of(row: &TableRow) -> (u8, &'static str) {
    let escalation = table_of(&row.0.1).map(|table| table.lock_escalation);
    escalation.unwrap_or_default().shown()
}

system_row!(TableRow {
    "name" NAME => |row| row.0.0.name.as_str().into();
    "object_id" INT => |row| row.0.0.object_id.into();
    "principal_id" INT => |row| owner_id(row.0.0.owner);
    "schema_id" INT => |row| row.0.0.schema_id.into();
    "parent_object_id" INT => |_| 0.into();
    "type" CODE => |row| code(row.0.0.kind);
    "type_desc" DESCRIPTION => |row| row.0.0.kind.1.into();
    "create_date" DATETIME => |row| stored_datetime(row.0.0.created);
    "modify_date" DATETIME => |row| stored_datetime(row.0.0.created);
    "is_ms_shipped" BIT => |_| false.into();
    "is_published" BIT => |_| false.into();
    "is_schema_published" BIT => |_| false.into();
    "lob_data_space_id" INT => |row| table_of(&row.0.1).map_or(0, lob_data_space).into();
    "filestream_data_space_id" INT => |_| Value::Null;
    "max_column_id_used" INT => |row| table_of(&row.0.1).map_or(0, |table| table.columns.len() as i32).into();
    "lock_on_bulk_load" BIT => |_| false.into();
    "uses_ansi_nulls" BIT => |_| true.into();
    "is_replicated" BIT => |_| false.into();
    "has_replication_filter" BIT => |_| false.into();
    "is_merge_published" BIT => |_| false.into();
    "is_sync_tran_subscribed" BIT => |_| false.into();
    "has_unchecked_assembly_data" BIT => |_| false.into();
    "text_in_row_limit" INT => |_| 0.into();
    "large_value_types_out_of_row" BIT => |_| false.into();
    "is_tracked_by_cdc" BIT => |_| false.into();
    "lock_escalation" TINYINT => |row| Value::TinyInt(escalation_of(row).0);
    "lock_escalation_desc" DESCRIPTION => |row| escalation_of(row).1.into();
    "is_filetable" BIT => |_| false.into();
    "is_memory_optimized" BIT => |_| false.into();
    "durability" TINYINT => |_| Value::TinyInt(0);
    "durability_desc" DESCRIPTION => |_| "SCHEMA_AND_DATA".into();
    "temporal_type" TINYINT => |row| Value::TinyInt(table_of(&row.0.1).map_or(0, |table| temporal_type(table).0));
    "temporal_type_desc" DESCRIPTION => |row| table_of(&row.0.1).map(|table| temporal_type(table).1).into();
    "history_table_id" INT => |row| {
        let versioning = table_of(&row.0.1).and_then(|table| table.versioning);
        versioning.map(|versioning| versioning.history as i32).into()
    };
    "is_remote_data_archive_enabled" BIT => |_| false.into();
    "is_external" BIT => |_| false.into();
    "history_retention_period" INT => |row| retention(row, 0);
    "history_retention_period_unit" INT => |row| retention(row, 1);
    "history_retention_period_unit_desc" nvarchar(10) => |row| retention(row, 2);
    "is_node" BIT => |_| false.into();
    "is_edge" BIT => |_| false.into();
});

/// A view, and whether it is WITH CHECK OPTION.
struct ViewRow(ObjectRow, bool);

fn views(context: &SystemContext<'_>) -> impl Iterator<Item = ViewRow> {
    of_type(context, "V").map(|row| {
        let object = context.database.catalog.by_id(row.object_id as u32, context.session_id);
        // Neither word can stand elsewhere in a view: one is reserved, and a view has no OPTION clause.
        let is_checked = object.is_some_and(|object| match &object.definition {
            ObjectDefinition::Module(module) => has_word(&module.text, "CHECK") && has_word(&module.text, "OPTION"),
            _ => false,
        });
        ViewRow(row, is_checked)
    })
}

system_row!(ViewRow {
    "name" NAME => |row| row.0.name.as_str().into();
    "object_id" INT => |row| row.0.object_id.into();
    "principal_id" INT => |row| owner_id(row.0.owner);
    "schema_id" INT => |row| row.0.schema_id.into();
    "parent_object_id" INT => |_| 0.into();
    "type" CODE => |row| code(row.0.kind);
    "type_desc" DESCRIPTION => |row| row.0.kind.1.into();
    "create_date" DATETIME => |row| stored_datetime(row.0.created);
    "modify_date" DATETIME => |row| stored_datetime(row.0.created);
    "is_ms_shipped" BIT => |row| row.0.shipped.into();
    "is_published" BIT => |_| false.into();
    "is_schema_published" BIT => |_| false.into();
    "is_replicated" BIT => |_| false.into();
    "has_replication_filter" BIT => |_| false.into();
    "has_opaque_metadata" BIT => |_| false.into();
    "has_unchecked_assembly_data" BIT => |_| false.into();
    "with_check_option" BIT => |row| row.1.into();
    "is_date_correlation_view" BIT => |_| false.into();
});

struct ProcedureRow(ObjectRow);

system_row!(ProcedureRow {
    "name" NAME => |row| row.0.name.as_str().into();
    "object_id" INT => |row| row.0.object_id.into();
    "principal_id" INT => |row| owner_id(row.0.owner);
    "schema_id" INT => |row| row.0.schema_id.into();
    "parent_object_id" INT => |_| 0.into();
    "type" CODE => |row| code(row.0.kind);
    "type_desc" DESCRIPTION => |row| row.0.kind.1.into();
    "create_date" DATETIME => |row| stored_datetime(row.0.created);
    "modify_date" DATETIME => |row| stored_datetime(row.0.created);
    "is_ms_shipped" BIT => |_| false.into();
    "is_published" BIT => |_| false.into();
    "is_schema_published" BIT => |_| false.into();
    "is_auto_executed" BIT => |_| false.into();
});

struct SchemaRow {
    name: String,
    schema_id: i32,
    /// `principal_id`: a fixed schema is its namesake's.
    owner: u32,
}

system_row!(SchemaRow {
    "name" NAME => |row| row.name.as_str().into();
    "schema_id" INT => |row| row.schema_id.into();
    "principal_id" INT => |row| owner_id(Some(row.owner));
});

fn schemas(context: &SystemContext<'_>) -> Vec<SchemaRow> {
    let fixed = [("dbo", 1), ("guest", 2), ("INFORMATION_SCHEMA", 3), ("sys", 4)];
    let owners = SchemaOwners::of(&Entries::of(&context.database, context.session_id));
    let fixed = fixed.into_iter().map(|(name, schema_id)| SchemaRow {
        name: name.to_owned(),
        schema_id,
        owner: owners.owner(schema_id),
    });
    let objects = context.database.catalog.objects(context.session_id);
    let own = objects.iter().filter_map(|object| match &object.definition {
        ObjectDefinition::Schema { object_id, name } => Some(SchemaRow {
            name: name.clone(),
            schema_id: *object_id as i32,
            owner: owners.owner(*object_id as i32),
        }),
        _ => None,
    });
    fixed.chain(own).collect()
}

/// The names of all schemas and of their owners, the fixed ones first.
pub(super) fn schema_names(context: &SystemContext<'_>) -> Vec<(String, String)> {
    let principals = principals(&context.database, context.session_id);
    let name_of = |id: u32| principals.iter().find(|own| own.id == id).map(|own| own.name.clone());
    let schemas = schemas(context).into_iter();
    schemas
        .map(|schema| (schema.name, name_of(schema.owner).unwrap_or_default()))
        .collect()
}

/// `principal_id` of what may have an owner of its own.
pub(super) fn owner_id(owner: Option<u32>) -> Value {
    owner.map_or(Value::Null, |owner| (owner as i32).into())
}

struct ModuleRow {
    object_id: i32,
    text: String,
    uses_ansi_nulls: bool,
    uses_quoted_identifier: bool,
    is_recompiled: bool,
    execute_as: Option<i32>,
    null_on_null: bool,
}

system_row!(ModuleRow {
    "object_id" INT => |row| row.object_id.into();
    "definition" SqlType::NVarChar(Length::Max) => |row| row.text.as_str().into();
    "uses_ansi_nulls" BIT => |row| row.uses_ansi_nulls.into();
    "uses_quoted_identifier" BIT => |row| row.uses_quoted_identifier.into();
    "is_schema_bound" BIT => |row| has_word(&row.text, "SCHEMABINDING").into();
    "uses_database_collation" BIT => |_| false.into();
    "is_recompiled" BIT => |row| row.is_recompiled.into();
    "null_on_null_input" BIT => |row| row.null_on_null.into();
    "execute_as_principal_id" INT => |row| row.execute_as.map_or(Value::Null, Value::from);
    "uses_native_compilation" BIT => |_| false.into();
    "inline_type" BIT => |_| false.into();
    "is_inlineable" BIT => |_| false.into();
});

fn modules(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let objects = context.database.catalog.objects(context.session_id);
    all(objects.iter().filter_map(|object| match &object.definition {
        ObjectDefinition::Module(definition) => {
            let module = ModuleCache::of(context.instance).module(object, context.user_types());
            Some(ModuleRow {
                object_id: definition.object_id as i32,
                text: definition.text.clone(),
                uses_ansi_nulls: definition.uses_ansi_nulls,
                uses_quoted_identifier: definition.uses_quoted_identifier,
                is_recompiled: module.as_ref().is_ok_and(|module| module.is_recompiled),
                execute_as: module.as_ref().ok().and_then(|module| module.execute_as),
                null_on_null: module.is_ok_and(|module| module.is_null_on_null()),
            })
        }
        // Stand-alone defaults and rules have a definition here, too (sql-docs, "sys.sql_modules").
        ObjectDefinition::Standalone(own) => Some(ModuleRow {
            object_id: own.object_id as i32,
            text: own.text.clone(),
            uses_ansi_nulls: false,
            uses_quoted_identifier: false,
            is_recompiled: false,
            execute_as: None,
            null_on_null: false,
        }),
        _ => None,
    }))
}

struct CheckRow {
    object: ObjectRow,
    check: CheckConstraint,
    /// `column_id` of the column, when it reads just one; 0 otherwise.
    column: i32,
}

system_row!(CheckRow {
    "name" NAME => |row| row.object.name.as_str().into();
    "object_id" INT => |row| row.object.object_id.into();
    "principal_id" INT => |_| Value::Null;
    "schema_id" INT => |row| row.object.schema_id.into();
    "parent_object_id" INT => |row| row.object.parent.into();
    "type" CODE => |row| code(row.object.kind);
    "type_desc" DESCRIPTION => |row| row.object.kind.1.into();
    "create_date" DATETIME => |row| stored_datetime(row.object.created);
    "modify_date" DATETIME => |row| stored_datetime(row.object.created);
    "is_ms_shipped" BIT => |_| false.into();
    "is_disabled" BIT => |row| row.check.is_disabled.into();
    "is_not_for_replication" BIT => |_| false.into();
    "is_not_trusted" BIT => |row| row.check.is_not_trusted.into();
    "parent_column_id" INT => |row| row.column.into();
    "definition" SqlType::NVarChar(Length::Max) => |row| condition_text(&row.check.text).into();
    // A string that is written in it has the collation of the database.
    "uses_database_collation" BIT => |row| row.check.text.contains('\'').into();
    "is_system_named" BIT => |row| row.check.is_system_named.into();
});

fn checks(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let Some(table) = table_of(&object) else { continue };
        let own = constraints(table, &owner).into_iter().filter(|row| row.kind.0 == "C");
        rows.extend(own.zip(&table.checks).map(|(object, check)| CheckRow {
            object,
            check: check.clone(),
            column: only_column(table, &check.text),
        }));
    }
    all(rows)
}

/// `column_id` of the one column that a CHECK names; 0 when it names several.
pub(crate) fn only_column(table: &TableDefinition, text: &str) -> i32 {
    let mut columns: Vec<usize> = names_in(text).iter().filter_map(|name| table.column(name)).collect();
    columns.sort_unstable();
    columns.dedup();
    match columns.as_slice() {
        [column] => *column as i32 + 1,
        _ => 0,
    }
}

struct KeyRow {
    object: ObjectRow,
    index_id: i32,
    is_system_named: bool,
}

system_row!(KeyRow {
    "name" NAME => |row| row.object.name.as_str().into();
    "object_id" INT => |row| row.object.object_id.into();
    "principal_id" INT => |_| Value::Null;
    "schema_id" INT => |row| row.object.schema_id.into();
    "parent_object_id" INT => |row| row.object.parent.into();
    "type" CODE => |row| code(row.object.kind);
    "type_desc" DESCRIPTION => |row| row.object.kind.1.into();
    "create_date" DATETIME => |row| stored_datetime(row.object.created);
    "modify_date" DATETIME => |row| stored_datetime(row.object.created);
    "is_ms_shipped" BIT => |_| false.into();
    "unique_index_id" INT => |row| row.index_id.into();
    "is_system_named" BIT => |row| row.is_system_named.into();
    "is_enforced" BIT => |_| true.into();
});

fn keys(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let Some(table) = table_of(&object) else { continue };
        let own = constraints(table, &owner)
            .into_iter()
            .filter(|row| matches!(row.kind.0, "PK" | "UQ"));
        let indexes = table.every_index().filter(|index| index.is_constraint());
        rows.extend(own.zip(indexes).map(|(object, index)| KeyRow {
            object,
            index_id: index.index_id as i32,
            is_system_named: index.is_system_named,
        }));
    }
    all(rows)
}

struct ForeignRow {
    object: ObjectRow,
    key: ForeignKey,
    /// `index_id` of the index that its keys are looked for in.
    index_id: i32,
}

system_row!(ForeignRow {
    "name" NAME => |row| row.object.name.as_str().into();
    "object_id" INT => |row| row.object.object_id.into();
    "principal_id" INT => |_| Value::Null;
    "schema_id" INT => |row| row.object.schema_id.into();
    "parent_object_id" INT => |row| row.object.parent.into();
    "type" CODE => |row| code(row.object.kind);
    "type_desc" DESCRIPTION => |row| row.object.kind.1.into();
    "create_date" DATETIME => |row| stored_datetime(row.object.created);
    "modify_date" DATETIME => |row| stored_datetime(row.object.created);
    "is_ms_shipped" BIT => |_| false.into();
    "referenced_object_id" INT => |row| (row.key.referenced_object as i32).into();
    "key_index_id" INT => |row| row.index_id.into();
    "is_disabled" BIT => |row| row.key.is_disabled.into();
    "is_not_for_replication" BIT => |_| false.into();
    "is_not_trusted" BIT => |row| row.key.is_not_trusted.into();
    "delete_referential_action" TINYINT => |row| Value::TinyInt(row.key.on_delete as u8);
    "delete_referential_action_desc" DESCRIPTION => |row| row.key.on_delete.name().into();
    "update_referential_action" TINYINT => |row| Value::TinyInt(row.key.on_update as u8);
    "update_referential_action_desc" DESCRIPTION => |row| row.key.on_update.name().into();
    "is_system_named" BIT => |row| row.key.is_system_named.into();
});

fn foreign_keys(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let Some(table) = table_of(&object) else { continue };
        let own = constraints(table, &owner).into_iter().filter(|row| row.kind.0 == "F");
        let keys = own.zip(&table.foreign_keys);
        rows.extend(keys.map(|(object, key)| ForeignRow {
            object,
            index_id: key_index_id(context, key),
            key: key.clone(),
        }));
    }
    all(rows)
}

/// The `index_id` of the unique index that a foreign key refers to; 0 when there is none.
fn key_index_id(context: &SystemContext<'_>, key: &ForeignKey) -> i32 {
    let referenced = context
        .database
        .catalog
        .by_id(key.referenced_object, context.session_id);
    let table = referenced.as_deref().and_then(table_of);
    let index = table.and_then(|table| table.indexes.get(table.unique_index_of(&key.referenced_columns)?));
    index.map_or(0, |index| index.index_id as i32)
}

struct ForeignColumnRow {
    constraint: i32,
    /// From 1.
    number: i32,
    parent: (i32, i32),
    referenced: (i32, i32),
}

system_row!(ForeignColumnRow {
    "constraint_object_id" INT => |row| row.constraint.into();
    "constraint_column_id" INT => |row| row.number.into();
    "parent_object_id" INT => |row| row.parent.0.into();
    "parent_column_id" INT => |row| row.parent.1.into();
    "referenced_object_id" INT => |row| row.referenced.0.into();
    "referenced_column_id" INT => |row| row.referenced.1.into();
});

fn foreign_key_columns(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    for (_, object) in tables(context) {
        let Some(table) = table_of(&object) else { continue };
        for key in &table.foreign_keys {
            let columns = key.columns.iter().zip(&key.referenced_columns).enumerate();
            rows.extend(columns.map(|(place, (column, referenced))| ForeignColumnRow {
                constraint: key.object_id as i32,
                number: place as i32 + 1,
                parent: (table.object_id as i32, *column as i32 + 1),
                referenced: (key.referenced_object as i32, *referenced as i32 + 1),
            }));
        }
    }
    all(rows)
}

/// `lob_data_space_id`: 0 for a table without columns of unlimited types (sql-docs, "sys.tables").
fn lob_data_space(table: &TableDefinition) -> i32 {
    let has_any = table.columns.iter().any(|column| is_unlimited(column.sql_type));
    let space = table.text_space.unwrap_or(table.data_space);
    match has_any {
        true => i32::try_from(space).unwrap_or(i32::MAX),
        false => 0,
    }
}
