//! Reads plans in SQL Server's XML: elements with their attributes, and nothing else of XML.

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
}

/// Elements nested deeper than this are no plan.
const DEPTH_MAX: usize = 2_000;

impl Element {
    /// The document's element; `None` when the text is not a document.
    pub fn read(text: &str) -> Option<Element> {
        let mut open = vec![Element::default()];
        let mut rest = text;
        while let Some(start) = rest.find('<') {
            rest = rest.get(start + 1..)?;
            let tag = tag(rest)?;
            rest = rest.get(tag.len() + 1..)?;
            if tag.starts_with(['?', '!']) {
                continue;
            }
            if let Some(name) = tag.strip_prefix('/') {
                let closed = open.pop().filter(|closed| closed.name == name.trim())?;
                open.last_mut()?.children.push(closed);
                continue;
            }
            let element = Element::of(tag.strip_suffix('/').unwrap_or(tag));
            match tag.ends_with('/') {
                true => open.last_mut()?.children.push(element),
                false if open.len() > DEPTH_MAX => return None,
                false => open.push(element),
            }
        }
        let mut root = open.pop()?;
        (open.is_empty() && root.children.len() == 1).then(|| root.children.remove(0))
    }

    /// A tag without its brackets.
    fn of(tag: &str) -> Element {
        let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        while let Some((name, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let Some(quote) = after.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else {
                break;
            };
            let Some((value, after)) = after[1..].split_once(quote) else {
                break;
            };
            attributes.push((name.trim().to_string(), plain(value)));
            rest = after;
        }
        Element {
            name: name.to_string(),
            attributes,
            children: Vec::new(),
        }
    }

    /// An attribute; empty when there is none.
    pub fn attribute(&self, name: &str) -> &str {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value.as_str())
    }

    /// An attribute that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.attribute(name).parse().ok()
    }

    /// The children of a name.
    pub fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first child of a name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }
}

/// A tag up to its closing bracket, which may stand in quotes before.
fn tag(rest: &str) -> Option<&str> {
    let mut quote = None;
    for (at, character) in rest.char_indices() {
        match (quote, character) {
            (None, '>') => return rest.get(..at),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    None
}

/// A text with its references resolved.
fn plain(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        result.push_str(before);
        let Some((reference, after)) = after.split_once(';') else {
            return result + rest;
        };
        let code = reference
            .strip_prefix('#')
            .and_then(|digits| match digits.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => digits.parse().ok(),
            });
        match (reference, code.and_then(char::from_u32)) {
            ("amp", _) => result.push('&'),
            ("lt", _) => result.push('<'),
            ("gt", _) => result.push('>'),
            ("quot", _) => result.push('"'),
            ("apos", _) => result.push('\''),
            (_, Some(character)) => result.push(character),
            _ => {}
        }
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn elements_are_read_with_what_is_quoted_in_them() {
        let text =
            "<?xml version=\"1.0\"?><a x='1' y=\"2 &lt; &quot;3&quot; &#65;&#x42; >\"><b/><c><d n=\"5\"/></c></a>";
        let root = Element::read(text).unwrap();
        assert_eq!((root.name.as_str(), root.children.len()), ("a", 2));
        assert_eq!(root.attribute("y"), "2 < \"3\" AB >");
        assert_eq!(root.child("c").unwrap().child("d").unwrap().number("n"), Some(5.0));
        assert_eq!(root.attribute("none"), "");
    }

    #[test]
    fn what_is_no_document_is_none() {
        for text in [
            "",
            "no",
            "<a>",
            "<a></b>",
            "</a>",
            "<a/><b/>",
            "<a",
            "<a b=\"",
            "<a><b></a></b>",
        ] {
            assert_eq!(Element::read(text), None, "{text}");
        }
        assert_eq!(Element::read(&"<a>".repeat(5_000)), None);
    }
}
