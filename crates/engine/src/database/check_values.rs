//! DBCC CHECKDB of values whose bytes have a grammar of their own: `geometry` and `geography`. Rooms above the engine know it.

use super::Database;
use super::check::CheckReport;
use crate::catalog::TableDefinition;
use crate::error::{Error, Result};
use crate::page::{ObjectId, PageId};
use crate::store::Finding;
use crate::types::off_row::value_bytes_at;
use crate::types::{RowLayout, SqlType, Stored, string_room};

/// Whether bytes are a value of a type.
pub type IsValue<'v> = dyn Fn(SqlType, &[u8]) -> Result<bool> + 'v;

/// Number of SQL Server's finding that a column has a value that its type does not have.
const OUT_OF_RANGE: i32 = 2570;

/// Whether the check itself cannot go on: it is asked to stop, or there is no memory for it.
fn ends_check(error: &Error) -> bool {
    *error == Error::cancelled() || error.number == 701
}

/// A column that is looked at, and in how many rows it has bytes that are no value of its type.
struct Checked {
    column: usize,
    sql_type: SqlType,
    wrong_rows: u64,
}

impl Database {
    /// Adds to a report the columns of `geometry` and `geography` with bytes that are no value of the type: one finding for each column and
    /// partition. The caller keeps writers out. Rows and large values that cannot be read are the findings of [`Database::check`].
    ///
    /// # Errors
    /// 3617, 701; those of `is_value`.
    pub fn check_values(&self, report: &mut CheckReport, is_value: &IsValue<'_>) -> Result<()> {
        for object in self.catalog.objects(0) {
            let Some(table) = object.definition.table() else {
                continue;
            };
            if !table.columns.iter().any(|column| column.sql_type.is_spatial()) {
                continue;
            }
            let all = table.partitions();
            let partitions = (0..table.partition_count()).map_while(|number| all.get(number));
            for partition in partitions {
                self.check_values_of(report, &partition, is_value)?;
            }
        }
        Ok(())
    }

    /// The same of a table that is not partitioned, or of one partition.
    fn check_values_of(&self, report: &mut CheckReport, table: &TableDefinition, is_value: &IsValue<'_>) -> Result<()> {
        let layout = table.layout();
        let stored = table.columns.iter().enumerate();
        let mut all: Vec<Checked> = stored
            .filter(|(_, column)| column.sql_type.is_spatial() && !column.is_virtual())
            .map(|(column, definition)| Checked {
                column,
                sql_type: definition.sql_type,
                wrong_rows: 0,
            })
            .collect();
        let seen = self.each_row(table, self.internal_locks(), &mut |row| {
            all.iter_mut().try_for_each(|checked| {
                let is_right = self.is_right(table, &layout, row, checked, is_value)?;
                checked.wrong_rows += u64::from(!is_right);
                Ok(())
            })
        });
        crate::cancel::look()?;
        if let Some(error) = seen.err().filter(ends_check) {
            return Err(error);
        }
        let rows = table.clustered().map(|index| &index.storage).or(table.heap.as_ref());
        let unit = rows.map_or(table.object_id, |rows| rows.unit);
        for wrong in all.iter().filter(|checked| checked.wrong_rows > 0) {
            let (id, count, own) = (table.object_id, wrong.wrong_rows, wrong.sql_type.name());
            let name = &table.columns[wrong.column].name;
            let text = format!(
                "Table error: Object ID {id}. Column \"{name}\" value is out of range for data type \"{own}\" in {count} rows. Update column to a \
                 legal value."
            );
            report.consistency.push(Finding {
                number: OUT_OF_RANGE,
                object: ObjectId(unit),
                page: PageId::NONE,
                text,
            });
        }
        Ok(())
    }

    /// Whether a column of a row has a value of its type, or NULL, or what cannot be read.
    fn is_right(
        &self,
        table: &TableDefinition,
        layout: &RowLayout,
        row: &[u8],
        checked: &Checked,
        is_value: &IsValue<'_>,
    ) -> Result<bool> {
        match layout.stored(row, checked.column)? {
            Stored::Null => Ok(true),
            Stored::InRow(bytes) => is_value(checked.sql_type, bytes),
            Stored::OffRow(place) => {
                let bytes = usize::try_from(value_bytes_at(place)?).unwrap_or(usize::MAX);
                let _room = string_room(bytes)?;
                match self.value_at(table, place) {
                    Ok(bytes) => is_value(checked.sql_type, &bytes),
                    Err(error) if ends_check(&error) => Err(error),
                    Err(_) => Ok(true),
                }
            }
        }
    }
}
