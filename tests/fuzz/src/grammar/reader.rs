//! Reads the notation that `tsql.grammar` explains.

use std::collections::BTreeMap;

/// Heights above this are of rules that never end.
const HEIGHT_MAX: u32 = 1_000;

/// One part of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A rule, by its number.
    Rule(usize),
    /// Text as it stands.
    Word(String),
    /// Something the generator makes, with its argument behind a colon.
    Made(String, String),
    /// Alternatives in braces.
    Group(Vec<Alternative>),
    /// In brackets: perhaps; or any number of times.
    Optional { body: Vec<Alternative>, repeated: bool },
    /// What comes first although it stands later.
    First(Box<Item>),
}

/// A sequence, how often it is drawn, and how deep it is at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alternative {
    pub(super) items: Vec<Item>,
    pub(super) weight: u64,
    pub(super) height: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) alternatives: Vec<Alternative>,
    /// It is a query with sources of its own.
    pub(super) is_scope: bool,
}

/// All rules, and all words that stand in them.
#[derive(Debug, Clone)]
pub struct Grammar {
    pub(super) rules: Vec<Rule>,
    names: BTreeMap<String, usize>,
    /// For mistakes: words that stand somewhere else.
    pub(super) words: Vec<String>,
}

impl Grammar {
    /// Reads the rules of a text.
    ///
    /// # Panics
    /// The text is not in the notation: it is part of this program.
    pub fn read(text: &str) -> Grammar {
        let mut sources: Vec<(String, bool, Vec<String>)> = Vec::new();
        for line in text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        {
            if let Some((head, body)) = line.split_once(" := ") {
                let name = head.trim_end_matches('!').to_owned();
                sources.push((name, head.ends_with('!'), tokens(body)));
            } else {
                let last = sources.last_mut().expect("a rule's first line names it");
                last.2.extend(tokens(line));
            }
        }
        let names = sources
            .iter()
            .enumerate()
            .map(|(number, source)| (source.0.clone(), number))
            .collect();
        let mut grammar = Grammar {
            rules: Vec::new(),
            names,
            words: Vec::new(),
        };
        for (name, is_scope, tokens) in &sources {
            let mut reader = Reader {
                tokens,
                next: 0,
                grammar: &mut grammar,
            };
            let alternatives = reader.alternatives();
            assert!(
                reader.next == tokens.len(),
                "{name}: {:?} closes nothing",
                tokens.get(reader.next)
            );
            grammar.rules.push(Rule {
                alternatives,
                is_scope: *is_scope,
            });
        }
        grammar.words.sort();
        grammar.words.dedup();
        grammar.measure();
        grammar
    }

    /// The number of a rule.
    pub(super) fn rule(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Heights, until none becomes lower.
    fn measure(&mut self) {
        loop {
            let heights: Vec<u32> = self.rules.iter().map(|rule| lowest(&rule.alternatives)).collect();
            for rule in &mut self.rules {
                rule.alternatives
                    .iter_mut()
                    .for_each(|alternative| settle(alternative, &heights));
            }
            if self.rules.iter().map(|rule| lowest(&rule.alternatives)).eq(heights) {
                break;
            }
        }
        for (name, number) in &self.names {
            assert!(
                lowest(&self.rules[*number].alternatives) < HEIGHT_MAX,
                "{name} never ends"
            );
        }
    }
}

fn lowest(alternatives: &[Alternative]) -> u32 {
    alternatives
        .iter()
        .map(|alternative| alternative.height)
        .min()
        .unwrap_or(0)
}

fn settle(alternative: &mut Alternative, heights: &[u32]) {
    let height = alternative.items.iter_mut().map(|item| height_of(item, heights)).max();
    alternative.height = (height.unwrap_or(0) + 1).min(HEIGHT_MAX);
}

fn height_of(item: &mut Item, heights: &[u32]) -> u32 {
    match item {
        Item::Rule(number) => heights[*number],
        Item::Word(_) | Item::Made(..) => 0,
        Item::Group(body) => {
            body.iter_mut().for_each(|alternative| settle(alternative, heights));
            lowest(body)
        }
        Item::Optional { body, .. } => {
            body.iter_mut().for_each(|alternative| settle(alternative, heights));
            0
        }
        Item::First(item) => height_of(item, heights),
    }
}

/// Cuts at blanks, but not inside quotes, backticks and `<kind:argument>`.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let is_made = bytes[0] == b'<' && bytes.get(1).is_some_and(u8::is_ascii_lowercase);
        let is_name = bytes[0] == b'[' && bytes.get(1).is_some_and(|byte| *byte != b' ');
        let (from, close) = match bytes[0] {
            sign @ (b'`' | b'\'' | b'"') => (1, Some(char::from(sign))),
            b'N' if bytes.get(1) == Some(&b'\'') => (2, Some('\'')),
            _ if is_name => (1, Some(']')),
            _ if is_made => (1, Some('>')),
            _ => (0, None),
        };
        let length = match close {
            Some(close) => rest[from..].find(close).map_or(rest.len(), |end| from + end + 1),
            None => rest.find(' ').unwrap_or(rest.len()),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

struct Reader<'a> {
    tokens: &'a [String],
    next: usize,
    grammar: &'a mut Grammar,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.next).map(String::as_str)
    }

    fn alternatives(&mut self) -> Vec<Alternative> {
        let mut found = vec![self.sequence()];
        while self.peek() == Some("|") {
            self.next += 1;
            found.push(self.sequence());
        }
        found
    }

    fn sequence(&mut self) -> Alternative {
        let mut alternative = Alternative {
            items: Vec::new(),
            weight: 1,
            height: HEIGHT_MAX,
        };
        if let Some(weight) = self.peek().and_then(|token| token.strip_suffix(':')?.parse().ok()) {
            alternative.weight = weight;
            self.next += 1;
        }
        while let Some(token) = self.peek() {
            if matches!(token, "|" | "]" | "}") {
                break;
            }
            let item = self.item();
            alternative.items.push(item);
        }
        alternative
    }

    fn close(&mut self, sign: &str) {
        assert!(self.peek() == Some(sign), "{sign} is missing before {:?}", self.peek());
        self.next += 1;
    }

    fn item(&mut self) -> Item {
        let token = self.tokens[self.next].clone();
        self.next += 1;
        match token.as_str() {
            "^" => Item::First(Box::new(self.item())),
            "{" => {
                let body = self.alternatives();
                self.close("}");
                Item::Group(body)
            }
            "[" => {
                let body = self.alternatives();
                self.close("]");
                let repeated = self.peek() == Some("...");
                self.next += usize::from(repeated);
                Item::Optional { body, repeated }
            }
            _ => self.single(&token),
        }
    }

    fn single(&mut self, token: &str) -> Item {
        if let Some(number) = self.grammar.names.get(token) {
            return Item::Rule(*number);
        }
        if let Some(kind) = token.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'))
            && !kind.is_empty()
        {
            let (kind, argument) = kind.split_once(':').unwrap_or((kind, ""));
            return Item::Made(kind.to_owned(), argument.to_owned());
        }
        let word = token
            .strip_prefix('`')
            .and_then(|rest| rest.strip_suffix('`'))
            .unwrap_or(token);
        self.grammar.words.push(word.to_owned());
        Item::Word(word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn signs_names_and_quoted_parts_are_one_token_each() {
        let found = tokens("[ a ] ... `|` 'q r' <option:WITH of a table> [x] <> < N'@a int' 4: ^ b ( '' ) \"d e\"");
        let wanted = [
            "[",
            "a",
            "]",
            "...",
            "`|`",
            "'q r'",
            "<option:WITH of a table>",
            "[x]",
            "<>",
            "<",
            "N'@a int'",
            "4:",
            "^",
            "b",
            "(",
            "''",
            ")",
            "\"d e\"",
        ];
        assert_eq!(found, wanted);
    }
}
