//! EXECUTE AS and REVERT as statements. `state/impersonation.rs` has their effect on the session.
//!
//! The logins are `sa` and the one that opened the session; both are dbo in every database. Permissions of users are not checked, so
//! `EXECUTE AS USER` of an existing user is refused: no session is anybody but dbo.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::executor::Executor;
use crate::ast::{ExecuteAs, ExecutionContext, Expression, Reversion};
use crate::messages;
use crate::scalar::convert::convert;
use crate::security::{of_server, principal_named};
use crate::state::{Ending, OWNER_LOGIN};

const NAME: SqlType = SqlType::NVarChar(Length::Limited(128));
const COOKIE: SqlType = SqlType::VarBinary(Length::Limited(8000));

/// How many times eight bytes a cookie has: 100 bytes are its documented size at most (sql-docs, EXECUTE AS).
const COOKIE_WORDS: usize = 4;

/// Contexts one inside another: as deep as modules go.
const CONTEXTS_MAX: usize = 32;

impl Executor<'_> {
    pub(super) fn execute_as(&mut self, execute_as: &ExecuteAs) -> Result<()> {
        let session = self.session;
        if session.nest_level() > 0 && execute_as.reversion != Reversion::Plain {
            let text =
                "Can only use the 'No Revert' or 'Cookie' options with the 'Execute As' statement at the adhoc level.";
            return Err(Error::new(15_590, 16, 1, text));
        }
        // Outside of a module it has no action (sql-docs, EXECUTE AS).
        if session.nest_level() == 0 && matches!(execute_as.context, ExecutionContext::Caller) {
            return Ok(());
        }
        let login = match &execute_as.context {
            ExecutionContext::Caller => {
                let caller = session.impersonations.caller();
                caller.unwrap_or_else(|| session.login.login.clone())
            }
            ExecutionContext::Login(name) => self.login_named(name)?,
            ExecutionContext::User(name) => return Err(self.no_user(name)?),
        };
        let ending = match &execute_as.reversion {
            Reversion::Plain => Ending::Plain,
            Reversion::Never => Ending::Never,
            Reversion::Cookie(variable) => Ending::Cookie(self.new_cookie(variable)?),
        };
        if session.impersonations.depth() >= CONTEXTS_MAX {
            return Err(messages::nesting_level_exceeded());
        }
        session.impersonate(login, ending);
        Ok(())
    }

    pub(super) fn revert(&mut self, cookie: Option<&Expression>) -> Result<()> {
        let cookie = cookie.map(|cookie| self.value_as(cookie, COOKIE)).transpose()?;
        let bytes = match &cookie {
            None => None,
            Some(Value::Binary(bytes)) => Some(&bytes[..]),
            Some(_) => Some(&[][..]),
        };
        self.session.revert(bytes)
    }

    /// The login in whose context `EXECUTE ('text') AS` runs its text: of the user dbo that of the owner.
    ///
    /// # Errors
    /// 15406 and 15517 for a principal that cannot be impersonated; 40517 for guest; 217 beyond 32 contexts in one another.
    pub(super) fn login_of(&self, context: &ExecutionContext) -> Result<String> {
        if self.session.impersonations.depth() >= CONTEXTS_MAX {
            return Err(messages::nesting_level_exceeded());
        }
        let name = match context {
            ExecutionContext::Caller => return Ok(self.session.login_name()),
            ExecutionContext::Login(name) => return self.login_named(name),
            ExecutionContext::User(name) => name,
        };
        let user = self.value_as(name, NAME)?;
        let is_owner = user
            .as_str()
            .is_some_and(|user| user.trim_end_matches(' ').eq_ignore_ascii_case("dbo"));
        match is_owner {
            true => Ok(OWNER_LOGIN.to_owned()),
            false => Err(self.no_user(name)?),
        }
    }

    /// A login that can be impersonated.
    ///
    /// # Errors
    /// 15406 when it is none.
    fn login_named(&self, name: &Expression) -> Result<String> {
        let name = self.value_as(name, NAME)?;
        let name = name.as_str().unwrap_or("").trim_end_matches(' ');
        if name.eq_ignore_ascii_case(&self.session.login.login) {
            return Ok(self.session.login.login.clone());
        }
        let login = of_server(name).filter(|principal| principal.is_login());
        login.map(|login| login.name.to_owned()).ok_or_else(|| {
            let text = format!(
                "Cannot execute as the server principal because the principal \"{name}\" does not exist, this type of principal cannot be \
                 impersonated, or you do not have permission."
            );
            Error::new(15_406, 16, 1, text)
        })
    }

    /// 15517 for a user that cannot be impersonated, 40517 for one that can.
    fn no_user(&self, name: &Expression) -> Result<Error> {
        let name = self.value_as(name, NAME)?;
        let name = name.as_str().unwrap_or("").trim_end_matches(' ');
        let session = self.session;
        let found = principal_named(&session.database(), session.id, name);
        if found.is_some_and(|found| !found.is_role && !found.is_of_system()) {
            return Ok(messages::not_supported("EXECUTE AS USER"));
        }
        let text = format!(
            "Cannot execute as the database principal because the principal \"{name}\" does not exist, this type of principal cannot be \
             impersonated, or you do not have permission."
        );
        Ok(Error::new(15_517, 16, 1, text))
    }

    /// Makes a cookie, and puts it into a variable.
    fn new_cookie(&self, variable: &str) -> Result<Vec<u8>> {
        let declared = self.batch.scope.scalar(variable);
        let (slot, sql_type) = declared.ok_or_else(|| messages::variable_not_declared(variable))?;
        let random = &self.session.random;
        let bytes: Vec<u8> = (0..COOKIE_WORDS)
            .flat_map(|_| random.next_bits().to_le_bytes())
            .collect();
        let value = convert(&Value::binary(bytes.clone()), COOKIE, sql_type, None)?;
        self.context().set_variable(slot, value)?;
        Ok(bytes)
    }
}
