//! Public files of SQL Server. They are not part of the repository: `VLFLAB_GENUINE_DIR` names a folder with data files and backups, in any
//! depth. Without it, tests that need them say so and pass.

use std::path::{Path, PathBuf};

/// Files below the folder whose names end in one of `extensions`, sorted.
pub fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("VLFLAB_GENUINE_DIR") else {
        println!("skipped: VLFLAB_GENUINE_DIR names no folder of public SQL Server files");
        return Vec::new();
    };
    let mut found = Vec::new();
    collect(Path::new(&folder), extensions, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, extensions, found);
            continue;
        }
        let extension = path.extension().map(|name| name.to_string_lossy().to_ascii_lowercase());
        if extension.is_some_and(|name| extensions.contains(&name.as_str())) {
            found.push(path);
        }
    }
}
