//! VLF rows of layouts that growth rules make.

use advisor::size::MB;
use advisor::snapshot::Rows;
use vlf::{LogLayout, ServerVersion};

use super::recorded::table;

/// DBCC LOGINFO of a log created with `first_gb` GB and grown to `to_gb` GB in steps of 1 GB, before 2014: the last VLF is active.
pub fn of_layout(first_gb: u64, to_gb: u64) -> Rows {
    grown(first_gb * 1024, 1024, to_gb * 1024)
}

/// The same in MB.
pub fn grown(first_mb: u64, step_mb: u64, to_mb: u64) -> Rows {
    laid_out(first_mb, step_mb, to_mb, false)
}

/// The same; the log has gone round its file since, and the first VLF is active.
pub fn grown_and_gone_round(first_mb: u64, step_mb: u64, to_mb: u64) -> Rows {
    laid_out(first_mb, step_mb, to_mb, true)
}

fn laid_out(first_mb: u64, step_mb: u64, to_mb: u64, has_gone_round: bool) -> Rows {
    let mut layout = LogLayout::create(ServerVersion::V2012, first_mb * MB).unwrap();
    if to_mb > first_mb {
        layout.grow_until(to_mb * MB, step_mb * MB).unwrap();
    }
    let count = layout.vlf_count();
    let row = |(index, laid): (usize, &vlf::LaidVlf)| {
        let active = if has_gone_round { 0 } else { count - 1 };
        let (status, span) = (if index == active { 2 } else { 0 }, laid.span);
        let sequence = if has_gone_round && index == 0 { count } else { index } + 101;
        format!(
            "0|2|{}|{}|{sequence}|{status}|64|{}",
            span.bytes, span.offset, laid.growth_step
        )
    };
    let lines: Vec<String> = layout.vlfs().iter().enumerate().map(row).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    table(
        "RecoveryUnitId|FileId|FileSize|StartOffset|FSeqNo|Status|Parity|CreateLSN",
        &lines,
    )
}
