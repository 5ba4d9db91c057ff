//! The sources of a query's columns: the underlying table columns, through views, subqueries and joins, and the missing key columns of
//! those tables (browse mode; sql-docs, "sp_describe_first_result_set").

use engine::catalog::TableDefinition;
use engine::error::Result;

use super::executor::Executor;
use crate::ast::Query;
use crate::bind::Binder;
use crate::plan::{Node, Origin, ScanNode, Shape};
use crate::scalar::Label;
use crate::sink::{ColumnSource, ResultColumn};

/// The sources of the columns of a query, and of columns that are added to them.
pub(super) type Sources = (Vec<Option<ColumnSource>>, Vec<(ResultColumn, ColumnSource)>);

impl Executor<'_> {
    /// The sources of a query's columns. It is bound by itself: the plan that is executed does not tell any more.
    pub(super) fn sources_of(&self, query: &Query) -> Result<Sources> {
        let bound = Binder::new(self.session, &self.batch.scope).statement_query(query);
        self.session.take_dependencies();
        let plan = bound?.plan;
        let origins: Vec<Option<(&ScanNode, usize)>> = (0..plan.columns.len())
            .map(|column| scanned(plan.root.origin_through_joins(column)?))
            .collect();
        let sources = origins
            .iter()
            .map(|origin| origin.map(|(scan, column)| source(scan, column)));
        let sources = sources.collect();
        let mut hidden = Vec::new();
        if has_rows_of_its_tables(&plan.root) {
            let mut seen: Vec<&ScanNode> = Vec::new();
            for (scan, _) in origins.iter().flatten() {
                if seen.iter().any(|other| std::ptr::eq(*other, *scan)) {
                    continue;
                }
                seen.push(scan);
                let is_shown = |key: &usize| {
                    let mut shown = origins.iter().flatten();
                    shown.any(|(other, column)| std::ptr::eq(*other, *scan) && column == key)
                };
                let missing = key_of(scan.table.table.definition())
                    .into_iter()
                    .filter(|key| !is_shown(key));
                hidden.extend(missing.map(|key| (hidden_column(scan, key), source(scan, key))));
            }
        }
        Ok((sources, hidden))
    }
}

fn scanned(origin: Origin<'_>) -> Option<(&ScanNode, usize)> {
    let Node::Scan(scan) = origin.source else { return None };
    Some((scan, origin.column))
}

/// The columns that identify rows: those of the primary key, else of the first unique index, else none.
fn key_of(table: &TableDefinition) -> Vec<usize> {
    let primary = table.indexes.iter().find(|index| index.primary_key);
    let key = primary.or_else(|| table.indexes.iter().find(|index| index.is_unique_of_all()));
    key.map_or_else(Vec::new, |index| index.keys.iter().map(|(column, _)| *column).collect())
}

fn source(scan: &ScanNode, column: usize) -> ColumnSource {
    let table = scan.table.table.definition();
    let own = table.columns.get(column);
    ColumnSource {
        database: scan.table.table.database().name(),
        schema: table.schema.clone(),
        table: table.name.clone(),
        column: own.map(|own| own.name.clone()).unwrap_or_default(),
        is_key: key_of(table).contains(&column),
    }
}

fn hidden_column(scan: &ScanNode, column: usize) -> ResultColumn {
    let own = &scan.table.table.definition().columns[column];
    ResultColumn {
        label: Label::Implicit(own.collation),
        nullable: own.nullable,
        identity: own.identity.is_some(),
        from_table: true,
        ..ResultColumn::new(&own.name, own.sql_type)
    }
}

/// Whether each row of a node stands for one row of each table below it, so that keys can be added.
fn has_rows_of_its_tables(node: &Node) -> bool {
    if let Node::Derived(derived) = node {
        return has_rows_of_its_tables(&derived.plan.root);
    }
    let is_source = matches!(
        node,
        Node::Scan(_) | Node::Variable(_) | Node::View(_) | Node::Values(_) | Node::Single
    );
    let keeps_rows = match node.shape() {
        Shape::Passed(_) => !matches!(node, Node::Distinct(_)),
        Shape::Joined => matches!(node, Node::From(_) | Node::Outer(_)),
        Shape::Extended(_) => true,
        Shape::Computed(_) => matches!(node, Node::Project(_)),
        Shape::Source(_) | Shape::United => false,
    };
    is_source || keeps_rows && node.inputs().into_iter().all(has_rows_of_its_tables)
}
