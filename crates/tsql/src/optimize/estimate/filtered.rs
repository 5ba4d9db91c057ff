//! Estimates by statistics with a filter: of conditions that imply the filter, the histogram is that of the rows for which it holds.
//!
//! ```text
//! statistics   of a WHERE b = 1: 500 of 10,000 rows, and their histogram
//! conditions   b = 1 AND a > 7            500 / 10,000, times the part of the histogram above 7
//!              b = 1 AND c = 2            500 / 10,000, and the part of c = 2 as if it were independent
//!              b = 2 AND a > 7            not implied: as if there were no such statistics
//! ```
//! "Filtered statistics [...] can improve query performance for queries that select from well-defined subsets of data" (sql-docs,
//! "Statistics"). Of several that are implied, those of the fewest rows say most. Whether a filter is implied is decided as for indexes
//! ([`crate::optimize::filtered`]).

use std::sync::Arc;

use engine::catalog::StatisticsDefinition;
use engine::statistics::Content;

use super::condition::{Subject, backed_off_product, subject_of};
use super::{Estimator, Sources};
use crate::optimize::filtered::implied_by;
use crate::plan::{Condition, Expr, ExprKind, ScanNode};

/// Statistics whose filter some conditions imply.
struct Implied {
    content: Arc<Content>,
    /// The place of the column that has the histogram.
    place: usize,
    /// The conditions that imply the filter, among those on the table.
    implying: Vec<usize>,
}

impl Estimator<'_> {
    /// What a column is judged by instead of the statistics of all rows.
    pub(super) fn filtered_content(&self, place: usize) -> Option<Arc<Content>> {
        let filtered = self.filtered.borrow();
        let (_, content) = filtered.as_ref().filter(|(own, _)| *own == place)?;
        Some(content.clone())
    }

    /// Takes out the conditions that statistics with a filter answer, and answers their parts.
    pub(super) fn filtered_parts(&self, conjuncts: &mut Vec<&Condition>, sources: &Sources<'_>) -> Vec<(Subject, f64)> {
        let mut parts = Vec::new();
        if self.filtered.borrow().is_some() {
            return parts;
        }
        for (at, scan) in sources.scans.iter().enumerate() {
            let known = self.knowledge.filtered(&scan.table.table);
            if known.is_empty() {
                continue;
            }
            let subject = (Some(at), None);
            let (own, others): (Vec<&Condition>, Vec<&Condition>) = conjuncts
                .iter()
                .copied()
                .partition(|condition| subject_of(condition, sources) == subject);
            let owned: Vec<Condition> = own.iter().copied().cloned().collect();
            let Some(implied) = best(&known, scan, &owned) else {
                continue;
            };
            let (part, left) = self.part_by(&implied, &owned, sources);
            // What the filter says nothing of stays a condition of its own.
            *conjuncts = others
                .into_iter()
                .chain(left.into_iter().map(|place| own[place]))
                .collect();
            parts.push((subject, part));
        }
        parts
    }

    /// The part of the table's rows for which the conditions hold that statistics say something of, and the places of the others.
    fn part_by(&self, implied: &Implied, own: &[Condition], sources: &Sources<'_>) -> (f64, Vec<usize>) {
        let content = &implied.content;
        let share = content.rows as f64 / content.unfiltered_rows.max(1) as f64;
        let (mut of_column, mut implying, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for (number, condition) in own.iter().enumerate() {
            match (
                reads_alone(condition, implied.place),
                implied.implying.contains(&number),
            ) {
                (true, _) => of_column.push(condition.clone()),
                (false, true) => implying.push(condition),
                (false, false) => left.push(number),
            }
        }
        // One that implies the filter may be stricter than it.
        let stricter = implying.iter().map(|condition| {
            let part = self.selectivity(condition, sources);
            (part / share.max(f64::MIN_POSITIVE)).min(1.0)
        });
        let mut within: Vec<f64> = stricter.collect();
        self.filtered.replace(Some((implied.place, content.clone())));
        within.push(self.selectivity_of_all(&of_column, sources));
        self.filtered.replace(None);
        within.sort_by(f64::total_cmp);
        (share * backed_off_product(&within), left)
    }
}

/// Those of the fewest rows whose filter the conditions on a table imply.
fn best(known: &[StatisticsDefinition], scan: &ScanNode, own: &[Condition]) -> Option<Implied> {
    let implied = known.iter().filter_map(|statistics| {
        Some(Implied {
            implying: implied_by(statistics.filter.as_deref()?, scan, own)?,
            content: statistics.content.clone()?,
            place: scan.offset + statistics.columns.first()?,
        })
    });
    implied.min_by_key(|one| {
        let has_condition = own.iter().any(|condition| reads_alone(condition, one.place));
        (one.content.rows, !has_condition)
    })
}

/// Whether a condition reads one column, that at the place, and no other.
fn reads_alone(condition: &Condition, place: usize) -> bool {
    let (mut has_it, mut has_other) = (false, false);
    condition.for_each_expression(&mut |expression| note_columns(expression, place, (&mut has_it, &mut has_other)));
    has_it && !has_other
}

fn note_columns(expression: &Expr, place: usize, (has_it, has_other): (&mut bool, &mut bool)) {
    if let ExprKind::Column(own) = expression.kind {
        *(if own == place { &mut *has_it } else { &mut *has_other }) = true;
    }
    expression.for_each_child(&mut |child| note_columns(child, place, (&mut *has_it, &mut *has_other)));
}
