//! The bytes of the kernel's FUSE protocol, version 7.31, in the byte order of this machine
//! (`/usr/include/linux/fuse.h`, from which every layout here is taken).
//!
//! ```text
//!   request   len u32 | opcode u32 | unique u64 | nodeid u64 | uid u32 | gid u32 | pid u32 | extensions u16, 0 u16 | body
//!   answer    len u32 | error i32 (0 or -errno)  | unique u64 | body
//! ```
//!
//! Only what a database server asks of a file system is decoded; every other request is [`Call::Unknown`], which is
//! answered with ENOSYS, and the kernel goes on without.

pub const REQUEST_HEADER_BYTES: usize = 40;
const ANSWER_HEADER_BYTES: usize = 16;
/// The version spoken; the kernel takes any lower minor than its own.
const MAJOR: u32 = 7;
const MINOR: u32 = 31;
/// The most bytes of one write.
pub const WRITE_BYTES_MAX: u32 = 1 << 20;
const PAGE_BYTES: u32 = 4096;
const FUSE_BIG_WRITES: u32 = 1 << 5;
const FUSE_PARALLEL_DIROPS: u32 = 1 << 18;
const FUSE_MAX_PAGES: u32 = 1 << 22;
/// Every read and write comes to us, none is answered from the page cache.
const FOPEN_DIRECT_IO: u32 = 1;
/// Writes of one file may be under way side by side.
const FOPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
const FATTR_MODE: u32 = 1;
const FATTR_SIZE: u32 = 1 << 3;
/// Linux's O_DSYNC; O_SYNC contains it.
const O_DSYNC: u32 = 0o10_000;
/// File type of a directory in `st_mode`.
pub const MODE_DIRECTORY: u32 = 0o040_000;
/// File type of a regular file in `st_mode`.
pub const MODE_FILE: u32 = 0o100_000;

/// One request of the kernel.
#[derive(Debug, PartialEq)]
pub struct Request<'a> {
    /// Its number, which the answer repeats.
    pub unique: u64,
    /// The inode it is about.
    pub node: u64,
    pub call: Call<'a>,
}

/// What is asked of the file system.
#[derive(Debug, PartialEq)]
pub enum Call<'a> {
    Init {
        minor: u32,
    },
    Lookup {
        name: &'a str,
    },
    /// No answer is expected.
    Forget,
    GetAttributes,
    SetAttributes {
        size: Option<u64>,
        mode: Option<u32>,
    },
    MakeDirectory {
        name: &'a str,
        mode: u32,
    },
    Unlink {
        name: &'a str,
    },
    RemoveDirectory {
        name: &'a str,
    },
    Rename {
        name: &'a str,
        target: u64,
        target_name: &'a str,
        no_replace: bool,
    },
    Open,
    OpenDirectory,
    Create {
        name: &'a str,
        mode: u32,
    },
    Read {
        offset: u64,
        size: u32,
    },
    Write {
        offset: u64,
        bytes: &'a [u8],
        durable: bool,
    },
    StatFileSystem,
    Release,
    ReleaseDirectory,
    Sync,
    SyncDirectory,
    /// `close` of a descriptor.
    Flush,
    ReadDirectory {
        offset: u64,
        size: u32,
    },
    Allocate {
        offset: u64,
        length: u64,
        mode: u32,
    },
    Interrupt,
    Unknown {
        opcode: u32,
    },
}

/// What a file system tells of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    pub inode: u64,
    /// Its length in bytes.
    pub size: u64,
    /// Type and permission bits.
    pub mode: u32,
}

struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_ne_bytes)
    }

    /// A name that ends with a zero byte.
    fn name(&mut self) -> Option<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let name = self.take(end)?;
        self.take(1)?;
        std::str::from_utf8(name).ok()
    }
}

impl<'a> Request<'a> {
    /// Reads one request; `None` when its bytes make no sense.
    pub fn parse(bytes: &'a [u8]) -> Option<Request<'a>> {
        let (header, body) = bytes.split_at_checked(REQUEST_HEADER_BYTES)?;
        let mut header = Body(header);
        let (_length, opcode) = (header.u32()?, header.u32()?);
        let (unique, node) = (header.u64()?, header.u64()?);
        let call = parse_call(opcode, Body(body))?;
        Some(Request { unique, node, call })
    }
}

fn parse_call<'a>(opcode: u32, mut body: Body<'a>) -> Option<Call<'a>> {
    Some(match opcode {
        1 => Call::Lookup { name: body.name()? },
        2 | 42 => Call::Forget,
        3 => Call::GetAttributes,
        4 => parse_set_attributes(&mut body)?,
        9 => {
            let (mode, _umask) = (body.u32()?, body.u32()?);
            Call::MakeDirectory {
                name: body.name()?,
                mode,
            }
        }
        10 => Call::Unlink { name: body.name()? },
        11 => Call::RemoveDirectory { name: body.name()? },
        12 | 45 => parse_rename(opcode, &mut body)?,
        14 => Call::Open,
        15 | 28 => {
            let (_handle, offset, size) = (body.u64()?, body.u64()?, body.u32()?);
            if opcode == 15 {
                Call::Read { offset, size }
            } else {
                Call::ReadDirectory { offset, size }
            }
        }
        16 => parse_write(&mut body)?,
        17 => Call::StatFileSystem,
        18 => Call::Release,
        20 => Call::Sync,
        25 => Call::Flush,
        26 => {
            let (_major, minor) = (body.u32()?, body.u32()?);
            Call::Init { minor }
        }
        27 => Call::OpenDirectory,
        29 => Call::ReleaseDirectory,
        30 => Call::SyncDirectory,
        35 => {
            let (_flags, mode, _umask, _open_flags) = (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
            Call::Create {
                name: body.name()?,
                mode,
            }
        }
        36 => Call::Interrupt,
        43 => {
            let (_handle, offset, length, mode) = (body.u64()?, body.u64()?, body.u64()?, body.u32()?);
            Call::Allocate { offset, length, mode }
        }
        opcode => Call::Unknown { opcode },
    })
}

fn parse_set_attributes(body: &mut Body<'_>) -> Option<Call<'static>> {
    let (valid, _padding, _handle, size) = (body.u32()?, body.u32()?, body.u64()?, body.u64()?);
    // Lock owner, three times in seconds and in nanoseconds.
    body.take(8 + 3 * 8 + 3 * 4)?;
    let mode = body.u32()?;
    Some(Call::SetAttributes {
        size: (valid & FATTR_SIZE != 0).then_some(size),
        mode: (valid & FATTR_MODE != 0).then_some(mode),
    })
}

fn parse_rename<'a>(opcode: u32, body: &mut Body<'a>) -> Option<Call<'a>> {
    const RENAME2: u32 = 45;
    const RENAME_NOREPLACE: u32 = 1;
    let target = body.u64()?;
    let mut flags = 0;
    if opcode == RENAME2 {
        flags = body.u32()?;
        body.u32()?;
    }
    if flags & !RENAME_NOREPLACE != 0 {
        return Some(Call::Unknown { opcode });
    }
    Some(Call::Rename {
        target,
        name: body.name()?,
        target_name: body.name()?,
        no_replace: flags & RENAME_NOREPLACE != 0,
    })
}

fn parse_write<'a>(body: &mut Body<'a>) -> Option<Call<'a>> {
    let (_handle, offset, size, _write_flags) = (body.u64()?, body.u64()?, body.u32()?, body.u32()?);
    let (_lock_owner, flags, _padding) = (body.u64()?, body.u32()?, body.u32()?);
    Some(Call::Write {
        offset,
        bytes: body.take(size as usize)?,
        durable: flags & O_DSYNC != 0,
    })
}

/// One answer, put together field by field.
#[derive(Debug)]
pub struct Answer(Vec<u8>);

impl Answer {
    /// Success, without a body as yet.
    pub fn new(unique: u64) -> Answer {
        let mut answer = Answer(Vec::with_capacity(128));
        answer.u32(0).u32(0).u64(unique);
        answer
    }

    /// Failure by an error number of Linux.
    pub fn error(unique: u64, errno: rustix::io::Errno) -> Answer {
        let mut answer = Answer::new(unique);
        answer.0[4..8].copy_from_slice(&(-errno.raw_os_error()).to_ne_bytes());
        answer
    }

    /// The bytes to send.
    pub fn finish(mut self) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }

    fn u32(&mut self, value: u32) -> &mut Answer {
        self.0.extend_from_slice(&value.to_ne_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Answer {
        self.0.extend_from_slice(&value.to_ne_bytes());
        self
    }

    /// The answer to `INIT`; `None` when the kernel is too old.
    pub fn init(unique: u64, kernel_minor: u32) -> Option<Answer> {
        if kernel_minor < MINOR {
            return None;
        }
        let mut answer = Answer::new(unique);
        let flags = FUSE_BIG_WRITES | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES;
        answer.u32(MAJOR).u32(MINOR).u32(0).u32(flags);
        // Background requests and where they count as congestion, two u16; then write size and resolution of times.
        answer.u32(64 | 48 << 16).u32(WRITE_BYTES_MAX).u32(1);
        // Pages of a request as u16, alignment of mappings as u16.
        answer.u32(WRITE_BYTES_MAX / PAGE_BYTES);
        for _ in 0..8 {
            answer.u32(0);
        }
        Some(answer)
    }

    fn attributes(&mut self, attributes: &Attributes) -> &mut Answer {
        let blocks = attributes.size.div_ceil(u64::from(PAGE_BYTES)) * u64::from(PAGE_BYTES / 512);
        self.u64(attributes.inode).u64(attributes.size).u64(blocks);
        // Three times in seconds, three in nanoseconds: always 1970.
        self.u64(0).u64(0).u64(0).u32(0).u32(0).u32(0);
        // Mode, links, user, group, device, block size, flags.
        self.u32(attributes.mode)
            .u32(1)
            .u32(0)
            .u32(0)
            .u32(0)
            .u32(PAGE_BYTES)
            .u32(0)
    }

    /// Body of the answers to `LOOKUP`, `MKDIR` and (with [`Answer::open`]) `CREATE`. Nothing of it may be cached.
    pub fn entry(&mut self, attributes: &Attributes) -> &mut Answer {
        // Node, generation, how long name and attributes are good for in seconds and nanoseconds.
        self.u64(attributes.inode).u64(0).u64(0).u64(0).u32(0).u32(0);
        self.attributes(attributes)
    }

    /// Body of the answers to `GETATTR` and `SETATTR`.
    pub fn attribute_answer(&mut self, attributes: &Attributes) -> &mut Answer {
        self.u64(0).u32(0).u32(0).attributes(attributes)
    }

    /// Body of the answer to `OPEN`. The handle is not used: requests name the inode.
    pub fn open(&mut self) -> &mut Answer {
        self.u64(0).u32(FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES).u32(0)
    }

    /// Body of the answer to `OPENDIR`.
    pub fn open_directory(&mut self) -> &mut Answer {
        self.u64(0).u32(0).u32(0)
    }

    /// Body of the answer to `READ` and `READDIR`.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Answer {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Body of the answer to `WRITE`.
    pub fn written(&mut self, count: u32) -> &mut Answer {
        self.u32(count).u32(0)
    }

    /// Body of the answer to `STATFS`: blocks of 4 KB.
    pub fn file_system(&mut self, blocks: u64, free: u64) -> &mut Answer {
        self.u64(blocks).u64(free).u64(free).u64(1 << 20).u64(1 << 20);
        self.u32(PAGE_BYTES).u32(255).u32(PAGE_BYTES).u32(0);
        for _ in 0..6 {
            self.u32(0);
        }
        self
    }

    /// Appends one entry of a directory while the body stays within `size`; false when it does not fit any more.
    pub fn directory_entry(&mut self, size: u32, inode: u64, next_offset: u64, mode: u32, name: &str) -> bool {
        let padded = name.len().next_multiple_of(8);
        if self.0.len() - ANSWER_HEADER_BYTES + 24 + padded > size as usize {
            return false;
        }
        self.u64(inode).u64(next_offset).u32(name.len() as u32).u32(mode >> 12);
        self.0.extend_from_slice(name.as_bytes());
        self.0.resize(self.0.len() + padded - name.len(), 0);
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request(opcode: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&((REQUEST_HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        bytes.extend_from_slice(&opcode.to_ne_bytes());
        bytes.extend_from_slice(&77_u64.to_ne_bytes());
        bytes.extend_from_slice(&5_u64.to_ne_bytes());
        bytes.resize(REQUEST_HEADER_BYTES, 0);
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn a_durable_write_is_told_from_a_volatile_one() {
        for (flags, expected) in [(0_u32, false), (O_DSYNC, true), (0o4_010_000, true), (0o40_000, false)] {
            let mut body = Vec::new();
            body.extend_from_slice(&0_u64.to_ne_bytes());
            body.extend_from_slice(&512_u64.to_ne_bytes());
            body.extend_from_slice(&3_u32.to_ne_bytes());
            body.extend_from_slice(&[0; 12]);
            body.extend_from_slice(&flags.to_ne_bytes());
            body.extend_from_slice(&[0; 4]);
            body.extend_from_slice(b"abc");
            let bytes = request(16, &body);
            let parsed = Request::parse(&bytes).unwrap();
            assert_eq!((parsed.unique, parsed.node), (77, 5));
            let expected = Call::Write {
                offset: 512,
                bytes: b"abc",
                durable: expected,
            };
            assert_eq!(parsed.call, expected);
        }
    }

    #[test]
    fn a_request_cut_anywhere_is_no_request() {
        let bytes = request(12, b"\x09\0\0\0\0\0\0\0old\0new\0");
        let whole = Call::Rename {
            name: "old",
            target: 9,
            target_name: "new",
            no_replace: false,
        };
        assert_eq!(Request::parse(&bytes).unwrap().call, whole);
        for length in 0..bytes.len() {
            assert_eq!(Request::parse(&bytes[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn answers_have_the_sizes_of_the_protocol() {
        let attributes = Attributes {
            inode: 2,
            size: 4097,
            mode: MODE_FILE | 0o640,
        };
        let length = |build: &dyn Fn(&mut Answer)| {
            let mut answer = Answer::new(1);
            build(&mut answer);
            let bytes = answer.finish();
            assert_eq!(bytes[..4], (bytes.len() as u32).to_ne_bytes());
            bytes.len() - ANSWER_HEADER_BYTES
        };
        assert_eq!(length(&|answer| _ = answer.entry(&attributes)), 128);
        assert_eq!(length(&|answer| _ = answer.attribute_answer(&attributes)), 104);
        assert_eq!(length(&|answer| _ = answer.open()), 16);
        assert_eq!(length(&|answer| _ = answer.file_system(1, 1)), 80);
        assert_eq!(Answer::init(1, 38).unwrap().finish().len(), ANSWER_HEADER_BYTES + 64);
        assert!(Answer::init(1, 30).is_none());
    }
}
