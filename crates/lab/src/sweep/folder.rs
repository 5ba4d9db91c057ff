//! The folder of a sweep's results, and the folder of the databases while a configuration runs.
//!
//! ```text
//! OUT/sweep-DIGEST.json     what was planned: the same from every shard
//! OUT/NAME.jsonl            the results of a configuration; NAME-MACHINE.jsonl where it is measured
//! OUT/.NAME.RANDOM.new      one that was being written when its shard was killed: nothing reads it
//! DATA/vlflab-sweep-RANDOM--- ...   the databases of the configuration that runs
//! ```
//! Invariant: a file is written under another name, synced, renamed, and its folder synced. So it is complete whenever it is visible, also
//! to another machine over a network, and after a power cut.
//!
//! Invariant: the path of the databases has [`WORK_PATH_LENGTH`] characters on every machine. The catalog stores paths as text; a longer
//! text would write more log and so take another time on a modelled disk.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Characters of the path of a folder of databases.
pub const WORK_PATH_LENGTH: usize = 160;
const WORK_PREFIX: &str = "vlflab-sweep-";
const LOCK_FILE: &str = "lock";
/// Digits of what tells two processes apart.
const RANDOM_DIGITS: usize = 12;

/// Writes a file that is whole as soon as it is there, and stays. One of the same name is replaced: it says the same.
///
/// # Errors
/// The folder cannot be written.
pub fn write_whole(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let beside = folder.join(format!(".{name}.{}.new", random_digits()?));
    let outcome = (|| {
        let mut file = File::create_new(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, folder.join(name))?;
        File::open(folder)?.sync_all()
    })();
    if outcome.is_err() {
        // The first error tells more than one about what it left.
        let _ = fs::remove_file(&beside);
    }
    outcome
}

/// The longest file of results that is read: a thousand times what a run of many figures writes.
pub const RESULTS_BYTES_MAX: u64 = 64 << 20;

/// Reads a file of text, if it is no longer than that.
///
/// # Errors
/// It cannot be read; [`io::ErrorKind::InvalidData`] where it is too long or not text.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if bytes.len() as u64 > bytes_max {
        return Err(invalid(format!(
            "it is longer than {} MB, which none is",
            bytes_max >> 20
        )));
    }
    String::from_utf8(bytes).map_err(|_| invalid("it is not text".to_owned()))
}

fn random_digits() -> io::Result<String> {
    let mut bytes = [0; RANDOM_DIGITS / 2];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A folder for databases; removed when dropped.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    /// Held while the folder is in use, so that it is told from one that a killed process left.
    _lock: File,
}

impl WorkFolder {
    /// Makes one below `parent`.
    ///
    /// # Errors
    /// It cannot be made there, or the path of `parent` is too long.
    pub fn make(parent: &Path) -> io::Result<WorkFolder> {
        fs::create_dir_all(parent)?;
        let parent = parent.canonicalize()?;
        let before = parent.to_string_lossy().chars().count() + 1;
        loop {
            let name = format!("{WORK_PREFIX}{}", random_digits()?);
            let room = WORK_PATH_LENGTH.checked_sub(before).filter(|room| *room >= name.len());
            let room = room.ok_or_else(|| {
                let text = format!(
                    "the path has {before} characters, and at most {} can be used for databases: name another folder by --data",
                    WORK_PATH_LENGTH - name.len()
                );
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })?;
            let path = parent.join(format!("{name:-<room$}"));
            fs::create_dir(&path)?;
            if let Some(lock) = lock_in(&path)? {
                return Ok(WorkFolder { path, _lock: lock });
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The lock of a new folder; none if another process took it, in the moment before it was locked, for one that was left behind, and removes it.
fn lock_in(path: &Path) -> io::Result<Option<File>> {
    let lock_path = path.join(LOCK_FILE);
    let lock = match File::create_new(&lock_path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {
            return Ok(None);
        }
        lock => lock?,
    };
    lock.lock()?;
    Ok(lock_path.exists().then_some(lock))
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // What cannot be removed is removed by the next sweep that begins there.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed processes left below `parent`.
///
/// # Errors
/// The folder cannot be read.
pub fn remove_left_behind(parent: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if !is_work_name(&entry.file_name().to_string_lossy()) || !entry.file_type()?.is_dir() {
            continue;
        }
        // One without its lock belongs to a process that was killed while it made or removed it, or is just about to lock or remove it: who
        // makes the lock first has it.
        let options = &mut File::options();
        let Ok(lock) = options
            .write(true)
            .create(true)
            .truncate(false)
            .open(entry.path().join(LOCK_FILE))
        else {
            continue;
        };
        match lock.try_lock() {
            // Another may remove it too, at the same time.
            Ok(()) => remove_while_written(&entry.path()),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
    Ok(())
}

/// Whether a folder is called as [`WorkFolder::make`] calls one. A folder of the user's that only begins so is none.
fn is_work_name(name: &str) -> bool {
    let rest = name.strip_prefix(WORK_PREFIX);
    let Some((digits, fill)) = rest.and_then(|rest| rest.split_at_checked(RANDOM_DIGITS)) else {
        return false;
    };
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.bytes().all(is_digit) && fill.bytes().all(|byte| byte == b'-')
}

/// Removes a folder in which the server of a killed process may still write: it ends as soon as it sees that.
fn remove_while_written(folder: &Path) {
    const TRIES_MAX: usize = 100;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 0..TRIES_MAX {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vlflab-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn folders_for_databases_have_paths_of_one_length_wherever_they_are() {
        let scratch = scratch("sweep-length");
        let deep = scratch.join("a").join("b-longer");
        let (one, other) = (WorkFolder::make(&scratch).unwrap(), WorkFolder::make(&deep).unwrap());
        let length = |folder: &WorkFolder| folder.path().to_str().unwrap().len();
        assert_eq!((length(&one), length(&other)), (WORK_PATH_LENGTH, WORK_PATH_LENGTH));
        let told = WorkFolder::make(&scratch.join("x".repeat(140)))
            .unwrap_err()
            .to_string();
        assert!(told.contains("--data"), "{told}");
        drop((one, other));
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 0);
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_goes_and_what_is_in_use_stays() {
        let scratch = scratch("sweep-left");
        let in_use = WorkFolder::make(&scratch).unwrap();
        let left = scratch.join("vlflab-sweep-0123456789ab---");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK_FILE), "").unwrap();
        // Killed before it had its lock, or when that was removed and other files were not.
        let unlocked = scratch.join("vlflab-sweep-ba9876543210");
        fs::create_dir(&unlocked).unwrap();
        fs::write(unlocked.join("master.mdf"), "").unwrap();
        fs::write(scratch.join("vlflab-sweep-file"), "a file of the user's").unwrap();
        let other = scratch.join("vlflab-sweep-0123456789ab-kept");
        fs::create_dir(&other).unwrap();
        remove_left_behind(&scratch).unwrap();
        assert!(
            !left.exists()
                && !unlocked.exists()
                && other.exists()
                && in_use.path().exists()
                && scratch.join("vlflab-sweep-file").exists()
        );
        remove_left_behind(&scratch.join("nowhere")).unwrap();
        drop(in_use);
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn only_text_that_is_not_too_long_is_read() {
        let scratch = scratch("sweep-read");
        let path = scratch.join("a.jsonl");
        fs::write(&path, [b'x'; 8]).unwrap();
        assert_eq!(read_text(&path, 8).unwrap(), "xxxxxxxx");
        assert_eq!(read_text(&path, 7).unwrap_err().kind(), io::ErrorKind::InvalidData);
        fs::write(&path, [0xFF]).unwrap();
        assert_eq!(read_text(&path, 8).unwrap_err().kind(), io::ErrorKind::InvalidData);
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn a_file_is_written_whole_and_over_the_same() {
        let scratch = scratch("sweep-whole");
        for _ in 0..2 {
            write_whole(&scratch, "a.jsonl", "text\n").unwrap();
        }
        let names: Vec<_> = fs::read_dir(&scratch)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["a.jsonl"]);
        assert!(write_whole(&scratch.join("nowhere"), "a.jsonl", "text\n").is_err());
        fs::remove_dir_all(&scratch).unwrap();
    }
}
