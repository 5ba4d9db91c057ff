//! The modelled disk: bytes, space and times. Times depend on the requests alone, not on the disk that holds the bytes.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::sim::SimDisk;
use crate::{AlignedBuffer, OsDisk};
use device::parameter::{DurableWrite, FlashFigures, Rotating, RotatingFigures};

const MB: u64 = 1 << 20;

fn desktop() -> Figures {
    Figures::Rotating(Rotating {
        figures: RotatingFigures {
            rpm: 7200.0,
            seek_average_ms: 8.5,
            seek_track_ms: 0.8,
            rate_mb_s: 57.0,
            capacity_gb: 250.0,
            overhead_ms: 0.15,
            cache_mb: 8.0,
            host_mb_s: 150.0,
            sector_bytes: 512.0,
            metadata_blocks: 2.0,
        },
        durable_write: DurableWrite::Ignored,
    })
}

fn flash() -> Figures {
    Figures::Flash(FlashFigures {
        read_us: 100.0,
        write_us: 40.0,
        flush_us: 2400.0,
        read_mb_s: 410.0,
        write_mb_s: 290.0,
        units: 8.0,
        iops: 0.0,
        throughput_mb_s: 0.0,
        reads_mb_s: 0.0,
        counted_kb: 256.0,
        capacity_gb: 0.5,
        sector_bytes: 4096.0,
        metadata_blocks: 2.0,
    })
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("vlflab-modelled-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn modelled(backing: Arc<dyn Disk>, folder: &Path, figures: &Figures) -> (ModelledDisk, Arc<VirtualTime>) {
    let time = Arc::new(VirtualTime::new(false));
    let disk = ModelledDisk::new(backing, folder, figures, 1, Arc::clone(&time)).unwrap();
    (disk, time)
}

/// Files that grow, are written, synced, read and deleted; the moment after each.
fn history(disk: &ModelledDisk, time: &VirtualTime, folder: &Path) -> Vec<u64> {
    let mut moments = Vec::new();
    let log = disk.create(&folder.join("log"), Access::Direct).unwrap();
    let data = disk.create(&folder.join("data"), Access::Direct).unwrap();
    let notes = disk.create(&folder.join("notes"), Access::Buffered).unwrap();
    let zeros = AlignedBuffer::with_len(MB as usize);
    let mut page = AlignedBuffer::with_len(8192);
    for step in 0..20 {
        let from = step * MB;
        log.set_len(from + MB).unwrap();
        log.write_at(from, &zeros).unwrap();
        log.sync().unwrap();
        moments.push(time.now_ns());
        page.fill(step as u8 + 1);
        log.write_durable_at(from, &page).unwrap();
        data.grow_reserved(from + MB).unwrap();
        data.write_vectored_at(from, &[&page, &page]).unwrap();
        notes.write_at(step * 10, b"0123456789").unwrap();
        moments.push(time.now_ns());
        data.sync().unwrap();
        notes.sync().unwrap();
        log.read_at(from / 2, &mut page).unwrap();
        moments.push(time.now_ns());
    }
    disk.delete(&folder.join("data")).unwrap();
    moments.push(time.now_ns());
    moments
}

#[test]
fn time_depends_on_the_requests_and_not_on_what_holds_the_bytes() {
    let folder = Folder::new("time");
    for figures in [desktop(), flash()] {
        let (disk, time) = modelled(Arc::new(OsDisk), &folder.0.join("a"), &figures);
        let on_os = history(&disk, &time, &folder.0.join("a"));
        let memory = SimDisk::new(3);
        let place = Path::new("/a");
        let (disk, time) = modelled(Arc::new(memory), place, &figures);
        assert_eq!(history(&disk, &time, place), on_os);
        assert!(on_os.windows(2).all(|pair| pair[0] <= pair[1]));
        std::fs::remove_dir_all(folder.0.join("a")).unwrap();
    }
}

#[test]
fn a_growth_by_a_megabyte_costs_what_it_costs_on_such_a_disk() {
    let folder = Folder::new("growth");
    let (disk, time) = modelled(Arc::new(OsDisk), &folder.0, &desktop());
    let log = disk.create(&folder.0.join("log"), Access::Direct).unwrap();
    log.set_len(MB).unwrap();
    log.sync().unwrap();
    let zeros = AlignedBuffer::with_len(MB as usize);
    let header = AlignedBuffer::with_len(8192);
    let begin = time.parts().device_ns;
    for step in 1..=200 {
        log.set_len((step + 1) * MB).unwrap();
        log.write_at(step * MB, &zeros).unwrap();
        log.sync().unwrap();
        for vlf in 0..4 {
            log.write_at(step * MB + vlf * MB / 4, &header).unwrap();
        }
        log.sync().unwrap();
        log.write_at(0, &header[..4096]).unwrap();
        log.sync().unwrap();
        log.write_at(4096, &header[..4096]).unwrap();
    }
    let each_ms = (time.parts().device_ns - begin) as f64 / 200.0 / 1e6;
    assert!((78.0..90.0).contains(&each_ms), "{each_ms}");
}

#[test]
fn zeros_take_no_room_and_zeros_over_bytes_are_zeros() {
    let folder = Folder::new("holes");
    let (disk, _) = modelled(Arc::new(OsDisk), &folder.0, &desktop());
    let path = folder.0.join("log");
    let log = disk.create(&path, Access::Direct).unwrap();
    let zeros = AlignedBuffer::with_len(MB as usize);
    for step in 0..64 {
        log.write_at(step * MB, &zeros).unwrap();
    }
    let blocks = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&path).unwrap());
    assert_eq!((log.len().unwrap(), blocks), (64 * MB, 0));
    log.write_at(MB, &[7; 512]).unwrap();
    log.write_at(MB, &zeros[..256]).unwrap();
    let mut found = [9; 512];
    log.read_at(MB, &mut found).unwrap();
    assert_eq!((found[255], found[256]), (0, 7));
    // A new process does not know what is zero.
    drop((log, disk));
    let (disk, _) = modelled(Arc::new(OsDisk), &folder.0, &desktop());
    let log = disk.open(&path, Access::Direct).unwrap();
    log.write_at(MB, &zeros[..512]).unwrap();
    log.read_at(MB, &mut found).unwrap();
    assert_eq!(found, [0; 512]);
}

#[test]
fn the_next_process_finds_files_where_they_lay() {
    let folder = Folder::new("places");
    let places = |disk: &ModelledDisk, name: &str| {
        let file = disk.open(&folder.0.join(name), Access::Direct).unwrap();
        let state = disk.shared.state.lock();
        state.files[&file.identity().unwrap()].space.extents().to_vec()
    };
    let (disk, time) = modelled(Arc::new(OsDisk), &folder.0, &desktop());
    history(&disk, &time, &folder.0);
    let (before, free) = (places(&disk, "log"), disk.shared.state.lock().volume.free_bytes());
    assert!(before.len() > 10, "log and data grew by turns: {}", before.len());
    drop(disk);
    std::fs::OpenOptions::new()
        .append(true)
        .open(folder.0.join(LEDGER_FILE))
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"no line\n+ 1 x\n"))
        .unwrap();
    let (disk, _) = modelled(Arc::new(OsDisk), &folder.0, &desktop());
    assert_eq!(places(&disk, "log"), before);
    places(&disk, "notes");
    assert_eq!(disk.shared.state.lock().volume.free_bytes(), free);
    disk.open(&folder.0.join("log"), Access::Direct)
        .unwrap()
        .set_len(MB / 2)
        .unwrap();
    let cut = places(&disk, "log");
    drop(disk);
    let (disk, _) = modelled(Arc::new(OsDisk), &folder.0, &desktop());
    assert_eq!(places(&disk, "log"), cut);
}

#[test]
fn a_disk_knows_how_many_processes_had_it() {
    let folder = Folder::new("processes");
    for before in 0..3 {
        let (disk, time) = modelled(Arc::new(OsDisk), &folder.0, &desktop());
        assert_eq!(time.processes_before(), before);
        disk.create(&folder.0.join(format!("{before}")), Access::Direct)
            .unwrap();
    }
}

#[test]
fn a_full_disk_is_full_and_what_is_deleted_is_free() {
    let folder = Folder::new("full");
    let (disk, _) = modelled(Arc::new(OsDisk), &folder.0, &flash());
    let path = folder.0.join("large");
    let file = disk.create(&path, Access::Direct).unwrap();
    let error = file.grow_reserved(2_000 * MB).unwrap_err();
    assert_eq!((error.kind, file.len().unwrap()), (DiskErrorKind::DiskFull, 0));
    file.grow_reserved(300 * MB).unwrap();
    assert!(disk.available_bytes(&path).unwrap() < 200 * MB);
    disk.delete(&path).unwrap();
    let again = disk.create(&path, Access::Direct).unwrap();
    again.grow_reserved(300 * MB).unwrap();
}

#[test]
fn a_thread_computes_on_its_own_account_and_the_model_on_none() {
    let folder = Folder::new("processor");
    let time = Arc::new(VirtualTime::new(true));
    let disk = ModelledDisk::new(Arc::new(OsDisk), &folder.0, &desktop(), 1, Arc::clone(&time)).unwrap();
    let file = disk.create(&folder.0.join("file"), Access::Direct).unwrap();
    let zeros = AlignedBuffer::with_len(64 * MB as usize);
    let before = time.parts();
    // The model looks at every byte of it.
    file.write_at(0, &zeros).unwrap();
    let written = time.parts();
    assert!(written.device_ns - before.device_ns > 400_000_000, "64 MB at 57 MB/s");
    assert!(written.processor_ns - before.processor_ns < 2_000_000, "{written:?}");
    let begin = thread_micros();
    let mut sum = 0_u64;
    while thread_micros() - begin < 20_000 {
        sum = std::hint::black_box(sum.wrapping_add(1));
    }
    let computed = time.parts();
    assert!(computed.processor_ns - written.processor_ns >= 19_000_000);
    assert_eq!(computed.device_ns, written.device_ns);
}

fn thread_micros() -> i64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    spent.tv_sec * 1_000_000 + spent.tv_nsec / 1_000
}

/// Reads that are begun together pass their time side by side, as far as the device serves several at once: 8 of 100 us and 1 MB at
/// 410 MB/s take as long as one.
#[test]
fn reads_under_way_at_once_pass_their_time_side_by_side() {
    let folder = Folder::new("at-once");
    let time = Arc::new(VirtualTime::new(false));
    let disk = ModelledDisk::new(Arc::new(OsDisk), &folder.0, &flash(), 1, time.clone()).unwrap();
    let file = disk.create(&folder.0.join("log"), Access::Direct).unwrap();
    file.set_len(16 * MB).unwrap();
    let mut buffer = AlignedBuffer::with_len(MB as usize);
    let took_ns = |work: &mut dyn FnMut()| {
        let before = time.now_ns();
        work();
        time.now_ns() - before
    };
    let alone = took_ns(&mut || file.read_at(0, &mut buffer).unwrap());
    let mut begun = Vec::new();
    let beginning = took_ns(&mut || {
        begun.extend((0..8).map(|index| file.begin_read_at(index * MB, &mut buffer).unwrap()));
    });
    assert_eq!(beginning, 0, "nobody waits yet");
    let all = took_ns(&mut || begun.drain(..).for_each(|read| file.finish_read(read)));
    assert_eq!(all, alone);
    let nine = took_ns(&mut || {
        begun.extend((0..9).map(|index| file.begin_read_at(index * MB, &mut buffer).unwrap()));
        begun.drain(..).for_each(|read| file.finish_read(read));
    });
    assert!(
        nine.abs_diff(2 * alone) <= 1,
        "the ninth waits until a unit is free: {nine}"
    );
}
