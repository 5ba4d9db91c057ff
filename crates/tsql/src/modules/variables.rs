//! The variables a batch declares: slots and types, known before its first statement is bound.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use engine::catalog::{Bindings, CheckConstraint, ComputedColumn, LockEscalation, TableDefinition};
use engine::error::Result;
use engine::types::{Collation, SqlType};
use foldhash::fast::RandomState;

use crate::ast::{
    ColumnDefinition, ConstraintKind, Declaration, DeclarationKind, IndexColumn, OptionValue, Statement, StatementKind,
    TableElement,
};
use crate::messages;
use crate::scalar::data_type::is_nullable_unsaid;
use crate::scalar::xml::XmlCollectionName;

use super::user_types::{Declared, UserTypes};

/// Columns of a table (sql-docs, "Maximum capacity specifications").
pub(crate) const TABLE_COLUMNS_MAX: usize = 1_024;

/// A column of a table variable.
#[derive(Clone, Debug)]
pub struct VariableColumn {
    pub name: String,
    pub sql_type: SqlType,
    /// The collation of its strings, if one was written.
    pub collation: Option<Collation>,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// Seed and increment of an identity column.
    pub identity: Option<(i64, i64)>,
    /// Text of its default.
    pub default: Option<String>,
    /// What computes it. Its type is found when the variable is bound.
    pub computed: Option<ComputedColumn>,
    /// Whether `*` leaves it out, as it does the same column of a trigger's target.
    pub is_hidden: bool,
}

impl VariableColumn {
    /// A column of `inserted` and `deleted`: rows of the target are shown in it.
    pub fn of_target(
        name: &str,
        (sql_type, collation): (SqlType, Collation),
        nullable: bool,
        is_hidden: bool,
    ) -> VariableColumn {
        VariableColumn {
            name: name.to_owned(),
            sql_type,
            collation: sql_type.is_character().then_some(collation),
            nullable,
            identity: None,
            default: None,
            computed: None,
            is_hidden,
        }
    }
}

/// A table type, as those who pass tables compare it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableTypeId {
    /// The database it is in.
    pub database: u16,
    /// Its object in the catalog.
    pub object: u32,
    /// Its own name, for errors.
    pub name: String,
}

/// A unique key of a table variable.
#[derive(Clone, Debug)]
pub struct VariableKey {
    pub columns: Vec<usize>,
    pub is_primary: bool,
    /// IGNORE_DUP_KEY: an INSERT leaves out rows whose key is there already.
    pub ignores_duplicates: bool,
}

impl VariableKey {
    fn new(columns: Vec<usize>, is_primary: bool, options: &[OptionValue]) -> VariableKey {
        VariableKey {
            columns,
            is_primary,
            ignores_duplicates: ignores_duplicates(options),
        }
    }
}

/// Whether a WITH clause has IGNORE_DUP_KEY. The grammar has checked its value.
pub(crate) fn ignores_duplicates(options: &[OptionValue]) -> bool {
    let last = options.iter().rev().find(|option| option.name == "IGNORE_DUP_KEY");
    last.and_then(OptionValue::switch).unwrap_or(false)
}

/// What a table variable looks like.
#[derive(Clone, Debug, Default)]
pub struct TableVariableShape {
    /// Its name, with the `@`.
    pub name: String,
    pub columns: Vec<VariableColumn>,
    pub keys: Vec<VariableKey>,
    pub checks: Vec<CheckConstraint>,
    /// The table type it was declared with.
    pub table_type: Option<TableTypeId>,
    /// A parameter: READONLY.
    pub is_read_only: bool,
    /// `inserted` or `deleted` of a trigger. Among the variables of its batch it has no columns: those are the target's of the time when
    /// a statement is bound.
    pub is_of_trigger: bool,
}

impl TableVariableShape {
    /// Columns of the primary key are NOT NULL.
    fn forbid_nulls_of_primary_key(&mut self) {
        for key in self.keys.iter().filter(|key| key.is_primary) {
            for &column in &key.columns {
                self.columns[column].nullable = false;
            }
        }
    }

    /// The shape of a table type, under the type's name.
    pub(super) fn of_type(table: &TableDefinition, id: TableTypeId) -> TableVariableShape {
        let column = |column: &engine::catalog::ColumnDefinition| VariableColumn {
            name: column.name.clone(),
            sql_type: column.sql_type,
            collation: column.sql_type.is_character().then_some(column.collation),
            nullable: column.nullable,
            identity: column.identity.map(|identity| (identity.seed, identity.increment)),
            default: column.default_expression().map(str::to_owned),
            computed: column.computed.clone(),
            is_hidden: false,
        };
        let unique = table.indexes.iter().filter(|index| index.unique);
        TableVariableShape {
            name: id.name.clone(),
            columns: table.columns.iter().map(column).collect(),
            keys: unique
                .map(|index| VariableKey {
                    columns: index.keys.iter().map(|(column, _)| *column).collect(),
                    is_primary: index.primary_key,
                    ignores_duplicates: index.options.ignores_duplicates,
                })
                .collect(),
            checks: table.checks.clone(),
            table_type: Some(id),
            is_read_only: false,
            is_of_trigger: false,
        }
    }

    /// What `inserted` and `deleted` look like for changes of rows with these columns.
    pub(crate) fn of_target(columns: impl Iterator<Item = VariableColumn>) -> TableVariableShape {
        TableVariableShape {
            columns: columns.collect(),
            is_read_only: true,
            is_of_trigger: true,
            ..TableVariableShape::default()
        }
    }
}

/// The tables that a trigger sees beside its own variables: its first table variables.
const TRIGGER_TABLES: [&str; 2] = ["inserted", "deleted"];

impl TableVariableShape {
    /// The columns that a key or an index names.
    fn ordinals_of(&self, columns: &[IndexColumn]) -> Result<Vec<usize>> {
        let find = |column: &IndexColumn| {
            let found = self.columns.iter().position(|other| column.name.is(&other.name));
            found.ok_or_else(|| messages::invalid_column_name(&column.name.text))
        };
        columns.iter().map(find).collect()
    }

    /// Adds a CHECK, under a name that is made up.
    fn add_check(&mut self, text: &str) {
        let stem: String = self.name.trim_start_matches('@').chars().take(9).collect();
        self.checks.push(CheckConstraint {
            name: format!("CK__{stem}__{:08X}", self.checks.len() + 1),
            text: text.to_owned(),
            object_id: 0,
            is_system_named: true,
            is_not_trusted: false,
            is_disabled: false,
        });
    }

    /// The columns and checks as those of a table; `collation` is that of strings without one.
    pub(crate) fn as_table(&self, collation: Collation) -> TableDefinition {
        let column = |column: &VariableColumn| engine::catalog::ColumnDefinition {
            name: column.name.clone(),
            sql_type: column.sql_type,
            collation: column.collation.unwrap_or(collation),
            alias_type: None,
            nullable: column.nullable,
            identity: None,
            default: None,
            is_row_guid: false,
            // Its rows have all of them.
            computed: column.computed.clone().map(|computed| ComputedColumn {
                is_stored: true,
                ..computed
            }),
            generated: None,
            mask: None,
            bound: Bindings::default(),
        };
        TableDefinition {
            object_id: 0,
            schema: String::new(),
            name: self.name.clone(),
            columns: self.columns.iter().map(column).collect(),
            heap: None,
            other_partitions: Vec::new(),
            partitioning: None,
            data_space: engine::catalog::PRIMARY_FILEGROUP,
            text_space: None,
            indexes: Vec::new(),
            checks: self.checks.clone(),
            foreign_keys: Vec::new(),
            disabled_indexes: Vec::new(),
            lock_escalation: LockEscalation::default(),
            triggers: Vec::new(),
            versioning: None,
            history_of: None,
            indexed_views: Vec::new(),
            created: (0, 0),
        }
    }
}

/// A name in lower case, as variables are looked up. Every SET looks for its variable, most often by a name that is so already.
fn folded(name: &str) -> Cow<'_, str> {
    match name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(name.to_lowercase()),
    }
}

/// The variables of a batch or procedure.
#[derive(Clone, Debug, Default)]
pub struct VariableScope {
    scalars: HashMap<String, (usize, SqlType), RandomState>,
    types: Vec<SqlType>,
    tables: HashMap<String, (usize, Arc<TableVariableShape>)>,
    shapes: Vec<Arc<TableVariableShape>>,
    /// The catalog's objects of the types that are not the system's.
    user_types: Vec<u32>,
    /// Cursor variables, in lower case.
    cursors: BTreeSet<String>,
    /// The schema collections of typed xml, by slot.
    xml_collections: HashMap<usize, Arc<XmlCollectionName>>,
}

impl VariableScope {
    /// Declares a scalar variable.
    ///
    /// # Errors
    /// 134 when the name is taken.
    pub fn declare(&mut self, name: &str, sql_type: SqlType) -> Result<usize> {
        let slot = self.types.len();
        let key = name.to_lowercase();
        let is_taken = self.tables.contains_key(&key) || self.cursors.contains(&key);
        if is_taken || self.scalars.insert(key, (slot, sql_type)).is_some() {
            return Err(messages::variable_already_declared(name));
        }
        self.types.push(sql_type);
        Ok(slot)
    }

    /// Remembers that the scalar declared last is xml of a schema collection.
    pub(crate) fn note_xml_collection(&mut self, collection: Option<Arc<XmlCollectionName>>) {
        if let (Some(slot), Some(collection)) = (self.types.len().checked_sub(1), collection) {
            self.xml_collections.insert(slot, collection);
        }
    }

    /// The schema collection of the scalar with that slot.
    pub(crate) fn xml_collection(&self, slot: usize) -> Option<&Arc<XmlCollectionName>> {
        self.xml_collections.get(&slot)
    }

    /// The slot and type of a scalar variable.
    pub fn scalar(&self, name: &str) -> Option<(usize, SqlType)> {
        self.scalars.get(&*folded(name)).copied()
    }

    /// The slot and shape of a table variable.
    pub fn table(&self, name: &str) -> Option<(usize, &Arc<TableVariableShape>)> {
        self.tables.get(&*folded(name)).map(|(slot, shape)| (*slot, shape))
    }

    /// The types of the scalars, by slot.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// The shapes of the table variables, by slot.
    pub fn shapes(&self) -> &[Arc<TableVariableShape>] {
        &self.shapes
    }

    /// Declares everything that statements declare, at any depth: a variable lives from its DECLARE to the batch's end.
    ///
    /// # Errors
    /// 134, and those of unknown types, with the line of the declaration.
    pub(crate) fn collect(
        &mut self,
        statements: &[Statement],
        types: UserTypes<'_>,
    ) -> std::result::Result<(), (u32, engine::error::Error)> {
        for statement in statements {
            if let StatementKind::Declare(declarations) = &statement.kind {
                for declaration in declarations {
                    self.collect_one(declaration, types)
                        .map_err(|error| (declaration.line, error))?;
                }
            }
            for inner in statement.kind.facts().inside() {
                self.collect(std::slice::from_ref(inner), types)?;
            }
        }
        Ok(())
    }

    fn collect_one(&mut self, declaration: &Declaration, types: UserTypes<'_>) -> Result<()> {
        let variable = &declaration.variable;
        match &declaration.kind {
            DeclarationKind::Scalar { data_type, initial } => {
                let is_old_lob =
                    |name: &str| data_type.name.parts.len() == 1 && data_type.name.object().eq_ignore_ascii_case(name);
                if ["text", "ntext", "image"].into_iter().any(is_old_lob) {
                    return Err(messages::old_lob_variable());
                }
                let (declared, id) = types.declared(data_type, self.types.len() + 1)?;
                self.user_types.extend(id);
                match declared {
                    Declared::Scalar(sql_type) => {
                        self.declare(variable, sql_type)?;
                        self.note_xml_collection(types.xml_collection(data_type));
                        Ok(())
                    }
                    Declared::Table(shape) if initial.is_some() => {
                        let own = shape.table_type.as_ref().map_or("table", |own| own.name.as_str());
                        Err(messages::operand_type_clash("sql_variant", own))
                    }
                    Declared::Table(shape) => self.declare_shape(TableVariableShape {
                        name: variable.clone(),
                        ..(*shape).clone()
                    }),
                }
            }
            DeclarationKind::Table(elements) => self.declare_table(variable, elements, types),
            DeclarationKind::Cursor => self.declare_cursor(variable),
        }
    }

    /// Declares a cursor variable.
    ///
    /// # Errors
    /// 134 when the name is taken.
    fn declare_cursor(&mut self, name: &str) -> Result<()> {
        let key = name.to_lowercase();
        let is_taken = self.tables.contains_key(&key) || self.scalars.contains_key(&key);
        match is_taken || !self.cursors.insert(key) {
            true => Err(messages::variable_already_declared(name)),
            false => Ok(()),
        }
    }

    /// Declares a parameter that is a cursor. As one that is a table it has a place among the values, which no name leads to.
    ///
    /// # Errors
    /// 134 when the name is taken.
    pub(crate) fn declare_cursor_parameter(&mut self, name: &str) -> Result<()> {
        self.types.push(SqlType::Int);
        self.declare_cursor(name)
    }

    /// Whether a name is that of a cursor variable.
    pub(crate) fn is_cursor(&self, name: &str) -> bool {
        !self.cursors.is_empty() && self.cursors.contains(&*folded(name))
    }

    /// The ids in the catalog of the types that its declarations name, beside the system's.
    pub(crate) fn user_types(&self) -> &[u32] {
        &self.user_types
    }

    /// Remembers that a declaration names a type which is not the system's.
    pub(crate) fn note_user_type(&mut self, id: Option<u32>) {
        self.user_types.extend(id);
    }

    /// Declares a parameter that is a table. It has a place among the values as well, which no name leads to: so the place of a parameter
    /// is its place in the list.
    ///
    /// # Errors
    /// 134 when the name is taken.
    pub(crate) fn declare_table_parameter(
        &mut self,
        name: &str,
        shape: &TableVariableShape,
    ) -> Result<Arc<TableVariableShape>> {
        self.types.push(SqlType::Int);
        self.declare_shape(TableVariableShape {
            name: name.to_owned(),
            is_read_only: true,
            ..shape.clone()
        })?;
        Ok(self.shapes.last().cloned().unwrap_or_default())
    }

    /// Declares what a trigger sees of the change that has fired it.
    ///
    /// # Errors
    /// 134 when the names are taken.
    pub(crate) fn declare_trigger_tables(&mut self) -> Result<()> {
        TRIGGER_TABLES.into_iter().try_for_each(|name| {
            self.declare_shape(TableVariableShape {
                name: name.to_owned(),
                ..TableVariableShape::of_target(std::iter::empty())
            })
        })
    }

    /// Whether it is that of a trigger.
    pub(crate) fn has_trigger_tables(&self) -> bool {
        self.shapes.first().is_some_and(|shape| shape.is_of_trigger)
    }

    /// The slot of `inserted` or `deleted`, in a trigger.
    pub(crate) fn trigger_table(&self, name: &str) -> Option<usize> {
        let (slot, shape) = self.table(name)?;
        shape.is_of_trigger.then_some(slot)
    }

    /// Declares a table variable.
    ///
    /// # Errors
    /// 134 when the name is taken, and those of its columns.
    pub(crate) fn declare_table(&mut self, name: &str, elements: &[TableElement], types: UserTypes<'_>) -> Result<()> {
        let shape = shape_of(name, elements, types, &mut self.user_types)?;
        self.declare_shape(shape)
    }

    fn declare_shape(&mut self, shape: TableVariableShape) -> Result<()> {
        let key = shape.name.to_lowercase();
        if self.scalars.contains_key(&key) || self.tables.contains_key(&key) {
            return Err(messages::variable_already_declared(&shape.name));
        }
        let shape = Arc::new(shape);
        self.tables.insert(key, (self.shapes.len(), shape.clone()));
        self.shapes.push(shape);
        Ok(())
    }
}

fn shape_of(
    name: &str,
    elements: &[TableElement],
    types: UserTypes<'_>,
    user_types: &mut Vec<u32>,
) -> Result<TableVariableShape> {
    let mut shape = TableVariableShape {
        name: name.to_owned(),
        ..TableVariableShape::default()
    };
    for element in elements {
        if let TableElement::Column(column) = element {
            let ordinal = shape.columns.len();
            if ordinal >= TABLE_COLUMNS_MAX {
                return Err(messages::too_many_table_columns(&column.name.text, name));
            }
            let (column_of_shape, id) = variable_column(column, ordinal + 1, types)?;
            let is_row_version = |column: &VariableColumn| column.sql_type == SqlType::RowVersion;
            if is_row_version(&column_of_shape) && shape.columns.iter().any(is_row_version) {
                return Err(messages::several_row_versions(name, &column.name.text));
            }
            user_types.extend(id);
            if shape.columns.iter().any(|other| column.name.is(&other.name)) {
                return Err(messages::duplicate_column_in_table(&column.name.text, name));
            }
            shape.columns.push(column_of_shape);
            for constraint in &column.constraints {
                match &constraint.kind {
                    ConstraintKind::Key(key) => {
                        let key = VariableKey::new(vec![ordinal], key.primary, &key.options);
                        shape.keys.push(key);
                    }
                    ConstraintKind::Check { text, .. } => shape.add_check(text),
                    _ => {}
                }
            }
        }
    }
    for element in elements {
        match element {
            TableElement::Column(_) => {}
            TableElement::Constraint(constraint) => match &constraint.kind {
                ConstraintKind::Check { text, .. } => shape.add_check(text),
                ConstraintKind::Key(key) => {
                    let columns = shape.ordinals_of(&key.columns)?;
                    shape.keys.push(VariableKey::new(columns, key.primary, &key.options));
                }
                _ => {}
            },
            TableElement::Period(_) => return Err(messages::period_of_variable()),
            TableElement::Index(index) => {
                let columns = shape.ordinals_of(&index.columns)?;
                let is_same = |other: &&TableElement| matches!(other, TableElement::Index(other) if other.name.is(&index.name.text));
                if elements.iter().filter(is_same).count() > 1 {
                    return Err(messages::index_exists(name, &index.name.text));
                }
                // What is not unique has no effect: the rows of a variable are searched one by one.
                if index.unique {
                    shape.keys.push(VariableKey::new(columns, false, &index.options));
                } else if ignores_duplicates(&index.options) {
                    return Err(messages::ignores_duplicates_but_not_unique());
                }
            }
        }
    }
    shape.forbid_nulls_of_primary_key();
    Ok(shape)
}

/// The collation that COLLATE gives a column; none for that of the database.
fn written_collation(column: &ColumnDefinition) -> Result<Option<Collation>> {
    let name = column.collation.as_ref().map(|collation| collation.text.as_str());
    let Some(name) = name.filter(|name| !name.eq_ignore_ascii_case("database_default")) else {
        return Ok(None);
    };
    let found = Collation::from_name(name).ok_or_else(|| messages::invalid_collation(name))?;
    Ok(Some(found))
}

/// A computed column.
///
/// # Errors
/// 8183 for NOT NULL of one that is not PERSISTED.
fn computed_column(column: &ColumnDefinition) -> Result<VariableColumn> {
    let computed = column.computed.as_ref();
    if column.nullable == Some(false) && computed.is_none_or(|computed| !computed.persisted) {
        return Err(messages::constraint_at_virtual());
    }
    Ok(VariableColumn {
        name: column.name.text.clone(),
        sql_type: SqlType::Int,
        collation: None,
        nullable: column.nullable != Some(false),
        identity: None,
        default: None,
        computed: computed.map(|computed| ComputedColumn {
            text: computed.text.clone(),
            is_persisted: computed.persisted,
            is_stored: true,
        }),
        is_hidden: false,
    })
}

fn variable_column(
    column: &ColumnDefinition,
    ordinal: usize,
    types: UserTypes<'_>,
) -> Result<(VariableColumn, Option<u32>)> {
    let Some(data_type) = &column.data_type else {
        return computed_column(column).map(|declared| (declared, None));
    };
    let number = |number: i128| i64::try_from(number).unwrap_or(1);
    let (sql_type, id) = types.of_column(data_type, ordinal)?;
    let unsaid = id.is_some() || is_nullable_unsaid(data_type, true);
    let declared = VariableColumn {
        name: column.name.text.clone(),
        sql_type,
        collation: written_collation(column)?,
        nullable: column
            .nullable
            .unwrap_or(column.identity.is_none() && sql_type != SqlType::RowVersion && unsaid),
        identity: column
            .identity
            .as_ref()
            .map(|identity| (number(identity.seed), number(identity.increment))),
        default: column.default.as_ref().map(|default| default.text.clone()),
        computed: None,
        is_hidden: false,
    };
    Ok((declared, id))
}
