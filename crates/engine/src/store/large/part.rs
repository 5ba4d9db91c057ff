//! Parts of a large value: the page of any byte can be computed, so a part costs only its own pages and the branches above them.
//!
//! ```text
//! level 2   page of the place | branch of 1,348 branches | branch of 1,348 pages | 8,088 bytes
//! byte at   page of the value = at / 8,088, byte in it = at % 8,088; at each level the child is its number / (1,348 to the level below)
//! ```

use super::super::change::read;
use super::{Place, content_of, no_place, not_as_long, page_ids};
use crate::buffer::DatabaseStorage;
use crate::cancel::{self, STEPS_PER_PAGE};
use crate::error::Result;
use crate::page::{ObjectId, PageId, PageKind};
use crate::types::off_row::{PAGE_BRANCHES, PAGE_VALUE_BYTES};

/// A value outside of its row, of which parts are read.
pub struct LargeValue {
    place: Place,
}

impl LargeValue {
    /// The value at a place.
    ///
    /// # Errors
    /// 824 when it is none.
    pub fn at(storage: &DatabaseStorage, place: &[u8]) -> Result<LargeValue> {
        let place = Place::decode(place).ok_or_else(|| no_place(storage))?;
        Ok(LargeValue { place })
    }

    /// Fills `into` with the bytes from `at` on.
    ///
    /// # Errors
    /// 823 and 824 when its pages cannot be read or are none of `units`, and when it ends before; 3617.
    pub fn read(&self, storage: &DatabaseStorage, units: &[ObjectId], mut at: u64, into: &mut [u8]) -> Result<()> {
        if at + into.len() as u64 > self.place.bytes {
            return Err(no_place(storage));
        }
        let mut left = into;
        while !left.is_empty() {
            let number = at / PAGE_VALUE_BYTES as u64;
            let offset = (at % PAGE_VALUE_BYTES as u64) as usize;
            let count = left.len().min(PAGE_VALUE_BYTES - offset);
            let (now, rest) = left.split_at_mut(count);
            let id = self.page_of(storage, units, number)?;
            let expected = (self.place.bytes - number * PAGE_VALUE_BYTES as u64).min(PAGE_VALUE_BYTES as u64);
            with_content(storage, units, id, PageKind::LargeData, |content| {
                let part = content.get(offset..offset + count);
                let part = part.filter(|_| content.len() as u64 == expected)?;
                now.copy_from_slice(part);
                Some(())
            })?;
            at += count as u64;
            left = rest;
        }
        Ok(())
    }

    /// The page with the bytes of a number, by way of the branches.
    fn page_of(&self, storage: &DatabaseStorage, units: &[ObjectId], mut number: u64) -> Result<PageId> {
        let mut below = (PAGE_BRANCHES as u64).pow(u32::from(self.place.level));
        let top = self.place.pages.get((number / below) as usize);
        let mut id = *top.ok_or_else(|| no_place(storage))?;
        for _ in 0..self.place.level {
            number %= below;
            below /= PAGE_BRANCHES as u64;
            let child = (number / below) as usize;
            id = with_content(storage, units, id, PageKind::LargeBranch, |content| {
                page_ids(content).nth(child)
            })?;
        }
        Ok(id)
    }
}

/// Gives the content of a page to `take`; 824 when that finds no such thing there.
fn with_content<T>(
    storage: &DatabaseStorage,
    units: &[ObjectId],
    id: PageId,
    kind: PageKind,
    take: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T> {
    cancel::spend(STEPS_PER_PAGE)?;
    let page = read(storage, id)?;
    take(content_of(storage, units, &page, kind)?).ok_or_else(|| not_as_long(storage, id))
}
