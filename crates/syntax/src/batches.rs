//! sqlcmd's processing of a script before the server sees it: splitting into batches at GO, and substituting variables.
//!
//! - GO is alone on a line, in any letter case, with an optional count and an optional comment after it; it is not one inside a string, a
//!   quoted identifier or a block comment (SQL Server docs, "SQL Server utilities statements - GO").
//! - `$(name)` uses a scripting variable, also inside strings, not in comments (SQL Server docs, "Use sqlcmd with scripting
//!   variables"; go-sqlcmd, `pkg/sqlcmd/batch.go`).

use std::ops::Range;

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

/// What a line is inside of when it starts. On lines that start inside of nothing GO and sqlcmd's commands are looked for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    #[default]
    Nothing,
    /// So many block comments.
    Comment(usize),
    /// What the closing quote or bracket ends.
    Quote(u8),
}

impl Inside {
    /// What the line after `line` starts inside of.
    pub fn after(self, line: &str) -> Inside {
        let mut inside = self;
        walk(line.as_bytes(), &mut inside, &mut |_, _| {});
        inside
    }
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
        inside = inside.after(line);
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

/// Goes through a text, handing over the place of every byte that is in no comment, and whether a variable may begin there.
fn walk(bytes: &[u8], inside: &mut Inside, on_text: &mut dyn FnMut(usize, u8)) {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        let mut step = 1;
        *inside = match (*inside, byte, next) {
            (Inside::Nothing, b'-', b'-') => {
                let rest = bytes.get(at..).unwrap_or_default();
                step = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                Inside::Nothing
            }
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
                match depth {
                    1 => Inside::Nothing,
                    deeper => Inside::Comment(deeper - 1),
                }
            }
            // Doubled, what closes stands for itself: `[a]]b]` is one name. Where it was the text's last, the other one is not there.
            (Inside::Quote(close), _, _) if byte == close && next == close => {
                step = 2;
                Inside::Quote(close)
            }
            (Inside::Quote(close), _, _) if byte == close => Inside::Nothing,
            (same, _, _) => {
                if !matches!(same, Inside::Comment(_)) {
                    on_text(at, byte);
                }
                same
            }
        };
        at += step;
    }
}

/// Where a batch uses scripting variables: `$(name)`, whole and the name alone. What is not a name there is left to the
/// server.
pub fn references(batch: &str) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    walk(batch.as_bytes(), &mut Inside::Nothing, &mut |at, byte| {
        let Some(rest) = batch.get(at..).filter(|_| byte == b'$') else {
            return;
        };
        let Some(rest) = rest.strip_prefix("$(") else {
            return;
        };
        let is_no_name = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-');
        let end = rest.find(is_no_name).unwrap_or(rest.len());
        match rest.split_at_checked(end) {
            Some((name, after)) if !name.is_empty() && after.starts_with(')') => found.push((at..at + end + 3, name)),
            _ => {}
        }
    });
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::lexer::{Lexer, TokenKind};

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

    /// A bracket in a name is written twice. A quote behind it is the name's, and begins no text that would swallow the GO.
    #[test]
    fn a_doubled_bracket_stays_in_its_name() {
        for name in [
            "[a]]b'c]",
            "[a]]b\"c]",
            "[]]]",
            "[a]]/*]",
            "[a]]--]",
            "'a''[b'",
            "\"a\"\"'b\"",
            "[a]]]]'b]",
        ] {
            let script = format!("select 1 as {name}\nGO\nselect 2\nGO\n");
            let texts: Vec<String> = split(&script).into_iter().map(|batch| batch.text).collect();
            assert_eq!(
                texts,
                [format!("select 1 as {name}\n"), "select 2\n".to_string()],
                "{name}"
            );
        }
        let found = references("[a]]$(b)'c]$(d) -- $(no)");
        let names: Vec<&str> = found.iter().map(|(_, name)| *name).collect();
        assert_eq!(names, ["b", "d"]);
    }

    /// Whether a text ends inside of something, as the parser's lexer sees it; None where it finds what belongs to no token.
    fn is_open_to_the_lexer(text: &str) -> Option<bool> {
        let mut lexer = Lexer::new(text, true);
        loop {
            match lexer.next_token() {
                Ok(token) if token.kind == TokenKind::End => return Some(false),
                Ok(_) => {}
                Err(error) => return [105, 113].contains(&error.number).then_some(true),
            }
        }
    }

    /// Every text of up to six of the signs that open and close something: a batch is open where the lexer finds no end, also when it
    /// comes line by line.
    #[test]
    fn the_cutter_and_the_lexer_agree_on_what_is_open() {
        const SIGNS: [char; 8] = ['\'', '"', '[', ']', '-', '/', '*', '\n'];
        const LENGTH_MAX: u32 = 6;
        let mut compared = [0, 0];
        for length in 1..=LENGTH_MAX {
            for number in 0..SIGNS.len().pow(length) {
                let sign = |place| SIGNS.get(number / SIGNS.len().pow(place) % SIGNS.len());
                let text: String = (0..length).filter_map(sign).collect();
                let by_line = text.split('\n').fold(Inside::Nothing, Inside::after);
                assert_eq!(by_line, Inside::Nothing.after(&text), "{text:?}");
                if let Some(is_open) = is_open_to_the_lexer(&text) {
                    assert_eq!(by_line != Inside::Nothing, is_open, "{text:?}");
                    compared[usize::from(is_open)] += 1;
                }
            }
        }
        assert!(compared.iter().all(|count| *count > 10_000), "{compared:?}");
    }

    #[test]
    fn variables_are_found_in_code_and_strings_and_not_in_comments() {
        let batch =
            "select '$(a)', [$(b-1)], \"it's $(c)\" -- $(no)\n/* $(no) /* $(no) */ $(no) */ from $(d)$(e) -- $(no)";
        let found = references(batch);
        let names: Vec<&str> = found.iter().map(|(_, name)| *name).collect();
        assert_eq!(names, ["a", "b-1", "c", "d", "e"]);
        for (place, name) in found {
            assert_eq!(batch.get(place).unwrap(), format!("$({name})"));
        }
        assert_eq!(references("$( $() $(a b) $(a'b) $(a"), []);
    }

    #[test]
    fn lines_know_what_they_start_inside_of() {
        let inside = Inside::Nothing.after("select 'it''s");
        assert_eq!(inside, Inside::Quote(b'\''));
        assert_eq!(inside.after("over'; /* and"), Inside::Comment(1));
        assert_eq!(Inside::Comment(1).after("*/ -- 'no"), Inside::Nothing);
    }
}
