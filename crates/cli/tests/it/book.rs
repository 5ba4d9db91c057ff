//! The book: generated pages are current, and every link, anchor and path in backticks leads somewhere.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    // Asked when the test runs, not when it was built: a build folder may be shared by several checkouts.
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    site::root_of(Path::new(&folder)).unwrap()
}

#[test]
fn generated_pages_are_as_they_would_be_made() {
    let stale = site::stale(&root(), Path::new(env!("CARGO_BIN_EXE_vlflab"))).unwrap();
    let paths: Vec<&str> = stale.iter().map(|file| file.path).collect();
    assert!(
        paths.is_empty(),
        "out of date: {}. {} makes them anew",
        paths.join(", "),
        site::COMMAND
    );
}

#[test]
fn every_link_leads_somewhere() {
    let checked = site::links::check(&root()).unwrap();
    assert!(
        checked.internal > 100,
        "only {} links found: the reader is broken",
        checked.internal
    );
    let faults: Vec<String> = checked.faults.iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Files are moved, and what is said of them stays.
#[test]
fn every_path_in_backticks_is_there() {
    let checked = site::links::check_paths(&root()).unwrap();
    assert!(
        checked.internal > 100,
        "only {} paths found: the reader is broken",
        checked.internal
    );
    let faults: Vec<String> = checked.faults.iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_book_is_made_of_every_page_of_the_summary() {
    let out = std::env::temp_dir().join(format!("vlflab-book-{}", std::process::id()));
    let made = site::book::make(&root(), &out).unwrap();
    let pages = site::book::pages(&root()).unwrap();
    assert_eq!(made.pages, pages.len());
    for page in pages {
        let html = std::fs::read_to_string(out.join(&page.html)).unwrap();
        let links = html.split("href=\"").skip(1).chain(html.split("src=\"").skip(1));
        for link in links.map(|rest| rest.split('"').next().unwrap()) {
            let file = link.split('#').next().unwrap();
            let is_there = file.is_empty() || link.contains("://") || out.join(file).is_file();
            assert!(is_there, "{} links to {link}", page.html);
        }
    }
    std::fs::remove_dir_all(&out).unwrap();
}
