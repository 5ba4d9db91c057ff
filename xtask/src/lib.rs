//! The house rules as code: reads the sources as text and measures them. `tests/it/tidy.rs` has the rules.

pub mod arms;
pub mod prose;
pub mod testing;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A function found in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Line of its `fn`, from 1.
    pub line: usize,
    /// Lines from `fn` to the closing brace.
    pub lines: usize,
    /// Whether the body is one `match` and nothing else, but for an `Ok(())` behind it.
    pub is_one_match: bool,
}

/// Every Rust file below `folder`, Cargo's build output left out, in the order of paths.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        // A module may be called as Cargo calls the folder beside its manifest.
        let is_output = name == "target" && folder.join("Cargo.toml").exists();
        if path.is_dir() && !is_output && !name.starts_with('.') {
            found.extend(rust_files(&path));
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The source with comments, strings and characters blanked; line breaks stay, so that lines keep their numbers.
pub fn blanked(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut output = String::with_capacity(source.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = at + token_bytes(&bytes[at..]);
        let token = &source[at..end];
        let is_code = end - at == 1 || token.bytes().all(|byte| is_of_word(&byte));
        if is_code {
            output.push_str(token);
        } else {
            let blank = |character| if character == '\n' { '\n' } else { ' ' };
            output.extend(token.chars().map(blank));
        }
        at = end;
    }
    output
}

/// Length of the comment, string, character, word or single byte at the start of `rest`.
fn token_bytes(rest: &[u8]) -> usize {
    let up_to = |needle: &[u8], from: usize| {
        let found = rest[from..].windows(needle.len()).position(|window| window == needle);
        found.map_or(rest.len(), |place| from + place + needle.len())
    };
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => up_to(b"*/", 2),
        [b'"', ..] => quoted_bytes(rest, b'"'),
        [b'b', b'"', ..] => 1 + quoted_bytes(&rest[1..], b'"'),
        [b'r', b'"', ..] => up_to(b"\"", 2),
        [b'r', b'#', b'"', ..] => up_to(b"\"#", 3),
        [b'b', b'\'', ..] => 1 + quoted_bytes(&rest[1..], b'\''),
        [b'\'', b'\\', ..] => quoted_bytes(rest, b'\''),
        [b'\'', first, ..] => {
            let character = utf8_bytes(*first);
            // A quote without a closing one behind a single character is a lifetime.
            if rest.get(1 + character) == Some(&b'\'') {
                2 + character
            } else {
                1
            }
        }
        [first, ..] if is_of_word(first) => rest.iter().position(|byte| !is_of_word(byte)).unwrap_or(rest.len()),
        [first, ..] => utf8_bytes(*first),
        [] => 0,
    }
}

/// Names in this workspace are ASCII.
fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

fn utf8_bytes(first: u8) -> usize {
    match first {
        0x00..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
    }
}

fn quoted_bytes(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|character: char| !u8::try_from(character).is_ok_and(|byte| is_of_word(&byte)))
        .filter(|word| !word.is_empty())
}

/// Counts the words of a blanked source.
pub fn count_words<'code>(code: &'code str, counts: &mut HashMap<&'code str, usize>) {
    for word in words(code) {
        *counts.entry(word).or_default() += 1;
    }
}

/// What a blanked source defines for others: lines, from 1, and names of its items that begin with `pub`. Those of an exported name, which a
/// library looks for, are not among them.
pub fn public_items(code: &str) -> Vec<(usize, &str)> {
    const KINDS: [&str; 7] = ["fn", "struct", "enum", "trait", "const", "static", "type"];
    const OF_FUNCTIONS: [&str; 4] = ["const", "async", "unsafe", "extern"];
    let mut items = Vec::new();
    let mut is_exported = false;
    for (line, text) in (1..).zip(code.lines()) {
        if text.trim_start().starts_with("pub ") && !is_exported {
            let words: Vec<&str> = words(text).collect();
            let function = words.iter().position(|word| *word == "fn");
            let function = function.filter(|&at| words[1..at].iter().all(|word| OF_FUNCTIONS.contains(word)));
            let kind = function.unwrap_or(1);
            if let Some([word, name]) = words.get(kind..kind + 2)
                && KINDS.contains(word)
            {
                items.push((line, *name));
            }
        }
        is_exported = text.contains("export_name") || text.contains("no_mangle");
    }
    items
}

/// What a source names of its own crate, as paths from the crate's root: `crate::a::{b, c::D}` is `a::b` and `a::c::D`, and `super::`
/// counts from `module`, the path of the source's own module.
pub fn named_in_crate(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut named = Vec::new();
    let is_word = |byte: Option<&u8>| byte.is_some_and(is_of_word);
    for (at, _) in code.match_indices("crate::") {
        if !is_word(code.as_bytes().get(at.wrapping_sub(1))) {
            tree(&code[at + "crate::".len()..], &[], &mut named);
        }
    }
    let mut from = 0;
    while let Some(found) = code[from..].find("super::") {
        let at = from + found;
        let ups = code[at..]
            .split("super::")
            .take_while(|between| between.is_empty())
            .count();
        from = at + ups * "super::".len();
        let begin = &module[..module.len().saturating_sub(ups)];
        if !is_word(code.as_bytes().get(at.wrapping_sub(1))) {
            tree(&code[from..], begin, &mut named);
        }
    }
    named
}

/// Reads a path or a group of paths at the start of `rest`; answers what is behind it.
fn tree<'c>(rest: &'c str, begin: &[String], named: &mut Vec<Vec<String>>) -> &'c str {
    let mut path = begin.to_vec();
    let mut rest = rest.trim_start();
    loop {
        if let Some(mut inside) = rest.strip_prefix('{') {
            loop {
                inside = tree(inside, &path, named).trim_start();
                match inside.strip_prefix(',') {
                    Some(more) if !more.trim_start().starts_with('}') => inside = more,
                    Some(end) => return end.trim_start().strip_prefix('}').unwrap_or(end),
                    None => return inside.strip_prefix('}').unwrap_or(inside),
                }
            }
        }
        let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_');
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        if !word.is_empty() {
            path.push(word.to_string());
        }
        match behind.strip_prefix("::") {
            Some(more) if !word.is_empty() => rest = more,
            _ => {
                named.push(path);
                // `as` and the new name.
                let renamed = behind.trim_start().strip_prefix("as ");
                return renamed.map_or(behind, |name| {
                    name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                });
            }
        }
    }
}

/// The functions of a source file that have a body.
pub fn functions(source: &str) -> Vec<Function> {
    let code = blanked(source);
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        if let Some(last) = body_end(&lines, index) {
            found.push(Function {
                name,
                line: index + 1,
                lines: last - index + 1,
                is_one_match: is_one_match(&lines[index..=last].join("\n")),
            });
        }
    }
    found
}

fn function_name(line: &str) -> Option<String> {
    let rest = line
        .split_once("fn ")
        .filter(|(before, _)| before.is_empty() || before.ends_with([' ', '(']))
        .map(|parts| parts.1)?;
    // Macros write the name of a function as `$name`.
    let name: String = rest
        .chars()
        .take_while(|character| character.is_alphanumeric() || "_$".contains(*character))
        .collect();
    (!name.is_empty()).then_some(name)
}

/// See [`Function::is_one_match`].
fn is_one_match(function: &str) -> bool {
    let body = function.split_once('{').map_or("", |parts| parts.1).trim_start();
    let Some(arms) = body
        .strip_prefix("match ")
        .and_then(|rest| rest.find('{').map(|at| &rest[at..]))
    else {
        return false;
    };
    let mut depth = 0_usize;
    let end = arms.find(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let behind = end.map_or("", |end| &arms[end + 1..]);
    let behind: String = behind.chars().filter(|character| !character.is_whitespace()).collect();
    matches!(behind.as_str(), "}" | "Ok(())}")
}

/// The line of the brace that closes the function begun on line `start`; `None` for a declaration without a body.
fn body_end(lines: &[&str], start: usize) -> Option<usize> {
    let (mut depth, mut round) = (0i32, 0i32);
    for (index, line) in lines.iter().enumerate().skip(start) {
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                '(' | '[' => round += 1,
                ')' | ']' => round -= 1,
                ';' if depth == 0 && round == 0 => return None,
                _ => {}
            }
            if character == '}' && depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_in_strings_comments_and_characters_do_not_count() {
        let source = "fn one() {\n    let a = \"}\\\"}\"; // }\n    let b = '}'; /* } */\n    let c: &'static str = r#\"}\"#;\n}\n\nfn two();\nfn three() { }\n";
        let found = functions(source);
        let shapes: Vec<(&str, usize, usize)> = found
            .iter()
            .map(|one| (one.name.as_str(), one.line, one.lines))
            .collect();
        assert_eq!(shapes, [("one", 1, 5), ("three", 8, 1)]);
    }
}
