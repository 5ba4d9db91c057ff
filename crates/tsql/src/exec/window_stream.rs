//! Window functions of rows that arrive by partition. Rows that are equal in the expressions common to all calls' partitions form a part;
//! each part is processed separately and returned before the next one is read.
//!
//! ```text
//! PARTITION BY a ORDER BY b, rows by a       1 1 1 | 2 | 5 5      a part at a time is in memory; sorted within, unless rows come by b
//! ranks, of rows in the order of every call                       numbered as they pass (rank_stream)
//! ```
//! Parts come out in input order, the rows of each in the order of the last call.
//!
//! Invariant: rows that are equal in these expressions are adjacent; the optimizer guarantees this.

use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::Value;

use super::numbering::{self, Numbering};
use super::rank_stream::OrderedRanks;
use super::row_store::RowStore;
use super::window::Window;
use super::window_order::WindowOrder;
use super::{Operator, evaluate};
use crate::context::Context;
use crate::plan::{Expr, WindowArrival, WindowCall, WindowNode};
use crate::scalar::compare::push_group_key;

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

/// Opens window functions, in the way that the order of rows allows.
pub(super) fn open<'p>(
    node: &'p WindowNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    let WindowNode {
        input,
        input_width,
        calls,
        arrival,
    } = node;
    let input = super::open(input, locks, context)?;
    let are_ordered = arrival
        .as_ref()
        .is_some_and(|arrival| arrival.are_ordered.iter().all(|&is| is));
    if numbering::is_in_any_order(calls) {
        return Ok(Box::new(Numbering::new(input, *input_width)));
    }
    if are_ordered && calls.iter().all(WindowCall::is_ranking) {
        return Ok(Box::new(OrderedRanks::new(input, *input_width, calls)));
    }
    Ok(Box::new(WindowStream::new(
        input,
        *input_width,
        calls,
        arrival.as_ref(),
    )))
}

impl<'p> WindowStream<'p> {
    fn new(
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
