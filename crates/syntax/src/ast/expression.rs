//! Expressions and conditions, and the data types they name.

use super::{Identifier, Name, NodeNumber, Query};

/// An expression with its line.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// Line of the expression's first token (of its operator for binary operators), from 1.
    pub line: u32,
    /// Where the first byte of a constant stands in the text; 0 of anything else.
    pub start: u32,
    /// Its number, if it stands where a statement wants an expression.
    pub number: NodeNumber,
    pub kind: ExpressionKind,
}

impl Expression {
    /// An expression without a number.
    pub fn new(line: u32, kind: ExpressionKind) -> Expression {
        Expression {
            line,
            start: 0,
            number: NodeNumber::default(),
            kind,
        }
    }
}

/// All expressions. Those for which [`ExpressionKind::is_condition`] holds yield a truth value and stand only where the
/// grammar wants one; all others yield a scalar. The parser keeps the two apart.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpressionKind {
    Literal(Literal),
    /// `@name`, with the `@`.
    Variable(String),
    /// `@@name`, with both `@`.
    GlobalVariable(String),
    /// `IDENTITY(type, seed, increment)`.
    Identity(Box<IdentityColumn>),
    /// A column, or a bare word where functions take one (`day` in `DATEADD(day, 1, x)`).
    Column(Name),
    /// `$IDENTITY`, `$ROWGUID`, `$action`, with the `$`.
    PseudoColumn(String),
    /// `-x`, `+x`, `~x`.
    Unary {
        operator: UnaryOperator,
        operand: Box<Expression>,
    },
    /// Arithmetic and bit operators; `+` also concatenates.
    Binary {
        left: Box<Expression>,
        operator: BinaryOperator,
        right: Box<Expression>,
    },
    /// `CASE`, both forms.
    Case(Box<Case>),
    /// `CAST(x AS type)` and `TRY_CAST`.
    Cast(Box<Cast>),
    /// `CONVERT(type, x, style)` and `TRY_CONVERT`.
    Convert(Box<Convert>),
    /// `PARSE(x AS type USING culture)` and `TRY_PARSE`.
    Parse(Box<Parse>),
    /// A function call, `COALESCE`, `NULLIF` and `IIF` among them.
    Function(Box<FunctionCall>),
    /// `(SELECT ...)` as a scalar.
    Subquery(Box<Query>),
    /// `x COLLATE name`.
    Collate {
        operand: Box<Expression>,
        collation: Identifier,
    },
    /// `x AT TIME ZONE zone`.
    AtTimeZone {
        /// The date and time.
        operand: Box<Expression>,
        zone: Box<Expression>,
    },
    /// `NEXT VALUE FOR sequence [OVER (ORDER BY ...)]`.
    NextValueFor(Box<NextValue>),

    /// `a AND b AND c`: two or more conditions, flattened.
    And(Vec<Expression>),
    /// `a OR b OR c`: two or more conditions, flattened.
    Or(Vec<Expression>),
    /// `NOT condition`.
    Not(Box<Expression>),
    /// `left operator right`.
    Comparison {
        left: Box<Expression>,
        operator: ComparisonOperator,
        right: Box<Expression>,
    },
    /// `left operator ALL | ANY | SOME (query)`.
    Quantified {
        left: Box<Expression>,
        operator: ComparisonOperator,
        /// True for `ALL`, false for `ANY` and `SOME`.
        all: bool,
        query: Box<Query>,
    },
    /// `x [NOT] BETWEEN low AND high`.
    Between(Box<Between>),
    /// `x [NOT] IN (a, b, c)`.
    InList {
        /// The value looked for.
        operand: Box<Expression>,
        /// True for `NOT IN`.
        negated: bool,
        /// The list, at least one long.
        list: Vec<Expression>,
    },
    /// `x [NOT] IN (SELECT ...)`.
    InQuery {
        /// The value looked for.
        operand: Box<Expression>,
        /// True for `NOT IN`.
        negated: bool,
        query: Box<Query>,
    },
    /// `x [NOT] LIKE pattern [ESCAPE character]`.
    Like(Box<Like>),
    /// `x IS [NOT] NULL`.
    IsNull {
        operand: Box<Expression>,
        /// True for `IS NOT NULL`.
        negated: bool,
    },
    /// `x IS [NOT] DISTINCT FROM y` (SQL Server 2022).
    IsDistinct {
        left: Box<Expression>,
        right: Box<Expression>,
        /// True for `IS NOT DISTINCT FROM`.
        negated: bool,
    },
    /// `EXISTS (SELECT ...)`.
    Exists(Box<Query>),
}

impl ExpressionKind {
    /// True for what yields a truth value rather than a scalar.
    pub fn is_condition(&self) -> bool {
        matches!(
            self,
            Self::And(_)
                | Self::Or(_)
                | Self::Not(_)
                | Self::Comparison { .. }
                | Self::Quantified { .. }
                | Self::Between(_)
                | Self::InList { .. }
                | Self::InQuery { .. }
                | Self::Like(_)
                | Self::IsNull { .. }
                | Self::IsDistinct { .. }
                | Self::Exists(_)
        )
    }
}

/// A constant. Types are SQL Server's: whole numbers beyond `int` are `numeric(p, 0)`, not `bigint`.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    /// A whole number within `int`, without sign.
    Integer(i32),
    /// `numeric(precision, scale)`.
    Decimal(Box<DecimalLiteral>),
    /// A number with an exponent: `float`.
    Float(f64),
    /// `$1.5`: money in units of 1/10,000, without sign.
    Money(i64),
    /// `'text'`: varchar.
    Text(String),
    /// `N'text'`: nvarchar.
    NationalText(String),
    /// `0x...`: varbinary. An odd count of digits has a zero put in front.
    Binary(Vec<u8>),
    /// The word `DEFAULT` as a value in `INSERT ... VALUES`, `UPDATE ... SET` and procedure arguments.
    Default,
}

/// An exact number: `unscaled / 10^scale`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecimalLiteral {
    /// All digits as one whole number, at most 38 of them.
    pub unscaled: u128,
    /// Count of significant digits, 1 to 38; leading zeros are not counted.
    pub precision: u8,
    /// Count of digits after the point, at most `precision`.
    pub scale: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOperator {
    Minus,
    Plus,
    BitNot,
}

/// Arithmetic and bit operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`, also of strings and dates.
    Add,
    Subtract,
    /// `*`
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOperator {
    /// `=`
    Equal,
    /// `<>` and `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=` and `!>`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=` and `!<`
    GreaterOrEqual,
}

/// `CASE [operand] WHEN ... THEN ... [ELSE ...] END`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Present in the simple form; then each branch's `when` is a scalar to compare with, else a condition.
    pub operand: Option<Expression>,
    /// The branches in order, at least one.
    pub branches: Vec<CaseBranch>,
    /// The `ELSE` value.
    pub otherwise: Option<Expression>,
}

/// `WHEN when THEN then`.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBranch {
    /// A condition, or a scalar in the simple form.
    pub when: Expression,
    pub then: Expression,
}

/// `CAST` and `TRY_CAST`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cast {
    pub operand: Expression,
    pub data_type: DataType,
    /// True for `TRY_CAST`: NULL instead of an error.
    pub or_null: bool,
}

/// `IDENTITY(type, seed, increment)` in the list of a SELECT INTO.
#[derive(Debug, Clone, PartialEq)]
pub struct IdentityColumn {
    pub data_type: DataType,
    /// 1 unless it is written.
    pub seed: i128,
    /// 1 unless it is written.
    pub increment: i128,
}

/// `CONVERT` and `TRY_CONVERT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Convert {
    pub data_type: DataType,
    pub operand: Expression,
    pub style: Option<Expression>,
    /// True for `TRY_CONVERT`: NULL instead of an error.
    pub or_null: bool,
}

/// `PARSE` and `TRY_PARSE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Parse {
    pub operand: Expression,
    pub data_type: DataType,
    pub culture: Option<Expression>,
    /// True for `TRY_PARSE`: NULL instead of an error.
    pub or_null: bool,
}

/// A function call. Functions written without parentheses (`CURRENT_TIMESTAMP`, `SYSTEM_USER`, ...) are calls without
/// arguments. `TRIM(characters FROM text)` becomes `TRIM(characters, text)`.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    pub name: Name,
    /// `x.name(...)` behind an expression, which is the first argument then.
    pub is_method: bool,
    /// `x.name` behind an expression, or `geometry::Null`: there are no parentheses.
    pub is_property: bool,
    /// `hierarchyid::Parse(...)`, `geometry::Point(...)`: a static method; the parts of the name before the last are those of the type.
    pub is_static: bool,
    /// The prefixes that a method of xml knows.
    pub namespaces: super::XmlNamespaces,
    /// Its arguments; empty for `COUNT(*)`. The first argument of `IIF` is a condition.
    pub arguments: Vec<Expression>,
    /// `COUNT(*)`.
    pub star: bool,
    /// `SUM(DISTINCT x)`.
    pub distinct: bool,
    /// `JSON_QUERY(... WITH ARRAY WRAPPER)`.
    pub has_array_wrapper: bool,
    /// `WITHIN GROUP (ORDER BY ...)`.
    pub within_group: Vec<OrderItem>,
    /// `OVER (...)`.
    pub over: Option<Over>,
}

/// `NEXT VALUE FOR sequence [OVER (ORDER BY ...)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct NextValue {
    pub sequence: Name,
    /// `OVER (ORDER BY ...)`: the order in which rows get their values, as the ROW_NUMBER that counts them.
    pub order: Option<FunctionCall>,
}

/// `OVER ([name] PARTITION BY ... ORDER BY ... frame)`, `OVER name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Over {
    /// The window of the WINDOW clause that it is or goes on from.
    pub base: Option<Identifier>,
    pub partition_by: Vec<Expression>,
    pub order_by: Vec<OrderItem>,
    /// `ROWS` or `RANGE`.
    pub frame: Option<Frame>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// True for `ROWS`, false for `RANGE`.
    pub rows: bool,
    pub start: FrameBound,
    /// Where it ends; `CURRENT ROW` if only one bound is written.
    pub end: FrameBound,
}

/// One end of a window frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    /// `n PRECEDING`
    Preceding(u64),
    CurrentRow,
    /// `n FOLLOWING`
    Following(u64),
    UnboundedFollowing,
}

/// One key of `ORDER BY`.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// The key; a whole number is a position in the select list.
    pub expression: Expression,
    /// True for `DESC`.
    pub descending: bool,
}

/// `x [NOT] BETWEEN low AND high`.
#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    pub operand: Expression,
    /// True for `NOT BETWEEN`.
    pub negated: bool,
    pub low: Expression,
    pub high: Expression,
}

/// `x [NOT] LIKE pattern [ESCAPE character]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Like {
    pub operand: Expression,
    /// True for `NOT LIKE`.
    pub negated: bool,
    pub pattern: Expression,
    pub escape: Option<Expression>,
}

/// A data type as written, such as `decimal(10, 2)` or `varchar(max)`. ISO names of several words come as SQL Server's
/// own (`character varying` as `varchar`, `national character` as `nchar`, `double precision` as `float`, ...).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    pub name: Name,
    /// What stands in parentheses.
    pub arguments: Vec<TypeArgument>,
}

/// A length, precision or scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeArgument {
    Number(u32),
    Max,
    /// `xml ([CONTENT | DOCUMENT] collection)`
    Collection {
        name: Name,
        is_document: bool,
    },
}
