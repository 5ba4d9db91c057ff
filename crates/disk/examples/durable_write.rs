//! Measures one durable log write into space prepared in different ways, on the directory given as argument (default:
//! the temporary directory). Sequential `write_durable_at` of 0.5, 4, 16 and 60 KB over a 64 MB file.
//!
//! Preparations: reserved only (fallocate: unwritten extents, so the first write of each also commits the file
//! system's journal), filled with zeros by writing them, FALLOC_FL_ZERO_RANGE, FALLOC_FL_WRITE_ZEROES (Linux 6.17),
//! and a growing file. Run it in the release profile on a quiet machine.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use disk::{Access, AlignedBuffer, Disk, File, OsDisk};
use rustix::fs::{FallocateFlags, OFlags};

const FILE_BYTES: u64 = 64 << 20;
const WRITES_MAX: usize = 3_000;
/// FALLOC_FL_WRITE_ZEROES of linux/falloc.h: written extents of zeros, made by the device where it can.
const WRITE_ZEROES: FallocateFlags = FallocateFlags::from_bits_retain(0x80);

#[derive(Debug, Clone, Copy)]
enum Preparation {
    Growing,
    Reserved,
    ZeroRange,
    WriteZeroes,
    ZeroFilled,
}

fn fallocate(path: &Path, flags: FallocateFlags) -> Result<(), Box<dyn Error>> {
    let descriptor = rustix::fs::open(path, OFlags::RDWR, rustix::fs::Mode::empty())?;
    rustix::fs::fallocate(&descriptor, flags, 0, FILE_BYTES)?;
    Ok(())
}

fn prepare(file: &dyn File, preparation: Preparation) -> Result<(), Box<dyn Error>> {
    match preparation {
        Preparation::Growing => {}
        Preparation::Reserved => file.grow_reserved(FILE_BYTES)?,
        Preparation::ZeroRange => fallocate(file.path(), FallocateFlags::ZERO_RANGE)?,
        Preparation::WriteZeroes => fallocate(file.path(), WRITE_ZEROES)?,
        Preparation::ZeroFilled => {
            file.grow_reserved(FILE_BYTES)?;
            let zeros = AlignedBuffer::with_len(1 << 20);
            for offset in (0..FILE_BYTES).step_by(zeros.len()) {
                file.write_at(offset, &zeros)?;
            }
        }
    }
    file.sync()?;
    Ok(())
}

fn durable_writes(file: &dyn File, write_bytes: usize) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut bytes = AlignedBuffer::with_len(write_bytes);
    let count = (FILE_BYTES as usize / write_bytes).min(WRITES_MAX);
    let mut elapsed = Vec::with_capacity(count);
    for index in 0..count {
        bytes.fill(index as u8 | 1);
        let started = Instant::now();
        file.write_durable_at((index * write_bytes) as u64, &bytes)?;
        elapsed.push(started.elapsed());
    }
    elapsed.sort();
    Ok(elapsed)
}

fn main() -> Result<(), Box<dyn Error>> {
    let parent = std::env::args_os()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = parent.join(format!("vlflab-durable-write-{}", std::process::id()));
    OsDisk.create_directories(&directory)?;
    println!("preparation    ms to prepare   write bytes   p50 us   p99 us   mean us");
    for preparation in [
        Preparation::Growing,
        Preparation::Reserved,
        Preparation::ZeroRange,
        Preparation::WriteZeroes,
        Preparation::ZeroFilled,
    ] {
        for write_bytes in [512, 4096, 16384, 61440] {
            let path = directory.join("log");
            let file = OsDisk.create(&path, Access::Direct)?;
            let started = Instant::now();
            let prepared = prepare(file.as_ref(), preparation);
            let prepare_ms = started.elapsed().as_secs_f64() * 1e3;
            match prepared {
                Ok(()) => {
                    let elapsed = durable_writes(file.as_ref(), write_bytes)?;
                    let mean = elapsed.iter().sum::<Duration>() / elapsed.len() as u32;
                    println!(
                        "{:<12} {prepare_ms:>15.1} {:>13} {:>8.0} {:>8.0} {:>9.0}",
                        format!("{preparation:?}"),
                        write_bytes,
                        elapsed[elapsed.len() / 2].as_secs_f64() * 1e6,
                        elapsed[elapsed.len() * 99 / 100].as_secs_f64() * 1e6,
                        mean.as_secs_f64() * 1e6,
                    );
                }
                Err(error) => println!("{preparation:?}: not supported here: {error}"),
            }
            OsDisk.delete(&path)?;
        }
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
