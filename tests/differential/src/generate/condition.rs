//! Conditions.

use super::{DEPTH, Generator, Scope, Typed};
use crate::ast::{Comparison, Condition};
use crate::schema::Kind;
use crate::tape::Sort;

const COMPARISONS: [Comparison; 8] = [
    Comparison::Equal,
    Comparison::Equal,
    Comparison::Equal,
    Comparison::Different,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

impl Generator<'_> {
    /// A condition; `depth` is how deep it may nest.
    pub(super) fn condition(&mut self, scope: &Scope, depth: u32) -> Condition {
        self.part(Sort::Condition, |this| {
            if depth == 0 || !this.tape.percent(45) {
                return this.comparison(scope, depth.min(1));
            }
            match this.tape.below(6) {
                0 | 1 => Condition::And(this.list(2, 4, 30, |this| this.condition(scope, depth - 1))),
                2 => Condition::Or(this.list(2, 4, 30, |this| this.condition(scope, depth - 1))),
                3 => Condition::Not(Box::new(this.condition(scope, depth - 1))),
                _ if scope.subqueries => this.with_subquery(scope, depth),
                _ => this.predicate(scope, depth - 1),
            }
        })
    }

    /// The kind of the other side: numbers compare with numbers.
    fn other_kind(&mut self, kind: Kind) -> Kind {
        match kind {
            Kind::Integer | Kind::Decimal | Kind::Float if self.tape.percent(10) => {
                self.tape.choose(&[Kind::Integer, Kind::Decimal, Kind::Float])
            }
            kind => kind,
        }
    }

    fn comparison(&mut self, scope: &Scope, depth: u32) -> Condition {
        if self.tape.percent(25) {
            return self.predicate(scope, depth);
        }
        let comparison = self.tape.choose(&COMPARISONS);
        let kind = self.kind_in(scope);
        let left = self.expression(scope, kind, depth);
        let other = self.other_kind(kind);
        let right = self.expression(scope, other, depth);
        Condition::Compare(comparison, left.expression, right.expression)
    }

    /// A condition of one source's columns on both sides of a join: mostly equal columns.
    pub(super) fn join_condition(&mut self, left: &[Typed], right: &[Typed], outer: &[Typed]) -> Condition {
        let both: Vec<Typed> = left.iter().chain(right).cloned().collect();
        let scope = Scope {
            own: both,
            outer: outer.to_vec(),
            subqueries: self.tape.percent(10),
        };
        self.part(Sort::Condition, |this| {
            if this.tape.percent(15) {
                return this.condition(&scope, DEPTH - 1);
            }
            let place = this.tape.below(left.len() as u64) as usize;
            let one = left[place].clone();
            let Some(other) = this.column(right, one.kind) else {
                return this.condition(&scope, 1);
            };
            let comparison = this.tape.choose(&COMPARISONS);
            let equal = Condition::Compare(comparison, one.expression, other.expression);
            if this.tape.percent(25) {
                let more = this.condition(&scope, 1);
                return if this.tape.percent(25) {
                    Condition::Or(vec![equal, more])
                } else {
                    Condition::And(vec![equal, more])
                };
            }
            equal
        })
    }

    fn predicate(&mut self, scope: &Scope, depth: u32) -> Condition {
        let negated = self.tape.percent(35);
        let which = self.tape.below(6);
        let kind = if which == 4 { Kind::Text } else { self.kind_in(scope) };
        let value = self.expression(scope, kind, depth).expression;
        match which {
            0 | 1 => Condition::IsNull(negated, value),
            2 => {
                let list = self.list(1, 4, 60, |this| this.expression(scope, kind, 0).expression);
                Condition::InList(negated, value, list)
            }
            3 => {
                let low = self.expression(scope, kind, depth).expression;
                let high = self.expression(scope, kind, depth).expression;
                Condition::Between(negated, value, low, high)
            }
            4 => {
                let pattern = self.tape.choose(&["a%", "%b", "%a%", "_b%", "a_", "%", "ab"]);
                Condition::Like(negated, value, pattern)
            }
            _ => {
                let other = self.expression(scope, kind, depth).expression;
                Condition::Distinct(negated, value, other)
            }
        }
    }

    fn with_subquery(&mut self, scope: &Scope, depth: u32) -> Condition {
        let negated = self.tape.percent(40);
        let outer = scope.for_subquery();
        let which = self.tape.below(5);
        if which < 2 {
            let query = self.subquery(&outer, None, depth - 1);
            return Condition::Exists(negated, Box::new(query));
        }
        let kind = self.kind_in(scope);
        let value = self.expression(scope, kind, 1).expression;
        let query = Box::new(self.subquery(&outer, Some(&[kind]), depth - 1));
        if which == 4 && self.is_query && self.tape.percent(50) {
            let comparison = self.tape.choose(&COMPARISONS);
            return Condition::Quantified(comparison, negated, value, query);
        }
        Condition::InQuery(negated, value, query)
    }
}
