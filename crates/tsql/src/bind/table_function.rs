//! Built-in table-valued functions whose columns depend on their arguments: STRING_SPLIT, GENERATE_SERIES, OPENJSON.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType};

use super::expression::conversion;
use super::from::FromBuilder;
use super::scope::Level;
use super::source::{BoundSource, column_list_mismatch};
use super::{Binder, ScopeColumn};
use crate::ast::{FunctionCall, Identifier, SchemaColumn};
use crate::functions::{self, JsonColumn, JsonValueKind, TableFunction};
use crate::messages;
use crate::plan::{DerivedNode, Expr, FunctionNode, Node, ProjectNode, QueryPlan, RowCall};
use crate::scalar::data_type::{TypePlace, resolve};
use crate::sink::ResultColumn;

impl<'a> Binder<'a> {
    /// A call whose columns are the function's own.
    pub(super) fn called_rows(
        &mut self,
        function: &TableFunction,
        call: &'a FunctionCall,
        names: &[Identifier],
        exposed: String,
        visible: Level,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let (arguments, _) = self.within(visible, |binder| binder.expressions(&call.arguments))?;
        let RowCall {
            name,
            implementation,
            arguments,
            columns,
        } = (function.resolve)(arguments)?;
        if !names.is_empty() && names.len() != columns.len() {
            return Err(column_list_mismatch(&exposed, names.len(), columns.len()));
        }
        let width = columns.len();
        let offset = from.take(width);
        let columns = columns.into_iter().enumerate().map(|(index, column)| ScopeColumn {
            qualifier: exposed.clone(),
            name: names.get(index).map_or(column.name, |name| name.text.clone()),
            sql_type: column.sql_type,
            label: column.label,
            nullable: column.nullable,
            index: offset + index,
            ..ScopeColumn::plain()
        });
        Ok(BoundSource {
            columns: columns.collect(),
            node: Node::Function(FunctionNode {
                name,
                implementation,
                arguments,
                width,
                offset,
            }),
            name: exposed,
        })
    }

    /// `OPENJSON (...) WITH (columns)`: a query over the texts that the paths of the columns lead to, each converted to its type.
    ///
    /// # Errors
    /// 13607 for a malformed path, 13618 for AS JSON of another type than `nvarchar(max)` and `json`.
    pub(super) fn json_rows(
        &mut self,
        call: &'a FunctionCall,
        schema: &[SchemaColumn],
        names: &[Identifier],
        exposed: String,
        visible: Level,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let ((arguments, boundary), _) = self.within(visible, |binder| {
            binder.within(Level::Boundary(Vec::new()), |binder| {
                binder.expressions(&call.arguments)
            })
        })?;
        let Level::Boundary(captures) = boundary else {
            return Err(Error::assertion("the arguments of a function left their level"));
        };
        let mut wanted = Vec::with_capacity(schema.len());
        let mut types = Vec::with_capacity(schema.len());
        for (index, column) in schema.iter().enumerate() {
            let sql_type = resolve(
                &column.data_type,
                TypePlace::Declaration,
                index + 1,
                self.session.version(),
            )?;
            let kind = match column.is_json {
                true if matches!(sql_type, SqlType::NVarChar(Length::Max) | SqlType::Json) => JsonValueKind::Fragment,
                true => return Err(messages::as_json_type()),
                false if sql_type.is_binary() => JsonValueKind::Base64,
                false => JsonValueKind::Scalar,
            };
            wanted.push(JsonColumn {
                name: &column.name.text,
                path: column.path.as_deref(),
                kind,
            });
            types.push(sql_type);
        }
        let called = functions::open_json_columns(arguments, &wanted)?;
        let plan = json_plan(called, schema, &types)?;
        let mut source = self.derived_columns(plan, names, &exposed.clone(), exposed, from)?;
        if let Node::Derived(DerivedNode { captures: own, .. }) = &mut source.node {
            *own = captures;
        }
        Ok(source)
    }
}

/// The rows of a call, with the columns converted.
fn json_plan(called: RowCall, schema: &[SchemaColumn], types: &[SqlType]) -> Result<QueryPlan> {
    let width = called.columns.len();
    let mut expressions: Vec<Expr> = Vec::with_capacity(width);
    let mut columns = Vec::with_capacity(width);
    for (index, (raw, (column, sql_type))) in called.columns.iter().zip(schema.iter().zip(types)).enumerate() {
        let value = conversion(raw.expression(index), *sql_type, None, false)?;
        columns.push(ResultColumn {
            label: value.label,
            ..ResultColumn::new(&column.name.text, *sql_type)
        });
        expressions.push(value);
    }
    Ok(projected(called, expressions, columns))
}

/// The rows of a call, and over them what is shown of each.
pub(super) fn projected(called: RowCall, expressions: Vec<Expr>, columns: Vec<ResultColumn>) -> QueryPlan {
    let width = called.columns.len();
    let rows = Node::Function(FunctionNode {
        name: called.name,
        implementation: called.implementation,
        arguments: called.arguments,
        width,
        offset: 0,
    });
    QueryPlan {
        root: Node::Project(ProjectNode {
            input: Box::new(rows),
            input_width: width,
            expressions,
        }),
        width,
        columns,
    }
}
