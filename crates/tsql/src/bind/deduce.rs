//! Deduces the types of undeclared parameters (sql-docs, "sp_describe_undeclared_parameters", "Parameter Selection Algorithm").
//!
//! Before it binds an expression, the binder asks this module and states the requirement:
//!
//! | place of the expression | required type |
//! |---|---|
//! | next to `=` or `<>`, in IN, after an assignment, in VALUES, in CAST, as an argument of a module, in TOP and OFFSET | a given type |
//! | next to `<`, `>`, `<=`, `>=`, in BETWEEN and LIKE | a type like the given one |
//! | elsewhere | none |
//!
//! A parameter that is the whole expression gets the required type. Any other parameter is tried with each type that SQL Server considers:
//! the expression is bound with it, and the type that needs the fewest conversions wins; among equals the highest one.
//!
//! Invariant: expressions bound here are never executed. They are bound several times, so their SELECT collects their aggregates and
//! captures several times.

use std::cell::RefCell;
use std::collections::HashMap;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::{Length, SqlType};

use super::Binder;
use crate::ast::{ComparisonOperator, Expression, ExpressionKind, FunctionCall, Like, Query};
use crate::plan::{Expr, ExprKind};
use crate::scalar::arithmetic::comparison_type;
use crate::scalar::data_type::{check_conversion, precedence};

/// The types that are tried, smaller ones before those they are alike.
const CANDIDATES: [SqlType; 23] = [
    SqlType::Bit,
    SqlType::TinyInt,
    SqlType::SmallInt,
    SqlType::Int,
    SqlType::BigInt,
    SqlType::SmallMoney,
    SqlType::Money,
    SqlType::Real,
    SqlType::Float,
    SqlType::Decimal {
        precision: 38,
        scale: 19,
    },
    SqlType::VarChar(Length::Limited(8000)),
    SqlType::VarChar(Length::Max),
    SqlType::NVarChar(Length::Limited(4000)),
    SqlType::NVarChar(Length::Max),
    SqlType::VarBinary(Length::Limited(8000)),
    SqlType::VarBinary(Length::Max),
    SqlType::Date,
    SqlType::Time { scale: 7 },
    SqlType::SmallDateTime,
    SqlType::DateTime,
    SqlType::DateTime2 { scale: 7 },
    SqlType::DateTimeOffset { scale: 7 },
    SqlType::SqlVariant,
];

/// The errors of types that do not fit: with such a type the text is not valid.
const TYPE_ERRORS: [i32; 9] = [206, 257, 402, 403, 529, 1060, 8116, 8117, 8133];

/// What conversions cost ("from best to worst"): of one type with another length, between fixed and variable length, of NULL and
/// int, any other. Fewer of the worse ones win, however many better ones it takes.
const LENGTH_COST: u64 = 1;
const VARIABLE_COST: u64 = 1 << 16;
const NULL_COST: u64 = 1 << 32;
const OTHER_COST: u64 = 1 << 48;

/// A parameter and what was found out about it.
#[derive(Clone, Debug)]
pub(crate) struct Deduced {
    /// As it is written, with its `@`.
    pub(crate) name: String,
    pub(crate) sql_type: SqlType,
    /// Whether it stands anywhere but left of an assignment.
    pub(crate) is_input: bool,
    /// Whether it is assigned to.
    pub(crate) is_output: bool,
    /// The parameter of the module that it is an argument of.
    pub(crate) formal_name: Option<String>,
    /// Where it stands in the tree: a second place is a second use.
    place: usize,
}

/// The deduced types of a text's undeclared parameters.
#[derive(Debug, Default)]
pub(crate) struct Deduction {
    /// By name in lower case.
    found: HashMap<String, Deduced>,
    /// What the conversions have cost of the expression that is bound on trial.
    trial_cost: Option<u64>,
}

/// The requirement on an expression's type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Nothing,
    /// To be this, beside an operator of equality.
    Equal(SqlType),
    /// To be like this, beside any other operator.
    Alike(SqlType),
    /// To be this, or to become it by itself.
    Assigned(SqlType),
    /// To be this, or to become it by CAST.
    Cast(SqlType),
}

impl Asked {
    fn beside(operator: ComparisonOperator, other: SqlType) -> Asked {
        match operator {
            ComparisonOperator::Equal | ComparisonOperator::NotEqual => Asked::Equal(other),
            _ => Asked::Alike(other),
        }
    }

    fn sql_type(self) -> Option<SqlType> {
        match self {
            Asked::Nothing => None,
            Asked::Equal(wanted) | Asked::Alike(wanted) | Asked::Assigned(wanted) | Asked::Cast(wanted) => Some(wanted),
        }
    }

    /// What it costs that the expression has a type; `None` where it may not have it.
    fn cost_of(self, own: &Expr) -> Option<u64> {
        let wanted = self.sql_type().unwrap_or(own.sql_type);
        let is_allowed = match self {
            Asked::Nothing => Ok(()),
            Asked::Equal(_) | Asked::Alike(_) => comparison_type(own.sql_type, wanted, "equal to").map(|_| ()),
            Asked::Assigned(_) => check_conversion(own.sql_type, wanted, false),
            Asked::Cast(_) => check_conversion(own.sql_type, wanted, true),
        };
        is_allowed.ok().map(|()| cost_of_conversion(own, wanted))
    }
}

/// 11502
pub(crate) fn not_deducible(name: &str) -> Error {
    let text = format!("The type for parameter '{name}' cannot be deduced in this context.");
    Error::new(11_502, 16, 1, text)
}

fn two_untyped(first: &str, second: &str) -> Error {
    let text = format!(
        "The parameter type cannot be deduced because a single expression contains two untyped parameters, '{first}' and '{second}'."
    );
    Error::new(11_503, 16, 1, text)
}

fn not_unique(name: &str, one: &str, other: &str) -> Error {
    let text = format!(
        "The parameter type for '{name}' cannot be uniquely deduced; two possibilities are '{one}' and '{other}'."
    );
    Error::new(11_506, 16, 1, text)
}

fn no_type_is_valid(name: &str) -> Error {
    let text = format!("The parameter type for '{name}' cannot be deduced because no type would make the query valid.");
    Error::new(11_507, 16, 1, text)
}

fn used_twice(name: &str) -> Error {
    let text = format!("The undeclared parameter '{name}' is used more than once in the batch being analyzed.");
    Error::new(11_508, 16, 1, text)
}

/// What it costs to convert an expression to a type.
fn cost_of_conversion(own: &Expr, target: SqlType) -> u64 {
    let from = own.sql_type;
    if own.is_null_constant() {
        return if target == SqlType::Int { NULL_COST } else { OTHER_COST };
    }
    let is_same_text = from.is_character() && target.is_character() && from.is_unicode() == target.is_unicode();
    match () {
        () if from == target => 0,
        () if std::mem::discriminant(&from) == std::mem::discriminant(&target) => LENGTH_COST,
        () if is_same_text || from.is_binary() && target.is_binary() => VARIABLE_COST,
        () => OTHER_COST,
    }
}

/// Of the types that cost the same the highest, if all others become it by themselves.
fn highest(name: &str, tied: &[SqlType]) -> Result<SqlType> {
    let is_limited_sibling = |longer: SqlType| {
        let same =
            |other: &SqlType| std::mem::discriminant(other) == std::mem::discriminant(&longer) && !other.is_max();
        longer.is_max() && tied.iter().any(same)
    };
    let left: Vec<SqlType> = tied.iter().copied().filter(|&tied| !is_limited_sibling(tied)).collect();
    let best = left.iter().copied().max_by_key(|&tied| precedence(tied));
    let best = best.ok_or_else(|| no_type_is_valid(name))?;
    match left
        .iter()
        .find(|&&other| check_conversion(other, best, false).is_err())
    {
        None => Ok(best),
        Some(other) => Err(not_unique(name, best.name(), other.name())),
    }
}

impl Deduction {
    /// What was found out, in no order.
    pub(crate) fn into_found(self) -> HashMap<String, Deduced> {
        self.found
    }

    /// Notes the type of a parameter that stands at a place of the tree.
    ///
    /// # Errors
    /// 11508 when it stands elsewhere as well.
    pub(crate) fn note(&mut self, deduced: Deduced) -> Result<()> {
        match self.found.get(&deduced.name.to_lowercase()) {
            Some(known) if known.place != deduced.place => Err(used_twice(&deduced.name)),
            _ => {
                self.found.insert(deduced.name.to_lowercase(), deduced);
                Ok(())
            }
        }
    }
}

impl Deduced {
    /// A parameter that is read where this name of it stands in the tree.
    pub(crate) fn read(name: &str, sql_type: SqlType) -> Deduced {
        Deduced {
            name: name.to_owned(),
            sql_type,
            is_input: true,
            is_output: false,
            formal_name: None,
            place: name.as_ptr() as usize,
        }
    }

    /// One that is assigned to.
    pub(crate) fn written(name: &str, sql_type: SqlType) -> Deduced {
        Deduced {
            is_input: false,
            is_output: true,
            ..Deduced::read(name, sql_type)
        }
    }

    /// One that is an argument for a module's parameter.
    pub(crate) fn argument(name: &str, sql_type: SqlType, formal: &str, is_output: bool) -> Deduced {
        Deduced {
            is_output,
            formal_name: Some(formal.to_owned()),
            ..Deduced::read(name, sql_type)
        }
    }
}

impl<'a> Binder<'a> {
    /// The same binder for a text whose undeclared parameters are to be typed.
    pub(crate) fn deducing(self, deduction: &'a RefCell<Deduction>) -> Binder<'a> {
        Binder {
            deduction: Some(deduction),
            ..self
        }
    }

    /// The variable that an undeclared parameter is taken for.
    pub(super) fn deduced_variable(&self, name: &str) -> Option<(usize, SqlType)> {
        let deduction = self.deduction?.borrow();
        let known = deduction.found.get(&name.to_lowercase())?;
        // No slot of a variable, and another one for each: nothing of this is executed.
        Some((usize::MAX - (known.place & (usize::MAX >> 1)), known.sql_type))
    }

    /// Finds the type of the parameter in an expression, of which something is asked.
    ///
    /// # Errors
    /// 11503 and 11506 to 11508 when there is none, and those of binding the rest of the expression.
    pub(super) fn deduce(&mut self, expression: &'a Expression, asked: Asked) -> Result<()> {
        if self.deduction.is_none() {
            return Ok(());
        }
        match self.untyped(expression)?.as_slice() {
            [] => Ok(()),
            [first, second, ..] => Err(two_untyped(first, second)),
            &[name] => {
                let sql_type = match (asked, &expression.kind) {
                    (
                        Asked::Equal(wanted) | Asked::Assigned(wanted) | Asked::Cast(wanted),
                        ExpressionKind::Variable(_),
                    ) => wanted,
                    // Every type is as good as any, xml among them, and nothing but xml becomes xml.
                    (Asked::Nothing, ExpressionKind::Variable(_)) => {
                        return Err(not_unique(name, "sql_variant", "xml"));
                    }
                    _ => self.cheapest(name, expression, asked)?,
                };
                self.note_read(name, sql_type)
            }
        }
    }

    /// Finds the types of the parameters in what is assigned to module parameters.
    ///
    /// # Errors
    /// Those of [`Self::deduce`].
    pub(super) fn deduce_argument(&mut self, argument: &'a Expression, sql_type: SqlType, formal: &str) -> Result<()> {
        let Some(deduction) = self.deduction else { return Ok(()) };
        let names: Vec<String> = self.untyped(argument)?.into_iter().cloned().collect();
        self.deduce(argument, Asked::Assigned(sql_type))?;
        let mut deduction = deduction.borrow_mut();
        for name in names {
            if let Some(known) = deduction.found.get_mut(&name.to_lowercase()) {
                known.formal_name = Some(formal.to_owned());
            }
        }
        Ok(())
    }

    /// Finds the type of the parameter on one side of a comparison.
    ///
    /// # Errors
    /// Those of [`Self::deduce`].
    pub(super) fn deduce_beside(
        &mut self,
        left: &'a Expression,
        operator: ComparisonOperator,
        right: &'a Expression,
    ) -> Result<()> {
        if self.deduction.is_none() {
            return Ok(());
        }
        match (self.untyped(left)?.first(), self.untyped(right)?.first()) {
            (None, None) => Ok(()),
            (Some(first), Some(second)) => Err(two_untyped(first, second)),
            (Some(_), None) => {
                let other = self.expression(right)?.sql_type;
                self.deduce(left, Asked::beside(operator, other))
            }
            (None, Some(_)) => {
                let other = self.expression(left)?.sql_type;
                self.deduce(right, Asked::beside(operator, other))
            }
        }
    }

    /// Finds the types of parameters in IN, whose operand is compared with each of the list.
    ///
    /// # Errors
    /// Those of [`Self::deduce`].
    pub(super) fn deduce_in_list(&mut self, operand: &'a Expression, list: &'a [Expression]) -> Result<()> {
        if self.deduction.is_none() {
            return Ok(());
        }
        let Some(name) = self.untyped(operand)?.first().copied() else {
            let own = self.expression(operand)?.sql_type;
            return list.iter().try_for_each(|item| self.deduce(item, Asked::Equal(own)));
        };
        for item in list {
            if let Some(other) = self.untyped(item)?.first() {
                return Err(two_untyped(name, other));
            }
        }
        let bound = self.expressions(list)?;
        self.deduce(operand, Asked::Equal(super::case::meeting_type(bound.iter())))
    }

    /// Finds the type of the operand of IN, ANY or ALL beside a query.
    ///
    /// # Errors
    /// Those of [`Self::deduce`].
    pub(super) fn deduce_beside_query(
        &mut self,
        operand: &'a Expression,
        operator: ComparisonOperator,
        query: &'a Query,
    ) -> Result<()> {
        if self.deduction.is_none() || self.untyped(operand)?.is_empty() {
            return Ok(());
        }
        let subquery = self.subquery(query)?;
        match subquery.plan.columns.first() {
            Some(column) => self.deduce(operand, Asked::beside(operator, column.sql_type)),
            None => Ok(()),
        }
    }

    /// Finds the type of the parameter in LIKE.
    ///
    /// # Errors
    /// Those of [`Self::deduce`].
    pub(super) fn deduce_like(&mut self, like: &'a Like) -> Result<()> {
        self.deduce_beside(&like.operand, ComparisonOperator::Greater, &like.pattern)?;
        match &like.escape {
            Some(escape) => self.deduce_beside(&like.operand, ComparisonOperator::Greater, escape),
            None => Ok(()),
        }
    }

    /// Finds the type of a parameter that is assigned to: that of the value.
    ///
    /// # Errors
    /// Those of binding the value.
    pub(super) fn deduce_assigned(&mut self, variable: &str, value: &'a Expression) -> Result<()> {
        let Some(deduction) = self.deduction else { return Ok(()) };
        if self.is_declared(variable) {
            return Ok(());
        }
        let sql_type = self.expression(value)?.sql_type;
        deduction.borrow_mut().note(Deduced::written(variable, sql_type))
    }

    fn is_declared(&self, name: &str) -> bool {
        self.variables.scalar(name).is_some() || self.variables.table(name).is_some()
    }

    /// Counts the conversion of an operand that is bound on trial.
    pub(super) fn weigh(&self, own: &Expr, target: SqlType) {
        let Some(deduction) = self.deduction else { return };
        if let Some(cost) = &mut deduction.borrow_mut().trial_cost {
            *cost = cost.saturating_add(cost_of_conversion(own, target));
        }
    }

    /// Whether conversions are counted.
    pub(super) fn weighs(&self) -> bool {
        self.deduction
            .is_some_and(|deduction| deduction.borrow().trial_cost.is_some())
    }

    /// Counts the conversions of a call's arguments; `own` are the arguments as they were written.
    pub(super) fn weigh_arguments(&self, own: &[Expr], call: &Expr) {
        if let ExprKind::Function { arguments, .. } = &call.kind {
            own.iter()
                .zip(arguments)
                .for_each(|(own, argument)| self.weigh(own, argument.sql_type));
        }
    }

    fn note_read(&self, name: &str, sql_type: SqlType) -> Result<()> {
        match self.deduction {
            Some(deduction) => deduction.borrow_mut().note(Deduced::read(name, sql_type)),
            None => Ok(()),
        }
    }

    /// The type that makes the expression around a parameter cheapest.
    fn cheapest(&mut self, name: &'a str, expression: &'a Expression, asked: Asked) -> Result<SqlType> {
        let Some(deduction) = self.deduction else {
            return Err(not_deducible(name));
        };
        let around = deduction.borrow_mut().trial_cost.take();
        let outcome = self.tried(name, expression, asked);
        let mut deduction = deduction.borrow_mut();
        deduction.trial_cost = around;
        deduction.found.remove(&name.to_lowercase());
        let (_, tied) = outcome?;
        highest(name, &tied)
    }

    /// The types that cost least, and what they cost.
    fn tried(&mut self, name: &'a str, expression: &'a Expression, asked: Asked) -> Result<(u64, Vec<SqlType>)> {
        let (mut least, mut tied) = (u64::MAX, Vec::new());
        for candidate in CANDIDATES {
            self.note_read(name, candidate)?;
            self.set_trial(Some(0));
            let bound = self.expression(expression);
            let spent = self.set_trial(None).unwrap_or(0);
            let bound = match bound {
                Err(error) if TYPE_ERRORS.contains(&error.number) => continue,
                outcome => outcome?,
            };
            let Some(cost) = asked.cost_of(&bound).map(|cost| cost.saturating_add(spent)) else {
                continue;
            };
            if cost < least {
                (least, tied) = (cost, Vec::new());
            }
            if cost == least {
                tied.push(candidate);
            }
        }
        Ok((least, tied))
    }

    fn set_trial(&self, cost: Option<u64>) -> Option<u64> {
        let mut deduction = self.deduction?.borrow_mut();
        std::mem::replace(&mut deduction.trial_cost, cost)
    }

    /// The undeclared parameters that the type of an expression depends on and that have no type yet.
    ///
    /// # Errors
    /// 11508 for one that has got its type elsewhere.
    fn untyped(&self, expression: &'a Expression) -> Result<Vec<&'a String>> {
        let mut names = Vec::new();
        self.collect_untyped(expression, &mut names)?;
        Ok(names)
    }

    fn collect_untyped(&self, expression: &'a Expression, names: &mut Vec<&'a String>) -> Result<()> {
        crate::stack::require()?;
        cancel::spend(1)?;
        let mut all = |parts: &mut dyn Iterator<Item = &'a Expression>| -> Result<()> {
            for part in parts {
                self.collect_untyped(part, names)?;
            }
            Ok(())
        };
        match &expression.kind {
            ExpressionKind::Variable(name) if !self.is_declared(name) => {
                let place = name.as_ptr() as usize;
                match self
                    .deduction
                    .and_then(|known| Some(known.borrow().found.get(&name.to_lowercase())?.place))
                {
                    None => names.push(name),
                    Some(known) if known != place => return Err(used_twice(name)),
                    Some(_) => {}
                }
                Ok(())
            }
            ExpressionKind::Unary { operand, .. } | ExpressionKind::Collate { operand, .. } => {
                all(&mut std::iter::once(&**operand))
            }
            ExpressionKind::Binary { left, right, .. } => all(&mut [&**left, &**right].into_iter()),
            ExpressionKind::Case(case) => {
                let values = case.branches.iter().map(|branch| &branch.then);
                all(&mut values.chain(&case.otherwise))
            }
            ExpressionKind::Function(call) => all(&mut typed_by(call).iter()),
            _ => Ok(()),
        }
    }
}

/// The arguments that a call takes its type from, or gives one: those of the user's functions have the types of the parameters.
fn typed_by(call: &FunctionCall) -> &[Expression] {
    let is_users = call
        .name
        .schema()
        .is_some_and(|schema| !schema.eq_ignore_ascii_case("sys"));
    match call.name.object() {
        _ if is_users => &[],
        name if name.eq_ignore_ascii_case("iif") => call.arguments.get(1..).unwrap_or_default(),
        _ => &call.arguments,
    }
}
