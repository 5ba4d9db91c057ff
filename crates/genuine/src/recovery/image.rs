//! One page during recovery: a step done, and a step undone.

use super::step::{Action, Header, Replaced};
use crate::log::replay::PageState;
use crate::page::maps::{BITMAP_RECORD_OFFSET, FIRST_COVERED_OFFSET, RECORD_OFFSET};
use crate::page::{HEADER_BYTES, PAGE_BYTES, Page, PageBytes, PageId, PageKind};
use vlf::Lsn;

const LSN_OFFSET: usize = 40;

/// What is known of a page that the log changes.
#[derive(Clone)]
pub(super) enum Image {
    Whole(Box<PageBytes>),
    /// It cannot be brought forward, or not be brought back, and why.
    Lost(String),
    /// It is an index's now, and no rows are read from it.
    OfIndex,
}

/// Which way a step goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Redo,
    Undo,
}

impl Image {
    /// A page as its source has it: without checksum and torn bits, which will not be those of its bytes.
    pub fn of(page: &Page) -> Image {
        match page.kind() {
            PageKind::Index => Image::OfIndex,
            _ => {
                let mut bytes = Box::new(*page.bytes());
                bytes[5] &= !3;
                Image::Whole(bytes)
            }
        }
    }

    /// A page that was formatted.
    pub fn formatted(id: PageId, header: &Header, lsn: Lsn) -> Image {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        bytes[0] = 1;
        bytes[1..4].copy_from_slice(&header.first);
        bytes[6..8].copy_from_slice(&header.index.to_le_bytes());
        bytes[8..22].copy_from_slice(&header.links);
        bytes[24..28].copy_from_slice(&header.object.to_le_bytes());
        bytes[32..36].copy_from_slice(&id.page.to_le_bytes());
        bytes[36..38].copy_from_slice(&id.file.to_le_bytes());
        put_lsn(&mut bytes, lsn);
        match PageKind::of(header.kind) {
            PageKind::Data | PageKind::TextMix | PageKind::TextTree => Image::Whole(bytes),
            PageKind::Index => Image::OfIndex,
            PageKind::Iam => {
                add_map_records(&mut bytes, header.first_mapped);
                Image::Whole(bytes)
            }
            kind => Image::Lost(format!(
                "the log formats it as {kind:?}, and what is on such a page then is not known"
            )),
        }
    }

    /// Does or undoes a step. `slot` is where its row is by now.
    ///
    /// # Errors
    /// A clause: the page does not have what the step replaces.
    pub fn apply(&mut self, action: &Action<'_>, slot: usize, way: Way) -> Result<(), String> {
        let Image::Whole(bytes) = self else { return Ok(()) };
        let fits = match action {
            // Nothing leads to a page that was formatted for what is undone.
            Action::Format(_) | Action::Nothing => Some(()),
            Action::Header(replaced) => replace(&mut bytes[..HEADER_BYTES], 0, *replaced, way),
            Action::Record { slot, replaced } => {
                record_place(bytes, *slot).and_then(|place| replace(&mut bytes[..], place, *replaced, way))
            }
            Action::Bits {
                slot,
                first,
                count,
                value,
            } => record_place(bytes, *slot).and_then(|place| {
                let bits = (*first, *count);
                set_bits(bytes, place, bits, *value == (way == Way::Redo))
            }),
            Action::FreeSpace { page, before, after } => set_free_space(bytes, *page, (*before, *after), way),
            Action::Rows(change) => {
                let mut state = PageState::of(&Page::of(bytes.clone()));
                let done = match way {
                    Way::Redo => state.apply(change).map(|_| ()),
                    Way::Undo => state.take_back(change, slot),
                };
                done.and_then(|()| state.put_on(bytes))
            }
        };
        fits.ok_or_else(|| "what the log changes on it is not what is there".to_owned())
    }

    /// The record of the log that it was changed by.
    pub fn set_lsn(&mut self, lsn: Lsn) {
        if let Image::Whole(bytes) = self {
            put_lsn(bytes, lsn);
        }
    }
}

fn put_lsn(bytes: &mut PageBytes, lsn: Lsn) {
    bytes[LSN_OFFSET..LSN_OFFSET + 10].copy_from_slice(&lsn.to_bytes());
}

/// The two records of an allocation map: lengths in their headers, which page comes first, and zeros.
fn add_map_records(bytes: &mut PageBytes, first_mapped: [u8; 6]) {
    bytes[FIRST_COVERED_OFFSET..FIRST_COVERED_OFFSET + 6].copy_from_slice(&first_mapped);
    let slots = [
        (RECORD_OFFSET, BITMAP_RECORD_OFFSET),
        (BITMAP_RECORD_OFFSET, PAGE_BYTES - 8),
    ];
    for (slot, (start, end)) in slots.into_iter().enumerate() {
        bytes[start + 2..start + 4].copy_from_slice(&((end - start) as u16).to_le_bytes());
        let at = PAGE_BYTES - 2 * (slot + 1);
        bytes[at..at + 2].copy_from_slice(&(start as u16).to_le_bytes());
    }
    bytes[22..24].copy_from_slice(&2u16.to_le_bytes());
}

/// Where the record of a slot begins.
fn record_place(bytes: &PageBytes, slot: u16) -> Option<usize> {
    let at = PAGE_BYTES.checked_sub(2 * (usize::from(slot) + 1))?;
    let is_there = slot < u16::from_le_bytes([bytes[22], bytes[23]]);
    let place = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    (is_there && place >= HEADER_BYTES).then_some(place)
}

fn replace(bytes: &mut [u8], place: usize, replaced: Replaced<'_>, way: Way) -> Option<()> {
    let (old, new) = match way {
        Way::Redo => (replaced.before, replaced.after),
        Way::Undo => (replaced.after, replaced.before),
    };
    let held = bytes.get_mut(place + replaced.offset..place + replaced.offset + old.len())?;
    (held == old && old.len() == new.len()).then(|| held.copy_from_slice(new))
}

fn set_bits(bytes: &mut PageBytes, place: usize, (first, count): (u16, u16), value: bool) -> Option<()> {
    for bit in usize::from(first)..usize::from(first) + usize::from(count) {
        let byte = bytes.get_mut(place + bit / 8)?;
        let mask = 1 << (bit % 8);
        *byte = if value { *byte | mask } else { *byte & !mask };
    }
    Some(())
}

fn set_free_space(bytes: &mut PageBytes, page: u16, (before, after): (u8, u8), way: Way) -> Option<()> {
    let place = record_place(bytes, 0)? + usize::from(page);
    let replaced = Replaced {
        offset: 0,
        before: &[before],
        after: &[after],
    };
    replace(&mut bytes[..], place, replaced, way)
}
