//! Monitors a server without events by polling: events are the differences between two polls.
//!
//! Each event gives the two times between which it happened, and the count if it is known; the order of events between two polls is
//! unknown. VLFs are read again only when the counts of `sys.dm_db_log_stats` have changed ([`crate::snapshot::Gathering::to_watch`]).

use super::words::{grown, reuse_words, vlfs};
use super::{Event, EventKind, FileMap, Frame, Greeting, Head, LIVE_VERSION, LogMap, Oldest, Stand, Weight};
use crate::size::format_bytes;
use crate::snapshot::{DatabaseFacts, LogFile, Snapshot, TransactionFacts};
use std::collections::BTreeMap;

/// What was read last.
#[derive(Debug, Default)]
pub struct Polled {
    frame: u64,
    read_at: u64,
    maps: BTreeMap<String, LogMap>,
    heads: BTreeMap<String, Head>,
    shrinks: BTreeMap<String, u64>,
}

impl Polled {
    /// Who is watched, from the first reading.
    pub fn greeting(snapshot: &Snapshot, interval_ms: u64) -> Greeting {
        let of = |read: &crate::snapshot::NotRead| match &read.database {
            Some(database) => format!("Not read: {} of {database}: {}", read.source, read.reason),
            None => format!("Not read: {}: {}", read.source, read.reason),
        };
        Greeting {
            version: LIVE_VERSION,
            title: format!("{} at {}", snapshot.server.name, snapshot.name),
            server: format!(
                "SQL Server {} ({})",
                snapshot.server.product_version, snapshot.server.edition
            ),
            tells_itself: false,
            interval_ms,
            is_modelled: false,
            looks_inside: false,
            not_read: snapshot
                .not_read
                .iter()
                .filter(|read| !read.is_absent())
                .map(of)
                .collect(),
        }
    }

    /// The first reading.
    pub fn begin(&mut self, snapshot: &Snapshot, at: u64, interval_ms: u64) -> Stand {
        let frame = self.take(snapshot, at);
        let mut stand = Stand {
            greeting: Polled::greeting(snapshot, interval_ms),
            ..Stand::default()
        };
        stand.take(&frame);
        stand
    }

    /// The next reading, taken at `at`, microseconds since 1970: what differs from the last one.
    pub fn take(&mut self, snapshot: &Snapshot, at: u64) -> Frame {
        let since = std::mem::replace(&mut self.read_at, at);
        self.frame += 1;
        let mut frame = Frame {
            frame: self.frame,
            at,
            ..Frame::default()
        };
        let is_there = |name: &String| snapshot.databases.iter().any(|database| database.name == *name);
        frame.gone = self.heads.keys().filter(|name| !is_there(name)).cloned().collect();
        for name in &frame.gone {
            self.heads.remove(name);
            self.maps.remove(name);
        }
        for database in &snapshot.databases {
            if let Some(map) = map_of(database)
                && self.maps.get(&database.name) != Some(&map)
            {
                self.maps.insert(database.name.clone(), map.clone());
                frame.maps.push(map);
            }
            let former = self.heads.get(&database.name);
            let head = self.head_of(snapshot, database, at, former);
            let shrinks = database.space.shrinks.unwrap_or(0);
            let former_shrinks = self.shrinks.insert(database.name.clone(), shrinks);
            if let Some(former) = former {
                let shrunk = former_shrinks.map_or(0, |former| shrinks.saturating_sub(former));
                let between = Between {
                    since,
                    at,
                    former,
                    head: &head,
                };
                frame.events.extend(between.events(shrunk));
            }
            if former != Some(&head) {
                frame.heads.push(head.clone());
                self.heads.insert(database.name.clone(), head);
            }
        }
        frame
    }

    fn head_of(&self, snapshot: &Snapshot, database: &DatabaseFacts, at: u64, former: Option<&Head>) -> Head {
        let marks = &database.marks;
        let map = self.maps.get(&database.name);
        let active = marks
            .minimum
            .zip(marks.end)
            .map(|(minimum, end)| (minimum.vlf, end.vlf));
        let of_list = |list: &LogMap| list.files.iter().map(|file| file.sizes.len()).sum();
        let active_listed = |list: &LogMap| {
            let states = list.files.iter().flat_map(|file| file.states.values());
            states.filter(|state| *state == 2).count() as u64
        };
        let oldest = snapshot
            .transactions
            .iter()
            .filter(|each| each.database_id == database.database_id && each.begin_lsn.is_some());
        let transactions = oldest.clone().count() as u64;
        let former_oldest = former.and_then(|former| former.oldest.as_ref());
        Head {
            database: database.name.clone(),
            state: match database.state.as_str() {
                "" => "ONLINE".to_owned(),
                state => state.to_owned(),
            },
            recovery_model: database.recovery_model.clone(),
            total_bytes: database.space.total_bytes.unwrap_or_else(|| database.log_bytes()),
            used_bytes: database.space.used_bytes.unwrap_or(0),
            reserved_bytes: oldest.clone().map(|each| each.reserved_bytes).sum(),
            vlf_count: marks.vlf_count.unwrap_or_else(|| map.map_or(0, of_list)),
            active_vlfs: marks.active_vlf_count.unwrap_or_else(|| map.map_or(0, active_listed)),
            // On a replica's primary VLFs stay active that are not needed: there the list's own states count.
            active: active.filter(|_| !database.is_in_availability_group && database.mirroring.is_none()),
            end: marks.end.and_then(super::place),
            needed_from: marks.minimum.and_then(super::place),
            checkpoint: marks.checkpoint.and_then(super::place),
            recovery: marks.recovery.and_then(super::place),
            log_backup: None,
            recovery_bytes: marks.recovery_bytes,
            log_backup_at: marks.log_backup.map(|moment| moment.to_string()),
            reuse_wait: database.reuse_wait.clone(),
            reuse_words: reuse_words(&database.reuse_wait).to_owned(),
            oldest: oldest
                .min_by_key(|each| each.begin_lsn)
                .map(|each| oldest_of(snapshot, each, at, former_oldest)),
            transactions,
            growths: database.space.growths.unwrap_or(0),
            growth_waits: 0,
            flushes: 0,
            flushed_bytes: 0,
        }
    }
}

fn oldest_of(snapshot: &Snapshot, transaction: &TransactionFacts, at: u64, former: Option<&Oldest>) -> Oldest {
    let age_s = transaction.begun.and_then(|begun| snapshot.age_s(begun)).unwrap_or(0);
    let first = transaction.begin_lsn.and_then(super::place);
    // The server's clock is read to the second: one transaction has one beginning.
    let known = former.filter(|former| former.first == first).map(|former| former.begun);
    let session = transaction.session.as_ref();
    Oldest {
        session: session.map_or(0, |session| session.session_id),
        name: transaction.name.clone(),
        begun: known.unwrap_or_else(|| at.saturating_sub(age_s.saturating_mul(1_000_000))),
        first,
        reserved_bytes: transaction.reserved_bytes,
        who: session.map_or(String::new(), |session| {
            let parts = [&session.login, &session.host, &session.program, &session.status];
            let known: Vec<&str> = parts
                .into_iter()
                .map(String::as_str)
                .filter(|part| !part.is_empty())
                .collect();
            known.join(", ")
        }),
    }
}

/// Its VLFs; `None` where they were not read this time.
fn map_of(database: &DatabaseFacts) -> Option<LogMap> {
    let files: Vec<&LogFile> = database.log_files.iter().filter(|file| !file.vlfs.is_empty()).collect();
    let file_map = |file: &&LogFile| FileMap {
        id: u16::try_from(file.file_id).unwrap_or(0),
        name: file.name.clone(),
        start: file.vlfs.first().map_or(0, |vlf| vlf.offset),
        sizes: file.vlfs.iter().map(|vlf| vlf.bytes).collect(),
        sequences: file.vlfs.iter().map(|vlf| u64::from(vlf.sequence)).collect(),
        parities: super::Runs::default(),
        states: file.vlfs.iter().map(|vlf| u64::from(vlf.status)).collect(),
    };
    (!files.is_empty()).then(|| LogMap {
        database: database.name.clone(),
        files: files.iter().map(file_map).collect(),
    })
}

/// Two readings of one log.
struct Between<'a> {
    since: u64,
    at: u64,
    former: &'a Head,
    head: &'a Head,
}

impl Between<'_> {
    fn event(&self, kind: EventKind, weight: Weight, text: String, why: &str) -> Event {
        Event {
            number: 0,
            at: self.at,
            since: Some(self.since),
            database: self.head.database.clone(),
            kind,
            weight,
            text,
            why: why.to_owned(),
            sequence: None,
            micros: None,
            span: None,
        }
    }

    fn events(&self, shrunk: u64) -> Vec<Event> {
        let mut events: Vec<Event> = [
            self.growth(),
            self.shrink(shrunk),
            self.switches(),
            self.backup(),
            self.checkpoint(),
        ]
        .into_iter()
        .flatten()
        .collect();
        events.extend(self.truncation());
        events.extend(self.transactions());
        events.extend(self.reuse_wait());
        events.extend(self.state());
        events
    }

    fn growth(&self) -> Option<Event> {
        let (former, head) = (self.former, self.head);
        let growths = head.growths.saturating_sub(former.growths);
        if head.total_bytes <= former.total_bytes && growths == 0 {
            return None;
        }
        let added = head.vlf_count.saturating_sub(former.vlf_count);
        let times = match growths {
            0 | 1 => String::new(),
            more => format!(" In {more} growths."),
        };
        let text = grown(former.total_bytes, head.total_bytes, added) + &times;
        let why = "Sessions that need the new space wait until it is there.";
        Some(self.event(EventKind::Growth, Weight::Notable, text, why))
    }

    fn shrink(&self, shrunk: u64) -> Option<Event> {
        let (former, head) = (self.former, self.head);
        if shrunk == 0 && head.total_bytes >= former.total_bytes {
            return None;
        }
        let sizes = (format_bytes(former.total_bytes), format_bytes(head.total_bytes));
        let text = format!("The log shrank from {} to {}.", sizes.0, sizes.1);
        Some(self.event(
            EventKind::Shrink,
            Weight::Notable,
            text,
            "VLFs at the end of the file were free and went.",
        ))
    }

    fn switches(&self) -> Option<Event> {
        let (from, to) = (self.former.end?.0, self.head.end?.0);
        let text = match to.checked_sub(from)? {
            0 => return None,
            1 => format!("The log entered VLF {to}."),
            count => format!("The log entered {count} VLFs, up to {to}."),
        };
        let mut event = self.event(EventKind::Switch, Weight::Ordinary, text, "The one before was full.");
        event.sequence = Some(to);
        Some(event)
    }

    fn truncation(&self) -> Option<Event> {
        let (from, to) = (self.former.needed_from?.0, self.head.needed_from?.0);
        let freed = to.checked_sub(from).filter(|freed| *freed > 0)?;
        let text = format!("{} became reusable.", vlfs(u64::from(freed)));
        let mut event = self.event(
            EventKind::Truncation,
            Weight::Notable,
            text,
            "Nothing needs that part of the log any more.",
        );
        event.sequence = Some(to);
        Some(event)
    }

    fn checkpoint(&self) -> Option<Event> {
        let is_new = self.head.checkpoint.is_some() && self.head.checkpoint != self.former.checkpoint;
        let text = || "A checkpoint was written.".to_owned();
        is_new.then(|| {
            self.event(
                EventKind::Checkpoint,
                Weight::Ordinary,
                text(),
                "Recovery has less to redo.",
            )
        })
    }

    fn backup(&self) -> Option<Event> {
        let is_new = self.head.log_backup_at.is_some() && self.head.log_backup_at != self.former.log_backup_at;
        let text = || "The log was backed up.".to_owned();
        is_new.then(|| {
            self.event(
                EventKind::Backup,
                Weight::Notable,
                text(),
                "Log that is backed up need not be kept.",
            )
        })
    }

    fn transactions(&self) -> Vec<Event> {
        let (former, now) = (&self.former.oldest, &self.head.oldest);
        let first = |oldest: &Option<Oldest>| oldest.as_ref().and_then(|oldest| oldest.first);
        if first(former) == first(now) {
            return Vec::new();
        }
        let named = |oldest: &Oldest| format!("{} of session {}", oldest.name, oldest.session);
        let ended = former.as_ref().map(|oldest| {
            let text = format!("The oldest transaction ended: {}.", named(oldest));
            self.event(EventKind::Transaction, Weight::Ordinary, text, "")
        });
        let oldest = now.as_ref().map(|oldest| {
            let text = format!("The oldest transaction is {}.", named(oldest));
            self.event(
                EventKind::Transaction,
                Weight::Ordinary,
                text,
                "The log is kept from its begin on.",
            )
        });
        ended.into_iter().chain(oldest).collect()
    }

    fn reuse_wait(&self) -> Option<Event> {
        let (former, now) = (&self.former.reuse_wait, &self.head.reuse_wait);
        let weight = match now.as_str() {
            "NOTHING" => Weight::Ordinary,
            _ => Weight::Notable,
        };
        let text = format!("The log reuse wait went from {former} to {now}.");
        (former != now).then(|| self.event(EventKind::ReuseWait, weight, text, reuse_words(now)))
    }

    fn state(&self) -> Option<Event> {
        let (former, now) = (&self.former.state, &self.head.state);
        let text = format!("The database went from {former} to {now}.");
        (former != now).then(|| self.event(EventKind::Recovery, Weight::Warning, text, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::VlfFacts;
    use vlf::Lsn;

    fn reading(sequences: &[u32], minimum: u32, growths: u64, wait: &str) -> Snapshot {
        let mut database = DatabaseFacts {
            database_id: 5,
            name: "sales".to_owned(),
            reuse_wait: wait.to_owned(),
            ..DatabaseFacts::default()
        };
        let last = sequences.iter().copied().max().unwrap_or(0);
        database.marks.minimum = Some(Lsn::new(minimum, 16, 1));
        database.marks.end = Some(Lsn::new(last, 20, 1));
        database.marks.vlf_count = Some(sequences.len() as u64);
        database.space.total_bytes = Some(sequences.len() as u64 * 1024);
        database.space.growths = Some(growths);
        let vlf = |(index, sequence): (usize, &u32)| VlfFacts {
            offset: 8192 + index as u64 * 1024,
            bytes: 1024,
            sequence: *sequence,
            ..VlfFacts::default()
        };
        database.log_files.push(LogFile {
            file_id: 2,
            vlfs: sequences.iter().enumerate().map(vlf).collect(),
            ..LogFile::default()
        });
        Snapshot {
            databases: vec![database],
            ..Snapshot::default()
        }
    }

    #[test]
    fn what_differs_is_told_with_both_times() {
        let mut polled = Polled::default();
        let stand = polled.begin(&reading(&[7, 8, 0], 7, 0, "LOG_BACKUP"), 1_000, 2_000);
        assert!(stand.events.is_empty() && stand.maps.len() == 1);
        let frame = polled.take(&reading(&[7, 8, 9, 0], 8, 1, "NOTHING"), 3_000);
        let kinds: Vec<EventKind> = frame.events.iter().map(|event| event.kind).collect();
        let expected = [
            EventKind::Growth,
            EventKind::Switch,
            EventKind::Truncation,
            EventKind::ReuseWait,
        ];
        assert_eq!(kinds, expected);
        assert!(
            frame
                .events
                .iter()
                .all(|event| (event.since, event.at) == (Some(1_000), 3_000))
        );
        assert_eq!(frame.events[0].text, "The log grew from 3 KB to 4 KB: 1 VLF more.");
        assert_eq!(frame.heads[0].active, Some((8, 9)));
    }

    #[test]
    fn a_reading_without_news_is_an_empty_frame_and_without_vlfs_keeps_the_map() {
        let mut polled = Polled::default();
        polled.begin(&reading(&[7, 8], 7, 0, "NOTHING"), 1_000, 2_000);
        assert!(polled.take(&reading(&[7, 8], 7, 0, "NOTHING"), 3_000).is_empty());
        let mut unread = reading(&[7, 8], 7, 0, "NOTHING");
        unread.databases[0].log_files[0].vlfs.clear();
        assert!(polled.take(&unread, 5_000).is_empty());
        unread.databases.clear();
        assert_eq!(polled.take(&unread, 7_000).gone, ["sales"]);
    }
}
