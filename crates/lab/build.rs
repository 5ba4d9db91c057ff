//! Puts `experiments/` into the program: every `NAME.toml` there, with the scripts of the folder `NAME` beside it; and `disks/`.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments")
        .canonicalize()?;
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut table = String::from("&[\n");
    for toml in files(&folder, "toml")? {
        let name = stem(&toml);
        writeln!(
            table,
            "    BuiltIn {{ name: {name:?}, toml: include_str!({:?}), scripts: &[",
            toml
        )?;
        let scripts = folder.join(&name);
        if scripts.is_dir() {
            println!("cargo:rerun-if-changed={}", scripts.display());
            for script in files(&scripts, "sql")? {
                let called = format!("{name}/{}.sql", stem(&script));
                writeln!(table, "        ({called:?}, include_str!({:?})),", script)?;
            }
        }
        table.push_str("    ] },\n");
    }
    table.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("experiments.rs");
    fs::write(out, table)?;
    write_disks()
}

fn write_disks() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../disks")
        .canonicalize()?;
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut table = String::from("&[\n");
    for toml in files(&folder, "toml")? {
        writeln!(table, "    ({:?}, include_str!({toml:?})),", stem(&toml))?;
    }
    table.push_str("]\n");
    fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("disks.rs"), table)?;
    Ok(())
}

/// The files of that kind in a folder, by name.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
