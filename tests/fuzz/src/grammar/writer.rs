//! Draws one text of a grammar.

use super::names;
use super::reader::{Alternative, Grammar, Item};
use outside::random::Random;

/// Behind so many bytes only what must come still comes.
const TEXT_BYTES: usize = 3_000;
/// Rules inside rules; behind this, the shortest way out.
const DEPTH_MAX: u32 = 28;
/// Repetitions of `[ ... ] ...` at most.
const REPEATS_MAX: u64 = 3;

/// Whether mistakes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// As the grammar says.
    Right,
    /// One item in some dozens is left out, doubled, or something else stands in its place.
    Wrong,
}

/// A source that a query sees.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) alias: String,
    pub(super) columns: Vec<(String, names::Kind)>,
}

/// The text so far and what names stand for in it.
pub(super) struct Writer<'g> {
    grammar: &'g Grammar,
    pub(super) random: &'g mut Random,
    manner: Manner,
    out: String,
    bytes: usize,
    depth: u32,
    /// The sources of the queries around this place, the innermost last.
    pub(super) scopes: Vec<Vec<Source>>,
    /// Common table expressions of the statement.
    pub(super) ctes: Vec<String>,
    /// Aliases given so far.
    pub(super) aliases: u32,
}

/// One text of a rule.
///
/// # Panics
/// There is no such rule.
pub fn write(grammar: &Grammar, rule: &str, random: &mut Random, manner: Manner) -> String {
    let number = grammar.rule(rule).expect("a rule of the grammar");
    let mut writer = Writer {
        grammar,
        random,
        manner,
        out: String::new(),
        bytes: 0,
        depth: 0,
        scopes: vec![Vec::new()],
        ctes: Vec::new(),
        aliases: 0,
    };
    writer.rule(number);
    writer.out
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        if !self.out.is_empty() {
            // Any blank may be a comment or a new line.
            let blank = match self.random.below(60) {
                0 => "\n",
                1 => "/**/",
                2 => " -- x\r\n",
                _ => " ",
            };
            self.out.push_str(blank);
        }
        self.out.push_str(text);
        self.bytes += text.len() + 1;
    }

    fn rule(&mut self, number: usize) {
        let grammar = self.grammar;
        let rule = &grammar.rules[number];
        self.depth += 1;
        if rule.is_scope {
            self.scopes.push(Vec::new());
        }
        self.alternatives(&rule.alternatives);
        if rule.is_scope {
            self.scopes.pop();
        }
        self.depth -= 1;
    }

    fn has_room(&self) -> bool {
        self.depth < DEPTH_MAX && self.bytes < TEXT_BYTES
    }

    fn alternatives(&mut self, alternatives: &[Alternative]) {
        let chosen = if self.has_room() {
            let total: u64 = alternatives.iter().map(|alternative| alternative.weight).sum();
            let mut drawn = self.random.below(total);
            alternatives.iter().find(|alternative| {
                let found = drawn < alternative.weight;
                drawn = drawn.saturating_sub(alternative.weight);
                found
            })
        } else {
            alternatives.iter().min_by_key(|alternative| alternative.height)
        };
        let chosen = chosen.expect("the weights add up to what was drawn from");
        self.sequence(&chosen.items);
    }

    /// What is marked comes first, into a text of its own.
    fn sequence(&mut self, items: &[Item]) {
        let mut early = None;
        for item in items {
            if let Item::First(inner) = item {
                let before = std::mem::take(&mut self.out);
                self.item(inner);
                early = Some(std::mem::replace(&mut self.out, before));
            }
        }
        for item in items {
            match item {
                Item::First(_) => {
                    let text = early.take().unwrap_or_default();
                    if !text.is_empty() {
                        self.out.push(' ');
                        self.out.push_str(&text);
                    }
                }
                _ => self.item(item),
            }
        }
    }

    fn item(&mut self, item: &Item) {
        if self.manner == Manner::Wrong && self.random.below(40) == 0 {
            return self.mistake(item);
        }
        self.right_item(item);
    }

    fn right_item(&mut self, item: &Item) {
        match item {
            Item::Rule(number) => self.rule(*number),
            Item::Word(word) => self.put(word),
            Item::Made(kind, argument) => {
                let text = names::make(self, kind, argument);
                self.put(&text);
            }
            Item::Group(body) => self.alternatives(body),
            Item::Optional { body, repeated } => {
                let limit = if *repeated { REPEATS_MAX } else { 2 };
                let times = if self.has_room() { self.random.below(limit) } else { 0 };
                for _ in 0..times {
                    self.alternatives(body);
                }
            }
            Item::First(item) => self.right_item(item),
        }
    }

    fn mistake(&mut self, item: &Item) {
        match self.random.below(6) {
            0 => {}
            1 => {
                self.right_item(item);
                self.right_item(item);
            }
            2 | 3 => {
                let words = &self.grammar.words;
                let word = &words[self.random.below(words.len() as u64) as usize];
                self.put(word);
            }
            4 => {
                let text = names::strange_word(self.random);
                self.put(&text);
            }
            _ if self.has_room() => {
                let other = self.random.below(self.grammar.rules.len() as u64) as usize;
                self.rule(other);
            }
            _ => self.right_item(item),
        }
    }

    /// The queries around this place see a source.
    pub(super) fn see(&mut self, source: Source) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(source);
        }
    }
}
