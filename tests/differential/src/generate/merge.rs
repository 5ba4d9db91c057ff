//! MERGE.
//!
//! Which row of the source a row of the target meets must be certain, so the source has a key that ON compares with a column of the
//! target: it is a table with a primary key, or a query by groups of one column. Values know both rows; a row that is not matched knows
//! its own alone. No column that must be unique is given new values, as SQLite judges row by row.

use super::{Generator, Scope, Typed, column_of};
use crate::ast::{Action, Body, Change, Comparison, Condition, Expression, Merge, Query, Rows, Select, Source, When};
use crate::schema::Kind;

/// The source of a MERGE; its first column is the key.
struct Keyed {
    source: Source,
    columns: Vec<Typed>,
}

fn scope(columns: Vec<Typed>) -> Scope {
    Scope {
        own: columns,
        ..Scope::default()
    }
}

impl Generator<'_> {
    pub(super) fn merge(&mut self) -> Change {
        let table = self.any_table();
        let alias = self.alias();
        let target = self.columns_of_table(table, &alias);
        let keyed = self.keyed();
        let on = self.merge_condition(&target, &keyed.columns);
        let both: Vec<Typed> = target.iter().chain(&keyed.columns).cloned().collect();
        let mut clauses = self.of_target_rows(table, Rows::Matched, &scope(both), 75);
        if self.tape.percent(70) {
            clauses.push(self.insert_clause(table, &scope(keyed.columns)));
        }
        let more = self.of_target_rows(table, Rows::OfTarget, &scope(target), 30);
        clauses.extend(more);
        if clauses.is_empty() {
            clauses.push(When {
                rows: Rows::OfTarget,
                condition: None,
                action: Action::Delete,
            });
        }
        Change::Merge(Box::new(Merge {
            table,
            alias,
            source: keyed.source,
            on,
            clauses,
        }))
    }

    fn keyed(&mut self) -> Keyed {
        let with_key: Vec<usize> = (0..self.schema.tables.len())
            .filter(|&table| self.schema.tables[table].has_key())
            .collect();
        let alias = self.alias();
        if !with_key.is_empty() && self.tape.percent(50) {
            let table = self.tape.choose(&with_key);
            return Keyed {
                columns: self.columns_of_table(table, &alias),
                source: Source::Table {
                    table,
                    alias: Some(alias),
                    hint: None,
                },
            };
        }
        let query = self.by_groups();
        let columns = query.kinds.iter().zip(&query.bounds).enumerate();
        let columns = columns.map(|(place, (kind, bound))| column_of(&alias, &format!("x{place}"), *kind, *bound));
        Keyed {
            columns: columns.collect(),
            source: Source::Derived(Box::new(query), alias),
        }
    }

    /// A query by groups of an integer, which is its first column.
    fn by_groups(&mut self) -> Query {
        let first = self.table();
        let mut parts = vec![first];
        if self.tape.percent(40) {
            parts.extend(self.from(&[], 1, 0));
        }
        let inside = Self::scope_of(&parts, &[]);
        let selection = self
            .tape
            .percent(50)
            .then(|| self.condition(&inside.clone().without_subqueries(), 1));
        let rows = parts.iter().map(|part| part.rows).product::<u64>().max(1);
        let key = self
            .column(&parts[0].columns, Kind::Integer)
            .unwrap_or_else(|| parts[0].columns[0].clone());
        let mut items = vec![key.clone()];
        let aggregates = self.list(1, 3, 60, |this| {
            let kind = this.kind_in(&inside);
            let (aggregate, bound) = this.aggregate(&inside, kind, rows, false);
            Typed {
                expression: Expression::Aggregate(aggregate),
                kind,
                bound,
            }
        });
        items.extend(aggregates);
        Query {
            with: Vec::new(),
            order: Vec::new(),
            limit: None,
            kinds: items.iter().map(|item| item.kind).collect(),
            bounds: items.iter().map(|item| item.bound).collect(),
            rows,
            option: None,
            body: Body::Select(Box::new(Select {
                distinct: false,
                items: items.into_iter().map(|item| item.expression).collect(),
                from: parts.into_iter().map(|part| part.source).collect(),
                selection,
                group_by: vec![key.expression],
                having: None,
            })),
        }
    }

    fn merge_condition(&mut self, target: &[Typed], source: &[Typed]) -> Condition {
        let key = source[0].expression.clone();
        let column = self.column(target, Kind::Integer).unwrap_or_else(|| target[0].clone());
        let equal = if self.tape.percent(50) {
            Condition::Compare(Comparison::Equal, key, column.expression)
        } else {
            Condition::Compare(Comparison::Equal, column.expression, key)
        };
        if !self.tape.percent(20) {
            return equal;
        }
        let both: Vec<Typed> = target.iter().chain(source).cloned().collect();
        Condition::And(vec![equal, self.condition(&scope(both), 1)])
    }

    /// One clause or two about rows of the target, in `percent` of 100 draws: of two, one updates and the other deletes.
    fn of_target_rows(&mut self, table: usize, rows: Rows, scope: &Scope, percent: u64) -> Vec<When> {
        if !self.tape.percent(percent) {
            return Vec::new();
        }
        let count = 1 + self.tape.below(2);
        let deletes_first = self.tape.percent(35);
        (0..count)
            .map(|number| {
                let is_last = number + 1 == count;
                let has_condition = !is_last || self.tape.percent(35);
                When {
                    rows,
                    condition: has_condition.then(|| self.condition(scope, 1)),
                    action: if deletes_first == (number == 0) {
                        Action::Delete
                    } else {
                        Action::Update(self.merge_assignments(table, scope))
                    },
                }
            })
            .collect()
    }

    fn merge_assignments(&mut self, table: usize, scope: &Scope) -> Vec<(usize, Expression)> {
        let described = &self.schema.tables[table];
        let mut places: Vec<usize> = described
            .written()
            .filter(|&place| !described.is_unique(place))
            .collect();
        let count = 1 + self.tape.below(2.min(places.len() as u64));
        (0..count)
            .map(|_| {
                let column = places.remove(self.tape.below(places.len() as u64) as usize);
                let kind = self.schema.tables[table].columns[column].kind;
                (column, self.expression(scope, kind, 1).expression)
            })
            .collect()
    }

    fn insert_clause(&mut self, table: usize, scope: &Scope) -> When {
        let columns = self.inserted_columns(table, true);
        let values = columns
            .into_iter()
            .map(|column| {
                let kind = self.schema.tables[table].columns[column].kind;
                (column, self.expression(scope, kind, 1).expression)
            })
            .collect();
        When {
            rows: Rows::OfSource,
            condition: self.tape.percent(30).then(|| self.condition(scope, 1)),
            action: Action::Insert(values),
        }
    }
}
