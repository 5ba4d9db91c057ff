//! An existing layout from text: what a DBA pastes from a query window, or JSON.
//!
//! Read are `DBCC LOGINFO` with 7 columns (up to 2008 R2) or 8 (since 2012), `sys.dm_db_log_info`, the CSV and JSON of
//! `vlflab inspect` and `vlflab plan`, and JSON rows with the column names of any of them.
//!
//! | form | as it comes from |
//! |---|---|
//! | columns separated by tabs, bars, semicolons, commas or blanks, with a heading or without | Management Studio, sqlcmd, CSV, Markdown |
//! | with prompts, rulers, repeated headings, rows broken into several lines | sqlcmd, at its default of 80 characters a line |
//! | a line for each value, `FileId : 2` | Format-List of PowerShell, vertical output |
//! | tables and rows of HTML and XML | blogs, mails, `FOR XML` |
//! | JSON | `FOR JSON`, ConvertTo-Json |
//!
//! The heading is optional where the number of columns says which output it is. Numbers may have separators between thousands and a decimal
//! comma. A paste may hold several logs; which one is meant is then asked for.
//!
//! `sys.dm_db_log_info` gives sizes in megabytes cut to two decimals, so sizes come from the offsets; only the last VLF's
//! is taken from it, as the roundest end of the file that fits.

use std::fmt;

use vlf::{LayoutRun, LogLayout, PAGE_BYTES, ServerVersion};

use crate::size::group_digits;

mod columns;
mod json;
mod markup;
mod numbers;
mod rows;
mod text;

use rows::Row;

/// Which of several pasted logs is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The file's number in its database.
    pub file_id: Option<u64>,
    /// The log's place in the paste, from 1, as the error that asks for it lists them.
    pub log: Option<usize>,
}

/// Why a text is not a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastedError {
    /// Line of the text or row of the JSON, from 1; 0 = the whole.
    pub line: usize,
    /// What is wrong and what is expected.
    pub reason: String,
}

impl fmt::Display for PastedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "row {line}: {}", self.reason),
        }
    }
}

impl std::error::Error for PastedError {}

fn error<T>(line: usize, reason: impl Into<String>) -> Result<T, PastedError> {
    Err(PastedError {
        line,
        reason: reason.into(),
    })
}

/// Reads a layout.
///
/// # Errors
/// No rows, a column that cannot be read, VLFs that do not follow one another, or several logs and none chosen.
pub fn layout_from_text(text: &str, version: ServerVersion, choice: Choice) -> Result<LogLayout, PastedError> {
    layout_of_rows(chosen(logs_of(rows_of(text)?), choice)?, version)
}

fn rows_of(text: &str) -> Result<Vec<Row>, PastedError> {
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => json::rows(text),
        _ if markup::is_markup(text) => markup::rows(text),
        _ => text::rows(text),
    }
}

/// A log of a paste, with what its rows say of the use of each VLF.
#[derive(Clone, Debug, PartialEq)]
pub struct PastedLog {
    /// Name or id of the database; empty where the text names none.
    pub database: String,
    pub file_id: u64,
    pub layout: LogLayout,
    /// Sequence and status of each VLF of the layout; 0 and `None` where the text has none.
    pub uses: Vec<(u32, Option<u8>)>,
}

/// Reads every log of a paste.
///
/// # Errors
/// No rows, a column that cannot be read, or VLFs that do not follow one another.
pub fn logs_from_text(text: &str, version: ServerVersion) -> Result<Vec<PastedLog>, PastedError> {
    let logs = logs_of(rows_of(text)?);
    if logs.is_empty() {
        return error(0, NOTHING);
    }
    let log = |mut rows: Vec<Row>| {
        rows.sort_by_key(|row| row.offset);
        let first = rows.first().cloned().unwrap_or_default();
        let uses = rows.iter().map(|row| (row.sequence, row.status)).collect();
        let layout = layout_of_rows(rows, version)?;
        Ok(PastedLog {
            database: first.database,
            file_id: first.file_id,
            layout,
            uses,
        })
    };
    logs.into_iter().map(log).collect()
}

/// Pasted or saved text: UTF-8, or the UTF-16 that PowerShell and Management Studio save.
///
/// # Errors
/// The bytes are neither.
pub fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    if let Some(utf16) = bytes.strip_prefix(&[0xFF, 0xFE]) {
        let units: Vec<u16> = utf16
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        return String::from_utf16(&units).map_err(|error| error.to_string());
    }
    String::from_utf8(bytes).map_err(|_| "neither a log file nor text".to_owned())
}

/// The layout of VLFs given as offset, size and the number of the growth that made them, in file order.
///
/// # Errors
/// VLFs that do not follow one another, or of impossible sizes.
pub fn layout_of_vlfs(
    vlfs: impl Iterator<Item = (u64, u64, u32)>,
    version: ServerVersion,
) -> Result<LogLayout, PastedError> {
    let rows = vlfs.map(|(offset, bytes, growth)| Row {
        offset,
        bytes: Some(bytes),
        growth: growth.to_string(),
        ..Row::default()
    });
    layout_of_rows(rows.collect(), version)
}

/// What to do where no connection comes about.
pub const PASTE_HINT: &str = "Run this there, in Management Studio or sqlcmd, save what it prints, and pass that to vlflab advise --from FILE \
     --sql-version VERSION. It only reads, and needs sysadmin:";

/// Prints the VLFs of every database in a form that [`logs_from_text`] reads, on SQL Server 2005 and later: DBCC LOGINFO has a column more since
/// 2012, and rows go into a table of as many columns only.
pub const PASTE_SCRIPT: &str = include_str!("script.sql");

const NOTHING: &str = "no VLF found; expected are rows of DBCC LOGINFO (7 or 8 columns) or sys.dm_db_log_info, or JSON";

/// The rows of each log, in the order of the paste. A row whose place is taken begins another log: outputs of several databases name the
/// database in a column or not at all.
fn logs_of(rows: Vec<Row>) -> Vec<Vec<Row>> {
    let mut logs: Vec<Vec<Row>> = Vec::new();
    let mut latest: std::collections::HashMap<(String, u64), (usize, std::collections::HashSet<u64>)> =
        std::collections::HashMap::new();
    for row in rows {
        let key = (row.database.clone(), row.file_id);
        let (log, places) = latest.entry(key).or_insert_with(|| {
            logs.push(Vec::new());
            (logs.len() - 1, std::collections::HashSet::new())
        });
        if !places.insert(row.offset) {
            logs.push(Vec::new());
            *log = logs.len() - 1;
            *places = std::collections::HashSet::from([row.offset]);
        }
        if let Some(rows) = logs.get_mut(*log) {
            rows.push(row);
        }
    }
    logs
}

/// Logs named in an error at most.
const LOGS_NAMED_MAX: usize = 20;

/// The log that is meant.
fn chosen(logs: Vec<Vec<Row>>, choice: Choice) -> Result<Vec<Row>, PastedError> {
    if logs.is_empty() {
        return error(0, NOTHING);
    }
    let file_of = |rows: &[Row]| rows.first().map_or(0, |row| row.file_id);
    let name = |(index, rows): (usize, &Vec<Row>)| {
        let database = rows.first().map_or("", |row| row.database.as_str());
        let of = if database.is_empty() {
            String::new()
        } else {
            format!("database {database}, ")
        };
        let vlfs = group_digits(rows.len() as u64);
        format!("{} = {of}file {}, {vlfs} VLFs", index + 1, file_of(rows))
    };
    let mut names: Vec<String> = logs.iter().enumerate().take(LOGS_NAMED_MAX).map(name).collect();
    if logs.len() > LOGS_NAMED_MAX {
        names.push(format!("{} more", logs.len() - LOGS_NAMED_MAX));
    }
    let (count, names) = (logs.len(), names.join("; "));
    let fits = |(index, rows): &(usize, Vec<Row>)| {
        choice.log.is_none_or(|log| log == index + 1) && choice.file_id.is_none_or(|id| id == file_of(rows))
    };
    let mut fitting = logs.into_iter().enumerate().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some((_, rows)), None) => Ok(rows),
        (None, _) => error(
            0,
            format!("no such log: --from has {names}; choose with --from-log or --file-id"),
        ),
        (Some(_), Some(_)) => error(
            0,
            format!("rows of {count} logs: choose one with --from-log N, or --file-id where the files differ: {names}"),
        ),
    }
}

fn layout_of_rows(mut rows: Vec<Row>, version: ServerVersion) -> Result<LogLayout, PastedError> {
    rows.sort_by_key(|row| row.offset);
    let mut vlfs: Vec<(u64, String)> = Vec::with_capacity(rows.len());
    let mut expected = vlf::FIRST_VLF_OFFSET;
    for (index, row) in rows.iter().enumerate() {
        if row.offset != expected {
            return error(
                index + 1,
                format!(
                    "the VLF at offset {} does not follow the one before, which ends at {expected}",
                    row.offset
                ),
            );
        }
        let next = rows.get(index + 1).map(|next| next.offset);
        let bytes = match (row.bytes, next, row.megabytes) {
            (Some(bytes), _, _) => bytes,
            (None, Some(next), _) => next.saturating_sub(row.offset),
            (None, None, Some(megabytes)) => last_vlf_bytes(row.offset, megabytes),
            (None, None, None) => {
                return error(
                    index + 1,
                    "the last VLF has no size: paste FileSize, or vlf_size_mb, beside the offsets",
                );
            }
        };
        expected = match row.offset.checked_add(bytes) {
            Some(end) if bytes > 0 => end,
            _ => return error(index + 1, format!("a VLF cannot have {bytes} bytes")),
        };
        vlfs.push((bytes, row.growth.clone()));
    }
    let runs: Vec<LayoutRun> = vlfs.chunk_by(|a, b| a.1 == b.1).flat_map(runs_of_growth).collect();
    match LogLayout::from_runs(version, expected, &runs) {
        Some(layout) if layout.vlf_count() > 0 => Ok(layout),
        _ => error(
            0,
            "the sizes are no log's: VLFs have whole 8 KB pages, 248 KB or more, and a log ends at 2 TB",
        ),
    }
}

/// A growth as runs: equal VLFs and a last one of another size. Sizes of another pattern become several growths, as when
/// neighbouring growths cannot be told apart.
fn runs_of_growth(vlfs: &[(u64, String)]) -> Vec<LayoutRun> {
    let mut runs: Vec<LayoutRun> = Vec::new();
    let mut rest = vlfs;
    while let Some((first, _)) = rest.first() {
        let equal = rest.iter().take_while(|vlf| vlf.0 == *first).count();
        let with_last = rest
            .get(equal)
            .filter(|last| last.0 > *first && equal + 1 == rest.len());
        let length = equal + usize::from(with_last.is_some());
        runs.push(LayoutRun {
            vlf_count: u32::try_from(length).unwrap_or(u32::MAX),
            vlf_bytes: *first,
            last_vlf_bytes: with_last.map_or(*first, |last| last.0),
            repeat: 1,
        });
        rest = rest.get(length..).unwrap_or(&[]);
    }
    runs
}

/// The last VLF's bytes: of the whole pages that show as `megabytes` (cut or rounded to two decimals), the one that gives
/// the file the roundest size.
fn last_vlf_bytes(offset: u64, megabytes: f64) -> u64 {
    if !(0.0..=4_194_304.0).contains(&megabytes) {
        return 0;
    }
    let unit = 1_048_576.0;
    let from = ((megabytes - 0.005).max(0.0) * unit) as u64;
    let below = ((megabytes + 0.01) * unit) as u64;
    (from / PAGE_BYTES..=below / PAGE_BYTES)
        .map(|page| page * PAGE_BYTES)
        .filter(|bytes| (from..below).contains(bytes))
        .max_by_key(|bytes| offset.saturating_add(*bytes).trailing_zeros())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn pasted_text_may_be_utf_16() {
        let utf16: Vec<u8> = [0xFEFFu16]
            .into_iter()
            .chain("2,\u{e9}".encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(decoded(utf16), Ok("2,\u{e9}".to_owned()));
        assert_eq!(decoded(b"2,3".to_vec()), Ok("2,3".to_owned()));
        assert!(decoded(vec![0xC3, 0x28]).is_err());
    }
}
