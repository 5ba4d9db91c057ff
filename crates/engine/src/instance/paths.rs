//! Where a path of a script lives on this machine.
//!
//! Scripts written for Windows run unmodified: `c:\vlf.mdf` is `<data>/c/vlf.mdf`, `L:\SQLLogs\x.ldf` is
//! `<data>/l/SQLLogs/x.ldf`, `\\server\share\x.bak` is `<data>/unc/server/share/x.bak`. As on Windows, case does not matter:
//! each part is matched against what exists before it is taken as written. A path that begins with `/` is this machine's
//! own. Anything else is relative to `<data>/data`.
//!
//! Invariant: no path of a script with a drive, a share or no root leaves the instance folder; `..` is refused.

use crate::error::{Error, Result};
use disk::Disk;
use std::path::{Path, PathBuf};

/// The folder under the instance's for files named without a root.
pub const DEFAULT_FOLDER: &str = "data";

/// Resolves `name` as described above. Errors: 5105 for a path that is empty or climbs.
pub fn resolve(disk: &dyn Disk, instance_folder: &Path, name: &str) -> Result<PathBuf> {
    let invalid = || Error::file_activation(name);
    let trimmed = name.trim();
    if trimmed.is_empty() || trimmed.contains('\0') {
        return Err(invalid());
    }
    if trimmed.starts_with('/') && !trimmed.starts_with("//") {
        return Ok(PathBuf::from(trimmed));
    }
    let (mut path, rest) = root_of(instance_folder, trimmed);
    for part in rest.split(['\\', '/']).filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." || part.contains(':') {
            return Err(invalid());
        }
        path = child_ignoring_case(disk, &path, part);
    }
    let names_a_file = rest.split(['\\', '/']).any(|part| !part.is_empty() && part != ".");
    if names_a_file { Ok(path) } else { Err(invalid()) }
}

fn root_of<'a>(instance_folder: &Path, name: &'a str) -> (PathBuf, &'a str) {
    let mut characters = name.chars();
    if let (Some(drive), Some(':')) = (characters.next(), characters.next())
        && drive.is_ascii_alphabetic()
    {
        return (
            instance_folder.join(drive.to_ascii_lowercase().to_string()),
            characters.as_str(),
        );
    }
    if name.starts_with("\\\\") || name.starts_with("//") {
        return (instance_folder.join("unc"), &name[2..]);
    }
    (instance_folder.join(DEFAULT_FOLDER), name)
}

fn child_ignoring_case(disk: &dyn Disk, parent: &Path, part: &str) -> PathBuf {
    let exact = parent.join(part);
    if matches!(disk.len(&exact), Ok(Some(_))) {
        return exact;
    }
    let folded = part.to_lowercase();
    let same_name = |entry: &PathBuf| {
        let name = entry.file_name().map(|name| name.to_string_lossy().to_lowercase());
        name.is_some_and(|name| name == folded)
    };
    let existing = disk.list(parent).unwrap_or_default().into_iter().find(same_name);
    existing.unwrap_or(exact)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use disk::sim::SimDisk;

    #[test]
    fn windows_paths_live_under_the_instance_folder() {
        let disk = SimDisk::new(1);
        let folder = Path::new("/instance");
        for (name, expected) in [
            ("c:\\vlf.mdf", "/instance/c/vlf.mdf"),
            ("L:\\SQLLogs\\x.ldf", "/instance/l/SQLLogs/x.ldf"),
            ("C:/mixed\\y.bak", "/instance/c/mixed/y.bak"),
            ("\\\\host\\share\\z.bak", "/instance/unc/host/share/z.bak"),
            ("plain.bak", "/instance/data/plain.bak"),
            ("/var/own.bak", "/var/own.bak"),
        ] {
            assert_eq!(resolve(&disk, folder, name).unwrap(), Path::new(expected), "{name}");
        }
    }

    #[test]
    fn case_does_not_matter_where_a_file_exists() {
        let disk = SimDisk::new(1);
        let folder = Path::new("/instance");
        disk.create_directories(Path::new("/instance/c/SQLData")).unwrap();
        disk.create(Path::new("/instance/c/SQLData/Credit.mdf"), disk::Access::Buffered)
            .unwrap();
        let path = resolve(&disk, folder, "C:\\sqldata\\CREDIT.MDF").unwrap();
        assert_eq!(path, Path::new("/instance/c/SQLData/Credit.mdf"));
    }

    #[test]
    fn a_path_cannot_climb_out() {
        let disk = SimDisk::new(1);
        for name in [
            "c:\\..\\..\\etc\\passwd",
            "..\\x",
            "",
            "c:",
            "c:\\",
            "a\\b:stream",
            "x\0y",
        ] {
            assert_eq!(
                resolve(&disk, Path::new("/instance"), name).unwrap_err().number,
                5105,
                "{name}"
            );
        }
    }
}
