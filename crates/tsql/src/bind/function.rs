//! Function calls: functions with special syntax or typing here, all others by their signature.

use engine::catalog::PartitionFunction;
use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::Binder;
use super::serialized::is_json;
use super::xml_methods::method_call;
use crate::ast::{Expression, ExpressionKind, FunctionCall, Literal, Name};
use crate::functions::{self, Signature};
use crate::messages;
use crate::plan::{AggregateFunction, Expr, ExprKind, Implementation};
use crate::scalar::moment::{DATE_PART_FUNCTIONS, DatePart};
use crate::state::Reading;

/// What columns of type xml can be asked (sql-docs, "xml data type methods"); the names are case-sensitive.
const XML_METHODS: [&str; 5] = ["exist", "modify", "nodes", "query", "value"];

/// The error for a call whose name no function has: 40517 where it is a method of a column of type xml.
pub(super) fn method_of(name: &Name, error: Error) -> Error {
    let is_unknown = matches!(error.number, 208 | 911 | 4121);
    match is_unknown && name.parts.len() > 1 && XML_METHODS.contains(&name.object()) {
        true => super::not_supported(&format!("method {}", name.object())),
        false => error,
    }
}

impl<'a> Binder<'a> {
    pub(super) fn function(&mut self, call: &'a FunctionCall) -> Result<Expr> {
        if call.is_method {
            if let Some(method) = method_call(call) {
                return self.xml_method(method);
            }
            let found = self.hierarchy_method(call)?;
            return found.ok_or_else(|| super::not_supported(&format!("method {}", call.name.object())));
        }
        if call.is_static {
            return self.static_call(call);
        }
        let name = call.name.object().to_ascii_lowercase();
        let schema = call.name.schema();
        if call.name.is_of_partitions() {
            return self.partition_number(call);
        }
        if schema.is_some_and(|schema| !schema.eq_ignore_ascii_case("sys")) {
            return self.function_of_schema(call);
        }
        if let Some(over) = &call.over {
            if matches!(name.as_str(), "json_arrayagg" | "json_objectagg") {
                return Err(super::not_supported(&format!("{} OVER", name.to_uppercase())));
            }
            return self.window_function(&name, call, over);
        }
        if matches!(name.as_str(), "percentile_cont" | "percentile_disc") {
            return Err(match call.within_group.is_empty() {
                true => messages::needs_within_group(&name),
                false => messages::needs_over(&name),
            });
        }
        if let Some(aggregate) = self.aggregate(&name, call)? {
            return Ok(aggregate);
        }
        match name.as_str() {
            "coalesce" => self.coalesce(&call.arguments),
            "isnull" => self.isnull(&call.arguments),
            "nullif" => self.nullif(&call.arguments),
            "iif" => self.iif(&call.arguments),
            "choose" => self.choose(&call.arguments),
            "rand" if call.arguments.is_empty() => {
                let place = Value::BigInt(self.session.random.new_place());
                let signature = functions::find(&name).ok_or_else(|| functions::unknown(&name))?;
                let mut called = signature.resolve(Vec::new())?;
                if let ExprKind::Function { arguments, .. } = &mut called.kind {
                    arguments.push(Expr::constant(place, SqlType::BigInt));
                }
                Ok(called)
            }
            "json_object" => self.json_object(&call.arguments),
            "json_array" => self.json_array(&call.arguments),
            "json_query" if call.has_array_wrapper => self.json_query_wrapped(&name, &call.arguments),
            "json_modify" => self.json_modify(&call.arguments),
            "update" => self.update_test(&call.arguments),
            "textptr" => self.text_pointer(&call.arguments),
            "grouping" | "grouping_id" => self.grouping(&name, &call.arguments),
            "row_number" | "rank" | "dense_rank" | "ntile" | "lag" | "lead" => {
                Err(messages::ranking_needs_order(&name))
            }
            _ if DATE_PART_FUNCTIONS.contains(&name.as_str()) => self.date_part_function(&name, &call.arguments),
            // Functions of the system that begin so are called by the name of their schema.
            _ if name.starts_with("fn_") && call.name.schema().is_none() => Err(functions::unknown(call.name.object())),
            _ => {
                let signature = functions::find(&name).ok_or_else(|| functions::unknown(call.name.object()))?;
                let arguments = self.expressions(&call.arguments)?;
                self.resolved(signature, arguments)
            }
        }
    }

    /// `JSON_QUERY(document, path WITH ARRAY WRAPPER)`: "supported only if the input is a json type" (sql-docs, "JSON_QUERY").
    ///
    /// # Errors
    /// 8116 for a document of another type; the page has no number for it.
    fn json_query_wrapped(&mut self, name: &str, arguments: &'a [Expression]) -> Result<Expr> {
        let signature = functions::find(name).ok_or_else(|| functions::unknown(name))?;
        let mut arguments = self.expressions(arguments)?;
        if let [document] = arguments.as_slice()
            && document.sql_type == SqlType::Json
        {
            arguments.push(Expr::constant(Value::from("$"), SqlType::NVarChar(Length::Max)));
        }
        let own = arguments.first().map_or(SqlType::Json, |document| document.sql_type);
        if own != SqlType::Json {
            return Err(messages::invalid_argument_type(own.name(), 1, name));
        }
        let mut called = self.resolved(signature, arguments)?;
        if let ExprKind::Function { arguments, .. } = &mut called.kind {
            arguments.push(flag(true));
        }
        Ok(called)
    }

    /// `[database.]$PARTITION.function(value)`.
    ///
    /// # Errors
    /// 208 for a partition function that is not there; 174 for another number of values than one; those of converting it.
    fn partition_number(&mut self, call: &'a FunctionCall) -> Result<Expr> {
        let name = call.name.object();
        if call.over.is_some() || call.distinct || call.star || !call.within_group.is_empty() {
            return Err(messages::incorrect_syntax_near(name));
        }
        let database = self.session.database_of(&call.name)?;
        let is_it = |function: &PartitionFunction| function.name.to_lowercase() == name.to_lowercase();
        let objects = database.catalog.objects(self.session.id);
        let mut objects = objects.iter();
        let found = objects.find_map(|object| {
            let function = object
                .definition
                .partition_function()
                .filter(|function| is_it(function));
            function.map(|function| (object, function))
        });
        let (object, function) = found.ok_or_else(|| messages::no_partition_function(name))?;
        self.session.hold(&database, object, Reading::default())?;
        let [value] = call.arguments.as_slice() else {
            return Err(messages::function_requires(name, 1));
        };
        let value = super::implicit(self.scalar(value)?, function.sql_type)?;
        let number = |id: u32| Expr::constant(Value::BigInt(i64::from(id)), SqlType::BigInt);
        let kind = ExprKind::Function {
            name: crate::ast::PARTITION_SCOPE,
            implementation: functions::partition_number,
            arguments: vec![number(u32::from(database.id)), number(function.object_id), value],
        };
        Ok(Expr::new(kind, SqlType::Int))
    }

    /// A function of a user's schema. Otherwise the name may be a column's with a method behind it.
    fn function_of_schema(&mut self, call: &'a FunctionCall) -> Result<Expr> {
        let called = self.user_function(call);
        match (called, method_call(call)) {
            (Err(error), Some(method)) if matches!(error.number, 208 | 911 | 4121) => self.xml_method(method),
            (Err(error), None) if matches!(error.number, 208 | 911 | 4121) => {
                self.hierarchy_method(call)?.ok_or_else(|| method_of(&call.name, error))
            }
            (called, _) => called.map_err(|error| method_of(&call.name, error)),
        }
    }

    /// `JSON_OBJECT`: what the parser puts first says whether NULL stays.
    fn json_object(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        let (stays, returns_json) = self.json_clauses(arguments)?;
        let mut bound = self.expressions(arguments.get(1..).unwrap_or_default())?.into_iter();
        let mut laid_out = vec![flag(stays)];
        while let (Some(name), Some(value)) = (bound.next(), bound.next()) {
            laid_out.push(super::implicit(name, SqlType::NVarChar(Length::Limited(4_000)))?);
            require_serializable(&value)?;
            laid_out.extend([flag(is_json(&value)), value]);
        }
        let made = json("json_object", functions::json_object, laid_out);
        Ok(returned(of_json(made), returns_json))
    }

    /// `JSON_ARRAY`, likewise.
    fn json_array(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        let (stays, returns_json) = self.json_clauses(arguments)?;
        let bound = self.expressions(arguments.get(1..).unwrap_or_default())?;
        let mut laid_out = vec![flag(stays)];
        for value in bound {
            require_serializable(&value)?;
            laid_out.extend([flag(is_json(&value)), value]);
        }
        let made = json("json_array", functions::json_array, laid_out);
        Ok(returned(of_json(made), returns_json))
    }

    /// What the parser puts first: whether NULL stays, and whether the type json is to be returned.
    ///
    /// # Errors
    /// 40517 for RETURNING where there is no type json.
    pub(super) fn json_clauses(&self, arguments: &[Expression]) -> Result<(bool, bool)> {
        let said = match arguments.first().map(|first| &first.kind) {
            Some(ExpressionKind::Literal(Literal::Integer(said))) => *said,
            _ => 0,
        };
        let returns_json = said & 2 != 0;
        match returns_json && !crate::scalar::data_type::is_known(SqlType::Json, self.session.version()) {
            true => Err(super::not_supported("RETURNING")),
            false => Ok((said & 1 != 0, returns_json)),
        }
    }

    /// `JSON_MODIFY`, whose new value may be JSON.
    fn json_modify(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        let signature = functions::find("json_modify").ok_or_else(|| functions::unknown("json_modify"))?;
        let bound = self.expressions(arguments)?;
        let is_fragment = bound.get(2).is_some_and(is_json);
        let mut call = self.resolved(signature, bound)?;
        if is_fragment && let ExprKind::Function { implementation, .. } = &mut call.kind {
            *implementation = functions::modify_with;
        }
        Ok(call)
    }

    /// `UPDATE(column)`: the column is one of the trigger's table.
    fn update_test(&mut self, arguments: &'a [Expression]) -> Result<Expr> {
        if let [argument] = arguments
            && let ExpressionKind::Literal(Literal::NationalText(column)) = &argument.kind
            && (!self.variables.has_trigger_tables() || self.session.trigger_sets(column).is_none())
        {
            return Err(messages::invalid_column_name(column));
        }
        let signature = functions::find("update").ok_or_else(|| functions::unknown("update"))?;
        let arguments = self.expressions(arguments)?;
        self.resolved(signature, arguments)
    }

    fn resolved(&self, signature: &Signature, arguments: Vec<Expr>) -> Result<Expr> {
        if !self.weighs() {
            return signature.resolve(arguments);
        }
        let called = signature.resolve(arguments.clone())?;
        self.weigh_arguments(&arguments, &called);
        Ok(called)
    }

    /// `operand AT TIME ZONE zone`.
    ///
    /// # Errors
    /// 8116 for operands of other types.
    pub(super) fn at_time_zone(&mut self, operand: &'a Expression, zone: &'a Expression) -> Result<Expr> {
        let (operand, zone) = (self.expression(operand)?, self.expression(zone)?);
        let sql_type = functions::zoned_type(&operand, &zone)?;
        let kind = ExprKind::Function {
            name: "at time zone",
            implementation: functions::at_time_zone,
            arguments: vec![operand, zone],
        };
        Ok(Expr::new(kind, sql_type))
    }

    fn date_part_function(&mut self, name: &str, arguments: &'a [Expression]) -> Result<Expr> {
        let signature = functions::find(name).ok_or_else(|| functions::unknown(name))?;
        let Some((first, rest)) = arguments.split_first() else {
            return Err(messages::function_requires(name, signature.minimum));
        };
        let ExpressionKind::Column(word) = &first.kind else {
            let text = format!("Invalid parameter 1 specified for {name}.");
            return Err(engine::error::Error::new(1023, 15, 1, text));
        };
        let part = DatePart::from_name(word.object()).ok_or_else(|| messages::unknown_datepart(word.object(), name))?;
        let mut bound = vec![Expr::constant(Value::Int(part.number()), SqlType::Int)];
        bound.extend(self.expressions(rest)?);
        // A date written as text has no scale of its own; DATEADD of it answers datetime.
        let called = self.resolved(signature, bound)?;
        if let ExprKind::Function { arguments, .. } = &called.kind {
            functions::check_part(part, name, arguments)?;
        }
        Ok(called)
    }

    /// `GROUPING(x)` and `GROUPING_ID(x, ...)`: which keys a row of GROUPING SETS has lost. Marked by an aggregate number
    /// beyond all real ones, which grouping replaces.
    fn grouping(&mut self, name: &str, arguments: &'a [Expression]) -> Result<Expr> {
        let bound = self.expressions(arguments)?;
        let keys = self
            .select_level()
            .map(|level| level.group_keys.clone())
            .unwrap_or_default();
        let count = keys.len();
        let mut total: Option<Expr> = None;
        for (place, argument) in bound.into_iter().enumerate() {
            let position = keys.iter().position(|key| key.same_as(&argument));
            let position = position.ok_or_else(|| messages::grouping_of_no_key(place + 1, &name.to_uppercase()))?;
            let bit = super::grouping::set_bit(count, position)?;
            total = Some(match total {
                None => bit,
                Some(former) => {
                    let two = Expr::constant(Value::Int(2), SqlType::Int);
                    let doubled = super::expression::binary(crate::ast::BinaryOperator::Multiply, former, two)?;
                    super::expression::binary(crate::ast::BinaryOperator::Add, doubled, bit)?
                }
            });
        }
        total.ok_or_else(|| messages::function_requires(name, 1))
    }
}

/// Refuses what FOR JSON refuses: types of the common language runtime.
fn require_serializable(value: &Expr) -> Result<()> {
    match value.sql_type == SqlType::HierarchyId || value.sql_type.is_spatial() {
        true => Err(messages::clr_type_in_json()),
        false => Ok(()),
    }
}

/// What an aggregate that makes JSON is over: the JSON of an element or a member, made of whether NULL stays, of its name and of its value.
/// The arguments of other aggregates stay what they are.
pub(super) fn json_part(aggregate: &str, arguments: Vec<Expr>) -> Result<Vec<Expr>> {
    if matches!(
        aggregate.to_ascii_lowercase().as_str(),
        "json_arrayagg" | "json_objectagg"
    ) {
        arguments.iter().try_for_each(require_serializable)?;
    }
    let mut given = arguments.into_iter();
    let part = match aggregate.to_ascii_lowercase().as_str() {
        "json_arrayagg" => {
            let (stays, value) = (given.next().map(stays_alone), given.next());
            let laid_out = stays.into_iter().chain(value.into_iter().flat_map(json_value));
            json("json_arrayagg", functions::json_element, laid_out.collect())
        }
        "json_objectagg" => {
            let (stays, name, value) = (given.next().map(stays_alone), given.next(), given.next());
            let name = name.map(|name| super::implicit(name, SqlType::NVarChar(Length::Limited(4_000))));
            let laid_out = stays.into_iter().chain(name.transpose()?);
            let laid_out = laid_out.chain(value.into_iter().flat_map(json_value));
            json("json_objectagg", functions::json_member, laid_out.collect())
        }
        _ => return Ok(given.collect()),
    };
    Ok(vec![part])
}

/// What an aggregate answers: marked as JSON, if it makes any, and of type json where that is asked for.
pub(super) fn json_answer(function: AggregateFunction, value: Expr, returns_json: bool) -> Expr {
    match function {
        AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
            let label = value.label;
            let made = json("json_aggregate", |call| Ok(call.value(0).clone()), vec![value]).labelled(label);
            returned(made, returns_json)
        }
        _ => value,
    }
}

/// Whether a value is JSON, and the value.
fn json_value(value: Expr) -> [Expr; 2] {
    [flag(is_json(&value)), value]
}

/// What JSON_OBJECT and JSON_ARRAY answer is of type json if one of their values is.
fn of_json(call: Expr) -> Expr {
    let has_json = match &call.kind {
        ExprKind::Function { arguments, .. } => arguments.iter().any(|argument| argument.sql_type == SqlType::Json),
        _ => false,
    };
    match has_json {
        true => call.converted(SqlType::Json),
        false => call,
    }
}

/// A text of JSON, or the type json where RETURNING JSON asks for it.
fn returned(call: Expr, returns_json: bool) -> Expr {
    match returns_json {
        true => call.converted(SqlType::Json),
        false => call,
    }
}

/// What the parser puts first, without what it says of RETURNING.
fn stays_alone(said: Expr) -> Expr {
    flag(matches!(said.kind, ExprKind::Constant(Value::Int(said)) if said & 1 != 0))
}

fn flag(is_set: bool) -> Expr {
    Expr::constant(Value::Int(i32::from(is_set)), SqlType::Int)
}

/// A call whose answer is JSON.
fn json(name: &'static str, implementation: Implementation, arguments: Vec<Expr>) -> Expr {
    let kind = ExprKind::Function {
        name,
        implementation,
        arguments,
    };
    Expr::new(kind, SqlType::NVarChar(Length::Max))
}
