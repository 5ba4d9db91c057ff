//! `sys.types` and `sys.fn_helpcollations`.

use engine::catalog::ColumnDefinition;
use engine::types::{Collation, Length, SqlType, Value};

use super::{BIT, INT, NAME, Rows, SMALLINT, SystemView, TINYINT, all, function, nvarchar, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<TypeRow>("sys", "types", types),
    function::<Collation>("fn_helpcollations", &[], 0, |_, _| all(Collation::ALL)),
];

system_row!(Collation {
    "name" NAME => |row| row.name().into();
    "description" nvarchar(1000) => |row| row.description().into();
});

fn types(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let collation = context.database.collation();
    let aliases = context.database.catalog.alias_types(context.session_id).into_iter();
    let schemas = |name: &str| super::id_of_schema(&context.database, context.session_id, name).unwrap_or(1);
    let own = aliases.map(|alias| TypeRow {
        sql_type: alias.base,
        user_type_id: alias.user_type_id as i32,
        schema_id: schemas(&alias.schema),
        nullable: alias.nullable,
        collation,
        name: alias.name,
    });
    all(every_type(collation).into_iter().chain(own))
}

/// `schema_id` of sys.
const SYS_SCHEMA: i32 = 4;

/// `user_type_id` of sysname.
const SYSNAME_ID: i32 = 256;

/// The id by which `sys.types` and `sys.columns` are joined. SQL Server keeps sysname apart from nvarchar(128); a column's
/// type here does not, so it joins nvarchar.
pub(super) fn user_type_id(sql_type: SqlType) -> i32 {
    i32::from(sql_type.system_type_id())
}

/// The same of a column, which may have been declared by an alias type.
pub(super) fn user_type_id_of(column: &ColumnDefinition) -> i32 {
    column
        .alias_type
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
}

/// Every type, in the order of their ids, as long as it may be.
fn every_type(collation: Collation) -> Vec<TypeRow> {
    let types = [
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
        SqlType::NVarChar(Length::Limited(4000)),
        SqlType::NChar(4000),
    ]
    .into_iter()
    .map(|sql_type| TypeRow {
        name: sql_type.name().to_owned(),
        sql_type,
        user_type_id: user_type_id(sql_type),
        schema_id: SYS_SCHEMA,
        nullable: true,
        collation,
    });
    let sysname = TypeRow {
        name: "sysname".to_owned(),
        sql_type: NAME,
        user_type_id: SYSNAME_ID,
        schema_id: SYS_SCHEMA,
        nullable: false,
        collation,
    };
    types.chain([sysname]).collect()
}

system_row!(TypeRow {
    "name" NAME => |row| row.name.as_str().into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.sql_type.system_type_id());
    "user_type_id" INT => |row| row.user_type_id.into();
    "schema_id" INT => |row| row.schema_id.into();
    "principal_id" INT => |_| Value::Null;
    "max_length" SMALLINT => |row| Value::SmallInt(row.sql_type.max_length());
    "precision" TINYINT => |row| Value::TinyInt(row.sql_type.precision());
    "scale" TINYINT => |row| Value::TinyInt(row.sql_type.scale());
    "collation_name" NAME => |row| row.sql_type.is_character().then_some(row.collation.name()).into();
    "is_nullable" BIT => |row| row.nullable.into();
    "is_user_defined" BIT => |row| (row.schema_id != SYS_SCHEMA).into();
    "is_assembly_type" BIT => |_| false.into();
    "default_object_id" INT => |_| 0.into();
    "rule_object_id" INT => |_| 0.into();
    "is_table_type" BIT => |_| false.into();
});
