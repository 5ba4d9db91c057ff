//! `sys.xml_schema_collections` and `sys.xml_schema_namespaces` (SQL Server docs, the pages of the views).

use engine::catalog::{ObjectDefinition, Securable, XmlSchemaCollection};
use engine::types::{SqlType, Value};

use super::objects::owner_id;
use super::values::stored_datetime;
use super::{DATETIME, INT, NAME, Rows, SystemContext, SystemView, all, id_of_schema, nvarchar, system_row, view};
use crate::scalar::xquery::Document;
use crate::security::Entries;

pub(super) const VIEWS: &[SystemView] = &[
    view::<CollectionRow>("sys", "xml_schema_collections", collections),
    view::<NamespaceRow>("sys", "xml_schema_namespaces", namespaces),
];

const ADDRESS: SqlType = nvarchar(4000);

struct CollectionRow {
    schema_id: i32,
    /// The id of its owner, where that is not its schema's.
    owner: Option<u32>,
    collection: XmlSchemaCollection,
}

system_row!(CollectionRow {
    "xml_collection_id" INT => |row| (row.collection.collection_id as i32).into();
    "schema_id" INT => |row| row.schema_id.into();
    "principal_id" INT => |row| owner_id(row.owner);
    "name" NAME => |row| row.collection.name.as_str().into();
    "create_date" DATETIME => |row| stored_datetime(row.collection.created);
    "modify_date" DATETIME => |row| stored_datetime(row.collection.modified);
});

struct NamespaceRow {
    collection_id: u32,
    address: String,
    number: i32,
}

system_row!(NamespaceRow {
    "xml_collection_id" INT => |row| (row.collection_id as i32).into();
    "name" ADDRESS => |row| row.address.as_str().into();
    "xml_namespace_id" INT => |row| row.number.into();
});

/// Those of users: the system's own, of the types of XML Schema, has no text.
fn every(context: &SystemContext<'_>) -> Vec<XmlSchemaCollection> {
    let objects = context.database.catalog.objects(context.session_id).into_iter();
    let own = objects.filter_map(|object| match &object.definition {
        ObjectDefinition::XmlSchemaCollection(collection) => Some(collection.clone()),
        _ => None,
    });
    own.collect()
}

fn collections(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let entries = Entries::of(&context.database, context.session_id);
    let rows = every(context).into_iter().map(|collection| CollectionRow {
        owner: entries.explicit_owner(Securable::XmlSchemaCollection(collection.collection_id)),
        schema_id: id_of_schema(&context.database, context.session_id, &collection.schema).unwrap_or_default(),
        collection,
    });
    all(rows)
}

/// The target namespaces of the schemas, each once.
fn namespaces(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows: Vec<NamespaceRow> = Vec::new();
    for collection in every(context) {
        let first = rows.len();
        for text in &collection.texts {
            // A text that the request has no memory for shows nothing.
            let addresses = Document::read(text).map_or_else(|_| Vec::new(), |read| read.of_roots("targetNamespace"));
            for address in addresses {
                if rows[first..].iter().all(|row| row.address != address) {
                    rows.push(NamespaceRow {
                        collection_id: collection.collection_id,
                        address,
                        number: (rows.len() - first) as i32 + 1,
                    });
                }
            }
        }
    }
    all(rows)
}
