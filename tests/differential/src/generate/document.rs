//! Sources of JSON and sources turned around: OPENJSON, PIVOT, UNPIVOT; and rows as one text of JSON.

use super::source::Made;
use super::{Generator, Scope, Typed, VALUE_MAX, column_of};
use crate::ast::{AggregateFunction, Body, Expression, Query, Select, Source};
use crate::schema::Kind;

const TEXTS: [&str; 5] = ["a", "ab", "", "b", "c1"];
/// The longest text of such rows, roughly.
const JSON_LENGTH: i64 = 2_000;

impl Generator<'_> {
    /// A source of one of these sorts, beside tables and queries.
    pub(super) fn unusual_source(&mut self) -> Made {
        let alias = self.alias();
        match self.tape.below(4) {
            0 | 1 => self.json_rows(alias),
            2 => self.pivot(alias),
            _ => self.unpivot(alias),
        }
    }

    fn json_rows(&mut self, alias: String) -> Made {
        let rows = self.list(0, 5, 70, |this| {
            let number = (!this.tape.percent(20)).then(|| this.tape.choose(&[0, 1, 2, 3, 5, -1]));
            let text = (!this.tape.percent(20)).then(|| this.tape.choose(&TEXTS));
            (number, text)
        });
        Made {
            columns: vec![
                column_of(&alias, "x0", Kind::Integer, 10),
                column_of(&alias, "x1", Kind::Text, 2),
            ],
            rows: rows.len() as u64 + 1,
            source: Source::Json(rows, alias),
            tables: Vec::new(),
        }
    }

    /// `left` with the elements of an array made of its integers.
    pub(super) fn elements(&mut self, left: Made) -> Made {
        let scope = Scope {
            own: left.columns.clone(),
            ..Scope::default()
        };
        let alias = self.alias();
        let elements = self.list(1, 3, 50, |this| this.expression(&scope, Kind::Integer, 1));
        let bound = elements.iter().map(|element| element.bound).max().unwrap_or(0);
        let rows = left.rows * elements.len() as u64;
        let mut columns = left.columns;
        columns.push(column_of(&alias, "value", Kind::Integer, bound));
        Made {
            source: Source::Elements {
                left: Box::new(left.source),
                elements: elements.into_iter().map(|element| element.expression).collect(),
                alias,
            },
            columns,
            rows,
            tables: left.tables,
        }
    }

    fn pivot(&mut self, alias: String) -> Made {
        let key = self.tape.choose(&[Kind::Integer, Kind::Text]);
        let query = self.subquery(&[], Some(&[key, Kind::Integer, Kind::Integer]), 1);
        let count = 1 + self.tape.below(3) as usize;
        let mut left = vec![1, 2, 0, 3, -1];
        let values: Vec<i64> = (0..count)
            .map(|_| left.remove(self.tape.below(left.len() as u64) as usize))
            .collect();
        let mut function = self.tape.choose(&[
            AggregateFunction::Sum,
            AggregateFunction::Max,
            AggregateFunction::Min,
            AggregateFunction::Count,
        ]);
        let sum = query.bounds[2].saturating_mul(query.rows as i64);
        if function == AggregateFunction::Sum && sum > VALUE_MAX {
            function = AggregateFunction::Max;
        }
        let bound = match function {
            AggregateFunction::Sum => sum,
            AggregateFunction::Count => query.rows as i64,
            _ => query.bounds[2],
        };
        let mut columns = vec![column_of(&alias, "x0", key, query.bounds[0])];
        columns.extend((1..=count).map(|place| column_of(&alias, &format!("x{place}"), Kind::Integer, bound)));
        Made {
            columns,
            rows: query.rows,
            source: Source::Pivot {
                query: Box::new(query),
                function,
                values,
                alias,
            },
            tables: Vec::new(),
        }
    }

    fn unpivot(&mut self, alias: String) -> Made {
        let key = self.tape.choose(&[Kind::Integer, Kind::Text]);
        let query = self.subquery(&[], Some(&[key, Kind::Integer, Kind::Integer]), 1);
        let bound = query.bounds[1].max(query.bounds[2]);
        Made {
            columns: vec![
                column_of(&alias, "x0", key, query.bounds[0]),
                column_of(&alias, "name", Kind::Text, 2),
                column_of(&alias, "value", Kind::Integer, bound),
            ],
            rows: query.rows * 2,
            source: Source::Unpivot(Box::new(query), alias),
            tables: Vec::new(),
        }
    }

    /// The rows of a query as one text: integers and texts, as the three write other numbers in other ways.
    pub(super) fn for_json(&mut self, scope: &Scope) -> Typed {
        let outer = scope.for_subquery();
        let parts = self.from(&outer, 2, 0);
        let inside = Self::scope_of(&parts, &outer).without_subqueries();
        let selection = self.tape.percent(60).then(|| self.condition(&inside, 1));
        let items = self.list(1, 3, 60, |this| {
            let kind = this.tape.choose(&[Kind::Integer, Kind::Text]);
            this.expression(&inside, kind, 1)
        });
        let query = Query {
            with: Vec::new(),
            order: (0..items.len()).map(|place| (place, false)).collect(),
            limit: None,
            kinds: items.iter().map(|item| item.kind).collect(),
            bounds: items.iter().map(|item| item.bound).collect(),
            rows: parts.iter().map(|part| part.rows).product::<u64>().max(1),
            option: None,
            body: Body::Select(Box::new(Select {
                distinct: false,
                items: items.into_iter().map(|item| item.expression).collect(),
                from: parts.into_iter().map(|part| part.source).collect(),
                selection,
                group_by: Vec::new(),
                having: None,
            })),
        };
        Typed {
            expression: Expression::ForJson(Box::new(query)),
            kind: Kind::Text,
            bound: JSON_LENGTH,
        }
    }
}
