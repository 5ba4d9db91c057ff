//! The parse tree of an XQuery text.

/// A text of XQuery, read.
#[derive(Debug)]
pub struct Query {
    pub body: Expression,
    /// What it asks of the statement around it, by the numbers of [`Expression::External`].
    pub externals: Vec<External>,
}

/// A value of the statement around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum External {
    /// `sql:variable("@x")`
    Variable(String),
    /// `sql:column("t.c")`
    Column(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    WholeDivide,
    Modulo,
}

#[derive(Debug)]
pub enum Expression {
    Text(String),
    Number(f64),
    /// `(a, b)`
    Sequence(Vec<Expression>),
    /// `.`
    Context,
    /// The document that the context is in.
    Root,
    /// `$name`
    Variable(String),
    External(usize),
    Or(Vec<Expression>),
    And(Vec<Expression>),
    Compare(Comparison, Box<Expression>, Box<Expression>),
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    Negate(Box<Expression>),
    /// What a step finds from each node of the left side.
    Step(Box<Expression>, Step),
    /// Those for which all predicates hold, counted through the whole sequence: `(a)[1]`.
    Filter(Box<Expression>, Vec<Expression>),
    Call(Function, Vec<Expression>),
    /// `xs:int(...)`: a value made one of a type.
    Typed(AtomicType, Box<Expression>),
    If(Box<[Expression; 3]>),
    For {
        clauses: Vec<Clause>,
        /// `order by`: each key, and whether it descends; empty without one.
        order: Vec<(Expression, bool)>,
        result: Box<Expression>,
    },
    /// `some $x in ... satisfies ...`, `every ...`
    Quantified {
        is_every: bool,
        bindings: Vec<(String, Expression)>,
        condition: Box<Expression>,
    },
    /// `a | b`: the nodes of both, in the order of the document.
    Union(Vec<Expression>),
    Constructor(Box<Constructor>),
}

/// `for $x in ...`, `let $x := ...`, `where ...`.
#[derive(Debug)]
pub enum Clause {
    For(String, Expression),
    Let(String, Expression),
    Where(Expression),
}

/// What makes a node.
#[derive(Debug)]
pub enum Constructor {
    /// `<name xmlns:p="..." a="...">...</name>`, `element name { ... }`
    Element {
        /// As it is written.
        name: String,
        /// Prefixes and addresses that the element declares: those written, and those of the query that no constructor around it declares.
        declared: Vec<(String, String)>,
        attributes: Vec<(String, Vec<Part>)>,
        content: Vec<Part>,
    },
    /// `attribute name { ... }`
    Attribute(String, Expression),
    /// `text { ... }`
    Text(Expression),
    /// `<!-- ... -->`
    Comment(String),
    /// `<?target ...?>`, whole
    Instruction(String),
}

/// A part of the content of an element, or of the value of an attribute.
#[derive(Debug)]
pub enum Part {
    Text(String),
    /// `{ ... }`, or a constructor within an element.
    Value(Expression),
}

/// A text of XML DML (sql-docs, "XML Data Modification Language").
#[derive(Debug)]
pub struct Modification {
    pub change: Change,
    /// As in a [`Query`].
    pub externals: Vec<External>,
}

#[derive(Debug)]
pub enum Change {
    /// `insert content place target`
    Insert {
        content: Expression,
        place: Place,
        target: Expression,
    },
    /// `delete nodes`
    Delete(Expression),
    /// `replace value of target with value`
    Replace { target: Expression, value: Expression },
}

/// Where nodes are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `into`, `as last into`
    Last,
    /// `as first into`
    First,
    Before,
    After,
}

/// A step of a path.
#[derive(Debug)]
pub struct Step {
    pub axis: Axis,
    pub test: Test,
    pub predicates: Vec<Expression>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Attribute,
    Itself,
    Parent,
}

#[derive(Debug)]
pub enum Test {
    /// A name with its address.
    Name {
        namespace: String,
        local: String,
    },
    /// `*`
    AnyName,
    /// `p:*`
    AnyOf(String),
    /// `*:name`
    AnyNamespace(String),
    /// `node()`
    Node,
    Text,
    Comment,
    Instruction,
}

/// The types whose constructors there are (sql-docs, "Constructor functions (XQuery)").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicType {
    Text,
    Truth,
    /// `xs:double`, `xs:float`, `xs:decimal`
    Number,
    /// A whole number between the two.
    Whole(i64, i64),
    Binary(BinaryForm),
}

/// How bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryForm {
    /// `xs:base64Binary`
    Base64,
    /// `xs:hexBinary`
    Hexadecimal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Average,
    Concat,
    Contains,
    Count,
    Data,
    Distinct,
    Empty,
    False,
    Last,
    LocalName,
    LowerCase,
    Maximum,
    Minimum,
    NamespaceUri,
    Not,
    Number,
    Position,
    Text,
    TextLength,
    Substring,
    Sum,
    True,
    UpperCase,
}

impl Expression {
    /// Whether it has one item at most whatever the document is: what `value()` demands (error 2389).
    pub fn is_singleton(&self) -> bool {
        match self {
            Expression::Sequence(items) => match items.as_slice() {
                [] => true,
                [only] => only.is_singleton(),
                _ => false,
            },
            Expression::Filter(operand, predicates) => operand.is_singleton() || predicates.iter().any(is_place),
            Expression::Step(left, step) => {
                let is_one = match step.axis {
                    Axis::Attribute => matches!(step.test, Test::Name { .. }),
                    Axis::Itself | Axis::Parent => true,
                    Axis::Child | Axis::Descendant | Axis::DescendantOrSelf => false,
                };
                left.is_singleton()
                    && (is_one || step.axis != Axis::DescendantOrSelf && step.predicates.iter().any(is_place))
            }
            Expression::Call(function, _) => !matches!(function, Function::Data | Function::Distinct),
            Expression::Typed(..) => true,
            Expression::If(parts) => parts[1].is_singleton() && parts[2].is_singleton(),
            Expression::For { .. } | Expression::Variable(_) | Expression::Union(_) => false,
            Expression::Text(_)
            | Expression::Number(_)
            | Expression::Context
            | Expression::Root
            | Expression::External(_)
            | Expression::Or(_)
            | Expression::And(_)
            | Expression::Compare(..)
            | Expression::Arithmetic(..)
            | Expression::Negate(_)
            | Expression::Quantified { .. }
            | Expression::Constructor(_) => true,
        }
    }

    /// Whether something holds of the expression or of one inside of it.
    pub fn any(&self, is: &dyn Fn(&Expression) -> bool) -> bool {
        if is(self) {
            return true;
        }
        match self {
            Expression::Sequence(items)
            | Expression::Or(items)
            | Expression::And(items)
            | Expression::Union(items)
            | Expression::Call(_, items) => items.iter().any(|item| item.any(is)),
            Expression::Compare(_, left, right) | Expression::Arithmetic(_, left, right) => {
                left.any(is) || right.any(is)
            }
            Expression::Negate(operand) | Expression::Typed(_, operand) => operand.any(is),
            Expression::Step(left, step) => left.any(is) || step.predicates.iter().any(|one| one.any(is)),
            Expression::Filter(operand, predicates) => operand.any(is) || predicates.iter().any(|one| one.any(is)),
            Expression::If(parts) => parts.iter().any(|part| part.any(is)),
            Expression::For { clauses, order, result } => {
                let of_clause = |clause: &Clause| match clause {
                    Clause::For(_, value) | Clause::Let(_, value) | Clause::Where(value) => value.any(is),
                };
                clauses.iter().any(of_clause) || order.iter().any(|(key, _)| key.any(is)) || result.any(is)
            }
            Expression::Quantified {
                bindings, condition, ..
            } => bindings.iter().any(|(_, value)| value.any(is)) || condition.any(is),
            Expression::Constructor(constructor) => constructor.any(is),
            Expression::Text(_)
            | Expression::Number(_)
            | Expression::Context
            | Expression::Root
            | Expression::Variable(_)
            | Expression::External(_) => false,
        }
    }
}

impl Constructor {
    fn any(&self, is: &dyn Fn(&Expression) -> bool) -> bool {
        let of_part = |part: &Part| matches!(part, Part::Value(value) if value.any(is));
        match self {
            Constructor::Element {
                attributes, content, ..
            } => attributes.iter().flat_map(|(_, parts)| parts).any(of_part) || content.iter().any(of_part),
            Constructor::Attribute(_, value) | Constructor::Text(value) => value.any(is),
            Constructor::Comment(_) | Constructor::Instruction(_) => false,
        }
    }
}

/// Whether a predicate leaves one item: `[1]`, `[last()]`.
fn is_place(predicate: &Expression) -> bool {
    matches!(
        predicate,
        Expression::Number(_) | Expression::Call(Function::Last, _) | Expression::External(_)
    )
}
