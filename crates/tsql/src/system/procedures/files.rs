//! Folders of this machine, as scripts ask for them: `xp_dirtree`, `xp_fileexist`, `xp_create_subdir`, `xp_delete_file`, `xp_fixeddrives`. They are
//! not in Microsoft's documentation; parameters, columns and messages are those of published scripts and their outputs (Ola Hallengren's
//! maintenance solution, First Responder Kit, SQLServerCentral "xp_dirtree").
//!
//! Only the folders that statements may use are visible ([`engine::instance`], paths).

use std::path::{Path, PathBuf};

use disk::{DiskErrorKind, FileKind};
use engine::cancel;
use engine::error::{Error, Result};
use engine::memory;
use engine::seams::DateTimeTicks;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{INT, SystemProcedure, TEXT, integer, text};
use crate::views::machine::PathFacts;

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "xp_dirtree",
        parameters: &[("@path", TEXT, true), ("@depth", INT, false), ("@file", INT, false)],
        run: tree,
    },
    SystemProcedure {
        name: "xp_fileexist",
        parameters: &[("@path", TEXT, true), ("@exists", INT, false)],
        run: exists,
    },
    SystemProcedure {
        name: "xp_create_subdir",
        parameters: &[("@path", TEXT, true)],
        run: create_folder,
    },
    SystemProcedure {
        name: "xp_delete_file",
        parameters: &[
            ("@file_type", INT, true),
            ("@folder", TEXT, true),
            ("@extension", TEXT, false),
            ("@before", SqlType::DateTime, false),
            ("@subfolders", INT, false),
        ],
        run: delete_files,
    },
    SystemProcedure {
        name: "xp_fixeddrives",
        parameters: &[],
        run: drives,
    },
];

const PATH: SqlType = SqlType::NVarChar(Length::Limited(512));

/// Bytes that an entry of a listing takes beside its name.
const LISTED_BYTES: usize = 192;

fn kind_of(context: &SystemContext<'_>, path: &Path) -> Option<FileKind> {
    let found = context.instance.env.disk.look(path).ok().flatten();
    found.map(|found| found.kind)
}

/// What an argument names; `None` where no statement may go.
fn named(context: &SystemContext<'_>, arguments: &[Value], place: usize) -> Option<PathBuf> {
    context.instance.resolve_folder(text(arguments, place)?).ok()
}

/// What is in a folder, to a depth (0 is all of it), with its files if asked for. Nothing of a folder that is not there.
fn tree(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let deepest = integer(arguments, 1).filter(|depth| *depth > 0).unwrap_or(i64::MAX);
    let with_files = integer(arguments, 2).is_some_and(|file| file != 0);
    let mut columns = vec![("subdirectory", PATH), ("depth", INT)];
    columns.extend(with_files.then_some(("file", INT)));
    let mut table = Table::new(&columns);
    let disk = context.instance.env.disk.as_ref();
    let inside = |folder: &Path| disk.list(folder).unwrap_or_default().into_iter().rev();
    let root = named(context, arguments, 0).filter(|path| kind_of(context, path) == Some(FileKind::Directory));
    let mut charges = Vec::new();
    // The next entry last.
    let mut left: Vec<(PathBuf, i64)> = Vec::new();
    left.extend(root.iter().flat_map(|root| inside(root)).map(|path| (path, 1)));
    while let Some((path, depth)) = left.pop() {
        cancel::look()?;
        let is_folder = kind_of(context, &path) == Some(FileKind::Directory);
        if is_folder || with_files {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            charges.push(memory::require(LISTED_BYTES + name.len())?);
            let mut row = vec![
                Value::from(&*name),
                Value::Int(i32::try_from(depth).unwrap_or(i32::MAX)),
            ];
            row.extend(with_files.then(|| Value::Int(i32::from(!is_folder))));
            table.push(row);
        }
        if is_folder && depth < deepest {
            left.extend(inside(&path).map(|inner| (inner, depth + 1)));
        }
    }
    table.send(host).map(|()| 0)
}

/// Whether a path is a file, whether it is a folder, and whether its folder is there; with a variable behind it, the first alone.
fn exists(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let facts = PathFacts::of(context, text(arguments, 0).unwrap_or_default());
    let bit = |is: bool| Value::Int(i32::from(is));
    if host.is_given(1) {
        host.output(1, bit(facts.is_file));
        return Ok(0);
    }
    let mut table = Table::new(&[
        ("File Exists", INT),
        ("File is a Directory", INT),
        ("Parent Directory Exists", INT),
    ]);
    table.push(vec![bit(facts.is_file), bit(facts.is_folder), bit(facts.has_parent)]);
    table.send(host).map(|()| 0)
}

/// Whether a folder of this path would stand where the instance keeps files of its own. In its folder, drives and `unc` are for all names; below `data`,
/// names with a dot and `spill` are the instance's to give.
fn is_of_instance(context: &SystemContext<'_>, path: &Path) -> bool {
    let Ok(rest) = path.strip_prefix(&context.instance.options.folder) else {
        return false;
    };
    let parts: Vec<_> = rest.iter().map(|part| part.to_string_lossy().to_lowercase()).collect();
    match parts.as_slice() {
        [data, below @ ..] if data == "data" => {
            below.first().is_some_and(|first| first == "spill") || below.iter().any(|part| part.contains('.'))
        }
        [drive, ..] => drive != "unc" && drive.len() != 1,
        [] => true,
    }
}

/// The file type of backups; the other one, 1, is that of reports of maintenance plans.
const BACKUP_FILES: i64 = 0;

/// Deletes the backup files of a folder, and of its immediate subfolders on request, that have the given extension and whose sets all ended
/// before the given time. Other files stay, whatever their names are.
fn delete_files(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let kind = integer(arguments, 0);
    if kind == Some(1) {
        return Err(crate::messages::not_supported("xp_delete_file of reports"));
    }
    if kind != Some(BACKUP_FILES) {
        let text = "Error executing extended stored procedure: Invalid Parameter";
        return host.raise(Error::new(22_049, 15, 1, text)).map(|()| 1);
    }
    let Some(root) = named(context, arguments, 1) else {
        return Ok(1);
    };
    let extension = text(arguments, 2).unwrap_or_default().trim_start_matches('.');
    let before = match arguments.get(3) {
        Some(Value::DateTime { days, ticks }) => DateTimeTicks {
            days: *days,
            ticks: *ticks,
        },
        _ => DateTimeTicks::from_unix_micros(context.instance.env.clock.unix_micros()),
    };
    let disk = context.instance.env.disk.as_ref();
    let mut files = match kind_of(context, &root) {
        Some(FileKind::Regular) => vec![root],
        Some(FileKind::Directory) => disk.list(&root).unwrap_or_default(),
        _ => return Ok(1),
    };
    if integer(arguments, 4).is_some_and(|subfolders| subfolders != 0) {
        let is_folder = |path: &&PathBuf| kind_of(context, path) == Some(FileKind::Directory);
        let folders: Vec<PathBuf> = files.iter().filter(is_folder).cloned().collect();
        files.extend(folders.iter().flat_map(|folder| disk.list(folder).unwrap_or_default()));
    }
    for path in files {
        cancel::look()?;
        let own = path.extension().unwrap_or_default().to_string_lossy();
        let is_meant = own.eq_ignore_ascii_case(extension) && kind_of(context, &path) == Some(FileKind::Regular);
        if is_meant && let Some(path) = path.to_str() {
            context.instance.delete_backup(path, before)?;
        }
    }
    Ok(0)
}

/// Makes a folder and those above it; one that is there stays as it is.
fn create_folder(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let refused = |number: u32, words: &str| {
        let text = format!("xp_create_subdir() returned error {number}, '{words}'");
        Error::new(22_048, 16, 1, text)
    };
    let Some(path) = named(context, arguments, 0) else {
        return host
            .raise(refused(3, "The system cannot find the path specified."))
            .map(|()| 1);
    };
    if kind_of(context, &path).is_none() && is_of_instance(context, &path) {
        return host.raise(refused(5, "Access is denied.")).map(|()| 1);
    }
    let error = match context.instance.env.disk.create_directories(&path) {
        Ok(()) if kind_of(context, &path) == Some(FileKind::Directory) => return Ok(0),
        Ok(()) => refused(183, "Cannot create a file when that file already exists."),
        Err(error) => match error.kind {
            DiskErrorKind::AlreadyExists | DiskErrorKind::NotAFile => {
                refused(183, "Cannot create a file when that file already exists.")
            }
            DiskErrorKind::DiskFull => refused(112, "There is not enough space on the disk."),
            _ => refused(5, "Access is denied."),
        },
    };
    host.raise(error).map(|()| 1)
}

/// The drive that the instance's folder is on: paths of other drives are folders in it.
fn drives(context: &SystemContext<'_>, host: &mut dyn Host, _arguments: &[Value]) -> Result<i32> {
    const MEGABYTE_BYTES: u64 = 1 << 20;
    let free = context.instance.env.disk.available_bytes(context.instance.folder());
    let free_mb = i32::try_from(free.unwrap_or(0) / MEGABYTE_BYTES).unwrap_or(i32::MAX);
    let mut table = Table::new(&[("drive", SqlType::NVarChar(Length::Limited(1))), ("MB free", INT)]);
    table.push(vec!["C".into(), Value::Int(free_mb)]);
    table.send(host).map(|()| 0)
}
