//! Rows with long values that are read while they are sent: as fast as the client takes them, and never whole in memory.
//!
//! ```text
//! ROW | values | head of a long value | piece, piece, .. | values | ..
//!              pieces are read from the value's pages and leave as soon as packets are full
//! ```
//! Invariant: what left cannot be withdrawn. A row that fails before anything of it left is taken back, and the client gets the error; one
//! that fails later ends the connection. A row that is cancelled is brought to an end that clients can read, where its form has one.

use engine::error::Error;
use engine::types::{HeldValue, Value};
use tds::LongFrame;
use tsql::session::{Message, ResultSink as _, SinkClosed};

use super::Results;
use crate::notices;

/// Bytes read and sent at once: the content of eight pages.
const PIECE_BYTES: usize = 8 * 8_088;

/// Why a long value was not sent to its end.
enum Stopped {
    Failed(Error),
    Closed(SinkClosed),
}

impl Results<'_> {
    /// Sends a row that has long values.
    pub(super) fn row_in_pieces(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let start = self.tokens.pending();
        let mut has_left = false;
        let mut writer = self.tokens.row();
        let mut next = 0;
        loop {
            let rest = row.get(next..).unwrap_or_default();
            let held = rest.iter().position(|value| matches!(value, Value::Held(_)));
            let before = rest.get(..held.unwrap_or(rest.len())).unwrap_or_default();
            self.announced.write_part(&mut writer, before, next);
            next += before.len();
            let Some(Value::Held(value)) = row.get(next) else {
                return match writer.finish() {
                    Ok(()) => self.after_token(),
                    Err(reason) => self.withdraw(start, has_left, &notices::row_mismatch(&reason.to_string())),
                };
            };
            next += 1;
            let frame = writer.open_long(value.bytes());
            let frame = match (writer.leave_open(), frame) {
                (Ok(()), Some(frame)) => frame,
                (outcome, _) => {
                    let reason = outcome.err().map_or_else(String::new, |reason| reason.to_string());
                    return self.withdraw(start, has_left, &notices::row_mismatch(&reason));
                }
            };
            match self.send_pieces(value, frame, &mut has_left) {
                Ok(()) => {}
                Err(Stopped::Failed(error)) => return self.fail(start, has_left, error),
                Err(Stopped::Closed(closed)) => {
                    self.end_early(frame, next, row.len());
                    return Err(closed);
                }
            }
            writer = self.tokens.row_from(next);
        }
    }

    fn send_pieces(&mut self, value: &HeldValue, frame: LongFrame, has_left: &mut bool) -> Result<(), Stopped> {
        let (mut piece, mut at) = (Vec::new(), 0);
        while at < value.bytes() {
            value
                .read(at, PIECE_BYTES, &mut piece)
                .map_err(|error| self.stopped_by(error))?;
            at += piece.len() as u64;
            frame.put(self.tokens.packets().payload(), &piece);
            let pending = self.tokens.pending();
            let outcome = self.after_token();
            *has_left |= self.tokens.pending() < pending;
            outcome.map_err(Stopped::Closed)?;
        }
        frame.close(self.tokens.packets().payload());
        Ok(())
    }

    /// A reader that stops because it was cancelled has not failed.
    fn stopped_by(&self, error: Error) -> Stopped {
        match self.signals.should_stop() {
            true => Stopped::Closed(SinkClosed),
            false => Stopped::Failed(error),
        }
    }

    /// Takes back a row that nothing left of, and says why; without that, there is no more to say.
    fn withdraw(&mut self, start: usize, has_left: bool, error: &Error) -> Result<(), SinkClosed> {
        if has_left {
            self.broken = true;
            return Err(SinkClosed);
        }
        self.tokens.packets().payload().truncate(start);
        self.message(&Message::new(error, 1, ""))
    }

    /// Takes back a row that nothing left of, and has its statement fail.
    fn fail(&mut self, start: usize, has_left: bool, error: Error) -> Result<(), SinkClosed> {
        if has_left {
            self.broken = true;
        } else {
            self.tokens.packets().payload().truncate(start);
            self.row_error = Some(error);
        }
        Err(SinkClosed)
    }

    /// Ends a row that the client cancelled: its value where it is, NULL for what is left.
    fn end_early(&mut self, frame: LongFrame, next: usize, columns: usize) {
        if frame == LongFrame::Plain {
            self.broken = true;
        }
        if self.broken {
            return;
        }
        frame.close(self.tokens.packets().payload());
        let mut writer = self.tokens.row_from(next);
        (next..columns).for_each(|_| writer.null());
        self.broken |= writer.finish().is_err();
    }
}
