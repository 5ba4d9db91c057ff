//! Creating, changing and dropping tables: storage, catalog row and locks, all in the session's transaction.
//!
//! The object is locked exclusively (Sch-M) until the transaction ends. Storage that a rollback or a drop leaves without an owner is freed
//! after the transaction.
//!
//! Invariant: a session replaces or drops a definition only while it holds Sch-M on the object and after checking, under that lock, that
//! the definition is the catalog's current one. After waiting for the lock its definition may be out of date (2801), and a new one based on
//! it would undo the other session's change.

use super::{Session, Table, next_stats_id};
use crate::catalog::{
    AliasType, CatalogObject, IndexDefinition, ObjectDefinition, SequenceDefinition, StatisticsDefinition, StorageRoot,
    TableDefinition, TableType, USER_TYPE_ID_FIRST, XML_COLLECTION_ID_FIRST, XmlSchemaCollection,
};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};
use crate::page::ObjectId;
use crate::store::{Claim, Heap, ObjectRoot, Room, StoreContext, Tree};
use crate::types::off_row::is_unlimited;
use std::collections::HashSet;
use std::sync::Arc;

/// Times a statement is made from the catalog's definitions before it gives up to those who change them.
const ATTEMPTS_MAX: usize = 16;

/// Runs what is made from definitions, again when one of them was changed while it waited for that object's lock (2801).
pub fn with_current_definitions<T>(mut run: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS_MAX {
        match run() {
            Err(error) if error.number == Error::DEFINITION_CHANGED => {}
            outcome => return outcome,
        }
    }
    run()
}

impl Session {
    /// Creates a table. Its id and the roots of its storage are chosen here; what `table` says of them is not looked at. A foreign key that
    /// refers to table 0 refers to the table itself.
    ///
    /// # Errors
    /// 2714 when the name, or that of a constraint, is taken; 1101, 1105, 9002 for want of space.
    pub fn create_table(&mut self, database: &Arc<Database>, mut table: TableDefinition) -> Result<Arc<CatalogObject>> {
        self.lock_name(database, &table.schema, &table.name)?;
        if self.is_name_taken(database, &table.schema, &table.name) {
            return Err(Error::object_exists(&table.name));
        }
        self.claim_constraint_names(database, None, &table)?;
        table.object_id = database.new_object_id()?;
        for key in table.foreign_keys.iter_mut().filter(|key| key.referenced_object == 0) {
            key.referenced_object = table.object_id;
        }
        database.number_constraints(&mut table)?;
        choose_carried_columns(&mut table);
        database.note_features(&table)?;
        self.locks()
            .lock(Resource::Object(database.id, table.object_id), Mode::SchM)?;
        self.lock_catalog(database)?;
        let session = self.id;
        let owner = database.clone();
        self.write(database, |ctx| {
            make_storage(ctx, &owner, &mut table, Claim::Rows)?;
            owner.catalog.insert(ctx, session, ObjectDefinition::Table(table))
        })
    }

    /// Stores another object: a view, a procedure, a schema.
    ///
    /// # Errors
    /// 2714 when the name is taken.
    pub fn create_object(
        &mut self,
        database: &Arc<Database>,
        definition: ObjectDefinition,
    ) -> Result<Arc<CatalogObject>> {
        if let ObjectDefinition::Module(module) = &definition {
            database.note_columns(&module.columns)?;
        }
        if definition.definition_trigger().is_some() {
            database.note_database_triggers()?;
        }
        if let ObjectDefinition::Sequence(sequence) = &definition {
            database.note_sequences()?;
            note_wide(database, sequence)?;
        }
        if let ObjectDefinition::Synonym(_) = &definition {
            database.note_synonyms()?;
        }
        if let ObjectDefinition::Standalone(_) = &definition {
            database.note_standalone_objects()?;
        }
        if let ObjectDefinition::PartitionFunction(_) | ObjectDefinition::PartitionScheme(_) = &definition {
            database.note_partitions()?;
        }
        if let ObjectDefinition::XmlSchemaCollection(_) = &definition {
            database.note_xml_schemas()?;
        }
        if let ObjectDefinition::Principal(_)
        | ObjectDefinition::RoleMembership(_)
        | ObjectDefinition::Permission(_)
        | ObjectDefinition::Owner(_) = &definition
        {
            database.note_principals()?;
        }
        if let Some((schema, name)) = definition.qualified_name() {
            self.lock_name(database, schema, name)?;
            if self.is_name_taken(database, schema, name) {
                return Err(Error::object_exists(name));
            }
        }
        let (session, owner) = (self.id, database.clone());
        self.locks()
            .lock(Resource::Object(database.id, definition.object_id()), Mode::SchM)?;
        self.write(database, |ctx| owner.catalog.insert(ctx, session, definition))
    }

    /// Stores an alias type. Its ids are chosen here; what `alias` says of them is not looked at.
    ///
    /// # Errors
    /// 219 when the name is taken.
    pub fn create_alias_type(&mut self, database: &Arc<Database>, mut alias: AliasType) -> Result<Arc<CatalogObject>> {
        alias.user_type_id = self.new_type_id(database, &alias.schema, &alias.name)?;
        alias.object_id = database.new_object_id()?;
        self.create_object(database, ObjectDefinition::AliasType(alias))
    }

    /// Stores a table type. Its ids are chosen here; what `table` says of them is not looked at.
    ///
    /// # Errors
    /// 219 when the name is taken.
    pub fn create_table_type(
        &mut self,
        database: &Arc<Database>,
        mut table: TableDefinition,
    ) -> Result<Arc<CatalogObject>> {
        let user_type_id = self.new_type_id(database, &table.schema, &table.name)?;
        table.object_id = database.new_object_id()?;
        database.number_constraints(&mut table)?;
        database.note_features(&table)?;
        database.note_table_types()?;
        self.create_object(database, ObjectDefinition::TableType(TableType { user_type_id, table }))
    }

    /// Stores an XML schema collection. Its ids are chosen here; what `collection` says of them is not looked at.
    ///
    /// # Errors
    /// 6348 when the name is taken.
    pub fn create_xml_schema_collection(
        &mut self,
        database: &Arc<Database>,
        mut collection: XmlSchemaCollection,
    ) -> Result<Arc<CatalogObject>> {
        self.locks().lock(
            Resource::name(database.id, "XML schema collections of the database"),
            Mode::X,
        )?;
        if database
            .xml_schema_collection(&collection.schema, &collection.name, self.id)
            .is_some()
        {
            let name = &collection.name;
            let text = format!(
                "Specified collection '{name}' cannot be created because it already exists or you do not have permission."
            );
            return Err(Error::new(6348, 16, 1, text));
        }
        let objects = database.catalog.objects(self.id);
        let ids = objects.iter().filter_map(|object| match &object.definition {
            ObjectDefinition::XmlSchemaCollection(other) => Some(other.collection_id),
            _ => None,
        });
        collection.collection_id = ids.max().map_or(XML_COLLECTION_ID_FIRST, |id| id + 1);
        collection.object_id = database.new_object_id()?;
        self.create_object(database, ObjectDefinition::XmlSchemaCollection(collection))
    }

    /// The id of a type that is about to be made. One at a time is made in a database, so that names and ids stay unique.
    ///
    /// # Errors
    /// 219 when the name is taken.
    fn new_type_id(&self, database: &Database, schema: &str, name: &str) -> Result<u32> {
        self.locks()
            .lock(Resource::name(database.id, "types of the database"), Mode::X)?;
        if database.catalog.user_type(schema, name, self.id).is_some() {
            return Err(Error::type_exists(&format!("{schema}.{name}")));
        }
        let objects = database.catalog.objects(self.id);
        let ids = objects.iter().filter_map(|object| object.definition.type_name());
        Ok(ids.map(|(_, _, id)| id).max().map_or(USER_TYPE_ID_FIRST, |id| id + 1))
    }

    /// Locks an object against everybody before its definition is changed or dropped, or before it is judged whether that may be.
    ///
    /// # Errors
    /// 2801 when it was redefined or dropped while this waited; those of waiting.
    pub fn lock_definition(&self, database: &Database, object: &Arc<CatalogObject>) -> Result<()> {
        let id = object.definition.object_id();
        self.locks().lock(Resource::Object(database.id, id), Mode::SchM)?;
        match database.catalog.is_current(object, self.id) {
            true => self.lock_catalog(database),
            false => {
                let name = object.definition.qualified_name().map_or("", |(_, name)| name);
                Err(Error::definition_changed(name))
            }
        }
    }

    /// Drops an object with its storage, and a table or view with its triggers.
    ///
    /// # Errors
    /// Those of [`Session::lock_definition`].
    pub fn drop_object(&mut self, database: &Arc<Database>, object: &Arc<CatalogObject>) -> Result<()> {
        self.lock_definition(database, object)?;
        if object.definition.table().is_some() {
            self.drop_statistics(database, object.definition.object_id(), |_| true)?;
            database.forget_index_uses(object.definition.object_id(), |_| false);
        }
        for trigger in object.definition.triggers() {
            let module = database.catalog.by_id(trigger.object_id, self.id);
            module.map_or(Ok(()), |module| self.drop_object(database, &module))?;
        }
        database.check_storage_may_go(&object.definition, None)?;
        self.drop_properties(database, &object.definition)?;
        self.drop_security(database, &object.definition)?;
        self.leave_indexed_view(database, object, None)?;
        let (session, owner) = (self.id, database.clone());
        self.write(database, |ctx| owner.catalog.remove(ctx, session, object))
    }

    /// Replaces an object's definition; its storage stays as the new definition says.
    ///
    /// # Errors
    /// 2714 when it, or a constraint of it, gets a name that another object or constraint has; those of [`Session::lock_definition`].
    pub fn replace_object(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        mut definition: ObjectDefinition,
    ) -> Result<Arc<CatalogObject>> {
        self.lock_definition(database, object)?;
        database.check_storage_may_go(&object.definition, definition.table())?;
        if let Some((schema, name)) = definition
            .qualified_name()
            .filter(|name| Some(*name) != object.definition.qualified_name())
        {
            self.lock_name(database, schema, name)?;
            let holder = database.catalog.find(schema, name, self.id);
            let is_constraints = database.catalog.find_constraint(schema, name, self.id).is_some();
            if is_constraints || holder.is_some_and(|holder| !Arc::ptr_eq(&holder, object)) {
                return Err(Error::object_exists(name));
            }
        }
        if let ObjectDefinition::Table(table) = &definition {
            self.claim_constraint_names(database, object.definition.table(), table)?;
        }
        if let ObjectDefinition::Module(module) = &definition {
            database.note_columns(&module.columns)?;
        }
        if let ObjectDefinition::Sequence(sequence) = &definition {
            note_wide(database, sequence)?;
        }
        database.note_triggers(&definition)?;
        if definition.table().is_none() && object.definition.table().is_some() {
            // A view has lost its indexes.
            self.drop_statistics(database, definition.object_id(), |_| true)?;
            database.forget_index_uses(definition.object_id(), |_| false);
        }
        self.leave_indexed_view(database, object, Some(&definition))?;
        database.note_indexed_views(&definition)?;
        if let Some(table) = definition.table_mut() {
            database.number_constraints(table)?;
            database.note_features(table)?;
            let is_gone = |kept: &StatisticsDefinition| {
                kept.of_index && !table.indexes.iter().any(|index| index.index_id == kept.stats_id)
            };
            self.drop_statistics(database, table.object_id, is_gone)?;
            let is_kept = |index_id| match index_id {
                0 => table.heap.is_some(),
                _ => table.indexes.iter().any(|index| index.index_id == index_id),
            };
            database.forget_index_uses(table.object_id, is_kept);
            if let Some(before) = object.definition.table() {
                self.follow_table(database, before, table)?;
                self.follow_columns(database, before, table)?;
            }
        }
        let (session, owner) = (self.id, database.clone());
        self.write(database, |ctx| owner.catalog.replace(ctx, session, object, definition))
    }

    /// Empties a table at once: its storage is replaced by new storage (TRUNCATE TABLE).
    pub fn truncate_table(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
    ) -> Result<Arc<CatalogObject>> {
        let ObjectDefinition::Table(table) = &object.definition else {
            return Err(Error::assertion("only tables are truncated"));
        };
        let table = table.clone();
        let opened = Table::open(database, object)?;
        opened.check_filegroups()?;
        if let Some(rows) = opened.row_count() {
            database.modifications(&table).note_rows(rows);
        }
        // What it frees, it frees after the commit: a full file has room for this much.
        let emptied = self.replace_storage_by(database, object, table.clone(), Claim::Reserve)?;
        self.restart_identity(database, &table);
        Ok(emptied)
    }

    /// Gives a table another definition and new, empty storage for all of it: a heap unless it has a clustered index, a tree for each
    /// index. The table keeps its id, which others refer to.
    ///
    /// # Errors
    /// Those of [`Session::lock_definition`]; 1101, 1105, 9002 for want of space.
    pub fn replace_storage(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        table: TableDefinition,
    ) -> Result<Arc<CatalogObject>> {
        self.replace_storage_by(database, object, table, Claim::Rows)
    }

    fn replace_storage_by(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        mut table: TableDefinition,
        claim: Claim,
    ) -> Result<Arc<CatalogObject>> {
        self.lock_definition(database, object)?;
        if table.partitioning.is_some() {
            // Large values of a partition are beside its rows.
            table.text_space = None;
        } else if let Some(before) = object.definition.table()
            && before.partitioning.is_none()
            && table.text_space.is_none()
            && has_unlimited(before)
        {
            // Large values stay in the filegroup that they are in when the rows move to another.
            table.text_space = Some(before.data_space);
        }
        check_room(database, &table)?;
        let all_goes = TableDefinition {
            heap: None,
            other_partitions: Vec::new(),
            indexes: Vec::new(),
            ..table.clone()
        };
        database.check_storage_may_go(&object.definition, Some(&all_goes))?;
        let owner = database.clone();
        self.write(database, |ctx| make_storage(ctx, &owner, &mut table, claim))?;
        self.replace_object(database, object, object.definition.with_table(table))
    }

    /// Adds a nonclustered index and fills it.
    ///
    /// # Errors
    /// 1505 for two rows of one key under a unique index; those of [`Session::lock_definition`] and of space.
    pub fn create_index(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        mut index: IndexDefinition,
    ) -> Result<Arc<CatalogObject>> {
        let Some(table) = object.definition.table() else {
            return Err(Error::assertion("only tables and views have indexes"));
        };
        let mut table = table.clone();
        self.lock_definition(database, object)?;
        let owner = database.clone();
        index.index_id = next_stats_id(database, &table, self.id);
        let filegroups = filegroups_of(&table, index.data_space)?;
        let full_name = format!("{}.{}", table.schema, table.name);
        let name = format!("{full_name}'.'{}", index.name);
        let mut trees = self.write(database, |ctx| {
            let of_index = (name.as_str(), filegroups.as_slice());
            new_roots(&owner, of_index, Claim::Rows, |room| new_tree(ctx, &owner, room))
        })?;
        index.other_partitions = trees.split_off(1);
        index.storage = trees[0];
        index.carried = index.columns_to_carry(&table.columns);
        let index_name = index.name.clone();
        table.indexes.push(index);
        let place = table.indexes.len() - 1;
        let changed = self.replace_object(database, object, object.definition.with_table(table))?;
        let built = Table::open(database, &changed)?.build_index(self, place);
        built.map_err(|error| error.while_building_index(&full_name, &index_name))?;
        Ok(changed)
    }

    /// Announces a change of the catalog. That comes before storage is made, which nobody owns until the catalog has it: a check of the
    /// database waits here, and finds none such; and who is refused the lock leaves none behind.
    pub(super) fn lock_catalog(&self, database: &Database) -> Result<()> {
        self.locks()
            .lock(Resource::Object(database.id, database.catalog_object_id()), Mode::IX)
    }

    /// Keeps a name for a constraint of a schema: until the transaction ends, other sessions that want the name wait.
    ///
    /// # Errors
    /// 2714 when an object or a constraint has it; those of waiting.
    pub fn claim_constraint_name(&self, database: &Database, schema: &str, name: &str) -> Result<()> {
        self.lock_name(database, schema, name)?;
        match self.is_name_taken(database, schema, name) {
            true => Err(Error::constraint_exists(name)),
            false => Ok(()),
        }
    }

    /// The same for the constraints that a table gets beside those of the definition that it had.
    fn claim_constraint_names(
        &self,
        database: &Database,
        before: Option<&TableDefinition>,
        table: &TableDefinition,
    ) -> Result<()> {
        let before = before.filter(|before| before.schema.to_lowercase() == table.schema.to_lowercase());
        let kept = before.into_iter().flat_map(TableDefinition::constraint_names);
        let kept: HashSet<(u32, String)> = kept.map(|(id, name)| (id, name.to_lowercase())).collect();
        let mut given = HashSet::from([table.name.to_lowercase()]);
        for (id, name) in table.constraint_names() {
            let folded = name.to_lowercase();
            if kept.contains(&(id, folded.clone())) {
                continue;
            }
            self.claim_constraint_name(database, &table.schema, name)?;
            if !given.insert(folded) {
                return Err(Error::constraint_exists(name));
            }
        }
        Ok(())
    }

    fn is_name_taken(&self, database: &Database, schema: &str, name: &str) -> bool {
        database.catalog.find(schema, name, self.id).is_some()
            || database.catalog.find_constraint(schema, name, self.id).is_some()
    }

    fn lock_name(&self, database: &Database, schema: &str, name: &str) -> Result<()> {
        let folded = format!("{}.{}", schema.to_lowercase(), name.to_lowercase());
        self.locks().lock(Resource::name(database.id, &folded), Mode::X)
    }
}

fn note_wide(database: &Database, sequence: &SequenceDefinition) -> Result<()> {
    match sequence.is_wide() {
        true => database.note_wide_sequences(),
        false => Ok(()),
    }
}

/// Says what entries carry, in indexes whose trees are about to be made.
fn choose_carried_columns(table: &mut TableDefinition) {
    let columns = &table.columns;
    for index in table.indexes.iter_mut().filter(|index| index.index_id != 1) {
        index.carried = index.columns_to_carry(columns);
    }
}

/// Gives a table storage of its own: a heap unless it has a clustered index, and a tree for each index.
pub(super) fn make_storage(
    ctx: &mut StoreContext<'_>,
    database: &Database,
    table: &mut TableDefinition,
    claim: Claim,
) -> Result<()> {
    if let Some(clustered) = table.clustered() {
        // What is left without it stays where it is.
        table.data_space = clustered.data_space;
    }
    check_room(database, table)?;
    let name = format!("{}.{}", table.schema, table.name);
    (table.heap, table.other_partitions) = (None, Vec::new());
    if table.clustered().is_none() {
        let filegroups = filegroups_of(table, table.data_space)?;
        let mut heaps = new_roots(database, (&name, &filegroups), claim, |room| {
            new_heap(ctx, database, room)
        })?;
        table.other_partitions = heaps.split_off(1);
        table.heap = heaps.pop();
    }
    for place in 0..table.indexes.len() {
        let filegroups = filegroups_of(table, table.indexes[place].data_space)?;
        let name = format!("{name}'.'{}", table.indexes[place].name);
        let mut trees = new_roots(database, (&name, &filegroups), claim, |room| {
            new_tree(ctx, database, room)
        })?;
        let index = &mut table.indexes[place];
        index.other_partitions = trees.split_off(1);
        index.storage = trees[0];
    }
    choose_carried_columns(table);
    Ok(())
}

/// Whether a table has columns whose values have no limit.
fn has_unlimited(table: &TableDefinition) -> bool {
    table.columns.iter().any(|column| is_unlimited(column.sql_type))
}

/// Whether the storage of a table may be made where its definition says. It is asked before any is made: what is made in one filegroup would
/// have no owner when another refuses.
///
/// # Errors
/// Those of [`Database::check_new_storage`].
fn check_room(database: &Database, table: &TableDefinition) -> Result<()> {
    let rows = table.clustered().map_or(table.data_space, |index| index.data_space);
    let indexes = table.indexes.iter().map(|index| index.data_space);
    for space in indexes.chain([rows]) {
        database.check_new_storage_of(table, space)?;
    }
    let mut large = table.text_space.into_iter();
    large.try_for_each(|space| database.check_new_storage(space).map(|_| ()))
}

/// The filegroup of each partition of a heap or index in a data space; one where the table is not partitioned.
///
/// # Errors
/// 3624 for an index that is partitioned otherwise than its table.
pub(super) fn filegroups_of(table: &TableDefinition, data_space: u32) -> Result<Vec<u32>> {
    match &table.partitioning {
        None => Ok(vec![data_space]),
        Some(partitioning) if partitioning.scheme == data_space => {
            Ok(partitioning.filegroups.iter().map(|one| u32::from(*one)).collect())
        }
        Some(_) => Err(Error::assertion("an index is partitioned otherwise than its table")),
    }
}

/// A heap or tree in each of some filegroups, of which there is one at least. The name is what 1105 and its kin say of it.
pub(super) fn new_roots(
    database: &Database,
    (name, filegroups): (&str, &[u32]),
    claim: Claim,
    mut make: impl FnMut(Room) -> Result<StorageRoot>,
) -> Result<Vec<StorageRoot>> {
    let roots = filegroups.iter().map(|filegroup| {
        let made = make(room_in(database, *filegroup, claim)?);
        made.map_err(|error| database.name_full_object(error, (name, *filegroup)))
    });
    let roots = roots.collect::<Result<Vec<_>>>()?;
    match roots.is_empty() {
        true => Err(Error::assertion("a table without a partition")),
        false => Ok(roots),
    }
}

/// Room in a filegroup.
///
/// # Errors
/// Those of [`Database::check_new_storage`].
fn room_in(database: &Database, data_space: u32, claim: Claim) -> Result<Room> {
    let filegroup = database.check_new_storage(data_space)?;
    Ok(Room { claim, filegroup })
}

pub(super) fn new_heap(ctx: &mut StoreContext<'_>, database: &Database, room: Room) -> Result<StorageRoot> {
    let root = Heap::create_by(ctx, ObjectId(database.new_unit()?), room)?;
    Ok(storage_root(root))
}

pub(super) fn new_tree(ctx: &mut StoreContext<'_>, database: &Database, room: Room) -> Result<StorageRoot> {
    let root = Tree::create_by(ctx, ObjectId(database.new_unit()?), room)?;
    Ok(storage_root(root))
}

fn storage_root(root: ObjectRoot) -> StorageRoot {
    StorageRoot {
        unit: root.object.0,
        first_iam: (root.first_iam.file, root.first_iam.page),
    }
}
