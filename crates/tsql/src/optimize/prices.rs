//! The costs of the steps of a plan: one table behind all choices.
//!
//! The unit is a row that a scan reads and tests, about 55 ns on an Intel Xeon of the fourth generation: a million orders of the shop
//! (`benches/measuring/orders.py`), in 5,000 pages, in 55 ms. Of the others
//! ```text
//! SEARCH, FETCH                   113,000 orders found by customer in 11,000 searches: 199 ms, 30 rows' time each; 1 us, or 18, while
//!                                 the pages stay near the processor
//! BUILD, PROBE, MERGE, SORT       250,000 orders joined with a million lines, and the lines sorted (the example `join_methods`)
//! ```
//! The 113 questions to films (`benches/measure.py films`) take 0.63 of the processor time at a price of 18 for both that they take at 4
//! and 3, and 0.86 of it at 8 and 8: loops are repeated more often than expected, so a step in one may not be priced too low.

/// A page that is read in order, beside its rows.
pub(super) const PAGE: f64 = 60.0;
/// A row that is read where it lies, beside its page.
pub(super) const ROW: f64 = 0.6;
/// A row of a scan, with its part of a page of 150 of them.
pub(super) const SCANNED: f64 = PAGE / 150.0 + ROW;
/// An entry of a nonclustered index, with its part of a page of 200 of them.
pub(super) const ENTRY: f64 = PAGE / 200.0 + ROW;
/// Going from the root of an index to a leaf, for each range of a search that is done once.
pub(super) const DESCENT: f64 = 18.0;
/// A search that is repeated, beside the rows that it finds.
pub(super) const SEARCH: f64 = 18.0;
/// A row that is fetched by the locator in an entry.
pub(super) const FETCH: f64 = 18.0;

/// A row that is put into a hash table.
pub(super) const BUILD: f64 = 2.0;
/// A row that is looked for in one.
pub(super) const PROBE: f64 = 1.0;
/// A row that a bitmap of the table's keys leaves out: the scan decodes its key alone, and less of it than is read otherwise.
pub(super) const PASSED_OVER: f64 = 0.25;
/// A row of either side of a merge join: 250,000 orders and a million lines that take 174 ms to be read are joined in 205 ms by merging,
/// and in 389 ms by a hash table.
pub(super) const MERGE: f64 = 0.25;
/// A row that a merge join keeps for several of the other side.
pub(super) const KEEP: f64 = 0.5;
/// A pair of rows that is compared.
pub(super) const PAIR: f64 = 0.5;
/// A row that comes out of a join.
pub(super) const OUTPUT: f64 = 0.2;
/// Putting a subquery's operators together and taking them apart: about 5 us.
pub(super) const OPENING: f64 = 60.0;

/// A row of one table that is sorted with all others, and one that is kept in a heap of the first ones.
pub(super) const SORTED_ROW: f64 = 3.0;
pub(super) const HEAPED_ROW: f64 = 0.6;
/// A row of a join that is sorted, and for each doubling of their number: a million of them in 214 ms, or 1.5 rows read each.
const SORT: f64 = 0.6;
const DOUBLING: f64 = 0.07;
/// A group of rows that is sorted by itself, beside its rows.
const GROUP: f64 = 1.0;

/// What sorting so many rows of a join costs.
pub(super) fn sorting(rows: f64) -> f64 {
    rows * (SORT + DOUBLING * rows.max(2.0).log2())
}

/// What sorting rows costs that come in groups, those of each group by themselves.
pub(super) fn sorting_in_groups(rows: f64, groups: f64) -> f64 {
    let of_one = (rows / groups.max(1.0)).max(2.0);
    rows * (SORT + DOUBLING * of_one.log2()) + groups * GROUP
}

/// What so many entries of a nonclustered index cost, with their rows unless the entries hold all that is asked for.
pub(super) fn entries(entries: f64, covers: bool) -> f64 {
    entries * if covers { ENTRY } else { ENTRY + FETCH }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index pays for few rows of a table; for half of them a scan is faster.
    #[test]
    fn a_scan_is_dearer_than_few_fetches_and_cheaper_than_many() {
        let rows = 100_000.0;
        assert!(DESCENT + entries(rows / 100.0, false) < rows * SCANNED);
        assert!(entries(rows / 2.0, false) > rows * SCANNED);
        assert!(entries(rows, true) < rows * SCANNED, "entries are smaller than rows");
    }

    /// Rows of few groups are nearly sorted as a whole; small groups take little.
    #[test]
    fn sorting_by_groups_is_cheaper_than_sorting_all() {
        for groups in [1.0, 1_000.0, 100_000.0] {
            assert!(sorting_in_groups(1e6, groups) <= sorting(1e6) + groups, "{groups}");
        }
        assert!(sorting_in_groups(1e6, 100_000.0) < 0.6 * sorting(1e6));
    }

    /// A thousand rows beside a million: by searches where the index has all that is asked for or leads to one row, else by a table.
    #[test]
    fn few_rows_are_searched_for_and_many_are_put_into_a_table() {
        let by_table = |few: f64, many: f64| many * SCANNED + few * BUILD + many * PASSED_OVER;
        let by_search = |few: f64, each: f64| few * (SEARCH + entries(each, false));
        assert!(by_search(1_000.0, 1.0) < by_table(1_000.0, 1e6));
        assert!(
            by_search(11_000.0, 10.0) > by_table(11_000.0, 1e6),
            "the question IN of the shop"
        );
    }
}
