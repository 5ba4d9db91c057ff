//! The book about vlflab: `docs/*.md` as HTML, the pages and pictures of it that the program itself knows, and whether every link holds.
//!
//! ```text
//! the program's tables, its --help, experiments, disks, contracts of modules -> pages, picture -> docs/*.md, docs/pictures/*.svg
//! docs/SUMMARY.md, docs/*.md, ARCHITECTURE.md, TESTING.md                    -> book, render   -> target/book/*.html
//! every Markdown file of the repository                                      -> links          -> faults
//! packaging/wasm -> target/wasm/browser.wasm, crates/browser/page                -> log_page      -> target/book/log.html
//! ```
//! Generated files are committed, so that they can be read, and their changes reviewed, where the sources are. `docs/build` makes them
//! again, makes the book and looks at all links; a test (`crates/cli/tests/it/book.rs`) fails when it would change anything.
//!
//! The book is rendered here and not by mdBook: that would be another program to install, or 150 crates more to build, and the links
//! that are looked at would not be those that a reader gets. `docs/SUMMARY.md` is in mdBook's form all the same.
//!
//! Invariant: what is generated depends on the sources alone: neither on the machine, its terminal and its clock, nor on what was
//! generated before.

pub mod book;
pub mod links;
pub mod log_page;
pub mod pages;
pub mod picture;
pub mod render;

use std::fmt;
use std::path::{Path, PathBuf};

/// The command that makes the generated files and the book.
pub const COMMAND: &str = "docs/build";

/// Why the book cannot be made.
#[derive(Debug)]
pub struct SiteError(pub String);

impl fmt::Display for SiteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for SiteError {}

/// What may fail here.
pub type Outcome<T> = Result<T, SiteError>;

/// A file that is made from what the program knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Its path below the repository's root.
    pub path: &'static str,
    pub text: String,
}

/// A text file.
///
/// # Errors
/// A sentence that names the file.
pub fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| SiteError(format!("cannot read {}: {error}", path.display())))
}

/// Writes a file, with the folders on the way to it.
///
/// # Errors
/// A sentence that names the file.
pub fn write(path: &Path, bytes: &[u8]) -> Outcome<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, bytes));
    written.map_err(|error| SiteError(format!("cannot write {}: {error}", path.display())))
}

/// The generated files that are not as they would be made now.
///
/// # Errors
/// As [`pages::generated`].
pub fn stale(root: &Path, program: &Path) -> Outcome<Vec<Generated>> {
    let mut files = pages::generated(root, program)?;
    files.retain(|file| std::fs::read_to_string(root.join(file.path)).ok().as_deref() != Some(&file.text));
    Ok(files)
}

/// The root of the repository that `folder` is in.
///
/// # Errors
/// That it is in none.
pub fn root_of(folder: &Path) -> Outcome<PathBuf> {
    let is_root = |folder: &&Path| folder.join(book::SUMMARY).is_file();
    let found = folder.ancestors().find(is_root).map(Path::to_path_buf);
    found.ok_or_else(|| {
        let text = format!(
            "{} is in no checkout of vlflab: there is no {} above it",
            folder.display(),
            book::SUMMARY
        );
        SiteError(text)
    })
}
