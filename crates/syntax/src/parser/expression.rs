//! Scalar expressions by operator precedence, and data types.
//!
//! Precedence, tightest first (SQL Server docs, "Operator precedence"): `~`; `* / %`; unary and binary `+ -`, `& ^ |`, `<< >>`;
//! comparisons; NOT; AND; BETWEEN, IN, LIKE, OR. `COLLATE` and `AT TIME ZONE` bind tighter than any operator.

use super::{Parsed, Parser};
use crate::ast::{
    BinaryOperator, DataType, Expression, ExpressionKind, Identifier, Name, OrderItem, TypeArgument, UnaryOperator,
};
use crate::error::ParseError;
use crate::lexer::TokenKind;

/// Binding power of `+ - & ^ |`.
const ADDITIVE: u8 = 1;
/// What an expression takes on average, in bytes: itself, its text, its list's slack.
const EXPRESSION_BYTES: u64 = 120;
/// Binding power of `* / %`.
const MULTIPLICATIVE: u8 = 2;

/// What stands between two operands.
enum Infix {
    Operator(BinaryOperator),
    /// "The LEFT_SHIFT function is also accessible through the << operator" (SQL Server docs), and RIGHT_SHIFT through `>>`.
    Shift(&'static str),
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        let expression = self.operators(false, ADDITIVE)?;
        self.require_scalar(&expression)?;
        Ok(self.numbered(expression))
    }

    /// Fails at the token after a condition that stands where a scalar is wanted.
    fn require_scalar(&self, expression: &Expression) -> Parsed<()> {
        if expression.kind.is_condition() {
            Err(self.unexpected())
        } else {
            Ok(())
        }
    }

    /// Operators of at least the given binding power. With `open`, a parenthesis may hold a condition, and then that
    /// condition is returned alone.
    pub(super) fn operators(&mut self, open: bool, power_min: u8) -> Parsed<Expression> {
        self.charge(EXPRESSION_BYTES)?;
        self.nested(|parser| {
            let outer = std::mem::take(&mut parser.height);
            let result = parser.operator_chain(open, power_min)?;
            parser.grow()?;
            parser.height = parser.height.max(outer);
            Ok(result)
        })
    }

    fn operator_chain(&mut self, open: bool, power_min: u8) -> Parsed<Expression> {
        let mut left = self.unary(open)?;
        if left.kind.is_condition() {
            return Ok(left);
        }
        while let Some((operator, power)) = self.infix() {
            if power < power_min {
                break;
            }
            let line = self.line();
            self.advance()?;
            let right = if power == ADDITIVE {
                self.operators(false, MULTIPLICATIVE)?
            } else {
                self.factor()?
            };
            self.require_scalar(&right)?;
            self.grow()?;
            let kind = match operator {
                Infix::Operator(operator) => ExpressionKind::Binary {
                    left: Box::new(left),
                    operator,
                    right: Box::new(right),
                },
                Infix::Shift(function) => super::primary::call(Name::single(function), vec![left, right]),
            };
            left = Expression::new(line, kind);
        }
        Ok(left)
    }

    /// What is under the cursor of everything that stands between two operands.
    fn infix(&self) -> Option<(Infix, u8)> {
        match self.token.kind {
            TokenKind::Symbol(b'<', b'<') => Some((Infix::Shift("LEFT_SHIFT"), ADDITIVE)),
            TokenKind::Symbol(b'>', b'>') => Some((Infix::Shift("RIGHT_SHIFT"), ADDITIVE)),
            _ => {
                let (operator, power) = self.binary_operator()?;
                Some((Infix::Operator(operator), power))
            }
        }
    }

    /// The right side of `* / %`: a unary expression counted as a level of its own.
    fn factor(&mut self) -> Parsed<Expression> {
        self.nested(|parser| parser.unary(false))
    }

    /// The binary operator under the cursor.
    pub(super) fn binary_operator(&self) -> Option<(BinaryOperator, u8)> {
        let TokenKind::Symbol(first, 0) = self.token.kind else {
            return None;
        };
        Some(match first {
            b'*' => (BinaryOperator::Multiply, MULTIPLICATIVE),
            b'/' => (BinaryOperator::Divide, MULTIPLICATIVE),
            b'%' => (BinaryOperator::Modulo, MULTIPLICATIVE),
            b'+' => (BinaryOperator::Add, ADDITIVE),
            b'-' => (BinaryOperator::Subtract, ADDITIVE),
            b'&' => (BinaryOperator::BitAnd, ADDITIVE),
            b'^' => (BinaryOperator::BitXor, ADDITIVE),
            b'|' => (BinaryOperator::BitOr, ADDITIVE),
            _ => return None,
        })
    }

    /// A prefix operator and its operand. SQL Server lets `-` take a whole product: `-2 * 3` is `-(2 * 3)` and has the
    /// same value, so the sign goes with the first factor here.
    fn unary(&mut self, open: bool) -> Parsed<Expression> {
        let operator = match self.token.kind {
            TokenKind::Symbol(b'-', 0) => UnaryOperator::Minus,
            TokenKind::Symbol(b'+', 0) => UnaryOperator::Plus,
            TokenKind::Symbol(b'~', 0) => UnaryOperator::BitNot,
            TokenKind::Symbol(b'|', _) if self.previous.kind == TokenKind::Symbol(b'|', 0) => {
                return Err(ParseError::not_supported(self.line(), "||"));
            }
            _ => return self.postfix(open),
        };
        let line = self.line();
        self.advance()?;
        let operand = self.nested(|parser| parser.unary(false))?;
        self.require_scalar(&operand)?;
        self.grow()?;
        let kind = ExpressionKind::Unary {
            operator,
            operand: Box::new(operand),
        };
        Ok(Expression::new(line, kind))
    }

    /// A primary with COLLATE and AT TIME ZONE after it.
    fn postfix(&mut self, open: bool) -> Parsed<Expression> {
        let mut operand = self.primary(open)?;
        if operand.kind.is_condition() {
            return Ok(operand);
        }
        loop {
            let line = self.line();
            let boxed = |operand| Box::new(operand);
            let kind = if self.eat_word("COLLATE")? {
                let collation = self.identifier()?;
                ExpressionKind::Collate {
                    operand: boxed(operand),
                    collation,
                }
            } else if self.at_word("AT") && self.eat_words(&["AT", "TIME", "ZONE"])? {
                let zone = self.primary(false)?;
                self.require_scalar(&zone)?;
                ExpressionKind::AtTimeZone {
                    operand: boxed(operand),
                    zone: boxed(zone),
                }
            } else {
                return Ok(operand);
            };
            self.grow()?;
            operand = Expression::new(line, kind);
        }
    }

    /// `ORDER BY` with its keys, if it is here.
    pub(super) fn optional_order_by(&mut self) -> Parsed<Vec<OrderItem>> {
        if !self.eat_word("ORDER")? {
            return Ok(Vec::new());
        }
        self.expect_word("BY")?;
        self.list(|parser| {
            let expression = parser.expression()?;
            let descending = parser.descending()?;
            Ok(OrderItem { expression, descending })
        })
    }

    /// `ASC` or `DESC` or neither; true for DESC.
    pub(super) fn descending(&mut self) -> Parsed<bool> {
        Ok(!self.eat_word("ASC")? && self.eat_word("DESC")?)
    }

    pub(super) fn data_type(&mut self) -> Parsed<DataType> {
        let line = self.line();
        let name = match self.iso_type_name()? {
            Some(name) => Name::single(name),
            None => self.name()?,
        };
        let mut arguments = Vec::new();
        if self.at(b'(') && name.parts.len() == 1 && name.parts.iter().all(|part| part.is("xml")) {
            self.advance()?;
            let is_said =
                self.at_any(&["CONTENT", "DOCUMENT"]) && !self.peek_symbol(1, b')')? && !self.peek_symbol(1, b'.')?;
            let is_document = is_said && self.any_word()? == "DOCUMENT";
            let name = self.name()?;
            self.expect(b')')?;
            arguments.push(TypeArgument::Collection { name, is_document });
        } else if self.at(b'(') {
            arguments = self.enclosed(|parser| {
                if parser.eat_word("MAX")? {
                    return Ok(TypeArgument::Max);
                }
                // The base type of a vector's elements.
                parser.refuse(&["FLOAT16", "FLOAT32"])?;
                parser.whole_number().map(TypeArgument::Number)
            })?;
        }
        if arguments.len() > 2 {
            return Err(ParseError::near(line, name.object()));
        }
        Ok(DataType { name, arguments })
    }

    /// SQL Server's own name for an ISO type name that has several words or is reserved.
    fn iso_type_name(&mut self) -> Parsed<Option<&'static str>> {
        if self.token.kind != TokenKind::Word {
            return Ok(None);
        }
        if self.eat_word("DOUBLE")? {
            self.expect_word("PRECISION")?;
            return Ok(Some("float"));
        }
        let national = self.eat_word("NATIONAL")?;
        if national && self.eat_word("TEXT")? {
            return Ok(Some("ntext"));
        }
        let plain = self.at_any(&["CHAR", "CHARACTER", "BINARY"]);
        let renamed = national || (plain && self.peek_word(1, "VARYING")?);
        if !renamed {
            return Ok(None);
        }
        let binary = self.at_word("BINARY");
        if !plain || (national && binary) {
            return Err(self.unexpected());
        }
        self.advance()?;
        let varying = self.eat_word("VARYING")?;
        Ok(Some(match (national, binary, varying) {
            (_, true, _) => "varbinary",
            (true, _, true) => "nvarchar",
            (true, _, false) => "nchar",
            (false, _, _) => "varchar",
        }))
    }

    /// An alias, `AS name` or `name` alone; also a string constant.
    pub(super) fn optional_alias(&mut self) -> Parsed<Option<Identifier>> {
        let required = self.eat_word("AS")?;
        if self.at_alias()? {
            return self.take_identifier().map(Some);
        }
        if self.at_string() {
            let text = self.string()?;
            return Ok(Some(Identifier { text, quoted: true }));
        }
        if required { Err(self.unexpected()) } else { Ok(None) }
    }
}
