//! The statements that make one table.

use super::held::{collation_name, held_column};
use super::{Dialect, Statement};
use crate::catalog::Table;
use crate::catalog::objects::{Column, ForeignKey, Index, IndexRole, ReferentialAction, UserType, quoted};
use crate::types::SystemType;
use std::fmt::Write;

/// CREATE TABLE with its columns, defaults, and those of its primary key and unique constraints that refuse duplicates, in a database of the collation `collation`.
pub(super) fn create(table: &Table, dialect: Dialect, collation: u32) -> String {
    let columns = table.columns.iter();
    let made = columns.filter(|column| dialect == Dialect::SqlServer || !column.is_column_set);
    let mut parts: Vec<String> = made.map(|column| declared(column, dialect, collation)).collect();
    let constraints = table
        .indexes
        .iter()
        .filter(|index| is_constraint(index) && !index.ignores_duplicates);
    parts.extend(constraints.map(|index| constraint(table, index)));
    format!("CREATE TABLE {} (\n    {}\n);", table.name, parts.join(",\n    "))
}

fn is_constraint(index: &Index) -> bool {
    matches!(index.role, IndexRole::PrimaryKey | IndexRole::UniqueConstraint)
}

fn declared(column: &Column, dialect: Dialect, collation: u32) -> String {
    let name = quoted(&column.name);
    if let Some(computed) = &column.computed {
        let persisted = if computed.is_persisted { " PERSISTED" } else { "" };
        return format!("{name} AS {}{persisted}", computed.definition);
    }
    let mut text = format!("{name} {}", type_of(column, dialect));
    if dialect == Dialect::Vlflab && has_other_collation(column, collation) {
        text = format!(
            "{name} {} COLLATE {}",
            held_column(column),
            collation_name(column.kind.collation)
        );
    }
    if dialect == Dialect::SqlServer {
        if column.is_column_set {
            text.push_str(" COLUMN_SET FOR ALL_SPARSE_COLUMNS");
            return text;
        }
        if column.is_sparse {
            text.push_str(" SPARSE");
        }
    }
    if let Some(identity) = &column.identity {
        let _ = write!(text, " IDENTITY({}, {})", identity.seed, identity.increment);
    }
    if column.is_rowguid {
        text.push_str(" ROWGUIDCOL");
    }
    text.push_str(if column.is_nullable { " NULL" } else { " NOT NULL" });
    if let Some(default) = &column.default {
        let _ = write!(
            text,
            " CONSTRAINT {} DEFAULT {}",
            quoted(&default.name),
            default.definition
        );
    }
    text
}

/// The type of a column, or what stands for it in a server that lacks it.
pub(super) fn type_of(column: &Column, dialect: Dialect) -> String {
    let held = held_column(column);
    if dialect == Dialect::Vlflab && held != column.kind {
        return held.to_string();
    }
    match (&column.user_type, column.kind.system) {
        // An assembly of the file's own is not in the script.
        (Some(UserType::Alias(name)), SystemType::Clr) if dialect == Dialect::SqlServer => name.to_string(),
        _ => column.declared_type(),
    }
}

/// The column tells other texts apart than its database does.
fn has_other_collation(column: &Column, collation: u32) -> bool {
    let own = column.kind.collation;
    column.kind.system.is_text() && own != 0 && collation_name(own) != collation_name(collation)
}

fn key_list(table: &Table, keys: &[(i64, bool)]) -> String {
    let parts = keys.iter().map(|(column, is_descending)| {
        let direction = if *is_descending { " DESC" } else { "" };
        format!("{}{direction}", column_name(table, *column))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn column_name(table: &Table, id: i64) -> String {
    table
        .column(id)
        .map_or_else(|| format!("[column {id}]"), |column| quoted(&column.name))
}

fn names(table: &Table, columns: &[i64]) -> String {
    let parts = columns.iter().map(|column| column_name(table, *column));
    parts.collect::<Vec<_>>().join(", ")
}

fn clustered(index: &Index) -> &'static str {
    if index.is_clustered {
        "CLUSTERED"
    } else {
        "NONCLUSTERED"
    }
}

fn constraint(table: &Table, index: &Index) -> String {
    let kind = match index.role {
        IndexRole::PrimaryKey => "PRIMARY KEY",
        _ => "UNIQUE",
    };
    format!(
        "CONSTRAINT {} {kind} {} ({}){}",
        quoted(&index.name),
        clustered(index),
        key_list(table, &index.keys),
        options(index)
    )
}

fn options(index: &Index) -> &'static str {
    match index.ignores_duplicates {
        true => " WITH (IGNORE_DUP_KEY = ON)",
        false => "",
    }
}

/// ALTER TABLE ADD of the keys that ignore duplicates: behind the rows, of which they would leave some out where the collation here tells less
/// apart than the file's own. A key that is added refuses duplicates.
pub(super) fn ignoring_keys(table: &Table) -> Vec<Statement> {
    let wanted = table.indexes.iter().filter(|index| is_constraint(index));
    wanted
        .filter(|index| index.ignores_duplicates)
        .map(|index| {
            let text = format!("ALTER TABLE {} ADD {};", table.name, constraint(table, index));
            Statement::new(format!("key {} of {}", quoted(&index.name), table.name), text)
        })
        .collect()
}

/// CREATE INDEX of all that are not constraints.
pub(super) fn indexes(table: &Table, dialect: Dialect) -> Vec<Statement> {
    let wanted = table.indexes.iter().filter(|index| !is_constraint(index));
    wanted
        .filter(|index| index.other_kind.is_none() && !(dialect == Dialect::Vlflab && index.is_disabled))
        .map(|index| {
            let unique = if index.role == IndexRole::UniqueIndex {
                "UNIQUE "
            } else {
                ""
            };
            let mut text = format!(
                "CREATE {unique}{} INDEX {} ON {} ({})",
                clustered(index),
                quoted(&index.name),
                table.name,
                key_list(table, &index.keys)
            );
            if !index.included.is_empty() {
                let _ = write!(text, " INCLUDE ({})", names(table, &index.included));
            }
            if let Some(filter) = &index.filter {
                let _ = write!(text, " WHERE {filter}");
            }
            text.push_str(options(index));
            text.push(';');
            Statement::new(format!("index {} of {}", quoted(&index.name), table.name), text)
        })
        .collect()
}

/// `WITH NOCHECK` leaves a constraint untrusted, as it was.
fn with_check(is_trusted: bool) -> &'static str {
    if is_trusted { "WITH CHECK" } else { "WITH NOCHECK" }
}

fn disabling(table: &Table, name: &str, is_disabled: bool) -> String {
    match is_disabled {
        true => format!("\nALTER TABLE {} NOCHECK CONSTRAINT {};", table.name, quoted(name)),
        false => String::new(),
    }
}

/// ALTER TABLE ADD CHECK.
pub(super) fn checks(table: &Table) -> Vec<Statement> {
    let checks = table.checks.iter();
    checks
        .map(|check| {
            let text = format!(
                "ALTER TABLE {} {} ADD CONSTRAINT {} CHECK {};{}",
                table.name,
                with_check(check.is_trusted),
                quoted(&check.name),
                check.definition,
                disabling(table, &check.name, check.is_disabled)
            );
            Statement::new(format!("check {} of {}", quoted(&check.name), table.name), text)
        })
        .collect()
}

/// ALTER TABLE ADD FOREIGN KEY.
pub(super) fn foreign_key(table: &Table, key: &ForeignKey, referenced: &Table) -> Statement {
    let mut text = format!(
        "ALTER TABLE {} {} ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({})",
        table.name,
        with_check(key.is_trusted),
        quoted(&key.name),
        names(table, &key.columns),
        referenced.name,
        names(referenced, &key.referenced_columns)
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        let action = match action {
            ReferentialAction::NoAction => continue,
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        };
        let _ = write!(text, " ON {event} {action}");
    }
    text.push(';');
    text.push_str(&disabling(table, &key.name, key.is_disabled));
    Statement::new(format!("foreign key {} of {}", quoted(&key.name), table.name), text)
}
