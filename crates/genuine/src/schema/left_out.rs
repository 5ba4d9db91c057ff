//! What an import into vlflab leaves out or changes, by name: nothing is dropped silently.

use super::table::is_lacking;
use crate::catalog::objects::{IndexRole, quoted};
use crate::catalog::{Catalog, Table};
use crate::types::SystemType;

/// A sentence for each thing that is left out, or that becomes something else.
pub fn left_out(catalog: &Catalog) -> Vec<String> {
    let mut sentences = Vec::new();
    for table in &catalog.tables {
        of_table(table, &mut sentences);
    }
    for module in &catalog.modules {
        if module.definition.is_none() {
            sentences.push(format!(
                "{}: its definition is encrypted, and it is left out",
                module.name
            ));
        }
    }
    let others = catalog.others.iter();
    sentences.extend(others.map(|(kind, name)| format!("{kind} {name} is left out")));
    sentences
}

fn of_table(table: &Table, sentences: &mut Vec<String>) {
    if let Some(reason) = table.unreadable {
        sentences.push(format!("table {} is left out: {reason}", table.name));
        return;
    }
    if table.rowsets.len() > 1 {
        sentences.push(format!(
            "table {}: its {} partitions become one",
            table.name,
            table.rowsets.len()
        ));
    }
    for column in &table.columns {
        let name = format!("{}.{}", table.name, quoted(&column.name));
        if column.is_column_set {
            sentences.push(format!("column set {name} is left out"));
        } else if is_lacking(column.kind.system) {
            let kind = column.declared_type();
            sentences.push(format!(
                "column {name}: {kind} becomes varbinary(max), which holds the stored bytes"
            ));
        } else if column.kind.system == SystemType::Timestamp {
            sentences.push(format!("column {name}: {} gets new values", column.declared_type()));
        } else if column.is_sparse {
            sentences.push(format!("column {name} is stored as any other, and not sparse"));
        }
    }
    for index in &table.indexes {
        let name = format!("{} of {}", quoted(&index.name), table.name);
        match index.other_kind {
            Some(kind) => sentences.push(format!("{kind} {name} is left out")),
            None if index.is_disabled && matches!(index.role, IndexRole::Index | IndexRole::UniqueIndex) => {
                sentences.push(format!("index {name} is disabled, and left out"));
            }
            None => {}
        }
    }
}
