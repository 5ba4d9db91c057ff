//! CREATE, ALTER DATABASE, BACKUP and RESTORE.

use super::{Expression, Identifier, OptionValue};

#[derive(Debug, Clone, PartialEq)]
pub struct CreateDatabase {
    pub name: Identifier,
    /// `CONTAINMENT = ...`, in upper case.
    pub containment: Option<String>,
    /// `ON [PRIMARY]`: the files of the primary filegroup.
    pub files: Vec<FileSpecification>,
    /// `FILEGROUP name ...`.
    pub filegroups: Vec<Filegroup>,
    pub log_files: Vec<FileSpecification>,
    /// `COLLATE`.
    pub collation: Option<Identifier>,
    /// `FOR ATTACH` and `FOR ATTACH_REBUILD_LOG`.
    pub attach: Option<Attach>,
    /// `AS SNAPSHOT OF`: the database of which it is one.
    pub snapshot_of: Option<Identifier>,
    /// `AS COPY OF`.
    pub copy_of: Option<CopySource>,
    pub options: Vec<OptionValue>,
}

/// `AS COPY OF name [(MAXSIZE = ...)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CopySource {
    /// The database that is copied.
    pub name: Identifier,
    /// `MAXSIZE`: what the copy may take of its own.
    pub size_max: Option<FileSizeMax>,
}

/// How a database is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attach {
    Attach,
    /// `FOR ATTACH_REBUILD_LOG`
    RebuildLog,
}

/// `FILEGROUP name [DEFAULT] files`.
#[derive(Debug, Clone, PartialEq)]
pub struct Filegroup {
    pub name: Identifier,
    pub default: bool,
    pub files: Vec<FileSpecification>,
}

/// `(NAME = ..., FILENAME = ..., SIZE = ..., MAXSIZE = ..., FILEGROWTH = ...)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileSpecification {
    /// Line of its parenthesis.
    pub line: u32,
    /// `NAME`: the logical name; empty if not written (which CREATE allows for the defaults only).
    pub name: String,
    /// `NEWNAME` (MODIFY FILE only).
    pub new_name: Option<String>,
    /// `FILENAME`: the path as written.
    pub file_name: Option<String>,
    pub size: Option<FileSize>,
    /// `MAXSIZE`.
    pub size_max: Option<FileSizeMax>,
    /// `FILEGROWTH`.
    pub growth: Option<FileGrowth>,
    /// `OFFLINE` (MODIFY FILE only).
    pub offline: bool,
}

/// A size as written: a number and its unit. Megabytes if no unit is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSize {
    pub count: u64,
    pub unit: SizeUnit,
}

impl FileSize {
    /// The size in bytes; `None` beyond 64 bits.
    pub fn bytes(self) -> Option<u64> {
        self.count.checked_mul(self.unit.bytes())
    }
}

/// Units of file sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeUnit {
    /// `KB`
    Kilobytes,
    /// `MB`, and no unit.
    Megabytes,
    /// `GB`
    Gigabytes,
    /// `TB`
    Terabytes,
}

impl SizeUnit {
    /// Bytes in one unit.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Kilobytes => 1 << 10,
            Self::Megabytes => 1 << 20,
            Self::Gigabytes => 1 << 30,
            Self::Terabytes => 1 << 40,
        }
    }
}

/// `MAXSIZE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSizeMax {
    Unlimited,
    Size(FileSize),
}

/// `FILEGROWTH`; 0 turns growth off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileGrowth {
    /// By a fixed size.
    Size(FileSize),
    /// By a percentage of the present size.
    Percent(u64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterDatabase {
    /// The database; `None` for `CURRENT`.
    pub name: Option<Identifier>,
    pub action: AlterDatabaseAction,
}

/// What ALTER DATABASE changes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterDatabaseAction {
    /// `SET option, ... [WITH termination]`.
    Set {
        /// The options, at least one.
        options: Vec<DatabaseOption>,
        /// What happens to others' transactions.
        termination: Option<Termination>,
    },
    /// `MODIFY FILE (...)`.
    ModifyFile(FileSpecification),
    /// `ADD FILE (...), ... [TO FILEGROUP name]`.
    AddFiles {
        files: Vec<FileSpecification>,
        filegroup: Option<Identifier>,
    },
    /// `ADD LOG FILE (...), ...`.
    AddLogFiles(Vec<FileSpecification>),
    /// `REMOVE FILE name`.
    RemoveFile(Identifier),
    /// `ADD FILEGROUP name`.
    AddFilegroup(Identifier),
    /// `REMOVE FILEGROUP name`.
    RemoveFilegroup(Identifier),
    /// `MODIFY FILEGROUP name property`.
    ModifyFilegroup {
        name: Identifier,
        property: FilegroupProperty,
    },
    /// `MODIFY NAME = name`.
    ModifyName(Identifier),
    /// `COLLATE name`.
    Collate(Identifier),
    /// `ALTER DATABASE SCOPED CONFIGURATION SET name = value`, or `CLEAR PROCEDURE_CACHE` as a name without value; the
    /// database is the current one.
    ScopedConfiguration {
        option: OptionValue,
        /// `FOR SECONDARY`: the value that it has on secondary replicas.
        of_secondary: bool,
    },
}

/// What `MODIFY FILEGROUP` changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilegroupProperty {
    /// `DEFAULT`.
    Default,
    /// `READ_ONLY` (true) or `READ_WRITE`, also written `READONLY` and `READWRITE`.
    ReadOnly(bool),
    /// `AUTOGROW_ALL_FILES` (true) or `AUTOGROW_SINGLE_FILE`.
    GrowsAllFiles(bool),
    /// `NAME = name`.
    Name(Identifier),
}

/// One option of `ALTER DATABASE ... SET`.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseOption {
    /// The option in upper case: `RECOVERY`, `SINGLE_USER`, `COMPATIBILITY_LEVEL`, ...
    pub name: String,
    /// Its value in upper case if it has one: `FULL`, `ON`, `110`, `60 SECONDS`, `DISABLED`, ...
    pub value: Option<String>,
    /// What stands in parentheses after it (`QUERY_STORE = ON (...)`).
    pub arguments: Vec<OptionValue>,
}

/// `WITH ROLLBACK ...` and `WITH NO_WAIT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    RollbackImmediate,
    /// `ROLLBACK AFTER n [SECONDS]`
    RollbackAfter {
        /// The patience in seconds.
        seconds: u32,
    },
    NoWait,
}

/// The database of BACKUP and RESTORE.
#[derive(Debug, Clone, PartialEq)]
pub enum DatabaseReference {
    Name(Identifier),
    /// By variable, with its `@`.
    Variable(String),
}

/// Where a backup is written or read.
#[derive(Debug, Clone, PartialEq)]
pub struct BackupDevice {
    /// `DISK`, `URL`, `TAPE`, `VIRTUAL_DEVICE`, ... in upper case; empty for a logical device by name.
    pub kind: String,
    /// The path: a string constant or a variable. A logical device's name comes as a string constant.
    pub path: Expression,
}

/// `BACKUP DATABASE | LOG`.
#[derive(Debug, Clone, PartialEq)]
pub struct Backup {
    /// True for `BACKUP LOG`.
    pub log: bool,
    pub database: DatabaseReference,
    /// `FILE = ...`, `FILEGROUP = ...`, `READ_WRITE_FILEGROUPS` before TO.
    pub files: Vec<OptionValue>,
    /// `TO`: at least one.
    pub devices: Vec<BackupDevice>,
    /// `MIRROR TO`: each mirror's devices.
    pub mirrors: Vec<Vec<BackupDevice>>,
    pub options: Vec<OptionValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreKind {
    /// `RESTORE DATABASE`
    Database,
    /// `RESTORE LOG`
    Log,
    /// `RESTORE HEADERONLY`
    HeaderOnly,
    /// `RESTORE FILELISTONLY`
    FileListOnly,
    /// `RESTORE VERIFYONLY`
    VerifyOnly,
    /// `RESTORE LABELONLY`
    LabelOnly,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Restore {
    pub kind: RestoreKind,
    /// The database; `None` for the kinds that only read a backup.
    pub database: Option<DatabaseReference>,
    /// `FILE = ...`, `FILEGROUP = ...`, `PAGE = ...` before FROM.
    pub files: Vec<OptionValue>,
    /// `FROM`; empty for `RESTORE DATABASE x WITH RECOVERY`.
    pub devices: Vec<BackupDevice>,
    /// `FROM DATABASE_SNAPSHOT =`: the snapshot's name.
    pub snapshot: Option<String>,
    /// `MOVE 'logical' TO 'path'`, each a string constant or variable.
    pub moves: Vec<(Expression, Expression)>,
    /// `AFTER` behind `STOPATMARK` or `STOPBEFOREMARK`: a string constant or a variable.
    pub after: Option<Expression>,
    /// The rest of `WITH ...`.
    pub options: Vec<OptionValue>,
}
