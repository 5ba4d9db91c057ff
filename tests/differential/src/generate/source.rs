//! Sources of FROM.

use super::{DEPTH, FROM_ROWS_MAX, Generator, ROWS_MAX, Scope, Typed, column_of};
use crate::ast::{ColumnName, Comparison, Condition, Expression, Join, Source};
use crate::schema::Filter;
use crate::tape::Sort;

/// A source, with what can be said of it.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) source: Source,
    pub(super) columns: Vec<Typed>,
    pub(super) rows: u64,
    /// Tables in it: place in the schema, the name they go by, and whether that is an alias.
    pub(super) tables: Vec<(usize, String, bool)>,
}

const JOINS: [Join; 8] = [
    Join::Inner,
    Join::Inner,
    Join::Inner,
    Join::Left,
    Join::Left,
    Join::Right,
    Join::Full,
    Join::Cross,
];

impl Generator<'_> {
    /// FROM: its sources with commas between, and all their columns.
    pub(super) fn from(&mut self, outer: &[Typed], count_max: usize, depth: u32) -> Vec<Made> {
        let mut rows = 1;
        let mut left = count_max;
        let mut parts = Vec::new();
        loop {
            let count = 1 + self.tape.below(left as u64) as usize;
            // Without a comma everything is one tree.
            let is_last = count == left || !self.tape.percent(20);
            let made = self.tree(outer, count, rows, depth);
            rows = rows.saturating_mul(made.rows.max(1));
            parts.push(made);
            left -= count.min(left);
            if is_last || left == 0 || rows > FROM_ROWS_MAX {
                return parts;
            }
        }
    }

    /// A tree of joins over `count` sources, fewer where rows would get too many.
    fn tree(&mut self, outer: &[Typed], count: usize, rows: u64, depth: u32) -> Made {
        self.part(Sort::Source, |this| {
            if count <= 1 {
                return this.single(outer, depth);
            }
            // Mostly from left to right.
            let right_count = if this.tape.percent(20) {
                1 + this.tape.below(count as u64 - 1) as usize
            } else {
                1
            };
            let left = this.tree(outer, count - right_count, rows, depth);
            if rows.saturating_mul(left.rows) * ROWS_MAX / 2 > FROM_ROWS_MAX {
                return left;
            }
            if right_count == 1 && this.tape.percent(10) {
                return this.apply(left, outer);
            }
            if right_count == 1 && this.tape.percent(4) {
                return this.elements(left);
            }
            let right = this.tree(outer, right_count, rows.saturating_mul(left.rows), depth);
            this.join(left, right, outer)
        })
    }

    fn join(&mut self, left: Made, right: Made, outer: &[Typed]) -> Made {
        let join = self.tape.choose(&JOINS);
        // A FULL JOIN of other conditions than equal columns is none PostgreSQL can do.
        let on = match join {
            Join::Cross => None,
            Join::Full => match self.equal_columns(&left.columns, &right.columns) {
                Some(equal) => Some(equal),
                None => return self.joined(Join::Cross, left, right, None),
            },
            _ => Some(self.join_condition(&left.columns, &right.columns, outer)),
        };
        self.joined(join, left, right, on)
    }

    fn joined(&mut self, join: Join, left: Made, right: Made, on: Option<Condition>) -> Made {
        let mut columns = left.columns;
        columns.extend(right.columns);
        let mut tables = left.tables;
        tables.extend(right.tables);
        Made {
            source: Source::Join(join, Box::new(left.source), Box::new(right.source), on),
            columns,
            rows: left.rows.saturating_mul(right.rows),
            tables,
        }
    }

    fn equal_columns(&mut self, left: &[Typed], right: &[Typed]) -> Option<Condition> {
        let place = self.tape.below(left.len() as u64) as usize;
        let one = left[place].clone();
        let other = self.column(right, one.kind)?;
        Some(Condition::Compare(Comparison::Equal, one.expression, other.expression))
    }

    fn apply(&mut self, left: Made, outer: &[Typed]) -> Made {
        let table = self.tape.below(self.schema.tables.len() as u64) as usize;
        let alias = self.alias();
        let inside = self.columns_of_table(table, &alias);
        let condition = self.join_condition(&left.columns, &inside, outer);
        let mut columns = left.columns;
        columns.extend(inside);
        Made {
            source: Source::Apply {
                outer: self.tape.percent(40),
                left: Box::new(left.source),
                table,
                alias,
                condition,
            },
            columns,
            rows: left.rows * ROWS_MAX / 2,
            tables: left.tables,
        }
    }

    /// A table, a query in parentheses, or a common table expression.
    fn single(&mut self, outer: &[Typed], depth: u32) -> Made {
        if depth > 0 && self.tape.percent(15) {
            let _ = outer;
            let query = self.subquery(&[], None, depth.min(DEPTH) - 1);
            let alias = self.alias();
            let columns = query.kinds.iter().zip(&query.bounds).enumerate();
            let columns = columns.map(|(place, (kind, bound))| column_of(&alias, &format!("x{place}"), *kind, *bound));
            return Made {
                columns: columns.collect(),
                rows: query.rows,
                source: Source::Derived(Box::new(query), alias),
                tables: Vec::new(),
            };
        }
        if !self.known.is_empty() && self.tape.percent(30) {
            let place = self.tape.below(self.known.len() as u64) as usize;
            let known = self.known[place].clone();
            let alias = self.alias();
            let columns = known.kinds.iter().zip(&known.bounds).enumerate();
            let columns = columns.map(|(place, (kind, bound))| column_of(&alias, &format!("x{place}"), *kind, *bound));
            return Made {
                columns: columns.collect(),
                rows: known.rows,
                source: Source::Named(known.name, alias),
                tables: Vec::new(),
            };
        }
        if depth > 0 && self.tape.percent(8) {
            return self.unusual_source();
        }
        self.table()
    }

    /// A table, with or without an alias.
    pub(super) fn table(&mut self) -> Made {
        let table = self.tape.below(self.schema.tables.len() as u64) as usize;
        let name = self.schema.tables[table].name.clone();
        let is_bare = self.tape.percent(15) && !self.bare.contains(&name);
        if is_bare {
            self.bare.push(name.clone());
        }
        let alias = (!is_bare).then(|| self.alias());
        let exposed = alias.clone().unwrap_or_else(|| name.clone());
        let hint = (self.is_query && self.tape.percent(6)).then(|| {
            let hints = ["forcescan", "nolock", "tablock", "updlock", "holdlock"];
            self.tape.choose(&hints)
        });
        Made {
            source: Source::Table {
                table,
                alias: alias.clone(),
                hint,
            },
            columns: self.columns_of_table(table, &exposed),
            rows: ROWS_MAX / 2,
            tables: vec![(table, exposed, alias.is_some())],
        }
    }

    /// The predicate of a filtered index of one of these tables, sometimes: what makes the index one to use.
    pub(super) fn index_filter(&mut self, parts: &[Made]) -> Option<Condition> {
        if !self.tape.percent(15) {
            return None;
        }
        let mut filters = Vec::new();
        for (table, exposed, _) in parts.iter().flat_map(|part| &part.tables) {
            let table = &self.schema.tables[*table];
            let indexes = table.indexes.iter().filter_map(|index| index.filter.as_ref());
            filters.extend(indexes.map(|filter| (table, exposed.clone(), filter)));
        }
        if filters.is_empty() {
            return None;
        }
        let (table, exposed, filter) = self.tape.choose(&filters);
        let column = &table.columns[filter.column()];
        let value = Expression::Column(ColumnName {
            source: exposed,
            column: column.name.clone(),
        });
        let literal = |text: &String| Expression::Literal(column.kind, Some(text.clone()));
        Some(match filter {
            Filter::IsNotNull(_) => Condition::IsNull(true, value),
            Filter::Equal(_, text) => Condition::Compare(Comparison::Equal, value, literal(text)),
            Filter::Greater(_, text) => Condition::Compare(Comparison::Greater, value, literal(text)),
            Filter::In(_, texts) => Condition::InList(false, value, texts.iter().map(literal).collect()),
        })
    }

    /// The scope of a query over these sources.
    pub(super) fn scope_of(parts: &[Made], outer: &[Typed]) -> Scope {
        Scope {
            own: parts.iter().flat_map(|part| part.columns.clone()).collect(),
            outer: outer.to_vec(),
            subqueries: true,
        }
    }
}
