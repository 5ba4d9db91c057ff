//! Statements that change rows.
//!
//! PostgreSQL and SQLite know other forms of UPDATE and DELETE with FROM than SQL Server. There the rows are found by a query
//! that has FROM and WHERE as they are and selects the addresses of the target's rows, with the new values beside:
//!
//! ```text
//!   update t set a = v.v0 from (select s1.ctid as address, <value> as v0 from ... where ...) as v where t.ctid = v.address
//!   delete from t where ctid in (select s1.ctid from ... where ...)
//! ```
//!
//! SQLite judges a unique index row by row, SQL Server at the end of the statement. So an UPDATE of such a column goes there in
//! two steps, over values that no row has: `-1000000 - value`, and back.

use super::{Printer, Script, joined};
use crate::ast::{Change, Condition, Expression, Query, Source, Target};
use crate::dialect::Dialect;
use crate::schema::Fallback;

const SHIFT: i64 = 1_000_000;
/// What NULL goes by between the two steps.
const NULL_MARK: i64 = -1_000;

/// An UPDATE, apart from its target.
struct Update<'a> {
    with: &'a [(String, Query)],
    assignments: &'a [(usize, Expression)],
    from: &'a [Source],
    selection: Option<&'a Condition>,
}

impl Printer<'_> {
    pub(super) fn change(&self, change: &Change, output: &[usize]) -> Script {
        match change {
            Change::InsertValues { table, columns, rows } => self.insert_rows(*table, columns, rows, output),
            Change::Merge(merge) => self.merge(merge, output),
            Change::InsertQuery { table, columns, query } => self.insert_query(*table, columns, output, query),
            Change::Update {
                with,
                target,
                assignments,
                from,
                selection,
            } => {
                let update = Update {
                    with,
                    assignments,
                    from,
                    selection: selection.as_ref(),
                };
                match self.dialect {
                    Dialect::TransactSql => vec![self.own_update(target, &update, output)],
                    _ => self.update_by_address(target, &update, output),
                }
            }
            Change::Delete {
                with,
                target,
                from,
                selection,
            } => match self.dialect {
                Dialect::TransactSql => vec![self.own_delete(with, target, from, selection.as_ref(), output)],
                _ => vec![self.delete_by_address(with, target, from, selection.as_ref(), output)],
            },
        }
    }

    /// SQLite takes from its sequences in the open: the values that a default would give, and a second statement.
    fn insert_rows(&self, table: usize, columns: &[usize], rows: &[Vec<Expression>], output: &[usize]) -> Script {
        let described = &self.schema.tables[table];
        let (mut columns, mut rows) = (columns.to_vec(), rows.to_vec());
        if self.is(Dialect::Sqlite) {
            for (place, column) in described.columns.iter().enumerate() {
                if let (Fallback::Sequence(sequence), false) = (&column.fallback, columns.contains(&place)) {
                    columns.push(place);
                    let numbered = rows.iter_mut().enumerate();
                    numbered.for_each(|(number, row)| row.push(Expression::NextValue(*sequence, number)));
                }
            }
        }
        let values = joined(&rows, ", ", |row| {
            format!("({})", joined(row, ", ", |value| self.expression(value)))
        });
        let mut script = vec![self.insert(table, &columns, output, &format!("values {values}"))];
        if self.is(Dialect::Sqlite) {
            let taken = rows.first().into_iter().flatten().filter_map(|value| match value {
                Expression::NextValue(sequence, _) => Some(*sequence),
                _ => None,
            });
            script.extend(taken.map(|sequence| self.schema.sequences[sequence].advance_in_sqlite(rows.len())));
        }
        script
    }

    pub(super) fn column_of(&self, table: usize, column: usize) -> &str {
        &self.schema.tables[table].columns[column].name
    }

    pub(super) fn name_of(&self, table: usize) -> String {
        self.dialect.table_name(&self.schema.tables[table])
    }

    /// `output inserted.a, ...` with a blank before it, or nothing.
    fn output(&self, table: usize, output: &[usize], side: &str) -> String {
        if output.is_empty() || !self.is(Dialect::TransactSql) {
            return String::new();
        }
        let columns = joined(output, ", ", |&column| {
            format!("{side}.{}", self.column_of(table, column))
        });
        format!(" output {columns}")
    }

    /// `returning t.a, ...` with a blank before it, or nothing.
    fn returning(&self, table: usize, output: &[usize]) -> String {
        if output.is_empty() || self.is(Dialect::TransactSql) {
            return String::new();
        }
        let columns = joined(output, ", ", |&column| self.column_of(table, column).to_owned());
        format!(" returning {columns}")
    }

    fn insert(&self, table: usize, columns: &[usize], output: &[usize], rows: &str) -> String {
        let names = joined(columns, ", ", |&column| self.column_of(table, column).to_owned());
        let mut inserted = self.output(table, output, "inserted");
        // A parenthesis right behind a name would make it the name of a function.
        if !inserted.is_empty() && rows.starts_with('(') {
            inserted += " as last";
        }
        format!(
            "insert into {} ({names}){inserted} {rows}{}",
            self.name_of(table),
            self.returning(table, output)
        )
    }

    fn insert_query(&self, table: usize, columns: &[usize], output: &[usize], query: &Query) -> Script {
        let with = self.with(&query.with);
        let mut bare = query.clone();
        bare.with.clear();
        vec![with + &self.insert(table, columns, output, &self.query(&bare))]
    }

    fn where_clause(&self, selection: Option<&Condition>) -> String {
        selection.map_or(String::new(), |selection| {
            format!(" where {}", self.condition(selection))
        })
    }

    fn own_update(&self, target: &Target, update: &Update<'_>, output: &[usize]) -> String {
        let assignments = joined(update.assignments, ", ", |(column, value)| {
            format!("{} = {}", self.column_of(target.table, *column), self.expression(value))
        });
        format!(
            "{}update {} set {assignments}{}{}{}",
            self.with(update.with),
            self.qualifier(&target.name),
            self.output(target.table, output, "inserted"),
            self.from(update.from),
            self.where_clause(update.selection)
        )
    }

    fn own_delete(
        &self,
        with: &[(String, Query)],
        target: &Target,
        from: &[Source],
        selection: Option<&Condition>,
        output: &[usize],
    ) -> String {
        format!(
            "{}delete {}{}{}{}",
            self.with(with),
            self.qualifier(&target.name),
            self.output(target.table, output, "deleted"),
            self.from(from),
            self.where_clause(selection)
        )
    }

    /// FROM with the target in it.
    fn sources_with_target(&self, target: &Target, from: &[Source]) -> String {
        let mut sources = from.to_vec();
        if !target.in_from {
            sources.insert(
                0,
                Source::Table {
                    table: target.table,
                    alias: None,
                    hint: None,
                },
            );
        }
        self.from(&sources)
    }

    pub(super) fn address(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "ctid",
            _ => "address",
        }
    }

    fn delete_by_address(
        &self,
        with: &[(String, Query)],
        target: &Target,
        from: &[Source],
        selection: Option<&Condition>,
        output: &[usize],
    ) -> String {
        let address = self.address();
        let exposed = self.qualifier(&target.exposed);
        let query = format!(
            "select {exposed}.{address}{}{}",
            self.sources_with_target(target, from),
            self.where_clause(selection)
        );
        format!(
            "{}delete from {} where {address} in ({query}){}",
            self.with(with),
            self.name_of(target.table),
            self.returning(target.table, output)
        )
    }

    fn update_by_address(&self, target: &Target, update: &Update<'_>, output: &[usize]) -> Script {
        let address = self.address();
        let table = &self.schema.tables[target.table];
        let name = self.name_of(target.table);
        let is_shifted = |column: usize| self.is(Dialect::Sqlite) && table.is_unique(column);
        let mut number = 0;
        let values = joined(update.assignments, "", |(_, value)| {
            number += 1;
            format!(", {} as v{}", self.expression(value), number - 1)
        });
        let query = format!(
            "select {}.{address} as address{values}{}{}",
            self.qualifier(&target.exposed),
            self.sources_with_target(target, update.from),
            self.where_clause(update.selection)
        );
        let mut number = 0;
        let assignments = joined(update.assignments, ", ", |(column, _)| {
            number += 1;
            let value = format!("v.v{}", number - 1);
            let column_name = self.column_of(target.table, *column);
            if is_shifted(*column) && table.tells_nulls_apart(*column) {
                format!("{column_name} = -{SHIFT} - {value}")
            } else if is_shifted(*column) {
                format!("{column_name} = -{SHIFT} - coalesce({value}, {NULL_MARK})")
            } else {
                format!("{column_name} = {value}")
            }
        });
        let mut script = vec![format!(
            "{}update {name} set {assignments} from ({query}) as v where {name}.{address} = v.address{}",
            self.with(update.with),
            self.returning(target.table, output)
        )];
        for (column, _) in update.assignments.iter().filter(|(column, _)| is_shifted(*column)) {
            let column = self.column_of(target.table, *column);
            script.push(format!(
                "update {name} set {column} = nullif(-{SHIFT} - {column}, {NULL_MARK}) where {column} < -{}",
                SHIFT / 2
            ));
        }
        script
    }
}
