//! DBCC LOG, LOGINFO, SQLPERF and OPENTRAN: the log and what holds it.

use engine::error::{Error, Result};
use engine::log::VlfInfo;
use engine::types::{Decimal, Length, SqlType, Value};
use vlf::ServerVersion;

use super::super::{Host, Table};
use super::Command;
use crate::scalar::moment::Moment;
use crate::scalar::moment_format;
use crate::sink::ResultColumn;
use crate::views::{ListedDatabase, RowStream, Withheld, dblog};

const LSN: SqlType = SqlType::Decimal {
    precision: 25,
    scale: 0,
};

/// The columns since 2012; RecoveryUnitId is missing before (facts: codingsight, "Dive into the SQL Server transaction log").
const LOGINFO: [(&str, SqlType); 8] = [
    ("RecoveryUnitId", SqlType::Int),
    ("FileId", SqlType::Int),
    ("FileSize", SqlType::BigInt),
    ("StartOffset", SqlType::BigInt),
    ("FSeqNo", SqlType::BigInt),
    ("Status", SqlType::TinyInt),
    ("Parity", SqlType::TinyInt),
    ("CreateLSN", LSN),
];

/// `DBCC LOGINFO [(database)]`: one row for each VLF, by file and offset.
pub(super) fn loginfo(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    Withheld::check(command.context.instance, "loginfo")?;
    let database = command.database(0)?;
    let skip = usize::from(command.context.instance.options.version < ServerVersion::V2012);
    let mut table = Table::new(&LOGINFO[skip..]);
    for vlf in database.storage.log.vlfs() {
        let mut row = loginfo_row(&vlf);
        row.drain(..skip);
        table.push(row);
    }
    table.send(host)
}

fn loginfo_row(vlf: &VlfInfo) -> Vec<Value> {
    let big = |number: u64| Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX));
    let create_lsn = i128::try_from(vlf.create_lsn.to_numeric()).unwrap_or(0);
    vec![
        Value::Int(0),
        Value::Int(i32::from(vlf.file_id)),
        big(vlf.bytes),
        big(vlf.offset),
        big(u64::from(vlf.sequence)),
        Value::TinyInt(vlf.status),
        Value::TinyInt(vlf.parity),
        Value::Decimal(Decimal::new(create_lsn, 25, 0)),
    ]
}

/// Columns that a level of DBCC LOG adds to those of the level before (Alexander Chigrik, "Useful undocumented SQL Server DBCC commands":
/// 0 is the least, 1 adds flags, lengths and description, 2 names and places, 3 all, 4 and -1 the record's bytes as well).
const LOG_LEVELS: [&[&str]; 3] = [
    &[
        "Current LSN",
        "Operation",
        "Context",
        "Transaction ID",
        "LogBlockGeneration",
    ],
    &[
        "Tag Bits",
        "Log Record Fixed Length",
        "Log Record Length",
        "Previous LSN",
        "Flag Bits",
        "Log Reserve",
        "Description",
    ],
    &[
        "AllocUnitId",
        "AllocUnitName",
        "Page ID",
        "Slot ID",
        "Num Elements",
        "RowLog Contents 0",
    ],
];
/// What level 3 leaves out.
const LOG_BYTES: &str = "Log Record";

/// `DBCC LOG (database [, level])`: a row for each record, as `fn_dblog` has them.
pub(super) fn records(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let level = match command.arguments.get(1) {
        None => 0,
        Some(_) => command.integer(1).ok_or_else(|| super::incorrect_parameter(1))?,
    };
    if !(-1..=4).contains(&level) {
        return Err(super::incorrect_parameter(1));
    }
    let is_shown = |name: &str| match usize::try_from(level) {
        Ok(level @ 0..=2) => LOG_LEVELS[..=level].iter().any(|names| names.contains(&name)),
        Ok(3) => name != LOG_BYTES,
        _ => true,
    };
    let places: Vec<usize> = (0..dblog::COLUMNS.len())
        .filter(|place| is_shown(dblog::COLUMNS[*place].0))
        .collect();
    let columns: Vec<ResultColumn> = places
        .iter()
        .map(|place| ResultColumn::new(dblog::COLUMNS[*place].0, dblog::COLUMNS[*place].1))
        .collect();
    let rows = dblog::records(command.context, &command.database(0)?)?;
    host.stream(&columns, &mut Chosen { rows, places })
}

/// Some columns of rows.
struct Chosen<R> {
    rows: R,
    places: Vec<usize>,
}

impl<R: RowStream> RowStream for Chosen<R> {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(mut row) = self.rows.next()? else {
            return Ok(None);
        };
        let taken = |place: &usize| row.get_mut(*place).map(|value| std::mem::replace(value, Value::Null));
        Ok(Some(self.places.iter().filter_map(taken).collect()))
    }
}

/// `DBCC SQLPERF (LOGSPACE)` and `('sys.dm_os_wait_stats' | 'sys.dm_os_latch_stats', CLEAR)`.
pub(super) fn sqlperf(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let what = command.text(0).unwrap_or_default().to_lowercase();
    let clears = command.text(1).is_some_and(|word| word.eq_ignore_ascii_case("CLEAR"));
    match (what.as_str(), clears) {
        ("logspace", false) => logspace(command, host),
        ("sys.dm_os_wait_stats", true) => {
            command.context.instance.env.waits.clear();
            Ok(())
        }
        ("sys.dm_os_latch_stats", true) => Ok(()),
        _ => Err(super::incorrect_parameter(0)),
    }
}

/// The sizes are without the 8 KB of page 0 (sql-docs: "always smaller than the amount originally allocated").
fn logspace(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let mut table = Table::new(&[
        ("Database Name", SqlType::SYSNAME),
        ("Log Size (MB)", SqlType::Real),
        ("Log Space Used (%)", SqlType::Real),
        ("Status", SqlType::Int),
    ]);
    for listed in ListedDatabase::every(command.context) {
        let Some(database) = &listed.database else { continue };
        let space = database.storage.log.space();
        table.push(vec![
            listed.entry.name.as_str().into(),
            Value::Real((space.total_bytes as f64 / 1_048_576.0) as f32),
            Value::Real(space.used_percent() as f32),
            Value::Int(0),
        ]);
    }
    table.send(host)
}

/// `DBCC OPENTRAN [(database)] [WITH TABLERESULTS]`: the oldest transaction that holds the log.
pub(super) fn opentran(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let database = command.database(0)?;
    let active = database.transactions.snapshot();
    let Some((_, oldest)) = active.iter().min_by_key(|(_, transaction)| transaction.first) else {
        return host.message(&Error::new(7969, 10, 1, "No active open transactions."));
    };
    let begun = Moment::from_value(&Value::DateTime {
        days: oldest.begun.days,
        ticks: oldest.begun.ticks,
    });
    let begun = begun
        .and_then(|moment| moment_format::format(moment, SqlType::DateTime, 109))
        .unwrap_or_default();
    let lines = [
        ("OLDACT_SPID", oldest.session.to_string()),
        ("OLDACT_UID", "-1".to_owned()),
        ("OLDACT_NAME", oldest.name.to_string()),
        ("OLDACT_LSN", format!("({})", oldest.first.to_decimal())),
        ("OLDACT_STARTTIME", begun),
        ("OLDACT_SID", "0x01".to_owned()),
    ];
    if command
        .statement
        .options
        .iter()
        .any(|option| option.name == "TABLERESULTS")
    {
        let text = SqlType::NVarChar(Length::Limited(64));
        let mut table = Table::new(&[("", text), ("", text)]);
        lines
            .into_iter()
            .for_each(|(name, value)| table.push(vec![name.into(), value.into()]));
        return table.send(host);
    }
    let [spid, uid, name, lsn, time, sid] = lines.map(|(_, value)| value);
    let told = [
        (
            7968,
            format!("Transaction information for database '{}'.", database.name()),
        ),
        (7970, "\nOldest active transaction:".to_owned()),
        (7971, format!("    SPID (server process ID): {spid}")),
        (7972, format!("    UID (user ID) : {uid}")),
        (7974, format!("    Name          : {name}")),
        (7975, format!("    LSN           : {lsn}")),
        (7977, format!("    Start time    : {time}")),
        (7978, format!("    SID           : {sid}")),
    ];
    told.into_iter()
        .try_for_each(|(number, text)| host.message(&Error::new(number, 10, 1, text)))
}
