//! Methods of the type `hierarchyid`: `node.GetLevel()` in expressions, `hierarchyid::GetRoot()` and `hierarchyid::Parse(text)`. Their names tell
//! case, as those of all types of the common language runtime.

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::{Binder, implicit, not_supported};
use crate::ast::{Expression, FunctionCall, Name};
use crate::functions;
use crate::messages;
use crate::plan::{Expr, ExprKind, Implementation};
use crate::scalar::hierarchy::HIERARCHY_TEXT;

const NODE: SqlType = SqlType::HierarchyId;

/// Its class in .NET.
const CLASS: &str = "SqlHierarchyId";

/// A method in an expression: its name, code, types of arguments and of its result.
struct HierarchyMethod {
    name: &'static str,
    implementation: Implementation,
    arguments: &'static [SqlType],
    answer: SqlType,
}

/// All but ToString, which is a conversion, and Read and Write, which take parts of .NET.
const METHODS: [HierarchyMethod; 5] = [
    HierarchyMethod {
        name: "GetLevel",
        implementation: functions::hierarchy_level,
        arguments: &[],
        answer: SqlType::SmallInt,
    },
    HierarchyMethod {
        name: "GetAncestor",
        implementation: functions::hierarchy_ancestor,
        arguments: &[SqlType::Int],
        answer: NODE,
    },
    HierarchyMethod {
        name: "GetDescendant",
        implementation: functions::hierarchy_descendant,
        arguments: &[NODE, NODE],
        answer: NODE,
    },
    HierarchyMethod {
        name: "IsDescendantOf",
        implementation: functions::hierarchy_is_descendant_of,
        arguments: &[NODE],
        answer: SqlType::Bit,
    },
    HierarchyMethod {
        name: "GetReparentedValue",
        implementation: functions::hierarchy_reparented,
        arguments: &[NODE, NODE],
        answer: NODE,
    },
];

impl<'a> Binder<'a> {
    /// `hierarchyid::Method(arguments)`.
    ///
    /// # Errors
    /// 6506 for a method that is not there, 174 for another number of arguments.
    pub(super) fn hierarchy_static(&mut self, call: &'a FunctionCall) -> Result<Expr> {
        if call.is_property {
            return Err(messages::property_not_found(call.name.object(), CLASS));
        }
        match call.name.object() {
            "GetRoot" => {
                taken("GetRoot", &call.arguments, 0)?;
                Ok(Expr::constant(Value::binary(Vec::new()), NODE))
            }
            "Parse" => {
                let [text] = taken("Parse", &call.arguments, 1)? else {
                    return Err(messages::function_requires("Parse", 1));
                };
                let text = implicit(self.expression(text)?, HIERARCHY_TEXT)?;
                super::expression::conversion(text, NODE, None, false)
            }
            other => Err(messages::method_not_found(other, CLASS)),
        }
    }

    /// A method behind an expression or behind the name of a column; `None` when what it is called of is not a `hierarchyid`.
    ///
    /// # Errors
    /// 258 for an expression of a type without methods, 6506 for a method that is not there, 40517 for Read and Write, 174 for another number of
    /// arguments; those of the arguments.
    pub(super) fn hierarchy_method(&mut self, call: &'a FunctionCall) -> Result<Option<Expr>> {
        let (operand, arguments) = match (call.is_method, call.arguments.split_first()) {
            (true, Some((operand, arguments))) => (self.expression(operand)?, arguments),
            (true, None) => return Ok(None),
            (false, _) => {
                let Some((_, before)) = call.name.parts.split_last().filter(|(_, before)| !before.is_empty()) else {
                    return Ok(None);
                };
                let name = Name { parts: before.to_vec() };
                match self.column(&name) {
                    Ok(column) => (column, call.arguments.as_slice()),
                    Err(_) => return Ok(None),
                }
            }
        };
        match operand.sql_type {
            NODE if !call.is_property => self.hierarchy_call(call.name.object(), operand, arguments).map(Some),
            NODE => Err(messages::property_not_found(call.name.object(), CLASS)),
            own if own.is_spatial() => self.spatial_member(call, operand, arguments).map(Some),
            other if other.is_max() => Ok(None),
            other if call.is_method => Err(messages::no_methods(other.name())),
            _ => Ok(None),
        }
    }

    fn hierarchy_call(&mut self, name: &str, operand: Expr, arguments: &'a [Expression]) -> Result<Expr> {
        match name {
            "ToString" => {
                taken("ToString", arguments, 0)?;
                return super::expression::conversion(operand, HIERARCHY_TEXT, None, false);
            }
            "Read" | "Write" => return Err(not_supported(&format!("method {name}"))),
            _ => {}
        }
        let method = METHODS.iter().find(|method| method.name == name);
        let method = method.ok_or_else(|| messages::method_not_found(name, CLASS))?;
        taken(method.name, arguments, method.arguments.len())?;
        let mut all = vec![operand];
        for (argument, sql_type) in arguments.iter().zip(method.arguments) {
            all.push(implicit(self.expression(argument)?, *sql_type)?);
        }
        let kind = ExprKind::Function {
            name: method.name,
            implementation: method.implementation,
            arguments: all,
        };
        Ok(Expr::new(kind, method.answer))
    }
}

/// Whether a function is a method of a node: all are deterministic (docs.microsoft.com, `SqlHierarchyId`: `IsDeterministic = true`).
pub(super) fn is_method(name: &str) -> bool {
    METHODS.iter().any(|method| method.name == name)
}

/// The arguments, if there are so many.
fn taken<'e>(name: &str, arguments: &'e [Expression], count: usize) -> std::result::Result<&'e [Expression], Error> {
    match arguments.len() == count {
        true => Ok(arguments),
        false => Err(messages::function_requires(name, count)),
    }
}
