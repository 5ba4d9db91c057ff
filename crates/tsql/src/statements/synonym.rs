//! CREATE SYNONYM. DROP works as for every object.

use engine::catalog::{ObjectDefinition, SynonymDefinition};
use engine::error::Result;

use super::executor::Executor;
use crate::ast::{CreateSynonym, Name};
use crate::messages;

impl Executor<'_> {
    /// Nothing is asked of what the synonym stands for: "all existence, type, and permissions checking on the base object is deferred until
    /// run time" (sql-docs, "Synonyms").
    ///
    /// # Errors
    /// 166 for a name with a database; 2760, 2714.
    pub(super) fn create_synonym(&mut self, written: &CreateSynonym) -> Result<()> {
        let name = &written.name;
        if name.database().is_some() {
            return Err(messages::database_prefix("CREATE SYNONYM"));
        }
        let database = self.session.database_of(name)?;
        let schema = crate::state::schema_of(name);
        self.check_schema(&database, schema)?;
        let created = self.session.now_ticks();
        let synonym = SynonymDefinition {
            object_id: database.new_object_id()?,
            schema: schema.to_owned(),
            name: name.object().to_owned(),
            base: bracketed(&written.base),
            created: (created.days, created.ticks),
        };
        let mut engine = self.session.engine.borrow_mut();
        let made = engine.create_object(&database, ObjectDefinition::Synonym(synonym));
        made.map(|_| ())
    }
}

/// A name as `sys.synonyms` shows it: parts that are written in brackets, parts that are left out as nothing.
fn bracketed(name: &Name) -> String {
    let part = |text: &str| match text {
        "" => String::new(),
        text => format!("[{}]", text.replace(']', "]]")),
    };
    let parts: Vec<String> = name.parts.iter().map(|one| part(&one.text)).collect();
    parts.join(".")
}
