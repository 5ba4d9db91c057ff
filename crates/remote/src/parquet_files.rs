//! Tables as Parquet files. The history of logs is a folder of them, two for each pass over an estate: `logs/NAME.parquet` and `findings/NAME.parquet`.
//!
//! A file is written beside its place and renamed into it, so that a reader never meets half of one. None is changed later: passes of several
//! machines can share a folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use advisor::history::{Cell, Column, FINDING_COLUMNS, FindingRow, Kind, LOG_COLUMNS, LogRow};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::{Type, TypePtr};

/// Adds the rows of one pass; `name` tells it from every other.
///
/// # Errors
/// A sentence: the folder cannot be written.
pub fn append(folder: &Path, name: &str, logs: &[LogRow], findings: &[FindingRow]) -> Result<(), String> {
    let logs: Vec<Vec<Cell>> = logs.iter().map(LogRow::cells).collect();
    let findings: Vec<Vec<Cell>> = findings.iter().map(FindingRow::cells).collect();
    write(&folder.join("logs"), name, LOG_COLUMNS, &logs)?;
    write(&folder.join("findings"), name, FINDING_COLUMNS, &findings)
}

fn write(folder: &Path, name: &str, columns: &[Column], rows: &[Vec<Cell>]) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    table(
        &folder.join(format!("{name}.parquet")),
        columns,
        &mut rows.iter().cloned(),
    )
}

/// Rows of a group: what a reader decodes at a time, and what is held here.
const GROUP_ROWS: usize = 65_536;

/// Writes a table into a file, which appears whole. The same rows give the same bytes.
///
/// # Errors
/// A sentence: the file cannot be written.
pub fn table(path: &Path, columns: &[Column], rows: &mut dyn Iterator<Item = Vec<Cell>>) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let beside = path.with_extension("new");
    let file = File::create(&beside).map_err(|error| failed(&error))?;
    let file = write_rows(file, columns, rows).map_err(|error| failed(&error))?;
    file.sync_all().map_err(|error| failed(&error))?;
    fs::rename(&beside, path).map_err(|error| failed(&error))
}

fn write_rows(file: File, columns: &[Column], rows: &mut dyn Iterator<Item = Vec<Cell>>) -> Result<File, ParquetError> {
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let mut writer = SerializedFileWriter::new(file, schema(columns)?, Arc::new(properties.build()))?;
    loop {
        let group: Vec<Vec<Cell>> = (&mut *rows).take(GROUP_ROWS).collect();
        write_group(&mut writer, &group)?;
        if group.len() < GROUP_ROWS {
            return writer.into_inner();
        }
    }
}

fn write_group(writer: &mut SerializedFileWriter<File>, rows: &[Vec<Cell>]) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    let mut index = 0;
    while let Some(mut column) = group.next_column()? {
        let cells = || rows.iter().map(|row| row.get(index).unwrap_or(&Cell::Null));
        let levels: Vec<i16> = cells().map(|cell| i16::from(*cell != Cell::Null)).collect();
        let present = || cells().filter(|cell| **cell != Cell::Null);
        match column.untyped() {
            ColumnWriter::Int64ColumnWriter(typed) => {
                let values: Vec<i64> = present().map(Cell::whole).collect();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::DoubleColumnWriter(typed) => {
                let values: Vec<f64> = present().map(Cell::real).collect();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(typed) => {
                let values: Vec<ByteArray> = present().map(|cell| ByteArray::from(cell.text())).collect();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            _ => return Err(ParquetError::General("a column of a kind that no row has".to_owned())),
        }
        column.close()?;
        index += 1;
    }
    group.close().map(|_| ())
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Whole => (Physical::INT64, None),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Moment => {
                let (is_adjusted_to_u_t_c, unit) = (true, TimeUnit::MICROS);
                (
                    Physical::INT64,
                    Some(LogicalType::timestamp(is_adjusted_to_u_t_c, unit)),
                )
            }
        };
        let builder = Type::primitive_type_builder(column.name, physical);
        let builder = builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical);
        builder.build().map(Arc::new)
    };
    let fields: Result<Vec<TypePtr>, ParquetError> = columns.iter().map(field).collect();
    let group = Type::group_type_builder("rows").with_fields(fields?);
    Ok(Arc::new(group.build()?))
}

/// Every log row of a folder, in the order of its files' names.
///
/// # Errors
/// A sentence: there is no such folder, or a file in it is none of these.
pub fn logs(folder: &Path) -> Result<Vec<LogRow>, String> {
    let folder = folder.join("logs");
    let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let entries = fs::read_dir(&folder).map_err(|error| failed(&folder, &error))?;
    let paths: Result<Vec<PathBuf>, std::io::Error> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| failed(&folder, &error))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        read(&path, &mut rows).map_err(|error| failed(&path, &error))?;
    }
    Ok(rows)
}

/// Columns are found by name: a file may have more or fewer than this build knows.
fn read(path: &Path, rows: &mut Vec<LogRow>) -> Result<(), ParquetError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    for row in reader.get_row_iter(None)? {
        let mut cells = vec![Cell::Null; LOG_COLUMNS.len()];
        for (name, field) in row?.into_columns() {
            let place = LOG_COLUMNS.iter().position(|column| column.name == name);
            if let Some(cell) = place.and_then(|place| cells.get_mut(place)) {
                *cell = cell_of(field);
            }
        }
        rows.push(LogRow::of_cells(cells));
    }
    Ok(())
}

fn cell_of(field: Field) -> Cell {
    match field {
        Field::Long(number) => Cell::Whole(number),
        Field::TimestampMicros(microseconds) => Cell::Moment(microseconds / 1_000_000),
        Field::Double(number) => Cell::Real(number),
        Field::Str(text) => Cell::Text(text),
        _ => Cell::Null,
    }
}
