//! Analyses a snapshot: what is wrong with these logs, the cause, the cost in seconds, what to do, and what happens otherwise.
//!
//! ```text
//! Snapshot --> judges, one for each subject --> Finding --> render
//!              |                                  |
//!              recovering: not online yet
//!              room: full, MAXSIZE, volume        id, CheckID, priority (catalogue)
//!              reuse: each reuse wait, its holder evidence: the server's own figures
//!              chain: log backups                 cost: now / a day / at a restart, each with where it comes from
//!              layout: VLFs in seconds            T-SQL for this version and situation
//!              writes: stalls, slow writes        what happens otherwise
//!              settings: growth and the rest
//!              shrink: whether the end of the log is free
//!              tempdb: what is its own
//!              versions: row versions that stay, and for whom
//! ```
//! A finding has one of three outcomes: there is something to do; nothing to do, with the reason; or not checked, with the reason.
//! Invariant: a log that could not be read never counts as healthy.
//!
//! Invariant: no T-SQL here changes a recovery model, backs up to its own path or to NUL, or deletes a file. Log backups are left to the
//! usual job.

mod catalogue;
mod chain;
mod layout;
mod recovering;
mod reuse;
mod room;
mod settings;
mod shrink;
mod tempdb;
mod versions;
mod wording;
mod writes;

use device::price::Price;
use serde::Serialize;
use vlf::ServerVersion;

pub use catalogue::{CHECKS, Check, check};
pub use layout::verdict_of_layout;
pub(crate) use reuse::Holding;

use crate::price::PricedDisk;
use crate::search::Found;
use crate::snapshot::{DatabaseFacts, LogFile, NotRead, Origin, Snapshot};

/// What is to come of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Something is to be done.
    Act,
    /// It looks like something to mend, and is not.
    NothingToDo,
    /// It could not be read.
    NotChecked,
}

/// Where a figure comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// The server measured or counted it itself.
    Server,
    /// Computed from the figures of a disk; its name.
    ModelledDisk(String),
}

/// A price, in seconds where it is one of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// In words, with its unit and range.
    pub text: String,
    /// From the best to the worst figures; `None` for what is not counted in seconds.
    pub seconds: Option<SecondsRange>,
    pub from: Provenance,
}

/// Seconds at a disk's best, typical and worst figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SecondsRange {
    pub fast_s: f64,
    pub typical_s: f64,
    pub slow_s: f64,
}

impl From<Price> for SecondsRange {
    fn from(price: Price) -> SecondsRange {
        SecondsRange {
            fast_s: price.fast_s,
            typical_s: price.typical_s,
            slow_s: price.slow_s,
        }
    }
}

/// What something costs, by when it is paid. `None` = nothing, or not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Costs {
    pub now: Option<Cost>,
    pub per_day: Option<Cost>,
    pub at_restart: Option<Cost>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Stays the same between releases.
    pub id: &'static str,
    /// The same as a number, for those who filter by one.
    pub check_id: u16,
    /// From 1, the most urgent, to 255.
    pub priority: u8,
    pub outcome: Outcome,
    /// `None` = the server.
    pub database: Option<String>,
    /// One sentence.
    pub headline: String,
    /// The server's own figures, one each.
    pub evidence: Vec<String>,
    pub cost: Costs,
    /// To read and run; nothing here runs it.
    pub tsql: Option<String>,
    /// What happens if nothing is done.
    pub otherwise: String,
}

/// One line about a database's log as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub database: String,
    pub log_bytes: u64,
    /// From 0 to 1.
    pub used_share: Option<f64>,
    /// 0 = not read.
    pub vlf_count: u64,
    pub reuse_wait: String,
    /// The VLFs in seconds, or why they are not known.
    pub text: String,
    /// Typical seconds of its VLFs at a start; `None` = not known.
    pub restart_s: Option<f64>,
}

/// A snapshot judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// `host:port`, or the file.
    pub name: String,
    /// Version and edition, in words.
    pub product: String,
    pub origin: Origin,
    /// The disk that seconds are computed on.
    pub disk: String,
    /// The most urgent first.
    pub findings: Vec<Finding>,
    pub verdicts: Vec<Verdict>,
}

/// What a judge looks at.
struct Case<'s> {
    snapshot: &'s Snapshot,
    disk: &'s PricedDisk,
    /// Whose rules count. The newest where the version is not known.
    version: ServerVersion,
}

impl<'s> Case<'s> {
    fn of(snapshot: &'s Snapshot, disk: &'s PricedDisk) -> Case<'s> {
        Case {
            snapshot,
            disk,
            version: snapshot.version().unwrap_or(ServerVersion::V2022),
        }
    }
}

/// Judges a snapshot; seconds are those of `disk`.
pub fn advise(snapshot: &Snapshot, disk: &PricedDisk) -> Advice {
    let case = Case::of(snapshot, disk);
    let mut findings = Vec::new();
    for database in &snapshot.databases {
        recovering::judge(&case, database, &mut findings);
        room::judge(&case, database, &mut findings);
        reuse::judge(&case, database, &mut findings);
        chain::judge(&case, database, &mut findings);
        layout::judge(&case, database, &mut findings);
        writes::judge(&case, database, &mut findings);
        settings::judge(&case, database, &mut findings);
        tempdb::judge(&case, database, &mut findings);
        shrink::judge(&case, database, &mut findings);
        versions::judge(&case, database, &mut findings);
    }
    settings::judge_server(&case, &mut findings);
    findings.extend(not_checked(&snapshot.not_read));
    findings.sort_by(|one, other| {
        let key = |finding: &Finding| (finding.priority, finding.check_id, finding.database.clone());
        key(one).cmp(&key(other))
    });
    let verdict = |database: &DatabaseFacts| Verdict {
        database: database.name.clone(),
        log_bytes: database.log_bytes(),
        used_share: database.used_share(),
        vlf_count: database.vlf_count(),
        reuse_wait: database.reuse_wait.clone(),
        text: layout::verdict(&case, database),
        restart_s: layout::restart_s(&case, database),
    };
    Advice {
        name: snapshot.name.clone(),
        product: product(snapshot),
        origin: snapshot.origin,
        disk: disk.name.clone(),
        findings,
        verdicts: snapshot.databases.iter().map(verdict).collect(),
    }
}

/// Whether something holds a database's log now.
pub(crate) fn holding(snapshot: &Snapshot, disk: &PricedDisk, database: &DatabaseFacts) -> Holding {
    reuse::holding(&Case::of(snapshot, disk), database)
}

/// The steps to the layout that is advised for a log, with their T-SQL; `None` where it is not worth a rebuild.
pub(crate) fn rebuild_of(
    snapshot: &Snapshot,
    disk: &PricedDisk,
    database: &DatabaseFacts,
    file: &LogFile,
) -> Option<(Found, String)> {
    layout::rebuild_of(&Case::of(snapshot, disk), database, file)
}

fn product(snapshot: &Snapshot) -> String {
    let server = &snapshot.server;
    let words = [server.product_version.as_str(), server.edition.as_str()];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "version not known".to_owned(),
        false => words.join(", "),
    }
}

impl Advice {
    /// Findings that ask for something to be done.
    pub fn to_do(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.outcome == Outcome::Act)
    }

    /// Findings of an outcome.
    pub fn of_outcome(&self, outcome: Outcome) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.outcome == outcome)
    }

    /// Whether something that matters to every log could not be read, for want of a right, an answer or a connection. What the server's
    /// version does not have is not a gap.
    pub fn has_gaps(&self) -> bool {
        self.of_outcome(Outcome::NotChecked)
            .any(|finding| finding.check_id == catalogue::NOT_CHECKED)
    }
}

impl Finding {
    fn of(id: &'static str, database: Option<&DatabaseFacts>, headline: String) -> Finding {
        let check = check(id).expect("every judge names a check of the catalogue");
        Finding {
            id,
            check_id: check.check_id,
            priority: check.priority,
            outcome: Outcome::Act,
            database: database.map(|database| database.name.clone()),
            headline,
            evidence: Vec::new(),
            cost: Costs::default(),
            tsql: None,
            otherwise: String::new(),
        }
    }

    fn evidence(mut self, line: impl Into<String>) -> Finding {
        self.evidence.push(line.into());
        self
    }

    fn evidence_if(self, line: Option<String>) -> Finding {
        match line {
            Some(line) => self.evidence(line),
            None => self,
        }
    }

    fn tsql(mut self, text: impl Into<String>) -> Finding {
        self.tsql = Some(text.into());
        self
    }

    fn otherwise(mut self, text: impl Into<String>) -> Finding {
        self.otherwise = text.into();
        self
    }

    fn now(mut self, text: impl Into<String>) -> Finding {
        self.cost.now = Some(Cost {
            text: text.into(),
            seconds: None,
            from: Provenance::Server,
        });
        self
    }

    /// Nothing need be done: the priority is that of a remark.
    fn nothing_to_do(mut self) -> Finding {
        self.outcome = Outcome::NothingToDo;
        self.priority = catalogue::REMARK;
        self
    }
}

/// One finding for each reason: two hundred databases without a right are one gap.
fn not_checked(not_read: &[NotRead]) -> Vec<Finding> {
    let mut groups: Vec<(&NotRead, Vec<&str>)> = Vec::new();
    for one in not_read {
        let known = groups
            .iter_mut()
            .find(|(first, _)| first.source == one.source && first.reason == one.reason);
        let databases = match known {
            Some((_, databases)) => databases,
            None => {
                groups.push((one, Vec::new()));
                &mut groups.last_mut().expect("one was just added").1
            }
        };
        databases.extend(one.database.as_deref());
    }
    let finding = |(one, databases): (&NotRead, Vec<&str>)| {
        let id = if one.is_absent() { "not-there" } else { "not-checked" };
        let of = match databases.as_slice() {
            [] => String::new(),
            [one] => format!(" of {one}"),
            several => format!(" of {} databases", several.len()),
        };
        let mut finding = Finding::of(
            id,
            None,
            format!("{}{of} was not checked, because {}", one.source, one.reason),
        );
        finding.outcome = Outcome::NotChecked;
        if let [one] = databases.as_slice() {
            finding.database = Some((*one).to_owned());
        }
        if databases.len() > 1 {
            finding.evidence = vec![wording::listed(&databases)];
        }
        finding.otherwise("Its result stays unknown; it does not count as healthy.")
    };
    groups.into_iter().map(finding).collect()
}
