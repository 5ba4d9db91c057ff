//! The views of SQL Server 2000 that old scripts still read (sql-docs, "System compatibility views").

use engine::types::{SqlType, Value};

use super::listed::{ListedDatabase, ListedFile};
use super::objects::{ObjectRow, objects};
use super::values::stored_datetime;
use super::{DATETIME, INT, NAME, SID, SMALLINT, SystemView, TINYINT, all, nvarchar, system_row, view};
use engine::catalog::FilegroupEntry;
use engine::recovery::RecoveryModel;

pub(super) const VIEWS: &[SystemView] = &[
    view::<OldFile>("sys", "sysfiles", |context, _| {
        all(ListedFile::of(&ListedDatabase::of(&context.database))
            .into_iter()
            .map(OldFile))
    }),
    view::<OldAltFile>("sys", "sysaltfiles", |context, _| {
        all(ListedDatabase::every(context)
            .iter()
            .flat_map(ListedFile::of)
            .map(OldAltFile))
    }),
    view::<OldFilegroup>("sys", "sysfilegroups", |context, _| {
        all(context.database.entry().every_filegroup().into_iter().map(OldFilegroup))
    }),
    view::<OldDatabase>("sys", "sysdatabases", |context, _| {
        all(ListedDatabase::every(context).into_iter().map(OldDatabase))
    }),
    view::<OldObject>("sys", "sysobjects", |context, _| {
        all(objects(context).into_iter().map(OldObject))
    }),
];

/// Whether a name is one of those that are found without a schema, and in `dbo`.
pub(super) fn is_old_name(name: &str) -> bool {
    [
        "sysfiles",
        "sysaltfiles",
        "sysfilegroups",
        "sysdatabases",
        "sysobjects",
        "sysprocesses",
        "sysperfinfo",
        "sysindexes",
        "syslogins",
        "sysmembers",
        "syspermissions",
        "sysprotects",
        "sysusers",
    ]
    .iter()
    .any(|old| old.eq_ignore_ascii_case(name))
}

impl ListedFile {
    /// `sysfiles.status`: 2 disk file, 64 log file, 0x100000 growth in percent (sql-docs, "sys.sysfiles").
    fn old_status(&self) -> i32 {
        2 | if self.file.log { 64 } else { 0 } | if self.is_percent() { 0x10_0000 } else { 0 }
    }

    /// `sysfiles.groupid`: the filegroup, 0 for a log file.
    fn old_group(&self) -> i16 {
        match self.file.log {
            true => 0,
            false => i16::try_from(self.file.filegroup).unwrap_or(i16::MAX),
        }
    }
}

struct OldFile(ListedFile);

system_row!(OldFile {
    "fileid" SMALLINT => |row| Value::SmallInt(row.0.file.file_id as i16);
    "groupid" SMALLINT => |row| Value::SmallInt(row.0.old_group());
    "size" INT => |row| row.0.pages().into();
    "maxsize" INT => |row| row.0.pages_max().into();
    "growth" INT => |row| row.0.growth().into();
    "status" INT => |row| row.0.old_status().into();
    "perf" INT => |_| 0.into();
    "name" NAME => |row| row.0.file.name.as_str().into();
    "filename" nvarchar(260) => |row| row.0.file.physical_name.as_str().into();
});

struct OldAltFile(ListedFile);

system_row!(OldAltFile {
    "fileid" SMALLINT => |row| Value::SmallInt(row.0.file.file_id as i16);
    "groupid" SMALLINT => |row| Value::SmallInt(row.0.old_group());
    "size" INT => |row| row.0.pages().into();
    "maxsize" INT => |row| row.0.pages_max().into();
    "growth" INT => |row| row.0.growth().into();
    "status" INT => |row| row.0.old_status().into();
    "perf" INT => |_| 0.into();
    "dbid" SMALLINT => |row| Value::SmallInt(row.0.database_id as i16);
    "name" NAME => |row| row.0.file.name.as_str().into();
    "filename" nvarchar(260) => |row| row.0.file.physical_name.as_str().into();
});

struct OldFilegroup(FilegroupEntry);

impl OldFilegroup {
    /// 8 READ_ONLY, 16 DEFAULT (sql-docs, "sys.sysfilegroups").
    fn status(&self) -> i32 {
        i32::from(self.0.is_read_only) << 3 | i32::from(self.0.is_default) << 4
    }
}

system_row!(OldFilegroup {
    "groupid" SMALLINT => |row| Value::SmallInt(i16::try_from(row.0.id).unwrap_or(i16::MAX));
    "allocpolicy" SMALLINT => |_| Value::SmallInt(0);
    "status" INT => |row| row.status().into();
    "groupname" NAME => |row| row.0.name.as_str().into();
});

struct OldDatabase(ListedDatabase);

impl OldDatabase {
    /// 8 SIMPLE, 32 loading, 128 recovering, 256 suspect, 512 offline, 4096 single user.
    fn status(&self) -> i32 {
        let state = match self.0.state.number_and_name().1 {
            "RESTORING" => 32,
            "RECOVERY_PENDING" => 128,
            "SUSPECT" => 256,
            "OFFLINE" => 512,
            _ => 0,
        };
        let simple = if self.0.recovery_model() == RecoveryModel::Simple {
            8
        } else {
            0
        };
        let single = if self.0.user_access().0 == 1 { 4096 } else { 0 };
        0x1_0000 | state | simple | single
    }
}

system_row!(OldDatabase {
    "name" NAME => |row| row.0.entry.name.as_str().into();
    "dbid" SMALLINT => |row| Value::SmallInt(row.0.entry.database_id as i16);
    "sid" SID => |_| Value::binary(&[1][..]);
    "mode" SMALLINT => |_| Value::SmallInt(0);
    "status" INT => |row| row.status().into();
    "status2" INT => |_| 0x4100_0000.into();
    "crdate" DATETIME => |row| stored_datetime(row.0.entry.created);
    "reserved" DATETIME => |_| stored_datetime((0, 0));
    "category" INT => |_| 0.into();
    "cmptlevel" TINYINT => |row| Value::TinyInt(row.0.compatibility_level() as u8);
    "filename" nvarchar(260) => |row| row.0.entry.files.first().map(|file| file.physical_name.as_str()).into();
    "version" SMALLINT => |_| Value::SmallInt(957);
});

struct OldObject(ObjectRow);

system_row!(OldObject {
    "name" NAME => |row| row.0.name.as_str().into();
    "id" INT => |row| row.0.object_id.into();
    "xtype" SqlType::Char(2) => |row| format!("{:<2}", row.0.kind.0).into();
    "uid" SMALLINT => |row| Value::SmallInt(i16::try_from(row.0.schema_id).unwrap_or(1));
    "info" SMALLINT => |_| Value::SmallInt(0);
    "status" INT => |_| 0.into();
    "base_schema_ver" INT => |_| 0.into();
    "replinfo" INT => |_| 0.into();
    "parent_obj" INT => |row| row.0.parent.into();
    "crdate" DATETIME => |row| stored_datetime(row.0.created);
    "ftcatid" SMALLINT => |_| Value::SmallInt(0);
    "schema_ver" INT => |_| 0.into();
    "stats_schema_ver" INT => |_| 0.into();
    "type" SqlType::Char(2) => |row| {
        let old = match row.0.kind.0 { "PK" | "UQ" => "K", other => other };
        format!("{old:<2}").into()
    };
    "userstat" SMALLINT => |_| Value::SmallInt(1);
    "sysstat" SMALLINT => |row| Value::SmallInt(if row.0.kind.0 == "U" { 3 } else { 0 });
    "indexdel" SMALLINT => |_| Value::SmallInt(0);
    "refdate" DATETIME => |row| stored_datetime(row.0.created);
    "version" INT => |_| 0.into();
    "deltrig" INT => |_| 0.into();
    "instrig" INT => |_| 0.into();
    "updtrig" INT => |_| 0.into();
    "seltrig" INT => |_| 0.into();
    "category" INT => |_| 0.into();
    "cache" SMALLINT => |_| Value::SmallInt(0);
});
