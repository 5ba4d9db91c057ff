//! A disk with a file system on it that can lose power: files, names, and what of both is durable.
//!
//! ```text
//!   write                      volatile, unless the descriptor has O_DSYNC or O_SYNC
//!   truncate, fallocate        volatile
//!   fsync, fdatasync           make the file's bytes and length durable
//!   create, rename, unlink,    volatile until fsync of the directory; what else makes them durable, and what is left
//!   mkdir, rmdir               of them otherwise, is the business of `names`
//!   power cut                  keeps what is durable; of the rest what `fate` draws
//! ```
//!
//! Every change of the volume is numbered from 1 in the order it comes; a power cut or a kill is aimed at such a number.
//! With `syncs_do_nothing` the volume lies as a broken disk does: every sync and durable write is answered and nothing is
//! durable. A harness that finds no loss then would find none ever.

mod content;
pub mod fate;
mod file;
pub mod names;

use crate::fuse::wire::{Attributes, MODE_DIRECTORY, MODE_FILE};
use fate::Draws;
use file::StoredFile;
use names::{InodeNumber, NameModel, Names};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The inode of the root directory, by the protocol.
pub const ROOT: InodeNumber = 1;
/// How many of the last changes are printed when something went wrong.
const TRACE_MAX: usize = 400;

#[derive(Debug, Clone)]
enum Content {
    Directory,
    File(StoredFile),
}

#[derive(Debug, Clone)]
struct Inode {
    content: Content,
    permissions: u32,
    open_count: u64,
    /// The last name it had, for the trace.
    label: String,
}

/// How durable a change is allowed to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// As the caller asked.
    AsAsked,
    /// Not at all: the change is on its way when the power goes.
    InFlight,
}

/// The disk. A clone is a snapshot that shares the bytes.
#[derive(Debug, Clone)]
pub struct Volume {
    inodes: BTreeMap<InodeNumber, Inode>,
    names: Names,
    next_inode: InodeNumber,
    changes: u64,
    syncs_do_nothing: bool,
    trace: VecDeque<String>,
}

impl Volume {
    pub fn new(model: NameModel) -> Volume {
        let root = Inode {
            content: Content::Directory,
            permissions: 0o755,
            open_count: 0,
            label: String::new(),
        };
        Volume {
            inodes: BTreeMap::from([(ROOT, root)]),
            names: Names::new(model),
            next_inode: ROOT + 1,
            changes: 0,
            syncs_do_nothing: false,
            trace: VecDeque::new(),
        }
    }

    /// Whether every sync is a lie from here on.
    pub fn set_syncs_do_nothing(&mut self, lie: bool) {
        self.syncs_do_nothing = lie;
    }

    /// Number of the last change.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The last changes, oldest first.
    pub fn trace(&self) -> impl Iterator<Item = &str> {
        self.trace.iter().map(String::as_str)
    }

    fn begin_change(&mut self, what: impl FnOnce(&Volume) -> String) -> u64 {
        self.changes += 1;
        let line = format!("{} {}", self.changes, what(self));
        if self.trace.len() == TRACE_MAX {
            self.trace.pop_front();
        }
        self.trace.push_back(line);
        self.changes
    }

    fn inode(&self, node: InodeNumber) -> Result<&Inode, Errno> {
        self.inodes.get(&node).ok_or(Errno::NOENT)
    }

    fn file(&self, node: InodeNumber) -> Result<&StoredFile, Errno> {
        match &self.inode(node)?.content {
            Content::File(file) => Ok(file),
            Content::Directory => Err(Errno::ISDIR),
        }
    }

    fn file_mut(&mut self, node: InodeNumber) -> Result<&mut StoredFile, Errno> {
        match &mut self.inodes.get_mut(&node).ok_or(Errno::NOENT)?.content {
            Content::File(file) => Ok(file),
            Content::Directory => Err(Errno::ISDIR),
        }
    }

    fn label(&self, node: InodeNumber) -> &str {
        self.inodes.get(&node).map_or("?", |inode| inode.label.as_str())
    }

    fn label_below(&self, directory: InodeNumber, name: &str) -> String {
        format!("{}/{name}", self.label(directory))
    }

    /// The inode of a name.
    pub fn lookup(&self, directory: InodeNumber, name: &str) -> Result<Attributes, Errno> {
        let node = self.names.get(directory, name).ok_or(Errno::NOENT)?;
        self.attributes(node)
    }

    /// What `stat` tells.
    pub fn attributes(&self, node: InodeNumber) -> Result<Attributes, Errno> {
        let inode = self.inode(node)?;
        let (kind, size) = match &inode.content {
            Content::Directory => (MODE_DIRECTORY, 4096),
            Content::File(file) => (MODE_FILE, file.current().length()),
        };
        Ok(Attributes {
            inode: node,
            size,
            mode: kind | inode.permissions,
        })
    }

    /// Changes permissions. They are not subject to power cuts.
    pub fn set_permissions(&mut self, node: InodeNumber, mode: u32) -> Result<(), Errno> {
        self.inodes.get_mut(&node).ok_or(Errno::NOENT)?.permissions = mode & 0o7777;
        Ok(())
    }

    /// Bytes of a file.
    pub fn read(&self, node: InodeNumber, offset: u64, count: u32) -> Result<Vec<u8>, Errno> {
        Ok(self.file(node)?.current().read(offset, u64::from(count)))
    }

    /// Writes bytes of a file; `durable` as asked by O_DSYNC.
    pub fn write(
        &mut self,
        node: InodeNumber,
        offset: u64,
        bytes: &[u8],
        durable: bool,
        durability: Durability,
    ) -> Result<(), Errno> {
        self.file(node)?;
        let how = if durable { "write durable" } else { "write" };
        let number = self.begin_change(|volume| format!("{how} {} {offset} +{}", volume.label(node), bytes.len()));
        let durable = durable && durability == Durability::AsAsked && !self.syncs_do_nothing;
        self.file_mut(node)?.write(offset, bytes, number, durable);
        Ok(())
    }

    /// Cuts or grows a file.
    pub fn set_length(&mut self, node: InodeNumber, length: u64) -> Result<(), Errno> {
        self.file(node)?;
        let number = self.begin_change(|volume| format!("set length {} {length}", volume.label(node)));
        self.file_mut(node)?.set_length(length, number);
        Ok(())
    }

    /// `fallocate` without flags; with any flag it is not supported.
    pub fn allocate(&mut self, node: InodeNumber, offset: u64, length: u64, mode: u32) -> Result<(), Errno> {
        if mode != 0 {
            return Err(Errno::OPNOTSUPP);
        }
        self.file(node)?;
        let end = offset.saturating_add(length);
        let number = self.begin_change(|volume| format!("allocate {} to {end}", volume.label(node)));
        self.file_mut(node)?.extend_to(end, number);
        Ok(())
    }

    /// fsync and fdatasync of a file.
    pub fn sync(&mut self, node: InodeNumber, durability: Durability) -> Result<(), Errno> {
        self.file(node)?;
        self.begin_change(|volume| format!("sync {}", volume.label(node)));
        if durability == Durability::AsAsked && !self.syncs_do_nothing {
            self.file_mut(node)?.sync();
            self.names.sync_file(node);
        }
        Ok(())
    }

    /// fsync of a directory.
    pub fn sync_directory(&mut self, node: InodeNumber, durability: Durability) -> Result<(), Errno> {
        self.inode(node)?;
        self.begin_change(|volume| format!("sync directory {}/", volume.label(node)));
        if durability == Durability::AsAsked && !self.syncs_do_nothing {
            self.names.sync_directory(node);
            self.forget_unreachable();
        }
        Ok(())
    }

    fn make(&mut self, directory: InodeNumber, name: &str, mode: u32, content: Content) -> Result<Attributes, Errno> {
        self.inode(directory)?;
        if self.names.get(directory, name).is_some() {
            return Err(Errno::EXIST);
        }
        let label = self.label_below(directory, name);
        let number = self.begin_change(|_| format!("create {label}"));
        let node = self.next_inode;
        self.next_inode += 1;
        let inode = Inode {
            content,
            permissions: mode & 0o7777,
            open_count: 0,
            label,
        };
        self.inodes.insert(node, inode);
        self.names.set((directory, name.to_string()), node, number);
        self.attributes(node)
    }

    /// Makes and opens a file, or opens the one of that name.
    pub fn create(&mut self, directory: InodeNumber, name: &str, mode: u32) -> Result<Attributes, Errno> {
        let attributes = match self.lookup(directory, name) {
            Ok(attributes) => attributes,
            Err(_) => self.make(directory, name, mode, Content::File(StoredFile::default()))?,
        };
        self.open(attributes.inode)?;
        Ok(attributes)
    }

    pub fn make_directory(&mut self, directory: InodeNumber, name: &str, mode: u32) -> Result<Attributes, Errno> {
        self.make(directory, name, mode, Content::Directory)
    }

    /// Removes a file's name; its bytes stay as long as it is open.
    pub fn unlink(&mut self, directory: InodeNumber, name: &str) -> Result<(), Errno> {
        let node = self.names.get(directory, name).ok_or(Errno::NOENT)?;
        self.file(node)?;
        let number = self.begin_change(|volume| format!("unlink {}", volume.label_below(directory, name)));
        self.names.remove((directory, name.to_string()), number);
        Ok(())
    }

    /// Removes an empty directory.
    pub fn remove_directory(&mut self, directory: InodeNumber, name: &str) -> Result<(), Errno> {
        let node = self.names.get(directory, name).ok_or(Errno::NOENT)?;
        if self.file(node).is_ok() {
            return Err(Errno::NOTDIR);
        }
        if self.names.list(node).next().is_some() {
            return Err(Errno::NOTEMPTY);
        }
        let number = self.begin_change(|volume| format!("rmdir {}", volume.label_below(directory, name)));
        self.names.remove((directory, name.to_string()), number);
        Ok(())
    }

    /// Moves a name, over another unless `no_replace`.
    pub fn rename(
        &mut self,
        from: (InodeNumber, &str),
        to: (InodeNumber, &str),
        no_replace: bool,
    ) -> Result<(), Errno> {
        let node = self.names.get(from.0, from.1).ok_or(Errno::NOENT)?;
        if no_replace && self.names.get(to.0, to.1).is_some() {
            return Err(Errno::EXIST);
        }
        let label = self.label_below(to.0, to.1);
        let number = self.begin_change(|volume| format!("rename {} to {label}", volume.label(node)));
        self.names
            .rename((from.0, from.1.to_string()), (to.0, to.1.to_string()), node, number);
        if let Some(inode) = self.inodes.get_mut(&node) {
            inode.label = label;
        }
        Ok(())
    }

    /// Counts a descriptor.
    pub fn open(&mut self, node: InodeNumber) -> Result<(), Errno> {
        self.inodes.get_mut(&node).ok_or(Errno::NOENT)?.open_count += 1;
        Ok(())
    }

    /// A descriptor is gone.
    pub fn release(&mut self, node: InodeNumber) {
        if let Some(inode) = self.inodes.get_mut(&node) {
            inode.open_count = inode.open_count.saturating_sub(1);
        }
    }

    /// The names in a directory in order.
    pub fn list(&self, directory: InodeNumber) -> Vec<(String, Attributes)> {
        let names = self.names.list(directory);
        names
            .filter_map(|(name, node)| Some((name.to_string(), self.attributes(node).ok()?)))
            .collect()
    }

    /// Every file with its length in bytes, by its path.
    pub fn files(&self) -> BTreeMap<PathBuf, u64> {
        let mut files = BTreeMap::new();
        self.walk(ROOT, Path::new(""), &mut |path, file| {
            files.insert(path.to_path_buf(), file.current().length());
        });
        files
    }

    fn walk(&self, directory: InodeNumber, path: &Path, visit: &mut dyn FnMut(&Path, &StoredFile)) {
        for (name, attributes) in self.list(directory) {
            let path = path.join(name);
            match self.file(attributes.inode) {
                Ok(file) => visit(&path, file),
                Err(_) => self.walk(attributes.inode, &path, visit),
            }
        }
    }

    /// The bytes of the file at `path`, if there is one.
    pub fn bytes_of(&self, path: &Path) -> Option<Vec<u8>> {
        let mut bytes = None;
        self.walk(ROOT, Path::new(""), &mut |found, file| {
            if found == path {
                bytes = Some(file.current().read(0, u64::MAX));
            }
        });
        bytes
    }

    /// Copies all files to a folder of the machine, as evidence; what was never written stays a hole.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, folder: &Path) -> std::io::Result<()> {
        let mut outcome = Ok(());
        self.walk(ROOT, Path::new(""), &mut |path, file| {
            let target = folder.join(path);
            let save = || {
                std::fs::create_dir_all(target.parent().unwrap_or(folder))?;
                let copy = File::create(&target)?;
                for (offset, bytes) in file.current().written_parts() {
                    copy.write_all_at(bytes, offset)?;
                }
                copy.set_len(file.current().length())
            };
            if outcome.is_ok() {
                outcome = save();
            }
        });
        outcome
    }

    /// The volume with what is durable alone, every unsynced change lost.
    pub fn durable_alone(&self) -> Volume {
        self.after_power_cut(&mut Draws::all_lost(), NameModel::Journal)
    }

    /// Numbers of the first change that is not durable and of the last change.
    pub fn unsynced_changes(&self) -> (u64, u64) {
        let files = self.inodes.values().filter_map(|inode| match &inode.content {
            Content::File(file) => file.first_pending(),
            Content::Directory => None,
        });
        let first = files.chain(self.names.first_pending()).min();
        (first.unwrap_or(self.changes), self.changes)
    }

    /// The volume found when the power is back, by `model` from then on.
    pub fn after_power_cut(&self, draws: &mut Draws, model: NameModel) -> Volume {
        let after = |inode: &Inode, draws: &mut Draws| Inode {
            content: match &inode.content {
                Content::Directory => Content::Directory,
                Content::File(file) => Content::File(file.after_power_cut(draws)),
            },
            open_count: 0,
            ..inode.clone()
        };
        let mut volume = Volume {
            names: self.names.after_power_cut(draws, model),
            inodes: self
                .inodes
                .iter()
                .map(|(node, inode)| (*node, after(inode, draws)))
                .collect(),
            ..self.clone()
        };
        volume.forget_unreachable();
        volume
    }

    /// The volume found after a process was killed: everything is there, and what was not durable is not durable still.
    pub fn after_kill(mut self) -> Volume {
        for inode in self.inodes.values_mut() {
            inode.open_count = 0;
        }
        self.forget_unreachable();
        self
    }

    /// Makes everything durable.
    pub fn settle(&mut self) {
        for inode in self.inodes.values_mut() {
            if let Content::File(file) = &mut inode.content {
                file.sync();
            }
        }
        self.names.settle();
        self.forget_unreachable();
    }

    fn forget_unreachable(&mut self) {
        let mut kept: BTreeSet<InodeNumber> = self.names.reachable();
        kept.insert(ROOT);
        self.inodes
            .retain(|node, inode| inode.open_count > 0 || kept.contains(node));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn written(volume: &mut Volume, name: &str, durable: bool) -> InodeNumber {
        let node = volume.create(ROOT, name, 0o640).unwrap().inode;
        volume.write(node, 0, b"bytes", durable, Durability::AsAsked).unwrap();
        node
    }

    #[test]
    fn a_file_survives_with_its_bytes_only_if_both_were_synced() {
        for model in [NameModel::Journal, NameModel::Weakest] {
            let mut volume = Volume::new(model);
            written(&mut volume, "unsynced name", true);
            volume.sync_directory(ROOT, Durability::InFlight).unwrap();
            assert!(volume.durable_alone().files().is_empty());
            written(&mut volume, "unsynced bytes", false);
            volume.sync_directory(ROOT, Durability::AsAsked).unwrap();
            let files = volume.durable_alone().files();
            assert_eq!(files[Path::new("unsynced name")], 5);
            assert_eq!(files[Path::new("unsynced bytes")], 0);
        }
    }

    #[test]
    fn a_lying_volume_keeps_nothing() {
        let mut volume = Volume::new(NameModel::Journal);
        volume.set_syncs_do_nothing(true);
        let node = written(&mut volume, "file", true);
        volume.sync(node, Durability::AsAsked).unwrap();
        volume.sync_directory(ROOT, Durability::AsAsked).unwrap();
        assert!(volume.durable_alone().files().is_empty());
        assert_eq!(volume.files().len(), 1);
    }

    #[test]
    fn a_kill_loses_nothing_but_what_had_no_name() {
        let mut volume = Volume::new(NameModel::Weakest);
        written(&mut volume, "file", false);
        written(&mut volume, "gone", false);
        volume.unlink(ROOT, "gone").unwrap();
        let volume = volume.after_kill();
        assert_eq!(volume.files().len(), 1);
        let mut draws = Draws::new(Random::new(1), 1, 1);
        let _ = volume.after_power_cut(&mut draws, NameModel::Journal);
        assert!(volume.durable_alone().files().is_empty());
    }
}
