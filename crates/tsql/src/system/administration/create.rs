//! CREATE DATABASE and DROP DATABASE.

use engine::catalog::FilegroupEntry;
use engine::error::{Error, Result};
use engine::instance::{CreateCopy, CreateDatabase, CreateSnapshot, FileSpec, Size};
use engine::types::Collation;

use super::super::{Host, SystemContext};
use super::file::file_of;
use super::refuse_in_transaction;
use crate::ast;
use crate::messages;

/// The longest name of a database (sql-docs, CREATE DATABASE: 123 where the log file's name is made from it).
const NAME_CHARACTERS_MAX: usize = 123;

/// Runs CREATE DATABASE. A failure is two errors, as in SQL Server: what happened, then 1802.
pub fn create(context: &SystemContext<'_>, host: &mut dyn Host, statement: &ast::CreateDatabase) -> Result<()> {
    refuse_in_transaction(host, "CREATE DATABASE")?;
    refuse_unsupported(statement)?;
    if statement.attach.is_some() {
        return attach(context, host, statement);
    }
    if let Some(base) = &statement.snapshot_of {
        return create_snapshot(context, host, (statement, &base.text));
    }
    if let Some(source) = &statement.copy_of {
        return create_copy(context, host, (statement, source));
    }
    let mut data = statement.files.iter().map(file_of).collect::<Result<Vec<FileSpec>>>()?;
    let filegroups = filegroups_of(context, statement)?;
    for (group, made) in statement.filegroups.iter().zip(filegroups.iter().skip(1)) {
        for file in &group.files {
            data.push(FileSpec {
                filegroup: Some(made.id),
                ..file_of(file)?
            });
        }
    }
    let create = CreateDatabase {
        name: statement.name.text.clone(),
        data,
        filegroups,
        log: statement
            .log_files
            .iter()
            .map(file_of)
            .collect::<Result<Vec<FileSpec>>>()?,
        collation: collation_of(statement.collation.as_ref())?,
    };
    check_length(&create.name)?;
    let outcome = context.instance.create_database(&create);
    outcome.map(|_| ()).map_err(|error| after(host, error))
}

/// The filegroups that CREATE DATABASE declares, PRIMARY first; none where it declares none.
///
/// # Errors
/// 5035 for a name given twice, 5051 for DEFAULT; 40517 where several say DEFAULT.
fn filegroups_of(context: &SystemContext<'_>, statement: &ast::CreateDatabase) -> Result<Vec<FilegroupEntry>> {
    if statement.filegroups.is_empty() {
        return Ok(Vec::new());
    }
    let mut filegroups = Vec::new();
    filegroups.push(FilegroupEntry {
        id: engine::buffer::PRIMARY_FILEGROUP,
        ..context.instance.new_filegroup(&filegroups, "PRIMARY")
    });
    for declared in &statement.filegroups {
        super::filegroup::check_new_name(&filegroups, &declared.name.text, 1)?;
        let mut made = context.instance.new_filegroup(&filegroups, &declared.name.text);
        made.is_default = declared.default;
        filegroups.push(made);
    }
    match statement.filegroups.iter().filter(|declared| declared.default).count() {
        0 => filegroups[0].is_default = true,
        1 => {}
        _ => return Err(messages::not_supported("several DEFAULT filegroups")),
    }
    Ok(filegroups)
}

fn check_length(name: &str) -> Result<()> {
    if name.chars().count() <= NAME_CHARACTERS_MAX {
        return Ok(());
    }
    let shown: String = name.chars().take(NAME_CHARACTERS_MAX).collect();
    let text =
        format!("The database name that starts with '{shown}' is too long. Maximum length is {NAME_CHARACTERS_MAX}.");
    Err(Error::new(103, 15, 1, text))
}

/// AS SNAPSHOT OF: the files say where the sparse files go, and nothing else.
fn create_snapshot(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (statement, base): (&ast::CreateDatabase, &str),
) -> Result<()> {
    if statement.collation.is_some() {
        return Err(Error::snapshot_is_as_its_base());
    }
    check_length(&statement.name.text)?;
    let mut create = CreateSnapshot {
        name: statement.name.text.clone(),
        base: base.to_owned(),
        files: Vec::new(),
    };
    for file in &statement.files {
        let properties = [
            ("SIZE", file.size.is_some()),
            ("MAXSIZE", file.size_max.is_some()),
            ("FILEGROWTH", file.growth.is_some()),
        ];
        if let Some((property, _)) = properties.iter().find(|(_, is_given)| *is_given) {
            return Err(Error::not_of_snapshot_files(property));
        }
        create
            .files
            .push((file.name.clone(), file.file_name.clone().unwrap_or_default()));
    }
    let outcome = context.instance.create_snapshot(&create);
    outcome.map(|_| ()).map_err(|error| after(host, error))
}

/// AS COPY OF: the files say where those of the copy go, and nothing else.
fn create_copy(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (statement, source): (&ast::CreateDatabase, &ast::CopySource),
) -> Result<()> {
    if statement.collation.is_some() {
        return Err(Error::copy_is_as_its_source());
    }
    check_length(&statement.name.text)?;
    let maximum = source.size_max.map(super::file::maximum).transpose()?;
    let files = statement.files.iter().chain(&statement.log_files);
    let create = CreateCopy {
        name: statement.name.text.clone(),
        source: source.name.text.clone(),
        files: files.map(place_of_copy).collect::<Result<_>>()?,
        bytes_max: match maximum {
            Some(Size::Bytes(bytes)) => Some(bytes),
            Some(Size::Unlimited) | None => None,
        },
    };
    let outcome = context.instance.create_copy(&create);
    outcome.map(|_| ()).map_err(|error| after(host, error))
}

/// The logical name and the path of a file of a copy.
///
/// # Errors
/// 1815 for a size: sizes are the source's.
fn place_of_copy(file: &ast::FileSpecification) -> Result<(String, String)> {
    let properties = [
        ("SIZE", file.size.is_some()),
        ("MAXSIZE", file.size_max.is_some()),
        ("FILEGROWTH", file.growth.is_some()),
    ];
    if let Some((property, _)) = properties.iter().find(|(_, is_given)| *is_given) {
        return Err(Error::not_of_copy_files(property));
    }
    Ok((file.name.clone(), file.file_name.clone().unwrap_or_default()))
}

/// FOR ATTACH: files of SQL Server are imported, and stay as they are. Files of ours are not attached.
fn attach(context: &SystemContext<'_>, host: &mut dyn Host, statement: &ast::CreateDatabase) -> Result<()> {
    let data = statement
        .files
        .iter()
        .chain(statement.filegroups.iter().flat_map(|group| &group.files));
    let files = data.chain(&statement.log_files).map(file_of);
    let files = files.collect::<Result<Vec<FileSpec>>>()?;
    let paths: Vec<String> = files.into_iter().filter_map(|file| file.filename).collect();
    if context.slot(&statement.name.text).is_some() {
        return Err(Error::database_exists(&statement.name.text));
    }
    super::foreign::attach(context, host, &statement.name.text, &paths)
}

/// The default collation that COLLATE gives a database; without it that of the instance, which is SQL Server's default.
///
/// # Errors
/// 448 when there is none of that name.
pub(super) fn collation_of(written: Option<&ast::Identifier>) -> Result<Collation> {
    let Some(written) = written else {
        return Ok(Collation::default());
    };
    Collation::from_name(&written.text).ok_or_else(|| messages::invalid_collation(&written.text))
}

/// Sends what happened; the answer is the sentence that follows. Names and sizes that are refused need none.
fn after(host: &mut dyn Host, error: Error) -> Error {
    if !matches!(
        error.number,
        823 | 1101 | 1105 | 5105 | 5118 | 5120 | 5123 | 5133 | 5149 | 5170 | 5174 | 5169 | 5040
    ) {
        return error;
    }
    match host.message(&error) {
        Ok(()) => Error::create_database_failed(),
        Err(gone) => gone,
    }
}

fn refuse_unsupported(statement: &ast::CreateDatabase) -> Result<()> {
    let refused = |what: &str| Err(crate::messages::not_supported(what));
    if statement.attach == Some(ast::Attach::RebuildLog) {
        return refused("FOR ATTACH_REBUILD_LOG");
    }
    match statement.containment.as_deref() {
        None | Some("NONE") => Ok(()),
        Some(_) => refused("CONTAINMENT"),
    }
}

/// Runs DROP DATABASE; every name that can be dropped is.
pub fn drop(context: &SystemContext<'_>, host: &mut dyn Host, statement: &ast::Drop) -> Result<()> {
    refuse_in_transaction(host, "DROP DATABASE")?;
    let mut failed = None;
    for name in &statement.names {
        let Err(error) = drop_one(context, name.object(), statement.if_exists) else {
            continue;
        };
        if let Some(former) = failed.replace(error) {
            host.message(&former)?;
        }
    }
    failed.map_or(Ok(()), Err)
}

fn drop_one(context: &SystemContext<'_>, name: &str, if_exists: bool) -> Result<()> {
    let Some(slot) = context.slot(name) else {
        return if if_exists {
            Ok(())
        } else {
            Err(Error::cannot_drop("database", name))
        };
    };
    if context.database.id == slot.entry().database_id {
        return Err(Error::database_in_use(&slot.entry().name));
    }
    super::let_go_of_plans(context);
    context.instance.drop_database(name, &context.engine.borrow())
}
