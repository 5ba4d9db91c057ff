//! Many executions of the log reader on mutated log files: `fuzz_reader [EXECUTIONS] [SEED] [FIRST]`. Says how many it did,
//! how many of them found damage, and the slowest. An execution is named by seed and number: `1 SEED FIRST` repeats it.
//!
//! The inputs begin as small logs of ours and, where `VLFLAB_LDF_DIR` names a directory with real ones, as real logs of
//! three formats reduced to a few blocks.

use std::time::{Duration, Instant};

use advisor::pasted::layout_of_vlfs;
use advisor::{Depth, inspect};
use vlf::ServerVersion;

#[path = "../tests/it/support/mod.rs"]
mod support;

use support::{Random, log_file, mutate, real_file, reduced};

/// A log of ours cut down to VLFs of 16 KB bodies would fail its checksums, so it keeps its size.
fn inputs() -> Vec<Vec<u8>> {
    let real = ["full-northwind-v2.ldf", "full-northwind-v4.ldf", "full-mvcmusic-v5.ldf"];
    let mut inputs: Vec<Vec<u8>> = real
        .into_iter()
        .filter_map(real_file)
        .flat_map(|bytes| {
            [
                reduced(&bytes, 2, 8192),
                reduced(&bytes, 3, 16_384),
                reduced(&bytes, 1, 65_536),
            ]
        })
        .collect();
    let ours = log_file(516_096, &[(1, 12), (2, 7)]);
    // The file cut behind the first blocks: its last VLF leaves the file, its first is whole.
    inputs.push(ours[..8192 + 8192 + 12 * 512].to_vec());
    inputs.push(ours[..270_336 + 4096].to_vec());
    inputs
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (executions, seed, first) = (number(10_000_000), number(1), number(0));
    let inputs = inputs();
    let (mut damaged, mut blocks, mut records) = (0u64, 0u64, 0u64);
    let mut slowest = (Duration::ZERO, 0);
    let begun = Instant::now();
    for execution in first..first + executions {
        let mut random = Random::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(execution));
        // The larger ones less often: most of the time would go into copying them.
        let choice = random.below(64) as usize;
        let last = inputs.len() - 1;
        let index = if choice == 0 { last } else { choice % last.max(1) };
        let mut bytes = inputs[index].clone();
        mutate(&mut bytes, &mut random);
        let one = Instant::now();
        let found = inspect(&bytes, Depth::Blocks).expect("memory can always be read");
        let took = one.elapsed();
        assert!(
            found.vlfs.iter().all(|vlf| vlf.header.span().end() <= found.file_bytes),
            "execution {execution}"
        );
        assert!(found.blocks.bytes <= found.file_bytes, "execution {execution}");
        let _ = layout_of_vlfs(found.spans(), ServerVersion::V2022);
        damaged += u64::from(found.damage_count > 0);
        blocks += found.blocks.total;
        records += found.records;
        if took > slowest.0 {
            slowest = (took, execution);
        }
    }
    println!(
        "{executions} executions, seed {seed}, {} inputs, {:.0} s: no panic; {damaged} with damage, {blocks} blocks and {records} \
         records read; slowest {:.1} ms (execution {})",
        inputs.len(),
        begun.elapsed().as_secs_f64(),
        slowest.0.as_secs_f64() * 1000.0,
        slowest.1
    );
}
