//! The T-SQL that carries out a plan, in the syntax of the server's version.
//!
//! Nothing here runs anything: the text is for a DBA to read, adapt (above all the backup's path) and run. What differs by
//! version: `sys.dm_db_log_info` exists since 2016 SP2, `DBCC LOGINFO` before and after. A log that was never backed up
//! needs two log backups before its first VLFs are free (Microsoft's Tiger team), hence the loop.
//!
//! A log that does not shrink is not grown: `SET NOEXEC ON` keeps the batches that follow from being executed. It stays on
//! for the connection, so the script begins and ends with `SET NOEXEC OFF`, and can be run again where it was stopped.

use std::fmt::Write;

use vlf::ServerVersion;

use crate::plan::Plan;
use crate::price::{PlanPrice, range_text, seconds_text};
use crate::search::{Found, advised_autogrowth_bytes, autogrowth_reason};
use crate::size::{KB, MB, format_bytes, group_digits};

/// How log backups that clear the log are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearing {
    /// The script, to a path that is to be replaced.
    Script,
    /// The job that usually does; the script is run again after it.
    UsualJob,
}

/// Names the script is written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptNames {
    pub database: String,
    /// The log file's logical name.
    pub log_file: String,
    pub clearing: Clearing,
}

impl ScriptNames {
    /// The names of a database whose log file has the usual name.
    pub fn usual(database: &str) -> ScriptNames {
        ScriptNames {
            database: database.to_owned(),
            log_file: format!("{database}_log"),
            clearing: Clearing::Script,
        }
    }

    fn database_identifier(&self) -> String {
        format!("[{}]", self.database.replace(']', "]]"))
    }

    fn database_literal(&self) -> String {
        literal(&self.database)
    }

    fn log_literal(&self) -> String {
        literal(&self.log_file)
    }
}

fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// A comment line must not end early: line breaks in a name become spaces.
fn comment(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// The script of steps that were searched for: clear and shrink where needed, grow, set the automatic growth, check.
///
/// With a price, the growths say how long they take.
pub fn of_search(found: &Found, names: &ScriptNames, price: Option<&PlanPrice>) -> String {
    let plan = &found.plan;
    let mut out = heading(plan, names);
    if let Some(vlfs_left) = found.shrink_to_vlfs {
        out.push_str(&shrink(plan, names, vlfs_left));
    }
    grow(plan, names, price, &mut out);
    let autogrowth_bytes = advised_autogrowth_bytes(plan.version, plan.layout.file_bytes());
    let _ = writeln!(
        out,
        "\n-- Automatic growth for the unexpected: {}.\nALTER DATABASE {} MODIFY FILE (NAME = {}, FILEGROWTH = {});\nGO",
        autogrowth_reason(plan.version, plan.layout.file_bytes()),
        names.database_identifier(),
        names.log_literal(),
        size_clause(autogrowth_bytes)
    );
    out.push_str(&check(plan, names));
    out.push_str("\n-- Executes again what a failed shrink kept from being executed.\nSET NOEXEC OFF;\nGO\n");
    out
}

fn heading(plan: &Plan, names: &ScriptNames) -> String {
    format!(
        "-- SQL Server {}: {} to {} with {} VLFs, the largest of {}\n-- Run at a quiet hour: every growth writes zeros while \
         writers wait.\nSET NOEXEC OFF;\nGO\nUSE {};\nGO\n",
        plan.version,
        comment(&names.log_file),
        format_bytes(plan.layout.file_bytes()),
        group_digits(plan.layout.vlf_count() as u64),
        format_bytes(plan.vlf_bytes_max()),
        names.database_identifier()
    )
}

/// Clears the log and shrinks it, more than once: the VLF in use moves to the front only after the others are free.
fn shrink(plan: &Plan, names: &ScriptNames, vlfs_left: usize) -> String {
    let pages_left = plan.steps.first().map_or(0, |step| step.file_bytes) / 8192;
    let database = names.database_identifier();
    let database_text = names.database_literal();
    let log = names.log_literal();
    let still_in_use = "Look at sys.databases.log_reuse_wait_desc, remove the cause";
    if names.clearing == Clearing::UsualJob {
        return format!(
            "
-- Clear the log and shrink it to {vlfs_left} VLFs. Under FULL and BULK_LOGGED run the usual log backup before this, and twice if need be:
-- the VLF in use moves to the front only after the others are free.
CHECKPOINT;
DBCC SHRINKFILE ({log}, 1) WITH NO_INFOMSGS;
IF (SELECT size FROM sys.database_files WHERE name = {log}) > {pages_left}
BEGIN
    RAISERROR ('The log is still in use. {still_in_use}, run the usual log backup and then this script again.', 16, 1);
    SET NOEXEC ON; -- Nothing below is executed: it would grow a log that still has its old VLFs.
END
GO
"
        );
    }
    format!(
        "
-- Clear the log and shrink it to {vlfs_left} VLFs. Replace the path; keep the backups, they are part of the log chain.
DECLARE @round int;
SET @round = 1;
WHILE @round <= 3 AND (SELECT size FROM sys.database_files WHERE name = {log}) > {pages_left}
BEGIN
    CHECKPOINT;
    IF DATABASEPROPERTYEX({database_text}, 'Recovery') <> 'SIMPLE'
        BACKUP LOG {database} TO DISK = N'D:\\backup\\before_log_rebuild.trn';
    DBCC SHRINKFILE ({log}, 1) WITH NO_INFOMSGS;
    SET @round = @round + 1;
END
IF (SELECT size FROM sys.database_files WHERE name = {log}) > {pages_left}
BEGIN
    RAISERROR ('The log is still in use. {still_in_use}, run this script again.', 16, 1);
    SET NOEXEC ON; -- Nothing below is executed: it would grow a log that still has its old VLFs.
END
GO
"
    )
}

/// One statement per growth; the sizes are absolute, so running a statement twice does no harm.
fn grow(plan: &Plan, names: &ScriptNames, price: Option<&PlanPrice>, out: &mut String) {
    if plan.growths().is_empty() {
        out.push_str("\n-- The log already has this size.\n");
        return;
    }
    let step_count = plan.growths().len();
    let _ = writeln!(
        out,
        "\n-- Grow in {step_count} step{}",
        if step_count == 1 { "" } else { "s" }
    );
    if let Some(price) = price {
        let all = price.planned.prices.growths;
        let _ = writeln!(
            out,
            "-- Writers wait for them, on {} about {} s in all ({}): computed, not measured.",
            comment(&price.disk.name),
            seconds_text(all.typical_s),
            range_text(all)
        );
    }
    for (index, step) in plan.growths().iter().enumerate() {
        let seconds = price.and_then(|price| price.growths.get(index));
        let _ = writeln!(
            out,
            "ALTER DATABASE {} MODIFY FILE (NAME = {}, SIZE = {}); -- + {}, {} VLF{}{}",
            names.database_identifier(),
            names.log_literal(),
            size_clause(step.file_bytes),
            format_bytes(step.growth_bytes),
            step.vlfs_added,
            if step.vlfs_added == 1 { "" } else { "s" },
            seconds.map_or_else(String::new, |each| format!(
                ", about {} s",
                seconds_text(each.typical_s)
            ))
        );
    }
    out.push_str("GO\n");
}

fn size_clause(bytes: u64) -> String {
    if bytes.is_multiple_of(MB) {
        format!("{}MB", bytes / MB)
    } else {
        format!("{}KB", bytes / KB)
    }
}

fn check(plan: &Plan, names: &ScriptNames) -> String {
    let vlf_count = plan.layout.vlf_count();
    if plan.version >= ServerVersion::V2016 {
        format!(
            "\n-- Expect {vlf_count} (sys.dm_db_log_info needs 2016 SP2; before, count the rows of DBCC LOGINFO)\nSELECT COUNT(*) AS \
             vlf_count FROM sys.dm_db_log_info(DB_ID({}));\nGO\n",
            names.database_literal()
        )
    } else {
        format!("\n-- Expect {vlf_count} rows\nDBCC LOGINFO;\nGO\n")
    }
}
