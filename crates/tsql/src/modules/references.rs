//! The objects that the text of a module names: what it reads, changes, calls and executes.
//!
//! The tokens suffice, as for [`super::names`]: an object stands behind FROM, JOIN, APPLY, INTO, USING, UPDATE, INSERT, DELETE, MERGE, TRUNCATE
//! TABLE, NEXT VALUE FOR and EXECUTE, in the list of a FROM behind a comma, or before the parenthesis of a call. Names of common table
//! expressions, aliases, temporary tables and variables are left out. Time and memory are linear in the text.

use std::collections::HashSet;

use syntax::lexer::{Lexer, Token, TokenKind};

/// How a text uses what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceUse {
    /// Its rows, or the values of a sequence.
    Rows,
    /// A call in an expression, or a method of a column: the two look alike.
    Call,
    Execute,
}

/// An object that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedReference {
    /// Its parts as they are written, without their quotes; a part that is left out is empty.
    pub(crate) parts: Vec<String>,
    pub(crate) used_as: ReferenceUse,
}

/// Behind these no more sources of a FROM follow.
const ENDS_OF_FROM: [&str; 12] = [
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "OPTION",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "SET",
    "VALUES",
    "SELECT",
    "WHEN",
];
/// Words before FROM where no source follows.
const FETCHES: [&str; 5] = ["NEXT", "PRIOR", "FIRST", "LAST", "DISTINCT"];
/// Words before INSERT, UPDATE and DELETE in the head of a trigger, and before UPDATE of a cursor.
const HEADS: [&str; 3] = ["FOR", "AFTER", "OF"];

/// What the text names, each name once, in order.
pub(crate) fn references_in(text: &str) -> Vec<NamedReference> {
    let mut scan = ReferenceScan::new(text);
    scan.run();
    let own = scan.own_names();
    let mut seen = HashSet::new();
    let mut found = scan.found;
    found.retain(|(reference, may_be_alias)| {
        let name = reference
            .parts
            .last()
            .map(|name| name.to_lowercase())
            .unwrap_or_default();
        let is_one = reference.parts.len() == 1;
        let is_local = name.starts_with('#')
            || is_one && (own.contains(&name) || matches!(name.as_str(), "inserted" | "deleted"))
            || is_one && *may_be_alias && scan.aliases.contains(&name);
        let key: Vec<String> = reference.parts.iter().map(|part| part.to_lowercase()).collect();
        !is_local && seen.insert(key)
    });
    found.into_iter().map(|(reference, _)| reference).collect()
}

/// What is known between a pair of parentheses.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// A list of sources goes on.
    in_from: bool,
    /// TRIM has a FROM of its own.
    is_trim: bool,
}

struct ReferenceScan<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    place: usize,
    levels: Vec<Inside>,
    /// With whether an alias may be meant: behind UPDATE and DELETE.
    found: Vec<(NamedReference, bool)>,
    aliases: HashSet<String>,
}

impl<'t> ReferenceScan<'t> {
    fn new(text: &'t str) -> ReferenceScan<'t> {
        let mut lexer = Lexer::new(text, true);
        let mut tokens = Vec::new();
        while let Ok(token) = lexer.next_token() {
            if token.kind == TokenKind::End {
                break;
            }
            tokens.push(token);
        }
        ReferenceScan {
            text,
            tokens,
            place: 0,
            levels: vec![Inside::default()],
            found: Vec::new(),
            aliases: HashSet::new(),
        }
    }

    fn written(&self, place: usize) -> &'t str {
        let token = self.tokens.get(place);
        token
            .and_then(|token| self.text.get(token.start..token.end))
            .unwrap_or("")
    }

    /// An unquoted word, in upper case.
    fn word(&self, place: usize) -> String {
        match self.tokens.get(place).map(|token| token.kind) {
            Some(TokenKind::Word) => self.written(place).to_uppercase(),
            _ => String::new(),
        }
    }

    fn word_before(&self, place: usize) -> String {
        place
            .checked_sub(1)
            .map_or_else(String::new, |before| self.word(before))
    }

    fn is_symbol(&self, place: usize, symbol: u8) -> bool {
        self.tokens
            .get(place)
            .is_some_and(|token| token.kind == TokenKind::Symbol(symbol, 0))
    }

    /// A name that is not reserved, without its quotes.
    fn name(&self, place: usize) -> Option<String> {
        let written = self.written(place);
        let inner = || written.get(1..written.len().checked_sub(1)?);
        match self.tokens.get(place)?.kind {
            TokenKind::Word => (!syntax::keywords::is_reserved(written)).then(|| written.to_owned()),
            TokenKind::Bracketed => Some(inner()?.replace("]]", "]")),
            TokenKind::DoubleQuoted => Some(inner()?.replace("\"\"", "\"")),
            _ => None,
        }
    }

    /// The parts of the name that begins at a place, and the place behind it.
    fn parts(&self, place: usize) -> Option<(Vec<String>, usize)> {
        let mut parts = vec![self.name(place)?];
        let mut next = place + 1;
        while self.is_symbol(next, b'.') {
            next += 1;
            match self.name(next) {
                Some(part) => {
                    parts.push(part);
                    next += 1;
                }
                None if self.is_symbol(next, b'.') => parts.push(String::new()),
                None => return None,
            }
        }
        Some((parts, next))
    }

    fn level(&mut self) -> Option<&mut Inside> {
        self.levels.last_mut()
    }

    fn run(&mut self) {
        while self.place < self.tokens.len() {
            let place = self.place;
            self.place += 1;
            match self.tokens[place].kind {
                TokenKind::Symbol(b'(', 0) => {
                    let is_trim = self.word_before(place) == "TRIM";
                    self.levels.push(Inside {
                        in_from: false,
                        is_trim,
                    });
                }
                TokenKind::Symbol(b')', 0) if self.levels.len() > 1 => {
                    self.levels.pop();
                }
                TokenKind::Symbol(b',', 0) if self.levels.last().is_some_and(|level| level.in_from) => {
                    self.source(false)
                }
                TokenKind::Word if syntax::keywords::is_reserved(self.written(place)) => self.keyword(place),
                TokenKind::Word if ["APPLY", "USING"].contains(&self.word(place).as_str()) => self.source(false),
                TokenKind::Word | TokenKind::Bracketed | TokenKind::DoubleQuoted => self.call(place),
                _ => {}
            }
        }
    }

    fn keyword(&mut self, place: usize) {
        let (word, before, after) = (self.word(place), self.word_before(place), self.word(place + 1));
        let is_in_head = HEADS.contains(&before.as_str()) || place > 0 && self.is_symbol(place - 1, b',');
        match word.as_str() {
            "FROM" => {
                let is_fetch = FETCHES.contains(&before.as_str())
                    || ["ABSOLUTE", "RELATIVE"].contains(&self.word(place.saturating_sub(2)).as_str());
                let is_trim = self.levels.last().is_some_and(|level| level.is_trim);
                if !is_fetch && !is_trim {
                    if let Some(level) = self.level() {
                        level.in_from = true;
                    }
                    self.source(before == "DELETE");
                }
            }
            "JOIN" | "INTO" => self.source(false),
            "TABLE" if before == "TRUNCATE" => self.source(false),
            "FOR" if before == "VALUE" => self.source(false),
            "INSERT" if !is_in_head && after != "INTO" => self.source(false),
            "UPDATE" | "DELETE"
                if !is_in_head
                    && !["FROM", "STATISTICS", "TOP"].contains(&after.as_str())
                    && !self.is_symbol(place + 1, b'(') =>
            {
                self.source(true);
            }
            "MERGE" if !["INTO", "JOIN", "UNION"].contains(&after.as_str()) => self.source(false),
            "EXEC" | "EXECUTE" if after != "AS" => self.executed(),
            own if ENDS_OF_FROM.contains(&own) => {
                if let Some(level) = self.level() {
                    level.in_from = false;
                }
            }
            _ => {}
        }
    }

    /// A source at the current place, if a name is there.
    fn source(&mut self, may_be_alias: bool) {
        let Some((parts, next)) = self.parts(self.place) else {
            return;
        };
        self.place = next;
        // Functions of the system that give rows are called by one name.
        if parts.len() == 1 && self.is_symbol(next, b'(') && !may_be_alias && self.word(next + 1) != "NOLOCK" {
            return;
        }
        let alias = next + usize::from(self.word(next) == "AS");
        if let Some(alias) = self.name(alias) {
            self.aliases.insert(alias.to_lowercase());
        }
        let used_as = ReferenceUse::Rows;
        self.found.push((NamedReference { parts, used_as }, may_be_alias));
    }

    /// What EXECUTE names: behind the variable of its status.
    fn executed(&mut self) {
        let is_variable = |place: usize| {
            self.tokens
                .get(place)
                .is_some_and(|token| token.kind == TokenKind::Variable)
        };
        if is_variable(self.place) && self.is_symbol(self.place + 1, b'=') {
            self.place += 2;
        }
        if let Some((parts, next)) = self.parts(self.place) {
            self.place = next;
            let used_as = ReferenceUse::Execute;
            self.found.push((NamedReference { parts, used_as }, false));
        }
    }

    /// A name of several parts before a parenthesis.
    fn call(&mut self, place: usize) {
        let Some((parts, next)) = self.parts(place) else {
            return;
        };
        self.place = next;
        if parts.len() > 1 && self.is_symbol(next, b'(') {
            let used_as = ReferenceUse::Call;
            self.found.push((NamedReference { parts, used_as }, false));
        }
    }

    /// The names of common table expressions and derived tables, in lower case: `x AS (` and `x (...) AS (`.
    fn own_names(&self) -> HashSet<String> {
        let mut own = HashSet::new();
        for place in 0..self.tokens.len() {
            if self.word(place) != "AS" || !self.is_symbol(place + 1, b'(') || place == 0 {
                continue;
            }
            let mut last = place - 1;
            if self.is_symbol(last, b')') {
                while last > 0 && !self.is_symbol(last, b'(') {
                    last -= 1;
                }
                last = last.saturating_sub(1);
            }
            own.extend(self.name(last).map(|name| name.to_lowercase()));
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        let names: Vec<String> = references_in(text).iter().map(|one| one.parts.join(".")).collect();
        names.join(" ")
    }

    #[test]
    fn objects_are_found_where_statements_name_them() {
        let cases = [
            (
                "create view v as select a.x from dbo.a a, b join [c d] as e on a.x = e.x where x in (select y from other..f)",
                "dbo.a b c d other..f",
            ),
            (
                "create proc p as exec dbo.q 1 execute @r = s.t exec ('select') exec @v update u set x = dbo.f(1) from t1 u delete w from t2 w",
                "dbo.q s.t dbo.f t1 t2",
            ),
            (
                "create trigger g on t after insert, update as if update(a) insert into log select * from inserted merge x using y on 1 = 1 when matched then delete;",
                "log x y",
            ),
            (
                "create proc p as with c (n) as (select 1), d as (select n from c) select * into #x from d cross apply dbo.g(1) outer apply string_split('a', 'b') truncate table z",
                "dbo.g z",
            ),
            (
                "create proc p as fetch next from k into @a select trim('x' from col) from t where c.value('a', 'b') is distinct from 1 select next value for dbo.s delete t9 insert t8 values (1)",
                "t c.value dbo.s t9 t8",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
