//! Which namespaces WITH XMLNAMESPACES may declare (sql-docs, "WITH XMLNAMESPACES", remarks; the messages are those of sys.messages).

use super::Parsed;
use crate::ast::XmlNamespace;
use crate::error::ParseError;

/// What the prefix `xml` stands for, and no other does (Namespaces in XML 1.0, 3).
const XML: &str = "http://www.w3.org/XML/1998/namespace";

fn error(number: i32, line: u32, message: String) -> ParseError {
    ParseError {
        severity: 16,
        ..ParseError::new(number, line, message)
    }
}

/// # Errors
/// 6869 for a prefix that is declared already, 6870 for one that cannot be a name of xml, 6871 for `xmlns`, 6872 where `xml` and its address are
/// separated, 6874 for an empty address.
pub(super) fn check(line: u32, namespace: &XmlNamespace, declared: &[XmlNamespace]) -> Parsed<()> {
    let XmlNamespace { prefix, address } = namespace;
    if prefix == "xmlns" {
        let text = format!(
            "Prefix '{prefix}' used in WITH XMLNAMESPACES is reserved and cannot be used as a user-defined prefix."
        );
        return Err(error(6871, line, text));
    }
    if let Some(fault) = first_fault(prefix) {
        let text = format!(
            "Prefix '{prefix}' used in WITH XMLNAMESPACES clause contains an invalid XML identifier. '{fault}'(0x{:04X}) is the first \
             character at fault.",
            u32::from(fault)
        );
        return Err(error(6870, line, text));
    }
    if (prefix == "xml") != (address == XML) {
        let text = format!(
            "XML namespace prefix 'xml' can only be associated with the URI {XML}. This URI cannot be used with other prefixes."
        );
        let state = if prefix == "xml" { 1 } else { 2 };
        return Err(ParseError {
            state,
            ..error(6872, line, text)
        });
    }
    if address.is_empty() {
        let text = "Empty URI is not allowed in WITH XMLNAMESPACES clause.";
        return Err(error(6874, line, text.to_owned()));
    }
    if declared.iter().any(|known| known.prefix == *prefix) {
        let name = if prefix.is_empty() { "default" } else { prefix };
        return Err(error(
            6869,
            line,
            format!("Attempt to redefine namespace prefix '{name}'"),
        ));
    }
    Ok(())
}

/// The first character that a name without a colon may not have; the default has no name.
fn first_fault(prefix: &str) -> Option<char> {
    let may_begin = |character: char| character == '_' || character.is_alphabetic();
    let may_follow =
        |character: char| may_begin(character) || character.is_numeric() || matches!(character, '-' | '.' | '\u{B7}');
    let mut characters = prefix.chars();
    let first = characters.next()?;
    match may_begin(first) {
        true => characters.find(|character| !may_follow(*character)),
        false => Some(first),
    }
}
