//! Physical plans as SQL Server shows them: operators by its names, with what they do and what is expected of them.
//!
//! ```text
//!   |--Hash Match(Inner Join, HASH:([d].[dbo].[u].[a])=([d].[dbo].[t].[a]))
//!        |--Clustered Index Scan(OBJECT:([d].[dbo].[t].[pk]))
//!        |--Clustered Index Seek(OBJECT:([d].[dbo].[u].[pk]), SEEK:([d].[dbo].[u].[a]=(5)) ORDERED FORWARD)
//! ```
//! (sql-docs, "SET SHOWPLAN_ALL", for the columns; "Showplan Logical and Physical Operators Reference" for the names.) The input that a hash
//! table is built of stands first, as there. A condition directly above a scan is shown as a part of it.
//!
//! Costs are made of estimated rows and pages by the constants that are known of SQL Server's model: 1/320 s for a page read at random, 1/1350
//! s for the next one, 0.0001581 s for an operator's first row and 0.0000011 s for each other (Craig Freedman and Joe Chang).

mod expression;
mod operator;

pub use operator::show;

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
    pub output: Vec<String>,
    /// EstimateExecutions.
    pub executions: f64,
    /// What it reads.
    pub inputs: Vec<ShownOperator>,
}

impl ShownOperator {
    /// TotalSubtreeCost.
    pub fn subtree_cost(&self) -> f64 {
        let inputs: f64 = self.inputs.iter().map(ShownOperator::subtree_cost).sum();
        self.executions.max(1.0) * (self.io_cost + self.cpu_cost) + inputs
    }

    /// `Physical(Logical, Argument)`, the logical name left out where it is the physical one.
    pub fn text(&self) -> String {
        let mut inside = Vec::new();
        if self.logical != self.physical {
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
