//! Names and literals of T-SQL, and the words of a module's text.

use std::collections::BTreeSet;

/// `[name]`.
pub(super) fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// `[schema].[name]`.
pub(super) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

/// `N'text'`.
pub(super) fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// Every identifier and word of a text in lower case, without those of comments and strings.
pub(super) fn words_of(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '\'' => after(rest.get(1..), "'"),
            '-' if rest.starts_with("--") => after(rest.get(2..), "\n"),
            '/' if rest.starts_with("/*") => after(rest.get(2..), "*/"),
            '[' | '"' => {
                let end = if first == '[' { "]" } else { "\"" };
                let inner = rest.get(1..).unwrap_or_default();
                words.insert(inner.split(end).next().unwrap_or_default().to_lowercase());
                after(Some(inner), end)
            }
            letter if is_of_word(letter) => {
                let length = rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len());
                let (word, left) = rest.split_at(length);
                words.insert(word.to_lowercase());
                left
            }
            other => rest.get(other.len_utf8()..).unwrap_or_default(),
        };
    }
    words
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '@' | '#' | '$')
}

fn after<'a>(text: Option<&'a str>, end: &str) -> &'a str {
    text.and_then(|text| text.split_once(end)).map_or("", |(_, rest)| rest)
}
