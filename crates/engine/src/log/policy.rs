//! How the log works: every mechanism that makes many VLFs slow is a separate setting.
//!
//! [`LogPolicy::classic`] works like SQL Server 2005 to 2012, [`LogPolicy::native`] is our own. Both write the same file format, and a
//! policy may change while the log is in use. (S) marks statements of Microsoft or a named author, (I) marks conclusions from published
//! waits and timings:
//!
//! | mechanism | classic | native |
//! |---|---|---|
//! | growth | in the path of the session that needs room (S: Microsoft's page on instant file initialization) | ahead of need, in the background, unless a checkpoint would free log ([`super::room`]) |
//! | initialization | zeros over all new space (S: Paul Randal), two flushes (I: the share of PREEMPTIVE_OS_FLUSHFILEBUFFERS in Glenn Berry's wait tables) | reserved by the file system; sequence numbers, parity and checksums tell old bytes from new |
//! | VLF headers | written and flushed with the space they lie in (I: `DBCC LOGINFO` and the files of SQL Server 7 to 2016 show one for every VLF, used or not) | a VLF has its header when the log enters it: until then page 0 and the directory know it |
//! | VLF switch | the next free VLF is searched from the start of the table, its header written and flushed alone (I: the wear of small VLFs in Linchi Shea's figures) | free VLFs are kept in order; the header rides with the first block |
//! | discovery | one small read per VLF, each naming the next (I: Graham Kent's 5.2 ms per VLF) | offsets from page 0, states from a directory, or headers read in parallel |
//! | scan | VLF by VLF, one log block per read (I: KB2455009 "slow scan through VLFs"); a log backup 6 reads of up to 1 MB at once, within VLFs (S: psssql and Kehayias, traces with flag 3213; within VLFs: I) | large reads across borders |
//! | commit flush | one write per log block (S: Bob Ward's inside-the-log talk), one at a time (simpler than the real one, see below) | adjacent blocks joined into one write, several writes under way |
//! | volume | one record per row and index: whole rows that come and go, of a changed one the bytes between the first and the last that differ (S: public parsers of .ldf files), INSERT ... SELECT too unless SQL Server logs it minimally (`Table::may_fill`) | changed bytes, one record per filled page |
//! | checkpoints | by the recovery interval: every changed page at once (S: sql-docs, "Database checkpoints", automatic) | small ones by log volume, in the manner of indirect checkpoints (S: same page, the default since 2016) |
//! | opening | after undo (S: sql-docs, restart recovery, editions other than Enterprise) | after redo, undo in the background under its locks (S: same page, "fast recovery") |
//!
//! SQL Server itself has up to 32 log writes of a database in flight, since 2012 up to 112 (S: Paul Randal, "Trimming More Transaction Log
//! Fat"). Classic here has one, which shows the cost of waiting for each write.
//!
//! As text, a policy is one of the two and the mechanisms that differ from it: `native`, `classic`,
//! `native,discovery=classic`, `classic,growth=native,scan=native`.

use super::flight::WRITES_MAX;
use std::fmt;
use std::str::FromStr;

/// When a full log grows, and by which thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GrowthTiming {
    /// The session that needs room, while everybody else waits.
    WhenFull,
    /// The background, as soon as the log enters its last free VLF.
    AheadOfNeed,
}

/// What happens to new space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Initialization {
    /// Zeros are written over it and flushed before it is used.
    Zeroed,
    /// The file system reserves it.
    Instant,
}

/// When a VLF gets its header on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VlfHeaders {
    /// When it is made, by creation, growth or restore.
    WhenCreated,
    /// When the log enters it.
    WhenEntered,
}

/// How the log enters its next VLF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VlfSwitch {
    /// Searches the table, then writes and flushes the header on its own.
    SearchAndFlush,
    /// Takes the next of the free list; the header is part of the first block's write.
    FreeList,
}

/// How VLFs are found when a database starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiscoveryMode {
    /// Reads header after header, in order.
    Walk,
    /// Takes the offsets from page 0 and reads the headers in parallel.
    Directory,
}

/// How the log is read forward, by recovery and by log backups. A backup under `BlockReads` has large reads that stop at VLF borders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScanMode {
    /// One log block per read, VLF by VLF.
    BlockReads,
    /// Large reads that do not stop at VLF borders.
    LargeReads,
}

/// How sealed blocks reach the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommitFlush {
    /// Each block is one durable write, one at a time.
    BlockByBlock,
    /// Adjacent blocks are one durable write, several of which are under way at once.
    Joined,
}

impl CommitFlush {
    /// Writes of the log that are not durable at most, `1..=`[`WRITES_MAX`].
    pub(super) fn writes_max(self) -> usize {
        match self {
            CommitFlush::BlockByBlock => 1,
            CommitFlush::Joined => WRITES_MAX,
        }
    }
}

/// How much a change logs. The writers of records obey it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogVolume {
    /// Whole rows as they come and go, the changed bytes of the others; one record per row.
    RowImages,
    /// What redo and undo need.
    ChangedBytes,
}

/// What calls for a checkpoint. Obeyed by the instance; a `recovery interval` that was configured is obeyed under both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckpointTiming {
    /// The recovery interval: then every changed page is written.
    RecoveryInterval,
    /// Every so many bytes of log; then only pages whose first change is old are written.
    LogVolume,
}

/// When a database that was not shut down cleanly is opened at the start of its instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opening {
    /// When recovery is over.
    AfterUndo,
    /// When redo is over: transactions to be undone hold their locks until they are.
    AfterRedo,
}

/// The choice for every mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogPolicy {
    /// When a full log grows, and by which thread.
    pub growth: GrowthTiming,
    /// What happens to new space.
    pub initialization: Initialization,
    /// When a VLF gets its header on disk.
    pub vlf_headers: VlfHeaders,
    /// How the log enters its next VLF.
    pub vlf_switch: VlfSwitch,
    /// How VLFs are found at startup.
    pub discovery: DiscoveryMode,
    /// How the log is read forward.
    pub scan: ScanMode,
    /// How sealed blocks reach the disk.
    pub commit_flush: CommitFlush,
    /// How much a change logs.
    pub volume: LogVolume,
    /// What calls for a checkpoint.
    pub checkpoint: CheckpointTiming,
    /// When a database is opened.
    pub opening: Opening,
}

impl LogPolicy {
    /// SQL Server's way, 2005 to 2012.
    pub const fn classic() -> LogPolicy {
        LogPolicy {
            growth: GrowthTiming::WhenFull,
            initialization: Initialization::Zeroed,
            vlf_headers: VlfHeaders::WhenCreated,
            vlf_switch: VlfSwitch::SearchAndFlush,
            discovery: DiscoveryMode::Walk,
            scan: ScanMode::BlockReads,
            commit_flush: CommitFlush::BlockByBlock,
            volume: LogVolume::RowImages,
            checkpoint: CheckpointTiming::RecoveryInterval,
            opening: Opening::AfterUndo,
        }
    }

    /// Our way; the default.
    pub const fn native() -> LogPolicy {
        LogPolicy {
            growth: GrowthTiming::AheadOfNeed,
            initialization: Initialization::Instant,
            vlf_headers: VlfHeaders::WhenEntered,
            vlf_switch: VlfSwitch::FreeList,
            discovery: DiscoveryMode::Directory,
            scan: ScanMode::LargeReads,
            commit_flush: CommitFlush::Joined,
            volume: LogVolume::ChangedBytes,
            checkpoint: CheckpointTiming::LogVolume,
            opening: Opening::AfterRedo,
        }
    }
}

impl LogPolicy {
    /// Sets one mechanism of [`MECHANISMS`] to what `source` has; false when there is no such mechanism.
    fn take(&mut self, mechanism: &str, source: &LogPolicy) -> bool {
        match mechanism {
            "growth" => self.growth = source.growth,
            "initialization" => self.initialization = source.initialization,
            "vlf_headers" => self.vlf_headers = source.vlf_headers,
            "vlf_switch" => self.vlf_switch = source.vlf_switch,
            "discovery" => self.discovery = source.discovery,
            "scan" => self.scan = source.scan,
            "commit_flush" => self.commit_flush = source.commit_flush,
            "volume" => self.volume = source.volume,
            "checkpoint" => self.checkpoint = source.checkpoint,
            "opening" => self.opening = source.opening,
            _ => return false,
        }
        true
    }

    /// Whether `mechanism` is set to what `other` has.
    fn agrees(&self, mechanism: &str, other: &LogPolicy) -> bool {
        let mut changed = *self;
        changed.take(mechanism, other) && changed == *self
    }
}

impl Default for LogPolicy {
    fn default() -> LogPolicy {
        LogPolicy::native()
    }
}

/// Names of the mechanisms, as [`LogPolicy`]'s text form has them.
pub const MECHANISMS: [&str; 10] = [
    "growth",
    "initialization",
    "vlf_headers",
    "vlf_switch",
    "discovery",
    "scan",
    "commit_flush",
    "volume",
    "checkpoint",
    "opening",
];

/// Set in the code of every policy, so that none is 0.
const CODE_MARK: u16 = 1 << 15;

impl LogPolicy {
    /// The policy in the 16 bits of master's boot record: a bit for each of [`MECHANISMS`] that is classic, and the highest.
    pub fn code(&self) -> u16 {
        let classic = LogPolicy::classic();
        let bits = MECHANISMS.iter().enumerate();
        bits.filter(|(_, name)| self.agrees(name, &classic))
            .fold(CODE_MARK, |code, (bit, _)| code | 1 << bit)
    }

    /// From its code; `None` for what is none, 0 above all.
    pub fn from_code(code: u16) -> Option<LogPolicy> {
        let (mut policy, classic) = (LogPolicy::native(), LogPolicy::classic());
        if code & CODE_MARK == 0 || (code & !CODE_MARK) >> MECHANISMS.len() != 0 {
            return None;
        }
        for (bit, mechanism) in MECHANISMS.iter().enumerate() {
            if code & 1 << bit != 0 {
                policy.take(mechanism, &classic);
            }
        }
        Some(policy)
    }
}

/// A text that names no policy; says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError(String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolicyError {}

impl FromStr for LogPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<LogPolicy, PolicyError> {
        let mut parts = text.split(',').map(str::trim);
        let mut policy = named(parts.next().unwrap_or_default())?;
        for part in parts {
            let (mechanism, setting) = part
                .split_once('=')
                .ok_or_else(|| PolicyError(format!("{part:?}: write MECHANISM=native or MECHANISM=classic")))?;
            let source = named(setting.trim())?;
            if !policy.take(mechanism.trim(), &source) {
                let known = MECHANISMS.join(", ");
                return Err(PolicyError(format!(
                    "{mechanism:?} is not a mechanism of the log; the mechanisms are {known}"
                )));
            }
        }
        Ok(policy)
    }
}

fn named(name: &str) -> Result<LogPolicy, PolicyError> {
    match name {
        "native" => Ok(LogPolicy::native()),
        "classic" => Ok(LogPolicy::classic()),
        _ => Err(PolicyError(format!(
            "log policy {name:?}: use native or classic, and mechanisms that differ, as in native,discovery=classic"
        ))),
    }
}

impl fmt::Display for LogPolicy {
    /// The shortest text that [`FromStr`] reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (native, classic) = (LogPolicy::native(), LogPolicy::classic());
        let classic_count = MECHANISMS.iter().filter(|name| self.agrees(name, &classic)).count();
        let (base, base_name, other_name) = if 2 * classic_count > MECHANISMS.len() {
            (classic, "classic", "native")
        } else {
            (native, "native", "classic")
        };
        f.write_str(base_name)?;
        for mechanism in MECHANISMS.iter().filter(|name| !self.agrees(name, &base)) {
            write!(f, ",{mechanism}={other_name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_policies_are_not_zero_and_nothing_else_is_one() {
        for policy in [LogPolicy::native(), LogPolicy::classic()] {
            assert_eq!(LogPolicy::from_code(policy.code()), Some(policy));
        }
        assert_ne!(LogPolicy::native().code(), LogPolicy::classic().code());
        for code in [0, 1, 0x7fff, 0xffff, CODE_MARK | 1 << MECHANISMS.len()] {
            assert_eq!(LogPolicy::from_code(code), None, "{code:#x}");
        }
    }

    #[test]
    fn every_mechanism_can_be_set_alone_and_is_told_back() {
        for mechanism in MECHANISMS {
            let text = format!("native,{mechanism}=classic");
            let policy: LogPolicy = text.parse().unwrap();
            assert_ne!(policy, LogPolicy::native(), "{mechanism}");
            assert_eq!(policy.to_string(), text);
            assert_eq!(LogPolicy::from_code(policy.code()), Some(policy));
            let back: LogPolicy = format!("{text}, {mechanism} = native").parse().unwrap();
            assert_eq!(back, LogPolicy::native(), "{mechanism}");
        }
        let all: Vec<String> = MECHANISMS.iter().map(|name| format!("{name}=classic")).collect();
        let all: LogPolicy = format!("native,{}", all.join(",")).parse().unwrap();
        assert_eq!((all, all.to_string()), (LogPolicy::classic(), "classic".to_string()));
    }

    #[test]
    fn wrong_texts_are_told_what_to_write() {
        for (text, remedy) in [
            ("", "use native or classic"),
            ("modern", "use native or classic"),
            ("native,discovery", "MECHANISM=native"),
            ("native,discovery=slow", "use native or classic"),
            ("classic,discover=native", "the mechanisms are growth, initialization"),
        ] {
            let error = text.parse::<LogPolicy>().unwrap_err().to_string();
            assert!(error.contains(remedy), "{text}: {error}");
        }
    }
}
