//! Repeated messages: written once, then counted.
//!
//! ```text
//! heard for the first time      written; for WINDOW_MICROS the same message is counted
//! heard again in the window     counted
//! the window is over            logged with its count, if that is not 0, when the log is next written or read, or the instance stops
//! ```
//! Which messages are the same is decided by source, numbers and sentence. Invariant: no more than [`MESSAGES_MAX`] are remembered, each
//! of [`SENTENCE_BYTES_MAX`] at most; the one whose window ends first makes room, and its count is logged.

use super::ErrorNumbers;
use std::collections::HashMap;

/// How long a message is counted after it was written, in microseconds: a minute.
pub(super) const WINDOW_MICROS: u64 = 60_000_000;
/// Messages remembered at once.
pub(super) const MESSAGES_MAX: usize = 256;
/// A longer sentence is written each time.
pub(super) const SENTENCE_BYTES_MAX: usize = 2048;

/// What makes two messages the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Message {
    pub(super) source: String,
    pub(super) numbers: ErrorNumbers,
    pub(super) sentence: String,
}

/// A message that came again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeated {
    pub(super) message: Message,
    /// How often since it was written, not 0.
    pub(super) count: u64,
}

impl Repeated {
    /// The message with its count.
    pub(super) fn sentence(&self) -> String {
        let times = match self.count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        format!("{} (This message was repeated {times}.)", self.message.sentence)
    }
}

#[derive(Debug, Clone, Copy)]
struct Window {
    /// In microseconds of the log's clock.
    end: u64,
    count: u64,
}

/// The messages of late.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    recent: HashMap<Message, Window>,
}

impl Repeats {
    /// Whether a message is to be written; else it was counted. The second part is what had to make room for it.
    pub(super) fn hear(&mut self, message: &Message, now: u64) -> (bool, Option<Repeated>) {
        if message.sentence.len() > SENTENCE_BYTES_MAX {
            return (true, None);
        }
        if let Some(window) = self.recent.get_mut(message) {
            window.count += 1;
            return (false, None);
        }
        let mut displaced = None;
        if self.recent.len() >= MESSAGES_MAX {
            let first = self.recent.iter().min_by_key(|(_, window)| window.end);
            let first = first.map(|(message, _)| message.clone());
            displaced = first.and_then(|message| self.forget(message));
        }
        let window = Window {
            end: now.saturating_add(WINDOW_MICROS),
            count: 0,
        };
        self.recent.insert(message.clone(), window);
        (true, displaced)
    }

    /// Forgets the messages whose windows are over at `now`, and answers those that came again.
    pub(super) fn ended(&mut self, now: u64) -> Vec<Repeated> {
        let mut over: Vec<(u64, Message)> = self
            .recent
            .iter()
            .filter(|(_, window)| window.end <= now)
            .map(|(message, window)| (window.end, message.clone()))
            .collect();
        over.sort_by_key(|(end, _)| *end);
        over.into_iter()
            .filter_map(|(_, message)| self.forget(message))
            .collect()
    }

    /// Messages remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.recent.len()
    }

    fn forget(&mut self, message: Message) -> Option<Repeated> {
        let window = self.recent.remove(&message)?;
        (window.count > 0).then_some(Repeated {
            message,
            count: window.count,
        })
    }
}
