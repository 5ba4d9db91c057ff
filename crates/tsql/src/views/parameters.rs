//! `sys.parameters`: the parameters of procedures and functions, and the return values of scalar functions.

use engine::catalog::ObjectDefinition;
use engine::types::{Length, SqlType, Value};

use super::types::{TABLE_TYPE_ID, user_type_id};
use super::{BIT, INT, NAME, Rows, SMALLINT, SystemView, TINYINT, all, system_row, view};
use crate::modules::{ModuleBody, ModuleCache};
use crate::scalar::xml::XmlCollectionName;
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<ParameterRow>("sys", "parameters", parameters),
    view::<ParameterRow>("sys", "all_parameters", parameters),
];

struct ParameterRow {
    object_id: i32,
    /// Empty for what a function returns.
    name: String,
    /// From 1; 0 for what a function returns.
    number: i32,
    sql_type: SqlType,
    output: bool,
    is_cursor: bool,
    /// `user_type_id` of its type, if it is a table.
    table_type: Option<i32>,
    /// `xml_collection_id` of typed xml.
    xml_collection: Option<i32>,
}

// Defaults are shown for objects of the CLR alone (sql-docs, "sys.parameters").
system_row!(ParameterRow {
    "object_id" INT => |row| row.object_id.into();
    "name" NAME => |row| row.name.as_str().into();
    "parameter_id" INT => |row| row.number.into();
    "system_type_id" TINYINT => |row| Value::TinyInt(row.table_type.map_or(row.sql_type.system_type_id(), |_| TABLE_TYPE_ID));
    "user_type_id" INT => |row| row.table_type.unwrap_or_else(|| user_type_id(row.sql_type)).into();
    "max_length" SMALLINT => |row| Value::SmallInt(row.table_type.map_or(row.sql_type.max_length(), |_| -1));
    "precision" TINYINT => |row| Value::TinyInt(row.table_type.map_or(row.sql_type.precision(), |_| 0));
    "scale" TINYINT => |row| Value::TinyInt(row.sql_type.scale());
    "is_output" BIT => |row| row.output.into();
    "is_cursor_ref" BIT => |row| row.is_cursor.into();
    "has_default_value" BIT => |_| false.into();
    "is_xml_document" BIT => |_| false.into();
    "default_value" SqlType::NVarChar(Length::Max) => |_| Value::Null;
    "xml_collection_id" INT => |row| row.xml_collection.unwrap_or(0).into();
    "is_readonly" BIT => |row| row.table_type.is_some().into();
    "is_nullable" BIT => |_| true.into();
});

fn parameters(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let modules = ModuleCache::of(context.instance);
    let mut rows = Vec::new();
    for object in context.database.catalog.objects(context.session_id) {
        if !matches!(object.definition, ObjectDefinition::Module(_)) {
            continue;
        }
        let module = modules.module(&object, context.user_types())?;
        let object_id = object.definition.object_id() as i32;
        if let ModuleBody::Scalar {
            returns,
            returned_collection,
            ..
        } = &module.body
        {
            rows.push(ParameterRow {
                object_id,
                name: String::new(),
                number: 0,
                sql_type: *returns,
                output: true,
                is_cursor: false,
                table_type: None,
                xml_collection: collection_id(context, returned_collection.as_deref()),
            });
        }
        let declared = module.parameters.iter().zip(1..);
        rows.extend(declared.map(|(parameter, number)| ParameterRow {
            object_id,
            name: parameter.name.clone(),
            number,
            sql_type: parameter.sql_type,
            output: parameter.output,
            is_cursor: parameter.is_cursor,
            table_type: parameter.table.as_ref().and_then(|shape| {
                let id = shape.table_type.as_ref()?.object;
                let own = context.database.catalog.by_id(id, context.session_id)?;
                own.definition.type_name().map(|(_, _, id)| id as i32)
            }),
            xml_collection: collection_id(context, parameter.xml_collection.as_deref()),
        }));
    }
    all(rows)
}

/// The id of a schema collection of the database.
fn collection_id(context: &SystemContext<'_>, collection: Option<&XmlCollectionName>) -> Option<i32> {
    let XmlCollectionName { schema, name, .. } = collection?;
    let database = &context.database;
    let found = database.xml_schema_collection(schema, name, context.session_id)?;
    match &found.definition {
        ObjectDefinition::XmlSchemaCollection(own) => Some(own.collection_id as i32),
        _ => None,
    }
}
