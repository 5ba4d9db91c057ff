//! Methods and properties of `geometry` and `geography`: `geography::Point(47.6, -122.3, 4326)`, `place.STAsText()`, `place.Lat`. Their names tell
//! case, as those of all types of the common language runtime.

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::{Binder, implicit, not_supported};
use crate::ast::{Expression, FunctionCall, Name};
use crate::functions::{self, Constructor, SpatialAnswer};
use crate::messages;
use crate::plan::{Expr, ExprKind, Implementation, TargetColumn};
use crate::scalar::spatial::{SPATIAL_TEXT, Surface};

/// Whose static member is called; `None` for those of `hierarchyid`.
fn surface_of(call: &FunctionCall) -> Option<Surface> {
    let (_, of) = call.name.parts.split_last()?;
    match of.last()?.text.to_ascii_lowercase().as_str() {
        "geometry" => Some(Surface::Plane),
        "geography" => Some(Surface::Earth),
        _ => None,
    }
}

/// The error for a name in SET of UPDATE whose qualifier is not the target: `place.STSrid = 4326` is a property of a column.
pub(super) fn unknown_target(name: &Name, qualifier: &str, columns: &[TargetColumn]) -> Error {
    let own = columns
        .iter()
        .find(|column| column.name.to_lowercase() == qualifier.to_lowercase());
    match own.is_some_and(|column| column.sql_type.is_spatial()) {
        true => not_supported(&format!("property {}", name.object())),
        false => messages::multi_part_identifier(&name.to_string()),
    }
}

/// Whether a function is a member of these types: all are deterministic (docs.microsoft.com, `SqlGeometry`: `IsDeterministic = true`).
pub(super) fn is_method(name: &str) -> bool {
    let is_member = |surface| {
        functions::spatial_member(name, false, surface).is_some()
            || functions::spatial_member(name, true, surface).is_some()
    };
    is_member(Surface::Plane) || is_member(Surface::Earth) || functions::spatial_constructor(name).is_some()
}

fn called(name: &'static str, implementation: Implementation, arguments: Vec<Expr>, answer: SqlType) -> Expr {
    let kind = ExprKind::Function {
        name,
        implementation,
        arguments,
    };
    Expr::new(kind, answer)
}

impl<'a> Binder<'a> {
    /// A static member of a type.
    ///
    /// # Errors
    /// Those of the member of the type.
    pub(super) fn static_call(&mut self, call: &'a FunctionCall) -> Result<Expr> {
        match surface_of(call) {
            Some(surface) => self.spatial_static(call, surface),
            None => self.hierarchy_static(call),
        }
    }

    /// `geometry::Method(arguments)`, `geometry::Null`.
    ///
    /// # Errors
    /// 6506 and 6592 for a member that is not there, 174 for another number of arguments, 40517 for what is not supported; those of the arguments.
    fn spatial_static(&mut self, call: &'a FunctionCall, surface: Surface) -> Result<Expr> {
        let (name, own) = (call.name.object(), surface.sql_type());
        if call.is_property {
            return match name {
                "Null" => Ok(Expr::constant(Value::Null, own).converted(own)),
                _ => Err(messages::property_not_found(name, surface.class())),
            };
        }
        let (name, constructor) =
            functions::spatial_constructor(name).ok_or_else(|| messages::method_not_found(name, surface.class()))?;
        match constructor {
            Constructor::Lacking => Err(not_supported(&format!("method {name}"))),
            Constructor::Parse => {
                let mut arguments = self.converted(name, &call.arguments, &[SPATIAL_TEXT])?;
                let text = arguments
                    .pop()
                    .unwrap_or_else(|| Expr::constant(Value::Null, SPATIAL_TEXT));
                super::expression::conversion(text, own, None, false)
            }
            Constructor::Of(from, implementation) => {
                let arguments = self.converted(name, &call.arguments, &[from, SqlType::Int])?;
                Ok(called(name, implementation, arguments, own))
            }
            Constructor::Point => {
                let types = [SqlType::Float, SqlType::Float, SqlType::Int];
                let arguments = self.converted(name, &call.arguments, &types)?;
                Ok(called(name, functions::spatial_point, arguments, own))
            }
        }
    }

    /// A method or property of a value.
    ///
    /// # Errors
    /// 6506 for a method and 6592 for a property that is not there, 174 for another number of arguments, 40517 for what is not supported; those of
    /// the arguments.
    pub(super) fn spatial_member(
        &mut self,
        call: &'a FunctionCall,
        operand: Expr,
        arguments: &'a [Expression],
    ) -> Result<Expr> {
        self.member_of(call.name.object(), call.is_property, operand, arguments)
    }

    fn member_of(&mut self, name: &str, is_property: bool, operand: Expr, arguments: &'a [Expression]) -> Result<Expr> {
        let surface = Surface::of(operand.sql_type).unwrap_or(Surface::Plane);
        let found = functions::spatial_member(name, is_property, surface);
        let member = found.ok_or_else(|| match is_property {
            true => messages::property_not_found(name, surface.class()),
            false => messages::method_not_found(name, surface.class()),
        })?;
        let implementation = member
            .implementation
            .ok_or_else(|| not_supported(&format!("method {name}")))?;
        let mut all = vec![operand];
        let types: Vec<SqlType> = member.argument.into_iter().collect();
        all.extend(self.converted(member.name, arguments, &types)?);
        let answer = match member.answer {
            SpatialAnswer::Type(sql_type) => sql_type,
            SpatialAnswer::Own => surface.sql_type(),
        };
        Ok(called(member.name, implementation, all, answer))
    }

    /// The arguments as values of the types, if there are so many.
    fn converted(&mut self, name: &str, arguments: &'a [Expression], types: &[SqlType]) -> Result<Vec<Expr>> {
        if arguments.len() != types.len() {
            return Err(messages::function_requires(name, types.len()));
        }
        let each = arguments.iter().zip(types);
        each.map(|(argument, sql_type)| implicit(self.expression(argument)?, *sql_type))
            .collect()
    }

    /// A column, or a property of a column: `place.Lat` means the column `Lat` of `place` where there is one.
    ///
    /// # Errors
    /// Those of [`Binder::column`]; 6592 for a property that is not there.
    pub(super) fn column_or_property(&mut self, name: &Name) -> Result<Expr> {
        let error = match self.column(name) {
            Err(error) if matches!(error.number, 207 | 4104) && name.parts.len() > 1 => error,
            found => return found,
        };
        let parts = name.parts[..name.parts.len() - 1].to_vec();
        match self.column(&Name { parts }) {
            Ok(column) if column.sql_type.is_spatial() => self.member_of(name.object(), true, column, &[]),
            _ => Err(error),
        }
    }
}
