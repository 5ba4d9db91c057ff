//! Hints in OPTION about how and when a plan is compiled.
//!
//! ```text
//! RECOMPILE                        compiled for each execution, with the values of all variables, and not cached
//! OPTIMIZE FOR (@p = 5, @q UNKNOWN)  compiled as if @p were 5, and without the value of @q
//! OPTIMIZE FOR UNKNOWN             without the value of any parameter; USE HINT ('DISABLE_PARAMETER_SNIFFING') is the same
//! FAST n                           optimized for the first n rows
//! KEEP PLAN, KEEPFIXED PLAN        recompiled later after modifications of tables, or never
//! HASH GROUP, ORDER GROUP          groups by a hash table of keys, or one after another from sorted rows
//! ```
//! Without these hints, a plan is compiled with the current values of parameters, but not of variables declared in the batch (SQL Server
//! docs, "Query processing architecture guide", parameter sensitivity; "Query hints").

use engine::error::Result;
use engine::types::Value;

use super::Binder;
use crate::ast::{Expression, ExpressionKind, UnaryOperator};
use crate::messages;
use crate::plan::{Aging, ExprKind, GroupMethod};
use crate::scalar::convert::convert;

#[derive(Debug, Default)]
pub struct PlanAdvice {
    pub recompile: bool,
    /// OPTIMIZE FOR UNKNOWN
    pub is_unknown: bool,
    /// OPTIMIZE FOR: slots of variables, with the value of each; `None` is UNKNOWN.
    pub values: Vec<(usize, Option<Value>)>,
    /// FAST
    pub first_rows: Option<f64>,
    /// HASH GROUP, ORDER GROUP
    pub groups: GroupMethod,
    /// KEEP PLAN, KEEPFIXED PLAN
    pub aging: Aging,
    /// USE HINT ('DISABLE_OPTIMIZER_ROWGOAL')
    pub is_without_goals: bool,
    /// Whether a join method is named, in FROM or here.
    pub has_join_hint: bool,
    /// FORCE ORDER
    pub has_order_hint: bool,
    /// HASH GROUP, ORDER GROUP
    pub has_group_hint: bool,
}

impl Binder<'_> {
    /// What the statement's hints say about its plan.
    pub(crate) fn take_advice(&mut self) -> PlanAdvice {
        std::mem::take(&mut self.advice)
    }

    /// FAST n.
    ///
    /// # Errors
    /// 102 when it is not a whole number.
    pub(super) fn advise_first_rows(&mut self, value: &str) -> Result<()> {
        let count: u32 = value.parse().map_err(|_| messages::incorrect_syntax_near("FAST"))?;
        // "FAST 0" asks for nothing (SQL Server docs, "Query hints": all rows).
        self.advice.first_rows = (count > 0).then_some(f64::from(count));
        Ok(())
    }

    /// OPTIMIZE FOR (@p = literal, @q UNKNOWN).
    ///
    /// # Errors
    /// 137 for a variable that is not declared, 102 for anything but a literal; those of converting it to the variable's
    /// type.
    pub(super) fn advise_values(&mut self, list: &str) -> Result<()> {
        for part in parts(list) {
            let end = part.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let (slot, sql_type) = self
                .variables
                .scalar(name)
                .ok_or_else(|| messages::variable_not_declared(name))?;
            let rest = rest.trim();
            let value = match rest.strip_prefix('=') {
                Some(literal) => Some(self.literal(literal.trim(), sql_type)?),
                None if rest.eq_ignore_ascii_case("UNKNOWN") => None,
                None => return Err(messages::incorrect_syntax_near(rest)),
            };
            self.advice.values.push((slot, value));
        }
        Ok(())
    }

    /// A literal in a variable's type.
    fn literal(&self, text: &str, sql_type: engine::types::SqlType) -> Result<Value> {
        let parsed = crate::parser::parse_expression(text).map_err(messages::syntax)?;
        if !is_literal(&parsed) {
            return Err(messages::incorrect_syntax_near(text));
        }
        let bound = Binder::new(self.session, self.variables).scalar(&parsed)?;
        match &bound.kind {
            ExprKind::Constant(value) => convert(value, bound.sql_type, sql_type, None),
            _ => Err(messages::incorrect_syntax_near(text)),
        }
    }
}

/// A literal, perhaps with a sign.
fn is_literal(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Literal(_) => true,
        ExpressionKind::Unary {
            operator: UnaryOperator::Minus | UnaryOperator::Plus,
            operand,
        } => matches!(operand.kind, ExpressionKind::Literal(_)),
        _ => false,
    }
}

/// The parts between the commas that stand in no string.
fn parts(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut is_in_string) = (0, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'\'' => is_in_string = !is_in_string,
            b',' if !is_in_string => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn commas_in_strings_part_nothing() {
        assert_eq!(parts("@a = 'x,''y' , @b UNKNOWN"), ["@a = 'x,''y'", "@b UNKNOWN"]);
    }
}
