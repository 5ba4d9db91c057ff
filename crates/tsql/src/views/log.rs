//! The log's own views (sql-docs, `sys.dm_db_log_info`, `sys.dm_db_log_stats`, `sys.dm_db_log_space_usage`).

use engine::database::Database;
use engine::error::Result;
use engine::log::VlfInfo;
use engine::types::{SqlType, Value};
use std::sync::Arc;
use vlf::Lsn;

use super::listed::ListedDatabase;
use super::values::{big, megabytes, past_datetime};
use super::{
    BIGINT, BIT, DATETIME, FLOAT, INT, REAL, Rows, SMALLINT, SystemView, all, function, nvarchar, system_row, view,
};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    function::<LogInfo>("dm_db_log_info", &[INT], 1, log_info),
    function::<LogStatistics>("dm_db_log_stats", &[INT], 1, log_statistics),
    view::<SpaceUsage>("sys", "dm_db_log_space_usage", |context, _| {
        all([SpaceUsage(context.database.clone())])
    }),
];

const LSN_TEXT: SqlType = nvarchar(48);

/// The database of an id argument; the current one for NULL and DEFAULT. One that is not open has no rows.
fn database_of(context: &SystemContext<'_>, arguments: &[Value]) -> Result<Option<Arc<Database>>> {
    Ok(match arguments.first().and_then(Value::as_i64) {
        None => Some(context.database.clone()),
        Some(id) => context
            .slot_by_id(id)
            .and_then(|slot| ListedDatabase::new(&slot).database),
    })
}

struct LogInfo {
    database_id: u16,
    vlf: VlfInfo,
}

impl LogInfo {
    /// 0 inactive, 1 initialized but unused, 2 active.
    fn status(&self) -> i32 {
        match (self.vlf.status, self.vlf.sequence) {
            (2, _) => 2,
            (_, 0) => 1,
            _ => 0,
        }
    }
}

system_row!(LogInfo {
    "database_id" INT => |row| i32::from(row.database_id).into();
    "file_id" SMALLINT => |row| Value::SmallInt(row.vlf.file_id as i16);
    "vlf_begin_offset" BIGINT => |row| big(row.vlf.offset);
    "vlf_size_mb" FLOAT => |row| megabytes(row.vlf.bytes);
    "vlf_sequence_number" BIGINT => |row| big(u64::from(row.vlf.sequence));
    "vlf_active" BIT => |row| (row.vlf.status == 2).into();
    "vlf_status" INT => |row| row.status().into();
    "vlf_parity" super::TINYINT => |row| Value::TinyInt(row.vlf.parity);
    "vlf_first_lsn" LSN_TEXT => |row| row.vlf.first_lsn.to_string().into();
    "vlf_create_lsn" LSN_TEXT => |row| row.vlf.create_lsn.to_string().into();
    "vlf_encryptor_thumbprint" SqlType::VarBinary(engine::types::Length::Limited(20)) => |_| Value::Null;
});

fn log_info(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some(database) = database_of(context, arguments)? else {
        return Ok(Vec::new());
    };
    let row = |vlf| LogInfo {
        database_id: database.id,
        vlf,
    };
    all(database.storage.log.vlfs().into_iter().map(row))
}

struct LogStatistics {
    database: Arc<Database>,
    vlfs: Vec<VlfInfo>,
    minimum: Lsn,
}

impl LogStatistics {
    fn new(database: Arc<Database>) -> LogStatistics {
        let vlfs = database.storage.log.vlfs();
        let minimum = database.truncation_point().0;
        LogStatistics {
            vlfs,
            minimum,
            database,
        }
    }

    fn current(&self) -> Option<&VlfInfo> {
        self.vlfs.iter().max_by_key(|vlf| vlf.sequence)
    }

    fn active(&self) -> impl Iterator<Item = &VlfInfo> {
        self.vlfs.iter().filter(|vlf| vlf.status == 2)
    }

    fn since(&self, lsn: Lsn) -> Value {
        if lsn == Lsn::ZERO {
            Value::Null
        } else {
            megabytes(self.database.storage.log.used_since(lsn))
        }
    }

    /// Where recovery would begin if the server ended now.
    fn recovery_start(&self) -> Lsn {
        let redo = self.database.boot().redo_start;
        self.database
            .transactions
            .log_needed_from()
            .map_or(redo, |needed| needed.min(redo))
    }

    fn recovery_vlfs(&self) -> u64 {
        let first = self.recovery_start().vlf;
        self.active().filter(|vlf| vlf.sequence >= first).count() as u64
    }
}

fn lsn_text(lsn: Lsn) -> Value {
    if lsn == Lsn::ZERO {
        Value::Null
    } else {
        lsn.to_string().into()
    }
}

system_row!(LogStatistics {
    "database_id" INT => |row| i32::from(row.database.id).into();
    "recovery_model" nvarchar(60) => |row| row.database.recovery_model().name().into();
    "log_min_lsn" nvarchar(24) => |row| lsn_text(row.minimum);
    "log_end_lsn" nvarchar(24) => |row| lsn_text(row.database.storage.log.end());
    "current_vlf_sequence_number" BIGINT => |row| big(row.current().map_or(0, |vlf| u64::from(vlf.sequence)));
    "current_vlf_size_mb" FLOAT => |row| megabytes(row.current().map_or(0, |vlf| vlf.bytes));
    "total_vlf_count" BIGINT => |row| big(row.vlfs.len() as u64);
    "total_log_size_mb" FLOAT => |row| megabytes(row.vlfs.iter().map(|vlf| vlf.bytes).sum());
    "active_vlf_count" BIGINT => |row| big(row.active().count() as u64);
    "active_log_size_mb" FLOAT => |row| megabytes(row.database.storage.log.space().used_bytes);
    "log_truncation_holdup_reason" nvarchar(60) => |row| row.database.reuse_wait().name().into();
    "log_backup_time" DATETIME => |row| past_datetime(row.database.boot().log_backup_time);
    "log_backup_lsn" nvarchar(24) => |row| lsn_text(row.database.boot().log_backup_start);
    "log_since_last_log_backup_mb" FLOAT => |row| row.since(row.database.boot().log_backup_start);
    "log_checkpoint_lsn" nvarchar(24) => |row| lsn_text(row.database.boot().checkpoint);
    "log_since_last_checkpoint_mb" FLOAT => |row| row.since(row.database.boot().checkpoint);
    "log_recovery_lsn" nvarchar(24) => |row| lsn_text(row.recovery_start());
    "log_recovery_size_mb" FLOAT => |row| row.since(row.recovery_start());
    "recovery_vlf_count" BIGINT => |row| big(row.recovery_vlfs());
});

fn log_statistics(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    all(database_of(context, arguments)?.map(LogStatistics::new))
}

struct SpaceUsage(Arc<Database>);

system_row!(SpaceUsage {
    "database_id" INT => |row| i32::from(row.0.id).into();
    "total_log_size_in_bytes" BIGINT => |row| big(row.0.storage.log.space().total_bytes);
    "used_log_space_in_bytes" BIGINT => |row| big(row.0.storage.log.space().used_bytes);
    "used_log_space_in_percent" REAL => |row| Value::Real(row.0.storage.log.space().used_percent() as f32);
    "log_space_in_bytes_since_last_backup" BIGINT => |row| {
        let boot = row.0.boot();
        let start = if boot.log_backup_start == Lsn::ZERO { boot.redo_start } else { boot.log_backup_start };
        big(row.0.storage.log.used_since(start))
    };
});
