//! Writes a sparse log file of ours: `sparse_log FILE [VLFS] [BLOCKS]`, VLFs of 1 MB, each used once with that many log
//! blocks at its beginning and a hole behind them. For measuring the inspector on logs larger than the disk.
//!
//! ```text
//! cargo run --release -p vlflab-advisor --example sparse_log -- /tmp/sparse.ldf 102400 3
//! ```

use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;

use vlf::{BLOCK_BYTES_MAX, BlockBuilder, BlockOrigin, Lsn, VlfHeader, VlfSequence, VlfSpan};

const VLF_BYTES: u64 = 1 << 20;
const RECORD_BYTES: u16 = 400;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: sparse_log FILE [VLFS] [BLOCKS]")?;
    let vlf_count: u32 = arguments.next().as_deref().unwrap_or("102400").parse()?;
    let block_count: u32 = arguments.next().as_deref().unwrap_or("3").parse()?;
    let file = File::create(path)?;
    file.set_len(8192 + u64::from(vlf_count) * VLF_BYTES)?;
    // Page 0 as SQL Server's own begins: page header version 1, page type 15.
    file.write_all_at(&[1, 15], 0)?;
    let mut record = vec![0; usize::from(RECORD_BYTES)];
    record[..2].copy_from_slice(&RECORD_BYTES.to_le_bytes());
    record[2] = 1;
    let mut previous = (0, 0);
    for index in 0..vlf_count {
        let span = VlfSpan {
            offset: 8192 + u64::from(index) * VLF_BYTES,
            bytes: VLF_BYTES,
        };
        let header = VlfHeader::unused(span, Lsn::new(index / 4, 16, 1)).entered(VlfSequence(index + 1));
        file.write_all_at(&header.encode(), span.offset)?;
        let mut lsn = Lsn::new(index + 1, 16, 1);
        for _ in 0..block_count {
            let origin = BlockOrigin {
                lsn,
                parity: header.parity,
                previous_block_bytes: previous.0,
                sector_bytes: 512,
                bytes_max: BLOCK_BYTES_MAX,
            };
            let mut block = BlockBuilder::new(vec![0; BLOCK_BYTES_MAX], origin).ok_or("no room for a block")?;
            block.try_push(&record).ok_or("no room for a record")?;
            let sealed = block.finish(previous.1, 0);
            let bytes = sealed
                .buffer
                .get(..sealed.bytes)
                .ok_or("a block outside of its buffer")?;
            file.write_all_at(bytes, span.offset + lsn.offset_in_vlf())?;
            previous = (u16::try_from(sealed.bytes)?, sealed.crc);
            lsn = lsn.next_block(sealed.bytes);
        }
    }
    Ok(())
}
