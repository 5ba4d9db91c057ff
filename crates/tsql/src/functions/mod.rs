//! Built-in functions: their names, arguments, return types and code.
//!
//! A function is looked up by name once, when a query is bound. [`Signature::resolve`] converts the arguments and determines the result's
//! type. Afterwards only its [`Implementation`] is called.

mod absent;
mod base64;
mod caught;
mod compress;
mod conversion;
mod date;
mod date_parts;
mod format;
mod hash;
mod hierarchy;
mod identifier;
mod index;
mod json;
mod math;
mod message_format;
mod metadata;
mod open_xml;
mod page;
mod partition;
mod property;
mod security;
mod sequence;
mod session;
mod spatial;
mod string;
mod string_search;
mod system;
mod table_valued;
mod text_pointer;
mod time_zone;
mod variable;
mod xml_methods;

pub(crate) use date::check_part;
pub(crate) use message_format::format_message;
pub use open_xml::{XmlColumn, open_xml};
pub(crate) use open_xml::{check_document, declared_prefixes};
pub use page::page;
pub(crate) use partition::partition_number;
pub(crate) use sequence::next_value;
pub use variable::global_variable;

use engine::error::Result;
use engine::types::{Length, SqlType};

use crate::messages;
use crate::plan::{Call, Expr, Implementation, Label, label_of};

/// What a parameter is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Taken as it is.
    Any,
    /// Text; a string keeps its type, anything else becomes varchar.
    Text,
    Int,
    /// `bigint`
    BigInt,
    Float,
    /// A number that keeps its type; text becomes float.
    Number,
    /// A date or time that keeps its type; text and numbers become datetime.
    Moment,
    /// A date or time that keeps its type; text becomes datetimeoffset, which holds all that a text may say, numbers datetime.
    LongMoment,
    /// `nvarchar`
    Name,
}

/// What type the result has.
#[derive(Clone, Copy)]
pub enum Answer {
    /// Always this.
    Fixed(SqlType),
    /// That of an argument.
    Same(usize),
    /// Computed from the arguments.
    Computed(fn(&[Expr]) -> Result<SqlType>),
}

/// A function as binding sees it.
#[derive(Clone, Copy)]
pub struct Signature {
    /// In lower case.
    pub name: &'static str,
    /// Fewest arguments.
    pub minimum: usize,
    /// What each parameter is converted to; the last counts for all that follow when `variadic`.
    pub parameters: &'static [Parameter],
    /// Whether more arguments than parameters may follow.
    pub variadic: bool,
    pub answer: Answer,
    pub implementation: Implementation,
    /// Its line of the page of functions: the names of its parameters, a colon, what it answers.
    pub told: &'static str,
}

/// `nvarchar(128)`, the type of names.
pub const NAME: Answer = Answer::Fixed(SqlType::SYSNAME);
pub const INT: Answer = Answer::Fixed(SqlType::Int);
/// `nvarchar(4000)`
pub const LONG_NAME: Answer = Answer::Fixed(SqlType::NVarChar(Length::Limited(4000)));

const fn signature(
    name: &'static str,
    minimum: usize,
    parameters: &'static [Parameter],
    answer: Answer,
    implementation: Implementation,
) -> Signature {
    Signature {
        name,
        minimum,
        parameters,
        variadic: false,
        answer,
        implementation,
        told: "",
    }
}

const fn variadic(
    name: &'static str,
    minimum: usize,
    parameters: &'static [Parameter],
    answer: Answer,
    implementation: Implementation,
) -> Signature {
    Signature {
        name,
        minimum,
        parameters,
        variadic: true,
        answer,
        implementation,
        told: "",
    }
}

impl Signature {
    /// The same function with its line of the page of functions: `"text, count: first characters"`. A test misses it.
    const fn told(self, told: &'static str) -> Signature {
        Signature { told, ..self }
    }
}

/// The function of that name.
pub fn find(name: &str) -> Option<&'static Signature> {
    let name = name.to_ascii_lowercase();
    every().find(|signature| signature.name == name)
}

/// All functions but those with a syntax of their own.
pub fn every() -> impl Iterator<Item = &'static Signature> {
    TABLES.into_iter().flat_map(|(_, table)| table)
}

/// The functions by what they are about, as their page has them.
const TABLES: [(&str, &[Signature]); 22] = [
    ("Building strings", string::FUNCTIONS),
    ("Searching strings", string_search::FUNCTIONS),
    ("Mathematics", math::FUNCTIONS),
    ("Dates and times", date::FUNCTIONS),
    ("Dates and times from parts", date_parts::FUNCTIONS),
    ("Time zones", time_zone::FUNCTIONS),
    ("Comparing and converting", conversion::FUNCTIONS),
    ("Names and ids", metadata::FUNCTIONS),
    ("Properties", property::FUNCTIONS),
    ("Indexes", index::FUNCTIONS),
    ("Users and permissions", security::FUNCTIONS),
    ("Logins and the server", system::FUNCTIONS),
    ("The session", session::FUNCTIONS),
    ("The error that CATCH handles", caught::FUNCTIONS),
    ("Formatting", format::FUNCTIONS),
    ("Hashes", hash::FUNCTIONS),
    ("Identifiers", identifier::FUNCTIONS),
    ("Messages", message_format::FUNCTIONS),
    ("JSON", json::FUNCTIONS),
    ("Base64", base64::FUNCTIONS),
    ("Compression and random bytes", compress::FUNCTIONS),
    ("Text pointers", text_pointer::FUNCTIONS),
];

/// Functions that compare the strings they are given: two collations are a conflict (sql-docs, "Collation precedence").
const COMPARING: [&str; 7] = [
    "charindex",
    "greatest",
    "least",
    "patindex",
    "replace",
    "translate",
    "trim",
];

impl Signature {
    /// The call's expression: arguments counted and converted, the result's type decided.
    ///
    /// # Errors
    /// 174 or 189 for a wrong number of arguments, 8116 for a type the function does not take.
    pub fn resolve(&self, arguments: Vec<Expr>) -> Result<Expr> {
        // Functions of any number of arguments take 254 (sql-docs, "CONCAT").
        let maximum = if self.variadic { 254 } else { self.parameters.len() };
        let minimum = self.minimum;
        if arguments.len() < minimum || arguments.len() > maximum {
            return Err(if minimum == maximum {
                messages::function_requires(self.name, minimum)
            } else {
                messages::function_requires_range(self.name, minimum, maximum)
            });
        }
        let last = self.parameters.last().copied().unwrap_or(Parameter::Any);
        let converted = arguments.into_iter().enumerate().map(|(index, argument)| {
            let parameter = self.parameters.get(index).copied().unwrap_or(last);
            convert_argument(argument, parameter, index + 1, self.name)
        });
        let arguments = converted.collect::<Result<Vec<_>>>()?;
        let sql_type = match self.answer {
            Answer::Fixed(sql_type) => sql_type,
            Answer::Same(index) => arguments.get(index).map_or(SqlType::Int, |argument| argument.sql_type),
            Answer::Computed(compute) => compute(&arguments)?,
        };
        let (arguments, label) = self.collate(arguments)?;
        let kind = crate::plan::ExprKind::Function {
            name: self.name,
            implementation: self.implementation,
            arguments,
        };
        let mut call = Expr::new(kind, sql_type);
        call.nullable = !NEVER_NULL.contains(&self.name);
        // Functions make strings of the default collation.
        Ok(if sql_type.is_character() {
            call.collated(label)
        } else {
            call
        })
    }

    /// Gives the strings among the arguments one collation; answers it with its label. Names of objects have no part in it.
    fn collate(&self, arguments: Vec<Expr>) -> Result<(Vec<Expr>, Label)> {
        if self.parameters.contains(&Parameter::Name) {
            return Ok((arguments, Label::default()));
        }
        let mut label = label_of(&arguments, self.name)?;
        if COMPARING.contains(&self.name) {
            label = label.for_operation(self.name)?;
        }
        let collated = arguments
            .into_iter()
            .map(|argument| match argument.sql_type.is_character() {
                true => argument.collated(label),
                false => argument,
            });
        Ok((collated.collect(), label))
    }
}

/// The functions whose value is never NULL, so that a computed column of theirs does not take NULL: "NULL values are implicitly converted to an
/// empty string" (sql-docs, "CONCAT", "CONCAT_WS").
const NEVER_NULL: [&str; 2] = ["concat", "concat_ws"];

/// The functions that take `text`, `ntext` and `image`, each by its own page of sql-docs; all others answer 8116.
const TAKES_LARGE_OBJECTS: [&str; 4] = ["charindex", "datalength", "patindex", "substring"];

/// The functions that take json, with the number of the argument; all others answer 8116.
const TAKES_JSON: [(&str, usize); 8] = [
    ("datalength", 1),
    ("json_value", 1),
    ("json_query", 1),
    ("isjson", 1),
    ("json_path_exists", 1),
    ("json_contains", 1),
    ("json_modify", 1),
    ("json_modify", 3),
];

/// The functions that take xml, beside its methods; all others answer 8116.
const TAKES_XML: [&str; 1] = ["datalength"];

fn convert_argument(argument: Expr, parameter: Parameter, position: usize, function: &str) -> Result<Expr> {
    let own = argument.sql_type;
    let invalid = || messages::invalid_argument_type(own.name(), position, function);
    let target = match parameter {
        _ if own.is_large_object() && !TAKES_LARGE_OBJECTS.contains(&function) => return Err(invalid()),
        _ if own == SqlType::Json && !TAKES_JSON.contains(&(function, position)) => return Err(invalid()),
        _ if own == SqlType::Json => own,
        _ if own == SqlType::XML && !TAKES_XML.contains(&function) => return Err(invalid()),
        // What else there is of them are their own methods.
        _ if own.is_spatial() && function != "datalength" => return Err(invalid()),
        Parameter::Any => own,
        Parameter::Text if own.is_character() => own,
        Parameter::Text if own.is_binary() => SqlType::VarChar(crate::scalar::data_type::byte_length(own)),
        Parameter::Text => SqlType::VarChar(crate::scalar::data_type::text_units(own)),
        Parameter::Int => SqlType::Int,
        Parameter::BigInt => SqlType::BigInt,
        Parameter::Float => SqlType::Float,
        Parameter::Number if own.is_numeric() => own,
        Parameter::Number => SqlType::Float,
        Parameter::Moment | Parameter::LongMoment if own.is_temporal() => own,
        Parameter::LongMoment if own.is_character() => SqlType::DateTimeOffset { scale: 7 },
        Parameter::Moment | Parameter::LongMoment => SqlType::DateTime,
        Parameter::Name => SqlType::NVarChar(Length::Limited(4000)),
    };
    if argument.is_null_constant() {
        return Ok(argument.converted(target));
    }
    if matches!(
        parameter,
        Parameter::Int | Parameter::BigInt | Parameter::Float | Parameter::Number
    ) && (own.is_temporal() || own == SqlType::UniqueIdentifier)
    {
        return Err(invalid());
    }
    crate::scalar::data_type::check_conversion(own, target, false).map_err(|_| invalid())?;
    Ok(argument.converted(target))
}

pub use absent::unknown;
pub(crate) use hierarchy::{
    ancestor as hierarchy_ancestor, descendant as hierarchy_descendant, is_descendant_of as hierarchy_is_descendant_of,
    level as hierarchy_level, reparented as hierarchy_reparented,
};
pub use json::{JsonColumn, JsonValueKind, open_json_columns};
pub(crate) use json::{change_json, change_with, json_array, json_element, json_member, json_object, modify_with};
pub(crate) use spatial::{
    Answer as SpatialAnswer, Constructor, constructor as spatial_constructor, member as spatial_member,
    point_of as spatial_point,
};
pub use table_valued::{TABLE_FUNCTIONS, TableFunction, table_function};
pub(crate) use time_zone::{at_time_zone, zoned_type};
pub(crate) use xml_methods::{
    AROUND as XML_AROUND, NODE as XML_NODE, NODE_COLUMNS as XML_NODE_COLUMNS, exist as xml_exist, modify as xml_modify,
    nodes as xml_nodes, nodes_around as xml_nodes_around, nodes_of_node as xml_nodes_of_node, query as xml_query,
    value as xml_value, value_bytes as xml_value_bytes,
};
