//! A change as a source of FROM: `INSERT ... SELECT ... FROM (UPDATE ... OUTPUT ...) AS alias`.
//!
//! ```text
//! INSERT target SELECT items FROM ( change OUTPUT ... ) AS alias [(columns)] [WHERE condition]
//! ```
//! It must be the only source of a SELECT that is the immediate source of an INSERT. Anything else in either of them is refused by a number
//! (sql-docs, "INSERT", "OUTPUT clause"; the numbers and their words are from sys.messages).

use super::{Parsed, Parser};
use crate::ast::{InsertSource, NestedChange, Query, QueryBody, Select, StatementKind, TableSource};
use crate::error::ParseError;

/// The end of what most of the messages say.
const NESTED: &str = "a nested INSERT, UPDATE, DELETE, or MERGE statement";

impl Parser<'_> {
    /// The source that begins at the parenthesis under the cursor.
    ///
    /// # Errors
    /// 10717, 10719, 10721 and 10722 for what the change lacks or may not have, 10732 for one within another.
    pub(super) fn nested_change(&mut self, line: u32) -> Parsed<TableSource> {
        self.expect(b'(')?;
        let around = std::mem::take(&mut self.nested_changes);
        let outer = std::mem::replace(&mut self.is_in_nested_change, true);
        let word = self.current().to_ascii_uppercase();
        let kind = match word.as_str() {
            "INSERT" => self.insert(Vec::new())?,
            "UPDATE" => self.update(Vec::new())?,
            "DELETE" => self.delete(Vec::new())?,
            _ => self.merge(Vec::new())?,
        };
        if outer || self.nested_changes > 0 {
            return Err(refused(
                10732,
                line,
                "inside another nested INSERT, UPDATE, DELETE, or MERGE statement",
            ));
        }
        self.is_in_nested_change = outer;
        self.nested_changes = around + 1;
        self.expect(b')')?;
        let change = match kind {
            StatementKind::Insert(insert) => NestedChange::Insert(insert),
            StatementKind::Update(update) => NestedChange::Update(update),
            StatementKind::Delete(delete) => NestedChange::Delete(delete),
            StatementKind::Merge(merge) => NestedChange::Merge(merge),
            _ => return Err(self.unexpected()),
        };
        check_change(&change, line)?;
        let (alias, columns) = self.derived_alias()?;
        Ok(TableSource::Change {
            line,
            change,
            alias,
            columns,
        })
    }

    /// Refuses changes that are sources of FROM elsewhere than in the SELECT of an INSERT, by the statement that has them.
    ///
    /// # Errors
    /// 10730, 10731, 10734.
    pub(super) fn refuse_nested_changes(&self, kind: &StatementKind, line: u32) -> Parsed<()> {
        if self.nested_changes == 0 {
            return Ok(());
        }
        Err(match kind {
            StatementKind::Update(_) | StatementKind::Delete(_) => {
                refused(10731, line, "in the FROM clause of an UPDATE or DELETE statement")
            }
            StatementKind::Merge(_) => ParseError {
                severity: 16,
                ..refused(10734, line, "in the USING clause of a MERGE statement")
            },
            _ => not_immediate(line),
        })
    }
}

fn refused(number: i32, line: u32, place: &str) -> ParseError {
    let text = format!("A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed {place}.");
    ParseError::new(number, line, text)
}

fn not_immediate(line: u32) -> ParseError {
    let place = "in a SELECT statement that is not the immediate source of rows for an INSERT statement";
    refused(10730, line, place)
}

/// What a change must have to be a source, and may not.
fn check_change(change: &NestedChange, line: u32) -> Parsed<()> {
    let error = |number, text: &str| Err(ParseError::new(number, line, text));
    if let NestedChange::Insert(insert) = change
        && matches!(insert.source, InsertSource::Execute(_))
    {
        let text = "The OUTPUT clause cannot be used in an INSERT...EXEC statement.";
        return Err(ParseError {
            severity: 16,
            ..ParseError::new(483, line, text)
        });
    }
    match change.output() {
        None => {
            let text = "A nested INSERT, UPDATE, DELETE, or MERGE statement must have an OUTPUT clause.";
            return error(10717, text);
        }
        Some(output) if output.into.is_some() => {
            return error(10721, &format!("An OUTPUT INTO clause is not allowed in {NESTED}."));
        }
        Some(_) => {}
    }
    let of_query = match change {
        NestedChange::Insert(insert) => match &insert.source {
            InsertSource::Query(query) => query.hints.as_slice(),
            _ => &[],
        },
        _ => &[],
    };
    if !change.query_hints().is_empty() || !of_query.is_empty() {
        let text = "Query hints are not allowed in nested INSERT, UPDATE, DELETE, or MERGE statements.";
        return error(10719, text);
    }
    if change.has_current_of() {
        return error(
            10722,
            &format!("The WHERE CURRENT OF clause is not allowed in {NESTED}."),
        );
    }
    Ok(())
}

/// Whether the query of an INSERT, in which there is a change, is one that takes its rows.
///
/// # Errors
/// 10718, 10723, 10728, 10729, 10730, 10733.
pub(super) fn check_taker(query: &Query, line: u32) -> Parsed<()> {
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::Ordered(_) | QueryBody::SetOperations { .. } => {
            let place = "on either side of a UNION, INTERSECT, or EXCEPT operator";
            return Err(refused(10733, line, place));
        }
    };
    match select.from.as_slice() {
        [TableSource::Change { .. }] => {}
        [TableSource::Pivot(_) | TableSource::Unpivot(_)] => {
            let place = "as the table source of a PIVOT or UNPIVOT operator";
            return Err(refused(10729, line, place));
        }
        sources if sources.iter().any(is_or_joins_change) => {
            return Err(refused(10728, line, "on either side of a JOIN or APPLY operator"));
        }
        _ => return Err(not_immediate(line)),
    }
    if select.distinct {
        let text = format!("The DISTINCT keyword is not allowed when the FROM clause contains {NESTED}.");
        return Err(ParseError::new(10723, line, text));
    }
    match clause_beside(query, select) {
        None => Ok(()),
        Some(clause) => {
            let text = format!("The {clause} clause is not allowed when the FROM clause contains {NESTED}.");
            Err(ParseError::new(10718, line, text))
        }
    }
}

fn is_or_joins_change(source: &TableSource) -> bool {
    match source {
        TableSource::Change { .. } => true,
        TableSource::Join(join) => is_or_joins_change(&join.left) || is_or_joins_change(&join.right),
        _ => false,
    }
}

/// A clause of the SELECT that may not be there.
fn clause_beside(query: &Query, select: &Select) -> Option<&'static str> {
    match () {
        () if select.top.is_some() || query.offset.is_some() => Some("TOP or OFFSET"),
        () if !select.group_by.is_empty() => Some("GROUP BY"),
        () if select.having.is_some() => Some("HAVING"),
        () if !query.order_by.is_empty() => Some("ORDER BY"),
        () if query.for_clause.is_some() => Some("FOR"),
        () => None,
    }
}
