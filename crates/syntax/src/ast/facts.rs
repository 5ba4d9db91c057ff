//! Facts about each kind of statement: one row for each kind, in [`StatementKind::facts`].
//!
//! Invariant: this table is the only place that distinguishes kinds of statements, except for code that reads a statement's contents. It
//! has no catch-all arm, so a new kind of statement does not compile before each of these facts is given:
//!
//! | fact | what depends on it |
//! |---|---|
//! | [`name`](StatementFacts::name) | `sys.dm_exec_requests.command`, error 443 |
//! | [`family`](StatementFacts::family) | the way a statement is executed, errors that undo it, the statistics of plans |
//! | [`done`](StatementFacts::done) | the DONE token of the answer |
//! | [`in_function`](StatementFacts::in_function) | what a function's body may contain (443) |
//! | [`statement_type`](StatementFacts::statement_type) | SHOWPLAN |
//! | [`needs_database`](StatementFacts::needs_database) | a session whose database has failed |
//! | [`sets_error_number`](StatementFacts::sets_error_number) | `@@ERROR` |
//! | [`runs_under_fmtonly`](StatementFacts::runs_under_fmtonly) | SET FMTONLY ON |
//! | [`inside`](StatementFacts::inside) | every walk over statements |

use std::slice::from_ref;

use super::{DefinitionKind, ObjectKind, PermissionAction, RestoreKind, SetOption, Statement, StatementKind};

/// What is so of every statement of a kind.
#[derive(Clone, Copy, Debug)]
pub struct StatementFacts<'s> {
    /// What SQL Server calls it where it lists statements: `sys.dm_exec_requests.command` and the operator of error 443.
    pub name: &'static str,
    /// What it acts on.
    pub family: StatementFamily,
    /// What a client learns that it was.
    pub done: DoneKind,
    /// Whether a function's body may contain it.
    pub in_function: InFunction,
    /// `StatementType` in the XML of a plan.
    pub statement_type: &'static str,
    /// Whether it fails when the session's database has. Without it a session leaves such a database, or repairs it.
    pub needs_database: bool,
    /// Whether `@@ERROR` is its own when it has succeeded.
    pub sets_error_number: bool,
    /// Whether it is executed under SET FMTONLY ON.
    pub runs_under_fmtonly: bool,
    inside: [&'s [Statement]; 2],
}

/// What a statement acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementFamily {
    /// Rows. It has a plan, and a failure undoes it.
    Rows,
    /// The order of other statements. It neither counts as executed nor fails by itself.
    Flow,
    /// The session: its variables, options, cursors, transaction; messages to the client.
    Session,
    /// Definitions in a catalog.
    Definitions,
    /// Databases and the server.
    System,
}

/// Whether a function's body may contain a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFunction {
    Allowed,
    /// What it says decides.
    ByContent,
    /// Refused by 443: it sends something, fails or waits.
    Talks,
    /// Refused by 443: it changes something outside of the function.
    Changes,
}

/// What a client learns that a finished statement was. TDS has a code for each but the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneKind {
    /// SELECT, and everything else that returned rows.
    Select,
    SelectInto,
    Insert,
    Update,
    Delete,
    Merge,
    /// The rows of INSERT BULK.
    BulkLoad,
    /// SELECT without a result set, SET @variable, DECLARE with a value: assignments.
    Assign,
    /// EXECUTE in a procedure or in a text that is itself called. That of a batch ends as a call.
    Execute,
    CreateTable,
    AlterTable,
    DropTable,
    CreateIndex,
    AlterIndex,
    DropIndex,
    DropStatistics,
    CreateView,
    DropView,
    CreateTrigger,
    DropTrigger,
    CreateProcedure,
    DropProcedure,
    CreateFunction,
    DropFunction,
    CreateSchema,
    DropSchema,
    CreateType,
    DropType,
    CreateDatabase,
    AlterDatabase,
    DropDatabase,
    Grant,
    Deny,
    Revoke,
    Dbcc,
    Shutdown,
    SetOn,
    SetOff,
    BeginTransaction,
    CommitTransaction,
    RollbackTransaction,
    /// Clients do not tell it from others.
    Other,
}

impl<'s> StatementFacts<'s> {
    /// What SQL Server calls the transaction that it is by itself, as `fn_dblog` and the views of transactions show it (seen in published
    /// outputs: INSERT, UPDATE, DELETE, CREATE TABLE, TRUNCATE TABLE, DROPOBJ); `None` where that is not known.
    pub fn transaction_name(&self) -> Option<&'static str> {
        match self.family {
            _ if self.name == DROP => Some("DROPOBJ"),
            _ if self.name == BATCH => None,
            StatementFamily::Rows | StatementFamily::Definitions => Some(self.name),
            StatementFamily::Flow | StatementFamily::Session | StatementFamily::System => None,
        }
    }

    /// The statements that run as a part of it, in the order of the text: those of a block, a branch, a loop, of TRY and CATCH. The body of
    /// a module that it creates is not among them.
    pub fn inside(&self) -> impl Iterator<Item = &'s Statement> + use<'s> {
        let [first, second] = self.inside;
        first.iter().chain(second)
    }

    /// Whether other statements run as a part of it.
    pub fn has_inside(&self) -> bool {
        self.inside.iter().any(|statements| !statements.is_empty())
    }

    const fn done(self, done: DoneKind) -> Self {
        Self { done, ..self }
    }

    const fn in_function(self, in_function: InFunction) -> Self {
        Self { in_function, ..self }
    }

    const fn statement_type(self, statement_type: &'static str) -> Self {
        Self { statement_type, ..self }
    }

    const fn without_database(self) -> Self {
        Self {
            needs_database: false,
            ..self
        }
    }

    const fn keeping_error_number(self) -> Self {
        Self {
            sets_error_number: false,
            ..self
        }
    }

    const fn under_fmtonly(self) -> Self {
        Self {
            runs_under_fmtonly: true,
            ..self
        }
    }

    const fn with(self, first: &'s [Statement], second: &'s [Statement]) -> Self {
        Self {
            inside: [first, second],
            ..self
        }
    }
}

/// The facts of most statements of a family; the rows of the table name what differs.
const fn facts<'s>(name: &'static str, family: StatementFamily, in_function: InFunction) -> StatementFacts<'s> {
    StatementFacts {
        name,
        family,
        done: DoneKind::Other,
        in_function,
        statement_type: "STATEMENT",
        needs_database: true,
        sets_error_number: true,
        runs_under_fmtonly: false,
        inside: [&[], &[]],
    }
}

/// Reads or changes rows.
const fn rows<'s>(name: &'static str, done: DoneKind) -> StatementFacts<'s> {
    let rows = facts(name, StatementFamily::Rows, InFunction::ByContent);
    rows.done(done).statement_type(name)
}

/// Decides which statements run.
const fn flow<'s>(name: &'static str) -> StatementFacts<'s> {
    facts(name, StatementFamily::Flow, InFunction::Allowed).without_database()
}

/// Acts on the session, and on nothing that outlives a function.
const fn local<'s>(name: &'static str) -> StatementFacts<'s> {
    facts(name, StatementFamily::Session, InFunction::Allowed)
}

/// Talks, fails or waits.
const fn talks<'s>(name: &'static str) -> StatementFacts<'s> {
    facts(name, StatementFamily::Session, InFunction::Talks)
}

/// Changes what outlives a function.
const fn changes<'s>(name: &'static str) -> StatementFacts<'s> {
    facts(name, StatementFamily::Session, InFunction::Changes)
}

/// Changes definitions.
const fn defines<'s>(name: &'static str, done: DoneKind) -> StatementFacts<'s> {
    facts(name, StatementFamily::Definitions, InFunction::Changes).done(done)
}

/// Acts on databases and on the server.
const fn system<'s>(name: &'static str, done: DoneKind) -> StatementFacts<'s> {
    facts(name, StatementFamily::System, InFunction::Changes).done(done)
}

/// The name of a statement of which SQL Server's is not known: its batch's.
const BATCH: &str = "BATCH";

impl StatementKind {
    /// What is so of every statement of this kind. See the module.
    pub fn facts(&self) -> StatementFacts<'_> {
        use DoneKind as Done;
        match self {
            Self::Select(_) => rows("SELECT", Done::Select),
            Self::Insert(_) => rows("INSERT", Done::Insert),
            Self::Update(_) => rows("UPDATE", Done::Update),
            Self::Delete(_) => rows("DELETE", Done::Delete),
            Self::Merge(_) => rows("MERGE", Done::Merge),
            Self::TruncateTable(_) => defines("TRUNCATE TABLE", Done::Other),
            Self::BulkInsert(_) => changes("BULK INSERT"),
            Self::InsertBulk(_) => changes("BULK INSERT").done(Done::BulkLoad),
            Self::ReadText(_) => rows("READTEXT", Done::Select),
            Self::WriteText(write) => rows(write.name, Done::Other),
            Self::CreateTable(_) => defines("CREATE TABLE", Done::CreateTable),
            Self::AlterTable(_) => defines("ALTER TABLE", Done::AlterTable),
            Self::CreateIndex(_) => defines("CREATE INDEX", Done::CreateIndex),
            Self::AlterIndex(_) => defines("ALTER INDEX", Done::AlterIndex),
            Self::DropIndex(_) => defines("DROP INDEX", Done::DropIndex),
            Self::Drop(drop) => dropped(drop.kind),
            Self::CreateStatistics(_) => defines("CREATE STATISTICS", Done::Other),
            Self::UpdateStatistics(_) => defines("UPDATE STATISTICS", Done::Other),
            Self::DropStatistics(_) => defines("DROP STATISTICS", Done::DropStatistics),
            Self::CreateSchema(_) => defines("CREATE SCHEMA", Done::CreateSchema),
            Self::AlterSchema(_) => defines("ALTER SCHEMA", Done::Other),
            Self::CreateType(_) => defines("CREATE TYPE", Done::CreateType),
            Self::CreateProcedure(_) => defines("CREATE PROCEDURE", Done::CreateProcedure),
            Self::CreateFunction(_) => defines("CREATE FUNCTION", Done::CreateFunction),
            Self::CreateView(_) => defines("CREATE VIEW", Done::CreateView),
            Self::CreateSynonym(_) => defines("CREATE SYNONYM", DoneKind::Other),
            Self::CreateStandalone(created) => defines(created.statement(), Done::Other),
            Self::Partition(_) | Self::Principal(_) | Self::FullText(_) => defines(named_by_content(self), Done::Other),
            Self::CreateSequence(sequence) => sequence_facts(sequence.definition),
            Self::XmlSchema(_) => defines("CREATE XML SCHEMA COLLECTION", Done::Other),
            Self::CreateTrigger(_) | Self::CreateDatabaseTrigger(_) => defines("CREATE TRIGGER", Done::CreateTrigger),
            Self::SwitchTriggers(switch) => defines(switch_name(switch.enable), Done::Other),
            Self::CreateDatabase(_) => system("CREATE DATABASE", Done::CreateDatabase),
            Self::AlterDatabase(_) => system("ALTER DATABASE", Done::AlterDatabase).without_database(),
            Self::Use(_) => facts("USE DATABASE", StatementFamily::Session, InFunction::ByContent).without_database(),
            Self::Backup(backup) => system(["BACKUP DATABASE", "BACKUP LOG"][usize::from(backup.log)], Done::Other),
            Self::Restore(restore) => system(restore_name(restore.kind), Done::Other).without_database(),
            Self::Dbcc(_) => system("DBCC", Done::Dbcc),
            Self::Checkpoint(_) => system("CHECKPOINT", Done::Other),
            Self::Shutdown { .. } => system("SHUTDOWN", Done::Shutdown).without_database(),
            Self::Kill { .. } => system("KILL", Done::Other).without_database(),
            Self::Reconfigure { .. } => system("RECONFIGURE", Done::Other),
            Self::Permission(permission) => permission_facts(permission.action),
            Self::BeginTransaction { .. } => changes("BEGIN TRANSACTION").done(Done::BeginTransaction),
            Self::CommitTransaction { .. } => ends_transaction("COMMIT TRANSACTION", Done::CommitTransaction),
            Self::RollbackTransaction { .. } => ends_transaction("ROLLBACK TRANSACTION", Done::RollbackTransaction),
            Self::SaveTransaction(_) => changes("SAVEPOINT"),
            Self::Declare(_) => assigns().keeping_error_number(),
            Self::SetVariable(_) => assigns(),
            Self::DeclareCursor(_) | Self::SetCursorVariable(_) => local(BATCH),
            Self::OpenCursor(_) | Self::CloseCursor(_) | Self::DeallocateCursor(_) => local(BATCH),
            Self::FetchCursor(_) => local(BATCH).in_function(InFunction::ByContent),
            Self::SetOption(option) => set(option),
            Self::Block(statements) => flow(BATCH).with(statements, &[]).under_fmtonly(),
            Self::If(branch) => flow("CONDITIONAL").with(from_ref(&branch.then), branch.otherwise.as_slice()),
            Self::While(repeated) => flow("WHILE").with(from_ref(&repeated.body), &[]),
            Self::Break | Self::Continue | Self::Return(_) | Self::Goto(_) | Self::Label(_) => flow(BATCH),
            Self::TryCatch { attempt, handler } => tries(attempt, handler),
            Self::Throw(_) => talks("THROW"),
            Self::RaiseError(_) => talks("RAISERROR").keeping_error_number(),
            Self::Print(_) => talks("PRINT").without_database(),
            Self::WaitFor { .. } => talks("WAITFOR"),
            Self::Execute(_) => executes(),
            Self::ExecuteAs(_) | Self::Revert(_) => changes(BATCH),
        }
    }
}

/// The name of a statement that names itself.
fn named_by_content(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::Partition(partition) => partition.name(),
        StatementKind::Principal(principal) => principal.name(),
        StatementKind::FullText(full_text) => full_text.name(),
        _ => BATCH,
    }
}

fn switch_name(enable: bool) -> &'static str {
    ["DISABLE TRIGGER", "ENABLE TRIGGER"][usize::from(enable)]
}

fn sequence_facts<'s>(definition: DefinitionKind) -> StatementFacts<'s> {
    let is_new = definition == DefinitionKind::Create;
    defines(
        ["ALTER SEQUENCE", "CREATE SEQUENCE"][usize::from(is_new)],
        DoneKind::Other,
    )
}

/// The name of every DROP of an object.
const DROP: &str = "DROP OBJECT";

const fn dropped<'s>(kind: ObjectKind) -> StatementFacts<'s> {
    const NAME: &str = DROP;
    match kind {
        ObjectKind::Table => defines(NAME, DoneKind::DropTable),
        ObjectKind::View => defines(NAME, DoneKind::DropView),
        ObjectKind::Procedure => defines(NAME, DoneKind::DropProcedure),
        ObjectKind::Function => defines(NAME, DoneKind::DropFunction),
        ObjectKind::Sequence | ObjectKind::Synonym | ObjectKind::XmlSchemaCollection => defines(NAME, DoneKind::Other),
        ObjectKind::Default | ObjectKind::Rule => defines(NAME, DoneKind::Other),
        ObjectKind::Trigger | ObjectKind::DatabaseTrigger => defines(NAME, DoneKind::DropTrigger),
        ObjectKind::Schema => defines(NAME, DoneKind::DropSchema),
        ObjectKind::Type => defines(NAME, DoneKind::DropType),
        ObjectKind::Database => system(NAME, DoneKind::DropDatabase),
    }
}

const fn restore_name(kind: RestoreKind) -> &'static str {
    match kind {
        RestoreKind::Log => "RESTORE LOG",
        RestoreKind::Database
        | RestoreKind::HeaderOnly
        | RestoreKind::FileListOnly
        | RestoreKind::LabelOnly
        | RestoreKind::VerifyOnly => "RESTORE DATABASE",
    }
}

const fn permission_facts<'s>(action: PermissionAction) -> StatementFacts<'s> {
    match action {
        PermissionAction::Grant => defines("GRANT", DoneKind::Grant),
        PermissionAction::Deny => defines("DENY", DoneKind::Deny),
        PermissionAction::Revoke => defines("REVOKE", DoneKind::Revoke),
    }
}

const fn ends_transaction<'s>(name: &'static str, done: DoneKind) -> StatementFacts<'s> {
    changes(name).done(done).without_database()
}

const fn assigns<'s>() -> StatementFacts<'s> {
    local(BATCH).done(DoneKind::Assign).statement_type("ASSIGN")
}

const fn executes<'s>() -> StatementFacts<'s> {
    let executes = facts("EXECUTE", StatementFamily::Session, InFunction::ByContent);
    let executes = executes.done(DoneKind::Execute).statement_type("EXECUTE");
    executes.keeping_error_number().under_fmtonly()
}

/// TRY and CATCH, which a function's body may not contain.
const fn tries<'s>(attempt: &'s [Statement], handler: &'s [Statement]) -> StatementFacts<'s> {
    let tries = flow("BEGIN TRY").in_function(InFunction::Talks);
    tries.with(attempt, handler).under_fmtonly()
}

/// SET of an option. Its name and what clients learn depend on the option.
fn set(option: &SetOption) -> StatementFacts<'_> {
    let (name, done) = match option {
        SetOption::Switch { options, on } => {
            let is_statistics = options.iter().any(|option| option.starts_with("STATISTICS"));
            let name = match (is_statistics, on) {
                (true, true) => "SET STATISTICS ON",
                (true, false) => "SET STATISTICS OFF",
                (false, true) => "SET OPTION ON",
                (false, false) => "SET OPTION OFF",
            };
            (name, turned(*on))
        }
        SetOption::IdentityInsert { on: true, .. } => ("SET IDENTITY_INSERT ON", DoneKind::SetOn),
        SetOption::IdentityInsert { on: false, .. } => ("SET IDENTITY_INSERT OFF", DoneKind::SetOff),
        SetOption::IsolationLevel(_) => ("SET TRANSACTION ISOLATION LEVEL", DoneKind::Other),
        SetOption::Value { option, .. } if option == "ROWCOUNT" => ("SET ROW COUNT", DoneKind::Other),
        SetOption::Value { option, .. } if option == "TEXTSIZE" => ("SET TEXTSIZE", DoneKind::Other),
        SetOption::Value { .. } => ("SET COMMAND", DoneKind::Other),
    };
    let set = changes(name).done(done).statement_type("SET ON/OFF");
    set.without_database().under_fmtonly()
}

const fn turned(on: bool) -> DoneKind {
    if on { DoneKind::SetOn } else { DoneKind::SetOff }
}
