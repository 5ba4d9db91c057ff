//! Live monitoring of logs: the data of the live page, of its stream, and of a recording.
//!
//! ```text
//! engine, sampled ---------> Frame --.
//! server, polled -> [`polled`]       +--> stream of the page, recording, terminal
//!                   Stand (all of it) '
//! ```
//! A [`Stand`] is the full state at one moment; a [`Frame`] has the changes since the previous frame. A reader with a stand and every later
//! frame is complete; a reader that missed a frame needs a new stand. Names in JSON are a contract, because recordings are kept.
//!
//! Times are microseconds since 1970 by the clock of the server, so on a modelled disk they are modelled.

pub mod encode;
pub mod page;
pub mod polled;
pub mod recording;
pub mod terminal;
pub mod words;

use serde::{Deserialize, Serialize};
use vlf::Lsn;

pub use encode::Runs;

/// Version of recordings; one of a later version is refused.
pub const LIVE_VERSION: u32 = 1;
/// Events that a stand keeps for a page that comes later.
pub const EVENTS_KEPT_MAX: usize = 500;

/// Who is watched, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Greeting {
    /// [`LIVE_VERSION`].
    pub version: u32,
    /// What is watched, in words.
    pub title: String,
    /// `vlflab 0.1.0`, or the product version of a server.
    pub server: String,
    /// Events are the server's own; otherwise they are differences of two readings.
    pub tells_itself: bool,
    /// Milliseconds between two readings.
    pub interval_ms: u64,
    /// Time is computed by a modelled disk.
    pub is_modelled: bool,
    /// The page can ask for records and pages.
    #[serde(default, skip_serializing_if = "is_false")]
    pub looks_inside: bool,
    /// What could not be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<String>,
}

/// The VLFs of a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogMap {
    pub database: String,
    pub files: Vec<FileMap>,
}

/// The VLFs of a log file, in its order; they follow one another from `start` on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileMap {
    pub id: u16,
    pub name: String,
    pub start: u64,
    pub sizes: Runs,
    /// 0 = never used.
    pub sequences: Runs,
    /// 0, 64 or 128; empty = not known.
    #[serde(default, skip_serializing_if = "Runs::is_empty")]
    pub parities: Runs,
    /// 0 reusable, 1 never used, 2 active, 4 growth not yet redone on a secondary replica. Of a log whose head tells which sequences are
    /// active, that counts instead.
    pub states: Runs,
}

/// What of a log changes all the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub database: String,
    /// `ONLINE`, or why there is no more to say.
    pub state: String,
    pub recovery_model: String,
    pub total_bytes: u64,
    pub used_bytes: u64,
    /// Set aside for rollbacks.
    pub reserved_bytes: u64,
    pub vlf_count: u64,
    pub active_vlfs: u64,
    /// The first and the last sequence in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<(u32, u32)>,
    /// Places, as sequence, block and slot.
    pub end: Option<Place>,
    pub needed_from: Option<Place>,
    pub checkpoint: Option<Place>,
    pub recovery: Option<Place>,
    pub log_backup: Option<Place>,
    pub recovery_bytes: Option<u64>,
    /// When the last log backup was.
    pub log_backup_at: Option<String>,
    /// `log_reuse_wait_desc`.
    pub reuse_wait: String,
    /// The same in a sentence.
    pub reuse_words: String,
    pub oldest: Option<Oldest>,
    pub transactions: u64,
    pub growths: u64,
    pub growth_waits: u64,
    pub flushes: u64,
    pub flushed_bytes: u64,
}

/// An LSN as three numbers.
pub type Place = (u32, u32, u16);

/// An LSN as three numbers; none for zero.
pub fn place(lsn: Lsn) -> Option<Place> {
    (lsn != Lsn::ZERO).then_some((lsn.vlf, lsn.block, lsn.slot))
}

/// The oldest transaction under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Oldest {
    /// 0 = the engine's own.
    pub session: i64,
    pub name: String,
    /// When it began; the page counts its age from there.
    pub begun: u64,
    /// From where on it needs the log: its first record, or what was carried forward.
    pub first: Option<Place>,
    pub reserved_bytes: u64,
    /// Login, host, program and state, where they are known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
}

/// VLFs that a log has entered: file, offset, sequence, parity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entered {
    pub database: String,
    pub vlfs: Vec<(u16, u64, u32, u8)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    Switch,
    Growth,
    Full,
    Wait,
    Truncation,
    ReuseWait,
    Checkpoint,
    Backup,
    Hold,
    Shrink,
    Recovery,
    Transaction,
    /// A step of a lesson or of an experiment.
    Step,
}

/// How much an event deserves to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    Ordinary,
    Notable,
    Warning,
}

/// Something that happened, with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The server's number of it; 0 where it is a difference of two readings.
    pub number: u64,
    pub at: u64,
    /// It happened between this and `at`, and more is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    pub database: String,
    pub kind: EventKind,
    pub weight: Weight,
    pub text: String,
    /// Why, or what follows from it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The VLF it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u32>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// Of a recovery: the part of the log that was read, in the direction in which it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(Place, Place)>,
}

impl Event {
    /// A sentence of a lesson or a run, at this place.
    pub fn step(text: &str, at: u64) -> Event {
        Event {
            number: 0,
            at,
            since: None,
            database: String::new(),
            kind: EventKind::Step,
            weight: Weight::Notable,
            text: text.to_owned(),
            why: String::new(),
            sequence: None,
            micros: None,
            span: None,
        }
    }
}

/// Everything at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stand {
    /// The number of the last frame that is in it.
    pub frame: u64,
    pub at: u64,
    pub greeting: Greeting,
    pub maps: Vec<LogMap>,
    pub heads: Vec<Head>,
    /// The last ones.
    pub events: Vec<Event>,
    /// Long work under way: recoveries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<String>,
    /// So many frames the reader has missed.
    #[serde(default)]
    pub missed: u64,
}

/// What changed since the frame before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    pub frame: u64,
    pub at: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<LogMap>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<Head>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entered: Vec<Entered>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// So many events were before those, and are lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Databases that are there no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Recoveries under way, if they have changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Vec<String>>,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Frame {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        let is_still = self.maps.is_empty() && self.heads.is_empty() && self.entered.is_empty();
        is_still && self.events.is_empty() && self.skipped == 0 && self.gone.is_empty() && self.progress.is_none()
    }
}

impl Stand {
    /// Takes a frame in: the stand is then the one behind it.
    pub fn take(&mut self, frame: &Frame) {
        self.frame = frame.frame;
        self.at = frame.at;
        self.maps.retain(|map| !frame.gone.contains(&map.database));
        self.heads.retain(|head| !frame.gone.contains(&head.database));
        for map in &frame.maps {
            match self.maps.iter_mut().find(|own| own.database == map.database) {
                Some(own) => own.clone_from(map),
                None => self.maps.push(map.clone()),
            }
        }
        for entered in &frame.entered {
            if let Some(map) = self.maps.iter_mut().find(|own| own.database == entered.database) {
                map.enter(&entered.vlfs);
            }
        }
        for head in &frame.heads {
            match self.heads.iter_mut().find(|own| own.database == head.database) {
                Some(own) => own.clone_from(head),
                None => self.heads.push(head.clone()),
            }
        }
        self.events.extend(frame.events.iter().cloned());
        let surplus = self.events.len().saturating_sub(EVENTS_KEPT_MAX);
        self.events.drain(..surplus);
        if let Some(progress) = &frame.progress {
            self.progress.clone_from(progress);
        }
    }
}

impl LogMap {
    /// The VLFs entered have new sequences and parities.
    fn enter(&mut self, vlfs: &[(u16, u64, u32, u8)]) {
        for file in &mut self.files {
            let mut of_file: Vec<(u64, u32, u8)> = vlfs
                .iter()
                .filter(|(id, ..)| *id == file.id)
                .map(|&(_, offset, sequence, parity)| (offset, sequence, parity))
                .collect();
            if !of_file.is_empty() {
                of_file.sort_unstable();
                file.enter(&of_file);
            }
        }
    }

    /// Its VLFs: file, offset, size, sequence.
    pub fn vlfs(&self) -> impl Iterator<Item = (u16, u64, u64, u32)> {
        self.files.iter().flat_map(|file| {
            let mut offset = file.start;
            file.sizes
                .values()
                .zip(file.sequences.values())
                .map(move |(bytes, sequence)| {
                    let at = offset;
                    offset = offset.saturating_add(bytes);
                    (file.id, at, bytes, sequence as u32)
                })
        })
    }
}

impl FileMap {
    /// `entered` is sorted by offset.
    fn enter(&mut self, entered: &[(u64, u32, u8)]) {
        let (mut sequences, mut parities): (Vec<u64>, Vec<u64>) =
            (self.sequences.values().collect(), self.parities.values().collect());
        let (mut offset, mut next) = (self.start, entered.iter().peekable());
        for (index, bytes) in self.sizes.values().enumerate() {
            while next.peek().is_some_and(|(at, ..)| *at < offset) {
                next.next();
            }
            if let Some((_, sequence, parity)) = next.next_if(|(at, ..)| *at == offset) {
                if let Some(place) = sequences.get_mut(index) {
                    *place = u64::from(*sequence);
                }
                if let Some(place) = parities.get_mut(index) {
                    *place = u64::from(*parity);
                }
            }
            offset = offset.saturating_add(bytes);
        }
        self.sequences = sequences.into_iter().collect();
        self.parities = parities.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> LogMap {
        let file = |id, start, sequences: [u64; 4]| FileMap {
            id,
            name: format!("log{id}"),
            start,
            sizes: [64, 64, 64, 128].into_iter().collect(),
            sequences: sequences.into_iter().collect(),
            parities: [64, 64, 0, 0].into_iter().collect(),
            states: [2, 2, 1, 1].into_iter().collect(),
        };
        LogMap {
            database: "sales".to_owned(),
            files: vec![file(2, 8192, [40, 41, 0, 0]), file(4, 8192, [0, 0, 0, 0])],
        }
    }

    #[test]
    fn a_frame_enters_vlfs_by_file_and_offset() {
        let mut stand = Stand {
            maps: vec![map()],
            ..Stand::default()
        };
        stand.take(&Frame {
            frame: 7,
            entered: vec![Entered {
                database: "sales".to_owned(),
                vlfs: vec![(4, 8192, 43, 64), (2, 8192 + 128, 42, 64), (2, 1, 99, 64)],
            }],
            ..Frame::default()
        });
        let sequences = |index: usize| stand.maps[0].files[index].sequences.values().collect::<Vec<_>>();
        assert_eq!((sequences(0), sequences(1)), (vec![40, 41, 42, 0], vec![43, 0, 0, 0]));
        let parities: Vec<u64> = stand.maps[0].files[0].parities.values().collect();
        assert_eq!(parities, [64, 64, 64, 0]);
        assert_eq!(stand.frame, 7);
    }

    #[test]
    fn a_stand_keeps_the_last_events_and_forgets_what_is_gone() {
        let event = |number| Event {
            number,
            at: number,
            since: None,
            database: "sales".to_owned(),
            kind: EventKind::Growth,
            weight: Weight::Ordinary,
            text: String::new(),
            why: String::new(),
            sequence: None,
            micros: None,
            span: None,
        };
        let mut stand = Stand {
            maps: vec![map()],
            ..Stand::default()
        };
        stand.take(&Frame {
            events: (1..=EVENTS_KEPT_MAX as u64 + 3).map(event).collect(),
            gone: vec!["sales".to_owned()],
            ..Frame::default()
        });
        assert_eq!((stand.events.len(), stand.events[0].number), (EVENTS_KEPT_MAX, 4));
        assert!(stand.maps.is_empty());
    }
}
