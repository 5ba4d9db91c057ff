//! Chooses how a table's rows are found: a scan, an index search, or a union of searches in several indexes.
//!
//! ```text
//! conditions --restriction--> restrictions of single columns --ranges--> for every index: ranges of its keys, and a cost
//!                             OR of several columns ----------------------> for every part its best search, and a cost
//!            the cheapest is taken, unless hints decide
//! ```
//! The conditions stay as filters above the search, which must find at least the rows that they accept. A condition is dropped if a search
//! in the clustered index decides it completely: a key column of an integer type equals a value of the same type. (Rows found through
//! another index are read later, when they may have changed.)
//!
//! *Costs* come from the table of prices. Row counts come from the estimator and affect only the choice: every access path finds the same
//! rows.

use engine::catalog::IndexDefinition;
use engine::session::EntryColumns;

use super::estimate::Estimator;
use super::filtered::implied_by;
use super::prices;
use super::restriction::{Alternative, Reader, Restriction, narrow};
use crate::plan::{Access, Condition, IndexSeek, Node, ScanNode, SeekEnd, SeekKey, SeekRange};
use crate::state::Rule;

/// Ranges of one search, at most. Beyond, a list is left to the condition.
const RANGES_MAX: usize = 1_000;
/// In a table of fewer rows than this either way is fast, and a search for a value waits for fewer rows of others, and locks fewer: it
/// is preferred unless it finds more than this part of the rows.
const SMALL_TABLE_ROWS: f64 = 20_000.0;
const EQUAL_PART_MAX: f64 = 0.6;
/// Fewer rows than these do not tell which part of them a value has: the one row of a table is all of it. There will be more while the plan is
/// kept, and a scan that is for a change locks every one of them.
const TELLING_ROWS_MIN: f64 = 4.0;
const PREFERENCE: f64 = 0.9;
/// What the choice goes by.
pub(super) struct Choosing<'c, 's> {
    /// How many rows there will be.
    pub(super) estimator: &'c Estimator<'s>,
    /// Which places of the wide row are known when the scan begins: those of the left side, on the right of a loop.
    pub(super) is_known: &'c dyn Fn(usize) -> bool,
}

/// What conditions find in an index.
struct Found {
    ranges: Ranges,
    /// The conditions that imply its filter.
    implying: Vec<usize>,
    /// Whether its entries have all that is asked for.
    covers: bool,
}

/// A search with what it costs.
struct Candidate {
    seek: IndexSeek,
    cost: f64,
    /// The conditions that it takes up.
    conditions: Vec<usize>,
}

/// Gives a scan the best way to its rows that the conditions on it allow; answers the conditions that are still to be tested.
pub(super) fn choose(
    node: Node,
    mut conditions: Vec<Condition>,
    choosing: &Choosing<'_, '_>,
) -> (Node, Vec<Condition>) {
    let Node::Scan(mut scan) = node else {
        return (node, conditions);
    };
    let chosen = choosing.best(&scan, &conditions);
    scan.seek = chosen;
    let mut decided = decided_by_search(&scan, &conditions, choosing);
    decided.sort_unstable();
    for place in decided.into_iter().rev() {
        conditions.remove(place);
    }
    (Node::Scan(scan), conditions)
}

/// The rule by which a scan below filters finds its rows, if it is not by reading all of the table.
pub(super) fn rule_of(node: &Node) -> Option<Rule> {
    let scan = node.filtered_scan()?;
    let seek = scan.seek.as_ref()?;
    Some(match scan.seek_conditions().is_empty() {
        _ if !seek.union.is_empty() => Rule::IndexUnion,
        true => Rule::IndexCover,
        false => Rule::IndexRange,
    })
}

/// What reading a whole table costs.
pub(super) fn scan_cost(scan: &ScanNode, estimator: &Estimator<'_>) -> f64 {
    estimator.table_pages(&scan.table) * prices::PAGE + estimator.table_rows(&scan.table) * prices::ROW
}

/// What a row costs that a search in an index finds.
pub(super) fn price_each(scan: &ScanNode, index: &IndexDefinition) -> f64 {
    match index.index_id {
        1 => prices::SCANNED,
        _ => prices::entries(1.0, covers(scan, index)),
    }
}

/// Whether the entries of a nonclustered index hold all that is asked for.
fn covers(scan: &ScanNode, index: &IndexDefinition) -> bool {
    let definition = scan.table.table.definition();
    index.index_id != 1
        && !scan.locking.is_for_update()
        && EntryColumns::new(definition, index, &scan.columns).is_some()
}

impl Choosing<'_, '_> {
    fn best(&self, scan: &ScanNode, conditions: &[Condition]) -> Option<IndexSeek> {
        if scan.access == Access::Scan || scan.text_row.is_some() || scan.cursor.is_some() {
            return None;
        }
        let mut best: Option<Candidate> = None;
        let mut offer = |candidate: Candidate| {
            if best.as_ref().is_none_or(|other| candidate.cost < other.cost) {
                best = Some(candidate);
            }
        };
        self.searches(scan, conditions, &mut offer);
        if self.may(scan, Rule::IndexUnion) && matches!(scan.access, Access::Any | Access::Seek) {
            self.unions(scan, conditions).into_iter().for_each(&mut offer);
        }
        if scan.access == Access::Any {
            let whole = scan_cost(scan, self.estimator);
            best = best.filter(|candidate| candidate.cost < whole);
        }
        best.map(|candidate| candidate.seek)
    }

    /// Whether a rule may be used for a scan. What hints ask for is done anyway.
    fn may(&self, scan: &ScanNode, rule: Rule) -> bool {
        scan.access != Access::Any || self.estimator.allows(rule)
    }

    /// Offers the searches in single indexes that hints allow.
    fn searches(&self, scan: &ScanNode, conditions: &[Condition], offer: &mut dyn FnMut(Candidate)) {
        let reader = Reader {
            scan,
            is_known: self.is_known,
        };
        let restrictions = conditions.iter().enumerate();
        let restrictions: Vec<Restriction> = restrictions
            .filter_map(|(place, condition)| reader.restriction(place, condition))
            .collect();
        let indexes = &scan.table.table.definition().indexes;
        for (place, index) in indexes.iter().enumerate() {
            let is_forced = scan.access == Access::Index(place);
            if matches!(scan.access, Access::Index(_)) && !is_forced {
                continue;
            }
            // Of an index with a filter, only what the conditions leave nothing out of is of use.
            let implying = match &index.filter {
                None => Vec::new(),
                Some(filter) => match implied_by(filter, scan, conditions) {
                    Some(implying) => implying,
                    None => continue,
                },
            };
            let ranges = Ranges::of(index, &restrictions);
            // Without a range it is the whole index that is read: worth it where the index is forced, or holds all that is asked for.
            let is_whole = ranges.conditions.is_empty();
            let rule = if is_whole { Rule::IndexCover } else { Rule::IndexRange };
            if !self.may(scan, rule) {
                continue;
            }
            let covers = covers(scan, index);
            let is_part = index.filter.is_some();
            if is_whole && (index.index_id == 1 || scan.access == Access::Seek || !(is_forced || covers || is_part)) {
                continue;
            }
            let finds_one = ranges.ranges.len() == 1 && ranges.is_one_row_each(index);
            let found = Found {
                ranges,
                implying,
                covers,
            };
            offer(self.candidate(scan, (place, index), found, conditions));
            if finds_one {
                return;
            }
        }
    }

    fn candidate(
        &self,
        scan: &ScanNode,
        (place, index): (usize, &IndexDefinition),
        found: Found,
        conditions: &[Condition],
    ) -> Candidate {
        let Found {
            ranges,
            implying,
            covers,
        } = found;
        let (pages, all) = (
            self.estimator.table_pages(&scan.table),
            self.estimator.table_rows(&scan.table),
        );
        let rows = if ranges.is_one_row_each(index) {
            (ranges.ranges.len() as f64).min(all)
        } else {
            let others = implying.iter().filter(|place| !ranges.conditions.contains(place));
            let taken = ranges.conditions.iter().chain(others);
            let taken = taken.filter_map(|&place| conditions.get(place));
            let taken: Vec<Condition> = taken.cloned().collect();
            self.estimator.rows(scan, &taken).min(all)
        };
        let reading = match index.index_id {
            1 => rows * (pages / all * prices::PAGE + prices::ROW),
            // The whole index is a page at least.
            _ if ranges.conditions.is_empty() => prices::entries(rows, covers) + prices::PAGE,
            _ => prices::entries(rows, covers),
        };
        let mut cost = ranges.ranges.len() as f64 * prices::DESCENT + reading;
        let has_equal = ranges.ranges.iter().all(|range| !range.equal.is_empty());
        if all < SMALL_TABLE_ROWS && has_equal && rows <= all.max(TELLING_ROWS_MIN) * EQUAL_PART_MAX {
            cost = cost.min(scan_cost(scan, self.estimator) * PREFERENCE);
        }
        Candidate {
            cost,
            seek: IndexSeek {
                ranges: ranges.ranges,
                ..IndexSeek::of(place, SeekRange::whole())
            },
            conditions: ranges.conditions,
        }
    }

    /// For every OR whose parts each have a search: these, united.
    fn unions(&self, scan: &ScanNode, conditions: &[Condition]) -> Vec<Candidate> {
        let united = conditions.iter().enumerate().filter_map(|(place, condition)| {
            let Condition::Or(parts) = condition else { return None };
            let mut searches = Vec::with_capacity(parts.len());
            let mut cost = 0.0;
            for part in parts {
                let part = part.clone().into_conjuncts();
                let mut best: Option<Candidate> = None;
                self.searches(scan, &part, &mut |candidate| {
                    let is_better = best.as_ref().is_none_or(|other| candidate.cost < other.cost);
                    if is_better && !candidate.conditions.is_empty() {
                        best = Some(candidate);
                    }
                });
                let best = best?;
                cost += best.cost;
                searches.push(best.seek);
            }
            let mut searches = searches.into_iter();
            let mut seek = searches.next()?;
            seek.union = searches.collect();
            Some(Candidate {
                seek,
                cost,
                conditions: vec![place],
            })
        });
        united.collect()
    }
}

/// The ranges of an index that restrictions come to.
struct Ranges {
    ranges: Vec<SeekRange>,
    /// The conditions taken up.
    conditions: Vec<usize>,
}

impl Ranges {
    /// Key column by key column: what each is equal to, up to the first for which that is not known.
    fn of(index: &IndexDefinition, restrictions: &[Restriction]) -> Ranges {
        let mut found = Ranges {
            ranges: vec![SeekRange::whole()],
            conditions: Vec::new(),
        };
        for &(column, _) in &index.keys {
            let of_column: Vec<&Restriction> = restrictions.iter().filter(|one| one.column == column).collect();
            if !found.take_keys(&of_column) {
                found.take_range(&of_column);
                break;
            }
        }
        found
    }

    /// Takes up the restriction that lists the fewest keys, if there is one.
    fn take_keys(&mut self, restrictions: &[&Restriction]) -> bool {
        let listed = restrictions.iter().filter_map(|one| Some((one.condition, one.keys()?)));
        let Some((condition, keys)) = listed.min_by_key(|(_, keys)| keys.len()) else {
            return false;
        };
        if self.ranges.len() * keys.len() > RANGES_MAX {
            return false;
        }
        let former = std::mem::take(&mut self.ranges);
        self.ranges = former
            .iter()
            .flat_map(|range| {
                keys.iter().map(|key| {
                    let mut range = range.clone();
                    range.equal.push(key.clone());
                    range
                })
            })
            .collect();
        self.conditions.push(condition);
        true
    }

    /// Takes up what bounds a column.
    fn take_range(&mut self, restrictions: &[&Restriction]) {
        let mut end = SeekEnd::All;
        for restriction in restrictions {
            if let Some(range) = restriction.range() {
                let is_better = matches!(end, SeekEnd::All | SeekEnd::NotNull | SeekEnd::Between { .. });
                if is_better {
                    narrow(&mut end, range);
                    self.conditions.push(restriction.condition);
                }
            }
        }
        if !matches!(end, SeekEnd::All) {
            self.ranges.iter_mut().for_each(|range| range.end.clone_from(&end));
            return;
        }
        let several = restrictions.iter().find(|one| {
            let count = one.alternatives.len();
            count > 1 && self.ranges.len() * count <= RANGES_MAX
        });
        let Some(several) = several else { return };
        let former = std::mem::take(&mut self.ranges);
        for range in former {
            for alternative in &several.alternatives {
                let mut range = range.clone();
                match alternative {
                    Alternative::Equal(key) => range.equal.push(key.clone()),
                    Alternative::Range(end) => range.end = end.clone(),
                }
                self.ranges.push(range);
            }
        }
        self.conditions.push(several.condition);
    }

    /// Whether each range holds one row at most.
    fn is_one_row_each(&self, index: &IndexDefinition) -> bool {
        index.unique && self.ranges.iter().all(|range| range.equal.len() == index.keys.len())
    }
}

/// The conditions that every row found by the scan's search fulfils, whatever the row.
fn decided_by_search(scan: &ScanNode, conditions: &[Condition], choosing: &Choosing<'_, '_>) -> Vec<usize> {
    let definition = scan.table.table.definition();
    let Some(seek) = scan.seek.as_ref().filter(|seek| seek.union.is_empty()) else {
        return Vec::new();
    };
    let index = definition.indexes.get(seek.index).filter(|index| index.index_id == 1);
    let (Some(index), [range]) = (index, seek.ranges.as_slice()) else {
        return Vec::new();
    };
    let reader = Reader {
        scan,
        is_known: choosing.is_known,
    };
    let decides = |condition: &Condition| {
        let Condition::Compare { .. } = condition else {
            return false;
        };
        let Some(restriction) = reader.restriction(0, condition) else {
            return false;
        };
        let Some(position) = index.keys.iter().position(|(key, _)| *key == restriction.column) else {
            return false;
        };
        let sql_type = definition.columns.get(restriction.column).map(|column| column.sql_type);
        match (range.equal.get(position), restriction.alternatives.as_slice()) {
            (Some(SeekKey::Value(searched)), [Alternative::Equal(SeekKey::Value(value))]) => {
                let are_integers = sql_type.is_some_and(|own| own.is_integer() && value.sql_type.is_integer());
                are_integers && searched.same_as(value)
            }
            _ => false,
        }
    };
    let numbered = conditions.iter().enumerate();
    numbered
        .filter_map(|(place, condition)| decides(condition).then_some(place))
        .collect()
}
