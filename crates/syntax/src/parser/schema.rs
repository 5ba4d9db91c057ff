//! CREATE SCHEMA with what is made in the schema.
//!
//! ```text
//! CREATE SCHEMA s                        tables       a without its foreign key to b, b
//!   CREATE VIEW v AS SELECT x FROM a     keys         ALTER TABLE s.a ADD FOREIGN KEY ... REFERENCES s.b
//!   CREATE TABLE a (x int REFERENCES b)  views        v, in their own order
//!   CREATE TABLE b (...)                 permissions
//! ```
//! "The tables and views can be created in any order, except for views that reference other views" (SQL Server docs, CREATE SCHEMA), and a
//! table may refer to one that follows. So the elements are put into an order in which each finds what it needs.

use super::{Parsed, Parser};
use crate::ast::{
    AlterTable, AlterTableAction, ConstraintKind, CreateSchema, CreateTable, CreateView, DefinitionKind, Identifier,
    Name, Statement, StatementKind, TableConstraint, TableElement,
};

impl Parser<'_> {
    /// `name [AUTHORIZATION owner] elements`, CREATE SCHEMA being read.
    pub(super) fn create_schema(&mut self) -> Parsed<StatementKind> {
        let named = match self.at_word("AUTHORIZATION") {
            true => None,
            false => Some(self.identifier()?),
        };
        let owner = match named.is_none() || self.at_word("AUTHORIZATION") {
            true => {
                self.expect_word("AUTHORIZATION")?;
                Some(self.identifier()?)
            }
            false => None,
        };
        // A schema without a name has its owner's.
        let name = named.or_else(|| owner.clone()).ok_or_else(|| self.unexpected())?;
        let mut parts = Parts::default();
        while self.at_any(&["CREATE", "GRANT", "DENY", "REVOKE"]) {
            self.schema_element(&name, &mut parts)?;
        }
        let elements = parts.in_order(&name);
        Ok(StatementKind::CreateSchema(Box::new(CreateSchema {
            name,
            owner,
            elements,
        })))
    }

    fn schema_element(&mut self, schema: &Identifier, parts: &mut Parts) -> Parsed<()> {
        let (line, start) = (self.line(), self.token.start);
        if !self.at_word("CREATE") {
            let kind = self.permission()?;
            parts.permissions.push(self.statement_from(line, start, kind));
            return Ok(());
        }
        self.advance()?;
        if self.at_word("TABLE") {
            let StatementKind::CreateTable(mut table) = self.create_table()? else {
                return Err(self.unexpected());
            };
            table.name = within(schema, table.name);
            let statement = self.statement_from(line, start, StatementKind::Break);
            parts.tables.push((statement, *table));
            return Ok(());
        }
        self.expect_word("VIEW")?;
        let StatementKind::CreateView(view) = self.view(DefinitionKind::Create)? else {
            return Err(self.unexpected());
        };
        let text = self.text.get(start..self.previous.end).unwrap_or_default().to_owned();
        let view = CreateView {
            name: within(schema, view.name.clone()),
            text,
            ..*view
        };
        let kind = StatementKind::CreateView(Box::new(view));
        parts.views.push(self.statement_from(line, start, kind));
        Ok(())
    }

    /// A statement that ends before the cursor.
    fn statement_from(&self, line: u32, start: usize, kind: StatementKind) -> Statement {
        let span = (start as u32, self.previous.end as u32);
        Statement { line, span, kind }
    }
}

/// A name in the schema, unless it says another one.
fn within(schema: &Identifier, mut name: Name) -> Name {
    if name.parts.len() == 1 {
        name.parts.insert(0, schema.clone());
    }
    name
}

/// The elements by what they are.
#[derive(Default)]
struct Parts {
    /// Tables, each with the place of its statement.
    tables: Vec<(Statement, CreateTable)>,
    views: Vec<Statement>,
    permissions: Vec<Statement>,
}

impl Parts {
    fn in_order(self, schema: &Identifier) -> Vec<Statement> {
        let names: Vec<Name> = self.tables.iter().map(|(_, table)| table.name.clone()).collect();
        let mut keys = Vec::new();
        let mut elements = Vec::new();
        for (place, mut table) in self.tables {
            let taken = take_keys(&mut table, schema, &names);
            if !taken.is_empty() {
                let alter = AlterTable {
                    name: table.name.clone(),
                    action: AlterTableAction::Add {
                        check: None,
                        elements: taken.into_iter().map(TableElement::Constraint).collect(),
                    },
                };
                let kind = StatementKind::AlterTable(Box::new(alter));
                keys.push(Statement { kind, ..place.clone() });
            }
            let kind = StatementKind::CreateTable(Box::new(table));
            elements.push(Statement { kind, ..place });
        }
        elements.extend(keys);
        elements.extend(self.views);
        elements.extend(self.permissions);
        elements
    }
}

/// Takes a table's foreign keys to tables that are made with it, as constraints of the table.
fn take_keys(table: &mut CreateTable, schema: &Identifier, made: &[Name]) -> Vec<TableConstraint> {
    let mut taken = Vec::new();
    let mut is_to_made = |constraint: &mut TableConstraint, column: Option<&Identifier>| {
        let ConstraintKind::ForeignKey(key) = &mut constraint.kind else {
            return false;
        };
        let target = within(schema, key.table.clone());
        let is_made = made.iter().any(|name| {
            let pairs = name.parts.iter().zip(&target.parts);
            name.parts.len() == target.parts.len() && pairs.into_iter().all(|(one, other)| one.is(&other.text))
        });
        if is_made {
            key.table = target;
            key.columns.extend(column.filter(|_| key.columns.is_empty()).cloned());
            taken.push(constraint.clone());
        }
        is_made
    };
    table.elements.retain_mut(|element| match element {
        TableElement::Constraint(constraint) => !is_to_made(constraint, None),
        TableElement::Column(column) => {
            let name = column.name.clone();
            column
                .constraints
                .retain_mut(|constraint| !is_to_made(constraint, Some(&name)));
            true
        }
        TableElement::Index(_) | TableElement::Period(_) => true,
    });
    taken
}
