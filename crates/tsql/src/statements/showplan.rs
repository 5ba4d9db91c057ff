//! SET SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML: plans instead of results (SQL Server docs, their pages, for columns and elements);
//! plans after results, for SET STATISTICS PROFILE and XML; and the stages of a plan, for trace flags.
//!
//! | statement | what is shown |
//! |---|---|
//! | SELECT, INSERT, UPDATE, DELETE | its plan |
//! | IF, WHILE, BEGIN ... END, TRY ... CATCH | all statements inside |
//! | any other | only the statement: it has no plan |
//!
//! Every statement has its own result set. A statement's text is its kind, unless it is alone in its batch.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::executor::{Executor, Outcome, closed};
use crate::ast::{DeclarationKind, Expression, InsertSource, QueryHint, Statement, StatementKind};
use crate::measure::Measures;
use crate::optimize::shown::{Actual, ShownOperator, ShownStatement};
use crate::prepared::{Bound, Planned};
use crate::showplan::document;
use crate::sink::{DoneKind, ResultColumn};
use crate::state::{StatisticsOptions, TreesWanted};

const TEXT: SqlType = SqlType::NVarChar(Length::Limited(4000));
const NAME: SqlType = SqlType::NVarChar(Length::Limited(128));

/// Trace flag: trees go to the client.
const TRACE_TO_CLIENT: u16 = 3604;
/// Trace flag: trees go to the error log.
const TRACE_TO_ERRORLOG: u16 = 3605;
/// A message that is longer is sent in pieces.
const MESSAGE_BYTES: usize = 16_000;

impl Executor<'_> {
    /// Tells how the plan of a statement comes about if trace flags ask for it; whether they do. See [`Executor::tell_trees_of`].
    pub(super) fn tell_trees(&mut self, statement: &Statement) -> Outcome<bool> {
        let hints = query_hints(&statement.kind);
        self.tell_trees_of(hints, statement.line, |executor| executor.plan_ahead(&statement.kind))
    }

    /// Has something planned ahead of its execution if trace flags ask how its plan comes about, and tells that; whether they do. It is
    /// planned as under RECOMPILE, now and when it is executed: a plan that is kept came about earlier. What fails here fails again when it
    /// is executed.
    pub(super) fn tell_trees_of(
        &mut self,
        hints: &[QueryHint],
        line: u32,
        plan: impl FnOnce(&Self) -> Result<()>,
    ) -> Outcome<bool> {
        let session = self.session;
        let activity = &session.instance.env.activity;
        if hints.is_empty() && !activity.has_traces() {
            return Ok(false);
        }
        let is_on = |flag: u16| {
            let mut hints = hints.iter();
            let is_asked = |hint: &QueryHint| {
                hint.name == "QUERYTRACEON" && hint.value.as_deref().and_then(|value| value.parse().ok()) == Some(flag)
            };
            hints.any(is_asked) || activity.is_on(flag)
        };
        let wanted = TreesWanted::by_flags(is_on);
        let to_client = is_on(TRACE_TO_CLIENT) && !self.returns.is_function();
        let to_errorlog = is_on(TRACE_TO_ERRORLOG);
        if !wanted.any() || !to_client && !to_errorlog {
            return Ok(false);
        }
        let recompiles = std::mem::replace(&mut self.recompiles, true);
        let drawn = session.trees.of(wanted, || plan(self));
        self.recompiles = recompiles;
        for part in drawn.iter().flat_map(|text| parts(text)) {
            if to_errorlog {
                let spid = format!("spid{}", session.id);
                session.instance.env.errorlog.write(&spid, part.to_owned());
            }
            if to_client {
                let told = self.inform(0, 0, line, part);
                told.map_err(|error| self.failure(error, line))?;
            }
        }
        Ok(true)
    }

    /// Does something whose plans are made for this once.
    pub(super) fn recompiling<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let recompiles = std::mem::replace(&mut self.recompiles, true);
        let outcome = work(self);
        self.recompiles = recompiles;
        outcome
    }

    /// Plans all of a statement that is planned when it is executed.
    fn plan_ahead(&self, kind: &StatementKind) -> Result<()> {
        let value = |expression: &Expression| {
            let bound = self.plan(expression, |binder, expression| {
                Ok(Bound::Expressions(vec![binder.scalar(expression)?]))
            });
            bound.map(|_| ())
        };
        match kind {
            StatementKind::SetVariable(assignment) => value(&assignment.value),
            StatementKind::Declare(declarations) => {
                declarations.iter().try_for_each(|declaration| match &declaration.kind {
                    DeclarationKind::Scalar {
                        initial: Some(initial), ..
                    } => value(initial),
                    _ => Ok(()),
                })
            }
            _ => self.planned(kind).map(|_| ()),
        }
    }

    /// Shows what a statement would do, in the way that a SHOWPLAN asks for.
    pub(super) fn show_plan(&mut self, how: &str, kind: &StatementKind) -> Result<()> {
        let clock = self.session.instance.env.clock.clone();
        let started = clock.now_micros();
        let planned = self.planned(kind)?;
        let compile_micros = clock.now_micros().saturating_sub(started);
        let root = planned.and_then(|planned| planned.shown());
        let shown = ShownStatement {
            compile_micros,
            ..self.shown_statement(kind.facts().statement_type, root)
        };
        match how {
            "SHOWPLAN_XML" => self.send_xml(&shown),
            "SHOWPLAN_ALL" => self.send_plan(&all_columns(), rows_of(&shown)),
            _ => {
                let columns = [ResultColumn::new("StmtText", TEXT)];
                let mut rows = rows_of(&shown);
                rows.iter_mut().for_each(|row| row.truncate(1));
                let operators = rows.split_off(1);
                self.send_plan(&columns, rows)?;
                self.send_plan(&columns, operators)
            }
        }
    }

    /// Shows the plan by which a statement has run, with what its operators came to.
    pub(super) fn show_figures(
        &mut self,
        wanted: StatisticsOptions,
        planned: &Planned,
        measures: &Measures,
    ) -> Result<()> {
        let spent = measures.spent();
        let Some(mut root) = planned.shown() else {
            return Ok(());
        };
        root.measure(measures);
        if !matches!(**planned, Bound::Query(_)) {
            // What changes rows reads the pages that nothing below it reads.
            let below = root.logical_reads();
            let mut own = spent;
            own.reads.logical = own.reads.logical.saturating_sub(below);
            let changed = Actual {
                rows: u64::try_from(self.session.row_count()).unwrap_or(0),
                executions: 1,
                ..Actual::default()
            };
            // Constants are read from the statement itself.
            for constants in root.inputs.iter_mut().filter(|input| input.counted.is_none()) {
                constants.actual = Some(changed);
            }
            root.actual = Some(Actual {
                rows_read: Some(0),
                spent: own,
                ..changed
            });
        }
        let shown = ShownStatement {
            spent: Some(spent),
            ..self.shown_statement(planned.word(), Some(root))
        };
        if wanted.profile {
            let mut columns = vec![
                ResultColumn::new("Rows", SqlType::BigInt),
                ResultColumn::new("Executes", SqlType::BigInt),
            ];
            columns.extend(all_columns());
            self.send_plan(&columns, profile_rows(&shown))?;
        }
        if wanted.xml {
            self.send_xml(&shown)?;
        }
        Ok(())
    }

    /// What is shown of a statement beside its plan. Its text is known if it is alone in its batch.
    fn shown_statement(&self, kind: &'static str, root: Option<ShownOperator>) -> ShownStatement {
        let batch = self.whole.as_ref().unwrap_or(&self.batch);
        let text = match batch.statements.len() {
            1 if self.procedure.is_empty() => self.session.request_text().unwrap_or_else(|| kind.to_owned()),
            _ => kind.to_owned(),
        };
        ShownStatement {
            text,
            kind,
            root,
            plan_bytes: self.batch.bytes(),
            ..ShownStatement::default()
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

    fn send_xml(&mut self, shown: &ShownStatement) -> Result<()> {
        let xml = document(self.session.instance.options.version, &[shown.element(1)]);
        let column = ResultColumn::new("Microsoft SQL Server 2005 XML Showplan", SqlType::NVarChar(Length::Max));
        self.send_plan(&[column], vec![vec![Value::from(xml)]])
    }

    /// The plan of a statement that has one: the kept one, or one made now.
    ///
    /// # Errors
    /// Those of binding and planning.
    pub(super) fn planned(&self, kind: &StatementKind) -> Result<Option<Planned>> {
        let bound = match kind {
            StatementKind::Select(query) => self.plan(&**query, |binder, query| {
                Ok(Bound::Query(binder.statement_query(query)?))
            }),
            StatementKind::Insert(insert) => {
                self.plan(&**insert, |binder, insert| Ok(Bound::Insert(binder.insert(insert)?)))
            }
            StatementKind::Update(update) => {
                self.plan(&**update, |binder, update| Ok(Bound::Update(binder.update(update)?)))
            }
            StatementKind::Delete(delete) => {
                self.plan(&**delete, |binder, delete| Ok(Bound::Delete(binder.delete(delete)?)))
            }
            StatementKind::Merge(merge) => self.plan(&**merge, |binder, merge| {
                Ok(Bound::Merge(Box::new(binder.merge(merge)?)))
            }),
            StatementKind::ReadText(read) => {
                self.plan(&**read, |binder, read| Ok(Bound::Query(binder.read_text(read)?)))
            }
            StatementKind::WriteText(write) => self.plan(&write.update, |binder, update| {
                Ok(Bound::Update(binder.update(update)?))
            }),
            _ => return Ok(None),
        };
        bound.map(Some)
    }
}

/// A text in pieces that a message holds, cut between lines.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > MESSAGE_BYTES {
        let fitting = rest.get(..rest.floor_char_boundary(MESSAGE_BYTES)).unwrap_or(rest);
        let Some(end) = fitting.rfind("\r\n").filter(|end| *end > 0) else {
            break;
        };
        let (part, behind) = rest.split_at(end);
        parts.push(part);
        rest = behind.trim_start_matches("\r\n");
    }
    parts.push(rest);
    parts
}

/// What stands in OPTION behind a statement.
fn query_hints(kind: &StatementKind) -> &[QueryHint] {
    match kind {
        StatementKind::Select(query) => &query.hints,
        StatementKind::Insert(insert) => match &insert.source {
            InsertSource::Query(query) => &query.hints,
            _ => &insert.query_hints,
        },
        StatementKind::Update(update) => &update.query_hints,
        StatementKind::Delete(delete) => &delete.query_hints,
        StatementKind::Merge(merge) => &merge.query_hints,
        _ => &[],
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

/// SHOWPLAN_ALL's rows: the statement's, then those of its operators.
fn rows_of(shown: &ShownStatement) -> Vec<Vec<Value>> {
    let mut rows = vec![statement_row(shown)];
    if let Some(root) = &shown.root {
        operator_rows(root, "  |--", &mut 1, 1, &mut rows);
    }
    rows
}

/// The same with Rows and Executes before them; the statement's row has the root's.
fn profile_rows(shown: &ShownStatement) -> Vec<Vec<Value>> {
    let mut figures = Vec::new();
    if let Some(root) = &shown.root {
        figures.push(root.actual.unwrap_or_default());
        collect_figures(root, &mut figures);
    }
    let count = |number: u64| Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX));
    let rows = rows_of(shown).into_iter().zip(figures);
    rows.map(|(row, actual)| {
        let mut whole = vec![count(actual.rows), count(actual.executions)];
        whole.extend(row);
        whole
    })
    .collect()
}

/// In the order of the rows.
fn collect_figures(shown: &ShownOperator, figures: &mut Vec<Actual>) {
    figures.push(shown.actual.unwrap_or_default());
    shown.inputs.iter().for_each(|input| collect_figures(input, figures));
}

fn statement_row(shown: &ShownStatement) -> Vec<Value> {
    let mut row = vec![text(&shown.text), 1.into(), 1.into(), 0.into()];
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
    let output: Vec<String> = shown.output.iter().map(ToString::to_string).collect();
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
        list(&output),
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
