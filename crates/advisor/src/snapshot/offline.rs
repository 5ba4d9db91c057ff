//! Snapshots without a server: of a log file on disk, and of pasted rows.

use vlf::{LogLayout, ServerVersion};

use super::{
    DatabaseFacts, InspectionFacts, LogFile, NotRead, Origin, SNAPSHOT_VERSION, ServerFacts, Snapshot, VlfFacts,
};
use crate::inspection::{Inspection, VlfState};
use crate::pasted::{PastedError, PastedLog, logs_from_text};

/// What neither rows of VLFs nor a log file have.
const OF_A_SERVER: &str =
    "what only a server knows (who holds the log, how full it is, its settings, writes and backups)";

fn without_server(origin: Origin, name: &str, version: Option<ServerVersion>, why: &str) -> Snapshot {
    let not_read = NotRead {
        source: OF_A_SERVER.to_owned(),
        database: None,
        number: None,
        reason: why.to_owned(),
    };
    let product_version = version.map(|version| {
        let (major, minor) = version.product_version();
        format!("{major}.{minor}")
    });
    Snapshot {
        snapshot_version: SNAPSHOT_VERSION,
        origin,
        name: name.to_owned(),
        server: ServerFacts {
            product_version: product_version.unwrap_or_default(),
            ..ServerFacts::default()
        },
        not_read: vec![not_read],
        ..Snapshot::default()
    }
}

/// The snapshot of a log file. Its database is called as the file is.
pub fn of_inspection(inspection: &Inspection, file_name: &str, version: Option<ServerVersion>) -> Snapshot {
    let vlfs = inspection.vlfs.iter().map(|vlf| VlfFacts {
        offset: vlf.header.start_offset,
        bytes: vlf.header.vlf_bytes,
        sequence: vlf.header.sequence.0,
        status: match vlf.state {
            VlfState::Unused => 1,
            VlfState::Old | VlfState::Linked => 0,
            VlfState::Active | VlfState::Tail => 2,
        },
        // The number of the growth: its LSN is not always known.
        create_lsn: vlf.growth.to_string(),
    });
    let file = LogFile {
        file_id: 2,
        name: file_name.to_owned(),
        path: file_name.to_owned(),
        bytes: inspection.file_bytes,
        vlfs: vlfs.collect(),
        inspection: Some(InspectionFacts {
            damage_count: inspection.damage_count,
            blocks: inspection.blocks.total,
            records: inspection.records,
            last_record: inspection.log_end.map(|end| end.last_record),
            last_checkpoint: inspection.last_checkpoint,
        }),
        ..LogFile::default()
    };
    let mut snapshot = without_server(Origin::File, file_name, version, super::NOT_IN_A_FILE);
    snapshot.databases.push(DatabaseFacts {
        name: file_name.to_owned(),
        log_files: vec![file],
        ..DatabaseFacts::default()
    });
    snapshot
}

/// The snapshot of pasted rows, of one log or of many.
///
/// # Errors
/// As [`logs_from_text`].
pub fn of_text(text: &str, name: &str, version: ServerVersion) -> Result<Snapshot, PastedError> {
    let logs = logs_from_text(text, version)?;
    let mut snapshot = without_server(Origin::Pasted, name, Some(version), super::NOT_IN_ROWS);
    let several = logs.len() > 1;
    for (index, log) in logs.into_iter().enumerate() {
        let database = match log.database.as_str() {
            "" if several => format!("log {}", index + 1),
            "" => name.to_owned(),
            named => named.to_owned(),
        };
        let file = file_of(&log);
        match snapshot.databases.iter_mut().find(|known| known.name == database) {
            Some(known) => known.log_files.push(file),
            None => snapshot.databases.push(DatabaseFacts {
                database_id: i64::try_from(index).unwrap_or(0) + 1,
                name: database,
                log_files: vec![file],
                ..DatabaseFacts::default()
            }),
        }
    }
    Ok(snapshot)
}

fn file_of(log: &PastedLog) -> LogFile {
    let layout: &LogLayout = &log.layout;
    let vlfs = layout
        .vlfs()
        .iter()
        .zip(&log.uses)
        .map(|(vlf, (sequence, status))| VlfFacts {
            offset: vlf.span.offset,
            bytes: vlf.span.bytes,
            sequence: *sequence,
            status: status.unwrap_or(u8::from(*sequence == 0)),
            create_lsn: vlf.growth_step.to_string(),
        });
    LogFile {
        file_id: i64::try_from(log.file_id).unwrap_or(2),
        bytes: layout.file_bytes(),
        vlfs: vlfs.collect(),
        ..LogFile::default()
    }
}
