//! The definition of an object, in memory and as the JSON text of a catalog row.
//!
//! Types are stored as `sys.columns` shows them (type id, length, precision, scale), so that a stored definition survives changes of the
//! types in memory. New fields have defaults, so older definitions stay readable. Unknown fields would be lost when a definition is stored
//! again, so a database with such fields has a feature bit in its boot record and is refused.
//!
//! An object or schema says nothing of its owner: an entry of its own does, where it is not the owner of the schema, or dbo for a schema.

use super::ExtendedProperty;
use super::alias_type::AliasType;
use super::clone::BelievedCounts;
use super::computed::ComputedColumn;
use super::database_entry::DatabaseEntry;
use super::escalation::LockEscalation;
use super::filter::IndexFilter;
use super::intent::{CommitDecision, FileIntent};
use super::options::IndexOptions;
use super::partitioning::{PartitionFunction, PartitionScheme, Partitioning};
use super::principal::{OwnerEntry, PermissionEntry, PrincipalDefinition, RoleMembership};
use super::sequence::SequenceDefinition;
use super::standalone::{Bindings, StandaloneDefinition};
use super::synonym::SynonymDefinition;
use super::temporal::{GeneratedColumn, SystemVersioning};
use super::trigger::{DefinitionTrigger, TriggerEntry};
use super::xml_schema::{XmlSchemaCollection, is_xml, stored_xml};
use crate::page::PageId;
use crate::statistics::{Content, StoredContent};
use crate::types::{Collation, KeyDirection, Length, RowLayout, SqlType, is_read_back};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// IDENTITY(seed, increment) of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// First value.
    pub seed: i64,
    /// Added for each next value; not zero.
    pub increment: i64,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredColumn", try_from = "StoredColumn")]
pub struct ColumnDefinition {
    /// As declared.
    pub name: String,
    /// As declared; the base type where an alias type was declared.
    pub sql_type: SqlType,
    /// What its strings compare by and, single-byte ones, are stored in; the default one for columns that are no strings.
    pub collation: Collation,
    /// `user_type_id` of the alias type it was declared with, or [`NUMERIC_TYPE_ID`]: `numeric` is `decimal` by another name. Of xml, which
    /// is stored as `nvarchar(max)`: [`crate::types::XML_TYPE_ID`], or [`super::XML_COLLECTION`] and the id of its schema collection.
    pub alias_type: Option<u32>,
    /// False for NOT NULL.
    pub nullable: bool,
    /// Set on at most one column of a table.
    pub identity: Option<Identity>,
    /// T-SQL text of the default, and the name of its constraint.
    pub default: Option<NamedText>,
    /// ROWGUIDCOL, on at most one column of a table.
    pub is_row_guid: bool,
    /// What computes it, if it is a computed column. A database that has any says so in its boot record.
    pub computed: Option<ComputedColumn>,
    /// Which end of the period SYSTEM_TIME it is, if it is one.
    pub generated: Option<GeneratedColumn>,
    /// The default and the rule that are bound to it. A database in which anything is bound says so in its boot record.
    pub bound: Bindings,
    /// MASKED WITH: the function that users without UNMASK would see it through. A database that has such a column says so in its boot record.
    pub mask: Option<String>,
}

/// `system_type_id` and `user_type_id` of `numeric` (SQL Server docs, "sys.types"); those of `decimal` are 106.
pub const NUMERIC_TYPE_ID: u8 = 108;

impl ColumnDefinition {
    /// Whether it was declared as `numeric`.
    pub fn is_numeric(&self) -> bool {
        self.alias_type == Some(u32::from(NUMERIC_TYPE_ID))
    }

    /// `system_type_id`
    pub fn system_type_id(&self) -> u8 {
        match () {
            () if self.is_numeric() => NUMERIC_TYPE_ID,
            () => self.sql_type.system_type_id(),
        }
    }

    /// Whether rows have nothing of it: a computed column that is computed when it is read.
    pub fn is_virtual(&self) -> bool {
        self.computed.as_ref().is_some_and(|computed| !computed.is_stored)
    }

    /// The expression that gives it a value when none is given: of its constraint, or of the default that is bound to it.
    pub fn default_expression(&self) -> Option<&str> {
        let constraint = self.default.as_ref().map(|default| default.text.as_str());
        constraint.or_else(|| self.bound.default.as_ref().map(|bound| bound.expression.as_str()))
    }

    /// The name of its system type.
    pub fn type_name(&self) -> &'static str {
        match () {
            () if self.is_numeric() => "numeric",
            () => self.sql_type.name(),
        }
    }
}

/// A piece of T-SQL with the name of its constraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedText {
    pub name: String,
    /// Expression text.
    pub text: String,
    /// The constraint's id among the objects of the database; chosen when it is stored.
    #[serde(default)]
    pub object_id: u32,
    /// Its name was generated. Definitions that do not say so are of a time when nobody noted it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_system_named: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckConstraint {
    pub name: String,
    pub text: String,
    /// The constraint's id among the objects of the database; chosen when it is stored.
    #[serde(default)]
    pub object_id: u32,
    /// Its name was generated. Definitions that do not say so are of a time when nobody noted it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_system_named: bool,
    /// Existing rows may violate it. Older definitions lack this field.
    #[serde(default = "unsaid_is_not_trusted")]
    pub is_not_trusted: bool,
    /// Switched off by NOCHECK CONSTRAINT.
    #[serde(default)]
    pub is_disabled: bool,
}

/// A foreign key. The column lists name the same columns of the key in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    pub name: String,
    /// Columns here.
    pub columns: Vec<usize>,
    /// Object id of the table referred to.
    pub referenced_object: u32,
    /// Columns there.
    pub referenced_columns: Vec<usize>,
    /// The constraint's id among the objects of the database; chosen when it is stored.
    #[serde(default)]
    pub object_id: u32,
    /// Its name was generated. Definitions that do not say so are of a time when nobody noted it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_system_named: bool,
    /// Rows may be there that violate it. Definitions that do not say so are of a time when nothing was checked.
    #[serde(default = "unsaid_is_not_trusted")]
    pub is_not_trusted: bool,
    /// Switched off by NOCHECK CONSTRAINT.
    #[serde(default)]
    pub is_disabled: bool,
    /// What becomes of rows here when the row they refer to goes.
    #[serde(default, skip_serializing_if = "ReferentialAction::is_none")]
    pub on_delete: ReferentialAction,
    /// What becomes of them when it gets another key.
    #[serde(default, skip_serializing_if = "ReferentialAction::is_none")]
    pub on_update: ReferentialAction,
}

impl ForeignKey {
    /// Whether anything follows a change of the table referred to. A database that has such a key says so in its boot record.
    pub fn acts(&self) -> bool {
        !self.on_delete.is_none() || !self.on_update.is_none()
    }
}

/// What a foreign key does to the rows that refer to a row which goes or gets another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// The change fails while there are such rows.
    #[default]
    NoAction,
    /// They go, or get the new key.
    Cascade,
    /// The columns of their key become NULL.
    SetNull,
    /// The columns of their key get their defaults.
    SetDefault,
}

impl ReferentialAction {
    fn is_none(&self) -> bool {
        *self == ReferentialAction::NoAction
    }

    /// `NO_ACTION` and so on, as `sys.foreign_keys` has it.
    pub fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO_ACTION",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET_NULL",
            ReferentialAction::SetDefault => "SET_DEFAULT",
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn unsaid_is_not_trusted() -> bool {
    true
}

/// What clients set before anything else.
fn unsaid_is_on() -> bool {
    true
}

/// Where an allocation unit's pages begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageRoot {
    /// Allocation unit: the `object` field of its pages.
    pub unit: u32,
    /// First extent-list page: file and page.
    pub first_iam: (u16, u32),
}

impl StorageRoot {
    /// The first extent-list page.
    pub fn first_iam_page(&self) -> PageId {
        PageId {
            file: self.first_iam.0,
            page: self.first_iam.1,
        }
    }
}

/// An index: the clustered one orders the rows themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// 1 for the clustered index, 2 and above for the others.
    pub index_id: u32,
    /// Unique within the table.
    pub name: String,
    /// Key columns with true for descending.
    pub keys: Vec<(usize, bool)>,
    /// INCLUDE: columns that are no part of the key.
    pub included: Vec<usize>,
    /// Columns whose values stand in each entry beside the row's locator, chosen when the tree is made ([`IndexDefinition::columns_to_carry`]).
    /// Entries of an index that does not say so have the locator alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<usize>,
    /// Whether two rows may have one key.
    pub unique: bool,
    /// Whether it stands for a PRIMARY KEY.
    pub primary_key: bool,
    /// Whether it stands for a UNIQUE constraint.
    pub unique_constraint: bool,
    /// The id of that PRIMARY KEY or UNIQUE constraint among the objects of the database; chosen when it is stored. 0 when it
    /// stands for none.
    #[serde(default)]
    pub constraint_id: u32,
    /// The name of that constraint was made up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_system_named: bool,
    /// The version of the weights that its keys are ordered by: [`crate::types::COLLATION_VERSION`] when it was built.
    #[serde(default = "first_collation_version")]
    pub collation_version: u32,
    /// Which rows have an entry; all of them without it. A database that has such an index says so in its boot record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<IndexFilter>,
    /// What was asked for in its WITH clause.
    #[serde(default, skip_serializing_if = "IndexOptions::is_default")]
    pub options: IndexOptions,
    /// Switched off by ALTER INDEX DISABLE. A clustered index that is has the rows still, for REBUILD: nothing else reads or changes them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_disabled: bool,
    /// `data_space_id` of where it is kept. A database in which anything is kept elsewhere than in PRIMARY says so in its boot record.
    #[serde(default = "primary_data_space", skip_serializing_if = "is_primary_data_space")]
    pub data_space: u32,
    /// Its tree; that of the first partition, if the table is partitioned.
    pub storage: StorageRoot,
    /// The trees of the other partitions, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_partitions: Vec<StorageRoot>,
}

fn primary_data_space() -> u32 {
    super::PRIMARY_FILEGROUP
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_primary_data_space(data_space: &u32) -> bool {
    *data_space == super::PRIMARY_FILEGROUP
}

/// Indexes of format 2 do not say it.
fn first_collation_version() -> u32 {
    1
}

impl IndexDefinition {
    /// Whether entries of the one are entries of the other, for tables of the same columns.
    pub fn is_like(&self, other: &IndexDefinition) -> bool {
        (self.index_id == 1) == (other.index_id == 1)
            && self.unique == other.unique
            && self.keys == other.keys
            && self.included == other.included
            && self.carried == other.carried
            && self.filter == other.filter
            && self.collation_version == other.collation_version
            && (self.primary_key, self.unique_constraint) == (other.primary_key, other.unique_constraint)
    }

    /// The trees of all partitions, to be changed.
    pub fn storage_roots_mut(&mut self) -> impl Iterator<Item = &mut StorageRoot> {
        std::iter::once(&mut self.storage).chain(&mut self.other_partitions)
    }

    /// The trees of all partitions.
    pub fn storage_roots(&self) -> impl Iterator<Item = StorageRoot> + '_ {
        std::iter::once(self.storage).chain(self.other_partitions.iter().copied())
    }

    /// Whether it stands for a constraint.
    pub fn is_constraint(&self) -> bool {
        self.primary_key || self.unique_constraint
    }

    /// What the entries of an index with INCLUDE carry: the included columns, and those of the key that cannot be read back from it. A
    /// part that cannot be read back hides the parts behind it, too. An index without INCLUDE carries nothing.
    pub fn columns_to_carry(&self, columns: &[ColumnDefinition]) -> Vec<usize> {
        if self.included.is_empty() {
            return Vec::new();
        }
        let is_readable =
            |(column, _): &&(usize, bool)| columns.get(*column).is_some_and(|one| is_read_back(one.sql_type));
        let hidden = self.keys.iter().skip_while(is_readable).map(|(column, _)| *column);
        hidden.chain(self.included.iter().copied()).collect()
    }

    /// Whether it makes sure that no two rows of the table have one key.
    pub fn is_unique_of_all(&self) -> bool {
        self.unique && self.filter.is_none() && !self.is_disabled
    }

    /// Whether its entries, or which of them there are, depend on a column.
    pub fn depends_on(&self, column: usize) -> bool {
        let is_key = self.keys.iter().any(|(key, _)| *key == column);
        is_key || self.included.contains(&column) || self.filter.as_ref().is_some_and(|filter| filter.reads(column))
    }

    /// The places of its columns in the table, to be changed.
    pub fn places_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let keys = self.keys.iter_mut().map(|(column, _)| column);
        let terms = self.filter.iter_mut().flat_map(|filter| &mut filter.terms);
        let others = self.included.iter_mut().chain(&mut self.carried);
        keys.chain(others).chain(terms.map(|term| &mut term.column))
    }

    /// Whether its first key columns are these, in any order.
    fn begins_with(&self, columns: &[usize]) -> bool {
        let is_first = |column: &usize| self.keys.iter().take(columns.len()).any(|(key, _)| key == column);
        self.keys.len() >= columns.len() && columns.iter().all(is_first)
    }

    /// The directions of the key columns.
    pub fn directions(&self) -> Vec<KeyDirection> {
        (0..self.keys.len()).map(|position| self.direction(position)).collect()
    }

    /// The direction of one key column, ascending behind the last.
    pub fn direction(&self, position: usize) -> KeyDirection {
        match self.keys.get(position) {
            Some((_, true)) => KeyDirection::Descending,
            _ => KeyDirection::Ascending,
        }
    }
}

/// A table. Rows are in a heap unless `indexes` begins with a clustered index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableDefinition {
    /// Unique within the database.
    pub object_id: u32,
    /// Schema name as declared.
    pub schema: String,
    /// Table name as declared.
    pub name: String,
    /// In order of declaration; the ordinal of a column is its place here.
    pub columns: Vec<ColumnDefinition>,
    /// The heap, that of the first partition, if the table is partitioned; `None` when the clustered index holds the rows.
    pub heap: Option<StorageRoot>,
    /// The heaps of the other partitions, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_partitions: Vec<StorageRoot>,
    /// How it is partitioned, with all of its indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitioning: Option<Partitioning>,
    /// `data_space_id` of where the rows are, or are to be, while they are a heap.
    #[serde(default = "primary_data_space", skip_serializing_if = "is_primary_data_space")]
    pub data_space: u32,
    /// `TEXTIMAGE_ON`: the filegroup of its large values; `None` where they are beside the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_space: Option<u32>,
    /// Clustered first.
    pub indexes: Vec<IndexDefinition>,
    /// Nonclustered indexes that are switched off: they have no storage, nothing is searched in them and nothing is kept in them. A database
    /// that has such an index says so in its boot record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled_indexes: Vec<IndexDefinition>,
    #[serde(default)]
    pub checks: Vec<CheckConstraint>,
    /// FOREIGN KEY constraints.
    #[serde(default)]
    pub foreign_keys: Vec<ForeignKey>,
    /// LOCK_ESCALATION
    #[serde(default, skip_serializing_if = "LockEscalation::is_default")]
    pub lock_escalation: LockEscalation,
    /// Its triggers, in the order of their creation. A database that has any says so in its boot record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerEntry>,
    /// SYSTEM_VERSIONING = ON: where former rows are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versioning: Option<SystemVersioning>,
    /// The temporal table whose former rows it keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_of: Option<u32>,
    /// The indexed views that read it. A database that has any says so in its boot record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexed_views: Vec<u32>,
    /// Name of the PRIMARY KEY constraint on a heap is in `indexes`; this is when the table was created.
    pub created: (i32, u32),
}

impl TableDefinition {
    /// The layout of its rows.
    pub fn layout(&self) -> RowLayout {
        let types: Vec<SqlType> = self.columns.iter().map(|column| column.sql_type).collect();
        let layout = RowLayout::leaving_out(&types, |column| self.columns[column].is_virtual());
        layout.with_collations(self.columns.iter().map(|column| column.collation).collect())
    }

    /// Every index, those that are switched off behind the others.
    pub fn every_index(&self) -> impl Iterator<Item = &IndexDefinition> {
        self.indexes.iter().chain(&self.disabled_indexes)
    }

    /// The same, to be changed.
    pub fn every_index_mut(&mut self) -> impl Iterator<Item = &mut IndexDefinition> {
        self.indexes.iter_mut().chain(&mut self.disabled_indexes)
    }

    /// The clustered index, if it is switched off: the table cannot be used.
    pub fn disabled_clustered(&self) -> Option<&IndexDefinition> {
        self.clustered().filter(|index| index.is_disabled)
    }

    pub fn clustered(&self) -> Option<&IndexDefinition> {
        self.indexes.first().filter(|index| index.index_id == 1)
    }

    /// The place of a unique index with exactly these key columns, in any order: what a foreign key may refer to.
    pub fn unique_index_of(&self, columns: &[usize]) -> Option<usize> {
        let is_whole = |index: &IndexDefinition| index.is_unique_of_all() && index.keys.len() == columns.len();
        let mut indexes = self.indexes.iter();
        indexes.position(|index| is_whole(index) && index.begins_with(columns))
    }

    /// The place of an index of all rows whose first key columns are these, in any order.
    pub fn index_beginning_with(&self, columns: &[usize]) -> Option<usize> {
        let has_all = |index: &IndexDefinition| index.filter.is_none() && index.begins_with(columns);
        self.indexes.iter().position(has_all)
    }

    /// The ordinal of a column by its name, ignoring case.
    pub fn column(&self, name: &str) -> Option<usize> {
        let folded = name.to_lowercase();
        self.columns
            .iter()
            .position(|column| column.name.to_lowercase() == folded)
    }

    /// An index whose keys were ordered by a version of the collation that is not known. Searches would miss rows that are there, and
    /// changes would break its order.
    pub fn index_of_unknown_order(&self) -> Option<&IndexDefinition> {
        let is_known = |version: u32, column: usize| {
            let column = self.columns.get(column);
            column.is_none_or(|column| !column.sql_type.is_character() || column.collation.has_order_of(version))
        };
        self.indexes.iter().find(|index| {
            let mut keys = index.keys.iter();
            !keys.all(|(column, _)| is_known(index.collation_version, *column))
        })
    }

    /// The id of every constraint; 0 where none was chosen yet.
    pub fn constraint_ids_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        let indexes = self.indexes.iter_mut().chain(&mut self.disabled_indexes);
        let keys = indexes.filter(|index| index.is_constraint());
        let defaults = self.columns.iter_mut().filter_map(|column| column.default.as_mut());
        let texts = defaults.map(|text| &mut text.object_id);
        let texts = texts.chain(self.checks.iter_mut().map(|check| &mut check.object_id));
        let foreign_keys = self.foreign_keys.iter_mut().map(|key| &mut key.object_id);
        keys.map(|index| &mut index.constraint_id)
            .chain(texts)
            .chain(foreign_keys)
    }

    /// The id of every constraint.
    pub(crate) fn constraint_ids(&self) -> impl Iterator<Item = u32> + '_ {
        let keys = self.every_index().filter(|index| index.is_constraint());
        let defaults = self.columns.iter().filter_map(|column| column.default.as_ref());
        keys.map(|index| index.constraint_id)
            .chain(defaults.map(|default| default.object_id))
            .chain(self.checks.iter().map(|check| check.object_id))
            .chain(self.foreign_keys.iter().map(|key| key.object_id))
    }

    /// The identity column.
    pub fn identity(&self) -> Option<(usize, Identity)> {
        let identities = self.columns.iter().enumerate();
        identities
            .filter_map(|(ordinal, column)| Some((ordinal, column.identity?)))
            .next()
    }

    /// Whether anything of it is kept elsewhere than in PRIMARY.
    pub fn leaves_primary(&self) -> bool {
        let indexes = self.every_index().map(|index| index.data_space);
        let spaces = indexes.chain([self.data_space]).chain(self.text_space);
        spaces.into_iter().any(|space| !is_primary_data_space(&space))
    }

    /// How many partitions it has; 1 if it is not partitioned.
    pub fn partition_count(&self) -> usize {
        self.partitioning.as_ref().map_or(1, Partitioning::partition_count)
    }

    /// Whether a search over an index meets rows in the order of its keys: in a partitioned table if the partitioning column leads it.
    pub fn is_in_order(&self, index: &IndexDefinition) -> bool {
        let column = self.partitioning.as_ref().map(|partitioning| partitioning.column);
        column.is_none_or(|column| index.keys.first().is_some_and(|(first, _)| *first == column))
    }

    /// Every allocation unit of the table.
    pub fn storage_roots(&self) -> impl Iterator<Item = StorageRoot> + '_ {
        let heaps = self.heap.into_iter().chain(self.other_partitions.iter().copied());
        heaps.chain(self.indexes.iter().flat_map(IndexDefinition::storage_roots))
    }
}

/// Kinds of objects that are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModuleKind {
    /// CREATE VIEW.
    View,
    /// CREATE PROCEDURE.
    Procedure,
    /// CREATE FUNCTION.
    Function,
    /// CREATE TRIGGER.
    Trigger,
    /// CREATE TRIGGER ON DATABASE. Its schema is the empty name, where nothing else is.
    DatabaseTrigger,
}

/// A view, procedure, function or trigger: kept as its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleDefinition {
    /// Unique within the database.
    pub object_id: u32,
    /// Schema name as declared.
    pub schema: String,
    /// Name as declared.
    pub name: String,
    pub kind: ModuleKind,
    /// The whole CREATE statement.
    pub text: String,
    /// ANSI_NULLS was ON when it was created: so it runs.
    #[serde(default = "unsaid_is_on")]
    pub uses_ansi_nulls: bool,
    /// QUOTED_IDENTIFIER was ON when it was created: so its text is read.
    #[serde(default = "unsaid_is_on")]
    pub uses_quoted_identifier: bool,
    /// The columns that a view or table-valued function had when it was made or refreshed, as `sys.columns` shows them. Queries do not
    /// rely on them: they bind the text. Empty for other modules, and for one whose columns were never noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnDefinition>,
    /// The table or view that a trigger belongs to; 0 for other modules.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parent: u32,
    /// Triggers of a view: INSTEAD OF, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerEntry>,
    /// What a trigger of the database fires for; `None` for other modules. A database that has such a trigger says so in its boot record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_trigger: Option<DefinitionTrigger>,
    /// The rows that the indexes of a view hold, under the view's id and name; `None` for a view without an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Box<TableDefinition>>,
    /// Days and ticks of creation.
    pub created: (i32, u32),
}

/// A type of tables (CREATE TYPE ... AS TABLE): what variables and parameters of it look like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableType {
    /// `user_type_id` of `sys.types`: [`USER_TYPE_ID_FIRST`] and above.
    pub user_type_id: u32,
    /// Its columns and constraints, under its own schema and name. The id is the catalog row's, `type_table_object_id`. It has no
    /// storage.
    pub table: TableDefinition,
}

/// The first `user_type_id` that is not a system type's (SQL Server docs, sys.types: system types are below 257).
pub const USER_TYPE_ID_FIRST: u32 = 257;

/// Statistics of some columns of a table. Those of an index have its number, its name and its columns, and are kept here once they were
/// counted; all others are kept from their beginning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredStatistics", try_from = "StoredStatistics")]
pub struct StatisticsDefinition {
    /// The catalog row's id.
    pub object_id: u32,
    pub table: u32,
    /// `stats_id`: among those of the table, the index's number for those of an index.
    pub stats_id: u32,
    /// Its name; that of the index when it was counted for those of an index.
    pub name: String,
    /// Whether they are an index's.
    pub of_index: bool,
    /// Made by themselves, for a column of a condition.
    pub auto_created: bool,
    /// NORECOMPUTE: not updated by themselves.
    pub no_recompute: bool,
    /// Ordinals of its columns; the first has the histogram.
    pub columns: Vec<usize>,
    /// What was counted last; `None` while the table had no rows.
    pub content: Option<Arc<Content>>,
    /// Rows changed since, as far as was known when the database was last closed.
    pub modified: u64,
    /// The type and collation of the first column when it was counted.
    pub leading: (SqlType, Collation),
    /// Which rows they are of; `None` for all.
    pub filter: Option<Box<IndexFilter>>,
}

/// Anything with an object id and a name, and what else the catalog stores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ObjectDefinition {
    Table(TableDefinition),
    /// A view, procedure, function or trigger.
    Module(ModuleDefinition),
    Schema {
        object_id: u32,
        name: String,
    },
    /// Another name for a type.
    AliasType(AliasType),
    /// A type of tables.
    TableType(TableType),
    /// In master only: a database of the instance.
    Database(DatabaseEntry),
    /// In master only: an instance setting of `sp_configure`.
    Setting {
        object_id: u32,
        name: String,
        value: i64,
    },
    /// In master only: files that no database has, because they are being made or removed.
    FileIntent(FileIntent),
    /// In master only: a transaction that has committed in several databases.
    CommitDecision(CommitDecision),
    /// Statistics of a table's columns.
    Statistics(StatisticsDefinition),
    /// A named value of the database or of something in it.
    ExtendedProperty(ExtendedProperty),
    Sequence(SequenceDefinition),
    Synonym(SynonymDefinition),
    /// A default or rule of its own.
    Standalone(StandaloneDefinition),
    PartitionFunction(PartitionFunction),
    PartitionScheme(PartitionScheme),
    XmlSchemaCollection(XmlSchemaCollection),
    /// A user or role.
    Principal(PrincipalDefinition),
    RoleMembership(RoleMembership),
    Permission(PermissionEntry),
    /// Who owns something.
    Owner(OwnerEntry),
    /// Rows and pages of a table of a clone.
    BelievedCounts(BelievedCounts),
    /// How far the values of a sequence are promised, in one of its states: values before `next` may have been given.
    SequenceReserve {
        object_id: u32,
        sequence: u32,
        state: u32,
        /// `None` when there are no more.
        next: Option<i128>,
        /// The value before it.
        last: Option<i128>,
    },
    /// The next identity value not yet promised by the table with this id.
    IdentityReserve {
        object_id: u32,
        table: u32,
        /// Values before this one may have been used.
        reserved_to: i64,
    },
}

impl ObjectDefinition {
    pub fn object_id(&self) -> u32 {
        match self {
            ObjectDefinition::Table(table) => table.object_id,
            ObjectDefinition::Module(module) => module.object_id,
            ObjectDefinition::Schema { object_id, .. }
            | ObjectDefinition::Setting { object_id, .. }
            | ObjectDefinition::SequenceReserve { object_id, .. }
            | ObjectDefinition::IdentityReserve { object_id, .. } => *object_id,
            ObjectDefinition::Sequence(sequence) => sequence.object_id,
            ObjectDefinition::Synonym(synonym) => synonym.object_id,
            ObjectDefinition::Standalone(own) => own.object_id,
            ObjectDefinition::PartitionFunction(function) => function.object_id,
            ObjectDefinition::PartitionScheme(scheme) => scheme.object_id,
            ObjectDefinition::XmlSchemaCollection(collection) => collection.object_id,
            ObjectDefinition::Principal(principal) => principal.object_id,
            ObjectDefinition::RoleMembership(membership) => membership.object_id,
            ObjectDefinition::Permission(permission) => permission.object_id,
            ObjectDefinition::Owner(owner) => owner.object_id,
            ObjectDefinition::AliasType(alias) => alias.object_id,
            ObjectDefinition::TableType(table_type) => table_type.table.object_id,
            ObjectDefinition::Statistics(statistics) => statistics.object_id,
            ObjectDefinition::ExtendedProperty(property) => property.object_id,
            ObjectDefinition::Database(entry) => entry.object_id,
            ObjectDefinition::FileIntent(intent) => intent.object_id,
            ObjectDefinition::CommitDecision(decision) => decision.object_id,
            ObjectDefinition::BelievedCounts(counts) => counts.object_id,
        }
    }

    /// The triggers of a table or view.
    pub fn triggers(&self) -> &[TriggerEntry] {
        match self {
            ObjectDefinition::Table(table) => &table.triggers,
            ObjectDefinition::Module(module) => &module.triggers,
            _ => &[],
        }
    }

    /// What a trigger of the database fires for, if this is one.
    pub fn definition_trigger(&self) -> Option<&DefinitionTrigger> {
        match self {
            ObjectDefinition::Module(module) => module.definition_trigger.as_ref(),
            _ => None,
        }
    }

    /// The same definition with other triggers, if it is one that has them.
    #[must_use]
    pub fn with_triggers(&self, triggers: Vec<TriggerEntry>) -> ObjectDefinition {
        let mut changed = self.clone();
        match &mut changed {
            ObjectDefinition::Table(table) => table.triggers = triggers,
            ObjectDefinition::Module(module) => module.triggers = triggers,
            _ => {}
        }
        changed
    }

    /// Schema, name and `user_type_id` of a type.
    pub fn type_name(&self) -> Option<(&str, &str, u32)> {
        match self {
            ObjectDefinition::AliasType(alias) => Some((&alias.schema, &alias.name, alias.user_type_id)),
            ObjectDefinition::TableType(own) => Some((&own.table.schema, &own.table.name, own.user_type_id)),
            _ => None,
        }
    }

    /// Schema and name for objects that live in the name space of tables.
    pub fn qualified_name(&self) -> Option<(&str, &str)> {
        match self {
            ObjectDefinition::Table(table) => Some((&table.schema, &table.name)),
            ObjectDefinition::Module(module) => Some((&module.schema, &module.name)),
            ObjectDefinition::Sequence(sequence) => Some((&sequence.schema, &sequence.name)),
            ObjectDefinition::Synonym(synonym) => Some((&synonym.schema, &synonym.name)),
            ObjectDefinition::Standalone(own) => Some((&own.schema, &own.name)),
            _ => None,
        }
    }
}

/// Type id, length in bytes (-1 for max), precision, scale. xml is stored as `nvarchar(max)`: its column says in another place that it is xml.
pub(super) type StoredType = (u8, i16, u8, u8);

pub(super) fn stored_type(sql_type: SqlType) -> StoredType {
    let sql_type = match sql_type {
        SqlType::XML => SqlType::NVarChar(Length::Max),
        other => other,
    };
    (
        sql_type.system_type_id(),
        sql_type.max_length(),
        sql_type.stored_precision(),
        sql_type.scale(),
    )
}

pub(super) fn type_of((id, length, precision, scale): StoredType) -> Result<SqlType, String> {
    SqlType::from_catalog(id, length, precision, scale).ok_or_else(|| format!("unknown type id {id}"))
}

/// Statistics as they are stored.
#[derive(Clone, Serialize, Deserialize)]
struct StoredStatistics {
    object_id: u32,
    table: u32,
    stats_id: u32,
    name: String,
    #[serde(default)]
    of_index: bool,
    #[serde(default)]
    auto_created: bool,
    #[serde(default)]
    no_recompute: bool,
    columns: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<StoredContent>,
    #[serde(default)]
    modified: u64,
    leading: (StoredType, Option<String>),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter: Option<Box<IndexFilter>>,
}

impl From<StatisticsDefinition> for StoredStatistics {
    fn from(statistics: StatisticsDefinition) -> StoredStatistics {
        let (sql_type, collation) = statistics.leading;
        let content = statistics.content.as_deref();
        StoredStatistics {
            object_id: statistics.object_id,
            table: statistics.table,
            stats_id: statistics.stats_id,
            name: statistics.name,
            of_index: statistics.of_index,
            auto_created: statistics.auto_created,
            no_recompute: statistics.no_recompute,
            columns: statistics.columns,
            content: content.map(|content| StoredContent::new(content, sql_type, collation)),
            modified: statistics.modified,
            leading: (stored_type(sql_type), stored_collation(collation)),
            filter: statistics.filter,
        }
    }
}

impl TryFrom<StoredStatistics> for StatisticsDefinition {
    type Error = String;

    fn try_from(stored: StoredStatistics) -> Result<StatisticsDefinition, String> {
        let problem = |problem: String| format!("statistics {}: {problem}", stored.name);
        let (sql_type, collation) = &stored.leading;
        let leading = (
            type_of(*sql_type).map_err(problem)?,
            collation_of(collation.as_deref()).map_err(problem)?,
        );
        let content = stored.content.as_ref();
        let content = content.map(|content| content.content(leading.0, leading.1)).transpose();
        Ok(StatisticsDefinition {
            content: content.map_err(problem)?.map(Arc::new),
            leading,
            object_id: stored.object_id,
            table: stored.table,
            stats_id: stored.stats_id,
            name: stored.name,
            of_index: stored.of_index,
            auto_created: stored.auto_created,
            no_recompute: stored.no_recompute,
            columns: stored.columns,
            modified: stored.modified,
            filter: stored.filter,
        })
    }
}

/// By name; absent for the default one.
pub(super) fn stored_collation(collation: Collation) -> Option<String> {
    (collation != Collation::default()).then(|| collation.name().to_owned())
}

pub(super) fn collation_of(name: Option<&str>) -> Result<Collation, String> {
    let Some(name) = name else {
        return Ok(Collation::default());
    };
    Collation::from_name(name).ok_or_else(|| format!("there is no collation '{name}'"))
}

#[derive(Clone, Serialize, Deserialize)]
struct StoredColumn {
    name: String,
    sql_type: StoredType,
    /// By name; absent for the default one and for types without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alias_type: Option<u32>,
    nullable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<Identity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<NamedText>,
    /// A version that does not know it loses it when it stores the definition again: no row and no page depends on it.
    #[serde(default, skip_serializing_if = "is_false")]
    is_row_guid: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    computed: Option<ComputedColumn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generated: Option<GeneratedColumn>,
    #[serde(default, skip_serializing_if = "Bindings::is_empty")]
    bound: Bindings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<String>,
}

impl From<ColumnDefinition> for StoredColumn {
    fn from(column: ColumnDefinition) -> StoredColumn {
        StoredColumn {
            name: column.name,
            sql_type: stored_type(column.sql_type),
            collation: stored_collation(column.collation),
            alias_type: column.alias_type.or(stored_xml(column.sql_type)),
            nullable: column.nullable,
            identity: column.identity,
            default: column.default,
            is_row_guid: column.is_row_guid,
            computed: column.computed,
            generated: column.generated,
            bound: column.bound,
            mask: column.mask,
        }
    }
}

impl TryFrom<StoredColumn> for ColumnDefinition {
    type Error = String;

    fn try_from(stored: StoredColumn) -> Result<ColumnDefinition, String> {
        let collation = collation_of(stored.collation.as_deref());
        let sql_type = type_of(stored.sql_type).map_err(|problem| format!("column {}: {problem}", stored.name))?;
        Ok(ColumnDefinition {
            collation: collation.map_err(|problem| format!("column {}: {problem}", stored.name))?,
            sql_type: match is_xml(stored.alias_type) {
                true => SqlType::XML,
                false => sql_type,
            },
            alias_type: stored.alias_type,
            name: stored.name,
            nullable: stored.nullable,
            identity: stored.identity,
            default: stored.default,
            is_row_guid: stored.is_row_guid,
            computed: stored.computed,
            generated: stored.generated,
            bound: stored.bound,
            mask: stored.mask,
        })
    }
}

#[cfg(test)]
mod tests;
