//! Conditions: AND, OR, NOT, comparisons and the predicates.

use super::{Parsed, Parser};
use crate::ast::{Between, ComparisonOperator, Expression, ExpressionKind, FunctionCall, Like, Literal, Name};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// Lowest binding power: all scalar operators.
const ALL_OPERATORS: u8 = 0;

impl Parser<'_> {
    pub(super) fn condition(&mut self) -> Parsed<Expression> {
        let condition = self.condition_or_scalar()?;
        self.require_condition(&condition)?;
        Ok(self.numbered(condition))
    }

    /// Error 4145 for a scalar where a condition is wanted.
    fn require_condition(&self, condition: &Expression) -> Parsed<()> {
        if condition.kind.is_condition() {
            return Ok(());
        }
        let near = if self.at_end() { self.previous } else { self.token };
        let text = format!(
            "An expression of non-boolean type specified in a context where a condition is expected, near '{}'.",
            self.plain(near)
        );
        Err(ParseError::new(4145, near.line, text))
    }

    /// What a parenthesis inside a condition holds: either kind.
    pub(super) fn condition_or_scalar(&mut self) -> Parsed<Expression> {
        self.nested(|parser| {
            let outer = std::mem::take(&mut parser.height);
            let result = parser.disjunction()?;
            parser.grow()?;
            parser.height = parser.height.max(outer);
            Ok(result)
        })
    }

    fn disjunction(&mut self) -> Parsed<Expression> {
        let first = self.conjunction()?;
        if !self.at_word("OR") {
            return Ok(first);
        }
        self.require_condition(&first)?;
        let line = first.line;
        let mut terms = vec![first];
        while self.eat_word("OR")? {
            let term = self.conjunction()?;
            self.require_condition(&term)?;
            terms.push(term);
        }
        Ok(Expression::new(line, ExpressionKind::Or(terms)))
    }

    fn conjunction(&mut self) -> Parsed<Expression> {
        let first = self.negation()?;
        if !self.at_word("AND") {
            return Ok(first);
        }
        self.require_condition(&first)?;
        let line = first.line;
        let mut terms = vec![first];
        while self.eat_word("AND")? {
            let term = self.negation()?;
            self.require_condition(&term)?;
            terms.push(term);
        }
        Ok(Expression::new(line, ExpressionKind::And(terms)))
    }

    fn negation(&mut self) -> Parsed<Expression> {
        let line = self.line();
        if !self.eat_word("NOT")? {
            return self.predicate();
        }
        let inner = self.nested(Self::negation)?;
        self.require_condition(&inner)?;
        self.grow()?;
        Ok(Expression::new(line, ExpressionKind::Not(Box::new(inner))))
    }

    fn predicate(&mut self) -> Parsed<Expression> {
        let line = self.line();
        if self.eat_word("EXISTS")? {
            self.expect(b'(')?;
            let query = self.subquery()?;
            self.expect(b')')?;
            return Ok(Expression::new(line, ExpressionKind::Exists(Box::new(query))));
        }
        if self.at_word("UPDATE") && self.peek_symbol(1, b'(')? {
            return self.update_test();
        }
        if self.at_any(&["CONTAINS", "FREETEXT"]) {
            return Err(ParseError::not_supported(line, &self.any_word()?));
        }
        if self.at_word("MATCH") && self.peek_symbol(1, b'(')? {
            return Err(ParseError::not_supported(line, "MATCH"));
        }
        let left = self.operators(true, ALL_OPERATORS)?;
        if left.kind.is_condition() {
            return Ok(left);
        }
        let line = self.line();
        if let Some(operator) = self.comparison_operator()? {
            return self.comparison(line, left, operator);
        }
        if self.eat_word("IS")? {
            return self.is_test(line, left);
        }
        let negated = self.at_word("NOT");
        if negated {
            self.advance()?;
        }
        if self.eat_word("BETWEEN")? {
            let low = self.expression()?;
            self.expect_word("AND")?;
            let high = self.expression()?;
            let between = Between {
                operand: left,
                negated,
                low,
                high,
            };
            return Ok(Expression::new(line, ExpressionKind::Between(Box::new(between))));
        }
        if self.eat_word("IN")? {
            return self.membership(line, left, negated);
        }
        if self.eat_word("LIKE")? {
            let pattern = self.expression()?;
            let escape = self.optional_escape()?;
            let like = Like {
                operand: left,
                negated,
                pattern,
                escape,
            };
            return Ok(Expression::new(line, ExpressionKind::Like(Box::new(like))));
        }
        if negated { Err(self.unexpected()) } else { Ok(left) }
    }

    /// `ESCAPE 'character'`, alone or in braces, as ODBC writes it.
    fn optional_escape(&mut self) -> Parsed<Option<Expression>> {
        let is_braced = self.at(b'{') && self.peek_word(1, "ESCAPE")?;
        if is_braced {
            self.advance()?;
        }
        if !self.eat_word("ESCAPE")? {
            return Ok(None);
        }
        let escape = self.expression()?;
        if is_braced {
            self.expect(b'}')?;
        }
        Ok(Some(escape))
    }

    /// `UPDATE(column)` of triggers: a function that answers 1 for a column that was set, compared with 1.
    fn update_test(&mut self) -> Parsed<Expression> {
        let line = self.line();
        self.expect_word("UPDATE")?;
        self.expect(b'(')?;
        let column = self.identifier()?;
        self.expect(b')')?;
        let constant = |literal| Expression::new(line, ExpressionKind::Literal(literal));
        let call = FunctionCall {
            name: Name::single("UPDATE"),
            arguments: vec![constant(Literal::NationalText(column.text))],
            star: false,
            distinct: false,
            has_array_wrapper: false,
            within_group: Vec::new(),
            over: None,
            is_method: false,
            is_property: false,
            is_static: false,
            namespaces: None,
        };
        let kind = ExpressionKind::Comparison {
            left: Box::new(Expression::new(line, ExpressionKind::Function(Box::new(call)))),
            operator: ComparisonOperator::Equal,
            right: Box::new(constant(Literal::Integer(1))),
        };
        Ok(Expression::new(line, kind))
    }

    /// The comparison under the cursor. Its two signs may stand apart: `! =`, `< >`, `> =`.
    fn comparison_operator(&mut self) -> Parsed<Option<ComparisonOperator>> {
        let TokenKind::Symbol(first, mut second) = self.token.kind else {
            return Ok(None);
        };
        if let (b'<' | b'>' | b'!', 0, TokenKind::Symbol(next, 0)) = (first, second, self.peek(1)?.kind)
            && (next == b'=' || matches!((first, next), (b'<', b'>') | (b'!', b'<' | b'>')))
        {
            self.advance()?;
            second = next;
        }
        let operator = match (first, second) {
            (b'=', 0) => ComparisonOperator::Equal,
            (b'<', b'>') | (b'!', b'=') => ComparisonOperator::NotEqual,
            (b'<', 0) => ComparisonOperator::Less,
            (b'<', b'=') | (b'!', b'>') => ComparisonOperator::LessOrEqual,
            (b'>', 0) => ComparisonOperator::Greater,
            (b'>', b'=') | (b'!', b'<') => ComparisonOperator::GreaterOrEqual,
            (b'!', 0) => return Err(self.unexpected()),
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(operator))
    }

    fn comparison(&mut self, line: u32, left: Expression, operator: ComparisonOperator) -> Parsed<Expression> {
        let left = Box::new(left);
        if self.at_any(&["ALL", "ANY", "SOME"]) {
            let all = self.any_word()? == "ALL";
            self.expect(b'(')?;
            let query = Box::new(self.subquery()?);
            self.expect(b')')?;
            let kind = ExpressionKind::Quantified {
                left,
                operator,
                all,
                query,
            };
            return Ok(Expression::new(line, kind));
        }
        let right = Box::new(self.expression()?);
        Ok(Expression::new(
            line,
            ExpressionKind::Comparison { left, operator, right },
        ))
    }

    fn is_test(&mut self, line: u32, left: Expression) -> Parsed<Expression> {
        let negated = self.eat_word("NOT")?;
        if self.eat_word("DISTINCT")? {
            self.expect_word("FROM")?;
            let right = Box::new(self.expression()?);
            let kind = ExpressionKind::IsDistinct {
                left: Box::new(left),
                right,
                negated,
            };
            return Ok(Expression::new(line, kind));
        }
        self.expect_word("NULL")?;
        let kind = ExpressionKind::IsNull {
            operand: Box::new(left),
            negated,
        };
        Ok(Expression::new(line, kind))
    }

    fn membership(&mut self, line: u32, left: Expression, negated: bool) -> Parsed<Expression> {
        let operand = Box::new(left);
        self.nested(|parser| {
            parser.expect(b'(')?;
            let kind = if parser.at_query()? {
                let query = Box::new(parser.subquery()?);
                ExpressionKind::InQuery {
                    operand,
                    negated,
                    query,
                }
            } else {
                let mut list = parser.list(Self::expression)?;
                let is_subquery = |one: &Expression| matches!(one.kind, ExpressionKind::Subquery(_));
                let is_query = list.len() == 1 && list.first().is_some_and(is_subquery);
                match list.pop_if(|_| is_query || parser.at_set_operator()) {
                    None => ExpressionKind::InList { operand, negated, list },
                    // What began like a list of subqueries is a query in parentheses of its own, or one of several parts.
                    Some(Expression {
                        kind: ExpressionKind::Subquery(first),
                        ..
                    }) if list.is_empty() => ExpressionKind::InQuery {
                        operand,
                        negated,
                        query: match parser.at_set_operator() {
                            true => Box::new(parser.subquery_after(*first)?),
                            false => first,
                        },
                    },
                    Some(_) => return Err(parser.unexpected()),
                }
            };
            parser.expect(b')')?;
            Ok(Expression::new(line, kind))
        })
    }
}
