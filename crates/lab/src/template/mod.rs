//! What `vlflab run --template` writes: an experiment of the user's own, to be run as it is and then changed.
//!
//! ```text
//! NAME.toml         the experiment
//! NAME/create.sql   the scripts that its steps name
//! NAME/work.sql
//! ```
//! Invariant: nothing that is there is written over; when a file cannot be written, those written before it go again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Stands for the experiment's name in the texts.
const NAME: &str = "NAME";
const EXPERIMENT: &str = include_str!("experiment.toml");
const SCRIPTS: [(&str, &str); 2] = [
    ("create.sql", include_str!("create.sql")),
    ("work.sql", include_str!("work.sql")),
];

/// Why nothing was written.
#[derive(Debug)]
pub enum TemplateError {
    /// A name is one word of letters, digits, `-` and `_`.
    Name(String),
    /// The file is there, or cannot be written.
    File(PathBuf, io::Error),
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TemplateError::Name(name) => {
                write!(
                    f,
                    "'{name}' is not a name of an experiment: use letters, digits, - and _"
                )
            }
            TemplateError::File(path, error) if error.kind() == io::ErrorKind::AlreadyExists => {
                write!(f, "{} exists; it is not overwritten", path.display())
            }
            TemplateError::File(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for TemplateError {}

/// Writes an experiment named `name` into a folder; answers the paths, that of the experiment first.
///
/// # Errors
/// See [`TemplateError`].
pub fn write(folder: &Path, name: &str) -> Result<Vec<PathBuf>, TemplateError> {
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if !is_word(name) || name.starts_with('-') {
        return Err(TemplateError::Name(name.to_string()));
    }
    let scripts = folder.join(name);
    let mut files = vec![(folder.join(format!("{name}.toml")), EXPERIMENT.replace(NAME, name))];
    files.extend(SCRIPTS.map(|(file, text)| (scripts.join(file), text.to_string())));
    let mut written: Vec<PathBuf> = Vec::new();
    let made_folder = fs::create_dir(&scripts).is_ok();
    for (path, text) in &files {
        if let Err(error) = write_new(path, text) {
            for done in &written {
                // What cannot be undone is at least named: it lies beside the file of which the error speaks.
                let _ = fs::remove_file(done);
            }
            if made_folder {
                let _ = fs::remove_dir(&scripts);
            }
            return Err(TemplateError::File(path.clone(), error));
        }
        written.push(path.clone());
    }
    Ok(written)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::catalogue;

    #[test]
    fn the_template_is_an_experiment_and_writes_nothing_over() {
        let folder = std::env::temp_dir().join(format!("vlflab-template-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let paths = write(&folder, "mine").unwrap();
        assert_eq!(paths.len(), 3);
        let experiment = catalogue::load(paths[0].to_str().unwrap()).unwrap();
        assert_eq!((experiment.name.as_str(), experiment.configuration.len()), ("mine", 2));
        let again = write(&folder, "mine").unwrap_err().to_string();
        assert!(again.contains("mine.toml exists"), "{again}");
        fs::remove_file(&paths[0]).unwrap();
        assert!(write(&folder, "mine").is_err(), "a script is there");
        assert!(!paths[0].exists() && paths[1].exists() && paths[2].exists());
        for name in ["", "../x", "a b", "-x", "a/b"] {
            assert!(matches!(write(&folder, name), Err(TemplateError::Name(_))), "{name}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
