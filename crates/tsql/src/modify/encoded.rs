//! The specialisation for rows that arrive as bytes in the target's layout (`statements::bulk`): only identity and write remain of the
//! stations; the code that encodes the rows has refused NULLs.
//!
//! `INSERT ... SELECT` from one table moves rows as bytes (`types::RowTransfer`); only conditions and computed columns become values. If
//! `Table::may_fill` allows it, pages are filled, with one log record each. Classic logs each row unless SQL Server would log minimally.
//! When the scan costs more than `cost threshold for parallelism`, the part up to the encoded rows runs on as many threads as MAXDOP
//! allows; the session's thread numbers the rows and fills the pages.

use engine::error::{Error, Result};
use engine::types::EncodedRows;

use super::Pipeline;
use super::build::identity_value;
use super::write::Writer;
use crate::plan::{Assignment, Target};

impl Pipeline<'_> {
    /// Inserts encoded rows, for callers that have asked and do not need the row path.
    ///
    /// # Errors
    /// 8115 when the identity is used up; those of writing.
    pub(crate) fn insert_encoded(&mut self, mut rows: EncodedRows, assignments: &[Assignment]) -> Result<()> {
        self.number(&mut rows, assignments)?;
        let Writer::Table(writer) = &mut self.writer else {
            return Err(Error::assertion("rows are copied to tables only"));
        };
        writer.insert_encoded(&rows, self.count)?;
        self.count += rows.len() as u64;
        Ok(())
    }

    /// Gives the rows their identity values.
    fn number(&self, rows: &mut EncodedRows, assignments: &[Assignment]) -> Result<()> {
        let Some(column) = assignments.iter().position(|one| matches!(one, Assignment::Identity)) else {
            return Ok(());
        };
        let Target::Table(target) = self.target else {
            return Ok(());
        };
        let (table, session) = (&target.table, self.context.session);
        let definition = table.definition();
        let Some((_, identity)) = definition.identity() else {
            return Ok(());
        };
        let sql_type = self.columns.columns[column].sql_type;
        let count = u32::try_from(rows.len()).map_err(|_| Error::assertion("a packet of too many rows"))?;
        let first = table
            .database()
            .next_identities(definition, identity, count, &session.locks)?;
        if rows.number(table.layout(), column, first, identity.increment)? {
            let steps = i64::from(count.saturating_sub(1));
            session.set_identity(first + steps * identity.increment);
            return Ok(());
        }
        let mut number = first;
        for index in 0..rows.len() {
            number = first + index as i64 * identity.increment;
            let value = identity_value(number, sql_type)?;
            if let Some(row) = rows.get_mut(index) {
                table.layout().patch_fixed(row, column, &value)?;
            }
        }
        session.set_identity(number);
        Ok(())
    }
}
