//! Text and names as xml writes them.

/// Text between tags.
pub fn push_text(output: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => output.push_str("&amp;"),
            '<' => output.push_str("&lt;"),
            '>' => output.push_str("&gt;"),
            '\t' | '\n' => output.push(character),
            control if u32::from(control) < 32 => push_reference(output, control),
            other => output.push(other),
        }
    }
}

/// The value of an attribute, in which white space is written as references.
pub fn push_attribute(output: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => output.push_str("&amp;"),
            '<' => output.push_str("&lt;"),
            '>' => output.push_str("&gt;"),
            '"' => output.push_str("&quot;"),
            control if u32::from(control) < 32 => push_reference(output, control),
            other => output.push(other),
        }
    }
}

fn push_reference(output: &mut String, character: char) {
    output.push_str(&format!("&#x{:02X};", u32::from(character)));
}

/// A name of a column or table as a name of xml: what may not stand in one becomes `_x0020_` (sql-docs, "FOR XML", "Encode
/// identifiers").
pub fn encoded_name(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for (at, character) in name.char_indices() {
        // What would be read as the beginning of an escape is escaped, whatever follows.
        let is_escape = character == '_' && name.get(at + 1..).is_some_and(|rest| rest.starts_with('x'));
        let is_fit = match at {
            0 => is_name_start(character),
            _ => is_name_character(character) || character == ':',
        };
        match is_fit && !is_escape {
            true => encoded.push(character),
            false => encoded.push_str(&format!("_x{:04X}_", u32::from(character))),
        }
    }
    encoded
}

/// The first character that may not stand in a name of xml, which may have a prefix.
pub fn first_fault(name: &str) -> Option<char> {
    let mut parts = name.splitn(2, ':');
    parts.find_map(|part| {
        let mut characters = part.chars();
        match characters.next() {
            None => Some(':'),
            Some(first) if !is_name_start(first) => Some(first),
            Some(_) => characters.find(|character| !is_name_character(*character)),
        }
    })
}

pub fn is_name_start(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}

pub fn is_name_character(character: char) -> bool {
    is_name_start(character) || character.is_numeric() || matches!(character, '-' | '.' | '\u{B7}')
}
