//! Global variables: `@@ROWCOUNT` and the others are functions without parentheses.

use engine::error::Result;
use engine::types::{Decimal, Length, SqlType, Value};

use super::Answer::Fixed;
use super::{Call, INT, NAME, Signature, signature};
use crate::plan::Expr;

const SMALL: super::Answer = Fixed(SqlType::SmallInt);
const TEXT: super::Answer = Fixed(SqlType::NVarChar(Length::Limited(300)));

pub(super) const VARIABLES: &[Signature] = &[
    signature("@@connections", 0, &[], INT, |_| Ok(Value::Int(0))).told(": connections made: 0, they are not counted"),
    signature("@@cpu_busy", 0, &[], INT, |_| Ok(Value::Int(0))).told(": ticks of work: 0, they are not counted"),
    // Every cursor is "fully populated" when it is opened (SQL Server docs, @@CURSOR_ROWS).
    signature("@@cursor_rows", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.last_cursor_rows()))
    })
    .told(": rows of the cursor opened last"),
    signature("@@datefirst", 0, &[], Fixed(SqlType::TinyInt), |call| {
        Ok(Value::TinyInt(call.context.session.options().date_first))
    })
    .told(": first day of the week, 1 is Monday"),
    signature(
        "@@dbts",
        0,
        &[],
        Fixed(SqlType::VarBinary(Length::Limited(8))),
        |call| {
            let last = call.context.session.database().last_row_version();
            Ok(Value::binary(last.to_be_bytes()))
        },
    )
    .told(": last value that a rowversion column of the database got"),
    signature("@@error", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.error_number()))
    })
    .told(": number of the last statement's error, else 0"),
    signature("@@fetch_status", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.fetch_status()))
    })
    .told(": how the last FETCH ended"),
    signature(
        "@@identity",
        0,
        &[],
        Fixed(SqlType::Decimal {
            precision: 38,
            scale: 0,
        }),
        identity,
    )
    .told(": last identity value of the session"),
    signature("@@idle", 0, &[], INT, |_| Ok(Value::Int(0))).told(": ticks without work: 0, they are not counted"),
    signature("@@io_busy", 0, &[], INT, |_| Ok(Value::Int(0)))
        .told(": ticks of input and output: 0, they are not counted"),
    signature("@@langid", 0, &[], SMALL, |call| {
        Ok(Value::SmallInt(i16::from(
            call.context.session.options().dates.language,
        )))
    })
    .told(": id of the language"),
    signature("@@language", 0, &[], NAME, |call| {
        Ok(Value::from(call.context.session.options().dates.language().name))
    })
    .told(": the language"),
    signature("@@lock_timeout", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.options().lock_timeout_ms))
    })
    .told(": milliseconds that a lock is waited for, -1 without end"),
    signature("@@max_connections", 0, &[], INT, |_| Ok(Value::Int(32_767))).told(": 32767"),
    signature("@@max_precision", 0, &[], Fixed(SqlType::TinyInt), |_| {
        Ok(Value::TinyInt(38))
    })
    .told(": digits of a decimal"),
    signature("@@microsoftversion", 0, &[], INT, microsoft_version).told(": version and build in one number"),
    signature("@@nestlevel", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.nest_level() as i32))
    })
    .told(": how deep modules call each other"),
    signature("@@options", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.options().bits()))
    })
    .told(": SET options as bits"),
    signature("@@pack_received", 0, &[], INT, |_| Ok(Value::Int(0)))
        .told(": packets that came: 0, they are not counted"),
    signature("@@pack_sent", 0, &[], INT, |_| Ok(Value::Int(0))).told(": packets that went: 0, they are not counted"),
    signature("@@packet_errors", 0, &[], INT, |_| Ok(Value::Int(0)))
        .told(": connections that broke: 0, they are not counted"),
    signature("@@procid", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.module_id().cast_signed()))
    })
    .told(": object id of the procedure or function under way, 0 outside of one"),
    signature("@@rowcount", 0, &[], INT, row_count).told(": rows of the last statement"),
    signature("@@servername", 0, &[], NAME, server_name).told(": name of the server"),
    signature("@@servicename", 0, &[], NAME, |_| Ok(Value::from("MSSQLSERVER"))).told(": MSSQLSERVER"),
    signature("@@spid", 0, &[], SMALL, |call| {
        Ok(Value::SmallInt(call.context.session.id as i16))
    })
    .told(": id of the session"),
    signature("@@textsize", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.options().text_size_bytes))
    })
    .told(": SET TEXTSIZE"),
    // "One tick on the operating system is 31.25 milliseconds" (SQL Server docs, @@TIMETICKS).
    signature("@@timeticks", 0, &[], INT, |_| Ok(Value::Int(31_250))).told(": microseconds of a tick, 31250"),
    signature("@@total_errors", 0, &[], INT, |_| Ok(Value::Int(0)))
        .told(": failed reads and writes: 0, the first of a file closes it"),
    signature("@@total_read", 0, &[], INT, |call| {
        Ok(counted(call.context.session.instance.pool.counters().pages_read))
    })
    .told(": pages read from the disk since the start"),
    signature("@@total_write", 0, &[], INT, |call| {
        let counters = call.context.session.instance.pool.counters();
        Ok(counted(
            counters.pages_written_by_checkpoint + counters.pages_written_by_eviction,
        ))
    })
    .told(": pages written to the disk since the start"),
    signature("@@trancount", 0, &[], INT, |call| {
        Ok(Value::Int(call.context.session.transaction_count() as i32))
    })
    .told(": BEGIN TRANSACTION without its end"),
    signature("@@version", 0, &[], TEXT, version).told(": what this server is"),
];

/// The expression of a global variable; `None` when there is none of that name.
///
/// # Errors
/// None in practice; the signature's own.
pub fn global_variable(name: &str) -> Option<Result<Expr>> {
    let name = name.to_ascii_lowercase();
    let signature = VARIABLES.iter().find(|signature| signature.name == name)?;
    Some(signature.resolve(Vec::new()))
}

/// An identity value as `numeric(38, 0)`.
pub(super) fn identity_value(identity: Option<i64>) -> Value {
    identity.map_or(Value::Null, |identity| {
        Value::Decimal(Decimal::new(i128::from(identity), 38, 0))
    })
}

/// A count as an int, which ends where that does.
fn counted(count: u64) -> Value {
    Value::Int(i32::try_from(count).unwrap_or(i32::MAX))
}

fn identity(call: &Call<'_>) -> Result<Value> {
    Ok(identity_value(call.context.session.identity()))
}

fn row_count(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(
        i32::try_from(call.context.session.row_count()).unwrap_or(i32::MAX),
    ))
}

fn server_name(call: &Call<'_>) -> Result<Value> {
    Ok(Value::from(call.context.session.instance.options.server_name.as_str()))
}

fn version(call: &Call<'_>) -> Result<Value> {
    Ok(Value::from(super::property::version_text(
        &call.context.session.instance,
    )))
}

fn microsoft_version(call: &Call<'_>) -> Result<Value> {
    let (major, build) = super::property::major_and_build(&call.context.session.instance);
    Ok(Value::Int((i32::from(major) << 24) | i32::from(build)))
}
