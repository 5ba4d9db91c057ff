//! The promises of the traits, by files in memory.

use super::*;
use crate::ConfinedDisk;

const MB: u64 = 1 << 20;

/// A disk of so many megabytes in `/memory`, beside a folder of the system that is not there.
fn disk(megabytes: u64) -> MemoryDisk {
    let folders = vec!["/memory".into(), "/nonexistent/beside".into()];
    MemoryDisk::new("/memory".into(), Arc::new(ConfinedDisk::new(folders)), megabytes * MB)
}

fn kind<T>(outcome: Result<T, DiskError>) -> DiskErrorKind {
    outcome.err().unwrap().kind
}

#[test]
fn what_is_written_is_read_until_the_last_handle_goes() {
    let disk = disk(4);
    let path = Path::new("/memory/./a");
    let file = disk.create(path, Access::Direct).unwrap();
    file.write_at(10, b"abc").unwrap();
    file.write_vectored_at(13, &[b"de", b"", b"f"]).unwrap();
    file.write_durable_at(16, b"g").unwrap();
    let mut bytes = [1; 17];
    disk.open(Path::new("/memory/a"), Access::Buffered)
        .unwrap()
        .read_at(0, &mut bytes)
        .unwrap();
    assert_eq!(&bytes, b"\0\0\0\0\0\0\0\0\0\0abcdefg");
    assert_eq!(kind(file.read_at(17, &mut [0])), DiskErrorKind::UnexpectedEnd);
    file.read_at(100, &mut []).unwrap();
    disk.delete(path).unwrap();
    // Open still, and without a name: nothing is durable in it any more.
    file.read_at(0, &mut bytes).unwrap();
    assert_eq!(kind(file.sync()), DiskErrorKind::Deleted);
    assert_eq!(kind(file.write_durable_at(0, b"x")), DiskErrorKind::Deleted);
    assert_eq!(disk.available_bytes(path).unwrap(), 4 * MB - 17);
    drop(file);
    assert_eq!(disk.available_bytes(path).unwrap(), 4 * MB);
}

#[test]
fn space_is_counted_by_lengths_and_an_end_of_it_leaves_the_file_as_it_was() {
    let disk = disk(4);
    let file = disk.create(Path::new("/memory/a"), Access::Direct).unwrap();
    file.grow_reserved(3 * MB).unwrap();
    file.grow_reserved(MB).unwrap();
    assert_eq!(file.len().unwrap(), 3 * MB);
    let full = file.grow_reserved(5 * MB).unwrap_err();
    assert_eq!((full.kind, full.os_error), (DiskErrorKind::DiskFull, Some(28)));
    assert_eq!(kind(file.write_at(4 * MB, b"x")), DiskErrorKind::DiskFull);
    assert_eq!(kind(file.write_at(u64::MAX, b"xy")), DiskErrorKind::DiskFull);
    assert_eq!(file.len().unwrap(), 3 * MB);
    file.set_len(MB).unwrap();
    file.write_at(4 * MB - 1, b"x").unwrap();
    let mut byte = [1];
    file.read_at(2 * MB, &mut byte).unwrap();
    assert_eq!((byte, disk.available_bytes(Path::new("/memory")).unwrap()), ([0], 0));
}

#[test]
fn names_are_as_on_any_disk() {
    let disk = disk(4);
    let [a, b] = ["/memory/a", "/memory/b"].map(Path::new);
    let first = disk.create(a, Access::Direct).unwrap();
    assert_eq!(kind(disk.create(a, Access::Direct)), DiskErrorKind::AlreadyExists);
    assert_eq!(
        kind(disk.create(Path::new("/memory/no/a"), Access::Direct)),
        DiskErrorKind::NotFound
    );
    assert_eq!(kind(disk.open(b, Access::Direct)), DiskErrorKind::NotFound);
    disk.create_directories(Path::new("/memory/c/d")).unwrap();
    assert_eq!(
        kind(disk.open(Path::new("/memory/c"), Access::Direct)),
        DiskErrorKind::NotAFile
    );
    assert_eq!(
        kind(disk.create_directories(Path::new("/memory/a/x"))),
        DiskErrorKind::AlreadyExists
    );
    let second = disk.create(b, Access::Direct).unwrap();
    assert_eq!(kind(disk.rename_new(a, b)), DiskErrorKind::AlreadyExists);
    disk.rename(a, a).unwrap();
    disk.rename(a, b).unwrap();
    assert_eq!(disk.look(b).unwrap().unwrap().identity, first.identity().unwrap());
    assert_eq!(kind(second.sync()), DiskErrorKind::Deleted);
    assert_eq!((disk.len(a).unwrap(), disk.len(b).unwrap()), (None, Some(0)));
    let listed = disk.list(Path::new("/memory")).unwrap();
    assert_eq!(listed, [b, Path::new("/memory/c")]);
    let directories = ["/memory", "/memory/c", "/memory/c/d"].map(|path| disk.look(Path::new(path)).unwrap().unwrap());
    assert!(directories.iter().all(|found| found.kind == FileKind::Directory));
    assert!(directories[0].identity != directories[1].identity);
    disk.delete(b).unwrap();
    assert_eq!(kind(disk.delete(b)), DiskErrorKind::NotFound);
}

#[test]
fn what_is_not_below_the_folder_is_the_other_disks() {
    let disk = disk(4);
    assert_eq!(
        kind(disk.open(Path::new("/memory/../etc/passwd"), Access::Buffered)),
        DiskErrorKind::Outside
    );
    assert_eq!(
        kind(disk.open(Path::new("/etc/passwd"), Access::Buffered)),
        DiskErrorKind::Outside
    );
    assert_eq!(
        kind(disk.open(Path::new("/nonexistent/beside/a"), Access::Buffered)),
        DiskErrorKind::NotFound
    );
    disk.create(Path::new("/memory/a"), Access::Buffered).unwrap();
    let out = disk.rename(Path::new("/memory/a"), Path::new("/nonexistent/beside/a"));
    assert_eq!(kind(out), DiskErrorKind::Outside);
    assert_eq!(disk.folders().len(), 2);
    assert!(disk.is_volatile());
}

#[test]
fn locks_are_exclusive_and_go_with_their_holder() {
    let disk = disk(4);
    let path = Path::new("/memory/lock");
    let guard = disk.lock_exclusive(path).unwrap();
    assert_eq!(kind(disk.lock_exclusive(path).map(|_| ())), DiskErrorKind::InUse);
    let file = disk.open(path, Access::Buffered).unwrap();
    assert_eq!(kind(file.lock()), DiskErrorKind::InUse);
    drop(guard);
    file.lock().unwrap();
    file.lock().unwrap();
    let other = disk.open(path, Access::Buffered).unwrap();
    other.unlock();
    assert_eq!(kind(other.lock()), DiskErrorKind::InUse);
    drop(file);
    other.lock().unwrap();
}
