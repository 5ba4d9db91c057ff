//! ROW_NUMBER, RANK and DENSE_RANK for more rows than fit in memory: for each call, rows are sorted by partition and order and numbered as
//! they pass; the next call sorts them again. Rows come out in the order of the last call. Rows that already have the order of every call
//! are not sorted.
//!
//! ```text
//! sort key    partition, order, length of the partition's part u32    (the length never decides: parts are self-delimiting)
//! ```

use engine::error::{Error, Result};
use engine::types::{KeyDirection, Value};

use super::row_store::RowStore;
use super::sort::direction;
use super::sorter::{Sorted, Sorter};
use super::{Operator, evaluate};
use crate::context::Context;
use crate::plan::{WindowCall, WindowFunction};
use crate::scalar::compare::push_order_key;

/// Rows with one more column per call.
pub(super) struct RankStream<'p> {
    /// Sorted for the last call; their width is that of the input and of the calls before.
    rows: Sorted,
    width: usize,
    call: &'p WindowCall,
    ranks: Ranks,
}

impl<'p> RankStream<'p> {
    /// Sorts the rows read so far and those still to come, call by call. `row` is the buffer that the input has filled so far.
    ///
    /// # Errors
    /// Those of the input, of the keys and of sorting.
    pub(super) fn open(
        read: RowStore,
        input: &mut dyn Operator,
        row: &mut [Value],
        calls: &'p [WindowCall],
        context: &Context<'_>,
    ) -> Result<RankStream<'p>> {
        let no_call = || Error::assertion("window functions without a call");
        let (mut call, rest) = calls.split_first().ok_or_else(no_call)?;
        let mut sorter = Sorter::new(context);
        for number in 0..read.len() {
            let read = read.row(number).get(..row.len()).unwrap_or_default();
            push(&mut sorter, read, call, context)?;
        }
        drop(read);
        while input.next(context, row)? {
            push(&mut sorter, row, call, context)?;
        }
        let mut width = row.len();
        for next_call in rest {
            let (mut rows, mut next_sorter) = (sorter.finish()?, Sorter::new(context));
            let (mut ranks, mut row) = (Ranks::default(), vec![Value::Null; width + 1]);
            while ranks.number(&mut rows, width, call, &mut row)? {
                push(&mut next_sorter, &row, next_call, context)?;
            }
            (sorter, call, width) = (next_sorter, next_call, width + 1);
        }
        Ok(RankStream {
            rows: sorter.finish()?,
            width,
            call,
            ranks: Ranks::default(),
        })
    }
}

impl Operator for RankStream<'_> {
    fn next(&mut self, _context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        self.ranks.number(&mut self.rows, self.width, self.call, row)
    }
}

fn push(sorter: &mut Sorter, row: &[Value], call: &WindowCall, context: &Context<'_>) -> Result<()> {
    sorter.push(row, |key| push_rank_key(row, call, key, context))
}

/// Appends what tells partitions and ranks apart.
fn push_rank_key(row: &[Value], call: &WindowCall, key: &mut Vec<u8>, context: &Context<'_>) -> Result<()> {
    let start = key.len();
    for part in &call.partition {
        push_order_key(&*evaluate(part, row, context)?, KeyDirection::Ascending, key);
    }
    let length = (key.len() - start) as u32;
    for (part, descending) in &call.order {
        push_order_key(&*evaluate(part, row, context)?, direction(*descending), key);
    }
    key.extend_from_slice(&length.to_le_bytes());
    Ok(())
}

/// The same of rows that come in the order of every call: numbered as they pass, and none is kept.
pub(super) struct OrderedRanks<'p> {
    input: Box<dyn Operator + 'p>,
    input_width: usize,
    calls: &'p [WindowCall],
    ranks: Vec<Ranks>,
    /// The key of the row at hand.
    key: Vec<u8>,
}

impl<'p> OrderedRanks<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, input_width: usize, calls: &'p [WindowCall]) -> OrderedRanks<'p> {
        OrderedRanks {
            input,
            input_width,
            calls,
            ranks: calls.iter().map(|_| Ranks::default()).collect(),
            key: Vec::new(),
        }
    }
}

impl Operator for OrderedRanks<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let (input, numbers) = row.split_at_mut(self.input_width.min(row.len()));
        if !self.input.next(context, input)? {
            return Ok(false);
        }
        for ((call, ranks), place) in self.calls.iter().zip(&mut self.ranks).zip(numbers) {
            self.key.clear();
            push_rank_key(input, call, &mut self.key, context)?;
            ranks.pass(&self.key);
            *place = ranks.of(call);
        }
        Ok(true)
    }
}

/// Numbers of the row that passes.
#[derive(Default)]
struct Ranks {
    key: Vec<u8>,
    row_number: i64,
    rank: i64,
    dense_rank: i64,
}

impl Ranks {
    /// The next row, with its number in column `width`; false at the end.
    fn number(&mut self, rows: &mut Sorted, width: usize, call: &WindowCall, row: &mut [Value]) -> Result<bool> {
        if !rows.next_with_key(row, |key| self.pass(key))? {
            return Ok(false);
        }
        if let Some(place) = row.get_mut(width) {
            *place = self.of(call);
        }
        Ok(true)
    }

    /// What a call has of them.
    fn of(&self, call: &WindowCall) -> Value {
        Value::BigInt(match call.function {
            WindowFunction::Rank => self.rank,
            WindowFunction::DenseRank => self.dense_rank,
            _ => self.row_number,
        })
    }

    fn pass(&mut self, key: &[u8]) {
        if self.row_number > 0 && key == self.key {
            self.row_number += 1;
            return;
        }
        if self.row_number == 0 || partition_of(key) != partition_of(&self.key) {
            (self.row_number, self.rank, self.dense_rank) = (0, 0, 0);
        }
        self.row_number += 1;
        self.rank = self.row_number;
        self.dense_rank += 1;
        self.key.clear();
        self.key.extend_from_slice(key);
    }
}

fn partition_of(key: &[u8]) -> &[u8] {
    let length = key.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
    key.get(..length as usize).unwrap_or_default()
}
