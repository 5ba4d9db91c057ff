//! The engine of this process as a source: samples of its logs, and its events.
//!
//! All VLFs of a log are read when it was opened or its layout has changed; otherwise the new sequences are enough
//! ([`engine::log::LogPulse`]).

use super::hub::Source;
use super::words;
use crate::serve::recovery::unrecovered;
use advisor::live::words::reuse_words;
use advisor::live::{Entered, Event, FileMap, Frame, Greeting, Head, LIVE_VERSION, LogMap, Oldest, place};
use engine::activity::Activity;
use engine::activity::events::{LogEvent, LogEventKind};
use engine::database::{Database, LogView, OldestTransaction};
use engine::instance::{DatabaseState, Instance};
use engine::log::VlfInfo;
use engine::seams::Clock;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Between two samples.
pub const INTERVAL: Duration = Duration::from_millis(200);
/// Events of one frame at most.
const EVENTS_MAX: usize = 500;

/// How the engine is greeted as.
pub fn greeting(title: String, is_modelled: bool) -> Greeting {
    Greeting {
        version: LIVE_VERSION,
        title,
        server: format!("vlflab {}", env!("CARGO_PKG_VERSION")),
        tells_itself: true,
        interval_ms: INTERVAL.as_millis() as u64,
        is_modelled,
        looks_inside: false,
        not_read: Vec::new(),
    }
}

pub struct EngineSource {
    activity: Arc<Activity>,
    clock: Arc<dyn Clock>,
    /// Empty while it starts.
    instance: Arc<OnceLock<Arc<Instance>>>,
    last_event: u64,
    seen: BTreeMap<String, Seen>,
    progress: Vec<String>,
}

/// What pages have of a database.
struct Seen {
    /// Which opening of the database, and which layout of its log.
    layout: Option<(usize, u64)>,
    last_sequence: u32,
    head: Head,
}

impl EngineSource {
    pub fn new(activity: Arc<Activity>, clock: Arc<dyn Clock>, instance: Arc<OnceLock<Arc<Instance>>>) -> EngineSource {
        EngineSource {
            activity,
            clock,
            instance,
            last_event: 0,
            seen: BTreeMap::new(),
            progress: Vec::new(),
        }
    }

    fn take_events(&mut self, frame: &mut Frame, offset_micros: u64) {
        let after = self.activity.log_events.after(self.last_event, EVENTS_MAX);
        self.last_event = after.events.last().map_or(self.last_event, |event| event.number);
        frame.skipped = after.skipped;
        let events = after.events.iter().map(|told| self.event(told, offset_micros));
        frame.events = events.collect();
    }

    fn event(&self, told: &LogEvent, offset_micros: u64) -> Event {
        let database = self.open_as(&told.database);
        let name = database.as_ref().map_or(told.database.to_string(), |open| open.name());
        let mut event = words::event(told, &name, offset_micros);
        if let (
            LogEventKind::Shrunk {
                file_id,
                refusal: Some(_),
                ..
            },
            Some(database),
        ) = (told.kind, database)
        {
            let vlfs = database.storage.log.vlfs();
            let last = vlfs.iter().rfind(|vlf| vlf.file_id == file_id);
            event.sequence = last.map(|vlf| vlf.sequence).filter(|sequence| *sequence > 0);
        }
        event
    }

    /// The database whose log tells of itself under this name: it has the one of its opening.
    fn open_as(&self, name: &str) -> Option<Arc<Database>> {
        let open = self
            .instance
            .get()?
            .slots()
            .into_iter()
            .filter_map(|slot| match slot.state() {
                DatabaseState::Online(database) => Some(database),
                _ => None,
            });
        open.filter(|database| database.storage.name == name).last()
    }

    fn take_database(&mut self, frame: &mut Frame, name: String, database: &Arc<Database>) {
        let mut view = database.observe_log();
        let opening = Arc::as_ptr(database) as usize;
        let former = self.seen.get(&name);
        let is_same = former.is_some_and(|seen| seen.layout == Some((opening, view.pulse.layout)));
        let log = &database.storage.log;
        let entered = former.filter(|_| is_same).and_then(|seen| match seen.last_sequence {
            last if last == view.pulse.last_active => Some(Vec::new()),
            last => log.entered_since(last),
        });
        let last_sequence = match entered {
            Some(vlfs) => {
                let last = vlfs.last().map_or(view.pulse.last_active, |vlf| vlf.sequence);
                if !vlfs.is_empty() {
                    frame.entered.push(entered_of(&name, &vlfs));
                }
                last
            }
            None => {
                let (pulse, vlfs) = log.map();
                view.pulse = pulse;
                frame.maps.push(map_of(&name, database, &vlfs));
                pulse.last_active
            }
        };
        let begun_by = former.and_then(|seen| seen.head.oldest.clone());
        let head = head_of(&name, database, &view, frame.at, begun_by);
        let layout = Some((opening, view.pulse.layout));
        self.tell_head(frame, head, layout, last_sequence);
    }

    fn tell_head(&mut self, frame: &mut Frame, head: Head, layout: Option<(usize, u64)>, last_sequence: u32) {
        if self.seen.get(&head.database).is_none_or(|seen| seen.head != head) {
            frame.heads.push(head.clone());
        }
        let seen = Seen {
            layout,
            last_sequence,
            head,
        };
        self.seen.insert(seen.head.database.clone(), seen);
    }

    fn take_progress(&mut self, frame: &mut Frame) {
        let under_way = unrecovered(&self.activity, self.instance.get().map(Arc::as_ref));
        let progress: Vec<String> = under_way.iter().map(ToString::to_string).collect();
        if progress != self.progress {
            self.progress.clone_from(&progress);
            frame.progress = Some(progress);
        }
    }
}

impl Source for EngineSource {
    fn is_at_hand(&self) -> bool {
        true
    }

    fn observe(&mut self) -> Frame {
        let at = self.clock.unix_micros();
        let mut frame = Frame { at, ..Frame::default() };
        let offset_micros = at.saturating_sub(self.clock.now_micros());
        // Before the logs: what an event tells of is in the log that is read behind it.
        self.take_events(&mut frame, offset_micros);
        self.take_progress(&mut frame);
        let Some(instance) = self.instance.get().cloned() else {
            return frame;
        };
        let mut names = Vec::new();
        for slot in instance.slots() {
            let name = slot.entry().name;
            let state = slot.state();
            match &state {
                DatabaseState::Online(database) => self.take_database(&mut frame, name.clone(), database),
                closed => {
                    let head = Head {
                        database: name.clone(),
                        state: closed.number_and_name().1.to_owned(),
                        ..Head::default()
                    };
                    self.tell_head(&mut frame, head, None, 0);
                }
            }
            names.push(name);
        }
        let is_gone = |name: &&String| !names.contains(name);
        frame.gone = self.seen.keys().filter(is_gone).cloned().collect();
        frame.gone.iter().for_each(|name| drop(self.seen.remove(name)));
        frame
    }
}

fn entered_of(name: &str, vlfs: &[VlfInfo]) -> Entered {
    let entered = |vlf: &VlfInfo| (vlf.file_id, vlf.offset, vlf.sequence, vlf.parity);
    Entered {
        database: name.to_owned(),
        vlfs: vlfs.iter().map(entered).collect(),
    }
}

fn map_of(name: &str, database: &Database, vlfs: &[VlfInfo]) -> LogMap {
    let files = vlfs.chunk_by(|one, other| one.file_id == other.file_id);
    let entry = database.entry();
    let file = |vlfs: &[VlfInfo]| {
        let id = vlfs[0].file_id;
        let named = entry.files.iter().find(|file| file.file_id == id);
        FileMap {
            id,
            name: named.map_or(String::new(), |file| file.name.clone()),
            start: vlfs[0].offset,
            sizes: vlfs.iter().map(|vlf| vlf.bytes).collect(),
            sequences: vlfs.iter().map(|vlf| u64::from(vlf.sequence)).collect(),
            parities: vlfs.iter().map(|vlf| u64::from(vlf.parity)).collect(),
            states: vlfs.iter().map(|vlf| u64::from(vlf.status)).collect(),
        }
    };
    LogMap {
        database: name.to_owned(),
        files: files.map(file).collect(),
    }
}

fn head_of(name: &str, database: &Database, view: &LogView, at: u64, former: Option<Oldest>) -> Head {
    let (pulse, space) = (&view.pulse, &view.pulse.space);
    let reuse_wait = view.reuse_wait.name();
    let backup_at = view.log_backup_time.unix_micros();
    Head {
        database: name.to_owned(),
        state: match view.is_recovering {
            true => "ONLINE, undo goes on".to_owned(),
            false if database.is_emergency() => "EMERGENCY".to_owned(),
            false => "ONLINE".to_owned(),
        },
        recovery_model: view.recovery_model.name().to_owned(),
        total_bytes: space.total_bytes,
        used_bytes: space.used_bytes,
        reserved_bytes: space.reserved_bytes,
        vlf_count: space.vlf_count as u64,
        active_vlfs: space.active_vlfs as u64,
        active: Some((pulse.first_active, pulse.last_active)),
        end: place(pulse.end),
        needed_from: place(view.needed_from),
        checkpoint: place(view.checkpoint),
        recovery: place(view.recovery),
        log_backup: place(view.log_backup),
        recovery_bytes: Some(view.recovery_bytes),
        log_backup_at: (backup_at > 0).then(|| view.log_backup_time.errorlog_text()),
        reuse_wait: reuse_wait.to_owned(),
        reuse_words: reuse_words(reuse_wait).to_owned(),
        oldest: view.oldest.as_ref().map(|oldest| oldest_of(oldest, at, former)),
        transactions: view.transactions as u64,
        growths: view.counters.growths,
        growth_waits: view.counters.growth_waits,
        flushes: view.counters.flushes,
        flushed_bytes: view.counters.bytes_flushed,
    }
}

/// Two looks at one transaction differ by less than that in when it began.
const SAME_BEGIN_MICROS: u64 = 20_000;

fn oldest_of(oldest: &OldestTransaction, at: u64, former: Option<Oldest>) -> Oldest {
    let begun = at.saturating_sub(oldest.age_micros);
    // Its age is rounded to the clock of dates: one transaction has one beginning.
    let is_same = |former: &Oldest| {
        former.session == i64::from(oldest.session)
            && former.name == oldest.name
            && former.begun.abs_diff(begun) < SAME_BEGIN_MICROS
    };
    Oldest {
        session: oldest.session.into(),
        name: oldest.name.clone(),
        begun: former.filter(is_same).map_or(begun, |former| former.begun),
        first: place(oldest.needed_from),
        reserved_bytes: oldest.reserved_bytes,
        who: String::new(),
    }
}
