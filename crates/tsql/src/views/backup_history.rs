//! `msdb.dbo.backupset`: of each database the last full and the last log backup, which is what its boot record keeps.

use engine::seams::DateTimeTicks;
use engine::types::{SqlType, Value};
use vlf::Lsn;

use super::listed::ListedDatabase;
use super::values::{datetime, lsn_number};
use super::{BIT, DATETIME, INT, LSN, NAME, Rows, SystemView, all, nvarchar, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[view::<BackupSet>("dbo", "backupset", |context, _| history(context))];

struct BackupSet {
    id: i32,
    server: String,
    listed: std::rc::Rc<ListedDatabase>,
    log: bool,
    finished: DateTimeTicks,
    last_lsn: Lsn,
    checkpoint: Lsn,
}

system_row!(BackupSet {
    "backup_set_id" INT => |row| row.id.into();
    "database_name" NAME => |row| row.listed.entry.name.as_str().into();
    "server_name" NAME => |row| row.server.as_str().into();
    "machine_name" NAME => |row| row.server.as_str().into();
    "type" SqlType::Char(1) => |row| if row.log { "L" } else { "D" }.into();
    "backup_start_date" DATETIME => |row| datetime(row.finished);
    "backup_finish_date" DATETIME => |row| datetime(row.finished);
    "last_lsn" LSN => |row| lsn_number(row.last_lsn);
    "checkpoint_lsn" LSN => |row| lsn_number(row.checkpoint);
    "database_backup_lsn" LSN => |row| lsn_number(row.checkpoint);
    "recovery_model" nvarchar(60) => |row| row.listed.recovery_model().name().into();
    "is_copy_only" BIT => |_| false.into();
    "user_name" NAME => |_| Value::Null;
});

fn history(context: &SystemContext<'_>) -> Rows {
    let mut rows: Vec<BackupSet> = Vec::new();
    for listed in ListedDatabase::every(context) {
        let Some(boot) = listed.database.as_ref().map(|database| database.boot()) else {
            continue;
        };
        let listed = std::rc::Rc::new(listed);
        for (log, finished, last_lsn) in [
            (false, boot.full_backup_time, boot.full_backup),
            (true, boot.log_backup_time, boot.log_backup_start),
        ] {
            if finished == DateTimeTicks::default() {
                continue;
            }
            rows.push(BackupSet {
                id: rows.len() as i32 + 1,
                server: context.instance.options.server_name.clone(),
                listed: listed.clone(),
                log,
                finished,
                last_lsn,
                checkpoint: boot.full_backup,
            });
        }
    }
    all(rows)
}
