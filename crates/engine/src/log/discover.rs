//! Finding the VLFs at database startup: the pause before the first line of recovery.
//!
//! Classic walks the file: each header gives the size of its VLF and so the offset of the next, one small synchronous read after another.
//! Native takes all offsets from page 0 and the VLF states from the directory ([`super::directory`]), and reads only the few headers that
//! must be newer. Without a trusted directory it reads all headers, with many reads in flight.
//!
//! | at a VLF's offset | page 0 lists the VLF, and headers are written when entered | otherwise |
//! |---|---|---|
//! | its header | as it says | as it says |
//! | 512 zero bytes | never entered; its size is page 0's | 9004 |
//! | a header with a size other than page 0's | 9004 | 9004 if page 0 lists the VLF |
//! | anything else | 9004 | 9004 |
//!
//! A header that was lost and reads as zeros is detected later: as a gap in the sequences
//! ([`LogManager::require`](super::LogManager::require)), or after the end of the log ([`super::scan`]). For page 0 itself see
//! [`super::page_zero`].
//!
//! A header per VLF, as in SQL Server's files, splits an extent of reserved space each time. That makes creating, restoring and deleting
//! logs with very many VLFs slow, so under the native policy a header is written only when the log enters the VLF. Until then the header's
//! contents come from elsewhere:
//!
//! | what | from |
//! |---|---|
//! | size and offset | the runs of page 0. VLFs beyond the runs that fit into page 0 have headers |
//! | that it was not entered | 512 zero bytes in its place, if page 0 has the flag "headers when entered" and lists the VLF; without the flag, zeros are damage |
//! | its create LSN | the directory of VLF states; page 0 has those of the last sixteen growths, and the directory is saved after every eighth. Without the directory, older growths show 0 |
//!
//! One case stays undetected: if the last VLF's header is lost together with all but its first write, that looks like a write that never
//! finished.

use super::directory::{DirectoryState, Entry, Recorded};
use super::files::LogFileSpec;
use super::follow::{Known, Source, follow};
use super::policy::DiscoveryMode;
use super::table::{LogFile, Vlf, VlfTable, WRITTEN_ALL};
use crate::error::{Error, Result};
use crate::seams::{Background, Environment};
use crate::waits::WaitType;
use disk::{Access, AlignedBuffer, DiskError, DiskErrorKind, File};
use std::ops::Range;
use std::sync::Arc;
use vlf::{
    FIRST_VLF_OFFSET, FileHeader, LayoutRun, LayoutSteps, LogLayout, Lsn, Parity, SECTOR_BYTES, ServerVersion,
    VLF_HEADER_BYTES, VlfHeader, VlfSequence, VlfSpan,
};

/// Reads in flight when headers are read in parallel.
const READERS: usize = 16;
/// VLFs entered last whose headers must say what the directory says before it is believed.
const WITNESSES: u32 = 4;
/// Headers below which threads cost more than they bring.
const PARALLEL_VLFS_MIN: usize = 64;
/// Bytes read per header: the sector with its data, in the unit of direct reads.
const HEADER_READ_BYTES: usize = 4096;

/// How long it took to find the VLFs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discovery {
    /// VLFs in all files.
    pub vlf_count: usize,
    /// VLF headers that had to be read.
    pub headers_read: usize,
    /// Time in ms.
    pub ms: u64,
    /// The same in microseconds.
    pub micros: u64,
    /// What of them a modelled device took; `None` where devices are what they are.
    pub device_micros: Option<u64>,
}

/// Opens the log files and finds their VLFs.
pub(super) struct Discoverer<'a> {
    pub(super) env: &'a Environment,
    pub(super) database: &'a str,
    pub(super) mode: DiscoveryMode,
    pub(super) version: ServerVersion,
}

pub(super) struct Found {
    pub(super) table: VlfTable,
    pub(super) directory: DirectoryState,
    pub(super) headers_read: usize,
}

/// A log file whose page 0 was read.
struct OpenedFile<'a> {
    spec: &'a LogFileSpec,
    handle: Arc<dyn File>,
    page: FileHeader,
    /// Read already, to make page 0 again.
    walked: Option<Vec<VlfHeader>>,
}

impl Discoverer<'_> {
    pub(super) fn open(&self, specs: &[LogFileSpec]) -> Result<Found> {
        let opened: Result<Vec<OpenedFile<'_>>> = specs.iter().map(|spec| self.open_file(spec)).collect();
        let mut opened = opened?;
        opened.sort_by_key(|file| file.spec.file_id);
        let recorded = match self.mode {
            DiscoveryMode::Directory => self.by_directory(&opened),
            DiscoveryMode::Walk => None,
        };
        let (vlfs, needed, directory, headers_read) = match recorded {
            Some(states) => (states.vlfs, states.needed, states.directory, states.headers_read),
            None => {
                let vlfs: Result<Vec<_>> = opened.iter().map(|file| self.by_headers(file)).collect();
                let vlfs = vlfs?;
                let headers_read = vlfs.iter().map(Vec::len).sum();
                (vlfs, 0, DirectoryState::default(), headers_read)
            }
        };
        let files = opened.into_iter().zip(vlfs).map(|(file, vlfs)| {
            let id = file.spec.file_id;
            Ok((id, self.log_file(file, vlfs)?))
        });
        let twice = |sequence| {
            let what = format!("two VLFs have the sequence number {sequence}");
            Error::log_damaged(self.database, &what)
        };
        let table = VlfTable::opened(files.collect::<Result<_>>()?, needed).map_err(twice)?;
        Ok(Found {
            table,
            directory,
            headers_read,
        })
    }

    fn open_file<'s>(&self, spec: &'s LogFileSpec) -> Result<OpenedFile<'s>> {
        let path = spec.path.display().to_string();
        let handle = self.env.disk.open(&spec.path, Access::Direct);
        let handle = handle.and_then(|file| file.lock().map(|()| file)).map_err(|error| {
            let cause = Error::cause(&error);
            self.env
                .errorlog
                .write_error("Server", &Error::file_open_failed(&path, spec.file_id, &cause));
            Error::cannot_open_file(&path, &cause)
        })?;
        // A server that was killed may have left log in the system's cache alone. What is read here is built upon: boot
        // records and truncation will rely on it, so it is made durable first.
        handle
            .sync()
            .map_err(|error| Error::cannot_open_file(&path, &Error::cause(&error)))?;
        let (page, walked) = self
            .read_page(spec, &*handle)
            .map_err(|fault| self.explain(fault, spec))?;
        Ok(OpenedFile {
            spec,
            handle,
            page,
            walked,
        })
    }

    fn explain(&self, fault: Fault, spec: &LogFileSpec) -> Error {
        let path = spec.path.display().to_string();
        match fault {
            Fault::Disk(error) => Error::cannot_open_file(&path, &Error::cause(&error)),
            Fault::Damage(what) => Error::log_damaged(self.database, &format!("file '{path}': {what}")),
        }
    }

    /// Every VLF of a file by its header, found the policy's way.
    fn by_headers(&self, file: &OpenedFile<'_>) -> Result<Vec<Vlf>> {
        let may_lack_headers = may_lack_headers(&file.page);
        let found = |header: VlfHeader| found_vlf(header, may_lack_headers);
        if let Some(headers) = &file.walked {
            return Ok(headers.iter().copied().map(found).collect());
        }
        let headers = match self.mode {
            DiscoveryMode::Directory => self.read_all(file, &named_spans(&file.page)).and_then(|mut headers| {
                headers.extend(self.walk_behind(file, file.page.named_end())?);
                Ok(headers)
            }),
            DiscoveryMode::Walk => self.walk_behind(file, FIRST_VLF_OFFSET),
        };
        let headers = headers.map_err(|fault| self.explain(fault, file.spec))?;
        Ok(headers.into_iter().map(found).collect())
    }

    fn log_file(&self, file: OpenedFile<'_>, vlfs: Vec<Vlf>) -> Result<LogFile> {
        let by_headers = || {
            let headers: Vec<VlfHeader> = vlfs.iter().map(|vlf| vlf.header).collect();
            Some(LayoutSteps::of(&layout_of(file.page.server_version, &headers)?))
        };
        let steps = file.page.steps().or_else(by_headers);
        let layout =
            steps.ok_or_else(|| self.explain(Fault::Damage("its VLFs do not add up".to_string()), file.spec))?;
        Ok(LogFile {
            path: file.spec.path.clone(),
            logical_name: file.spec.logical_name.clone(),
            handle: file.handle,
            max_bytes: file.spec.max_bytes,
            growth: file.spec.growth,
            page: file.page,
            layout,
            vlfs,
        })
    }

    /// The states that the directory gives, with what happened since. `None` = it cannot be trusted, for whatever reason.
    fn by_directory(&self, opened: &[OpenedFile<'_>]) -> Option<States> {
        let first = opened.first()?;
        let recorded = Recorded::read(&*self.env.disk, &first.spec.path).ok()??;
        let mut places = Places::default();
        let mut start = 0;
        if recorded.files().len() != opened.len() {
            return None;
        }
        for (file, listed) in opened.iter().zip(recorded.files()) {
            let same = (file.page.file_id, file.page.created_ticks) == (listed.id, listed.created);
            let end = start + listed.vlf_count as usize;
            (same && file.walked.is_none()).then_some(())?;
            self.lay_out(file, &recorded, start..end, &mut places).ok()?;
            start = end;
        }
        self.check_witnesses(&recorded, opened, &mut places)
            .ok()
            .filter(|same| *same)?;
        let last = follow_log(&recorded, opened, &mut places).ok()??;
        places.has_all(recorded.needed(), last).then_some(())?;
        Some(places.into_states(recorded))
    }

    /// Puts a file's VLFs behind those of the files before: from the directory where it knows them, else from their headers.
    fn lay_out(
        &self,
        file: &OpenedFile<'_>,
        recorded: &Recorded,
        entries: Range<usize>,
        places: &mut Places,
    ) -> std::result::Result<(), Fault> {
        let mut spans = named_spans(&file.page);
        if file.page.steps().is_none() {
            let unknown = || Fault::Damage("neither page 0 nor the directory names a VLF".to_string());
            add_spans(&mut spans, recorded, entries.clone()).ok_or_else(unknown)?;
        }
        if spans.len() < entries.len() {
            return Err(Fault::Damage("the directory has more VLFs than page 0".to_string()));
        }
        let (first, may_lack_headers) = (places.vlfs.len(), may_lack_headers(&file.page));
        places.begin_file(file.spec.file_id, spans.len());
        let mut unknown = Vec::new();
        for (index, span) in spans.iter().enumerate() {
            let is_listed = index < entries.len();
            let listed = is_listed.then(|| recorded.entry(entries.start + index)).flatten();
            let entry = listed.filter(|entry| entry.vlf_bytes == span.bytes);
            let source = match (entry, is_listed) {
                (Some(_), _) => Source::Directory,
                (None, true) => Source::Header,
                (None, false) => Source::Added,
            };
            if entry.is_none() {
                unknown.push((first + index, *span));
            }
            let header = entry.map_or(VlfHeader::unused(*span, Lsn::ZERO), |entry| {
                recorded_header(*span, &entry)
            });
            places.push(found_vlf(header, may_lack_headers), source);
        }
        let unknown_spans: Vec<VlfSpan> = unknown.iter().map(|(_, span)| *span).collect();
        let headers = self.read_all(file, &unknown_spans)?;
        for ((index, _), header) in unknown.iter().zip(headers) {
            places.take(*index, header);
        }
        let end = spans.last().map_or(FIRST_VLF_OFFSET, |last| last.end());
        for header in self.walk_behind(file, end)? {
            places.push(found_vlf(header, may_lack_headers), Source::Added);
            places.read.push(places.vlfs.len() - 1);
        }
        Ok(())
    }

    /// Whether the headers of the VLFs entered last say what the directory says: another copy of the log would not.
    fn check_witnesses(
        &self,
        recorded: &Recorded,
        opened: &[OpenedFile<'_>],
        places: &mut Places,
    ) -> std::result::Result<bool, Fault> {
        let oldest = recorded.last().saturating_sub(WITNESSES - 1).max(recorded.needed());
        let is_witness =
            |known: &Known| known.source == Source::Directory && (oldest..=recorded.last()).contains(&known.sequence);
        let witnesses: Vec<usize> = (0..places.known.len())
            .filter(|index| is_witness(&places.known[*index]))
            .collect();
        for index in witnesses {
            let header = places.read_header(index, opened)?;
            if !is_same_use(&header, &places.vlfs[index].header) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Header after header, in order, from the one at `offset` to the end of the file.
    fn walk_behind(&self, file: &OpenedFile<'_>, offset: u64) -> std::result::Result<Vec<VlfHeader>, Fault> {
        self.walk(&*file.handle, Some(&file.page), offset, file.page.file_bytes)
    }

    /// Header after header, in order, from the one at `offset` on. Without a page 0 every VLF must have one.
    pub(super) fn walk(
        &self,
        file: &dyn File,
        page: Option<&FileHeader>,
        mut offset: u64,
        end: u64,
    ) -> std::result::Result<Vec<VlfHeader>, Fault> {
        let mut headers = Vec::new();
        if offset == end {
            return Ok(headers);
        }
        let mut buffer = AlignedBuffer::with_len(HEADER_READ_BYTES);
        let mut named = page.map(named_spans).unwrap_or_default().into_iter().peekable();
        while offset < end {
            while named.next_if(|span| span.offset < offset).is_some() {}
            let span = named.next_if(|span| span.offset == offset);
            let read = || read_header(file, offset, page.zip(span), &mut buffer);
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
    fn read_all(&self, file: &OpenedFile<'_>, spans: &[VlfSpan]) -> std::result::Result<Vec<VlfHeader>, Fault> {
        if self.env.background == Background::Inline || spans.len() < PARALLEL_VLFS_MIN {
            return read_part(file, spans);
        }
        std::thread::scope(|scope| {
            let parts = spans.chunks(spans.len().div_ceil(READERS));
            let readers: Vec<_> = parts
                .map(|part| {
                    let thread = std::thread::Builder::new();
                    (part, thread.spawn_scoped(scope, || read_part(file, part)))
                })
                .collect();
            let mut headers = Vec::with_capacity(spans.len());
            for (part, reader) in readers {
                let read = match reader {
                    Ok(reader) => reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    // The system gives no thread: this one reads.
                    Err(_) => read_part(file, part),
                };
                headers.extend(read?);
            }
            Ok(headers)
        })
    }
}

fn read_part(file: &OpenedFile<'_>, spans: &[VlfSpan]) -> std::result::Result<Vec<VlfHeader>, Fault> {
    let mut buffer = AlignedBuffer::with_len(HEADER_READ_BYTES);
    let read = |span: &VlfSpan| read_header(&*file.handle, span.offset, Some((&file.page, *span)), &mut buffer);
    spans.iter().map(read).collect()
}

/// VLFs of all files in physical order.
#[derive(Default)]
struct Places {
    vlfs: Vec<Vlf>,
    known: Vec<Known>,
    /// Ids of the files, each with the index of its first VLF.
    files: Vec<(u16, usize)>,
    /// Indices whose headers were read because the directory did not have their state.
    read: Vec<usize>,
    headers_read: usize,
}

/// What a trusted directory comes to.
struct States {
    /// By file.
    vlfs: Vec<Vec<Vlf>>,
    needed: u32,
    directory: DirectoryState,
    headers_read: usize,
}

impl Places {
    /// A file follows with so many VLFs.
    fn begin_file(&mut self, file_id: u16, vlf_count: usize) {
        self.files.push((file_id, self.vlfs.len()));
        self.vlfs.reserve(vlf_count);
        self.known.reserve(vlf_count);
    }

    fn push(&mut self, vlf: Vlf, source: Source) {
        self.known.push(Known {
            sequence: vlf.header.sequence.0,
            source,
        });
        self.vlfs.push(vlf);
    }

    /// Takes a header over that was read.
    fn take(&mut self, index: usize, header: VlfHeader) {
        let vlf = &mut self.vlfs[index];
        vlf.header = header;
        if header.use_count > 0 {
            vlf.written_bytes = WRITTEN_ALL;
        }
        self.known[index].sequence = header.sequence.0;
        self.read.push(index);
    }

    fn read_header(&mut self, index: usize, opened: &[OpenedFile<'_>]) -> std::result::Result<VlfHeader, Fault> {
        self.headers_read += 1;
        probe(&self.vlfs, &self.files, index, opened)
    }

    /// Whether every sequence from `first` to `last` is there once.
    fn has_all(&self, first: u32, last: u32) -> bool {
        let count = u64::from(last) + 1 - u64::from(first.min(last));
        let Ok(count) = usize::try_from(count) else {
            return false;
        };
        if first > last || count > self.known.len() {
            return false;
        }
        let mut seen = vec![false; count];
        for vlf in &self.known {
            let index = vlf.sequence.checked_sub(first).map(|index| index as usize);
            if let Some(seen) = index.and_then(|index| seen.get_mut(index))
                && std::mem::replace(seen, true)
            {
                return false;
            }
        }
        seen.into_iter().all(|seen| seen)
    }

    fn into_states(mut self, recorded: Recorded) -> States {
        let mut vlfs: Vec<Vec<Vlf>> = Vec::with_capacity(self.files.len());
        while let Some((_, first)) = self.files.pop() {
            vlfs.push(match first {
                0 => std::mem::take(&mut self.vlfs),
                first => self.vlfs.split_off(first),
            });
        }
        vlfs.reverse();
        States {
            vlfs,
            needed: recorded.needed(),
            headers_read: self.headers_read + self.read.len(),
            directory: DirectoryState::trusted(recorded, &self.read),
        }
    }
}

/// Follows the log from where the directory knew it; `None` = not to be trusted.
fn follow_log(
    recorded: &Recorded,
    opened: &[OpenedFile<'_>],
    places: &mut Places,
) -> std::result::Result<Option<u32>, Fault> {
    let mut known = std::mem::take(&mut places.known);
    let mut taken = Vec::new();
    let mut probes = 0;
    let found = follow(
        &mut known,
        recorded.last(),
        |index| {
            probes += 1;
            probe(&places.vlfs, &places.files, index, opened)
        },
        |index, header| taken.push((index, header)),
    );
    places.known = known;
    places.headers_read += probes;
    for (index, header) in taken {
        if !is_same_use(&places.vlfs[index].header, &header) {
            places.headers_read -= 1;
            places.take(index, header);
        }
    }
    found
}

fn probe(
    vlfs: &[Vlf],
    files: &[(u16, usize)],
    index: usize,
    opened: &[OpenedFile<'_>],
) -> std::result::Result<VlfHeader, Fault> {
    let id = files.iter().rev().find(|(_, first)| *first <= index).map(|(id, _)| *id);
    let file = opened.iter().find(|file| id == Some(file.spec.file_id));
    let missing = || Fault::Damage("a VLF of the directory is in no file".to_string());
    let (file, known) = file.zip(vlfs.get(index)).ok_or_else(missing)?;
    let known = &known.header;
    let mut buffer = AlignedBuffer::with_len(HEADER_READ_BYTES);
    let span = known.span();
    let header = read_header(&*file.handle, span.offset, Some((&file.page, span)), &mut buffer)?;
    // Of a VLF without a header, the directory may know the create LSN when page 0 has forgotten it.
    let never_entered = header.use_count == 0 && known.use_count == 0;
    let knows_more = never_entered && header.create_lsn == vlf::Lsn::ZERO;
    Ok(if knows_more { *known } else { header })
}

/// Where the VLFs lie that page 0 names.
fn named_spans(page: &FileHeader) -> Vec<VlfSpan> {
    let Some(named) = page.named() else { return Vec::new() };
    let mut spans = Vec::with_capacity(usize::try_from(named.vlf_count()).unwrap_or(0));
    spans.extend(named.spans());
    spans
}

/// Adds where the directory's VLFs behind `spans` lie; `None` when it does not know all of them.
fn add_spans(spans: &mut Vec<VlfSpan>, recorded: &Recorded, entries: Range<usize>) -> Option<()> {
    let mut offset = spans.last().map_or(FIRST_VLF_OFFSET, |last| last.end());
    for index in entries.skip(spans.len()) {
        let bytes = recorded.entry(index)?.vlf_bytes;
        spans.push(VlfSpan { offset, bytes });
        offset = offset.checked_add(bytes)?;
    }
    Some(())
}

/// Whether two headers say the same but for the write that put them on disk, which the directory does not record: when it was
/// written, that write was durable.
fn is_same_use(a: &VlfHeader, b: &VlfHeader) -> bool {
    let durable_before = Lsn::ZERO;
    VlfHeader { durable_before, ..*a } == VlfHeader { durable_before, ..*b }
}

/// The header a VLF has by the directory.
fn recorded_header(span: VlfSpan, entry: &Entry) -> VlfHeader {
    VlfHeader {
        sequence: VlfSequence(entry.sequence),
        use_count: entry.use_count,
        parity: Parity::of_use_count(entry.use_count),
        durable_before: match entry.sequence {
            0 => Lsn::ZERO,
            sequence => Lsn::new(sequence, 0, 1),
        },
        ..VlfHeader::unused(span, entry.create_lsn)
    }
}

/// Why a file cannot be used.
pub(super) enum Fault {
    Disk(DiskError),
    Damage(String),
}

impl From<DiskError> for Fault {
    fn from(error: DiskError) -> Fault {
        Fault::Disk(error)
    }
}

/// The header of the VLF at `offset`, by the table of the module; `named` = page 0, if it names the VLF.
fn read_header(
    file: &dyn File,
    offset: u64,
    named: Option<(&FileHeader, VlfSpan)>,
    buffer: &mut AlignedBuffer,
) -> std::result::Result<VlfHeader, Fault> {
    file.read_at(offset, buffer).map_err(|error| match error.kind {
        DiskErrorKind::UnexpectedEnd => Fault::Damage(format!("it ends inside the VLF header at byte {offset}")),
        _ => Fault::Disk(error),
    })?;
    if let Some(header) = named.and_then(|(page, span)| page.never_entered(span, buffer)) {
        return Ok(header);
    }
    let header = VlfHeader::decode_at(buffer, offset)
        .map_err(|fault| Fault::Damage(format!("the VLF header at byte {offset}: {fault}")))?;
    match named {
        Some((_, span)) if header.vlf_bytes != span.bytes => {
            let (wanted, found) = (span.bytes, header.vlf_bytes);
            let what = format!("the VLF at byte {offset} has {found} bytes instead of {wanted}");
            Err(Fault::Damage(what))
        }
        _ => Ok(header),
    }
}

/// The 512 bytes at the start of a VLF.
pub(super) fn read_sector(file: &dyn File, offset: u64) -> std::result::Result<[u8; SECTOR_BYTES], DiskError> {
    let mut buffer = AlignedBuffer::with_len(HEADER_READ_BYTES);
    file.read_at(offset, &mut buffer)?;
    let mut sector = [0; SECTOR_BYTES];
    sector.copy_from_slice(&buffer[..SECTOR_BYTES]);
    Ok(sector)
}

/// Where the VLFs of a file end that need no header before they are entered.
fn may_lack_headers(page: &FileHeader) -> u64 {
    match page.headers_when_entered {
        true => page.named_end(),
        false => 0,
    }
}

fn found_vlf(header: VlfHeader, may_lack_headers: u64) -> Vlf {
    Vlf {
        header,
        active: false,
        written_bytes: match header.use_count {
            0 if header.span().end() <= may_lack_headers => 0,
            0 => VLF_HEADER_BYTES,
            _ => WRITTEN_ALL,
        },
    }
}

/// The layout that headers describe; VLFs of one growth share its LSN.
pub(super) fn layout_of(version: ServerVersion, headers: &[VlfHeader]) -> Option<LogLayout> {
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
