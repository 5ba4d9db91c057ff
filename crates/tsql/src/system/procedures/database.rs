//! Procedures about databases and their files: `sp_helpdb`, `sp_helpfile`, `sp_helpfilegroup`, `sp_databases`, `sp_renamedb`, `sp_dboption`,
//! `sp_MSforeachdb`.

use engine::catalog::{FileEntry, GrowthEntry};
use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{NAME, SystemProcedure, TEXT, text};
use crate::scalar::moment::Moment;
use crate::scalar::moment_format;
use crate::views::{ListedDatabase, ListedFile};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_helpdb",
        parameters: &[("@dbname", NAME, false)],
        run: help_database,
    },
    SystemProcedure {
        name: "sp_helpfile",
        parameters: &[("@filename", NAME, false)],
        run: help_file,
    },
    SystemProcedure {
        name: "sp_helpfilegroup",
        parameters: &[("@filegroupname", NAME, false)],
        run: help_filegroup,
    },
    SystemProcedure {
        name: "sp_databases",
        parameters: &[],
        run: databases,
    },
    SystemProcedure {
        name: "sp_renamedb",
        parameters: &[("@dbname", NAME, true), ("@newname", NAME, true)],
        run: rename,
    },
    SystemProcedure {
        name: "sp_dboption",
        parameters: &[
            ("@dbname", NAME, false),
            ("@optname", NAME, false),
            ("@optvalue", NAME, false),
        ],
        run: option,
    },
    SystemProcedure {
        name: "sp_msforeachdb",
        parameters: &[("@command1", TEXT, true), ("@replacechar", SqlType::NChar(1), false)],
        run: for_each,
    },
];

/// 15010: no such database.
fn no_database(name: &str) -> Error {
    let text = format!(
        "The database '{name}' does not exist. Supply a valid database name. To see available databases, use sys.databases."
    );
    Error::new(15010, 16, 1, text)
}

fn short_text(length: u16) -> SqlType {
    SqlType::NVarChar(Length::Limited(length))
}

/// All databases, or one with its files.
fn help_database(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let wanted = text(arguments, 0);
    let mut databases = ListedDatabase::every(context);
    if let Some(name) = wanted {
        databases.retain(|listed| listed.entry.name.eq_ignore_ascii_case(name));
        if databases.is_empty() {
            return Err(no_database(name));
        }
    }
    databases.sort_by_key(|listed| listed.entry.name.to_lowercase());
    let mut table = Table::new(&[
        ("name", SqlType::SYSNAME),
        ("db_size", short_text(13)),
        ("owner", SqlType::SYSNAME),
        ("dbid", SqlType::SmallInt),
        ("created", short_text(11)),
        ("status", short_text(600)),
        ("compatibility_level", SqlType::TinyInt),
    ]);
    for listed in &databases {
        let bytes: u64 = ListedFile::of(listed).iter().map(|file| file.bytes).sum();
        let size = format!("{:>10.2} MB", bytes as f64 / 1_048_576.0);
        table.push(vec![
            listed.entry.name.as_str().into(),
            size.into(),
            "sa".into(),
            Value::SmallInt(listed.entry.database_id as i16),
            created(listed).into(),
            status(listed).into(),
            Value::TinyInt(listed.compatibility_level() as u8),
        ]);
    }
    table.send(host)?;
    if let (Some(_), [listed]) = (wanted, databases.as_slice()) {
        files(ListedFile::of(listed)).send(host)?;
    }
    Ok(0)
}

/// `May 16 2008`
fn created(listed: &ListedDatabase) -> String {
    let (days, ticks) = listed.entry.created;
    let moment = Moment::from_value(&Value::DateTime { days, ticks });
    moment
        .and_then(|moment| moment_format::format(moment, SqlType::DateTime, 100))
        .unwrap_or_default()
        .chars()
        .take(11)
        .collect()
}

fn status(listed: &ListedDatabase) -> String {
    format!(
        "Status={}, Updateability=READ_WRITE, UserAccess={}, Recovery={}, Version=957, Collation={}, SQLSortOrder={}, IsAutoCreateStatistics, IsAutoUpdateStatistics",
        listed.state.number_and_name().1,
        listed.user_access().1,
        listed.recovery_model().name(),
        listed.collation().name(),
        listed.collation().sort_id()
    )
}

fn kilobytes(bytes: u64) -> String {
    format!("{} KB", bytes >> 10)
}

fn maximum_text(listed: &ListedFile) -> String {
    match listed.pages_max() {
        -1 => "Unlimited".to_owned(),
        pages => kilobytes(u64::from(pages.unsigned_abs()) * 8192),
    }
}

fn growth_text(file: &FileEntry) -> String {
    match file.growth {
        GrowthEntry::Fixed => "0 KB".to_owned(),
        GrowthEntry::Bytes(bytes) => kilobytes(bytes),
        GrowthEntry::Percent(percent) => format!("{percent}%"),
    }
}

fn files(listed: Vec<ListedFile>) -> Table {
    let mut table = Table::new(&[
        ("name", SqlType::SYSNAME),
        ("fileid", SqlType::SmallInt),
        ("filename", short_text(260)),
        ("filegroup", SqlType::SYSNAME),
        ("size", short_text(18)),
        ("maxsize", short_text(18)),
        ("growth", short_text(18)),
        ("usage", SqlType::VarChar(Length::Limited(9))),
    ]);
    for listed in listed {
        let file = &listed.file;
        table.push(vec![
            file.name.as_str().into(),
            Value::SmallInt(file.file_id as i16),
            file.physical_name.as_str().into(),
            listed.filegroup.as_deref().into(),
            kilobytes(listed.bytes).into(),
            maximum_text(&listed).into(),
            growth_text(file).into(),
            if file.log { "log only" } else { "data only" }.into(),
        ]);
    }
    table
}

fn help_file(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut listed = ListedFile::of(&ListedDatabase::of(&context.database));
    if let Some(name) = text(arguments, 0) {
        listed.retain(|listed| listed.file.name.eq_ignore_ascii_case(name));
        if listed.is_empty() {
            return Err(Error::new(
                15325,
                16,
                1,
                format!("The current database does not contain a file named '{name}'."),
            ));
        }
    }
    files(listed).send(host).map(|()| 0)
}

/// The filegroups with their numbers and how many files each has; of one also its files (sql-docs, sp_helpfilegroup).
///
/// # Errors
/// 15324 for a filegroup that is not there.
fn help_filegroup(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let entry = context.database.entry();
    let mut filegroups = entry.every_filegroup();
    let wanted = text(arguments, 0);
    if let Some(name) = wanted {
        filegroups.retain(|filegroup| filegroup.name.eq_ignore_ascii_case(name));
        if filegroups.is_empty() {
            let text = format!("The current database does not contain a filegroup named '{name}'.");
            return Err(Error::new(15324, 16, 1, text));
        }
    }
    let files = ListedFile::of(&ListedDatabase::of(&context.database));
    let mut table = Table::new(&[
        ("groupname", SqlType::SYSNAME),
        ("groupid", SqlType::SmallInt),
        ("filecount", SqlType::Int),
    ]);
    for filegroup in &filegroups {
        let its = files
            .iter()
            .filter(|listed| listed.filegroup.as_deref() == Some(&filegroup.name));
        table.push(vec![
            filegroup.name.as_str().into(),
            Value::SmallInt(filegroup.id as i16),
            Value::Int(its.count() as i32),
        ]);
    }
    table.send(host)?;
    let (Some(_), Some(filegroup)) = (wanted, filegroups.first()) else {
        return Ok(0);
    };
    let mut table = Table::new(&[
        ("file_in_group", SqlType::SYSNAME),
        ("fileid", SqlType::SmallInt),
        ("filename", short_text(260)),
        ("size", short_text(15)),
        ("maxsize", short_text(15)),
        ("growth", short_text(15)),
    ]);
    for listed in files
        .iter()
        .filter(|listed| listed.filegroup.as_deref() == Some(&filegroup.name))
    {
        let file = &listed.file;
        table.push(vec![
            file.name.as_str().into(),
            Value::SmallInt(file.file_id as i16),
            file.physical_name.as_str().into(),
            kilobytes(listed.bytes).into(),
            maximum_text(listed).into(),
            growth_text(file).into(),
        ]);
    }
    table.send(host).map(|()| 0)
}

/// Names and sizes in KB of the databases that are usable.
fn databases(context: &SystemContext<'_>, host: &mut dyn Host, _arguments: &[Value]) -> Result<i32> {
    let mut table = Table::new(&[
        ("DATABASE_NAME", SqlType::SYSNAME),
        ("DATABASE_SIZE", SqlType::Int),
        ("REMARKS", SqlType::VarChar(Length::Limited(254))),
    ]);
    let mut databases = ListedDatabase::every(context);
    databases.sort_by_key(|listed| listed.entry.name.to_lowercase());
    for listed in databases.iter().filter(|listed| listed.database.is_some()) {
        let bytes: u64 = ListedFile::of(listed).iter().map(|file| file.bytes).sum();
        let kilobytes = Value::Int(i32::try_from(bytes >> 10).unwrap_or(i32::MAX));
        table.push(vec![listed.entry.name.as_str().into(), kilobytes, Value::Null]);
    }
    table.send(host).map(|()| 0)
}

fn rename(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let (Some(name), Some(new_name)) = (text(arguments, 0), text(arguments, 1)) else {
        return Ok(1);
    };
    if context.slot(name).is_none() {
        return Err(no_database(name));
    }
    context.instance.rename_database(name, new_name)?;
    host.message(&crate::messages::database_name_set(new_name)).map(|()| 0)
}

/// The options of SQL Server 2000 that ALTER DATABASE has other names for.
fn option(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let Some(name) = text(arguments, 0) else {
        let mut table = Table::new(&[("Settable database options:", SqlType::SYSNAME)]);
        for option in ["offline", "single user", "trunc. log on chkpt."] {
            table.push(vec![option.into()]);
        }
        return table.send(host).map(|()| 0);
    };
    let slot = context.slot(name).ok_or_else(|| no_database(name))?;
    let written = text(arguments, 1).unwrap_or_default().to_lowercase();
    let on = match text(arguments, 2).map(str::to_lowercase).as_deref() {
        Some("true" | "on") => true,
        Some("false" | "off") => false,
        _ => {
            return Err(Error::new(
                15241,
                16,
                1,
                "Usage: sp_dboption [dbname [,optname [,'true' | 'false']]]",
            ));
        }
    };
    let clause = match (written.as_str(), on) {
        ("offline", true) => "OFFLINE",
        ("offline", false) => "ONLINE",
        ("single user", true) => "SINGLE_USER",
        ("single user", false) => "MULTI_USER",
        ("trunc. log on chkpt.", true) => "RECOVERY SIMPLE",
        ("trunc. log on chkpt.", false) => "RECOVERY FULL",
        _ => {
            let text = format!("Database option '{written}' does not exist. Specify a valid database option.");
            return Err(Error::new(15011, 16, 1, text));
        }
    };
    let quoted = slot.entry().name.replace(']', "]]");
    host.execute(&format!("ALTER DATABASE [{quoted}] SET {clause}"))
        .map(|()| 0)
}

/// Runs a command for every usable database, with its name in the place of `?`.
fn for_each(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let command = text(arguments, 0).unwrap_or_default();
    let mark = text(arguments, 1).and_then(|mark| mark.chars().next()).unwrap_or('?');
    for listed in ListedDatabase::every(context)
        .iter()
        .filter(|listed| listed.database.is_some())
    {
        host.execute(&command.replace(mark, &listed.entry.name))?;
    }
    Ok(0)
}
