//! Queries and their sources.

use super::{Printer, joined};
use crate::ast::{Body, Condition, Expression, Join, Query, Select, SetOperator, Source};
use crate::dialect::Dialect;

impl Printer<'_> {
    pub(super) fn query(&self, query: &Query) -> String {
        let with = self.with(&query.with);
        let limit = query.limit.filter(|limit| limit.count > 0 || limit.offset > 0);
        let top = limit.filter(|limit| self.is(Dialect::TransactSql) && limit.offset == 0);
        let top = top.map_or(String::new(), |limit| {
            format!("top ({}) {}", limit.count, if limit.ties { "with ties " } else { "" })
        });
        let body = match &query.body {
            // TOP belongs to a SELECT, ORDER BY to the whole.
            body @ Body::Set(..) if !top.is_empty() => format!("select {top}* from ({}) as whole", self.body(body)),
            Body::Select(select) => self.select(select, &top),
            body => self.body(body),
        };
        let mut text = format!("{with}{body}");
        if !query.order.is_empty() {
            let keys = joined(&query.order, ", ", |(place, descending)| {
                self.sort_key(&format!("x{place}"), *descending)
            });
            text += &format!(" order by {keys}");
        }
        if let (true, Some(limit)) = (top.is_empty(), limit) {
            let (offset, count) = (limit.offset, limit.count);
            text += &match self.dialect {
                Dialect::Sqlite => format!(" limit {count} offset {offset}"),
                Dialect::Postgres if limit.ties => format!(" offset {offset} rows fetch next {count} rows with ties"),
                _ => format!(" offset {offset} rows fetch next {count} rows only"),
            };
        }
        match query.option {
            Some(option) if self.is(Dialect::TransactSql) => format!("{text} option ({option})"),
            _ => text,
        }
    }

    pub(super) fn with(&self, with: &[(String, Query)]) -> String {
        if with.is_empty() {
            return String::new();
        }
        let tables = joined(with, ", ", |(name, query)| format!("{name} as ({})", self.query(query)));
        format!("with {tables} ")
    }

    fn body(&self, body: &Body) -> String {
        match body {
            Body::Select(select) => self.select(select, ""),
            Body::Set(operator, left, right) => {
                let operator = match operator {
                    SetOperator::UnionAll => "union all",
                    SetOperator::Union => "union",
                    SetOperator::Intersect => "intersect",
                    SetOperator::Except => "except",
                };
                format!("{} {operator} {}", self.side(left), self.side(right))
            }
        }
    }

    fn side(&self, body: &Body) -> String {
        match body {
            Body::Select(_) => self.body(body),
            // No parentheses there around a part of a set operation.
            Body::Set(..) if self.is(Dialect::Sqlite) => format!("select * from ({})", self.body(body)),
            Body::Set(..) => format!("({})", self.body(body)),
        }
    }

    fn select(&self, select: &Select, top: &str) -> String {
        let distinct = if select.distinct { "distinct " } else { "" };
        let mut place = 0;
        let items = joined(&select.items, ", ", |item| {
            place += 1;
            format!("{} as x{}", self.expression(item), place - 1)
        });
        let mut text = format!("select {distinct}{top}{items}{}", self.from(&select.from));
        if let Some(selection) = &select.selection {
            text += &format!(" where {}", self.condition(selection));
        }
        if !select.group_by.is_empty() {
            text += &format!(
                " group by {}",
                joined(&select.group_by, ", ", |key| self.expression(key))
            );
        }
        if let Some(having) = &select.having {
            text += &format!(" having {}", self.condition(having));
        }
        let windows = select.items.iter().filter_map(|item| match item {
            Expression::Window(window) if window.is_named => Some(window),
            _ => None,
        });
        for window in windows {
            text += &format!(" window w as ({})", self.window_parts(window));
        }
        text
    }

    /// FROM with a blank before it, or nothing.
    pub(super) fn from(&self, sources: &[Source]) -> String {
        if sources.is_empty() {
            return String::new();
        }
        // A comma binds like a join in SQLite.
        if self.is(Dialect::Sqlite) {
            return format!(
                " from {}",
                joined(sources, " cross join ", |source| self.side_of_join(source))
            );
        }
        format!(" from {}", joined(sources, ", ", |source| self.source(source)))
    }

    fn side_of_join(&self, source: &Source) -> String {
        match source {
            Source::Join(..) | Source::Apply { .. } | Source::Elements { .. } => format!("({})", self.source(source)),
            _ => self.source(source),
        }
    }

    pub(super) fn source(&self, source: &Source) -> String {
        match source {
            Source::Table { table, alias, hint } => {
                let name = self.dialect.table_name(&self.schema.tables[*table]);
                let alias = alias.as_ref().map_or(String::new(), |alias| format!(" as {alias}"));
                match hint {
                    Some(hint) if self.is(Dialect::TransactSql) => format!("{name}{alias} with ({hint})"),
                    _ => format!("{name}{alias}"),
                }
            }
            Source::Derived(query, alias) => format!("({}) as {alias}", self.query(query)),
            Source::Named(name, alias) => format!("{name} as {alias}"),
            // SQLite 3.40 loses rows of a RIGHT JOIN whose left side is a join of nothing.
            Source::Join(Join::Right, left, right, on) if self.is(Dialect::Sqlite) => {
                self.source(&Source::Join(Join::Left, right.clone(), left.clone(), on.clone()))
            }
            Source::Join(join, left, right, on) => {
                let word = match join {
                    Join::Inner => "join",
                    Join::Left => "left join",
                    Join::Right => "right join",
                    Join::Full => "full join",
                    Join::Cross => "cross join",
                };
                // A join on the left needs no parentheses.
                let left = match **left {
                    Source::Join(..) | Source::Apply { .. } | Source::Elements { .. } if !self.is(Dialect::Sqlite) => {
                        self.source(left)
                    }
                    _ => self.side_of_join(left),
                };
                let on = on
                    .as_ref()
                    .map_or(String::new(), |on| format!(" on {}", self.condition(on)));
                format!("{left} {word} {}{on}", self.side_of_join(right))
            }
            Source::Apply {
                outer,
                left,
                table,
                alias,
                condition,
            } => self.apply(*outer, left, *table, alias, condition),
            Source::Json(rows, alias) => self.json(rows, alias),
            Source::Elements { left, elements, alias } => self.elements(left, elements, alias),
            Source::Pivot {
                query,
                function,
                values,
                alias,
            } => self.pivot(query, *function, values, alias),
            Source::Unpivot(query, alias) => self.unpivot(query, alias),
        }
    }

    fn apply(&self, outer: bool, left: &Source, table: usize, alias: &str, condition: &Condition) -> String {
        let left = self.source(left);
        let table = &self.schema.tables[table];
        let name = self.dialect.table_name(table);
        let condition = self.condition(condition);
        let columns = joined(&table.columns, ", ", |column| format!("{alias}.{}", column.name));
        let inner = format!("(select {columns} from {name} as {alias} where {condition}) as {alias}");
        let word = if outer { "left join" } else { "join" };
        match self.dialect {
            Dialect::TransactSql if outer => format!("{left} outer apply {inner}"),
            Dialect::TransactSql => format!("{left} cross apply {inner}"),
            Dialect::Postgres => format!("{left} {word} lateral {inner} on true"),
            Dialect::Sqlite => format!("{left} {word} {name} as {alias} on {condition}"),
        }
    }
}
