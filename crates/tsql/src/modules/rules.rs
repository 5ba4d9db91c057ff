//! The rules for the contents of a user-defined function, checked when it is created.
//!
//! "The statements in a BEGIN...END block cannot have any side effects" (sql-docs, "Create user-defined functions"). The name and state of
//! 443 for each refused statement, the order of the checks, and the forms that count as RETURN for 455 are those that the
//! SqlServerSimulator project has probed on SQL Server 2025 (its `FunctionBodyShapeTests`):
//!
//! ```text
//! RETURN without a value in a scalar function          1075, before everything else
//! RETURN with a value in a table-valued function        178, likewise
//! a name of a temporary object                         2772
//! NEWID, NEWSEQUENTIALID, RAND                          443, state 1, by the function's name
//! rows for the client                                   444: state 2 if the query has a FROM or a set operator, else 3
//! any other side effect                                 443: state 14 if it only prints, fails or waits, else 15
//! the last statement is not RETURN                       455, after everything else; BEGIN ... END is transparent
//! ```
//! A statement is refused anywhere in the function, even in unreachable code.

use engine::error::{Error, Result};

use super::names::{Forbidden, first_forbidden};
use crate::ast::{
    CreateFunction, ExecuteModule, FunctionBody, InFunction, InsertSource, Output, Query, QueryBody, Select,
    SelectItem, Statement, StatementKind, TableSource, Target,
};
use crate::messages;

/// Built-in functions that answer something else each time for the same arguments (sql-docs, "Create user-defined functions").
const SIDE_EFFECTING: [&str; 3] = ["newid", "newsequentialid", "rand"];
/// State of 443 for statements that talk, fail or wait.
const TALKS: u8 = 14;
/// State of 443 for statements that change something.
const CHANGES: u8 = 15;

/// An error with its line.
type Refusal = (u32, Error);

/// Checks a function that is about to be created.
///
/// # Errors
/// See the module; with the line of what is refused. 40517 for options that are not carried out.
pub(crate) fn check_function(function: &CreateFunction) -> std::result::Result<(), Refusal> {
    check_options(&function.options).map_err(|error| (1, error))?;
    if function.name.object().starts_with('#') {
        return Err((1, messages::temporary_function()));
    }
    if function.parameters.iter().any(|parameter| parameter.output) {
        return Err((1, messages::incorrect_syntax_near("OUTPUT")));
    }
    match first_forbidden(&function.text, &SIDE_EFFECTING) {
        Some(Forbidden::Temporary(line)) => return Err((line, messages::temporary_table_in_function())),
        Some(Forbidden::Call(name, line)) if !matches!(function.body, FunctionBody::InlineTable(_)) => {
            return Err((line, messages::side_effecting_operator(name, 1)));
        }
        _ => {}
    }
    let (statements, is_scalar) = match &function.body {
        FunctionBody::Scalar { statements, .. } => (statements, true),
        FunctionBody::Table { statements, .. } => (statements, false),
        FunctionBody::InlineTable(_) => return Ok(()),
    };
    each(statements, &mut |statement| match &statement.kind {
        StatementKind::Return(None) if is_scalar => Err(messages::return_without_value()),
        StatementKind::Return(Some(_)) if !is_scalar => Err(messages::return_with_value()),
        _ => Ok(()),
    })?;
    each(statements, &mut check_statement)?;
    match last(statements) {
        Some(Statement {
            kind: StatementKind::Return(_),
            ..
        }) => Ok(()),
        other => Err((
            other.map_or(1, |last| last.line),
            messages::last_statement_is_no_return(),
        )),
    }
}

/// Options that mean something here: SCHEMABINDING, what NULL does, EXECUTE AS, and INLINE, which only says how SQL Server
/// may carry a call out.
fn check_options(options: &[String]) -> Result<()> {
    for option in options {
        match option.as_str() {
            "SCHEMABINDING"
            | "RETURNS NULL ON NULL INPUT"
            | "CALLED ON NULL INPUT"
            | "INLINE = ON"
            | "INLINE = OFF" => {}
            // Whose rights it has, the grammar has checked.
            option if option.starts_with("EXECUTE AS ") || option.starts_with("EXEC AS ") => {}
            other => return Err(messages::not_supported(other)),
        }
    }
    Ok(())
}

/// Calls `check` for every statement at any depth, in the order of the text.
fn each(statements: &[Statement], check: &mut dyn FnMut(&Statement) -> Result<()>) -> std::result::Result<(), Refusal> {
    for statement in statements {
        check(statement).map_err(|error| (statement.line, error))?;
        for inner in statement.kind.facts().inside() {
            each(std::slice::from_ref(inner), check)?;
        }
    }
    Ok(())
}

/// The last statement; that of a block that comes last.
fn last(statements: &[Statement]) -> Option<&Statement> {
    let statement = statements.last()?;
    match &statement.kind {
        StatementKind::Block(inner) => last(inner),
        _ => Some(statement),
    }
}

fn changes(operator: &str) -> Error {
    messages::side_effecting_operator(operator, CHANGES)
}

fn talks(operator: &str) -> Error {
    messages::side_effecting_operator(operator, TALKS)
}

fn check_statement(statement: &Statement) -> Result<()> {
    let facts = statement.kind.facts();
    match facts.in_function {
        InFunction::Allowed => Ok(()),
        InFunction::Talks => Err(talks(facts.name)),
        InFunction::Changes => Err(changes(facts.name)),
        InFunction::ByContent => check_content(&statement.kind),
    }
}

fn check_content(kind: &StatementKind) -> Result<()> {
    Err(match kind {
        StatementKind::Select(query) => return check_select(query),
        StatementKind::Insert(insert) => {
            check_target(&insert.target, &[], "INSERT")?;
            if matches!(insert.source, InsertSource::Execute(_)) {
                return Err(changes("INSERT EXEC"));
            }
            return check_output(insert.output.as_ref());
        }
        StatementKind::Update(update) => {
            check_target(&update.target, &update.from, "UPDATE")?;
            return check_output(update.output.as_ref());
        }
        StatementKind::Delete(delete) => {
            check_target(&delete.target, &delete.from, "DELETE")?;
            return check_output(delete.output.as_ref());
        }
        StatementKind::Merge(merge) => {
            check_target(&merge.target, &merge.from, "MERGE")?;
            return check_output(merge.output.as_ref());
        }
        StatementKind::Execute(execute) => match &execute.module {
            ExecuteModule::Text(_) => talks("EXECUTE STRING"),
            _ => return Ok(()),
        },
        StatementKind::FetchCursor(fetch) if !fetch.into.is_empty() => return Ok(()),
        StatementKind::FetchCursor(_) | StatementKind::ReadText(_) => messages::rows_from_function(2),
        StatementKind::Use(_) => messages::use_in_module(),
        other => changes(other.facts().name),
    })
}

/// 443 for a table that is not a table variable; an alias of FROM may be one's.
fn check_target(target: &Target, from: &[TableSource], operator: &str) -> Result<()> {
    let is_variable = match target {
        Target::Variable(_) => true,
        Target::Table(name) => name.parts.len() == 1 && from.iter().any(|source| names_variable(source, name.object())),
    };
    if is_variable { Ok(()) } else { Err(changes(operator)) }
}

fn names_variable(source: &TableSource, wanted: &str) -> bool {
    match source {
        TableSource::Variable { alias, .. } => alias.as_ref().is_some_and(|alias| alias.is(wanted)),
        TableSource::Join(join) => names_variable(&join.left, wanted) || names_variable(&join.right, wanted),
        TableSource::Pivot(pivot) => names_variable(&pivot.source, wanted),
        TableSource::Unpivot(unpivot) => names_variable(&unpivot.source, wanted),
        _ => false,
    }
}

fn check_output(output: Option<&Output>) -> Result<()> {
    if output.is_some_and(|output| !output.shown.is_empty()) {
        return Err(messages::rows_from_function(2));
    }
    match output.map(|output| &output.into) {
        None | Some(Some(Target::Variable(_))) => Ok(()),
        Some(Some(Target::Table(_))) => Err(changes("OUTPUT INTO")),
        Some(None) => Err(messages::rows_from_function(2)),
    }
}

/// 444 for rows that would go to the client, 443 for those that would go to a table.
fn check_select(query: &Query) -> Result<()> {
    let QueryBody::Select(select) = &query.body else {
        return Err(messages::rows_from_function(2));
    };
    if select.into.is_some() {
        return Err(changes("SELECT INTO"));
    }
    let assigns = |item: &SelectItem| matches!(item, SelectItem::Assignment { .. });
    if select.items.iter().all(assigns) {
        return Ok(());
    }
    Err(messages::rows_from_function(if reads_rows(select) { 2 } else { 3 }))
}

/// Whether a SELECT reads rows by itself. What is in its expressions is not searched.
fn reads_rows(select: &Select) -> bool {
    !select.from.is_empty()
}
