//! Trees of a plan in its stages from binding to execution, for trace flags.
//!
//! | flag | trees |
//! |---|---|
//! | 8605 | Converted Tree: as bound |
//! | 8606 | Input Tree, the same; Simplified Tree: FROM rewritten; Join-collapsed Tree: subqueries turned into joins, the join order still open |
//! | 8607 | Output Tree: as executed |
//! | 8619 | each rule that changes something, by its name |
//! | 8621 | the same, with the affected part of the plan before and after it (`applied`) |
//!
//! The flags are SQL Server's, which does not document them (Benjamin Nevarez, "More Undocumented Query Optimizer Trace Flags", 2012; Aaron
//! Morelli, "A Topical Collection of SQL Server Trace Flags", Compilation Informational), and so are the headings of the first three, and
//! `LogOp_` and `PhyOp_` before the names of operators. Details after a name are in SHOWPLAN's words. The names of rules are our own.
//!
//! A query inside another one is shown as a part of it, in its current stage.

use super::Optimizer;
use super::estimate::Expectations;
use super::shown::{ShownOperator, show};
use crate::plan::Node;
use crate::state::Trees;

/// Characters of a line that are shown; a condition may list a hundred thousand values.
const LINE_CHARACTERS_MAX: usize = 2_000;
/// Levels that are moved to the right.
const INDENTED_MAX: usize = 64;
/// What an operator takes beside its argument, about.
const OPERATOR_BYTES: usize = 64;

/// A tree on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Bound,
    Rewritten,
    Unnested,
    Physical,
}

impl Stage {
    /// The trace flags that ask for it, and the heading it gets.
    fn asked_by(self) -> &'static [(u16, &'static str)] {
        match self {
            Stage::Bound => &[(8605, "Converted Tree"), (8606, "Input Tree")],
            Stage::Rewritten => &[(8606, "Simplified Tree")],
            Stage::Unnested => &[(8606, "Join-collapsed Tree")],
            Stage::Physical => &[(8607, "Output Tree")],
        }
    }

    fn names(self) -> Names {
        match self {
            Stage::Physical => Names::Physical,
            _ => Names::Logical,
        }
    }
}

/// What the operators of a tree are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    Logical,
    Physical,
}

impl Optimizer<'_> {
    /// Plans what is inside of something whose trees it is a part of.
    pub(super) fn inside<T>(&mut self, plan: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let planned = plan(self);
        self.depth -= 1;
        planned
    }

    /// Draws a tree, if it is asked for and not a part of another one.
    pub(super) fn draw(&self, stage: Stage, root: &Node) {
        let Some(trees) = self.estimator.rules().told().filter(|_| self.depth == 0) else {
            return;
        };
        for (flag, heading) in stage.asked_by() {
            if trees.draws(*flag) {
                let tree = drawn(trees, &show(root, &Expectations::default()), stage.names());
                trees.tell(format!("*** {heading}: ***\r\n{tree}*******************"));
            }
        }
    }
}

/// The lines of a tree.
pub(super) fn drawn(trees: &Trees, shown: &ShownOperator, names: Names) -> String {
    let mut drawing = Drawing {
        names,
        text: String::new(),
        bytes: 0,
    };
    drawing.add(shown, 1);
    trees.spend(drawing.bytes);
    drawing.text
}

struct Drawing {
    names: Names,
    text: String,
    /// What there was to be drawn, before lines were cut.
    bytes: usize,
}

impl Drawing {
    fn add(&mut self, shown: &ShownOperator, depth: usize) {
        self.bytes += OPERATOR_BYTES + shown.argument.len();
        let name = match self.names {
            Names::Physical => format!("PhyOp_{}", shown.physical.replace(' ', "")),
            Names::Logical => format!("LogOp_{}", logical_name(&shown.logical)),
        };
        self.text.push_str(&"    ".repeat(depth.min(INDENTED_MAX)));
        let line = format!("{name} {}", shown.argument);
        match line.char_indices().nth(LINE_CHARACTERS_MAX) {
            Some((end, _)) => {
                self.text.push_str(line.get(..end).unwrap_or_default());
                self.text.push_str("...");
            }
            None => self.text.push_str(line.trim_end()),
        }
        self.text.push_str("\r\n");
        if crate::stack::require().is_ok() {
            shown.inputs.iter().for_each(|input| self.add(input, depth + 1));
        }
    }
}

/// What a logical operator is called in trees.
fn logical_name(logical: &str) -> String {
    match logical {
        "Table Scan" | "Clustered Index Scan" | "Index Scan" | "Clustered Index Seek" | "Index Seek" => {
            "Get".to_owned()
        }
        "Compute Scalar" => "Project".to_owned(),
        "Filter" => "Select".to_owned(),
        "Aggregate" | "Distinct Sort" => "GbAgg".to_owned(),
        "Constant Scan" => "ConstTableGet".to_owned(),
        "Sort" => "OrderBy".to_owned(),
        "Concatenation" => "UnionAll".to_owned(),
        "Table-valued function" => "TVFGet".to_owned(),
        other => other.replace(' ', ""),
    }
}
