//! `sp_who`, `sp_who2`, `sp_lock` and `sp_replcounters`.

use engine::error::{Error, Result};
use engine::lock::Resource;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{INT, NAME, SystemProcedure, integer, text};
use crate::scalar::moment::Moment;
use crate::scalar::moment_format;
use crate::views::{ListedSession, RowHolders, listed_sessions, row_description};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_who",
        parameters: &[("@loginame", NAME, false)],
        run: who,
    },
    SystemProcedure {
        name: "sp_who2",
        parameters: &[("@loginame", NAME, false)],
        run: who2,
    },
    SystemProcedure {
        name: "sp_lock",
        parameters: &[("@spid1", INT, false), ("@spid2", INT, false)],
        run: locks,
    },
    SystemProcedure {
        name: "sp_replcounters",
        parameters: &[],
        run: replication_counters,
    },
];

/// A row for each published database (sql-docs, "sp_replcounters"): none, as no database is published.
fn replication_counters(_context: &SystemContext<'_>, host: &mut dyn Host, _arguments: &[Value]) -> Result<i32> {
    let lsn = SqlType::Binary(10);
    let table = Table::new(&[
        ("Database", SqlType::SYSNAME),
        ("Replicated transactions", SqlType::Int),
        ("Replication rate trans/sec", SqlType::Float),
        ("Replication latency (sec)", SqlType::Float),
        ("Replbeginlsn", lsn),
        ("Replnextlsn", lsn),
    ]);
    table.send(host).map(|()| 0)
}

/// The sessions that the argument means: a login, a number, `active`; all for none. 15007 for a login that does not exist.
fn meant(context: &SystemContext<'_>, arguments: &[Value]) -> Result<Vec<ListedSession>> {
    let mut listed = listed_sessions(context);
    let Some(wanted) = text(arguments, 0) else {
        return Ok(listed);
    };
    if let Ok(id) = wanted.trim().parse::<u16>() {
        listed.retain(|listed| listed.session.id == id);
    } else if wanted.eq_ignore_ascii_case("active") {
        listed.retain(|listed| listed.session.running);
    } else {
        listed.retain(|listed| listed.session.login.eq_ignore_ascii_case(wanted));
        if listed.is_empty() && !wanted.eq_ignore_ascii_case("sa") {
            let text = format!("'{wanted}' is not a valid login or you do not have permission.");
            return Err(Error::new(15007, 16, 1, text));
        }
    }
    Ok(listed)
}

fn database_name(context: &SystemContext<'_>, id: u16) -> Value {
    context.slot_by_id(i64::from(id)).map(|slot| slot.entry().name).into()
}

fn command(listed: &ListedSession) -> Value {
    if listed.session.command.is_empty() || !listed.session.running {
        return "AWAITING COMMAND".into();
    }
    listed.session.command.as_str().into()
}

fn who(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut table = Table::new(&[
        ("spid", SqlType::SmallInt),
        ("ecid", SqlType::SmallInt),
        ("status", SqlType::NVarChar(Length::Limited(30))),
        ("loginame", SqlType::SYSNAME),
        ("hostname", SqlType::SYSNAME),
        ("blk", SqlType::Char(5)),
        ("dbname", SqlType::SYSNAME),
        ("cmd", SqlType::NVarChar(Length::Limited(32))),
        ("request_id", SqlType::Int),
    ]);
    for listed in meant(context, arguments)? {
        table.push(vec![
            Value::SmallInt(listed.session.id as i16),
            Value::SmallInt(0),
            listed.status().into(),
            listed.session.login.as_str().into(),
            listed.session.host.as_str().into(),
            format!("{:<5}", listed.blocked_by).into(),
            database_name(context, listed.session.database_id),
            command(&listed),
            Value::Int(0),
        ]);
    }
    table.send(host).map(|()| 0)
}

fn who2(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let text = SqlType::VarChar(Length::Limited(128));
    let mut table = Table::new(&[
        ("SPID", SqlType::Char(5)),
        ("Status", text),
        ("Login", SqlType::SYSNAME),
        ("HostName", SqlType::SYSNAME),
        ("BlkBy", SqlType::Char(5)),
        ("DBName", SqlType::SYSNAME),
        ("Command", text),
        ("CPUTime", text),
        ("DiskIO", text),
        ("LastBatch", text),
        ("ProgramName", SqlType::SYSNAME),
        ("SPID", SqlType::Char(5)),
        ("REQUESTID", SqlType::Char(5)),
    ]);
    for listed in meant(context, arguments)? {
        let session = &listed.session;
        let begun = session.request_started;
        let begun = Moment::from_value(&Value::DateTime {
            days: begun.days,
            ticks: begun.ticks,
        });
        let begun = begun
            .and_then(|moment| moment_format::format(moment, SqlType::DateTime, 120))
            .unwrap_or_default();
        let blocked_by = if listed.blocked_by == 0 {
            "  .".to_owned()
        } else {
            listed.blocked_by.to_string()
        };
        table.push(vec![
            format!("{:<5}", session.id).into(),
            listed.status().to_uppercase().into(),
            session.login.as_str().into(),
            session.host.as_str().into(),
            format!("{blocked_by:<5}").into(),
            database_name(context, session.database_id),
            command(&listed),
            "0".into(),
            "0".into(),
            begun.get(5..).unwrap_or_default().replace('-', "/").into(),
            session.application.as_str().into(),
            format!("{:<5}", session.id).into(),
            format!("{:<5}", 0).into(),
        ]);
    }
    table.send(host).map(|()| 0)
}

fn locks(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let wanted: Vec<i64> = [0, 1].iter().filter_map(|place| integer(arguments, *place)).collect();
    let mut table = Table::new(&[
        ("spid", SqlType::SmallInt),
        ("dbid", SqlType::SmallInt),
        ("ObjId", SqlType::Int),
        ("IndId", SqlType::SmallInt),
        ("Type", SqlType::NChar(4)),
        ("Resource", SqlType::NChar(32)),
        ("Mode", SqlType::NVarChar(Length::Limited(8))),
        ("Status", SqlType::NVarChar(Length::Limited(5))),
    ]);
    let sessions = context.instance.sessions();
    let rows = context.instance.locks.rows();
    let holders = RowHolders::of(context, &rows);
    for row in rows {
        let session = sessions
            .iter()
            .find(|session| session.lock_owner == row.owner)
            .map_or(0, |session| session.id);
        if !wanted.is_empty() && !wanted.contains(&i64::from(session)) {
            continue;
        }
        let (object, index, kind) = match row.resource {
            Resource::Database(_) => (0, 0, "DB"),
            Resource::Object(_, object) => (object, 0, "TAB"),
            Resource::Name(..) => (0, 0, "MD"),
            Resource::Application(..) => (0, 0, "APP"),
            Resource::Row(..) => match holders.holder(&row.resource) {
                Some(holder) => (
                    holder.object_id,
                    holder.index_id,
                    if holder.index_id > 0 { "KEY" } else { "RID" },
                ),
                None => (0, 0, "RID"),
            },
        };
        let database = row.resource.database();
        let resource = match row.resource {
            Resource::Row(_, _, number) => row_description(number, holders.holder(&row.resource)),
            _ => String::new(),
        };
        table.push(vec![
            Value::SmallInt(session as i16),
            Value::SmallInt(database as i16),
            Value::Int(object as i32),
            Value::SmallInt(index as i16),
            format!("{kind:<4}").into(),
            format!("{resource:<32}").into(),
            row.mode.name().into(),
            if row.granted { "GRANT" } else { "WAIT" }.into(),
        ]);
    }
    table.send(host).map(|()| 0)
}
