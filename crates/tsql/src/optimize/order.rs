//! Orders that rows have anyway: sorts that are not needed, first rows that need not be looked for, least and greatest values at the end of
//! an index.
//!
//! ```text
//! ORDER BY b DESC      where a = 1 searched in an index (a, b): backward, no sort
//! TOP 10 ... ORDER BY  an index in that order, read until ten rows have passed the conditions
//! MIN(a), MAX(b)       one row from the low end of an index on a, one from the high end of an index on b
//! ```
//! Rows of a search come in the order of its index, of a table with a clustered index in the order of that; filters and the left side of a
//! loop keep the order they get. Columns that a condition sets equal to something do not count in an order, and neither does what
//! stands behind all columns of a unique key.

use engine::catalog::{IndexDefinition, TableDefinition};
use engine::session::EntryColumns;
use engine::types::{SqlType, Value};

use super::estimate::Estimator;
use super::{access, ordered, prices};
use crate::ast::ComparisonOperator as Op;
use crate::plan::{
    Access, AggregateFunction, Condition, Expr, ExprKind, IndexSeek, Node, ScanNode, SeekEnd, SeekKey, SeekRange,
    SortKey, TopCount,
};
use crate::state::Rule;

/// How many rows are wanted where that is not known before the statement runs.
const GOAL_UNKNOWN: f64 = 100.0;

/// A column that rows are to be ordered by.
#[derive(Clone, Copy, Debug)]
struct OrderColumn {
    place: usize,
    descending: bool,
}

/// Which order is asked for, and what for.
struct Wish<'w> {
    columns: &'w [OrderColumn],
    /// The first so many rows alone are wanted.
    goal: Option<f64>,
    /// Rows where the first column is NULL are not wanted.
    without_null: bool,
    estimator: &'w Estimator<'w>,
}

/// Takes a sort away whose input comes in its order, or may come so at no cost.
pub(super) fn sort(node: &mut Node, estimator: &Estimator<'_>) {
    unsort(node, None, estimator);
}

/// The same for the sort below a TOP, or an OFFSET with FETCH, which wants the first rows alone.
pub(super) fn first_rows(node: &mut Node, estimator: &Estimator<'_>) {
    let wanted = |count: &Expr| {
        let count = estimator.known(count).and_then(|value| value.as_i64());
        count.map_or(GOAL_UNKNOWN, |count| count.max(0) as f64)
    };
    let (input, goal) = match node {
        Node::Top { input, top, .. } if !top.percent => (input, wanted(&top.count)),
        Node::Slice {
            input,
            offset,
            fetch: Some(fetch),
        } => (input, wanted(offset) + wanted(fetch)),
        _ => return,
    };
    unsort(input, Some(goal).filter(|_| estimator.has_goals), estimator);
}

/// The same for the sort of a whole statement of which so many rows are wanted soon: FAST.
pub(super) fn soon(root: &mut Node, goal: f64, estimator: &Estimator<'_>) {
    unsort(root, Some(goal), estimator);
}

fn unsort(node: &mut Node, goal: Option<f64>, estimator: &Estimator<'_>) {
    let rules = estimator.rules();
    if rules.choosing(Rule::SortFromOrder, node, unsort_ordered) != Some(true) {
        rules.choosing(Rule::SortFromIndex, node, |node| unsort_found(node, goal, estimator));
    }
}

/// Takes a sort away whose input joins or groups give its order. False where they do not.
fn unsort_ordered(node: &mut Node) -> bool {
    let Node::Sort { input, keys, .. } = node else {
        return false;
    };
    if is_found(input) || !ordered::satisfies(input, keys) {
        return false;
    }
    ordered::rely_on(input);
    if let Node::Sort { input, .. } = std::mem::replace(node, Node::Empty) {
        *node = *input;
    }
    true
}

/// Takes a sort away whose input an index may give in its order, if that costs less.
fn unsort_found(node: &mut Node, goal: Option<f64>, estimator: &Estimator<'_>) {
    let Node::Sort { input, keys, .. } = node else { return };
    let Some(columns) = columns_below(input, keys) else {
        return;
    };
    let wish = Wish {
        columns: &columns,
        goal,
        without_null: false,
        estimator,
    };
    let below = match &mut **input {
        Node::Project { input, .. } => input,
        _ => input,
    };
    if wish.arrange(below, &mut Vec::new())
        && let Node::Sort { input, .. } = std::mem::replace(node, Node::Empty)
    {
        *node = *input;
    }
}

/// Whether rows come from one table, or from searches for rows that come so: what [`Rule::SortFromIndex`] is about.
fn is_found(node: &Node) -> bool {
    match node {
        Node::Filter { input, .. } | Node::Project { input, .. } => is_found(input),
        Node::Loop { left, right, .. } if is_single(left) => is_found(right),
        Node::Loop { left, .. } => is_found(left),
        Node::Scan(_) => true,
        _ => false,
    }
}

/// The columns of the wide row that the keys of a sort are, below its projection.
fn columns_below(input: &Node, keys: &[SortKey]) -> Option<Vec<OrderColumn>> {
    let Node::Project { expressions, .. } = input else {
        return None;
    };
    let columns = keys.iter().map(|key| match expressions.get(key.column)?.kind {
        ExprKind::Column(place) => Some(OrderColumn {
            place,
            descending: key.descending,
        }),
        _ => None,
    });
    columns.collect()
}

/// Lets MIN and MAX without GROUP BY read one row each from the ends of indexes, where each of them can.
pub(super) fn extremes(node: &mut Node, estimator: &Estimator<'_>) {
    let Node::Aggregate {
        input,
        input_width,
        keys,
        sets,
        aggregates,
        ..
    } = node
    else {
        return;
    };
    let is_whole = keys.is_empty() && sets.is_empty() && !aggregates.is_empty();
    if !is_whole || !is_chain(input) {
        return;
    }
    let mut ends: Vec<Node> = Vec::with_capacity(aggregates.len());
    for aggregate in aggregates.iter() {
        let descending = match aggregate.function {
            AggregateFunction::Minimum => false,
            AggregateFunction::Maximum => true,
            _ => return,
        };
        let Some(ExprKind::Column(place)) = aggregate.argument.as_ref().map(|argument| &argument.kind) else {
            return;
        };
        let wish = Wish {
            columns: &[OrderColumn {
                place: *place,
                descending,
            }],
            goal: Some(1.0),
            without_null: true,
            estimator,
        };
        let mut end = Node::clone(input);
        if !wish.arrange(&mut end, &mut Vec::new()) {
            return;
        }
        ends.push(Node::Top {
            input: Box::new(end),
            top: TopCount {
                count: Expr::constant(Value::BigInt(1), SqlType::BigInt),
                percent: false,
                ties: None,
            },
            width: *input_width,
        });
    }
    // Rows from the other ends do no harm: they are rows of the input.
    **input = match ends.pop() {
        Some(only) if ends.is_empty() => only,
        last => Node::Append {
            inputs: ends.into_iter().chain(last).collect(),
            width: *input_width,
        },
    };
}

/// Puts the rows of a tree of FROM into the order of expressions, NULL first: by an index where one gives it at less cost, else by a sort.
pub(super) fn arrange(mut node: Node, keys: Vec<Expr>, estimator: &Estimator<'_>) -> Node {
    let columns = keys.iter().map(|key| {
        let place = ordered::place_of(key).filter(|_| !key.sql_type.is_binary());
        place.map(|place| OrderColumn {
            place,
            descending: false,
        })
    });
    if let Some(columns) = columns.collect::<Option<Vec<_>>>() {
        let wish = Wish {
            columns: &columns,
            goal: None,
            without_null: false,
            estimator,
        };
        if !columns.is_empty() && is_chain(&node) && wish.arrange(&mut node, &mut Vec::new()) {
            return node;
        }
    }
    match keys.is_empty() {
        true => node,
        false => Node::Arrange {
            input: Box::new(node),
            ranges: Vec::new(),
            keys,
        },
    }
}

/// Whether a tree is a scan under filters.
fn is_chain(node: &Node) -> bool {
    match node {
        Node::Scan(_) => true,
        Node::Filter { input, .. } => is_chain(input),
        _ => false,
    }
}

impl Wish<'_> {
    /// Makes a tree of FROM give its rows in order; false, and nothing changed, when it cannot or when that does not pay. `conditions`
    /// are those above.
    fn arrange(&self, node: &mut Node, conditions: &mut Vec<Condition>) -> bool {
        match node {
            Node::Filter { input, condition } => {
                conditions.extend(condition.clone().into_conjuncts());
                self.arrange(input, conditions)
            }
            // What is tested once, before anything is read.
            Node::Loop { left, right, .. } if is_single(left) => self.arrange(right, conditions),
            Node::Loop { left, .. } => self.arrange(left, conditions),
            Node::Scan(scan) => self.arrange_scan(scan, conditions),
            _ => false,
        }
    }

    fn arrange_scan(&self, scan: &mut ScanNode, conditions: &[Condition]) -> bool {
        let table = scan.table.clone();
        let definition = table.table.definition();
        let own = scan.offset..scan.offset + definition.columns.len();
        if !self.columns.iter().all(|column| own.contains(&column.place)) {
            return false;
        }
        let mut fixed: Vec<usize> = conditions
            .iter()
            .filter_map(|one| fixed_column(one, scan.offset))
            .collect();
        if let Some(seek) = &mut scan.seek {
            let index = definition.indexes.get(seek.index).filter(|_| seek.union.is_empty());
            let Some(index) = index else { return false };
            let searches_null = |range: &SeekRange| range.equal.iter().any(|key| matches!(key, SeekKey::Null));
            if self.without_null && seek.ranges.iter().any(searches_null) {
                return false;
            }
            if let [range] = seek.ranges.as_slice() {
                fixed.extend(index.keys.iter().take(range.equal.len()).map(|(column, _)| *column));
            }
            let Some(is_backward) = self.direction(definition, index, scan.offset, &fixed) else {
                return false;
            };
            (seek.is_backward, seek.keeps_order) = (is_backward, true);
            self.leave_out_null(seek, index, scan.offset);
            return true;
        }
        let clustered = definition.clustered();
        if let Some(is_backward) = clustered.and_then(|index| self.direction(definition, index, scan.offset, &fixed)) {
            if is_backward || self.without_null {
                if scan.access == Access::Scan {
                    return false;
                }
                scan.seek = self.whole(0, definition, is_backward, scan.offset);
            }
            return true;
        }
        let best = self.cheapest_index(scan, conditions, &fixed);
        scan.seek = best.and_then(|(place, is_backward)| self.whole(place, definition, is_backward, scan.offset));
        scan.seek.is_some()
    }

    /// A nonclustered index that has the order, if reading it instead of the table pays, and whether backward.
    fn cheapest_index(&self, scan: &ScanNode, conditions: &[Condition], fixed: &[usize]) -> Option<(usize, bool)> {
        let definition = scan.table.table.definition();
        let (all, part) = (self.estimator.table_rows(&scan.table), self.part_of(scan, conditions));
        let read = self.goal.map_or(all, |goal| (goal / part.max(1.0 / all)).min(all));
        let sort_cost = match self.goal {
            Some(_) => prices::HEAPED_ROW * all * part,
            None => prices::SORTED_ROW * all * part,
        };
        let mut best = (access::scan_cost(scan, self.estimator) + sort_cost, None);
        for (place, index) in definition
            .indexes
            .iter()
            .enumerate()
            .filter(|(_, index)| index.index_id != 1)
        {
            let is_allowed = matches!(scan.access, Access::Any) || scan.access == Access::Index(place);
            let Some(is_backward) = self
                .direction(definition, index, scan.offset, fixed)
                .filter(|_| is_allowed)
            else {
                continue;
            };
            let covers = !scan.locking.is_for_update() && EntryColumns::new(definition, index, &scan.columns).is_some();
            let cost = prices::entries(read, covers);
            if cost < best.0 {
                best = (cost, Some((place, is_backward)));
            }
        }
        best.1
    }

    /// The part of the table's rows for which conditions hold.
    fn part_of(&self, scan: &ScanNode, conditions: &[Condition]) -> f64 {
        let rows = self.estimator.rows(scan, conditions);
        rows / self.estimator.table_rows(&scan.table)
    }

    fn whole(&self, place: usize, definition: &TableDefinition, is_backward: bool, offset: usize) -> Option<IndexSeek> {
        let mut seek = IndexSeek {
            is_backward,
            keeps_order: true,
            ..IndexSeek::of(place, SeekRange::whole())
        };
        self.leave_out_null(&mut seek, definition.indexes.get(place)?, offset);
        Some(seek)
    }

    /// Has a search leave out NULL of the wish's first column, if it is the first that is not equal to something.
    fn leave_out_null(&self, seek: &mut IndexSeek, index: &IndexDefinition, offset: usize) {
        let first = self.columns.first().filter(|_| self.without_null);
        for range in &mut seek.ranges {
            let next = index.keys.get(range.equal.len()).map(|(column, _)| offset + column);
            if matches!(range.end, SeekEnd::All) && next.is_some() && first.map(|column| column.place) == next {
                range.end = SeekEnd::NotNull;
            }
        }
    }

    /// Whether the rows of an index come in the wish's order: forward (false) or backward (true).
    fn direction(
        &self,
        definition: &TableDefinition,
        index: &IndexDefinition,
        offset: usize,
        fixed: &[usize],
    ) -> Option<bool> {
        // Entries of one key come in the order of their locators.
        let behind = definition.clustered().filter(|_| !index.unique && index.index_id != 1);
        let behind = behind.map_or(&[][..], |clustered| clustered.keys.as_slice());
        let mut of_index = index
            .keys
            .iter()
            .chain(behind)
            .filter(|(column, _)| !fixed.contains(column));
        let mut left = index.keys.iter().filter(|(column, _)| !fixed.contains(column)).count();
        let mut direction = None;
        let mut seen = Vec::new();
        for wanted in self.columns {
            let column = wanted.place - offset;
            if fixed.contains(&column) || seen.contains(&column) {
                continue;
            }
            if left == 0 && index.unique {
                break;
            }
            let &(found, descends) = of_index.find(|(column, _)| !seen.contains(column))?;
            let is_backward = descends != wanted.descending;
            if found != column || *direction.get_or_insert(is_backward) != is_backward {
                return None;
            }
            seen.push(column);
            left = left.saturating_sub(1);
        }
        // NULL is left out at the column behind those that are fixed by the search itself.
        let direction = direction.unwrap_or(false);
        (!self.without_null || !seen.is_empty()).then_some(direction)
    }
}

/// Whether a tree gives one row at most, without columns.
pub(super) fn is_single(node: &Node) -> bool {
    match node {
        Node::Single => true,
        Node::Filter { input, .. } => is_single(input),
        _ => false,
    }
}

/// The column of a scan that a condition sets equal to something that no row changes.
pub(super) fn fixed_column(condition: &Condition, offset: usize) -> Option<usize> {
    let Condition::Compare {
        operator: Op::Equal,
        left,
        right,
    } = condition
    else {
        return None;
    };
    match (&left.kind, &right.kind) {
        (ExprKind::Column(place), _) if right.is_same_for_every_row() => place.checked_sub(offset),
        (_, ExprKind::Column(place)) if left.is_same_for_every_row() => place.checked_sub(offset),
        _ => None,
    }
}
