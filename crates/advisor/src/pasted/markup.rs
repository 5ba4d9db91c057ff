//! Tables of HTML, and rows of `FOR XML`: as attributes, or as an element for each column.
//!
//! A scanner of tags, not a parser: what is between the tags that matter is text, whatever surrounds it.

use super::PastedError;
use super::columns;
use super::rows::Row;
use super::text::TableReader;

/// Whether a text is to be read by its tags.
pub(super) fn is_markup(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.trim_start().starts_with('<') || ["<table", "<tr", "<row"].iter().any(|tag| lower.contains(tag))
}

/// Every row of the tables and elements.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, PastedError> {
    let mut reader = TableReader::default();
    let mut cells: Vec<String> = Vec::new();
    let mut content = String::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let (before, tag_on) = rest.split_at(open);
        content.push_str(before);
        line += before.matches('\n').count();
        let Some(close) = tag_on.find('>') else { break };
        let tag = &tag_on[1..close];
        line += tag.matches('\n').count();
        rest = &tag_on[close + 1..];
        let name = tag_name(tag);
        match name.as_str() {
            "td" | "th" => content.clear(),
            "/td" | "/th" => cells.push(plain(&std::mem::take(&mut content))),
            "tr" => cells.clear(),
            "/tr" => reader.cells(&std::mem::take(&mut cells), line)?,
            _ => match name.strip_prefix('/') {
                // The content of a column's element; anything else may end a row.
                Some(column) => {
                    if reader.value(column, &plain(&content)) {
                        content.clear();
                    } else {
                        reader.end_of_record(line)?;
                    }
                }
                None => {
                    let mut each = |name: &str, value: &str| {
                        reader.value(name, &plain(value));
                    };
                    if attributes(tag, &mut each) {
                        reader.end_of_record(line)?;
                    }
                    if columns::by_name(&name).is_some() {
                        content.clear();
                    }
                }
            },
        }
    }
    reader.finish(line)
}

fn tag_name(tag: &str) -> String {
    let name = tag.split(|c: char| c.is_whitespace()).next().unwrap_or("");
    name.to_ascii_lowercase()
}

/// Hands each attribute on; answers whether there was one.
fn attributes(tag: &str, each: &mut dyn FnMut(&str, &str)) -> bool {
    let mut rest = tag.find(char::is_whitespace).map_or("", |at| &tag[at..]);
    let mut any = false;
    while let Some((name, behind)) = rest.split_once('=') {
        let behind = behind.trim_start();
        let Some(quote) = behind.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            break;
        };
        let Some((value, after)) = behind[1..].split_once(quote) else {
            break;
        };
        each(name.trim(), value);
        any = true;
        rest = after;
    }
    any
}

/// Text without the entities that tables have.
fn plain(text: &str) -> String {
    let text = text
        .replace("&nbsp;", "\u{a0}")
        .replace("&#160;", "\u{a0}")
        .replace("&#xa0;", "\u{a0}");
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    text.trim().to_owned()
}
