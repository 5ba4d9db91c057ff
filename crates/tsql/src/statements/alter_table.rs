//! ALTER TABLE. A change of the rows rewrites the table; a change of metadata only replaces its definition.

use std::sync::Arc;

use engine::cancel;
use engine::catalog::{
    CatalogObject, CheckConstraint, ColumnDefinition, Identity, IndexDefinition, LockEscalation, NamedText,
    ObjectDefinition, TableDefinition,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::{Table, all_statistics};
use engine::store::ReadMode;
use engine::types::SqlType;

use super::disabled_index::check_clustered_is_enabled;
use super::executor::Executor;
use super::foreign_key::bound;
use super::index_options::{index_options, is_kept};
use super::mask::mask_of;
use super::rebuilt_partition::check_compressed_partitions;
use super::table_definition::Made;
use super::versioning::{all_but, check_constraint_of_history, full_name, name_of, versioning_of};
use crate::ast::{
    AlterTable, AlterTableAction, ConstraintKind, CreateIndex, DataType, DefaultDefinition, Identifier, IndexColumn,
    InlineIndex, Name, OptionValue, TableConstraint, TableElement,
};
use crate::messages;
use crate::modify::identity_value;
use crate::modules::ColumnChange;
use crate::optimize::Optimizer;
use crate::scalar::convert::{recollated, store};
use crate::scalar::data_type::{check_conversion, is_nullable_unsaid};

/// 1974 for what needs the rows of a table whose clustered index is disabled.
fn check_may_alter(alter: &AlterTable, definition: &TableDefinition) -> Result<()> {
    match alter.action {
        AlterTableAction::Drop(_) | AlterTableAction::Rebuild { .. } => Ok(()),
        _ => check_clustered_is_enabled(definition),
    }
}

/// What may not be done to a temporal table or to its history.
///
/// # Errors
/// 13548, 13550, 13551 for columns of a history table; 13509 for generated columns without a period, 13597 for a second period; 13599 for a
/// period column.
fn check_may_alter_temporal(alter: &AlterTable, database: &Database, definition: &TableDefinition) -> Result<()> {
    let is_history = definition.history_of.is_some();
    let name = || full_name(database, definition);
    match &alter.action {
        AlterTableAction::Add { elements, .. } => {
            let adds = |wanted: fn(&TableElement) -> bool| elements.iter().any(wanted);
            let has_period = adds(|element| matches!(element, TableElement::Period(_)));
            if is_history && adds(|element| matches!(element, TableElement::Column(_))) {
                return Err(messages::add_column_to_history(&name()));
            }
            if has_period && definition.period().is_some() {
                return Err(messages::period_exists(&name()));
            }
            let is_generated =
                |element: &TableElement| matches!(element, TableElement::Column(column) if column.generated.is_some());
            match adds(is_generated) && !has_period {
                true => Err(messages::generated_without_period()),
                false => Ok(()),
            }
        }
        AlterTableAction::Drop(dropped) if is_history && dropped.iter().any(|one| one.column) => {
            Err(messages::drop_column_of_history(&name()))
        }
        AlterTableAction::AlterColumn { name: column, .. } => {
            let altered = definition.column(&column.text).map(|place| &definition.columns[place]);
            match altered {
                Some(_) if is_history => Err(messages::alter_column_of_history(&column.text, &name())),
                Some(altered) if altered.generated.is_some() => Err(messages::period_column_altered(&column.text)),
                _ => Ok(()),
            }
        }
        AlterTableAction::Drop(_)
        | AlterTableAction::Hide { .. }
        | AlterTableAction::Mask { .. }
        | AlterTableAction::DropPeriod
        | AlterTableAction::CheckConstraint { .. }
        | AlterTableAction::Rebuild { .. }
        | AlterTableAction::Switch(_)
        | AlterTableAction::Set(_) => Ok(()),
    }
}

impl Executor<'_> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable, line: u32) -> Result<()> {
        let (database, object, mut definition) = self.table_to_change(&alter.name)?;
        check_may_alter(alter, &definition)?;
        check_may_alter_temporal(alter, &database, &definition)?;
        match &alter.action {
            AlterTableAction::Add { elements, check } => {
                self.add_elements(&alter.name, elements, (check.unwrap_or(true), line))
            }
            AlterTableAction::Drop(dropped) => {
                for one in dropped {
                    if one.column {
                        self.drop_column(&alter.name, &one.name.text, one.if_exists)?;
                        if let Some((_, history)) = self.history_to_change(&database, &definition)? {
                            self.drop_column(&name_of(&database, &history), &one.name.text, one.if_exists)?;
                        }
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
                collation,
                mask,
            } => {
                let written = (data_type, collation.as_ref(), *nullable, mask.as_deref());
                if let Some((_, history)) = self.history_to_change(&database, &definition)? {
                    self.alter_column(&name_of(&database, &history), name, written)?;
                }
                self.alter_column(&alter.name, name, written)
            }
            AlterTableAction::Rebuild {
                partition: Some(partition),
                ..
            } => self.rebuild_partition_of_table(&database, &object, partition),
            AlterTableAction::Rebuild { options, .. } => {
                let named = ("alter", "table", definition.name.as_str());
                check_compressed_partitions(options, &definition, named)?;
                keep_options(&mut definition, options)?;
                self.rebuild(&database, &object, definition, None)
            }
            AlterTableAction::CheckConstraint {
                check_existing,
                enable,
                names,
            } => {
                let how = (*enable, check_existing.unwrap_or(false));
                self.switch_constraints(&database, &object, how, names)
            }
            AlterTableAction::Mask { name, function } => self.mask_column(&alter.name, name, function.as_deref()),
            AlterTableAction::Hide { name, is_hidden } => self.hide_column(&alter.name, &name.text, *is_hidden),
            AlterTableAction::DropPeriod => self.drop_period(&alter.name),
            AlterTableAction::Switch(switch) => self.switch_partition((&database, &object, &definition), switch, line),
            // What else the grammar admits says what is so here anyway.
            AlterTableAction::Set(options) => {
                definition.lock_escalation = lock_escalation(options).unwrap_or(definition.lock_escalation);
                self.replace_definition(&database, &object, definition)?;
                match versioning_of(options)? {
                    Some(versioning) => self.set_versioning(&alter.name, versioning, line),
                    None => Ok(()),
                }
            }
        }
    }

    /// ALTER COLUMN of a table: its type, collation and nullability as they are written. Strings become json, and json does not become
    /// strings (sql-docs, "JSON data type").
    fn alter_column(
        &mut self,
        table: &Name,
        name: &Identifier,
        (data_type, collation, nullable, mask): (&DataType, Option<&Identifier>, Option<bool>, Option<&str>),
    ) -> Result<()> {
        let (database, object, mut definition) = self.find_table(table)?;
        let ordinal = definition
            .column(&name.text)
            .ok_or_else(|| messages::column_not_in_table(&name.text, &definition.name))?;
        let declared = self.session.declared_type(data_type, ordinal + 1)?;
        require_alterable(&definition.columns[ordinal], declared.sql_type)?;
        if is_partitioned_by(&definition, ordinal) {
            let column = &name.text;
            let text =
                format!("ALTER TABLE ALTER COLUMN {column} failed because one or more objects access this column.");
            return Err(Error::new(4922, 16, 9, text));
        }
        let former = definition.columns[ordinal].sql_type;
        if [former, declared.sql_type]
            .iter()
            .any(|own| matches!(*own, SqlType::Json | SqlType::XML) || own.is_spatial())
        {
            check_conversion(former, declared.sql_type, false)?;
        }
        let is_same =
            std::mem::discriminant(&declared.sql_type) == std::mem::discriminant(&definition.columns[ordinal].sql_type);
        let of_system = is_nullable_unsaid(data_type, true);
        let unsaid = declared.alias.as_ref().map_or(of_system, |alias| alias.nullable);
        let collation = self.declared_collation(collation, &declared, database.collation())?;
        let keeps_values = former == declared.sql_type && collation == definition.columns[ordinal].collation;
        let change = match is_same {
            true if keeps_values => ColumnChange::Renullified,
            true => ColumnChange::Resized,
            false => ColumnChange::Retyped,
        };
        self.check_column_is_free(&database, &definition, ordinal, change)?;
        if change == ColumnChange::Retyped || collation != definition.columns[ordinal].collation {
            self.release_statistics(&database, &definition, ordinal)?;
        }
        let column = &mut definition.columns[ordinal];
        (column.sql_type, column.collation) = (declared.sql_type, collation);
        column.alias_type = declared.user_type_id();
        let of_type = declared.bindings_for(column);
        // What was bound to the column itself comes before what is bound to its type.
        column.bound.default = column.bound.default.take().or(of_type.default);
        column.bound.rule = column.bound.rule.take().or(of_type.rule);
        column.nullable = nullable.unwrap_or(unsaid);
        // A mask that is not said again is gone.
        column.mask = mask
            .map(|mask| mask_of(&column.name, column.sql_type, mask))
            .transpose()?;
        let moved: Vec<Option<usize>> = (0..definition.columns.len()).map(Some).collect();
        self.rebuild(&database, &object, definition, Some(&moved))
    }

    fn add_elements(&mut self, name: &Name, elements: &[TableElement], how: (bool, u32)) -> Result<()> {
        let mut last_column = None;
        for element in elements {
            match element {
                TableElement::Column(column) => {
                    last_column = Some(&column.name);
                    self.add_column(name, column)?;
                    let own = [IndexColumn {
                        name: column.name.clone(),
                        descending: false,
                    }];
                    for constraint in &column.constraints {
                        self.add_constraint_to(name, constraint, &own, how)?;
                    }
                }
                TableElement::Constraint(constraint) => {
                    self.add_constraint_to(name, constraint, &[], how)?;
                    if let ConstraintKind::Default { definition, column } = &constraint.kind
                        && definition.with_values
                        && elements.iter().any(|other| adds_column(other, column))
                    {
                        self.fill_with_default(name, &column.text)?;
                    }
                }
                TableElement::Index(index) => self.add_inline_index(name, index, last_column, how.1)?,
                TableElement::Period(_) => {}
            }
        }
        for element in elements {
            if let TableElement::Period(period) = element {
                self.add_period(name, period)?;
            }
        }
        Ok(())
    }

    /// ADD INDEX, as CREATE INDEX has it. An index behind a column without columns of its own has that one.
    fn add_inline_index(
        &mut self,
        table: &Name,
        index: &InlineIndex,
        column: Option<&Identifier>,
        line: u32,
    ) -> Result<()> {
        let mut columns = index.columns.clone();
        if let (true, Some(column)) = (columns.is_empty(), column) {
            columns.push(IndexColumn {
                name: column.clone(),
                descending: false,
            });
        }
        let create = CreateIndex {
            name: index.name.clone(),
            unique: index.unique,
            clustered: index.clustered == Some(true),
            table: table.clone(),
            columns,
            included_columns: index.included_columns.clone(),
            filter: index.filter.clone(),
            options: index.options.clone(),
            data_space: index.data_space.clone(),
        };
        self.create_index(&create, line)
    }

    fn add_column(&mut self, name: &Name, column: &crate::ast::ColumnDefinition) -> Result<()> {
        let (database, object, mut definition) = self.find_table(name)?;
        let of_default = column.default.as_ref().and_then(|default| default.name.as_ref());
        self.claim_written_name(&database, &definition, of_default)?;
        let added = self.column_definition(column, &definition, &database)?;
        let mut moved: Vec<Option<usize>> = (0..definition.columns.len()).map(Some).collect();
        moved.push(None);
        // "If the added column allows null values and WITH VALUES is not specified, NULL is stored in existing rows" (sql-docs, ALTER
        // TABLE column_definition).
        let fills = added.default_expression().is_some()
            && (!added.nullable || column.default.as_ref().is_some_and(|default| default.with_values));
        let is_plain = added.is_virtual()
            || added.nullable
                && !fills
                && added.identity.is_none()
                && added.sql_type != SqlType::RowVersion
                && added.computed.is_none();
        if added.computed.is_some() && definition.versioning.is_some() {
            return Err(messages::computed_added_to_versioned());
        }
        self.carry_column(&database, &definition, &added, !is_plain)?;
        definition.columns.push(added);
        if is_plain {
            // Old rows read as NULL in the new column; nothing has to be written.
            return self.replace_definition(&database, &object, definition);
        }
        self.rebuild(&database, &object, definition, Some(&moved))
    }

    /// `DEFAULT ... FOR column WITH VALUES`, whose column was added by the same statement: the rows that are there get the default.
    fn fill_with_default(&mut self, name: &Name, column: &str) -> Result<()> {
        let (database, object, definition) = self.find_table(name)?;
        let filled = definition.column(column);
        if let Some(place) = filled {
            self.carry_default(&database, &definition, place)?;
        }
        let moved = all_but(definition.columns.len(), filled);
        self.rebuild(&database, &object, definition, Some(&moved))
    }

    /// Stores the definition of a table again; its rows stay unchanged.
    pub(super) fn replace_definition(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: TableDefinition,
    ) -> Result<()> {
        let changed = ObjectDefinition::Table(definition);
        self.session
            .engine
            .borrow_mut()
            .replace_object(database, object, changed)
            .map(|_| ())
    }

    fn add_constraint_to(
        &mut self,
        name: &Name,
        constraint: &TableConstraint,
        own: &[IndexColumn],
        (check, line): (bool, u32),
    ) -> Result<()> {
        let (database, object, mut definition) = self.find_table(name)?;
        check_constraint_of_history(&database, &definition, constraint)?;
        self.claim_written_name(&database, &definition, constraint.name.as_ref())?;
        match &constraint.kind {
            ConstraintKind::Default {
                definition: default,
                column,
            } => {
                self.add_default_to((&database, &mut definition), constraint, (default, column))?;
                self.replace_definition(&database, &object, definition)
            }
            ConstraintKind::Key(key) => {
                self.check_statistics_name_is_free(&database, &definition, constraint)?;
                let extended = self.definition_with((&database, &definition), constraint, own)?;
                let is_new = |index: &&IndexDefinition| definition.indexes.iter().all(|other| other.name != index.name);
                let index = extended.indexes.iter().find(is_new).cloned();
                let mut index = index.ok_or_else(|| Error::assertion("a key without an index"))?;
                let written = key.data_space.as_ref().filter(|written| !written.name.is("default"));
                let definition = self.place_index(&database, definition, &mut index, written)?;
                let is_nullable = index
                    .keys
                    .iter()
                    .any(|(column, _)| definition.columns[*column].nullable);
                if key.primary && is_nullable {
                    return Err(messages::primary_key_nullable(&definition.name));
                }
                self.warn_of_long_keys(&definition, &index, line)?;
                self.add_index(&database, &object, &definition, index)
            }
            ConstraintKind::ForeignKey(_) => self.add_foreign_key(name, constraint, own, check),
            ConstraintKind::Check { .. } => {
                let mut extended = self.definition_with((&database, &definition), constraint, own)?;
                let Some(added) = extended.checks.last_mut() else {
                    return Err(Error::assertion("a CHECK that was not added"));
                };
                added.is_not_trusted = !check;
                let added = added.name.clone();
                let is_it = |check: &CheckConstraint| check.name == added;
                // Names that it gets wrong are found under NOCHECK too.
                crate::bind::Binder::new(self.session, &self.batch.scope).checks_of(&extended, &is_it)?;
                self.replace_definition(&database, &object, extended)?;
                if !check {
                    return Ok(());
                }
                let (database, object, _) = self.find_table(name)?;
                self.check_stored_rows(&bound(Table::open(&database, &object)?), &is_it)
            }
        }
    }

    /// 2714 when a name that is written for a constraint is taken.
    fn claim_written_name(
        &self,
        database: &Database,
        table: &TableDefinition,
        name: Option<&Identifier>,
    ) -> Result<()> {
        let engine = self.session.engine.borrow();
        name.map_or(Ok(()), |name| {
            engine.claim_constraint_name(database, &table.schema, &name.text)
        })
    }

    fn add_default_to(
        &self,
        (database, definition): (&Database, &mut TableDefinition),
        constraint: &TableConstraint,
        (default, column): (&DefaultDefinition, &Identifier),
    ) -> Result<()> {
        let ordinal = definition
            .column(&column.text)
            .ok_or_else(|| messages::invalid_column_name(&column.text))?;
        let changed = &definition.columns[ordinal];
        if changed.computed.is_some() {
            return Err(messages::default_of_computed(&changed.name, &definition.name));
        }
        if changed.default_expression().is_some() {
            return Err(messages::default_is_there());
        }
        self.check_default(&definition.name, changed, &default.text)?;
        let name = constraint
            .name
            .as_ref()
            .or(default.name.as_ref())
            .map(|name| name.text.clone());
        let is_system_named = name.is_none();
        let made = Made::OfColumn("DF", Some(&column.text));
        let name = name.unwrap_or_else(|| self.constraint_name(made, database, definition));
        definition.columns[ordinal].default = Some(NamedText {
            name,
            text: default.text.clone(),
            object_id: 0,
            is_system_named,
        });
        Ok(())
    }

    /// A key has an index, and the statistics of an index have its name.
    ///
    /// # Errors
    /// 1913 when other statistics of the table have it.
    fn check_statistics_name_is_free(
        &self,
        database: &Database,
        table: &TableDefinition,
        key: &TableConstraint,
    ) -> Result<()> {
        let Some(name) = &key.name else { return Ok(()) };
        let known = all_statistics(database, table, self.session.id);
        match known.iter().any(|known| !known.of_index && name.is(&known.name)) {
            true => Err(messages::index_exists(&table.name, &name.text)),
            false => Ok(()),
        }
    }

    fn add_foreign_key(
        &mut self,
        name: &Name,
        constraint: &TableConstraint,
        own: &[IndexColumn],
        check: bool,
    ) -> Result<()> {
        let (database, object, definition) = self.find_table(name)?;
        if definition.name.starts_with('#') {
            let skipped = messages::foreign_key_skipped(name.object());
            return self.inform(skipped.number, skipped.severity, 0, skipped.message);
        }
        let mut extended = self.definition_with((&database, &definition), constraint, own)?;
        let Some(key) = extended.foreign_keys.last_mut() else {
            return Err(Error::assertion("a foreign key that was not added"));
        };
        key.is_not_trusted = !check;
        if key.referenced_object == 0 {
            key.referenced_object = definition.object_id;
        }
        let key = key.clone();
        self.tell_referenced(&database, definition.object_id, std::slice::from_ref(&key))?;
        self.check_cascades(&database, &extended, 1)?;
        self.replace_definition(&database, &object, extended)?;
        if !check {
            return Ok(());
        }
        let (database, object, _) = self.find_table(name)?;
        self.check_references(&bound(Table::open(&database, &object)?), &[key])
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
        if definition.columns[ordinal].generated.is_some() {
            return Err(messages::period_column_dropped(
                column,
                &full_name(&database, &definition),
            ));
        }
        let is_used = definition.every_index().any(|index| index.depends_on(ordinal));
        if is_used || is_partitioned_by(&definition, ordinal) {
            let text =
                format!("ALTER TABLE DROP COLUMN {column} failed because one or more objects access this column.");
            return Err(Error::new(4922, 16, 9, text));
        }
        let moved: Vec<Option<usize>> = (0..definition.columns.len())
            .filter(|other| *other != ordinal)
            .map(Some)
            .collect();
        self.check_column_is_free(&database, &definition, ordinal, ColumnChange::Dropped)?;
        self.release_statistics(&database, &definition, ordinal)?;
        definition.columns.remove(ordinal);
        let shift = |column: &mut usize| *column -= usize::from(*column > ordinal);
        for index in definition.every_index_mut() {
            index.places_mut().for_each(shift);
        }
        if let Some(partitioning) = &mut definition.partitioning {
            shift(&mut partitioning.column);
        }
        let own_id = definition.object_id;
        for key in &mut definition.foreign_keys {
            key.columns.iter_mut().for_each(shift);
            if key.referenced_object == own_id {
                key.referenced_columns.iter_mut().for_each(shift);
            }
        }
        self.shift_statistics(&database, own_id, &shift)?;
        self.rebuild(&database, &object, definition, Some(&moved))?;
        self.shift_referenced_columns(&database, own_id, &shift)
    }

    fn drop_constraint(&mut self, name: &Name, constraint: &str, if_exists: bool) -> Result<()> {
        let (database, object, mut definition) = self.find_table(name)?;
        let same = |other: &str| other.eq_ignore_ascii_case(constraint);
        if let Some(place) = definition.indexes.iter().position(|index| same(&index.name)) {
            let index = &definition.indexes[place];
            if index.primary_key && definition.versioning.is_some() {
                return Err(messages::drop_key_of_versioned(&full_name(&database, &definition)));
            }
            if let Some((table, key)) = self.key_that_needs(&database, &definition, index) {
                return Err(messages::key_is_referenced(&index.name, &table, &key));
            }
            return self.remove_index(&database, &object, &mut definition, place);
        }
        if let Some(place) = definition.disabled_indexes.iter().position(|index| same(&index.name)) {
            if definition.disabled_indexes[place].primary_key && definition.versioning.is_some() {
                return Err(messages::drop_key_of_versioned(&full_name(&database, &definition)));
            }
            definition.disabled_indexes.remove(place);
            return self.replace_definition(&database, &object, definition);
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
            return match if_exists {
                true => Ok(()),
                false => Err(messages::no_constraint(constraint).followed_by(messages::constraint_not_dropped())),
            };
        }
        self.replace_definition(&database, &object, definition)
    }

    /// Rewrites a table under a new definition. `moved` says, for every new column, which old one it was.
    pub(super) fn rebuild(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: TableDefinition,
        moved: Option<&[Option<usize>]>,
    ) -> Result<()> {
        let locks = self.session.locks.clone();
        self.session.engine.borrow().lock_definition(database, object)?;
        let old = Table::open(database, object)?;
        let identity = old.definition().identity().map(|(_, identity)| identity);
        let current = identity.and_then(|identity| database.identity_current(old.definition(), identity));
        let created = {
            let mut engine = self.session.engine.borrow_mut();
            engine.replace_storage(database, object, definition)?
        };
        let new = Table::open(database, &created)?;
        let computed = self.stored_computed(new.definition())?;
        let added = self.begin_added_identity(database, &new, moved);
        let mut scan = old.scan(&locks, ReadMode::Uncommitted)?;
        let (mut values, mut row) = (Vec::new(), Vec::new());
        while scan.next_batch()? {
            for position in 0..scan.len() {
                cancel::spend(1)?;
                old.layout()
                    .decode_into(scan.row(position).unwrap_or_default(), &mut values)?;
                row.clear();
                match moved {
                    None => row.append(&mut values),
                    Some(moved) => {
                        for (place, column) in moved.iter().zip(&new.definition().columns) {
                            let value = match (added, column.identity) {
                                (Some(identity), Some(_)) => {
                                    let number = database.next_identity(new.definition(), identity, &locks)?;
                                    identity_value(number, column.sql_type)?
                                }
                                _ => {
                                    self.moved_value(place.and_then(|place| values.get(place)), place, column, &old)?
                                }
                            };
                            row.push(value);
                        }
                    }
                }
                computed.fill(self, new.definition(), &mut row)?;
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
        self.count_index(database, new.definition().object_id, None)
    }

    /// An identity column that a table gets numbers the rows it has, from its seed on, whatever another one gave before.
    fn begin_added_identity(
        &self,
        database: &Arc<Database>,
        new: &Table,
        moved: Option<&[Option<usize>]>,
    ) -> Option<Identity> {
        let (column, identity) = new.definition().identity()?;
        let was_there = moved.is_none_or(|moved| moved.get(column).is_none_or(Option::is_some));
        if was_there {
            return None;
        }
        let mut engine = self.session.engine.borrow_mut();
        engine.restart_identity(database, new.definition());
        Some(identity)
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
                // A code page of the new collation may hold what that of the old one does not.
                let value = recollated(value.clone(), from, column.collation);
                let definition = table.definition();
                let full_name = || format!("{}.{}.{name}", table.database().name(), definition.schema);
                store(&value, from, column.sql_type, name, &column.name).map_err(|error| match error.number {
                    // The name of the table stands whole there, as for INSERT.
                    2628 => store(&value, from, column.sql_type, &full_name(), &column.name)
                        .err()
                        .unwrap_or(error),
                    _ => error,
                })?
            }
            _ if column.sql_type == SqlType::RowVersion => {
                let version = self.session.engine.borrow_mut().new_row_version(table.database())?;
                Value::binary(version.to_be_bytes())
            }
            _ => match column.default_expression() {
                Some(default) => self.stored_default(default, column.sql_type)?,
                None => Value::Null,
            },
        };
        if value.is_null() && !column.nullable && column.computed.is_none() {
            return Err(match old {
                Some(_) => messages::null_not_allowed(&column.name, name, "UPDATE"),
                None => messages::added_column_needs_default(&column.name, name),
            });
        }
        Ok(value)
    }

    /// The value of a default's text.
    pub(super) fn stored_default(&self, text: &str, sql_type: engine::types::SqlType) -> Result<engine::types::Value> {
        let parsed = crate::parser::parse_expression(text).map_err(messages::syntax)?;
        let mut binder = crate::bind::Binder::new(self.session, &self.batch.scope);
        let mut bound = binder.scalar_as(&parsed, sql_type)?;
        Optimizer::new(self.session).expression(&mut bound)?;
        Ok(crate::exec::evaluate(&bound, &[], &self.context())?.into_owned())
    }
}

/// Whether a column decides the partition of a row.
pub(super) fn is_partitioned_by(table: &TableDefinition, column: usize) -> bool {
    table
        .partitioning
        .as_ref()
        .is_some_and(|partitioning| partitioning.column == column)
}

/// Whether an element is this column.
fn adds_column(element: &TableElement, column: &Identifier) -> bool {
    matches!(element, TableElement::Column(added) if column.is(&added.name.text))
}

/// LOCK_ESCALATION of ALTER TABLE SET; the grammar has checked its value.
fn lock_escalation(options: &[OptionValue]) -> Option<LockEscalation> {
    let option = options.iter().rev().find(|option| option.name == "LOCK_ESCALATION")?;
    match option.word().as_deref() {
        Some("AUTO") => Some(LockEscalation::Auto),
        Some("DISABLE") => Some(LockEscalation::Disable),
        _ => Some(LockEscalation::Table),
    }
}

/// Keeps the options of REBUILD for the clustered index. A heap has no index to keep them for.
///
/// # Errors
/// 40517.
fn keep_options(definition: &mut TableDefinition, options: &[OptionValue]) -> Result<()> {
    if let Some(clustered) = definition.indexes.first_mut().filter(|index| index.index_id == 1) {
        clustered.options = index_options(options, clustered.options);
        return Ok(());
    }
    match options.iter().find(|option| is_kept(&option.name)) {
        Some(option) => Err(crate::bind::not_supported(&format!("{} of a heap", option.name))),
        None => Ok(()),
    }
}

/// ALTER COLUMN of a computed or rowversion column, or to that type (sql-docs, ALTER TABLE: the column cannot be "a column with a timestamp data type",
/// nor the type timestamp).
///
/// # Errors
/// 4928, 4927.
fn require_alterable(column: &ColumnDefinition, to: SqlType) -> Result<()> {
    let (from, name) = (column.sql_type, &column.name);
    match (from, to) {
        _ if column.computed.is_some() => Err(messages::column_is_fixed(name, "COMPUTED")),
        (SqlType::RowVersion, _) => Err(messages::column_is_fixed(name, from.name())),
        (_, SqlType::RowVersion) => Err(messages::altered_to_type(name, to.name())),
        _ => Ok(()),
    }
}
