//! The check of a batch against the tables of words, before anything of it runs.
//!
//! Invariant: every kind of statement is named here, and every part of a statement that the executor does not read is looked at:
//! the patterns leave nothing out, so that the compiler demands a decision for each new part of the syntax tree.

use super::definition::{
    check_alter_index, check_alter_table, check_create_statistics, check_elements, check_index,
    check_variable_elements, check_versioning,
};
use super::*;
use crate::ast::{
    AlterDatabaseAction, BulkInsert, CreateDatabase, CreateFunction, DeclarationKind, DeclareCursor, FunctionBody,
    Identifier, InsertBulk, Restore, RestoreKind, SetOption, Statement, StatementKind, TypeDefinition,
};

/// Checks that every option of a batch is supported.
///
/// # Errors
/// The first that is not: 40517 for an option that is known but not supported, SQL Server's number for words that do not exist.
pub fn check(statements: &[Statement]) -> Parsed<()> {
    check_showplan(statements)?;
    check_returns(statements)?;
    statements.iter().try_for_each(check_statement)
}

/// 178 for a batch that would return a value: nothing of it runs. What returns values are the bodies of procedures and functions.
fn check_returns(statements: &[Statement]) -> Parsed<()> {
    statements.iter().try_for_each(|statement| {
        if let StatementKind::Return(Some(_)) = &statement.kind {
            let text = "A RETURN statement with a return value cannot be used in this context.";
            return Err(ParseError::new(178, statement.line, text));
        }
        let mut inside = statement.kind.facts().inside();
        inside.try_for_each(|inner| check_returns(std::slice::from_ref(inner)))
    })
}

fn refused(line: u32, what: &str) -> Parsed<()> {
    Err(ParseError::not_supported(line, what))
}

fn check_statement(statement: &Statement) -> Parsed<()> {
    match &statement.kind {
        StatementKind::Block(_) | StatementKind::If(_) | StatementKind::While(_) | StatementKind::TryCatch { .. } => {
            statement.kind.facts().inside().try_for_each(check_statement)
        }
        StatementKind::CreateProcedure(_)
        | StatementKind::CreateFunction(_)
        | StatementKind::CreateView(_)
        | StatementKind::CreateTrigger(_)
        | StatementKind::CreateDatabaseTrigger(_) => check_module(statement.line, &statement.kind),
        StatementKind::CreateTable(_)
        | StatementKind::AlterTable(_)
        | StatementKind::CreateIndex(_)
        | StatementKind::AlterIndex(_)
        | StatementKind::CreateStatistics(_)
        | StatementKind::UpdateStatistics(_)
        | StatementKind::CreateSchema(_)
        | StatementKind::CreateType(_)
        | StatementKind::Declare(_) => check_definition(statement.line, &statement.kind),
        StatementKind::CreateDatabase(_)
        | StatementKind::AlterDatabase(_)
        | StatementKind::Backup(_)
        | StatementKind::Restore(_)
        | StatementKind::Dbcc(_) => check_administration(statement.line, &statement.kind),
        StatementKind::SetOption(option) => check_set(statement.line, option),
        StatementKind::DeclareCursor(cursor) | StatementKind::SetCursorVariable(cursor) => {
            check_cursor(statement.line, cursor)
        }
        StatementKind::BulkInsert(bulk) => check_bulk_insert(bulk),
        StatementKind::InsertBulk(bulk) => check_insert_bulk(statement.line, bulk),
        // Commits are durable whatever they ask for: DELAYED_DURABILITY is DISABLED. The executor reads all of the others.
        StatementKind::CommitTransaction { .. }
        | StatementKind::BeginTransaction { .. }
        | StatementKind::Select(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_)
        | StatementKind::Merge(_)
        | StatementKind::ReadText(_)
        | StatementKind::WriteText(_)
        | StatementKind::TruncateTable(_)
        | StatementKind::DropIndex(_)
        | StatementKind::Drop(_)
        | StatementKind::DropStatistics(_)
        | StatementKind::SwitchTriggers(_)
        | StatementKind::CreateSequence(_)
        | StatementKind::AlterSchema(_)
        | StatementKind::CreateSynonym(_)
        | StatementKind::CreateStandalone(_)
        | StatementKind::Partition(_)
        | StatementKind::Principal(_)
        | StatementKind::Permission(_)
        | StatementKind::FullText(_)
        | StatementKind::XmlSchema(_)
        | StatementKind::Use(_)
        | StatementKind::Checkpoint(_)
        | StatementKind::Shutdown { .. }
        | StatementKind::Kill { .. }
        | StatementKind::Reconfigure { .. }
        | StatementKind::RollbackTransaction { .. }
        | StatementKind::SaveTransaction(_)
        | StatementKind::SetVariable(_)
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(_)
        | StatementKind::Goto(_)
        | StatementKind::Label(_)
        | StatementKind::Throw(_)
        | StatementKind::RaiseError(_)
        | StatementKind::Print(_)
        | StatementKind::WaitFor { .. }
        | StatementKind::Execute(_)
        | StatementKind::ExecuteAs(_)
        | StatementKind::Revert(_)
        | StatementKind::OpenCursor(_)
        | StatementKind::FetchCursor(_)
        | StatementKind::CloseCursor(_)
        | StatementKind::DeallocateCursor(_) => Ok(()),
    }
}

fn check_module(line: u32, kind: &StatementKind) -> Parsed<()> {
    match kind {
        StatementKind::CreateProcedure(procedure) => {
            check_words(&PROCEDURE_OPTIONS, line, &procedure.options)?;
            procedure.body.iter().try_for_each(check_statement)
        }
        StatementKind::CreateFunction(function) => check_function(line, function),
        StatementKind::CreateView(view) => check_words(&VIEW_OPTIONS, line, &view.options),
        StatementKind::CreateTrigger(trigger) => {
            check_words(&TRIGGER_OPTIONS, line, &trigger.options)?;
            check_returns(&trigger.body)?;
            trigger.body.iter().try_for_each(check_statement)
        }
        StatementKind::CreateDatabaseTrigger(trigger) => {
            check_words(&TRIGGER_OPTIONS, line, &trigger.options)?;
            check_events(line, &trigger.events)?;
            check_returns(&trigger.body)?;
            trigger.body.iter().try_for_each(check_statement)
        }
        _ => Ok(()),
    }
}

/// The events of a trigger of the database: 1084 for what is none, 1098 for those of the server.
fn check_events(line: u32, events: &[Identifier]) -> Parsed<()> {
    for event in events {
        let Some(known) = EventType::named(&event.text) else {
            let text = format!("'{}' is an invalid event type.", event.text);
            return Err(ParseError::new(1084, line, text));
        };
        if !known.is_of_database() {
            let text = "The specified event type(s) is/are not valid on the specified target object.";
            return Err(ParseError::new(1098, line, text));
        }
    }
    Ok(())
}

/// INSERT BULK: columns have names and types alone, ORDER has columns.
fn check_insert_bulk(line: u32, bulk: &InsertBulk) -> Parsed<()> {
    for column in &bulk.columns {
        let is_plain = column.data_type.is_some()
            && column.default.is_none()
            && column.identity.is_none()
            && column.constraints.is_empty()
            && !column.row_guid
            && !column.sparse;
        if !is_plain {
            let text = format!("Incorrect syntax near '{}'.", column.name.text);
            return Err(ParseError::new(102, line, text));
        }
    }
    bulk.options.iter().try_for_each(|option| {
        let has_value = matches!(option.name.as_str(), "ROWS_PER_BATCH" | "KILOBYTES_PER_BATCH");
        check_bulk_option(&INSERT_BULK_OPTIONS, option, has_value)
    })
}

fn check_bulk_insert(bulk: &BulkInsert) -> Parsed<()> {
    bulk.options.iter().try_for_each(|option| {
        let is_bare = matches!(
            option.name.as_str(),
            "CHECK_CONSTRAINTS" | "FIRE_TRIGGERS" | "KEEPIDENTITY" | "KEEPNULLS" | "TABLOCK"
        );
        check_bulk_option(&BULK_INSERT_OPTIONS, option, !is_bare)
    })
}

/// An option of a bulk load: ORDER has columns, some have a value, the others stand alone.
fn check_bulk_option(place: &Place, option: &OptionValue, has_value: bool) -> Parsed<()> {
    let has_columns = !option.arguments.is_empty();
    if has_columns != (option.name == "ORDER") || option.value.is_some() && !has_value {
        let text = format!("Incorrect syntax near '{}'.", option.name);
        return Err(ParseError::new(102, option.line, text));
    }
    place.admit_option(&OptionValue {
        arguments: Vec::new(),
        ..option.clone()
    })
}

fn check_function(line: u32, function: &CreateFunction) -> Parsed<()> {
    check_words(&FUNCTION_OPTIONS, line, &function.options)?;
    // Statements with an effect are refused where the function is created, by 443: variables alone are left.
    let statements = match &function.body {
        FunctionBody::Scalar { statements, .. } => statements.as_slice(),
        FunctionBody::InlineTable(_) => &[],
        FunctionBody::Table {
            elements, statements, ..
        } => {
            check_variable_elements(line, elements)?;
            statements.as_slice()
        }
    };
    let mut checked = Ok(());
    walk(statements, &mut |inner| {
        if let (Ok(()), StatementKind::Declare(_) | StatementKind::DeclareCursor(_)) = (&checked, &inner.kind) {
            checked = check_statement(inner);
        }
    });
    checked
}

/// Options of modules and cursors: words alone. What follows EXECUTE AS, and ON or OFF, is the value.
fn check_words(place: &Place, line: u32, options: &[String]) -> Parsed<()> {
    for option in options {
        if place.word(option).is_some() {
            place.admit(line, option, None)?;
        } else {
            let (name, value) = option.rsplit_once(' ').unwrap_or((option, ""));
            let name = match name.trim_end_matches(" =") {
                "EXEC AS" => "EXECUTE AS",
                name => name,
            };
            let value = match value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) {
                Some(user) if user.eq_ignore_ascii_case("dbo") => "'dbo'",
                Some(user) => return Err(no_such_user(line, user)),
                None => value,
            };
            place.admit(line, name, Some(value))?;
        }
    }
    Ok(())
}

fn no_such_user(line: u32, user: &str) -> ParseError {
    let text = format!("Cannot find the user '{user}', because it does not exist or you do not have permission.");
    ParseError {
        severity: 16,
        ..ParseError::new(15_151, line, text)
    }
}

fn check_definition(line: u32, kind: &StatementKind) -> Parsed<()> {
    match kind {
        StatementKind::CreateTable(table) => {
            let crate::ast::CreateTable {
                name: _,
                elements,
                // Which filegroups and partition schemes there are is the executor's to say.
                data_space: _,
                text_filegroup: _,
                options,
            } = &**table;
            check_elements(elements)?;
            TABLE_OPTIONS.admit_all(options)?;
            check_versioning(options)
        }
        StatementKind::CreateType(create) => match &create.definition {
            TypeDefinition::Table(elements) => check_variable_elements(line, elements),
            TypeDefinition::Alias { .. } => Ok(()),
        },
        StatementKind::AlterTable(alter) => check_alter_table(alter),
        StatementKind::CreateIndex(index) => check_index(index),
        StatementKind::AlterIndex(alter) => check_alter_index(alter),
        StatementKind::CreateStatistics(create) => check_create_statistics(create),
        StatementKind::UpdateStatistics(update) => UPDATE_STATISTICS.admit_all(&update.options),
        StatementKind::CreateSchema(schema) => schema.elements.iter().try_for_each(check_statement),
        StatementKind::Declare(declarations) => declarations.iter().try_for_each(|one| match &one.kind {
            DeclarationKind::Table(elements) => check_variable_elements(line, elements),
            DeclarationKind::Scalar { .. } | DeclarationKind::Cursor => Ok(()),
        }),
        _ => Ok(()),
    }
}

fn check_administration(line: u32, kind: &StatementKind) -> Parsed<()> {
    match kind {
        StatementKind::CreateDatabase(create) => check_create_database(create),
        StatementKind::AlterDatabase(alter) => check_alter_database(line, &alter.action),
        StatementKind::Backup(backup) => {
            BACKUP_OPTIONS.admit_all(&backup.options)?;
            let of_the_other = match backup.log {
                true => &["DIFFERENTIAL"][..],
                false => &["NORECOVERY", "NO_TRUNCATE"],
            };
            let mut options = backup.options.iter();
            let other = options.find(|option| of_the_other.contains(&option.name.as_str()));
            other.map_or(Ok(()), |option| Err(option_of_others(option.line, &option.name)))
        }
        StatementKind::Restore(restore) => {
            RESTORE_OPTIONS.admit_all(&restore.options)?;
            check_reading_restore(line, restore)
        }
        StatementKind::Dbcc(dbcc) => {
            // A command that does not exist ends its statement alone: the executor says so.
            if DBCC_COMMANDS.word(&dbcc.command).is_some() {
                DBCC_COMMANDS.admit(line, &dbcc.command, None)?;
            }
            DBCC_OPTIONS.admit_all(&dbcc.options)
        }
        _ => Ok(()),
    }
}

/// 3032: an option that others of its kind have.
fn option_of_others(line: u32, option: &str) -> ParseError {
    let text = format!(
        "One or more of the options ({}) are not supported for this statement. Review the documentation for supported options.",
        option.to_lowercase()
    );
    ParseError {
        severity: 16,
        ..ParseError::new(3032, line, text)
    }
}

/// RESTORE that reads sets and restores none: the options of each (SQL Server docs, "RESTORE Statements - FILELISTONLY, HEADERONLY,
/// LABELONLY, VERIFYONLY").
fn check_reading_restore(line: u32, restore: &Restore) -> Parsed<()> {
    const OF_MEDIA: [&str; 7] = [
        "CHECKSUM",
        "NO_CHECKSUM",
        "NOREWIND",
        "NOUNLOAD",
        "REWIND",
        "STOP_ON_ERROR",
        "UNLOAD",
    ];
    let more: &[&str] = match restore.kind {
        RestoreKind::Database | RestoreKind::Log => return Ok(()),
        RestoreKind::LabelOnly => &[],
        RestoreKind::HeaderOnly | RestoreKind::FileListOnly => &["FILE"],
        RestoreKind::VerifyOnly => &["FILE", "STATS", "BLOCKSIZE", "BUFFERCOUNT", "MAXTRANSFERSIZE"],
    };
    let is_known = |name: &str| OF_MEDIA.contains(&name) || more.contains(&name);
    if let Some(option) = restore.options.iter().find(|option| !is_known(&option.name)) {
        return Err(option_of_others(option.line, &option.name));
    }
    match restore.kind {
        _ if restore.moves.is_empty() => Ok(()),
        RestoreKind::VerifyOnly => refused(line, "MOVE"),
        _ => Err(option_of_others(line, "MOVE")),
    }
}

fn check_create_database(create: &CreateDatabase) -> Parsed<()> {
    // What is left out here is read by the executor.
    let CreateDatabase {
        name: _,
        containment: _,
        files: _,
        filegroups: _,
        log_files: _,
        collation: _,
        attach: _,
        snapshot_of: _,
        copy_of: _,
        options,
    } = create;
    DATABASE_WITH.admit_all(options)
}

/// A configuration of secondaries. PRIMARY says what is: there are none, and each would have the primary's value (sql-docs, "ALTER DATABASE
/// SCOPED CONFIGURATION").
fn check_secondary(option: &OptionValue) -> Parsed<()> {
    if SCOPED_CONFIGURATIONS.word(&option.name.to_ascii_uppercase()).is_none() {
        return Err(SCOPED_CONFIGURATIONS.unknown(option.line, &option.name));
    }
    let value = option_text(option);
    match value.is_some_and(|value| value.eq_ignore_ascii_case("PRIMARY")) {
        true => Ok(()),
        false => refused(option.line, "SCOPED CONFIGURATION FOR SECONDARY"),
    }
}

fn check_alter_database(line: u32, action: &AlterDatabaseAction) -> Parsed<()> {
    match action {
        AlterDatabaseAction::Set {
            options,
            termination: _,
        } => options.iter().try_for_each(|option| {
            let arguments = OptionValue {
                line,
                name: String::new(),
                value: None,
                arguments: option.arguments.clone(),
            };
            let value = match (&option.value, option_text(&arguments)) {
                (Some(value), Some(inside)) => Some(format!("{value} {inside}")),
                (value, inside) => value.clone().or(inside),
            };
            DATABASE_SET.admit(line, &option.name, value.as_deref())
        }),
        AlterDatabaseAction::ModifyFile(file) if file.offline => refused(line, "OFFLINE"),
        AlterDatabaseAction::ScopedConfiguration { option, of_secondary } => match of_secondary {
            false => SCOPED_CONFIGURATIONS.admit_option(option),
            true => check_secondary(option),
        },
        AlterDatabaseAction::ModifyFile(_)
        | AlterDatabaseAction::AddFiles { .. }
        | AlterDatabaseAction::AddLogFiles(_)
        | AlterDatabaseAction::RemoveFile(_)
        | AlterDatabaseAction::AddFilegroup(_)
        | AlterDatabaseAction::RemoveFilegroup(_)
        | AlterDatabaseAction::ModifyFilegroup { .. }
        | AlterDatabaseAction::ModifyName(_)
        | AlterDatabaseAction::Collate(_) => Ok(()),
    }
}

/// Options of a cursor that exclude each other, in the order in which 1048 names them (sql-docs, DECLARE CURSOR).
const CURSOR_CONFLICTS: [(&str, &str); 20] = [
    ("LOCAL", "GLOBAL"),
    ("FORWARD_ONLY", "SCROLL"),
    ("SCROLL", "FAST_FORWARD"),
    ("STATIC", "KEYSET"),
    ("STATIC", "DYNAMIC"),
    ("STATIC", "FAST_FORWARD"),
    ("KEYSET", "DYNAMIC"),
    ("KEYSET", "FAST_FORWARD"),
    ("DYNAMIC", "FAST_FORWARD"),
    ("READ_ONLY", "SCROLL_LOCKS"),
    ("READ_ONLY", "OPTIMISTIC"),
    ("SCROLL_LOCKS", "OPTIMISTIC"),
    ("STATIC", "SCROLL_LOCKS"),
    ("STATIC", "OPTIMISTIC"),
    ("FAST_FORWARD", "SCROLL_LOCKS"),
    ("FAST_FORWARD", "OPTIMISTIC"),
    ("FAST_FORWARD", FOR_UPDATE),
    ("STATIC", FOR_UPDATE),
    ("INSENSITIVE", FOR_UPDATE),
    ("READ_ONLY", FOR_UPDATE),
];

const FOR_UPDATE: &str = "FOR UPDATE";

/// # Errors
/// 153 for INSENSITIVE behind CURSOR, 1048 for options that exclude each other, 1049 for options on both sides of CURSOR, 1058 for
/// READ_ONLY said twice. The numbers, words and what they are about are as the SqlServerSimulator project has probed them on SQL Server 2025
/// (its notes on "Cursors").
fn check_cursor(line: u32, cursor: &DeclareCursor) -> Parsed<()> {
    let DeclareCursor {
        name: _,
        options,
        options_before,
        query: _,
        for_update,
        update_columns: _,
        read_only,
    } = cursor;
    let (before, behind) = options.split_at_checked(*options_before).unwrap_or_default();
    if behind.iter().any(|option| option == "INSENSITIVE") {
        let text = "Invalid usage of the option insensitive in the DECLARE CURSOR statement.";
        return Err(ParseError::new(153, line, text));
    }
    check_words(&CURSOR_OPTIONS, line, behind)?;
    if !before.is_empty() && !behind.is_empty() {
        let text = "Mixing old and new syntax to specify cursor options is not allowed.";
        return Err(ParseError::new(1049, line, text));
    }
    let is_written = |word: &str| options.iter().any(|option| option == word);
    if *read_only && is_written("READ_ONLY") {
        let text = "Cannot specify both READ_ONLY and FOR READ ONLY on a cursor declaration.";
        return Err(ParseError::new(1058, line, text));
    }
    let is_said = |word: &str| match word {
        FOR_UPDATE => *for_update,
        "READ_ONLY" => *read_only || is_written(word),
        word => is_written(word),
    };
    let mut conflicts = CURSOR_CONFLICTS.iter();
    match conflicts.find(|(first, second)| is_said(first) && is_said(second)) {
        Some((first, second)) => {
            let text = format!("Conflicting cursor options {first} and {second}.");
            Err(ParseError::new(1048, line, text))
        }
        None => Ok(()),
    }
}

fn check_set(line: u32, option: &SetOption) -> Parsed<()> {
    match option {
        SetOption::Switch { options, on } => options.iter().try_for_each(|option| {
            let value = Some(if *on { "ON" } else { "OFF" });
            match option.split_once(' ') {
                Some(("STATISTICS", what)) => SET_STATISTICS.admit(line, what, value),
                Some(("OFFSETS", what)) => {
                    let admitted = SET_OFFSETS.admit(line, what, value);
                    admitted.map_err(|_| ParseError::not_supported(line, "OFFSETS"))
                }
                _ => SET_SWITCHES.admit(line, option, value),
            }
        }),
        // Judged when it runs.
        SetOption::Value { .. } | SetOption::IsolationLevel(_) | SetOption::IdentityInsert { .. } => Ok(()),
    }
}

/// 1067: a SHOWPLAN that is turned on stands alone in its batch, and none stands inside of another statement.
fn check_showplan(statements: &[Statement]) -> Parsed<()> {
    let error = |line, state| {
        let text = "The SET SHOWPLAN statements must be the only statements in the batch.";
        let error = ParseError::new(1067, line, text);
        Err(ParseError { state, ..error })
    };
    for statement in statements {
        match &statement.kind {
            StatementKind::SetOption(SetOption::Switch { options, on }) => {
                let alone = statements.len() == 1 && options.len() == 1;
                if *on && !alone && is_showplan(options) {
                    return error(statement.line, 2);
                }
            }
            _ => {
                let mut found = None;
                walk(std::slice::from_ref(statement), &mut |inner| {
                    if let StatementKind::SetOption(SetOption::Switch { options, .. }) = &inner.kind
                        && is_showplan(options)
                    {
                        found = Some(inner.line);
                    }
                });
                if let Some(line) = found {
                    return error(line, 1);
                }
            }
        }
    }
    Ok(())
}

fn is_showplan(options: &[String]) -> bool {
    options.iter().any(|option| option.starts_with("SHOWPLAN_"))
}

/// Calls `visit` for every statement, those inside of others and in the bodies of procedures included.
pub fn walk(statements: &[Statement], visit: &mut dyn FnMut(&Statement)) {
    for statement in statements {
        visit(statement);
        let inside = statement.kind.facts().inside();
        inside.for_each(|inner| walk(std::slice::from_ref(inner), visit));
        if let StatementKind::CreateProcedure(procedure) = &statement.kind {
            walk(&procedure.body, visit);
        }
    }
}
