//! What of the house's English a machine can check: words that give away a translation, doc lines that repeat a name, and the form of
//! the section on errors.

use std::collections::BTreeSet;

/// Phrases that a native speaker would not write in a comment. They are looked for between words, in small letters.
const GIVEAWAYS: [&str; 16] = [
    "whoever",
    "somebody",
    "nobody's",
    "for who",
    "of who",
    "to who",
    "who asks",
    "who does not",
    "where there is none",
    "where there are none",
    "is told",
    "are told",
    "was told",
    "were told",
    "be told",
    "has it made",
];
/// Behind `told`: to distinguish, which is good English.
const TOLD: [&str; 2] = ["apart", "from"];
/// Behind `is no`: good English. Otherwise it stands for "is not a".
const IS_NO: [&str; 12] = [
    "longer", "more", "less", "later", "earlier", "better", "worse", "higher", "lower", "larger", "reason", "limit",
];
/// Whole doc lines that say nothing.
const EMPTY: [&str; 24] = [
    "see the module",
    "in words",
    "where it is",
    "what it is",
    "all of it",
    "how many",
    "when",
    "where",
    "why",
    "rows",
    "the rows",
    "the text",
    "its text",
    "the value",
    "its value",
    "the number",
    "its number",
    "any",
    "nothing",
    "whose",
    "what was found",
    "what to do",
    "where it begins",
    "what it holds",
];
/// Words that add nothing to a name.
const FILLERS: [&str; 38] = [
    "the", "a", "an", "of", "its", "their", "this", "these", "those", "it", "in", "that", "which", "is", "are", "was",
    "and", "or", "one", "all", "any", "some", "for", "to", "by", "what", "where", "who", "how", "with", "at", "on",
    "as", "whole", "single", "given", "each", "every",
];
/// A doc comment of more words says something.
const SHORT_WORDS_MAX: usize = 3;

/// A comment of a source: its first line, from 1, and its text on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub line: usize,
    pub text: String,
}

/// The comments of a source; lines that follow each other are one.
pub fn comments(source: &str) -> Vec<Comment> {
    let mut found: Vec<Comment> = Vec::new();
    let mut follows = false;
    for (index, line) in source.lines().enumerate() {
        let Some(text) = line.trim_start().strip_prefix("//") else {
            follows = false;
            continue;
        };
        let text = text.trim_start_matches(['/', '!']).trim();
        match found.last_mut().filter(|_| follows) {
            Some(last) => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            None => found.push(Comment {
                line: index + 1,
                text: text.to_string(),
            }),
        }
        follows = true;
    }
    found
}

/// Phrases of a text that give away a translation.
pub fn giveaways(text: &str) -> Vec<String> {
    let quoted = text.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let words: Vec<String> = quoted
        .split(|character: char| !character.is_alphanumeric() && character != '\'' && character != '.')
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let behind = |count: usize| words.get(at + count).map_or("", String::as_str);
        for giveaway in GIVEAWAYS {
            let mut here = words[at..].iter();
            let is_here = giveaway
                .split(' ')
                .all(|expected| here.next().is_some_and(|word| word == expected));
            let distinguishes = giveaway.ends_with("told") && TOLD.contains(&behind(2));
            if is_here && !distinguishes {
                found.push(giveaway.to_string());
            }
        }
        let is_there = at > 0 && words[at - 1] == "there";
        if word == "is" && behind(1) == "no" && !is_there && !IS_NO.contains(&behind(2)) {
            found.push(format!("is no {}", behind(2)));
        }
    }
    found
}

/// A word without what its form adds: `rows` and `row` are alike.
fn stem(word: &str) -> String {
    let word = word.to_lowercase().replace("'s", "");
    let ending = ["ing", "ies", "es", "ed", "s"]
        .into_iter()
        .find(|ending| word.ends_with(ending) && word.len() >= ending.len() + 3);
    let short = &word[..word.len() - ending.map_or(0, str::len)];
    short.trim_end_matches('e').to_string()
}

/// The words of the names in a line of code: `pub vlf_count: VlfCount` has `vlf` and `count`.
fn words_of_names(code: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut was_upper = false;
    for character in code.chars().chain([' ']) {
        let begins = character.is_uppercase() && !was_upper;
        if (begins || !character.is_alphanumeric()) && !word.is_empty() {
            words.insert(stem(&word));
            word.clear();
        }
        if character.is_alphanumeric() {
            word.push(character);
        }
        was_upper = character.is_uppercase();
    }
    words
}

/// Doc comments of one line and at most three words that say no more than the name below them, with their lines from 1. Texts that
/// a derive makes help of are left out.
pub fn empty_docs(source: &str) -> Vec<Comment> {
    let derives = ["Parser", "Args", "Subcommand", "ValueEnum"];
    let makes_help = |line: &str| line.contains("derive(") && derives.iter().any(|derive| line.contains(derive));
    if source.lines().any(makes_help) {
        return Vec::new();
    }
    let lines: Vec<&str> = source.lines().collect();
    let doc = |index: usize| {
        lines
            .get(index)
            .and_then(|line: &&str| line.trim_start().strip_prefix("///"))
    };
    let mut owner = BTreeSet::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let code = line
            .trim_start()
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ");
        if ["struct ", "enum ", "trait ", "impl ", "mod "]
            .iter()
            .any(|word| code.starts_with(word))
        {
            owner = words_of_names(code);
        }
        let alone = doc(index + 1).is_none() && (index == 0 || doc(index - 1).is_none());
        let Some(text) = doc(index).filter(|_| alone) else {
            continue;
        };
        let text = text.trim();
        if text.split_whitespace().count() > SHORT_WORDS_MAX {
            continue;
        }
        let below = lines[index + 1..]
            .iter()
            .find(|line| !line.trim_start().starts_with("#["));
        let names = words_of_names(below.map_or("", |line| line.split(" = ").next().unwrap_or_default()));
        if repeats(text, &names, &owner) {
            found.push(Comment {
                line: index + 1,
                text: text.to_string(),
            });
        }
    }
    found
}

/// Whether a text of at most [`SHORT_WORDS_MAX`] words says no more than the names around it.
fn repeats(text: &str, names: &BTreeSet<String>, owner: &BTreeSet<String>) -> bool {
    let plain = text.trim_end_matches('.');
    let words: Vec<&str> = plain.split_whitespace().collect();
    let is_plain = plain
        .chars()
        .all(|character| character.is_alphabetic() || [' ', '\'', ','].contains(&character));
    if words.is_empty() || !is_plain {
        return false;
    }
    let adds = |word: &&&str| {
        let word = word.trim_matches(',');
        let is_filler = FILLERS.contains(&word.to_lowercase().as_str());
        !is_filler && !names.contains(&stem(word)) && !owner.contains(&stem(word))
    };
    EMPTY.contains(&plain.to_lowercase().as_str()) || !words.iter().any(|word| adds(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giveaways_are_found_over_lines_and_good_english_is_not() {
        let source = "// A page of nobody's,\n// and whoever reads it\n// is told.\nfn a() {}\n/// There is no page, and it is no longer\n/// told apart. \"is no quotation\" is no cause.\n";
        let found: Vec<(usize, Vec<String>)> = comments(source)
            .iter()
            .map(|comment| (comment.line, giveaways(&comment.text)))
            .collect();
        let expected: [(usize, Vec<String>); 2] = [
            (1, ["nobody's", "whoever", "is told"].map(str::to_string).to_vec()),
            (5, vec!["is no cause".to_string()]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_doc_line_that_repeats_its_name_is_found_and_one_that_adds_something_is_not() {
        let source = "/// A page.\npub struct Page {\n    /// The number.\n    pub number: u32,\n    /// From 1.\n    pub line: u32,\n    /// Bytes free.\n    pub room: u16,\n    /// `SET x`\n    pub x: u8,\n}\n";
        let found: Vec<usize> = empty_docs(source).iter().map(|comment| comment.line).collect();
        assert_eq!(found, [1, 3]);
    }
}
