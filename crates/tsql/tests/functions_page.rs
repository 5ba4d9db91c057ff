//! `docs/functions.md` is what the functions say of themselves. `UPDATE_DOCS=1` writes it.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

#[test]
fn the_page_of_functions_is_what_the_functions_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let page = tsql::functions::page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = page
        .lines()
        .zip(kept.lines())
        .find(|(made, kept)| made != kept)
        .map_or(String::new(), |(made, _)| made.to_owned());
    assert!(
        page == kept,
        "docs/functions.md is not what the functions say, first at {differing:?}. Write it:\n\
         UPDATE_DOCS=1 cargo test -p vlflab-tsql --test functions_page"
    );
}
