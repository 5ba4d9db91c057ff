//! Links: where each leads, and whether that is there. Anchors are those that GitHub gives headings, and so are the book's. Paths in
//! backticks must exist too, though they are not clickable.

use crate::{Outcome, read};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// A link that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file it stands in, below the root.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// As it is written.
    pub link: String,
    /// What is not there.
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}: {}", self.file, self.line, self.link, self.reason)
    }
}

/// What all links came to.
#[derive(Debug, Default)]
pub struct Checked {
    /// Links to files and anchors of the repository.
    pub internal: usize,
    /// Addresses of others, each once.
    pub external: BTreeSet<String>,
    pub faults: Vec<Fault>,
}

/// The parts of Markdown that are in use: those of GitHub.
pub fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
}

/// Looks at the links of every Markdown file of the repository.
///
/// # Errors
/// A file that cannot be read.
pub fn check(root: &Path) -> Outcome<Checked> {
    let mut checked = Checked::default();
    let mut anchors = BTreeMap::new();
    for file in markdown_files(root, root) {
        let text = read(&root.join(&file))?;
        for (line, link) in links_of(&text) {
            if is_external(&link) {
                checked.external.insert(link);
                continue;
            }
            checked.internal += 1;
            if let Some(reason) = broken(root, &file, &link, &mut anchors) {
                let file = file.display().to_string();
                checked.faults.push(Fault {
                    file,
                    line,
                    link,
                    reason,
                });
            }
        }
    }
    Ok(checked)
}

/// Whether a link leads out of the repository.
pub fn is_external(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:")
}

/// Every Markdown file below `folder`, with its path below `root`; what is built or installed is left out.
fn markdown_files(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            found.extend(markdown_files(root, &path));
        } else if name.ends_with(".md") {
            found.extend(path.strip_prefix(root).ok().map(Path::to_path_buf));
        }
    }
    found.sort();
    found
}

/// The links and pictures of a text, with their lines.
fn links_of(text: &str) -> Vec<(usize, String)> {
    let line_of = |place: usize| text[..place].matches('\n').count() + 1;
    let events = Parser::new_ext(text, options()).into_offset_iter();
    let found = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((line_of(range.start), dest_url.to_string()))
        }
        _ => None,
    });
    found.collect()
}

/// Endings of hand-written files, and folders of the repository in which nothing is made: a path with one of these is looked for.
const WRITTEN: [&str; 11] = ["rs", "py", "md", "sql", "txt", "toml", "sh", "js", "java", "go", "json"];
const FOLDERS: [&str; 7] = ["crates", "docs", "examples", "fuzz", "site", "tests", "xtask"];
/// Where what is made goes, and names that stand for any.
const NOT_LOOKED_FOR: [&str; 3] = ["target", "CRATE", "NAME"];

/// Looks for the paths in backticks of every Markdown file of the repository. They may begin at any folder: `store/heap.rs`.
///
/// # Errors
/// A file that cannot be read.
pub fn check_paths(root: &Path) -> Outcome<Checked> {
    let mut checked = Checked::default();
    let mut endings = BTreeSet::new();
    note_endings(root, Path::new(""), &mut endings);
    for file in markdown_files(root, root) {
        let text = read(&root.join(&file))?;
        for (line, link) in paths_of(&text) {
            checked.internal += 1;
            if alternatives(&link).iter().all(|path| endings.contains(Path::new(path))) {
                continue;
            }
            checked.faults.push(Fault {
                file: file.display().to_string(),
                line,
                link,
                reason: "there is no such file".into(),
            });
        }
    }
    Ok(checked)
}

/// Notes for every file and folder below `folder` the ways to name it: its path, and all that is left when folders are left out in front.
fn note_endings(root: &Path, folder: &Path, endings: &mut BTreeSet<PathBuf>) {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    for entry in entries {
        let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
        // What is built or installed, and what git keeps.
        if name.to_string_lossy().starts_with('.') || name == "target" || name == "node_modules" {
            continue;
        }
        let mut rest = path.components();
        while !rest.as_path().as_os_str().is_empty() {
            endings.insert(rest.as_path().to_path_buf());
            rest.next();
        }
        if entry.path().is_dir() {
            note_endings(root, &path, endings);
        }
    }
}

/// What is in backticks and names a file or a folder of the repository, with its line.
fn paths_of(text: &str) -> Vec<(usize, String)> {
    let line_of = |place: usize| text[..place].matches('\n').count() + 1;
    let is_path = |code: &str| {
        let parts: Vec<&str> = code.split('/').collect();
        let ending = parts.last().and_then(|last| last.rsplit_once('.'));
        let is_written = ending.is_some_and(|(_, ending)| WRITTEN.contains(&ending)) || FOLDERS.contains(&parts[0]);
        let is_one = parts.len() > 1 && !code.contains([' ', '<']);
        is_one
            && is_written
            && !parts
                .iter()
                .any(|part| NOT_LOOKED_FOR.contains(&part.trim_end_matches(".rs")))
    };
    let events = Parser::new_ext(text, options()).into_offset_iter();
    let found = events.filter_map(|(event, range)| match event {
        Event::Code(code) if is_path(&code) => Some((line_of(range.start), code.to_string())),
        _ => None,
    });
    found.collect()
}

/// The paths that one stands for: `a/{b,c}` for two, `a/*.txt` for the folder.
fn alternatives(path: &str) -> Vec<String> {
    let path = path.split_once('*').map_or(path, |(before, _)| {
        before.rsplit_once('/').map_or("", |(folder, _)| folder)
    });
    let (Some(open), Some(close)) = (path.find('{'), path.find('}')) else {
        return vec![path.trim_end_matches('/').to_string()];
    };
    let inside = path.get(open + 1..close).unwrap_or_default().split(',');
    let whole = |one: &str| format!("{}{}{}", &path[..open], one.trim(), &path[close + 1..]);
    inside.map(|one| whole(one).trim_end_matches('/').to_string()).collect()
}

/// What is not there; `None` if all is.
fn broken(root: &Path, file: &Path, link: &str, anchors: &mut BTreeMap<PathBuf, BTreeSet<String>>) -> Option<String> {
    let (_, anchor) = link.split_once('#').unwrap_or((link, ""));
    let Some(target) = target_of(file, link) else {
        return Some("leads out of the repository".into());
    };
    let path = root.join(&target);
    if !path.exists() {
        return Some(format!("there is no {}", target.display()));
    }
    if anchor.is_empty() {
        return None;
    }
    if !anchors.contains_key(&target) {
        let known = match read(&path) {
            Ok(text) => headings(&text).into_iter().map(|heading| heading.anchor).collect(),
            Err(error) => return Some(error.to_string()),
        };
        anchors.insert(target.clone(), known);
    }
    let is_known = anchors.get(&target).is_some_and(|known| known.contains(anchor));
    (!is_known).then(|| format!("{} has no heading #{anchor}", target.display()))
}

/// The file that a link of `file` means, below the root; `None` if it leads out of it.
pub fn target_of(file: &Path, link: &str) -> Option<PathBuf> {
    let path = link.split_once('#').map_or(link, |(path, _)| path);
    if path.is_empty() {
        return Some(file.to_path_buf());
    }
    let mut whole = file.parent().unwrap_or(Path::new("")).to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => whole.push(name),
            Component::ParentDir if whole.pop() => {}
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(whole)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: usize,
    pub text: String,
    /// What links name behind `#`.
    pub anchor: String,
}

/// The headings of a text, in order.
pub fn headings(text: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut given = BTreeMap::new();
    let mut open: Option<(usize, String)> = None;
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => open = Some((level as usize, String::new())),
            Event::Text(part) | Event::Code(part) => {
                if let Some((_, words)) = &mut open {
                    words.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, text)) = open.take() {
                    let anchor = once(anchor(&text), &mut given);
                    found.push(Heading { level, text, anchor });
                }
            }
            _ => {}
        }
    }
    found
}

/// The anchor that GitHub makes of a heading's words.
fn anchor(words: &str) -> String {
    let words = words.trim().to_lowercase();
    let kept = words.chars().filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        _ => character.is_alphanumeric().then_some(character),
    });
    kept.collect()
}

/// The same with a number if it was given before.
fn once(anchor: String, given: &mut BTreeMap<String, usize>) -> String {
    let count = given.entry(anchor.clone()).or_insert(0);
    *count += 1;
    match *count {
        1 => anchor,
        many => format!("{anchor}-{}", many - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page whose links fail in each way, beside one that they lead to.
    fn faults_of(page: &str) -> Vec<String> {
        let folder = std::env::temp_dir().join(format!("vlflab-links-{}-{}", std::process::id(), page.len()));
        let files = [
            ("docs/page.md", page),
            ("docs/other.md", "# Other\n\n## A `b` & c\n\n## A b  c\n"),
        ];
        for (name, text) in files {
            crate::write(&folder.join(name), text.as_bytes()).expect("a temporary folder can be written to");
        }
        let checked = check(&folder).expect("what was written can be read");
        std::fs::remove_dir_all(&folder).expect("what was written can be removed");
        checked.faults.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn links_that_hold_are_no_faults() {
        let page = "# Page\n\n[a](other.md) [b](other.md#a-b--c) [c](#page) [d](../docs/other.md#other) [e](https://example.org/x)\n";
        assert_eq!(faults_of(page), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_named_with_their_line() {
        let page = "# Page\n\n[a](gone.md)\n\n[b](other.md#gone) ![c](gone.svg)\n[d](#gone) [e](../../outside.md)\n";
        let expected = [
            "docs/page.md:3: gone.md: there is no docs/gone.md",
            "docs/page.md:5: other.md#gone: docs/other.md has no heading #gone",
            "docs/page.md:5: gone.svg: there is no docs/gone.svg",
            "docs/page.md:6: #gone: docs/page.md has no heading #gone",
            "docs/page.md:6: ../../outside.md: leads out of the repository",
        ];
        assert_eq!(faults_of(page), expected);
    }

    #[test]
    fn paths_in_backticks_that_are_not_there_are_named_with_their_line() {
        let page = "`docs/page.md` `docs/` `docs/*.md` `docs/{page,other}.md` `crates/NAME/x.rs` `target/made.json` `a/b` `SELECT 1/2`\n\n\
                    `docs/gone.md` and `store/gone.rs`\n\n    `docs/in_a_block.md`\n\n`docs/{page,gone}.md`\n`tests/gone`\n";
        let folder = std::env::temp_dir().join(format!("vlflab-paths-{}", std::process::id()));
        for (name, text) in [("docs/page.md", page), ("docs/other.md", "# Other\n")] {
            crate::write(&folder.join(name), text.as_bytes()).expect("a temporary folder can be written to");
        }
        let checked = check_paths(&folder).expect("what was written can be read");
        std::fs::remove_dir_all(&folder).expect("what was written can be removed");
        let faults: Vec<String> = checked.faults.iter().map(Fault::to_string).collect();
        let expected = [
            "docs/page.md:3: docs/gone.md: there is no such file",
            "docs/page.md:3: store/gone.rs: there is no such file",
            "docs/page.md:7: docs/{page,gone}.md: there is no such file",
            "docs/page.md:8: tests/gone: there is no such file",
        ];
        assert_eq!((faults, checked.internal), (expected.map(str::to_owned).to_vec(), 8));
    }

    #[test]
    fn a_heading_met_twice_has_two_anchors() {
        let found = headings("# One `two`\n\n## Dbcc, and `SET x`\n\n## One two\n");
        let anchors: Vec<&str> = found.iter().map(|heading| heading.anchor.as_str()).collect();
        assert_eq!(anchors, ["one-two", "dbcc-and-set-x", "one-two-1"]);
    }
}
