//! Steps on the log: growing it manually, counting its VLFs, watching it fill and grow.
//!
//! Invariant: a watcher keeps at most [`EVENTS_MAX`] events, spread over the whole step.

use super::{LabError, MAIN, OneRun, connection_named, is_stopped};
use crate::client::Connection;
use crate::results::{ConfigurationResults, GrowthEvent, VlfMapFile, VlfRun};
use std::time::Instant;
use vlf::LogLayout;

/// Growths kept of one step.
const EVENTS_MAX: usize = 400;
const PAGE_BYTES: u64 = 8192;
/// Columns of DBCC LOGINFO from its end; the first column came with SQL Server 2012.
const LOGINFO_COLUMNS_MIN: usize = 7;

/// One row of DBCC LOGINFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VlfRow {
    file_id: u32,
    vlf_bytes: u64,
    offset: u64,
    /// As [`VlfRun::status`].
    status: u8,
}

impl OneRun<'_> {
    pub(super) fn grow_log(
        &mut self,
        found: &mut ConfigurationResults,
        measure: Option<&str>,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), LabError> {
        let label = "grow the log";
        let database = &self.experiment.database;
        let target = self.target(None)?;
        let connection = connection_named(&mut self.connections, MAIN, &target, label)?;
        let failed = |error| LabError::Step {
            label: label.into(),
            error,
        };
        let query = format!("select name from [{database}].sys.database_files where type = 1");
        let rows = connection.rows(&query).map_err(failed)?;
        let name = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        let name = name.ok_or_else(|| LabError::Unexpected(format!("{database} has no log file")))?;
        let sizes = &self.setup.log.grown_to;
        let begin = self.begin_timing()?;
        let connection = connection_named(&mut self.connections, MAIN, &target, label)?;
        for (index, bytes) in sizes.iter().enumerate() {
            // A request to end the run does not wait for tens of thousands of growths.
            if is_stopped(self.options) {
                return Err(LabError::Interrupted);
            }
            let grow = format!(
                "alter database [{database}] modify file (name = [{name}], size = {}KB)",
                bytes / 1024
            );
            connection.rows(&grow).map_err(failed)?;
            progress((index + 1) as f64 / sizes.len() as f64);
        }
        let elapsed = self.elapsed(begin)?;
        if let Some(name) = measure.filter(|_| !sizes.is_empty()) {
            self.measure_elapsed(found, name, elapsed);
        }
        Ok(())
    }

    pub(super) fn count_vlfs(&mut self, found: &mut ConfigurationResults) -> Result<(), LabError> {
        let label = "count the VLFs";
        let batch = format!("dbcc loginfo('{}')", self.experiment.database);
        let target = self.target(None)?;
        let connection = connection_named(&mut self.connections, MAIN, &target, label)?;
        let rows = connection.rows(&batch).map_err(|error| LabError::Step {
            label: label.into(),
            error,
        })?;
        let vlfs: Option<Vec<VlfRow>> = rows.iter().map(|row| vlf_row(row)).collect();
        let vlfs = vlfs.ok_or_else(|| LabError::Unexpected("DBCC LOGINFO has other columns than expected".into()))?;
        let log_bytes = PAGE_BYTES + vlfs.iter().map(|vlf| vlf.vlf_bytes).sum::<u64>();
        let predicted = self.setup.log.layout_at(self.setup.version, log_bytes);
        let predicted = predicted.map_err(|error| LabError::Unexpected(format!("the log's size: {error}")))?;
        let detail = format!(
            "DBCC LOGINFO shows {} in {} MB, the rules of {} predict {}",
            vlfs.len(),
            log_bytes >> 20,
            self.setup.version,
            predicted.vlf_count()
        );
        found.check(
            "the VLF count is the predicted one",
            vlfs.len() == predicted.vlf_count(),
            detail,
        );
        let stray = first_stray(&vlfs, &predicted);
        let detail = stray.map_or_else(|| "all of them".into(), |index| format!("VLF {index} is another"));
        found.check("every VLF has the predicted place and size", stray.is_none(), detail);
        found.vlf_map = map_of(&vlfs);
        self.measure(found, "vlf_count", vlfs.len() as f64);
        self.measure(found, "log_bytes", log_bytes as f64);
        Ok(())
    }

    pub(super) fn log_watcher(&self) -> Option<LogWatcher> {
        let target = self.target(Some(&self.experiment.database)).ok()?;
        let connection = Connection::open(&target).ok()?;
        Some(LogWatcher {
            connection,
            log_bytes_max: self.setup.log.max,
            begin: Instant::now(),
            events: Vec::new(),
            stride: 1,
            growths: 0,
        })
    }
}

fn vlf_row(row: &[Option<String>]) -> Option<VlfRow> {
    let column = |index: usize| -> Option<u64> {
        let first = row.len().checked_sub(LOGINFO_COLUMNS_MIN)?;
        row.get(first + index)?.as_deref()?.parse().ok()
    };
    let (sequence, status) = (column(3)?, column(4)?);
    Some(VlfRow {
        file_id: u32::try_from(column(0)?).ok()?,
        vlf_bytes: column(1)?,
        offset: column(2)?,
        status: match (status, sequence) {
            (2, _) => 2,
            (_, 0) => 0,
            _ => 1,
        },
    })
}

/// Index of the first VLF that is not where the layout has it.
fn first_stray(vlfs: &[VlfRow], predicted: &LogLayout) -> Option<usize> {
    let agree =
        |(row, laid): (&VlfRow, &vlf::LaidVlf)| (row.offset, row.vlf_bytes) == (laid.span.offset, laid.span.bytes);
    let agreeing = vlfs
        .iter()
        .zip(predicted.vlfs())
        .take_while(|pair| agree(*pair))
        .count();
    (agreeing < vlfs.len().max(predicted.vlf_count())).then_some(agreeing)
}

fn map_of(vlfs: &[VlfRow]) -> Vec<VlfMapFile> {
    let mut files: Vec<VlfMapFile> = Vec::new();
    for vlf in vlfs {
        if files.last().is_none_or(|file| file.file_id != vlf.file_id) {
            files.push(VlfMapFile {
                file_id: vlf.file_id,
                runs: Vec::new(),
            });
        }
        let Some(file) = files.last_mut() else { continue };
        match file.runs.last_mut() {
            Some(run) if (run.vlf_bytes, run.status) == (vlf.vlf_bytes, vlf.status) => run.vlf_count += 1,
            _ => file.runs.push(VlfRun {
                vlf_count: 1,
                vlf_bytes: vlf.vlf_bytes,
                status: vlf.status,
            }),
        }
    }
    files
}

/// Follows how full the log is and how it grows, over a connection of its own.
pub(super) struct LogWatcher {
    connection: Connection,
    log_bytes_max: Option<u64>,
    begin: Instant,
    events: Vec<GrowthEvent>,
    /// Every how many growths seen one is kept.
    stride: usize,
    growths: usize,
}

impl LogWatcher {
    /// Looks at the log; answers the share of its largest size that is in use.
    pub(super) fn share(&mut self) -> Option<f64> {
        let query = "select s.used_log_space_in_bytes, s.total_log_size_in_bytes, l.total_vlf_count \
                     from sys.dm_db_log_space_usage s cross join sys.dm_db_log_stats(db_id()) l";
        let at_s = self.begin.elapsed().as_secs_f64();
        let rows = self.connection.rows(query).ok()?;
        let row = rows.first()?;
        let number = |index: usize| -> Option<u64> { row.get(index)?.as_deref()?.parse().ok() };
        let (used, log_bytes, vlf_count) = (number(0)?, number(1)?, number(2)?);
        self.note(GrowthEvent {
            at_s,
            log_bytes,
            vlf_count,
        });
        let max = self.log_bytes_max?;
        Some((used as f64 / max as f64).clamp(0.0, 1.0))
    }

    fn note(&mut self, event: GrowthEvent) {
        if self.events.last().is_some_and(|last| last.log_bytes == event.log_bytes) {
            return;
        }
        if self.growths.is_multiple_of(self.stride) {
            self.events.push(event);
        }
        self.growths += 1;
        if self.events.len() == EVENTS_MAX {
            let mut index = 0;
            self.events.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }

    pub(super) fn into_events(self) -> Vec<GrowthEvent> {
        self.events
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use vlf::ServerVersion;

    fn row(values: &[u64]) -> Vec<Option<String>> {
        values.iter().map(|value| Some(value.to_string())).collect()
    }

    #[test]
    fn rows_of_both_column_counts_are_understood() {
        let expected = VlfRow {
            file_id: 2,
            vlf_bytes: 253_952,
            offset: 8192,
            status: 2,
        };
        assert_eq!(vlf_row(&row(&[2, 253_952, 8192, 137, 2, 64, 0])), Some(expected));
        assert_eq!(vlf_row(&row(&[0, 2, 253_952, 8192, 137, 2, 64, 0])), Some(expected));
        assert_eq!(vlf_row(&row(&[2, 253_952, 8192, 0, 0, 0, 0])).unwrap().status, 0);
        assert_eq!(vlf_row(&row(&[2, 253_952, 8192, 9, 0, 64, 0])).unwrap().status, 1);
        assert_eq!(vlf_row(&row(&[2, 253_952])), None);
    }

    #[test]
    fn a_vlf_elsewhere_is_found_and_neighbours_are_joined() {
        let layout = LogLayout::create(ServerVersion::V2012, 8 << 20).unwrap();
        let mut vlfs: Vec<VlfRow> = layout
            .vlfs()
            .iter()
            .map(|vlf| VlfRow {
                file_id: 2,
                vlf_bytes: vlf.span.bytes,
                offset: vlf.span.offset,
                status: 0,
            })
            .collect();
        assert_eq!(first_stray(&vlfs, &layout), None);
        let runs: Vec<(u64, u64)> = map_of(&vlfs)[0]
            .runs
            .iter()
            .map(|run| (run.vlf_count, run.vlf_bytes))
            .collect();
        assert_eq!(runs, [(3, 2_031_616), (1, 2_285_568)]);
        assert_eq!(first_stray(&vlfs[..3], &layout), Some(3));
        vlfs[1].offset += 512;
        assert_eq!(first_stray(&vlfs, &layout), Some(1));
    }
}
