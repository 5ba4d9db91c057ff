//! Log files for the inspector's tests: real ones, and ones of our own format built in memory.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::PathBuf;

use vlf::{
    BLOCK_BYTES_MAX, BlockBuilder, BlockOrigin, FileHeader, LayoutSteps, LogLayout, Lsn, ServerVersion, VlfHeader,
    VlfSequence,
};

/// The directory of real log files; they are not part of the repository. `VLFLAB_LDF_DIR` names it; the default is
/// `shared/ldf` beside the repository. `None` = not there: the test says so and passes.
pub fn real_directory() -> Option<PathBuf> {
    let beside_repository = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ldf");
    let directory = std::env::var_os("VLFLAB_LDF_DIR").map_or_else(beside_repository, PathBuf::from);
    if directory.is_dir() {
        return Some(directory);
    }
    println!("skipped: no directory {}", directory.display());
    None
}

/// A real log file, if there is one of that name.
pub fn real_file(name: &str) -> Option<Vec<u8>> {
    std::fs::read(real_directory()?.join(name)).ok()
}

/// A small xorshift generator: the same numbers on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }
}

/// One record of ours: its length, its kind, and `payload_bytes` of payload behind the header.
pub fn record(kind: u8, payload_bytes: usize) -> Vec<u8> {
    let length = 22 + payload_bytes;
    let mut record = vec![0xA5; length];
    record[..2].copy_from_slice(&(length as u16).to_le_bytes());
    record[2..22].fill(0);
    record[2] = kind;
    record
}

/// What a file of ours is filled with, VLF by VLF in file order: its sequence and how many blocks; each block holds a begin,
/// a change and a commit record.
pub fn log_file(file_bytes: u64, uses: &[(u32, usize)]) -> Vec<u8> {
    log_file_with_checkpoint(file_bytes, uses, None)
}

/// The same; the first block of VLF sequence `checkpoint` has a whole checkpoint instead of a transaction.
pub fn log_file_with_checkpoint(file_bytes: u64, uses: &[(u32, usize)], checkpoint: Option<u32>) -> Vec<u8> {
    let layout = LogLayout::create(ServerVersion::V2022, file_bytes).unwrap();
    let mut bytes = vec![0; layout.file_bytes() as usize];
    let mut page = FileHeader {
        file_id: 2,
        database_id: [7; 16],
        created_ticks: 1,
        server_version: ServerVersion::V2022,
        sector_bytes: 512,
        generation: 1,
        file_bytes: 0,
        headers_when_entered: false,
        runs: Vec::new(),
        growths: Vec::new(),
    };
    page.set_layout(&LayoutSteps::of(&layout));
    bytes[..8192].copy_from_slice(&page.encode());
    for vlf in layout.vlfs() {
        let start = vlf.span.offset as usize;
        bytes[start..start + 512].copy_from_slice(&VlfHeader::unused(vlf.span, Lsn::ZERO).encode());
    }
    let mut order: Vec<usize> = (0..uses.len()).filter(|index| uses[*index].0 > 0).collect();
    order.sort_by_key(|index| uses[*index].0);
    let mut previous = (0u16, 0u32);
    for index in order {
        let (sequence, blocks) = uses[index];
        let vlf = layout.vlfs()[index];
        let header = VlfHeader::unused(vlf.span, Lsn::ZERO).entered(VlfSequence(sequence));
        let start = vlf.span.offset as usize;
        bytes[start..start + 512].copy_from_slice(&header.encode());
        let mut lsn = Lsn::new(sequence, 16, 1);
        for number in 0..blocks {
            let at = lsn.offset_in_vlf() as usize;
            let origin = BlockOrigin {
                lsn,
                parity: header.parity,
                previous_block_bytes: previous.0,
                sector_bytes: 512,
                bytes_max: vlf.span.bytes as usize - at,
            };
            let mut block = BlockBuilder::new(vec![0; BLOCK_BYTES_MAX], origin).unwrap();
            let is_checkpoint = number == 0 && checkpoint == Some(sequence);
            for kind in if is_checkpoint { [150, 152, 153] } else { [128, 1, 129] } {
                block.try_push(&record(kind, 40)).unwrap();
            }
            let sealed = block.finish(previous.1, 0);
            bytes[start + at..start + at + sealed.bytes].copy_from_slice(&sealed.buffer[..sealed.bytes]);
            previous = (sealed.bytes as u16, sealed.crc);
            lsn = lsn.next_block(sealed.bytes);
        }
    }
    bytes
}

/// Changes bytes, sectors and lengths of a sound file, in ways that keep some of it believable.
pub fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(12) {
        let at = random.below(bytes.len().max(1) as u64) as usize;
        let sector = at / 512 * 512;
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes
                .iter_mut()
                .skip(at)
                .take(1 + random.below(600) as usize)
                .for_each(|byte| *byte = random.next() as u8),
            2 => bytes.iter_mut().skip(sector).take(512).for_each(|byte| *byte = 0),
            3 => {
                // A sector of the file somewhere else: blocks and headers that are sound but misplaced.
                let from = random.below(bytes.len().max(1) as u64) as usize / 512 * 512;
                let copy: Vec<u8> = bytes.iter().skip(from).take(512).copied().collect();
                bytes
                    .iter_mut()
                    .skip(sector)
                    .zip(copy)
                    .for_each(|(byte, new)| *byte = new);
            }
            4 => bytes
                .iter_mut()
                .skip(sector)
                .take(64)
                .for_each(|byte| *byte ^= 1 << random.below(8)),
            _ => {
                if let Some(byte) = bytes.get_mut(sector + random.below(48) as usize) {
                    *byte = random.next() as u8;
                }
            }
        }
    }
}

/// A real log reduced to its first VLFs with `body_bytes` of log blocks each, sizes and offsets in the headers adapted.
pub fn reduced(bytes: &[u8], vlf_count: usize, body_bytes: usize) -> Vec<u8> {
    let found = vlf::survey(bytes).unwrap();
    let mut out = bytes[..8192].to_vec();
    for vlf in found.in_sequence().iter().take(vlf_count) {
        let from = vlf.start_offset as usize;
        let mut part = bytes[from..from + 8192 + body_bytes].to_vec();
        let vlf_bytes = part.len() as u64;
        part[0x10..0x18].copy_from_slice(&vlf_bytes.to_le_bytes());
        part[0x18..0x20].copy_from_slice(&(out.len() as u64).to_le_bytes());
        out.extend(part);
    }
    out
}
