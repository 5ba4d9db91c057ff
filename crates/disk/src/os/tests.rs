//! The operating system's disk: durable names, direct I/O, confinement to folders. It runs in a temporary directory, and on
//! tmpfs if the machine has one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Access, AlignedBuffer, ConfinedDisk, Disk, DiskErrorKind, FileKind, OsDisk};

/// A directory that is removed at the end of the test.
struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    fn below(parent: &Path) -> TemporaryDirectory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "vlflab-disk-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = parent.join(name);
        OsDisk.create_directories(&path).unwrap();
        TemporaryDirectory(path)
    }

    fn new() -> TemporaryDirectory {
        TemporaryDirectory::below(&std::env::temp_dir())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len)
        .map(|index| (index as u8).wrapping_mul(31).wrapping_add(seed))
        .collect()
}

#[test]
fn names_are_created_renamed_listed_and_deleted() {
    let directory = TemporaryDirectory::new();
    let (a, b, nested) = (
        directory.file("a.mdf"),
        directory.file("b.mdf"),
        directory.file("x/y/z"),
    );
    assert_eq!(
        OsDisk.open(&a, Access::Direct).err().unwrap().kind,
        DiskErrorKind::NotFound
    );
    let file = OsDisk.create(&a, Access::Direct).unwrap();
    file.write_durable_at(0, &pattern(4096, 1)).unwrap();
    assert_eq!(file.path(), a);
    assert_eq!(
        OsDisk.create(&a, Access::Direct).err().unwrap().kind,
        DiskErrorKind::AlreadyExists
    );
    OsDisk.create(&b, Access::Buffered).unwrap();
    assert_eq!(OsDisk.list(&directory.0).unwrap(), vec![a.clone(), b.clone()]);
    OsDisk.rename(&a, &b).unwrap();
    assert_eq!(OsDisk.len(&a).unwrap(), None);
    assert_eq!(OsDisk.len(&b).unwrap(), Some(4096));
    OsDisk.delete(&b).unwrap();
    assert_eq!(OsDisk.delete(&b).err().unwrap().kind, DiskErrorKind::NotFound);
    OsDisk.create_directories(&nested).unwrap();
    OsDisk.create_directories(&nested).unwrap();
    assert_eq!(OsDisk.list(&directory.file("x/y")).unwrap(), vec![nested.clone()]);
    assert_eq!(OsDisk.len(&nested).unwrap(), None, "a directory is no file");
    assert!(OsDisk.available_bytes(&directory.0).unwrap() > 0);
}

#[test]
fn every_alignment_of_offset_length_and_memory_reads_back_what_was_written() {
    let mut parents = vec![std::env::temp_dir()];
    let shared_memory = Path::new("/dev/shm");
    if shared_memory.is_dir() {
        parents.push(shared_memory.to_path_buf());
    }
    for parent in parents {
        let directory = TemporaryDirectory::below(&parent);
        for access in [Access::Direct, Access::Buffered] {
            let file = OsDisk.create(&directory.file(&format!("{access:?}")), access).unwrap();
            let mut model = pattern(64 * 1024, 9);
            file.write_at(0, &model).unwrap();
            let memory = {
                let mut memory = AlignedBuffer::with_len(40 * 1024);
                memory.copy_from_slice(&pattern(40 * 1024, 77));
                memory
            };
            for offset in [0_usize, 1, 511, 512, 4095, 4096, 8192, 10_000] {
                for len in [1_usize, 512, 513, 4096, 8192, 12_289] {
                    for shift in [0_usize, 3, 512] {
                        let bytes = &memory[shift..shift + len];
                        if (offset + len + shift).is_multiple_of(2) {
                            file.write_at(offset as u64, bytes).unwrap();
                        } else {
                            file.write_durable_at(offset as u64, bytes).unwrap();
                        }
                        model[offset..offset + len].copy_from_slice(bytes);
                        let mut whole = AlignedBuffer::with_len(model.len());
                        file.read_at(0, &mut whole).unwrap();
                        assert!(*whole == *model, "{access:?} {offset} {len} {shift}");
                        let mut window = vec![0; len];
                        file.read_at(offset as u64, &mut window).unwrap();
                        assert!(window == bytes, "{access:?} {offset} {len} {shift}");
                    }
                }
            }
            file.sync().unwrap();
            assert_eq!(std::fs::read(file.path()).unwrap(), model);
        }
    }
}

#[test]
fn vectored_writes_join_their_parts() {
    let directory = TemporaryDirectory::new();
    let file = OsDisk.create(&directory.file("v"), Access::Direct).unwrap();
    let mut page = AlignedBuffer::with_len(8192);
    page.fill(7);
    let many: Vec<&[u8]> = (0..3000).map(|_| &page[..4096]).collect();
    file.write_vectored_at(0, &many).unwrap();
    assert_eq!(file.len().unwrap(), 3000 * 4096);
    // Parts that are odd alone but whole together, then parts that are odd in sum, and none at all.
    file.write_vectored_at(4096, &[b"abc", &page[..4093]]).unwrap();
    file.write_vectored_at(20_000, &[b"x", b"", b"yz"]).unwrap();
    file.write_vectored_at(0, &[]).unwrap();
    let mut bytes = [0; 5];
    file.read_at(4096, &mut bytes).unwrap();
    assert_eq!(bytes, [b'a', b'b', b'c', 7, 7]);
    file.read_at(19_999, &mut bytes).unwrap();
    assert_eq!(bytes, [7, b'x', b'y', b'z', 7]);
}

#[test]
fn reading_past_the_end_is_an_unexpected_end() {
    let directory = TemporaryDirectory::new();
    for access in [Access::Direct, Access::Buffered] {
        let file = OsDisk.create(&directory.file(&format!("{access:?}")), access).unwrap();
        file.write_at(0, &pattern(5000, 3)).unwrap();
        let mut tail = [0; 10];
        file.read_at(4990, &mut tail).unwrap();
        assert_eq!(tail, pattern(5000, 3)[4990..]);
        let mut aligned = AlignedBuffer::with_len(4096);
        for offset in [4096, 4992, 8192, 1 << 40] {
            let error = file.read_at(offset, &mut aligned).err().unwrap();
            assert_eq!(error.kind, DiskErrorKind::UnexpectedEnd);
            assert_eq!(error.offset, Some(offset));
        }
    }
}

#[test]
fn growth_reserves_space_that_reads_as_zeros() {
    let directory = TemporaryDirectory::new();
    let file = OsDisk.create(&directory.file("g"), Access::Direct).unwrap();
    file.write_durable_at(0, &pattern(4096, 1)).unwrap();
    file.grow_reserved(1 << 20).unwrap();
    file.grow_reserved(4096).unwrap();
    assert_eq!(file.len().unwrap(), 1 << 20);
    let mut bytes = vec![1; (1 << 20) - 4096];
    file.read_at(4096, &mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
    let blocks = {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(file.path()).unwrap().blocks()
    };
    assert!(blocks * 512 >= 1 << 20, "{blocks} blocks are reserved");

    file.set_len(100).unwrap();
    assert_eq!(file.len().unwrap(), 100);
    file.set_len(5000).unwrap();
    let mut tail = [1; 4900];
    file.read_at(100, &mut tail).unwrap();
    assert_eq!(tail, [0; 4900]);
}

/// Asked of tmpfs, which refuses more than its whole size at once. ext4 would first hand out all it has and make
/// everybody else on the machine see a full disk for a moment.
#[test]
fn refused_growth_is_disk_full_and_changes_nothing() {
    let shared_memory = Path::new("/dev/shm");
    if !shared_memory.is_dir() {
        return;
    }
    let directory = TemporaryDirectory::below(shared_memory);
    let file = OsDisk.create(&directory.file("g"), Access::Direct).unwrap();
    file.write_durable_at(0, &pattern(4096, 1)).unwrap();
    let error = file.grow_reserved(1 << 60).err().unwrap();
    assert_eq!(error.kind, DiskErrorKind::DiskFull, "{error}");
    assert_eq!(error.offset, Some(4096));
    assert_eq!(file.len().unwrap(), 4096);
    let mut bytes = vec![0; 4096];
    file.read_at(0, &mut bytes).unwrap();
    assert_eq!(bytes, pattern(4096, 1));
}

#[test]
fn the_instance_lock_has_one_holder_at_a_time() {
    let directory = TemporaryDirectory::new();
    let path = directory.file("instance.lock");
    let guard = OsDisk.lock_exclusive(&path).unwrap();
    let error = OsDisk.lock_exclusive(&path).err().unwrap();
    assert_eq!(error.kind, DiskErrorKind::InUse);
    drop(guard);
    OsDisk.lock_exclusive(&path).unwrap();
}

#[test]
fn a_file_is_locked_by_one_open_file_at_a_time() {
    let directory = TemporaryDirectory::new();
    let path = directory.file("f");
    let first = OsDisk.create(&path, Access::Direct).unwrap();
    let second = OsDisk.open(&path, Access::Buffered).unwrap();
    first.lock().unwrap();
    first.lock().unwrap();
    let error = second.lock().unwrap_err();
    assert_eq!((error.kind, error.path), (DiskErrorKind::InUse, path));
    second.write_at(0, b"nobody asks").unwrap();
    first.unlock();
    second.lock().unwrap();
    assert_eq!(first.lock().unwrap_err().kind, DiskErrorKind::InUse);
    drop(second);
    first.lock().unwrap();
}

/// Commits were acknowledged into files that had lost their names.
#[test]
fn what_is_made_durable_in_a_deleted_file_is_an_error() {
    for access in [Access::Direct, Access::Buffered] {
        let directory = TemporaryDirectory::new();
        let (path, other) = (directory.file("f"), directory.file("g"));
        let file = OsDisk.create(&path, access).unwrap();
        file.write_durable_at(0, &pattern(4096, 1)).unwrap();
        file.sync().unwrap();
        // A name is a name.
        std::fs::rename(&path, &other).unwrap();
        file.write_durable_at(0, &pattern(4096, 2)).unwrap();
        std::fs::remove_file(&other).unwrap();
        let error = file.write_durable_at(0, &pattern(4096, 3)).unwrap_err();
        assert_eq!(
            (error.kind, error.path.as_path()),
            (DiskErrorKind::Deleted, path.as_path()),
            "{access:?}"
        );
        assert_eq!(file.sync().unwrap_err().kind, DiskErrorKind::Deleted, "{access:?}");
        file.write_at(4096, &pattern(4096, 4)).unwrap();
    }
}

/// A confined disk in a folder `in`, with a second folder `also` allowed and a third, `out`, not; in each lies a file.
struct Confined {
    base: TemporaryDirectory,
    disk: ConfinedDisk,
}

impl Confined {
    fn new() -> Confined {
        let base = TemporaryDirectory::new();
        for folder in ["in/sub", "also", "out"] {
            std::fs::create_dir_all(base.file(folder)).unwrap();
            std::fs::write(base.file(folder).join("file"), "kept").unwrap();
        }
        let disk = ConfinedDisk::new(vec![base.file("in"), base.file("also")]);
        Confined { base, disk }
    }

    fn open_kind(&self, path: &str) -> Result<(), DiskErrorKind> {
        let opened = self.disk.open(&self.base.file(path), Access::Direct);
        opened.map(|_| ()).map_err(|error| error.kind)
    }
}

#[test]
fn a_confined_disk_is_left_neither_by_dots_nor_by_links() {
    use std::os::unix::fs::symlink;
    let confined = Confined::new();
    let file = |name: &str| confined.base.file(name);
    symlink(file("out"), file("in/link_out")).unwrap();
    symlink(file("also"), file("in/link_also")).unwrap();
    symlink(file("in/sub"), file("in/link_in")).unwrap();
    symlink(file("in/sub/file"), file("in/link_file")).unwrap();
    for (path, expected) in [
        ("in/sub/file", Ok(())),
        ("in/link_in/file", Ok(())),
        ("in/link_also/file", Ok(())),
        ("also/file", Ok(())),
        ("in/link_file", Err(DiskErrorKind::NotAFile)),
        ("in/link_out/file", Err(DiskErrorKind::Outside)),
        ("in/../out/file", Err(DiskErrorKind::Outside)),
        ("out/file", Err(DiskErrorKind::Outside)),
        ("in/none", Err(DiskErrorKind::NotFound)),
    ] {
        assert_eq!(confined.open_kind(path), expected, "{path}");
    }
    let disk = &confined.disk;
    let outside = |outcome: Result<(), crate::DiskError>| assert_eq!(outcome.unwrap_err().kind, DiskErrorKind::Outside);
    for path in ["out/new", "in/link_out/new"].map(file) {
        outside(disk.create(&path, Access::Buffered).map(|_| ()));
        outside(disk.create_directories(&path));
        outside(disk.look(&path).map(|_| ()));
        outside(disk.lock_exclusive(&path).map(|_| ()));
        outside(disk.rename(&file("in/sub/file"), &path));
        outside(disk.rename_new(&file("in/sub/file"), &path));
        outside(disk.available_bytes(&path).map(|_| ()));
    }
    for path in ["out/file", "in/link_out/file"].map(file) {
        outside(disk.delete(&path));
        outside(disk.rename(&path, &file("in/stolen")));
    }
    outside(disk.list(&file("in/link_out")).map(|_| ()));
    assert_eq!(std::fs::read(file("out/file")).unwrap(), b"kept");
    assert!(!file("out/new").exists());
}

#[test]
fn what_is_no_regular_file_is_neither_opened_nor_replaced() {
    let directory = TemporaryDirectory::new();
    let file = |name: &str| directory.file(name);
    std::fs::write(file("file"), "kept").unwrap();
    std::fs::create_dir(file("folder")).unwrap();
    std::os::unix::fs::symlink(file("file"), file("link")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(file("socket")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, file("fifo"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let null = PathBuf::from("/dev/null");
    for path in ["folder", "link", "socket", "fifo"].map(file).iter().chain([&null]) {
        let refused = |error: crate::DiskError| assert_eq!(error.kind, DiskErrorKind::NotAFile, "{error}");
        refused(OsDisk.open(path, Access::Direct).err().unwrap());
        refused(OsDisk.lock_exclusive(path).err().unwrap());
        assert_eq!(OsDisk.len(path).unwrap(), None);
        assert_ne!(OsDisk.look(path).unwrap().unwrap().kind, FileKind::Regular);
        if path != &null {
            refused(OsDisk.rename(&file("file"), path).unwrap_err());
        }
    }
    let taken = OsDisk.create(&file("fifo"), Access::Direct).err().unwrap();
    assert_eq!(taken.kind, DiskErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(file("file")).unwrap(), b"kept");
    drop(socket);
}

#[test]
fn a_file_has_one_identity_by_all_its_names_and_a_free_name_is_not_taken_twice() {
    let directory = TemporaryDirectory::new();
    let file = |name: &str| directory.file(name);
    let open = OsDisk.create(&file("a"), Access::Direct).unwrap();
    std::fs::hard_link(file("a"), file("b")).unwrap();
    OsDisk.create(&file("c"), Access::Direct).unwrap();
    let identity = |name: &str| OsDisk.look(&file(name)).unwrap().unwrap().identity;
    assert_eq!(open.identity().unwrap(), identity("b"));
    assert_ne!(identity("a"), identity("c"));
    let taken = OsDisk.rename_new(&file("a"), &file("c")).unwrap_err();
    assert_eq!(taken.kind, DiskErrorKind::AlreadyExists);
    OsDisk.rename_new(&file("a"), &file("d")).unwrap();
    assert_eq!(open.identity().unwrap(), identity("d"));
}
