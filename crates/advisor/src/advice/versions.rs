//! Row versions that stay: aborted transactions that the version cleaner of accelerated recovery is behind with, and versions kept for an
//! old transaction.
//!
//! ```text
//!                       versions of a database are many: half of its data, in the persistent store, or of tempdb's, in the other store
//!                                 |
//!     a snapshot, or an active transaction, of half an hour ---- versions-held: named
//!     none of that age, and aborted transactions --------------- version-cleaner-behind
//!
//! an aborted transaction of half an hour -- none as old beside it -- version-cleaner-behind, however few the versions are
//! ```
//! Limits and order are those of SQL Server's documentation ("Monitor and troubleshoot accelerated database recovery"): versions are many near
//! half of the database, a transaction is long from 1,800 s on, and aborted ones are the cause where no active one is.

use super::tempdb::is_tempdb;
use super::wording::{duration, identifier, percent};
use super::{Case, Finding};
use crate::size::{format_bytes, group_digits};
use crate::snapshot::{DatabaseFacts, PersistentVersionFacts, SessionFacts, Snapshot};

/// A transaction is long from here on.
const LONG_S: u64 = 1_800;
/// Versions are many from this share of the data on.
const MANY_SHARE: f64 = 0.5;

pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    if database.source_database_id.is_some() || !database.is_online() {
        return;
    }
    let holder = holder(case.snapshot, database);
    let found = match &holder {
        Some(holder) => held(case.snapshot, database, holder),
        None => cleaner_is_behind(case.snapshot, database),
    };
    findings.extend(found);
}

/// Who keeps versions from being cleaned.
struct Holder<'s> {
    session: Option<&'s SessionFacts>,
    age_s: u64,
    is_snapshot: bool,
}

/// The oldest transaction that is long: one that reads a snapshot, in any database, as their numbers are the instance's; or the oldest one
/// under way in a database whose versions are persistent.
fn holder<'s>(snapshot: &'s Snapshot, database: &DatabaseFacts) -> Option<Holder<'s>> {
    let reads = snapshot.snapshot_transactions.iter().map(|reader| Holder {
        session: reader.session.as_ref(),
        age_s: reader.elapsed_s,
        is_snapshot: true,
    });
    let of_database = snapshot.transactions.iter().filter(|transaction| {
        transaction.database_id == database.database_id && database.persistent_versions.is_some()
    });
    let under_way = of_database.filter_map(|transaction| {
        Some(Holder {
            session: Some(transaction.session.as_ref()?),
            age_s: snapshot.age_s(transaction.begun?)?,
            is_snapshot: false,
        })
    });
    let long = reads.chain(under_way).filter(|holder| holder.age_s >= LONG_S);
    long.max_by_key(|holder| holder.age_s)
}

/// Bytes of a database's versions in a store, and of the data that they are compared with.
struct Versions {
    bytes: u64,
    data_bytes: u64,
    evidence: String,
}

impl Versions {
    fn are_many(&self) -> bool {
        self.data_bytes > 0 && self.bytes as f64 >= self.data_bytes as f64 * MANY_SHARE
    }
}

/// In the persistent store beside the database's data, or else in the store in tempdb beside tempdb's.
fn versions(snapshot: &Snapshot, database: &DatabaseFacts) -> Option<Versions> {
    let share = |bytes: u64, data_bytes: u64| percent(bytes as f64 / data_bytes.max(1) as f64);
    if let Some(persistent) = &database.persistent_versions {
        let data_bytes = database.data_bytes?;
        return Some(Versions {
            bytes: persistent.bytes,
            data_bytes,
            evidence: format!(
                "persistent_version_store_size_kb: {}, {} of the data files' {}",
                format_bytes(persistent.bytes),
                share(persistent.bytes, data_bytes),
                format_bytes(data_bytes)
            ),
        });
    }
    let bytes = database.version_store_bytes?;
    let tempdb = snapshot.databases.iter().find(|each| is_tempdb(each))?;
    let data_bytes = tempdb.data_bytes?;
    Some(Versions {
        bytes,
        data_bytes,
        evidence: format!(
            "reserved_space_kb in sys.dm_tran_version_store_space_usage: {}, {} of tempdb's {}",
            format_bytes(bytes),
            share(bytes, data_bytes),
            format_bytes(data_bytes)
        ),
    })
}

fn held(snapshot: &Snapshot, database: &DatabaseFacts, holder: &Holder<'_>) -> Option<Finding> {
    let versions = versions(snapshot, database).filter(Versions::are_many)?;
    let who = match holder.session {
        Some(session) if session.login.is_empty() => format!("session {}", session.session_id),
        Some(session) => format!("session {} of {}", session.session_id, session.login),
        None => "a transaction without a session".to_owned(),
    };
    let what = match holder.is_snapshot {
        true => "reads a snapshot",
        false => "has a transaction open",
    };
    let age = duration(holder.age_s);
    let mut finding = Finding::of(
        "versions-held",
        Some(database),
        format!("row versions are kept for {who}, which {what} for {age}"),
    )
    .evidence(versions.evidence)
    .now(format!("{} of row versions", format_bytes(versions.bytes)))
    .otherwise("The versions grow with every change in the database until that transaction ends.");
    if let Some(session) = holder.session {
        finding = finding.tsql(format!(
            "-- What it ran last:\nDBCC INPUTBUFFER ({0});\n-- Have the application end it. If it cannot:\nKILL {0};",
            session.session_id
        ));
    }
    Some(finding)
}

fn cleaner_is_behind(snapshot: &Snapshot, database: &DatabaseFacts) -> Option<Finding> {
    let persistent = database.persistent_versions.as_ref()?;
    if persistent.aborted == 0 {
        return None;
    }
    let age_s = persistent.oldest_aborted_begun.and_then(|begun| snapshot.age_s(begun));
    let versions = versions(snapshot, database);
    let is_old = age_s.is_some_and(|age| age >= LONG_S);
    if !is_old && !versions.as_ref().is_some_and(Versions::are_many) {
        return None;
    }
    let transactions = match persistent.aborted {
        1 => "1 aborted transaction is".to_owned(),
        count => format!("{} aborted transactions are", group_digits(count)),
    };
    let finding = Finding::of(
        "version-cleaner-behind",
        Some(database),
        format!("{transactions} not cleaned up: the version cleaner is behind"),
    )
    .evidence(format!(
        "current_aborted_transaction_count = {}",
        group_digits(persistent.aborted)
    ))
    .evidence_if(age_s.map(|age| format!("the oldest of them began {} ago", duration(age))))
    .evidence_if(versions.map(|versions| versions.evidence))
    .evidence_if(last_sweep(snapshot, persistent));
    Some(
        finding
            .now(format!("{} of row versions", format_bytes(persistent.bytes)))
            .tsql(format!(
                "-- At a quiet hour; what hinders the cleaner is in the error log (VersionCleaner):\nEXEC sys.sp_persistent_version_cleanup {};",
                identifier(&database.name)
            ))
            .otherwise("Versions stay and grow, and readers step over what was rolled back."),
    )
}

/// When the cleaner last went through the aborted transactions, as far as the server tells.
fn last_sweep(snapshot: &Snapshot, persistent: &PersistentVersionFacts) -> Option<String> {
    let ago = |moment| snapshot.age_s(moment).map(duration);
    match (persistent.cleaner_begun, persistent.cleaner_ended) {
        (Some(begun), None) => Some(format!("its sweep began {} ago and has not ended", ago(begun)?)),
        (_, Some(ended)) => Some(format!("its last sweep ended {} ago", ago(ended)?)),
        (None, None) => None,
    }
}
