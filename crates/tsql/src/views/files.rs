//! Files of databases: `sys.database_files`, `sys.master_files`, filegroups, and their I/O statistics.

use engine::buffer::IoStatistics;
use engine::catalog::{FilegroupEntry, PartitionScheme};
use engine::types::{SqlType, Value};

use super::listed::{ListedDatabase, ListedFile, selected, used_pages};
use super::values::{big, datetime, lsn_number};
use super::{
    BIGINT, BIT, DATETIME, GUID, INT, LSN, NAME, Rows, SMALLINT, SystemView, TINYINT, all, function, nvarchar,
    system_row, view,
};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<DatabaseFile>("sys", "database_files", |context, _| {
        all(ListedFile::of(&ListedDatabase::of(&context.database))
            .into_iter()
            .map(DatabaseFile))
    }),
    view::<MasterFile>("sys", "master_files", |context, _| {
        all(ListedDatabase::every(context)
            .iter()
            .flat_map(ListedFile::of)
            .map(MasterFile))
    }),
    view::<DataSpace>("sys", "data_spaces", |context, _| {
        let filegroups = context.database.entry().every_filegroup();
        let spaces = filegroups.into_iter().map(DataSpace::Filegroup);
        all(spaces.chain(super::partitions::schemes(context).into_iter().map(DataSpace::Scheme)))
    }),
    view::<Filegroup>("sys", "filegroups", |context, _| {
        all(context.database.entry().every_filegroup().into_iter().map(Filegroup))
    }),
    view::<FileSpace>("sys", "dm_db_file_space_usage", file_space),
    function::<FileIo>("dm_io_virtual_file_stats", &[INT, INT], 2, virtual_file_stats),
    function::<Volume>("dm_os_volume_stats", &[INT, INT], 2, volumes),
];

const PATH: SqlType = nvarchar(260);

/// What a file would have of read-only filegroups and restores under way (sql-docs, "sys.database_files") is NULL.
struct DatabaseFile(ListedFile);

impl ListedFile {
    /// `data_space_id`: 0 for a log file.
    fn data_space(&self) -> i32 {
        match self.file.log {
            true => 0,
            false => i32::from(self.file.filegroup),
        }
    }

    fn kind(&self) -> (u8, &'static str) {
        if self.file.log { (1, "LOG") } else { (0, "ROWS") }
    }
}

system_row!(DatabaseFile {
    "file_id" INT => |row| i32::from(row.0.file.file_id).into();
    "file_guid" GUID => |row| Value::UniqueIdentifier(row.0.guid);
    "type" TINYINT => |row| Value::TinyInt(row.0.kind().0);
    "type_desc" nvarchar(60) => |row| row.0.kind().1.into();
    "data_space_id" INT => |row| row.0.data_space().into();
    "name" NAME => |row| row.0.file.name.as_str().into();
    "physical_name" PATH => |row| row.0.file.physical_name.as_str().into();
    "state" TINYINT => |row| Value::TinyInt(row.0.state.0);
    "state_desc" nvarchar(60) => |row| row.0.state.1.into();
    "size" INT => |row| row.0.pages().into();
    "max_size" INT => |row| row.0.pages_max().into();
    "growth" INT => |row| row.0.growth().into();
    "is_media_read_only" BIT => |_| false.into();
    "is_read_only" BIT => |row| row.0.is_read_only.into();
    "is_sparse" BIT => |row| row.0.is_sparse.into();
    "is_percent_growth" BIT => |row| row.0.is_percent().into();
    "is_name_reserved" BIT => |_| false.into();
    "is_persistent_log_buffer" BIT => |_| false.into();
    "create_lsn" LSN => |_| Value::Null;
    "drop_lsn" LSN => |_| Value::Null;
    "read_only_lsn" LSN => |_| Value::Null;
    "read_write_lsn" LSN => |_| Value::Null;
    "differential_base_lsn" LSN => |row| row.0.base.map_or(Value::Null, |base| lsn_number(base.lsn));
    "differential_base_guid" GUID => |row| row.0.base.map_or(Value::Null, |base| Value::UniqueIdentifier(base.guid));
    "differential_base_time" DATETIME => |row| row.0.base.map_or(Value::Null, |base| datetime(base.time));
    "redo_start_lsn" LSN => |_| Value::Null;
    "redo_start_fork_guid" GUID => |_| Value::Null;
    "redo_target_lsn" LSN => |_| Value::Null;
    "redo_target_fork_guid" GUID => |_| Value::Null;
    "backup_lsn" LSN => |_| Value::Null;
});

struct MasterFile(ListedFile);

system_row!(MasterFile {
    "database_id" INT => |row| i32::from(row.0.database_id).into();
    "file_id" INT => |row| i32::from(row.0.file.file_id).into();
    "file_guid" GUID => |row| Value::UniqueIdentifier(row.0.guid);
    "type" TINYINT => |row| Value::TinyInt(row.0.kind().0);
    "type_desc" nvarchar(60) => |row| row.0.kind().1.into();
    "data_space_id" INT => |row| row.0.data_space().into();
    "name" NAME => |row| row.0.file.name.as_str().into();
    "physical_name" PATH => |row| row.0.file.physical_name.as_str().into();
    "state" TINYINT => |row| Value::TinyInt(row.0.state.0);
    "state_desc" nvarchar(60) => |row| row.0.state.1.into();
    "size" INT => |row| row.0.pages().into();
    "max_size" INT => |row| row.0.pages_max().into();
    "growth" INT => |row| row.0.growth().into();
    "is_media_read_only" BIT => |_| false.into();
    "is_read_only" BIT => |row| row.0.is_read_only.into();
    "is_sparse" BIT => |row| row.0.is_sparse.into();
    "is_percent_growth" BIT => |row| row.0.is_percent().into();
    "is_name_reserved" BIT => |_| false.into();
    "is_persistent_log_buffer" BIT => |_| false.into();
    "create_lsn" LSN => |_| Value::Null;
    "drop_lsn" LSN => |_| Value::Null;
    "read_only_lsn" LSN => |_| Value::Null;
    "read_write_lsn" LSN => |_| Value::Null;
    "differential_base_lsn" LSN => |row| row.0.base.map_or(Value::Null, |base| lsn_number(base.lsn));
    "differential_base_guid" GUID => |row| row.0.base.map_or(Value::Null, |base| Value::UniqueIdentifier(base.guid));
    "differential_base_time" DATETIME => |row| row.0.base.map_or(Value::Null, |base| datetime(base.time));
    "redo_start_lsn" LSN => |_| Value::Null;
    "redo_start_fork_guid" GUID => |_| Value::Null;
    "redo_target_lsn" LSN => |_| Value::Null;
    "redo_target_fork_guid" GUID => |_| Value::Null;
    "backup_lsn" LSN => |_| Value::Null;
    "credential_id" INT => |_| Value::Null;
});

enum DataSpace {
    Filegroup(FilegroupEntry),
    Scheme(PartitionScheme),
}

impl DataSpace {
    fn name_and_id(&self) -> (&str, u32) {
        match self {
            DataSpace::Filegroup(filegroup) => (&filegroup.name, u32::from(filegroup.id)),
            DataSpace::Scheme(scheme) => (&scheme.name, scheme.data_space),
        }
    }

    fn kind(&self) -> (&'static str, &'static str) {
        match self {
            DataSpace::Filegroup(_) => ("FG", "ROWS_FILEGROUP"),
            DataSpace::Scheme(_) => ("PS", "PARTITION_SCHEME"),
        }
    }

    fn is_default(&self) -> bool {
        matches!(self, DataSpace::Filegroup(filegroup) if filegroup.is_default)
    }
}

system_row!(DataSpace {
    "name" NAME => |row| row.name_and_id().0.into();
    "data_space_id" INT => |row| i32::try_from(row.name_and_id().1).unwrap_or(i32::MAX).into();
    "type" SqlType::Char(2) => |row| row.kind().0.into();
    "type_desc" nvarchar(60) => |row| row.kind().1.into();
    "is_default" BIT => |row| row.is_default().into();
    "is_system" BIT => |_| false.into();
});

struct Filegroup(FilegroupEntry);

system_row!(Filegroup {
    "name" NAME => |row| row.0.name.as_str().into();
    "data_space_id" INT => |row| i32::from(row.0.id).into();
    "type" SqlType::Char(2) => |_| "FG".into();
    "type_desc" nvarchar(60) => |_| "ROWS_FILEGROUP".into();
    "is_default" BIT => |row| row.0.is_default.into();
    "is_system" BIT => |_| false.into();
    "filegroup_guid" GUID => |row| Value::UniqueIdentifier(row.0.guid);
    "log_filegroup_id" INT => |_| Value::Null;
    "is_read_only" BIT => |row| row.0.is_read_only.into();
    "is_autogrow_all_files" BIT => |row| row.0.grows_all_files.into();
});

struct FileSpace {
    database_id: u16,
    file_id: u16,
    filegroup: u16,
    pages: u64,
    used_pages: u64,
    modified_pages: u64,
}

system_row!(FileSpace {
    "database_id" INT => |row| i32::from(row.database_id).into();
    "file_id" SMALLINT => |row| Value::SmallInt(row.file_id as i16);
    "filegroup_id" SMALLINT => |row| Value::SmallInt(row.filegroup as i16);
    "total_page_count" BIGINT => |row| big(row.pages);
    "allocated_extent_page_count" BIGINT => |row| big(row.used_pages);
    "unallocated_extent_page_count" BIGINT => |row| big(row.pages.saturating_sub(row.used_pages));
    "modified_extent_page_count" BIGINT => |row| big(row.modified_pages);
});

fn file_space(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let database = &context.database;
    let entry = database.entry();
    let modified = database.modified_pages();
    let files = entry.files.iter().filter(|file| !file.log).map(|file| FileSpace {
        database_id: database.id,
        file_id: file.file_id,
        filegroup: file.filegroup,
        pages: u64::from(database.storage.files.page_count(file.file_id)),
        used_pages: used_pages(database, file),
        modified_pages: modified.get(&file.file_id).copied().unwrap_or(0),
    });
    all(files)
}

struct FileIo {
    file: ListedFile,
    io: IoStatistics,
    /// Of a snapshot's file: what it takes of the disk.
    sparse_bytes: Option<u64>,
    sample_ms: u64,
}

system_row!(FileIo {
    "database_id" SMALLINT => |row| Value::SmallInt(row.file.database_id as i16);
    "file_id" SMALLINT => |row| Value::SmallInt(row.file.file.file_id as i16);
    "sample_ms" BIGINT => |row| big(row.sample_ms);
    "num_of_reads" BIGINT => |row| big(row.io.reads);
    "num_of_bytes_read" BIGINT => |row| big(row.io.read_bytes);
    "io_stall_read_ms" BIGINT => |row| big(row.io.read_stall_micros / 1000);
    "num_of_writes" BIGINT => |row| big(row.io.writes);
    "num_of_bytes_written" BIGINT => |row| big(row.io.written_bytes);
    "io_stall_write_ms" BIGINT => |row| big(row.io.write_stall_micros / 1000);
    "io_stall" BIGINT => |row| big((row.io.read_stall_micros + row.io.write_stall_micros) / 1000);
    "size_on_disk_bytes" BIGINT => |row| big(row.sparse_bytes.unwrap_or(row.file.bytes));
    "file_handle" SqlType::VarBinary(engine::types::Length::Limited(8)) => |row| {
        let handle = u64::from(row.file.database_id) << 16 | u64::from(row.file.file.file_id);
        Value::binary(&handle.to_be_bytes()[..])
    };
    // No resource governor holds requests up.
    "io_stall_queued_read_ms" BIGINT => |_| 0_i64.into();
    "io_stall_queued_write_ms" BIGINT => |_| 0_i64.into();
});

/// I/O of every file that the two arguments select. The log's is what its counters know: writes, and no reads.
fn virtual_file_stats(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let wanted = arguments.get(1).and_then(Value::as_i64);
    let sample_ms = context.instance.env.clock.now_micros() / 1000;
    let mut rows = Vec::new();
    for listed in selected(context, arguments.first()) {
        let Some(database) = &listed.database else { continue };
        let data = database.storage.files.information();
        let counters = database.storage.log.counters();
        let log_io = IoStatistics {
            writes: counters.flushes,
            written_bytes: counters.bytes_flushed,
            write_stall_micros: counters.flush_write_micros,
            ..IoStatistics::default()
        };
        let first_log = listed
            .entry
            .files
            .iter()
            .filter(|file| file.log)
            .map(|file| file.file_id)
            .min();
        for file in ListedFile::of(&listed) {
            let id = file.file.file_id;
            if wanted.is_some_and(|wanted| wanted != i64::from(id)) {
                continue;
            }
            let information = data.iter().find(|information| information.id == id);
            let io = match information {
                Some(information) => information.io,
                None if first_log == Some(id) => log_io,
                None => IoStatistics::default(),
            };
            rows.push(FileIo {
                file,
                io,
                sparse_bytes: information.and_then(|information| information.sparse_bytes),
                sample_ms,
            });
        }
    }
    all(rows)
}

struct Volume {
    database_id: u16,
    file_id: u16,
    mount_point: String,
    available_bytes: u64,
    used_bytes: u64,
}

system_row!(Volume {
    "database_id" INT => |row| i32::from(row.database_id).into();
    "file_id" INT => |row| i32::from(row.file_id).into();
    "volume_mount_point" nvarchar(512) => |row| row.mount_point.as_str().into();
    "volume_id" nvarchar(512) => |row| row.mount_point.as_str().into();
    "logical_volume_name" nvarchar(512) => |_| "".into();
    "file_system_type" nvarchar(512) => |_| "".into();
    "total_bytes" BIGINT => |row| big(row.available_bytes + row.used_bytes);
    "available_bytes" BIGINT => |row| big(row.available_bytes);
    "supports_compression" TINYINT => |_| Value::TinyInt(0);
    "supports_alternate_streams" TINYINT => |_| Value::TinyInt(0);
    "supports_sparse_files" TINYINT => |_| Value::TinyInt(1);
    "is_read_only" TINYINT => |_| Value::TinyInt(0);
    "is_compressed" TINYINT => |_| Value::TinyInt(0);
});

/// The volume of one file. Its total is what is free and what this instance has taken: others' files are not known.
fn volumes(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let every: Vec<ListedFile> = ListedDatabase::every(context).iter().flat_map(ListedFile::of).collect();
    let used_bytes = every.iter().map(|file| file.bytes).sum();
    let (database, file) = (
        arguments.first().and_then(Value::as_i64),
        arguments.get(1).and_then(Value::as_i64),
    );
    let is_wanted = |listed: &&ListedFile| {
        database == Some(i64::from(listed.database_id)) && file == Some(i64::from(listed.file.file_id))
    };
    let mut rows = Vec::new();
    for listed in every.iter().filter(is_wanted) {
        let path = context.instance.resolve(&listed.file.physical_name)?;
        let folder = path.parent().unwrap_or(&path);
        let available = context.instance.env.disk.available_bytes(folder);
        rows.push(Volume {
            database_id: listed.database_id,
            file_id: listed.file.file_id,
            mount_point: mount_point(&listed.file.physical_name),
            available_bytes: available.unwrap_or(0),
            used_bytes,
        });
    }
    all(rows)
}

/// The drive of a Windows path, else the root.
fn mount_point(physical_name: &str) -> String {
    let mut characters = physical_name.chars();
    match (characters.next(), characters.next()) {
        (Some(drive), Some(':')) => format!("{}:\\", drive.to_ascii_uppercase()),
        _ => "/".to_owned(),
    }
}
