//! Where the files of results lie: a folder, or what a caller brings, such as a bucket.
//!
//! A sweep asks three things of a place: which files there are, the text of one, and that a new one is there whole or not at all. Names are
//! those of [`super::folder`]; a place has no folders inside.
//!
//! Invariant: what was written is found by every shard from then on. Nothing is changed or taken away.

use super::folder;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A place for files of results. It is used by several threads.
pub trait Place: fmt::Display + Send + Sync {
    /// Makes it ready to be written to.
    ///
    /// # Errors
    /// It cannot be written.
    fn prepare(&self) -> io::Result<()>;

    /// The names of all files, in any order.
    ///
    /// # Errors
    /// It is not there or cannot be read.
    fn names(&self) -> io::Result<Vec<String>>;

    /// The text of a file of at most so many bytes.
    ///
    /// # Errors
    /// It cannot be read; [`io::ErrorKind::InvalidData`] where it is too long or not text.
    fn read(&self, name: &str, bytes_max: u64) -> io::Result<String>;

    /// Writes a file that is durable, and whole as soon as it is there. One of the same name says the same.
    ///
    /// # Errors
    /// It cannot be written.
    fn write(&self, name: &str, text: &str) -> io::Result<()>;

    /// How many files are best read at once: many where each takes a journey.
    fn readers(&self) -> usize;
}

/// A folder of this machine, or one that its operating system finds.
#[derive(Debug, Clone)]
pub struct Folder(pub PathBuf);

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Place for Folder {
    fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(&self.0)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.0)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn read(&self, name: &str, bytes_max: u64) -> io::Result<String> {
        folder::read_text(&self.0.join(name), bytes_max)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        folder::write_whole(&self.0, name, text)
    }

    fn readers(&self) -> usize {
        1
    }
}

/// A file of a place, for a message.
pub fn file_in(place: &dyn Place, name: &str) -> String {
    format!("{}/{name}", place.to_string().trim_end_matches('/'))
}

/// Reads files of at most so many bytes, several at once where that is best; answers them in the order of their names as given.
pub fn read_all<'n>(
    place: &dyn Place,
    names: &'n [String],
    bytes_max: u64,
) -> impl Iterator<Item = (&'n str, io::Result<String>)> {
    let next = AtomicUsize::new(0);
    let texts: Mutex<Vec<(usize, io::Result<String>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..place.readers().clamp(1, names.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let ordinal = next.fetch_add(1, Ordering::SeqCst);
                    let Some(name) = names.get(ordinal) else { break };
                    let text = place.read(name, bytes_max);
                    texts
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((ordinal, text));
                }
            });
        }
    });
    let mut texts = texts.into_inner().unwrap_or_else(PoisonError::into_inner);
    texts.sort_by_key(|(ordinal, _)| *ordinal);
    texts.into_iter().map(|(ordinal, text)| (names[ordinal].as_str(), text))
}
