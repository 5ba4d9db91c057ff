//! CREATE TYPE and DROP TYPE: other names for types, types of tables, and columns declared by them.
//!
//! A column declared with an alias type has the base type in every respect; the catalog also stores the alias, for `sys.columns`. A table
//! type is stored as the definition of a table without storage; variables and parameters of it are table variables
//! ([`crate::modules::UserTypes`]).

use engine::catalog::{
    AliasType, Bindings, CatalogObject, ColumnDefinition, NUMERIC_TYPE_ID, ObjectDefinition, StandaloneKind,
};
use engine::database::Database;
use engine::error::Result;
use engine::types::{SqlType, XML_TYPE_ID};

use super::data_space::settle_spaces;
use super::executor::Executor;
use super::xml_schema::declared_with;
use crate::ast::{
    ConstraintKind, CreateType, DataType, Name, StatementKind, TableConstraint, TableElement, Target, TypeArgument,
    TypeDefinition,
};
use crate::messages;
use crate::modules::{VariableScope, require_unbound};
use crate::scalar::data_type::{TypePlace, resolve};
use crate::state::SessionState;

/// What a column was declared with.
pub(super) struct DeclaredType {
    pub(super) sql_type: SqlType,
    /// Set when an alias type was named.
    pub(super) alias: Option<AliasType>,
    /// What else the catalog keeps: of numeric, and of xml.
    other_id: Option<u32>,
}

impl DeclaredType {
    /// What the catalog keeps beside the type.
    pub(super) fn user_type_id(&self) -> Option<u32> {
        self.alias.as_ref().map(|alias| alias.user_type_id).or(self.other_id)
    }

    /// What a column that is declared so gets bound: what its type has, except what cannot be bound to the column.
    pub(super) fn bindings_for(&self, column: &ColumnDefinition) -> Bindings {
        let Some(alias) = &self.alias else {
            return Bindings::default();
        };
        let default = alias.bound.default.clone();
        let rule = alias.bound.rule.clone();
        Bindings {
            default: default.filter(|_| column.takes(StandaloneKind::Default)),
            rule: rule.filter(|_| column.takes(StandaloneKind::Rule)),
        }
    }
}

/// 2715: there is no type of that name.
const UNKNOWN_TYPE: i32 = 2715;

impl SessionState {
    /// The type a column is declared with: a system type, or an alias type of the current database.
    ///
    /// # Errors
    /// Those of [`resolve`].
    pub(super) fn declared_type(&self, data_type: &DataType, ordinal: usize) -> Result<DeclaredType> {
        if let [TypeArgument::Collection { name, is_document }] = data_type.arguments.as_slice() {
            if *is_document {
                return Err(crate::bind::not_supported("xml (DOCUMENT)"));
            }
            return Ok(DeclaredType {
                sql_type: SqlType::XML,
                alias: None,
                other_id: Some(declared_with(&self.database(), name, self.id)?),
            });
        }
        let unknown = match resolve(data_type, TypePlace::Declaration, ordinal, self.version()) {
            Ok(sql_type) => {
                let name = data_type.name.object();
                let own_id = [("numeric", NUMERIC_TYPE_ID), ("xml", XML_TYPE_ID)];
                let own_id = own_id.into_iter().find(|(own, _)| name.eq_ignore_ascii_case(own));
                return Ok(DeclaredType {
                    sql_type,
                    alias: None,
                    other_id: own_id.map(|(_, id)| u32::from(id)),
                });
            }
            Err(error) if error.number == UNKNOWN_TYPE && data_type.arguments.is_empty() => error,
            Err(error) => return Err(error),
        };
        let database = self.database();
        let schema = data_type.name.schema().unwrap_or("dbo");
        let found = database.catalog.user_type(schema, data_type.name.object(), self.id);
        match found.as_deref().map(|found| &found.definition) {
            Some(ObjectDefinition::AliasType(alias)) => Ok(DeclaredType {
                sql_type: alias.base,
                alias: Some(alias.clone()),
                other_id: None,
            }),
            _ => Err(unknown),
        }
    }
}

impl Executor<'_> {
    /// CREATE TYPE. Nullability of an alias type that is not said is NULL (SQL Server docs, CREATE TYPE).
    pub(super) fn create_type(&mut self, create: &CreateType) -> Result<()> {
        let database = self.session.database();
        let schema = create.name.schema().unwrap_or("dbo");
        self.check_schema(&database, schema)?;
        match &create.definition {
            TypeDefinition::Alias { data_type, nullable } => {
                let base = resolve(data_type, TypePlace::Declaration, 1, self.session.version())?;
                if base == SqlType::Json {
                    return Err(crate::bind::not_supported("CREATE TYPE FROM json"));
                }
                if base.is_spatial() {
                    return Err(crate::bind::not_supported(&format!("CREATE TYPE FROM {}", base.name())));
                }
                if base == SqlType::RowVersion || base == SqlType::XML {
                    // sql-docs, CREATE TYPE and sp_addtype: neither is among the types that another may be based on.
                    return Err(crate::bind::not_supported(&format!("CREATE TYPE FROM {}", base.name())));
                }
                let alias = AliasType {
                    object_id: 0,
                    user_type_id: 0,
                    schema: schema.to_owned(),
                    name: create.name.object().to_owned(),
                    base,
                    nullable: nullable.unwrap_or(true),
                    bound: Bindings::default(),
                };
                let mut engine = self.session.engine.borrow_mut();
                engine.create_alias_type(&database, alias).map(|_| ())
            }
            TypeDefinition::Table(elements) => {
                elements.iter().try_for_each(check_element)?;
                elements
                    .iter()
                    .try_for_each(|element| self.check_type_of_element(element))?;
                let mut table = self.definition_of(&create.name, elements)?;
                settle_spaces(&mut table);
                let mut engine = self.session.engine.borrow_mut();
                engine.create_table_type(&database, table).map(|_| ())
            }
        }
    }

    /// 1710 for a column of a table type by a type that something is bound to.
    fn check_type_of_element(&self, element: &TableElement) -> Result<()> {
        let TableElement::Column(column) = element else {
            return Ok(());
        };
        let Some(data_type) = &column.data_type else {
            return Ok(());
        };
        match self.session.declared_type(data_type, 1)?.alias {
            Some(alias) => require_unbound(&alias),
            None => Ok(()),
        }
    }

    /// DROP TYPE.
    ///
    /// # Errors
    /// 218 when there is none of that name, 3732 when a column, variable or parameter is declared by it.
    pub(super) fn drop_type(&mut self, name: &Name, if_exists: bool) -> Result<()> {
        let database = self.session.database();
        let schema = name.schema().unwrap_or("dbo");
        let Some(own) = database.catalog.user_type(schema, name.object(), self.session.id) else {
            return if if_exists {
                Ok(())
            } else {
                Err(messages::no_such_type(&name.to_string()))
            };
        };
        self.session.engine.borrow().lock_definition(&database, &own)?;
        if let Some(user) = self.user_of_type(&database, &own) {
            return Err(messages::type_in_use(&name.to_string(), &user));
        }
        self.session.engine.borrow_mut().drop_object(&database, &own)
    }

    /// The first table, table type or module that declares something with a type.
    fn user_of_type(&self, database: &Database, own: &CatalogObject) -> Option<String> {
        let (_, _, user_type_id) = own.definition.type_name()?;
        let own_id = own.definition.object_id();
        let mut objects = database.catalog.objects(self.session.id).into_iter();
        objects.find_map(|object| match &object.definition {
            ObjectDefinition::Table(table) | ObjectDefinition::TableType(engine::catalog::TableType { table, .. }) => {
                let mut columns = table.columns.iter();
                let uses = columns.any(|column| column.alias_type == Some(user_type_id));
                uses.then(|| table.name.clone())
            }
            ObjectDefinition::Module(definition) => {
                // A text that cannot be read any more uses nothing.
                let module = self.session.module(database, &object).ok()?;
                module.user_types().contains(&own_id).then(|| definition.name.clone())
            }
            _ => None,
        })
    }

    /// 10700 for a procedure that changes one of its parameters: found when it is made.
    pub(super) fn check_read_only(&self, statements: &[crate::ast::Statement], scope: &VariableScope) -> Result<()> {
        let mut written = None;
        crate::grammar::walk(statements, &mut |statement| {
            let target = match &statement.kind {
                StatementKind::Insert(insert) => &insert.target,
                StatementKind::Update(update) => &update.target,
                StatementKind::Delete(delete) => &delete.target,
                StatementKind::Merge(merge) => &merge.target,
                _ => return,
            };
            if let Target::Variable(name) = target
                && scope.table(name).is_some_and(|(_, shape)| shape.is_read_only)
            {
                written.get_or_insert_with(|| name.clone());
            }
        });
        match written {
            Some(name) => Err(messages::table_parameter_is_read_only(&name)),
            None => Ok(()),
        }
    }
}

/// 156 for what a table type does not take: names of constraints, and foreign keys (SQL Server docs, CREATE TYPE).
fn check_element(element: &TableElement) -> Result<()> {
    let constraint = |constraint: &TableConstraint| match &constraint.kind {
        _ if constraint.name.is_some() => Err(messages::incorrect_syntax_near_keyword("CONSTRAINT")),
        ConstraintKind::ForeignKey(_) => Err(messages::incorrect_syntax_near_keyword("REFERENCES")),
        _ => Ok(()),
    };
    match element {
        TableElement::Column(column) => {
            let default = column.default.as_ref();
            if default.is_some_and(|default| default.name.is_some()) {
                return Err(messages::incorrect_syntax_near_keyword("CONSTRAINT"));
            }
            column.constraints.iter().try_for_each(constraint)
        }
        TableElement::Constraint(own) => constraint(own),
        TableElement::Index(_) => Ok(()),
        TableElement::Period(_) => Err(messages::period_of_variable()),
    }
}
