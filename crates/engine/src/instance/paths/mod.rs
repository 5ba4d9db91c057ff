//! Where a script's path lies on this machine, and the uses that a statement may make of it.
//!
//! Scripts written for Windows run unmodified: `c:\vlf.mdf` is `<data>/c/vlf.mdf`, `L:\SQLLogs\x.ldf` is `<data>/l/SQLLogs/x.ldf`,
//! `\\server\share\x.bak` is `<data>/unc/server/share/x.bak`. As on Windows, case does not matter: each part is matched against existing
//! names before it is used as written. A path that begins with `/` is a path of this machine, inside the instance folder or a folder of
//! `--allow-path`. Any other path is relative to `<data>/data`. `..`, control characters, and parts longer than a file name are refused
//! (5105).
//!
//! This module only translates paths. The disk ensures that no symbolic link leads elsewhere when it opens the file
//! ([`disk::ConfinedDisk`]). The table in [`admission`] decides which operations are allowed.

mod admission;

pub(super) use admission::{Admission, Claim, Claims, owner_of};
pub use admission::{
    CERTIFICATE_FILE, Holder, KEY_FILE, PASSWORD_FILE, Place, Presence, Purpose, Refusal, Verdict, decide,
};

use disk::Disk;
use std::path::{Component, Path, PathBuf};

/// The folder under the instance's for files named without a root.
pub const DEFAULT_FOLDER: &str = "data";
/// The longest name that file systems take, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Of a default file name, bytes that come from the database's name: room is left for what is put behind it.
const DEFAULT_NAME_BYTES_MAX: usize = 120;

/// A path of a script on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub path: PathBuf,
    /// Whether it may be there.
    pub place: Place,
}

/// What a path is to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A file, which lies below a drive, a share or a folder.
    File,
    /// A file or a folder: the root of a drive, the instance folder and a folder of `--allow-path` as well.
    FileOrFolder,
}

/// Resolves `name` as described above. `None` if no path of that kind can have the name.
pub fn resolve(disk: &dyn Disk, instance_folder: &Path, name: &str, named: Named) -> Option<Resolved> {
    let trimmed = name.trim();
    if trimmed.is_empty() || trimmed.chars().any(char::is_control) {
        return None;
    }
    if trimmed.starts_with('/') && !trimmed.starts_with("//") {
        return resolve_native(disk.folders(), instance_folder, Path::new(trimmed), named);
    }
    let (mut path, rest) = root_of(instance_folder, trimmed);
    for part in rest.split(['\\', '/']).filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." || part.contains(':') || part.len() > NAME_BYTES_MAX {
            return None;
        }
        path = child_ignoring_case(disk, &path, part);
    }
    let is_root = rest.split(['\\', '/']).all(|part| part.is_empty() || part == ".");
    let may_be = !is_root || named == Named::FileOrFolder;
    may_be.then_some(Resolved {
        path,
        place: Place::Instance,
    })
}

/// A path of this machine: taken as it is written.
fn resolve_native(folders: &[PathBuf], instance_folder: &Path, path: &Path, named: Named) -> Option<Resolved> {
    let is_name = |part: Component<'_>| match part {
        Component::RootDir => true,
        Component::Normal(name) => name.len() <= NAME_BYTES_MAX,
        _ => false,
    };
    if !path.components().all(is_name) || path.file_name().is_none() {
        return None;
    }
    let is_below = |folder: &Path| path.starts_with(folder) && (named == Named::FileOrFolder || path != folder);
    let place = match path {
        _ if is_below(instance_folder) => Place::Instance,
        _ if folders.iter().any(|folder| is_below(folder)) => Place::Allowed,
        _ => Place::Outside,
    };
    Some(Resolved {
        path: path.components().collect(),
        place,
    })
}

/// The default name of a database's file, without extension: the name with what no file name should have replaced. A name that
/// is changed gets its checksum, so that two names do not become one.
pub fn default_file_name(name: &str) -> String {
    let is_harmless = |character: char| !character.is_control() && !r#"/\:*?"<>|"#.contains(character);
    let mut safe = String::new();
    for character in name.trim().chars() {
        let character = if is_harmless(character) { character } else { '_' };
        if safe.len() + character.len_utf8() > DEFAULT_NAME_BYTES_MAX {
            break;
        }
        safe.push(character);
    }
    if safe.starts_with('.') {
        safe.replace_range(..1, "_");
    }
    if safe == name {
        return safe;
    }
    format!("{safe}_{:08x}", crc32c::crc32c(name.as_bytes()))
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

    fn path_of(disk: &SimDisk, name: &str) -> Option<PathBuf> {
        resolve(disk, Path::new("/instance"), name, Named::File).map(|resolved| resolved.path)
    }

    #[test]
    fn windows_paths_live_under_the_instance_folder() {
        let disk = SimDisk::new(1);
        for (name, expected) in [
            ("c:\\vlf.mdf", "/instance/c/vlf.mdf"),
            ("L:\\SQLLogs\\x.ldf", "/instance/l/SQLLogs/x.ldf"),
            ("C:/mixed\\y.bak", "/instance/c/mixed/y.bak"),
            ("\\\\host\\share\\z.bak", "/instance/unc/host/share/z.bak"),
            ("plain.bak", "/instance/data/plain.bak"),
            ("/var/own.bak", "/var/own.bak"),
            ("/instance/./c//own.bak", "/instance/c/own.bak"),
        ] {
            assert_eq!(path_of(&disk, name).unwrap(), Path::new(expected), "{name}");
        }
    }

    #[test]
    fn case_does_not_matter_where_a_file_exists() {
        let disk = SimDisk::new(1);
        disk.create_directories(Path::new("/instance/c/SQLData")).unwrap();
        disk.create(Path::new("/instance/c/SQLData/Credit.mdf"), disk::Access::Buffered)
            .unwrap();
        let path = path_of(&disk, "C:\\sqldata\\CREDIT.MDF").unwrap();
        assert_eq!(path, Path::new("/instance/c/SQLData/Credit.mdf"));
    }

    #[test]
    fn a_path_cannot_climb_out() {
        let disk = SimDisk::new(1);
        let too_long = format!("c:\\{}", "x".repeat(256));
        for name in [
            "c:\\..\\..\\etc\\passwd",
            "..\\x",
            "",
            "c:",
            "c:\\",
            "a\\b:stream",
            "x\0y",
            "x\ny",
            "/instance/../etc/passwd",
            "/",
            &too_long,
        ] {
            assert_eq!(path_of(&disk, name), None, "{name}");
        }
    }

    #[test]
    fn a_path_of_this_machine_is_inside_or_outside() {
        let disk = SimDisk::new(1);
        for (name, expected) in [
            ("/instance/c/x.bak", Place::Instance),
            ("/instance", Place::Outside),
            ("/instances/x.bak", Place::Outside),
            ("/etc/passwd", Place::Outside),
        ] {
            assert_eq!(
                resolve(&disk, Path::new("/instance"), name, Named::File).unwrap().place,
                expected,
                "{name}"
            );
        }
        let folders = [PathBuf::from("/instance"), PathBuf::from("/backups")];
        let place =
            |name: &str, named| resolve_native(&folders, &folders[0], Path::new(name), named).map(|found| found.place);
        assert_eq!(place("/backups/x.bak", Named::File), Some(Place::Allowed));
        assert_eq!(place("/backups", Named::File), Some(Place::Outside));
        assert_eq!(place("/backups", Named::FileOrFolder), Some(Place::Allowed));
        assert_eq!(place("/instance", Named::FileOrFolder), Some(Place::Instance));
        assert_eq!(place("/backupsx", Named::FileOrFolder), Some(Place::Outside));
        assert_eq!(place("/", Named::FileOrFolder), None);
    }

    #[test]
    fn the_root_of_a_drive_is_a_folder_and_no_file() {
        let disk = SimDisk::new(1);
        for name in ["c:", "C:\\", "c:/."] {
            assert_eq!(path_of(&disk, name), None, "{name}");
            let folder = resolve(&disk, Path::new("/instance"), name, Named::FileOrFolder).unwrap();
            assert_eq!(folder.path, Path::new("/instance/c"), "{name}");
        }
    }

    #[test]
    fn default_file_names_are_names_of_files_and_differ_where_the_databases_do() {
        assert_eq!(default_file_name("Credit 2008"), "Credit 2008");
        let long = "\u{20ac}".repeat(123);
        let names = [
            "../../evil",
            "..\\..\\evil",
            ".",
            "..",
            " a",
            "a",
            "a\0b",
            "a\nb",
            "c:a",
            ".lock",
            &long,
        ];
        let files: std::collections::BTreeSet<String> = names.iter().map(|name| default_file_name(name)).collect();
        assert_eq!(files.len(), names.len());
        for file in files {
            let parts: Vec<Component<'_>> = Path::new(&file).components().collect();
            assert_eq!(parts, [Component::Normal(file.as_ref())], "{file}");
            assert!(
                file.len() < 150 && !file.starts_with('.') && !file.contains(['\\', ':', '\0', '\n']),
                "{file}"
            );
        }
    }
}
