//! Makes statements out of a tape: valid ones, whose answer is determined, and that mean the same to all three.
//!
//! What keeps the three from differing for reasons of taste:
//!
//! - every expression has one kind; numbers carry the largest magnitude they can reach, so that nothing overflows anywhere;
//! - ORDER BY, TOP and functions over ordered windows order by all there is, so that ties are equal rows; a SELECT has one
//!   window at most, because equal rows may come in another order in a second one;
//! - rows that a trigger notes are the same row by row and all at once; sequences give values to rows whose order is written down;
//! - an UPDATE takes its values from the target's row alone, or from sources joined by their keys: never from one of several;
//! - divisors are constants; a subquery used as a value is an aggregate, so that it has one row;
//! - aggregates take columns of their own query only, and no subqueries (130, 8124).
//!
//! The first choice of every draw is the simplest one: see [`crate::tape`].

mod change;
mod condition;
mod document;
mod expression;
mod merge;
mod query;
mod source;

use crate::ast::{ColumnName, Expression, Statement};
use crate::schema::{Kind, Schema};
use crate::tape::{Sort, Tape};

/// The largest magnitude of a number in a table while statements are made of it; the history sees to it.
pub const NUMBER_MAX: i64 = 60;
/// The longest text in a table.
pub const TEXT_MAX: i64 = 12;
/// The most rows of a table.
pub const ROWS_MAX: u64 = 14;
/// The largest magnitude an expression may reach.
const VALUE_MAX: i64 = 100_000;
/// The longest text an expression may reach; a column takes 100.
const LENGTH_MAX: i64 = 60;
/// The most rows FROM may have, roughly.
const FROM_ROWS_MAX: u64 = 17_000;
/// How deep expressions and queries nest.
const DEPTH: u32 = 3;

/// An expression, with what is known of it.
#[derive(Debug, Clone)]
struct Typed {
    expression: Expression,
    kind: Kind,
    /// Magnitude of a number, length of a text.
    bound: i64,
}

/// What expressions are made of at some place of a statement.
#[derive(Debug, Clone, Default)]
struct Scope {
    /// Columns of the query's own sources, or the groups and aggregates of a grouped one.
    own: Vec<Typed>,
    /// Columns of the queries around it.
    outer: Vec<Typed>,
    /// Whether subqueries may stand here.
    subqueries: bool,
}

impl Scope {
    /// What a subquery here sees from outside: columns only.
    fn for_subquery(&self) -> Vec<Typed> {
        let all = self.own.iter().chain(&self.outer);
        all.filter(|leaf| matches!(leaf.expression, Expression::Column(_)))
            .cloned()
            .collect()
    }

    fn without_subqueries(&self) -> Scope {
        Scope {
            subqueries: false,
            ..self.clone()
        }
    }
}

/// A common table expression that may be named.
#[derive(Debug, Clone)]
struct Known {
    name: String,
    kinds: Vec<Kind>,
    bounds: Vec<i64>,
    rows: u64,
}

struct Generator<'a> {
    tape: Tape,
    schema: &'a Schema,
    /// Aliases given so far.
    aliases: usize,
    known: Vec<Known>,
    /// Tables that stand somewhere without an alias: once in a statement, so that a name has one meaning.
    bare: Vec<String>,
    /// Whether it asks. A change takes few table hints, and must be one that all can say, or tables would differ.
    is_query: bool,
}

/// Which statements to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// One that answers rows.
    Query,
    /// One that changes rows.
    Change,
}

/// Makes a statement; the tape comes back as it was used.
pub fn statement(schema: &Schema, wanted: Wanted, tape: Tape) -> (Statement, Tape) {
    let mut generator = Generator {
        tape,
        schema,
        aliases: 0,
        known: Vec::new(),
        bare: Vec::new(),
        is_query: wanted == Wanted::Query,
    };
    let statement = match wanted {
        Wanted::Query => Statement::Query(generator.whole_query()),
        Wanted::Change => generator.change(),
    };
    (statement, generator.tape)
}

fn base_bound(kind: Kind) -> i64 {
    match kind {
        Kind::Text => TEXT_MAX,
        Kind::Date => 0,
        _ => NUMBER_MAX,
    }
}

fn column_of(source: &str, column: &str, kind: Kind, bound: i64) -> Typed {
    Typed {
        expression: Expression::Column(ColumnName {
            source: source.to_owned(),
            column: column.to_owned(),
        }),
        kind,
        bound,
    }
}

impl Generator<'_> {
    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("s{}", self.aliases - 1)
    }

    /// Runs a generator as a part of the tape.
    fn part<T>(&mut self, sort: Sort, make: impl FnOnce(&mut Self) -> T) -> T {
        let begin = self.tape.open();
        let made = make(self);
        self.tape.close(sort, begin);
        made
    }

    /// A list of at most `max` elements, longer ones less often.
    fn list<T>(&mut self, min: usize, max: usize, percent: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut list: Vec<T> = (0..min).map(|_| make(self)).collect();
        while list.len() < max {
            let begin = self.tape.open();
            if !self.tape.percent(percent) {
                break;
            }
            list.push(make(self));
            self.tape.close(Sort::Item, begin);
        }
        list
    }

    /// The columns of a table called `exposed`.
    fn columns_of_table(&self, table: usize, exposed: &str) -> Vec<Typed> {
        let columns = &self.schema.tables[table].columns;
        columns
            .iter()
            .map(|column| {
                // A sum of two, a text with a letter more.
                let bound = base_bound(column.kind) * if column.computed.is_some() { 2 } else { 1 };
                column_of(exposed, &column.name, column.kind, bound)
            })
            .collect()
    }
}
