//! `sp_describe_first_result_set`: the columns of the first result that a batch can have, without executing it (sql-docs, the page of this
//! name).
//!
//! The batch is processed as under FMTONLY: queries return their columns, and both branches of IF and the bodies of procedures are
//! analysed. The transaction and the options of the session stay unchanged: the first error ends the analysis, whatever its usual effect.
//! `sys.dm_exec_describe_first_result_set` and `..._for_object` do the same in FROM (`views::described`).
//!
//! An undeclared parameter has the type that `sp_describe_undeclared_parameters` deduces. With browse information, the sources of columns
//! are named, and missing key columns of their tables are added as hidden columns.

use engine::error::{Error, Result};
use engine::types::{Collation, Length, SqlType, Value};

use super::execute::{CallResult, GivenArgument, only_statement};
use super::executor::{Executor, Flow, Outcome, Returns, closed};
use crate::messages;
use crate::scalar::convert::convert;
use crate::sink::{ColumnSource, DoneKind, Message, ResultColumn, ResultSink, SinkClosed};
use crate::state::ModuleFrame;
use crate::views::COLUMN_PARTS;

/// The procedure's name in lower case.
pub(super) const NAME: &str = "sp_describe_first_result_set";

const SYSNAME: SqlType = SqlType::SYSNAME;
const INT: SqlType = SqlType::Int;
const BIT: SqlType = SqlType::Bit;
const SMALLINT: SqlType = SqlType::SmallInt;
const TINYINT: SqlType = SqlType::TinyInt;

/// The columns of the answer, and whether each may be NULL.
const COLUMNS: [(&str, SqlType, bool); 39] = [
    ("is_hidden", BIT, false),
    ("column_ordinal", INT, false),
    ("name", SYSNAME, true),
    ("is_nullable", BIT, false),
    ("system_type_id", INT, false),
    ("system_type_name", SqlType::NVarChar(Length::Limited(256)), true),
    ("max_length", SMALLINT, false),
    ("precision", TINYINT, false),
    ("scale", TINYINT, false),
    ("collation_name", SYSNAME, true),
    ("user_type_id", INT, true),
    ("user_type_database", SYSNAME, true),
    ("user_type_schema", SYSNAME, true),
    ("user_type_name", SYSNAME, true),
    (
        "assembly_qualified_type_name",
        SqlType::NVarChar(Length::Limited(4000)),
        true,
    ),
    ("xml_collection_id", INT, true),
    ("xml_collection_database", SYSNAME, true),
    ("xml_collection_schema", SYSNAME, true),
    ("xml_collection_name", SYSNAME, true),
    ("is_xml_document", BIT, false),
    ("is_case_sensitive", BIT, false),
    ("is_fixed_length_clr_type", BIT, false),
    ("source_server", SYSNAME, true),
    ("source_database", SYSNAME, true),
    ("source_schema", SYSNAME, true),
    ("source_table", SYSNAME, true),
    ("source_column", SYSNAME, true),
    ("is_identity_column", BIT, true),
    ("is_part_of_unique_key", BIT, true),
    ("is_updateable", BIT, true),
    ("is_computed_column", BIT, true),
    ("is_sparse_column_set", BIT, true),
    ("ordinal_in_order_by_list", SMALLINT, true),
    ("order_by_list_length", SMALLINT, true),
    ("order_by_is_descending", SMALLINT, true),
    ("tds_type_id", INT, false),
    ("tds_length", INT, false),
    ("tds_collation_id", INT, true),
    ("tds_collation_sort_id", TINYINT, true),
];

/// The description of one column.
struct Told {
    column: ResultColumn,
    source: Option<ColumnSource>,
    is_hidden: bool,
}

/// What a batch tells of its results while it is passed over.
#[derive(Default)]
struct Described {
    first: Option<Vec<Told>>,
    /// The sources of the columns that come next.
    sources: Vec<Option<ColumnSource>>,
    hidden: Vec<(ResultColumn, ColumnSource)>,
}

impl ResultSink for Described {
    fn columns(&mut self, columns: &[ResultColumn]) -> std::result::Result<(), SinkClosed> {
        let mut sources = std::mem::take(&mut self.sources).into_iter();
        let hidden = std::mem::take(&mut self.hidden);
        if self.first.is_some() {
            return Ok(());
        }
        let shown = columns.iter().map(|column| Told {
            column: column.clone(),
            source: sources.next().flatten(),
            is_hidden: false,
        });
        let hidden = hidden.into_iter().map(|(column, source)| Told {
            column,
            source: Some(source),
            is_hidden: true,
        });
        self.first = Some(shown.chain(hidden).collect());
        Ok(())
    }

    fn wants_sources(&self) -> bool {
        self.first.is_none()
    }

    fn sources(&mut self, columns: Vec<Option<ColumnSource>>, hidden: Vec<(ResultColumn, ColumnSource)>) {
        (self.sources, self.hidden) = (columns, hidden);
    }

    fn row(&mut self, _row: &[Value]) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, _message: &Message) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }
}

/// 11501: what does not compile.
pub(super) fn not_analyzed() -> Error {
    Error::new(
        11_501,
        16,
        2,
        "The batch could not be analyzed because of compile errors.",
    )
}

/// 11529: what names something that is not there.
fn every_path_fails() -> Error {
    let text = "The metadata could not be determined because every code path results in an error; see previous errors for some of these.";
    Error::new(11_529, 16, 1, text)
}

/// A type with its length, precision or scale, as it is declared.
pub(super) fn type_name(sql_type: SqlType) -> String {
    let name = sql_type.name();
    match sql_type {
        SqlType::Decimal { precision, scale } => format!("{name}({precision},{scale})"),
        SqlType::Time { scale } | SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => {
            format!("{name}({scale})")
        }
        SqlType::Char(length) | SqlType::NChar(length) | SqlType::Binary(length) => format!("{name}({length})"),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => match length {
            Length::Max => format!("{name}(max)"),
            Length::LargeObject | Length::Xml => name.to_owned(),
            Length::Limited(length) => format!("{name}({length})"),
        },
        _ => name.to_owned(),
    }
}

/// Whether `a` and `A` differ under a collation.
pub(super) fn tells_case(collation: Collation) -> bool {
    let name = collation.name();
    name.contains("_CS") || name.contains("_BIN")
}

/// How TDS sends a column: the type's number and its length ([MS-TDS] 2.2.5.4). What may be NULL has types of its own.
pub(super) fn wire_type(sql_type: SqlType, nullable: bool) -> (i32, i32) {
    let own = i32::from(sql_type.system_type_id());
    let length = i32::from(sql_type.max_length());
    match sql_type {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt if nullable => (38, length),
        SqlType::Bit => (if nullable { 104 } else { 50 }, length),
        SqlType::RowVersion => (173, length),
        SqlType::Real | SqlType::Float if nullable => (109, length),
        SqlType::Money | SqlType::SmallMoney if nullable => (110, length),
        SqlType::DateTime | SqlType::SmallDateTime if nullable => (111, length),
        SqlType::Decimal { .. } => (own, 17),
        SqlType::SqlVariant => (own, 8_009),
        _ if length < 0 => (own, 65_535),
        _ => (own, length),
    }
}

/// The description of a column, without how TDS sends it.
fn described(told: &Told, ordinal: i32, browse: bool) -> Vec<Value> {
    let column = &told.column;
    let sql_type = column.sql_type;
    let collation = sql_type.is_character().then(|| column.label.collation());
    let is_case_sensitive = collation.is_some_and(tells_case);
    let null = || Value::Null;
    let mut row: Vec<Value> = Vec::with_capacity(COLUMNS.len());
    row.extend([
        told.is_hidden.into(),
        ordinal.into(),
        Some(column.name.as_str()).filter(|name| !name.is_empty()).into(),
        column.nullable.into(),
        i32::from(sql_type.system_type_id()).into(),
        type_name(sql_type).into(),
        Value::SmallInt(sql_type.max_length()),
        Value::TinyInt(sql_type.precision()),
        Value::TinyInt(sql_type.scale()),
        collation.map(|collation| collation.name()).into(),
    ]);
    // No alias type, no CLR type, no XML schema.
    row.extend((0..9).map(|_| null()));
    row.extend([false.into(), is_case_sensitive.into(), false.into()]);
    // Where a column comes from is named in browse mode alone. There is no other server.
    let source = told.source.as_ref().filter(|_| browse);
    let part = |part: fn(&ColumnSource) -> &str| Value::from(source.map(part));
    row.extend([
        null(),
        part(|source| &source.database),
        part(|source| &source.schema),
        part(|source| &source.table),
        part(|source| &source.column),
    ]);
    row.extend([
        column.identity.into(),
        match browse {
            true => source.is_some_and(|source| source.is_key).into(),
            false => null(),
        },
        (column.from_table && !column.identity && sql_type != SqlType::RowVersion).into(),
        // No table has a computed column or a column set.
        false.into(),
        false.into(),
    ]);
    row.extend((0..3).map(|_| null()));
    row
}

/// How TDS sends a column.
fn described_on_the_wire(column: &ResultColumn) -> [Value; 4] {
    let sql_type = column.sql_type;
    let (id, length) = wire_type(sql_type, column.nullable);
    let wire = sql_type.is_character().then(|| column.label.collation().wire_bytes());
    [
        id.into(),
        length.into(),
        wire.map_or(Value::Null, |[a, b, c, d, _]| i32::from_le_bytes([a, b, c, d]).into()),
        wire.map_or(Value::Null, |[.., sort_id]| Value::TinyInt(sort_id)),
    ]
}

/// The argument of a name, or at a place, in memory.
///
/// # Errors
/// Those of conversion; 701 when there is no memory for a long one.
pub(super) fn argument(
    given: &[GivenArgument<'_>],
    name: &str,
    place: usize,
    sql_type: SqlType,
) -> Result<Option<Value>> {
    let by_name = given.iter().find(|argument| argument.name.eq_ignore_ascii_case(name));
    let argument = by_name.or_else(|| given.get(place).filter(|argument| argument.name.is_empty()));
    let Some(argument) = argument else { return Ok(None) };
    let value = argument.value.as_deref().filter(|value| !value.is_null());
    value
        .map(|value| convert(value, argument.sql_type, sql_type, None)?.whole())
        .transpose()
}

impl Executor<'_> {
    /// `sp_describe_first_result_set @tsql [, @params [, @browse_information_mode]]`
    pub(super) fn describe_first_result_set(&mut self, given: &[GivenArgument<'_>], line: u32) -> Outcome<CallResult> {
        let result = self.described_result_set(given).and_then(|(columns, browse)| {
            let shape = COLUMNS.map(|(name, sql_type, nullable)| ResultColumn {
                nullable,
                ..ResultColumn::new(name, sql_type)
            });
            self.sink.columns(&shape).map_err(closed)?;
            for (told, ordinal) in columns.iter().zip(1..) {
                let mut row = described(told, ordinal, browse);
                row.extend(described_on_the_wire(&told.column));
                self.sink.row(&row).map_err(closed)?;
            }
            self.session.set_row_count(columns.len() as i64);
            self.done(Some(columns.len() as u64), DoneKind::Select)
        });
        result.map_err(|error| only_statement(self.failure(error, line)))?;
        Ok(CallResult {
            flow: Flow::Next,
            status: 0,
            value: None,
            outputs: Vec::new(),
        })
    }

    /// The columns that the procedure's arguments ask for, and whether with their sources.
    fn described_result_set(&mut self, given: &[GivenArgument<'_>]) -> Result<(Vec<Told>, bool)> {
        const LONG: SqlType = SqlType::NVarChar(Length::Max);
        let statement = argument(given, "@tsql", 0, LONG)?;
        let statement = statement.ok_or_else(|| messages::parameter_not_supplied(NAME, "@tsql"))?;
        let declarations = argument(given, "@params", 1, LONG)?;
        let mode = argument(given, "@browse_information_mode", 2, TINYINT)?;
        let browse = match mode.and_then(|mode| mode.as_i64()).unwrap_or(0) {
            0 => false,
            1 => true,
            _ => {
                return Err(crate::bind::not_supported(
                    "@browse_information_mode other than 0 and 1",
                ));
            }
        };
        let declarations = declarations.as_ref().and_then(Value::as_str).unwrap_or("");
        let columns = self.first_columns((statement.as_str().unwrap_or(""), declarations), browse);
        columns
            .map(|columns| (columns, browse))
            .map_err(|error| match error.number {
                208 | 2812 => error.followed_by(every_path_fails()),
                11_502..=11_528 => error,
                _ => error.followed_by(not_analyzed()),
            })
    }

    /// The columns of a text's first result.
    ///
    /// # Errors
    /// Those of the text.
    pub(super) fn first_result_columns(&mut self, text: &str) -> Result<Vec<ResultColumn>> {
        let columns = self.first_columns((text, ""), false)?;
        Ok(columns.into_iter().map(|told| told.column).collect())
    }

    /// The description of the columns of a text's first result, in rows of [`COLUMN_PARTS`].
    pub(super) fn first_result(&mut self, text: (&str, &str), browse: bool) -> Result<Vec<Vec<Value>>> {
        let columns = self.first_columns(text, browse)?;
        let rows = columns
            .iter()
            .zip(1..)
            .map(|(told, ordinal)| described(told, ordinal, browse));
        Ok(rows.inspect(|row| debug_assert_eq!(row.len(), COLUMN_PARTS)).collect())
    }

    /// The columns of the first result of a text. Parameters that nobody declares have the types that the text asks for.
    fn first_columns(&mut self, (text, declarations): (&str, &str), browse: bool) -> Result<Vec<Told>> {
        let columns = match self.passed_over(text, declarations) {
            Err(error) if error.number == 137 => {
                let mut all = declarations.to_owned();
                for (name, sql_type) in self.undeclared_types(text, declarations)? {
                    let between = if all.is_empty() { "" } else { ", " };
                    all.push_str(&format!("{between}{name} {}", type_name(sql_type)));
                }
                match all == declarations {
                    true => return Err(error),
                    false => self.passed_over(text, &all)?,
                }
            }
            outcome => outcome?,
        };
        let is_told = |told: &Told| browse || !told.is_hidden;
        Ok(columns.into_iter().filter(is_told).collect())
    }

    fn passed_over(&mut self, text: &str, declarations: &str) -> Result<Vec<Told>> {
        let callable = self.text(declarations, text).map_err(|failure| failure.error())?;
        let session = self.session;
        let frame = ModuleFrame::enter(session)?;
        session.change_options(|options| options.fmtonly = true);
        let mut results = Described::default();
        let mut inner = Executor::with_values(session, self.prepared, &mut results, callable.batch.clone(), Vec::new());
        // As in a function, an error ends it, and nothing else.
        inner.returns = Returns::Rows;
        let run = session.within_schema(None, || inner.run());
        drop(frame);
        match (results.first, run) {
            (Some(columns), _) => Ok(columns),
            (None, Ok(_)) => Ok(Vec::new()),
            (None, Err(failure)) => Err(failure.error()),
        }
    }
}
