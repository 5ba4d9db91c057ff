//! Batches of earlier sessions: a file in the user's state folder, readable only by the user.
//!
//! A line is a batch; `\n` and `\\` stand for its line breaks and backslashes. Each batch is appended when it runs, so concurrent sessions
//! do not disturb each other, and a killed one loses nothing. Batches that may contain a password are not kept.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Batches kept of earlier sessions.
pub(super) const BATCHES_MAX: usize = 1_000;
/// No one types a longer batch.
const BATCH_BYTES_MAX: usize = 64 << 10;
/// A larger file is read from its last so many bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;
const FILE_NAME: &str = "sql-history";

/// Words of statements and commands with passwords and keys in them. A batch with one of them is not kept, even if it is about
/// something else: SQL Server hides such texts in its traces by the same rule.
const SECRET_WORDS: [&str; 9] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "sp_addlogin",
    "sp_adduser",
    "identified by",
    "sp_setapprole",
];

pub(super) struct History {
    /// None if there is no folder for it.
    path: Option<PathBuf>,
}

impl History {
    /// The user's: `$XDG_STATE_HOME/vlflab`, or `~/.local/state/vlflab` (XDG Base Directory Specification).
    pub(super) fn of_user() -> History {
        let folder = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")));
        History {
            path: state.map(|state| state.join("vlflab").join(FILE_NAME)),
        }
    }

    /// The batches, the oldest first. Where they cannot be read there are none.
    pub(super) fn read(&self) -> Vec<String> {
        let Some(path) = &self.path else {
            return Vec::new();
        };
        let mut batches = read(path).unwrap_or_default();
        let surplus = batches.len().saturating_sub(BATCHES_MAX);
        if surplus > BATCHES_MAX {
            // Only now and then, and if it fails the file is merely longer.
            let _ = write_anew(path, batches.get(surplus..).unwrap_or_default());
        }
        batches.drain(..surplus);
        batches
    }

    /// Keeps a batch, unless it may hold a password. One that cannot be kept is not worth an error after it was run.
    pub(super) fn keep(&self, batch: &str) {
        if let Some(path) = self.path.as_ref().filter(|_| may_be_kept(batch)) {
            let _ = append(path, batch);
        }
    }
}

/// Whether a batch has nothing secret in it.
pub(super) fn may_be_kept(batch: &str) -> bool {
    let lower = batch.to_ascii_lowercase();
    let has_secret = SECRET_WORDS.iter().any(|word| lower.contains(word));
    let has_letter = lower
        .lines()
        .any(|line| line.trim_start().starts_with(":connect") && line.contains("-p"));
    !batch.trim().is_empty() && batch.len() <= BATCH_BYTES_MAX && !has_secret && !has_letter
}

fn read(path: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    if bytes > FILE_BYTES_MAX {
        io::Seek::seek(&mut file, io::SeekFrom::Start(bytes - FILE_BYTES_MAX))?;
    }
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter(|line| !line.is_empty()).map(read_line).collect())
}

fn append(path: &Path, batch: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let mut file = options.open(path)?;
    // One that others may read was not made by this program.
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    file.write_all(written_line(batch).as_bytes())
}

fn write_anew(path: &Path, batches: &[String]) -> io::Result<()> {
    let fresh = path.with_extension(format!("{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)?;
    let text: String = batches.iter().map(|batch| written_line(batch)).collect();
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&fresh, path));
    written.inspect_err(|_| {
        // The old one stays; the new one is of no use.
        let _ = fs::remove_file(&fresh);
    })
}

fn written_line(batch: &str) -> String {
    batch.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "") + "\n"
}

fn read_line(line: &str) -> String {
    let mut batch = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => batch.push('\n'),
                Some(other) => batch.push(other),
                None => batch.push('\\'),
            },
            letter => batch.push(letter),
        }
    }
    batch
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn history(name: &str) -> (History, Folder) {
        let folder = std::env::temp_dir().join(format!("vlflab-history-{name}-{}", std::process::id()));
        let path = Some(folder.join("state").join(FILE_NAME));
        (History { path }, Folder(folder))
    }

    #[test]
    fn batches_come_back_with_their_lines() {
        let (history, folder) = history("lines");
        assert!(history.read().is_empty());
        let batches = ["select 'a\\n'\nfrom t\nGO", "select 2\nGO", "-- é\\"];
        batches.iter().for_each(|batch| history.keep(batch));
        assert_eq!(history.read(), batches);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = history.path.clone().unwrap();
        assert_eq!((mode(&path), mode(&folder.0.join("state"))), (0o600, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        history.keep("select 3");
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn passwords_are_not_kept() {
        let (history, _folder) = history("passwords");
        for secret in [
            "create login x with password = 'Secret 1'\nGO",
            "ALTER LOGIN sa WITH PASSWORD = N'x'",
            "exec sp_addlogin 'x', 'y'",
            "backup certificate c to file = 'f' with private key (encryption by Password = 'x')",
            "create credential c with identity = 'i', SECRET = 's'",
            ":connect db1 -U sa -P hush",
            ":connect db1 -Phush",
            ":setvar pwd hush",
            "",
        ] {
            history.keep(secret);
        }
        assert!(history.read().is_empty());
        history.keep(":connect db1 -U sa");
        assert_eq!(history.read().len(), 1);
    }

    #[test]
    fn a_long_history_is_shortened() {
        let (history, _folder) = history("long");
        let path = history.path.clone().unwrap();
        history.keep("first");
        let batches: Vec<String> = (0..BATCHES_MAX * 2 + 1)
            .map(|number| format!("select {number}"))
            .collect();
        write_anew(&path, &batches).unwrap();
        let kept = history.read();
        assert_eq!(
            (kept.len(), kept.first().unwrap().as_str()),
            (BATCHES_MAX, "select 1001")
        );
        assert_eq!(read(&path).unwrap(), kept);
    }
}
