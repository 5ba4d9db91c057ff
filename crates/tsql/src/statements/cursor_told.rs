//! `sp_cursor_list` and `sp_describe_cursor`: what the session's cursors are (sql-docs, the pages of these names). They answer through a
//! cursor, which the caller's variable refers to then: a static one over a row for each cursor told of.

use std::cell::RefCell;
use std::rc::Rc;

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::cursor_procedures::{answered, single_query};
use super::cursor_rows::DeclaredIn;
use super::describe::argument;
use super::execute::{CallResult, GivenArgument, OutputValue, require_cursor};
use super::executor::Executor;
use crate::messages;
use crate::state::{Cursor, CursorConcurrency, CursorDeclaration, CursorModel, SharedCursor, declared_bytes};

/// The parameter that gets the cursor.
const RETURNED: &str = "@cursor_return";

/// The columns of the answer, with their types.
const COLUMNS: [(&str, &str); 14] = [
    ("reference_name", "sysname"),
    ("cursor_name", "sysname"),
    ("cursor_scope", "tinyint"),
    ("status", "smallint"),
    ("model", "tinyint"),
    ("concurrency", "tinyint"),
    ("scrollable", "tinyint"),
    ("open_status", "tinyint"),
    ("cursor_rows", "decimal(10, 0)"),
    ("fetch_status", "smallint"),
    ("column_count", "smallint"),
    ("row_count", "decimal(10, 0)"),
    ("last_operation", "tinyint"),
    ("cursor_handle", "int"),
];

/// Which cursors a procedure describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToldCursors {
    /// Those of a scope.
    List,
    /// The one that is named.
    One,
}

impl ToldCursors {
    /// The procedure of a name in lower case.
    pub(super) fn of(name: &str) -> Option<ToldCursors> {
        match name {
            "sp_cursor_list" => Some(ToldCursors::List),
            "sp_describe_cursor" => Some(ToldCursors::One),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            ToldCursors::List => "sp_cursor_list",
            ToldCursors::One => "sp_describe_cursor",
        }
    }

    fn invalid(self, parameter: &str, state: u8) -> Error {
        messages::cursor_parameter_invalid(self.name(), parameter, state)
    }
}

/// A cursor with the name that the caller knows it by.
struct Told {
    reference: String,
    cursor: SharedCursor,
}

impl Told {
    /// The values of its row, as they are written in T-SQL.
    fn values(&self) -> String {
        let cursor = self.cursor.borrow();
        let declaration = &cursor.declaration;
        let quoted = |text: &str| format!("N'{}'", text.replace('\'', "''"));
        let columns = match cursor.is_open() {
            true => cursor.columns.len(),
            false => 0,
        };
        let values = [
            quoted(&self.reference),
            quoted(&declaration.name),
            u8::from(!declaration.is_local).saturating_add(1).to_string(),
            cursor.status().to_string(),
            declaration.model.number().to_string(),
            declaration.concurrency.number().to_string(),
            u8::from(!declaration.forward_only).to_string(),
            u8::from(cursor.is_open()).to_string(),
            cursor.row_count().to_string(),
            cursor.fetch_status.to_string(),
            columns.to_string(),
            cursor.last_count.to_string(),
            (cursor.last_operation as u8).to_string(),
            // Cursors by name have no handle that a client could use.
            "0".to_owned(),
        ];
        format!("({})", values.join(", "))
    }
}

impl Executor<'_> {
    /// Calls one of the procedures.
    ///
    /// # Errors
    /// 201, 206 and 16951 for the cursor, 16902 for the other arguments, 16916 for a cursor that is not there.
    pub(super) fn tell_cursors(&mut self, procedure: ToldCursors, given: &[GivenArgument<'_>]) -> Result<CallResult> {
        let is_returned = |(place, argument): &(usize, &GivenArgument<'_>)| match argument.name.is_empty() {
            true => *place == 0,
            false => argument.name.eq_ignore_ascii_case(RETURNED),
        };
        let returned = given.iter().enumerate().find(is_returned);
        let (position, returned) =
            returned.ok_or_else(|| messages::parameter_not_supplied(procedure.name(), RETURNED))?;
        require_cursor(returned)?;
        let told = match procedure {
            ToldCursors::List => self.listed_cursors(given)?,
            ToldCursors::One => vec![self.named_cursor(given)?],
        };
        let cursor = self.cursor_of_told(&told)?;
        self.given_cursors = vec![(RETURNED.to_owned(), cursor)];
        let output = OutputValue {
            position,
            name: RETURNED.to_owned(),
            sql_type: SqlType::Int,
            value: Value::Null,
            xml_collection: None,
        };
        Ok(answered(0, vec![output]))
    }

    /// `sp_cursor_list @cursor_return OUTPUT, @cursor_scope`: 1 those of the batch or module, 2 those of the session, 3 both.
    fn listed_cursors(&self, given: &[GivenArgument<'_>]) -> Result<Vec<Told>> {
        let scope = argument(given, "@cursor_scope", 1, SqlType::Int)?.and_then(|scope| scope.as_i64());
        let scope = scope.filter(|scope| (1..=3).contains(scope));
        let scope = scope.ok_or_else(|| ToldCursors::List.invalid("cursor_scope", 1))?;
        let visible = self.session.visible_cursors().into_iter();
        let is_wanted = |key: &str| scope & (if key.contains('\0') { 1 } else { 2 }) != 0;
        let wanted = visible.filter(|(key, _)| is_wanted(key));
        Ok(wanted
            .map(|(key, cursor)| Told {
                reference: reference_of(&key, &cursor),
                cursor,
            })
            .collect())
    }

    /// `sp_describe_cursor @cursor_return OUTPUT, @cursor_source, @cursor_identity`: `local`, `global` or `variable`, and its name.
    fn named_cursor(&self, given: &[GivenArgument<'_>]) -> Result<Told> {
        let source = argument(given, "@cursor_source", 1, SqlType::SYSNAME)?;
        let source = source.as_ref().and_then(Value::as_str).map(str::to_lowercase);
        let source = source.ok_or_else(|| ToldCursors::One.invalid("cursor_source", 40))?;
        let name = argument(given, "@cursor_identity", 2, SqlType::SYSNAME)?;
        let name = name.as_ref().and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| ToldCursors::One.invalid("cursor_identity", 43))?;
        let key = match source.as_str() {
            "global" => name.to_lowercase(),
            "local" | "variable" => self.session.local_cursor(&name.to_lowercase()),
            _ => return Err(ToldCursors::One.invalid("cursor_source", 42)),
        };
        let cursor = self.session.cursor(&key);
        Ok(Told {
            reference: name.to_owned(),
            cursor: cursor.ok_or_else(|| messages::cursor_not_found(name, 4))?,
        })
    }

    /// An open cursor with a row for each of them.
    fn cursor_of_told(&mut self, told: &[Told]) -> Result<SharedCursor> {
        let names = COLUMNS.map(|(name, _)| name).join(", ");
        let typed = COLUMNS.map(|(name, sql_type)| format!("cast({name} as {sql_type}) as {name}"));
        let rows: Vec<String> = told.iter().map(Told::values).collect();
        let (rows, condition) = match rows.is_empty() {
            true => (format!("({})", ["null"; COLUMNS.len()].join(", ")), " where 1 = 0"),
            false => (rows.join(", "), ""),
        };
        let text = format!(
            "select {} from (values {rows}) as told ({names}){condition}",
            typed.join(", ")
        );
        let callable = self.text("", &text).map_err(|failure| failure.error())?;
        let query = single_query(&callable.batch.statements);
        let query = query.ok_or_else(|| Error::assertion("a description of cursors that is no query"))?;
        let declaration = CursorDeclaration {
            name: RETURNED.to_owned(),
            is_local: true,
            query: Rc::new(query.clone()),
            forward_only: false,
            model: CursorModel::Static,
            concurrency: CursorConcurrency::ReadOnly,
            update_columns: Vec::new(),
            declared_in: Rc::new(DeclaredIn::of_text(&callable.batch)),
        };
        let bytes = declared_bytes(RETURNED, (0, text.len() as u32));
        let share = self.session.cursor_tally.share(bytes)?;
        let shared = Rc::new(RefCell::new(Cursor::new(declaration, share)));
        self.open_shared(&shared)?;
        Ok(shared)
    }
}

/// What the caller calls a cursor: its variable, or its name as it was declared.
fn reference_of(key: &str, cursor: &SharedCursor) -> String {
    match key.strip_prefix('@').and_then(|_| key.split('\0').next()) {
        Some(variable) => variable.to_owned(),
        None => cursor.borrow().declaration.name.clone(),
    }
}
