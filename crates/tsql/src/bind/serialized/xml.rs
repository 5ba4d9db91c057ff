//! FOR XML (sql-docs, "FOR XML", and the pages of its modes).

use engine::error::Result;

use super::{Columns, by_tables, not_supported};
use crate::ast::{ForXml, XmlMode};
use crate::messages;
use crate::plan::{WrittenColumn, XmlForm, XmlItem, XmlLevel};
use crate::scalar::xml_text::{encoded_name, first_fault};
use crate::sink::ResultColumn;

/// # Errors
/// 6800 for AUTO without a table, 6809 for a column without a name, 6810 for an attribute twice, 6829 for bytes without BINARY BASE64, 6850
/// for a name that xml has not, 6852 for an attribute behind content, 6864 for attributes without an element.
pub(super) fn form(clause: &ForXml, columns: &Columns<'_>) -> Result<XmlForm> {
    for name in clause
        .element
        .iter()
        .chain(&clause.root)
        .filter(|name| !name.is_empty())
    {
        check_name("Row tag name", name)?;
    }
    let levels = match clause.mode {
        XmlMode::Path => vec![path_level(clause, columns)?],
        XmlMode::Raw => {
            let all: Vec<usize> = (0..columns.len()).collect();
            vec![flat_level(clause, columns, row_element(clause), &all)?]
        }
        XmlMode::Auto => {
            let tables = by_tables(columns).into_iter();
            let levels = tables.map(|(name, places)| flat_level(clause, columns, Some(encoded_name(&name)), &places));
            levels.collect::<Result<Vec<_>>>()?
        }
        XmlMode::Explicit => return Err(not_supported("FOR XML EXPLICIT")),
    };
    if levels.is_empty() {
        return Err(messages::xml_auto_without_table());
    }
    Ok(XmlForm {
        root: clause.root.clone().filter(|root| !root.is_empty()),
        has_nil: clause.has_nil,
        is_typed: clause.is_typed,
        namespaces: super::super::xml_methods::declared(&clause.namespaces),
        levels,
    })
}

/// The element of a row: `row`, another name, or none where the name is empty.
fn row_element(clause: &ForXml) -> Option<String> {
    match clause.element.as_deref() {
        None => Some("row".to_owned()),
        Some("") => None,
        Some(name) => Some(name.to_owned()),
    }
}

fn check_name(kind: &str, name: &str) -> Result<()> {
    match first_fault(name) {
        Some(fault) => Err(messages::xml_name_invalid(kind, name, fault)),
        None => Ok(()),
    }
}

/// One element whose attributes or elements the columns are.
fn flat_level(clause: &ForXml, columns: &Columns<'_>, element: Option<String>, places: &[usize]) -> Result<XmlLevel> {
    let mut items: Vec<XmlItem> = Vec::new();
    for (column, _, written) in places.iter().filter_map(|place| columns.get(*place)) {
        if column.name.is_empty() {
            return Err(messages::xml_unnamed());
        }
        check_binary(clause, column)?;
        let name = encoded_name(&column.name);
        if clause.has_elements || written.is_fragment {
            items.push(XmlItem::Element(name, vec![XmlItem::Text(*written)]));
            continue;
        }
        if element.is_none() {
            return Err(messages::xml_attributes_without_element());
        }
        push_attribute(&mut items, name, *written)?;
    }
    Ok(XmlLevel { element, items })
}

fn check_binary(clause: &ForXml, column: &ResultColumn) -> Result<()> {
    match clause.mode {
        _ if clause.binary_base64 || !column.sql_type.is_binary() => Ok(()),
        XmlMode::Auto => Err(not_supported("FOR XML AUTO without BINARY BASE64")),
        _ => Err(messages::xml_binary_as_address(&column.name)),
    }
}

/// # Errors
/// 6810 for an attribute that is there.
fn push_attribute(items: &mut Vec<XmlItem>, name: String, column: WrittenColumn) -> Result<()> {
    let is_there = |item: &XmlItem| matches!(item, XmlItem::Attribute(other, _) if *other == name);
    if items.iter().any(is_there) {
        return Err(messages::xml_attribute_twice(&name));
    }
    items.push(XmlItem::Attribute(name, column));
    Ok(())
}

/// One element whose content the names of the columns describe.
fn path_level(clause: &ForXml, columns: &Columns<'_>) -> Result<XmlLevel> {
    let element = row_element(clause);
    let mut items = Vec::new();
    for (column, _, written) in columns {
        let name = column.name.as_str();
        if element.is_none() && name.starts_with('@') {
            return Err(messages::xml_attributes_without_element());
        }
        let path: Vec<&str> = name.trim_start_matches('/').split('/').collect();
        insert(&mut items, &path, name, *written)?;
    }
    Ok(XmlLevel { element, items })
}

/// Puts a column where its path says: into the element that was written last, if that has the name, or into a new one.
fn insert(items: &mut Vec<XmlItem>, path: &[&str], whole: &str, column: WrittenColumn) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        return Ok(());
    };
    if rest.is_empty() {
        match *step {
            "" | "*" | "text()" | "node()" => {
                items.push(XmlItem::Text(column));
                return Ok(());
            }
            "data()" => {
                items.push(XmlItem::Data(column));
                return Ok(());
            }
            "comment()" => {
                items.push(XmlItem::Comment(column));
                return Ok(());
            }
            _ => {}
        }
        if let Some(name) = step.strip_prefix('@') {
            check_name("Column name", name)?;
            let has_content = items.iter().any(|item| !matches!(item, XmlItem::Attribute(..)));
            return match has_content {
                true => Err(messages::xml_attribute_behind_content(whole)),
                false => push_attribute(items, name.to_owned(), column),
            };
        }
        let target = step
            .strip_prefix("processing-instruction(")
            .and_then(|rest| rest.strip_suffix(')'));
        if let Some(target) = target {
            check_name("Column name", target)?;
            items.push(XmlItem::Instruction(target.to_owned(), column));
            return Ok(());
        }
    }
    check_name("Column name", step)?;
    let inner = |items: &mut Vec<XmlItem>| match rest {
        [] => {
            items.push(XmlItem::Text(column));
            Ok(())
        }
        rest => insert(items, rest, whole, column),
    };
    if let Some(XmlItem::Element(name, last)) = items.last_mut()
        && name == step
    {
        return inner(last);
    }
    let mut content = Vec::new();
    inner(&mut content)?;
    items.push(XmlItem::Element((*step).to_owned(), content));
    Ok(())
}
