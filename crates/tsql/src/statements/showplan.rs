//! SET SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML: plans instead of results (SQL Server docs, their pages, for columns and elements).
//!
//! | statement | what is shown |
//! |---|---|
//! | SELECT, INSERT, UPDATE, DELETE | its plan |
//! | IF, WHILE, BEGIN ... END, TRY ... CATCH | what is inside, all of it |
//! | any other | that it is there: it has no plan |
//!
//! Every statement has a result set of its own. A statement's text is its kind, unless it is alone in its batch.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::executor::{Executor, closed};
use crate::ast::StatementKind;
use crate::bind::InsertRows;
use crate::optimize::Optimizer;
use crate::optimize::shown::{ShownOperator, show};
use crate::plan::{Node, Target};
use crate::prepared::Bound;
use crate::sink::{DoneKind, ResultColumn};

const TEXT: SqlType = SqlType::NVarChar(Length::Limited(4000));
const NAME: SqlType = SqlType::NVarChar(Length::Limited(128));

/// What is shown of one statement.
struct ShownStatement {
    kind: &'static str,
    root: Option<ShownOperator>,
}

impl Executor<'_> {
    /// Shows what a statement would do, in the way that a SHOWPLAN asks for.
    pub(super) fn show_plan(&mut self, how: &str, kind: &StatementKind) -> Result<()> {
        let shown = self.shown(kind)?;
        let text = match self.batch.statements.len() {
            1 if self.procedure.is_empty() => self.session.request_text().unwrap_or_else(|| shown.kind.to_owned()),
            _ => shown.kind.to_owned(),
        };
        match how {
            "SHOWPLAN_XML" => self.send_xml(&text, &shown),
            "SHOWPLAN_ALL" => {
                let mut rows = vec![statement_row(&text, &shown)];
                if let Some(root) = &shown.root {
                    operator_rows(root, "  |--", &mut 1, 1, &mut rows);
                }
                self.send_plan(&all_columns(), rows)
            }
            _ => {
                let columns = [ResultColumn::new("StmtText", TEXT)];
                self.send_plan(&columns, vec![vec![Value::from(text)]])?;
                let mut rows = Vec::new();
                if let Some(root) = &shown.root {
                    operator_rows(root, "  |--", &mut 1, 1, &mut rows);
                }
                rows.iter_mut().for_each(|row| row.truncate(1));
                self.send_plan(&columns, rows)
            }
        }
    }

    fn send_plan(&mut self, columns: &[ResultColumn], rows: Vec<Vec<Value>>) -> Result<()> {
        self.sink.columns(columns).map_err(closed)?;
        let count = rows.len() as u64;
        for row in &rows {
            self.sink.row(row).map_err(closed)?;
        }
        self.done(Some(count), DoneKind::Select)
    }

    fn shown(&self, kind: &StatementKind) -> Result<ShownStatement> {
        let (word, bound) = match kind {
            StatementKind::Select(query) => {
                let bound = self.plan(&**query, |binder, query| {
                    Ok(Bound::Query(binder.statement_query(query)?))
                })?;
                ("SELECT", bound)
            }
            StatementKind::Insert(insert) => {
                let bound = self.plan(&**insert, |binder, insert| Ok(Bound::Insert(binder.insert(insert)?)))?;
                ("INSERT", bound)
            }
            StatementKind::Update(update) => {
                let bound = self.plan(&**update, |binder, update| Ok(Bound::Update(binder.update(update)?)))?;
                ("UPDATE", bound)
            }
            StatementKind::Delete(delete) => {
                let bound = self.plan(&**delete, |binder, delete| Ok(Bound::Delete(binder.delete(delete)?)))?;
                ("DELETE", bound)
            }
            StatementKind::Execute(_) => return Ok(without_plan("EXECUTE")),
            StatementKind::Declare(_) | StatementKind::SetVariable(_) => return Ok(without_plan("ASSIGN")),
            StatementKind::SetOption(_) => return Ok(without_plan("SET ON/OFF")),
            _ => return Ok(without_plan("STATEMENT")),
        };
        let optimizer = Optimizer::new(self.session);
        let of = |node: &Node| show(node, optimizer.estimator());
        let root = match &*bound {
            Bound::Query(query) => of(&query.plan.root),
            Bound::Insert(insert) => {
                let rows = match &insert.rows {
                    InsertRows::Query(plan) => of(&plan.root),
                    InsertRows::Values(rows) => of(&Node::Values {
                        rows: vec![Vec::new(); rows.len()],
                        offset: 0,
                    }),
                    InsertRows::Execute => of(&Node::Single),
                };
                change("Insert", &insert.target, rows)
            }
            Bound::Update(update) => change("Update", &update.target, of(&update.node)),
            Bound::Delete(delete) => change("Delete", &delete.target, of(&delete.node)),
            _ => return Err(Error::assertion("a statement bound to something else")),
        };
        Ok(ShownStatement {
            kind: word,
            root: Some(root),
        })
    }

    fn send_xml(&mut self, text: &str, shown: &ShownStatement) -> Result<()> {
        let xml = document(text, shown);
        let column = ResultColumn::new("Microsoft SQL Server 2005 XML Showplan", SqlType::NVarChar(Length::Max));
        self.send_plan(&[column], vec![vec![Value::from(xml)]])
    }
}

fn without_plan(kind: &'static str) -> ShownStatement {
    ShownStatement { kind, root: None }
}

/// The operator that changes the rows of a target.
fn change(action: &str, target: &Target, rows: ShownOperator) -> ShownOperator {
    let (place, argument) = match target {
        Target::Table(table) => {
            let definition = table.table.definition();
            let mut parts: Vec<String> = table.full_name.split('.').map(|part| format!("[{part}]")).collect();
            let place = match definition.clustered() {
                Some(index) => {
                    parts.push(format!("[{}]", index.name));
                    "Clustered Index"
                }
                None => "Table",
            };
            (place, format!("OBJECT:({})", parts.join(".")))
        }
        Target::Variable(slot, _) => ("Table", format!("OBJECT:([@{slot}])")),
    };
    ShownOperator {
        physical: format!("{place} {action}"),
        logical: action.to_owned(),
        argument,
        rows: rows.rows,
        io_cost: 0.01,
        cpu_cost: 0.000_001 * rows.rows,
        row_bytes: 9,
        executions: 1.0,
        inputs: vec![rows],
        ..ShownOperator::default()
    }
}

fn all_columns() -> Vec<ResultColumn> {
    let columns = [
        ("StmtText", TEXT),
        ("StmtId", SqlType::Int),
        ("NodeId", SqlType::Int),
        ("Parent", SqlType::Int),
        ("PhysicalOp", NAME),
        ("LogicalOp", NAME),
        ("Argument", TEXT),
        ("DefinedValues", TEXT),
        ("EstimateRows", SqlType::Real),
        ("EstimateIO", SqlType::Real),
        ("EstimateCPU", SqlType::Real),
        ("AvgRowSize", SqlType::Int),
        ("TotalSubtreeCost", SqlType::Real),
        ("OutputList", TEXT),
        ("Warnings", TEXT),
        ("Type", NAME),
        ("Parallel", SqlType::Bit),
        ("EstimateExecutions", SqlType::Real),
    ];
    columns
        .iter()
        .map(|&(name, sql_type)| ResultColumn::new(name, sql_type))
        .collect()
}

fn real(number: f64) -> Value {
    Value::Real(number as f32)
}

/// At most as much as the column holds.
fn text(whole: &str) -> Value {
    Value::from(whole.chars().take(4_000).collect::<String>())
}

fn statement_row(written: &str, shown: &ShownStatement) -> Vec<Value> {
    let mut row = vec![text(written), 1.into(), 1.into(), 0.into()];
    row.resize(18, Value::Null);
    if let Some(root) = &shown.root {
        row[8] = real(root.rows);
        row[12] = real(root.subtree_cost());
    }
    row[15] = shown.kind.into();
    row[16] = false.into();
    row
}

/// An operator and those below it, each under the one that reads it.
fn operator_rows(shown: &ShownOperator, lead: &str, number: &mut i32, parent: i32, rows: &mut Vec<Vec<Value>>) {
    *number += 1;
    let own = *number;
    let list = |all: &[String]| match all.is_empty() {
        true => Value::Null,
        false => text(&all.join(", ")),
    };
    rows.push(vec![
        text(&format!("{lead}{}", shown.text())),
        1.into(),
        own.into(),
        parent.into(),
        shown.physical.as_str().into(),
        shown.logical.as_str().into(),
        match shown.argument.is_empty() {
            true => Value::Null,
            false => text(&shown.argument),
        },
        list(&shown.defined),
        real(shown.rows),
        real(shown.io_cost),
        real(shown.cpu_cost),
        (shown.row_bytes as i32).into(),
        real(shown.subtree_cost()),
        list(&shown.output),
        Value::Null,
        "PLAN_ROW".into(),
        false.into(),
        real(shown.executions),
    ]);
    // Where another one follows at the same height, a line leads down to it.
    let indent = lead.replace("|--", "   ");
    for (place, input) in shown.inputs.iter().enumerate() {
        let is_last = place + 1 == shown.inputs.len();
        let below = format!("{indent}  |--");
        operator_rows(input, &below, number, own, rows);
        if !is_last {
            let from = rows.len();
            draw_line(rows, from, indent.len() + 2);
        }
    }
}

/// Draws a line beside the rows of an input behind which another one stands.
fn draw_line(rows: &mut [Vec<Value>], end: usize, column: usize) {
    for row in rows[..end].iter_mut().rev() {
        let Some(written) = row[0].as_str().map(str::to_owned) else {
            return;
        };
        let bytes = written.as_bytes();
        if bytes.get(column) == Some(&b'|') || !written.is_char_boundary(column + 1) {
            return;
        }
        if bytes.get(column) == Some(&b' ') {
            let mut drawn = written.clone();
            drawn.replace_range(column..=column, "|");
            row[0] = Value::from(drawn);
        }
    }
}

/// A text as it stands in an attribute.
fn escaped(written: &str) -> String {
    let mut safe = String::with_capacity(written.len());
    for character in written.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' | '\r' => safe.push_str(&format!("&#{};", character as u32)),
            // XML 1.0 has no place for these.
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// A plan in the elements from which SQL Server's tools draw one.
fn document(written: &str, shown: &ShownStatement) -> String {
    let (rows, cost) = shown
        .root
        .as_ref()
        .map_or((0.0, 0.0), |root| (root.rows, root.subtree_cost()));
    let plan = shown.root.as_ref().map_or_else(String::new, |root| {
        format!(
            "<QueryPlan CachedPlanSize=\"0\" CompileTime=\"0\" CompileCPU=\"0\" CompileMemory=\"0\">{}</QueryPlan>",
            element(root, &mut 0)
        )
    });
    format!(
        "<ShowPlanXML xmlns=\"http://schemas.microsoft.com/sqlserver/2004/07/showplan\" Version=\"1.2\" Build=\"10.0.0.0\"><BatchSequence><Batch><Statements>\
         <StmtSimple StatementText=\"{}\" StatementId=\"1\" StatementCompId=\"1\" StatementType=\"{}\" StatementSubTreeCost=\"{cost}\" StatementEstRows=\"{rows}\">{plan}</StmtSimple>\
         </Statements></Batch></BatchSequence></ShowPlanXML>",
        escaped(written),
        shown.kind
    )
}

/// The element inside of RelOp that says what an operator is.
fn own_element(physical: &str) -> &'static str {
    match physical {
        "Nested Loops" => "NestedLoops",
        "Hash Match" => "Hash",
        "Sort" => "Sort",
        "Compute Scalar" => "ComputeScalar",
        "Stream Aggregate" => "StreamAggregate",
        "Top" => "Top",
        "Filter" => "Filter",
        "Concatenation" => "Concat",
        "Constant Scan" => "ConstantScan",
        "Table-valued function" => "TableValuedFunction",
        "Table Scan" => "TableScan",
        physical if physical.ends_with("Seek") || physical.ends_with("Index Scan") => "IndexScan",
        physical if physical.ends_with("Insert") || physical.ends_with("Update") || physical.ends_with("Delete") => {
            "Update"
        }
        _ => "Generic",
    }
}

fn element(shown: &ShownOperator, number: &mut i32) -> String {
    let own = *number;
    *number += 1;
    let columns: Vec<String> = shown
        .output
        .iter()
        .map(|column| format!("<ColumnReference Column=\"{}\"/>", escaped(column)))
        .collect();
    let inputs: Vec<String> = shown.inputs.iter().map(|input| element(input, number)).collect();
    let name = own_element(&shown.physical);
    let predicate = match shown.argument.is_empty() {
        true => String::new(),
        false => format!(
            "<Predicate><ScalarOperator ScalarString=\"{}\"/></Predicate>",
            escaped(&shown.argument)
        ),
    };
    format!(
        "<RelOp NodeId=\"{own}\" PhysicalOp=\"{}\" LogicalOp=\"{}\" EstimateRows=\"{}\" EstimateIO=\"{}\" EstimateCPU=\"{}\" AvgRowSize=\"{}\" \
         EstimatedTotalSubtreeCost=\"{}\" Parallel=\"0\" EstimateRebinds=\"{}\" EstimateRewinds=\"0\"><OutputList>{}</OutputList><{name}>{}{predicate}</{name}></RelOp>",
        escaped(&shown.physical),
        escaped(&shown.logical),
        shown.rows,
        shown.io_cost,
        shown.cpu_cost,
        shown.row_bytes,
        shown.subtree_cost(),
        (shown.executions - 1.0).max(0.0),
        columns.concat(),
        inputs.concat()
    )
}
