//! The databases that are not recovered yet, and the progress of their recovery.
//!
//! Databases that are offline, being restored, or being created or opened by a statement do not count: their state is intended.

use engine::activity::{Activity, Work, WorkKind};
use engine::instance::{DatabaseSlot, DatabaseState, Instance};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// A database that is in a statement's hands (error 952).
const IN_TRANSITION: i32 = 952;

/// A database that is not recovered.
#[derive(Debug, Clone, PartialEq)]
pub struct Unrecovered {
    pub database: String,
    /// `analysis`, `redo`, `undo`; or why nothing goes on: `recovery_pending`, `suspect`.
    pub phase: &'static str,
    /// How much of the phase is done, 0 to 1, if it is known.
    pub fraction: Option<f64>,
}

impl Display for Unrecovered {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.database, self.phase)?;
        match self.fraction {
            Some(fraction) => write!(f, ", {:.0} %", (fraction * 100.0).floor()),
            None => Ok(()),
        }
    }
}

/// All of them. Without an instance it is being started: then those that it is at work on.
pub fn unrecovered(activity: &Activity, instance: Option<&Instance>) -> Vec<Unrecovered> {
    let mut found: Vec<Unrecovered> = activity.works().iter().filter_map(phase_under_way).collect();
    // Work is begun in the order of phases, and the last one of a database is what goes on.
    found.reverse();
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|each| seen.insert(each.database.clone()));
    let Some(instance) = instance else {
        return found;
    };
    let of_slot = |slot: Arc<DatabaseSlot>| {
        let database = slot.entry().name;
        let phase = match slot.state() {
            DatabaseState::Online(open) if open.is_recovering() => "undo",
            DatabaseState::RecoveryPending if !is_in_transition(&slot) => "recovery_pending",
            DatabaseState::Suspect => "suspect",
            _ => return None,
        };
        let under_way = found.iter().find(|each| each.database == database);
        Some(Unrecovered {
            fraction: under_way
                .filter(|each| each.phase == phase)
                .and_then(|each| each.fraction),
            phase,
            database,
        })
    };
    instance.slots().into_iter().filter_map(of_slot).collect()
}

fn is_in_transition(slot: &DatabaseSlot) -> bool {
    slot.database().is_err_and(|error| error.number == IN_TRANSITION)
}

/// Work of the engine's own that is a phase of a recovery.
fn phase_under_way(work: &Arc<Work>) -> Option<Unrecovered> {
    let phase = match work.kind {
        WorkKind::Analysis => "analysis",
        WorkKind::Redo => "redo",
        WorkKind::Rollback => "undo",
        _ => return None,
    };
    work.session.is_none().then(|| Unrecovered {
        database: work.database.clone(),
        phase,
        fraction: Some(f64::from(work.percent()) / 100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_tells_the_phase_of_each_database_and_nothing_of_what_sessions_do() {
        let activity = Arc::new(Activity::default());
        let analysis = activity.begin_for(None, WorkKind::Analysis, "sales", 200, 0);
        analysis.set_done(51);
        let _restore = activity.begin_for(Some(51), WorkKind::Redo, "copy", 10, 0);
        let _rollback = activity.begin_for(Some(52), WorkKind::Rollback, "sales", 10, 0);
        let told = |activity: &Activity| -> Vec<String> {
            unrecovered(activity, None).iter().map(Unrecovered::to_string).collect()
        };
        assert_eq!(told(&activity), ["sales: analysis, 25 %"]);
        drop(analysis);
        let _redo = activity.begin_for(None, WorkKind::Redo, "sales", 0, 0);
        let _undo = activity.begin_for(None, WorkKind::Rollback, "stock", 3, 0);
        let mut both = told(&activity);
        both.sort();
        assert_eq!(both, ["sales: redo, 0 %", "stock: undo, 0 %"]);
    }
}
