//! The pages and pictures that the program itself knows.

mod commands;
mod contracts;
mod disks;
mod experiments;
mod tsql;

use crate::{COMMAND, Generated, Outcome, picture};
use std::path::Path;

/// Every generated file, as it has to be. `program` is the built `vlflab`, which is asked for its help.
///
/// # Errors
/// What the pages are made of cannot be read, or does not fit together.
pub fn generated(root: &Path, program: &Path) -> Outcome<Vec<Generated>> {
    let mut files = contracts::generated(root)?;
    let page = |path, text: String| Generated {
        path,
        text: format!("<!-- Made by {COMMAND}. -->\n{text}"),
    };
    files.push(page("docs/commands.md", commands::page(program)?));
    files.push(page("docs/disks.md", disks::page()?));
    files.push(page("docs/functions.md", ::tsql::functions::page()));
    files.push(page("docs/published.md", experiments::page(root)?));
    files.push(page("docs/tsql.md", tsql::page()?));
    let drawn = [
        ("docs/pictures/sixteen-and-many.svg", picture::sixteen_and_many()?),
        ("docs/pictures/growth.svg", picture::growth()?),
        ("docs/pictures/wrap.svg", picture::wrap()?),
    ];
    files.extend(drawn.into_iter().map(|(path, text)| Generated { path, text }));
    Ok(files)
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").trim().to_string()
}
