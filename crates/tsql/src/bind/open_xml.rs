//! OPENXML in FROM: the rows of `functions/open_xml.rs`, with the columns of WITH converted to their types.

use engine::catalog::ObjectDefinition;
use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::expression::conversion;
use super::from::FromBuilder;
use super::implicit;
use super::source::BoundSource;
use super::table_function::projected;
use super::{Asked, Binder};
use crate::ast::{Expression, Name, OpenXml};
use crate::functions::{XmlColumn, open_xml};
use crate::messages;
use crate::plan::{Expr, QueryPlan, RowCall};
use crate::scalar::data_type::{TypePlace, resolve};
use crate::sink::ResultColumn;
use crate::state::Reading;

/// What a pattern is converted to.
const PATTERN: SqlType = SqlType::NVarChar(Length::Limited(4_000));

/// The name of the source without an alias.
const NAME: &str = "OPENXML";

impl<'a> Binder<'a> {
    /// # Errors
    /// 208 for a table that is not there; those of binding the arguments.
    pub(super) fn open_xml(&mut self, open: &'a OpenXml, from: &mut FromBuilder) -> Result<BoundSource> {
        self.line = open.line;
        let document = self.xml_argument(&open.document, SqlType::Int)?;
        let pattern = self.xml_argument(&open.pattern, PATTERN)?;
        let flags = match &open.flags {
            Some(flags) => self.xml_argument(flags, SqlType::Int)?,
            None => Expr::constant(Value::Int(0), SqlType::Int),
        };
        let mut wanted = Vec::new();
        let mut types = Vec::new();
        for (index, column) in open.schema.iter().enumerate() {
            types.push(resolve(
                &column.data_type,
                TypePlace::Declaration,
                index + 1,
                self.session.version(),
            )?);
            wanted.push(XmlColumn {
                name: column.name.text.clone(),
                pattern: column.path.clone(),
                is_markup: column.data_type.name.object().eq_ignore_ascii_case("xml"),
            });
        }
        if let Some(table) = &open.like {
            self.columns_like(table, &mut wanted, &mut types)?;
        }
        let plan = converted(open_xml(document, pattern, flags, &wanted), &types)?;
        let exposed = open
            .alias
            .as_ref()
            .map_or_else(|| NAME.to_owned(), |alias| alias.text.clone());
        self.derived_columns(plan, &[], NAME, exposed, from)
    }

    fn xml_argument(&mut self, argument: &'a Expression, sql_type: SqlType) -> Result<Expr> {
        self.deduce(argument, Asked::Assigned(sql_type))?;
        let bound = self.expression(argument)?;
        implicit(bound, sql_type)
    }

    /// The columns of a table, by their names.
    fn columns_like(&mut self, name: &Name, wanted: &mut Vec<XmlColumn>, types: &mut Vec<SqlType>) -> Result<()> {
        let found = self.session.find_source(name)?;
        let (database, object) = found.ok_or_else(|| messages::invalid_object_name(&name.to_string()))?;
        let ObjectDefinition::Table(definition) = &object.definition else {
            return Err(messages::invalid_object_name(&name.to_string()));
        };
        self.session.hold(&database, &object, Reading::default())?;
        for column in &definition.columns {
            types.push(column.sql_type);
            wanted.push(XmlColumn {
                name: column.name.clone(),
                pattern: None,
                is_markup: column.is_xml(),
            });
        }
        Ok(())
    }
}

/// The rows of a call, with the columns converted; those of an edge table stay what they are.
fn converted(called: RowCall, types: &[SqlType]) -> Result<QueryPlan> {
    let width = called.columns.len();
    let mut expressions: Vec<Expr> = Vec::with_capacity(width);
    let mut columns = Vec::with_capacity(width);
    for (index, raw) in called.columns.iter().enumerate() {
        let sql_type = types.get(index).copied().unwrap_or(raw.sql_type);
        let value = match sql_type == raw.sql_type {
            true => raw.expression(index),
            false => conversion(raw.expression(index), sql_type, None, false)?,
        };
        columns.push(ResultColumn {
            label: value.label,
            ..ResultColumn::new(&raw.name, sql_type)
        });
        expressions.push(value);
    }
    Ok(projected(called, expressions, columns))
}
