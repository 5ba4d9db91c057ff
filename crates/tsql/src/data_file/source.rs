//! The bytes of a file, one after another, through a window that moves forward.

use engine::cancel;
use engine::error::Result;
use engine::instance::RowsFile;
use engine::memory::Charge;

use crate::messages;

/// Bytes that are read from a file at once.
const WINDOW_BYTES: usize = 64 << 10;
/// Bytes of a field that goes nowhere, before those that cannot be the beginning of its terminator are forgotten.
const PASSED_BYTES_MAX: usize = 4 << 10;
/// The longest format file.
const FORMAT_BYTES_MAX: u64 = 4 << 20;

/// What a file of rows is read from.
pub trait FileBytes {
    /// As the statement names it.
    fn name(&self) -> &str;

    /// Length in bytes.
    fn bytes(&self) -> u64;

    /// Fills the whole buffer from `at`.
    ///
    /// # Errors
    /// 4862.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<()>;
}

impl FileBytes for RowsFile {
    fn name(&self) -> &str {
        RowsFile::name(self)
    }

    fn bytes(&self) -> u64 {
        RowsFile::bytes(self)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        RowsFile::read_at(self, at, buffer)
    }
}

/// How a search for a terminator has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The terminator of this place among those that were looked for; it is passed, and not among the bytes.
    Terminator(usize),
    /// The file ends before one.
    End,
    /// The field has more bytes than it may have.
    TooLong,
}

/// What becomes of the bytes that are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    /// At most so many are kept.
    UpTo(u64),
    Nothing,
}

pub(super) struct Source<F> {
    file: F,
    window: Vec<u8>,
    /// Where in the window the next byte is.
    next: usize,
    /// Where the window ends in the file.
    window_end: u64,
}

impl<F: FileBytes> Source<F> {
    pub(super) fn new(file: F) -> Source<F> {
        Source {
            file,
            window: Vec::new(),
            next: 0,
            window_end: 0,
        }
    }

    pub(super) fn file(&self) -> &F {
        &self.file
    }

    /// Where the next byte is, from the begin of the file.
    pub(super) fn position(&self) -> u64 {
        self.window_end - (self.window.len() - self.next) as u64
    }

    /// The next bytes, as many as are wanted or are there.
    pub(super) fn peek(&mut self, wanted: usize) -> Result<&[u8]> {
        if self.window.len() - self.next < wanted {
            self.refill()?;
        }
        let end = self.window.len().min(self.next + wanted);
        Ok(&self.window[self.next..end])
    }

    /// Whether the next bytes are these.
    pub(super) fn is_at(&mut self, bytes: &[u8]) -> Result<bool> {
        Ok(self.peek(bytes.len())? == bytes)
    }

    pub(super) fn is_at_end(&mut self) -> Result<bool> {
        self.peek(1).map(<[u8]>::is_empty)
    }

    /// Passes so many of the bytes that were peeked.
    pub(super) fn pass(&mut self, count: usize) {
        self.next = self.window.len().min(self.next + count);
    }

    /// Reads on; the bytes that are left stay in front.
    fn refill(&mut self) -> Result<()> {
        self.window.drain(..self.next);
        self.next = 0;
        let left = self.file.bytes().saturating_sub(self.window_end);
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(WINDOW_BYTES);
        if wanted == 0 {
            return Ok(());
        }
        cancel::look()?;
        let start = self.window.len();
        self.window.resize(start + wanted, 0);
        self.file.read_at(self.window_end, &mut self.window[start..])?;
        self.window_end += wanted as u64;
        Ok(())
    }

    /// Puts exactly so many bytes behind `into`; fewer where the file ends.
    pub(super) fn take(&mut self, count: u64, keep: Keep, into: &mut Vec<u8>, charge: &mut Charge) -> Result<u64> {
        let mut left = count;
        while left > 0 {
            let piece = usize::try_from(left).unwrap_or(usize::MAX).min(WINDOW_BYTES);
            let found = self.peek(piece)?;
            if found.is_empty() {
                break;
            }
            let length = found.len();
            if let Keep::UpTo(_) = keep {
                charge.grow_to((into.len() + length) as u64)?;
                into.extend_from_slice(&self.window[self.next..self.next + length]);
            }
            self.pass(length);
            cancel::spend(1)?;
            cancel::spend_bytes(length)?;
            left -= length as u64;
        }
        Ok(count - left)
    }

    /// Puts the bytes before the first of some terminators behind `into`. A terminator begins at a multiple of `unit_bytes` from here.
    pub(super) fn until(
        &mut self,
        terminators: &[&[u8]],
        unit_bytes: u64,
        keep: Keep,
        into: &mut Vec<u8>,
        charge: &mut Charge,
    ) -> Result<Found> {
        let lasts: Vec<u8> = terminators.iter().filter_map(|bytes| bytes.last().copied()).collect();
        let longest = terminators.iter().map(|bytes| bytes.len()).max().unwrap_or(0);
        let start = into.len();
        let mut read = 0u64;
        loop {
            self.peek(1)?;
            let window = &self.window[self.next..];
            if window.is_empty() {
                return Ok(Found::End);
            }
            let found = window.iter().position(|byte| lasts.contains(byte));
            let length = found.map_or(window.len(), |place| place + 1);
            charge.grow_to((into.len() + length) as u64)?;
            into.extend_from_slice(&window[..length]);
            self.pass(length);
            read += length as u64;
            cancel::spend(1)?;
            cancel::spend_bytes(length)?;
            if let Keep::UpTo(most) = keep
                && (into.len() - start) as u64 > most.saturating_add(longest as u64)
            {
                return Ok(Found::TooLong);
            }
            let ends = |bytes: &&[u8]| !bytes.is_empty() && into[start..].ends_with(bytes);
            if found.is_some()
                && read.is_multiple_of(unit_bytes)
                && let Some(place) = terminators.iter().position(ends)
            {
                into.truncate(into.len() - terminators[place].len());
                return Ok(Found::Terminator(place));
            }
            if matches!(keep, Keep::Nothing) && into.len() - start > PASSED_BYTES_MAX + longest {
                into.drain(start..into.len() - longest);
            }
        }
    }
}

/// A whole file as text: UTF-16 where it begins with its mark, else UTF-8, else code page 1252.
///
/// # Errors
/// 4822 for one that is longer than any format file; 701; 4862.
pub fn whole_text(file: &dyn FileBytes) -> Result<String> {
    if file.bytes() > FORMAT_BYTES_MAX {
        return Err(messages::format_column_count(file.name()));
    }
    let length = usize::try_from(file.bytes()).unwrap_or(usize::MAX);
    let _charge = engine::memory::require(length)?;
    let mut bytes = vec![0; length];
    file.read_at(0, &mut bytes)?;
    if let Some(units) = bytes.strip_prefix(&[0xFF, 0xFE]) {
        let units = units.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        return Ok(char::decode_utf16(units)
            .map(|unit| unit.unwrap_or('\u{FFFD}'))
            .collect());
    }
    let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(&bytes);
    Ok(match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => engine::types::cp1252::decode(bytes),
    })
}
