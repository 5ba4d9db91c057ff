//! Bulk fill: many rows into fresh pages, one log record per page. Fully logged, recoverable, and undone by emptying the
//! pages.
//!
//! The caller locks the table exclusively until its transaction ends: filled rows have no locks of their own, and no other session inserts
//! into these pages before then.

use super::StoreContext;
use super::change::{Author, Planned, Subject, fresh, log_and_apply, write};
use super::ghosts::under_pressure;
use super::heap::{Heap, Placement, check_length};
use super::lock_information::LockInformation;
use super::row::{Rid, STUB_BYTES, encode_heap_row, parse_tree_row};
use super::tree::{Tree, check_lengths};
use super::versioned::key_of;
use crate::error::{Error, Result};
use crate::page::{PackedRows, PageId, PageKind, PageOperation, RowIterator, UndoKind};

/// Fills fresh pages of a heap.
pub struct HeapFill {
    heap: Heap,
    page: PageId,
    packed: PackedRows,
    row: Vec<u8>,
    last_filled: PageId,
}

impl HeapFill {
    /// Begins to fill; takes no page before the first row.
    pub fn new(heap: &Heap) -> HeapFill {
        HeapFill {
            heap: heap.clone(),
            page: PageId::NONE,
            packed: PackedRows::new(),
            row: Vec::new(),
            last_filled: PageId::NONE,
        }
    }

    /// Adds a row; returns where it will be once its page is filled.
    ///
    /// # Errors
    /// 511 for a row longer than 8,060 bytes; 1101, 1105, 9002 for want of space.
    pub fn push(&mut self, ctx: &mut StoreContext<'_>, payload: &[u8]) -> Result<Rid> {
        check_length(payload)?;
        // Only rows as short as a stub need more than a status in front.
        let is_short = payload.len() < STUB_BYTES;
        if is_short {
            encode_heap_row(payload, &mut self.row);
        }
        loop {
            if self.page.is_none() {
                let space = self.heap.object_space();
                self.page = under_pressure(ctx, |ctx| {
                    space.take_page(ctx.storage, ctx.space, ctx.chain, Placement::AtEnd)
                })?;
            }
            let slot = self.packed.row_count() as u16;
            let parts: [&[u8]; 2] = match is_short {
                true => [&self.row, &[]],
                false => [&[0], payload],
            };
            if self.packed.push_parts(&parts) {
                return Ok(Rid { page: self.page, slot });
            }
            self.flush(ctx)?;
        }
    }

    /// Writes the last page. Rows pushed and not finished do not exist.
    ///
    /// # Errors
    /// 9002 when the log is full.
    pub fn finish(mut self, ctx: &mut StoreContext<'_>) -> Result<()> {
        if !self.packed.is_empty() {
            self.flush(ctx)?;
        }
        if !self.last_filled.is_none() {
            self.heap.object_space().insert_into(self.last_filled);
        }
        Ok(())
    }

    fn flush(&mut self, ctx: &mut StoreContext<'_>) -> Result<()> {
        let object = self.heap.root().object;
        let mut page = fresh(ctx.storage, self.page)?;
        let operation = PageOperation::Fill {
            kind: PageKind::Heap,
            object,
            next: PageId::NONE,
            previous: PageId::NONE,
            rows: self.packed.as_bytes(),
        };
        let subject = Subject {
            object,
            undo: UndoKind::Fill,
            key: &[],
            locks: LockInformation::NONE,
        };
        let mut planned = [Planned {
            page: &mut page,
            operation,
        }];
        self.keep_versions(ctx);
        log_and_apply(ctx.storage, Author::Transaction(ctx.chain), subject, &mut planned)?;
        self.packed.clear();
        self.last_filled = std::mem::take(&mut self.page);
        Ok(())
    }
}

impl HeapFill {
    /// Snapshots of before see no row of the page.
    fn keep_versions(&self, ctx: &StoreContext<'_>) {
        let object = self.heap.root().object;
        let key = |slot| key_of(Rid { page: self.page, slot });
        let follows = self.last_filled.file == self.page.file && self.last_filled.page + 1 == self.page.page;
        if !ctx.keep_range(object, &key(0), &key(u16::MAX), follows) {
            (0..self.packed.row_count() as u16).for_each(|slot| ctx.keep_version(object, &key(slot), None));
        }
    }
}

/// Fills fresh leaves at the right end of a tree with rows in key order.
pub struct TreeFill {
    tree: Tree,
    packed: PackedRows,
    first_key: Vec<u8>,
    last_key: Option<Vec<u8>>,
}

impl TreeFill {
    pub fn new(tree: &Tree) -> TreeFill {
        TreeFill {
            tree: tree.clone(),
            packed: PackedRows::new(),
            first_key: Vec::new(),
            last_key: None,
        }
    }

    /// Adds a row; false, and nothing done, when its key is not above every key of the tree and of the fill: such rows go
    /// through [`Tree::insert`], after [`TreeFill::finish`].
    ///
    /// # Errors
    /// 511 and 1946 for lengths; 1101, 1105, 9002 for want of space.
    pub fn push(&mut self, ctx: &mut StoreContext<'_>, key: &[u8], payload: &[u8]) -> Result<bool> {
        check_lengths(key, payload)?;
        if self.last_key.is_none() {
            // A fresh leaf must lie behind ghosts too.
            self.last_key = self.tree.last_key_with_ghosts(ctx.storage)?;
        }
        if self.last_key.as_ref().is_some_and(|last| &last[..] >= key) {
            return Ok(false);
        }
        let head = [0, key.len() as u8, (key.len() >> 8) as u8];
        let row = [&head[..], key, payload];
        if !self.packed.push_parts(&row) {
            self.flush(ctx)?;
            self.packed.push_parts(&row);
        }
        if self.packed.row_count() == 1 {
            self.first_key.clear();
            self.first_key.extend_from_slice(key);
        }
        let last_key = self.last_key.get_or_insert_default();
        last_key.clear();
        last_key.extend_from_slice(key);
        Ok(true)
    }

    /// Writes the last page. Rows pushed and not finished do not exist.
    ///
    /// # Errors
    /// 1105 and 9002 for want of space.
    pub fn finish(mut self, ctx: &mut StoreContext<'_>) -> Result<()> {
        if self.packed.is_empty() {
            return Ok(());
        }
        self.flush(ctx)
    }

    fn flush(&mut self, ctx: &mut StoreContext<'_>) -> Result<()> {
        let object = self.tree.root().object;
        let mut page = loop {
            let first_key = &self.first_key;
            let Some(id) = under_pressure(ctx, |ctx| self.tree.append_leaf(ctx, first_key))? else {
                return self.insert_packed(ctx);
            };
            let page = write(ctx.storage, id)?;
            let view = page.view();
            // An empty leaf that was there before may just have left the tree.
            if view.kind() == Some(PageKind::TreeLeaf) && view.object() == object && view.slot_count() == 0 {
                break page;
            }
        };
        let operation = PageOperation::Fill {
            kind: PageKind::TreeLeaf,
            object,
            next: page.view().next(),
            previous: page.view().previous(),
            rows: self.packed.as_bytes(),
        };
        let subject = Subject {
            object,
            undo: UndoKind::Fill,
            key: self.last_key.as_deref().unwrap_or_default(),
            locks: LockInformation::NONE,
        };
        let mut planned = [Planned {
            page: &mut page,
            operation,
        }];
        let last_key = self.last_key.as_deref().unwrap_or_default();
        if !ctx.keep_range(object, &self.first_key, last_key, true) {
            for row in RowIterator::new(self.packed.as_bytes()) {
                let row = row.ok().and_then(parse_tree_row);
                let (key, _) = row.ok_or_else(|| Error::assertion("packed rows are well formed"))?;
                ctx.keep_version(object, key, None);
            }
        }
        log_and_apply(ctx.storage, Author::Transaction(ctx.chain), subject, &mut planned)?;
        self.packed.clear();
        Ok(())
    }

    /// Inserts the packed rows one by one: an empty leaf at the right end waits for higher keys than these.
    fn insert_packed(&mut self, ctx: &mut StoreContext<'_>) -> Result<()> {
        for row in RowIterator::new(self.packed.as_bytes()) {
            let row = row.ok().and_then(parse_tree_row);
            let (key, payload) = row.ok_or_else(|| Error::assertion("packed rows are well formed"))?;
            self.tree.insert(ctx, key, payload)?;
        }
        self.packed.clear();
        Ok(())
    }
}
