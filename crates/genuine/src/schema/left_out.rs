//! What an import into vlflab leaves out or changes, by name: nothing is dropped silently.

use super::held::{collation_name, held_type, is_column_lacking, is_same_collation};
use crate::catalog::objects::{IndexRole, quoted};
use crate::catalog::{Catalog, Table};
use crate::types::SystemType;
use crate::types::code_page::code_page;
use std::collections::BTreeMap;

/// A sentence for each thing that is left out, or that becomes something else.
pub fn left_out(catalog: &Catalog) -> Vec<String> {
    let mut sentences = Vec::new();
    for table in &catalog.tables {
        of_table(table, &mut sentences);
    }
    of_collations(catalog, &mut sentences);
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
    sentences.extend_from_slice(&catalog.unread);
    sentences
}

/// Collations that are others here, with how many columns have each.
fn of_collations(catalog: &Catalog, sentences: &mut Vec<String>) {
    let mut columns: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
    let all = catalog.tables.iter().flat_map(|table| &table.columns);
    for kind in all.map(|column| column.kind).filter(|kind| kind.system.is_text()) {
        let (count, is_other_type) = columns.entry(kind.collation).or_default();
        *count += 1;
        *is_other_type |= held_type(&kind) != kind;
    }
    for (id, (count, is_other_type)) in columns {
        if is_same_collation(id) {
            continue;
        }
        let page = match code_page(id) {
            Some(page) => format!("code page {page}"),
            None => "of an unknown language, read as code page 1252".to_owned(),
        };
        let unicode = match is_other_type {
            true => "; of these, char, varchar and text become nchar, nvarchar and ntext",
            false => "",
        };
        let name = collation_name(id);
        let columns = if count == 1 { "column has" } else { "columns have" };
        sentences.push(format!(
            "{count} {columns} the collation 0x{id:08X} ({page}), and {name} here{unicode}"
        ));
    }
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
        } else if is_column_lacking(column) {
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
