//! NEXT VALUE FOR: where it is allowed, and the call that it becomes (sql-docs, "NEXT VALUE FOR", "Limitations and restrictions").
//!
//! ```text
//! select list of a statement's own query, VALUES, SET of UPDATE, values of SET and DECLARE, defaults     allowed
//! subqueries, derived tables, common table expressions, views                                            11719
//! WHERE, ON, GROUP BY, HAVING, ORDER BY, TOP, OVER, OUTPUT                                                11720
//! the list of a SELECT with DISTINCT, or of a set operation                                              11721
//! the list of a SELECT with ORDER BY                                                                     11723, but with OVER
//! the list of a SELECT with TOP, or under SET ROWCOUNT                                                   11739
//! CASE and similar expressions                                                                           11741
//! ```
//! OVER (ORDER BY ...) becomes a ROW_NUMBER, passed to the call as an argument; it decides which value a row gets.

use engine::catalog::ObjectDefinition;
use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::Binder;
use crate::ast::{Expression, ExpressionKind, FunctionCall, NextValue, OrderItem, Select};
use crate::functions;
use crate::messages;
use crate::plan::{Expr, ExprKind};
use crate::state::Reading;

/// Where NEXT VALUE FOR may not stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Barred {
    /// It may.
    No,
    Inside,
    /// Every clause that does not say otherwise.
    #[default]
    Clause,
    Distinct,
    /// It may with OVER.
    Ordered,
    Limited,
    Choice,
}

impl Barred {
    fn error(self) -> Error {
        match self {
            Barred::Inside => messages::next_value_inside(),
            Barred::No | Barred::Clause => messages::next_value_in_clause(),
            Barred::Distinct => messages::next_value_of_distinct(),
            Barred::Ordered => messages::next_value_unordered(),
            Barred::Limited => messages::next_value_limited(),
            Barred::Choice => messages::next_value_in_choice(),
        }
    }
}

/// What a SELECT means for NEXT VALUE FOR.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NextValuePlace {
    /// Of the expression that is bound.
    pub(super) here: Barred,
    /// Of the list of the SELECT that is bound.
    list: Barred,
    /// How many SELECTs are around.
    depth: usize,
    /// The SELECTs are those of a set operation.
    pub(super) is_set_operation: bool,
}

impl<'a> Binder<'a> {
    /// Binds an expression in which NEXT VALUE FOR may stand.
    pub(super) fn with_next_value<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.barring(Barred::No, work)
    }

    fn barring<T>(&mut self, barred: Barred, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.next_value_place.here, barred);
        let result = work(self);
        self.next_value_place.here = outer;
        result
    }

    /// Binds a SELECT.
    pub(super) fn in_select<T>(
        &mut self,
        (select, order_by): (&Select, &[OrderItem]),
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let outer = self.next_value_place;
        let is_nested = outer.depth > 0 || outer.here == Barred::No || self.parameters_are_captured;
        let list = match () {
            () if is_nested => Barred::Inside,
            () if select.distinct || outer.is_set_operation => Barred::Distinct,
            () if select.top.is_some() || self.session.options().row_count > 0 => Barred::Limited,
            () if !order_by.is_empty() => Barred::Ordered,
            () => Barred::No,
        };
        self.next_value_place = NextValuePlace {
            here: if is_nested { Barred::Inside } else { Barred::Clause },
            list,
            depth: outer.depth + 1,
            is_set_operation: false,
        };
        let result = work(self);
        self.next_value_place = outer;
        result
    }

    /// Binds the list of a SELECT.
    pub(super) fn in_select_list<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let list = self.next_value_place.list;
        self.barring(list, work)
    }

    /// Binds CASE and its kin: which of its parts are evaluated depends on the row.
    pub(super) fn in_choice<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        match self.next_value_place.here {
            Barred::No | Barred::Ordered => self.barring(Barred::Choice, work),
            _ => work(self),
        }
    }

    pub(super) fn next_value(&mut self, next: &'a NextValue) -> Result<Expr> {
        match self.next_value_place.here {
            Barred::No => {}
            Barred::Ordered if next.order.is_some() => {}
            barred => return Err(barred.error()),
        }
        let missing = || messages::invalid_object_name(&next.sequence.to_string());
        let (database, object) = self.session.find_in_module(&next.sequence)?.ok_or_else(missing)?;
        let ObjectDefinition::Sequence(sequence) = &object.definition else {
            return Err(messages::not_a_sequence(&next.sequence.to_string()));
        };
        self.session.hold(&database, &object, Reading::default())?;
        let numbers = [
            i64::from(database.id),
            i64::from(sequence.object_id),
            self.session.random.new_place(),
        ];
        let mut arguments: Vec<Expr> = numbers
            .into_iter()
            .map(|number| Expr::constant(Value::BigInt(number), SqlType::BigInt))
            .collect();
        if let Some(call) = &next.order
            && let Some(over) = &call.over
        {
            arguments.push(self.window_function("row_number", call, over)?);
        }
        let kind = ExprKind::Function {
            name: "next value for",
            implementation: functions::next_value,
            arguments,
        };
        Ok(Expr::new(kind, sequence.sql_type()))
    }
}

/// Whether a call chooses among its arguments.
pub(super) fn is_choice(call: &FunctionCall) -> bool {
    let name = call.name.object().to_ascii_lowercase();
    let has_next_value = |argument: &Expression| matches!(argument.kind, ExpressionKind::NextValueFor(_));
    matches!(name.as_str(), "choose" | "coalesce" | "iif" | "isnull" | "nullif")
        && call.arguments.iter().any(has_next_value)
}
