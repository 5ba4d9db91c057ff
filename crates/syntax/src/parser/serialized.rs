//! FOR XML and FOR JSON behind a query, the columns of OPENJSON, and the functions that make JSON.

use std::sync::Arc;

use super::{Parsed, Parser, namespaces};
use crate::ast::{
    Expression, ExpressionKind, ForClause, ForJson, ForXml, FunctionCall, Literal, SchemaColumn, XmlMode, XmlNamespace,
};
use crate::error::ParseError;

/// What ROOT without a name makes (sql-docs, "FOR XML", "FOR JSON").
const ROOT: &str = "root";

impl Parser<'_> {
    /// `FOR XML ...`, `FOR JSON ...`, `FOR BROWSE`, if it is here.
    pub(super) fn optional_for_clause(&mut self) -> Parsed<Option<ForClause>> {
        if !self.at_word("FOR") {
            return Ok(None);
        }
        if self.eat_words(&["FOR", "BROWSE"])? {
            return Ok(Some(ForClause::Browse));
        }
        if self.eat_words(&["FOR", "JSON"])? {
            return self.for_json().map(|json| Some(ForClause::Json(json)));
        }
        if self.eat_words(&["FOR", "XML"])? {
            return self.for_xml().map(|xml| Some(ForClause::Xml(xml)));
        }
        Ok(None)
    }

    fn for_json(&mut self) -> Parsed<ForJson> {
        let is_auto = self.eat_word("AUTO")?;
        if !is_auto {
            self.expect_word("PATH")?;
        }
        let mut json = ForJson {
            is_auto,
            root: None,
            include_null_values: false,
            without_array_wrapper: false,
        };
        while self.eat(b',')? {
            if self.eat_word("ROOT")? {
                json.root = Some(
                    self.optional_string_in_parentheses()?
                        .unwrap_or_else(|| ROOT.to_owned()),
                );
            } else if self.eat_word("INCLUDE_NULL_VALUES")? {
                json.include_null_values = true;
            } else {
                self.expect_word("WITHOUT_ARRAY_WRAPPER")?;
                json.without_array_wrapper = true;
            }
        }
        Ok(json)
    }

    fn for_xml(&mut self) -> Parsed<ForXml> {
        let mode = match () {
            () if self.eat_word("RAW")? => XmlMode::Raw,
            () if self.eat_word("AUTO")? => XmlMode::Auto,
            () if self.eat_word("EXPLICIT")? => XmlMode::Explicit,
            () => {
                self.expect_word("PATH")?;
                XmlMode::Path
            }
        };
        let element = match mode {
            XmlMode::Raw | XmlMode::Path => self.optional_string_in_parentheses()?,
            XmlMode::Auto | XmlMode::Explicit => None,
        };
        let mut xml = ForXml {
            namespaces: self.xml_namespaces.clone(),
            mode,
            element,
            root: None,
            is_typed: false,
            binary_base64: false,
            has_elements: mode == XmlMode::Path,
            has_nil: false,
        };
        let line = self.previous.line;
        while self.eat(b',')? {
            self.xml_directive(&mut xml)?;
        }
        if mode == XmlMode::Explicit && self.xml_namespaces.is_some() {
            return Err(ParseError::namespaces_unsupported(line));
        }
        let mut declared = self.xml_namespaces.iter().flat_map(|declared| declared.iter());
        if xml.has_nil && declared.any(|namespace| namespace.prefix == "xsi") {
            return Err(ParseError::xsi_redefined(line));
        }
        Ok(xml)
    }

    fn xml_directive(&mut self, xml: &mut ForXml) -> Parsed<()> {
        if self.eat_word("ROOT")? {
            xml.root = Some(
                self.optional_string_in_parentheses()?
                    .unwrap_or_else(|| ROOT.to_owned()),
            );
        } else if self.eat_word("TYPE")? {
            xml.is_typed = true;
        } else if self.eat_word("ELEMENTS")? {
            xml.has_elements = true;
            xml.has_nil = self.eat_word("XSINIL")?;
            if !xml.has_nil {
                self.eat_word("ABSENT")?;
            }
        } else if self.at_any(&["XMLDATA", "XMLSCHEMA"]) {
            if self.xml_namespaces.is_some() {
                return Err(ParseError::namespaces_unsupported(self.line()));
            }
            let what = format!("FOR XML {}", self.current().to_ascii_uppercase());
            return Err(ParseError::not_supported(self.line(), &what));
        } else {
            self.expect_word("BINARY")?;
            self.expect_word("BASE64")?;
            xml.binary_base64 = true;
        }
        Ok(())
    }

    /// `('address' AS prefix, DEFAULT 'address', ...)`.
    ///
    /// # Errors
    /// 6869 for a prefix twice, 6870 to 6872 for one that cannot be declared, 6874 for an empty address (sql-docs, "WITH XMLNAMESPACES").
    pub(super) fn xml_namespaces(&mut self) -> Parsed<Arc<[XmlNamespace]>> {
        let mut declared: Vec<XmlNamespace> = Vec::new();
        self.expect(b'(')?;
        loop {
            let line = self.line();
            let namespace = if self.eat_word("DEFAULT")? {
                XmlNamespace {
                    prefix: String::new(),
                    address: self.string()?,
                }
            } else {
                let address = self.string()?;
                self.expect_word("AS")?;
                XmlNamespace {
                    prefix: self.identifier()?.text,
                    address,
                }
            };
            namespaces::check(line, &namespace, &declared)?;
            declared.push(namespace);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b')')?;
        // What is declared anyhow is not written.
        declared.retain(|namespace| namespace.prefix != "xml");
        Ok(declared.into())
    }

    /// `('text')`, if a parenthesis is here.
    fn optional_string_in_parentheses(&mut self) -> Parsed<Option<String>> {
        if !self.eat(b'(')? {
            return Ok(None);
        }
        let text = self.string()?;
        self.expect(b')')?;
        Ok(Some(text))
    }

    /// The arguments of a function that makes JSON. The first becomes 1 where NULL stays, else 0, and 2 more for RETURNING JSON; then come the
    /// values, in an object each behind its name.
    ///
    /// ```text
    /// JSON_OBJECT       name : value, ...           [NULL | ABSENT ON NULL] [RETURNING JSON]
    /// JSON_ARRAY        value, ...                  [NULL | ABSENT ON NULL] [RETURNING JSON]
    /// JSON_OBJECTAGG    name : value                [NULL | ABSENT ON NULL] [RETURNING JSON]
    /// JSON_ARRAYAGG     value [ORDER BY key, ...]   [NULL | ABSENT ON NULL] [RETURNING JSON]
    /// ```
    pub(super) fn json_arguments(&mut self, call: &mut FunctionCall, made: JsonCall) -> Parsed<()> {
        let is_object = matches!(made, JsonCall::Object | JsonCall::ObjectAggregate);
        let is_aggregate = matches!(made, JsonCall::ObjectAggregate | JsonCall::ArrayAggregate);
        while is_aggregate || !self.at(b')') && !self.at_null_clause()? {
            if !call.arguments.is_empty() {
                self.expect(b',')?;
            }
            call.arguments.push(self.expression()?);
            if is_object {
                self.expect(b':')?;
                call.arguments.push(self.expression()?);
            }
            if is_aggregate {
                break;
            }
        }
        if made == JsonCall::ArrayAggregate {
            call.within_group = self.optional_order_by()?;
        }
        self.null_clause(call, is_object)
    }

    fn at_null_clause(&self) -> Parsed<bool> {
        let is_begun = self.at_word("NULL") || self.at_word("ABSENT");
        Ok(is_begun && self.peek_word(1, "ON")? || self.at_word("RETURNING"))
    }

    /// Puts what becomes of NULL before the arguments.
    fn null_clause(&mut self, call: &mut FunctionCall, stays_unsaid: bool) -> Parsed<()> {
        let line = self.line();
        let stays = if self.eat_words(&["NULL", "ON", "NULL"])? {
            true
        } else if self.eat_words(&["ABSENT", "ON", "NULL"])? {
            false
        } else {
            stays_unsaid
        };
        let returns_json = self.eat_word("RETURNING")?;
        if returns_json {
            self.expect_word("JSON")?;
        }
        let said = i32::from(stays) | i32::from(returns_json) << 1;
        let stays = ExpressionKind::Literal(Literal::Integer(said));
        call.arguments.insert(0, Expression::new(line, stays));
        Ok(())
    }

    /// `name type ['path'] [AS JSON]`.
    pub(super) fn schema_column(&mut self) -> Parsed<SchemaColumn> {
        let name = self.identifier()?;
        let data_type = self.data_type()?;
        let path = if self.at_string() { Some(self.string()?) } else { None };
        let is_json = self.eat_word("AS")?;
        if is_json {
            self.expect_word("JSON")?;
        }
        Ok(SchemaColumn {
            name,
            data_type,
            path,
            is_json,
        })
    }
}

/// A function that makes JSON of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonCall {
    Object,
    Array,
    /// `JSON_OBJECTAGG`
    ObjectAggregate,
    /// `JSON_ARRAYAGG`
    ArrayAggregate,
}

impl JsonCall {
    /// The function of that name.
    pub(super) fn of(name: &str) -> Option<JsonCall> {
        Some(match name.to_ascii_uppercase().as_str() {
            "JSON_OBJECT" => JsonCall::Object,
            "JSON_ARRAY" => JsonCall::Array,
            "JSON_OBJECTAGG" => JsonCall::ObjectAggregate,
            "JSON_ARRAYAGG" => JsonCall::ArrayAggregate,
            _ => return None,
        })
    }
}
