//! The cost of a log's layout on a device: growing the log, finding its VLFs, going round it, restoring it, reading it.
//!
//! ```text
//! growths       how it was made: every growth, one after the other
//! discovery     each start of the database: every VLF is looked at
//! switch        each time the log goes on in the next VLF; once for each VLF on the way round the log
//! restore       the log file is made again (zeros over all of it: trace flag 3004 shows "Zeroing ..._log.ldf" within RESTORE,
//!               sqlservergeeks.com, trace flag 3004), a header for each VLF, and the VLFs are found
//! log backup    all of the log is read; writing the backup is another device's work
//! ```
//! Work that does not depend on the layout is not included: pages, redo, processor time. [`crate::practice`] describes how SQL Server does
//! the priced work. Where only total seconds are published, the range of discovery and restore includes them.

use crate::parameter::{Figures, Ranges};
use crate::practice::Practice;
use crate::price::{self, GrowthRun, Price, VlfRun};

/// A log as far as its price depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogShape {
    /// What the file had before the growths: created, or shrunk to.
    pub first_bytes: u64,
    /// How it became what it is from there.
    pub growths: Vec<GrowthRun>,
    /// All its VLFs, in the order of the file.
    pub vlfs: Vec<VlfRun>,
}

/// Seconds of what a layout makes a server wait for. See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LayoutPrices {
    pub growths: Price,
    pub discovery: Price,
    pub switch: Price,
    /// Once round the log.
    pub switches: Price,
    pub restore: Price,
    pub log_backup: Price,
}

impl LogShape {
    pub fn growth_count(&self) -> u64 {
        self.growths.iter().map(|run| run.times).sum()
    }

    pub fn vlf_count(&self) -> u64 {
        self.vlfs.iter().map(|run| run.count).sum()
    }

    /// Seconds of every run of growths.
    pub fn growths_s(&self, figures: &Figures) -> f64 {
        let mut file_bytes = self.first_bytes;
        let each = |run: &GrowthRun| {
            let seconds = price::growths_s(figures, *run, file_bytes);
            file_bytes += run.times * run.step_bytes;
            seconds
        };
        in_all(self.growths.iter().map(each))
    }

    /// Seconds of looking at every VLF.
    pub fn discovery_s(&self, figures: &Figures) -> f64 {
        let each = |run: &VlfRun| price::discovery_s(figures, run.count, run.vlf_bytes);
        in_all(self.vlfs.iter().map(each))
    }

    /// Seconds of looking at every VLF, and what was published of it.
    fn discovery(&self, ranges: &Ranges, practice: Practice) -> Price {
        let computed = Price::of(ranges, |figures| self.discovery_s(figures));
        match practice.published_vlf_s {
            Some(each_s) => computed.holding(self.vlf_count() as f64 * each_s),
            None => computed,
        }
    }
}

impl LayoutPrices {
    /// What `shape` costs a server on a device.
    pub fn of(shape: &LogShape, ranges: &Ranges, practice: Practice) -> LayoutPrices {
        let price = |cost: &dyn Fn(&Figures) -> f64| Price::of(ranges, cost);
        let discovery = shape.discovery(ranges, practice);
        LayoutPrices {
            growths: price(&|figures| shape.growths_s(figures)),
            discovery,
            switch: price(&price::switch_s),
            switches: price(&|figures| shape.vlf_count() as f64 * price::switch_s(figures)),
            restore: price(&|figures| price::creation_s(figures, &shape.vlfs)).plus(discovery),
            log_backup: price::log_backup(ranges, &shape.vlfs),
        }
    }
}

/// The sum; of nothing it is 0, not the -0 that `Iterator::sum` begins with.
fn in_all(seconds: impl Iterator<Item = f64>) -> f64 {
    seconds.fold(0.0, |sum, each| sum + each)
}
