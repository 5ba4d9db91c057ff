//! Checks whether a text is well formed as a value of type xml, for CAST, CONVERT, TRY_CAST and TRY_CONVERT. `quick_xml` parses it.
//!
//! The type is stored as `nvarchar(max)`: the text stays as written, but for its declaration. Fragments are valid: several elements, or text next to them (sql-docs,
//! "xml data type and columns").
//!
//! | what is wrong | number |
//! |---|---|
//! | the text ends within an element, a tag or a comment | 9400 |
//! | a reference without its semicolon | 9411 |
//! | an attribute without a value, or without quotes, or without `=` | 9413, 9414 |
//! | `<` in the value of an attribute | 9415 |
//! | an invalid number in a reference | 9416 hexadecimal, 9417 decimal |
//! | a character that XML does not allow | 9420 |
//! | an ampersand before something other than a name | 9421 |
//! | invalid markup | 9422 |
//! | an end tag with another name | 9436 |
//! | an attribute twice | 9437 |
//! | a declaration behind the beginning of a value | 9438 |
//! | a reference to an undeclared entity | 9448 |
//! | an invalid name | 9455 |
//! | an encoding other than the text's | 9402 |
//! | a DTD | 6359 |
//! | more than 128 nested elements | 6335 |
//!
//! The numbers are those of sys.messages (sql-docs, "Database engine events and errors", 6000 to 6999 and 9000 to 9999).

use std::collections::HashSet;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::{SqlType, Text, Value, string_room};
use quick_xml::Reader;
use quick_xml::errors::{Error as ReadError, IllFormedError, SyntaxError};
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesDecl, BytesStart, Event};

use crate::messages;

/// An XML schema collection by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlCollectionName {
    pub database: String,
    pub schema: String,
    pub name: String,
}

/// "Maximum allowed depth is 128 levels" (error 6335).
const DEPTH_MAX: usize = 128;

const UNEXPECTED_END: Fault = (9400, "unexpected end of input");
const SEMICOLON: Fault = (9411, "semicolon expected");
const LITERAL: Fault = (9413, "A string literal was expected");
const EQUAL: Fault = (9414, "equal expected");
const LESS_IN_VALUE: Fault = (9415, "well formed check: no '<' in attribute value");
const HEXADECIMAL: Fault = (9416, "hexadecimal digit expected");
const DECIMAL: Fault = (9417, "decimal digit expected");
const CHARACTER: Fault = (9420, "illegal xml character");
const REFERENCE_NAME: Fault = (9421, "illegal name character");
const SYNTAX: Fault = (9422, "incorrect document syntax");
const END_TAG: Fault = (9436, "end tag does not match start tag");
const DUPLICATE: Fault = (9437, "duplicate attribute");
const LATE_DECLARATION: Fault = (9438, "text/xmldecl not at the beginning of input");
const UNDECLARED: Fault = (9448, "well formed check: undeclared entity");
const NAME: Fault = (9455, "illegal qualified name character");
const ENCODING: Fault = (9402, "unable to switch the encoding");

/// A number, and its words.
type Fault = (i32, &'static str);

/// Checks a text, and says what stands at its top. `is_unicode` is whether it is UTF-16 to SQL Server, so that it can be in no other encoding.
///
/// # Errors
/// Those of the table; 3617 when the request is to stop.
pub fn check(text: &str, is_unicode: bool) -> Result<Roots> {
    checked(text, is_unicode, LateDeclarations::Taken)
}

/// What to do with a declaration behind the beginning. Texts of several schemas have them, a value must not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LateDeclarations {
    Taken,
    Refused,
}

fn checked(text: &str, is_unicode: bool, late: LateDeclarations) -> Result<Roots> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut reader = Reader::from_str(text);
    let (mut depth, mut roots) = (0_usize, Roots::None);
    loop {
        let start = position(reader.buffer_position());
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(told(text, position(reader.error_position()), of_reader(text, &error))),
        };
        let end = position(reader.buffer_position());
        cancel::spend_bytes(end.saturating_sub(start))?;
        cancel::spend(1)?;
        if depth == 0 {
            roots = roots.with(&event);
        }
        let outcome = match &event {
            Event::Start(tag) => {
                depth += 1;
                tag_fault(tag)
            }
            Event::Empty(tag) => tag_fault(tag),
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                Ok(())
            }
            Event::Text(part) => characters_fault(part),
            Event::Comment(part) => characters_fault(part),
            Event::CData(part) => characters_fault(part),
            Event::GeneralRef(name) => reference_fault(name),
            Event::Decl(_) if start > 0 && late == LateDeclarations::Refused => Err(LATE_DECLARATION),
            Event::Decl(declaration) => declaration_fault(declaration, is_unicode),
            Event::DocType(_) => return Err(dtd_refused()),
            Event::PI(_) => Ok(()),
            Event::Eof if depth > 0 => Err(UNEXPECTED_END),
            Event::Eof => return Ok(roots),
        };
        outcome.map_err(|fault| told(text, end, fault))?;
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
    }
}

/// A text without the XML declaration that it begins with: as an xml value is kept, whatever encoding its text declared.
fn without_declaration(text: &str) -> &str {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let Some(declaration) = text.strip_prefix("<?xml") else {
        return text;
    };
    // `<?xml-stylesheet ...?>` is an instruction.
    match declaration.starts_with([' ', '\t', '\r', '\n']) {
        true => declaration.split_once("?>").map_or(text, |(_, content)| content),
        false => text,
    }
}

/// A text of schemas without any of their declarations, if it is well formed.
pub fn without_declarations(text: &str) -> String {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut reader = Reader::from_str(text);
    let (mut kept, mut start) = (String::with_capacity(text.len()), 0);
    loop {
        let event = match reader.read_event() {
            Ok(Event::Eof) | Err(_) => return kept,
            Ok(event) => event,
        };
        let is_declaration = matches!(event, Event::Decl(_));
        let end = position(reader.buffer_position());
        if !is_declaration {
            kept.push_str(text.get(start..end).unwrap_or_default());
        }
        start = end;
    }
}

/// A string or bytes as xml: the text, without the declaration of its encoding (sql-docs, "Create instances of XML data", on the XML declaration).
///
/// # Errors
/// Those of [`check`], for bytes that are no text too; 529 for what is neither; 701.
pub fn to_xml(value: &Value, from: SqlType) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Text(text) => {
            checked(text, from.is_unicode(), LateDeclarations::Refused)?;
            let content = without_declaration(text);
            if content.len() == text.len() {
                return Ok(Value::Text(text.clone()));
            }
            let charge = string_room(content.len())?;
            Ok(Value::Text(Text::charged(content.to_owned(), charge)))
        }
        Value::Binary(bytes) => {
            // A character of two bytes becomes one of three.
            let charge = string_room(bytes.len().saturating_mul(2))?;
            let (mut text, is_unicode) = decoded(bytes)?;
            checked(&text, is_unicode, LateDeclarations::Refused)?;
            let declaration = text.len() - without_declaration(&text).len();
            text.drain(..declaration);
            Ok(Value::Text(Text::charged(text, charge)))
        }
        _ => Err(messages::explicit_conversion(from.name(), SqlType::XML.name())),
    }
}

/// Bytes as text: UTF-16 where their mark or their second byte says so, or where they are no UTF-8, else UTF-8 (XML 1.0, appendix F).
fn decoded(bytes: &[u8]) -> Result<(String, bool)> {
    let wide = bytes.strip_prefix(&[0xFF, 0xFE]);
    if wide.is_none()
        && bytes.get(1) != Some(&0)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Ok((text.to_owned(), false));
    }
    let illegal = || Error::new(9420, 16, 1, "XML parsing: line 1, character 1, illegal xml character");
    let (units, odd) = wide.unwrap_or(bytes).as_chunks::<2>();
    if !odd.is_empty() {
        return Err(illegal());
    }
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let text: std::result::Result<String, _> = char::decode_utf16(units).collect();
    Ok((text.map_err(|_| illegal())?, true))
}

/// What stands at the top of a text that is well formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots {
    /// One element, with nothing but blanks, comments and instructions around it: a document.
    One,
    Several,
    /// Characters outside of any element.
    Text,
    None,
}

impl Roots {
    /// With what comes next at the top.
    fn with(self, event: &Event<'_>) -> Roots {
        let is_text = match event {
            Event::Text(part) => !part.trim().is_empty(),
            Event::CData(_) | Event::GeneralRef(_) => true,
            _ => false,
        };
        let is_root = matches!(event, Event::Start(_) | Event::Empty(_));
        match self {
            Roots::Text => Roots::Text,
            _ if is_text => Roots::Text,
            Roots::None if is_root => Roots::One,
            Roots::One if is_root => Roots::Several,
            _ => self,
        }
    }
}

fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// What the reader has found.
fn of_reader(text: &str, error: &ReadError) -> Fault {
    match error {
        ReadError::Syntax(SyntaxError::InvalidBangMarkup) => SYNTAX,
        ReadError::Syntax(_) | ReadError::IllFormed(IllFormedError::MissingEndTag(_)) => UNEXPECTED_END,
        ReadError::IllFormed(IllFormedError::MismatchedEndTag { .. } | IllFormedError::UnmatchedEndTag(_)) => END_TAG,
        ReadError::IllFormed(IllFormedError::UnclosedReference) => unclosed_reference(text),
        ReadError::InvalidAttr(error) => of_attribute(error),
        _ => SYNTAX,
    }
}

/// A name behind an ampersand needs a semicolon; anything else needs the ampersand escaped.
fn unclosed_reference(text: &str) -> Fault {
    let behind = text.rsplit('&').next().and_then(|rest| rest.chars().next());
    match behind {
        Some(first) if first == '#' || is_name_start(first) => SEMICOLON,
        _ => REFERENCE_NAME,
    }
}

fn of_attribute(error: &AttrError) -> Fault {
    match error {
        AttrError::ExpectedEq(_) => EQUAL,
        AttrError::Duplicated(..) => DUPLICATE,
        AttrError::ExpectedValue(_) | AttrError::UnquotedValue(_) | AttrError::ExpectedQuote(..) => LITERAL,
    }
}

fn tag_fault(tag: &BytesStart<'_>) -> std::result::Result<(), Fault> {
    name_fault(tag.name().as_ref())?;
    let mut names = HashSet::new();
    let mut attributes = tag.attributes();
    // Whether one comes twice is looked up here, in time that grows with their number.
    for attribute in attributes.with_checks(false) {
        let attribute = attribute.map_err(|error| of_attribute(&error))?;
        let name: &str = attribute.key.as_ref();
        name_fault(name)?;
        if !names.insert(name.to_owned()) {
            return Err(DUPLICATE);
        }
        value_fault(&attribute.value)?;
    }
    Ok(())
}

fn value_fault(value: &str) -> std::result::Result<(), Fault> {
    if value.contains('<') {
        return Err(LESS_IN_VALUE);
    }
    characters_fault(value)?;
    for behind in value.split('&').skip(1) {
        match behind.split_once(';') {
            Some((name, _))
                if name
                    .chars()
                    .all(|character| character == '#' || is_name_character(character)) =>
            {
                reference_fault(name)?;
            }
            _ => return Err(unclosed_reference(&format!("&{behind}"))),
        }
    }
    Ok(())
}

fn reference_fault(name: &str) -> std::result::Result<(), Fault> {
    if let Some(number) = name.strip_prefix('#') {
        let (digits, radix, fault) = match number.strip_prefix('x') {
            Some(digits) => (digits, 16, HEXADECIMAL),
            None => (number, 10, DECIMAL),
        };
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
            return Err(fault);
        }
        let code = u32::from_str_radix(digits, radix).ok();
        let character = code.and_then(char::from_u32).filter(|character| is_legal(*character));
        return character.map(|_| ()).ok_or(CHARACTER);
    }
    match name {
        "amp" | "lt" | "gt" | "apos" | "quot" => Ok(()),
        _ if name.chars().next().is_some_and(is_name_start) => Err(UNDECLARED),
        _ => Err(REFERENCE_NAME),
    }
}

/// An encoding that is declared is that of the characters: UTF-16 of Unicode, any that takes one byte at a time of the others.
fn declaration_fault(declaration: &BytesDecl<'_>, is_unicode: bool) -> std::result::Result<(), Fault> {
    let Some(encoding) = declaration.encoding() else {
        return Ok(());
    };
    let encoding = encoding.map_err(|error| of_attribute(&error))?.to_lowercase();
    let is_wide = ["utf-16", "ucs-2", "iso-10646-ucs-2"].contains(&encoding.as_str());
    match is_wide == is_unicode {
        true => Ok(()),
        false => Err(ENCODING),
    }
}

fn name_fault(name: &str) -> std::result::Result<(), Fault> {
    let mut characters = name.chars();
    let is_name = characters.next().is_some_and(is_name_start) && characters.all(is_name_character);
    // A prefix and a local name at most.
    match is_name && name.split(':').all(|part| !part.is_empty()) && name.matches(':').count() < 2 {
        true => Ok(()),
        false => Err(NAME),
    }
}

fn is_name_start(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}

fn is_name_character(character: char) -> bool {
    is_name_start(character) || character.is_numeric() || matches!(character, '-' | '.' | ':' | '\u{B7}')
}

fn characters_fault(text: &str) -> std::result::Result<(), Fault> {
    match text.chars().all(is_legal) {
        true => Ok(()),
        false => Err(CHARACTER),
    }
}

/// Char of the specification of XML 1.0, 2.2.
fn is_legal(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// The error at a place, by line and by character in it.
fn told(text: &str, at: usize, (number, words): Fault) -> Error {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let in_line = before.rsplit('\n').next().unwrap_or_default();
    let character = in_line.chars().count().max(1);
    let text = format!("XML parsing: line {line}, character {character}, {words}");
    Error::new(number, 16, 1, text)
}

fn dtd_refused() -> Error {
    let text = "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style option 2 to enable limited internal subset DTD support.";
    Error::new(6359, 16, 1, text)
}

fn too_deep() -> Error {
    let text = "XML datatype instance has too many levels of nested nodes. Maximum allowed depth is 128 levels.";
    Error::new(6335, 16, 101, text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_well_formed_passes() {
        let long = format!("<a {}/>", (0..5_000).map(|n| format!("a{n}='x' ")).collect::<String>());
        let deep = format!("{}{}", "<a>".repeat(128), "</a>".repeat(128));
        for text in [
            "",
            " ",
            "text",
            "<a/>",
            "<a>1</a>",
            "<a/><b/>",
            "x<a b='1' c=\"&lt;&#65;&#x41;\">&amp;</a>y",
            "<p:a xmlns:p='u'/>",
            "<!-- c --><a><![CDATA[<&]]></a>",
            "<?xml version='1.0'?><a/>",
            "<?xml version='1.0' encoding='utf-16'?><a/>",
            "<é/>",
            &long,
            &deep,
        ] {
            assert!(check(text, true).is_ok(), "{text}");
        }
        assert_eq!(
            check("<?xml version='1.0' encoding='utf-8'?><a/>", false),
            Ok(Roots::One)
        );
    }

    #[test]
    fn what_is_not_is_told_by_its_number() {
        let deep = format!("{}{}", "<a>".repeat(129), "</a>".repeat(129));
        for (text, number) in [
            ("<a>", 9400),
            ("<a", 9400),
            ("<!-- ", 9400),
            ("<a b='1", 9400),
            ("a &amp b", 9411),
            ("<a b=1/>", 9413),
            ("<a b/>", 9414),
            ("<a b='<'/>", 9415),
            ("&#xg;", 9416),
            ("&#a;", 9417),
            ("\u{1}", 9420),
            ("&#0;", 9420),
            ("a & b", 9421),
            ("<a b='&'/>", 9421),
            ("<!x>", 9422),
            ("<a></b>", 9436),
            ("</a>", 9436),
            ("<a b='1' b='2'/>", 9437),
            ("&nbsp;", 9448),
            ("<1/>", 9455),
            ("<a:b:c/>", 9455),
            ("<?xml version='1.0' encoding='utf-8'?><a/>", 9402),
            ("<!DOCTYPE a><a/>", 6359),
            (&deep, 6335),
        ] {
            assert_eq!(check(text, true).unwrap_err().number, number, "{text}");
        }
        let told = check("<a>", true).unwrap_err().message;
        assert_eq!(told, "XML parsing: line 1, character 3, unexpected end of input");
        let told = check("<a>\n <b></c>", true).unwrap_err().message;
        assert!(told.starts_with("XML parsing: line 2, "), "{told}");
    }
}
