//! Transactions that have logged something: `sys.dm_tran_active_transactions` and related views.

use engine::database::Database;
use engine::log::{RecordKind, TransactionId, Undoing};
use engine::seams::DateTimeTicks;
use engine::types::{SqlType, Value};
use engine::versions::VersionStore;
use vlf::Lsn;

use super::listed::ListedDatabase;
use super::values::{big, datetime, lsn_number};
use super::{BIGINT, BIT, DATETIME, INT, LSN, Rows, SMALLINT, Source, SystemView, all, nvarchar, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<Active>("sys", "dm_tran_active_transactions", |context, _| {
        all(transactions(context).into_iter().map(Active))
    }),
    view::<InDatabase>("sys", "dm_tran_database_transactions", |context, _| {
        all(transactions(context).into_iter().map(InDatabase))
    }),
    SystemView {
        schema: "sys",
        name: "dm_tran_current_transaction",
        columns: &CURRENT,
        is_function: false,
        parameters: &[],
        required: 0,
        rows: Source::Whole(current),
    },
    view::<InSession>("sys", "dm_tran_session_transactions", |context, _| {
        all(transactions(context)
            .into_iter()
            .filter(|transaction| transaction.session != 0)
            .map(InSession))
    }),
];

struct Transaction {
    id: TransactionId,
    database_id: u16,
    session: u16,
    name: String,
    begun: DateTimeTicks,
    first: Lsn,
    last: Lsn,
    /// What a rollback would take back first.
    next_undo: Lsn,
    log_records: u64,
    log_bytes: u64,
    reserved_bytes: u64,
    is_rolled_back: bool,
}

/// The id that views show: transactions of several databases may have one number.
pub(super) fn shown_id(database_id: u16, id: TransactionId) -> i64 {
    (i64::from(database_id) << 48) | id.0 as i64
}

fn shown(transaction: &Transaction) -> i64 {
    shown_id(transaction.database_id, transaction.id)
}

fn transactions(context: &SystemContext<'_>) -> Vec<Transaction> {
    let mut rows = Vec::new();
    for listed in ListedDatabase::every(context) {
        let Some(database) = &listed.database else { continue };
        rows.extend(database.transactions.snapshot().into_iter().filter_map(|(id, active)| {
            let last = active.end.under_way()?;
            Some(Transaction {
                id,
                database_id: database.id,
                session: active.session,
                name: active.name.into_owned(),
                begun: active.begun,
                first: active.first,
                last,
                next_undo: next_undo(database, last),
                log_records: active.end.logged_records(),
                log_bytes: active.end.logged_bytes(),
                reserved_bytes: active.end.reserved_bytes(),
                is_rolled_back: active.end.undoing() == Undoing::Marked,
            })
        }));
    }
    rows
}

/// Behind a record that has taken one back, undo goes on where that says.
fn next_undo(database: &Database, last: Lsn) -> Lsn {
    match database.storage.log.read_record(last) {
        Ok(record) if record.header.kind == RecordKind::Compensation => record.header.undo_next,
        // It has ended meanwhile, or the log is closed.
        Err(_) => Lsn::ZERO,
        Ok(_) => last,
    }
}

/// The oldest transaction that the snapshot of the session's transaction does not see, its own if it sees all; 0 without a snapshot.
fn first_before_snapshot(context: &SystemContext<'_>) -> u64 {
    let engine = context.engine.borrow();
    let Some(snapshot) = engine.snapshot() else { return 0 };
    let writers = context.instance.versions.writers_before(snapshot);
    let own = engine.version_transaction().unwrap_or_default();
    writers.into_iter().min().unwrap_or(own)
}

/// The oldest transaction under way that keeps versions or reads them; without one, that of the next.
fn first_useful(store: &VersionStore) -> u64 {
    let writers = store.writers().into_iter().map(|writer| writer.transaction);
    let readers = store.snapshots().into_iter().map(|snapshot| snapshot.transaction);
    writers.chain(readers).min().unwrap_or(store.last_transaction() + 1)
}

/// Sequence numbers are those of transactions that keep versions or read them, as in `sys.dm_tran_active_snapshot_database_transactions`
/// (sql-docs, "sys.dm_tran_current_transaction").
const CURRENT: [(&str, SqlType); 6] = [
    ("transaction_id", BIGINT),
    ("transaction_sequence_num", BIGINT),
    ("transaction_is_snapshot", BIT),
    ("first_snapshot_sequence_num", BIGINT),
    ("last_transaction_sequence_num", BIGINT),
    ("first_useful_sequence_num", BIGINT),
];

fn current(context: &SystemContext<'_>, _: &[Value]) -> Rows {
    let store = &context.instance.versions;
    let (number, is_snapshot) = {
        let engine = context.engine.borrow();
        (
            engine.version_transaction().unwrap_or_default(),
            engine.snapshot().is_some(),
        )
    };
    Ok(vec![vec![
        big(context.transaction),
        big(number),
        is_snapshot.into(),
        big(first_before_snapshot(context)),
        big(store.last_transaction()),
        big(first_useful(store)),
    ]])
}

struct Active(Transaction);

system_row!(Active {
    "transaction_id" BIGINT => |row| shown(&row.0).into();
    "name" nvarchar(32) => |row| row.0.name.as_str().into();
    "transaction_begin_time" DATETIME => |row| datetime(row.0.begun);
    "transaction_type" INT => |row| if row.0.session == 0 { 3 } else { 1 }.into();
    "transaction_uow" SqlType::UniqueIdentifier => |_| Value::Null;
    // 8: the transaction has been rolled back; 2: it is active.
    "transaction_state" INT => |row| if row.0.is_rolled_back { 8 } else { 2 }.into();
    "transaction_status" INT => |_| 0.into();
    "transaction_status2" INT => |_| 258.into();
    "dtc_state" INT => |_| 0.into();
    "dtc_status" INT => |_| 0.into();
    "dtc_isolation_level" INT => |_| (-1).into();
});

struct InDatabase(Transaction);

system_row!(InDatabase {
    "transaction_id" BIGINT => |row| shown(&row.0).into();
    "database_id" INT => |row| i32::from(row.0.database_id).into();
    "database_transaction_begin_time" DATETIME => |row| datetime(row.0.begun);
    "database_transaction_type" INT => |row| if row.0.session == 0 { 3 } else { 1 }.into();
    // 11: the transaction has been rolled back; 4: it has generated log records.
    "database_transaction_state" INT => |row| if row.0.is_rolled_back { 11 } else { 4 }.into();
    "database_transaction_status" INT => |_| 0.into();
    "database_transaction_status2" INT => |_| 258.into();
    "database_transaction_log_record_count" BIGINT => |row| big(row.0.log_records);
    "database_transaction_replicate_record_count" INT => |_| 0.into();
    "database_transaction_log_bytes_used" BIGINT => |row| big(row.0.log_bytes);
    "database_transaction_log_bytes_reserved" BIGINT => |row| big(row.0.reserved_bytes);
    // What the engine does on behalf of a transaction by transactions of its own is listed as such.
    "database_transaction_log_bytes_used_system" INT => |_| 0.into();
    "database_transaction_log_bytes_reserved_system" INT => |_| 0.into();
    "database_transaction_begin_lsn" LSN => |row| lsn_number(row.0.first);
    "database_transaction_last_lsn" LSN => |row| lsn_number(row.0.last);
    "database_transaction_most_recent_savepoint_lsn" LSN => |_| Value::Null;
    "database_transaction_commit_lsn" LSN => |_| Value::Null;
    // Where the last rollback to a savepoint ended is not kept.
    "database_transaction_last_rollback_lsn" LSN => |_| Value::Null;
    "database_transaction_next_undo_lsn" LSN => |row| lsn_number(row.0.next_undo);
});

struct InSession(Transaction);

system_row!(InSession {
    "session_id" INT => |row| i32::from(row.0.session).into();
    "transaction_id" BIGINT => |row| shown(&row.0).into();
    "transaction_descriptor" SqlType::Binary(8) => |row| Value::binary(&shown(&row.0).to_be_bytes()[..]);
    "enlist_count" INT => |_| 0.into();
    "is_user_transaction" BIT => |_| true.into();
    "is_local" BIT => |_| true.into();
    "is_enlisted" BIT => |_| false.into();
    "is_bound" BIT => |_| false.into();
    "open_transaction_count" INT => |_| 1.into();
    "database_id" SMALLINT => |row| Value::SmallInt(row.0.database_id as i16);
});
