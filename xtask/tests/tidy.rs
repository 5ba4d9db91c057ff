//! The house rules: files that fit in the head, functions that fit on a screen, arrows that point downward.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xtask::{blanked, functions, rust_files};

const FILE_LINES_MAX: usize = 1_000;
const FUNCTION_LINES_MAX: usize = 70;

fn root() -> PathBuf {
    // Asked when the test runs, not when it was built: a build folder may be shared by several checkouts.
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo tells its tests where their package is");
    Path::new(&folder).parent().unwrap().to_path_buf()
}

fn sources() -> Vec<(PathBuf, String)> {
    let files = rust_files(&root());
    assert!(
        files.len() > 100,
        "only {} files found: the walk is broken",
        files.len()
    );
    files
        .into_iter()
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = sources()
        .iter()
        .filter(|(_, source)| source.lines().count() > FILE_LINES_MAX)
        .map(|(path, source)| format!("{}: {} lines", path.display(), source.lines().count()))
        .collect();
    assert!(long.is_empty(), "split these:\n{}", long.join("\n"));
}

#[test]
fn no_function_is_too_long() {
    let mut long = Vec::new();
    let mut count = 0;
    for (path, source) in sources() {
        for function in functions(&source) {
            count += 1;
            if function.lines > FUNCTION_LINES_MAX {
                long.push(format!(
                    "{}:{} {}: {} lines",
                    path.display(),
                    function.line,
                    function.name,
                    function.lines
                ));
            }
        }
    }
    assert!(count > 1_000, "only {count} functions found: the reader is broken");
    assert!(long.is_empty(), "split these:\n{}", long.join("\n"));
}

/// The table of ARCHITECTURE.md under "Rooms of the engine": `| room | imports |`.
fn arrows() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = text.split("## Rooms of the engine").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(|cell| cell.replace('`', ""));
        let room = cells.next().unwrap().trim().to_string();
        let imports = cells.next().unwrap().split_whitespace().map(str::to_string).collect();
        (room, imports)
    };
    rows.map(row).collect()
}

#[test]
fn rooms_of_the_engine_import_downward_only() {
    let arrows = arrows();
    let engine = root().join("crates/engine/src");
    let mut checked = 0;
    let mut wrong = Vec::new();
    for path in rust_files(&engine) {
        let inside = path.strip_prefix(&engine).unwrap();
        let first = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy()
            .replace(".rs", "");
        if first == "lib" {
            continue;
        }
        let allowed = arrows
            .get(&first)
            .unwrap_or_else(|| panic!("ARCHITECTURE.md does not name the room {first}"));
        let code = blanked(&std::fs::read_to_string(&path).unwrap());
        // A room's tests may use what the room may not.
        let code = code.split("#[cfg(test)]").next().unwrap();
        if inside
            .components()
            .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
        {
            continue;
        }
        for target in code.split("crate::").skip(1) {
            let room: String = target
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            checked += 1;
            if room != first && !room.is_empty() && !allowed.contains(&room) {
                wrong.push(format!("{}: {first} imports {room}", inside.display()));
            }
        }
    }
    assert!(checked > 100, "only {checked} imports seen: the reader is broken");
    wrong.dedup();
    assert!(wrong.is_empty(), "these point upward:\n{}", wrong.join("\n"));
}
