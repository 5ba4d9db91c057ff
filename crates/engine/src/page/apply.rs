//! Applies an operation to a page: one code path for normal work and redo.
//!
//! All checks come before the first byte changes, so after an error the page is unchanged. Compaction depends only on the page's bytes, so
//! redo repeats it exactly.

use super::flip::flip;
use super::layout::{
    AT_FREE_OFFSET, AT_GHOST_COUNT, AT_HOLE_BYTES, AT_ID, AT_KIND, AT_LEVEL, AT_NEXT, AT_OBJECT, AT_PREVIOUS,
    AT_SLOT_COUNT, PREFIX_BYTES, PageKind, PageMut, PageRef, VERSION, get_u16, put_u16, slot_at,
};
use super::operation::RowIterator;
use super::{Damage, HEADER_BYTES, ObjectId, PAGE_BYTES, PageBytes, PageId, PageOperation, ROW_GHOST};
use vlf::Lsn;

/// Applies `operation` to the page `id` and stamps it with `lsn`.
///
/// # Errors
/// The page or the operation is damaged, or they do not fit together; the page is then unchanged. Never panics.
pub fn apply(id: PageId, bytes: &mut PageBytes, operation: &PageOperation<'_>, lsn: Lsn) -> Result<(), Damage> {
    let mut page = PageMut::new(bytes);
    match *operation {
        PageOperation::Format {
            kind,
            level,
            object,
            next,
            previous,
        } => {
            page.format(id, kind, level, Owner { object, next, previous });
        }
        PageOperation::InsertAt { slot, row } => page.insert_at(slot, row, lsn)?,
        PageOperation::InsertShift { slot, row } => page.insert_shift(slot, row, lsn)?,
        PageOperation::RemoveAt { slot, before } => page.remove_at(slot, before, lsn)?,
        PageOperation::RemoveShift { slot, before } => page.remove_shift(slot, before, lsn)?,
        PageOperation::SetStatus { slot, before, after } => page.set_status(slot, before, after, lsn)?,
        PageOperation::ReplaceRow { slot, before, after } => page.replace_row(slot, before, after, lsn)?,
        PageOperation::PatchRow {
            slot,
            offset,
            before,
            after,
        } => {
            page.patch_row(slot, usize::from(offset), before, after, lsn)?;
        }
        PageOperation::FlipBits {
            slot,
            offset,
            bit,
            bitmap,
        } => page.flip_bits(slot, usize::from(offset), bit, bitmap)?,
        PageOperation::Fill {
            kind,
            object,
            next,
            previous,
            rows,
        } => {
            page.fill(id, kind, Owner { object, next, previous }, rows, lsn)?;
        }
        PageOperation::Image { bytes } => page.restore(id, bytes)?,
        PageOperation::SetBytes { offset, before, after } => page.set_bytes(usize::from(offset), before, after)?,
        PageOperation::PurgeGhosts => page.purge_ghosts()?,
    }
    page.set_lsn(lsn);
    Ok(())
}

struct Owner {
    object: ObjectId,
    next: PageId,
    previous: PageId,
}

fn expect_before(found: &[u8], before: &[u8]) -> Result<(), Damage> {
    if before.is_empty() || found == before {
        return Ok(());
    }
    Err(Damage("the page does not hold what the log record changes"))
}

impl PageMut<'_> {
    fn format(&mut self, id: PageId, kind: PageKind, level: u8, owner: Owner) {
        self.bytes().fill(0);
        self.set_head(id, kind, level, owner);
    }

    /// Writes the header of a page without rows over zeros.
    fn set_head(&mut self, id: PageId, kind: PageKind, level: u8, owner: Owner) {
        let page = self.bytes();
        page[0] = VERSION;
        page[AT_KIND] = kind as u8;
        page[AT_LEVEL] = level;
        page[AT_ID..AT_ID + PageId::BYTES].copy_from_slice(&id.to_bytes());
        page[AT_OBJECT..AT_OBJECT + 4].copy_from_slice(&owner.object.0.to_le_bytes());
        page[AT_NEXT..AT_NEXT + PageId::BYTES].copy_from_slice(&owner.next.to_bytes());
        page[AT_PREVIOUS..AT_PREVIOUS + PageId::BYTES].copy_from_slice(&owner.previous.to_bytes());
        let free_offset = if kind.has_rows() { HEADER_BYTES } else { PAGE_BYTES };
        self.set_u16(AT_FREE_OFFSET, free_offset);
    }

    fn fill(&mut self, id: PageId, kind: PageKind, owner: Owner, rows: &[u8], lsn: Lsn) -> Result<(), Damage> {
        let mut row_count = 0;
        for row in RowIterator::new(rows) {
            if row?.is_empty() {
                return Err(Damage("a page is filled with an empty row"));
            }
            row_count += 1;
        }
        if !kind.has_rows() || HEADER_BYTES + rows.len() + 2 * row_count > PAGE_BYTES {
            return Err(Damage("a page is filled with more than it can hold"));
        }
        let page = self.bytes();
        page[..HEADER_BYTES].fill(0);
        page[HEADER_BYTES..HEADER_BYTES + rows.len()].copy_from_slice(rows);
        page[HEADER_BYTES + rows.len()..].fill(0);
        self.set_head(id, kind, 0, owner);
        let mut prefix = HEADER_BYTES;
        for slot in 0..row_count {
            let page = self.bytes();
            put_u16(page, slot_at(slot), prefix as u16);
            let status = page[prefix + PREFIX_BYTES];
            prefix += PREFIX_BYTES + usize::from(get_u16(page, prefix));
            self.note_status(0, status, lsn);
        }
        self.set_u16(AT_SLOT_COUNT, row_count);
        self.set_u16(AT_FREE_OFFSET, prefix);
        Ok(())
    }

    fn restore(&mut self, id: PageId, image: &[u8]) -> Result<(), Damage> {
        let header: &[u8; HEADER_BYTES] = image.first_chunk().ok_or(Damage("a page image ends too early"))?;
        let field = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (rows_end, slot_bytes) = (field(AT_FREE_OFFSET), 2 * field(AT_SLOT_COUNT));
        let is_whole = rows_end >= HEADER_BYTES && rows_end + slot_bytes == image.len() && image.len() <= PAGE_BYTES;
        if !is_whole {
            return Err(Damage("a page image is not as long as its header says"));
        }
        let page = self.bytes();
        page[..rows_end].copy_from_slice(&image[..rows_end]);
        page[rows_end..PAGE_BYTES - slot_bytes].fill(0);
        page[PAGE_BYTES - slot_bytes..].copy_from_slice(&image[rows_end..]);
        page[AT_ID..AT_ID + PageId::BYTES].copy_from_slice(&id.to_bytes());
        Ok(())
    }

    fn set_bytes(&mut self, offset: usize, before: &[u8], after: &[u8]) -> Result<(), Damage> {
        let end = offset + after.len();
        let is_raw = usize::from(self.as_ref().free_offset()) == PAGE_BYTES && self.as_ref().slot_count() == 0;
        let is_link = offset >= AT_NEXT && end <= AT_PREVIOUS + PageId::BYTES;
        let is_content = is_raw && offset >= HEADER_BYTES && end <= PAGE_BYTES;
        if !is_link && !is_content {
            return Err(Damage("bytes are set where this page has none to set"));
        }
        expect_before(&self.as_ref().bytes()[offset..end], before)?;
        self.bytes()[offset..end].copy_from_slice(after);
        Ok(())
    }

    fn insert_at(&mut self, slot: u16, row: &[u8], lsn: Lsn) -> Result<(), Damage> {
        let slot_count = self.as_ref().slot_count();
        if slot > slot_count {
            return Err(Damage("a row is inserted behind a gap of slots"));
        }
        let is_new = slot == slot_count;
        if !is_new && self.as_ref().locate(slot)?.is_some() {
            return Err(Damage("a row is inserted into a slot in use"));
        }
        self.make_room(row.len(), if is_new { 2 } else { 0 }, None)?;
        if is_new {
            self.set_u16(AT_SLOT_COUNT, usize::from(slot_count) + 1);
        }
        self.place(slot, row);
        self.note_status(0, row[0], lsn);
        Ok(())
    }

    fn insert_shift(&mut self, slot: u16, row: &[u8], lsn: Lsn) -> Result<(), Damage> {
        let slot_count = usize::from(self.as_ref().slot_count());
        if usize::from(slot) > slot_count {
            return Err(Damage("a row is inserted behind a gap of slots"));
        }
        self.make_room(row.len(), 2, None)?;
        let slots_from = PAGE_BYTES - 2 * slot_count;
        let moved_to = PAGE_BYTES - 2 * usize::from(slot);
        self.bytes().copy_within(slots_from..moved_to, slots_from - 2);
        self.set_u16(AT_SLOT_COUNT, slot_count + 1);
        self.place(slot, row);
        self.note_status(0, row[0], lsn);
        Ok(())
    }

    /// Frees the row's bytes. A ghost was cleared for removal before, a live row's bytes may be wanted back.
    fn free_row(&mut self, slot: u16, before: &[u8], slot_bytes: usize, lsn: Lsn) -> Result<(), Damage> {
        let (start, row_bytes) = self.as_ref().locate(slot)?.ok_or(Damage("an empty slot is removed"))?;
        let row = &self.as_ref().bytes()[start..start + row_bytes];
        expect_before(row, before)?;
        let status = row[0];
        self.add_holes(PREFIX_BYTES + row_bytes);
        self.note_status(status, 0, lsn);
        if status & ROW_GHOST == 0 {
            self.reserve(PREFIX_BYTES + row_bytes + slot_bytes, lsn);
        }
        Ok(())
    }

    fn remove_at(&mut self, slot: u16, before: &[u8], lsn: Lsn) -> Result<(), Damage> {
        self.free_row(slot, before, 0, lsn)?;
        put_u16(self.bytes(), slot_at(usize::from(slot)), 0);
        Ok(())
    }

    fn remove_shift(&mut self, slot: u16, before: &[u8], lsn: Lsn) -> Result<(), Damage> {
        self.free_row(slot, before, 2, lsn)?;
        self.close_slot(usize::from(slot));
        Ok(())
    }

    fn close_slot(&mut self, slot: usize) {
        let slot_count = usize::from(self.as_ref().slot_count());
        let slots_from = PAGE_BYTES - 2 * slot_count;
        self.bytes().copy_within(slots_from..slot_at(slot), slots_from + 2);
        self.set_u16(AT_SLOT_COUNT, slot_count - 1);
    }

    fn set_status(&mut self, slot: u16, before: u8, after: u8, lsn: Lsn) -> Result<(), Damage> {
        let (start, _) = self
            .as_ref()
            .locate(slot)?
            .ok_or(Damage("an empty slot changes its status"))?;
        if self.as_ref().bytes()[start] != before {
            return Err(Damage("a row's status is not the one the log record changes"));
        }
        self.bytes()[start] = after;
        self.note_status(before, after, lsn);
        Ok(())
    }

    fn replace_row(&mut self, slot: u16, before: &[u8], after: &[u8], lsn: Lsn) -> Result<(), Damage> {
        let (start, row_bytes) = self.as_ref().locate(slot)?.ok_or(Damage("an empty slot is replaced"))?;
        expect_before(&self.as_ref().bytes()[start..start + row_bytes], before)?;
        self.rewrite(slot, start, row_bytes, after, lsn)
    }

    /// Puts `after` in place of the row at `start`, moving it when it grew.
    fn rewrite(&mut self, slot: u16, start: usize, row_bytes: usize, after: &[u8], lsn: Lsn) -> Result<(), Damage> {
        let first = *after.first().ok_or(Damage("a row becomes empty"))?;
        let status = self.as_ref().bytes()[start];
        if after.len() <= row_bytes {
            let page = self.bytes();
            page[start..start + after.len()].copy_from_slice(after);
            put_u16(page, start - PREFIX_BYTES, after.len() as u16);
            if after.len() < row_bytes {
                self.add_holes(row_bytes - after.len());
                self.reserve(row_bytes - after.len(), lsn);
            }
        } else {
            self.make_room(after.len(), 0, Some((slot, PREFIX_BYTES + row_bytes)))?;
            self.place(slot, after);
        }
        self.note_status(status, first, lsn);
        Ok(())
    }

    fn patch_row(&mut self, slot: u16, offset: usize, before: &[u8], after: &[u8], lsn: Lsn) -> Result<(), Damage> {
        let (start, row_bytes) = self.as_ref().locate(slot)?.ok_or(Damage("an empty slot is patched"))?;
        let row = &self.as_ref().bytes()[start..start + row_bytes];
        let tail = offset + before.len();
        if row.get(offset..tail) != Some(before) {
            return Err(Damage("the row is not the one the log record changes"));
        }
        if before.len() == after.len() {
            let status = row[0];
            self.bytes()[start + offset..start + tail].copy_from_slice(after);
            let status_after = self.as_ref().bytes()[start];
            self.note_status(status, status_after, lsn);
            return Ok(());
        }
        let new_bytes = row_bytes - before.len() + after.len();
        let mut scratch = [0; PAGE_BYTES];
        let new_row = scratch
            .get_mut(..new_bytes)
            .ok_or(Damage("a row grows beyond a page"))?;
        new_row[..offset].copy_from_slice(&row[..offset]);
        new_row[offset..offset + after.len()].copy_from_slice(after);
        new_row[offset + after.len()..].copy_from_slice(&row[tail..]);
        self.rewrite(slot, start, row_bytes, &scratch[..new_bytes], lsn)
    }

    fn flip_bits(&mut self, slot: u16, offset: usize, bit: u8, bitmap: &[u8]) -> Result<(), Damage> {
        let (start, row_bytes) = self
            .as_ref()
            .locate(slot)?
            .ok_or(Damage("bits of an empty slot are flipped"))?;
        if offset == 0 {
            return Err(Damage("bits of a row's status are flipped"));
        }
        flip(&mut self.bytes()[start..start + row_bytes], offset, bit, bitmap)
    }

    /// Makes `row_bytes`, its prefix and `slot_bytes` contiguous. `replaced` is a row that gives its bytes up.
    fn make_room(&mut self, row_bytes: usize, slot_bytes: usize, replaced: Option<(u16, usize)>) -> Result<(), Damage> {
        if row_bytes == 0 {
            return Err(Damage("a row is empty"));
        }
        let needed = row_bytes + PREFIX_BYTES + slot_bytes;
        let page = self.as_ref();
        let slots_from = PAGE_BYTES.saturating_sub(2 * usize::from(page.slot_count()));
        let free_offset = usize::from(page.free_offset());
        if free_offset < HEADER_BYTES || slots_from < free_offset {
            return Err(Damage("rows and slots overlap"));
        }
        let given_up = replaced.map_or(0, |(_, bytes)| bytes);
        if slots_from - free_offset + usize::from(page.hole_bytes()) + given_up < needed {
            return Err(Damage("the row does not fit into the page"));
        }
        if slots_from - free_offset < needed {
            self.compact(slots_from, needed, replaced.map(|(slot, _)| slot))?;
        } else {
            self.add_holes(given_up);
        }
        Ok(())
    }

    /// Moves all rows but `skipped` together at the front, in slot order, if `needed` bytes then become contiguous.
    fn compact(&mut self, slots_from: usize, needed: usize, skipped: Option<u16>) -> Result<(), Damage> {
        let source = *self.as_ref().bytes();
        let old = PageRef::new(&source);
        let mut packed = [0; PAGE_BYTES];
        let mut end = HEADER_BYTES;
        for slot in (0..old.slot_count()).filter(|slot| Some(*slot) != skipped) {
            let Some((start, row_bytes)) = old.locate(slot)? else {
                continue;
            };
            let next = end + PREFIX_BYTES + row_bytes;
            if next > slots_from {
                return Err(Damage("the rows are longer than the page"));
            }
            packed[end..next].copy_from_slice(&source[start - PREFIX_BYTES..start + row_bytes]);
            put_u16(&mut packed, slot_at(usize::from(slot)), end as u16);
            end = next;
        }
        if end + needed > slots_from {
            return Err(Damage("the row does not fit into the page"));
        }
        let page = self.bytes();
        page[HEADER_BYTES..].copy_from_slice(&packed[HEADER_BYTES..]);
        self.set_u16(AT_FREE_OFFSET, end);
        self.set_u16(AT_HOLE_BYTES, 0);
        Ok(())
    }

    /// Writes the row at the end of the rows, where [`PageMut::make_room`] made room.
    fn place(&mut self, slot: u16, row: &[u8]) {
        let prefix = usize::from(self.as_ref().free_offset());
        let end = prefix + PREFIX_BYTES + row.len();
        let page = self.bytes();
        put_u16(page, prefix, row.len() as u16);
        page[prefix + PREFIX_BYTES..end].copy_from_slice(row);
        put_u16(page, slot_at(usize::from(slot)), prefix as u16);
        self.set_u16(AT_FREE_OFFSET, end);
    }

    fn purge_ghosts(&mut self) -> Result<(), Damage> {
        let slot_count = self.as_ref().slot_count();
        for slot in 0..slot_count {
            self.as_ref().locate(slot)?;
        }
        let is_heap = self.as_ref().kind() == Some(PageKind::Heap);
        for slot in (0..slot_count).rev() {
            let Some((start, row_bytes)) = self.as_ref().locate(slot)? else {
                continue;
            };
            if self.as_ref().bytes()[start] & ROW_GHOST == 0 {
                continue;
            }
            self.add_holes(PREFIX_BYTES + row_bytes);
            if is_heap {
                put_u16(self.bytes(), slot_at(usize::from(slot)), 0);
            } else {
                self.close_slot(usize::from(slot));
            }
        }
        self.set_u16(AT_GHOST_COUNT, 0);
        Ok(())
    }
}
