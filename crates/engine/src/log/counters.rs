//! The log's performance counters, as `SQLServer:Databases` names them (sql-docs, "SQL Server, Databases object").
//!
//! All counters start when the log opens; readers take differences. Counters without a name there are our own, for tests and benchmarks.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($field:ident => $name:literal / $divisor:literal, $meaning:literal;)+) => {
        /// A reading of all counters.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct LogCounters { $(#[doc = $meaning] pub $field: u64,)+ }

        impl LogCounters {
            /// Counter names of SQL Server with their values; times in ms.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                let mut named = vec![$(($name, self.$field / $divisor),)+];
                named.retain(|(name, _)| !name.is_empty());
                named
            }
        }

        #[derive(Default)]
        pub(crate) struct Counters { $(pub(crate) $field: AtomicU64,)+ }

        impl Counters {
            pub(crate) fn read(&self) -> LogCounters {
                LogCounters { $($field: self.$field.load(Ordering::Relaxed),)+ }
            }
        }
    };
}

counters! {
    flushes => "Log Flushes/sec" / 1, "Durable writes of log blocks.";
    bytes_flushed => "Log Bytes Flushed/sec" / 1, "Bytes of those writes.";
    flush_waits => "Log Flush Waits/sec" / 1, "Calls that waited for a flush.";
    flush_wait_micros => "Log Flush Wait Time" / 1000, "Their waiting time in microseconds.";
    flush_write_micros => "Log Flush Write Time (ms)" / 1000, "Time inside durable writes in microseconds.";
    growths => "Log Growths" / 1, "Growths of log files, automatic and manual.";
    growths_for_room => "" / 1, "Of them, those of a log that had no free VLF left.";
    growth_waits => "" / 1, "Records that found no room: their session made the log grow, or waited for a growth under way.";
    cold_bytes => "" / 1, "Log written to space that the file system had only reserved, in bytes.";
    shrinks => "Log Shrinks" / 1, "Shrinks of log files.";
    truncations => "Log Truncations" / 1, "Truncations that freed at least one VLF.";
    cache_reads => "Log Cache Reads/sec" / 1, "Records read from blocks not yet on disk.";
    pool_reads => "Log Pool Requests/sec" / 1, "Records read by LSN.";
    pool_misses => "Log Pool Disk Reads/sec" / 1, "Of those, records whose block was read from disk.";
}

pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

/// Upper bounds of the classes that durable writes of the log are counted in, in microseconds. What takes longer than the last is in a
/// class of its own.
pub const FLUSH_BOUNDS_MICROS: [u64; 12] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
];

/// How many durable writes took how long; one class more than there are bounds.
pub type FlushTimes = [u64; FLUSH_BOUNDS_MICROS.len() + 1];

/// Counts durable writes by their time.
#[derive(Default)]
pub(crate) struct FlushHistogram([AtomicU64; FLUSH_BOUNDS_MICROS.len() + 1]);

impl FlushHistogram {
    pub(crate) fn record(&self, micros: u64) {
        let class = FLUSH_BOUNDS_MICROS.partition_point(|bound| *bound < micros);
        add(&self.0[class], 1);
    }

    pub(crate) fn read(&self) -> FlushTimes {
        std::array::from_fn(|class| self.0[class].load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_counted_in_the_class_whose_bound_it_does_not_pass() {
        let histogram = FlushHistogram::default();
        for micros in [0, 50, 51, 1_000, 1_001, 1_000_000, 1_000_001, u64::MAX] {
            histogram.record(micros);
        }
        assert_eq!(histogram.read(), [2, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 2]);
    }
}
