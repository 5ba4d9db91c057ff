//! Writes backups as SQL Server does: descriptor blocks, streams, sets; plain, compressed, or dealt out to several files.
//!
//! The layout is that of `genuine::container`; the bytes are put together here a second time, so that the reader is not its own judge.

use vlf::{Lsn, SECTOR_BYTES};

/// Bytes of a physical block, and of what a block of descriptors is padded to.
pub const PHYSICAL_BYTES: usize = 512;
const UNIT_BYTES: usize = 1024;

/// A backup set in the making.
#[derive(Clone, Default)]
pub struct SetWriter {
    pub kind: u32,
    /// Of `msdb.dbo.backupset.type`; 0 for the one that `kind` says.
    pub letter: u8,
    pub name: String,
    pub database: String,
    pub database_version: u16,
    pub first_lsn: Lsn,
    pub last_lsn: Lsn,
    pub checkpoint_lsn: Lsn,
    /// Of a differential and a log set: the checkpoint of the full one before it.
    pub base_lsn: Lsn,
    /// Every byte of the GUID of the family.
    pub family: u8,
    /// Every byte of the GUID of the fork that a restore began, and where; the fork before is that of the family.
    pub fork: Option<(u8, Lsn)>,
    /// Every byte of the GUID of the set that a differential one is based on.
    pub base_guid: u8,
    /// Every byte of the GUID of the set.
    pub guid: u8,
    /// Size of the data file.
    pub file_bytes: u64,
    /// Extents of 64 KB, a list for each MSDA.
    pub data: Vec<Vec<Vec<u8>>>,
    /// VLFs: sequence, offset and size, and the log in the backup with its place.
    pub vlfs: Vec<VlfWriter>,
    pub log_file_bytes: u64,
}

/// A VLF of the source.
#[derive(Clone)]
pub struct VlfWriter {
    pub sequence: u32,
    pub start: u64,
    pub bytes: u64,
    pub format: u16,
    pub from: u64,
    pub log: Vec<u8>,
}

/// A media file in the making.
pub struct MediaWriter {
    pub bytes: Vec<u8>,
    /// Where each file mark begins.
    pub marks: Vec<usize>,
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum = bytes
        .chunks_exact(2)
        .fold(0, |sum, pair| sum ^ u16::from_le_bytes([pair[0], pair[1]]));
    sum.to_le_bytes()
}

/// Fields of a block: its bytes grow as needed, and its text goes behind them.
struct BlockWriter(Vec<u8>);

impl BlockWriter {
    fn new(tag: &[u8; 4], bytes: usize) -> BlockWriter {
        let mut block = vec![0; bytes];
        block[..4].copy_from_slice(tag);
        block[48] = 2;
        BlockWriter(block)
    }

    fn put(mut self, offset: usize, value: &[u8]) -> BlockWriter {
        self.0[offset..offset + value.len()].copy_from_slice(value);
        self
    }

    fn text(mut self, field: usize, text: &str) -> BlockWriter {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let place = [units.len() as u16, self.0.len() as u16];
        self.0[field..field + 2].copy_from_slice(&place[0].to_le_bytes());
        self.0[field + 2..field + 4].copy_from_slice(&place[1].to_le_bytes());
        self.0.extend(units);
        self
    }
}

impl MediaWriter {
    /// The media header of file `family` (from 1) of `families`.
    pub fn new(family: u16, families: u16) -> MediaWriter {
        let mut media = MediaWriter {
            bytes: Vec::new(),
            marks: Vec::new(),
        };
        let mut raid = vec![0xAD; 20];
        raid.extend(
            [families, 1, family, 0, 0, 1]
                .iter()
                .flat_map(|word: &u16| word.to_le_bytes()),
        );
        let tape = BlockWriter::new(b"TAPE", 94).text(80, "a test");
        media.block(tape, &[(b"RAID", raid)]);
        media.mark();
        media
    }

    fn block(&mut self, block: BlockWriter, streams: &[(&[u8; 4], Vec<u8>)]) {
        let mut bytes = block.0;
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let first = (bytes.len() as u16).to_le_bytes();
        bytes[8..10].copy_from_slice(&first);
        let sum = checksum(&bytes[..50]);
        bytes[50..52].copy_from_slice(&sum);
        self.bytes.extend(bytes);
        for (tag, content) in streams {
            self.stream(tag, content);
        }
        let place = self.bytes.len() + 22;
        self.stream(b"SPAD", &vec![0; place.next_multiple_of(UNIT_BYTES) - place]);
        self.bytes.truncate(place.next_multiple_of(UNIT_BYTES));
    }

    fn stream(&mut self, tag: &[u8; 4], content: &[u8]) {
        let mut head = vec![0; 22];
        head[..4].copy_from_slice(tag);
        head[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
        let sum = checksum(&head[..20]);
        head[20..22].copy_from_slice(&sum);
        self.bytes.extend(head);
        self.bytes.extend(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn mark(&mut self) {
        self.marks.push(self.bytes.len());
        let mut block = BlockWriter::new(b"SFMB", PHYSICAL_BYTES).0;
        block[8..10].copy_from_slice(&(PHYSICAL_BYTES as u16).to_le_bytes());
        let sum = checksum(&block[..50]);
        block[50..52].copy_from_slice(&sum);
        self.bytes.extend(block);
    }

    /// Appends a set.
    pub fn set(&mut self, number: u16, set: &SetWriter) -> &mut MediaWriter {
        let header = BlockWriter::new(b"SSET", 116)
            .put(52, &set.kind.to_le_bytes())
            .put(62, &number.to_le_bytes())
            .put(100, &[set.guid; 16])
            .text(64, &set.name);
        self.block(header, &[]);
        self.block(BlockWriter::new(b"MSCI", 56), &[(b"MQCI", set.configuration(false))]);
        for extents in &set.data {
            let mut content = vec![0; 2];
            extents.iter().for_each(|extent| content.extend(extent));
            self.block(
                BlockWriter::new(b"MSDA", 60),
                &[(b"APAD", vec![0; 3]), (b"MQDA", content), (b"MQDA", vec![])],
            );
        }
        for vlf in &set.vlfs {
            let block = BlockWriter::new(b"MSTL", 128)
                .put(60, &vlf.from.to_le_bytes())
                .put(68, &(vlf.from + vlf.log.len() as u64).to_le_bytes())
                .put(76, &2u32.to_le_bytes())
                .put(80, &[36, 0, 92, 0])
                .put(92, &vlf.sequence.to_le_bytes())
                .put(96, &vlf.bytes.to_le_bytes())
                .put(104, &vlf.start.to_le_bytes())
                .put(114, &[if vlf.sequence == 0 { 0 } else { 0x40 }])
                .put(126, &vlf.format.to_le_bytes());
            let mut content = vec![0; 2];
            content.extend(&vlf.log);
            content.resize(2 + vlf.log.len().next_multiple_of(65_536), 0);
            let streams = if vlf.log.is_empty() {
                vec![]
            } else {
                vec![(b"MQTL", content)]
            };
            self.block(block, &streams);
        }
        self.block(BlockWriter::new(b"MSLS", 56), &[(b"MQCI", set.configuration(true))]);
        self.mark();
        self.block(BlockWriter::new(b"ESET", 88), &[]);
        self.mark();
        self
    }

    /// The file as it is with COMPRESSION, in chunks of `version`. Each chunk goes through `pack`.
    pub fn compressed(&self, version: u32, pack: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
        let mut file = b"MSSQLBAK".to_vec();
        file.extend(version.to_le_bytes());
        file.resize(0x1E0, 0);
        let mut place = 0;
        for mark in &self.marks {
            for chunk in self.bytes[place..*mark].chunks(65_536) {
                let payload = pack(chunk);
                file.extend([0x21, (chunk.len() / SECTOR_BYTES) as u8]);
                file.extend((payload.len() as u16).to_le_bytes());
                if version >= 2 {
                    file.extend([0xFF; 16]);
                    file.extend([0; 4]);
                }
                file.extend([0x5A; 4]);
                file.extend(payload);
            }
            // Stale bytes up to the physical block of the file mark.
            file.resize(file.len().next_multiple_of(PHYSICAL_BYTES), 0x2C);
            file.extend(&self.bytes[*mark..mark + PHYSICAL_BYTES]);
            place = mark + PHYSICAL_BYTES;
        }
        file
    }
}

impl SetWriter {
    fn letter_of_kind(&self) -> u8 {
        match (self.letter, self.kind & !2) {
            (0, 8) => b'I',
            (0, 0x10) => b'L',
            (0, _) => b'D',
            (letter, _) => letter,
        }
    }

    /// Its first LSN: where that is not said, that of its first VLF, or, without log, its last LSN.
    fn begins_at(&self) -> Lsn {
        let first_vlf = self
            .vlfs
            .iter()
            .filter(|vlf| !vlf.log.is_empty())
            .map(|vlf| vlf.sequence)
            .min();
        match (self.first_lsn == Lsn::ZERO, first_vlf) {
            (false, _) => self.first_lsn,
            (true, Some(vlf)) => Lsn::new(vlf, 16, 1).min(self.last_lsn),
            (true, None) => self.last_lsn,
        }
    }

    fn configuration(&self, at_end: bool) -> Vec<u8> {
        let date = [0x1F, 0x9C, 0x5A, 0x0A, 0x25];
        let ended = if at_end { date } else { [0; 5] };
        let mut out = BlockWriter::new(b"SCIN", 0x190)
            .put(48, &[0])
            .put(0x18, &[0xD0, 0x07, 0, 15])
            .put(0x20, &self.begins_at().to_bytes())
            .put(0x2A, &self.last_lsn.to_bytes())
            .put(0x34, &self.checkpoint_lsn.to_bytes())
            .put(0x3E, &self.base_lsn.to_bytes())
            .put(0xE0, &[self.family; 16])
            .put(0x9C, &[self.fork.map_or(self.family, |(fork, _)| fork); 16])
            .put(0xAC, &self.fork.map_or(Lsn::ZERO, |(_, point)| point).to_bytes())
            .put(0xB8, &[self.fork.map_or(0, |_| self.family); 16])
            .put(0xC8, &[self.base_guid; 16])
            .put(0x48, &date)
            .put(0x4D, &date)
            .put(0x52, &ended)
            .put(0x57, &[self.letter_of_kind()])
            .put(0x5B, &[150])
            .put(0x5E, &self.database_version.to_le_bytes())
            .text(0x68, &self.database)
            .text(0x6C, "SERVER")
            .sized();
        out.extend(
            BlockWriter::new(b"SFGI", 0x31)
                .put(48, &[0])
                .put(0x14, &[1, 0])
                .text(0x10, "PRIMARY")
                .sized(),
        );
        let pages = (self.data.iter().map(Vec::len).sum::<usize>() * 8) as u32;
        for (id, filegroup, pages, bytes, name) in [
            (1u8, 1u8, pages, self.file_bytes, "data"),
            (2, 0, 0, self.log_file_bytes, "log"),
        ] {
            out.extend(
                BlockWriter::new(b"SFIN", 0x80)
                    .put(48, &[0])
                    .put(0x14, &[id])
                    .put(0x18, &pages.to_le_bytes())
                    .put(0x1C, &[2 - filegroup])
                    .put(0x24, &[filegroup])
                    .put(0x28, &bytes.to_le_bytes())
                    .text(0x30, name)
                    .text(0x34, &format!("C:\\{name}.file"))
                    .sized(),
            );
        }
        out
    }
}

impl BlockWriter {
    /// A part of the configuration: its length at 4.
    fn sized(self) -> Vec<u8> {
        let mut bytes = self.0;
        let length = (bytes.len() as u32).to_le_bytes();
        bytes[4..8].copy_from_slice(&length);
        bytes
    }
}

/// LZ77 with a Huffman code in which every symbol has 9 bits; copies of 3 to 17 bytes from up to 4 KB back.
pub fn pack_huffman(input: &[u8]) -> Vec<u8> {
    let mut bits: Vec<(u32, u32)> = Vec::new();
    let mut at = 0;
    while at < input.len() {
        let back = (1..=at.min(4096)).find(|back| {
            input[at..].starts_with(&input[at - back..][..3.min(*back)]) && input.len() - at > 3 && *back >= 3
        });
        let Some(back) = back else {
            bits.push((u32::from(input[at]), 9));
            at += 1;
            continue;
        };
        let length = (0..(input.len() - at).min(17))
            .take_while(|i| input[at + i] == input[at + i - back])
            .count();
        let power = back.ilog2();
        bits.push((256 + 16 * power + (length as u32 - 3), 9));
        bits.push((back as u32 - (1 << power), power));
        at += length;
    }
    let mut out = vec![0x99; 256];
    let (mut held, mut count) = (0u64, 0);
    for (value, width) in bits {
        held = held << width | u64::from(value);
        count += width;
        while count >= 16 {
            count -= 16;
            out.extend(((held >> count) as u16).to_le_bytes());
        }
    }
    out.extend(((held << (16 - count)) as u16).to_le_bytes());
    out.extend([0; 4]);
    out
}

/// A frame of Zstandard.
pub fn pack_zstandard(input: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(input, 1).unwrap()
}
