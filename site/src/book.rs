//! The book's pages, in the order of `docs/SUMMARY.md`, and their HTML in a folder.
//!
//! The summary is a list of links, as mdBook has it: `# Part` begins a part, `- [Title](page.md)` is a page. Pages may lie outside of
//! `docs`. Links between pages become links to their HTML; whatever else of the repository a page links to is copied beside them.

use crate::links::{is_external, target_of};
use crate::render::{self, Frame};
use crate::{Outcome, SiteError, log_page, read, write};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The list of pages.
pub const SUMMARY: &str = "docs/SUMMARY.md";
/// Where the book has copies of what its pages link to.
const COPIES: &str = "files";

/// A page of the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub title: String,
    /// Below the root.
    pub source: PathBuf,
    /// Its name in the book.
    pub html: String,
    /// The part that it is in; empty before the first.
    pub part: String,
}

#[derive(Debug, Default)]
pub struct Made {
    pub pages: usize,
    /// Markdown files of `docs` that the summary does not name.
    pub left_out: Vec<String>,
    /// Why the book has no page that reads logs; none where it has one.
    pub without_log_page: Option<String>,
}

/// The pages that the summary names.
///
/// # Errors
/// A summary that cannot be read, names no page, or a page twice.
pub fn pages(root: &Path) -> Outcome<Vec<Page>> {
    let text = read(&root.join(SUMMARY))?;
    let (mut pages, mut part, mut words) = (Vec::<Page>::new(), String::new(), String::new());
    let mut link = String::new();
    for event in Parser::new(&text) {
        match event {
            Event::Start(Tag::Heading { .. }) => words.clear(),
            Event::Start(Tag::Link { dest_url, .. }) => {
                words.clear();
                link = dest_url.to_string();
            }
            Event::Text(text) | Event::Code(text) => words.push_str(&text),
            Event::End(TagEnd::Heading(_)) => {
                part = if words == "Summary" {
                    String::new()
                } else {
                    words.clone()
                }
            }
            Event::End(TagEnd::Link) => pages.push(page(&words, &link, &part)?),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    match pages.iter().find(|page| !names.insert(page.html.clone())) {
        Some(twice) => Err(SiteError(format!(
            "{SUMMARY} has two pages that would be {}",
            twice.html
        ))),
        None if pages.is_empty() => Err(SiteError(format!("{SUMMARY} names no page"))),
        None => Ok(pages),
    }
}

fn page(title: &str, link: &str, part: &str) -> Outcome<Page> {
    let source = target_of(Path::new(SUMMARY), link);
    let source = source.ok_or_else(|| SiteError(format!("{SUMMARY}: {link} leads out of the repository")))?;
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let folder = source.parent().and_then(Path::file_name).unwrap_or_default();
    let html = match (stem.as_str(), folder.to_str()) {
        ("readme", Some("docs")) => "index.html".to_string(),
        ("readme", Some(folder)) => format!("{folder}.html"),
        (stem, _) => format!("{stem}.html"),
    };
    Ok(Page {
        title: title.to_string(),
        source,
        html,
        part: part.to_string(),
    })
}

/// Makes the book in the folder `out`.
///
/// # Errors
/// What cannot be read or written, named.
pub fn make(root: &Path, out: &Path) -> Outcome<Made> {
    let pages = pages(root)?;
    let copies = RefCell::new(BTreeSet::new());
    let mut whole = String::new();
    for (index, page) in pages.iter().enumerate() {
        let text = read(&root.join(&page.source))?;
        let address = |link: &str| address(root, &pages, page, link, &copies);
        let frame = Frame::of(&pages, index);
        write(&out.join(&page.html), render::page(&frame, &text, &address).as_bytes())?;
        whole += &render::section(page, &text, &address);
    }
    write(&out.join(render::WHOLE), render::whole(&pages, &whole).as_bytes())?;
    write(&out.join("style.css"), render::STYLE.as_bytes())?;
    let log_page = log_page::of_build(&root.join("target"))?;
    let without_log_page = log_page.as_ref().err().cloned();
    let text = log_page.unwrap_or_else(|reason| log_page::without(&reason));
    write(&out.join(log_page::NAME), text.as_bytes())?;
    for copy in copies.into_inner() {
        let from = root.join(&copy);
        let bytes =
            std::fs::read(&from).map_err(|error| SiteError(format!("cannot read {}: {error}", from.display())))?;
        write(&out.join(COPIES).join(&copy), &bytes)?;
    }
    Ok(Made {
        pages: pages.len(),
        left_out: left_out(root, &pages),
        without_log_page,
    })
}

/// Where a link of a page leads in the book; files that are no pages are noted to be copied.
fn address(root: &Path, pages: &[Page], page: &Page, link: &str, copies: &RefCell<BTreeSet<PathBuf>>) -> String {
    if is_external(link) || link.starts_with('#') {
        return link.to_string();
    }
    let anchor = link.find('#').map_or("", |place| &link[place..]);
    let Some(target) = target_of(&page.source, link) else {
        return link.to_string();
    };
    if target == Path::new(log_page::SOURCE) {
        return format!("{}{anchor}", log_page::NAME);
    }
    if let Some(other) = pages.iter().find(|other| other.source == target) {
        return format!("{}{anchor}", other.html);
    }
    if root.join(&target).is_file() {
        copies.borrow_mut().insert(target.clone());
    }
    format!("{COPIES}/{}{anchor}", target.display())
}

fn left_out(root: &Path, pages: &[Page]) -> Vec<String> {
    let entries = std::fs::read_dir(root.join("docs")).into_iter().flatten().flatten();
    let names = entries.map(|entry| Path::new("docs").join(entry.file_name()));
    let is_left_out = |path: &PathBuf| {
        path.extension().is_some_and(|kind| kind == "md")
            && path != Path::new(SUMMARY)
            && pages.iter().all(|page| page.source != *path)
    };
    let mut found: Vec<String> = names
        .filter(is_left_out)
        .map(|path| path.display().to_string())
        .collect();
    found.sort();
    found
}
