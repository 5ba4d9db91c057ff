//! Databases that are not online yet after startup: the progress of recovery, by the server's own estimate.

use super::wording::duration;
use super::{Case, Cost, Finding, Provenance};
use crate::snapshot::DatabaseFacts;

/// What SQL Server says of a recovery in its error log, every few seconds while one runs:
/// `Recovery of database 'x' (7) is 12% complete (approximately 345 seconds remain). Phase 2 of 3.`
struct Progress {
    percent: u64,
    seconds_left: u64,
    /// 1 analysis, 2 redo, 3 undo.
    phase: Option<u64>,
}

pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    if database.is_online() {
        return;
    }
    let begin = format!("Recovery of database '{}' (", database.name);
    let lines = case
        .snapshot
        .error_log
        .iter()
        .filter(|line| line.text.starts_with(&begin));
    let Some(last) = lines.max_by_key(|line| line.at) else {
        return;
    };
    let Some(progress) = progress(last.text.get(begin.len()..).unwrap_or_default()) else {
        return;
    };
    let phase = match progress.phase {
        Some(1) => ", in analysis (phase 1 of 3)",
        Some(2) => ", in redo (phase 2 of 3)",
        Some(3) => ", in undo (phase 3 of 3)",
        _ => "",
    };
    let left = duration(progress.seconds_left);
    let mut finding = Finding::of(
        "in-recovery",
        Some(database),
        format!("recovery is {} % done{phase}; about {left} are left", progress.percent),
    )
    .evidence(format!("state_desc = {}", database.state))
    .evidence(format!(
        "{}{}",
        last.at.map_or_else(String::new, |at| format!("{at}: ")),
        last.text
    ))
    .tsql("-- It continues by itself; a restart would start it over. Its progress:\nEXEC sp_readerrorlog 0, 1, N'Recovery of database';")
    .otherwise("It ends by itself. Redo takes as long as there is log since the last checkpoint, undo as long as the longest open transaction took.");
    finding.cost.now = Some(Cost {
        text: format!("about {left} offline, by the server's estimate"),
        seconds: None,
        from: Provenance::Server,
    });
    findings.push(finding);
}

/// The figures behind the database's name.
fn progress(text: &str) -> Option<Progress> {
    let before = |word: &str| {
        let head = text.get(..text.find(word)?)?.trim_end();
        let digits = head.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    Some(Progress {
        percent: before("% complete")?,
        seconds_left: before("seconds remain")?,
        phase: before(" of 3"),
    })
}
