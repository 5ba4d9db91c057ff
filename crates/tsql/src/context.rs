//! The context of an evaluation besides the row: the session, the batch's variables, and values captured for subqueries.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use engine::error::Result;
use engine::lock::LockOwner;
use engine::memory::Charge;
use engine::types::{Collation, Value};

use crate::grant::{Account, Grant};
use crate::modules::TableVariableShape;
use crate::scalar::compare::GroupKey;
use crate::state::{CursorReading, SessionState, TableLender};

/// A table variable: its rows live in memory and are no part of any transaction, as SQL Server's outlive a rollback.
#[derive(Debug, Default)]
pub struct TableVariable {
    /// Columns, identity, constraints.
    pub shape: Arc<TableVariableShape>,
    /// Rows; a deleted one leaves `None`, so that numbers of rows stay valid within a statement.
    pub rows: Vec<Option<Vec<Value>>>,
    /// The next identity value.
    pub identity_next: i64,
    /// The memory of the rows.
    pub(crate) grant: Option<Grant>,
}

impl TableVariable {
    /// An empty table of a shape.
    pub fn new(shape: Arc<TableVariableShape>) -> TableVariable {
        let identity_next = shape
            .columns
            .iter()
            .find_map(|column| column.identity)
            .map_or(1, |(seed, _)| seed);
        TableVariable {
            shape,
            rows: Vec::new(),
            identity_next,
            grant: None,
        }
    }
}

/// Rows of one round of a recursive query.
pub(crate) type Round = Rc<Vec<Vec<Value>>>;

/// The kept result of a subquery.
#[derive(Debug)]
pub(crate) enum CachedResult {
    Scalar(Value),
    Exists(bool),
    Set(ValueSet),
}

/// The one column of a subquery.
#[derive(Debug, Default)]
pub(crate) struct ValueSet {
    pub(crate) values: HashSet<GroupKey>,
    pub(crate) has_null: bool,
    pub(crate) grant: Option<Grant>,
}

/// The variables of a running batch or procedure.
#[derive(Debug, Default)]
pub struct Variables {
    /// Scalars, by slot.
    pub values: RefCell<Vec<Value>>,
    /// Table variables, by slot.
    pub tables: RefCell<Vec<TableVariable>>,
    /// What the scalars' strings take that are too short to carry a charge themselves.
    texts: RefCell<Texts>,
    /// How often a scalar was set.
    changes: Cell<u64>,
}

/// Bytes of strings in variables, and what was asked for them.
#[derive(Debug, Default)]
struct Texts {
    bytes: u64,
    charge: Charge,
}

impl Variables {
    /// Variables of a batch that begins.
    pub(crate) fn new(values: Vec<Value>, tables: Vec<TableVariable>) -> Variables {
        Variables {
            values: RefCell::new(values.into_iter().map(of_variable).collect()),
            tables: RefCell::new(tables),
            texts: RefCell::default(),
            changes: Cell::default(),
        }
    }
}

impl TableLender for Variables {
    fn swap_rows(&self, slot: usize, rows: &mut Vec<Option<Vec<Value>>>, grant: &mut Option<Grant>) {
        if let Some(table) = self.tables.borrow_mut().get_mut(slot) {
            std::mem::swap(&mut table.rows, rows);
            std::mem::swap(&mut table.grant, grant);
        }
    }
}

/// A value as variables keep it: of the default collation. It gets that of the database in which the variable is read.
fn of_variable(value: Value) -> Value {
    value.collated(Collation::default())
}

/// What a variable's string takes without a charge of its own.
fn text_bytes(value: &Value) -> u64 {
    match value {
        Value::Text(text) if !text.is_charged() => text.len() as u64,
        Value::Binary(bytes) if !bytes.is_charged() => bytes.len() as u64,
        _ => 0,
    }
}

/// The context of an execution. Creating one allocates nothing, because most statements need none of its caches.
pub struct Context<'s> {
    pub session: &'s SessionState,
    pub variables: &'s Variables,
    parameters: RefCell<Vec<Rc<Vec<Value>>>>,
    account: OnceCell<Rc<Account>>,
    kept: OnceCell<Box<Kept>>,
    /// Where the cursor is that the statement reads for.
    cursor: Option<Rc<CursorReading>>,
}

/// What is kept for a statement by whose it is: nothing of most, so it is made when it is first asked for.
#[derive(Default)]
pub(crate) struct Kept {
    /// The rows of the last round of each recursive query under way.
    rounds: RefCell<BTreeMap<usize, Round>>,
    /// Results of subqueries.
    pub(crate) results: RefCell<BTreeMap<usize, Rc<CachedResult>>>,
    /// What operators keep for others of the statement.
    pub(crate) rows: RefCell<BTreeMap<usize, Rc<dyn Any>>>,
    /// The lists of variables that were compared with rows, by their numbers.
    pub(crate) lists: RefCell<BTreeMap<u64, KeptList>>,
}

/// What is kept of a list whose values are constant for the execution.
#[derive(Debug, Clone)]
pub(crate) enum KeptList {
    /// It has been compared with so many rows, item by item.
    Walked(u32),
    /// Its values, while variables are set no more often than this.
    Known { changes: u64, values: Rc<KnownValues> },
    /// It is compared item by item from now on.
    Left,
}

/// The values of a list.
#[derive(Debug)]
pub(crate) struct KnownValues {
    pub(crate) values: Vec<Value>,
    /// The places of the values, in ascending order of these.
    pub(crate) order: Vec<u32>,
    pub(crate) has_null: bool,
    /// The memory of all of them.
    #[expect(dead_code, reason = "kept for what its end gives back")]
    pub(crate) grant: Grant,
}

impl<'s> Context<'s> {
    /// A context for one statement: results of subqueries are kept no longer than that.
    pub fn new(session: &'s SessionState, variables: &'s Variables) -> Context<'s> {
        Context {
            session,
            variables,
            parameters: RefCell::default(),
            account: OnceCell::new(),
            kept: OnceCell::new(),
            cursor: None,
        }
    }

    /// The same for a statement that reads for a cursor.
    pub(crate) fn at_cursor(self, cursor: Option<Rc<CursorReading>>) -> Context<'s> {
        Context { cursor, ..self }
    }

    /// Where the cursor is that the statement reads for.
    pub(crate) fn cursor(&self) -> Option<&CursorReading> {
        self.cursor.as_deref()
    }

    /// Values kept for the statement.
    pub(crate) fn kept(&self) -> &Kept {
        self.kept.get_or_init(Box::default)
    }

    pub fn locks(&self) -> &'s LockOwner {
        &self.session.locks
    }

    /// What the query's operators have taken of the workspace.
    fn account(&self) -> Rc<Account> {
        self.account.get_or_init(Rc::default).clone()
    }

    /// A grant for one more operator of the query.
    pub(crate) fn grant(&self) -> Grant {
        Grant::new(self.session.instance.workspace.clone(), self.account())
    }

    /// The value of a variable.
    pub fn variable(&self, slot: usize) -> Value {
        self.variables.values.borrow().get(slot).cloned().unwrap_or(Value::Null)
    }

    /// The value of a variable, in memory. A held one is read once: the variable has the value, with its charge, in its place from then on.
    ///
    /// # Errors
    /// Those of [`Value::whole`].
    #[inline]
    pub fn variable_in_memory(&self, slot: usize) -> Result<Value> {
        match self.variable(slot) {
            held @ Value::Held(_) => self.read_variable(slot, held),
            value => Ok(value),
        }
    }

    /// Puts a held value of a variable into memory.
    #[cold]
    fn read_variable(&self, slot: usize, held: Value) -> Result<Value> {
        let value = of_variable(held.whole()?);
        self.set_variable(slot, value.clone())?;
        Ok(value)
    }

    /// How often variables of the batch were set: while it stays the same, they have the values they had.
    pub(crate) fn variable_changes(&self) -> u64 {
        self.variables.changes.get()
    }

    /// Sets a variable.
    ///
    /// # Errors
    /// 701 when there is no memory for its string.
    pub fn set_variable(&self, slot: usize, value: Value) -> Result<()> {
        let value = of_variable(value);
        self.variables.changes.set(self.variables.changes.get() + 1);
        if let Some(place) = self.variables.values.borrow_mut().get_mut(slot) {
            let (before, after) = (text_bytes(place), text_bytes(&value));
            if before != after {
                let mut texts = self.variables.texts.borrow_mut();
                let bytes = texts.bytes.saturating_sub(before) + after;
                texts.charge.grow_to(bytes)?;
                texts.bytes = bytes;
            }
            *place = value;
        }
        Ok(())
    }

    /// A value captured for the subquery that is running.
    pub fn parameter(&self, index: usize) -> Value {
        self.parameters
            .borrow()
            .last()
            .and_then(|values| values.get(index))
            .cloned()
            .unwrap_or(Value::Null)
    }

    /// The rows of the last round of a recursive query.
    pub(crate) fn round(&self, id: usize) -> Round {
        self.kept().rounds.borrow().get(&id).cloned().unwrap_or_default()
    }

    /// Sets the rows of a round.
    pub(crate) fn set_round(&self, id: usize, rows: Round) {
        self.kept().rounds.borrow_mut().insert(id, rows);
    }

    /// Runs `work` with captured values in place.
    pub fn with_parameters<T>(&self, values: Rc<Vec<Value>>, work: impl FnOnce() -> T) -> T {
        self.parameters.borrow_mut().push(values);
        let result = work();
        self.parameters.borrow_mut().pop();
        result
    }
}
