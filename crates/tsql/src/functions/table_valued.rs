//! Table-valued functions whose columns depend on their arguments: STRING_SPLIT and GENERATE_SERIES (sql-docs, pages of these names);
//! OPENJSON is with the other functions of JSON.

use engine::error::Result;
use engine::types::{Decimal, Length, SqlType, Text, Value, string_room};

use crate::messages;
use crate::plan::{Expr, ExprKind, FunctionRows, Label, RowCall, RowSource};
use crate::scalar::convert::text_length;
use crate::scalar::data_type::{string_type, text_units};
use crate::sink::ResultColumn;

/// State of 313 for a function in FROM.
const SOURCE_STATE: u8 = 3;

/// Decides the columns of a call from its arguments.
type Resolve = fn(Vec<Expr>) -> Result<RowCall>;

/// A table-valued function.
pub struct TableFunction {
    /// In lower case.
    pub name: &'static str,
    pub resolve: Resolve,
    /// How it is called, and what its rows are: its line of the page of functions.
    pub told: (&'static str, &'static str),
}

/// All of them.
pub const TABLE_FUNCTIONS: [TableFunction; 3] = [
    TableFunction {
        name: "string_split",
        resolve: string_split,
        told: (
            "STRING_SPLIT(text, separator [, 1])",
            "a row for each part of a text; with 1 also its place, from 1",
        ),
    },
    TableFunction {
        name: "generate_series",
        resolve: generate_series,
        told: (
            "GENERATE_SERIES(start, stop [, step])",
            "a row for each number of a series",
        ),
    },
    TableFunction {
        name: "openjson",
        resolve: super::json::open_json,
        told: (
            "OPENJSON(json [, path]) [WITH (name type [path] [AS JSON], ...)]",
            "a row for each member of an object or element of an array: key, value and type, or the columns of WITH",
        ),
    },
];

/// The table-valued function of that name.
pub fn table_function(name: &str) -> Option<&'static TableFunction> {
    TABLE_FUNCTIONS
        .iter()
        .find(|function| function.name.eq_ignore_ascii_case(name))
}

/// # Errors
/// 313 for too few arguments, 8144 for too many.
pub(super) fn check_count(name: &str, given: usize, fewest: usize, most: usize) -> Result<()> {
    match given {
        _ if given < fewest => Err(messages::insufficient_arguments(name, SOURCE_STATE)),
        _ if given > most => Err(messages::too_many_arguments(name)),
        _ => Ok(()),
    }
}

/// A text, a character, and whether there is a column for the place of each part. "It returns nvarchar if any of the input arguments are
/// either nvarchar or nchar. Otherwise, it returns varchar. The length of the return type is the same as the length of the string
/// argument" (sql-docs, "STRING_SPLIT").
fn string_split(mut arguments: Vec<Expr>) -> Result<RowCall> {
    check_count("string_split", arguments.len(), 2, 3)?;
    let has_ordinal = match arguments.len() {
        3 => has_ordinal(&arguments.remove(2))?,
        _ => false,
    };
    let invalid =
        |argument: &Expr, place| messages::invalid_argument_type(argument.sql_type.name(), place, "string_split");
    for (index, argument) in arguments.iter().enumerate() {
        let is_text = argument.sql_type.is_character() && !argument.sql_type.is_large_object();
        if !is_text && !argument.is_null_constant() {
            return Err(invalid(argument, index + 1));
        }
    }
    let is_unicode = arguments.iter().any(|argument| argument.sql_type.is_unicode());
    let (length, label) = match arguments.first() {
        Some(text) if text.sql_type.is_character() => (text_units(text.sql_type), text.label),
        _ => (Length::Limited(1), Label::default()),
    };
    let length = match (length, is_unicode) {
        (Length::Limited(characters), true) if characters > 4_000 => Length::Max,
        _ => length,
    };
    let part = ResultColumn {
        label: label.of_column(),
        ..ResultColumn::new("value", string_type(is_unicode, length))
    };
    let mut columns = vec![part];
    if has_ordinal {
        columns.push(ResultColumn::new("ordinal", SqlType::BigInt));
    }
    Ok(RowCall {
        name: "string_split",
        implementation: RowSource::Called(if has_ordinal { numbered_parts } else { parts }),
        arguments,
        columns,
    })
}

/// # Errors
/// 8748 for a value that is computed, 4199 for what is neither 0 nor 1.
fn has_ordinal(argument: &Expr) -> Result<bool> {
    match &argument.kind {
        ExprKind::Constant(Value::Null) => Ok(false),
        ExprKind::Constant(value) => match value.as_i64() {
            Some(number @ (0 | 1)) => Ok(number == 1),
            Some(number) => Err(messages::argument_value_invalid(&number.to_string(), 3, "string_split")),
            None => Err(messages::invalid_argument_type(
                argument.sql_type.name(),
                3,
                "string_split",
            )),
        },
        _ => Err(messages::ordinal_not_constant()),
    }
}

/// The parts of a text that are left.
struct Parts {
    text: Option<Text>,
    separator: String,
    /// Where the next one begins.
    start: usize,
    /// The place of the next one, where there is a column for it.
    ordinal: Option<i64>,
}

fn parts(arguments: &[Value]) -> Result<Box<dyn FunctionRows>> {
    split(arguments, None)
}

fn numbered_parts(arguments: &[Value]) -> Result<Box<dyn FunctionRows>> {
    split(arguments, Some(1))
}

fn split(arguments: &[Value], ordinal: Option<i64>) -> Result<Box<dyn FunctionRows>> {
    let separator = arguments.get(1).and_then(Value::as_str).unwrap_or_default();
    if text_length(separator, true) != 1 {
        return Err(messages::separator_not_one_character());
    }
    let text = match arguments.first() {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    };
    Ok(Box::new(Parts {
        text,
        separator: separator.to_owned(),
        start: 0,
        ordinal,
    }))
}

impl FunctionRows for Parts {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(text) = self.text.take() else { return Ok(None) };
        let rest = text.get(self.start..).unwrap_or_default();
        let end = rest.find(&self.separator);
        let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        engine::cancel::spend_bytes(part.len())?;
        let charge = string_room(part.len())?;
        let value = Value::Text(Text::charged(part.to_owned(), charge)).collated(text.collation());
        if let Some(end) = end {
            self.start += end + self.separator.len();
            self.text = Some(text);
        }
        let mut row = vec![value];
        if let Some(ordinal) = &mut self.ordinal {
            row.push(Value::BigInt(*ordinal));
            *ordinal += 1;
        }
        Ok(Some(row))
    }
}

/// Start, stop and step, all of one type, which is that of the numbers.
fn generate_series(arguments: Vec<Expr>) -> Result<RowCall> {
    check_count("generate_series", arguments.len(), 2, 3)?;
    let types = arguments.iter().filter(|argument| !argument.is_null_constant());
    let mut sql_type = None;
    for own in types.map(|argument| argument.sql_type) {
        let is_exact = own.is_integer() || matches!(own, SqlType::Decimal { .. });
        sql_type = match (sql_type, own) {
            _ if !is_exact || own == SqlType::Bit => return Err(messages::series_types_differ()),
            (None, own) => Some(own),
            (Some(former @ SqlType::Decimal { .. }), SqlType::Decimal { .. }) => {
                Some(crate::scalar::data_type::common_type(former, own))
            }
            (Some(former), own) if former == own => Some(own),
            _ => return Err(messages::series_types_differ()),
        };
    }
    let sql_type = sql_type.ok_or_else(messages::series_types_differ)?;
    let arguments = arguments.into_iter().map(|argument| argument.converted(sql_type));
    Ok(RowCall {
        name: "generate_series",
        implementation: RowSource::Called(series),
        arguments: arguments.collect(),
        columns: vec![ResultColumn::new("value", sql_type)],
    })
}

/// The numbers of a series that are left. Decimals count in units of their last digit.
struct Series {
    next: Option<i128>,
    stop: i128,
    step: i128,
    /// A value of the type of the numbers.
    example: Value,
}

fn series(arguments: &[Value]) -> Result<Box<dyn FunctionRows>> {
    let units = |index: usize| arguments.get(index).and_then(units_of);
    let (start, stop) = (units(0), units(1));
    let is_missing = arguments.iter().any(Value::is_null);
    let (Some(start), Some(stop), false) = (start, stop, is_missing) else {
        let nothing = Series {
            next: None,
            stop: 0,
            step: 1,
            example: Value::Null,
        };
        return Ok(Box::new(nothing));
    };
    let example = arguments.first().cloned().unwrap_or(Value::Null);
    let own_step = || {
        let one = match &example {
            Value::Decimal(decimal) => 10_i128.pow(u32::from(decimal.scale)),
            _ => 1,
        };
        if start <= stop { one } else { -one }
    };
    let step = units(2).unwrap_or_else(own_step);
    if step == 0 {
        return Err(messages::argument_value_invalid("0", 3, "generate_series"));
    }
    let is_empty = step > 0 && start > stop || step < 0 && start < stop;
    Ok(Box::new(Series {
        next: (!is_empty).then_some(start),
        stop,
        step,
        example,
    }))
}

fn units_of(value: &Value) -> Option<i128> {
    match value {
        Value::Decimal(decimal) => Some(decimal.coefficient()),
        other => other.as_i64().map(i128::from),
    }
}

impl FunctionRows for Series {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(number) = self.next else { return Ok(None) };
        let following = number.checked_add(self.step);
        let is_within = |following: &i128| match self.step > 0 {
            true => *following <= self.stop,
            false => *following >= self.stop,
        };
        self.next = following.filter(is_within);
        let value = match &self.example {
            Value::Decimal(decimal) => Value::Decimal(Decimal::new(number, decimal.precision, decimal.scale)),
            // What lies between two numbers of a type is of that type.
            Value::TinyInt(_) => Value::TinyInt(u8::try_from(number).unwrap_or_default()),
            Value::SmallInt(_) => Value::SmallInt(i16::try_from(number).unwrap_or_default()),
            Value::Int(_) => Value::Int(i32::try_from(number).unwrap_or_default()),
            _ => Value::BigInt(i64::try_from(number).unwrap_or_default()),
        };
        Ok(Some(vec![value]))
    }
}
