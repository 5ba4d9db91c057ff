//! What sqlcmd does to a script before the server sees it: batches cut at GO, and variables put in place.
//!
//! - GO stands alone on a line, in any letter case, with an optional count and an optional comment after it; it is not one
//!   inside a string, a quoted identifier or a block comment (SQL Server docs, "SQL Server utilities statements - GO").
//! - `:setvar name value` lines define variables and `$(name)` uses them, also inside strings (SQL Server docs,
//!   "Use sqlcmd with scripting variables").

use std::collections::HashMap;

/// A batch of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The text, without its GO.
    pub text: String,
    /// Line of the script the text starts on, from 1.
    pub first_line: u32,
    /// How often it runs: the count after GO, else 1.
    pub repeat: u32,
}

/// What a line is inside of when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Comment(usize),
    Quote(u8),
}

/// Cuts a script into its batches. Batches of white space alone are left out.
pub fn split(script: &str) -> Vec<Batch> {
    let script = script.strip_prefix('\u{feff}').unwrap_or(script);
    let mut batches = Vec::new();
    let mut text = String::new();
    let mut first_line = 1_u32;
    let mut inside = Inside::Nothing;
    for (index, line) in script.split_inclusive('\n').enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        if let (Inside::Nothing, Some(repeat)) = (inside, go_count(line)) {
            push(&mut batches, &mut text, first_line, repeat);
            first_line = number.saturating_add(1);
            continue;
        }
        inside = after_line(line, inside);
        text.push_str(line);
    }
    push(&mut batches, &mut text, first_line, 1);
    batches
}

fn push(batches: &mut Vec<Batch>, text: &mut String, first_line: u32, repeat: u32) {
    let text = std::mem::take(text);
    if repeat > 0 && !text.trim().is_empty() {
        batches.push(Batch {
            text,
            first_line,
            repeat,
        });
    }
}

/// The count if the line is a GO.
fn go_count(line: &str) -> Option<u32> {
    let line = line.trim();
    let rest = line
        .get(2..)
        .filter(|_| line.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("go")))?;
    let rest = rest.split("--").next().unwrap_or_default();
    if rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '#' | '@' | '$')) {
        return None;
    }
    match rest.trim().trim_end_matches(';').trim_end() {
        "" => Some(1),
        count => count.parse().ok(),
    }
}

/// What the next line starts inside of.
fn after_line(line: &str, mut inside: Inside) -> Inside {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        let mut step = 1;
        inside = match (inside, byte, next) {
            (Inside::Nothing, b'-', b'-') => return Inside::Nothing,
            (Inside::Nothing, b'/', b'*') => {
                step = 2;
                Inside::Comment(1)
            }
            (Inside::Nothing, b'\'' | b'"', _) => Inside::Quote(byte),
            (Inside::Nothing, b'[', _) => Inside::Quote(b']'),
            (Inside::Comment(depth), b'/', b'*') => {
                step = 2;
                Inside::Comment(depth + 1)
            }
            (Inside::Comment(depth), b'*', b'/') => {
                step = 2;
                if depth == 1 {
                    Inside::Nothing
                } else {
                    Inside::Comment(depth - 1)
                }
            }
            // A doubled quote closes and opens again, which comes to the same.
            (Inside::Quote(close), _, _) if byte == close => Inside::Nothing,
            (same, _, _) => same,
        };
        at += step;
    }
    inside
}

/// Scripting variables; their names have no letter case.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    values: HashMap<String, String>,
}

impl Variables {
    /// Defines a variable (`-v name=value`, `:setvar name value`).
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.values.insert(name.to_ascii_lowercase(), value.into());
    }

    /// The text with `:setvar` lines carried out and emptied (so that lines keep their numbers) and every `$(name)`
    /// replaced. The error is the message for a variable that is not defined.
    pub fn substitute(&mut self, script: &str) -> Result<String, String> {
        let mut out = String::with_capacity(script.len());
        for line in script.split_inclusive('\n') {
            if self.set_from_line(line) {
                out.push('\n');
                continue;
            }
            let mut rest = line;
            while let Some((before, after)) = rest.split_once("$(") {
                let Some((name, after)) = after.split_once(')') else {
                    break;
                };
                let Some(value) = self.values.get(&name.to_ascii_lowercase()) else {
                    return Err(format!("'{name}' scripting variable not defined."));
                };
                out.push_str(before);
                out.push_str(value);
                rest = after;
            }
            out.push_str(rest);
        }
        Ok(out)
    }

    /// Carries out a `:setvar` line; false if the line is none.
    fn set_from_line(&mut self, line: &str) -> bool {
        let mut words = line.trim().splitn(2, char::is_whitespace);
        if !words.next().is_some_and(|word| word.eq_ignore_ascii_case(":setvar")) {
            return false;
        }
        let rest = words.next().unwrap_or_default().trim();
        let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let value = value.trim();
        match value.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')) {
            Some(inner) => self.set(name, inner.replace("\"\"", "\"")),
            None if value.is_empty() => {
                self.values.remove(&name.to_ascii_lowercase());
            }
            None => self.set(name, value),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn batches_end_at_go_alone_on_a_line() {
        let script = "\u{feff}use a\r\n go \r\nselect 1\n/*\ngo\n*/\nselect 'x\ngo\ny' -- it's\nGO 3 -- thrice\n\n\
                      Go\nselect [a\ngo\n] from t go\ngoto x\ngo;\n";
        let found: Vec<_> = split(script)
            .into_iter()
            .map(|b| (b.text, b.first_line, b.repeat))
            .collect();
        assert_eq!(
            found,
            [
                ("use a\r\n".to_string(), 1, 1),
                ("select 1\n/*\ngo\n*/\nselect 'x\ngo\ny' -- it's\n".to_string(), 3, 3),
                ("select [a\ngo\n] from t go\ngoto x\n".to_string(), 13, 1),
            ]
        );
    }

    #[test]
    fn variables_are_put_in_place_and_missing_ones_are_named() {
        let mut variables = Variables::default();
        let script = ":setvar db \"my db\"\nselect '$(DB)' from $(Db)..t\n";
        assert_eq!(
            variables.substitute(script).unwrap(),
            "\nselect 'my db' from my db..t\n"
        );
        assert_eq!(
            variables.substitute("$(gone)").unwrap_err(),
            "'gone' scripting variable not defined."
        );
    }
}
