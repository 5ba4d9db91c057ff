//! Frames: session state that belongs to a running unit. Dropping a frame restores the previous state.
//!
//! | frame | of | state |
//! |---|---|---|
//! | [`LevelFrame`] | everything that nests | `@@NESTLEVEL`, at most 32 |
//! | [`ModuleFrame`] | a procedure, a text that is executed | a level, SCOPE_IDENTITY, SET options, local cursors, the database of USE, the contexts of EXECUTE AS |
//! | [`FunctionFrame`] | a user-defined function | counts and errors of statements, SCOPE_IDENTITY, all cursors, figures of statements |
//! | [`UnitFrame`] | an atomic unit of work | whether a unit is active, and whether a function runs |

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use engine::database::Database;
use engine::error::Result;
use engine::versions::HeldSnapshot;
use engine::workspace::{SpillUses, replace_spill_uses};

use super::{ContextFrame, SessionState, SetOptions, SharedCursor};
use crate::measure::Measures;
use crate::messages;

/// One level of modules inside of each other.
pub(crate) struct LevelFrame<'s> {
    session: &'s SessionState,
}

impl<'s> LevelFrame<'s> {
    /// Enters a level.
    ///
    /// # Errors
    /// 217 beyond 32 levels.
    pub(crate) fn enter(session: &'s SessionState) -> Result<LevelFrame<'s>> {
        let level = session.nest_level.get();
        if level >= NEST_LEVEL_MAX {
            return Err(messages::nesting_level_exceeded());
        }
        session.nest_level.set(level + 1);
        Ok(LevelFrame { session })
    }
}

/// How deep modules nest (SQL Server docs, `@@NESTLEVEL`).
const NEST_LEVEL_MAX: u32 = 32;

impl Drop for LevelFrame<'_> {
    fn drop(&mut self) {
        let level = self.session.nest_level.get();
        self.session.nest_level.set(level.saturating_sub(1));
    }
}

/// A procedure, or a text that is executed.
pub(crate) struct ModuleFrame<'s> {
    session: &'s SessionState,
    scope_identity: Option<i64>,
    /// Taken when the frame ends.
    options: Option<SetOptions>,
    database: Arc<Database>,
    /// The database that what calls it was called in.
    outer_place: Option<u16>,
    /// How many databases there were to come back to.
    called_in: usize,
    _context: ContextFrame<'s>,
    /// Left last: local cursors are found by it.
    _level: LevelFrame<'s>,
}

impl<'s> ModuleFrame<'s> {
    /// Begins a module.
    ///
    /// # Errors
    /// 217 beyond 32 levels.
    pub(crate) fn enter(session: &'s SessionState) -> Result<ModuleFrame<'s>> {
        let level = LevelFrame::enter(session)?;
        Ok(ModuleFrame {
            session,
            scope_identity: session.scope_identity.take(),
            options: Some(session.options().clone()),
            database: session.database(),
            called_in: session.engine.borrow().databases_called_in(),
            outer_place: session.called_in_database.replace(Some(session.database().id)),
            _context: ContextFrame::enter(session),
            _level: level,
        })
    }

    /// The current database's name, where the module has left the one that it was called in.
    pub(crate) fn used_database(&self) -> Option<String> {
        let is_here = self.session.is_in(&self.database);
        (!is_here).then(|| self.session.database().name())
    }

    /// Ends the module, and with it the USE that it has executed.
    ///
    /// # Errors
    /// The database that it was called in cannot be used any more.
    pub(crate) fn leave(self) -> Result<()> {
        let (session, database, called_in) = (self.session, self.database.clone(), self.called_in);
        drop(self);
        match session.is_in(&database) && session.engine.borrow().databases_called_in() == called_in {
            true => Ok(()),
            false => session.leave_database(database, called_in),
        }
    }
}

impl Drop for ModuleFrame<'_> {
    fn drop(&mut self) {
        self.session.drop_local_cursors();
        self.session.scope_identity.set(self.scope_identity);
        self.session.called_in_database.set(self.outer_place);
        if let Some(options) = self.options.take() {
            self.session.restore_options(options);
        }
    }
}

/// A function of the user: the statement that calls it sees nothing of what its statements leave in the session.
pub(crate) struct FunctionFrame<'s> {
    session: &'s SessionState,
    row_count: i64,
    error_number: i32,
    fetch_status: i32,
    scope_identity: Option<i64>,
    cursors: HashMap<String, SharedCursor>,
    measures: Option<Rc<Measures>>,
    spilled: SpillUses,
}

impl<'s> FunctionFrame<'s> {
    /// Begins a function. Its cursors are its own, and the figures of its statements are not counted.
    pub(crate) fn enter(session: &'s SessionState) -> FunctionFrame<'s> {
        FunctionFrame {
            session,
            row_count: session.row_count(),
            error_number: session.error_number(),
            fetch_status: session.fetch_status(),
            scope_identity: session.scope_identity.take(),
            cursors: session.cursors.take(),
            measures: session.replace_measures(None),
            spilled: replace_spill_uses(SpillUses::default()),
        }
    }
}

impl Drop for FunctionFrame<'_> {
    fn drop(&mut self) {
        self.session.replace_measures(self.measures.take());
        replace_spill_uses(std::mem::take(&mut self.spilled));
        self.session.set_fetch_status(self.fetch_status);
        self.session.cursors.replace(std::mem::take(&mut self.cursors));
        self.session.scope_identity.set(self.scope_identity);
        self.session.set_error_number(self.error_number);
        self.session.set_row_count(self.row_count);
    }
}

/// A unit of work under way.
pub(crate) struct UnitFrame<'s> {
    session: &'s SessionState,
    outer: bool,
    /// What the statement around it reads by: a unit within has snapshots of its own.
    outer_snapshot: Option<HeldSnapshot>,
    is_function: bool,
}

impl<'s> UnitFrame<'s> {
    /// Begins the unit of a statement.
    pub(crate) fn of_statement(session: &'s SessionState) -> UnitFrame<'s> {
        UnitFrame::enter(session, false)
    }

    /// Begins the part of a unit that a function is.
    pub(crate) fn of_function(session: &'s SessionState) -> UnitFrame<'s> {
        UnitFrame::enter(session, true)
    }

    fn enter(session: &'s SessionState, is_function: bool) -> UnitFrame<'s> {
        let depth = session.function_depth.get();
        session.function_depth.set(depth + u32::from(is_function));
        UnitFrame {
            session,
            outer: session.transaction.in_unit.replace(true),
            outer_snapshot: session.transaction.statement_snapshot.take(),
            is_function,
        }
    }
}

impl Drop for UnitFrame<'_> {
    fn drop(&mut self) {
        let depth = self.session.function_depth.get();
        self.session
            .function_depth
            .set(depth.saturating_sub(u32::from(self.is_function)));
        self.session.transaction.in_unit.set(self.outer);
        self.session
            .transaction
            .statement_snapshot
            .replace(self.outer_snapshot.take());
    }
}
