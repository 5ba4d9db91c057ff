//! FOR JSON and FOR XML: the rows of a query become one text.
//!
//! ```text
//! json.rs   objects: by the dots in names (PATH), or by tables (AUTO)
//! explicit.rs   elements by the tags of rows
//! xml.rs    elements and attributes: by paths (PATH), by tables (AUTO), or one element for a row (RAW)
//! ```

mod explicit;
mod json;
mod xml;

use engine::error::Result;
use engine::types::{Length, SqlType};

use super::select::SelectItems;
use super::{Binder, not_supported};
use crate::ast::{ForClause, XmlMode};
use crate::messages;
use crate::plan::{Expr, ExprKind, JsonForm, Node, QueryPlan, SerializeNode, SerializedForm, WrittenColumn};
use crate::sink::ResultColumn;

/// What the column of a result is called that is all of it (sql-docs, "Use FOR JSON output in SQL Server and in client apps").
const JSON_COLUMN: &str = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B";
pub(crate) const XML_COLUMN: &str = "XML_F52E2B61-18A1-11d1-B105-00805F49916B";

/// Properties of a select-list column besides its type.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemFacts {
    /// The name of the source that it is a column of.
    pub(super) source: Option<String>,
    /// Whether its text is JSON.
    pub(super) is_json: bool,
    /// Whether its text is xml.
    pub(super) is_xml: bool,
}

/// Where a query with such a clause stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Its rows go to the client.
    Statement,
    /// It is a value, or a source of FROM.
    Nested,
    /// Its rows are inserted.
    Insert,
}

/// The columns that are written, each with what is known of it.
type Columns<'c> = Vec<(&'c ResultColumn, &'c ItemFacts, WrittenColumn)>;

impl Binder<'_> {
    /// The facts of a select list, if FOR asks for them.
    pub(super) fn describe_items(&mut self, items: &SelectItems) {
        let level = self.select_level();
        let columns = level.map(|level| level.columns.as_slice()).unwrap_or_default();
        let facts = items.iter().map(|(item, _)| ItemFacts {
            source: match item.kind {
                ExprKind::Column(index) => {
                    let own = columns.iter().find(|column| column.index == index);
                    own.map(|column| column.qualifier.clone())
                }
                _ => None,
            },
            is_json: is_json(item),
            is_xml: item.sql_type == SqlType::XML,
        });
        self.described = facts.collect();
    }

    /// The query whose rows are the text of another's.
    ///
    /// # Errors
    /// 6819 and 13602 where rows are inserted; those of names and paths.
    pub(super) fn serialized(&mut self, plan: QueryPlan, clause: &ForClause, place: Place) -> Result<QueryPlan> {
        let mut facts = std::mem::take(&mut self.described);
        facts.resize_with(plan.columns.len(), ItemFacts::default);
        let columns = plan.columns.iter().zip(&facts).enumerate();
        let columns: Columns<'_> = columns
            .map(|(index, (column, facts))| {
                let written = WrittenColumn {
                    place: index,
                    sql_type: column.sql_type,
                    is_fragment: match clause {
                        ForClause::Json(_) => facts.is_json,
                        _ => facts.is_xml,
                    },
                };
                (column, facts, written)
            })
            .collect();
        if plan
            .columns
            .iter()
            .any(|column| column.sql_type == SqlType::HierarchyId || column.sql_type.is_spatial())
        {
            match clause {
                ForClause::Json(_) => return Err(messages::clr_type_in_json()),
                ForClause::Xml(_) => return Err(messages::clr_type_in_xml()),
                ForClause::Browse => {}
            }
        }
        let (form, name, is_in_pieces) = match clause {
            ForClause::Browse => return Err(not_supported("FOR BROWSE")),
            ForClause::Json(_) if place == Place::Insert => return Err(messages::for_json_not_allowed("INSERT")),
            ForClause::Xml(_) if place == Place::Insert => return Err(messages::for_xml_not_allowed("INSERT")),
            ForClause::Json(clause) => (
                SerializedForm::Json(json::form(clause, &columns)?),
                JSON_COLUMN,
                place == Place::Statement,
            ),
            ForClause::Xml(clause) if clause.mode == XmlMode::Explicit => {
                let form = explicit::form(clause, &columns)?;
                let is_in_pieces = place == Place::Statement && !form.is_typed;
                (SerializedForm::Explicit(form), XML_COLUMN, is_in_pieces)
            }
            ForClause::Xml(clause) => {
                let form = xml::form(clause, &columns)?;
                let is_in_pieces = place == Place::Statement && !form.is_typed;
                (SerializedForm::Xml(form), XML_COLUMN, is_in_pieces)
            }
        };
        let sql_type = match form.is_xml() {
            true => SqlType::XML,
            false => SqlType::NVarChar(Length::Max),
        };
        let text = ResultColumn::new(if is_in_pieces { name } else { "" }, sql_type);
        Ok(QueryPlan {
            root: Node::Serialize(Box::new(SerializeNode {
                input_width: plan.width,
                input: Box::new(plan.root),
                form,
                is_in_pieces,
            })),
            width: 1,
            columns: vec![text],
        })
    }
}

/// The form of a subquery that is a value.
fn form_of(expression: &Expr) -> Option<&SerializedForm> {
    match &expression.kind {
        ExprKind::Collate(operand) => form_of(operand),
        ExprKind::Subquery(subquery) => {
            let Node::Serialize(node) = &subquery.plan.root else {
                return None;
            };
            Some(&node.form)
        }
        _ => None,
    }
}

/// The functions that answer JSON.
const JSON_FUNCTIONS: [&str; 5] = [
    "json_query",
    "json_modify",
    "json_object",
    "json_array",
    "json_aggregate",
];

/// Whether a value is JSON, so that it is not escaped where JSON is made of it: of a function that answers JSON, or of FOR JSON that makes
/// an array (sql-docs, "Solve common issues with JSON in SQL Server").
pub(super) fn is_json(expression: &Expr) -> bool {
    if expression.sql_type == SqlType::Json {
        return true;
    }
    match &expression.kind {
        ExprKind::Collate(operand) => is_json(operand),
        ExprKind::Function { name, .. } => JSON_FUNCTIONS.contains(name),
        _ => matches!(
            form_of(expression),
            Some(SerializedForm::Json(JsonForm { is_array: true, .. }))
        ),
    }
}

/// The tables of AUTO, in the order in which the select list names them, each with the places of its columns. What is computed is with the
/// innermost table that is named before it (sql-docs, "Use AUTO mode with FOR XML").
fn by_tables(columns: &Columns<'_>) -> Vec<(String, Vec<usize>)> {
    let mut tables: Vec<(String, Vec<usize>)> = Vec::new();
    let mut waiting = Vec::new();
    for (index, (_, facts, _)) in columns.iter().enumerate() {
        let Some(source) = &facts.source else {
            match tables.last_mut() {
                Some((_, places)) => places.push(index),
                None => waiting.push(index),
            }
            continue;
        };
        match tables.iter_mut().find(|(name, _)| name == source) {
            Some((_, places)) => places.push(index),
            None => tables.push((source.clone(), vec![index])),
        }
    }
    if let Some((_, places)) = tables.first_mut() {
        places.splice(0..0, waiting);
    }
    tables
}
