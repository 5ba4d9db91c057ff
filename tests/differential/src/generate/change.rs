//! Statements that change rows.
//!
//! An UPDATE or DELETE with FROM takes its target from any place among up to five sources, under its alias, its table's name, or
//! from no place in FROM at all. Which row a value comes from must be certain, so an UPDATE is of one of two shapes:
//!
//! - FROM of any shape, and values from the target's own row (and from subqueries that know it);
//! - the target joined with other tables by their keys, and values from any of them.

use super::source::Made;
use super::{DEPTH, Generator, Scope, Typed};
use crate::ast::{Change, Comparison, Condition, Expression, Join, Query, Source, Statement, Target};
use crate::schema::{Fallback, Kind};

/// The most sources of an UPDATE or DELETE.
const SOURCES_MAX: usize = 5;

/// Where the rows to change come from.
struct Found {
    with: Vec<(String, Query)>,
    target: Target,
    from: Vec<Source>,
    /// What WHERE sees.
    scope: Scope,
    /// What values may be made of.
    values: Vec<Typed>,
}

impl Generator<'_> {
    pub(super) fn change(&mut self) -> Statement {
        let change = match self.tape.below(14) {
            0..=3 => self.delete(),
            4..=7 => self.update(),
            8 | 9 => self.insert_values(),
            10 => self.insert_query(),
            _ => self.merge(),
        };
        let table = &self.schema.tables[change.table()];
        // Two steps there answer the first one's values.
        let in_two_steps = match &change {
            Change::Update { assignments, .. } => assignments.iter().any(|(column, _)| table.is_unique(*column)),
            _ => false,
        };
        let count = table.columns.len();
        let percent = if matches!(change, Change::Merge(_)) { 50 } else { 20 };
        // A target with a trigger has no OUTPUT without INTO (334).
        let output = if in_two_steps || table.trigger.is_some() || !self.tape.percent(percent) {
            Vec::new()
        } else {
            (0..count).filter(|_| self.tape.percent(60)).collect()
        };
        Statement::Change(change, output)
    }

    pub(super) fn any_table(&mut self) -> usize {
        self.tape.below(self.schema.tables.len() as u64) as usize
    }

    /// The columns an INSERT names: those that must be, and some of the others. `names_sequences`: no column is left to a sequence, as the
    /// order of rows is not written down.
    pub(super) fn inserted_columns(&mut self, table: usize, names_sequences: bool) -> Vec<usize> {
        let described = &self.schema.tables[table];
        let must_be = |place: usize| {
            let column = &described.columns[place];
            let has_sequence = matches!(column.fallback, Fallback::Sequence(_));
            !column.may_be_left_out() || (names_sequences && has_sequence)
        };
        let named: Vec<usize> = described
            .written()
            .filter(|&place| must_be(place) || self.tape.percent(80))
            .collect();
        if named.is_empty() { vec![0] } else { named }
    }

    fn insert_values(&mut self) -> Change {
        let table = self.any_table();
        let columns = self.inserted_columns(table, false);
        let kinds = self.kinds_of(table, &columns);
        let scope = Scope {
            subqueries: true,
            ..Scope::default()
        };
        let mut rows: Vec<Vec<Expression>> = self.list(1, 3, 40, |this| {
            kinds
                .iter()
                .map(|kind| {
                    // A key that is not there yet, mostly.
                    if *kind == Kind::Integer && this.tape.percent(50) {
                        let number = 10 + this.tape.below(30);
                        return Expression::Literal(Kind::Integer, Some(number.to_string()));
                    }
                    this.expression(&scope, *kind, 1).expression
                })
                .collect()
        });
        self.number(table, &columns, &kinds, &mut rows);
        Change::InsertValues { table, columns, rows }
    }

    /// Numbers the rows by a sequence, sometimes. One that a default takes from gives one value for each row to both.
    fn number(&mut self, table: usize, columns: &[usize], kinds: &[Kind], rows: &mut [Vec<Expression>]) {
        let described = &self.schema.tables[table];
        let is_taken = |sequence: usize| {
            (0..described.columns.len()).any(|place| {
                !columns.contains(&place) && described.columns[place].fallback == Fallback::Sequence(sequence)
            })
        };
        let sequences: Vec<usize> = (0..self.schema.sequences.len())
            .filter(|&sequence| !is_taken(sequence))
            .collect();
        let places: Vec<usize> = (0..kinds.len())
            .filter(|&place| kinds[place] == Kind::Integer)
            .collect();
        if sequences.is_empty() || places.is_empty() || !self.tape.percent(30) {
            return;
        }
        let (sequence, place) = (self.tape.choose(&sequences), self.tape.choose(&places));
        for (number, row) in rows.iter_mut().enumerate() {
            row[place] = Expression::NextValue(sequence, number);
        }
    }

    fn kinds_of(&self, table: usize, columns: &[usize]) -> Vec<Kind> {
        let all = &self.schema.tables[table].columns;
        columns.iter().map(|&place| all[place].kind).collect()
    }

    fn insert_query(&mut self) -> Change {
        let table = self.any_table();
        let columns = self.inserted_columns(table, true);
        let kinds = self.kinds_of(table, &columns);
        let with = self.common_tables();
        let mut query = self.subquery(&[], Some(&kinds), DEPTH - 1);
        query.with = with;
        Change::InsertQuery { table, columns, query }
    }

    fn delete(&mut self) -> Change {
        let found = self.found();
        let selection = self.tape.percent(85).then(|| self.condition(&found.scope, DEPTH - 1));
        Change::Delete {
            with: found.with,
            target: found.target,
            from: found.from,
            selection,
        }
    }

    fn update(&mut self) -> Change {
        let found = self.found();
        let selection = self.tape.percent(75).then(|| self.condition(&found.scope, DEPTH - 1));
        let values = Scope {
            own: found.values.clone(),
            outer: Vec::new(),
            subqueries: true,
        };
        let described = &self.schema.tables[found.target.table];
        let columns = described.columns.clone();
        // Two steps would make a trigger note rows twice.
        let mut places: Vec<usize> = described
            .written()
            .filter(|&place| described.trigger.is_none() || !described.is_unique(place))
            .collect();
        let count = 1 + self.tape.below(3.min(places.len() as u64));
        let assignments = (0..count)
            .map(|_| {
                // The last one first, so that keys are changed less often.
                let place = places.len() - 1 - self.tape.below(places.len() as u64) as usize;
                let column = places.remove(place);
                let value = self.expression(&values, columns[column].kind, 2);
                (column, value.expression)
            })
            .collect();
        Change::Update {
            with: found.with,
            target: found.target,
            assignments,
            from: found.from,
            selection,
        }
    }

    fn found(&mut self) -> Found {
        match self.tape.below(8) {
            0 | 1 => self.found_alone(),
            2 => self.found_beside(),
            3..=5 => self.found_anywhere(),
            _ => self.found_by_keys(),
        }
    }

    /// Without FROM.
    fn found_alone(&mut self) -> Found {
        let table = self.any_table();
        let name = self.schema.tables[table].name.clone();
        self.bare.push(name.clone());
        let columns = self.columns_of_table(table, &name);
        Found {
            with: Vec::new(),
            target: Target {
                table,
                exposed: name.clone(),
                name,
                in_from: false,
            },
            from: Vec::new(),
            scope: Scope {
                own: columns.clone(),
                outer: Vec::new(),
                subqueries: true,
            },
            values: columns,
        }
    }

    /// FROM without the target in it: one source more.
    fn found_beside(&mut self) -> Found {
        let mut found = self.found_alone();
        let with = self.common_tables();
        let parts = self.from(&[], 2, 1);
        let table = found.target.table;
        if parts
            .iter()
            .any(|part| part.tables.iter().any(|other| other.0 == table))
        {
            // The name would mean that one.
            self.known.clear();
            return found;
        }
        found.with = with;
        for part in parts {
            found.scope.own.extend(part.columns);
            found.from.push(part.source);
        }
        found
    }

    /// Any FROM with the target somewhere in it.
    fn found_anywhere(&mut self) -> Found {
        let with = self.common_tables();
        let mut parts = self.from(&[], SOURCES_MAX, 1);
        if parts.iter().all(|part| part.tables.is_empty()) {
            let table = self.table();
            parts.push(table);
        }
        let tables: Vec<(usize, String, bool)> = parts.iter().flat_map(|part| part.tables.clone()).collect();
        let place = self.tape.below(tables.len() as u64) as usize;
        let (table, exposed, _) = tables[place].clone();
        let values = self.columns_of_table(table, &exposed);
        let target = self.named(table, exposed, &tables);
        Found {
            with,
            target,
            scope: Self::scope_of(&parts, &[]),
            from: parts.into_iter().map(|part| part.source).collect(),
            values,
        }
    }

    /// What the statement calls its target: the name it goes by, or its table's where that means the same.
    fn named(&mut self, table: usize, exposed: String, tables: &[(usize, String, bool)]) -> Target {
        let is_only = tables.iter().filter(|other| other.0 == table).count() == 1;
        let name = if is_only && self.tape.percent(40) {
            self.schema.tables[table].name.clone()
        } else {
            exposed.clone()
        };
        Target {
            table,
            exposed,
            name,
            in_from: true,
        }
    }

    /// The target, joined with others each by its key.
    fn found_by_keys(&mut self) -> Found {
        let mut all = self.table();
        let (table, exposed, _) = all.tables[0].clone();
        let count = 1 + self.tape.below(SOURCES_MAX as u64 - 1);
        for _ in 0..count {
            let other = self.table();
            if self.schema.tables[other.tables[0].0].has_key() {
                all = self.joined_by_key(all, other);
            }
        }
        let target = self.named(table, exposed, &all.tables.clone());
        let parts = [all];
        Found {
            with: Vec::new(),
            target,
            scope: Self::scope_of(&parts, &[]),
            values: parts[0].columns.clone(),
            from: parts.map(|part| part.source).into(),
        }
    }

    fn joined_by_key(&mut self, left: Made, right: Made) -> Made {
        let scope = Scope {
            own: left.columns.clone(),
            ..Scope::default()
        };
        let key = right.columns[0].expression.clone();
        let value = self.expression(&scope, Kind::Integer, 1).expression;
        let (value, key) = if self.tape.percent(50) {
            (key, value)
        } else {
            (value, key)
        };
        let equal = Condition::Compare(Comparison::Equal, value, key);
        let join = self.tape.choose(&[Join::Inner, Join::Left]);
        let mut columns = left.columns;
        let on = if self.tape.percent(20) {
            let both: Vec<Typed> = columns.iter().chain(&right.columns).cloned().collect();
            let scope = Scope {
                own: both,
                ..Scope::default()
            };
            Condition::And(vec![equal, self.condition(&scope, 1)])
        } else {
            equal
        };
        columns.extend(right.columns);
        let mut tables = left.tables;
        tables.extend(right.tables);
        Made {
            source: Source::Join(join, Box::new(left.source), Box::new(right.source), Some(on)),
            columns,
            rows: left.rows,
            tables,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::SOURCES_MAX;
    use crate::ast::{Change, Source, Statement, Target};
    use crate::generate::{Wanted, statement};
    use crate::schema::Schema;
    use crate::tape::Tape;
    use std::collections::BTreeSet;

    /// The names that sources go by, from left to right.
    fn names(schema: &Schema, source: &Source, found: &mut Vec<String>) {
        match source {
            Source::Table { table, alias, .. } => {
                let name = &schema.tables[*table].name;
                found.push(alias.as_ref().unwrap_or(name).clone());
            }
            Source::Derived(_, alias) | Source::Named(_, alias) => found.push(alias.clone()),
            Source::Join(_, left, right, _) => {
                names(schema, left, found);
                names(schema, right, found);
            }
            Source::Apply { left, alias, .. } | Source::Elements { left, alias, .. } => {
                names(schema, left, found);
                found.push(alias.clone());
            }
            Source::Json(_, alias) | Source::Pivot { alias, .. } | Source::Unpivot(_, alias) => {
                found.push(alias.clone())
            }
        }
    }

    /// Whether it is an UPDATE, how many sources there are, which of them is the target, what it is called by.
    fn form(schema: &Schema, target: &Target, from: &[Source], is_update: bool) -> (bool, usize, usize, &'static str) {
        let mut found = Vec::new();
        for source in from {
            names(schema, source, &mut found);
        }
        let how = match (target.exposed.starts_with('s'), target.name == target.exposed) {
            (true, true) => "alias",
            (true, false) => "table's name beside an alias",
            (false, _) => "table's name",
        };
        let place = found.iter().position(|name| *name == target.exposed).unwrap();
        (is_update, found.len(), place, how)
    }

    #[test]
    fn the_target_stands_at_every_place_under_every_name() {
        let mut forms = BTreeSet::new();
        for seed in 0..30_000 {
            let schema = Schema::draw(&mut Tape::fresh(seed));
            let (made, _) = statement(&schema, Wanted::Change, Tape::fresh(seed));
            let Statement::Change(change, _) = made else {
                panic!("a query")
            };
            match &change {
                Change::Update { target, from, .. } if target.in_from => {
                    forms.insert(form(&schema, target, from, true));
                }
                Change::Delete { target, from, .. } if target.in_from => {
                    forms.insert(form(&schema, target, from, false));
                }
                _ => {}
            }
        }
        for is_update in [false, true] {
            for count in 1..=SOURCES_MAX {
                for place in 0..count {
                    for how in ["alias", "table's name beside an alias", "table's name"] {
                        let form = (is_update, count, place, how);
                        assert!(forms.contains(&form), "{form:?}");
                    }
                }
            }
        }
    }
}
