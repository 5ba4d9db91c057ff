//! `vlflab-site`: regenerates pages, builds the book, and checks its links. `docs/build` runs it.

use site::{COMMAND, Outcome, SiteError, book, links, log_page, pages, read, root_of, write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{COMMAND}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The program lies beside this one: cargo builds both into one folder.
fn program() -> Outcome<PathBuf> {
    let own = std::env::current_exe().map_err(|error| SiteError(format!("cannot find myself: {error}")))?;
    let found = own.with_file_name("vlflab");
    match found.is_file() {
        true => Ok(found),
        false => Err(SiteError(format!(
            "{} is not there; its --help is a page of the book: cargo build -p vlflab",
            found.display()
        ))),
    }
}

/// Whether all links hold.
fn run() -> Outcome<bool> {
    let here = std::env::current_dir().map_err(|error| SiteError(format!("cannot tell the folder: {error}")))?;
    let root = root_of(&here)?;
    generate(&root)?;
    let out = root.join("target/book");
    let made = book::make(&root, &out)?;
    let checked = links::check(&root)?;
    let list = out.join("external-links.txt");
    let external: String = checked.external.iter().map(|link| format!("{link}\n")).collect();
    write(&list, external.as_bytes())?;
    for page in &made.left_out {
        println!("not in {}: {page}", book::SUMMARY);
    }
    match &made.without_log_page {
        Some(reason) => println!("skipped: {}: {reason}", log_page::NAME),
        None => println!("{}", out.join(log_page::NAME).display()),
    }
    for fault in &checked.faults {
        eprintln!("{fault}");
    }
    println!(
        "{}: {} pages. {} links within the repository, {} broken; {} to others, not fetched: {}",
        out.join("index.html").display(),
        made.pages,
        checked.internal,
        checked.faults.len(),
        checked.external.len(),
        list.display()
    );
    Ok(checked.faults.is_empty())
}

fn generate(root: &Path) -> Outcome<()> {
    for file in pages::generated(root, &program()?)? {
        let path = root.join(file.path);
        if read(&path).ok().as_ref() != Some(&file.text) {
            write(&path, file.text.as_bytes())?;
            println!("made anew: {}", file.path);
        }
    }
    Ok(())
}
