//! `!!` and `:ed`: other programs.

use super::output::Sink;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs a command by the system's shell; what it prints goes where rows go.
///
/// # Errors
/// The shell cannot be started, or its output cannot be written.
pub(super) fn run(command: &str, rows_to: &mut Sink) -> io::Result<()> {
    rows_to.flush()?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    if matches!(rows_to, Sink::Stdout(_)) {
        return shell.status().map(|_| ());
    }
    let mut child = shell.stdout(Stdio::piped()).spawn()?;
    if let Some(mut printed) = child.stdout.take() {
        io::copy(&mut printed, rows_to)?;
    }
    child.wait()?;
    rows_to.flush()
}

/// Lets the user edit a text: by SQLCMDEDITOR, VISUAL, EDITOR or vi.
///
/// # Errors
/// The editor cannot be run, or ended with an error; the text cannot be written or read.
pub(super) fn edit(editor: &str, text: &str) -> io::Result<String> {
    let of_environment = || {
        let names = ["VISUAL", "EDITOR"].iter();
        let mut values = names.filter_map(|name| std::env::var(name).ok());
        values.find(|value| !value.is_empty())
    };
    let editor = match editor {
        "" => of_environment().unwrap_or_else(|| "vi".to_owned()),
        editor => editor.to_owned(),
    };
    let file = Scratch::new(text)?;
    let status = Command::new("/bin/sh")
        .arg("-c")
        // The editor may be a command with arguments; the file's name is one, whatever is in it.
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(&file.0)
        .status()?;
    match status.success() {
        true => fs::read_to_string(&file.0),
        false => Err(io::Error::other(format!("{editor} ended with {status}"))),
    }
}

/// A file for its owner alone, which goes when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(text: &str) -> io::Result<Scratch> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("vlflab-{}-{}.sql", std::process::id(), now.as_nanos());
        let path = std::env::temp_dir().join(name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let scratch = Scratch(path);
        file.write_all(text.as_bytes())?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in the folder for what can go.
        let _ = fs::remove_file(&self.0);
    }
}
