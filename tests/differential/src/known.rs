//! The differences that are intended, each with its reason. The generators avoid what they can, so there are few.

use crate::ast::Statement;
use crate::dialect::Dialect;
use crate::judges::{Answer, Failure};
use crate::print::has_ties;

/// A difference that is intended.
struct Known {
    name: &'static str,
    /// The engine that has it.
    dialect: Dialect,
    /// Whether it explains these two answers, vlflab's first.
    explains: fn(&Statement, &Answer, &Answer) -> bool,
}

const KNOWN: &[Known] = &[
    // `(a join b on 0 is null) full join c` answers no row of c. PostgreSQL judges these.
    Known {
        name: "SQLite 3.40 loses rows of a FULL JOIN whose left side is a join of nothing",
        dialect: Dialect::Sqlite,
        explains: |statement, own, other| {
            // A row that it loses may be the one that breaks a rule of the table.
            let is_allowed = own.failure.as_ref().is_none_or(|failure| failure.is_constraint);
            is_allowed && other.failure.is_none() && format!("{statement:?}").contains("Join(Full")
        },
    },
    // `exists (select distinct ... order by ... limit 1 offset 2)` is true of fewer than three rows. PostgreSQL judges these.
    Known {
        name: "SQLite 3.40 overlooks OFFSET in EXISTS of a SELECT DISTINCT",
        dialect: Dialect::Sqlite,
        explains: |statement, own, other| {
            let text = format!("{statement:?}");
            let has = |part: &str| text.contains(part);
            let is_answered = own.failure.is_none() && other.failure.is_none();
            is_answered && has("Exists(") && has("distinct: true") && has("offset: ")
        },
    },
    // `(select ... group by ...) cross join t left join (select (select count(*) from t) as n from t) as s on t.id = s.n` answers NULL for
    // matches behind the first group. PostgreSQL judges these.
    Known {
        name: "SQLite 3.40 loses matches of a LEFT JOIN with a subquery's value behind a grouped query",
        dialect: Dialect::Sqlite,
        explains: |statement, own, other| {
            let text = format!("{statement:?}");
            let is_answered = own.failure.is_none() && other.failure.is_none();
            let is_left = text.contains("Join(Left") || text.contains("Join(Right");
            is_answered && own.rows.len() == other.rows.len() && is_left && text.contains("Scalar(")
        },
    },
    // `a left join (b join c on b.id = c.id) on ...`, in some nestings.
    Known {
        name: "SQLite 3.40 refuses some joins in parentheses",
        dialect: Dialect::Sqlite,
        explains: |_, _, other| {
            let is_that_error = |failure: &Failure| failure.text == "ON clause references tables to its right";
            other.failure.as_ref().is_some_and(is_that_error)
        },
    },
    // It looks for the least value by an index, as a query with LIMIT 1, and leaves WITH TIES in it.
    Known {
        name: "PostgreSQL 15 refuses min and max WITH TIES",
        dialect: Dialect::Postgres,
        explains: |statement, _, other| {
            let is_that_error = |failure: &Failure| failure.text.starts_with("21000");
            other.failure.as_ref().is_some_and(is_that_error) && has_ties(statement)
        },
    },
];

/// The name of the intended difference between vlflab's answer and a judge's, if it is one.
pub fn reason(dialect: Dialect, statement: Option<&Statement>, own: &Answer, other: &Answer) -> Option<&'static str> {
    let statement = statement?;
    let known = KNOWN
        .iter()
        .find(|known| known.dialect == dialect && (known.explains)(statement, own, other))?;
    Some(known.name)
}
