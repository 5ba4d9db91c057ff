//! TESTING.md against the test files: its tables are made from their heads, and every file has one.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use xtask::{rust_files, testing};

fn root() -> PathBuf {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    Path::new(&folder).parent().unwrap().to_path_buf()
}

#[test]
fn the_tables_are_those_that_the_heads_make() {
    let root = root();
    let page = std::fs::read_to_string(root.join("TESTING.md")).unwrap();
    let made = testing::page(&root).unwrap();
    let differs = page.lines().zip(made.lines()).find(|(is, should)| is != should);
    assert!(
        page == made,
        "`cargo run -p xtask` makes it anew; first difference: {differs:?}"
    );
}

/// A file without a head, or with one that its table would not show, says nothing to a reader of TESTING.md.
#[test]
fn every_test_file_has_a_head() {
    let root = root();
    let tables = testing::tables(&root).unwrap();
    let mut count = 0;
    let mut wrong = Vec::new();
    for path in rust_files(&root) {
        let inside = path.strip_prefix(&root).unwrap();
        let is_test = inside.iter().any(|part| part == "tests" || part == "tests.rs") && !inside.starts_with("tests");
        let source = std::fs::read_to_string(&path).unwrap();
        if !is_test || !source.contains("#[test]\n") {
            continue;
        }
        count += 1;
        let name = inside.file_name().unwrap().to_string_lossy().into_owned();
        let rows = tables
            .lines()
            .filter(|row| row.starts_with("| `") && row.contains(&format!("{name}` |")));
        if !source.starts_with("//! ") || rows.clone().count() == 0 || rows.clone().any(|row| row.ends_with("|  |")) {
            wrong.push(inside.display().to_string());
        }
    }
    assert!(count > 150, "only {count} test files found: the walk is broken");
    assert!(
        wrong.is_empty(),
        "these need a head that says what they show:\n{}",
        wrong.join("\n")
    );
}
