//! Scalar expressions.

use std::sync::Arc;

use engine::error::Result;
use engine::types::{Collation, Length, SqlType, Value};

use super::constant::constant;
use super::deduce::Asked;
use super::scope::Level;
use super::sequence::is_choice;
use super::xml::is_xml;
use super::{Binder, implicit};
use crate::ast::{self, BinaryOperator, Cast, Convert, Expression, ExpressionKind, Parse, Query, UnaryOperator};
use crate::messages;
use crate::plan::{Expr, ExprKind, Label, Subquery, label_of};
use crate::scalar::arithmetic::{operation, operator_name};
use crate::scalar::data_type::{TypePlace, check_conversion, resolve};

impl<'a> Binder<'a> {
    /// Binds a scalar expression. What has no collation of its own takes that of the current database.
    pub(super) fn expression(&mut self, expression: &'a Expression) -> Result<Expr> {
        self.deduce(expression, Asked::Nothing)?;
        let before = self.groups_outside().then(|| self.capture_counts());
        let mut bound = self.expression_of_itself(expression)?;
        if let Some(before) = before {
            bound = self.as_outer_key(bound, &before);
        }
        match bound.label {
            Label::CoercibleDefault(own) if own != self.collation && bound.sql_type.is_character() => {
                Ok(bound.collated(Label::CoercibleDefault(self.collation)))
            }
            _ => Ok(bound),
        }
    }

    fn expression_of_itself(&mut self, expression: &'a Expression) -> Result<Expr> {
        self.line = expression.line;
        self.deeper(size_of::<Expr>())?;
        if is_term(&expression.kind) {
            self.count_terms(1)?;
        }
        match &expression.kind {
            ExpressionKind::Literal(literal) => Ok(constant(literal, self.collation)),
            ExpressionKind::Variable(name) => self.variable(name),
            ExpressionKind::Identity(identity) => self.identity_column(identity),
            ExpressionKind::GlobalVariable(name) => {
                crate::functions::global_variable(name).unwrap_or_else(|| Err(messages::variable_not_declared(name)))
            }
            ExpressionKind::Column(name) => self.column_or_property(name),
            ExpressionKind::PseudoColumn(name) => self.pseudo_column(name),
            ExpressionKind::Unary { operator, operand } => self.unary(*operator, operand),
            ExpressionKind::Binary { left, operator, right } => {
                let left = self.expression(left)?;
                let right = self.expression(right)?;
                self.line = expression.line;
                self.binary(*operator, left, right)
            }
            ExpressionKind::Case(case) => self.in_choice(|binder| binder.case(case)),
            ExpressionKind::Cast(cast) => self.cast(cast),
            ExpressionKind::Convert(convert) => self.convert(convert),
            ExpressionKind::Parse(parse) => self.parse(parse),
            ExpressionKind::Function(call) if is_choice(call) => self.in_choice(|binder| binder.function(call)),
            ExpressionKind::Function(call) => self.function(call),
            ExpressionKind::Subquery(query) => self.scalar_subquery(query),
            ExpressionKind::Collate { operand, collation } => self.collate(operand, collation),
            ExpressionKind::AtTimeZone { operand, zone } => self.at_time_zone(operand, zone),
            ExpressionKind::NextValueFor(next) => self.next_value(next),
            _ => Err(messages::incorrect_syntax_near_keyword("condition")),
        }
    }

    /// `left operator right`, as the options of the session have it.
    pub(super) fn binary(&self, operator: BinaryOperator, left: Expr, right: Expr) -> Result<Expr> {
        let own = self.weighs().then(|| (left.clone(), right.clone()));
        let bound = binary(operator, left, right)?;
        if let (Some((own_left, own_right)), ExprKind::Arithmetic { left, right, .. }) = (own, &bound.kind) {
            self.weigh(&own_left, left.sql_type);
            self.weigh(&own_right, right.sql_type);
        }
        let joins_text = operator == BinaryOperator::Add && bound.sql_type.is_character();
        if joins_text && !self.session.options().concat_null_yields_null {
            return Ok(with_empty_nulls(bound));
        }
        Ok(bound)
    }

    /// `$IDENTITY` is the identity column of the one source that has one, `$ROWGUID` its column that is ROWGUIDCOL.
    fn pseudo_column(&mut self, name: &str) -> Result<Expr> {
        let is_guid = name.eq_ignore_ascii_case("$ROWGUID");
        let found = self.select_level().and_then(|level| {
            let is_it = |column: &&super::ScopeColumn| if is_guid { column.row_guid } else { column.identity };
            level.columns.iter().find(is_it).map(super::ScopeColumn::expression)
        });
        let action = self.select_level().and_then(|level| level.action);
        if let (Some(place), true) = (action, name.eq_ignore_ascii_case("$action")) {
            let text = SqlType::NVarChar(Length::Limited(10));
            return Ok(Expr::column(place, text, false));
        }
        match found {
            Some(column) if is_guid || name.eq_ignore_ascii_case("$IDENTITY") => Ok(column),
            _ => Err(messages::invalid_column_name(name)),
        }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &'a Expression) -> Result<Expr> {
        let bound = self.expression(operand)?;
        let sql_type = bound.sql_type;
        let nullable = bound.nullable;
        let is_number = sql_type.is_numeric() && sql_type != SqlType::Bit;
        match operator {
            UnaryOperator::Plus => Ok(bound),
            UnaryOperator::Minus if is_number || bound.is_null_constant() => {
                // tinyint has no negative numbers.
                let target = if sql_type == SqlType::TinyInt {
                    SqlType::SmallInt
                } else {
                    sql_type
                };
                let operand = Box::new(bound.converted(target));
                Ok(Expr {
                    nullable,
                    ..Expr::new(ExprKind::Negate(operand), target)
                }
                .folded())
            }
            UnaryOperator::Minus => Err(messages::invalid_operand_type(sql_type.name(), "minus")),
            UnaryOperator::BitNot if sql_type.is_integer() || sql_type == SqlType::Bit => Ok(Expr {
                nullable,
                ..Expr::new(ExprKind::BitNot(Box::new(bound)), sql_type)
            }),
            UnaryOperator::BitNot => Err(messages::invalid_operand_type(sql_type.name(), "'~'")),
        }
    }

    /// `operand COLLATE collation`
    fn collate(&mut self, operand: &'a Expression, collation: &ast::Identifier) -> Result<Expr> {
        let collation = self.session.collation(&collation.text)?;
        let bound = self.expression(operand)?;
        if !bound.sql_type.is_character() {
            let untyped = matches!(bound.kind, ExprKind::Constant(Value::Null));
            return Err(messages::not_collatable(if untyped {
                "void"
            } else {
                bound.sql_type.name()
            }));
        }
        if matches!(bound.label, Label::Explicit(_)) {
            return Err(messages::collate_twice());
        }
        Ok(converted_in(bound, collation).collated(Label::Explicit(collation)))
    }

    /// The value of `IDENTITY(...)`, which a row gets when it is written.
    ///
    /// # Errors
    /// 177 where no table is made.
    fn identity_column(&mut self, identity: &ast::IdentityColumn) -> Result<Expr> {
        if !self.makes_table {
            return Err(messages::identity_function_without_into());
        }
        self.identity_columns += 1;
        let sql_type = resolve(&identity.data_type, TypePlace::Declaration, 1, self.session.version())?;
        Ok(Expr::constant(Value::Null, sql_type))
    }

    fn cast(&mut self, cast: &'a Cast) -> Result<Expr> {
        let (operand, target) = self.operand_of(&cast.operand, &cast.data_type)?;
        if is_xml(&cast.data_type) {
            return super::xml::conversion(operand, cast.or_null);
        }
        conversion(json_in(operand, self.collation), target, None, cast.or_null)
    }

    /// What is converted, and the type to convert it to. A mistake in the syntax of the type is reported first (severity 15); an unknown
    /// type (243) only if the operand is right.
    fn operand_of(&mut self, operand: &'a Expression, data_type: &ast::DataType) -> Result<(Expr, SqlType)> {
        let target = match resolve(data_type, TypePlace::Conversion, 1, self.session.version()) {
            Err(error) if error.severity == 15 => return Err(error),
            target => target,
        };
        if let Ok(target) = target {
            self.deduce(operand, Asked::Cast(target))?;
        }
        Ok((self.expression(operand)?, target?))
    }

    fn convert(&mut self, convert: &'a Convert) -> Result<Expr> {
        let (operand, target) = self.operand_of(&convert.operand, &convert.data_type)?;
        let style = match &convert.style {
            Some(style) => {
                self.deduce(style, Asked::Assigned(SqlType::Int))?;
                Some(implicit(self.expression(style)?, SqlType::Int)?)
            }
            None => None,
        };
        if is_xml(&convert.data_type) {
            super::xml::check_style(style.as_ref())?;
            return super::xml::conversion(operand, convert.or_null);
        }
        conversion(json_in(operand, self.collation), target, style, convert.or_null)
    }

    /// PARSE is CONVERT from text; the culture is always en-US.
    fn parse(&mut self, parse: &'a Parse) -> Result<Expr> {
        let text = SqlType::NVarChar(Length::Limited(4000));
        self.deduce(&parse.operand, Asked::Assigned(text))?;
        let operand = implicit(self.expression(&parse.operand)?, text)?;
        let target = resolve(&parse.data_type, TypePlace::Conversion, 1, self.session.version())?;
        if target.is_spatial() || target == SqlType::HierarchyId {
            return Err(messages::not_supported(&format!("PARSE AS {}", target.name())));
        }
        conversion(operand, target, None, parse.or_null)
    }

    fn scalar_subquery(&mut self, query: &'a Query) -> Result<Expr> {
        let subquery = self.subquery(query)?;
        let [column] = subquery.plan.columns.as_slice() else {
            let text = "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.";
            return Err(engine::error::Error::new(116, 16, 1, text));
        };
        let (sql_type, label) = (column.sql_type, column.label.of_column());
        Ok(Expr::new(ExprKind::Subquery(subquery), sql_type).labelled(label))
    }

    /// Binds a query whose captures are collected.
    pub(super) fn subquery(&mut self, query: &'a Query) -> Result<Subquery> {
        self.check_subquery()?;
        let (plan, level) = self.within(Level::Boundary(Vec::new()), |binder| binder.nested_query(query))?;
        let captures = match level {
            Level::Boundary(captures) => captures,
            _ => Vec::new(),
        };
        Ok(Subquery {
            plan: Arc::new(plan),
            captures,
        })
    }

    /// Binds a list of expressions.
    pub(super) fn expressions(&mut self, list: &'a [ast::Expression]) -> Result<Vec<Expr>> {
        list.iter().map(|expression| self.expression(expression)).collect()
    }
}

/// Whether it is one identifier or constant.
fn is_term(kind: &ExpressionKind) -> bool {
    matches!(
        kind,
        ExpressionKind::Literal(_)
            | ExpressionKind::Variable(_)
            | ExpressionKind::GlobalVariable(_)
            | ExpressionKind::Identity(_)
            | ExpressionKind::Column(_)
            | ExpressionKind::PseudoColumn(_)
    )
}

/// `left operator right`, both sides converted to what the operator works on.
pub(super) fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Result<Expr> {
    // NULL takes the other side's type.
    let (left_type, right_type) = match (left.is_null_constant(), right.is_null_constant()) {
        (true, false) => (right.sql_type, right.sql_type),
        (false, true) => (left.sql_type, left.sql_type),
        _ => (left.sql_type, right.sql_type),
    };
    let left_type = literal_type(&left, left_type, right_type);
    let right_type = literal_type(&right, right_type, left_type);
    let types = operation(operator, left_type, right_type)?;
    for (own, target) in [(left_type, types.left), (right_type, types.right)] {
        check_conversion(own, target, own.is_temporal()).map_err(|_| {
            messages::incompatible_operands(left_type.name(), right_type.name(), operator_name(operator))
        })?;
    }
    let nullable = left.nullable || right.nullable;
    let (left, right) = (left.converted(types.left), right.converted(types.right));
    let label = label_of([&left, &right], operator_name(operator))?;
    let (left, right) = (Box::new(left.collated(label)), Box::new(right.collated(label)));
    Ok(Expr {
        kind: ExprKind::Arithmetic { operator, left, right },
        sql_type: types.result,
        nullable,
        label,
    })
}

/// CONCAT_NULL_YIELDS_NULL OFF: "concatenating a null value with a string yields the string itself (the null value is treated as
/// an empty string)" (sql-docs, "SET CONCAT_NULL_YIELDS_NULL").
fn with_empty_nulls(mut joined: Expr) -> Expr {
    if let ExprKind::Arithmetic { left, right, .. } = &mut joined.kind {
        for side in [left, right] {
            let (sql_type, label) = (side.sql_type, side.label);
            let empty = Expr::constant(Value::from(""), SqlType::VarChar(Length::Limited(1))).collated(label);
            let own = std::mem::replace(&mut **side, empty.clone());
            **side = Expr {
                kind: ExprKind::Coalesce(vec![own, empty]),
                sql_type,
                nullable: false,
                label,
            };
        }
    }
    joined.nullable = false;
    joined
}

/// A whole number written beside a decimal has just the digits it is written with: `7.0 / 2` is numeric(7,6).
fn literal_type(expression: &Expr, own: SqlType, other: SqlType) -> SqlType {
    match (&expression.kind, other) {
        (ExprKind::Constant(Value::Int(number)), SqlType::Decimal { .. }) => {
            let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
            SqlType::Decimal {
                precision: digits as u8,
                scale: 0,
            }
        }
        _ => own,
    }
}

/// A json that is converted to a string under a collation: its code page decides whether the string can hold it.
fn json_in(json: Expr, collation: Collation) -> Expr {
    if json.sql_type != SqlType::Json || !collation.is_utf8() {
        return json;
    }
    Expr {
        sql_type: SqlType::Json,
        nullable: json.nullable,
        kind: ExprKind::Collate(Box::new(json)),
        label: Label::CoercibleDefault(collation),
    }
}

/// A conversion of json that COLLATE is written behind: the collation is that of the string which it is converted to.
fn converted_in(mut bound: Expr, collation: Collation) -> Expr {
    if let ExprKind::Collate(inner) = &mut bound.kind {
        let converted = std::mem::replace(&mut **inner, Expr::constant(Value::Null, SqlType::Int));
        **inner = converted_in(converted, collation);
    } else if let ExprKind::Convert { operand, .. } = &mut bound.kind
        && operand.sql_type == SqlType::Json
    {
        let json = std::mem::replace(&mut **operand, Expr::constant(Value::Null, SqlType::Json));
        **operand = json_in(json, collation);
    }
    bound
}

/// CAST and CONVERT.
pub(super) fn conversion(operand: Expr, target: SqlType, style: Option<Expr>, or_null: bool) -> Result<Expr> {
    if !operand.is_null_constant() {
        check_conversion(operand.sql_type, target, true)?;
    }
    let nullable = operand.nullable || or_null;
    let label = operand.label_in(target);
    let kind = ExprKind::Convert {
        operand: Box::new(operand),
        style: style.map(Box::new),
        or_null,
    };
    Ok(Expr {
        kind,
        sql_type: target,
        nullable,
        label,
    })
}
