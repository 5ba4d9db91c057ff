//! Rows that are computed once and read in several places of a statement: those of a common table expression.
//!
//! ```text
//! first reference read     runs the query to its end and keeps the rows: in memory, then in a file when memory is used up
//! every reference          reads the kept rows from the beginning, as often as needed
//! ```
//! The kept rows belong to the statement (`Context::kept`), under an identity that the references share.

use std::rc::Rc;
use std::sync::Arc;

use engine::cancel;
use engine::error::{Error, Result};
use engine::lock::LockOwner;
use engine::types::Value;
use engine::workspace::{Extent, SpillFile, SpillKind};

use super::Operator;
use super::derived::{Derived, place};
use super::row_bytes::{push_row, read_row};
use super::row_store::RowStore;
use crate::context::Context;
use crate::grant::{Grant, stored_bytes};
use crate::plan::{CommonTable, DerivedNode, QueryPlan};

const BUFFER_BYTES: usize = 64 << 10;

/// The rows of a query.
struct Rows {
    in_memory: RowStore,
    grant: Grant,
    in_file: Option<InFile>,
}

/// Those behind the ones in memory.
struct InFile {
    file: SpillFile,
    /// Rows with their lengths (u32) before them.
    extents: Vec<Extent>,
    buffer: Vec<u8>,
}

impl InFile {
    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.extents.push(self.file.append(&self.buffer)?);
            self.buffer.clear();
        }
        Ok(())
    }
}

impl Rows {
    /// Runs a query.
    fn of(plan: &QueryPlan, context: &Context<'_>) -> Result<Rows> {
        let mut rows = Rows {
            in_memory: RowStore::new(plan.columns.len()),
            grant: context.grant(),
            in_file: None,
        };
        // It sees nothing of what is captured around it.
        context.with_parameters(Rc::default(), || super::run(plan, context, &mut |row| rows.push(row)))?;
        if let Some(in_file) = &mut rows.in_file {
            in_file.flush()?;
        }
        Ok(rows)
    }

    fn push(&mut self, row: &[Value]) -> Result<()> {
        if self.in_file.is_none() && self.grant.has_room(stored_bytes(row)) {
            self.in_memory.push(row.iter().cloned());
            return Ok(());
        }
        let in_file = match &mut self.in_file {
            Some(in_file) => in_file,
            None => self.in_file.insert(InFile {
                file: self.grant.spill_file(SpillKind::Worktable, 1)?,
                extents: Vec::new(),
                buffer: Vec::new(),
            }),
        };
        let start = in_file.buffer.len();
        in_file.buffer.extend_from_slice(&[0; 4]);
        push_row(row, &mut in_file.buffer);
        let length = u32::try_from(in_file.buffer.len() - start - 4).map_err(|_| Error::insufficient_memory())?;
        if let Some(place) = in_file.buffer.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        match in_file.buffer.len() >= BUFFER_BYTES {
            true => in_file.flush(),
            false => Ok(()),
        }
    }
}

/// A reference to kept rows.
pub(super) struct KeptRows {
    id: usize,
    plan: Arc<QueryPlan>,
    offset: usize,
    rows: Option<Rc<Rows>>,
    /// The next row in memory.
    next: usize,
    /// The next stretch of the file, and what is left of the one at hand.
    extent: usize,
    buffer: Vec<u8>,
    position: usize,
}

/// Opens a query in FROM: its rows are computed here, or kept for all places that read the same.
pub(super) fn open<'p>(node: &'p DerivedNode, locks: &'p LockOwner) -> Box<dyn Operator + 'p> {
    if let Some(common) = &node.common
        && let Some(shared) = common.table.shared()
    {
        return Box::new(KeptRows::new(&common.table, shared, node.offset));
    }
    Box::new(Derived::new(node, locks))
}

impl KeptRows {
    pub(super) fn new(table: &Arc<CommonTable>, plan: Arc<QueryPlan>, offset: usize) -> KeptRows {
        KeptRows {
            id: Arc::as_ptr(table) as usize,
            plan,
            offset,
            rows: None,
            next: 0,
            extent: 0,
            buffer: Vec::new(),
            position: 0,
        }
    }

    /// The rows, which are computed if nobody has asked for them in this statement.
    fn kept(&self, context: &Context<'_>) -> Result<Rc<Rows>> {
        let known = context.kept().rows.borrow().get(&self.id).cloned();
        if let Some(rows) = known.and_then(|known| known.downcast::<Rows>().ok()) {
            return Ok(rows);
        }
        let rows = Rc::new(Rows::of(&self.plan, context)?);
        context.kept().rows.borrow_mut().insert(self.id, rows.clone());
        Ok(rows)
    }

    fn next_in_file(&mut self, rows: &Rows, own: &mut [Value]) -> Result<bool> {
        let Some(in_file) = &rows.in_file else { return Ok(false) };
        if self.position >= self.buffer.len() {
            let Some(extent) = in_file.extents.get(self.extent) else {
                return Ok(false);
            };
            if self.extent == 0 {
                in_file.file.note_scan();
            }
            self.extent += 1;
            self.buffer.resize(extent.bytes as usize, 0);
            in_file.file.read(extent.offset, &mut self.buffer)?;
            self.position = 0;
        }
        let ends_early = || Error::assertion("kept rows end inside a row");
        let rest = self.buffer.get(self.position..).unwrap_or_default();
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(ends_early)?;
        let length = u32::from_le_bytes(*length) as usize;
        read_row(rest.get(..length).ok_or_else(ends_early)?, own)?;
        self.position += 4 + length;
        Ok(true)
    }
}

impl Operator for KeptRows {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let rows = match &self.rows {
            Some(rows) => rows.clone(),
            None => self.rows.insert(self.kept(context)?).clone(),
        };
        cancel::spend(1)?;
        if self.next < rows.in_memory.len() {
            place(row, self.offset, rows.in_memory.row(self.next).iter().cloned());
            self.next += 1;
            return Ok(true);
        }
        self.next_in_file(&rows, row.get_mut(self.offset..).unwrap_or_default())
    }

    fn rewind(&mut self) -> bool {
        (self.next, self.extent, self.position) = (0, 0, 0);
        self.buffer.clear();
        true
    }
}
