//! READTEXT, WRITETEXT and UPDATETEXT: a query of one row, and an UPDATE of one row (`bind/text.rs`).
//!
//! What WRITETEXT and UPDATETEXT meet when they run ends the batch, as under XACT_ABORT, and neither counts a row (the SqlServerSimulator
//! project's notes on "Legacy LOB operations", probed on SQL Server 2025).

use engine::error::{Error, Result};

use super::executor::{Executor, Flow, Outcome};
use crate::ast::{ReadText, StatementKind, WriteText};
use crate::failure::Class;
use crate::prepared::Bound;
use crate::sink::DoneKind;

/// What the pointer, the offset and the length of WRITETEXT and UPDATETEXT fail with.
const OF_POINTER: [i32; 4] = [7116, 7123, 7133, 7135];

impl Executor<'_> {
    pub(super) fn text_statement(&mut self, kind: &StatementKind, line: u32) -> Outcome<Flow> {
        let result = match kind {
            StatementKind::ReadText(read) => self.read_text(read),
            StatementKind::WriteText(write) => return self.write_text(write, line),
            _ => Err(Error::assertion("a statement on text pointers of another kind")),
        };
        result.map(|()| Flow::Next).map_err(|error| self.failure(error, line))
    }

    fn read_text(&mut self, read: &ReadText) -> Result<()> {
        let bound = self.plan(read, |binder, read| Ok(Bound::Query(binder.read_text(read)?)))?;
        match &*bound {
            Bound::Query(bound) => self.select_rows(bound),
            _ => Err(Error::assertion("a READTEXT bound to something else")),
        }
    }

    fn write_text(&mut self, write: &WriteText, line: u32) -> Outcome<Flow> {
        let written = self.with_current_plan(|executor| executor.text_written(write));
        written.map(|()| Flow::Next).map_err(|error| {
            let is_of_pointer = OF_POINTER.contains(&error.number);
            let failure = self.failure(error, line);
            match is_of_pointer {
                true => failure.with_class(Class::Batch),
                false => failure,
            }
        })
    }

    fn text_written(&mut self, write: &WriteText) -> Result<()> {
        let update = &write.update;
        let bound = self.plan(update, |binder, update| Ok(Bound::Update(binder.update(update)?)))?;
        let Bound::Update(bound) = &*bound else {
            return Err(Error::assertion("a WRITETEXT bound to something else"));
        };
        self.atomically(true, |executor| executor.update_rows(bound).map(drop))?;
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }
}
