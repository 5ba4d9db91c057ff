//! Expressions of a wanted kind.

use super::{Generator, LENGTH_MAX, Scope, Typed, VALUE_MAX};
use crate::ast::{Aggregate, AggregateFunction, Expression, Function, Operator, Window, WindowFunction};
use crate::schema::{KINDS, Kind, draw_value};
use crate::tape::Sort;

const FRAMES_OF_ROWS: [&str; 4] = [
    "rows between unbounded preceding and current row",
    "rows between 1 preceding and 1 following",
    "rows between current row and unbounded following",
    "rows between 2 preceding and 1 preceding",
];

fn call(function: Function, arguments: Vec<Typed>) -> Expression {
    let arguments = arguments.into_iter().map(|argument| argument.expression).collect();
    Expression::Call(function, arguments)
}

fn integer(value: i64) -> Expression {
    Expression::Literal(Kind::Integer, Some(value.to_string()))
}

fn text(value: &str) -> Expression {
    Expression::Literal(Kind::Text, Some(value.to_owned()))
}

impl Generator<'_> {
    pub(super) fn kind(&mut self) -> Kind {
        self.tape.choose(&[
            Kind::Integer,
            Kind::Integer,
            Kind::Integer,
            Kind::Text,
            Kind::Text,
            Kind::Decimal,
            Kind::Float,
            Kind::Date,
        ])
    }

    /// A kind that the scope has columns of, mostly.
    pub(super) fn kind_in(&mut self, scope: &Scope) -> Kind {
        if !scope.own.is_empty() && self.tape.percent(80) {
            let place = self.tape.below(scope.own.len() as u64) as usize;
            return scope.own[place].kind;
        }
        self.kind()
    }

    /// A value of `kind`; `depth` is how deep it may nest.
    pub(super) fn expression(&mut self, scope: &Scope, kind: Kind, depth: u32) -> Typed {
        self.part(Sort::Expression, |this| {
            if depth == 0 || !this.tape.percent(45) {
                return this.leaf(scope, kind);
            }
            let made = match this.tape.below(8) {
                0 => this.operation(scope, kind, depth - 1),
                1 | 2 => this.case(scope, kind, depth - 1),
                3 => this.coalesced(scope, kind, depth - 1),
                4 if scope.subqueries => this.scalar(scope, kind),
                _ => this.operation(scope, kind, depth - 1),
            };
            let bound_max = if kind == Kind::Text { LENGTH_MAX } else { VALUE_MAX };
            if made.bound > bound_max {
                this.leaf(scope, kind)
            } else {
                made
            }
        })
    }

    pub(super) fn literal(&mut self, kind: Kind) -> Typed {
        let is_null = self.tape.percent(8);
        let cell = (!is_null).then(|| draw_value(&mut self.tape, kind));
        Typed {
            expression: Expression::Literal(kind, cell),
            kind,
            bound: 10,
        }
    }

    /// A column of `kind`, if there is one.
    pub(super) fn column(&mut self, leaves: &[Typed], kind: Kind) -> Option<Typed> {
        let fitting: Vec<&Typed> = leaves.iter().filter(|leaf| leaf.kind == kind).collect();
        if fitting.is_empty() {
            return None;
        }
        let place = self.tape.below(fitting.len() as u64) as usize;
        Some(fitting[place].clone())
    }

    fn leaf(&mut self, scope: &Scope, kind: Kind) -> Typed {
        if self.tape.percent(15) {
            return self.literal(kind);
        }
        if self.tape.percent(20)
            && let Some(outer) = self.column(&scope.outer, kind)
        {
            return outer;
        }
        match self.column(&scope.own, kind) {
            Some(own) => own,
            None => self.literal(kind),
        }
    }

    fn operation(&mut self, scope: &Scope, kind: Kind, depth: u32) -> Typed {
        match kind {
            Kind::Integer => self.integer_operation(scope, depth),
            Kind::Decimal | Kind::Float => self.number_operation(scope, kind, depth),
            Kind::Text => self.text_operation(scope, depth),
            Kind::Date => {
                let date = self.expression(scope, kind, depth);
                let days = integer(self.tape.choose(&[1, -1, 2, 30, -365]));
                Typed {
                    expression: Expression::Call(Function::AddDays, vec![days, date.expression]),
                    kind,
                    bound: 0,
                }
            }
        }
    }

    fn integer_operation(&mut self, scope: &Scope, depth: u32) -> Typed {
        let kind = Kind::Integer;
        let (expression, bound) = match self.tape.below(13) {
            which @ (0..=4) => {
                let left = self.expression(scope, kind, depth);
                let right = self.expression(scope, kind, depth);
                let (operator, bound) = match which {
                    0 | 1 => (Operator::Add, left.bound + right.bound),
                    2 | 3 => (Operator::Subtract, left.bound + right.bound),
                    _ => (Operator::Multiply, left.bound * right.bound),
                };
                let (left, right) = (Box::new(left.expression), Box::new(right.expression));
                (Expression::Binary(operator, left, right), bound)
            }
            which @ (5 | 6) => {
                let left = self.expression(scope, kind, depth);
                let divisor = Box::new(integer(self.tape.choose(&[2, 3, -2, 7])));
                let operator = if which == 5 {
                    Operator::Divide
                } else {
                    Operator::Remainder
                };
                (
                    Expression::Binary(operator, Box::new(left.expression), divisor),
                    left.bound,
                )
            }
            7 => {
                let inner = self.expression(scope, kind, depth);
                (Expression::Negative(Box::new(inner.expression)), inner.bound)
            }
            8 => {
                let inner = self.expression(scope, kind, depth);
                let bound = inner.bound;
                (call(Function::Absolute, vec![inner]), bound)
            }
            9 => {
                let inner = self.expression(scope, Kind::Text, depth);
                (call(Function::Length, vec![inner]), LENGTH_MAX)
            }
            10 => {
                let what = text(self.tape.choose(&["a", "b", "ab"]));
                let inner = self.expression(scope, Kind::Text, depth);
                (
                    Expression::Call(Function::Position, vec![what, inner.expression]),
                    LENGTH_MAX,
                )
            }
            11 => {
                let inner = self.expression(scope, kind, depth);
                let bound = inner.bound;
                let function = self.tape.choose(&[Function::JsonNumber, Function::JsonModified]);
                (call(function, vec![inner]), bound)
            }
            _ => self.of_dates(scope, depth),
        };
        Typed {
            expression,
            kind,
            bound,
        }
    }

    fn of_dates(&mut self, scope: &Scope, depth: u32) -> (Expression, i64) {
        let first = self.expression(scope, Kind::Date, depth);
        match self.tape.below(3) {
            0 => (call(Function::Day, vec![first]), 31),
            1 => (call(Function::Month, vec![first]), 12),
            _ => {
                let second = self.expression(scope, Kind::Date, depth);
                (call(Function::DaysBetween, vec![first, second]), 20_000)
            }
        }
    }

    /// Sums, differences, and products with integers: those stay quarters and halves.
    fn number_operation(&mut self, scope: &Scope, kind: Kind, depth: u32) -> Typed {
        let left = self.expression(scope, kind, depth);
        let which = self.tape.below(4);
        let right_kind = if which == 0 { kind } else { Kind::Integer };
        let right = self.expression(scope, right_kind, depth);
        let (operator, bound) = match which {
            0 | 1 => (Operator::Add, left.bound + right.bound),
            2 => (Operator::Subtract, left.bound + right.bound),
            _ => (Operator::Multiply, left.bound * right.bound),
        };
        Typed {
            expression: Expression::Binary(operator, Box::new(left.expression), Box::new(right.expression)),
            kind,
            bound,
        }
    }

    fn text_operation(&mut self, scope: &Scope, depth: u32) -> Typed {
        let kind = Kind::Text;
        let (expression, bound) = match self.tape.below(7) {
            6 => {
                let inner = self.expression(scope, kind, depth);
                let bound = inner.bound;
                (call(Function::JsonMember, vec![inner]), bound)
            }
            which @ (0 | 1) => {
                let left = self.expression(scope, kind, depth);
                let right = self.expression(scope, kind, depth);
                let bound = left.bound + right.bound;
                let expression = if which == 0 {
                    let (left, right) = (Box::new(left.expression), Box::new(right.expression));
                    Expression::Binary(Operator::Concatenate, left, right)
                } else {
                    call(Function::Concat, vec![left, right])
                };
                (expression, bound)
            }
            2 => {
                let inner = self.expression(scope, kind, depth);
                let (from, count) = (1 + self.tape.below(3) as i64, self.tape.below(4) as i64);
                let arguments = vec![inner.expression, integer(from), integer(count)];
                (Expression::Call(Function::Substring, arguments), inner.bound)
            }
            3 => {
                let inner = self.expression(scope, kind, depth);
                let count = integer(self.tape.below(4) as i64);
                (
                    Expression::Call(Function::Left, vec![inner.expression, count]),
                    inner.bound,
                )
            }
            4 => {
                let inner = self.expression(scope, kind, depth);
                let what = text(self.tape.choose(&["a", "b", "ab"]));
                let by = text(self.tape.choose(&["", "c", "ba"]));
                let arguments = vec![inner.expression, what, by];
                (Expression::Call(Function::Replace, arguments), inner.bound * 2)
            }
            _ => {
                let inner = self.expression(scope, Kind::Integer, depth);
                (call(Function::ToText, vec![inner]), 8)
            }
        };
        Typed {
            expression,
            kind,
            bound,
        }
    }

    fn case(&mut self, scope: &Scope, kind: Kind, depth: u32) -> Typed {
        if self.tape.percent(30) {
            let condition = self.condition(scope, depth);
            let yes = self.expression(scope, kind, depth);
            let no = self.expression(scope, kind, depth);
            return Typed {
                bound: yes.bound.max(no.bound),
                expression: Expression::Iif(Box::new((condition, yes.expression, no.expression))),
                kind,
            };
        }
        let mut bound = 0;
        let branches = self.list(1, 3, 30, |this| {
            let condition = this.condition(scope, depth);
            let value = this.expression(scope, kind, depth);
            bound = bound.max(value.bound);
            (condition, value.expression)
        });
        let otherwise = self.tape.percent(70).then(|| {
            let value = self.expression(scope, kind, depth);
            bound = bound.max(value.bound);
            Box::new(value.expression)
        });
        Typed {
            expression: Expression::Case(branches, otherwise),
            kind,
            bound,
        }
    }

    fn coalesced(&mut self, scope: &Scope, kind: Kind, depth: u32) -> Typed {
        let first = self.expression(scope, kind, depth);
        let second = self.expression(scope, kind, depth);
        let bound = first.bound.max(second.bound);
        // ISNULL has the type of its first argument, which would cut a longer text.
        let function = match self.tape.below(3) {
            0 => Function::Coalesce,
            1 if kind == Kind::Integer => Function::IsNull,
            1 => Function::Coalesce,
            _ => Function::NullIf,
        };
        Typed {
            expression: call(function, vec![first, second]),
            kind,
            bound,
        }
    }

    /// A subquery with one value.
    fn scalar(&mut self, scope: &Scope, kind: Kind) -> Typed {
        let query = self.scalar_query(&scope.for_subquery(), kind);
        Typed {
            bound: query.bounds[0],
            expression: Expression::Scalar(Box::new(query)),
            kind,
        }
    }

    /// An aggregate of `kind` over at most `rows` rows.
    pub(super) fn aggregate(&mut self, scope: &Scope, kind: Kind, rows: u64, in_window: bool) -> (Aggregate, i64) {
        use AggregateFunction::{Average, Count, CountRows, Max, Min, Sum};
        let own = Scope {
            own: scope.own.clone(),
            ..Scope::default()
        };
        let mut function = match kind {
            Kind::Integer => self.tape.choose(&[CountRows, Count, Sum, Min, Max, Average]),
            Kind::Text | Kind::Date => self.tape.choose(&[Max, Min]),
            _ => self.tape.choose(&[Max, Min, Sum]),
        };
        let argument_kind = match function {
            Count => self.kind_in(scope),
            _ => kind,
        };
        // An argument without a column would make the aggregate one of a query around it, or none.
        let leaf = self.column(&own.own, argument_kind);
        let Some(mut argument) = leaf else {
            // Nothing of that kind: how many rows there are, or nothing at all.
            return self.aggregate_of_nothing(kind, rows);
        };
        if self.tape.percent(25) {
            let other = self.expression(&own, argument_kind, 1);
            let bound = argument.bound.max(other.bound);
            argument = Typed {
                expression: call(Function::Coalesce, vec![argument, other]),
                kind: argument_kind,
                bound,
            };
        }
        let bound = match function {
            CountRows | Count => rows as i64,
            Sum => argument.bound * rows as i64,
            _ => argument.bound,
        };
        if bound > 1_000_000_000 {
            function = Max;
        }
        let distinct = function != CountRows && !in_window && self.tape.percent(20);
        let aggregate = Aggregate {
            function,
            distinct,
            argument: (function != CountRows).then(|| Box::new(argument.expression)),
            kind,
        };
        (aggregate, if function == Max { argument.bound } else { bound })
    }

    fn aggregate_of_nothing(&mut self, kind: Kind, rows: u64) -> (Aggregate, i64) {
        let (function, argument) = match kind {
            Kind::Integer => (AggregateFunction::CountRows, None),
            _ => (AggregateFunction::Max, Some(Box::new(self.literal(kind).expression))),
        };
        let aggregate = Aggregate {
            function,
            distinct: false,
            argument,
            kind,
        };
        (aggregate, (rows as i64).max(10))
    }

    /// A function over a window of the sources' rows; `all` are all their columns, by which ties are equal rows.
    pub(super) fn window(&mut self, scope: &Scope, all: &[Typed], rows: u64) -> Typed {
        let key = |this: &mut Self| {
            let place = this.tape.below(all.len() as u64) as usize;
            all[place].expression.clone()
        };
        let partition = self.list(0, 2, 50, key);
        let which = self.tape.below(8);
        let own = Scope {
            own: scope.own.clone(),
            ..Scope::default()
        };
        let kind = match which {
            0..=2 | 7 => Kind::Integer,
            _ => self.tape.choose(&KINDS),
        };
        let (function, bound) = match which {
            0 => (WindowFunction::RowNumber, rows as i64),
            1 => (WindowFunction::Rank, rows as i64),
            2 => (WindowFunction::DenseRank, rows as i64),
            7 => (WindowFunction::Tiles(1 + self.tape.below(4)), 4),
            3 | 4 => {
                let (aggregate, bound) = self.aggregate(&own, kind, rows, true);
                (WindowFunction::Aggregate(aggregate), bound)
            }
            _ => {
                let value = self.expression(&own, kind, 1);
                let (bound, value) = (value.bound, Box::new(value.expression));
                let count = 1 + self.tape.below(2);
                let function = match self.tape.below(4) {
                    0 => WindowFunction::Lag(value, count),
                    1 => WindowFunction::Lead(value, count),
                    2 => WindowFunction::FirstValue(value),
                    _ => WindowFunction::LastValue(value),
                };
                (function, bound)
            }
        };
        let (order, frame) = self.window_order(&function, all);
        let window = Window {
            function,
            partition,
            order,
            frame,
            is_named: self.tape.percent(25),
        };
        Typed {
            expression: Expression::Window(Box::new(window)),
            kind,
            bound,
        }
    }

    fn window_order(
        &mut self,
        function: &WindowFunction,
        all: &[Typed],
    ) -> (Vec<(Expression, bool)>, Option<&'static str>) {
        let descending = self.tape.percent(30);
        let total = || {
            all.iter()
                .map(|column| (column.expression.clone(), descending))
                .collect()
        };
        let takes_frame = matches!(
            function,
            WindowFunction::Aggregate(_) | WindowFunction::FirstValue(_) | WindowFunction::LastValue(_)
        );
        match function {
            WindowFunction::Rank | WindowFunction::DenseRank => {
                let place = self.tape.below(all.len() as u64) as usize;
                (vec![(all[place].expression.clone(), descending)], None)
            }
            WindowFunction::Aggregate(_) if self.tape.percent(30) => (Vec::new(), None),
            WindowFunction::Aggregate(_) if self.tape.percent(40) => {
                let place = self.tape.below(all.len() as u64) as usize;
                (vec![(all[place].expression.clone(), descending)], None)
            }
            _ if takes_frame && self.tape.percent(60) => (total(), Some(self.tape.choose(&FRAMES_OF_ROWS))),
            _ => (total(), None),
        }
    }
}
