//! `sys.types`.

use engine::types::{Length, SqlType, Value};

use super::databases::COLLATION;
use super::{BIT, INT, NAME, SMALLINT, SystemView, TINYINT, all, system_row, view};

pub(super) const VIEWS: &[SystemView] = &[view::<TypeRow>("sys", "types", |_, _| all(every_type()))];

/// `user_type_id` of sysname.
const SYSNAME_ID: i32 = 256;

/// The id by which `sys.types` and `sys.columns` are joined. SQL Server keeps sysname apart from nvarchar(128); a column's
/// type here does not, so it joins nvarchar.
pub(super) fn user_type_id(sql_type: SqlType) -> i32 {
    i32::from(sql_type.system_type_id())
}

pub(super) struct TypeRow {
    name: &'static str,
    sql_type: SqlType,
    user_type_id: i32,
}

/// Every type, in the order of their ids, as long as it may be.
fn every_type() -> Vec<TypeRow> {
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
        name: sql_type.name(),
        sql_type,
        user_type_id: user_type_id(sql_type),
    });
    let sysname = TypeRow {
        name: "sysname",
        sql_type: NAME,
        user_type_id: SYSNAME_ID,
    };
    types.chain([sysname]).collect()
}

system_row!(TypeRow {
    "name" NAME => |row| row.name.into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.sql_type.system_type_id());
    "user_type_id" INT => |row| row.user_type_id.into();
    "schema_id" INT => |_| 4.into();
    "principal_id" INT => |_| Value::Null;
    "max_length" SMALLINT => |row| Value::SmallInt(row.sql_type.max_length());
    "precision" TINYINT => |row| Value::TinyInt(row.sql_type.precision());
    "scale" TINYINT => |row| Value::TinyInt(row.sql_type.scale());
    "collation_name" NAME => |row| row.sql_type.is_character().then_some(COLLATION).into();
    "is_nullable" BIT => |row| (row.user_type_id != SYSNAME_ID).into();
    "is_user_defined" BIT => |_| false.into();
    "is_assembly_type" BIT => |_| false.into();
    "default_object_id" INT => |_| 0.into();
    "rule_object_id" INT => |_| 0.into();
    "is_table_type" BIT => |_| false.into();
});
