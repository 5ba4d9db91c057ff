//! The indexes that an execution of a plan uses, and the kind of use: counted when a statement starts with the plan, whatever its outcome.

use std::sync::Arc;

use engine::catalog::{IndexDefinition, TableDefinition};
use engine::database::{IndexUseKind, IndexUses};
use engine::session::EntryColumns;

use super::Bound;
use crate::bind::{BoundUpdate, InsertRows, Nested};
use crate::optimize::estimate::{operators, queries_of, queries_of_condition};
use crate::plan::{BoundTable, IndexSeek, Node, QueryPlan, ScanNode, Target};

/// The uses of a plan, each operator's by itself.
#[derive(Default)]
pub(crate) struct PlanUses(Vec<(Arc<IndexUses>, IndexUseKind)>);

impl PlanUses {
    /// Those of a plan that is made.
    pub(super) fn of(bound: &Bound) -> PlanUses {
        let mut uses = PlanUses::default();
        bound.root().into_iter().for_each(|root| uses.add_operators(root));
        let mut queries: Vec<&QueryPlan> = Vec::new();
        match bound {
            Bound::Query(_) => {}
            Bound::Insert(insert) => {
                if let InsertRows::Values(rows) = &insert.rows {
                    rows.iter()
                        .flatten()
                        .flatten()
                        .for_each(|value| queries_of(value, &mut queries));
                }
                if let InsertRows::Change(rows) = &insert.rows {
                    match &rows.change {
                        Nested::Insert(insert) => uses.add_changes(&insert.target, |_| true),
                        Nested::Update(update) => uses.add_update(update),
                        Nested::Delete(delete) => uses.add_changes(&delete.search.target, |_| true),
                        Nested::Merge(merge) => uses.add_changes(&merge.search.target, |_| true),
                    }
                }
                uses.add_changes(&insert.target, |_| true);
            }
            Bound::Update(update) => {
                let values = update.assignments.iter().chain(&update.variables);
                values.for_each(|(_, value)| queries_of(value, &mut queries));
                uses.add_update(update);
            }
            Bound::Delete(delete) => uses.add_changes(&delete.search.target, |_| true),
            Bound::Merge(merge) => {
                let values = merge.clauses.iter().flat_map(|clause| clause.action.values());
                values.for_each(|value| queries_of(value, &mut queries));
                let conditions = merge.clauses.iter().filter_map(|clause| clause.condition.as_ref());
                conditions.for_each(|condition| queries_of_condition(condition, &mut queries));
                uses.add_changes(&merge.search.target, |_| true);
            }
            Bound::Condition(condition) => queries_of_condition(condition, &mut queries),
            Bound::Expressions(expressions) => expressions.iter().for_each(|one| queries_of(one, &mut queries)),
        }
        queries.into_iter().for_each(|query| uses.add_operators(&query.root));
        uses
    }

    /// Those of rows that a client loads into a target, without a plan.
    pub(crate) fn of_load(target: &Target) -> PlanUses {
        let mut uses = PlanUses::default();
        uses.add_changes(target, |_| true);
        uses
    }

    /// Counts an execution at a time, in microseconds since 1970.
    #[inline]
    pub(crate) fn note(&self, unix_micros: u64) {
        for (uses, kind) in &self.0 {
            uses.note(*kind, unix_micros);
        }
    }

    fn add(&mut self, table: &BoundTable, index_id: u32, kind: IndexUseKind) {
        let (database, definition) = (table.table.database(), table.table.definition());
        self.0.push((database.index_uses(definition, index_id), kind));
    }

    fn add_operators(&mut self, root: &Node) {
        for node in operators(root) {
            if let Node::Scan(scan) = node {
                self.add_scan(scan);
            }
        }
    }

    fn add_scan(&mut self, scan: &ScanNode) {
        match &scan.seek {
            Some(seek) => {
                self.add_seek(scan, seek);
                seek.union.iter().for_each(|other| self.add_seek(scan, other));
            }
            None => self.add(&scan.table, rows_id(scan.table.table.definition()), IndexUseKind::Scan),
        }
    }

    /// A search, with the lookups of the rows that its entries do not have whole.
    fn add_seek(&mut self, scan: &ScanNode, seek: &IndexSeek) {
        let definition = scan.table.table.definition();
        let Some(index) = definition.indexes.get(seek.index) else {
            return;
        };
        let kind = match seek.ranges.iter().all(|range| range.is_whole()) {
            true => IndexUseKind::Scan,
            false => IndexUseKind::Seek,
        };
        self.add(&scan.table, index.index_id, kind);
        if index.index_id != 1 && EntryColumns::new(definition, index, &scan.columns).is_none() {
            self.add(&scan.table, rows_id(definition), IndexUseKind::Lookup);
        }
    }

    /// The rows of a target change, and the nonclustered indexes that are chosen.
    fn add_changes(&mut self, target: &Target, is_chosen: impl Fn(&IndexDefinition) -> bool) {
        let Target::Table(table) = target else { return };
        let definition = table.table.definition();
        self.add(table, rows_id(definition), IndexUseKind::Update);
        let nonclustered = definition.indexes.iter().filter(|index| index.index_id != 1);
        for index in nonclustered.filter(|index| is_chosen(index)) {
            self.add(table, index.index_id, IndexUseKind::Update);
        }
    }

    /// An update leaves an index alone that has none of the columns it sets; rows that may move have their locators in all of them.
    fn add_update(&mut self, update: &BoundUpdate) {
        let Target::Table(table) = &update.search.target else {
            return;
        };
        let is_set = |column: usize| update.assignments.iter().any(|(set, _)| *set == column);
        let has_set = |index: &IndexDefinition| {
            let keys = index.keys.iter().map(|(column, _)| *column);
            let terms = index.filter.iter().flat_map(|filter| &filter.terms);
            let others = index.included.iter().copied().chain(terms.map(|term| term.column));
            keys.chain(others).any(is_set)
        };
        let moves_rows = table.table.definition().clustered().is_some_and(has_set);
        self.add_changes(&update.search.target, |index| moves_rows || has_set(index));
    }
}

/// The index that holds a table's rows: 1 for the clustered one, 0 for a heap.
fn rows_id(definition: &TableDefinition) -> u32 {
    u32::from(definition.clustered().is_some())
}
