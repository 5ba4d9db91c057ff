//! Tab completion: commands, keywords, and the names that fit at the cursor.
//!
//! | before the cursor | offered |
//! |---|---|
//! | `:` at the start of a line | commands; after `:r`, `:out`, `:error` files |
//! | `use` | databases |
//! | `from`, `join`, `into`, `update`, `table`, `exec` | objects, schemas |
//! | `schema.` | its objects |
//! | `table.` or its alias | its columns |
//! | anything else | columns of the tables of the batch, objects, keywords |
//!
//! Inside strings and comments nothing is offered.

use super::command;
use super::names::{NameSet, Object};
use tsql::keywords;

/// Offered at once at most.
const CANDIDATES_MAX: usize = 500;

/// Words that are no reserved ones and are typed often.
const WORDS: [&str; 46] = [
    "AVG",
    "CAST",
    "CATCH",
    "CHARINDEX",
    "CHECKDB",
    "CONCAT",
    "COUNT",
    "DATEADD",
    "DATEDIFF",
    "DATEPART",
    "DB_ID",
    "DB_NAME",
    "FILEGROWTH",
    "FIRST_VALUE",
    "FORMAT",
    "GETDATE",
    "INCLUDE",
    "ISNULL",
    "LAG",
    "LEAD",
    "LEN",
    "LOG",
    "LOGINFO",
    "LOWER",
    "LTRIM",
    "MAX",
    "MAXSIZE",
    "MIN",
    "NOCOUNT",
    "NORECOVERY",
    "OBJECT_ID",
    "OBJECT_NAME",
    "OUTPUT",
    "PARTITION",
    "RECOVERY",
    "REPLACE",
    "ROW_NUMBER",
    "RTRIM",
    "SHRINKFILE",
    "SIZE",
    "SQLPERF",
    "SUBSTRING",
    "SUM",
    "THROW",
    "TRY",
    "UPPER",
];

/// A word of a text, with what stands before it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    start: usize,
    end: usize,
    /// Without brackets or double quotes.
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A keyword or a name as it is.
    Plain,
    /// A name in brackets or double quotes, and whether they are closed.
    Quoted {
        is_closed: bool,
    },
    Dot,
    Other,
    /// A string or comment that goes on to the end.
    Open,
}

/// What may stand at the end of `text`, and where the word begins that it replaces. `batch` is what was typed on lines above.
pub(super) fn complete(batch: &str, text: &str, names: &NameSet) -> (usize, Vec<String>) {
    let above = words(batch);
    if above.last().is_some_and(|last| last.kind == Kind::Open) {
        return (text.len(), Vec::new());
    }
    let line = text.rsplit('\n').next().unwrap_or(text);
    if line.trim_start().starts_with(':') {
        let word = line.trim_start();
        let matching = command::NAMES.iter().filter(|name| has_prefix(name, word));
        return (
            text.len() - word.len(),
            matching.map(|name| (*name).to_owned()).collect(),
        );
    }
    let mut all = above;
    let own = all.len();
    all.extend(words(text));
    let (path, start) = path(all.get(own..).unwrap_or_default(), text.len());
    let before = all.get(..all.len() - path.words).unwrap_or_default();
    if all.last().is_some_and(|last| last.kind == Kind::Open) {
        return (text.len(), Vec::new());
    }
    let mut found = match path.qualifiers.as_slice() {
        [] => unqualified(&path.typed, before, &all, names),
        [one] => after_one(one, &all, names),
        [schema, object] if is(schema, &names.database) => of_schema(object, names),
        [schema, object] => columns_of(find(names, Some(schema), object)),
        [_, schema, object] => columns_of(find(names, Some(schema), object)),
        _ => Vec::new(),
    };
    found.retain(|name| has_prefix(name.trim_start_matches('['), &path.typed));
    found.sort_by_key(|name| name.to_lowercase());
    found.dedup();
    found.truncate(CANDIDATES_MAX);
    (start, found)
}

/// What stands at the cursor: `a.b.ty`.
struct Path {
    qualifiers: Vec<String>,
    typed: String,
    /// How many words it is.
    words: usize,
}

/// The path at the end of the words, and where its last part begins.
fn path(words: &[Word], end: usize) -> (Path, usize) {
    let is_name = |word: &Word| matches!(word.kind, Kind::Plain | Kind::Quoted { .. });
    let mut path = Path {
        qualifiers: Vec::new(),
        typed: String::new(),
        words: 0,
    };
    let (mut rest, mut start) = (words, end);
    if let [before @ .., last] = rest
        && is_name(last)
        && last.end == end
        && last.kind != (Kind::Quoted { is_closed: true })
    {
        (path.typed, path.words, start, rest) = (last.text.clone(), 1, last.start, before);
    }
    let mut edge = start;
    while let [before @ .., name, dot] = rest
        && dot.kind == Kind::Dot
        && (dot.end, name.end) == (edge, dot.start)
        && is_name(name)
    {
        path.qualifiers.insert(0, name.text.clone());
        path.words += 2;
        (edge, rest) = (name.start, before);
    }
    (path, start)
}

/// Names and keywords where nothing is said of where they are.
fn unqualified(typed: &str, before: &[Word], all: &[Word], names: &NameSet) -> Vec<String> {
    let previous = before
        .last()
        .map(|word| word.text.to_ascii_uppercase())
        .unwrap_or_default();
    let databases = || names.databases.iter().map(|name| quoted(name));
    let schemas = || names.objects.iter().map(|object| quoted(&object.schema));
    let objects = || names.objects.iter().filter(|object| !is(&object.schema, "sys"));
    let object_names = || objects().map(|object| quoted(&object.name));
    match previous.as_str() {
        "USE" | "DATABASE" => return databases().collect(),
        "FROM" | "JOIN" | "INTO" | "UPDATE" | "TABLE" | "VIEW" | "PROCEDURE" | "PROC" | "EXEC" | "EXECUTE"
        | "REFERENCES" => {
            return object_names().chain(schemas()).chain(databases()).collect();
        }
        _ => {}
    }
    if typed.is_empty() {
        return used(all)
            .iter()
            .flat_map(|used| columns_of(used.object(names)))
            .collect();
    }
    let is_capital = typed.starts_with(|first: char| first.is_ascii_uppercase());
    let spelled = |word: &&str| match is_capital {
        true => (*word).to_owned(),
        false => word.to_ascii_lowercase(),
    };
    let columns = used(all);
    let columns = columns.iter().flat_map(|used| columns_of(used.object(names)));
    let aliases = used(all).into_iter().filter_map(|used| used.alias);
    let words = keywords::reserved().iter().chain(&WORDS).map(spelled);
    columns
        .chain(aliases)
        .chain(object_names())
        .chain(schemas())
        .chain(words)
        .collect()
}

/// What follows `name.`: an alias or table has columns, a schema objects, a database schemas.
fn after_one(name: &str, all: &[Word], names: &NameSet) -> Vec<String> {
    let uses = used(all);
    let alias = uses
        .iter()
        .find(|used| used.alias.as_deref().is_some_and(|alias| is(alias, name)));
    let alias = alias.or_else(|| uses.iter().find(|used| is(&used.name, name)));
    let mut found = alias.map_or_else(Vec::new, |used| columns_of(used.object(names)));
    if found.is_empty() {
        found = of_schema(name, names);
    }
    if is(name, &names.database) {
        found.extend(names.objects.iter().map(|object| quoted(&object.schema)));
    } else if names.databases.iter().any(|database| is(database, name)) {
        found.extend(["dbo".to_owned(), "sys".to_owned()]);
    }
    found
}

fn of_schema(schema: &str, names: &NameSet) -> Vec<String> {
    let objects = names.objects.iter().filter(|object| is(&object.schema, schema));
    objects.map(|object| quoted(&object.name)).collect()
}

fn columns_of(object: Option<&Object>) -> Vec<String> {
    object.map_or_else(Vec::new, |object| {
        object.columns.iter().map(|name| quoted(name)).collect()
    })
}

fn find<'n>(names: &'n NameSet, schema: Option<&str>, name: &str) -> Option<&'n Object> {
    let fits = |object: &&Object| is(&object.name, name) && schema.is_none_or(|schema| is(&object.schema, schema));
    let mut fitting = names.objects.iter().filter(fits);
    // Views of the system come last where no schema is said.
    let own = fitting.clone().find(|object| !is(&object.schema, "sys"));
    own.or_else(|| fitting.next())
}

/// A table that the batch names after FROM, JOIN, INTO or UPDATE.
struct Used {
    schema: Option<String>,
    name: String,
    alias: Option<String>,
}

impl Used {
    fn object<'n>(&self, names: &'n NameSet) -> Option<&'n Object> {
        find(names, self.schema.as_deref(), &self.name)
    }
}

fn used(words: &[Word]) -> Vec<Used> {
    let mut found = Vec::new();
    let mut rest = words;
    while let [word, after @ ..] = rest {
        rest = after;
        let begins = ["FROM", "JOIN", "INTO", "UPDATE"]
            .iter()
            .any(|begin| is(&word.text, begin));
        if !begins || word.kind != Kind::Plain {
            continue;
        }
        while let Some((used, after)) = table(rest) {
            found.push(used);
            rest = after;
            match rest {
                [comma, after @ ..] if comma.text == "," => rest = after,
                _ => break,
            }
        }
    }
    found
}

/// `a.b.c as d` at the beginning of the words, and what follows it.
fn table(words: &[Word]) -> Option<(Used, &[Word])> {
    let is_name = |word: &Word| match word.kind {
        Kind::Plain => !keywords::is_reserved(&word.text),
        Kind::Quoted { .. } => true,
        _ => false,
    };
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = words;
    while let [name, after @ ..] = rest
        && is_name(name)
    {
        parts.push(&name.text);
        rest = after;
        match rest {
            [dot, after @ ..] if dot.kind == Kind::Dot => rest = after,
            _ => break,
        }
    }
    let name = (*parts.last()?).to_owned();
    let schema = parts.iter().rev().nth(1).filter(|schema| !schema.is_empty());
    if let [as_word, after @ ..] = rest
        && is(&as_word.text, "AS")
    {
        rest = after;
    }
    let mut alias = None;
    if let [word, after @ ..] = rest
        && is_name(word)
    {
        alias = Some(word.text.clone());
        rest = after;
    }
    let schema = schema.map(|schema| (*schema).to_owned());
    Some((Used { schema, name, alias }, rest))
}

/// Takes a text apart, as far as completion goes.
fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(first) = text.get(start..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(start..).unwrap_or_default();
        let (length, kind) = match first {
            _ if rest.starts_with("--") => match rest.find('\n') {
                Some(length) => (length, None),
                None => (rest.len(), Some(Kind::Open)),
            },
            _ if rest.starts_with("/*") => closed(rest, comment_end(rest)),
            '\'' => closed(rest, quote_end(rest, '\'')),
            '[' => quoted_word(rest, ']'),
            '"' => quoted_word(rest, '"'),
            '.' => (1, Some(Kind::Dot)),
            first if is_letter(first) => {
                let length = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
                (length, Some(Kind::Plain))
            }
            first if first.is_whitespace() => (first.len_utf8(), None),
            first => (first.len_utf8(), Some(Kind::Other)),
        };
        let piece = rest.get(..length).unwrap_or(rest);
        if let Some(kind) = kind {
            let text = match kind {
                Kind::Quoted { is_closed } => {
                    let end = piece.len() - usize::from(is_closed);
                    let doubled = if first == '[' { ("]]", "]") } else { ("\"\"", "\"") };
                    piece.get(1..end).unwrap_or_default().replace(doubled.0, doubled.1)
                }
                _ => piece.to_owned(),
            };
            let end = start + piece.len();
            found.push(Word { start, end, text, kind });
        }
        start += piece.len();
    }
    found
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '@' | '#' | '$')
}

/// A piece that says nothing if it ends, and all if it does not.
fn closed(rest: &str, end: Option<usize>) -> (usize, Option<Kind>) {
    match end {
        Some(end) => (end, Some(Kind::Other)),
        None => (rest.len(), Some(Kind::Open)),
    }
}

fn quoted_word(rest: &str, close: char) -> (usize, Option<Kind>) {
    let end = quote_end(rest, close);
    let is_closed = end.is_some();
    (end.unwrap_or(rest.len()), Some(Kind::Quoted { is_closed }))
}

/// Where a block comment ends, with those inside of it.
fn comment_end(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(pair) = rest.as_bytes().get(at..at + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Where a quoted piece ends, a doubled quote standing for one.
fn quote_end(rest: &str, close: char) -> Option<usize> {
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != close {
            continue;
        }
        match letters.peek() {
            Some((_, next)) if *next == close => {
                letters.next();
            }
            _ => return Some(at + 1),
        }
    }
    None
}

fn is(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn has_prefix(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// The name as it has to be written.
fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '#'))
        && name.chars().all(is_letter)
        && !keywords::is_reserved(name);
    match is_plain {
        true => name.to_owned(),
        false => format!("[{}]", name.replace(']', "]]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> NameSet {
        let object = |schema: &str, name: &str, columns: &[&str]| Object {
            schema: schema.to_owned(),
            name: name.to_owned(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        };
        NameSet {
            database: "shop".to_owned(),
            databases: ["master", "shop", "my shop"].map(str::to_owned).to_vec(),
            objects: vec![
                object("dbo", "orders", &["order_id", "order date", "key"]),
                object("sales", "order lines", &["line"]),
                object("sys", "objects", &["object_id", "name"]),
            ],
        }
    }

    #[test]
    fn what_fits_where_the_cursor_stands() {
        for (batch, line, start, found) in [
            ("", "use s", 4, vec!["shop"]),
            ("", "use ", 4, vec!["[my shop]", "master", "shop"]),
            ("", "select * from or", 14, vec!["[order lines]", "orders"]),
            ("", "select * from sales.", 20, vec!["[order lines]"]),
            ("", "select * from [order l", 14, vec!["[order lines]"]),
            ("", "select * from shop.dbo.o", 23, vec!["orders"]),
            ("", "select * from sys.ob", 18, vec!["objects"]),
            (
                "select 1 from dbo.orders as o\n",
                "where o.",
                8,
                vec!["[key]", "[order date]", "order_id"],
            ),
            ("select 1 from dbo.orders\n", "where orders.k", 13, vec!["[key]"]),
            (
                "select 1 from [dbo].[orders] o join sales.[order lines] l\n",
                "on l.",
                5,
                vec!["line"],
            ),
            ("select 1 from a, orders o\n", "where o.order_", 8, vec!["order_id"]),
            ("", "SELEC", 0, vec!["SELECT"]),
            ("", "selec", 0, vec!["select"]),
            ("", ":on", 0, vec![":on error exit", ":on error ignore"]),
            ("", "select 'fro", 11, vec![]),
            ("/* over\n", "fro", 3, vec![]),
            ("", "select 1 -- fro", 15, vec![]),
        ] {
            assert_eq!(
                complete(batch, line, &names()),
                (start, found.into_iter().map(str::to_owned).collect()),
                "{batch}{line}"
            );
        }
    }

    #[test]
    fn any_text_is_taken_apart() {
        let text = "select '', \"a\"\"b\", [c]]d].é 漢 /* x */ -- y\n/**/'z";
        let all = words(text);
        assert_eq!(all.last().map(|word| word.kind), Some(Kind::Open));
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let (start, _) = complete("", &text[..end], &names());
            assert!(text.is_char_boundary(start) && start <= end);
        }
        assert!(all.iter().any(|word| word.text == "c]d"));
    }
}
