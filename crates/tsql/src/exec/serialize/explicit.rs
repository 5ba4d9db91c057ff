//! Rows as xml by their tags: FOR XML EXPLICIT.

use engine::error::Result;
use engine::types::Value;

use super::Writer;
use super::xml::{XSI, text_of, value_of};
use crate::messages;
use crate::plan::{ExplicitForm, ExplicitItem, ExplicitTag};
use crate::scalar::xml_text::{push_attribute, push_text};

pub(super) struct ExplicitWriter<'p> {
    form: &'p ExplicitForm,
    /// The elements that are open, outermost first.
    open: Vec<&'p ExplicitTag>,
    /// Whether the start tag of the innermost is.
    is_tag_open: bool,
    has_rows: bool,
}

impl<'p> ExplicitWriter<'p> {
    pub(super) fn new(form: &'p ExplicitForm) -> ExplicitWriter<'p> {
        ExplicitWriter {
            form,
            open: Vec::new(),
            is_tag_open: false,
            has_rows: false,
        }
    }

    /// The number of a tag in one of the first two columns; `None` for no parent.
    fn tag_of(&self, row: &[Value], place: usize) -> Result<Option<&'p ExplicitTag>> {
        let wrong = || match place {
            0 => messages::explicit_tag_column(),
            _ => messages::explicit_parent_column(),
        };
        let number = match row.get(place) {
            Some(Value::Null) | None if place == 1 => return Ok(None),
            Some(value) => value.as_i64().ok_or_else(wrong)?,
            None => return Err(wrong()),
        };
        if number == 0 && place == 1 {
            return Ok(None);
        }
        if number <= 0 {
            return Err(wrong());
        }
        let found = self.form.tags.iter().find(|tag| tag.number == number);
        let undeclared = || match place {
            0 => messages::explicit_tag_undeclared(number),
            _ => messages::explicit_parent_undeclared(number),
        };
        found.map(Some).ok_or_else(undeclared)
    }

    fn close_one(&mut self, output: &mut String) {
        let Some(tag) = self.open.pop() else { return };
        match std::mem::take(&mut self.is_tag_open) {
            true => output.push_str("/>"),
            false => output.push_str(&format!("</{}>", tag.name)),
        }
    }

    fn finish_tag(&mut self, output: &mut String) {
        if std::mem::take(&mut self.is_tag_open) {
            output.push('>');
        }
    }

    fn push_content(&mut self, output: &mut String, item: &ExplicitItem, row: &[Value]) -> Result<()> {
        let (column, is_nil) = match item {
            ExplicitItem::Attribute(..) => return Ok(()),
            ExplicitItem::Element(_, column, is_nil) => (column, *is_nil),
            ExplicitItem::Text(column) | ExplicitItem::CharacterData(column) => (column, false),
        };
        let Some(value) = value_of(row, column) else {
            if let (true, ExplicitItem::Element(name, ..)) = (is_nil, item) {
                self.finish_tag(output);
                output.push_str(&format!("<{name} xsi:nil=\"true\"/>"));
            }
            return Ok(());
        };
        self.finish_tag(output);
        let text = text_of(value, column)?;
        match item {
            ExplicitItem::Element(name, ..) if column.is_fragment => {
                output.push_str(&format!("<{name}>{text}</{name}>"));
            }
            ExplicitItem::Element(name, ..) => {
                output.push_str(&format!("<{name}>"));
                push_text(output, &text);
                output.push_str(&format!("</{name}>"));
            }
            ExplicitItem::CharacterData(_) => output.push_str(&format!("<![CDATA[{text}]]>")),
            _ if column.is_fragment => output.push_str(&text),
            _ => push_text(output, &text),
        }
        Ok(())
    }
}

impl Writer for ExplicitWriter<'_> {
    /// # Errors
    /// 6803, 6804, 6806 and 6807 for tags that are none, 6833 for a parent that is not open.
    fn row(&mut self, output: &mut String, row: &[Value]) -> Result<()> {
        if !std::mem::replace(&mut self.has_rows, true)
            && let Some(root) = &self.form.root
        {
            output.push_str(&format!("<{root}{}>", if self.form.has_nil { XSI } else { "" }));
        }
        let tag = self.tag_of(row, 0)?.ok_or_else(messages::explicit_tag_column)?;
        let parent = self.tag_of(row, 1)?.map(|parent| parent.number);
        while self.open.last().map(|open| open.number) != parent {
            if self.open.is_empty() {
                return Err(messages::explicit_parent_closed(parent.unwrap_or_default()));
            }
            self.close_one(output);
        }
        self.finish_tag(output);
        output.push_str(&format!("<{}", tag.name));
        if self.open.is_empty() && self.form.root.is_none() && self.form.has_nil {
            output.push_str(XSI);
        }
        for item in &tag.items {
            if let ExplicitItem::Attribute(name, column) = item
                && let Some(value) = value_of(row, column)
            {
                output.push_str(&format!(" {name}=\""));
                push_attribute(output, &text_of(value, column)?);
                output.push('"');
            }
        }
        self.open.push(tag);
        self.is_tag_open = true;
        for item in &tag.items {
            self.push_content(output, item, row)?;
        }
        Ok(())
    }

    fn end(&mut self, output: &mut String) {
        while !self.open.is_empty() {
            self.close_one(output);
        }
        if let Some(root) = &self.form.root {
            output.push_str(&format!("</{root}>"));
        }
    }
}
