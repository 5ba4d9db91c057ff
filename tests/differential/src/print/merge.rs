//! MERGE, and what stands for it in the others.
//!
//! PostgreSQL 15 has MERGE without OUTPUT and without rows that the source does not match; where a statement has neither, it is MERGE there.
//! Else, and in SQLite, it is said in several statements over one query, which has a row for each row that a clause is about:
//!
//! ```text
//!   merging:  select address, action, values of each clause, old columns   from target join source
//!             union all ... from source without a target row
//!             union all ... from target without a source row
//!   answer:   select 'UPDATE', old columns from (merging)          as many rows as the statement changes
//!   then:     create temporary table merged as (merging)
//!             delete, update, insert from merged
//! ```

use super::{Printer, Script, joined};
use crate::ast::{Action, Expression, Merge, Rows, When};
use crate::dialect::Dialect;

/// The columns and values that a clause gives, if it gives any.
fn given(clause: &When) -> &[(usize, Expression)] {
    match &clause.action {
        Action::Update(values) | Action::Insert(values) => values,
        Action::Delete => &[],
    }
}

impl Printer<'_> {
    pub(super) fn merge(&self, merge: &Merge, output: &[usize]) -> Script {
        let has_rows_of_target = merge.clauses.iter().any(|clause| clause.rows == Rows::OfTarget);
        match self.dialect {
            Dialect::TransactSql => vec![self.one_merge(merge, output)],
            Dialect::Postgres if output.is_empty() && !has_rows_of_target => vec![self.one_merge(merge, output)],
            _ => self.merge_in_steps(merge, output),
        }
    }

    fn one_merge(&self, merge: &Merge, output: &[usize]) -> String {
        let is_own = self.is(Dialect::TransactSql);
        let mut text = format!(
            "merge into {} as {} using {} on {}",
            self.name_of(merge.table),
            merge.alias,
            self.source(&merge.source),
            self.condition(&merge.on)
        );
        for clause in &merge.clauses {
            text += match clause.rows {
                Rows::Matched => " when matched",
                Rows::OfSource if is_own => " when not matched by target",
                Rows::OfSource => " when not matched",
                Rows::OfTarget => " when not matched by source",
            };
            if let Some(condition) = &clause.condition {
                text += &format!(" and ({})", self.condition(condition));
            }
            text += &match &clause.action {
                Action::Delete => " then delete".to_owned(),
                Action::Update(values) => {
                    let values = joined(values, ", ", |(column, value)| {
                        format!("{} = {}", self.column_of(merge.table, *column), self.expression(value))
                    });
                    format!(" then update set {values}")
                }
                Action::Insert(values) => {
                    let columns = joined(values, ", ", |(column, _)| {
                        self.column_of(merge.table, *column).to_owned()
                    });
                    let values = joined(values, ", ", |(_, value)| self.expression(value));
                    format!(" then insert ({columns}) values ({values})")
                }
            };
        }
        if !output.is_empty() {
            let old = joined(output, ", ", |&column| {
                format!("deleted.{}", self.column_of(merge.table, column))
            });
            text += &format!(" output $action, {old}");
        }
        if is_own { text + ";" } else { text }
    }

    /// The rows of one sort, with the number of the clause that each of them is for.
    fn merging_rows(&self, merge: &Merge, rows: Rows) -> Option<String> {
        let table = &self.schema.tables[merge.table];
        let clauses: Vec<(usize, &When)> = merge.clauses.iter().enumerate().collect();
        let own: Vec<&(usize, &When)> = clauses.iter().filter(|(_, clause)| clause.rows == rows).collect();
        if own.is_empty() {
            return None;
        }
        let action = joined(&own, " ", |(number, clause)| {
            let condition = clause.condition.as_ref();
            let condition = condition.map_or("1 = 1".to_owned(), |condition| self.condition(condition));
            format!("when {condition} then {number}")
        });
        let has_target = rows != Rows::OfSource;
        let null_address = match self.dialect {
            Dialect::Postgres => "cast(null as tid)".to_owned(),
            _ => "null".to_owned(),
        };
        let address = match has_target {
            true => format!("{}.{}", merge.alias, self.address()),
            false => null_address,
        };
        let mut text = format!("select {address} as address, case {action} end as action");
        for (number, clause) in &clauses {
            for (column, value) in given(clause) {
                let value = match clause.rows == rows {
                    true => self.expression(value),
                    false => self.dialect.literal(table.columns[*column].kind, None),
                };
                text += &format!(", {value} as v{number}_{column}");
            }
        }
        for (place, column) in table.columns.iter().enumerate() {
            let old = match has_target {
                true => format!("{}.{}", merge.alias, column.name),
                false => self.dialect.literal(column.kind, None),
            };
            text += &format!(", {old} as o{place}");
        }
        let target = format!("{} as {}", self.name_of(merge.table), merge.alias);
        let (source, on) = (self.source(&merge.source), self.condition(&merge.on));
        Some(match rows {
            Rows::Matched => format!("{text} from {target} join {source} on {on}"),
            Rows::OfSource => format!("{text} from {source} where not exists (select 1 from {target} where {on})"),
            Rows::OfTarget => format!("{text} from {target} where not exists (select 1 from {source} where {on})"),
        })
    }

    fn merge_in_steps(&self, merge: &Merge, output: &[usize]) -> Script {
        let name = self.name_of(merge.table);
        let parts: Vec<String> = [Rows::Matched, Rows::OfSource, Rows::OfTarget]
            .into_iter()
            .filter_map(|rows| self.merging_rows(merge, rows))
            .collect();
        let merging = format!(
            "(select * from ({}) as merging where action is not null) as merging",
            parts.join(" union all ")
        );
        let mut number = 0;
        let words = joined(&merge.clauses, " ", |clause| {
            number += 1;
            let word = match clause.action {
                Action::Delete => "DELETE",
                Action::Update(_) => "UPDATE",
                Action::Insert(_) => "INSERT",
            };
            format!("when {} then '{word}'", number - 1)
        });
        let old = joined(output, "", |column| format!(", o{column}"));
        let mut script = vec![
            format!("select case action {words} end{old} from {merging}"),
            format!("create temporary table merged as select * from {merging}"),
        ];
        let address = self.address();
        let clauses = || merge.clauses.iter().enumerate();
        for (number, _) in clauses().filter(|(_, clause)| clause.action == Action::Delete) {
            script.push(format!(
                "delete from {name} where {address} in (select address from merged where action = {number})"
            ));
        }
        for (number, clause) in clauses() {
            if let Action::Update(values) = &clause.action {
                let values = joined(values, ", ", |(column, _)| {
                    format!("{} = m.v{number}_{column}", self.column_of(merge.table, *column))
                });
                script.push(format!(
                    "update {name} set {values} from merged as m where {name}.{address} = m.address and m.action = {number}"
                ));
            }
        }
        for (number, clause) in clauses() {
            if let Action::Insert(values) = &clause.action {
                let columns = joined(values, ", ", |(column, _)| {
                    self.column_of(merge.table, *column).to_owned()
                });
                let values = joined(values, ", ", |(column, _)| format!("v{number}_{column}"));
                script.push(format!(
                    "insert into {name} ({columns}) select {values} from merged where action = {number}"
                ));
            }
        }
        script.push("drop table merged".into());
        script
    }
}
