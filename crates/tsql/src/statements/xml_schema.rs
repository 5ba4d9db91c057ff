//! CREATE, ALTER and DROP XML SCHEMA COLLECTION.
//!
//! The texts are stored, and the columns declared with them. A text must be well formed and consist of schemas. It is not compiled, and
//! values of such columns are not validated against it: they must be well formed, like all xml values.

use engine::catalog::{ObjectDefinition, XML_COLLECTION, XmlSchemaCollection};
use engine::database::Database;
use engine::error::{Error, Result};

use super::executor::Executor;
use crate::ast::{DefinitionKind, Name, XmlSchemaText};
use crate::messages;
use crate::scalar::xml::without_declarations;
use crate::scalar::xquery::Document;

impl Executor<'_> {
    /// # Errors
    /// 6347 and 6348 for a collection that is not there, or is; 6352, 6361 and 2378 for what cannot be the text of schemas.
    pub(super) fn xml_schema(&mut self, written: &XmlSchemaText) -> Result<()> {
        let database = self.session.database();
        let (schema, name) = (crate::state::schema_of(&written.name), written.name.object());
        self.check_schema(&database, schema)?;
        let text = self.schema_text(written)?;
        let now = self.session.now_ticks();
        let now = (now.days, now.ticks);
        if written.definition == DefinitionKind::Create {
            let collection = XmlSchemaCollection {
                object_id: 0,
                collection_id: 0,
                schema: schema.to_owned(),
                name: name.to_owned(),
                texts: vec![text],
                created: now,
                modified: now,
            };
            let mut engine = self.session.engine.borrow_mut();
            return engine.create_xml_schema_collection(&database, collection).map(|_| ());
        }
        let found = database.xml_schema_collection(schema, name, self.session.id);
        let found = found.ok_or_else(|| messages::no_collection_to_alter(name))?;
        self.session.engine.borrow().lock_definition(&database, &found)?;
        let ObjectDefinition::XmlSchemaCollection(own) = &found.definition else {
            return Err(messages::no_collection_to_alter(name));
        };
        let mut changed = own.clone();
        changed.texts.push(text);
        changed.modified = now;
        let mut engine = self.session.engine.borrow_mut();
        let definition = ObjectDefinition::XmlSchemaCollection(changed);
        engine.replace_object(&database, &found, definition).map(|_| ())
    }

    fn schema_text(&self, written: &XmlSchemaText) -> Result<String> {
        let (value, sql_type) = self.value(&written.text)?;
        if value.is_null() {
            let text =
                "Invalid null parameter specified. XML Schema Collections can only be created from a non-null value.";
            return Err(Error::new(6361, 16, 1, text));
        }
        let Some(text) = value.as_str().filter(|_| sql_type.is_character()) else {
            let text = "Invalid parameter specified. XML Schema Collections can only be created from a string literal, or from a variable \
                        typed as a string or untyped XML.";
            return Err(Error::new(6352, 16, 1, text));
        };
        let roots = Document::read_in(text, sql_type.is_unicode())?.roots();
        let is_schema = |(local, namespace): &(String, String)| {
            local == "schema" && namespace == "http://www.w3.org/2001/XMLSchema"
        };
        match !roots.is_empty() && roots.iter().all(is_schema) {
            true => Ok(without_declarations(text)),
            false => Err(Error::new(2378, 16, 1, "Expected XML schema document")),
        }
    }

    /// # Errors
    /// 6314 for a collection that is not there, 6328 for one that columns are declared with.
    pub(super) fn drop_xml_schema_collection(&mut self, name: &Name) -> Result<()> {
        let database = self.session.database();
        let found = database.xml_schema_collection(crate::state::schema_of(name), name.object(), self.session.id);
        let found = found.ok_or_else(|| messages::no_collection(name.object()))?;
        self.session.engine.borrow().lock_definition(&database, &found)?;
        if let ObjectDefinition::XmlSchemaCollection(own) = &found.definition
            && let Some(user) = user_of(&database, own.collection_id, self.session.id)
        {
            return Err(messages::collection_in_use(&own.name, &user));
        }
        self.session.engine.borrow_mut().drop_object(&database, &found)
    }
}

/// The first table, or type of tables, with a column of the collection.
fn user_of(database: &Database, collection: u32, session: u16) -> Option<String> {
    let mut objects = database.catalog.objects(session).into_iter();
    objects.find_map(|object| {
        let table = match &object.definition {
            ObjectDefinition::Table(table) => table,
            ObjectDefinition::TableType(own) => &own.table,
            _ => return None,
        };
        let mut columns = table.columns.iter();
        let uses = columns.any(|column| column.xml_collection() == Some(collection));
        uses.then(|| table.name.clone())
    })
}

/// What the catalog keeps of a column whose type is `xml (collection)`.
///
/// # Errors
/// 6314 for a collection that is not there.
pub(super) fn declared_with(database: &Database, name: &Name, session: u16) -> Result<u32> {
    let found = database.xml_schema_collection(crate::state::schema_of(name), name.object(), session);
    match found.as_deref().map(|found| &found.definition) {
        Some(ObjectDefinition::XmlSchemaCollection(own)) => Ok(XML_COLLECTION + own.collection_id),
        _ => Err(messages::no_collection(&name.to_string())),
    }
}
