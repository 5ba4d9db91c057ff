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

/// Data files that have their log beside them, with it: by the names that SQL Server and its users give it.
pub fn data_files_with_logs() -> Vec<(PathBuf, PathBuf)> {
    let log_of = |path: &Path| {
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        ["_log.ldf", "_log.LDF", "_Log.ldf", ".ldf", ".LDF"]
            .iter()
            .map(|end| path.with_file_name(format!("{stem}{end}")))
            .find(|log| log.exists())
    };
    let data = files(&["mdf"]).into_iter();
    data.filter_map(|path| log_of(&path).map(|log| (path, log))).collect()
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
