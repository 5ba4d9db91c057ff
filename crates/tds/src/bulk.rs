//! The rows of INSERT BULK: COLMETADATA, then ROW tokens, then DONE, nearly as the server itself sends them.

use crate::column::{Column, WireType};
use crate::cursor::{Cursor, DecodeError};
use crate::feed::{Feed, Payload};
use crate::value::Value;
use crate::version::TdsVersion;

/// A bulk load under way: the columns, and the rows one after the other.
#[derive(Debug, Clone)]
pub struct BulkLoad<'a> {
    columns: Vec<Column>,
    wires: Vec<WireType>,
    feed: Feed<'a>,
    ended: bool,
}

impl<'a> BulkLoad<'a> {
    /// Reads the columns at the front of a bulk load message.
    pub fn parse(payload: impl Into<Payload<'a>>, version: TdsVersion) -> Result<Self, DecodeError> {
        let mut feed = Feed::new(payload.into());
        let count = feed.take(|cursor| {
            let token = cursor.u8("bulk load")?;
            if token != 0x81 {
                return Err(DecodeError::Invalid("bulk load token", u64::from(token)));
            }
            cursor.u16("column count")
        })?;
        if count == 0xFFFF {
            return Err(DecodeError::Invalid("column count", u64::from(count)));
        }
        let mut load = Self {
            columns: Vec::new(),
            wires: Vec::new(),
            feed,
            ended: false,
        };
        for _ in 0..count {
            let (column, wire) = load.feed.take(|cursor| column(cursor, version))?;
            load.columns.push(column);
            load.wires.push(wire);
        }
        Ok(load)
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Reads the next row into `row`; false after the last one. A message that ends without DONE
    /// ends the load too, as some drivers send none.
    pub fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, DecodeError> {
        row.clear();
        if self.ended || self.feed.is_empty() {
            return Ok(false);
        }
        let feed = &mut self.feed;
        feed.begin();
        match feed.take(|cursor| cursor.u8("bulk row"))? {
            0xD1 => {
                for wire in &self.wires {
                    row.push(feed.value(wire, true)?);
                }
            }
            0xD2 => {
                let bytes = self.wires.len().div_ceil(8);
                let bitmap = feed.take(|cursor| cursor.bytes(bytes, "null bitmap").map(<[u8]>::to_vec))?;
                for (column, wire) in self.wires.iter().enumerate() {
                    let null = bitmap[column / 8] >> (column % 8) & 1 != 0;
                    row.push(if null { Value::Null } else { feed.value(wire, true)? });
                }
            }
            0xFD => {
                self.ended = true;
                return Ok(false);
            }
            other => return Err(DecodeError::Invalid("bulk load token", u64::from(other))),
        }
        Ok(true)
    }
}

fn column(cursor: &mut Cursor<'_>, version: TdsVersion) -> Result<(Column, WireType), DecodeError> {
    let user_type = if version.is_2005_or_later() {
        cursor.u32("user type")?
    } else {
        u32::from(cursor.u16("user type")?)
    };
    let flags = cursor.u16("column flags")?;
    let wire = WireType::parse(cursor)?;
    if wire.column.is_large_object() {
        // Clients send one name here, whatever the version; the server's own COLMETADATA has parts from 7.2 on.
        cursor.us_varchar("table name")?;
    }
    let column = Column {
        name: cursor.b_varchar("column name")?,
        column_type: wire.column,
        collation: wire.collation,
        nullable: flags & 1 != 0,
        identity: flags & 0x10 != 0,
        user_type,
        xml_collection: None,
    };
    Ok((column, wire))
}
