//! Copies rows from one server to another as TDS bytes, without the cost and loss of conversions.
//!
//! A bulk load's message is COLMETADATA, ROW after ROW, DONE ([MS-TDS] 2.2.6.1, BulkLoadBCP), nearly the same as a server's answer to a
//! query. This module converts the differences: NBCROW becomes ROW, which every version accepts, and XML is announced as `nvarchar(max)`,
//! as SqlBulkCopy does.

use super::value::{Reader, WireColumn, decode_row};
use super::{ClientError, lost};
use tds_protocol::TypeId;

const COLUMN_METADATA: u8 = 0x81;
const ROW: u8 = 0xD1;
const DONE: [u8; 13] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Flags of a column that may be written, and whether it may be NULL: as in the table, or Msg 4816.
const MAY_BE_WRITTEN: u16 = 0x0008;

/// A row as it came.
#[derive(Debug, Clone, Copy)]
pub struct WireRow<'a> {
    columns: &'a [WireColumn],
    data: &'a [u8],
    /// Which columns are NULL and not in `data`; without, all are there.
    nulls: Option<&'a [u8]>,
}

impl<'a> WireRow<'a> {
    pub(super) fn new(columns: &'a [WireColumn], data: &'a [u8], nulls: Option<&'a [u8]>) -> WireRow<'a> {
        WireRow { columns, data, nulls }
    }

    fn is_null(&self, index: usize) -> bool {
        let byte = self.nulls.and_then(|nulls| nulls.get(index / 8));
        byte.is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// Its values as text, as [`super::Event::Row`] has them.
    ///
    /// # Errors
    /// [`ClientError::Lost`]: its bytes end too soon.
    pub fn values(&self) -> Result<Vec<Option<String>>, ClientError> {
        decode_row(self.columns, self.data, |index| self.is_null(index)).ok_or_else(|| lost("a row ends too soon"))
    }
}

/// The rows of one INSERT BULK.
#[derive(Debug, Default)]
pub struct BulkMessage {
    bytes: Vec<u8>,
    rows: u64,
    nullable: Vec<bool>,
}

impl BulkMessage {
    /// `nullable` says of each column whether the table of the destination lets it be NULL.
    pub fn new(nullable: Vec<bool>) -> BulkMessage {
        BulkMessage {
            nullable,
            ..BulkMessage::default()
        }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// There is no row in it.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row. All rows of a message have the same columns.
    ///
    /// # Errors
    /// [`ClientError::Lost`]: its bytes end too soon, or a column is of a type that bulk loads do not have (`text`, `ntext`, `image`, CLR
    /// types: the query converts those).
    pub fn push(&mut self, row: &WireRow<'_>) -> Result<(), ClientError> {
        if self.bytes.is_empty() {
            self.bytes.push(COLUMN_METADATA);
            let count = u16::try_from(row.columns.len()).map_err(|_| lost("a row has too many columns"))?;
            self.bytes.extend(count.to_le_bytes());
            for (index, column) in row.columns.iter().enumerate() {
                let is_nullable = self.nullable.get(index).copied().unwrap_or(true);
                push_column(&mut self.bytes, column, is_nullable)?;
            }
        }
        self.bytes.push(ROW);
        self.rows += 1;
        if row.nulls.is_none() {
            self.bytes.extend_from_slice(row.data);
            return Ok(());
        }
        let mut reader = Reader(row.data);
        for (index, column) in row.columns.iter().enumerate() {
            if row.is_null(index) {
                self.bytes.extend_from_slice(null_of(column));
                continue;
            }
            let before = reader.0;
            reader.bytes(column).ok_or_else(|| lost("a row ends too soon"))?;
            let length = before.len() - reader.0.len();
            self.bytes.extend_from_slice(before.get(..length).unwrap_or_default());
        }
        Ok(())
    }

    /// The whole message; the next one begins empty.
    pub fn take(&mut self) -> Vec<u8> {
        self.rows = 0;
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.extend_from_slice(&DONE);
        bytes
    }
}

/// How NULL stands in a ROW.
fn null_of(column: &WireColumn) -> &'static [u8] {
    use TypeId::*;
    match column.type_id {
        Xml => &[0xFF; 8],
        BigVarChar | BigVarBinary | NVarChar if column.is_max => &[0xFF; 8],
        BigVarChar | BigVarBinary | NVarChar | BigChar | BigBinary | NChar => &[0xFF; 2],
        Variant => &[0; 4],
        _ => &[0],
    }
}

fn push_column(out: &mut Vec<u8>, column: &WireColumn, is_nullable: bool) -> Result<(), ClientError> {
    use TypeId::*;
    // No user type.
    out.extend([0; 4]);
    out.extend((MAY_BE_WRITTEN | u16::from(is_nullable)).to_le_bytes());
    let short = (column.length.min(0xFFFF) as u16).to_le_bytes();
    match column.type_id {
        Int1 | Bit | Int2 | Int4 | Int8 | Float4 | Float8 | Money | Money4 | DateTime | DateTime4 | Date => {
            out.push(column.type_id as u8);
        }
        IntN | BitN | FloatN | MoneyN | DateTimeN | Guid => out.extend([column.type_id as u8, column.length as u8]),
        Decimal | Numeric | DecimalN | NumericN => {
            out.extend([
                column.type_id as u8,
                column.length as u8,
                column.precision,
                column.scale,
            ]);
        }
        Time | DateTime2 | DateTimeOffset => out.extend([column.type_id as u8, column.scale]),
        BigVarChar | BigChar | NVarChar | NChar => {
            out.push(column.type_id as u8);
            out.extend(short);
            out.extend(column.collation);
        }
        BigVarBinary | BigBinary => {
            out.push(column.type_id as u8);
            out.extend(short);
        }
        Xml => {
            out.extend([NVarChar as u8, 0xFF, 0xFF]);
            out.extend(column.collation);
        }
        Variant => {
            out.push(Variant as u8);
            out.extend(column.length.to_le_bytes());
        }
        other => return Err(lost(&format!("{}: no bulk load has the type {other:?}", column.name))),
    }
    let name: Vec<u16> = column.name.encode_utf16().collect();
    out.push(u8::try_from(name.len()).map_err(|_| lost("a column's name is too long"))?);
    out.extend(name.into_iter().flat_map(u16::to_le_bytes));
    Ok(())
}
