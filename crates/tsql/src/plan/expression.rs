//! Typed scalar expressions.

use std::sync::Arc;

use engine::types::{SqlType, Value};

use super::Implementation;
use super::{Condition, Label, QueryPlan};
use crate::ast::BinaryOperator;
use crate::modules::ModuleCall;
use crate::scalar::arithmetic::negate;
use crate::scalar::convert::convert;

/// A scalar expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// The type of its values.
    pub sql_type: SqlType,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// The collation of its strings, and whose word that is.
    pub label: Label,
}

/// A query used as a value or a set, with what it needs of the row around it.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// The query; its [`ExprKind::Parameter`]s are the captures.
    pub plan: Arc<QueryPlan>,
    /// Evaluated in the row around the subquery before it runs.
    pub captures: Vec<Expr>,
}

/// What an expression computes.
#[derive(Clone, Debug)]
pub enum ExprKind {
    Constant(Value),
    /// A column of the current row.
    Column(usize),
    /// A value captured from the row around a subquery.
    Parameter(usize),
    /// A variable of the batch.
    Variable(usize),
    /// `left operator right`, both of the operation's operand types.
    Arithmetic {
        operator: BinaryOperator,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `-operand`
    Negate(Box<Expr>),
    /// `~operand`
    BitNot(Box<Expr>),
    /// CAST and CONVERT, written or implied.
    Convert {
        operand: Box<Expr>,
        /// CONVERT's style.
        style: Option<Box<Expr>>,
        /// NULL instead of an error.
        or_null: bool,
    },
    /// The operand's strings under the collation of this expression's label.
    Collate(Box<Expr>),
    /// The first branch whose condition holds.
    Case {
        /// Condition and value.
        branches: Vec<(Condition, Expr)>,
        /// The value when none holds; NULL without it.
        otherwise: Option<Box<Expr>>,
    },
    /// The first argument that is not NULL.
    Coalesce(Vec<Expr>),
    /// A built-in function.
    Function {
        /// In lower case.
        name: &'static str,
        /// Its code.
        implementation: Implementation,
        arguments: Vec<Expr>,
    },
    /// A scalar function of the user; the arguments have the types of its parameters.
    Module {
        call: ModuleCall,
        arguments: Vec<Expr>,
    },
    /// A query of one column and at most one row.
    Subquery(Subquery),
    /// An aggregate, by its place in the SELECT's list of them; replaced by a column before the plan is done.
    Aggregate(usize),
    /// A window function, likewise.
    Window(usize),
}

impl Expr {
    /// An expression that may be NULL.
    pub fn new(kind: ExprKind, sql_type: SqlType) -> Expr {
        Expr {
            kind,
            sql_type,
            nullable: true,
            label: Label::default(),
        }
    }

    pub fn constant(value: Value, sql_type: SqlType) -> Expr {
        let nullable = value.is_null();
        let label = match &value {
            Value::Text(text) => Label::CoercibleDefault(text.collation()),
            _ => Label::default(),
        };
        Expr {
            kind: ExprKind::Constant(value),
            sql_type,
            nullable,
            label,
        }
    }

    /// A column of the current row, of the default collation.
    pub fn column(index: usize, sql_type: SqlType, nullable: bool) -> Expr {
        Expr {
            kind: ExprKind::Column(index),
            sql_type,
            nullable,
            label: Label::default(),
        }
    }

    /// Whether its values are strings of a `max` type, which may be held.
    pub fn is_long_string(&self) -> bool {
        self.sql_type.is_max() && (self.sql_type.is_character() || self.sql_type.is_binary())
    }

    /// Whether this is the word NULL, which takes any type. A NULL that CAST gave a type has that one.
    pub fn is_null_constant(&self) -> bool {
        match &self.kind {
            ExprKind::Constant(Value::Null) => true,
            ExprKind::Collate(operand) => operand.is_null_constant(),
            _ => false,
        }
    }

    /// Whether all rows of a query get the same value, as far as that is known without running it.
    pub fn is_same_for_every_row(&self) -> bool {
        match &self.kind {
            ExprKind::Constant(_) | ExprKind::Variable(_) | ExprKind::Parameter(_) => true,
            ExprKind::Convert { operand, style, .. } => {
                operand.is_same_for_every_row() && style.as_ref().is_none_or(|style| style.is_same_for_every_row())
            }
            ExprKind::Collate(operand) => operand.is_same_for_every_row(),
            ExprKind::Subquery(subquery) => subquery.captures.is_empty(),
            _ => false,
        }
    }

    /// Converted to a type, unless it has it. A string that becomes another keeps its collation.
    pub fn converted(self, sql_type: SqlType) -> Expr {
        if self.sql_type == sql_type {
            return self;
        }
        let label = self.label_in(sql_type);
        if let ExprKind::Constant(value) = &self.kind {
            if value.is_null() {
                return Expr {
                    sql_type,
                    label,
                    ..self
                };
            }
            // A constant is converted once; one that cannot be fails when the statement runs.
            if let Ok(value) = convert(value, self.sql_type, sql_type, None) {
                return Expr::constant(value, sql_type).labelled(label);
            }
        }
        let nullable = self.nullable;
        let kind = ExprKind::Convert {
            operand: Box::new(self),
            style: None,
            or_null: false,
        };
        Expr {
            kind,
            sql_type,
            nullable,
            label,
        }
    }

    /// The label after a conversion: a string keeps its own, what becomes a string has the default one.
    pub fn label_in(&self, sql_type: SqlType) -> Label {
        match self.sql_type.is_character() && sql_type.is_character() {
            true => self.label,
            false => Label::default(),
        }
    }

    /// Computed now, if it is the negation of a constant.
    #[must_use]
    pub fn folded(self) -> Expr {
        if let ExprKind::Negate(operand) = &self.kind
            && let ExprKind::Constant(value) = &operand.kind
            && let Ok(value) = negate(value, self.sql_type)
        {
            return Expr::constant(value, self.sql_type);
        }
        self
    }

    /// Calls `visit` for every expression directly below this one.
    pub fn for_each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Arithmetic { left, right, .. } => {
                visit(left);
                visit(right);
            }
            ExprKind::Negate(operand) | ExprKind::BitNot(operand) | ExprKind::Collate(operand) => visit(operand),
            ExprKind::Convert { operand, style, .. } => {
                visit(operand);
                style.iter().for_each(|style| visit(style));
            }
            ExprKind::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    condition.for_each_expression(visit);
                    visit(value);
                }
                otherwise.iter().for_each(|otherwise| visit(otherwise));
            }
            ExprKind::Coalesce(arguments)
            | ExprKind::Function { arguments, .. }
            | ExprKind::Module { arguments, .. } => arguments.iter().for_each(visit),
            ExprKind::Subquery(subquery) => subquery.captures.iter().for_each(visit),
            ExprKind::Constant(_)
            | ExprKind::Column(_)
            | ExprKind::Parameter(_)
            | ExprKind::Variable(_)
            | ExprKind::Aggregate(_)
            | ExprKind::Window(_) => {}
        }
    }

    /// Calls `change` for every expression directly below this one.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn change_children<E>(&mut self, change: &mut dyn FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
        match &mut self.kind {
            ExprKind::Arithmetic { left, right, .. } => {
                change(left)?;
                change(right)?;
            }
            ExprKind::Negate(operand) | ExprKind::BitNot(operand) | ExprKind::Collate(operand) => change(operand)?,
            ExprKind::Convert { operand, style, .. } => {
                change(operand)?;
                style.iter_mut().try_for_each(|style| change(style))?;
            }
            ExprKind::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    condition.change_expressions(change)?;
                    change(value)?;
                }
                otherwise.iter_mut().try_for_each(|otherwise| change(otherwise))?;
            }
            ExprKind::Coalesce(arguments)
            | ExprKind::Function { arguments, .. }
            | ExprKind::Module { arguments, .. } => {
                arguments.iter_mut().try_for_each(change)?;
            }
            ExprKind::Subquery(subquery) => subquery.captures.iter_mut().try_for_each(change)?,
            _ => {}
        }
        Ok(())
    }

    /// Marks the columns of the current row that this expression reads.
    pub fn mark_columns(&self, used: &mut [bool]) {
        if let ExprKind::Column(index) = self.kind
            && let Some(flag) = used.get_mut(index)
        {
            *flag = true;
        }
        self.for_each_child(&mut |child| child.mark_columns(used));
    }

    /// Whether the two compute the same from the same row: what GROUP BY matches select lists by.
    pub fn same_as(&self, other: &Expr) -> bool {
        if self.sql_type != other.sql_type || self.label.collation() != other.label.collation() {
            return false;
        }
        match (&self.kind, &other.kind) {
            (ExprKind::Constant(left), ExprKind::Constant(right)) => left == right,
            (ExprKind::Column(left), ExprKind::Column(right))
            | (ExprKind::Parameter(left), ExprKind::Parameter(right))
            | (ExprKind::Aggregate(left), ExprKind::Aggregate(right))
            | (ExprKind::Variable(left), ExprKind::Variable(right)) => left == right,
            (
                ExprKind::Arithmetic { operator, left, right },
                ExprKind::Arithmetic {
                    operator: other_operator,
                    left: other_left,
                    right: other_right,
                },
            ) => operator == other_operator && left.same_as(other_left) && right.same_as(other_right),
            (ExprKind::Negate(left), ExprKind::Negate(right))
            | (ExprKind::BitNot(left), ExprKind::BitNot(right))
            | (ExprKind::Collate(left), ExprKind::Collate(right)) => left.same_as(right),
            (
                ExprKind::Convert {
                    operand,
                    style,
                    or_null,
                },
                ExprKind::Convert {
                    operand: other_operand,
                    style: other_style,
                    or_null: other_or_null,
                },
            ) => {
                let same_style = match (style, other_style) {
                    (None, None) => true,
                    (Some(style), Some(other_style)) => style.same_as(other_style),
                    _ => false,
                };
                same_style && or_null == other_or_null && operand.same_as(other_operand)
            }
            (
                ExprKind::Function {
                    implementation,
                    arguments,
                    ..
                },
                ExprKind::Function {
                    implementation: other_implementation,
                    arguments: other_arguments,
                    ..
                },
            ) => std::ptr::fn_addr_eq(*implementation, *other_implementation) && same_lists(arguments, other_arguments),
            (
                ExprKind::Module { call, arguments },
                ExprKind::Module {
                    call: other,
                    arguments: other_arguments,
                },
            ) => call.is_same(other) && same_lists(arguments, other_arguments),
            (ExprKind::Coalesce(left), ExprKind::Coalesce(right)) => same_lists(left, right),
            (ExprKind::Case { .. }, ExprKind::Case { .. }) => format!("{:?}", self.kind) == format!("{:?}", other.kind),
            _ => false,
        }
    }
}

fn same_lists(left: &[Expr], right: &[Expr]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.same_as(right))
}
