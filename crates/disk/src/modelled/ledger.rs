//! Where each file lies, kept across processes: an append-only list of lines.
//!
//! ```text
//! + FILESYSTEM INODE PLACE BYTES    the file got another extent behind those it has
//! = FILESYSTEM INODE BYTES          the file was cut to so many bytes
//! @                                 a process opened the disk
//! ```
//! The ledger is as durable as the bytes on the backing disk: it survives the end of the process, but not a crash of the machine. Invalid
//! lines are skipped, and their file is placed again.

use crate::{DiskError, File, FileIdentity};
use device::volume::{Extent, FileSpace};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What says that a process opened the disk.
const PROCESS: &str = "@";

pub(super) struct Ledger {
    file: Arc<dyn File>,
    len: u64,
}

/// What a ledger says when it is opened.
pub(super) struct Known {
    /// The extents of every file.
    pub(super) files: BTreeMap<FileIdentity, Vec<Extent>>,
    /// How many processes had the disk.
    pub(super) processes: u64,
}

impl Ledger {
    /// What the ledger says; from here on it says that one more process had the disk.
    pub(super) fn open(file: Arc<dyn File>) -> Result<(Ledger, Known), DiskError> {
        let len = file.len()?;
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        file.read_at(0, &mut bytes)?;
        let mut known = Known {
            files: BTreeMap::new(),
            processes: 0,
        };
        for line in String::from_utf8_lossy(&bytes).lines() {
            match line {
                PROCESS => known.processes += 1,
                // None: passed over.
                _ => drop(take(line, &mut known.files)),
            }
        }
        let mut ledger = Ledger { file, len };
        ledger.append(&format!("{PROCESS}\n"))?;
        Ok((ledger, known))
    }

    fn append(&mut self, text: &str) -> Result<(), DiskError> {
        self.file.write_at(self.len, text.as_bytes())?;
        self.len += text.len() as u64;
        Ok(())
    }

    /// Notes how a file's extents differ from what they were.
    pub(super) fn note(
        &mut self,
        identity: FileIdentity,
        before: &[Extent],
        space: &FileSpace,
    ) -> Result<(), DiskError> {
        let after = space.extents();
        let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
        let (kept, total) = (bytes_of(before.get(..same)), bytes_of(Some(before)));
        let FileIdentity { device, inode } = identity;
        let mut text = String::new();
        if kept < total {
            text.push_str(&format!("= {device} {inode} {kept}\n"));
        }
        for extent in after.get(same..).unwrap_or_default() {
            text.push_str(&format!("+ {device} {inode} {} {}\n", extent.place, extent.bytes));
        }
        match text.is_empty() {
            true => Ok(()),
            false => self.append(&text),
        }
    }
}

fn bytes_of(extents: Option<&[Extent]>) -> u64 {
    extents.unwrap_or_default().iter().map(|extent| extent.bytes).sum()
}

fn take(line: &str, files: &mut BTreeMap<FileIdentity, Vec<Extent>>) -> Option<()> {
    let mut words = line.split(' ');
    let kind = words.next()?;
    let mut number = || words.next()?.parse::<u64>().ok();
    let identity = FileIdentity {
        device: number()?,
        inode: number()?,
    };
    let extents = files.entry(identity).or_default();
    match kind {
        "+" => extents.push(Extent {
            place: number()?,
            bytes: number()?,
        }),
        "=" => {
            let mut keep = number()?;
            extents.retain_mut(|extent| {
                extent.bytes = extent.bytes.min(keep);
                keep -= extent.bytes;
                extent.bytes > 0
            });
        }
        _ => {}
    }
    Some(())
}
