//! The house rules: lengths of files and functions, arrows between rooms, the language of comments.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use xtask::arms::matches;
use xtask::{blanked, count_words, functions, named_in_crate, public_items, rust_files};

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
            // One exhaustive match is read arm by arm. Cut in pieces, each piece would need an arm for what the others know.
            if function.lines > FUNCTION_LINES_MAX && !function.is_one_match {
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

/// A match over the operators of a plan names each of them, so that the compiler asks it about a new one. A rule that is about some operators
/// alone asks for these by `if let`, and for the others by their shape.
#[test]
fn no_match_over_operators_has_an_arm_for_the_rest() {
    let (mut named, mut rest) = (0, Vec::new());
    for (path, source) in sources() {
        if !path.starts_with(root().join("crates/tsql/src")) {
            continue;
        }
        for arms in matches(&blanked(&source)) {
            if !arms.iter().any(|arm| arm.pattern.contains("Node::")) {
                continue;
            }
            named += 1;
            let open = arms.iter().filter(|arm| arm.takes_the_rest());
            rest.extend(open.map(|arm| format!("{}:{} {}", path.display(), arm.line, arm.pattern)));
        }
    }
    assert!(
        named >= 5,
        "only {named} matches over operators found: the reader is broken"
    );
    assert!(rest.is_empty(), "name the operators in these:\n{}", rest.join("\n"));
}

/// A table of ARCHITECTURE.md, `| room | may import |`, in its order. A room is a module of the crate; one whose inside has floors is
/// named with two levels, `statements::dispatch`.
fn arrows(heading: &str) -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = text.split(heading).nth(1).unwrap();
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

/// The module that a file is, as a path from its crate's root.
fn module_of(inside: &Path) -> Vec<String> {
    let parts = inside.components().map(|part| part.as_os_str().to_string_lossy());
    let mut parts: Vec<String> = parts.map(|part| part.replace(".rs", "")).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// A file's code up to its tests: a room's tests may use what the room may not. Where they are a file of their own, the line that names it
/// ends nothing: it may stand above what the room imports.
fn without_tests(code: &str) -> &str {
    let is_end = |place: usize| {
        let next = code[place..].lines().nth(1);
        !next.is_some_and(|line| line.ends_with("mod tests;"))
    };
    let mut ends = code.match_indices("#[cfg(test)]").map(|(place, _)| place);
    ends.find(|place| is_end(*place)).map_or(code, |end| &code[..end])
}

/// Imports of a file that named its tests first were not looked at.
#[test]
fn tests_of_a_file_of_their_own_hide_no_imports() {
    let code = "#[cfg(test)]\nmod tests;\n\nuse crate::a;\n\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n";
    assert!(without_tests(code).contains("crate::a") && !without_tests(code).contains("crate::b"));
    let code = "#[cfg(test)]\npub(crate) mod tests;\nuse crate::a;\n";
    assert_eq!(without_tests(code), code);
}

/// What a crate's rooms import, each arrow once with a file that draws it: `(from, to, file)`.
fn imports(source: &Path, table: &BTreeMap<String, Vec<String>>) -> Vec<(String, String, String)> {
    let files = rust_files(source);
    let modules: Vec<Vec<String>> = files
        .iter()
        .map(|path| module_of(path.strip_prefix(source).unwrap()))
        .collect();
    let room_of = |path: &[String]| {
        let mut begins = (1..=path.len().min(2)).rev().map(|levels| path[..levels].join("::"));
        begins.find(|begin| table.contains_key(begin))
    };
    let mut found = BTreeMap::new();
    for (path, module) in files.iter().zip(&modules) {
        let is_test = module.iter().any(|part| part == "tests");
        if is_test || module == &["lib"] {
            continue;
        }
        let room = room_of(module).unwrap_or_else(|| panic!("ARCHITECTURE.md does not name the room {}", module[0]));
        let code = blanked(&std::fs::read_to_string(path).unwrap());
        for named in named_in_crate(without_tests(&code), module) {
            // What is not a module here comes from a crate below.
            let is_own = named
                .first()
                .is_some_and(|first| modules.iter().any(|module| &module[0] == first));
            if let Some(target) = room_of(&named).filter(|target| is_own && *target != room) {
                let file = path.strip_prefix(source).unwrap().display().to_string();
                found.entry((room.clone(), target)).or_insert(file);
            }
        }
    }
    found.into_iter().map(|((from, to), file)| (from, to, file)).collect()
}

fn check_rooms(heading: &str, source: &str, arrows_min: usize) {
    let table: BTreeMap<String, Vec<String>> = arrows(heading).into_iter().collect();
    let found = imports(&root().join(source), &table);
    assert!(
        found.len() >= arrows_min,
        "only {} arrows seen: the reader is broken",
        found.len()
    );
    let wrong: Vec<String> = found
        .iter()
        .filter(|(from, to, _)| !table[from].contains(to))
        .map(|(from, to, file)| format!("{file}: {from} imports {to}"))
        .collect();
    assert!(wrong.is_empty(), "the table does not know these:\n{}", wrong.join("\n"));
    let unused: Vec<String> = table
        .iter()
        .flat_map(|(from, targets)| targets.iter().map(move |to| (from, to)))
        .filter(|(from, to)| !found.iter().any(|(room, target, _)| room == *from && target == *to))
        .map(|(from, to)| format!("{from} imports {to}"))
        .collect();
    assert!(
        unused.is_empty(),
        "the code does not need these:\n{}",
        unused.join("\n")
    );
}

#[test]
fn rooms_of_the_engine_import_what_its_table_says() {
    check_rooms("## Rooms of the engine", "crates/engine/src", 80);
}

#[test]
fn rooms_of_tsql_import_what_its_table_says() {
    check_rooms("## Rooms of tsql", "crates/tsql/src", 80);
}

/// A room imports only rooms above it, so there is no circle. The engine's had one, the clock and what asks for the time.
#[test]
fn rooms_import_downward_only() {
    for heading in ["## Rooms of the engine", "## Rooms of tsql"] {
        let mut above: Vec<String> = Vec::new();
        for (room, targets) in arrows(heading) {
            for target in targets {
                assert!(
                    above.contains(&target),
                    "{heading}: {room} imports {target}, which does not stand above it"
                );
            }
            above.push(room);
        }
        assert!(above.len() > 20, "{heading}: the reader is broken");
    }
}

#[test]
fn what_a_source_names_is_read_out_of_groups_and_from_its_own_place() {
    let code = "use crate::{a::{b, c::D as E}, f}; fn x() { super::super::g::h(); crate::i::<J>(); mycrate::k(); }";
    let module = ["one", "two", "three"].map(str::to_string);
    let named: Vec<String> = named_in_crate(code, &module)
        .iter()
        .map(|path| path.join("::"))
        .collect();
    assert_eq!(named, ["a::b", "a::c::D", "f", "i", "one::g::h"]);
}

/// The compiler takes what is public for used. Items that nothing called stood in six crates.
#[test]
fn what_is_public_is_named_somewhere() {
    let codes: Vec<(PathBuf, String)> = sources()
        .into_iter()
        .map(|(path, source)| (path, blanked(&source)))
        .collect();
    let mut named: HashMap<&str, usize> = HashMap::new();
    for (_, code) in &codes {
        count_words(code, &mut named);
    }
    let mut count = 0;
    let mut dead = Vec::new();
    for (path, code) in codes.iter().filter(|(path, _)| path.iter().any(|part| part == "src")) {
        for (line, name) in public_items(code) {
            count += 1;
            if named[name] == 1 {
                dead.push(format!("{}:{line} {name}", path.display()));
            }
        }
    }
    assert!(count > 4_000, "only {count} public items found: the reader is broken");
    assert!(dead.is_empty(), "nothing names these:\n{}", dead.join("\n"));
}

#[test]
fn public_items_are_found_by_their_kinds() {
    let code = "pub fn a() -> u8 {\n pub const fn b()\npub struct C<T> {\n pub field: u8,\npub const D: E = F;\npub use g::H;\n\
                #[unsafe(export_name = )]\npub static I: u8 = 0;\npub(crate) fn j()\npub unsafe fn k(l: *const M)\npub mod n;\n";
    let names: Vec<&str> = public_items(code).iter().map(|(_, name)| *name).collect();
    assert_eq!(names, ["a", "b", "C", "D", "k"]);
}
