//! `sys.dm_exec_describe_first_result_set` and `sys.dm_exec_describe_first_result_set_for_object`: the columns of the first result that a
//! batch or a procedure can have, or one row that says why they cannot be described (sql-docs, the pages of these names).
//!
//! The session's own code computes them: see `statements::describe`, which has `sp_describe_first_result_set` as well.

use engine::catalog::{ModuleKind, ObjectDefinition};
use engine::error::Error;
use engine::types::{Length, SqlType, Value};

use super::{BIT, INT, NAME, Rows, SMALLINT, SystemContext, SystemView, TINYINT, nvarchar};
use crate::modules::ModuleCache;

pub(super) const VIEWS: &[SystemView] = &[
    describing("dm_exec_describe_first_result_set", &[LONG, LONG, BIT], 1, of_text),
    describing(
        "dm_exec_describe_first_result_set_for_object",
        &[INT, BIT],
        1,
        of_object,
    ),
];

const LONG: SqlType = SqlType::NVarChar(Length::Max);

const fn describing(
    name: &'static str,
    parameters: &'static [SqlType],
    required: usize,
    rows: super::Producer,
) -> SystemView {
    SystemView {
        schema: "sys",
        name,
        columns: &COLUMNS,
        is_function: true,
        parameters,
        required,
        rows: super::Source::Whole(rows),
    }
}

/// The parts of a description of a column: the first of these, in this order, are those of
/// `sp_describe_first_result_set` too.
pub(crate) const COLUMN_PARTS: usize = 35;

const COLUMNS: [(&str, SqlType); 41] = [
    ("is_hidden", BIT),
    ("column_ordinal", INT),
    ("name", NAME),
    ("is_nullable", BIT),
    ("system_type_id", INT),
    ("system_type_name", nvarchar(256)),
    ("max_length", SMALLINT),
    ("precision", TINYINT),
    ("scale", TINYINT),
    ("collation_name", NAME),
    ("user_type_id", INT),
    ("user_type_database", NAME),
    ("user_type_schema", NAME),
    ("user_type_name", NAME),
    ("assembly_qualified_type_name", nvarchar(4000)),
    ("xml_collection_id", INT),
    ("xml_collection_database", NAME),
    ("xml_collection_schema", NAME),
    ("xml_collection_name", NAME),
    ("is_xml_document", BIT),
    ("is_case_sensitive", BIT),
    ("is_fixed_length_clr_type", BIT),
    ("source_server", NAME),
    ("source_database", NAME),
    ("source_schema", NAME),
    ("source_table", NAME),
    ("source_column", NAME),
    ("is_identity_column", BIT),
    ("is_part_of_unique_key", BIT),
    ("is_updateable", BIT),
    ("is_computed_column", BIT),
    ("is_sparse_column_set", BIT),
    ("ordinal_in_order_by_list", SMALLINT),
    ("order_by_list_length", SMALLINT),
    ("order_by_is_descending", SMALLINT),
    ("error_number", INT),
    ("error_severity", INT),
    ("error_state", INT),
    ("error_message", nvarchar(4000)),
    ("error_type", INT),
    ("error_type_desc", nvarchar(60)),
];

/// What finds out what a batch would answer.
pub trait Describer {
    /// A row of [`COLUMN_PARTS`] values for each column of the first result; `browse` adds where they come from.
    ///
    /// # Errors
    /// Why they cannot be described.
    fn first_result(&self, text: &str, declarations: &str, browse: bool) -> Rows;
}

fn of_text(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let text = |place: usize| arguments.get(place).and_then(Value::as_str).unwrap_or("");
    let browse = is_set(arguments.get(2));
    shown(context.describer.first_result(text(0), text(1), browse))
}

fn of_object(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some(id) = arguments.first().and_then(Value::as_i64) else {
        return Ok(Vec::new());
    };
    let result = call_of(context, id).and_then(|text| {
        let browse = is_set(arguments.get(1));
        context.describer.first_result(&text, "", browse)
    });
    shown(result)
}

fn is_set(value: Option<&Value>) -> bool {
    value.and_then(Value::as_i64).unwrap_or(0) != 0
}

/// A call of the procedure of that id, each of its parameters NULL: what it answers does not depend on them.
///
/// # Errors
/// 11532 when there is no object of that id, 11531 when it is not a procedure.
fn call_of(context: &SystemContext<'_>, id: i64) -> Result<String, Error> {
    const NAME: &str = "passed to sys.dm_exec_describe_first_result_set_for_object";
    let object = u32::try_from(id).ok();
    let object = object.and_then(|id| context.database.catalog.by_id(id, context.session_id));
    let object =
        object.ok_or_else(|| Error::new(11_532, 16, 1, format!("The object id '{id}' {NAME} was invalid.")))?;
    let is_procedure = matches!(&object.definition, ObjectDefinition::Module(module) if matches!(module.kind, ModuleKind::Procedure | ModuleKind::Trigger));
    let Some((schema, name)) = object.definition.qualified_name().filter(|_| is_procedure) else {
        let text =
            format!("The object id '{id}' {NAME} refers to an object which is not a T-SQL procedure or trigger.");
        return Err(Error::new(11_531, 16, 1, text));
    };
    let module = ModuleCache::of(context.instance).module(&object, context.user_types())?;
    let scalars = module.parameters.iter().filter(|parameter| parameter.table.is_none());
    let arguments: Vec<String> = scalars.map(|parameter| format!("{} = NULL", parameter.name)).collect();
    let quoted = |part: &str| format!("[{}]", part.replace(']', "]]"));
    let database = context.database.name();
    Ok(format!(
        "EXECUTE {}.{}.{} {}",
        quoted(&database),
        quoted(schema),
        quoted(name),
        arguments.join(", ")
    ))
}

/// The rows with the columns of errors behind them; for an error that says something of the text, one row that is nothing else.
fn shown(result: Rows) -> Rows {
    match result {
        Ok(rows) => Ok(rows
            .into_iter()
            .map(|mut row| {
                row.resize(COLUMNS.len(), Value::Null);
                row
            })
            .collect()),
        // Want of resources, a cancelled statement, a deadlock and a lock that was waited for too long say nothing of the text.
        Err(error) if error.severity > 16 || matches!(error.number, 1205 | 1222 | 3617) => Err(error),
        Err(error) => Ok(vec![error_row(&error)]),
    }
}

fn error_row(error: &Error) -> Vec<Value> {
    let (error_type, described) = error_type(error);
    let mut row = vec![Value::Null; COLUMN_PARTS];
    row.extend([
        error.number.into(),
        i32::from(error.severity).into(),
        i32::from(error.state).into(),
        error.message.as_str().into(),
        error_type.into(),
        described.into(),
    ]);
    row
}

/// `error_type` and its name, as the documentation lists them; those that cannot occur here are left out.
fn error_type(error: &Error) -> (i32, &'static str) {
    match error.number {
        11_512 => (3, "CONFLICTING_RESULTS"),
        11_513 | 11_514 => (4, "DYNAMIC_SQL"),
        137 | 11_502..=11_509 | 11_521 | 11_522 => (8, "UNDECLARED_PARAMETER"),
        11_523 | 11_524 => (9, "RECURSION"),
        11_525 | 11_526 => (10, "TEMPORARY_TABLE"),
        11_527 | 11_528 => (11, "UNSUPPORTED_STATEMENT"),
        11_531 => (12, "OBJECT_TYPE_NOT_SUPPORTED"),
        11_532 => (13, "OBJECT_DOES_NOT_EXIST"),
        102..=319 if error.severity == 15 => (2, "SYNTAX"),
        _ => (1, "MISC"),
    }
}
