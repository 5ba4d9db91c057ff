//! Parses XQuery.

use engine::error::{Error, Result};

use super::tree::{
    Arithmetic, AtomicType, Axis, BinaryForm, Clause, Comparison, Expression, External, Function, Modification, Query,
    Step, Test,
};
use super::{not_done, syntax_error};
use crate::scalar::xml_text::{is_name_character, is_name_start};

/// Expressions within each other.
pub const DEPTH_MAX: usize = 60;

/// Reads a text; `declared` are the prefixes that the statement declares, the empty one for the default.
///
/// # Errors
/// 2209 for what is not XQuery, 2229 for a prefix that is not declared, 2395 for a function that there is not, 40517 for what is not done.
pub fn parse(method: &'static str, text: &str, declared: &[(String, String)]) -> Result<Query> {
    let mut parser = Parser::new(method, text, declared);
    parser.prolog()?;
    let body = parser.sequence()?;
    parser.expect_end()?;
    Ok(Query {
        body,
        externals: parser.externals,
    })
}

/// Reads a text of XML DML, which `modify()` takes.
///
/// # Errors
/// Those of [`parse`]; 6305 for a query, 2205 and 2248 for a word that is missing.
pub fn parse_modification(text: &str, declared: &[(String, String)]) -> Result<Modification> {
    let mut parser = Parser::new("modify", text, declared);
    parser.prolog()?;
    let change = parser.change()?;
    parser.expect_end()?;
    Ok(Modification {
        change,
        externals: parser.externals,
    })
}

pub(super) struct Parser<'t> {
    pub(super) method: &'static str,
    text: &'t str,
    pub(super) at: usize,
    depth: usize,
    namespaces: Vec<(String, String)>,
    /// What the constructors around declare.
    pub(super) constructed: Vec<(String, String)>,
    externals: Vec<External>,
}

impl<'t> Parser<'t> {
    fn new(method: &'static str, text: &'t str, declared: &[(String, String)]) -> Parser<'t> {
        Parser {
            method,
            text,
            at: 0,
            depth: 0,
            namespaces: declared.to_vec(),
            constructed: Vec::new(),
            externals: Vec::new(),
        }
    }

    fn expect_end(&mut self) -> Result<()> {
        self.skip()?;
        match self.at == self.text.len() {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn unexpected(&self) -> Error {
        let near: String = self.rest().chars().take(16).collect();
        let near = if near.is_empty() { "<eof>" } else { near.trim_end() };
        syntax_error(self.method, near)
    }

    /// Passes white space and comments.
    pub(super) fn skip(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.rest().starts_with("(:") {
                return Ok(());
            }
            let end = self.rest().find(":)").ok_or_else(|| self.unexpected())?;
            self.at += end + 2;
        }
    }

    pub(super) fn eat(&mut self, symbol: &str) -> Result<bool> {
        self.skip()?;
        let is_here = self.rest().starts_with(symbol);
        self.at += if is_here { symbol.len() } else { 0 };
        Ok(is_here)
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<()> {
        match self.eat(symbol)? {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// The name that is here, without moving.
    pub(super) fn peek_name(&mut self) -> Result<&'t str> {
        self.skip()?;
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return Ok("");
        }
        let is_part = |character: char| is_name_character(character) || character == ':';
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let mut name = rest.get(..end).unwrap_or_default();
        // `child::a` and `$x:=1` are two names; so is a name before `:=`.
        if let Some((before, _)) = name.split_once("::") {
            name = before;
        }
        Ok(name.trim_end_matches(':'))
    }

    /// Passes a word if it is here as a whole.
    pub(super) fn eat_word(&mut self, word: &str) -> Result<bool> {
        let is_here = self.peek_name()? == word;
        self.at += if is_here { word.len() } else { 0 };
        Ok(is_here)
    }

    pub(super) fn take_name(&mut self) -> Result<&'t str> {
        let name = self.peek_name()?;
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.at += name.len();
        Ok(name)
    }

    /// A text between quotation marks, in which a doubled mark is one, and references are resolved.
    fn string(&mut self) -> Result<String> {
        self.skip()?;
        let mark = self.rest().chars().next().filter(|mark| matches!(mark, '"' | '\''));
        let mark = mark.ok_or_else(|| self.unexpected())?;
        let mut text = String::new();
        self.at += 1;
        loop {
            let end = self.rest().find(mark).ok_or_else(|| self.unexpected())?;
            text.push_str(&self.rest()[..end]);
            self.at += end + 1;
            if !self.rest().starts_with(mark) {
                break;
            }
            text.push(mark);
            self.at += 1;
        }
        let resolved = quick_xml::escape::unescape(&text).map(|resolved| resolved.into_owned());
        resolved.map_err(|_| self.unexpected())
    }

    /// `declare namespace p = "address"; declare default element namespace "address";`
    fn prolog(&mut self) -> Result<()> {
        loop {
            let start = self.at;
            if !self.eat_word("declare")? {
                return Ok(());
            }
            let prefix = if self.eat_word("namespace")? {
                let prefix = self.take_name()?.to_owned();
                self.expect("=")?;
                prefix
            } else if self.eat_word("default")? && self.eat_word("element")? && self.eat_word("namespace")? {
                self.eat("=")?;
                String::new()
            } else {
                self.at = start;
                return Ok(());
            };
            let address = self.string()?;
            self.expect(";")?;
            self.namespaces.push((prefix, address));
        }
    }

    /// The address of a prefix.
    pub(super) fn address_of(&self, prefix: &str) -> Result<String> {
        let mut declared = self.namespaces.iter().rev();
        match declared.find(|(known, _)| known == prefix) {
            Some((_, address)) => Ok(address.clone()),
            None if prefix.is_empty() => Ok(String::new()),
            None => Err(Error::new(
                2229,
                16,
                1,
                format!(
                    "XQuery [{}()]: The name \"{prefix}\" does not denote a namespace.",
                    self.method
                ),
            )),
        }
    }

    /// Reads something that may come back to itself.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            return Err(crate::messages::stack_limit());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// `a, b`
    pub(super) fn sequence(&mut self) -> Result<Expression> {
        let first = self.single()?;
        if !self.eat(",")? {
            return Ok(first);
        }
        let mut items = vec![first];
        loop {
            items.push(self.single()?);
            if !self.eat(",")? {
                return Ok(Expression::Sequence(items));
            }
        }
    }

    pub(super) fn single(&mut self) -> Result<Expression> {
        self.nested(|parser| {
            let name = parser.peek_name()?;
            let behind = parser.rest().get(name.len()..).unwrap_or_default().trim_start();
            match name {
                "for" | "let" if behind.starts_with('$') => parser.flwor(),
                "some" | "every" if behind.starts_with('$') => parser.quantified(),
                "if" if behind.starts_with('(') => parser.condition(),
                _ => parser.or(),
            }
        })
    }

    fn flwor(&mut self) -> Result<Expression> {
        let (mut clauses, mut order) = (Vec::new(), Vec::new());
        loop {
            if !order.is_empty() && self.peek_name()? != "return" {
                return Err(self.unexpected());
            }
            if self.eat_word("for")? {
                loop {
                    let name = self.variable_name()?;
                    if !self.eat_word("in")? {
                        return Err(self.unexpected());
                    }
                    clauses.push(Clause::For(name, self.single()?));
                    if !self.eat(",")? {
                        break;
                    }
                }
            } else if self.eat_word("let")? {
                loop {
                    let name = self.variable_name()?;
                    self.expect(":=")?;
                    clauses.push(Clause::Let(name, self.single()?));
                    if !self.eat(",")? {
                        break;
                    }
                }
            } else if self.eat_word("where")? {
                clauses.push(Clause::Where(self.single()?));
            } else if matches!(self.peek_name()?, "order" | "stable") {
                order = self.order()?;
            } else if self.eat_word("return")? {
                let result = Box::new(self.single()?);
                return Ok(Expression::For { clauses, order, result });
            } else {
                return Err(self.unexpected());
            }
        }
    }

    /// `[stable] order by key [ascending | descending], ...`
    fn order(&mut self) -> Result<Vec<(Expression, bool)>> {
        self.eat_word("stable")?;
        if !self.eat_word("order")? || !self.eat_word("by")? {
            return Err(self.unexpected());
        }
        let mut keys = Vec::new();
        loop {
            let key = self.single()?;
            let descends = self.eat_word("descending")?;
            if !descends {
                self.eat_word("ascending")?;
            }
            if self.peek_name()? == "empty" {
                return Err(not_done("order by with empty"));
            }
            keys.push((key, descends));
            if !self.eat(",")? {
                return Ok(keys);
            }
        }
    }

    /// `some $x in ..., $y in ... satisfies ...`
    fn quantified(&mut self) -> Result<Expression> {
        let is_every = self.take_name()? == "every";
        let mut bindings = Vec::new();
        loop {
            let name = self.variable_name()?;
            if !self.eat_word("in")? {
                return Err(self.unexpected());
            }
            bindings.push((name, self.single()?));
            if !self.eat(",")? {
                break;
            }
        }
        if !self.eat_word("satisfies")? {
            return Err(self.unexpected());
        }
        Ok(Expression::Quantified {
            is_every,
            bindings,
            condition: Box::new(self.single()?),
        })
    }

    fn variable_name(&mut self) -> Result<String> {
        self.expect("$")?;
        self.take_name().map(str::to_owned)
    }

    fn condition(&mut self) -> Result<Expression> {
        self.eat_word("if")?;
        self.expect("(")?;
        let condition = self.sequence()?;
        self.expect(")")?;
        let mut branches = Vec::new();
        for word in ["then", "else"] {
            if !self.eat_word(word)? {
                return Err(self.unexpected());
            }
            branches.push(self.single()?);
        }
        let (otherwise, then) = (branches.pop(), branches.pop());
        match (then, otherwise) {
            (Some(then), Some(otherwise)) => Ok(Expression::If(Box::new([condition, then, otherwise]))),
            _ => Err(self.unexpected()),
        }
    }

    fn or(&mut self) -> Result<Expression> {
        let mut parts = vec![self.and()?];
        while self.eat_word("or")? {
            parts.push(self.and()?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Expression::Or(parts),
        })
    }

    fn and(&mut self) -> Result<Expression> {
        let mut parts = vec![self.comparison()?];
        while self.eat_word("and")? {
            parts.push(self.comparison()?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Expression::And(parts),
        })
    }

    fn comparison(&mut self) -> Result<Expression> {
        let left = self.sum()?;
        let Some(comparison) = self.comparison_sign()? else {
            return Ok(left);
        };
        let right = self.sum()?;
        Ok(Expression::Compare(comparison, Box::new(left), Box::new(right)))
    }

    fn comparison_sign(&mut self) -> Result<Option<Comparison>> {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        if self.eat("<<")? || self.eat(">>")? || self.eat_word("is")? {
            return Err(not_done("comparison of nodes"));
        }
        for (sign, meaning) in [
            ("!=", NotEqual),
            ("<=", LessOrEqual),
            (">=", GreaterOrEqual),
            ("=", Equal),
            ("<", Less),
            (">", Greater),
        ] {
            if self.eat(sign)? {
                return Ok(Some(meaning));
            }
        }
        for (word, meaning) in [
            ("eq", Equal),
            ("ne", NotEqual),
            ("lt", Less),
            ("le", LessOrEqual),
            ("gt", Greater),
            ("ge", GreaterOrEqual),
        ] {
            if self.eat_word(word)? {
                return Ok(Some(meaning));
            }
        }
        Ok(None)
    }

    fn sum(&mut self) -> Result<Expression> {
        let mut left = self.product()?;
        // A chain is as deep as it is long.
        for _ in 0..DEPTH_MAX {
            let operator = if self.eat("+")? {
                Arithmetic::Add
            } else if self.eat("-")? {
                Arithmetic::Subtract
            } else {
                return Ok(left);
            };
            left = Expression::Arithmetic(operator, Box::new(left), Box::new(self.product()?));
        }
        Err(crate::messages::stack_limit())
    }

    fn product(&mut self) -> Result<Expression> {
        let mut left = self.union()?;
        for _ in 0..DEPTH_MAX {
            let operator = if self.eat("*")? {
                Arithmetic::Multiply
            } else if self.eat_word("div")? {
                Arithmetic::Divide
            } else if self.eat_word("idiv")? {
                Arithmetic::WholeDivide
            } else if self.eat_word("mod")? {
                Arithmetic::Modulo
            } else {
                return Ok(left);
            };
            left = Expression::Arithmetic(operator, Box::new(left), Box::new(self.union()?));
        }
        Err(crate::messages::stack_limit())
    }

    fn union(&mut self) -> Result<Expression> {
        let mut parts = vec![self.unary()?];
        while self.eat("|")? || self.eat_word("union")? {
            parts.push(self.unary()?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Expression::Union(parts),
        })
    }

    fn unary(&mut self) -> Result<Expression> {
        let mut is_negative = false;
        loop {
            if self.eat("-")? {
                is_negative = !is_negative;
            } else if !self.eat("+")? {
                break;
            }
        }
        let operand = self.path()?;
        Ok(match is_negative {
            true => Expression::Negate(Box::new(operand)),
            false => operand,
        })
    }

    fn path(&mut self) -> Result<Expression> {
        let mut path = if self.eat("//")? {
            let all = everything(Expression::Root);
            self.step(all)?
        } else if self.eat("/")? {
            match self.is_at_step()? {
                true => self.step(Expression::Root)?,
                false => return Ok(Expression::Root),
            }
        } else {
            self.first_step()?
        };
        for _ in 0..DEPTH_MAX * 2 {
            path = if self.eat("//")? {
                self.step(everything(path))?
            } else if self.eat("/")? {
                self.step(path)?
            } else {
                return Ok(path);
            };
        }
        Err(crate::messages::stack_limit())
    }

    fn is_at_step(&mut self) -> Result<bool> {
        self.skip()?;
        let begins = |character: char| is_name_start(character) || matches!(character, '@' | '*' | '.');
        Ok(self.rest().starts_with(begins))
    }

    /// The first part of a path: a primary expression, or a step from the context.
    fn first_step(&mut self) -> Result<Expression> {
        self.skip()?;
        let first = self.rest().chars().next().ok_or_else(|| self.unexpected())?;
        let primary = match first {
            '"' | '\'' => Expression::Text(self.string()?),
            '(' => {
                self.expect("(")?;
                let inner = match self.eat(")")? {
                    true => Expression::Sequence(Vec::new()),
                    false => {
                        let inner = self.nested(Self::sequence)?;
                        self.expect(")")?;
                        inner
                    }
                };
                // Parentheses end what a predicate counts in.
                Expression::Sequence(vec![inner])
            }
            '$' => Expression::Variable(self.variable_name()?),
            '<' => return self.direct_constructor(),
            '.' if !self.rest().starts_with("..")
                && !self.rest()[1..].starts_with(|next: char| next.is_ascii_digit()) =>
            {
                self.at += 1;
                Expression::Context
            }
            digit if digit.is_ascii_digit() || digit == '.' && !self.rest().starts_with("..") => self.number()?,
            _ => {
                if let Some(constructor) = self.computed_constructor()? {
                    return Ok(constructor);
                }
                let name = self.peek_name()?;
                let behind = self.rest().get(name.len()..).unwrap_or_default().trim_start();
                let is_test = matches!(name, "text" | "node" | "comment" | "processing-instruction");
                if name.is_empty() || is_test || !behind.starts_with('(') {
                    return self.step(Expression::Context);
                }
                self.call()?
            }
        };
        let predicates = self.predicates()?;
        Ok(match predicates.is_empty() {
            true => primary,
            false => Expression::Filter(Box::new(primary), predicates),
        })
    }

    fn number(&mut self) -> Result<Expression> {
        let rest = self.rest();
        let is_part = |(index, character): (usize, char)| {
            let follows_exponent = index > 0 && rest[..index].ends_with(['e', 'E']);
            character.is_ascii_digit()
                || matches!(character, '.' | 'e' | 'E')
                || matches!(character, '+' | '-') && follows_exponent
        };
        let end = rest
            .char_indices()
            .find(|part| !is_part(*part))
            .map_or(rest.len(), |(index, _)| index);
        let number = rest[..end].parse().map_err(|_| self.unexpected())?;
        self.at += end;
        Ok(Expression::Number(number))
    }

    fn predicates(&mut self) -> Result<Vec<Expression>> {
        let mut predicates = Vec::new();
        while self.eat("[")? {
            predicates.push(self.nested(Self::sequence)?);
            self.expect("]")?;
        }
        Ok(predicates)
    }

    fn step(&mut self, from: Expression) -> Result<Expression> {
        let (axis, test) = if self.eat("..")? {
            (Axis::Parent, Test::Node)
        } else if self.eat(".")? {
            (Axis::Itself, Test::Node)
        } else if self.eat("@")? {
            (Axis::Attribute, self.test(false)?)
        } else {
            let axis = self.axis()?;
            (axis, self.test(axis != Axis::Attribute)?)
        };
        let predicates = self.predicates()?;
        let step = Step { axis, test, predicates };
        Ok(Expression::Step(Box::new(from), step))
    }

    fn axis(&mut self) -> Result<Axis> {
        let name = self.peek_name()?;
        if !self.rest()[name.len()..].starts_with("::") {
            return Ok(Axis::Child);
        }
        let axis = match name {
            "child" => Axis::Child,
            "descendant" => Axis::Descendant,
            "descendant-or-self" => Axis::DescendantOrSelf,
            "attribute" => Axis::Attribute,
            "self" => Axis::Itself,
            "parent" => Axis::Parent,
            other => return Err(not_done(&format!("axis {other}"))),
        };
        self.at += name.len() + 2;
        Ok(axis)
    }

    /// What a step looks for. Elements without a prefix have the default address.
    fn test(&mut self, takes_default: bool) -> Result<Test> {
        if self.eat("*")? {
            if self.rest().starts_with(':') {
                self.at += 1;
                return Ok(Test::AnyNamespace(self.take_name()?.to_owned()));
            }
            return Ok(Test::AnyName);
        }
        let name = self.take_name()?;
        if self.rest().starts_with(":*") {
            self.at += 2;
            return Ok(Test::AnyOf(self.address_of(name)?));
        }
        if self.eat("(")? {
            let test = match name {
                "text" => Test::Text,
                "node" => Test::Node,
                "comment" => Test::Comment,
                "processing-instruction" => Test::Instruction,
                _ => return Err(self.unexpected()),
            };
            self.expect(")")?;
            return Ok(test);
        }
        let (prefix, local) = match name.split_once(':') {
            Some((prefix, local)) => (Some(prefix), local),
            None => (None, name),
        };
        let namespace = match prefix {
            Some(prefix) => self.address_of(prefix)?,
            None if takes_default => self.address_of("")?,
            None => String::new(),
        };
        Ok(Test::Name {
            namespace,
            local: local.to_owned(),
        })
    }

    fn call(&mut self) -> Result<Expression> {
        let name = self.take_name()?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        if !self.eat(")")? {
            loop {
                arguments.push(self.single()?);
                if !self.eat(",")? {
                    break;
                }
            }
            self.expect(")")?;
        }
        if let Some(kind) = name.strip_prefix("sql:") {
            return self.external(kind, &arguments);
        }
        if let Some(type_name) = name.strip_prefix("xs:")
            && let Some(argument) = arguments.pop()
        {
            let sql_type = atomic_type(type_name).ok_or_else(|| not_done(name))?;
            return match arguments.is_empty() {
                true => Ok(Expression::Typed(sql_type, Box::new(argument))),
                false => Err(self.unexpected()),
            };
        }
        let (function, fewest, most) = function_of(name.strip_prefix("fn:").unwrap_or(name)).ok_or_else(|| {
            let text = format!(
                "XQuery [{}()]: There is no function '{{http://www.w3.org/2004/07/xpath-functions}}:{name}()'",
                self.method
            );
            Error::new(2395, 16, 1, text)
        })?;
        match (fewest..=most).contains(&arguments.len()) {
            true => Ok(Expression::Call(function, arguments)),
            false => Err(self.unexpected()),
        }
    }

    fn external(&mut self, kind: &str, arguments: &[Expression]) -> Result<Expression> {
        let [Expression::Text(name)] = arguments else {
            return Err(self.unexpected());
        };
        let external = match kind {
            "variable" => External::Variable(name.clone()),
            "column" => External::Column(name.clone()),
            _ => return Err(self.unexpected()),
        };
        let known = self.externals.iter().position(|known| *known == external);
        let place = known.unwrap_or(self.externals.len());
        if known.is_none() {
            self.externals.push(external);
        }
        Ok(Expression::External(place))
    }
}

/// A node and all below it, as `//` means it.
fn everything(from: Expression) -> Expression {
    let step = Step {
        axis: Axis::DescendantOrSelf,
        test: Test::Node,
        predicates: Vec::new(),
    };
    Expression::Step(Box::new(from), step)
}

/// The type that a constructor makes.
fn atomic_type(name: &str) -> Option<AtomicType> {
    let whole = |first: i64, last: i64| AtomicType::Whole(first, last);
    Some(match name {
        "string" => AtomicType::Text,
        "boolean" => AtomicType::Truth,
        "double" | "float" | "decimal" => AtomicType::Number,
        "integer" | "long" => whole(i64::MIN, i64::MAX),
        "int" => whole(i64::from(i32::MIN), i64::from(i32::MAX)),
        "short" => whole(i64::from(i16::MIN), i64::from(i16::MAX)),
        "byte" => whole(i64::from(i8::MIN), i64::from(i8::MAX)),
        "unsignedLong" | "nonNegativeInteger" => whole(0, i64::MAX),
        "unsignedInt" => whole(0, i64::from(u32::MAX)),
        "unsignedShort" => whole(0, i64::from(u16::MAX)),
        "unsignedByte" => whole(0, i64::from(u8::MAX)),
        "positiveInteger" => whole(1, i64::MAX),
        "nonPositiveInteger" => whole(i64::MIN, 0),
        "negativeInteger" => whole(i64::MIN, -1),
        "hexBinary" => AtomicType::Binary(BinaryForm::Hexadecimal),
        "base64Binary" => AtomicType::Binary(BinaryForm::Base64),
        _ => return None,
    })
}

/// A function with the fewest and most arguments it takes.
fn function_of(name: &str) -> Option<(Function, usize, usize)> {
    Some(match name {
        "avg" => (Function::Average, 1, 1),
        "concat" => (Function::Concat, 2, 255),
        "contains" => (Function::Contains, 2, 2),
        "count" => (Function::Count, 1, 1),
        "data" => (Function::Data, 1, 1),
        "distinct-values" => (Function::Distinct, 1, 1),
        "empty" => (Function::Empty, 1, 1),
        "false" => (Function::False, 0, 0),
        "last" => (Function::Last, 0, 0),
        "local-name" => (Function::LocalName, 0, 1),
        "lower-case" => (Function::LowerCase, 1, 1),
        "max" => (Function::Maximum, 1, 1),
        "min" => (Function::Minimum, 1, 1),
        "namespace-uri" => (Function::NamespaceUri, 0, 1),
        "not" => (Function::Not, 1, 1),
        "number" => (Function::Number, 0, 1),
        "position" => (Function::Position, 0, 0),
        "string" => (Function::Text, 0, 1),
        "string-length" => (Function::TextLength, 0, 1),
        "substring" => (Function::Substring, 2, 3),
        "sum" => (Function::Sum, 1, 1),
        "true" => (Function::True, 0, 0),
        "upper-case" => (Function::UpperCase, 1, 1),
        _ => return None,
    })
}
