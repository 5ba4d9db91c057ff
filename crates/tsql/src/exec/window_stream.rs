//! Window functions of rows that come by partition: the rows that are equal in what the partitions of all calls have in common are worked
//! on by themselves, and come out before the next ones are read.
//!
//! ```text
//! PARTITION BY a ORDER BY b, rows by a       1 1 1 | 2 | 5 5      a part at a time is in memory; sorted within, unless rows come by b
//! ranks, of rows in the order of every call                       numbered as they pass (rank_stream)
//! ```
//! Rows come out in the order in which they came.
//!
//! Invariant: rows that are equal in these expressions follow each other; whoever makes the plan sees to it.

use engine::error::Result;
use engine::types::Value;

use super::row_store::RowStore;
use super::window::Window;
use super::window_order::WindowOrder;
use super::{Operator, evaluate};
use crate::context::Context;
use crate::plan::{Expr, WindowArrival, WindowCall};
use crate::scalar::compare::push_group_key;

/// See the module.
pub(super) struct WindowStream<'p> {
    rows: Parts<'p>,
    calls: &'p [WindowCall],
    are_ordered: &'p [bool],
    /// The input's row: while a part comes out, the first one of the next.
    row: Vec<Value>,
    /// The part that comes out.
    part: Option<Window<'p>>,
}

/// The rows of an input, which end where a part ends.
struct Parts<'p> {
    input: Box<dyn Operator + 'p>,
    together: &'p [Expr],
    /// What the rows of the part under way are equal in, and that of the row at hand.
    key: Vec<u8>,
    next_key: Vec<u8>,
    state: State,
}

/// Where the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first row.
    Before,
    /// At the first row of a part.
    AtPart,
    /// Within a part.
    Within,
    End,
}

impl Operator for Parts<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if self.state == State::AtPart {
            self.state = State::Within;
            return Ok(true);
        }
        if self.state == State::End || !self.input.next(context, row)? {
            self.state = State::End;
            return Ok(false);
        }
        self.next_key.clear();
        for key in self.together {
            push_group_key(std::slice::from_ref(&*evaluate(key, row, context)?), &mut self.next_key);
        }
        if self.state == State::Within && self.key == self.next_key {
            return Ok(true);
        }
        std::mem::swap(&mut self.key, &mut self.next_key);
        let is_first = self.state == State::Before;
        self.state = if is_first { State::Within } else { State::AtPart };
        Ok(is_first)
    }
}

impl<'p> WindowStream<'p> {
    pub(super) fn new(
        input: Box<dyn Operator + 'p>,
        input_width: usize,
        calls: &'p [WindowCall],
        arrival: Option<&'p WindowArrival>,
    ) -> WindowStream<'p> {
        WindowStream {
            rows: Parts {
                input,
                together: arrival.map_or(&[], |arrival| &arrival.together),
                key: Vec::new(),
                next_key: Vec::new(),
                state: State::Before,
            },
            calls,
            are_ordered: arrival.map_or(&[], |arrival| &arrival.are_ordered),
            row: vec![Value::Null; input_width],
            part: None,
        }
    }
}

impl Operator for WindowStream<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            if let Some(part) = &mut self.part
                && part.next(context, row)?
            {
                return Ok(true);
            }
            if self.rows.state == State::End {
                self.part = None;
                return Ok(false);
            }
            let memory = self.part.take().and_then(Window::into_empty);
            let memory = memory.unwrap_or_else(|| {
                let width = self.row.len() + self.calls.len();
                (RowStore::new(width), WindowOrder::default())
            });
            let calls = (self.calls, self.are_ordered);
            self.part = Some(Window::over(&mut self.rows, &mut self.row, calls, memory, context)?);
        }
    }
}
