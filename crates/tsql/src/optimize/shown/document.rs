//! A statement with its plan as an element of a document (`showplan`), from which SQL Server's tools draw it.

use super::element::columns;
use engine::workspace::{SpillUse, SpillUses};

use super::{Actual, ShownOperator};
use crate::measure::Spent;
use crate::showplan::escaped;

/// A statement with its plan, if it has one.
#[derive(Debug, Clone, Default)]
pub struct ShownStatement {
    pub text: String,
    /// `SELECT`, `INSERT`, ...: StatementType.
    pub kind: &'static str,
    pub root: Option<ShownOperator>,
    /// Bytes of the plan where it is kept.
    pub plan_bytes: u64,
    /// Time that planning took.
    pub compile_micros: u64,
    /// What the whole statement came to, if it was run.
    pub spent: Option<Spent>,
}

impl ShownStatement {
    /// `StmtSimple`, the statement of this number in its batch.
    pub fn element(&self, number: usize) -> String {
        let plan = self
            .root
            .as_ref()
            .map_or_else(String::new, |root| query_plan(self, root));
        let (rows, cost) = self
            .root
            .as_ref()
            .map_or((0.0, 0.0), |root| (root.rows, root.subtree_cost()));
        let level = match &self.root {
            Some(root) if root.inputs.is_empty() => " StatementOptmLevel=\"TRIVIAL\"",
            Some(_) => " StatementOptmLevel=\"FULL\"",
            None => "",
        };
        format!(
            "<StmtSimple StatementText=\"{}\" StatementId=\"{number}\" StatementCompId=\"{number}\" StatementType=\"{}\"{level} \
             StatementSubTreeCost=\"{cost}\" StatementEstRows=\"{rows}\">{plan}</StmtSimple>",
            escaped(&self.text),
            self.kind
        )
    }
}

fn query_plan(shown: &ShownStatement, root: &ShownOperator) -> String {
    let compile_ms = shown.compile_micros / 1_000;
    let time = shown.spent.map_or_else(String::new, |spent| {
        format!(
            "<QueryTimeStats CpuTime=\"{}\" ElapsedTime=\"{}\"/>",
            spent.cpu_micros / 1_000,
            spent.elapsed_micros / 1_000
        )
    });
    let degree = if shown.spent.is_some() {
        " DegreeOfParallelism=\"1\""
    } else {
        ""
    };
    format!(
        "<QueryPlan{degree} CachedPlanSize=\"{}\" CompileTime=\"{compile_ms}\" CompileCPU=\"{compile_ms}\" CompileMemory=\"{}\">{time}{}</QueryPlan>",
        shown.plan_bytes.div_ceil(1_024),
        shown.plan_bytes.div_ceil(1_024),
        element(root, &mut 0)
    )
}

/// `RelOp` with all below it.
fn element(shown: &ShownOperator, number: &mut i32) -> String {
    let node_id = *number;
    *number += 1;
    let inputs: String = shown.inputs.iter().map(|input| element(input, number)).collect();
    let (own, name) = (&shown.own, shown.own.name);
    let defined = match own.defined.is_empty() {
        // These two show their columns by it, and may have none.
        true if name == "IndexScan" || name == "TableScan" => "<DefinedValues/>".to_owned(),
        true => String::new(),
        false => format!("<DefinedValues>{}</DefinedValues>", own.defined),
    };
    let table_rows = shown
        .table_rows
        .map_or_else(String::new, |rows| format!(" TableCardinality=\"{rows}\""));
    format!(
        "<RelOp NodeId=\"{node_id}\" PhysicalOp=\"{}\" LogicalOp=\"{}\" EstimateRows=\"{}\" EstimateIO=\"{}\" EstimateCPU=\"{}\" AvgRowSize=\"{}\" \
         EstimatedTotalSubtreeCost=\"{}\"{table_rows} Parallel=\"0\" EstimateRebinds=\"{}\" EstimateRewinds=\"0\" EstimatedExecutionMode=\"Row\">\
         <OutputList>{}</OutputList>{}{}<{name}{}>{defined}{}{inputs}{}</{name}></RelOp>",
        escaped(&shown.physical),
        escaped(&shown.logical),
        shown.rows,
        shown.io_cost,
        shown.cpu_cost,
        shown.row_bytes,
        shown.subtree_cost(),
        (shown.executions - 1.0).max(0.0),
        columns(&shown.output),
        shown.actual.as_ref().map_or_else(String::new, warnings),
        shown.actual.as_ref().map_or_else(String::new, run_time),
        own.attributes,
        own.before,
        own.after
    )
}

/// `Warnings`: what did not fit into memory (`SpillToTempDb`, `SortSpillDetails`, `HashSpillDetails`). Spools always write to tempdb there
/// and are not warned of.
fn warnings(actual: &Actual) -> String {
    let of_kind = |name: &str, spilled: SpillUse| {
        format!(
            "<Warnings><SpillToTempDb SpillLevel=\"{}\" SpilledThreadCount=\"1\"/><{name} GrantedMemoryKb=\"{}\" UsedMemoryKb=\"{}\" \
             WritesToTempDb=\"{}\" ReadsFromTempDb=\"{}\"/></Warnings>",
            spilled.level,
            spilled.granted_bytes.div_ceil(1_024),
            spilled.used_bytes.div_ceil(1_024),
            spilled.pages_written,
            spilled.pages_read
        )
    };
    match actual.spilled {
        SpillUses { workfiles, .. } if workfiles.level > 0 => of_kind("HashSpillDetails", workfiles),
        SpillUses { worktables, .. } if worktables.level > 0 => of_kind("SortSpillDetails", worktables),
        _ => String::new(),
    }
}

/// `RunTimeInformation`: one thread runs all of a plan.
fn run_time(actual: &Actual) -> String {
    let (reads, spent) = (actual.spent.reads, actual.spent);
    let pages = actual.rows_read.map_or_else(String::new, |rows| {
        format!(
            " ActualRowsRead=\"{rows}\" ActualScans=\"{}\" ActualLogicalReads=\"{}\" ActualPhysicalReads=\"{}\" ActualReadAheads=\"{}\" \
             ActualLobLogicalReads=\"0\" ActualLobPhysicalReads=\"0\" ActualLobReadAheads=\"0\"",
            actual.scans, reads.logical, reads.physical, reads.read_ahead
        )
    });
    format!(
        "<RunTimeInformation><RunTimeCountersPerThread Thread=\"0\" ActualRows=\"{}\" ActualEndOfScans=\"0\" ActualExecutions=\"{}\" \
         ActualExecutionMode=\"Row\" ActualElapsedms=\"{}\"{pages}/></RunTimeInformation>",
        actual.rows,
        actual.executions,
        spent.elapsed_micros / 1_000
    )
}
