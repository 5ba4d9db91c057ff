//! MERGE: its source and target as one join, and its clauses (SQL Server docs, "MERGE").

use super::{Parsed, Parser};
use crate::ast::{
    CommonTableExpression, Expression, ExpressionKind, Identifier, Join, JoinKind, Literal, MERGE_MARK, Merge,
    MergeAction, MergeClause, MergeWhen, Name, StatementKind, TableReference, TableSource, Target,
};
use crate::error::ParseError;

impl Parser<'_> {
    pub(super) fn merge(&mut self, ctes: Vec<CommonTableExpression>) -> Parsed<StatementKind> {
        let line = self.line();
        self.expect_word("MERGE")?;
        let top = self.optional_top()?;
        self.eat_word("INTO")?;
        let target = self.target()?;
        let hints = self.target_hints()?;
        let alias = if self.at_word("USING") {
            None
        } else {
            self.optional_table_alias()?
        };
        self.expect_word("USING")?;
        let source = self.joined_source()?;
        self.expect_word("ON")?;
        let on = self.condition()?;
        let mut clauses = Vec::new();
        while self.at_word("WHEN") {
            let clause = self.merge_clause()?;
            check_clause(&clauses, &clause)?;
            clauses.push(clause);
        }
        if clauses.is_empty() {
            return Err(self.unexpected());
        }
        let output = self.optional_output()?;
        let query_hints = self.optional_query_hints()?;
        let ends_nested = self.is_in_nested_change && self.at(b')');
        if !ends_nested && !self.at(b';') {
            let text = "A MERGE statement must be terminated by a semi-colon (;).";
            return Err(ParseError::new(10713, self.previous.line, text));
        }
        let sides = Sides {
            line,
            source,
            target: self.target_source(line, &target, alias.as_ref()),
            on,
        };
        let merge = Merge {
            number: self.next_number(),
            common_table_expressions: ctes,
            top,
            target: match alias {
                Some(alias) => Target::Table(Name { parts: vec![alias] }),
                None => target,
            },
            hints,
            from: vec![sides.joined(&clauses)],
            clauses,
            output,
            query_hints,
        };
        Ok(StatementKind::Merge(Box::new(merge)))
    }

    fn merge_clause(&mut self) -> Parsed<MergeClause> {
        let line = self.line();
        self.expect_word("WHEN")?;
        let when = if self.eat_word("NOT")? {
            self.expect_word("MATCHED")?;
            match self.eat_word("BY")? {
                false => MergeWhen::NotMatched,
                true if self.eat_word("SOURCE")? => MergeWhen::NotMatchedBySource,
                true => {
                    self.expect_word("TARGET")?;
                    MergeWhen::NotMatched
                }
            }
        } else {
            self.expect_word("MATCHED")?;
            MergeWhen::Matched
        };
        let condition = if self.eat_word("AND")? {
            Some(self.condition()?)
        } else {
            None
        };
        self.expect_word("THEN")?;
        let action = self.merge_action()?;
        let clause = MergeClause {
            line,
            when,
            condition,
            action,
        };
        let is_insert = matches!(clause.action, MergeAction::Insert { .. });
        if is_insert != (when == MergeWhen::NotMatched) {
            let (word, name) = (word_of(&clause.action), name_of(when));
            let text =
                format!("An action of type '{word}' is not allowed in the '{name}' clause of a MERGE statement.");
            return Err(ParseError::new(10711, line, text));
        }
        Ok(clause)
    }

    fn merge_action(&mut self) -> Parsed<MergeAction> {
        if self.eat_word("UPDATE")? {
            self.expect_word("SET")?;
            return self.list(Self::update_assignment).map(MergeAction::Update);
        }
        if self.eat_word("DELETE")? {
            return Ok(MergeAction::Delete);
        }
        self.expect_word("INSERT")?;
        let columns = if self.at(b'(') {
            self.enclosed(|parser| {
                let mut name = parser.name()?;
                Ok(name.parts.pop().unwrap_or(Identifier::new("")))
            })?
        } else {
            Vec::new()
        };
        let values = if columns.is_empty() && self.eat_word("DEFAULT")? {
            self.expect_word("VALUES")?;
            None
        } else {
            self.expect_word("VALUES")?;
            Some(self.enclosed(Self::value_or_default)?)
        };
        Ok(MergeAction::Insert { columns, values })
    }

    /// The target as a source of FROM.
    fn target_source(&self, line: u32, target: &Target, alias: Option<&Identifier>) -> TableSource {
        match target {
            Target::Table(name) => TableSource::Table(TableReference {
                line,
                name: name.clone(),
                alias: alias.cloned(),
                hints: Vec::new(),
                system_time: None,
                sample: None,
                shows_row_places: self.shows_row_places,
                text_row: None,
            }),
            Target::Variable(name) => TableSource::Variable {
                line,
                name: name.clone(),
                alias: alias.cloned(),
            },
        }
    }
}

/// 5324 and 10714 for a clause that stands behind others for the same rows: there may be two, the first with a condition, one that updates
/// and one that deletes; of INSERT there is one.
fn check_clause(before: &[MergeClause], clause: &MergeClause) -> Parsed<()> {
    let name = name_of(clause.when);
    let mut same = before.iter().filter(|other| other.when == clause.when);
    let (first, second) = (same.next(), same.next());
    let Some(first) = first else { return Ok(()) };
    let word = word_of(&clause.action);
    if clause.when == MergeWhen::NotMatched || second.is_some() || word_of(&first.action) == word {
        let text = format!(
            "An action of type '{word}' cannot appear more than once in a '{name}' clause of a MERGE statement."
        );
        return Err(ParseError::new(10714, clause.line, text));
    }
    if first.condition.is_none() {
        let text = format!(
            "In a MERGE statement, a '{name}' clause with a search condition cannot appear after a '{name}' clause with no \
             search condition."
        );
        return Err(ParseError::new(5324, clause.line, text));
    }
    Ok(())
}

fn name_of(when: MergeWhen) -> &'static str {
    match when {
        MergeWhen::Matched => "WHEN MATCHED",
        MergeWhen::NotMatched => "WHEN NOT MATCHED",
        MergeWhen::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
    }
}

fn word_of(action: &MergeAction) -> &'static str {
    match action {
        MergeAction::Update(_) => "UPDATE",
        MergeAction::Delete => "DELETE",
        MergeAction::Insert { .. } => "INSERT",
    }
}

/// What MERGE joins.
struct Sides {
    line: u32,
    source: TableSource,
    target: TableSource,
    on: Expression,
}

impl Sides {
    /// The join that has every row some clause is for. Rows of the target alone are told from matched ones by a column of the source's side.
    fn joined(self, clauses: &[MergeClause]) -> TableSource {
        let has = |when| clauses.iter().any(|clause| clause.when == when);
        let by_source = has(MergeWhen::NotMatchedBySource);
        let kind = match (has(MergeWhen::NotMatched), by_source) {
            (true, true) => JoinKind::Full,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (false, false) => JoinKind::Inner,
        };
        let join = |left, kind, right, on| {
            TableSource::Join(Box::new(Join {
                line: self.line,
                left,
                kind,
                algorithm: None,
                right,
                on,
            }))
        };
        let left = match by_source {
            false => self.source,
            true => {
                let one = Expression::new(self.line, ExpressionKind::Literal(Literal::Integer(1)));
                let mark = TableSource::Values {
                    line: self.line,
                    rows: vec![vec![one]],
                    alias: Identifier::new(MERGE_MARK),
                    columns: vec![Identifier::new(MERGE_MARK)],
                };
                join(self.source, JoinKind::Cross, mark, None)
            }
        };
        join(left, kind, self.target, Some(self.on))
    }
}
