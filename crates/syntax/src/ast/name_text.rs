//! Names of several parts out of strings, as arguments of procedures, functions and DBCC.

use super::{Identifier, Name};

impl Name {
    /// A name of one to four parts; brackets and double quotes are undone. `None` when it ends in nothing or has more parts.
    pub fn parse(text: &str) -> Option<Name> {
        let mut parts = Vec::new();
        let mut characters = text.trim().chars().peekable();
        loop {
            let close = match characters.peek() {
                Some('[') => Some(']'),
                Some('"') => Some('"'),
                _ => None,
            };
            let part = match close {
                Some(close) => quoted(&mut characters, close),
                None => {
                    let mut part = String::new();
                    while let Some(character) = characters.next_if(|character| *character != '.') {
                        part.push(character);
                    }
                    part.trim().to_owned()
                }
            };
            parts.push(Identifier {
                text: part,
                quoted: close.is_some(),
            });
            if characters.next() != Some('.') {
                break;
            }
        }
        let is_valid = parts.len() <= 4 && parts.last().is_some_and(|part| !part.text.is_empty());
        is_valid.then_some(Name { parts })
    }
}

fn quoted(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, close: char) -> String {
    characters.next();
    let mut part = String::new();
    while let Some(character) = characters.next() {
        if character != close {
            part.push(character);
        } else if characters.next_if_eq(&close).is_some() {
            part.push(close);
        } else {
            break;
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn names_are_taken_apart() {
        for (text, expected) in [
            ("charge", Some("charge")),
            ("dbo.charge", Some("dbo.charge")),
            ("[a.b]].c]..\"d e\"", Some("a.b].c..d e")),
            ("", None),
            ("dbo.", None),
            ("a.b.c.d.e", None),
        ] {
            assert_eq!(
                Name::parse(text).map(|name| name.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
