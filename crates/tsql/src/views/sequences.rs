//! `sys.sequences` and `INFORMATION_SCHEMA.SEQUENCES` (SQL Server docs, the pages of the views).

use engine::catalog::{ObjectDefinition, SequenceDefinition};
use engine::database::SequenceStand;
use engine::types::{SqlType, Value};

use super::objects::{ObjectRow, objects, owner_id};
use super::values::stored_datetime;
use super::{
    BIT, DATETIME, INT, NAME, Rows, SMALLINT, SystemContext, SystemView, TINYINT, all, nvarchar, system_row, view,
};
use crate::scalar::convert::{convert, whole_number};

pub(super) const VIEWS: &[SystemView] = &[
    view::<SequenceRow>("sys", "sequences", sequences),
    view::<StandardRow>("INFORMATION_SCHEMA", "SEQUENCES", standard),
];

const DESCRIPTION: SqlType = nvarchar(60);
const VARIANT: SqlType = SqlType::SqlVariant;

struct SequenceRow {
    object: ObjectRow,
    sequence: SequenceDefinition,
    stand: SequenceStand,
}

impl SequenceRow {
    /// A number as a value of the sequence's type.
    fn value(&self, number: Option<i128>) -> Value {
        let sql_type = self.sequence.sql_type();
        let typed = |number| whole_number(number, sql_type);
        let as_variant = |value: Value| convert(&value, sql_type, SqlType::SqlVariant, None);
        let value = number.and_then(|number| typed(number).and_then(as_variant).ok());
        value.unwrap_or(Value::Null)
    }

    /// Digits of its values.
    fn precision(&self) -> u8 {
        match self.sequence.sql_type() {
            SqlType::TinyInt => 3,
            SqlType::SmallInt => 5,
            SqlType::Int => 10,
            SqlType::Decimal { precision, .. } => precision,
            _ => 19,
        }
    }
}

system_row!(SequenceRow {
    "name" NAME => |row| row.object.name.as_str().into();
    "object_id" INT => |row| row.object.object_id.into();
    "principal_id" INT => |row| owner_id(row.object.owner);
    "schema_id" INT => |row| row.object.schema_id.into();
    "parent_object_id" INT => |_| Value::Int(0);
    "type" SqlType::Char(2) => |_| "SO".into();
    "type_desc" DESCRIPTION => |_| "SEQUENCE_OBJECT".into();
    "create_date" DATETIME => |row| stored_datetime(row.object.created);
    "modify_date" DATETIME => |row| stored_datetime(row.object.created);
    "is_ms_shipped" BIT => |_| false.into();
    "is_published" BIT => |_| false.into();
    "is_schema_published" BIT => |_| false.into();
    "start_value" VARIANT => |row| row.value(Some(row.sequence.start));
    "increment" VARIANT => |row| row.value(Some(row.sequence.increment));
    "minimum_value" VARIANT => |row| row.value(Some(row.sequence.minimum));
    "maximum_value" VARIANT => |row| row.value(Some(row.sequence.maximum));
    "is_cycling" BIT => |row| row.sequence.is_cycling.into();
    "is_cached" BIT => |row| row.sequence.is_cached.into();
    "cache_size" INT => |row| row.sequence.cache_size.map_or(Value::Null, |size| Value::Int(size as i32));
    "system_type_id" TINYINT => |row| Value::TinyInt(row.sequence.type_id);
    "user_type_id" INT => |row| Value::Int(i32::from(row.sequence.type_id));
    "precision" TINYINT => |row| Value::TinyInt(row.precision());
    "scale" TINYINT => |_| Value::TinyInt(0);
    // "The last value obligated": that given last, or the first one.
    "current_value" VARIANT => |row| row.value(row.stand.last.or(row.sequence.first));
    "is_exhausted" BIT => |row| row.stand.next.is_none().into();
    "last_used_value" VARIANT => |row| row.value(row.stand.last);
});

fn rows(context: &SystemContext<'_>) -> Vec<SequenceRow> {
    let catalog = &context.database.catalog;
    let rows = objects(context).into_iter().filter(|row| row.kind.0 == "SO");
    rows.filter_map(|object| {
        let found = catalog.by_id(object.object_id as u32, context.session_id)?;
        let ObjectDefinition::Sequence(sequence) = &found.definition else {
            return None;
        };
        Some(SequenceRow {
            object,
            stand: context.database.sequence_stand(sequence),
            sequence: sequence.clone(),
        })
    })
    .collect()
}

fn sequences(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    all(rows(context))
}

struct StandardRow {
    database: String,
    row: SequenceRow,
}

system_row!(StandardRow {
    "SEQUENCE_CATALOG" NAME => |own| own.database.as_str().into();
    "SEQUENCE_SCHEMA" NAME => |own| own.row.object.schema.as_str().into();
    "SEQUENCE_NAME" NAME => |own| own.row.object.name.as_str().into();
    "DATA_TYPE" NAME => |own| own.row.sequence.sql_type().name().into();
    "NUMERIC_PRECISION" TINYINT => |own| Value::TinyInt(own.row.precision());
    "NUMERIC_PRECISION_RADIX" SMALLINT => |_| Value::SmallInt(10);
    "NUMERIC_SCALE" INT => |_| Value::Int(0);
    "START_VALUE" VARIANT => |own| own.row.value(Some(own.row.sequence.start));
    "MINIMUM_VALUE" VARIANT => |own| own.row.value(Some(own.row.sequence.minimum));
    "MAXIMUM_VALUE" VARIANT => |own| own.row.value(Some(own.row.sequence.maximum));
    "INCREMENT" VARIANT => |own| own.row.value(Some(own.row.sequence.increment));
    "CYCLE_OPTION" BIT => |own| own.row.sequence.is_cycling.into();
    "DECLARED_DATA_TYPE" NAME => |_| Value::Null;
    "DECLARED_NUMERIC_PRECISION" TINYINT => |_| Value::Null;
    "DECLARED_NUMERIC_SCALE" INT => |_| Value::Null;
});

fn standard(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let database = context.database.name();
    all(rows(context).into_iter().map(|row| StandardRow {
        database: database.clone(),
        row,
    }))
}
