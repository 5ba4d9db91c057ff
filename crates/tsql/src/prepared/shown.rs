//! Plans of statements as shown to users: the operators of the query, under the one that changes the target.

use super::Bound;
use crate::bind::{BoundInsert, InsertRows, Nested};
use crate::optimize::estimate::Expectations;
use crate::optimize::shown::{Own, ShownOperator, quoted, show};
use crate::plan::{Node, Target};
use crate::showplan::escaped;

impl Bound {
    /// The operators of its query, if it has one.
    pub(super) fn root(&self) -> Option<&Node> {
        match self {
            Bound::Query(query) => Some(&query.plan.root),
            Bound::Insert(insert) => root_of(insert),
            Bound::Update(update) => Some(&update.search.node),
            Bound::Delete(delete) => Some(&delete.search.node),
            Bound::Merge(merge) => Some(&merge.search.node),
            Bound::Condition(_) | Bound::Expressions(_) => None,
        }
    }

    /// StatementType.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Bound::Insert(_) => "INSERT",
            Bound::Update(_) => "UPDATE",
            Bound::Delete(_) => "DELETE",
            Bound::Merge(_) => "MERGE",
            _ => "SELECT",
        }
    }

    /// Its operators, with what was expected of them; none of a condition or value.
    pub(super) fn shown(&self, expectations: &Expectations) -> Option<ShownOperator> {
        let rows = match (self.root(), self) {
            (Some(root), _) => show(root, expectations),
            (None, Bound::Insert(insert)) => {
                let rows = match &insert.rows {
                    InsertRows::Values(rows) => rows.len(),
                    _ => 1,
                };
                ShownOperator::constant(rows)
            }
            _ => return None,
        };
        Some(match self {
            Bound::Insert(insert) => change("Insert", &insert.target, of_nested(insert, rows)),
            Bound::Update(update) => change("Update", &update.search.target, rows),
            Bound::Delete(delete) => change("Delete", &delete.search.target, rows),
            Bound::Merge(merge) => change("Merge", &merge.search.target, rows),
            _ => rows,
        })
    }
}

/// The operators of the query of an INSERT; those of the change whose rows it takes.
fn root_of(insert: &BoundInsert) -> Option<&Node> {
    match &insert.rows {
        InsertRows::Query(plan) => Some(&plan.root),
        InsertRows::Change(rows) => match &rows.change {
            Nested::Insert(insert) => root_of(insert),
            Nested::Update(update) => Some(&update.search.node),
            Nested::Delete(delete) => Some(&delete.search.node),
            Nested::Merge(merge) => Some(&merge.search.node),
        },
        InsertRows::Values(_) | InsertRows::Execute => None,
    }
}

/// With the operator of the change whose rows an INSERT takes.
fn of_nested(insert: &BoundInsert, rows: ShownOperator) -> ShownOperator {
    let InsertRows::Change(taken) = &insert.rows else {
        return rows;
    };
    match &taken.change {
        Nested::Insert(insert) => change("Insert", &insert.target, rows),
        Nested::Update(update) => change("Update", &update.search.target, rows),
        Nested::Delete(delete) => change("Delete", &delete.search.target, rows),
        Nested::Merge(merge) => change("Merge", &merge.search.target, rows),
    }
}

/// The operator that changes the rows of a target.
fn change(action: &str, target: &Target, rows: ShownOperator) -> ShownOperator {
    let (place, argument, object) = match target {
        Target::Table(table) => {
            let definition = table.table.definition();
            let (place, index) = match definition.clustered() {
                Some(index) => ("Clustered Index", Some(quoted([&index.name]))),
                None => ("Table", None),
            };
            let database = table.table.database().name();
            let parts = [&database, &definition.schema, &definition.name].map(|part| quoted([part]));
            let mut object = format!(
                "<Object Database=\"{}\" Schema=\"{}\" Table=\"{}\"",
                escaped(&parts[0]),
                escaped(&parts[1]),
                escaped(&parts[2])
            );
            match &index {
                Some(index) => object.push_str(&format!(" Index=\"{}\" IndexKind=\"Clustered\"", escaped(index))),
                None => object.push_str(" IndexKind=\"Heap\""),
            }
            let all: Vec<String> = parts.into_iter().chain(index).collect();
            (
                place,
                format!("OBJECT:({})", all.join(".")),
                object + " Storage=\"RowStore\"/>",
            )
        }
        Target::View(view) => (
            "View",
            format!("OBJECT:({})", quoted([&view.name])),
            format!("<Object Table=\"{}\"/>", escaped(&quoted([&view.name]))),
        ),
        Target::Variable(slot, _) => {
            let name = format!("[@{slot}]");
            (
                "Table",
                format!("OBJECT:({name})"),
                format!("<Object Table=\"{name}\"/>"),
            )
        }
    };
    let physical = format!("{place} {action}");
    let mut own = Own::of(&physical);
    own.before = object;
    ShownOperator {
        physical,
        logical: action.to_owned(),
        argument,
        rows: rows.rows,
        io_cost: 0.01,
        cpu_cost: 0.000_001 * rows.rows,
        row_bytes: 9,
        executions: 1.0,
        own,
        inputs: vec![rows],
        ..ShownOperator::default()
    }
}
