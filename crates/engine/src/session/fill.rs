//! Filling a table with many rows: a page of them to a log record.

use super::Session;
use super::large::is_too_long;
use super::table::{Rows, Table, uniquifier};
use crate::catalog::IndexDefinition;
use crate::error::{Error, Result};
use crate::store::{HeapFill, StoreContext, Tree, TreeFill};
use crate::types::{EncodedRows, KeyDirection, Value};

impl Table {
    /// Whether many rows may be appended a page at a time, one log record for each page. Never where an index follows the rows. Else the
    /// log policy decides; `has_table_lock` says that the statement asked for the whole table (TABLOCK), or that nobody else can see it.
    ///
    /// ```text
    /// volume=native (changed bytes)    always
    /// volume=classic (row images)      with the table's lock, under SIMPLE and BULK_LOGGED, into a heap or an empty clustered index
    /// ```
    /// (sql-docs, "Prerequisites for minimal logging in bulk import" and INSERT, "Best practices": TABLOCK, and a target that is a heap or an
    /// empty clustered index; under FULL "all row-insert operations are fully logged".) SQL Server then logs which pages were
    /// allocated; here their contents are logged too, since a commit writes no data pages.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn may_fill(&self, has_table_lock: bool) -> Result<bool> {
        if self.is_partitioned() || self.has_indexes() || self.may_exceed() || self.ignores_duplicates() {
            return Ok(false);
        }
        if !self.database().storage.log_whole_rows() {
            return Ok(true);
        }
        if !has_table_lock || self.database().is_fully_logged() {
            return Ok(false);
        }
        match self.rows() {
            Rows::Heap(_) => Ok(true),
            Rows::Tree(tree) => Ok(tree.last_key(&self.database().storage)?.is_none()),
        }
    }

    /// Begins to append many rows to a table that [`Table::may_fill`]. The caller holds it exclusively.
    ///
    /// # Errors
    /// 3624 when an index follows the rows.
    pub fn fill(&self) -> Result<TableFill<'_>> {
        self.check_rows_filegroup()?;
        if self.is_partitioned() || self.has_indexes() || self.may_exceed() {
            return Err(Error::assertion("pages are filled past an index"));
        }
        let target = match self.rows() {
            Rows::Heap(heap) => FillTarget::Heap(HeapFill::new(heap)),
            Rows::Tree(tree) => FillTarget::Tree(tree, Some(TreeFill::new(tree))),
        };
        let index = self.definition().clustered();
        let directions = index.map(IndexDefinition::directions).unwrap_or_default();
        let columns = index.map_or(&[][..], |index| &index.keys[..]);
        Ok(TableFill {
            table: self,
            target,
            row: Vec::new(),
            key: Vec::new(),
            key_columns: columns.iter().map(|&(column, _)| column).zip(directions).collect(),
            is_unique: index.is_none_or(|index| index.unique),
        })
    }
}

enum FillTarget<'t> {
    Heap(HeapFill),
    Tree(&'t Tree, Option<TreeFill>),
}

/// Appends many rows, a page of them to a log record. See [`Table::fill`].
pub struct TableFill<'t> {
    table: &'t Table,
    target: FillTarget<'t>,
    row: Vec<u8>,
    key: Vec<u8>,
    key_columns: Vec<(usize, KeyDirection)>,
    is_unique: bool,
}

impl TableFill<'_> {
    /// Adds a row. It exists once [`TableFill::finish`] has returned.
    pub fn push(&mut self, session: &mut Session, values: &[Value]) -> Result<()> {
        let mut row = std::mem::take(&mut self.row);
        let encoded = self.table.layout().encode(values, &mut row);
        let outcome = encoded.and_then(|()| session.write(self.table.database(), |ctx| self.push_row(ctx, &row)));
        self.row = row;
        match outcome {
            Err(error) if is_too_long(&error) && self.table.may_have_large_values() => {
                session.write(self.table.database(), |ctx| self.push_outside(ctx, values))
            }
            outcome => outcome,
        }
    }

    /// Adds a row whose columns have to move.
    #[cold]
    fn push_outside(&mut self, ctx: &mut StoreContext<'_>, values: &[Value]) -> Result<()> {
        let table = self.table;
        let key_bytes = match table.definition().clustered() {
            Some(index) => table.key_of(index, values, &uniquifier(ctx))?.len(),
            None => 0,
        };
        let built = table.built(ctx, None, values, key_bytes)?;
        self.push_row(ctx, &built.row)
    }

    /// Adds encoded rows of the table's layout, in their order.
    ///
    /// # Errors
    /// As for [`Table::insert`].
    pub fn push_rows(&mut self, session: &mut Session, rows: &EncodedRows) -> Result<()> {
        let table = self.table;
        session.write(table.database(), |ctx| {
            for index in 0..rows.len() {
                let row = rows.get(index).unwrap_or_default();
                if let Some(values) = rows.values_apart(table.layout(), index)? {
                    self.push_outside(ctx, &values)?;
                    continue;
                }
                match self.push_row(ctx, row) {
                    Err(error) if is_too_long(&error) && table.may_have_large_values() => {
                        let mut values = Vec::new();
                        table.layout().decode_into(row, &mut values)?;
                        self.push_outside(ctx, &values)?;
                    }
                    outcome => outcome?,
                }
            }
            Ok(())
        })
    }

    fn push_row(&mut self, ctx: &mut StoreContext<'_>, row: &[u8]) -> Result<()> {
        let fill = match &mut self.target {
            FillTarget::Heap(fill) => {
                fill.push(ctx, row)?;
                self.table.modifications().note_rows(1);
                return Ok(());
            }
            FillTarget::Tree(_, fill) => fill,
        };
        self.key.clear();
        for &(column, direction) in &self.key_columns {
            self.table
                .layout()
                .push_key_part(row, column, direction, &mut self.key)?;
        }
        if !self.is_unique {
            self.key.extend_from_slice(&uniquifier(ctx));
        }
        if let Some(filling) = fill {
            if filling.push(ctx, &self.key, row)? {
                self.table.modifications().note_rows(1);
                return Ok(());
            }
            // Keys that do not rise go in one by one from here on.
            if let Some(filling) = fill.take() {
                filling.finish(ctx)?;
            }
        }
        let FillTarget::Tree(tree, _) = &self.target else {
            return Ok(());
        };
        if tree.insert(ctx, &self.key, row)? {
            self.table.modifications().note_rows(1);
            return Ok(());
        }
        let mut values = Vec::new();
        self.table.layout().decode_into(row, &mut values)?;
        Err(self.table.duplicate(self.table.clustered_index()?, &values))
    }

    /// Writes what is not written yet.
    pub fn finish(self, session: &mut Session) -> Result<()> {
        let target = self.target;
        session.write(self.table.database(), |ctx| match target {
            FillTarget::Heap(fill) => fill.finish(ctx),
            FillTarget::Tree(_, Some(fill)) => fill.finish(ctx),
            FillTarget::Tree(_, None) => Ok(()),
        })
    }
}
