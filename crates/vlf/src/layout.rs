//! A log file's VLFs over its life: created once, grown step by step, shrunk from its end.
//!
//! Invariants: the first VLF is at 8192, each next one begins where the one before ends, the last one ends the file, and
//! `growth_step` (0 = creation) never falls from one VLF to the next. VLFs of one growth share one create LSN in a real
//! file, so the step is what `DBCC LOGINFO` readers group by.

use std::ops::Range;

use crate::growth::{self, RuleError, VLF_BYTES_MIN, VlfSpan};
use crate::version::ServerVersion;
use crate::{FIRST_VLF_OFFSET, PAGE_BYTES};

/// One VLF of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaidVlf {
    pub span: VlfSpan,
    /// Which growth made it: 0 = creation of the file, 1 = first growth, ...
    pub growth_step: u32,
}

/// `repeat` growth steps of the same shape, one after the other: each has `vlf_count - 1` VLFs of `vlf_bytes` and a last
/// one of `last_vlf_bytes`. Twenty thousand 1 MB growths are one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutRun {
    /// VLFs of one step, at least 1.
    pub vlf_count: u32,
    /// Size of each VLF of a step but its last.
    pub vlf_bytes: u64,
    /// Size of the last VLF of a step.
    pub last_vlf_bytes: u64,
    /// Steps, at least 1.
    pub repeat: u32,
}

impl LayoutRun {
    /// VLFs of all its steps.
    pub fn total_vlf_count(self) -> u64 {
        u64::from(self.vlf_count) * u64::from(self.repeat)
    }

    /// Bytes of all its steps; `None` when that exceeds 64 bits or a field is out of range.
    pub fn checked_bytes(self) -> Option<u64> {
        let sizes = [self.vlf_bytes, self.last_vlf_bytes];
        let sound = self.repeat > 0
            && sizes
                .iter()
                .all(|size| *size >= VLF_BYTES_MIN && size.is_multiple_of(PAGE_BYTES));
        let others = self.vlf_count.checked_sub(1).filter(|_| sound)?;
        let step = self.vlf_bytes.checked_mul(u64::from(others))?;
        step.checked_add(self.last_vlf_bytes)?
            .checked_mul(u64::from(self.repeat))
    }
}

/// All VLFs of one log file, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLayout {
    version: ServerVersion,
    vlfs: Vec<LaidVlf>,
}

impl LogLayout {
    /// The layout of a new file.
    ///
    /// # Errors
    /// As [`growth::create_plan`].
    pub fn create(version: ServerVersion, file_bytes: u64) -> Result<LogLayout, RuleError> {
        let spans = growth::create_layout(version, file_bytes)?;
        let vlfs = spans.into_iter().map(|span| LaidVlf { span, growth_step: 0 }).collect();
        Ok(LogLayout { version, vlfs })
    }

    /// The layout that `runs` describe, a growth step for every repeat. `None` when a run is out of range or the sum is
    /// not `file_bytes`.
    pub fn from_runs(version: ServerVersion, file_bytes: u64, runs: &[LayoutRun]) -> Option<LogLayout> {
        let body = runs
            .iter()
            .try_fold(0u64, |sum, run| sum.checked_add(run.checked_bytes()?))?;
        if body.checked_add(FIRST_VLF_OFFSET)? != file_bytes || file_bytes > growth::FILE_BYTES_MAX {
            return None;
        }
        let mut vlfs = Vec::new();
        let mut offset = FIRST_VLF_OFFSET;
        let mut growth_step = 0;
        for run in runs {
            let plan = growth::ChunkPlan {
                vlf_count: run.vlf_count,
                vlf_bytes: run.vlf_bytes,
                last_vlf_bytes: run.last_vlf_bytes,
            };
            for _ in 0..run.repeat {
                vlfs.extend(plan.spans(offset).map(|span| LaidVlf { span, growth_step }));
                offset += plan.bytes();
                growth_step += 1;
            }
        }
        Some(LogLayout { version, vlfs })
    }

    /// Grows the file and answers which VLFs (indices) were added.
    ///
    /// # Errors
    /// As [`growth::grow_plan`]; the layout is then unchanged.
    pub fn grow(&mut self, growth_bytes: u64) -> Result<Range<usize>, RuleError> {
        let current = self.file_bytes();
        let plan = growth::grow_plan(self.version, current, growth_bytes)?;
        let growth_step = self.growth_step() + 1;
        let from = self.vlfs.len();
        self.vlfs
            .extend(plan.spans(current).map(|span| LaidVlf { span, growth_step }));
        Ok(from..self.vlfs.len())
    }

    /// Grows the file by a percentage of its size; see [`growth::percent_growth`].
    ///
    /// # Errors
    /// As [`growth::percent_growth`].
    pub fn grow_percent(&mut self, percent: u32) -> Result<Range<usize>, RuleError> {
        let current = self.file_bytes();
        let target = growth::percent_growth(current, percent)?;
        self.grow(target - current)
    }

    /// Grows by `growth_bytes` until the file has at least `target_file_bytes`. Answers the number of growths.
    ///
    /// # Errors
    /// As [`growth::grow_plan`], at the growth that failed.
    pub fn grow_until(&mut self, target_file_bytes: u64, growth_bytes: u64) -> Result<u64, RuleError> {
        let mut growths = 0;
        while self.file_bytes() < target_file_bytes {
            self.grow(growth_bytes)?;
            growths += 1;
        }
        Ok(growths)
    }

    /// Drops VLFs from the end until `vlf_count` are left, as `DBCC SHRINKFILE` does. Never below two VLFs (SQL Server
    /// error 9006: a log file keeps a minimum number of logical log files). Answers how many were dropped.
    pub fn truncate(&mut self, vlf_count: usize) -> usize {
        let before = self.vlfs.len();
        self.vlfs.truncate(vlf_count.max(2));
        before - self.vlfs.len()
    }

    /// The rules in force for further growths.
    pub fn version(&self) -> ServerVersion {
        self.version
    }

    /// Growths after this use the rules of `version`.
    pub fn set_version(&mut self, version: ServerVersion) {
        self.version = version;
    }

    /// Every VLF in file order.
    pub fn vlfs(&self) -> &[LaidVlf] {
        &self.vlfs
    }

    /// Number of VLFs.
    pub fn vlf_count(&self) -> usize {
        self.vlfs.len()
    }

    /// Size of the file.
    pub fn file_bytes(&self) -> u64 {
        self.vlfs.last().map_or(FIRST_VLF_OFFSET, |vlf| vlf.span.end())
    }

    /// The last growth step that left a VLF; 0 = never grown.
    pub fn growth_step(&self) -> u32 {
        self.vlfs.last().map_or(0, |vlf| vlf.growth_step)
    }

    /// The shortest list of runs, one step per growth, that describes the layout.
    pub fn runs(&self) -> Vec<LayoutRun> {
        let mut runs: Vec<LayoutRun> = Vec::new();
        for step in self.vlfs.chunk_by(|a, b| a.growth_step == b.growth_step) {
            let Some((last, others)) = step.split_last() else {
                continue;
            };
            let last_vlf_bytes = last.span.bytes;
            let vlf_bytes = others.first().map_or(last_vlf_bytes, |vlf| vlf.span.bytes);
            let vlf_count = u32::try_from(step.len()).unwrap_or(u32::MAX);
            match runs.last_mut() {
                Some(run)
                    if (run.vlf_count, run.vlf_bytes, run.last_vlf_bytes) == (vlf_count, vlf_bytes, last_vlf_bytes) =>
                {
                    run.repeat += 1;
                }
                _ => runs.push(LayoutRun {
                    vlf_count,
                    vlf_bytes,
                    last_vlf_bytes,
                    repeat: 1,
                }),
            }
        }
        runs
    }
}

/// The same as [`LogLayout`] without a list of VLFs: growing costs one step, however many VLFs there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutSteps {
    version: ServerVersion,
    runs: Vec<LayoutRun>,
    file_bytes: u64,
}

impl LayoutSteps {
    /// The steps of a layout.
    pub fn of(layout: &LogLayout) -> LayoutSteps {
        LayoutSteps {
            version: layout.version(),
            runs: layout.runs(),
            file_bytes: layout.file_bytes(),
        }
    }

    /// The layout that `runs` describe; `None` as [`LogLayout::from_runs`].
    pub fn from_runs(version: ServerVersion, file_bytes: u64, runs: Vec<LayoutRun>) -> Option<LayoutSteps> {
        let body = runs
            .iter()
            .try_fold(0u64, |sum, run| sum.checked_add(run.checked_bytes()?))?;
        let sound = body.checked_add(FIRST_VLF_OFFSET)? == file_bytes && file_bytes <= growth::FILE_BYTES_MAX;
        sound.then_some(LayoutSteps {
            version,
            runs,
            file_bytes,
        })
    }

    /// Grows the file and answers where the new VLFs lie.
    ///
    /// # Errors
    /// As [`growth::grow_plan`]; the layout is then unchanged.
    pub fn grow(&mut self, growth_bytes: u64) -> Result<impl Iterator<Item = VlfSpan> + use<>, RuleError> {
        let offset = self.file_bytes;
        let plan = growth::grow_plan(self.version, offset, growth_bytes)?;
        self.push(LayoutRun {
            vlf_count: plan.vlf_count,
            vlf_bytes: plan.vlf_bytes,
            last_vlf_bytes: plan.last_vlf_bytes,
            repeat: 1,
        });
        self.file_bytes += plan.bytes();
        Ok(plan.spans(offset))
    }

    fn push(&mut self, step: LayoutRun) {
        match self.runs.last_mut() {
            Some(run) if (LayoutRun { repeat: 1, ..*run }) == step => run.repeat += 1,
            _ => self.runs.push(step),
        }
    }

    /// Drops VLFs from the end until `vlf_count` are left, but never below two; see [`LogLayout::truncate`].
    pub fn truncate(&mut self, vlf_count: usize) {
        let mut left = vlf_count.max(2) as u64;
        let mut kept = LayoutSteps {
            version: self.version,
            runs: Vec::new(),
            file_bytes: FIRST_VLF_OFFSET,
        };
        for run in std::mem::take(&mut self.runs) {
            let steps = (left / u64::from(run.vlf_count)).min(u64::from(run.repeat));
            if steps > 0 {
                kept.runs.push(LayoutRun {
                    repeat: steps as u32,
                    ..run
                });
            }
            left -= steps * u64::from(run.vlf_count);
            if steps < u64::from(run.repeat) {
                let rest = LayoutRun {
                    vlf_count: left as u32,
                    last_vlf_bytes: run.vlf_bytes,
                    repeat: 1,
                    ..run
                };
                if left > 0 {
                    kept.push(rest);
                }
                break;
            }
        }
        let bytes = kept.runs.iter().filter_map(|run| run.checked_bytes());
        kept.file_bytes += bytes.sum::<u64>();
        *self = kept;
    }

    /// Growths after this use the rules of `version`.
    pub fn set_version(&mut self, version: ServerVersion) {
        self.version = version;
    }

    /// The shortest list of runs that describes the layout.
    pub fn runs(&self) -> &[LayoutRun] {
        &self.runs
    }

    /// Size of the file.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Number of VLFs.
    pub fn vlf_count(&self) -> u64 {
        self.runs.iter().map(|run| run.total_vlf_count()).sum()
    }

    /// Where each VLF lies, in file order.
    pub fn spans(&self) -> impl Iterator<Item = VlfSpan> {
        let mut offset = FIRST_VLF_OFFSET;
        let steps = self.runs.iter().flat_map(|run| (0..run.repeat).map(move |_| run));
        steps.flat_map(move |run| {
            let plan = growth::ChunkPlan {
                vlf_count: run.vlf_count,
                vlf_bytes: run.vlf_bytes,
                last_vlf_bytes: run.last_vlf_bytes,
            };
            let start = offset;
            offset += plan.bytes();
            plan.spans(start)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MB: u64 = 1024 * 1024;

    /// The steps without a list agree with the list, through growths and cuts at every VLF.
    #[test]
    fn steps_are_the_layout_without_its_list() {
        for version in ServerVersion::ALL {
            let mut layout = LogLayout::create(version, MB).unwrap();
            let mut steps = LayoutSteps::of(&layout);
            for growth in [MB, MB, MB, 3 * MB, 256 * MB, MB, 70 * MB, 70 * MB] {
                let added = layout.grow(growth).unwrap();
                let listed: Vec<_> = layout.vlfs()[added].iter().map(|laid| laid.span).collect();
                assert_eq!(steps.grow(growth).unwrap().collect::<Vec<_>>(), listed, "{version}");
            }
            for vlf_count in (0..=layout.vlf_count()).rev() {
                layout.truncate(vlf_count);
                steps.truncate(vlf_count);
                assert_eq!(steps, LayoutSteps::of(&layout), "{version}, {vlf_count} VLFs");
                assert_eq!(steps.vlf_count(), layout.vlf_count() as u64);
                assert!(
                    steps.spans().eq(layout.vlfs().iter().map(|laid| laid.span)),
                    "{version}"
                );
            }
        }
    }

    #[test]
    fn runs_describe_a_grown_and_shrunk_layout() {
        for version in ServerVersion::ALL {
            let mut layout = LogLayout::create(version, MB).unwrap();
            layout.grow_until(200 * MB, MB).unwrap();
            layout.grow(256 * MB).unwrap();
            layout.grow_percent(10).unwrap();
            for vlf_count in [layout.vlf_count(), layout.vlf_count() - 1, 7, 2] {
                layout.truncate(vlf_count);
                let runs = layout.runs();
                assert!(runs.len() <= 6, "{version}: {runs:?}");
                let again = LogLayout::from_runs(version, layout.file_bytes(), &runs).unwrap();
                assert_eq!(again, layout, "{version}");
            }
        }
    }

    #[test]
    fn two_vlfs_stay() {
        let mut layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        assert_eq!(layout.truncate(0), 2);
        assert_eq!(layout.vlf_count(), 2);
        assert_eq!(layout.file_bytes(), 516_096);
    }

    #[test]
    fn a_failed_growth_changes_nothing() {
        let mut layout = LogLayout::create(ServerVersion::V2022, MB).unwrap();
        let before = layout.clone();
        assert!(layout.grow(8192).is_err());
        assert!(layout.grow(growth::FILE_BYTES_MAX).is_err());
        assert_eq!(layout, before);
    }

    #[test]
    fn unsound_runs_are_refused() {
        let run = LayoutRun {
            vlf_count: 4,
            vlf_bytes: MB,
            last_vlf_bytes: MB,
            repeat: 1,
        };
        let bytes = 4 * MB + 8192;
        let read = |bytes, run| LogLayout::from_runs(ServerVersion::V2022, bytes, &[run]);
        assert!(read(bytes, run).is_some());
        assert!(read(bytes + 8192, run).is_none());
        assert!(read(8192, LayoutRun { vlf_count: 0, ..run }).is_none());
        assert!(read(8192, LayoutRun { repeat: 0, ..run }).is_none());
        assert!(read(bytes, LayoutRun { vlf_bytes: 0, ..run }).is_none());
        assert!(
            read(
                bytes,
                LayoutRun {
                    vlf_bytes: u64::MAX / 8192 * 8192,
                    ..run
                }
            )
            .is_none()
        );
        assert!(
            read(
                bytes,
                LayoutRun {
                    vlf_bytes: MB + 1,
                    ..run
                }
            )
            .is_none()
        );
    }
}
