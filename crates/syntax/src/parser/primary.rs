//! Primary expressions: constants, names, calls, CASE, CAST, parentheses.

use super::core::place;
use super::serialized::JsonCall;
use super::{Parsed, Parser};
use crate::ast::{
    Case, CaseBranch, Cast, Convert, DecimalLiteral, Expression, ExpressionKind, Frame, FrameBound, FunctionCall,
    IdentityColumn, Literal, Name, NextValue, Over, Parse,
};
use crate::error::ParseError;
use crate::keywords::FUNCTIONS_WITHOUT_PARENTHESES;
use crate::lexer::{Token, TokenKind};

/// Most digits of an exact number.
const DECIMAL_DIGITS_MAX: usize = 38;

impl Parser<'_> {
    /// A primary expression with the methods behind it. With `open`, a parenthesis may hold a condition.
    pub(super) fn primary(&mut self, open: bool) -> Parsed<Expression> {
        let is_enclosed = self.at(b'(');
        let mut primary = self.primary_without_methods(open)?;
        while self.at(b'.') && self.has_member(&primary.kind, is_enclosed)? {
            let line = self.line();
            self.advance()?;
            let name = Name {
                parts: vec![self.take_identifier()?],
            };
            let mut call = match self.at(b'(') {
                true => self.nested(|parser| parser.call_arguments(name))?,
                false => property(name),
            };
            call.is_method = true;
            call.arguments.insert(0, primary);
            primary = Expression::new(line, ExpressionKind::Function(Box::new(call)));
            self.grow()?;
        }
        Ok(primary)
    }

    /// Whether a method or a property stands behind the point under the cursor.
    fn has_member(&self, operand: &ExpressionKind, is_enclosed: bool) -> Parsed<bool> {
        let has_properties = is_enclosed
            || matches!(
                operand,
                ExpressionKind::Variable(_)
                    | ExpressionKind::Function(_)
                    | ExpressionKind::Cast(_)
                    | ExpressionKind::Convert(_)
            );
        Ok(self.peek_symbol(2, b'(')? || has_properties && self.is_identifier(self.peek(1)?))
    }

    fn primary_without_methods(&mut self, open: bool) -> Parsed<Expression> {
        let (line, start) = (self.line(), place(self.token.start));
        let kind = match self.token.kind {
            TokenKind::Text
            | TokenKind::NationalText
            | TokenKind::Number
            | TokenKind::Float
            | TokenKind::Money
            | TokenKind::Binary => {
                let kind = ExpressionKind::Literal(self.literal()?);
                return Ok(Expression {
                    start,
                    ..Expression::new(line, kind)
                });
            }
            TokenKind::Variable => {
                let token = self.advance()?;
                ExpressionKind::Variable(self.slice(token).to_owned())
            }
            TokenKind::GlobalVariable => {
                let token = self.advance()?;
                ExpressionKind::GlobalVariable(self.slice(token).to_owned())
            }
            TokenKind::PseudoColumn if self.at_partition_scope() => {
                let mut parts = vec![self.partition_scope()?];
                self.expect(b'.')?;
                parts.push(self.identifier()?);
                match self.at(b'(') {
                    true => self.call(Name { parts })?,
                    false => return Err(self.unexpected()),
                }
            }
            TokenKind::PseudoColumn => {
                let token = self.advance()?;
                ExpressionKind::PseudoColumn(self.slice(token).to_owned())
            }
            TokenKind::Symbol(b'(', 0) => return self.parenthesised(open),
            TokenKind::Symbol(b'{', 0) => return self.odbc_escape(),
            TokenKind::Word => self.word_primary()?,
            TokenKind::Bracketed | TokenKind::DoubleQuoted | TokenKind::RowPlace => self.name_or_call()?,
            TokenKind::Symbol(..) | TokenKind::End => return Err(self.unexpected()),
        };
        Ok(Expression::new(line, kind))
    }

    /// `( ... )`: a subquery, a scalar, or with `open` a condition.
    fn parenthesised(&mut self, open: bool) -> Parsed<Expression> {
        let line = self.line();
        self.nested(|parser| {
            parser.expect(b'(')?;
            if parser.at_query()? {
                let query = parser.subquery()?;
                parser.expect(b')')?;
                return Ok(Expression::new(line, ExpressionKind::Subquery(Box::new(query))));
            }
            let inner = if open {
                parser.condition_or_scalar()?
            } else {
                parser.expression()?
            };
            let inner = match inner.kind {
                ExpressionKind::Subquery(first) if parser.at_set_operator() => {
                    let query = Box::new(parser.subquery_after(*first)?);
                    Expression::new(line, ExpressionKind::Subquery(query))
                }
                _ => inner,
            };
            parser.expect(b')')?;
            Ok(inner)
        })
    }

    fn word_primary(&mut self) -> Parsed<ExpressionKind> {
        if self.at_identifier() {
            let called = self.peek_symbol(1, b'(')?;
            if called && self.at_any(&["CAST", "TRY_CAST"]) {
                return self.cast();
            }
            if called && self.at_any(&["PARSE", "TRY_PARSE"]) {
                return self.parse_call();
            }
            if self.at_word("NEXT") && self.eat_words(&["NEXT", "VALUE", "FOR"])? {
                return self.next_value();
            }
            return self.name_or_call();
        }
        if self.eat_word("NULL")? {
            return Ok(ExpressionKind::Literal(Literal::Null));
        }
        if self.at_word("CASE") {
            return self.nested(Self::case);
        }
        if self.at_any(&["CONVERT", "TRY_CONVERT"]) {
            return self.convert();
        }
        if self.at_any(&FUNCTIONS_WITHOUT_PARENTHESES) {
            let name = Name {
                parts: vec![self.take_identifier()?],
            };
            return Ok(call(name, Vec::new()));
        }
        if self.at_word("IDENTITY") && self.peek_symbol(1, b'(')? {
            return self.identity_column();
        }
        for (word, column) in [("IDENTITYCOL", "$IDENTITY"), ("ROWGUIDCOL", "$ROWGUID")] {
            if self.eat_word(word)? {
                return Ok(ExpressionKind::PseudoColumn(column.to_owned()));
            }
        }
        let reserved_functions = ["LEFT", "RIGHT", "COALESCE", "NULLIF"];
        if self.at_any(&reserved_functions) && self.peek_symbol(1, b'(')? {
            let name = Name {
                parts: vec![self.take_identifier()?],
            };
            return self.call(name);
        }
        Err(self.unexpected())
    }

    fn name_or_call(&mut self) -> Parsed<ExpressionKind> {
        let name = self.column_name()?;
        if self.at(b'(') {
            return self.call(name);
        }
        if self.token.kind == TokenKind::Symbol(b':', b':') {
            return self.static_call(name);
        }
        Ok(ExpressionKind::Column(name))
    }

    /// `type::Method(arguments)`: a static method of a type; the type is read.
    fn static_call(&mut self, data_type: Name) -> Parsed<ExpressionKind> {
        match data_type.object().to_lowercase().as_str() {
            "hierarchyid" | "geography" | "geometry" => {}
            _ => return Err(self.unexpected()),
        }
        self.advance()?;
        let mut parts = data_type.parts;
        parts.push(match self.at_word("NULL") {
            true => self.take_identifier()?,
            false => self.identifier()?,
        });
        let name = Name { parts };
        let mut call = match self.at(b'(') {
            true => self.nested(|parser| parser.call_arguments(name))?,
            false => property(name),
        };
        call.is_static = true;
        Ok(ExpressionKind::Function(Box::new(call)))
    }

    /// A call whose name is read and whose parenthesis is under the cursor.
    fn call(&mut self, name: Name) -> Parsed<ExpressionKind> {
        let mut call = self.nested(|parser| parser.call_arguments(name))?;
        if self.at_word("WITHIN") {
            self.advance()?;
            self.expect_word("GROUP")?;
            self.expect(b'(')?;
            if self.at_words(&["GRAPH", "PATH"])? {
                return Err(ParseError::not_supported(self.line(), "GRAPH PATH"));
            }
            call.within_group = self.optional_order_by()?;
            self.expect(b')')?;
        }
        let has_nulls = ["FIRST_VALUE", "LAST_VALUE", "LAG", "LEAD"];
        if self.at_words(&["IGNORE", "NULLS"])? {
            return Err(ParseError::not_supported(self.line(), "IGNORE NULLS"));
        }
        // It is what these do.
        if self.at_words(&["RESPECT", "NULLS"])?
            && has_nulls
                .iter()
                .any(|name| call.name.object().eq_ignore_ascii_case(name))
        {
            self.eat_words(&["RESPECT", "NULLS"])?;
        }
        if self.eat_word("OVER")? {
            call.over = Some(match self.at_identifier() {
                true => Over {
                    base: Some(self.identifier()?),
                    partition_by: Vec::new(),
                    order_by: Vec::new(),
                    frame: None,
                },
                false => self.nested(Self::over)?,
            });
        }
        Ok(ExpressionKind::Function(Box::new(call)))
    }

    /// `(arguments)` of the function.
    pub(super) fn call_arguments(&mut self, name: Name) -> Parsed<FunctionCall> {
        let mut call = FunctionCall {
            name,
            is_method: false,
            is_property: false,
            is_static: false,
            namespaces: self.xml_namespaces.clone(),
            arguments: Vec::new(),
            star: false,
            distinct: false,
            has_array_wrapper: false,
            within_group: Vec::new(),
            over: None,
        };
        self.refuse_foreign_call(&call.name)?;
        self.expect(b'(')?;
        if call.name.parts.len() == 1
            && let Some(made) = JsonCall::of(call.name.object())
        {
            self.json_arguments(&mut call, made)?;
            self.expect(b')')?;
            return Ok(call);
        }
        if self.eat(b')')? {
            return Ok(call);
        }
        if self.at(b'*') {
            self.advance()?;
            call.star = true;
            self.expect(b')')?;
            return Ok(call);
        }
        if call.name.parts.len() == 1 && call.name.object().eq_ignore_ascii_case("IIF") {
            self.in_case(|parser| parser.argument_list(&mut call))?;
        } else {
            self.argument_list(&mut call)?;
        }
        self.expect(b')')?;
        Ok(call)
    }

    /// What stands between the parentheses of a call.
    fn argument_list(&mut self, call: &mut FunctionCall) -> Parsed<()> {
        let single = call.name.parts.len() == 1;
        call.distinct = self.eat_word("DISTINCT")?;
        if !call.distinct {
            self.eat_word("ALL")?;
        }
        if single && call.name.object().eq_ignore_ascii_case("IIF") {
            call.arguments.push(self.condition()?);
            self.expect(b',')?;
        }
        let trim = single && call.name.object().eq_ignore_ascii_case("TRIM");
        if trim && self.at_any(&["LEADING", "TRAILING", "BOTH"]) && !self.peek_symbol(1, b')')? {
            return self.trim_of_a_side(call);
        }
        loop {
            let argument = if self.eat_word("DEFAULT")? {
                Expression::new(self.previous.line, ExpressionKind::Literal(Literal::Default))
            } else {
                self.expression()?
            };
            call.arguments.push(argument);
            self.refuse_json_words(call)?;
            let is_query = single && call.name.object().eq_ignore_ascii_case("JSON_QUERY");
            if is_query && self.at_words(&["WITH", "ARRAY", "WRAPPER"])? {
                call.has_array_wrapper = self.eat_words(&["WITH", "ARRAY", "WRAPPER"])?;
                break;
            }
            let more = self.eat(b',')? || (trim && call.arguments.len() == 1 && self.eat_word("FROM")?);
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// `LEADING | TRAILING | BOTH characters FROM text`: LTRIM, RTRIM or TRIM of the characters (sql-docs, "TRIM").
    fn trim_of_a_side(&mut self, call: &mut FunctionCall) -> Parsed<()> {
        let side = self.any_word()?;
        let characters = self.expression()?;
        self.expect_word("FROM")?;
        let text = self.expression()?;
        (call.name, call.arguments) = match side.as_str() {
            "LEADING" => (Name::single("LTRIM"), vec![text, characters]),
            "TRAILING" => (Name::single("RTRIM"), vec![text, characters]),
            _ => (Name::single("TRIM"), vec![characters, text]),
        };
        Ok(())
    }

    /// `sequence [OVER (ORDER BY ...)]`, NEXT VALUE FOR being read.
    fn next_value(&mut self) -> Parsed<ExpressionKind> {
        let sequence = self.name()?;
        let mut order = None;
        if self.eat_word("OVER")? {
            let over = self.over()?;
            if over.base.is_some() || over.order_by.is_empty() || !over.partition_by.is_empty() || over.frame.is_some()
            {
                return Err(self.unexpected());
            }
            order = Some(FunctionCall {
                name: Name::single("ROW_NUMBER"),
                arguments: Vec::new(),
                star: false,
                distinct: false,
                has_array_wrapper: false,
                within_group: Vec::new(),
                over: Some(over),
                is_method: false,
                is_property: false,
                is_static: false,
                namespaces: None,
            });
        }
        Ok(ExpressionKind::NextValueFor(Box::new(NextValue { sequence, order })))
    }

    /// `([name] PARTITION BY ... ORDER BY ... frame)`.
    pub(super) fn over(&mut self) -> Parsed<Over> {
        self.expect(b'(')?;
        let is_named = self.at_identifier() && !self.at_any(&["PARTITION", "ROWS", "RANGE"]);
        let base = if is_named { Some(self.identifier()?) } else { None };
        let mut partition_by = Vec::new();
        if self.eat_word("PARTITION")? {
            self.expect_word("BY")?;
            partition_by = self.list(Self::expression)?;
        }
        let order_by = self.optional_order_by()?;
        let mut frame = None;
        if self.at_any(&["ROWS", "RANGE"]) {
            let rows = self.any_word()? == "ROWS";
            let (start, end) = if self.eat_word("BETWEEN")? {
                let start = self.frame_bound()?;
                self.expect_word("AND")?;
                (start, self.frame_bound()?)
            } else {
                (self.frame_bound()?, FrameBound::CurrentRow)
            };
            frame = Some(Frame { rows, start, end });
        }
        self.expect(b')')?;
        Ok(Over {
            base,
            partition_by,
            order_by,
            frame,
        })
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.eat_word("CURRENT")? {
            self.expect_word("ROW")?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat_word("UNBOUNDED")? {
            if self.eat_word("PRECEDING")? {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect_word("FOLLOWING")?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        // "<unsigned value specification> ::= { <unsigned integer literal> }" (sql-docs, OVER clause): no sign, no variable.
        let rows = self.whole_number()?;
        if self.eat_word("PRECEDING")? {
            return Ok(FrameBound::Preceding(rows));
        }
        self.expect_word("FOLLOWING")?;
        Ok(FrameBound::Following(rows))
    }

    fn case(&mut self) -> Parsed<ExpressionKind> {
        self.expect_word("CASE")?;
        self.in_case(Self::case_branches)
    }

    fn case_branches(&mut self) -> Parsed<ExpressionKind> {
        let operand = if self.at_word("WHEN") {
            None
        } else {
            Some(self.expression()?)
        };
        let mut branches = Vec::new();
        while self.eat_word("WHEN")? {
            let when = if operand.is_some() {
                self.expression()?
            } else {
                self.condition()?
            };
            self.expect_word("THEN")?;
            let then = self.expression()?;
            branches.push(CaseBranch { when, then });
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat_word("ELSE")? {
            Some(self.expression()?)
        } else {
            None
        };
        self.expect_word("END")?;
        Ok(ExpressionKind::Case(Box::new(Case {
            operand,
            branches,
            otherwise,
        })))
    }

    fn cast(&mut self) -> Parsed<ExpressionKind> {
        let or_null = self.any_word()? == "TRY_CAST";
        self.expect(b'(')?;
        let operand = self.expression()?;
        self.expect_word("AS")?;
        let data_type = self.data_type()?;
        self.expect(b')')?;
        Ok(ExpressionKind::Cast(Box::new(Cast {
            operand,
            data_type,
            or_null,
        })))
    }

    fn convert(&mut self) -> Parsed<ExpressionKind> {
        let or_null = self.any_word()? == "TRY_CONVERT";
        self.expect(b'(')?;
        let data_type = self.data_type()?;
        self.expect(b',')?;
        let operand = self.expression()?;
        let style = if self.eat(b',')? {
            Some(self.expression()?)
        } else {
            None
        };
        self.expect(b')')?;
        Ok(ExpressionKind::Convert(Box::new(Convert {
            data_type,
            operand,
            style,
            or_null,
        })))
    }

    fn identity_column(&mut self) -> Parsed<ExpressionKind> {
        self.expect_word("IDENTITY")?;
        self.expect(b'(')?;
        let data_type = self.data_type()?;
        let (mut seed, mut increment) = (1, 1);
        if self.eat(b',')? {
            seed = self.signed_number()?;
            self.expect(b',')?;
            increment = self.signed_number()?;
        }
        self.expect(b')')?;
        Ok(ExpressionKind::Identity(Box::new(IdentityColumn {
            data_type,
            seed,
            increment,
        })))
    }

    fn parse_call(&mut self) -> Parsed<ExpressionKind> {
        let or_null = self.any_word()? == "TRY_PARSE";
        self.expect(b'(')?;
        let operand = self.expression()?;
        self.expect_word("AS")?;
        let data_type = self.data_type()?;
        let culture = if self.eat_word("USING")? {
            Some(self.expression()?)
        } else {
            None
        };
        self.expect(b')')?;
        Ok(ExpressionKind::Parse(Box::new(Parse {
            operand,
            data_type,
            culture,
            or_null,
        })))
    }

    /// A constant other than NULL.
    pub(super) fn literal(&mut self) -> Parsed<Literal> {
        let token = self.token;
        let text = self.slice(token);
        let literal = match token.kind {
            TokenKind::Text => Literal::Text(self.plain(token)),
            TokenKind::NationalText => Literal::NationalText(self.plain(token)),
            TokenKind::Number => exact_number(text, token)?,
            TokenKind::Float => Literal::Float(float(text, token)?),
            TokenKind::Money => Literal::Money(money(text, token)?),
            TokenKind::Binary => Literal::Binary(binary(text.get(2..).unwrap_or_default())),
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(literal)
    }
}

/// A member that is written without parentheses.
fn property(name: Name) -> FunctionCall {
    FunctionCall {
        is_property: true,
        ..plain_call(name, Vec::new())
    }
}

pub(super) fn call(name: Name, arguments: Vec<Expression>) -> ExpressionKind {
    ExpressionKind::Function(Box::new(plain_call(name, arguments)))
}

fn plain_call(name: Name, arguments: Vec<Expression>) -> FunctionCall {
    FunctionCall {
        name,
        is_method: false,
        is_property: false,
        is_static: false,
        namespaces: None,
        arguments,
        star: false,
        distinct: false,
        has_array_wrapper: false,
        within_group: Vec::new(),
        over: None,
    }
}

fn exact_number(text: &str, token: Token) -> Parsed<Literal> {
    if let Ok(value) = text.parse::<i32>() {
        return Ok(Literal::Integer(value));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.trim_start_matches('0');
    if whole.len() + fraction.len() > DECIMAL_DIGITS_MAX {
        let message = format!(
            "The number '{text}' is out of the range for numeric representation (maximum precision {DECIMAL_DIGITS_MAX})."
        );
        return Err(ParseError::new(1007, token.line, message));
    }
    let mut unscaled = 0_u128;
    let mut digits = 0_u8;
    for digit in whole.bytes().chain(fraction.bytes()) {
        // 38 digits fit into 128 bits, so this cannot overflow.
        unscaled = unscaled * 10 + u128::from(digit.wrapping_sub(b'0'));
        digits += 1;
    }
    let scale = u8::try_from(fraction.len()).unwrap_or(u8::MAX);
    Ok(Literal::Decimal(Box::new(DecimalLiteral {
        unscaled,
        precision: digits.max(1),
        scale,
    })))
}

fn float(text: &str, token: Token) -> Parsed<f64> {
    // An exponent without digits counts as zero.
    let text = text.trim_end_matches(['+', '-']).trim_end_matches(['e', 'E']);
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let message =
                format!("The floating point value '{text}' is out of the range of computer representation (8 bytes).");
            Err(ParseError::new(168, token.line, message))
        }
    }
}

/// Money has four digits after the point; more are rounded.
fn money(text: &str, token: Token) -> Parsed<i64> {
    let (whole, fraction) = text
        .get(1..)
        .unwrap_or_default()
        .split_once('.')
        .unwrap_or((text.get(1..).unwrap_or_default(), ""));
    let mut units = 0_i64;
    let mut valid = true;
    let digits = whole
        .bytes()
        .chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(4));
    for digit in digits {
        let next = units
            .checked_mul(10)
            .and_then(|value| value.checked_add(i64::from(digit.wrapping_sub(b'0'))));
        valid &= next.is_some();
        units = next.unwrap_or(0);
    }
    if fraction.as_bytes().get(4).is_some_and(|&digit| digit >= b'5') {
        valid &= units < i64::MAX;
        units = units.saturating_add(1);
    }
    if valid {
        return Ok(units);
    }
    Err(ParseError::near(token.line, text))
}

fn binary(digits: &str) -> Vec<u8> {
    let value = |digit: u8| {
        char::from(digit)
            .to_digit(16)
            .and_then(|value| u8::try_from(value).ok())
            .unwrap_or(0)
    };
    let digits = digits.as_bytes();
    let (odd, pairs) = digits.split_at(digits.len() % 2);
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
    bytes.extend(odd.iter().map(|&digit| value(digit)));
    bytes.extend(
        pairs
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0, |byte, &digit| (byte << 4) | value(digit))),
    );
    bytes
}
