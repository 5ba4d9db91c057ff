//! An existing layout from text: what a DBA pastes from a query window, or JSON.
//!
//! Read are `DBCC LOGINFO` with 7 columns (up to 2008 R2) or 8 (since 2012), `sys.dm_db_log_info`, the CSV and JSON of
//! `vlflab inspect` and `vlflab plan`, and JSON rows with the column names of any of them. Columns are separated by tabs,
//! commas, semicolons, bars or blanks; the heading is optional where the number of columns says which output it is.
//!
//! `sys.dm_db_log_info` gives sizes in megabytes cut to two decimals, so sizes come from the offsets; only the last VLF's
//! is taken from it, as the roundest end of the file that fits.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use vlf::{LayoutRun, LogLayout, Lsn, PAGE_BYTES, ServerVersion};

/// One row of the text, before it is checked against the others.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    file_id: u64,
    offset: u64,
    /// Exact size.
    bytes: Option<u64>,
    /// Size in MB to two decimals.
    megabytes: Option<f64>,
    /// Anything that tells growths apart.
    growth: String,
}

/// Why a text is no layout.
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

/// Reads a layout. `file_id` picks one log file where the rows are of several.
///
/// # Errors
/// No rows, a column that cannot be read, VLFs that do not follow one another, or several log files and no `file_id`.
pub fn layout_from_text(text: &str, version: ServerVersion, file_id: Option<u64>) -> Result<LogLayout, PastedError> {
    let text = text.trim_start_matches('\u{feff}');
    let rows = match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => json_rows(text)?,
        _ => text_rows(text)?,
    };
    let rows = one_file(rows, file_id)?;
    layout_of_rows(rows, version)
}

/// The layout of VLFs given as offset, size and create LSN, in file order.
///
/// # Errors
/// VLFs that do not follow one another, or of impossible sizes.
pub fn layout_of_vlfs(
    vlfs: impl Iterator<Item = (u64, u64, Lsn)>,
    version: ServerVersion,
) -> Result<LogLayout, PastedError> {
    let rows = vlfs.map(|(offset, bytes, create_lsn)| Row {
        offset,
        bytes: Some(bytes),
        growth: create_lsn.to_string(),
        ..Row::default()
    });
    layout_of_rows(rows.collect(), version)
}

const NOTHING: &str = "no VLF found; expected are rows of DBCC LOGINFO (7 or 8 columns) or sys.dm_db_log_info, or JSON";

fn one_file(rows: Vec<Row>, wanted: Option<u64>) -> Result<Vec<Row>, PastedError> {
    let mut by_file: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
    for row in rows {
        by_file.entry(row.file_id).or_default().push(row);
    }
    let known: Vec<String> = by_file.keys().map(u64::to_string).collect();
    match wanted {
        Some(file_id) => match by_file.remove(&file_id) {
            Some(rows) => Ok(rows),
            None => error(
                0,
                format!("no rows of file {file_id}; there are rows of {}", known.join(", ")),
            ),
        },
        None if by_file.len() > 1 => error(
            0,
            format!(
                "rows of {} log files: choose one with --file-id ({})",
                by_file.len(),
                known.join(", ")
            ),
        ),
        None => match by_file.into_values().next() {
            Some(rows) => Ok(rows),
            None => error(0, NOTHING),
        },
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
            (None, Some(next), _) => next - row.offset,
            (None, None, Some(megabytes)) => last_vlf_bytes(row.offset, megabytes),
            (None, None, None) => return error(index + 1, "the last VLF has no size"),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    FileId,
    Offset,
    Bytes,
    Megabytes,
    CreateLsn,
    GrowthStep,
    Other,
}

fn column_of(name: &str) -> Column {
    let name: String = name
        .to_ascii_lowercase()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .collect();
    match name.as_str() {
        "fileid" => Column::FileId,
        "startoffset" | "vlfbeginoffset" | "offset" => Column::Offset,
        "filesize" | "size" => Column::Bytes,
        "vlfsizemb" => Column::Megabytes,
        "createlsn" | "vlfcreatelsn" => Column::CreateLsn,
        "growthstep" => Column::GrowthStep,
        _ => Column::Other,
    }
}

const LOGINFO_7: [Column; 7] = [
    Column::FileId,
    Column::Bytes,
    Column::Offset,
    Column::Other,
    Column::Other,
    Column::Other,
    Column::CreateLsn,
];

const LOG_INFO_VIEW: [Column; 10] = [
    Column::Other,
    Column::FileId,
    Column::Offset,
    Column::Megabytes,
    Column::Other,
    Column::Other,
    Column::Other,
    Column::Other,
    Column::Other,
    Column::CreateLsn,
];

/// The columns of a text without a heading, by their number.
fn columns_by_count(count: usize) -> Option<Vec<Column>> {
    match count {
        7 => Some(LOGINFO_7.to_vec()),
        8 => Some([Column::Other].into_iter().chain(LOGINFO_7).collect()),
        10 => Some(LOG_INFO_VIEW.to_vec()),
        11 => Some(LOG_INFO_VIEW.into_iter().chain([Column::Other]).collect()),
        _ => None,
    }
}

fn text_rows(text: &str) -> Result<Vec<Row>, PastedError> {
    let mut columns: Option<Vec<Column>> = None;
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let cells = cells_of(line);
        let ruler = cells.iter().all(|cell| cell.chars().all(|c| "-:=+".contains(c)));
        let message = line.trim_start().starts_with('(') || line.trim_start().starts_with("DBCC execution");
        if cells.is_empty() || ruler || message {
            continue;
        }
        if cells.iter().any(|cell| column_of(cell) == Column::Offset) {
            columns = Some(cells.iter().map(|cell| column_of(cell)).collect());
            continue;
        }
        let columns = match &columns {
            Some(columns) => columns,
            None => match columns_by_count(cells.len()) {
                Some(by_count) => columns.insert(by_count),
                None => {
                    return error(
                        index + 1,
                        format!("{} columns without a heading; {NOTHING}", cells.len()),
                    );
                }
            },
        };
        rows.push(row_of_cells(columns, &cells, index + 1)?);
    }
    Ok(rows)
}

fn cells_of(line: &str) -> Vec<&str> {
    let line = line.trim();
    let separator = ['\t', ',', ';', '|'].into_iter().find(|c| line.contains(*c));
    let cells: Vec<&str> = match separator {
        Some(separator) => line.trim_matches('|').split(separator).collect(),
        None => line.split_whitespace().collect(),
    };
    cells.into_iter().map(|cell| cell.trim().trim_matches('"')).collect()
}

fn row_of_cells(columns: &[Column], cells: &[&str], line: usize) -> Result<Row, PastedError> {
    let mut row = Row::default();
    let mut has_offset = false;
    for (column, cell) in columns.iter().zip(cells) {
        let unreadable = || PastedError {
            line,
            reason: format!("'{cell}' is not a number"),
        };
        match column {
            Column::FileId => row.file_id = cell.parse().map_err(|_| unreadable())?,
            Column::Offset => {
                row.offset = cell.parse().map_err(|_| unreadable())?;
                has_offset = true;
            }
            Column::Bytes => row.bytes = Some(cell.parse().map_err(|_| unreadable())?),
            Column::Megabytes => row.megabytes = Some(cell.parse().map_err(|_| unreadable())?),
            Column::CreateLsn | Column::GrowthStep => row.growth = (*cell).to_owned(),
            Column::Other => {}
        }
    }
    if !has_offset {
        return error(line, "fewer columns than the heading");
    }
    Ok(row)
}

fn json_rows(text: &str) -> Result<Vec<Row>, PastedError> {
    let document: Value = serde_json::from_str(text).map_err(|fault| PastedError {
        line: fault.line(),
        reason: format!("no JSON: {fault}"),
    })?;
    let list = match &document {
        Value::Object(object) => object.get("vlfs"),
        other => Some(other),
    };
    let Some(list) = list.and_then(Value::as_array) else {
        return error(
            0,
            "the JSON has no array 'vlfs'; expected is the output of vlflab inspect or plan, or rows",
        );
    };
    list.iter()
        .enumerate()
        .map(|(index, row)| row_of_json(row, index + 1))
        .collect()
}

fn row_of_json(value: &Value, line: usize) -> Result<Row, PastedError> {
    let Some(object) = value.as_object() else {
        return error(line, "a VLF is an object with 'offset' and 'size'");
    };
    let named: Vec<(Column, String)> = object
        .iter()
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (column_of(name), text)
        })
        .collect();
    let columns: Vec<Column> = named.iter().map(|(column, _)| *column).collect();
    let cells: Vec<&str> = named.iter().map(|(_, text)| text.as_str()).collect();
    row_of_cells(&columns, &cells, line)
}
