//! The house's English, as far as a machine can check it: no giveaway words in comments and hand-written pages, no doc lines that repeat
//! a name, one form of the section on errors.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use xtask::prose::{comments, empty_docs, giveaways};
use xtask::rust_files;

/// Pages that say what the program or others said, in their words.
const QUOTING: [&str; 2] = ["CHANGELOG.md", "tests/mutants/SURVIVORS.md"];

fn root() -> PathBuf {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    Path::new(&folder).parent().unwrap().to_path_buf()
}

/// Every Rust source with its path below the root. The words themselves stand in `prose.rs`.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let paths = rust_files(&root).into_iter().filter(|path| !path.ends_with("prose.rs"));
    let read = |path: PathBuf| {
        let inside = path.strip_prefix(&root).unwrap().display().to_string();
        (inside, std::fs::read_to_string(path).unwrap())
    };
    let found: Vec<_> = paths.map(read).collect();
    assert!(
        found.len() > 500,
        "only {} sources found: the walk is broken",
        found.len()
    );
    found
}

/// Every Markdown page below a folder, build output and installed clients left out.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "node_modules" && !name.starts_with('.') {
            found.extend(pages(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn comments_are_free_of_giveaway_words() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, source) in sources() {
        for comment in comments(&source) {
            count += 1;
            let words = giveaways(&comment.text).into_iter();
            wrong.extend(words.map(|words| format!("{path}:{}: {words}", comment.line)));
        }
    }
    assert!(count > 10_000, "only {count} comments found: the reader is broken");
    assert!(wrong.is_empty(), "say these in plain English:\n{}", wrong.join("\n"));
}

#[test]
fn pages_are_free_of_giveaway_words() {
    let root = root();
    let mut wrong = Vec::new();
    let found = pages(&root);
    assert!(found.len() > 20, "only {} pages found: the walk is broken", found.len());
    for path in found {
        let inside = path.strip_prefix(&root).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let is_generated = text.starts_with("<!-- Made by docs/build. -->");
        if !is_generated && !QUOTING.iter().any(|page| inside == Path::new(page)) {
            wrong.extend(
                giveaways(&text)
                    .into_iter()
                    .map(|words| format!("{}: {words}", inside.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "say these in plain English:\n{}", wrong.join("\n"));
}

#[test]
fn no_doc_line_repeats_a_name() {
    let mut wrong = Vec::new();
    for (path, source) in sources() {
        let empty = empty_docs(&source).into_iter();
        wrong.extend(empty.map(|doc| format!("{path}:{}: {}", doc.line, doc.text)));
    }
    assert!(wrong.is_empty(), "say more, or nothing:\n{}", wrong.join("\n"));
}

/// `# Errors` is a section of its own, so that a reader and rustdoc find it.
#[test]
fn errors_have_a_section() {
    let in_text = |line: &str| {
        let doc = line.trim_start().strip_prefix("///");
        doc.is_some_and(|doc| doc.trim_start().starts_with("Errors: ") || doc.contains(". Errors: "))
    };
    let mut wrong = Vec::new();
    for (path, source) in sources() {
        let lines = source.lines().enumerate().filter(|(_, line)| in_text(line));
        wrong.extend(lines.map(|(index, _)| format!("{path}:{}", index + 1)));
    }
    assert!(
        wrong.is_empty(),
        "write these as a section `# Errors`:\n{}",
        wrong.join("\n")
    );
}
