//! From the syntax of CREATE TABLE to the catalog's definition of a table.

use std::sync::Arc;

use engine::catalog::{
    Bindings, CheckConstraint, ColumnDefinition, ComputedColumn, GeneratedColumn, Identity, IndexDefinition,
    IndexOptions, LockEscalation, NUMERIC_TYPE_ID, NamedText, PeriodEnd, StorageRoot, TableDefinition,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::{COLLATION_VERSION, Collation, SqlType};

use super::computed_column::require_stored_foreign;
use super::data_space::{OF_THE_TABLE, settle_spaces, space_of_index, space_of_key};
use super::executor::Executor;
use super::index_limits::check_indexes;
use super::index_options::{check_filter_without_ignoring, check_uniqueness_of_ignoring, index_options};
use super::mask::mask_of_column;
use super::user_type::DeclaredType;
use super::versioning::check_period;
use super::xml_schema::declared_with;
use crate::ast::{self, ConstraintKind, IndexColumn, KeyConstraint, Name, TableConstraint, TableElement};
use crate::bind::Binder;
use crate::bind::TABLE_COLUMNS_MAX;
use crate::messages;
use crate::plan::{Node, Origin, QueryPlan};
use crate::scalar::data_type::is_nullable_unsaid;
use crate::scalar::xml::XmlCollectionName;
use crate::sink::ResultColumn;

/// Storage that the engine chooses when the table is created.
const NO_STORAGE: StorageRoot = StorageRoot {
    unit: 0,
    first_iam: (0, 0),
};

/// A constraint whose name is made up.
#[derive(Clone, Copy)]
pub(super) enum Made<'a> {
    /// A PRIMARY KEY or UNIQUE constraint.
    Key(&'a str),
    /// Another, and the one column that it is of.
    OfColumn(&'a str, Option<&'a str>),
}

impl Made<'_> {
    /// The name with a number.
    fn name(self, table: &TableDefinition, number: u64) -> String {
        let name = table.name.chars().filter(|character| *character != '#');
        match self {
            Made::Key(kind) => {
                let stem: String = name.take(8).collect();
                format!("{kind}__{stem}__{number:016X}")
            }
            Made::OfColumn(kind, column) => {
                let stem: Vec<char> = name.take(9).collect();
                let left = 14 - stem.len();
                let column: String = column.unwrap_or_default().chars().take(left).collect();
                let middle = if column.is_empty() {
                    String::new()
                } else {
                    format!("{column}__")
                };
                let stem: String = stem.into_iter().collect();
                format!("{kind}__{stem}__{middle}{:08X}", number as u32)
            }
        }
    }
}

/// Collects the parts of a definition.
struct Draft {
    table: TableDefinition,
    database: Arc<Database>,
    /// The default of the database that the table is in.
    collation: Collation,
    /// For columns of unsaid nullability: they become NOT NULL in a primary key.
    said_nullable: Vec<bool>,
}

impl Executor<'_> {
    /// The definition that CREATE TABLE describes. Where the table is, and indexes that do not say where they are, is still to be settled.
    /// Foreign keys come last: they may refer to the table's own keys.
    pub(super) fn definition_of(&self, name: &Name, elements: &[TableElement]) -> Result<TableDefinition> {
        let database = self.session.database_of(name)?;
        let mut draft = Draft {
            table: self.empty_definition(name),
            collation: database.collation(),
            database,
            said_nullable: Vec::new(),
        };
        for element in elements {
            if let TableElement::Column(column) = element {
                self.add_column_to(&mut draft, column)?;
            }
        }
        let periods = elements.iter().filter_map(|element| match element {
            TableElement::Period(period) => Some(period),
            _ => None,
        });
        check_period(&draft.table, periods)?;
        self.settle_computed(&mut draft.table)?;
        let is_late = |constraint: &TableConstraint| matches!(constraint.kind, ConstraintKind::ForeignKey(_));
        for (element, late) in [false, true]
            .into_iter()
            .flat_map(|late| elements.iter().map(move |one| (one, late)))
        {
            match element {
                TableElement::Column(column) => {
                    let own = [IndexColumn {
                        name: column.name.clone(),
                        descending: false,
                    }];
                    for constraint in column.constraints.iter().filter(|one| is_late(one) == late) {
                        self.add_constraint(&mut draft, constraint, &own)?;
                    }
                }
                TableElement::Constraint(constraint) if is_late(constraint) == late => {
                    self.add_constraint(&mut draft, constraint, &[])?;
                }
                TableElement::Index(index) if !late => {
                    check_uniqueness_of_ignoring(index.unique, &index.options)?;
                    let place = draft.add_index(
                        &index.name.text,
                        (&index.columns, &index.included_columns),
                        index.unique,
                        index.clustered == Some(true),
                    )?;
                    draft.table.indexes[place].options = index_options(&index.options, IndexOptions::default());
                    draft.table.indexes[place].data_space = space_of_index(&draft.database, index.data_space.as_ref())?;
                    if let Some(filter) = &index.filter {
                        let named = (index.name.text.as_str(), name.to_string());
                        if index.clustered == Some(true) {
                            return Err(messages::filter_incorrect("index", named.0, &named.1));
                        }
                        let filter = self.index_filter(&draft.table, (named.0, &named.1), filter)?;
                        draft.table.indexes[place].filter = Some(filter);
                        check_filter_without_ignoring(&draft.table.indexes[place], "create", &named.1)?;
                    }
                }
                TableElement::Constraint(_) | TableElement::Index(_) | TableElement::Period(_) => {}
            }
        }
        let mut table = draft.finish()?;
        check_indexes(self.session.instance.options.version, &table, None)?;
        for index in table.indexes.clone() {
            self.store_computed(&mut table, &index)?;
        }
        Ok(table)
    }

    /// A table's definition with one more constraint; `own` is the column that it was written at, if it was.
    pub(super) fn definition_with(
        &self,
        (database, table): (&Arc<Database>, &TableDefinition),
        constraint: &TableConstraint,
        own: &[IndexColumn],
    ) -> Result<TableDefinition> {
        let mut draft = Draft {
            table: table.clone(),
            database: database.clone(),
            collation: Collation::default(),
            said_nullable: Vec::new(),
        };
        self.add_constraint(&mut draft, constraint, own)?;
        settle_spaces(&mut draft.table);
        check_indexes(self.session.instance.options.version, &draft.table, None)?;
        Ok(draft.table)
    }

    fn empty_definition(&self, name: &Name) -> TableDefinition {
        let created = self.session.now_ticks();
        TableDefinition {
            object_id: 0,
            schema: crate::state::schema_of(name).to_owned(),
            name: name.object().to_owned(),
            columns: Vec::new(),
            heap: None,
            other_partitions: Vec::new(),
            partitioning: None,
            data_space: engine::catalog::PRIMARY_FILEGROUP,
            text_space: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            disabled_indexes: Vec::new(),
            lock_escalation: LockEscalation::default(),
            triggers: Vec::new(),
            versioning: None,
            history_of: None,
            indexed_views: Vec::new(),
            created: (created.days, created.ticks),
        }
    }

    /// The definition of a table that holds the rows of a query (SELECT INTO).
    pub(super) fn definition_of_rows(&self, name: &Name, plan: &QueryPlan) -> Result<TableDefinition> {
        let mut table = self.empty_definition(name);
        for (ordinal, column) in plan.columns.iter().enumerate() {
            if column.name.is_empty() {
                let text = "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name. \
                            For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. \
                            Change the alias to a valid name.";
                return Err(Error::new(1038, 15, 5, text));
            }
            if table.column(&column.name).is_some() {
                return Err(messages::duplicate_column_in_table(&column.name, &table.name));
            }
            require_one_row_version(&table, column.sql_type, &column.name)?;
            let collection = match &column.xml_collection {
                Some(collection) => Some(self.kept_collection(name, column, collection)?),
                None => None,
            };
            let identity = column.identity.then(|| inherited_identity(plan, ordinal)).flatten();
            table.columns.push(ColumnDefinition {
                name: column.name.clone(),
                sql_type: column.sql_type,
                collation: match column.sql_type.is_character() {
                    true => column.label.collation(),
                    false => Collation::default(),
                },
                alias_type: collection.or_else(|| numeric_of_rows(plan, ordinal, column.sql_type)),
                nullable: column.nullable,
                identity: identity.filter(|_| table.identity().is_none()),
                default: None,
                is_row_guid: false,
                computed: None,
                generated: None,
                mask: None,
                bound: Bindings::default(),
            });
        }
        check_size(&table)?;
        Ok(table)
    }

    /// What the catalog keeps of a column of SELECT INTO that is typed xml.
    ///
    /// # Errors
    /// 458 for a collection of another database than the table's.
    fn kept_collection(&self, name: &Name, column: &ResultColumn, collection: &XmlCollectionName) -> Result<u32> {
        let database = self.session.database_of(name)?;
        if database.name() != collection.database {
            return Err(messages::into_with_foreign_collection(
                name.object(),
                &column.name,
                &collection.name,
                &collection.database,
            ));
        }
        let collection = Name {
            parts: vec![
                ast::Identifier::new(collection.schema.as_str()),
                ast::Identifier::new(collection.name.as_str()),
            ],
        };
        declared_with(&database, &collection, self.session.id)
    }

    fn add_constraint(&self, draft: &mut Draft, constraint: &TableConstraint, own: &[IndexColumn]) -> Result<()> {
        let is_system_named = constraint.name.is_none();
        let name = |kind: Made<'_>, draft: &Draft| {
            let written = constraint.name.as_ref().map(|name| name.text.clone());
            written.unwrap_or_else(|| self.constraint_name(kind, &draft.database, &draft.table))
        };
        let own_column = own.first().map(|column| column.name.text.as_str());
        match &constraint.kind {
            ConstraintKind::Key(key) => {
                let kind = if key.primary { "PK" } else { "UQ" };
                let name = name(Made::Key(kind), draft);
                self.require_stored_key(&draft.table, key, own)?;
                let place = draft.add_key(key, &name, own)?;
                draft.table.indexes[place].is_system_named = is_system_named;
                draft.table.indexes[place].data_space = space_of_key(&draft.database, key.data_space.as_ref())?;
                Ok(())
            }
            ConstraintKind::Check { text, .. } => {
                let name = name(Made::OfColumn("CK", own_column), draft);
                self.check_condition(&draft.table, own, text)?;
                self.require_stored_check(&draft.table, own, text)?;
                draft.table.checks.push(CheckConstraint {
                    name,
                    text: text.clone(),
                    object_id: 0,
                    is_system_named,
                    is_not_trusted: false,
                    is_disabled: false,
                });
                Ok(())
            }
            ConstraintKind::ForeignKey(foreign) => {
                let only = match foreign.columns.as_slice() {
                    [] => own_column,
                    [column] => Some(column.text.as_str()),
                    _ => None,
                };
                let name = name(Made::OfColumn("FK", only), draft);
                require_stored_foreign(&draft.table, foreign, own)?;
                let mut key = self.foreign_key((&draft.database, &draft.table), foreign, own, name)?;
                key.is_system_named = is_system_named;
                draft.table.foreign_keys.push(key);
                Ok(())
            }
            ConstraintKind::Default { definition, column } => {
                let ordinal = ordinal_in(&draft.table, &column.text)?;
                let name = name(Made::OfColumn("DF", Some(&column.text)), draft);
                let text = definition.text.clone();
                self.check_default(&draft.table.name, &draft.table.columns[ordinal], &text)?;
                draft.table.columns[ordinal].default = Some(NamedText {
                    name,
                    text,
                    object_id: 0,
                    is_system_named,
                });
                Ok(())
            }
        }
    }

    /// The condition of a CHECK is bound when it is made; `own` is the column that it was written at, if it was. "A CHECK constraint
    /// defined on a column can only reference that column" (sql-docs, "CREATE TABLE").
    ///
    /// # Errors
    /// 8141; those of binding the condition.
    fn check_condition(&self, table: &TableDefinition, own: &[IndexColumn], text: &str) -> Result<()> {
        let columns = Binder::new(self.session, &self.batch.scope).columns_of_check(table, text)?;
        let [own] = own else { return Ok(()) };
        match columns
            .into_iter()
            .any(|column| Some(column) != table.column(&own.name.text))
        {
            true => Err(messages::column_check_names_another(&own.name.text, &table.name)),
            false => Ok(()),
        }
    }

    /// A name for a constraint that has none, as SQL Server makes them up: `PK__` and eight characters of the table with sixteen hexadecimal
    /// digits, or `CK__` and fourteen characters of table and column with eight. At most nine of these are the table's.
    pub(super) fn constraint_name(&self, made: Made<'_>, database: &Database, table: &TableDefinition) -> String {
        let (schema, catalog) = (&table.schema, &database.catalog);
        loop {
            let name = made.name(table, self.session.random.next_bits());
            let is_taken = catalog.find(schema, &name, self.session.id).is_some()
                || catalog.find_constraint(schema, &name, self.session.id).is_some()
                || table.constraint_named(&name).is_some();
            if !is_taken {
                return name;
            }
        }
    }

    fn add_column_to(&self, draft: &mut Draft, column: &ast::ColumnDefinition) -> Result<()> {
        let Some(data_type) = &column.data_type else {
            return draft.add_computed(column);
        };
        let declared = self.session.declared_type(data_type, draft.table.columns.len() + 1)?;
        let collation = self.declared_collation(column.collation.as_ref(), &declared, draft.collation)?;
        let options = self.session.options();
        if !options.ansi_padding && (declared.sql_type.is_character() || declared.sql_type.is_binary()) {
            // Values of such a column would lose their trailing blanks or zeros (SQL Server docs, "SET ANSI_PADDING").
            return Err(crate::bind::not_supported("ANSI_PADDING OFF"));
        }
        let default_name = self.constraint_name(
            Made::OfColumn("DF", Some(&column.name.text)),
            &draft.database,
            &draft.table,
        );
        draft.add_column(
            column,
            declared,
            collation,
            (options.ansi_null_default_on, default_name),
        )?;
        match (draft.table.columns.last(), &column.default) {
            (Some(added), Some(default)) => self.check_default(&draft.table.name, added, &default.text),
            _ => Ok(()),
        }
    }

    pub(super) fn check_default(&self, table: &str, column: &ColumnDefinition, text: &str) -> Result<()> {
        Binder::new(self.session, &self.batch.scope).check_default(table, column, text)
    }

    /// The collation of a column that is declared: the one written, or the default of the database its table is in.
    ///
    /// # Errors
    /// 448 for an unknown name; 447 for a column that is not a string, 452 for one of an alias type.
    pub(super) fn declared_collation(
        &self,
        written: Option<&ast::Identifier>,
        declared: &DeclaredType,
        default: Collation,
    ) -> Result<Collation> {
        let is_character = declared.sql_type.is_character();
        let Some(written) = written else {
            return Ok(if is_character { default } else { Collation::default() });
        };
        let collation = self.session.collation(&written.text)?;
        match declared.alias {
            Some(_) => Err(messages::collate_of_alias_type()),
            None if !is_character => Err(messages::not_collatable(declared.sql_type.name())),
            None => Ok(collation),
        }
    }

    /// A column of ALTER TABLE ADD.
    pub(super) fn column_definition(
        &self,
        column: &ast::ColumnDefinition,
        table: &TableDefinition,
        database: &Arc<Database>,
    ) -> Result<ColumnDefinition> {
        let mut draft = Draft {
            table: table.clone(),
            collation: database.collation(),
            database: database.clone(),
            said_nullable: Vec::new(),
        };
        self.add_column_to(&mut draft, column)?;
        let place = draft.table.columns.len() - 1;
        Binder::new(self.session, &self.batch.scope).settle_computed(&mut draft.table, place)?;
        draft
            .table
            .columns
            .pop()
            .ok_or_else(|| Error::assertion("a column that was not added"))
    }
}

/// The columns of an index by their ordinals.
pub(super) struct IndexColumns {
    /// Those of the key; true for descending.
    pub keys: Vec<(usize, bool)>,
    pub included: Vec<usize>,
}

/// 1978 for a json as the key of an index or the subject of statistics; constraints say 1919.
pub(super) fn refuse_json_key(table: &TableDefinition, column: &str) -> Result<()> {
    let own = table.column(column).and_then(|place| table.columns.get(place));
    match own.filter(|own| own.sql_type == SqlType::Json) {
        Some(own) => Err(messages::invalid_key_or_statistics_type(&own.name, &table.name)),
        None => Ok(()),
    }
}

/// Finds the columns that an index, or the constraint behind it, is declared over.
///
/// # Errors
/// 1911 for one that the table does not have, 1909 for one that stands there twice, 1919 for a key of a `(max)` type.
pub(super) fn index_columns(
    table: &TableDefinition,
    keys: &[IndexColumn],
    included: &[ast::Identifier],
) -> Result<IndexColumns> {
    let mut columns = IndexColumns {
        keys: Vec::with_capacity(keys.len()),
        included: Vec::with_capacity(included.len()),
    };
    let ordinal = |name: &str, columns: &IndexColumns| {
        let ordinal = ordinal_in(table, name)?;
        let is_key = columns.keys.iter().any(|(key, _)| *key == ordinal);
        match is_key || columns.included.contains(&ordinal) {
            true => Err(messages::duplicate_index_column(name)),
            false => Ok(ordinal),
        }
    };
    for key in keys {
        let ordinal = ordinal(&key.name.text, &columns)?;
        let column = &table.columns[ordinal];
        if column.sql_type.is_max() {
            return Err(messages::invalid_key_type(&column.name, &table.name));
        }
        columns.keys.push((ordinal, key.descending));
    }
    for column in included {
        let ordinal = ordinal(&column.text, &columns)?;
        columns.included.push(ordinal);
    }
    Ok(columns)
}

/// Where a table has a column.
///
/// # Errors
/// 1911.
fn ordinal_in(table: &TableDefinition, name: &str) -> Result<usize> {
    table.column(name).ok_or_else(|| {
        let text = format!("Column name '{name}' does not exist in the target table or view.");
        Error::new(1911, 16, 1, text)
    })
}

/// 2738 when a second column of type rowversion would come to a table.
fn require_one_row_version(table: &TableDefinition, sql_type: SqlType, column: &str) -> Result<()> {
    let is_there = table.columns.iter().any(|other| other.sql_type == SqlType::RowVersion);
    match sql_type == SqlType::RowVersion && is_there {
        true => Err(messages::several_row_versions(&table.name, column)),
        false => Ok(()),
    }
}

/// What may be ROWGUIDCOL.
///
/// # Errors
/// 2761 for another type than uniqueidentifier; 8196 for a second one of a table.
fn require_row_guid(table: &TableDefinition, sql_type: SqlType) -> Result<()> {
    if sql_type != SqlType::UniqueIdentifier {
        return Err(messages::row_guid_type());
    }
    match table.columns.iter().any(|column| column.is_row_guid) {
        true => Err(messages::several_row_guids()),
        false => Ok(()),
    }
}

impl Draft {
    /// A computed column, whose type is found when all columns are there.
    ///
    /// # Errors
    /// 2705; 8183 for NOT NULL of what is not stored.
    fn add_computed(&mut self, column: &ast::ColumnDefinition) -> Result<()> {
        let Some(computed) = &column.computed else {
            return Err(Error::assertion("a column without a type"));
        };
        let name = &column.name.text;
        if self.table.column(name).is_some() {
            return Err(messages::duplicate_column_in_table(name, &self.table.name));
        }
        if !computed.persisted && column.nullable == Some(false) {
            return Err(messages::constraint_at_virtual());
        }
        self.table.columns.push(ColumnDefinition {
            name: name.clone(),
            sql_type: SqlType::Int,
            collation: Collation::default(),
            alias_type: None,
            nullable: column.nullable != Some(false),
            identity: None,
            default: None,
            is_row_guid: false,
            computed: Some(ComputedColumn {
                text: computed.text.clone(),
                is_persisted: computed.persisted,
                is_stored: computed.persisted,
            }),
            generated: None,
            mask: None,
            bound: Bindings::default(),
        });
        self.said_nullable.push(false);
        Ok(())
    }

    /// `unsaid_nullable` is what a column of a system type is when nothing is said about NULL; the name is that of a default without one.
    fn add_column(
        &mut self,
        column: &ast::ColumnDefinition,
        declared: DeclaredType,
        collation: Collation,
        (unsaid_nullable, default_name): (bool, String),
    ) -> Result<()> {
        let table = &mut self.table;
        let name = &column.name.text;
        if table.column(name).is_some() {
            return Err(messages::duplicate_column_in_table(name, &table.name));
        }
        let sql_type = declared.sql_type;
        let identity = match &column.identity {
            Some(identity) => Some(checked_identity(identity, name, sql_type)?),
            None => None,
        };
        if identity.is_some() && table.identity().is_some() {
            return Err(messages::several_identity_columns(&table.name));
        }
        require_one_row_version(table, sql_type, name)?;
        if column.row_guid {
            require_row_guid(table, sql_type)?;
        }
        let default = column.default.as_ref().map(|default| NamedText {
            name: default.name.as_ref().map_or(default_name, |name| name.text.clone()),
            text: default.text.clone(),
            object_id: 0,
            is_system_named: default.name.is_none(),
        });
        let of_system = match &column.data_type {
            Some(data_type) => is_nullable_unsaid(data_type, unsaid_nullable),
            None => unsaid_nullable,
        };
        let of_type = declared.alias.as_ref().map_or(of_system, |alias| alias.nullable);
        // "If the column's data type is timestamp, the column is NOT NULL" when nothing is said (sql-docs, CREATE TABLE).
        let unsaid = of_type && identity.is_none() && sql_type != SqlType::RowVersion && column.generated.is_none();
        let nullable = column.nullable.unwrap_or(unsaid);
        table.columns.push(ColumnDefinition {
            name: name.clone(),
            sql_type,
            collation,
            alias_type: declared.user_type_id(),
            nullable,
            identity,
            default,
            is_row_guid: column.row_guid,
            computed: None,
            generated: column.generated.map(generated_column),
            mask: mask_of_column(column, sql_type)?,
            bound: Bindings::default(),
        });
        if let Some(added) = table.columns.last_mut() {
            added.bound = declared.bindings_for(added);
        }
        self.said_nullable.push(column.nullable == Some(true));
        Ok(())
    }

    /// Adds a key; answers the place of its index.
    fn add_key(&mut self, key: &KeyConstraint, name: &str, own: &[IndexColumn]) -> Result<usize> {
        let columns = if key.columns.is_empty() { own } else { &key.columns };
        if key.primary {
            if self.table.every_index().any(|index| index.primary_key) {
                let text = format!(
                    "Cannot add multiple PRIMARY KEY constraints to table '{}'.",
                    self.table.name
                );
                return Err(Error::new(8110, 16, 0, text));
            }
            for column in columns {
                let ordinal = ordinal_in(&self.table, &column.name.text)?;
                if self.table.columns[ordinal].computed.is_some() {
                    // It has been judged.
                    continue;
                }
                if self.said_nullable.get(ordinal).copied().unwrap_or(false) {
                    return Err(messages::primary_key_nullable(&self.table.name));
                }
                self.table.columns[ordinal].nullable = false;
            }
        }
        require_free_key_name(&self.table, name)?;
        let has_clustered = self.table.indexes.iter().any(|index| index.index_id == 1);
        let clustered = key.clustered.unwrap_or(key.primary && !has_clustered);
        let place = self.add_index(name, (columns, &[]), true, clustered)?;
        let index = &mut self.table.indexes[place];
        index.options = index_options(&key.options, IndexOptions::default());
        index.primary_key = key.primary;
        index.unique_constraint = !key.primary;
        Ok(place)
    }

    /// Adds an index; answers its place in the list.
    fn add_index(
        &mut self,
        name: &str,
        (columns, included): (&[IndexColumn], &[ast::Identifier]),
        unique: bool,
        clustered: bool,
    ) -> Result<usize> {
        if clustered && self.table.indexes.iter().any(|index| index.index_id == 1) {
            return Err(several_clustered(&self.table.name, &self.table.indexes[0].name));
        }
        if index_named(&self.table, name).is_some() {
            return Err(messages::index_exists(&self.table.name, name));
        }
        let IndexColumns { keys, included } = index_columns(&self.table, columns, included)?;
        if clustered && !included.is_empty() {
            return Err(messages::include_of_clustered_index());
        }
        let next_id = self
            .table
            .every_index()
            .map(|index| index.index_id)
            .max()
            .unwrap_or(1)
            .max(1)
            + 1;
        let index = IndexDefinition {
            index_id: if clustered { 1 } else { next_id },
            name: name.to_owned(),
            keys,
            included,
            carried: Vec::new(),
            unique,
            primary_key: false,
            unique_constraint: false,
            constraint_id: 0,
            is_system_named: false,
            collation_version: COLLATION_VERSION,
            is_disabled: false,
            filter: None,
            options: IndexOptions::default(),
            data_space: OF_THE_TABLE,
            storage: NO_STORAGE,
            other_partitions: Vec::new(),
        };
        let place = if clustered { 0 } else { self.table.indexes.len() };
        self.table.indexes.insert(place, index);
        Ok(place)
    }

    fn finish(self) -> Result<TableDefinition> {
        if self.table.columns.is_empty() {
            return Err(messages::incorrect_syntax_near_keyword("CREATE"));
        }
        check_size(&self.table)?;
        Ok(self.table)
    }
}

fn generated_column(written: ast::GeneratedAlways) -> GeneratedColumn {
    GeneratedColumn {
        end: match written.is_start {
            true => PeriodEnd::RowStart,
            false => PeriodEnd::RowEnd,
        },
        is_hidden: written.is_hidden,
    }
}

fn index_named<'a>(table: &'a TableDefinition, name: &str) -> Option<&'a IndexDefinition> {
    table.every_index().find(|index| index.name.eq_ignore_ascii_case(name))
}

/// A key is an object and an index. Of an object that has its name already 2714 speaks.
fn require_free_key_name(table: &TableDefinition, name: &str) -> Result<()> {
    match index_named(table, name) {
        Some(index) if index.primary_key || index.unique_constraint => Err(Error::constraint_exists(name)),
        _ => Ok(()),
    }
}

/// 1902: a second clustered index.
pub(super) fn several_clustered(table: &str, index: &str) -> Error {
    let text = format!(
        "Cannot create more than one clustered index on table '{table}'. Drop the existing clustered index '{index}' before creating another."
    );
    Error::new(1902, 16, 3, text)
}

/// 1701: a row of this table would never fit on a page.
fn check_size(table: &TableDefinition) -> Result<()> {
    if let Some(column) = table.columns.get(TABLE_COLUMNS_MAX) {
        return Err(messages::too_many_table_columns(&column.name, &table.name));
    }
    let bytes = table.layout().row_bytes_min() + 2;
    if bytes <= engine::types::ROW_BYTES_MAX {
        return Ok(());
    }
    let text = format!(
        "Creating or altering table '{}' failed because the minimum row size would be {bytes}, including {} bytes of internal \
         overhead. This exceeds the maximum allowable table row size of 8060 bytes.",
        table.name,
        // Two bytes of status, two that say where the fixed columns end, two that count the columns, and a bit for each of them.
        6 + table.columns.len().div_ceil(8)
    );
    Err(Error::new(1701, 16, 1, text))
}

fn checked_identity(identity: &ast::IdentityDefinition, column: &str, sql_type: SqlType) -> Result<Identity> {
    let is_whole = sql_type.is_integer() || matches!(sql_type, SqlType::Decimal { scale: 0, .. });
    if !is_whole {
        return Err(messages::identity_type(column));
    }
    let number = |number: i128| i64::try_from(number).map_err(|_| messages::identity_type(column));
    Ok(Identity {
        seed: number(identity.seed)?,
        increment: number(identity.increment)?,
    })
}

/// What the catalog keeps of an exact number that SELECT INTO makes a column of: a column's own name for its type; a constant or a result
/// of arithmetic is numeric (SQL Server docs, "Constants": "numeric constants").
fn numeric_of_rows(plan: &QueryPlan, ordinal: usize, sql_type: SqlType) -> Option<u32> {
    if !matches!(sql_type, SqlType::Decimal { .. }) {
        return None;
    }
    let own = plan.root.origin(ordinal);
    if let Some(Origin {
        source: Node::Scan(scan),
        column,
    }) = own
    {
        return scan.table.table.definition().columns.get(column)?.alias_type;
    }
    Some(u32::from(NUMERIC_TYPE_ID))
}

/// The identity that a column of SELECT INTO inherits. Not one of a join, of several queries or of an expression, nor one that is there
/// twice (sql-docs, SELECT INTO: "the IDENTITY property isn't inherited").
fn inherited_identity(plan: &QueryPlan, ordinal: usize) -> Option<Identity> {
    let own = plan.root.origin(ordinal)?;
    let is_same = |column: &usize| plan.root.origin(*column).is_some_and(|other| other.is_same(&own));
    if (0..plan.columns.len()).filter(is_same).count() > 1 {
        return None;
    }
    if let Node::Scan(scan) = own.source {
        return scan.table.table.definition().columns.get(own.column)?.identity;
    }
    Some(Identity { seed: 1, increment: 1 })
}
