//! The bytes of a file, 4 KB at a time and shared between copies; what was never written reads as zeros.

use std::collections::BTreeMap;
use std::sync::Arc;

const PAGE_BYTES: u64 = 4096;

type Page = [u8; PAGE_BYTES as usize];

/// The bytes of a file. A clone costs one reference for each page, not its bytes.
#[derive(Debug, Clone, Default)]
pub struct Content {
    length: u64,
    pages: BTreeMap<u64, Arc<Page>>,
}

impl Content {
    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// At most `count` bytes from `offset`, fewer at the end.
    pub fn read(&self, offset: u64, count: u64) -> Vec<u8> {
        let end = self.length.min(offset.saturating_add(count));
        let mut bytes = vec![0; end.saturating_sub(offset) as usize];
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let within = (at % PAGE_BYTES) as usize;
            let count = (PAGE_BYTES as usize - within).min(bytes.len() - done);
            if let Some(page) = self.pages.get(&(at / PAGE_BYTES)) {
                bytes[done..done + count].copy_from_slice(&page[within..within + count]);
            }
            done += count;
        }
        bytes
    }

    /// The parts that were ever written, with their offsets; the last one may reach over the end.
    pub fn written_parts(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.pages
            .iter()
            .map(|(index, page)| (index * PAGE_BYTES, page.as_slice()))
    }

    /// Writes, growing the file where needed.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.extend_to(offset + bytes.len() as u64);
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let within = (at % PAGE_BYTES) as usize;
            let count = (PAGE_BYTES as usize - within).min(bytes.len() - done);
            let page = self
                .pages
                .entry(at / PAGE_BYTES)
                .or_insert_with(|| Arc::new([0; PAGE_BYTES as usize]));
            Arc::make_mut(page)[within..within + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
    }

    /// Makes the file at least `length` bytes long.
    pub fn extend_to(&mut self, length: u64) {
        self.length = self.length.max(length);
    }

    /// Cuts or grows the file; what is cut off reads as zeros should the file grow again.
    pub fn set_length(&mut self, length: u64) {
        if length < self.length {
            let first_gone = length.div_ceil(PAGE_BYTES);
            self.pages.split_off(&first_gone);
            let within = (length % PAGE_BYTES) as usize;
            if within != 0
                && let Some(page) = self.pages.get_mut(&(length / PAGE_BYTES))
            {
                Arc::make_mut(page)[within..].fill(0);
            }
        }
        self.length = length;
    }
}

#[cfg(test)]
mod tests {
    use super::Content;

    #[test]
    fn bytes_read_back_over_borders_and_holes_are_zeros() {
        let mut content = Content::default();
        content.write(4090, b"0123456789");
        assert_eq!(content.length(), 4100);
        assert_eq!(content.read(4088, 100), b"\0\x000123456789");
        content.set_length(4092);
        content.set_length(5000);
        assert_eq!(content.read(4090, 4), b"01\0\0");
        assert_eq!(content.read(5000, 4), b"");
    }

    #[test]
    fn a_copy_does_not_see_later_writes() {
        let mut content = Content::default();
        content.write(0, b"before");
        let copy = content.clone();
        content.write(0, b"after!");
        assert_eq!(copy.read(0, 6), b"before");
    }
}
