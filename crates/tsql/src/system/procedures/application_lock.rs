//! `sp_getapplock` and `sp_releaseapplock` (sql-docs, the pages of these names).
//!
//! ```text
//!    0   granted                        -1   timed out            -3   deadlock victim: the transaction continues
//!    1   granted after a wait           -2   cancelled            -999 another call error
//! ```
//! A cancelled call returns nothing, because its request ends. A wrong word for a mode or an owner, or the owner Transaction outside a
//! transaction, give -999 without a message; other mistakes are errors (both as the test suite of SQLServerSimulator,
//! `ApplicationLockTests.cs`, recorded them from SQL Server 2025).

use engine::error::{Error, Result};
use engine::lock::{Account, ApplicationName};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext};
use super::{INT, SystemProcedure, integer, text};
use crate::messages;
use crate::security::principal_named;
use crate::views::lock_words::{account_of, mode_of};

const RESOURCE: SqlType = SqlType::NVarChar(Length::Limited(255));
const WORD: SqlType = SqlType::NVarChar(Length::Limited(32));

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_getapplock",
        parameters: &[
            ("@Resource", RESOURCE, false),
            ("@LockMode", WORD, true),
            ("@LockOwner", WORD, false),
            ("@LockTimeout", INT, false),
            ("@DbPrincipal", SqlType::SYSNAME, false),
        ],
        run: get,
    },
    SystemProcedure {
        name: "sp_releaseapplock",
        parameters: &[
            ("@Resource", RESOURCE, true),
            ("@LockOwner", WORD, false),
            ("@DbPrincipal", SqlType::SYSNAME, false),
        ],
        run: release,
    },
];

const CALL_ERROR: i32 = -999;
const TIMED_OUT: i32 = -1;
const DEADLOCK_VICTIM: i32 = -3;

/// What errors call the code behind both procedures.
const CALLEE: &str = "xp_userlock";

/// The name and the account that a call means; `None` for words that mean none.
fn requested(
    context: &SystemContext<'_>,
    host: &dyn Host,
    (resource, owner, principal): (Option<&str>, Option<&str>, Option<&str>),
) -> Result<Option<(ApplicationName, Account)>> {
    let principal = principal.unwrap_or("public");
    let found = principal_named(&context.database, context.session_id, principal);
    let found = found.ok_or_else(|| messages::no_database_principal(principal))?;
    let Some(account) = owner.map_or(Some(Account::Transaction), account_of) else {
        return Ok(None);
    };
    if account == Account::Transaction && host.transaction_count() == 0 {
        return Ok(None);
    }
    let name = resource.ok_or_else(|| messages::invalid_application_lock("resource", CALLEE, 5))?;
    let name = ApplicationName {
        database: context.database.id,
        principal: found.id as u16,
        name: name.to_owned(),
    };
    Ok(Some((name, account)))
}

fn get(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let locks = context.engine.borrow().locks().clone();
    let timeout_ms = integer(arguments, 3).unwrap_or_else(|| locks.timeout_ms());
    let Some(mode) = text(arguments, 1).and_then(mode_of) else {
        return Ok(CALL_ERROR);
    };
    let words = (text(arguments, 0), text(arguments, 2), text(arguments, 4));
    let (name, account) = match requested(context, host, words) {
        Ok(Some(requested)) => requested,
        Ok(None) => return Ok(CALL_ERROR),
        Err(error) => return refused(host, error),
    };
    if timeout_ms < -1 {
        return refused(host, messages::invalid_application_lock("time-out", CALLEE, 2));
    }
    match locks.lock_application(&name, mode, account, timeout_ms) {
        Ok(waited) => Ok(i32::from(waited)),
        Err(error) if error.number == Error::lock_timeout().number => Ok(TIMED_OUT),
        Err(error) if error.number == 1205 => Ok(DEADLOCK_VICTIM),
        Err(error) => Err(error),
    }
}

fn release(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let words = (text(arguments, 0), text(arguments, 1), text(arguments, 2));
    let (name, account) = match requested(context, host, words) {
        Ok(Some(requested)) => requested,
        Ok(None) => return Ok(CALL_ERROR),
        Err(error) => return refused(host, error),
    };
    let locks = context.engine.borrow().locks().clone();
    if locks.unlock_application(&name, account) {
        return Ok(0);
    }
    let principal = text(arguments, 2).unwrap_or("public");
    refused(host, messages::application_lock_not_held(principal, &name.name))
}

/// Says what was wrong, and returns the status for that.
fn refused(host: &mut dyn Host, error: Error) -> Result<i32> {
    host.raise(error).map(|()| CALL_ERROR)
}
