//! Calls of user-defined functions: scalar ones in expressions, table-valued ones in FROM.
//!
//! ```text
//! scalar            an expression that calls the module                       ExprKind::Module
//! multi-statement   a source that calls the module                            Node::Module
//! inline            a query over its parameters, bound in place like a view   Node::Derived
//! ```
//! The query of an inline function captures its parameters: a variable is passed through the boundaries of subqueries like columns of the
//! outer row, and the arguments replace the captures where the function is called. A parameter that is a table is read where the caller has
//! it.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ModuleKind, ObjectDefinition};
use engine::database::Database;
use engine::error::Result;
use engine::types::Value;

use super::from::{FromBuilder, Stored};
use super::scope::{Level, SelectLevel};
use super::source::{BoundSource, column_list_mismatch};
use super::{Binder, ScopeColumn, implicit};
use crate::ast::{Expression, ExpressionKind, FunctionCall, Identifier, Literal, Query};
use crate::messages;
use crate::modules::{LentTable, Module, ModuleBody, ModuleCall, ModuleParameter, TableVariableShape, VariableScope};
use crate::plan::{DerivedNode, Expr, ExprKind, Label, ModuleNode, Node, QueryPlan};
use crate::state::{Found, Reading, Through};

/// State of 313 for a scalar function, and for one in FROM.
const SCALAR_STATE: u8 = 2;
const SOURCE_STATE: u8 = 3;

/// Values of a call's parameters, and the variables that its tables are.
type Arguments = (Vec<Expr>, Vec<Option<usize>>);

/// What a call lends, of the variables by the slots of its parameters.
fn lent(tables: &[Option<usize>]) -> Vec<LentTable> {
    let slots = tables.iter().enumerate();
    slots
        .filter_map(|(parameter, variable)| variable.map(|variable| LentTable { parameter, variable }))
        .collect()
}

impl<'a> Binder<'a> {
    /// A scalar function of the user in an expression. Table-valued ones are none there (4121).
    pub(super) fn user_function(&mut self, call: &'a FunctionCall) -> Result<Expr> {
        let not_found = || messages::function_not_found(call.name.schema().unwrap_or(""), &call.name.to_string());
        let (database, object) = self.user_function_object(call)?.ok_or_else(not_found)?;
        let module = self.session.module(&database, &object)?;
        let ModuleBody::Scalar { returns, .. } = &module.body else {
            return Err(not_found());
        };
        if call.over.is_some() || call.distinct || call.star || !call.within_group.is_empty() {
            return Err(messages::incorrect_syntax_near(call.name.object()));
        }
        let sql_type = *returns;
        let (arguments, tables) = self.module_arguments(&module, call, SCALAR_STATE)?;
        self.reads_tables = true;
        let call = ModuleCall {
            tables: lent(&tables),
            module,
            database,
        };
        Ok(Expr::new(ExprKind::Module { call, arguments }, sql_type))
    }

    fn user_function_object(&self, call: &FunctionCall) -> Result<Option<(Arc<Database>, Arc<CatalogObject>)>> {
        let is_function = |found: &Found| matches!(&found.1.definition, ObjectDefinition::Module(module) if module.kind == ModuleKind::Function);
        let found = self.session.find_object(&call.name)?;
        let found = match self.session.through_synonym(&call.name, found)? {
            Through::Direct(found) => found.filter(is_function),
            Through::Synonym(..) if self.is_schema_bound => return Err(messages::synonym_in_schema_bound()),
            Through::Synonym(_, found) => {
                let found = found.filter(is_function);
                Some(found.ok_or_else(|| messages::invalid_synonym(&call.name.to_string()))?)
            }
        };
        if let Some((database, object)) = &found {
            self.session.hold(database, object, Reading::default())?;
        }
        Ok(found)
    }

    /// The arguments of a call in the types of the parameters, and for each parameter that is a table the variable that it gets. DEFAULT
    /// has to be written where a default is wanted (sql-docs, CREATE FUNCTION); that of a table is an empty one.
    fn module_arguments(&mut self, module: &Module, call: &'a FunctionCall, state: u8) -> Result<Arguments> {
        let (given, wanted) = (call.arguments.len(), module.parameters.len());
        if given < wanted {
            return Err(messages::insufficient_arguments(&call.name.to_string(), state));
        }
        if given > wanted {
            return Err(messages::too_many_arguments(&call.name.to_string()));
        }
        let (mut values, mut tables) = (Vec::with_capacity(wanted), Vec::new());
        for (argument, parameter) in call.arguments.iter().zip(module.parameters.iter()) {
            if let Some(shape) = &parameter.table {
                tables.push(self.table_argument(argument, shape)?);
                values.push(Expr::constant(Value::Null, parameter.sql_type));
                continue;
            }
            values.push(match argument.kind {
                ExpressionKind::Literal(Literal::Default) => self.default_of(module, parameter)?,
                // Parameters are variables, which have the default collation until they are read.
                _ => {
                    self.deduce_argument(argument, parameter.sql_type, &parameter.name)?;
                    implicit(self.expression(argument)?.assignable()?, parameter.sql_type)?.collated(Label::default())
                }
            });
        }
        Ok((values, tables))
    }

    /// The table variable that is passed; `None` for DEFAULT.
    ///
    /// # Errors
    /// 206 for a table of another type, or a value; 137 for a variable that is not declared.
    fn table_argument(&mut self, argument: &'a Expression, wanted: &TableVariableShape) -> Result<Option<usize>> {
        let name_of = |shape: &TableVariableShape| {
            let own = shape.table_type.as_ref();
            own.map_or_else(|| "table".to_owned(), |own| own.name.clone())
        };
        let found = match &argument.kind {
            ExpressionKind::Literal(Literal::Default) => return Ok(None),
            ExpressionKind::Variable(name) => self.variables.table(name),
            _ => None,
        };
        let Some((slot, shape)) = found else {
            let value = self.expression(argument)?;
            let given = messages::type_name(value.sql_type);
            return Err(messages::operand_type_clash(given, &name_of(wanted)));
        };
        if shape.table_type.is_none() || shape.table_type != wanted.table_type {
            return Err(messages::operand_type_clash(&name_of(shape), &name_of(wanted)));
        }
        let slot = self.lent_tables.get(slot).copied().unwrap_or(Some(slot));
        self.sources.extend(slot.map(Stored::Variable));
        Ok(slot)
    }

    fn default_of(&self, module: &Module, parameter: &ModuleParameter) -> Result<Expr> {
        let missing = || messages::parameter_not_supplied(&module.name, &parameter.name);
        let default = parameter.default.as_ref().ok_or_else(missing)?;
        let scope = VariableScope::default();
        Binder::new(self.session, &scope).scalar_as(default, parameter.sql_type)
    }

    /// A table-valued function of the user in FROM, with arguments that may use the sources before it; `None` when there is no
    /// function of that name.
    ///
    /// # Errors
    /// Those of its arguments, and of an inline function's query.
    pub(super) fn user_table_function(
        &mut self,
        call: &'a FunctionCall,
        exposed: String,
        names: &[Identifier],
        visible: Vec<ScopeColumn>,
        from: &mut FromBuilder,
    ) -> Result<Option<BoundSource>> {
        let Some((database, object)) = self.user_function_object(call)? else {
            return Ok(None);
        };
        let module = self.session.module(&database, &object)?;
        if matches!(module.body, ModuleBody::Scalar { .. }) {
            return Ok(None);
        }
        self.reads_tables = true;
        let level = Level::Select(SelectLevel {
            columns: visible,
            ..SelectLevel::default()
        });
        let ((arguments, tables), _) =
            self.within(level, |binder| binder.module_arguments(&module, call, SOURCE_STATE))?;
        match &module.body {
            ModuleBody::Inline { scope, query } => {
                let (session, schema) = (self.session, module.name.split('.').next());
                let (plan, parameters) = session.within_schema(schema, || {
                    session.under_settings(module.settings, || {
                        self.within_module(&database, scope, |binder| {
                            binder.lent_tables = tables;
                            binder.inline(query)
                        })
                    })
                })?;
                let captured = parameters.into_iter().filter_map(|slot| arguments.get(slot).cloned());
                let mut source = self.derived_columns(plan, names, &module.name, exposed, from)?;
                if let Node::Derived(DerivedNode { captures, .. }) = &mut source.node {
                    *captures = captured.collect();
                }
                Ok(Some(source))
            }
            ModuleBody::Table { .. } => {
                let call = ModuleCall {
                    tables: lent(&tables),
                    module,
                    database,
                };
                self.multi_statement(call, arguments, exposed, names, from).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn multi_statement(
        &mut self,
        call: ModuleCall,
        arguments: Vec<Expr>,
        exposed: String,
        names: &[Identifier],
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let ModuleBody::Table { shape, .. } = &call.module.body else {
            return Err(messages::invalid_object_name(&exposed));
        };
        let shape = self.settled_shape(shape)?;
        if !names.is_empty() && names.len() != shape.columns.len() {
            return Err(column_list_mismatch(
                &call.module.name,
                names.len(),
                shape.columns.len(),
            ));
        }
        let offset = from.take(shape.columns.len());
        let collation = call.database.collation();
        let columns = shape.columns.iter().enumerate().map(|(index, column)| ScopeColumn {
            qualifier: exposed.clone(),
            name: names
                .get(index)
                .map_or_else(|| column.name.clone(), |name| name.text.clone()),
            sql_type: column.sql_type,
            label: Label::Implicit(column.collation.unwrap_or(collation)),
            nullable: column.nullable,
            index: offset + index,
            ..ScopeColumn::plain()
        });
        Ok(BoundSource {
            columns: columns.collect(),
            node: Node::Module(ModuleNode {
                call,
                arguments,
                offset,
            }),
            name: exposed,
        })
    }

    /// The query of an inline function: its plan, and for each capture of the plan the slot of the parameter it is.
    ///
    /// # Errors
    /// Those of the query.
    pub(crate) fn inline(&mut self, query: &'a Query) -> Result<(QueryPlan, Vec<usize>)> {
        self.parameters_are_captured = true;
        let (plan, level) = self.within(Level::Boundary(Vec::new()), |binder| binder.nested_query(query))?;
        let Level::Boundary(captures) = level else {
            return Ok((plan, Vec::new()));
        };
        let slots = captures.into_iter().map(|capture| match capture.kind {
            ExprKind::Variable(slot) => slot,
            _ => usize::MAX,
        });
        Ok((plan, slots.collect()))
    }

    /// A variable: the value it has when the plan runs, or a parameter of the inline function that is bound.
    pub(super) fn variable(&mut self, name: &str) -> Result<Expr> {
        let found = self.variables.scalar(name).or_else(|| self.deduced_variable(name));
        let (slot, sql_type) = found.ok_or_else(|| match self.variables.is_cursor(name) {
            true => messages::cursor_variable_as_value(name),
            false => messages::variable_not_declared(name),
        })?;
        let variable = Expr::new(ExprKind::Variable(slot), sql_type);
        if !self.parameters_are_captured {
            return Ok(variable);
        }
        let boundaries: Vec<usize> = (0..self.levels.len())
            .rev()
            .filter(|&position| matches!(self.levels.get(position), Some(Level::Boundary(_))))
            .collect();
        Ok(self.captured(variable, &boundaries))
    }
}
