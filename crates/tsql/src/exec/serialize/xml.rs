//! Rows as xml: FOR XML.

use engine::error::Result;
use engine::types::Value;

use super::{Writer, first_that_differs};
use crate::plan::{WrittenColumn, XmlForm, XmlItem, XmlLevel};
use crate::scalar::json::plain;
use crate::scalar::xml_text::{push_attribute, push_text};

/// The declaration that `xsi:nil` needs.
pub(super) const XSI: &str = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";

pub(super) struct XmlWriter<'p> {
    form: &'p XmlForm,
    /// By level: the columns that two rows of one element are equal in.
    columns: Vec<Vec<WrittenColumn>>,
    /// By level: whether the start tag of its element is still open.
    is_open: Vec<bool>,
    /// Whether the row before ended in an item of a list that goes on: there is no element around the rows.
    ends_in_list: bool,
    before: Option<Vec<Value>>,
}

impl<'p> XmlWriter<'p> {
    pub(super) fn new(form: &'p XmlForm) -> XmlWriter<'p> {
        let columns_of = |level: &XmlLevel| {
            let mut columns = Vec::new();
            collect(&level.items, &mut columns);
            columns
        };
        XmlWriter {
            columns: form.levels.iter().map(columns_of).collect(),
            is_open: vec![false; form.levels.len()],
            ends_in_list: false,
            form,
            before: None,
        }
    }

    /// The declarations that stand in the outermost elements.
    fn push_declarations(&self, output: &mut String) {
        if self.form.has_nil {
            output.push_str(XSI);
        }
        for (prefix, address) in self.form.namespaces.iter().rev() {
            match prefix.is_empty() {
                true => output.push_str(" xmlns=\""),
                false => output.push_str(&format!(" xmlns:{prefix}=\"")),
            }
            push_attribute(output, address);
            output.push('"');
        }
    }

    fn open(&mut self, output: &mut String, index: usize, row: &[Value]) -> Result<()> {
        let form = self.form;
        let Some(level) = form.levels.get(index) else {
            return Ok(());
        };
        if let Some(around) = index.checked_sub(1) {
            self.finish_tag(output, around);
        }
        let is_outermost = index == 0 && form.root.is_none();
        match &level.element {
            Some(name) => {
                output.push('<');
                output.push_str(name);
                if is_outermost {
                    self.push_declarations(output);
                }
                let has_content = self.push_items(output, &level.items, row, false)?;
                if let Some(is_open) = self.is_open.get_mut(index) {
                    *is_open = !has_content;
                }
            }
            None => {
                let is_in_list = self.ends_in_list;
                self.ends_in_list = self.push_content(output, &level.items, row, is_outermost, is_in_list)?;
            }
        }
        Ok(())
    }

    /// Ends the start tag of an element that has more to come.
    fn finish_tag(&mut self, output: &mut String, index: usize) {
        if let Some(is_open) = self.is_open.get_mut(index)
            && std::mem::take(is_open)
        {
            output.push('>');
        }
    }

    fn close(&mut self, output: &mut String, first: usize) {
        for index in (first..self.form.levels.len()).rev() {
            let element = self.form.levels.get(index).and_then(|level| level.element.as_deref());
            let Some(name) = element else { continue };
            match self.is_open.get_mut(index).map(std::mem::take) {
                Some(true) => output.push_str("/>"),
                _ => output.push_str(&format!("</{name}>")),
            }
        }
    }

    /// Writes the attributes of an element, ends its start tag if there is content, and writes that; answers whether there is.
    fn push_items(&self, output: &mut String, items: &[XmlItem], row: &[Value], ends_always: bool) -> Result<bool> {
        for item in items {
            if let XmlItem::Attribute(name, column) = item
                && let Some(value) = value_of(row, column)
            {
                output.push_str(&format!(" {name}=\""));
                push_attribute(output, &text_of(value, column)?);
                output.push('"');
            }
        }
        let has_content = ends_always || items.iter().any(|item| self.is_there(item, row));
        if has_content {
            output.push('>');
            self.push_content(output, items, row, false, false)?;
        }
        Ok(has_content)
    }

    /// Whether anything is written of an item between tags.
    fn is_there(&self, item: &XmlItem, row: &[Value]) -> bool {
        match item {
            XmlItem::Attribute(..) => false,
            XmlItem::Element(_, items) => self.form.has_nil || has_value(items, row),
            XmlItem::Text(column)
            | XmlItem::Data(column)
            | XmlItem::Comment(column)
            | XmlItem::Instruction(_, column) => value_of(row, column).is_some(),
        }
    }

    /// Writes what stands between tags; answers whether it ends in an item of a list.
    fn push_content(
        &self,
        output: &mut String,
        items: &[XmlItem],
        row: &[Value],
        is_outermost: bool,
        is_in_list: bool,
    ) -> Result<bool> {
        let mut is_in_list = is_in_list;
        for item in items.iter().filter(|item| self.is_there(item, row)) {
            let was_in_list = std::mem::replace(&mut is_in_list, matches!(item, XmlItem::Data(_)));
            match item {
                XmlItem::Attribute(..) => {}
                XmlItem::Element(name, items) => self.push_element(output, name, items, row, is_outermost)?,
                XmlItem::Text(column) | XmlItem::Data(column) => {
                    if was_in_list && is_in_list {
                        output.push(' ');
                    }
                    push_value(output, row, column)?;
                }
                XmlItem::Comment(column) => {
                    output.push_str("<!--");
                    push_raw(output, row, column)?;
                    output.push_str("-->");
                }
                XmlItem::Instruction(name, column) => {
                    output.push_str(&format!("<?{name} "));
                    push_raw(output, row, column)?;
                    output.push_str("?>");
                }
            }
        }
        Ok(is_in_list)
    }

    fn push_element(
        &self,
        output: &mut String,
        name: &str,
        items: &[XmlItem],
        row: &[Value],
        is_outermost: bool,
    ) -> Result<()> {
        output.push('<');
        output.push_str(name);
        if is_outermost {
            self.push_declarations(output);
        }
        if self.form.has_nil && is_nil(items, row) {
            output.push_str(" xsi:nil=\"true\"/>");
            return Ok(());
        }
        let start = output.len();
        let has_text = items.iter().any(|item| !matches!(item, XmlItem::Attribute(..)));
        if !self.push_items(output, items, row, has_text)? {
            output.push_str("/>");
            return Ok(());
        }
        // A value of type xml has no end tag right behind a start tag.
        if self.form.is_typed && output.ends_with('>') && output.len() == start + 1 {
            output.insert(start, '/');
            return Ok(());
        }
        output.push_str(&format!("</{name}>"));
        Ok(())
    }
}

impl Writer for XmlWriter<'_> {
    fn row(&mut self, output: &mut String, row: &[Value]) -> Result<()> {
        let first = match self.before.take() {
            None => {
                if let Some(root) = &self.form.root {
                    output.push('<');
                    output.push_str(root);
                    self.push_declarations(output);
                    output.push('>');
                }
                0
            }
            Some(before) => {
                let first = first_that_differs(&self.columns, &before, row);
                self.close(output, first);
                first
            }
        };
        for level in first..self.form.levels.len() {
            self.open(output, level, row)?;
        }
        self.before = Some(row.to_vec());
        Ok(())
    }

    fn end(&mut self, output: &mut String) {
        self.close(output, 0);
        if let Some(root) = &self.form.root {
            output.push_str(&format!("</{root}>"));
        }
    }
}

pub(super) fn value_of<'r>(row: &'r [Value], column: &WrittenColumn) -> Option<&'r Value> {
    row.get(column.place).filter(|value| !value.is_null())
}

/// Whether an item has a value anywhere below.
fn has_value(items: &[XmlItem], row: &[Value]) -> bool {
    items.iter().any(|item| match item {
        XmlItem::Element(_, items) => has_value(items, row),
        XmlItem::Attribute(_, column)
        | XmlItem::Text(column)
        | XmlItem::Data(column)
        | XmlItem::Comment(column)
        | XmlItem::Instruction(_, column) => value_of(row, column).is_some(),
    })
}

/// Whether an element is written as nil: it has text alone, and that is NULL.
fn is_nil(items: &[XmlItem], row: &[Value]) -> bool {
    items
        .iter()
        .all(|item| matches!(item, XmlItem::Text(column) | XmlItem::Data(column) if value_of(row, column).is_none()))
}

pub(super) fn text_of(value: &Value, column: &WrittenColumn) -> Result<String> {
    match value {
        Value::Text(text) => {
            engine::cancel::spend_bytes(text.len())?;
            Ok(text.to_string())
        }
        Value::Bit(bit) => Ok(u8::from(*bit).to_string()),
        other => {
            let written = plain(other, column.sql_type)?;
            let universal = column
                .sql_type
                .is_temporal()
                .then(|| written.strip_suffix("+00:00"))
                .flatten();
            Ok(universal.map_or_else(|| written.clone(), |text| format!("{text}Z")))
        }
    }
}

fn push_value(output: &mut String, row: &[Value], column: &WrittenColumn) -> Result<()> {
    let Some(value) = value_of(row, column) else {
        return Ok(());
    };
    let text = text_of(value, column)?;
    match column.is_fragment {
        true => output.push_str(&text),
        false => push_text(output, &text),
    }
    Ok(())
}

fn push_raw(output: &mut String, row: &[Value], column: &WrittenColumn) -> Result<()> {
    if let Some(value) = value_of(row, column) {
        output.push_str(&text_of(value, column)?);
    }
    Ok(())
}

fn collect(items: &[XmlItem], columns: &mut Vec<WrittenColumn>) {
    for item in items {
        match item {
            XmlItem::Element(_, items) => collect(items, columns),
            XmlItem::Attribute(_, column)
            | XmlItem::Text(column)
            | XmlItem::Data(column)
            | XmlItem::Comment(column)
            | XmlItem::Instruction(_, column) => columns.push(*column),
        }
    }
}
