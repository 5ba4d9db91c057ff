//! The requested order of rows, and the index that gives it.
//!
//! ```text
//! ORDER BY a, b     index (a, b)     the whole order
//!                   index (a)        the first column: rows with equal values must still be sorted, and TOP reads only the groups it needs
//! ```
//! The rows of a search arrive in index order. Instead of a table scan, a whole index is read if that costs less than the sort.

use engine::catalog::{IndexDefinition, TableDefinition};
use engine::session::EntryColumns;

use super::estimate::{Estimator, Sources};
use super::order::fixed_column;
use super::ordered::tells_apart;
use super::{access, prices};
use crate::plan::{Access, Condition, IndexSeek, Node, ScanNode, SeekEnd, SeekKey, SeekRange};

/// A column that rows are to be ordered by.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderColumn {
    pub(super) place: usize,
    pub(super) descending: bool,
}

/// Which order is asked for, and what for.
pub(super) struct Wish<'w> {
    /// Places by which rows come first, in whatever sequence and direction.
    pub(super) together: &'w [usize],
    pub(super) columns: &'w [OrderColumn],
    /// The first so many rows alone are wanted.
    pub(super) goal: Option<f64>,
    /// Rows where the first column is NULL are not wanted.
    pub(super) without_null: bool,
    /// Whether the order of the first columns alone is of use.
    pub(super) is_partly_welcome: bool,
    pub(super) estimator: &'w Estimator<'w>,
}

/// What an index gives of a wish.
#[derive(Clone, Copy, Debug)]
struct Given {
    /// So many of the first columns.
    columns: usize,
    is_backward: bool,
}

impl Wish<'_> {
    /// Makes a tree of FROM give its rows in order, or in the order of the first columns. Of how many; `None`, and nothing changed, when it
    /// cannot or when that does not pay. `conditions` are those above.
    pub(super) fn arrange(&self, node: &mut Node, conditions: &mut Vec<Condition>) -> Option<usize> {
        if let Node::Scan(scan) = node {
            return self.arrange_scan(scan, conditions);
        }
        if let Node::Filter(filter) = node {
            conditions.extend(filter.condition.clone().into_conjuncts());
        }
        // Beside what is tested once, before anything is read, the outer side of loops.
        match matches!(node, Node::Filter(_) | Node::Join(_)) {
            true => self.arrange(node.driving_mut()?, conditions),
            false => None,
        }
    }

    fn arrange_scan(&self, scan: &mut ScanNode, conditions: &[Condition]) -> Option<usize> {
        let table = scan.table.clone();
        let definition = table.table.definition();
        let mut fixed: Vec<usize> = conditions
            .iter()
            .filter_map(|one| fixed_column(one, scan.offset))
            .collect();
        let is_whole = scan.seek.as_ref().is_some_and(|seek| is_whole(seek, scan.access));
        if let Some(seek) = &mut scan.seek {
            let index = definition.indexes.get(seek.index).filter(|_| seek.union.is_empty());
            let index = index?;
            let searches_null = |range: &SeekRange| range.equal.iter().any(|key| matches!(key, SeekKey::Null));
            if self.without_null && seek.ranges.iter().any(searches_null) {
                return None;
            }
            if let [range] = seek.ranges.as_slice() {
                fixed.extend(index.keys.iter().take(range.equal.len()).map(|(column, _)| *column));
            }
            let given = self.given(definition, index, scan.offset, &fixed);
            if !is_whole || given.is_some_and(|given| given.columns == self.columns.len()) {
                let given = given?;
                (seek.is_backward, seek.keeps_order) = (given.is_backward, true);
                self.leave_out_null(seek, index, scan.offset);
                return Some(given.columns);
            }
        }
        let clustered = definition.clustered();
        let given = clustered.and_then(|index| self.given(definition, index, scan.offset, &fixed));
        let given = given.filter(|given| !given.is_backward && !self.without_null || scan.access != Access::Scan);
        if let Some(given) = given.filter(|given| !is_whole && given.columns == self.columns.len()) {
            self.read_clustered(scan, definition, given);
            return Some(given.columns);
        }
        let (place, given) = self.cheapest_index(scan, conditions, &fixed, given)?;
        match place {
            None => self.read_clustered(scan, definition, given),
            Some(place) => scan.seek = Some(self.whole(place, definition, given.is_backward, scan.offset)?),
        }
        Some(given.columns)
    }

    /// Reads a table in the order of its clustered index, or backward.
    fn read_clustered(&self, scan: &mut ScanNode, definition: &TableDefinition, given: Given) {
        scan.seek = match given.is_backward || self.without_null {
            true => self.whole(0, definition, given.is_backward, scan.offset),
            false => None,
        };
    }

    /// The index that gives the most for the least, if reading it pays instead of the table, or of the index that has been chosen because it holds
    /// all that is asked for: its place, none for the clustered one, which gives what is `clustered`.
    fn cheapest_index(
        &self,
        scan: &ScanNode,
        conditions: &[Condition],
        fixed: &[usize],
        clustered: Option<Given>,
    ) -> Option<(Option<usize>, Given)> {
        let definition = scan.table.table.definition();
        let (all, part) = (self.estimator.table_rows(&scan.table), self.part_of(scan, conditions));
        let sort_cost = match self.goal {
            Some(_) => prices::HEAPED_ROW * all * part,
            None => prices::SORTED_ROW * all * part,
        };
        let scanned = access::scan_cost(scan, self.estimator);
        let read_anyway = match scan.seek.is_some() {
            true => prices::entries(all, true),
            false => scanned,
        };
        let mut best = (read_anyway + sort_cost, None);
        if let Some(given) = clustered {
            let (read, sorting) = self.read_and_sorted(scan, part, given);
            let cost = scanned * read / all + sorting;
            // An order that costs nothing is taken whatever it is expected to save.
            if scan.seek.is_none() || cost < best.0 {
                best = (best.0.min(cost), Some((None, given)));
            }
        }
        for (place, index) in definition
            .indexes
            .iter()
            .enumerate()
            .filter(|(_, index)| index.index_id != 1 && index.filter.is_none())
        {
            let is_allowed = matches!(scan.access, Access::Any) || scan.access == Access::Index(place);
            let Some(given) = self.given(definition, index, scan.offset, fixed).filter(|_| is_allowed) else {
                continue;
            };
            let covers = !scan.locking.is_for_update() && EntryColumns::new(definition, index, &scan.columns).is_some();
            let (read, sorting) = self.read_and_sorted(scan, part, given);
            let cost = prices::entries(read, covers) + sorting;
            if cost < best.0 {
                best = (cost, Some((Some(place), given)));
            }
        }
        best.1
    }

    /// How many rows are read in the order that an index gives, of which conditions leave a part; and what sorting the rest of the order costs.
    fn read_and_sorted(&self, scan: &ScanNode, part: f64, given: Given) -> (f64, f64) {
        let all = self.estimator.table_rows(&scan.table);
        let for_goal = |goal: f64| goal / part.max(1.0 / all);
        if given.columns == self.columns.len() {
            return (self.goal.map_or(all, |goal| for_goal(goal).min(all)), 0.0);
        }
        let sources = Sources::of_scan(scan);
        let places = self.columns.iter().take(given.columns).map(|column| column.place);
        let places = places.chain(self.together.iter().copied());
        let groups = self
            .estimator
            .groups(&places.collect::<Vec<_>>(), all, &sources)
            .max(1.0);
        // The group of the last row that is wanted is read to its end.
        let read = self.goal.map_or(all, |goal| (for_goal(goal) + all / groups).min(all));
        (read, prices::sorting_in_groups(read * part, read / all * groups))
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

    /// What the rows of an index give of the wish, forward or backward; none where that is of no use.
    fn given(
        &self,
        definition: &TableDefinition,
        index: &IndexDefinition,
        offset: usize,
        fixed: &[usize],
    ) -> Option<Given> {
        if !definition.is_in_order(index) {
            return None;
        }
        // Entries of one key come in the order of their locators.
        let behind = definition.clustered().filter(|_| !index.unique && index.index_id != 1);
        let behind = behind.map_or(&[][..], |clustered| clustered.keys.as_slice());
        let mut of_index = index
            .keys
            .iter()
            .chain(behind)
            .filter(|(column, _)| !fixed.contains(column));
        let mut left = index.keys.iter().filter(|(column, _)| !fixed.contains(column)).count();
        let is_own = |place: usize| (offset..offset + definition.columns.len()).contains(&place);
        let apart = self
            .together
            .iter()
            .filter(|&&place| is_own(place))
            .map(|place| place - offset);
        let apart: Vec<usize> = apart.filter(|column| !fixed.contains(column)).collect();
        if !self.together.iter().all(|&place| is_own(place)) {
            return None;
        }
        let mut seen = seen_together(apart, &mut of_index, definition)?;
        left -= seen.len().min(left);
        let (mut direction, mut columns) = (None, 0);
        let all_own = self.columns.iter().all(|wanted| is_own(wanted.place));
        for wanted in self.columns.iter().take_while(|wanted| is_own(wanted.place)) {
            let column = wanted.place - offset;
            if fixed.contains(&column) || seen.contains(&column) {
                columns += 1;
                continue;
            }
            if left == 0 && index.unique && all_own {
                columns = self.columns.len();
                break;
            }
            let next = of_index.find(|(column, _)| !seen.contains(column));
            let Some((_, descends)) = next.filter(|(found, _)| *found == column) else {
                break;
            };
            // Columns behind another are in order within its distinct values.
            let is_last = columns + 1 == self.columns.len();
            let is_backward = *descends != wanted.descending;
            if !is_last && !tells_apart(definition, column) || *direction.get_or_insert(is_backward) != is_backward {
                break;
            }
            seen.push(column);
            left = left.saturating_sub(1);
            columns += 1;
        }
        let is_of_use = columns == self.columns.len() || self.is_partly_welcome && !seen.is_empty();
        // NULL is left out at the column behind those that are fixed by the search itself.
        (is_of_use && (!self.without_null || !seen.is_empty())).then_some(Given {
            columns,
            is_backward: direction.unwrap_or(false),
        })
    }
}

/// Takes from the columns of an index those that rows are to come by, in its sequence; none where another stands before them.
fn seen_together<'i>(
    mut apart: Vec<usize>,
    of_index: &mut impl Iterator<Item = &'i (usize, bool)>,
    definition: &TableDefinition,
) -> Option<Vec<usize>> {
    let mut seen = Vec::new();
    while !apart.is_empty() {
        let (column, _) = of_index.next().filter(|(column, _)| tells_apart(definition, *column))?;
        if seen.contains(column) {
            continue;
        }
        if !apart.contains(column) {
            return None;
        }
        apart.retain(|other| other != column);
        seen.push(*column);
    }
    Some(seen)
}

/// Whether a search was chosen because the index holds all that is asked for: another index may do as well.
fn is_whole(seek: &IndexSeek, access: Access) -> bool {
    let [range] = seek.ranges.as_slice() else { return false };
    access == Access::Any && seek.union.is_empty() && range.equal.is_empty() && matches!(range.end, SeekEnd::All)
}
