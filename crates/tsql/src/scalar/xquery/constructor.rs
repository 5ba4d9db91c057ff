//! Parses node constructors: `<a b="{1}">...</a>`, `attribute a { ... }`, `text { ... }` (sql-docs, "XML Construction (XQuery)").

use engine::error::Result;

use super::not_done;
use super::parser::Parser;
use super::tree::{Constructor, Expression, Part};

/// The characters that XML takes for white space.
fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|character| matches!(character, ' ' | '\t' | '\r' | '\n'))
}

impl Parser<'_> {
    /// `<name ...>`, `<!-- ... -->` or `<?target ...?>`.
    pub(super) fn direct_constructor(&mut self) -> Result<Expression> {
        let constructor = if self.eat("<![CDATA[")? {
            Constructor::Text(Expression::Text(self.up_to("]]>")?.to_owned()))
        } else if self.eat("<!--")? {
            Constructor::Comment(self.up_to("-->")?.to_owned())
        } else if self.eat("<?")? {
            Constructor::Instruction(self.up_to("?>")?.to_owned())
        } else {
            self.nested(Self::element)?
        };
        Ok(Expression::Constructor(Box::new(constructor)))
    }

    /// What stands before an end, which is passed too.
    fn up_to(&mut self, end: &str) -> Result<&str> {
        let length = self.rest().find(end).ok_or_else(|| self.unexpected())?;
        let inside = self.rest().get(..length).unwrap_or_default();
        self.at += length + end.len();
        Ok(inside)
    }

    fn element(&mut self) -> Result<Constructor> {
        self.expect("<")?;
        let around = self.constructed.len();
        let name = self.take_name()?.to_owned();
        let (declared, attributes) = self.tag_attributes()?;
        self.constructed.extend(declared.iter().cloned());
        let names = attributes.iter().map(|(name, _)| (name.as_str(), false));
        let needed = self.declare(std::iter::once((name.as_str(), true)).chain(names))?;
        self.constructed.extend(needed.iter().cloned());
        let content = match self.eat("/>")? {
            true => Vec::new(),
            false => {
                self.expect(">")?;
                self.content(&name)?
            }
        };
        self.constructed.truncate(around);
        Ok(Constructor::Element {
            name,
            declared: declared.into_iter().chain(needed).collect(),
            attributes,
            content,
        })
    }

    /// The declarations and the attributes of a tag.
    #[allow(clippy::type_complexity)]
    fn tag_attributes(&mut self) -> Result<(Vec<(String, String)>, Vec<(String, Vec<Part>)>)> {
        let (mut declared, mut attributes) = (Vec::new(), Vec::new());
        loop {
            let name = self.peek_name()?.to_owned();
            if name.is_empty() {
                return Ok((declared, attributes));
            }
            self.at += name.len();
            self.expect("=")?;
            let value = self.attribute_value()?;
            let prefix = match name.strip_prefix("xmlns") {
                Some("") => Some(String::new()),
                Some(rest) => rest.strip_prefix(':').map(str::to_owned),
                None => None,
            };
            match (prefix, value.as_slice()) {
                (None, _) => attributes.push((name, value)),
                (Some(prefix), []) => declared.push((prefix, String::new())),
                (Some(prefix), [Part::Text(address)]) => declared.push((prefix, address.clone())),
                (Some(_), _) => return Err(self.unexpected()),
            }
        }
    }

    /// The declarations that names need beside those of the constructors around; the flag is whether the default holds for a name.
    fn declare<'n>(&self, names: impl Iterator<Item = (&'n str, bool)>) -> Result<Vec<(String, String)>> {
        let mut needed: Vec<(String, String)> = Vec::new();
        for (name, takes_default) in names {
            let prefix = match name.split_once(':') {
                Some(("xml", _)) => continue,
                Some((prefix, _)) => prefix,
                None if takes_default => "",
                None => continue,
            };
            let is_known = |known: &&(String, String)| known.0 == prefix;
            if needed.iter().any(|known| is_known(&known))
                || self.constructed.iter().rev().any(|known| is_known(&known))
            {
                continue;
            }
            let address = self.address_of(prefix)?;
            if !address.is_empty() {
                needed.push((prefix.to_owned(), address));
            }
        }
        Ok(needed)
    }

    /// A value between quotation marks, with `{ ... }` in it.
    fn attribute_value(&mut self) -> Result<Vec<Part>> {
        self.skip()?;
        let mark = self.rest().chars().next().filter(|mark| matches!(mark, '"' | '\''));
        let mark = mark.ok_or_else(|| self.unexpected())?;
        self.at += 1;
        let (mut parts, mut text) = (Vec::new(), String::new());
        loop {
            let next = self.rest().chars().next().ok_or_else(|| self.unexpected())?;
            if next == mark {
                self.at += 1;
                if !self.rest().starts_with(mark) {
                    break;
                }
            } else if next == '{' && !self.rest().starts_with("{{") {
                self.end_text(&mut parts, &mut text)?;
                parts.push(Part::Value(self.enclosed()?));
                continue;
            } else if self.rest().starts_with("{{") || self.rest().starts_with("}}") {
                self.at += 1;
            } else if matches!(next, '<' | '}') {
                return Err(self.unexpected());
            }
            text.push(next);
            self.at += next.len_utf8();
        }
        self.end_text(&mut parts, &mut text)?;
        Ok(parts)
    }

    /// `{ ... }`
    fn enclosed(&mut self) -> Result<Expression> {
        self.expect("{")?;
        if self.eat("}")? {
            return Ok(Expression::Sequence(Vec::new()));
        }
        let value = self.nested(Self::sequence)?;
        self.expect("}")?;
        Ok(value)
    }

    /// A text with its references resolved, if there is one.
    fn end_text(&self, parts: &mut Vec<Part>, text: &mut String) -> Result<()> {
        let text = std::mem::take(text);
        if !text.is_empty() {
            let resolved = quick_xml::escape::unescape(&text).map_err(|_| self.unexpected())?;
            parts.push(Part::Text(resolved.into_owned()));
        }
        Ok(())
    }

    /// What stands between the tags of an element; its end tag is passed.
    fn content(&mut self, name: &str) -> Result<Vec<Part>> {
        let (mut parts, mut text) = (Vec::new(), String::new());
        loop {
            let next = self.rest().chars().next().ok_or_else(|| self.unexpected())?;
            let is_doubled = self.rest().starts_with("{{") || self.rest().starts_with("}}");
            if next == '<' || next == '{' && !is_doubled {
                // "Boundary whitespace" between markup does not count (XQuery 1.0, 3.7.1.4).
                if is_blank(&text) {
                    text.clear();
                }
                self.end_text(&mut parts, &mut text)?;
            }
            if self.rest().starts_with("</") {
                self.at += 2;
                if self.take_name()? != name {
                    return Err(self.unexpected());
                }
                self.expect(">")?;
                return Ok(parts);
            }
            if next == '<' {
                parts.push(Part::Value(self.direct_constructor()?));
            } else if next == '{' && !is_doubled {
                parts.push(Part::Value(self.enclosed()?));
            } else if next == '}' && !is_doubled {
                return Err(self.unexpected());
            } else {
                text.push(next);
                self.at += if is_doubled { 2 } else { next.len_utf8() };
            }
        }
    }

    /// `element name { ... }`, `attribute name { ... }`, `text { ... }`, if one is here.
    pub(super) fn computed_constructor(&mut self) -> Result<Option<Expression>> {
        let word = self.peek_name()?;
        let behind = self.rest().get(word.len()..).unwrap_or_default().trim_start();
        let has_name = behind.split_once('{').is_some_and(|(name, _)| {
            let name = name.trim();
            name.starts_with(crate::scalar::xml_text::is_name_start)
                && !name.contains(|part: char| part.is_whitespace())
        });
        let constructor = match word {
            "text" if behind.starts_with('{') => {
                self.at += word.len();
                Constructor::Text(self.enclosed()?)
            }
            "attribute" if has_name => {
                self.at += word.len();
                let name = self.take_name()?.to_owned();
                Constructor::Attribute(name, self.enclosed()?)
            }
            "element" if has_name => {
                self.at += word.len();
                let name = self.take_name()?.to_owned();
                let declared = self.declare(std::iter::once((name.as_str(), true)))?;
                let around = self.constructed.len();
                self.constructed.extend(declared.iter().cloned());
                let content = vec![Part::Value(self.enclosed()?)];
                self.constructed.truncate(around);
                Constructor::Element {
                    name,
                    declared,
                    attributes: Vec::new(),
                    content,
                }
            }
            "comment" | "document" if behind.starts_with('{') => return Err(not_done(&format!("constructor {word}"))),
            "processing-instruction" if has_name => return Err(not_done(&format!("constructor {word}"))),
            _ => return Ok(None),
        };
        Ok(Some(Expression::Constructor(Box::new(constructor))))
    }
}
