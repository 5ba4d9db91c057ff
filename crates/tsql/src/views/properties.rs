//! Extended properties: `sys.extended_properties` and `sys.fn_listextendedproperty` (sql-docs), and the objects that its levels name.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ExtendedProperty, ModuleKind, ObjectDefinition, PropertyOwner};
use engine::types::{SqlType, Value};

use super::objects::{columns_of, table_of};
use super::{INT, NAME, Rows, SystemView, TINYINT, all, function, nvarchar, system_row, view};
use crate::views::SystemContext;

const WORD: SqlType = super::varchar(128);

pub(super) const VIEWS: &[SystemView] = &[
    view::<PropertyRow>("sys", "extended_properties", |context, _| {
        all(properties(context).into_iter().map(PropertyRow))
    }),
    function::<ListedProperty>(
        "fn_listextendedproperty",
        &[NAME, WORD, NAME, WORD, NAME, WORD, NAME],
        7,
        listed,
    ),
];

struct PropertyRow(ExtendedProperty);

system_row!(PropertyRow {
    "class" TINYINT => |row| Value::TinyInt(row.0.owner.numbers().0);
    "class_desc" nvarchar(60) => |row| row.0.owner.numbers().1.into();
    "major_id" INT => |row| (row.0.owner.numbers().2 as i32).into();
    "minor_id" INT => |row| (row.0.owner.numbers().3 as i32).into();
    "name" NAME => |row| row.0.name.as_str().into();
    "value" SqlType::SqlVariant => |row| row.0.value.clone();
});

fn properties(context: &SystemContext<'_>) -> Vec<ExtendedProperty> {
    let objects = context.database.catalog.objects(context.session_id);
    let own = objects.iter().filter_map(|object| match &object.definition {
        ObjectDefinition::ExtendedProperty(property) => Some(property.clone()),
        _ => None,
    });
    own.collect()
}

struct ListedProperty {
    kind: Option<String>,
    object: Option<String>,
    property: ExtendedProperty,
}

system_row!(ListedProperty {
    "objtype" NAME => |row| row.kind.as_deref().into();
    "objname" NAME => |row| row.object.as_deref().into();
    "name" NAME => |row| row.property.name.as_str().into();
    "value" SqlType::SqlVariant => |row| row.property.value.clone();
});

/// A level of what a property belongs to: its type in upper case and its name, each if given.
pub(crate) type PropertyLevel<'a> = (Option<String>, Option<&'a str>);

/// The three levels that begin at an argument.
pub(crate) fn levels(arguments: &[Value], first: usize) -> [PropertyLevel<'_>; 3] {
    let level = |place: usize| {
        let word = arguments.get(place).and_then(Value::as_str);
        let name = arguments.get(place + 1).and_then(Value::as_str);
        (word.map(|word| word.trim().to_uppercase()), name)
    };
    [level(first), level(first + 2), level(first + 4)]
}

/// What the levels name, with the name of the last; all of its kind where that level has no name. Nothing where they name nothing.
pub(crate) fn owners(context: &SystemContext<'_>, levels: &[PropertyLevel<'_>; 3]) -> Vec<(PropertyOwner, String)> {
    let [(kind, name), (kind_1, name_1), (kind_2, name_2)] = levels;
    match (kind.as_deref(), kind_1.as_deref(), kind_2.as_deref()) {
        (None, None, None) => vec![(PropertyOwner::Database, String::new())],
        // A user is an old word for his schema (sql-docs, "sp_addextendedproperty").
        (Some("SCHEMA" | "USER"), None, None) => schemas(context, *name),
        (Some("TYPE"), None, None) => types(context, None, *name),
        (Some("SCHEMA" | "USER"), Some("TYPE" | "TABLE_TYPE"), None) => types(context, *name, *name_1),
        (Some("SCHEMA" | "USER"), Some(kind_1), kind_2) => {
            let objects = objects(context, *name, kind_1, *name_1);
            match kind_2 {
                None => objects.iter().map(named).collect(),
                Some(kind_2) => objects
                    .iter()
                    .flat_map(|object| parts(object, kind_2, *name_2))
                    .collect(),
            }
        }
        _ => Vec::new(),
    }
}

fn is_meant(wanted: Option<&str>, name: &str) -> bool {
    wanted.is_none_or(|wanted| wanted.to_lowercase() == name.to_lowercase())
}

fn schemas(context: &SystemContext<'_>, name: Option<&str>) -> Vec<(PropertyOwner, String)> {
    let fixed = super::FIXED_SCHEMAS
        .iter()
        .map(|(name, id)| ((*name).to_owned(), *id as u32));
    let objects = context.database.catalog.objects(context.session_id);
    let own = objects.iter().filter_map(|object| match &object.definition {
        ObjectDefinition::Schema { object_id, name } => Some((name.clone(), *object_id)),
        _ => None,
    });
    let meant = fixed.chain(own).filter(|(own, _)| is_meant(name, own));
    meant.map(|(name, id)| (PropertyOwner::Schema(id), name)).collect()
}

fn types(context: &SystemContext<'_>, schema: Option<&str>, name: Option<&str>) -> Vec<(PropertyOwner, String)> {
    let objects = context.database.catalog.objects(context.session_id);
    let own = objects.iter().filter_map(|object| object.definition.type_name());
    let meant = own.filter(|(own_schema, own, _)| is_meant(schema, own_schema) && is_meant(name, own));
    meant
        .map(|(_, name, id)| (PropertyOwner::Type(id), name.to_owned()))
        .collect()
}

/// The objects of a kind in a schema.
fn objects(
    context: &SystemContext<'_>,
    schema: Option<&str>,
    kind: &str,
    name: Option<&str>,
) -> Vec<Arc<CatalogObject>> {
    let is_of_kind = |definition: &ObjectDefinition| match definition {
        ObjectDefinition::Table(_) => kind == "TABLE",
        ObjectDefinition::Module(module) => match module.kind {
            ModuleKind::View => kind == "VIEW",
            ModuleKind::Procedure => kind == "PROCEDURE",
            ModuleKind::Function => kind == "FUNCTION",
            ModuleKind::Trigger => kind == "TRIGGER",
            ModuleKind::DatabaseTrigger => false,
        },
        _ => false,
    };
    let mut objects = context.database.catalog.objects(context.session_id);
    objects.retain(|object| {
        let qualified = object.definition.qualified_name();
        let is_named = qualified.is_some_and(|(own, object)| is_meant(schema, own) && is_meant(name, object));
        is_named && is_of_kind(&object.definition)
    });
    objects
}

fn named(object: &Arc<CatalogObject>) -> (PropertyOwner, String) {
    let name = object.definition.qualified_name().map_or("", |(_, name)| name);
    (PropertyOwner::Object(object.definition.object_id()), name.to_owned())
}

/// Columns, constraints or indexes of an object.
fn parts(object: &CatalogObject, kind: &str, wanted: Option<&str>) -> Vec<(PropertyOwner, String)> {
    let id = object.definition.object_id();
    let table = table_of(object);
    let mut found: Vec<(PropertyOwner, &String)> = Vec::new();
    match kind {
        "COLUMN" => found.extend(
            columns_of(object)
                .iter()
                .zip(1..)
                .map(|(column, number)| (PropertyOwner::Column(id, number), &column.name)),
        ),
        "INDEX" => found.extend(table.into_iter().flat_map(|table| {
            let indexes = table.every_index();
            indexes.map(|index| (PropertyOwner::Index(id, index.index_id), &index.name))
        })),
        "CONSTRAINT" => found.extend(table.into_iter().flat_map(|table| {
            let keys = table.every_index().filter(|index| index.is_constraint());
            let defaults = table.columns.iter().filter_map(|column| column.default.as_ref());
            keys.map(|key| (PropertyOwner::Object(key.constraint_id), &key.name))
                .chain(defaults.map(|own| (PropertyOwner::Object(own.object_id), &own.name)))
                .chain(
                    table
                        .checks
                        .iter()
                        .map(|own| (PropertyOwner::Object(own.object_id), &own.name)),
                )
                .chain(
                    table
                        .foreign_keys
                        .iter()
                        .map(|own| (PropertyOwner::Object(own.object_id), &own.name)),
                )
        })),
        _ => {}
    }
    let meant = found.into_iter().filter(|(_, name)| is_meant(wanted, name));
    meant.map(|(owner, name)| (owner, name.clone())).collect()
}

/// The kind that `objtype` says: that of the last level given.
fn listed(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let wanted = arguments.first().and_then(Value::as_str);
    let levels = levels(arguments, 1);
    let kind = levels.iter().rev().find_map(|(kind, _)| kind.clone());
    let owners = owners(context, &levels);
    let properties = properties(context);
    let of_owner = owners.iter().flat_map(|(owner, object)| {
        let own = properties
            .iter()
            .filter(|property| property.owner == *owner && is_meant(wanted, &property.name));
        own.map(|property| ListedProperty {
            object: kind.as_ref().map(|_| object.clone()),
            kind: kind.clone(),
            property: property.clone(),
        })
    });
    all(of_owner.collect::<Vec<_>>())
}
