//! Variables, control of flow, transactions, session options, EXECUTE and cursors.

use super::{DataType, Expression, Identifier, Name, Query, Statement, TableElement};

/// `=` or a compound assignment operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignmentOperator {
    /// `=`
    Assign,
    /// `+=` and its kin: the value is `target operator value`.
    Compound(super::BinaryOperator),
}

/// `@v operator value`.
#[derive(Debug, Clone, PartialEq)]
pub struct VariableAssignment {
    /// The variable, with its `@`.
    pub variable: String,
    pub operator: AssignmentOperator,
    pub value: Expression,
    /// `SET @x.modify(value)`: the value is a change of the xml in the variable.
    pub is_modified: bool,
}

/// One variable of DECLARE.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// Line of the variable's name.
    pub line: u32,
    /// The variable, with its `@`.
    pub variable: String,
    pub kind: DeclarationKind,
}

/// What a declared variable holds.
#[derive(Debug, Clone, PartialEq)]
pub enum DeclarationKind {
    Scalar {
        /// Its type; a user-defined table type makes a table variable.
        data_type: DataType,
        /// `= value`.
        initial: Option<Expression>,
    },
    /// `TABLE (...)`.
    Table(Vec<TableElement>),
    Cursor,
}

/// Longest name of a transaction or savepoint, in characters (sql-docs, SAVE TRANSACTION).
pub const TRANSACTION_NAME_CHARACTERS_MAX: usize = 32;

/// The name of a transaction or savepoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionName {
    /// As written.
    Name(Identifier),
    /// In a variable, with its `@`.
    Variable(String),
}

/// `WITH MARK ['description']` of BEGIN TRANSACTION.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactionMark {
    /// A string constant or a variable, if given.
    pub description: Option<Expression>,
}

/// `IF condition statement [ELSE statement]`.
#[derive(Debug, Clone, PartialEq)]
pub struct If {
    pub condition: Expression,
    /// The statement if it holds.
    pub then: Statement,
    /// The statement if it does not.
    pub otherwise: Option<Statement>,
}

/// `WHILE condition statement`.
#[derive(Debug, Clone, PartialEq)]
pub struct While {
    pub condition: Expression,
    pub body: Statement,
}

/// `THROW number, message, state`.
#[derive(Debug, Clone, PartialEq)]
pub struct Throw {
    /// 50000 or more.
    pub number: Expression,
    pub message: Expression,
    /// 0 to 255.
    pub state: Expression,
}

/// `RAISERROR (message, severity, state, arguments...) WITH ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct RaiseError {
    /// A text, a variable, or a message number.
    pub message: Expression,
    pub severity: Expression,
    pub state: Expression,
    /// What the message's placeholders take.
    pub arguments: Vec<Expression>,
    /// `WITH NOWAIT`.
    pub no_wait: bool,
    pub log: bool,
    /// `WITH SETERROR`.
    pub set_error: bool,
}

/// Kinds of WAITFOR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitForKind {
    /// `DELAY`: a span.
    Delay,
    /// `TIME`: a time of day.
    Time,
}

/// `EXECUTE AS CALLER | LOGIN = | USER =` as a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteAs {
    pub context: ExecutionContext,
    pub reversion: Reversion,
}

/// Whose context EXECUTE AS asks for. A name is a string or a variable.
#[derive(Debug, Clone, PartialEq)]
pub enum ExecutionContext {
    Caller,
    Login(Expression),
    User(Expression),
}

/// How a context of EXECUTE AS ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reversion {
    /// By REVERT without a cookie.
    Plain,
    /// `WITH NO REVERT`: with the session.
    Never,
    /// `WITH COOKIE INTO @v`: by REVERT WITH COOKIE.
    Cookie(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// `@rc =`.
    pub return_variable: Option<String>,
    pub module: ExecuteModule,
    pub arguments: Vec<Argument>,
    pub recompile: bool,
    /// `WITH RESULT SETS`; `None` without it, and for UNDEFINED, which asks for nothing.
    pub result_sets: Option<Vec<ResultSet>>,
    /// `AS LOGIN = 'name'`, `AS USER = 'name'` behind a text.
    pub execute_as: Option<ExecutionContext>,
}

/// A result set of `WITH RESULT SETS (...)`; NONE is a list without any.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultSet {
    Columns(Vec<ResultSetColumn>),
    /// `AS OBJECT name`: the columns of a table or view.
    Object(Name),
    /// `AS TYPE name`: those of a table type.
    Type(Name),
    /// `AS FOR XML`
    Xml,
}

/// `name type [COLLATE collation] [NULL | NOT NULL]`
#[derive(Debug, Clone, PartialEq)]
pub struct ResultSetColumn {
    pub name: Identifier,
    pub data_type: DataType,
    pub collation: Option<Identifier>,
    /// Without a word it may be NULL.
    pub nullable: Option<bool>,
}

/// What EXECUTE runs.
#[derive(Debug, Clone, PartialEq)]
pub enum ExecuteModule {
    /// A procedure by name.
    Procedure(Name),
    /// A procedure whose name is in a variable.
    Variable(String),
    /// `EXEC (text)`.
    Text(Expression),
}

/// One argument of a procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// `@name =`.
    pub name: Option<String>,
    /// The value; a bare word comes as nvarchar text, `DEFAULT` as [`super::Literal::Default`].
    pub value: Expression,
    pub output: bool,
}

/// A SET of a session option.
#[derive(Debug, Clone, PartialEq)]
pub enum SetOption {
    /// `SET A, B ON | OFF`: the options in upper case.
    Switch {
        /// `NOCOUNT`, `XACT_ABORT`, ...; `STATISTICS IO` and its kin with a blank.
        options: Vec<String>,
        /// On or off.
        on: bool,
    },
    /// `SET option value`: `LOCK_TIMEOUT`, `DATEFORMAT`, `LANGUAGE`, `TEXTSIZE`, `ROWCOUNT`, `DATEFIRST`,
    /// `DEADLOCK_PRIORITY`, `CONTEXT_INFO`, `QUERY_GOVERNOR_COST_LIMIT`. A bare word comes as varchar text.
    Value {
        /// The option in upper case.
        option: String,
        value: Expression,
    },
    /// `SET TRANSACTION ISOLATION LEVEL`.
    IsolationLevel(IsolationLevel),
    /// `SET IDENTITY_INSERT table ON | OFF`.
    IdentityInsert {
        table: Name,
        /// On or off.
        on: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}

/// A cursor by name or variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorReference {
    /// The name, or the variable with its `@`.
    pub name: String,
    /// `GLOBAL name`.
    pub global: bool,
}

/// `DECLARE name CURSOR options FOR query`.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclareCursor {
    /// The cursor, or the variable with its `@`.
    pub name: String,
    /// `LOCAL`, `FAST_FORWARD`, `SCROLL`, `INSENSITIVE`, ... in upper case.
    pub options: Vec<String>,
    /// How many of the options are written before the word CURSOR, as in the ISO form.
    pub options_before: usize,
    pub query: Query,
    pub for_update: bool,
    pub update_columns: Vec<Identifier>,
    pub read_only: bool,
}

/// `FETCH direction FROM cursor INTO variables`.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchCursor {
    pub direction: FetchDirection,
    pub cursor: CursorReference,
    /// The variables, with their `@`; empty to send the row to the client.
    pub into: Vec<String>,
}

/// Where FETCH moves.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchDirection {
    /// `NEXT`, the default.
    Next,
    Prior,
    First,
    Last,
    /// `ABSOLUTE n`
    Absolute(Expression),
    /// `RELATIVE n`
    Relative(Expression),
}
