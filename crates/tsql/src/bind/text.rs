//! Text pointers: TEXTPTR, and the one row that READTEXT, WRITETEXT and UPDATETEXT find by a pointer (sql-docs, "TEXTPTR", "READTEXT",
//! "WRITETEXT", "UPDATETEXT").
//!
//! ```text
//! READTEXT      a query whose scan reads one row        the column goes through `readtext`, which cuts it
//! WRITETEXT     an UPDATE whose scan reads one row      the column gets the value
//! UPDATETEXT    likewise                                the column goes through `updatetext`, as through `write`
//! ```
//! What the documentation leaves open is as the SqlServerSimulator project has probed it on SQL Server 2025 (its notes on "Legacy LOB
//! operations"): a size of 0 reads to the end, a negative offset of UPDATETEXT appends, a negative length reaches to the end, no trigger
//! fires, no row version advances, and 7122 and 7125 come before the statement runs.

use engine::catalog::TableDefinition;
use engine::error::Result;
use engine::types::{Joined, Length, SqlType, Text, Value};

use super::query::BoundQuery;
use super::write_clause::{part_replaced, replace_part};
use super::{Asked, Binder};
use crate::ast::{self, Expression, ExpressionKind, ReadText};
use crate::messages;
use crate::plan::{Call, Expr, ExprKind, Node, TextRow};
use crate::scalar::convert::Units;
use crate::scalar::text_pointer::{TEXT_POINTER, TEXT_POINTER_BYTES, TextColumn, locator_bytes, text_pointer};

/// What a pointer is read as: a character value by its code page.
const POINTER_READ: SqlType = SqlType::VarBinary(Length::Limited(8_000));

impl<'a> Binder<'a> {
    /// Binds READTEXT: the query of its row, and what is cut of the column.
    ///
    /// # Errors
    /// Those of binding; 285 for a view.
    pub fn read_text(&mut self, read: &'a ReadText) -> Result<BoundQuery> {
        let mut bound = self.statement_query(&read.query)?;
        let offset = self.scalar_as(&read.offset, SqlType::BigInt)?;
        let size = self.scalar_as(&read.size, SqlType::BigInt)?;
        let Node::Project(project) = &mut bound.plan.root else {
            return Err(engine::error::Error::assertion("READTEXT of no projection"));
        };
        for shown in &mut project.expressions {
            let whole = shown.clone();
            shown.kind = ExprKind::Function {
                name: "readtext",
                implementation: read_part,
                arguments: vec![whole, offset.clone(), size.clone()],
            };
        }
        Ok(bound)
    }

    /// Has the table that is bound next be read by a text pointer.
    pub(super) fn read_by_pointer(&mut self, row: Option<&'a ast::TextRow>) {
        self.text_row = row;
    }

    /// The row of a table that a pointer means, if one is read by a pointer.
    ///
    /// # Errors
    /// 207; 7125 for a column of another type, 7122 for a pointer of a type that none has.
    pub(super) fn text_row(&mut self, definition: &TableDefinition) -> Result<Option<TextRow>> {
        let Some(row) = self.text_row.take() else {
            return Ok(None);
        };
        let wanted = row.column.text.to_lowercase();
        let mut columns = definition.columns.iter();
        let place = columns.position(|column| column.name.to_lowercase() == wanted);
        let place = place.ok_or_else(|| messages::invalid_column_name(&row.column.text))?;
        if !definition.columns[place].sql_type.is_large_object() {
            return Err(messages::text_pointer_of_another_column());
        }
        self.deduce(
            &row.pointer,
            Asked::Assigned(SqlType::Binary(TEXT_POINTER_BYTES as u16)),
        )?;
        let pointer = self.expression(&row.pointer)?;
        match pointer.sql_type {
            SqlType::Binary(length) | SqlType::Char(length) if usize::from(length) >= TEXT_POINTER_BYTES => {}
            SqlType::VarBinary(Length::Limited(length)) | SqlType::VarChar(Length::Limited(length))
                if usize::from(length) >= TEXT_POINTER_BYTES => {}
            _ => return Err(messages::text_pointer_type()),
        }
        Ok(Some(TextRow {
            pointer: pointer.converted(POINTER_READ),
            column: TextColumn::new(definition.object_id, place),
            statement: row.statement,
        }))
    }

    /// 285 for a view that a pointer is to lead into.
    pub(super) fn require_table_of_pointer(&self) -> Result<()> {
        match self.text_row {
            Some(_) => Err(messages::text_statement_of_view()),
            None => Ok(()),
        }
    }

    /// `TEXTPTR(column)`
    ///
    /// # Errors
    /// 280 for anything but a column of a table, 8116 for a column of another type.
    pub(super) fn text_pointer(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        let [argument] = arguments else {
            return Err(messages::function_requires("textptr", 1));
        };
        let ExpressionKind::Column(name) = &argument.kind else {
            return Err(messages::text_pointer_of_no_column());
        };
        let own = self.column(name)?;
        if !own.sql_type.is_large_object() {
            return Err(messages::invalid_argument_type(own.sql_type.name(), 1, "textptr"));
        }
        let locator = self.column_as(name, |column| {
            let places = column.row_places?;
            Some(Expr::column(
                places.locator,
                SqlType::VarBinary(Length::Limited(900)),
                true,
            ))
        })?;
        let column = self.column_as(name, |column| {
            let places = column.row_places?;
            let named = TextColumn::new(places.object_id, column.index - places.offset);
            Some(Expr::constant(named.value(), SqlType::VarBinary(Length::Limited(3))))
        })?;
        let (Some(locator), Some(column)) = (locator, column) else {
            return Err(messages::text_pointer_of_no_column());
        };
        let kind = ExprKind::Function {
            name: "textptr",
            implementation: pointer_of_row,
            arguments: vec![own, locator, column],
        };
        Ok(Expr::new(kind, TEXT_POINTER))
    }

    /// The new value of the column that UPDATETEXT changes.
    ///
    /// # Errors
    /// 518 for a source of another type; 206 and 257.
    pub(super) fn text_updated(
        &mut self,
        column: (&str, Expr),
        part: Expr,
        offset: Expr,
        length: Expr,
    ) -> Result<Expr> {
        let own = column.1.sql_type;
        if part.sql_type.is_large_object() && matches!(part.kind, ExprKind::Subquery(_)) && part.sql_type != own {
            return Err(messages::cannot_convert_text(part.sql_type.name(), own.name()));
        }
        part_replaced(("updatetext", update_part), column, part, (offset, length))
    }
}

/// The pointer to a column of a row: NULL where the column is.
fn pointer_of_row(call: &Call<'_>) -> Result<Value> {
    let locator = locator_bytes(call.value(1));
    let column = TextColumn::of_value(call.value(2));
    Ok(match (call.value(0).is_null(), locator, column) {
        (false, Some(locator), Some(column)) => Value::binary(text_pointer(column, &locator)),
        _ => Value::Null,
    })
}

/// A part of a value: bytes, of ntext characters, from an offset on; to the end if so many are 0 or fewer.
///
/// # Errors
/// 7116 for an offset below 0, 7124 for a part that reaches beyond the end.
fn read_part(call: &Call<'_>) -> Result<Value> {
    let own = call.value(0);
    let Some(length) = units_of(call, 0)? else {
        return Ok(Value::Null);
    };
    let offset = call.integer(1).unwrap_or(0);
    let start = u64::try_from(offset).map_err(|_| messages::lob_offset(offset))?;
    let size = u64::try_from(call.integer(2).unwrap_or(0)).unwrap_or(0);
    let end = match size {
        0 => length.max(start),
        size => start.saturating_add(size),
    };
    if end > length {
        return Err(messages::text_part_beyond_end(length));
    }
    let (from, to) = (start as usize, end as usize);
    match own {
        Value::Held(held) => {
            let (form, unit) = (held.form(), held.form().unit_bytes());
            let mut part = Joined::default();
            part.push(own, form, start * unit, end * unit)?;
            part.value(form, held.collation())
        }
        Value::Binary(bytes) => Ok(Value::binary(bytes.get(from..to).unwrap_or_default())),
        Value::Text(text) => {
            let units = Units::of(call.argument_type(0), text.collation());
            let head = units.cut(text, from).len();
            let tail = units.cut(text, to).len();
            let part = text.get(head..tail).unwrap_or_default();
            Ok(Value::text(part).collated(text.collation()))
        }
        _ => Ok(Value::Null),
    }
}

/// How many bytes, of ntext characters, an argument has; `None` for NULL.
fn units_of(call: &Call<'_>, place: usize) -> Result<Option<u64>> {
    Ok(match call.value(place) {
        Value::Held(held) => Some(held.bytes() / held.form().unit_bytes()),
        Value::Binary(bytes) => Some(bytes.len() as u64),
        Value::Text(text) => Some(Units::of(call.argument_type(place), text.collation()).count(text) as u64),
        _ => None,
    })
}

/// A value with a part put in place of another; NULL counts as empty.
///
/// # Errors
/// 7116 for an offset behind the end, 7135 for a length that reaches beyond it; 701, 7119.
fn update_part(call: &Call<'_>) -> Result<Value> {
    if !call.value(4).is_null() {
        return replace_part(call, kept_by_update);
    }
    let mut values = call.values.to_vec();
    values[4] = match call.argument_type(4) {
        SqlType::VarBinary(_) => Value::binary(Vec::new()),
        _ => Value::Text(Text::from("")),
    };
    let of_empty = Call {
        context: call.context,
        values: &values,
        expressions: call.expressions,
        result: call.result,
    };
    replace_part(&of_empty, kept_by_update)
}

/// What UPDATETEXT leaves of a value.
fn kept_by_update(call: &Call<'_>, length: usize) -> Result<Option<(usize, usize)>> {
    let Some(offset) = call.integer(1).filter(|offset| *offset >= 0) else {
        return Ok(Some((length, length)));
    };
    let start = usize::try_from(offset).ok().filter(|start| *start <= length);
    let start = start.ok_or_else(|| messages::lob_offset(offset))?;
    let Some(count) = call.integer(2).filter(|count| *count >= 0) else {
        return Ok(Some((start, length)));
    };
    let end = usize::try_from(count).ok().and_then(|count| start.checked_add(count));
    let end = end.filter(|end| *end <= length);
    Ok(Some((start, end.ok_or_else(|| messages::lob_deletion_length(count))?)))
}
