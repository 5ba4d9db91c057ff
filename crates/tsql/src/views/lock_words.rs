//! The words in which application locks are requested and shown (sql-docs, "sp_getapplock", "APPLOCK_MODE").

use engine::lock::{Account, Mode};

/// The modes that can be asked for, by the words of these procedures and functions.
const MODES: [(&str, Mode); 5] = [
    ("Shared", Mode::S),
    ("Update", Mode::U),
    ("Exclusive", Mode::X),
    ("IntentShared", Mode::IS),
    ("IntentExclusive", Mode::IX),
];

/// The mode of a word.
pub(crate) fn mode_of(word: &str) -> Option<Mode> {
    let word = word.trim_end();
    let known = MODES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    known.map(|(_, mode)| *mode)
}

/// The word of a mode, of sums of modes as well.
pub(crate) fn word_of(mode: Option<Mode>) -> &'static str {
    match mode {
        None => "NoLock",
        Some(Mode::SIX) => "SharedIntentExclusive",
        Some(mode) => MODES
            .iter()
            .find(|(_, known)| *known == mode)
            .map_or("Exclusive", |(word, _)| word),
    }
}

/// The account of a word.
pub(crate) fn account_of(word: &str) -> Option<Account> {
    match word.trim_end().to_ascii_lowercase().as_str() {
        "session" => Some(Account::Session),
        "transaction" => Some(Account::Transaction),
        _ => None,
    }
}
