//! CREATE, ALTER, DROP and TRUNCATE TABLE; indexes, views, procedures, schemas.

use std::sync::Arc;

use engine::catalog::{
    CatalogObject, IndexDefinition, ModuleDefinition, ModuleKind, NamedText, ObjectDefinition, StorageRoot,
    TableDefinition,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::TEMPDB;
use engine::lock::Mode;
use engine::session::Table;
use engine::store::ReadMode;

use super::executor::Executor;
use crate::ast::{
    AlterTable, AlterTableAction, ConstraintKind, CreateIndex, CreateTable, DefinitionKind, Drop, DropIndex, Name,
    ObjectKind, StatementKind, TableElement,
};
use crate::messages;
use crate::session::DoneKind;

impl Executor<'_> {
    /// Statements that change the catalog or the instance.
    pub(super) fn definition(&mut self, kind: &StatementKind, line: u32) -> Result<()> {
        match kind {
            StatementKind::CreateTable(create) => self.create_table(create, line)?,
            StatementKind::AlterTable(alter) => self.alter_table(alter)?,
            StatementKind::CreateIndex(create) => self.create_index(create)?,
            StatementKind::DropIndex(drop) => self.drop_index(drop)?,
            StatementKind::AlterIndex(_) | StatementKind::UpdateStatistics(_) | StatementKind::Permission(_) => {}
            StatementKind::Drop(drop) => self.drop_objects(drop)?,
            StatementKind::TruncateTable(name) => self.truncate(name)?,
            StatementKind::CreateSchema(schema) => self.create_schema(&schema.name.text)?,
            StatementKind::CreateView(view) => {
                self.create_module(&view.name, ModuleKind::View, view.definition, &view.text)?;
            }
            StatementKind::CreateProcedure(procedure) => {
                self.create_module(
                    &procedure.name,
                    ModuleKind::Procedure,
                    procedure.definition,
                    &procedure.text,
                )?;
            }
            StatementKind::CreateFunction(function) => {
                self.create_module(
                    &function.name,
                    ModuleKind::Function,
                    function.definition,
                    &function.text,
                )?;
            }
            other => return self.administration(other, line),
        }
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    /// CREATE TABLE.
    fn create_table(&mut self, create: &CreateTable, line: u32) -> Result<()> {
        let definition = self.definition_of(&create.name, &create.elements)?;
        self.atomically(true, |executor| {
            executor
                .create_defined_table(&create.name, definition, line)
                .map(|_| ())
        })
    }

    /// Creates a table from its definition. A temporary one gets a name in tempdb that is its session's alone.
    pub(super) fn create_defined_table(
        &mut self,
        name: &Name,
        mut definition: TableDefinition,
        _line: u32,
    ) -> Result<Table> {
        let database = self.session.database_of(name)?;
        let own_name = name.object();
        let is_private = own_name.starts_with('#') && !own_name.starts_with("##");
        if is_private {
            if self.session.find_object(name)?.is_some() {
                return Err(messages::object_exists(own_name));
            }
            definition.name = format!("{own_name}____{:012}", self.session.id);
        } else {
            self.check_schema(&database, &definition.schema)?;
        }
        if database
            .catalog
            .find(&definition.schema, &definition.name, self.session.id)
            .is_some()
        {
            return Err(messages::object_exists(own_name));
        }
        let stored = definition.name.clone();
        let object = self.session.engine.borrow_mut().create_table(&database, definition)?;
        if is_private {
            self.session
                .temporary_tables
                .borrow_mut()
                .insert(own_name.to_lowercase(), stored);
        }
        Table::open(&database, &object)
    }

    fn check_schema(&self, database: &Database, schema: &str) -> Result<()> {
        if crate::functions::id_of_schema(database, self.session.id, schema).is_some() {
            return Ok(());
        }
        let text = format!(
            "The specified schema name \"{schema}\" either does not exist or you do not have permission to use it."
        );
        Err(Error::new(2760, 16, 1, text))
    }

    /// A table by its name, with its definition.
    pub(super) fn find_table(&self, name: &Name) -> Result<(Arc<Database>, Arc<CatalogObject>, TableDefinition)> {
        let found = self.session.find_object(name)?;
        let (database, object) = found.ok_or_else(|| messages::cannot_find_object(&name.to_string()))?;
        match &object.definition {
            ObjectDefinition::Table(definition) => {
                let definition = definition.clone();
                Ok((database, object, definition))
            }
            _ => Err(messages::cannot_find_object(&name.to_string())),
        }
    }

    /// DROP of anything.
    fn drop_objects(&mut self, drop: &Drop) -> Result<()> {
        for name in &drop.names {
            self.drop_object(drop, name)?;
        }
        Ok(())
    }

    fn drop_object(&mut self, drop: &Drop, name: &Name) -> Result<()> {
        let (word, wanted) = match drop.kind {
            ObjectKind::Table => ("table", "U"),
            ObjectKind::View => ("view", "V"),
            ObjectKind::Procedure => ("procedure", "P"),
            ObjectKind::Function => ("function", "FN"),
            ObjectKind::Schema => ("schema", ""),
            ObjectKind::Type | ObjectKind::Database => ("type", "-"),
        };
        let found = if drop.kind == ObjectKind::Schema {
            let database = self.session.database();
            let schemas = database.catalog.objects(self.session.id);
            let found = schemas.into_iter().find(|object| {
                matches!(&object.definition, ObjectDefinition::Schema { name: other, .. } if other.eq_ignore_ascii_case(name.object()))
            });
            found.map(|object| (database, object))
        } else {
            self.session.find_object(name)?
        };
        let found = found.filter(|(_, object)| crate::functions::type_code(&object.definition) == wanted);
        let Some((database, object)) = found else {
            return if drop.if_exists {
                Ok(())
            } else {
                Err(messages::cannot_drop(word, &name.to_string()))
            };
        };
        self.check_not_referenced(&database, &object)?;
        self.atomically(true, |executor| {
            executor.session.engine.borrow_mut().drop_object(&database, &object)
        })?;
        self.session
            .temporary_tables
            .borrow_mut()
            .remove(&name.object().to_lowercase());
        Ok(())
    }

    /// 3726: a table that a foreign key of another refers to.
    fn check_not_referenced(&self, database: &Database, object: &CatalogObject) -> Result<()> {
        let id = object.definition.object_id();
        for other in database.catalog.objects(self.session.id) {
            let ObjectDefinition::Table(table) = &other.definition else {
                continue;
            };
            if table.object_id != id && table.foreign_keys.iter().any(|key| key.referenced_object == id) {
                let name = object.definition.qualified_name().map_or("", |(_, name)| name);
                let text =
                    format!("Could not drop object '{name}' because it is referenced by a FOREIGN KEY constraint.");
                return Err(Error::new(3726, 16, 1, text));
            }
        }
        Ok(())
    }

    fn truncate(&mut self, name: &Name) -> Result<()> {
        let (database, object, definition) = self.find_table(name)?;
        self.check_not_referenced(&database, &object)?;
        self.atomically(true, |executor| {
            let truncated = executor
                .session
                .engine
                .borrow_mut()
                .truncate_table(&database, &object)?;
            if let Some((_, identity)) = definition.identity() {
                let ObjectDefinition::Table(table) = &truncated.definition else {
                    return Ok(());
                };
                database.reseed_identity(table, identity, identity.seed, &executor.session.locks)?;
            }
            Ok(())
        })
    }

    fn create_schema(&mut self, name: &str) -> Result<()> {
        let database = self.session.database();
        if crate::functions::id_of_schema(&database, self.session.id, name).is_some() {
            return Err(messages::object_exists(name));
        }
        let definition = ObjectDefinition::Schema {
            object_id: database.catalog.new_object_id(),
            name: name.to_owned(),
        };
        self.atomically(true, |executor| {
            executor
                .session
                .engine
                .borrow_mut()
                .create_object(&database, definition)
                .map(|_| ())
        })
    }

    fn create_module(&mut self, name: &Name, kind: ModuleKind, how: DefinitionKind, text: &str) -> Result<()> {
        let database = self.session.database_of(name)?;
        let former = self.session.find_object(name)?;
        let created = self.session.now_ticks();
        let former_id = former.as_ref().map(|(_, object)| object.definition.object_id());
        let definition = ObjectDefinition::Module(ModuleDefinition {
            object_id: former_id.unwrap_or_else(|| database.catalog.new_object_id()),
            schema: name.schema().unwrap_or("dbo").to_owned(),
            name: name.object().to_owned(),
            kind,
            text: text.to_owned(),
            created: (created.days, created.ticks),
        });
        match (former, how) {
            (Some(_), DefinitionKind::Create) => Err(messages::object_exists(name.object())),
            (None, DefinitionKind::Alter) => Err(messages::invalid_object_name(&name.to_string())),
            (Some((_, object)), _) => self.atomically(true, |executor| {
                executor
                    .session
                    .engine
                    .borrow_mut()
                    .replace_object(&database, &object, definition)
                    .map(|_| ())
            }),
            (None, _) => self.atomically(true, |executor| {
                executor
                    .session
                    .engine
                    .borrow_mut()
                    .create_object(&database, definition)
                    .map(|_| ())
            }),
        }
    }

    /// CREATE INDEX. A clustered one rebuilds the table.
    fn create_index(&mut self, create: &CreateIndex) -> Result<()> {
        let (database, object, definition) = self.find_table(&create.table)?;
        if definition.indexes.iter().any(|index| create.name.is(&index.name)) {
            let text = format!(
                "The operation failed because an index or statistics with name '{}' already exists on table '{}'.",
                create.name, create.table
            );
            return Err(Error::new(1913, 16, 1, text));
        }
        let ordinal = |name: &str| {
            let text = || format!("Column name '{name}' does not exist in the target table or view.");
            definition.column(name).ok_or_else(|| Error::new(1911, 16, 1, text()))
        };
        let keys = create
            .columns
            .iter()
            .map(|column| Ok((ordinal(&column.name.text)?, column.descending)));
        let included = create.included_columns.iter().map(|column| ordinal(&column.text));
        let index = IndexDefinition {
            index_id: u32::from(create.clustered),
            name: create.name.text.clone(),
            keys: keys.collect::<Result<Vec<_>>>()?,
            included: included.collect::<Result<Vec<_>>>()?,
            unique: create.unique,
            primary_key: false,
            unique_constraint: false,
            storage: StorageRoot {
                unit: 0,
                first_iam: (0, 0),
            },
        };
        self.atomically(true, |executor| {
            executor.add_index(&database, &object, &definition, index)
        })
    }

    /// Adds an index to a table that may have rows.
    fn add_index(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &TableDefinition,
        index: IndexDefinition,
    ) -> Result<()> {
        if index.index_id != 1 {
            return self
                .session
                .engine
                .borrow_mut()
                .create_index(database, object, index)
                .map(|_| ());
        }
        if let Some(clustered) = definition.clustered() {
            return Err(super::table_definition::several_clustered(
                &definition.name,
                &clustered.name,
            ));
        }
        let mut changed = definition.clone();
        changed.indexes.insert(0, index);
        changed.heap = None;
        self.rebuild(database, object, changed, None)
    }

    /// Rewrites a table under a new definition. `moved` says, for every new column, which old one it was.
    fn rebuild(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: TableDefinition,
        moved: Option<&[Option<usize>]>,
    ) -> Result<()> {
        let locks = self.session.locks.clone();
        let old = Table::open(database, object)?;
        old.lock(&locks, Mode::SchM)?;
        let identity = old.definition().identity().map(|(_, identity)| identity);
        let current = identity.and_then(|identity| database.identity_current(old.definition(), identity));
        self.session.engine.borrow_mut().drop_object(database, object)?;
        let created = self.session.engine.borrow_mut().create_table(database, definition)?;
        let new = Table::open(database, &created)?;
        let mut scan = old.scan(&locks, ReadMode::Uncommitted)?;
        let (mut values, mut row) = (Vec::new(), Vec::new());
        while scan.next_batch()? {
            self.session.check_cancelled()?;
            for position in 0..scan.len() {
                old.layout()
                    .decode_into(scan.row(position).unwrap_or_default(), &mut values)?;
                row.clear();
                match moved {
                    None => row.append(&mut values),
                    Some(moved) => {
                        for (place, column) in moved.iter().zip(&new.definition().columns) {
                            row.push(self.moved_value(
                                place.and_then(|place| values.get(place)),
                                place,
                                column,
                                &old,
                            )?);
                        }
                    }
                }
                new.insert(
                    &mut self.session.engine.borrow_mut(),
                    &row,
                    engine::store::Placement::AtEnd,
                )?;
            }
        }
        if let (Some(current), Some((_, identity))) = (current, new.definition().identity()) {
            database.identity_used(new.definition(), identity, current, &locks)?;
        }
        Ok(())
    }

    /// A value of a rebuilt table: converted from the old column, or the new column's default.
    fn moved_value(
        &self,
        old: Option<&engine::types::Value>,
        place: &Option<usize>,
        column: &engine::catalog::ColumnDefinition,
        table: &Table,
    ) -> Result<engine::types::Value> {
        use engine::types::Value;
        let name = &table.definition().name;
        let value = match (old, place.and_then(|place| table.layout().column_type(place))) {
            (Some(value), Some(from)) => {
                crate::scalar::convert::store(value, from, column.sql_type, name, &column.name)?
            }
            _ => match &column.default {
                Some(default) => self.stored_default(&default.text, column.sql_type)?,
                None => Value::Null,
            },
        };
        if value.is_null() && !column.nullable {
            return Err(match old {
                Some(_) => messages::null_not_allowed(&column.name, name, "UPDATE"),
                None => messages::added_column_needs_default(&column.name, name),
            });
        }
        Ok(value)
    }

    /// The value of a default's text.
    fn stored_default(&self, text: &str, sql_type: engine::types::SqlType) -> Result<engine::types::Value> {
        let parsed = crate::parser::parse_expression(text)
            .map_err(|error| Error::new(error.number, error.severity, error.state, error.message))?;
        let mut binder = crate::bind::Binder::new(self.session, &self.batch.scope);
        let bound = binder.scalar_as(&parsed, sql_type)?;
        Ok(crate::exec::evaluate(&bound, &[], &self.context())?.into_owned())
    }

    fn drop_index(&mut self, drop: &DropIndex) -> Result<()> {
        for (index, table) in &drop.indexes {
            let (database, object, mut definition) = self.find_table(table)?;
            let place = definition.indexes.iter().position(|other| index.is(&other.name));
            let Some(place) = place else {
                if drop.if_exists {
                    continue;
                }
                return Err(messages::cannot_drop("index", &format!("{table}.{index}")));
            };
            if definition.indexes[place].primary_key || definition.indexes[place].unique_constraint {
                let text = format!(
                    "An explicit DROP INDEX is not allowed on index '{table}.{index}'. It is being used for PRIMARY KEY constraint enforcement."
                );
                return Err(Error::new(3723, 16, 4, text));
            }
            self.remove_index(&database, &object, &mut definition, place)?;
        }
        Ok(())
    }

    fn remove_index(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &mut TableDefinition,
        place: usize,
    ) -> Result<()> {
        let removed = definition.indexes.remove(place);
        let definition = definition.clone();
        self.atomically(true, |executor| {
            if removed.index_id == 1 {
                return executor.rebuild(database, object, definition, None);
            }
            let changed = ObjectDefinition::Table(definition);
            executor
                .session
                .engine
                .borrow_mut()
                .replace_object(database, object, changed)
                .map(|_| ())
        })
    }

    /// ALTER TABLE.
    fn alter_table(&mut self, alter: &AlterTable) -> Result<()> {
        let (database, object, mut definition) = self.find_table(&alter.name)?;
        match &alter.action {
            AlterTableAction::Add { elements, .. } => {
                self.atomically(true, |executor| executor.add_elements(&alter.name, elements))
            }
            AlterTableAction::Drop(dropped) => {
                for one in dropped {
                    if one.column {
                        self.drop_column(&alter.name, &one.name.text, one.if_exists)?;
                    } else {
                        self.drop_constraint(&alter.name, &one.name.text, one.if_exists)?;
                    }
                }
                Ok(())
            }
            AlterTableAction::AlterColumn {
                name,
                data_type,
                nullable,
                ..
            } => {
                let ordinal = definition
                    .column(&name.text)
                    .ok_or_else(|| messages::column_not_in_table(&name.text, &definition.name))?;
                let place = crate::scalar::data_type::TypePlace::Declaration;
                definition.columns[ordinal].sql_type =
                    crate::scalar::data_type::resolve(data_type, place, ordinal + 1)?;
                definition.columns[ordinal].nullable = nullable.unwrap_or(true);
                let moved: Vec<Option<usize>> = (0..definition.columns.len()).map(Some).collect();
                self.atomically(true, |executor| {
                    executor.rebuild(&database, &object, definition, Some(&moved))
                })
            }
            AlterTableAction::Rebuild(_) => {
                self.atomically(true, |executor| executor.rebuild(&database, &object, definition, None))
            }
            AlterTableAction::CheckConstraint { .. } | AlterTableAction::Set(_) => Ok(()),
        }
    }

    fn add_elements(&mut self, name: &Name, elements: &[TableElement]) -> Result<()> {
        for element in elements {
            let (database, object, mut definition) = self.find_table(name)?;
            match element {
                TableElement::Column(column) => {
                    let added = self.column_definition(column, &definition)?;
                    let mut moved: Vec<Option<usize>> = (0..definition.columns.len()).map(Some).collect();
                    moved.push(None);
                    let is_plain = added.nullable && added.default.is_none() && added.identity.is_none();
                    definition.columns.push(added);
                    if is_plain {
                        // Old rows read as NULL in the new column; nothing has to be written.
                        let changed = ObjectDefinition::Table(definition);
                        self.session
                            .engine
                            .borrow_mut()
                            .replace_object(&database, &object, changed)?;
                    } else {
                        self.rebuild(&database, &object, definition, Some(&moved))?;
                    }
                }
                TableElement::Constraint(constraint) => match &constraint.kind {
                    ConstraintKind::Default {
                        definition: default,
                        column,
                    } => {
                        let ordinal = definition
                            .column(&column.text)
                            .ok_or_else(|| messages::invalid_column_name(&column.text))?;
                        let name = constraint
                            .name
                            .as_ref()
                            .or(default.name.as_ref())
                            .map(|name| name.text.clone());
                        let name = name.unwrap_or_else(|| self.constraint_name("DF", &definition));
                        definition.columns[ordinal].default = Some(NamedText {
                            name,
                            text: default.text.clone(),
                        });
                        let changed = ObjectDefinition::Table(definition);
                        self.session
                            .engine
                            .borrow_mut()
                            .replace_object(&database, &object, changed)?;
                    }
                    ConstraintKind::Key(key) => {
                        let extended = self.definition_with(&definition, constraint)?;
                        let index = extended
                            .indexes
                            .iter()
                            .find(|index| definition.indexes.iter().all(|other| other.name != index.name));
                        let index = index
                            .cloned()
                            .ok_or_else(|| Error::assertion("a key without an index"))?;
                        if key.primary {
                            for (column, _) in &index.keys {
                                if definition.columns[*column].nullable {
                                    return Err(messages::primary_key_nullable(&definition.name));
                                }
                            }
                        }
                        self.add_index(&database, &object, &definition, index)?;
                    }
                    _ => {
                        let changed = ObjectDefinition::Table(self.definition_with(&definition, constraint)?);
                        self.session
                            .engine
                            .borrow_mut()
                            .replace_object(&database, &object, changed)?;
                    }
                },
                TableElement::Index(_) => return Err(crate::bind::not_supported("ALTER TABLE ADD INDEX")),
            }
        }
        Ok(())
    }

    fn drop_column(&mut self, name: &Name, column: &str, if_exists: bool) -> Result<()> {
        let (database, object, mut definition) = self.find_table(name)?;
        let Some(ordinal) = definition.column(column) else {
            return if if_exists {
                Ok(())
            } else {
                Err(messages::column_not_in_table(column, &definition.name))
            };
        };
        let is_used = definition
            .indexes
            .iter()
            .any(|index| index.keys.iter().any(|(key, _)| *key == ordinal) || index.included.contains(&ordinal));
        if is_used {
            let text =
                format!("ALTER TABLE DROP COLUMN {column} failed because one or more objects access this column.");
            return Err(Error::new(4922, 16, 9, text));
        }
        let moved: Vec<Option<usize>> = (0..definition.columns.len())
            .filter(|other| *other != ordinal)
            .map(Some)
            .collect();
        definition.columns.remove(ordinal);
        let shift = |column: &mut usize| *column -= usize::from(*column > ordinal);
        for index in &mut definition.indexes {
            index.keys.iter_mut().for_each(|(key, _)| shift(key));
            index.included.iter_mut().for_each(shift);
        }
        definition
            .foreign_keys
            .iter_mut()
            .for_each(|key| key.columns.iter_mut().for_each(shift));
        self.atomically(true, |executor| {
            executor.rebuild(&database, &object, definition, Some(&moved))
        })
    }

    fn drop_constraint(&mut self, name: &Name, constraint: &str, if_exists: bool) -> Result<()> {
        let (database, object, mut definition) = self.find_table(name)?;
        let same = |other: &str| other.eq_ignore_ascii_case(constraint);
        if let Some(place) = definition.indexes.iter().position(|index| same(&index.name)) {
            return self.remove_index(&database, &object, &mut definition, place);
        }
        let before = (definition.checks.len(), definition.foreign_keys.len());
        definition.checks.retain(|check| !same(&check.name));
        definition.foreign_keys.retain(|key| !same(&key.name));
        let mut changed = before != (definition.checks.len(), definition.foreign_keys.len());
        for column in &mut definition.columns {
            if column.default.as_ref().is_some_and(|default| same(&default.name)) {
                column.default = None;
                changed = true;
            }
        }
        if !changed {
            let text = format!("'{constraint}' is not a constraint.");
            return if if_exists {
                Ok(())
            } else {
                Err(Error::new(3728, 16, 1, text))
            };
        }
        let changed = ObjectDefinition::Table(definition);
        self.atomically(true, |executor| {
            executor
                .session
                .engine
                .borrow_mut()
                .replace_object(&database, &object, changed)
                .map(|_| ())
        })
    }

    /// Drops the session's temporary tables, at its end.
    pub(crate) fn drop_temporary_tables(session: &crate::session::SessionState) -> Result<()> {
        let names: Vec<String> = session.temporary_tables.take().into_values().collect();
        let Some(tempdb) = session.instance.database_by_id(TEMPDB) else {
            return Ok(());
        };
        for name in names {
            if let Some(object) = tempdb.catalog.find("dbo", &name, session.id) {
                let mut engine = session.engine.borrow_mut();
                engine.begin();
                engine.drop_object(&tempdb, &object)?;
                engine.commit()?;
            }
        }
        Ok(())
    }
}
