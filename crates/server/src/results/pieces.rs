//! Rows with long values that are read while they are sent: as fast as the client takes them, and never whole in memory.
//!
//! ```text
//! ROW | values | head of a long value | piece, piece, .. | values | ..
//!              pieces are read from the value's pages and leave as soon as packets are full
//! ```
//! Invariant: sent bytes cannot be withdrawn. A row that fails, or whose reader panics, before any of it was sent is withdrawn, and the
//! client gets the error; a later failure ends the connection. A cancelled row is completed in a form that clients can read.

use engine::error::Error;
use engine::types::{HeldValue, Value};
use tds::LongFrame;
use tsql::session::{Message, ResultSink as _, SinkClosed};

use super::Results;
use crate::notices;

/// Bytes read and sent at once: the content of eight pages.
const PIECE_BYTES: usize = 8 * 8_088;

/// Bytes of a cancelled value that are sent as zeros.
const FILLED_BYTES_MAX: u64 = 1 << 20;

/// Why a long value was not sent to its end.
enum Stopped {
    Failed(Error),
    Closed(SinkClosed),
}

impl Results<'_> {
    /// Sends a row that has long values.
    pub(super) fn row_in_pieces(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        (self.open_row, self.row_has_left) = (Some(self.tokens.pending()), false);
        let sent = self.send_row_in_pieces(row);
        self.open_row = None;
        sent
    }

    fn send_row_in_pieces(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
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
                    Err(reason) => self.withdraw(&notices::row_mismatch(&reason.to_string())),
                };
            };
            next += 1;
            let frame = writer.open_long(value.bytes());
            let frame = match (writer.leave_open(), frame) {
                (Ok(()), Some(frame)) => frame,
                (outcome, _) => {
                    let reason = outcome.err().map_or_else(String::new, |reason| reason.to_string());
                    return self.withdraw(&notices::row_mismatch(&reason));
                }
            };
            let mut at = 0;
            match self.send_pieces(value, frame, &mut at) {
                Ok(()) => {}
                Err(Stopped::Failed(error)) => return self.fail(error),
                Err(Stopped::Closed(closed)) => {
                    self.end_early(frame, value.bytes() - at, next, row.len());
                    return Err(closed);
                }
            }
            writer = self.tokens.row_from(next);
        }
    }

    /// Sends a value from `at` on, which says how far it came.
    fn send_pieces(&mut self, value: &HeldValue, frame: LongFrame, at: &mut u64) -> Result<(), Stopped> {
        let mut piece = Vec::new();
        while *at < value.bytes() {
            value
                .read(*at, PIECE_BYTES, &mut piece)
                .map_err(|error| self.stopped_by(error))?;
            *at += piece.len() as u64;
            self.send_piece(frame, &piece).map_err(Stopped::Closed)?;
        }
        frame.close(self.tokens.packets().payload());
        Ok(())
    }

    fn send_piece(&mut self, frame: LongFrame, piece: &[u8]) -> Result<(), SinkClosed> {
        frame.put(self.tokens.packets().payload(), piece);
        let pending = self.tokens.pending();
        let outcome = self.after_token();
        self.row_has_left |= self.tokens.pending() < pending;
        outcome
    }

    /// A reader that stops because it was cancelled has not failed.
    fn stopped_by(&self, error: Error) -> Stopped {
        match self.signals.should_stop() {
            true => Stopped::Closed(SinkClosed),
            false => Stopped::Failed(error),
        }
    }

    /// Takes the open row back, if nothing of it has left.
    fn take_back(&mut self) {
        self.broken |= self.row_has_left;
        if let Some(start) = self.open_row.filter(|_| !self.row_has_left) {
            self.tokens.packets().payload().truncate(start);
        }
    }

    /// Takes back a row that nothing left of, and says why; without that, there is no more to say.
    fn withdraw(&mut self, error: &Error) -> Result<(), SinkClosed> {
        self.take_back();
        match self.broken {
            true => Err(SinkClosed),
            false => self.message(&Message::new(error, 1, "")),
        }
    }

    /// Takes back a row that nothing left of, and has its statement fail.
    fn fail(&mut self, error: Error) -> Result<(), SinkClosed> {
        self.take_back();
        if !self.broken {
            self.row_error = Some(error);
        }
        Err(SinkClosed)
    }

    /// Ends a row that the client cancelled: its value where it is, or, where its length was announced, with zeros for the bytes that are left;
    /// NULL for the other columns. Where many are left the connection ends instead: the statement holds its locks until they are taken.
    fn end_early(&mut self, frame: LongFrame, left: u64, next: usize, columns: usize) {
        let mut left = if frame == LongFrame::Plain { left } else { 0 };
        if left > FILLED_BYTES_MAX {
            return self.take_back();
        }
        let zeros = [0; PIECE_BYTES];
        while left > 0 && !self.broken && !self.signals.is_abandoned() {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
            // That the request is to stop is known.
            let _ = self.send_piece(frame, &zeros[..count]);
            left -= count as u64;
        }
        self.broken |= left > 0;
        if self.broken {
            return;
        }
        frame.close(self.tokens.packets().payload());
        let mut writer = self.tokens.row_from(next);
        (next..columns).for_each(|_| writer.null());
        self.broken |= writer.finish().is_err();
    }
}
