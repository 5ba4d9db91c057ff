//! DECLARE, SET @variable, PRINT, WAITFOR.

use engine::cancel;
use engine::error::{Error, Result};
use engine::seams::Clock;
use engine::types::{Length, SqlType, Value};
use engine::waits::WaitType;

use super::executor::{Executor, Flow, Outcome};
use super::flow::expressions_of;
use crate::ast::{
    AssignmentOperator, BinaryOperator, Declaration, DeclarationKind, Expression, VariableAssignment, WaitForKind,
};
use crate::context::Context;
use crate::exec::evaluate_or_held;
use crate::messages;
use crate::prepared::Bound;
use crate::scalar::data_type::check_conversion;
use crate::scalar::moment_parse::{Reading, parse};
use crate::sink::DoneKind;

impl Executor<'_> {
    /// The value of an expression in a type.
    pub(super) fn value_as(&self, expression: &Expression, sql_type: SqlType) -> Result<Value> {
        let bound = self.plan(expression, |binder, expression| {
            Ok(Bound::Expressions(vec![binder.scalar_as(expression, sql_type)?]))
        })?;
        self.first_value(&bound)
    }

    /// The value of an expression with its own type.
    pub(super) fn value(&self, expression: &Expression) -> Result<(Value, SqlType)> {
        let bound = self.plan(expression, |binder, expression| {
            Ok(Bound::Expressions(vec![binder.scalar(expression)?]))
        })?;
        self.typed_value(&bound)
    }

    /// The same for a caller that accepts a held value.
    pub(super) fn value_or_held(&self, expression: &Expression) -> Result<(Value, SqlType)> {
        let bound = self.plan(expression, |binder, expression| {
            Ok(Bound::Expressions(vec![binder.scalar(expression)?]))
        })?;
        Ok((self.first_or_held(&bound)?, type_of_first(&bound)))
    }

    fn typed_value(&self, bound: &Bound) -> Result<(Value, SqlType)> {
        Ok((self.first_value(bound)?, type_of_first(bound)))
    }

    pub(super) fn first_value(&self, bound: &Bound) -> Result<Value> {
        self.first_or_held(bound)?.whole()
    }

    /// The same for a caller that accepts a held value.
    fn first_or_held(&self, bound: &Bound) -> Result<Value> {
        let context = Context::new(self.session, &self.variables);
        match expressions_of(bound).first() {
            Some(expression) => Ok(evaluate_or_held(expression, &[], &context)?.into_owned()),
            None => Ok(Value::Null),
        }
    }

    /// DECLARE: a variable with a value takes it, one without is left as it is (in a loop it keeps what it had).
    pub(super) fn declare(&mut self, declarations: &[Declaration]) -> Result<()> {
        let mut assigns = false;
        for declaration in declarations {
            if let DeclarationKind::Scalar {
                initial: Some(initial), ..
            } = &declaration.kind
            {
                self.assign(&declaration.variable, initial, None)?;
                self.session.set_row_count(1);
                assigns = true;
            }
        }
        match assigns {
            true => self.assigned(),
            // "A DONE token is returned for each SQL statement in the SQL batch except variable declarations" (MS-TDS 2.2.7.6).
            false => Ok(()),
        }
    }

    /// One variable has its value.
    fn assigned(&mut self) -> Result<()> {
        self.done(Some(1), DoneKind::Assign)
    }

    /// SET @variable.
    pub(super) fn set_variable(&mut self, assignment: &VariableAssignment) -> Result<()> {
        if self.batch.scope.is_cursor(&assignment.variable) {
            return self.set_cursor_reference(assignment);
        }
        let operator = match assignment.operator {
            AssignmentOperator::Assign => None,
            AssignmentOperator::Compound(operator) => Some(operator),
        };
        match assignment.is_modified {
            true => self.modify(&assignment.variable, &assignment.value)?,
            false => self.assign(&assignment.variable, &assignment.value, operator)?,
        }
        self.session.set_row_count(1);
        self.assigned()
    }

    fn assign(&mut self, variable: &str, value: &Expression, operator: Option<BinaryOperator>) -> Result<()> {
        let (slot, sql_type) = self
            .batch
            .scope
            .scalar(variable)
            .ok_or_else(|| messages::variable_not_declared(variable))?;
        let bound = self.plan(value, |binder, value| {
            Ok(Bound::Expressions(vec![
                binder.assigned(variable, operator, value)?.converted(sql_type),
            ]))
        })?;
        let value = self.first_or_held(&bound)?;
        self.context().set_variable(slot, value)
    }

    /// SET @variable.modify(change).
    fn modify(&mut self, variable: &str, change: &Expression) -> Result<()> {
        let (slot, _) = self
            .batch
            .scope
            .scalar(variable)
            .ok_or_else(|| messages::variable_not_declared(variable))?;
        let bound = self.plan(change, |binder, change| {
            Ok(Bound::Expressions(vec![binder.modified_variable(variable, change)?]))
        })?;
        let value = self.first_value(&bound)?;
        self.context().set_variable(slot, value)
    }

    /// PRINT: the text as a message of severity 0.
    pub(super) fn print(&mut self, expression: &Expression, line: u32) -> Outcome<Flow> {
        let bound = self.plan(expression, |binder, expression| {
            binder.forbid_subqueries();
            Ok(Bound::Expressions(vec![binder.scalar(expression)?]))
        });
        let typed = bound.and_then(|bound| self.typed_value(&bound));
        let result = typed.and_then(|(value, sql_type)| {
            let target = SqlType::NVarChar(Length::Max);
            check_conversion(sql_type, target, false)?;
            crate::scalar::convert::convert(&value, sql_type, target, None)
        });
        let value = result.map_err(|error| self.failure(error, line))?;
        // PRINT of NULL prints an empty line; longer texts are cut at 8000 bytes (SQL Server docs).
        let text: String = value.as_str().unwrap_or(" ").chars().take(8000).collect();
        self.inform(0, 0, line, text)
            .map_err(|error| self.failure(error, line))?;
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
            .map_err(|error| self.failure(error, line))?;
        Ok(Flow::Next)
    }

    /// WAITFOR DELAY and TIME.
    pub(super) fn wait_for(&mut self, kind: WaitForKind, value: &Expression) -> Result<()> {
        let text = self.value_as(value, SqlType::NVarChar(Length::Limited(128)))?;
        let text = text.as_str().unwrap_or("").to_owned();
        let wrong = || {
            Error::new(
                148,
                15,
                1,
                format!("Incorrect time syntax in time string '{text}' used with WAITFOR."),
            )
        };
        let ticks = parse(&text, Reading::of_server()).map_err(|_| wrong())?.moment.ticks;
        let now = self.session.now().ticks;
        let day = engine::types::calendar::TICKS_PER_DAY;
        let wanted = match kind {
            WaitForKind::Delay => ticks,
            WaitForKind::Time => (ticks + day - now) % day,
        };
        let env = &self.session.instance.env;
        let clock = env.clock.as_ref();
        let end = clock.now_micros() + wanted / 10;
        env.waits.time(clock, WaitType::WaitFor, || wait_until(clock, end))
    }
}

/// Waits until the clock shows `end_micros`, in short naps, so that a cancelled batch does not sleep on.
fn wait_until(clock: &dyn Clock, end_micros: u64) -> Result<()> {
    loop {
        cancel::look()?;
        match end_micros.saturating_sub(clock.now_micros()) {
            0 => return Ok(()),
            left => clock.pass(left, cancel::LOOK_EVERY),
        }
    }
}

/// The type of the first of bound expressions.
fn type_of_first(bound: &Bound) -> SqlType {
    let first = expressions_of(bound).first();
    first.map_or(SqlType::Int, |expression| expression.sql_type)
}
