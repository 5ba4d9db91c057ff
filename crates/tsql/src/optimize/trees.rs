//! Trees of a plan on its way from what was bound to what is executed, for who asks by trace flags.
//!
//! | flag | trees |
//! |---|---|
//! | 8605 | Converted Tree: as it was bound |
//! | 8606 | Input Tree, the same; Simplified Tree: FROM rewritten; Join-collapsed Tree: subqueries made joins, the order of joins still open |
//! | 8607 | Output Tree: what is executed |
//!
//! The flags are SQL Server's, which does not document them (Benjamin Nevarez, "More Undocumented Query Optimizer Trace Flags", 2012), and so
//! are the headings, and `LogOp_` and `PhyOp_` before the names of operators. What stands behind a name is said in SHOWPLAN's words.
//!
//! A query below another one is drawn as a part of it, as far as it is made by then.

use super::Optimizer;
use super::estimate::Expectations;
use super::shown::{ShownOperator, show};
use crate::plan::Node;

/// A tree on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Bound,
    Rewritten,
    Unnested,
    Physical,
}

impl Stage {
    /// Who asks for it, and by what heading it is told.
    fn asked_by(self) -> &'static [(u16, &'static str)] {
        match self {
            Stage::Bound => &[(8605, "Converted Tree"), (8606, "Input Tree")],
            Stage::Rewritten => &[(8606, "Simplified Tree")],
            Stage::Unnested => &[(8606, "Join-collapsed Tree")],
            Stage::Physical => &[(8607, "Output Tree")],
        }
    }
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
        let Some(trees) = self.trees.filter(|_| self.depth == 0) else {
            return;
        };
        for (flag, heading) in stage.asked_by() {
            trees.draw(*flag, || {
                let mut text = format!("*** {heading}: ***\r\n");
                write(&show(root, &Expectations::default()), stage, 1, &mut text);
                text + "*******************"
            });
        }
    }
}

fn write(shown: &ShownOperator, stage: Stage, depth: usize, text: &mut String) {
    let name = match stage {
        Stage::Physical => format!("PhyOp_{}", shown.physical.replace(' ', "")),
        _ => format!("LogOp_{}", logical_name(&shown.logical)),
    };
    let line = format!("{}{name} {}", "    ".repeat(depth), shown.argument);
    text.push_str(line.trim_end());
    text.push_str("\r\n");
    shown
        .inputs
        .iter()
        .for_each(|input| write(input, stage, depth + 1, text));
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
