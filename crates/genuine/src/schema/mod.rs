//! T-SQL that makes what a catalog has: schemas, alias types, tables with their keys, defaults and checks, indexes, foreign keys, modules.
//!
//! The statements come in an order in which they can be run, each as a batch of its own: what tables need, tables, and after their rows
//! indexes, checks, foreign keys and modules. Names are in brackets; a definition is the text that the file has.

mod held;
mod left_out;
mod table;

pub use held::{clr_name, collation_name, held_column};
pub use left_out::left_out;

use crate::catalog::objects::{Column, quoted};
use crate::catalog::{Catalog, Module, ModuleKind, Table};
use crate::types::{ColumnType, SystemType};

/// For which server statements are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQL Server: everything, as it was declared.
    SqlServer,
    /// vlflab: columns of types that it lacks hold the bytes of the values, and [`left_out()`] names what is not made.
    Vlflab,
}

/// A statement that makes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it makes: `table [dbo].[Orders]`.
    pub makes: String,
    /// A batch of its own.
    pub text: String,
    /// How the session is to be set for it, for a module that remembers.
    pub settings: Option<(bool, bool)>,
}

impl Statement {
    fn new(makes: String, text: String) -> Statement {
        Statement {
            makes,
            text,
            settings: None,
        }
    }

    /// The statement with its settings before it, as batches of a script that GO ends.
    pub fn in_script(&self) -> String {
        let on = |is_on: bool| if is_on { "ON" } else { "OFF" };
        let settings = self.settings.map_or(String::new(), |(ansi_nulls, quoted_identifier)| {
            format!(
                "SET ANSI_NULLS {};\nSET QUOTED_IDENTIFIER {};\nGO\n",
                on(ansi_nulls),
                on(quoted_identifier)
            )
        });
        format!("{settings}{}\nGO\n", self.text.trim_end())
    }
}

/// Schemas, alias types, tables with their keys and defaults.
pub fn before_rows(catalog: &Catalog, dialect: Dialect) -> Vec<Statement> {
    let mut statements = Vec::new();
    for schema in &catalog.schemas {
        let text = format!("CREATE SCHEMA {};", quoted(schema));
        statements.push(Statement::new(format!("schema {}", quoted(schema)), text));
    }
    for alias in &catalog.alias_types {
        let null = if alias.is_nullable { "NULL" } else { "NOT NULL" };
        let text = format!("CREATE TYPE {} FROM {} {null};", alias.name, alias.kind);
        statements.push(Statement::new(format!("type {}", alias.name), text));
    }
    for table in tables(catalog, dialect) {
        statements.push(Statement::new(
            format!("table {}", table.name),
            table::create(table, dialect, catalog.boot.collation),
        ));
    }
    statements
}

/// Indexes, checks, foreign keys, modules.
pub fn after_rows(catalog: &Catalog, dialect: Dialect) -> Vec<Statement> {
    let mut statements = Vec::new();
    for table in tables(catalog, dialect) {
        statements.extend(table::ignoring_keys(table));
        statements.extend(table::indexes(table, dialect));
    }
    for table in tables(catalog, dialect) {
        statements.extend(table::checks(table));
    }
    for table in tables(catalog, dialect) {
        statements.extend(table.foreign_keys.iter().filter_map(|key| {
            let referenced = catalog.tables.iter().find(|other| other.id == key.referenced_table)?;
            let can_be_made = dialect == Dialect::SqlServer || referenced.unreadable.is_none();
            can_be_made.then(|| table::foreign_key(table, key, referenced))
        }));
    }
    let modules = catalog.modules.iter().filter_map(module);
    statements.extend(modules);
    statements
}

/// The type that a column's values have, for a statement that loads them: an alias type is the type behind it.
pub fn type_for(column: &Column, dialect: Dialect) -> String {
    match dialect {
        Dialect::SqlServer => column.kind.to_string(),
        Dialect::Vlflab => match held_column(column) {
            ColumnType {
                system: SystemType::Clr,
                ..
            } => column.declared_type(),
            held => held.to_string(),
        },
    }
}

/// The tables of which statements are made.
pub fn tables(catalog: &Catalog, dialect: Dialect) -> impl Iterator<Item = &Table> {
    let all = catalog.tables.iter();
    all.filter(move |table| dialect == Dialect::SqlServer || table.unreadable.is_none())
}

/// What disables the triggers that do not fire, behind all that makes them.
pub fn after_modules(catalog: &Catalog) -> impl Iterator<Item = Statement> {
    let triggers = catalog.modules.iter().filter(|module| module.definition.is_some());
    triggers.filter_map(|trigger| {
        let on = trigger.disabled_on?;
        let statement = |name: String, on: String| {
            let makes = format!("disabling of trigger {name}");
            Statement::new(makes, format!("DISABLE TRIGGER {name} ON {on};"))
        };
        // A trigger of the database has no parent, and no schema.
        if on == 0 {
            return Some(statement(quoted(&trigger.name.name), "DATABASE".to_owned()));
        }
        let tables = catalog.tables.iter().map(|table| (table.id, &table.name));
        let views = catalog.modules.iter().map(|module| (module.id, &module.name));
        let (_, on) = tables.chain(views).find(|(id, _)| *id == on)?;
        Some(statement(trigger.name.to_string(), on.to_string()))
    })
}

fn module(module: &Module) -> Option<Statement> {
    let definition = module.definition.as_ref()?;
    let kind = match module.kind {
        ModuleKind::Function => "function",
        ModuleKind::View => "view",
        ModuleKind::Procedure => "procedure",
        ModuleKind::Trigger => "trigger",
    };
    Some(Statement {
        makes: format!("{kind} {}", module.name),
        text: definition.clone(),
        settings: Some((module.uses_ansi_nulls, module.uses_quoted_identifier)),
    })
}
