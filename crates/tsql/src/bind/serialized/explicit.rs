//! FOR XML EXPLICIT: names of columns as `element!tag!attribute!directive` (sql-docs, "Use EXPLICIT mode with FOR XML").

use engine::error::Result;

use super::{Columns, not_supported};
use crate::ast::ForXml;
use crate::messages;
use crate::plan::{ExplicitForm, ExplicitItem, ExplicitTag, WrittenColumn};
use crate::scalar::xml_text::encoded_name;

/// # Errors
/// 6820 for other names than Tag and Parent of the first columns, 6802 for a name of another form, 6812 for a tag that is named twice, 6818 for
/// CDATA with a name, 6824 for a directive that there is not, 6810 for an attribute twice, 6825 for ELEMENTS.
pub(super) fn form(clause: &ForXml, columns: &Columns<'_>) -> Result<ExplicitForm> {
    if clause.has_elements {
        return Err(messages::explicit_elements());
    }
    for (index, wanted) in ["TAG", "PARENT"].into_iter().enumerate() {
        let name = columns.get(index).map_or("", |(column, ..)| column.name.as_str());
        if !name.eq_ignore_ascii_case(wanted) {
            return Err(messages::explicit_first_columns(index + 1, wanted, name));
        }
    }
    let mut form = ExplicitForm {
        root: clause.root.clone().filter(|root| !root.is_empty()),
        is_typed: clause.is_typed,
        has_nil: false,
        tags: Vec::new(),
    };
    for (column, _, written) in columns.iter().skip(2) {
        let name = column.name.as_str();
        if column.sql_type.is_binary() && !clause.binary_base64 {
            return Err(messages::xml_binary_as_address(name));
        }
        let parts: Vec<&str> = name.split('!').collect();
        let number = parts.get(1).and_then(|number| number.trim().parse::<i64>().ok());
        let number = number.filter(|number| *number > 0 && parts.len() <= 4 && !parts[0].is_empty());
        let number = number.ok_or_else(|| messages::explicit_column_name(name))?;
        let element = encoded_name(parts[0]);
        let place = match form.tags.iter().position(|tag| tag.number == number) {
            Some(place) => place,
            None => {
                form.tags.push(ExplicitTag {
                    number,
                    name: element.clone(),
                    items: Vec::new(),
                });
                form.tags.len() - 1
            }
        };
        let Some(tag) = form.tags.get_mut(place) else { continue };
        if tag.name != element {
            return Err(messages::explicit_tag_redeclared(number, &tag.name, &element));
        }
        let own = parts.get(2).copied().unwrap_or_default();
        let directive = parts.get(3).copied().unwrap_or_default();
        let Some(item) = item(own, directive, name, *written)? else {
            continue;
        };
        form.has_nil |= matches!(item, ExplicitItem::Element(_, _, true));
        if let ExplicitItem::Attribute(own, _) = &item
            && tag
                .items
                .iter()
                .any(|other| matches!(other, ExplicitItem::Attribute(name, _) if name == own))
        {
            return Err(messages::xml_attribute_twice(own));
        }
        tag.items.push(item);
    }
    Ok(form)
}

/// What a column is of its element; `None` where it is hidden.
fn item(own: &str, directive: &str, whole: &str, column: WrittenColumn) -> Result<Option<ExplicitItem>> {
    let name = encoded_name(own);
    let has_name = !own.is_empty();
    Ok(Some(match directive.to_ascii_lowercase().as_str() {
        "hide" => return Ok(None),
        "" | "element" if !has_name => ExplicitItem::Text(column),
        "" if column.is_fragment => ExplicitItem::Element(name, column, false),
        "" => ExplicitItem::Attribute(name, column),
        // Without XMLDATA they are attributes as any other.
        "id" | "idref" | "nmtoken" if has_name => ExplicitItem::Attribute(name, column),
        "element" => ExplicitItem::Element(name, column, false),
        "elementxsinil" if has_name => ExplicitItem::Element(name, column, true),
        "xml" => {
            let column = WrittenColumn {
                is_fragment: true,
                ..column
            };
            match has_name {
                true => ExplicitItem::Element(name, column, false),
                false => ExplicitItem::Text(column),
            }
        }
        "cdata" if has_name => return Err(messages::explicit_cdata_named(whole)),
        "cdata" => ExplicitItem::CharacterData(column),
        "xmltext" | "idrefs" | "nmtokens" => {
            return Err(not_supported(&format!("directive {directive} of FOR XML EXPLICIT")));
        }
        _ => return Err(messages::explicit_directive(directive)),
    }))
}
