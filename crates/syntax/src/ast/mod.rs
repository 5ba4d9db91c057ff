//! The abstract syntax tree of a T-SQL batch: plain enums and structs, one file per statement family.
//!
//! Contract:
//! - The tree holds syntax only. No name is resolved, no type is deduced, and no constant is folded.
//! - Every [`Statement`] and every [`Expression`] carries its line, counted from 1 in the text it was parsed from, as SQL
//!   Server reports lines in its errors.
//! - Variable names keep their leading `@` and the letter case they were written in; they compare without case.
//! - The height of any tree is bounded by the parser, so recursive walks (and drops) of a parsed tree are safe.

mod administration;
mod database;
mod expression;
mod facts;
mod flow;
mod full_text;
mod manipulation;
mod module;
mod name_text;
mod partition;
mod principal;
mod query;
mod sequence;
mod standalone;
mod statistics;
mod synonym;
mod table;
mod xml_schema;

pub use administration::*;
pub use database::*;
pub use expression::*;
pub use facts::*;
pub use flow::*;
pub use full_text::FullText;
pub use manipulation::*;
pub use module::*;
pub use partition::{PARTITION_SCOPE, PartitionStatement, SwitchPartition, TruncateTable};
pub use principal::{PrincipalStatement, RoleChange, UserOption, UserSource};
pub use query::*;
pub use sequence::*;
pub use standalone::CreateStandalone;

/// The name of the method that `modify('path', value)` of json becomes; a name without a method that it could be taken for.
pub const JSON_CHANGE: &str = "modify of json";

pub use statistics::*;
pub use synonym::CreateSynonym;
pub use table::*;
pub use xml_schema::*;

use std::fmt;

/// An identifier as written, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identifier {
    /// The name itself, with doubled closing quotes undone. Empty only inside a multi-part name such as `db..table`.
    pub text: String,
    /// True for `[name]` and `"name"`.
    pub quoted: bool,
}

impl Identifier {
    /// An unquoted identifier.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            quoted: false,
        }
    }

    /// True if the name equals `other` without regard to ASCII letter case.
    pub fn is(&self, other: &str) -> bool {
        self.text.eq_ignore_ascii_case(other)
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A name of one to four parts, `server.database.schema.object`; for columns the last part is the column.
///
/// Parts left out in the middle (`db..table`) are present with an empty text. The last part is never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// The parts from left to right; at least one.
    pub parts: Vec<Identifier>,
}

impl Name {
    /// A name of one part.
    pub fn single(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Identifier::new(text)],
        }
    }

    /// The part `index` places left of the last one; `None` if it is missing or empty.
    pub fn part_from_right(&self, index: usize) -> Option<&Identifier> {
        self.parts.iter().rev().nth(index).filter(|part| !part.text.is_empty())
    }

    /// The last part's text: the object (or column) itself.
    pub fn object(&self) -> &str {
        self.parts.last().map_or("", |part| part.text.as_str())
    }

    /// The schema, if one is written.
    pub fn schema(&self) -> Option<&str> {
        self.part_from_right(1).map(|part| part.text.as_str())
    }

    /// Whether it is that of a partition function that is called, `$PARTITION` being written without quotes.
    pub fn is_of_partitions(&self) -> bool {
        let scope = self.part_from_right(1);
        scope.is_some_and(|part| !part.quoted && part.text == PARTITION_SCOPE)
    }

    /// The database, if one is written.
    pub fn database(&self) -> Option<&str> {
        self.part_from_right(2).map(|part| part.text.as_str())
    }

    /// The linked server, if one is written.
    pub fn server(&self) -> Option<&str> {
        self.part_from_right(3).map(|part| part.text.as_str())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            f.write_str(&part.text)?;
        }
        Ok(())
    }
}

/// The number of a node among those of its text that may be bound to a plan: the same text has the same numbers wherever it is
/// parsed, so that a tree may be shared and each session's plans for it found. 0 is the number of nodes that have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeNumber(u32);

impl NodeNumber {
    pub fn new(number: u32) -> NodeNumber {
        NodeNumber(number)
    }

    /// Whether the node has a number.
    pub fn is_given(self) -> bool {
        self.0 != 0
    }
}

/// A node that may be bound to a plan.
pub trait Numbered {
    fn number(&self) -> NodeNumber;
}

macro_rules! numbered {
    ($($node:ty),*) => {
        $(impl Numbered for $node {
            fn number(&self) -> NodeNumber {
                self.number
            }
        })*
    };
}

numbered!(Expression, Query, Insert, Update, Delete, Merge, ReadText);

/// One statement with its line.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Line of the statement's first token, from 1.
    pub line: u32,
    /// Where it stands in the text: from its first byte to behind its last.
    pub span: (u32, u32),
    pub kind: StatementKind,
}

/// All statements the parser knows.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// `SELECT`, with or without common table expressions.
    Select(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    TruncateTable(Box<TruncateTable>),
    /// `BULK INSERT table FROM 'file'`.
    BulkInsert(Box<BulkInsert>),
    /// `INSERT BULK`, the statement bulk copy clients send before a bulk load stream.
    InsertBulk(Box<InsertBulk>),
    /// `READTEXT`.
    ReadText(Box<ReadText>),
    /// `WRITETEXT` and `UPDATETEXT`.
    WriteText(Box<WriteText>),

    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    CreateIndex(Box<CreateIndex>),
    AlterIndex(Box<AlterIndex>),
    DropIndex(Box<DropIndex>),
    /// `DROP TABLE | VIEW | PROCEDURE | FUNCTION | TRIGGER | SEQUENCE | SCHEMA | TYPE | DATABASE`.
    Drop(Box<Drop>),
    CreateStatistics(Box<CreateStatistics>),
    UpdateStatistics(Box<UpdateStatistics>),
    /// `DROP STATISTICS table.name, ...`.
    DropStatistics(Vec<Name>),
    CreateSchema(Box<CreateSchema>),
    AlterSchema(Box<AlterSchema>),
    CreateType(Box<CreateType>),
    /// `CREATE | ALTER PROCEDURE`.
    CreateProcedure(Box<CreateProcedure>),
    /// `CREATE | ALTER FUNCTION`.
    CreateFunction(Box<CreateFunction>),
    /// `CREATE | ALTER VIEW`.
    CreateView(Box<CreateView>),
    /// `CREATE | ALTER SEQUENCE`.
    CreateSequence(Box<CreateSequence>),
    /// `CREATE SYNONYM`
    CreateSynonym(Box<CreateSynonym>),
    /// `CREATE DEFAULT | RULE`
    CreateStandalone(Box<CreateStandalone>),
    /// Partition functions and schemes.
    Partition(Box<PartitionStatement>),
    /// Users, roles and owners.
    Principal(Box<PrincipalStatement>),
    /// `CREATE | DROP FULLTEXT CATALOG | INDEX`.
    FullText(FullText),
    /// `CREATE | ALTER XML SCHEMA COLLECTION`.
    XmlSchema(Box<XmlSchemaText>),
    /// `CREATE | ALTER TRIGGER`.
    CreateTrigger(Box<CreateTrigger>),
    /// `CREATE | ALTER TRIGGER ... ON DATABASE`.
    CreateDatabaseTrigger(Box<CreateDatabaseTrigger>),
    /// `ENABLE | DISABLE TRIGGER`.
    SwitchTriggers(Box<SwitchTriggers>),

    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    /// `USE database`.
    Use(Identifier),
    /// `BACKUP DATABASE | LOG`.
    Backup(Box<Backup>),
    /// `RESTORE`, all kinds.
    Restore(Box<Restore>),

    Dbcc(Box<Dbcc>),
    /// `CHECKPOINT [seconds]`.
    Checkpoint(Option<Expression>),
    /// `SHUTDOWN`; true with `WITH NOWAIT`.
    Shutdown {
        /// True with `WITH NOWAIT`: no checkpoint is taken.
        no_wait: bool,
    },
    /// `KILL session [WITH STATUSONLY]`.
    Kill {
        session: Expression,
        /// Only how far its rollback is.
        status_only: bool,
    },
    /// `RECONFIGURE [WITH OVERRIDE]`.
    Reconfigure {
        /// True with `WITH OVERRIDE`.
        with_override: bool,
    },
    /// `GRANT`, `DENY`, `REVOKE`.
    Permission(Box<Permission>),

    BeginTransaction {
        /// Its name, if given.
        name: Option<TransactionName>,
        /// `WITH MARK`.
        mark: Option<TransactionMark>,
    },
    CommitTransaction {
        /// The name; SQL Server ignores it, and so should the executor.
        name: Option<TransactionName>,
        /// `WITH (DELAYED_DURABILITY = ON | OFF)`.
        delayed_durability: Option<bool>,
    },
    RollbackTransaction {
        /// A savepoint's or the outermost transaction's name.
        name: Option<TransactionName>,
    },
    /// `SAVE TRANSACTION name`.
    SaveTransaction(TransactionName),

    /// `DECLARE` of variables and table variables.
    Declare(Vec<Declaration>),
    /// `DECLARE name CURSOR ... FOR query`.
    DeclareCursor(Box<DeclareCursor>),
    /// `SET @v = expression` and its compound forms.
    SetVariable(Box<VariableAssignment>),
    /// `SET @v = CURSOR ... FOR query`.
    SetCursorVariable(Box<DeclareCursor>),
    /// `SET option[, option...] ON | OFF`, and all other session options.
    SetOption(SetOption),
    /// `BEGIN ... END`.
    Block(Vec<Statement>),
    If(Box<If>),
    While(Box<While>),
    Break,
    Continue,
    /// `RETURN [expression]`.
    Return(Option<Expression>),
    /// `GOTO label`.
    Goto(Identifier),
    /// `label:`.
    Label(Identifier),
    /// `BEGIN TRY ... END TRY BEGIN CATCH ... END CATCH`.
    TryCatch {
        /// The statements of the TRY block.
        attempt: Vec<Statement>,
        /// The statements of the CATCH block.
        handler: Vec<Statement>,
    },
    /// `THROW`, with or without its three arguments.
    Throw(Option<Box<Throw>>),
    /// `RAISERROR`.
    RaiseError(Box<RaiseError>),
    /// `PRINT expression`.
    Print(Expression),
    /// `WAITFOR DELAY | TIME`.
    WaitFor {
        /// Whether the value is a span or a time of day.
        kind: WaitForKind,
        /// A string or a variable.
        value: Expression,
    },
    Execute(Box<Execute>),
    /// `EXECUTE AS`, as a statement.
    ExecuteAs(Box<ExecuteAs>),
    /// `REVERT [WITH COOKIE = value]`.
    Revert(Option<Expression>),
    OpenCursor(CursorReference),
    FetchCursor(Box<FetchCursor>),
    CloseCursor(CursorReference),
    DeallocateCursor(CursorReference),
}
