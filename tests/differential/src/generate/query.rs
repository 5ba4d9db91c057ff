//! Queries.

use super::source::Made;
use super::{DEPTH, Generator, Known, Scope, Typed};
use crate::ast::{Body, Condition, Expression, Limit, Query, Select, SetOperator};
use crate::schema::Kind;
use crate::tape::Sort;

/// Hints of OPTION that must not change an answer. One method of joining leaves some queries without a plan; all of them
/// let sides be sorted to be merged.
const OPTIONS: [&str; 9] = [
    "fast 1",
    "keep plan",
    "robust plan",
    "force order",
    "maxdop 1",
    "hash group",
    "order group",
    "merge join, hash join, loop join",
    "merge join, hash join, loop join, order group",
];

/// A SELECT, with what its columns hold.
struct Selected {
    select: Select,
    kinds: Vec<Kind>,
    bounds: Vec<i64>,
    rows: u64,
}

impl Generator<'_> {
    /// A query that is a statement.
    pub(super) fn whole_query(&mut self) -> Query {
        let with = self.common_tables();
        let mut query = self.part(Sort::Query, |this| this.query(&[], None, DEPTH, true));
        query.with = with;
        query.option = self.tape.percent(15).then(|| self.tape.choose(&OPTIONS));
        query
    }

    pub(super) fn common_tables(&mut self) -> Vec<(String, Query)> {
        self.list(0, 2, 10, |this| {
            let query = this.subquery(&[], None, 1);
            let name = format!("w{}", this.known.len());
            this.known.push(Known {
                name: name.clone(),
                kinds: query.kinds.clone(),
                bounds: query.bounds.clone(),
                rows: query.rows,
            });
            (name, query)
        })
    }

    /// A query inside of another statement; `kinds` is what its columns must hold.
    pub(super) fn subquery(&mut self, outer: &[Typed], kinds: Option<&[Kind]>, depth: u32) -> Query {
        self.part(Sort::Query, |this| this.query(outer, kinds, depth, false))
    }

    fn query(&mut self, outer: &[Typed], kinds: Option<&[Kind]>, depth: u32, is_top: bool) -> Query {
        let first = self.selected(outer, kinds, depth);
        let (mut kinds, mut bounds, mut rows) = (first.kinds, first.bounds, first.rows);
        let mut body = Body::Select(Box::new(first.select));
        let percent = if is_top { 15 } else { 8 };
        while depth > 0 && rows < 500 && self.tape.percent(percent) {
            let operator = self.tape.choose(&[
                SetOperator::UnionAll,
                SetOperator::Union,
                SetOperator::Intersect,
                SetOperator::Except,
            ]);
            let other = self.part(Sort::Query, |this| this.selected(outer, Some(&kinds), depth - 1));
            kinds = other.kinds;
            bounds = bounds.iter().zip(&other.bounds).map(|(a, b)| *a.max(b)).collect();
            rows += other.rows;
            body = if self.tape.percent(25) {
                Body::Set(operator, Box::new(Body::Select(Box::new(other.select))), Box::new(body))
            } else {
                Body::Set(operator, Box::new(body), Box::new(Body::Select(Box::new(other.select))))
            };
        }
        let (order, limit) = self.order(kinds.len(), is_top);
        Query {
            with: Vec::new(),
            body,
            order,
            limit,
            kinds,
            rows,
            bounds,
            option: None,
        }
    }

    /// ORDER BY over all columns, and TOP; inside of a statement none without the other (1033).
    fn order(&mut self, count: usize, is_top: bool) -> (Vec<(usize, bool)>, Option<Limit>) {
        if !self.tape.percent(if is_top { 30 } else { 8 }) {
            return (Vec::new(), None);
        }
        let mut places: Vec<usize> = (0..count).collect();
        let order = (0..count)
            .map(|_| {
                let place = places.remove(self.tape.below(places.len() as u64) as usize);
                (place, self.tape.percent(40))
            })
            .collect();
        let limit = (!is_top || self.tape.percent(50)).then(|| {
            let offset = if self.tape.percent(30) {
                1 + self.tape.below(3)
            } else {
                0
            };
            Limit {
                offset,
                count: 1 + self.tape.below(5),
                ties: offset == 0 && self.is_query && self.tape.percent(10),
            }
        });
        (order, limit)
    }

    fn selected(&mut self, outer: &[Typed], kinds: Option<&[Kind]>, depth: u32) -> Selected {
        let count_max = match depth {
            0 => 1,
            1 => 2,
            _ => 4,
        };
        let parts = self.from(outer, count_max, depth.saturating_sub(1));
        let scope = Self::scope_of(&parts, outer);
        let mut selection = self.tape.percent(55).then(|| self.condition(&scope, depth));
        if let Some(filter) = self.index_filter(&parts) {
            selection = Some(match selection {
                Some(selection) => Condition::And(vec![filter, selection]),
                None => filter,
            });
        }
        let rows = parts.iter().map(|part| part.rows).product::<u64>().max(1);
        let from = parts.iter().map(|part| part.source.clone()).collect();
        let base = Select {
            distinct: false,
            items: Vec::new(),
            from,
            selection,
            group_by: Vec::new(),
            having: None,
        };
        if self.tape.percent(25) {
            return self.grouped(base, &scope, rows, kinds, depth);
        }
        self.plain(base, &scope, &parts, rows, kinds, depth)
    }

    fn wanted_kinds(&mut self, scope: &Scope, kinds: Option<&[Kind]>) -> Vec<Kind> {
        match kinds {
            Some(kinds) => kinds.to_vec(),
            None => self.list(1, 5, 55, |this| this.kind_in(scope)),
        }
    }

    fn plain(
        &mut self,
        mut select: Select,
        scope: &Scope,
        parts: &[Made],
        rows: u64,
        kinds: Option<&[Kind]>,
        depth: u32,
    ) -> Selected {
        let wanted = self.wanted_kinds(scope, kinds);
        let mut items: Vec<Typed> = wanted
            .iter()
            .map(|kind| self.expression(scope, *kind, depth.min(2)))
            .collect();
        // A window function where any kind will do; its ties are decided by all columns of few tables.
        let is_small = parts.iter().map(|part| part.columns.len()).sum::<usize>() <= 8;
        if kinds.is_none() && is_small && depth > 0 && self.tape.percent(20) {
            // One: rows that are equal in all columns may be in another order in another window.
            items.push(self.window(scope, &scope.own, rows));
        }
        // A long text, which nothing is made of: of the statement's own rows alone.
        if kinds.is_none() && depth == DEPTH && self.is_query && self.tape.percent(6) {
            items.push(self.for_json(scope));
        }
        let is_distinct = self.tape.percent(12);
        select.distinct = is_distinct;
        Self::finished(select, items, rows)
    }

    fn finished(mut select: Select, items: Vec<Typed>, rows: u64) -> Selected {
        let kinds = items.iter().map(|item| item.kind).collect();
        let bounds = items.iter().map(|item| item.bound).collect();
        select.items = items.into_iter().map(|item| item.expression).collect();
        Selected {
            select,
            kinds,
            bounds,
            rows,
        }
    }

    fn grouped(
        &mut self,
        mut select: Select,
        scope: &Scope,
        rows: u64,
        kinds: Option<&[Kind]>,
        depth: u32,
    ) -> Selected {
        let keys = self.list(0, 3, 60, |this| this.group_key(scope));
        let mut leaves = keys.clone();
        let mut wanted: Vec<Kind> = kinds.map_or(Vec::new(), <[Kind]>::to_vec);
        if kinds.is_none() {
            wanted = self.wanted_kinds(scope, None);
        }
        for kind in &wanted {
            let (aggregate, bound) = self.aggregate(scope, *kind, rows, false);
            leaves.push(Typed {
                expression: Expression::Aggregate(aggregate),
                kind: *kind,
                bound,
            });
        }
        let inside = Scope {
            own: leaves,
            outer: scope.outer.clone(),
            subqueries: true,
        };
        select.group_by = keys.into_iter().map(|key| key.expression).collect();
        let mut items: Vec<Typed> = wanted
            .iter()
            .map(|kind| self.expression(&inside, *kind, depth.min(1)))
            .collect();
        if select.group_by.is_empty() {
            // Without an aggregate it would be no grouped query at all.
            items[0] = inside.own[0].clone();
        }
        if self.tape.percent(35) {
            select.having = Some(self.condition(&inside, depth.min(2)));
        }
        Self::finished(select, items, rows)
    }

    /// A column, or an expression of one; no constant (164) and no subquery (144).
    fn group_key(&mut self, scope: &Scope) -> Typed {
        let place = self.tape.below(scope.own.len() as u64) as usize;
        let column = scope.own[place].clone();
        if column.kind == Kind::Integer && self.tape.percent(20) {
            let divisor = Expression::Literal(Kind::Integer, Some("2".into()));
            return Typed {
                expression: Expression::Binary(
                    crate::ast::Operator::Remainder,
                    Box::new(column.expression),
                    Box::new(divisor),
                ),
                ..column
            };
        }
        column
    }

    /// A query of one row and one column: an aggregate without groups.
    pub(super) fn scalar_query(&mut self, outer: &[Typed], kind: Kind) -> Query {
        self.part(Sort::Query, |this| {
            let parts = this.from(outer, 2, 0);
            let scope = Self::scope_of(&parts, outer).without_subqueries();
            let selection = this.tape.percent(75).then(|| this.condition(&scope, 1));
            let rows = parts.iter().map(|part| part.rows).product::<u64>().max(1);
            let (aggregate, bound) = this.aggregate(&scope, kind, rows, false);
            let select = Select {
                distinct: false,
                items: vec![Expression::Aggregate(aggregate)],
                from: parts.into_iter().map(|part| part.source).collect(),
                selection,
                group_by: Vec::new(),
                having: None,
            };
            Query {
                with: Vec::new(),
                body: Body::Select(Box::new(select)),
                order: Vec::new(),
                limit: None,
                kinds: vec![kind],
                rows: 1,
                bounds: vec![bound],
                option: None,
            }
        })
    }
}
