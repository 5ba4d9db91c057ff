//! The tables of TESTING.md, made from the heads of the test files.
//!
//! | of a head | becomes |
//! |---|---|
//! | its first paragraph | the row of the file: what the tests show, and against what |
//! | a paragraph that begins with `Depth: ` | a row of the table of depths: how much is tried, and what sets it |
//!
//! A test file is one with tests, in a folder `tests` of a package or of a module, or named `tests.rs`.

use crate::rust_files;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// The lines of TESTING.md between which its tables stand.
pub const BEGIN: &str = "<!-- made from the heads of the test files by `cargo run -p xtask` -->";
pub const END: &str = "<!-- end of what is made -->";

/// Packages in the order of the tables, with their headings. Each is a folder below the root.
const PACKAGES: [(&str, &str); 17] = [
    ("crates/vlf", "Layout rules and bytes of log files"),
    ("crates/genuine", "SQL Server's own files"),
    ("crates/advisor", "The planner and the inspector"),
    ("crates/device", "What a disk takes"),
    ("crates/disk", "Files, simulated and real"),
    ("crates/engine", "The engine"),
    ("crates/tsql", "T-SQL"),
    ("crates/tds", "The TDS protocol"),
    ("crates/server", "The server"),
    ("crates/lab", "The lab"),
    ("crates/cli", "The program"),
    ("crates/remote", "Parquet files and buckets"),
    ("tests/outside", "The shipped binary on a disk that loses power"),
    ("tests/differential", "The same answers as other engines"),
    ("tests/fuzz", "Random input"),
    ("tests/mutants", "Mutation testing"),
    ("xtask", "House rules"),
];

/// A test file as the tables show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFile {
    /// Its path below the package.
    pub path: String,
    /// The first paragraph of its head; empty if the file has no head.
    pub shows: String,
    /// The paragraph about its depth, without the word; empty if nothing sets it.
    pub depth: String,
}

/// The head of a source file: its first comment of the module, as paragraphs of one line each.
fn head(source: &str) -> Vec<String> {
    let lines = source.lines().take_while(|line| line.starts_with("//!"));
    let mut paragraphs = vec![String::new()];
    for line in lines.map(|line| line.trim_start_matches("//!").trim()) {
        let last = paragraphs.last_mut().expect("there is always one");
        if line.is_empty() {
            paragraphs.push(String::new());
        } else if last.is_empty() {
            last.push_str(line);
        } else {
            let _ = write!(last, " {line}");
        }
    }
    paragraphs
}

/// Text without links to Rust items: of each, only its name is left, as code.
fn without_links(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, behind)) = link.split_once("`]") else {
            break;
        };
        let _ = write!(plain, "{before}`{name}`");
        let target = behind.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(behind, |(_, behind)| behind);
    }
    plain + rest
}

fn is_of_tests(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The test files of a package, in the order of their paths.
///
/// # Errors
/// A file cannot be read.
pub fn test_files(package: &Path) -> io::Result<Vec<TestFile>> {
    let mut found = Vec::new();
    for path in rust_files(package) {
        let inside = path.strip_prefix(package).unwrap_or(&path).to_path_buf();
        if !is_of_tests(&inside) {
            continue;
        }
        let source = std::fs::read_to_string(&path)?;
        if !source.lines().any(|line| line.trim() == "#[test]") {
            continue;
        }
        let paragraphs = head(&source);
        let depth = paragraphs
            .iter()
            .find_map(|paragraph| paragraph.strip_prefix("Depth: "));
        found.push(TestFile {
            path: inside.display().to_string(),
            shows: without_links(&paragraphs[0]),
            depth: without_links(depth.unwrap_or_default()),
        });
    }
    Ok(found)
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The tables: first the depths that can be set, then every test file by its package.
///
/// # Errors
/// A file cannot be read.
pub fn tables(root: &Path) -> io::Result<String> {
    let mut files: BTreeMap<&str, Vec<TestFile>> = BTreeMap::new();
    for (package, _) in PACKAGES {
        files.insert(package, test_files(&root.join(package))?);
    }
    let mut text = String::from("## Depths\n\n| file | by default; deep |\n|---|---|\n");
    for (package, _) in PACKAGES {
        for file in files[package].iter().filter(|file| !file.depth.is_empty()) {
            let _ = writeln!(text, "| `{package}/{}` | {} |", file.path, cell(&file.depth));
        }
    }
    text.push_str("\n## Test files\n");
    for (package, title) in PACKAGES.iter().filter(|(package, _)| !files[package].is_empty()) {
        let _ = write!(
            text,
            "\n### {title}: `{package}`\n\n| file | what it shows |\n|---|---|\n"
        );
        for file in &files[package] {
            let _ = writeln!(text, "| `{}` | {} |", file.path, cell(&file.shows));
        }
    }
    Ok(text)
}

/// TESTING.md with its tables as they have to be.
///
/// # Errors
/// A file cannot be read; the page lacks one of its marks.
pub fn page(root: &Path) -> io::Result<String> {
    let page = std::fs::read_to_string(root.join("TESTING.md"))?;
    let without = || io::Error::other(format!("TESTING.md lacks the line {BEGIN} or {END}"));
    let (before, rest) = page.split_once(BEGIN).ok_or_else(without)?;
    let (_, after) = rest.split_once(END).ok_or_else(without)?;
    Ok(format!("{before}{BEGIN}\n\n{}\n{END}{after}", tables(root)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_gives_what_is_shown_and_how_deep() {
        let source = "//! Of [`a`](super::a)\n//! and [`b`].\n//!\n//! More.\n//!\n//! Depth: ten; `N=20` for\n//! more.\n#![allow(x)]\n//! Not of it.\n";
        let paragraphs = head(source);
        assert_eq!(
            paragraphs,
            ["Of [`a`](super::a) and [`b`].", "More.", "Depth: ten; `N=20` for more."]
        );
        assert_eq!(without_links(&paragraphs[0]), "Of `a` and `b`.");
    }
}
