//! EXECUTE AS: the security context of a session (sql-docs, "EXECUTE AS (Transact-SQL)", "REVERT (Transact-SQL)", "EXECUTE AS Clause").
//!
//! ```text
//! batch        EXECUTE AS ......................... REVERT
//! procedure                [ clause | EXECUTE AS ]            a context that is not reverted ends with the module
//! ```
//! Every login is a member of sysadmin, so another login's context has other names and the same permissions.
//!
//! Invariant: REVERT in a module never ends a context from before the module.

use std::cell::{Cell, RefCell};

use engine::error::{Error, Result};

use super::SessionState;

/// The login of dbo: of whom a module that executes as its owner, as the one who made it, or as dbo has the context.
pub(crate) const OWNER_LOGIN: &str = "sa";

/// How a context ends before its module or session does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By REVERT without a cookie.
    Plain,
    /// Not before its session does.
    Never,
    /// By REVERT WITH COOKIE of these bytes.
    Cookie(Vec<u8>),
}

/// A context of EXECUTE AS.
#[derive(Debug)]
struct Impersonated {
    login: String,
    ending: Ending,
    /// Where EXECUTE AS was said.
    database_id: u16,
}

/// The contexts of a session, the innermost last.
#[derive(Debug, Default)]
pub(crate) struct Impersonations {
    contexts: RefCell<Vec<Impersonated>>,
    /// How many REVERT does not end: those of before the module under way, and that of its clause.
    base: Cell<usize>,
    /// How many the caller of the module under way had.
    of_caller: Cell<usize>,
}

impl Impersonations {
    /// Forgets them all: the session is as it was after login.
    pub(super) fn clear(&self) {
        self.contexts.borrow_mut().clear();
        self.base.set(0);
        self.of_caller.set(0);
    }

    /// How many contexts there are.
    pub(crate) fn depth(&self) -> usize {
        self.contexts.borrow().len()
    }

    /// The login of the module's caller, in a module; `None` for the session's own.
    pub(crate) fn caller(&self) -> Option<String> {
        let contexts = self.contexts.borrow();
        let last = self.of_caller.get().checked_sub(1)?;
        contexts.get(last).map(|context| context.login.clone())
    }
}

/// A module's contexts, which end with it.
pub(crate) struct ContextFrame<'s> {
    session: &'s SessionState,
    outer_base: usize,
    outer_of_caller: usize,
    count: usize,
}

impl<'s> ContextFrame<'s> {
    /// Begins a module or text.
    pub(crate) fn enter(session: &'s SessionState) -> ContextFrame<'s> {
        let all = &session.impersonations;
        let count = all.contexts.borrow().len();
        ContextFrame {
            session,
            outer_base: all.base.replace(count),
            outer_of_caller: all.of_caller.replace(count),
            count,
        }
    }
}

impl Drop for ContextFrame<'_> {
    fn drop(&mut self) {
        let all = &self.session.impersonations;
        all.base.set(self.outer_base);
        all.of_caller.set(self.outer_of_caller);
        let had_own = all.contexts.borrow().len() > self.count;
        if had_own {
            all.contexts.borrow_mut().truncate(self.count);
            self.session.tell_login();
        }
    }
}

impl SessionState {
    /// The login in whose context the session works.
    pub(crate) fn login_name(&self) -> String {
        let contexts = self.impersonations.contexts.borrow();
        let innermost = contexts.last().map(|context| context.login.clone());
        innermost.unwrap_or_else(|| self.login.login.clone())
    }

    /// Goes on in a login's context.
    pub(crate) fn impersonate(&self, login: String, ending: Ending) {
        let context = Impersonated {
            login,
            ending,
            database_id: self.database().id,
        };
        self.impersonations.contexts.borrow_mut().push(context);
        self.tell_login();
    }

    /// Does something as a module's clause EXECUTE AS says: `None` is CALLER.
    pub(crate) fn within_context<T>(&self, execute_as: Option<i32>, work: impl FnOnce() -> T) -> T {
        match execute_as {
            None => work(),
            Some(_) => self.within_login(OWNER_LOGIN.to_owned(), work),
        }
    }

    /// Does something in the context of a login, which ends with it and no sooner.
    pub(crate) fn within_login<T>(&self, login: String, work: impl FnOnce() -> T) -> T {
        let _frame = ContextFrame::enter(self);
        self.impersonate(login, Ending::Never);
        self.impersonations.base.set(self.impersonations.base.get() + 1);
        work()
    }

    /// REVERT: ends the innermost context that the module under way, or the batch, has begun. Without one it does nothing.
    ///
    /// # Errors
    /// 15196 for one that cannot be reverted; 15591 for a cookie that is missing, another one, or not asked for; 15199 in another
    /// database.
    pub(crate) fn revert(&self, cookie: Option<&[u8]>) -> Result<()> {
        let all = &self.impersonations;
        let mut contexts = all.contexts.borrow_mut();
        if contexts.len() <= all.base.get() {
            return match cookie {
                None => Ok(()),
                Some(_) => Err(not_reverted_so()),
            };
        }
        let Some(innermost) = contexts.last() else {
            return Ok(());
        };
        match (&innermost.ending, cookie) {
            (Ending::Plain, None) => {}
            (Ending::Cookie(own), Some(given)) if own == given => {}
            (Ending::Never, _) => {
                let text = "The current security context is non-revertible. The \"Revert\" statement failed.";
                return Err(Error::new(15_196, 16, 1, text));
            }
            (Ending::Plain | Ending::Cookie(_), _) => return Err(not_reverted_so()),
        }
        if innermost.database_id != self.database().id {
            let text = "The current security context cannot be reverted. Please switch to the original database where 'Execute As' was \
                called and try it again.";
            return Err(Error::new(15_199, 16, 1, text));
        }
        contexts.pop();
        drop(contexts);
        self.tell_login();
        Ok(())
    }

    /// Tells others in whose context the session works.
    pub(super) fn tell_login(&self) {
        let login = self.login_name();
        self.describe(|session| session.login = login);
    }
}

/// 15591: REVERT with or without a cookie, where the context wants the other.
fn not_reverted_so() -> Error {
    let text = "The current security context cannot be reverted using this statement. A cookie may or may not be needed with 'Revert' \
        statement depending on how the context was set with 'Execute As' statement.";
    Error::new(15_591, 16, 1, text)
}
