//! Random statements of a grammar that is written down like the documentation's syntax blocks (`tsql.grammar`).
//!
//! ```text
//!   tsql.grammar -> Grammar (rules, the height of each alternative) -> Writer (one statement, by draws)
//!                                                                       |
//!                                                                     names (catalog, literals, tables of options)
//! ```
//! Invariant: the same draws make the same text.

mod names;
mod reader;
mod writer;

pub use names::Kind;
pub use reader::Grammar;
pub use writer::{Manner, write};

/// T-SQL, as far as the parser takes it.
pub const TSQL: &str = include_str!("tsql.grammar");

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Grammar, Manner, TSQL, write};
    use outside::random::Random;
    use std::path::Path;

    /// Words of the parser that no statement needs to hold: parts of messages, and words that the tables of options bring.
    const NOT_IN_THE_GRAMMAR: &[&str] = &["TRUE", "FALSE"];

    /// Every word that the parser looks for, by its sources.
    fn words_of_the_parser() -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/syntax/src/parser");
        let mut words = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let is_word =
                |part: &&str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
            words.extend(text.split('"').skip(1).step_by(2).filter(is_word).map(str::to_owned));
        }
        words.sort();
        words.dedup();
        words
    }

    #[test]
    fn every_word_of_the_parser_is_in_the_grammar() {
        // Units stand right behind their numbers.
        let grammar = TSQL.to_owned() + include_str!("names.rs") + " KB MB GB TB";
        let grammar: Vec<String> = grammar
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .map(str::to_ascii_uppercase)
            .collect();
        let is_option = |word: &str| {
            let places = tsql::grammar::PLACES.iter();
            places
                .flat_map(|place| place.words)
                .any(|known| known.name.split(' ').any(|part| part == word))
        };
        let words = words_of_the_parser();
        assert!(words.len() > 250, "{}", words.len());
        let missing: Vec<&String> = words
            .iter()
            .filter(|word| !grammar.contains(word) && !is_option(word) && !NOT_IN_THE_GRAMMAR.contains(&word.as_str()))
            .collect();
        assert!(missing.is_empty(), "no rule of tsql.grammar has {missing:?}");
    }

    #[test]
    fn most_statements_of_the_grammar_are_statements_of_the_parser() {
        let grammar = Grammar::read(TSQL);
        let parsed = (0..2_000)
            .filter(|seed| {
                let text = write(&grammar, "batch", &mut Random::new(*seed), Manner::Right);
                tsql::parser::parse_batch(&text).is_ok()
            })
            .count();
        assert!(parsed > 1_400, "{parsed} of 2000");
    }

    #[test]
    fn the_same_draws_make_the_same_text() {
        let grammar = Grammar::read(TSQL);
        let text = || write(&grammar, "batch", &mut Random::new(9), Manner::Wrong);
        assert_eq!(text(), text());
    }
}
