//! Physical plans as SQL Server shows them: operators by its names, with their work and their estimates.
//!
//! ```text
//!   |--Hash Match(Inner Join, HASH:([d].[dbo].[u].[a])=([d].[dbo].[t].[a]))
//!        |--Clustered Index Scan(OBJECT:([d].[dbo].[t].[pk]))
//!        |--Clustered Index Seek(OBJECT:([d].[dbo].[u].[pk]), SEEK:([d].[dbo].[u].[a]=(5)) ORDERED FORWARD)
//! ```
//! (sql-docs, "SET SHOWPLAN_ALL", for the columns; "Showplan Logical and Physical Operators Reference" for the names.) The build input of a
//! hash table comes first, as there. A condition directly above a scan is shown as part of the scan.
//!
//! Costs are computed from estimated rows and pages with the known constants of SQL Server's model: 1/320 s for a page read at random,
//! 1/1350 s for the next one, 0.0001581 s for an operator's first row and 0.0000011 s for each other (Craig Freedman and Joe Chang).

mod actual;
mod document;
mod element;
mod expression;
mod logical;
mod names;
mod operator;
mod scan;

pub use actual::Actual;
pub use document::ShownStatement;
pub(in crate::optimize) use logical::{show_from, show_join, show_where};
pub use names::{Named, quoted};
pub use operator::show;

use crate::measure::NodeAddress;

/// An operator of a plan, with those it reads.
#[derive(Debug, Clone, Default)]
pub struct ShownOperator {
    /// PhysicalOp.
    pub physical: String,
    /// LogicalOp.
    pub logical: String,
    pub argument: String,
    /// DefinedValues.
    pub defined: Vec<String>,
    /// EstimateRows: for one execution.
    pub rows: f64,
    /// EstimateIO, in seconds of a machine of long ago.
    pub io_cost: f64,
    /// EstimateCPU, likewise.
    pub cpu_cost: f64,
    /// AvgRowSize in bytes.
    pub row_bytes: u64,
    /// OutputList.
    pub output: Vec<Named>,
    /// EstimateExecutions.
    pub executions: f64,
    /// TableCardinality, where it reads a table.
    pub table_rows: Option<f64>,
    /// The element that says what it is.
    pub own: Own,
    /// The node whose rows it gives.
    pub counted: Option<NodeAddress>,
    /// The scan that reads its pages.
    pub read_by: Option<NodeAddress>,
    /// What it came to when it was run.
    pub actual: Option<Actual>,
    /// What it reads.
    pub inputs: Vec<ShownOperator>,
}

/// The element inside of `RelOp` that says what an operator is, in pieces: those below it stand in its middle.
#[derive(Debug, Clone, Default)]
pub struct Own {
    pub name: &'static str,
    /// Each with a space before it.
    pub attributes: String,
    /// The values of `DefinedValues`.
    pub defined: String,
    /// What stands before the operators below.
    pub before: String,
    /// What stands behind them.
    pub after: String,
}

impl Own {
    /// The element of a physical operator, with the attributes that it must have.
    pub fn of(physical: &str) -> Own {
        let (name, attributes) = match physical {
            "Nested Loops" => ("NestedLoops", " Optimized=\"0\""),
            "Hash Match" => ("Hash", ""),
            "Merge Join" => ("Merge", ""),
            "Sort" => ("Sort", " Distinct=\"0\""),
            "Compute Scalar" => ("ComputeScalar", ""),
            "Stream Aggregate" => ("StreamAggregate", ""),
            "Window Aggregate" => ("WindowAggregate", ""),
            "Top" => ("Top", ""),
            "Filter" => ("Filter", " StartupExpression=\"0\""),
            "Concatenation" => ("Concat", ""),
            "Constant Scan" => ("ConstantScan", ""),
            "Table-valued function" => ("TableValuedFunction", ""),
            "Table Spool" => ("Spool", ""),
            "Table Scan" => ("TableScan", " Ordered=\"0\""),
            physical if physical.ends_with("Seek") || physical.ends_with("Index Scan") => {
                ("IndexScan", " Ordered=\"0\"")
            }
            physical
                if physical.ends_with("Insert") || physical.ends_with("Update") || physical.ends_with("Delete") =>
            {
                ("Update", "")
            }
            _ => ("Generic", ""),
        };
        Own {
            name,
            attributes: attributes.to_owned(),
            ..Own::default()
        }
    }
}

impl ShownOperator {
    /// TotalSubtreeCost.
    pub fn subtree_cost(&self) -> f64 {
        let inputs: f64 = self.inputs.iter().map(ShownOperator::subtree_cost).sum();
        self.executions.max(1.0) * (self.io_cost + self.cpu_cost) + inputs
    }

    /// Whether there is such an operator, here or below.
    pub fn has(&self, is_it: &dyn Fn(&ShownOperator) -> bool) -> bool {
        is_it(self) || self.inputs.iter().any(|input| input.has(is_it))
    }

    /// `Physical(Logical, Argument)`, the logical name left out where it is the physical one, or says no more.
    pub fn text(&self) -> String {
        let mut inside = Vec::new();
        if self.logical != self.physical && self.physical != "Stream Aggregate" {
            inside.push(self.logical.as_str());
        }
        if !self.argument.is_empty() {
            inside.push(self.argument.as_str());
        }
        match inside.is_empty() {
            true => self.physical.clone(),
            false => format!("{}({})", self.physical, inside.join(", ")),
        }
    }
}
