//! Actual figures of a plan's operators.

use super::ShownOperator;
use engine::workspace::SpillUses;

use crate::measure::{Measures, Spent};

/// What an operator came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Actual {
    /// Rows it gave, over all executions.
    pub rows: u64,
    /// How often it began.
    pub executions: u64,
    /// Rows that it met before its condition was tested, where it reads a table.
    pub rows_read: Option<u64>,
    /// Scans and searches of more than one row, where it reads a table.
    pub scans: u64,
    /// Time, of all below it too. Pages are those of a table that it reads itself.
    pub spent: Spent,
    /// What it has put into files.
    pub spilled: SpillUses,
}

impl ShownOperator {
    /// Takes over what a plan came to. An operator that did not run gave nothing.
    pub fn measure(&mut self, measures: &Measures) {
        let counted = self.counted.and_then(|node| measures.find(node));
        let read = self.read_by.and_then(|node| measures.find(node));
        // The scan of a table that is read without an operator around it is all there is.
        let mut actual = counted
            .as_ref()
            .or(read.as_ref())
            .map_or_else(Actual::default, |figures| Actual {
                rows: figures.rows(),
                executions: figures.executions(),
                spent: figures.spent(),
                spilled: figures.spilled(),
                ..Actual::default()
            });
        actual.spent.reads = Default::default();
        if let Some(figures) = read {
            actual.rows_read = Some(figures.rows());
            actual.scans = figures.scans();
            actual.spent.reads = figures.spent().reads;
        }
        self.actual = Some(actual);
        self.inputs.iter_mut().for_each(|input| input.measure(measures));
    }

    /// Pages of all operators below and of this one.
    pub fn logical_reads(&self) -> u64 {
        let own = self.actual.map_or(0, |actual| actual.spent.reads.logical);
        own + self.inputs.iter().map(ShownOperator::logical_reads).sum::<u64>()
    }
}
