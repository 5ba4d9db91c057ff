//! FROM: tables, hints, functions, derived tables, joins and applies.

use super::{Parsed, Parser};
use crate::ast::{
    Expression, ExpressionKind, FunctionCall, Identifier, Join, JoinAlgorithm, JoinKind, Name, OpenRowset, OpenXml,
    Pivot, SampleUnit, SystemTime, TableHint, TableReference, TableSample, TableSource, Unpivot,
};
use crate::error::ParseError;
use crate::grammar::TABLE_HINTS;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// The comma-separated sources of FROM.
    pub(super) fn table_sources(&mut self) -> Parsed<Vec<TableSource>> {
        self.list(Self::joined_source)
    }

    /// A source, with what is joined to it.
    pub(super) fn joined_source(&mut self) -> Parsed<TableSource> {
        self.nested(|parser| {
            let outer = std::mem::take(&mut parser.height);
            let first = parser.single_source()?;
            let mut left = parser.pivoted(first)?;
            while let Some((line, kind, algorithm)) = parser.join_words()? {
                let apply = matches!(kind, JoinKind::CrossApply | JoinKind::OuterApply);
                let conditional = !apply && kind != JoinKind::Cross;
                // In `a JOIN b JOIN c ON x ON y` the inner join comes first: take it as the right side.
                let right = if conditional {
                    parser.right_of_join()?
                } else {
                    parser.single_source()?
                };
                let on = if conditional {
                    parser.expect_word("ON")?;
                    Some(parser.condition()?)
                } else {
                    None
                };
                parser.grow()?;
                left = TableSource::Join(Box::new(Join {
                    line,
                    left,
                    kind,
                    algorithm,
                    right,
                    on,
                }));
                left = parser.pivoted(left)?;
            }
            parser.height = parser.height.max(outer);
            Ok(left)
        })
    }

    fn right_of_join(&mut self) -> Parsed<TableSource> {
        self.nested(|parser| {
            let first = parser.single_source()?;
            let mut right = parser.pivoted(first)?;
            while !parser.at_word("ON") {
                let Some((line, kind, algorithm)) = parser.join_words()? else {
                    break;
                };
                let conditional = !matches!(kind, JoinKind::CrossApply | JoinKind::OuterApply | JoinKind::Cross);
                let inner = if conditional {
                    parser.right_of_join()?
                } else {
                    parser.single_source()?
                };
                let on = if conditional {
                    parser.expect_word("ON")?;
                    Some(parser.condition()?)
                } else {
                    None
                };
                parser.grow()?;
                right = TableSource::Join(Box::new(Join {
                    line,
                    left: right,
                    kind,
                    algorithm,
                    right: inner,
                    on,
                }));
            }
            Ok(right)
        })
    }

    /// The words of a join, if they are here, and the line they start on.
    fn join_words(&mut self) -> Parsed<Option<(u32, JoinKind, Option<JoinAlgorithm>)>> {
        let line = self.line();
        if self.eat_word("CROSS")? {
            if self.eat_word("APPLY")? {
                return Ok(Some((line, JoinKind::CrossApply, None)));
            }
            self.expect_word("JOIN")?;
            return Ok(Some((line, JoinKind::Cross, None)));
        }
        if self.eat_word("OUTER")? {
            self.expect_word("APPLY")?;
            return Ok(Some((line, JoinKind::OuterApply, None)));
        }
        if self.eat_word("JOIN")? {
            return Ok(Some((line, JoinKind::Inner, None)));
        }
        let kind = if self.eat_word("INNER")? {
            JoinKind::Inner
        } else if self.eat_word("LEFT")? {
            JoinKind::Left
        } else if self.eat_word("RIGHT")? {
            JoinKind::Right
        } else if self.eat_word("FULL")? {
            JoinKind::Full
        } else {
            return Ok(None);
        };
        if kind != JoinKind::Inner {
            self.eat_word("OUTER")?;
        }
        let algorithm = self.join_algorithm()?;
        self.expect_word("JOIN")?;
        Ok(Some((line, kind, algorithm)))
    }

    /// A source with the PIVOTs and UNPIVOTs behind it.
    fn pivoted(&mut self, source: TableSource) -> Parsed<TableSource> {
        let mut source = source;
        loop {
            let line = self.line();
            source = if self.eat_word("PIVOT")? {
                TableSource::Pivot(Box::new(self.pivot(line, source)?))
            } else if self.eat_word("UNPIVOT")? {
                TableSource::Unpivot(Box::new(self.unpivot(line, source)?))
            } else {
                return Ok(source);
            };
            self.grow()?;
        }
    }

    /// `(aggregate(column) FOR column IN (values)) AS alias`.
    fn pivot(&mut self, line: u32, source: TableSource) -> Parsed<Pivot> {
        self.expect(b'(')?;
        let function = self.name()?;
        let aggregate = self.nested(|parser| parser.call_arguments(function))?;
        let is_over_columns = |argument: &Expression| matches!(argument.kind, ExpressionKind::Column(_));
        if aggregate.star || aggregate.distinct || !aggregate.arguments.iter().all(is_over_columns) {
            return Err(ParseError::near(line, aggregate.name.object()));
        }
        self.expect_word("FOR")?;
        let column = self.name()?;
        self.expect_word("IN")?;
        let values = self.enclosed(Self::identifier)?;
        self.expect(b')')?;
        self.eat_word("AS")?;
        let alias = self.identifier()?;
        Ok(Pivot {
            line,
            source,
            aggregate,
            column,
            values,
            alias,
        })
    }

    /// `(value FOR name IN (columns)) AS alias`.
    fn unpivot(&mut self, line: u32, source: TableSource) -> Parsed<Unpivot> {
        self.expect(b'(')?;
        let value = self.identifier()?;
        self.expect_word("FOR")?;
        let name = self.identifier()?;
        self.expect_word("IN")?;
        let columns = self.enclosed(Self::name)?;
        self.expect(b')')?;
        self.eat_word("AS")?;
        let alias = self.identifier()?;
        Ok(Unpivot {
            line,
            source,
            value,
            name,
            columns,
            alias,
        })
    }

    fn join_algorithm(&mut self) -> Parsed<Option<JoinAlgorithm>> {
        Ok(if self.eat_word("LOOP")? {
            Some(JoinAlgorithm::Loop)
        } else if self.eat_word("HASH")? {
            Some(JoinAlgorithm::Hash)
        } else if self.eat_word("MERGE")? {
            Some(JoinAlgorithm::Merge)
        } else if self.eat_word("REMOTE")? {
            Some(JoinAlgorithm::Remote)
        } else {
            None
        })
    }

    fn single_source(&mut self) -> Parsed<TableSource> {
        let line = self.line();
        if self.at(b'(') {
            return self.nested(|parser| parser.parenthesised_source(line));
        }
        if self.token.kind == TokenKind::Variable && self.peek_symbol(1, b'.')? && self.peek_symbol(3, b'(')? {
            let method = self.primary(false)?;
            let ExpressionKind::Function(call) = method.kind else {
                return Err(self.unexpected());
            };
            return self.called_source(line, *call);
        }
        if self.token.kind == TokenKind::Variable {
            let name = self.variable()?;
            let alias = self.optional_table_alias()?;
            self.refuse_sample()?;
            return Ok(TableSource::Variable { line, name, alias });
        }
        if self.at_word("OPENROWSET") && self.peek_symbol(1, b'(')? && self.peek_word(2, "BULK")? {
            return self.open_rowset(line);
        }
        self.refuse(&[
            "OPENROWSET",
            "OPENQUERY",
            "OPENDATASOURCE",
            "CONTAINSTABLE",
            "FREETEXTTABLE",
        ])?;
        if self.eat_word("OPENXML")? {
            return self.open_xml(line);
        }
        if self.at_any(&["CHANGETABLE", "PREDICT"]) && self.peek_symbol(1, b'(')? {
            return Err(ParseError::not_supported(
                self.line(),
                &self.current().to_ascii_uppercase(),
            ));
        }
        // `::fn_name(...)`, the old way to call a system function.
        if self.token.kind == TokenKind::Symbol(b':', b':') {
            self.advance()?;
        }
        let name = self.name()?;
        if self.at_words(&["FOR", "PATH"])? {
            return Err(ParseError::not_supported(self.line(), "FOR PATH"));
        }
        if self.at(b'(') && !self.at_old_hints()? {
            self.refuse_foreign_call(&name)?;
            return self.function_source(line, name);
        }
        self.table_reference(line, name).map(TableSource::Table)
    }

    /// What follows the word OPENXML. Each argument is one constant or variable, the handle a variable.
    fn open_xml(&mut self, line: u32) -> Parsed<TableSource> {
        self.expect(b'(')?;
        if self.token.kind != TokenKind::Variable {
            return Err(self.unexpected());
        }
        let document = self.primary(false)?;
        self.expect(b',')?;
        let pattern = match self.token.kind {
            TokenKind::Variable | TokenKind::Text | TokenKind::NationalText => self.primary(false)?,
            _ => return Err(self.unexpected()),
        };
        let flags = match self.eat(b',')? {
            false => None,
            true if matches!(self.token.kind, TokenKind::Variable | TokenKind::Number) => Some(self.primary(false)?),
            true => return Err(self.unexpected()),
        };
        self.expect(b')')?;
        let (mut schema, mut like) = (Vec::new(), None);
        if self.eat_word("WITH")? {
            match self.at(b'(') {
                true => schema = self.enclosed(Self::schema_column)?,
                false => like = Some(self.name()?),
            }
        }
        if schema.iter().any(|column| column.is_json) {
            return Err(ParseError::near(line, "JSON"));
        }
        let alias = self.optional_table_alias()?;
        Ok(TableSource::OpenXml(Box::new(OpenXml {
            line,
            document,
            pattern,
            flags,
            schema,
            like,
            alias,
        })))
    }

    /// `OPENROWSET (BULK 'file', options) [AS] alias [(columns)]`.
    fn open_rowset(&mut self, line: u32) -> Parsed<TableSource> {
        self.expect_word("OPENROWSET")?;
        self.expect(b'(')?;
        self.expect_word("BULK")?;
        let file = self.string()?;
        let mut options = Vec::new();
        while self.eat(b',')? {
            options.push(self.inner_option()?);
        }
        self.expect(b')')?;
        let alias = self.optional_table_alias()?;
        let columns = match alias {
            Some(_) => self.optional_columns()?,
            None => Vec::new(),
        };
        self.refuse_sample()?;
        Ok(TableSource::OpenRowset(Box::new(OpenRowset {
            line,
            file,
            options,
            alias,
            columns,
        })))
    }

    fn function_source(&mut self, line: u32, name: Name) -> Parsed<TableSource> {
        let call: FunctionCall = self.nested(|parser| parser.call_arguments(name))?;
        self.called_source(line, call)
    }

    /// # Errors
    /// 480 for a TABLESAMPLE behind it; those of its parts.
    fn called_source(&mut self, line: u32, call: FunctionCall) -> Parsed<TableSource> {
        let is_open_json = call.name.parts.len() == 1 && call.name.object().eq_ignore_ascii_case("OPENJSON");
        let schema = if is_open_json && self.eat_word("WITH")? {
            self.enclosed(Self::schema_column)?
        } else {
            Vec::new()
        };
        let alias = self.optional_table_alias()?;
        let columns = if alias.is_some() {
            self.optional_columns()?
        } else {
            Vec::new()
        };
        if self.at_word("TABLESAMPLE") {
            let function = call.name.object();
            let text = format!("The TABLESAMPLE clause cannot be used with the table function \"{function}\".");
            return Err(sample_error(480, self.line(), &text));
        }
        Ok(TableSource::Function {
            line,
            call: Box::new(call),
            schema,
            alias,
            columns,
        })
    }

    fn table_reference(&mut self, line: u32, name: Name) -> Parsed<TableReference> {
        let mut hints = self.old_hints()?;
        let mut system_time = self.optional_system_time()?;
        let alias = self.optional_table_alias()?;
        if system_time.is_none() {
            system_time = self.optional_system_time()?;
        }
        let sample = self.optional_sample()?.map(Box::new);
        hints.append(&mut self.old_hints()?);
        hints.append(&mut self.optional_table_hints()?);
        Ok(TableReference {
            line,
            name,
            alias,
            hints,
            system_time: system_time.map(Box::new),
            sample,
            shows_row_places: self.shows_row_places,
            text_row: None,
        })
    }

    /// `FOR SYSTEM_TIME ...`, if it is here.
    fn optional_system_time(&mut self) -> Parsed<Option<SystemTime>> {
        if !self.at_word("FOR") || !self.eat_words(&["FOR", "SYSTEM_TIME"])? {
            return Ok(None);
        }
        if self.eat_word("ALL")? {
            return Ok(Some(SystemTime::All));
        }
        if self.eat_word("AS")? {
            self.expect_word("OF")?;
            return Ok(Some(SystemTime::AsOf(self.moment()?)));
        }
        if self.eat_word("FROM")? {
            let first = self.moment()?;
            self.expect_word("TO")?;
            return Ok(Some(SystemTime::FromTo(first, self.moment()?)));
        }
        if self.eat_word("BETWEEN")? {
            let first = self.moment()?;
            self.expect_word("AND")?;
            return Ok(Some(SystemTime::Between(first, self.moment()?)));
        }
        self.expect_word("CONTAINED")?;
        self.expect_word("IN")?;
        self.expect(b'(')?;
        let first = self.moment()?;
        self.expect(b',')?;
        let last = self.moment()?;
        self.expect(b')')?;
        Ok(Some(SystemTime::ContainedIn(first, last)))
    }

    /// A moment of FOR SYSTEM_TIME: "a literal or a variable" (sql-docs, FROM: `date_time_literal | @date_time_variable`).
    fn moment(&mut self) -> Parsed<Expression> {
        match self.token.kind {
            TokenKind::Variable | TokenKind::Text | TokenKind::NationalText => self.primary(false),
            _ => Err(self.unexpected()),
        }
    }

    /// `TABLESAMPLE ...`, if it is here.
    ///
    /// # Errors
    /// 478 in the definition of a view or an inline function.
    fn optional_sample(&mut self) -> Parsed<Option<TableSample>> {
        let line = self.line();
        if !self.eat_word("TABLESAMPLE")? {
            return Ok(None);
        }
        if self.is_inline_definition {
            let text =
                "The TABLESAMPLE clause cannot be used in a view definition or inline table function definition.";
            return Err(sample_error(478, line, text));
        }
        self.eat_word("SYSTEM")?;
        self.expect(b'(')?;
        let size = self.expression()?;
        let unit = if self.eat_word("ROWS")? {
            SampleUnit::Rows
        } else {
            self.eat_word("PERCENT")?;
            SampleUnit::Percent
        };
        self.expect(b')')?;
        let seed = if self.eat_word("REPEATABLE")? {
            self.expect(b'(')?;
            let seed = self.expression()?;
            self.expect(b')')?;
            Some(seed)
        } else {
            None
        };
        Ok(Some(TableSample { line, size, unit, seed }))
    }

    /// Fails at a TABLESAMPLE of anything but a table by name.
    ///
    /// # Errors
    /// 475.
    pub(super) fn refuse_sample(&self) -> Parsed<()> {
        if !self.at_word("TABLESAMPLE") {
            return Ok(());
        }
        let text = "Invalid SAMPLE clause. Only table names in the FROM clause of SELECT, UPDATE, and DELETE queries may be sampled.";
        Err(sample_error(475, self.line(), text))
    }

    fn old_hints(&mut self) -> Parsed<Vec<TableHint>> {
        if self.at(b'(') && self.at_old_hints()? {
            self.hint_list()
        } else {
            Ok(Vec::new())
        }
    }

    /// True at `(NOLOCK)` and its kin; the parenthesis is under the cursor. A hint is followed by `)`, `,`, `=`, `(`, or
    /// another hint, and a function's argument of that name would be no constant expression, so the word decides.
    fn at_old_hints(&self) -> Parsed<bool> {
        let token = self.peek(1)?;
        let word = self.slice(token);
        Ok(token.kind == TokenKind::Word && TABLE_HINTS.word(&word.to_ascii_uppercase()).is_some())
    }

    /// `WITH (hints)`, if it is here.
    pub(super) fn optional_table_hints(&mut self) -> Parsed<Vec<TableHint>> {
        if self.at_word("WITH") && self.peek_symbol(1, b'(')? {
            self.advance()?;
            return self.hint_list();
        }
        Ok(Vec::new())
    }

    fn hint_list(&mut self) -> Parsed<Vec<TableHint>> {
        self.expect(b'(')?;
        let mut hints = Vec::new();
        loop {
            let known =
                self.token.kind == TokenKind::Word && TABLE_HINTS.word(&self.current().to_ascii_uppercase()).is_some();
            if !known {
                let expected = self.token.kind == TokenKind::Word && self.at_identifier();
                return Err(if expected {
                    TABLE_HINTS.unknown(self.line(), self.current())
                } else {
                    self.unexpected()
                });
            }
            let name = self.any_word()?;
            let mut arguments = Vec::new();
            self.eat(b'=')?;
            if self.at(b'(') {
                let inside = self.balanced_text()?;
                arguments.extend(inside.split(',').map(|part| part.trim().to_owned()));
            } else if name == "INDEX" || self.token.kind == TokenKind::Number {
                let token = self.advance()?;
                arguments.push(self.plain(token));
            }
            hints.push(TableHint { name, arguments });
            if self.eat(b')')? {
                return Ok(hints);
            }
            // Commas between hints are optional.
            self.eat(b',')?;
        }
    }

    /// A parenthesis of FROM: a derived table, a VALUES table or joins.
    fn parenthesised_source(&mut self, line: u32) -> Parsed<TableSource> {
        if self.peek_word(1, "VALUES")? {
            self.advance()?;
            self.advance()?;
            let rows = self.value_rows()?;
            self.expect(b')')?;
            let (alias, columns) = self.derived_alias()?;
            return Ok(TableSource::Values {
                line,
                rows,
                alias,
                columns,
            });
        }
        for word in ["INSERT", "UPDATE", "DELETE", "MERGE"] {
            if self.peek_word(1, word)? && !self.peek_symbol(2, b'(')? {
                return self.nested_change(line);
            }
        }
        if self.parentheses_hold_query()? {
            self.advance()?;
            let query = Box::new(self.subquery()?);
            self.expect(b')')?;
            let (alias, columns) = self.derived_alias()?;
            return Ok(TableSource::Derived {
                line,
                query,
                alias,
                columns,
            });
        }
        self.expect(b'(')?;
        let inner = self.joined_source()?;
        self.expect(b')')?;
        Ok(inner)
    }

    /// True if the parentheses from here on open a SELECT, and none of those inside the first is followed by an alias, which
    /// would make it a derived table inside joins.
    fn parentheses_hold_query(&self) -> Parsed<bool> {
        let mut lexer = self.lexer;
        let mut opened = 1_usize;
        loop {
            let token = lexer.next_token()?;
            match token.kind {
                TokenKind::Symbol(b'(', 0) if opened < 100 => opened += 1,
                TokenKind::Word => {
                    return Ok(self.slice(token).eq_ignore_ascii_case("SELECT") && opened <= 1
                        || self.slice(token).eq_ignore_ascii_case("SELECT")
                            && hold_set_operations(self, lexer, opened)?);
                }
                _ => return Ok(false),
            }
        }
    }

    pub(super) fn derived_alias(&mut self) -> Parsed<(Identifier, Vec<Identifier>)> {
        self.eat_word("AS")?;
        let alias = self.identifier()?;
        let columns = self.optional_columns()?;
        self.refuse_sample()?;
        Ok((alias, columns))
    }

    pub(super) fn optional_table_alias(&mut self) -> Parsed<Option<Identifier>> {
        if self.eat_word("AS")? {
            return self.identifier().map(Some);
        }
        if self.at_alias()? {
            self.take_identifier().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `(a, b), (c, d)`.
    pub(super) fn value_rows(&mut self) -> Parsed<Vec<Vec<Expression>>> {
        self.list(|parser| parser.enclosed(Self::value_or_default))
    }
}

/// Looks past the parentheses that a SELECT just begun stands in, `opened` of them: false if an alias follows one that is not
/// the first, true if all hold parts of set operations.
fn hold_set_operations(parser: &Parser<'_>, mut lexer: crate::lexer::Lexer<'_>, opened: usize) -> Parsed<bool> {
    let (mut depth, mut outermost) = (opened, opened);
    while outermost > 0 {
        match lexer.next_token()?.kind {
            TokenKind::Symbol(b'(', 0) => depth += 1,
            TokenKind::Symbol(b')', 0) => {
                if depth == outermost {
                    outermost -= 1;
                    let mut ahead = lexer;
                    let next = ahead.next_token()?;
                    let has_alias = parser.is_identifier(next) || parser.slice(next).eq_ignore_ascii_case("AS");
                    if outermost > 0 && has_alias {
                        return Ok(false);
                    }
                }
                depth -= 1;
            }
            TokenKind::End => return Ok(true),
            _ => {}
        }
    }
    Ok(true)
}

/// An error of TABLESAMPLE. Its severity is that of a failed statement.
fn sample_error(number: i32, line: u32, text: &str) -> ParseError {
    ParseError {
        severity: 16,
        ..ParseError::new(number, line, text)
    }
}
