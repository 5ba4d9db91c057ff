//! Checks the instance folder before the instance starts, and keeps a failed start from changing it.
//!
//! | the folder | what happens |
//! |---|---|
//! | does not exist | it is created, readable only by its owner, and removed again if the start fails |
//! | is empty | the same, but the folder itself stays |
//! | holds `data/master.mdf` | it belongs to an instance, and is used |
//! | holds only files that an instance has next to its data, or that may be there before (`c`, `d` ... as drives, `lost+found`) | it is used |
//! | holds anything else | refused: an instance's files are not mixed with others |
//! | is not a folder, cannot be read | refused |
//! | is writable by every user | used, with a warning: another user could replace the password |

use crate::exit::Failure;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What an instance has in its folder, and what a program that starts one may put there first.
const OURS: [&str; 10] = [
    "data",
    "log",
    "sa.password",
    "sa.password.new",
    "server.certificate.pem",
    "server.certificate.pem.new",
    "server.key.pem",
    "server.key.pem.new",
    "server-stderr.txt",
    "lost+found",
];
/// Write permission for everybody.
const WORLD_WRITABLE: u32 = 0o002;

/// A folder in which a server is about to start. Dropped before [`Folder::keep`], what was made in a new one is gone.
pub struct Folder {
    path: PathBuf,
    /// The folders to be made, the deepest first; `None` for one that holds something already.
    is_new: Option<Vec<PathBuf>>,
}

impl Folder {
    /// Looks at a folder and changes nothing.
    ///
    /// # Errors
    /// It cannot be read, is not a folder, or holds files that are not an instance's.
    pub fn look(path: &Path) -> Result<Folder, Failure> {
        let path = std::path::absolute(path)?;
        let shown = path.display();
        let refused = |error: &std::io::Error| {
            let text = format!("the folder {shown} cannot be used: {error}; choose another one with --data");
            Failure::Failed(text)
        };
        let is_new = match fs::read_dir(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Some(missing(&path)),
            Err(error) => return Err(refused(&error)),
            Ok(entries) => {
                let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
                let names = names.collect::<Result<Vec<_>, _>>().map_err(|error| refused(&error))?;
                let is_instance = path.join("data/master.mdf").exists();
                if let Some(foreign) = names.iter().find(|name| !is_instance && !is_ours(name)) {
                    return Err(Failure::Failed(format!(
                        "the folder {shown} holds no instance, but other files ('{foreign}', for one); choose an empty or a \
                         new folder with --data"
                    )));
                }
                names.is_empty().then(Vec::new)
            }
        };
        Ok(Folder { path, is_new })
    }

    /// A folder of a disk in memory, of which nothing is to be made or removed here.
    pub fn in_memory(path: &Path) -> Folder {
        Folder {
            path: path.to_path_buf(),
            is_new: None,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What its owner should know.
    pub fn warning(&self) -> Option<String> {
        let mode = fs::metadata(&self.path).ok()?.permissions().mode();
        let shown = self.path.display();
        (mode & WORLD_WRITABLE != 0).then(|| {
            format!(
                "everybody on this machine may write to {shown} and so replace databases and the password of sa; \
                 chmod o-w '{shown}' ends that"
            )
        })
    }

    /// The server runs: what is in the folder stays.
    pub fn keep(mut self) {
        self.is_new = None;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let Some(made) = self.is_new.take() else { return };
        // What cannot be removed stays; the error that led here is what the user has to know.
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let path = entry.path();
            let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
        }
        for folder in made {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The folders on the way to `path` that are not there, the deepest first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let ancestors = path.ancestors().take_while(|folder| !folder.exists());
    ancestors.map(Path::to_path_buf).collect()
}

fn is_ours(name: &str) -> bool {
    let is_drive = name.len() == 1 && name.bytes().all(|letter| letter.is_ascii_lowercase());
    is_drive || name.starts_with('.') || OURS.contains(&name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A scratch folder that is removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("vlflab-folder-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_failed_start_leaves_no_new_folder_and_an_empty_one_empty() {
        let scratch = Scratch::new("new");
        let new = scratch.0.join("a/b");
        let folder = Folder::look(&new).unwrap();
        assert!(!new.exists(), "looking makes nothing");
        fs::create_dir_all(new.join("data")).unwrap();
        fs::write(new.join("data/master.mdf"), "x").unwrap();
        drop(folder);
        assert!(!scratch.0.join("a").exists());
        let folder = Folder::look(&scratch.0).unwrap();
        fs::write(scratch.0.join("sa.password"), "x").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
        let folder = Folder::look(&new).unwrap();
        fs::create_dir_all(new.join("data")).unwrap();
        folder.keep();
        assert!(new.exists());
    }

    #[test]
    fn what_may_be_in_the_folder_of_a_new_instance() {
        let scratch = Scratch::new("foreign");
        for (name, is_taken) in [
            ("c", true),
            ("lost+found", true),
            (".hidden", true),
            ("server-stderr.txt", true),
            ("letters", false),
            ("photo.jpg", false),
            ("C", false),
        ] {
            fs::create_dir(scratch.0.join(name)).unwrap();
            let looked = Folder::look(&scratch.0);
            assert_eq!(looked.is_ok(), is_taken, "{name}");
            if let Err(Failure::Failed(text)) = looked {
                assert!(text.contains(name) && text.contains("--data"), "{text}");
            }
            assert!(scratch.0.join(name).exists(), "{name} is gone");
            fs::remove_dir(scratch.0.join(name)).unwrap();
        }
        fs::create_dir(scratch.0.join("data")).unwrap();
        fs::write(scratch.0.join("data/master.mdf"), "x").unwrap();
        fs::write(scratch.0.join("notes.txt"), "x").unwrap();
        drop(Folder::look(&scratch.0).unwrap());
        assert!(scratch.0.join("notes.txt").exists() && scratch.0.join("data/master.mdf").exists());
        assert!(Folder::look(&scratch.0.join("notes.txt")).is_err(), "no folder");
    }

    #[test]
    fn a_folder_that_everybody_may_write_to_is_warned_about() {
        let scratch = Scratch::new("open");
        for (mode, is_warned) in [(0o700, false), (0o755, false), (0o777, true)] {
            fs::set_permissions(&scratch.0, fs::Permissions::from_mode(mode)).unwrap();
            let folder = Folder::look(&scratch.0).unwrap();
            assert_eq!(folder.warning().is_some(), is_warned, "{mode:o}");
            folder.keep();
        }
    }
}
