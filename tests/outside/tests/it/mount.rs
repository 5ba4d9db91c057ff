//! The file system of the harness through the kernel: what programs do to it, and what of it is durable.
#![allow(clippy::unwrap_used)]

use outside::fuse::Mounted;
use outside::volume::Volume;
use outside::volume::names::NameModel;
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const INSIDE: &str = "VLFLAB_OUTSIDE_NAMESPACE";

/// Runs `test` in a mount namespace: this test program once more, for that test alone.
fn in_namespace(name: &str, test: impl FnOnce(&Path)) {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        println!("skipped: {name} needs root and /dev/fuse");
        return;
    }
    if std::env::var_os(INSIDE).is_none() {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private", "--"])
            .arg(std::env::current_exe().unwrap());
        let output = command
            .args([&format!("mount::{name}"), "--exact", "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("1 passed"), "{text}");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mount-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    test(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

fn paths(volume: &Volume) -> Vec<String> {
    volume.files().keys().map(|path| path.display().to_string()).collect()
}

#[test]
fn durable_is_what_was_synced_and_nothing_else() {
    in_namespace("durable_is_what_was_synced_and_nothing_else", |folder| {
        let mounted = Mounted::new(folder, Volume::new(NameModel::Weakest)).unwrap();
        fs::create_dir(folder.join("sub")).unwrap();
        let synced = File::create(folder.join("sub/synced")).unwrap();
        synced.write_all_at(b"kept", 0).unwrap();
        synced.sync_data().unwrap();
        synced.write_all_at(b"LOST", 4).unwrap();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::DSYNC | OFlags::DIRECT;
        let durable = rustix::fs::open(folder.join("sub/durable"), flags, Mode::from_raw_mode(0o640)).unwrap();
        let page = vec![7_u8; 4096 * 2];
        let aligned = page.as_ptr().align_offset(4096);
        rustix::io::pwrite(&durable, &page[aligned..aligned + 4096], 4096).unwrap();
        rustix::fs::fallocate(&durable, FallocateFlags::empty(), 0, 1 << 20).unwrap();
        File::create(folder.join("sub/unnamed")).unwrap().sync_all().unwrap();
        fs::rename(folder.join("sub/unnamed"), folder.join("sub/renamed")).unwrap();
        let names: Vec<PathBuf> = fs::read_dir(folder.join("sub"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(names.len(), 3);
        assert_eq!(
            mounted.with_volume(|volume| paths(&volume.durable_alone())),
            Vec::<String>::new()
        );
        File::open(folder).unwrap().sync_all().unwrap();
        File::open(folder.join("sub")).unwrap().sync_all().unwrap();
        fs::remove_file(folder.join("sub/renamed")).unwrap();
        let after = mounted.with_volume(|volume| volume.durable_alone());
        assert_eq!(paths(&after), ["sub/durable", "sub/renamed", "sub/synced"]);
        assert_eq!(after.bytes_of(Path::new("sub/synced")).unwrap(), b"kept");
        let bytes = after.bytes_of(Path::new("sub/durable")).unwrap();
        assert_eq!((bytes.len(), bytes[4095], bytes[4096]), (8192, 0, 7));
        assert_eq!(fs::read(folder.join("sub/synced")).unwrap(), b"keptLOST");
        drop((synced, durable));
        mounted.unmount().unwrap();
    });
}

#[test]
fn locks_and_names_are_as_programs_expect() {
    in_namespace("locks_and_names_are_as_programs_expect", |folder| {
        let mounted = Mounted::new(folder, Volume::new(NameModel::Journal)).unwrap();
        let path = folder.join("lock");
        let (first, second) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        rustix::fs::flock(&first, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(rustix::fs::flock(&second, FlockOperation::NonBlockingLockExclusive).is_err());
        drop(first);
        rustix::fs::flock(&second, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(File::create_new(&path).is_err());
        assert!(fs::remove_dir(folder).is_err());
        second.set_len(10).unwrap_err();
        File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 10);
        fs::remove_file(&path).unwrap();
        assert_eq!(second.metadata().unwrap().len(), 10, "an open file outlives its name");
        drop(second);
        assert_eq!(paths(&mounted.unmount().unwrap()), Vec::<String>::new());
    });
}

#[test]
fn a_change_under_way_when_the_power_goes_is_never_answered_as_done() {
    in_namespace(
        "a_change_under_way_when_the_power_goes_is_never_answered_as_done",
        |folder| {
            let mounted = Mounted::new(folder, Volume::new(NameModel::Journal)).unwrap();
            let file = File::create(folder.join("file")).unwrap();
            File::open(folder).unwrap().sync_all().unwrap();
            mounted.set_trap(2, true);
            file.write_all_at(b"first", 0).unwrap();
            std::thread::scope(|scope| {
                let second = scope.spawn(|| file.write_all_at(b"second", 100));
                assert!(mounted.wait_until_sprung(Duration::from_secs(10)));
                let third = scope.spawn(|| file.sync_all());
                std::thread::sleep(Duration::from_millis(20));
                assert!(!second.is_finished() && !third.is_finished());
                mounted.power_off();
                assert!(second.join().unwrap().is_err() && third.join().unwrap().is_err());
            });
            drop(file);
            let volume = mounted.unmount().unwrap();
            assert_eq!(
                volume.bytes_of(Path::new("file")).unwrap().len(),
                106,
                "it was on its way"
            );
            assert_eq!(volume.durable_alone().bytes_of(Path::new("file")).unwrap(), b"");
        },
    );
}
