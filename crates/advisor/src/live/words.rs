//! Sentences about logs.

use crate::size::format_bytes;

/// Why a log cannot be reused, from `log_reuse_wait_desc` (sql-docs, "The transaction log", factors that can delay log truncation).
pub fn reuse_words(reuse_wait: &str) -> &'static str {
    match reuse_wait {
        "NOTHING" => "Nothing holds the log: its VLFs are reused as it comes round.",
        "CHECKPOINT" => "Changed pages are not written yet. The next checkpoint lets the log go.",
        "LOG_BACKUP" => "The log has not been backed up. BACKUP LOG lets it go.",
        "ACTIVE_BACKUP_OR_RESTORE" => "A backup or restore is reading the log. Its end lets the log go.",
        "ACTIVE_TRANSACTION" => "A transaction is open. Its end lets the log go.",
        "DATABASE_MIRRORING" => "The mirror has not taken this log yet.",
        "REPLICATION" => "A log reader has not read this log yet: replication or change data capture.",
        "DATABASE_SNAPSHOT_CREATION" => "A database snapshot is being created. It takes a moment.",
        "LOG_SCAN" => "Something reads the log. It takes a moment.",
        "AVAILABILITY_REPLICA" => "A secondary replica has not taken this log yet.",
        "OLDEST_PAGE" => "The oldest changed page is not written yet. Checkpoints write it by and by.",
        "XTP_CHECKPOINT" => "Memory-optimized tables wait for a checkpoint of their own.",
        "SLOG_SCAN" => "Accelerated recovery is reading its log.",
        _ => "The server names no reason.",
    }
}

/// `2 ms`, `1.5 s`, `2 min 5 s`.
pub fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{} ms", micros / 1_000),
        1_000_000..60_000_000 => format!("{}.{} s", micros / 1_000_000, micros / 100_000 % 10),
        60_000_000..3_600_000_000 => format!("{} min {} s", micros / 60_000_000, micros / 1_000_000 % 60),
        _ => format!("{} h {} min", micros / 3_600_000_000, micros / 60_000_000 % 60),
    }
}

/// `1 VLF`, `2 VLFs`.
pub fn vlfs(count: u64) -> String {
    match count {
        1 => "1 VLF".to_owned(),
        _ => format!("{} VLFs", crate::size::group_digits(count)),
    }
}

/// A growth's sentence.
pub fn grown(from_bytes: u64, to_bytes: u64, vlfs_added: u64) -> String {
    format!(
        "The log grew from {} to {}: {} more.",
        format_bytes(from_bytes),
        format_bytes(to_bytes),
        vlfs(vlfs_added)
    )
}

/// Why a shrink left the file larger than asked for, from its message.
pub fn shrink_refusal(number: i32) -> &'static str {
    match number {
        9006 => "A log file keeps two VLFs at least (9006).",
        9007 => "The size asked for ends inside the last VLF, and VLFs go as a whole (9007).",
        9008 => "The last VLF of the file is in use, and a log shrinks from its end only (9008).",
        9009 => "Open transactions may need this space for their rollback (9009).",
        _ => "The server gives no reason.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_parts_at_most() {
        let said = [999, 1_000, 1_590_000, 125_000_000, 7_260_000_000].map(duration);
        assert_eq!(said, ["999 µs", "1 ms", "1.5 s", "2 min 5 s", "2 h 1 min"]);
    }
}
