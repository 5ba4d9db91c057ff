//! `sp_helpconstraint` (sql-docs, "sp_helpconstraint"; columns and words of the answer as SQL Server sends them): the constraints of a
//! table, then the foreign keys of others that refer to it.

use engine::catalog::{
    ColumnDefinition, ForeignKey, IndexDefinition, ObjectDefinition, ReferentialAction, TableDefinition,
};
use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::help::find;
use super::space::no_object;
use super::{NAME, SystemProcedure, text};
use crate::modules::{condition_text, default_text};
use crate::views::{only_column, table_of};

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_helpconstraint",
    parameters: &[
        ("@objname", NAME, true),
        ("@nomsg", SqlType::VarChar(Length::Limited(5)), false),
    ],
    run: help_constraint,
}];

/// One line of the answer; a foreign key has two.
struct Line {
    kind: String,
    /// Of the constraint, which the answer is ordered by.
    constraint: String,
    delete: &'static str,
    update: &'static str,
    enabled: &'static str,
    replicated: &'static str,
    keys: String,
}

/// What does not apply to a kind of constraint.
const NOT_APPLICABLE: &str = "(n/a)";

fn help_constraint(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let written = text(arguments, 0).unwrap_or_default();
    let is_quiet = text(arguments, 1).is_some_and(|word| word.eq_ignore_ascii_case("nomsg"));
    let object = find(context, written)?;
    let table = table_of(&object).ok_or_else(|| no_object(context, written))?;
    if !is_quiet {
        let mut name = Table::new(&[("Object Name", SqlType::NVarChar(Length::Limited(776)))]);
        name.push(vec![written.into()]);
        name.send(host)?;
    }
    let mut lines = lines(context, table);
    lines.sort_by_key(|line| line.constraint.to_lowercase());
    match lines.is_empty() {
        false => answer(lines).send(host)?,
        true if is_quiet => {}
        true => {
            let text = format!("No constraints are defined on object '{written}', or you do not have permissions.");
            host.message(&Error::new(15469, 10, 1, text))?;
        }
    }
    let referring = referring(context, table);
    match referring.is_empty() {
        false => {
            let mut answer = Table::new(&[(
                "Table is referenced by foreign key",
                SqlType::NVarChar(Length::Limited(516)),
            )]);
            referring.into_iter().for_each(|name| answer.push(vec![name.into()]));
            answer.send(host)?;
        }
        true if is_quiet => {}
        true => {
            let text = format!(
                "No foreign keys reference table '{written}', or you do not have permissions on referencing tables."
            );
            host.message(&Error::new(15470, 10, 1, text))?;
        }
    }
    Ok(0)
}

fn answer(lines: Vec<Line>) -> Table {
    // `Set Default` has eleven characters.
    let action = SqlType::NVarChar(Length::Limited(11));
    let mut answer = Table::new(&[
        ("constraint_type", SqlType::NVarChar(Length::Limited(146))),
        ("constraint_name", SqlType::SYSNAME),
        ("delete_action", action),
        ("update_action", action),
        ("status_enabled", SqlType::VarChar(Length::Limited(8))),
        ("status_for_replication", SqlType::VarChar(Length::Limited(19))),
        ("constraint_keys", SqlType::NVarChar(Length::Limited(2126))),
    ]);
    for line in lines {
        let is_second = line.kind == " ";
        answer.push(vec![
            line.kind.into(),
            if is_second { " ".into() } else { line.constraint.into() },
            line.delete.into(),
            line.update.into(),
            line.enabled.into(),
            line.replicated.into(),
            line.keys.into(),
        ]);
    }
    answer
}

fn lines(context: &SystemContext<'_>, table: &TableDefinition) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for index in table.every_index().filter(|index| index.is_constraint()) {
        lines.push(key(table, index));
    }
    for column in &table.columns {
        if let Some(default) = &column.default {
            lines.push(plain(
                format!("DEFAULT on column {}", column.name),
                &default.name,
                &default_text(&default.text),
            ));
        }
        lines.extend(bound(context, column));
    }
    for check in &table.checks {
        let only = usize::try_from(only_column(table, &check.text) - 1);
        let kind = match only.ok().and_then(|column| table.columns.get(column)) {
            Some(column) => format!("CHECK on column {}", column.name),
            None => "CHECK Table Level ".to_owned(),
        };
        lines.push(Line {
            enabled: enabled(check.is_disabled),
            replicated: "Is_For_Replication",
            ..plain(kind, &check.name, &condition_text(&check.text))
        });
    }
    for key in &table.foreign_keys {
        lines.extend(foreign_key(context, table, key));
    }
    lines
}

/// The default and the rule that are bound to a column, with their texts.
fn bound(context: &SystemContext<'_>, column: &ColumnDefinition) -> Vec<Line> {
    let kinds = [
        (&column.bound.default, "DEFAULT", "sp_bindefault"),
        (&column.bound.rule, "RULE", "sp_bindrule"),
    ];
    let lines = kinds.into_iter().filter_map(|(bound, word, procedure)| {
        let object = context
            .database
            .catalog
            .by_id(bound.as_ref()?.object_id, context.session_id)?;
        let ObjectDefinition::Standalone(own) = &object.definition else {
            return None;
        };
        let kind = format!("{word} on column {} (bound with {procedure})", column.name);
        Some(plain(kind, &own.name, &own.text))
    });
    lines.collect()
}

fn plain(kind: String, constraint: &str, keys: &str) -> Line {
    Line {
        kind,
        constraint: constraint.to_owned(),
        delete: NOT_APPLICABLE,
        update: NOT_APPLICABLE,
        enabled: NOT_APPLICABLE,
        replicated: NOT_APPLICABLE,
        keys: keys.to_owned(),
    }
}

fn enabled(is_disabled: bool) -> &'static str {
    if is_disabled { "Disabled" } else { "Enabled" }
}

fn key(table: &TableDefinition, index: &IndexDefinition) -> Line {
    let kind = if index.primary_key { "PRIMARY KEY" } else { "UNIQUE" };
    let how = if index.index_id == 1 {
        "clustered"
    } else {
        "non-clustered"
    };
    let columns = index.keys.iter().filter_map(|&(column, descending)| {
        let name = &table.columns.get(column)?.name;
        Some(if descending { format!("{name}(-)") } else { name.clone() })
    });
    let columns: Vec<String> = columns.collect();
    plain(format!("{kind} ({how})"), &index.name, &columns.join(", "))
}

fn names(table: &TableDefinition, columns: &[usize]) -> String {
    let names = columns.iter().filter_map(|column| table.columns.get(*column));
    names.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn action(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "No Action",
        ReferentialAction::Cascade => "Cascade",
        ReferentialAction::SetNull => "Set Null",
        ReferentialAction::SetDefault => "Set Default",
    }
}

/// A foreign key: its columns, and in a second line what they refer to.
fn foreign_key(context: &SystemContext<'_>, table: &TableDefinition, key: &ForeignKey) -> Vec<Line> {
    let referenced = context
        .database
        .catalog
        .by_id(key.referenced_object, context.session_id);
    let target = referenced.as_ref().and_then(|object| table_of(object)).unwrap_or(table);
    let refers = format!(
        "REFERENCES {}.{}.{} ({})",
        context.database.name(),
        target.schema,
        target.name,
        names(target, &key.referenced_columns)
    );
    let first = Line {
        delete: action(key.on_delete),
        update: action(key.on_update),
        enabled: enabled(key.is_disabled),
        replicated: "Is_For_Replication",
        ..plain("FOREIGN KEY".to_owned(), &key.name, &names(table, &key.columns))
    };
    let second = Line {
        kind: " ".to_owned(),
        constraint: key.name.clone(),
        delete: " ",
        update: " ",
        enabled: " ",
        replicated: " ",
        keys: refers,
    };
    vec![first, second]
}

/// The foreign keys that refer to a table, its own too: `database.schema.table: name`.
fn referring(context: &SystemContext<'_>, table: &TableDefinition) -> Vec<String> {
    let objects = context
        .database
        .catalog
        .referencing(table.object_id, context.session_id);
    let mut names: Vec<String> = Vec::new();
    for object in &objects {
        let ObjectDefinition::Table(other) = &object.definition else {
            continue;
        };
        let keys = other.foreign_keys.iter();
        let keys = keys.filter(|key| key.referenced_object == table.object_id);
        names.extend(keys.map(|key| {
            format!(
                "{}.{}.{}: {}",
                context.database.name(),
                other.schema,
                other.name,
                key.name
            )
        }));
    }
    names.sort_by_key(|name| name.to_lowercase());
    names
}
