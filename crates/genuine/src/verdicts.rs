//! What was found of pages, so that none is checked twice: a byte for each page that was read.
//!
//! ```text
//! (file, page / 512) --> 512 bytes:   0 not read, or to be looked at again: damaged, or another page than its place says
//!                                     0x80 | protection << 2 | what is on it
//! ```
//!
//! A file that says odd things of itself costs no more than a page of 64 KB has extents: a part is made for an extent that was there to be read.

use crate::page::{Page, PageBytes, PageId, PageKind, Soundness, soundness};
use std::collections::BTreeMap;

const PART_PAGES: u32 = 512;

/// What is on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Rows,
    Index,
    LargeValues,
    /// Maps, headers, the boot page.
    System,
}

impl Content {
    fn of(kind: PageKind) -> Content {
        match kind {
            PageKind::Data => Content::Rows,
            PageKind::Index => Content::Index,
            PageKind::TextMix | PageKind::TextTree => Content::LargeValues,
            _ => Content::System,
        }
    }
}

/// What says that a page is as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    Checksum,
    TornBits,
    None,
}

/// A page that is the one its place says, and as it was written as far as it says so itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub content: Content,
    pub protection: Protection,
}

impl Verdict {
    /// Of a page that was read and checked.
    pub fn of_page(page: &Page) -> Verdict {
        Verdict {
            content: Content::of(page.kind()),
            protection: match page.soundness() {
                Soundness::Sound if page.has_checksum() => Protection::Checksum,
                Soundness::Sound => Protection::TornBits,
                _ => Protection::None,
            },
        }
    }

    /// Of the bytes in the place of page `id`; `None` for what has to be looked at again.
    fn of_bytes(id: PageId, bytes: &PageBytes) -> Option<Verdict> {
        /// The flag of a checksum in the second byte of the flags.
        const CHECKSUM: u8 = 2;
        if PageId::read(bytes, 32) != Some(id) {
            return None;
        }
        let protection = match soundness(bytes) {
            Soundness::Sound if bytes[5] & CHECKSUM != 0 => Protection::Checksum,
            Soundness::Sound => Protection::TornBits,
            Soundness::Unprotected => Protection::None,
            Soundness::Empty | Soundness::WrongChecksum { .. } | Soundness::Torn => return None,
        };
        Some(Verdict {
            content: Content::of(PageKind::of(bytes[1])),
            protection,
        })
    }

    fn encoded(self) -> u8 {
        0x80 | (self.protection as u8) << 2 | self.content as u8
    }

    fn decoded(byte: u8) -> Option<Verdict> {
        const CONTENTS: [Content; 4] = [Content::Rows, Content::Index, Content::LargeValues, Content::System];
        const PROTECTIONS: [Protection; 4] = [
            Protection::Checksum,
            Protection::TornBits,
            Protection::None,
            Protection::None,
        ];
        (byte & 0x80 != 0).then(|| Verdict {
            content: CONTENTS[usize::from(byte & 3)],
            protection: PROTECTIONS[usize::from(byte >> 2 & 3)],
        })
    }
}

/// The verdicts on the pages that were read.
#[derive(Default)]
pub struct Verdicts {
    parts: BTreeMap<(u16, u32), Box<[u8; PART_PAGES as usize]>>,
}

impl Verdicts {
    /// Looks at the bytes in the place of page `id`. Of several the last ones count.
    pub fn look(&mut self, id: PageId, bytes: &PageBytes) {
        self.put(id, Verdict::of_bytes(id, bytes));
    }

    /// Notes a verdict, or that the page has to be looked at again.
    pub(crate) fn put(&mut self, id: PageId, verdict: Option<Verdict>) {
        let part = self.parts.entry((id.file, id.page / PART_PAGES));
        let part = part.or_insert_with(|| Box::new([0; PART_PAGES as usize]));
        part[(id.page % PART_PAGES) as usize] = verdict.map_or(0, Verdict::encoded);
    }

    /// The verdict on page `id`, if there is one.
    pub fn get(&self, id: PageId) -> Option<Verdict> {
        let part = self.parts.get(&(id.file, id.page / PART_PAGES))?;
        Verdict::decoded(part[(id.page % PART_PAGES) as usize])
    }

    /// The bytes of page `id` are those of the page, and need not be checked again: torn bits would have to be put back.
    pub(crate) fn are_as_written(&self, id: PageId) -> bool {
        self.get(id)
            .is_some_and(|verdict| verdict.protection != Protection::TornBits)
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, Protection, Verdict, Verdicts};
    use crate::page::PageId;

    #[test]
    fn every_verdict_is_kept_as_it_was_given() {
        let mut verdicts = Verdicts::default();
        let contents = [Content::Rows, Content::Index, Content::LargeValues, Content::System];
        let protections = [Protection::Checksum, Protection::TornBits, Protection::None];
        let pairs = contents
            .iter()
            .flat_map(|content| protections.map(|protection| (*content, protection)));
        for ((content, protection), page) in pairs.zip(505..) {
            let id = PageId::new(3, page);
            assert_eq!(verdicts.get(id), None);
            let verdict = Verdict { content, protection };
            verdicts.put(id, Some(verdict));
            assert_eq!(verdicts.get(id), Some(verdict));
        }
        verdicts.put(PageId::new(3, 505), None);
        assert_eq!(verdicts.get(PageId::new(3, 505)), None);
    }
}
