//! `sp_cursoropen`, `sp_cursorfetch`, `sp_cursorclose`, `sp_cursoroption`, `sp_cursor`, and the four that prepare: cursors by handle, as
//! used by JDBC and ODBC (sql-docs, the pages of these names).
//!
//! ```text
//! scrollopt   1 KEYSET · 2 DYNAMIC · 4 FORWARD_ONLY · 8 STATIC · 10 FAST_FORWARD · 1000 PARAMETERIZED_STMT · 2000 AUTO_FETCH
//!             4000 AUTO_CLOSE · 8000 CHECK_ACCEPTED_TYPES, which bits 10000 to 100000 name
//! ccopt       1 READ_ONLY · 2 SCROLL_LOCKS · 4, 8 OPTIMISTIC · 2000 ALLOW_DIRECT · 4000 UPDT_IN_PLACE · 8000 CHECK_ACCEPTED_OPTS
//! ```
//! Unsupported types are downgraded, as SQL Server does if a statement does not allow them: keyset and dynamic to static, every concurrency
//! to read-only. A client that does not accept this gets 16955.
//!
//! The answer is in the order of Babelfish's `tdsrpc.c`: the columns followed by a ROWSTAT, a DONEINPROC without a count, the status, the
//! output parameters.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::execute::{CallResult, GivenArgument, OutputValue, only_statement};
use super::executor::{Executor, Flow, Outcome, closed};
use crate::ast::{Query, QueryBody, SelectItem, Statement, StatementKind};
use crate::scalar::convert::convert;
use crate::sink::{DoneKind, ResultColumn};
use crate::state::{ApiCursor, PreparedCursor};

const FORWARD_ONLY: i32 = 0x4;
const STATIC: i32 = 0x8;
const FAST_FORWARD: i32 = 0x10;
const SCROLL_TYPES: i32 = 0x1F;
const PARAMETERIZED: i32 = 0x1000;
const AUTO_FETCH: i32 = 0x2000;
const AUTO_CLOSE: i32 = 0x4000;
/// Of both options: the bits from 16 up name what else is accepted.
const CHECK_ACCEPTED: i32 = 0x8000;
const READ_ONLY: i32 = 0x1;
const CONCURRENCY_TYPES: i32 = 0xF;
const ALLOW_DIRECT: i32 = 0x2000;

/// The status of an open or a fetch that has closed the cursor behind its last row.
const CLOSED: i32 = 16;
/// ROWSTAT of a row that is there.
const ROW_FETCHED: i32 = 1;
/// How many rows a fetch returns that does not say.
const ROWS_DEFAULT: i64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorProcedure {
    Cursor,
    Open,
    Prepare,
    Execute,
    PrepareAndExecute,
    Unprepare,
    Fetch,
    Option,
    Close,
}

impl CursorProcedure {
    /// The procedure of a name in lower case.
    pub(super) fn of(name: &str) -> Option<CursorProcedure> {
        Some(match name {
            "sp_cursor" => CursorProcedure::Cursor,
            "sp_cursoropen" => CursorProcedure::Open,
            "sp_cursorprepare" => CursorProcedure::Prepare,
            "sp_cursorexecute" => CursorProcedure::Execute,
            "sp_cursorprepexec" => CursorProcedure::PrepareAndExecute,
            "sp_cursorunprepare" => CursorProcedure::Unprepare,
            "sp_cursorfetch" => CursorProcedure::Fetch,
            "sp_cursoroption" => CursorProcedure::Option,
            "sp_cursorclose" => CursorProcedure::Close,
            _ => return None,
        })
    }
}

/// The arguments of a call, which go by position.
pub(super) struct Arguments<'g, 'a> {
    pub(super) procedure: &'a str,
    pub(super) given: &'g [GivenArgument<'a>],
}

impl Arguments<'_, '_> {
    fn value(&self, index: usize, sql_type: SqlType) -> Result<Option<Value>> {
        let Some(argument) = self.given.get(index) else {
            return Ok(None);
        };
        let value = argument.value.as_deref().filter(|value| !value.is_null());
        value
            .map(|value| convert(value, argument.sql_type, sql_type, None)?.whole())
            .transpose()
    }

    pub(super) fn int(&self, index: usize) -> Result<Option<i32>> {
        let value = self.value(index, SqlType::Int)?;
        Ok(value
            .and_then(|value| value.as_i64())
            .and_then(|value| i32::try_from(value).ok()))
    }

    pub(super) fn handle(&self, index: usize) -> Result<i32> {
        Ok(self.int(index)?.unwrap_or(0))
    }

    pub(super) fn text(&self, index: usize) -> Result<Option<String>> {
        let value = self.value(index, SqlType::NVarChar(Length::Max))?;
        Ok(value.and_then(|value| value.as_str().map(str::to_owned)))
    }

    pub(super) fn statement(&self, index: usize) -> Result<String> {
        let missing = || crate::messages::procedure_expects_parameter("@stmt", "ntext/nchar/nvarchar");
        self.text(index)?.ok_or_else(missing)
    }

    pub(super) fn from(&self, index: usize) -> &[GivenArgument<'_>] {
        self.given.get(index..).unwrap_or_default()
    }

    /// An output parameter at a place, under the name that it was given.
    pub(super) fn output(&self, position: usize, value: i32) -> OutputValue {
        OutputValue {
            position,
            name: self.given.get(position).map_or("", |argument| argument.name).to_owned(),
            sql_type: SqlType::Int,
            value: Value::Int(value),
            xml_collection: None,
        }
    }

    /// 16909 for a handle that is none.
    fn unknown(&self, handle: i32) -> Error {
        let text = format!(
            "{}: The cursor identifier value provided ({handle:x}) is not valid.",
            self.procedure
        );
        Error::new(16_909, 16, 1, text)
    }
}

/// What a cursor is opened on.
struct Request<'r> {
    statement: &'r str,
    declarations: &'r str,
    values: &'r [GivenArgument<'r>],
    scroll_option: i32,
    concurrency_option: i32,
    /// The first fetch of AUTO_FETCH.
    rows: i64,
}

/// What came of it.
struct Opened {
    /// 0 where the statement was executed without a cursor.
    handle: i32,
    scroll_option: i32,
    concurrency_option: i32,
    row_count: i32,
    status: i32,
}

/// 16955 when a client accepts nothing of what there is.
fn granted(asked: i32, types: i32, granted: i32) -> Result<i32> {
    let accepted = (asked >> 16) & types;
    if asked & types == granted || asked & CHECK_ACCEPTED == 0 || accepted & granted != 0 {
        return Ok(granted);
    }
    Err(Error::new(16_955, 16, 2, "Could not create an acceptable cursor."))
}

fn granted_scroll(asked: i32) -> Result<i32> {
    let kind = match asked & SCROLL_TYPES {
        forward @ (FORWARD_ONLY | FAST_FORWARD) => forward,
        _ => STATIC,
    };
    granted(asked, SCROLL_TYPES, kind)
}

/// 16938: what no cursor can be opened on.
fn no_single_select() -> Error {
    let text = "sp_cursoropen/sp_cursorprepare: The statement parameter can only be a batch or a stored procedure with a single select, without FOR BROWSE, COMPUTE BY, or variable assignments.";
    Error::new(16_938, 16, 1, text)
}

fn with_row_status(columns: &[ResultColumn]) -> Vec<ResultColumn> {
    let status = ResultColumn {
        nullable: false,
        ..ResultColumn::new("ROWSTAT", SqlType::Int)
    };
    columns.iter().cloned().chain([status]).collect()
}

pub(super) fn answered(status: i32, outputs: Vec<OutputValue>) -> CallResult {
    CallResult {
        flow: Flow::Next,
        status,
        value: None,
        outputs,
    }
}

impl Executor<'_> {
    /// Calls one of the procedures.
    pub(super) fn call_cursor_procedure(
        &mut self,
        procedure: CursorProcedure,
        name: &str,
        given: &[GivenArgument<'_>],
        line: u32,
    ) -> Outcome<CallResult> {
        let arguments = Arguments { procedure: name, given };
        let result = match procedure {
            CursorProcedure::Open => return self.open_by_handle(&arguments, line),
            CursorProcedure::Execute => return self.execute_prepared_cursor(&arguments, line),
            CursorProcedure::PrepareAndExecute => return self.prepare_and_open(&arguments, line),
            CursorProcedure::Prepare => self.prepare_cursor(&arguments),
            CursorProcedure::Unprepare => self.unprepare_cursor(&arguments),
            CursorProcedure::Fetch => self.fetch_by_handle(&arguments),
            CursorProcedure::Option => self.cursor_option(&arguments),
            CursorProcedure::Close => self.close_by_handle(&arguments),
            CursorProcedure::Cursor => self.position_in_cursor(&arguments),
        };
        result.map_err(|error| self.failure(error, line))
    }

    /// `sp_cursoropen cursor OUTPUT, stmt [, scrollopt OUTPUT [, ccopt OUTPUT [, rowcount OUTPUT [, declarations, values ...]]]]`
    fn open_by_handle(&mut self, arguments: &Arguments<'_, '_>, line: u32) -> Outcome<CallResult> {
        let asked = (|| {
            let scroll = arguments.int(2)?.unwrap_or(0);
            let declarations = match scroll & PARAMETERIZED {
                0 => String::new(),
                _ => arguments.text(5)?.unwrap_or_default(),
            };
            let rows = i64::from(arguments.int(4)?.unwrap_or(0));
            Ok((
                arguments.statement(1)?,
                declarations,
                scroll,
                arguments.int(3)?.unwrap_or(0),
                rows,
            ))
        })();
        let (statement, declarations, scroll_option, concurrency_option, rows) =
            asked.map_err(|error| self.failure(error, line))?;
        let opened = self.open_cursor_on(
            &Request {
                statement: &statement,
                declarations: &declarations,
                values: arguments.from(if scroll_option & PARAMETERIZED == 0 { 5 } else { 6 }),
                scroll_option,
                concurrency_option,
                rows,
            },
            line,
        )?;
        let outputs = vec![
            arguments.output(0, opened.handle),
            arguments.output(2, opened.scroll_option),
            arguments.output(3, opened.concurrency_option),
            arguments.output(4, opened.row_count),
        ];
        Ok(answered(opened.status, outputs))
    }

    /// `sp_cursorprepexec prepared OUTPUT, cursor OUTPUT, declarations, stmt, scrollopt OUTPUT, ccopt OUTPUT, rowcount OUTPUT, values ...`
    fn prepare_and_open(&mut self, arguments: &Arguments<'_, '_>, line: u32) -> Outcome<CallResult> {
        let asked = (|| {
            let prepared = PreparedCursor {
                declarations: arguments.text(2)?.unwrap_or_default(),
                statement: arguments.statement(3)?,
                scroll_option: arguments.int(4)?.unwrap_or(0),
                concurrency_option: arguments.int(5)?.unwrap_or(0),
            };
            Ok((prepared, i64::from(arguments.int(6)?.unwrap_or(0))))
        })();
        let (prepared, rows) = asked.map_err(|error| self.failure(error, line))?;
        let opened = self.open_prepared(&prepared, arguments.from(7), rows, line)?;
        // A handle that the client no longer needs comes in, and may be gone.
        let former = arguments.handle(0).unwrap_or(0);
        let kept = {
            let mut cursors = self.session.api_cursors.borrow_mut();
            cursors.unprepare(former);
            cursors.prepare(prepared)
        };
        let handle = kept.map_err(|error| self.failure(error, line))?;
        let outputs = vec![
            arguments.output(0, handle),
            arguments.output(1, opened.handle),
            arguments.output(4, opened.scroll_option),
            arguments.output(5, opened.concurrency_option),
            arguments.output(6, opened.row_count),
        ];
        Ok(answered(opened.status, outputs))
    }

    /// `sp_cursorexecute prepared, cursor OUTPUT, scrollopt OUTPUT, ccopt OUTPUT, rowcount OUTPUT, values ...`
    fn execute_prepared_cursor(&mut self, arguments: &Arguments<'_, '_>, line: u32) -> Outcome<CallResult> {
        let asked = (|| {
            let handle = arguments.handle(0)?;
            let prepared = self.session.api_cursors.borrow().prepared(handle).cloned();
            let mut prepared = prepared.ok_or_else(|| arguments.unknown(handle))?;
            if let Some(scroll) = arguments.int(2)?.filter(|option| *option != 0) {
                prepared.scroll_option = scroll;
            }
            if let Some(concurrency) = arguments.int(3)?.filter(|option| *option != 0) {
                prepared.concurrency_option = concurrency;
            }
            Ok((prepared, i64::from(arguments.int(4)?.unwrap_or(0))))
        })();
        let (prepared, rows) = asked.map_err(|error| self.failure(error, line))?;
        let opened = self.open_prepared(&prepared, arguments.from(5), rows, line)?;
        let outputs = vec![
            arguments.output(1, opened.handle),
            arguments.output(2, opened.scroll_option),
            arguments.output(3, opened.concurrency_option),
            arguments.output(4, opened.row_count),
        ];
        Ok(answered(opened.status, outputs))
    }

    fn open_prepared(
        &mut self,
        prepared: &PreparedCursor,
        values: &[GivenArgument<'_>],
        rows: i64,
        line: u32,
    ) -> Outcome<Opened> {
        let request = Request {
            statement: &prepared.statement,
            declarations: &prepared.declarations,
            values,
            scroll_option: prepared.scroll_option,
            concurrency_option: prepared.concurrency_option,
            rows,
        };
        self.open_cursor_on(&request, line)
    }

    /// `sp_cursorprepare prepared OUTPUT, declarations, stmt, options [, scrollopt OUTPUT [, ccopt OUTPUT]]`
    fn prepare_cursor(&mut self, arguments: &Arguments<'_, '_>) -> Result<CallResult> {
        let scroll = granted_scroll(arguments.int(4)?.unwrap_or(0))?;
        let concurrency = granted(arguments.int(5)?.unwrap_or(0), CONCURRENCY_TYPES, READ_ONLY)?;
        let prepared = PreparedCursor {
            declarations: arguments.text(1)?.unwrap_or_default(),
            statement: arguments.statement(2)?,
            scroll_option: scroll,
            concurrency_option: concurrency,
        };
        let callable = self
            .prepared
            .text(self.session, &prepared.declarations, &prepared.statement);
        let callable = callable.map_err(|failure| failure.error())?;
        if single_query(&callable.batch.statements).is_none() {
            return Err(no_single_select());
        }
        let handle = self.session.api_cursors.borrow_mut().prepare(prepared)?;
        let outputs = vec![
            arguments.output(0, handle),
            arguments.output(4, scroll),
            arguments.output(5, concurrency),
        ];
        Ok(answered(0, outputs))
    }

    fn unprepare_cursor(&mut self, arguments: &Arguments<'_, '_>) -> Result<CallResult> {
        let handle = arguments.handle(0)?;
        match self.session.api_cursors.borrow_mut().unprepare(handle) {
            true => Ok(answered(0, Vec::new())),
            false => Err(arguments.unknown(handle)),
        }
    }

    /// Opens a cursor on a statement, or executes the statement if it is not a query and the client allows that.
    fn open_cursor_on(&mut self, request: &Request<'_>, line: u32) -> Outcome<Opened> {
        let callable = self
            .text(request.declarations, request.statement)
            .map_err(only_statement)?;
        let Some(query) = single_query(&callable.batch.statements) else {
            return self.execute_directly(request, line);
        };
        let rows = self.with_values_of(
            &callable,
            (request.declarations, request.statement),
            request.values,
            |inner| inner.rows_of(query, false),
        );
        let opened = rows.and_then(|(columns, rows)| {
            let scroll_option = granted_scroll(request.scroll_option)?;
            let concurrency_option = granted(request.concurrency_option, CONCURRENCY_TYPES, READ_ONLY)?;
            let fetches = request.scroll_option & AUTO_FETCH != 0;
            let count = rows.rows.len();
            let mut cursor = ApiCursor {
                columns: with_row_status(&columns),
                rows,
                scroll_option,
                concurrency_option,
                closes_itself: request.scroll_option & AUTO_CLOSE != 0,
                first: 0,
                fetched: 0,
            };
            let amount = if fetches { request.rows.max(0) } else { 0 };
            let is_over = self.send_rows(&mut cursor, 1, amount, fetches)?;
            let known = scroll_option != FAST_FORWARD;
            let handle = match is_over {
                true => 0,
                false => self.session.api_cursors.borrow_mut().keep(cursor)?,
            };
            Ok(Opened {
                handle,
                scroll_option,
                concurrency_option,
                row_count: if known {
                    i32::try_from(count).unwrap_or(i32::MAX)
                } else {
                    -1
                },
                status: if is_over { CLOSED } else { 0 },
            })
        });
        opened.map_err(|error| self.failure(error, line))
    }

    /// 16954, information, and the results as they come.
    fn execute_directly(&mut self, request: &Request<'_>, line: u32) -> Outcome<Opened> {
        if request.concurrency_option & ALLOW_DIRECT == 0 {
            return Err(self.failure(no_single_select(), line));
        }
        self.inform(16_954, 10, line, "Executing SQL directly; no cursor.")
            .map_err(|error| self.failure(error, line))?;
        let called = self.parametrised(request.statement, request.declarations, request.values, line)?;
        Ok(Opened {
            handle: 0,
            scroll_option: request.scroll_option & SCROLL_TYPES,
            concurrency_option: request.concurrency_option & CONCURRENCY_TYPES,
            row_count: 0,
            status: called.status,
        })
    }

    /// Sends the columns of a cursor and as many rows from `first` on as there are, which are its fetch buffer then. True when that closes
    /// the cursor: it has no more, and is asked to.
    fn send_rows(&mut self, cursor: &mut ApiCursor, first: i64, amount: i64, moves: bool) -> Result<bool> {
        self.sink.columns(&cursor.columns).map_err(closed)?;
        let count = cursor.rows.rows.len() as i64;
        let last = first.saturating_add(amount).saturating_sub(1).min(count);
        let cut = super::select::Cut::of(&cursor.columns, self.session.options().text_size_bytes);
        let mut sent = 0;
        for place in first.max(1)..=last {
            let row = usize::try_from(place - 1)
                .ok()
                .and_then(|index| cursor.rows.rows.get(index));
            let Some(row) = row else { break };
            let mut row = row.clone();
            row.truncate(cursor.columns.len() - 1);
            row.push(Value::Int(ROW_FETCHED));
            super::select::send_row(self.sink, &row, &cut)?;
            sent += 1;
        }
        if moves {
            cursor.first = first.clamp(0, count + 1);
            cursor.fetched = sent;
        }
        self.session.set_row_count(sent);
        self.done(None, DoneKind::Select)?;
        Ok(moves && cursor.closes_itself && amount > 0 && sent < amount)
    }

    /// `sp_cursorfetch cursor [, fetchtype [, rownum [, nrows]]]`
    fn fetch_by_handle(&mut self, arguments: &Arguments<'_, '_>) -> Result<CallResult> {
        let handle = arguments.handle(0)?;
        let kind = arguments.int(1)?.unwrap_or(FETCH_NEXT);
        let number = i64::from(arguments.int(2)?.unwrap_or(0));
        let amount = arguments.int(3)?.map_or(ROWS_DEFAULT, i64::from).max(0);
        let session = self.session;
        // Held while rows are sent, so that they are not copied: no sink comes back to the cursors.
        let mut cursors = session.api_cursors.borrow_mut();
        let cursor = cursors.find(handle).ok_or_else(|| arguments.unknown(handle))?;
        if kind == FETCH_INFO {
            let position = i32::try_from(cursor.first).unwrap_or(i32::MAX);
            let count = i32::try_from(cursor.rows.rows.len()).unwrap_or(i32::MAX);
            return Ok(answered(
                0,
                vec![arguments.output(2, position), arguments.output(3, count)],
            ));
        }
        let (first, amount) = fetch_range(cursor, kind, number, amount)?;
        let is_over = self.send_rows(cursor, first, amount, true)?;
        if is_over {
            cursors.close(handle);
        }
        Ok(answered(if is_over { CLOSED } else { 0 }, Vec::new()))
    }

    /// `sp_cursorclose cursor`; -1 means all.
    fn close_by_handle(&mut self, arguments: &Arguments<'_, '_>) -> Result<CallResult> {
        let handle = arguments.handle(0)?;
        let mut cursors = self.session.api_cursors.borrow_mut();
        match handle {
            -1 => cursors.close_all(),
            handle if cursors.close(handle) => {}
            handle => return Err(arguments.unknown(handle)),
        }
        Ok(answered(0, Vec::new()))
    }

    /// `sp_cursoroption cursor, code, value`: what was granted can be asked for.
    fn cursor_option(&mut self, arguments: &Arguments<'_, '_>) -> Result<CallResult> {
        let handle = arguments.handle(0)?;
        let mut cursors = self.session.api_cursors.borrow_mut();
        let cursor = cursors.find(handle).ok_or_else(|| arguments.unknown(handle))?;
        let value = match arguments.int(1)?.unwrap_or(0) {
            4 => cursor.scroll_option,
            5 => cursor.concurrency_option,
            6 => i32::try_from(cursor.rows.rows.len()).unwrap_or(i32::MAX),
            // A name is for positioned updates, text pointers are for types that do not exist.
            _ => return Err(crate::bind::not_supported("sp_cursoroption with this code")),
        };
        Ok(answered(0, vec![arguments.output(2, value)]))
    }

    /// `sp_cursor cursor, optype, rownum, table, values ...`: rows can be sent again and a position can be set; nothing can be changed.
    fn position_in_cursor(&mut self, arguments: &Arguments<'_, '_>) -> Result<CallResult> {
        const CHANGES: i32 = 0x1 | 0x2 | 0x4;
        const REFRESH: i32 = 0x8;
        const SET_POSITION: i32 = 0x20;
        let handle = arguments.handle(0)?;
        let operation = arguments.int(1)?.unwrap_or(0);
        let place = i64::from(arguments.int(2)?.unwrap_or(0));
        let session = self.session;
        let mut cursors = session.api_cursors.borrow_mut();
        let cursor = cursors.find(handle).ok_or_else(|| arguments.unknown(handle))?;
        if operation & CHANGES != 0 {
            return Err(crate::messages::cursor_is_read_only());
        }
        if operation & !(REFRESH | SET_POSITION) != 0 || operation == 0 {
            return Err(crate::bind::not_supported("sp_cursor with this operation"));
        }
        if operation & REFRESH != 0 {
            // Row 0 means all of the fetch buffer.
            let (first, amount) = match place {
                0 => (cursor.first, cursor.fetched),
                place => (cursor.first.saturating_add(place).saturating_sub(1), 1),
            };
            self.send_rows(cursor, first, amount, false)?;
        }
        Ok(answered(0, Vec::new()))
    }
}

const FETCH_FIRST: i32 = 0x1;
const FETCH_NEXT: i32 = 0x2;
const FETCH_PRIOR: i32 = 0x4;
const FETCH_LAST: i32 = 0x8;
const FETCH_ABSOLUTE: i32 = 0x10;
const FETCH_RELATIVE: i32 = 0x20;
const FETCH_REFRESH: i32 = 0x80;
const FETCH_INFO: i32 = 0x100;
const FETCH_PRIOR_AS_IS: i32 = 0x200;

/// The first row of a fetch and how many are wanted. A fetch of what is before the first row begins with the first one, but PREV_NOADJUST
/// (sql-docs, "sp_cursorfetch").
fn fetch_range(cursor: &ApiCursor, kind: i32, number: i64, amount: i64) -> Result<(i64, i64)> {
    let count = cursor.rows.rows.len() as i64;
    let is_forward_only = cursor.scroll_option != STATIC;
    let word = match kind {
        FETCH_FIRST => "first",
        FETCH_PRIOR | FETCH_PRIOR_AS_IS => "prior",
        FETCH_LAST => "last",
        FETCH_ABSOLUTE => "absolute",
        FETCH_RELATIVE => "relative",
        _ => "",
    };
    if is_forward_only && !word.is_empty() {
        return Err(crate::messages::forward_only_cursor(word));
    }
    Ok(match kind {
        FETCH_FIRST => (1, amount),
        FETCH_NEXT => (
            if cursor.first == 0 {
                1
            } else {
                cursor.first + cursor.fetched
            },
            amount,
        ),
        FETCH_PRIOR if cursor.first <= 1 => (0, 0),
        FETCH_PRIOR => ((cursor.first - amount).max(1), amount),
        FETCH_PRIOR_AS_IS => {
            let first = cursor.first - amount;
            (first.max(1), amount.min(cursor.first - 1).max(0))
        }
        FETCH_LAST => ((count - amount + 1).max(1), amount),
        FETCH_ABSOLUTE if number < 0 => (count.saturating_add(number) + 1, amount),
        FETCH_ABSOLUTE if number == 0 => (0, 0),
        FETCH_ABSOLUTE => (number, amount),
        FETCH_RELATIVE => (cursor.first.saturating_add(number), amount),
        FETCH_REFRESH => (cursor.first, cursor.fetched),
        _ => return Err(crate::bind::not_supported("sp_cursorfetch with this fetch type")),
    })
}

/// The query, if that is all there is and it gives rows.
pub(super) fn single_query(statements: &[Statement]) -> Option<&Query> {
    let [statement] = statements else { return None };
    let StatementKind::Select(query) = &statement.kind else {
        return None;
    };
    let gives_rows = match &query.body {
        QueryBody::Select(select) => {
            let assigns = |item: &SelectItem| matches!(item, SelectItem::Assignment { .. });
            select.into.is_none() && !select.items.iter().any(assigns)
        }
        QueryBody::Ordered(_) | QueryBody::SetOperations { .. } => true,
    };
    gives_rows.then_some(query)
}
