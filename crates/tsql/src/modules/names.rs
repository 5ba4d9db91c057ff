//! Facts about the text of a module or constraint that need no parser: the kind of a function, the objects it names.
//!
//! The catalog's views need these for every module of a database, and DROP for every text that could contain a reference. The tokens
//! suffice, in time linear in the text and without a parse tree.

use syntax::lexer::{Lexer, Token, TokenKind};

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    Scalar,
    /// The rows of one query.
    Inline,
    /// The rows of a table variable.
    Table,
}

impl FunctionKind {
    /// `type` and `type_desc` of sys.objects (sql-docs, "sys.objects").
    pub(crate) fn codes(self) -> (&'static str, &'static str) {
        match self {
            FunctionKind::Scalar => ("FN", "SQL_SCALAR_FUNCTION"),
            FunctionKind::Inline => ("IF", "SQL_INLINE_TABLE_VALUED_FUNCTION"),
            FunctionKind::Table => ("TF", "SQL_TABLE_VALUED_FUNCTION"),
        }
    }
}

/// The tokens of a text that the catalog holds, up to its end or to the first thing that is not a token.
fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut lexer = Lexer::new(text, true);
    std::iter::from_fn(move || lexer.next_token().ok().filter(|token| token.kind != TokenKind::End))
}

/// What a function's text says it returns: the word after its first RETURNS, which no name, type or default before it can be.
pub(crate) fn function_kind(text: &str) -> FunctionKind {
    let word = |token: Token| text.get(token.start..token.end).unwrap_or("");
    let mut tokens = tokens(text);
    let is_returns = |token: &Token| token.kind == TokenKind::Word && word(*token).eq_ignore_ascii_case("RETURNS");
    tokens.find(is_returns);
    match tokens.next() {
        Some(next) if next.kind == TokenKind::Variable => FunctionKind::Table,
        Some(next) if word(next).eq_ignore_ascii_case("TABLE") => FunctionKind::Inline,
        _ => FunctionKind::Scalar,
    }
}

/// The name a token is, without quotes, in lower case.
fn name_of(text: &str, token: Token) -> Option<String> {
    let written = text.get(token.start..token.end)?;
    let inner = || written.get(1..written.len().checked_sub(1)?);
    match token.kind {
        TokenKind::Word => Some(written.to_lowercase()),
        TokenKind::Bracketed => Some(inner()?.replace("]]", "]").to_lowercase()),
        TokenKind::DoubleQuoted => Some(inner()?.replace("\"\"", "\"").to_lowercase()),
        _ => None,
    }
}

/// Whether a text names `schema.name`. Functions of the user and the objects of a schema-bound module are always named so.
pub(crate) fn refers_to(text: &str, schema: &str, name: &str) -> bool {
    let (schema, name) = (schema.to_lowercase(), name.to_lowercase());
    let mut before: [Option<Token>; 2] = [None, None];
    for token in tokens(text) {
        if let [Some(first), Some(point)] = before
            && point.kind == TokenKind::Symbol(b'.', 0)
            && name_of(text, token).as_deref() == Some(name.as_str())
            && name_of(text, first).as_deref() == Some(schema.as_str())
        {
            return true;
        }
        before = [before[1], Some(token)];
    }
    false
}

/// The names in an expression, in lower case, of functions and of what stands before a point left out: those of its columns, and some
/// that are no column of any table.
pub(crate) fn names_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut last: Option<String> = None;
    for token in tokens(text) {
        let is_qualifier = matches!(token.kind, TokenKind::Symbol(b'.' | b'(', 0));
        names.extend(last.take().filter(|_| !is_qualifier));
        let written = text.get(token.start..token.end).unwrap_or("");
        let is_keyword = token.kind == TokenKind::Word && syntax::keywords::is_reserved(written);
        last = name_of(text, token).filter(|_| !is_keyword);
    }
    names.extend(last);
    names
}

/// Whether a name stands in a text: of a column, a variable's is none.
pub(crate) fn has_name(text: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    tokens(text).any(|token| name_of(text, token).as_deref() == Some(name.as_str()))
}

/// The first table or view that stands after FROM or JOIN without its schema. Names of common table expressions and aliases of
/// derived tables stand before `(` or `AS (` somewhere; cursors, and the FROM of DISTINCT FROM, do not count.
pub(crate) fn one_part_source(text: &str) -> Option<String> {
    let tokens: Vec<Token> = tokens(text).collect();
    let word = |place: usize| {
        let token = tokens.get(place).filter(|token| token.kind == TokenKind::Word)?;
        Some(text.get(token.start..token.end)?.to_uppercase())
    };
    let is_symbol = |place: usize, symbol| {
        tokens
            .get(place)
            .is_some_and(|token| token.kind == TokenKind::Symbol(symbol, 0))
    };
    let name = |place: usize| name_of(text, *tokens.get(place)?);
    let is_own = |wanted: &str| {
        (0..tokens.len()).any(|place| {
            name(place).as_deref() == Some(wanted)
                && (is_symbol(place + 1, b'(')
                    || word(place + 1).as_deref() == Some("AS") && is_symbol(place + 2, b'('))
        })
    };
    let fetches = ["NEXT", "PRIOR", "FIRST", "LAST", "DISTINCT"];
    (1..tokens.len()).find_map(|place| {
        let before = word(place - 1)?;
        let is_source = before == "JOIN"
            || before == "FROM"
                && !place
                    .checked_sub(2)
                    .and_then(word)
                    .is_some_and(|word| fetches.contains(&word.as_str()));
        let found = name(place).filter(|_| is_source && !is_symbol(place + 1, b'.') && !is_symbol(place + 1, b'('))?;
        (!is_own(&found)).then_some(found)
    })
}

/// Whether a word stands in a text.
pub(crate) fn has_word(text: &str, wanted: &str) -> bool {
    let is_it = |token: Token| {
        let written = text.get(token.start..token.end).unwrap_or("");
        token.kind == TokenKind::Word && written.eq_ignore_ascii_case(wanted)
    };
    tokens(text).any(is_it)
}

/// The first call of a built-in function among `names`, or the first name of a temporary table: what no function may have in it.
pub(crate) fn first_forbidden<'n>(text: &str, names: &[&'n str]) -> Option<Forbidden<'n>> {
    let mut before: [Option<Token>; 2] = [None, None];
    for token in tokens(text) {
        if let Some(word) = before[1]
            && token.kind == TokenKind::Symbol(b'(', 0)
            && word.kind == TokenKind::Word
            && before[0].is_none_or(|before| before.kind != TokenKind::Symbol(b'.', 0))
        {
            let written = text.get(word.start..word.end).unwrap_or("");
            if let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(written)) {
                return Some(Forbidden::Call(name, word.line));
            }
        }
        if name_of(text, token).is_some_and(|name| name.starts_with('#')) {
            return Some(Forbidden::Temporary(token.line));
        }
        before = [before[1], Some(token)];
    }
    None
}

/// See [`first_forbidden`]; with its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forbidden<'n> {
    /// A call of a function.
    Call(&'n str, u32),
    Temporary(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_function_is_what_follows_its_first_returns() {
        let cases = [
            (
                "create function f(@returns int = 1) returns int as begin return 1 end",
                "FN",
            ),
            (
                "create function dbo.[returns]() returns /* table */ int begin return 1 end",
                "FN",
            ),
            (
                "create or alter function f()\nRETURNS\n-- x\ntable return select 1 as a",
                "IF",
            ),
            (
                "create function f(@a varchar(10) = 'returns table') returns @t table (a int) begin return end",
                "TF",
            ),
            (
                "create function f() returns int with returns null on null input as begin return 1 end",
                "FN",
            ),
        ];
        for (text, code) in cases {
            assert_eq!(function_kind(text).codes().0, code, "{text}");
        }
    }

    #[test]
    fn a_reference_is_a_name_behind_its_schema_not_a_text_or_a_comment() {
        for text in ["(dbo.F([a])>(0))", "([DBO].[f]())", "1 + dbo . f(2)", "other.dbo.f(1)"] {
            assert!(refers_to(text, "dbo", "f"), "{text}");
        }
        for text in ["'dbo.f(1)'", "/* dbo.f */ 1", "dbo.g(1)", "f(1)", "x.f(1)", "dbo.f2()"] {
            assert!(!refers_to(text, "dbo", "f"), "{text}");
        }
    }

    #[test]
    fn what_a_function_may_not_have_is_found_by_its_name_alone() {
        let names = ["rand", "newid"];
        let found = |text| first_forbidden(text, &names);
        assert_eq!(found("select 1\n, NewID ()"), Some(Forbidden::Call("newid", 2)));
        assert_eq!(found("select dbo.rand()"), None);
        assert_eq!(found("select rand, 'newid()'"), None);
        assert_eq!(found("select a from #t"), Some(Forbidden::Temporary(1)));
    }
}
