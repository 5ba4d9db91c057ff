//! Methods of the type xml: `x.modify('change')` behind SET, `x.value('path', 'type')`, `x.query('path')`, `x.exist('path')` in expressions, `x.nodes('path') AS t (c)` in
//! FROM.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::expression::conversion;
use super::from::FromBuilder;
use super::json_change::json_change;
use super::scope::Level;
use super::source::BoundSource;
use super::{Binder, ScopeColumn, not_supported};
use crate::ast::{Expression, ExpressionKind, FunctionCall, Identifier, Literal, Name, XmlNamespaces};
use crate::functions;
use crate::messages;
use crate::plan::{Expr, ExprKind, FunctionNode, Implementation, Node, RowFunction, RowSource};
use crate::scalar::data_type::{TypePlace, resolve};
use crate::scalar::xquery::{Axis, Expression as Path, External, Query, parse, parse_modification};

const XML: SqlType = SqlType::XML;

/// What queries, and values as text, are.
const TEXT: SqlType = SqlType::NVarChar(Length::Max);

/// The methods; the names are case-sensitive.
const METHODS: [&str; 5] = ["exist", "modify", "nodes", "query", "value"];

/// The prefixes and addresses that WITH XMLNAMESPACES declares.
pub(super) fn declared(namespaces: &XmlNamespaces) -> Vec<(String, String)> {
    let declared = namespaces.iter().flat_map(|namespaces| namespaces.iter());
    declared
        .map(|namespace| (namespace.prefix.clone(), namespace.address.clone()))
        .collect()
}

/// A method, and what it is called of.
pub(super) struct MethodCall<'a> {
    method: &'static str,
    operand: Operand<'a>,
    arguments: &'a [Expression],
    namespaces: &'a XmlNamespaces,
}

enum Operand<'a> {
    Expression(&'a Expression),
    /// `t.c.value(...)`: the parts before the last are a column's name.
    Column(Name),
}

/// The method that a call is, if its name can be one: written behind an expression, or behind the name of a column.
pub(super) fn method_call(call: &FunctionCall) -> Option<MethodCall<'_>> {
    let (last, before) = call.name.parts.split_last()?;
    let method = METHODS.into_iter().find(|method| last.text == *method)?;
    if call.is_method {
        let (operand, arguments) = call.arguments.split_first()?;
        return Some(MethodCall {
            method,
            operand: Operand::Expression(operand),
            arguments,
            namespaces: &call.namespaces,
        });
    }
    (!before.is_empty()).then(|| MethodCall {
        method,
        operand: Operand::Column(Name { parts: before.to_vec() }),
        arguments: &call.arguments,
        namespaces: &call.namespaces,
    })
}

/// A text that has to be written as a constant.
fn constant(argument: &Expression, place: usize, method: &str) -> Result<String> {
    match &argument.kind {
        ExpressionKind::Literal(Literal::Text(text) | Literal::NationalText(text)) => Ok(text.clone()),
        _ => Err(messages::method_argument_not_constant(place, method)),
    }
}

impl<'a> Binder<'a> {
    /// A method in an expression.
    ///
    /// # Errors
    /// 2389 for `value()` of what may be several items, 8172 for a query that is computed; those of the query.
    pub(super) fn xml_method(&mut self, call: MethodCall<'a>) -> Result<Expr> {
        let method = call.method;
        if method == "modify" {
            return Err(messages::mutator_misplaced(method));
        }
        let wanted = if method == "value" { 2 } else { 1 };
        if call.arguments.len() != wanted {
            return Err(messages::function_requires(method, wanted));
        }
        let (arguments, query, _) = self.method_arguments(&call)?;
        let function = |name: &'static str, implementation: Implementation, sql_type| {
            let kind = ExprKind::Function {
                name,
                implementation,
                arguments,
            };
            Expr::new(kind, sql_type)
        };
        match method {
            "exist" => Ok(function("exist", functions::xml_exist, SqlType::Bit)),
            "query" => Ok(function("query", functions::xml_query, XML)),
            "value" => {
                if !query.body.is_singleton() {
                    return Err(messages::value_not_singleton());
                }
                let written = constant(&call.arguments[1], 2, method)?;
                let data_type = crate::parser::parse_data_type(&written).map_err(messages::syntax)?;
                let target = resolve(&data_type, TypePlace::Declaration, 1, self.session.version())?;
                let value = match target {
                    SqlType::Binary(_) | SqlType::VarBinary(_) => {
                        function("value", functions::xml_value_bytes, SqlType::VarBinary(Length::Max))
                    }
                    _ => function("value", functions::xml_value, TEXT),
                };
                conversion(value, target, None, false)
            }
            _ => Err(not_supported(&format!("method {method}"))),
        }
    }

    /// The document around a node, and the node's place in it, if the operand is a column of `nodes()`.
    fn around_node(&mut self, operand: &Operand<'a>) -> Result<Option<[Expr; 2]>> {
        let name = match operand {
            Operand::Column(name) => name,
            Operand::Expression(Expression {
                kind: ExpressionKind::Column(name),
                ..
            }) => name,
            Operand::Expression(_) => return Ok(None),
        };
        let beside = |by: usize, sql_type: SqlType| {
            move |column: &ScopeColumn| {
                let is_there = column.with_document;
                is_there.then(|| Expr::column(column.index + by, sql_type, true))
            }
        };
        let document = self.column_as(name, beside(1, functions::XML_AROUND))?;
        let place = self.column_as(name, beside(2, SqlType::Int))?;
        Ok(document.zip(place).map(|(document, place)| [document, place]))
    }

    /// The arguments of the function that a method is, its query, and what is around its operand.
    fn method_arguments(&mut self, call: &MethodCall<'a>) -> Result<(Vec<Expr>, Query, Option<[Expr; 2]>)> {
        let operand = match &call.operand {
            Operand::Expression(operand) => self.expression(operand)?,
            Operand::Column(name) => self.column(name)?,
        };
        let is_node = operand.sql_type == functions::XML_NODE;
        if operand.sql_type != XML && !is_node {
            return Err(messages::no_methods(operand.sql_type.name()));
        }
        let argument = call
            .arguments
            .first()
            .ok_or_else(|| messages::function_requires(call.method, 1))?;
        let text = constant(argument, 1, call.method)?;
        let namespaces = declared(call.namespaces);
        let query = parse(call.method, &text, &namespaces)?;
        // A query that leads out of a node is asked of the document around it.
        let leads_out = |path: &Path| match path {
            Path::Root => true,
            Path::Step(_, step) => step.axis == Axis::Parent,
            _ => false,
        };
        let around = match is_node {
            true => self.around_node(&call.operand)?,
            false => None,
        };
        if !is_node || !query.body.any(&leads_out) {
            let arguments = self.query_arguments(operand, text, &namespaces, &query.externals)?;
            return Ok((arguments, query, around));
        }
        let Some([document, place]) = around else {
            return Err(not_supported("XQuery path out of a node that a derived table hands on"));
        };
        let mut arguments = self.query_arguments(document.clone(), text, &namespaces, &query.externals)?;
        arguments.push(place.clone());
        Ok((arguments, query, Some([document, place])))
    }

    /// The arguments of a function that asks or changes xml: as `functions::xml_methods` has them.
    fn query_arguments(
        &mut self,
        operand: Expr,
        text: String,
        namespaces: &[(String, String)],
        externals: &[External],
    ) -> Result<Vec<Expr>> {
        let mut arguments = vec![operand, Expr::constant(Value::from(text), TEXT)];
        let count = i32::try_from(namespaces.len()).unwrap_or(i32::MAX);
        arguments.push(Expr::constant(Value::Int(count), SqlType::Int));
        for (prefix, address) in namespaces {
            arguments.push(Expr::constant(Value::from(prefix.as_str()), TEXT));
            arguments.push(Expr::constant(Value::from(address.as_str()), TEXT));
        }
        for external in externals {
            arguments.push(match external {
                External::Variable(name) => self.variable(name)?,
                External::Column(name) => self.column(&written_name(name))?,
            });
        }
        Ok(arguments)
    }

    /// What `modify('change')` makes of a column or variable.
    ///
    /// # Errors
    /// 258 for one of another type, 8172 for a change that is computed; those of the change.
    pub(super) fn modified(
        &mut self,
        (name, own): (&str, Expr),
        argument: &'a Expression,
        namespaces: &XmlNamespaces,
    ) -> Result<Expr> {
        if let Some(call) = json_change(argument) {
            return self.json_changed((name, own), call);
        }
        if own.sql_type == SqlType::Json {
            return Err(messages::insufficient_arguments("modify", 1));
        }
        if own.sql_type != XML {
            return Err(messages::no_methods(own.sql_type.name()));
        }
        let (nullable, label) = (own.nullable, own.label);
        let text = constant(argument, 1, "modify")?;
        let namespaces = declared(namespaces);
        let modification = parse_modification(&text, &namespaces)?;
        let mut arguments = self.query_arguments(own, text, &namespaces, &modification.externals)?;
        arguments.push(Expr::constant(Value::text(name), SqlType::SYSNAME));
        let kind = ExprKind::Function {
            name: "modify",
            implementation: functions::xml_modify,
            arguments,
        };
        Ok(Expr {
            kind,
            sql_type: XML,
            nullable,
            label,
        })
    }

    /// What `SET @x.modify('change')` makes of the variable.
    ///
    /// # Errors
    /// Those of [`Self::modified`].
    pub(crate) fn modified_variable(&mut self, variable: &str, change: &'a Expression) -> Result<Expr> {
        let own = self.variable(variable)?;
        self.modified((variable, own), change, &None)
    }

    /// `x.nodes('path') AS t (c)`.
    ///
    /// # Errors
    /// As for methods in expressions; 8158 and 8159 for another number of columns than one.
    pub(super) fn xml_nodes(
        &mut self,
        call: MethodCall<'a>,
        names: &[Identifier],
        exposed: String,
        visible: Level,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let [name] = names else {
            return Err(super::column_list_mismatch(&exposed, names.len(), 1));
        };
        let ((mut arguments, _, around), _) = self.within(visible, |binder| binder.method_arguments(&call))?;
        let operand = arguments.first().map(|operand| operand.sql_type);
        let is_node = operand == Some(functions::XML_NODE);
        let with_document = !is_node || around.is_some();
        let implementation: RowFunction = match operand {
            Some(functions::XML_AROUND) => functions::xml_nodes_around,
            Some(functions::XML_NODE) => functions::xml_nodes_of_node,
            _ => functions::xml_nodes,
        };
        if is_node {
            let unknown = || {
                [
                    Expr::constant(Value::Null, XML),
                    Expr::constant(Value::Null, SqlType::Int),
                ]
            };
            arguments.extend(around.unwrap_or_else(unknown));
        }
        let offset = from.take(functions::XML_NODE_COLUMNS);
        let column = ScopeColumn {
            qualifier: exposed.clone(),
            name: name.text.clone(),
            sql_type: functions::XML_NODE,
            label: crate::plan::Label::default(),
            index: offset,
            with_document,
            ..ScopeColumn::plain()
        };
        Ok(BoundSource {
            columns: vec![column],
            node: Node::Function(FunctionNode {
                name: "nodes",
                implementation: RowSource::Called(implementation),
                arguments,
                width: functions::XML_NODE_COLUMNS,
                offset,
            }),
            name: exposed,
        })
    }

    /// The call as a method, where no function has its name.
    pub(super) fn method_in_from(&self, call: &'a FunctionCall, error: Error) -> Result<MethodCall<'a>> {
        let is_unknown = matches!(error.number, 208 | 911 | 4121);
        match method_call(call) {
            Some(found) if found.method == "nodes" && (is_unknown || call.is_method) => Ok(found),
            _ => Err(error),
        }
    }
}

/// The parts of a name as `sql:column` has it.
fn written_name(name: &str) -> Name {
    let parts = name.split('.').map(|part| {
        let part = part.trim();
        Identifier::new(
            part.strip_prefix('[')
                .and_then(|part| part.strip_suffix(']'))
                .unwrap_or(part),
        )
    });
    Name { parts: parts.collect() }
}
