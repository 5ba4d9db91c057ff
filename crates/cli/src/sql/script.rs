//! The text of scripts: files in any encoding, and the stack of files being read.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A larger file is refused: it would have to fit in memory.
const SCRIPT_BYTES_MAX: u64 = 512 << 20;
/// Files that read files, one in the other.
const DEPTH_MAX: usize = 64;

/// Files that are being read, the outermost first: by name, and by what the system knows them by.
#[derive(Debug, Default)]
pub(super) struct Reading(Vec<(PathBuf, (u64, u64))>);

impl Reading {
    /// Begins to read a file; answers its text.
    ///
    /// # Errors
    /// A sentence: it cannot be read, or is being read.
    pub(super) fn begin(&mut self, path: &Path) -> Result<String, String> {
        let failed = |reason: &dyn std::fmt::Display| {
            format!(
                "Error occurred while opening or operating on file {} (Reason: {reason}).",
                path.display()
            )
        };
        let mut file = File::open(path).map_err(|error| failed(&error))?;
        let about = file.metadata().map_err(|error| failed(&error))?;
        if about.is_dir() {
            return Err(failed(&"it is a folder"));
        }
        let identity = (about.dev(), about.ino());
        if let Some(first) = self.0.iter().position(|(_, open)| *open == identity) {
            let names = self.0.iter().skip(first).map(|(name, _)| name.as_path());
            let circle: Vec<String> = names.chain([path]).map(|name| name.display().to_string()).collect();
            return Err(failed(&format!("it would read itself: {}", circle.join(" -> "))));
        }
        if self.0.len() >= DEPTH_MAX {
            return Err(failed(&format!("{DEPTH_MAX} files are read one in the other")));
        }
        let text = text_of(&mut file).map_err(|error| failed(&error))?;
        self.0.push((path.to_owned(), identity));
        Ok(text)
    }

    /// The file whose lines are being taken; None outside of all.
    pub(super) fn innermost(&self) -> Option<&Path> {
        self.0.last().map(|(name, _)| name.as_path())
    }

    /// The innermost has been read.
    pub(super) fn end(&mut self) {
        self.0.pop();
    }
}

/// All of a script.
///
/// # Errors
/// It cannot be read, or is too large.
pub(super) fn text_of(source: &mut dyn Read) -> io::Result<String> {
    text_within(source, SCRIPT_BYTES_MAX)
}

fn text_within(source: &mut dyn Read, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let text = format!("a script has at most {} MB", bytes_max >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| decoded(error.as_bytes()));
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    })
}

/// A script that is not UTF-8: UTF-16 when it begins with its mark, else the bytes as Latin letters.
fn decoded(bytes: &[u8]) -> String {
    let units = |rest: &[u8], join: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest
            .chunks_exact(2)
            .filter_map(|pair| pair.try_into().ok().map(join))
            .collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => units(rest, u16::from_be_bytes),
        _ => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn scripts_of_other_encodings_are_read() {
        let text = |mut bytes: &[u8]| text_of(&mut bytes).unwrap();
        assert_eq!(text(&[0xFF, 0xFE, b'G', 0, b'O', 0]), "GO");
        assert_eq!(text(&[0xFE, 0xFF, 0, b'G', 0, b'O']), "GO");
        assert_eq!(text(&[b'\'', 0xE9, b'\'']), "'é'");
        assert_eq!(text("\u{feff}é".as_bytes()), "é");
    }

    #[test]
    fn a_script_without_end_is_refused() {
        let refused = text_within(&mut io::repeat(b' '), 8 << 20).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(refused.to_string(), "a script has at most 8 MB");
        assert_eq!(
            text_within(&mut io::repeat(b' ').take(8 << 20), 8 << 20).unwrap().len(),
            8 << 20
        );
    }
}
