//! `sys.dm_os_performance_counters`: the log counters of `SQLServer:Databases`, and a few of the buffer pool
//! (sql-docs, "SQL Server, Databases object", "SQL Server, Buffer Manager object").

use engine::types::{SqlType, Value};

use super::listed::{ListedDatabase, file_bytes};
use super::values::big;
use super::{BIGINT, INT, Rows, SystemView, all, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<Counter>("sys", "dm_os_performance_counters", |context, _| counters(context)),
    view::<OldCounter>("sys", "sysperfinfo", |context, _| {
        all(rows(context).into_iter().map(OldCounter))
    }),
];

/// `cntr_type` of a value that is read as it is (PERF_COUNTER_LARGE_RAWCOUNT).
const RAW: i32 = 65_792;
/// `cntr_type` of a count that readers take differences of (PERF_COUNTER_BULK_COUNT).
const COUNT: i32 = 272_696_576;
/// `cntr_type` of a numerator (PERF_LARGE_RAW_FRACTION).
const FRACTION: i32 = 537_003_264;
/// `cntr_type` of its denominator (PERF_LARGE_RAW_BASE).
const BASE: i32 = 1_073_939_712;

const TEXT: SqlType = SqlType::NChar(128);

struct Counter {
    object: &'static str,
    name: &'static str,
    instance: String,
    value: u64,
    kind: i32,
}

/// Counters are nchar(128): padded with blanks.
fn padded(text: &str) -> Value {
    format!("{text:<128}").into()
}

system_row!(Counter {
    "object_name" TEXT => |row| padded(row.object);
    "counter_name" TEXT => |row| padded(row.name);
    "instance_name" TEXT => |row| padded(&row.instance);
    "cntr_value" BIGINT => |row| big(row.value);
    "cntr_type" INT => |row| row.kind.into();
});

struct OldCounter(Counter);

system_row!(OldCounter {
    "object_name" TEXT => |row| padded(row.0.object);
    "counter_name" TEXT => |row| padded(row.0.name);
    "instance_name" TEXT => |row| padded(&row.0.instance);
    "cntr_value" BIGINT => |row| big(row.0.value);
    "cntr_type" INT => |row| row.0.kind.into();
});

fn counters(context: &SystemContext<'_>) -> Rows {
    all(rows(context))
}

fn rows(context: &SystemContext<'_>) -> Vec<Counter> {
    let mut rows = Vec::new();
    for listed in ListedDatabase::every(context) {
        rows.extend(of_database(&listed));
    }
    let totals = totals(&rows);
    rows.extend(totals);
    let pool = context.instance.pool.counters();
    let written = pool.pages_written_by_checkpoint + pool.pages_written_by_eviction;
    let buffer = |name, value, kind| Counter {
        object: "SQLServer:Buffer Manager",
        name,
        instance: String::new(),
        value,
        kind,
    };
    rows.push(buffer("Page reads/sec", pool.pages_read, COUNT));
    rows.push(buffer("Page writes/sec", written, COUNT));
    let users = context.instance.sessions().len() as u64;
    rows.push(Counter {
        object: "SQLServer:General Statistics",
        name: "User Connections",
        instance: String::new(),
        value: users,
        kind: RAW,
    });
    rows
}

fn of_database(listed: &ListedDatabase) -> Vec<Counter> {
    let Some(database) = &listed.database else {
        return Vec::new();
    };
    let counter = |name, value, kind| Counter {
        object: "SQLServer:Databases",
        name,
        instance: listed.entry.name.clone(),
        value,
        kind,
    };
    let log = &database.storage.log;
    let space = log.space();
    let bytes = |wants_log: bool| -> u64 {
        listed
            .entry
            .files
            .iter()
            .filter(|file| file.log == wants_log)
            .map(|file| file_bytes(database, file))
            .sum()
    };
    let mut rows: Vec<Counter> = log
        .counters()
        .named()
        .into_iter()
        .map(|(name, value)| counter(name, value, if name.ends_with("/sec") { COUNT } else { RAW }))
        .collect();
    rows.push(counter("Data File(s) Size (KB)", bytes(false) >> 10, RAW));
    rows.push(counter("Log File(s) Size (KB)", space.total_bytes >> 10, RAW));
    rows.push(counter("Log File(s) Used Size (KB)", space.used_bytes >> 10, RAW));
    rows.push(counter("Percent Log Used", space.used_percent() as u64, RAW));
    rows.push(counter(
        "Active Transactions",
        database.transactions.snapshot().len() as u64,
        RAW,
    ));
    rows.push(counter("Transactions/sec", database.transactions.next_id(), COUNT));
    rows.push(counter("Log Cache Hit Ratio", log.counters().cache_reads, FRACTION));
    rows.push(counter("Log Cache Hit Ratio Base", log.counters().pool_reads, BASE));
    rows
}

/// `_Total`: the sum over all databases; a percentage has none.
fn totals(rows: &[Counter]) -> Vec<Counter> {
    let mut totals: Vec<Counter> = Vec::new();
    for row in rows.iter().filter(|row| row.name != "Percent Log Used") {
        match totals.iter_mut().find(|total| total.name == row.name) {
            Some(total) => total.value = total.value.saturating_add(row.value),
            None => totals.push(Counter {
                object: row.object,
                name: row.name,
                instance: "_Total".to_owned(),
                value: row.value,
                kind: row.kind,
            }),
        }
    }
    totals
}
