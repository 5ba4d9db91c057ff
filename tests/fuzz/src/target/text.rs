//! Lexer, batch splitter and parser.

use super::{Reached, Target};
use crate::grammar::{Grammar, Manner, TSQL, write};
use crate::{corpus, mutate};
use outside::random::Random;
use syntax::lexer::{Lexer, TokenKind};
use tsql::{batches, parser};

/// Parts of a text of random characters at most.
const CHARACTERS_MAX: u64 = 300;
/// Texts up to here are also read as an expression, a type and the rest.
const FRAGMENT_BYTES_MAX: usize = 2_000;

struct Texts {
    corpus: Vec<String>,
    grammar: Grammar,
    by_grammar: bool,
}

/// Real texts, changed; random characters; great and deep texts.
pub fn by_bytes() -> Box<dyn Target> {
    Box::new(Texts {
        corpus: corpus::texts(),
        grammar: Grammar::read(TSQL),
        by_grammar: false,
    })
}

/// Statements by grammar, right and wrong.
pub fn by_grammar() -> Box<dyn Target> {
    Box::new(Texts {
        corpus: Vec::new(),
        grammar: Grammar::read(TSQL),
        by_grammar: true,
    })
}

/// Random bytes as text.
fn noise(random: &mut Random) -> String {
    let bytes: Vec<u8> = (0..random.of_any_magnitude(CHARACTERS_MAX))
        .map(|_| random.draw() as u8)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Random UTF-16, halves of pairs among it, as the server decodes what clients send.
fn units(random: &mut Random) -> String {
    let unit = |random: &mut Random| match random.below(6) {
        0 => 0xD800 + random.below(0x800) as u16,
        1 => random.draw() as u16,
        2 => *random.choose(&[
            0x2028_u16, 0xFEFF, 0x200B, 0x3000, 0xFF08, 0x0130, 0x017F, 0x212A, 0x00A0, 0x0000,
        ]),
        _ => *random.choose(b"select'[](\")*/-@#$ 019.eEx=<>!;,n\n") as u16,
    };
    let bytes: Vec<u8> = (0..random.of_any_magnitude(CHARACTERS_MAX))
        .flat_map(|_| unit(random).to_le_bytes())
        .collect();
    ::tds::cursor::utf16_text(&bytes)
}

impl Texts {
    fn text(&self, random: &mut Random) -> String {
        let real = |random: &mut Random| random.choose(&self.corpus).clone();
        match random.below(20) {
            0 => noise(random),
            1 => units(random),
            2 => mutate::huge(random),
            3 | 4 => mutate::nest(&real(random), random),
            5 => {
                let mut bytes = real(random).into_bytes();
                mutate::change_bytes(&mut bytes, random);
                String::from_utf8_lossy(&bytes).into_owned()
            }
            6 => real(random) + "\nGO " + &real(random),
            _ => mutate::change_words(&real(random), &real(random), random),
        }
    }
}

impl Target for Texts {
    fn make(&self, random: &mut Random) -> Vec<u8> {
        if !self.by_grammar {
            return self.text(random).into_bytes();
        }
        let manner = if random.below(2) == 0 {
            Manner::Right
        } else {
            Manner::Wrong
        };
        let text = write(&self.grammar, "batch", random, manner);
        let text = if random.below(25) == 0 {
            mutate::nest(&text, random)
        } else {
            text
        };
        text.into_bytes()
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let text = String::from_utf8_lossy(input);
        cut(&text, true);
        cut(&text, false);
        split(&text);
        if text.len() <= FRAGMENT_BYTES_MAX {
            // Whether a fragment is right does not matter.
            let _ = parser::parse_expression(&text);
            let _ = parser::parse_condition(&text);
            let _ = parser::parse_data_type(&text);
            let _ = parser::parse_parameters(&text);
            let _ = parser::parse_batch_with(&text, false);
        }
        match parser::parse_batch(&text) {
            Ok(_) => Reached::Taken,
            Err(error) => {
                assert!(error.number > 0 && error.line > 0, "{error:?}");
                Reached::Refused
            }
        }
    }
}

/// Tokens go forward, end between characters and count lines.
fn cut(text: &str, quoted_identifier: bool) {
    let mut lexer = Lexer::new(text, quoted_identifier);
    let (mut end, mut line) = (0, 1);
    while let Ok(token) = lexer.next_token() {
        assert!(
            token.start >= end && token.end >= token.start && token.line >= line,
            "{token:?} behind {end}"
        );
        assert!(
            text.is_char_boundary(token.start) && text.is_char_boundary(token.end),
            "{token:?}"
        );
        if token.kind == TokenKind::End {
            return;
        }
        assert!(token.end > token.start, "{token:?} is empty");
        (end, line) = (token.end, token.line);
    }
}

/// Batches hold no more than the script does.
fn split(text: &str) {
    let batches = batches::split(text);
    let bytes: usize = batches.iter().map(|batch| batch.text.len()).sum();
    assert!(bytes <= text.len() + batches.len(), "{bytes} bytes of {}", text.len());
    let mut end = 0;
    for (place, name) in batches::references(text) {
        assert!(place.start >= end, "{place:?} overlaps what ended at {end}");
        assert_eq!(text.get(place.clone()), Some(format!("$({name})").as_str()));
        end = place.end;
    }
}
