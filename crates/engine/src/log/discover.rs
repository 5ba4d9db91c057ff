//! Finding the VLFs when a database starts: the pause before the first line of recovery.
//!
//! Classic walks: each header names the size of its VLF and so the place of the next, one small synchronous read after the
//! other. Native takes all offsets from the directory in page 0 and reads the headers with many reads in flight. Both check
//! every header.
//!
//! | page 0 | length of the file | what is done |
//! |---|---|---|
//! | sound | as page 0 says | by policy |
//! | sound | longer | a growth or shrink was cut short: the rest is cut off |
//! | sound | shorter | 9004: the file was cut |
//! | sound, directory overflow | as page 0 says | walk |
//! | checksum wrong | any | its rewrite was torn: walk to the end of the file, write the page again |
//! | sound, another file id | any | 9004: the files were mixed up |
//! | anything else | any | 9004: not a log file of ours |

use super::files::{LogFileSpec, write_page};
use super::policy::DiscoveryMode;
use super::table::{LogFile, Vlf, WRITTEN_ALL};
use crate::error::{Error, Result};
use crate::seams::{Background, Environment};
use crate::waits::WaitType;
use disk::{Access, AlignedBuffer, DiskError, DiskErrorKind, File};
use vlf::{
    FIRST_VLF_OFFSET, FileHeader, FileHeaderFault, LayoutRun, LogLayout, PAGE_BYTES, ServerVersion, VLF_HEADER_BYTES,
    VlfHeader, VlfSpan,
};

/// Reads in flight when headers are read in parallel.
const READERS: usize = 16;
/// Headers below which threads cost more than they bring.
const PARALLEL_VLFS_MIN: usize = 64;
/// Bytes read per header: the sector with its data, in the unit of direct reads.
const HEADER_READ_BYTES: usize = 4096;

/// How long it took to find the VLFs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discovery {
    /// VLFs in all files.
    pub vlf_count: usize,
    /// Time in ms.
    pub ms: u64,
    /// The same in microseconds.
    pub micros: u64,
}

/// Opens one log file and finds its VLFs.
pub(super) struct Discoverer<'a> {
    pub(super) env: &'a Environment,
    pub(super) database: &'a str,
    pub(super) mode: DiscoveryMode,
    pub(super) version: ServerVersion,
}

impl Discoverer<'_> {
    pub(super) fn open(&self, spec: &LogFileSpec) -> Result<LogFile> {
        let path = spec.path.display().to_string();
        let handle = self.env.disk.open(&spec.path, Access::Direct).map_err(|error| {
            let cause = Error::cause(&error);
            self.env
                .errorlog
                .write_error("Server", &Error::file_open_failed(&path, spec.file_id, &cause));
            Error::cannot_open_file(&path, &cause)
        })?;
        let (page, headers) = self.read(spec, &*handle).map_err(|fault| match fault {
            Fault::Disk(error) => Error::cannot_open_file(&path, &Error::cause(&error)),
            Fault::Damage(what) => Error::log_damaged(self.database, &format!("file '{path}': {what}")),
        })?;
        let layout = match page.layout() {
            Some(layout) => layout,
            None => layout_of(page.server_version, &headers)
                .ok_or_else(|| Error::log_damaged(self.database, &format!("file '{path}': its VLFs do not add up")))?,
        };
        Ok(LogFile {
            path: spec.path.clone(),
            logical_name: spec.logical_name.clone(),
            handle,
            max_bytes: spec.max_bytes,
            growth: spec.growth,
            page,
            layout,
            vlfs: headers.into_iter().map(found_vlf).collect(),
        })
    }

    fn read(&self, spec: &LogFileSpec, file: &dyn File) -> std::result::Result<(FileHeader, Vec<VlfHeader>), Fault> {
        let file_bytes = file.len()?;
        let mut bytes = AlignedBuffer::with_len(PAGE_BYTES as usize);
        if file_bytes < PAGE_BYTES {
            return Err(Fault::Damage(format!("it has {file_bytes} bytes, less than a page")));
        }
        file.read_at(0, &mut bytes)?;
        let page = match FileHeader::decode(&bytes) {
            Ok(page) => page,
            Err(FileHeaderFault::Checksum) => return self.rebuild(spec, file, file_bytes),
            Err(fault) => return Err(Fault::Damage(fault.to_string())),
        };
        if page.file_id != spec.file_id {
            let (found, wanted) = (page.file_id, spec.file_id);
            return Err(Fault::Damage(format!(
                "it is file {found} of its database, not file {wanted}"
            )));
        }
        if file_bytes < page.file_bytes {
            let wanted = page.file_bytes;
            return Err(Fault::Damage(format!(
                "the file was cut: it has {file_bytes} of {wanted} bytes"
            )));
        }
        if file_bytes > page.file_bytes {
            file.set_len(page.file_bytes)?;
            file.sync()?;
        }
        let directory = page.layout().filter(|_| self.mode == DiscoveryMode::Directory);
        let headers = match directory {
            Some(layout) => {
                let spans: Vec<VlfSpan> = layout.vlfs().iter().map(|laid| laid.span).collect();
                self.read_all(file, &spans)?
            }
            None => self.walk(file, page.file_bytes)?,
        };
        Ok((page, headers))
    }

    /// Page 0 was torn while it was rewritten: the headers say what it should say.
    fn rebuild(
        &self,
        spec: &LogFileSpec,
        file: &dyn File,
        file_bytes: u64,
    ) -> std::result::Result<(FileHeader, Vec<VlfHeader>), Fault> {
        let headers = self.walk(file, file_bytes)?;
        let layout =
            layout_of(self.version, &headers).ok_or_else(|| Fault::Damage("its VLFs do not add up".to_string()))?;
        let mut page = FileHeader {
            file_id: spec.file_id,
            database_id: [0; 16],
            created_ticks: self.env.clock.unix_micros(),
            server_version: self.version,
            sector_bytes: if file.sector_bytes() >= 4096 { 4096 } else { 512 },
            generation: 1,
            file_bytes,
            directory: None,
        };
        page.set_layout(&layout);
        write_page(file, &page)?;
        Ok((page, headers))
    }

    /// Header after header, in order.
    fn walk(&self, file: &dyn File, end: u64) -> std::result::Result<Vec<VlfHeader>, Fault> {
        let mut headers = Vec::new();
        let mut buffer = AlignedBuffer::with_len(HEADER_READ_BYTES);
        let mut offset = FIRST_VLF_OFFSET;
        while offset < end {
            let read = || read_header(file, offset, &mut buffer);
            let header = self.env.waits.time(&*self.env.clock, WaitType::IoCompletion, read)?;
            offset = offset.saturating_add(header.vlf_bytes);
            headers.push(header);
        }
        if offset != end {
            return Err(Fault::Damage(format!(
                "its last VLF ends at byte {offset}, the file at {end}"
            )));
        }
        Ok(headers)
    }

    /// All headers; a thread for each part of the file, so that many reads are in flight.
    fn read_all(&self, file: &dyn File, spans: &[VlfSpan]) -> std::result::Result<Vec<VlfHeader>, Fault> {
        if self.env.background == Background::Inline || spans.len() < PARALLEL_VLFS_MIN {
            return read_part(file, spans);
        }
        std::thread::scope(|scope| {
            let parts = spans.chunks(spans.len().div_ceil(READERS));
            let readers: Vec<_> = parts.map(|part| scope.spawn(|| read_part(file, part))).collect();
            let mut headers = Vec::with_capacity(spans.len());
            for reader in readers {
                let part = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                headers.extend(part?);
            }
            Ok(headers)
        })
    }
}

fn read_part(file: &dyn File, spans: &[VlfSpan]) -> std::result::Result<Vec<VlfHeader>, Fault> {
    let mut buffer = AlignedBuffer::with_len(HEADER_READ_BYTES);
    let mut headers = Vec::with_capacity(spans.len());
    for span in spans {
        let header = read_header(file, span.offset, &mut buffer)?;
        if header.vlf_bytes != span.bytes {
            let (offset, wanted, found) = (span.offset, span.bytes, header.vlf_bytes);
            let text = format!("the VLF at byte {offset} has {found} bytes instead of {wanted}");
            return Err(Fault::Damage(text));
        }
        headers.push(header);
    }
    Ok(headers)
}

/// Why a file cannot be used.
enum Fault {
    Disk(DiskError),
    Damage(String),
}

impl From<DiskError> for Fault {
    fn from(error: DiskError) -> Fault {
        Fault::Disk(error)
    }
}

fn read_header(file: &dyn File, offset: u64, buffer: &mut AlignedBuffer) -> std::result::Result<VlfHeader, Fault> {
    file.read_at(offset, buffer).map_err(|error| match error.kind {
        DiskErrorKind::UnexpectedEnd => Fault::Damage(format!("it ends inside the VLF header at byte {offset}")),
        _ => Fault::Disk(error),
    })?;
    VlfHeader::decode_at(buffer, offset)
        .map_err(|fault| Fault::Damage(format!("the VLF header at byte {offset}: {fault}")))
}

fn found_vlf(header: VlfHeader) -> Vlf {
    Vlf {
        header,
        active: false,
        written_bytes: if header.use_count == 0 {
            VLF_HEADER_BYTES
        } else {
            WRITTEN_ALL
        },
    }
}

/// The layout that headers describe; VLFs of one growth share its LSN.
fn layout_of(version: ServerVersion, headers: &[VlfHeader]) -> Option<LogLayout> {
    let mut runs = Vec::new();
    for step in headers.chunk_by(|a, b| a.create_lsn == b.create_lsn) {
        let (last, others) = step.split_last()?;
        let vlf_bytes = others.first().map_or(last.vlf_bytes, |vlf| vlf.vlf_bytes);
        if others.iter().all(|vlf| vlf.vlf_bytes == vlf_bytes) {
            runs.push(LayoutRun {
                vlf_count: u32::try_from(step.len()).ok()?,
                vlf_bytes,
                last_vlf_bytes: last.vlf_bytes,
                repeat: 1,
            });
        } else {
            let single = |vlf: &VlfHeader| LayoutRun {
                vlf_count: 1,
                vlf_bytes: vlf.vlf_bytes,
                last_vlf_bytes: vlf.vlf_bytes,
                repeat: 1,
            };
            runs.extend(step.iter().map(single));
        }
    }
    let end = headers.last()?.span().end();
    LogLayout::from_runs(version, end, &runs)
}
