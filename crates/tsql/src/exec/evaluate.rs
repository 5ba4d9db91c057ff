//! Evaluation of expressions and conditions over a row.
//!
//! Columns and constants are borrowed, never copied; only what is computed is owned.

use std::borrow::Cow;
use std::cmp::Ordering;

use engine::cancel;
use engine::error::{Error, Result};
use engine::memory::{self, Charge};
use engine::types::{SqlType, Value};

use super::{list_search, subquery};
use crate::ast::BinaryOperator;
use crate::context::Context;
use crate::messages;
use crate::modules::ModuleCall;
use crate::plan::{
    Call, Condition, Expr, ExprKind, Implementation, ListedValues, Searched, Subquery, arguments_in_parts,
};
use crate::scalar::arithmetic;
use crate::scalar::compare::{compare, same, satisfies};
use crate::scalar::convert::{convert, recollated};
use crate::scalar::data_type::byte_length;
use crate::scalar::like::{Blanks, Pattern};

/// What an expression may ask for beside its row.
pub trait Surroundings {
    /// The value of a variable, which may be held.
    fn variable(&self, slot: usize) -> Value;

    /// The value of a variable, in memory.
    ///
    /// # Errors
    /// Those of [`Value::whole`].
    fn variable_in_memory(&self, slot: usize) -> Result<Value> {
        self.variable(slot).whole()
    }

    /// A value captured for the subquery that is running.
    fn parameter(&self, index: usize) -> Value;

    /// Calls a function with the values of its arguments, some of which may be held.
    ///
    /// # Errors
    /// Those of the function.
    fn call(
        &self,
        implementation: Implementation,
        arguments: (&[Expr], &[usize]),
        result: SqlType,
        row: &[Value],
    ) -> Result<Value>;

    /// Calls a scalar function of the user with the values of its arguments.
    ///
    /// # Errors
    /// Those of its statements.
    fn call_module(&self, call: &ModuleCall, arguments: &[Expr], row: &[Value]) -> Result<Value>;

    /// The value of a subquery.
    ///
    /// # Errors
    /// Those of the subquery.
    fn scalar(&self, query: &Subquery, row: &[Value]) -> Result<Value>;

    /// The value in place of one that cannot be computed, where the session's options have one: NULL for an arithmetic error.
    ///
    /// # Errors
    /// The error itself where they have none.
    fn forgive(&self, error: Error) -> Result<Value> {
        Err(error)
    }

    /// Whether a value that is not NULL is in a list of variables, which has this number; nothing where the items are to be compared one by one.
    ///
    /// # Errors
    /// 3617 when the statement is to stop.
    fn search_list(&self, _list: (&ListedValues, u64), _value: &Value) -> Result<Option<Option<bool>>> {
        Ok(None)
    }

    /// The truth of a condition on a subquery's rows.
    ///
    /// # Errors
    /// Those of the subquery.
    fn test_rows(&self, condition: &Condition, row: &[Value]) -> Result<Option<bool>>;
}

impl Surroundings for Context<'_> {
    fn variable(&self, slot: usize) -> Value {
        Context::variable(self, slot)
    }

    fn variable_in_memory(&self, slot: usize) -> Result<Value> {
        Context::variable_in_memory(self, slot)
    }

    fn parameter(&self, index: usize) -> Value {
        Context::parameter(self, index)
    }

    fn call(
        &self,
        implementation: Implementation,
        (arguments, held): (&[Expr], &[usize]),
        result: SqlType,
        row: &[Value],
    ) -> Result<Value> {
        let values = arguments.iter().enumerate().map(|(place, argument)| {
            let value = match held.contains(&place) {
                true => evaluate_or_held(argument, row, self),
                false => evaluate(argument, row, self),
            };
            Ok(value?.into_owned())
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let _working = room_to_work(&values, result)?;
        let value = implementation(&Call {
            context: self,
            values: &values,
            expressions: arguments,
            result,
        })?;
        cut_to_type(value, result)
    }

    fn call_module(&self, call: &ModuleCall, arguments: &[Expr], row: &[Value]) -> Result<Value> {
        let values = arguments
            .iter()
            .map(|argument| Ok(evaluate(argument, row, self)?.into_owned()));
        let values = values.collect::<Result<Vec<_>>>()?;
        self.session
            .module_caller()
            .scalar(self.session, call, values, self.variables)
    }

    fn scalar(&self, query: &Subquery, row: &[Value]) -> Result<Value> {
        subquery::scalar(query, row, self)
    }

    fn search_list(&self, list: (&ListedValues, u64), value: &Value) -> Result<Option<Option<bool>>> {
        list_search::search(list, value, self)
    }

    fn forgive(&self, error: Error) -> Result<Value> {
        self.session.forgive(error).map(|()| Value::Null)
    }

    fn test_rows(&self, condition: &Condition, row: &[Value]) -> Result<Option<bool>> {
        match condition {
            Condition::Exists(query) => Ok(Some(subquery::exists(query, row, self)?)),
            Condition::Quantified {
                operand,
                operator,
                quantifier,
                subquery,
            } => {
                let value = evaluate(operand, row, self)?;
                subquery::quantified(&value, *operator, *quantifier, subquery, row, self)
            }
            other => test(other, row, self),
        }
    }
}

/// Asks for what a function of long strings takes while it makes another of about their length.
fn room_to_work(values: &[Value], result: SqlType) -> Result<Charge> {
    let long = |value: &Value| match value {
        Value::Text(text) if text.is_charged() => text.len(),
        Value::Binary(bytes) if bytes.is_charged() => bytes.len(),
        _ => 0,
    };
    let bytes: usize = values.iter().map(long).sum();
    if bytes == 0 || !(result.is_character() || result.is_binary()) {
        return Ok(Charge::default());
    }
    memory::require(bytes)
}

/// A function's string is cut to what its type holds, as REPLACE, STUFF and CONCAT are (SQL Server docs). No unit of a length is less than a
/// byte of the text, so most are seen to fit without a look at what they hold.
#[inline]
fn cut_to_type(value: Value, result: SqlType) -> Result<Value> {
    match &value {
        Value::Text(text) if result.is_character() && text.len() > byte_length(result).units_max() => {
            convert(&value, result, result, None)
        }
        _ => Ok(value),
    }
}

/// A value that is there already: a constant's or a column's.
#[inline]
fn value_at_hand<'v>(expression: &'v Expr, row: &'v [Value]) -> Option<&'v Value> {
    match &expression.kind {
        ExprKind::Constant(value) => Some(value),
        ExprKind::Column(index) => row.get(*index),
        _ => None,
    }
}

/// The value of an expression.
///
/// # Errors
/// Those of the operators and functions in it; 8631 when it is nested deeper than there is stack.
#[inline]
pub fn evaluate<'v, S: Surroundings>(expression: &'v Expr, row: &'v [Value], context: &S) -> Result<Cow<'v, Value>> {
    match value_at_hand(expression, row) {
        Some(value) => Ok(Cow::Borrowed(value)),
        None => compute(expression, row, context),
    }
}

/// The value of an expression that is not at hand.
fn compute<'v, S: Surroundings>(expression: &'v Expr, row: &'v [Value], context: &S) -> Result<Cow<'v, Value>> {
    crate::stack::require()?;
    Ok(match &expression.kind {
        ExprKind::Constant(value) => Cow::Borrowed(value),
        // Of a row that is shorter.
        ExprKind::Column(_) => Cow::Owned(Value::Null),
        ExprKind::Variable(slot) => Cow::Owned(context.variable_in_memory(*slot)?),
        ExprKind::Parameter(index) => Cow::Owned(context.parameter(*index)),
        ExprKind::Arithmetic { operator, left, right } => {
            let left = evaluate(left, row, context)?;
            let right = evaluate(right, row, context)?;
            let result = arithmetic::apply(*operator, &left, &right, expression.sql_type);
            Cow::Owned(result.or_else(|error| context.forgive(error))?)
        }
        ExprKind::Negate(operand) => {
            let result = arithmetic::negate(&*evaluate(operand, row, context)?, expression.sql_type);
            Cow::Owned(result.or_else(|error| context.forgive(error))?)
        }
        ExprKind::BitNot(operand) => Cow::Owned(arithmetic::bit_not(&*evaluate(operand, row, context)?)?),
        ExprKind::Convert {
            operand,
            style,
            or_null,
        } => Cow::Owned(evaluate_conversion(
            expression,
            operand,
            style.as_deref(),
            *or_null,
            row,
            context,
        )?),
        ExprKind::Collate(operand) => {
            let value = evaluate(operand, row, context)?.into_owned();
            Cow::Owned(recollated(value, operand.sql_type, expression.label.collation()))
        }
        ExprKind::Case { branches, otherwise } => {
            for (condition, value) in branches {
                if test(condition, row, context)? == Some(true) {
                    return evaluate(value, row, context);
                }
            }
            match otherwise {
                Some(otherwise) => return evaluate(otherwise, row, context),
                None => Cow::Owned(Value::Null),
            }
        }
        ExprKind::Coalesce(arguments) => return first_not_null(arguments, row, context),
        ExprKind::Function {
            name,
            implementation,
            arguments,
        } => {
            let arguments = (arguments.as_slice(), held_arguments(name, arguments, context));
            let result = context.call(*implementation, arguments, expression.sql_type, row);
            Cow::Owned(result.or_else(|error| context.forgive(error))?)
        }
        ExprKind::Module { call, arguments } => {
            let value = context.call_module(call, arguments, row)?;
            Cow::Owned(value.collated(expression.label.collation()))
        }
        ExprKind::Subquery(query) => Cow::Owned(context.scalar(query, row)?),
        ExprKind::Aggregate(_) | ExprKind::Window(_) => return Err(messages::windowed_function_misplaced()),
    })
}

/// Bytes of the longest variable that a search reads into memory. Each row of a statement may search it, and would read it again.
const SEARCHED_IN_MEMORY_BYTES_MAX: u64 = 4 << 20;

/// The arguments that a function takes held, if any of its own may be.
#[inline]
fn held_arguments<S: Surroundings>(name: &str, arguments: &[Expr], context: &S) -> &'static [usize] {
    let may_be_held = |argument: &Expr| matches!(argument.kind, ExprKind::Variable(_) | ExprKind::Convert { .. });
    match arguments.iter().any(may_be_held) {
        true if is_searched_in_memory(name, arguments, context) => &[],
        true => arguments_in_parts(name),
        false => &[],
    }
}

/// CHARINDEX and PATINDEX read all of a text: a variable that is not very long is read once for all rows.
fn is_searched_in_memory<S: Surroundings>(name: &str, arguments: &[Expr], context: &S) -> bool {
    let is_long = |argument: &Expr| match argument.kind {
        ExprKind::Variable(slot) => {
            matches!(context.variable(slot), Value::Held(held) if held.bytes() > SEARCHED_IN_MEMORY_BYTES_MAX)
        }
        _ => false,
    };
    matches!(name, "charindex" | "patindex") && !arguments.iter().any(is_long)
}

/// The value of an expression for one who takes held values: of a variable or a column they come as they are, and so they do where their type is
/// changed to another of the same bytes. Strings that are put together are not read for it.
///
/// # Errors
/// As for [`evaluate`].
pub fn evaluate_or_held<'v, S: Surroundings>(
    expression: &'v Expr,
    row: &'v [Value],
    context: &S,
) -> Result<Cow<'v, Value>> {
    match &expression.kind {
        ExprKind::Variable(slot) => Ok(Cow::Owned(context.variable(*slot))),
        ExprKind::Convert {
            operand,
            style: None,
            or_null: false,
        } if matches!(operand.kind, ExprKind::Variable(_) | ExprKind::Column(_)) => {
            let value = evaluate_or_held(operand, row, context)?;
            match value.is_held_as(expression.sql_type) {
                true => Ok(value),
                false => evaluate(expression, row, context),
            }
        }
        ExprKind::Arithmetic {
            operator: BinaryOperator::Add,
            left,
            right,
        } if expression.is_long_string() => {
            let left = evaluate_or_held(left, row, context)?;
            let right = evaluate_or_held(right, row, context)?;
            let result = arithmetic::append(&left, &right, expression.sql_type);
            Ok(Cow::Owned(result.or_else(|error| context.forgive(error))?))
        }
        _ => evaluate(expression, row, context),
    }
}

/// COALESCE.
fn first_not_null<'v, S: Surroundings>(arguments: &'v [Expr], row: &'v [Value], context: &S) -> Result<Cow<'v, Value>> {
    for argument in arguments {
        let value = evaluate(argument, row, context)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Cow::Owned(Value::Null))
}

fn evaluate_conversion<S: Surroundings>(
    expression: &Expr,
    operand: &Expr,
    style: Option<&Expr>,
    or_null: bool,
    row: &[Value],
    context: &S,
) -> Result<Value> {
    let value = evaluate(operand, row, context)?;
    let style = match style {
        None => None,
        Some(style) => match evaluate(style, row, context)?.as_i64() {
            None => return Ok(Value::Null),
            Some(style) => Some(i32::try_from(style).unwrap_or(-1)),
        },
    };
    match convert(&value, operand.sql_type, expression.sql_type, style) {
        Err(_) if or_null => Ok(Value::Null),
        Err(error) => context.forgive(error),
        result => result,
    }
}

/// Whether a condition holds; unknown counts as no.
///
/// # Errors
/// Those of the expressions in it.
pub fn holds<S: Surroundings>(condition: &Condition, row: &[Value], context: &S) -> Result<bool> {
    Ok(test(condition, row, context)? == Some(true))
}

/// The truth of a condition; `None` is unknown.
///
/// # Errors
/// Those of the expressions in it.
pub fn test<S: Surroundings>(condition: &Condition, row: &[Value], context: &S) -> Result<Option<bool>> {
    if matches!(condition, Condition::And(_) | Condition::Or(_) | Condition::Not(_)) {
        crate::stack::require()?;
    }
    Ok(match condition {
        Condition::Constant(truth) => *truth,
        Condition::And(parts) => {
            let mut truth = Some(true);
            for part in parts {
                match test(part, row, context)? {
                    Some(false) => return Ok(Some(false)),
                    None => truth = None,
                    Some(true) => {}
                }
            }
            truth
        }
        Condition::Or(parts) => {
            let mut truth = Some(false);
            for part in parts {
                match test(part, row, context)? {
                    Some(true) => return Ok(Some(true)),
                    None => truth = None,
                    Some(false) => {}
                }
            }
            truth
        }
        Condition::Not(inner) => test(inner, row, context)?.map(|truth| !truth),
        Condition::Compare { operator, left, right } => {
            if let (Some(left), Some(right)) = (value_at_hand(left, row), value_at_hand(right, row)) {
                return Ok(compare(left, right).map(|order| satisfies(*operator, order)));
            }
            let left = evaluate(left, row, context)?;
            let right = evaluate(right, row, context)?;
            compare(&left, &right).map(|order| satisfies(*operator, order))
        }
        Condition::In { operand, list } => test_list(operand, list, row, context)?,
        Condition::Like {
            operand,
            pattern,
            escape,
        } => test_like(operand, pattern, escape.as_ref(), row, context)?,
        Condition::IsNull(operand) => Some(evaluate(operand, row, context)?.is_null()),
        Condition::IsDistinct(left, right) => {
            Some(!same(&*evaluate(left, row, context)?, &*evaluate(right, row, context)?))
        }
        Condition::Exists(_) | Condition::Quantified { .. } => context.test_rows(condition, row)?,
    })
}

fn test_list<S: Surroundings>(operand: &Expr, list: &ListedValues, row: &[Value], context: &S) -> Result<Option<bool>> {
    let value = evaluate(operand, row, context)?;
    if !matches!(*value, Value::Null | Value::Held(_)) {
        let searched = list.search(&value, |one, other| compare(one, other).unwrap_or(Ordering::Equal));
        let found = match searched {
            Searched::Found(truth) => Some(truth),
            Searched::ByExecution(number) => context.search_list((list, number), &value)?,
            Searched::Not => None,
        };
        if let Some(truth) = found {
            return Ok(truth);
        }
    }
    let mut truth = Some(false);
    for item in list {
        cancel::spend(1)?;
        match compare(&value, &*evaluate(item, row, context)?) {
            Some(Ordering::Equal) => return Ok(Some(true)),
            None => truth = None,
            Some(_) => {}
        }
    }
    Ok(truth)
}

fn test_like<S: Surroundings>(
    operand: &Expr,
    pattern: &Expr,
    escape: Option<&Expr>,
    row: &[Value],
    context: &S,
) -> Result<Option<bool>> {
    let is_unicode = operand.sql_type.is_unicode()
        || pattern.sql_type.is_unicode()
        || escape.is_some_and(|escape| escape.sql_type.is_unicode());
    let blanks = if is_unicode { Blanks::Count } else { Blanks::LeftOver };
    let text = evaluate(operand, row, context)?;
    let pattern = evaluate(pattern, row, context)?;
    let escape = match escape {
        None => None,
        Some(escape) => {
            let escape = evaluate(escape, row, context)?;
            let Some(escape) = escape.as_str() else { return Ok(None) };
            let mut characters = escape.chars();
            match (characters.next(), characters.next()) {
                (Some(character), None) => Some(character),
                _ => return Err(messages::invalid_escape(escape)),
            }
        }
    };
    Ok(match (&*text, pattern.as_str()) {
        (Value::Held(held), Some(pattern)) => {
            Some(Pattern::new(pattern, escape, held.collation()).matches_held(held, blanks)?)
        }
        (Value::Text(text), Some(pattern)) => Some(Pattern::matches_again(
            (pattern, escape),
            text.collation(),
            text,
            blanks,
        )?),
        _ => None,
    })
}
