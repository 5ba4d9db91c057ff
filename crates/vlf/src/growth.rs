//! How many VLFs of which size SQL Server makes when a log file is created or grows.
//!
//! Number of VLFs of one added chunk, by chunk size (Kimberly Tripp, "Transaction Log VLFs - too many or too few?"; Bob
//! Ward's inside-the-log demos settle both borders):
//!
//! | chunk | VLFs |
//! |---|---|
//! | below 4 x 248 KB | one per whole 248 KB |
//! | up to and with 64 MB | 4 |
//! | up to and with 1 GB | 8 |
//! | above 1 GB | 16 |
//!
//! - Since 2014 a *growth* below 1/8 of the current file size makes one VLF (Paul Randal, "Important change to VLF
//!   creation algorithm in SQL Server 2014"). Exactly 1/8 keeps the table.
//! - Since 2022 a *growth* up to and with 64 MB makes one VLF (SQL Server docs, transaction log architecture guide).
//!   Creation keeps the table in every version.
//!
//! Sizes: the VLFs of a chunk get `chunk / n` rounded down to 64 KB, never less than 248 KB; the last one takes what is
//! left. At creation the first 8 KB of the file are the file header page, so `n` VLFs share the rest, and a file too small
//! for four VLFs makes all but the last exactly 248 KB. This rule was derived here and fits 71 of 71 real log files from SQL Server 7.0 to 2016 and every published `DBCC LOGINFO` output we
//! know of. Doubtful, because no real output was found: file sizes between 1024 and 1031 KB, growths between 992 KB and
//! 1 MB, and which size counts for the 1/8 test in a log of several files.

use std::fmt;

use crate::version::ServerVersion;
use crate::{FIRST_VLF_OFFSET, PAGE_BYTES};

const KB: u64 = 1024;
const MB: u64 = 1024 * KB;
const GB: u64 = 1024 * MB;

/// The smallest VLF, 248 KB = 31 pages (seen in every small real log; Kalen Delaney, SQL Server 2008 Internals).
pub const VLF_BYTES_MIN: u64 = 248 * KB;
/// VLF sizes and growth increments are counted in units of 64 KB, SQL Server's extent.
pub const ROUNDING_BYTES: u64 = 64 * KB;
/// The smallest log file: header page and two VLFs of 248 KB. This is what `CREATE DATABASE` made by default up to 2014.
pub const FILE_BYTES_MIN: u64 = FIRST_VLF_OFFSET + 2 * VLF_BYTES_MIN;
/// The largest log file, 2 TB: 268,435,456 pages (SQL Server docs, error 5150).
pub const FILE_BYTES_MAX: u64 = 2048 * GB;
/// The smallest growth by percent, 256 KB (derived from a 504 KB log growing by 10 percent).
pub const PERCENT_GROWTH_BYTES_MIN: u64 = 256 * KB;

/// Where one VLF lies in its file. Both figures in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VlfSpan {
    /// Offset of the VLF's header from the start of the file.
    pub offset: u64,
    /// Size of the VLF, its header included.
    pub bytes: u64,
}

impl VlfSpan {
    /// Offset of the first byte behind the VLF.
    pub fn end(self) -> u64 {
        self.offset + self.bytes
    }
}

/// Why a size is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// Log files have whole 8 KB pages.
    NotWholePages {
        /// The size asked for.
        bytes: u64,
    },
    /// Smaller than the smallest file, or than the smallest VLF a growth can make.
    TooSmall {
        /// The size asked for.
        bytes: u64,
        /// The smallest size taken.
        bytes_min: u64,
    },
    /// A log file ends at 2 TB.
    TooLarge {
        /// The size asked for.
        bytes: u64,
        /// The largest size taken.
        bytes_max: u64,
    },
    /// `FILEGROWTH` in percent runs from 1.
    Percent {
        /// The percentage asked for.
        percent: u32,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleError::NotWholePages { bytes } => {
                write!(f, "{bytes} bytes are not a whole number of 8 KB pages")
            }
            RuleError::TooSmall { bytes, bytes_min } => {
                write!(f, "{bytes} bytes are less than the minimum of {bytes_min} bytes")
            }
            RuleError::TooLarge { bytes, bytes_max } => write!(
                f,
                "{bytes} bytes are more than {bytes_max} bytes: a single log file cannot be greater than 2 TB"
            ),
            RuleError::Percent { percent } => {
                write!(f, "a growth of {percent} percent is not possible, it starts at 1")
            }
        }
    }
}

impl std::error::Error for RuleError {}

/// What a growth will do beside growing the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrowthWarning {
    /// Up to 2008 R2, growing by an exact multiple of 4 GB misbehaved: the file first grew by tiny steps and got very
    /// many VLFs. Fixed in 2012. The layouts here are those of the size asked for; the fault is not simulated, because
    /// its exact steps were never published.
    FourGigabyteMultiple,
}

impl fmt::Display for GrowthWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrowthWarning::FourGigabyteMultiple => f.write_str(
                "SQL Server up to 2008 R2 mishandles a log growth by an exact multiple of 4 GB; use 4000 MB or 8000 MB",
            ),
        }
    }
}

/// The warning that goes with growing a log by `growth_bytes` on `version`, if any.
pub fn growth_warning(version: ServerVersion, growth_bytes: u64) -> Option<GrowthWarning> {
    let faulty = version <= ServerVersion::V2008R2 && growth_bytes > 0 && growth_bytes.is_multiple_of(4 * GB);
    faulty.then_some(GrowthWarning::FourGigabyteMultiple)
}

/// The VLFs of one created or grown chunk: `vlf_count - 1` of `vlf_bytes`, then one of `last_vlf_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkPlan {
    /// VLFs in the chunk, at least 1.
    pub vlf_count: u32,
    /// Size of each VLF but the last.
    pub vlf_bytes: u64,
    /// Size of the last VLF.
    pub last_vlf_bytes: u64,
}

impl ChunkPlan {
    fn divide(bytes: u64, vlf_count: u32) -> ChunkPlan {
        let equal = bytes / u64::from(vlf_count) / ROUNDING_BYTES * ROUNDING_BYTES;
        ChunkPlan::with_last(bytes, vlf_count, equal.max(VLF_BYTES_MIN))
    }

    /// The last VLF takes what `vlf_count - 1` VLFs of `vlf_bytes` leave of `bytes`.
    fn with_last(bytes: u64, vlf_count: u32, vlf_bytes: u64) -> ChunkPlan {
        if vlf_count == 1 {
            return ChunkPlan {
                vlf_count,
                vlf_bytes: bytes,
                last_vlf_bytes: bytes,
            };
        }
        let last_vlf_bytes = bytes - vlf_bytes * u64::from(vlf_count - 1);
        ChunkPlan {
            vlf_count,
            vlf_bytes,
            last_vlf_bytes,
        }
    }

    /// Size of the whole chunk.
    pub fn bytes(self) -> u64 {
        self.vlf_bytes * u64::from(self.vlf_count - 1) + self.last_vlf_bytes
    }

    /// The chunk's VLFs when it begins at `offset` of the file.
    pub fn spans(self, offset: u64) -> impl Iterator<Item = VlfSpan> {
        (0..self.vlf_count).map(move |index| VlfSpan {
            offset: offset + u64::from(index) * self.vlf_bytes,
            bytes: if index + 1 == self.vlf_count {
                self.last_vlf_bytes
            } else {
                self.vlf_bytes
            },
        })
    }
}

fn by_size_class(bytes: u64) -> u32 {
    match bytes {
        0..=0x400_0000 => 4,
        0x400_0001..=0x4000_0000 => 8,
        _ => 16,
    }
}

/// VLFs of 248 KB that fit into a chunk too small for four; the caller has checked that one fits.
fn by_minimum(bytes: u64) -> Option<u32> {
    (bytes < 4 * VLF_BYTES_MIN).then(|| u32::try_from(bytes / VLF_BYTES_MIN).unwrap_or(1).max(1))
}

fn whole_pages(bytes: u64) -> Result<(), RuleError> {
    if bytes.is_multiple_of(PAGE_BYTES) {
        Ok(())
    } else {
        Err(RuleError::NotWholePages { bytes })
    }
}

fn in_range(bytes: u64, bytes_min: u64) -> Result<(), RuleError> {
    if bytes < bytes_min {
        return Err(RuleError::TooSmall { bytes, bytes_min });
    }
    if bytes > FILE_BYTES_MAX {
        return Err(RuleError::TooLarge {
            bytes,
            bytes_max: FILE_BYTES_MAX,
        });
    }
    Ok(())
}

/// The VLFs of a new log file of `file_bytes`, in constant time. Creation is the same in every version; `version` is
/// taken so that a later version can differ.
///
/// # Errors
/// The size is not a whole number of pages, below 504 KB or above 2 TB.
pub fn create_plan(_version: ServerVersion, file_bytes: u64) -> Result<ChunkPlan, RuleError> {
    whole_pages(file_bytes)?;
    in_range(file_bytes, FILE_BYTES_MIN)?;
    let usable = file_bytes - FIRST_VLF_OFFSET;
    Ok(match by_minimum(usable) {
        Some(vlf_count) => ChunkPlan::with_last(usable, vlf_count, VLF_BYTES_MIN),
        None => ChunkPlan::divide(usable, by_size_class(file_bytes)),
    })
}

/// The VLFs that growing a log file of `current_file_bytes` by `growth_bytes` adds, in constant time.
///
/// # Errors
/// A size that is not a whole number of pages, a growth below 248 KB, or a file above 2 TB.
pub fn grow_plan(version: ServerVersion, current_file_bytes: u64, growth_bytes: u64) -> Result<ChunkPlan, RuleError> {
    whole_pages(current_file_bytes)?;
    whole_pages(growth_bytes)?;
    in_range(growth_bytes, VLF_BYTES_MIN)?;
    in_range(current_file_bytes.saturating_add(growth_bytes), FILE_BYTES_MIN)?;
    let below_eighth = version >= ServerVersion::V2014 && 8 * growth_bytes < current_file_bytes;
    let small = version >= ServerVersion::V2022 && growth_bytes <= 64 * MB;
    let vlf_count = if below_eighth || small {
        1
    } else {
        by_minimum(growth_bytes).unwrap_or_else(|| by_size_class(growth_bytes))
    };
    Ok(ChunkPlan::divide(growth_bytes, vlf_count))
}

/// Every VLF of a new log file.
///
/// # Errors
/// As [`create_plan`].
pub fn create_layout(version: ServerVersion, file_bytes: u64) -> Result<Vec<VlfSpan>, RuleError> {
    Ok(create_plan(version, file_bytes)?.spans(FIRST_VLF_OFFSET).collect())
}

/// The VLFs a growth adds, placed behind the current end of the file.
///
/// # Errors
/// As [`grow_plan`].
pub fn grow_layout(
    version: ServerVersion,
    current_file_bytes: u64,
    growth_bytes: u64,
) -> Result<Vec<VlfSpan>, RuleError> {
    let plan = grow_plan(version, current_file_bytes, growth_bytes)?;
    Ok(plan.spans(current_file_bytes).collect())
}

/// VLFs that `growth_count` growths of `growth_bytes` each add to a file of `current_file_bytes`, in constant time: the
/// class of the increment never changes, only the 1/8 rule sets in at one point and stays.
///
/// # Errors
/// As [`grow_plan`] for the last of the growths.
pub fn count_of_equal_growths(
    version: ServerVersion,
    current_file_bytes: u64,
    growth_bytes: u64,
    growth_count: u64,
) -> Result<u64, RuleError> {
    if growth_count == 0 {
        return Ok(0);
    }
    let first = grow_plan(version, current_file_bytes, growth_bytes)?;
    let final_bytes = growth_bytes
        .saturating_mul(growth_count)
        .saturating_add(current_file_bytes);
    in_range(final_bytes, FILE_BYTES_MIN)?;
    let per_growth = u64::from(first.vlf_count);
    if per_growth == 1 || version < ServerVersion::V2014 {
        return Ok(per_growth * growth_count);
    }
    // Growth k (from 0) finds a file of current + k * growth bytes and is classic while that is at most 8 growths.
    let classic = (8 * growth_bytes - current_file_bytes) / growth_bytes + 1;
    let classic = classic.min(growth_count);
    Ok(classic * per_growth + (growth_count - classic))
}

/// The file's size after one automatic growth by `percent`.
///
/// Pages are counted in whole numbers (`pages * percent / 100`, rounded down), the growth is at least 256 KB, and both it
/// and the new size are rounded up to 64 KB. So the first growth of a file whose size is not a multiple of 64 KB adds up
/// to 56 KB more: 504 KB becomes 768 KB at 10 percent. Derived from a 59-row `DBCC LOGINFO` (Remus Rusanu).
///
/// # Errors
/// Zero percent, a current size of no whole pages, or a new size above 2 TB.
pub fn percent_growth(current_file_bytes: u64, percent: u32) -> Result<u64, RuleError> {
    whole_pages(current_file_bytes)?;
    in_range(current_file_bytes, FILE_BYTES_MIN)?;
    if percent == 0 {
        return Err(RuleError::Percent { percent });
    }
    let pages = current_file_bytes / PAGE_BYTES * u64::from(percent) / 100;
    // A file has 2^28 pages at most and a percentage 32 bits: the product of both fits, its bytes need not.
    let growth = pages
        .saturating_mul(PAGE_BYTES)
        .clamp(PERCENT_GROWTH_BYTES_MIN, FILE_BYTES_MAX)
        .next_multiple_of(ROUNDING_BYTES);
    let new_bytes = (current_file_bytes + growth).next_multiple_of(ROUNDING_BYTES);
    in_range(new_bytes, FILE_BYTES_MIN)?;
    Ok(new_bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const V: ServerVersion = ServerVersion::V2012;

    #[test]
    fn borders_of_the_size_classes() {
        let created = |bytes| create_plan(V, bytes).unwrap().vlf_count;
        assert_eq!(created(FILE_BYTES_MIN), 2);
        assert_eq!(created(64 * MB), 4);
        assert_eq!(created(64 * MB + PAGE_BYTES), 8);
        assert_eq!(created(GB), 8);
        assert_eq!(created(GB + PAGE_BYTES), 16);
        assert_eq!(created(FILE_BYTES_MAX), 16);
        let grown = |bytes| grow_plan(V, 64 * MB, bytes).unwrap().vlf_count;
        assert_eq!(
            [grown(256 * KB), grown(512 * KB), grown(768 * KB), grown(MB)],
            [1, 2, 3, 4]
        );
        assert_eq!(
            [grown(64 * MB), grown(65 * MB), grown(GB), grown(GB + MB)],
            [4, 8, 8, 16]
        );
    }

    #[test]
    fn exactly_one_eighth_keeps_the_table() {
        for version in ServerVersion::ALL {
            let at = grow_plan(version, 8 * 128 * MB, 128 * MB).unwrap().vlf_count;
            let below = grow_plan(version, 8 * 128 * MB + PAGE_BYTES, 128 * MB)
                .unwrap()
                .vlf_count;
            assert_eq!(at, 8, "{version}");
            assert_eq!(below, if version >= ServerVersion::V2014 { 1 } else { 8 }, "{version}");
        }
    }

    #[test]
    fn refused_sizes() {
        let too_small = create_plan(V, FILE_BYTES_MIN - PAGE_BYTES).unwrap_err();
        assert_eq!(
            too_small,
            RuleError::TooSmall {
                bytes: 507_904,
                bytes_min: 516_096
            }
        );
        assert!(matches!(create_plan(V, MB + 1), Err(RuleError::NotWholePages { .. })));
        let too_large = create_plan(V, FILE_BYTES_MAX + PAGE_BYTES).unwrap_err();
        assert!(too_large.to_string().contains("2 TB"));
        assert!(matches!(grow_plan(V, MB, 64 * KB), Err(RuleError::TooSmall { .. })));
        assert!(matches!(
            grow_plan(V, FILE_BYTES_MAX, MB),
            Err(RuleError::TooLarge { .. })
        ));
        assert_eq!(percent_growth(MB, 0), Err(RuleError::Percent { percent: 0 }));
        assert!(percent_growth(FILE_BYTES_MAX, 10).is_err());
        assert!(grow_plan(V, u64::MAX / PAGE_BYTES * PAGE_BYTES, MB).is_err());
    }

    #[test]
    fn four_gigabyte_multiples_warn_up_to_2008_r2() {
        for version in ServerVersion::ALL {
            let warned = growth_warning(version, 8 * GB).is_some();
            assert_eq!(warned, version <= ServerVersion::V2008R2, "{version}");
            assert_eq!(growth_warning(version, 8000 * MB), None);
            assert_eq!(growth_warning(version, 0), None);
        }
    }

    #[test]
    fn percent_growth_rounds_up_after_whole_pages() {
        assert_eq!(percent_growth(504 * KB, 10), Ok(768 * KB));
        assert_eq!(percent_growth(MB, 10), Ok(MB + 256 * KB));
        assert_eq!(percent_growth(100 * MB, 10), Ok(110 * MB));
        // 3480 pages: 10 percent is 348 pages = 2784 KB, 43.5 units of 64 KB, so 44.
        assert_eq!(
            percent_growth(3480 * PAGE_BYTES, 10),
            Ok((27_840u64 + 44 * 64).next_multiple_of(64) * KB)
        );
    }

    /// The constant-time count against growing step by step, for every version and many increments.
    #[test]
    fn closed_form_equals_step_by_step() {
        for version in ServerVersion::ALL {
            for growth in [256 * KB, 512 * KB, MB, 15 * MB, 64 * MB, 65 * MB, 512 * MB, 2 * GB] {
                for start in [FILE_BYTES_MIN, MB, 8 * MB, 400 * MB, 4 * GB] {
                    let mut bytes = start;
                    let mut counted = 0;
                    for step in 0..40 {
                        let closed = count_of_equal_growths(version, start, growth, step).unwrap();
                        assert_eq!(closed, counted, "{version} {start} + {step} x {growth}");
                        counted += u64::from(grow_plan(version, bytes, growth).unwrap().vlf_count);
                        bytes += growth;
                    }
                }
            }
        }
    }

    /// Whatever the size: spans touch, fill the chunk exactly, and none is below the minimum.
    #[test]
    fn spans_fill_the_chunk_for_every_size() {
        for version in ServerVersion::ALL {
            for step in 0..3000u64 {
                let bytes = FILE_BYTES_MIN + step * step * PAGE_BYTES;
                let spans = create_layout(version, bytes).unwrap();
                check_spans(&spans, FIRST_VLF_OFFSET, bytes);
                let growth = VLF_BYTES_MIN + step * 17 * PAGE_BYTES;
                let spans = grow_layout(version, bytes, growth).unwrap();
                check_spans(&spans, bytes, bytes + growth);
                assert_eq!(grow_plan(version, bytes, growth).unwrap().bytes(), growth);
            }
        }
    }

    fn check_spans(spans: &[VlfSpan], from: u64, to: u64) {
        let mut offset = from;
        for span in spans {
            assert_eq!(span.offset, offset);
            assert!(span.bytes >= VLF_BYTES_MIN, "{span:?}");
            offset = span.end();
        }
        assert_eq!(offset, to);
    }
}
