//! INSERT, UPDATE, DELETE, TRUNCATE and bulk loads.

use super::nested_change::check_taker;
use super::{Parsed, Parser};
use crate::ast::{
    AssignmentOperator, BulkInsert, CommonTableExpression, CursorReference, Delete, Expression, ExpressionKind,
    FunctionCall, Identifier, Insert, InsertBulk, InsertSource, JSON_CHANGE, Literal, Mutator, Name, Output,
    StatementKind, TableHint, Target, Update, UpdateAssignment,
};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// Most rows of one VALUES (SQL Server docs, "Table value constructor").
const VALUES_ROWS_MAX: usize = 1_000;

impl Parser<'_> {
    /// An expression, or the word DEFAULT.
    pub(super) fn value_or_default(&mut self) -> Parsed<Expression> {
        let line = self.line();
        if self.eat_word("DEFAULT")? {
            return Ok(Expression::new(line, ExpressionKind::Literal(Literal::Default)));
        }
        self.expression()
    }

    pub(super) fn target(&mut self) -> Parsed<Target> {
        if self.token.kind == TokenKind::Variable {
            return self.variable().map(Target::Variable);
        }
        self.refuse(&["OPENROWSET", "OPENQUERY", "OPENDATASOURCE"])?;
        self.name().map(Target::Table)
    }

    /// Hints after a target: `WITH (...)`, or for INSERT nothing else, as a parenthesis holds columns there.
    pub(super) fn target_hints(&mut self) -> Parsed<Vec<TableHint>> {
        self.optional_table_hints()
    }

    pub(super) fn insert(&mut self, ctes: Vec<CommonTableExpression>) -> Parsed<StatementKind> {
        self.expect_word("INSERT")?;
        if ctes.is_empty() && self.at_word("BULK") {
            return self.insert_bulk();
        }
        let top = self.optional_top()?;
        self.eat_word("INTO")?;
        let target = self.target()?;
        let hints = self.target_hints()?;
        let columns = if self.at(b'(') && !self.peek_word(1, "SELECT")? && !self.peek_symbol(1, b'(')? {
            self.enclosed(|parser| {
                parser
                    .name()
                    .map(|mut name| name.parts.pop().unwrap_or(crate::ast::Identifier::new("")))
            })?
        } else {
            Vec::new()
        };
        let output = self.optional_output()?;
        let source = self.insert_source()?;
        let query_hints = self.optional_query_hints()?;
        let common_table_expressions = ctes;
        let insert = Insert {
            number: self.next_number(),
            common_table_expressions,
            top,
            target,
            hints,
            columns,
            output,
            source,
            query_hints,
        };
        Ok(StatementKind::Insert(Box::new(insert)))
    }

    fn insert_source(&mut self) -> Parsed<InsertSource> {
        if self.eat_word("DEFAULT")? {
            self.expect_word("VALUES")?;
            return Ok(InsertSource::DefaultValues);
        }
        let line = self.line();
        if self.eat_word("VALUES")? {
            let rows = self.value_rows()?;
            if rows.len() > VALUES_ROWS_MAX {
                let text = "The number of row value expressions in the INSERT statement exceeds the maximum allowed number of 1000 row values.";
                return Err(ParseError::new(10738, line, text));
            }
            return Ok(InsertSource::Values(rows));
        }
        if self.at_any(&["EXEC", "EXECUTE"]) {
            self.advance()?;
            let execute = self.execute()?;
            if execute.result_sets.is_some() {
                return Err(ParseError::not_supported(line, "WITH RESULT SETS in INSERT"));
            }
            return Ok(InsertSource::Execute(Box::new(execute)));
        }
        if self.at_word("WITH") {
            return Err(self.unexpected());
        }
        let others = std::mem::take(&mut self.nested_changes);
        let query = self.query(Vec::new())?;
        if self.nested_changes > 0 {
            check_taker(&query, line)?;
        }
        self.nested_changes = others;
        Ok(InsertSource::Query(Box::new(query)))
    }

    pub(super) fn optional_output(&mut self) -> Parsed<Option<Output>> {
        if !self.eat_word("OUTPUT")? {
            return Ok(None);
        }
        let items = self.list(Self::select_item)?;
        let (mut into, mut columns, mut shown) = (None, Vec::new(), Vec::new());
        if self.eat_word("INTO")? {
            into = Some(self.target()?);
            if !self.peek_word(1, "SELECT")? {
                columns = self.optional_columns()?;
            }
            if self.eat_word("OUTPUT")? {
                shown = self.list(Self::select_item)?;
            }
        }
        Ok(Some(Output {
            items,
            into,
            columns,
            shown,
        }))
    }

    pub(super) fn update(&mut self, ctes: Vec<CommonTableExpression>) -> Parsed<StatementKind> {
        self.expect_word("UPDATE")?;
        if ctes.is_empty() && self.eat_word("STATISTICS")? {
            return self.update_statistics();
        }
        let top = self.optional_top()?;
        let target = self.target()?;
        let hints = self.target_hints()?;
        self.expect_word("SET")?;
        let assignments = self.list(Self::update_assignment)?;
        let output = self.optional_output()?;
        let from = if self.eat_word("FROM")? {
            self.table_sources()?
        } else {
            Vec::new()
        };
        let (selection, current_of) = self.optional_where()?;
        let query_hints = self.optional_query_hints()?;
        let common_table_expressions = ctes;
        let update = Update {
            shows_row_places: self.shows_row_places,
            text_row: None,
            number: self.next_number(),
            common_table_expressions,
            top,
            target,
            hints,
            assignments,
            output,
            from,
            selection,
            current_of,
            query_hints,
        };
        Ok(StatementKind::Update(Box::new(update)))
    }

    pub(super) fn update_assignment(&mut self) -> Parsed<UpdateAssignment> {
        let line = self.line();
        let mut variable = None;
        let mut column = None;
        if self.token.kind == TokenKind::Variable {
            variable = Some(self.variable()?);
            let column_follows = self.at(b'=') && self.is_identifier(self.peek(1)?);
            if column_follows {
                let (lexer, token, previous) = (self.lexer, self.token, self.previous);
                self.advance()?;
                column = Some(self.name()?);
                if self.assignment_operator_at(0)?.is_none() {
                    (self.lexer, self.token, self.previous) = (lexer, token, previous);
                    column = None;
                }
            }
        } else {
            column = Some(self.name()?);
        }
        if self.at(b'(')
            && let Some(mut column) = column.take()
            && let Some(method) = column.parts.pop()
        {
            if method.text.eq_ignore_ascii_case("WRITE") && !column.parts.is_empty() {
                return self.written_part(line, variable, column);
            }
            return self.modified_column(line, variable, column, &method);
        }
        let operator: AssignmentOperator = self.assignment_operator_at(0)?.ok_or_else(|| self.unexpected())?;
        self.advance()?;
        let value = self.value_or_default()?;
        Ok(UpdateAssignment {
            line,
            variable,
            column,
            operator,
            value,
            mutator: None,
        })
    }

    /// What follows the column and the word WRITE.
    fn written_part(&mut self, line: u32, variable: Option<String>, column: Name) -> Parsed<UpdateAssignment> {
        if variable.is_some() {
            return Err(self.unexpected());
        }
        self.expect(b'(')?;
        let value = self.expression()?;
        self.expect(b',')?;
        let offset = self.expression()?;
        self.expect(b',')?;
        let length = self.expression()?;
        self.expect(b')')?;
        Ok(UpdateAssignment {
            line,
            variable: None,
            column: Some(column),
            operator: AssignmentOperator::Assign,
            value,
            mutator: Some(Box::new(Mutator::Write { offset, length })),
        })
    }

    /// What follows the column and the name of a method of xml.
    fn modified_column(
        &mut self,
        line: u32,
        variable: Option<String>,
        column: Name,
        method: &Identifier,
    ) -> Parsed<UpdateAssignment> {
        if variable.is_some() || column.parts.len() != 1 {
            return Err(ParseError::near(line, &method.text));
        }
        let value = self.mutator_argument(line, method)?;
        let mutator = Mutator::Modify {
            namespaces: self.xml_namespaces.clone(),
        };
        Ok(UpdateAssignment {
            line,
            variable: None,
            column: Some(column),
            operator: AssignmentOperator::Assign,
            value,
            mutator: Some(Box::new(mutator)),
        })
    }

    /// `('change')` behind `modify` of xml, whose name is case-sensitive, and `('path', value)` behind that of json, which becomes a call of
    /// a method that has them as its arguments.
    ///
    /// # Errors
    /// 8113 for the other methods of xml, 40517 for methods of other types.
    pub(super) fn mutator_argument(&mut self, line: u32, method: &Identifier) -> Parsed<Expression> {
        let what = method.text.as_str();
        if ["value", "query", "exist", "nodes"].contains(&what) {
            let text = format!(
                "Incorrect use of the XML data type method '{what}'. A mutator method is expected in this context."
            );
            return Err(ParseError {
                severity: 16,
                ..ParseError::new(8113, line, text)
            });
        }
        let refused = || ParseError::not_supported(line, &format!("method {what}"));
        if !what.eq_ignore_ascii_case("modify") {
            return Err(refused());
        }
        let mut arguments = self.enclosed(Self::expression)?;
        match arguments.len() {
            1 if what != "modify" => Err(refused()),
            1 => arguments.pop().ok_or_else(refused),
            _ => {
                let call = FunctionCall {
                    name: Name::single(JSON_CHANGE),
                    is_method: true,
                    is_property: false,
                    is_static: false,
                    namespaces: None,
                    arguments,
                    star: false,
                    distinct: false,
                    has_array_wrapper: false,
                    within_group: Vec::new(),
                    over: None,
                };
                Ok(Expression::new(line, ExpressionKind::Function(Box::new(call))))
            }
        }
    }

    fn optional_where(&mut self) -> Parsed<(Option<Expression>, Option<CursorReference>)> {
        if !self.eat_word("WHERE")? {
            return Ok((None, None));
        }
        if self.eat_words(&["CURRENT", "OF"])? {
            return Ok((None, Some(self.cursor_reference()?)));
        }
        Ok((Some(self.condition()?), None))
    }

    pub(super) fn delete(&mut self, ctes: Vec<CommonTableExpression>) -> Parsed<StatementKind> {
        self.expect_word("DELETE")?;
        let top = self.optional_top()?;
        self.eat_word("FROM")?;
        let target = self.target()?;
        let hints = self.target_hints()?;
        let output = self.optional_output()?;
        let from = if self.eat_word("FROM")? {
            self.table_sources()?
        } else {
            Vec::new()
        };
        let (selection, current_of) = self.optional_where()?;
        let query_hints = self.optional_query_hints()?;
        let common_table_expressions = ctes;
        let delete = Delete {
            shows_row_places: self.shows_row_places,
            number: self.next_number(),
            common_table_expressions,
            top,
            target,
            hints,
            output,
            from,
            selection,
            current_of,
            query_hints,
        };
        Ok(StatementKind::Delete(Box::new(delete)))
    }

    /// `BULK INSERT table FROM 'file' [WITH (...)]`.
    pub(super) fn bulk_insert(&mut self) -> Parsed<StatementKind> {
        self.expect_word("BULK")?;
        self.expect_word("INSERT")?;
        let table = self.name()?;
        self.expect_word("FROM")?;
        let file = self.string()?;
        let options = self.optional_with_options()?;
        Ok(StatementKind::BulkInsert(Box::new(BulkInsert { table, file, options })))
    }

    /// `BULK table (column type, ...) [WITH (...)]`, INSERT being read.
    fn insert_bulk(&mut self) -> Parsed<StatementKind> {
        self.expect_word("BULK")?;
        let table = self.name()?;
        let columns = if self.at(b'(') {
            self.enclosed(Self::column_definition)?
        } else {
            Vec::new()
        };
        let options = self.optional_with_options()?;
        Ok(StatementKind::InsertBulk(Box::new(InsertBulk {
            table,
            columns,
            options,
        })))
    }
}
