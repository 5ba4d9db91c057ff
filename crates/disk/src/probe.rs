//! Makes the requests that [`device::probe`] asks for, and measures what each takes.
//!
//! ```text
//! one file:     written from its start to its end, then read and written again by the other measures
//! another one:  grows by 1 MB as a log of the classic policy does
//! ```
//! Bounds: two files of the caller's, the first of [`Bounds::file_bytes`] at most, the second of [`GROWTHS_MAX`] MB; each measure ends
//! after its share of [`Bounds::seconds`]. A device too slow to write [`FILE_BYTES_MIN`] in its share is not fitted.

use crate::{AlignedBuffer, DiskError, File};
use device::probe::{Measure, Measured, Request, Spread};
use std::sync::atomic::{AtomicBool, Ordering};

const MB: u64 = 1 << 20;
/// Fewer bytes would all be near each other.
pub const FILE_BYTES_MIN: u64 = 64 * MB;
/// Growths that are measured at most.
pub const GROWTHS_MAX: u64 = 64;
/// Requests of one measure at most: as many as give deciles.
const REQUESTS_MAX: u64 = 2_000;
/// Where the headers of the four VLFs of a growth by 1 MB lie.
const HEADER_DISTANCE_BYTES: u64 = MB / 4;
const HEADER_BYTES: usize = 8192;
const PAGE_BYTES: usize = 4096;

/// How much may be used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Of the file that is read and written, a multiple of 1 MB.
    pub file_bytes: u64,
    /// Of the whole probe, beside what its requests overrun their shares by.
    pub seconds: f64,
    /// Whether requests may be made by several threads at once; a modelled disk cannot tell what those would take.
    pub several_at_once: bool,
}

/// What was measured, and in how large a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Probed {
    pub measured: Measured,
    pub span_bytes: u64,
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum ProbeError {
    /// It was asked to stop.
    Stopped,
    /// So few bytes were written in the time there was.
    TooSlow {
        written_bytes: u64,
    },
    Disk(DiskError),
}

impl From<DiskError> for ProbeError {
    fn from(error: DiskError) -> ProbeError {
        ProbeError::Disk(error)
    }
}

/// Measures a disk.
pub struct Probe<'a> {
    /// An empty file, opened for direct access.
    pub file: &'a dyn File,
    /// Another one.
    pub growing: &'a dyn File,
    /// Seconds of a clock that does not go back.
    pub clock: &'a (dyn Fn() -> f64 + Sync),
    /// Set to end the probe.
    pub stop: &'a AtomicBool,
    pub bounds: Bounds,
}

impl Probe<'_> {
    /// Takes every measure. `told` gets each before it is taken.
    ///
    /// # Errors
    /// See [`ProbeError`].
    pub fn run(&self, mut told: impl FnMut(Measure)) -> Result<Probed, ProbeError> {
        let mut probed = Probed {
            measured: Measured::default(),
            span_bytes: self.bounds.file_bytes,
        };
        for measure in Measure::all() {
            if measure.depth() > 1 && !self.bounds.several_at_once {
                continue;
            }
            told(measure);
            let spread = match (measure, measure.request()) {
                (Measure::SequentialWrite, _) => self.fill(&mut probed.span_bytes)?,
                (_, Request::Growth) => self.grow()?,
                _ if measure.depth() > 1 => self.take_at_once(measure, probed.span_bytes)?,
                _ => self.take(measure, probed.span_bytes)?,
            };
            probed.measured.0.extend(spread.map(|spread| (measure, spread)));
        }
        Ok(probed)
    }

    /// Seconds that a measure may take: the first makes the file that the others need.
    fn share_s(&self, measure: Measure) -> f64 {
        match measure {
            Measure::SequentialWrite => self.bounds.seconds / 4.0,
            _ => self.bounds.seconds * 5.0 / 8.0 / (Measure::all().count() - 1) as f64,
        }
    }

    fn look(&self) -> Result<(), ProbeError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(ProbeError::Stopped),
            false => Ok(()),
        }
    }

    /// Seconds of a request.
    fn time(&self, request: impl FnOnce() -> Result<(), DiskError>) -> Result<f64, ProbeError> {
        let begin = (self.clock)();
        request()?;
        Ok((self.clock)() - begin)
    }

    /// Writes the file from its start, as far as the share of time allows, and makes it durable.
    fn fill(&self, span_bytes: &mut u64) -> Result<Option<Spread>, ProbeError> {
        self.file.grow_reserved(*span_bytes)?;
        self.file.sync()?;
        let until = (self.clock)() + self.share_s(Measure::SequentialWrite);
        let mut content = Content::new(MB as usize);
        let (mut seconds, mut offset) = (Vec::new(), 0);
        while offset < *span_bytes && (self.clock)() < until {
            self.look()?;
            let bytes = content.renewed();
            seconds.push(self.time(|| self.file.write_at(offset, bytes))?);
            offset += MB;
        }
        self.file.sync()?;
        *span_bytes = offset;
        if offset < FILE_BYTES_MIN.min(self.bounds.file_bytes) {
            return Err(ProbeError::TooSlow { written_bytes: offset });
        }
        self.settle(offset)?;
        Ok(Spread::of(seconds))
    }

    /// Reads what was written, unmeasured: a cache that survives the loss of power goes on writing behind a flush, and what is read
    /// meanwhile waits for that.
    fn settle(&self, span_bytes: u64) -> Result<(), ProbeError> {
        let until = (self.clock)() + self.bounds.seconds / 8.0;
        let mut buffer = AlignedBuffer::with_len(MB as usize);
        let mut offset = 0;
        while offset < span_bytes && (self.clock)() < until {
            self.look()?;
            self.file.read_at(offset, &mut buffer)?;
            offset += MB;
        }
        Ok(())
    }

    fn take(&self, measure: Measure, span_bytes: u64) -> Result<Option<Spread>, ProbeError> {
        let until = (self.clock)() + self.share_s(measure);
        let mut lane = Lane::new(measure, 0, span_bytes);
        let mut seconds = Vec::new();
        while lane.index < REQUESTS_MAX && (self.clock)() < until {
            self.look()?;
            seconds.push(lane.request(self)?);
        }
        Ok(Spread::of(seconds))
    }

    /// As many threads as the measure has lanes, each with its own part of the file.
    fn take_at_once(&self, measure: Measure, span_bytes: u64) -> Result<Option<Spread>, ProbeError> {
        let begin = (self.clock)();
        let until = begin + self.share_s(measure);
        let each = REQUESTS_MAX / measure.depth() as u64;
        let work = |number: usize| {
            let mut lane = Lane::new(measure, number, span_bytes);
            while lane.index < each && (self.clock)() < until {
                self.look()?;
                lane.request(self)?;
            }
            Ok(lane.index)
        };
        let work = &work;
        let made: Result<Vec<u64>, ProbeError> = std::thread::scope(|scope| {
            let lanes: Vec<_> = (0..measure.depth())
                .map(|lane| scope.spawn(move || work(lane)))
                .collect();
            let ended = lanes
                .into_iter()
                .map(|lane| lane.join().unwrap_or(Err(ProbeError::Stopped)));
            ended.collect()
        });
        let requests: u64 = made?.into_iter().sum();
        Ok(Spread::shared((self.clock)() - begin, requests as usize))
    }

    /// Grows the other file by 1 MB at a time: length, zeros, flush, a header for each of four VLFs, flush, page 0 in two copies.
    fn grow(&self) -> Result<Option<Spread>, ProbeError> {
        let until = (self.clock)() + self.share_s(Measure::Growth);
        let zeros = AlignedBuffer::with_len(MB as usize);
        let mut seconds = Vec::new();
        self.growing.set_len(MB)?;
        self.growing.write_at(0, &zeros)?;
        self.growing.sync()?;
        for step in 1..GROWTHS_MAX {
            if (self.clock)() >= until {
                break;
            }
            self.look()?;
            seconds.push(self.time(|| self.grow_once(step * MB, &zeros))?);
        }
        Ok(Spread::of(seconds))
    }

    fn grow_once(&self, from: u64, zeros: &AlignedBuffer) -> Result<(), DiskError> {
        let file = self.growing;
        file.set_len(from + MB)?;
        file.write_at(from, zeros)?;
        file.sync()?;
        for vlf in 0..MB / HEADER_DISTANCE_BYTES {
            file.write_at(from + vlf * HEADER_DISTANCE_BYTES, &zeros[..HEADER_BYTES])?;
        }
        file.sync()?;
        file.write_durable_at(0, &zeros[..PAGE_BYTES])?;
        file.write_at(PAGE_BYTES as u64, &zeros[..PAGE_BYTES])
    }
}

/// One who makes the requests of a measure, one after the other.
struct Lane {
    measure: Measure,
    number: usize,
    index: u64,
    span_bytes: u64,
    content: Content,
    read: AlignedBuffer,
}

impl Lane {
    fn new(measure: Measure, number: usize, span_bytes: u64) -> Lane {
        let bytes = (measure.bytes() as usize).max(PAGE_BYTES);
        Lane {
            measure,
            number,
            index: 0,
            span_bytes,
            content: Content::new(bytes),
            read: AlignedBuffer::with_len(bytes),
        }
    }

    /// Makes the next request; answers its seconds.
    fn request(&mut self, probe: &Probe<'_>) -> Result<f64, ProbeError> {
        let (measure, file) = (self.measure, probe.file);
        let place = measure.place(self.index, self.number, self.span_bytes);
        self.index += 1;
        match measure.request() {
            Request::Read => {
                let read = &mut self.read;
                probe.time(|| file.read_at(place, read))
            }
            Request::Write => {
                let bytes = self.content.renewed();
                let seconds = probe.time(|| file.write_at(place, bytes));
                // What stays in the cache would slow the next one down.
                file.sync()?;
                seconds
            }
            Request::DurableWrite => {
                let bytes = self.content.renewed();
                probe.time(|| file.write_durable_at(place, bytes))
            }
            Request::Flush | Request::Growth => {
                file.write_at(place, self.content.renewed())?;
                probe.time(|| file.sync())
            }
        }
    }
}

/// Bytes that no device makes smaller or has already.
struct Content {
    buffer: AlignedBuffer,
    state: u64,
}

impl Content {
    fn new(bytes: usize) -> Content {
        let mut buffer = AlignedBuffer::with_len(bytes);
        let mut state = 0x2545_F491_4F6C_DD1D;
        for word in buffer.chunks_exact_mut(8) {
            word.copy_from_slice(&step(&mut state).to_le_bytes());
        }
        Content { buffer, state }
    }

    /// The buffer, other than before in every 4 KB.
    fn renewed(&mut self) -> &[u8] {
        for page in self.buffer.chunks_exact_mut(PAGE_BYTES) {
            page[..8].copy_from_slice(&step(&mut self.state).to_le_bytes());
        }
        &self.buffer
    }
}

/// Xorshift of Marsaglia, "Xorshift RNGs", 2003.
fn step(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
