//! The engine's events as sentences, each with its reason.

use advisor::live::words::{grown, reuse_words, shrink_refusal, vlfs};
use advisor::live::{Event, EventKind, Place, Weight, place};
use advisor::size::{format_bytes, group_digits};
use engine::activity::events::{GrowthCause, LogEvent, LogEventKind, RecoveryPhase};
use vlf::Lsn;

/// An event as pages show it. `offset_micros` takes its clock to microseconds since 1970.
pub fn event(told: &LogEvent, database: &str, offset_micros: u64) -> Event {
    let said = said(&told.kind);
    Event {
        number: told.number,
        at: told.at_micros.saturating_add(offset_micros),
        since: None,
        database: database.to_owned(),
        kind: said.kind,
        weight: said.weight,
        text: said.text,
        why: said.why.to_owned(),
        sequence: said.sequence,
        micros: said.micros,
        span: said.span,
    }
}

struct Said {
    kind: EventKind,
    weight: Weight,
    text: String,
    why: &'static str,
    sequence: Option<u32>,
    micros: Option<u64>,
    span: Option<(Place, Place)>,
}

impl Said {
    fn reading(self, from: Lsn, to: Lsn) -> Said {
        Said {
            span: place(from).zip(place(to)),
            ..self
        }
    }

    fn about(self, sequence: u32) -> Said {
        Said {
            sequence: Some(sequence),
            ..self
        }
    }

    fn taking(self, micros: u64) -> Said {
        Said {
            micros: Some(micros),
            ..self
        }
    }
}

fn say(kind: EventKind, weight: Weight, text: String, why: &'static str) -> Said {
    Said {
        kind,
        weight,
        text,
        why,
        sequence: None,
        micros: None,
        span: None,
    }
}

fn said(kind: &LogEventKind) -> Said {
    use LogEventKind as L;
    match *kind {
        L::Switched {
            to,
            bytes,
            former,
            wrapped,
            ..
        } => switched(to, bytes, former, wrapped).about(to),
        L::Grown {
            from_bytes,
            to_bytes,
            vlfs_added,
            micros,
            cause,
            zeroed,
            ..
        } => {
            let text = grown(from_bytes, to_bytes, vlfs_added.into());
            say(EventKind::Growth, Weight::Notable, text, growth_reason(cause, zeroed)).taking(micros)
        }
        L::Full { reuse_wait } => full(reuse_wait),
        L::Waited { session, micros } => waited(session).taking(micros),
        L::Truncated { freed, needed_from } => truncated(freed, needed_from.vlf).about(needed_from.vlf),
        L::ReuseWait { from, to } => reuse_wait(from, to),
        L::Checkpointed {
            begin,
            redo_start,
            micros,
            indirect,
        } => checkpointed(begin, redo_start, indirect)
            .about(begin.vlf)
            .taking(micros),
        L::BackedUp {
            log,
            first,
            end,
            micros,
        } => backed_up(log, first, end).about(end.vlf).taking(micros),
        L::HoldBegan { lsn, session } => hold_began(lsn, session),
        L::HoldEnded { lsn } => {
            let text = format!("The backup no longer holds the log from {} on.", lsn.to_decimal());
            say(EventKind::Hold, Weight::Ordinary, text, "")
        }
        L::Shrunk {
            from_bytes,
            to_bytes,
            refusal,
            ..
        } => shrunk(from_bytes, to_bytes, refusal),
        L::LeftLastVlf { .. } => left_last_vlf(),
        L::Recovered {
            phase,
            from,
            to,
            count,
            micros,
        } => recovered(phase, from, to, count).taking(micros).reading(from, to),
        L::TookBack {
            transaction,
            last,
            first,
        } => took_back(transaction, last, first)
            .about(first.vlf)
            .reading(last, first),
    }
}

/// The log itself knows the last reason that was looked up; the event behind this one has the one found now.
fn full(wait: &'static str) -> Said {
    let text = "The log is full and cannot grow: error 9002.".to_owned();
    let why = match wait {
        "NOTHING" => "No VLF is free. The reuse wait says what holds them.",
        known => reuse_words(known),
    };
    say(EventKind::Full, Weight::Warning, text, why)
}

fn waited(session: Option<u16>) -> Said {
    let who = session.map_or("The engine's own work".to_owned(), |session| {
        format!("Session {session}")
    });
    let text = format!("{who} found no room and waited.");
    say(EventKind::Wait, Weight::Warning, text, "The log had to grow first.")
}

fn truncated(freed: u32, from: u32) -> Said {
    let freed = vlfs(freed.into());
    let text = format!("{freed} became reusable. The log is needed from VLF {from} on.");
    let why = "Whole VLFs are let go, and the file keeps its size.";
    say(EventKind::Truncation, Weight::Notable, text, why)
}

fn reuse_wait(from: &'static str, to: &'static str) -> Said {
    let weight = if to == "NOTHING" {
        Weight::Ordinary
    } else {
        Weight::Notable
    };
    let text = format!("The log reuse wait went from {from} to {to}.");
    say(EventKind::ReuseWait, weight, text, reuse_words(to))
}

fn checkpointed(begin: Lsn, redo_start: Lsn, indirect: bool) -> Said {
    let (begin, redo_start) = (begin.to_decimal(), redo_start.to_decimal());
    let text = format!("A checkpoint at {begin}; redo would begin at {redo_start}.");
    let why = match indirect {
        true => "An indirect one: the oldest changed pages were written.",
        false => "Every changed page was written, so recovery has less to redo.",
    };
    say(EventKind::Checkpoint, Weight::Ordinary, text, why)
}

fn hold_began(lsn: Lsn, session: Option<u16>) -> Said {
    let who = session.map_or("A backup".to_owned(), |session| {
        format!("A backup of session {session}")
    });
    let text = format!("{who} holds the log from {} on.", lsn.to_decimal());
    let why = "It copies the log that was written while it ran.";
    say(EventKind::Hold, Weight::Ordinary, text, why)
}

fn left_last_vlf() -> Said {
    let text = "The shrink filled the rest of the last VLF, so the log continues in another one.";
    let why = "Once that VLF is free, the next shrink can cut it off.";
    say(EventKind::Shrink, Weight::Notable, text.to_owned(), why)
}

fn switched(to: u32, bytes: u64, former: u32, wrapped: bool) -> Said {
    let size = format_bytes(bytes);
    let (text, weight) = match (former, wrapped) {
        (0, _) => (
            format!("The log entered VLF {to}: {size}, never used before."),
            Weight::Ordinary,
        ),
        (former, false) => (
            format!("The log entered VLF {to}: {size}, last used as VLF {former}."),
            Weight::Ordinary,
        ),
        (former, true) => (
            format!("The log came round and entered VLF {to}: {size}, last used as VLF {former}."),
            Weight::Notable,
        ),
    };
    say(EventKind::Switch, weight, text, "The one before was full.")
}

fn growth_reason(cause: GrowthCause, zeroed: bool) -> &'static str {
    match (cause, zeroed) {
        (GrowthCause::Request, true) => "ALTER DATABASE asked for it, and zeros were written over the new space.",
        (GrowthCause::Request, false) => "ALTER DATABASE asked for it.",
        (GrowthCause::Ahead, true) => "Its last free VLF was entered. Zeros were written over the new space.",
        (GrowthCause::Ahead, false) => "Its last free VLF was entered; no session has waited yet.",
        (GrowthCause::Full, true) => "No VLF was free. Zeros were written over the new space while writers waited.",
        (GrowthCause::Full, false) => "No VLF was free.",
    }
}

fn backed_up(log: bool, first: Lsn, end: Lsn) -> Said {
    let (first, end) = (first.to_decimal(), end.to_decimal());
    let (text, why) = match log {
        true => (
            format!("The log was backed up, from {first} to {end}."),
            "Log that is backed up need not be kept for a backup any longer.",
        ),
        false => (
            format!("The database was backed up, with the log from {first} to {end}."),
            "A full backup lets no log go; it may begin the chain of log backups.",
        ),
    };
    say(EventKind::Backup, Weight::Notable, text, why)
}

fn shrunk(from_bytes: u64, to_bytes: u64, refusal: Option<i32>) -> Said {
    let (from, to) = (format_bytes(from_bytes), format_bytes(to_bytes));
    let text = match from_bytes == to_bytes {
        true => format!("A shrink left the file at {from}."),
        false => format!("A shrink took the file from {from} to {to}."),
    };
    match refusal {
        Some(number) => say(EventKind::Shrink, Weight::Warning, text, shrink_refusal(number)),
        None => say(
            EventKind::Shrink,
            Weight::Notable,
            text,
            "Free VLFs at the end of the file went.",
        ),
    }
}

fn took_back(transaction: u64, last: Lsn, first: Lsn) -> Said {
    let (last, first) = (last.to_decimal(), first.to_decimal());
    let text = format!("Undo took back transaction {transaction}, from {last} to its begin at {first}.");
    let why = "It has no commit record. Each change is undone by a separate record, so a crash now does no harm.";
    say(EventKind::Recovery, Weight::Notable, text, why)
}

fn recovered(phase: RecoveryPhase, from: Lsn, to: Lsn, count: u64) -> Said {
    let count = group_digits(count);
    let (from, to) = (from.to_decimal(), to.to_decimal());
    let (text, why) = match phase {
        RecoveryPhase::Discovery => (
            format!("Recovery found the log's {count} VLFs."),
            "Without a list of them, a header is read for each.",
        ),
        RecoveryPhase::Analysis => (
            format!("Analysis read {count} records, from the checkpoint at {from} to the end of the log at {to}."),
            "It finds out which transactions were under way.",
        ),
        RecoveryPhase::Redo => (
            format!("Redo went from {from} to {to}; {count} transactions are rolled forward."),
            "Pages get the changes that only the log had.",
        ),
        RecoveryPhase::Undo => (
            format!("Undo took back {count} transactions."),
            "They had not committed. Locks keep what they changed from others meanwhile.",
        ),
        RecoveryPhase::Whole => (
            format!("Recovery is complete; {count} transactions were rolled back."),
            "Its last checkpoint lets the next start be short.",
        ),
    };
    say(EventKind::Recovery, Weight::Notable, text, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_a_sentence_a_reason_and_the_time_of_day() {
        let told = LogEvent {
            number: 9,
            at_micros: 250,
            database: "sales".into(),
            kind: LogEventKind::Shrunk {
                file_id: 2,
                from_bytes: 8 << 20,
                to_bytes: 8 << 20,
                refusal: Some(9008),
            },
        };
        let event = event(&told, "sales", 1_000);
        assert_eq!((event.number, event.at, event.weight), (9, 1_250, Weight::Warning));
        assert_eq!(event.text, "A shrink left the file at 8 MB.");
        assert!(
            event.why.contains("9008") && event.why.contains("in use"),
            "{}",
            event.why
        );
    }
}
