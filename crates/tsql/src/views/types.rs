//! `sys.types` and `sys.fn_helpcollations`.

use engine::catalog::{Bindings, ColumnDefinition, NUMERIC_TYPE_ID, ObjectDefinition, Securable};
use engine::types::{Collation, GEOGRAPHY_TYPE_ID, GEOMETRY_TYPE_ID, Length, SqlType, Value};
use vlf::ServerVersion;

use super::columns::id_of_bound;
use super::objects::owner_id;
use super::{BIT, DATETIME, INT, NAME, Rows, SMALLINT, SystemView, TINYINT, all, function, nvarchar, system_row, view};
use crate::scalar::data_type::is_known;
use crate::scalar::spatial::Surface;
use crate::security::Entries;
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<TypeRow>("sys", "types", types),
    view::<AssemblyTypeRow>("sys", "assembly_types", |context, _| {
        let collation = context.database.collation();
        all(every_type(collation, context.instance.options.version)
            .into_iter()
            .filter(is_clr)
            .map(AssemblyTypeRow))
    }),
    view::<Assembly>("sys", "assemblies", |_, _| all([Assembly])),
    view::<TableTypeRow>("sys", "table_types", |context, _| {
        all(user_types(context)
            .into_iter()
            .filter(|row| row.table_object_id.is_some())
            .map(TableTypeRow))
    }),
    function::<Collation>("fn_helpcollations", &[], 0, |_, _| all(Collation::ALL)),
];

system_row!(Collation {
    "name" NAME => |row| row.name().into();
    "description" nvarchar(1000) => |row| row.description().into();
});

fn types(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let collation = context.database.collation();
    let version = context.instance.options.version;
    all(every_type(collation, version).into_iter().chain(user_types(context)))
}

/// Alias types and table types.
fn user_types(context: &SystemContext<'_>) -> Vec<TypeRow> {
    let collation = context.database.collation();
    let objects = context.database.catalog.objects(context.session_id);
    let entries = Entries::of(&context.database, context.session_id);
    let own = objects.iter().filter_map(|object| {
        let (schema, name, user_type_id) = object.definition.type_name()?;
        let (sql_type, nullable, table_object_id) = match &object.definition {
            ObjectDefinition::AliasType(alias) => (alias.base, alias.nullable, None),
            other => (SqlType::Int, false, Some(other.object_id() as i32)),
        };
        let bound = match &object.definition {
            ObjectDefinition::AliasType(alias) => alias.bound.clone(),
            _ => Bindings::default(),
        };
        Some(TypeRow {
            owner: entries.explicit_owner(Securable::Type(user_type_id)),
            bound_ids: [id_of_bound(bound.default.as_ref()), id_of_bound(bound.rule.as_ref())],
            name: name.to_owned(),
            sql_type,
            user_type_id: user_type_id as i32,
            schema_id: super::id_of_schema(&context.database, context.session_id, schema).unwrap_or(1),
            nullable,
            collation,
            table_object_id,
        })
    });
    own.collect()
}

/// `schema_id` of sys.
const SYS_SCHEMA: i32 = 4;

/// `user_type_id` of hierarchyid; its `system_type_id` is that of all types of the common language runtime (sql-docs, "sys.types").
const HIERARCHY_TYPE_ID: i32 = 128;

/// Whether a row is that of a type of the common language runtime.
fn is_clr(row: &TypeRow) -> bool {
    row.sql_type.system_type_id() == SqlType::HierarchyId.system_type_id() && row.table_object_id.is_none()
}

/// `user_type_id` of sysname.
const SYSNAME_ID: i32 = 256;

/// The id by which `sys.types` and `sys.columns` are joined. SQL Server keeps sysname apart from nvarchar(128); a column's
/// type here does not, so it joins nvarchar.
pub(super) fn user_type_id(sql_type: SqlType) -> i32 {
    match sql_type {
        SqlType::HierarchyId => HIERARCHY_TYPE_ID,
        SqlType::Geometry => i32::from(GEOMETRY_TYPE_ID),
        SqlType::Geography => i32::from(GEOGRAPHY_TYPE_ID),
        other => i32::from(other.system_type_id()),
    }
}

/// The same of a column, which may have been declared by an alias type.
pub(super) fn user_type_id_of(column: &ColumnDefinition) -> i32 {
    column
        .user_type_id()
        .map_or_else(|| user_type_id(column.sql_type), |alias| alias as i32)
}

pub(super) struct TypeRow {
    name: String,
    sql_type: SqlType,
    user_type_id: i32,
    schema_id: i32,
    nullable: bool,
    /// The database's, for strings.
    collation: Collation,
    /// `type_table_object_id` of a table type, which has no type of values.
    table_object_id: Option<i32>,
    /// The default and the rule that are bound to an alias type; 0 for none.
    bound_ids: [i32; 2],
    /// The id of its owner, where that is not its schema's.
    owner: Option<u32>,
}

impl TypeRow {
    fn shown_collation(&self) -> Option<&'static str> {
        let is_text = self.sql_type.is_character() && self.sql_type != SqlType::XML;
        is_text.then_some(self.collation.name())
    }

    /// What is said of a type of values; of a table type something else.
    fn of_values(&self, value: impl FnOnce(SqlType) -> Value, of_table: Value) -> Value {
        match self.table_object_id {
            None => value(self.sql_type),
            Some(_) => of_table,
        }
    }
}

/// `system_type_id` of table types (sql-docs, "sys.types").
pub(super) const TABLE_TYPE_ID: u8 = 243;

/// Every type, in the order of their ids, as long as it may be.
fn every_type(collation: Collation, version: ServerVersion) -> Vec<TypeRow> {
    let by_name = |name: &str, sql_type, user_type_id, nullable| TypeRow {
        name: name.to_owned(),
        sql_type,
        user_type_id,
        schema_id: SYS_SCHEMA,
        nullable,
        collation,
        table_object_id: None,
        bound_ids: [0; 2],
        owner: None,
    };
    let types = [
        SqlType::VarBinary(Length::LargeObject),
        SqlType::VarChar(Length::LargeObject),
        SqlType::UniqueIdentifier,
        SqlType::Date,
        SqlType::Time { scale: 7 },
        SqlType::DateTime2 { scale: 7 },
        SqlType::DateTimeOffset { scale: 7 },
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::SmallDateTime,
        SqlType::Real,
        SqlType::Money,
        SqlType::DateTime,
        SqlType::Float,
        SqlType::SqlVariant,
        SqlType::NVarChar(Length::LargeObject),
        SqlType::Bit,
        SqlType::Decimal {
            precision: 38,
            scale: 38,
        },
        SqlType::SmallMoney,
        SqlType::BigInt,
        SqlType::VarBinary(Length::Limited(8000)),
        SqlType::VarChar(Length::Limited(8000)),
        SqlType::Binary(8000),
        SqlType::Char(8000),
        SqlType::RowVersion,
        SqlType::NVarChar(Length::Limited(4000)),
        SqlType::NChar(4000),
        SqlType::HierarchyId,
        SqlType::Geometry,
        SqlType::Geography,
        SqlType::Json,
    ]
    .into_iter()
    .filter(|sql_type| is_known(*sql_type, version))
    .map(|sql_type| {
        by_name(
            sql_type.name(),
            sql_type,
            user_type_id(sql_type),
            sql_type != SqlType::RowVersion,
        )
    });
    let decimal = SqlType::Decimal {
        precision: 38,
        scale: 38,
    };
    let numeric = by_name("numeric", decimal, i32::from(NUMERIC_TYPE_ID), true);
    let xml = by_name("xml", SqlType::XML, user_type_id(SqlType::XML), true);
    let sysname = by_name("sysname", NAME, SYSNAME_ID, false);
    types.chain([numeric, xml, sysname]).collect()
}

system_row!(TypeRow {
    "name" NAME => |row| row.name.as_str().into();
    "system_type_id" TINYINT => |row| match () {
        () if row.user_type_id == i32::from(NUMERIC_TYPE_ID) => Value::TinyInt(NUMERIC_TYPE_ID),
        () => row.of_values(|own| Value::TinyInt(own.system_type_id()), Value::TinyInt(TABLE_TYPE_ID)),
    };
    "user_type_id" INT => |row| row.user_type_id.into();
    "schema_id" INT => |row| row.schema_id.into();
    "principal_id" INT => |row| owner_id(row.owner);
    "max_length" SMALLINT => |row| row.of_values(|own| Value::SmallInt(own.max_length()), Value::SmallInt(-1));
    "precision" TINYINT => |row| row.of_values(|own| Value::TinyInt(own.precision()), Value::TinyInt(0));
    "scale" TINYINT => |row| row.of_values(|own| Value::TinyInt(own.scale()), Value::TinyInt(0));
    "collation_name" NAME => |row| row.shown_collation().into();
    "is_nullable" BIT => |row| row.nullable.into();
    "is_user_defined" BIT => |row| (row.schema_id != SYS_SCHEMA).into();
    "is_assembly_type" BIT => |row| is_clr(row).into();
    "default_object_id" INT => |row| row.bound_ids[0].into();
    "rule_object_id" INT => |row| row.bound_ids[1].into();
    "is_table_type" BIT => |row| row.table_object_id.is_some().into();
});

struct TableTypeRow(TypeRow);

system_row!(TableTypeRow {
    "name" NAME => |row| row.0.name.as_str().into();
    "system_type_id" TINYINT => |_| Value::TinyInt(TABLE_TYPE_ID);
    "user_type_id" INT => |row| row.0.user_type_id.into();
    "schema_id" INT => |row| row.0.schema_id.into();
    "principal_id" INT => |row| owner_id(row.0.owner);
    "max_length" SMALLINT => |_| Value::SmallInt(-1);
    "precision" TINYINT => |_| Value::TinyInt(0);
    "scale" TINYINT => |_| Value::TinyInt(0);
    "collation_name" NAME => |_| Value::Null;
    "is_nullable" BIT => |row| row.0.nullable.into();
    "is_user_defined" BIT => |_| true.into();
    "is_assembly_type" BIT => |_| false.into();
    "default_object_id" INT => |_| 0.into();
    "rule_object_id" INT => |_| 0.into();
    "is_table_type" BIT => |_| true.into();
    "type_table_object_id" INT => |row| row.0.table_object_id.into();
    "is_memory_optimized" BIT => |_| false.into();
});

/// A type of the common language runtime (sql-docs, "sys.assembly_types").
struct AssemblyTypeRow(TypeRow);

/// `assembly_id` of the assembly that brings the types of the system.
const TYPES_ASSEMBLY_ID: i32 = 1;

/// The type of .NET that holds values of a type.
fn assembly_class(sql_type: SqlType) -> String {
    let class = Surface::of(sql_type).map_or("SqlHierarchyId", Surface::class);
    format!("Microsoft.SqlServer.Types.{class}")
}

/// The strong name of that assembly, as SQL Server has it since 2012.
const TYPES_ASSEMBLY: &str = "microsoft.sqlserver.types, version=11.0.0.0, culture=neutral, publickeytoken=89845dcd8080cc91, processorarchitecture=msil";

/// The one assembly, which brings `hierarchyid`, `geometry` and `geography` (sql-docs, "sys.assemblies"). Its date is not kept.
struct Assembly;

system_row!(Assembly {
    "name" NAME => |_| "Microsoft.SqlServer.Types".into();
    "principal_id" INT => |_| SYS.into();
    "assembly_id" INT => |_| TYPES_ASSEMBLY_ID.into();
    "clr_name" nvarchar(4000) => |_| TYPES_ASSEMBLY.into();
    "permission_set" TINYINT => |_| Value::TinyInt(3);
    "permission_set_desc" nvarchar(60) => |_| "UNSAFE_ACCESS".into();
    "is_visible" BIT => |_| true.into();
    "create_date" DATETIME => |_| Value::Null;
    "modify_date" DATETIME => |_| Value::Null;
    "is_user_defined" BIT => |_| false.into();
});

/// `principal_id` of `sys`, which owns what the system brings.
const SYS: i32 = 4;

system_row!(AssemblyTypeRow {
    "name" NAME => |row| row.0.name.as_str().into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.0.sql_type.system_type_id());
    "user_type_id" INT => |row| row.0.user_type_id.into();
    "schema_id" INT => |row| row.0.schema_id.into();
    "principal_id" INT => |_| Value::Null;
    "max_length" SMALLINT => |row| Value::SmallInt(row.0.sql_type.max_length());
    "precision" TINYINT => |_| Value::TinyInt(0);
    "scale" TINYINT => |_| Value::TinyInt(0);
    "collation_name" NAME => |_| Value::Null;
    "is_nullable" BIT => |row| row.0.nullable.into();
    "is_user_defined" BIT => |_| false.into();
    "is_assembly_type" BIT => |_| true.into();
    "default_object_id" INT => |_| 0.into();
    "rule_object_id" INT => |_| 0.into();
    "assembly_id" INT => |_| TYPES_ASSEMBLY_ID.into();
    "assembly_class" NAME => |row| assembly_class(row.0.sql_type).into();
    "is_binary_ordered" BIT => |row| (row.0.sql_type == SqlType::HierarchyId).into();
    "is_fixed_length" BIT => |_| false.into();
    "prog_id" nvarchar(40) => |_| Value::Null;
    "assembly_qualified_name" nvarchar(4000) => |row| format!("{}, {TYPES_ASSEMBLY}", assembly_class(row.0.sql_type)).into();
    "is_table_type" BIT => |_| false.into();
});
