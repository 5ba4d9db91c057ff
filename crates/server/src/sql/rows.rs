//! Rows sent by a client, as input for T-SQL.

use std::sync::Arc;

use engine::error::{Error, Result};
use engine::types::Value;
use tds::bulk::BulkLoad;
use tds::{ColumnType, DecodeError, TableRows, TableValue, Value as WireValue};
use tsql::session::{ClientColumn, ClientRows, ClientTable};

use super::values::{from_wire, sql_type};
use crate::notices;

/// A table-valued parameter.
#[derive(Debug)]
pub(super) struct SentTable(pub(super) Arc<TableValue>);

impl ClientTable for SentTable {
    fn type_name(&self) -> [&str; 3] {
        [&self.0.database, &self.0.schema, &self.0.name]
    }

    fn rows(&self) -> Option<Box<dyn ClientRows + '_>> {
        let column = |column: &tds::TableColumn| ClientColumn {
            name: String::new(),
            sql_type: sql_type(column.column_type),
            nullable: true,
            is_default: column.is_default,
        };
        (!self.0.is_null).then(|| {
            Box::new(SentRows {
                columns: self.0.columns.iter().map(column).collect(),
                types: self.0.columns.iter().map(|column| column.column_type).collect(),
                rows: self.0.rows(),
                row: Vec::new(),
            }) as Box<dyn ClientRows>
        })
    }
}

/// The rows of a table-valued parameter.
struct SentRows<'t> {
    columns: Vec<ClientColumn>,
    types: Vec<ColumnType>,
    rows: TableRows<'t>,
    row: Vec<WireValue>,
}

impl ClientRows for SentRows<'_> {
    fn columns(&self) -> &[ClientColumn] {
        &self.columns
    }

    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        let broken = |_: DecodeError| Error::assertion("rows that were read before are broken");
        let has_row = self.rows.next_row(&mut self.row).map_err(broken)?;
        row.clear();
        let values = self.row.iter().zip(&self.types);
        for (value, &column) in values {
            row.push(column_value(column, value)?);
        }
        Ok(has_row)
    }
}

/// The rows of a bulk load.
pub(super) struct BulkRows<'l, 'm> {
    columns: Vec<ClientColumn>,
    types: Vec<ColumnType>,
    load: &'l mut BulkLoad<'m>,
    row: Vec<WireValue>,
}

impl<'l, 'm> BulkRows<'l, 'm> {
    pub(super) fn new(load: &'l mut BulkLoad<'m>) -> BulkRows<'l, 'm> {
        let column = |column: &tds::Column| ClientColumn {
            name: column.name.clone(),
            sql_type: sql_type(column.column_type),
            nullable: column.nullable,
            is_default: false,
        };
        BulkRows {
            columns: load.columns().iter().map(column).collect(),
            types: load.columns().iter().map(|column| column.column_type).collect(),
            load,
            row: Vec::new(),
        }
    }
}

impl ClientRows for BulkRows<'_, '_> {
    fn columns(&self) -> &[ClientColumn] {
        &self.columns
    }

    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        let has_row = self.load.next_row(&mut self.row).map_err(|problem| match problem {
            DecodeError::Stopped => Error::cancelled(),
            DecodeError::NoMemory => notices::insufficient_memory(),
            DecodeError::Unreadable(reason) => notices::message_unreadable(&reason),
            _ => notices::bulk_stream(),
        })?;
        let mut values = self.row.iter().zip(&self.types);
        if let Some(place) = values.position(|(value, &column)| !value.is_valid(column)) {
            let column = self.columns.get(place).map_or("", |column| &column.name);
            return Err(notices::bulk_value_invalid(column));
        }
        row.clear();
        let values = self.row.iter().zip(&self.types);
        for (value, &column) in values {
            row.push(column_value(column, value)?);
        }
        Ok(has_row)
    }
}

/// A value of a column.
///
/// # Errors
/// Those of [`from_wire`].
pub(super) fn column_value(column: ColumnType, value: &WireValue) -> Result<Value> {
    from_wire(value, sql_type(column))
}
