//! Files of rows and their format files, as BULK INSERT reads them: sound ones with bytes changed, cut or repeated, read to the end.
//!
//! ```text
//! input    how u8: options, the kind of the format | length of the format u16 | the format file | the rows
//! ```

use super::{Reached, Target};
use crate::mutate::change_bytes;
use engine::error::Result;
use engine::types::{Collation, Length, SqlType};
use outside::random::Random;
use tsql::ast::{OptionValue, StatementKind};
use tsql::data_file::{Destination, FileBytes, Layout, Options, Read, Reader, read_format};

const HEAD_BYTES: usize = 3;

/// Format files, each with rows that it describes.
const SOUND: &[(&str, &[u8])] = &[
    (
        "14.0\n4\n1 SQLCHAR 0 0 \"<\" 2 word \"\"\n2 SQLCHAR 0 10 \",\" 0 x \"\"\n3 SQLINT 1 4 \"\" 1 id \"\"\n4 SQLNCHAR 2 20 \"\\r\\n\" 3 wide \"\"\n",
        b"one<x,\x04\x01\0\0\0\x02\0a\0\r\n<,\xFF\xFF\xFF\r\n",
    ),
    (
        "<BCPFORMAT xmlns=\"http://schemas.microsoft.com/sqlserver/2004/bulkload/format\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\
         <RECORD><FIELD ID=\"1\" xsi:type=\"CharTerm\" TERMINATOR=\",\" MAX_LENGTH=\"12\"/><FIELD ID=\"2\" xsi:type=\"NativePrefix\" PREFIX_LENGTH=\"1\"/>\
         <FIELD ID=\"3\" xsi:type=\"NCharFixed\" LENGTH=\"4\"/></RECORD><ROW><COLUMN SOURCE=\"1\" NAME=\"a\" xsi:type=\"SQLVARYCHAR\" LENGTH=\"9\"/>\
         <COLUMN SOURCE=\"2\" NAME=\"b\" xsi:type=\"SQLDECIMAL\" PRECISION=\"9\" SCALE=\"2\"/><COLUMN SOURCE=\"3\" NAME=\"c\" xsi:type=\"SQLNVARCHAR\" LENGTH=\"9\"/></ROW></BCPFORMAT>",
        b"one,\x13\x09\x02\x01\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0a\0b\0two,\xFFc\0d\0",
    ),
];

/// Rows without a format file.
const PLAIN: &[&[u8]] = &[
    b"1,\"a,b\",c\r\n2,\"d\"\"e\",f\r\n",
    b"1\tone\t\xE4\n2\t\tx\n",
    b"\xFF\xFE1\0,\0a\0,\0b\0\n\0",
    b"\x04\x01\0\0\0\x03\0one\x02\0a\0\xFF\xFF\xFF\xFF\xFF",
];

/// What WITH says of rows without a format file.
const OPTIONS: &[&str] = &[
    "format = 'CSV'",
    "fieldterminator = '\\t', rowterminator = '0x0a', firstrow = 2",
    "datafiletype = 'widechar', fieldterminator = ',', codepage = '65001'",
    "datafiletype = 'native'",
    "datafiletype = 'widenative', lastrow = 1",
    "format = 'CSV', datafiletype = 'widechar'",
];

struct RowsFiles;

/// Format files, fields and values.
pub fn build() -> Box<dyn Target> {
    Box::new(RowsFiles)
}

struct InMemory<'b>(&'b [u8]);

impl FileBytes for InMemory<'_> {
    fn name(&self) -> &str {
        "rows"
    }

    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let found = self.0.get(start..start.saturating_add(buffer.len()));
        buffer.copy_from_slice(found.unwrap_or(&vec![0; buffer.len()]));
        Ok(())
    }
}

fn destination(name: &str, sql_type: SqlType) -> Destination {
    Destination {
        name: name.to_owned(),
        sql_type,
        collation: Collation::default(),
        nullable: true,
    }
}

fn options_of(text: &str) -> Vec<OptionValue> {
    let batch = format!("bulk insert t from 'rows' with ({text})");
    let Ok(parsed) = tsql::parser::parse_batch(&batch) else {
        return Vec::new();
    };
    let kinds = parsed.into_iter().map(|statement| statement.kind);
    kinds
        .filter_map(|kind| match kind {
            StatementKind::BulkInsert(bulk) => Some(bulk.options),
            _ => None,
        })
        .flatten()
        .collect()
}

fn read(layout: Layout, destinations: Vec<Destination>, options: Options, rows: &[u8]) -> Reached {
    let Ok(mut reader) = Reader::new(InMemory(rows), layout, destinations, options) else {
        return Reached::Refused;
    };
    let mut row = Vec::new();
    let mut reached = Reached::Refused;
    loop {
        match reader.next(&mut row) {
            Ok(Read::Row | Read::Fault(_)) => reached = Reached::Taken,
            Ok(Read::End) | Err(_) => return reached,
        }
    }
}

/// Rows as a format file says.
fn read_formatted(format: &[u8], rows: &[u8]) -> Reached {
    let Ok(format) = read_format(&InMemory(format)) else {
        return Reached::Refused;
    };
    let fallback = SqlType::Decimal { precision: 9, scale: 2 };
    let columns = format.columns.iter();
    let destinations: Vec<_> = columns
        .map(|column| destination(&column.name, column.sql_type.unwrap_or(fallback)))
        .collect();
    let place = |field| format.columns.iter().position(|other| other.field == field);
    let layout = Layout::of_format(&format, &destinations, |column| place(column.field));
    let mut options = Options::default();
    options.format_file = Some("format".to_owned());
    read(layout, destinations, options, rows)
}

/// Rows of a table.
fn read_plain(options: &str, rows: &[u8]) -> Reached {
    let Ok(options) = Options::read(&options_of(options)) else {
        return Reached::Refused;
    };
    let types = [
        SqlType::Int,
        SqlType::VarChar(Length::Limited(9)),
        SqlType::NVarChar(Length::Max),
    ];
    let columns: Vec<_> = types
        .iter()
        .enumerate()
        .map(|(place, own)| (*own, true, Some(place)))
        .collect();
    let destinations = types.map(|own| destination("c", own)).to_vec();
    match Layout::of_columns(&columns, &options) {
        Ok(layout) => read(layout, destinations, options, rows),
        Err(_) => Reached::Refused,
    }
}

impl Target for RowsFiles {
    fn make(&self, random: &mut Random) -> Vec<u8> {
        let how = random.draw() as u8;
        let (mut format, mut rows) = match how & 1 {
            0 => {
                let (format, rows) = random.choose(SOUND);
                (format.as_bytes().to_vec(), rows.to_vec())
            }
            _ => (Vec::new(), random.choose(PLAIN).to_vec()),
        };
        for _ in 0..random.below(3) {
            match random.below(3) {
                0 if !format.is_empty() => change_bytes(&mut format, random),
                1 => rows.extend_from_within(..),
                _ => change_bytes(&mut rows, random),
            }
        }
        let mut input = vec![how];
        input.extend(u16::try_from(format.len()).unwrap_or(u16::MAX).to_le_bytes());
        input.extend(format.iter().take(usize::from(u16::MAX)));
        input.extend(rows);
        input
    }

    fn take(&mut self, input: &[u8]) -> Reached {
        let Some((head, rest)) = input.split_at_checked(HEAD_BYTES) else {
            return Reached::Refused;
        };
        let length = usize::from(u16::from_le_bytes([head[1], head[2]])).min(rest.len());
        let (format, rows) = rest.split_at(length);
        match head[0] & 1 {
            0 => read_formatted(format, rows),
            _ => read_plain(OPTIONS[usize::from(head[0] >> 1) % OPTIONS.len()], rows),
        }
    }
}
