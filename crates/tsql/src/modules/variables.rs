//! The variables a batch declares: slots and types, known before its first statement is bound.

use std::collections::HashMap;
use std::sync::Arc;

use engine::error::Result;
use engine::types::{Collation, SqlType};

use crate::ast::{
    ColumnDefinition, ConstraintKind, Declaration, DeclarationKind, Statement, StatementKind, TableElement,
};
use crate::messages;
use crate::scalar::data_type::{TypePlace, resolve};

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
}

/// What a table variable looks like.
#[derive(Clone, Debug, Default)]
pub struct TableVariableShape {
    /// Its name, with the `@`.
    pub name: String,
    pub columns: Vec<VariableColumn>,
    /// Column lists of its keys, with whether they are the primary key.
    pub keys: Vec<(Vec<usize>, bool)>,
}

/// The variables of a batch or procedure.
#[derive(Clone, Debug, Default)]
pub struct VariableScope {
    scalars: HashMap<String, (usize, SqlType)>,
    types: Vec<SqlType>,
    tables: HashMap<String, (usize, Arc<TableVariableShape>)>,
    shapes: Vec<Arc<TableVariableShape>>,
}

impl VariableScope {
    /// Declares a scalar variable.
    ///
    /// # Errors
    /// 134 when the name is taken.
    pub fn declare(&mut self, name: &str, sql_type: SqlType) -> Result<usize> {
        let slot = self.types.len();
        let key = name.to_lowercase();
        if self.tables.contains_key(&key) || self.scalars.insert(key, (slot, sql_type)).is_some() {
            return Err(messages::variable_already_declared(name));
        }
        self.types.push(sql_type);
        Ok(slot)
    }

    /// The slot and type of a scalar variable.
    pub fn scalar(&self, name: &str) -> Option<(usize, SqlType)> {
        self.scalars.get(&name.to_lowercase()).copied()
    }

    /// The slot and shape of a table variable.
    pub fn table(&self, name: &str) -> Option<(usize, &Arc<TableVariableShape>)> {
        self.tables
            .get(&name.to_lowercase())
            .map(|(slot, shape)| (*slot, shape))
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
    pub fn collect(&mut self, statements: &[Statement]) -> std::result::Result<(), (u32, engine::error::Error)> {
        for statement in statements {
            match &statement.kind {
                StatementKind::Declare(declarations) => {
                    for declaration in declarations {
                        self.collect_one(declaration)
                            .map_err(|error| (declaration.line, error))?;
                    }
                }
                StatementKind::Block(inner) => self.collect(inner)?,
                StatementKind::If(branch) => {
                    self.collect(std::slice::from_ref(&branch.then))?;
                    if let Some(otherwise) = &branch.otherwise {
                        self.collect(std::slice::from_ref(otherwise))?;
                    }
                }
                StatementKind::While(repeated) => self.collect(std::slice::from_ref(&repeated.body))?,
                StatementKind::TryCatch { attempt, handler } => {
                    self.collect(attempt)?;
                    self.collect(handler)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn collect_one(&mut self, declaration: &Declaration) -> Result<()> {
        match &declaration.kind {
            DeclarationKind::Scalar { data_type, .. } => {
                let sql_type = resolve(data_type, TypePlace::Declaration, self.types.len() + 1)?;
                self.declare(&declaration.variable, sql_type).map(|_| ())
            }
            DeclarationKind::Table(elements) => self.declare_table(&declaration.variable, elements),
            DeclarationKind::Cursor => Ok(()),
        }
    }

    /// Declares a table variable.
    ///
    /// # Errors
    /// 134 when the name is taken, and those of its columns.
    pub fn declare_table(&mut self, name: &str, elements: &[TableElement]) -> Result<()> {
        let key = name.to_lowercase();
        if self.scalars.contains_key(&key) || self.tables.contains_key(&key) {
            return Err(messages::variable_already_declared(name));
        }
        let shape = Arc::new(shape_of(name, elements)?);
        self.tables.insert(key, (self.shapes.len(), shape.clone()));
        self.shapes.push(shape);
        Ok(())
    }
}

fn shape_of(name: &str, elements: &[TableElement]) -> Result<TableVariableShape> {
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
            shape.columns.push(variable_column(column, ordinal + 1)?);
            for constraint in &column.constraints {
                if let ConstraintKind::Key(key) = &constraint.kind {
                    shape.keys.push((vec![ordinal], key.primary));
                }
            }
        }
    }
    for element in elements {
        let TableElement::Constraint(constraint) = element else {
            continue;
        };
        if let ConstraintKind::Key(key) = &constraint.kind {
            let find = |column: &crate::ast::IndexColumn| {
                let found = shape.columns.iter().position(|other| column.name.is(&other.name));
                found.ok_or_else(|| messages::invalid_column_name(&column.name.text))
            };
            let columns = key.columns.iter().map(find).collect::<Result<Vec<_>>>()?;
            shape.keys.push((columns, key.primary));
        }
    }
    for (columns, primary) in shape.keys.clone() {
        for column in columns.into_iter().filter(|_| primary) {
            shape.columns[column].nullable = false;
        }
    }
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

fn variable_column(column: &ColumnDefinition, ordinal: usize) -> Result<VariableColumn> {
    let Some(data_type) = &column.data_type else {
        return Err(messages::not_supported("computed column of a table variable"));
    };
    let number = |number: i128| i64::try_from(number).unwrap_or(1);
    Ok(VariableColumn {
        name: column.name.text.clone(),
        sql_type: resolve(data_type, TypePlace::Declaration, ordinal)?,
        collation: written_collation(column)?,
        nullable: column.nullable.unwrap_or(column.identity.is_none()),
        identity: column
            .identity
            .as_ref()
            .map(|identity| (number(identity.seed), number(identity.increment))),
        default: column.default.as_ref().map(|default| default.text.clone()),
    })
}
